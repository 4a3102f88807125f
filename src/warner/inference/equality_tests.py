"""The sign test and Fisher's exact test: whether two probabilities are equal, for any number of reports.

Neither needs p or q.

*The sign test*, for two counts of the same reports. If both are equally likely, then of the reports that are in exactly
one of the two, each is in the first with probability one half.

*Fisher's test*, for the counts of two samples. Given their sum, the first is hypergeometric. That leaves so few tables
that the test hardly spends more than half of its level in small samples [1]_; Barnard's spends more (module
`exact_differences`).

.. [1] D. V. Mehrotra, I. S. F. Chan, R. L. Berger, "A cautionary note on exact unconditional inference for a difference
   between two independent binomial proportions", Biometrics 59 (2003), 441-450.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from warner.inference.binomial import at_least, log_binomial

if TYPE_CHECKING:
    from warner.arrays import Array, Numbers

TERMS_SUMMED = 10**5  # terms of a tail up to which they are summed; beyond, they are integrated
INTEGRAL_PANELS, PANEL_NODES = 60, 20  # of that integral, by Gauss and Legendre's rule in each panel


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
    if last <= TERMS_SUMMED:
        k = np.arange(last)
        ratios = (n1 - c1 - k) * (c2 - k) / ((c1 + k + 1) * (n2 - c2 + k + 1))
        return min(1.0, 2 * float(chance(np.asarray(0.0)) * (1 + ratios.cumprod().sum())))
    # Each term is an integral over one step around it, but for a part of the curvature: Euler and Maclaurin's formula.
    nodes, weights = np.polynomial.legendre.leggauss(PANEL_NODES)
    edges = np.linspace(-0.5, last + 0.5, INTEGRAL_PANELS + 1)
    half = (edges[1:] - edges[:-1]) / 2
    inside = (edges[1:] + edges[:-1])[:, np.newaxis] / 2 + half[:, np.newaxis] * nodes
    total = float((chance(inside) @ weights) @ half)
    slope = float(chance(np.asarray(0.0)) - chance(np.asarray(-1.0)))
    return min(1.0, 2 * (total + slope / 24))
