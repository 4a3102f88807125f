r"""Answers to reports, exactly, from the operating system's randomness.

One uniform whole number u below :math:`a + (K-1)b` decides one report: below a the truth, else lie number
:math:`\lfloor (u-a)/b \rfloor` among the K - 1 others, in domain order. Every probability is therefore exactly
a or b in a + (K-1) b: no float is involved. For a `Channel` the number is below the common sum of its rows, and the
report is the column in which the running sum of the answer's row passes it. There is no seed to give, on purpose:
whoever knew it could undo the randomization. The same arithmetic is done whatever the answer.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.designs import TOTAL_LIMIT, Channel, Pooled
from warner.designs.labels import labelled, positions

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from warner.designs import Design, RandomizedResponse

CHUNK = 2**14  # reports drawn at a time: the arithmetic stays in the processor's cache
SHOWN = 5  # positions named in an error


def randomize(answers: Any, design: Design, *, codes: bool = False) -> Any:
    """Randomize true answers into reports.

    Everything is checked before anything is drawn. An error says how many answers are wrong and where, never
    what they are: they may be somebody's truth.

    Parameters
    ----------
    answers : str, int, list, tuple or array
        One label gives a label, a list (or tuple) a list, an array an array of the same shape.
    design : RandomizedResponse or Channel
        What every answer goes through.
    codes : bool
        Answers and reports are positions in the domain (reports: among the outputs) instead of labels.

    Examples
    --------
    With odds 1 : 0 every report is the truth; real designs are random, and cannot be seeded.

    >>> from warner import RandomizedResponse
    >>> RandomizedResponse(["yes", "no"], odds=(1, 0)).randomize(["no", "yes", "no"])
    ['no', 'yes', 'no']
    """
    if isinstance(design, Pooled):
        design.randomize(answers)  # refuses
    if isinstance(answers, np.generic):
        answers = answers.item()  # one label of NumPy's own type is one label
    several = isinstance(answers, list | tuple) or hasattr(answers, "__array__")
    if not several and isinstance(answers, Iterable) and not isinstance(answers, str | bytes):
        raise TypeError(f"answers must be one label, a list, a tuple or an array, but got a {type(answers).__name__}")
    truth = positions(answers if several else [answers], design.domain, codes=codes, what="answers")
    _refuse(truth < 0)
    reports = _draw(truth.ravel(), design, os.urandom).reshape(truth.shape)
    if hasattr(answers, "__array__"):
        return reports if codes else labelled(reports, design.outputs, np.asarray(answers).dtype)
    drawn: Any = reports.tolist()
    named = drawn if codes else [design.outputs[code] for code in drawn]
    return named if several else named[0]


def _draw(
    truth: NDArray[np.int64], design: RandomizedResponse | Channel, random_bytes: Callable[[int], bytes]
) -> NDArray[np.int64]:
    reports = np.empty_like(truth)
    running = design.weights.cumsum(axis=1) if isinstance(design, Channel) else None
    odds = (0, 0) if isinstance(design, Channel) else design.odds
    for start in range(0, truth.size, CHUNK):
        part = truth[start : start + CHUNK]
        drawn = _uniform(part.size, design.total, random_bytes)
        piece = _one_or_a_lie(part, drawn, *odds) if running is None else _column(part, drawn, running)
        reports[start : start + CHUNK] = piece
    return reports


def _uniform(size: int, total: int, random_bytes: Callable[[int], bytes]) -> NDArray[Any]:
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


def _wide_uniform(size: int, total: int, random_bytes: Callable[[int], bytes]) -> NDArray[Any]:
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


def _one_or_a_lie(truth: NDArray[np.int64], drawn: NDArray[Any], a: int, b: int) -> NDArray[np.int64]:
    whole: Any = np.uint64 if drawn.dtype != object else int
    honest = (drawn < whole(a)).astype(bool, copy=False)
    # Where the report is honest the subtraction wraps around (or is below zero) and the quotient is not used.
    lies: NDArray[np.int64] = ((drawn - whole(a)) // whole(max(b, 1))).astype(np.int64)
    lies += lies >= truth  # in domain order, skipping the truth
    np.copyto(lies, truth, where=honest)
    return lies


def _column(truth: NDArray[np.int64], drawn: NDArray[Any], running: NDArray[Any]) -> NDArray[np.int64]:
    """Count the running sums that the draw has reached, by halving: the same steps whatever the answer."""
    drawn = drawn if drawn.dtype == object else drawn.astype(np.int64)
    columns = running.shape[1]
    found = np.zeros_like(truth)
    for power in reversed(range(columns.bit_length())):
        trial = np.minimum(found + 2**power, columns)
        found = np.where((running[truth, trial - 1] <= drawn).astype(bool, copy=False), trial, found)
    return found


def _refuse(wrong: NDArray[np.bool_]) -> None:
    """Name the positions of wrong answers, and nothing about the answers themselves."""
    where = np.flatnonzero(wrong)
    if not where.size:
        return
    shown = ", ".join(map(str, where[:SHOWN].tolist())) + (", ..." if where.size > SHOWN else "")
    raise ValueError(
        f"answers must all be in the domain, but {where.size} of {wrong.size} are missing or not in it, at "
        f"position {shown} counted from 0; nothing was randomized. Leave them out, or add them to the domain"
    )
