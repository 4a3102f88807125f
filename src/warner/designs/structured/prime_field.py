"""What designs over a prime field share: which field and dimension to take, and how they are written.

Any prime will do that is not far from e^epsilon; of all those whose space has a point for each answer, the one whose
unbiased shares vary least is taken. Prime powers would gain 3 % at most, and are not offered.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from warner.designs.exact import odds_as_given, odds_from_epsilon, odds_from_json, whole_number
from warner.designs.labels import canonical, first_and_last, labels_from_json, labels_to_json
from warner.designs.structured.block_designs import BlockDesign, BlockParameters, refuse_both, refuse_odds
from warner.designs.structured.geometry import is_prime, next_prime, primes_up_to

if TYPE_CHECKING:
    from warner.designs.exact import Number, Odds
    from warner.designs.labels import Domain, Labels
    from warner.documents import Document

LARGEST_FIELD = 2**31 - 1  # products of two of its elements are 64-bit integers
LARGEST_CHOSEN = 2**22  # fields beyond can be given, but are not searched
LARGEST_DIMENSION = 62
NEARLY = 1e-9  # variances that floats cannot tell apart


class PrimeFieldDesign(BlockDesign):
    """A design on the points of a space over a prime field."""

    domain: Labels
    odds: tuple[int, int]
    field: int
    dimension: int

    parameters = ("epsilon", "odds", "field", "dimension")
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
        refuse_both(self.mechanism, epsilon, odds, "field and dimension")
        labels = canonical(domain)
        q = None if field is None else whole_number("field", field, 2, LARGEST_FIELD)
        t = None
        if dimension is not None:
            t = whole_number("dimension", dimension, self.least_dimension, LARGEST_DIMENSION)
        self._set(labels, *self._chosen(len(labels), epsilon, odds, q, t))

    def _set(self, labels: Labels, a: int, b: int, field: int, dimension: int) -> None:
        if not is_prime(field):
            raise ValueError(f"field must be a prime number, but got {field}; the next one is {next_prime(field)}")
        blocks = self._blocks(field, dimension)
        if blocks.points < len(labels):
            raise ValueError(
                f"field and dimension must give a point for each of the {len(labels):,} answers, but {field} and "
                f"{dimension} give {blocks.points:,}; give a larger dimension, or leave it out"
            )
        refuse_odds(a, b, blocks.total(a, b))
        for name, value in {"domain": labels, "odds": (a, b), "field": field, "dimension": dimension}.items():
            object.__setattr__(self, name, value)

    @classmethod
    @abstractmethod
    def _numbers(cls, field: Any, dimension: Any) -> tuple[Any, Any, Any, Any]:
        """Give the numbers of points, of blocks, and of blocks with one given point and with two.

        Exactly for whole numbers, roughly for arrays of fields, as floats, and of dimensions.
        """

    @classmethod
    def _blocks(cls, field: int, dimension: int) -> BlockParameters:
        return BlockParameters.of_size(*cls._numbers(field, dimension))

    @cached_property
    def blocks(self) -> BlockParameters:
        return self._blocks(self.field, self.dimension)

    # Which field to take

    @classmethod
    def _chosen(
        cls, k: int, epsilon: Number | None, odds: Odds | None, field: int | None, dimension: int | None
    ) -> tuple[int, int, int, int]:
        """Give odds, field and dimension: those that were given, and the best of the others."""
        if odds is not None:
            a, b = odds_as_given(odds)
            refuse_odds(a, b, 0)
        else:
            assert epsilon is not None
            a, b = odds_from_epsilon(epsilon, k, lambda a, b: a + b)  # as finely as can be, to choose the field by
        if field is not None and dimension is None:
            dimension = cls.least_dimension
            while cls._numbers(field, dimension)[0] < k:
                dimension += 1
        if field is None or dimension is None:
            field, dimension = cls._best_space(k, a, b, dimension)
        if epsilon is not None:
            a, b = odds_from_epsilon(epsilon, k, cls._blocks(field, dimension).total)
        return a, b, field, dimension

    @classmethod
    def _best_space(cls, k: int, a: int, b: int, dimension: int | None) -> tuple[int, int]:
        """Choose the prime field, and the least dimension that it needs, whose unbiased shares vary least at 0.

        Fields much larger than e^epsilon are never best, nor are those with more elements than there are answers.
        """
        if dimension is None:
            enough = next_prime(min(k, LARGEST_CHOSEN))
            largest = min(4 * a // b + 4, enough) if b else enough
        else:
            enough = cls._smallest_field(k, dimension)
            largest = max(min(4 * a // b + 4, LARGEST_CHOSEN), enough) if b else enough
        fields = primes_up_to(largest).astype(np.float64)
        dimensions = np.full(fields.size, dimension or cls.least_dimension)
        while dimension is None and (short := cls._numbers(fields, dimensions)[0] < k).any():
            dimensions += short
        points, number, with_one, with_two = cls._numbers(fields, dimensions)
        # The variance of `BlockParameters`, in floats; the best are then compared exactly.
        scale = max(a, b)
        other = b / scale * with_one + (a - b) / scale * with_two
        rest = a / scale * with_one + b / scale * (number - with_one) - other
        variance = np.where(points < k, np.inf, other * rest / ((a - b) / scale * (with_one - with_two)) ** 2)
        near = np.flatnonzero(variance <= variance.min() * (1 + NEARLY))
        spaces = [(int(fields[place]), int(dimensions[place])) for place in near]
        return min(spaces, key=lambda space: cls._blocks(*space).variance(a, b))

    @classmethod
    def _smallest_field(cls, k: int, dimension: int) -> int:
        """Give a prime that has a point for each answer in this dimension, and is hardly larger than need be."""
        root = k ** (1 / (dimension + 1 - cls.least_dimension))
        if root > LARGEST_CHOSEN:
            raise ValueError(f"dimension must be larger for {k:,} answers, but got {dimension}; leave it out")
        field = next_prime(max(2, int(root)))
        while cls._numbers(field, dimension)[0] < k:
            field = next_prime(field + 1)
        return field

    @classmethod
    def for_epsilon(cls, domain: Domain, epsilon: Number) -> Self:
        """Give the best design of this mechanism that spends at most this epsilon."""
        return cls(domain, epsilon=epsilon)

    def with_epsilon(self, epsilon: Number) -> Self:
        """Give the best design of this mechanism for the same answers that spends at most this epsilon."""
        made = type(self).__new__(type(self))
        made._set(self.domain, *self._chosen(self.k, epsilon, None, None, None))
        return made

    # Files and words

    def fields(self) -> Document:
        """Give domain, odds, as decimal strings, field and dimension."""
        return {
            "domain": labels_to_json(self.domain),
            "odds": [str(part) for part in self.odds],
            "field": self.field,
            "dimension": self.dimension,
        }

    @classmethod
    def from_fields(cls, fields: Document) -> Self:
        """Read domain, odds, field and dimension."""
        limits = {"field": (2, LARGEST_FIELD), "dimension": (cls.least_dimension, LARGEST_DIMENSION)}
        for name, (low, high) in limits.items():
            if type(value := fields[name]) is not int or not low <= value <= high:
                raise ValueError(f"this design is damaged: {name} must be a whole number from {low} to {high}")
        labels = canonical(labels_from_json("domain", fields["domain"]))
        made = cls.__new__(cls)
        made._set(labels, *odds_as_given(odds_from_json(fields["odds"])), fields["field"], fields["dimension"])
        return made

    def summary(self) -> str:
        return (
            f"{type(self).__name__} {self._space()} among {self.k} answers ({first_and_last(self.domain)}): truth "
            f"{self.p:.4g}, each other {self.q:.4g}, epsilon {self.shown_epsilon()}"
        )

    @abstractmethod
    def _space(self) -> str:
        """Name the space, for the summary."""
