"""The engine of regressions: derivatives by differences, reference cases, false optima, estimates at infinity.

It tests regression/families.py, regression/infinite_estimates.py, regression/maxima.py,
regression/newton.py, regression/regressions.py and regression/standard_errors.py as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warner
from cases import DICE, THREE
from references import reference
from warner import surveys
from warner.regression import maxima
from warner.regression.data import Observations
from warner.regression.families import LINKS, Binary, Cumulative, Family, Softmax
from warner.regression.likelihood import Likelihood
from warner.regression.maxima import Start, all_starts, maximise, penalised_maximum
from warner.regression.newton import newton_ascent
from warner.regression.regressions import regress
from warner.regression.standard_errors import covariance

REFERENCE = reference("regression")


def rows_of(design: Any, x: Any, counts: Any) -> Observations:
    """Return the rows of a table: a line of covariates, with the count of each report."""
    table = design.law.likelihood().matrix()
    counts = np.asarray(counts, dtype=float)
    report = np.tile(np.arange(counts.shape[1]), len(counts))
    weight = counts.ravel()
    x = np.repeat(np.asarray(x, dtype=float), counts.shape[1], axis=0)
    return Observations(x, table.T[report], weight, weight, weight, (design,), np.zeros_like(report), report, (table,))


def table_of(name: str, covariates: int) -> tuple[Any, Any]:
    rows = np.array(REFERENCE[name]["rows"], dtype=float)
    return np.column_stack([np.ones(len(rows)), rows[:, :covariates]]), rows[:, covariates:]


BINARY = rows_of(DICE, *table_of("A_binary_forced_response", 2))
MULTINOMIAL = rows_of(THREE, *table_of("B_three_answers", 2))
EQUAL_SLOPES = np.array([[1, 0, 0, 0], [0, 0, -1, 0], [0, 0, 0, -1], [0, 1, 0, 0], [0, 0, -1, 0], [0, 0, 0, -1]], float)
DIRECT = rows_of(warner.Channel(np.eye(3), ["a", "b", "c"], ["a", "b", "c"]), *table_of("B_three_answers", 2))
LIKELIHOODS = {
    **{name: Likelihood(BINARY, Binary(link)) for name, link in LINKS.items()},
    "first as reference": Likelihood(BINARY, Binary(LINKS["probit"], reference=0)),
    "multinomial": Likelihood(MULTINOMIAL, Softmax(3, 1)),
    "direct": Likelihood(DIRECT, Softmax(3, 0)),
    **{f"ordered {name}": Likelihood(MULTINOMIAL, Cumulative(3, LINKS[name]), EQUAL_SLOPES) for name in LINKS},
    "ordered direct": Likelihood(DIRECT, Cumulative(3, LINKS["logit"]), EQUAL_SLOPES),
}


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_derivatives_are_those_of_differences(name: str) -> None:
    likelihood = LIKELIHOODS[name]
    b = 0.3 * np.random.default_rng(2).standard_normal(likelihood.size)
    if "ordered" in name:
        b[1] = b[0] + 1
    here, h = likelihood.expansion(b), 1e-6
    steps = h * np.eye(len(b))
    assert here.value == pytest.approx(likelihood.value(b), rel=1e-14)
    slopes = [(likelihood.value(b + step) - likelihood.value(b - step)) / (2 * h) for step in steps]
    np.testing.assert_allclose(here.gradient, slopes, rtol=1e-6, atol=1e-5)
    curves = [
        -(likelihood.expansion(b + step).gradient - likelihood.expansion(b - step).gradient) / (2 * h) for step in steps
    ]
    np.testing.assert_allclose(here.information, curves, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_shares_and_their_slopes(name: str) -> None:
    likelihood = LIKELIHOODS[name]
    family: Family = likelihood.family
    eta = np.sort(np.random.default_rng(3).uniform(-2, 1, (family.predictors, 7)), axis=0)
    shares = family.shares(eta)
    np.testing.assert_allclose(shares.sum(axis=0), 1, rtol=1e-14)
    np.testing.assert_allclose(family.predictors_of(shares), eta, rtol=1e-10, atol=1e-10)
    for number, step in enumerate(1e-6 * np.eye(family.predictors)):
        change = family.shares(eta + step[:, np.newaxis]) - family.shares(eta - step[:, np.newaxis])
        np.testing.assert_allclose(family.slopes(eta)[:, number], change / 2e-6, rtol=1e-6, atol=1e-9)


def test_expected_information_is_the_mean_of_the_observed_one() -> None:
    # Over all reports, each with its own probability: rows with these as weights.
    likelihood = LIKELIHOODS["multinomial"]
    b = np.array([0.2, -0.3, 0.1, 0.4, 0.2, -0.5])
    shares = likelihood.family.shares(likelihood.predictors(b))
    probability = (shares * likelihood.reports).sum(axis=0)
    sizes = MULTINOMIAL.weight.reshape(-1, 3).sum(axis=1).repeat(3)
    rows = Observations(**{**vars(MULTINOMIAL), "weight": probability * sizes})
    np.testing.assert_allclose(
        Likelihood(rows, Softmax(3, 1)).expansion(b).information, likelihood.expected(b), rtol=1e-10
    )


@pytest.mark.parametrize("link", LINKS)
def test_two_answers_to_the_reference(link: str) -> None:
    case = REFERENCE["A_binary_forced_response"][link]
    likelihood = LIKELIHOODS[link]
    peak = maximise(likelihood, all_starts(likelihood)).best
    np.testing.assert_allclose(peak.coefficients, case["coef"], atol=1e-9)
    assert peak.value == pytest.approx(case["log_likelihood"], abs=1e-9)
    for errors in ("observed", "expected", "opg"):
        found_errors = np.sqrt(np.diag(covariance(likelihood, peak.coefficients, errors)))
        np.testing.assert_allclose(found_errors, case[f"se_{errors}"], atol=1e-9)
    # The reference leaves out the factor n/(n - 1).
    robust = np.diag(covariance(likelihood, peak.coefficients, "robust")) * (BINARY.n - 1) / BINARY.n
    np.testing.assert_allclose(np.sqrt(robust), case["se_sandwich_hc0"], atol=1e-9)


def test_three_answers_to_the_reference() -> None:
    case = REFERENCE["B_three_answers"]
    likelihood = Likelihood(MULTINOMIAL, Softmax(3, 0))
    result = maximise(likelihood, all_starts(likelihood))
    np.testing.assert_allclose(result.best.coefficients, np.ravel(case["coef"]), atol=1e-9)
    assert result.best.value == pytest.approx(case["log_likelihood"], abs=1e-9)
    assert [optimum.starts for optimum in result.optima] == [result.tried]
    for errors in ("observed", "expected", "opg"):
        found_errors = np.sqrt(np.diag(covariance(likelihood, result.best.coefficients, errors)))
        np.testing.assert_allclose(found_errors, np.ravel(case[f"se_{errors}"]), atol=1e-9)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_ordered_answers_to_the_reference(link: str) -> None:
    case = REFERENCE["B_three_answers"][f"ordered_{link}"]
    likelihood = LIKELIHOODS[f"ordered {link}"]
    peak = maximise(likelihood, all_starts(likelihood)).best
    np.testing.assert_allclose(peak.coefficients, [*case["cutpoints"], *case["coef"]], atol=1e-9)
    assert peak.value == pytest.approx(case["log_likelihood"], abs=1e-9)
    if "se_observed" in case:
        errors = np.sqrt(np.diag(covariance(likelihood, peak.coefficients, "observed")))
        np.testing.assert_allclose(errors, case["se_observed"], atol=1e-9)


def test_a_false_optimum_is_found_and_left() -> None:
    case = REFERENCE["H_false_optimum"]
    likelihood = Likelihood(rows_of(surveys.warner("3/4"), *table_of("H_false_optimum", 1)), Binary(LINKS["logit"]))
    result = maximise(likelihood, all_starts(likelihood))
    np.testing.assert_allclose(result.best.coefficients, case["best"]["coef"], atol=1e-9)
    assert result.optima[1].log_likelihood == pytest.approx(case["false"]["log_likelihood"], abs=1e-9)
    # The null start and the corrected score end in the false one: seen to fail without the others.
    first_two = [start for start in all_starts(likelihood) if start.name in ("null", "corrected score")]
    assert maximise(likelihood, first_two).best.value == pytest.approx(case["false"]["log_likelihood"], abs=1e-9)


def test_an_estimate_at_infinity_is_named() -> None:
    likelihood = Likelihood(rows_of(DICE, *table_of("D_infinite", 1)), Binary(LINKS["logit"]))
    result = maximise(likelihood, all_starts(likelihood))
    case = REFERENCE["D_infinite"]
    assert result.best.value == pytest.approx(case["log_likelihood_supremum"], abs=1e-6)
    assert result.best.coefficients[0] == pytest.approx(case["intercept"], abs=1e-6)
    assert result.infinity is not None
    assert result.infinity.signs.tolist() == [0, -np.inf]


def boundary(counts: Any, n: Any) -> tuple[Any, Any]:
    """Return the most likely shares of yes under DICE, and whether they are 0 or 1."""
    shares = (counts / n - 1 / 6) / (2 / 3)
    return np.clip(shares, 0, 1), (counts * 6 <= n) | (counts * 6 >= 5 * n)


def test_infinity_is_flagged_exactly_where_a_share_is_on_the_boundary() -> None:
    # One factor: the fit is the most likely share of each group, and coefficients are differences of their logits.
    rng = np.random.default_rng(4)
    seen = 0
    for _ in range(100):
        groups = int(rng.integers(2, 4))
        n = rng.integers(5, 60, groups)
        counts = rng.binomial(n, 1 / 6 + 2 / 3 * np.maximum(0, rng.uniform(-0.1, 0.6, groups)))
        x = np.column_stack([np.ones(groups), np.eye(groups)[:, 1:]])
        likelihood = Likelihood(rows_of(DICE, x, np.column_stack([counts, n - counts])), Binary(LINKS["logit"]))
        result = maximise(likelihood, all_starts(likelihood))
        shares, at_the_end = boundary(counts, n)
        seen += bool(at_the_end.any())
        probability = 1 / 6 + 2 / 3 * shares
        most = counts @ np.log(probability) + (n - counts) @ np.log(1 - probability)
        assert result.best.value == pytest.approx(most, abs=1e-6)
        with np.errstate(divide="ignore", invalid="ignore"):
            logits = np.where(at_the_end, np.where(shares > 0.5, np.inf, -np.inf), np.log(shares / (1 - shares)))
            coefficients = np.concatenate([logits[:1], logits[1:] - logits[0]])
        if not at_the_end.any():
            assert result.infinity is None
            np.testing.assert_allclose(result.best.coefficients, coefficients, atol=1e-5)
        else:
            assert result.infinity is not None
            np.testing.assert_array_equal(result.infinity.signs, np.where(np.isfinite(coefficients), 0, coefficients))
    assert seen > 20


def test_jeffreys_penalty_to_the_reference() -> None:
    case = REFERENCE["A_binary_forced_response"]["jeffreys"]
    likelihood = LIKELIHOODS["logit"]
    peak = penalised_maximum(likelihood, np.zeros(3))
    np.testing.assert_allclose(peak.coefficients, case["coef"], atol=1e-9)
    errors = np.sqrt(np.diag(covariance(likelihood, peak.coefficients, "expected")))
    np.testing.assert_allclose(errors, case["se_expected"], atol=1e-9)
    # At infinity: one cell each, by 40 digits of mpmath; the reference page has -2.98165213, seven digits of it.
    likelihood = Likelihood(rows_of(DICE, *table_of("D_infinite", 1)), Binary(LINKS["logit"]))
    peak = penalised_maximum(likelihood, np.zeros(2))
    np.testing.assert_allclose(peak.coefficients, [-0.946826195303917, -2.981652200604154], atol=1e-9)


@pytest.mark.parametrize("name", ["multinomial", "ordered cloglog", "first as reference"])
def test_jeffreys_penalty_is_at_its_maximum(name: str) -> None:
    likelihood = LIKELIHOODS[name]
    start = maximise(likelihood, all_starts(likelihood)).best.coefficients
    b = penalised_maximum(likelihood, start).coefficients

    def height(b: Any) -> float:
        return float(likelihood.value(b) + np.linalg.slogdet(likelihood.expected(b))[1] / 2)

    rng = np.random.default_rng(5)
    for _ in range(20):
        assert height(b) >= height(b + 1e-3 * rng.standard_normal(len(b)))


def test_direct_answers_at_any_predictor() -> None:
    # With likelihoods of 0 and 1 nothing overflows, and nothing is lost: log F(-700) of a logit is -700.
    likelihood = np.array([[1.0, 0.0], [0.0, 1.0]])
    for link in ("logit", "probit", "cauchit", "cloglog"):
        point = Binary(LINKS[link]).contributions(np.array([[-30.0, -30.0]]), likelihood)
        assert np.isfinite(np.concatenate([part.ravel() for part in point])).all()
    point = Binary(LINKS["logit"]).contributions(np.array([[-700.0, 700.0]]), likelihood)
    np.testing.assert_allclose(point.log_likelihood, [-700, -700])
    np.testing.assert_allclose(point.score, [[1, -1]])
    eta = np.array([[-700.0, 700.0], [-700.0, 700.0]])
    point = Softmax(3, 2).contributions(eta, np.eye(3)[:, [0, 2]])
    np.testing.assert_allclose(point.log_likelihood, [-700, -700 - np.log(2)])


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
@pytest.mark.parametrize("yes", [30, 50, 170])
def test_infinity_is_found_under_every_link(link: str, yes: Any) -> None:
    """Of 200 people, 30 yes are fewer than people without the trait give, 50 as many; 170 are more than all give."""
    reports = {"answer": ["yes", "no"] * 2, "g": [0, 0, 1, 1], "people": [90, 110, yes, 200 - yes]}
    fit = regress("answer ~ g", reports, surveys.warner("3/4"), counts="people", link=link)
    assert fit.coefficients[1] == (np.inf if yes == 170 else -np.inf)
    assert np.isfinite(fit.coefficients[0])
    shares = fit.predict({"g": [1]}).shares[0, 0]
    assert shares == pytest.approx(1.0 if yes == 170 else 0.0, abs=1e-3)


def test_infinity_is_found_in_two_answers_at_once() -> None:
    design = warner.Channel(
        [["2/3", "1/6", "1/6"], ["1/6", "2/3", "1/6"], ["1/6", "1/6", "2/3"]], ["a", "b", "c"], ["a", "b", "c"]
    )
    reports = {"answer": ["a", "b", "c"] * 2, "g": [0] * 3 + [1] * 3, "people": [12, 40, 8, 8, 37, 15]}
    fit = regress("answer ~ g", reports, design, counts="people")  # no c where g = 0, no a where g = 1
    assert fit.infinity is not None
    assert fit.predict({"g": [0, 1]}).shares[[0, 1], [2, 0]] == pytest.approx([0, 0], abs=1e-3)


def test_an_answer_that_all_people_of_a_group_have_is_named() -> None:
    # At odds 3 : 1 among three answers, a share of 100 % is reported in 60 %: 70 of 100 reports are more.
    design = warner.RandomizedResponse(["a", "b", "c"], odds=(3, 1))
    reports = {"answer": ["a", "b", "c"] * 2, "g": [0] * 3 + [1] * 3, "people": [70, 15, 15, 40, 30, 30]}
    found = regress("answer ~ g", reports, design, counts="people").infinite
    assert {one.reason for one in found} == {"the most likely share of 'a' among the 100 people with g = 0 is 100 %"}


def test_the_origin_of_a_column_makes_no_difference_to_infinity() -> None:
    """Years and years since 2000: the intercept and the year are finite, the group is not."""
    rng = np.random.default_rng(5)
    year, group = rng.integers(2000, 2005, 600), np.repeat([0, 1, 1], 200)
    yes = rng.random(600) < np.where(group == 1, 0.15, 0.35 + 0.05 * (year - 2000))
    people = {"answer": np.where(yes, "yes", "no"), "year": year, "since": year - 2000, "g": group}
    late, early = (regress(f"answer ~ {name} + g", people, surveys.warner("3/4")) for name in ("year", "since"))
    assert late.coefficients[2] == early.coefficients[2] == -np.inf
    assert late.coefficients[1] == pytest.approx(early.coefficients[1], rel=1e-6)
    assert np.isfinite(late.coefficients[:2]).all()
    assert late.standard_errors[1] == pytest.approx(early.standard_errors[1], rel=1e-6)


def test_a_climb_to_infinity_of_a_continuous_column_ends() -> None:
    """Steps that are as long as allowed become longer: slopes of thousands are reached."""
    x = np.linspace(-1, 1, 400)
    people = {"answer": np.where(x > 0.0001, "yes", "no"), "x": x}
    direct = warner.Channel([[1, 0], [0, 1]], ["yes", "no"], ["yes", "no"])
    fit = regress("answer ~ x", people, direct)
    assert fit.coefficients[1] == np.inf


def test_flat_ground_below_a_start_is_no_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    """An ascent that ends lower than another one began is no maximum, even if the other one got stuck."""
    likelihood = Likelihood(rows_of(DICE, [[1.0]], [[70, 130]]), Binary(LINKS["logit"]))
    ascent = newton_ascent

    def stuck(surface: Any, b: Any, **known: Any) -> Any:
        return ascent(surface, b, **known)._replace(converged=bool(b[0] < -30))

    monkeypatch.setattr(maxima, "newton_ascent", stuck)
    places = [Start("good", np.array([-1.0])), Start("flat", np.array([-50.0]))]
    with pytest.raises(ValueError, match="no maximum of the likelihood was found from 2 starts"):
        maximise(likelihood, places)
