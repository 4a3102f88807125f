"""Special functions, against fifty digits of the decimal arithmetic of the standard library."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammainc

from warner.special import NEAR_EXPECTED, STIRLING_FROM, beta_cdf, beta_sf, deviance, stirling_remainder

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
