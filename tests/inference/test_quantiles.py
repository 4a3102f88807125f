"""Intervals of quantiles by the curves of `smooth`: approximate, and narrower than those of the counts."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from warner import Pool, RandomizedResponse, SquareWave, Tally, estimate, grid, smooth, tally
from warner.estimators.smoothing import smoothed_distribution
from warner.inference.intervals import Confidence, limits
from warner.inference.means import check_tau, quantile_index, quantile_places

WAVE = SquareWave(grid(0, 190, 10), epsilon=1)
SHARES = np.exp(-0.5 * ((np.arange(20) - 8) / 3.5) ** 2)
SHARES /= SHARES.sum()


def survey(seed: int, n: int = 5000) -> Any:
    return Tally(WAVE, WAVE.simulate(SHARES, n, rng=np.random.default_rng(seed)))


def test_the_distribution_is_that_of_the_estimate() -> None:
    counted = survey(1)
    distribution, deviation = smoothed_distribution(counted.histograms(None), WAVE)
    assert_allclose(distribution[0], smooth(counted.counts, WAVE).cumsum(), atol=1e-9)
    assert deviation[0, -1] == pytest.approx(0, abs=1e-9)  # everybody is known to be below the last
    assert (deviation[0, 4:12] > 0).all()


@pytest.mark.long
def test_limits_of_thirty_surveys_hold_and_are_about_as_wide_as_these_vary() -> None:
    # The deviation of 30 estimates has an error of 1/sqrt(60) = 13 %. Curves are drawn together, so that they vary less
    # than their deviation, which is to cover their bias as well: between a half and once as much, with four errors.
    parts = [smoothed_distribution(survey(seed).histograms(None), WAVE) for seed in range(30)]
    runs = np.array([distribution[0] for distribution, _ in parts])
    told = np.mean([deviation[0] for _, deviation in parts], axis=0)
    ratio = (runs.std(axis=0, ddof=1) / told)[5:12]
    assert 0.5 - 4 * 0.065 < ratio.min() < ratio.max() < 1 + 4 * 0.13
    # 23 or fewer of 30 limits at 95 % hold with probability 7e-4, at each of seven points.
    held = [np.abs(distribution[0] - SHARES.cumsum()) <= 1.96 * deviation[0] for distribution, deviation in parts]
    assert (np.sum(held, axis=0)[5:12] > 23).all()


def test_intervals_are_narrower_on_a_fine_grid() -> None:
    result = estimate(survey(5), method="inv")
    found, exact = result.median(method="smooth"), result.median()
    assert found.high - found.low < (exact.high - exact.low) / 2


def test_it_says_everywhere_that_it_is_approximate() -> None:
    found = estimate(survey(3)).quantile(0.25, method="smooth")
    assert found.approximate
    assert "approximate 95 % interval (population), smooth" in found.text()
    assert json.loads(found.to_json())["method"] == "smooth"
    assert json.loads(found.to_json())["approximate"] is True
    assert "Method of the interval: smooth." in found.to_markdown()
    wider = estimate(survey(3)).quantile(0.25, method="smooth", level=0.999)
    assert wider.low <= found.low <= found.value <= found.high <= wider.high


def test_groups_are_fitted_each_and_values_are_units() -> None:
    both = Tally(
        WAVE, [survey(1).counts, 0 * survey(1).counts, survey(2).counts], by=("g",), groups=(("a",), ("b",), ("c",))
    )
    found = estimate(both).median(method="smooth")
    alone = [estimate(survey(seed)).median(method="smooth") for seed in (1, 2)]
    assert_allclose(found.value[[0, 2]], [one.value for one in alone])
    assert np.isnan(found.low[1])
    stretched = estimate(survey(1)).median([3 * x + 1 for x in range(20)], method="smooth")
    assert stretched.high == 3 * (alone[0].high / 10) + 1


def test_what_cannot_be_is_refused() -> None:
    result = estimate(survey(1))
    with pytest.raises(ValueError, match='method must be "smooth"'):
        result.median(method="mle")
    with pytest.raises(ValueError, match=r"one number between 0 and 1.* got \[0\.1, 0\.9\]"):
        result.quantile([0.1, 0.9])  # type: ignore[arg-type]
    for options in ({"anytime": True}, {"target": "realised"}):
        with pytest.raises(ValueError, match="one look at the population"):
            result.median(method="smooth", **options)
    with pytest.raises(ValueError, match="numbers that rise"):
        result.median([0] * 20, method="smooth")
    pool = Pool((survey(1), Tally(RandomizedResponse(WAVE.domain, odds=(9, 1)), np.full(20, 10))))
    with pytest.raises(ValueError, match="for one collection"):
        estimate(pool).median(method="smooth")


def test_numbers_in_another_order_than_the_answers_make_no_difference_and_need_no_matrix() -> None:
    k, rng = 4000, np.random.default_rng(1)
    design = RandomizedResponse(k, epsilon=4)
    shares = np.arange(k, 0, -1.0) ** 3
    counts = design.simulate(shares / shares.sum(), 10**6, rng=rng)
    place = rng.permutation(k)
    rising, other = (estimate(Tally(design, c), method="inv") for c in (counts, counts[place]))
    tracemalloc.start()
    found = other.quantile(0.3, values=(place // 2).tolist())  # two answers for each number
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 100 * counts.nbytes  # all sets of answers would be 4,000 times as many numbers
    expected = rising.quantile(0.3, values=[x // 2 for x in range(k)])
    assert (found.value, found.low, found.high) == (expected.value, expected.low, expected.high)
    assert expected.low < expected.high


def test_clusters_are_refused_by_smooth() -> None:
    reports = {"x": WAVE.randomize([0, 50, 100, 150] * 10), "school": np.repeat(np.arange(10), 4)}
    clustered = estimate(tally(reports, WAVE, column="x", clusters="school"))
    assert clustered.median().approximate
    with pytest.raises(ValueError, match="strata and clusters"):
        clustered.median(method="smooth")


@pytest.mark.parametrize("tau", [0, 1, 0.0, 1.0, 1.5, -0.1, True, "0.5", float("nan")])
def test_a_quantile_lies_strictly_between_0_and_1(tau: Any) -> None:
    with pytest.raises(ValueError, match="a quantile must be one number between 0 and 1"):
        check_tau(tau)


def test_an_any_time_quantile_has_half_of_the_level_at_either_end() -> None:
    survey = RandomizedResponse(range(400), odds=(2000, 1))
    counts = np.round(4000 * survey.law.probabilities(np.full((1, 400), 1 / 400))[0]).astype(int)
    result = estimate(Tally(survey, counts))
    shown = result.quantile(0.4, level=0.9, anytime=True)

    def places(level: float) -> tuple[int, int]:
        ends = limits(result.tally, Confidence(level, anytime=True), sets=[list(range(i + 1)) for i in range(survey.k)])
        return quantile_places(ends.low[0], ends.high[0], 0.4)

    assert (shown.low, shown.high) == places(0.95)
    assert places(0.9) != places(0.95) != places(1.9 / 3)  # so that the test can see another level


def test_a_share_that_reaches_the_level_up_to_rounding_reaches_it() -> None:
    x = np.arange(4.0)
    assert quantile_index(np.array([0.5, 0.5, 0, 0]), x, x, 0.5) == 0
    assert quantile_index(np.array([0.7, 0.1, 0.1, 0.1]), x, x, 0.8) == 1  # 0.7 + 0.1 is 0.7999999999999999
    assert quantile_index(np.array([0.2, 0.2, 0.1, 0.1]), x, x, 0.8) == 3  # never reached


@pytest.mark.parametrize(("low", "places"), [([0.1, 0.3, 0.6, 1.0], (1, 2)), ([0.6, 0.7, 0.8, 1.0], (0, 0))])
def test_a_quantile_is_between_the_first_and_last_number_that_it_can_be(low: Any, places: tuple[int, int]) -> None:
    high = np.array([0.3, 0.6, 0.9, 1.0]) if low[0] < 0.5 else np.ones(4)
    assert quantile_places(np.array(low), high, 0.5) == places


def test_the_largest_number_can_be_a_smooth_quantile() -> None:
    design = SquareWave(grid(0, 50, 1), epsilon=4)
    shares = np.full(design.k, 0.1 / (design.k - 1))
    shares[-1] = 0.9
    found = estimate(Tally(design, design.simulate(shares, 20_000, rng=np.random.default_rng(1)))).quantile(
        0.99, method="smooth"
    )
    assert found.high == max(design.domain)
