"""Covariates of groups: joined by name, and errors with a reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from cases import COIN, NINE
from warner import Tally, estimate_groups, pool
from warner.groups.random_walk import group_covariates

COUNTS = [[38, 62], [45, 55], [52, 48], [41, 59], [60, 40]]
REGIONS = Tally(COIN, COUNTS, by=("region",), groups=tuple((name,) for name in "ABCDE"))
INCOME = {"region": list("EDCBA"), "income": [5.0, 4.5, 3.0, 2.0, 1.0]}


def test_rows_are_joined_by_name() -> None:
    straight = estimate_groups(REGIONS, on={"region": list("ABCDE"), "income": [1.0, 2.0, 3.0, 4.5, 5.0]})
    assert_allclose(estimate_groups(REGIONS, on=INCOME).shares, straight.shares, rtol=1e-12)
    assert straight.on == ("income",)


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_any_data_frame_will_do(library: Any) -> None:
    module = pytest.importorskip(library)
    frame = module.table(INCOME) if library == "pyarrow" else module.DataFrame(INCOME)
    assert_allclose(estimate_groups(REGIONS, on=frame).shares, estimate_groups(REGIONS, on=INCOME).shares)


def test_numbers_and_their_spellings_are_one_name() -> None:
    texts = Tally(COIN, COUNTS, by=("region",), groups=tuple((str(i),) for i in range(5)))
    covariates = group_covariates(texts, {"region": np.arange(5.0), "x": [1, 2, 3, 4, 7]})
    assert covariates.tally.groups == texts.groups


def test_groups_without_reports_get_a_share() -> None:
    more = {"region": list("ABCDEF"), "income": [1.0, 2.0, 3.0, 4.5, 5.0, 9.0]}
    together = estimate_groups(REGIONS, on=more)
    table = together.table()
    assert table["region"][-1] == "F"
    assert table["reports"][-1] == 0
    assert table["own"][-1] == 0
    assert np.isfinite(table["share"]).all()
    assert_allclose(together.shares[:5], estimate_groups(REGIONS, on=INCOME).shares)
    both = pool([REGIONS, Tally(NINE, COUNTS, by=("region",), groups=REGIONS.groups)])
    assert len(estimate_groups(both, on=more).tally.groups) == 6


def test_scale_and_origin_of_covariates_do_not_matter() -> None:
    other = {"region": INCOME["region"], "income": 1e6 * np.array(INCOME["income"]) - 3}
    assert_allclose(estimate_groups(REGIONS, on=other).shares, estimate_groups(REGIONS, on=INCOME).shares, rtol=1e-9)


@pytest.mark.parametrize(
    ("on", "words"),
    [
        ({"income": [1, 2]}, "must have the column 'region'"),
        ({"region": list("ABCDE")}, "a column of numbers besides 'region'"),
        ({"region": list("ABCD"), "x": [1, 2, 3, 5]}, "has none for 'E'"),
        ({"region": list("ABCDEA"), "x": range(6)}, "'A' occurs twice"),
        ({"region": list("ABCDE"), "x": list("abcde")}, "'x' holds texts"),
        ({"region": list("ABCDE"), "x": [1, 2, 3, 4, None]}, "1 row lacks 'x'"),
        ({"region": list("ABCDE"), "x": [1, 2, 3, 4, np.inf]}, "finite"),
        ({"region": list("ABCDE"), "x": [1, 1, 1, 1, 1]}, "'x' is the same in all"),
        ({"region": list("ABCDE"), "x": [1, 2, 3, 4, 6], "y": [2, 4, 6, 8, 12]}, "follows from the other"),
        (
            {"region": list("ABCDE"), **{name: np.arange(5.0) ** p for p, name in enumerate("abcd", 1)}},
            "fewer covariates",
        ),
        ({"region": list("ABCDE"), "x": [1, 2]}, "equal length"),
    ],
)
def test_what_cannot_be_joined_is_refused_in_one_line(on: Any, words: Any) -> None:
    with pytest.raises(ValueError, match=words) as refused:
        estimate_groups(REGIONS, on=on)
    assert "\n" not in str(refused.value)


def test_no_frame_at_all_is_refused() -> None:
    with pytest.raises(TypeError, match="on must be a data frame or a mapping"):
        estimate_groups(REGIONS, on=3)


@pytest.mark.parametrize("unit", [1e-300, 1e-8, 1e8, 1e300])
def test_the_unit_of_a_covariate_changes_nothing(unit: float) -> None:
    numbers = np.array([1.0, 2.0, 4.0, 3.0, 7.0])
    one, other = (group_covariates(REGIONS, {"region": list("ABCDE"), "x": factor * numbers}) for factor in (1.0, unit))
    assert_allclose(other.matrix, one.matrix, rtol=1e-9)


def test_five_groups_may_have_three_covariates_and_no_more() -> None:
    columns = {name: np.arange(1.0, 6) ** power for power, name in enumerate(("income", "a", "b", "c"), start=1)}
    three = {"region": list("ABCDE")} | {name: columns[name] for name in ("income", "a", "b")}
    assert np.isfinite(estimate_groups(REGIONS, on=three).shares).all()
    with pytest.raises(ValueError, match="fewer covariates than there are groups"):
        estimate_groups(REGIONS, on=three | {"c": columns["c"]})
