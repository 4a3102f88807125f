r"""Exact draws from random bytes: no float is involved.

Whoever draws is given the source of bytes: ``os.urandom`` for people, a seeded generator's for a simulation, a script
for tests, which can thus enumerate every draw.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from warner.designs.exact import TOTAL_LIMIT

if TYPE_CHECKING:
    from warner.arrays import Counts

RandomBytes: TypeAlias = Callable[[int], bytes]

CHUNK = 2**14  # reports drawn at a time: the arithmetic stays in the processor's cache


def uniform(size: int, total: int, random_bytes: RandomBytes) -> Counts:
    """Draw whole numbers below `total`, all equally likely: 64 bits each, or Python's own where those are too few."""
    if total >= TOTAL_LIMIT:
        return _wide_uniform(size, total, random_bytes)
    # Whole blocks of `total` only, so that the remainder is exactly uniform.
    limit = np.uint64(2**64 // total * total - 1)
    bits = np.frombuffer(random_bytes(8 * size), "<u8").copy()
    while (again := np.flatnonzero(bits > limit)).size:
        bits[again] = np.frombuffer(random_bytes(8 * again.size), "<u8")
    # bits mod total, by the quotient: NumPy divides by a scalar much faster than it takes remainders.
    bits -= bits // np.uint64(total) * np.uint64(total)
    return bits


def _wide_uniform(size: int, total: int, random_bytes: RandomBytes) -> Counts:
    width = 8 * (total.bit_length() // 64 + 1)  # bytes: a multiple of eight, at least one bit to spare
    limit = 2 ** (8 * width) // total * total

    def draw(number: int) -> list[int]:
        raw = random_bytes(width * number)
        return [int.from_bytes(raw[i : i + width], "little") for i in range(0, len(raw), width)]

    bits = draw(size)
    while again := [i for i, number in enumerate(bits) if number >= limit]:
        for i, number in zip(again, draw(len(again)), strict=True):
            bits[i] = number
    return np.array([number % total for number in bits], dtype=object)
