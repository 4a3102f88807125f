r"""Whether two probabilities are equal, from two counts: exact tests that need neither p nor q.

*The sign test*, for two counts of the same reports. If both are equally likely, then of the reports that are in exactly
one of the two, each is in the first with probability one half.

*Barnard's test*, for counts of two groups, :math:`c_g \sim \text{Bin}(n_g, \phi)`. Tables are ordered by the score
statistic with pooled variance,

.. math:: z = \frac{c_1/n_1 - c_2/n_2}{\sqrt{\bar\phi (1 - \bar\phi)(1/n_1 + 1/n_2)}}, \qquad \bar\phi = \frac{c_1 +
   c_2}{n_1 + n_2},

and the p-value is the largest probability, over all :math:`\phi` that the design can lead to, of a table with a z at
least as large [1]_, [2]_; two-sided, twice that. *Fisher's test* asks for the same probability given
:math:`c_1 + c_2`. That needs no search, but leaves so few tables that the test hardly spends more than half of its
level in small groups [3]_.

.. [1] G. A. Barnard, "Significance tests for 2 x 2 tables", Biometrika 34 (1947), 123-138.
.. [2] S. Suissa, J. J. Shuster, "Exact unconditional sample sizes for the 2 x 2 binomial trial", J. Roy. Statist. Soc.
   A 148 (1985), 317-327.
.. [3] D. V. Mehrotra, I. S. F. Chan, R. L. Berger, "A cautionary note on exact unconditional inference for a difference
   between two independent binomial proportions", Biometrics 59 (2003), 441-450.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from warner.inference.binomial import at_least

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.arrays import Array, Numbers

MOST_PEOPLE = 50_000  # in two groups, up to which Barnard's test takes a fraction of a second
TIE = 1e-11  # a relative difference of statistics below this is rounding
STEP = 0.25  # standard errors of a probability between two at which a test is looked at
FAR = 9.0  # standard deviations beyond which nothing is left that matters
AT_ONCE = 32  # probabilities
POLISHED, REFINEMENTS = 3, 2  # around so many of the largest values on the grid, so many finer ones are laid
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


# Barnard's test


def barnard_test(
    first: float, second: float, n: tuple[float, float], lowest: float = 0.0, highest: float = 1.0
) -> float:
    """Give the exact p-value of equal probabilities between `lowest` and `highest`, of two whole counts.

    Examples
    --------
    All of two against none of two: if both say yes with probability x, that has probability x^2 (1 - x)^2, which is
    largest at 1/2. Two-sided, that counts twice.

    >>> round(barnard_test(2, 0, (2, 2)), 6)
    0.125
    >>> round(barnard_test(2, 0, (2, 2), lowest=0.75), 4)  # 2 * (3/16)^2
    0.0703
    """
    c1, c2, n1, n2 = (float(value) for value in (first, second, *n))
    if c1 * n2 == c2 * n1:
        return 1.0
    if c1 * n2 < c2 * n1:
        c1, c2, n1, n2 = c2, c1, n2, n1
    if n1 > n2:  # the outer sum goes over the smaller group: yes becomes no, and the groups change places
        c1, c2, n1, n2, lowest, highest = n2 - c2, n1 - c1, n2, n1, 1 - highest, 1 - lowest
    counts = np.arange(n1 + 1)
    score = float(_score(c1, c2, n1, n2))
    most = _largest_second(counts, n1, n2, score).astype(np.int64)
    first_of_all = int(np.searchsorted(most, 0))
    ways1, ways2 = (_log_ways(size) for size in (n1, n2))

    def chances(probabilities: Array) -> Array:
        # As rare as this table, that needs nothing farther out in either group.
        one, two = (_window(size, probabilities, FAR + score) for size in (n1, n2))
        one = slice(max(one.start, first_of_all), one.stop)
        at_most = _laws(ways2, two, n2, probabilities).cumsum(axis=-1)
        places = most[one] - two.start
        below = np.where(places >= 0, at_most[:, np.clip(places, 0, at_most.shape[-1] - 1)], 0.0)
        return np.asarray(np.vecdot(_laws(ways1, one, n1, probabilities), below))

    return min(1.0, 2 * _largest(chances, lowest, highest, n1 + n2))


def _log_ways(n: float) -> Array:
    return np.asarray(gammaln(n + 1) - gammaln(np.arange(n + 1) + 1) - gammaln(n - np.arange(n + 1) + 1))


def _window(n: float, probabilities: Array, deviations: float) -> slice:
    """Give the counts within so many standard deviations of what is expected."""
    mean, reach = n * probabilities, deviations * np.sqrt(n * probabilities * (1 - probabilities)) + 10
    return slice(max(math.floor((mean - reach).min()), 0), min(math.ceil((mean + reach).max()), int(n)) + 1)


def _laws(ways: Array, window: slice, n: float, probabilities: Array) -> Array:
    """Give the binomial probabilities of the counts of a window, a row for each probability."""
    x, p = np.arange(window.start, window.stop), probabilities[:, np.newaxis]
    return np.asarray(np.exp(ways[window] + xlogy(x, p) + xlog1py(n - x, -p)))


def _score(c1: Numbers, c2: Numbers, n1: float, n2: float) -> Numbers:
    pooled = (c1 + c2) / (n1 + n2)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = (c1 / n1 - c2 / n2) / np.sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n2))
    return np.where(pooled * (1 - pooled) > 0, score, 0.0)[()]


def _largest_second(counts: Array, n1: float, n2: float, observed: float) -> Array:
    """Give for each first count the largest second one whose score is as large as observed; -1 where there is none.

    The score falls with the second count as long as it is positive (Suissa and Shuster), so bisection finds it.
    """
    low, high = np.full(counts.size, -1.0), np.floor(counts * n2 / n1)
    while (low < high).any():
        middle = np.ceil((low + high) / 2)
        holds = _score(counts, middle, n1, n2) >= observed * (1 - TIE)
        low, high = np.where(holds, middle, low), np.where(holds, high, middle - 1)
    return low


def _largest(function: Callable[[Array], Array], low: float, high: float, n: float) -> float:
    """Find the largest value of a mixture of binomial probabilities: on a grid, then on finer ones at its best points.

    A function of this kind changes over a standard error of the probability, not faster; in the arc sine of its root
    that is 1 / (2 sqrt(n)) everywhere.
    """
    start, end = (math.asin(math.sqrt(min(max(x, 0.0), 1.0))) for x in (low, high))
    points = 2 + math.ceil((end - start) * 2 * math.sqrt(n) / STEP)
    grid = np.linspace(start, end, points)
    blocks = np.array_split(grid, math.ceil(points / AT_ONCE))
    values = np.concatenate([function(np.sin(block) ** 2) for block in blocks])
    best = float(values.max())
    width = (end - start) / (points - 1)
    for place in np.argsort(-values)[:POLISHED].tolist():
        angle, reach = float(grid[place]), width
        for _ in range(REFINEMENTS):
            finer = np.linspace(max(angle - reach, start), min(angle + reach, end), AT_ONCE + 1)
            around = function(np.sin(finer) ** 2)
            best, angle, reach = max(best, float(around.max())), float(finer[around.argmax()]), 2 * reach / AT_ONCE
    return best


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
