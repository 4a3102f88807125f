r"""Rivals for the distribution of a number: EM with smoothing (EMS), and hierarchical histograms repaired by ADMM.

Both as Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, B. Škorić and N. Li describe them ("Estimating numerical distributions
under local differential privacy", SIGMOD 2020), restated here.

*EMS* takes reports of a square wave. A step of expectation and maximization is followed by a filter with the weights
1/4, 1/2 and 1/4 over neighbors, and all ends when the log-likelihood changes by less than :math:`10^{-3}`.

*HH-ADMM* takes other reports: people are shared out among the levels of a tree of ever finer brackets, and those of
each level report their bracket by optimal unary encoding. The histograms of all levels are then moved to the nearest
ones that agree with each other and are distributions, by the alternating direction method of multipliers.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.arrays import SMALLEST
from warner.estimators.projections import projected

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers
    from warner.designs.facts import ChannelOperator

EMS_TOLERANCE = 1e-3  # nats between two steps, for any sample size
EMS_STEPS = 10_000
FILTER = (0.25, 0.5, 0.25)
BRANCHING = 4  # brackets that each bracket of a hierarchy is divided into
ADMM_ROUNDS = 300


def em_smoothed(counts: Counts, operator: ChannelOperator) -> Array:
    """Estimate shares by EM with smoothing, from equal shares on."""
    k = operator.shape[0]
    shares, before = np.full(k, 1 / k), -math.inf
    weights = np.convolve(np.ones(k), FILTER)[1:-1]  # at both ends a neighbor is missing
    for _ in range(EMS_STEPS):
        expected = np.maximum(operator.forward(shares), SMALLEST)
        value = float(counts @ np.log(expected))
        if abs(value - before) < EMS_TOLERANCE:
            break
        before = value
        shares = shares * operator.adjoint(counts / expected)
        shares = np.convolve(shares / shares.sum(), FILTER)[1:-1] / weights
        shares /= shares.sum()
    return shares


class Tree(NamedTuple):
    """The numbers of brackets on each level, and the projection of all their histograms onto those that agree."""

    sizes: tuple[int, ...]
    projection: Array

    def levels(self, values: Array) -> list[Array]:
        """Split the histograms of all levels."""
        return np.split(values, np.cumsum(self.sizes)[:-1])


@lru_cache(4)
def tree(k: int) -> Tree:
    """Return the tree over K answers, which must be a power of the branching."""
    sizes = [BRANCHING]
    while sizes[-1] < k:
        sizes.append(sizes[-1] * BRANCHING)
    if sizes[-1] != k:
        raise ValueError(f"a hierarchy must have a power of {BRANCHING} answers, but got {k}")
    added = np.vstack([np.kron(np.eye(size), np.ones(k // size)) for size in sizes])
    return Tree(tuple(sizes), added @ np.linalg.pinv(added))


def hierarchical_reports(people: Integers, epsilon: float, *, rng: np.random.Generator) -> Array:
    """Draw the unbiased histograms of all levels, one after the other, from people who are shared out among them."""
    k, left = len(people), people.copy()
    sizes = tree(k).sizes
    q = 1 / (math.exp(epsilon) + 1)
    histograms = []
    for place, size in enumerate(sizes):
        number = int(left.sum()) // (len(sizes) - place)
        drawn = rng.multivariate_hypergeometric(left, number, method="marginals")
        left = left - drawn
        within = drawn.reshape(size, -1).sum(axis=1)
        support = rng.binomial(within, 0.5) + rng.binomial(number - within, q)
        histograms.append((support / number - q) / (0.5 - q))
    return np.concatenate(histograms)


def nearest_hierarchy(noisy: Array, k: int) -> Array:
    """Return the shares of the finest level of the nearest histograms that agree and are distributions, by ADMM."""
    brackets = tree(k)
    x, agreeing, valid = noisy.copy(), np.zeros_like(noisy), np.zeros_like(noisy)
    for _ in range(ADMM_ROUNDS):
        first = brackets.projection @ (x + agreeing)
        second = np.concatenate([projected(part[np.newaxis])[0] for part in brackets.levels(x + valid)])
        x = (noisy + (first - agreeing) + (second - valid)) / 3
        agreeing, valid = agreeing + x - first, valid + x - second
    return brackets.levels(second)[-1]
