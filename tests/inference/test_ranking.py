"""Ranking: the answers that are certainly among the most common ones."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import binom, multinomial

from cases import HALF, KUK, LOADED
from tables import grouped
from warner import Channel, RandomizedResponse, SubsetSelection, Tally, estimate, simulate
from warner.inference.intervals import Confidence, limits
from warner.inference.ranking import certain_ranks, ranking

FOUND = estimate(Tally(HALF, [400, 350, 250]))
REGIONS = (("north",), ("south",), (None,))
GROUPED = estimate(Tally(HALF, [[400, 350, 250], [0, 0, 0], [30, 50, 20]], by=("region",), groups=REGIONS))


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


def test_certain_ranks() -> None:
    found = FOUND.commonest(2)
    assert found.certain.tolist() == [True, True, False]
    assert found.to_dict()["certain"] == ["never", "once"]
    first = FOUND.commonest(1)
    assert first.certain.tolist() == [False, False, False]
    assert first.possible.tolist() == [True, True, False]
    assert first.text().splitlines()[1:] == ["  none can be named", "  1 of: never, once"]


def test_certain_ranks_are_right_at_their_level() -> None:
    design, surveys, truth = RandomizedResponse(12, epsilon=3), 1000, simulate.zipf(12, 1)
    counts = simulate.reports_of_population(truth, 4000, design, rng=np.random.default_rng(6), size=surveys)
    found = estimate(grouped(design, counts)).commonest(3, level=0.8)
    wrong = (found.certain[:, 3:].any(axis=-1) | ~found.possible[:, :3].all(axis=-1)).mean()
    assert wrong <= 0.2 + 4 * np.sqrt(0.2 * 0.8 / surveys)
    assert found.certain[:, 0].mean() > 0.9  # it can speak


def test_ranks_come_from_sign_tests_of_pairs() -> None:
    # 390 against 350: P(Bin(740, 1/2) >= 390) = 0.076, not below 0.05 / 2; 400 against 340: 0.015
    assert not estimate(Tally(HALF, [390, 350, 260])).commonest(1).certain.any()
    found = estimate(Tally(HALF, [400, 340, 260])).commonest(1)
    assert found.certain.tolist() == [True, False, False]
    assert found.possible.tolist() == [True, False, False]
    assert not found.approximate


def by_definition(counts: Any, count: int, level: float) -> tuple[Any, Any]:
    """Every pair is tested."""
    k = len(counts)
    each = level / (count * (k - count))
    shown = [[a > b and binom.sf(a - 1, a + b, 0.5) <= each for b in counts] for a in counts]
    beaten, beating = np.sum(shown, axis=1), np.sum(shown, axis=0)
    return k - 1 - beaten < count, beating < count


@given(st.lists(st.integers(0, 60), min_size=3, max_size=7), st.data())
def test_only_the_strongest_rival_counts(counts: list[int], data: st.DataObject) -> None:
    assume(sum(counts) > 0)
    m = data.draw(st.integers(1, len(counts) - 1))
    for odds in ((5, 1), (1, 5)):
        design = RandomizedResponse(len(counts), odds=odds)
        found = ranking(Tally(design, counts), m, Confidence(0.8))
        if odds == (5, 1):
            certain, possible = by_definition(counts, m, 1 - 0.8)
            assert_array_equal(found.certain, certain)
            assert_array_equal(found.possible, possible)
        else:  # rarer means larger: who is certainly not among the m most common is among the K - m most reported
            turned = ranking(
                Tally(RandomizedResponse(len(counts), odds=(5, 1)), counts), len(counts) - m, Confidence(0.8)
            )
            assert_array_equal(found.certain, ~turned.possible)
            assert_array_equal(found.possible, ~turned.certain)


@pytest.mark.parametrize("odds", [(3, 1), (1, 4)])
@pytest.mark.parametrize(("k", "n", "count"), [(2, 30, 1), (3, 14, 1), (3, 14, 2), (4, 9, 1), (4, 9, 2)])
def test_ranks_err_no_more_often_than_they_say(odds: tuple[int, int], k: int, n: int, count: int) -> None:
    design = RandomizedResponse(k, odds=odds)
    surveys = np.array([c for c in itertools.product(range(n + 1), repeat=k) if sum(c) == n])
    found = ranking(grouped(design, surveys), count, Confidence(0.8))
    rng, worst = np.random.default_rng(3), 0.0
    truths = [np.full(k, 1 / k), np.eye(k)[0], *np.sort(rng.dirichlet(np.ones(k), 12))[:, ::-1]]
    truths += [np.array([2.0] * count + [1.9] * (k - count)) / (2 * count + 1.9 * (k - count))]
    for truth in truths:
        law = multinomial.pmf(surveys, n, design.q + (design.p - design.q) * truth)
        among = np.arange(k) < count  # sorted; of equal shares, these alone are to be named, or kept
        wrong = (found.certain & ~among).any(axis=-1) | (~found.possible & among).any(axis=-1)
        worst = max(worst, law[wrong].sum())
    assert 0 < worst <= 0.2


def test_pairs_name_the_leader_more_often_than_intervals() -> None:
    design, n, surveys = RandomizedResponse(10, odds=(6, 1)), 2500, 400
    truth = np.array([0.25, 0.15] + [0.075] * 8)
    counts = simulate.reports_of_population(truth, n, design, rng=np.random.default_rng(5), size=surveys)
    tally = grouped(design, counts)
    at_once = limits(tally, Confidence(simultaneous=True))
    apart = [certain_ranks(low, high, 1)[0][0] for low, high in zip(at_once.low, at_once.high, strict=True)]
    assert ranking(tally, 1, Confidence()).certain[:, 0].mean() > np.mean(apart) + 0.2


def test_one_long_ranking() -> None:
    k = 10**6
    design, counts = RandomizedResponse(k, epsilon=12), np.full(k, 859)
    counts[[5, 7]], counts[-1] = [1000, 1001], 10**8
    found = estimate(Tally(design, counts)).commonest(1)
    assert np.flatnonzero(found.certain).tolist() == [k - 1]
    assert np.flatnonzero(found.possible).tolist() == [k - 1]
    two = estimate(Tally(design, counts)).commonest(2)
    assert np.flatnonzero(two.certain).tolist() == [k - 1]
    assert {5, 7} <= set(np.flatnonzero(two.possible).tolist())


def test_what_is_approximate_says_so() -> None:
    linear = estimate(Tally(KUK, [300, 400, 300])).commonest(1)
    assert linear.approximate
    assert linear.to_dict()["approximate"]
    assert "(approximate, 95 % confidence, population)" in linear.text()


@pytest.mark.filterwarnings("ignore:the reports do not seem to fit")
@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 60), st.data())
def test_a_response_among_two_answers_and_its_channel_rank_alike(a: int, b: int, n: int, data: Any) -> None:
    assume(a != b)
    yes = data.draw(st.integers(0, n))
    rows = [[Fraction(a, a + b), Fraction(b, a + b)], [Fraction(b, a + b), Fraction(a, a + b)]]
    tallies = [Tally(design, [yes, n - yes]) for design in (RandomizedResponse(2, odds=(a, b)), Channel(rows, 2, 2))]
    for level, target in itertools.product((0.5, 0.95), ("population", "realised")):
        first, second = (ranking(counted, 1, Confidence(level, target)) for counted in tallies)
        assert_array_equal(first.certain, second.certain)
        assert_array_equal(first.possible, second.possible)
        assert first.approximate == second.approximate


@pytest.mark.parametrize(
    "design", [SubsetSelection(8, odds=(6, 1), size=2), RandomizedResponse(8, odds=(1, 9)), LOADED]
)
def test_ranks_are_right_whatever_the_design(design: Any) -> None:
    surveys, n, truth = 400, 1500, simulate.zipf(design.k, 1)
    counts = simulate.reports_of_population(truth, n, design, rng=np.random.default_rng(9), size=surveys)
    tally = grouped(design, counts, n)
    found = estimate(tally, method="inv").commonest(2, level=0.8)
    wrong = (found.certain[:, 2:].any(axis=-1) | ~found.possible[:, :2].all(axis=-1)).mean()
    assert wrong <= 0.2 + 4 * np.sqrt(0.2 * 0.8 / surveys)
    assert (found.possible | ~found.certain).all()


def test_one_ranking_through_every_door() -> None:
    found = GROUPED.commonest(2)
    table = found.table()
    assert list(table) == ["region", "value", "certain", "possible"]
    assert_array_equal(table["certain"].reshape(3, 3), found.certain)
    assert_array_equal(table["possible"].reshape(3, 3), found.possible)
    told = json.loads(found.to_json())
    assert told == found.to_dict()
    assert told["groups"] == [["north"], ["south"], [None]]
    assert (told["count"], told["level"], told["target"], told["approximate"]) == (2, 0.95, "population", False)
    for row, names in zip(found.certain, told["certain"], strict=True):
        assert names == [HALF.domain[i] for i in np.flatnonzero(row)]
    assert repr(found) == found.text()
    assert "among the 2 most common answers (95 % confidence, population, in each group)" in found.text()
    assert found.to_frame("pandas").shape == (9, 4)


def test_an_empty_group_says_so() -> None:
    for found in (GROUPED.commonest(1), GROUPED.commonest(2, target="realised")):
        assert "south: no reports" in found.text()
        assert "north: " in found.text()
        assert not found.certain[1].any()


@pytest.mark.parametrize("count", [0, 3, 1.0, True, "1", -1])
def test_how_many_is_a_whole_number_below_that_of_the_answers(count: Any) -> None:
    with pytest.raises(
        ValueError, match="count must be a whole number from 1 to 2, below the number of answers, but got"
    ):
        FOUND.commonest(count)
