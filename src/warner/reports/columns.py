"""Columns of numbers, texts and truth values, from any library: what is known of people besides their reports.

Whichever library a column came in, it becomes one array of one of four kinds: whole numbers (int64), numbers (float64),
truth values (bool) or texts (objects), with a mask of what is missing. So nothing depends on who held the data.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from warner.arrays import objects
from warner.designs.labels import is_missing
from warner.lazy import on_first_use
from warner.reports.queries import is_text

if TYPE_CHECKING:
    import narwhals as nw

    from warner.arrays import Mask
else:
    nw = on_first_use("narwhals")

Values: TypeAlias = np.ndarray[Any, Any]  # of int64, float64, bool, or texts as objects

# In one spelling: 007 is the name of something, and not a number.
NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
WHOLE_VALUE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
NOT_A_NUMBER = {"", "na", "n/a", "nan", "null", "none", "."}  # how missing numbers are written in text files
COLUMN_KINDS = "numbers, texts or truth values"


class Column(NamedTuple):
    """Values, a mask of those that are missing (and mean nothing), and the order of the levels, if one was declared."""

    values: Values
    missing: Mask
    order: tuple[str, ...] | None = None


def column(name: str, values: Any, *, text: bool = False) -> Column:
    """Read one column: a series of any library, an array or a list; with `text`, from a file that has only texts.

    >>> column("age", ["31", "NA", "47"], text=True).values.tolist()
    [31, 0, 47]
    """
    if isinstance(values, list | tuple):
        return _of_texts(list(values)) if text else _of_objects(name, list(values))
    if isinstance(values, nw.Series):
        return _of_series(name, values, text=text)
    if isinstance(values, np.ndarray) and not isinstance(values, np.ma.MaskedArray) and values.dtype.kind in "biuf":
        if values.ndim != 1:
            raise ValueError(f"column {name!r} must have one axis, but got shape {values.shape}")
        return _of_numbers(values)
    try:
        native = None if isinstance(values, np.ndarray) else nw.from_native(values, series_only=True)
    except TypeError:
        native = None
    if native is not None:
        return _of_series(name, native, text=text)
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    return _of_texts(listed) if text else _of_objects(name, listed)


def _of_series(name: str, series: Any, *, text: bool) -> Column:
    dtype = series.dtype
    if is_text(dtype):
        texts = series.cast(nw.String).to_list()
        if text:
            return _of_texts(texts)
        return _of_objects(name, texts)._replace(order=declared(series))
    if dtype in {nw.Object, nw.Unknown, nw.Decimal, nw.UInt64, nw.Int128, nw.UInt128}:
        return _of_objects(name, series.to_list())
    if dtype == nw.Boolean or dtype.is_numeric():
        missing = series.is_null().to_numpy().astype(bool)
        if dtype == nw.Boolean or dtype.is_integer():
            wanted: Any = nw.Boolean if dtype == nw.Boolean else nw.Int64
            filled = series.fill_null(False if dtype == nw.Boolean else 0) if missing.any() else series
            return Column(filled.cast(wanted).to_numpy(), missing)
        numbers = series.cast(nw.Float64).to_numpy().astype(np.float64)
        return _of_numbers(numbers)
    raise TypeError(f"column {name!r} must hold {COLUMN_KINDS}, but holds {dtype}; make it one of these first")


def declared(series: Any) -> tuple[str, ...] | None:
    """Give the order of the levels that a column declares: an ordered categorical, an Enum, a categorical of pandas."""
    if series.dtype == nw.Enum:
        return tuple(series.dtype.categories)
    if series.dtype == nw.Categorical and series.implementation.is_pandas_like():
        return tuple(map(str, series.to_native().dtype.categories))
    return None


def _of_numbers(values: Values) -> Column:
    if values.dtype.kind in "bi":
        return Column(values.astype(bool if values.dtype.kind == "b" else np.int64), np.zeros(len(values), dtype=bool))
    numbers = values.astype(np.float64)
    if values.dtype.kind == "u" and values.max(initial=0) < 2**63:
        return Column(values.astype(np.int64), np.zeros(len(values), dtype=bool))
    return Column(numbers, np.isnan(numbers))


def _of_objects(name: str, values: list[Any]) -> Column:
    missing = np.fromiter((is_missing(value) for value in values), dtype=bool, count=len(values))
    kinds = {type(value) for value, lost in zip(values, missing.tolist(), strict=True) if not lost}
    if not kinds:
        return Column(np.zeros(len(values)), missing)
    for types, dtype, filler in (
        ((str,), object, ""),
        ((bool, np.bool_), np.bool_, False),
        ((int, np.integer), np.int64, 0),
        ((int, float, np.integer, np.floating, Decimal, Fraction), np.float64, np.nan),
    ):
        if all(issubclass(one, types) and (one is not bool or bool in types) for one in kinds):
            filled: list[Any] = [
                filler if lost else value for value, lost in zip(values, missing.tolist(), strict=True)
            ]
            if dtype is np.int64 and any(not -(2**63) <= value < 2**63 for value in filled):
                continue
            return Column(objects(filled) if dtype is object else np.array(filled, dtype=dtype), missing)
    names = " and ".join(sorted(one.__name__ for one in kinds))
    raise TypeError(
        f"column {name!r} must hold {COLUMN_KINDS}, all of one kind, but holds {names}; make it one of these first"
    )


def _of_texts(texts: list[str | None]) -> Column:
    """Read a column of a text file: numbers if all are, but for the ways in which a missing number is written."""
    lost = [text is None or text.strip().lower() in NOT_A_NUMBER for text in texts]
    given = {text for text, gone in zip(texts, lost, strict=True) if text is not None and not gone}
    if given and all(NUMBER.fullmatch(text) for text in given):
        number: Any = int if all(WHOLE_VALUE.fullmatch(text) for text in given) else float
        table = {text: number(text) for text in given}
        return Column(np.array([table.get(text or "", 0) for text in texts]), np.array(lost, dtype=bool))
    missing = np.array([text is None for text in texts], dtype=bool)
    return Column(objects(["" if text is None else text for text in texts]), missing)
