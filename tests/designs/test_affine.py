"""Reports of affine hashing as they are written: alpha:beta:value, or three whole numbers.

It tests designs/hashing.py as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from engines import in_engine
from warner import LocalHashing, tally
from warner.designs.labels import MISSING, OUTSIDE
from warner.designs.report_forms import HashForm
from warner.reports.randomizing_files import randomize_file

if TYPE_CHECKING:
    from pathlib import Path

DESIGN = LocalHashing.affine(["a", "b", "c", "d", "e"], odds=(3, 1), values=2, prime=5)
ROWS = [[1, 0, 1], [4, 4, 0], [2, 3, 1], [1, 0, 1]]
WRITTEN = ["1:0:1", "4:4:0", "2:3:1", "1:0:1"]


@pytest.mark.parametrize(
    "values",
    [WRITTEN, ROWS, [tuple(row) for row in ROWS], np.array(ROWS), np.array(WRITTEN), [np.array(r) for r in ROWS]],
)
def test_reports_are_read_from_text_lists_and_rows(values: Any) -> None:
    read = HashForm(5, 2).read(values)
    assert_array_equal(read.reports, ROWS)
    assert not read.status.any()
    assert tally(values, DESIGN) == tally(WRITTEN, DESIGN)
    assert HashForm(5, 2).written(read.reports).tolist() == WRITTEN


def test_what_is_no_report_is_told_apart() -> None:
    wrong = [
        "0:0:1",
        "5:0:1",
        "1:5:0",
        "1:0:2",
        "1:0",
        "1:0:1:0",
        "01:0:1",
        "1:-1:0",
        "x",
        "",
        "1:0:1 ",
        7,
        [1, 0],
        1.5,
    ]
    wrong += [[True, 0, 1], [1, 0, 10**30], [1, 0, -(10**30)], "9" * 5000 + ":0:1", {}]
    read = HashForm(5, 2).read([*wrong, None, float("nan"), "1:0:1"])
    assert read.status.tolist() == [OUTSIDE] * len(wrong) + [MISSING, MISSING, 0]
    assert HashForm(5, 2).read(np.array([[1, 0, 2**63]], dtype=np.uint64)).status.tolist() == [OUTSIDE]
    with pytest.raises(
        ValueError, match="alpha:beta:value with alpha from 1 and beta from 0 to 4, and value from 0 to 1"
    ):
        tally(["1:0:7"], DESIGN)
    assert tally(["1:0:7", "1:0:1"], DESIGN, unknown="drop").unknown == 1


def test_codes_are_rows_of_three() -> None:
    assert tally(np.array(ROWS), DESIGN, codes=True) == tally(WRITTEN, DESIGN)
    assert DESIGN.randomize(np.array([0, 1]), codes=True).shape == (2, 3)
    assert isinstance(DESIGN.randomize("a"), str)
    with pytest.raises(TypeError, match="rows of three whole numbers, but got shape"):
        tally(np.array([[1, 2]]), DESIGN, codes=True)


@pytest.mark.parametrize("engine", ["pandas", "polars", "polars, lazy", "pyarrow", "duckdb", "csv", "parquet"])
def test_columns_of_text_are_counted_in_every_engine(engine: str, tmp_path: Path) -> None:
    table: dict[str, list[Any]] = {"report": [*WRITTEN, None], "group": ["x", "y", "x", "y", "x"]}
    counted = tally(in_engine(engine, table, tmp_path), DESIGN, column="report", by="group")
    expected = tally([*WRITTEN, None], DESIGN, by={"group": table["group"]})
    assert counted == expected


@pytest.mark.parametrize("engine", ["pandas, plain types", "polars", "duckdb", "json lines"])
def test_columns_of_lists_are_counted_where_an_engine_can_group_them(engine: str, tmp_path: Path) -> None:
    counted = tally(in_engine(engine, {"report": ROWS}, tmp_path), DESIGN, column="report")
    assert counted == tally(WRITTEN, DESIGN)


def test_a_column_of_numbers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="must hold strings such as 12:0:3, or lists of integers"):
        tally(in_engine("polars", {"report": [1, 2]}, tmp_path), DESIGN)
    with pytest.raises(TypeError, match="codes must be left out"):
        tally(in_engine("polars", {"report": WRITTEN}, tmp_path), DESIGN, codes=True)


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_a_file_of_answers_becomes_a_file_of_reports(ending: str, tmp_path: Path) -> None:
    source, target = tmp_path / "answers.csv", tmp_path / f"reports.{ending}"
    source.write_text("answer\n" + "a\nb\nc\n" * 20)
    assert randomize_file(source, DESIGN, target) == 60
    assert tally(target, DESIGN).n == 60


@pytest.mark.parametrize("values", [2, 50, 5000])
def test_one_draw_below_2_to_the_62_decides_whatever_the_number_of_values(values: int) -> None:
    a, b = LocalHashing.affine(6000, epsilon=1, values=values).odds
    assert a + (values - 1) * b < 2**62
