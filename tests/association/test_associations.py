"""Associations between answers to several questions: tests, joint shares, correlations, costs and kinds of data."""

from __future__ import annotations

import json
import math
from itertools import permutations, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln, xlogy

from cases import COIN, DICE
from engines import ENGINES, in_engine
from references import reference
from warner import Channel, RandomizedResponse, UnaryEncoding, channel_mle, inv, surveys
from warner.association.associations import Association, associate
from warner.association.independence import Scores, _jackknife, correlation
from warner.designs import Product

if TYPE_CHECKING:
    from pathlib import Path

REFERENCE = reference("associations")
OFTEN = RandomizedResponse(["never", "once", "often"], odds=(5, 1))
QUESTIONS = {"cheated": DICE, "copied": DICE}
TABLE = [[60, 90], [80, 270]]


def made_up(n: int = 300, seed: int = 1) -> dict[str, list[Any]]:
    """Make up people with reports to three questions, an age, a weight, and something missing."""
    rng = np.random.default_rng(seed)
    inclined = rng.random(n) < 0.4
    cheated, copied = (np.where(rng.random(n) < np.where(inclined, 0.8, 0.1), 0, 1) for _ in range(2))
    often = np.where(inclined, rng.integers(1, 3, n), rng.integers(0, 2, n))
    table: dict[str, list[Any]] = {
        "cheated": [DICE.outputs[code] for code in DICE.draw(cheated, rng.bytes)],
        "copied": [COIN.domain[code] for code in COIN.draw(copied, rng.bytes)],
        "frequency": [OFTEN.domain[code] for code in OFTEN.draw(often, rng.bytes)],
        "grade": rng.integers(0, 5, n).tolist(),
        "age": np.round(20 + 30 * rng.random(n) + 5 * inclined, 1).tolist(),
        "weight": (1 + rng.integers(0, 3, n) / 2).tolist(),
        "people": rng.integers(1, 4, n).tolist(),
    }
    for name, places in {"cheated": (3, 9), "frequency": (9, 11, 40), "age": (5, 40)}.items():
        for place in places:
            table[name][place] = None
    return table


THREE: dict[str, Any] = {"cheated": DICE, "copied": COIN, "frequency": OFTEN}


def numbers(result: Association) -> list[float]:
    """Return what is found, for comparisons."""
    pairs = [(pair.test.p_value, pair.cramers_v) for pair in result.pairs]
    told = [(each.value, each.se) for pair in result.pairs for each in pair.correlations]
    numeric = [(each.value, each.se) for each in result.numeric]
    left_out = result.crosstable.missing, result.crosstable.unknown
    return [result.test.p_value, *left_out, *result.shares.flat, *np.ravel(pairs), *np.ravel(told), *np.ravel(numeric)]


def same(first: Association, second: Association, rtol: float = 1e-9) -> None:
    assert_allclose(numbers(first), numbers(second), rtol=rtol, atol=1e-9)


# Against outside values


def test_the_reference_of_two_questions() -> None:
    case = REFERENCE["G_two_questions"]
    result = associate(case["reports"], {"q1": surveys.warner("3/4"), "q2": RandomizedResponse(3, odds=(3, 1))})
    assert_allclose(result.shares, case["joint_mle"], atol=1e-10)
    assert_allclose(result.joint.log_likelihood, case["log_likelihood"], rtol=1e-12)
    assert result.unique
    test = result.test
    assert_allclose([test.g, test.chi2], [case["g_of_report_table"], case["chi2_of_report_table"]], rtol=1e-12)
    assert_allclose(test.chi2_p_value, case["p"], rtol=1e-9)
    assert test.df == case["df"]
    # On the boundary the likelihood ratio of the shares is smaller than G.
    assert case["lr"] < test.g
    assert test.exact
    (pair,) = result.pairs
    assert_allclose(pair.shares, result.shares, atol=1e-12)
    for each, joint in zip(pair.correlations, case["inverse"][0], strict=True):
        marginals = np.array(case["inverse"])
        place = pair.domains[1].index(each.answers[1])
        assert_allclose(each.difference, joint - marginals[0].sum() * marginals[:, place].sum(), atol=1e-12)


def test_the_reference_of_a_correlation() -> None:
    case = REFERENCE["I_correlation"]
    result = associate(case["reports_yes_first"], QUESTIONS)
    (told,) = result.pairs[0].correlations
    assert_allclose(told.value, case["correlation"], rtol=1e-12)
    assert_allclose(told.se, case["se_delta"], rtol=1e-12)
    assert_allclose(result.shares, case["joint_inverse"], atol=1e-12)
    assert_allclose([shares[0] for shares in result.marginals.values()], case["prevalence"], atol=1e-12)


def test_the_p_value_is_scipys_on_the_table_of_reports() -> None:
    from scipy.stats import fisher_exact

    rng = np.random.default_rng(1)
    for _ in range(8):
        table = rng.poisson(rng.integers(1, 200, size=(2, 2)))
        if not (table.sum(axis=0).all() and table.sum(axis=1).all()):
            continue
        assert_allclose(associate(table, QUESTIONS).test.p_value, fisher_exact(table).pvalue, rtol=1e-9)


def test_in_the_interior_g_is_the_likelihood_ratio_of_the_true_answers() -> None:
    result = associate(TABLE, QUESTIONS)
    table = np.array(TABLE)
    independent = np.outer(*(inv(table.sum(axis=axis), DICE) for axis in (1, 0)))
    reported = DICE.channel().T @ independent @ DICE.channel()
    gained = result.joint.log_likelihood - float((table * np.log(reported)).sum())
    assert_allclose(2 * gained, result.test.g, rtol=1e-9)


def test_direct_questions_give_the_phi_coefficient() -> None:
    told = Channel([[1, 0], [0, 1]], ["yes", "no"], ["yes", "no"])
    result = associate([[30, 20], [10, 40]], {"a": told, "b": told})
    phi = (30 * 40 - 20 * 10) / math.sqrt(50 * 50 * 40 * 60)
    (pair,) = result.pairs
    assert_allclose([pair.correlations[0].value, pair.cramers_v], phi, rtol=1e-12)
    assert_allclose(pair.odds_ratio, 6)  # type: ignore[arg-type]
    assert_allclose(result.shares, np.array([[30, 20], [10, 40]]) / 100, atol=1e-9)
    assert all(cost.times == pytest.approx(1) for cost in result.costs)
    assert "epsilon inf" in result.text()


def test_the_standard_error_is_that_of_many_surveys() -> None:
    rng = np.random.default_rng(7)
    design = Product(QUESTIONS)
    shares = np.array([0.2, 0.1, 0.1, 0.6])
    tables = design.simulate(shares, 4000, rng=rng, size=100).reshape(-1, 2, 2)
    told = [associate(table, QUESTIONS, simulations=0).pairs[0].correlations[0] for table in tables]
    truth = (0.2 - 0.3 * 0.3) / (0.3 * 0.7)
    values, errors = np.array([(each.value, each.se) for each in told]).T
    # Mean of 100: five standard errors; spread: its relative error is 1/sqrt(200) = 7 %, five times that is 35 %.
    assert abs(values.mean() - truth) <= 5 * values.std() / math.sqrt(100)
    assert abs(values.std() / errors.mean() - 1) <= 0.35
    covered = np.mean([each.low <= truth <= each.high for each in told])
    assert covered >= 0.95 - 5 * math.sqrt(0.95 * 0.05 / 100)


def test_a_number_correlates_as_by_the_formula() -> None:
    table = {
        name: [value for value, age in zip(column, made_up()["age"], strict=True) if age is not None]
        for name, column in made_up().items()
    }
    told = associate(table, {"cheated": DICE, "copied": COIN}, numeric="age").numeric
    assert [(each.first, each.second, each.answers) for each in told] == [
        ("cheated", "age", ("yes",)),
        ("copied", "age", ("yes",)),
    ]
    kept = [place for place, value in enumerate(table["cheated"]) if value is not None]
    z = DICE.law.linear.weights()[[DICE.outputs.index(table["cheated"][place]) for place in kept], 0]
    y = np.array([table["age"][place] for place in kept])
    pi = z.mean()
    value = np.mean((z - pi) * (y - y.mean())) / (math.sqrt(pi * (1 - pi)) * y.std())
    assert_allclose(told[0].value, value, rtol=1e-12)


def test_the_standard_error_with_a_number_is_that_of_its_derivatives() -> None:
    # Of direct answers and a number that goes with them: what one person more or less changes, by differences.
    told = Channel([[1, 0], [0, 1]], ["yes", "no"], ["yes", "no"])
    rng = np.random.default_rng(1)
    held = rng.random(80) < 0.3
    y = np.round(rng.exponential(size=80) + 3 * held, 2)
    answers = np.where(held, "yes", "no").tolist()
    result = associate({"a": answers, "b": answers[::-1], "y": y.tolist()}, {"a": told, "b": told}, numeric="y")

    def weighted(weight: np.ndarray[Any, Any]) -> float:
        share, mean = np.average(held, weights=weight), np.average(y, weights=weight)
        together = np.average((held - share) * (y - mean), weights=weight)
        return float(together / math.sqrt(share * (1 - share) * np.average((y - mean) ** 2, weights=weight)))

    ones, step = np.ones(80), 1e-6
    changes = [(weighted(ones + step * row) - weighted(ones - step * row)) / (2 * step) for row in np.eye(80)]
    assert_allclose(result.numeric[0].value, weighted(ones), rtol=1e-12)
    assert result.numeric[0].value > 0.6
    assert_allclose(result.numeric[0].se, math.sqrt(np.square(changes).sum()), rtol=1e-6)


def test_costs_are_those_of_the_formula() -> None:
    # One answer of six with a share of 0.2, replaced with probability 1/4: standard errors against a direct survey.
    design = RandomizedResponse(6, redraw="1/4")
    shares = np.array([0.2, *[0.16] * 5])
    from warner.association.independence import costs_of

    costs = costs_of(Product([design] * 6), [shares] * 6, 1000)
    assert_allclose([cost.times for cost in costs], [1.31, 1.60, 1.99, 2.49, 3.12, 3.92], atol=0.005)
    assert_allclose([cost.relative for cost in costs[:4]], [0.08, 0.25, 0.70, 1.97], atol=0.005)
    assert_allclose([cost.share for cost in costs], 0.2 ** np.arange(1, 7))


# The table, and what is found in it


def test_three_questions_have_a_table_pairs_and_a_test_of_all() -> None:
    table = made_up(2000)
    result = associate(table, THREE)
    design = Product(THREE)
    fit = channel_mle(result.crosstable.counts.ravel(), design)
    assert_allclose(result.shares.ravel(), fit.shares, atol=1e-9)
    assert [(pair.first, pair.second) for pair in result.pairs] == [
        ("cheated", "copied"),
        ("cheated", "frequency"),
        ("copied", "frequency"),
    ]
    # A pair is looked at by itself, and its people need only have answered everything.
    alone = associate(result.crosstable.counts.sum(axis=2), {"cheated": DICE, "copied": COIN})
    same_pair = result.pairs[0]
    assert_allclose(same_pair.shares, alone.shares, atol=1e-9)
    assert_allclose(same_pair.correlations[0].value, alone.pairs[0].correlations[0].value)
    assert len(result.pairs[1].correlations) == 3
    assert result.test.df == 2 * 2 * 3 - 7 + 2
    assert result.test.p_value < 0.01
    columns = result.table()
    assert (
        list(columns) == ["cheated", "copied", "frequency", "share", "se", "low", "high", "independent", "difference"]
        or "reports" in columns
    )
    assert_allclose(columns["share"], result.shares.ravel())
    assert_allclose(columns["independent"].sum(), 1)
    assert_allclose(columns["difference"].sum(), 0, atol=1e-9)
    assert (columns["cheated"][:6] == "yes").all()
    assert columns["frequency"][:3].tolist() == ["never", "once", "often"]


def test_sizes_of_effect_by_hand() -> None:
    (pair,) = associate(TABLE, QUESTIONS).pairs
    # 11.5, 8.5, 5.5 and 74.5 %; margins 20 and 17 %.
    assert_allclose(pair.independent[0, 0], 0.2 * 0.17)
    assert_allclose(pair.difference[0, 0], 0.115 - 0.034)
    assert_allclose(pair.odds_ratio, 0.115 * 0.745 / (0.085 * 0.055))  # type: ignore[arg-type]
    assert_allclose(pair.cramers_v, 0.081 / math.sqrt(0.2 * 0.8 * 0.17 * 0.83))
    (told,) = pair.correlations
    assert_allclose(told.difference, 0.081, rtol=1e-12)


def test_estimates_that_are_no_correlations_are_said_and_not_cut() -> None:
    result = associate([[60, 5], [5, 60]], {"a": COIN, "b": COIN})
    (told,) = result.pairs[0].correlations
    assert told.value > 1
    assert told.outside
    assert "outside -1 to 1, by sampling error" in result.text()
    assert "1 correlation is estimated outside" in result.to_dict()["warnings"][-1]
    nobody = associate([[1, 9], [9, 81]], {"a": COIN, "b": COIN})
    (undefined,) = nobody.pairs[0].correlations
    assert math.isnan(undefined.value)
    assert "undefined" in nobody.text()
    assert nobody.to_dict()["pairs"][0]["correlations"][0]["value"] is None
    json.loads(nobody.to_json())


def test_answers_that_look_alike_are_said() -> None:
    alike = Channel([["3/4", "1/4"], ["3/4", "1/4"], ["1/4", "3/4"]], ["beer", "wine", "water"], ["yes", "no"])
    result = associate(TABLE, {"drinks": alike, "cheated": COIN})
    assert not result.unique
    text = " ".join(result.text().split())
    assert "not known to be unique" in text
    assert "reports to drinks do not distinguish all answers" in text
    assert {each.answers[0] for each in result.pairs[0].correlations} == {"water"}


def test_independent_answers_are_rarely_found_to_go_together() -> None:
    rng = np.random.default_rng(3)
    design = Product({"a": COIN, "b": OFTEN})
    shares = np.outer([0.3, 0.7], [0.5, 0.3, 0.2]).ravel()
    tables = design.simulate(shares, 100, rng=rng, size=100).reshape(-1, 2, 3)
    found = sum(associate(table, {"a": COIN, "b": OFTEN}).test.p_value <= 0.05 for table in tables)
    # At most 5 of 100 expected: more than 15 has a probability below 1e-4.
    assert found <= 15


# All kinds of data


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "spark"])
def test_every_engine_gives_the_same(engine: str, tmp_path: Path) -> None:
    table = made_up()
    data = in_engine(engine, {name: table[name] for name in (*THREE, "age", "weight", "people")}, tmp_path)
    from_columns = associate(table, THREE, numeric="age", simulations=99)
    assert from_columns.crosstable.missing == 5  # rows 3, 9, 11, 40 and 5
    same(associate(data, THREE, numeric="age", simulations=99), from_columns)
    weighted = associate(data, {"cheated": DICE, "frequency": OFTEN}, weights="weight", numeric="age")
    same(weighted, associate(table, {"cheated": DICE, "frequency": OFTEN}, weights="weight", numeric="age"))
    assert weighted.approximate


@pytest.mark.parametrize("engine", ["pandas", "polars", "csv"])
def test_a_column_of_counts(engine: str, tmp_path: Path) -> None:
    table = made_up()
    data = in_engine(engine, {name: table[name] for name in (*THREE, "people")}, tmp_path)
    counted = associate(data, {"copied": COIN, "frequency": OFTEN}, counts="people")
    assert counted.crosstable.n + counted.crosstable.missing == sum(table["people"])
    same(counted, associate(table, {"copied": COIN, "frequency": OFTEN}, counts="people"))


@pytest.mark.parametrize("engine", ["pandas", "pandas, plain types", "polars", "csv", "parquet"])
def test_answers_that_are_numbers(engine: str, tmp_path: Path) -> None:
    grades = RandomizedResponse(5, odds=(4, 1))
    table = made_up()
    table["grade"][7] = None
    table["other"] = [(grade or 0) // 2 for grade in table["grade"]]
    designs = {"other": RandomizedResponse(3, odds=(3, 1)), "grade": grades}
    data = in_engine(engine, {name: table[name] for name in ("other", "grade")}, tmp_path)
    result = associate(data, designs)
    assert result.crosstable.missing == 1
    same(result, associate(table, designs))


def test_counts_and_rows_say_the_same() -> None:
    rows = [
        (a, b) for i, a in enumerate(["yes", "no"]) for j, b in enumerate(["yes", "no"]) for _ in range(TABLE[i][j])
    ]
    table = {"cheated": [a for a, _ in rows], "copied": [b for _, b in rows]}
    same(associate(table, QUESTIONS), associate(TABLE, QUESTIONS))
    short = {"cheated": ["yes", "yes", "no", "no"], "copied": ["yes", "no"] * 2, "people": [60, 90, 80, 270]}
    same(associate(short, QUESTIONS, counts="people"), associate(TABLE, QUESTIONS))


def test_weights_of_one_are_no_weights_but_for_the_tests() -> None:
    table = made_up() | {"one": [1.0] * 300}
    plain, weighted = (
        associate(table, {"cheated": DICE, "copied": COIN}),
        associate(table, {"cheated": DICE, "copied": COIN}, weights="one"),
    )
    assert_allclose(weighted.shares, plain.shares, atol=1e-9)
    assert_allclose(weighted.pairs[0].correlations[0].se, plain.pairs[0].correlations[0].se)
    assert_allclose(weighted.test.chi2, plain.test.chi2)
    assert plain.test.exact
    assert not weighted.test.exact
    assert "weights count as 298.0 respondents" in weighted.text()
    assert weighted.to_dict()["effective"] == 298
    heavier = associate(table | {"two": [2.0] * 300}, {"cheated": DICE, "copied": COIN}, weights="two")
    assert_allclose(heavier.test.chi2, weighted.test.chi2)
    assert_allclose(heavier.pairs[0].correlations[0].se, weighted.pairs[0].correlations[0].se)


# Invariance


@settings(max_examples=6)
@given(st.lists(st.integers(0, 80), min_size=12, max_size=12).filter(lambda cells: sum(cells) > 30), st.integers(0, 5))
def test_the_order_of_questions_and_answers_does_not_matter(cells: list[int], which: int) -> None:
    designs: dict[str, Any] = {"a": COIN, "b": OFTEN, "c": DICE}
    table = np.array(cells).reshape(2, 3, 2)
    result = associate(table, designs, simulations=0)
    order = list(permutations(range(3)))[which]
    names = list(designs)
    turned = associate(table.transpose(order), {names[i]: designs[names[i]] for i in order}, simulations=0)
    assert_allclose(turned.joint.log_likelihood, result.joint.log_likelihood, rtol=1e-9)
    if result.unique:
        assert_allclose(turned.shares, result.shares.transpose(order), atol=1e-6)
    assert_allclose([turned.test.g, turned.test.chi2], [result.test.g, result.test.chi2], rtol=1e-9, atol=1e-9)
    # Answers in another order: the same shares, under their names.
    other = RandomizedResponse(["often", "never", "once"], odds=(5, 1))
    relabelled = associate(table[:, [2, 0, 1]], {**designs, "b": other}, simulations=0)
    assert_allclose(relabelled.joint.log_likelihood, result.joint.log_likelihood, rtol=1e-9)
    if result.unique:
        assert_allclose(relabelled.shares, result.shares[:, [2, 0, 1]], atol=1e-6)


def test_the_order_of_rows_does_not_matter() -> None:
    table = made_up()
    order = np.random.default_rng(2).permutation(300)
    shuffled = {name: [column[place] for place in order] for name, column in table.items()}
    same(
        associate(shuffled, THREE, numeric="age", simulations=99),
        associate(table, THREE, numeric="age", simulations=99),
    )
    scaled = table | {"age": [None if age is None else 12 * age - 7 for age in table["age"]]}
    same(
        associate(scaled, THREE, numeric="age", simulations=99),
        associate(table, THREE, numeric="age", simulations=99),
        1e-8,
    )


# In words, and errors


def test_every_form_says_the_same() -> None:
    result = associate(made_up(), THREE, numeric="age", simulations=99)
    document = json.loads(result.to_json())
    assert document == json.loads(json.dumps(result.to_dict()))
    assert document["people"] == result.crosstable.n == 295
    assert document["missing"] == 5
    assert document["test"]["p_value"] == result.test.p_value
    assert document["epsilon"] == Product(THREE).epsilon
    assert_allclose([row["share"] for row in document["joint"]], result.table()["share"])
    assert_allclose(document["marginals"]["frequency"], result.marginals["frequency"])
    assert len(document["pairs"]) == 3
    assert len(document["numeric"]) == 5
    text = " ".join(result.text().split())
    assert repr(result) == result.text()
    assert "N = 295 respondents, 5 rows with something missing left out." in text
    assert "99 random tables" in text
    assert f"epsilon {Product(THREE).shown_epsilon()}" in text
    assert "cheated and copied" in text
    assert "Correlation of 'often' to 'frequency' and 'age'" in text
    assert max(map(len, result.text().splitlines())) <= 120
    frame = result.to_frame("polars")
    assert frame.columns[:3] == ["cheated", "copied", "frequency"]


def test_many_questions_are_told_to_be_looked_at_in_pairs() -> None:
    rng = np.random.default_rng(1)
    table = {f"q{place}": [COIN.domain[code] for code in rng.integers(0, 2, 400)] for place in range(6)}
    result = associate(table, dict.fromkeys(table, COIN), simulations=19)
    assert len(result.pairs) == 15
    assert result.joint.certificate is not None
    assert result.joint.certificate.gap <= 1e-6
    assert "Tables of two questions are more precise than the whole table." in result.text()
    assert "... and 3 more rows" in result.text()
    assert [cost.questions for cost in result.costs] == list(range(1, 7))


def test_the_same_reports_give_the_same_result() -> None:
    table = np.random.default_rng(1).poisson(60, size=(2, 2, 3))
    first, again = (associate(table, THREE, simulations=99) for _ in range(2))
    assert first.test.simulated_p_value == again.test.simulated_p_value
    other = associate(table, THREE, simulations=99, rng=np.random.default_rng(5))
    assert other.test.simulated_p_value is not None


@pytest.mark.parametrize(
    ("data", "designs", "options", "kind", "complaint"),
    [
        (TABLE, [DICE, DICE], {}, TypeError, "designs must map columns to designs"),
        (TABLE, {"cheated": DICE}, {}, ValueError, "numeric must be given for one question"),
        (TABLE, {}, {}, ValueError, "two questions or more, but got 0"),
        ({"a": ["yes"], "x": [1]}, {"a": DICE}, {"numeric": "a"}, ValueError, "a column of its own"),
        (TABLE, {"a": DICE, "b": UnaryEncoding(3, odds=(3, 1))}, {}, ValueError, "supports several answers"),
        (
            TABLE,
            {"a": DICE, "b": RandomizedResponse(2, odds=(1, 1))},
            {},
            ValueError,
            "'b' must have an epsilon above 0",
        ),
        (TABLE, {"a": DICE, "share": DICE}, {}, ValueError, "must not be called 'share'"),
        ([[1, 2, 3], [4, 5, 6]], QUESTIONS, {}, ValueError, "must have the shape 2 x 2"),
        ([[1.5, 2], [3, 4]], QUESTIONS, {}, TypeError, "must hold whole numbers"),
        ([[-1, 2], [3, 4]], QUESTIONS, {}, ValueError, "must not be negative"),
        ([[0, 0], [0, 0]], QUESTIONS, {}, ValueError, "at least one respondent"),
        (TABLE, QUESTIONS, {"weights": "w"}, TypeError, "must be left out for a table of counts"),
        (TABLE, QUESTIONS, {"level": 95}, ValueError, "level"),
        (TABLE, QUESTIONS, {"simulations": -1}, ValueError, "simulations must be a whole number"),
        (TABLE, QUESTIONS, {"rng": 3}, TypeError, "rng must be"),
        (TABLE, QUESTIONS, {"unknown": "skip"}, ValueError, "unknown must be"),
        (made_up(), {"cheated": DICE, "copeid": COIN}, {}, ValueError, "did you mean 'copied'"),
        (made_up(), {"cheated": DICE, "copied": OFTEN}, {}, ValueError, "reports to 'copied' must be in the domain"),
        (made_up(), {"cheated": DICE, "copied": COIN}, {"weights": "cheated"}, TypeError, "column of numbers"),
        (made_up(), {"cheated": DICE, "copied": COIN}, {"counts": "weight"}, ValueError, "whole numbers"),
        (made_up(), {"cheated": DICE, "copied": COIN}, {"numeric": "frequency"}, TypeError, "column of numbers"),
        (made_up(), {"cheated": DICE, "copied": COIN}, {"numeric": "copied"}, ValueError, "a column of its own"),
        (
            made_up(),
            {"cheated": DICE, "copied": COIN},
            {"weights": "weight", "counts": "people"},
            TypeError,
            "not both",
        ),
        (
            made_up() | {"w": [-1.0] * 300},
            {"cheated": DICE, "copied": COIN},
            {"weights": "w"},
            ValueError,
            "300 are negative, missing or infinite",
        ),
        (
            {"a": ["yes"], "b": ["yes", "no"]},
            {"a": COIN, "b": COIN},
            {},
            ValueError,
            "'b' must have one value for each",
        ),
        ({"a": [None], "b": ["yes"]}, {"a": COIN, "b": COIN}, {}, ValueError, "1 row had missing values"),
        (3, QUESTIONS, {}, TypeError, "data must be a data frame"),
    ],
)
def test_bad_input_is_one_clear_error(
    data: Any, designs: Any, options: Any, kind: type[Exception], complaint: str
) -> None:
    with pytest.raises(kind, match=complaint):
        associate(data, designs, **options)


def test_bad_columns_of_frames_are_clear_errors(tmp_path: Path) -> None:
    table = made_up()
    for engine in ("polars", "pandas", "csv", "parquet"):
        data = in_engine(engine, {name: table[name] for name in ("cheated", "copied", "frequency", "weight")}, tmp_path)
        with pytest.raises(ValueError, match=r"reports to 'frequency' must be in the domain, but \d+ are not: 'once'"):
            associate(data, {"cheated": DICE, "frequency": RandomizedResponse(["never", "often"], odds=(3, 1))})
        kept = associate(
            data, {"cheated": DICE, "frequency": RandomizedResponse(["never", "often"], odds=(3, 1))}, unknown="drop"
        )
        assert kept.crosstable.unknown == sum(
            value == "once" and other is not None
            for value, other in zip(table["frequency"], table["cheated"], strict=True)
        )
        assert "with an invalid report left out" in " ".join(kept.text().split())
        with pytest.raises(ValueError, match="there is no column 'stolen'"):
            associate(data, {"cheated": DICE, "stolen": DICE})
        with pytest.raises((TypeError, ValueError), match="weight"):
            associate(data, {"cheated": DICE, "weight": RandomizedResponse(3, odds=(3, 1))})
    with pytest.raises(FileNotFoundError):
        associate(tmp_path / "nothing.csv", QUESTIONS)
    assert_array_equal(Product(QUESTIONS).widths, (2, 2))


# Intervals of correlations


def covered_by(first: Any, second: Any, truth: float, *, indicator: bool) -> float:
    """Return how often the interval holds the true correlation, of surveys in rows; undefined ones do not count."""
    people = np.ones(first.shape[1])
    held = []
    for one, other in zip(first, second, strict=True):
        told = correlation(("q", "r"), ("yes",), Scores(one), Scores(other, indicator), people, people, 0.95)
        if not math.isnan(told.value):
            assert -1 <= told.low <= min(max(told.value, -1), 1) <= told.high <= 1
            held.append(told.low <= truth <= told.high)
    return float(np.mean(held))


def reported(truth: Any, p: float, rng: np.random.Generator) -> Any:
    """Answer truthfully with probability p, and debias."""
    return (np.where(rng.random(truth.shape) < p, truth, ~truth) - (1 - p)) / (2 * p - 1)


@pytest.mark.parametrize(("n", "p"), [(60, 0.8), (60, 1.0), (200, 0.8), (200, 1.0), (1000, 0.8)])
def test_the_correlation_with_a_skewed_number_is_covered(n: int, p: float) -> None:
    # The number is lognormal, and twice as large for the 30 % who hold the answer.
    surveys_drawn, share, rng = 1200, 0.3, np.random.default_rng(1)
    truth = rng.random((surveys_drawn, n)) < share
    numbers = rng.lognormal(size=truth.shape) * (1 + truth)
    mean, square = math.exp(0.5), math.exp(2)
    variance = square * (1 - share + 4 * share) - (mean * (1 + share)) ** 2
    rho = mean * math.sqrt(share * (1 - share) / variance)
    covered = covered_by(reported(truth, p, rng), numbers, rho, indicator=False)
    # Approximate: 93 % at least, but for four binomial standard errors. (The estimate with 1.96 standard errors on both
    # sides: 87, 86, 90, 90 and 92 %.)
    assert covered >= 0.93 - 4 * math.sqrt(0.93 * 0.07 / surveys_drawn)


@pytest.mark.parametrize("truthful", [1.0, 0.9])
def test_correlations_of_rare_answers_and_near_one_are_covered_by_enumeration(truthful: float) -> None:
    # All tables of 20 people, and shares of both answers, of one of them, of the other, and of none.
    n = 20
    tables = np.array([(a, b, c, n - a - b - c) for a, b, c in product(range(n + 1), repeat=3) if a + b + c <= n])
    design = RandomizedResponse(["yes", "no"], odds=(1, 0) if truthful == 1 else (9, 1))
    indicators = design.law.linear.weights()[:, 0]
    first, second = Scores(np.repeat(indicators, 2)), Scores(np.tile(indicators, 2))
    told = [correlation(("q", "r"), ("yes", "yes"), first, second, row, row, 0.95, 0.5) for row in tables.astype(float)]
    low, high = (np.array([getattr(each, name) for each in told]) for name in ("low", "high"))
    known = ~np.isnan(low)
    channel = np.kron(design.channel(), design.channel())
    ways = gammaln(n + 1) - gammaln(tables + 1).sum(axis=1)
    for shares in (
        (0.45, 0.02, 0.02, 0.51),  # 0.92: 4 of 10 surveys have no table but that of perfect agreement
        (0.48, 0.01, 0.01, 0.5),
        (0.3, 0.0, 0.0, 0.7),
        (0.1, 0.1, 0.1, 0.7),
        (0.25, 0.25, 0.25, 0.25),
        (0.05, 0.1, 0.05, 0.8),
        (0.0, 0.2, 0.2, 0.6),  # no respondent has both
        (0.4, 0.2, 0.1, 0.3),
    ):
        x, y = shares[0] + shares[1], shares[0] + shares[2]
        rho = (shares[0] - x * y) / math.sqrt(x * (1 - x) * y * (1 - y))
        law = np.exp(ways + xlogy(tables, np.array(shares) @ channel).sum(axis=1))
        assert law.sum() == pytest.approx(1)
        covered = law[(low <= rho + 1e-9) & (rho - 1e-9 <= high)].sum() / law[known].sum()
        assert covered >= 0.95


def test_agreement_of_all_people_does_not_prove_a_correlation_of_one() -> None:
    direct = RandomizedResponse(["yes", "no"], odds=(1, 0))
    (told,) = associate([[9, 0], [0, 11]], {"q": direct, "r": direct}).pairs[0].correlations
    assert told.value == pytest.approx(1)
    assert told.low < 0.8 < told.high == 1


def test_the_jackknife_is_that_of_leaving_out_each_person() -> None:
    rng = np.random.default_rng(3)
    a, y = Scores(rng.integers(0, 2, 12).astype(float)), Scores(rng.lognormal(size=12), indicator=False)
    one = np.ones(12)
    values = []
    for person in range(12):
        rest = np.arange(12) != person
        values.append(np.corrcoef(a.values[rest], y.values[rest])[0, 1])
    assert_allclose(_jackknife(a, y, one, one), 11 / 12 * ((values - np.mean(values)) ** 2).sum(), rtol=1e-9)
    # People who are alike are one row.
    twice = Scores(np.repeat(a.values, 2)), Scores(np.repeat(y.values, 2), indicator=False)
    assert_allclose(_jackknife(a, y, 2 * one, 2 * one), _jackknife(*twice, np.ones(24), np.ones(24)), rtol=1e-9)


def test_a_correlation_says_its_level_and_that_it_is_approximate() -> None:
    told = associate(TABLE, QUESTIONS, level=0.9).pairs[0].correlations[0]
    assert "approximate 90 % interval" in told.text()
    assert (told.to_dict()["level"], told.to_dict()["approximate"]) == (0.9, True)
