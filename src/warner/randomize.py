r"""Answers to reports, exactly, from the operating system's randomness.

One uniform whole number u below :math:`a + (K-1)b` decides one report: below a the truth, else lie number
:math:`\lfloor (u-a)/b \rfloor` among the K - 1 others, in domain order. Every probability is therefore exactly
a or b in a + (K-1) b: no float is involved. There is no seed to give, on purpose: whoever knew it could undo the
randomization. The same arithmetic is done whatever the answer.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.labels import labelled, positions

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from warner.design import RandomizedResponse

CHUNK = 2**14  # reports drawn at a time: the arithmetic stays in the processor's cache
SHOWN = 5  # positions named in an error


def randomize(answers: Any, design: RandomizedResponse, *, codes: bool = False) -> Any:
    """Randomize true answers into reports.

    Everything is checked before anything is drawn. An error says how many answers are wrong and where, never
    what they are: they may be somebody's truth.

    Parameters
    ----------
    answers : str, int, list, tuple or array
        One label gives a label, a list (or tuple) a list, an array an array of the same shape.
    design : RandomizedResponse
        What every answer goes through.
    codes : bool
        Answers and reports are positions in the domain instead of labels.

    Examples
    --------
    With odds 1 : 0 every report is the truth; real designs are random, and cannot be seeded.

    >>> from warner import RandomizedResponse
    >>> RandomizedResponse(["yes", "no"], odds=(1, 0)).randomize(["no", "yes", "no"])
    ['no', 'yes', 'no']
    """
    if isinstance(answers, np.generic):
        answers = answers.item()  # one label of NumPy's own type is one label
    several = isinstance(answers, list | tuple) or hasattr(answers, "__array__")
    if not several and isinstance(answers, Iterable) and not isinstance(answers, str | bytes):
        msg = f"answers must be one label, a list, a tuple or an array, but got a {type(answers).__name__}"
        raise TypeError(msg)
    truth = positions(answers if several else [answers], design, codes=codes, what="answers")
    _refuse(truth < 0)
    reports = _draw(truth.ravel(), design, os.urandom).reshape(truth.shape)
    if hasattr(answers, "__array__"):
        return reports if codes else labelled(reports, design, np.asarray(answers).dtype)
    drawn: Any = reports.tolist()
    named = drawn if codes else [design.domain[code] for code in drawn]
    return named if several else named[0]


def _draw(
    truth: NDArray[np.int64], design: RandomizedResponse, random_bytes: Callable[[int], bytes]
) -> NDArray[np.int64]:
    a, b = design.odds
    total = design.total
    # Whole blocks of `total` only, so that the remainder is exactly uniform.
    limit = np.uint64(2**64 // total * total - 1)
    reports = np.empty_like(truth)
    for start in range(0, truth.size, CHUNK):
        part = truth[start : start + CHUNK]
        bits = np.frombuffer(random_bytes(8 * part.size), "<u8").copy()
        while (again := np.flatnonzero(bits > limit)).size:
            bits[again] = np.frombuffer(random_bytes(8 * again.size), "<u8")
        # bits mod total, by the quotient: NumPy divides by a scalar much faster than it takes remainders.
        bits -= bits // np.uint64(total) * np.uint64(total)
        honest = bits < np.uint64(a)
        # Where the report is honest the subtraction wraps around and the quotient is not used.
        lies = ((bits - np.uint64(a)) // np.uint64(max(b, 1))).astype(np.int64)
        lies += lies >= part  # in domain order, skipping the truth
        np.copyto(lies, part, where=honest)
        reports[start : start + CHUNK] = lies
    return reports


def _refuse(wrong: NDArray[np.bool_]) -> None:
    """Name the positions of wrong answers, and nothing about the answers themselves."""
    where = np.flatnonzero(wrong)
    if not where.size:
        return
    shown = ", ".join(map(str, where[:SHOWN].tolist())) + (", ..." if where.size > SHOWN else "")
    msg = (
        f"answers must all be in the domain, but {where.size} of {wrong.size} are missing or not in it, at "
        f"position {shown} counted from 0; nothing was randomized. Leave them out, or add them to the domain"
    )
    raise ValueError(msg)
