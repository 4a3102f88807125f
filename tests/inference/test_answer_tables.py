"""Tables of answers for readers: the rows that are shown, their names, and what was collected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cases import COIN, THREE
from warner import Pool, Tally, estimate
from warner.inference.answer_tables import (
    collected,
    groups_counted,
    largest_first,
    left_out,
    name_columns,
    rows_left_out,
    totals_of,
)

GROUPS = Tally(
    THREE, [[60, 25, 15], [0, 0, 0], [10, 20, 70]], by=("g",), groups=(("a",), ("b",), (None,)), missing=[1, 0, 1]
)


def table(shares: list[list[float]]) -> dict[str, Any]:
    groups = np.repeat(np.array(["a", "b", None], dtype=object), THREE.k)
    return {"value": np.array(list(THREE.domain) * len(shares)), "share": np.ravel(shares), "g": groups}


SHARES = table([[0.2, 0.5, 0.3], [np.nan] * 3, [0.7, 0.1, 0.2]])


@pytest.mark.parametrize(
    ("rows", "ordered", "shown"),
    [
        (None, False, [0, 1, 2, 3, 6, 7, 8]),  # all, in the order of the domain; an empty group has one row
        (20, False, [1, 2, 0, 3, 6, 8, 7]),
        (2, False, [1, 2, 3, 6, 8]),
        (2, True, [1, 2, 3, 6, 8]),
        (20, True, [0, 1, 2, 3, 6, 7, 8]),
    ],
)
def test_rows_are_the_largest_of_each_group(rows: int | None, ordered: bool, shown: list[int]) -> None:
    assert largest_first(GROUPS, SHARES, rows, ordered=ordered).tolist() == shown


def test_what_is_left_out_is_counted() -> None:
    assert rows_left_out(GROUPS, SHARES, None) == rows_left_out(GROUPS, SHARES, 3) == []
    assert rows_left_out(GROUPS, SHARES, 2) == ["... and 1 more answer in each group"]
    many = Tally(THREE, [[1, 2, 3]] * 300, by=("g",), groups=tuple((i,) for i in range(300)))
    shares = {"value": np.zeros(900), "share": np.zeros(900)}
    assert rows_left_out(many, shares, 1) == ["... and 2 more answers in each group, 100 more groups"]
    assert rows_left_out(many, shares, 300) == ["... and 200 more groups"]  # as many rows as were asked for
    assert largest_first(many, shares, 300, ordered=False).size == 300


def test_a_group_without_reports_says_so_in_place_of_an_answer() -> None:
    group, value = name_columns(GROUPS, SHARES, np.array([0, 3, 8]))
    assert group.shown() == ["a", "b", "(missing)"]
    assert value.shown() == [THREE.domain[0], "no reports", THREE.domain[2]]


def test_what_was_collected_is_one_sentence() -> None:
    assert collected(GROUPS) == f"200 reports among 3 answers, epsilon {THREE.shown_epsilon()}"
    assert groups_counted(GROUPS) == "3 groups by g"
    assert left_out(GROUPS) == ["2 missing left out"]
    both = Pool((Tally(COIN, [40, 60]), Tally(COIN, [10, 10])))
    assert collected(both) == "120 reports among 2 answers, epsilon at most 1.099, 2 designs"


def test_totals_are_those_of_the_group_or_of_a_single_row() -> None:
    totals = totals_of(GROUPS, SHARES)
    assert totals is not None
    assert totals.tolist() == [100] * 3 + [0] * 3 + [100] * 3
    alone = Tally(THREE, [60, 25, 15])
    assert totals_of(alone, {"value": np.zeros(3)}) is None


def test_a_number_is_written_to_its_error_and_a_quantile_as_it_is() -> None:
    result = estimate(Tally(COIN, [[40, 60], [0, 0]], by=("g",), groups=(("a",), ("b",))))
    assert result.mean([0, 1]).value_texts() == [("0.700", "0.494 to 0.893"), ("no reports", "")]
    assert result.median([0, 1]).value_texts() == [("1", "0 to 1"), ("no reports", "")]
    alone = estimate(Tally(COIN, [40, 60])).median([0, 1])
    assert alone.text() == "median 1, 0 to 1, 95 % interval (population), clopper_pearson"
