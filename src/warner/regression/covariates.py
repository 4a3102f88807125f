"""Covariates: columns with nothing missing, their levels, and those of new data.

`warner.reports.columns` reads a column of any library; here are the columns that a model takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from warner.arrays import objects
from warner.lazy import on_first_use
from warner.reports.columns import Values, column
from warner.words import counted, enumerated

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import narwhals as nw

    from warner.arrays import Integers
else:
    nw = on_first_use("narwhals")

Columns: TypeAlias = Mapping[str, Values]  # as long as each other, with nothing missing
Level: TypeAlias = str | int | float | bool


def columns_of(frame: Any, names: Iterable[str]) -> Columns:
    """Read the columns that a model needs from new data, in which nothing may be missing.

    A data frame of any library, or a mapping of columns: lists, arrays, or single values that hold for all rows.
    """
    names = list(names)
    if isinstance(frame, Mapping):
        given: dict[str, Any] = dict(frame)
        long = [len(values) for values in given.values() if _is_long(values)]
        size = long[0] if long else 1
        if any(length != size for length in long):
            raise ValueError(f"columns must be as long as each other, but have lengths {sorted(set(long))}")
        given = {name: values if _is_long(values) else [values] * size for name, values in given.items()}
    else:
        try:
            lazy: Any = nw.from_native(frame)
        except TypeError:
            raise TypeError(
                f"new data must be a data frame or a mapping of columns, but got {type(frame).__module__}."
                f"{type(frame).__name__}"
            ) from None
        whole = lazy.collect() if isinstance(lazy, nw.LazyFrame) else lazy
        given = {name: whole[name] for name in whole.columns}
    absent = [name for name in names if name not in given]
    if absent:
        raise ValueError(
            f"new data must have {'the column' if len(absent) == 1 else 'the columns'} "
            f"{enumerated([repr(name) for name in absent], 5)}, which the model uses; there is "
            f"{enumerated([repr(name) for name in given], 8) or 'none'}"
        )
    read = {name: column(name, given[name]) for name in names}
    for name, (_, missing, _) in read.items():
        if missing.any():
            lacking = counted(int(missing.sum()), "row lacks", "rows lack")
            raise ValueError(f"column {name!r} must have no missing values in new data, but {lacking} one")
    return {name: values for name, (values, _, _) in read.items()}


def _is_long(values: Any) -> bool:
    return hasattr(values, "__len__") and not isinstance(values, str | bytes)


def number_of_rows(columns: Columns) -> int:
    """Tell how long columns are; without any, a single row stands for everybody."""
    return len(next(iter(columns.values()))) if columns else 1


def kind(values: Values) -> str:
    """Name what a column holds: number, text or boolean."""
    return {"O": "text", "b": "boolean"}.get(values.dtype.kind, "number")


def levels_of(values: Values, order: Sequence[str] | None = None) -> tuple[Level, ...]:
    """Give the different values of a column: sorted, or in the order that was declared.

    >>> levels_of(np.array(["b", "a", "b"], dtype=object))
    ('a', 'b')
    """
    if values.dtype.kind != "O":
        return tuple(np.unique(values).tolist())
    present = set(values.tolist())
    return tuple(sorted(present)) if order is None else tuple(level for level in order if level in present)


def numbered(values: Values) -> tuple[Integers, Values]:
    """Give each value's number among the different ones, and these, sorted."""
    if values.dtype.kind != "O":
        distinct, place = np.unique(values, return_inverse=True)
        return place.astype(np.int64), distinct
    listed = values.tolist()
    levels = sorted(set(listed))
    index = {level: number for number, level in enumerate(levels)}
    place = np.fromiter((index[value] for value in listed), dtype=np.int64, count=len(listed))
    return place, objects(levels)


def refuse_infinite(name: str, values: Values) -> None:
    """Refuse numbers that are not finite."""
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        number = int((~np.isfinite(values)).sum())
        raise ValueError(
            f"column {name!r} must hold finite numbers, but {counted(number, 'of its values is', 'of its values are')} "
            "infinite; recode them, or have them missing"
        )
