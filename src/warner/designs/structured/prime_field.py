"""Designs over a prime field: which field and dimension to take, and how they are written.

Any prime will do that is not far from e^epsilon; of all those whose space has a point for each answer, the one whose
unbiased shares vary least is taken. Prime powers would gain 3 % at most, and are not offered.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from warner.designs.odds import Budget, NumberReader, refuse_even, refuse_odds
from warner.designs.structured.block_designs import BlockDesign, BlockParameters
from warner.designs.structured.geometry import is_prime, next_prime, primes_up_to

if TYPE_CHECKING:
    from warner.designs.exact import Number, Odds
    from warner.designs.labels import Domain, Labels

LARGEST_FIELD = 2**31 - 1  # products of two of its elements are 64-bit integers
LARGEST_FIELD_SEARCHED = 2**22  # fields beyond can be given, but are not searched
LARGEST_DIMENSION = 62
VARIANCE_TIE = 1e-9  # variances that floats cannot tell apart


class PrimeFieldDesign(BlockDesign):
    """A design on the points of a space over a prime field."""

    domain: Labels
    odds: tuple[int, int]
    field: int
    dimension: int

    parameters = ("epsilon", "odds", "field", "dimension")
    needs = "either epsilon or odds (field and dimension may be left out)"
    least_dimension: ClassVar[int]

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
            "dimension": number("dimension", cls.least_dimension, LARGEST_DIMENSION),
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
        """Give the numbers of points, of blocks, and of blocks with one given point and with two.

        Exactly for whole numbers, roughly for arrays of fields, as floats, and of dimensions.
        """

    @classmethod
    def _blocks(cls, field: int, dimension: int) -> BlockParameters:
        return BlockParameters.of_size(*cls._counts(field, dimension))

    @cached_property
    def blocks(self) -> BlockParameters:
        return self._blocks(self.field, self.dimension)

    # Which field to take

    @classmethod
    def _best(cls, k: int, budget: Budget, *, field: int | None = None, dimension: int | None = None) -> dict[str, Any]:
        # As finely as can be, to choose the field by.
        a, b = budget.odds_within(k, lambda a, b: a + b)
        refuse_even(a, b)
        if field is not None and dimension is None:
            dimension = cls.least_dimension
            while cls._counts(field, dimension)[0] < k:
                dimension += 1
        if field is None or dimension is None:
            field, dimension = cls._best_space(k, a, b, dimension)
        odds = budget.odds_within(k, cls._blocks(field, dimension).total)
        return {"odds": odds, "field": field, "dimension": dimension}

    @classmethod
    def _best_space(cls, k: int, a: int, b: int, dimension: int | None) -> tuple[int, int]:
        """Choose the prime field, and the least dimension that it needs, whose unbiased shares vary least at 0.

        Fields much larger than e^epsilon are never best, nor are those with more elements than there are answers.
        """
        if dimension is None:
            enough = next_prime(min(k, LARGEST_FIELD_SEARCHED))
            largest = min(4 * a // b + 4, enough) if b else enough
        else:
            enough = cls._smallest_field(k, dimension)
            largest = max(min(4 * a // b + 4, LARGEST_FIELD_SEARCHED), enough) if b else enough
        fields = primes_up_to(largest).astype(np.float64)
        dimensions = np.full(fields.size, dimension or cls.least_dimension)
        while dimension is None and (short := cls._counts(fields, dimensions)[0] < k).any():
            dimensions += short
        points, number, with_one, with_two = cls._counts(fields, dimensions)
        # The variance of an absent answer, in floats; the best are then compared exactly.
        scale = max(a, b)
        other = b / scale * with_one + (a - b) / scale * with_two
        rest = a / scale * with_one + b / scale * (number - with_one) - other
        variance = np.where(points < k, np.inf, other * rest / ((a - b) / scale * (with_one - with_two)) ** 2)
        near = np.flatnonzero(variance <= variance.min() * (1 + VARIANCE_TIE))
        spaces = [(int(fields[place]), int(dimensions[place])) for place in near]
        return min(spaces, key=lambda space: cls._blocks(*space).symmetry(a, b).alike.variance_of_absent)

    @classmethod
    def _smallest_field(cls, k: int, dimension: int) -> int:
        """Give a prime that has a point for each answer in this dimension, and is hardly larger than need be."""
        root = k ** (1 / (dimension + 1 - cls.least_dimension))
        if root > LARGEST_FIELD_SEARCHED:
            raise ValueError(f"dimension must be larger for {k:,} answers, but got {dimension}; leave it out")
        field = next_prime(max(2, int(root)))
        while cls._counts(field, dimension)[0] < k:
            field = next_prime(field + 1)
        return field

    def _opening(self) -> str:
        return f"{type(self).__name__} {self._space()} among"

    @abstractmethod
    def _space(self) -> str:
        """Name the space, for the summary."""
