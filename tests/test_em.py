from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from strategies import surveys
from warner import RandomizedResponse, certificate, ibu, metrics, mle, simulate

SURVEY = RandomizedResponse(3, epsilon=1)


def log_likelihood(shares: Any, counts: Any, design: RandomizedResponse) -> float:
    return -float(sum(counts)) * float(metrics.negative_log_likelihood(shares, counts, design))


def update_by_the_channel(shares: Any, counts: Any, design: RandomizedResponse) -> Any:
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


def test_a_gap_that_is_not_reached_is_reported_not_raised() -> None:
    fit = ibu([50, 30, 0], SURVEY, iterations=3, gap=1e-6)
    assert fit.steps == 3
    assert fit.gap > 1e-6
    assert ibu([50, 30, 0], SURVEY, iterations=0).steps == 0


def test_ibu_without_noise_and_with_an_inverted_design() -> None:
    assert_allclose(ibu([5, 0, 15], RandomizedResponse(3, odds=(1, 0))).shares, [0.25, 0, 0.75])
    inverted = RandomizedResponse(3, odds=(1, 4))
    assert_allclose(ibu([30, 25, 20], inverted, gap=1e-12).shares, mle([30, 25, 20], inverted), atol=1e-6)


def test_ibu_takes_weights() -> None:
    assert_allclose(ibu([5.0, 10.0, 2.5], SURVEY).shares, ibu([20, 40, 10], SURVEY, gap=4e-6).shares, atol=1e-12)


# The certificate


@given(survey=st.one_of(surveys(), surveys(inverted=True)))
def test_mle_is_certified(survey: tuple[list[int], RandomizedResponse]) -> None:
    counts, design = survey
    shares = mle(counts, design)
    found = certificate(shares, counts, design)
    # A share is off by half a unit of its last place. With p < q its reports, q - (q-p) share, can be far fewer than
    # q, and feel that more.
    reported = min((design.q + (design.p - design.q) * shares)[np.array(counts) > 0])
    tolerance = 1e-12 + 2.0**-52 * max(design.p, design.q) / reported
    assert found.excess <= tolerance
    assert found.gap <= tolerance * sum(counts)


@given(survey=st.one_of(surveys(), surveys(inverted=True)), data=st.data())
def test_the_gap_bounds_what_any_distribution_could_gain(
    survey: tuple[list[int], RandomizedResponse], data: st.DataObject
) -> None:
    counts, design = survey
    weights = data.draw(st.lists(st.integers(1, 20), min_size=design.k, max_size=design.k))
    shares = np.array(weights) / sum(weights)
    bound = certificate(shares, counts, design)
    gained = log_likelihood(mle(counts, design), counts, design) - log_likelihood(shares, counts, design)
    assert gained <= bound.gap + 1e-9 * sum(counts)
    exact = max(oracle.growth([Fraction(w, sum(weights)) for w in weights], counts, design))
    assert bound.excess == pytest.approx(float(exact - 1), abs=1e-13, rel=1e-9)
    assert bound.gap == pytest.approx(sum(counts) * math.log(exact), abs=1e-13 * sum(counts), rel=1e-9)


def test_a_sum_a_hair_above_one_does_not_pass_for_a_better_fit() -> None:
    counts = np.array([4, 6, 8]) * 10**13
    nudged = mle(counts, SURVEY) + np.array([3e-10, -3e-10, 0])
    honest = certificate(nudged / nudged.sum(), counts, SURVEY)
    assert honest.gap > 1000
    inflated = certificate(nudged * (1 + 9e-10), counts, SURVEY)
    assert inflated.gap == pytest.approx(honest.gap, rel=1e-3)


def test_certificates_of_a_batch() -> None:
    counts = np.array([[50, 30, 20], [5, 90, 5], [0, 0, 7]])
    shares = mle(counts, SURVEY)
    shares[1] = [0.2, 0.6, 0.2]
    found = certificate(shares, counts, SURVEY)
    one_by_one = [certificate(s, c, SURVEY) for s, c in zip(shares, counts, strict=True)]
    assert_array_equal(found.excess, [one.excess for one in one_by_one])
    assert_array_equal(found.gap, [one.gap for one in one_by_one])
    assert_array_equal(np.asarray(found.excess) < 1e-12, [True, False, True])


def test_ruling_out_what_was_reported_costs_everything() -> None:
    honest = RandomizedResponse(2, odds=(1, 0))
    assert certificate([1, 0], [3, 1], honest).gap == math.inf
    assert certificate([0.75, 0.25], [3, 1], honest).excess == 0
    assert certificate([1, 0], [3, 0], honest).excess == 0


def test_the_one_case_where_the_maximum_is_not_unique() -> None:
    inverted = RandomizedResponse(4, odds=(1, 3))
    assert_array_equal(mle([0, 0, 5, 9], inverted), [0.5, 0.5, 0, 0])
    assert not certificate([0.5, 0.5, 0, 0], [0, 0, 5, 9], inverted).unique
    assert certificate([0.1, 0.9, 0, 0], [0, 0, 5, 9], inverted).excess <= 1e-12  # as likely
    assert certificate([1, 0, 0, 0], [0, 4, 5, 9], inverted).unique
    assert certificate(
        mle([0, 0, 5, 9], RandomizedResponse(4, epsilon=1)), [0, 0, 5, 9], RandomizedResponse(4, epsilon=1)
    ).unique


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


@pytest.mark.parametrize(
    ("shares", "complaint"),
    [
        ([0.5, 0.5], "must have the shape of counts"),
        ([1.2, -0.2, 0], "smallest entry is -0.2"),
        ([0.5, 0.2, 0.2], "a sum is 0.9"),
        ([0.5, float("nan"), 0.5], "must be distributions"),
    ],
)
def test_only_distributions_can_be_certified(shares: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        certificate(shares, [1, 2, 3], SURVEY)
