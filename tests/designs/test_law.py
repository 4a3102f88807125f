"""Laws: what belongs to a law and what to a design, the law of a custom design, and that of a bare operator."""

from __future__ import annotations

import gc
import pickle
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from warner import ChannelOperator, Tally, check, estimate, ibu
from warner.designs import MECHANISMS, Channel, Design, Memoized, Product, RandomizedResponse
from warner.designs.contract import revealed
from warner.designs.labels import canonical
from warner.designs.law import Law

if TYPE_CHECKING:
    from warner.arrays import Counts, Integers
    from warner.designs.draws import RandomBytes
    from warner.designs.labels import Labels
    from warner.documents import Document

EXAMPLES: list[Any] = [design for mechanism in MECHANISMS.values() for design in mechanism.examples()]
DESIGN_MEMBERS, LAW_MEMBERS, SHOWN_MEMBERS = 33, 18, 45  # of the two contracts, and of a design in a notebook


def public(thing: object) -> list[str]:
    return [name for name in dir(thing) if not name.startswith("_")]


def test_the_two_contracts_stay_small() -> None:
    assert len(public(Design)) <= DESIGN_MEMBERS
    assert len(public(Law)) <= LAW_MEMBERS
    # What both have: the number of answers, and a simulation with its arguments checked.
    assert set(public(Design)) & set(public(Law)) == {"k", "simulate"}


def test_a_design_shows_few_members() -> None:
    assert len(public(RandomizedResponse(3, odds=(3, 1)))) <= SHOWN_MEMBERS
    # Mechanisms have parameters and constructors of their own.
    assert max(len(public(design)) for design in EXAMPLES) <= SHOWN_MEMBERS + 10


@pytest.mark.parametrize("design", EXAMPLES, ids=repr)
def test_a_law_knows_its_design_and_leaves_what_it_computes_there(design: Any) -> None:
    law, once = design.law, design.once if isinstance(design, Memoized) else design
    assert law.k == design.k
    assert law.design is once
    if law.sufficient is None:
        return
    weights = law.linear.weights()
    assert_array_equal(design.law.linear.weights(), weights)
    assert isinstance(once, Product) or design.law.linear.weights() is weights  # of a product, by question
    assert pickle.loads(pickle.dumps(design)) == design


def test_a_design_and_what_its_law_computed_are_freed_at_once() -> None:
    # Nothing refers back: tables of many designs, as when a plan looks for an epsilon, would fill the memory otherwise.
    design = Channel([["3/4", "1/4"], ["1/3", "2/3"]], ["yes", "no"], 2)
    assert_allclose(design.law.linear.apply(np.array([0.5, 0.5])).sum(), 1)
    watched = weakref.ref(design)
    gc.disable()
    try:
        del design
        assert watched() is None
    finally:
        gc.enable()


def test_a_repeated_question_has_the_law_of_one_round() -> None:
    twice = RandomizedResponse(3, odds=(5, 1))
    survey = Memoized(twice, RandomizedResponse(3, odds=(3, 1)))
    assert survey.law.design is survey.once


@dataclass(frozen=True, init=False, repr=False)
class Mirror(Design):
    """Report the truth or its mirror image, 3 : 1: a design with nothing but what it must write."""

    domain: Labels
    mechanism = "mirror"
    field_names = frozenset({"domain"})

    def __init__(self, domain: Any) -> None:
        object.__setattr__(self, "domain", canonical(domain))

    @property
    def law(self) -> Law:
        return self.as_channel().law

    @property
    def ratio(self) -> tuple[int, int]:
        return 1, 3

    @property
    def draws(self) -> tuple[int, ...]:
        return (4,)

    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Counts:
        raise NotImplementedError

    def as_channel(self) -> Channel:
        mirrored = np.eye(self.k, dtype=np.int64)
        return Channel.of_weights(self.domain, self.domain, 3 * mirrored + mirrored[::-1], 4)

    def fields(self) -> Document:
        return {"domain": list(self.domain)}

    @classmethod
    def from_fields(cls, fields: Document) -> Self:
        return cls(fields["domain"])

    def sentences(self) -> tuple[str, ...]:
        return ("Randomization: an answer is reported, or its mirror image.", revealed(self))

    def summary(self) -> str:
        return f"Mirror of {self.k} answers, epsilon {self.shown_epsilon()}"

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        return (cls(["low", "high"]),)


def test_a_small_design_can_have_the_law_of_its_table() -> None:
    # Of two answers it is randomized response at odds 3 : 1: the share is (0.4 - 0.25) / 0.5 = 0.3.
    design, same = Mirror(["low", "high"]), RandomizedResponse(["low", "high"], odds=(3, 1))
    ours, theirs = (estimate(Tally(each, [40, 60]), method="inv") for each in (design, same))
    assert_allclose(ours.shares, [0.3, 0.7])
    assert_allclose(ours.table()["low"], theirs.table()["low"], rtol=1e-12)
    assert check(Tally(design, [40, 60])).fits
    drawn = design.simulate([0.5, 0.5], 100, rng=np.random.default_rng(1))
    assert drawn.sum() == 100


def test_an_operator_has_a_law_without_a_sampling_model() -> None:
    design = RandomizedResponse(3, odds=(3, 1))
    operator = ChannelOperator.of_matrix(design.channel())
    law = operator.law
    assert (law.k, law.columns, law.symmetry, law.exclusive, law.sufficient) == (3, range(3), None, True, "counts")
    assert law.likelihood() is operator
    assert_array_equal(np.asarray(law.bounds().most) > 0, [True] * 3)
    ours, theirs = (ibu([6, 3, 1], each, iterations=50).shares for each in (operator, design))
    assert_allclose(ours, theirs, rtol=1e-12)
    with pytest.raises(TypeError, match="has no sampling model of shares; give the design"):
        law.readout(np.array([[6, 3, 1]]), np.array([[10]]))
