"""Debiased indicators of the answers: right on average for every answer, by enumeration of all reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from designs.test_contract import DESIGNS, law
from tables import random_channel
from warner import Channel, RandomizedResponse, UnaryEncoding
from warner.designs.facts import full_symmetry
from warner.regression.data import Observations
from warner.regression.scores import debiased, debiasing

if TYPE_CHECKING:
    from warner.designs import Design


def rows_of(design: Design, *, in_table: bool) -> tuple[Observations, np.ndarray[Any, Any]]:
    """Return a row for each possible report, and the exact probability of each after each answer, (k, reports)."""
    reports, exact = law(design)
    probabilities = np.array(exact, dtype=float)
    n = probabilities.shape[1]
    matrix = design.law.likelihood(reports).matrix
    assert matrix is not None
    likelihood = np.ascontiguousarray(matrix().T)
    one = np.ones(n)
    number = np.arange(n) if in_table else np.full(n, -1)
    table = probabilities if in_table else None
    rows = Observations(
        one[:, None], likelihood, one, one, one, (design,), np.zeros(n, dtype=np.int64), number, (table,)
    )
    return rows, probabilities


def identified(probabilities: np.ndarray[Any, Any]) -> bool:
    return bool(np.linalg.matrix_rank(probabilities) == len(probabilities))


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.summary())
@pytest.mark.parametrize("in_table", [True, False])
def test_debiased_indicators_are_right_on_average_for_every_answer(design: Design, in_table: bool) -> None:
    if not in_table and full_symmetry(design.law) is None:
        pytest.skip("what has no symmetry has a table")
    rows, probabilities = rows_of(design, in_table=in_table)
    shares = np.arange(1.0, design.k + 1) / np.arange(1.0, design.k + 1).sum()
    z = debiased(rows, shares)
    assert (z is not None) == identified(probabilities)
    if z is not None:
        assert_allclose(probabilities @ z, np.eye(design.k), atol=1e-10)
        assert_allclose(z.sum(axis=1), 1, atol=1e-10)


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(0, 3))
def test_no_other_matrix_that_undoes_the_table_varies_less(seed: int, k: int, more: int) -> None:
    rng = np.random.default_rng(seed)
    table = random_channel(rng, k, k + more, concentration=2).channel()
    if np.linalg.svd(table, compute_uv=False)[-1] < 1e-3:
        return
    shares = rng.dirichlet(np.ones(k)) * 0.99 + 0.01 / k
    matrix = debiasing(table, shares)
    assert matrix is not None
    assert_allclose(table @ matrix, np.eye(k), atol=1e-9)
    assert_allclose(matrix.sum(axis=1), 1, atol=1e-9)
    # The formula as it is written.
    weighted = table.T / (shares @ table)[:, None]
    assert_allclose(matrix, weighted @ np.linalg.inv(table @ weighted), atol=1e-7)
    # Another inverse differs by columns of the null space of the table: the variance under the shares is larger.
    null = np.linalg.svd(table)[2][k:].T
    other = matrix + null @ rng.normal(size=(null.shape[1], k))
    assert_allclose(table @ other, np.eye(k), atol=1e-9)
    reported = shares @ table
    assert np.all(reported @ matrix**2 <= reported @ other**2 + 1e-9)


def test_reports_that_these_shares_would_never_make_still_count() -> None:
    table = Channel([["1", "0"], ["1/6", "5/6"]], ["yes", "no"], ["yes", "no"]).channel()
    matrix = debiasing(table, np.array([1.0, 0.0]))
    assert matrix is not None
    assert_allclose(matrix, np.array([[1, 0], [-0.2, 1.2]]), atol=1e-12)
    with_one_that_cannot_be = np.hstack([table, np.zeros((2, 1))])
    matrix = debiasing(with_one_that_cannot_be, np.array([0.4, 0.6]))
    assert matrix is not None
    assert_allclose(matrix, np.array([[1, 0], [-0.2, 1.2], [0, 0]]), atol=1e-12)


def test_each_row_is_debiased_by_its_own_design() -> None:
    direct = Channel([[1, 0], [0, 1]], ["yes", "no"], ["yes", "no"])
    dice = RandomizedResponse(["yes", "no"], truth="3/4")
    bits = UnaryEncoding(["yes", "no"], epsilon=1)
    p, q = bits.p, bits.q
    likelihood = np.array([[1, 0], [0.25, 0.75], [2, 1.0], [1, 1]])
    one = np.ones(4)
    tables = (direct.channel(), dice.channel(), None)
    rows = Observations(
        one[:, None], likelihood, one, one, one, (direct, dice, bits), np.array([0, 1, 2, 2]),
        np.array([0, 1, -1, -1]), tables,
    )  # fmt: skip
    z = debiased(rows, np.array([0.3, 0.7]))
    assert z is not None
    up = 1 / (2 * (p - q))
    assert_allclose(z, np.array([[1, 0], [-0.5, 1.5], [0.5 + up, 0.5 - up], [0.5, 0.5]]), atol=1e-12)


def test_a_design_that_does_not_tell_the_answers_has_none_but_only_if_somebody_used_it() -> None:
    coin = Channel([["1/2", "1/2"], ["1/2", "1/2"]], ["yes", "no"], ["yes", "no"])
    dice = RandomizedResponse(["yes", "no"], truth="3/4")
    one, report = np.ones(2), np.array([0, 1])
    tables = (dice.channel(), coin.channel())
    likelihood = dice.channel().T

    def rows(design: Any) -> Observations:
        return Observations(one[:, None], likelihood, one, one, one, (dice, coin), np.array(design), report, tables)

    shares = np.array([0.5, 0.5])
    assert debiasing(coin.channel(), shares) is None
    assert debiased(rows([0, 1]), shares) is None
    assert debiased(rows([0, 0]), shares) is not None
    cheating = np.array([[1, 0], [0.2, 0.8], [0, 1.0]])  # three answers, two reports
    assert debiasing(cheating, np.full(3, 1 / 3)) is None
