"""Reports of which nearly all differ are counted a batch at a time: like plain Python, in every engine.

It tests reports/subtotals.py as well.
"""

from __future__ import annotations

import gzip
import json
import pickle
import sys
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from engines import ENGINES, Table, in_engine
from warner import LocalHashing, RandomizedResponse, SubsetSelection, Tally, UnaryEncoding, runtime, tally
from warner.reports import batches, subtotals
from warner.reports.queries import Roles
from warner.reports.randomizing_files import randomize_file

every_engine = pytest.mark.parametrize("engine", ENGINES)

BITS = UnaryEncoding(list("abcdefghijklm"), odds=(3, 1))  # 13 answers: two bytes, three bits to spare
SUBSETS = SubsetSelection(16, odds=(3, 1), size=5)
HASHES = LocalHashing.affine(list("abcdefg"), odds=(3, 1), values=3)
DESIGNS: dict[str, Any] = {"bits": BITS, "subsets": SUBSETS, "hashes": HASHES}
PEOPLE = 90


def supported(name: str, report: str) -> list[int]:
    """Return the positions of the answers that a report supports, from its text alone."""
    if name == "hashes":
        alpha, beta, value = map(int, report.split(":"))
        return [x for x in range(HASHES.k) if (alpha * x + beta) % HASHES.prime % HASHES.values == value]
    bits = f"{int(report, 16):0{4 * len(report)}b}"
    return [place for place, bit in enumerate(bits) if bit == "1"]


def reports_of(name: str) -> list[str]:
    design, rng = DESIGNS[name], np.random.default_rng(5)
    drawn = design.draw(rng.integers(0, design.k, PEOPLE), rng.bytes)
    return [":".join(map(str, row)) if name == "hashes" else bytes(row).hex() for row in drawn.tolist()]


def table_of(name: str) -> Table:
    rng = np.random.default_rng(6)
    reports: list[Any] = list(reports_of(name))
    reports[::11] = [None] * len(reports[::11])
    return {
        "report": reports,
        # Sorted, as files often are: most batches bring a group that was not there before.
        "region": [None if i > 80 else ["süd", "nord", "west", "ost"][i // 25] for i in range(PEOPLE)],
        "year": [2020 + i % 2 for i in range(PEOPLE)],
        "weight": [float(w) for w in rng.integers(0, 9, PEOPLE) / 4],
        "times": rng.integers(0, 5, PEOPLE).tolist(),
    }


TABLES = {name: table_of(name) for name in DESIGNS}


def by_hand(name: str, rows: list[int], amount: str | None = None) -> dict[str, Any]:
    """Count in plain Python."""
    table, design = TABLES[name], DESIGNS[name]
    counts: list[Any] = [0] * design.k
    sizes: list[Any] = [0] * (design.k + 1)
    total: dict[str, Any] = {"n": 0, "missing": 0, "squares": 0}
    for i in rows:
        times = 1 if amount is None else table[amount][i]
        if table["report"][i] is None:
            total["missing"] += 1 if amount == "weight" else times
            continue
        answers = supported(name, table["report"][i])
        for answer in answers:
            counts[answer] += times
        sizes[len(answers)] += times
        total["n"] += times
        total["squares"] += times**2
    return {**total, "counts": counts, "histogram": sizes if name == "bits" else None}


def assert_tally(counted: Tally, name: str, amount: str | None, place: int | None, rows: list[int]) -> None:
    for field, expected in by_hand(name, rows, amount).items():
        found = getattr(counted, field)
        if expected is None or (field == "squares" and amount != "weight"):
            assert found is None
        else:
            assert_array_equal(found if place is None else found[place], expected)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BATCH_ROWS", 8)


EVERYBODY = list(range(PEOPLE))


@every_engine
@pytest.mark.parametrize("name", DESIGNS)
def test_every_engine_counts_in_batches_as_by_hand(engine: str, name: str, tmp_path: Path) -> None:
    table, design = TABLES[name], DESIGNS[name]
    source = in_engine(engine, table, tmp_path)
    assert_tally(tally(source, design, column="report"), name, None, None, EVERYBODY)
    years: list[Any] = ["2020", "2021"] if engine.startswith("csv") else [2020, 2021]
    groups = [(region, year) for region in ("nord", "ost", "süd", "west", None) for year in years]
    amounts: dict[str, dict[str, Any]] = {"weight": {"weights": "weight"}, "times": {"counts": "times"}}
    for amount, options in amounts.items():
        counted = tally(source, design, column="report", by=["region", "year"], **options)
        assert list(counted.groups) == groups
        for place, (region, year) in enumerate(groups):
            rows = [i for i in EVERYBODY if (table["region"][i], table["year"][i]) == (region, int(year))]
            assert_tally(counted, name, amount, place, rows)


@every_engine
def test_every_engine_finds_damage_in_any_batch(engine: str, tmp_path: Path) -> None:
    table = {name: list(values) for name, values in TABLES["bits"].items()}
    table["report"][70:72] = ["zz00", "0001"]  # no digits, and a spare bit that is set
    source = in_engine(engine, table, tmp_path)
    with pytest.raises(
        ValueError, match=r"2 bytes in lower-case .*, but 2 are not: '(zz00|0001)', '(zz00|0001)'\. Check"
    ):
        tally(source, BITS, column="report")
    dropped = tally(source, BITS, column="report", unknown="drop", counts="times")
    assert dropped.unknown == sum(table["times"][70:72])
    bad = in_engine(engine, {**table, "weight": [-1.0, *table["weight"][1:-1], None]}, tmp_path)
    with pytest.raises(ValueError, match=r"weights must be finite .*, but 2 are negative, missing or infinite"):
        tally(bad, BITS, column="report", weights="weight")


@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow", "csv", "parquet", "dask"])
def test_weights_without_end_are_refused(engine: str, tmp_path: Path) -> None:
    table: Table = {"report": ["8000", "4000", "2000"], "weight": [1.5, float("inf"), float("nan")]}
    with pytest.raises(ValueError, match=r"weights must be finite .*, but 2 are negative, missing or infinite"):
        tally(in_engine(engine, table, tmp_path), BITS, column="report", weights="weight")


DAYS = [date(2024, 1, 2), date(2024, 1, 1), date(2024, 1, 2)]
GROUPED: dict[str, tuple[list[Any], list[Any]]] = {
    "dates": (DAYS, ["2024-01-01", "2024-01-02"]),
    "midnights": ([datetime.combine(day, time()) for day in DAYS], ["2024-01-01", "2024-01-02"]),
    "hours": ([datetime.combine(DAYS[0], time(7)), None, None], ["2024-01-02 07:00:00", None]),
    "floats": ([1.5, float("nan"), 1.5], [1.5, None]),
    "truth": ([True, False, None], [False, True, None]),
    "decimals": ([Decimal("1.50"), None, None], ["1.50", None]),
    "nothing": ([None, None, None], [None]),
}


@pytest.mark.parametrize("kind", GROUPED)
@pytest.mark.parametrize("engine", ["a list", "pandas", "polars", "pyarrow", "duckdb", "parquet"])
def test_groups_of_every_kind_are_the_same_everywhere(engine: str, kind: str, tmp_path: Path) -> None:
    values, groups = GROUPED[kind]
    reports = ["8000", "4000", "2000"]
    if engine == "a list":
        counted = tally(reports, BITS, by={"g": values})
    else:
        counted = tally(in_engine(engine, {"v": reports, "g": values}, tmp_path), BITS, column="v", by="g")
    assert counted.groups == tuple((group,) for group in groups)
    assert_array_equal(counted.counts.sum(axis=0)[:4], [1, 1, 1, 0])


def test_categories_are_groups_by_their_names() -> None:
    pandas = pytest.importorskip("pandas")
    names = [f"g{i:03}" for i in range(127)]  # one more, the missing, than 7 bits hold
    frame = pandas.DataFrame({"v": ["8000"] * 128, "g": pandas.Categorical([*names, None], categories=names[::-1])})
    assert tally(frame, BITS, column="v", by="g").groups == (*((name,) for name in names), (None,))


@every_engine
def test_every_engine_may_have_no_rows(engine: str, tmp_path: Path) -> None:
    empty = in_engine(engine, {"report": [TABLES["bits"]["report"][1]], "region": ["a"]}, tmp_path)
    if isinstance(empty, str | Path):
        if engine == "json lines":
            pytest.skip("without a line there are no columns either")
        if engine == "csv.gz":
            pytest.skip("as plain CSV")
        empty = Path(empty)
        if engine == "csv":
            empty.write_text("report,region\n")
        else:
            parquet = pytest.importorskip("pyarrow.parquet")
            parquet.write_table(parquet.read_table(empty)[:0], empty)
    else:
        nw = pytest.importorskip("narwhals")
        frame = nw.from_native(empty)
        empty = frame.filter(nw.col("region") == "b").to_native()
    assert tally(empty, BITS, column="report").n == 0
    grouped = tally(empty, BITS, column="report", by="region", weights=None)
    assert (grouped.groups, grouped.counts.shape) == ((), (0, BITS.k))


def test_every_kind_of_arrow_column_in_parquet(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    raw = [None if report is None else bytes.fromhex(report) for report in TABLES["bits"]["report"]]
    for kind in (arrow.binary(2), arrow.binary(), arrow.large_binary()):
        column = arrow.array(raw, kind)
        regions = arrow.array(TABLES["bits"]["region"]).dictionary_encode()
        table = arrow.table({"re.port": column, "region": regions, "re": [{"port": 1}] * PEOPLE})
        parquet.write_table(table, tmp_path / "r.parquet", row_group_size=13)
        counted = tally(tmp_path / "r.parquet", BITS, column="re.port", by="region")
        assert_array_equal(counted.counts.sum(axis=0), by_hand("bits", EVERYBODY)["counts"])
        assert counted.groups == (("nord",), ("ost",), ("süd",), ("west",), (None,))


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_all_files_of_a_pattern_are_counted(ending: str, tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("v\n" + "\n".join("abcdefghijklm") + "\n")
    for part in "ab":
        randomize_file(tmp_path / "answers.csv", BITS, tmp_path / f"{part}.{ending}")
    parts = [tally(tmp_path / f"{part}.{ending}", BITS) for part in "ab"]
    assert tally(tmp_path / f"?.{ending}", BITS) == parts[0] + parts[1]


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "jsonl", "parquet"])
def test_hashes_go_through_files(ending: str, tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("v\n" + "a\nb\ng\n" * 20)
    target = tmp_path / f"out.{ending}"
    assert randomize_file(tmp_path / "answers.csv", HASHES, target) == 60
    if ending == "parquet":
        column = pytest.importorskip("pyarrow.parquet").read_table(target)["v"]
        assert str(column.type) == "fixed_size_list<element: int64>[3]"
        reports = [":".join(map(str, report)) for report in column.to_pylist()]
    elif ending == "jsonl":
        reports = [":".join(map(str, json.loads(line)["v"])) for line in target.read_text().splitlines()]
    else:
        content = target.read_bytes()
        reports = (gzip.decompress(content) if ending == "csv.gz" else content).decode().split()[1:]
    counts = [0] * HASHES.k
    for report in reports:
        for answer in supported("hashes", report):
            counts[answer] += 1
    counted = tally(target, HASHES)
    assert_array_equal(counted.counts, counts)
    assert (counted.n, counted.unknown) == (60, 0)


def test_parquet_files_of_a_pattern_must_have_the_same_columns(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"v": ["8000"], "w": [1]}), tmp_path / "a.parquet")
    parquet.write_table(arrow.table({"w": [1], "v": ["8000"]}), tmp_path / "b.parquet")
    with pytest.raises(
        ValueError, match=r"b\.parquet: columns must be in the order of .*a\.parquet, v, w, but are w, v"
    ):
        tally(tmp_path / "*.parquet", BITS, column="v")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 but not really")
    with pytest.raises(ValueError, match=r"b\.parquet cannot be read"):
        tally(tmp_path / "b.parquet", BITS, column="v")


def test_a_parquet_file_that_is_damaged_inside_is_named(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    reports = arrow.array([bytes.fromhex(report) for report in reports_of("bits")], arrow.binary(2))
    parquet.write_table(arrow.table({"v": reports}), tmp_path / "r.parquet", compression="snappy", use_dictionary=False)
    content = bytearray((tmp_path / "r.parquet").read_bytes())
    content[30:100] = bytes(70)
    (tmp_path / "r.parquet").write_bytes(content)
    with pytest.raises(ValueError, match=r"r\.parquet cannot be read"):
        tally(tmp_path / "r.parquet", BITS)


@pytest.mark.parametrize("damage", ["footer", "cut", "none of it"])
def test_a_damaged_parquet_file_is_named_whatever_its_reports_are(damage: str, tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "r.parquet"
    parquet.write_table(arrow.table({"v": ["8000", "0001"]}), path)
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    footer = content[: -8 - length] + bytes([255] * 16) + content[-8 - length + 16 :]
    path.write_bytes({"footer": footer, "cut": content[:-20], "none of it": b"text"}[damage])
    complaint = rf"^{path} cannot be read: it is damaged, or no Parquet file$"
    labels = RandomizedResponse(["8000", "0001"], epsilon=1)
    for design in (BITS, labels):
        with pytest.raises(ValueError, match=complaint):
            tally(path, design)
    with pytest.raises(ValueError, match=complaint):
        randomize_file(path, labels, tmp_path / "out.csv")


@pytest.mark.parametrize("engine", ["dask", "spark"])
def test_clusters_send_back_sums_alone(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(batches, "batches", lambda *_: pytest.fail("reports must stay where they are"))
    total = batches.counted_on_cluster

    def seen(*arguments: Any) -> Any:
        sent.append(total(*arguments))
        return sent[-1]

    monkeypatch.setattr(batches, "counted_on_cluster", seen)
    counted = tally(in_engine(engine, TABLES["bits"], tmp_path), BITS, column="report")
    assert_array_equal(counted.counts, by_hand("bits", EVERYBODY)["counts"])
    assert len(pickle.dumps(sent[0])) < 3000


def test_many_partitions_are_added_up_in_a_tree() -> None:
    pandas, dask = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = dask.from_pandas(pandas.DataFrame(TABLES["bits"]), npartitions=30)
    frame = frame[frame["year"] == 2020]
    counted = tally(frame, BITS, column="report", by="region")
    expected = by_hand("bits", [i for i in EVERYBODY if TABLES["bits"]["year"][i] == 2020])
    assert_array_equal(counted.counts.sum(axis=0), expected["counts"])


def test_subtotals_add_up_in_any_order() -> None:
    rows = [subtotals.Rows(*BITS.report_form.read(reports_of("bits")[i : i + 9])) for i in range(0, PEOPLE, 9)]
    parts = [
        subtotals.subtotal(BITS, part._replace(groups=((i % 4,),)))._replace(roughly=float(i))
        for i, part in enumerate(rows)
    ]
    forward, backward = subtotals.added(parts, BITS), subtotals.added(parts[::-1], BITS)
    assert forward.groups == backward.groups == ((0,), (1,), (2,), (3,))
    for first, second in zip(forward.arrays.values(), backward.arrays.values(), strict=True):
        assert_array_equal(first, second)
    assert forward.roughly == 45
    assert forward.rows == PEOPLE
    assert subtotals.added([parts[0], parts[0]], BITS).arrays["n"].tolist() == [18]
    assert parts[0].arrays["n"].tolist() == [9]  # nothing was added to the parts themselves


def test_more_groups_than_fit_are_refused_on_the_way(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = in_engine("polars", TABLES["bits"], tmp_path)
    monkeypatch.setattr(subtotals, "CELLS_ALWAYS", 0)
    monkeypatch.setattr(runtime, "available", lambda: 5 * 14 * runtime.TALLY_BYTES)
    assert len(tally(source, BITS, column="report", by="region").groups) == 5
    monkeypatch.setattr(runtime, "available", lambda: 4 * 14 * runtime.TALLY_BYTES)
    with pytest.raises(ValueError, match=r"5 groups of 14 set sizes need about 1\.68 kB of memory, but 1\.34 kB are"):
        tally(source, BITS, column="report", by="region")


def test_values_that_are_no_reports_are_shown_once_each(tmp_path: Path) -> None:
    values = [*["x"] * 20, "u", *["x"] * 20, "v", "w", "y", "z"]
    for engine in ("polars", "csv", "dask"):
        with pytest.raises(ValueError, match=r"but 45 are not: 'x', 'u', 'v', 'w', 'y', \.\.\.\. Check"):
            tally(in_engine(engine, {"r": values}, tmp_path), BITS)


def test_counts_do_not_overflow_unnoticed_in_batches() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"v": ["8000"] * 2**11, "n": [2**53] * 2**11})  # 0 in 64 bits
    with pytest.raises(ValueError, match=r"counts must sum to at most 2\^53, but sum to about 1\.84e\+19"):
        tally(frame, BITS, column="v", counts="n")


def test_the_rows_of_a_batch_follow_from_the_size_of_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BATCH_ROWS", 2**17)
    for k, rows in ((13, 2**17), (8 * 2**10, 2**14), (8 * 2**25, 1)):
        assert batches.rows_at_a_time(UnaryEncoding(k, odds=(3, 1)).report_form) == rows


def test_no_rows_are_counted_as_weights_where_there_are_weights() -> None:
    for weights, kind in ((None, np.int64), ("w", np.float64)):
        columns = Roles("v", (), weights, None)
        nothing = batches.no_rows(columns, BITS.report_form).counted(BITS, columns)
        assert nothing.arrays["counts"].dtype == nothing.arrays["n"].dtype == kind


def test_bits_of_a_parquet_file_are_counted_without_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Its import alone takes a fifth of the memory that the most likely shares of ten million reports take.
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    pq.write_table(pa.table({"report": ["8000", "4000", "c000"]}), tmp_path / "x.parquet")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert tally(tmp_path / "x.parquet", BITS).counts[:3].tolist() == [2, 2, 0]
