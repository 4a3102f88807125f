r"""Joint maximum likelihood of a randomized report and an outcome that depends on the answer.

With shares :math:`\theta_{nk}` of the answers, a multinomial logit on columns :math:`q_n`, the chance
:math:`L_{nk}` of the report after each answer, and the law f of the outcome,

.. math:: \ell = \sum_n w_n \log \sum_k L_{nk}\, \theta_{nk}\, f(o_n \mid x_{nk}), \qquad
          r_{nk} \propto L_{nk}\, \theta_{nk}\, f(o_n \mid x_{nk}).

Let :math:`s_{nk}` and :math:`H_{nk}` be the score and minus the second derivative of
:math:`\log\theta_{nk} + \log f_{nk}`. Then the score is :math:`s_n = \sum_k r_{nk} s_{nk}` and the observed
information, by Louis' formula [1]_,

.. math:: I = \sum_n w_n \Big[\sum_k r_{nk} (H_{nk} - s_{nk} s_{nk}') + s_n s_n'\Big].

Unlike the corrected score it uses, and so depends on, the whole law of the outcome: with normal errors the answer shows
also in the shape of the outcome's distribution. There can be several maxima, so that there are several starts.

References
----------
.. [1] T. A. Louis, "Finding the observed information matrix when using the EM algorithm", J. R. Stat. Soc. B 44 (1982).
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax

from warner.explanation.corrected_score import (
    LONGEST_STEP,
    PULLED_BACK_TO,
    OutcomeFamily,
    Outcomes,
    OutcomeTerms,
    outcome_terms,
    solve_corrected_score,
    units,
)
from warner.regression.likelihood import Expansion
from warner.regression.maxima import Optimum, Start, maximise
from warner.regression.standard_errors import ClusterRobust, cluster_robust, information_by_cluster, inverse_information

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.arrays import Array, Mask

START_EFFECT = 1.0  # of an answer: standard deviations of the outcome; twice that in log-odds
START_STEPS = 8  # of Newton's method for a logit from which a start is made
PREDICTOR_OF_DEVIATION = 4.0  # how far a predictor moves while the deviation moves by the factor e


class JointFit(NamedTuple):
    """Best maximum: coefficients of the outcome, of the shares (k - 1, columns), and the errors' standard deviation."""

    coefficients: Array
    covariance: Array
    share_coefficients: Array
    deviation: float | None
    log_likelihood: float
    gap: float
    optima: tuple[Optimum, ...]
    clustered: ClusterRobust | None = None


class JointLikelihood:
    """Joint likelihood as a function of one vector: coefficients of shares and of the outcome, log deviation.

    The outcome of a linear model is measured in its own standard deviation, `unit`.
    """

    longest_step = LONGEST_STEP
    rounding = 0.0

    def __init__(self, people: Outcomes, family: OutcomeFamily) -> None:
        self.people, self.family, self.rows = people, family, people.rows
        self.columns, self.others = people.copies, people.rows.x
        self.k, self.n, self.width = self.columns.shape
        share_size = (self.k - 1) * self.others.shape[1]
        self.of_shares, self.of_outcome = slice(share_size), slice(share_size, share_size + self.width)
        self.total_weight = float(self.rows.weight.sum())
        self.unit = self._deviation(people.outcome) if family == "linear" else 1.0
        self.outcome = people.outcome / self.unit
        with np.errstate(divide="ignore"):
            self.reports = np.log(self.rows.likelihood).T

    def _deviation(self, values: Array) -> float:
        mean = np.average(values, weights=self.rows.weight)
        return float(np.sqrt(np.average((values - mean) ** 2, weights=self.rows.weight)))

    @cached_property
    def scale(self) -> Array:
        of_shares = np.tile(np.sqrt(np.mean(self.others**2, axis=0)), self.k - 1)
        return np.concatenate([of_shares, self.people.size, [1.0] if self.family == "linear" else []])

    def share_coefficients(self, b: Array) -> Array:
        return np.asarray(b[self.of_shares].reshape(self.k - 1, -1))

    def deviation(self, b: Array) -> float:
        return float(np.exp(b[-1])) if self.family == "linear" else 1.0

    def logits(self, b: Array) -> Array:
        """Return the linear predictors of the shares, zero for the last answer: (k, n)."""
        return np.vstack([self.share_coefficients(b) @ self.others.T, np.zeros(self.n)])

    def eta(self, b: Array) -> Array:
        return np.asarray(self.columns @ b[self.of_outcome])

    def predictors(self, b: Array) -> Array:
        """Return all linear predictors, (2k, n); for a linear model, the logarithm of the deviation among them."""
        logits = self.logits(b)
        if self.family == "linear":
            logits[-1] = PREDICTOR_OF_DEVIATION * b[-1]
        return np.vstack([logits, self.eta(b)])

    predictor_change = predictors

    def pulled_back(self, eta: Array) -> Array:
        return np.clip(eta, -PULLED_BACK_TO, PULLED_BACK_TO)

    @cached_property
    def basis(self) -> Array:
        return np.diag(1 / self.scale)

    def terms(self, b: Array) -> OutcomeTerms:
        deviation = self.deviation(b)
        return outcome_terms(self.family, self.eta(b) / deviation, self.outcome / deviation)

    def log_terms(self, b: Array) -> Array:
        """Return log(L theta f) for each answer and respondent, (k, n)."""
        logits, log_density = self.logits(b), self.terms(b).log_density
        if self.family == "linear":
            log_density = log_density - np.log(self.deviation(b) * self.unit) - np.log(2 * np.pi) / 2
        return np.asarray(self.reports + logits - logsumexp(logits, axis=0) + log_density)

    def value(self, b: Array) -> float:
        return float(self.rows.weight @ logsumexp(self.log_terms(b), axis=0))

    def expansion(self, b: Array) -> Expansion:
        scores, information = self.derivatives(b)
        return Expansion(self.value(b), self.rows.weight @ scores, information)

    def derivatives(self, b: Array) -> tuple[Array, Array]:
        """Compute the score of each respondent, (n, d), and the observed information, by Louis' formula."""
        posterior = softmax(self.log_terms(b), axis=0)  # r
        theta = softmax(self.logits(b), axis=0)[:-1]
        terms, deviation = self.terms(b), self.deviation(b)
        complete = self._complete_scores(theta, terms, deviation)
        scores = np.einsum("kn,knd->nd", posterior, complete)
        weight = self.rows.weight * posterior
        # Minus the missing information, then H block by block: of the shares, the outcome and the deviation.
        flat = complete.reshape(self.k * self.n, -1)
        information = (scores.T * self.rows.weight) @ scores - flat.T @ (flat * weight.reshape(-1, 1))
        information[self.of_shares, self.of_shares] += self._information_of_shares(theta)
        columns = self.columns.reshape(-1, self.width)
        weighted = columns * weight.reshape(-1, 1) * terms.curvature.reshape(-1, 1)
        information[self.of_outcome, self.of_outcome] += columns.T @ weighted / deviation**2
        if self.family == "linear":
            cross = 2 * columns.T @ (weight * terms.score).ravel() / deviation
            information[self.of_outcome, -1] += cross
            information[-1, self.of_outcome] += cross
            information[-1, -1] += 2 * float(weight.ravel() @ terms.score.ravel() ** 2)
        return scores, (information + information.T) / 2

    def _complete_scores(self, theta: Array, terms: OutcomeTerms, deviation: float) -> Array:
        """Compute the score s of each respondent after each answer, (k, n, d)."""
        scores = np.zeros((self.k, self.n, len(self.scale)))
        for k in range(self.k):
            residual = (np.arange(self.k - 1) == k)[:, np.newaxis] - theta
            scores[k, :, self.of_shares] = (residual[:, np.newaxis] * self.others.T).reshape(-1, self.n).T
        # With residuals in deviations, s = e x / sigma and H = x x' / sigma^2.
        scores[:, :, self.of_outcome] = (terms.score / deviation)[:, :, np.newaxis] * self.columns
        if self.family == "linear":
            scores[:, :, -1] = terms.score**2 - 1
        return scores

    def _information_of_shares(self, theta: Array) -> Array:
        """Sum V(theta) (x) q q' over respondents, with V(p) = diag(p) - p p'."""
        apart = (theta[:, np.newaxis] * self.others.T).reshape(-1, self.n)
        result = -(apart * self.rows.weight) @ apart.T
        width = self.others.shape[1]
        for k, share in enumerate(theta):
            block = slice(k * width, (k + 1) * width)
            result[block, block] += (self.others.T * (self.rows.weight * share)) @ self.others
        return np.asarray(result)

    # Starts

    def starts(self, shares: Array) -> Iterator[Start]:
        """Yield starts: the reports alone, the corrected score, and each answer's effect, in both directions."""
        constant = np.linalg.lstsq(self.others, np.ones(self.n), rcond=None)[0]
        shares = np.maximum(shares, 0.5 / self.n)
        logits = np.outer(np.log(shares[:-1] / shares[-1]), constant).ravel()
        posterior = softmax(self.reports + np.log(shares)[:, np.newaxis], axis=0)
        yield self._start("reports", logits, self._fitted(posterior))
        with suppress(ValueError):  # too little information for the corrected score
            yield self._start(
                "corrected score", logits, solve_corrected_score(self.people, self.family).coefficients / self.unit
            )
        moving = (self.columns != self.columns[-1:]).any(axis=(0, 1))
        plain = self._fitted(posterior, ~moving)
        effect = START_EFFECT if self.family == "linear" else 2 * START_EFFECT
        for column in np.flatnonzero(moving).tolist():
            for step in (effect, -effect):
                moved = plain.copy()
                moved[column] += step / self.people.size[column]
                yield self._start(f"effect {column}", logits, moved)

    def _start(self, name: str, logits: Array, gamma: Array) -> Start:
        if self.family == "logit":
            return Start(name, np.concatenate([logits, gamma]))
        deviation = np.clip(self._deviation(self.outcome - self.columns[-1] @ gamma), 0.1, 1)
        return Start(name, np.concatenate([logits, gamma, [np.log(deviation)]]))

    def _fitted(self, posterior: Array, free: Mask | None = None) -> Array:
        """Fit the outcome to the copies of respondents, weighted by their posterior probabilities."""
        selected = np.ones(self.width, dtype=bool) if free is None else free
        columns = self.columns[:, :, selected].reshape(-1, int(selected.sum()))
        weight = (self.rows.weight * posterior).ravel()
        outcome = np.tile(self.outcome, self.k)
        gamma = np.zeros(columns.shape[1])
        for _ in range(1 if self.family == "linear" else START_STEPS):
            _, score, curvature = outcome_terms(self.family, columns @ gamma, outcome)
            # Weighted least squares; of dependent columns the shortest solution.
            root = np.sqrt(np.maximum(weight * curvature, np.finfo(float).tiny))
            step = np.linalg.lstsq(columns * root[:, np.newaxis], weight * score / root, rcond=None)[0]
            far = float(np.abs(columns @ step).max(initial=0)) if self.family == "logit" else 0.0
            gamma = gamma + step * min(1.0, LONGEST_STEP / max(far, LONGEST_STEP))
        result = np.zeros(self.width)
        result[selected] = gamma
        return result


def maximise_joint_likelihood(people: Outcomes, shares: Array, family: OutcomeFamily) -> JointFit:
    """Maximize the joint likelihood of the coefficients of the outcome and of the shares, from overall shares."""
    likelihood = JointLikelihood(people, family)
    result = maximise(likelihood, likelihood.starts(shares))
    b = result.best.coefficients
    if result.infinity is not None and result.infinity.mask[likelihood.of_outcome].any():
        raise ValueError(
            "the likelihood of this model has its maximum at infinity: some group has hardly any respondents "
            "with one of the answers or outcomes; take fewer terms, or collect more reports"
        )
    scores, information = likelihood.derivatives(b)
    # Shares that run to zero make the information flat in their own coefficients, and leave the outcome's alone.
    covariance = inverse_information(information, likelihood, flat=result.infinity is not None)
    robust = None
    if not people.rows.sampling.simple:
        clusters = units(people.rows)
        by_cluster = information_by_cluster(clusters, scores, people.rows.weight)
        robust = cluster_robust(people.rows, clusters, scores, by_cluster, covariance)
        robust = robust.transformed(np.eye(len(b))[likelihood.of_outcome] * likelihood.unit)
    if not np.isfinite(covariance).all():
        raise ValueError(
            "there is too little information to estimate this model's coefficients: its likelihood is flat in some "
            "direction; take fewer terms, or collect more reports"
        )
    if robust is None:
        covariance = covariance[likelihood.of_outcome, likelihood.of_outcome] * likelihood.unit**2
    else:
        covariance = robust.known_covariance
    return JointFit(
        b[likelihood.of_outcome] * likelihood.unit,
        covariance,
        likelihood.share_coefficients(b),
        likelihood.deviation(b) * likelihood.unit if family == "linear" else None,
        result.best.value,
        result.best.gap,
        result.optima,
        robust,
    )
