"""Whether two probabilities are equal, from two counts: exact tests that need neither p nor q, for any number of them.

*The sign test*, for two counts of the same reports. If both are equally likely, then of the reports that are in exactly
one of the two, each is in the first with probability one half.

*Fisher's test*, for the counts of two samples. Given their sum, the first is hypergeometric. That leaves so few tables
that the test hardly spends more than half of its level in small samples [1]_; Barnard's (`unconditional`) spends more.

.. [1] D. V. Mehrotra, I. S. F. Chan, R. L. Berger, "A cautionary note on exact unconditional inference for a difference
   between two independent binomial proportions", Biometrics 59 (2003), 441-450.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from warner.inference.binomial import at_least

if TYPE_CHECKING:
    from warner.arrays import Array, Numbers

SUMMED = 10**5  # terms of a tail up to which they are summed; beyond, they are integrated
PANELS, NODES = 60, 20  # of that integral


def sign_tail(first: Numbers, second: Numbers) -> Array:
    """Give P(Bin(first + second, 1/2) >= first): how far the first exceeds the second by chance alone.

    >>> float(sign_tail(4.0, 1.0))  # (5 + 1) / 32
    0.1875
    """
    return at_least(first, first + second, 0.5)


def sign_test(first: Numbers, second: Numbers) -> Numbers:
    """Give the two-sided p-value of the sign test, twice the smaller tail."""
    return np.minimum(1, 2 * np.minimum(sign_tail(first, second), sign_tail(second, first)))[()]


# Fisher's test


def fisher_test(first: float, second: float, n: tuple[float, float]) -> float:
    """Give Fisher's exact p-value of equal probabilities, twice the smaller tail of the hypergeometric law.

    >>> round(fisher_test(2, 0, (2, 2)), 6)  # one of six ways to choose two of four
    0.333333
    """
    c1, c2, n1, n2 = (float(value) for value in (first, second, *n))
    if c1 * n2 < c2 * n1:  # count the tail on the far side of the expected value
        c1, c2, n1, n2 = c2, c1, n2, n1
    together = c1 + c2
    share = together / (n1 + n2)
    if not 0 < share < 1:
        return 1.0

    def chance(steps: Numbers) -> Numbers:
        logs = log_binomial(c1 + steps, n1, share) + log_binomial(c2 - steps, n2, share)
        return np.exp(logs - log_binomial(np.asarray(together), n1 + n2, share))

    # Beyond twelve standard deviations, each at most sqrt(c1 + c2) / 2, nothing is left that a double could hold.
    last = min(n1 - c1, c2, 6 * math.sqrt(together) + 100)
    if last <= SUMMED:
        k = np.arange(last)
        ratios = (n1 - c1 - k) * (c2 - k) / ((c1 + k + 1) * (n2 - c2 + k + 1))
        return min(1.0, 2 * float(chance(np.asarray(0.0)) * (1 + ratios.cumprod().sum())))
    # Each term is an integral over one step around it, but for a part of the curvature: Euler and Maclaurin's formula.
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    edges = np.linspace(-0.5, last + 0.5, PANELS + 1)
    half = (edges[1:] - edges[:-1]) / 2
    inside = (edges[1:] + edges[:-1])[:, np.newaxis] / 2 + half[:, np.newaxis] * nodes
    total = float((chance(inside) @ weights) @ half)
    slope = float(chance(np.asarray(0.0)) - chance(np.asarray(-1.0)))
    return min(1.0, 2 * (total + slope / 24))


# Probabilities of many reports, in which nothing cancels


def log_binomial(x: Array, n: float, p: float) -> Array:
    r"""Give :math:`\ln P(\text{Bin}(n, p) = x)`, to all digits for any n, as Loader does.

    With Stirling's formula, :math:`\ln n! = n \ln n - n + \tfrac12 \ln 2\pi n + S(n)`, it is :math:`S(n) - S(x) -
    S(n-x) - D(x, np) - D(n-x, n(1-p)) + \tfrac12 \ln \frac{n}{2\pi x(n-x)}`, D being the deviance.

    >>> round(float(np.exp(log_binomial(np.array(2.0), 4.0, 0.5))), 9)
    0.375
    """
    x = np.asarray(x, dtype=np.float64)
    if not 0 < p < 1:
        return np.where(x == n * p, 0.0, -np.inf)
    inside = (x > 0) & (x < n)
    y = np.where(inside, x, n / 2)
    with np.errstate(divide="ignore"):
        logs = _stirling_error(np.asarray(n)) - _stirling_error(y) - _stirling_error(n - y)
        logs = logs - _deviance(y, n * p) - _deviance(n - y, n * (1 - p))
        logs = logs + 0.5 * np.log(n / (2 * math.pi * y * (n - y)))
    edge = np.where(x == 0, n * math.log1p(-p), np.where(x == n, n * math.log(p), -np.inf))
    return np.where(inside, logs, edge)


def _stirling_error(n: Array) -> Array:
    """Give what Stirling's formula leaves of ln n!: by its series from 16 on."""
    m = np.maximum(n, 16.0)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / (1188 * m**2)) / m**2) / m**2) / m**2) / m
    small = np.clip(n, 1e-300, 16.0)
    direct = gammaln(small + 1) - (small + 0.5) * np.log(small) + small - 0.5 * math.log(2 * math.pi)
    return np.asarray(np.where(n >= 16, series, direct))


def _deviance(x: Array, expected: float) -> Array:
    """Give x ln(x/e) + e - x; where the two are close, by a series in v = (x - e) / (x + e)."""
    v = (x - expected) / (x + expected)
    series = np.zeros_like(v)
    for power in range(17, 1, -2):
        series = (series + 1 / power) * v**2
    close = (x - expected) * v + 2 * x * v * series
    return np.asarray(np.where(np.abs(v) < 0.1, close, x * np.log(x / expected) + expected - x))
