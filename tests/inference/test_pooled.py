"""Pooled limits of one share behind several collections: coverage by enumeration, ties, widths."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binom

from warner import RandomizedResponse, Tally, estimate, pool
from warner.inference import normal as pooled
from warner.inference.binomial import Binomial, share_interval
from warner.inference.normal import crossing, pooled_limits

YES = ["yes", "no"]
# Numbers of reports, and base and gain of each collection: alike, unlike, turned around, without noise, three of them.
POOLS: list[tuple[tuple[int, ...], tuple[tuple[float, float], ...]]] = [
    ((12, 9), ((0.02, 0.96), (0.016, 0.968))),
    ((12, 9), ((0.02, 0.96), (0.25, 0.5))),
    ((10, 14), ((0.1, 0.8), (0.8, -0.7))),
    ((20, 3), ((0.0, 1.0), (0.05, 0.9))),
    ((30, 30), ((0.005, 0.3), (0.01, 0.7))),
    ((6, 5, 7), ((0.1, 0.8), (0.25, 0.5), (0.0, 0.9))),
]
every_pool = pytest.mark.parametrize(("sizes", "rates"), POOLS)


def every_count(sizes: tuple[int, ...], rates: tuple[tuple[float, float], ...]) -> Binomial:
    """Return all counts that there can be, a column for each combination."""
    counts = np.array(list(product(*(range(n + 1) for n in sizes))), dtype=float).T
    n, base, gain = (
        np.repeat(np.array(column, dtype=float)[:, np.newaxis], counts.shape[1], axis=1)
        for column in (sizes, *zip(*rates, strict=True))
    )
    return Binomial(counts, n, base, gain)


def law(counted: Binomial, share: float) -> Any:
    return binom.pmf(counted.count, counted.n, counted.base + counted.gain * share).prod(axis=0)


@every_pool
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_exact_pooled_intervals_cover(
    sizes: tuple[int, ...], rates: tuple[tuple[float, float], ...], level: float
) -> None:
    counted, tail = every_count(sizes, rates), (1 - level) / 2
    low, high, _, methods, *_ = pooled_limits(counted, tail)
    assert methods == ("exact",)
    assert (low <= high).all()
    # Coverage falls to its least values just beyond the ends.
    ends = np.concatenate([low - 1e-9, high + 1e-9, np.linspace(0, 1, 21)])
    shares = np.random.default_rng(1).permutation(np.unique(np.clip(ends, 0, 1)))[:300]
    for share in [0.0, 1.0, *shares]:
        chances = law(counted, share)
        assert chances[share < low].sum() <= tail * (1 + 1e-9)
        assert chances[share > high].sum() <= tail * (1 + 1e-9)
    # And they are no wider than they must be: on either side nearly the whole tail is spent somewhere.
    spent = max(law(counted, end)[end < low].sum() for end in np.unique(np.clip(low - 1e-6, 0, 1)))
    assert spent >= 0.97 * tail


@given(st.integers(1, 3000), st.floats(0, 1), st.sampled_from([(0.02, 0.96), (0.25, 0.5), (0.7, -0.4)]))
def test_one_design_has_the_interval_of_clopper_and_pearson(n: int, part: float, rates: tuple[float, float]) -> None:
    # In two halves of one design the sum of both tells everything; weights are equal, and the sum is binomial.
    base, gain = rates
    c = round(n * part)
    halves = (
        np.array([[c // 2], [c - c // 2]], dtype=float),
        np.array([[n // 2 + c % 2], [n - n // 2 - c % 2]], dtype=float),
    )
    if (halves[0] > halves[1]).any() or (halves[1] < 1).any():
        return
    found = pooled_limits(Binomial(*halves, np.full((2, 1), base), np.full((2, 1), gain)), 0.025)
    low, high = share_interval(Binomial(np.array([[c]]), float(n), base, gain), 0.025)
    assert found.methods == ("exact",)
    assert_allclose([found.low[0], found.high[0]], [low[0, 0], high[0, 0]], atol=2 * HALF_REPORT / n / abs(gain))


# Half a report: the never-empty rule moves one collection to a whole count, and several to what is expected.
HALF_REPORT = 0.5


@every_pool
def test_more_reports_never_widen_on_average(sizes: tuple[int, ...], rates: tuple[tuple[float, float], ...]) -> None:
    """Whatever the share, adding a collection makes intervals narrower in expectation, though not in every case."""
    counted = every_count(sizes, rates)
    low, high, *_ = pooled_limits(counted, 0.025)
    for place, (n, (base, gain)) in enumerate(zip(sizes, rates, strict=True)):
        alone = share_interval(Binomial(counted.count[place][:, np.newaxis], float(n), base, gain), 0.025)
        for share in np.linspace(0, 1, 21):
            chances = law(counted, float(share))
            assert chances @ (high - low) <= chances @ (alone[1] - alone[0])[:, 0] + 1e-9


@given(
    st.integers(1, 400),
    st.integers(1, 400),
    st.floats(0.02, 0.98),
    st.tuples(st.sampled_from([2, 9, 50, 1000]), st.sampled_from([3, 20, 60])),
    st.sampled_from([0.025, 0.0005]),
)
def test_more_reports_that_agree_never_widen(
    first: int, second: int, share: float, odds: tuple[int, int], tail: float
) -> None:
    # The reports that are added say what is expected after the first estimate, up to the rounding to whole reports.
    one, two = (RandomizedResponse(2, odds=(odd, 1)) for odd in odds)
    c = round(first * (one.q + (one.p - one.q) * share))
    estimated = min(max((c / first - one.q) / (one.p - one.q), 0), 1)
    more = round(second * (two.q + (two.p - two.q) * estimated))
    alone = share_interval(Binomial(np.array([[c]]), float(first), one.q, one.p - one.q), tail)
    low, high = (end[0, 0] for end in alone)
    counted = Binomial(
        np.array([[c], [more]], dtype=float),
        np.array([[first], [second]], dtype=float),
        np.array([[one.q], [two.q]]),
        np.array([[one.p - one.q], [two.p - two.q]]),
    )
    found = pooled_limits(counted, tail)
    rounding = 1 / (two.p - two.q) / (first + second)  # half a report more or less on either side
    assert found.high[0] - found.low[0] <= high - low + rounding


def test_the_reports_that_once_widened_an_interval() -> None:
    first, second = RandomizedResponse(2, odds=(50, 1)), RandomizedResponse(2, odds=(60, 1))
    alone = estimate(Tally(first, [60, 140])).interval(0)
    both = estimate(pool([Tally(first, [60, 140]), Tally(second, [58, 142])])).interval(0)
    one = estimate(Tally(first, [118, 282])).interval(0)
    width, pooled_width, together = (found.high - found.low for found in (alone, both, one))
    assert pooled_width < 1.01 * together < 0.72 * width
    assert (both.methods, both.approximate) == (("exact",), False)


def test_simultaneous_intervals_of_a_pool_do_not_widen_either() -> None:
    first, second = RandomizedResponse(10, odds=(50, 1)), RandomizedResponse(10, odds=(60, 1))
    counts = np.array([60, 40, 30, 20, 15, 10, 10, 5, 5, 5])
    alone = estimate(Tally(first, counts)).interval(simultaneous=True)
    both = estimate(pool([Tally(first, counts), Tally(second, counts)])).interval(simultaneous=True)
    assert ((both.high - both.low) < 0.8 * (alone.high - alone.low)).all()
    assert not both.approximate


@every_pool
def test_the_interval_holds_the_most_likely_share(
    sizes: tuple[int, ...], rates: tuple[tuple[float, float], ...]
) -> None:
    counted = every_count(sizes, rates)
    low, high, error, *_ = pooled_limits(counted, 0.1)
    share = crossing(counted.upright(), 0.0)
    assert (low <= share + 1e-9).all()
    assert (share <= high + 1e-9).all()
    assert (error > 0).all()
    wide = pooled_limits(counted, 0.01)
    assert (wide.low <= low + 1e-9).all()
    assert (wide.high >= high - 1e-9).all()


def test_the_most_likely_share_is_where_the_likelihood_is_largest() -> None:
    counted = every_count(*POOLS[1])
    share = crossing(counted.upright(), 0.0)
    grid = np.linspace(0, 1, 2001)
    logs = np.array([np.log(np.maximum(law(counted, at), 1e-300)) for at in grid])
    inside = np.abs(share - 0.5) < 0.45  # beyond, the variance is that of half a report
    assert_allclose(share[inside], grid[logs.argmax(axis=0)][inside], atol=6e-4)


# Numbers of reports of every size


def test_exact_and_score_limits_meet_where_one_follows_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    n = np.array([[20_000.0], [15_000.0]])
    base, gain = np.array([[0.25], [0.1]]), np.array([[0.5], [0.8]])
    counted = Binomial(
        np.round(n * (base + gain * np.array([[0.2, 0.5, 0.9]]))), *(np.repeat(x, 3, 1) for x in (n, base, gain))
    )
    exact = pooled_limits(counted, 0.025)
    monkeypatch.setattr(pooled, "MOST_POOLED_VARIANCE", 0.0)
    score = pooled_limits(counted, 0.025)
    assert (exact.methods, score.methods) == (("exact",), ("score",))
    # Half a report on either side, of a standard error of a hundred.
    assert_allclose(exact.low, score.low, atol=0.02 * exact.error.max())
    assert_allclose(exact.high, score.high, atol=0.02 * exact.error.max())


def test_an_end_with_few_reports_is_exact_however_many_there_are() -> None:
    rare = [Tally(RandomizedResponse(YES, odds=(odds, 1)), [3, 10**8]) for odds in (10**9, 10**10)]
    found = estimate(pool(rare)).interval("yes")
    # 6 reports among 2 * 10^8 that are nearly all true: Poisson limits of 6 are 2.20 and 13.06, and noise adds 0.11.
    # One of the designs tells a little more, which breaks ties: of 6 reports, not all are as many as these.
    assert 2.2019 - 0.11 < found.low * 2e8 < 2.2019 + 0.11
    assert 12.5 < found.high * 2e8 < 13.059 - 0.11
    assert found.methods == ("exact",)


def test_hardly_any_expected_reports_leave_everything_open() -> None:
    made = [RandomizedResponse(1000, epsilon=epsilon) for epsilon in (0.1, 0.2)]
    counts = np.array([3, 1] + [0] * 998)
    found = estimate(pool([Tally(one, counts) for one in made])).interval()
    assert (found.low < 0.01).all()
    assert (found.high > 0.99).all()


def test_many_sets_at_once_are_as_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    n = np.repeat([[300.0], [40.0], [900.0]], 30, axis=1)
    base, gain = np.repeat([[0.1], [0.02], [0.3]], 30, axis=1), np.repeat([[0.8], [0.9], [0.4]], 30, axis=1)
    counted = Binomial(np.floor(n * rng.random((3, 30))), n, base, gain)
    together = pooled_limits(counted, 0.01)
    for place in range(30):
        alone = pooled_limits(counted.select(np.arange(30) == place), 0.01)
        assert_allclose([alone.low[0], alone.high[0]], [together.low[place], together.high[place]], atol=1e-9)
    # On a lattice ends are wider by a little, never narrower.
    monkeypatch.setattr(pooled, "LATTICE_CELLS", 10**6)
    every_pair = pooled_limits(counted.select(np.arange(30) < 3), 0.01)
    for ends, sign in ((every_pair.low - together.low[:3], 1), (together.high[:3] - every_pair.high, 1)):
        assert (sign * ends >= -1e-8).all()
        assert (sign * ends <= 0.03 * together.error[:3]).all()


def test_absence_in_two_collections_is_tested_by_fishers_method() -> None:
    # With two p-values, minus the sum of their logarithms has a gamma law of shape 2.
    parts = [
        Tally(RandomizedResponse(["a", "b", "c"], odds=odds), counts)
        for odds, counts in (((3, 1), [50, 30, 25]), ((5, 1), [45, 30, 20]))
    ]
    first, second = (estimate(part).present().p_values for part in parts)
    expected = first * second * (1 - np.log(first * second))
    assert_allclose(estimate(pool(parts)).present().p_values, expected)


@pytest.mark.parametrize(("reports", "method"), [(19_900, "exact"), (20_100, "score")])
def test_ends_are_exact_up_to_a_variance_of_ten_thousand(reports: int, method: str) -> None:
    # At a share near one half each report varies by 1/4: two collections of 19,900 vary by 9,950 together.
    n, base, gain = np.full((2, 1), float(reports)), np.array([[0.25], [0.2]]), np.array([[0.5], [0.6]])
    assert pooled_limits(Binomial(n / 2, n, base, gain), 0.025).methods == (method,)
