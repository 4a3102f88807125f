"""Plans of open domains: the smallest share, the people that it takes, and what else is said."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import warner
from references import reference
from warner import OpenDomain
from warner.discovery.prefix_search import planned_share

APPS = OpenDomain(epsilon=1, bits=48, step=16, field=3)


def test_the_smallest_share_is_that_of_the_prototype() -> None:
    plan = warner.plan(APPS, people=1_000_000)
    case = next(case for case in reference("open_domains")["plans"] if case["steps"] == [16, 16, 16])
    # The prototype has Euler's constant as 0.58.
    assert_allclose(plan.smallest_share, case["smallest share, exact tails, epsilon 1, a million people"], rtol=1e-4)
    assert_allclose(plan.lower_bound, case["Fano's bound, epsilon 1, a million people"], rtol=1e-6)
    texts = reference("open_domains")["texts"][0]["epsilon 1"]
    words = warner.plan(OpenDomain(epsilon=1, letters="a-z", length=12), people=1_000_000)
    assert_allclose(words.smallest_share, texts["smallest share, a million people"], rtol=1e-4)
    assert_allclose(words.report_bits, texts["bits of a report"], rtol=1e-9)


@pytest.mark.parametrize("share", [0.5, 0.05, 0.01])
def test_people_are_the_fewest_for_a_share(share: float) -> None:
    plan = warner.plan(APPS, share=share)
    assert plan.smallest_share <= share
    assert planned_share(APPS, plan.people - 1) > share
    # theta = sqrt(v K / n) with K = 102 for 48 bits in three steps and v = 3.77: within a tenth for rare values.
    if share < 0.1:
        assert_allclose(plan.people, 3.77 * 102 / share**2, rtol=0.1)


def test_a_list_finds_smaller_shares_and_the_text_says_so() -> None:
    plan = warner.plan(APPS, people=1_000_000)
    assert plan.lower_bound < plan.listed_share(10_000) < plan.smallest_share
    text = plan.text().replace("\n", " ")
    assert text.startswith("Among 1,000,000 respondents, a value with a share of 1.96 % is found with a probability of")
    assert "if its share is below 1.37 %" in text
    assert "48.0 bits of possible answers" in text
    assert "Of a list of 10,000 expected values" in text
    assert "1,000,000" in plan.grid_text()


def test_json_and_table_have_the_same_numbers() -> None:
    plan = warner.plan(APPS, people=1_000_000)
    document = json.loads(plan.to_json())
    assert document["smallest_share"] == plan.smallest_share
    assert document["solved_for"] == "smallest_share"
    assert document["format"] == "warner plan"
    table = plan.table(epsilons=[plan.epsilon], people=[1_000_000])
    assert table["smallest_share"].tolist() == [plan.smallest_share]
    assert (np.diff(plan.table(epsilons=[1], people=[10**5, 10**6])["smallest_share"]) < 0).all()
    assert warner.plan(APPS, share=0.05).to_dict()["solved_for"] == "people"


def test_too_few_people_find_nothing() -> None:
    plan = warner.plan(APPS, people=20)
    assert math.isinf(plan.smallest_share)
    assert "not even a value with a share of 100 %" in plan.text()
    assert plan.to_dict()["smallest_share"] is None


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, TypeError, "either people or share"),
        ({"people": 10, "share": 0.1}, TypeError, "either people or share"),
        ({"people": 10, "half_width": 0.1}, TypeError, "half_width must be left out"),
        ({"people": 10, "epsilon": 1}, TypeError, "epsilon must be left out"),
        ({"share": 0.0}, ValueError, "share must be above 0"),
        ({"share": 1e-12}, ValueError, "share must be larger"),
        ({"people": 0}, ValueError, "people"),
        ({"people": 10, "level": 2}, ValueError, "level"),
    ],
)
def test_what_cannot_be_planned_is_one_clear_line(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        warner.plan(APPS, **options)
