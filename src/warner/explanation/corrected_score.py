r"""The corrected score of a regression on a randomized answer: estimating equations that need not know the answer.

Each person has a row of the model for every answer that they may hold: with outcome :math:`o_n`, columns :math:`x_{nk}`
if the answer were k, and coefficients :math:`\gamma`, the linear predictor is :math:`\eta_{nk} = x_{nk}'\gamma`. If
answers were known, each respondent would add the score :math:`s_{nk}(\gamma)` of one row. With debiased indicators z of
the answers (`debiased`), :math:`E[z_{nk} \mid \text{answer}, o_n, x_n]` is one for the answer and zero for the others,
so that

.. math:: \sum_n w_n \sum_k z_{nk} s_{nk}(\gamma) = 0

has the right answer on average whatever the outcome's law is: a weighted fit on k stacked copies of the data, some of
whose weights are negative. It needs no model of who holds which answer and no normal errors; only that the device
depended on nothing but the answer. The errors are those of any estimating equation, :math:`A^{-1} B A^{-T}` with

.. math:: A = \sum_n w_n \sum_k z_{nk} v_{nk} x_{nk} x_{nk}', \qquad B = \sum_n u_n u_n', \quad
          u_n = w_n \sum_k z_{nk} s_{nk},

:math:`v = 1` for a mean and :math:`\pi(1-\pi)` for a logit. A estimates a positive matrix, but is only that on average:
where it is not positive, there is too little information for any answer.

With few respondents, or few who hold an answer, B is too small and varies. So each respondent counts as a cluster
(`warner.regression.standard_errors`): the scores in B are those of the bias-reduced sandwich (CR2), and intervals have
Satterthwaite's degrees of freedom. For direct answers and a mean this is HC2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np
from scipy.special import expit

from warner.regression.infinite_estimates import infinity
from warner.regression.likelihood import Expansion
from warner.regression.newton import POSITIVE_EIGENVALUE, newton_ascent
from warner.regression.standard_errors import ClusterRobust, cluster_robust, information_by_cluster
from warner.regression.variance_floors import about_clusters
from warner.reports.samples import RESPONDENT, Clusters

if TYPE_CHECKING:
    from warner.arrays import Array
    from warner.regression.data import Observations

OutcomeFamily: TypeAlias = Literal["linear", "logit"]

LONGEST_STEP = 5.0  # of a predictor, in one step of Newton's method
SMALLEST_SHARE = 1e-6  # of an answer, for its probability given a report
PULLED_BACK_TO = 8.0  # a predictor, to see whether it runs away


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Outcome of each respondent, and its predictors after each possible answer."""

    outcome: Array  # 0 or 1 for a logit
    copies: Array  # columns of the model for each of the k possible answers, (k, n, columns)
    indicators: Array | None  # debiased, (n, k); None where reports do not identify all answers
    rows: Observations  # with the columns that the shares of answers may depend on

    @property
    def size(self) -> Array:
        """Root mean square of each column."""
        return np.asarray(np.sqrt(np.mean(self.copies**2, axis=(0, 1))))


class CorrectedFit(NamedTuple):
    """Solution of the corrected score.

    `strength` is how many standard errors the information lies above zero in the direction in which it is smallest;
    `clustered` has the standard errors; each respondent is a cluster where respondents are not clustered.
    """

    coefficients: Array
    covariance: Array
    strength: float
    clustered: ClusterRobust


class OutcomeTerms(NamedTuple):
    """Log-density of outcomes, its derivative in the linear predictor, and minus the second derivative."""

    log_density: Array
    score: Array
    curvature: Array


def outcome_terms(family: OutcomeFamily, eta: Array, outcome: Array) -> OutcomeTerms:
    """Evaluate the log-density of the outcome at linear predictors; for a mean, that of errors with variance one."""
    if family == "linear":
        residual = outcome - eta
        return OutcomeTerms(-(residual**2) / 2, residual, np.ones_like(eta))
    mean = expit(eta)
    # log P(o) = o eta - log(1 + e^eta) without overflow, and 1 - expit(eta) = expit(-eta).
    return OutcomeTerms(outcome * eta - np.logaddexp(0, eta), outcome - mean, mean * expit(-eta))


class CorrectedScore:
    """Function whose gradient is the corrected score: the copies' log-likelihood, weighted by debiased indicators.

    Weights may be negative, so that it need not have a maximum.
    """

    longest_step = LONGEST_STEP
    rounding = 0.0

    def __init__(self, people: Outcomes, indicators: Array, family: OutcomeFamily) -> None:
        self.outcome, self.columns, self.family = people.outcome, people.copies, family
        self.weight = (people.rows.weight[:, np.newaxis] * indicators).T
        self.total_weight = float(people.rows.weight.sum())
        self.scale, self.basis = people.size, np.diag(1 / people.size)

    def predictors(self, b: Array) -> Array:
        return np.asarray(self.columns @ b)

    predictor_change = predictors

    def terms(self, b: Array) -> OutcomeTerms:
        return outcome_terms(self.family, self.predictors(b), self.outcome)

    def value(self, b: Array) -> float:
        return float((self.weight * self.terms(b).log_density).sum())

    def expansion(self, b: Array) -> Expansion:
        value, score, curvature = self.terms(b)
        return Expansion(
            float((self.weight * value).sum()),
            self.scores(score).sum(axis=0),
            self.information(self.weight * curvature),
        )

    def pulled_back(self, eta: Array) -> Array:
        return np.clip(eta, -PULLED_BACK_TO, PULLED_BACK_TO)

    def scores(self, score: Array) -> Array:
        return np.asarray(np.einsum("kn,knp->np", self.weight * score, self.columns))

    def information(self, weight: Array) -> Array:
        flat = self.columns.reshape(-1, self.columns.shape[-1])
        return np.asarray(flat.T @ (flat * weight.reshape(-1, 1)))

    def strength(self, curvature: Array) -> float:
        """Return the smallest eigenvalue of A, in units of the columns, in its own standard errors; else 0."""
        weight = self.weight * curvature
        values, vectors = np.linalg.eigh(
            self.information(weight) / np.outer(self.scale, self.scale) / self.total_weight
        )
        if values[0] <= POSITIVE_EIGENVALUE:
            return 0.0
        parts = (weight * self.predictors(vectors[:, 0] / self.scale) ** 2).sum(axis=0)
        error = float(np.sqrt(((parts - parts.mean()) ** 2).sum()))
        return float(parts.sum()) / error if error > 0 else np.inf


def solve_corrected_score(people: Outcomes, family: OutcomeFamily) -> CorrectedFit:
    """Solve the corrected score, in closed form for a mean and by Newton's method for a logit, with sandwich errors."""
    if people.indicators is None:
        raise ValueError(
            'method="corrected" needs reports that identify the share of every answer, but these do not; method="ml" '
            "may still do, by a model of the answers"
        )
    score = CorrectedScore(people, people.indicators, family)
    if score.strength(np.ones_like(score.weight)) == 0:
        _refuse_indefinite()
    gamma = _root(score)
    terms = score.terms(gamma)
    strength = score.strength(terms.curvature)
    if strength == 0:
        _refuse_indefinite()
    # A^-1 in units of the columns, and the sandwich.
    scale = np.outer(score.scale, score.scale)
    half = np.linalg.inv(score.information(score.weight * terms.curvature) / scale)
    inverse = half / scale
    robust = _robust(people, score, terms, (inverse + inverse.T) / 2)
    return CorrectedFit(gamma, robust.known_covariance, strength, robust)


def _root(score: CorrectedScore) -> Array:
    start: Array = np.zeros(score.columns.shape[-1])
    if score.family == "linear":
        here = score.expansion(start)
        return np.asarray(np.linalg.solve(here.information, here.gradient))
    maximum = newton_ascent(score, start)
    if not maximum.converged or infinity(score, maximum) is not None:
        raise ValueError(
            "the corrected equations of this logit have no finite solution: some group has, after correction, "
            "hardly any respondents with one of the two outcomes; take fewer terms, or collect more reports"
        )
    return maximum.coefficients


def units(rows: Observations) -> Clusters:
    """Return the clusters of the rows; without clusters, each row is one."""
    if rows.sampling.cluster is not None:
        return rows.sampling.clusters
    stratum = np.zeros(rows.n, dtype=np.int64) if rows.sampling.stratum is None else rows.sampling.stratum
    return Clusters(np.arange(rows.n), stratum, RESPONDENT)


def _robust(people: Outcomes, score: CorrectedScore, terms: OutcomeTerms, inverse: Array) -> ClusterRobust:
    """Compute the bias-reduced standard errors.

    A may be negative for a single cluster. Its mean given the reports is not: in the place of debiased indicators
    it has the probabilities of the answers, from their shares overall.
    """
    rows, clusters = people.rows, units(people.rows)
    assert people.indicators is not None
    shares = np.maximum(rows.weight @ people.indicators / rows.weight.sum(), SMALLEST_SHARE)
    posterior = rows.likelihood * shares
    posterior /= posterior.sum(axis=1, keepdims=True)
    k, n, width = people.copies.shape
    copied = clusters._replace(cluster=np.tile(clusters.cluster, k))
    weight = (posterior * rows.weight[:, np.newaxis]).T * terms.curvature
    information = information_by_cluster(copied, people.copies.reshape(k * n, width), weight.ravel())
    within = terms.score  # residuals of all copies, (k, n), less the debiased mean of their cluster
    if rows.sampling.cluster is not None:
        mean = (people.indicators.T * within).sum(axis=0)
        within = np.asarray(within - (mean - about_clusters(clusters, rows.weight, mean)))
    scores, deviations = (score.scores(residuals) / rows.weight[:, np.newaxis] for residuals in (terms.score, within))
    return cluster_robust(rows, clusters, scores, information, inverse, deviations=deviations)


def _refuse_indefinite() -> NoReturn:
    raise ValueError(
        "there is too little information to estimate this model's coefficients: the corrected equations have no "
        "maximum for these reports; take fewer terms with the randomized answer, or collect more reports"
    )
