"""Loading: any data to columns and amounts, for `tally`, `regress`, `associate` and `explain`.

Data are a mapping of columns in memory, a data frame or a table of any library, or files. `opened` makes a table of
whatever can be queried where it is, and `load` gives the columns that are wanted, with how much each row stands for:
rows that are alike are counted by the engine that holds them, and only the distinct ones come back. Where counting
would gain nothing (`nearly_all_differ`), or would change what values are, all rows come. What a value means is asked
later, of the forms of reports and of `columns`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.lazy import on_first_use
from warner.reports.amounts import AMOUNTS_LISTED, refuse_bad_amounts
from warner.reports.columns import Column, column, declared
from warner.reports.counts import refuse_amounts, refuse_overflow
from warner.reports.dialects import PLAIN
from warner.reports.files import Files, engine_errors, in_utf8, open_files
from warner.reports.labelled import label_order, with_value_labels
from warner.reports.paths import are_places
from warner.reports.queries import (
    Columns,
    Table,
    categories_as_numbers,
    count_distinct_rows,
    count_rows,
    fetch_rows,
    refuse_absent,
    refuse_types,
)
from warner.reports.versions import only, rows_where

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import narwhals as nw

    from warner.arrays import Array, Integers
    from warner.designs.report_forms import Form
    from warner.reports.dialects import Dialect
else:
    nw = on_first_use("narwhals")

EVERYWHERE: Mapping[str, Any] = {}  # all rows are wanted
ACCEPTED = {  # for an argument of this name
    "reports": "a sequence, an array, a data frame, a table, a mapping of columns or the path of a file",
    "data": "a data frame, a table, a mapping of columns, the path of a file or a tally",
}


# Rules that hold at every door


def refuse_rule(unknown: str) -> None:
    """Refuse what is no rule for values that no report can have."""
    if unknown not in {"error", "drop"}:
        raise ValueError(f'unknown must be "error" or "drop", but got {unknown!r}')


def refuse_two_amounts(weights: Any, counts: Any) -> None:
    """Refuse weights and counts together."""
    if weights is not None and counts is not None:
        raise TypeError("give weights (how much a row stands for) or counts (how often it occurs), not both")


# Opening


@contextmanager
def opened(
    data: Any,
    wrote: Dialect = PLAIN,
    *,
    numbers: Iterable[str] | None = None,
    columns_only: bool = False,
    what: str = "data",
    column: str | None = None,
) -> Iterator[Table | Mapping[str, Any]]:
    """Open any data, as long as it is used: a table that can be queried, or a mapping of columns.

    Decimal commas are read in the columns of `numbers`, or in all; for `columns_only` see `open_files`. An error names
    the data by `what` argument they are. A series is a table of one `column`.
    """
    if isinstance(data, Files) or are_places(data):
        files = Files.at(data)
        with engine_errors(files.name), _readable(files, wrote) as copies:
            table = open_files(copies, wrote, columns_only=columns_only and wrote.plain)
            yield table if wrote.plain else wrote.applied(table, numbers)
        return
    if wrote._replace(missing=()) != PLAIN:
        raise TypeError(f"encoding, decimal and sheet are for files, but {what} is a {type(data).__name__}")
    if isinstance(data, Mapping):
        yield data
        return
    name = data.path if isinstance(data, Table) else ""
    with engine_errors(name or ("the data" if what == "data" else f"the table of {what}")):
        table = data if isinstance(data, Table) else _table(data, what, column)
        yield wrote.applied(table) if wrote.missing else table


@contextmanager
def _readable(files: Files, wrote: Dialect) -> Iterator[Files]:
    if wrote.encoding == PLAIN.encoding or files.format.labelled:
        yield files
        return
    with in_utf8(files, wrote.encoding) as copies:
        yield copies


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
    """Name the columns of data that are open."""
    return list(source) if isinstance(source, Mapping) else source.names


# Loading


class Wanted(NamedTuple):
    """Which columns are wanted: those of reports, each with the forms that these may have; others; and amounts.

    Rows are wanted `where` columns have given values.
    """

    reports: Mapping[str, Sequence[Form]]
    others: tuple[str, ...] = ()
    weights: str | None = None
    counts: str | None = None
    where: Mapping[str, Any] = EVERYWHERE

    @property
    def columns(self) -> Columns:
        """The same for a query: rows are alike if all of these are, but for the amounts."""
        first, *more = self.reports
        return Columns(first, tuple(dict.fromkeys((*more, *self.others))), self.weights, self.counts)


@dataclass(frozen=True, eq=False)
class Loaded:
    """Columns by name, and how much each row stands for.

    Attributes
    ----------
    columns : mapping of str to list, array, series or Column
        Values as their library has them; all as long as each other.
    number : array, optional
        For how many rows of the data each row stands; one where None.
    weight, square : arrays, optional
        The sums of the weights of these, and of their squares.
    positive : array, optional
        How many of these have a weight above zero, where that was asked for.
    text : bool
        Whether all columns are texts of a file, of which some are numbers in digits.
    orders : mapping of str to tuple of str
        The levels of a column in the order that its source declares.
    library : str, optional
        The data-frame library that the data came in, for results to go back to.
    left_out : pair of int
        For how many people a value was missing, or unknown, who are not among these rows.
    kind : array, optional
        MISSING or OUTSIDE for values of the first column of reports that were replaced, because too many differ.
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

    @property
    def numbers(self) -> Integers:
        """For how many rows of the data each row stands."""
        if self.number is not None:
            return self.number
        return np.ones(len(next(iter(self.columns.values()))), dtype=np.int64)

    def reports(self, name: str) -> Any:
        """Give a column of reports as forms read it: a list, or an array of labels or whole numbers."""
        return plain(self.columns[name])

    def column(self, name: str, *, as_written: bool = False) -> Column:
        """Give a column of what else is known. A column of a text file is one of numbers if all are.

        Names, such as those of clusters and designs, stay `as_written`.
        """
        values = self.columns[name]
        if isinstance(values, Column):
            return values
        read = column(name, values, text=self.text and not as_written)
        return read._replace(order=(self.orders or {}).get(name) or read.order)


def load(
    source: Table | Mapping[str, Any],
    wanted: Wanted,
    *,
    few: Form | None = None,
    codes: bool = False,
    drop: bool = False,
    every_row: bool = False,
    positive: bool = False,
) -> Loaded:
    """Give the wanted columns of data that are open, and how much each row stands for.

    With a form of `few` different reports, many more than these are an error, or with `drop` lumped together. With
    `codes`, reports are positions in the domain. With `every_row`, rows are not counted; with `positive`, those that
    weigh anything are counted apart.
    """
    columns = wanted.columns
    if isinstance(source, Mapping):
        for name in columns.names:
            refuse_absent(name, list(source))
        return _in_memory(rows_where(source, wanted.where) if wanted.where else source, wanted)
    table = prepared(source, wanted, codes=codes)
    if every_row or _must_be_taken(table, wanted, counting_gains=few is not None):
        orders = _orders(table, wanted.others)
        taken = _in_memory(fetch_rows(table, columns.names), wanted, text=table.text, orders=orders)
        return replace(taken, library=table.library)
    if few is None:
        rows = count_distinct_rows(table, columns, positive=positive)
    else:
        rows = count_rows(table, columns, few, codes=codes, drop=drop, positive=positive)
    bad = float(np.sum(rows.get("bad", 0)))
    weight, square = (_doubles(rows.get(name)) for name in ("weight", "square"))
    refuse_bad_amounts(table, columns, bad or (0 if weight is None else int((~np.isfinite(weight)).sum())))
    number = np.asarray(rows["number"])
    refuse_overflow(float(number.sum()))  # before they are integers, which may not fit
    values = {columns.value: rows["value"], **{name: rows[f"by{place}"] for place, name in enumerate(columns.by)}}
    heavy = _doubles(rows.get("positive"))
    return Loaded(
        values,
        number.astype(np.int64),
        weight,
        square,
        None if heavy is None else heavy.astype(np.int64),
        table.text,
        _orders(table, wanted.others),
        table.library,
        kind=np.asarray(rows["kind"], dtype=np.int64) if "kind" in rows else None,
    )


def prepared(source: Table, wanted: Wanted, *, codes: bool = False) -> Table:
    """Give the rows that are wanted, with labels or codes as is asked of each column; refuse what cannot hold reports.

    Whether a column can hold reports is a matter of its type, and of the header of a text file.
    """
    columns = wanted.columns
    for name in (*columns.names, *wanted.where):
        refuse_absent(name, source.names)
    reports = dict.fromkeys(wanted.reports, ()) if codes else wanted.reports
    table = only(with_value_labels(source, reports, (*wanted.others, *wanted.where)), wanted.where)
    for name, forms in wanted.reports.items():
        table = categories_as_numbers(table, name)
        for form in () if _holds_objects(table, name) else forms:
            refuse_types(table, columns._replace(value=name), form, codes=codes)
    return table


def _must_be_taken(table: Table, wanted: Wanted, *, counting_gains: bool) -> bool:
    """Tell whether rows are taken one by one, because engines would change what they group.

    They turn integers among Python objects into floats where some are missing, and not all can group lists. Or because
    nearly all rows differ.
    """
    if any(_holds_objects(table, name) for name in wanted.reports):
        return True
    if counting_gains or table.text:
        return False
    used = (*wanted.reports, *wanted.others)
    if any(table.schema[name] == nw.Object or table.schema[name].is_nested() for name in used):
        return True
    return isinstance(table.frame, nw.DataFrame) and nearly_all_differ(table.frame, used)


def _holds_objects(table: Table, name: str) -> bool:
    """Tell whether a column in memory holds Python objects, of which only each one's own type tells what it is."""
    return not table.text and isinstance(table.frame, nw.DataFrame) and bool(table.schema[name] == nw.Object)


def nearly_all_differ(frame: Any, names: Sequence[str]) -> bool:
    """Tell whether rows in memory are so different that grouping them would only cost time.

    Of m rows that each are one of D kinds, about m^2 / 2D pairs are alike: with m = 4 sqrt(n), 16 or more if there are
    at most n/2 kinds. None at all is what one sees of a column of measurements.
    """
    if len(frame) < 1:
        return False
    some = frame.select(*dict.fromkeys(names)).gather_every(max(int(len(frame) ** 0.5 / 4), 1))
    return not some.is_duplicated().any()


def _orders(table: Table, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Give the orders of levels that columns declare, before their categories are grouped as texts."""
    if table.text:
        return {}
    orders = {name: label_order(table, name) or _declared(table, name) for name in names}
    return {name: order for name, order in orders.items() if order is not None}


def _declared(table: Table, name: str) -> tuple[str, ...] | None:
    if table.schema[name] == nw.Enum:
        return tuple(table.schema[name].categories)
    return declared(table.frame[name]) if isinstance(table.frame, nw.DataFrame) else None


def _doubles(values: Any) -> Array | None:
    """Give sums, which of some engines are decimals."""
    return None if values is None else np.asarray(values).astype(np.float64)


# Columns in memory


def _in_memory(
    given: Mapping[str, Any], wanted: Wanted, *, text: bool = False, orders: Mapping[str, tuple[str, ...]] | None = None
) -> Loaded:
    """Take columns in memory as they are."""
    names = wanted.columns
    columns = {name: given[name] for name in (names.value, *names.by)}
    size = length(columns[names.value]) or 0
    for name, values in columns.items():
        refuse_length(f"column {name!r}", values, size)
    weights, counts = (None if name is None else given[name] for name in (names.weights, names.counts))
    return with_amounts(Loaded(columns, text=text, orders=orders), size, weights, counts, names.amounts)


def with_amounts(loaded: Loaded, size: int, weights: Any, counts: Any, name: str | None = None) -> Loaded:
    """Give columns with weights or counts, which must be good ones, for each of their rows."""
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
    """Refuse a column that is not as long as the others."""
    if length(values) != size:
        found = "no length" if length(values) is None else f"{length(values):,}"
        raise ValueError(f"{what} must have one value for each of the {size:,} rows, but has {found}")


def length(values: Any) -> int | None:
    """Give the number of values in a column."""
    return len(values) if hasattr(values, "__len__") else None


def plain(values: Any) -> Any:
    """Give a column as a list, or as an array of labels or whole numbers."""
    if isinstance(values, list | tuple | range) or (isinstance(values, np.ndarray) and values.dtype.kind in "iuOU"):
        return values
    return listed(values)


def listed(values: Any) -> list[Any]:
    """Give a column as a list; the values of a list stay as they are, for an array would make 1 and "1" the same."""
    if hasattr(values, "to_list"):
        return list(values.to_list())
    return list(values.tolist() if hasattr(values, "tolist") else values)
