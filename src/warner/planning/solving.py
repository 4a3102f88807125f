"""Sample size and epsilon for a given precision: the fewest people, or the smallest epsilon, that reach a goal.

Both measures fall with either, so that bisection finds them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from warner.arrays import LARGEST_TOTAL
from warner.planning.number_precision import precision_of
from warner.planning.precision import with_article
from warner.searching import bisected, first_true

if TYPE_CHECKING:
    from warner.designs.contract import Design
    from warner.designs.exact import Number
    from warner.planning.precision import PlanningQuestion

SMALLEST_EPSILON = 1e-6  # smaller ones are not looked for
LARGEST_EPSILON = 20.0  # beyond, a report is the truth but for one in some hundred million
EPSILON_TOLERANCE = 1e-10  # difference of ln epsilon at which the search for it ends
EPSILONS_TRIED = 400  # epsilons that are looked at where the measure may jump


def fewest_people(design: Design, question: PlanningQuestion, goal: float) -> int:
    """Find the smallest number of people whose measure is at most the goal."""
    precision = precision_of(design, question)
    high = 1
    while not precision.measured(float(high)) <= goal:
        if high >= LARGEST_TOTAL:
            best = precision.measured(float(LARGEST_TOTAL))
            raise ValueError(
                f"no number of people up to 2^53 reaches {with_article(question.measure)} of {question.amount(goal)}"
                f"{question.about} at epsilon {design.shown_epsilon()}; 2^53 people would reach "
                f"{question.amount(best)}. Allow a larger epsilon or a wider interval"
            )
        high = min(4 * high, LARGEST_TOTAL)
    # A quarter of them did not reach it, or is nobody.
    return first_true(lambda people: precision.measured(float(people)) <= goal, high // 4 + 1, high)


def smallest_epsilon(design: Design, people: int, question: PlanningQuestion, goal: float) -> Design:
    """Find the design of the same mechanism, for the same answers, that reaches the goal with the smallest epsilon.

    Of a mechanism with a parameter that jumps with epsilon, as the size of sets and the width of a square wave do, the
    measure may jump as well. It is then the smallest of many epsilons, at most a few percent apart, and refined from
    there.
    """

    def made(epsilon: float) -> Design:
        return with_epsilon(design, epsilon, question.share_asked)

    def reaches(epsilon: float) -> bool:
        return precision_of(made(epsilon), question).measured(float(people)) <= goal

    low, high = math.log(SMALLEST_EPSILON), math.log(LARGEST_EPSILON)
    if not reaches(LARGEST_EPSILON):
        nearly_truthful = made(LARGEST_EPSILON)
        best = precision_of(nearly_truthful, question).measured(float(people))
        raise ValueError(
            f"no epsilon up to {LARGEST_EPSILON:g} lets {people:,} people reach {with_article(question.measure)} of "
            f"{question.amount(goal)}: sampling error alone is larger. They can reach "
            f"{question.amount(best, up=True)} at best; {question.amount(goal)} takes "
            f"{fewest_people(nearly_truthful, question, goal):,} people even with hardly any noise"
        )
    if reaches(SMALLEST_EPSILON):
        high = low
    elif (
        design.ordered or not design.exclusive
    ):  # a parameter may jump: bracket the first of many that reaches the goal
        steps = np.linspace(low, high, EPSILONS_TRIED)
        first = next(place for place, step in enumerate(steps) if reaches(math.exp(step)))
        low, high = float(steps[first - 1]), float(steps[first])
    _, high = bisected(lambda logarithm: reaches(math.exp(logarithm)), low, high, close=EPSILON_TOLERANCE)
    return made(math.exp(high))


def with_epsilon(design: Design, epsilon: Number, share: float | None = None) -> Design:
    """Return the design of the same mechanism and answers that spends this epsilon, the best for a share if given."""
    try:
        made = design.with_epsilon(epsilon)
        return made if share is None else made.best_for_share(share)
    except TypeError:
        raise TypeError(
            f"another epsilon cannot be planned for a {design.mechanism}, which does not follow from epsilon; give the "
            "possible answers instead of the design, or a mechanism such as 'randomized response'"
        ) from None


def follows_epsilon(design: Design) -> bool:
    """Tell whether there are designs of the same mechanism with other epsilons."""
    try:
        design.with_epsilon(1)
    except TypeError:
        return False
    return True
