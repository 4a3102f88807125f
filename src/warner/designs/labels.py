"""Labels to positions in the domain, and back: by value *and* type.

Neither True nor 1.0 nor "1" is the label 1. What has no position is told apart: a missing value is `MISSING`, a value
that is not in the domain `OUTSIDE`; both are negative, so that no array can be indexed with them unnoticed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warner.designs import Labels

MISSING = -1
OUTSIDE = -2


def positions(values: Any, labels: Labels, *, codes: bool = False, what: str = "values") -> NDArray[np.int64]:
    """Give each value's position among the labels; with `codes` the values are such positions already.

    `values` is a list, a tuple or anything with an array interface; `what` names them in errors.
    """
    labels = range(len(labels)) if codes else labels
    wanted = "integers" if isinstance(labels[0], int) else "strings"
    array = np.asarray(values) if hasattr(values, "__array__") else None
    if array is None:
        index = _index(labels)
        found = np.array([_position(value, labels, index) for value in values], dtype=np.int64)
    elif array.dtype.kind in "iu" and wanted == "integers":
        found = _integer_positions(array, labels)
    elif array.dtype.kind in "OUT":
        index = _index(labels)
        flat = [_position(value, labels, index) for value in array.ravel().tolist()]
        found = np.array(flat, dtype=np.int64).reshape(array.shape)
    else:
        raise TypeError(
            f"{what} must be {wanted}, as the domain is, but got an array of {array.dtype}; convert it first"
        )
    if isinstance(values, np.ma.MaskedArray):
        found = np.where(np.ma.getmaskarray(values), MISSING, found)
    return found


def from_text(values: list[Any], labels: Labels, *, codes: bool = False) -> list[Any]:
    """Read the texts of a CSV as integers where the labels are, in one spelling: not "07", " 7" or "7.0"."""
    if not codes and isinstance(labels[0], str):
        return values

    def read(text: Any) -> Any:
        whole = isinstance(text, str) and text.isascii() and text.removeprefix("-").isdecimal()
        return int(text) if whole and str(int(text[:20])) == text else text

    return [read(text) for text in values]


def printable(text: str) -> str:
    """Show control characters as escapes: they could play tricks with a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def is_missing(value: object) -> bool:
    """Tell null, NaN and the missing values of data-frame libraries."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float) and value != value


@lru_cache(maxsize=8)
def _index(labels: Labels) -> dict[Any, int]:
    """Look positions up, where they are not arithmetic."""
    return {} if isinstance(labels, range) else {label: position for position, label in enumerate(labels)}


def _position(value: object, labels: Labels, index: dict[Any, int]) -> int:
    if isinstance(value, bool) or not isinstance(value, str | int | np.integer):
        return MISSING if is_missing(value) else OUTSIDE
    if not isinstance(labels, range):
        return index.get(value if isinstance(value, str) else int(value), OUTSIDE)
    return int(value) - labels.start if not isinstance(value, str) and value in labels else OUTSIDE


def _integer_positions(values: NDArray[Any], labels: Any) -> NDArray[np.int64]:
    low, high = (labels[0], labels[-1]) if isinstance(labels, range) else (min(labels), max(labels))
    outside = None
    if values.size and (values.min() < low or values.max() > high):
        outside = (values < low) | (values > high)
        values = np.where(outside, values.dtype.type(0), values).astype(np.int64)
        values[outside] = low
    values = values.astype(np.int64, copy=False)  # safe even for uint64: the labels are of 64 bits with a sign
    if isinstance(labels, range):
        found = values - low if low else values
    else:
        ordered = np.array(labels, dtype=np.int64)
        order = np.argsort(ordered)
        found = order[np.searchsorted(ordered, values, sorter=order).clip(max=len(labels) - 1)]
        outside = (ordered[found] != values) if outside is None else outside | (ordered[found] != values)
    return found if outside is None else np.where(outside, OUTSIDE, found)


def labelled(codes: NDArray[np.int64], labels: Labels, like: np.dtype[Any] | None = None) -> NDArray[Any]:
    """Give the labels at these positions, as an array of the kind of `like` where that can hold them."""
    if isinstance(labels, range):
        return np.asarray(codes + labels.start)
    names = all_labels(labels, like)
    return np.asarray(names[codes], dtype=names.dtype)


def all_labels(labels: Labels, like: np.dtype[Any] | None = None) -> NDArray[Any]:
    """Give the labels as an array, of the kind of `like` where that can hold them."""
    if isinstance(labels, range):
        return np.arange(labels.start, labels.stop)
    strings = isinstance(labels[0], str)
    return np.array(labels, dtype=like if like is not None and like.kind in "OT" else None if strings else np.int64)
