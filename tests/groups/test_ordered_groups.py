"""Ordered group values: numbers, dates, weeks, months and quarters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from warner.groups.random_walk import axis_of_values


@pytest.mark.parametrize(
    ("values", "positions"),
    [
        ([3, 1, 2], [3, 1, 2]),
        (["1", "10", "2"], [1, 10, 2]),
        (["1970-01-02", "1970-01-10", None], [1, 9, np.nan]),
        (["2026-W01", "2026-W02"], [20451, 20458]),
        (["1970-Q1", "1970-Q2"], [0, 90]),
        (["1970-01", "1970-02"], [0, 31]),
    ],
)
def test_values_with_an_order_have_positions(values: Any, positions: Any) -> None:
    axis = axis_of_values(values)
    assert axis is not None
    assert_allclose(axis.positions, positions)


@pytest.mark.parametrize(
    "values", [["north", "south"], [], [None], [True, False], ["1", 1], ["2026-02-30", "2026-01-01"]]
)
def test_values_without_an_order_have_none(values: Any) -> None:
    assert axis_of_values(values) is None


def test_values_may_come_again() -> None:
    axis = axis_of_values([1, 1, 2])
    assert axis is not None
    assert axis.positions.tolist() == [1, 1, 2]
