r"""Projective geometry response: report a hyperplane that holds the true answer more likely than any other [1]_.

Answers are points of the projective space PG(t-1, q) over a prime field, reports are its hyperplanes, each named by the
point that it is perpendicular to. Of the :math:`V = (q^t-1)/(q-1)` hyperplanes :math:`r = (q^{t-1}-1)/(q-1)` go through
a point, :math:`r_2 = (q^{t-2}-1)/(q-1)` through two, and each has r points: the blocks of `block_designs`, which has p
and q. With q near :math:`e^\varepsilon + 1` no design is much more precise for so few bits: a report takes log2 V of
them. In the projective line, t = 2, it is randomized response.

A worked number: see `block_designs`; the Fano plane is PG(2, 2).

Support is counted in O(V log V), by Fourier transforms (`transforms`).

References
----------
.. [1] V. Feldman, J. Nelson, H. Nguyen, K. Talwar, "Private frequency estimation via projective geometry", Proc. 39th
   Int. Conf. Machine Learning (2022), 6418-6433.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.designs import finite_geometry as geometry
from warner.designs.block_designs import PrimeFieldDesign
from warner.designs.draws import RandomBytes, in_batches, uniform
from warner.text import counted

if TYPE_CHECKING:
    from warner.arrays import Counts, Integers, Mask
    from warner.designs.labels import Labels


@dataclass(frozen=True, init=False, repr=False)
class ProjectiveGeometry(PrimeFieldDesign):
    r"""Report a hyperplane of a finite geometry, which holds the true answer more likely than any other.

    A report is one whole number, and represents a set of answers, about one in `field` of them. It is nearly as precise
    as any design can be, with reports of few bits, for any number of answers up to millions.

    Parameters
    ----------
    domain : int or sequence of str or of int
        The possible answers, all distinct, in the order of every result; or their number K.
    epsilon : number, optional
        The most that one report may reveal, in nats, from 1e-9 to 40. The design never spends more.
    odds : pair of numbers or str, optional
        Instead of epsilon: the odds of a hyperplane with the true answer against one without, ``(a, b)`` with
        a > b.
    field : int, optional
        The number q of elements of the field, a prime. If not given, the one with the smallest variance for rare
        answers, near :math:`e^\varepsilon + 1`.
    dimension : int, optional
        The number t of coordinates of a point, at least 2; if not given, the least that gives a point for each answer.

    Attributes
    ----------
    domain : tuple or range
        The labels; consecutive integers are held as a range.
    odds : tuple of int
        ``(a, b)`` in lowest terms.
    field, dimension : int
        Of the space PG(dimension - 1, field).

    Examples
    --------
    >>> survey = ProjectiveGeometry(7, odds=(3, 1), field=2)
    >>> round(survey.p, 4), round(survey.q, 4)  # 9/13 and 5/13
    (0.6923, 0.3846)
    >>> ProjectiveGeometry(1000, epsilon=1)
    <ProjectiveGeometry PG(6, 3) among 1000 answers (0, 1, 2, ..., 999): truth 0.5758, each other 0.3328, epsilon 1>
    """

    domain: Labels
    odds: tuple[int, int]
    field: int
    dimension: int

    mechanism = "projective geometry response"
    field_names = frozenset({"domain", "odds", "field", "dimension"})
    _least_dimension = 2

    @classmethod
    def _counts(cls, field: Any, dimension: Any) -> tuple[Any, Any, Any, Any]:
        points = geometry.size(field, dimension)
        return points, points, geometry.size(field, dimension - 1), geometry.size(field, dimension - 2)

    @classmethod
    def examples(cls) -> tuple[ProjectiveGeometry, ...]:
        return (
            cls(["a", "b", "c", "d", "e", "f", "g"], odds=(3, 1), field=2),
            cls(5, odds=(5, 2), field=2, dimension=3),
            cls(4, odds=(3, 1), field=3),
            cls(["yes", "no"], odds=(3, 1), field=2),
            cls(13, odds=(2, 1), field=3),
            cls(3, odds=(1, 0), field=2, dimension=3),
        )

    def supports(self, reports: Counts) -> Mask:
        numbers = reports[:, np.newaxis], np.arange(self.k)
        normals, points = (geometry.vectors(each, self.field, self.dimension) for each in numbers)
        return np.asarray(geometry.inner_products(normals, points, self.field) == 0)

    def _sums_within(self, weights: Counts) -> Counts:
        return geometry.perpendicular_sums(weights, self.field, self.dimension)

    def _sums_around(self, weights: Counts) -> Counts:
        return geometry.perpendicular_sums(weights, self.field, self.dimension)

    def _block_with(self, answers: Integers, numbers: Integers) -> Integers:
        return self._completed(answers, geometry.canonical_numbers(numbers, self.field, self.dimension - 1), 0)

    @in_batches()
    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Integers:
        (a, b), through = self.odds, self.blocks.with_one
        drawn = uniform(answers.size, self.draws[0], random_bytes).astype(np.int64)
        missed = drawn >= a * through
        # Both are worked out for everybody; the one that is not used must only be in range.
        held = np.minimum(drawn // a, through - 1)
        others = np.maximum(drawn - a * through, 0) // max(b, 1)
        rest = np.where(missed, others, geometry.canonical_numbers(held, self.field, self.dimension - 1))
        return self._completed(answers, rest, missed)

    def _completed(self, answers: Integers, rest: Integers, product: Integers | Mask | int) -> Integers:
        """Return the point on which y lies, with this <x, y>, and the digits of `rest` as other coordinates."""
        field, dimension = self.field, self.dimension
        if answers.size <= geometry.VECTORS_ONE_BY_ONE:
            products = np.broadcast_to(product, answers.shape).tolist()
            cases = zip(answers.tolist(), rest.tolist(), products, strict=True)
            return np.array([self._completed_one(*case) for case in cases], dtype=np.int64)
        point, others = geometry.vectors(answers, field, dimension), geometry.digits(rest, field, dimension - 1)
        normal = np.zeros_like(point)
        before = np.cumsum(point != 0, axis=0) == 0  # coordinates left of j
        normal[:-1] = np.where(before[:-1], others, 0)
        normal[1:] += np.where(before[:-1], 0, others)
        left = geometry.modulo(product + (field - geometry.inner_products(point, normal, field)), field)
        # x is 1 there, and y still 0.
        first = ~before
        first[1:] &= before[:-1]
        return geometry.points_of(normal + first * left, field)

    def _completed_one(self, answer: int, rest: int, product: int) -> int:
        field, dimension = self.field, self.dimension
        point = geometry.few_digits(geometry.canonical_number(answer, field), field, dimension)
        normal, first = geometry.few_digits(rest, field, dimension - 1), point.index(1)
        normal.insert(first, 0)
        normal[first] = (product - geometry.inner_product(point, normal, field)) % field
        return geometry.point_of(normal, field)

    @property
    def _opening(self) -> str:  # type: ignore[override]
        return f"ProjectiveGeometry PG({self.dimension - 1}, {{0.field}}) among"

    def _represents(self) -> str:
        line = "hyperplane" if self.dimension > 3 else "line" if self.dimension == 3 else "point"
        members = "" if self._support_size is None else f" of {counted(self._support_size, 'answer', 'answers')}"
        return f"a set{members}, a {line} of a finite geometry whose points are the answers"
