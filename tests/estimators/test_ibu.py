"""The iterative Bayesian update, plain and extrapolated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from strategies import surveys
from tables import log_likelihood, random_channel
from warner import Channel, ChannelOperator, RandomizedResponse, certificate, channel_mle, ibu, metrics, mle, simulate
from warner.estimators.ibu import _towards, extrapolated

SURVEY = RandomizedResponse(3, epsilon=1)


def update_by_the_channel(shares: Any, counts: Any, design: RandomizedResponse | Channel) -> Any:
    """One step of the paper's general eq. (IBU), with the whole matrix."""
    channel = design.channel()
    observed = np.array(counts) / sum(counts)
    return shares * (channel @ (observed / (shares @ channel)))


@given(survey=surveys(), steps=st.integers(0, 5), data=st.data())
def test_ibu_is_the_papers_update(
    survey: tuple[list[int], RandomizedResponse], steps: int, data: st.DataObject
) -> None:
    counts, design = survey
    if design.odds[1] == 0:
        return  # without noise the general update divides by zero after one step
    prior = np.array(data.draw(st.lists(st.integers(1, 9), min_size=design.k, max_size=design.k)), dtype=float)
    for start in (None, prior):
        shares = np.full(design.k, 1 / design.k) if start is None else start / start.sum()
        for _ in range(steps):
            shares = update_by_the_channel(shares, counts, design)
        fit = ibu(counts, design, prior=start, iterations=steps, gap=0)
        assert fit.steps <= steps  # fewer only if it is exactly at the maximum already
        assert_allclose(fit.shares, shares, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("epsilon", [1, 2, 4])
@pytest.mark.parametrize("s", [0.01, 1.3])
def test_ibu_approaches_mle_and_says_how_near_it_is(epsilon: float, s: float) -> None:
    rng = np.random.default_rng(5)
    design = RandomizedResponse(50, epsilon=epsilon)
    counts = simulate.reports_of_population(simulate.zipf(50, s), 5000, design, rng=rng)
    best = mle(counts, design)
    previous = math.inf
    for gap in (10.0, 1e-2, 1e-4):
        fit = ibu(counts, design, gap=gap)
        assert fit.gap <= gap
        assert fit.gap == fit.history[-1]
        assert fit.history.shape == (fit.steps + 1,)
        assert (fit.history[:-1] > gap).all()
        lost = log_likelihood(best, counts, design) - log_likelihood(fit.shares, counts, design)
        assert -1e-9 <= lost <= fit.gap
        distance = float(metrics.squared_error_sum(fit.shares, best))
        assert distance <= previous
        previous = distance
    assert previous < 1e-3
    assert abs(fit.shares.sum() - 1) < 1e-12


def test_ibu_from_random_priors_ends_at_the_same_point() -> None:
    rng = np.random.default_rng(6)
    counts = [10, 40, 5, 45]
    design = RandomizedResponse(4, odds=(3, 1))
    for _ in range(5):
        fit = ibu(counts, design, prior=rng.dirichlet(np.ones(4)), gap=1e-10)
        assert_allclose(fit.shares, mle(counts, design), atol=1e-6)


def test_a_prior_needs_no_particular_scale() -> None:
    assert_allclose(
        ibu([5, 1, 1], SURVEY, prior=[1e308, 1e308, 1e308]).shares, ibu([5, 1, 1], SURVEY).shares, rtol=1e-12
    )


def test_ibu_started_at_the_answer_stays() -> None:
    counts = [30, 33, 37]
    answer = mle(counts, SURVEY)
    fit = ibu(counts, SURVEY, prior=answer)
    assert fit.steps == 0
    assert_array_equal(fit.shares, answer)


@pytest.mark.parametrize("design", [SURVEY, SURVEY.as_channel()])
def test_a_gap_that_is_not_reached_is_reported_not_raised(design: Any) -> None:
    fit = ibu([50, 30, 0], design, iterations=3, gap=1e-6)
    assert fit.steps == 3
    assert fit.gap > 1e-6
    assert ibu([50, 30, 0], design, iterations=0).steps == 0


def test_ibu_without_noise_and_with_an_inverted_design() -> None:
    assert_allclose(ibu([5, 0, 15], RandomizedResponse(3, odds=(1, 0))).shares, [0.25, 0, 0.75])
    inverted = RandomizedResponse(3, odds=(1, 4))
    assert_allclose(ibu([30, 25, 20], inverted, gap=1e-12).shares, mle([30, 25, 20], inverted), atol=1e-6)


def test_ibu_takes_weights() -> None:
    assert_allclose(ibu([5.0, 10.0, 2.5], SURVEY).shares, ibu([20, 40, 10], SURVEY, gap=4e-6).shares, atol=1e-12)


@given(seed=st.integers(0, 10**6), steps=st.integers(0, 4))
def test_ibu_of_a_channel_is_the_papers_update(seed: int, steps: int) -> None:
    rng = np.random.default_rng(seed)
    design = random_channel(rng, 3, 5, 2.0)
    counts = rng.integers(1, 50, 5)
    prior = rng.dirichlet(np.ones(3)) + 0.01
    shares = prior / prior.sum()
    for _ in range(steps):
        shares = update_by_the_channel(shares, counts, design)
    assert_allclose(ibu(counts, design, prior=prior, iterations=steps, gap=0).shares, shares, rtol=1e-10)


@pytest.mark.parametrize("design", [SURVEY, SURVEY.as_channel(), RandomizedResponse(3, odds=(1, 4))])
def test_a_fit_carries_its_evidence(design: Any) -> None:
    counts = [50, 30, 12]
    for options in ({"iterations": 3}, {"gap": 1e-3}, {"prior": [1, 2, 3], "iterations": 5}):
        fit = ibu(counts, design, **options)
        assert fit.log_likelihood == pytest.approx(log_likelihood(fit.shares, counts, design), rel=1e-12)
        proof = certificate(fit.shares, counts, design)
        assert fit.excess == pytest.approx(proof.excess, abs=1e-12)
        assert fit.gap == pytest.approx(proof.gap, abs=1e-9)
        assert fit.unique == proof.unique


# Extrapolated


def circulant(k: int) -> tuple[ChannelOperator, Any]:
    distance = np.minimum(np.arange(k), k - np.arange(k))
    weights = np.exp(-distance.astype(float))
    weights /= weights.sum()
    transform = np.fft.rfft(weights)

    def spread(shares: Any) -> Any:
        return np.fft.irfft(np.fft.rfft(shares) * transform, k)

    return ChannelOperator((k, k), spread, spread), weights  # symmetric: its own adjoint


def test_an_operator_gives_what_its_matrix_gives() -> None:
    k = 60
    operator, weights = circulant(k)
    matrix = np.array([np.roll(weights, shift) for shift in range(k)])
    design = Channel(matrix, k, k)
    rng = np.random.default_rng(2)
    counts = rng.multinomial(5000, simulate.zipf(k, 1.3) @ matrix)
    exact, free = channel_mle(counts, design), channel_mle(counts, operator, gap=1e-7)
    assert free.gap <= 1e-7
    assert free.gap == min(free.history)
    assert not free.unique  # nothing is known of it
    lost = log_likelihood(exact.shares, counts, design) - log_likelihood(free.shares, counts, design)
    assert -1e-9 <= lost <= free.gap
    assert certificate(free.shares, counts, operator).gap == pytest.approx(free.gap, abs=1e-9)
    assert certificate(exact.shares, counts, operator).excess < 1e-11
    assert_allclose(
        ibu(counts, operator, iterations=5).shares, ibu(counts, design, iterations=5).shares, rtol=1e-9, atol=1e-15
    )
    # ten times as fast as the update that it extrapolates, at least
    assert ibu(counts, operator, iterations=10 * free.steps, gap=1e-7).gap > 1e-7


def test_an_answer_that_was_cut_too_far_comes_back() -> None:
    # Started where the only likely answer has next to nothing, plain updates need a long time to find it.
    operator = RandomizedResponse(50, epsilon=0.3).law.likelihood()
    counts = np.full(50, 1000)
    counts[7] = 1100
    fit = extrapolated(counts / counts.sum(), float(counts.sum()), operator, 1e-6, 3000)
    assert_allclose(fit.shares, mle(counts, RandomizedResponse(50, epsilon=0.3)), atol=1e-3)
    assert fit.gap <= 1e-6


def test_what_is_extrapolated_carries_its_evidence() -> None:
    design = random_channel(np.random.default_rng(5), 8, 10)
    counts = np.random.default_rng(6).integers(1, 60, 10)
    for most in (0, 4, 3000):
        fit = extrapolated(counts / counts.sum(), float(counts.sum()), design.law.likelihood(), 1e-6, most)
        assert fit.log_likelihood == pytest.approx(log_likelihood(fit.shares, counts, design), rel=1e-12)
        proof = certificate(fit.shares, counts, design)
        assert fit.excess == pytest.approx(proof.excess, abs=1e-12)
        assert fit.gap == pytest.approx(proof.gap, abs=1e-9)
        assert not fit.unique  # nothing is known of an operator
    assert fit.gap <= 1e-6


# Bad input


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"prior": [1, 2]}, r"prior must have one entry for each of the 3 answers, but got shape \(2,\)"),
        ({"prior": [1, 0, 2]}, "prior must be positive.*a share of zero stays zero, but got 0"),
        ({"prior": [1, float("nan"), 2]}, "prior must be positive"),
        ({"prior": [1e308, 1e308, -1]}, "but got -1"),
        ({"prior": [1, float("inf"), 2]}, "prior must be positive and finite"),
        ({"iterations": -1}, "iterations and gap must be at least 0"),
        ({"gap": -1}, "iterations and gap must be at least 0"),
        ({"gap": float("nan")}, "iterations and gap must be at least 0"),
    ],
)
def test_bad_options(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        ibu([1, 2, 3], SURVEY, **options)


def test_ibu_takes_one_histogram() -> None:
    with pytest.raises(ValueError, match=r"one histogram of shape \(3,\)"):
        ibu([[1, 2, 3]], SURVEY)
    with pytest.raises(ValueError, match="must not be negative"):
        ibu([1, -2, 3], SURVEY)


def test_a_step_towards_an_answer_goes_to_the_largest_likelihood_on_the_line() -> None:
    design, observed = RandomizedResponse(3, odds=(4, 1)), np.array([50.0, 30.0, 20.0])
    operator, start = design.law.likelihood(), np.array([0.7, 0.3, 0.0])
    found = _towards(2, start, operator.forward(start), observed, operator)
    parts = np.linspace(0, 0.9, 901)[:, np.newaxis]
    tried = (1 - parts) * start + parts * np.array([0.0, 0.0, 1.0])
    values = np.log(tried @ design.channel()) @ observed
    assert np.log(operator.forward(found)) @ observed >= values.max()
    assert_allclose(found, tried[values.argmax()], atol=1e-3)
    assert found[2] > 0.01
