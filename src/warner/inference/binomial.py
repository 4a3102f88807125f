r"""Binomial counts: limits, tails and tests of a share that shows in one count.

A count is exactly binomial, :math:`c \sim \text{Bin}(n, \text{base} + \text{gain} \cdot \theta)`, whatever the other
shares are. So the exact interval of Clopper and Pearson for that probability, carried over to :math:`\theta`, covers at
least at its level, for every K, n and epsilon. Intervals that start from a valid estimator do not: the share of a
frequent answer under `mle` is biased when many answers are near zero, and bootstrap or likelihood-ratio intervals
around it can miss nearly always.

Two shares can be meant: that of the **population** which the people are a sample of, or the **realised** share among
these very people, where only the randomization is left to chance.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betainc, betaincc, betainccinv, betaincinv, ndtri

from warner.arrays import SMALLEST, Numbers
from warner.designs.facts import TARGETS
from warner.inference.realised import MOST_VARIANCE, fewest_holders, summable
from warner.reports.counts import LONG_ROW, distinct_counts
from warner.searching import first_true, first_true_each

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.arrays import Array, Counts, Integers, Mask
    from warner.reports.counts import DistinctCounts

HAIR = 1e-12
BELIEVED = 1e-6  # how far, relatively, the tail at a quantile may be from the one that was asked for
MANY_REPORTS = 1e10  # beyond, limits of the beta distribution are lost in rounding
LEAST_EXPECTED = 10  # expected reports, or their variance, from which approximate intervals may be used
USUAL_QUANTILE = 2.0  # the normal quantile up to which that variance is enough, that of 95 % intervals


class Rates(NamedTuple):
    """How reports follow a share: a report names the answers in question with probability base + gain * share."""

    base: Numbers
    gain: Numbers

    @property
    def lowest(self) -> Numbers:
        """The probability of such a report where it is the least."""
        return self.base + np.minimum(self.gain, 0)

    @property
    def highest(self) -> Numbers:
        """The probability of such a report where it is the most."""
        return self.base + np.maximum(self.gain, 0)

    def spread(self, share: Numbers) -> Numbers:
        """Give the variance of one report, if the share among these very people is given."""
        without, within = self.base, self.base + self.gain
        return share * within * (1 - within) + (1 - share) * without * (1 - without)


def share_interval(
    counts: Counts, n: Numbers, rate: Rates, tail: float, target: str = "population", method: str | None = None
) -> tuple[Array, Array]:
    """Give intervals for the shares behind these counts, with `tail` on either side.

    An interval is never empty: a count below what noise alone explains is taken as that much for the upper end, and
    one above what certainty explains for the lower end. That only widens, so the level is kept.

    Parameters
    ----------
    counts : ndarray of shape (..., k)
        Number of reports of each answer; fractional where weights were rescaled to an effective number of reports.
    n : ndarray of shape (..., 1)
        Number of reports in all.
    rate : Rates
        How reports follow the share.
    tail : float
        Chance of a miss on either side.
    target : {"population", "realised"}
        Whose share is meant.
    method : {"clopper_pearson", "wilson", "exact", "score"}, optional
        ``clopper_pearson`` is exact, in the sense of at least, for both targets. ``wilson``, for the population, is
        narrower, and approximate. ``exact`` is for the realised share, and much narrower than ``clopper_pearson`` where
        little is randomized. ``score``, for the realised share, is approximate. If not given: ``clopper_pearson`` for
        the population; for a realised share see `realised_methods`.
    """
    low, high = all_at_each_count(lambda c, total: ends(c, total, rate, tail, target, method), counts, n)
    return low, high


def interval_and_error(
    counts: Counts,
    n: Numbers,
    rate: Rates,
    tail: float,
    target: str,
    method: str | None = None,
    levels: DistinctCounts | None = None,
) -> tuple[Array, Array, Array]:
    """Give `share_interval` and `standard_error` in one pass: low, high and error."""

    def evaluated(c: Array, total: Numbers) -> tuple[Array, ...]:
        return *ends(c, total, rate, tail, target, method), standard_error(c, total, rate, target)

    low, high, error = all_at_each_count(evaluated, counts, n, levels)
    return low, high, error


def at_each_count(
    function: Callable[[Array, Numbers], Array], counts: Counts, n: Numbers, levels: DistinctCounts | None = None
) -> Array:
    """Evaluate a function of counts and their total; with many answers, once for each distinct count.

    `levels` are the distinct counts, if they are known.
    """
    (result,) = all_at_each_count(lambda c, total: (function(c, total),), counts, n, levels)
    return result


def all_at_each_count(
    function: Callable[[Array, Numbers], tuple[Array, ...]],
    counts: Counts,
    n: Numbers,
    levels: DistinctCounts | None = None,
) -> tuple[Array, ...]:
    """Evaluate several functions in one go; see `at_each_count`."""
    k = counts.shape[-1]
    if counts.dtype != np.int64 or k <= LONG_ROW:
        return function(np.asarray(counts, dtype=np.float64), n)
    rows, totals = counts.reshape(-1, k), np.broadcast_to(n, (*counts.shape[:-1], 1)).reshape(-1)
    results = []
    for row, total in zip(rows, totals, strict=True):
        known = distinct_counts(row, int(row.max())) if levels is None else levels
        results.append([known.for_each_column(values) for values in function(known.values.astype(np.float64), total)])
    if len(results) == 1:
        return tuple(values.reshape(counts.shape) for values in results[0])
    return tuple(np.stack(values).reshape(counts.shape) for values in zip(*results, strict=True))


def binomial_limits(c: Numbers, n: Numbers, tail: Numbers) -> tuple[Array, Array]:
    """Give the exact limits of Clopper and Pearson for a probability, `tail` on either side.

    BetaInv(tail; c, n-c+1), which is 0 for c = 0, and BetaInv(1-tail; c+1, n-c), which is 1 for c = n. For very many
    reports, where these would be lost in rounding, the normal limits, which are the same to all digits that count.
    """
    low = np.where(c > 0, _quantile(np.maximum(c, SMALLEST), n - c + 1, tail), 0.0)
    high = np.where(c < n, _quantile(c + 1, np.maximum(n - c, SMALLEST), tail, upper=True), 1.0)
    many = np.minimum(c, n - c) > MANY_REPORTS
    if np.any(many):
        half = -ndtri(tail) * np.sqrt(c / n * (1 - c / n) / n) + 1 / (2 * n)
        low, high = np.where(many, c / n - half, low), np.where(many, c / n + half, high)
    return low, high


def _quantile(a: Numbers, b: Numbers, tail: Numbers, *, upper: bool = False) -> Array:
    """Give x with I(x; a, b) = tail, or with `upper` 1 - I(x; a, b) = tail: SciPy's, where that holds what it says.

    No root is believed unchecked: SciPy 1.17 takes that of a = 1000 and b = 10^9 for twice what it is. What is off is
    bisected: I rises with x, and doubles between 0 and 1 are in the order of their bits, which leaves 62 steps.
    """
    inverse, tail_at = (betainccinv, betaincc) if upper else (betaincinv, betainc)
    root = np.asarray(inverse(a, b, tail))
    off = ~(np.abs(tail_at(a, b, root) - tail) <= BELIEVED * np.asarray(tail))
    if not off.any():
        return root
    a, b, tail = (np.broadcast_to(np.asarray(value, dtype=np.float64), root.shape)[off] for value in (a, b, tail))

    def beyond(bits: Integers) -> Mask:
        return np.asarray((tail_at(a, b, bits.view(np.float64)) < tail) == upper)

    first = first_true_each(beyond, np.ones(a.shape, dtype=np.int64), np.ones(a.shape).view(np.int64))
    root = root.copy()
    root[off] = (first - 1).view(np.float64)
    return root


def variance_needed(tail: float) -> float:
    r"""Give the variance of a count from which the normal law is a good approximation this far out.

    By Edgeworth's expansion the error of a tail, relative to it, is near :math:`z^3/6` times the skewness of the count,
    which is at most :math:`1/\sqrt{\text{variance}}`: equally good is what has equal :math:`z^6/\text{variance}`.
    """
    return float(LEAST_EXPECTED * max(1.0, float(ndtri(tail)) / -USUAL_QUANTILE) ** 6)


def suited(n: Numbers, rate: Rates, target: str, tail: float) -> Mask:
    """Tell whether the score interval holds: for realised shares, if there is much noise, or none at all."""
    least = n * np.minimum(rate.spread(0.0), rate.spread(1.0))
    none = np.maximum(rate.spread(0.0), rate.spread(1.0)) == 0
    return np.asarray((least >= variance_needed(tail)) | none) & (target == "realised")


def realised_methods(n: Numbers, rate: Rates, tail: float, method: str | None = None) -> tuple[Mask, Mask]:
    """Tell which realised shares have exact intervals, and which of the others have score intervals, by default.

    The rest, where too many reports for an exact interval have too little noise for a score interval, and weights
    whose effective number of reports is not whole, has those of Clopper and Pearson.
    """
    if method is not None:
        shape = np.shape(n * rate.spread(0.0))
        return np.full(shape, method == "exact"), np.full(shape, method == "score")
    exact = summable(n, n * np.maximum(rate.spread(0.0), rate.spread(1.0)))
    return exact, ~exact & suited(n, rate, "realised", tail)


def ends(c: Array, n: Numbers, rate: Rates, tail: float, target: str, method: str | None) -> tuple[Array, Array]:
    """Give the ends of intervals, counts being doubles; see `share_interval`."""
    # The never-empty rule: counts beyond what the shares 0 and 1 explain are moved there, for the end on their side.
    # (A hair's breadth keeps products that should be whole from the wrong side.) Counts of weights need not be whole,
    # and are not rounded: what counts and what does not would be rounded the same way, and not be mirror images.
    most, least = n * rate.highest, n * rate.lowest
    whole = n == np.rint(n)
    most = np.where(whole, np.ceil(most * (1 - HAIR)), most)
    least = np.where(whole, np.floor(least * (1 + HAIR)), least)
    # Where hardly any report is expected, or hardly any other, one is already more than they explain.
    most = most - (at_least(most, n, rate.highest) < tail)
    least = least + (at_most(least, n, rate.lowest) < tail)
    below, above = np.minimum(c, most), np.minimum(np.maximum(c, least), n)
    first, second = (np.clip(end, 0, 1) for end in _unclipped(below, above, n, rate, tail, target, method))
    if np.ndim(rate.gain):
        return np.where(rate.gain > 0, first, second), np.where(rate.gain > 0, second, first)
    return (first, second) if rate.gain > 0 else (second, first)


def _unclipped(
    below: Array, above: Array, n: Numbers, rate: Rates, tail: float, target: str, method: str | None
) -> tuple[Array, Array]:
    """Give the share at the lower limit for the count `below`, and at the upper limit for the count `above`."""
    allowed = {"population": ("clopper_pearson", "wilson"), "realised": ("exact", "clopper_pearson", "score")}[target]
    if method is not None and method not in allowed:
        raise ValueError(f"method must be one of {', '.join(allowed)} for the {TARGETS[target]}, but got {method!r}")
    if method == "wilson":
        _refuse_few(n * np.minimum(rate.lowest, 1 - rate.highest), "wilson", "expected reports of an absent answer")
        return wilson_limit(below, n, rate, tail, -1), wilson_limit(above, n, rate, tail, 1)
    if target == "realised":
        return _realised(below, above, n, rate, tail, method)
    return _binomial_limits(below, above, n, rate, tail)


def _realised(
    below: Array, above: Array, n: Numbers, rate: Rates, tail: float, method: str | None
) -> tuple[Array, Array]:
    """Give the same for realised shares: each by the method that it has."""
    least, most = (n * end(rate.spread(0.0), rate.spread(1.0)) for end in (np.minimum, np.maximum))
    if method == "score" and not suited(n, rate, "realised", tail).all():
        _refuse_few(least, "score", "as the variance of noise alone", variance_needed(tail))
    if method == "exact" and not summable(n, most).all():
        raise ValueError(
            f"method 'exact' needs whole numbers of reports, with a variance of up to {MOST_VARIANCE:,.0f}, but there "
            f"are {np.max(n):,.12g} with up to {np.max(most):,.3g}; leave it out"
        )
    below, above, n, base, gain = np.broadcast_arrays(below, above, n, rate.base, rate.gain)
    exact, scored = (np.broadcast_to(which, below.shape) for which in realised_methods(n, rate, tail, method))
    low, high = np.empty(below.shape), np.empty(below.shape)
    for chosen, limits in ((exact, _exact_limits), (scored, _score_limits), (~exact & ~scored, _binomial_limits)):
        if chosen.any():
            some = Rates(base[chosen], gain[chosen])
            low[chosen], high[chosen] = limits(below[chosen], above[chosen], n[chosen], some, tail)
    return low, high


def _exact_limits(below: Array, above: Array, n: Array, rate: Rates, tail: float) -> tuple[Array, Array]:
    # Who is not counted is as good as who is: P(X <= c) is the tail of n - c, and holders change places with others.
    first = fewest_holders(below, n, rate.highest, rate.lowest, tail)
    second = fewest_holders(n - np.ceil(above), n, 1 - rate.lowest, 1 - rate.highest, tail)
    upright = rate.gain > 0
    return np.where(upright, first, n - first) / n, np.where(upright, n - second, second) / n


def _score_limits(below: Array, above: Array, n: Array, rate: Rates, tail: float) -> tuple[Array, Array]:
    return score_limit(below, n, rate, tail, -1), score_limit(above, n, rate, tail, 1)


def _binomial_limits(below: Array, above: Array, n: Array, rate: Rates, tail: float) -> tuple[Array, Array]:
    limits = binomial_limits(below, n, tail)[0], binomial_limits(above, n, tail)[1]
    low, high = ((limit - rate.base) / rate.gain for limit in limits)
    return low, high


def wilson_limit(c: Array, n: Numbers, rate: Rates, tail: float, side: int) -> Array:
    """Give Wilson's limit: the probability at which the count is z of that probability's standard errors away."""
    z2 = float(ndtri(tail)) ** 2
    limit = (c + z2 / 2 + side * np.sqrt(z2 * (c * (1 - c / n) + z2 / 4))) / (n + z2)
    return np.asarray((limit - rate.base) / rate.gain)


def score_limit(c: Array, n: Numbers, rate: Rates, tail: float, side: int) -> Array:
    """Give the realised share at which `inv` is z of that share's standard errors away: the root of a quadratic."""
    inverse = (c / n - rate.base) / rate.gain
    factor = float(ndtri(tail)) ** 2 / (n * rate.gain**2)
    slope = rate.spread(1.0) - rate.spread(0.0)
    middle = 2 * inverse + factor * slope
    root = np.sqrt(np.maximum(middle**2 - 4 * (inverse**2 - factor * rate.spread(0.0)), 0))
    return np.asarray((middle + side * np.copysign(1, rate.gain) * root) / 2)


def standard_error(c: Array, n: Numbers, rate: Rates, target: str = "population") -> Array:
    r"""Give the standard errors of the unbiased shares: sqrt(phi (1 - phi) / n) / gain, for that of the population.

    The observed share stands for phi, at least half a report away from none and from all: a count of 0 is no proof that
    there is nothing to count. An interval is still the better judge of a rare answer.
    For the realised share :math:`\theta`, phi (1 - phi) becomes :math:`\theta p(1-p) + (1-\theta) q(1-q)`, less than
    it by :math:`(p-q)^2 \theta(1-\theta)`, which is the chance in who was asked.
    """
    half = 0.5 / np.maximum(n, 1)
    observed = np.clip(c / n, half, 1 - half)
    if target == "population":
        variance = observed * (1 - observed)
    else:
        variance = rate.spread(np.clip((observed - rate.base) / rate.gain, 0, 1))
    return np.asarray(np.sqrt(variance / n) / abs(rate.gain))


def _refuse_few(amount: Numbers, method: str, what: str, needed: float = LEAST_EXPECTED) -> None:
    if not np.all(amount >= needed):
        raise ValueError(
            f"method {method!r} needs at least {needed:.3g} {what}, but there are {np.min(amount):.3g}; use "
            "'clopper_pearson', which holds for any number"
        )


def at_least(c: Numbers, n: Numbers, probability: Numbers) -> Array:
    """Give P(Bin(n, probability) >= c) = I(probability; c, n - c + 1), which is 1 for c = 0 and 0 for c > n."""
    inside = (c > 0) & (c <= n)
    tails = betainc(np.where(inside, c, 1.0), np.where(inside, n - c + 1, 1.0), probability)
    return np.where(inside, tails, np.where(c <= 0, 1.0, 0.0))


def at_most(c: Numbers, n: Numbers, probability: Numbers) -> Array:
    """Give P(Bin(n, probability) <= c) = 1 - I(probability; c + 1, n - c), which is 1 for c = n and 0 for c < 0."""
    inside = (c >= 0) & (c < n)
    tails = betaincc(np.where(inside, c + 1, 1.0), np.where(inside, n - c, 1.0), probability)
    return np.where(inside, tails, np.where(c < 0, 0.0, 1.0))


def smallest_share(n: float, rate: Rates, alpha: float, power: float) -> float:
    r"""Give the share that an answer must have to be found among n people with this probability.

    Found means: so many reports that noise alone has them with probability at most alpha (alpha/K, where K answers are
    tested). For many reports it is near :math:`(z_{1-\alpha} + z_{\text{power}}) \sqrt{q(1-q)/n} / (p-q)`; here both
    steps are exact, because with a few expected reports of each answer that formula promises too much. Above 1 where no
    share is enough.

    Examples
    --------
    Without noise an answer is found once it is reported: with 80 % power if 1 - (1 - share)^n = 0.8.

    >>> round(smallest_share(10, Rates(0.0, 1.0), 0.01, 0.8), 6) == round(1 - 0.2**0.1, 6)
    True
    """
    check_power(power)
    # Where the share makes a report rarer, an answer is found by having few: count those of all the others.
    noise = float(rate.base if rate.gain > 0 else 1 - rate.base)
    quantile, error = float(-ndtri(alpha)), math.sqrt(noise * (1 - noise) / n)
    if n * min(noise, 1 - noise) > MANY_REPORTS:
        return max(quantile + float(ndtri(power)), 0.0) * error / abs(float(rate.gain))
    start = n * (noise + quantile * error)
    critical = _smallest_whole(lambda c: float(betainc(c, n - c + 1, noise)) <= alpha, math.floor(n), start)
    if critical > n:
        return math.inf
    return max(float(_quantile(critical, n - critical + 1, power)) - noise, 0.0) / abs(float(rate.gain))


def _smallest_whole(holds: Callable[[int], bool], n: int, start: float) -> int:
    """Find the smallest whole number from 1 to n from which on something holds, or n + 1; `start` may be near it."""
    low, high, step = 1, max(1, min(math.ceil(start), n)), 1
    while high <= n and not holds(high):
        low, high, step = high + 1, min(high + step, max(n, high + 1)), 2 * step
    return first_true(holds, low, high)


def check_power(power: float) -> None:
    """Refuse what is no power of a test."""
    if not 0 < power < 1:
        raise ValueError(f"power must be between 0 and 1, such as 0.8, but got {power!r}")
