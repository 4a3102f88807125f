"""Searches and roots against their conditions; special functions against fifty digits of decimal arithmetic."""

from __future__ import annotations

import math
import operator
from decimal import Decimal, localcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.special import gammainc

from warner.numerics import (
    NEAR_EXPECTED,
    ROOT_STEPS,
    STIRLING_FROM,
    beta_cdf,
    beta_sf,
    bisected,
    bisected_each,
    deviance,
    first_true,
    first_true_each,
    rising_roots,
    stirling_remainder,
)

if TYPE_CHECKING:
    from collections.abc import Callable

WHOLE = st.integers(-(2**53), 2**53)


@given(WHOLE, WHOLE, WHOLE)
def test_the_first_whole_number_is_found_or_there_is_none(threshold: int, one: int, other: int) -> None:
    low, high = sorted((one, other))
    assert first_true(lambda x: x >= threshold, low, high) == min(max(threshold, low), high)


@given(st.lists(st.tuples(*[st.integers(0, 2**50)] * 3), min_size=1, max_size=6))
def test_many_whole_numbers_are_found_as_each_alone(rows: list[tuple[int, int, int]]) -> None:
    thresholds, low, high = (
        np.array(column) for column in zip(*[(t, *sorted((a, b))) for t, a, b in rows], strict=True)
    )
    for dtype in (np.int64, np.float64):
        found = first_true_each(lambda x: x >= thresholds, low.astype(dtype), high.astype(dtype))
        assert found.dtype == dtype
        assert_array_equal(found, np.clip(thresholds, low, high))


def test_whole_numbers_near_the_largest_double_do_not_overflow() -> None:
    # The bits of the doubles from 0 to 1, in whose order quantiles are looked for
    one = np.ones(1).view(np.int64)
    found = first_true_each(lambda bits: bits.view(np.float64) >= 1 / 3, np.zeros(1, dtype=np.int64), one)
    assert found.view(np.float64)[0] == 1 / 3


def test_each_search_looks_about_as_often_as_there_are_binary_digits() -> None:
    asked: list[int] = []

    def holds(x: int) -> bool:
        asked.append(x)
        return x >= 777

    assert first_true(holds, 0, 1024) == 777
    assert len(asked) <= 11


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
def test_without_an_end_no_double_is_left_between_the_two(threshold: float, one: float, other: float) -> None:
    low, threshold, high = sorted((one, threshold, other))
    if not low < threshold:
        return
    below, above = bisected(lambda x: x >= threshold, low, high)
    assert below < threshold == above
    assert np.nextafter(below, math.inf) == above


def test_an_interval_is_halved_so_many_times_or_until_it_is_short() -> None:
    def holds(x: float) -> bool:
        return x >= math.pi

    assert bisected(holds, 0.0, 8.0, steps=0) == (0.0, 8.0)
    assert bisected(holds, 0.0, 8.0, steps=3) == (3.0, 4.0)
    assert bisected(holds, 0.0, 8.0, close=1.0) == (3.0, 4.0)
    assert bisected(holds, 0.0, 8.0, steps=2, close=1.0) == (2.0, 4.0)
    assert bisected(holds, 5.0, 5.0) == (5.0, 5.0)


@pytest.mark.parametrize("steps", [0, 1, 5, 40])
def test_many_intervals_are_halved_as_each_alone(steps: int) -> None:
    thresholds, high = np.array([0.1, math.e, 7.9]), np.array([1.0, 4.0, 8.0])
    lower, upper = bisected_each(lambda x: x >= thresholds, np.zeros(3), high, steps)
    alone = [bisected(partial(operator.le, t), 0.0, end, steps) for t, end in zip(thresholds, high, strict=True)]
    assert_array_equal(np.stack([lower, upper], axis=1), alone)


SHAPES: dict[str, Callable[[Any], Any]] = {  # functions that rise through zero at 0
    "line": lambda x: x,
    "steep": lambda x: np.sinh(40 * x),
    "flat": np.cbrt,
    "cube": lambda x: x**3,
    "steps": lambda x: np.floor(8 * x) + 0.5,
}


@pytest.mark.parametrize("shape", SHAPES)
@given(
    roots=st.lists(st.floats(-1.5, 1.5), min_size=1, max_size=4),
    start=st.floats(-1, 1),
    scale=st.sampled_from([1e-6, 0.01, 1.0]),
    close=st.sampled_from([1e-12, 1e-3]),
)
def test_roots_are_bracketed_from_below(
    shape: str, roots: list[float], start: float, scale: float, close: float
) -> None:
    looks, zeros = 0, np.array(roots)

    def function(x: Any, some: Any) -> Any:
        nonlocal looks
        looks += 1
        return SHAPES[shape](x - zeros[some])

    size = len(roots)
    found = rising_roots(function, np.full(size, start), np.full(size, scale), -1.0, 1.0, np.full(size, close))
    assert looks <= ROOT_STEPS
    # Up to `close` below where the function becomes positive, or the end of the range that is nearest to it
    every = np.ones(size, dtype=bool)
    assert ((found == -1) | (function(found, every) <= 0)).all()
    above = np.minimum(found + 2 * close + 1e-15, 1)
    assert ((above == 1) | (function(above, every) >= 0)).all()


def test_a_root_takes_about_ten_looks() -> None:
    looks = []

    def quantile(x: Any, _: Any) -> Any:  # about as that of a chance, which rises by one per standard error, 0.05
        looks.append(float(x[0]))
        return (x - 0.3) / 0.05 + ((x - 0.3) / 0.2) ** 3

    (found,) = rising_roots(quantile, np.array([0.2]), np.array([0.05]), -1.0, 1.0, np.array([1e-9]))
    assert 0.3 - 1e-9 <= found <= 0.3
    assert len(looks) <= 12


EPSILON = 2.0**-52


def exact_deviance(observed: float, expected: float) -> float:
    with localcontext(prec=60):
        x, e = Decimal(observed), Decimal(expected)
        return float((x * (x / e).ln() if x else Decimal(0)) - x + e)


@given(st.floats(1e-3, 1e12), st.floats(-0.9, 9))
def test_the_deviance_keeps_its_digits_near_and_far(expected: float, excess: float) -> None:
    for observed in (expected * (1 + excess), expected * (1 + 1e-6 * excess), float(math.floor(expected))):
        # Of two roundings each: of the relative difference v, of the ratio's logarithm, and of the products.
        exact = exact_deviance(observed, expected)
        scale = exact if abs(observed - expected) < NEAR_EXPECTED * (observed + expected) else max(exact, expected)
        assert abs(float(deviance(observed, expected)) - exact) <= 16 * EPSILON * scale + 5e-324


def test_the_deviance_at_its_ends() -> None:
    assert deviance(np.array([0.0, 0.0, 3.0]), np.array([0.0, 5.0, 0.0])).tolist() == [0.0, 5.0, np.inf]
    assert deviance(7, 7) == 0


@pytest.mark.parametrize("n", [1, 2, 10, 15, 16, 17, 100, 1000])
def test_stirlings_remainder_is_what_is_left_of_a_factorial(n: int) -> None:
    with localcontext(prec=60):
        pi = Decimal("3.14159265358979323846264338327950288419716939937510")
        x = Decimal(n)
        left = Decimal(math.factorial(n)).ln() - x * x.ln() + x - (2 * pi * x).ln() / 2
    # Of small numbers it is a difference of numbers of the size of n ln n.
    assert abs(float(stirling_remainder(float(n))) - float(left)) <= 4 * EPSILON * max(1.0, n * math.log(n + 1))
    if n >= STIRLING_FROM:
        assert float(stirling_remainder(float(n))) == pytest.approx(float(left), rel=1e-14)


def test_tails_of_the_beta_distribution_are_numbers() -> None:
    # P(Bin(n, x) >= a) = I(x; a, n - a + 1), which differs from the Poisson tail by at most x (Le Cam).
    a, n, mean = (part.ravel() for part in np.meshgrid(np.arange(1.0, 61), [1.95e9, 2e9, 2.1e9], np.geomspace(1, 2e5)))
    x = mean / n
    for found in (beta_cdf(a, n - a + 1, x), beta_sf(n - a + 1, a, 1 - x)):
        # 1 - x is rounded by 2^-54, a relative error of the mean of n / mean 2^-54, and a change of the tail of at most
        # the change of the mean, n 2^-54.
        assert (np.abs(found - gammainc(a, mean)) <= x + 2e9 * 2.0**-53).all()
    assert math.isnan(float(beta_cdf(1.0, 1.0, math.nan)))
