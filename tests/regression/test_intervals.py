"""Intervals of coefficients: profiles against the reference and by another way, and when which is taken.

It tests regression/profiles.py as well.
"""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq, minimize
from scipy.special import expit, logsumexp
from scipy.stats import chi2, t

from cases import DICE, THREE
from regression_cases import REFERENCE, fit_of, people_of
from warner import RandomizedResponse
from warner.regression import profiles
from warner.regression.families import ordered
from warner.regression.likelihood import Likelihood
from warner.regression.maxima import Optimum, all_starts
from warner.regression.newton import newton_ascent
from warner.regression.profiles import (
    Combination,
    ConstrainedLikelihood,
    Coordinates,
    LogOdds,
    Profile,
    coefficient_limits,
    infinite_sign,
    profile_start,
    wald_agrees,
)
from warner.regression.regressions import Regression, regress

COLUMNS = ["term", "answer", "estimate", "se", "statistic", "p", "low", "high"]
QUANTILE = chi2.ppf(0.95, 1)


def loss(fit: Any, i: int, value: float) -> Any:
    """Return twice the loss with a coefficient held, by an offset."""
    plain = fit.likelihood
    mapping = np.eye(plain.size) if plain.mapping is None else plain.mapping
    held = Likelihood(
        plain.rows, plain.family, np.delete(mapping, i, axis=1), value * plain.predictor_change(np.eye(plain.size)[i])
    )
    return 2 * (fit.log_likelihood - newton_ascent(held, np.delete(fit.finite_coefficients, i)).value)


def test_the_profile_of_a_coefficient_to_the_reference() -> None:
    case = REFERENCE["A_binary_forced_response"]
    table = fit_of("A").table()
    assert table["interval"][1] == "profile"
    np.testing.assert_allclose([table["low"][1], table["high"][1]], case["profile_interval_x"], atol=1e-9)


@pytest.mark.parametrize("letter", ["A", "B"])
@pytest.mark.parametrize("model", ["multinomial", "ordered"])
def test_profiles_are_those_of_a_held_coefficient(letter: Any, model: Any) -> None:
    fit = fit_of(letter, model=model)
    ends = fit.limits()
    for i in range(len(fit.coefficients)):
        for low, high, end in ((-5, 0, ends.low[i]), (0, 5, ends.high[i])):
            estimate = fit.coefficients[i]
            other = brentq(lambda value, i=i: loss(fit, i, value) - QUANTILE, estimate + low, estimate + high)
            assert end == pytest.approx(other, abs=1e-7)


def test_an_estimate_at_infinity_has_one_infinite_end() -> None:
    table = fit_of("D").table()
    assert table["estimate"][1] == table["low"][1] == -np.inf
    assert np.isnan(table["se"][1])
    assert table["high"][1] == pytest.approx(REFERENCE["D_infinite"]["profile_upper_g_95"], abs=1e-7)
    # The statistic is the signed root of the likelihood ratio against g = 0: 95 of 400 reports of yes.
    apart = 70 * np.log(0.35) + 130 * np.log(0.65) + 25 * np.log(1 / 6) + 175 * np.log(5 / 6)
    together = 95 * np.log(95 / 400) + 305 * np.log(305 / 400)
    assert table["statistic"][1] == pytest.approx(-np.sqrt(2 * (apart - together)), abs=1e-6)


def test_weights_leave_direct_answers_in_proportion_to_the_effective_number_of_reports() -> None:
    # Each report twice, with the weights 1 and 3: the effective number is (1 + 3)^2 / (1 + 9) = 8/5 of them, and not 2.
    once: dict[str, list[Any]] = {
        "r": ["yes"] * 40 + ["no"] * 60 + ["yes"] * 30 + ["no"] * 70,
        "x": [0] * 100 + [1] * 100,
    }
    twice = {name: 2 * column for name, column in once.items()} | {"w": [1] * 200 + [3] * 200}
    plain, weighted = regress("r ~ x", once, DICE), regress("r ~ x", twice, DICE, weights="w")
    assert_allclose(weighted.coefficients, plain.coefficients, atol=1e-9)
    assert weighted.effective == pytest.approx(8 / 5 * float(plain.effective or 0), rel=1e-9)


def test_an_infinite_end_of_a_finite_estimate() -> None:
    # 35 of 200 is a little above the floor of 1/6: the loss of a share of 0 is that of a binomial, below the quantile.
    people = {"answer": ["yes", "no"] * 2, "g": [0, 0, 1, 1], "n": [70, 130, 35, 165]}
    fit = regress("answer ~ g", people, DICE, counts="n")
    lost = 2 * (35 * np.log(35 / 200 * 6) + 165 * np.log(165 / 200 * 6 / 5))
    assert 0 < lost < QUANTILE
    ends = fit.limits()
    assert ends.low[1] == -np.inf
    assert fit.coefficients[1] < ends.high[1] < np.inf


def test_no_profile_confirms_the_interval_of_a_quantity_without_variance() -> None:
    fit, nothing = fit_of("A"), np.zeros(3)
    assert not wald_agrees(fit, lambda _: (0.5, nothing, np.zeros((3, 3))), (0.4, 0.6), 1.96)


def test_a_profile_stays_where_the_likelihood_is_finite() -> None:
    # From 1/2 toward 4, with nothing beyond 1: halving the distance gives 9/4, 11/8 and 15/16.
    profile: Any = object.__new__(Profile)
    profile.constrained = SimpleNamespace(value=lambda _: 0.0 if abs(profile.constrained.target) < 1 else -np.inf)
    profile._expected = lambda target, path: [np.array([target])]
    profile._maximised = lambda start: (profile.constrained.target, start.item())
    found = profile._point(4.0, [SimpleNamespace(target=0.5)])
    assert found == (15 / 16, 15 / 16)


def test_why_an_estimate_is_infinite() -> None:
    (found,) = fit_of("D").infinite
    assert (found.answer, found.term, found.estimate) == ("yes", "g", -np.inf)
    assert found.reason == (
        "the 200 people with g = 1 reported 'yes' in 12.5 %, less than the 16.7 % of respondents whose true answer is "
        "'no'"
    )
    # The other way round: the group of the intercept is below the floor, and g makes up for it.
    people = {"answer": ["yes", "no"] * 2, "g": [1, 1, 0, 0], "n": [70, 130, 25, 175]}
    fit = regress("answer ~ g", people, DICE, counts="n")
    assert fit.coefficients.tolist() == [-np.inf, np.inf]
    assert {found.reason.split(" reported")[0] for found in fit.infinite} == {"the 200 people with g = 0"}
    # And above the ceiling.
    people = {"answer": ["yes", "no"] * 2, "g": ["a", "a", "b", "b"], "n": [70, 130, 190, 10]}
    (found,) = regress("answer", people, DICE, on=["g"], counts="n").infinite
    assert found.reason == (
        "the 200 people with g = b reported 'yes' in 95.0 %, more than the 83.3 % of respondents whose true answer is "
        "'yes'"
    )
    assert fit_of("A").infinite == ()


def log_likelihood(fit: Any, table: Any, columns: Any, reports: Any, b: Any) -> Any:
    """Return the log-likelihood of a multinomial or an ordered logit, and its gradient, by hand."""
    k = len(table)
    if fit.specification.model == "ordered":
        below = expit(b[: k - 1, np.newaxis] - columns[:, 1:] @ b[k - 1 :])
        ends = np.zeros((1, len(columns)))
        shares = np.diff(np.concatenate([ends, below, ends + 1]), axis=0)
    else:
        eta = np.vstack([b.reshape(k - 1, -1) @ columns.T, np.zeros(len(columns))])
        shares = np.exp(eta - logsumexp(eta, axis=0))
    seen = table[:, reports]
    probability = (shares * seen).sum(axis=0)
    if fit.specification.model == "ordered":
        slope = below * (1 - below) * (seen[:-1] - seen[1:]) / probability
        gradient = np.concatenate([slope.sum(axis=1), -slope.sum(axis=0) @ columns[:, 1:]])
    else:
        gradient = ((shares * seen / probability - shares)[:-1] @ columns).ravel()
    return float(np.log(probability).sum()), gradient


def loss_by_hand(fit: Any, odds: float, columns: Any, reports: Any, i: int, value: float) -> float:
    """Return twice the loss with a coefficient held, by SciPy and another likelihood, from the estimate and from 0.

    Covariates are divided by their root mean square. Cutpoints may meet but not fall.
    """
    k, size = int(reports.max()) + 1, len(fit.coefficients)
    table = (np.ones((k, k)) + (odds - 1) * np.eye(k)) / (odds + k - 1)
    scale = np.asarray(fit.likelihood.scale)
    ordered = fit.specification.model == "ordered"
    rising = np.diff(np.eye(size), axis=0)[: k - 2] / scale if ordered else np.zeros((0, size))
    held = np.eye(size)[i] / scale[i]
    constraints = [{"type": "eq", "fun": lambda b: held @ b - value, "jac": lambda b: held}]
    constraints += [
        {"type": "ineq", "fun": lambda b, way=way: way @ b, "jac": lambda b, way=way: way} for way in rising
    ]

    def negative(b: Any) -> Any:
        value, gradient = log_likelihood(fit, table, columns, reports, b / scale)
        return -value, -gradient / scale

    # Where the coefficient moves, the others follow as they do in the predictors' mean squares.
    metric = np.linalg.inv(fit.likelihood.basis @ fit.likelihood.basis.T)
    way = np.linalg.solve(metric, np.eye(size)[i])
    begin = fit.coefficients + way * (value - fit.coefficients[i]) / way[i]
    found = [
        minimize(
            negative,
            start * scale,
            jac=True,
            method="SLSQP",
            constraints=constraints,
            options={"ftol": 1e-14, "maxiter": 500},
        ).fun
        for start in (begin, fit.coefficients)
    ]
    return float(2 * (fit.log_likelihood + np.nanmin(found)))


def test_limits_do_not_end_at_the_estimate_where_the_likelihood_is_flat() -> None:
    # From the estimate, the first steps down lead to a plateau that loses 6.60. The limit is where 3.84 are lost.
    rng = np.random.default_rng(5)
    answers = np.array(["never", "once", "often"])
    reports = rng.choice(3, 900, p=[0.5, 0.3, 0.2])
    rng.choice(3, 900)
    age = rng.integers(18, 80, 900).astype(float)
    design = RandomizedResponse(answers.tolist(), odds=(4, 1))
    fit = regress("answer ~ age", {"answer": answers[reports], "age": age}, design)
    ends = fit.limits()
    np.testing.assert_allclose(ends.low[[0, 2]], [2.024479, 0.829075], atol=1e-5)
    columns = np.column_stack([np.ones(900), age])
    for i in range(4):
        for end in (ends.low[i], ends.high[i]):
            assert loss_by_hand(fit, 4.0, columns, reports, i, end) == pytest.approx(QUANTILE, abs=1e-4)


@pytest.mark.parametrize("counts", [(11, 5, 14, 10, 3, 17, 16, 4, 10), (6, 7, 17, 15, 2, 13, 12, 3, 15)])
def test_cutpoints_meet_on_the_way_to_a_limit(counts: tuple[int, ...]) -> None:
    # In the second table, the slope is -0.95. Its lower limit ended at -1.05, where an ascent was blocked.
    x, answer = np.repeat([0.0, 1.0, 2.0], 3), np.tile([0, 1, 2], 3)
    labels = np.array(["low", "mid", "high"])
    design = RandomizedResponse(labels.tolist(), odds=(6, 1))
    data = {"answer": labels[answer], "x": x, "n": counts}
    fit = regress("answer ~ x", data, design, model="ordered", counts="n")
    ends = fit.limits(interval="profile")
    columns = np.repeat(np.column_stack([np.ones(9), x]), counts, axis=0)
    for i in range(3):
        for end in (ends.low[i], ends.high[i]):
            reports = np.repeat(answer, counts)
            assert loss_by_hand(fit, 6.0, columns, reports, i, end) == pytest.approx(QUANTILE, abs=1e-4)


@pytest.mark.parametrize("model", ["multinomial", "ordered"])
@pytest.mark.parametrize("seed", range(6))
def test_limits_of_any_survey_lose_what_they_may(model: str, seed: int) -> None:
    """Limits bracket the estimate, and at a finite one twice the loss is the quantile, on every scale of covariates."""
    rng = np.random.default_rng([8, seed])
    k, n, odds = (2 + seed % 2 if model == "multinomial" else 3), int(rng.integers(100, 400)), float(rng.uniform(3, 12))
    x = (rng.integers(18, 80, n), 2000 + rng.integers(0, 20, n), np.round(np.exp(rng.normal(10, 0.7, n))))[seed % 3]
    z = (x - x.mean()) / x.std()
    answers = np.digitize(0.5 * z + rng.logistic(size=n), [-0.7, 0.9] if k == 3 else [0.2])
    truthful = rng.random(n) < odds / (odds + k - 1)
    reports = np.where(truthful, answers, (answers + rng.integers(1, k, n)) % k)
    labels = np.array([f"a{i}" for i in range(k)])
    design = RandomizedResponse(labels.tolist(), odds=(odds, 1))
    fit = regress("answer ~ x", {"answer": labels[reports], "x": x.astype(float)}, design, model=model)
    ends = fit.limits(interval="profile")
    assert (ends.low < fit.coefficients).all()
    assert (fit.coefficients < ends.high).all()
    columns = np.column_stack([np.ones(n), x])
    for i in range(len(fit.coefficients)):
        for end in (ends.low[i], ends.high[i]):
            if np.isfinite(end):
                assert loss_by_hand(fit, odds, columns, reports, i, end) == pytest.approx(QUANTILE, abs=2e-3)


def test_profiles_restart_from_a_better_optimum_at_which_cutpoints_meet() -> None:
    # No report shows the answer "mid": Newton's method alone stops at once where the cutpoints are equal.
    labels = ["low", "mid", "high"]
    data = {"answer": [*labels] * 2, "x": np.repeat([0.0, 1.0], 3), "n": [30, 1, 20, 20, 1, 30]}
    fit = regress("answer ~ x", data, RandomizedResponse(labels, odds=(3, 1)), model="ordered", counts="n")
    assert fit.specification.empty == ("mid",)
    apart = ordered(fit.model_data.terms, labels)
    likelihood = Likelihood(fit.model_data.observations, apart.family, apart.mapping)
    false = replace(fit, specification=apart, finite_coefficients=np.zeros(3), log_likelihood=-100.0)
    false.__dict__["profile_likelihood"] = likelihood
    start = profiles.profile_start(false, QUANTILE, np.zeros(3))
    assert start.log_likelihood == pytest.approx(fit.log_likelihood, abs=1e-8)
    assert start.coefficients[0] == start.coefficients[1]


def test_a_limit_that_is_not_found_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "PROFILE_EVALUATIONS", 1)
    with pytest.warns(UserWarning, match="a limit of a profile likelihood was not found and is missing"):
        ends = fit_of("A").limits(interval="profile")
    assert np.isnan([ends.low, ends.high]).all()


def test_intervals_hold_their_estimate_on_random_tables() -> None:
    rng = np.random.default_rng(6)
    for _ in range(15):
        n = rng.integers(10, 60, 3)
        counts = rng.binomial(n, 1 / 6 + 2 / 3 * np.maximum(0, rng.uniform(-0.1, 0.6, 3)))
        people = {
            "answer": ["yes"] * 3 + ["no"] * 3,
            "g": ["a", "b", "c"] * 2,
            "x": [0.3, 1.0, -0.4] * 2,
            "n": np.concatenate([counts, n - counts]),
        }
        fit = regress("answer", people, DICE, on=[["g"], ["x"]][int(rng.integers(2))], counts="n")
        ends = fit.limits(interval="profile")
        known = ~np.isnan(fit.coefficients)
        assert (ends.low <= fit.coefficients)[known].all()
        assert (fit.coefficients <= ends.high)[known].all()
        assert (ends.low < ends.high).all()


def test_the_log_odds_of_an_answer_among_several() -> None:
    fit = fit_of("B")
    x, b = np.array([1.0, 1.0, 1.0]), fit.coefficients
    quantity = LogOdds(x, 1, 2)
    share = fit.specification.shares_at(b, x[np.newaxis])[0, 2]
    assert quantity.value(b) == pytest.approx(np.log(share / (1 - share)), abs=1e-12)
    held = ConstrainedLikelihood(fit.likelihood, quantity)
    held.target = quantity.value(b) + 0.3
    free = b[held.free] + 0.1
    assert quantity.value(held.all_coefficients(free)) == pytest.approx(held.target, abs=1e-12)
    place, h = held.expansion(free), 1e-6
    for i, step in enumerate(h * np.eye(len(free))):
        assert (held.value(free + step) - held.value(free - step)) / (2 * h) == pytest.approx(
            place.gradient[i], abs=1e-4
        )
        bend = (held.expansion(free - step).gradient - held.expansion(free + step).gradient) / (2 * h)
        np.testing.assert_allclose(bend, place.information[i], atol=1e-3)
    # The largest likelihood with the share held, by a search over all coefficients with a penalty on it.
    profile = profile_start(fit, QUANTILE).profile(quantity)
    end = profile.limit(QUANTILE, 1)
    assert profile.loss(end) == pytest.approx(QUANTILE, abs=1e-7)
    assert infinite_sign(fit, quantity, Coordinates(fit.likelihood, np.eye(6))) == 0
    fit = fit_of("D")
    assert infinite_sign(fit, Combination(np.array([1.0, 1.0])), Coordinates(fit.likelihood, np.eye(2))) == -np.inf


def test_which_interval_is_taken() -> None:
    people = {"answer": ["yes", "no"] * 2, "x": [0, 0, 1, 1], "n": [3000, 7000, 3500, 6500], "w": [1.0, 1.0, 2.0, 1.0]}
    large: Any = regress("answer ~ x", people, DICE, counts="n")
    assert large.effective > 2000
    ends = large.limits()
    assert ends.methods == ("wald", "wald")
    np.testing.assert_allclose(ends.high, large.coefficients + 1.959963984540054 * large.standard_errors, rtol=1e-12)
    np.testing.assert_allclose(large.limits(interval="profile").high, ends.high, rtol=0.05)
    robust = fit_of("A", errors="robust")
    assert set(robust.limits().methods) == {"wald"}
    with pytest.raises(ValueError, match="robust errors"):
        coefficient_limits(robust, interval="profile")
    with pytest.raises(ValueError, match="linear model"):
        coefficient_limits(fit_of("A", model="linear"), interval="profile")
    with pytest.raises(ValueError, match="interval must be one of auto, profile, wald, but got 'exact'"):
        coefficient_limits(robust, interval="exact")
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        coefficient_limits(robust, 95)
    penalised = fit_of("A", penalty="jeffreys")
    assert penalised.tried == 1
    assert set(penalised.table()["interval"]) == {"none"}
    assert np.isnan(penalised.table()["low"]).all()
    with pytest.raises(ValueError, match="point estimates only"):
        penalised.table(interval="wald")


def test_what_reports_tell_where_they_cannot_be_listed() -> None:
    # The outer product of the score has the expected information as its mean: here over 4,800 people.
    fit = regress("answer ~ x + d", _four_times("B_three_answers"), THREE, counts="people")
    rows = fit.model_data.observations
    without = Likelihood(replace(rows, tables=(None,)), fit.specification.family)
    assert without.effective(fit.finite_coefficients) == pytest.approx(fit.effective, rel=0.1)


def _four_times(name: str) -> dict[str, list[Any]]:
    people = people_of(name)
    return people | {"people": [4 * number for number in people["people"]]}


def test_few_clusters_have_t_with_degrees_of_freedom_of_their_own() -> None:
    rng = np.random.default_rng(7)
    people = {
        "answer": rng.choice(["yes", "no"], 400),
        "x": rng.normal(size=400),
        "house": np.repeat(np.arange(10), 40),
    }
    fit = regress("answer ~ x", people, DICE, clusters="house")
    assert fit.freedom is not None
    assert ((fit.freedom > 7) & (fit.freedom < 9)).all()  # 9 if all clusters were alike in x
    table = fit.table()
    # The slope by Student's t; the intercept by the respondents within clusters, which happen to be too much alike.
    floor = fit.accuracy(np.eye(2)).floor
    assert floor is not None
    half = t.ppf(0.975, [np.inf, fit.freedom[1]]) * [floor[0], table["se"][1]]
    np.testing.assert_allclose(table["high"] - table["estimate"], half)
    both = t.sf(np.abs(table["estimate"]) / [table["se"], floor], [fit.freedom, [np.inf, np.inf]])
    np.testing.assert_allclose(table["p"], 2 * both.max(axis=0))
    assert "shows less variance of Intercept than respondents within clusters" in " ".join(fit.text().split())
    with pytest.raises(ValueError, match="clusters"):
        fit.table(interval="profile")


def test_a_false_optimum_is_met_on_a_profile_and_said() -> None:
    # Case H from the null start alone, which ends in the false optimum.
    case, best = REFERENCE["H_false_optimum"], fit_of("H")
    false = best.likelihood
    peak = newton_ascent(false, np.array(case["false"]["coef"]))
    fit = Regression(
        best.model_data,
        best.specification,
        peak.coefficients,
        peak.coefficients,
        np.asarray(np.linalg.inv(false.expansion(peak.coefficients).information), dtype=np.float64),
        "observed",
        None,
        peak.value,
        peak.gap,
        (Optimum(peak.value, 2), Optimum(peak.value - 5, 1)),
        3,
        tuple(start.coefficients for start in all_starts(false)),
    )
    with pytest.warns(UserWarning, match=r"higher by 3.03 were found.*fit.better\(\)"):
        table = fit.table(level=0.9999)
    assert (table["low"] <= peak.coefficients).all()
    assert (table["high"] >= peak.coefficients).all()
    assert (table["low"] <= best.coefficients).all()
    assert (table["high"] >= best.coefficients).all()
    np.testing.assert_allclose(fit.better(level=0.9999).coefficients, best.coefficients, atol=1e-9)
    assert best.better() is best


def test_the_table_has_its_columns_and_order() -> None:
    table = fit_of("B", reference="once").table()
    assert list(table)[:8] == COLUMNS
    assert table["answer"].tolist() == ["never"] * 3 + ["often"] * 3
    assert table["term"].tolist() == ["Intercept", "x", "d"] * 2
    ordered = fit_of("B", model="ordered").table()
    assert ordered["term"].tolist() == ["never | once", "once | often", "x", "d"]
    assert ordered["answer"].tolist() == [None] * 4


def test_odds_ratios() -> None:
    fit = fit_of("A")
    plain, odds = fit.table(), fit.table(odds=True)
    for name, of in (("odds_ratio", "estimate"), ("low", "low"), ("high", "high")):
        np.testing.assert_allclose(odds[name], np.exp(plain[of]))
    np.testing.assert_allclose(odds["se"], np.exp(plain["estimate"]) * plain["se"])
    with pytest.raises(ValueError, match="link 'probit'"):
        fit_of("A", link="probit").table(odds=True)


def test_json_and_frame() -> None:
    fit = fit_of("D")
    fields = json.loads(fit.to_json())
    assert (fields["format"], fields["version"]) == ("warner regression", 1)
    assert fields["formula"] == "answer ~ g"
    assert fields["people"] == 400
    assert fields["infinite"][0]["sign"] == -1
    assert [row["term"] for row in fields["coefficients"]] == ["Intercept", "g"]
    assert fields["coefficients"][1]["estimate"] is None
    assert fields["coefficients"][0]["se"] == fit.table()["se"][0]
    frame = fit.to_frame("pandas")
    assert list(frame.columns)[:8] == COLUMNS
