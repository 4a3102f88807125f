r"""How sure: confidence intervals for the true shares.

A count is exactly binomial, :math:`c_i \sim \text{Bin}(N, q + (p-q)\theta_i)`, whatever the other shares are. So the
exact interval of Clopper and Pearson for that probability, carried over to :math:`\theta_i`, covers at least at its
level, for every K, N and epsilon. Intervals that start from a valid estimator do not: the share of a frequent answer
under `mle` is biased when many answers are near zero, and bootstrap or likelihood-ratio intervals around it can miss
nearly always.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import betainccinv, betaincinv

from warner.estimators import LONG_ROW, SMALLEST, distinct

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from warner.design import RandomizedResponse


class Interval(NamedTuple):
    """Lower and upper ends, of the shape of the counts."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]


def clopper_pearson(counts: NDArray[Any], n: NDArray[np.float64], design: RandomizedResponse, level: float) -> Interval:
    """Give exact intervals for the population shares behind these counts.

    An interval is never empty: a count below what noise alone explains is taken as that much for the upper end, and
    one above what certainty explains for the lower end. That only widens, so the level is kept.

    Parameters
    ----------
    counts : ndarray of shape (..., k)
        Number of reports of each answer; fractional where weights were rescaled to an effective number of reports.
    n : ndarray of shape (..., 1)
        Number of reports in all.
    design : RandomizedResponse
        What every answer went through.
    level : float
        Confidence level, such as 0.95.
    """
    check_level(level)
    return Interval(*each_count(lambda c, total: _clopper_pearson(c, total, design, level), counts, n))


def standard_errors(counts: NDArray[Any], n: NDArray[np.float64], design: RandomizedResponse) -> NDArray[np.float64]:
    r"""Give the standard errors of `inv` as an estimate of population shares: sqrt(phi (1 - phi) / N) / (p - q).

    The observed share stands for phi. At counts of 0 that gives 0: an interval is the better judge of a rare answer.
    """
    return each_count(lambda c, total: (_standard_error(c, total, design),), counts, n)[0]


def interval_and_error(
    counts: NDArray[Any], n: NDArray[np.float64], design: RandomizedResponse, level: float
) -> tuple[NDArray[np.float64], ...]:
    """Give `clopper_pearson` and `standard_errors` in one pass: low, high, error."""
    check_level(level)
    return each_count(
        lambda c, total: (*_clopper_pearson(c, total, design, level), _standard_error(c, total, design)), counts, n
    )


def binomial_limits(c: Any, n: Any, tail: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the exact limits of Clopper and Pearson for a probability, `tail` on either side.

    BetaInv(tail; c, n-c+1), which is 0 for c = 0, and BetaInv(1-tail; c+1, n-c), which is 1 for c = n.
    """
    low = np.where(c > 0, betaincinv(np.maximum(c, SMALLEST), n - c + 1, tail), 0.0)
    high = np.where(c < n, betainccinv(c + 1, np.maximum(n - c, SMALLEST), tail), 1.0)
    return low, high


def check_level(level: float) -> None:
    """Refuse what is no confidence level."""
    if not 0 < level < 1:
        msg = f"level must be between 0 and 1, such as 0.95, but got {level!r}"
        raise ValueError(msg)


def each_count(
    function: Callable[[NDArray[np.float64], Any], tuple[NDArray[np.float64], ...]], counts: NDArray[Any], n: Any
) -> tuple[NDArray[np.float64], ...]:
    """Evaluate a function of a count and a total; with many answers, once for each distinct count."""
    k = counts.shape[-1]
    if counts.dtype != np.int64 or k <= LONG_ROW:
        return function(np.asarray(counts, dtype=np.float64), n)
    rows, totals = counts.reshape(-1, k), np.broadcast_to(n, (*counts.shape[:-1], 1)).reshape(-1)
    results = []
    for row, total in zip(rows, totals, strict=True):
        values, _, slots, index = distinct(row, int(row.max()))
        tables = np.zeros((len(evaluated := function(values.astype(np.float64), total)), slots[-1] + 1))
        tables[:, slots] = evaluated
        results.append([table[index] for table in tables])
    if len(results) == 1:
        return tuple(result.reshape(counts.shape) for result in results[0])
    return tuple(np.stack(parts).reshape(counts.shape) for parts in zip(*results, strict=True))


def _clopper_pearson(
    c: NDArray[np.float64], total: Any, design: RandomizedResponse, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    p, q = design.p, design.q
    tail = (1 - level) / 2
    below = np.minimum(c, np.ceil(total * max(p, q)))
    above = np.minimum(np.maximum(c, np.floor(total * min(p, q))), total)
    low, _ = binomial_limits(below, total, tail)
    _, high = binomial_limits(above, total, tail)
    first, second = (np.clip((end - q) / (p - q), 0, 1) for end in (low, high))
    return (first, second) if p > q else (second, first)


def _standard_error(c: NDArray[np.float64], total: Any, design: RandomizedResponse) -> NDArray[np.float64]:
    observed = np.minimum(c / total, 1)  # sums of weights may end a hair above
    error: NDArray[np.float64] = np.sqrt(observed * (1 - observed) / total) / abs(design.p - design.q)
    return error
