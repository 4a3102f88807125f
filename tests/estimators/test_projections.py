"""Least squares under any table of probabilities, and projection on the simplex (`projections`)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from cases import FORCED, KUK
from strategies import channels
from tables import exact
from warner import Channel, RandomizedResponse, SubsetSelection, inv, inv_n, inv_p, mle, simulate
from warner.estimators.projections import clipped, nearest_shares, projected, projected_within, variance_of_one_report


def test_estimates_of_a_forced_response_by_hand() -> None:
    # (0.20 - 1/6) / (11/12 - 1/6) = 2/45; with 20 of 200 the line is below zero, (0.10 - 1/6) * 4/3 = -4/45
    for method in (inv, inv_n, inv_p, mle):
        assert_allclose(method([40, 160], FORCED), [2 / 45, 43 / 45], atol=1e-14)
        assert_allclose(method([[40, 160], [20, 180]], FORCED)[0], [2 / 45, 43 / 45], atol=1e-14)
    assert_allclose(inv([20, 180], FORCED), [-4 / 45, 49 / 45], atol=1e-14)
    for method in (inv_n, inv_p, mle):
        assert_allclose(method([20, 180], FORCED), [0, 1], atol=1e-14)


@pytest.mark.parametrize("odds", [(5, 2), (2, 5)])
def test_a_channel_is_undone_as_the_randomized_response_that_it_is(odds: tuple[int, int]) -> None:
    survey = RandomizedResponse(4, odds=odds)
    channel = Channel(exact(survey), 4, 4)
    counts = [[3, 60, 20, 17], [25, 25, 25, 25], [0, 0, 1, 99]]
    unique = counts if odds == (5, 2) else counts[:2]  # with p < q, answers that were never reported are all alike
    for method, rows in ((inv, counts), (inv_n, counts), (inv_p, counts), (mle, unique)):
        assert_allclose(method(rows, channel), method(rows, survey), atol=1e-12)


@given(channels(3, 4, 9), st.lists(st.integers(1, 9), min_size=3, max_size=3))
def test_inv_of_a_channel_undoes_it(design: Channel, weights: list[int]) -> None:
    matrix = design.channel()
    if np.linalg.matrix_rank(matrix) < design.k:
        if design.epsilon > 0:
            with pytest.raises(ValueError, match="linearly independent rows"):
                inv(1.0 * np.any(matrix > 0, axis=0), design)
        return
    if np.linalg.cond(matrix) > 1e4:
        return
    truth = np.array(weights[: design.k]) / sum(weights[: design.k])
    assert_allclose(inv(1000 * truth @ matrix, design), truth, atol=1e-9)
    # and what is expected under one population is unbiased under every other: the estimate is linear
    random = np.random.default_rng(1).dirichlet(np.ones(len(design.outputs))) * (matrix.max(axis=0) > 0)
    assert inv(random, design).sum() == pytest.approx(1, abs=1e-9)


@given(channels(3, 5, 9), st.integers(0, 10**6))
def test_no_other_unbiased_weights_vary_less_at_equal_shares(design: Channel, seed: int) -> None:
    matrix = design.channel()
    possible = matrix.max(axis=0) > 0
    if np.linalg.matrix_rank(matrix) < design.k or np.linalg.cond(matrix) > 1e4:
        return
    # Adding anything that every answer makes zero on average leaves an estimate unbiased.
    null = np.linalg.svd(matrix[:, possible])[2][design.k :]
    if not len(null):
        return
    inverse, expected = design.law.linear.weights(), matrix.mean(axis=0)
    for answer in range(design.k):
        best = inverse[:, answer]
        other = best.copy()
        other[possible] += np.random.default_rng(seed).normal(size=len(null)) @ null
        assert_allclose(matrix @ other, matrix @ best, atol=1e-9)
        assert expected @ best**2 <= expected @ other**2 + 1e-12


@pytest.mark.parametrize("k", [129, 200])
@pytest.mark.parametrize("extra", [0, 30])
def test_large_channels_are_undone_without_singular_values(k: int, extra: int) -> None:
    rng = np.random.default_rng(k)
    matrix = rng.dirichlet(np.full(k + extra, 0.05), k)
    design = Channel(matrix, k, k + extra)
    truth = simulate.zipf(k, 1)
    assert design.law.linear.identifiable().all()
    assert_allclose(inv(1e6 * truth @ design.channel(), design), truth, atol=1e-8)
    # Two rows alike: these two answers are not distinguishable, all others are.
    matrix[1] = matrix[0]
    twins = Channel(matrix, k, k + extra)
    assert_allclose(np.flatnonzero(~twins.law.linear.identifiable()), [0, 1])
    with pytest.raises(ValueError, match=f"among its {k} only {k - 1} are"):
        inv(1e6 * truth @ twins.channel(), twins)


# The variance of one report


@pytest.mark.parametrize(
    "design",
    [
        RandomizedResponse(4, odds=(5, 1)),
        RandomizedResponse(3, odds=(1, 4)),
        SubsetSelection(5, odds=(3, 1), size=2),
        KUK,
        FORCED,
    ],
    ids=lambda design: design.summary(),
)
def test_the_variance_of_one_report_is_that_of_simulated_ones(design: Any) -> None:
    surveys, n = 4000, 50
    counts = simulate.reports_of_population(
        simulate.uniform(design.k), n, design, rng=np.random.default_rng(3), size=surveys
    )
    shares = inv(counts, design, **({} if design.law.exclusive else {"n": np.full(surveys, n)}))
    # A sum of k variances, each within five standard errors, sqrt(2.2/R) relative, if they erred together.
    assert variance_of_one_report(design) == pytest.approx(n * shares.var(axis=0).sum(), rel=5 * np.sqrt(2.2 / surveys))


def test_the_variance_of_one_report_by_hand() -> None:
    # Truth 3/4 among two, both equally common: each share is (x - 1/4) * 2 with x a fair coin, so 2 * 4 * 1/4.
    assert variance_of_one_report(RandomizedResponse(2, odds=(3, 1))) == pytest.approx(2)
    assert variance_of_one_report(RandomizedResponse(2, odds=(3, 1)).as_channel()) == pytest.approx(2)


# Repairing


@given(st.lists(st.integers(-20, 40), min_size=2, max_size=6))
def test_projection_and_clipping_are_those_of_their_definition(parts: list[int]) -> None:
    if sum(parts) == 0 or max(parts) <= 0:
        return
    raw = [Fraction(part, sum(parts)) for part in parts]  # sums to one, with negative entries
    if max(raw) <= 0:
        return
    shares = np.array([[float(share) for share in raw]] * 2)
    positive = [max(share, Fraction(0)) for share in raw]
    assert_allclose(clipped(shares)[1], [float(share / sum(positive)) for share in positive], atol=1e-14)
    for kept in oracle.subsets(len(raw)):
        shift = (sum(raw[i] for i in kept) - 1) / len(kept)
        if all((raw[i] > shift) == (i in kept) for i in range(len(raw))):
            nearest = [float(max(share - shift, Fraction(0))) for share in raw]
    assert_allclose(projected(shares)[1], nearest, atol=1e-13)
    # Nearer than any vertex, and than any mixture with one.
    for vertex in np.eye(len(raw)):
        for part in (1.0, 0.1):
            other = (1 - part) * projected(shares)[0] + part * vertex
            assert ((projected(shares)[0] - shares[0]) ** 2).sum() <= ((other - shares[0]) ** 2).sum() + 1e-12


# Projection on the simplex


@given(
    x=st.lists(st.floats(-3, 3), min_size=1, max_size=6),
    weights=st.lists(st.floats(1e-3, 1e3), min_size=6, max_size=6),
)
def test_the_nearest_distribution_in_a_metric(x: list[float], weights: list[float]) -> None:
    point, metric = np.array(x), np.array(weights[: len(x)])
    shares = projected(point, metric=metric)
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1, abs=1e-14)
    # D (shares - x) is a constant on the positive answers, and no less elsewhere.
    pull = metric * (shares - point)
    level = pull[shares > 0].max()
    scale = 1e-12 * (1 + np.abs(metric * point).max() + metric.max())
    assert pull[shares > 0].min() >= level - scale
    assert (pull >= level - scale).all()


def test_the_nearest_distribution_to_a_point_far_away() -> None:
    assert_array_equal(projected(np.array([1e40, 0.0, -1e40]), metric=np.ones(3)), [1, 0, 0])
    assert_array_equal(projected(np.array([0.2, 0.3, 0.5]), metric=np.array([1.0, 2, 3])), [0.2, 0.3, 0.5])
    assert_array_equal(projected(np.array([[0.5, 0.5], [1e40, 1e40], [3.0, 1.0]])), [[0.5, 0.5], [0.5, 0.5], [1, 0]])


@given(seed=st.integers(0, 10**6), k=st.integers(1, 7))
def test_many_points_are_projected_as_each_alone(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    points, metric = rng.normal(size=(2, 5, k)), rng.uniform(0.1, 10, size=k)
    for options in ({}, {"metric": metric}):
        alone = [[projected(point, **options) for point in row] for row in points]
        assert_allclose(projected(points, **options), alone, atol=1e-15)


@given(seed=st.integers(0, 10**6), k=st.integers(1, 7))
def test_the_nearest_distribution_between_limits(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    repeats, shares = rng.integers(1, 5, size=(1, k)).astype(np.float64), rng.normal(size=(1, k))
    inside = rng.dirichlet(np.ones(k), size=1) / repeats  # some distribution within the limits
    low, high = inside * rng.uniform(size=(1, k)), inside + rng.uniform(size=(1, k))
    nearest = projected_within(shares, low, high, repeats)
    assert np.vecdot(repeats, nearest) == pytest.approx(1, abs=1e-12)
    assert ((low <= nearest) & (nearest <= high)).all()
    # What was added is one constant; more only where the lower limit asks for it, less only where the upper one does.
    added = nearest - shares
    free = (nearest > low + 1e-12) & (nearest < high - 1e-12)
    constant = added[free].mean() if free.any() else np.median(added)
    if free.any():
        assert_allclose(added[free], constant, atol=1e-12)
        assert (added[nearest >= high - 1e-12] <= constant + 1e-12).all()
        assert (added[nearest <= low + 1e-12] >= constant - 1e-12).all()
    # Without limits that bind, it is the projection on the simplex.
    wide = projected_within(shares, np.zeros_like(shares), np.full_like(shares, 9.0), repeats)
    assert_allclose(wide, projected(shares, repeats=repeats), atol=1e-12)


@given(seed=st.integers(0, 10**6), k=st.integers(1, 7))
def test_answers_with_one_share_are_projected_together(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    times, points, metric = rng.integers(1, 5, size=k), rng.normal(size=k), rng.uniform(0.1, 10, size=k)
    together = projected(points, repeats=times.astype(np.float64), metric=metric)
    each = projected(np.repeat(points, times), metric=np.repeat(metric, times))
    assert_allclose(np.repeat(together, times), each, atol=1e-12)


def test_shares_that_sum_to_less_than_one_lose_only_their_negative_parts() -> None:
    shares = np.array([[0.5, 0.2, -0.1], [0.9, 0.3, -0.2]])
    assert_allclose(nearest_shares(shares, complete=False), [[0.5, 0.2, 0], [0.8, 0.2, 0]], atol=1e-15)
