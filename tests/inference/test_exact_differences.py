"""Exact limits of differences: every table of small samples is looked at, and what is not exact would show.

It tests inference/exact_tests.py.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import xlogy
from scipy.stats import binom, multinomial

from cases import PAIRS
from tables import whole
from warner import RandomizedResponse, Tally, compare_samples, estimate, surveys
from warner.inference.binomial import Binomial
from warner.inference.comparisons import compare, compare_groups
from warner.inference.exact_tests import (
    MOST_REPORTS,
    Line,
    TwoBinomials,
    barnard_test,
    limits_between,
    limits_of_answers,
    limits_of_supports,
    sign_test,
)
from warner.inference.intervals import Confidence

THREE, NONE, DICE, TURNED = (0.25, 0.5), (0.0, 1.0), (1 / 6, 3 / 4), (0.75, -0.5)  # base and gain
MOSTLY_YES = (0.7, 0.3)
GRID = np.append(np.linspace(0, 1, 21), 1e-6)


def holds(low: Any, high: Any, real: float, law: Any, tail: float) -> float:
    """Coverage of the interval; each side misses at most as often as its tail."""
    above, below = law[low > real + 1e-12].sum(), law[high < real - 1e-12].sum()
    assert max(above, below) <= tail * (1 + 1e-9)
    return float(1 - above - below)


# Every table


@pytest.mark.parametrize(
    ("first", "second", "tail"),
    [
        ((8, THREE), (10, THREE), 0.025),
        ((6, NONE), (6, NONE), 0.05),
        ((6, NONE), (9, DICE), 0.025),
        ((5, TURNED), (8, DICE), 0.1),
        ((2, MOSTLY_YES), (40, MOSTLY_YES), 0.0005),
    ],
)
def test_limits_between_samples_hold_for_all_shares(first: Any, second: Any, tail: float) -> None:
    (n1, one), (n2, two) = first, second
    tables = list(itertools.product(range(n1 + 1), range(n2 + 1)))
    found = [limits_between(Binomial(a, n1, *one), Binomial(b, n2, *two), tail) for a, b in tables]
    low, high, p_value = np.array(found).T
    assert ((low >= -1) & (low <= high) & (high <= 1)).all()
    assert (((low > 0) | (high < 0)) == (p_value < 2 * tail)).all()  # one voice
    a, b = np.array(tables).T
    laws1, laws2 = ([binom.pmf(c, m, q + p * x) for x in GRID] for c, m, (q, p) in ((a, n1, one), (b, n2, two)))
    covered = []
    for (x, law1), (y, law2) in itertools.product(zip(GRID, laws1, strict=True), zip(GRID, laws2, strict=True)):
        law = law1 * law2
        covered.append(holds(low, high, x - y, law, tail))
        if x == y:
            assert law[p_value < 2 * tail].sum() <= 2 * tail * (1 + 1e-9)
    assert min(covered) < 1 - tail or n1 < 5  # not for nothing


@pytest.mark.parametrize(
    ("n", "k", "odds", "tail"),
    [(11, 3, (3, 1), 0.025), (10, 5, (9, 1), 0.1), (10, 3, (1, 5), 0.05), (9, 4, (1, 0), 0.025)],
)
def test_limits_of_two_answers_hold_for_all_shares(n: int, k: int, odds: tuple[int, int], tail: float) -> None:
    design = RandomizedResponse(k, odds=odds)
    rate = design.q, design.p - design.q
    a, b = np.array([pair for pair in itertools.product(range(n + 1), repeat=2) if sum(pair) <= n]).T
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    low, high = np.array([limits_of_answers(Binomial(x, n, *rate), Binomial(y, n, *rate), tail) for x, y in pairs]).T
    assert ((low >= -1) & (low <= high) & (high <= 1)).all()
    assert (((low > 0) | (high < 0)) == (sign_test(a * 1.0, b * 1.0) < 2 * tail)).all()
    covered = []
    for x, y in itertools.product(GRID, repeat=2):
        if x + y <= 1 + 1e-9:
            chances = [rate[0] + rate[1] * x, rate[0] + rate[1] * y]
            law = multinomial.pmf(np.stack([a, b, n - a - b], axis=1), n, [*chances, max(1 - sum(chances), 0)])
            covered.append(holds(low, high, x - y, law, tail))
    assert min(covered) < 1 - tail


def test_limits_of_supports_hold_for_all_probabilities() -> None:
    n, gain, tail = 10, 0.4, 0.05
    a, b = np.array([pair for pair in itertools.product(range(n + 1), repeat=2) if sum(pair) <= n]).T
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    low, high = np.array([limits_of_supports(x, y, n, gain, tail) for x, y in pairs]).T
    for one, two in itertools.product(GRID, repeat=2):
        if one + two <= 1 + 1e-9 and abs(one - two) <= gain:
            law = multinomial.pmf(np.stack([a, b, n - a - b], axis=1), n, [one, two, max(1 - one - two, 0)])
            holds(low, high, (one - two) / gain, law, tail)


@settings(max_examples=8)
@given(st.integers(0, 60), st.integers(0, 80), st.sampled_from([0.005, 0.025, 0.1]))
def test_whoever_is_named_first(a: int, b: int, tail: float) -> None:
    one, two = Binomial(a, 60, *THREE), Binomial(b, 80, *DICE)
    low, high, p_value = limits_between(one, two, tail)
    assert_allclose(limits_between(two, one, tail), [-high, -low, p_value], atol=1e-4)
    # Respondents who are not counted change nothing
    other = Binomial(60 - a, 60, 1 - THREE[0], -THREE[1])
    assert_allclose(limits_between(other, two, tail), [low, high, p_value], rtol=1e-12)
    wider = limits_between(one, two, tail / 2)  # but for a bit: tables have another order at another level
    assert wider[0] <= low + 1e-2
    assert high - 1e-2 <= wider[1]
    if a + b <= 80:
        one, two = (Binomial(count, 80, *THREE) for count in (a, b))
        low, high = limits_of_answers(one, two, tail)
        assert_allclose(limits_of_answers(two, one, tail), [-high, -low], atol=1e-12)


# Outside values


def test_against_a_search_over_all_shares() -> None:
    # 7 of 10 against 2 of 12, truth always told. The order of all tables, and every probability, done the slow way.
    n1, n2, quantile = 10, 12, 1.959963984540054
    a, b = np.array(list(itertools.product(range(n1 + 1), range(n2 + 1)))).T

    def score(x: Any, y: Any, d: float) -> Any:
        some = np.linspace(max(0, -d) + 1e-9, min(1, 1 - d) - 1e-9, 4001)
        x, y = (np.atleast_1d(count)[:, np.newaxis] for count in (x, y))
        likely = xlogy(x, some + d) + xlogy(n1 - x, 1 - some - d) + xlogy(y, some) + xlogy(n2 - y, 1 - some)
        x, y, second = x[:, 0], y[:, 0], some[likely.argmax(axis=1)]
        error = np.sqrt((second + d) * (1 - second - d) / n1 + second * (1 - second) / n2)
        apart = x / n1 - y / n2 - d
        return np.where(np.abs(apart) < 1e-12, 0, apart / np.maximum(error, 1e-9))

    def largest(tables: Any, d: float) -> float:
        seconds = np.linspace(max(0, -d), min(1, 1 - d), 401)[:, np.newaxis]
        return float((binom.pmf(a, n1, seconds + d) * binom.pmf(b, n2, seconds))[:, tables].sum(axis=1).max())

    at_zero = score(a, b, 0.0)
    p_values = np.array([2 * largest(at_zero >= z - 1e-3, 0.0) if z > 1 else 1 for z in at_zero])
    about = brentq(lambda d: score(7, 2, d)[0] - quantile, -0.5, 0.5)
    refuted = p_values < 0.05
    observed = (a == 7) & (b == 2)
    assert refuted[observed]
    before = (score(a, b, about) >= quantile - 1e-3) & refuted | observed
    exact = brentq(lambda d: largest(before, d) - 0.025, -0.5, 0.5, xtol=1e-5)
    low, _, p_value = limits_between(Binomial(7, n1, *NONE), Binomial(2, n2, *NONE), 0.025)
    assert low == pytest.approx(exact, abs=2e-4)
    assert p_value == pytest.approx(p_values[observed][0], rel=1e-4)


def test_a_difference_nobody_can_have_has_no_chance() -> None:
    law = TwoBinomials(5, 5, (0.25, 0.75), (0.25, 0.75))
    assert law.largest_chance(np.zeros(6, dtype=np.int64), Line(0.6, 1.0)) == 0
    assert law.largest_chance(np.zeros(6, dtype=np.int64), Line(0.5, 1.0)) == pytest.approx(1)
    assert barnard_test(3, 3, (5, 5)) == 1


def test_many_reports_lead_to_the_normal_interval() -> None:
    rate = 0.1, 0.6
    for n in (200, 2000):
        a, b = 0.4, 0.3
        low, high, _ = limits_between(Binomial(a * n, n, *rate), Binomial(b * n, n, *rate), 0.025)
        error = np.sqrt((a * (1 - a) + b * (1 - b)) / n) / 0.6
        assert high - low == pytest.approx(2 * 1.96 * error, rel=0.03)
        low, high = limits_of_answers(Binomial(a * n, n, *rate), Binomial(b * n, n, *rate), 0.025)
        error = np.sqrt((a + b - (a - b) ** 2) / n) / 0.6
        assert high - low == pytest.approx(2 * 1.96 * error, rel=0.03)


def test_counts_that_noise_does_not_explain_promise_no_more() -> None:
    # Under truth 1/2 with lies 1/4, fewer than a quarter of the reports are less than no respondent leads to.
    n, rate = 100, (0.25, 0.25)
    for first in (45, 50):  # the test calls both pairs different
        at_noise = limits_of_answers(Binomial(first, n, *rate), Binomial(25, n, *rate), 0.025)
        below = limits_of_answers(Binomial(first, n, *rate), Binomial(5, n, *rate), 0.025)
        assert 0 < below[0] <= at_noise[0] + 1e-3
    low, high, _ = limits_between(Binomial(0, n, *rate), Binomial(100, n, *rate), 0.025)
    at_ends = limits_between(Binomial(25, n, *rate), Binomial(50, n, *rate), 0.025)
    assert -1 == low < high < 0
    assert high >= at_ends[1] - 1e-3
    # 18 of 40, where 28 say yes by noise alone: 1 of 1 differs from that, but not from 28.
    low, high, p_value = limits_between(Binomial(1, 1, *MOSTLY_YES), Binomial(18, 40, *MOSTLY_YES), 0.025)
    assert p_value < 0.05
    assert 0 < low < 1e-6
    assert high == 1


def test_the_largest_chance_is_found_between_the_points_of_the_grid() -> None:
    # All of n1 against none of n2: x^n1 (1 - x)^n2 is largest at n1 / (n1 + n2).
    for n1, n2 in ((3, 2), (5, 8), (7, 30), (11, 3)):
        exact = (n1 / (n1 + n2)) ** n1 * (n2 / (n1 + n2)) ** n2
        assert barnard_test(n1, 0, (n1, n2)) == pytest.approx(2 * exact, rel=1e-10)


@pytest.mark.parametrize("n", [(5, 8), (30, 30), (12, 90)])
@pytest.mark.parametrize("line", [Line(0.0, 1.0), Line(-0.1, 1.3)])
def test_what_a_chance_is_compared_with_is_on_the_same_side(n: tuple[int, int], line: Line) -> None:
    law = TwoBinomials(*n, (0.0, 1.0), (0.0, 1.0))
    for score in (0.5, 1.0, 1.5, 2.0, 3.0):
        tables = law.fewest(line, score)
        chance = law.largest_chance(tables, line)
        for number in chance * np.array([0.5, 0.95, 1 - 1e-9, 1 + 1e-9, 1.002, 1.05, 2]):
            assert (law.largest_chance(tables, line, against=number) >= number) == (chance >= number)


def test_where_roots_of_the_likelihood_coincide() -> None:
    # Without a yes, likeliest is the smallest probability of the line, here 0, though another root is close to it.
    # With a probability of 5 % instead, which Newton's method leads to, the score would be -4e-7.
    assert TwoBinomials(50, 9000, NONE, NONE).score(0, 0, Line(1e-9, 0.006980814076115601)) < -1e-5
    limits_between(Binomial(5, 10, 0.9, -0.05), Binomial(0, 1, *MOSTLY_YES), 0.25)  # all three, without a warning


# In every interface


@pytest.mark.parametrize("turn", [1, -1])
def test_an_estimate_says_exact_up_to_so_many_reports(turn: int, monkeypatch: pytest.MonkeyPatch) -> None:
    design = RandomizedResponse(["never", "once", "often"], odds=(2, 1))
    rows = np.array([[40, 35, 25], [30, 50, 20]])
    both = estimate(Tally(design, rows, by=("g",), groups=((1,), (2,))))
    first, second = ("never", "once")[::turn]
    one, two = (1, 2)[::turn]
    for compared in (both.compare(first, second), both.compare("never", between=(one, two))):
        assert not compared.approximate
        assert "approximate" not in compared.text()
    assert both.compare(first, second, target="realised").approximate
    weighted = Tally(design, rows[0] * 1.0, squares=150.0)
    assert compare(weighted, first, second, Confidence()).approximate
    monkeypatch.setattr("warner.inference.comparisons.MOST_REPORTS", 199)
    assert both.compare(first, second).approximate
    assert both.compare("never", between=(one, two)).approximate


def test_the_number_of_reports_up_to_which_differences_are_exact_is_documented() -> None:
    page = Path(__file__).parents[2] / "docs" / "explanation" / "intervals.md"
    assert f"{MOST_REPORTS:,} reports" in page.read_text(encoding="utf-8")


def test_sets_are_compared_exactly_where_their_reports_are_at_hand() -> None:
    rng = np.random.default_rng(3)
    reports = PAIRS.draw(rng.integers(2, size=80), rng.bytes)
    found = compare(whole(PAIRS, reports), "a", "c", Confidence())
    assert not found.approximate
    assert (found.p_value < 0.05) == (found.low > 0 or found.high < 0)
    support = PAIRS.law.count(reports, group=np.arange(80), groups=80).counts > 0
    first, second = ((support[:, i] & ~support[:, j]).sum() for i, j in ((0, 2), (2, 0)))
    ends = limits_of_supports(float(first), float(second), 80.0, PAIRS.p - PAIRS.q, 0.025)
    assert_allclose([found.low, found.high], ends)


def test_two_designs_are_compared_exactly() -> None:
    direct, dice = RandomizedResponse(["yes", "no"], odds=(1, 0)), surveys.forced_response(truth="3/4", yes="1/6")
    samples = compare_samples(Tally(dice, [16, 44]), Tally(direct, [2, 38]), "yes")
    assert not samples.approximate
    assert samples.test == "exact"
    ends = limits_between(Binomial(16, 60, *DICE), Binomial(2, 40, *NONE), 0.025)
    assert_allclose([samples.low, samples.high, samples.p_value], ends, atol=1e-9)
    many = compare_samples(Tally(dice, [16_000, 44_000]), Tally(direct, [2000, 38_000]), "yes")
    assert many.approximate
    same = Tally(direct, [[16, 44], [2, 38]], by=("g",), groups=((1,), (2,)))
    between = compare_groups(same, "yes", (1, 2), Confidence())
    alone = compare_samples(Tally(direct, [16, 44]), Tally(direct, [2, 38]), "yes")
    assert (between.low, between.high, between.p_value) == (alone.low, alone.high, alone.p_value)
