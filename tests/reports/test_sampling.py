"""Tests of reports/samples.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from cases import COIN
from warner import regress
from warner.explanation.explanations import explain
from warner.reports.samples import SIMPLE_RANDOM, Sampling, effective_number

ONE = np.ones(6)
NAMES = ["a", "b", "c"]


def sampling(cluster: list[int] | None, stratum: list[int] | None) -> Sampling:
    numbers = [None if given is None else np.array(given) for given in (cluster, stratum)]
    return Sampling(False, numbers[0], numbers[1])


def test_clusters_less_strata_are_the_degrees_of_freedom() -> None:
    both = sampling([0, 1, 1, 2, 3, 0], [0, 0, 0, 1, 1, 0])
    both.refuse_unidentified(ONE, [*NAMES, "d"])
    assert_array_equal(both.clusters.stratum, [0, 0, 1, 1])
    assert (both.clusters.number, both.strata, both.clusters.degrees_of_freedom) == (4, 2, 2)
    alone = sampling([0, 1, 2, 2, 2, 1], None)
    assert (alone.clusters.number, alone.strata, alone.clusters.degrees_of_freedom) == (3, 1, 2)


def test_a_simple_random_sample_has_none_of_the_features() -> None:
    assert SIMPLE_RANDOM.simple
    assert SIMPLE_RANDOM.features == (False, False, False, False)
    finite = Sampling(sampled=np.array([0.5]))
    for place, other in enumerate((Sampling(True), sampling([0, 1], None), sampling(None, [0, 0]), finite)):
        assert not other.simple
        assert [feature for feature, there in enumerate(other.features) if there] == [place]


@pytest.mark.parametrize(
    ("cluster", "stratum", "people", "complaint"),
    [
        (
            [0, 0, 1, 1, 2, 2],
            [0, 0, 0, 1, 1, 1],
            ONE,
            "one stratum each, but 1 lies in several, such as 'b'; give",
        ),
        ([0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1], ONE, "one stratum each, but 3 lie in several, such as 'a'"),
        ([0, 0, 0, 0, 0, 0], None, ONE, "clusters must be at least two, but all respondents are in one"),
        (
            [0, 0, 1, 1, 2, 2],
            [0, 0, 0, 0, 1, 1],
            ONE,
            "every stratum must have at least two clusters, but one has",
        ),
        (None, [0, 0, 0, 0, 0, 1], ONE, "every stratum must have at least two people, but one has only one; join it"),
    ],
)
def test_samples_that_do_not_show_how_they_vary_are_refused(
    cluster: list[int] | None, stratum: list[int] | None, people: Any, complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        sampling(cluster, stratum).refuse_unidentified(people, NAMES)


def test_a_row_may_stand_for_several_people_of_a_stratum() -> None:
    sampling(None, [0, 0, 0, 0, 0, 1]).refuse_unidentified(np.array([1, 1, 1, 1, 1, 2]), ())


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"clusters": "same"}, "clusters must be at least two, but all respondents are in one"),
        ({"strata": "alone"}, "every stratum must have at least two people, but one has only one; join it to another"),
        ({"clusters": "pair", "strata": "pair"}, "every stratum must have at least two clusters, but one has only one"),
        (
            {"clusters": "pair", "strata": "half"},
            "one stratum each, but 1 lies in several, such as 1; give each",
        ),
    ],
)
def test_regress_and_explain_refuse_the_same_samples_in_the_same_words(options: Any, complaint: str) -> None:
    data = {
        "answer": ["yes", "no", "no", "yes", "yes", "no"],
        "outcome": [1.0, 2.5, 2.0, 1.0, 3.0, 2.0],
        "same": ["x"] * 6,
        "alone": ["x"] * 5 + ["y"],
        "pair": [0, 0, 1, 1, 2, 2],
        "half": [0, 0, 0, 1, 1, 1],
    }
    for call in (
        lambda: regress("answer", data, COIN, on=[], **options),
        lambda: explain("outcome", data, {"answer": COIN}, on=[], **options),
    ):
        with pytest.raises(ValueError, match=complaint):
            call()


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=20))
def test_weights_are_worth_at_most_as_many_people_as_there_are(weights: list[float]) -> None:
    given_weights = np.array(weights)
    effective = effective_number(given_weights.sum(), (given_weights**2).sum())
    assert 1 - 1e-9 <= effective <= len(weights) + 1e-9
    equal = effective_number(len(weights) * 3.0, len(weights) * 9.0)
    assert equal == pytest.approx(len(weights))


def test_groups_without_people_are_worth_nobody() -> None:
    assert_array_equal(effective_number(np.array([6.0, 0.0]), np.array([12.0, 0.0])), [3.0, 0.0])
