"""Result kit: rows for JSON, numbers that JSON can hold, declared tables, and tables of coefficients."""

from __future__ import annotations

import json
import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from warner import RandomizedResponse, Tally, check, estimate, estimate_groups
from warner.arrays import objects
from warner.results import (
    Column,
    Estimates,
    Limits,
    StandardErrors,
    TableResult,
    TableRows,
    as_json,
    coefficients,
    critical_value,
    listed,
    p_values,
    plain,
    rows,
    typeset,
)
from warner.typesetting import Printed, plain_table


def test_rows_are_dictionaries_in_the_order_of_the_columns() -> None:
    table = {"term": objects(["a", "b"]), "n": np.array([1, 2]), "p": np.array([0.5, np.nan])}
    assert rows(table) == [{"term": "a", "n": 1, "p": 0.5}, {"term": "b", "n": 2, "p": None}]
    assert list(rows(table)[0]) == ["term", "n", "p"]


def test_rows_hold_what_json_can_write() -> None:
    table = {"n": np.array([1], dtype=np.int64), "high": np.array([np.inf]), "fits": np.array([True])}
    assert json.loads(json.dumps(rows(table), allow_nan=False)) == [{"n": 1, "high": None, "fits": True}]


def test_a_table_without_rows_is_an_empty_list() -> None:
    assert rows({"a": np.empty(0), "b": np.empty(0)}) == []


def test_columns_of_different_lengths_are_no_table() -> None:
    with pytest.raises(ValueError, match="shorter"):
        rows({"a": np.arange(3), "b": np.arange(2)})


def test_plain_looks_into_arrays_and_mappings() -> None:
    given = {"matrix": np.array([[1.0, np.nan], [-np.inf, 2.0]]), "label": "yes", "one": np.float64(0.5), "none": None}
    assert plain(given) == {"matrix": [[1.0, None], [None, 2.0]], "label": "yes", "one": 0.5, "none": None}


# Coefficient tables


def test_a_coefficient_table_by_hand() -> None:
    # 2 / 0.5 = 4 standard errors from 0; 2 -+ 1.959964 * 0.5; and p = 2 * Phi(-4).
    table = coefficients({"term": ["age"]}, *given(2.0, 0.5, None))
    assert list(table) == ["term", "estimate", "se", "statistic", "p", "low", "high", "freedom"]
    assert rows(table)[0] == {
        "term": "age",
        "estimate": 2.0,
        "se": 0.5,
        "statistic": 4.0,
        "p": pytest.approx(6.334248e-05, rel=1e-6),
        "low": pytest.approx(1.0200180, rel=1e-7),
        "high": pytest.approx(2.9799820, rel=1e-7),
        "freedom": None,
    }


def given(estimate: float, error: float, freedom: float | None) -> tuple[np.ndarray, Limits]:
    b, se = np.array([estimate]), np.array([error])
    return b, StandardErrors(se, None if freedom is None else np.array([freedom])).wald(b, 0.95)


def test_few_degrees_of_freedom_take_students_t() -> None:
    # The 97.5 % quantile of t with 4 degrees of freedom is 2.776445, and P(|t| > 4) = 0.016130.
    table = coefficients({"term": ["age"]}, *given(2.0, 0.5, 4.0))
    assert_allclose(table["low"], 2 - 2.776445105 * 0.5, rtol=1e-9)
    assert_allclose(table["p"], 0.016130090, rtol=1e-6)
    assert_array_equal(table["freedom"], [4.0])


def test_many_degrees_of_freedom_are_the_normal_law() -> None:
    statistic = np.array([-3.0, 0.0, 1.0, 20.0])
    assert_allclose(p_values(statistic, np.full(4, 1e9)), p_values(statistic, None), rtol=1e-4)
    assert_allclose(critical_value(0.9, np.array([1e9])), critical_value(0.9), rtol=1e-8)


def test_intervals_leave_out_zero_where_p_is_below_one_minus_the_level() -> None:
    b, freedom = np.linspace(-3, 3, 601), np.full(601, 7.0)
    tested = StandardErrors(np.ones(601), freedom).wald(b, 0.9)
    assert_array_equal((tested.low > 0) | (tested.high < 0), p_values(tested.statistic, freedom) < 0.1)


def test_what_has_no_error_has_no_statistic() -> None:
    tested = StandardErrors(np.array([np.nan, np.nan])).wald(np.array([np.inf, 1.0]), 0.95)
    assert np.isnan([tested.statistic, tested.low, tested.high]).all()


def test_a_floor_widens_intervals_and_raises_p_values_together() -> None:
    # Standard errors by clusters from none to larger than the floor of 1, whose normal law has no degrees of freedom
    estimate, freedom = np.repeat(np.linspace(-4, 4, 81), 5), np.tile([1.0, 2.0, 4.0, 9.0, 50.0], 81)
    errors = np.tile([0.0, 0.1, 0.5, 1.0, 2.0], 81)
    accuracy = StandardErrors(errors, freedom, np.ones(405))
    for level in (0.5, 0.9, 0.95, 0.999):
        tested = accuracy.wald(estimate, level)
        half = np.maximum(critical_value(level), critical_value(level, freedom) * errors)
        assert_allclose(tested.high - estimate, half)
        p = p_values(tested.statistic, tested.freedom)
        assert_array_equal((tested.low > 0) | (tested.high < 0), p < 1 - level)
        assert_array_equal(accuracy.floored(level), half > critical_value(level, freedom) * errors)
    nothing = StandardErrors(np.zeros(1), np.ones(1), np.ones(1)).wald(np.zeros(1), 0.95)
    assert (nothing.statistic[0], p_values(nothing.statistic, nothing.freedom)[0]) == (0, 1)
    unknown = StandardErrors(np.array([np.nan]), np.array([1.0]), np.array([np.nan])).wald(np.ones(1), 0.95)
    assert np.isnan([unknown.statistic, unknown.low, unknown.high]).all()


def test_how_intervals_were_found_stands_before_the_degrees_of_freedom() -> None:
    names: dict[str, list[Any]] = {"term": ["a", "b"], "answer": ["yes", None]}
    one = np.ones(2)
    table = coefficients(names, one, Limits(one, one, one, ("wald", "profile"), one))
    assert list(table)[:2] == ["term", "answer"]
    assert list(table)[-2:] == ["interval", "freedom"]
    assert table["interval"].tolist() == ["wald", "profile"]


@pytest.mark.parametrize("level", [0, 1, 1.5, "0.95", None])
def test_a_level_is_between_zero_and_one(level: Any) -> None:
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        critical_value(level)


# Rows that are written in blocks


TABLES = {
    "numbers": {"a": np.array([0.0, -0.0, np.nan, np.inf, 1e-300, 1 / 3, 1 / 3, 1e22]), "b": np.arange(8)},
    "texts": {
        "a%s": np.array(['"', "\\", "100 %", "na\u00efve \x9b \u2028", "line\nbreak"]),
        "b": np.arange(5) % 2 == 0,
    },
    "objects": {
        "group": objects([{"g": "a\nb", "h": 1}, {"g": None, "h": [1, 2.5]}, {}]),
        "b": objects([1, "1", 2**70]),
    },
    "small numbers": {"a": np.array([0.1, 2.5], dtype=np.float32), "b": np.array([255, 0], dtype=np.uint8)},
    "no rows": {"a": np.zeros(0)},
    "no columns": {},
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("at_once", [1, 3, 2**13])
def test_rows_in_blocks_are_written_as_their_list(table: Any, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warner.results.ROWS_WRITTEN_AT_ONCE", at_once)
    document = {"first": [1, {"a": 2}], "values": TableRows(table), "other": TableRows(TABLES["texts"]), "last": "x"}
    assert as_json(document) == as_json(listed(document))
    assert listed(document)["values"] == rows(table)


def test_columns_of_different_lengths_are_not_written() -> None:
    with pytest.raises(ValueError, match=r"shorter|longer"):
        as_json({"values": TableRows({"a": np.zeros(2), "b": np.zeros(3)})})


def test_what_json_cannot_hold_is_an_error() -> None:
    with pytest.raises(TypeError, match="set is not JSON serializable"):
        as_json({"a": {1}})


def test_estimates_are_written_as_their_dictionaries() -> None:
    design = RandomizedResponse(["na\u00efve", "\u2028", "c"], epsilon=1)
    groups = Tally(design, [[50, 30, 20], [0, 0, 0], [20, 40, 40]], by=("g",), groups=(("a",), (1,), (None,)))
    for result in (estimate(Tally(design, [50, 30, 20])), estimate(groups, method="inv"), estimate_groups(groups)):
        assert result.to_json() == as_json(result.to_dict())
    first, second = estimate(groups, method="inv").to_dict()["values"][:2]
    assert first["group"] == second["group"] == {"g": "a"}
    assert first["group"] is not second["group"]  # to change one of them changes no other


def test_many_rows_are_written_without_a_dictionary_for_each() -> None:
    design = RandomizedResponse(20_000, epsilon=4)
    counts = np.random.default_rng(1).multinomial(10**6, np.full(design.k, 1 / design.k))
    result = estimate(Tally(design, counts), method="inv")
    size = len(result.to_json())
    tracemalloc.start()
    result.to_json()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 4 * size  # parts, and all of them together; a dictionary for each row took ten times as much


# Tables that are declared once


class Shares(TableResult):
    """Two shares with intervals, as a result would declare them."""

    _rows_key = "shares"

    def _columns(self, *, star: bool = False) -> list[Column]:
        shown = Estimates(
            np.array([0.365, np.nan]), np.array([0.2913, np.nan]), np.array([0.441, np.nan]), unit="share"
        ).columns("share", "95 % interval", "share", [star, False])
        return [Column("value", objects(["yes", "a_b"]), "value"), *shown, Column("exact", np.array([True, False]))]

    def _title(self, *, star: bool = False) -> str:
        return "Estimated shares"

    def _footnotes(self, *, star: bool = False) -> list[str]:
        return ["N = 200"]

    def _facts(self, *, star: bool = False) -> dict[str, Any]:
        return {"level": np.float64(0.95)}


def test_one_declaration_is_every_form() -> None:
    result = Shares()
    assert list(result.table()) == ["value", "share", "low", "high", "exact"]
    assert result.to_dict() == {
        "level": 0.95,
        "shares": [
            {"value": "yes", "share": 0.365, "low": 0.2913, "high": 0.441, "exact": True},
            {"value": "a_b", "share": None, "low": None, "high": None, "exact": False},
        ],
    }
    assert json.loads(result.to_json()) == result.to_dict()
    assert result.text().splitlines() == [
        "Estimated shares",
        "value  share (%)   95 % interval",
        "yes        36.50  29.13 to 44.10",
        "a_b",
        "N = 200.",
    ]
    assert repr(result) == result.text()
    assert "| a_b |  |  |" in result.to_markdown()
    with pytest.raises(TypeError, match="stars"):
        result.table(stars=True)
    assert "| yes | 36.50\\* | 29.13 to 44.10 |" in result.to_markdown(star=True)
    assert result._repr_html_().startswith("<table><caption")
    assert result._repr_html_().endswith("<p>N = 200.</p>")
    assert result.to_frame("polars").columns == list(result.table())


class Grid(TableResult):
    """A table whose options can be given by their places, and which is not in the JSON document."""

    _rows_key = ""

    def _columns(self, people: int = 2) -> list[Column]:
        return [Column("people", np.arange(people), "people"), Column("level", np.full(people, 0.95), "level")]

    def _title(self, people: int = 2) -> str:
        return f"Grid of {people} rows"

    def _facts(self) -> dict[str, Any]:
        return {"design": "coin"}


def test_options_of_a_table_can_be_given_by_their_places() -> None:
    assert_array_equal(Grid().table(3)["people"], [0, 1, 2])
    assert typeset(Grid(), 3) == typeset(Grid(), people=3)
    assert typeset(Grid(), 3).title == "Grid of 3 rows"
    with pytest.raises(TypeError, match="positional"):
        Shares().table(True)


def test_columns_with_one_heading_are_both_shown() -> None:
    tally = Tally(RandomizedResponse(["yes", "no"], epsilon=1), [[4, 6], [5, 5]], by=("p",), groups=(("a",), ("b",)))
    shown = typeset(check(tally)).columns
    assert (sorted(shown["p"]), shown["p (2)"]) == (["a", "b"], ["1.000", "1.000"])


def test_a_table_can_be_left_out_of_the_json_document() -> None:
    assert Grid().to_dict() == {"design": "coin"}
    assert json.loads(Grid().to_json()) == {"design": "coin"}


def test_a_terminal_shows_at_most_so_many_rows() -> None:
    table = typeset(Grid(), 5)
    assert plain_table(table, 2).splitlines() == ["Grid of 5 rows", "people  level", "     0   0.95", "     1   0.95",
                                                  "... and 3 more rows"]  # fmt: skip
    assert plain_table(table, 5) == plain_table(table) == Grid().text(5)


def test_changes_have_the_digits_of_their_own_row() -> None:
    # Half a point per unit of one variable, and a millionth of a point per unit of another
    changes = Estimates(np.array([0.005, 1e-8]), np.array([0.003, -1e-8]), np.array([0.007, 3e-8]), unit="change")
    texts = [["+0.50", "+0.0000010"], ["+0.30 to +0.70", "-0.0000010 to +0.0000030"]]
    assert [column.shown() for column in changes.shown("change", "95 % interval")] == texts


def test_estimates_of_some_rows_of_a_table() -> None:
    table = {"estimate": np.array([1.0, 2.0]), "se": np.array([0.5, 0.5]), "p": np.array([0.1, 0.2])}
    table |= {"low": np.array([0.0, 1.0]), "high": np.array([2.0, np.nan])}
    shown = Estimates.of_table(table, rows=np.array([False, True])).shown("x", "interval", further={"likely": 1.9})
    assert {column.heading: column.shown() for column in shown} == {
        "x": ["2.00"],
        "likely": ["1.90"],
        "se": ["0.50"],
        "interval": ["1.00 to ?"],
        "p": ["0.200"],
    }


class Noted(Grid):
    """A table with a sentence below it."""

    def _footnotes(self, size: int = 3) -> list[str]:
        return ["weights count as 10 reports"]


# Coefficient tables


# Rows that are written in blocks


TABLES = {
    "numbers": {"a": np.array([0.0, -0.0, np.nan, np.inf, 1e-300, 1 / 3, 1 / 3, 1e22]), "b": np.arange(8)},
    "texts": {
        "a%s": np.array(['"', "\\", "100 %", "na\u00efve \x9b \u2028", "line\nbreak"]),
        "b": np.arange(5) % 2 == 0,
    },
    "objects": {
        "group": objects([{"g": "a\nb", "h": 1}, {"g": None, "h": [1, 2.5]}, {}]),
        "b": objects([1, "1", 2**70]),
    },
    "small numbers": {"a": np.array([0.1, 2.5], dtype=np.float32), "b": np.array([255, 0], dtype=np.uint8)},
    "no rows": {"a": np.zeros(0)},
    "no columns": {},
}


# Tables that are declared once


def test_notes_may_be_an_attribute() -> None:
    assert typeset(Noted()).notes == ("Weights count as 10 reports.",)
    assert Noted().text().endswith("Weights count as 10 reports.")


def test_a_table_without_rows_is_its_title_and_sentences() -> None:
    assert plain_table(typeset(Noted(), 0)) == "Grid of 0 rows\nWeights count as 10 reports."


def test_texts_are_cut_except_in_the_last_column_which_fills_the_line() -> None:
    lines = plain_table(Printed({"a": ["x" * 60], "b": ["y" * 60], "c": ["z" * 90]})).splitlines()
    assert [len(text) for text in lines[1].split()] == [40, 40, 40]
    lines = plain_table(Printed({"a": ["x" * 60], "c": ["z" * 90]})).splitlines()
    assert (len(lines[1]), lines[1][-3:]) == (120, "...")
    assert plain_table(Printed({"a": ["x" * 20], "c": ["z" * 90]})).endswith(f"  {'z' * 90}")


def test_texts_are_written_only_when_they_are_shown() -> None:
    def never() -> list[str]:
        raise AssertionError

    column = Column("share", np.array([0.5]), "share", never)
    assert column.values is not None
    with pytest.raises(AssertionError):
        column.shown()


@pytest.mark.parametrize(
    ("unit", "texts"),
    [
        ("number", (["1,234.5"], ["2.3"], ["1,230.0 to 1,239.0"], ["<0.001"])),
        ("share", (["123450.0"], ["230.0"], ["123000.0 to 123900.0"], ["<0.001"])),
        ("points", (["+123450.0"], ["230.0"], ["+123000.0 to +123900.0"], ["<0.001"])),
        ("change", (["+123,450"], ["230"], ["+123,000 to +123,900"], ["<0.001"])),
        ("value", (["1,234.5"], ["2.3"], ["1,230 to 1,239"], ["<0.001"])),
    ],
)
def test_each_unit_has_one_rule_for_digits(unit: str, texts: tuple[list[str], ...]) -> None:
    assert Estimates(1234.5, 1230.0, 1239.0, 2.3, 1e-9, unit).texts() == texts


def test_a_number_that_is_known_exactly_has_all_its_digits() -> None:
    assert Estimates(0.1234567, 0.1234567, 0.1234567, 0.0).texts()[0] == ["0.1234567"]
    assert Estimates(math.nan, math.nan, math.nan, math.nan).texts("unknown") == (["unknown"], [""], [""], [])


def test_a_value_that_is_missing_has_a_reason_and_no_percent_sign() -> None:
    # Three groups: known; without reports; with reports that do not identify the share, which has an interval.
    value, low, high = np.array([[0.3, np.nan, np.nan], [0.2, np.nan, 0.0], [0.4, np.nan, 1.0]])
    shares = Estimates(value, low, high, unit="share")
    assert shares.texts(shares.reasons(), sign=True)[0] == ["30.0 %", "no reports", "not known"]
    assert shares.texts(shares.reasons(), sign=True)[2] == ["20.0 to 40.0 %", "", "0.0 to 100.0 %"]
    column, _ = shares.shown("share", "interval", unknown=shares.reasons())
    table = Printed({"group": ["a", "b", "c"], column.heading: column.shown()})
    assert plain_table(table).splitlines()[2:] == ["b      no reports", "c       not known"]  # to the right, as numbers
