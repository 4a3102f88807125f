"""The input options: one value for each group of them, checked once, and the same for all functions that read data.

It tests reports/options.py.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from warner import RandomizedResponse, Tally, associate, explain, regress, tally
from warner.reports.options import Columns, Reading, Sample, grouped_keywords

if TYPE_CHECKING:
    from pathlib import Path

DIRECT = RandomizedResponse(["ja", "nein"], odds=(1, 0))
COIN = RandomizedResponse(["ja", "nein"], truth="3/4")
COMMA = RandomizedResponse(["1,5", "2,5"], truth="3/4")


def names_of(*kinds: Any) -> set[str]:
    return {field.name for kind in kinds for field in fields(kind)}


def test_every_field_is_a_keyword_of_tally_and_every_keyword_is_a_field() -> None:
    keywords = set(inspect.signature(tally).parameters) - {"reports", "design"}
    assert keywords == names_of(Columns, Reading, Sample)


@pytest.mark.parametrize("function", [regress, associate, explain])
def test_all_functions_take_the_same_options_of_reading(function: Any) -> None:
    defaults = {name: one.default for name, one in inspect.signature(function).parameters.items()}
    reading = {name: one.default for name, one in inspect.signature(Reading).parameters.items()}
    del reading["codes"], reading["keep"]  # for counts alone
    assert reading.items() <= defaults.items()
    assert defaults["where"] is None


def test_a_description_of_a_file_has_one_spelling() -> None:
    assert Reading(encoding="UTF8") == Reading(encoding="utf-8-sig") == Reading()
    assert Reading(encoding="latin-1") == Reading(encoding="ISO-8859-1")
    assert Reading(missing=-99) == Reading(missing=["-99"]) == Reading(missing=[-99.0, "-99.0"])
    assert Reading(missing="NA").plain is Reading(decimal=",").plain is False
    assert Reading(unknown="drop").plain


def test_keywords_are_sorted_into_their_values() -> None:
    sorted_ = grouped_keywords({"by": "v", "unknown": "drop", "clusters": "house", "on": ["age"]})
    assert sorted_ == {
        "columns": Columns(by="v"),
        "reading": Reading(unknown="drop"),
        "sample": Sample(clusters="house"),
        "on": ["age"],
    }


def test_weights_and_counts_are_not_given_together() -> None:
    for ask in (
        lambda data: tally(data, COIN, column="a", weights="w", counts="n"),
        lambda data: regress("a", data, COIN, on=["x"], weights="w", counts="n"),
        lambda data: associate(data, {"a": COIN, "b": COIN}, weights="w", counts="n"),
    ):
        with pytest.raises(TypeError, match=r"give weights .* or counts .*, not both"):
            ask({"a": ["ja"], "b": ["ja"], "x": [1], "w": [1.0], "n": [1]})


ROWS = 400


def people() -> dict[str, list[Any]]:
    """Return respondents with two answers, a number and an outcome; some are missing, some of another wave."""
    rng = np.random.default_rng(11)
    x = rng.integers(0, 20, ROWS) / 4
    first = rng.random(ROWS) < 0.2 + 0.1 * x
    second = np.where(rng.random(ROWS) < 0.7, first, rng.random(ROWS) < 0.5)
    y = 1 + 2 * first + 0.5 * x + rng.normal(size=ROWS).round(2)
    words = {True: "ja", False: "nein"}
    return {
        "größe": [None if place % 9 == 4 else float(value) for place, value in enumerate(x)],
        "a": [None if place % 11 == 5 else words[bool(value)] for place, value in enumerate(first)],
        "b": [words[bool(value)] for value in second],
        "y": [round(float(value), 2) for value in y],
        "wave": [2 if place % 3 else 1 for place in range(ROWS)],
    }


ANSWERS = {
    "regress": lambda data, **o: regress("a", data, COIN, on=["größe"], model="linear", **o).coefficients,
    "associate": lambda data, **o: associate(data, {"a": COIN, "b": COIN}, numeric="größe", **o).crosstable.counts,
    "explain": lambda data, **o: explain("y", data, {"a": COIN}, on=["größe"], **o).coefficients,
    "tally": lambda data, **o: tally(data, COIN, column="a", **o).counts,
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_file_of_another_program_holds_what_the_same_columns_hold(name: str, tmp_path: Path) -> None:
    ask: Any = ANSWERS[name]
    table = people()
    wave = {
        key: [value for value, w in zip(values, table["wave"], strict=True) if w == 2] for key, values in table.items()
    }
    expected = ask(wave)

    def written(value: object) -> str:
        return "-99" if value is None else str(value).replace(".", ",")

    lines = [";".join(table), *(";".join(map(written, row)) for row in zip(*table.values(), strict=True))]
    (tmp_path / "x.csv").write_text("\n".join(lines) + "\n", encoding="cp1252")
    options: dict[str, Any] = {"missing": -99, "encoding": "cp1252", "decimal": ",", "where": {"wave": 2}}
    np.testing.assert_allclose(ask(tmp_path / "x.csv", **options), expected, rtol=1e-12)
    coded = {key: [-99 if value is None else value for value in values] for key, values in table.items()}
    coded["a"] = [str(value) for value in coded["a"]]
    for data in (coded, pl.DataFrame(coded)):
        np.testing.assert_allclose(ask(data, missing=[-99], where={"wave": 2}), expected, rtol=1e-12)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_code_for_missing_that_is_a_report_is_rejected(name: str) -> None:
    ask: Any = ANSWERS[name]
    with pytest.raises(ValueError, match="missing must name values that are not reports, but 'ja' is one"):
        ask(people(), missing="ja")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"unknown": "keep"}, ValueError, 'unknown must be "error" or "drop", but got \'keep\''),
        ({"encoding": "klingon"}, ValueError, "encoding must be one of text that Python knows"),
        ({"decimal": ";"}, ValueError, r'decimal must be "\." or ","'),
        ({"missing": [None]}, TypeError, "missing must hold texts or numbers, but got None"),
        ({"encoding": "cp1252"}, TypeError, "encoding, decimal, sheet and skip_bad_files are for files"),
    ],
)
@pytest.mark.parametrize("name", ANSWERS)
def test_wrong_options_are_one_error_everywhere(
    name: str, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    ask: Any = ANSWERS[name]
    with pytest.raises(error, match=message):
        ask(people(), **options)


def test_reports_and_names_keep_their_commas(tmp_path: Path) -> None:
    lines = ["a;b;x;g;y", "1,5;2,5;0,5;1,0;3,5", "2,5;1,5;1,5;2,0;4,5", "1,5;1,5;2,5;1,0;1,5", "2,5;2,5;0,5;2,0;2,0"]
    (tmp_path / "x.csv").write_text("\n".join(lines) + "\n")
    fit = regress("a ~ x", tmp_path / "x.csv", COMMA, model="linear", clusters="g", decimal=",")
    assert (fit.people, fit.dropped) == (4, 0)
    assert associate(tmp_path / "x.csv", {"a": COMMA, "b": COMMA}, decimal=",").crosstable.n == 4
    assert explain("y", tmp_path / "x.csv", {"a": COMMA}, on=[], decimal=",").people == 4


@pytest.mark.parametrize("options", [{"where": {"x": 1}}, {"missing": 9}, {"sheet": "A"}, {"encoding": "cp1252"}])
def test_a_tally_takes_no_options_of_rows(options: dict[str, Any]) -> None:
    counted = Tally(COIN, [[3, 4], [5, 6]], by=("x",), groups=(("1",), ("2",)))
    with pytest.raises(TypeError, match=f"{next(iter(options))} must be left out for a tally"):
        regress("~ x", counted, **options)


def test_a_table_of_counts_takes_no_options_of_rows() -> None:
    designs = {"a": COIN, "b": COIN}
    with pytest.raises(TypeError, match="where name columns, and must be left out for a table of counts"):
        associate([[3, 4], [5, 6]], designs, where={"x": 1})
    with pytest.raises(TypeError, match="decimal and skip_bad_files must be left out for a table of counts"):
        associate([[3, 4], [5, 6]], designs, missing=9)


def test_codes_in_columns_in_memory_are_missing_in_all_of_them() -> None:
    data = {"a": ["ja", "-9", "nein", "ja"], "g": [1, 1, -9, 2]}
    counted = tally(data, COIN, column="a", by="g", missing=-9)
    assert counted.missing.tolist() == [1, 0, 0]
    assert set(counted.groups) == {(1,), (2,), (None,)}


def test_options_need_nothing_of_the_library() -> None:
    code = "import sys, warner.reports.options; print(sorted({'numpy', 'narwhals'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
