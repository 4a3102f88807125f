"""Reports of an open domain, by level: counted, added up, saved and loaded."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

import warner
from engines import ENGINES, in_engine, sqlite_table
from warner import OpenDomain, OpenTally

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WORDS = OpenDomain(epsilon=2, letters="a-z", length=6, step=3)


def some_reports(n: int = 200, seed: int = 1) -> list[str]:
    rng = np.random.default_rng(seed)
    blocks = WORDS.values.encoded(rng.choice(["one", "two", "three"], size=n).tolist()).blocks
    written: list[str] = WORDS.report_form.written(WORDS.draw(blocks, rng.bytes)).tolist()
    return written


def test_reports_are_counted_by_level() -> None:
    reports = some_reports()
    tally = warner.tally(reports, WORDS)
    assert isinstance(tally, OpenTally)
    assert tally.n == 200
    assert tally.level_sizes.tolist() == [sum(report[0] == level for report in reports) for level in "12"]
    rows = sorted(map(tuple, WORDS.report_form.read(reports).reports.tolist()))
    assert sorted(map(tuple, tally.rows[0].tolist())) == rows
    assert repr(tally).startswith("<OpenTally of 200 reports of 2 levels: ")
    assert tally.shown_epsilon() == "2"


def test_the_order_of_reports_is_not_kept() -> None:
    reports = some_reports()
    assert warner.tally(reports, WORDS) == warner.tally(reports[::-1], WORDS)
    assert warner.tally(reports, WORDS).to_json() == warner.tally(reports[::-1], WORDS).to_json()


def test_tallies_add_up() -> None:
    reports = some_reports()
    parts = [warner.tally(reports[i::3], WORDS) for i in range(3)]
    assert sum(parts) == warner.tally(reports, WORDS)
    assert hash(sum(parts)) == hash(warner.tally(reports, WORDS))
    with pytest.raises(ValueError, match="same design"):
        parts[0] + warner.tally([], WORDS.with_epsilon(1))
    with pytest.raises(TypeError):
        parts[0] + 1


def test_groups_are_kept_apart_and_add_up() -> None:
    reports = [*some_reports(60), None, "nonsense"]
    region = ["north", "south", None] * 20 + ["north", "south"]
    tally = warner.tally(reports, WORDS, by={"region": region}, unknown="drop")
    assert tally.groups == (("north",), ("south",), (None,))
    assert tally.n.tolist() == [20, 20, 20]
    assert tally.missing.tolist() == [1, 0, 0]
    assert tally.unknown.tolist() == [0, 1, 0]
    for number, name in enumerate(["north", "south", None]):
        alone = warner.tally(
            [report for report, group in zip(reports[:60], region, strict=False) if group == name], WORDS
        )
        for one, two in zip(tally.of_group(number), alone.levels, strict=True):
            assert_array_equal(one.directions, two.directions)
            assert_array_equal(one.values, two.values)
    parts = [
        warner.tally(reports[start : start + 31], WORDS, by={"region": region[start : start + 31]}, unknown="drop")
        for start in (0, 31)
    ]
    assert parts[0] + parts[1] == tally
    assert "'nonsense' once" in tally.left_out()
    with pytest.raises(ValueError, match="same grouping"):
        parts[0] + warner.tally([], WORDS)


@pytest.mark.parametrize("grouped", [False, True])
def test_a_tally_survives_its_file(grouped: bool, tmp_path: Path) -> None:
    by = {"half": ["a", "b"] * 100} if grouped else None
    tally = warner.tally([*some_reports(199), None], WORDS, by=by)
    tally.save(tmp_path / "tally.json")
    assert OpenTally.load(tmp_path / "tally.json") == tally
    assert OpenTally.from_json(tally.to_json()).to_json() == tally.to_json()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"reports": ["1:0:9"]}, "reports must be level:direction:value"),
        ({"reports": "1:0:1"}, "reports must be a list"),
        ({"missing": -1}, "missing must be a whole number"),
        ({"missing": 10**30}, "missing must be a whole number from 0 to 2\\^53"),
        ({"unknown": [0]}, "unknown must be a whole number"),
        ({"by": ["x"], "groups": []}, "reports must be a list"),
        ({"design": warner.RandomizedResponse(2, epsilon=1).to_dict()}, "design must be an open domain"),
        ({"surplus": 1}, "surplus"),
    ],
)
def test_a_damaged_file_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OpenTally.from_dict(warner.tally(some_reports(3), WORDS).to_dict() | changed)


def test_reports_may_stand_for_several() -> None:
    reports = some_reports(4)
    assert warner.tally(reports, WORDS, counts=[2, 0, 1, 1]) == warner.tally(
        [reports[0], *reports[:1], *reports[2:]], WORDS
    )
    rows = WORDS.report_form.read(reports).reports
    assert warner.tally(rows, WORDS, codes=True) == warner.tally(np.array(reports, dtype=object), WORDS)


def test_what_is_no_report_is_refused_with_one_clear_line() -> None:
    with pytest.raises(ValueError, match="but 1 is not: 'nonsense'"):
        warner.tally([*some_reports(3), "nonsense"], WORDS)
    with pytest.raises(TypeError, match="not weighted"):
        warner.tally(some_reports(3), WORDS, weights=[1, 2, 3])
    with pytest.raises(TypeError, match="column must be left out"):
        warner.tally(some_reports(3), WORDS, column="word")


@pytest.mark.parametrize("engine", [*ENGINES, "sqlite", "mapping"])
@pytest.mark.filterwarnings("ignore:.*(infer_string|fetch_arrow_table):DeprecationWarning")  # Ibis
def test_files_and_frames_give_the_same_tally(engine: str, tmp_path: Path) -> None:
    reports: list[Any] = [*some_reports(50), None, "nonsense"]
    region, times = ["north", "south"] * 26, [1, 2] * 26
    wanted = warner.tally(reports, WORDS, by={"region": region}, counts=times, unknown="drop")
    columns: dict[str, list[Any]] = {"word": reports, "region": region, "times": times}
    others: dict[str, Any] = {"sqlite": sqlite_table, "mapping": lambda table, _: table}
    source = others.get(engine, partial(in_engine, engine))(columns, tmp_path)
    made = warner.tally(source, WORDS, column="word", by="region", counts="times", unknown="drop")
    assert made == wanted
    assert made.level_sizes.sum() == sum(times[:50])
    assert (made.missing.tolist(), made.unknown.tolist()) == ([1, 0], [0, 2])
    some = warner.tally(source, WORDS, column="word", counts="times", where={"region": "south"}, unknown="drop")
    assert some.n == wanted.n[1]
    with pytest.raises(ValueError, match="'nonsense'"):
        warner.tally(source, WORDS, column="word")


def test_a_file_without_rows_is_an_empty_tally(tmp_path: Path) -> None:
    (tmp_path / "reports.csv").write_text("word,region\n")
    assert warner.tally(tmp_path / "reports.csv", WORDS, column="word").n == 0
    empty = warner.tally(tmp_path / "reports.csv", WORDS, column="word", by="region")
    assert (empty.groups, empty.n.tolist(), empty.missing.tolist()) == ((), [], [])
    assert empty + empty == OpenTally.from_json(empty.to_json()) == empty
    assert empty.closed(["one", "two"]).counts.shape == (0, 2)
    grouped = warner.tally(some_reports(3), WORDS, by={"region": ["a", "a", "b"]})
    assert empty + grouped == grouped + empty == grouped
    with pytest.raises(ValueError, match="level 1 has none of its 0"):
        warner.discover(empty)


@pytest.mark.parametrize("grouped", [False, True])
def test_a_list_is_read_in_reports_that_were_collected_openly(grouped: bool) -> None:
    reports = [*some_reports(3000), None]
    by = {"half": ["a", "b"] * 1500 + ["a"]} if grouped else None
    words = ["one", "three", "never"]
    closed = warner.tally(reports, WORDS, by=by).closed(words, other=True)
    assert closed == warner.tally(reports, WORDS.closed(words, other=True), by=by)
    assert closed.domain == ("one", "three", "never", "(other)")
    assert np.sum(closed.n) == sum(report is not None and report[0] == "2" for report in reports)
    shares = np.atleast_2d(warner.estimate(closed).shares)
    # A third each hold one and three; standard errors are below 3 points in halves of 3,000.
    assert (np.abs(shares - [1 / 3, 1 / 3, 0, 0]) < 5 * 0.03).all()
    assert warner.Tally.from_json(closed.to_json()) == closed


@pytest.mark.parametrize("form", ["list", "array", "pandas", "polars", "arrow", "parquet", "duckdb"])
def test_reports_may_be_texts_in_bytes(form: str, tmp_path: Path) -> None:
    texts = [*some_reports(50), "nonsense", "2:é:1"]
    column = pa.array([*(text.encode() for text in texts), None], pa.binary())
    wanted = warner.tally([*texts, None], WORDS, unknown="drop")
    assert (wanted.n, wanted.missing, wanted.unknown) == (50, 1, 2)
    source: Any = column.to_pylist()
    if form == "array":
        source = np.array(source, dtype=object)
    elif form == "pandas":
        source = pd.DataFrame({"word": source})
    elif form == "polars":
        source = pl.DataFrame({"word": source})
    elif form != "list":
        source = pa.table({"word": column})
    if form == "parquet":
        pq.write_table(source, source := tmp_path / "reports.parquet")
    elif form == "duckdb":
        source = duckdb.from_arrow(source)
    assert warner.tally(source, WORDS, unknown="drop") == wanted
    with pytest.raises(ValueError, match="2 are not: b'nonsense'"):
        warner.tally(source, WORDS)


def test_columns_of_other_types_are_refused_with_what_reports_are() -> None:
    with pytest.raises(TypeError, match="must hold strings or bytes such as 2:01f:1, as the reports are, but holds"):
        warner.tally(pa.table({"word": [[1, 2, 3]]}), WORDS)


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows + 0.5,
        lambda rows: rows.ravel(),
        lambda rows: rows[:8, :3],
        lambda rows: np.hstack([rows, rows]),
        lambda rows: rows.astype(object),
        lambda rows: np.where(rows == rows[0, 1], np.nan, rows),
    ],
)
def test_codes_are_rows_of_whole_numbers_and_nothing_else(change: Callable[[Any], Any]) -> None:
    rows = WORDS.report_form.read(some_reports(60)).reports
    with pytest.raises(TypeError, match="reports must be rows of 4 whole numbers, but got shape"):
        warner.tally(change(rows), WORDS, codes=True, unknown="drop")
    huge = np.full((2, 4), 2**64 - 1, dtype=np.uint64)
    assert warner.tally(huge, WORDS, codes=True, unknown="drop").unknown == 2


@pytest.mark.parametrize("name", ["value", "other", "support", "share", "low", "high", "p", "adjusted"])
def test_groups_do_not_take_the_names_of_columns_of_the_result(name: str) -> None:
    with pytest.raises(ValueError, match=f"by must not name a group '{name}'"):
        warner.tally(some_reports(4), WORDS, by={name: ["a", "b"] * 2})


def test_more_reports_than_memory_holds_are_refused() -> None:
    with pytest.raises(ValueError, match=r"1,000,000,000,002 reports need about .* check that counts are the numbers"):
        warner.tally(some_reports(3), WORDS, counts=[10**12, 1, 1])


def test_a_report_takes_a_few_bytes() -> None:
    design = OpenDomain(epsilon=1, bits=48, step=16)
    rng = np.random.default_rng(1)
    rows = design.draw(np.column_stack([rng.integers(2**16, size=10_000) for _ in range(3)]), rng.bytes)
    tally = OpenTally.of_rows(design, rows)
    held = sum(reports.directions.nbytes + reports.values.nbytes for reports in tally.levels)
    assert held + sum(place.nbytes for place in tally.places) < 40 * 10_000
