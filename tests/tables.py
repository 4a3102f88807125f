"""Designs as tables of fractions, and draws from a script: what tests of designs share."""

from __future__ import annotations

import io
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from warner import RandomizedResponse

if TYPE_CHECKING:
    from collections.abc import Callable


def exact(design: Any) -> list[list[Fraction]]:
    if isinstance(design, RandomizedResponse):
        a, b = design.odds
        return [[Fraction(a if i == j else b, design.total) for j in range(design.k)] for i in range(design.k)]
    return [[Fraction(weight, design.total) for weight in row] for row in design.weights.tolist()]


def scripted(draws: list[int], width: int = 8) -> Callable[[int], bytes]:
    return io.BytesIO(b"".join(draw.to_bytes(width, "little") for draw in draws)).read
