"""Who leads: the answers that are certainly among the commonest."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from warner import Channel, RandomizedResponse, SubsetSelection, Tally, estimate, simulate
from warner.inference.ranking import certain_ranks

SURVEY = RandomizedResponse(["never", "once", "often"], odds=(2, 1))  # p = 1/2, q = 1/4
FOUND = estimate(Tally(SURVEY, [400, 350, 250]))
REGIONS = (("north",), ("south",), (None,))
GROUPED = estimate(Tally(SURVEY, [[400, 350, 250], [0, 0, 0], [30, 50, 20]], by=("region",), groups=REGIONS))
DICE = Channel([["4/6", "1/6", "1/6"], ["1/6", "4/6", "1/6"], ["1/12", "1/4", "2/3"]], ["a", "b", "c"], ["a", "b", "c"])


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
    found = estimate(Tally(design, counts, by=("s",), groups=tuple((i,) for i in range(surveys)))).commonest(
        3, level=0.8
    )
    wrong = (found.certain[:, 3:].any(axis=-1) | ~found.possible[:, :3].all(axis=-1)).mean()
    assert wrong <= 0.2 + 4 * np.sqrt(0.2 * 0.8 / surveys)
    assert found.certain[:, 0].mean() > 0.9  # it can speak


def test_ranks_hold_for_all_answers_at_once() -> None:
    found = FOUND.commonest(2, level=0.9)
    at_once = FOUND.interval(level=0.9, simultaneous=True)
    assert found.confidence.simultaneous
    others = [(at_once.high[np.arange(3) != i] >= at_once.low[i]).sum() for i in range(3)]
    assert_array_equal(found.certain, np.array(others) < 2)
    # Here one at a time would name the leader, all at once does not.
    close = estimate(Tally(SURVEY, [3875, 3665, 2460]))
    apart, together = close.interval(), close.interval(simultaneous=True)
    assert apart.low[0] > apart.high[1]
    assert together.low[0] <= together.high[1]
    assert not close.commonest(1).certain.any()


@pytest.mark.parametrize("design", [SubsetSelection(8, odds=(6, 1), size=2), RandomizedResponse(8, odds=(1, 9)), DICE])
def test_ranks_are_right_whatever_the_design(design: Any) -> None:
    surveys, n, truth = 400, 1500, simulate.zipf(design.k, 1)
    counts = simulate.reports_of_population(truth, n, design, rng=np.random.default_rng(9), size=surveys)
    groups = tuple((i,) for i in range(surveys))
    tally = Tally(design, counts, n=np.full(surveys, n), by=("s",), groups=groups)
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
    assert (told["count"], told["level"], told["target"]) == (2, 0.95, "population")
    for row, names in zip(found.certain, told["certain"], strict=True):
        assert names == [SURVEY.domain[i] for i in np.flatnonzero(row)]
    assert repr(found) == found.text()
    assert "among the 2 commonest answers (95 % confidence, population, in each group)" in found.text()
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
