"""The corrected score and the joint likelihood (`joint_likelihood`), against brute force and other programs.

It tests explanation/joint_likelihood.py as well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from warner.explanation.corrected_score import Outcomes, solve_corrected_score
from warner.explanation.joint_likelihood import JointLikelihood, maximise_joint_likelihood
from warner.regression.data import Observations
from warner.reports.samples import Sampling

ArrayT = np.ndarray[Any, Any]

FORCED = np.array([[5 / 6, 1 / 6], [1 / 6, 5 / 6]])
THREE = np.array([[0.6, 0.3, 0.1, 0.0], [0.2, 0.5, 0.2, 0.1], [0.1, 0.1, 0.3, 0.5]])
FAMILIES = ("linear", "logit")


def made_up(table: ArrayT, n: int, family: str, seed: int, errors: str = "normal", **options: Any) -> Outcomes:
    """Draw people: a covariate, an answer that depends on it, an outcome that depends on both, and a report."""
    rng = np.random.default_rng(seed)
    k = len(table)
    x = rng.normal(size=n)
    logits = np.outer(np.arange(k)[::-1] * 0.6, x) - np.append(np.full(k - 1, 1.0), 0)[:, None]
    shares = np.exp(logits) / np.exp(logits).sum(axis=0)
    answer = (rng.random(n) > shares.cumsum(axis=0)).sum(axis=0).clip(0, k - 1)
    indicators = np.eye(k)[answer][:, :-1]
    eta = 0.3 + 0.5 * x + indicators @ np.linspace(1, -1, k)[:-1]
    if family == "linear":
        noise = rng.normal(size=n) if errors == "normal" else rng.exponential(size=n) - 1
        outcome = eta + noise
    else:
        outcome = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    report = (rng.random(n)[:, None] > table[answer].cumsum(axis=1)).sum(axis=1).clip(0, table.shape[1] - 1)
    inverse = table.T @ np.linalg.inv(table @ table.T) if table.shape[0] < table.shape[1] else np.linalg.inv(table)
    columns = [np.column_stack([np.ones(n), x, np.tile(np.eye(k)[a, :-1], (n, 1))]) for a in range(k)]
    weight, one = options.pop("weight", np.ones(n)), np.ones(n)
    given = columns[0][:, :2], table[:, report].T, weight, weight**2, one, (), report, report, ()
    rows = Observations(*given, Sampling(**options))
    return Outcomes(outcome, np.array(columns), inverse[report], rows)


def residual(family: str, outcome: float, eta: float) -> float:
    return outcome - (eta if family == "linear" else 1 / (1 + np.exp(-eta)))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_corrected_score_is_solved_and_its_errors_are_the_sandwich(family: Any) -> None:
    rng = np.random.default_rng(1)
    people = made_up(THREE, 300, family, 2, weight=rng.uniform(0.5, 2, 300), weighted=True)
    fit = solve_corrected_score(people, family)
    z: Any = people.indicators
    size = len(fit.coefficients)
    total, bread, meat = np.zeros(size), np.zeros((size, size)), np.zeros((size, size))
    for n in range(people.rows.n):
        score = np.zeros(size)
        for k in range(3):
            x = people.copies[k, n]
            eta = x @ fit.coefficients
            weight = people.rows.weight[n] * z[n, k]
            score += weight * residual(family, people.outcome[n], eta) * x
            mean = 1 / (1 + np.exp(-eta))
            bread += weight * (1 if family == "linear" else mean * (1 - mean)) * np.outer(x, x)
        total += score
        meat += np.outer(score, score)
    assert_allclose(total, 0, atol=1e-9)
    sandwich = np.linalg.inv(bread) @ meat @ np.linalg.inv(bread).T
    assert_allclose(fit.clustered.sandwich, sandwich * 300 / 299, rtol=1e-9)
    # The bias reduction is of the order of 1 / n.
    assert_allclose(fit.covariance, sandwich, rtol=0.1, atol=0.1 * np.abs(sandwich).max())
    assert fit.strength > 3


@pytest.mark.parametrize("family", FAMILIES)
def test_the_joint_likelihood_and_its_derivatives_are_those_of_the_definition(family: Any) -> None:
    rng = np.random.default_rng(3)
    people = made_up(THREE, 60, family, 4, weight=rng.uniform(0.5, 2, 60), weighted=True)
    model = JointLikelihood(people, family)
    size = 4 + 4 + (family == "linear")
    vector = rng.normal(size=size) * 0.4
    shares, gamma, deviation = model.share_coefficients(vector), vector[4:8], model.deviation(vector)
    value = 0.0
    for n in range(people.rows.n):
        logits = np.append(shares @ people.copies[0, n, :2], 0)
        theta = np.exp(logits) / np.exp(logits).sum()
        chance = 0.0
        for k in range(3):
            eta = people.copies[k, n] @ gamma * model.unit
            if family == "linear":
                scale = deviation * model.unit
                law = np.exp(-(((people.outcome[n] - eta) / scale) ** 2) / 2) / scale / np.sqrt(2 * np.pi)
            else:
                law = 1 / (1 + np.exp(-eta if people.outcome[n] else eta))
            chance += people.rows.likelihood[n, k] * theta[k] * law
        value += people.rows.weight[n] * np.log(chance)
    assert_allclose(model.value(vector), value, rtol=1e-12)
    scores, information = model.derivatives(vector)
    score = people.rows.weight @ scores
    assert_allclose(approx_fprime(vector, model.value, 1e-7), score, atol=1e-4)
    numeric = np.array(
        [
            people.rows.weight @ (model.derivatives(vector + step)[0] - model.derivatives(vector - step)[0]) / 2e-5
            for step in 1e-5 * np.eye(size)
        ]
    )
    assert_allclose(-numeric, information, atol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_near_the_joint_maximum_is_likelier(family: Any) -> None:
    people = made_up(THREE, 400, family, 5)
    fit = maximise_joint_likelihood(people, np.full(3, 1 / 3), family)
    assert fit.gap < 1e-9
    assert fit.optima[0].log_likelihood == fit.log_likelihood
    model = JointLikelihood(people, family)
    best = np.concatenate([fit.share_coefficients.ravel(), fit.coefficients / model.unit])
    if fit.deviation is not None:
        best = np.append(best, np.log(fit.deviation / model.unit))
    assert_allclose(model.value(best), fit.log_likelihood, rtol=1e-12)
    rng = np.random.default_rng(6)
    for _ in range(200):
        assert model.value(best + 0.05 * rng.normal(size=len(best))) < fit.log_likelihood


@pytest.mark.parametrize("family", FAMILIES)
def test_direct_answers_give_what_statsmodels_gives(family: Any) -> None:
    n, groups = 300, np.arange(300) // 4
    people = made_up(np.eye(2), n, family, 7)
    columns = np.where(people.rows.likelihood[:, :1] == 1, people.copies[0], people.copies[1])
    reference = (sm.OLS if family == "linear" else sm.Logit)(people.outcome, columns)
    fit = solve_corrected_score(people, family)
    options = {} if family == "linear" else {"disp": 0, "tol": 1e-14}
    robust = reference.fit(cov_type="HC0", **options)
    assert_allclose(fit.coefficients, robust.params, rtol=1e-8)
    assert_allclose(fit.clustered.sandwich, robust.cov_params() * n / (n - 1), rtol=1e-8)
    if family == "linear":
        assert_allclose(fit.covariance, reference.fit(cov_type="HC2").cov_params(), rtol=1e-8)
    plain = reference.fit(**options)
    most_likely = maximise_joint_likelihood(people, np.array([0.5, 0.5]), family)
    assert_allclose(most_likely.coefficients, plain.params, rtol=1e-8)
    # Least squares divides the sum of squares by n - 3, the maximum of the likelihood by n.
    assert_allclose(most_likely.covariance * (n / (n - 3) if family == "linear" else 1), plain.cov_params(), rtol=1e-7)
    clustered = reference.fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}, **options
    ).cov_params()
    people = made_up(np.eye(2), n, family, 7, cluster=groups)
    assert_allclose(solve_corrected_score(people, family).clustered.sandwich, clustered * 75 / 74, rtol=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_spread_between_clusters_within_each_stratum(family: Any) -> None:
    cluster, stratum = np.arange(120) // 2, np.arange(120) // 40
    weight = np.random.default_rng(8).uniform(0.5, 2, 120)
    plain = solve_corrected_score(made_up(FORCED, 120, family, 9, weight=weight, weighted=True), family)
    people = made_up(FORCED, 120, family, 9, weight=weight, cluster=cluster, stratum=stratum, weighted=True)
    fit = solve_corrected_score(people, family)
    assert_allclose(fit.coefficients, plain.coefficients)
    z: Any = people.indicators
    scores, bread = np.zeros((120, 3)), np.zeros((3, 3))
    for n, k in np.ndindex(120, 2):
        x = people.copies[k, n]
        error = residual(family, float(people.outcome[n]), float(x @ fit.coefficients))
        mean = people.outcome[n] - error
        scores[n] += weight[n] * z[n, k] * error * x
        bread += weight[n] * z[n, k] * (1 if family == "linear" else mean * (1 - mean)) * np.outer(x, x)
    sums = scores.reshape(3, 20, 2, 3).sum(axis=2)
    meat = sum(20 * np.cov(part.T) for part in sums)  # np.cov divides by G - 1
    assert_allclose(fit.clustered.sandwich, np.linalg.inv(bread) @ meat @ np.linalg.inv(bread), rtol=1e-8)


def test_few_respondents_have_the_degrees_of_freedom_of_their_leverages() -> None:
    # Direct answers, y ~ 1 + t: the effect is a difference of two means. Its variance by HC2 is s1^2 / n1 + s0^2 / n0,
    # and Satterthwaite's degrees of freedom for equal variances are (1/n1 + 1/n0)^2 / (1/(n1^2 (n1 - 1)) + ...).
    yes = np.arange(15) < 4
    rows = made_up(np.eye(2), 15, "linear", 1).rows
    columns = np.array([np.column_stack([np.ones(15), np.full(15, a)]) for a in (1.0, 0.0)])
    outcome = np.random.default_rng(2).normal(size=15)
    indicators = np.column_stack([yes, ~yes]).astype(float)
    fit = solve_corrected_score(Outcomes(outcome, columns, indicators, replace(rows, likelihood=indicators)), "linear")
    parts = [(outcome[held].var(ddof=1) / held.sum(), held.sum()) for held in (yes, ~yes)]
    assert_allclose(fit.covariance[1, 1], sum(variance for variance, _ in parts))
    freedom = fit.clustered.accuracy(np.eye(2)).freedom
    assert freedom is not None
    assert_allclose(freedom[1], (1 / 4 + 1 / 11) ** 2 / (1 / (4**2 * 3) + 1 / (11**2 * 10)), rtol=1e-9)


@pytest.mark.parametrize(
    ("n", "holders"),
    [(15, 5), pytest.param(20, 6, marks=pytest.mark.long), pytest.param(60, 10, marks=pytest.mark.long)],
)
def test_coverage_with_few_respondents(n: int, holders: int) -> None:
    # Direct answers with unequal variances, where coverage of HC0 with a normal law was .80 to .92. Of 1,000 surveys,
    # .925 less 4 binomial standard errors is .892: one false alarm in 30,000 at a coverage of .925.
    rng, covered = np.random.default_rng(4), 0
    held = np.arange(n) < holders
    rows = replace(made_up(np.eye(2), n, "linear", 1).rows, likelihood=np.column_stack([held, ~held]).astype(float))
    for _ in range(1000):
        x = rng.normal(size=n)
        outcome = x + held + rng.normal(size=n) * np.where(held, 2, 0.7)
        columns = np.array([np.column_stack([np.ones(n), x, np.full(n, a)]) for a in (1.0, 0.0)])
        fit = solve_corrected_score(Outcomes(outcome, columns, rows.likelihood, rows), "linear")
        accuracy = fit.clustered.accuracy(np.eye(3)[2:])
        covered += abs(fit.coefficients[2] - 1) <= accuracy.half_widths(0.95)[0]
    assert covered / 1000 >= 0.892


def test_too_little_information_is_said_and_not_answered() -> None:
    nearly_a_coin = np.array([[0.51, 0.49], [0.49, 0.51]])
    refused = 0
    for seed in range(20):
        try:
            solve_corrected_score(made_up(nearly_a_coin, 40, "linear", seed), "linear")
        except ValueError as error:
            refused += "too little information" in str(error)
    assert refused > 5  # the corrected variance of the trait is as often below zero as above
    separated = made_up(np.eye(2), 40, "logit", 1)
    people = replace(separated, outcome=separated.rows.likelihood[:, 0])
    with pytest.raises(ValueError, match="no finite solution"):
        solve_corrected_score(people, "logit")
    with pytest.raises(ValueError, match="at infinity"):
        maximise_joint_likelihood(people, np.array([0.5, 0.5]), "logit")


def test_without_debiased_indicators_only_a_model_of_the_answers_is_left() -> None:
    people = made_up(FORCED, 50, "linear", 1)
    nothing = replace(people, indicators=None)
    with pytest.raises(ValueError, match='method="ml"'):
        solve_corrected_score(nothing, "linear")


def simulated(samples: int, n: int, family: Any, fit: Any, errors: str = "normal") -> tuple[ArrayT, ArrayT]:
    """Return the estimated effect of the answer, whose truth is 1, and its standard error, sample by sample."""
    pairs = []
    for seed in range(samples):
        result = fit(made_up(FORCED, n, family, 1000 + seed, errors), family)
        pairs.append((result.coefficients[2], np.sqrt(result.covariance[2, 2])))
    effects, errors_ = np.array(pairs).T
    return effects, errors_


def most_likely(people: Outcomes, family: Any) -> Any:
    return maximise_joint_likelihood(people, np.array([0.5, 0.5]), family)


def test_the_corrected_fit_is_right_where_a_normal_likelihood_is_not() -> None:
    # Exponential errors: the corrected fit is off by less than 4 standard errors of its mean (one false alarm in
    # 16,000), while the normal likelihood takes the skewness for the answer.
    effects, _ = simulated(120, 1000, "linear", solve_corrected_score, "skewed")
    assert abs(effects.mean() - 1) < 4 * effects.std() / np.sqrt(len(effects))
    effects, _ = simulated(30, 1000, "linear", most_likely, "skewed")
    assert effects.mean() - 1 > 5 * effects.std() / np.sqrt(len(effects))


@pytest.mark.long
@pytest.mark.parametrize(
    ("family", "fit", "errors"),
    [
        ("linear", solve_corrected_score, "normal"),
        ("linear", solve_corrected_score, "skewed"),
        ("logit", solve_corrected_score, "normal"),
        ("linear", most_likely, "normal"),
        ("logit", most_likely, "normal"),
    ],
)
def test_intervals_cover_and_estimates_are_unbiased(family: Any, fit: Any, errors: str) -> None:
    samples = 2000 if fit is solve_corrected_score else 500
    effects, standard_errors = simulated(samples, 1000, family, fit, errors)
    covered = (np.abs(effects - 1) < 1.959964 * standard_errors).mean()
    margin = 4 * np.sqrt(0.95 * 0.05 / samples)  # four binomial standard errors around .935 to .97
    assert 0.935 - margin < covered < 0.97 + margin, covered
    # The promise is a bias below a tenth of a standard error; the mean itself is known to four of its own.
    assert abs(effects.mean() - 1) < (0.1 + 4 / np.sqrt(samples)) * effects.std(), effects.mean()
