r"""Answers to reports, exactly, from the operating system's randomness.

One uniform whole number u below :math:`a + (K-1)b` decides one report: below a the truth, else lie number
:math:`\lfloor (u-a)/b \rfloor` among the K - 1 others, in domain order. Every probability is therefore exactly
a or b in a + (K-1) b: no float is involved. There is no seed to give, on purpose: whoever knew it could undo the
randomization. The same arithmetic is done whatever the answer.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

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
    truth = _positions(answers, design, codes=codes)
    reports = _draw(truth.ravel(), design, os.urandom).reshape(truth.shape)
    if isinstance(answers, np.ndarray) or hasattr(answers, "__array__"):
        return reports if codes else _labelled(reports, design, np.asarray(answers).dtype)
    drawn: Any = reports.tolist()
    if codes:
        return drawn
    return design.domain[drawn] if truth.ndim == 0 else [design.domain[code] for code in drawn]


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


def _positions(answers: Any, design: RandomizedResponse, *, codes: bool) -> NDArray[np.int64]:
    """Check the answers and turn them into positions in the domain."""
    labels = range(design.k) if codes else design.domain
    wanted = "integers" if isinstance(labels[0], int) else "strings"
    if isinstance(answers, np.ma.MaskedArray):
        _refuse(np.ma.getmaskarray(answers))
    values = np.asarray(answers) if hasattr(answers, "__array__") else answers
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and wanted == "integers":
        return _integer_positions(values, labels)
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OUT":
        msg = f"answers must be {wanted}, as the domain is, but got an array of {values.dtype}; convert it first"
        raise TypeError(msg)
    return _object_positions(values, design.positions if not isinstance(labels, range) else labels)


def _integer_positions(values: NDArray[Any], labels: Any) -> NDArray[np.int64]:
    low, high = (labels[0], labels[-1]) if isinstance(labels, range) else (min(labels), max(labels))
    if values.size and (values.min() < low or values.max() > high):
        _refuse((values < low) | (values > high))
    values = values.astype(np.int64, copy=False)  # safe even for uint64: the labels are of 64 bits with a sign
    if isinstance(labels, range):
        return values - low if low else values
    ordered = np.array(labels, dtype=np.int64)
    order = np.argsort(ordered)
    positions: NDArray[np.int64] = order[np.searchsorted(ordered, values, sorter=order)]
    _refuse(ordered[positions] != values)
    return positions


def _object_positions(values: Any, labels: range | dict[str | int, int]) -> NDArray[np.int64]:
    """Look each answer up by value *and* type: neither True nor 1.0 nor "1" is the label 1."""

    def position(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, str | int | np.integer):
            return -1
        if isinstance(labels, dict):
            return labels.get(value if isinstance(value, str) else int(value), -1)
        return int(value) - labels.start if not isinstance(value, str) and value in labels else -1

    array = values if isinstance(values, np.ndarray) else None
    single = array is None and not isinstance(values, list | tuple)
    found = np.array([position(value) for value in ([values] if single else values if array is None else array.flat)])
    found = found.astype(np.int64)  # an empty list has no type of its own
    _refuse(found < 0)
    return found.reshape(() if single else found.shape if array is None else array.shape)


def _refuse(wrong: NDArray[np.bool_]) -> None:
    """Name the positions of wrong answers, and nothing about the answers themselves."""
    positions = np.flatnonzero(wrong)
    if not positions.size:
        return
    shown = ", ".join(map(str, positions[:SHOWN].tolist())) + (", ..." if positions.size > SHOWN else "")
    msg = (
        f"answers must all be in the domain, but {positions.size} of {wrong.size} are missing or not in it, at "
        f"position {shown} counted from 0; nothing was randomized. Leave them out, or add them to the domain"
    )
    raise ValueError(msg)


def _labelled(codes: NDArray[np.int64], design: RandomizedResponse, like: np.dtype[Any]) -> NDArray[Any]:
    if isinstance(design.domain, range):
        return codes + design.domain.start
    strings = isinstance(design.domain[0], str)
    labels: NDArray[Any] = np.array(design.domain, dtype=like if like.kind in "OT" else None if strings else np.int64)
    return labels[codes]
