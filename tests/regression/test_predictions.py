"""Predicted shares and marginal effects: the reference, other ways to the same number, and what they are of.

It tests regression/mean_shares.py and regression/model_tests.py as well.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from scipy.stats import chi2

import warner
from cases import DICE, THREE
from regression_cases import REFERENCE, fit_of, people_of
from warner import RandomizedResponse
from warner.regression.mean_shares import influence, mean_over_people
from warner.regression.newton import newton_ascent
from warner.regression.predictions import _odds
from warner.regression.regressions import regress
from warner.regression.standard_errors import score_covariance
from warner.results import typeset

CASE = REFERENCE["A_binary_forced_response"]


def test_the_share_of_a_profile_to_the_reference() -> None:
    wanted = CASE["profile_x2_d1"]
    prediction = fit_of("A").predict({"x": [2], "d": [1]}, interval="wald")
    assert prediction.shares[0, 0] == pytest.approx(wanted["share"], abs=1e-9)
    assert prediction.errors[0, 0] == pytest.approx(wanted["se_delta"], abs=1e-9)
    assert prediction.low[0, 0] == pytest.approx(wanted["low"], abs=1e-9)
    assert prediction.high[0, 0] == pytest.approx(wanted["high"], abs=1e-9)
    np.testing.assert_allclose(prediction.low[0, 1], 1 - prediction.high[0, 0])
    wanted = REFERENCE["B_three_answers"]["profile_x1_d1"]
    prediction = fit_of("B").predict({"x": [1], "d": [1]}, interval="wald")
    np.testing.assert_allclose(prediction.shares[0], wanted["share"], atol=1e-9)
    np.testing.assert_allclose(prediction.errors[0], wanted["se_delta"], atol=1e-9)
    share, error = np.array(wanted["share"]), np.array(wanted["se_delta"])
    odds = np.log(share / (1 - share)) + 1.959963984540054 * error / (share * (1 - share))
    np.testing.assert_allclose(prediction.high[0], 1 / (1 + np.exp(-odds)), atol=1e-9)


def test_the_mean_share_to_the_reference() -> None:
    prediction = fit_of("A").predict()
    assert prediction.shares[0, 0] == pytest.approx(CASE["mean_share"], abs=1e-9)
    assert prediction.errors[0, 0] == pytest.approx(CASE["mean_share_se_delta"], abs=1e-9)


def test_the_mean_share_of_a_population_has_the_spread_of_people_besides() -> None:
    # Of a saturated model the mean share is that of all reports, undone: its variance is the binomial one in each cell,
    # and that of a sample of cells besides. Together, that of the reports of everybody, with n/(n - 1).
    people = people_of("A_binary_forced_response")
    fit = regress("answer ~ C(x) * C(d)", people, DICE, counts="people")
    yes = sum(n for n, answer in zip(people["people"], people["answer"], strict=True) if answer == "yes")
    n = fit.people
    mean = (yes / n - 1 / 6) / (2 / 3)
    variance = yes / n * (1 - yes / n) / (n - 1) / (2 / 3) ** 2
    prediction = fit.predict(target="population")
    assert prediction.shares[0, 0] == pytest.approx(mean, abs=1e-9)
    assert prediction.errors[0, 0] == pytest.approx(np.sqrt(variance), abs=1e-9)
    assert fit.predict().errors[0, 0] < prediction.errors[0, 0]


@pytest.mark.parametrize("model", ["multinomial", "linear"])
def test_influences_add_up_to_the_robust_errors(model: Any) -> None:
    fit = fit_of("A", model=model, errors="robust")
    factor = (fit.people - 1) / (fit.people - 3) if model == "linear" else 1.0  # HC1
    np.testing.assert_allclose(
        factor * score_covariance(fit.model_data.observations, influence(fit)), fit.covariance, rtol=1e-10
    )


@pytest.mark.parametrize("letter", ["A", "B"])
@pytest.mark.parametrize("model", ["multinomial", "ordered"])
def test_the_profile_of_a_share_is_that_of_a_coefficient_of_other_columns(letter: Any, model: Any) -> None:
    # With covariates measured from the profile, two answers have their log-odds as the intercept.
    fit = fit_of(letter, model=model)
    prediction = fit.predict({"x": [2], "d": [1]}, interval="profile")
    name, design = {"A": ("A_binary_forced_response", DICE), "B": ("B_three_answers", THREE)}[letter]
    options = {"model": model} | ({"reference": "never"} if letter == "B" else {})
    other = regress("answer ~ I(x - 2) + I(d - 1)", people_of(name), design, counts="people", **options)
    table = other.table(interval="profile")
    if letter == "A" or model == "ordered":
        ends = 1 / (1 + np.exp(-np.array([table["low"][0], table["high"][0]])))
        np.testing.assert_allclose([prediction.low[0, 0], prediction.high[0, 0]], ends, atol=1e-7)
    else:
        # The reference has its log-odds against all others together, by no coefficient: its ends lose the quantile.
        assert set(prediction.methods[0]) == {"profile"}
        for answer in range(3):
            for end in (prediction.low[0, answer], prediction.high[0, answer]):
                assert _loss(other, answer, end) == pytest.approx(chi2.ppf(0.95, 1), abs=1e-4)


def _loss(fit: Any, answer: int, share: float) -> float:
    """Return twice the loss with a share held at the columns (1, 0, 0), by a penalty on its distance."""
    likelihood = fit.likelihood
    b = fit.finite_coefficients.copy()

    class Pulled:
        strength = 1.0
        total_weight, rounding, longest_step, scale, basis = (
            likelihood.total_weight,
            likelihood.rounding,
            likelihood.longest_step,
            likelihood.scale,
            likelihood.basis,
        )
        predictors, predictor_change = likelihood.predictors, likelihood.predictor_change

        def value(self, b: Any) -> Any:
            return likelihood.value(b) - self.strength * self.distance(b)[0] ** 2 / 2

        def distance(self, b: Any) -> Any:
            x = np.array([[1.0, 0.0, 0.0]])
            shares, slopes = fit.specification.shares_at(b, x), fit.specification.share_gradients(b, x)
            return shares[0, answer] - share, slopes[0, answer]

        def expansion(self, b: Any) -> Any:
            place = likelihood.expansion(b)
            off, slope = self.distance(b)
            bend = place.information + self.strength * np.outer(slope, slope)
            return place._replace(
                value=self.value(b), gradient=place.gradient - self.strength * off * slope, information=bend
            )

    pulled: Any = Pulled()
    for strength in (1e3, 1e5, 1e7, 1e9):
        pulled.strength = strength
        b = newton_ascent(pulled, b).coefficients
    return float(2 * (fit.log_likelihood - likelihood.value(b)))


def test_a_share_of_nobody_has_an_interval() -> None:
    fit = fit_of("D")
    prediction = fit.predict({"g": [0, 1]})
    assert prediction.methods[1] == ("profile", "profile")
    assert prediction.low[1, 0] == 0
    assert np.isnan(prediction.errors[1, 0])
    # 25 of 200 reports: the end is where the binomial log-likelihood has lost half the quantile from its maximum at 0.
    rate = 1 / 6 + 2 / 3 * prediction.high[1, 0]
    lost = 2 * (25 * np.log(1 / 6 / rate) + 175 * np.log(5 / 6 / (1 - rate)))
    assert lost == pytest.approx(chi2.ppf(0.95, 1), abs=1e-6)
    wald = fit.predict({"g": [1]}, interval="wald")
    assert_array_equal(wald.low, [[0, np.nan]])
    assert_array_equal(wald.high, [[np.nan, 1]])
    assert "?" in wald.text()


def test_shares_of_nobody_among_several_answers() -> None:
    people = {"answer": [*THREE.domain] * 2, "g": [0] * 3 + [1] * 3, "n": [90, 60, 50, 130, 60, 25]}
    fit = regress("answer ~ g", people, THREE, counts="n")
    assert fit.infinity is not None
    prediction = fit.predict({"g": [1]})
    assert prediction.shares[0, 2] < 1e-6
    assert prediction.low[0, 2] == 0
    assert 0 < prediction.high[0, 2] < 0.2
    assert (prediction.low <= prediction.shares).all()
    assert (prediction.shares <= prediction.high).all()


def test_variables_that_are_not_given_are_averaged() -> None:
    fit = fit_of("A")
    prediction = fit.predict({"x": [0, 3]})
    assert prediction.averaged == ("d",)
    rows = fit.predict({"x": [0, 0, 3, 3], "d": [0, 1, 0, 1]}).shares[:, 0]
    share = 500 / 1100  # of people with d = 1
    np.testing.assert_allclose(prediction.shares[:, 0], (1 - share) * rows[::2] + share * rows[1::2])
    h, slopes = 1e-6, mean_over_people(fit, {"x": 3}).slopes[0]
    for i, step in enumerate(h * np.eye(3)):
        x = np.array([[1, 3, 0], [1, 3, 1]])
        up, down = (
            fit.specification.shares_at(fit.finite_coefficients + s, x)[:, 0] @ [1 - share, share]
            for s in (step, -step)
        )
        assert slopes[i] == pytest.approx((up - down) / (2 * h), abs=1e-8)


def test_profiles_of_all_kinds() -> None:
    pandas = pytest.importorskip("pandas")
    fit = fit_of("A")
    wanted = fit.predict({"x": [2, 3], "d": [1, 1]}).shares
    for profiles in (
        {"x": [2, 3], "d": 1},
        pandas.DataFrame({"d": [1, 1], "x": [2, 3], "other": ["a", "b"]}),
        np.array([[2, 1], [3, 1]]),
    ):
        np.testing.assert_array_equal(fit.predict(profiles).shares, wanted)
    with pytest.raises(ValueError, match=r"profiles must give variables of the model \('x', 'd'\), but got 'age'"):
        fit.predict({"age": [2]})
    with pytest.raises(ValueError, match="new data must have the column 'd'"):
        fit.predict(pandas.DataFrame({"x": [2]}))
    with pytest.raises(ValueError, match="target must be one of population, realised"):
        fit.predict(target="sample")
    with pytest.raises(ValueError, match="equal length"):
        fit.predict({"x": [1, 2], "d": [1, 2, 3]})
    factor = regress("answer ~ C(x)", people_of("A_binary_forced_response"), DICE, counts="people")
    with pytest.raises(ValueError, match="levels that were there"):
        factor.predict({"x": [7]})


def test_linear_shares_and_penalised_ones() -> None:
    linear = fit_of("A", model="linear").predict({"x": [2], "d": [1]})
    case = CASE["linear_identity"]["coef"]
    assert linear.shares[0, 0] == pytest.approx(case[0] + 2 * case[1] + case[2], abs=1e-9)
    np.testing.assert_allclose(linear.high - linear.shares, 1.959963984540054 * linear.errors)
    penalised = fit_of("A", penalty="jeffreys").predict()
    assert penalised.methods[0] == ("none", "none")
    assert np.isnan(penalised.low).all()


def test_the_table_text_and_json_of_a_prediction() -> None:
    prediction = fit_of("B").predict({"x": [0, 1], "d": 1})
    table = prediction.table()
    assert list(table) == ["x", "d", "answer", "share", "se", "low", "high", "interval", "freedom"]
    assert table["answer"].tolist() == ["never", "once", "often"] * 2
    assert table["x"].tolist() == [0, 0, 0, 1, 1, 1]
    assert json.loads(prediction.to_json())["shares"][4]["share"] == table["share"][4]
    lines = prediction.text().splitlines()
    assert len(lines) == 9
    assert (lines[0], lines[-1]) == ("Predicted shares", "N = 1,200 respondents.")
    with pytest.raises(TypeError, match="level"):
        prediction.table(level=0.9)
    assert prediction.to_frame("pandas").shape == (6, 9)


# Margins


def test_marginal_effects_to_the_reference() -> None:
    margins = fit_of("A").margins()
    assert margins.effects == ("x", "d: 1 - 0")
    for row, name in enumerate(("ame_x", "ame_d")):
        assert margins.changes[row, 0] == pytest.approx(CASE[name]["value"], abs=1e-9)
        assert margins.errors[row, 0] == pytest.approx(CASE[name]["se"], abs=1e-9)
    np.testing.assert_allclose(margins.changes.sum(axis=1), 0, atol=1e-12)


def test_marginal_effects_move_squares_and_interactions_along() -> None:
    fit = regress("answer ~ x * d + I(x**2)", people_of("A_binary_forced_response"), DICE, counts="people")
    (effect,) = fit.margins(["x"]).changes[:, 0]
    columns = fit.model_data.covariates
    b = fit.coefficients
    names = list(fit.model_data.terms.names)
    share = fit.specification.shares_at(b, fit.model_data.terms.matrix(columns))[:, 0]
    slope = b[names.index("x")] + b[names.index("x:d")] * columns["d"] + 2 * b[names.index("I(x ** 2)")] * columns["x"]
    weight = np.bincount(fit.model_data.pattern, fit.model_data.observations.weight)
    assert effect == pytest.approx(weight @ (share * (1 - share) * slope) / weight.sum(), abs=1e-9)


def test_the_marginal_effect_of_a_number_that_moves_no_predictor_is_zero() -> None:
    data = {"x": [-2.0, -2.0, 3.0, 3.0], "r": ["yes", "no"] * 2, "n": [40, 60, 55, 45]}
    margins = regress("r ~ I(x > 0)", data, DICE, counts="n").margins(["x"])
    assert_allclose(margins.changes, [[0, 0]], atol=1e-12)


def test_marginal_effects_of_levels_and_of_linear_shares() -> None:
    people = people_of("A_binary_forced_response")
    people["region"] = [f"r{x}" for x in people["x"]]
    fit = regress("answer", people, DICE, on=["region"], counts="people")
    margins = fit.margins()
    assert margins.effects == ("region: r1 - r0", "region: r2 - r0", "region: r3 - r0")
    shares = fit.predict({"region": ["r0", "r1", "r2", "r3"]}).shares[:, 0]
    np.testing.assert_allclose(margins.changes[:, 0], shares[1:] - shares[0])
    linear = fit_of("A", model="linear")
    np.testing.assert_allclose(linear.margins().changes[:, 0], linear.coefficients[1:], atol=1e-12)
    np.testing.assert_allclose(linear.margins().errors[:, 0], linear.standard_errors[1:], rtol=1e-9)
    table = linear.margins().table()
    assert list(table) == ["term", "answer", "estimate", "se", "statistic", "p", "low", "high", "interval", "freedom"]
    assert json.loads(linear.margins().to_json())["effects"][0]["term"] == "x"
    assert list(typeset(linear.margins()).columns)[2] == "change (points)"
    with pytest.raises(ValueError, match=r"variables must be some that the model uses \('x', 'd'\), but got 'age'"):
        linear.margins(["age"])
    with pytest.raises(TypeError, match="a list of names"):
        linear.margins("x")


def test_marginal_effects_of_steep_slopes() -> None:
    """Of a column that is steep where another one makes up for it: shares change within a stride of its spread."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=800)
    y = x + rng.normal(size=800) / 1000
    direct = warner.Channel([[1, 0], [0, 1]], ["yes", "no"], ["yes", "no"])
    yes = rng.random(800) < expit(1500 * (y - x) - 0.5)
    fit = regress("answer ~ x + y", {"answer": np.where(yes, "yes", "no"), "x": x, "y": y}, direct)
    share = fit.specification.shares_at(fit.finite_coefficients, fit.model_data.observations.x)[:, 0]
    slope = fit.coefficients[1] * np.average(share * (1 - share), weights=fit.model_data.observations.weight)
    assert fit.margins(["x"]).changes[0, 0] == pytest.approx(slope, rel=1e-9)


def test_intervals_of_ordered_answers_hold_their_shares() -> None:
    reports = ["a"] * 30 + ["b"] * 50 + ["c"] * 20
    design = RandomizedResponse(["a", "b", "c"], odds=(8, 1))
    found = regress("y ~ 1", {"y": reports}, design, model="ordered").predict()
    assert ((found.low < found.shares) & (found.shares < found.high)).all()
    assert_allclose(found.shares[0], [2 / 7, 4 / 7, 1 / 7], atol=1e-6)


def test_the_first_and_the_last_ordered_answer_have_log_odds_of_their_own() -> None:
    reports = ["a"] * 30 + ["b"] * 50 + ["c"] * 20
    fit = regress("y ~ 1", {"y": reports}, RandomizedResponse(["a", "b", "c"], odds=(8, 1)), model="ordered")
    first, middle, last = (_odds(fit, np.ones((1, 1)), answer) for answer in range(3))
    assert first is not None
    assert middle is None
    assert last is not None
    b = fit.finite_coefficients
    assert_allclose(
        [first.share(first.quantity.value(b)), last.share(last.quantity.value(b))], [2 / 7, 1 / 7], atol=1e-6
    )
