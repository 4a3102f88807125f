r"""Block designs, and the choice of a prime field and its dimension.

Primes near e^epsilon are good; of all whose space has a point for each answer, the one with the least variance of
unbiased shares is chosen. Prime powers would gain 3 % at most, and are not offered.

Block designs: a report is one whole number that represents a set of answers, a block of a combinatorial design.

Answers are points, possible reports are blocks of points, with

.. math:: P(y \mid x) = a / M \text{ if } x \in S_y, \quad b / M \text{ if not}, \qquad M = a r + b (R - r),

for R reports, of which r contain a given point and :math:`r_2` any two given points. So

.. math:: p = \frac{a r}{M}, \qquad q = \frac{b r + (a-b) r_2}{M}, \qquad p - q = \frac{(a-b)(r - r_2)}{M}.

Equal reports are the same row of the likelihood: the histogram of reports is all that an estimate can need, and does
not grow with the sample size. Support follows from it by sums over blocks, which a geometry has in O(V log V) for
V points (`transforms`).

A worked number: the Fano plane has 7 points and 7 lines, r = 3 through a point and one through two points. At odds
3 : 1, M = 3 * 3 + 1 * 4 = 13, p = 9/13 and q = (1 * 3 + 2 * 1) / 13 = 5/13.

There may be more points than answers: the first K points are the answers, and the others have share 0. Which three
points lie together in a block depends on the points; what needs the law of three, the variance of a *set* of answers,
comes from the reports themselves.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from warner.designs.channel import Channel
from warner.designs.contract import LARGEST_CHANNEL
from warner.designs.exact import TOTAL_LIMIT
from warner.designs.facts import (
    Ancillary,
    ChannelOperator,
    Counted,
    LinearCombination,
    ProbabilityBounds,
    ReportTypes,
    Symmetry,
    added_up,
    memberships,
)
from warner.designs.finite_geometry import is_prime, next_prime, primes_up_to
from warner.designs.histograms import uniform_histograms
from warner.designs.law import PEOPLE_AT_ONCE, Sufficient
from warner.designs.report_forms import LabelForm
from warner.designs.symmetric import (
    Budget,
    NumberReader,
    OddsDesign,
    Symmetric,
    SymmetricLaw,
    refuse_even,
    refuse_odds,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.arrays import Array, Counts, Integers, Sets, Shape
    from warner.designs.exact import Number, Odds
    from warner.designs.labels import Domain, Labels


# Block designs

MOST_SET_REPORTS = 2**25  # sets of answers times reports, up to which the spread of each set is taken from the reports
WEIGHT_BITS = 52  # bits to which sums of weights are kept
SET_REPORTS_AT_ONCE = 2**22  # of these at a time


class BlockParameters(NamedTuple):
    """Numbers of points and blocks, and of blocks through one, two and three points (averaged over the third)."""

    points: int
    number: int
    with_one: int
    with_two: int
    with_three: Fraction

    def total(self, a: int, b: int) -> int:
        """Return M, the number of equally likely cases that decide one report."""
        return a * self.with_one + b * (self.number - self.with_one)

    def symmetry(self, a: int, b: int) -> Symmetry:
        """Return the response probabilities at odds a : b.

        That of two answers of which neither is held depends on which three they are: it is the average over all points.
        """
        total = self.total(a, b)
        held, other = a * self.with_one, b * self.with_one + (a - b) * self.with_two
        neither = (b * self.with_two + (a - b) * self.with_three) / total
        both = Fraction(a * self.with_two, total)
        return Symmetry(Fraction(held, total), Fraction(other, total), both=both, neither=neither)


class BlockDesign(OddsDesign):
    """A design whose reports are whole numbers from 0 on, each of which represents a block of points."""

    @property
    def law(self) -> BlockLaw:
        return BlockLaw(self)

    # Properties of a mechanism

    @property
    @abstractmethod
    def blocks(self) -> BlockParameters:
        """Parameters of the block design."""

    @abstractmethod
    def _sums_within(self, weights: Counts) -> Counts:
        """Sum a weight for each point over the points of each block; leading axes are kept."""

    @abstractmethod
    def _sums_around(self, weights: Counts) -> Counts:
        """Sum a weight for each block over the blocks through each point; the transpose of `_sums_within`."""

    @abstractmethod
    def _block_with(self, answers: Integers, numbers: Integers) -> Integers:
        """Return the report with this number among those whose block contains the answer, elementwise."""

    # What follows from these

    @cached_property
    def symmetry(self) -> Symmetry:
        """Response probabilities that all answers share."""
        return self.blocks.symmetry(*self.odds)

    @property
    def draws(self) -> tuple[int, ...]:
        return (self.blocks.total(*self.odds),)

    @property
    def _support_size(self) -> int | None:
        """Size of the blocks in answers; None if it varies."""
        points, number, with_one = self.blocks[:3]
        return points * with_one // number if points == self.k else None

    @property
    def _largest_support(self) -> int:
        return int(self._sizes.max())

    def _ancillary(self) -> Ancillary | None:
        """Return classes of reports whose distribution no answer changes; None if none are known."""
        return None

    @property
    def report_form(self) -> LabelForm:
        return LabelForm(range(self.blocks.number), of_answers=False)

    def _support(self, histogram: Counts) -> Counts:
        """Return how often each answer is supported in a histogram of reports.

        Sums of weights are taken as multiples of 2^-52 of their total, in whole numbers, as doubles would round them:
        so no support stays none, and none is negative.
        """
        if histogram.dtype.kind != "f":
            return self._sums_around(histogram)[..., : self.k]
        _, exponent = np.frexp(histogram.sum(axis=-1, keepdims=True))
        whole = np.rint(np.ldexp(histogram, WEIGHT_BITS - exponent)).astype(np.int64)
        support = self._sums_around(whole)[..., : self.k].astype(np.float64)
        return np.asarray(np.ldexp(support, exponent - WEIGHT_BITS))

    @cached_property
    def _sizes(self) -> Integers:
        return self._within(np.ones(self.k, dtype=np.int64))

    def _within(self, weights: Counts) -> Counts:
        more = [(0, 0)] * (weights.ndim - 1) + [(0, self.blocks.points - self.k)]
        return self._sums_within(np.pad(weights, more))

    @property
    def _levels(self) -> tuple[float, float]:
        """Probabilities of a report after an answer in its block, and after another answer."""
        (a, b), total = self.odds, self.blocks.total(*self.odds)
        return a / total, b / total

    @property
    def _small(self) -> bool:
        return max(self.k, self.blocks.number) <= LARGEST_CHANNEL

    def as_channel(self) -> Channel:
        if not self._small:
            raise ValueError(
                f"the design must have at most {LARGEST_CHANNEL} answers and possible reports to be written as a "
                f"table, but got {self.k:,} and {self.blocks.number:,}"
            )
        reports, total = range(self.blocks.number), self.blocks.total(*self.odds)
        b_and_a = np.array(self.odds[::-1], dtype=np.int64 if total < TOTAL_LIMIT else object)
        weights = b_and_a[self.supports(np.arange(len(reports))).T.astype(np.intp)]
        return Channel.of_weights(self.domain, reports, weights, total)

    # Words

    def _happens(self) -> str:
        return (
            f"a number below {self.blocks.number:,} is drawn and reported. It represents {self._represents()}. With "
            f"probability {self.p:.4g} the true answer is in that set, and any given other answer with {self.q:.4g}."
        )

    def _deniable(self) -> str:
        members = self.k * self.blocks.with_one / self.blocks.number
        return deniability(self, members, constant=bool(self._support_size))

    @abstractmethod
    def _represents(self) -> str:
        """Describe the set of answers that a report represents."""


class BlockLaw(SymmetricLaw):
    """Law of a block design: the histogram of reports is sufficient."""

    design: BlockDesign

    @property
    def types(self) -> BlockTypes | None:
        """Possible reports; None if each supports one answer, so that the counts are their histogram."""
        return None if self.exclusive else BlockTypes(self.design)

    @property
    def sufficient(self) -> Sufficient:
        return "counts" if self.exclusive else "histogram"

    def _count(self, reports: Counts, amounts: Counts | None, group: Integers | None, groups: int) -> Counted:
        number = self.design.blocks.number
        index = reports if group is None else reports + group * number
        histogram = added_up(index, amounts, groups * number).reshape(groups, number)
        return Counted(self.design._support(histogram), histogram.sum(axis=-1), None if self.exclusive else histogram)

    def likelihood(self, reports: Counts | None = None) -> ChannelOperator:
        if reports is not None or self.exclusive:
            return super().likelihood(reports)
        a, b = self.design._levels
        # A block of all answers has one level only.
        informative = (self.design._sizes < self.k).astype(np.float64)
        k, number = self.k, self.design.blocks.number
        return ChannelOperator(
            (k, number),
            # Rounding must not make a sum negative: where b is 0, it is a probability.
            lambda x: b * x.sum(axis=-1, keepdims=True) + (a - b) * np.maximum(self.design._within(x), 0),
            lambda w: b * w.sum(axis=-1, keepdims=True) + (a - b) * self.design._sums_around(w)[..., :k],
            (lambda: np.where(self.design.supports(np.arange(number)).T, a, b)) if self.design._small else None,
            lambda w: (a - b) ** 2 * self.design._sums_around(w * informative)[..., :k],
        )

    def _variance(
        self, sets: Sets, minus: Sets | None, mean: Array, square: Array, n: Array, histogram: Counts | None
    ) -> Array:
        """Variance of the weighted support of one report, estimated from the reports themselves.

        With one report more, spread over all blocks, so that it is never 0. From counts alone, or for very many sets,
        the average law of three points must do.
        """
        if histogram is None or len(sets) * self.design.blocks.number > MOST_SET_REPORTS:
            return super()._variance(sets, minus, mean, square, n, histogram)
        variance = np.empty_like(mean)
        for indices, _, support in self._weighted_support(sets, minus):
            first, second = ((histogram @ t.T + t.mean(axis=-1)) / (n + 1) for t in (support, support**2))
            variance[:, indices] = second - first**2
        return variance

    def _noise(self, sets: Sets, minus: Sets | None, square: Array, counts: Counts, n: Array) -> Array:
        """Variance of the weighted support of one report given the answer, averaged over the respondents.

        After the answer x a block has the probability b, or a if it holds x. So E t^2 is b times the sum of all t^2 and
        a - b times that of the blocks with x; it depends on which answers a set has. The shares of people that it is
        averaged with have one respondent more, spread over all answers.
        """
        if len(sets) * self.design.blocks.number > MOST_SET_REPORTS:
            return super()._noise(sets, minus, square, counts, n)
        held = np.maximum((counts / n - self.design.q) / self.symmetry.gain, 0) + 1 / (n * self.k)
        held = held / held.sum(axis=-1, keepdims=True)
        variance = np.empty_like(square)
        for indices, given in self._conditional_variances(sets, minus):
            variance[:, indices] = held @ given.T
        return variance

    def _variance_given(self, memberships: Array) -> Array:
        ((_, given),) = self._conditional_variances(LinearCombination(memberships[np.newaxis]))
        return np.asarray(given[0])

    def _conditional_variances(self, sets: Sets, minus: Sets | None = None) -> Iterator[tuple[range, Array]]:
        """Yield the variance of the weighted support of one report given each answer, for batches of sets."""
        (a, b), gain = self.design._levels, self.symmetry.gain
        for indices, weights, support in self._weighted_support(sets, minus):
            total = (support**2).sum(axis=-1, keepdims=True)
            given = b * total + (a - b) * self.design._support(support**2) - (gain * weights) ** 2
            yield indices, np.maximum(given, 0)

    def _weighted_support(self, sets: Sets, minus: Sets | None) -> Iterator[tuple[range, Array, Array]]:
        """Yield batches of sets: their indices, centered weights of the answers, and sums over blocks."""
        step = max(1, SET_REPORTS_AT_ONCE // self.design.blocks.points)
        for start in range(0, len(sets), step):
            indices = range(start, min(start + step, len(sets)))
            weights = memberships(sets, self.k, indices, minus)
            weights = weights - weights.mean(axis=-1, keepdims=True)
            yield indices, weights, self.design._within(weights)

    def _draw_counts(self, shares: Array, n: int, rng: np.random.Generator, shape: Shape = ()) -> Integers:
        a, b = self.design._levels
        probabilities = np.maximum(b + (a - b) * self.design._within(shares / shares.sum()), 0)
        return self.design._support(rng.multinomial(n, probabilities / probabilities.sum(), size=shape))

    def _draw_counts_of_people(self, people: Integers, rng: np.random.Generator, shape: Shape = ()) -> Integers:
        return self.design._support(self._simulate_reports_of_people(people, rng, shape))

    def _simulate_reports_of_people(self, people: Integers, rng: np.random.Generator, shape: Shape = ()) -> Integers:
        """Draw histograms of the reports of respondents with these true answers.

        A report is drawn from all R with probability R b / M, and else from the r blocks with the answer. All reports
        of the first kind are one uniform histogram. The others are drawn one by one, or together if an answer has more
        respondents than blocks.
        """
        (a, b), number, with_one = self.design.odds, self.design.blocks.number, self.design.blocks.with_one
        keep = (a - b) * with_one / self.design.blocks.total(a, b)
        kept = rng.binomial(people, keep, size=(math.prod(shape), self.k))
        rows = uniform_histograms(people.sum() - kept.sum(axis=-1), number, rng)
        for answer in np.flatnonzero(kept.max(axis=0, initial=0) > with_one):
            blocks = self.design._block_with(np.full(with_one, answer), np.arange(with_one))
            rows[:, blocks] += uniform_histograms(kept[:, answer], with_one, rng)
            kept[:, answer] = 0
        ends = kept.cumsum()  # of the remaining respondents, answer by answer and row by row
        for start in range(0, int(kept.sum()), PEOPLE_AT_ONCE):
            who = np.arange(start, min(start + PEOPLE_AT_ONCE, int(ends[-1])))
            row, answers = np.divmod(ends.searchsorted(who, side="right"), self.k)
            np.add.at(rows, (row, self.design._block_with(answers, rng.integers(with_one, size=who.size))), 1)
        return rows.reshape(*shape, number)


@dataclass(frozen=True)
class BlockTypes(ReportTypes):
    """The possible reports of a block design, each a separate type."""

    design: BlockDesign

    @property
    def labels(self) -> range:  # type: ignore[override]
        return range(self.design.blocks.number)

    def bounds(self) -> ProbabilityBounds:
        """Return b/M and a/M; equal for blocks with none of the answers, or with all of them."""
        (a, b), sizes, k = self.design._levels, self.design._sizes, self.design.k
        return ProbabilityBounds(np.where(sizes == k, a, b), np.where(sizes == 0, b, a))

    def ancillary(self) -> Ancillary | None:
        return self.design._ancillary()

    def support(self, histogram: Counts) -> Counts:
        return self.design._support(histogram)


def deniability(design: Symmetric, members: float, *, constant: bool) -> str:
    """Describe how likely an answer in the reported set is the truth, for sets of this average size."""
    a, b = design.odds
    held = 100 * a / (a * members + b * (design.k - members))
    return f"each answer in a reported set is the true one in {'' if constant else 'about '}{held:.3g} % of cases."


# Prime field

LARGEST_FIELD = 2**31 - 1  # products of two of its elements are 64-bit integers
LARGEST_FIELD_SEARCHED = 2**22  # fields beyond can be given, but are not searched
LARGEST_DIMENSION = 62
VARIANCE_TIE = 1e-9  # relative difference of variances that floats cannot distinguish


class PrimeFieldDesign(BlockDesign):
    """A design on the points of a space over a prime field."""

    domain: Labels
    odds: tuple[int, int]
    field: int
    dimension: int

    parameters = ("epsilon", "odds", "field", "dimension")
    _needs = "either epsilon or odds (field and dimension may be left out)"
    _least_dimension: ClassVar[int]

    def __init__(
        self,
        domain: Domain,
        *,
        epsilon: Number | None = None,
        odds: Odds | None = None,
        field: Number | None = None,
        dimension: Number | None = None,
    ) -> None:
        super().__init__(domain, epsilon=epsilon, odds=odds, field=field, dimension=dimension)

    @classmethod
    def _numbers(cls, k: int, number: NumberReader) -> dict[str, Any]:
        return {
            "field": number("field", 2, LARGEST_FIELD),
            "dimension": number("dimension", cls._least_dimension, LARGEST_DIMENSION),
        }

    def _check(self) -> None:
        field, dimension = self.field, self.dimension
        if not is_prime(field):
            raise ValueError(f"field must be a prime number, but got {field}; the next one is {next_prime(field)}")
        blocks = self._blocks(field, dimension)
        if blocks.points < self.k:
            raise ValueError(
                f"field and dimension must give a point for each of the {self.k:,} answers, but {field} and "
                f"{dimension} give {blocks.points:,}; give a larger dimension, or leave it out"
            )
        refuse_odds(*self.odds, blocks.total(*self.odds))

    @classmethod
    @abstractmethod
    def _counts(cls, field: Any, dimension: Any) -> tuple[Any, Any, Any, Any]:
        """Return the numbers of points, of blocks, and of blocks through one and through two given points.

        Exactly for whole numbers, roughly for arrays of fields, as floats, and of dimensions.
        """

    @classmethod
    def _blocks(cls, field: int, dimension: int) -> BlockParameters:
        points, number, with_one, with_two = cls._counts(field, dimension)
        size = points * with_one // number  # of each block
        return BlockParameters(points, number, with_one, with_two, Fraction(with_two * (size - 2), max(points - 2, 1)))

    @cached_property
    def blocks(self) -> BlockParameters:
        """Parameters of the block design."""
        return self._blocks(self.field, self.dimension)

    # Which field to take

    @classmethod
    def _best(cls, k: int, budget: Budget, *, field: int | None = None, dimension: int | None = None) -> dict[str, Any]:
        # As finely as can be, to choose the field by.
        a, b = budget.odds_within(k, lambda a, b: a + b)
        refuse_even(a, b)
        if field is not None and dimension is None:
            dimension = cls._least_dimension
            while cls._counts(field, dimension)[0] < k:
                dimension += 1
        if field is None or dimension is None:
            field, dimension = cls._best_space(k, a, b, dimension)
        odds = budget.odds_within(k, cls._blocks(field, dimension).total)
        return {"odds": odds, "field": field, "dimension": dimension}

    @classmethod
    def _best_space(cls, k: int, a: int, b: int, dimension: int | None) -> tuple[int, int]:
        """Return the prime field, and its least dimension, with the smallest variance of an absent answer.

        Fields much larger than e^epsilon are never best, nor are those with more elements than there are answers.
        """
        if dimension is None:
            enough = next_prime(min(k, LARGEST_FIELD_SEARCHED))
            largest = min(4 * a // b + 4, enough) if b else enough
        else:
            enough = cls._smallest_field(k, dimension)
            largest = max(min(4 * a // b + 4, LARGEST_FIELD_SEARCHED), enough) if b else enough
        fields = primes_up_to(largest).astype(np.float64)
        dimensions = np.full(fields.size, dimension or cls._least_dimension)
        while dimension is None and (short := cls._counts(fields, dimensions)[0] < k).any():
            dimensions += short
        points, number, with_one, with_two = cls._counts(fields, dimensions)
        # The variance of an absent answer, in floats; the best are then compared exactly.
        scale = max(a, b)
        other = b / scale * with_one + (a - b) / scale * with_two
        rest = a / scale * with_one + b / scale * (number - with_one) - other
        variance = np.where(points < k, np.inf, other * rest / ((a - b) / scale * (with_one - with_two)) ** 2)
        near = np.flatnonzero(variance <= variance.min() * (1 + VARIANCE_TIE))
        spaces = [(int(fields[index]), int(dimensions[index])) for index in near]
        return min(spaces, key=lambda space: cls._blocks(*space).symmetry(a, b).variance_of_absent)

    @classmethod
    def _smallest_field(cls, k: int, dimension: int) -> int:
        """Return a small prime with a point for each answer in this dimension."""
        root = k ** (1 / (dimension + 1 - cls._least_dimension))
        if root > LARGEST_FIELD_SEARCHED:
            raise ValueError(f"dimension must be larger for {k:,} answers, but got {dimension}; leave it out")
        field = next_prime(max(2, int(root)))
        while cls._counts(field, dimension)[0] < k:
            field = next_prime(field + 1)
        return field
