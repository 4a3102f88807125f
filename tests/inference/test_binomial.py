"""Binomial counts: Clopper-Pearson, Wilson and score limits, tails, standard errors, detectable shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta, binom

from references import reference
from tables import binomial, clopper_pearson
from warner import RandomizedResponse, Tally, estimate, simulate
from warner.inference.binomial import (
    Binomial,
    at_least,
    at_most,
    binomial_limits,
    expected_range,
    interval_and_error,
    log_binomial,
    share_interval,
    smallest_share,
    standard_error,
    wilson_limit,
)
from warner.inference.intervals import Confidence

if TYPE_CHECKING:
    from collections.abc import Callable

REFERENCE = reference("reference_values")["cases"]
RR_CASES = {case["id"]: case for case in REFERENCE if case["kind"] == "rr"}


def design_of(case: dict[str, Any]) -> RandomizedResponse:
    known = {"truth": case["input"]["p"]} if "p" in case["input"] else {"epsilon": case["input"]["epsilon"]}
    return RandomizedResponse(case["input"]["K"], **known)


@pytest.mark.parametrize("case", RR_CASES.values(), ids=RR_CASES)
def test_reference_values(case: dict[str, Any]) -> None:
    design = design_of(case)
    counts = np.array(case["input"]["counts"])
    n = np.array([float(counts.sum())])
    low, high = clopper_pearson(counts, n, design, 0.95)
    plain = case["expected"]["clopper_pearson_theta_clipped"]
    # The reference is without the never-empty rule, which touches only counts beyond what the shares 0 and 1 explain.
    ordinary = (counts >= np.floor(n * min(design.p, design.q))) & (counts <= np.ceil(n * max(design.p, design.q)))
    assert_allclose(low[ordinary], np.array(plain["lower"]["float"])[ordinary], rtol=0, atol=1e-10)
    assert_allclose(high[ordinary], np.array(plain["upper"]["float"])[ordinary], rtol=0, atol=1e-10)
    assert (low <= np.array(plain["lower"]["float"]) + 1e-10).all()
    assert (high >= np.array(plain["upper"]["float"]) - 1e-10).all()
    # Nor has it the rule of half a report, which touches only counts of none and of all.
    some = (counts > 0) & (counts < n)
    errors = standard_error(binomial(counts, n, design))
    assert_allclose(
        errors[some], np.array(case["expected"]["se_INV_iid_plugin"]["float"])[some], rtol=1e-12, atol=1e-12
    )
    assert (errors > 0).all()


def test_an_interval_by_an_independent_formula() -> None:
    # 40 of 100, truth 3/4: the ends of Clopper and Pearson for 0.4, carried over by (x - 1/4) / (1/2)
    low, high = clopper_pearson(np.array([40, 60]), np.array([100.0]), RandomizedResponse(2, truth="3/4"), 0.95)
    ends = beta.ppf([0.025, 0.975], [40, 41], [61, 60])
    assert_allclose([low[0], high[0]], (ends - 0.25) / 0.5, rtol=1e-12)


def test_an_interval_is_never_empty() -> None:
    # 0 of 100 where noise alone gives 25: the plain upper end is far below zero. Taken as 25, it is U(25).
    design = RandomizedResponse(2, truth="3/4")
    low, high = clopper_pearson(np.array([0, 100]), np.array([100.0]), design, 0.95)
    upper = (beta.ppf(0.975, 26, 75) - 0.25) / 0.5
    assert_allclose([low[0], high[0]], [0, upper], atol=1e-12)
    assert_allclose([low[1], high[1]], [1 - upper, 1], atol=1e-12)  # and by symmetry for the other answer


def test_an_inverted_design_is_the_upright_one_with_answers_swapped() -> None:
    counts, n = np.array([30, 70]), np.array([100.0])
    upright = clopper_pearson(counts, n, RandomizedResponse(2, odds=(4, 1)), 0.9)
    inverted = clopper_pearson(counts[::-1].copy(), n, RandomizedResponse(2, odds=(1, 4)), 0.9)
    assert_allclose(upright, inverted, rtol=1e-12)


SHARES = (0, 0.001, 0.02, 0.3, 0.9, 1)


def exact_coverage(
    design: RandomizedResponse, n: int, share: float, ends: Callable[[Any], tuple[Any, Any]], size: int = 1
) -> float:
    """Sum the binomial law over the counts whose interval holds the share; what is left out of the range misses."""
    chance = size * design.q + (design.p - design.q) * share
    reach = 9 * np.sqrt(n * chance * (1 - chance)) + 40
    counts = np.arange(max(0, int(n * chance - reach)), min(n, int(n * chance + reach)) + 1)
    low, high = ends(counts[:, np.newaxis])
    inside = (low[:, 0] <= share) & (share <= high[:, 0])
    return float(binom.pmf(counts[inside], n, chance).sum())


FEW = [(k, epsilon, n) for k in (2, 10, 1000) for epsilon in (0.5, 2, 4) for n in (30, 1000, 20_000)]
MANY = [(2, 0.5, 10**6), (10, 2, 10**6), (1000, 4, 10**6)]  # the most noise, and the least


@pytest.mark.parametrize(("k", "epsilon", "n"), FEW + MANY)
def test_exact_intervals_cover_at_least_at_their_level(k: int, epsilon: float, n: int) -> None:
    design = RandomizedResponse(k, epsilon=epsilon)
    for share in SHARES:
        covered = exact_coverage(design, n, share, lambda c: clopper_pearson(c, np.array([[float(n)]]), design, 0.95))
        assert covered >= 0.95 - 1e-12
        if share == 0:  # the upper end never misses an absent answer
            assert covered >= 0.975 - 1e-12


@pytest.mark.parametrize("size", [3, 9])
@pytest.mark.parametrize("odds", [(5, 1), (1, 5)])
def test_exact_intervals_of_a_set_cover(size: int, odds: tuple[int, int]) -> None:
    design, n = RandomizedResponse(10, odds=odds), 500
    for share in SHARES:
        covered = exact_coverage(
            design, n, share, lambda c: share_interval(binomial(c, float(n), design, size), 0.025), size
        )
        assert covered >= 0.95 - 1e-12


@pytest.mark.parametrize("k", [2, 10, 1000])
@pytest.mark.parametrize("epsilon", [0.5, 2, 4])
@pytest.mark.parametrize("n", [1000, 20_000, 10**6])
def test_wilson_covers_where_its_condition_holds(k: int, epsilon: float, n: int) -> None:
    design = RandomizedResponse(k, epsilon=epsilon)

    def wilson(c: Any) -> tuple[Any, Any]:
        return share_interval(binomial(c, float(n), design), 0.025, method="wilson")

    if n * design.q < 10:
        with pytest.raises(
            ValueError, match=r"'wilson' needs at least 10 expected reports of an absent answer, but .*"
        ):
            wilson(np.array([[5]]))
        return
    # The worst cases of Wilson's interval lie at few expected reports: .943 or more is known for K = 2 and 10.
    covered = [exact_coverage(design, n, share, wilson) for share in SHARES]
    assert min(covered) >= 0.925
    assert np.mean(covered) >= 0.94


def realised_coverage(
    design: RandomizedResponse, n: int, holders: int, ends: Callable[[Any], tuple[Any, Any]]
) -> float:
    """Sum the exact law of the reports of `holders` respondents with an answer and n - holders without it."""
    law = np.convolve(
        binom.pmf(np.arange(holders + 1), holders, design.p),
        binom.pmf(np.arange(n - holders + 1), n - holders, design.q),
    )
    low, high = ends(np.arange(n + 1)[:, np.newaxis])
    inside = (low[:, 0] <= holders / n) & (holders / n <= high[:, 0])
    return float(law[inside].sum())


REALISED = [(2, 0.5, 100), (2, 2, 200), (2, 4, 1000), (10, 1, 300), (10, 3, 1500), (100, 2, 5000)]


@pytest.mark.parametrize(("k", "epsilon", "n"), REALISED)
@pytest.mark.parametrize("part", [0, 0.02, 0.3, 0.9, 1])
def test_realised_intervals_cover_the_share_among_these_people(k: int, epsilon: float, n: int, part: float) -> None:
    design, holders = RandomizedResponse(k, epsilon=epsilon), round(part * n)
    assert n * design.q * (1 - design.q) >= 10

    def interval(method: str | None) -> Any:
        return lambda c: share_interval(binomial(c, float(n), design), 0.025, "realised", method)

    covered = {
        method: realised_coverage(design, n, holders, interval(method))
        for method in ("score", "exact", "clopper_pearson", None)
    }
    assert 0.93 <= covered["score"] <= 0.99
    assert min(covered["exact"], covered["clopper_pearson"]) >= 0.95 - 1e-12
    assert covered[None] == covered["exact"]


def test_a_wrong_standard_error_would_be_noticed() -> None:
    # The formula printed in the paper divides by N(p-q), not N(p-q)^2: as if the gain were its own square root.
    design, n = RandomizedResponse(10, epsilon=1), 300
    wrong = design.p - design.q

    def too_narrow(c: Any) -> tuple[Any, Any]:
        right = binomial(c, n, design)
        middle = right.unbiased
        half = 1.96 * np.sqrt(right.noise(np.clip(middle, 0, 1)) / (n * wrong))
        return middle - half, middle + half

    assert realised_coverage(design, n, 90, too_narrow) < 0.93


def test_the_realised_interval_is_narrower_and_solves_its_quadratic() -> None:
    design, n = RandomizedResponse(2, epsilon=4), 1000.0
    counts, gain = np.array([[400, 600]]), design.p - design.q
    low, high = share_interval(binomial(counts, n, design), 0.025, "realised", "score")
    wide = share_interval(binomial(counts, n, design), 0.025)
    assert ((high - low) < (wide[1] - wide[0]) / 3).all()
    for end in (low, high):  # the observed share is 1.96 standard errors of that end away from it
        error = np.sqrt((end * design.p * (1 - design.p) + (1 - end) * design.q * (1 - design.q)) / n) / gain
        assert_allclose(abs((counts / n - design.q) / gain - end) / error, 1.959963984540054, rtol=1e-9)


def test_what_was_not_randomized_is_known() -> None:
    low, high = share_interval(
        binomial(np.array([[3, 7]]), 10.0, RandomizedResponse(2, odds=(1, 0))), 0.025, "realised"
    )
    assert_allclose([low[0], high[0]], [[0.3, 0.7], [0.3, 0.7]])


@pytest.mark.parametrize("method", [None, "wilson", "score"])
def test_inverted_designs_are_upright_ones_with_answers_swapped(method: str | None) -> None:
    counts, target = np.array([[30, 170]]), "realised" if method == "score" else "population"
    upright = share_interval(binomial(counts, 200.0, RandomizedResponse(2, odds=(4, 1))), 0.05, target, method)
    turned = share_interval(binomial(counts[:, ::-1], 200.0, RandomizedResponse(2, odds=(1, 4))), 0.05, target, method)
    assert_allclose(upright, turned, rtol=1e-12)


@pytest.mark.parametrize(
    ("target", "method", "complaint"),
    [
        ("population", "score", "method must be one of clopper_pearson, wilson for the share in the population"),
        ("realised", "wilson", "method must be one of exact, clopper_pearson, score for the share among these people"),
        ("realised", "score", "'score' needs at least 10 as the variance of noise alone, but there are 3.75"),
    ],
)
def test_methods_that_do_not_suit(target: str, method: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        share_interval(binomial(np.array([[5, 15]]), 20.0, RandomizedResponse(2, odds=(3, 1))), 0.025, target, method)


def test_simultaneous_intervals_hold_all_at_once() -> None:
    k, n, surveys = 20, 5000, 2000
    design = RandomizedResponse(k, epsilon=2)
    truth = simulate.zipf(k, 1.3)
    counts = simulate.reports_of_population(truth, n, design, rng=np.random.default_rng(5), size=surveys)
    low, high = share_interval(binomial(counts, float(n), design), Confidence(0.9, simultaneous=True).tail(k))
    missed = ((truth < low) | (truth > high)).any(axis=-1).mean()
    assert missed <= 0.1 + 4 * np.sqrt(0.1 * 0.9 / surveys)
    low, high = share_interval(binomial(counts, float(n), design), Confidence(0.9).tail(k))
    assert ((truth < low) | (truth > high)).any(axis=-1).mean() > 0.3  # one at a time they do not


def test_realised_intervals_hold_all_at_once() -> None:
    # Just enough noise for one score interval, but far from enough for a thousand at once.
    k, n, surveys = 1000, 10_551, 300
    design, people = RandomizedResponse(k, epsilon=4), np.zeros(k, dtype=int)
    people[:2] = n // 2, n - n // 2
    counts = simulate.reports_of_people(people, design, rng=np.random.default_rng(2), size=surveys)
    low, high = share_interval(
        binomial(counts, float(n), design), Confidence(0.95, "realised", simultaneous=True).tail(k), "realised"
    )
    covered = ((low <= people / n) & (people / n <= high)).all(axis=-1).mean()
    assert covered >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / surveys)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_limits_of_very_many_reports_are_normal(share: float) -> None:
    for n in (1e11, 1e13, 1e15, 9e15):
        low, high = binomial_limits(np.float64(share * n), np.float64(n), 0.025)
        error = np.sqrt(share * (1 - share) / n)
        assert_allclose([(low - share) / error, (high - share) / error], [-1.95996, 1.95996], rtol=1e-3)


def test_simulated_coverage_agrees_with_the_sum() -> None:
    design, n, share, surveys = RandomizedResponse(5, epsilon=1), 400, 0.3, 4000
    chance = design.q + (design.p - design.q) * share
    counts = np.random.default_rng(3).binomial(n, chance, (surveys, 1))
    low, high = clopper_pearson(counts, float(n), design, 0.9)
    summed = exact_coverage(design, n, share, lambda c: clopper_pearson(c, float(n), design, 0.9))
    found = ((low <= share) & (share <= high)).mean()
    assert abs(found - summed) <= 4 * np.sqrt(summed * (1 - summed) / surveys)


def test_many_answers_are_worked_out_by_distinct_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    design = RandomizedResponse(6000, epsilon=3)
    counts = np.random.default_rng(1).poisson(5, (2, 6000))
    n = counts.sum(axis=-1, keepdims=True).astype(float)
    quick = clopper_pearson(counts, n, design, 0.9)
    monkeypatch.setattr("warner.inference.binomial.LONG_ROW", 10**9)
    assert_array_equal(quick, clopper_pearson(counts, n, design, 0.9))


def test_interval_and_error_in_one_pass() -> None:
    counts, n, rate = np.array([[40, 60], [3, 7]]), np.array([[100.0], [10.0]]), (0.25, 0.5)
    for target in ("population", "realised"):
        low, high, error = interval_and_error(Binomial(counts, n, *rate), 0.05, target)
        assert_array_equal([low, high], share_interval(Binomial(counts, n, *rate), 0.05, target))
        assert_array_equal(error, standard_error(Binomial(counts, n, *rate), target))


def test_standard_errors_by_hand() -> None:
    # 40 of 100 with q = 1/4, p = 3/4: sqrt(0.4 * 0.6 / 100) / 0.5; for the sample, 0.3 and 0.7 of 3/16 each are 3/16.
    rate = 0.25, 0.5
    assert_allclose(standard_error(Binomial(np.array([40.0]), 100.0, *rate)), [np.sqrt(0.24 / 100) * 2])
    assert_allclose(standard_error(Binomial(np.array([40.0]), 100.0, *rate), "realised"), [np.sqrt(3 / 16 / 100) * 2])
    # A share beyond 0 or 1 varies as that does. No reports at all count as half a one: sqrt(0.005 * 0.995 / 100) / 0.5.
    ends = standard_error(Binomial(np.array([0.0, 100.0]), 100.0, *rate))
    assert_allclose(ends, 2 * [np.sqrt(0.005 * 0.995 / 100) * 2])
    assert_allclose(standard_error(Binomial(np.array([0.0]), 100.0, *rate), "realised"), [np.sqrt(3 / 16 / 100) * 2])
    # Holders report with probability 0.6, others never: half a report means 0.5 / 60 of the people, who vary.
    error = np.sqrt(0.5 / 60 * 0.6 * 0.4 / 100) / 0.6
    assert_allclose(standard_error(Binomial(np.array([0.0]), 100.0, 0.0, 0.6), "realised"), [error])
    # Only where nothing is left to chance is there no error: for the sample, with no noise.
    assert_allclose(standard_error(Binomial(np.array([0.0, 40.0]), 100.0, 0.0, 1.0), "realised"), [0, 0])


@given(st.integers(1, 60), st.floats(0, 1), st.integers(-3, 70))
def test_tails_are_sums_of_the_binomial_law(n: int, probability: float, c: int) -> None:
    assert_allclose(at_least(float(c), float(n), probability), binom.sf(c - 1, n, probability), rtol=1e-9, atol=1e-300)
    assert_allclose(at_most(float(c), float(n), probability), binom.cdf(c, n, probability), rtol=1e-9, atol=1e-300)


@given(st.floats(1, 1e6), st.floats(0.01, 0.99))
def test_all_of_weighted_reports_are_all_whichever_way_they_were_rounded(n: float, probability: float) -> None:
    # Sums of weights have errors in their last digits. All n: probability^n; none: (1 - probability)^n.
    all_, none = probability**n, (1 - probability) ** n
    rounded = n * (1 + 1e-15 * np.array([-4, 0, 4]))
    assert_allclose(at_least(rounded, n, probability), all_, rtol=1e-6, atol=1e-300)
    assert_allclose(np.exp(log_binomial(rounded, n, probability)), all_, rtol=1e-6, atol=1e-300)
    assert_allclose(at_most(rounded - n, n, probability), none, rtol=1e-6, atol=1e-300)
    assert_allclose(np.exp(log_binomial(rounded - n, n, probability)), none, rtol=1e-6, atol=1e-300)


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 100), st.floats(0, 1))
def test_the_other_reports_tell_the_same_share(p: float, q: float, n: int, c: float) -> None:
    assume(abs(p - q) > 0.01)
    counted = Binomial(c * n, n, q, p - q)
    upright, other = counted.upright(), counted.mirrored()
    assert upright.gain > 0
    assert_allclose(upright.unbiased, counted.unbiased, atol=1e-11)
    assert_allclose(other.unbiased, 1 - counted.unbiased, atol=1e-11)
    assert_allclose(counted.share_at(counted.reported(0.25)), 0.25, atol=1e-11)
    assert_allclose([*counted.span], sorted((p, q)), atol=1e-15)
    # Arrays are turned one by one
    several = Binomial(np.array([c * n, n - c * n]), n, np.array([q, 1 - q]), np.array([p - q, q - p]))
    for part, one in zip(several.upright(), upright, strict=True):
        assert_allclose(part, np.broadcast_to(one, np.shape(part)), atol=1e-14)


@given(st.floats(0, 0.9), st.floats(0.02, 0.1), st.integers(1, 300), st.floats(0, 1))
def test_counts_beyond_what_shares_explain_are_moved_there(q: float, gain: float, n: int, c: float) -> None:
    counted = Binomial(round(c * n), n, q, gain)
    least, most = expected_range(n, *counted.span)
    assert n * q - 1 < least <= n * q * (1 + 1e-12)
    assert n * (q + gain) * (1 - 1e-12) <= most < n * (q + gain) + 1
    below, above = counted.never_empty(least, most)
    assert below.count == min(counted.count, most)
    assert above.count == max(counted.count, least)


@pytest.mark.parametrize(("base", "gain"), [(0.1, 0.6), (0.02, 0.3), (0.4, -0.35), (0.0, 1.0)])
@pytest.mark.parametrize("n", [60, 1000, 30_000])
def test_the_smallest_share_is_found_with_its_power_and_noise_with_its_alpha(base: float, gain: float, n: int) -> None:
    alpha, power = 0.01, 0.8
    share = smallest_share(float(n), base, gain, alpha, power)
    counts = np.arange(n + 1)
    if gain > 0:  # the first count that noise alone has so rarely
        critical = np.flatnonzero(binom.sf(counts - 1, n, base) <= alpha)[0]
        chances = [binom.sf(critical - 1, n, base + gain * held) for held in (0, share)]
    else:
        critical = np.flatnonzero(binom.cdf(counts, n, base) <= alpha)[-1]
        chances = [binom.cdf(critical, n, base + gain * held) for held in (0, share)]
    assert chances[0] <= alpha
    assert chances[1] == pytest.approx(power, abs=1e-9)


def test_the_smallest_share_where_no_share_is_enough() -> None:
    assert smallest_share(3.0, 0.25, 0.5, 0.001, 0.8) == np.inf
    for power in (0, 1, -1, float("nan")):
        with pytest.raises(ValueError, match="power must be between 0 and 1"):
            smallest_share(100.0, 0.25, 0.5, 0.05, power)


@pytest.mark.parametrize("n", [10**3, 10**6, 10**8, 2 * 10**8, 10**9, 10**12, 2**53])
@pytest.mark.parametrize("tail", [0.025, 0.0001])
def test_limits_enclose_the_observed_share_at_every_count(n: int, tail: float) -> None:
    near = {10**power + step for power in range(16) for step in range(-2, 3)} | set(range(1200))
    counts = np.array(sorted(c for c in near | {n - c for c in near} if 0 <= c <= n), dtype=float)
    low, high = binomial_limits(counts, float(n), tail)
    assert (low <= counts / n).all()
    assert (high >= counts / n).all()
    # Far from 1, where doubles are far apart, the tails are what was asked for.
    some = (counts > 0) & (counts < min(1e6, n / 2))
    assert_allclose(at_least(counts, n, low)[some], tail, rtol=1e-5)
    assert_allclose(at_most(counts, n, high)[some], tail, rtol=1e-5)


def test_a_count_of_a_thousand_among_very_many_has_its_interval() -> None:
    # Poisson limits, chi-square quantiles over 2 (NIST's tables): those of 1000 are 938.97 and 1063.95.
    low, high = binomial_limits(1000.0, 1e9, 0.025)
    assert_allclose([low * 1e9, high * 1e9], [938.97, 1063.95], atol=0.02)
    survey = RandomizedResponse(10**4, odds=(1_150_000, 1))  # by noise alone 862 reports of each answer
    counts = np.full(10**4, 862)
    counts[:2] = 1000, 1001
    counts[-1] += 10**9 - counts.sum()
    assert_array_equal(np.flatnonzero(estimate(Tally(survey, counts)).commonest(1).certain), [9999])


def test_wilson_limits_of_four_in_ten_are_those_of_r() -> None:
    # The score interval without continuity correction, by prop.test
    directly = Binomial(np.array([4.0]), np.array([10.0]), np.array([0.0]), np.array([1.0]))
    assert_allclose([wilson_limit(directly, 0.025, side)[0] for side in (-1, 1)], [0.1681803, 0.6873262], rtol=1e-6)


def test_logarithms_of_probabilities_are_those_of_scipy() -> None:
    x = np.arange(-1.0, 14)
    for p in (1e-6, 0.2, 0.5, 0.97):
        assert_allclose(log_binomial(x, 12, p), binom.logpmf(x, 12, p), rtol=1e-11, atol=1e-11)
