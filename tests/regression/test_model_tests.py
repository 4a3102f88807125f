"""Models against smaller ones, against their cells, and under cheating.

It tests regression/model_checks.py as well.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, f

import warner
from cases import DICE
from regression_cases import REFERENCE, fit_of, people_of
from warner.regression.maxima import Optimum
from warner.regression.model_checks import covariate_cells, saturated_log_likelihood
from warner.regression.model_tests import term_tests
from warner.regression.newton import newton_ascent
from warner.regression.regressions import Regression, regress
from warner.results import typeset

CASE = REFERENCE["A_binary_forced_response"]


def part_of_a(formula: str, **options: Any) -> Any:
    people = people_of("A_binary_forced_response")
    people["z"] = [x**2 + d for x, d in zip(people["x"], people["d"], strict=True)]
    return regress(formula, people, DICE, counts="people", **options)


def test_likelihood_ratios_to_the_reference() -> None:
    tests = fit_of("A").terms()
    assert tests.names == ("x", "d")
    assert tests.tests[0].statistic == pytest.approx(CASE["lr_drop_x"], abs=1e-9)
    assert tests.tests[1].statistic == pytest.approx(CASE["lr_drop_d"], abs=1e-9)
    assert tests.tests[0].p == pytest.approx(chi2.sf(CASE["lr_drop_x"], 1))
    comparison = fit_of("A").compare(part_of_a("answer ~ d"))
    assert comparison.statistic == pytest.approx(CASE["lr_drop_x"], abs=1e-9)
    assert (comparison.freedom, comparison.tests[0].test) == (1, "likelihood ratio")
    null = fit_of("A").compare(part_of_a("answer ~ 1"))
    assert null.freedom == 2
    assert null.statistic == pytest.approx(
        2 * (CASE["logit"]["log_likelihood"] - CASE["null_log_likelihood"]), abs=1e-9
    )


def test_measures_of_a_model_to_the_reference() -> None:
    fit = fit_of("A")
    criteria = fit.criteria
    assert criteria.null_log_likelihood == pytest.approx(CASE["null_log_likelihood"], abs=1e-9)
    assert criteria.mcfadden == pytest.approx(CASE["mcfadden"], abs=1e-9)
    assert criteria.aic == pytest.approx(-2 * CASE["logit"]["log_likelihood"] + 6, abs=1e-9)
    assert criteria.bic == pytest.approx(-2 * CASE["logit"]["log_likelihood"] + 3 * np.log(1100), abs=1e-9)
    assert saturated_log_likelihood(fit, covariate_cells(fit))[0] == pytest.approx(
        CASE["saturated_log_likelihood"], abs=1e-9
    )
    assert fit_of("A", model="linear").criteria.aic is None


def test_a_model_that_is_another_ones_part_by_its_columns() -> None:
    # x and its square span what the three indicators of x do not; the saturated model holds all of them.
    saturated = part_of_a("answer ~ C(x) * C(d)")
    for smaller in ("answer ~ x + d", "answer ~ x * d", "answer ~ x + I(x**2)", "answer ~ C(x)"):
        fit = part_of_a(smaller)
        comparison = saturated.compare(fit)
        assert comparison.statistic == pytest.approx(2 * (saturated.log_likelihood - fit.log_likelihood), abs=1e-8)
        assert comparison.freedom == 8 - len(fit.coefficients)
    assert saturated.compare(fit_of("A")).statistic == pytest.approx(CASE["deviance"], abs=1e-8)


def test_what_cannot_be_compared() -> None:
    fit = fit_of("A")
    refusals = {
        "z is not in the larger one": part_of_a("answer ~ z"),
        "does not follow": part_of_a("answer ~ I(x**2)"),
        "as many coefficients": part_of_a("answer ~ I(x + d) + d"),
        "the same link": part_of_a("answer ~ x", link="probit"),
        "the same model": part_of_a("answer ~ x", model="linear"),
        "the same reference": part_of_a("answer ~ x", reference="yes"),
        "without a penalty": part_of_a("answer ~ x", penalty="jeffreys"),
    }
    for words, smaller in refusals.items():
        with pytest.raises(ValueError, match=words):
            fit.compare(smaller)
    people = people_of("A_binary_forced_response")
    fewer = people | {"people": [*people["people"][:-1], 10]}
    with pytest.raises(ValueError, match="the same respondents, but there are 1,100 and 1,056"):
        fit.compare(regress("answer ~ x", fewer, DICE, counts="people"))
    swapped = people | {"people": [*people["people"][:-2], 54, 71]}
    with pytest.raises(ValueError, match="the same respondents, but their reports differ"):
        fit.compare(regress("answer ~ x", swapped, DICE, counts="people"))
    moved = people | {"people": [*people["people"][:-4], 71, 54, 63, 62]}
    with pytest.raises(ValueError, match="the same respondents, but the reports do not agree"):
        fit.compare(regress("answer ~ x", moved, DICE, counts="people"))
    other = warner.surveys.forced_response(truth="2/3", yes="1/4")
    with pytest.raises(ValueError, match="the same designs"):
        fit.compare(regress("answer ~ x", people, other, counts="people"))
    with pytest.raises(ValueError, match="the same weights"):
        fit.compare(_weighted("answer ~ x"))
    with pytest.raises(TypeError, match="smaller must be a regression, but got int"):
        fit.compare(3)
    with pytest.raises(ValueError, match="terms besides the intercept"):
        part_of_a("answer ~ 1").terms()
    with pytest.raises(ValueError, match="without a penalty"):
        fit_of("A", penalty="jeffreys").terms()


def _weighted(formula: str, **options: Any) -> Regression:
    """Fit to the people of case A, one row for each, with weights of 1 that are called sampling weights."""
    people = people_of("A_binary_forced_response")
    single = {name: np.repeat(values, people["people"]) for name, values in people.items() if name != "people"}
    single["w"] = np.ones(1100)
    single["place"] = np.random.default_rng(3).permutation(1100) % 20
    return regress(formula, single, DICE, weights="w", **options)


def test_walds_test_where_ratios_are_not_valid() -> None:
    fit = _weighted("answer ~ x + d")
    tests = fit.terms()
    assert {test.test for test in tests.tests} == {"Wald"}
    np.testing.assert_allclose([test.statistic for test in tests.tests], (fit.table()["statistic"] ** 2)[1:])
    comparison = fit.compare(_weighted("answer ~ 1"))
    contrast = fit.coefficients[1:]
    assert comparison.statistic == pytest.approx(contrast @ np.linalg.solve(fit.covariance[1:, 1:], contrast))
    clustered = _weighted("answer ~ x + d", clusters="place")
    comparison = clustered.compare(_weighted("answer ~ 1", clusters="place"))
    # F with q = 2 and eta - 2 + 1 degrees of freedom; eta is nearly 19, since the 20 clusters are nearly alike.
    left = comparison.tests[0].denominator
    assert left is not None
    assert 17 < left < 18
    scaled = left * comparison.statistic / ((left + 1) * 2)
    assert comparison.p_value == pytest.approx(f.sf(scaled, 2, left), rel=1e-6, abs=0)
    assert f"F with 2 and {left:.1f} degrees of freedom" in comparison.text()
    assert clustered.criteria.aic is None
    linear = fit_of("A", model="linear")
    comparison = linear.compare(part_of_a("answer ~ d", model="linear"))
    assert comparison.statistic == pytest.approx((linear.coefficients[1] / linear.standard_errors[1]) ** 2)


def test_a_smaller_model_that_beats_the_larger_one() -> None:
    # Case H with a further column that says nothing; the larger model is left in the false optimum.
    case = REFERENCE["H_false_optimum"]
    people = people_of("H_false_optimum")
    people["z"] = [0.1 * (i % 3) for i in range(len(people["x"]))]
    best: Any = regress("answer ~ x + z", people, warner.surveys.warner("3/4"), counts="people")
    peak = newton_ascent(best.likelihood, np.array([*case["false"]["coef"], 0.0]))
    assert peak.value < best.log_likelihood - 2
    false = Regression(
        best.model_data,
        best.specification,
        peak.coefficients,
        peak.coefficients,
        best.covariance,
        "observed",
        None,
        peak.value,
        peak.gap,
        (Optimum(peak.value, 1),),
        1,
    )
    tests = term_tests(false)
    assert tests.tests[1].statistic == pytest.approx(best.terms().tests[1].statistic, abs=1e-6)
    assert "false optimum" in tests.text()


def test_tests_as_table_and_json() -> None:
    tests = fit_of("B").terms()
    table = tests.table()
    assert list(table) == ["term", "statistic", "freedom", "p", "test", "denominator"]
    assert table["freedom"].tolist() == [2, 2]
    assert json.loads(tests.to_json())["tests"][1]["statistic"] == table["statistic"][1]
    assert fit_of("B", model="ordered").terms().names == ("x", "d")
    assert "infinity" in fit_of("D").terms().text()


# Cells


def test_the_fit_against_cells_to_the_reference() -> None:
    check = fit_of("A").check()
    assert check.deviance.deviance == pytest.approx(CASE["deviance"], abs=1e-9)
    assert (check.cells, check.deviance.freedom) == (8, 5)
    assert check.deviance.p == pytest.approx(chi2.sf(CASE["deviance"], 5))
    assert check.small == ()
    assert check.groups is None
    assert json.loads(check.to_json())["deviance"]["saturated"] == check.deviance.saturated
    printed = typeset(check)
    assert printed.columns["test"] == ["deviance from the cells"]
    assert printed.columns["statistic"] == [f"{CASE['deviance']:.2f}"]
    assert printed.columns["df"] == ["5"]
    assert f"a log-likelihood above {check.deviance.saturated:,.2f}, that of the cells." in repr(check)


def test_cells_of_several_designs() -> None:
    direct = warner.Channel(np.eye(2), ["yes", "no"], ["yes", "no"])
    people = {"answer": ["yes", "no"] * 2, "asked": ["dice", "dice", "direct", "direct"], "n": [40, 60, 15, 85]}
    fit: Any = regress("answer ~ 1", people, {"dice": DICE, "direct": direct}, by="asked", counts="n")
    assert fit.check().deviance.deviance == pytest.approx(0, abs=1e-8)  # one cell: the model itself
    assert fit.criteria.mcfadden == pytest.approx(0, abs=1e-9)


def test_small_cells_are_named() -> None:
    rng = np.random.default_rng(8)
    people = {
        "answer": rng.choice(["yes", "no"], 600),
        "age": np.append(rng.integers(20, 60, 598), [99, 99]),
        "region": ["n", "s"] * 300,
    }
    check = regress("answer", people, DICE, on=["age", "region"]).check()
    assert "age = 99, region = s" in check.small
    assert "fewer than 5 respondents" in check.text()
    assert check.groups is not None
    groups = check.text().split("\n\n")[1].splitlines()
    assert groups[0] == "Groups of similar predictions"
    assert [int(line.split()[0]) for line in groups[2:]] == check.groups.people.tolist()


@pytest.mark.parametrize(("cells", "named"), [(5, "(x = 0; x = 1; x = 2; x = 3; x = 4)"), (6, "")])
def test_cells_of_four_are_small_and_up_to_five_of_them_are_named(cells: int, named: str) -> None:
    x = [*np.repeat(range(cells), 4), *[10] * 5, *[11] * 60]
    check = regress("r ~ x", {"r": [*["yes", "no"] * (len(x) // 2), *["no"] * (len(x) % 2)], "x": x}, DICE).check()
    assert check.small == tuple(f"x = {value}" for value in range(cells))
    assert f"{cells} cells have fewer than 5 respondents{' ' * bool(named)}{named}:" in " ".join(check.text().split())


def test_groups_of_like_predictions_by_hand() -> None:
    rng = np.random.default_rng(9)
    x = rng.normal(size=600)
    people = {"answer": np.where(rng.random(600) < 1 / 6 + 2 / 3 / (1 + np.exp(-x)), "yes", "no"), "x": x}
    fit = regress("answer ~ x", people, DICE)
    groups: Any = fit.check().groups
    shares = fit.specification.shares_at(fit.finite_coefficients, np.column_stack([np.ones(600), x]))[:, 0]
    tenth = np.argsort(np.argsort(shares)) // 60
    observed = np.bincount(tenth, people["answer"] == "yes")
    expected = np.bincount(tenth, 1 / 6 + 2 / 3 * shares)
    np.testing.assert_array_equal(groups.observed[:, 0], observed)
    np.testing.assert_allclose(groups.expected[:, 0], expected)
    statistic = ((observed - expected) ** 2 * (1 / expected + 1 / (60 - expected))).sum()
    assert groups.statistic == pytest.approx(statistic)
    assert groups.p == pytest.approx(chi2.sf(statistic, 8))
    assert len(fit.check().table()["report"]) == 20
    wrong = people | {"answer": np.where(rng.random(600) < 1 / 6 + 2 / 3 * (np.abs(x) > 1), "yes", "no")}
    against: Any = regress("answer ~ x", wrong, DICE).check().groups
    assert against.p < 1e-6


# Cheating


def test_sensitivity_to_cheaters_undoes_the_contaminated_design() -> None:
    fit = part_of_a("answer ~ C(x) * C(d)")
    result = fit.sensitivity("no", (0, "1/10"))
    people = people_of("A_binary_forced_response")
    yes = np.array(people["people"][::2]) / np.add(people["people"][::2], people["people"][1::2])
    # A yes has probability .9 * 5/6 with the trait, and .9 / 6 without.
    shares = (yes - 0.15) / 0.6
    profiles = {"x": people["x"][::2], "d": people["d"][::2]}
    np.testing.assert_allclose(result.fits[1].predict(profiles).shares[:, 0], shares, atol=1e-6)
    np.testing.assert_allclose(result.fits[0].coefficients, fit.coefficients, atol=1e-7)
    table = result.table()
    mean = table["estimate"][(table["term"] == "mean share") & (table["answer"] == "yes")]
    np.testing.assert_allclose(mean[1], np.average(shares, weights=[150] * 4 + [125] * 4), atol=1e-7)
    assert json.loads(result.to_json())["values"][0]["cheating"] == 0
    assert "independent" in result.text()


def test_sensitivity_of_linear_shares() -> None:
    linear = fit_of("A", model="linear")
    result = linear.sensitivity("no", (0, 0.2))
    # Debiased numbers are linear in the report: slopes grow by 1 / (1 - c).
    np.testing.assert_allclose(result.fits[1].coefficients[1:], linear.coefficients[1:] / 0.8, rtol=1e-9)


def test_what_sensitivity_refuses() -> None:
    fit = fit_of("A")
    with pytest.raises(ValueError, match="'maybe' is none of 'yes', 'no'"):
        fit.sensitivity("maybe")
    with pytest.raises(ValueError, match="at least 0 and below 1"):
        fit.sensitivity("no", (1,))
    with pytest.raises(TypeError, match="shares must be a sequence"):
        fit.sensitivity("no", 0.1)
