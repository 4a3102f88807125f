"""Several files at once: lists, folders, patterns, and the columns that folders name."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cases import COIN
from warner import UnaryEncoding, estimate, regress, tally
from warner.reports.files import partition, partition_columns

if TYPE_CHECKING:
    from pathlib import Path

duckdb = pytest.importorskip("duckdb", reason="files are read by DuckDB, which is not installed")

DAYS = {2: {"yes": 3, "no": 5}, 10: {"yes": 1, "no": 4}}


@pytest.fixture(params=["csv", "parquet", "jsonl"])
def partitioned(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """Return a folder of reports by day and place, as Spark would write it, with what else it leaves there."""
    for day, counts in DAYS.items():
        folder = tmp_path / "ds" / f"day={day}" / "place=New%20York"
        folder.mkdir(parents=True)
        answers = ", ".join(f"('{answer}')" for answer, times in counts.items() for _ in range(times))
        form = {"csv": "csv", "parquet": "parquet", "jsonl": "json"}[request.param]
        duckdb.sql(
            f"COPY (SELECT * FROM (VALUES {answers}) t(answer)) TO '{folder}/part-0.{request.param}' (FORMAT {form})"
        )
    (tmp_path / "ds" / "_SUCCESS").touch()
    (tmp_path / "ds" / "readme.txt").touch()
    return tmp_path / "ds", request.param


def test_a_folder_is_read_with_the_columns_of_its_folders(partitioned: tuple[Path, str]) -> None:
    folder, ending = partitioned
    days = (("2",), ("10",)) if ending == "csv" else ((2,), (10,))  # all columns of a CSV file are texts
    rows = [[3, 5], [1, 4]]
    for given in (folder, f"{folder}/**/*.{ending}", sorted(folder.rglob("part-*"))):
        counted = tally(given, COIN, by="day")  # a folder's column is not taken for the reports
        assert (counted.groups, counted.counts.tolist()) == (days, rows)
    assert tally(folder, COIN, by=["place", "day"]).groups == tuple(("New York", *day) for day in days)
    assert tally(folder, COIN).counts.tolist() == [4, 9]
    fit = regress("answer ~ day", folder, COIN)
    assert fit.people == 13


def test_reports_that_are_sets_come_from_partitions_as_well(tmp_path: Path) -> None:
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    design = UnaryEncoding(["a", "b", "c"], epsilon=1)
    reports = {}
    for day in (2, 10):
        (tmp_path / f"day={day}").mkdir()
        reports[day] = design.randomize(["a", "b", "c", "a"])
        pq.write_table(pa.table({"report": list(reports[day])}), tmp_path / f"day={day}" / "f.parquet")
    for keep in (False, True):
        counted = tally(tmp_path, design, by="day", keep=keep)
        assert counted.groups == ((2,), (10,))
        for row, day in zip(counted.counts, (2, 10), strict=True):
            assert row.tolist() == tally(list(reports[day]), design).counts.tolist()
    assert estimate(counted, method="mle").shares.shape == (2, 3)


@pytest.mark.filterwarnings("ignore:the reports do not seem to fit")  # they are drawn anew
def test_the_reports_of_several_files_can_be_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    monkeypatch.setattr("warner.reports.counting.HELD_BYTES", 0)
    design = UnaryEncoding(["a", "b", "c"], epsilon=1)
    files = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    for file in files:
        pq.write_table(pa.table({"report": list(design.randomize(["a", "b"] * 20))}), file)
    counted = tally(files, design, keep=True)
    assert estimate(counted, method="mle").shares.sum() == pytest.approx(1)
    pq.write_table(pa.table({"report": list(design.randomize(["a"]))}), files[1])
    with pytest.raises(ValueError, match=r"one.parquet, .*two.parquet has changed since"):
        estimate(counted, method="mle")


def test_a_column_of_the_file_itself_wins_over_its_folder(tmp_path: Path) -> None:
    (tmp_path / "run=3").mkdir()
    file = tmp_path / "run=3" / "reports.csv"
    file.write_text("answer,run\nyes,7\nno,7\n")
    assert tally(file, COIN, column="answer", by="run").groups == (("7",),)


def test_a_file_is_not_counted_twice(tmp_path: Path) -> None:
    file = tmp_path / "reports.csv"
    file.write_text("answer\nyes\n")
    with pytest.raises(ValueError, match="counted twice"):
        tally([file, tmp_path / ".." / tmp_path.name / "reports.csv"], COIN)
    for given in ([file, file], [tmp_path, file]):
        with pytest.raises(ValueError, match="counted twice"):
            tally(given, COIN)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"holds no file that ends in \.csv"):
        tally(tmp_path, COIN)
    with pytest.raises(FileNotFoundError, match=r"there is no file .*nothing.csv"):
        tally([tmp_path / "nothing.csv"], COIN)
    for place in ("s3://bucket/reports.parquet", "https://example.org/reports.csv"):
        with pytest.raises(ValueError, match="is not on this machine"):
            tally(place, COIN)
    assert tally(["yes", "no"], COIN).n == 2  # texts in a list are reports


def test_folders_that_differ_stand_for_no_column() -> None:
    assert partition("a=1/b=/c/f.csv") == {"a": "1", "b": ""}
    assert partition("day=__HIVE_DEFAULT_PARTITION__/f.csv") == {"day": None}
    assert partition_columns(["day=1/f.csv", "day=007/f.csv"]) == {"day": False}
    assert partition_columns(["day=1/f.csv", "day=__HIVE_DEFAULT_PARTITION__/f.csv"]) == {"day": True}
    assert partition_columns(["day=1/f.csv", "f.csv"]) == {}


def test_a_json_array_is_read_as_lines_are(tmp_path: Path) -> None:
    file = tmp_path / "reports.json"
    file.write_text('\n [\n {"answer": "yes", "n": 2},\n {"answer": "no", "n": 5}\n]\n')
    assert tally(file, COIN, column="answer", counts="n").counts.tolist() == [2, 5]
    (tmp_path / "more.json").write_text('{"answer": "yes", "n": 1}\n')
    with pytest.raises(ValueError, match="must all be arrays"):
        tally(tmp_path, COIN, column="answer")


@pytest.mark.parametrize("kind", ["HUGEINT", "UHUGEINT", "DOUBLE", "DECIMAL(38, 0)", "DECIMAL(18, 3)", "FLOAT"])
def test_counts_may_be_sums_of_any_engine(tmp_path: Path, kind: str) -> None:
    table = f"SELECT answer, n::{kind} AS n FROM (VALUES ('yes', 2), ('no', 5)) t(answer, n)"
    assert tally(duckdb.sql(table), COIN, column="answer", counts="n").counts.tolist() == [2, 5]
    duckdb.sql(f"COPY ({table}) TO '{tmp_path}/counts.parquet'")
    assert tally(tmp_path / "counts.parquet", COIN, column="answer", counts="n").counts.tolist() == [2, 5]


@pytest.mark.parametrize(
    "bad", ["1.5::DOUBLE", "'nan'::DOUBLE", "-1::HUGEINT", "1e300", "NULL::DOUBLE", "1.5::DECIMAL(9, 2)"]
)
def test_counts_that_are_no_whole_numbers_are_refused(bad: str) -> None:
    with pytest.raises(ValueError, match=r"counts must be whole numbers from 0 to 2\^53, but 1 is not"):
        tally(duckdb.sql(f"SELECT 'yes' AS answer, {bad} AS n"), COIN, column="answer", counts="n")


def test_whole_doubles_are_counts_in_arrays_and_frames() -> None:
    assert tally(["yes", "no"], COIN, counts=np.array([2.0, 5.0])).counts.tolist() == [2, 5]
    with pytest.raises(ValueError, match="counts must be whole numbers"):
        tally(["yes", "no"], COIN, counts=np.array([2.5, 5.0]))
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"answer": ["yes", "no"], "n": [2.0, 5.0]})
    assert tally(frame, COIN, column="answer", counts="n").counts.tolist() == [2, 5]
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"answer": ["yes", "no"], "n": [Decimal(2), Decimal(5)]})
    assert tally(frame, COIN, column="answer", counts="n").counts.tolist() == [2, 5]
