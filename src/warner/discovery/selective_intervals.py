r"""Intervals after selection: of a share that is looked at because its count was large enough.

The count of a value that was found has the law of :math:`X \sim \text{Bin}(n, q + (p-q)\theta)` given that
:math:`X \ge c`, the critical count. Its unbiased share is too large on average (the winner's curse), and the usual
interval misses. Let k be the count, :math:`\beta` the error, and U(k) the upper limit of Clopper and Pearson:
:math:`P_\theta(X \le k) = \beta/2` at :math:`\theta = U(k)`. Then

- the upper limit is U(k), the usual one;
- the lower limit is the :math:`\theta` with :math:`P_\theta(X \ge k \mid X \ge c) = \beta`, if that is below U(c), and
  otherwise the larger of U(c) and the :math:`\theta` with :math:`P_\theta(X \ge k \mid X \ge c) = \beta/2`;
- the share that is shown is the median-unbiased one of that law.

*The interval covers with probability at least* :math:`1-\beta`, *given that the value was found.* The truth is above
the upper limit only if k < a, for a number a with :math:`x = P_\theta(X < a) \le \beta/2`. If :math:`\theta \le U(c)`,
no count from c on is so small. Otherwise, with :math:`y = P_\theta(X < c) \le x`, that has the probability
:math:`(x-y)/(1-y) \le x \le \beta/2` given selection: to be selected for being large cannot make an upper limit too
low. The truth is below the lower limit only if :math:`P_\theta(X \ge k \mid X \ge c)` is at most :math:`\beta`, where
:math:`\theta < U(c)`, or :math:`\beta/2`; that is a tail of the law of k itself, which rises with :math:`\theta`. The
sum is at most :math:`\beta` in both cases. So at most a part :math:`\beta` of all intervals that are ever shown miss.

Far above the critical count this is the interval of Clopper and Pearson; just above it reaches down to 0. That
somebody holds such a value is certain, at the level of the test, but not how many do. A two-sided interval of the
truncated law would be *empty* there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.inference.binomial import at_least
from warner.searching import bisected_each

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.arrays import Array, Integers

SELECTIVE_HALVINGS = 60  # of [0, 1]: to the last digit of a double
UNDERFLOW = 1e-280  # a tail below is compared by its first terms


class SelectedShares(NamedTuple):
    """Limits and median-unbiased estimates of shares, each of a count that was selected for being large."""

    low: Array
    share: Array
    high: Array


def selective_intervals(
    counts: Integers, critical: Integers, n: int, p: float, q: float, level: float = 0.95
) -> SelectedShares:
    """Give intervals and median-unbiased shares for counts that were selected for being at least critical.

    Parameters
    ----------
    counts, critical : arrays of int
        The counts, and the least with which each would have been selected; 0 if it would have been in any case.
    n : int
        The number of reports.
    p, q : float
        The probability that a report counts for a value that is held, and that it counts for another one.
    level : float
        Confidence level, given selection.

    Examples
    --------
    Without selection the interval is that of Clopper and Pearson; a count that was barely selected says little.

    >>> counts = np.array([400, 400])
    >>> limits = selective_intervals(counts, np.array([0, 400]), 1000, 0.6, 1 / 3)
    >>> limits.low.round(4), limits.high.round(4)
    (array([0.1355, 0.    ]), array([0.3667, 0.3667]))
    """
    counts, critical = np.asarray(counts), np.asarray(critical)
    error = 1 - level

    def given_selection(count: Integers) -> Callable[[Array], Array]:
        return lambda share: conditional_tail(count, critical, n, q + (p - q) * share)

    def upper(count: Integers) -> Array:  # where P(X <= count) is error / 2
        return _first_share(lambda share: at_least(count + 1, n, q + (p - q) * share), 1 - error / 2, counts.shape)

    reached, beyond = given_selection(counts), given_selection(counts + 1)
    one_sided = _first_share(reached, error, counts.shape)
    two_sided = _first_share(reached, error / 2, counts.shape)
    uncensored = np.where(critical > 0, upper(critical), 0.0)
    low = np.where(one_sided < uncensored, one_sided, np.maximum(uncensored, two_sided))
    middle = _first_share(lambda share: (reached(share) + beyond(share)) / 2, 0.5, counts.shape)
    return SelectedShares(low, middle, upper(counts))


def conditional_tail(count: Integers, critical: Integers, n: int, rate: Array) -> Array:
    """Give P(X >= count | X >= critical) for X of Bin(n, rate), where count is at least critical.

    Where both tails are too small for doubles, they are compared by their first terms, which fall about geometrically.
    """
    above, selected = at_least(count, n, rate), at_least(critical, n, rate)
    deep = (selected < UNDERFLOW) & (critical > 0)
    ratio = np.divide(above, selected, out=np.zeros(np.shape(above)), where=~deep)
    if deep.any():
        count, critical = (np.broadcast_to(part, deep.shape)[deep] for part in (count, critical))
        rate = np.broadcast_to(rate, deep.shape)[deep]
        difference = _log_tail(count, n, rate) - _log_tail(critical, n, rate)
        ratio[deep] = np.where(count > n, 0.0, np.exp(np.minimum(difference, 0.0)))
    return ratio


def _log_tail(count: Integers, n: int, rate: Array) -> Array:
    """Give the logarithm of a far tail: the first term, and a geometric series with the ratio of the next one."""
    from scipy.special import gammaln, xlog1py, xlogy

    count = np.minimum(count, n)
    first = (
        gammaln(n + 1) - gammaln(count + 1) - gammaln(n - count + 1) + xlogy(count, rate) + xlog1py(n - count, -rate)
    )
    following = (n - count) / (count + 1) * rate / (1 - rate)
    return np.asarray(first - np.log1p(-following))


def _first_share(rising: Callable[[Array], Array], target: float, shape: tuple[int, ...]) -> Array:
    """Give the share at which each of many rising functions reaches a target: 0 if it is there at once, 1 if never."""
    zero, one = np.zeros(shape), np.ones(shape)
    low, high = bisected_each(lambda share: rising(share) >= target, zero, one, SELECTIVE_HALVINGS)
    at_once, never = rising(zero) >= target, rising(one) < target
    return np.where(at_once, 0.0, np.where(never, 1.0, (low + high) / 2))
