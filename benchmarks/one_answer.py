"""One answer on one device: what a person's own device does, under every mechanism, against randomized response."""

from __future__ import annotations

from typing import TYPE_CHECKING

from measuring import Line, slower
from warner import Product, RandomizedResponse
from warner.designs import MECHANISMS, Memoized

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from warner.designs import Design

CALLS = 10  # that are timed together
SIDES = {256: 16, 1024: 32}  # two questions with so many answers have so many pairs of answers


def designs(k: int) -> dict[str, Design]:
    """Return every mechanism, and every kind of it that is compared with others, for k answers at epsilon 1."""
    labels = [f"answer {number}" for number in range(k)]
    made: dict[str, Design] = {}
    for mechanism in MECHANISMS.values():
        made |= mechanism.variants(labels, 1)
    made["channel"] = RandomizedResponse(labels, epsilon=1).as_channel()
    part = RandomizedResponse(labels[: SIDES[k]], epsilon=0.5)
    made["product"] = Product({"first": part, "second": part})
    for make in (Memoized.response, Memoized.unary, Memoized.hashing):
        design = make(labels, eps_infinity=2, eps_first=1)
        made[f"memoized {design.first.mechanism}"] = design
    return made


def one_answer() -> Iterator[Line]:
    """Randomize one label after the other, each by a call of its own."""
    for k in SIDES:
        base, *others = designs(k).items()
        for name, design in others:
            yield slower(
                f"randomize one answer, {name}, K = {k:,}",
                f"the same under {base[0]}",
                3,
                _calls(base[1]),
                _calls(design),
                rounds=60,
            )


def _calls(design: Design) -> Callable[[], object]:
    answer = design.domain[design.k // 3]
    return lambda: [design.randomize(answer) for _ in range(CALLS)]
