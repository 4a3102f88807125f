"""Few and unequal clusters: CR2 and its degrees of freedom against the textbook's own matrices, and in every result."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, ndtri
from scipy.stats import f as fisher
from scipy.stats import t as student

import warner
from cases import DIRECT
from warner import RandomizedResponse, surveys
from warner.explanation import explanations
from warner.noncompliance.trait_regressions import lie_detector_regression
from warner.regression import regressions
from warner.regression import standard_errors as cluster_robust
from warner.regression.standard_errors import information_by_cluster, of_sums
from warner.reports.samples import Clusters
from warner.results import typeset

WARNER = surveys.warner("3/4")
regress: Any = regressions.regress
explain: Any = explanations.explain


def sample(sizes: list[int], seed: int = 1, design: Any = WARNER, rho: float = 0.1, **columns: Any) -> dict[str, Any]:
    """Draw people of clusters: answers have the marginal log-odds -.4 + .5 x, and are alike within clusters.

    Their latent numbers have the correlation rho. Columns are those of clusters; x is normal if it is not given.
    """
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    people = {name: np.asarray(values)[cluster] for name, values in columns.items()}
    people = {"x": rng.normal(size=len(cluster))} | people
    share = expit(-0.4 + 0.5 * people["x"].astype(float))
    latent = np.sqrt(rho) * rng.normal(size=len(sizes))[cluster] + np.sqrt(1 - rho) * rng.normal(size=len(cluster))
    held = np.where(latent < ndtri(share), 0, 1)
    reports = np.array(design.law.columns)[design.draw(held, rng.bytes)]
    return people | {
        "answer": reports,
        "cluster": cluster,
        "score": held + 0.5 * people["x"] + rng.normal(size=len(held)),
    }


def root(matrix: Any) -> Any:
    """Return the inverse of the symmetric square root."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors / np.sqrt(values)) @ vectors.T


def textbook(x: Any, y: Any, cluster: Any, weight: Any) -> tuple[Any, Any]:
    """Return CR2 and Satterthwaite's degrees of freedom of least squares, by Bell and McCaffrey's large matrices.

    Errors of variance 1/weight are the working model: with X and y times the root of the weight, it is the unit matrix.
    """
    x, y = x * np.sqrt(weight)[:, np.newaxis], y * np.sqrt(weight)
    inverse = np.linalg.inv(x.T @ x)
    hat = x @ inverse @ x.T
    residual = y - hat @ y
    meat, parts = np.zeros((x.shape[1], x.shape[1])), []
    for g in np.unique(cluster):
        own = cluster == g
        adjusted = root(np.eye(own.sum()) - hat[np.ix_(own, own)])
        score = x[own].T @ adjusted @ residual[own]
        meat += np.outer(score, score)
        parts.append((np.eye(len(x)) - hat)[:, own] @ adjusted @ x[own] @ inverse)
    vectors = np.stack(parts)  # (clusters, n, coefficients)
    degrees = []
    for i in range(x.shape[1]):
        gram = vectors[:, :, i] @ vectors[:, :, i].T
        degrees.append(np.trace(gram) ** 2 / (gram**2).sum())
    return inverse @ meat @ inverse, np.array(degrees)


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_and_degrees_of_freedom_are_those_of_the_textbook_on_a_linear_model(weighted: bool) -> None:
    people = sample([40, 5, 9, 3, 12, 7], design=DIRECT, z=[1, 0, 0, 1, 0, 1])
    people["w"] = np.random.default_rng(3).uniform(0.5, 2, len(people["x"])) if weighted else np.ones(76)
    options: Any = {"weights": "w"} if weighted else {}
    fit = regress("answer", people, DIRECT, on=["x", "z"], model="linear", clusters="cluster", **options)
    x = np.column_stack([np.ones(76), people["x"], people["z"]])
    covariance, degrees = textbook(x, (people["answer"] == "yes").astype(float), people["cluster"], people["w"])
    assert_allclose(fit.covariance, covariance, rtol=1e-9, atol=1e-12)
    assert_allclose(fit.freedom, degrees, rtol=1e-9)
    outcome = explain("score", people, {"answer": DIRECT}, on=["x", "z"], clusters="cluster", **options)
    held = np.column_stack([x, people["answer"] == "yes"])
    covariance, degrees = textbook(held, people["score"], people["cluster"], people["w"])
    assert_allclose(outcome.covariance, covariance, rtol=1e-6, atol=1e-9)
    assert_allclose(outcome.freedom, degrees, rtol=1e-5)


def test_two_arms_of_equal_clusters_are_those_of_the_two_sample_t_test() -> None:
    # Means of 3 and 3 clusters: the error is Welch's, and its degrees of freedom under equal variances 2 + 2.
    treated = [1, 1, 1, 0, 0, 0]
    people = sample([20] * 6, design=DIRECT, treated=treated, x=[0] * 6)
    fit = regress("answer", people, DIRECT, on=["treated"], model="linear", clusters="cluster")
    means = np.array([(people["answer"][people["cluster"] == g] == "yes").mean() for g in range(6)])
    between = means[:3].var(ddof=1) / 3 + means[3:].var(ddof=1) / 3
    assert fit.standard_errors[1] == pytest.approx(np.sqrt(between), rel=1e-10)
    assert fit.standard_errors[0] == pytest.approx(np.sqrt(means[3:].var(ddof=1) / 3), rel=1e-10)
    assert_allclose(fit.freedom, [2, 4], rtol=1e-10)


def dense_freedom(robust: Any, contrasts: Any) -> float:
    """Return the degrees of freedom of q contrasts with covariances of all pairs of clusters, by loops over them."""
    stratum, leverage = robust.clusters.stratum, robust.leverage
    number, r = leverage.shape[:2]
    along = robust.effect.T @ contrasts
    values, vectors = np.linalg.eigh(along.T @ along)
    along = along @ vectors / np.sqrt(values)
    unit = np.eye(r)
    # A cluster's score after fitting, v_g - J_g (sum of v), less the mean of its stratum, as a map of all v.
    maps = np.zeros((number, number, along.shape[1], r))
    for g in range(number):
        same = np.flatnonzero(stratum == stratum[g])
        factor = len(same) / (len(same) - 1)
        adjusted = root(unit - factor * (leverage[g] - leverage[same].mean(axis=0)))
        for m in range(number):
            mean = sum((k == m) * unit - leverage[k] for k in same) / len(same)
            maps[g, m] = np.sqrt(factor) * along.T @ adjusted @ ((g == m) * unit - leverage[g] - mean)
    pairs = np.einsum("gmqi,mij,hmpj->ghqp", maps, leverage, maps)
    mean = np.einsum("ggqp->qp", pairs)
    variance = sum(
        np.trace(pairs[g, h]) ** 2 + np.trace(pairs[g, h] @ pairs[g, h]) for g in range(number) for h in range(number)
    )
    return float((np.trace(mean) ** 2 + np.trace(mean @ mean)) / variance)


@pytest.mark.parametrize("strata", [1, 3])
def test_degrees_of_freedom_of_several_contrasts_are_those_of_all_pairs_of_clusters(strata: int) -> None:
    rng = np.random.default_rng(strata)
    cluster = np.repeat(np.arange(12), rng.integers(2, 30, 12))
    x = np.column_stack([np.ones(len(cluster)), rng.normal(size=len(cluster)), cluster % 4 == 0])
    clusters = Clusters(cluster, np.arange(12) % strata)
    information = information_by_cluster(clusters, x, np.ones(len(cluster)))
    assert information is not None
    robust = of_sums(clusters, rng.normal(size=(12, 3)), information, np.linalg.inv(information.sum(axis=0)))
    for contrasts in (np.eye(3)[:, :1], np.eye(3)[:, 2:], np.eye(3)[:, 1:], np.eye(3), rng.normal(size=(3, 2))):
        found = robust.freedom(contrasts)
        assert found == pytest.approx(dense_freedom(robust, contrasts), rel=1e-9)
        assert 1 <= found <= 12 - strata


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_directions_that_an_estimate_leaves_out_are_left_out_in_every_unit(scale: float) -> None:
    rng = np.random.default_rng(5)
    clusters, x = Clusters(np.repeat(np.arange(6), 5), np.zeros(6, dtype=int)), rng.normal(size=(30, 2))
    information = information_by_cluster(clusters, x, np.ones(30))
    known = np.array([0.6, 0.8])
    robust = of_sums(clusters, rng.normal(size=(6, 2)), information, scale * np.outer(known, known))
    assert robust.effect.shape == (2, 1)
    assert robust.covariance[0, 0] == pytest.approx(robust.covariance[0, 1] * 0.6 / 0.8)


def test_equal_clusters_in_strata_have_clusters_less_strata() -> None:
    clusters = Clusters(np.repeat(np.arange(12), 5), np.arange(12) % 3)
    information = information_by_cluster(clusters, np.ones((60, 1)), np.ones(60))
    assert information is not None
    sums = np.random.default_rng(2).normal(size=(12, 1))
    robust = of_sums(clusters, sums, information, np.ones((1, 1)) / 60)
    assert robust.freedom(np.ones((1, 1))) == pytest.approx(9)
    within = sum(4 * sums[part::3].var(ddof=1) for part in range(3)) / 60**2
    assert robust.covariance[0, 0] == pytest.approx(within)
    assert robust.covariance[0, 0] == pytest.approx(robust.sandwich[0, 0])


def test_many_equal_clusters_have_the_plain_sandwich_and_the_normal_law() -> None:
    people = sample([4] * 2000)
    fit = regress("answer", people, WARNER, on=["x"], clusters="cluster")
    assert fit.clustered is not None
    # Leverages are about 1/1000 of two coefficients.
    assert_allclose(fit.standard_errors, np.sqrt(np.diag(fit.clustered.sandwich)), rtol=2e-3)
    assert fit.freedom is not None
    assert fit.freedom.min() > 500
    assert fit.freedom.max() <= 1999
    assert not fit.clustered.sentences(fit.freedom)


def test_names_and_order_of_clusters_and_people_do_not_matter_and_people_may_be_counted() -> None:
    people = sample([60, 20, 30, 25, 15, 40])
    fit = regress("answer", people, WARNER, on=["x"], clusters="cluster")
    order = np.random.default_rng(4).permutation(190)
    names = np.array(["north", "z", "a", "m", "k", "b"])
    shuffled = {name: values[order] for name, values in people.items()} | {"cluster": names[people["cluster"][order]]}
    again = regress("answer", shuffled, WARNER, on=["x"], clusters="cluster")
    assert_allclose(again.covariance, fit.covariance, rtol=1e-7)
    assert_allclose(again.freedom, fit.freedom, rtol=1e-7)
    # Everybody twice, in the same cluster: the same errors, since a cluster is one unit; counted once or twice.
    doubled = {name: np.repeat(values, 2) for name, values in people.items()}
    counted = people | {"n": np.full(190, 2)}
    one = regress("answer", doubled, WARNER, on=["x"], clusters="cluster")
    two = regress("answer", counted, WARNER, on=["x"], clusters="cluster", counts="n")
    for other in (one, two):
        assert_allclose(other.covariance, fit.covariance, rtol=1e-6)
        assert_allclose(other.freedom, fit.freedom, rtol=1e-6)


@pytest.mark.parametrize("mapped", [False, True])
def test_information_of_clusters_adds_up_however_they_are_gone_through(mapped: bool) -> None:
    rng = np.random.default_rng(5)
    for number, n in ((4, 200), (90, 200)):  # many rows of a cluster, and few
        cluster = np.concatenate([np.arange(number), rng.integers(number, size=n - number)])
        x, curvature = rng.normal(size=(n, 3)), rng.uniform(size=(2, 2, n))
        mapping = rng.normal(size=(6, 4)) if mapped else None
        found = information_by_cluster(Clusters(cluster, np.zeros(number, dtype=int)), x, curvature, mapping)
        assert found is not None
        for g in (0, number - 1):
            expected = sum(np.kron(curvature[:, :, i], np.outer(x[i], x[i])) for i in np.flatnonzero(cluster == g))
            expected = expected if mapping is None else mapping.T @ expected @ mapping
            assert_allclose(found[g], expected, rtol=1e-10)


def test_too_many_clusters_and_coefficients_have_the_plain_sandwich_and_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    people = sample([30] * 10)
    fit = regress("answer", people, WARNER, on=["x"], clusters="cluster")
    monkeypatch.setattr(cluster_robust, "MOST_LEVERAGE_NUMBERS", 10)
    large = regress("answer", people, WARNER, on=["x"], clusters="cluster")
    assert fit.clustered is not None
    assert_allclose(large.covariance, fit.clustered.sandwich, rtol=1e-9)
    assert_allclose(large.freedom, [9, 9])
    assert "too many clusters and coefficients" in large.text()
    assert large.margins(target="population").notes
    assert large.clustered is not None
    assert large.clustered.freedom(np.eye(2)[:, 1:]) == 9


# Sentences in all outputs

ROUGH = "With fewer than 4 degrees of freedom, intervals and p-values are rough"
MOST = "of the information on some of the coefficients"


def flat(text: str) -> str:
    """Return a text without its line breaks."""
    return " ".join(text.split())


def test_what_few_clusters_mean_is_said_in_the_same_words_everywhere() -> None:
    people = sample([400] + [30] * 7, treated=[1, 1, 1, 1, 0, 0, 0, 0])
    data = people | {"trait": people["answer"]}
    fit = regress("answer", people, WARNER, on=["x", "treated"], clusters="cluster")
    results = {
        "fit": fit,
        "prediction": fit.predict({"x": [0], "treated": [1]}),
        "mean": fit.predict(target="population"),
        "margins": fit.margins(),
        "sensitivity": fit.sensitivity("no", (0, 0.1)),
        "explanation": explain("score", data, {"trait": WARNER}, on=["x", "treated"], clusters="cluster"),
    }
    for name, result in results.items():
        text, record = flat(result.text()), json.loads(result.to_json())
        notes = " ".join(record["notes"])
        for words in ("Clusters are few or unequal: standard errors are bias-reduced (CR2)", ROUGH, MOST):
            for told in (text, notes, " ".join(typeset(result).notes)):
                assert words.lower() in told.lower(), name
        if name == "sensitivity":
            continue
        rows = next(record[key] for key in ("coefficients", "shares", "effects") if isinstance(record.get(key), list))
        freedom = np.array([row["freedom"] for row in rows])
        assert_allclose(freedom, result.table()["freedom"])
        assert f"with {freedom.min():.1f} to {freedom.max():.1f} degrees" in text or freedom.size <= 2, name
    assert ROUGH in flat(fit._repr_html_())
    tests = fit.terms()
    left = tests.tests[1].denominator
    assert left is not None
    assert f"F with 1 and {left:.1f} degrees of freedom" in tests.text()
    assert MOST in tests.text()
    # One contrast: the square of Student's t.
    assert tests.tests[1].p == pytest.approx(fit.table()["p"][2], rel=1e-6)
    assert left == pytest.approx(fit.freedom[2], rel=1e-6)
    assert tests.to_dict()["tests"][1]["denominator"] == left


def test_what_rests_on_one_cluster_alone_has_no_standard_error() -> None:
    people = sample([50] * 6, pilot=[1, 0, 0, 0, 0, 0])
    fit = regress("answer", people, WARNER, on=["x", "pilot"], clusters="cluster")
    assert np.isnan(fit.standard_errors).tolist() == [False, False, True]
    assert np.isfinite(fit.table()["low"][:2]).all()
    alone = "The estimate of pilot rests on one cluster alone: it has no standard error."
    assert alone in flat(fit.text())
    assert alone in json.loads(fit.to_json())["notes"]
    assert np.isnan(fit.terms().tests[1].p)
    assert np.isfinite(fit.terms().tests[0].p)
    predicted = fit.predict({"x": [0, 0], "pilot": [0, 1]})
    assert np.isnan(predicted.errors[:, 0]).tolist() == [False, True]
    scored = explain("score", people | {"trait": people["answer"]}, {"trait": WARNER}, on=["pilot"], clusters="cluster")
    assert "pilot rests on one cluster alone" in flat(scored.text())
    assert "nan" not in scored.text()
    # Dummies of all clusters: the slope is known within them.
    within = regress("answer ~ x + C(cluster)", people, WARNER, clusters="cluster")
    terms = [name.term for name in within.specification.coefficients]
    known = np.isfinite(within.standard_errors)
    assert known[terms.index("x")]
    assert known.sum() == 1


def test_people_whose_share_is_zero_add_nothing_to_errors_and_degrees_of_freedom() -> None:
    rng = np.random.default_rng(0)
    group, x, cluster = np.repeat(["low", "mid", "high"], 400), rng.normal(size=1200), rng.permutation(1200) % 12
    share = np.select([group == "low", group == "mid"], [0.2, 0.45], 0.55) + 0.05 * np.tanh(x) * (group != "low")
    people = {"answer": np.where(rng.random(1200) < share, "yes", "no"), "g": group, "x": x, "c": cluster}
    fit = regress("answer", people, WARNER, on=["g", "x"], clusters="c")
    without = {name: values[group != "low"] for name, values in people.items()}
    smaller = regress("answer", without, WARNER, on=["g", "x"], clusters="c")
    assert np.isinf(fit.coefficients).tolist() == [False, True, False, False]  # fewer said yes than by chance
    finite = [0, 2, 3]
    assert_allclose(fit.standard_errors[finite], smaller.standard_errors, rtol=1e-4)
    assert_allclose(fit.freedom[finite], smaller.freedom, rtol=1e-4)
    assert fit.notes == smaller.notes
    assert fit.notes[0].startswith("Clusters are few or unequal")


def test_explanations_in_strata_have_clusters_less_strata_at_most() -> None:
    people = sample([30] * 8, county=[0, 0, 0, 0, 1, 1, 1, 1])
    people["trait"] = people["answer"]
    options: Any = {"on": ["x"], "clusters": "cluster", "strata": "county"}
    fit = explain("score", people, {"trait": WARNER}, **options)
    assert fit.freedom is not None
    assert fit.freedom.max() <= 6
    table = fit.table()
    times = (table["high"] - table["estimate"]) / table["se"]
    assert (times >= student.ppf(0.975, 6) - 1e-9).all()


def test_regressions_of_the_trait_with_few_clusters_have_t() -> None:
    rng = np.random.default_rng(8)
    cluster = np.repeat(np.arange(8), 250)
    which = np.tile(["a", "b"], 1000)
    x = rng.normal(size=2000)
    held = rng.random(2000) < expit(0.3 * x + 0.3 * rng.normal(size=8)[cluster])
    plain = rng.random(2000) < np.where(which == "a", 0.2, 0.8)
    affirmed = rng.random(2000) < 0.7
    yes = np.where(held, affirmed, ~plain)
    data = {"answer": np.where(yes, "yes", "no"), "which": which, "x": x, "place": cluster}
    fit = lie_detector_regression("answer", data, {"a": "0.2", "b": "0.8"}, by="which", on=["x"], clusters="place")
    table, freedom = fit.table(), fit.freedom
    assert freedom is not None
    assert ((freedom > 3) & (freedom <= 7)).all()
    times = (table["high"] - table["estimate"])[:-1] / table["se"][:-1]
    assert_allclose(times, student.ppf(0.975, freedom[:-1]), rtol=1e-9)
    assert "Clusters are few or unequal" in fit.text()
    assert "Clusters are few or unequal" in json.loads(fit.to_json())["notes"][0]


# Coverage


SETTINGS: dict[str, tuple[list[int], dict[str, Any], dict[str, Any]]] = {
    "ten clusters, one with 800 of 1,250": ([800] + [50] * 9, {}, {}),
    "the same, five of them treated": ([800] + [50] * 9, {"x": [0, 1, 1, 1, 1, 1, 0, 0, 0, 0]}, {}),
    "six of 100, three treated": ([100] * 6, {"x": [1, 1, 1, 0, 0, 0]}, {}),
    "eight of 100, x of the cluster": ([100] * 8, {"x": [-1.3, -0.8, -0.4, -0.1, 0.2, 0.5, 0.9, 1.6]}, {}),
    "twelve of 100, three treated": ([100] * 12, {"x": [1] * 3 + [0] * 9}, {}),
    "eight of 100 in two strata": (
        [100] * 8,
        {"x": [-1.3, -0.8, -0.4, -0.1, 0.2, 0.5, 0.9, 1.6], "part": [0, 1] * 4},
        {"strata": "part"},
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", SETTINGS)
def test_intervals_hold_their_level_with_few_and_unequal_clusters(name: str) -> None:
    """Cover in at least .92 less four standard errors of 300 samples; the plain sandwich with t covers .70 to .90."""
    sizes, columns, options = SETTINGS[name]
    samples, truth = 300, np.array([-0.4, 0.5])
    held = np.zeros((samples, 4))
    for seed in range(samples):
        people = sample(sizes, seed, **columns)
        fit = regress("answer", people, WARNER, on=["x"], clusters="cluster", starts=0, **options)
        table = fit.table()
        predicted = fit.predict({"x": [1.0]})
        effect = fit.predict()
        share = expit(-0.4 + 0.5 * people["x"].astype(float)).mean()
        held[seed, :2] = (table["low"] <= truth) & (truth <= table["high"])
        held[seed, 2] = predicted.low[0, 0] <= expit(0.1) <= predicted.high[0, 0]
        held[seed, 3] = effect.low[0, 0] <= share <= effect.high[0, 0]
    tolerance = 4 * np.sqrt(0.92 * 0.08 / samples)
    assert (held.mean(axis=0) > 0.92 - tolerance).all(), held.mean(axis=0)


@pytest.mark.long
def test_a_factor_of_clusters_is_rejected_as_often_as_it_should_be() -> None:
    """Three levels of three clusters each: at most .08 and four standard errors; the plain sandwich rejected .15."""
    samples, rejected = 400, 0
    for seed in range(samples):
        people = sample([100] * 9, seed, x=[0] * 9, arm=["a", "b", "c"] * 3)
        fit = regress("answer", people, WARNER, on=["arm"], clusters="cluster", starts=0)
        rejected += fit.terms().p_value < 0.05
    assert rejected / samples < 0.08 + 4 * np.sqrt(0.08 * 0.92 / samples)


def test_the_law_of_f_is_that_of_hotelling_for_equal_clusters() -> None:
    # The mean of two numbers over h equal clusters: T^2 with h - 1 degrees of freedom, exactly.
    rng = np.random.default_rng(9)
    clusters = Clusters(np.arange(10), np.zeros(10, dtype=int))
    information = np.repeat(np.eye(2)[np.newaxis], 10, axis=0)
    robust = of_sums(clusters, rng.normal(size=(10, 2)), information, np.eye(2) / 10)
    eta = robust.freedom(np.eye(2))
    assert eta == pytest.approx(9)
    statistic = 5.0
    assert fisher.sf((eta - 1) * statistic / (eta * 2), 2, eta - 1) == pytest.approx(
        fisher.sf(8 * statistic / 18, 2, 8)
    )


@pytest.mark.parametrize("model", ["multinomial", "linear"])
def test_a_column_far_from_zero_has_the_errors_that_it_has_near_zero(model: str) -> None:
    """Seconds since 1970 of people who were all asked on one day: a slope and its error do not know where 0 is.

    The products of such columns have no digit left that tells one second from the next.
    """
    rng = np.random.default_rng(4)
    seconds = rng.integers(0, 4, 300)
    reports = np.where(rng.random(300) < 0.2 + 0.2 * seconds, "yes", "no")
    school = np.repeat(np.arange(30), 10)
    near, far = (
        regressions.regress(
            "a ~ x", {"a": reports, "x": seconds + start, "g": school}, DIRECT, clusters="g", model=model
        )
        for start in (0, 200_000)
    )
    assert_allclose(far.coefficients[1], near.coefficients[1], rtol=1e-6)
    assert_allclose(far.standard_errors[1], near.standard_errors[1], rtol=1e-3)
    assert near.freedom is not None
    assert far.freedom is not None
    assert_allclose(far.freedom[1], near.freedom[1], rtol=1e-3)


def test_a_contrast_of_nothing_does_not_rest_on_one_cluster() -> None:
    rng = np.random.default_rng(6)
    roots = rng.normal(size=(12, 3, 3))
    information = roots @ roots.swapaxes(1, 2)
    clusters = Clusters(np.arange(12), np.zeros(12, dtype=int))
    robust = of_sums(clusters, rng.normal(size=(12, 3)), information, np.linalg.inv(information.sum(axis=0)))
    assert robust.unknown(np.zeros((2, 3))).tolist() == [False, False]


@pytest.mark.parametrize("formula", ["y ~ 1", "y ~ x", "y ~ x + z"])
def test_equal_answers_have_infinite_estimates_without_standard_errors(formula: str) -> None:
    people = {"y": ["b"] * 40, "c": [place % 8 for place in range(40)], "w": [1.0, 2.0] * 20}
    people |= {"x": [0.0, 1, 2, 3, 4] * 8, "z": ["u"] * 20 + ["v"] * 20}
    for design in (RandomizedResponse(["a", "b"], odds=(1, 0)), RandomizedResponse(["a", "b"], odds=(9, 1))):
        fit = warner.regress(formula, people, design, weights="w", clusters="c")
        assert not np.isfinite(fit.coefficients).any()
        assert not np.isfinite(fit.standard_errors).any()
        assert json.loads(fit.to_json())["clusters"] == 8
        assert "No finite estimate" in " ".join(fit.text().split())
