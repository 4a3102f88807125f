"""Terms: a formula or a list of columns to a matrix, and the same matrix for new data.

It tests regression/formulas.py and regression/formulas.py as well.
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from warner.arrays import objects
from warner.regression.formulas import Formula, columns_of, sides
from warner.reports.loading import column

if TYPE_CHECKING:
    from collections.abc import Callable

PEOPLE = {
    "age": np.array([20.0, 31.0, 44.0, 58.0, 63.0]),
    "children": np.array([0, 1, 2, 3, 1]),
    "region": objects(["south", "north", "east", "north", "south"]),
    "member": np.array([True, False, True, True, False]),
}


def test_a_formula_and_a_list_of_columns_give_the_same_matrix() -> None:
    written = Formula("(age + region + member)").terms(PEOPLE)
    listed = Formula.of_columns(
        (
            "age",
            "region",
            "member",
        )
    ).terms(PEOPLE)
    by_hand = [[1, 20, 0, 1, 1], [1, 31, 1, 0, 0], [1, 44, 0, 0, 1], [1, 58, 1, 0, 1], [1, 63, 0, 1, 0]]
    assert_array_equal(written.matrix(PEOPLE), by_hand)
    assert_array_equal(listed.matrix(PEOPLE), by_hand)
    assert written.names == ("Intercept", "age", "region[T.north]", "region[T.south]", "member")
    assert listed.names == ("Intercept", "age", "region[T.north]", "region[T.south]", "member[T.True]")
    assert written.groups == listed.groups
    assert listed.groups == {"Intercept": (0,), "age": (1,), "region": (2, 3), "member": (4,)}
    assert written.levels == {"region": ("east", "north", "south")}
    assert listed.levels == {"region": ("east", "north", "south"), "member": (False, True)}
    assert written.kinds == listed.kinds == {"age": "number", "region": "text", "member": "boolean"}
    assert listed.formula == "age + region + member"


@pytest.mark.parametrize("order", [None, ("south", "east", "north")])
@pytest.mark.parametrize("right", ["1", "age", "region", "age + region + member", "member+children + age + member"])
def test_a_sum_of_columns_is_what_formulaic_makes_of_it(right: str, order: tuple[str, ...] | None) -> None:
    short = Formula(right)
    whole = Formula(f"({right})")
    assert short.names is not None
    assert whole.names is None
    assert short.variables(PEOPLE) == whole.variables(PEOPLE)
    assert short.factors(PEOPLE) == whole.factors(PEOPLE)
    mine, theirs = (one.terms(PEOPLE, orders={"region": order}) for one in (short, whole))
    assert_array_equal(mine.evaluate(PEOPLE), theirs.evaluate(PEOPLE))
    assert (mine.names, mine.groups, mine.variables, mine.kinds, mine.levels) == (
        theirs.names,
        theirs.groups,
        theirs.variables,
        theirs.kinds,
        theirs.levels,
    )


@pytest.mark.parametrize(
    ("right", "names"),
    [
        ("1", ("Intercept",)),
        ("age - 1", ("age",)),
        ("0 + region", ("region[east]", "region[north]", "region[south]")),
        ("C(children)", ("Intercept", "C(children)[T.1]", "C(children)[T.2]", "C(children)[T.3]")),
        ("age:region", ("Intercept", "age:region[east]", "age:region[north]", "age:region[south]")),
        ("age * member", ("Intercept", "age", "member", "age:member")),
        ("{age / 10} + I(age ** 2)", ("Intercept", "age / 10", "I(age ** 2)")),
    ],
)
def test_the_intercept_comes_first_unless_a_formula_takes_it_out(right: str, names: tuple[str, ...]) -> None:
    terms = Formula(right).terms(PEOPLE)
    assert terms.names == names
    assert sorted(number for group in terms.groups.values() for number in group) == list(range(len(names)))
    assert terms.matrix(PEOPLE).shape == (5, len(names))


def test_a_declared_order_of_levels_is_kept() -> None:
    order = {"region": ("south", "west", "east", "north")}
    listed = Formula.of_columns(("region",)).terms(PEOPLE, orders=order)
    assert listed.names == ("Intercept", "region[T.east]", "region[T.north]")
    assert Formula("region").terms(PEOPLE, orders=order).names == listed.names
    assert Formula("C(region)").terms(PEOPLE, orders=order).levels == {"region": ("south", "east", "north")}


FRAMES: dict[str, Callable[[Any], Any]] = {
    "pandas": pd.DataFrame,
    "pandas, nullable": lambda table: pd.DataFrame(table).convert_dtypes(),
    "polars": pl.DataFrame,
    "polars, lazy": lambda table: pl.DataFrame(table).lazy(),
    "polars, categorical": lambda table: pl.DataFrame(table).with_columns(pl.col("region").cast(pl.Categorical)),
    "pyarrow": pa.table,
    "lists": dict,
    "objects": lambda table: pd.DataFrame(table).astype(object),
}


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("right", ["age + region + member", "C(region) * poly(age, 2) + C(children)"])
def test_new_data_may_come_in_any_library(library: str, right: str) -> None:
    table = {name: values.tolist() for name, values in PEOPLE.items()}
    terms = Formula(right).terms(PEOPLE)
    frame = FRAMES[library]({name: values[1:4] for name, values in table.items()} | {"other": [None, 1, 2]})
    assert_allclose(terms.matrix(frame), terms.evaluate(PEOPLE)[1:4], rtol=1e-12, atol=1e-12)


def test_single_values_hold_for_all_rows_and_arrays_go_by_the_order_of_the_variables() -> None:
    terms = Formula.of_columns(
        (
            "age",
            "region",
        )
    ).terms(PEOPLE)
    assert_array_equal(terms.matrix({"age": [20, 40], "region": "north"}), [[1, 20, 1, 0], [1, 40, 1, 0]])
    numbers = Formula.of_columns(
        (
            "age",
            "children",
        )
    ).terms(PEOPLE)
    assert_array_equal(numbers.matrix(np.array([[20, 1], [30, 0]])), [[1, 20, 1], [1, 30, 0]])


def test_what_a_formula_remembers_is_of_people_and_not_of_distinct_rows() -> None:
    distinct = {"age": np.array([20.0, 60.0])}
    terms = Formula("center(age)").terms(distinct, people=np.array([3, 1]))
    assert_allclose(terms.matrix(distinct)[:, 1], [-10, 30])  # the mean of 20, 20, 20, 60 is 30
    everybody = {"age": np.array([20.0, 20, 20, 60])}
    for right in ("scale(age)", "C(age)", "bs(age, df=4)"):
        once = Formula(right).terms(distinct, people=np.array([3, 1]))
        assert_allclose(once.matrix(distinct), Formula(right).terms(everybody).matrix(distinct), rtol=1e-12)
    # New data do not move what was remembered.
    assert_allclose(terms.matrix({"age": [100.0]}), [[1, 70]])


def test_variables_are_found_wherever_they_stand() -> None:
    columns = ["age", "my col", "exp", "a.b", "x"]
    right = "scale(age) + np.log(`my col`) + C(x, contr.treatment(base=1)) + exp(exp) + a.b + Q('y z')"
    assert Formula(right).variables(columns) == ("age", "my col", "x", "exp", "a.b", "y z")
    assert Formula("age + agee + log(x)").variables(columns) == ("age", "agee", "x")
    with pytest.raises(ValueError, match=r"must use functions that formulas know, .* but 'open' is not one"):
        Formula("age + open(x)").variables(columns)
    assert Formula("1").variables(columns) == ()
    people = PEOPLE | {"my col": PEOPLE["age"]}
    assert Formula("age + region + C(children) * C(`my col`) + poly(age, 2)").factors(people) == (
        "region",
        "children",
        "my col",
    )


def test_a_formula_has_a_left_and_a_right_side() -> None:
    assert sides("answer ~ age + 1") == ("answer", "age + 1")
    assert sides("~ age") == ("", "age")
    assert sides("`my answer` ~ age") == ("my answer", "age")
    assert sides(" answer ") == ("answer", "")


@pytest.mark.parametrize(
    ("right", "message"),
    [
        ("age + (", r"formula must be one that can be read, but 'age \+ \(' cannot: Could not find matching context"),
        ("age +", "cannot: Operator `\\+` has insuffi"),
        ("age | region", "must have one part on its right side, without |"),
        (".", r"cannot: it must name its columns; a dot is not the sum of all others$"),
        ("age.mean()", "cannot be evaluated: each term must be one number for each row$"),
        ("age + 3", "Numeric literals other than `1`"),
        ("np.log(region)", "cannot be evaluated: .*, in `np.log\\(region\\)`"),
        ("np.log(age - 31)", "cannot be evaluated: some of its values are not numbers; look for a logarithm"),
        ("np.log(children)", r"the model's column 'np.log\(children\)' must be finite, but is not in 1 row: look for"),
        ("age.foo()", "no attribute 'foo', in `age.foo\\(\\)`"),
        ("C(region, levels=['north', 'south'])", "must name all levels of its factors"),
        ("I(age - age.mean())", "must compute each term from the respondent's own row"),
        ("I(age / np.max(age))", "center\\(\\), scale\\(\\) and poly\\(\\) remember"),
        ("age.rank()", "must compute each term"),
    ],
)
def test_a_formula_that_cannot_be_right_is_one_clear_error(right: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        Formula(right).terms(PEOPLE)
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("formula", ["answer ~", "~", "a ~ b ~ c"])
def test_a_formula_needs_one_tilde_with_terms_on_its_right(formula: str) -> None:
    with pytest.raises(ValueError, match='must be "answer ~ " and the terms'):
        sides(formula)


@pytest.mark.parametrize("listed", [False, True])
def test_new_data_that_do_not_fit_are_one_clear_error(listed: bool) -> None:
    terms = (
        Formula.of_columns(
            (
                "age",
                "region",
            )
        ).terms(PEOPLE)
        if listed
        else Formula("age + region").terms(PEOPLE)
    )
    good = {"age": [30.0], "region": ["north"]}
    with pytest.raises(
        ValueError, match=r"must hold levels that were there.*'east', 'north', 'south'.*but holds 'west'"
    ):
        terms.matrix(good | {"region": ["west"]})
    with pytest.raises(ValueError, match="must have the column 'region', which the model uses; there is 'age'"):
        terms.matrix({"age": [30.0]})
    with pytest.raises(ValueError, match="'age' must have no missing values in new data, but 1 row lacks one"):
        terms.matrix(good | {"age": [None]})
    with pytest.raises(ValueError, match="'age' must hold finite numbers, but 1 of its values is infinite"):
        terms.matrix(good | {"age": [np.inf]})
    with pytest.raises(
        TypeError, match="'age' must hold numbers, as it did when the model was fitted, but holds texts"
    ):
        terms.matrix(good | {"age": ["30"]})
    with pytest.raises(ValueError, match=r"must have equal lengths, but have lengths \[1, 2\]"):
        terms.matrix(good | {"age": [30, 31]})
    with pytest.raises(TypeError, match=r"must be a data frame or a mapping of columns, but got builtins\.int"):
        terms.matrix(3)


def test_an_unseen_level_of_a_number_is_an_error_too() -> None:
    terms = Formula("C(children)").terms(PEOPLE)
    with pytest.raises(ValueError, match=r"\(0, 1, 2, 3\), but holds 7"):
        terms.matrix({"children": [7]})


def test_an_unseen_level_is_an_error_wherever_it_hides() -> None:
    assert Formula("C(children > 1)").terms(PEOPLE).matrix({"children": [7]}).tolist() == [[1, 1]]
    doubled = Formula("C(I(children * 2))").terms(PEOPLE)
    assert doubled.levels == {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # formulaic would warn, and take what is new for the reference
        with pytest.raises(ValueError, match="new data must hold none that was not there"):
            doubled.matrix({"children": [7]})
        with pytest.raises(ValueError, match="'region' has levels that were not there"):
            Formula("region").terms(PEOPLE).evaluate({"region": objects(["west"])})


def test_a_factor_with_one_level_is_refused() -> None:
    same = {"region": objects(["north", "north"]), "age": np.array([1, 2])}
    message = r"'region' must have at least two levels .* but has 'north'; leave it out"
    with pytest.raises(ValueError, match=message):
        Formula.of_columns(("region",)).terms(same)
    with pytest.raises(ValueError, match=message):
        Formula("C(region)").terms(same)


def test_without_formulaic_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(ImportError, match=r"formulas need formulaic, .* extra \[regress\], or name the col"):
        Formula("log(age)").terms(PEOPLE)
    assert Formula("age + region").terms(PEOPLE).names == ("Intercept", "age", "region[T.north]", "region[T.south]")


@pytest.mark.parametrize(
    ("texts", "values", "missing"),
    [
        (["1", "20", None], [1, 20, 0], [0, 0, 1]),
        (["1.5", "NA", "-2e3"], [1.5, 0, -2000], [0, 1, 0]),
        (["007", "12"], ["007", "12"], [0, 0]),
        (["NA", "ZA", None], ["NA", "ZA", ""], [0, 0, 1]),
        (["1e5", "."], [1e5, 0], [0, 1]),
    ],
)
def test_a_column_of_a_text_file_holds_numbers_if_all_its_values_do(
    texts: list[str | None], values: list[Any], missing: list[int]
) -> None:
    read = column("x", texts, text=True)
    assert read.values.tolist() == values
    assert read.missing.tolist() == [bool(lost) for lost in missing]


def test_columns_of_one_kind_are_read_and_others_refused() -> None:
    assert column("x", [1, None, 3]).values.dtype == np.int64
    assert column("x", [1, 2.5]).values.tolist() == [1.0, 2.5]
    assert column("x", [True, None]).values.dtype == bool
    assert column("x", [2**70, 1]).values.dtype == np.float64
    assert column("x", pd.Series([1.0, None])).missing.tolist() == [False, True]
    assert column("x", pl.Series([1, None])).missing.tolist() == [False, True]
    assert column("x", pl.Series([1.0, float("nan")])).missing.tolist() == [False, True]
    assert column("x", pa.chunked_array([[2**63]], pa.uint64())).values.tolist() == [2.0**63]
    assert column("x", pd.Series(pd.Categorical(["b"], categories=["b", "a"]))).order == ("b", "a")
    assert column("x", pl.Series(["b"], dtype=pl.Enum(["b", "a"]))).order == ("b", "a")
    assert column("x", pl.Series(["b"], dtype=pl.Categorical)).order is None
    with pytest.raises(
        TypeError, match="'x' must hold numbers, texts or truth values, all of one kind, but holds bool and int"
    ):
        column("x", [True, 1, "a"][:2])
    with pytest.raises(TypeError, match="'x' must hold numbers, texts or truth values, but holds Datetime"):
        column("x", pd.Series(pd.to_datetime(["2020-01-01"])))
    with pytest.raises(ValueError, match=r"'x' must have one axis, but got shape \(2, 2\)"):
        columns_of({"x": np.ones((2, 2))}, ["x"])
