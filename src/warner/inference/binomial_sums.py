r"""Sums of independent binomial counts: their tails, by adding up the terms of their laws.

A sum of two binomial counts with different probabilities is not binomial, but its tail is a sum of products,

.. math:: P(A + B \ge c) = \sum_j P(A = j)\, P(B \ge c - j),

of which only some standard deviations around the means count. The terms of a binomial law follow from each other by
:math:`P(k+1)/P(k) = \frac{n-k}{k+1} \frac{p}{1-p}`, so that nothing cancels and no factorial is needed. What is left
out on the sides is at most `NEGLECTED` of the tail that is asked for (Bernstein's inequality): tails are right to that.

**Exact limits of realised shares**, those among these very people. If m of n people hold an answer, the number of its
reports is the sum of two binomial counts,

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

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.arrays import Array, Integers, Mask, Numbers

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
        """Give the count that each term is the probability of."""
        return np.asarray(self.first[:, np.newaxis] + np.arange(self.terms.shape[1]))

    def at_least(self, counts: Array) -> Array:
        """Give the probability of so many or more, for whole counts of shape (rows, any number)."""
        upward = np.cumsum(self.terms[:, ::-1], axis=1)[:, ::-1]
        tails = np.append(upward, np.zeros((len(upward), 1)), axis=1)
        places = np.clip(counts - self.first[:, np.newaxis], 0, self.terms.shape[1])
        return np.take_along_axis(tails, places.astype(np.int64), axis=1)


def binomial_law(n: Array, probability: Array, tail: float) -> Law:
    """Give the law of Bin(n, probability), a row for each, up to terms that do not count against `tail`.

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
    """Give the first and the last count that matter: t from the mean, with exp(-t^2 / 2(v + t/3)) small enough."""
    mean, variance = n * probability, n * probability * (1 - probability)
    small = -math.log(NEGLECTED * tail / 4)
    t = small / 3 + np.sqrt(small**2 / 9 + 2 * variance * small)
    certain = probability >= 1
    first = np.where(certain, n, np.maximum(np.floor(mean - t), 0))
    last = np.where(certain, n, np.minimum(np.ceil(mean + t), np.where(probability > 0, n, 0)))
    return first, last


def in_blocks(function: Callable[..., Array], widths: Array, *rows: Array) -> Array:
    """Evaluate a function of rows with so many terms each, as many rows at once as fit; rows of like width together."""
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
    """Give how many terms the law of Bin(n, probability) has that count."""
    first, last = _window(n, probability, tail)
    return np.asarray(last - first + 1)


# Shares realised among these very people


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
    columns = np.broadcast_arrays(np.floor(c), n, p, q)
    rows, back = np.unique(np.stack([column.ravel() for column in columns], axis=1), axis=0, return_inverse=True)
    return _searched(tail, *rows.T)[back.ravel()].reshape(columns[0].shape)


def _searched(tail: float, c: Array, n: Array, p: Array, q: Array) -> Array:
    """Find the first m whose tail is large enough: by Newton's method on its normal quantile, nearly a line."""
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
    """Give P(X_{m-1} >= c) and P(X_m >= c), for m from 1 to n."""
    widths = terms_of(m - 1, p, tail) + terms_of(n - m, q, tail)

    def both(m: Array, c: Array, n: Array, p: Array, q: Array) -> Array:
        holders, other = binomial_law(m - 1, p, tail), binomial_law(n - m, q, tail)
        missing = c[:, np.newaxis] - holders.counts()
        above, here = ((holders.terms * other.at_least(missing - one)).sum(axis=1) for one in (0, 1))
        return np.stack([above, here - above], axis=1)

    above, here = in_blocks(both, widths, m, c, n, p, q).T
    return above + q * here, above + p * here
