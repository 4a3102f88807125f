from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta, binom, binomtest, false_discovery_control, fisher_exact, norm

from warner import RandomizedResponse, simulate
from warner.inference import binomial as intervals
from warner.inference.binomial import (
    Reading,
    adjusted,
    binomial_limits,
    certain_ranks,
    clopper_pearson,
    difference,
    difference_between,
    presence,
    rates,
    share_interval,
    standard_errors,
)

if TYPE_CHECKING:
    from collections.abc import Callable

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "reference_values.json").read_text())["cases"]
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
    assert_allclose(
        standard_errors(counts, n, rates(design)),
        case["expected"]["se_INV_iid_plugin"]["float"],
        rtol=1e-12,
        atol=1e-12,
    )


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


@pytest.mark.parametrize("k", [2, 10, 1000])
@pytest.mark.parametrize("epsilon", [0.5, 2, 4])
@pytest.mark.parametrize("n", [30, 1000, 20_000, 10**6])
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
            design, n, share, lambda c: share_interval(c, float(n), rates(design, size), 0.025), size
        )
        assert covered >= 0.95 - 1e-12


@pytest.mark.parametrize("k", [2, 10, 1000])
@pytest.mark.parametrize("epsilon", [0.5, 2, 4])
@pytest.mark.parametrize("n", [1000, 20_000, 10**6])
def test_wilson_covers_where_its_condition_holds(k: int, epsilon: float, n: int) -> None:
    design = RandomizedResponse(k, epsilon=epsilon)

    def wilson(c: Any) -> tuple[Any, Any]:
        return share_interval(c, float(n), rates(design), 0.025, method="wilson")

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
    """Sum the exact law of the reports of `holders` people who hold an answer and n - holders who do not."""
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
    scored = realised_coverage(
        design, n, holders, lambda c: share_interval(c, float(n), rates(design), 0.025, "realised")
    )
    assert 0.93 <= scored <= 0.99
    exact = realised_coverage(
        design,
        n,
        holders,
        lambda c: share_interval(c, float(n), rates(design), 0.025, "realised", "clopper_pearson"),
    )
    assert exact >= 0.95 - 1e-12


def test_a_wrong_standard_error_would_be_noticed() -> None:
    # The formula printed in the paper divides by N(p-q), not N(p-q)^2: as if the gain were its own square root.
    design, n = RandomizedResponse(10, epsilon=1), 300
    right, wrong = rates(design), design.p - design.q

    def too_narrow(c: Any) -> tuple[Any, Any]:
        middle = (c / n - right.base) / right.gain
        half = 1.96 * np.sqrt(right.spread(np.clip(middle, 0, 1)) / (n * wrong))
        return middle - half, middle + half

    assert realised_coverage(design, n, 90, too_narrow) < 0.93


def test_the_realised_interval_is_narrower_and_solves_its_quadratic() -> None:
    design, n = RandomizedResponse(2, epsilon=4), 1000.0
    counts, rate = np.array([[400, 600]]), rates(design)
    low, high = share_interval(counts, n, rate, 0.025, "realised")
    wide = share_interval(counts, n, rate, 0.025)
    assert ((high - low) < (wide[1] - wide[0]) / 3).all()
    for end in (low, high):  # the observed share is 1.96 standard errors of that end away from it
        error = np.sqrt((end * design.p * (1 - design.p) + (1 - end) * design.q * (1 - design.q)) / n) / rate.gain
        assert_allclose(abs((counts / n - design.q) / rate.gain - end) / error, 1.959963984540054, rtol=1e-9)


def test_what_was_not_randomized_is_known() -> None:
    low, high = share_interval(np.array([[3, 7]]), 10.0, rates(RandomizedResponse(2, odds=(1, 0))), 0.025, "realised")
    assert_allclose([low[0], high[0]], [[0.3, 0.7], [0.3, 0.7]])


@pytest.mark.parametrize("method", [None, "wilson", "score"])
def test_inverted_designs_are_upright_ones_with_answers_swapped(method: str | None) -> None:
    counts, target = np.array([[30, 170]]), "realised" if method == "score" else "population"
    upright = share_interval(counts, 200.0, rates(RandomizedResponse(2, odds=(4, 1))), 0.05, target, method)
    turned = share_interval(counts[:, ::-1], 200.0, rates(RandomizedResponse(2, odds=(1, 4))), 0.05, target, method)
    assert_allclose(upright, turned, rtol=1e-12)


@pytest.mark.parametrize(
    ("target", "method", "complaint"),
    [
        ("population", "score", "method must be one of clopper_pearson, wilson for the share in the population"),
        ("realised", "wilson", "method must be one of clopper_pearson, score for the share among these people"),
        ("realised", "score", "'score' needs at least 10 as the variance of noise alone, but there are 3.75"),
    ],
)
def test_methods_that_do_not_suit(target: str, method: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        share_interval(np.array([[5, 15]]), 20.0, rates(RandomizedResponse(2, odds=(3, 1))), 0.025, target, method)


def test_simultaneous_intervals_hold_all_at_once() -> None:
    k, n, surveys = 20, 5000, 2000
    design = RandomizedResponse(k, epsilon=2)
    truth = simulate.zipf(k, 1.3)
    counts = simulate.reports_of_population(truth, n, design, rng=np.random.default_rng(5), size=surveys)
    low, high = share_interval(counts, float(n), rates(design), Reading(0.9, simultaneous=True).tail(k))
    missed = ((truth < low) | (truth > high)).any(axis=-1).mean()
    assert missed <= 0.1 + 4 * np.sqrt(0.1 * 0.9 / surveys)
    low, high = share_interval(counts, float(n), rates(design), Reading(0.9).tail(k))
    assert ((truth < low) | (truth > high)).any(axis=-1).mean() > 0.3  # one at a time they do not


def test_realised_intervals_hold_all_at_once() -> None:
    # Just enough noise for one score interval, but far from enough for a thousand at once.
    k, n, surveys = 1000, 10_551, 300
    design, people = RandomizedResponse(k, epsilon=4), np.zeros(k, dtype=int)
    people[:2] = n // 2, n - n // 2
    counts = simulate.reports_of_people(people, design, rng=np.random.default_rng(2), size=surveys)
    low, high = share_interval(
        counts, float(n), rates(design), Reading(0.95, "realised", simultaneous=True).tail(k), "realised"
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


# Differences


@pytest.mark.parametrize(("k", "epsilon", "n", "s"), [(2, 1, 500, 0.5), (10, 2, 3000, 1.3), (100, 3, 20_000, 0.5)])
@pytest.mark.parametrize("target", ["population", "realised"])
def test_differences_cover(k: int, epsilon: float, n: int, s: float, target: str) -> None:
    design, truth, surveys, rng = (
        RandomizedResponse(k, epsilon=epsilon),
        simulate.zipf(k, s),
        3000,
        np.random.default_rng(8),
    )
    if target == "population":
        counts = simulate.reports_of_population(truth, n, design, rng=rng, size=surveys)
        real = truth
    else:
        people = rng.multinomial(n, truth)
        counts = simulate.reports_of_people(people, design, rng=rng, size=surveys)
        real = people / n
    for j in (1, k - 1):
        found = difference(counts[:, 0], counts[:, j], n, rates(design), 0.025, target)
        covered = ((found.low <= real[0] - real[j]) & (real[0] - real[j] <= found.high)).mean()
        # A normal approximation of a sum of n terms: it is allowed one point besides the four standard errors.
        assert abs(covered - 0.95) <= 0.01 + 4 * np.sqrt(0.95 * 0.05 / surveys)
        assert abs(found.difference.mean() - (real[0] - real[j])) <= 4 * found.difference.std() / np.sqrt(surveys)
        ratio = real[0] / real[j]
        assert ((found.ratio_low <= ratio) & (ratio <= found.ratio_high)).mean() >= 0.95 - 4 * 0.004


def test_a_difference_by_hand() -> None:
    # 400 and 250 of 1,000 with q = 1/4, p = 1/2: inv gives 0.6 and 0; variance (0.65 - 0.15^2)/1000 / (1/16)
    found = difference(400.0, 250.0, 1000.0, rates(RandomizedResponse(3, odds=(2, 1))), 0.025, "population")
    half = 1.959963984540054 * np.sqrt((0.65 - 0.0225) / 1000) * 4
    assert_allclose([found.difference, found.low, found.high], [0.6, 0.6 - half, 0.6 + half], rtol=1e-12)
    assert_allclose(found.p_value, binomtest(400, 650).pvalue, rtol=1e-9)


@pytest.mark.parametrize("epsilon", [998, 999])
def test_realised_differences_with_little_noise_cover(epsilon: int) -> None:
    # K = 2, N = 100, truth told 998 or 999 times in 1,000: hardly any report is a lie, and nothing is normal.
    design, n, holders = RandomizedResponse(2, truth=f"{epsilon}/1000"), 100, 30
    law = np.convolve(
        binom.pmf(np.arange(holders + 1), holders, design.p),
        binom.pmf(np.arange(n - holders + 1), n - holders, design.q),
    )
    counts = np.arange(n + 1.0)
    found = difference(counts, n - counts, float(n), rates(design), 0.025, "realised")
    real = (2 * holders - n) / n
    assert law[(found.low <= real + 1e-12) & (real - 1e-12 <= found.high)].sum() >= 0.95
    other = [difference_between(c, 50.0, (n, n), rates(design), 0.025, "realised") for c in counts]
    assert all(one.high - one.low > 0.05 for one in other)


def test_rare_answers_are_compared_by_their_exact_intervals() -> None:
    design = RandomizedResponse(50, epsilon=3)
    found = difference(40.0, 4.0, 200.0, rates(design), 0.025, "population")
    (low1, high1), (low2, high2) = (share_interval(np.array([[c]]), 200.0, rates(design), 0.0125) for c in (40, 4))
    assert_allclose([found.low, found.high], [low1[0, 0] - high2[0, 0], high1[0, 0] - low2[0, 0]])
    assert found.ratio_high == np.inf
    assert_allclose(found.ratio_low, low1[0, 0] / high2[0, 0])


@pytest.mark.parametrize("odds", [(5, 1), (1, 5)])
@pytest.mark.parametrize("target", ["population", "realised"])
def test_differences_between_groups_cover(odds: tuple[int, int], target: str) -> None:
    design, n, surveys, rng = RandomizedResponse(4, odds=odds), (800, 500), 3000, np.random.default_rng(2)
    rate, holders = rates(design), (240, 50)
    shares = [held / size for held, size in zip(holders, n, strict=True)]
    real = shares[0] - shares[1]
    counts = [
        rng.binomial(size, rate.base + rate.gain * share, surveys)
        if target == "population"
        else rng.binomial(held, design.p, surveys) + rng.binomial(size - held, design.q, surveys)
        for held, size, share in zip(holders, n, shares, strict=True)
    ]
    found = [difference_between(a, b, n, rate, 0.025, target) for a, b in zip(*counts, strict=True)]
    covered = np.mean([one.low <= real <= one.high for one in found])
    assert abs(covered - 0.95) <= 0.01 + 4 * np.sqrt(0.95 * 0.05 / surveys)
    assert np.mean([one.difference for one in found]) == pytest.approx(real, abs=0.02)


@pytest.mark.parametrize(("a", "b", "n"), [(40, 60, (100, 150)), (3, 12, (50, 40)), (0, 5, (10, 10)), (7, 7, (9, 9))])
def test_equality_between_groups_is_fishers_test(a: int, b: int, n: tuple[int, int]) -> None:
    table = [[a, n[0] - a], [b, n[1] - b]]
    tails = [fisher_exact(table, alternative=side).pvalue for side in ("less", "greater")]
    found = difference_between(float(a), float(b), n, rates(RandomizedResponse(2, odds=(3, 1))), 0.025, "population")
    assert_allclose(found.p_value, min(1, 2 * min(tails)), rtol=1e-9)


@pytest.mark.parametrize("people", [10**12, 10**14])
def test_fishers_test_of_very_many_people(people: int) -> None:
    apart = 2 * np.sqrt(0.5 * people)  # two standard errors of the difference of two counts
    found = difference_between(
        people / 2, people / 2 + apart, (people, people), rates(RandomizedResponse(2, odds=(3, 1))), 0.025, "population"
    )
    assert_allclose(found.p_value, 2 * norm.sf(2), rtol=1e-3)


def test_fishers_test_of_many_people_is_that_of_the_normal_law() -> None:
    n = (10**7, 10**7)
    found = difference_between(
        5_000_000.0, 5_004_000.0, n, rates(RandomizedResponse(2, odds=(3, 1))), 0.025, "population"
    )
    z = (4000 - 1) / np.sqrt(2 * 10**7 * 0.25)  # with the correction for continuity
    assert_allclose(found.p_value, 2 * norm.sf(z), rtol=1e-2)


# Ranks and presence


@given(st.integers(2, 12), st.integers(0, 10**6), st.data())
def test_certain_ranks_are_those_of_their_definition(k: int, seed: int, data: st.DataObject) -> None:
    ends = np.sort(np.random.default_rng(seed).integers(0, 8, (2, k)), axis=0) / 8  # with many ties
    low, high = ends
    m = data.draw(st.integers(1, k - 1))
    certain, possible = certain_ranks(low, high, m)
    for i in range(k):
        others = [j for j in range(k) if j != i]
        assert certain[i] == (sum(high[j] >= low[i] for j in others) < m)
        assert possible[i] == (sum(low[j] > high[i] for j in others) < m)


@pytest.mark.parametrize("case", RR_CASES.values(), ids=RR_CASES)
def test_presence_against_reference_values(case: dict[str, Any]) -> None:
    design = design_of(case)
    counts = np.array(case["input"]["counts"])
    n = float(counts.sum())
    found = presence(counts, n, rates(design))
    if "presence_pvalue" in case["expected"]:
        assert_allclose(found, case["expected"]["presence_pvalue"]["float"], rtol=1e-9, atol=1e-300)
    elif design.q == 0:  # nothing is randomized: whatever was reported is there
        assert_array_equal(found, counts == 0)
    else:  # lies are likelier than the truth: answers that somebody holds are reported less
        assert_allclose(found, binom.cdf(counts, n, design.q), rtol=1e-9)


def test_adjusted_p_values() -> None:
    p = np.array([0.01, 0.04, 0.03, 0.005])
    # Holm: 4 * .005, 3 * .01, 2 * .03, then not less than that; BH by an outside function
    assert_allclose(adjusted(p, "holm"), [0.03, 0.06, 0.06, 0.02])
    assert_allclose(adjusted(p, "bh"), false_discovery_control(p))
    many = np.random.default_rng(1).random((3, 50)) ** 3
    assert_allclose(adjusted(many, "bh"), false_discovery_control(many, axis=-1))
    with pytest.raises(ValueError, match='correction must be "holm" or "bh", but got \'none\''):
        adjusted(p, "none")


@pytest.mark.long
@pytest.mark.parametrize("k", [10, 100, 1000])
@pytest.mark.parametrize("correction", ["holm", "bh"])
def test_false_findings_are_as_rare_as_promised(k: int, correction: str) -> None:
    design, surveys, n = RandomizedResponse(k, epsilon=3), 2000, 50 * k
    truth = np.zeros(k)
    truth[: k // 2] = simulate.zipf(k // 2, 1)
    counts = simulate.reports_of_population(truth, n, design, rng=np.random.default_rng(7), size=surveys)
    found = adjusted(presence(counts, float(n), rates(design)), correction) <= 0.05
    false, total = found[:, k // 2 :].sum(axis=-1), found.sum(axis=-1)
    rate = (false > 0).mean() if correction == "holm" else (false / np.maximum(total, 1)).mean()
    assert rate <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / surveys)
    assert total.mean() > 1


def test_many_answers_are_worked_out_by_distinct_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    design = RandomizedResponse(6000, epsilon=3)
    counts = np.random.default_rng(1).poisson(5, (2, 6000))
    n = counts.sum(axis=-1, keepdims=True).astype(float)
    quick = clopper_pearson(counts, n, design, 0.9)
    monkeypatch.setattr(intervals, "LONG_ROW", 10**9)
    assert_array_equal(quick, clopper_pearson(counts, n, design, 0.9))


@pytest.mark.parametrize("level", [0, 1, -0.5, 95, float("nan")])
def test_levels_that_are_none(level: float) -> None:
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        clopper_pearson(np.array([1, 2]), np.array([3.0]), RandomizedResponse(2, epsilon=1), level)
