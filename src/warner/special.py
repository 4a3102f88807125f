r"""Special functions that SciPy lacks: Stirling's remainder, an exact deviance, and beta tails that are never NaN.

`scipy.special.kl_div` is the same deviance, but loses its digits by cancellation: of the counts 1e9 and 1e9 + 1 it
returns 0 instead of 5e-10. Stirling's remainder is not in SciPy, and its beta tails are NaN at isolated values.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc, betaincc, gammaln, xlogy

from warner.arrays import SMALLEST

if TYPE_CHECKING:
    from warner.arrays import Array, Numbers

STIRLING_FROM = 16.0  # the argument from which five terms of Stirling's series are exact to rounding
NEAR_EXPECTED = 0.1  # (x - e) / (x + e) up to which eight terms of the deviance's series are


def stirling_remainder(x: Numbers) -> Array:
    r"""Give what Stirling's formula leaves of a factorial: S(x) in :math:`\ln x! = x \ln x - x + \ln(2\pi x)/2 + S(x)`.

    It is :math:`\frac{1}{12x} - \frac{1}{360x^3} + \ldots`, for x > 0.

    >>> float(stirling_remainder(1.0).round(6))  # 0! = 1! = 1: 1 - ln(2 pi) / 2
    0.081061
    """
    large, few = np.maximum(x, STIRLING_FROM), np.minimum(np.maximum(x, SMALLEST), STIRLING_FROM)
    square = 1 / large**2
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))) / large
    direct = gammaln(few + 1) - (few + 0.5) * np.log(few) + few - 0.5 * math.log(2 * math.pi)
    return np.asarray(np.where(x >= STIRLING_FROM, series, direct))


def deviance(observed: Numbers, expected: Numbers) -> Array:
    r"""Give :math:`x \ln(x/e) - x + e` of an observed count x and an expected one e: at least 0, and 0 if they meet.

    Where the two are close, by a series in :math:`v = (x-e)/(x+e)`, as Loader does: :math:`(x-e) v + 2x (v^3/3 + v^5/5
    + \ldots)` [1]_. Infinite where what cannot be, was.

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
        far = xlogy(observed, observed / expected) - apart
    return np.asarray(np.where(np.abs(v) < NEAR_EXPECTED, apart * v + 2 * observed * v * series, far))


def beta_cdf(a: Numbers, b: Numbers, x: Numbers) -> Array:
    """Distribution function of the beta distribution.

    SciPy 1.17 returns NaN for a = 39 and many whole b from 1.95e9 to 2^31, where the other tail is 1e-280 or less.

    >>> float(beta_cdf(2.0, 1.0, 0.5)), float(beta_cdf(39.0, 1944327220.0, 1e-3))
    (0.25, 1.0)
    """
    tail: Array = betainc(a, b, x)
    return np.where(np.isnan(tail), 1 - betaincc(a, b, x), tail) if np.isnan(tail).any() else tail


def beta_sf(a: Numbers, b: Numbers, x: Numbers) -> Array:
    """Survival function of the beta distribution, the other tail of `beta_cdf`."""
    tail: Array = betaincc(a, b, x)
    return np.where(np.isnan(tail), 1 - betainc(a, b, x), tail) if np.isnan(tail).any() else tail
