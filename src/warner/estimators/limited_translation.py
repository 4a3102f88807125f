r"""Limited translation: no share further from what its own count says than chance would take it.

A prior draws shares together, and where no prior fits, it can draw one whose count tells it well: what many answers
gain on the whole, that one pays [1]_. So each share is kept within the likelihood limits of its own count, those at
which the count would be :math:`D^2/2` nats less likely than it is at best, cut to 0..1:

.. math:: c \log\frac{c}{N\mu} + (N - c) \log\frac{N - c}{N(1 - \mu)} \le \frac{D^2}{2}, \qquad
          \mu = q + (p - q)\,\theta, \qquad D = z\left(1 - \tfrac{1}{2K}\right) + 1,

where z is the quantile function of the normal distribution. That is D standard errors. Of K errors the largest is
about :math:`z(1 - 1/(2K))`, so that what is noise can be drawn in; and as N grows the limits close in on the unbiased
estimate, so that every share is consistent, whatever the prior. Score (Wilson) limits would do where every count is
large, but not for small ones, which are skewed: among a thousand answers with one report each to be expected, the
largest count is often 6 or 7, five or six standard errors of the score above, and its answer would be said to be
common.

Shares are brought within their limits by one constant: clip(share + constant, low, high) sums to one for some constant
if and only if the lower limits sum to at most one, and the upper ones to at least one. A handful of reports, or reports
that do not fit the design, may allow no distribution: D then grows to the least at which there is one.

References
----------
.. [1] B. Efron and C. Morris, "Limiting the risk of Bayes and empirical Bayes estimators, part II: the empirical Bayes
   case", J. Amer. Stat. Assoc. 67 (1972), 130-139.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

from warner.arrays import SMALLEST
from warner.estimators.projections import projected_within
from warner.searching import bisected_each
from warner.special import deviance

if TYPE_CHECKING:
    from warner.arrays import Array, Integers, Mask

ERRORS_ALLOWED = 1.0  # standard errors that are allowed beyond the largest of K errors
TRANSLATION_STEPS = 8
TRANSLATION_BISECTIONS = 60


def errors_allowed(k: int) -> float:
    """Give D, the number of standard errors that a share among k may be away from its unbiased estimate."""
    return float(ndtri(1 - 0.5 / k)) + ERRORS_ALLOWED


def binomial_deviance(counts: Array, n: Array, mu: Array) -> Array:
    """Give twice the nats by which binomial counts are less likely at mu than at best."""
    return np.asarray(2 * (deviance(counts, n * mu) + deviance(n - counts, n * (1 - mu))))


def lower_limit(counts: Array, n: Array, errors: Array | float) -> Array:
    """Give the probability below its best value at which a binomial count has the deviance `errors` squared.

    Newton's method for the signed root of the deviance, which is nearly a straight line in the arcsine of sqrt(mu).
    """
    full, root = np.sqrt(n), np.sqrt(np.minimum(counts / n, 1))
    some = np.where(counts > 0, counts, 1.0)
    # Two starts, for large counts and for small ones, whose deviance is at least 2c (log(c / n mu) - 1).
    least = np.sqrt(np.exp(np.maximum(-1 - np.square(errors) / (2 * some), -600)) * counts / n)
    u = 2 * full * np.arcsin(np.maximum(np.sin(np.maximum(np.arcsin(root) - errors / (2 * full), 0)), least))
    for _ in range(TRANSLATION_STEPS):
        mu = np.square(np.sin(u / (2 * full)))
        score = (counts - n * mu) / np.sqrt(np.maximum(n * mu * (1 - mu), SMALLEST))
        distance = np.sqrt(binomial_deviance(counts, n, mu))
        step = np.where(score > 0, (distance - errors) * distance / np.maximum(score, SMALLEST), 0)
        u = np.maximum(u + step, u / 4)
    return np.where(counts > 0, np.square(np.sin(u / (2 * full))), 0.0)


class CountedHistograms(NamedTuple):
    """Counts of shape (..., counts) in one histogram or more, how many answers have each, and what they are counts of.

    The number of reports has shape (..., 1).
    """

    values: Array
    repeats: Array
    n: Array
    p: float
    q: float

    def select(self, rows: Integers) -> CountedHistograms:
        """Give some of the histograms."""
        return self._replace(values=self.values[rows], repeats=self.repeats[rows], n=self.n[rows])

    def limits(self, errors: Array | float) -> tuple[Array, Array]:
        """Give the likelihood limits of the shares at so many standard errors, cut to 0..1."""
        ends = lower_limit(self.values, self.n, errors), 1 - lower_limit(self.n - self.values, self.n, errors)
        low, high = (np.clip((mu - self.q) / (self.p - self.q), 0, 1) for mu in ends)
        return (low, high) if self.p > self.q else (high, low)

    def allow_a_distribution(self, errors: Array | float) -> Mask:
        """Tell, of shape (..., 1), whether some distribution lies within the limits."""
        low, high = (np.vecdot(self.repeats, end)[..., np.newaxis] for end in self.limits(errors))
        return np.asarray((low <= 1) & (high >= 1))


def least_errors(counted: CountedHistograms, k: int) -> Array:
    """Give, of shape (..., 1), D, or the least number of standard errors at which a distribution is within limits."""
    errors = np.full_like(counted.n, errors_allowed(k))
    tight = ~counted.allow_a_distribution(errors)
    if not tight.any():
        return errors
    too_few, enough = errors, errors.copy()
    while not (allowed := counted.allow_a_distribution(enough)).all():
        too_few, enough = np.where(allowed, too_few, enough), np.where(allowed, enough, 2 * enough)
    _, enough = bisected_each(counted.allow_a_distribution, too_few, enough, steps=TRANSLATION_BISECTIONS)
    return np.where(tight, enough, errors)


def errors_needed(shares: Array, counted: CountedHistograms) -> Array:
    """Give for each histogram how many standard errors were allowed, where its shares are limited ones: D most often.

    Answers one by one. Shares that are within D show at a glance that there are such.
    """
    k = shares.shape[-1]
    errors = np.full(len(shares), errors_allowed(k))
    away = binomial_deviance(counted.values, counted.n, counted.q + (counted.p - counted.q) * shares)
    strayed = away > errors[0] ** 2
    rows = np.flatnonzero(strayed.any(axis=-1))
    if rows.size:
        errors[rows] = least_errors(counted.select(rows), k)[:, 0]
    return errors


def limited(shares: Array, counted: CountedHistograms, k: int) -> Array:
    """Shift the shares of each histogram by one constant, each cut off at its limits, so that they sum to one."""
    even = shares + (1 - np.vecdot(counted.repeats, shares)[..., np.newaxis]) / k
    away = binomial_deviance(counted.values, counted.n, counted.q + (counted.p - counted.q) * np.clip(even, 0, 1))
    inside = (even >= 0) & (away <= errors_allowed(k) ** 2)
    rows = np.flatnonzero(~inside.all(axis=-1))
    if rows.size:  # most often no limit is reached
        some = counted.select(rows)
        low, high = some.limits(least_errors(some, k))
        within = projected_within(shares[rows], low, high, some.repeats)
        # What is left is rounding; limits that leave no room at all are kept to as well as numbers allow.
        even[rows] = within / np.vecdot(some.repeats, within)[..., np.newaxis]
    return np.asarray(even)
