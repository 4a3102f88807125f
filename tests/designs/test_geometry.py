"""Finite geometry: prime numbers, the order of points, and their coordinates, against brute force.

It tests designs/block_designs.py as well.

It tests designs/finite_geometry.py.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from warner.designs import finite_geometry as geometry
from warner.designs.finite_geometry import (
    digits,
    inverses,
    is_prime,
    next_prime,
    points_of,
    primes_up_to,
    size,
    vectors,
)

SPACES = [(2, 2), (2, 3), (2, 5), (3, 2), (3, 4), (5, 3), (7, 2), (7, 3), (11, 2), (13, 2)]
every_space = pytest.mark.parametrize(("field", "dimension"), SPACES)


def canonical_vectors(field: int, dimension: int) -> list[tuple[int, ...]]:
    """List the points by their definition: those with more leading zeros first, then the digits after the 1."""
    return [
        (0,) * (dimension - 1 - free) + (1, *rest)
        for free in range(dimension)
        for rest in itertools.product(range(field), repeat=free)
    ]


# Prime numbers


def test_primes_are_those_without_divisors() -> None:
    by_definition = [number for number in range(2, 500) if all(number % divisor for divisor in range(2, number))]
    assert primes_up_to(499).tolist() == by_definition
    assert [number for number in range(-2, 500) if is_prime(number)] == by_definition
    assert primes_up_to(10**6).size == 78_498  # as many as there are below a million
    assert next_prime(90) == 97
    assert next_prime(97) == 97
    assert next_prime(2**31 - 1) == 2**31 - 1  # a Mersenne prime


# Points


@every_space
def test_points_come_in_the_order_of_their_canonical_vectors(field: int, dimension: int) -> None:
    expected = canonical_vectors(field, dimension)
    points = np.arange(size(field, dimension))
    assert len(expected) == points.size
    assert list(map(tuple, vectors(points, field, dimension).T.tolist())) == expected
    for factor in range(1, field):  # every multiple of a vector lies on the same point
        assert_array_equal(points_of(vectors(points, field, dimension) * factor % field, field), points)


@given(st.sampled_from([2, 3, 53, 1009, 2**31 - 1]), st.lists(st.integers(1, 2**31 - 2), min_size=1, max_size=20))
def test_inverses_undo_a_product(field: int, values: list[int]) -> None:
    residues = np.array([value % field or 1 for value in values])
    assert (residues * inverses(residues, field) % field == 1).all()


def test_digits_are_those_of_the_number() -> None:
    assert digits(np.array([0, 5, 26]), 3, 3).T.tolist() == [[0, 0, 0], [0, 1, 2], [2, 2, 2]]


@given(st.sampled_from([2, 3, 7, 101, 2**31 - 1]), st.integers(1, 4), st.data())
def test_vectors_one_by_one_are_those_of_arrays(field: int, dimension: int, data: st.DataObject) -> None:
    dimension = min(dimension, 2) if field > 2**20 else dimension
    points = data.draw(st.lists(st.integers(0, size(field, dimension) - 1), min_size=1, max_size=5))
    numbers = geometry.canonical_numbers(np.array(points), field, dimension)
    assert [geometry.canonical_number(point, field) for point in points] == numbers.tolist()
    written = [geometry.few_digits(number, field, dimension) for number in numbers.tolist()]
    assert written == digits(numbers, field, dimension).T.tolist()
    factor = data.draw(st.integers(1, field - 1))
    multiples = [[coordinate * factor % field for coordinate in vector] for vector in written]
    assert [geometry.point_of(vector, field) for vector in multiples] == points
    assert points_of(np.array(multiples).T, field).tolist() == points
    products = [sum(a * b for a, b in zip(*pair, strict=True)) % field for pair in itertools.pairwise(written)]
    assert [geometry.inner_product(*pair, field) for pair in itertools.pairwise(written)] == products
