"""Formats of other programs: decimal commas, and codes such as -99 for missing values, as queries on the columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.reports.options import Reading, written_code
from warner.reports.queries import INSIDE, Frame, Table, is_text
from warner.runtime import narwhals as nw

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from warner.arrays import Dtype
    from warner.designs.report_forms import Form

WITH_COMMA = r"^[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?$"


def translated(
    source: Table, reading: Reading, numbers: Iterable[str] | None = None, names: Iterable[str | None] = ()
) -> Table:
    """Return a source without codes, and with decimal points in the columns of `numbers` (or all) except `names`."""
    if reading.decimal == "." and not reading.missing:
        return replace(source, files=())
    schema = source.schema
    if reading.decimal == "," and not source.text:
        raise ValueError('decimal="," is for text files; numbers of other files and of data frames are numbers')
    points = set() if reading.decimal == "." else set(schema if numbers is None else numbers) - set(names)
    labels = source.labels or {}
    changed = {
        name: _rewritten(reading, name, dtype, labels.get(name, {}), comma=name in points)
        for name, dtype in schema.items()
    }
    columns = [column for column in changed.values() if column is not None]
    frame = source.frame.with_columns(*columns) if columns else source.frame
    return source.with_frame(frame, files=())  # the files themselves lack these changes


def _rewritten(reading: Reading, name: str, dtype: Any, labels: Mapping[Any, str], *, comma: bool) -> Frame | None:
    """Expression of a column without codes and with decimal points; None if it does not change."""
    column = nw.col(name)
    codes: list[Any] = [*reading.spellings]
    codes += [written_code(code) for code, label in labels.items() if label in reading.missing]
    if not is_text(dtype):
        codes = sorted({number for code in codes if (number := _code_as_value(code, dtype)) is not None})
    if not codes and not comma:
        return None
    if is_text(dtype) and dtype != nw.String:
        column = column.cast(nw.String)
    if comma:
        point = column.str.replace_all(",", ".", literal=True)
        column = nw.when(column.str.contains(WITH_COMMA)).then(point).otherwise(column)
    return (nw.when(~column.is_in(codes)).then(column) if codes else column).alias(name)


def blanked(values: Any, reading: Reading) -> Any:
    """Return values with missing values in the place of codes."""
    if not reading.missing:
        return values
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        codes = {number for code in reading.missing if (number := _code_as_value(code, values.dtype)) is not None}
        return np.ma.masked_array(values, mask=np.ma.getmaskarray(values) | np.isin(values, list(codes)))
    listed = values.tolist() if isinstance(values, np.ndarray) else values
    known = set(reading.spellings)
    return [
        None if isinstance(value, str | int | float) and written_code(value) in known else value for value in listed
    ]


def refuse_codes_of_reports(reading: Reading, form: Form) -> None:
    if not reading.missing:
        return
    taken = [code for code in reading.spellings if (form.read([code], text=True).status == INSIDE).any()]
    if taken:
        raise ValueError(
            f"missing must name values that are not reports, but {taken[0]!r} is one under this design; leave what "
            "is missing empty instead"
        )


def _code_as_value(code: str, dtype: Dtype | Any) -> int | float | None:
    """Return a code as a value of a column of this type; None if it has none."""
    try:
        number = float(code)
    except ValueError:
        return None
    if isinstance(dtype, np.dtype):
        whole, numeric = dtype.kind in "iu", True
    else:
        whole, numeric = dtype.is_integer(), dtype.is_numeric()
    if not numeric or (whole and not number.is_integer()):
        return None
    return int(number) if whole else number
