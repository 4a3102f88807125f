"""Floors of variances in regressions: by hand, the formulas written out, and intervals and tests that agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2, norm
from scipy.stats import t as student

from warner import Channel, RandomizedResponse, explain, regress
from warner.regression.variance_floors import Floor

NOISY = RandomizedResponse(["yes", "no"], truth="9/10")
DIRECT = RandomizedResponse(["yes", "no"], odds=(1, 0))
THREE = RandomizedResponse(["a", "b", "c"], odds=(6, 1))
DESIGNS: list[Any] = [NOISY, DIRECT]
every_design = pytest.mark.parametrize("design", DESIGNS, ids=["noisy", "direct"])
every_model = pytest.mark.parametrize("model", ["linear", "multinomial"])
SAID = "The sample design shows less variance of"


def alike(clusters: int = 5) -> dict[str, Any]:
    """Return identical clusters: 4 of 10 respondents say yes, 2 of 5 in each half."""
    return {
        "y": (["yes", "no", "no", "yes", "no"] * 2) * clusters,
        "c": np.repeat(np.arange(clusters), 10),
        "x": np.tile(np.repeat([0, 1], 5), clusters),
    }


def clustered(design: Any, n: int, clusters: int, spread: float, seed: int = 1) -> dict[str, Any]:
    """Draw people in clusters that differ, half of each with x = 1, with weights."""
    rng = np.random.default_rng(seed)
    cluster = np.arange(n) % clusters
    effect = spread * rng.normal(size=clusters)
    held = (0.4 * rng.normal(size=n) + effect[cluster] > 0).astype(int) + (design.k > 2) * (rng.random(n) < 0.3)
    return {
        "y": np.array(design.law.columns)[design.draw(held, rng.bytes)],
        "c": cluster,
        "x": (np.arange(n) // clusters) % 2,
        "z": rng.normal(size=n),
        "w": rng.uniform(0.5, 2, n),
    }


# By hand


def test_identical_clusters_by_hand() -> None:
    # Residuals of debiased answers, 9/8 - 3/8 and -1/8 - 3/8: of each cluster 10/9 (4 * .75^2 + 6 * .5^2) = 25/6.
    fit = regress("y ~ 1", alike(), NOISY, clusters="c", model="linear")
    assert fit.standard_errors[0] < 1e-12
    table, error = fit.table(), np.sqrt(5 * 25 / 6) / 50
    assert_allclose([table["low"][0], table["high"][0]], 0.375 + norm.ppf([0.025, 0.975]) * error)
    assert_allclose(table["p"][0], 2 * norm.sf(0.375 / error))
    assert_allclose([0.196, 0.554], [table["low"][0], table["high"][0]], atol=5e-4)
    assert f"{SAID} Intercept than respondents within clusters" in " ".join(fit.text().split())
    assert any(note.startswith(SAID) for note in fit.to_dict()["notes"])


@every_design
@every_model
def test_identical_clusters_have_intervals_at_every_entry_point(design: Any, model: str) -> None:
    fit = regress("y ~ x", alike(), design, clusters="c", model=model)
    table = fit.table()
    assert (table["low"] < table["high"]).all()
    assert (table["p"] > 1e-6).all()
    assert (fit.standard_errors < 1e-6).all()
    prediction, margins = fit.predict({"x": [0, 1]}), fit.margins()
    mean = fit.predict(target="population")
    for found in (prediction, mean, margins):
        assert (found.low < found.high).all()
        assert found.notes[-1].startswith(SAID)
    assert_allclose(margins.table()["p"], 1)
    assert fit.terms().tests[0].p == pytest.approx(1)
    assert fit.terms().tests[0].note.startswith(SAID)


@every_model
def test_what_rests_on_one_cluster_still_has_no_standard_error(model: str) -> None:
    people = alike() | {"g": np.where(np.arange(50) < 10, "alone", "others")}
    fit = regress("y ~ g", people, NOISY, clusters="c", model=model)
    table = fit.table()
    assert np.isnan([table["low"][1], table["high"][1], table["p"][1]]).all()
    assert "rest on one cluster alone" in " ".join(fit.text().split())


@every_design
@every_model
def test_strata_that_determine_answers_leave_the_randomization_or_a_simple_sample(design: Any, model: str) -> None:
    people = {"y": ["yes"] * 20 + ["no"] * 20, "s": [0] * 20 + [1] * 20}
    fit = regress("y ~ 1", people, design, strata="s", model=model)
    floor = fit.accuracy(np.eye(1)).floor
    assert floor is not None
    half = fit.table()["high"][0] - fit.coefficients[0]
    in_shares = half * (1.0 if model == "linear" else 0.25)  # the derivative of the share at log-odds of 0
    # Of 40 reports: each varies by .09 / .64 given the true answer. Direct answers count as a simple sample.
    expected = np.sqrt((0.09 / 0.64 if design is NOISY else 0.25) / 40)
    assert_allclose(in_shares, norm.ppf(0.975) * expected, rtol=1e-6)
    # For linear shares under a noisy design the standard errors have this floor already.
    said = any(note.startswith(SAID) for note in fit.notes)
    assert said == (design is DIRECT or model == "multinomial")


def test_a_census_of_direct_answers_has_no_error() -> None:
    people = {"y": ["yes"] * 20 + ["no"] * 20, "s": [0] * 20 + [1] * 20}
    for sample in ({"strata": "s"}, {"clusters": "each"}, {"clusters": "each", "strata": "s"}, {"clusters": "s"}):
        options: dict[str, Any] = {**sample, "sampled": 1.0, "whole": sample.get("clusters") == "s"}
        fit = regress("y ~ 1", people | {"each": range(40)}, DIRECT, model="linear", **options)
        table = fit.table()
        assert_allclose([table["low"][0], table["high"][0]], 0.5, atol=1e-7)


# The formulas written out


@pytest.mark.parametrize("design", [NOISY, THREE], ids=["two", "three"])
def test_the_floor_of_clusters_written_out(design: Any) -> None:
    people = clustered(design, 90, 9, 0.3)
    fit = regress("y ~ x + z", people, design, clusters="c", weights="w", model="linear")
    rows = fit.model_data.observations
    inverse = np.linalg.inv((rows.x.T * rows.weight) @ rows.x)
    z = np.linalg.inv(design.channel())[[design.law.columns.index(report) for report in people["y"]]][:, :-1]
    order = np.lexsort(people["z"].reshape(1, -1))  # rows in another order than people have the same weights
    assert len(order) == len(rows.weight)
    x = np.column_stack([np.ones(90), people["x"], people["z"]])
    residuals = z - x @ fit.coefficients.reshape(z.shape[1], -1).T
    total: Any = 0.0
    for c in range(9):
        inside = people["c"] == c
        w = people["w"][inside]
        away = residuals[inside] - w @ residuals[inside] / w.sum()
        b = inside.sum()
        for i in range(b):
            u = w[i] * np.kron(away[i], x[inside][i])
            total = total + b / (b - 1) * np.outer(u, u)
    bread = np.kron(np.eye(z.shape[1]), inverse)
    floor = fit.accuracy(np.eye(len(bread))).floor
    assert floor is not None
    assert_allclose(floor, np.sqrt(np.diag(bread @ total @ bread)), rtol=1e-8)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_the_floor_of_strata_is_the_variance_of_scores_given_the_true_answers(link: str) -> None:
    people = clustered(NOISY, 60, 3, 0.3)
    fit = regress("y ~ z", people, NOISY, strata="c", weights="w", link=link)
    eta = fit.coefficients @ np.array([np.ones(60), people["z"]])
    share, slope = (1 / (1 + np.exp(-eta)), None) if link == "logit" else (norm.cdf(eta), norm.pdf(eta))
    slope = share * (1 - share) if slope is None else slope
    reported = 0.1 + 0.8 * share
    scores = {"yes": 0.8 * slope / reported, "no": -0.8 * slope / (1 - reported)}
    # Whatever the true answer is, one of two reports has probability .9: the variance is .09 (difference of scores)^2.
    noise = 0.09 * (scores["yes"] - scores["no"]) ** 2
    x = np.column_stack([np.ones(60), people["z"]])
    total = (x.T * (people["w"] ** 2 * noise)) @ x
    bread = np.linalg.inv(fit.likelihood.expansion(fit.finite_coefficients).information)
    floor = fit.accuracy(np.eye(2)).floor
    assert floor is not None
    assert_allclose(floor, np.sqrt(np.diag(bread @ total @ bread)), rtol=1e-6)


def test_direct_answers_leave_no_noise_and_reports_that_cannot_be_listed_add_none() -> None:
    people = clustered(DIRECT, 60, 3, 0.3)
    likelihood = regress("y ~ z", people, DIRECT, strata="c").likelihood
    assert_allclose(likelihood.device_curvature(np.array([0.2, 0.1])), 0, atol=1e-12)


def test_the_effects_of_clusters_do_not_count_where_a_covariate_varies_within_them() -> None:
    # Clusters agree in the answers of both halves, and differ much from each other: .9 or .1 say yes.
    one, other = ["yes"] * 9 + ["no"], ["yes"] + ["no"] * 9
    people = {
        "y": (one * 2 + other * 2) * 4,
        "c": np.repeat(np.arange(8), 20),
        "x": np.tile(np.repeat([0, 1], 10), 8),
    }
    fit = regress("y ~ x", people, DIRECT, clusters="c", model="linear")
    floor = fit.accuracy(np.eye(2)).floor
    assert floor is not None
    # The variance of a difference between halves of 80 people whose answers vary by .09 within clusters.
    assert_allclose(floor[1], np.sqrt(2 * 0.09 / 80 * 20 / 19), rtol=1e-9)


# Tests and intervals


@every_model
def test_joint_tests_use_the_larger_covariances_and_agree_with_single_ones(model: str) -> None:
    people = clustered(NOISY, 200, 10, 0.0, seed=3)
    fit = regress("y ~ x + z", people, NOISY, clusters="c", model=model)
    table, tests = fit.table(), fit.terms()
    assert_allclose([test.p for test in tests.tests], table["p"][1:], rtol=1e-8)
    both = fit.compare(regress("y ~ 1", people, NOISY, clusters="c", model=model)).tests[0]
    raised = fit.raised(np.eye(3)[:, 1:])
    statistic = fit.coefficients[1:] @ np.linalg.solve(raised, fit.coefficients[1:])
    assert both.p >= chi2.sf(statistic, 2) * (1 - 1e-9)
    # The larger covariances exceed both in every direction.
    assert fit.clustered is not None
    assert fit.clustered.floor is not None
    least = fit.clustered.floor.turned(fit.clustered.effect.T).least
    for smaller in (fit.clustered.covariance[1:, 1:], least[1:, 1:]):
        assert np.linalg.eigvalsh(raised - smaller).min() >= -1e-9 * np.trace(raised)


def test_p_values_are_those_at_which_intervals_end_at_zero() -> None:
    people = clustered(NOISY, 200, 10, 0.2, seed=5)
    fit = regress("y ~ x + z", people, NOISY, clusters="c", model="linear")
    for place, p in enumerate(fit.table()["p"].tolist()):
        table = fit.table(level=1 - p)
        assert_allclose(min(abs(table["low"][place]), abs(table["high"][place])), 0, atol=1e-9)


def test_standard_errors_and_degrees_of_freedom_stay_those_of_the_sample_design() -> None:
    fit = regress("y ~ x + z", clustered(NOISY, 200, 10, 0.0, seed=3), NOISY, clusters="c")
    assert fit.clustered is not None
    along = np.eye(3) @ fit.clustered.effect
    between = ((along @ fit.clustered._adjusted.T) ** 2).sum(axis=1)
    assert_allclose(fit.standard_errors, np.sqrt(between))
    assert_allclose(fit.table()["se"], np.sqrt(between))
    assert fit.freedom is not None
    half = fit.table()["high"] - fit.coefficients
    assert (half >= student.ppf(0.975, fit.freedom) * fit.standard_errors * (1 - 1e-9)).all()


@pytest.mark.parametrize("method", ["corrected", "ml"])
def test_explanations_of_identical_clusters_have_intervals(method: Any) -> None:
    direct = Channel([[1, 0], [0, 1]], ["yes", "no"], ["yes", "no"])
    people = alike() | {"outcome": np.tile([1.0, 0, 2, 1, 3, 0, 1, 2, 2, 1], 5)}
    fit = explain("outcome ~ y", people, {"y": direct}, clusters="c", method=method)
    table = fit.table()
    assert (table["high"] - table["low"] > 0.1).all()
    assert any(note.startswith(SAID) for note in fit.notes)


@pytest.mark.long
@every_model
@pytest.mark.parametrize("clusters", [2, 3])
def test_coverage_in_two_and_three_clusters(model: str, clusters: int) -> None:
    # Halves of clusters of 20 with the same share: coverage was .905 and .97, with 22 and 3 of 200 intervals of width
    # zero. In 300 surveys, .95 less 4 binomial standard errors is .90: one false alarm in 30,000 at a coverage of .95.
    rng, covered = np.random.default_rng(7), 0
    cluster, half = np.repeat(np.arange(clusters), 20), np.tile([0, 1], 10 * clusters)
    for _ in range(300):
        held = rng.random(20 * clusters) < 0.4
        reports = np.array(NOISY.law.columns)[NOISY.draw(np.where(held, 0, 1), rng.bytes)]
        table = regress("y ~ x", {"y": reports, "x": half, "c": cluster}, NOISY, clusters="c", model=model).table()
        covered += not table["low"][1] > 0 and not table["high"][1] < 0
        assert table["low"][1] != table["high"][1]  # an estimate at infinity has one limit at most
    assert covered / 300 >= 0.90


def test_covariances_that_are_all_zero_are_known() -> None:
    nothing = np.zeros((2, 2))
    assert_allclose(Floor(nothing, nothing).raised(nothing), nothing)
