r"""Sums of independent binomial counts: their tails, by adding up the terms of their laws.

A sum of two binomial counts with different probabilities is not binomial, but its tail is a sum of products,

.. math:: P(A + B \ge c) = \sum_j P(A = j)\, P(B \ge c - j),

of which only some standard deviations around the means count. The terms of a binomial law follow from each other by
:math:`P(k+1)/P(k) = \frac{n-k}{k+1} \frac{p}{1-p}`, so that nothing cancels and no factorial is needed. What is left
out on the sides is at most `NEGLECTED` of the tail that is asked for (Bernstein's inequality): tails are right to that.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.arrays import Array, Integers

NEGLECTED = 1e-8  # part of a tail that may be left out
TERMS_AT_ONCE = 2**20  # terms of laws that are held at once
TAIL_TOLERANCE = 10 * NEGLECTED  # a tail is too small if it is so by more than this part of itself
SMALLEST_TAIL = 1e-290  # what a tail is raised to that is to have a normal quantile


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
