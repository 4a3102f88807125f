r"""Closed forms of the estimators inv, inv_p, inv_n and mle for a symmetric design, exactly.

All four are lines that are cut off at zero,

.. math:: \hat\theta_i = \max\left(0, \frac{x c_i - y}{z}\right),

with three whole numbers x, y, z that depend on the counts only through n, the number m of answers with a positive share
and the sum s of their counts. Whole numbers decide which shares are positive, so zeros are reproducible. The lines
depend on the design only through its `Symmetry` :math:`(a, b, \text{total})`, and n need not be the sum of the counts:
the same code serves randomized response and reports that support sets.

**Precondition.** Shares of a line that is cut off must sum to one: :math:`x s - y m = z`. The threshold search for many
histograms and the one for distinct counts find the same positive shares only then; `shares` checks it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from warner.arrays import LARGEST_TOTAL, UNIT_ROUNDOFF, Array, Counts, Mask, Numbers
from warner.numerics import first_true
from warner.reports.counts import LONG_ROW, Histograms

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.designs.facts import Symmetry

# (symmetry, K, n, m, s) -> (x, y, z): whole numbers, or arrays of doubles. Lines that are cut off need x s - y m = z.
Line: TypeAlias = "Callable[[Symmetry, int, Numbers, Numbers, Numbers], tuple[Numbers, Numbers, Numbers]]"

DOUBLES_AT_ONCE = 2**15  # doubles worked on at a time in a batch: they stay in the processor's cache


# The four lines. `m` and `s` are the number and the total count of the answers with a positive share.
# With doubles for n, m and s no term cancels another where p > q, but for y in `nearest`, which only decides.


def unbiased(symmetry: Symmetry, k: int, n: Numbers, m: Numbers, s: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    a, b, total = symmetry.whole
    return total, n * b, (a - b) * n


def nearest_line(symmetry: Symmetry, k: int, n: Numbers, m: Numbers, s: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Nearest distribution to the unbiased shares: subtract a constant and cut off at zero."""
    a, b, total = symmetry.whole
    return m * total, s * total - (a - b) * n, (a - b) * n * m


def rescaled(symmetry: Symmetry, k: int, n: Numbers, m: Numbers, s: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Cut the unbiased shares off at zero, and rescale the others to sum to one."""
    _, b, total = symmetry.whole
    # z = K (s total - m n b), written as a sum of two terms that have one sign for randomized response.
    return k * total, k * n * b, (s * k - m * n) * total + m * n * (total - k * b)


def most_likely(symmetry: Symmetry, k: int, n: Numbers, m: Numbers, s: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Maximize the multinomial likelihood of designs whose reports count once."""
    a, b, _ = symmetry.whole
    return a + (m - 1) * b, s * b, (a - b) * s


def _refuse_other_sums(symmetry: Symmetry, line: Line) -> None:
    """Raise an error for a line whose shares do not sum to one when cut off at zero."""
    for n, m, s in ((997, 2, 613), (1009, 3, 411)):  # primes: equality by chance at one of them fails at the other
        x, y, z = line(symmetry, 3, n, m, s)
        if x * s - y * m != z:
            raise ValueError(
                "line must give shares that sum to one: x s - y m must be z for m positive shares with s reports, but "
                f"{getattr(line, '__name__', 'this line')} gives {x} * {s} - {y} * {m} and {z}; use cut=False"
            )


def shares(
    histograms: Histograms, symmetry: Symmetry, line: Line, *, cut: bool = True, exclusive: bool = True
) -> Array:
    """Evaluate a line at each count, cut off at zero or not."""
    if cut:
        _refuse_other_sums(symmetry, line)
    flat = histograms.rows()
    rows, sums, k = flat.counts, flat.n, flat.counts.shape[-1]
    if flat.whole and flat.single:
        exact = shares_of_counts(histograms, symmetry, line, cut=cut, exclusive=exclusive)
        return histograms.distinct.for_each_column(exact).reshape(histograms.counts.shape)
    result = np.empty(rows.shape)
    doubtful = np.ones(len(rows), dtype=bool)
    if not (flat.whole and (k > LONG_ROW or not exclusive)):
        step = max(1, DOUBLES_AT_ONCE // k)
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            result[part], doubtful[part] = _in_doubles(
                rows[part], sums[part], symmetry, line, cut=cut, exclusive=exclusive
            )
    if flat.whole:
        for index in np.flatnonzero(doubtful).tolist():
            row = flat.row(index)
            exact = shares_of_counts(row, symmetry, line, cut=cut, exclusive=exclusive)
            result[index] = row.distinct.for_each_column(exact)
    return result.reshape(histograms.counts.shape)


def shares_of_counts(
    histogram: Histograms, symmetry: Symmetry, line: Line, *, cut: bool = True, exclusive: bool = True
) -> Array:
    """Evaluate a line exactly at the distinct counts of one histogram, at most about sqrt(2 N) of them."""
    levels = histogram.distinct
    k, n = levels.counts.size, int(histogram.n.item())
    a, b, _ = symmetry.whole
    upright = a > b
    # From the first count to be kept to the last: the largest first, or with p < q the smallest.
    values = levels.values[::-1] if upright else levels.values
    m, s = levels.from_the_largest if upright else levels.from_the_smallest

    def cut_off(j: int) -> bool:
        x, y, _ = line(symmetry, k, n, int(m[j]), int(s[j]))
        return bool((int(values[j]) * x - y) * (1 if upright else -1) <= 0)

    # All counts after the first one that is cut off are cut off: G of the theory page is monotone.
    kept = first_true(cut_off, 0, len(values)) if cut else len(values)
    result = np.zeros(len(values))
    if kept:
        x, y, z = line(symmetry, k, n, int(m[kept - 1]), int(s[kept - 1]))
        # Python divides whole numbers of any size with one correct rounding.
        result[:kept] = [(value * x - y) / z for value in values[:kept].tolist()]
    elif exclusive:  # p < q and some answers were never reported: any distribution on those is most likely
        result[0] = 1 / int(m[0])
    else:  # all support is below the noise: answers are not distinguishable
        result[:] = 1 / k
    return result[::-1] if upright else result


class _Batch(NamedTuple):
    """Histograms in doubles, with their line. For p < q the largest counts are cut off: then counts are negated.

    `support` is the sum of all counts of each histogram. `rounding` bounds the relative error of a threshold: 0 if
    doubles represent all products exactly, and for weighted counts.
    """

    symmetry: Symmetry
    line: Line
    counts: Array
    n: Array
    support: Array
    sign: float
    rounding: float
    whole: bool
    exclusive: bool

    def coefficients(self, m: Array, s: Array) -> tuple[Array, Array, Array]:
        return self.line(self.symmetry, self.counts.shape[-1], self.n, m, s)

    def positive(self, kept: Array) -> tuple[Array, Array]:
        return kept @ np.ones(kept.shape[-1]), self.sign * np.vecdot(kept, self.counts)


class _AboveThreshold(NamedTuple):
    """Answers with a positive share (1, else 0), their m and s, the threshold and its rounding error."""

    answers: Array
    m: Array
    s: Array
    threshold: Array
    slack: Array


def _in_doubles(
    counts: Counts, totals: Counts, symmetry: Symmetry, line: Line, *, cut: bool, exclusive: bool
) -> tuple[Array, Mask]:
    """Evaluate a line in many histograms; also flag histograms that doubles cannot decide."""
    batch = _batch(counts, totals, symmetry, line, exclusive=exclusive)
    with np.errstate(divide="ignore", invalid="ignore"):  # p < q with counts of zero: nothing is left, see below
        kept = _above_threshold(batch, cut=cut)
        x, y, z = batch.coefficients(kept.m, kept.s)
        slope, shift = x / np.abs(z), y / np.abs(z)
        doubtful = _undecided(batch, kept, cut=cut)
    nothing_left = ((kept.s == 0) if exclusive else (kept.m == 0) | (batch.sign * z <= 0)) & cut
    if nothing_left.any():
        batch, kept = _shared_equally(batch, kept, nothing_left)
        slope[nothing_left] = 0
    return _evaluated(batch, kept, slope, shift, cut=cut), doubtful


def _batch(counts: Counts, totals: Counts, symmetry: Symmetry, line: Line, *, exclusive: bool) -> _Batch:
    whole = counts.dtype == np.int64
    doubles = counts.astype(np.float64) if whole else counts / totals[:, np.newaxis]
    n = totals.astype(np.float64) if whole else np.ones(len(counts))
    support = n if exclusive else doubles.sum(axis=-1)
    if symmetry.p < symmetry.q:
        np.negative(doubles, out=doubles)
    # No product exceeds s K total, or n K total. Where that fits a double's 53 bits, nothing is rounded.
    largest = np.maximum(n, support).max() * counts.shape[-1] * symmetry.whole[2]
    rounding = 16 * UNIT_ROUNDOFF if whole and largest >= LARGEST_TOTAL else 0.0
    sign = 1.0 if symmetry.p > symmetry.q else -1.0
    return _Batch(symmetry, line, doubles, n, support, sign, rounding, whole, exclusive)


def _above_threshold(batch: _Batch, *, cut: bool) -> _AboveThreshold:
    """Find the threshold y/x above which counts have a positive share; without a cut, all have one.

    By Newton's method on a convex, piecewise linear function, from the left: the threshold rises, never passes the
    root, and stops when no count is left between two thresholds.
    """
    rows, k = batch.counts.shape
    answers, threshold, slack = np.ones_like(batch.counts), np.full(rows, -np.inf), np.zeros(rows)
    m, s = np.full(rows, float(k)), batch.support
    while cut:
        x, y, _ = batch.coefficients(m, s)
        slack = batch.rounding * (np.abs(y / x) + s / m)
        threshold = np.fmax(threshold, batch.sign * y / x - slack)
        np.greater(batch.counts, threshold[:, np.newaxis], out=answers)
        before = m
        m, s = batch.positive(answers)
        if (m == before).all():
            break
    return _AboveThreshold(answers, m, s, threshold, slack)


def _undecided(batch: _Batch, kept: _AboveThreshold, *, cut: bool) -> Mask:
    """Return True if a count is within the rounding error of the threshold, or beyond the range of exact doubles."""
    beyond = np.maximum(batch.n, batch.support) * batch.counts.shape[-1] > LARGEST_TOTAL
    near = np.floor(kept.threshold + 2 * kept.slack) >= kept.threshold
    return np.asarray(beyond | ((batch.rounding > 0) & cut & near))


def _shared_equally(batch: _Batch, kept: _AboveThreshold, nothing_left: Mask) -> tuple[_Batch, _AboveThreshold]:
    """Assign equal shares where no count is above the threshold.

    With p < q these are the answers that were never reported: any distribution on them is most likely. If all support
    is below the noise, answers are not distinguishable, and all of them are kept.
    """
    counts = np.where(nothing_left[:, np.newaxis] & (not batch.exclusive), 0.0, batch.counts)
    batch = batch._replace(counts=counts)
    kept.answers[nothing_left] = counts[nothing_left] == counts[nothing_left].max(axis=-1, keepdims=True)
    m, s = batch.positive(kept.answers)
    return batch, kept._replace(m=m, s=s)


def _evaluated(batch: _Batch, kept: _AboveThreshold, slope: Array, shift: Array, *, cut: bool) -> Array:
    """Evaluate slope c - shift in place of the counts.

    The difference cancels where y/z is large against 1/m: there it is 1/m + slope (c - s/m), the mean taken off in two
    steps. Elsewhere the plain form is the better one: it keeps 1 + E theta, the likelihood, to the last digits.
    """
    shares, sign, m, s = batch.counts, batch.sign, kept.m, kept.s
    plain = (np.abs(shift) * m <= 1) & (batch.symmetry.p > batch.symmetry.q)
    centre = np.where(plain, 0.0, sign * s / m)
    shares -= (np.rint(centre) if batch.whole else centre)[:, np.newaxis]
    rest = np.vecdot(kept.answers, shares) / m
    # The mean of the shares: that of a distribution, but for what is unbiased where a report counts several times.
    mean = 1 / m if batch.exclusive or cut else sign * (slope * s / m - shift)
    shares *= slope[:, np.newaxis]
    shares += np.where(plain, -shift, mean - slope * rest)[:, np.newaxis]
    if cut:
        np.maximum(shares, 0, out=shares)
        shares *= kept.answers
        if not batch.whole:
            shares /= shares.sum(axis=-1, keepdims=True)
    return shares
