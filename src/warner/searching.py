"""Bisection and bracketed roots: the first whole or real number at which a condition holds, or a function is zero.

For one search or for many at once. A condition here fails up to some value and holds from there on, so that each look
at the middle of an interval that contains that value halves it. Of a function that rises, more is known: how far it is
from zero.

SciPy does not search whole numbers, and its root finders return a point on either side of the root, whereas the limits
of an interval must lie on the known side. The import of `scipy.optimize` alone takes about half as long as
`warner estimate`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.arrays import Array, Counts, Mask

ROOT_STEPS = 120  # that a root may take; it takes about ten, and halves what is left in the second half of them
FARTHER = 0.02  # of a scale: how much farther than it is thought to be a root is looked for, until it is bracketed


def first_true(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Find the first whole number from `low` to before `high` at which the condition holds; `high` if there is none.

    >>> first_true(lambda x: x**2 >= 30, 0, 100), first_true(lambda x: x > 100, 0, 100)
    (6, 100)
    """
    return low + bisect_left(range(low, high), True, key=holds)


def first_true_each(holds: Callable[[Counts], Mask], low: Counts, high: Counts) -> Counts:
    """Do as `first_true` for each of many searches; the condition is asked for an array with a number for each.

    >>> first_true_each(lambda x: x**2 >= np.array([30, 50]), np.array([0, 0]), np.array([100, 5])).tolist()
    [6, 5]
    """
    while (low < high).any():
        middle = (low + high) // 2
        there = holds(middle)
        low, high = np.where(there | (low == high), low, middle + 1), np.where(there, middle, high)
    return high


def bisected(
    holds: Callable[[float], bool], low: float, high: float, steps: float = math.inf, close: float = 0.0
) -> tuple[float, float]:
    """Halve an interval, at whose lower end a condition fails and at whose upper end it holds; give what is left.

    That ends after so many steps, where it is no longer than `close`, or where no other double is inside.

    >>> low, high = bisected(lambda x: x**2 >= 2, 1.0, 2.0)
    >>> low < 2**0.5 <= high, high - low < 3e-16
    (True, True)
    >>> bisected(lambda x: x**2 >= 2, 1.0, 2.0, steps=2)
    (1.25, 1.5)
    """
    while steps > 0 and high - low > close and low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
        steps -= 1
    return low, high


def bisected_each(holds: Callable[[Array], Mask], low: Array, high: Array, steps: int) -> tuple[Array, Array]:
    """Do as `bisected` for each of many intervals, with so many steps.

    >>> low, high = bisected_each(lambda x: x**2 >= np.array([2, 3]), np.ones(2), np.full(2, 2.0), steps=2)
    >>> low.tolist(), high.tolist()
    ([1.25, 1.5], [1.5, 1.75])
    """
    for _ in range(steps):
        middle = (low + high) / 2
        there = holds(middle)
        low, high = np.where(there, low, middle), np.where(there, middle, high)
    return low, high


def rising_roots(
    function: Callable[[Array, Mask], Array], start: Array, scale: Array, low: float, high: float, close: Array
) -> Array:
    """Find where functions that rise are zero, from `low` to `high`: up to `close` below it, or the nearest end.

    `function` takes places, and a mask of which of the functions they are for; its values are finite. Each rises by
    about one per `scale`, which tells where to look after `start`: a bit farther than that, so that zero comes to lie
    between two places. Then the line between them tells where (the regula falsi, with the Illinois rule).

    >>> roots = np.array([0.25, 2.0])
    >>> rising_roots(lambda x, some: x**3 - roots[some] ** 3, np.full(2, 0.5), np.ones(2), 0.0, 1.0, 1e-9).round(6)
    array([0.25, 1.  ])
    """
    below, above = np.full(start.shape, low), np.full(start.shape, high)
    under, over = np.full(start.shape, -np.inf), np.full(start.shape, np.inf)  # values there, once they are known
    result, moved, unsolved = below, np.zeros(start.shape), np.ones(start.shape, dtype=bool)
    place = np.clip(start, low, high)
    for step in range(ROOT_STEPS):
        value = np.zeros(start.shape)
        value[unsolved] = function(place[unsolved], unsolved)
        up, down = unsolved & (value <= 0), unsolved & (value > 0)
        # An end that stays twice counts half, so that the line does not lean on it for ever.
        under = np.where(up, value, np.where(down & (moved < 0), under / 2, under))
        over = np.where(down, value, np.where(up & (moved > 0), over / 2, over))
        below, above, moved = np.where(up, place, below), np.where(down, place, above), np.where(up, 1.0, -1.0)
        result = np.where(up, place, result)
        unsolved = unsolved & (below < high) & (above > low)
        unsolved = unsolved & (above - below > np.maximum(close, np.spacing(np.abs(above))))
        if not unsolved.any():
            break
        farther = moved * scale * FARTHER * 2.0**step
        bracketed = np.isfinite(under) & np.isfinite(over)
        part = np.divide(under, under - over, out=np.full(start.shape, 0.5), where=bracketed & (step < ROOT_STEPS // 2))
        edge = np.minimum(close, above - below) / 4
        between = np.clip(below + part * (above - below), below + edge, above - edge)
        place = np.where(bracketed, between, np.clip(place - scale * value + farther, low, high))
    return result
