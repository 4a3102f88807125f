r"""The joint likelihood of a randomized report and an outcome that depends on the answer.

With shares :math:`\theta_{nk}` of the answers, a multinomial logit on columns :math:`q_n`, the chance
:math:`L_{nk}` of the report after each answer, and the law f of the outcome,

.. math:: \ell = \sum_n w_n \log \sum_k L_{nk}\, \theta_{nk}\, f(o_n \mid x_{nk}), \qquad
          r_{nk} \propto L_{nk}\, \theta_{nk}\, f(o_n \mid x_{nk}).

Let :math:`s_{nk}` and :math:`H_{nk}` be the score and minus the second derivative of
:math:`\log\theta_{nk} + \log f_{nk}`. Then the score is :math:`s_n = \sum_k r_{nk} s_{nk}` and the observed
information, by Louis' formula [1]_,

.. math:: I = \sum_n w_n \Big[\sum_k r_{nk} (H_{nk} - s_{nk} s_{nk}') + s_n s_n'\Big].

Unlike the corrected score it uses, and so depends on, the whole law of the outcome: with normal errors the answer shows
also in the shape of the outcome's distribution. There can be several maxima, so that it is climbed from several starts.

References
----------
.. [1] T. A. Louis, "Finding the observed information matrix when using the EM algorithm", J. R. Stat. Soc. B 44 (1982).
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax

from warner.regression.outcomes import (
    FAR,
    FLAT,
    HALVINGS,
    LARGEST_STEP,
    POSITIVE,
    STEPS,
    Outcomes,
    ascent,
    corrected,
    directions,
    spread,
    terms_of,
)

if TYPE_CHECKING:
    from warner.arrays import Array, Mask
    from warner.regression.outcomes import Regressed

ARRIVED = 1e-10  # nats that a maximum can still gain
SAME = 1e-6  # nats, per person at most one thousandth of it: maxima that are one
SHARES_ONLY = 0.1  # a direction that moves the outcome by less of it is one of the shares
STRIDES = (1.0, -1.0)  # starting effects of an answer, in standard deviations of the outcome, or twice that in log-odds


class Optimum(NamedTuple):
    """A maximum that was found: its log-likelihood, and how many starts ended there."""

    log_likelihood: float
    starts: int


class Joint(NamedTuple):
    """The best maximum found: coefficients of the outcome, of the shares (k - 1, columns), the residual deviation."""

    coefficients: Array
    covariance: Array
    share_coefficients: Array
    share_covariance: Array
    deviation: float | None
    log_likelihood: float
    gap: float
    optima: tuple[Optimum, ...]


class _Model:
    """The joint likelihood as a function of one vector: share coefficients, outcome coefficients, log deviation."""

    def __init__(self, people: Outcomes, others: Array, family: Regressed) -> None:
        self.people, self.family = people, family
        self.size = np.sqrt(np.mean(people.copies**2, axis=(0, 1)))
        self.columns = people.copies / self.size
        self.share_size = np.sqrt(np.mean(others**2, axis=0))
        self.others = others / self.share_size
        self.unit = 1.0
        if family == "linear":
            mean = np.average(people.outcome, weights=people.weight)
            self.unit = float(np.sqrt(np.average((people.outcome - mean) ** 2, weights=people.weight))) or 1.0
        self.outcome = people.outcome / self.unit
        self.k, self.n, self.width = self.columns.shape
        self.shares = (self.k - 1) * self.others.shape[1]
        with np.errstate(divide="ignore"):
            self.log_likelihoods = np.log(people.likelihood).T

    def parts(self, vector: Array) -> tuple[Array, Array, float]:
        """Split a vector into share coefficients (k - 1, columns), outcome coefficients and deviation."""
        shares = vector[: self.shares].reshape(self.k - 1, -1)
        deviation = float(np.exp(vector[-1])) if self.family == "linear" else 1.0
        return shares, vector[self.shares : self.shares + self.width], deviation

    def predictors(self, vector: Array) -> tuple[Array, Array]:
        """Give the linear predictors of the shares, the last answer's zero, and of the outcome; both (k, n)."""
        shares, gamma, _ = self.parts(vector)
        return np.vstack([shares @ self.others.T, np.zeros(self.n)]), self.columns @ gamma

    def log_terms(self, vector: Array) -> Array:
        """Give log(L theta f) for each answer and person, (k, n)."""
        logits, eta = self.predictors(vector)
        deviation = self.parts(vector)[2]
        value = terms_of(self.family, eta / deviation, self.outcome / deviation)[0]
        if self.family == "linear":
            value = value - np.log(deviation * self.unit) - np.log(2 * np.pi) / 2
        return np.asarray(self.log_likelihoods + logits - logsumexp(logits, axis=0) + value)

    def value(self, vector: Array) -> float:
        """Give the log-likelihood."""
        return float(self.people.weight @ logsumexp(self.log_terms(vector), axis=0))

    def posterior(self, vector: Array) -> Array:
        """Give r, the probability of each answer given report and outcome, (k, n)."""
        return np.asarray(softmax(self.log_terms(vector), axis=0))

    def derivatives(self, vector: Array) -> tuple[Array, Array]:
        """Give the score of each person, (n, d), and the observed information."""
        posterior, deviation = self.posterior(vector), self.parts(vector)[2]
        logits, eta = self.predictors(vector)
        theta = softmax(logits, axis=0)[:-1]
        # The scale of a residual enters twice: s = e x / sigma^2, H = x x' / sigma^2.
        _, slope, curvature = terms_of(self.family, eta / deviation, self.outcome / deviation)
        size = len(vector)
        scores = np.zeros((self.k, self.n, size))
        for k in range(self.k):
            held = (np.arange(self.k - 1) == k)[:, np.newaxis] - theta
            scores[k, :, : self.shares] = (held[:, np.newaxis] * self.others.T).reshape(-1, self.n).T
        scores[:, :, self.shares : self.shares + self.width] = (slope / deviation)[:, :, np.newaxis] * self.columns
        if self.family == "linear":
            scores[:, :, -1] = slope**2 - 1
        mean = np.einsum("kn,knd->nd", posterior, scores)
        weight = self.people.weight
        flat = scores.reshape(-1, size)
        heavy = (weight * posterior).reshape(-1, 1)
        information = (mean * weight[:, np.newaxis]).T @ mean - flat.T @ (flat * heavy)
        information[: self.shares, : self.shares] += self._of_shares(theta)
        block = slice(self.shares, self.shares + self.width)
        columns = self.columns.reshape(-1, self.width)
        information[block, block] += columns.T @ (columns * heavy * curvature.reshape(-1, 1)) / deviation**2
        if self.family == "linear":
            cross = 2 * columns.T @ (heavy * slope.reshape(-1, 1)).ravel() / deviation
            information[block, -1] += cross
            information[-1, block] += cross
            information[-1, -1] += 2 * float((heavy.ravel() * slope.ravel() ** 2).sum())
        return mean, (information + information.T) / 2

    def _of_shares(self, theta: Array) -> Array:
        """Give the sum of V(theta) (x) q q', V(p) = diag(p) - p p'."""
        spread_out = (theta[:, np.newaxis] * self.others.T).reshape(-1, self.n)
        result = -(spread_out * self.people.weight) @ spread_out.T
        width = self.others.shape[1]
        for k, share in enumerate(theta):
            block = slice(k * width, (k + 1) * width)
            result[block, block] += self.others.T @ (self.others * (self.people.weight * share)[:, np.newaxis])
        return np.asarray(result)

    def climb(self, vector: Array) -> tuple[Array, float, float]:
        """Climb by Newton's method: give the vector, its log-likelihood, and what it could still gain."""
        value = self.value(vector)
        gap = np.inf
        for _ in range(STEPS):
            scores, information = self.derivatives(vector)
            score = self.people.weight @ scores
            step = ascent(information, score)
            gain = float(score @ step)
            arrived = gain / 2 < ARRIVED
            length = 1.0 if arrived else min(1.0, LARGEST_STEP / max(self.reach(step), LARGEST_STEP))
            for _ in range(HALVINGS):
                after = self.value(vector + length * step)
                if after >= value + 1e-4 * length * gain or (arrived and after >= value - 1e-9 * abs(value)):
                    vector, value = vector + length * step, after
                    break
                length /= 2
            gap = gain / 2
            if arrived or length < 2.0**-30:
                break
        return vector, value, gap

    def reach(self, step: Array) -> float:
        """Give the most that a step moves any linear predictor, or twice the logarithm of the deviation."""
        logits, eta = self.predictors(step)
        return float(max(np.abs(logits).max(), np.abs(eta).max(), 2 * abs(step[-1]) if self.family == "linear" else 0))

    def starts(self, shares: Array) -> list[Array]:
        """Give where to climb from: the reports alone, the corrected score, and each answer's effect, up and down."""
        constant = np.linalg.lstsq(self.others, np.ones(self.n), rcond=None)[0]
        shares = np.maximum(shares, 0.5 / self.n)
        logits = np.outer(np.log(shares[:-1] / shares[-1]), constant).ravel()
        moving = (self.columns != self.columns[-1:]).any(axis=(0, 1))
        plain = self._fitted(np.full((self.k, self.n), 1 / self.k), ~moving)
        candidates = [self._fitted(softmax(self.log_likelihoods + np.log(shares)[:, np.newaxis], axis=0))]
        with suppress(ValueError):  # too little information for the corrected score
            candidates.append(corrected(self.people, self.family).coefficients * self.size / self.unit)
        for column in np.flatnonzero(moving):
            for stride in STRIDES:
                moved = plain.copy()
                moved[column] += stride * (1 if self.family == "linear" else 2)
                candidates.append(moved)
        return [self._vector(logits, gamma) for gamma in candidates]

    def _vector(self, logits: Array, gamma: Array) -> Array:
        if self.family == "logit":
            return np.concatenate([logits, gamma])
        residual = self.outcome - self.columns[-1] @ gamma
        deviation = np.clip(np.sqrt(np.average(residual**2, weights=self.people.weight)), 0.1, 1)
        return np.concatenate([logits, gamma, [np.log(deviation)]])

    def _fitted(self, posterior: Array, free: Mask | None = None) -> Array:
        """Fit the outcome to the copies of people, weighted by how likely each is; only these columns if `free`."""
        chosen = np.ones(self.width, dtype=bool) if free is None else free
        columns = self.columns[:, :, chosen].reshape(-1, int(chosen.sum()))
        weight = (self.people.weight * posterior).ravel()
        outcome = np.tile(self.outcome, self.k)
        gamma = np.zeros(columns.shape[1])
        for _ in range(1 if self.family == "linear" else 8):
            _, slope, curvature = terms_of(self.family, columns @ gamma, outcome)
            hessian = columns.T @ (columns * (weight * curvature)[:, np.newaxis])
            step = ascent(hessian, columns.T @ (weight * slope)) if gamma.size else gamma
            reach = float(np.abs(columns @ step).max(initial=0))
            gamma = gamma + step * (min(1.0, LARGEST_STEP / max(reach, LARGEST_STEP)) if self.family == "logit" else 1)
        result = np.zeros(self.width)
        result[chosen] = gamma
        return result


def joint(people: Outcomes, others: Array, shares: Array, family: Regressed) -> Joint:
    """Find the most likely coefficients of the outcome and of the shares of the answers.

    Parameters
    ----------
    people : Outcomes
        Outcomes, copies of the columns and likelihoods of the reports.
    others : array of shape (n, columns)
        What the shares of the answers may depend on.
    shares : array of shape (k,)
        About how common each answer is, to start from.
    family : "linear" or "logit"
        The law of the outcome: normal, or yes and no.
    """
    model = _Model(people, others, family)
    ends = sorted((model.climb(start) for start in model.starts(shares)), key=lambda end: -end[1])
    vector, value, gap = ends[0]
    optima: list[Optimum] = []
    for _, reached, _ in ends:
        if optima and optima[-1].log_likelihood - reached < SAME * max(1.0, abs(value) / 1000):
            optima[-1] = Optimum(optima[-1].log_likelihood, optima[-1].starts + 1)
        else:
            optima.append(Optimum(reached, 1))
    scores, information = model.derivatives(vector)
    _refuse_unknown(model, vector, information)
    covariance: Array = np.linalg.inv(information)
    if people.sampled:
        weighted = scores * people.weight[:, np.newaxis]
        covariance = covariance @ spread(weighted, people.cluster, people.stratum) @ covariance
    shares_b, gamma, deviation = model.parts(vector)
    scale = np.concatenate([np.tile(1 / model.share_size, model.k - 1), model.unit / model.size])
    covariance = covariance[: len(scale), : len(scale)] * np.outer(scale, scale)
    return Joint(
        gamma * model.unit / model.size,
        covariance[model.shares :, model.shares :],
        shares_b / model.share_size,
        covariance[: model.shares, : model.shares],
        deviation * model.unit if family == "linear" else None,
        value,
        gap,
        tuple(optima),
    )


def _refuse_unknown(model: _Model, vector: Array, information: Array) -> None:
    """Refuse a maximum that is flat, or that runs away in the outcome's coefficients."""
    if model.family == "logit":
        value = model.value(vector)
        for direction in directions(information, model.reach):
            outcome_moves = float(np.abs(model.predictors(direction)[1]).max()) > SHARES_ONLY
            if outcome_moves and model.value(vector + FAR * direction) > value - FLAT:
                raise ValueError(
                    "the likelihood of this logit has its maximum at infinity: some group has hardly anybody with one "
                    "of the two outcomes; take fewer terms, or collect more reports"
                )
    scale = np.sqrt(np.maximum(np.diag(information), np.finfo(float).tiny))
    if np.linalg.eigvalsh(information / np.outer(scale, scale))[0] <= POSITIVE:
        raise ValueError(
            "there is too little information to tell this model's coefficients: its likelihood is flat in some "
            "direction; take fewer terms, or collect more reports"
        )
