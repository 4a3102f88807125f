"""Regressions in finite populations: those of `estimate`, the formula written out, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import warner
from warner import RandomizedResponse, estimate, regress, tally

YES_NO = RandomizedResponse(["yes", "no"], truth="3/4")
THREE = RandomizedResponse(["a", "b", "c"], odds=(6, 1))
FORCED = warner.surveys.forced_response(truth="3/4", yes="1/6")


def people(design: Any, each: int = 10, schools: int = 12, seed: int = 5) -> dict[str, list[Any]]:
    """Return reports of schools in three regions, of which different parts were sampled."""
    rng = np.random.default_rng(seed)
    school = np.repeat(np.arange(schools), each)
    region = school % 3
    return {
        "answer": [design.domain[place] for place in rng.integers(0, design.k, len(school))],
        "school": school.tolist(),
        "region": region.tolist(),
        "part": np.array([0.2, 0.5, 0.9])[region].tolist(),
        "w": (1 + region / 2).tolist(),
        "v": rng.choice([1.0, 2.0, 3.5], len(school)).tolist(),
        "x": rng.normal(size=len(school)).tolist(),
    }


SAMPLES: list[dict[str, Any]] = [
    {"clusters": "school", "sampled": 0.4},
    {"clusters": "school", "strata": "region", "sampled": "part"},
    {"clusters": "school", "strata": "region", "sampled": "part", "whole": True},
    {"sampled": 0.7},
    {"sampled": 1.0},
    {"strata": "region", "sampled": "part"},
    {"strata": "region", "sampled": "part", "weights": "w"},
    {"strata": "region", "sampled": 0.9, "weights": "v"},
]


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
@pytest.mark.parametrize("design", [YES_NO, THREE, FORCED], ids=["two", "three", "forced"])
def test_an_intercept_has_the_error_of_the_share(sample: dict[str, Any], design: Any) -> None:
    data = people(design)
    fit = regress("answer ~ 1", data, design, model="linear", **sample)
    expected = estimate(tally(data, design, column="answer", **sample), method="inv").table()
    assert_allclose(fit.coefficients, expected["share"][:-1], rtol=1e-9)
    assert_allclose(fit.standard_errors, expected["se"][:-1], rtol=1e-9)
    for target in ("population", "realised"):
        mean = fit.predict(target=target)
        assert_allclose(mean.errors[0], expected["se"][: mean.errors.shape[-1]], rtol=1e-9)
    assert "for a finite population" in " ".join(fit.text().split())


@pytest.mark.parametrize("sample", [*SAMPLES[3:], {"clusters": "school", "sampled": 1.0}], ids=str)
def test_the_mean_share_of_a_population_has_the_error_of_the_share(sample: dict[str, Any]) -> None:
    # The mean of what least squares fits, with an intercept, is that of the debiased answers themselves. Where all
    # clusters were sampled, nothing is bias-reduced.
    data = people(YES_NO)
    expected = estimate(tally(data, YES_NO, column="answer", **sample), method="inv").table()
    found = regress("answer ~ x", data, YES_NO, model="linear", **sample).predict(target="population")
    assert_allclose(found.shares[0, 0], expected["share"][0], rtol=1e-9)
    assert_allclose(found.errors[0, 0], expected["se"][0], rtol=1e-9)


def test_one_pupil_of_a_school_has_the_noise_of_the_device() -> None:
    data = people(YES_NO, each=1, schools=30)
    sample: dict[str, Any] = {"clusters": "school", "sampled": 0.5}
    expected = estimate(tally(data, YES_NO, column="answer", **sample), method="inv").table()["se"][0]
    assert_allclose(regress("answer ~ 1", data, YES_NO, model="linear", **sample).standard_errors[0], expected)
    alone = regress("answer ~ 1", data, YES_NO, model="linear", sampled=0.5)
    assert_allclose(alone.standard_errors[0], expected)


@pytest.mark.parametrize("model", ["linear", "multinomial"])
@pytest.mark.parametrize("sample", [{"clusters": "school"}, {"clusters": "school", "strata": "region"}], ids=str)
def test_of_a_small_part_it_is_the_error_of_an_endless_population(model: str, sample: dict[str, Any]) -> None:
    data = people(YES_NO)
    fit, endless = (
        regress("answer ~ x", data, YES_NO, model=model, weights="v", sampled=part, **sample) for part in (1e-9, None)
    )
    assert_allclose(fit.covariance, endless.covariance, rtol=1e-7)
    assert fit.freedom is not None
    assert endless.freedom is not None
    assert_allclose(fit.freedom, endless.freedom)
    ends = [one.predict({"x": [0.5]}).errors for one in (fit, endless)]
    assert_allclose(ends[0], ends[1], rtol=1e-7)


def test_of_a_small_part_of_people_it_is_the_error_of_an_endless_population() -> None:
    data = people(YES_NO)
    fit, endless = (
        regress("answer ~ x", data, YES_NO, model="linear", weights="v", strata="region", sampled=part)
        for part in (1e-9, None)
    )
    assert_allclose(fit.covariance, endless.covariance, rtol=1e-7)
    assert_allclose(fit.predict().errors, endless.predict().errors, rtol=1e-7)


def test_clusters_by_the_formula_written_out() -> None:
    data = people(YES_NO)
    fit = regress(
        "answer ~ x", data, YES_NO, model="linear", weights="v", clusters="school", strata="region", sampled="part"
    )
    x = np.column_stack([np.ones(120), data["x"]])
    z = np.where(np.array(data["answer"]) == "yes", 1.5, -0.5)
    w = np.array(data["v"])
    u = ((z - x @ fit.coefficients) * w)[:, np.newaxis] * x
    bread = np.linalg.inv((x.T * w) @ x)
    between, within = np.zeros((2, 2)), np.zeros((2, 2))
    for region, part in enumerate((0.2, 0.5, 0.9)):
        schools = range(region, 12, 3)
        sums = np.array([u[np.array(data["school"]) == school].sum(axis=0) for school in schools])
        between += (1 - part) * len(sums) * np.cov(sums.T)
        for school in schools:
            within += part * 10 * np.cov(u[np.array(data["school"]) == school].T, ddof=1)
    assert fit.clustered is not None
    assert_allclose(fit.clustered.sandwich, bread @ (between + within) @ bread, rtol=1e-9)
    # The scatter within clusters is not bias-reduced; the other part is.
    larger = fit.covariance - bread @ within @ bread
    assert (np.diag(larger) > np.diag(bread @ between @ bread)).all()


def test_people_by_the_formula_written_out() -> None:
    data = people(THREE)
    fit = regress("answer ~ x", data, THREE, model="linear", weights="v", strata="region", sampled="part")
    x, w = np.column_stack([np.ones(120), data["x"]]), np.array(data["v"])
    # A report counts as (8/5 - 3/5 ...): odds 6 : 1 of three answers, p = 3/4, q = 1/8, so ([j = k] - q)/(p - q).
    z = (np.array([list(THREE.domain).index(one) for one in data["answer"]])[:, np.newaxis] == [0, 1]) / 0.625 - 0.2
    rest = z - x @ fit.coefficients.reshape(2, 2).T
    u = np.array([np.kron(rest[i], x[i]) * w[i] for i in range(120)])
    total = np.zeros((4, 4))
    for region, part in enumerate((0.2, 0.5, 0.9)):
        inside = np.flatnonzero(np.array(data["region"]) == region)
        total += (1 - part) * len(inside) * np.cov(u[inside].T)
        for i in inside:
            total += part * w[i] ** 2 * np.kron(np.outer(z[i], z[i]) - np.diag(z[i]), np.outer(x[i], x[i]))
    bread = np.kron(np.eye(2), np.linalg.inv((x.T * w) @ x))
    assert_allclose(fit.covariance, bread @ total @ bread, rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampled": 0.5}, "sampled must be left out without clusters, except in the linear model of shares"),
        ({"sampled": 0.5, "strata": "region"}, "sampled must be left out without clusters"),
        ({"sampled": 0.5, "clusters": "school", "whole": True}, "sampled must be left out with whole"),
        ({"sampled": 0.5, "model": "linear", "values": [1, 0]}, "sampled must be left out without clusters"),
        ({"sampled": 1.5, "clusters": "school"}, "above 0 and at most 1, but got 1.5"),
        ({"sampled": [0.5, 0.6], "clusters": "school"}, r"above 0 and at most 1, but got \[0.5, 0.6\]"),
        ({"sampled": 0, "clusters": "school"}, "above 0 and at most 1, but got 0"),
        ({"sampled": "school", "clusters": "school"}, "above 0 and at most 1, but got 0.0"),
        ({"sampled": "gap", "clusters": "school"}, "above 0 and at most 1, but got a missing value"),
        ({"sampled": "part", "clusters": "school"}, "sampled must be the same for all respondents of a stratum"),
        ({"sampled": "v", "strata": "region"}, "at most 1, but got"),
        ({"whole": True, "clusters": "school"}, "whole must be left out without clusters and sampled"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    data = people(YES_NO) | {"gap": [0.5] * 119 + [None]}
    with pytest.raises((TypeError, ValueError), match=message):
        regress("answer ~ x", data, YES_NO, **options)


def test_a_school_with_one_pupil_is_refused_where_its_noise_is_not_known() -> None:
    data = people(YES_NO)
    data["school"][0] = 99
    with pytest.raises(ValueError, match="with clusters of one respondent"):
        regress("answer ~ x", data, YES_NO, clusters="school", sampled=0.5)
    assert regress("answer ~ x", data, YES_NO, clusters="school", sampled=0.5, model="linear").standard_errors[0] > 0


def test_a_number_with_clusters_is_that_of_the_estimate() -> None:
    data = people(THREE)
    sample: dict[str, Any] = {"clusters": "school", "strata": "region", "sampled": "part"}
    fit = regress("answer ~ 1", data, THREE, model="linear", values=[0, 1, 5], **sample)
    expected = estimate(tally(data, THREE, column="answer", **sample), method="inv").mean([0, 1, 5])
    assert_allclose([fit.coefficients[0], fit.standard_errors[0]], [expected.value, expected.se], rtol=1e-9)


@pytest.mark.parametrize(
    ("inside", "sampled", "known"), [([0, 1, 2, 4], 0.4, False), ([0], 0.4, True), ([4], 1.0, True)]
)
def test_clusters_of_a_stratum_that_was_sampled_completely_do_not_count(
    inside: list[int], sampled: float, known: bool
) -> None:
    """Four clusters are a stratum that was sampled completely: with one other cluster, a group lies in one cluster."""
    cluster = np.arange(240) % 8
    data = {
        "y": np.random.default_rng(7).integers(0, 2, 240).tolist(),
        "c": cluster.tolist(),
        "h": (cluster < 4).astype(int).tolist(),
        "f": np.where(cluster < 4, 1.0, sampled).tolist(),
        "g": np.where(np.isin(cluster, inside), "a", "b").tolist(),
    }
    design = RandomizedResponse([0, 1], odds=(9, 1))
    asked: dict[str, Any] = {"strata": "h", "clusters": "c", "sampled": "f"}
    errors = np.array(regress("y ~ g", data, design, model="linear", **asked).table()["se"])
    assert np.isfinite(errors).all() == known
    found = estimate(tally(data, design, column="y", by="g", **asked))
    assert (found.interval(1).methods == ("korn_graubard",)) == known
    assert ("one cluster does not show" in found.compare(1, between=("a", "b")).note.lower()) == (not known)


def test_reports_that_are_all_alike_leave_the_variance_of_the_randomization() -> None:
    """Fifteen reports of "yes" in three clusters show no variance, but each has the noise p(1 - p)/(p - q)^2."""
    data = {"y": ["yes"] * 15, "c": [0, 1, 2] * 5}
    asked: dict[str, Any] = {"model": "linear", "clusters": "c"}
    table = regress("y ~ 1", data, RandomizedResponse(["yes", "no"], odds=(9, 1)), **asked).table()
    half = 1.959964 * np.sqrt(0.9 * 0.1 / 15) / 0.8
    assert_allclose([table["low"][0], table["high"][0]], [1.125 - half, 1.125 + half])
