"""Independence on a table of reports: Fisher's exact test, its simulated form, and the approximate ones."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from references import reference
from warner.association.independence import Independence, independence

REFERENCE = reference("associations")

counts = st.one_of(st.integers(0, 12), st.integers(0, 300))


def found_in(
    table: Any, *, simulations: int = 0, rng: np.random.Generator | None = None, effective: float | None = None
) -> Independence:
    generator = np.random.default_rng(1) if rng is None else rng
    return independence(np.array(table), simulations=simulations, rng=generator, effective=effective)


@given(st.tuples(counts, counts, counts, counts).filter(any))
def test_of_two_by_two_tables_the_p_value_is_scipys(cells: tuple[int, ...]) -> None:
    from scipy.stats import fisher_exact

    table = np.array(cells).reshape(2, 2)
    assert_allclose(found_in(table).p_value, fisher_exact(table).pvalue, rtol=1e-9)


def test_of_all_small_two_by_two_tables_the_p_value_is_scipys() -> None:
    from scipy.stats import fisher_exact

    tables = [np.array(cells).reshape(2, 2) for cells in itertools.product(range(4), repeat=4) if any(cells)]
    assert_allclose(
        [found_in(table).p_value for table in tables], [fisher_exact(table).pvalue for table in tables], rtol=1e-9
    )


@pytest.mark.parametrize(
    "table", [[[3, 1], [1, 3]], [[10, 2], [3, 15]], [[400_000, 401_000], [99_000, 100_000]], [[2, 0], [0, 10**7]]]
)
def test_known_and_large_two_by_two_tables(table: list[list[int]]) -> None:
    from scipy.stats import fisher_exact

    found = found_in(table)
    assert found.method == "Fisher's exact test"
    assert found.exact
    assert_allclose(found.p_value, fisher_exact(table).pvalue, rtol=1e-6)  # logarithms of factorials of a million


@given(st.lists(st.integers(0, 40), min_size=6, max_size=12).filter(lambda cells: len(cells) % 3 == 0))
def test_statistics_are_scipys(cells: list[int]) -> None:
    from scipy.stats import chi2_contingency

    table = np.array(cells).reshape(-1, 3)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return
    found = found_in(table)
    pearson, likelihood = (chi2_contingency(table, correction=False, lambda_=name) for name in (None, "log-likelihood"))
    assert_allclose([found.chi2, found.chi2_p_value, found.df], pearson[:3], rtol=1e-9, atol=1e-12)
    assert_allclose([found.g, found.g_p_value], likelihood[:2], rtol=1e-9, atol=1e-9)
    assert_allclose(found.least_expected, pearson.expected_freq.min())


def test_statistics_of_the_reference() -> None:
    case = REFERENCE["G_two_questions"]
    found = found_in(case["reports"])
    assert_allclose(found.g, case["g_of_report_table"], rtol=1e-12)
    assert_allclose(found.chi2, case["chi2_of_report_table"], rtol=1e-12)
    assert_allclose(found.chi2_p_value, case["p"], rtol=1e-9)
    assert found.df == case["df"]


def fractions(table: np.ndarray[Any, Any]) -> Fraction:
    """Add up the exact probabilities of all tables that are no likelier: by going through all that could be."""
    margins = [
        table.sum(axis=tuple(other for other in range(table.ndim) if other != axis)) for axis in range(table.ndim)
    ]

    def weight(cells: np.ndarray[Any, Any]) -> Fraction:
        return Fraction(1, math.prod(math.factorial(int(cell)) for cell in cells.ravel()))

    everything = [
        weight(cells)
        for flat in itertools.product(range(int(table.sum()) + 1), repeat=table.size)
        if sum(flat) == table.sum()
        for cells in [np.array(flat).reshape(table.shape)]
        if all(
            (cells.sum(axis=tuple(o for o in range(table.ndim) if o != axis)) == margin).all()
            for axis, margin in enumerate(margins)
        )
    ]
    observed = weight(table)
    return sum((each for each in everything if each <= observed), Fraction(0)) / sum(everything)


@pytest.mark.parametrize(
    "table",
    [
        [[2, 0, 1], [0, 2, 0]],
        [[1, 1, 1], [3, 0, 0]],
        [[[1, 0], [0, 1]], [[0, 1], [0, 0]]],
        [[[2, 0], [0, 0]], [[0, 0], [0, 1]]],
    ],
)
def test_of_small_tables_the_p_value_is_that_of_all_tables(table: Any) -> None:
    found = found_in(table)
    assert found.exact_p_value is not None
    assert_allclose(found.p_value, float(fractions(np.array(table))), rtol=1e-12)


def test_random_tables_give_the_p_value_of_all_tables() -> None:
    table = np.array([[9, 4, 2], [3, 6, 5], [2, 3, 7]])
    exact = found_in(table)
    assert exact.exact_p_value is not None
    assert exact.tables > 1000
    from warner.association.independence import _simulated

    drawn = _simulated(table, 20_000, np.random.default_rng(3))
    # Five standard errors of a share of 20,000 draws.
    assert abs(drawn - exact.p_value) <= 5 * math.sqrt(exact.p_value / 20_000)
    three = np.array([[[4, 1], [1, 2]], [[1, 3], [2, 4]]])
    drawn = _simulated(three, 20_000, np.random.default_rng(4))
    p = found_in(three).p_value
    assert abs(drawn - p) <= 5 * math.sqrt(p / 20_000)


def test_where_tables_are_too_many_some_are_drawn() -> None:
    table = np.random.default_rng(1).poisson(40, size=(5, 5))
    found = found_in(table, simulations=199)
    assert found.exact_p_value is None
    assert found.simulated_p_value is not None
    assert found.exact
    assert found.tables == 199
    assert "199 random tables" in found.text()
    assert abs(found.p_value - found.chi2_p_value) < 0.2
    without = found_in(table)
    assert without.p_value == without.chi2_p_value
    assert "approximate" in without.text()


def test_the_level_is_held_by_simulated_tests() -> None:
    # 60 tables of independent reports: at 10 % at most 6 + 4 * sqrt(5.4) = 15 are found, or chance 4e-4.
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(60):
        table = np.zeros((3, 4, 2), dtype=np.int64)
        np.add.at(table, (rng.integers(3, size=60), rng.integers(4, size=60), rng.integers(2, size=60)), 1)
        found += found_in(table, simulations=39, rng=rng).p_value <= 0.1
    assert found <= 15


def test_what_nobody_reported_is_left_out() -> None:
    assert_allclose(found_in([[5, 0, 3], [0, 0, 0], [2, 0, 9]]).p_value, found_in([[5, 3], [2, 9]]).p_value)
    nothing = found_in([[5, 3], [0, 0]])
    assert (nothing.df, nothing.p_value) == (0, 1.0)
    assert "nothing to test" in nothing.text()


def test_weights_leave_only_approximate_tests() -> None:
    table = np.array([[60.0, 90.0], [80.0, 270.0]])
    found, half = found_in(table, effective=500.0), found_in(table, effective=250.0)
    assert found.exact_p_value is None
    assert not found.exact
    assert_allclose(half.chi2, found.chi2 / 2)
    assert half.to_dict()["p_value"] == half.chi2_p_value
    assert "approximate" in half.text()
    assert "rough because of small counts" in found_in(table, effective=5.0).text()
