r"""Binomial counts: confidence limits (Clopper-Pearson, Wilson, score, exact), tails and tests of the share of a count.

A count is exactly binomial, :math:`c \sim \text{Bin}(n, \text{base} + \text{gain} \cdot \theta)`, whatever the other
shares are. So the exact interval of Clopper and Pearson for that probability, mapped to :math:`\theta`, covers at least
at its level, for every K, n and epsilon. The target is the share of the **population**, or of the **sample**
(`realised`), where only the randomization is random. docs/theory/intervals.md has the exact limits of shares of the
sample, the ends of the numbers m of holders with :math:`X_m = \text{Bin}(m, p) + \text{Bin}(n - m, q)`.

Tails of such sums are sums of products, :math:`P(A + B \ge c) = \sum_j P(A = j)\, P(B \ge c - j)`, of which only some
standard deviations around the means count. The terms follow from each other by
:math:`P(k+1)/P(k) = \frac{n-k}{k+1} \frac{p}{1-p}`, so that nothing cancels. By Bernstein's inequality the terms that
are left out are at most `NEGLECTED` of the tail. Two neighboring distributions come from one. With Y the reports of all
respondents but one,

.. math:: P(X_m \ge c) = P(Y \ge c) + p P(Y = c - 1), \qquad P(X_{m-1} \ge c) = P(Y \ge c) + q P(Y = c - 1).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betainccinv, betaincinv, ndtri

from warner.arrays import SMALLEST, Array, Counts, Integers, Mask, Numbers
from warner.designs.facts import TARGETS, SamplingModel
from warner.numerics import beta_cdf, beta_sf, deviance, first_true, first_true_each, stirling_remainder
from warner.reports.counts import LONG_ROW, DistinctCounts, distinct_counts
from warner.text import check_choice

if TYPE_CHECKING:
    from collections.abc import Callable


# Binomial sums


NEGLECTED = 1e-8  # part of a tail that may be left out
TERMS_AT_ONCE = 2**20  # terms of laws that are held at once
TAIL_TOLERANCE = 10 * NEGLECTED  # a tail is too small if it is so by more than this part of itself
SMALLEST_TAIL = 1e-290  # what a tail is raised to that is to have a normal quantile
MOST_EXACT_VARIANCE = 1e5  # of the reports, up to which their law is added up; beyond, the normal law is as good
HOLDERS_STEPS = 6  # of Newton's method for the number of holders; then what is left is halved
MOST_HOLDERS_STEPS = 200  # of both together, far more than are needed


class Law(NamedTuple):
    """Binomial laws, a row each: the terms from the count `first` on, so that those left out do not count."""

    first: Array
    terms: Array

    def counts(self) -> Array:
        return np.asarray(self.first[:, np.newaxis] + np.arange(self.terms.shape[1]))

    def at_least(self, counts: Array) -> Array:
        """Probability of at least these whole counts, of shape (rows, any number)."""
        upward = np.cumsum(self.terms[:, ::-1], axis=1)[:, ::-1]
        tails = np.append(upward, np.zeros((len(upward), 1)), axis=1)
        indices = np.clip(counts - self.first[:, np.newaxis], 0, self.terms.shape[1])
        return np.take_along_axis(tails, indices.astype(np.int64), axis=1)


def binomial_law(n: Array, probability: Array, tail: float) -> Law:
    """Distributions Bin(n, probability), one per row, without the terms that are negligible relative to `tail`.

    Examples
    --------
    >>> binomial_law(np.array([2.0]), np.array([0.5]), 0.05)
    Law(first=array([0.]), terms=array([[0.25, 0.5 , 0.25]]))
    """
    first, last = _window(n, probability, tail)
    k = first[:, np.newaxis] + np.arange(int((last - first).max(initial=0)) + 1)
    with np.errstate(divide="ignore"):
        odds = np.where(probability < 1, probability / (1 - probability), 0.0)[:, np.newaxis]
    terms = np.ones_like(k)
    inside = k[:, :-1] < last[:, np.newaxis]
    np.cumprod(np.where(inside, (n[:, np.newaxis] - k[:, :-1]) / (k[:, :-1] + 1) * odds, 0.0), axis=1, out=terms[:, 1:])
    return Law(first, terms / terms.sum(axis=1, keepdims=True))


def _window(n: Array, probability: Array, tail: float) -> tuple[Array, Array]:
    """First and last relevant count: t from the mean, where exp(-t^2 / 2(v + t/3)) is negligible."""
    mean, variance = n * probability, n * probability * (1 - probability)
    small = -math.log(NEGLECTED * tail / 4)
    t = small / 3 + np.sqrt(small**2 / 9 + 2 * variance * small)
    certain = probability >= 1
    first = np.where(certain, n, np.maximum(np.floor(mean - t), 0))
    last = np.where(certain, n, np.minimum(np.ceil(mean + t), np.where(probability > 0, n, 0)))
    return first, last


def in_blocks(function: Callable[..., Array], widths: Array, *rows: Array) -> Array:
    """Evaluate a function of rows with these numbers of terms, in blocks of rows of similar width."""
    order: Integers = np.argsort(widths, kind="stable")
    parts = []
    start = 0
    while start < order.size:
        # The widest row of a block sets the width of all, so that a block is also cut where widths have doubled.
        end = start + int(np.searchsorted(widths[order[start:]], 2 * widths[order[start]] + 32, side="right"))
        end = min(end, start + max(1, int(TERMS_AT_ONCE / widths[order[end - 1]])))
        block = order[start:end]
        parts.append(function(*(row[block] for row in rows)))
        start = end
    results = np.concatenate(parts)
    results[order] = results.copy()
    return results


def terms_of(n: Array, probability: Array, tail: float) -> Array:
    """Return the number of relevant terms of Bin(n, probability)."""
    first, last = _window(n, probability, tail)
    return np.asarray(last - first + 1)


# Shares of the sample


def summable(n: Numbers, variance: Numbers) -> Mask:
    """Return where these are whole reports with a variance so small that their distribution can be summed."""
    return np.asarray((n == np.rint(n)) & (variance <= MOST_EXACT_VARIANCE))


def fewest_holders(c: Numbers, n: Numbers, p: Numbers, q: Numbers, tail: float) -> Array:
    """Return the smallest number m of respondents with :math:`P(X_m >= c) > tail`, or n; p must be above q.

    A count between two whole numbers is taken as the smaller one.

    Examples
    --------
    Three of three respondents report an answer, with probability 1/2 if they have it and 1/10 otherwise. With two such
    respondents that has the probability 1/40, with one 1/200, and with none 1/1000.

    >>> [float(fewest_holders(3, 3, 0.5, 0.1, tail)) for tail in (0.04, 0.02, 0.002)]
    [3.0, 2.0, 1.0]
    """
    columns = np.broadcast_arrays(np.floor(c), n, p, q)
    rows, back = np.unique(np.stack([column.ravel() for column in columns], axis=1), axis=0, return_inverse=True)
    return _searched(tail, *rows.T)[back.ravel()].reshape(columns[0].shape)


def _searched(tail: float, c: Array, n: Array, p: Array, q: Array) -> Array:
    """First m whose tail is large enough, by Newton's method on its normal quantile, which is nearly linear."""
    too_few, enough = np.full(c.size, -1.0), np.where(c > 0, n, 0.0)
    guess = np.clip(np.ceil(_by_the_normal_law(c, n, p, q, tail)), 1, n)
    for step in range(MOST_HOLDERS_STEPS):
        open_ = np.flatnonzero(enough - too_few > 1)
        if not open_.size:
            break
        rows = [column[open_] for column in (c, n, p, q)]
        m = np.clip(guess[open_], np.maximum(too_few[open_] + 1, 1), np.maximum(enough[open_], 1))
        fewer, more = _neighbouring_tails(tail, m, *rows)
        large = tail * (1 - TAIL_TOLERANCE)
        enough[open_] = np.where(fewer > large, m - 1, np.where(more > large, m, enough[open_]))
        too_few[open_] = np.where(more <= large, m, np.where(fewer <= large, m - 1, too_few[open_]))
        deviation = np.sqrt(m * rows[2] * (1 - rows[2]) + (rows[1] - m) * rows[3] * (1 - rows[3]))
        apart = float(ndtri(tail)) - ndtri(np.clip(more, SMALLEST_TAIL, 1 - NEGLECTED))
        newton = np.ceil(m + apart * deviation / (rows[2] - rows[3]))
        halved = np.floor((too_few[open_] + enough[open_]) / 2) + 1
        guess[open_] = newton if step < HOLDERS_STEPS else halved
    return enough


def _by_the_normal_law(c: Array, n: Array, p: Array, q: Array, tail: float) -> Array:
    """Solve c - 1/2 - (n q + m (p - q)) = z sqrt(variance of X_m) for m: the smaller root of a quadratic."""
    z2, gain = float(ndtri(tail)) ** 2, p - q
    without, within = q * (1 - q), p * (1 - p)
    middle = 2 * (c - 0.5 - n * q) / gain + z2 * (within - without) / gain**2
    product = ((c - 0.5 - n * q) / gain) ** 2 - z2 * n * without / gain**2
    return np.asarray((middle - np.sqrt(np.maximum(middle**2 - 4 * product, 0))) / 2)


def _neighbouring_tails(tail: float, m: Array, c: Array, n: Array, p: Array, q: Array) -> tuple[Array, Array]:
    """P(X_{m-1} >= c) and P(X_m >= c), for m from 1 to n."""
    widths = terms_of(m - 1, p, tail) + terms_of(n - m, q, tail)

    def both(m: Array, c: Array, n: Array, p: Array, q: Array) -> Array:
        holders, other = binomial_law(m - 1, p, tail), binomial_law(n - m, q, tail)
        missing = c[:, np.newaxis] - holders.counts()
        above, here = ((holders.terms * other.at_least(missing - one)).sum(axis=1) for one in (0, 1))
        return np.stack([above, here - above], axis=1)

    above, here = in_blocks(both, widths, m, c, n, p, q).T
    return above + q * here, above + p * here


# Binomial


ROUNDING = 1e-12  # relative: how far a product of doubles may be from the whole number that it should be
QUANTILE_TOLERANCE = 1e-6  # relative: how far the tail at a quantile may be from the one that was asked for
LIMIT_TOLERANCE = 1e-7  # standard errors by which exact limits that were found by iteration may be too wide
MANY_REPORTS = 1e10  # beyond, limits of the beta distribution are lost in rounding
LEAST_EXPECTED = 10  # expected reports, or their variance, from which approximate intervals may be used
USUAL_QUANTILE = 2.0  # the normal quantile up to which that variance is enough, that of 95 % intervals


class Binomial(NamedTuple):
    """Binomial counts: of n reports `count` name the answers in question, each with probability base + gain * share.

    Numbers, or arrays that broadcast. With a negative gain, such reports become rarer as the share grows.

    Examples
    --------
    40 of 100 say yes where the truth is told with probability 3/4: (0.40 - 0.25) / (0.75 - 0.25).

    >>> yes = Binomial(40, 100, 0.25, 0.5)
    >>> round(yes.unbiased, 9), yes.span
    (0.3, (0.25, 0.75))
    """

    count: Numbers
    n: Numbers
    base: Numbers
    gain: Numbers

    @classmethod
    def from_readout(cls, readout: SamplingModel) -> Binomial:
        """Return the counts of a sampling model."""
        return cls(readout.count, readout.trials, readout.base, readout.gain)

    @property
    def lowest(self) -> Numbers:
        """The smallest probability of such a report, over all shares."""
        return self.base + np.minimum(self.gain, 0)

    @property
    def highest(self) -> Numbers:
        """The largest probability of such a report, over all shares."""
        return self.base + np.maximum(self.gain, 0)

    @property
    def span(self) -> tuple[float, float]:
        """Range of the probability of such a report over all shares, as numbers."""
        return float(self.lowest), float(self.highest)

    def reported(self, share: Numbers) -> Numbers:
        return self.base + self.gain * share

    def share_at(self, probability: Numbers) -> Numbers:
        return (probability - self.base) / self.gain

    @property
    def unbiased(self) -> Numbers:
        """The unbiased estimate of the share."""
        return self.share_at(self.count / self.n)

    def noise(self, share: Numbers) -> Numbers:
        """Variance of one report, given the share of the sample."""
        without, within = self.base, self.base + self.gain
        return share * within * (1 - within) + (1 - share) * without * (1 - without)

    def upright(self) -> Binomial:
        """Count the other reports where a share makes such reports rarer: then no gain is negative.

        >>> Binomial(40, 100, 0.75, -0.5).upright()
        Binomial(count=60, n=100, base=0.25, gain=0.5)
        """
        turned = self.gain < 0
        if not np.ndim(turned):
            return Binomial(self.n - self.count, self.n, 1 - self.base, -self.gain) if turned else self
        count, base = np.where(turned, self.n - self.count, self.count), np.where(turned, 1 - self.base, self.base)
        return Binomial(count, self.n, base, np.abs(self.gain))

    def mirrored(self) -> Binomial:
        """Count the other reports, for the share that all other answers have together.

        >>> Binomial(40, 100, 0.25, 0.5).mirrored()
        Binomial(count=60, n=100, base=0.25, gain=0.5)
        """
        return Binomial(self.n - self.count, self.n, 1 - self.base - self.gain, self.gain)

    def ordered(self, first: Numbers, second: Numbers) -> tuple[Numbers, Numbers]:
        """Order the shares at a lower and at an upper limit of the probability."""
        if np.ndim(self.gain):
            return np.where(self.gain > 0, first, second), np.where(self.gain > 0, second, first)
        return (first, second) if self.gain > 0 else (second, first)

    def select(self, sets: Mask) -> Binomial:
        return Binomial(*(part[..., sets] for part in self))

    def whole(self) -> Binomial:
        """Round effective numbers of weighted reports, and their counts in proportion."""
        n = np.maximum(np.rint(self.n), 1)
        return self._replace(count=np.clip(np.rint(self.count * n / self.n), 0, n), n=n)

    def never_empty(self, least: Numbers, most: Numbers) -> tuple[Binomial, Binomial]:
        """Return the counts for the lower and the upper limit of the probability; no interval is empty.

        A count beyond `least` to `most`, which shares explain, is moved there for the end on its side: that
        only widens the interval.
        """
        below, above = np.maximum(np.minimum(self.count, most), 0), np.minimum(np.maximum(self.count, least), self.n)
        return self._replace(count=below), self._replace(count=above)


def expected_range(n: Numbers, lowest: Numbers, highest: Numbers) -> tuple[Array, Array]:
    """Return the smallest and largest expected count over probabilities from `lowest` to `highest`.

    Of whole reports these are whole; a number that should be whole, but for rounding, is taken as that. Counts of
    weights are not rounded: what counts and what does not would be rounded the same way, and not be mirror images.

    >>> [float(count) for count in expected_range(30, 0.1, 0.7 + 2e-16)]
    [3.0, 21.0]
    """
    least, most, whole = n * lowest, n * highest, n == np.rint(n)
    fewest = np.where(whole, np.floor(least * (1 + ROUNDING)), least)
    return fewest, np.where(whole, np.ceil(most * (1 - ROUNDING)), most)


def share_interval(
    binomial: Binomial, tail: float, target: str = "population", method: str | None = None
) -> tuple[Array, Array]:
    """Return intervals for the shares behind these counts, with `tail` on either side; never empty.

    The default method for shares of the sample, target ``realised``, is that of `realised_methods`. ``clopper_pearson``
    covers at least at its level for both targets; ``wilson``, for the population, is narrower and approximate. For the
    sample, ``exact`` is much narrower with little randomization, and ``score`` is approximate.
    """

    def evaluated(c: Array, n: Numbers) -> tuple[Array, ...]:
        return share_limits(binomial._replace(count=c, n=n), tail, target, method)

    low, high = all_at_each_count(evaluated, binomial.count, binomial.n)
    return low, high


def interval_and_error(
    binomial: Binomial, tail: float, target: str, method: str | None = None, levels: DistinctCounts | None = None
) -> tuple[Array, Array, Array]:
    """Compute `share_interval` and `standard_error` in one pass: low, high and error."""

    def evaluated(c: Array, n: Numbers) -> tuple[Array, ...]:
        counted = binomial._replace(count=c, n=n)
        return *share_limits(counted, tail, target, method), standard_error(counted, target)

    low, high, error = all_at_each_count(evaluated, binomial.count, binomial.n, levels)
    return low, high, error


def at_each_count(
    function: Callable[[Array, Numbers], Array], counts: Counts, n: Numbers, levels: DistinctCounts | None = None
) -> Array:
    """Evaluate a function of counts and their total; with many answers, once for each distinct count (`levels`)."""
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
    if counts.dtype != np.int64 or k <= LONG_ROW or np.shape(n)[-1:] == (k,):  # with totals that differ, too
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
    """Return the exact limits of Clopper and Pearson for a probability, `tail` on either side.

    For very many reports, where these would be lost in rounding, the normal limits, which are the same to all digits.
    """
    low = np.where(c > 0, _quantile(np.maximum(c, SMALLEST), n - c + 1, tail), 0.0)
    high = np.where(c < n, _quantile(c + 1, np.maximum(n - c, SMALLEST), tail, upper=True), 1.0)
    many = np.minimum(c, n - c) > MANY_REPORTS
    if np.any(many):
        half = -ndtri(tail) * np.sqrt(c / n * (1 - c / n) / n) + 1 / (2 * n)
        low, high = np.where(many, c / n - half, low), np.where(many, c / n + half, high)
    return low, high


def _quantile(a: Numbers, b: Numbers, tail: Numbers, *, upper: bool = False) -> Array:
    """Return x with I(x; a, b) = tail, or with `upper` 1 - I(x; a, b) = tail.

    SciPy 1.17 takes the root of a = 1000 and b = 10^9 for twice what it is. Wrong roots are bisected by their bits.
    """
    inverse, tail_at = (betainccinv, beta_sf) if upper else (betaincinv, beta_cdf)
    root = np.asarray(inverse(a, b, tail))
    off = ~(np.abs(tail_at(a, b, root) - tail) <= QUANTILE_TOLERANCE * np.asarray(tail))
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
    r"""Return the variance of a count from which the normal approximation is accurate at this tail.

    By Edgeworth's expansion the error of a tail, relative to it, is near :math:`z^3/6` times the skewness of the count,
    which is at most :math:`1/\sqrt{\text{variance}}`: equally good is what has equal :math:`z^6/\text{variance}`.
    """
    return float(LEAST_EXPECTED * max(1.0, float(ndtri(tail)) / -USUAL_QUANTILE) ** 6)


def score_interval_is_accurate(binomial: Binomial, tail: float) -> Mask:
    """Return where the score interval of a share of the sample is accurate: with much noise, or none."""
    without, within = binomial.noise(0.0), binomial.noise(1.0)
    enough = binomial.n * np.minimum(without, within) >= variance_needed(tail)
    return np.asarray(enough | (np.maximum(without, within) == 0))


def realised_methods(binomial: Binomial, tail: float, method: str | None = None) -> tuple[Mask, Mask]:
    """Return which shares of the sample have exact intervals, and which others score intervals, by default."""
    n, without, within = binomial.n, binomial.noise(0.0), binomial.noise(1.0)
    if method is not None:
        shape = np.shape(n * without)
        return np.full(shape, method == "exact"), np.full(shape, method == "score")
    exact = summable(n, n * np.maximum(without, within))
    return exact, ~exact & score_interval_is_accurate(binomial, tail)


def share_limits(binomial: Binomial, tail: float, target: str, method: str | None = None) -> tuple[Array, Array]:
    """Compute the ends of intervals, for counts that are doubles; see `share_interval`."""
    least, most = expected_range(binomial.n, binomial.lowest, binomial.highest)
    # Where hardly any report is expected, or hardly any other, one is already more than they explain.
    most = most - (at_least(most, binomial.n, binomial.highest) < tail)
    least = least + (at_most(least, binomial.n, binomial.lowest) < tail)
    limits = _raw_limits(*binomial.never_empty(least, most), tail, target, method)
    return binomial.ordered(*(np.clip(limit, 0, 1) for limit in limits))


def _raw_limits(below: Binomial, above: Binomial, tail: float, target: str, method: str | None) -> tuple[Array, Array]:
    """Share at the lower limit for the counts `below`, and at the upper limit for the counts `above`."""
    allowed = {"population": ("clopper_pearson", "wilson"), "realised": ("exact", "clopper_pearson", "score")}[target]
    if method is not None:
        check_choice("method", method, allowed, f" for the {TARGETS[target]}")
    if target == "realised":
        return _realised(below, above, tail, method)
    if method == "wilson":
        absent = below.n * np.minimum(below.lowest, 1 - below.highest)
        _refuse_few(absent, "wilson", "expected reports of an absent answer")
        return wilson_limit(below, tail, -1), wilson_limit(above, tail, 1)
    return _clopper_pearson(below, above, tail)


def _realised(below: Binomial, above: Binomial, tail: float, method: str | None) -> tuple[Array, Array]:
    """Limits of shares of the sample, each by its method."""
    n, without, within = below.n, below.noise(0.0), below.noise(1.0)
    if method == "score" and not score_interval_is_accurate(below, tail).all():
        _refuse_few(n * np.minimum(without, within), "score", "as the variance of noise alone", variance_needed(tail))
    if method == "exact" and not summable(n, n * np.maximum(without, within)).all():
        raise ValueError(
            f"method 'exact' needs whole numbers of reports, with a variance of up to {MOST_EXACT_VARIANCE:,.0f}, but "
            f"there are {np.max(n):,.12g} with up to {np.max(n * np.maximum(without, within)):,.3g}; leave it out"
        )
    *parts, upper = np.broadcast_arrays(*below, above.count)
    exact, scored = (np.broadcast_to(which, upper.shape) for which in realised_methods(below, tail, method))
    low, high = np.empty(upper.shape), np.empty(upper.shape)
    for which, limits in ((exact, _exact), (scored, _score), (~exact & ~scored, _clopper_pearson)):
        if which.any():
            some = Binomial(*(part[which] for part in parts))
            low[which], high[which] = limits(some, some._replace(count=upper[which]), tail)
    return low, high


def _exact(below: Binomial, above: Binomial, tail: float) -> tuple[Array, Array]:
    # Who is not counted is as good as who is: P(X <= c) is the tail of n - c, and holders change places with others.
    n = below.n
    first = fewest_holders(below.count, n, below.highest, below.lowest, tail)
    second = fewest_holders(n - np.ceil(above.count), n, 1 - below.lowest, 1 - below.highest, tail)
    upright = below.gain > 0
    return np.where(upright, first, n - first) / n, np.where(upright, n - second, second) / n


def _score(below: Binomial, above: Binomial, tail: float) -> tuple[Array, Array]:
    return score_limit(below, tail, -1), score_limit(above, tail, 1)


def _clopper_pearson(below: Binomial, above: Binomial, tail: float) -> tuple[Array, Array]:
    low, high = binomial_limits(below.count, below.n, tail)[0], binomial_limits(above.count, above.n, tail)[1]
    return below.share_at(low), below.share_at(high)


def wilson_limit(binomial: Binomial, tail: float, side: int) -> Array:
    """Wilson's limit: the probability whose standard error times z is the distance of the count."""
    c, n = binomial.count, binomial.n
    z2 = float(ndtri(tail)) ** 2
    limit = (c + z2 / 2 + side * np.sqrt(z2 * (c * (1 - c / n) + z2 / 4))) / (n + z2)
    return np.asarray(binomial.share_at(limit))


def score_limit(binomial: Binomial, tail: float, side: int) -> Array:
    """Share of the sample whose standard error times z is its distance from `inv`: the root of a quadratic."""
    unbiased = binomial.unbiased
    factor = float(ndtri(tail)) ** 2 / (binomial.n * binomial.gain**2)
    without, within = binomial.noise(0.0), binomial.noise(1.0)
    middle = 2 * unbiased + factor * (within - without)
    root = np.sqrt(np.maximum(middle**2 - 4 * (unbiased**2 - factor * without), 0))
    return np.asarray((middle + side * np.copysign(1, binomial.gain) * root) / 2)


def standard_error(binomial: Binomial, target: str = "population") -> Array:
    """Return the standard errors of the unbiased shares; observed ones are at least half a report from 0 and 1."""
    half = 0.5 / np.maximum(binomial.n, 1)
    observed = np.clip(binomial.count / binomial.n, half, 1 - half)
    if target == "population":
        variance = observed * (1 - observed)
    else:
        variance = binomial.noise(np.clip(binomial.share_at(observed), 0, 1))
    return np.asarray(np.sqrt(variance / binomial.n) / abs(binomial.gain))


def _refuse_few(amount: Numbers, method: str, what: str, needed: float = LEAST_EXPECTED) -> None:
    if not np.all(amount >= needed):
        raise ValueError(
            f"method {method!r} needs at least {needed:.3g} {what}, but there are {np.min(amount):.3g}; use "
            "'clopper_pearson', which holds for any number"
        )


def at_least(c: Numbers, n: Numbers, probability: Numbers) -> Array:
    """Return P(Bin(n, probability) >= c) = I(probability; c, n - c + 1); c above n by rounding counts as n."""
    inside = (c > 0) & (c <= n * (1 + ROUNDING))
    tails = beta_cdf(np.where(inside, c, 1.0), np.where(inside, np.maximum(n - c, 0) + 1, 1.0), probability)
    return np.where(inside, tails, np.where(c <= 0, 1.0, 0.0))


def at_most(c: Numbers, n: Numbers, probability: Numbers) -> Array:
    """Return P(Bin(n, probability) <= c) = 1 - I(probability; c + 1, n - c); c below 0 by rounding counts as 0."""
    inside = (c >= -ROUNDING * n) & (c < n)
    tails = beta_sf(np.where(inside, np.maximum(c, 0) + 1, 1.0), np.where(inside, n - c, 1.0), probability)
    return np.where(inside, tails, np.where(c < 0, 0.0, 1.0))


def log_binomial(x: Array, n: float, p: float) -> Array:
    r"""Return :math:`\ln P(\text{Bin}(n, p) = x)` to full precision for any n, by Loader's algorithm.

    With Stirling's formula, :math:`\ln n! = n \ln n - n + \tfrac12 \ln 2\pi n + S(n)`, it is :math:`S(n) - S(x) -
    S(n-x) - D(x, np) - D(n-x, n(1-p)) + \tfrac12 \ln \frac{n}{2\pi x(n-x)}`, D being the deviance.

    >>> round(float(np.exp(log_binomial(np.array(2.0), 4.0, 0.5))), 9)
    0.375
    """
    x = np.asarray(x, dtype=np.float64)
    # Of weighted reports, none and all are that up to rounding.
    x = np.where(np.abs(x) <= ROUNDING * n, 0.0, np.where(np.abs(x - n) <= ROUNDING * n, n, x))
    if not 0 < p < 1:
        return np.where(x == n * p, 0.0, -np.inf)
    inside = (x > 0) & (x < n)
    y = np.where(inside, x, n / 2)
    with np.errstate(divide="ignore"):
        logs = stirling_remainder(n) - stirling_remainder(y) - stirling_remainder(n - y)
        logs = logs - deviance(y, n * p) - deviance(n - y, n * (1 - p))
        logs = logs + 0.5 * np.log(n / (2 * math.pi * y * (n - y)))
    edge = np.where(x == 0, n * math.log1p(-p), np.where(x == n, n * math.log(p), -np.inf))
    return np.where(inside, logs, edge)


def smallest_share(n: float, base: float, gain: float, alpha: float, power: float) -> float:
    r"""Return the smallest share of an answer that is detected among n respondents with this power.

    Detected means that noise alone has as many reports with probability at most alpha (alpha/K, where K answers are
    tested). For many reports it is near :math:`(z_{1-\alpha} + z_{\text{power}}) \sqrt{q(1-q)/n} / (p-q)`; here both
    steps are exact, because with a few expected reports of each answer that formula promises too much. Above 1 where no
    share is enough.

    Examples
    --------
    Without noise an answer is found once it is reported: with 80 % power if 1 - (1 - share)^n = 0.8.

    >>> round(smallest_share(10, 0.0, 1.0, 0.01, 0.8), 6) == round(1 - 0.2**0.1, 6)
    True
    """
    check_power(power)
    # Where the share makes a report rarer, an answer is found by having few: count those of all the others.
    noise = base if gain > 0 else 1 - base
    quantile, error = float(-ndtri(alpha)), math.sqrt(noise * (1 - noise) / n)
    if n * min(noise, 1 - noise) > MANY_REPORTS:
        return max(quantile + float(ndtri(power)), 0.0) * error / abs(gain)
    start = n * (noise + quantile * error)
    critical = _smallest_whole(lambda c: float(beta_cdf(c, n - c + 1, noise)) <= alpha, math.floor(n), start)
    if critical > n:
        return math.inf
    return max(float(_quantile(critical, n - critical + 1, power)) - noise, 0.0) / abs(gain)


def _smallest_whole(holds: Callable[[int], bool], n: int, start: float) -> int:
    """Smallest whole number from 1 to n from which on a condition holds, or n + 1; `start` is a first guess."""
    low, high, step = 1, max(1, min(math.ceil(start), n)), 1
    while high <= n and not holds(high):
        low, high, step = high + 1, min(high + step, max(n, high + 1)), 2 * step
    return first_true(holds, low, high)


def check_power(power: float) -> None:
    if not isinstance(power, float | int | np.floating) or not 0 < power < 1:
        raise ValueError(f"power must be between 0 and 1, such as 0.8, but got {power!r}")
