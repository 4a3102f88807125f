from __future__ import annotations

import json
from collections import Counter
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from engines import ENGINES, Table, in_engine
from warner import RandomizedResponse, Tally, tally

if TYPE_CHECKING:
    from pathlib import Path

every_engine = pytest.mark.parametrize("engine", ENGINES)
LONG = "a label that goes on and on " * 40
WORDS = ["never", "selten, aber ja", "多次", LONG, 'with "quotes"', "1"]
SURVEY = RandomizedResponse(WORDS, epsilon=1)
NUMBERS = RandomizedResponse([3, 1, 40000000000, -5], epsilon=1)


def survey_table(n: int = 500) -> Table:
    rng = np.random.default_rng(3)
    return {
        "answer": [None if i % 17 == 0 else WORDS[j] for i, j in enumerate(rng.integers(0, len(WORDS), n).tolist())],
        "number": [None if i % 19 == 0 else NUMBERS.domain[j] for i, j in enumerate(rng.integers(0, 4, n).tolist())],
        "region": [None if i % 5 == 0 else "nörd" if i % 3 else "süd" for i in range(n)],
        "year": [2020 + i % 2 for i in range(n)],
        "weight": [float(w) for w in rng.integers(1, 9, n) / 4],  # quarters: sums of them are exact
        "times": rng.integers(0, 5, n).tolist(),
    }


TABLE = survey_table()


def plain_counts(column: str, design: RandomizedResponse, rows: list[int], amount: str | None = None) -> list[Any]:
    """Count in plain Python."""
    total: Counter[Any] = Counter()
    for i in rows:
        if TABLE[column][i] is not None:
            total[TABLE[column][i]] += 1 if amount is None else TABLE[amount][i]
    return [total[label] for label in design.domain]


EVERYBODY = list(range(500))


@every_engine
@pytest.mark.parametrize(("column", "design"), [("answer", SURVEY), ("number", NUMBERS)])
def test_every_engine_counts_alike(engine: str, column: str, design: RandomizedResponse, tmp_path: Path) -> None:
    found = tally(in_engine(engine, TABLE, tmp_path), design, column=column)
    assert_array_equal(found.counts, plain_counts(column, design, EVERYBODY))
    assert found.counts.dtype == np.int64
    assert found.missing == TABLE[column].count(None)
    assert found.unknown == 0
    assert found.by == ()
    assert found.groups == ()


@every_engine
def test_every_engine_groups_alike(engine: str, tmp_path: Path) -> None:
    found = tally(in_engine(engine, TABLE, tmp_path), SURVEY, column="answer", by=["region", "year"])
    years: list[Any] = ["2020", "2021"] if engine.startswith("csv") else [2020, 2021]
    assert found.by == ("region", "year")
    assert found.groups == tuple((region, year) for region in ("nörd", "süd", None) for year in years)
    for group, counts, missing in zip(found.groups, found.counts, found.missing, strict=True):
        rows = [i for i in EVERYBODY if TABLE["region"][i] == group[0] and TABLE["year"][i] == int(group[1])]
        assert_array_equal(counts, plain_counts("answer", SURVEY, rows))
        assert missing == [TABLE["answer"][i] for i in rows].count(None)


@every_engine
def test_every_engine_adds_weights_and_counts_alike(engine: str, tmp_path: Path) -> None:
    source = in_engine(engine, TABLE, tmp_path)
    weighted = tally(source, NUMBERS, column="number", weights="weight", by="year")
    for year, counts, squares in zip((2020, 2021), weighted.counts, weighted.squares, strict=True):
        rows = [i for i in EVERYBODY if TABLE["year"][i] == year]
        assert_array_equal(counts, plain_counts("number", NUMBERS, rows, "weight"))
        assert squares == sum(TABLE["weight"][i] ** 2 for i in rows if TABLE["number"][i] is not None)
    times = tally(source, SURVEY, column="answer", counts="times")
    assert_array_equal(times.counts, plain_counts("answer", SURVEY, EVERYBODY, "times"))
    assert times.counts.dtype == np.int64
    assert times.missing == sum(TABLE["times"][i] for i in EVERYBODY if TABLE["answer"][i] is None)


@every_engine
def test_every_engine_tells_what_is_not_in_the_domain(engine: str, tmp_path: Path) -> None:
    source = in_engine(engine, TABLE, tmp_path)
    fewer = RandomizedResponse(["never", "1"], epsilon=1)
    expected = plain_counts("answer", fewer, EVERYBODY)
    outside = len(EVERYBODY) - TABLE["answer"].count(None) - sum(expected)
    with pytest.raises(ValueError, match=f'but {outside} are not: .*unknown="drop"'):
        tally(source, fewer, column="answer")
    dropped = tally(source, fewer, column="answer", unknown="drop")
    assert_array_equal(dropped.counts, expected)
    assert (dropped.unknown, dropped.missing) == (outside, TABLE["answer"].count(None))


@every_engine
@pytest.mark.parametrize("labels", ["strings", "integers", "range"])
def test_every_engine_asks_whether_it_is_the_right_column(engine: str, labels: str, tmp_path: Path) -> None:
    if engine == "pandas, plain types" and labels != "strings":
        pytest.skip("Python objects are counted one by one, and all that are unknown are found")
    n = 3000
    values: list[Any] = [f"id {i}" for i in range(n)] if labels == "strings" else list(range(n))
    domain: Any = {"strings": ["id 7", "id 1"], "integers": [7, 1], "range": range(6, 9)}[labels]
    design = RandomizedResponse(domain, epsilon=1)
    source = in_engine(engine, {"id": [*values, None, values[7]], "of": ["a", "b"] * (n // 2 + 1)}, tmp_path)
    with pytest.raises(ValueError, match=r"column 'id' holds more than 1,00[23] different values.*right column\?"):
        tally(source, design, column="id")
    for by in (None, "of"):
        dropped = tally(source, design, column="id", unknown="drop", by=by)
        counts = dropped.counts if by is None else dropped.counts.sum(axis=0)
        assert_array_equal(counts, [2, 1] if labels != "range" else [1, 2, 1])
        assert np.sum(dropped.missing) == 1
        assert np.sum(dropped.unknown) == n + 1 - sum(counts)


@every_engine
def test_text_and_numbers_are_not_the_same(engine: str, tmp_path: Path) -> None:
    source = in_engine(engine, {"n": [1, 2, 1], "s": ["1", "2", "1"], "f": [1.0, 2.0, 1.5]}, tmp_path)
    strings, integers = RandomizedResponse(["1", "2"], epsilon=1), RandomizedResponse([1, 2], epsilon=1)
    if engine.startswith("csv"):  # where all is text
        assert_array_equal(tally(source, strings, column="n").counts, [2, 1])
        assert_array_equal(tally(source, integers, column="s").counts, [2, 1])
        with pytest.raises(ValueError, match=r"3 are not: '[12]\.[05]'"):
            tally(source, integers, column="f")
        return
    assert_array_equal(tally(source, strings, column="s").counts, [2, 1])
    assert_array_equal(tally(source, integers, column="n").counts, [2, 1])
    with pytest.raises(TypeError, match="column 'n' must hold strings, as the domain does, but holds Int64"):
        tally(source, strings, column="n")
    with pytest.raises(TypeError, match="column 's' must hold integers, as the domain does, but holds String"):
        tally(source, integers, column="s")
    with pytest.raises(TypeError, match=r"must hold integers.*but holds Float64"):
        tally(source, integers, column="f")


@every_engine
def test_bad_weights_and_counts(engine: str, tmp_path: Path) -> None:
    table: Table = {"v": ["a", "b", "a"], "w": [1.0, -1.0, None], "c": [1, None, -2], "t": ["x", "y", "z"]}
    source = in_engine(engine, table, tmp_path)
    design = RandomizedResponse(["a", "b"], epsilon=1)
    with pytest.raises(ValueError, match="weights must be finite numbers of at least 0, but 2 are negative or missing"):
        tally(source, design, column="v", weights="w")
    complaint = "counts must be finite numbers of at least 0, but 2 are negative or missing|'c' holds Object"
    with pytest.raises((ValueError, TypeError), match=complaint):
        tally(source, design, column="v", counts="c")
    with pytest.raises((TypeError, ValueError), match=r"weights must be a column of numbers|cannot be read"):
        tally(source, design, column="v", weights="t")


@every_engine
def test_columns_that_are_not_there(engine: str, tmp_path: Path) -> None:
    source = in_engine(engine, {"answer": ["a", "b"], "region": ["x", "y"]}, tmp_path)
    design = RandomizedResponse(["a", "b"], epsilon=1)
    with pytest.raises(
        ValueError, match=r"no column 'anwser'; did you mean 'answer'\? The columns are: 'answer', 'region'"
    ):
        tally(source, design, column="anwser")
    with pytest.raises(ValueError, match="no column 'q'; The columns are"):
        tally(source, design, column="answer", by="q")
    with pytest.raises(ValueError, match=r"column must be given unless .* there are 2: 'answer', 'region'"):
        tally(source, design)
    assert_array_equal(tally(source, design, by="region").counts, [[1, 0], [0, 1]])


@pytest.mark.parametrize("engine", ["pandas", "dask"])
@pytest.mark.parametrize("by", [None, "g"])
def test_plain_integers_of_pandas_survive_the_second_query(engine: str, by: str | None) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"v": np.arange(5000), "g": ["x", "y"] * 2500})
    if engine == "dask":
        frame = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=2)
    found = tally(frame, RandomizedResponse(range(3), odds=(3, 1)), column="v", by=by, unknown="drop")
    assert_array_equal(found.counts.reshape(-1, 3).sum(axis=0), [1, 1, 1])
    assert np.sum(found.unknown) == 4997


@pytest.mark.parametrize("dtype", ["Int32", "UInt32", "Int64", "UInt64"])
def test_sums_of_counts_do_not_overflow_unnoticed(dtype: str) -> None:
    polars = pytest.importorskip("polars")
    design = RandomizedResponse(["a", "b"], epsilon=1)
    small = polars.DataFrame({"v": ["a"] * 4, "n": polars.Series([2**30] * 4, dtype=getattr(polars, dtype))})
    assert_array_equal(tally(small, design, column="v", counts="n").counts, [2**32, 0])
    if dtype.endswith("64"):
        large = polars.DataFrame({"v": ["a"] * 4, "n": polars.Series([2**62] * 4, dtype=getattr(polars, dtype))})
        for source in (large, large.to_pandas(), large.to_arrow()):
            # PyArrow refuses the sum itself, in words of its own
            with pytest.raises(ValueError, match=r"counts must sum to at most 2\^53|not in range"):
                tally(source, design, column="v", counts="n")
        with pytest.raises(ValueError, match=r"counts must sum to at most 2\^53"):
            tally(["a"] * 4, design, counts=[2**62] * 4)


def test_a_group_may_not_be_named_like_a_result() -> None:
    with pytest.raises(ValueError, match="by must not name a group 'value', which is a column"):
        tally(["a", "b"], RandomizedResponse(["a", "b"], epsilon=1), by={"value": ["x", "y"]})


def test_groups_keep_their_types() -> None:
    found = tally(["a", "b", "a"], RandomizedResponse(["a", "b"], epsilon=1), by=[1, "1", None])
    assert found.groups == ((1,), ("1",), (None,))


@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow", "duckdb"])
def test_dates_as_groups_are_the_same_everywhere(engine: str, tmp_path: Path) -> None:
    days = [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 1)]
    table: Table = {"v": ["a", "b", "a"], "day": days}
    source = in_engine(engine, table, tmp_path)
    if engine == "pandas":
        source["day"] = source["day"].astype("datetime64[ns]")
    found = tally(source, RandomizedResponse(["a", "b"], epsilon=1), column="v", by="day")
    assert found.groups == (("2024-01-01",), ("2024-01-02",))


# Series, sequences and arrays


@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow"])
def test_series(engine: str, tmp_path: Path) -> None:
    series = in_engine(engine, TABLE, tmp_path)["answer"]
    found = tally(series, SURVEY)
    assert_array_equal(found.counts, plain_counts("answer", SURVEY, EVERYBODY))
    assert found.missing == TABLE["answer"].count(None)


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_sequences_with_groups_weights_and_counts(kind: Any) -> None:
    reports = kind(TABLE["answer"])
    plain = tally(reports, SURVEY)
    assert_array_equal(plain.counts, plain_counts("answer", SURVEY, EVERYBODY))
    assert plain.missing == TABLE["answer"].count(None)
    grouped = tally(reports, SURVEY, by={"region": TABLE["region"], "year": np.array(TABLE["year"])})
    assert grouped.by == ("region", "year")
    assert grouped.groups[0] == ("nörd", 2020)
    assert_array_equal(grouped.counts.sum(axis=0), plain.counts)
    weighted = tally(reports, SURVEY, weights=TABLE["weight"], by=TABLE["year"])
    assert weighted.groups == ((2020,), (2021,))
    assert_array_equal(weighted.counts.sum(axis=0), plain_counts("answer", SURVEY, EVERYBODY, "weight"))
    times = tally(reports, SURVEY, counts=TABLE["times"])
    assert_array_equal(times.counts, plain_counts("answer", SURVEY, EVERYBODY, "times"))


def test_arrays_of_integers_and_codes() -> None:
    reports = np.array([5, 6, 6, 7, 5, 6], dtype=np.uint8)
    assert_array_equal(tally(reports, RandomizedResponse(range(5, 8), epsilon=1)).counts, [2, 3, 1])
    assert_array_equal(tally(reports - 5, RandomizedResponse(["x", "y", "z"], epsilon=1), codes=True).counts, [2, 3, 1])
    with pytest.raises(ValueError, match="4 are not"):
        tally(reports, RandomizedResponse([5, 9], epsilon=1))
    dropped = tally(np.append(reports, 200), RandomizedResponse(range(5, 7), epsilon=1), unknown="drop")
    assert_array_equal(dropped.counts, [2, 3])
    assert dropped.unknown == 2
    with pytest.raises(TypeError, match="array of float64"):
        tally(np.array([1.0, np.nan]), RandomizedResponse(3, epsilon=1))


@pytest.mark.parametrize(
    ("options", "error", "complaint"),
    [
        ({"unknown": "ignore"}, ValueError, '"error" or "drop"'),
        ({"weights": [1.0, 2.0], "counts": [1, 2]}, TypeError, "not both"),
        ({"column": "v"}, TypeError, "column must be left out"),
        (
            {"weights": [1.0]},
            ValueError,
            r"weights must have one value for each of the 2 reports, but got shape \(1,\)",
        ),
        ({"weights": [1.0, float("nan")]}, ValueError, "1 are negative or missing"),
        ({"weights": [1.0, float("inf")]}, ValueError, "1 are negative or missing"),
        ({"counts": [1.0, 2.0]}, ValueError, "counts must be whole numbers"),
        ({"counts": [1, -2]}, ValueError, "got -2"),
        ({"by": ["x"]}, ValueError, "group must have one value for each"),
    ],
)
def test_bad_options(options: dict[str, Any], error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        tally(["a", "b"], RandomizedResponse(["a", "b"], epsilon=1), **options)


def test_things_that_hold_no_reports() -> None:
    with pytest.raises(TypeError, match=r"reports must be a sequence, .* but got builtins\.int"):
        tally(5, SURVEY)
    assert tally([], SURVEY).reports == 0


# Files


def test_a_pattern_counts_all_its_files(tmp_path: Path) -> None:
    for i in range(3):
        (tmp_path / f"part{i}.csv").write_text("v\na\nb\n")
    found = tally(tmp_path / "part*.csv", RandomizedResponse(["a", "b"], epsilon=1))
    assert_array_equal(found.counts, [3, 3])


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_delimiters_are_taken_from_the_header(mark: str, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(mark.join(["id", "v"]) + "\n" + "".join(f"{i}{mark}a b\n" for i in range(5)))
    assert_array_equal(
        tally(tmp_path / "r.csv", RandomizedResponse(["a b", "c"], epsilon=1), column="v").counts, [5, 0]
    )


def test_files_of_a_pattern_must_have_the_same_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("q1,q2\nyes,no\n")
    (tmp_path / "b.csv").write_text("q2,q1\nno,yes\n")
    design = RandomizedResponse(["yes", "no"], epsilon=1)
    with pytest.raises(ValueError, match=r"b\.csv must have the same columns as .*a\.csv, in the same order"):
        tally(tmp_path / "*.csv", design, column="q1")
    (tmp_path / "b.csv").write_text("q1;q2\nyes;no\n")  # by another delimiter they are one table all the same
    (tmp_path / "b.csv").rename(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"different kinds \(csv, parquet\)"):
        tally(tmp_path / "*", design, column="q1")


def test_a_name_with_brackets_is_a_name(tmp_path: Path) -> None:
    (tmp_path / "z[1].csv").write_text("v\na\n")
    (tmp_path / "z1.csv").write_text("v\nb\nb\nb\n")
    (tmp_path / "q?.csv").write_text("v\na\n")
    (tmp_path / "q1.csv").write_text("v\nb\nb\nb\n")
    for name in ("z[1].csv", "q?.csv"):
        assert_array_equal(tally(tmp_path / name, RandomizedResponse(["a", "b"], epsilon=1)).counts, [1, 0])


def test_a_file_without_a_header_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("a\nb\na\n")
    with pytest.raises(ValueError, match=r"first line must name the columns.*add a header"):
        tally(tmp_path / "r.csv", RandomizedResponse(["a", "b"], epsilon=1))
    (tmp_path / "n.csv").write_text("1\n2\n1\n")
    with pytest.raises(ValueError, match="first line must name the columns"):
        tally(tmp_path / "n.csv", RandomizedResponse(3, epsilon=1))


def test_json_of_mixed_types_is_not_converted(tmp_path: Path) -> None:
    lines = ['{"v": 1}'] * 30_000
    for odd in ('{"v": "1"}', '{"v": 1.6}'):
        (tmp_path / "r.jsonl").write_text("\n".join([*lines, odd]))
        with pytest.raises((TypeError, ValueError), match=r"must hold integers|are not"):
            tally(tmp_path / "r.jsonl", RandomizedResponse(3, epsilon=1))


def test_counts_in_text_are_whole_numbers(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("v,n\na,1.5\nb,2\n")
    with pytest.raises(ValueError, match=r"counts must be .*but 1 are negative or missing|cannot be read"):
        tally(tmp_path / "r.csv", RandomizedResponse(["a", "b"], epsilon=1), column="v", counts="n")


def test_one_column_may_hold_any_punctuation(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("v\na few; times\na|b\na few; times\n")
    assert_array_equal(tally(tmp_path / "r.csv", RandomizedResponse(["a few; times", "a|b"], epsilon=1)).counts, [2, 1])


def test_a_number_has_one_spelling_in_text(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("v\n7\n07\n 7\n7.0\n+7\n-7\n7\n" + "9" * 5000 + "\n")
    found = tally(tmp_path / "r.csv", RandomizedResponse([7, -7], epsilon=1), unknown="drop")
    assert_array_equal(found.counts, [2, 1])
    assert found.unknown == 5


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("empty.csv", b"", "empty.csv is empty: there is not even a header"),
        ("binary.csv", b"\x00\x01\x02\xff" * 100, "binary.csv is not a CSV file"),
        ("latin.csv", "v\nä\nb\n".encode("latin-1"), "latin.csv cannot be read: .*(?i:unicode|utf)"),
        ("broken.parquet", b"PAR1 but not really", "broken.parquet cannot be read"),
        ("broken.jsonl", b'{"v": "a"}\n{"v": \n', "broken.jsonl cannot be read"),
        ("picture.csv.gz", b"not gzipped", "picture.csv.gz"),
    ],
)
def test_files_that_are_something_else(name: str, content: bytes, complaint: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises((ValueError, OSError), match=complaint):
        tally(tmp_path / name, RandomizedResponse(["a", "b"], epsilon=1))


def test_a_header_alone_is_a_table_without_reports(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("v\n")
    assert tally(tmp_path / "r.csv", SURVEY).reports == 0


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no file .*nothing\.csv"):
        tally(tmp_path / "nothing.csv", SURVEY)
    with pytest.raises(FileNotFoundError, match=r"there is no file .*\*\.csv"):
        tally(tmp_path / "*.csv", SURVEY)
    with pytest.raises(IsADirectoryError, match=r"is a folder; give a file, or a pattern such as .*/\*\.csv"):
        tally(tmp_path, SURVEY)


# The value


def test_tallies_add_up_exactly() -> None:
    halves = [
        tally(
            TABLE["answer"][part],
            SURVEY,
            by={"region": TABLE["region"][part], "year": TABLE["year"][part]},
            weights=TABLE["weight"][part],
        )
        for part in (slice(0, 3), slice(3, None))
    ]
    whole = tally(
        TABLE["answer"], SURVEY, by={"region": TABLE["region"], "year": TABLE["year"]}, weights=TABLE["weight"]
    )
    added = halves[0] + halves[1]
    assert added.groups == whole.groups
    for name in ("counts", "missing", "unknown", "squares"):
        assert_array_equal(getattr(added, name), getattr(whole, name))
    assert_array_equal(added.effective, whole.reports**2 / whole.squares)


def test_unequal_tallies_do_not_add_up() -> None:
    yes_no = RandomizedResponse(["yes", "no"], odds=(3, 1))
    first = Tally(yes_no, [1, 2])
    with pytest.raises(ValueError, match="same design"):
        first + Tally(RandomizedResponse(["yes", "no"], odds=(2, 1)), [1, 2])
    with pytest.raises(ValueError, match="same grouping"):
        first + Tally(yes_no, [[1, 2]], by=("g",), groups=(("x",),))
    with pytest.raises(ValueError, match="same use of weights"):
        first + Tally(yes_no, [1.5, 2.5], squares=3.0)
    with pytest.raises(TypeError):
        first + 1


@pytest.mark.parametrize(
    "example",
    [
        Tally(RandomizedResponse(["yes", "nö"], odds=(3, 1)), [40, 60], missing=3, unknown=1),
        Tally(
            RandomizedResponse(10, epsilon=1), [[1] * 10, [2**40] * 10], by=("g", "h"), groups=((1, "a"), (None, "b"))
        ),
        Tally(RandomizedResponse(2, epsilon=1), [1.1, 2.7], squares=0.1 + 0.2),
    ],
)
def test_a_tally_survives_its_file(example: Tally, tmp_path: Path) -> None:
    example.save(tmp_path / "tally.json")
    again = Tally.load(tmp_path / "tally.json")
    assert again.design == example.design
    assert (again.by, again.groups) == (example.by, example.groups)
    for name in ("counts", "missing", "unknown", "squares"):
        assert_array_equal(getattr(again, name), getattr(example, name))
    assert again.counts.dtype == example.counts.dtype
    assert repr(again) == repr(example)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"version": 9}, "this tally is of version 9"),
        ({"format": "warner design"}, 'a tally must say "format": "warner tally"'),
        ({"counts": [1]}, "this tally is damaged: counts must have shape"),
        ({"counts": [1, -1]}, "this tally is damaged: counts must be finite numbers"),
        ({"counts": [0.5, 1]}, "this tally is damaged: counts must be whole numbers"),
        ({"design": {}}, "this tally is damaged: a design must say"),
        ({"missing": -1}, "missing, unknown and squares must be at least 0"),
        ({"by": ["g"], "groups": [["x"], ["x"]], "counts": [[1, 2], [3, 4]]}, "groups must be distinct"),
        ({"extra": 1}, r"damaged: the fields \['extra'\]"),
    ],
)
def test_damaged_tallies(change: dict[str, Any], complaint: str, tmp_path: Path) -> None:
    document = json.loads(Tally(RandomizedResponse(2, epsilon=1), [1, 2]).to_json())
    (tmp_path / "t.json").write_text(json.dumps({**document, **change}))
    with pytest.raises(ValueError, match=rf"t\.json: .*{complaint}"):
        Tally.load(tmp_path / "t.json")


@pytest.mark.parametrize(
    ("counts", "complaint"),
    [
        ([1, 2, 3], r"counts must have shape \(2,\)"),
        ([1, -2], "at least 0"),
        ([float("nan"), 1], "finite"),
        ([0.5, 1.5], "whole numbers, or come with squares"),
        ([2**53, 2**53], r"2\^53"),
    ],
)
def test_bad_counts(counts: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Tally(RandomizedResponse(2, epsilon=1), counts)


def test_a_tally_is_frozen() -> None:
    example = Tally(RandomizedResponse(2, epsilon=1), np.array([1, 2]))
    with pytest.raises(ValueError, match="read-only"):
        example.counts[0] = 5
