"""Load columns and amounts of any data, for `tally`, `regress`, `associate` and `explain`.

`opened` makes a table of whatever can be queried, and `load` returns the required columns: the engine counts equal
rows, and only distinct ones come back, unless counting would gain nothing (`nearly_all_differ`) or change values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from warner.arrays import Array, Integers, Mask, objects
from warner.designs.labels import is_missing
from warner.reports.counts import refuse_amounts, refuse_overflow
from warner.reports.dialects import blanked, translated
from warner.reports.files import Files, are_paths, engine_errors, in_utf8, open_files
from warner.reports.labelled import label_order, with_value_labels
from warner.reports.options import PLAIN, Reading, as_label
from warner.reports.queries import (
    AMOUNTS_LISTED,
    Frame,
    Roles,
    Table,
    categories_as_numbers,
    count_distinct_rows,
    count_rows,
    fetch_rows,
    is_text,
    refuse_absent,
    refuse_bad_amounts,
    refuse_types,
)
from warner.runtime import narwhals as nw
from warner.text import counted, enumerated

if TYPE_CHECKING:
    from warner.designs.report_forms import Form


# Columns


Values: TypeAlias = np.ndarray[Any, Any]  # of int64, float64, bool, or texts as objects

# In one spelling: 007 is the name of something, and not a number.
NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
WHOLE_VALUE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
NOT_A_NUMBER = {"", "na", "n/a", "nan", "null", "none", "."}  # how missing numbers are written in text files
COLUMN_KINDS = "numbers, texts or truth values"


class Column(NamedTuple):
    """Values, a mask of missing values, and the declared order of the levels."""

    values: Values
    missing: Mask
    order: tuple[str, ...] | None = None


def column(name: str, values: Any, *, text: bool = False) -> Column:
    """Read one column: a series of any library, an array or a list; with `text`, from a file that has only texts.

    >>> column("age", ["31", "NA", "47"], text=True).values.tolist()
    [31, 0, 47]
    """
    if isinstance(values, np.ndarray) and not isinstance(values, np.ma.MaskedArray) and values.dtype.kind in "biuf":
        if values.ndim != 1:
            raise ValueError(f"column {name!r} must have one axis, but got shape {values.shape}")
        return _of_numbers(values)
    series = None
    if not isinstance(values, list | tuple | np.ndarray):
        with suppress(TypeError):
            series = nw.from_native(values, series_only=True)
    if series is not None:
        return _of_series(name, series, text=text)
    plain = values.tolist() if hasattr(values, "tolist") else list(values)
    return _of_texts(plain) if text else _of_objects(name, plain)


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
            selection: Any = nw.Boolean if dtype == nw.Boolean else nw.Int64
            filled = series.fill_null(False if dtype == nw.Boolean else 0) if missing.any() else series
            return Column(filled.cast(selection).to_numpy(), missing)
        return _of_numbers(series.cast(nw.Float64).to_numpy().astype(np.float64))
    raise TypeError(f"column {name!r} must hold {COLUMN_KINDS}, but holds {dtype}; make it one of these first")


def declared(series: Any) -> tuple[str, ...] | None:
    """Order of the levels that a column declares: ordered categorical, Enum, or categorical of pandas."""
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
            pairs = zip(values, missing.tolist(), strict=True)
            filled: list[Any] = [filler if lost else value for value, lost in pairs]
            if dtype is np.int64 and any(not -(2**63) <= value < 2**63 for value in filled):
                continue
            return Column(objects(filled) if dtype is object else np.array(filled, dtype=dtype), missing)
    names = " and ".join(sorted(one.__name__ for one in kinds))
    raise TypeError(
        f"column {name!r} must hold {COLUMN_KINDS}, all of one kind, but holds {names}; make it one of these first"
    )


def _of_texts(texts: list[str | None]) -> Column:
    """Read a column of a text file: numbers if all values are numbers or spellings of missing numbers."""
    lost = [text is None or text.strip().lower() in NOT_A_NUMBER for text in texts]
    given = {text for text, gone in zip(texts, lost, strict=True) if text is not None and not gone}
    if given and all(NUMBER.fullmatch(text) for text in given):
        number: Any = int if all(WHOLE_VALUE.fullmatch(text) for text in given) else float
        table = {text: number(text) for text in given}
        return Column(np.array([table.get(text or "", 0) for text in texts]), np.array(lost, dtype=bool))
    missing = np.array([text is None for text in texts], dtype=bool)
    return Column(objects(["" if text is None else text for text in texts]), missing)


# Versions


DESIGNS_LISTED = 5  # names in an error
VALUES_SEEN = 1_000  # different values of the column of versions that are looked at


def only(source: Table, where: Mapping[str, Any]) -> Table:
    """Select the rows in which these columns have these values."""
    if not where:
        return source
    schema = source.schema
    frame = source.frame
    for name, value in where.items():
        refuse_absent(name, list(schema))
        frame = frame.filter(_has(name, value, schema[name]))
    return source.with_frame(frame, files=())


def _has(name: str, value: Any, dtype: Any) -> Frame:
    """Condition that a column has a value, which may come as text from the command line."""
    column = nw.col(name)
    if dtype == nw.Boolean:
        return column == (str(value).lower() == "true")
    if dtype.is_numeric():
        try:
            return column == float(value)
        except ValueError:
            raise ValueError(f"where must give a number for {name!r}, which holds numbers, but got {value!r}") from None
    return column.cast(nw.String) == as_label(value)


def rows_where(columns: Mapping[str, Any], where: Mapping[str, Any]) -> dict[str, list[Any]]:
    lists = {name: values.tolist() if hasattr(values, "tolist") else list(values) for name, values in columns.items()}
    for name, value in where.items():
        refuse_absent(name, list(lists))
        kept = [as_label(one) == as_label(value) for one in lists[name]]
        lists = {key: [one for one, keep in zip(values, kept, strict=True) if keep] for key, values in lists.items()}
    return lists


def refuse_other_versions(
    source: Table | Mapping[str, Any], column: str, where: Mapping[str, Any], names: Sequence[str]
) -> None:
    """Raise an error for rows whose version is not the name of a design."""
    if isinstance(source, Mapping):
        refuse_other_names(Counter(rows_where(source, where).get(column, ())), names)
        return
    refuse_absent(column, source.names)
    meant = only(with_value_labels(source, {}, [column, *where]), where)
    rows = meant.frame.select(value=nw.col(column)).group_by("value").agg(nw.len().alias("number"))
    rows = rows.head(VALUES_SEEN)
    rows = rows.collect() if isinstance(rows, nw.LazyFrame) else rows
    refuse_other_names(dict(zip(rows["value"].to_list(), rows["number"].to_list(), strict=True)), names)


def refuse_other_names(found: Mapping[Any, int], names: Sequence[str]) -> None:
    """Raise an error for values, each with its number of rows, that are not names of designs."""
    strange = {value: int(number) for value, number in found.items() if as_label(value) not in names}
    if strange:
        rows = counted(sum(strange.values()), "row has", "rows have")
        shown = sorted("no value there" if is_missing(value) else repr(as_label(value)) for value in strange)
        known = enumerated([repr(name) for name in names], DESIGNS_LISTED)
        raise ValueError(
            f"by must be a column of the names of designs ({known}), but {rows} {enumerated(shown, DESIGNS_LISTED)}"
        )


# Opening


EVERYWHERE: Mapping[str, Any] = {}  # all rows are wanted
ACCEPTED = {  # for an argument of this name
    "reports": "a sequence, an array, a data frame, a table, a mapping of columns or the path of a file",
    "data": "a data frame, a table, a mapping of columns, the path of a file or a tally",
}


@contextmanager
def opened(
    data: Any,
    reading: Reading = PLAIN,
    *,
    numbers: Iterable[str] | None = None,
    names: Iterable[str | None] = (),
    columns_only: bool = False,
    what: str = "data",
    column: str | None = None,
) -> Iterator[Table | Mapping[str, Any]]:
    """Open any data for the duration of the context: a table that can be queried, or a mapping of columns.

    `numbers` and `names` are those of `translated`. Errors name the data by their argument, `what`. A series is a table
    of one `column`.
    """
    if isinstance(data, Files) or are_paths(data):
        files = Files.at(data)
        skipped: dict[str, str] = {}
        readable: Any = nullcontext(files)
        if reading.encoding is not None and not files.format.labelled:
            readable = in_utf8(files, reading.encoding, skipped if reading.skip_bad_files else None)
        with engine_errors(files.name), readable as copies:
            table = open_files(copies, reading, columns_only=columns_only and reading.plain)
            if skipped or table.skipped_files:
                copied = [file for file in files.names if file not in skipped]
                reasons = list(table.skipped_files.items())
                for given, original in zip(copies.names, copied, strict=True):
                    reasons = [(file.replace(given, original), text.replace(given, original)) for file, text in reasons]
                skipped |= reasons
                table = replace(table, skipped_files={file: skipped[file] for file in files.names if file in skipped})
            yield table if reading.plain else translated(table, reading, numbers, names)
        return
    refuse_format(reading, what, data)
    if isinstance(data, Mapping):
        yield {name: blanked(values, reading) for name, values in data.items()} if reading.missing else data
        return
    name = data.path if isinstance(data, Table) else ""
    with engine_errors(name or ("the data" if what == "data" else f"the table of {what}")):
        table = data if isinstance(data, Table) else _table(data, what, column)
        yield translated(table, reading) if reading.missing else table


def refuse_format(reading: Reading, what: str, data: Any) -> None:
    """Raise an error for options of the format of files."""
    if reading.of_files:
        found = type(data).__name__
        raise TypeError(f"encoding, decimal, sheet and skip_bad_files are for files, but {what} is a {found}")


def _table(data: Any, what: str, column: str | None) -> Table:
    try:
        frame: Any = nw.from_native(data, allow_series=True)
    except TypeError:
        raise TypeError(
            f"{what} must be {ACCEPTED[what]}, but got {type(data).__module__}.{type(data).__name__}"
        ) from None
    if isinstance(frame, nw.Series):
        frame = frame.alias(column or frame.name or "report").to_frame()
    return Table(frame)


def column_names(source: Table | Mapping[str, Any]) -> list[str]:
    return list(source) if isinstance(source, Mapping) else source.names


# Loading


class Selection(NamedTuple):
    """Required columns: those of reports, with their possible forms; others; amounts; and `where` rows are selected."""

    reports: Mapping[str, Sequence[Form]]
    others: tuple[str, ...] = ()
    weights: str | None = None
    counts: str | None = None
    where: Mapping[str, Any] = EVERYWHERE

    @property
    def columns(self) -> Roles:
        """The same columns for a query that groups equal rows."""
        first, *more = self.reports
        return Roles(first, tuple(dict.fromkeys((*more, *self.others))), self.weights, self.counts)


@dataclass(frozen=True, eq=False)
class Loaded:
    """Columns by name, with the number of rows of data behind each row, and their sums of weights and of squares.

    `positive` is the number of rows with a weight above zero, `text` True for files that contain only texts, `orders`
    the declared orders of levels, and `left_out` the number of respondents left out because a value was missing or
    invalid. `kind` is MISSING or OUTSIDE for replaced values of the first column of reports.
    """

    columns: Mapping[str, Any]
    number: Integers | None = None
    weight: Array | None = None
    square: Array | None = None
    positive: Integers | None = None
    text: bool = False
    orders: Mapping[str, tuple[str, ...]] | None = None
    library: str | None = None
    left_out: tuple[int, int] = (0, 0)
    kind: Integers | None = None
    skipped_files: Mapping[str, str] = field(default_factory=dict)

    @property
    def numbers(self) -> Integers:
        """Number of rows of the data behind each row."""
        if self.number is not None:
            return self.number
        return np.ones(len(next(iter(self.columns.values()))), dtype=np.int64)

    def reports(self, name: str) -> Any:
        """Return a column of reports: a list, or an array of labels or whole numbers."""
        return plain(self.columns[name])

    def column(self, name: str, *, as_written: bool = False) -> Column:
        """Return a column of covariates; in text files it is numeric if all values are numbers, unless `as_written`."""
        values = self.columns[name]
        if isinstance(values, Column):
            return values
        read = column(name, values, text=self.text and not as_written)
        return read._replace(order=(self.orders or {}).get(name) or read.order)


def load(
    source: Table | Mapping[str, Any],
    selection: Selection,
    *,
    few: Form | None = None,
    codes: bool = False,
    drop: bool = False,
    every_row: bool = False,
    positive: bool = False,
) -> Loaded:
    """Load the required columns of open data, with the number or weight of each distinct row.

    With a form of `few` different reports, many more values are an error, or with `drop` one invalid value. With
    `codes`, reports are positions in the domain. With `every_row`, rows are not grouped; with `positive`, those with a
    weight above 0 are counted separately.
    """
    columns = selection.columns
    if isinstance(source, Mapping):
        for name in columns.names:
            refuse_absent(name, list(source))
        return _in_memory(rows_where(source, selection.where) if selection.where else source, selection)
    table = prepared(source, selection, codes=codes)
    if every_row or _must_be_taken(table, selection, counting_gains=few is not None):
        orders = _orders(table, selection.others)
        taken = _in_memory(fetch_rows(table, columns.names), selection, text=table.text, orders=orders)
        return replace(taken, library=table.library, skipped_files=table.skipped_files)
    if few is None:
        rows = count_distinct_rows(table, columns, positive=positive)
    else:
        rows = count_rows(table, columns, few, codes=codes, drop=drop, positive=positive)
    bad = float(np.sum(rows.get("bad", 0)))
    weight, square = (_doubles(rows.get(name)) for name in ("weight", "square"))
    refuse_bad_amounts(table, columns, bad or (0 if weight is None else int((~np.isfinite(weight)).sum())))
    number = np.asarray(rows["number"])
    refuse_overflow(float(number.sum()))  # before they are integers, which may not fit
    values = {columns.value: rows["value"], **{name: rows[f"by{index}"] for index, name in enumerate(columns.by)}}
    heavy, kind = (
        None if name not in rows else np.asarray(rows[name]).astype(np.int64) for name in ("positive", "kind")
    )
    amounts = number.astype(np.int64), weight, square, heavy
    origin = table.text, _orders(table, selection.others), table.library
    return Loaded(values, *amounts, *origin, kind=kind, skipped_files=table.skipped_files)


def prepared(source: Table, selection: Selection, *, codes: bool = False) -> Table:
    """Select rows, apply value labels or codes, and check that columns can contain reports."""
    columns = selection.columns
    for name in (*columns.names, *selection.where):
        refuse_absent(name, source.names)
    reports = dict.fromkeys(selection.reports, ()) if codes else selection.reports
    table = only(with_value_labels(source, reports, (*selection.others, *selection.where)), selection.where)
    for name, forms in selection.reports.items():
        table = categories_as_numbers(table, name)
        for form in () if _holds_objects(table, name) else forms:
            refuse_types(table, columns._replace(value=name), form, codes=codes)
    return table


def _must_be_taken(table: Table, selection: Selection, *, counting_gains: bool) -> bool:
    """Return True if rows are fetched one by one, because engines would change values or nearly all rows differ."""
    if any(_holds_objects(table, name) for name in selection.reports):  # integers become floats if some are missing
        return True
    if counting_gains or table.text:
        return False
    used = (*selection.reports, *selection.others)
    if any(table.schema[name] == nw.Object or table.schema[name].is_nested() for name in used):
        return True
    return isinstance(table.frame, nw.DataFrame) and nearly_all_differ(table.frame, used)


def _holds_objects(table: Table, name: str) -> bool:
    return not table.text and isinstance(table.frame, nw.DataFrame) and bool(table.schema[name] == nw.Object)


def nearly_all_differ(frame: Any, names: Sequence[str]) -> bool:
    """Return True if rows in memory are so different that grouping them would only cost time.

    Of m rows of D kinds, about m^2 / 2D pairs are equal: with m = 4 sqrt(n), 16 or more if there are at most n/2 kinds.
    """
    if len(frame) < 1:
        return False
    some = frame.select(*dict.fromkeys(names)).gather_every(max(int(len(frame) ** 0.5 / 4), 1))
    return not some.is_duplicated().any()


def _orders(table: Table, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the declared orders of levels, before their categories are grouped as texts."""
    if table.text:
        return {}
    orders = {name: label_order(table, name) or _declared(table, name) for name in names}
    return {name: order for name, order in orders.items() if order is not None}


def _declared(table: Table, name: str) -> tuple[str, ...] | None:
    if table.schema[name] == nw.Enum:
        return tuple(table.schema[name].categories)
    return declared(table.frame[name]) if isinstance(table.frame, nw.DataFrame) else None


def _doubles(values: Any) -> Array | None:
    """Convert sums, which some engines return as decimals."""
    return None if values is None else np.asarray(values).astype(np.float64)


# Columns in memory


def _in_memory(
    data: Mapping[str, Any],
    selection: Selection,
    *,
    text: bool = False,
    orders: Mapping[str, tuple[str, ...]] | None = None,
) -> Loaded:
    names = selection.columns
    columns = {name: data[name] for name in (names.value, *names.by)}
    size = length(columns[names.value]) or 0
    for name, values in columns.items():
        refuse_length(f"column {name!r}", values, size)
    weights, counts = (None if name is None else data[name] for name in (names.weights, names.counts))
    return with_amounts(Loaded(columns, text=text, orders=orders), size, weights, counts, names.amounts)


def with_amounts(loaded: Loaded, size: int, weights: Any, counts: Any, name: str | None = None) -> Loaded:
    """Add weights or counts of the rows, after checking them."""
    if weights is None and counts is None:
        return loaded
    role, given = ("weights", weights) if counts is None else ("counts", counts)
    refuse_length(role if name is None else f"column {name!r}", given, size)
    values, missing, _ = column(role, given, text=loaded.text)
    if values.dtype.kind not in "iuf":
        named = "some" if name is None else repr(name)
        raise TypeError(f"{role} must be a column of numbers, but {named} holds something else")
    wrong = missing | ~(values >= 0) | np.isinf(values)
    if role == "counts":
        wrong |= values != np.floor(values)
    shown = [f"{value:g}" for value in dict.fromkeys(values[wrong & ~missing].tolist())][:AMOUNTS_LISTED]
    refuse_amounts(role, int(wrong.sum()), shown)
    if role == "counts":
        refuse_overflow(float(values.sum(dtype=np.float64)))
        return replace(loaded, number=values.astype(np.int64))
    weight = values.astype(np.float64)
    return replace(loaded, weight=weight, square=weight**2, positive=(weight > 0).astype(np.int64))


def refuse_length(what: str, values: Any, size: int) -> None:
    if length(values) != size:
        found = "no length" if length(values) is None else f"{length(values):,}"
        raise ValueError(f"{what} must have one value for each of the {size:,} rows, but has {found}")


def length(values: Any) -> int | None:
    return len(values) if hasattr(values, "__len__") else None


def plain(values: Any) -> Any:
    """Return a column as a list, or as an array of labels or whole numbers."""
    if isinstance(values, list | tuple | range) or (isinstance(values, np.ndarray) and values.dtype.kind in "iuOU"):
        return values
    return listed(values)


def listed(values: Any) -> list[Any]:
    """Return a column as a list; an array would make 1 and "1" equal."""
    if hasattr(values, "to_list"):
        return list(values.to_list())
    return list(values.tolist() if hasattr(values, "tolist") else values)
