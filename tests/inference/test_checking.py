"""Goodness of fit of reports to their design: the tests, how often they err, and what they find."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from math import comb, factorial, floor, log, prod
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta, binom, multinomial

import oracle
from cases import COIN, DIRECT, FORCED, KUK, SETS, THREE
from oracle import probabilities
from references import reference
from strategies import designs_of, surveys
from tables import grouped
from warner import (
    Channel,
    RandomizedResponse,
    Tally,
    UnaryEncoding,
    check,
    estimate,
    mle,
    simulate,
    tally,
)
from warner.designs import MECHANISMS
from warner.inference import checking as fit
from warner.inference import report_types as kinds
from warner.inference.checking import fit_warning, likelihood_ratio
from warner.metrics import negative_log_likelihood
from warner.results import typeset
from warner.text import p_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from warner import Check

REFERENCE = reference("reference_values")["cases"]
RR_CASES = {case["id"]: case for case in REFERENCE if case["kind"] == "rr"}
EVERY = [design for mechanism in MECHANISMS.values() for design in mechanism.examples()]


def statistic(counts: Any, design: RandomizedResponse) -> float:
    return float(likelihood_ratio(np.array(counts), [np.sum(counts)], design))


def numbers(found: Check, group: int = 0) -> dict[str, float]:
    """Return the p-value of the rarest (or most common) answer, G2, its p-value, and what they say together."""
    if not found.tests:  # without noise everything fits
        return {"extreme": 1.0, "g2": 0.0, "p_g2": 1.0, "p_value": float(np.atleast_1d(found.p_value)[group])}
    extreme, together = found.tests
    assert together.statistic is not None
    return {
        "extreme": float(extreme.p_value[group]),
        "g2": float(together.statistic[group]),
        "p_g2": float(together.p_value[group]),
        "p_value": float(np.atleast_1d(found.p_value)[group]),
    }


def rarest(counts: Any, design: RandomizedResponse) -> float:
    tests = check(Tally(design, counts), simulations=1).tests
    return float(tests[0].p_value[0]) if tests else 1.0


def histograms(n: int, k: int) -> Iterator[tuple[int, ...]]:
    """Return every way in which n reports can fall on k answers."""
    if k == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for others in histograms(n - first, k - 1):
            yield (first, *others)


def chance(counts: tuple[int, ...], reported: list[Fraction]) -> Fraction:
    """Return the multinomial probability, exactly."""
    orders = factorial(sum(counts)) // prod(map(factorial, counts))
    return orders * prod((r**c for r, c in zip(reported, counts, strict=True)), start=Fraction(1))


# the rarest answer


def test_one_count_by_hand() -> None:
    # Truth 3/4, none of 4 reports says yes: (3/4)^4, and all four as strange, where yes has 1/4 or 3/4: (1/4)^4 more.
    assert rarest([0, 4], COIN) == pytest.approx(82 / 256, rel=1e-14)
    assert rarest([1, 3], COIN) == 1  # as many as noise alone leads to expect
    # Truth 1/4, so q = 3/4: all four say no, the same again.
    assert rarest([0, 4], RandomizedResponse(2, truth="1/4")) == pytest.approx(82 / 256, rel=1e-14)


@pytest.mark.parametrize("inverted", [False, True])
@given(data=st.data())
def test_the_rarest_answer_is_a_sum_of_binomials(data: st.DataObject, inverted: bool) -> None:
    k = data.draw(st.integers(3, 6))
    counts = data.draw(st.lists(st.integers(0, 12), min_size=k, max_size=k).filter(any))
    design = data.draw(designs_of(k, inverted=inverted))
    _, q = probabilities(design)
    n = sum(counts)
    range_ = range(max(counts), n + 1) if inverted else range(min(counts) + 1)
    exact = k * sum(comb(n, i) * q**i * (1 - q) ** (n - i) for i in range_)
    assert rarest(counts, design) == pytest.approx(min(1, float(exact)), rel=1e-9)


@pytest.mark.parametrize(
    ("low", "high"), [("1/4", "3/4"), ("1/10", "2/10"), ("2/5", "9/10"), ("1/3", "1"), ("0", "3/5")]
)
@pytest.mark.parametrize("n", [5, 40, 100])
def test_one_count_spends_its_level_and_no_more(low: str, high: str, n: int) -> None:
    ends = [Fraction(low), Fraction(high)]
    design = Channel([[end, 1 - end] for end in ends], ["no", "yes"], 2)
    counts = np.arange(n + 1)
    found = check(grouped(design, np.stack([counts, n - counts], axis=1)), simulations=1)
    p_values, alarms = found.tests[0].p_value, []
    for phi in np.linspace(float(ends[0]), float(ends[1]), 41):
        law = binom.pmf(counts, n, phi)
        for level in np.unique(p_values):
            assert law[p_values <= level].sum() <= level * (1 + 1e-9)
        alarms.append(law[p_values <= 0.05].sum())
    if n == 100:
        assert max(alarms) > 0.025
    # In fractions, from the definition: as strange as the smaller tail, at either end of the range
    for c in (0, 1, n // 3, n):
        strange = [min(binom.cdf(x, n, float(ends[0])), binom.sf(x - 1, n, float(ends[1]))) for x in counts]
        as_strange = np.array(strange) <= strange[c] * (1 + 1e-9)
        exact = max(binom.pmf(counts, n, float(end))[as_strange].sum() for end in ends)
        inside = n * ends[0] <= c <= n * ends[1]
        assert p_values[c] == pytest.approx(1 if inside else min(exact, 1), rel=1e-9)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 60), st.fractions(0, 1))
@example(3, 6, 9, Fraction(1, 3))  # on the edge of the range, of which the other end is 1 - 2/3 in rounded numbers
@example(3, 6, 9, Fraction(2, 3))
def test_a_response_among_two_answers_and_its_channel_are_checked_alike(a: int, b: int, n: int, part: Fraction) -> None:
    assume(a != b)
    yes = int(part * n)
    rows = [[Fraction(a, a + b), Fraction(b, a + b)], [Fraction(b, a + b), Fraction(a, a + b)]]
    first, second = (
        check(Tally(design, [yes, n - yes])) for design in (RandomizedResponse(2, odds=(a, b)), Channel(rows, 2, 2))
    )
    assert first.p_value == pytest.approx(second.p_value, rel=1e-9)
    if min(a, b) * n <= yes * (a + b) <= max(a, b) * n:  # what some shares lead to on average
        assert first.p_value == 1
    assert first.fits == second.fits
    assert first.misfits.any() == second.misfits.any() == (not first.fits)
    assert bool(fit_warning(first.tally)) == bool(fit_warning(second.tally))


@pytest.mark.parametrize(("odds", "k", "n"), [((3, 1), 3, 20), ((1, 3), 3, 20), ((2, 1), 4, 10)])
def test_a_check_spends_its_level_and_no_more(odds: tuple[int, int], k: int, n: int) -> None:
    design, simulations, level = RandomizedResponse(k, odds=odds), 1999, 0.1
    every = np.array(list(histograms(n, k)))
    unlike = np.unique(np.sort(every, axis=1), axis=0)  # the order of the answers does not matter
    found = check(grouped(design, unlike), simulations=simulations).p_value
    places = [np.flatnonzero((unlike == np.sort(row)).all(axis=1))[0] for row in every]
    p_values = found[places]
    rng, alarms = np.random.default_rng(1), []
    vertices = np.eye(k)[:1], np.full((1, k), 1 / k), np.array([[0.5, 0.5] + [0.0] * (k - 2)])
    for truth in np.concatenate([*vertices, rng.dirichlet(np.full(k, 0.3), 12)]):
        law = multinomial.pmf(every, n, design.q + (design.p - design.q) * truth)
        alarms.append(law[p_values <= level].sum())
    error = np.sqrt(level * (1 - level) / simulations)
    assert max(alarms) <= level + 4 * error
    assert alarms[0] > 0.5 * level  # at a vertex; twice the smaller of two p-values spent less than half


def test_the_rarest_answer_of_many_groups_at_once() -> None:
    counts = np.array([[5, 9, 6], [0, 30, 9]])
    both = check(Tally(THREE, counts, by=("g",), groups=((1,), (2,))), simulations=1).tests[0].p_value
    assert both.shape == (2,)
    assert_allclose(both, [rarest(row, THREE) for row in counts], rtol=1e-14)


# all answers together


@pytest.mark.parametrize("case", RR_CASES.values(), ids=RR_CASES)
def test_reference_values(case: dict[str, Any]) -> None:
    known = {"truth": case["input"]["p"]} if "p" in case["input"] else {"epsilon": case["input"]["epsilon"]}
    design = RandomizedResponse(case["input"]["K"], **known)
    assert_allclose(statistic(case["input"]["counts"], design), case["expected"]["G2"]["float"], rtol=1e-12)


@pytest.mark.parametrize("inverted", [False, True])
@given(data=st.data())
def test_the_statistic_is_twice_the_likelihood_left_on_the_table(data: st.DataObject, inverted: bool) -> None:
    counts, design = data.draw(surveys(inverted=inverted))
    n = sum(counts)
    saturated = sum(c * log(c / n) for c in counts if c)
    left = 2 * (saturated + n * float(negative_log_likelihood(mle(counts, design), counts, design)))
    # The brute difference loses digits to n times the logarithms; ours does not.
    scale = n * (1 + abs(log(design.q or 1))) + abs(saturated)
    assert statistic(counts, design) == pytest.approx(left, rel=1e-9, abs=1e-9 + 1e-14 * scale)


@pytest.mark.parametrize("inverted", [False, True])
@given(data=st.data())
def test_the_statistic_in_fifty_digits(data: st.DataObject, inverted: bool) -> None:
    counts, design = data.draw(surveys(inverted=inverted, most=5))
    p, q = probabilities(design)
    with mpmath.workdps(50):
        exact = mpmath.mpf(0)
        for c, share in zip(counts, oracle.mle(counts, design), strict=True):
            ratio = Fraction(c, sum(counts)) / (q + (p - q) * share) if c else Fraction(1)
            exact += 2 * c * mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
    assert statistic(counts, design) == pytest.approx(float(exact), rel=1e-9, abs=2e-9)  # below 1e-9 it is 0


def test_long_histograms_by_distinct_counts_and_batches_agree() -> None:
    for odds in ((30, 1), (1, 30)):
        design = RandomizedResponse(6000, odds=odds)
        counts = np.random.default_rng(4).poisson(3, (2, 6000))
        n = counts.sum(axis=-1, keepdims=True)
        saturated = (counts * np.log(np.maximum(counts, 1) / n)).sum(axis=-1)
        brute = 2 * (saturated + n[:, 0] * negative_log_likelihood(mle(counts, design), counts, design))
        assert_allclose(likelihood_ratio(counts, n, design), brute, rtol=1e-10)
        assert_allclose([statistic(row, design) for row in counts], brute, rtol=1e-10)


@pytest.mark.parametrize(
    "counts", [[480, 300, 220], [600, 200, 200], [200, 600, 200], [400, 400, 200]], ids=["inside", "v", "w", "edge"]
)
def test_reports_as_expected_fit_perfectly(counts: list[int]) -> None:
    # N = 1000, q = 1/5, p = 3/5: each of these is N (q + (p-q) theta) for a distribution theta.
    found = check(Tally(THREE, counts))
    told = numbers(found)
    assert (told["g2"], told["p_g2"], told["p_value"], found.fits) == (0, 1, 1, True)
    assert not found.misfits.any()
    assert found.epsilon_at_least < THREE.epsilon


@given(surveys())
def test_the_statistic_is_zero_just_where_nothing_is_rarer_than_noise(survey: tuple[list[int], Any]) -> None:
    counts, design = survey
    _, q = probabilities(design)
    shortfall = max(q * sum(counts) - min(counts), Fraction(0))
    # Each term is at least (c - e)^2 / (2 e), and below 1e-9 it counts as nothing.
    if shortfall**2 > 2 * q * sum(counts) * 10**-8:
        assert statistic(counts, design) > 0
    elif shortfall == 0:
        assert statistic(counts, design) == 0


@pytest.mark.parametrize(
    ("counts", "design"),
    [
        ([2, 4, 6], RandomizedResponse(3, odds=(2, 1))),
        ([1, 4, 7], RandomizedResponse(3, odds=(2, 1))),
        ([7, 4, 1], RandomizedResponse(3, odds=(1, 3))),
        ([6, 2, 4], RandomizedResponse(3, odds=(1, 2))),
    ],
)
def test_the_simulated_p_value_is_the_exact_one_at_a_vertex(counts: list[int], design: RandomizedResponse) -> None:
    # Ties are common among so few reports: equal histograms, in whatever order, must count as reached.
    p, q = probabilities(design)
    observed = statistic(counts, design)
    every = histograms(sum(counts), design.k)
    reached = [other for other in every if statistic(other, design) >= observed - 1e-9]
    exact = float(sum(chance(other, [p] + [q] * (design.k - 1)) for other in reached))
    simulations = 4000
    found = numbers(check(Tally(design, counts), simulations=simulations))["p_g2"]
    assert 0.02 < exact < 0.9
    assert abs(found - exact) <= 4 * np.sqrt(exact * (1 - exact) / simulations) + 1 / simulations


def test_two_tests_are_judged_as_one_by_their_law_at_a_vertex() -> None:
    # Mostly the two tests are copies of each other; here the smaller p-value is 0.209, or smaller, with chance 0.250.
    design, n, simulations, counts = RandomizedResponse(5, odds=(1, 3)), 12, 9999, (0, 1, 2, 4, 5)
    p, q = (float(part) for part in probabilities(design))
    every = np.array(list(histograms(n, 5)))
    law = multinomial.pmf(every, n, [p, q, q, q, q])
    g2 = likelihood_ratio(every, np.full((len(every), 1), float(n)), design)
    larger = {value: law[g2 >= value - 1e-9].sum() for value in np.unique(g2.round(9))}
    rank = np.array([larger[value] for value in g2.round(9)])
    smaller = np.minimum(rank, 5 * binom.sf(every.max(axis=1) - 1, n, q))
    place = int(np.flatnonzero((every == counts).all(axis=1))[0])
    exact = law[smaller <= smaller[place] + 1e-9].sum()
    assert exact > smaller[place] + 0.04
    found = check(Tally(design, counts), simulations=simulations).p_value
    assert abs(found - exact) <= 4 * np.sqrt(exact * (1 - exact) / simulations) + 0.01  # of ranks that are noisy, too


def test_the_simulated_p_value_counts_the_observed_survey() -> None:
    # Nothing simulated comes near: (1 + 0) / (1 + 39). There the exact test goes on.
    found = numbers(check(Tally(THREE, [0, 500, 500]), simulations=39))
    assert found["p_g2"] == 1 / 40
    assert found["p_value"] == found["extreme"] < 1 / 40


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    design = RandomizedResponse(50, epsilon=1)
    counts = simulate.reports_of_population(simulate.zipf(50, 1.3), 2000, design, rng=np.random.default_rng(1))
    whole = numbers(check(Tally(design, counts), simulations=99))
    assert 0.1 < whole["p_g2"] < 1
    for cells in (1, 700):
        monkeypatch.setattr(fit, "SIMULATED_COUNTS_AT_ONCE", cells)
        assert numbers(check(Tally(design, counts), simulations=99)) == whole


def test_seeds() -> None:
    design = RandomizedResponse(20, epsilon=1)
    counts = simulate.reports_of_population(simulate.zipf(20, 1.3), 500, design, rng=np.random.default_rng(2))
    survey = Tally(design, counts)
    assert numbers(check(survey)) == numbers(check(survey))
    seeded = [numbers(check(survey, rng=np.random.default_rng(seed)))["p_g2"] for seed in (1, 1, 2, 3, 4)]
    assert seeded[0] == seeded[1]
    assert len(set(seeded)) > 1


# the verdict and what it says


def test_a_whole_check_by_hand() -> None:
    # 10 of 100 say yes where noise alone gives 25.
    found = check(Tally(COIN, [10, 90]))
    tail = sum(comb(100, i) * Fraction(1, 4) ** i * Fraction(3, 4) ** (100 - i) for i in range(11))
    assert [test.name for test in found.tests] == ["rarest answer"]
    assert found.p_value == found.overall_p_value == pytest.approx(float(tail), rel=1e-12)
    # One count says it all: q is at most its upper limit with 0.05 above it; as many of the other would be a miracle.
    upper = beta.ppf(1 - 0.05, 11, 90)
    assert found.epsilon_at_least == pytest.approx(log(1 / upper - 1), rel=1e-12)
    assert found.epsilon_at_least > COIN.epsilon
    assert not found.fits
    assert found.group_fits is False
    assert_array_equal(found.misfits, [True, False])


@pytest.mark.parametrize("groups", [1, 2])
def test_direct_answers_bound_epsilon_by_hand(groups: int) -> None:
    # Of a design without noise nothing is tested, so that the whole level is for the bound, shared by the groups.
    rows = [[10, 90], [30, 70]][:groups]
    found = check(Tally(DIRECT, rows, by=("g",), groups=tuple((i,) for i in range(groups))))
    upper = beta.ppf(1 - 0.05 / groups, 11, 90)
    assert found.epsilon_at_least[0] == pytest.approx(log(1 / upper - 1), rel=1e-12)


def test_a_check_of_three_answers_by_hand() -> None:
    found = check(Tally(THREE, [5, 50, 45]))
    told = numbers(found)
    tail = sum(comb(100, i) * Fraction(1, 5) ** i * Fraction(4, 5) ** (100 - i) for i in range(6))
    assert [test.name for test in found.tests] == ["rarest answer", "likelihood ratio"]
    assert told["extreme"] == pytest.approx(float(3 * tail), rel=1e-12)
    assert told["g2"] == pytest.approx(2 * (5 * log(5 / 20) + 95 * log(95 / 80)), rel=1e-12)
    assert told["p_g2"] == 1 / 1000
    assert found.p_value == told["extreme"]  # beyond all simulated surveys
    # The level is shared by three answers.
    assert found.epsilon_at_least == pytest.approx(log(1 / beta.ppf(1 - 0.05 / 3, 6, 95) - 2), rel=1e-12)
    assert_array_equal(found.misfits, [True, False, False])
    joined = " ".join(found.text().split())
    assert "The smaller of the two p-values, compared with those of the same simulated surveys" in joined


def test_nothing_is_said_of_answers_and_epsilon_where_reports_fit() -> None:
    rng = np.random.default_rng(3)
    design = RandomizedResponse(30, epsilon=1)
    counts = simulate.reports_of_population(np.eye(30)[0], 3000, design, rng=rng, size=400)
    found = check(grouped(design, counts), level=0.5, simulations=19)
    fit = found.group_fits
    assert fit.any()
    assert not found.misfits[fit].any()
    assert (found.epsilon_at_least[fit] <= design.epsilon).all()


def test_an_inverted_design_is_the_upright_one_with_answers_swapped() -> None:
    for counts in ([10, 90], [30, 70], [20, 80]):
        upright = check(Tally(RandomizedResponse(2, odds=(3, 1)), counts))
        inverted = check(Tally(RandomizedResponse(2, odds=(1, 3)), counts[::-1]))
        assert inverted.p_value == pytest.approx(upright.p_value, rel=1e-9)
        assert inverted.epsilon_at_least == pytest.approx(upright.epsilon_at_least, rel=1e-9)
        assert inverted.tests[0].name == "commonest answer"
        # The most common answer is found beyond the ceiling, where upright the other one is below the floor.
        assert_array_equal(inverted.misfits, upright.misfits)
        assert inverted.fits == upright.fits


def test_the_epsilon_of_an_inverted_design() -> None:
    # 48 of 100 name one of three answers: q is at least L, and q/p = q / (1 - 2 q).
    found = check(Tally(RandomizedResponse(3, odds=(1, 2)), [48, 30, 22]), level=0.5)
    assert not found.fits
    lower = beta.ppf(0.5 / 3, 48, 53)
    assert found.epsilon_at_least == pytest.approx(log(lower / (1 - 2 * lower)), rel=1e-12)
    # 90 of 100: no q up to 1/2 explains that.
    beyond = check(Tally(RandomizedResponse(3, odds=(1, 2)), [90, 5, 5]))
    assert beyond.epsilon_at_least == np.inf
    assert "no amount of noise" in beyond.text()
    assert json.loads(beyond.to_json())["groups"][0]["collections"][0]["epsilon_at_least"] == "inf"
    assert check(Tally(RandomizedResponse(3, odds=(1, 2)), [34, 33, 33])).epsilon_at_least == 0


@cache
def epsilon_bounds(odds: tuple[int, int], level: float) -> dict[tuple[int, ...], float]:
    """Return the bound on epsilon that each histogram of 30 reports leads to, by itself."""
    claimed = RandomizedResponse(3, odds=odds)
    return {
        counts: check(Tally(claimed, counts), level=level, simulations=1).epsilon_at_least
        for counts in histograms(30, 3)
    }


@pytest.mark.parametrize("odds", [(5, 1), (2, 1), (1, 3), (0, 1)])
@pytest.mark.parametrize("truth", [(1, 0, 0), (0, "1/2", "1/2"), ("1/3", "1/3", "1/3"), ("3/4", "1/4", 0)])
def test_the_epsilon_that_was_spent_is_at_least_the_bound(odds: tuple[int, int], truth: tuple[Any, ...]) -> None:
    # Exactly, over all 496 histograms of 30 reports, at a level where a bound without its share of it would fail.
    level = 0.8
    spent = RandomizedResponse(3, odds=odds)
    p, q = probabilities(spent)
    reported = [q + (p - q) * Fraction(share) for share in truth]
    bounds = epsilon_bounds((2, 1) if odds[0] > odds[1] else (1, 2), level)  # only the direction of the odds matters
    covered = sum(chance(counts, reported) for counts, bound in bounds.items() if bound <= spent.epsilon)
    assert covered >= level


@pytest.mark.parametrize("inverted", [False, True])
@given(data=st.data())
def test_nothing_is_said_against_reports_that_fit(data: st.DataObject, inverted: bool) -> None:
    counts, design = data.draw(surveys(inverted=inverted))
    found = check(Tally(design, counts), simulations=1)
    if found.fits:
        assert not found.misfits.any()
        assert found.epsilon_at_least <= design.epsilon * (1 + 1e-9)
    if found.misfits.any():
        assert found.epsilon_at_least >= design.epsilon * (1 - 1e-9)
    assert (found.misfits_alone | ~found.misfits).all()


@pytest.mark.parametrize("inverted", [False, True])
def test_of_two_answers_the_bound_on_epsilon_and_the_verdict_agree(inverted: bool) -> None:
    # None of 10: at epsilon 1 the probability is 0.731^10 = 0.044. So at 95 % more than 1 was spent, and not less.
    more, less = 6121026514868073, 2251799813685248
    design = RandomizedResponse(2, odds=(less, more) if inverted else (more, less))
    for n in (10, 9, 40):
        for fewer in range(n // 2 + 1):
            found = check(Tally(design, [fewer, n - fewer]), simulations=1)
            assert found.fits == (found.epsilon_at_least <= design.epsilon)
    assert check(Tally(design, [0, 10]), simulations=1).epsilon_at_least > 1
    law = binom.pmf(np.arange(41), 40, design.p)  # everybody holds the first answer
    bounds = [check(Tally(design, [c, 40 - c]), simulations=1).epsilon_at_least for c in range(41)]
    assert law[np.array(bounds) > design.epsilon].sum() <= 0.05


def test_of_many_absent_answers_few_are_named() -> None:
    # Everybody holds one of a thousand answers. One by one, a few are below the floor by chance; none is named.
    design = RandomizedResponse(1000, epsilon=3)
    counts = simulate.reports_of_population(np.eye(1000)[0], 10**6, design, rng=np.random.default_rng(3))
    found = check(Tally(design, counts))
    assert not found.misfits.any()
    alone = int(found.misfits_alone.sum())
    assert 0 < alone <= 25 + 4 * np.sqrt(25)
    assert f"Judged one by one, {alone} of 1,000 are" in " ".join(found.text().split())
    counts[7:10] = 0
    assert_array_equal(np.flatnonzero(check(Tally(design, counts)).misfits), [7, 8, 9])


def test_without_noise_nothing_can_be_tested() -> None:
    found = check(Tally(RandomizedResponse(3, odds=(1, 0)), [0, 0, 9]))
    assert found.tests == ()
    assert (found.p_value, found.overall_p_value, found.fits) == (1, 1, True)
    assert not found.misfits.any()
    assert found.text().startswith("Nothing can be tested: this design adds no noise")


# groups and weights


def test_groups_are_checked_apart_and_an_empty_one_says_so() -> None:
    counts = [[480, 300, 220], [0, 0, 0], [700, 200, 100], [60, 25, 15]]
    found = check(Tally(THREE, counts, by=("region",), groups=(("a",), ("b",), ("c",), (None,))), fakes=6)
    alone = [check(Tally(THREE, row)) for row in counts if any(row)]
    some = [0, 2, 3]
    for name in ("extreme", "g2", "p_g2", "p_value"):
        assert_allclose([numbers(found, i)[name] for i in some], [numbers(one)[name] for one in alone], rtol=1e-12)
        assert np.isnan(numbers(found, 1)[name])
    assert found.overall_p_value == pytest.approx(3 * min(one.p_value for one in alone))
    assert not found.fits
    assert_array_equal(found.group_fits, [True, True, False, True])
    assert found.misfits.shape == (4, 3)
    assert_array_equal(np.argwhere(found.misfits), [[2, 2]])
    # Shared by three groups with reports and three answers: 1/q - 2 at the upper limit of 100 in 1000.
    assert found.epsilon_at_least[2] == pytest.approx(log(1 / beta.ppf(1 - 0.05 / 9, 101, 900) - 2), rel=1e-12)
    assert_allclose(found.moved_by(6), [6 / (1000 * 0.4), np.nan, 6 / (1000 * 0.4), 6 / (100 * 0.4)])
    lines = found.text().splitlines()
    assert lines[0].startswith("The reports do not fit the design in 1 of 3 groups: p < 0.001")
    shown = typeset(found).columns
    assert (shown["region"][0], shown["region"][-1]) == ("c", "b")  # the smallest p-values first
    assert (shown["verdict"][0], shown["verdict"][-1]) == ("does not fit", "no reports")
    assert shown["epsilon at least"][0] == f"{floor(1000 * found.epsilon_at_least[2]) / 1000:g}"
    assert shown["epsilon at least"][-1] == ""
    assert typeset(found).notes[0] == found.verdict() == lines[0]
    assert any(line.split()[:2] == ["c", "1,000"] and line.endswith("does not fit") for line in lines)
    assert any(line.split() == ["b", "0", "no", "reports"] for line in lines)
    assert any("c: Answers below the noise floor" in line and "'often'" in line for line in lines)
    assert "15 percentage points (in the smallest group)" in " ".join(found.text().split())
    rows = json.loads(found.to_json())["groups"]
    assert [row["group"]["region"] for row in rows] == ["a", "b", "c", None]
    assert [row["fits"] for row in rows] == [True, None, False, True]
    assert (rows[1]["p_value"], rows[1]["reports"]) == (None, 0)
    assert rows[2]["collections"][0]["misfits"] == ["often"]


def test_one_bad_chance_in_many_groups_is_no_misfit() -> None:
    # Forty groups of 20: in one of them 12 % of surveys would look worse, and that is what one expects of forty.
    rows = [[10, 10]] * 39 + [[2, 18]]
    alone = check(Tally(COIN, [2, 18]), level=0.75)
    assert not alone.fits
    found = check(grouped(COIN, rows), level=0.75)
    assert found.fits
    assert found.overall_p_value == 1
    assert found.text().startswith("The reports fit the design in all 40 groups")
    assert "... and 20 more groups" in found.text()


def test_too_few_simulations_are_told() -> None:
    rows = grouped(THREE, [[10, 10, 10]] * 60)
    assert (
        "At this level, with 60 groups, 999 simulations are too few for G2 to show a misfit; at least 1,200 are needed."
        in " ".join(check(rows).text().split())
    )
    assert "too few" not in check(rows, simulations=1200).text()
    assert "19 simulations are too few" not in check(Tally(THREE, [5, 5, 5]), simulations=20).text()
    assert "at least 20 are needed" in check(Tally(THREE, [5, 5, 5]), simulations=19).text()


def test_weights_count_as_their_effective_number() -> None:
    reports = ["yes"] * 10 + ["no"] * 90
    plain, doubled = check(tally(reports, COIN)), check(tally(reports, COIN, weights=np.full(100, 2.0)))
    assert doubled.p_value == pytest.approx(plain.p_value, rel=1e-9)
    assert doubled.epsilon_at_least == pytest.approx(plain.epsilon_at_least, rel=1e-9)
    assert "approximate" in doubled.text()
    assert "worth 100 equally weighted ones" in doubled.text()
    # Half weigh 1, half 3: (50 + 150)^2 / (50 + 450) = 80 reports' worth, 8 of them yes.
    uneven = check(tally(reports, COIN, weights=np.tile([1.0, 3.0], 50)))
    assert uneven.p_value == pytest.approx(rarest([8, 72], COIN), rel=1e-9)
    assert uneven.moved_by(2) == pytest.approx(2 / (200 * 0.5))


@pytest.mark.parametrize(
    ("counts", "options", "error", "complaint"),
    [
        ([1, 2], {"level": 95}, ValueError, "level must be between 0 and 1"),
        ([1, 2], {"simulations": 0}, ValueError, "simulations must be a whole number of at least 1, but got 0"),
        ([1, 2], {"simulations": 9.5}, ValueError, "simulations must be a whole number"),
        ([1, 2], {"rng": 1}, TypeError, "default_rng"),
        ([1, 2], {"fakes": -1}, ValueError, "fakes must be a whole number of reports, at least 0, but got -1"),
        ([1, 2], {"fakes": 0.5}, ValueError, "fakes must be a whole number"),
        ([0, 0], {}, ValueError, "at least one report"),
    ],
)
def test_bad_input(counts: list[int], options: dict[str, Any], error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        check(Tally(COIN, counts), **options)


def test_bad_designs_and_amounts() -> None:
    with pytest.raises(ValueError, match="must have an epsilon above 0"):
        check(Tally(RandomizedResponse(2, odds=(1, 1)), [1, 2]))
    with pytest.raises(ValueError, match="at least one report"):
        check(Tally(COIN, [[0, 0]], by=("g",), groups=((1,),)))
    with pytest.raises(ValueError, match="fakes must be a number of reports"):
        check(Tally(COIN, [1, 2])).moved_by(-3)


# any design


def test_a_channel_is_checked_by_what_it_makes_possible() -> None:
    assert check(Tally(FORCED, [400, 600])).fits
    wrong = check(Tally(FORCED, [50, 950]))  # even without the trait, a sixth would say yes
    assert not wrong.fits
    assert wrong.p_value == pytest.approx(binom.cdf(50, 1000, 1 / 6))
    assert "'yes'" in wrong.text()
    assert json.loads(wrong.to_json())["groups"][0]["collections"][0]["misfits"] == ["yes", "no"]
    with pytest.warns(UserWarning, match="do not seem to fit the design: an answer was reported fewer or more times"):
        estimate(Tally(FORCED, [50, 950]))
    over = check(Tally(KUK, [10, 40, 950]))
    assert not over.fits


@pytest.mark.parametrize("design", EVERY, ids=lambda design: design.summary())
def test_the_range_of_each_count_is_a_sum_of_binomials(design: Any) -> None:
    # Straight from the definition: every column may be as rare as under its least likely answer, or as common.
    n, counts = (
        60,
        simulate.reports_of_people(np.eye(design.k, dtype=int)[0] * 60, design, rng=np.random.default_rng(2)),
    )
    found = check(Tally(design, counts, n=n), simulations=1)
    bounds, width = design.law.bounds(), len(design.law.columns)
    if np.all(np.equal(0.0 if bounds.least is None else bounds.least, 0)) and np.all(
        np.equal(1.0 if bounds.most is None else bounds.most, 1)
    ):
        assert found.tests == ()
        return
    tails = []
    if bounds.least is not None:
        tails.append(binom.cdf(counts, n, np.broadcast_to(bounds.least, width)))
    if bounds.most is not None:
        tails.append(binom.sf(counts - 1, n, np.broadcast_to(bounds.most, width)))
    # A count that may be none, or all, is never too small, or too large.
    ends = {0.0: bounds.least, 1.0: bounds.most}
    possible = sum(np.count_nonzero(np.broadcast_to(b, width) != end) for end, b in ends.items() if b is not None)
    expected = min(1.0, possible * float(np.min(tails)))
    if not design.law.exclusive or width > 2:  # of two, one count says it all
        assert found.tests[0].p_value == pytest.approx([expected], rel=1e-9)
    names = {(True, True): "possible range", (True, False): "rarest answer", (False, True): "commonest answer"}
    assert found.tests[0].name == names[bounds.least is not None, bounds.most is not None]


@pytest.mark.parametrize("design", EVERY, ids=lambda design: design.summary())
@pytest.mark.parametrize("truth", ["first", "last", "uniform"])
def test_reports_that_fit_pass_whatever_the_design(design: Any, truth: str) -> None:
    shares = {"first": np.eye(design.k)[0], "last": np.eye(design.k)[-1], "uniform": simulate.uniform(design.k)}[truth]
    samples, n = 250, 80
    drawn = simulate.reports_of_population(shares, n, design, rng=np.random.default_rng(3), size=samples)
    found = check(grouped(design, drawn, n), simulations=39, level=0.8)
    # The p-value of a group is that of its survey alone; its verdict takes all groups into account, and so do misfits.
    assert (found.p_value < 0.2).mean() <= 0.2 + 4 * np.sqrt(0.2 * 0.8 / samples)
    assert found.fits == found.group_fits.all()
    assert not found.misfits[found.group_fits].any()
    assert found.tests or found.fits
    for place in (0, 100, 200):
        alone = check(Tally(design, drawn[place], n=n), simulations=39, level=0.8)
        assert alone.p_value == found.p_value[place]
        assert alone.fits == (alone.p_value >= 1 - alone.level)
        assert alone.fits <= (not alone.misfits.any())


def test_sets_are_checked_by_what_they_make_possible() -> None:
    # p = 2/3, q = 1/3: an answer in 90 of 100 sets is held by more people than there are; one in 5 by fewer than none.
    assert check(Tally(SETS, [60, 40, 35, 35, 30], n=100)).fits
    for counts, name in (([95, 45, 30, 20, 10], "'a'"), ([50, 50, 50, 45, 5], "'e'")):
        found = check(Tally(SETS, counts, n=100))
        assert not found.fits
        assert name in found.text()
        assert found.epsilon_at_least is None
        assert json.loads(found.to_json())["groups"][0]["collections"][0]["epsilon_at_least"] is None
        with pytest.warns(UserWarning, match="an answer was reported fewer or more times than noise alone explains"):
            estimate(Tally(SETS, counts, n=100))


@pytest.mark.parametrize(
    ("design", "good", "bad", "rule"),
    [
        (COIN, [30, 70], [10, 90], "fewer"),
        (RandomizedResponse(2, odds=(1, 3)), [30, 70], [10, 90], "more"),
        (FORCED, [40, 60], [2, 98], "fewer or more"),
        (KUK, [30, 40, 30], [0, 0, 100], "fewer or more"),
        (SETS, [60, 40, 35, 35, 30], [95, 45, 30, 20, 10], "fewer or more"),
    ],
)
def test_doubt_is_the_first_test_at_99_percent(design: Any, good: list[int], bad: list[int], rule: str) -> None:
    assert fit_warning(Tally(design, good, n=100)) == ""
    said = fit_warning(Tally(design, bad, n=100))
    assert said.startswith(f"the reports do not seem to fit the design: an answer was reported {rule} times than noise")
    p = float(check(Tally(design, bad, n=100), simulations=1).tests[0].p_value[0])
    assert p < 0.01
    assert f"({p_value(p)})" in said
    # In groups it is told once, with as many chances as there are groups.
    rows = np.array([good, bad, [0] * len(bad)])
    grouped = fit_warning(Tally(design, rows, n=np.array([100, 100, 0]), by=("g",), groups=((1,), (2,), (3,))))
    assert f"explains, in some group ({p_value(2 * p)})" in grouped
    weighted = fit_warning(Tally(design, np.array(bad) * 2.0, n=200.0, squares=400.0))
    assert f"(about {p_value(p)})" in weighted


def test_nobody_is_in_doubt_of_a_design_without_noise() -> None:
    assert fit_warning(Tally(RandomizedResponse(2, odds=(1, 0)), [0, 100])) == ""


# how often it errs, and what it finds

TRUTHS: dict[str, Callable[[int], Any]] = {
    "everybody alike": lambda k: np.eye(k)[0],
    "uniform": simulate.uniform,
    "Zipf": lambda k: simulate.zipf(k, 1.3),
    "half absent": lambda k: np.repeat([2 / k, 0], k // 2),
}


@pytest.mark.long
@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize("n", [100, 10_000])
@pytest.mark.parametrize("odds", ["2:1", "20:1", "1:2"])
@pytest.mark.parametrize("k", [2, 10, 100])
def test_reports_that_fit_pass_at_least_at_the_level(k: int, odds: str, n: int, truth: str) -> None:
    design, samples, rng = RandomizedResponse(k, odds=odds), 300, np.random.default_rng(5)
    drawn = simulate.reports_of_population(TRUTHS[truth](k), n, design, rng=rng, size=samples)
    found = [check(Tally(design, counts), simulations=199) for counts in drawn]
    most = 0.05 + 4 * np.sqrt(0.05 * 0.95 / samples)
    assert np.mean([not one.fits for one in found]) <= most
    p_values = np.array([[float(test.p_value[0]) for test in one.tests] for one in found])  # two answers have one test
    assert ((p_values <= 0.05).mean(axis=0) <= most).all()
    assert np.mean([one.misfits.any() for one in found]) <= most


def table_of_power() -> dict[str, tuple[float, float, float, Any]]:
    """Return outcome, claimed epsilon, power of G2 and of the rarest answer, and the distribution of reports."""
    truth = simulate.zipf(100, 1.3)

    def used(epsilon: float, shares: Any = truth) -> Any:
        design = RandomizedResponse(100, epsilon=epsilon)
        return design.q + (design.p - design.q) * shares

    constant = np.eye(100)[-1]
    offered = np.arange(100) >= 10
    return {
        "less noise, 1.3": (1, 0.08, 0.10, used(1.3)),
        "less noise, 2": (1, 1.0, 0.67, used(2)),
        "more noise, 1.8": (2, 0, 0, used(1.8)),
        "more noise, 1": (2, 0, 0, used(1)),
        "2 % constant": (1, 1.0, 0.20, 0.98 * used(1) + 0.02 * constant),
        "5 % constant": (1, 1.0, 0.97, 0.95 * used(1) + 0.05 * constant),
        "10 % junk": (1, 0, 0, 0.9 * used(1) + 0.1 / 100),
        "ten never offered": (1, 1.0, 1.0, used(1) * offered / (used(1) @ offered)),
    }


@pytest.mark.long
@pytest.mark.parametrize("happened", table_of_power())
def test_power_is_that_of_the_table(happened: str) -> None:
    claimed, expected_g2, expected_min, reported = table_of_power()[happened]
    design, samples, theirs = RandomizedResponse(100, epsilon=claimed), 200, 60
    drawn = np.random.default_rng(6).multinomial(10**5, reported, size=samples)
    found: list[Check] = [check(Tally(design, counts), simulations=199) for counts in drawn]
    for expected, power in (
        (expected_g2, np.mean([numbers(one)["p_g2"] <= 0.05 for one in found])),
        (expected_min, np.mean([numbers(one)["extreme"] <= 0.05 for one in found])),
    ):
        # Four standard errors of the difference of two proportions; one more success and failure keep them from zero.
        both = (expected * theirs + power * samples + 1) / (theirs + samples + 2)
        assert abs(power - expected) <= 4 * np.sqrt(both * (1 - both) * (1 / theirs + 1 / samples))


@pytest.mark.parametrize("design", [RandomizedResponse(3, epsilon=1), UnaryEncoding(3, epsilon=1)])
def test_groups_of_one_size_share_simulated_surveys(design: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    truth = np.array([0.6, 0.4, 0.0])
    tallies = []
    for n in (30, 30, 45, 30):
        reports = design.draw(rng.choice(3, size=n, p=truth), rng.bytes)
        tallies.append(tally(reports, design, codes=True))
    together = Tally(
        design,
        np.stack([part.counts for part in tallies]),
        n=np.array([part.n for part in tallies]),
        histogram=None if tallies[0].histogram is None else np.stack([part.histogram for part in tallies]),
        by=("g",),
        groups=tuple((i,) for i in range(4)),
    )
    alone = [check(part) for part in tallies]
    seeds: list[int] = []

    def noted(original: Any) -> Any:
        def seeded_by(given: Any) -> Any:
            seeds.append(1)
            return original(given)

        return seeded_by

    for module in (fit, kinds):
        monkeypatch.setattr(module, "seeded_by", noted(module.seeded_by))
    grouped = check(together)
    assert len(seeds) <= 2  # sizes, not groups
    assert grouped.p_value.tolist() == [one.p_value for one in alone]
    rows = grouped.to_dict()["groups"]
    assert [row["p_value"] for row in rows] == grouped.p_value.tolist()


def test_a_check_of_two_billion_reports_has_a_p_value() -> None:
    # Whatever the shares are, either of the last two answers has at most 3 of 7 reports, and here has about a half:
    # thousands of standard errors more. SciPy's beta tail is NaN for the 39 reports of the first.
    for count in (38, 39, 40):
        counted = Tally(RandomizedResponse(3, odds=(1, 3)), [count, 944_327_258, 1_000_000_000])
        assert check(counted, simulations=19).p_value < 1e-300
