r"""Exact draws from random bytes: no float is involved.

Every draw takes a source of bytes: ``os.urandom`` for respondents, a seeded generator for simulations, a script for
tests, which can thus enumerate every draw.

A whole number that is uniform below m is drawn from 64 bits (`uniform`). Where only a comparison is wanted, whether it
is below n, that is a bit which is 1 with probability n/m, and about one byte decides (`bernoulli`). A set of given size
is made of such bits (`selection`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import wraps
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from warner.designs.exact import TOTAL_LIMIT

if TYPE_CHECKING:
    from warner.arrays import Counts, Integers, Mask

RandomBytes: TypeAlias = Callable[[int], bytes]
Draw = TypeVar("Draw", bound=Callable[..., Any])

BYTES_AHEAD = 2**10  # bytes that are asked of the operating system at a time, where they are needed one by one
REPORTS_AT_ONCE = 2**14  # reports drawn at a time: the arithmetic stays in the processor's cache


class Compared(int):
    """Limit of a whole number that is only compared: it is drawn byte by byte, as in `bernoulli`."""


def uniform(size: int, total: int, random_bytes: RandomBytes) -> Counts:
    """Draw uniform whole numbers below `total`, from 64 bits each, or more if `total` is 2^62 or larger."""
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


def bernoulli(size: int, n: int | Counts, d: int, random_bytes: RandomBytes) -> Mask:
    r"""Draw bits that are 1 with probability n/d, exactly; n may be an array with a number for each bit.

    Random bytes are the digits, in base 256, of a uniform number in [0, 1), which is compared with
    :math:`n/d = 0.g_1 g_2 \ldots`: the first digit that differs decides. So a byte below :math:`g_1 = \lfloor 256 n/d
    \rfloor` means 1, and one above it 0; if they are equal, as once in 256, another byte is compared in the same way
    with :math:`(256 n \bmod d)/d`. Where that is 0, so is the bit. The type of an array must hold 256 d.

    The digits of 1/3 are 85, 85, 85, ...; here the second and the third bit need another byte:

    >>> bits = iter([bytes([84, 85, 85, 86]), bytes([7, 200])])
    >>> bernoulli(4, 1, 3, lambda size: next(bits))
    array([ True,  True, False, False])
    """
    digits = 256 * n // d
    drawn = np.frombuffer(random_bytes(size), np.uint8)
    bits = np.asarray(drawn < digits)
    (equal,) = (drawn == digits).nonzero()
    if equal.size:
        rest = 256 * (n if isinstance(n, int) else n[equal]) % d
        if rest if isinstance(rest, int) else rest.any():
            bits[equal] = bernoulli(equal.size, rest, d, random_bytes)
    return bits


def truth_or_lie(drawn: Counts, truth: Integers, a: int, b: int) -> Integers:
    """Return the truth where the number drawn is below a, otherwise lie number (drawn - a) // b in order."""
    numbers = drawn if drawn.dtype == object else drawn.view(np.int64)  # wider ones are Python's own
    lies: Integers = (np.maximum(numbers - a, 0) // max(b, 1)).astype(np.int64, copy=False)  # not used where it is true
    lies += lies >= truth  # skipping the truth
    return np.where(numbers < a, truth, lies)


def in_batches(reports_at_once: Callable[[Any], int] = lambda _: REPORTS_AT_ONCE) -> Callable[[Draw], Draw]:
    """Decorate the draw of a design: reports are drawn in batches, with the same arithmetic."""

    def decorated(draw: Draw) -> Draw:
        @wraps(draw)
        def drawn(design: Any, answers: Integers, random_bytes: RandomBytes) -> Counts:
            step = reports_at_once(design)
            first: Counts = draw(design, answers[:step], random_bytes)
            if len(answers) <= step:
                return first
            reports = np.empty((len(answers), *first.shape[1:]), dtype=first.dtype)
            reports[:step] = first
            for start in range(step, len(answers), step):
                reports[start : start + step] = draw(design, answers[start : start + step], random_bytes)
            return reports

        return drawn  # type: ignore[return-value]

    return decorated


def selection(size: int, among: int, random_bytes: RandomBytes) -> bytearray:
    r"""Draw a set of `size` of the members, uniformly, as zeros and ones: selection sampling.

    Member after member is in the set with probability n/m, those needed to those left, and bytes decide as in
    `bernoulli`: a byte g means yes if :math:`256 n - g m` is at least m, and no if it is not above 0. In between g is
    the first digit of n/m, and what remains takes the place of n for the next byte.

    Two of three: 2/3 has the digits 170, 170, ..., so that a second byte decides on the first member; then 1/2, and 1.

    >>> import io
    >>> list(selection(2, 3, io.BytesIO(bytes([170, 169, 128, 7])).read))
    [1, 0, 1]
    """
    stream, bits, needed = _one_by_one(random_bytes), bytearray(among), 256 * size
    for left, byte in zip(range(among, 0, -1), stream, strict=False):
        rest = needed - byte * left
        if rest > 0:
            while rest < left:
                rest = 256 * rest - next(stream) * left
                if rest <= 0:
                    break
            else:
                bits[-left] = 1
                needed -= 256
    return bits


def selections(sizes: Counts, among: int, width: int, random_bytes: RandomBytes) -> Counts:
    """Draw a random set of each of these sizes from the same bytes: rows of packed bits, `width` bytes wide."""
    needed = sizes.astype(np.min_scalar_type(256 * (among + 1)))
    columns = np.zeros((width, sizes.size), dtype=np.uint8)  # byte by byte: members come in turn
    for index in range(among):
        chosen = bernoulli(sizes.size, needed, among - index, random_bytes)
        needed -= chosen
        columns[index // 8] |= chosen.view(np.uint8) << np.uint8(7 - index % 8)
    return np.ascontiguousarray(columns.T)


def _one_by_one(random_bytes: RandomBytes) -> Iterator[int]:
    """Yield random bytes; from the operating system they are read in blocks, which is faster."""
    size = BYTES_AHEAD if random_bytes is os.urandom else 1
    return chain.from_iterable(iter(lambda: random_bytes(size), b""))


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
