"""Numerical building blocks that SciPy lacks: bisection, bracketed roots, and three special functions.

SciPy does not search whole numbers, and its root finders return a point on either side of the root, whereas the limits
of an interval must lie on the known side. The import of `scipy.optimize` alone takes about half as long as
`warner estimate`. `scipy.special.kl_div` loses the digits of the deviance by cancellation: of the counts 1e9 and
1e9 + 1 it returns 0 instead of 5e-10. Stirling's remainder is not in SciPy; its beta tails are NaN at some values.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from warner.arrays import SMALLEST, Array, Counts, Mask, Numbers
from warner.runtime import on_first_use

if TYPE_CHECKING:
    from collections.abc import Callable


ROOT_STEPS = 120  # most steps for a root, of which the second half are bisections; about ten are usual
FARTHER = 0.02  # of a scale: overshoot beyond the expected root, until it is bracketed
STIRLING_FROM = 16.0  # the argument from which five terms of Stirling's series are exact to rounding
NEAR_EXPECTED = 0.1  # (x - e) / (x + e) up to which eight terms of the deviance's series are

special = on_first_use("scipy.special")  # `warner show` searches a whole number, and needs nothing of SciPy


def first_true(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Find the first whole number from `low` to before `high` at which the condition holds; `high` if true is none.

    >>> first_true(lambda x: x**2 >= 30, 0, 100), first_true(lambda x: x > 100, 0, 100)
    (6, 100)
    """
    return low + bisect_left(range(low, high), True, key=holds)


def first_true_each(holds: Callable[[Counts], Mask], low: Counts, high: Counts) -> Counts:
    """Find the first true value of each of many searches; see `first_true`. The condition takes and returns arrays.

    >>> first_true_each(lambda x: x**2 >= np.array([30, 50]), np.array([0, 0]), np.array([100, 5])).tolist()
    [6, 5]
    """
    while (low < high).any():
        middle = (low + high) // 2
        true = holds(middle)
        low, high = np.where(true | (low == high), low, middle + 1), np.where(true, middle, high)
    return high


def bisected(
    holds: Callable[[float], bool], low: float, high: float, steps: float = math.inf, close: float = 0.0
) -> tuple[float, float]:
    """Bisect an interval with a condition that is false at its lower and true at its upper end; return the last one.

    It ends after `steps`, at a length of `close`, or when no other double is inside.

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
    """Bisect each of many intervals in this many steps; see `bisected`.

    >>> low, high = bisected_each(lambda x: x**2 >= np.array([2, 3]), np.ones(2), np.full(2, 2.0), steps=2)
    >>> low.tolist(), high.tolist()
    ([1.25, 1.5], [1.5, 1.75])
    """
    for _ in range(steps):
        middle = (low + high) / 2
        true = holds(middle)
        low, high = np.where(true, low, middle), np.where(true, middle, high)
    return low, high


def rising_roots(
    function: Callable[[Array, Mask], Array], start: Array, scale: Array, low: float, high: float, close: Array
) -> Array:
    """Find the zeros of increasing functions from `low` to `high`: up to `close` below each zero, or the nearest end.

    `function` takes points and the mask of the functions that they belong to; its values are finite. Each increases by
    about one per `scale`. The second point after `start` overshoots the root that this predicts, so that two points
    bracket it. Then the regula falsi with the Illinois rule finds it.

    >>> roots = np.array([0.25, 2.0])
    >>> rising_roots(lambda x, some: x**3 - roots[some] ** 3, np.full(2, 0.5), np.ones(2), 0.0, 1.0, 1e-9).round(6)
    array([0.25, 1.  ])
    """
    below, above = np.full(start.shape, low), np.full(start.shape, high)
    under, over = np.full(start.shape, -np.inf), np.full(start.shape, np.inf)  # function values at both ends
    result, moved, unsolved = below, np.zeros(start.shape), np.ones(start.shape, dtype=bool)
    point = np.clip(start, low, high)
    for step in range(ROOT_STEPS):
        value = np.zeros(start.shape)
        value[unsolved] = function(point[unsolved], unsolved)
        up, down = unsolved & (value <= 0), unsolved & (value > 0)
        # The Illinois rule: an end that stays twice counts half.
        under = np.where(up, value, np.where(down & (moved < 0), under / 2, under))
        over = np.where(down, value, np.where(up & (moved > 0), over / 2, over))
        below, above, moved = np.where(up, point, below), np.where(down, point, above), np.where(up, 1.0, -1.0)
        result = np.where(up, point, result)
        unsolved = unsolved & (below < high) & (above > low)
        unsolved = unsolved & (above - below > np.maximum(close, np.spacing(np.abs(above))))
        if not unsolved.any():
            break
        farther = moved * scale * FARTHER * 2.0**step
        bracketed = np.isfinite(under) & np.isfinite(over)
        part = np.divide(under, under - over, out=np.full(start.shape, 0.5), where=bracketed & (step < ROOT_STEPS // 2))
        edge = np.minimum(close, above - below) / 4
        between = np.clip(below + part * (above - below), below + edge, above - edge)
        point = np.where(bracketed, between, np.clip(point - scale * value + farther, low, high))
    return result


def stirling_remainder(x: Numbers) -> Array:
    r"""Remainder of Stirling's formula: S(x) in :math:`\ln x! = x \ln x - x + \ln(2\pi x)/2 + S(x)`.

    It is :math:`\frac{1}{12x} - \frac{1}{360x^3} + \ldots`, for x > 0.

    >>> float(stirling_remainder(1.0).round(6))  # 0! = 1! = 1: 1 - ln(2 pi) / 2
    0.081061
    """
    large, few = np.maximum(x, STIRLING_FROM), np.minimum(np.maximum(x, SMALLEST), STIRLING_FROM)
    square = 1 / large**2
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))) / large
    direct = special.gammaln(few + 1) - (few + 0.5) * np.log(few) + few - 0.5 * math.log(2 * math.pi)
    return np.asarray(np.where(x >= STIRLING_FROM, series, direct))


def deviance(observed: Numbers, expected: Numbers) -> Array:
    r"""Poisson deviance :math:`x \ln(x/e) - x + e` of an observed count x and an expected one e.

    It is at least 0, and infinite for x > 0 and e = 0. For similar x and e it is the series of Loader [1]_ in
    :math:`v = (x-e)/(x+e)`: :math:`(x-e) v + 2x (v^3/3 + v^5/5 + \ldots)`.

    .. [1] C. Loader, "Fast and accurate computation of binomial probabilities", 2000.

    >>> deviance(np.array([0.0, 2.0, 4.0]), 2.0).round(6).tolist()  # 2, 0 and 4 ln 2 - 2
    [2.0, 0.0, 0.772589]
    """
    apart = observed - expected
    v = apart / np.maximum(observed + expected, SMALLEST)
    square = v * v
    series = square / 17
    for power in range(15, 1, -2):
        series += 1 / power
        series *= square
    with np.errstate(divide="ignore", invalid="ignore"):
        far = special.xlogy(observed, observed / expected) - apart
    return np.asarray(np.where(np.abs(v) < NEAR_EXPECTED, apart * v + 2 * observed * v * series, far))


def beta_cdf(a: Numbers, b: Numbers, x: Numbers) -> Array:
    """Distribution function of the beta distribution.

    SciPy 1.17 returns NaN for a = 39 and many whole b from 1.95e9 to 2^31, where the other tail is 1e-280 or less.

    >>> float(beta_cdf(2.0, 1.0, 0.5)), float(beta_cdf(39.0, 1944327220.0, 1e-3))
    (0.25, 1.0)
    """
    tail: Array = special.betainc(a, b, x)
    return np.where(np.isnan(tail), 1 - special.betaincc(a, b, x), tail) if np.isnan(tail).any() else tail


def beta_sf(a: Numbers, b: Numbers, x: Numbers) -> Array:
    """Survival function of the beta distribution, the other tail of `beta_cdf`."""
    tail: Array = special.betaincc(a, b, x)
    return np.where(np.isnan(tail), 1 - special.betainc(a, b, x), tail) if np.isnan(tail).any() else tail
