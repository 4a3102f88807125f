"""What else to consider: what the design cannot tell, and the mechanism that would need fewer people."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from warner.designs import MECHANISMS
from warner.words import enumerated, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.designs.contract import Design
    from warner.designs.facts import Symmetry
    from warner.planning.measures import Precision

WORTH_NAMING = 0.95  # another mechanism is named if it needs less than this part of the people
NAMED = 5  # answers named in a sentence


def advice(precision: Precision) -> Iterator[str]:
    """Say what else to consider, a sentence each."""
    design = precision.design
    names = [quoted(design.domain[place]) for place in precision.untold.tolist()]
    if names:
        yield (
            f"Not told: reports of this design do not tell the share{'s' * (len(names) > 1)} of "
            f"{enumerated(names, NAMED)}; the plan is for the other answers."
        )
    if design.symmetry is not None:
        yield from better_mechanism(design, design.symmetry)


def better_mechanism(design: Design, symmetry: Symmetry) -> Iterator[str]:
    r"""Name the mechanism that would tell rare answers from noise with clearly fewer people at the same epsilon.

    By the variance that one report leaves in the unbiased share of an answer that nobody holds,
    :math:`q(1-q)/(p-q)^2`: of all mechanisms in the registry whose answers are alike.
    """
    best, needed = design, _variance(symmetry)
    for mechanism in MECHANISMS.values():
        with suppress(ValueError):  # an epsilon that the mechanism cannot be made for, such as an infinite one
            other = mechanism.for_epsilon(design.k, design.epsilon)  # labels would cost time, and change nothing
            if other is not None and other.symmetry is not None and _variance(other.symmetry) < _variance(symmetry):
                best, symmetry = other, other.symmetry
    if _variance(symmetry) < WORTH_NAMING * needed:
        a, b, total = symmetry[:3]
        answers = "one answer" if best.exclusive else f"{(a + (best.k - 1) * b) / total:,.0f} answers on average"
        yield (
            f"Another mechanism: at the same epsilon, {best.mechanism} (a report names {answers}) would need about "
            f"{100 * _variance(symmetry) / needed:.2g} % of the people for the same error of rare answers."
        )


def _variance(symmetry: Symmetry) -> float:
    return symmetry.q * (1 - symmetry.q) / symmetry.gain**2
