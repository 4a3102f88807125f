"""Randomize answers into reports, exactly, from the operating system's randomness: a seed would undo it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.designs.labels import positions, refuse_answers
from warner.designs.ordered import is_numeric
from warner.reports.tallies import refuse_design

if TYPE_CHECKING:
    from warner.designs import Design
    from warner.designs.memo import Memo


def randomize(answers: Any, design: Design, *, codes: bool = False, memo: Memo | None = None) -> Any:
    """Randomize true answers into reports.

    All answers are checked before anything is drawn. An error contains the number of invalid answers and their
    positions, but not the answers: they may be true answers.

    Parameters
    ----------
    answers : str, int, list, tuple or array
        One label gives one report, a list (or tuple) a list, an array an array of the same shape.
    design : Design
        Design that randomizes every answer.
    codes : bool
        Answers and reports are codes instead of labels: an answer is its position in the domain, and a report its
        position among the possible reports. A report that is a set of answers is a row of packed bits (uint8) instead
        of a hexadecimal string, so that an array of reports has one axis more.
    memo : Memo, optional
        For a memoized design, the memory of one respondent's device: all answers are consecutive answers of that
        respondent. If not given, each is the first answer of another respondent.

    Examples
    --------
    With odds 1 : 0 every report is the truth; real designs are random, and cannot be seeded.

    >>> from warner import RandomizedResponse
    >>> RandomizedResponse(["yes", "no"], odds=(1, 0)).randomize(["no", "yes", "no"])
    ['no', 'yes', 'no']
    """
    refuse_design(design, "randomize(answers, design)")
    if isinstance(answers, np.generic):
        answers = answers.item()  # one label of NumPy's own type is one label
    array = hasattr(answers, "__array__")
    several = array or isinstance(answers, list | tuple)
    if not several and isinstance(answers, Iterable) and not isinstance(answers, str | bytes):
        raise TypeError(f"answers must be one label, a list, a tuple or an array, but got a {type(answers).__name__}")
    truth = positions(answers if several else [answers], design.domain, codes=codes, what="answers")
    if (truth < 0).any():
        refuse_answers(truth < 0, "in the domain", "missing or not in it", remedy=_remedy(design))
    if memo is not None and memo.design != design:
        raise ValueError("memo must be of the design that the answers go through, but it is of another one")
    draw = design.draw if memo is None else memo.draw
    reports = draw(truth.ravel(), os.urandom)
    if not codes:
        like = np.asarray(answers).dtype if array else np.dtype(object)
        reports = design.report_form.written(reports, like=like)
    if array:
        return reports.reshape(truth.shape + reports.shape[1:])
    listed = reports.tolist() if reports.ndim == 1 else list(reports)
    return listed if several else listed[0]


def _remedy(design: Design) -> str:
    if design.ordered and is_numeric(design.domain):
        return "Round numbers with design.nearest, or leave them out"
    return "Leave them out, or add them to the domain"
