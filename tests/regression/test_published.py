"""Published models of two surveys: the maxima of their likelihoods, all kinds of errors, tests and shares."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from cases import DICE
from outside import columns, published
from warner.noncompliance import lie_detector_regression
from warner.regression.profiles import coefficient_limits
from warner.regression.regressions import Regression, regress

COVARIATES = ["cov.asset.index", "cov.married", "cov.age", "cov.education", "cov.female"]


@cache
def nigeria() -> dict[str, np.ndarray]:
    """Return the people of whom everything is known, in the order of the file, in columns with plain names."""
    table = columns("regression/nigeria.csv")
    known = [all(table[name][i] is not None for name in ("rr.q1", *COVARIATES)) for i in range(len(table["rr.q1"]))]
    people = {name.split(".", 1)[1].replace(".", "_"): np.array(table[name])[known] for name in COVARIATES}
    return {name: values.astype(float) for name, values in people.items()} | {
        "answer": np.where(np.array(table["rr.q1"])[known] == 1, "yes", "no")
    }


@cache
def nigeria_fit(**options: Any) -> Regression:
    formula = "answer ~ asset_index + married + I(age / 10) + I((age / 10)**2) + education + female"
    return regress(formula, nigeria(), DICE, **options)


def test_nigeria_is_at_the_maximum_with_all_kinds_of_errors() -> None:
    exact = published()["nigeria_outcome"]["exact"]
    fit = nigeria_fit()
    assert fit.people == 2423
    assert fit.log_likelihood == pytest.approx(exact["log_likelihood"], abs=1e-8)
    np.testing.assert_allclose(fit.coefficients, exact["coef"], atol=1e-5)
    for errors in ("observed", "expected", "opg"):
        np.testing.assert_allclose(nigeria_fit(errors=errors).standard_errors, exact[f"se_{errors}"], atol=1e-5)
    robust = nigeria_fit(errors="robust").standard_errors * np.sqrt(2422 / 2423)
    np.testing.assert_allclose(robust, exact["se_robust_hc0"], atol=1e-5)
    linear = nigeria_fit(model="linear")
    np.testing.assert_allclose(linear.coefficients, exact["linear_hc1"]["coef"], atol=1e-5)
    np.testing.assert_allclose(linear.standard_errors, exact["linear_hc1"]["se"], atol=1e-5)


@pytest.mark.parametrize("link", ["probit", "cloglog", "cauchit"])
def test_nigeria_with_other_links(link: Any) -> None:
    known = published()["nigeria_outcome"][f"run_GLMMRR_{link}"]
    fit = nigeria_fit(link=link, errors="expected")
    # That package stops early, in the fourth digit: the likelihood is not lower here.
    np.testing.assert_allclose(fit.coefficients, known["coef"], atol=2e-4)
    assert fit.log_likelihood >= known["log_likelihood"] - 1e-6
    if "se_expected" in known:
        np.testing.assert_allclose(fit.standard_errors, known["se_expected"], atol=1e-4)


def test_nigeria_mean_share_and_term_tests() -> None:
    known = published()["nigeria_outcome"]
    fit = nigeria_fit()
    mean = fit.predict()
    # Known to eight digits: at coefficients whose seventh digit the gradient still moves.
    assert mean.shares[0, 0] == pytest.approx(known["exact"]["mean_share"], abs=2e-8)
    assert mean.errors[0, 0] == pytest.approx(known["exact"]["mean_share_se_delta"], abs=2e-8)
    assert fit.predict(target="population").errors[0, 0] == pytest.approx(0.01440, abs=1e-5)
    tests = fit.terms()
    # That package leaves its smaller models a little below their maxima.
    excess = known["run_RRreg_lr_tests"]["deltaG2"][1:] - np.array([test.statistic for test in tests.tests])
    assert (excess > -1e-6).all()
    assert (excess < 1e-3).all()
    # A profile end and the test agree: the value at which the loss is that of the test is 0.
    ends, _ = coefficient_limits(fit, interval="profile")
    assert (ends.low < fit.coefficients).all()
    assert (fit.coefficients < ends.high).all()
    assert ((ends.low[1:] > 0) | (ends.high[1:] < 0)).tolist() == [test.p < 0.05 for test in tests.tests]


def test_nigeria_with_weights_clusters_and_strata() -> None:
    exact = published()["nigeria_weights_clusters_strata"]["exact"]
    number = np.arange(1, 2424)
    people = nigeria() | {"w": 1 + (number % 5) / 2, "c": (number - 1) // 20, "s": (number - 1) // 400}
    formula = "answer ~ asset_index + I(age / 10) + female"
    for clusters, strata, name in (
        (None, None, "se_weights_n_over_n_minus_1"),
        ("c", None, "se_clusters_g_over_g_minus_1"),
        ("c", "s", "se_strata_clusters"),
    ):
        fit = regress(formula, people, DICE, weights="w", clusters=clusters, strata=strata)
        np.testing.assert_allclose(fit.coefficients, exact["coef"], atol=1e-5)
        assert fit.log_likelihood == pytest.approx(exact["log_likelihood"], abs=1e-8)
        # What R's survey gives is the plain sandwich; ours with clusters is CR2, a little larger.
        spread = fit.covariance if fit.clustered is None else fit.clustered.sandwich
        np.testing.assert_allclose(np.sqrt(np.diag(spread)), exact[name], atol=1e-5)
        np.testing.assert_allclose(fit.standard_errors, exact[name], rtol=0.05)
        assert set(fit.table()["interval"]) == {"wald"}
        assert {test.test for test in fit.terms().tests} == {"Wald"}


def test_minarets_likelihood_ratios_with_the_published_false_optimum() -> None:
    known = published()["minarets"]["outcome_rr_only"]
    table = columns("regression/minarets.csv")
    asked = [condition in {1, 2} for condition in table["condition"]]
    people = {
        "age": [value for value, kept in zip(table["age.c"], asked, strict=True) if kept],
        "side": [value for value, kept in zip(table["leftRight.c"], asked, strict=True) if kept],
        "sample": [value for value, kept in zip(table["condition"], asked, strict=True) if kept],
        "answer": ["yes" if v == 1 else "no" for v, kept in zip(table["rrt"], asked, strict=True) if kept],
    }
    trait = lie_detector_regression("answer ~ age * side", people, {1: "2/12", 2: "10/12"}, by="sample")
    tests = trait.fit.terms()
    assert tests.names == ("age", "side", "age:side")
    statistics = [test.statistic for test in tests.tests]
    np.testing.assert_allclose(statistics, known["exact"]["deltaG2"][1:4], atol=1e-6)
    # Printed was 15.96, twice the distance to the second of four maxima.
    assert statistics[1] < known["printed"]["deltaG2"][2] - 3
