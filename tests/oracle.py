"""The estimators in exact rational arithmetic, straight from their definitions, for a handful of answers.

Slow and independent of the library: no threshold, no sorting. Every possible set of positive answers is tried, and
the one that satisfies the optimality conditions is returned.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from warner import RandomizedResponse

Shares = list[Fraction]


# Support: every answer has a count of its own among n reports, which need not be the sum of the counts


def unbiased(counts: Sequence[int], n: int, p: Fraction, q: Fraction) -> Shares:
    return [(Fraction(c, n) - q) / (p - q) for c in counts]


def rescaled(counts: Sequence[int], n: int, p: Fraction, q: Fraction) -> Shares:
    """Clip and rescale; where no share is positive, nothing tells the answers apart."""
    clipped = [max(share, Fraction(0)) for share in unbiased(counts, n, p, q)]
    if not any(clipped):
        return [Fraction(1, len(counts))] * len(counts)
    return [share / sum(clipped) for share in clipped]


def nearest(counts: Sequence[int], n: int, p: Fraction, q: Fraction) -> Shares:
    """Project: subtract one constant on the positive set; what is outside would be negative or zero."""
    raw = unbiased(counts, n, p, q)
    for positive in subsets(len(raw)):
        shift = (sum((raw[i] for i in positive), Fraction(0)) - 1) / len(positive)
        if all((raw[i] > shift) == (i in positive) for i in range(len(raw))):
            return [max(share - shift, Fraction(0)) for share in raw]
    raise AssertionError


# Randomized response: the counts sum to n


def probabilities(design: RandomizedResponse) -> tuple[Fraction, Fraction]:
    a, b = design.odds
    total = a + (design.k - 1) * b
    return Fraction(a, total), Fraction(b, total)


def inv(counts: Sequence[int], design: RandomizedResponse) -> Shares:
    return unbiased(counts, sum(counts), *probabilities(design))


def inv_n(counts: Sequence[int], design: RandomizedResponse) -> Shares:
    return rescaled(counts, sum(counts), *probabilities(design))


def inv_p(counts: Sequence[int], design: RandomizedResponse) -> Shares:
    return nearest(counts, sum(counts), *probabilities(design))


def growth(shares: Shares, counts: Sequence[int], design: RandomizedResponse) -> Shares:
    """Return the gradient g of the log-likelihood per report, scaled so that the sum of shares times g is one."""
    p, q = probabilities(design)
    n = sum(counts)
    ratios = [
        Fraction(c, n) / (q + (p - q) * share) if c else Fraction(0) for c, share in zip(counts, shares, strict=True)
    ]
    everything = sum(ratios, Fraction(0))
    return [q * everything + (p - q) * ratio for ratio in ratios]


def mle(counts: Sequence[int], design: RandomizedResponse) -> Shares:
    """Find the point where g is 1 on the positive answers and at most 1 elsewhere: there is no better one."""
    p, q = probabilities(design)
    for positive in subsets(len(counts)):
        # On a fixed positive set the reports must be fitted in proportion: q + (p-q) share = c/s * (1 - rest).
        s = sum(counts[i] for i in positive)
        if s == 0:
            continue
        fitted = 1 - (len(counts) - len(positive)) * q
        shares = [
            (Fraction(c, s) * fitted - q) / (p - q) if i in positive else Fraction(0) for i, c in enumerate(counts)
        ]
        if any(shares[i] <= 0 for i in positive):
            continue
        if any(c and q + (p - q) * share == 0 for c, share in zip(counts, shares, strict=True)):
            continue  # a likelihood of zero
        if all(g <= 1 for g in growth(shares, counts, design)):
            return shares
    # With p < q: the answers that were never reported, in equal shares.
    unseen = counts.count(0)
    shares = [Fraction(int(c == 0), unseen) for c in counts]
    assert all(g <= 1 for g in growth(shares, counts, design))
    return shares


def subsets(k: int) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(range(k), size) for size in range(1, k + 1))
