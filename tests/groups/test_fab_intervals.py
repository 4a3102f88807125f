"""FAB limits: exact by enumeration, Clopper and Pearson's without a prior, and nothing from the group itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import beta, binom

from cases import COIN
from groups.test_fay_herriot import direct_of, ones
from references import reference
from warner import Tally
from warner.groups.fay_herriot import direct_estimates, fits, largest_spread
from warner.groups.group_intervals import Prior, fab_limits, from_the_others
from warner.inference.binomial import Binomial


def of_all_counts(n: Any, base: Any, gain: Any, mean: Any, spread: Any, level: Any = 0.95) -> Any:
    counts, one = np.arange(n + 1.0), np.ones(n + 1)
    return fab_limits(Binomial(counts, n * one, base * one, gain * one), Prior(mean * one, spread * one), level)


@pytest.mark.parametrize(("base", "gain"), [(0.25, 0.5), (0.7, -0.4), (0.0, 1.0)])
@pytest.mark.parametrize(("mean", "spread"), [(0.3, 0.05), (0.05, 0.001), (0.9, 0.02), (0.5, 0.2)])
def test_coverage_by_enumeration_is_at_least_the_level(base: Any, gain: Any, mean: Any, spread: Any) -> None:
    """Whatever mean and spread the others suggest, right or wrong, the interval of a group covers."""
    n = 37
    low, high = of_all_counts(n, base, gain, mean, spread)
    shares = np.linspace(0, 1, 201)
    law = binom.pmf(np.arange(n + 1)[:, np.newaxis], n, base + gain * shares)
    inside = (low[:, np.newaxis] <= shares) & (shares <= high[:, np.newaxis])
    assert (law * inside).sum(axis=0).min() >= 0.95 - 1e-9


def test_intervals_are_shorter_near_the_mean_of_the_others() -> None:
    n, base, gain = 100, 0.25, 0.5
    expected = np.arange(n + 1) / n
    ordinary = of_all_counts(n, base, gain, 0.5, np.inf)
    fab = of_all_counts(n, base, gain, 0.5, 0.05)
    law = binom.pmf(np.arange(n + 1), n, 0.5)
    assert law @ (fab[1] - fab[0]) < 0.9 * (law @ (ordinary[1] - ordinary[0]))
    assert expected.size == n + 1


def test_without_a_prior_limits_are_those_of_clopper_and_pearson() -> None:
    n = 60
    low, high = of_all_counts(n, 0.0, 1.0, 0.5, np.inf)
    c = np.arange(n + 1)
    assert_allclose(low[1:], beta.ppf(0.025, c[1:], n - c[1:] + 1), atol=1e-8)
    assert_allclose(high[:-1], beta.ppf(0.975, c[:-1] + 1, n - c[:-1]), atol=1e-8)
    assert (low[0], high[-1]) == (0, 1)


def test_the_reference_limits_of_eight_regions() -> None:
    example = reference("groups")["groups"]
    count, n = np.array(example["count"][:7], float), np.array(example["trials"][:7], float)
    nothing = Prior(np.full(7, 0.5), np.full(7, np.inf))
    low, high = fab_limits(Binomial(count, n, np.full(7, 0.25), np.full(7, 0.5)), nothing, 0.95)
    assert_allclose([low, high], example["clopper_pearson"], atol=1e-5)


def test_large_groups_have_short_intervals() -> None:
    low, high = fab_limits(
        Binomial(np.array([5e5]), np.array([1e6]), np.array([0.25]), np.array([0.5])),
        Prior(np.array([0.4]), np.array([0.05])),
        0.95,
    )
    assert 0.49 < low[0] < 0.5 < high[0] < 0.51
    assert_allclose(high - low, 2 * 1.96 * 0.001, rtol=0.02)  # the standard error is sqrt(0.25 / 10^6) / 0.5


def test_leaving_out_a_group_is_fitting_without_it() -> None:
    direct = direct_of([38, 45, 52, 41, 60, 47, 3], [100] * 6 + [5])
    prior = from_the_others(direct, ones(direct))
    odd = np.arange(7) % 2 == 1
    for group in range(7):
        half = odd if odd[group] else ~odd
        other = direct.select(~half)
        at = other.overall()
        spreads = largest_spread(other, at) * np.linspace(0, 1, 49) ** 2
        rest = direct.select(np.arange(7) != group)
        fit = fits(rest, ones(rest), spreads, at, steps=1)
        weight = np.gradient(spreads) * np.exp(fit.log_likelihood - fit.log_likelihood.max())
        weight /= weight.sum()
        assert_allclose(prior.mean[group], weight @ fit.mean[:, 0], rtol=1e-9)
        assert_allclose(prior.spread[group], weight @ spreads, rtol=1e-9)


def test_nothing_comes_from_the_group_itself() -> None:
    """The promise rests on it: whatever a group reports, what the others suggest of it stays the same, to the bit."""
    counts = np.array([[38, 62], [45, 55], [52, 48], [41, 59], [60, 40]])
    groups = tuple((i,) for i in range(5))

    def prior(table: Any) -> Any:
        return from_the_others(
            direct_estimates(Tally(COIN, table, by=("g",), groups=groups), [[0]])[0], np.ones((5, 1))
        )

    before = prior(counts)
    for group in range(5):
        changed = counts.copy()
        changed[group] = [95, 5]
        after = prior(changed)
        assert_allclose(after.mean[group], before.mean[group], rtol=1e-9)
        assert_allclose(after.spread[group], before.spread[group], rtol=1e-9)
        assert abs(after.mean[(group + 1) % 5] - before.mean[(group + 1) % 5]) > 1e-3
