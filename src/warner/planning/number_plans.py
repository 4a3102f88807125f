"""Plans for the mean or a quantile of a number: precision in the unit of the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from warner.inference.intervals import EXACT
from warner.planning.mechanisms import better_mechanism, candidates, comparison_words
from warner.planning.number_precision import noise_of_distribution, noise_of_mean
from warner.planning.precision import AskedNumber, in_units
from warner.planning.tradeoffs import Tradeoff
from warner.planning.wording import design_effect, design_sentence, shuffled_sentence, solution
from warner.words import level_text, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.arrays import Array
    from warner.designs.contract import Design
    from warner.documents import Document
    from warner.planning.number_precision import MeanPrecision, QuantilePrecision
    from warner.planning.precision import PlanningQuestion


@dataclass(frozen=True, eq=False, repr=False)
class NumberPlan(Tradeoff):
    """What a survey of this many people will be able to say about a mean, or a quantile.

    It has the attributes of `Tradeoff <warner.planning.tradeoffs.Tradeoff>`, too.

    Attributes
    ----------
    half_width : float
        Half the length of the interval, in the unit of the answers: of a mean at the counts to be expected, before it
        is cut at the ends of the range; of a quantile on average over surveys.
    standard_error : float or None
        Of the unbiased mean; None for a quantile.
    value : float
        The mean, or the quantile, among the people that the plan is for.
    method : str
        How the interval will be computed: clopper_pearson, which is exact, or linear, which is approximate.
    shares : ndarray of shape (k,)
        The population that the plan is for: as expected, or the one with the widest interval.
    """

    half_width: float
    standard_error: float | None
    value: float
    method: str
    shares: Array

    @property
    def numbers(self) -> AskedNumber:
        """The numbers that answers stand for, and whether their mean or a quantile is planned."""
        assert self.question.numbers is not None
        return self.question.numbers

    @property
    def quantity(self) -> str:
        """What is planned, in words: ``mean``, ``median`` or ``90 % quantile``."""
        return self.numbers.name

    @property
    def error(self) -> float | None:
        """The root-mean-square error of the unbiased mean, which is its standard error; None for a quantile."""
        return self.standard_error

    @property
    def worst_case(self) -> bool:
        """Whether the plan is for the population with the widest interval, because none was expected."""
        return self.population is None

    @property
    def approximate(self) -> bool:
        """Whether the interval will hold about at its level, not at least."""
        return not EXACT.issuperset(self.method.split(" or "))

    def to_dict(self) -> Document:
        """Give the plan as what JSON can hold: the design as its own file has it."""
        given = ("epsilon", "people", "solved_for", "quantity", "measure", "goal", "level", "worst_case")
        predicted = ("half_width", "standard_error", "value", "method", "approximate", "delta", "shuffled_epsilon")
        return self.document(*given, *predicted, "design_effect")

    def notes(self) -> list[str]:
        """Say what the precision is for: which interval or error, and the people whose mean or quantile it is."""
        about = f"of the unbiased {self.quantity}" if self.measure == "error" else f"{self.question.confidence}"
        who = " in the worst case" if self.worst_case else ", as in the population"
        return [about, f"true {self.quantity} {in_units(self.value)}{who}"]

    def sentences(self) -> Iterator[str]:
        """Say what the plan tells; the first sentence answers the question."""
        yield solution(self)
        yield design_sentence(self.design)
        yield self._interval()
        yield from design_effect(self)
        if self.numbers.tau is not None:
            yield (
                "A quantile: its interval comes from limits of the distribution function that assume nothing about its "
                "shape. It is as wide as its numbers are apart at least, and far wider than that of a mean where there "
                "are many."
            )
        if self.shuffled_epsilon is not None:
            yield shuffled_sentence(self.design, self.shuffled_epsilon, self.delta)
        yield from self.advice

    def _interval(self) -> str:
        error = "" if self.standard_error is None else f"; standard error {in_units(self.standard_error)}"
        return (
            f"Interval: ± {in_units(self.half_width)} in the unit of the answers, for a {self.quantity} of "
            f"{in_units(self.value)} ({self._case()}), at a confidence level of {level_text(self.level)}, "
            f"{'approximate' if self.approximate else 'exact'}{error}."
        )

    def _case(self) -> str:
        if not self.worst_case:
            return "as in the population"
        held = [
            f"{100 * self.shares[place]:.3g} % hold {quoted(self.design.domain[place])}"
            for place in np.flatnonzero(self.shares).tolist()
        ]
        return f"the worst case: {' and '.join(held)}"


def number_plan(
    precision: MeanPrecision | QuantilePrecision,
    people: int,
    solved_for: str,
    delta: float | None,
    shuffled_epsilon: float | None,
) -> NumberPlan:
    """Give the plan of a mean or a quantile, once people and design are known."""
    design, question = precision.design, precision.question
    advice = tuple(_advice(design, question, precision.numbers))
    measured = precision.at(float(people))
    return NumberPlan(
        design,
        people,
        solved_for,
        question,
        *measured,
        precision.population,
        delta=delta,
        shuffled_epsilon=shuffled_epsilon,
        advice=advice,
    )


def _advice(design: Design, question: PlanningQuestion, numbers: AskedNumber) -> Iterator[str]:
    """Name a mechanism that tells the mean, or the distribution, with clearly fewer people."""
    if design.repeatable or not np.isfinite(design.epsilon):
        return
    if question.quantity == "mean":
        variance = noise_of_mean(design, numbers.memberships)
    else:
        variance = noise_of_distribution(design)
    offered = candidates(design.domain, design.epsilon, question.quantity, numbers.memberships)
    yield from better_mechanism(design, variance, offered, comparison_words(question.quantity))
