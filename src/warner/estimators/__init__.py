r"""Counts of reports to shares of true answers: the closed forms.

**Which estimator to use when**

`mle`
    The default. The most likely distribution; always valid, and `warner.certificate` proves any copy of it. By squared
    error it is the safe middle of the three valid estimators: in the 750 settings of Pinzón et al. it was never the
    worst of them. But it can be far from the best (up to 860 times its squared error there, at large epsilon and N),
    and even behind plain `inv` (1.6 times, at K = 1000, epsilon 4, N = 10^6, when one answer holds three quarters).
`inv_p`
    When a few answers hold nearly everything. Its squared error is at most that of `inv`, for every population and
    every sample: the only guarantee of this kind. The sparsest of the three: it reports the most zeros.
`inv_n`
    When all answers are about equally common. The flattest of the three, and the worst where one answer dominates (55
    times the squared error of `inv` in the example above).
`inv`
    When estimates are added up, averaged or compared later on: it alone is unbiased, and confidence intervals are built
    on it. Its shares sum to one but may be negative.

Where every count is at least N q (p > q) all four agree. None of them is an interval. With many answers, `mle` and
`inv_n` take from the frequent answers and give to the rare ones: compare with `inv` to see how much.

**One shape.** All four are lines that are cut off at zero,

.. math:: \hat\theta_i = \max\left(0, \frac{x c_i - y}{z}\right),

with three whole numbers x, y, z that depend on the counts only through N, the number m of answers with a
positive share and the sum s of their counts. Whole numbers decide who is positive, so zeros are reproducible.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from warner.designs import Channel, Pooled, RandomizedResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from warner.designs import Design, Labels

Shares: TypeAlias = "NDArray[np.float64]"
# (design, N, m, s) -> (x, y, z); whole numbers in, whole numbers out; or arrays of doubles in and out.
Line: TypeAlias = "Callable[[RandomizedResponse, Any, Any, Any], tuple[Any, Any, Any]]"

LARGEST_TOTAL = 2**53  # beyond, a double cannot hold every count
CHUNK = 2**15  # doubles worked on at a time in a batch: they stay in the processor's cache
LONG_ROW = 2**12  # longer histograms of a batch are cheaper one by one: distinct counts are few among many
UNIT = 2.0**-53
SMALLEST = 2.0**-1022
IDENTIFIED = 1e-8  # how nearly an inverse must undo a channel


def inv(counts: ArrayLike, design: Design) -> Shares:
    r"""Estimate the true shares by undoing the randomization.

    A report names answer i with probability :math:`\phi_i = q + (p-q)\theta_i`; solving for :math:`\theta_i` and
    putting the observed share for :math:`\phi_i` removes the noise [1]_:

    .. math:: \hat\theta_i = \frac{c_i/N - q}{p - q}.

    Unbiased and summing to one, but rare answers can go below zero; `mle` never does.

    For a `Channel` it is weighted least squares: the shares that minimise :math:`\sum_j (\phi_j - \mu_j)^2 / w_j`,
    where :math:`w_j` is how often the report j would be made if all answers were equally common. That is unbiased, and
    sums to one, for every design whose shares can be told at all; others are an error.

    Parameters
    ----------
    counts : array_like of shape (..., k)
        Number of reports that named each answer; leading axes are separate surveys. Integers take the exact
        path, floats are weighted counts. For a `Channel` there is an entry for each output.
    design : RandomizedResponse or Channel
        What every respondent's answer went through.

    Returns
    -------
    ndarray of shape (..., k)
        The estimated shares. For one histogram of integers each is the correctly rounded exact value; in a batch,
        within 4 units in the last place of 1 (of the share itself where `inv` exceeds 1).

    References
    ----------
    .. [1] S. L. Warner, "Randomized response", J. Amer. Stat. Assoc. 60 (1965), 63-69.

    Examples
    --------
    Each of 100 people tells the truth with probability 3/4; 40 reports say yes:
    (0.40 - 0.25) / (0.75 - 0.25) = 0.30.

    >>> from warner import RandomizedResponse
    >>> inv([40, 60], RandomizedResponse(["yes", "no"], truth="3/4"))
    array([0.3, 0.7])
    """
    if isinstance(design, RandomizedResponse):
        return _shares(counts, design, _inv, cut=False)
    return _least_squares(counts, design) if isinstance(design, Channel) else _combined(counts, design)


def inv_n(counts: ArrayLike, design: Design) -> Shares:
    """Estimate the true shares by `inv`, negative shares set to zero and the others rescaled to sum to one.

    Known as INVN, or norm-mul. Parameters and precision as for `inv`.

    Examples
    --------
    Here `inv` gives (-0.2, 1.2): clipped and rescaled, everybody says no.

    >>> from warner import RandomizedResponse
    >>> inv_n([15, 85], RandomizedResponse(["yes", "no"], truth="3/4"))
    array([0., 1.])
    """
    if isinstance(design, RandomizedResponse):
        return _shares(counts, design, _inv_n)
    shares = np.maximum(inv(counts, design), 0)
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def inv_p(counts: ArrayLike, design: Design) -> Shares:
    """Estimate the true shares by the distribution that is nearest to `inv` in Euclidean distance.

    Known as INVP, or norm-sub: every share of `inv` is lowered by one constant and cut off at zero. Parameters
    and precision as for `inv`.

    Examples
    --------
    `inv` gives (-0.2, 0.4, 0.8): lowered by 0.1 and cut off at zero they sum to one.

    >>> from warner import RandomizedResponse
    >>> inv_p([20, 35, 45], RandomizedResponse(3, odds=(2, 1)))
    array([0. , 0.3, 0.7])
    """
    if isinstance(design, RandomizedResponse):
        return _shares(counts, design, _inv_p)
    return _projected(inv(counts, design))


def mle(counts: ArrayLike, design: Design) -> Shares:
    r"""Estimate the true shares by the distribution that makes the observed counts most likely.

    With :math:`E = e^\varepsilon - 1` and A the answers with a positive share, m of them with s reports together,

    .. math:: \hat\theta_i = \frac{c_i (E + m)/s - 1}{E} \quad (i \in A), \qquad A = \{i : c_i (E + m) > s\},

    for p > q; for p < q, where E = p/q - 1 is negative, the inequality is turned: the *largest* counts are cut off.
    This is MLE* of [1]_: the limit of the iterative Bayesian update (`warner.ibu`), without the iteration.
    Parameters and precision as for `inv`; `warner.certificate` verifies any result. For a `Channel` the solver is
    `warner.channel_mle`, one histogram after the other.

    Notes
    -----
    Unique, with one exception: if p < q and several answers were never reported, every distribution on those
    is equally likely, and the uniform one is returned (`warner.certificate` says so).

    References
    ----------
    .. [1] C. A. Pinzón et al., "Estimating the True Distribution of Data Collected with Randomized Response",
       AAAI 2026.

    Examples
    --------
    Odds 2 : 1 among four answers, so E = 1. Answer 0 has 1 * (1 + 4) <= 21 and is cut off; of the others, with
    m = 3 and s = 20, the shares are 4 c / 20 - 1.

    >>> from warner import RandomizedResponse
    >>> mle([1, 6, 6, 8], RandomizedResponse(4, odds=(2, 1)))
    array([0. , 0.2, 0.2, 0.6])
    """
    if isinstance(design, RandomizedResponse):
        return _shares(counts, design, _mle)
    from warner.estimators.likelihood import channel_mle

    array = validated(counts, design).counts
    rows = [channel_mle(row, design).shares for row in array.reshape(-1, array.shape[-1])]
    return np.array(rows).reshape(*array.shape[:-1], design.k)


# The four lines. `m` and `s` are the number and the total count of the answers with a positive share.
# With doubles for n, m and s no term cancels another where p > q, but for y in _inv_p, which only decides.


def _inv(design: RandomizedResponse, n: Any, m: Any, s: Any) -> tuple[Any, Any, Any]:
    a, b = design.odds
    return design.total, n * b, (a - b) * n


def _inv_p(design: RandomizedResponse, n: Any, m: Any, s: Any) -> tuple[Any, Any, Any]:
    a, b = design.odds
    return m * design.total, s * design.total - (a - b) * n, (a - b) * n * m


def _inv_n(design: RandomizedResponse, n: Any, m: Any, s: Any) -> tuple[Any, Any, Any]:
    a, b = design.odds
    k = design.k
    # z = K (s (a + (K-1) b) - m n b), written as a sum of two terms of one sign.
    return k * design.total, k * n * b, (s * k - m * n) * design.total + m * n * (a - b)


def _mle(design: RandomizedResponse, n: Any, m: Any, s: Any) -> tuple[Any, Any, Any]:
    a, b = design.odds
    return a + (m - 1) * b, s * b, (a - b) * s


class Histograms(NamedTuple):
    """Checked counts: int64 or float64 of shape (..., k), their sums over the last axis, and the largest."""

    counts: NDArray[Any]
    totals: NDArray[Any]
    largest: float


def validated(counts: ArrayLike, design: Design) -> Histograms:
    """Check counts at the public border; everything behind it trusts them."""
    if isinstance(design, Channel):
        found = histograms(counts, len(design.outputs), "outputs of the design")
        if design.epsilon == 0:
            raise ValueError(
                "the design must have rows that differ: with epsilon 0 reports carry no information on the answers"
            )
        refuse_impossible(found.counts, design.weights.max(axis=0) == 0, design.outputs)
        return found
    if isinstance(design, Pooled):
        found = histograms(counts, len(design.outputs), "outputs of the designs")
        for part, own in zip(design.parts, design.split(found.counts), strict=True):
            if own.sum() and isinstance(part, Channel):
                refuse_impossible(own, part.weights.max(axis=0) == 0, part.outputs)
        if found.counts.ndim == 1 and not design.told(found.counts):
            raise ValueError("at least one of the designs that have reports must carry information: all have epsilon 0")
        return found
    found = histograms(counts, design.k, "answers of the design")
    if design.odds == (1, 1):
        raise ValueError(
            "the design must have p != q: with p = q (epsilon 0) reports carry no information on the answers"
        )
    return found


def refuse_impossible(counts: NDArray[Any], impossible: NDArray[np.bool_], outputs: Labels) -> None:
    """Refuse reports that no answer leads to: which, and how often."""
    amounts = counts.reshape(-1, counts.shape[-1]).sum(axis=0)
    where = np.flatnonzero(impossible & (amounts > 0))
    if where.size:
        shown = ", ".join(f"{outputs[j]!r} {amounts[j]:,} times" for j in where[:5].tolist())
        more = f" and {where.size - 5} more" if where.size > 5 else ""
        raise ValueError(
            f"counts must be of reports that the design can give, but some are impossible under it: {shown}{more}"
        )


def histograms(counts: ArrayLike, width: int, what: str) -> Histograms:
    """Check counts whose last axis has so many entries."""
    if isinstance(counts, np.ma.MaskedArray) and np.ma.getmaskarray(counts).any():
        raise ValueError(
            "counts must not be masked: give 0 for an answer that was never reported, or leave it out of the domain"
        )
    array = np.asarray(counts)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"counts must be numbers, but got an array of {array.dtype}")
    if array.shape[-1:] != (width,):
        raise ValueError(f"counts must have one entry for each of the {width} {what}, but got shape {array.shape}")
    return _weighted(array.astype(np.float64)) if array.dtype.kind == "f" else _whole(array)


def _whole(array: NDArray[Any]) -> Histograms:
    # One pass finds both the largest and any negative count: seen as unsigned, that one is above 2^63.
    signed = array.dtype.kind == "i"
    array = array.astype(np.int64 if signed else np.uint64, copy=False)
    largest = int(array.view(np.uint64).max(initial=0))
    if signed and largest >= 2**63:
        _bad_counts("must not be negative", array < 0, array)
    array = array.view(np.int64)
    safe = largest * array.shape[-1] < 2**63
    roughly = 0.0 if safe else array.sum(axis=-1, dtype=np.float64).max(initial=0)
    totals = array.sum(axis=-1)  # overflows only where `roughly` is far too large already
    most = max(roughly, largest, int(totals.max(initial=0)))
    if most > LARGEST_TOTAL:
        raise ValueError(f"counts must sum to at most 2^53 = 9.01e15, the limit of doubles, but got {most:.3g}")
    _refuse_empty(totals)
    return Histograms(array, totals, largest)


def _weighted(array: NDArray[np.float64]) -> Histograms:
    if not (array >= 0).all():
        _bad_counts("must be numbers of at least 0", ~(array >= 0), array)
    with np.errstate(over="ignore"):
        totals = array.sum(axis=-1)
    if not np.isfinite(totals).all():
        raise ValueError("counts must be finite and have a finite sum; rescale them")
    _refuse_empty(totals)
    return Histograms(array, totals, float(array.max(initial=0)))


def _bad_counts(rule: str, wrong: NDArray[np.bool_], array: NDArray[Any]) -> NoReturn:
    where = tuple(int(index) for index in np.argwhere(wrong)[0])
    raise ValueError(
        f"counts {rule}, but got {array[where].item()!r} at position {where[0] if len(where) == 1 else where}"
    )


def _refuse_empty(totals: NDArray[Any]) -> None:
    if not totals.all():
        where = "" if totals.ndim == 0 else f" in the histogram at position {np.argwhere(totals == 0)[0].tolist()}"
        raise ValueError(f"counts must hold at least one report, but all are zero{where}")


@lru_cache(maxsize=8)
def channel_inverse(design: Channel) -> NDArray[np.float64]:
    """Give the weights with which observed shares are turned into those of the answers: a row a report.

    Weighted least squares: each report counts by how often it would be made if all answers were equally common. With
    these weights the shares sum to one. Where answers cannot be told apart, the nearest that can be done.
    """
    matrix = design.channel()
    expected = matrix.mean(axis=0)
    possible = expected > 0
    scale = np.sqrt(expected[possible])
    inverse = np.zeros(matrix.shape[::-1])
    inverse[possible] = np.linalg.pinv(matrix[:, possible] / scale) / scale[:, np.newaxis]
    inverse.flags.writeable = False
    return inverse


def _least_squares(counts: ArrayLike, design: Channel) -> Shares:
    array, totals, _ = validated(counts, design)
    inverse = channel_inverse(design)
    if np.abs(design.channel() @ inverse - np.eye(design.k)).max() > IDENTIFIED:
        rank = np.linalg.matrix_rank(design.channel())
        raise ValueError(
            f"the design must have linearly independent rows to be undone, but among its {design.k} only {rank} are: "
            "different shares give the same reports. mle still gives a most likely distribution, but not a unique one"
        )
    return np.asarray((array / totals[..., np.newaxis]) @ inverse)


def _combined(counts: ArrayLike, design: Pooled) -> Shares:
    """Average what the parts say, each with the weight of its precision if all answers were equally common."""
    array = validated(counts, design).counts
    told = [(inv(own, part), own.sum() / _noise(part)) for part, own in design.told(array)]
    return np.asarray(sum(shares * weight for shares, weight in told) / sum(weight for _, weight in told))


def _noise(design: RandomizedResponse | Channel) -> float:
    """Give the variance that one report leaves in the shares, summed, if all answers are equally common."""
    if isinstance(design, RandomizedResponse):
        return (1 - 1 / design.k) / (design.p - design.q) ** 2
    expected, inverse = design.channel().mean(axis=0), channel_inverse(design)
    return float(expected @ (inverse**2).sum(axis=1) - ((expected @ inverse) ** 2).sum())


def _projected(shares: Shares) -> Shares:
    """Give the distribution nearest to shares that sum to one: lower all by one constant, cut off at zero."""
    falling = -np.sort(-shares, axis=-1)
    size = np.arange(1, shares.shape[-1] + 1)
    constant = (falling.cumsum(axis=-1) - 1) / size
    kept = np.count_nonzero(falling > constant, axis=-1, keepdims=True)
    return np.maximum(shares - np.take_along_axis(constant, kept - 1, axis=-1), 0)


def _shares(counts: ArrayLike, design: RandomizedResponse, line: Line, *, cut: bool = True) -> Shares:
    array, totals, largest = validated(counts, design)
    whole = array.dtype == np.int64
    if whole and array.ndim == 1:
        return _exact(array, int(totals), int(largest), design, line, cut=cut)
    rows, sums = array.reshape(-1, design.k), totals.reshape(-1)
    shares = np.empty(rows.shape)
    doubtful = np.ones(len(rows), dtype=bool)
    if not (whole and design.k > LONG_ROW):
        step = max(1, CHUNK // design.k)
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            shares[part], doubtful[part] = _in_doubles(rows[part], sums[part], design, line, cut=cut)
    if whole:
        for row in np.flatnonzero(doubtful):
            shares[row] = _exact(rows[row], int(sums[row]), int(rows[row].max()), design, line, cut=cut)
    return shares.reshape(array.shape)


def _exact(
    counts: NDArray[np.int64], n: int, largest: int, design: RandomizedResponse, line: Line, *, cut: bool
) -> Shares:
    """One histogram in whole numbers, over its distinct counts: at most about sqrt(2 N) of them."""
    values, repeats, slots, index = distinct(counts, largest)
    a, b = design.odds
    if a > b:  # from the first count to be kept to the last: the largest first, or with p < q the smallest
        values, repeats, slots = values[::-1], repeats[::-1], slots[::-1]
    m, s = np.cumsum(repeats), np.cumsum(repeats * values)

    def cut_off(j: int) -> bool:
        x, y, _ = line(design, n, int(m[j]), int(s[j]))
        return bool((int(values[j]) * x - y) * (1 if a > b else -1) <= 0)

    # Once one count is cut off, so is every one after it: G of the theory page is monotone.
    kept = bisect_left(range(len(values)), True, key=cut_off) if cut else len(values)
    table = np.zeros(slots.max() + 1)
    if kept:
        x, y, z = line(design, n, int(m[kept - 1]), int(s[kept - 1]))
        # Python divides whole numbers of any size with one correct rounding.
        table[slots[:kept]] = [(value * x - y) / z for value in values[:kept].tolist()]
    else:  # p < q and some answers were never reported: any distribution on those is most likely
        table[slots[0]] = 1 / int(m[0])
    return table[index]


def distinct(
    counts: NDArray[np.int64], largest: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Give the distinct counts, how often each occurs, its slot in a table, and every answer's slot.

    The slot of a count is the count itself, from the smallest on, as long as the table is not longer than the counts;
    the few counts beyond, at most N/K of them, have the slots behind.
    """
    span = max(counts.size, 2**12)
    smallest = 0 if largest < span else int(counts.min())
    index = counts - smallest if smallest else counts
    heavy = np.flatnonzero(index >= span) if largest - smallest >= span else np.empty(0, dtype=np.intp)
    if heavy.size:
        large, order = np.unique(index[heavy], return_inverse=True)
        index = index if smallest else index.copy()
        index[heavy] = span + order
    tally = np.bincount(index)
    slots = np.flatnonzero(tally)
    values = slots + smallest
    if heavy.size:
        values[-large.size :] = large + smallest
    return values, tally[slots], slots, index


def _in_doubles(
    counts: NDArray[Any], totals: NDArray[Any], design: RandomizedResponse, line: Line, *, cut: bool
) -> tuple[Shares, NDArray[np.bool_]]:
    """Many histograms at once, in doubles; also which of them hold whole numbers that doubles cannot decide."""
    a, b = design.odds
    k = design.k
    whole = counts.dtype == np.int64
    sign = 1.0 if a > b else -1.0  # with p < q the largest counts are cut off: turn the axis round
    c = counts.astype(np.float64) if whole else counts / totals[:, np.newaxis]
    if a < b:
        np.negative(c, out=c)
    n = totals.astype(np.float64) if whole else np.ones(len(counts))
    # No product below exceeds n K (a + (K-1) b). Where that fits a double's 53 bits, nothing is rounded.
    unit = 16 * UNIT if whole and n.max() * k * design.total >= LARGEST_TOTAL else 0.0
    ones = np.ones(k)
    m, s = np.full(len(counts), float(k)), n
    kept, threshold = np.ones_like(c), np.full(len(counts), -np.inf)
    slack = np.zeros(len(counts))
    with np.errstate(divide="ignore", invalid="ignore"):  # p < q with counts of zero: see `alone` below
        while cut:
            # Newton's method on a convex, piecewise linear function, from the left: the threshold rises, never
            # passes the root, and stops when no count is left between two thresholds.
            x, y, _ = line(design, n, m, s)
            slack = unit * (np.abs(y / x) + s / m)
            threshold = np.fmax(threshold, sign * y / x - slack)
            np.greater(c, threshold[:, np.newaxis], out=kept)
            before, m, s = m, kept @ ones, sign * np.vecdot(kept, c)
            if (m == before).all():
                break
        x, y, z = line(design, n, m, s)
        slope, shift = x / np.abs(z), y / np.abs(z)
        # A whole number within the rounding error of the threshold: doubles cannot tell on which side it is.
        doubtful = (n * k > LARGEST_TOTAL) | ((unit > 0) & cut & (np.floor(threshold + 2 * slack) >= threshold))
    alone = s == 0  # p < q and some answers were never reported: any distribution on those is most likely
    if alone.any():
        kept[alone] = c[alone] == c[alone].max(axis=-1, keepdims=True)
        m, s = kept @ ones, sign * np.vecdot(kept, c)
        slope[alone] = 0
    # x c - y cancels where y/z is large against 1/m: there 1/m + slope (c - s/m), the mean taken off in two steps.
    # Elsewhere the plain form is the better one: it keeps 1 + E theta, the likelihood, to the last digits.
    plain = (np.abs(shift) * m <= 1) & (a > b)
    centre = np.where(plain, 0.0, sign * s / m)
    c -= (np.rint(centre) if whole else centre)[:, np.newaxis]
    rest = np.vecdot(kept, c) / m
    c *= slope[:, np.newaxis]
    c += np.where(plain, -shift, 1 / m - slope * rest)[:, np.newaxis]
    if cut:
        np.maximum(c, 0, out=c)
        c *= kept
        if not whole:
            c /= c.sum(axis=-1, keepdims=True)
    return c, doubtful
