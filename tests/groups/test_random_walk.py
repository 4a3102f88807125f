"""Random walks: the filter and smoother against the whole normal law, and empty weeks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import gammaincc
from scipy.stats import chi2

from cases import COIN
from references import reference
from warner import Tally
from warner.groups.fay_herriot import DirectEstimates, direct_estimates
from warner.groups.random_walk import RandomWalks, ordered_series, smoothed


def whole_law(y: Any, v: Any, distances: Any, step: Any) -> Any:
    """Condition the joint normal law of all weeks on what was observed, with a flat prior for the first level."""
    size = len(y)
    times = np.cumsum(distances)
    walk = step**2 * np.minimum.outer(times, times)  # covariances of the walk from the first week on
    seen = np.isfinite(y)
    noise = walk[np.ix_(seen, seen)] + np.diag(v[seen])
    inverse = np.linalg.inv(noise)
    one = np.ones(seen.sum())
    start_variance = 1 / (one @ inverse @ one)
    start = start_variance * (one @ inverse @ y[seen])
    gain = walk[:, seen] @ inverse
    share = start + gain @ (y[seen] - start)
    rest = np.ones(size) - gain @ one
    covariance = walk - gain @ walk[seen] + start_variance * np.outer(rest, rest)
    residual = y[seen] - start
    restricted = -0.5 * (np.linalg.slogdet(noise)[1] - np.log(start_variance) + residual @ inverse @ residual)
    return restricted, share, np.diag(covariance)


@given(
    st.lists(st.floats(-0.5, 1.5), min_size=3, max_size=9),
    st.lists(st.booleans(), min_size=9, max_size=9),
    st.floats(0.01, 0.5),
    st.integers(1, 3),
)
def test_the_smoother_is_the_conditional_law(shares: Any, empty: Any, step: Any, gap: Any) -> None:
    y = np.array(shares)
    y[np.array(empty[: len(y)])] = np.nan
    if np.isfinite(y).sum() < 2:
        return
    v = np.linspace(0.01, 0.02, len(y))
    distances = np.ones(len(y))
    distances[len(y) // 2] = gap
    expected = [whole_law(y, v, distances, t) for t in (step, 2 * step)]
    column = np.nan_to_num(y)[:, np.newaxis]
    found = smoothed(
        column, v[:, np.newaxis], np.isfinite(y)[:, np.newaxis], distances[:, np.newaxis], np.array([step, 2 * step])
    )
    for place, (_, share, variance) in enumerate(expected):
        assert_allclose(found.share[:, 0, place], share, atol=1e-9)
        assert_allclose(found.variance[:, 0, place], variance, atol=1e-9)
    # The likelihoods differ by a constant.
    assert_allclose(np.diff(found.log_likelihood), expected[1][0] - expected[0][0], atol=1e-7)


def weeks(counts: Any, trials: Any) -> Any:
    counts, trials = np.asarray(counts), np.asarray(trials)
    table = np.stack([counts, trials - counts], axis=1)
    tally = Tally(COIN, table, by=("week",), groups=tuple((i,) for i in range(len(counts))))
    return direct_estimates(tally, [[0]])[0]


def test_eight_weeks_as_the_prototype_has_them() -> None:
    example = reference("groups")["trend"]
    direct = weeks(example["count"], example["trials"])
    pooled = RandomWalks(direct, ordered_series(np.arange(8.0), np.zeros(8, dtype=np.int64))).pooled()
    assert_allclose(pooled.share, example["share"], atol=example["tolerance"])
    assert_allclose(pooled.error, example["se"], atol=example["tolerance"])
    assert_allclose(pooled.spread, example["most_likely_step"], atol=example["tolerance"])


def test_own_weights_are_derivatives() -> None:
    direct = weeks([38, 45, 0, 52, 60], [100, 100, 0, 100, 100])
    series = ordered_series(np.arange(5.0), np.zeros(5, dtype=np.int64))
    noise = direct.sampling_variance(0.4, 0.0)[:, np.newaxis]
    share, seen = direct.share[:, np.newaxis], direct.informative[:, np.newaxis]
    step = np.array([0.1])
    before = smoothed(share, noise, seen, series.distances, step)
    moved = share.copy()
    moved[1] += 1e-6
    after = smoothed(moved, noise, seen, series.distances, step)
    assert_allclose((after.share[1] - before.share[1]) / 1e-6, before.variance[1] / noise[1], rtol=1e-5)


def test_several_series_have_a_start_each_and_one_step() -> None:
    rng = np.random.default_rng(5)
    share, noise = rng.normal(0.4, 0.1, (6, 2)), np.full((6, 2), 0.01)
    distances = np.ones((6, 2))
    seen = np.ones((6, 2), dtype=bool)
    steps = np.array([0.05, 0.2])
    both = smoothed(share, noise, seen, distances, steps)
    alone = [smoothed(share[:, [s]], noise[:, [s]], seen[:, [s]], distances[:, [s]], steps) for s in range(2)]
    assert_allclose(both.log_likelihood, alone[0].log_likelihood + alone[1].log_likelihood)
    assert_allclose(both.share, np.concatenate([one.share for one in alone], axis=1))


def test_groups_are_put_in_order_and_distances_are_steps() -> None:
    days = np.array([59.0, 0.0, 31.0, 90.0, np.nan, 181.0])  # the first of some months
    series = ordered_series(days, np.zeros(6, dtype=np.int64))
    assert series.indices.ravel().tolist() == [1, 2, 0, 3, 5]
    assert series.distances.ravel().tolist() == [0, 1, 1, 1, 3]
    collected = series.collected(np.arange(5.0)[:, np.newaxis], 6)
    assert_allclose(collected, [2, 0, 1, 3, np.nan, 4])


def test_the_interval_of_the_step_agrees_with_its_statistic() -> None:
    direct = weeks([38, 45, 0, 52, 60, 55, 66, 70], [100, 100, 0, 100, 100, 100, 100, 100])
    walks = RandomWalks(direct, ordered_series(np.arange(8.0), np.zeros(8, dtype=np.int64)))
    low, high = walks.limits(0.95)
    best, top = walks.most_likely
    assert 0 < low < best < high
    assert_allclose(walks.likelihood(np.array([low, high])), top - 3.841459 / 2, atol=1e-4)
    assert walks.likelihood_ratio() > 3.841459
    alike = RandomWalks(weeks([40] * 8, [100] * 8), walks.series)
    assert alike.limits(0.95)[0] == 0
    assert alike.likelihood_ratio() == pytest.approx(0, abs=1e-9)


def steps_found(surveys: int, length: int, series: int, rng: Any) -> Any:
    """Return the likelihood ratios of surveys in which nothing changes, and the chance of a step."""
    ratios = np.empty(surveys)
    for survey in range(surveys):
        y = rng.normal(0.4, 0.05, length * series)
        order = ordered_series(np.tile(np.arange(float(length)), series), np.repeat(np.arange(series), length))
        walks = RandomWalks(DirectEstimates.known(y, np.full(y.size, 0.05**2)), order)
        ratios[survey] = walks.likelihood_ratio()
    return ratios, walks.chance_of_a_step()


def test_a_constant_share_seldom_has_a_step() -> None:
    """A step is found in 0.355 of 20,000 surveys: in 300, within four standard errors of 0.0276."""
    ratios, chance = steps_found(300, 8, 1, np.random.default_rng(31))
    assert chance == pytest.approx(gammaincc(0.6125, 0.6125), rel=1e-5)
    assert abs((ratios > 1e-6).mean() - 0.355) < 0.11  # and not 1/2, that of a boundary alone
    assert (chance * chi2.sf(ratios, 1) < 0.05).mean() < 0.05 + 4 * 0.0126


def test_many_series_have_the_chance_of_a_boundary() -> None:
    direct = DirectEstimates.known(np.full(800, 0.4), np.full(800, 0.01))
    series = ordered_series(np.tile(np.arange(2.0), 400), np.repeat(np.arange(400), 2))
    assert 0.48 < RandomWalks(direct, series).chance_of_a_step() < 0.5


@pytest.mark.long
@pytest.mark.parametrize(("length", "series"), [(4, 1), (26, 1), (8, 3)])
def test_the_test_of_a_trend_has_its_size(length: int, series: int) -> None:
    """At 5 % about 4.3 % of 2,000 surveys are called a trend: four standard errors are 1.8 % (6e-5); half is 2.8 %."""
    ratios, chance = steps_found(2000, length, series, np.random.default_rng(32))
    assert abs((chance * chi2.sf(ratios, 1) < 0.05).mean() - 0.043) < 0.018
    assert (chance * chi2.sf(ratios, 1) < 0.05).mean() > (0.5 * chi2.sf(ratios, 1) < 0.05).mean()
