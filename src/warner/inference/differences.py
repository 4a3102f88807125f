r"""Difference and ratio of two proportions, from counts: their intervals, and the p-value of equality.

Up to `MOST_REPORTS` the interval of a difference is exact (module `exact_differences`). Beyond, it is normal for two
answers of the same people; for two groups it joins the limits of each. Where a count is below 10, and among these very
people where there is little noise, it comes from the exact intervals of both shares, each at half the tail; so does
that of the ratio. Equality is tested exactly.

One comparison speaks with one voice (`agreeing`): the interval of the difference leaves out 0, and that of the ratio
leaves out 1, exactly where the test calls the shares different.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

from warner.inference.binomial import (
    LEAST_EXPECTED,
    ROUNDING,
    Binomial,
    realised_methods,
    score_interval_is_accurate,
    score_limit,
    share_limits,
    wilson_limit,
)
from warner.inference.equality_tests import fisher_test, sign_test
from warner.inference.exact_differences import barnard_test, limits_between
from warner.inference.normal import never_empty

if TYPE_CHECKING:
    from warner.arrays import Array, Numbers, PerGroup
    from warner.inference.intervals import Confidence


class Difference(NamedTuple):
    """The difference of two shares, unbiased, with its interval, that of their ratio, and the p-value of equality."""

    unbiased: PerGroup
    low: PerGroup
    high: PerGroup
    ratio_low: PerGroup
    ratio_high: PerGroup
    p_value: PerGroup


def agreeing(numbers: Difference, confidence: Confidence) -> Difference:
    """Let the intervals leave out equality exactly where it is refuted: by the test, or among these very people.

    The test of equality is the sharper one. Where it says that the first share is larger, no difference of 0 or less
    is left; where it does not refute equality, 0 stays in. So intervals are cut, or widened, up to 0, and those of the
    ratio up to 1. The p-value is for the population; of realised shares, whose interval may be much narrower, that of
    the difference decides.
    """
    middle, low, high, ratio_low, ratio_high, p_value = numbers
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
    """Compare the shares of two answers of the same people, from the reports that support them, and those of both.

    Which of the two is larger needs neither p nor q: given how many reports support exactly one of them, those of the
    first are binomial with probability one half, if and only if the shares are equal. So the (sign) test is exact. The
    difference is approximately normal. With d, the probability of exactly one of them, its variance is
    [d - (phi_i - phi_j)^2] / N / (p-q)^2; where a count is below 10, among these very people where there is little
    noise, and for the ratio, the ends come from the exact intervals of both, each at half the tail. With the numbers
    comes whether the interval of the difference is exact in all places.
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
    """Compare the shares of one answer in two groups of people, from its counts there, which follow them alike.

    The interval joins the limits of each group's share (Wilson's, or the score limits of the realised share) as
    Newcombe does: each side is the root of the sum of two squared distances. Equality is tested by Barnard's exact
    test, over the probabilities of a report that the design can lead to, or by Fisher's; both two-sided by doubling.
    Counts below 10, and ratios, as in `difference`.
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
    halves = (share_limits(count, tail / 2, "population") for count in (first, second))
    ratio_low, ratio_high = (np.asarray(end)[()] for end in ratio_limits(*next(halves), *next(halves)))
    return Difference(first.unbiased - second.unbiased, low, high, ratio_low, ratio_high, p_value)


def _compared(
    approximate: tuple[Numbers, Numbers, Numbers],
    counts: tuple[Binomial, Binomial],
    tail: float,
    target: str,
    few: Numbers,
    p_value: PerGroup,
) -> tuple[Difference, bool]:
    """Put the ends of both shares, for this very target, in the place of approximate ones where these do not hold."""
    (low1, high1), (low2, high2) = (share_limits(count, tail / 2, target) for count in counts)
    middle, low, high = approximate
    exact = np.asarray(few)
    if target == "realised":
        certain = counts[0].noise(0.0) == counts[0].noise(1.0) == 0  # then the counts tell the shares
        noisy = [score_interval_is_accurate(count, tail) for count in counts]
        few = few | certain | ~noisy[0] | ~noisy[1]
        exact = np.asarray(few)
        for count in counts:
            exact = exact & ~realised_methods(count, tail / 2)[1]
    ratio_low, ratio_high = ratio_limits(low1, high1, low2, high2)
    numbers = Difference(
        np.asarray(middle)[()],
        np.clip(np.where(few, low1 - high2, low), -1, 1)[()],
        np.clip(np.where(few, high1 - low2, high), -1, 1)[()],
        ratio_low[()],
        ratio_high[()],
        p_value,
    )
    return numbers, bool(exact.all())


def ratio_limits(low1: Numbers, high1: Numbers, low2: Numbers, high2: Numbers) -> tuple[Numbers, Numbers]:
    """Give what the ratio of two shares can be if each lies in its interval; infinite where the second may be zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(high2 > 0, low1 / high2, 0.0), np.where(low2 > 0, high1 / low2, np.inf)
