r"""Difference and ratio of two shares: intervals and p-values of equality, from counts and in complex samples.

Up to `MOST_REPORTS` the interval of a difference is exact (module `exact_tests`). Beyond, it is normal for two answers
of the same respondents, and joins the limits of each share for two groups. Where a count is below 10, or the sample has
little noise, it comes from the exact intervals of both shares, each at half the tail; so does the interval of the
ratio. Equality is tested exactly. The interval of the difference excludes 0, and the interval of the ratio excludes 1,
exactly where the test rejects (`agreeing`).

**Joined intervals.** From the limits :math:`l_s` to :math:`u_s` around two independent unbiased estimates
:math:`\hat\theta_s`, neither cut at 0 and 1, the difference has the interval

.. math:: \hat\theta_1 - \hat\theta_2 - \sqrt{(\hat\theta_1 - l_1)^2 + (u_2 - \hat\theta_2)^2}
   \quad\text{to}\quad
   \hat\theta_1 - \hat\theta_2 + \sqrt{(u_1 - \hat\theta_1)^2 + (\hat\theta_2 - l_2)^2}

[1]_, [2]_. It holds for any two designs; with exact limits it is conservative. The p-value is the smallest
:math:`\alpha` at which the interval of level :math:`1 - \alpha` excludes 0. Two domains of a complex sample share
clusters: docs/theory/groups-and-samples.md has their interval. Two answers of a complex sample have the limits of a
mean of scores from -1 to 1; the only two answers have the limits of the first share.

.. [1] R. G. Newcombe, "Interval estimation for the difference between independent proportions: comparison of eleven
   methods", Statistics in Medicine 17 (1998), 873-890.
.. [2] G. Y. Zou, A. Donner, "Construction of confidence limits about effect measures: a general approach", Statistics
   in Medicine 27 (2008), 1693-1702.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from warner.inference.binomial import (
    LEAST_EXPECTED,
    ROUNDING,
    USUAL_QUANTILE,
    Binomial,
    binomial_limits,
    realised_methods,
    score_interval_is_accurate,
    score_limit,
    share_limits,
    wilson_limit,
)
from warner.inference.exact_tests import barnard_test, fisher_test, limits_between, sign_test
from warner.inference.intervals import Confidence, cut_limits, design_based_limits, in_one_cluster, uncut_limits
from warner.inference.normal import Sampled, never_empty
from warner.numerics import bisected_each, rising_roots
from warner.reports.design_based import LinearScores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warner.arrays import Array, Mask, Numbers, PerGroup, Sets
    from warner.designs.facts import Drawn, SamplingModel
    from warner.reports.linearization import Together
    from warner.reports.tallies import Collected, Tally


# Differences


class Difference(NamedTuple):
    """The difference of two shares, unbiased, with its interval, that of their ratio, and the p-value of equality."""

    unbiased: PerGroup
    low: PerGroup
    high: PerGroup
    ratio_low: PerGroup
    ratio_high: PerGroup
    p_value: PerGroup


def agreeing(numbers: Difference, confidence: Confidence) -> Difference:
    """Make the intervals exclude equality exactly where the test rejects it; for the sample, the difference decides."""
    middle, low, high, ratio_low, ratio_high, p_value = map(np.asarray, numbers)
    # An interval that lies beyond -1 or 1 altogether is moved there.
    inside = never_empty(middle, middle - low, high - middle, span=(-1.0, 1.0))
    low, high = np.where(low > 1, inside[0], low), np.where(high < -1, inside[1], high)
    low, high = np.clip(low, -1, 1), np.clip(high, -1, 1)
    different = p_value < 1 - confidence.level if confidence.target == "population" else (low > 0) | (high < 0)
    larger, smaller = different & (middle > 0), different & (middle < 0)

    def settled(low: Array, high: Array, equal: float) -> tuple[Array, Array]:
        low = np.where(larger, np.maximum(low, equal + ROUNDING), np.where(smaller, low, np.minimum(low, equal)))
        high = np.where(smaller, np.minimum(high, equal - ROUNDING), np.where(larger, high, np.maximum(high, equal)))
        return np.where(smaller, np.minimum(low, high), low), np.where(larger, np.maximum(low, high), high)

    return Difference(middle, *settled(low, high, 0.0), *settled(ratio_low, ratio_high, 1.0), p_value)


def difference(
    first: Binomial, second: Binomial, tail: float, target: str, both: Numbers = 0.0
) -> tuple[Difference, bool]:
    """Compare the shares of two answers of the same respondents; `both` are the reports that support both answers.

    The difference is approximately normal with the variance [d - (phi_i - phi_j)^2] / N / (p-q)^2, where d is the
    probability of supporting exactly one of the answers. Also return whether all intervals are exact.
    """
    n, base, gain = first.n, first.base, first.gain
    x, y = first.unbiased, second.unbiased
    if target == "population":
        variance = ((first.count + second.count - 2 * both) / n - ((first.count - second.count) / n) ** 2) / n
    else:
        # Given the truths, and but for reports of both, a report of one or the other has variance p+q-(p-q)^2 for those
        # who hold either, 2q else.
        holding = np.clip(x, 0, 1) + np.clip(y, 0, 1)
        within, without = 2 * base + gain - gain**2, 2 * base
        variance = (np.minimum(holding, 1) * within + np.maximum(1 - holding, 0) * without - 2 * both / n) / n
    half = -float(ndtri(tail)) * np.sqrt(np.maximum(variance, 0)) / abs(gain)
    few = np.minimum(first.count, second.count) - both < LEAST_EXPECTED
    p_value = sign_test(first.count - both, second.count - both)
    return _compared((x - y, x - y - half, x - y + half), (first, second), tail, target, few, p_value)


def difference_between(
    first: Binomial, second: Binomial, tail: float, target: str, test: str = "barnard"
) -> tuple[Difference, bool]:
    """Compare the shares of one answer in two groups, from counts with the same base and gain; see `difference`.

    The interval joins the limits of each group's share (Wilson's, or score limits for the sample) as Newcombe does.
    """
    x, y = first.unbiased, second.unbiased
    limit = wilson_limit if target == "population" else score_limit
    (low1, high1), (low2, high2) = (
        count.ordered(*(limit(count, tail, side) for side in (-1, 1))) for count in (first, second)
    )
    low = x - y - np.hypot(x - low1, high2 - y)
    high = x - y + np.hypot(high1 - x, y - low2)
    if test == "fisher":
        p_value = fisher_test(first.count, second.count, (first.n, second.n))
    else:
        p_value = barnard_test(first.count, second.count, (first.n, second.n), *first.span)
    few = np.minimum(first.count, second.count) < LEAST_EXPECTED
    return _compared((x - y, low, high), (first, second), tail, target, few, p_value)


def exact_difference(first: Binomial, second: Binomial, tail: float) -> Difference:
    """Compare two shares in two samples, each by its count, exactly."""
    low, high, p_value = limits_between(first, second, tail)
    halves = (end for count in (first, second) for end in share_limits(count, tail / 2, "population"))
    ratio_low, ratio_high = (end[()] for end in ratio_limits(*halves))
    return Difference(first.unbiased - second.unbiased, low, high, ratio_low, ratio_high, p_value)


def _compared(
    approximate: tuple[Numbers, ...],
    counts: tuple[Binomial, Binomial],
    tail: float,
    target: str,
    few: Numbers,
    p_value: PerGroup,
) -> tuple[Difference, bool]:
    """Replace approximate limits by the exact limits of both shares where the approximation is not accurate."""
    (low1, high1), (low2, high2) = (share_limits(count, tail / 2, target) for count in counts)
    exact = few
    if target == "realised":
        certain = counts[0].noise(0.0) == counts[0].noise(1.0) == 0  # then the counts tell the shares
        noisy = [score_interval_is_accurate(count, tail) for count in counts]
        few = exact = few | certain | ~noisy[0] | ~noisy[1]
        for count in counts:
            exact = exact & ~realised_methods(count, tail / 2)[1]
    middle, low, high = approximate
    ends = np.where(few, low1 - high2, low), np.where(few, high1 - low2, high)
    numbers = (middle, *(np.clip(end, -1, 1) for end in ends), *ratio_limits(low1, high1, low2, high2), p_value)
    return Difference(*(np.asarray(number)[()] for number in numbers)), bool(np.all(exact))


def ratio_limits(low1: Numbers, high1: Numbers, low2: Numbers, high2: Numbers) -> tuple[Array, Array]:
    """Limits of the ratio of two shares within these limits; infinite where the second share may be zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(high2 > 0, low1 / high2, 0.0), np.where(low2 > 0, high1 / low2, np.inf)


# Complex differences


FEW = 4.5  # respondents that a domain is worth, below which limits are subtracted
FLOORED = "the interval rests on the variance of the randomization and within clusters, more than the sample shows"
UNCORRELATED = 1e-9  # part of the variance of a difference that is rounding
STUDENT = "Student's t"  # the test
SHARES_UNKNOWN = "the design must identify both shares, but other shares lead to the same reports"
SHARE_UNKNOWN = "the design must identify the share of the answer, but other shares lead to the same reports"
MEAN_UNKNOWN = "the design must identify the mean, but other means lead to the same reports"
# Tails from which the p-value is bisected; intervals do not widen strictly with smaller tails.
TAILS = np.array([10.0**digits for digits in (-50, -40, -30, -20, -15, -12, -10, -8, -7, -6, -5, -4, -3.5, -3)])
TAILS = np.append(TAILS, [0.002, 0.005, 0.01, 0.02, 0.025, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.4999])
TAIL_STEPS = 40  # that halve the logarithm of a tail


def student_error(error: Numbers, freedom: Numbers, tail: float) -> Array:
    """Return the standard error at which the normal distribution has the half-width of Student's t."""
    return np.asarray(error * (stdtrit(np.maximum(freedom, 1), tail) / ndtri(tail)))


def inverted(contains: Callable[[Array], Mask]) -> Array:
    """Return the largest p-values at which intervals contain equality; `contains` decides for given tails."""
    inside = contains(TAILS[np.newaxis])
    last = TAILS.size - 1 - np.argmax(inside[:, ::-1], axis=1)
    ends = np.log(TAILS[np.stack([last, np.minimum(last + 1, TAILS.size - 1)])])[..., np.newaxis]
    _, beyond = bisected_each(lambda logs: ~contains(np.exp(logs)), ends[0], ends[1], TAIL_STEPS)
    found = np.where(inside.any(axis=1), 2 * np.exp(beyond[:, 0]), 2 * TAILS[0])
    return np.where(inside[:, -1], 1.0, found)


@dataclass(frozen=True, eq=False)
class DomainDifference:
    """The difference of the shares of one set in two domains, and how the shares vary together."""

    readout: SamplingModel  # of both shares, (2, 1)
    together: Together

    @property
    def middle(self) -> float:
        """The unbiased difference."""
        one, two = self.readout.share()[:, 0].tolist()
        return float(one - two)

    @property
    def _drawn(self) -> Drawn:
        assert self.readout.drawn is not None
        return self.readout.drawn

    @property
    def blind(self) -> Mask:
        return np.asarray(self._drawn.blind[:, 0])

    @property
    def _subtracted(self) -> bool:
        return bool(self.blind.any() or self.readout.trials[:, 0].min() < FEW)

    def _variances(self, tail: Array) -> Array:
        """Variances of the effective samples, of shape (2, tails)."""
        found, drawn = self.readout, self._drawn
        frequency = np.clip(found.count / found.trials, 0, 1)
        counted = frequency * (1 - frequency) / found.trials / np.square(found.gain)
        ratio = ndtri(tail) / stdtrit(max(self.together.freedom, 1.0), tail)
        scores = np.maximum(drawn.variance, ratio**2 * drawn.floor)
        variances = np.where(np.broadcast_to(found.exact, counted.shape), counted, scores)
        return np.asarray(np.where(np.isinf(drawn.worth), 0.0, variances))

    @property
    def floor(self) -> float:
        """The variance of the difference that clusters cannot remove."""
        return max(float(self._drawn.floor[:, 0].sum()), self.together.within)

    def limits_at(self, tail: Array) -> tuple[Array, Array]:
        """Return the ends of intervals with these tails on either side, of shape (1, tails)."""
        if not self._subtracted:
            return self._joined(tail)[:2]
        if self.blind.any():
            low, high = cut_limits(self.readout, tail)
        else:
            low, high = (np.clip(end, 0, 1) for end in uncut_limits(self.readout, self.together.freedom, tail / 2))
        return (low[0] - high[1])[np.newaxis], (high[0] - low[1])[np.newaxis]

    def _joined(self, tail: Array) -> tuple[Array, Array, bool]:
        """Return the joined limits, and whether the variance that clusters cannot remove determines one of them."""
        share = self.readout.share()
        low, high = uncut_limits(self.readout, self.together.freedom, tail)
        below, above = np.maximum(share - low, 0), np.maximum(high - share, 0)
        variances = self._variances(tail)
        sum_, covariance = variances.sum(axis=0), self.together.covariance
        size = np.sqrt(variances[0] * variances[1])
        usable = (size > 0) & (sum_ - 2 * covariance > UNCORRELATED * sum_)
        r = np.clip(np.divide(covariance, size, out=np.zeros(size.shape), where=usable), -1, 1)
        least = -ndtri(tail[0]) * np.sqrt(self.floor)
        down, up = (
            np.sqrt(np.maximum(a**2 + b**2 - 2 * r * a * b, 0)) for a, b in ((below[0], above[1]), (above[0], below[1]))
        )
        floored = bool((np.minimum(down, up) < least).any())
        ends = never_empty(self.middle, np.maximum(down, least), np.maximum(up, least), span=(-1.0, 1.0))
        return np.clip(ends[0], -1, 1)[np.newaxis], np.clip(ends[1], -1, 1)[np.newaxis], floored

    def limits(self, tail: float) -> tuple[float, float]:
        """Return the ends of the interval with `tail` on either side."""
        low, high = self.limits_at(np.array([[tail]]))
        return float(low[0, 0]), float(high[0, 0])

    @property
    def p_value(self) -> float:
        """The two-sided p-value of equality."""
        if self.blind.any():
            return 1.0

        def contains(tail: Array) -> Mask:
            low, high = self.limits_at(tail)
            return np.asarray((low <= 0) & (high >= 0))

        return float(inverted(contains)[0])

    def note(self, names: Sequence[str], tail: float) -> str:
        """Return a note if the interval rests on more than the design-based variance; otherwise an empty text."""
        if self.blind.any():
            return in_one_cluster([name for name, blind in zip(names, self.blind.tolist(), strict=True) if blind])
        return FLOORED if not self._subtracted and self._joined(np.array([[tail]]))[2] else ""

    def refuse_unknown(self, message: str) -> None:
        """Raise an error if reports do not determine one of the shares."""
        assert self.readout.error is not None
        if np.isinf(self.readout.error).any():
            raise ValueError(message)


def answers_compared(tally: Collected, i: int, j: int, confidence: Confidence) -> tuple[Difference, bool, str] | None:
    """Compare two answers of a complex sample in each group that has reports; of two answers, by the first share."""
    if tally.sample is None:
        return None
    part, answered, tail = tally.parts[0], tally.answered, confidence.tail(1)
    two = tally.k == 2 and part.design.law.exclusive
    found = part.readout(answered, [[i]], minus=None if two else [[j]], target=confidence.target)
    assert found.error is not None
    if np.isinf(found.error).any():
        raise ValueError(SHARES_UNKNOWN)
    equal, span = (0.5, (0.0, 1.0)) if two else (0.0, (-1.0, 1.0))
    middle, (low, high) = found.share()[:, 0], (end[:, 0] for end in cut_limits(found, tail, span))
    if two:
        middle, ratio = 2 * middle - 1, ratio_limits(low, high, 1 - high, 1 - low)
        low, high = 2 * low - 1, 2 * high - 1
    else:
        ratio = _ratio(part.readout(answered, [[i]]), part.readout(answered, [[j]]), tail)

    def contains(tail: Array) -> Mask:
        low, high = cut_limits(found, tail, span)
        return np.asarray((low <= equal) & (high >= equal))

    return Difference(middle, low, high, *ratio, inverted(contains)), True, STUDENT


def groups_in_one_cluster(tally: Tally, names: list[str]) -> str:
    assert tally.drawn.drawn is not None
    rows = np.flatnonzero(tally.answered)[tally.drawn.drawn.blind[:, 0]]
    return in_one_cluster([names[row] for row in rows.tolist()])


def domain_difference(tally: Tally, sets: Sets, rows: list[int]) -> DomainDifference:
    """Compare the share of one set between two groups."""
    assert tally.sample is not None
    found = tally.readout(rows, sets)
    question = LinearScores(tally.design, sets)
    counts, n = tally.rows()
    frequency = question.frequencies(counts[rows], n[rows, np.newaxis].astype(np.float64))
    gain = np.broadcast_to(np.asarray(found.gain, dtype=np.float64), frequency.shape[1:])
    return DomainDifference(
        found, tally.sample.of_difference(question, frequency, gain, [tally.groups[row] for row in rows])
    )


def domains_compared(tally: Tally, index: int, rows: list[int], confidence: Confidence) -> tuple[Difference, bool, str]:
    """Compare one answer between two groups."""
    apart = domain_difference(tally, [[index]], rows)
    apart.refuse_unknown(SHARE_UNKNOWN)
    low, high = apart.limits(confidence.tail(1))
    one, two = (tally.readout([row], [[index]]) for row in rows)
    ratio = _ratio(one, two, confidence.tail(1))
    return Difference(apart.middle, low, high, float(ratio[0][0]), float(ratio[1][0]), apart.p_value), True, STUDENT


def _ratio(first: SamplingModel, second: SamplingModel, tail: float) -> tuple[Array, Array]:
    ratio = ratio_limits(*(end for one in (first, second) for end in design_based_limits(one, tail / 2)[:2]))
    return ratio[0][:, 0], ratio[1][:, 0]


# Newcombe


SMALLEST_ALPHA = 1e-300  # below, a p-value is as good as zero
TEST_QUANTILE_TOLERANCE = 1e-12  # to which the normal quantile of a p-value is found


class Sample(NamedTuple):
    """Sampling model of one share: the unbiased estimate, and the binomial count if there is one."""

    estimate: Sampled
    binomial: Binomial | None = None

    @property
    def unbiased(self) -> float:
        """The unbiased estimate."""
        return float(self.estimate.share)

    def interval(self, tail: float) -> tuple[float, float]:
        """Interval around the unbiased estimate, not cut: the distances to cut ends would be too short."""
        if self.binomial is None:
            below, above = self.estimate.distances(tail)
            return self.unbiased - float(below), self.unbiased + float(above)
        limits = binomial_limits(self.binomial.count, self.binomial.n, tail)
        low, high = self.binomial.ordered(*(self.binomial.share_at(float(limit)) for limit in limits))
        return low, high


def joined_interval(samples: list[Sample], alpha: float) -> tuple[float, float]:
    """Interval of the difference at the level 1 - alpha; its ends may lie beyond -1 and 1."""
    (low1, high1), (low2, high2) = (sample.interval(alpha / 2) for sample in samples)
    one, two = (sample.unbiased for sample in samples)
    return one - two - math.hypot(one - low1, high2 - two), one - two + math.hypot(high1 - one, two - low2)


def joined_test(samples: list[Sample]) -> float:
    """Smallest alpha at which the interval of level 1 - alpha excludes 0, by its normal quantile."""
    first_is_larger = samples[0].unbiased > samples[1].unbiased

    def beyond_zero(quantile: float) -> float:
        low, high = joined_interval(samples, 2 * float(ndtr(-quantile)))
        return -low if first_is_larger else high

    farthest = -float(ndtri(SMALLEST_ALPHA / 2))
    if beyond_zero(farthest) < 0:
        return SMALLEST_ALPHA
    nearest = beyond_zero(0.0)
    if nearest >= 0:
        return 1.0
    # An end moves about evenly with the quantile.
    slope = (beyond_zero(USUAL_QUANTILE) - nearest) / USUAL_QUANTILE
    index, scale = np.array([-nearest / slope]), np.array([1 / slope])
    close = np.array([TEST_QUANTILE_TOLERANCE])
    found = rising_roots(lambda at, _: np.array([beyond_zero(at.item())]), index, scale, 0.0, farthest, close)
    return 2 * float(ndtr(-found.item()))
