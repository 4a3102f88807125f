"""Results: tables that are declared once, from which text, JSON, data frames, HTML and tables for papers follow.

A result declares its columns, a title and notes (`TableResult`). A column has an array for programs, under its name,
and texts for readers, under its heading. Estimates are written by one rule each (`Estimates`).
"""

from __future__ import annotations

import importlib.util
import io
import json
import math
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import starmap
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from warner.arrays import Array, Counts, Mask, PerGroup, objects
from warner.documents import Document, csv_writer, json_escaped, skipped_fields
from warner.text import check_choice, counted, quoted, sentence, skipped_words
from warner.typesetting import (
    Printed,
    cells,
    decimals_of,
    fragment,
    html,
    interval_cells,
    labels,
    latex,
    like_formula,
    markdown,
    number_text,
    p_value_cells,
    percent_cells,
    plain_table,
    printed,
    rounded,
    share_decimals,
)

LIBRARIES = ("pandas", "polars", "pyarrow")  # of data frames, in order of preference
ROWS_WRITTEN_AT_ONCE = 2**13  # of a table in JSON


class Result(ABC):
    """Result of an analysis: text, tables and JSON."""

    _library: str | None = None  # of the data frame that the reports came in
    _skipped: Mapping[str, str] = MappingProxyType({})  # files of reports, with the reasons

    @abstractmethod
    def text(self) -> str:
        """Return the result as text for a terminal."""

    @abstractmethod
    def table(self) -> dict[str, Counts]:
        """Return the columns as arrays, by name."""

    @abstractmethod
    def to_dict(self) -> Document:
        """Return the result as a JSON document; numbers that are not finite are None."""

    def _summaries(self, **options: Any) -> Sequence[Result]:
        """Return the results that the text has in its sentences, such as the mean; options are those of `table`."""
        return ()

    def _json_fields(self, *_: Any, **options: Any) -> Document:
        """Return the fields of `to_dict`, with large tables as columns, from which JSON is written."""
        return self.to_dict(**options)

    def to_json(self, **options: Any) -> str:
        """Write the result as JSON; options are those of `to_dict`."""
        return as_json(self._json_fields(**options))

    def to_frame(self, library: str | None = None, **options: Any) -> Any:
        """Return the table as a data frame.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            Library of the data frame: the one that the reports came in, if they came in a data frame; otherwise the
            first of these that is installed.
        **options
            Options of `table`.
        """
        return as_frame(self.table(**options), library, self._input_library())

    def _input_library(self) -> str | None:
        tally = getattr(self, "tally", None)
        return self._library if tally is None else tally.backend

    def _skipped_files(self) -> Mapping[str, str]:
        """Return the files of reports that were skipped, each with the reason."""
        tally = getattr(self, "tally", None)
        return self._skipped if tally is None else tally.skipped_files

    def _skipped_sentences(self) -> list[str]:
        return [sentence(words)] if (words := skipped_words(self._skipped_files())) else []

    def _with_library(self, result: ResultType) -> ResultType:
        """Return a result from the same reports, whose data frames are in the same library."""
        return with_library(result, self._input_library())

    def _printed(self, *_: Any, **options: Any) -> Printed:
        """Return the table for a paper: headings and texts, a title and notes; options are those of `table`."""
        return Printed(printed(self.table(**options)))

    def to_markdown(self, **options: Any) -> str:
        """Write the table in Markdown; options are those of `table`."""
        return markdown(self._printed(**options))

    def to_latex(self, **options: Any) -> str:
        """Write the table in LaTeX, with the rules of the package booktabs; options are those of `table`."""
        return latex(self._printed(**options))

    def to_html(self, **options: Any) -> str:
        """Write the table as a page that word processors open; options are those of `table`."""
        return html(self._printed(**options))

    def _repr_html_(self) -> str:
        return fragment(self._printed())

    def __repr__(self) -> str:
        return self.text()


ResultType = TypeVar("ResultType", bound=Result)


def with_library(result: ResultType, library: str | None, skipped: Mapping[str, str] = Result._skipped) -> ResultType:
    """Set the library of the data frames of a result, and the skipped files of reports; return the result."""
    object.__setattr__(result, "_library", library)  # results are frozen
    object.__setattr__(result, "_skipped", skipped)
    return result


class Column(NamedTuple):
    """A column of a result.

    Programs read `values` under `name`; readers see `texts` under `heading`. Either may be missing: a flag is for
    programs only, an interval "0.1 to 0.2" for readers only. Texts may be a function that is called when the table is
    shown, so that large tables are not formatted for programs; without texts, values are written by `cells`.
    """

    name: str = ""
    values: Counts | None = None
    heading: str = ""
    texts: Sequence[str] | Callable[[], Sequence[str]] | None = None

    def shown(self) -> list[str]:
        """Return the texts of the column."""
        if self.texts is None:
            return [] if self.values is None else cells(self.values)
        return list(self.texts() if callable(self.texts) else self.texts)


def name_columns(names: Mapping[str, Counts]) -> list[Column]:
    """Return columns of names, of groups or answers, which are written as they are.

    >>> [column.shown() for column in name_columns({"year": np.array([2024]), "region": np.array([None])})]
    [['2024'], ['(missing)']]
    """
    return [Column(name, column, name, partial(labels, column)) for name, column in names.items()]


class TableResult(Result):
    """A result that is one table.

    A subclass declares its columns, title and notes once; arrays, JSON, data frames, text, HTML and tables for papers
    follow. Options, such as ``level=``, are parameters of `_columns`; `_title`, `_footnotes` and `_facts` accept them
    too.
    """

    # Name of the rows in JSON; None: each column is a field of the document; empty: JSON has the facts only
    _rows_key: ClassVar[str | None] = "rows"

    @abstractmethod
    def _columns(self, *_: Any, **options: Any) -> Sequence[Column]:
        """Return the columns, in the order of the table."""

    @abstractmethod
    def _title(self, *_: Any, **options: Any) -> str:
        """Return the line above the table, without a full stop."""

    def _footnotes(self, *_: Any, **options: Any) -> Sequence[str]:
        """Return the sentences below the table."""
        return ()

    def _facts(self, *_: Any, **options: Any) -> Document:
        """Return the fields of the JSON document besides the columns."""
        return {}

    def table(self, *given: Any, **options: Any) -> dict[str, Counts]:
        """Return the columns as arrays, by name."""
        return {column.name: column.values for column in self._columns(*given, **options) if column.values is not None}

    def _json_fields(self, *given: Any, **options: Any) -> Document:
        """Return the facts and the columns; a large table as ``TableRows``."""
        facts: Document = plain(self._facts(*given, **options)) | skipped_fields(self._skipped_files())
        if self._rows_key == "":
            return facts
        table = self.table(*given, **options)
        if self._rows_key is not None:
            return {**facts, self._rows_key: TableRows(table)}
        grouped = bool(getattr(self, "groups", ()))
        return {**facts, **{name: plain(column if grouped else column[0]) for name, column in table.items()}}

    def to_dict(self, *given: Any, **options: Any) -> Document:
        """Return the result as a JSON document; numbers that are not finite are None."""
        return listed(self._json_fields(*given, **options))

    def _printed(self, *given: Any, **options: Any) -> Printed:
        """Return the table for a paper: headings and texts, a title and notes."""
        texts: dict[str, list[str]] = {}
        for column in self._columns(*given, **options):
            if column.heading:  # a group may be named like another column
                texts[f"{column.heading} (2)" if column.heading in texts else column.heading] = column.shown()
        notes = (*map(sentence, self._footnotes(*given, **options)), *self._skipped_sentences())
        return Printed(texts, self._title(*given, **options), notes)

    def text(self, *given: Any, **options: Any) -> str:
        """Return the table for a terminal."""
        return plain_table(self._printed(*given, **options))


def typeset(result: Result, *given: Any, **options: Any) -> Printed:
    """Return the table of a result for a paper: headings and texts, a title and notes."""
    return result._printed(*given, **options)


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates with standard errors, intervals and p-values: arrays of one shape, NaN where they are not known.

    The `unit` is the rule for the digits. Numbers: each row to two digits of its standard error, or of a quarter of its
    interval. Shares in percent, and differences of shares in percentage points with their sign: all rows with the same
    decimals, which follow from the shortest interval. Changes of shares, per unit of different variables: in
    percentage points with their sign, with the digits of numbers. Values of answers: all digits.
    """

    value: PerGroup
    low: PerGroup
    high: PerGroup
    se: PerGroup | None = None
    p: PerGroup | None = None  # of the test against zero
    unit: str = "number"  # or "share", "points", "change", "value"

    @classmethod
    def of_table(
        cls, table: Mapping[str, Counts], name: str = "estimate", rows: Any = ..., unit: str = "number"
    ) -> Self:
        """Return some rows of a table with the columns `name`, low, high, and where it has them se and p."""
        errors, tests = (None if column is None else column[rows] for column in (table.get("se"), table.get("p")))
        return cls(table[name][rows], table["low"][rows], table["high"][rows], errors, tests, unit)

    def numbers(self, name: str = "value") -> dict[str, Counts]:
        """Return the arrays by name, in the order of a table."""
        arrays = {name: self.value, "se": self.se, "low": self.low, "high": self.high, "p_value": self.p}
        return {key: np.ravel(array) for key, array in arrays.items() if array is not None}

    def reasons(self) -> list[str]:
        """Return the reasons for NaN values: there are no reports, or reports do not identify the value."""
        return ["no reports" if nothing else "not known" for nothing in np.isnan(np.ravel(self.low)).tolist()]

    def texts(self, unknown: str | Sequence[str] = "", *, sign: bool = False) -> tuple[list[str], ...]:
        """Write values, standard errors, intervals and p-values; an empty list for what is missing.

        A value that is NaN is `unknown`, or has a text of its own. With `sign`, shares have a percent sign: in
        sentences, and in columns of different quantities.

        >>> Estimates(0.365, 0.2913, 0.441, unit="share").texts(sign=True)
        (['36.50 %'], [], ['29.13 to 44.10 %'], [])
        """
        value, low, high = (np.ravel(part).astype(np.float64) for part in (self.value, self.low, self.high))
        error = np.full(value.shape, np.nan) if self.se is None else np.ravel(self.se).astype(np.float64)
        write = self._writer(error, low, high)

        def signed(numbers: Array) -> list[str]:
            plus = "+" if self.unit in {"points", "change"} else ""
            written = zip(numbers.tolist(), write(numbers), strict=True)
            return [f"{plus if number > 0 else ''}{text}" for number, text in written]

        percent = " %" if sign and self.unit == "share" else ""
        ends = interval_cells(signed(low), signed(high))
        shown = [signed(value), [] if self.se is None else write(error), ends]
        values, *others = ([f"{text}{percent}" if text else "" for text in column] for column in shown)
        missing = [unknown] * len(values) if isinstance(unknown, str) else unknown
        values = [text or other for text, other in zip(values, missing, strict=True)]
        return values, *others, [] if self.p is None else p_value_cells(np.ravel(self.p))

    def _writer(self, error: Array, low: Array, high: Array) -> Callable[[Array], list[str]]:
        """Return the function that writes one of the arrays, NaN as nothing."""
        if self.unit == "value":
            return lambda numbers: ["" if math.isnan(x) else number_text(x) for x in numbers.tolist()]
        if self.unit in {"number", "change"}:
            scale = 100 if self.unit == "change" else 1
            sizes = zip(*((scale * part).tolist() for part in (error, low, high)), strict=True)
            places = [decimals_of(*row) for row in sizes]
            known = (low == high).tolist()  # written with all its digits
            return lambda numbers: [
                number_text(x) if exact and not math.isnan(x) else rounded(x, decimals)
                for x, decimals, exact in zip((scale * numbers).tolist(), places, known, strict=True)
            ]
        decimals = share_decimals(low, high)
        return lambda numbers: percent_cells(numbers, decimals)

    def columns(
        self,
        heading: str,
        interval: str,
        name: str = "value",
        marked: Sequence[bool] = (),
        unknown: str | Sequence[str] = "",
    ) -> list[Column]:
        """Return the columns of a table, for programs and for readers; `marked` estimates have a star."""
        return [*starmap(Column, self.numbers(name).items()), *self.shown(heading, interval, marked, unknown)]

    def shown(
        self,
        heading: str,
        interval: str,
        marked: Sequence[bool] = (),
        unknown: str | Sequence[str] = "",
        further: Mapping[str, PerGroup] | None = None,
    ) -> list[Column]:
        """Return the columns for readers: estimates, errors, intervals and p-values.

        Estimates that are `marked` have a star. `unknown` is the text for an estimate that is NaN, or the text of each.
        `further` are other estimates with the same digits, by their headings; they follow the first ones.

        >>> shares = Estimates(0.365, 0.2913, 0.441, unit="share")
        >>> columns = shares.shown("share", "95 % interval", further={"most likely": 0.36})
        >>> [(column.heading, column.shown()) for column in columns]
        [('share (%)', ['36.50']), ('most likely (%)', ['36.00']), ('95 % interval', ['29.13 to 44.10'])]
        """
        unit = {"share": " (%)", "points": " (points)", "change": " (points)"}.get(self.unit, "")

        @cache
        def texts() -> tuple[list[str], ...]:
            return self.texts(unknown)

        def estimates() -> list[str]:
            stars = ["*" * one for one in marked] or [""] * len(texts()[0])
            return [f"{text}{star}" for text, star in zip(texts()[0], stars, strict=True)]

        def other(values: PerGroup) -> list[str]:
            return replace(self, value=values).texts(unknown)[0]

        columns: dict[str, Callable[[], list[str]]] = {f"{heading}{unit}": estimates}
        columns |= {f"{name}{unit}": partial(other, values) for name, values in (further or {}).items()}
        columns |= {} if self.se is None else {"se": lambda: texts()[1]}
        columns[interval] = lambda: texts()[2]
        columns |= {} if self.p is None else {"p": lambda: texts()[3]}
        return [Column(heading=head, texts=written) for head, written in columns.items()]


class TableRows:
    """The rows of a table in a document: written as JSON block by block, without a dictionary for each row.

    >>> TableRows({"value": np.array(["yes", "no"]), "share": np.array([0.5, np.nan])}).listed()
    [{'value': 'yes', 'share': 0.5}, {'value': 'no', 'share': None}]
    """

    def __init__(self, table: Mapping[str, Counts]) -> None:
        self.table = table

    def listed(self) -> list[Document]:
        return rows(self.table)

    def written(self) -> Iterator[str]:
        """Yield parts of the JSON of the rows."""
        names = (_json(name).replace("%", "%%") for name in self.table)
        template = "  {\n" + ",\n".join(f"   {name}: %s" for name in names) + "\n  }"
        size = max((len(column) for column in self.table.values()), default=0)
        for start in range(0, size, ROWS_WRITTEN_AT_ONCE):
            cells = (_cells(column[start : start + ROWS_WRITTEN_AT_ONCE]) for column in self.table.values())
            yield (",\n" if start else "[\n") + ",\n".join(template % row for row in zip(*cells, strict=True))
        yield "\n ]" if size else "[]"


def group_column(by: Sequence[str], groups: Sequence[tuple[Any, ...]], answers: int) -> dict[str, Counts]:
    """Return the column of groups in a document, with this number of rows for each; no column without groups."""
    if not by:
        return {}
    return {"group": np.repeat(objects(dict(zip(by, key, strict=True)) for key in groups), answers)}


def group_columns(by: Sequence[str], groups: Sequence[tuple[Any, ...]], rows: int = 1) -> dict[str, Counts]:
    """Return a column for each name of groups, with the given number of rows for each group."""
    return {name: np.repeat(objects(key[index] for key in groups), rows) for index, name in enumerate(by)}


def _cells(column: Counts) -> list[str]:
    kind = column.dtype.kind
    if kind == "f":
        # By their bits: 0.0 and -0.0 are equal, but their texts differ.
        distinct, index = np.unique(column.astype(np.float64).view(np.int64), return_inverse=True)
        numbers = distinct.view(np.float64).tolist()
        texts = objects(repr(number) if math.isfinite(number) else "null" for number in numbers)
        return list(texts[index])
    values = column.tolist()
    if kind in "iu":
        return list(map(str, values))
    known = {id(value): value for value in values}
    written = {key: _json(plain(value)).replace("\n", "\n   ") for key, value in known.items()}
    return [written[id(value)] for value in values]


def _json(value: Any) -> str:
    return json_escaped(json.dumps(value, ensure_ascii=False, indent=1))


def as_json(fields: Document) -> str:
    """Write the document of `to_dict` or `_json_fields` as JSON; rows of tables are fields of the document itself."""
    tables: dict[str, TableRows] = {}

    def named(value: Any) -> str:
        if not isinstance(value, TableRows):
            raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
        name = secrets.token_hex(16)  # does not occur in the document
        tables[name] = value
        return name

    text = json_escaped(json.dumps(fields, ensure_ascii=False, indent=1, default=named))
    parts: list[str] = []
    for name, table in tables.items():
        before, _, text = text.partition(f'"{name}"')
        parts += [before, *table.written()]
    return "".join([*parts, text])


def listed(fields: Document) -> Document:
    return {name: part.listed() if isinstance(part, TableRows) else part for name, part in fields.items()}


def as_csv(table: dict[str, Counts]) -> str:
    lines = io.StringIO()
    writer = csv_writer(lines)
    writer.writerow(table)
    writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))
    return lines.getvalue()


def formulas_in(table: dict[str, Counts]) -> str:
    """Warning about names that a spreadsheet program would run as formulas, which CSV cannot prevent; or empty."""
    texts = [text for column in table.values() if column.dtype.kind in "OUT" for text in column.tolist()]
    found = [text for text in dict.fromkeys([*table, *texts]) if isinstance(text, str) and like_formula(text)]
    if not found:
        return ""
    begin = counted(len(found), "name begins", "names begin")
    return (
        f"{begin} like a formula ({quoted(found[0])}): a spreadsheet program may run it when it opens the CSV file; "
        "import the file there with columns of text, or write .html"
    )


def as_frame(table: dict[str, Counts], library: str | None, preferred: str | None = None) -> Any:
    """Make a data frame of a table with `library`, the `preferred` one, or the first that is installed."""
    if library is not None:
        check_choice("library", library, LIBRARIES)
    installed = [name for name in LIBRARIES if importlib.util.find_spec(name)]
    chosen: Any = library or preferred or next(iter(installed), "pandas, polars or pyarrow")
    if chosen not in installed:
        raise ImportError(f"a data frame needs {chosen}, which is not installed")
    columns: Any = {name: column.tolist() if column.dtype == object else column for name, column in table.items()}
    import narwhals as nw

    return nw.from_dict(columns, backend=chosen).to_native()


EXACT = frozenset({"clopper_pearson", "exact", "anytime", "dkw", "known"})  # methods that are not approximate
NOT_COMPUTED = np.empty(0)


class Limits(NamedTuple):
    """Ends of intervals, standard errors and tests of 0, arrays of one shape, and how the intervals were found."""

    low: Array
    high: Array
    error: Array = NOT_COMPUTED
    methods: tuple[str, ...] = ()
    statistic: Array = NOT_COMPUTED
    freedom: Array | None = None  # degrees of freedom of the statistic; None for the normal distribution

    @property
    def method(self) -> str:
        """The methods in words."""
        return " or ".join(self.methods)

    @property
    def exact(self) -> bool:
        """True if the coverage of all intervals is at least their level."""
        return EXACT.issuperset(self.methods)


class StandardErrors(NamedTuple):
    """Standard errors of some quantities, with their degrees of freedom and lower bounds."""

    errors: Array  # NaN where there is none
    freedom: Array | None = None  # degrees of freedom of Student's t; None for the normal distribution
    floor: Array | None = None  # known without the sample design (`warner.regression.variance_floors`), for samples

    def half_widths(self, level: float) -> Array:
        """Return the half-widths of intervals of this level.

        >>> StandardErrors(np.array([0.5, 0.0]), None, np.array([0.1, 0.1])).half_widths(0.95).round(3)
        array([0.98 , 0.196])
        """
        half = critical_value(level, self.freedom) * self.errors
        return half if self.floor is None else np.maximum(half, critical_value(level) * self.floor)

    def floored(self, level: float = 0.95) -> Mask:
        """Return the mask of intervals of this level whose standard error is the floor."""
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

    def wald(self, estimate: Array, level: float) -> Limits:
        """Test estimates against 0 and compute their intervals.

        >>> StandardErrors(np.array([0.5])).wald(np.array([2.0]), 0.95).low.round(3)
        array([1.02])
        """
        half = self.half_widths(level)
        with np.errstate(invalid="ignore"):
            return Limits(estimate - half, estimate + half, self.errors, (), *self.tested(estimate))


def critical_value(level: float, freedom: Array | None = None) -> Array:
    """Two-sided critical value of Student's t, or of the normal distribution if `freedom` is None."""
    from scipy.special import ndtri, stdtrit

    check_level(level)
    return np.asarray(ndtri((1 + level) / 2) if freedom is None else stdtrit(freedom, (1 + level) / 2))


def p_values(statistic: Array, freedom: Array | None) -> Array:
    """Two-sided p-values of statistics, by Student's t, or by the normal distribution without degrees of freedom."""
    from scipy.special import ndtr, stdtr

    tail = -np.abs(statistic)
    return np.asarray(2 * (ndtr(tail) if freedom is None else stdtr(freedom, tail)))


def check_level(level: float) -> None:
    if not isinstance(level, float | int | np.floating) or not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, such as 0.95, but got {level!r}")


def coefficients(names: Mapping[str, Iterable[Any]], estimate: Array, limits: Limits) -> dict[str, Counts]:
    """Table of coefficients; the first columns have `names`, such as the term and the answer."""
    return {
        **{name: objects(column) for name, column in names.items()},
        "estimate": estimate,
        "se": limits.error,
        "statistic": limits.statistic,
        "p": p_values(limits.statistic, limits.freedom),
        "low": limits.low,
        "high": limits.high,
        **({"interval": objects(limits.methods)} if limits.methods else {}),
        "freedom": freedom_column(limits.freedom, len(estimate)),
    }


def freedom_column(freedom: Array | None, rows: int) -> Array:
    """Degrees of freedom of each row of a table: infinite for the normal distribution."""
    return np.full(rows, np.inf) if freedom is None else freedom.ravel()


def rows(table: Mapping[str, Counts]) -> list[Document]:
    """Rows of a table as dictionaries, with None for numbers that are not finite.

    >>> rows({"value": np.array(["yes", "no"]), "share": np.array([0.5, np.nan])})
    [{'value': 'yes', 'share': 0.5}, {'value': 'no', 'share': None}]
    """
    columns = (column.tolist() for column in table.values())
    return [dict(zip(table, map(plain, row), strict=True)) for row in zip(*columns, strict=True)]


def plain(value: Any) -> Any:
    """Convert numbers, sequences, arrays and mappings to JSON values; numbers that are not finite are None."""
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        return [plain(part) for part in value]
    number = value.item() if isinstance(value, np.generic | np.ndarray) else value
    return None if isinstance(number, float) and not math.isfinite(number) else number
