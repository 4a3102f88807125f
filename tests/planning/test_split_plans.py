"""Plans of split questionnaires and of questions with several answers (`tradeoffs`)."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import warner

HEALTH = warner.SplitQuestionnaire({"smokes": ["yes", "no"], "drinks": ["never", "once", "often"]}, 2)


def at_least(needed: int, n: int, s: int, d: int) -> Fraction:
    """Probability that Bin(n, s/d) is at least so many, exactly."""
    ways = (math.comb(n, m) * s**m * (d - s) ** (n - m) for m in range(needed, n + 1))
    return Fraction(sum(ways), d**n)


@pytest.mark.parametrize("asked", [1, 2])
@pytest.mark.parametrize("goal", [{"half_width": 0.15}, {"error": 0.08}])
def test_each_question_is_asked_of_enough_respondents(asked: int, goal: dict[str, float]) -> None:
    device = warner.SplitQuestionnaire({"a": ["yes", "no"], "b": 3, "c": ["yes", "no"]}, 3, asked)
    planned = warner.plan(device, **goal)  # type: ignore[call-overload]
    needed = max(warner.plan(part, **goal).people for part in device.parts)  # type: ignore[call-overload]
    assert (
        at_least(needed, planned.people, asked, 3) >= Fraction(95, 100) > at_least(needed, planned.people - 1, asked, 3)
    )
    least = planned.least
    assert (
        at_least(least, planned.people, asked, 3) >= Fraction(95, 100) > at_least(least + 1, planned.people, asked, 3)
    )
    assert least >= needed
    (name, value) = next(iter(goal.items()))
    table = planned.table()
    assert table["question"].tolist() == ["a", "b", "c"]
    assert table[name].max() <= value
    for row, part in enumerate(device.parts):
        alone = warner.plan(part, people=least)
        assert (table["half_width"][row], table["error"][row]) == (alone.half_width, alone.error)
    back = warner.plan(device, people=planned.people)
    assert back.least == least
    assert back.to_dict()["questions"] == planned.to_dict()["questions"]
    assert (planned.solved_for, back.solved_for) == ("people", "half_width")


def test_text_and_json_say_what_is_lost() -> None:
    planned = warner.plan(HEALTH, people=2000)
    assert planned.text().startswith(
        "2,000 respondents: each question is asked of 963 of them or more with a probability of 95 %."
    )  # at_least(963, 2000, 1, 2) = 0.954, of 964 0.950 less a little: see the test above for the rule
    document = planned.to_dict()
    assert document["format"] == "warner plan"
    assert warner.designs.device_from_dict(document["design"]) == HEALTH
    for said in (planned.text(), document["lost"]):
        assert "Joint distributions are lost: no respondent reports on two questions." in said


def test_every_respondent_reports_on_all_options_with_at_most() -> None:
    device = warner.SelectAll(["beer", "wine", "tea"], 1, 2)
    planned = warner.plan(device, half_width=0.2, share=0.1)
    assert planned.people == planned.least == warner.plan(device.parts[0], half_width=0.2, share=0.1).people
    assert planned.text().startswith(f"{planned.people} respondents: all of them count for each question.")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs either people, or half_width or error"),
        ({"people": 100, "half_width": 0.1}, "needs either people, or half_width or error"),
        ({"people": 100, "epsilon": 1}, "plan of several questions takes people"),
        ({"people": 100, "quantity": "mean"}, "plan of several questions takes people"),
        ({"people": 100, "reference": 0.1}, "plan of several questions takes people"),
        ({"people": 2}, "people must be more"),
        ({"half_width": 0.0}, "half_width"),
    ],
)
def test_bad_input(options: dict[str, float], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        warner.plan(HEALTH, **options)  # type: ignore[call-overload]
