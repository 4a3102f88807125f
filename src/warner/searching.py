"""Bisection: the first whole or real number at which a condition holds, for one search or for many at once.

A condition here fails up to some value and holds from there on. So each look at the middle of an interval that contains
that value halves it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.arrays import Array, Counts, Mask


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
