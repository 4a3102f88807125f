"""Data to rows: every engine gives the same ones, and they are those that plain Python finds.

It tests regression/reports.py and regression/data.py as well.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from cases import COIN, DIRECT
from engines import ENGINES, in_engine
from warner import Channel, RandomizedResponse, associate, pool, regress, tally
from warner.designs import MECHANISMS
from warner.regression import data as regression_data
from warner.reports.loading import nearly_all_differ
from warner.reports.options import grouped_keywords
from warner.surveys import crosswise

if TYPE_CHECKING:
    from pathlib import Path

    from warner.designs.contract import Design
    from warner.regression.data import ModelData

every_engine = pytest.mark.parametrize("engine", ENGINES)


def model_data(formula: str, data: Any, design: Any = None, **keywords: Any) -> ModelData:
    """Return the data of a model, from keywords as `regress` has them."""
    return regression_data.model_data(formula, data, design, **grouped_keywords(keywords))


def people_table(n: int = 300) -> dict[str, list[Any]]:
    rng = np.random.default_rng(15)

    def one_of(values: list[Any], every: int) -> list[Any]:
        drawn = rng.integers(0, len(values), n).tolist()
        return [None if i % every == every - 1 else values[j] for i, j in enumerate(drawn)]

    return {
        "answer": one_of(["yes", "no"], 23),
        "age": one_of([20, 35, 50], 29),
        "height": one_of([1.5, 1.75], 10**9),
        "region": one_of(["nörd", "süd", "ost"], 31),
        "version": one_of(["dice", "direct"], 10**9),
        "house": one_of([f"h{i}" for i in range(9)], 10**9),
        "weight": [float(w) for w in rng.integers(0, 5, n) / 4],  # quarters: sums of them are exact
        "times": rng.integers(0, 4, n).tolist(),
    }


TABLE = people_table()
DESIGNS = {"dice": COIN, "direct": DIRECT}
# The column of ones, age, height, and indicators of ost < süd beyond nörd, as sorted by code points.
FORMULA = "answer ~ age + height + C(region)"


def by_hand(table: dict[str, list[Any]], *, by: str | None = None, amount: str | None = None) -> Counter[Any]:
    """Count the people of each kind, in plain Python: design, report, age, height, region."""
    total: Counter[Any] = Counter()
    for i, answer in enumerate(table["answer"]):
        known = [table[name][i] for name in ("age", "height", "region")]
        if answer is not None and None not in known:
            design = "dice" if by is None else table[by][i]
            total[(design, answer, *known)] += 1 if amount is None else table[amount][i]
    return Counter({key: number for key, number in total.items() if number})


def as_counter(found: ModelData, amount: str = "people") -> Counter[Any]:
    rows = found.observations
    labels = found.labels if found.labels != ("",) else ("dice",)
    covariates = {name: values.tolist() for name, values in found.covariates.items()}
    keys = [
        (labels[d], rows.designs[d].law.columns[j], *(covariates[name][p] for name in ("age", "height", "region")))
        for d, j, p in zip(rows.design.tolist(), rows.report.tolist(), found.pattern.tolist(), strict=True)
    ]
    assert len(set(keys)) == len(keys)
    return Counter(dict(zip(keys, getattr(rows, amount).tolist(), strict=True)))


def same(first: ModelData, second: ModelData) -> None:
    assert first.terms.names == second.terms.names
    assert (first.missing, first.unknown, first.weightless) == (second.missing, second.unknown, second.weightless)
    assert first.observations.sampling.features == second.observations.sampling.features
    for name in ("x", "likelihood", "weight", "square", "people", "design", "report"):
        one, other = getattr(first.observations, name), getattr(second.observations, name)
        assert_allclose(one, other, rtol=1e-12, atol=0, err_msg=name)
    for name in ("cluster", "stratum"):
        assert_array_equal(getattr(first.observations.sampling, name), getattr(second.observations.sampling, name))


@every_engine
def test_every_engine_gives_the_rows_that_plain_python_finds(engine: str, tmp_path: Path) -> None:
    found = model_data(FORMULA, in_engine(engine, TABLE, tmp_path), DESIGNS, by="version")
    assert as_counter(found) == by_hand(TABLE, by="version")
    lost = sum(None in row for row in zip(*(TABLE[n] for n in ("answer", "age", "height", "region")), strict=True))
    assert (found.missing, found.unknown, found.weightless) == (lost, 0, 0)
    assert found.observations.n == 300 - lost
    assert found.terms.names == ("Intercept", "age", "height", "C(region)[T.ost]", "C(region)[T.süd]")
    assert found.formula == FORMULA


@every_engine
def test_every_engine_gives_the_same_weights_clusters_and_strata(engine: str, tmp_path: Path) -> None:
    table = TABLE | {"part": ["a" if house < "h5" else "b" for house in TABLE["house"]]}
    options: dict[str, Any] = {"weights": "weight", "clusters": "house", "strata": "part"}
    found = model_data("answer", in_engine(engine, table, tmp_path), COIN, on=["age", "region"], **options)
    plain = model_data("answer", table, COIN, on=["age", "region"], **options)
    same(found, plain)
    light = sum(weight == 0 for weight in TABLE["weight"])
    assert found.weightless == light > 0
    assert found.observations.n + found.missing + light == 300
    sampling = found.observations.sampling
    assert sampling.weighted
    assert_array_equal(sampling.clusters.stratum, [0] * 5 + [1] * 4)
    assert_array_equal(sampling.stratum, np.array(sampling.cluster) >= 5)


def test_weights_are_summed_with_their_squares() -> None:
    found = model_data(FORMULA, pl.DataFrame(TABLE), COIN, weights="weight")
    squares = TABLE | {"square": [weight**2 for weight in TABLE["weight"]]}
    heavy = TABLE | {"heavy": [int(weight > 0) for weight in TABLE["weight"]]}
    assert as_counter(found, "weight") == by_hand(TABLE, amount="weight")
    assert as_counter(found, "square") == by_hand(squares, amount="square")
    assert as_counter(found) == by_hand(heavy, amount="heavy")


@pytest.mark.parametrize("library", [dict, pl.DataFrame, pd.DataFrame])
def test_counts_of_people_are_the_same_as_so_many_rows(library: Any) -> None:
    repeated = {name: [v for v, n in zip(TABLE[name], TABLE["times"], strict=True) for _ in range(n)] for name in TABLE}
    found = model_data(FORMULA, library(TABLE), COIN, counts="times")
    same(found, model_data(FORMULA, library(repeated), COIN))
    assert not found.observations.sampling.weighted
    assert_array_equal(found.observations.weight, found.observations.people)
    # The same people in two lots are the same people.
    split = {name: [*values, *values] for name, values in TABLE.items()}
    split["times"] = [0 if i % 3 else n for i, n in enumerate(TABLE["times"])]
    split["times"] += [n - m for n, m in zip(TABLE["times"], split["times"], strict=True)]
    same(found, model_data(FORMULA, library(split), COIN, counts="times"))


@given(st.permutations(range(60)))
def test_the_order_of_the_rows_does_not_matter(order: list[int]) -> None:
    table = {name: [values[place] for place in order] for name, values in TABLE.items()}
    first = {name: values[:60] for name, values in TABLE.items()}
    options: dict[str, Any] = {"by": "version", "on": ["age", "region"], "weights": "weight", "clusters": "house"}
    same(model_data("answer", table, DESIGNS, **options), model_data("answer", first, DESIGNS, **options))


def test_a_formula_a_list_and_an_array_are_three_ways_to_say_the_same() -> None:
    whole = {name: [v for i, v in enumerate(TABLE[name]) if TABLE["age"][i] is not None] for name in TABLE}
    frame = pl.DataFrame(whole)
    written = model_data("answer ~ age + height", frame, COIN)
    matrix = np.column_stack([whole["age"], whole["height"]])
    for other in (
        model_data("answer", frame, COIN, on=["age", "height"]),
        model_data("answer", frame.drop("age", "height"), COIN, X=matrix, names=["age", "height"]),
        model_data(
            "answer",
            {"answer": whole["answer"]},
            COIN,
            X=pd.DataFrame({"age": whole["age"], "height": whole["height"]}),
        ),
    ):
        same(written, other)
        assert other.formula == "answer ~ age + height"
    assert model_data("answer", frame, COIN, X=matrix).terms.names == ("Intercept", "x1", "x2")
    assert_array_equal(written.terms.matrix(written.covariates)[written.pattern], written.observations.x)
    new = np.array([[20.0, 1.5]])
    assert_array_equal(written.terms.matrix(new), [[1, 20, 1.5]])


def test_what_a_formula_remembers_is_of_all_people_however_they_were_collapsed() -> None:
    complete = [i for i in range(300) if None not in (TABLE["answer"][i], TABLE["age"][i])]
    ages = np.array([TABLE["age"][i] for i in complete], dtype=float)
    found = model_data("answer ~ scale(age)", pl.DataFrame(TABLE), COIN)
    scaled = (found.covariates["age"] - ages.mean()) / ages.std(ddof=1)
    assert_allclose(found.terms.matrix(found.covariates)[:, 1], scaled, rtol=1e-12)
    counted = model_data("answer ~ scale(age)", pl.DataFrame(TABLE), COIN, counts="times")
    often = np.repeat(ages, [TABLE["times"][i] for i in complete])
    assert_allclose(counted.terms.matrix({"age": [50]})[0, 1], (50 - often.mean()) / often.std(ddof=1), rtol=1e-12)


def test_each_row_has_the_likelihood_of_its_own_design() -> None:
    secret = crosswise("1/3")
    table = {"answer": ["same", "no", "yes", "differ"], "kind": [1, 2, 2, 1], "age": [1, 2, 3, 4]}
    found = model_data("answer ~ age", table, {1: secret, 2: DIRECT}, by="kind")
    assert_allclose(found.observations.likelihood, np.array([[1, 2], [0, 3], [3, 0], [2, 1]]) / 3)
    assert found.labels == ("1", "2")
    assert found.observations.design.tolist() == [0, 1, 1, 0]
    for table_of, design in zip(found.observations.tables, (secret, DIRECT), strict=True):
        matrix = design.law.likelihood().matrix
        assert table_of is not None
        assert matrix is not None
        assert_allclose(table_of, matrix())
    floats = pd.DataFrame(table | {"kind": [1.0, 2.0, 2.0, 1.0]})
    same(found, model_data("answer ~ age", floats, {1: secret, 2: DIRECT}, by="kind"))


def test_a_design_may_be_a_covariate_and_people_without_one_or_without_a_cluster_are_missing() -> None:
    table: dict[str, Any] = {
        "answer": ["same", "no", "yes", "differ", "neither", "no"],
        "kind": ["rr", "dq", "dq", "rr", None, "dq"],
        "age": [1, 2, 3, 4, 5, 6],
        "house": [7, 7, 8, 8, 9, None],
    }
    for data in (table, pl.DataFrame(table), pd.DataFrame(table)):
        found = model_data(
            "answer ~ age * kind", data, {"rr": crosswise("1/3"), "dq": DIRECT}, by="kind", clusters="house"
        )
        assert found.terms.names == ("Intercept", "age", "kind[T.rr]", "age:kind[T.rr]")
        assert (found.observations.n, found.missing, found.unknown) == (4, 2, 0)
        assert_array_equal(found.observations.x[:, 2], found.observations.design == 0)
        assert found.observations.sampling.cluster is not None
        assert found.observations.sampling.cluster.tolist() == [0, 0, 1, 1]


def test_rows_are_grouped_where_they_are_unless_that_would_be_in_vain() -> None:
    rng = np.random.default_rng(1)
    kinds = pl.DataFrame({"answer": ["yes", "no"] * 5000, "x": rng.integers(0, 1000, 10_000)})
    measured = kinds.with_columns(x=pl.Series(rng.normal(size=10_000)))
    assert not nearly_all_differ(nw.from_native(kinds), ["answer", "x"])
    assert nearly_all_differ(nw.from_native(measured), ["answer", "x"])


EXAMPLES = [design for mechanism in MECHANISMS.values() for design in mechanism.examples()]


@pytest.mark.parametrize("design", EXAMPLES, ids=lambda design: f"{design.mechanism} {design.k}")
def test_rows_have_the_likelihood_of_any_design(design: Design) -> None:
    rng = np.random.default_rng(7)
    codes = design.draw(rng.integers(0, design.k, 40), rng.bytes)
    written = design.report_form.written(codes).tolist()
    x = rng.integers(0, 2, 40)
    table = {"report": written, "x": x.tolist()}
    for data in (table, pl.DataFrame(table)):
        found = model_data("report ~ x", data, design, unknown="drop")
        assert found.observations.n == 40
        # Every person's likelihood, up to a factor, in the order of their rows; sums tell whether any is lost.
        matrix = design.law.likelihood(codes).matrix
        assert matrix is not None
        likelihood = matrix().T / matrix().T.max(axis=1, keepdims=True)
        rows = found.observations.likelihood / found.observations.likelihood.max(axis=1, keepdims=True)
        for value in (0, 1):
            mine, theirs = found.observations.x[:, 1] == value, x == value
            assert_allclose(found.observations.people[mine] @ rows[mine], likelihood[theirs].sum(axis=0), rtol=1e-12)
            assert_allclose(
                found.observations.people[mine] @ rows[mine] ** 2, (likelihood[theirs] ** 2).sum(axis=0), rtol=1e-12
            )
    for number, one in enumerate(found.observations.tables):
        reports = found.observations.report[found.observations.design == number]
        if one is None:
            assert (reports == -1).all()
        else:
            assert_allclose(one[:, reports].T, found.observations.likelihood)


@pytest.mark.parametrize("design", EXAMPLES, ids=lambda design: f"{design.mechanism} {design.k}")
def test_a_grouped_tally_gives_the_same_rows_as_the_data(design: Design) -> None:
    rng = np.random.default_rng(8)
    codes = design.draw(rng.integers(0, design.k, 50), rng.bytes)
    table = pl.DataFrame({"report": design.report_form.written(codes).tolist(), "x": rng.integers(0, 3, 50)})
    counts = tally(table, design, column="report", by="x", keep=True)
    found, plain = model_data("~ x", counts), model_data("report ~ x", table, design)
    assert found.response == ""
    assert found.backend == "polars"
    same(found, plain)


def test_a_tally_may_have_more_groups_and_missing_ones() -> None:
    counts = tally(pl.DataFrame(TABLE), COIN, column="answer", by=["age", "region", "house"])
    found = model_data("~ age + C(region)", counts, clusters="house")
    plain = model_data("answer ~ age + C(region)", pl.DataFrame(TABLE), COIN, clusters="house")
    same(found, plain)
    assert found.missing > 0


def test_a_tally_of_a_text_file_has_numbers_where_the_file_has(tmp_path: Path) -> None:
    path = in_engine("csv", TABLE, tmp_path)
    counts = tally(path, COIN, column="answer", by=["age", "height", "region"])
    same(model_data("~ age + height + C(region)", counts), model_data(FORMULA, path, COIN))
    everybody = model_data("~ 1", tally(path, COIN, column="answer"))
    assert_array_equal(everybody.observations.x, [[1], [1]])
    assert everybody.observations.people.tolist() == [TABLE["answer"].count("yes"), TABLE["answer"].count("no")]


def test_a_pool_has_a_design_for_each_part() -> None:
    frame = pl.DataFrame(TABLE)
    parts = [
        tally(frame.filter(pl.col("version") == name), DESIGNS[name], column="answer", by=["age", "region"])
        for name in ("dice", "direct")
    ]
    found = model_data("~ age + C(region)", pool(parts))
    same(found, model_data("answer ~ age + C(region)", frame, DESIGNS, by="version"))
    assert found.labels == ("1", "2")


def test_levels_keep_the_order_that_a_column_declares() -> None:
    order = ["süd", "ost", "west", "nörd"]
    for frame in (
        pl.DataFrame(TABLE).with_columns(pl.col("region").cast(pl.Enum(order))),
        pl.DataFrame(TABLE).with_columns(pl.col("region").cast(pl.Enum(order))).lazy(),
        pd.DataFrame(TABLE | {"region": pd.Categorical(TABLE["region"], order)}),
    ):
        names = model_data("answer ~ region", frame, COIN).terms.names
        assert names == ("Intercept", "region[T.ost]", "region[T.nörd]")


def test_unknown_reports_are_refused_or_counted() -> None:
    table = {"answer": ["yes", "no", "Yes", "maybe", None], "x": [1, 2, 3, 4, 5], "n": [1, 1, 2, 3, 4]}
    for data in (table, pl.DataFrame(table), pd.DataFrame(table)):
        message = r"reports must be in the domain, but 5 are not: .*'Yes' \(which differs from 'yes' only in case\)"
        with pytest.raises(ValueError, match=message):
            model_data("answer ~ x", data, COIN, counts="n")
        found = model_data("answer ~ x", data, COIN, counts="n", unknown="drop")
        assert (found.observations.n, found.unknown, found.missing) == (2, 5, 4)


GOOD: dict[str, Any] = {
    "answer": ["yes", "no", "yes"],
    "age": [1.0, 2.0, 3.0],
    "g": ["a", "b", "b"],
    "w": [1.0, 2.0, 0.5],
}


@pytest.mark.parametrize("library", [dict, pl.DataFrame, pd.DataFrame, "csv"])
@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"formula": "answer ~ agee"}, "there is no column 'agee'; did you mean 'age'\\? The columns are: "),
        ({}, {"formula": "anwser ~ age"}, "there is no column 'anwser'; did you mean 'answer'"),
        ({}, {"formula": "answer", "on": ["ages"]}, "there is no column 'ages'; did you mean 'age'"),
        ({}, {"weights": "ww"}, "there is no column 'ww'"),
        ({}, {"clusters": "house"}, "there is no column 'house'"),
        ({}, {"formula": "answer ~ age +"}, "formula must be one that can be read, but 'age \\+' cannot"),
        ({"w": [1, -2, 1]}, {"weights": "w"}, "weights must be finite numbers of at least 0, but 1 is negative"),
        (
            {"w": [1, None, 1]},
            {"weights": "w"},
            "weights must be finite numbers of at least 0, but 1 is negative, miss",
        ),
        ({"age": [1.0, float("inf"), 2.0]}, {}, "'age' must hold finite numbers, but 1 of its values is infinite"),
        ({"g": ["a", "a", "c"]}, {"design": DESIGNS, "by": "g"}, "but 3 rows have 'a', 'c'"),
        ({"age": [None, None, None]}, {}, "there must be respondents without missing values .*: 3 lack a value"),
        ({"w": [0, 0, 0]}, {"weights": "w"}, "there is none: 3 weigh nothing"),
        (
            {"h": ["a", "a", "b"]},
            {"clusters": "h", "strata": "g"},
            "in one stratum each, but 1 lies in several, such as 'a'",
        ),
    ],
)
def test_bad_input_is_one_clear_error(
    library: Any, change: dict[str, Any], options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    table = GOOD | change
    data = in_engine("csv", table, tmp_path) if library == "csv" else library(table)
    if library == "csv" and "inf" in str(change):
        pytest.skip("inf is a text in a text file")
    with pytest.raises(ValueError, match=message):
        model_data(**{"formula": "answer ~ age", "data": data, "design": COIN, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"design": None}, "design must be a Design, or a mapping of names to designs, but got None"),
        ({"design": {}}, "design must be a Design, or a mapping"),
        (
            {"design": DESIGNS},
            'by must name the column with the design of each row: by="version"',
        ),
        ({"by": "g"}, "by names the design of each row, but there is one design for all; leave by='g' out"),
        ({"formula": "answer"}, "terms must be given once: .* but got formula 'answer', on=None and no X"),
        ({"on": ["age"]}, r"terms must be given once: .* on=\['age'\]"),
        ({"formula": "answer", "on": "age"}, r"on must be a list of columns, but got the text 'age'; write \['age'\]"),
        ({"weights": "w", "counts": "w"}, "give weights .* or counts .*, not both"),
        (
            {"data": 3},
            "data must be a data frame, a table, a mapping of columns, the path of a file or a tally, but got ",
        ),
        ({"data": pl.DataFrame(GOOD).lazy(), "formula": "answer", "X": [[1]]}, "X must be given with data in memory"),
        ({"weights": "g"}, "weights must be a column of numbers, but 'g' holds something else"),
    ],
)
def test_arguments_that_contradict_each_other_are_one_clear_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        model_data(**{"formula": "answer ~ age", "data": GOOD, "design": COIN, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"formula": "~ age"}, "formula must name the column of reports"),
        ({"unknown": "keep"}, 'unknown must be "error" or "drop", but got \'keep\''),
        (
            {"design": {"a": COIN, "b": RandomizedResponse(["no", "yes"], truth="3/4")}, "by": "g"},
            "designs must have the same answers in the same order, but 'a' has 'yes', 'no' and 'b' has 'no', 'yes'",
        ),
        ({"design": RandomizedResponse(["yes", "no"], odds=(1, 1))}, "the design must have an epsilon above 0"),
        (
            {"formula": "answer", "X": np.ones((3, 2)), "names": ["a"]},
            "X must have as many columns as there are names .1: 'a'., but has 2",
        ),
        ({"formula": "answer", "X": np.ones((2, 1))}, "column 'x1' must have one value for each of the 3 rows"),
        (
            {"formula": "answer", "X": np.ones((3, 1)), "names": ["age"]},
            "names must differ from the columns of the data",
        ),
        ({"formula": "answer", "X": np.ones((3, 2)), "names": ["a", "a"]}, "names must be distinct"),
        ({"data": GOOD | {"w": [1, 1.5, 1]}, "counts": "w"}, r"counts must be whole numbers from 0 to 2\^53"),
    ],
)
def test_values_that_cannot_be_right_are_one_clear_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model_data(**{"formula": "answer ~ age", "data": GOOD, "design": COIN, **options})


def test_tallies_that_cannot_be_used_are_one_clear_error() -> None:
    frame = pl.DataFrame(GOOD)
    counts = tally(frame, COIN, column="answer", by="g")
    with pytest.raises(ValueError, match=r"the tally must be grouped by 'age', .* but is grouped by 'g': tally\("):
        model_data("~ age", counts)
    with pytest.raises(TypeError, match="weights must be left out for a tally"):
        model_data("~ g", counts, weights="w")
    with pytest.raises(ValueError, match="design must be that of the tally, or be left out"):
        model_data("~ g", counts, DIRECT)
    with pytest.raises(TypeError, match="data must not be a tally of weights"):
        model_data("~ g", tally(frame, COIN, column="answer", by="g", weights="w"))
    bits = MECHANISMS["unary encoding"].examples()[0]
    sets = tally(pl.DataFrame({"r": ["80", "40"], "g": ["a", "b"]}), bits, column="r", by="g")
    with pytest.raises(TypeError, match=r"the tally must keep its reports, .*: tally\(\.\.\., keep=True\)"):
        model_data("~ g", sets)


def test_a_report_that_no_answer_leads_to_is_refused() -> None:
    never = Channel([["1/2", "1/2", "0"], ["1/4", "3/4", "0"]], ["yes", "no"], ["a", "b", "c"])
    with pytest.raises(ValueError, match="but 2 reports are impossible under it: no answer leads to them"):
        model_data("r ~ x", {"r": ["a", "c", "c"], "x": [1, 2, 3]}, never)


def test_models_that_are_too_large_are_refused_with_their_size() -> None:
    n = 1200
    table = {"answer": ["yes", "no"] * (n // 2), "id": [f"p{i}" for i in range(n)], "number": list(range(n))}
    message = "at most 500 coefficients, but column '{}' alone has 1,200 levels, for 2 answers: 1,199 coefficients"
    for options in ({"formula": "answer ~ id"}, {"formula": "answer", "on": ["id"]}):
        with pytest.raises(ValueError, match=message.format("id")):
            model_data(data=table, design=COIN, **options)
    with pytest.raises(ValueError, match=message.format("number")):
        model_data("answer ~ C(number)", table, COIN)
    wide = np.random.default_rng(0).normal(size=(n, 300))
    three = RandomizedResponse(["yes", "no", "so"], truth="3/4")
    with pytest.raises(ValueError, match="but has 602, for 3 answers and 301 columns; leave out terms, put answers"):
        model_data("answer", table, three, X=wide)


def test_objects_of_any_kind_are_read_as_they_are() -> None:
    table = {"answer": ["yes", "no", None], "age": [1, None, 2], "ok": [True, None, False]}
    frame = pd.DataFrame(table, dtype=object)
    same(model_data("answer ~ age + ok", frame, COIN), model_data("answer ~ age + ok", table, COIN))
    mixed = pd.DataFrame({"answer": ["yes", "no"], "age": pd.Series([1, "x"], dtype=object)})
    with pytest.raises(
        TypeError, match="'age' must hold numbers, texts or truth values, all of one kind, but holds int and"
    ):
        model_data("answer ~ age", mixed, COIN)


@pytest.mark.parametrize(("count", "people"), [(2**62, 4), (2**53, 2**11)])
def test_counts_whose_sum_has_no_place_in_64_bits_are_refused(count: int, people: int) -> None:
    design = RandomizedResponse(["yes", "no"], truth="3/4")
    rows = {"answer": ["yes"] * people, "other": ["no"] * people, "age": [1.5] * people, "n": [count] * people}
    data = pl.DataFrame(rows)  # whose sum, 2^64, is 0 in 64 bits
    message = r"counts must (be whole numbers from 0 to 2\^53, but 4 are not|sum to at most 2\^53, but sum to)"
    with pytest.raises(ValueError, match=message):
        model_data(formula="answer ~ age", data=data, design=design, counts="n")
    with pytest.raises(ValueError, match=message):
        associate(data, {"answer": design, "other": design}, counts="n")


@pytest.mark.parametrize("ordered", [False, True])
def test_answers_may_be_categories_that_are_numbers(ordered: bool) -> None:
    design = RandomizedResponse([1, 2, 3], truth="3/4")
    answers = {"a": [1, 2, 2, 3, None, 1] * 9, "b": [3, 1, 2, 3, 2, None] * 9}
    plain = pd.DataFrame(answers | {"x": range(54)}).astype({"a": "Int64", "b": "Int64"})
    categories = plain.assign(**{name: pd.Categorical(plain[name], ordered=ordered) for name in answers})
    fits = [regress("a ~ x", data, design).text() for data in (plain, categories)]
    assert fits[0] == fits[1]
    tables = [associate(data, {"a": design, "b": design}).text() for data in (plain, categories)]
    assert tables[0] == tables[1]
