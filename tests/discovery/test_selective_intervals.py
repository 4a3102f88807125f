"""Intervals after selection: against outside values, by summation over all counts, and where they are known."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from references import reference
from warner.discovery.discoveries import conditional_tail, selective_intervals
from warner.inference.binomial import at_least, binomial_limits

REFERENCE = reference("open_domains")


def test_limits_are_those_of_the_prototype() -> None:
    for case in REFERENCE["after selection"]:
        given = np.array([case["count"]]), np.array([case["needed"]]), case["n"], case["p"], case["q"]
        limits = selective_intervals(*given)
        wanted = [case["low"], case["median-unbiased"], case["high"]]
        assert_allclose(np.concatenate([limits.low, limits.value, limits.high]), wanted, rtol=1e-9, atol=1e-9)


def test_without_selection_they_are_clopper_and_pearsons() -> None:
    counts, n, p, q = np.arange(80, 230, 7), 300, 0.6, 1 / 3
    limits = selective_intervals(counts, np.zeros_like(counts), n, p, q)
    low, high = (np.clip((limit - q) / (p - q), 0, 1) for limit in binomial_limits(counts, n, 0.025))
    assert_allclose(limits.low, low, atol=1e-12)
    assert_allclose(limits.high, high, atol=1e-12)


@cache
def limits_of(critical: int, n: int, level: float, late: int) -> Any:
    counts = np.arange(critical, n + 1)
    return selective_intervals(counts, np.full_like(counts, critical - late), n, 0.6, 1 / 3, level)


def coverage(critical: int, share: float, *, n: int = 300, level: float = 0.95, late: int = 0) -> float:
    """Return the probability that the interval holds, given selection, by summation over all counts."""
    p, q = 0.6, 1 / 3
    counts, rate = np.arange(critical, n + 1), q + (p - q) * share
    chances = at_least(counts, n, rate) - at_least(counts + 1, n, rate)
    limits = limits_of(critical, n, level, late)
    held = (limits.low <= share + 1e-12) & (share - 1e-12 <= limits.high)
    return float(chances[held].sum() / chances.sum())


@pytest.mark.parametrize("critical", [0, 115, 125, 140])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_coverage_is_never_below_the_level(critical: int, level: float) -> None:
    shares = [0.0, 1e-4, 0.02, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0]
    assert min(coverage(critical, share, level=level) for share in shares) >= level - 1e-9


def test_coverage_is_that_of_the_prototype() -> None:
    case = REFERENCE["coverage by summation"]
    pairs = [(needed, share) for needed in case["needed"] for share in case["shares"]]
    # At a share of 0 the prototype asks whether 0 is inside to the last digit.
    some = [place for place, (_, share) in enumerate(pairs) if share > 0]
    assert_allclose([coverage(*pairs[place]) for place in some], np.array(case["coverage"])[some], atol=1e-6)


def test_a_critical_count_that_is_off_would_be_seen() -> None:
    # Values selected from 125 on, and treated as if from 105 on: of values without respondents, most intervals miss.
    assert coverage(125, 0.0, late=20) < 0.9


def test_the_share_is_median_unbiased() -> None:
    n, p, q, critical = 300, 0.6, 1 / 3, 125
    counts = np.arange(critical, n + 1)
    shares = selective_intervals(counts, np.full_like(counts, critical), n, p, q).value
    for share in (0.1, 0.2, 0.4):
        rate = q + (p - q) * share
        chances = at_least(counts, n, rate) - at_least(counts + 1, n, rate)
        below = chances[shares < share].sum() / chances.sum()
        # The median of a discrete law: within half of the probability of the count next to it.
        assert abs(below - 0.5) <= chances.max() / chances.sum()


def test_far_tails_are_compared_without_underflow() -> None:
    # 10^6 reports, of which noise has a third: 450,000 is 250 standard errors away.
    n, counts, critical = 10**6, np.array([450_000, 450_001, 450_010]), np.array([450_000] * 3)
    tails = conditional_tail(counts, critical, n, np.full(3, 1 / 3))
    ratio = (n - 450_000) / 450_001 * 0.5  # of two successive terms
    assert_allclose(tails, [1.0, ratio, ratio**10], rtol=1e-3)
    assert np.all(np.diff(tails) < 0)
    limits = selective_intervals(counts, critical, n, 0.6, 1 / 3)
    assert (limits.low[:2] == 0).all()  # 0.61 of all that are selected at a share of 0 reach 450,001
