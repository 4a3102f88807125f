r"""Response families: shares as functions of linear predictors, and the likelihood of a report, one row at a time.

A family knows the log-likelihood of one report, :math:`\log\mu = \log\sum_k L_k\,\theta_k(\eta)`, as a function of a
few predictors :math:`\eta`, with its first and second derivatives. Everything else follows from these, for every family
and every design. With :math:`r_k = L_k\theta_k/\mu`, what the report makes of the shares, the multinomial logit has

.. math:: \frac{\partial\log\mu}{\partial\eta_k} = r_k - \theta_k, \qquad
   -\frac{\partial^2\log\mu}{\partial\eta\,\partial\eta'} = V(\theta) - V(r), \quad V(p) = \operatorname{diag}(p) - pp'.

A row's curvature can be negative: a yes from somebody of whom a no was expected. That is where false optima come from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from warner.arrays import Array, Integers
    from warner.regression.links import Link

BOUNDARY_SHARE = 1e-6  # below which a share is on the boundary: its log-odds are as good as infinite


class Contributions(NamedTuple):
    """Log-likelihoods of rows, (n,); their derivatives in the predictors, (f, n), and minus the second, (f, f, n)."""

    log_likelihood: Array
    score: Array
    curvature: Array


class Shares(ABC):
    """Shares of k answers as a function of some predictors."""

    k: int

    @property
    @abstractmethod
    def predictors(self) -> int:
        """The number f of linear predictors."""

    @abstractmethod
    def shares(self, eta: Array) -> Array:
        """Give the share of each answer, (k, n), at predictors (f, n)."""

    @abstractmethod
    def slopes(self, eta: Array) -> Array:
        """Give the derivatives of the shares in the predictors, (k, f, n)."""


class Family(Shares):
    """Shares that a likelihood is made of.

    Attributes
    ----------
    longest_step : float
        How far a predictor may move in one step of Newton's method.
    latent_sign : int
        1 if what makes an answer more likely raises the predictors; -1 if it lowers them, as cutpoints.
    """

    longest_step: float
    latent_sign: int = 1

    @abstractmethod
    def at(self, eta: Array, likelihood: Array) -> Contributions:
        """Evaluate the log-likelihood of reports and its derivatives; `likelihood` is of shape (k, n)."""

    @abstractmethod
    def log_likelihood(self, eta: Array, likelihood: Array) -> Array:
        """Evaluate the log-likelihood alone; minus infinity where the predictors are out of bounds."""

    @abstractmethod
    def predictors_of(self, shares: Array) -> Array:
        """Give the predictors that lead to shares, (k, n)."""

    def rises(self) -> Array:
        """Give how the predictors change where one answer gains on all others, a row for each way to start a climb."""
        return np.ones((1, self.predictors))

    def slopes(self, eta: Array) -> Array:
        r"""Give the derivatives of the shares: :math:`\theta_k` times the score of a true answer k."""
        truths = np.eye(self.k)
        shares = self.shares(eta)
        rows = [self.at(eta, np.repeat(truths[:, [k]], eta.shape[1], axis=1)).score * shares[k] for k in range(self.k)]
        return np.array(rows)


@dataclass(frozen=True)
class Identity(Shares):
    """Shares that are linear themselves: of each answer but the reference, which has the rest."""

    k: int
    reference: int

    @property
    def predictors(self) -> int:
        """One for each answer but the reference."""
        return self.k - 1

    def shares(self, eta: Array) -> Array:
        """Give the predictors as they are, within 0 to 1 or not."""
        return np.insert(eta, self.reference, 1 - eta.sum(axis=0), axis=0)

    def slopes(self, eta: Array) -> Array:
        """Give ones, and minus ones for the reference."""
        steps = np.insert(np.eye(self.k - 1), self.reference, -1.0, axis=0)
        return np.repeat(steps[:, :, np.newaxis], eta.shape[1], axis=2)


@dataclass(frozen=True)
class MeanNumber(Shares):
    """The mean of a number, which is linear itself, in the place of shares."""

    k: int = 1

    @property
    def predictors(self) -> int:
        """The mean alone."""
        return 1

    def shares(self, eta: Array) -> Array:
        """Give the predictor as it is, within the range of the numbers or not."""
        return eta

    def slopes(self, eta: Array) -> Array:
        """Give ones."""
        return np.ones((1, 1, eta.shape[1]))


@dataclass(frozen=True)
class Softmax(Family):
    """The multinomial logit: log-odds of each answer against the reference are linear.

    >>> family = Softmax(3, reference=2)
    >>> family.shares(np.array([[np.log(2.0)], [0.0]])).ravel()
    array([0.5 , 0.25, 0.25])
    """

    k: int
    reference: int
    longest_step: float = 3.0

    @property
    def predictors(self) -> int:
        """One for each answer but the reference."""
        return self.k - 1

    @cached_property
    def free(self) -> Integers:
        """The answers that have a predictor."""
        return np.delete(np.arange(self.k), self.reference)

    def rises(self) -> Array:
        """Give each answer in turn; the reference gains where all others lose, so that no answer is a special one."""
        return np.concatenate([np.eye(self.predictors), -np.ones((1, self.predictors))])

    def _all(self, eta: Array) -> Array:
        every = np.zeros((self.k, eta.shape[1]))
        every[self.free] = eta
        return every

    def shares(self, eta: Array) -> Array:
        every = self._all(eta)
        every -= every.max(axis=0)
        np.exp(every, out=every)
        every /= every.sum(axis=0)
        return every

    def log_likelihood(self, eta: Array, likelihood: Array) -> Array:
        if likelihood.min() > 0:  # then mu lies within [min L, max L], and plain arithmetic is safe
            return np.asarray(np.log((likelihood * self.shares(eta)).sum(axis=0)))
        return self._posterior(eta, likelihood)[1]

    def _posterior(self, eta: Array, likelihood: Array) -> tuple[Array, Array]:
        """Give r and log mu by sums of exponentials: right for direct answers, with L of 0 and 1, at any predictor."""
        every = self._all(eta)
        with np.errstate(divide="ignore"):
            joint = every + np.log(likelihood)
        top, total = joint.max(axis=0), every.max(axis=0)
        joint = np.exp(joint - top)
        mass = joint.sum(axis=0)
        return joint / mass, top + np.log(mass) - total - np.log(np.exp(every - total).sum(axis=0))

    def at(self, eta: Array, likelihood: Array) -> Contributions:
        """Evaluate the log-likelihood, r - theta and V(theta) - V(r)."""
        shares = self.shares(eta)
        if likelihood.min() > 0:
            joint = likelihood * shares
            probability = joint.sum(axis=0)
            posterior, value = joint / probability, np.log(probability)
        else:
            posterior, value = self._posterior(eta, likelihood)
        theta, r = shares[self.free], posterior[self.free]
        curvature = r[:, np.newaxis] * r - theta[:, np.newaxis] * theta
        diagonal = np.arange(self.k - 1)
        curvature[diagonal, diagonal] += theta - r
        return Contributions(value, r - theta, curvature)

    def predictors_of(self, shares: Array) -> Array:
        """Give the log-odds against the reference."""
        logs = np.log(shares)
        return np.asarray(logs[self.free] - logs[self.reference])


class Direct(Softmax):
    r"""The corrected score: z, debiased indicators of the answers, in the place of the likelihoods of the reports.

    :math:`z'\eta - \log\sum_k e^{\eta_k}` is the log-likelihood of direct answers, linear in their indicators. Because
    z sums to one it is concave, with score :math:`z - \theta` and curvature :math:`V(\theta)`.
    """

    def __init__(self, k: int) -> None:
        super().__init__(k, k - 1)

    def log_likelihood(self, eta: Array, likelihood: Array) -> Array:
        """Evaluate the function that is maximised."""
        return self.at(eta, likelihood).log_likelihood

    def at(self, eta: Array, likelihood: Array) -> Contributions:
        """Evaluate it with its derivatives."""
        top = np.maximum(eta.max(axis=0), 0.0)
        odds = np.exp(eta - top)
        total = odds.sum(axis=0) + np.exp(-top)
        theta = odds / total
        indicators = likelihood[:-1]
        curvature = -theta[:, np.newaxis] * theta
        diagonal = np.arange(len(theta))
        curvature[diagonal, diagonal] += theta
        value = (indicators * eta).sum(axis=0) - top - np.log(total)
        return Contributions(value, indicators - theta, curvature)


@dataclass(frozen=True)
class Binary(Family):
    r"""Two answers and a link: the share of the answer that is not the reference is :math:`F(\eta)`.

    With a and b the likelihoods of the report after this answer and after the other one, the score is
    :math:`s = (a - b) f/\mu`, and the curvature :math:`s^2 - s f'/f`.
    """

    link: Link
    reference: int = 1
    k: int = 2
    longest_step: float = 5.0

    @property
    def predictors(self) -> int:
        return 1

    def shares(self, eta: Array) -> Array:
        share, rest = self.link.plain(eta[0])[:2]
        return np.array([share, rest] if self.reference == 1 else [rest, share])

    def log_likelihood(self, eta: Array, likelihood: Array) -> Array:
        return self._evaluated(eta, likelihood)[0]

    def _evaluated(self, eta: Array, likelihood: Array) -> tuple[Array, Array, Array]:
        """Give the log-likelihood, the score and f'/f."""
        a, b = likelihood[1 - self.reference], likelihood[self.reference]
        if likelihood.min() > 0:
            share, rest, density, bend = self.link.plain(eta[0])
            probability = a * share + b * rest
            return np.log(probability), (a - b) * density / probability, bend
        log_share, log_rest, over_share, over_rest, bend = self.link.sides(eta[0])
        with np.errstate(divide="ignore"):
            value = np.logaddexp(np.log(a) + log_share, np.log(b) + log_rest)
            posterior = np.exp(np.log(a) + log_share - value)  # of the answer, after the report
            other = np.exp(np.log(b) + log_rest - value)
        return value, posterior * over_share - other * over_rest, bend

    def at(self, eta: Array, likelihood: Array) -> Contributions:
        value, score, bend = self._evaluated(eta, likelihood)
        return Contributions(value, score[np.newaxis], (score * (score - bend))[np.newaxis, np.newaxis])

    def predictors_of(self, shares: Array) -> Array:
        return np.asarray(self.link.inverse(shares[[1 - self.reference]]))


@dataclass(frozen=True)
class Cumulative(Family):
    r"""Ordered answers: :math:`P(\text{answer} \le k) = F(\eta_k)`, with predictors that rise with k.

    The likelihood is linear in these, :math:`\mu = L_K + \sum_k (L_k - L_{k+1}) F(\eta_k)`, so that only
    derivatives of F are needed: :math:`g_k = (L_k - L_{k+1}) f(\eta_k)/\mu`, with curvature
    :math:`gg' - \operatorname{diag}(g f'/f)`.
    """

    k: int
    link: Link
    longest_step: float = 3.0
    latent_sign = -1

    @property
    def predictors(self) -> int:
        """One for each answer but the last."""
        return self.k - 1

    def shares(self, eta: Array) -> Array:
        """Give the differences of F, taken on the side where they do not cancel."""
        share, rest = self.link.plain(eta)[:2]
        ends = np.zeros((1, eta.shape[1]))
        below = np.concatenate([ends, share, ends + 1])
        above = np.concatenate([ends + 1, rest, ends])
        low = np.concatenate([eta[:1], eta]) < 0
        return np.maximum(np.where(low, np.diff(below, axis=0), -np.diff(above, axis=0)), 0.0)

    def log_likelihood(self, eta: Array, likelihood: Array) -> Array:
        probability = (likelihood * self.shares(eta)).sum(axis=0)
        rising = (np.diff(eta, axis=0) >= 0).all(axis=0) & (probability > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(rising, np.log(probability), -np.inf)

    def at(self, eta: Array, likelihood: Array) -> Contributions:
        plain = self.link.plain(eta)
        value = self.log_likelihood(eta, likelihood)
        probability = np.where(np.isfinite(value), np.exp(value), 1.0)
        score = (likelihood[:-1] - likelihood[1:]) * plain.density / probability
        curvature = score[:, np.newaxis] * score
        diagonal = np.arange(self.k - 1)
        curvature[diagonal, diagonal] -= score * plain.bend
        return Contributions(value, score, curvature)

    def predictors_of(self, shares: Array) -> Array:
        return np.asarray(self.link.inverse(shares.cumsum(axis=0)[:-1]))
