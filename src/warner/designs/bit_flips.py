r"""Bit flips (dBitFlipPM): each respondent is asked about some of the answers only, with a bit for each of them [1]_.

Of the K answers, d are drawn uniformly for a respondent. For each of these *covered* answers a bit says whether it is
the true answer, and is flipped with probability q = t/(s+t): it is right with p = s/(s+t). A report consists of the
covered answers and their bits. After it an answer is likely in proportion to

.. math:: s^2 \text{ if its bit is 1}, \quad s\,t \text{ if it was not asked about}, \quad t^2 \text{ if its bit is 0},

three levels, so that a report supports no set of answers. A report with a bit of 1 and a bit of 0 reveals the most:
:math:`\varepsilon = 2 \ln(s/t)`. With d = 1 there is one bit, and :math:`\varepsilon = \ln(s/t)`. With d = K it is a
symmetric unary encoding.

A tally counts ones and zeros of each answer. Of the :math:`n_i` reports that cover answer i, :math:`c_i \sim
\mathrm{Bin}(n_i, q + (p-q)\theta_i)` have a bit of 1, because coverage does not depend on the answer. So the unbiased
share is :math:`(c_i/n_i - q)/(p-q)`. About d/K of the n reports cover an answer, and the variance of a share of 0 is

.. math:: \frac{K}{d\,n} \cdot \frac{q(1-q)}{(p-q)^2} = \frac{K}{d\,n} \cdot \frac{s\,t}{(s-t)^2},

K/d times that of the unary encoding. Sets of answers, differences and means are averages over all n reports of the
scores :math:`\frac{K}{d} \sum_i w_i (b_i - q)/(p-q)`, with the sum over the answers asked about, their bits b, and
weights w of all answers that sum to zero. Given the answer x that is held, their mean is :math:`w_x`, and their mean
square

.. math:: \frac{K}{d} \left( \frac{q(1-q)}{(p-q)^2} \sum_i w_i^2 + w_x^2 \right).

A worked number: 2 of 4 answers, bits at odds 3 : 1. Then p = 3/4 and q = 1/4, epsilon is ln 9, and one report leaves a
variance of 4/2 * (3/16) / (1/4) = 3/2 in a share of 0.

References
----------
.. [1] B. Ding, J. Kulkarni, S. Yekhanin, "Collecting telemetry data privately", Advances in Neural Information
   Processing Systems 30 (2017), 3571-3580.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.designs.bits import Incidence, bit_sums
from warner.designs.contract import LARGEST_CHANNEL
from warner.designs.draws import Compared, RandomBytes, bernoulli, in_batches, selection, selections
from warner.designs.exact import Number, Odds, refuse_wide
from warner.designs.facts import (
    NOBODY,
    ChannelOperator,
    Counted,
    LinearCombination,
    ProbabilityBounds,
    SamplingModel,
    Symmetry,
    sizes_of,
    summed,
)
from warner.designs.labels import Domain, Labels, first_and_last
from warner.designs.law import once_per_design
from warner.designs.report_forms import AskedBitForm
from warner.designs.symmetric import Budget, FromOdds, NumberReader, SymmetricEstimator, SymmetricLaw, centered_squares

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers, Mask, Sets

ASKED_AT_ONCE = 2**23  # respondents times answers that are drawn together


@dataclass(frozen=True, init=False, repr=False)
class BitFlips(FromOdds):
    r"""Ask each respondent about some of the answers only, and report a noisy bit for each of them: dBitFlipPM.

    Parameters
    ----------
    domain : int or sequence of str or of int
        The possible answers, all distinct, in the order of every result; or their number K.
    epsilon : number, optional
        The most that one report may reveal, in nats, from 1e-9 to 40. The design never spends more.
    odds : pair of numbers or str, optional
        Instead of epsilon: those of a single bit, ``(s, t)`` with s > t: right against flipped.
    size : int, optional
        Number of answers that each respondent is asked about, d. If not given, the number with the smallest variance:
        all K or, of few answers, one.

    Attributes
    ----------
    domain : tuple or range
        The labels; consecutive integers are held as a range.
    odds : tuple of int
        ``(s, t)`` in lowest terms.
    size : int
        The number of answers that each respondent is asked about.

    Notes
    -----
    The answers that a person is asked about, and the bits, are drawn anew at each report. `Memoized.bit_flips` keeps
    both, for people who are asked again.

    Examples
    --------
    >>> survey = BitFlips(["a", "b", "c", "d"], odds=(3, 1), size=2)
    >>> survey
    <BitFlips of 2 among 4 answers ('a', 'b', 'c', 'd'): a bit is right 0.75, epsilon 2.198>
    >>> survey.symmetry.variance_of_absent
    Fraction(3, 2)
    >>> BitFlips(1000, epsilon=1, size=16).report_form.bits < 160
    True
    """

    domain: Labels
    odds: tuple[int, int]
    size: int

    mechanism = "bit flips"
    parameters = ("epsilon", "odds", "size")
    _retained_names = ("size",)
    field_names = frozenset({"domain", "odds", "size"})

    @property
    def law(self) -> BitFlipsLaw:
        return BitFlipsLaw(self)

    def __init__(
        self, domain: Domain, *, epsilon: Number | None = None, odds: Odds | None = None, size: Number | None = None
    ) -> None:
        super().__init__(domain, epsilon=epsilon, odds=odds, size=size)

    @classmethod
    def _numbers(cls, k: int, number: NumberReader) -> dict[str, Any]:
        return {"size": number("size", 1, k, "the number of answers")}

    @classmethod
    def _best(cls, k: int, budget: Budget, *, size: int | None = None) -> dict[str, Any]:
        def for_size(d: int) -> dict[str, Any]:
            return {"odds": budget.odds_within(k, lambda s, t: s + t, root=min(d, 2)), "size": d}

        if size is not None:
            return for_size(size)
        if budget.odds is not None:  # with the bits as they are, it is best to ask about all answers
            return for_size(k)
        return min((for_size(k), for_size(1)), key=lambda made: _symmetry(k, **made).variance_of_absent)

    def _check(self) -> None:
        s, t = self.odds
        if not s > t > 0:
            raise ValueError(
                f"odds must be s : t with s > t > 0, those of a bit that is right against one that is turned round, "
                f"but got {s} : {t}"
            )
        refuse_wide(s + t)

    def _at_odds(self, s: int, t: int) -> BitFlips:
        return self._make(domain=self.domain, odds=(s, t), size=self.size)

    # Facts

    @property
    def ratio(self) -> tuple[int, int]:
        """Odds of a bit, squared if a report has two bits or more."""
        s, t = self.odds
        return (t, s) if self.size == 1 else (t * t, s * s)

    @cached_property
    def symmetry(self) -> Symmetry:
        """Probability of a bit of 1 among reports that cover an answer, and the probability of covering it."""
        return _symmetry(self.k, self.odds, self.size)

    @property
    def p(self) -> float:
        """The probability that the bit of the true answer is 1, if it is covered."""
        return float(self.symmetry.p)

    @property
    def q(self) -> float:
        """The probability that the bit of another answer is 1, if it is covered."""
        return self.symmetry.base

    @property
    def report_form(self) -> AskedBitForm:
        return AskedBitForm(self.k, self.size)

    @property
    def draws(self) -> tuple[int, ...]:
        return (*map(Compared, range(self.k, 0, -1)), *[Compared(sum(self.odds))] * self.size)

    @classmethod
    def examples(cls) -> tuple[BitFlips, ...]:
        return (
            cls(["a", "b", "c", "d"], odds=(3, 1), size=2),
            cls(3, odds=(2, 1), size=1),
            cls(["yes", "no"], odds=(3, 1), size=1),
            cls(3, odds=(3, 2), size=3),
            cls(5, odds=(2, 1), size=3),
        )

    # Reports

    @in_batches(lambda design: max(1, ASKED_AT_ONCE // design.k))
    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Counts:
        asked = self._draw_covered(answers.size, random_bytes)
        indices = self._covered_positions(asked)
        return self._packed(asked, self._draw_bits(indices == answers[:, np.newaxis], random_bytes), indices)

    def _draw_covered(self, size: int, random_bytes: RandomBytes) -> Counts:
        if size == 1:
            drawn = selection(self.size, self.k, random_bytes)
            return np.packbits(np.frombuffer(drawn, dtype=np.uint8))[np.newaxis]
        return selections(np.full(size, self.size), self.k, self.report_form.width // 2, random_bytes)

    def _covered_positions(self, asked: Counts) -> Integers:
        """Positions of the answers that each respondent is asked about, in ascending order."""
        return np.unpackbits(asked, axis=1, count=self.k).nonzero()[1].reshape(-1, self.size)

    def _draw_bits(self, true: Mask, random_bytes: RandomBytes) -> Mask:
        """Draw a bit for each covered answer; `true` marks the true answer."""
        s, t = self.odds
        return np.asarray(true ^ bernoulli(true.size, t, s + t, random_bytes).reshape(true.shape))

    def _packed(self, asked: Counts, bits: Mask, indices: Integers | None = None) -> Counts:
        ones = np.zeros((len(asked), self.k), dtype=bool)
        np.put_along_axis(ones, self._covered_positions(asked) if indices is None else indices, bits, axis=1)
        return np.hstack([asked, np.packbits(ones, axis=1)])

    # In words

    def summary(self) -> str:
        return (
            f"BitFlips of {self.size} among {self.k} answers ({first_and_last(self.domain)}): a bit is right "
            f"{self.p:.4g}, epsilon {self.shown_epsilon()}"
        )

    def _happens(self) -> str:
        which = "all" if self.size == self.k else f"{self.size:,}"
        return (
            f"{which} of the {self.k:,} answers are drawn at random, and a bit is reported for each of them: 1 for the "
            f"true answer and 0 for any other, flipped with probability {self.q:.4g}."
        )

    def _deniable(self) -> str:
        p, q, others = self.p, self.q, self.k - 1
        return (
            f"an answer is the true one in {100 * p / (p + others * q):.3g} % of cases if its bit is 1, and in "
            f"{100 * q / (q + others * p):.3g} % if its bit is 0."
        )


class BitFlipsLaw(SymmetricLaw):
    """Law of bit flips: counts of ones and zeros of each answer."""

    design: BitFlips  # type: ignore[assignment]

    @property
    def support_size(self) -> int:
        return self.design.size

    @once_per_design
    def columns(self) -> tuple[str, ...]:
        return tuple(f"{answer}: {bit}" for bit in (1, 0) for answer in self.design.domain)

    def probabilities(self, shares: Array) -> Array:
        symmetry, everybody = self.symmetry, shares.sum(axis=-1, keepdims=True)
        ones = symmetry.base * everybody + symmetry.gain * shares
        return np.asarray(float(symmetry.asked) * np.concatenate([ones, everybody - ones], axis=-1))

    def bounds(self) -> ProbabilityBounds:
        p, q, asked = self.symmetry[:3]
        least, most = ((low, 1 - high) for low, high in ((q, p), (p, q)))
        return ProbabilityBounds(*(np.repeat([float(asked * part) for part in side], self.k) for side in (least, most)))

    @property
    def linear(self) -> BitEstimator:
        return BitEstimator(self)

    def _count(self, reports: Counts, amounts: Counts | None, group: Integers | None, groups: int) -> Counted:
        sums, n = bit_sums(reports, amounts, group, groups)
        half = sums.shape[-1] // 2
        asked, ones = sums[:, : self.k], sums[:, half : half + self.k]
        counts = np.concatenate([ones, np.maximum(asked - ones, 0)], axis=-1)  # of weights, up to rounding
        return Counted(counts, n)

    def likelihood(self, reports: Counts | None = None) -> ChannelOperator:
        """Return the likelihoods: 1 for answers whose bit is 1, t/s for uncovered ones, (t/s)^2 for bits of 0."""
        k = self.k
        if reports is None:
            return self._operator_of_columns()
        level = self.design.odds[1] / self.design.odds[0]
        asked, ones = np.hsplit(reports, 2)
        rises = (Incidence(ones), 1 - level), (Incidence(asked & ~ones), level**2 - level)

        def raised(shares: Array) -> Array:
            return np.asarray(sum(rise * bits.times(shares) for bits, rise in rises))

        def raising(weights: Array, power: int = 1) -> Array:
            return np.asarray(sum(rise**power * bits.transposed_times(weights)[..., :k] for bits, rise in rises))

        return ChannelOperator(
            (k, len(reports)),
            lambda x: level * x.sum(axis=-1, keepdims=True) + raised(x),
            lambda w: level * w.sum(axis=-1, keepdims=True) + raising(w),
            lambda: level + raised(np.eye(k)),
            lambda w: raising(w, 2),
        )

    def _operator_of_columns(self) -> ChannelOperator:
        """Return the channel of a single bit per report, whose columns are multinomial."""
        if not self.exclusive:
            raise ValueError(
                f"a {self.design.mechanism} design counts several bits of a report, of which the likelihood is not "
                "known; give the reports themselves"
            )
        k, q, gain = self.k, self.design.q, self.symmetry.gain

        def adjoint(w: Array) -> Array:
            ones, zeros = w[..., :k], w[..., k:]
            everybody = q * ones.sum(axis=-1, keepdims=True) + (1 - q) * zeros.sum(axis=-1, keepdims=True)
            return np.asarray((everybody + gain * (ones - zeros)) / k)

        return ChannelOperator(
            (k, 2 * k),
            self.probabilities,
            adjoint,
            (lambda: self.probabilities(np.eye(k))) if k <= LARGEST_CHANNEL else None,
            lambda w: (gain / k) ** 2 * (w[..., :k] + w[..., k:]),
        )

    @property
    def _gain(self) -> float:
        return 1.0

    def _evidence(self, counts: Counts) -> Counts:
        ones, zeros = counts[..., : self.k], counts[..., self.k :]
        return np.asarray(self.linear.influence() * (ones - self.design.q * (ones + zeros)))

    def _binomial_model(self, counts: Counts, n: Array, sets: Sets | None, minus: Sets | None) -> SamplingModel:
        ones, zeros = counts[..., : self.k], counts[..., self.k :]
        if sets is None:
            return self._binomial(ones, zeros)
        sizes = sizes_of(sets)
        but_one = (sizes == self.k - 1) & (sizes > 1)
        # All but one answer: bits of 0 for that one answer count for the others.
        inside = [summed(bits, sets) for bits in (ones, zeros)]
        outside = [bits.sum(axis=-1, keepdims=True) - part for bits, part in ((zeros, inside[1]), (ones, inside[0]))]
        model = self._binomial(*(np.where(but_one, out, part) for part, out in zip(inside, outside, strict=True)))
        return replace(model, exact=np.asarray(((sizes == 1) | but_one) & (minus is None)))

    def _binomial(self, ones: Counts, zeros: Counts) -> SamplingModel:
        """Return the binomial model of ones among covered answers; uninformative if an answer was never covered."""
        trials = np.asarray(ones + zeros, dtype=np.float64)
        uncovered, middle = trials == 0, self.design.q + self.symmetry.gain / self.k
        count = np.where(uncovered, NOBODY * middle, ones)
        return SamplingModel(count, np.where(uncovered, NOBODY, trials), self.design.q, self.symmetry.gain, np.True_)

    def _variance(
        self, sets: Sets, minus: Sets | None, mean: Array, square: Array, n: Array, histogram: Counts | None
    ) -> Array:
        noise = float(self.symmetry.variance_of_absent) * centered_squares(sets, minus, self.k)
        return np.asarray(noise + (square / float(self.symmetry.asked) - mean**2))

    def _scores(self, sets: Sets) -> tuple[Array, Array]:
        """Bounds of one report's score: the d bits that contribute most."""
        size, worth = self.design.size, self.linear.influence()
        if isinstance(sets, LinearCombination):
            level = sets.memberships.mean(axis=-1)
            low, high = (np.sort(end, axis=-1) for end in self._bit_range(sets.memberships - level[:, np.newaxis]))
            least, most = low[:, :size].sum(axis=-1), high[:, self.k - size :].sum(axis=-1)
            return level + worth * least, level + worth * most
        sizes = sizes_of(sets)
        level = sizes / self.k
        inside, outside = self._bit_range(1 - level), self._bit_range(-level)

        def total(inner: Array, outer: Array) -> Array:  # of bits inside first, where these say more
            first = np.abs(inner) >= np.abs(outer)
            many = np.minimum(size, np.where(first, sizes, self.k - sizes))
            larger, smaller = np.where(first, inner, outer), np.where(first, outer, inner)
            return np.asarray(many * larger + (size - many) * smaller)

        least, most = (level + worth * total(*pair) for pair in zip(inside, outside, strict=True))
        return least, most

    def _bit_range(self, weights: Array) -> tuple[Array, Array]:
        """Smallest and largest contribution of one bit, for answers with these weights."""
        one, zero = weights * (1 - self.design.q), -weights * self.design.q
        return np.minimum(one, zero), np.maximum(one, zero)


class BitEstimator(SymmetricEstimator):
    """Unbiased shares from the bits of the reports that cover each answer."""

    law: BitFlipsLaw

    def apply(self, observed: Array) -> Array:
        return self.law._binomial(observed[..., : self.law.k], observed[..., self.law.k :]).share()

    def identifiable(self) -> Mask:
        return np.ones(self.law.k, dtype=bool)

    def influence(self) -> float:
        """Return K / (d (p - q)), the change of a share, times n, if one bit changes."""
        return 1 / (float(self.law.symmetry.asked) * self.law.symmetry.gain)


def _symmetry(k: int, odds: tuple[int, int], size: int) -> Symmetry:
    s, t = odds
    p, q = Fraction(s, s + t), Fraction(t, s + t)
    together = Fraction(size * (size - 1), k * (k - 1))  # the probability that two given answers are asked about
    return Symmetry(p, q, Fraction(size, k), both=together * p * q, neither=together * q * q)
