"""What all results have in common: a table, a dictionary, JSON, a data frame, and a text that is also their repr."""

from __future__ import annotations

import importlib.util
import io
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.documents import csv_writer, legible
from warner.typesetting import Printed, html, latex, like_formula, markdown, printed
from warner.words import counted, quoted

if TYPE_CHECKING:
    from warner.arrays import Counts
    from warner.documents import Document

BACKENDS = ("polars", "pandas", "pyarrow")


class Result(ABC):
    """What was found, for people and for programs."""

    @abstractmethod
    def text(self) -> str:
        """Say it in plain words."""

    @abstractmethod
    def table(self) -> dict[str, Counts]:
        """Give it as columns."""

    @abstractmethod
    def to_dict(self) -> Document:
        """Give it as what JSON can hold."""

    def to_json(self) -> str:
        """Write it as JSON."""
        return as_json(self.to_dict())

    def to_frame(self, backend: str | None = None) -> Any:
        """Give the table as a data frame of polars, pandas or pyarrow: the first that is installed, or `backend`."""
        return as_frame(self.table(), backend)

    def printed(self, **options: Any) -> Printed:
        """Give a table for a paper: texts with the digits that mean something, and what they rest on.

        Options are those of `table`.
        """
        return Printed(printed(self.table(**options)))

    def to_markdown(self, **options: Any) -> str:
        """Write the table in Markdown; options are those of `table`."""
        return markdown(self.printed(**options))

    def to_latex(self, **options: Any) -> str:
        """Write the table in LaTeX, with the rules of the package booktabs; options are those of `table`."""
        return latex(self.printed(**options))

    def to_html(self, **options: Any) -> str:
        """Write the table as a page that word processors open; options are those of `table`."""
        return html(self.printed(**options))

    def __repr__(self) -> str:
        return self.text()


def as_json(fields: Document) -> str:
    """Write what `to_dict` gave."""
    return legible(json.dumps(fields, ensure_ascii=False, indent=1))


def as_csv(table: dict[str, Counts]) -> str:
    """Write a table as CSV."""
    lines = io.StringIO()
    writer = csv_writer(lines)
    writer.writerow(table)
    writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))
    return lines.getvalue()


def formulas_in(table: dict[str, Counts]) -> str:
    """Warn of names that a spreadsheet program would run as formulas if it opened the table as CSV; else say nothing.

    CSV has no way to write such a text so that a spreadsheet program leaves it alone and every other program reads it
    as it is. So it is written as it is.
    """
    texts = [text for column in table.values() if column.dtype.kind in "OUT" for text in column.tolist()]
    found = [text for text in dict.fromkeys([*table, *texts]) if isinstance(text, str) and like_formula(text)]
    if not found:
        return ""
    begin = counted(len(found), "name begins", "names begin")
    return (
        f"{begin} like a formula ({quoted(found[0])}): a spreadsheet program may run it when it opens the CSV file; "
        "import the file there with columns of text, or write .html"
    )


def as_frame(table: dict[str, Counts], backend: str | None, preferred: str | None = None) -> Any:
    """Make a data frame of a table: of `backend`, or of the `preferred` library, or of the first that is installed."""
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, but got {backend!r}")
    installed = [name for name in BACKENDS if importlib.util.find_spec(name)]
    chosen: Any = backend or preferred or next(iter(installed), "polars, pandas or pyarrow")
    if chosen not in installed:
        raise ImportError(f"a data frame needs {chosen}, which is not installed")
    columns: Any = {name: column.tolist() if column.dtype == object else column for name, column in table.items()}
    import narwhals as nw

    return nw.from_dict(columns, backend=chosen).to_native()


def rows(table: Mapping[str, Counts]) -> list[Document]:
    """Give a table as JSON has it: a dictionary for each row, what is not finite as None.

    >>> rows({"value": np.array(["yes", "no"]), "share": np.array([0.5, np.nan])})
    [{'value': 'yes', 'share': 0.5}, {'value': 'no', 'share': None}]
    """
    columns = (column.tolist() for column in table.values())
    return [dict(zip(table, map(plain, row), strict=True)) for row in zip(*columns, strict=True)]


def plain(value: Any) -> Any:
    """Give a number, an array or a mapping of them as JSON can hold it: what is not finite as None."""
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray) and value.ndim:
        return [plain(part) for part in value]
    number = value.item() if isinstance(value, np.generic | np.ndarray) else value
    return None if isinstance(number, float) and not math.isfinite(number) else number
