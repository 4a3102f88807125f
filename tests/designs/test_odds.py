"""Designs made from odds or epsilon: what they share, for each of them; and a new one in a few lines."""

from __future__ import annotations

import math
import pickle
from dataclasses import FrozenInstanceError, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from warner import Tally, estimate
from warner.designs import MECHANISMS, Symmetry
from warner.designs.hashing import AffineHashing
from warner.designs.symmetric import Budget, NumberReader, OddsDesign, refuse_odds

if TYPE_CHECKING:
    from warner.arrays import Counts, Integers, Mask
    from warner.designs.draws import RandomBytes
    from warner.designs.labels import Labels

MADE: list[Any] = [
    *(design for design in MECHANISMS.values() if issubclass(design, OddsDesign)),
    AffineHashing,
]
every_mechanism = pytest.mark.parametrize("mechanism", MADE, ids=lambda made: made.__name__)
every_design = pytest.mark.parametrize(
    "design", [design for made in MADE for design in made.examples() if type(design) is made], ids=repr
)


def test_six_mechanisms_are_made_so() -> None:
    assert len(MADE) == 7  # of local hashing there are two forms


@every_mechanism
def test_epsilon_or_odds_are_given_and_not_both(mechanism: Any) -> None:
    for parameters in ({}, {"epsilon": 1, "odds": (3, 1)}):
        with pytest.raises(TypeError, match=r"epsilon.*but got"):
            mechanism(5, **parameters)


@every_mechanism
@pytest.mark.parametrize("epsilon", [0.1, 1, "3.5"])
def test_the_best_design_for_an_epsilon_is_that_of_the_constructor(mechanism: Any, epsilon: Any) -> None:
    made = mechanism(20, epsilon=epsilon)
    assert made in mechanism.variants(20, epsilon).values()
    assert made.epsilon <= float(epsilon)
    assert made.epsilon > 0.99 * float(epsilon)
    other = mechanism(20, epsilon=2)
    assert other.with_epsilon(epsilon).epsilon <= float(epsilon)
    assert other.with_epsilon(2) == other


@every_design
def test_another_epsilon_leaves_the_design_as_it_was(design: OddsDesign) -> None:
    before = design.to_json()
    other = design.with_epsilon(0.7)
    assert type(other) is type(design)
    assert other.domain == design.domain
    assert other.symmetry != design.symmetry
    assert design.to_json() == before


@every_design
def test_designs_are_frozen_and_equal_by_value(design: OddsDesign) -> None:
    with pytest.raises(FrozenInstanceError):
        design.odds = (2, 1)
    again = type(design).from_dict(design.to_dict())
    assert again == design
    assert hash(again) == hash(design)
    assert vars(pickle.loads(pickle.dumps(again))) == vars(again)


@every_design
@pytest.mark.parametrize("damage", ["3", 2.0, True, -1, 10**30, None])
def test_a_number_that_is_none_is_named_in_a_damaged_file(design: OddsDesign, damage: Any) -> None:
    document = design.to_dict()
    for name in [name for name, value in document.items() if type(value) is int and name != "version"]:
        with pytest.raises(ValueError, match=f"this design is damaged: {name} must be a whole number from "):
            type(design).from_dict(document | {name: damage})


@every_design
def test_the_summary_tells_p_q_and_epsilon(design: OddsDesign) -> None:
    for number in (f"truth {design.p:.4g}, ", f" {design.q:.4g}, ", f"epsilon {design.shown_epsilon()}"):
        assert number in design.summary()


def test_odds_are_taken_as_written_and_those_of_epsilon_are_rounded_down() -> None:
    assert Budget(odds="6:2").odds_within(5, lambda a, b: a + b) == (3, 1)
    a, b = Budget(1).odds_within(5, lambda a, b: a + b)
    assert 0 <= math.e - a / b < 1e-15
    with pytest.raises(ValueError, match="a > b"):
        refuse_odds(1, 1, 0)
    with pytest.raises(ValueError, match="which needs 4,611,686,018,427,387,904"):
        refuse_odds(3, 1, 2**62)


# A custom one: randomized response among the answers of one group, the groups being consecutive answers


@dataclass(frozen=True, init=False, repr=False)
class EvenGroups(OddsDesign):
    """Randomized response that could have a number: here it is only kept, and must divide K."""

    domain: Labels
    odds: tuple[int, int]
    groups: int

    mechanism = "even groups"
    field_names = frozenset({"domain", "odds", "groups"})
    _opening = "EvenGroups in {0.groups} of"
    _retained_names = ("groups",)

    def __init__(self, domain: Any, *, epsilon: Any = None, odds: Any = None, groups: Any = None) -> None:
        super().__init__(domain, epsilon=epsilon, odds=odds, groups=groups)

    @classmethod
    def _numbers(cls, k: int, number: NumberReader) -> dict[str, Any]:
        return {"groups": number("groups", 1, k, "the number of answers")}

    @classmethod
    def _best(cls, k: int, budget: Budget, *, groups: int | None = None) -> dict[str, Any]:
        return {"odds": budget.odds_within(k, lambda a, b: a + k * b), "groups": groups or 1}

    def _check(self) -> None:
        if self.k % self.groups:
            raise ValueError(f"groups must divide {self.k}, but got {self.groups}")

    @property
    def symmetry(self) -> Symmetry:
        a, b = self.odds
        total = a + (self.k - 1) * b
        return Symmetry(Fraction(a, total), Fraction(b, total))

    @property
    def draws(self) -> tuple[int, ...]:
        return (self.symmetry.whole[2],)

    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Counts:
        raise NotImplementedError

    def supports(self, reports: Counts) -> Mask:
        return np.asarray(reports[:, np.newaxis] == np.arange(self.k))

    @classmethod
    def examples(cls) -> tuple[EvenGroups, ...]:
        return (cls(4, odds=(3, 1), groups=2),)

    def _happens(self) -> str:
        return "it is randomized."

    def _deniable(self) -> str:
        return "nobody knows."


def test_a_mechanism_tells_its_numbers_and_has_the_rest() -> None:
    design = EvenGroups(6, odds=(3, 1), groups="2")
    assert repr(design) == (
        "<EvenGroups in 2 of 6 answers (0, 1, 2, ..., 5): truth 0.375, each other 0.125, epsilon 1.099>"
    )
    assert design.fields() == {"domain": {"first": 0, "size": 6}, "odds": ["3", "1"], "groups": 2}
    assert EvenGroups.from_dict(design.to_dict()) == design
    assert design.with_epsilon(1).groups == 2
    assert EvenGroups.variants(6, 1) == {EvenGroups.mechanism: EvenGroups(6, epsilon=1)}
    assert design.sentences()[3].endswith("all answers are equally common, nobody knows.")
    assert estimate(Tally(design, [3, 2, 1, 1, 1, 1]), method="inv").shares.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: EvenGroups(6, odds=(3, 1), groups=4), "groups must divide 6, but got 4"),
        (lambda: EvenGroups(6, odds=(3, 1), groups=7), "groups must be a whole number from 1 to 6, but got 7"),
        (
            lambda: EvenGroups.from_dict(EvenGroups(6, odds=(3, 1)).to_dict() | {"groups": 4}),
            "groups must divide 6, but got 4",
        ),
        (
            lambda: EvenGroups.from_dict(EvenGroups(6, odds=(3, 1)).to_dict() | {"groups": 7}),
            "this design is damaged: groups must be a whole number from 1 to the number of answers",
        ),
    ],
)
def test_numbers_are_checked_in_the_constructor_and_in_the_file(call: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        call()
