"""Advice of a plan: shares that are not identified, and the mechanism that would need fewer people or bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warner.planning.mechanisms import bits_text, candidates, preferred, variance_of_rare
from warner.words import enumerated, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.designs.contract import Design
    from warner.planning.precision import Precision

WORTH_NAMING = 0.95  # another mechanism is named if it needs less than this part of the people
FAR_SHORTER = 0.5  # or if its reports are shorter than this part


def advice(precision: Precision) -> Iterator[str]:
    """Say what else to consider, a sentence each."""
    design = precision.design
    names = [quoted(design.domain[place]) for place in precision.unidentified.tolist()]
    if names:
        yield (
            f"Not told: reports of this design do not tell the share{'s' * (len(names) > 1)} of "
            f"{enumerated(names)}; the plan is for the other answers."
        )
    if design.symmetry is not None and not design.repeatable:  # what is better for one report may not bear a second
        yield from better_mechanism(design)


def better_mechanism(design: Design) -> Iterator[str]:
    """Name the recommended mechanism where it needs clearly fewer people at the same epsilon, or far shorter reports.

    Fewer people by the variance of rare answers, and recommended by the rule of `warner.planning.mechanisms`.
    """
    offered = candidates(design.k, design.epsilon)  # labels would cost time, and change nothing
    if not offered:
        return
    best = preferred(offered)
    part = best.variance / variance_of_rare(design)
    shorter = f"reports of {bits_text(best.bits)} bits instead of {bits_text(design.report_bits)}"
    if part < WORTH_NAMING:
        yield (
            f"Another mechanism: at the same epsilon, {best.name} would need about {100 * part:.2g} % of the people "
            f"for the same error of rare answers, and {shorter}."
        )
    elif best.bits < FAR_SHORTER * design.report_bits:
        yield (
            f"Another mechanism: at the same epsilon, {best.name} would need {shorter}, and about {100 * part:.3g} % "
            "of the people for the same error of rare answers."
        )
