r"""Designs whose reports support sets of answers, each supported one a : b times likelier than each other one.

Randomized response is the case of sets with one member. All of them share the closed forms, the intervals of single
answers and the law of weighted support below: they follow from p, q and the law of pairs alone.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from warner.designs.contract import CHANNEL_LIMIT, Design
from warner.designs.facts import Bounds, ChannelOperator, Readout, Sums, Symmetry, sizes_of, summed

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers, Mask, Sets


class Symmetric(Design):
    """A design whose reports support sets of answers, each supported one a : b times likelier than each other one.

    The likelihood of answer i after a report with support S is in proportion to a if i is in S, to b if not: that is
    epsilon, and the whole law. What is counted is how often each answer was supported.

    Attributes
    ----------
    odds : tuple of int
        ``(a, b)`` in lowest terms.
    """

    odds: tuple[int, int]

    @property
    @abstractmethod
    def symmetry(self) -> Symmetry:
        """The probabilities that a report supports the answer that is held, and another one."""

    @abstractmethod
    def supports(self, reports: Counts) -> Mask:
        """Give for each report, a row each, which answers it supports."""

    @property
    def ratio(self) -> tuple[int, int]:
        """The smaller and the larger of the odds."""
        a, b = sorted(self.odds)
        return a, b

    @property
    def p(self) -> float:
        """The probability that a report supports the answer that is held."""
        return self.symmetry.p

    @property
    def q(self) -> float:
        """The probability that a report supports a given answer that is not held."""
        return self.symmetry.q

    def counted(
        self, reports: Counts, amounts: Counts | None = None, *, group: Integers | None = None, groups: int = 1
    ) -> Sums:
        """Count how often each answer was supported, and the reports; see `Design.counted`."""
        if self.exclusive:  # then a report is the answer that it supports
            return super().counted(reports, amounts, group=group, groups=groups)
        kind = np.int64 if amounts is None else amounts.dtype
        counts, n = np.zeros((groups, self.k), dtype=kind), np.zeros(groups, dtype=kind)
        step = max(1, 2**22 // self.k)
        for start in range(0, len(reports), step):
            part = slice(start, start + step)
            support = self.supports(reports[part])
            weight = np.ones(len(support), dtype=kind) if amounts is None else amounts[part]
            place = np.zeros(len(support), dtype=np.int64) if group is None else group[part]
            np.add.at(n, place, weight)
            if group is None:
                counts[0] += weight @ support
            else:
                order = np.argsort(place, kind="stable")
                present, first = np.unique(place[order], return_index=True)
                counts[present] += np.add.reduceat(support[order] * weight[order, np.newaxis], first, axis=0)
        return Sums(counts[0], n[0]) if group is None else Sums(counts, n)

    def bounds(self) -> Bounds:
        """Give p and q in their order; of counts that sum to n, one side implies the other."""
        p, q = self.p, self.q
        if not self.exclusive:
            return Bounds(min(p, q), max(p, q))
        return Bounds(q, None) if p > q else Bounds(None, q)

    def leverage(self) -> float:
        """Give 1 / |p - q|: a report more or less of an answer is worth so much of its share."""
        a, b, total = self.symmetry[:3]
        return total / abs(a - b) if a != b else math.inf

    def operator(self, reports: Counts | None = None) -> ChannelOperator:
        """Give the likelihoods: b for every answer, and a - b more for those that a report supports.

        Without reports, of exclusive designs, the channel itself, without a matrix: q for all, and p - q more for one.
        """
        if reports is None and self.exclusive:
            q, gain = self.q, self.symmetry.gain
            return ChannelOperator(
                (self.k, self.k),
                lambda x: q * x.sum(axis=-1, keepdims=True) + gain * x,
                lambda w: q * w.sum(axis=-1, keepdims=True) + gain * w,
                self._table if self.k <= CHANNEL_LIMIT else None,
                lambda w: gain**2 * w,
            )
        if reports is None:
            raise ValueError(
                f"a {self.mechanism} counts support, of which the likelihood is not known; give the reports themselves"
            )
        a, b = (float(part) / max(self.odds) for part in self.odds)
        support = self.supports(reports)
        weights = support.astype(np.float64)
        return ChannelOperator(
            (self.k, len(support)),
            lambda x: b * x.sum(axis=-1, keepdims=True) + (a - b) * (x @ weights.T),
            lambda w: b * w.sum(axis=-1, keepdims=True) + (a - b) * (w @ weights),
            lambda: np.where(support.T, a, b),
            lambda w: (a - b) ** 2 * (w @ weights),
        )

    def _table(self) -> Array:
        table = np.full((self.k, self.k), self.q)
        np.fill_diagonal(table, self.p)
        return table

    def readout(
        self,
        counts: Counts,
        n: Array,
        sets: Sets | None = None,
        *,
        minus: Sets | None = None,
        target: str = "population",
        histogram: Counts | None = None,
    ) -> Readout:
        """Say how shares show in the counts: binomially for an answer, and for a set where each report counts once.

        For any weights w of the answers, with W1 their sum and W2 that of their squares, the weighted support t of a
        report depends on the answer x that is held through w_x alone:

            E t   = q W1 + (p-q) w_x
            E t^2 = q W2 + (p-q) w_x^2 + neither (W1^2 - W2) + 2 (both - neither) w_x (W1 - w_x)
        """
        q, gain = self.q, self.symmetry.gain
        if sets is None:
            return Readout(counts, n, q, gain, np.True_)  # the counts as they are: equal ones stay equal
        sizes = sizes_of(sets)
        count = summed(counts, sets).astype(np.float64)
        binomial = np.asarray((self.exclusive | (sizes == 1)) & (minus is None))  # a report is in the set or not
        if binomial.all():
            return Readout(count, n, np.asarray(sizes * q, dtype=np.float64), gain, np.True_)
        other = np.zeros_like(count) if minus is None else summed(counts, minus).astype(np.float64)
        others = np.zeros_like(sizes) if minus is None else sizes_of(minus)
        score = (count - other - n * (sizes - others) * q) / gain
        both, neither = float(self.symmetry.both), float(self.symmetry.neither)
        # Those who hold an answer of either set, with half a report more for each answer.
        first, second = (
            np.clip(((c + m / 2) / (n + 1) - m * q) / gain, 0, 1) for c, m in ((count, sizes), (other, others))
        )
        balance, squares = sizes - others, sizes + others

        def law(weight: int) -> tuple[Array, Array]:
            mean = np.asarray(q * balance + gain * weight, dtype=np.float64)
            square = q * squares + gain * weight**2 + neither * (balance**2 - squares)
            return mean, square + 2 * (both - neither) * weight * (balance - weight)

        held = (first, second, np.maximum(1 - first - second, 0))
        laws = [law(weight) for weight in (1, -1, 0)]
        if target == "population":
            means, squares_held = (sum(s * law[place] for s, law in zip(held, laws, strict=True)) for place in (0, 1))
            variance = squares_held - means**2
        else:
            variance = sum(share * (square - mean**2) for share, (mean, square) in zip(held, laws, strict=True))
        error = np.sqrt(np.maximum(variance, 0) / n) / abs(gain)
        return Readout(
            np.where(binomial, count, score),
            n,
            np.where(binomial, sizes * q, 0.0),
            np.where(binomial, gain, 1.0),
            binomial,
            np.asarray(error),
        )
