"""Sums of binomial counts and exact limits of shares of the sample: coverage and widths."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, norm

from warner import Channel, RandomizedResponse, SubsetSelection, Tally, estimate
from warner.inference import binomial as sums
from warner.inference.binomial import (
    Binomial,
    binomial_law,
    fewest_holders,
    realised_methods,
    score_interval_is_accurate,
    share_interval,
    variance_needed,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = NDArray[np.float64]

# Probabilities of a report after the answer, and after another: much and little noise, none, one-sided, turned around.
RATES = [(0.75, 0.25), (0.9, 0.025), (55 / 56, 1 / 56), (1.0, 0.0), (1.0, 0.3), (0.6, 0.0), (0.1, 0.7), (0.52, 0.48)]
LEVELS = (0.5, 0.9, 0.95, 0.999)


@cache
def laws(n: int, p: float, q: float) -> Table:
    """Return the law of the reports, a row for each number of holders: by its definition, one person after another."""
    rows = []
    for holders in range(n + 1):
        law = np.ones(1)
        for person in range(n):
            chance = p if person < holders else q
            law = np.append(law * (1 - chance), 0) + np.insert(law * chance, 0, 0)
        rows.append(law)
    return np.array(rows)


def coverage(n: int, p: float, q: float, level: float, method: str | None = None) -> Table:
    """Return how often the interval covers the share of the sample, for every number of holders."""
    counts, shares = np.arange(n + 1)[:, np.newaxis], np.arange(n + 1) / n
    low, high = share_interval(Binomial(counts, float(n), q, p - q), (1 - level) / 2, "realised", method)
    inside = (low <= shares) & (shares <= high)  # counts by shares
    return np.asarray((laws(n, p, q) * inside.T).sum(axis=1))


@pytest.mark.parametrize(("p", "q"), RATES)
@pytest.mark.parametrize("n", [1, 2, 3, 10, 31, 60])
def test_exact_intervals_cover_every_number_of_holders(n: int, p: float, q: float) -> None:
    for level in LEVELS:
        assert coverage(n, p, q, level).min() >= level - 1e-9


@pytest.mark.long
@pytest.mark.parametrize(("p", "q"), RATES)
def test_exact_intervals_cover_at_every_size(p: float, q: float) -> None:
    for n in range(1, 61):
        for level in LEVELS:
            assert coverage(n, p, q, level).min() >= level - 1e-9


def test_exact_intervals_are_no_wider_than_they_must_be() -> None:
    # The level is nearly used up at some number of holders; a person less at either end would miss too often.
    assert min(coverage(50, p, q, 0.95).min() for p, q in RATES) < 0.952
    for p, q in RATES[:2]:
        low, high = share_interval(Binomial(np.arange(51)[:, np.newaxis], 50.0, q, p - q), 0.025, "realised")
        shares = np.arange(51) / 50
        for inside in ((low + 0.02 <= shares) & (shares <= high), (low <= shares) & (shares <= high - 0.02)):
            assert (laws(50, p, q) * inside.T).sum(axis=1).min() < 0.95


@pytest.mark.parametrize(("p", "q"), [rates for rates in RATES if rates[0] > rates[1]])
@pytest.mark.parametrize("n", [2, 17, 60])
def test_the_fewest_holders_are_the_first_whose_tail_is_large_enough(n: int, p: float, q: float) -> None:
    tails = laws(n, p, q)[:, ::-1].cumsum(axis=1)[:, ::-1]  # holders by counts
    for tail in (0.25, 0.025, 0.0005, 1e-9):
        wanted = [next((m for m in range(n + 1) if tails[m, c] > tail * (1 - 1e-7)), n) for c in range(n + 1)]
        assert_array_equal(fewest_holders(np.arange(n + 1.0), float(n), p, q, tail), wanted)


@given(
    st.integers(2, 10**6),
    st.floats(0, 1),
    st.sampled_from(RATES),
    st.sampled_from([0.25, 0.025, 1e-4]),
)
def test_the_normal_law_is_near_where_reports_are_many(
    n: int, share: float, rates: tuple[float, float], tail: float
) -> None:
    # By Berry and Esseen's theorem the law is within 0.56 / deviation of the normal one, so that the exact end lies
    # between those of two normal tails.
    p, q = max(rates), min(rates)
    m = round(share * n)
    c = float(round(m * p + (n - m) * q))
    deviation = np.sqrt(n * min(p * (1 - p), q * (1 - q)))
    if deviation * tail < 4:
        return
    low = float(fewest_holders(c, float(n), p, q, tail))

    def normal(holders: float) -> float:
        variance = holders * p * (1 - p) + (n - holders) * q * (1 - q)
        return float(norm.sf((c - 0.5 - holders * p - (n - holders) * q) / np.sqrt(variance)))

    error = 0.56 / deviation
    if 0 < low < n:
        assert normal(low) > tail - error
        assert normal(low - 1) < tail + error


def test_a_law_is_its_terms_without_what_does_not_count() -> None:
    for n, probability in (
        (5.0, 0.3),
        (1000.0, 0.999),
        (10**6, 1e-5),
        (10**9, 0.5),
        (7.0, 0.0),
        (7.0, 1.0),
        (0.0, 0.4),
    ):
        law = binomial_law(np.array([n]), np.array([probability]), 0.025)
        assert law.terms.sum() == pytest.approx(1, abs=1e-12)
        assert_allclose(
            law.terms[0], binom.pmf(law.counts()[0], n, probability), rtol=1e-5 if n > 1e6 else 1e-8, atol=1e-14
        )
        left_out = 1 - binom.pmf(law.counts()[0], n, probability).sum()
        assert left_out <= 0.025 * sums.NEGLECTED + 1e-9 * (n > 1e6) + 1e-11  # SciPy's own rounding
    assert binomial_law(np.array([10**9.0]), np.array([0.5]), 0.025).terms.size < 400_000


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    n = rng.integers(1, 3000, size=200).astype(float)
    c = np.floor(n * rng.random(200))
    together = fewest_holders(c, n, 0.7, 0.2, 0.025)
    monkeypatch.setattr(sums, "TERMS_AT_ONCE", 500)
    assert_array_equal(fewest_holders(c, n, 0.7, 0.2, 0.025), together)
    alone = [float(fewest_holders(*row, 0.7, 0.2, 0.025)) for row in zip(c, n, strict=True)]
    assert_array_equal(alone, together)


def test_a_search_that_halves_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    c, n = np.arange(0.0, 401), 400.0
    by_newton = fewest_holders(c, n, 0.9, 0.05, 0.025)
    monkeypatch.setattr(sums, "HOLDERS_STEPS", 0)
    assert_array_equal(fewest_holders(c, n, 0.9, 0.05, 0.025), by_newton)


# What is gained


@pytest.mark.parametrize(
    ("odds", "k", "n", "gain"),
    [((55, 1), 2, 100, 3.5), ((9, 1), 5, 60, 1.28), ((3, 1), 2, 50, 1.1)],
)
def test_exact_intervals_are_narrower_than_those_of_clopper_and_pearson(
    odds: tuple[int, int], k: int, n: int, gain: float
) -> None:
    design = RandomizedResponse(k, odds=odds)
    rate, counts = (design.q, design.p - design.q), np.arange(n + 1)[:, np.newaxis]
    exact, binomial = (
        share_interval(Binomial(counts, float(n), *rate), 0.025, "realised", name)
        for name in ("exact", "clopper_pearson")
    )
    # Never wider, but for what lies within one report of what shares 0 and 1 lead to (Hoeffding's bound begins there).
    wide, narrow = (high - low for low, high in (binomial, exact))
    assert (narrow <= wide + 1 / n + 1e-12).all()
    weights = laws(n, design.p, design.q)[n // 2]
    assert (weights @ wide[:, 0]) / (weights @ narrow[:, 0]) >= gain


def test_score_intervals_do_not_hold_where_exact_ones_do() -> None:
    # The score interval has reports enough, and covers with .936 only.
    n, p, q = 100, 0.8, 0.15
    assert n * q * (1 - q) >= 10
    assert 0.93 < coverage(n, p, q, 0.95, "score").min() < 0.94
    assert coverage(n, p, q, 0.95).min() >= 0.95 - 1e-9


# Which method


def test_which_method_depends_on_reports_and_noise_alone() -> None:
    noisy, forced = (0.25, 0.5), (0.5, 0.5)  # under the second, who holds the answer always reports it
    for n, rate, expected in (
        (1.0, noisy, "exact"),
        (4e5, noisy, "exact"),
        (1e6, noisy, "score"),
        (1e6, forced, "clopper_pearson"),
        (100.5, noisy, "score"),
        (10.5, noisy, "clopper_pearson"),
        (9e15, (0.0, 1.0), "exact"),
    ):
        exact, scored = realised_methods(Binomial(0, n, *rate), 0.025)
        assert {"exact": exact, "score": scored, "clopper_pearson": not exact | scored}[expected]
        low, high = share_interval(Binomial(np.array([[n // 2]]), n, *rate), 0.025, "realised")
        same = share_interval(Binomial(np.array([[n // 2]]), n, *rate), 0.025, "realised", expected)
        assert_array_equal([low, high], same)


def test_too_many_reports_for_the_exact_method_are_refused() -> None:
    with pytest.raises(
        ValueError,
        match="'exact' needs whole numbers of reports, with a variance of up to 100,000, but there are 1,000,000 with",
    ):
        share_interval(Binomial(np.array([[3 * 10**5]]), 1e6, 0.25, 0.5), 0.025, "realised", "exact")


@pytest.mark.parametrize("tail", [0.025, 0.0025, 0.0001])
def test_far_out_the_score_needs_more_reports(tail: float) -> None:
    # Twice the tail is what may be missed: at the variance that is called enough, by at most half of it too often.
    q, p = 0.02, 0.6
    n = int(variance_needed(tail) / (q * (1 - q))) + 1
    assert score_interval_is_accurate(Binomial(0, float(n), q, p - q), tail)
    assert not score_interval_is_accurate(Binomial(0, n / 2, q, p - q), tail)
    for holders in (0, n // 50, n // 4, n):
        law = np.convolve(
            binom.pmf(np.arange(holders + 1), holders, p), binom.pmf(np.arange(n - holders + 1), n - holders, q)
        )
        low, high = share_interval(
            Binomial(np.arange(n + 1)[:, np.newaxis], float(n), q, p - q), tail, "realised", "score"
        )
        missed = law[((holders / n < low) | (holders / n > high))[:, 0]].sum()
        assert missed <= 3 * tail


# Through an estimate


def test_realised_intervals_of_a_channel_are_those_of_the_response_and_say_so() -> None:
    forced = Channel([["5/6", "1/6"], ["1/3", "2/3"]], ["yes", "no"], ["yes", "no"])
    found = estimate(Tally(forced, [10, 10])).interval("yes", target="realised")
    assert (found.methods, found.approximate) == (("exact",), False)
    # By hand: P(Bin(m, 5/6) + Bin(20 - m, 1/3) >= 10), and <= 10, above 1/40
    law = laws(20, 5 / 6, 1 / 3)
    held = np.flatnonzero((law[:, 10:].sum(axis=1) > 0.025) & (law[:, :11].sum(axis=1) > 0.025)) / 20
    assert_allclose([found.low, found.high], [held[0], held[-1]])


def test_supports_have_exact_realised_intervals() -> None:
    design = SubsetSelection(5, odds=(9, 1), size=2)
    found = estimate(Tally(design, [30, 25, 20, 15, 10], n=50)).interval(target="realised")
    assert found.methods == ("exact",)
    assert_array_equal(np.rint(found.low * 50), found.low * 50)


def test_equal_counts_have_equal_realised_intervals_among_many_answers() -> None:
    design = RandomizedResponse(6000, epsilon=5)
    counts = np.random.default_rng(3).poisson(4, 6000)
    counts[7] = 500
    many = estimate(Tally(design, counts)).interval(target="realised")
    few = share_interval(
        Binomial(counts[:9, np.newaxis], float(counts.sum()), design.q, design.p - design.q), 0.025, "realised"
    )
    assert_array_equal([many.low[:9], many.high[:9]], [end[:, 0] for end in few])
