from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from strategies import surveys
from warner import (
    Channel,
    ChannelOperator,
    RandomizedResponse,
    certificate,
    channel_mle,
    ibu,
    metrics,
    mle,
    simulate,
)
from warner.estimators.likelihood import _extrapolated, _operator, _polished

SURVEY = RandomizedResponse(3, epsilon=1)
REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "reference_values.json").read_text())["cases"]
CHANNELS = [case for case in REFERENCE if case["kind"] == "channel"]


def log_likelihood(shares: Any, counts: Any, design: RandomizedResponse | Channel) -> float:
    return -float(sum(counts)) * float(metrics.negative_log_likelihood(shares, counts, design))


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


# Any channel


def random_channel(rng: np.random.Generator, inputs: int, outputs: int, concentration: float = 0.5) -> Channel:
    return Channel(rng.dirichlet(np.full(outputs, concentration), inputs), inputs, outputs)


@pytest.mark.parametrize("case", CHANNELS, ids=lambda case: case["id"])
def test_channels_match_the_reference(case: dict[str, Any]) -> None:
    matrix, counts, wanted = case["input"]["C_rows_are_inputs"], case["input"]["counts"], case["expected"]
    design = Channel(matrix, len(matrix), len(counts))
    fit = channel_mle(counts, design)
    assert_allclose(fit.shares, wanted["MLE"]["float"], atol=1e-12)
    assert fit.unique == wanted["MLE_unique"]
    assert_allclose(fit.shares @ design.channel(), wanted["fitted_output"]["float"], atol=1e-12)
    assert log_likelihood(fit.shares, counts, design) == pytest.approx(wanted["loglik"]["float"], rel=1e-12)
    assert design.epsilon == pytest.approx(wanted["epsilon"]["float"], rel=1e-15)
    found = certificate(wanted["MLE"]["float"], counts, design)
    assert found.excess == pytest.approx(max(wanted["gradient_g"]["float"]) - 1, abs=1e-13)
    assert ibu(counts, design, gap=0, iterations=20_000).shares == pytest.approx(fit.shares, abs=1e-6)


@given(survey=st.one_of(surveys(most=5), surveys(most=5, inverted=True)))
def test_randomized_response_written_as_a_channel(survey: tuple[list[int], RandomizedResponse]) -> None:
    counts, design = survey
    if abs(design.p - design.q) < 1e-2 or design.odds[0] * design.odds[1] == 0:
        return  # beyond, rounding in the matrix alone moves the shares; without noise some reports are impossible
    fit = channel_mle(counts, design)
    assert certificate(fit.shares, counts, design).excess <= 1e-11
    if fit.unique:
        # A rounding error in g moves a share by that error over the curvature, which rare reports make small.
        rare = min(c for c in counts if c) / sum(counts)
        tolerance = 1e-10 + 1e-15 / (rare * (design.p - design.q) ** 2)
        assert_allclose(fit.shares, mle(counts, design), atol=tolerance)
    assert fit.unique == certificate(fit.shares, counts, design).unique


@pytest.mark.parametrize(("n", "epsilon", "s"), [(10_000, 2, 1.3), (10_000, 0.5, 1.3), (500_000, 0.5, 0.01)])
def test_few_steps_whatever_the_privacy(n: int, epsilon: float, s: float) -> None:
    design = RandomizedResponse(200, epsilon=epsilon)
    counts = simulate.reports_of_population(simulate.zipf(200, s), n, design, rng=np.random.default_rng(1))
    fit = channel_mle(counts, design)
    assert fit.steps <= 30
    assert certificate(fit.shares, counts, design).excess <= 1e-12
    assert_allclose(fit.shares, mle(counts, design), atol=1e-10)
    # IBU started at the answer stays there
    positive = np.maximum(fit.shares, 1e-300)
    still = ibu(counts, Channel(design.channel(), 200, 200), prior=positive, iterations=50, gap=0)
    assert_allclose(still.shares, fit.shares, atol=1e-12)


@given(seed=st.integers(0, 10**6), inputs=st.integers(2, 8), outputs=st.integers(2, 8))
def test_the_gap_bounds_what_any_distribution_could_gain_under_any_channel(
    seed: int, inputs: int, outputs: int
) -> None:
    rng = np.random.default_rng(seed)
    design = random_channel(rng, inputs, outputs, rng.choice([0.2, 1.0, 5.0]))
    counts = rng.multinomial(rng.integers(1, 1000), rng.dirichlet(np.ones(outputs))) * (
        design.channel().max(axis=0) > 0
    )
    if not counts.sum() or design.epsilon == 0:
        return
    shares, other = rng.dirichlet(np.full(inputs, 0.5), 2)
    n = counts.sum()
    fit = channel_mle(counts, design)
    best = log_likelihood(fit.shares, counts, design)
    # The solver's own answer is the best there is, up to rounding, and the bound of 3.1 holds everywhere.
    assert fit.gap <= 1e-9 * n
    for point in (shares, other, (shares + other) / 2):
        bound = certificate(point, counts, design)
        gained = best - log_likelihood(point, counts, design)
        assert -1e-9 * n <= gained <= bound.gap + 1e-9 * n
    matrix = design.channel()
    seen = counts > 0
    ratio = counts[seen] / n / (shares @ matrix[:, seen])
    assert certificate(shares, counts, design).excess == pytest.approx((matrix[:, seen] @ ratio).max() - 1, rel=1e-9)


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


def by_a_conic_solver(matrix: Any, counts: Any) -> Any:
    """Maximise the log-likelihood with an independent library: exponential cones t <= ln(theta C)."""
    clarabel = pytest.importorskip("clarabel", reason="the independent solver is not installed")
    from scipy import sparse

    inputs, outputs = matrix.shape
    observed = np.array(counts) / sum(counts)
    total = np.concatenate([np.ones(inputs), np.zeros(outputs)])[np.newaxis]
    positive = np.hstack([-np.eye(inputs), np.zeros((inputs, outputs))])
    cones = np.zeros((3 * outputs, inputs + outputs))  # (t_j, 1, mu_j) is in the cone y exp(x/y) <= z
    for j in range(outputs):
        cones[3 * j, inputs + j] = -1
        cones[3 * j + 2, :inputs] = -matrix[:, j]
    right = np.concatenate([[1], np.zeros(inputs), np.tile([0.0, 1.0, 0.0], outputs)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    kinds = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(inputs)] + [clarabel.ExponentialConeT()] * outputs
    problem = clarabel.DefaultSolver(
        sparse.csc_matrix((inputs + outputs, inputs + outputs)),
        np.concatenate([np.zeros(inputs), -observed]),
        sparse.csc_matrix(np.vstack([total, positive, cones])),
        right,
        kinds,
        settings,
    )
    return np.array(problem.solve().x)[:inputs]


@pytest.mark.parametrize("seed", range(6))
def test_an_independent_convex_solver_agrees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    design = random_channel(rng, 5, 7)
    counts = rng.multinomial(300, rng.dirichlet(np.full(5, 0.3)) @ design.channel()) + 1
    fit = channel_mle(counts, design)
    other = by_a_conic_solver(design.channel(), counts)
    assert_allclose(fit.shares, other, atol=2e-5)  # a gap of 1e-10 leaves about its square root in the shares
    other = np.maximum(other, 0) / np.maximum(other, 0).sum()
    assert log_likelihood(fit.shares, counts, design) >= log_likelihood(other, counts, design) - 1e-9


def test_maxima_that_are_not_unique_are_told() -> None:
    survey = RandomizedResponse(["drinks", "does not"], truth="3/4")
    finer = survey.coarsened({"drinks": ["beer", "wine"], "does not": ["water"]})
    fit = channel_mle([60, 40], finer)
    assert not fit.unique
    # the fit is that of the groups: (0.60 - 0.25) / 0.5 = 0.70
    assert_allclose([fit.shares[:2].sum(), fit.shares[2]], [0.7, 0.3], atol=1e-12)
    assert not certificate([0.7, 0, 0.3], [60, 40], finer).unique
    assert certificate([0.7, 0, 0.3], [60, 40], finer).excess < 1e-12
    wide = random_channel(np.random.default_rng(3), 6, 3, 5.0)  # more answers than kinds of report
    inside = wide.channel().mean(axis=0)
    fit = channel_mle(1e4 * inside, wide)
    assert not fit.unique
    assert_allclose(fit.shares @ wide.channel(), inside, atol=1e-12)
    # but where one answer alone is left there is no choice: the report 2 comes from the answer 1 above all
    assert channel_mle([0, 9, 0], Channel([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"]] * 1, 2, 3)).unique


def test_polishing_adds_an_answer_that_is_missing_and_drops_one_too_many() -> None:
    rng = np.random.default_rng(4)
    design = random_channel(rng, 6, 9)
    counts = rng.multinomial(500, [0.6, 0.4, 0, 0, 0, 0] @ design.channel()) + 1
    observed, best = counts / counts.sum(), channel_mle(counts, design).shares
    assert 0 < np.count_nonzero(best) < 6
    for answer in range(6):  # one that is missing, or one too many
        active = best > 0
        active[answer] = not active[answer]
        found, _ = _polished(design.channel(), observed, np.maximum(best, 0.01), active)
        assert_allclose(found, best, atol=1e-10)


def test_weighted_counts_of_a_channel() -> None:
    design = random_channel(np.random.default_rng(1), 4, 5, 1.0)
    counts = np.array([30, 20, 10, 25, 15])
    assert_allclose(channel_mle(counts * 0.37, design).shares, channel_mle(counts, design).shares, atol=1e-10)


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
    operator = _operator(RandomizedResponse(50, epsilon=0.3))
    counts = np.full(50, 1000)
    counts[7] = 1100
    fit = _extrapolated(counts / counts.sum(), float(counts.sum()), operator, 1e-6, 3000)
    assert_allclose(fit.shares, mle(counts, RandomizedResponse(50, epsilon=0.3)), atol=1e-3)
    assert fit.gap <= 1e-6


def test_channel_mle_takes_one_histogram_of_possible_reports() -> None:
    design = Channel([["1/2", "1/2"], ["1/4", "3/4"]], 2, 2)
    with pytest.raises(ValueError, match=r"one histogram of shape \(2,\), but got shape \(1, 2\)"):
        channel_mle([[1, 2]], design)
    with pytest.raises(ValueError, match="one entry for each of the 2 outputs of the design"):
        channel_mle([1, 2, 3], design)
    with pytest.raises(ValueError, match="iterations and gap must be at least 0"):
        channel_mle([1, 2], design, gap=-1)
    never = ChannelOperator((2, 2), lambda x: np.array([x.sum(), 0]), lambda w: np.array([w[0], w[0]]))
    with pytest.raises(ValueError, match="impossible under it: 1 4 times"):
        channel_mle([3, 4], never)
    with pytest.raises(ValueError, match=r"shares must have the shape of counts, \(2,\), but got \(3,\)"):
        certificate([0.2, 0.3, 0.5], [1, 2], design)
