r"""Exact limits of realised shares: how many of these very people hold an answer, by the exact law of its reports.

If m of n people hold an answer, the number of its reports is the sum of two binomial counts,

.. math:: X_m = \text{Bin}(m, p) + \text{Bin}(n - m, q),

whose law is known. With p above q it rises with m: one person more who holds the answer can only add to its reports.
So the numbers m with :math:`P(X_m \ge c) > \text{tail}` and :math:`P(X_m \le c) > \text{tail}` are those between two
ends, and each end misses the true m with probability at most `tail`, whatever m is (the argument of Clopper and Pearson
for a binomial count). As m is whole, the ends are shares m/n. They are closer together than those that take all reports
for equally likely, and much closer where little is randomized.

Two neighbouring laws come from one. With Y the reports of everybody but one person,

.. math:: P(X_m \ge c) = P(Y \ge c) + p P(Y = c - 1), \qquad P(X_{m-1} \ge c) = P(Y \ge c) + q P(Y = c - 1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from warner.inference.binomial_sums import NEGLECTED, SMALLEST_TAIL, TAIL_TOLERANCE, binomial_law, in_blocks, terms_of

if TYPE_CHECKING:
    from warner.arrays import Array, Mask, Numbers

MOST_EXACT_VARIANCE = 1e5  # of the reports, up to which their law is added up; beyond, the normal law is as good
NEWTON_STEPS = 6  # by the normal law; then what is left is halved
ALL_STEPS = 200  # far more than are needed


def summable(n: Numbers, variance: Numbers) -> Mask:
    """Tell whether these are whole reports, and their variance so small that their law can be added up."""
    return np.asarray((n == np.rint(n)) & (variance <= MOST_EXACT_VARIANCE))


def fewest_holders(c: Numbers, n: Numbers, p: Numbers, q: Numbers, tail: float) -> Array:
    """Give the smallest number m of people with :math:`P(X_m >= c) > tail`, or n; p must be above q.

    A count between two whole numbers is taken as the smaller one.

    Examples
    --------
    Three of three people report an answer, as holders do with probability 1/2 and others with 1/10. If two hold it,
    that has the probability 1/40, if one holds it 1/200, and if nobody does 1/1000.

    >>> [float(fewest_holders(3, 3, 0.5, 0.1, tail)) for tail in (0.04, 0.02, 0.002)]
    [3.0, 2.0, 1.0]
    """
    asked = np.broadcast_arrays(np.floor(c), n, p, q)
    rows, back = np.unique(np.stack([column.ravel() for column in asked], axis=1), axis=0, return_inverse=True)
    return _searched(tail, *rows.T)[back.ravel()].reshape(asked[0].shape)


def _searched(tail: float, c: Array, n: Array, p: Array, q: Array) -> Array:
    """Find the first m whose tail is large enough: by Newton's method on its normal quantile, nearly a line."""
    too_few, enough = np.full(c.size, -1.0), np.where(c > 0, n, 0.0)
    guess = np.clip(np.ceil(_by_the_normal_law(c, n, p, q, tail)), 1, n)
    for step in range(ALL_STEPS):
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
        guess[open_] = newton if step < NEWTON_STEPS else halved
    return enough


def _by_the_normal_law(c: Array, n: Array, p: Array, q: Array, tail: float) -> Array:
    """Solve c - 1/2 - (n q + m (p - q)) = z sqrt(variance of X_m) for m: the smaller root of a quadratic."""
    z2, gain = float(ndtri(tail)) ** 2, p - q
    without, within = q * (1 - q), p * (1 - p)
    middle = 2 * (c - 0.5 - n * q) / gain + z2 * (within - without) / gain**2
    product = ((c - 0.5 - n * q) / gain) ** 2 - z2 * n * without / gain**2
    return np.asarray((middle - np.sqrt(np.maximum(middle**2 - 4 * product, 0))) / 2)


def _neighbouring_tails(tail: float, m: Array, c: Array, n: Array, p: Array, q: Array) -> tuple[Array, Array]:
    """Give P(X_{m-1} >= c) and P(X_m >= c), for m from 1 to n."""
    widths = terms_of(m - 1, p, tail) + terms_of(n - m, q, tail)

    def both(m: Array, c: Array, n: Array, p: Array, q: Array) -> Array:
        held, other = binomial_law(m - 1, p, tail), binomial_law(n - m, q, tail)
        missing = c[:, np.newaxis] - held.counts()
        above, here = ((held.terms * other.at_least(missing - one)).sum(axis=1) for one in (0, 1))
        return np.stack([above, here - above], axis=1)

    above, here = in_blocks(both, widths, m, c, n, p, q).T
    return above + q * here, above + p * here
