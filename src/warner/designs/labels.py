"""Conversion between labels of answers and positions in the domain, by value *and* type.

True is not the label 1; the double 1.0 is, because statistical programs have no other numbers, and in reports the text
"1" is (`texts_as_numbers`). A missing value has the position `MISSING`, a value outside of the domain `OUTSIDE`; both
are negative.
"""

from __future__ import annotations

import re
import reprlib
import sys
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from warner.arrays import LARGEST_TOTAL, Counts, Dtype, Integers, Mask
from warner.designs.exact import TOTAL_LIMIT
from warner.text import POSITIONS_LISTED

Labels: TypeAlias = tuple[str, ...] | tuple[int, ...] | range
Domain: TypeAlias = int | Sequence[str] | Sequence[int] | Sequence[str | int] | np.ndarray[Any, Any]

MISSING = -1
OUTSIDE = -2
LARGEST_JSON_INTEGER = 2**53 - 1  # the largest whole number that JavaScript reads from JSON as it stands
LABELS_LISTED = 12  # labels in a sentence
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# An integer in its one spelling; open domains have whole numbers below 2^1024, of 309 digits.
WRITTEN_INTEGER = re.compile(r"(0|-?[1-9][0-9]{0,308})(?:\.0)?")
TEXTS_READ_TOGETHER = 1000  # texts that are better read all at once


def positions(values: Any, labels: Labels, *, codes: bool = False, what: str = "values") -> Integers:
    """Return the positions of values of any array type; `codes` are positions, and `what` names errors."""
    labels = range(len(labels)) if codes else labels
    wanted = "integers" if isinstance(labels[0], int) else "strings"
    array = np.asarray(values) if hasattr(values, "__array__") else None
    if array is None:
        index = _index(labels)
        indices = np.array([_position(value, labels, index) for value in values], dtype=np.int64)
    elif array.dtype.kind in "iu" and wanted == "integers":
        indices = _integer_positions(array, labels)
    elif array.dtype.kind == "f" and wanted == "integers":
        whole = (array == np.floor(array)) & (np.abs(array) <= LARGEST_TOTAL)
        indices = np.where(whole, _integer_positions(np.where(whole, array, 0).astype(np.int64), labels), OUTSIDE)
        indices = np.where(np.isnan(array), MISSING, indices)
    elif array.dtype.kind in "OUT":
        index = _index(labels)
        flat = [_position(value, labels, index) for value in array.ravel().tolist()]
        indices = np.array(flat, dtype=np.int64).reshape(array.shape)
    else:
        raise TypeError(
            f"{what} must be {wanted}, as the domain is, but got an array of {array.dtype}; convert it first"
        )
    return np.where(np.ma.getmaskarray(values), MISSING, indices) if _is_masked(values) else indices


def refuse_answers(wrong: Mask, rule: str, fault: str = "not", *, remedy: str = "Leave them out") -> None:
    """Raise an error with the positions of wrong answers, and never the answers, which may be true ones."""
    where = np.flatnonzero(wrong)
    if not where.size:
        return
    listed = ", ".join(map(str, where[:POSITIONS_LISTED].tolist())) + (", ..." if where.size > POSITIONS_LISTED else "")
    found = f"{where.size} of {wrong.size} {'is' if where.size == 1 else 'are'}"
    raise ValueError(
        f"answers must all be {rule}, but {found} {fault}, at position {listed} counted from 0; nothing was "
        f"randomized. {remedy}"
    )


def _is_masked(values: Any) -> TypeGuard[np.ma.MaskedArray[Any, Any]]:
    """Return True for masked arrays; none exist before that part of NumPy is loaded, which takes a while."""
    return "numpy.ma" in sys.modules and isinstance(values, np.ma.MaskedArray)


def without_mask(values: Any) -> Any:
    """Replace masked values by None.

    >>> without_mask(np.ma.array([5, 7], mask=[False, True]))
    array([5, None], dtype=object)
    """
    if not _is_masked(values):
        return values
    every = np.ma.getdata(values).astype(object)
    every[np.ma.getmaskarray(values)] = None
    return every


def from_text(values: list[object], labels: Labels, *, codes: bool = False) -> Any:
    """Read the texts of a CSV as integers if the labels are integers: "7" or "7.0", and not "07" or " 7"."""
    if not codes and isinstance(labels[0], str):
        return values
    if len(values) > TEXTS_READ_TOGETHER and (numbers := _all_integers(values)) is not None:
        return numbers

    def read(text: object) -> object:
        written = WRITTEN_INTEGER.fullmatch(text) if isinstance(text, str) else None
        return text if written is None else int(written[1])

    return [read(text) for text in values]


def whole_numbers(labels: Labels) -> Labels | None:
    """Return labels as whole numbers, if they are, or are texts of these in their one spelling.

    >>> whole_numbers(("1", "0")), whole_numbers(("1", "01")), whole_numbers(("1", "yes"))
    ((1, 0), None, None)
    """
    if isinstance(labels[0], int):
        return labels
    limit = len(str(LARGEST_JSON_INTEGER)) - 1
    if not all(isinstance(x, str) and len(x) < limit and WRITTEN_INTEGER.fullmatch(x) and "." not in x for x in labels):
        return None
    return canonical([int(label) for label in labels])


def texts_as_numbers(values: Any, numbers: Labels) -> Any:
    """Read texts among values as whole numbers, as `from_text` does; other values are unchanged."""
    array = np.asarray(without_mask(values)) if hasattr(values, "__array__") else None
    if array is not None and array.dtype.kind not in "OUT":
        return values
    given = list(values) if array is None else array.ravel().tolist()
    return from_text(given, numbers) if any(isinstance(value, str) for value in given) else values


def _all_integers(texts: list[object]) -> Counts | None:
    """Read texts as integers, masked where missing, if all others are integers in canonical form; else None."""
    given = ["0" if text is None else str(text) for text in texts]
    try:
        written = np.array(given, dtype="S21")  # longer than any of 64 bits
        numbers = written.astype(np.int64)
    except (ValueError, OverflowError):  # a UnicodeEncodeError is one
        return None
    if (numbers.astype("S21") != written).any() or any("\0" in text for text in given):  # which NumPy drops at the end
        return None
    return np.ma.masked_array(numbers, mask=[text is None for text in texts])


def is_missing(value: object) -> bool:
    """Return True for null, NaN and the missing values of data-frame libraries."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float) and value != value


@lru_cache(maxsize=8)
def _index(labels: Labels) -> dict[object, int]:
    return {} if isinstance(labels, range) else {label: position for position, label in enumerate(labels)}


def _position(value: object, labels: Labels, index: dict[object, int]) -> int:
    if isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST_TOTAL:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int | np.integer):
        return MISSING if is_missing(value) else OUTSIDE
    if not isinstance(labels, range):
        return index.get(value if isinstance(value, str) else int(value), OUTSIDE)
    return int(value) - labels.start if not isinstance(value, str) and value in labels else OUTSIDE


def _integer_positions(values: Counts, labels: Any) -> Integers:
    low, high = (labels[0], labels[-1]) if isinstance(labels, range) else (min(labels), max(labels))
    outside = None
    if values.size and (values.min() < low or values.max() > high):
        outside = (values < low) | (values > high)
        values = np.where(outside, values.dtype.type(0), values).astype(np.int64)
        values[outside] = low
    values = values.astype(np.int64, copy=False)  # safe even for uint64: the labels are of 64 bits with a sign
    if isinstance(labels, range):
        indices = values - low if low else values
    else:
        ordered = np.array(labels, dtype=np.int64)
        order = np.argsort(ordered)
        indices = order[np.searchsorted(ordered, values, sorter=order).clip(max=len(labels) - 1)]
        outside = (ordered[indices] != values) if outside is None else outside | (ordered[indices] != values)
    return indices if outside is None else np.where(outside, OUTSIDE, indices)


def labelled(codes: Integers, labels: Labels, like: Dtype | None = None) -> Counts:
    """Return the labels at these positions, as an array of the type of `like` if that can hold them."""
    if isinstance(labels, range):
        return np.asarray(codes + labels.start)
    names = all_labels(labels, like)
    return np.asarray(names[codes], dtype=names.dtype)


def all_labels(labels: Labels, like: Dtype | None = None) -> Counts:
    """Return the labels as an array, of the type of `like` if that can hold them."""
    if isinstance(labels, range):
        return np.arange(labels.start, labels.stop)
    strings = isinstance(labels[0], str)
    return np.array(labels, dtype=like if like is not None and like.kind in "OT" else None if strings else np.int64)


# Canonical form


def canonical(domain: Domain, name: str = "domain") -> Labels:
    """Validate labels, and return them in canonical form; `name` is the argument's name."""
    ordered = domain.ndim == 1 if isinstance(domain, np.ndarray) else isinstance(domain, Sequence)
    ordered = ordered and not isinstance(domain, str | bytes)
    if isinstance(domain, bool) or not (ordered or isinstance(domain, int | np.integer)):
        raise TypeError(f"{name} must be the number of answers or a list of labels, but got {reprlib.repr(domain)}")
    if isinstance(domain, int | np.integer):
        domain = range(int(domain))
    labels = domain if isinstance(domain, range) and domain.step == 1 else _distinct_labels(list(domain), name)
    k = labels.stop - labels.start if isinstance(labels, range) else len(labels)  # len(range) gives up at 2^63
    if not 2 <= k < TOTAL_LIMIT:
        raise ValueError(f"{name} must have at least 2 answers (and fewer than 2^62), but got {k}")
    ends = (labels[0], labels[-1]) if isinstance(labels, range) else labels
    large = [label for label in ends if isinstance(label, int) and not -(2**63) <= label < 2**63]
    if large:
        raise ValueError(f"{name} must hold integers of 64 bits, but got {large[0]}; use strings")
    return labels


def _distinct_labels(domain: list[Any], name: str) -> Labels:
    labels: Labels
    if all(isinstance(label, str) for label in domain):
        labels = tuple(map(str, domain))
        if any("\0" in label or not label for label in labels):
            raise ValueError(
                f"{name} must hold labels that are not empty (in a file they would count as missing) and that "
                "contain no NUL"
            )
        if any(LONE_SURROGATE.search(label) for label in labels):
            raise ValueError(
                f"{name} must hold texts, but one has half a character (a surrogate), which no file can hold"
            )
    elif all(isinstance(label, int | np.integer) and not isinstance(label, bool) for label in domain):
        labels = tuple(map(int, domain))
        consecutive = range(labels[0], labels[0] + len(labels))
        if labels == tuple(consecutive):
            return consecutive
    else:
        kinds = ", ".join(sorted({type(label).__name__ for label in domain}))
        raise TypeError(f"{name} must hold labels that are all strings or all integers, but got {kinds}")
    label, times = Counter[str | int](labels).most_common(1)[0] if labels else ("", 1)
    if times > 1:
        raise ValueError(f"{name} must hold distinct labels, but {label!r} occurs {times} times")
    return labels


# In files, and in words


def refuse_rounded(labels: Labels) -> None:
    """Raise an error for integers that a reader with doubles, such as JavaScript, would change."""
    ends: tuple[str | int, ...] = (labels[0], labels[-1]) if isinstance(labels, range) else labels
    if large := [label for label in ends if isinstance(label, int) and abs(label) > LARGEST_JSON_INTEGER]:
        raise ValueError(
            f"labels must be whole numbers below 2^53 to be saved, but got {large[0]}: readers that hold numbers as "
            "doubles, as JavaScript does, would change it; use strings"
        )


def labels_to_json(labels: Labels) -> Any:
    """Return labels as JSON: a list, or the first and the number of consecutive integers."""
    return {"first": labels.start, "size": len(labels)} if isinstance(labels, range) else list(labels)


def labels_from_json(name: str, domain: object) -> Domain:
    """Read the result of `labels_to_json` or `grid_to_json`; `name` is the field's name, for errors."""
    if isinstance(domain, dict) and domain.keys() in ({"first", "size"}, {"first", "size", "step"}):
        first, size, step = domain["first"], domain["size"], domain.get("step", 1)
        if all(type(number) is int for number in (first, size, step)) and size >= 0 and domain.get("step", 2) > 1:
            return range(first, first + size * step, step)
    elif isinstance(domain, list):
        return domain
    raise ValueError(f'this design is damaged: {name} must be a list of labels or {{"first": ..., "size": ...}}')


def grid_to_json(labels: Labels) -> Any:
    """As `labels_to_json`, with evenly spaced integers as first, size and step."""
    step = step_of(labels)
    return labels_to_json(labels) if step in {None, 1} else {"first": labels[0], "size": len(labels), "step": step}


def step_of(labels: Labels) -> int | None:
    """Return the step of evenly spaced, ascending integers; None for other labels."""
    if isinstance(labels, range):
        return 1
    numbers: Any = labels
    if isinstance(numbers[0], str):
        return None
    step: int = numbers[1] - numbers[0]
    return step if step > 0 and all(y - x == step for x, y in pairwise(numbers)) else None


def label_list(what: str, labels: Labels) -> str:
    """List labels in a sentence; of many labels, the first and the last."""
    shown = ", ".join(map(str, labels[:LABELS_LISTED])) + (
        f", ..., {labels[-1]}" if len(labels) > LABELS_LISTED else ""
    )
    return f"Possible {what} ({len(labels):,}): {shown}"


def first_and_last(labels: Labels) -> str:
    first = [repr(label) for label in labels[:3]]
    last = [repr(label) for label in labels[3:][-1:]]
    return ", ".join(first + ["..."] * (len(labels) > len(first + last)) + last)
