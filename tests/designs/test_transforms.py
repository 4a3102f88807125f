"""Transforms over finite vector spaces: sums over hyperplanes against brute force, exactly."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import hadamard

from warner.designs import finite_geometry as transforms
from warner.designs.finite_geometry import (
    even_sums,
    hyperplane_sums,
    perpendicular_sums,
    size,
    sums_of_hyperplanes,
    walsh_hadamard,
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


def incidence(field: int, dimension: int) -> np.ndarray[Any, Any]:
    points = np.array(canonical_vectors(field, dimension), dtype=object)
    return np.array(points @ points.T % field == 0, dtype=object)


def hyperplanes(field: int, dimension: int) -> np.ndarray[Any, Any]:
    """Return for each direction and value, a row each, which vectors have that product with the direction."""
    all_vectors = np.array(list(itertools.product(range(field), repeat=dimension)))
    products = np.array(canonical_vectors(field, dimension)) @ all_vectors.T % field
    return np.array([products == value for value in range(field)]).swapaxes(0, 1).reshape(-1, field**dimension)


# Sums over hyperplanes


@every_space
@pytest.mark.parametrize("total", [10**6, 2**53])
def test_sums_of_whole_numbers_are_exact(field: int, dimension: int, total: int) -> None:
    rng = np.random.default_rng(field * dimension)
    blocks, planes = incidence(field, dimension), np.array(hyperplanes(field, dimension), dtype=object)
    for sums, table in (
        (perpendicular_sums, blocks),
        (hyperplane_sums, planes.T),
        (sums_of_hyperplanes, planes),
    ):
        # Numbers of all sizes that sum to the total, and all of them at one place.
        parts = rng.dirichlet(np.full(len(table), 0.1), size=2)
        spread = (parts * total * (1 - 1e-9)).astype(np.int64)
        one = np.zeros_like(spread[:1])
        one[0, rng.integers(one.size)] = total
        for counts in (spread, one):
            assert sums(counts, field, dimension).dtype == np.int64
            assert (sums(counts, field, dimension) == counts.astype(object) @ table).all()


@every_space
def test_sums_of_weights_are_those_of_the_table(field: int, dimension: int) -> None:
    rng = np.random.default_rng(1)
    planes = hyperplanes(field, dimension).astype(float)
    for sums, table in (
        (perpendicular_sums, incidence(field, dimension).astype(float)),
        (hyperplane_sums, planes.T),
        (sums_of_hyperplanes, planes),
    ):
        weights = rng.normal(size=(2, 3, len(table)))
        assert_allclose(sums(weights, field, dimension), weights @ table, atol=1e-12 * len(table))
        assert sums(weights[:0], field, dimension).shape == (0, 3, table.shape[1])
        assert_allclose(sums(weights[0, 0], field, dimension), weights[0, 0] @ table, atol=1e-12 * len(table))


def test_many_rows_are_transformed_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.random.default_rng(2).integers(100, size=(7, 13))
    whole = perpendicular_sums(counts, 3, 3)
    monkeypatch.setattr(transforms, "TRANSFORMED_AT_ONCE", 30)
    assert_array_equal(perpendicular_sums(counts, 3, 3), whole)


def test_a_large_space_is_symmetric_and_keeps_totals() -> None:
    rng = np.random.default_rng(3)
    for field, dimension in ((3, 9), (53, 3), (2, 12)):
        one, other = rng.integers(1000, size=(2, size(field, dimension)))
        assert perpendicular_sums(one, field, dimension) @ other == one @ perpendicular_sums(other, field, dimension)
        # Each point lies on as many hyperplanes as a hyperplane has points.
        assert perpendicular_sums(one, field, dimension).sum() == one.sum() * size(field, dimension - 1)
        weights = rng.integers(1000, size=field**dimension)
        reports = rng.integers(1000, size=field * size(field, dimension))
        within = hyperplane_sums(weights, field, dimension)
        assert within @ reports == weights @ sums_of_hyperplanes(reports, field, dimension)
        assert (within.reshape(-1, field).sum(axis=1) == weights.sum()).all()


def test_transforms_that_cannot_be_trusted_are_refused() -> None:
    counts = np.array([[3, 1, 0, 2]])
    with pytest.raises(ArithmeticError, match="not whole numbers"):
        transforms._exactly(lambda values: values + 0.3, counts, 1e-16, 1.0)
    # An error that grows with the numbers is got rid of by transforming high and low bits apart.
    large = np.array([[2**40 + 1, 5]])
    assert_array_equal(transforms._exactly(lambda values: values * (1 + 2e-13), large, 2e-13, 1.0), large)
    # Being off by a whole number cannot be seen: numbers so large that this may happen are not transformed at once.
    assert_array_equal(transforms._exactly(lambda values: values + (values > 2**40), large, 1e-12, 1.0), large)


def test_tables_are_small() -> None:
    assert transforms._multiplied(3, 4).dtype == np.int32
    assert transforms._scaled(3, 4).nbytes == 2 * 81 * 4


@pytest.mark.parametrize("bits", [0, 1, 4])
def test_the_walsh_hadamard_transform_is_a_product_with_the_matrix(bits: int) -> None:
    counts = np.random.default_rng(4).integers(2**40, size=(3, 2**bits))
    assert_array_equal(walsh_hadamard(counts), counts @ hadamard(2**bits))
    assert_allclose(walsh_hadamard(counts / 7), counts / 7 @ hadamard(2**bits))


@pytest.mark.parametrize("bits", [0, 1, 4])
def test_even_sums_are_those_over_vectors_with_an_even_number_of_ones_in_common(bits: int) -> None:
    counts = np.random.default_rng(5).integers(2**40, size=(3, 2**bits))
    even = np.array([[(u & v).bit_count() % 2 == 0 for v in range(2**bits)] for u in range(2**bits)])
    assert_array_equal(even_sums(counts), counts @ even)
    assert_allclose(even_sums(counts / 7), counts / 7 @ even)
