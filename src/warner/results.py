"""What all results have in common: a table, a dictionary, JSON, a data frame, and a text that is also their repr."""

from __future__ import annotations

import importlib.util
import io
import json
import math
import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.arrays import objects
from warner.documents import csv_writer, json_escaped
from warner.typesetting import Printed, html, latex, like_formula, markdown, printed
from warner.words import counted, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from warner.arrays import Array, Counts, Mask
    from warner.documents import Document

BACKENDS = ("polars", "pandas", "pyarrow")
ROWS_WRITTEN_AT_ONCE = 2**13  # of a table, as JSON


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

    def json_fields(self, *_: Any, **options: Any) -> Document:
        """Return what `to_dict` does, but large tables as columns, from which JSON is written."""
        return self.to_dict(**options)

    def to_json(self) -> str:
        """Write it as JSON."""
        return as_json(self.json_fields())

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


class TableRows:
    """The rows of a table in a document: written as JSON block by block, without a dictionary for each row.

    >>> TableRows({"value": np.array(["yes", "no"]), "share": np.array([0.5, np.nan])}).listed()
    [{'value': 'yes', 'share': 0.5}, {'value': 'no', 'share': None}]
    """

    def __init__(self, table: Mapping[str, Counts]) -> None:
        self.table = table

    def listed(self) -> list[Document]:
        """Return a dictionary for each row."""
        return rows(self.table)

    def written(self) -> Iterator[str]:
        """Write the rows as the JSON of a field of a document, in parts."""
        names = (_json(name).replace("%", "%%") for name in self.table)
        template = "  {\n" + ",\n".join(f"   {name}: %s" for name in names) + "\n  }"
        size = max((len(column) for column in self.table.values()), default=0)
        for start in range(0, size, ROWS_WRITTEN_AT_ONCE):
            cells = (_cells(column[start : start + ROWS_WRITTEN_AT_ONCE]) for column in self.table.values())
            yield (",\n" if start else "[\n") + ",\n".join(template % row for row in zip(*cells, strict=True))
        yield "\n ]" if size else "[]"


def group_column(by: Sequence[str], groups: Sequence[tuple[Any, ...]], answers: int) -> dict[str, Counts]:
    """Return the column of groups in a document, with so many rows for each; no column without groups."""
    if not by:
        return {}
    return {"group": np.repeat(objects(dict(zip(by, key, strict=True)) for key in groups), answers)}


def _cells(column: Counts) -> list[str]:
    """Write the values of a column as JSON, equal numbers and texts once."""
    kind = column.dtype.kind
    if kind == "f":
        # By their bits: 0.0 and -0.0 are equal, but not written alike.
        distinct, place = np.unique(column.astype(np.float64).view(np.int64), return_inverse=True)
        numbers = distinct.view(np.float64).tolist()
        texts = objects(repr(number) if math.isfinite(number) else "null" for number in numbers)
        return list(texts[place])
    values = column.tolist()
    if kind in "iu":
        return list(map(str, values))
    known = {id(value): value for value in values}
    written = {key: _json(plain(value)).replace("\n", "\n   ") for key, value in known.items()}
    return [written[id(value)] for value in values]


def _json(value: Any) -> str:
    return json_escaped(json.dumps(value, ensure_ascii=False, indent=1))


def as_json(fields: Document) -> str:
    """Write what `json_fields` or `to_dict` returned; rows of tables are fields of the document itself."""
    tables: dict[str, TableRows] = {}

    def named(value: Any) -> str:
        if not isinstance(value, TableRows):
            raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
        name = secrets.token_hex(16)  # that no text of the document holds
        tables[name] = value
        return name

    text = json_escaped(json.dumps(fields, ensure_ascii=False, indent=1, default=named))
    parts: list[str] = []
    for name, table in tables.items():
        before, _, text = text.partition(f'"{name}"')
        parts += [before, *table.written()]
    return "".join([*parts, text])


def listed(fields: Document) -> Document:
    """Return a document with its tables as lists of dictionaries."""
    return {name: part.listed() if isinstance(part, TableRows) else part for name, part in fields.items()}


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


class Wald(NamedTuple):
    """Wald's statistics, their degrees of freedom, None for the normal distribution, and the ends of the intervals."""

    statistic: Array
    freedom: Array | None
    low: Array
    high: Array


class StandardErrors(NamedTuple):
    """Standard errors of some quantities, and what intervals and tests need besides.

    Attributes
    ----------
    errors : array
        Standard errors; NaN where there is none.
    freedom : array or None
        Degrees of freedom of Student's t for each; None for the normal distribution.
    floor : array or None
        Standard errors that are known without the sample design, below which no interval is computed; see
        `warner.regression.variance_floors`. None without clusters and strata.
    """

    errors: Array
    freedom: Array | None = None
    floor: Array | None = None

    def half_widths(self, level: float) -> Array:
        """Return how far intervals of this level extend to either side.

        >>> StandardErrors(np.array([0.5, 0.0]), None, np.array([0.1, 0.1])).half_widths(0.95).round(3)
        array([0.98 , 0.196])
        """
        half = critical_value(level, self.freedom) * self.errors
        return half if self.floor is None else np.maximum(half, critical_value(level) * self.floor)

    def floored(self, level: float = 0.95) -> Mask:
        """Return which intervals of this level are those of the floor."""
        if self.floor is None:
            return np.zeros(np.shape(self.errors), dtype=bool)
        return np.asarray(critical_value(level) * self.floor > critical_value(level, self.freedom) * self.errors)

    def tested(self, estimate: Array) -> tuple[Array, Array | None]:
        """Return the statistics of a test against 0, and their degrees of freedom: the test with the larger p-value."""
        with np.errstate(invalid="ignore", divide="ignore"):
            statistic = estimate / self.errors
            if self.floor is None:
                return statistic, self.freedom
            other = estimate / self.floor
        decides = ~(p_values(other, None) <= p_values(statistic, self.freedom)) & ~np.isnan(other)
        freedom = None if self.freedom is None else np.where(decides, np.inf, self.freedom)
        return np.where(decides, other, statistic), freedom

    def wald(self, estimate: Array, level: float) -> Wald:
        """Test estimates against 0 and compute their intervals.

        >>> StandardErrors(np.array([0.5])).wald(np.array([2.0]), 0.95).low.round(3)
        array([1.02])
        """
        half = self.half_widths(level)
        with np.errstate(invalid="ignore"):
            return Wald(*self.tested(estimate), estimate - half, estimate + half)


def critical_value(level: float, freedom: Array | None = None) -> Array:
    """Give the two-sided critical value: how many standard errors an interval extends to either side.

    It is that of Student's t, for each number of degrees of freedom, or of the normal law if `freedom` is None.
    """
    from scipy.special import ndtri, stdtrit

    check_level(level)
    return np.asarray(ndtri((1 + level) / 2) if freedom is None else stdtrit(freedom, (1 + level) / 2))


def p_values(statistic: Array, freedom: Array | None) -> Array:
    """Give the two-sided p-values of statistics, by Student's t, or by the normal law if `freedom` is None."""
    from scipy.special import ndtr, stdtr

    tail = -np.abs(statistic)
    return np.asarray(2 * (ndtr(tail) if freedom is None else stdtr(freedom, tail)))


def check_level(level: float) -> None:
    """Refuse what is no confidence level."""
    if not isinstance(level, float | int | np.floating) or not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, such as 0.95, but got {level!r}")


def coefficients(
    names: Mapping[str, Iterable[Any]],
    estimate: Array,
    errors: Array,
    statistic: Array,
    low: Array,
    high: Array,
    *,
    freedom: Array | None,
    methods: Iterable[str] | None = None,
) -> dict[str, Counts]:
    """Give a table of coefficients, a row for each.

    Parameters
    ----------
    names : mapping of str to names
        The first columns: the term, and what else a coefficient is known by.
    estimate, errors, statistic, low, high : arrays
        Estimates with standard errors, statistics and intervals, as `wald` gives them or a profile likelihood.
    freedom : array or None
        Degrees of freedom of Student's t; None for the normal law, whose column is infinite.
    methods : names, optional
        How each interval was found.
    """
    return {
        **{name: objects(column) for name, column in names.items()},
        "estimate": estimate,
        "se": errors,
        "statistic": statistic,
        "p": p_values(statistic, freedom),
        "low": low,
        "high": high,
        **({} if methods is None else {"interval": objects(methods)}),
        "freedom": freedom_column(freedom, len(estimate)),
    }


def freedom_column(freedom: Array | None, rows: int) -> Array:
    """Give the degrees of freedom of each row of a table: infinite for the normal law."""
    return np.full(rows, np.inf) if freedom is None else freedom.ravel()


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
