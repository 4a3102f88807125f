"""Estimates at infinity are explained: who they come from, and what these people reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from warner import RandomizedResponse, surveys
from warner.regression.boundaries import described
from warner.regression.regressions import regress

if TYPE_CHECKING:
    from warner.regression.regressions import Regression

DICE = surveys.forced_response(truth="2/3", yes="1/6")
THREE = RandomizedResponse(["never", "once", "often"], odds=(3, 1))


def fitted(design: Any, columns: dict[str, list[Any]], counts: list[int], **options: Any) -> Regression:
    data = {"answer": list(design.columns) * (len(counts) // len(design.columns)), **columns, "n": counts}
    return regress("answer", data, design, on=list(columns), counts="n", **options)


def test_a_group_below_the_noise_floor_is_named_with_what_it_reported() -> None:
    # 25/200 = 12.5 % is less than the 1/6 of people without the trait.
    fit = fitted(DICE, {"g": [0, 0, 1, 1]}, [70, 130, 25, 175])
    assert fit.coefficients[1] == -np.inf
    (reason,) = fit.reasons
    assert reason == (
        "The 200 people with g = 1 reported 'yes' in 12.5 % of cases; if none of them held the answer 'yes', 16.7 % "
        "would have. So the most likely share of 'yes' among them is 0."
    )


def test_a_group_above_the_ceiling_is_one_without_the_other_answer() -> None:
    fit = fitted(DICE, {"g": [0, 0, 1, 1]}, [70, 130, 190, 10])
    (reason,) = fit.reasons
    assert fit.coefficients[1] == np.inf
    assert "reported 'no' in 5.0 % of cases; if none of them held the answer 'no', 16.7 % would have" in reason


def test_finite_estimates_need_no_reason() -> None:
    assert fitted(DICE, {"g": [0, 0, 1, 1]}, [70, 130, 40, 160]).reasons == ()


def test_each_group_and_answer_has_its_reason() -> None:
    groups = {"g": ["n"] * 3 + ["s"] * 3 + ["w"] * 3}
    fit = fitted(THREE, groups, [90, 60, 50, 90, 20, 90, 60, 60, 25])
    assert [reason.split(":")[0] for reason in fit.reasons] == [
        "The 200 people with g = s",
        "The 145 people with g = w",
    ]
    assert ["'once'" in reason for reason in fit.reasons] == [True, False]


def test_who_is_concerned_is_the_same_whatever_the_reference_and_whichever_level_is_left_out() -> None:
    for reference in THREE.domain:
        fit = fitted(THREE, {"g": ["b"] * 3 + ["a"] * 3}, [90, 60, 50, 90, 20, 90], reference=reference)
        assert fit.reasons == (
            "The 200 people with g = a: in this model, the most likely share of 'once' among them is 0.",
        )


def test_reports_that_do_not_say_it_alone_are_not_compared() -> None:
    # The slope is steep enough that the oldest cannot be yes, though these themselves reported it often enough.
    fit = fitted(RandomizedResponse(["yes", "no"], odds=(1, 0)), {"x": [1, 1, 2, 2, 3, 3]}, [5, 0, 2, 2, 0, 5])
    assert all("held the answer" in reason for reason in fit.reasons)
    both = regress(
        "answer",
        {"answer": ["yes", "no"] * 2, "g": [0, 0, 1, 1], "n": [70, 130, 25, 175], "how": ["a", "a", "a", "b"]},
        {"a": DICE, "b": DICE},
        by="how",
        on=["g"],
        counts="n",
    )
    assert both.reasons == (
        "The 200 people with g = 1: in this model, the most likely share of 'yes' among them is 0.",
    )


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ([False] * 4 + [True, True], " with age = 40"),
        ([False, False, True, True, True, True], " with age of at least 30"),
        ([True, True, True, True, False, False], " with age of at most 30"),
        ([True, False] * 3, " with region = n"),
        ([False, False, False, True, False, False], " with age = 30 and region = s"),
        ([True, False, False, True, False, False], " with certain covariates (2 combinations of them)"),
        ([True] * 6, ""),
    ],
)
def test_people_are_described_by_what_sets_them_apart(chosen: list[bool], words: str) -> None:
    covariates = {"age": np.array([20, 20, 30, 30, 40, 40]), "region": np.array(["n", "s"] * 3, dtype=object)}
    assert described(covariates, np.array(chosen)) == words
