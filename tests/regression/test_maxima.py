"""The search for the best maximum: ordered answers that nobody seems to hold, and small samples with many maxima."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import warner
from cases import DICE
from warner import RandomizedResponse, regress
from warner.regression.newton import newton_ascent

SURVEY = warner.RandomizedResponse(["low", "mid", "high"], truth="2/3")


def people(seed: int, n: int = 600) -> dict[str, Any]:
    """Draw people of whom three in a hundred answer in the middle."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    latent = rng.logistic(size=n) + 0.5 * x
    answers = np.where(latent < 0, 0, np.where(latent < 0.12, 1, 2))
    return {"answer": np.array(SURVEY.domain)[SURVEY.draw(answers, rng.bytes)], "x": x}


def test_without_covariates_it_is_the_most_likely_distribution() -> None:
    counts = [300, 110, 290]
    data = {"answer": list(SURVEY.domain), "n": counts}
    fit = regress("answer", data, SURVEY, on=[], counts="n", model="ordered")
    shares = warner.mle(counts, SURVEY)
    assert shares[1] == 0
    assert [str(name) for name in fit.specification.coefficients] == ["low | high"]
    assert fit.coefficients[0] == pytest.approx(np.log(shares[0] / shares[2]), abs=1e-7)
    np.testing.assert_allclose(fit.predict().shares[0], shares, atol=1e-8)
    assert fit.specification.empty == ("mid",)
    assert "share of 'mid' is 0 % for everybody" in " ".join(fit.text().split())
    assert fit.to_dict()["empty"] == ["mid"]
    # The two other answers are all that is told, by a part of the people: less than all could say directly.
    assert fit.effective is not None
    assert fit.effective < 700


def test_with_covariates_no_cutpoints_are_better() -> None:
    table = SURVEY.operator().matrix
    assert table is not None
    met = 0
    for seed in range(6):
        data = people(seed)
        fit = regress("answer", data, SURVEY, on=["x"], model="ordered")
        likelihood = table().T[[SURVEY.domain.index(report) for report in data["answer"]]]

        def loss(b: Any, data: Any = data, likelihood: Any = likelihood) -> float:
            below = 1 / (1 + np.exp(-(np.array([b[0], b[0] + np.exp(b[1])]) - b[2] * data["x"][:, np.newaxis])))
            shares = np.diff(np.column_stack([np.zeros(600), below, np.ones(600)]), axis=1)
            return -float(np.log((likelihood * shares).sum(axis=1)).sum())

        best = min(minimize(loss, start).fun for start in ([0.0, -2.0, 0.5], [0.0, -8.0, 0.5], [0.0, 0.0, 0.0]))
        assert fit.log_likelihood is not None
        assert fit.log_likelihood >= -best - 1e-5
        met += fit.specification.empty == ("mid",)
    assert 0 < met < 6


@pytest.mark.parametrize("starts", [-1, 1.5, True])
def test_starts_must_be_a_whole_number(starts: Any) -> None:
    with pytest.raises(ValueError, match="starts must be a whole number, 0 or more"):
        regress("answer", people(1), SURVEY, on=["x"], starts=starts)


@pytest.mark.parametrize("seed", [22, 25])
def test_models_that_are_too_large_for_their_people_still_speak(seed: int) -> None:
    # Few people, four or five answers: many maxima, shares of exactly 0, coefficients at infinity.
    rng = np.random.default_rng(seed)
    k = 5 if seed == 22 else 4
    survey = warner.RandomizedResponse([f"a{i}" for i in range(k)], odds=(3, 1))
    n = 120
    data = {
        "answer": [survey.domain[code] for code in survey.draw(rng.integers(0, k, n), rng.bytes)],
        "x": rng.standard_normal(n),
        "g": rng.choice(["u", "v", "w"], n),
    }
    fit = regress("answer", data, survey, on=["x", "g"])
    assert len(fit.optima) > 1
    assert fit.effective is not None
    assert 0 <= fit.effective <= n
    assert len(fit.infinite) == (0 if fit.infinity is None else fit.infinity.mask.sum())


def small_sample(seed: int) -> tuple[dict[str, Any], list[str]]:
    """Draw 150 people with four normal covariates, who told the truth with probability 3/4."""
    rng = np.random.default_rng(seed)
    x, slopes = rng.normal(size=(150, 4)), 0.7 * rng.normal(size=4)
    truth = rng.random(150) < 1 / (1 + np.exp(0.5 - x @ slopes))
    reports = np.where(rng.random(150) < 0.75, truth, ~truth)
    names = [f"x{i}" for i in range(4)]
    return {"r": np.where(reports, "yes", "no"), **dict(zip(names, x.T, strict=True))}, names


def test_higher_maxima_of_small_samples_are_found_where_a_combination_of_columns_divides_people() -> None:
    # An own search: 60 climbs from coefficients at random, of four sizes. Without starts that are steeper than the best
    # maximum so far, these two fits were 3.9 and 3.8 nats below what it finds.
    design = RandomizedResponse(["yes", "no"], odds=(3, 1))
    for seed in (0, 7):
        sample, names = small_sample(seed)
        fit: Any = regress("r", sample, design, on=names)
        rng = np.random.default_rng(1000 + seed)
        tried = [newton_ascent(fit.likelihood, rng.normal(size=5) * (1, 2, 4, 8)[k % 4]).value for k in range(60)]
        assert fit.log_likelihood > max(tried) - 1e-3


def test_an_estimate_at_infinity_is_not_farther_out_than_it_must_be() -> None:
    # Starts that are steeper than a maximum may end far out, where nothing changes any more; profiles begin nearer.
    data = {"r": ["yes", "no"] * 2, "g": [0, 0, 1, 1], "n": [70, 130, 25, 175]}
    fit = regress("r", data, DICE, on=["g"], counts="n")
    assert np.abs(fit.likelihood.predictors(fit.finite_coefficients)).max() < 60
