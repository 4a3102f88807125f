"""Memoized designs: what one, several and all reports reveal, by enumeration of every sequence of reports."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import exact
from warner import RandomizedResponse, SubsetSelection, Tally, check, estimate, plan, simulate, tally
from warner.designs import Design, Memoized, design_from_dict, design_from_json
from warner.designs.rounds import EXACT_BITS, power_not_above

if TYPE_CHECKING:
    from collections.abc import Callable

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "longitudinal.json").read_text())

Law = dict[Any, Fraction]  # the probability of each outcome


def responses(*odds: tuple[int, int], k: int = 3) -> Memoized:
    return Memoized(*(RandomizedResponse(k, odds=pair) for pair in odds))


def answer_laws(design: Any) -> tuple[list[Law], Callable[[Any], Law]]:
    """Give the law of the permanent response to each key, and that of a report from a permanent response."""
    first, second = (exact(stage) for stage in (design.first, design.second))
    return [dict(enumerate(row)) for row in first], lambda response: dict(enumerate(second[response]))


def sequences(permanent: list[Law], report: Callable[[Any], Law], keys: tuple[int, ...]) -> Law:
    """Give the law of all reports of a person who has these keys, one after the other: keys recur with their response.

    By brute force: all permanent responses to the distinct keys, and all reports after each.
    """
    distinct = sorted(set(keys))
    law: Law = {}
    for chosen in itertools.product(*(permanent[key].items() for key in distinct)):
        response = {key: value for key, (value, _) in zip(distinct, chosen, strict=True)}
        weight = math.prod((p for _, p in chosen), start=Fraction(1))
        for reports in itertools.product(*(report(response[key]).items() for key in keys)):
            outcome = tuple(value for value, _ in reports)
            law[outcome] = law.get(outcome, Fraction(0)) + weight * math.prod(
                (p for _, p in reports), start=Fraction(1)
            )
    return law


def largest_ratio(laws: list[Law]) -> Fraction:
    """Give how much likelier an outcome can be under one law than under another."""
    return max(max(law[outcome] for law in laws) / min(law[outcome] for law in laws) for outcome in laws[0])


SMALL = [
    (responses((3, 1), (3, 1), k=2), 4),
    (responses((5, 1), (3, 1)), 3),
    (responses((9, 2), (7, 3), k=4), 3),
    (responses((3, 2), (5, 1), k=5), 2),
]


@pytest.mark.parametrize(("design", "most"), SMALL, ids=str)
def test_what_equal_answers_reveal_is_the_largest_ratio_over_all_sequences(design: Memoized, most: int) -> None:
    permanent, report = answer_laws(design)
    for reports in range(1, most + 1):
        laws = [sequences(permanent, report, (key,) * reports) for key in range(design.rounds.keys)]
        assert all(sum(law.values()) == 1 for law in laws)
        high, low = design.rounds.odds_after(reports)
        assert largest_ratio(laws) == Fraction(high, low)
        assert math.log(high / low) * (1 - 1e-15) <= design.eps_after(reports) <= math.log(high / low) * (1 + 1e-15)


def stays_and_changes(keys: tuple[int, ...]) -> tuple[int, ...]:
    """Tell when a history has the key of an earlier time: number keys in the order in which they come."""
    return tuple(list(dict.fromkeys(keys)).index(key) for key in keys)


def test_histories_that_stay_and_change_alike_spend_eps_infinity_for_each_key_and_others_may_spend_more() -> None:
    design = responses((2, 1), (9, 1))
    permanent, report = answer_laws(design)
    laws = {keys: sequences(permanent, report, keys) for keys in itertools.product(range(3), repeat=3)}
    forever, each = Fraction(2), Fraction(9)
    exceeded = set()
    for one, other in itertools.combinations(laws, 2):
        ratio = largest_ratio([laws[one], laws[other]])
        keys = max(len(set(one)), len(set(other)))
        if stays_and_changes(one) == stays_and_changes(other):
            assert ratio <= forever**keys
        elif ratio > forever**keys:  # that an answer changed is not protected, but by the second round
            exceeded.add((one, other))
        assert ratio <= each**3
    assert ((0, 0, 0), (0, 0, 1)) in exceeded


def test_reference_values() -> None:
    times = REFERENCE["reports"]
    for design, name in (
        (Memoized.response(4, eps_infinity=2, eps_first=1), "lgrr_eps_tau_2.0_1.0_4"),
        (Memoized.response(2, eps_infinity=1, eps_first=0.5), "lgrr_eps_tau_1.0_0.5_2"),
    ):
        np.testing.assert_allclose([design.eps_after(reports) for reports in times], REFERENCE[name], atol=5.1e-5)


def test_a_worked_number() -> None:
    # Odds 3:1 and again 3:1 among two answers: 3*3 + 1 : 3 + 3 = 5 : 3, and two equal reports are one at 9 : 1.
    design = responses((3, 1), (3, 1), k=2)
    assert design.once == RandomizedResponse(2, odds=(5, 3))
    assert [design.rounds.odds_after(reports) for reports in (1, 2, 3)] == [(5, 3), (7, 3), (41, 15)]
    assert design.eps_infinity == RandomizedResponse(2, odds=(3, 1)).epsilon


# From the two epsilons

budgets = st.tuples(st.floats(0.01, 8), st.floats(0.01, 0.99)).map(lambda pair: (pair[0], pair[0] * pair[1]))


@given(budgets, st.integers(2, 50))
def test_both_epsilons_are_used_and_never_exceeded(epsilons: tuple[float, float], k: int) -> None:
    eps_infinity, eps_first = epsilons
    design = Memoized.response(k, eps_infinity=eps_infinity, eps_first=eps_first)
    assert eps_infinity * (1 - 1e-9) <= design.eps_infinity <= eps_infinity
    assert eps_first * (1 - 1e-9) <= design.eps_first <= eps_first
    assert design.eps_after(1) == design.eps_first == design.epsilon


@given(budgets, st.lists(st.integers(1, 10**6), min_size=2, max_size=2, unique=True))
def test_more_reports_reveal_more_but_never_more_than_eps_infinity(
    epsilons: tuple[float, float], reports: list[int]
) -> None:
    design = Memoized.response(3, eps_infinity=epsilons[0], eps_first=epsilons[1])
    few, many = sorted(reports)
    assert design.eps_first <= design.eps_after(few) <= design.eps_after(many) <= design.eps_infinity


def test_powers_are_exact_while_short_and_rounded_down_beyond() -> None:
    ratio = Fraction(2**52 - 5, 2**52)
    for exponent in (1, 7, EXACT_BITS // 53, EXACT_BITS // 53 + 1, 2000):
        power = power_not_above(ratio, exponent)
        assert power <= ratio**exponent
        assert power >= ratio**exponent - Fraction(1, 2**490)
        assert (power == ratio**exponent) == (exponent * 53 <= EXACT_BITS)
    assert power_not_above(Fraction(1, 3), 10**12) == 0


def test_the_table_ends_where_reports_tell_all() -> None:
    design = Memoized.response(4, eps_infinity=2, eps_first=1)
    table = design.table()
    assert table["reports"].tolist() == [1, 2, 5, 10]
    assert table["epsilon"].tolist() == [design.eps_after(reports) for reports in (1, 2, 5, 10)]
    slow = Memoized.response(4, eps_infinity=2, eps_first="0.001")
    assert slow.table()["reports"].tolist()[:7] == [1, 2, 5, 10, 20, 50, 100]
    assert slow.table()["epsilon"][-1] <= 2


# One round of many people is the chain


def test_every_fact_of_the_contract_is_told_by_the_chain_or_by_the_design_itself() -> None:
    own = {"draw", "draws", "examples", "sentences", "summary", "fields", "from_fields", "repetition", "randomize"}
    for_all = {
        *("k", "epsilon", "shown_epsilon", "coarsened", "restricted", "in_words", "fingerprint", "save", "load"),
        *("to_dict", "to_json", "from_dict", "from_json", "parameters", "optional_fields"),
        *("with_epsilon", "for_epsilon"),  # which it does not follow from
    }
    for name in vars(Design):
        if not name.startswith("_") and name not in for_all:
            assert name in vars(Memoized), f"{name} is not told"
    for name in set(vars(Design)) & set(vars(Memoized)) - own:
        if not name.startswith("_"):
            assert isinstance(vars(Memoized)[name], property), name


def test_a_round_is_estimated_checked_and_planned_as_a_report_of_the_chain() -> None:
    design = responses((5, 1), (3, 1))
    counts = [420, 330, 250]
    mine, chain = estimate(Tally(design, counts)), estimate(Tally(design.once, counts))
    assert mine.shares.tolist() == chain.shares.tolist()
    assert mine.interval(0).low == chain.interval(0).low
    assert check(Tally(design, counts)).fits
    assert plan(design, people=1000).half_width == plan(design.once, people=1000).half_width
    rng = np.random.default_rng(1)
    assert simulate.reports_of_population([0.5, 0.3, 0.2], 100, design, rng=rng).sum() == 100
    assert tally(design.randomize([0, 1, 2] * 10), design).n == 30


def test_the_words_tell_the_table_and_what_is_not_protected() -> None:
    words = Memoized.response(["never", "once", "often", "always"], eps_infinity=2, eps_first=1).in_words()
    for line in (
        "          1 report   epsilon 1\n         2 reports   epsilon 1.679\n         5 reports   epsilon 1.997\n",
        "        any number   epsilon 2\n",
        "What is not protected: that the answer changed, and when.",
        "at most epsilon 2 for each answer that is ever had, 8 for all 4",
        "on two devices",
    ):
        assert line in words


# Files, and what is no pair of rounds


def test_a_file_holds_both_rounds() -> None:
    design = responses((5, 1), (3, 1), k=2)
    assert design.to_dict()["first"] == RandomizedResponse(2, odds=(5, 1)).to_dict()
    assert design.to_dict()["second"] == RandomizedResponse(2, odds=(3, 1)).to_dict()
    assert design_from_json(design.to_json()) == design


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"first": 1}, "damaged: first must be a design"),
        ({"second": None}, "damaged: second must be a design"),
        ({"second": []}, "damaged: second must be a design"),
        ({"first": SubsetSelection(3, epsilon=1).to_dict()}, "first must be a design, its mechanism one of"),
        ({"first": responses((5, 1), (3, 1)).to_dict()}, "first must be a design, its mechanism one of"),
        ({"first": RandomizedResponse(3, odds=(5, 1)).to_dict() | {"odds": ["5"]}}, "damaged: odds"),
        ({"first": RandomizedResponse(3, odds=(5, 1)).to_dict() | {"version": 2}}, "version 2"),
        ({"second": RandomizedResponse(4, odds=(5, 1)).to_dict()}, "second must have the answers of first"),
        ({"second": RandomizedResponse(3, odds=(1, 5)).to_dict()}, "second must be at odds a : b with a > b"),
        ({"second": RandomizedResponse(3, odds=(1, 1)).to_dict()}, "second must be at odds a : b with a > b"),
        ({"first": RandomizedResponse(3, odds=(1, 0)).to_dict()}, "first must be at odds a : b with a > b > 0"),
    ],
)
def test_a_damaged_file_is_one_clear_error(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        design_from_dict(responses((5, 1), (3, 1)).to_dict() | change)


@pytest.mark.parametrize(
    ("epsilons", "complaint"),
    [
        ({"eps_infinity": 1, "eps_first": 1}, "eps_first must be below eps_infinity, .* but got 1"),
        ({"eps_infinity": 1, "eps_first": 2}, "eps_first must be below eps_infinity, .* but got 2"),
        ({"eps_infinity": 1, "eps_first": 0}, "eps_first must be positive"),
        ({"eps_infinity": 0, "eps_first": 1}, "eps_infinity must be positive"),
        ({"eps_infinity": "x", "eps_first": 1}, "eps_infinity must be a finite number"),
        ({"eps_infinity": 1, "eps_first": "x"}, "eps_first must be a finite number"),
        ({"eps_infinity": 2, "eps_first": "1.999999999999"}, "too near to eps_infinity"),
    ],
)
def test_wrong_epsilons_are_named(epsilons: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Memoized.response(10**7, **epsilons)


def test_only_rounds_of_a_kind_can_be_paired() -> None:
    with pytest.raises(TypeError, match="first and second must be two"):
        Memoized(SubsetSelection(4, epsilon=1), RandomizedResponse(4, epsilon=1))
    for reports in (0, -1, 1.5, "x"):
        with pytest.raises(ValueError, match="reports must be"):
            responses((5, 1), (3, 1)).eps_after(reports)  # type: ignore[arg-type]
