"""Reports that a tally keeps: in memory, or in the file that they are in, which is read again at every pass."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from engines import in_engine
from warner import (
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    SubsetSelection,
    Tally,
    UnaryEncoding,
    estimate,
    tally,
)
from warner.reports import batches, counting
from warner.reports import subtotals as kept_reports
from warner.reports.subtotals import ReportBlock, StoredReports

BITS = UnaryEncoding(list("abcdefghijk"), odds=(3, 1))
LONG = SubsetSelection(70, odds=(3, 1), size=20)  # more than 64 bits
HASHES = LocalHashing.affine(list("abcdefg"), odds=(3, 1), values=3)
DESIGNS: dict[str, Any] = {"bits": BITS, "long": LONG, "hashes": HASHES}
OTHERS = ("pandas", "pandas, plain types", "polars, lazy", "pyarrow", "duckdb", "ibis", "csv", "csv.gz", "json lines")
IN_FILES = ("parquet", "csv", "csv.gz", "json lines")
PEOPLE = 200


def table_of(name: str) -> dict[str, list[Any]]:
    design, rng = DESIGNS[name], np.random.default_rng(5)
    drawn = design.draw(rng.integers(0, design.k, PEOPLE), rng.bytes).tolist()
    reports = [":".join(map(str, row)) if name == "hashes" else bytes(row).hex() for row in drawn]
    return {
        "report": [None if i % 7 == 0 else "no report" if i % 29 == 0 else reports[i] for i in range(PEOPLE)],
        "region": [None if i % 3 == 0 else "nord" if i % 2 else "süd" for i in range(PEOPLE)],
        "weight": [float(w) for w in rng.integers(1, 9, PEOPLE) / 4],
        "times": rng.integers(0, 5, PEOPLE).tolist(),
    }


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BATCH_ROWS", 32)
    monkeypatch.setattr(kept_reports, "REPORTS_IN_BLOCK", 16)
    monkeypatch.setattr(counting, "HELD_BYTES", 0)


def blocks_of(counted: Tally, group: int | None = None) -> list[ReportBlock]:
    assert counted.kept is not None
    return list(counted.kept.blocks(group))


def assert_kept(counted: Tally) -> None:
    """Count what was kept, group by group, twice: it must give the tally itself."""
    counts, n = counted.rows()
    for group in [0, *range(len(n))]:
        blocks = blocks_of(counted, group)
        assert all(len(block.reports) for block in blocks)
        sums = [counted.design.law.count(block.reports, block.amounts) for block in blocks]
        assert_array_equal(sum(part.counts for part in sums), counts[group])
        assert sum(part.n for part in sums) == n[group]
    assert 0 < sum(len(block.reports) for block in blocks_of(counted)) <= PEOPLE


OPTIONS: dict[str, dict[str, Any]] = {
    "alone": {},
    "by": {"by": "region"},
    "weights": {"by": "region", "weights": "weight"},
    "counts": {"counts": "times"},
}


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        *((name, engine) for name in DESIGNS for engine in ("polars", "parquet")),
        *(("bits", engine) for engine in OTHERS),
    ],
)
def test_what_is_kept_is_what_was_counted(engine: str, name: str, tmp_path: Path) -> None:
    source = in_engine(engine, table_of(name), tmp_path)
    for options in OPTIONS.values():
        counted = tally(source, DESIGNS[name], column="report", unknown="drop", keep=True, **options)
        assert counted == tally(source, DESIGNS[name], column="report", unknown="drop", **options)
        assert_kept(counted)
        assert counted.kept is not None
        assert counted.kept.streamed == (engine in IN_FILES)


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("codes", [False, True])
def test_sequences_are_kept(name: str, codes: bool) -> None:
    table, design = table_of(name), DESIGNS[name]
    reports: Any = table["report"]
    rows = list(range(PEOPLE))
    if codes:
        rows = [i for i in rows if i % 7 and i % 29]
        reports = design.report_form.read([table["report"][i] for i in rows]).reports
    by, weights, times = ([table[name][i] for i in rows] for name in ("region", "weight", "times"))
    several: list[dict[str, Any]] = [{}, {"by": by}, {"by": by, "weights": weights}, {"counts": times}]
    for options in several:
        counted = tally(reports, design, codes=codes, unknown="drop", keep=True, **options)
        assert_kept(counted)
    if codes:
        before = blocks_of(counted)[0].reports.copy()
        reports[:] = 0
        assert_array_equal(blocks_of(counted)[0].reports, before)


def test_nothing_is_kept_where_a_tally_says_it_all_already(tmp_path: Path) -> None:
    for design in (RandomizedResponse(5, epsilon=1), HadamardResponse(5, epsilon=1)):
        reports = design.randomize([0, 1, 2, 3, 4])
        (tmp_path / "r.csv").write_text("v\n" + "\n".join(map(str, reports)) + "\n")
        for source in (reports, tmp_path / "r.csv"):
            assert tally(source, design, keep=True).kept is None
    assert tally(["8000"], BITS).kept is None


@pytest.mark.parametrize("engine", ["dask", "spark"])
def test_reports_on_a_cluster_are_not_kept(engine: str, tmp_path: Path) -> None:
    source = in_engine(engine, table_of("bits"), tmp_path)
    with pytest.raises(TypeError, match=r"keep must be left out for reports on a cluster.*inv_p.*Parquet"):
        tally(source, BITS, column="report", unknown="drop", keep=True)


def test_equal_reports_are_kept_once_where_that_pays() -> None:
    reports = ["8000"] * 50 + ["4000"] * 30 + ["2000"]
    (block,) = blocks_of(tally(reports, BITS, keep=True))
    assert block.amounts is not None
    assert {bytes(row).hex(): n for row, n in zip(block.reports, block.amounts, strict=True)} == {
        "8000": 50,
        "4000": 30,
        "2000": 1,
    }
    grouped = tally(reports, BITS, keep=True, by=[i % 2 for i in range(81)], weights=[0.5] * 81)
    (block,) = blocks_of(grouped, 1)
    assert block.amounts is not None
    assert sorted(block.amounts.tolist()) == [7.5, 12.5]
    assert_array_equal(block.group, [1, 1])
    different = [f"{i:03x}0" for i in range(0, 200, 2)]
    assert all(block.amounts is None for block in blocks_of(tally(different, BITS, keep=True)))


def test_pieces_in_memory_are_of_bounded_size() -> None:
    rows = np.random.default_rng(1).integers(0, 256, (100, 9), dtype=np.uint8)
    sizes = [len(block.reports) for block in StoredReports.in_memory(ReportBlock(rows)).blocks()]
    assert sizes == [16] * 6 + [4]
    assert np.shares_memory(next(StoredReports.in_memory(ReportBlock(rows)).blocks()).reports, rows)


@pytest.mark.parametrize("engine", ["polars", "csv"])
def test_tallies_that_add_up_keep_the_reports_of_both(engine: str, tmp_path: Path) -> None:
    table = table_of("long")
    parts = []
    for number, rows in enumerate((slice(0, 60), slice(60, PEOPLE))):
        part = {name: values[rows] for name, values in table.items()}
        if not number:  # a group less, so that the numbers of groups differ
            part["region"] = ["süd" if region == "nord" else region for region in part["region"]]
        (folder := tmp_path / str(number)).mkdir()
        source = in_engine(engine, part, folder)
        parts.append(tally(source, LONG, column="report", by="region", unknown="drop", keep=True))
    both = parts[0] + parts[1]
    assert len(parts[0].groups) < len(both.groups)
    assert_kept(both)
    assert (parts[0] + tally(["no report"], LONG, unknown="drop", by={"region": ["süd"]})).kept is None


@pytest.mark.parametrize("engine", ["polars", "parquet"])
def test_kept_reports_survive_a_pickle(engine: str, tmp_path: Path) -> None:
    source = in_engine(engine, table_of("bits"), tmp_path)
    assert_kept(
        pickle.loads(pickle.dumps(tally(source, BITS, column="report", unknown="drop", by="region", keep=True)))
    )


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_that_has_changed_is_not_gone_through_again(ending: str, tmp_path: Path) -> None:
    path = Path(in_engine(ending, {"v": ["8000", "4000", "2000"]}, tmp_path))
    stamp = path.stat()

    def again(table: dict[str, list[Any]], *, same_time: bool) -> None:
        counted = tally(path, BITS, column="v", keep=True)
        assert_kept(counted)
        assert counted.kept is not None
        in_engine(ending, table, tmp_path)
        times = (stamp.st_atime_ns, stamp.st_mtime_ns) if same_time else (0, stamp.st_mtime_ns + 10**9)
        os.utime(path, ns=times)
        with pytest.raises(ValueError, match=rf"{ending} has changed since its reports were counted; tally it again"):
            next(counted.kept.blocks())  # before any of them is given

    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    again({"v": ["8000", "4000", "1000"]}, same_time=False)
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    again({"v": ["8000", "4000"] * 500}, same_time=True)


def test_a_file_that_lost_a_row_but_looks_the_same_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("v,g\n8000,a\n4000,a\n")
    stamp = path.stat()
    grouped, alone = (tally(path, BITS, column="v", by=by, keep=True) for by in ("g", None))
    for counted, content in ((grouped, "v,g\n8000,a\n4000,b\n"), (alone, "v,g\n8000,aaaaaaaa\n")):
        path.write_text(content)
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        assert path.stat().st_size == stamp.st_size
        with pytest.raises(ValueError, match="has changed since"):
            blocks_of(counted, 0)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"there is no file .*r\.csv"):
        blocks_of(counted)


def test_a_file_is_found_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for part in "ab":
        (tmp_path / f"{part}.csv").write_text("v\n8000\n4000\n")
    counted = [tally(path, BITS, keep=True) for path in ("a.csv", "?.csv")]
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for one in counted:
        assert_kept(one)
    (tmp_path / "c.csv").write_text("v\n8000\n")
    with pytest.raises(ValueError, match=r"\?\.csv has changed"):
        blocks_of(counted[1])


def test_a_small_file_is_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = in_engine("csv", table_of("long"), tmp_path)
    known = sum(report not in {None, "no report"} for report in table_of("long")["report"])
    size = PEOPLE * LONG.report_form.width
    for limit, streamed in ((size, False), (size - 1, True)):
        monkeypatch.setattr(counting, "HELD_BYTES", limit)
        counted = tally(path, LONG, column="report", unknown="drop", keep=True)
        assert counted.kept is not None
        assert counted.kept.streamed == streamed
        assert sum(len(block.reports) for block in blocks_of(counted)) == known


@pytest.mark.parametrize("name", ["bits", "long"])
def test_maximum_likelihood_from_a_file_is_that_from_memory(name: str, tmp_path: Path) -> None:
    table, design = table_of(name), DESIGNS[name]
    options: dict[str, Any] = {"column": "report", "by": "region", "unknown": "drop", "keep": True}
    held = estimate(tally(in_engine("polars", table, tmp_path), design, **options), method="mle")
    streamed = estimate(tally(in_engine("parquet", table, tmp_path), design, **options), method="mle")
    assert_allclose(streamed.shares, held.shares, atol=1e-4)
    assert_allclose(streamed.log_likelihood, held.log_likelihood, atol=1e-3)
    for group in range(3):  # of the likelihood of each report, computed by hand
        rows = [i for i in range(PEOPLE) if (table["region"][i],) == held.tally.groups[group]]
        known = [table["report"][i] for i in rows if table["report"][i] not in {None, "no report"}]
        p = [
            sum(
                share * (3 if bit == "1" else 1) / 3
                for share, bit in zip(held.shares[group], f"{int(report, 16):0{4 * len(report)}b}", strict=False)
            )
            for report in known
        ]
        assert held.log_likelihood[group] == pytest.approx(float(np.log(p).sum()), abs=1e-6)
