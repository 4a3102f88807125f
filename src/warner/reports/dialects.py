"""Files as other programs write them: another encoding, decimal commas, and codes such as -99 that stand for missing.

A file in another encoding is read through a copy in UTF-8 (`files.in_utf8`); everything else is a query on the columns,
so that it holds for files, data frames and tables alike.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.lazy import on_first_use
from warner.reports.queries import INSIDE, Table, is_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import narwhals as nw

    from warner.arrays import Dtype
    from warner.designs.report_forms import Form
    from warner.reports.queries import Frame
else:
    nw = on_first_use("narwhals")

WHOLE_NUMBER = re.compile("0|-?[1-9][0-9]*")  # in digits
WITH_COMMA = r"^[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?$"


class Dialect(NamedTuple):
    """How other programs wrote a file: its encoding, its decimal mark, the codes for missing values, and the sheet."""

    encoding: str = "utf-8"
    decimal: str = "."
    missing: tuple[str, ...] = ()
    sheet: str | None = None

    @property
    def spellings(self) -> tuple[str, ...]:
        """The codes as a text file may have them: 9 also as 9.0, as programs without whole numbers write it."""
        return (*self.missing, *(f"{code}.0" for code in self.missing if WHOLE_NUMBER.fullmatch(code)))

    @property
    def plain(self) -> bool:
        """Whether there is nothing to be done."""
        return self == PLAIN

    def applied(self, source: Table, numbers: Iterable[str] | None = None) -> Table:
        """Give a source as if it had been written with decimal points, and with nothing where a code stands."""
        if self == self._replace(decimal=".", missing=()):
            return replace(source, files=())
        schema = source.schema
        if self.decimal == "," and not source.text:
            raise ValueError('decimal="," is for text files; numbers of other files and of data frames are numbers')
        points = set() if self.decimal == "." else set(schema) if numbers is None else set(numbers) & set(schema)
        labels = source.labels or {}
        changed = {
            name: self._rewritten(name, dtype, labels.get(name, {}), comma=name in points)
            for name, dtype in schema.items()
        }
        columns = [column for column in changed.values() if column is not None]
        frame = source.frame.with_columns(*columns) if columns else source.frame
        return source.with_frame(frame, files=())  # which nobody may read past these changes

    def _rewritten(self, name: str, dtype: Any, labels: Mapping[Any, str], *, comma: bool) -> Frame | None:
        """Give a column without codes and with decimal points; None if it stays as it is. A label names its code."""
        column = nw.col(name)
        codes: list[Any] = [*self.spellings]
        codes += [_written(code) for code, label in labels.items() if label in self.missing]
        if not is_text(dtype):
            codes = sorted({number for code in codes if (number := _number(code, dtype)) is not None})
        if not codes and not comma:
            return None
        if is_text(dtype) and dtype != nw.String:
            column = column.cast(nw.String)
        if comma:
            point = column.str.replace_all(",", ".", literal=True)
            column = nw.when(column.str.contains(WITH_COMMA)).then(point).otherwise(column)
        return (nw.when(~column.is_in(codes)).then(column) if codes else column).alias(name)

    def blanked(self, values: Any) -> Any:
        """Give a list or an array of reports with nothing where a code stands."""
        if not self.missing:
            return values
        if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
            codes = {number for code in self.missing if (number := _number(code, values.dtype)) is not None}
            return np.ma.masked_array(values, mask=np.ma.getmaskarray(values) | np.isin(values, list(codes)))
        listed = values.tolist() if isinstance(values, np.ndarray) else values
        known = set(self.spellings)
        return [
            None if isinstance(value, str | int | float) and _written(value) in known else value for value in listed
        ]

    def refuse_reports(self, form: Form) -> None:
        """Refuse codes for missing values that are reports."""
        taken = [code for code in self.spellings if (form.read([code], text=True).status == INSIDE).any()]
        if taken:
            raise ValueError(
                f"missing must name values that are not reports, but {taken[0]!r} is one under this design; leave what "
                "is missing empty instead"
            )


PLAIN: Dialect = Dialect()  # as warner itself writes


def dialect(encoding: str | None = None, decimal: str = ".", missing: Any = (), sheet: str | None = None) -> Dialect:
    """Check how a file was written."""
    try:
        "".encode(encoding or "utf-8")  # which refuses rot13 and base64: they are no encodings of texts
        known = codecs.lookup(encoding or "utf-8").name
    except (LookupError, UnicodeError):
        raise ValueError(
            f"encoding must be one of text that Python knows, such as cp1252, latin-1 or utf-16, but got {encoding!r}"
        ) from None
    if decimal not in {".", ","}:
        raise ValueError(f'decimal must be "." or ",", but got {decimal!r}')
    codes = [missing] if isinstance(missing, str | int | float) else list(missing)
    strange = [code for code in codes if isinstance(code, bool) or not isinstance(code, str | int | float)]
    if strange:
        raise TypeError(f"missing must hold texts or numbers, but got {strange[0]!r}")
    if sheet is not None and not isinstance(sheet, str):
        raise TypeError(f"sheet must be the name of a sheet, a text, but got {sheet!r}")
    known = "utf-8" if known == "utf-8-sig" else known
    return Dialect(known, decimal, tuple(dict.fromkeys(map(_written, codes))), sheet)


def _written(code: str | float) -> str:
    """Write a code as a text file has it, a whole number without a point."""
    if isinstance(code, float) and code.is_integer():
        return str(int(code))
    text = str(code)
    return digits if WHOLE_NUMBER.fullmatch(digits := text.removesuffix(".0")) else text


def _number(code: str, dtype: Dtype | Any) -> int | float | None:
    """Read a code as a column of this type would hold it; None where it could not."""
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
