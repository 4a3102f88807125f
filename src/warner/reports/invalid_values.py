"""Values that no report can have: which, how often, and which label was probably meant.

A label in other case, with another space or with an accent that is written in two characters looks like the label. Left
out without a word it would be a wrong result, so that it is named wherever unknown values are refused or left out.
"""

from __future__ import annotations

from ast import literal_eval
from collections import Counter
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from unicodedata import normalize

import numpy as np

from warner.designs.labels import OUTSIDE
from warner.designs.report_forms import all_reports
from warner.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from warner.arrays import Integers
    from warner.designs.labels import Labels
    from warner.designs.report_forms import Form

Unknowns: TypeAlias = dict[str, int]  # values as they are shown, and how often each is there

VALUES_LISTED = 5  # values in an error or a warning
VALUES_KEPT = 1000  # different values that are kept apart
ROWS_SEEN = 2**20  # of those that hold such a value

# Ways in which two labels may differ and look alike, and how each is undone.
DIFFERENCES: dict[str, Callable[[str], str]] = {
    "spaces": lambda text: " ".join(text.split()),
    "Unicode form": lambda text: normalize("NFKC", text),
    "case": lambda text: normalize("NFC", text.casefold()),
}


def unknown_values(values: Any, status: Integers, number: Integers | None = None) -> Unknowns:
    """Count the values that no report can have, as they are shown; each row stands for a `number` of reports."""
    if all_reports(status):
        return {}
    if isinstance(values, np.ndarray) and values.shape[:1] != status.shape:
        values = values.ravel()
    found: Unknowns = {}
    for place in np.flatnonzero(status == OUTSIDE)[:ROWS_SEEN].tolist():
        value = values[place]
        plain = value.as_py() if hasattr(value, "as_py") else value
        shown = repr(plain.item() if isinstance(plain, np.generic) else plain)
        if shown in found or len(found) < VALUES_KEPT:
            found[shown] = found.get(shown, 0) + (1 if number is None else int(number[place]))
    return found


def together(first: Mapping[str, int], second: Mapping[str, int]) -> Unknowns:
    """Add up unknown values."""
    return dict((Counter(first) + Counter(second)).most_common(VALUES_KEPT))


def refuse_unknown(number: int, found: Unknowns, form: Form, what: str = "reports") -> None:
    """Refuse values that no report can have, and show the first of them."""
    if not found:
        return
    shown = [_meant(value, form) for value in list(found)[:VALUES_LISTED]]
    listed = ", ".join(shown) + (", ..." if len(found) > VALUES_LISTED else "")
    raise ValueError(
        f"{what} must be {form.rule}, but {number:,} {'is' if number == 1 else 'are'} not: {listed}. {form.remedy}, "
        'or leave them out with unknown="drop"'
    )


def left_out(number: int, found: Mapping[str, int], form: Form) -> str:
    """Say which values were left out, and how often each; nothing where none was."""
    if not number:
        return ""
    said = f"{counted(number, 'value was', 'values were')} left out that no report can have"
    most = sorted(found.items(), key=lambda pair: -pair[1])[:VALUES_LISTED]
    listed = [f"{_meant(value, form)} {'once' if times == 1 else f'{times:,} times'}" for value, times in most]
    rest = number - sum(times for _, times in most)
    others = [f"{counted(rest, 'other', 'others')}"] if rest > 0 and listed else []
    return f"{said}: {', '.join([*listed, *others])}" if listed else said


def _meant(shown: str, form: Form) -> str:
    """Show a value, and the label that it nearly is."""
    try:
        value = literal_eval(shown)
    except (ValueError, SyntaxError):
        return shown
    if isinstance(value, str) and _names_file(value):
        return f"{shown} (the name of a file, which must be given as a path, not as a text)"
    labels = form.labels
    if labels is None or isinstance(value, bool) or not isinstance(value, str | int | float):
        return shown
    if isinstance(labels[0], int):
        return f"{shown} (which is {found} in another spelling)" if (found := _number(value, labels)) else shown
    if not isinstance(value, str):
        return f"{shown} (a number, and the label {str(value)!r} is a text)" if str(value) in labels else shown
    label = _alike(tuple(map(str, labels))).get(_undone(value, tuple(DIFFERENCES)))
    return shown if label is None else f"{shown} (which differs from {label!r} only in {difference(value, label)})"


def _names_file(value: str) -> bool:
    try:
        return Path(value).is_file()
    except OSError:  # too long for a name
        return False


def _number(value: str | float, labels: Labels) -> str:
    """Give the label that a text such as 07 stands for."""
    try:
        number = float(str(value).strip().replace(",", "."))
    except ValueError:
        return ""
    return str(int(number)) if number.is_integer() and int(number) in labels else ""


@lru_cache(maxsize=8)
def _alike(labels: tuple[str, ...]) -> dict[str, str]:
    """Give labels by what is left of them when all differences are undone, where that is left of one label only."""
    undone = [_undone(label, tuple(DIFFERENCES)) for label in labels]
    times = Counter(undone)
    return {text: label for text, label in zip(undone, labels, strict=True) if times[text] == 1}


def _undone(text: str, names: tuple[str, ...]) -> str:
    for name in names:
        text = DIFFERENCES[name](text)
    return text


def difference(value: str, label: str) -> str:
    """Say in what two texts differ that are alike but for case, spaces and Unicode form.

    >>> difference("Yes ", "yes")
    'spaces and case'
    """
    for size in range(1, len(DIFFERENCES) + 1):
        for names in combinations(DIFFERENCES, size):
            if _undone(value, names) == _undone(label, names):
                return " and ".join(names)
    return " and ".join(DIFFERENCES)
