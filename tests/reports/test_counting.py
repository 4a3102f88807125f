"""Counting: any reports, in any engine or file, become the same tally.

It tests reports/queries.py and reports/queries.py as well.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from engines import ENGINES, Table, in_engine
from warner import RandomizedResponse, tally
from warner.designs import SubsetSelection
from warner.reports import queries as engines
from warner.reports.randomizing_files import randomize_file

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
    counted = tally(in_engine(engine, TABLE, tmp_path), design, column=column)
    assert_array_equal(counted.counts, plain_counts(column, design, EVERYBODY))
    assert counted.counts.dtype == np.int64
    assert counted.missing == TABLE[column].count(None)
    assert counted.unknown == 0
    assert counted.by == ()
    assert counted.groups == ()


@every_engine
def test_every_engine_groups_alike(engine: str, tmp_path: Path) -> None:
    counted = tally(in_engine(engine, TABLE, tmp_path), SURVEY, column="answer", by=["region", "year"])
    years: list[Any] = ["2020", "2021"] if engine.startswith("csv") else [2020, 2021]
    assert counted.by == ("region", "year")
    assert counted.groups == tuple((region, year) for region in ("nörd", "süd", None) for year in years)
    for group, counts, missing in zip(counted.groups, counted.counts, counted.missing, strict=True):
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
def test_whole_numbers_are_the_same_as_texts_and_doubles(engine: str, tmp_path: Path) -> None:
    source = in_engine(engine, {"n": [1, 2, 1], "s": ["1", "2", "1"], "f": [1.0, 2.0, 1.5]}, tmp_path)
    strings, integers = RandomizedResponse(["1", "2"], epsilon=1), RandomizedResponse([1, 2], epsilon=1)
    if engine.startswith("csv"):  # where all is text
        assert_array_equal(tally(source, strings, column="n").counts, [2, 1])
        assert_array_equal(tally(source, integers, column="s").counts, [2, 1])
        with pytest.raises(ValueError, match=r"1 is not: '1\.5'"):
            tally(source, integers, column="f")
        assert_array_equal(tally(source, integers, column="f", unknown="drop").counts, [1, 1])
        return
    assert_array_equal(tally(source, strings, column="s").counts, [2, 1])
    assert_array_equal(tally(source, integers, column="n").counts, [2, 1])
    for unknown in ("error", "drop"):
        assert_array_equal(tally(source, strings, column="n", unknown=unknown).counts, [2, 1])
        assert_array_equal(tally(source, integers, column="s", unknown=unknown).counts, [2, 1])
    assert_array_equal(tally(source, strings, column="f", unknown="drop").counts, [1, 1])
    words = RandomizedResponse(["one", "two"], epsilon=1)
    with pytest.raises(TypeError, match="column 'n' must hold strings, as the domain does, but holds Int64"):
        tally(source, words, column="n")
    with pytest.raises(ValueError, match=r"1 is not: 1\.5"):  # whole doubles are integers
        tally(source, integers, column="f")
    assert_array_equal(tally(source, integers, column="f", unknown="drop").counts, [1, 1])


@every_engine
def test_bad_weights_and_counts(engine: str, tmp_path: Path) -> None:
    table: Table = {"v": ["a", "b", "a"], "w": [1.0, -1.0, None], "c": [1, None, -2], "t": ["x", "y", "z"]}
    source = in_engine(engine, table, tmp_path)
    design = RandomizedResponse(["a", "b"], epsilon=1)
    with pytest.raises(ValueError, match=r"weights must be finite .*, but 2 are negative, missing or infinite"):
        tally(source, design, column="v", weights="w")
    complaint = r"counts must be whole numbers from 0 to 2\^53, but 2 are not|'c' holds Object"
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
    with pytest.raises(ValueError, match="no column 'q'; the columns are"):
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
    counted = tally(frame, RandomizedResponse(range(3), odds=(3, 1)), column="v", by=by, unknown="drop")
    assert_array_equal(counted.counts.reshape(-1, 3).sum(axis=0), [1, 1, 1])
    assert np.sum(counted.unknown) == 4997


@pytest.mark.parametrize("dtype", ["Int32", "UInt32", "Int64", "UInt64"])
def test_sums_of_counts_do_not_overflow_unnoticed(dtype: str) -> None:
    polars = pytest.importorskip("polars")
    design = RandomizedResponse(["a", "b"], epsilon=1)
    small = polars.DataFrame({"v": ["a"] * 4, "n": polars.Series([2**30] * 4, dtype=getattr(polars, dtype))})
    assert_array_equal(tally(small, design, column="v", counts="n").counts, [2**32, 0])
    if dtype.endswith("64"):
        largest = 2**64 - 1 if dtype == "UInt64" else 2**63 - 1
        numbers = polars.Series([2**62] * 3 + [largest], dtype=getattr(polars, dtype))
        large = polars.DataFrame({"v": ["a"] * 4, "n": numbers})
        for source in (large, large.lazy(), large.to_pandas(), large.to_arrow()):
            with pytest.raises(ValueError, match=r"^counts must be .* 2\^53, but 4 are not: 4611686018427387904, "):
                tally(source, design, column="v", counts="n")
        with pytest.raises(ValueError, match=r"counts must sum to at most 2\^53"):
            tally(["a"] * 4, design, counts=[2**62] * 4)


@pytest.mark.parametrize("engine", ENGINES)
def test_no_engine_lets_counts_overflow_or_refuses_them_in_its_own_words(engine: str, tmp_path: Path) -> None:
    design = RandomizedResponse(["a", "b"], epsilon=1)

    def total(counts: list[int]) -> int:
        table: Table = {"v": ["a"] * len(counts), "n": [*counts]}
        return int(tally(in_engine(engine, table, tmp_path), design, column="v", counts="n").n)

    assert total([2**53 - 5, 2, 3]) == 2**53
    with pytest.raises(ValueError, match=r"^counts must be .* 2\^53, but 4 are not: 4611686018427387904, "):
        total([2**62] * 4)
    with pytest.raises(ValueError, match=r"^counts must sum to at most 2\^53, but sum to about 9.91e\+18$"):
        total([2**53] * 1100)  # the sum is beyond 2^63
    with pytest.raises(ValueError, match=r"^counts must sum to at most 2\^53, but sum to about 1.84e\+19$"):
        total([2**53] * 2**11)  # the sum is 2^64, or 0 in 64 bits


def test_a_group_may_not_be_named_like_a_result() -> None:
    with pytest.raises(ValueError, match="by must not name a group 'value', which is a column"):
        tally(["a", "b"], RandomizedResponse(["a", "b"], epsilon=1), by={"value": ["x", "y"]})


def test_groups_keep_their_types() -> None:
    counted = tally(["a", "b", "a"], RandomizedResponse(["a", "b"], epsilon=1), by=[1, "1", None])
    assert counted.groups == ((1,), ("1",), (None,))


@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow", "duckdb"])
def test_dates_as_groups_are_the_same_everywhere(engine: str, tmp_path: Path) -> None:
    days = [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 1)]
    table: Table = {"v": ["a", "b", "a"], "day": days}
    source = in_engine(engine, table, tmp_path)
    if engine == "pandas":
        source["day"] = source["day"].astype("datetime64[ns]")
    counted = tally(source, RandomizedResponse(["a", "b"], epsilon=1), column="v", by="day")
    assert counted.groups == (("2024-01-01",), ("2024-01-02",))


# Series, sequences and arrays


@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow"])
def test_series(engine: str, tmp_path: Path) -> None:
    series = in_engine(engine, TABLE, tmp_path)["answer"]
    counted = tally(series, SURVEY)
    assert_array_equal(counted.counts, plain_counts("answer", SURVEY, EVERYBODY))
    assert counted.missing == TABLE["answer"].count(None)


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
    assert tally(np.array([1.0, np.nan]), RandomizedResponse(3, epsilon=1)).missing == 1


@pytest.mark.parametrize(
    ("options", "error", "complaint"),
    [
        ({"unknown": "ignore"}, ValueError, '"error" or "drop"'),
        ({"weights": [1.0, 2.0], "counts": [1, 2]}, TypeError, "not both"),
        ({"column": "v"}, TypeError, "column must be left out"),
        (
            {"weights": [1.0]},
            ValueError,
            "weights must have one value for each of the 2 rows, but has 1",
        ),
        ({"weights": [1.0, float("nan")]}, ValueError, "1 is negative, missing or infinite"),
        ({"weights": [1.0, float("inf")]}, ValueError, "1 is negative, missing or infinite"),
        ({"counts": [1.5, 2.0]}, ValueError, "counts must be whole numbers"),
        ({"counts": [1, -2]}, ValueError, "1 is not: -2"),
        ({"by": ["x"]}, ValueError, "group must have one value for each"),
    ],
)
def test_bad_options(options: dict[str, Any], error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        tally(["a", "b"], RandomizedResponse(["a", "b"], epsilon=1), **options)


def test_things_that_hold_no_reports() -> None:
    with pytest.raises(TypeError, match=r"reports must be a sequence, .* but got builtins\.int"):
        tally(5, SURVEY)
    assert tally([], SURVEY).n == 0


@pytest.mark.parametrize("design", [["a", "b"], "survey.json", None, RandomizedResponse])
def test_data_and_design_that_are_swapped_are_told_so(design: Any) -> None:
    with pytest.raises(TypeError, match=r"design must be a design, .*: tally\(reports, design\)"):
        tally(SURVEY, design)


def test_no_rows_have_no_groups() -> None:
    empty = tally([], SURVEY, by=[])
    assert (empty.groups, empty.counts.shape) == ((), (0, len(WORDS)))
    assert_array_equal(empty.n, np.zeros(0))


def test_values_outside_the_domain_are_listed_up_to_five() -> None:
    design = RandomizedResponse(["a", "b"], epsilon=1)
    with pytest.raises(ValueError, match=r"5 are not: 'v', 'w', 'x', 'y', 'z'\. Add"):
        tally(list("avwxyz"), design)
    with pytest.raises(ValueError, match=r"6 are not: 'u', 'v', 'w', 'x', 'y', \.\.\.\. Add"):
        tally(list("auvwxyz"), design)
    with pytest.raises(ValueError, match=r"2 are not: .*'x'.*, .*'y'"):
        tally(np.array([["a", "x"], ["y", "a"]]), design)


# Files


def test_a_pattern_counts_all_its_files(tmp_path: Path) -> None:
    for i in range(3):
        (tmp_path / f"part{i}.csv").write_text("v\na\nb\n")
    counted = tally(tmp_path / "part*.csv", RandomizedResponse(["a", "b"], epsilon=1))
    assert_array_equal(counted.counts, [3, 3])


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
    with pytest.raises(ValueError, match=r"b\.csv: columns must be in the order of .*a\.csv, q1, q2, but are q2, q1"):
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


@pytest.mark.parametrize("label", ["2024-05-01", "12:30:00", "2024-05-01T12:30:00", "2024-05-01T12:30:00Z"])
def test_what_looks_like_a_date_in_json_is_a_label(label: str, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text(f'{{"v": "{label}", "n": 3}}\n{{"v": null, "n": 1}}\n')
    counted = tally(tmp_path / "r.jsonl", RandomizedResponse([label, "b"], epsilon=1), column="v", counts="n")
    assert_array_equal(counted.counts, [3, 0])
    assert counted.missing == 1


@pytest.mark.parametrize("dropped", [0, engines.FOREIGN_LIMIT + 1])
def test_many_numbers_in_text_are_read_in_their_one_spelling(dropped: int, tmp_path: Path) -> None:
    design = RandomizedResponse(range(-1500, 2500), epsilon=1)
    numbers = list(range(-2000, 3000))
    odd = ["007", "-0", " 7", "+7", "7.00", "1_0", "9" * 19, "9" * 30, "7a", *(f"x{i}" for i in range(dropped))]
    (tmp_path / "n.csv").write_text("v,w\n" + "".join(f"{value},1\n" for value in numbers) + ",1\n")
    (tmp_path / "odd.csv").write_text("v,w\n" + "".join(f"{value},2\n" for value in [*numbers, *odd]))
    spelled = ["007", "+7", "-0", " 7"]  # each of which is a number
    (tmp_path / "spelled.csv").write_text("v,w\n" + "".join(f"{value},2\n" for value in [*design.domain, *spelled]))
    for name, unknown, missing in (("n.csv", 1000, 1), ("odd.csv", 1000 + len(odd), 0), ("spelled.csv", 4, 0)):
        counted = tally(tmp_path / name, design, column="v", unknown="drop")
        assert_array_equal(counted.counts, np.ones(4000))
        assert (counted.unknown, counted.missing) == (unknown, missing)
    # Programs without integers write 7.0 for 7.
    doubles = "".join(f"{value}.0,2\n" for value in numbers) + "".join(f"{value},1\n" for value in odd)
    (tmp_path / "doubles.csv").write_text("v,w\n" + doubles)
    assert_array_equal(tally(tmp_path / "doubles.csv", design, column="v", unknown="drop").counts, np.ones(4000))
    plain = RandomizedResponse([-7, 7, 11], epsilon=1)
    assert_array_equal(tally(tmp_path / "doubles.csv", plain, column="v", unknown="drop").counts, np.ones(3))


def test_json_of_mixed_types_is_not_converted(tmp_path: Path) -> None:
    lines = ['{"v": 1}'] * 30_000
    for odd in ('{"v": "1"}', '{"v": 1.6}'):
        (tmp_path / "r.jsonl").write_text("\n".join([*lines, odd]))
        with pytest.raises((TypeError, ValueError), match=r"must hold integers|is not"):
            tally(tmp_path / "r.jsonl", RandomizedResponse(3, epsilon=1))


def test_counts_in_text_are_whole_numbers(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("v,n\na,1.5\nb,2\n")
    with pytest.raises(ValueError, match=r"counts must be .*but 1 is not|cannot be read"):
        tally(tmp_path / "r.csv", RandomizedResponse(["a", "b"], epsilon=1), column="v", counts="n")


def test_one_column_may_hold_any_punctuation(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("v\na few; times\na|b\na few; times\n")
    assert_array_equal(tally(tmp_path / "r.csv", RandomizedResponse(["a few; times", "a|b"], epsilon=1)).counts, [2, 1])


def test_a_number_has_one_spelling_in_text(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("v\n7\n07\n 7\n7.00\n+7\n-7\n7.0\n" + "9" * 5000 + "\n")
    counted = tally(tmp_path / "r.csv", RandomizedResponse([7, -7], epsilon=1), unknown="drop")
    assert_array_equal(counted.counts, [2, 1])
    assert counted.unknown == 5


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
    assert tally(tmp_path / "r.csv", SURVEY).n == 0


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no file .*nothing\.csv"):
        tally(tmp_path / "nothing.csv", SURVEY)
    with pytest.raises(FileNotFoundError, match=r"there is no file .*\*\.csv"):
        tally(tmp_path / "*.csv", SURVEY)
    with pytest.raises(FileNotFoundError, match=r"the folder .* holds no file that ends in \.csv, "):
        tally(tmp_path, SURVEY)


# Reports that are sets of answers

SETS = SubsetSelection(list("abcdefghijklm"), odds=(3, 1), size=4)  # 13 answers: two bytes, three bits to spare
DRAWN = SETS.draw(np.random.default_rng(8).integers(0, SETS.k, 400), np.random.default_rng(9).bytes)


def set_table() -> Table:
    rng = np.random.default_rng(4)
    return {
        "set": [None if i % 23 == 0 else bytes(row).hex() for i, row in enumerate(DRAWN)],
        "region": [None if i % 7 == 0 else "nord" if i % 3 else "süd" for i in range(len(DRAWN))],
        "weight": [float(w) for w in rng.integers(1, 9, len(DRAWN)) / 4],
        "times": rng.integers(0, 5, len(DRAWN)).tolist(),
    }


SET_TABLE = set_table()


def plain_support(table: Table, group: tuple[Any, ...] | None = None, amount: str | None = None) -> tuple[Any, Any]:
    """Count support, and reports, in plain Python: the first answer is the highest bit of the number."""
    support: Counter[Any] = Counter()
    n: Any = 0
    for i, report in enumerate(table["set"]):
        if report is None or (group is not None and (table["region"][i],) != group):
            continue
        times = 1 if amount is None else table[amount][i]
        bits = f"{int(report, 16):016b}"
        support.update({label: times for label, bit in zip(SETS.domain, bits, strict=False) if bit == "1"})
        n += times
    return [support[label] for label in SETS.domain], n


def assert_counts_of_sets(source: Any, table: Table, column: str | None = "set") -> None:
    """Compare a source with plain Python: as it is, in groups, with weights, with counts."""
    by, weights, times = (
        ("region", "weight", "times") if column else ({"region": table["region"]}, table["weight"], table["times"])
    )
    plain = tally(source, SETS, column=column)
    counts, n = plain_support(table)
    assert_array_equal(plain.counts, counts)
    assert (plain.n, plain.missing, plain.unknown) == (n, table["set"].count(None), 0)
    assert plain.counts.dtype == np.int64
    weighted = tally(source, SETS, column=column, by=by, weights=weights)
    assert weighted.groups == (("nord",), ("süd",), (None,))
    for place, group in enumerate(weighted.groups):
        counts, n = plain_support(table, group, "weight")
        assert_array_equal(weighted.counts[place], counts)
        assert weighted.n[place] == n
        rows = [i for i, region in enumerate(table["region"]) if (region,) == group]
        known = [i for i in rows if table["set"][i] is not None]
        assert weighted.squares[place] == sum(table["weight"][i] ** 2 for i in known)
        assert weighted.missing[place] == len(rows) - len(known)
    repeated = tally(source, SETS, column=column, by=by, counts=times)
    for place, group in enumerate(repeated.groups):
        counts, n = plain_support(table, group, "times")
        assert_array_equal(repeated.counts[place], counts)
        assert repeated.n[place] == n


@every_engine
def test_every_engine_counts_sets_alike(engine: str, tmp_path: Path) -> None:
    assert_counts_of_sets(in_engine(engine, SET_TABLE, tmp_path), SET_TABLE)


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_sequences_of_sets(kind: Any) -> None:
    assert_counts_of_sets(kind(SET_TABLE["set"]), SET_TABLE, column=None)


@pytest.mark.parametrize("engine", ["pandas", "polars", "polars, lazy", "pyarrow", "duckdb", "ibis", "parquet"])
def test_sets_may_be_bytes(engine: str, tmp_path: Path) -> None:
    raw = [None if report is None else bytes.fromhex(report) for report in SET_TABLE["set"]]
    assert_counts_of_sets(in_engine(engine, {**SET_TABLE, "set": raw}, tmp_path), SET_TABLE)
    assert_counts_of_sets(raw, SET_TABLE, column=None)


@pytest.mark.parametrize("kind", ["binary", "large_binary", "fixed"])
def test_sets_may_be_bytes_of_every_kind_that_arrow_has(kind: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    raw = [None if report is None else bytes.fromhex(report) for report in SET_TABLE["set"]]
    column = arrow.array(raw, arrow.binary(2) if kind == "fixed" else getattr(arrow, kind)())
    assert_counts_of_sets(arrow.table({**SET_TABLE, "set": column}), SET_TABLE)


def test_packed_rows_are_codes() -> None:
    for rows in (DRAWN, list(DRAWN)):
        coded = tally(rows, SETS, codes=True)
        assert coded == tally([bytes(row).hex() for row in DRAWN], SETS)
        assert_array_equal(coded.counts, SETS.law.count(DRAWN)[0])
    with pytest.raises(ValueError, match=r"2 bytes .*, but 1 is not: array\(\[255, 255\]"):
        tally(np.vstack([DRAWN, np.full((1, 2), 255, dtype=np.uint8)]), SETS, codes=True)


def test_packed_rows_are_not_in_a_column(tmp_path: Path) -> None:
    for engine in ("polars", "csv"):
        with pytest.raises(TypeError, match="codes must be left out for a column of sets"):
            tally(in_engine(engine, SET_TABLE, tmp_path), SETS, column="set", codes=True)


@every_engine
def test_a_column_of_sets_holds_no_numbers(engine: str, tmp_path: Path) -> None:
    source = in_engine(engine, {"set": [4, 7]}, tmp_path)
    complaint = (
        r"column 'set' must hold hexadecimal strings or bytes.*but holds Int64|bytes in lower-case .* are not: '"
    )
    with pytest.raises((TypeError, ValueError), match=complaint):
        tally(source, SETS)


def reports_in(path: Path) -> list[str]:
    """Read the reports of a file in hexadecimal, without warner."""
    if path.suffix == ".parquet":
        table = pytest.importorskip("pyarrow.parquet").read_table(path)
        assert str(table.schema.field("set").type) == "fixed_size_binary[2]"
        return [report.hex() for report in table["set"].to_pylist()]
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        if path.suffix == ".jsonl":
            return [json.loads(line)["set"] for line in file]
        return [row["set"] for row in csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ",")]


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "jsonl", "parquet"])
@pytest.mark.parametrize("source", ["csv", "parquet", "json lines"])
def test_sets_go_through_files(source: str, ending: str, tmp_path: Path) -> None:
    answers = np.random.default_rng(6).choice(SETS.domain, len(DRAWN)).tolist()
    target = tmp_path / f"out.{ending}"
    done = randomize_file(
        in_engine(source, {**SET_TABLE, "set": answers}, tmp_path),
        SETS,
        target,
        column="set",
        keep=["region", "weight", "times"],
    )
    reports = reports_in(target)
    assert done == len(reports) == len(DRAWN)
    packed = np.frombuffer(bytes.fromhex("".join(reports)), dtype=np.uint8).reshape(-1, 2)
    assert_array_equal(np.unpackbits(packed, axis=1).sum(axis=1), np.full(len(DRAWN), SETS.size))
    assert_array_equal(tally(target, SETS, column="set").counts, SETS.law.count(packed)[0])
    if source == "csv" and ending in {"jsonl", "parquet"}:
        return  # what is kept of a CSV file is text, and stays so
    assert_counts_of_sets(target, {**SET_TABLE, "set": reports})


def test_sets_of_sixteen_bytes_are_not_taken_for_something_else(tmp_path: Path) -> None:
    design = SubsetSelection(128, epsilon=1)  # in hexadecimal as long as a UUID, which readers of JSON may look for
    drawn = design.draw(np.arange(128), np.random.default_rng(1).bytes)
    table: Table = {"set": [bytes(row).hex() for row in drawn]}
    for engine in ("json lines", "csv", "parquet"):
        assert_array_equal(tally(in_engine(engine, table, tmp_path), design).counts, design.law.count(drawn)[0])


GOOD = "f000"  # a, b, c, d
DAMAGED = {
    "too short": "f0",
    "too long": "f00000",
    "an odd number of digits": "f000f",
    "a spare bit set": "e001",
    "upper case": "F000",
    "a bit too many": "f800",
    "a bit too few": "e000",
    "no bit": "0000",
    "no hexadecimal": "f00g",
    "white space": "f0 0",
    "a prefix": "0xf0",
    "an answer": "a",
}


@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize("engine", ["a list", "polars", "csv", "parquet"])
def test_damaged_sets_are_refused_or_dropped(damage: str, engine: str, tmp_path: Path) -> None:
    values = [GOOD, DAMAGED[damage], GOOD, None, DAMAGED[damage]]
    source = values if engine == "a list" else in_engine(engine, {"set": values, "w": [1, 2, 3, 4, 5]}, tmp_path)
    column = None if engine == "a list" else "set"
    complaint = (
        r"reports must be 2 bytes in lower-case hexadecimal \(the last 3 bits 0\) with 4 bits set, but 2 are not: "
        rf"'{DAMAGED[damage]}'.*unknown=\"drop\""
    )
    with pytest.raises(ValueError, match=complaint):
        tally(source, SETS, column=column)
    dropped = tally(source, SETS, column=column, unknown="drop")
    assert_array_equal(dropped.counts, [2] * 4 + [0] * 9)
    assert (dropped.n, dropped.missing, dropped.unknown) == (2, 1, 2)
    weights = [1, 2, 3, 4, 5] if engine == "a list" else "w"
    weighted = tally(source, SETS, column=column, weights=weights, unknown="drop")
    assert (weighted.n, weighted.squares, weighted.missing, weighted.unknown) == (4, 10, 1, 2)


@pytest.mark.parametrize("damage", [b"\xf0", b"\xf0\x00\x00", b"\xf0\x01", b"\xe0\x00", b"f000"])
def test_damaged_bytes_are_refused_or_dropped(damage: bytes) -> None:
    values = [b"\xf0\x00", damage]
    for source in (values, pytest.importorskip("polars").DataFrame({"set": values})):
        with pytest.raises(ValueError, match=r"reports must be 2 bytes in lower-case hexadecimal .* but 1 is not: b'"):
            tally(source, SETS)
        dropped = tally(source, SETS, unknown="drop")
        assert (dropped.n, dropped.unknown) == (1, 1)


def test_reports_may_all_be_different(tmp_path: Path) -> None:
    design = SubsetSelection(60, epsilon=1)
    drawn = design.draw(np.arange(3000) % 60, np.random.default_rng(2).bytes)
    table: Table = {"set": [bytes(row).hex() for row in drawn]}
    assert len(set(table["set"])) > 2 * engines.FOREIGN_LIMIT
    for engine in ("pandas", "polars, lazy", "csv"):
        for unknown in ("error", "drop"):
            counted = tally(in_engine(engine, table, tmp_path), design, unknown=unknown)
            assert_array_equal(counted.counts, design.law.count(drawn)[0])
            assert counted.n == 3000


def test_a_file_of_sets_without_a_header_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("f000\ne800\n")
    with pytest.raises(ValueError, match="first line must name the columns"):
        tally(tmp_path / "r.csv", SETS)
    (tmp_path / "r.csv").write_text("f00\nf000\n")  # a name, though a strange one
    assert tally(tmp_path / "r.csv", SETS).n == 1


def test_sets_of_one_member_count_as_randomized_response_does() -> None:
    one = SubsetSelection(["a", "b", "c"], odds=(3, 1), size=1)
    assert_array_equal(tally(["80", "20", "20", None], one).counts, [1, 0, 2])


@pytest.mark.parametrize("ordered", [False, True])
def test_reports_may_be_categories_ordered_or_not(ordered: bool) -> None:
    survey = RandomizedResponse(["yes", "no"], truth="3/4")
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    kind = polars.Enum(["no", "yes"]) if ordered else polars.Categorical
    frames = (
        pandas.DataFrame({"a": pandas.Categorical(["yes", "no", "yes"], ["no", "yes"], ordered=ordered)}),
        polars.DataFrame({"a": ["yes", "no", "yes"]}, schema={"a": kind}),
    )
    assert [tally(frame, survey).counts.tolist() for frame in frames] == [[2, 1], [2, 1]]


@pytest.mark.parametrize("ordered", [False, True])
def test_categories_may_be_numbers(ordered: bool) -> None:
    pandas = pytest.importorskip("pandas")
    survey = RandomizedResponse([1, 2, 3], truth="3/4")
    for values in ([1, 2, 2, None], [1.0, 2.0, 2.0, None]):
        frame = pandas.DataFrame({"my answer": pandas.Categorical(values, ordered=ordered), "g": list("xxyy")})
        assert tally(frame["my answer"], survey).counts.tolist() == [1, 2, 0]
        grouped = tally(frame, survey, column="my answer", by="g")
        assert (grouped.counts.tolist(), grouped.missing.tolist()) == ([[1, 1, 0], [0, 1, 0]], [0, 1])
    with pytest.raises(ValueError, match=r"1 is not: 7\."):
        tally(pandas.Series(pandas.Categorical([1, 7], ordered=ordered)), survey)
    with pytest.raises(ValueError, match=r"1 is not: 1\.5\."):
        tally(pandas.Series(pandas.Categorical([1.0, 1.5], ordered=ordered)), survey)
    texts = RandomizedResponse(["1", "2"], truth="3/4")
    assert tally(pandas.Series(pandas.Categorical([1, 2])), texts).counts.tolist() == [1, 1]
    with pytest.raises(TypeError, match="must hold strings"):
        tally(pandas.Series(pandas.Categorical([1, 2])), RandomizedResponse(["a", "b"], truth="3/4"))


def test_errors_of_engines_are_plain_ones() -> None:
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    design = RandomizedResponse(3, epsilon=1)
    large = polars.DataFrame({"a": polars.Series([1, 2**100], dtype=polars.Int128)})
    with pytest.raises(ValueError, match=r"the table of reports cannot be read: .*i128"):
        tally(large, design)
    with pytest.raises(ValueError, match="the table of reports cannot be read: there is more than one column 'a'"):
        tally(pandas.DataFrame([[1, 2]], columns=["a", "a"]), design, column="a")
