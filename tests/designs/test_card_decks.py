"""Decks of cards: their tables by hand, published examples, and what gives people away (`survey_designs`)."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import pytest
from numpy.testing import assert_allclose

from references import reference
from warner import Tally, regress, surveys, tally
from warner.estimation import estimated

NUMBERS = reference("numbers")


def test_a_deck_with_a_card_for_every_number() -> None:
    # C = p I + (1 - p) 1 u', and epsilon = ln(1 + p / ((1 - p) min u)): p = 1/2, u = (1/2, 1/3, 1/6)
    deck = surveys.cards({"truth": "1/2", "say 0": "1/4", "say 1": "1/6", "say 2": "1/12"}, 3)
    assert deck.weights.tolist() == [[9, 2, 1], [3, 8, 1], [3, 2, 7]]
    assert_allclose(deck.epsilon, math.log(1 + 1 / (1 / 6)))
    # The unbiased score is (x - (1 - p) E u) / p, whatever the shares are.
    mean = estimated(Tally(deck, [50, 30, 20])).mean()
    assert_allclose(mean.value, (0.7 - 0.5 * (1 / 3 + 2 / 6)) / 0.5)


def test_erikssons_design_as_in_rrtcs() -> None:
    case = NUMBERS["rrtcs"]["eriksson"]
    device = {"truth": "1/2"} | {f"say {card}": "1/10" for card in case["design"]["cards"]}
    with pytest.warns(
        UserWarning, match=r"reveal a respondent's number for certain.*: 2, 4, 6, 7, 9, 10, .* top category"
    ):
        deck = surveys.cards(device, 41)
    assert deck.shown_epsilon() == "inf"
    counts = [case["counts"].get(str(number), 0) for number in range(41)]
    assert_allclose(estimated(Tally(deck, counts)).mean().value, case["unweighted"], rtol=1e-8)


def test_the_weighted_mean_of_erikssons_design_is_that_of_rrtcs() -> None:
    # RRTCS divides Horvitz and Thompson's total by a known population size, 53,376: 4.44307. Hajek's ratio is 4.44314.
    case = NUMBERS["rrtcs"]["eriksson"]
    device = {"truth": "1/2"} | {f"say {card}": "1/10" for card in case["design"]["cards"]}
    with pytest.warns(UserWarning, match="for certain"):
        deck = surveys.cards(device, 41)
    reports, weights = [], []
    for stratum, counts in case["by_stratum"].items():
        for number, times in counts.items():
            reports += [int(number)] * times
            weights += [1 / case["pi"][stratum]] * times
    people = {"x": reports, "w": weights, "person": list(range(case["n"]))}
    result = estimated(tally(people, deck, column="x", weights="w", clusters="person"))
    total = result.totals(values="numbers")
    assert_allclose(total.value[0, 0] / 53_376, case["estimate"], rtol=1e-6)
    assert_allclose(result.mean().value, case["hajek"], rtol=1e-8)
    # Its standard error is 1.24468, that of an intercept alone 1.24458; linearized, with one report more, it is near.
    fit = regress("x ~ 1", people, deck, model="linear", values="numbers", weights="w")
    assert_allclose(fit.standard_errors[0], math.sqrt(case["variance"]), rtol=2e-4)
    assert_allclose(result.mean().se, math.sqrt(case["variance"]), rtol=2e-2)


@pytest.mark.parametrize("name", ["copied", "fought", "bullying"])
def test_horvitz_design_as_in_rrtcs(name: str) -> None:
    case = NUMBERS["rrtcs"][f"horvitz_{name}"]
    design = surveys.unrelated_question(p="1/2", prevalence=Fraction(case["alpha"]).limit_denominator(100))
    shares = estimated(Tally(design, [case["yes"], case["n"] - case["yes"]]), method="inv").shares
    assert_allclose(shares[0], case["estimate"], rtol=1e-4)


def test_what_gives_people_away_is_said() -> None:
    with pytest.warns(UserWarning, match="for certain"):  # nothing but zero gives zero
        deck = surveys.cards({"*1": "1/2", "*2": "1/2"}, 4)
    assert deck.outputs == (0, 1, 2, 3, 4, 6)
    assert deck.shown_epsilon() == "inf"
    with pytest.warns(UserWarning, match="for certain"):  # the two ends
        assert surveys.cards({"+0": "1/3", "+5": "1/3", "-5": "1/3"}, [0, 5, 10]).outputs == (-5, 0, 5, 10, 15)
    # No report tells a number for certain, but each tells its size: only -1 and 1 lead to 1.
    with pytest.warns(UserWarning, match=r"rule some numbers out for certain.*: -2, -1, 1, 2; give a card"):
        assert surveys.cards({"*1": "1/2", "*-1": "1/2"}, [-2, -1, 1, 2]).shown_epsilon() == "inf"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        halves = surveys.cards({"truth": "1/2", "say 0": "1/4", "say 1/2": "1/4"}, ["0", "0.5"])
    assert halves.outputs == ("0.0", "0.5")


@pytest.mark.parametrize(
    ("device", "values", "error", "complaint"),
    [
        ({"truth": "1/2"}, 3, ValueError, "must sum to 1, but they sum to 1/2"),
        ({"truth": "1/2", "lie": "1/2"}, 3, ValueError, "a card must be .* but got 'lie'"),
        ({"truth": "1/2", "say x": "1/2"}, 3, ValueError, "the card 'say x' must be a finite number"),
        ({"truth": 2, "say 1": -1}, 3, ValueError, "must be a probability from 0 to 1"),
        ({}, 3, TypeError, "device must map"),
        ({"truth": 1}, ["a", "b"], ValueError, "values must be numbers"),
    ],
)
def test_decks_that_cannot_be_are_refused(device: Any, values: Any, error: Any, complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        surveys.cards(device, values)
