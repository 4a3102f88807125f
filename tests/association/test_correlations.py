"""Correlations with a randomized number: those of direct answers, and debiased moments by enumeration."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from outside import columns
from warner import (
    Channel,
    CutoffResponse,
    RandomizedResponse,
    SquareWave,
    Tally,
    associate,
    estimate,
    explain,
    surveys,
)
from warner.association.independence import Scores, correlation
from warner.designs import design_from_dict
from warner.regression.scores import report_scores

NUMBERS, COIN = SquareWave(range(11), epsilon=2), RandomizedResponse(["yes", "no"], truth="3/4")


def people(n: int, seed: int) -> dict[str, Any]:
    """Return people with a number from 0 to 10, a trait that is likelier the larger it is, and a measure of both."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 11, n)
    trait = np.where(rng.random(n) < x / 10, "yes", "no")
    return {"x": x, "trait": trait, "y": 3 + 0.5 * x + rng.normal(0, 2, n)}


def test_of_direct_answers_it_is_the_correlation_of_the_numbers() -> None:
    data = people(300, 1)
    direct = {"x": RandomizedResponse(range(11), odds=(1, 0)), "trait": RandomizedResponse(["yes", "no"], odds=(1, 0))}
    found = associate(data, direct, numeric="y", values={"x": "numbers"}, simulations=0)
    (told,) = found.pairs[0].correlations
    assert told.answers == (None, "yes")
    assert_allclose(told.value, np.corrcoef(data["x"], data["trait"] == "yes")[0, 1], rtol=1e-9)
    assert_allclose(found.numeric[0].value, np.corrcoef(data["x"], data["y"])[0, 1], rtol=1e-9)
    # As numbers in the clear have it: error, interval and all.
    data["copy"] = data["x"]
    clear = associate(data, direct, numeric="copy", simulations=0).numeric[-1]
    for name in ("value", "se", "low", "high", "difference"):
        assert_allclose(getattr(told, name), getattr(clear, name), rtol=0.02)


def test_the_order_of_rows_changes_no_digit() -> None:
    data = people(200, 3)
    reports = {"x": NUMBERS.randomize(data["x"]), "trait": COIN.randomize(data["trait"]), "y": data["y"]}
    mixed = np.random.default_rng(4).permutation(200)
    first, second = (
        associate(rows, {"x": NUMBERS, "trait": COIN}, numeric="y", simulations=0).to_json()
        for rows in (reports, {name: np.asarray(column)[mixed] for name, column in reports.items()})
    )
    assert first == second


@pytest.mark.parametrize("design", [SquareWave(4, odds=(4, 1), width=1), CutoffResponse([0, 1, 4], odds=(3, 1))])
def test_covariance_and_variance_are_right_on_average(design: Any) -> None:
    """Over all reports of three people: E of the mean of s(x) y is that of x y, and of s(x^2) that of x^2."""
    values = np.array([float(label) for label in design.domain])
    truth, y = np.array([0, 1, design.k - 1]), np.array([2.0, 7.0, 1.0])
    table = design.as_channel().channel()
    codes = np.arange(table.shape[1])
    first, second = report_scores(design, codes, values), report_scores(design, codes, values**2)
    products, squares = 0.0, 0.0
    for reports in itertools.product(codes.tolist(), repeat=3):
        chance = table[truth, reports].prod()
        products += chance * float(first[list(reports)] @ y)
        squares += chance * float(second[list(reports)].sum())
    assert products == pytest.approx(float(values[truth] @ y))
    assert squares == pytest.approx(float((values[truth] ** 2).sum()))


def test_intervals_of_a_randomized_number_hold() -> None:
    # 80 surveys at 95 %: 67 or fewer with probability 1e-4, of each of the two correlations.
    held = np.zeros(2)
    for seed in range(80):
        data = people(2000, seed)
        rng = np.random.default_rng(1000 + seed)
        scores = [
            report_scores(NUMBERS, NUMBERS.draw(data["x"], rng.bytes), np.arange(11.0) ** power) for power in (1, 2)
        ]
        debiased = 2 * (COIN.draw((data["trait"] == "no").astype(np.int64), rng.bytes) == 0) - 0.5
        one, number = np.ones(2000), Scores(scores[0], indicator=False, squares=scores[1])
        others = (Scores(debiased), Scores(data["y"], indicator=False))
        # The correlations in the population: with the trait of probability x/10, and with y = 3 + x/2 + noise of sd 2.
        for place, (other, true) in enumerate(
            zip(others, (np.sqrt(0.4), 0.5 * np.sqrt(10) / np.sqrt(6.5)), strict=True)
        ):
            told = correlation(("x", "y"), (None, None), number, other, one, one, 0.95)
            held[place] += told.low <= true <= told.high
    assert (held > 67).all(), held


def test_values_are_the_same_at_every_door() -> None:
    data = people(2000, 5)
    reports = {"x": NUMBERS.randomize(data["x"]), "trait": COIN.randomize(data["trait"]), "y": data["y"]}
    found = associate(reports, {"x": NUMBERS, "trait": COIN}, numeric="y", values={"x": "numbers"}, simulations=0)
    (told,) = found.pairs[0].correlations
    text = " ".join(found.text().split())
    assert f"Correlation of 'x' and 'yes' to 'trait': {told.value:.3g}" in text
    assert f"Correlation of 'x' and 'y': {found.numeric[0].value:.3g}" in text
    assert json.loads(found.to_json())["pairs"][0]["correlations"][0]["answers"] == [None, "yes"]
    doubled = associate(
        reports, {"x": NUMBERS, "trait": COIN}, values={"x": [2 * i - 3 for i in range(11)]}, simulations=0
    )
    assert_allclose(doubled.pairs[0].correlations[0].value, told.value, rtol=1e-9)
    with pytest.raises(ValueError, match="values must name randomized questions"):
        associate(reports, {"x": NUMBERS, "trait": COIN}, values={"y": "numbers"})
    with pytest.raises(TypeError, match="values must map columns to numbers"):
        associate(reports, {"x": NUMBERS, "trait": COIN}, values="numbers")  # type: ignore[arg-type]


def test_a_randomized_number_explains_an_outcome_per_unit() -> None:
    data = people(400, 6)
    direct = {"x": RandomizedResponse(range(11), odds=(1, 0))}
    for method in ("corrected", "ml"):
        fit = explain("y ~ x", data, direct, values={"x": "numbers"}, method=method)
        assert fit.names == ("Intercept", "x")
        assert_allclose(fit.coefficients, np.polyfit(data["x"], data["y"], 1)[::-1], rtol=1e-5)
    assert "Effects of x are changes of the expected outcome per unit of the true number." in " ".join(
        fit.text().split()
    )
    assert json.loads(fit.to_json())["values"] == {"x": list(range(11))}
    many = people(20_000, 7)
    rng = np.random.default_rng(8)
    many["x"] = np.array(NUMBERS.law.columns)[NUMBERS.draw(many["x"], rng.bytes)]
    fit = explain("y ~ x", many, {"x": NUMBERS}, values={"x": "numbers"})
    # Five standard errors: a false alarm has a probability of 6e-7.
    assert abs(fit.coefficients[1] - 0.5) < 5 * fit.errors[1] < 0.1


# One question and a number


def test_one_question_and_a_number_on_the_vignette_of_rrreg() -> None:
    # RRreg 0.7.5 prints .436066.
    rows = columns("regression/rrreg_vignette_warner.csv")
    data = {"trait": ["yes" if report else "no" for report in rows["response"]], "cov": rows["cov"]}
    found = associate(data, {"trait": surveys.warner("1/6")}, numeric="cov")
    (told,) = found.numeric
    assert_allclose([told.value, told.se], [0.436066, 0.0461764], atol=1e-6)
    assert_allclose([told.low, told.high], [0.3445, 0.5264], atol=5e-5)


def test_one_question_and_a_number_by_hand() -> None:
    # Unbiased scores of a report are 3/2 and -1/2; the share is 0.5, and the covariance the mean of score times y less
    # the product of the means.
    data = {"q": ["yes", "yes", "no", "no", "yes", "no"], "y": [3.0, 1.0, 2.0, 0.0, 4.0, 2.0], "weight": [1.0] * 6}
    (told,) = associate(data, {"q": COIN}, numeric="y").numeric
    scores, y = np.array([1.5, 1.5, -0.5, -0.5, 1.5, -0.5]), np.array(data["y"])
    covariance = float((scores * y).mean() - 0.5 * y.mean())
    assert_allclose(told.value, covariance / np.sqrt(0.25 * y.var()), rtol=1e-12)
    (weighted,) = associate(data, {"q": COIN}, numeric="y", weights="weight").numeric
    assert_allclose([weighted.value, weighted.se], [told.value, told.se], rtol=1e-12)


def test_one_question_has_the_correlation_that_it_has_beside_another() -> None:
    data = people(300, 9)
    reports = {"x": NUMBERS.randomize(data["x"]), "trait": COIN.randomize(data["trait"]), "y": data["y"]}
    values = {"x": "numbers"}
    both = associate(reports, {"x": NUMBERS, "trait": COIN}, numeric="y", values=values, simulations=0).numeric
    for name, design, numbers, expected in (("x", NUMBERS, values, both[0]), ("trait", COIN, None, both[1])):
        (told,) = associate(reports, {name: design}, numeric="y", values=numbers).numeric
        assert told == expected


def test_the_result_of_one_question_leaves_out_what_takes_several() -> None:
    data = people(300, 10)
    reports = {"trait": COIN.randomize(data["trait"]), "y": data["y"]}
    found = associate(reports, {"trait": COIN}, numeric="y")
    text = " ".join(found.text().split())
    assert text.startswith("Shares of the answers to 'trait' ")
    assert "N = 300 respondents." in text
    assert f"Correlation of 'yes' to 'trait' and 'y': {found.numeric[0].text()}." in text
    assert "does not cover the numeric column" in text
    for left_out in ("ndependen", "Cost of several questions", "answers all questions"):
        assert left_out not in text
        assert left_out not in found.to_markdown()
    assert list(found.table()) == ["trait", "reports", "share", "se", "low", "high"]
    assert_allclose(found.table()["share"], estimate(Tally(COIN, found.crosstable.counts)).shares, atol=1e-9)
    document = json.loads(found.to_json())
    assert (document["test"], document["pairs"], document["costs"]) == (None, [], [])
    assert design_from_dict(document["design"]) == COIN
    assert found.approximate
    with pytest.raises(AttributeError, match="one question has no test of independence"):
        _ = found.test
    blurred = Channel([["1/2", "1/4", "1/4"], ["1/4", "3/8", "3/8"], ["1/4", "3/8", "3/8"]], 3, 3)
    drawn = {"q": [0, 1, 2] * 20, "y": list(range(60))}
    assert "do not distinguish all answers." in associate(drawn, {"q": blurred}, numeric="y").text()
