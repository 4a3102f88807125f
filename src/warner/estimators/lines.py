r"""The closed forms: four estimators of a symmetric design, exactly.

**One shape.** All four are lines that are cut off at zero,

.. math:: \hat\theta_i = \max\left(0, \frac{x c_i - y}{z}\right),

with three whole numbers x, y, z that depend on the counts only through n, the number m of answers with a positive share
and the sum s of their counts. Whole numbers decide who is positive, so zeros are reproducible. They depend on the
design only through its `Symmetry` :math:`(a, b, \text{total})`, and on n, which need not be the sum of the counts: the
same code serves randomized response and reports that support sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from warner.arrays import LARGEST_TOTAL, UNIT_ROUNDOFF, Numbers
from warner.reports.counts import LONG_ROW
from warner.searching import first_true

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.arrays import Array, Counts, Mask
    from warner.designs.facts import Symmetry
    from warner.reports.counts import Histograms

# (symmetry, K, n, m, s) -> (x, y, z); whole numbers in, whole numbers out; or arrays of doubles in and out.
Line: TypeAlias = "Callable[[Symmetry, int, Numbers, Numbers, Numbers], tuple[Numbers, Numbers, Numbers]]"

DOUBLES_AT_ONCE = 2**15  # doubles worked on at a time in a batch: they stay in the processor's cache


# The four lines. `m` and `s` are the number and the total count of the answers with a positive share.
# With doubles for n, m and s no term cancels another where p > q, but for y in `nearest`, which only decides.


def unbiased(symmetry: Symmetry, k: int, n: Numbers, m: Numbers, s: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Undo the randomization: (c/n - q) / (p - q)."""
    a, b, total = symmetry[:3]
    return total, n * b, (a - b) * n


def nearest(symmetry: Symmetry, k: int, n: Numbers, m: Numbers, s: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Project what is unbiased on the distributions: lower all by one constant, cut off at zero."""
    a, b, total = symmetry[:3]
    return m * total, s * total - (a - b) * n, (a - b) * n * m


def rescaled(symmetry: Symmetry, k: int, n: Numbers, m: Numbers, s: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Cut what is unbiased off at zero, and rescale the rest to sum to one."""
    b, total = symmetry[1:3]
    # z = K (s total - m n b), written as a sum of two terms that have one sign for randomized response.
    return k * total, k * n * b, (s * k - m * n) * total + m * n * (total - k * b)


def most_likely(symmetry: Symmetry, k: int, n: Numbers, m: Numbers, s: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Maximise the likelihood of counts that are multinomial: designs whose reports count once."""
    a, b = symmetry[:2]
    return a + (m - 1) * b, s * b, (a - b) * s


def shares(
    histograms: Histograms, symmetry: Symmetry, line: Line, *, cut: bool = True, exclusive: bool = True
) -> Array:
    """Evaluate a line at each count, cut off at zero or not."""
    flat = histograms.rows()
    rows, sums, k = flat.counts, flat.n, flat.counts.shape[-1]
    if flat.whole and flat.single:
        exact = level_shares(histograms, symmetry, line, cut=cut, exclusive=exclusive)
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
        for place in np.flatnonzero(doubtful).tolist():
            row = flat.row(place)
            exact = level_shares(row, symmetry, line, cut=cut, exclusive=exclusive)
            result[place] = row.distinct.for_each_column(exact)
    return result.reshape(histograms.counts.shape)


def level_shares(
    histogram: Histograms, symmetry: Symmetry, line: Line, *, cut: bool = True, exclusive: bool = True
) -> Array:
    """Evaluate a line at the distinct counts of one histogram, in whole numbers: at most about sqrt(2 N) of them."""
    levels = histogram.distinct
    k, n = levels.counts.size, int(histogram.n.item())
    a, b = symmetry[:2]
    upright = a > b
    # From the first count to be kept to the last: the largest first, or with p < q the smallest.
    values = levels.values[::-1] if upright else levels.values
    m, s = levels.from_the_largest if upright else levels.from_the_smallest

    def cut_off(j: int) -> bool:
        x, y, _ = line(symmetry, k, n, int(m[j]), int(s[j]))
        return bool((int(values[j]) * x - y) * (1 if upright else -1) <= 0)

    # Once one count is cut off, so is every one after it: G of the theory page is monotone.
    kept = first_true(cut_off, 0, len(values)) if cut else len(values)
    result = np.zeros(len(values))
    if kept:
        x, y, z = line(symmetry, k, n, int(m[kept - 1]), int(s[kept - 1]))
        # Python divides whole numbers of any size with one correct rounding.
        result[:kept] = [(value * x - y) / z for value in values[:kept].tolist()]
    elif exclusive:  # p < q and some answers were never reported: any distribution on those is most likely
        result[0] = 1 / int(m[0])
    else:  # all support is below the noise: nothing tells the answers apart
        result[:] = 1 / k
    return result[::-1] if upright else result


def _in_doubles(
    counts: Counts, totals: Counts, symmetry: Symmetry, line: Line, *, cut: bool, exclusive: bool
) -> tuple[Array, Mask]:
    """Many histograms at once, in doubles; also which of them hold whole numbers that doubles cannot decide."""
    a, b, total = symmetry[:3]
    k = counts.shape[-1]
    problem = (symmetry, k)
    whole = counts.dtype == np.int64
    sign = 1.0 if a > b else -1.0  # with p < q the largest counts are cut off: turn the axis round
    c = counts.astype(np.float64) if whole else counts / totals[:, np.newaxis]
    n = totals.astype(np.float64) if whole else np.ones(len(counts))
    everything = n if exclusive else c.sum(axis=-1)
    if a < b:
        np.negative(c, out=c)
    # No product below exceeds s K total, or n K total. Where that fits a double's 53 bits, nothing is rounded.
    most = np.maximum(n, everything).max()
    unit = 16 * UNIT_ROUNDOFF if whole and most * k * total >= LARGEST_TOTAL else 0.0
    ones = np.ones(k)
    m, s = np.full(len(counts), float(k)), everything
    kept, threshold = np.ones_like(c), np.full(len(counts), -np.inf)
    slack = np.zeros(len(counts))
    with np.errstate(divide="ignore", invalid="ignore"):  # p < q with counts of zero: see `alone` below
        while cut:
            # Newton's method on a convex, piecewise linear function, from the left: the threshold rises, never
            # passes the root, and stops when no count is left between two thresholds.
            x, y, _ = line(*problem, n, m, s)
            slack = unit * (np.abs(y / x) + s / m)
            threshold = np.fmax(threshold, sign * y / x - slack)
            np.greater(c, threshold[:, np.newaxis], out=kept)
            before, m, s = m, kept @ ones, sign * np.vecdot(kept, c)
            if (m == before).all():
                break
        x, y, z = line(*problem, n, m, s)
        slope, shift = x / np.abs(z), y / np.abs(z)
        # A whole number within the rounding error of the threshold: doubles cannot tell on which side it is.
        doubtful = (np.maximum(n, everything) * k > LARGEST_TOTAL) | (
            (unit > 0) & cut & (np.floor(threshold + 2 * slack) >= threshold)
        )
    # With p < q and answers that were never reported, any distribution on those is most likely; where support counts of
    # all answers are below the noise, nothing is left either.
    alone = ((s == 0) if exclusive else (m == 0) | (sign * z <= 0)) & cut
    if alone.any():
        c = np.where(alone[:, np.newaxis] & (not exclusive), 0.0, c)
        kept[alone] = c[alone] == c[alone].max(axis=-1, keepdims=True)
        m, s = kept @ ones, sign * np.vecdot(kept, c)
        slope[alone] = 0
    # x c - y cancels where y/z is large against 1/m: there 1/m + slope (c - s/m), the mean taken off in two steps.
    # Elsewhere the plain form is the better one: it keeps 1 + E theta, the likelihood, to the last digits.
    plain = (np.abs(shift) * m <= 1) & (a > b)
    centre = np.where(plain, 0.0, sign * s / m)
    c -= (np.rint(centre) if whole else centre)[:, np.newaxis]
    rest = np.vecdot(kept, c) / m
    # The mean of the shares: that of a distribution, but for what is unbiased where a report counts several times.
    mean = 1 / m if exclusive or cut else sign * (slope * s / m - shift)
    c *= slope[:, np.newaxis]
    c += np.where(plain, -shift, mean - slope * rest)[:, np.newaxis]
    if cut:
        np.maximum(c, 0, out=c)
        c *= kept
        if not whole:
            c /= c.sum(axis=-1, keepdims=True)
    return c, doubtful
