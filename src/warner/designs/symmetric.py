r"""Symmetric designs: reports support sets of answers, each supported one a : b times likelier than each other one.

Randomized response is the case of sets with one member. All of them share the closed forms, the intervals of single
answers and the law of weighted support below: they follow from p, q and the law of pairs alone.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from warner.designs.contract import LARGEST_CHANNEL, Design
from warner.designs.facts import (
    Bounds,
    ChannelOperator,
    Fuzzy,
    Readout,
    Sums,
    Symmetry,
    contrast_moments,
    sizes_of,
    summed,
)

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers, Mask, Sets, Size
    from warner.designs.facts import Estimand


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

    def reported(self, shares: Array) -> Array:
        """Give q + (p - q) share for each answer."""
        return np.asarray(self.q * shares.sum(axis=-1, keepdims=True) + self.symmetry.gain * shares)

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

    def draw_counts(self, shares: Array, n: int, *, rng: np.random.Generator, size: Size = None) -> Integers:
        """Draw counts of n people who are a sample of a population: multinomial where each report is counted once."""
        if not self.exclusive:
            return super().draw_counts(shares, n, rng=rng, size=size)
        reported = self.q + self.symmetry.gain * shares
        return rng.multinomial(n, reported / reported.sum(), size=size)

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
                self._table if self.k <= LARGEST_CHANNEL else None,
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

    def readout_of(self, estimand: Estimand, counts: Counts, n: Array, histogram: Counts | None = None) -> Readout:
        """Say how shares show in the counts: binomially for an answer, for all but one, and where reports count once.

        For any weights w of the answers that sum to zero, with W2 the sum of their squares, the weighted support t of
        a report depends on the answer x that is held through w_x alone:

            E t   = (p-q) w_x
            E t^2 = q W2 + (p-q) w_x^2 - neither W2 - 2 (both - neither) w_x^2

        A set of m answers has the weights 1 - m/K inside and -m/K outside: that its share and the rest are one is used,
        which makes the variance that of the noise in m (1 - m/K) answers. It grows with m up to the half of all.
        """
        sets, minus, target = estimand
        q, gain = self.q, self.symmetry.gain
        if sets is None:
            return Readout(counts, n, q, gain, np.True_)  # the counts as they are: equal ones stay equal
        if isinstance(sets, Fuzzy):
            return self._fuzzy(counts, n, sets, target, histogram)
        sizes = sizes_of(sets)
        count = summed(counts, sets).astype(np.float64)
        everything = counts.sum(axis=-1, keepdims=True).astype(np.float64)
        # A report is in the set or not: where it counts once, of one answer, and of all but one.
        but_one = (sizes == self.k - 1) & (sizes > 1) & (not self.exclusive)
        binomial = np.asarray((self.exclusive | (sizes == 1) | but_one) & (minus is None))
        counted = np.where(but_one, n - everything + count, count)
        base = np.asarray(np.where(but_one, 1 - self.p, sizes * q), dtype=np.float64)
        if binomial.all():
            return Readout(counted, n, base, gain, np.True_)
        share, variance = self._linear(counts, n, sets, minus, target, histogram)
        error = np.sqrt(np.maximum(variance, 0) / n) / abs(gain)
        scores = self._scores(sizes) if minus is None else None
        return Readout(counted, n, base, gain, binomial).else_scores(n, share, error, scores)

    def _linear(
        self, counts: Counts, n: Array, sets: Sets, minus: Sets | None, target: str, histogram: Counts | None
    ) -> tuple[Array, Array]:
        """Give unbiased shares of sets, less those of `minus`, and the variance of one report's weighted support."""
        gain = self.symmetry.gain
        sizes = sizes_of(sets)
        count = summed(counts, sets).astype(np.float64)
        everything = counts.sum(axis=-1, keepdims=True).astype(np.float64)
        other = np.zeros_like(count) if minus is None else summed(counts, minus).astype(np.float64)
        others = np.zeros_like(sizes) if minus is None else sizes_of(minus)
        level = (sizes - others) / self.k
        share = level + (count - other - level * everything) / (n * gain)
        # Those who hold an answer of either set, with one report more, which supports half of the answers
        first, second = (
            np.clip(m / self.k + (c - m / self.k * everything) / ((n + 1) * gain), 0, 1)
            for c, m in ((count, sizes), (other, others))
        )
        mean, square = contrast_moments(first, second, level)
        if target == "population":
            return share, self._variance(sets, minus, mean, square, n, histogram)
        return share, self._noise(sets, minus, square, counts, n)  # without the chance in who was asked

    def _fuzzy(self, counts: Counts, n: Array, sets: Fuzzy, target: str, histogram: Counts | None) -> Readout:
        """Say how the shares of fuzzy sets show: by the weights u - mean(u), whose sum is zero; see `readout_of`."""
        level = sets.memberships.mean(axis=-1)
        weights = sets.memberships - level[:, np.newaxis]
        least, most = weights.min(axis=-1), weights.max(axis=-1)
        gain = self.symmetry.gain
        share = level + counts @ weights.T / (n * gain)
        # Mean and mean square of the weights among the people, with one report more, which supports half of the answers
        mean = np.clip(counts @ weights.T / ((n + 1) * gain), least, most)
        squares = weights**2
        average = squares.mean(axis=-1)
        square = average + counts @ (squares - average[:, np.newaxis]).T / ((n + 1) * gain)
        square = np.clip(square, mean**2, squares.max(axis=-1))
        if target == "population":
            variance = self._variance(sets, None, mean, square, n, histogram)
        else:
            variance = self._noise(sets, None, square, counts, n)
        # One report supports so many answers at most: the sums of the largest and of the smallest weights bound it.
        ordered = np.sort(weights, axis=-1)
        if self.supported is None:
            lowest, highest = np.minimum(ordered, 0).sum(axis=-1), np.maximum(ordered, 0).sum(axis=-1)
        else:
            lowest, highest = ordered[:, : self.supported].sum(axis=-1), ordered[:, -self.supported :].sum(axis=-1)
        ends = level + lowest / gain, level + highest / gain
        return Readout(
            n * share,
            n,
            0.0,
            1.0,
            np.zeros(len(sets), dtype=bool),
            np.sqrt(np.maximum(variance, 0) / n) / abs(gain),
            (np.minimum(*ends), np.maximum(*ends)),
        )

    def mean_squares(self, memberships: Array) -> Array:
        """Give the mean square of the score of a report given each answer, by the law of pairs; see `readout_of`."""
        weights = memberships - memberships.mean()
        sets = Fuzzy(memberships[np.newaxis])
        variance = Symmetric._variance(self, sets, None, weights, weights**2, np.ones(1), None)
        return np.asarray(variance / self.symmetry.gain**2 + memberships**2)

    def _scores(self, sizes: Integers) -> tuple[Array, Array]:
        """Bound the score of one report for a set of m answers: m/K + (support inside - m/K of all) / (p - q)."""
        level, s = sizes / self.k, self.supported
        if s is None:  # at most all answers of the set and no other, at least all others alone
            most = sizes * (1 - level)
            least = -most
        else:
            least, most = np.maximum(s + sizes - self.k, 0) - level * s, np.minimum(s, sizes) - level * s
        ends = level + least / self.symmetry.gain, level + most / self.symmetry.gain
        return np.minimum(*ends), np.maximum(*ends)

    def _variance(
        self, sets: Sets, minus: Sets | None, mean: Array, square: Array, n: Array, histogram: Counts | None
    ) -> Array:
        """Give the variance of the weighted support of one report: see `readout_of`.

        `mean` and `square` are those of the weights among the people, of shape (groups, sets).
        """
        q, gain = self.q, self.symmetry.gain
        both, neither = float(self.symmetry.both), float(self.symmetry.neither)
        sizes, others = sizes_of(sets), 0 if minus is None else sizes_of(minus)
        members = (sets.memberships**2).sum(axis=-1) if isinstance(sets, Fuzzy) else sizes
        squares = members + others - (sizes - others) ** 2 / self.k
        variance: Array = (q - neither) * squares + (gain - 2 * (both - neither)) * square - (gain * mean) ** 2
        return variance

    def _noise(self, sets: Sets, minus: Sets | None, square: Array, counts: Counts, n: Array) -> Array:
        """Give the variance of the weighted support of one report given the answer, on average over the people.

        That is E t^2 - (E t)^2 of `readout_of` for each answer, and never a difference of two estimates: with little
        noise these would cancel. `square` is the mean square of the weights among the people, of shape (groups, sets).
        """
        return self._variance(sets, minus, np.sqrt(square), square, n, None)
