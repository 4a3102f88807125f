"""Several designs in one table, by a column that names them; and rows that are chosen by their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from engines import ENGINES, Table, in_engine
from warner import Pool, RandomizedResponse, SubsetSelection, Tally, estimate, pool, regress, surveys, tally
from workbooks import row, workbook

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("duckdb", reason="files are read by DuckDB, which is not installed")

DESIGNS = {"dice": RandomizedResponse(["yes", "no"], truth="3/4"), "direct": surveys.direct(reports=["A", "B"])}
COUNTS = {("yes", "dice"): 40, ("no", "dice"): 60, ("A", "direct"): 10, ("B", "direct"): 90}
ROWS: Table = {
    "answer": [answer for (answer, _), times in COUNTS.items() for _ in range(times)],
    "version": [version for (_, version), times in COUNTS.items() for _ in range(times)],
    "region": [["north", "south"][i % 2] for i in range(200)],
}
POOLED = pool([Tally(DESIGNS["dice"], [40, 60]), Tally(DESIGNS["direct"], [10, 90])])


@pytest.mark.parametrize("engine", ENGINES)
def test_reports_are_counted_under_the_design_of_their_row(engine: str, tmp_path: Path) -> None:
    table = in_engine(engine, ROWS, tmp_path)
    counted = tally(table, DESIGNS, column="answer", by="version")
    assert isinstance(counted, Pool)
    assert counted.to_dict() == POOLED.to_dict()
    one = tally(table, DESIGNS["direct"], column="answer", where={"version": "direct"})
    assert one.counts.tolist() == [10, 90]


def test_they_are_estimated_together_as_a_regression_does() -> None:
    counted = tally(ROWS, DESIGNS, column="answer", by="version")
    fit = regress("answer", ROWS, DESIGNS, by="version", on=[])
    together = 1 / (1 + np.exp(-fit.coefficients[0]))
    np.testing.assert_allclose(estimate(counted).shares[0], together, atol=1e-6)  # both maximize one likelihood


def test_groups_are_the_other_columns(tmp_path: Path) -> None:
    counted = tally(ROWS, DESIGNS, column="answer", by=["version", "region"])
    assert (counted.by, counted.groups) == (("region",), (("north",), ("south",)))
    assert [part.counts.tolist() for part in counted.parts] == [[[20, 30], [20, 30]], [[5, 45], [5, 45]]]
    rows = [row("answer", "version"), *(row(a, v) for a, v in zip(ROWS["answer"], ROWS["version"], strict=True))]
    path = workbook(tmp_path / "x.xlsx", {"Data": rows})
    assert tally(path, DESIGNS, column="answer", by="version").to_dict() == POOLED.to_dict()


def test_versions_may_be_numbers(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    numbers = {**ROWS, "version": [1.0 if name == "dice" else 2.0 for name in ROWS["version"]]}
    in_engine("parquet", numbers, tmp_path)
    table: Any = next(tmp_path.glob("*.parquet"), path)
    designs = {"1": DESIGNS["dice"], "2": DESIGNS["direct"]}
    assert tally(table, designs, column="answer", by="version").to_dict() == POOLED.to_dict()


def test_sets_are_counted_in_the_rows_that_are_meant(tmp_path: Path) -> None:
    survey = SubsetSelection(10, epsilon=1)
    reports = [str(report) for report in survey.randomize([3] * 40)]
    table = {"set": reports, "wave": ["a", "b"] * 20}
    for engine in ("parquet", "csv", "pandas"):
        counted = tally(in_engine(engine, table, tmp_path), survey, column="set", where={"wave": "b"})
        assert counted == tally(reports[1::2], survey)


@pytest.mark.parametrize(
    ("options", "error", "complaint"),
    [
        ({}, TypeError, "by must be given with several designs"),
        ({"by": "mode"}, ValueError, "there is no column 'mode'"),
        (
            {"by": "region"},
            ValueError,
            r"the names of designs \('dice', 'direct'\), but 200 rows have",
        ),
        ({"by": "version", "where": {"mode": 1}}, ValueError, "there is no column 'mode'"),
    ],
)
def test_what_names_no_design_is_refused(
    options: dict[str, Any], error: type[Exception], complaint: str, tmp_path: Path
) -> None:
    for table in (in_engine("csv", ROWS, tmp_path), in_engine("polars", ROWS, tmp_path), ROWS):
        with pytest.raises(error, match=complaint):
            tally(table, DESIGNS, column="answer", **options)


def test_rows_without_a_version_are_refused(tmp_path: Path) -> None:
    rows: Table = {"answer": ["yes", "no"], "version": ["dice", None]}
    for table in (in_engine("csv", rows, tmp_path), in_engine("pandas", rows, tmp_path), rows):
        with pytest.raises(ValueError, match="but 1 row has no value there"):
            tally(table, DESIGNS, column="answer", by="version")


def test_a_list_has_no_versions() -> None:
    with pytest.raises(TypeError, match="reports must be a table, one of whose columns names the design"):
        tally(["yes"], DESIGNS, by="version")
    with pytest.raises(TypeError, match="where names columns, and must be left out for a sequence"):
        tally(["yes"], DESIGNS["dice"], where={"a": 1})
