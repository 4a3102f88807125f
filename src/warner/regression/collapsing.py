"""People who are alike in everything that is asked about are one row: collapsed where the data are.

Data frames, tables and files are grouped by their own engine, with the query that `warner.tally` uses, so that ten
million people of a thousand kinds cost what counting them costs. Columns of Python objects are grouped here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np

from warner.regression.covariates import column, declared
from warner.reports.amounts import refuse_bad_amounts, summable_counts
from warner.reports.counts import refuse_amounts, refuse_overflow
from warner.reports.files import engine_errors, open_files
from warner.reports.labelled import label_order, with_value_labels
from warner.reports.paths import are_places
from warner.reports.queries import (
    ROWS_LIMIT,
    Table,
    categories_as_numbers,
    refuse_absent,
    refuse_types,
    resolve_columns,
    select_columns,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Integers
    from warner.designs.contract import Design
    from warner.regression.covariates import Column
    from warner.reports.queries import Columns


class Roles(NamedTuple):
    """Which columns play which part."""

    response: str
    by: str | None = None
    weights: str | None = None
    counts: str | None = None
    clusters: str | None = None
    strata: str | None = None

    @property
    def others(self) -> tuple[str, ...]:
        """The columns besides the response and the covariates that people must be alike in."""
        return tuple(name for name in (self.by, self.clusters, self.strata) if name is not None)


class Amounts(NamedTuple):
    """For each row, how many people it stands for, the sum of their weights, and that of the squares of these."""

    people: Integers
    weight: Array
    square: Array

    def where(self, some: Any) -> Amounts:
        """Give those of some rows."""
        return Amounts(*(values[some] for values in self))

    def added(self, place: Integers, size: int) -> Amounts:
        """Add up the rows that have the same place."""
        people, weight, square = (np.bincount(place, values, minlength=size).astype(np.float64) for values in self)
        return Amounts(people.astype(np.int64), weight, square)


class Collapsed(NamedTuple):
    """Rows in which people are alike: what they reported, what is known of them, and how many they are.

    `weightless` people have a weight of zero, and are not among these rows.
    """

    response: Any
    covariates: dict[str, Column]
    others: dict[str, Column]
    amounts: Amounts
    weightless: int
    text: bool


def open_source(data: Any, sheet: str | None = None) -> Table | Mapping[str, Any]:
    """Open a file, wrap a data frame of any library, or take a mapping of columns, or what is open, as it is."""
    if are_places(data):
        return open_files(data, sheet=sheet)
    if sheet is not None:
        raise TypeError(f"sheet is for Excel files, but data is a {type(data).__name__}")
    if isinstance(data, Mapping | Table):
        return data
    try:
        return Table(nw.from_native(data))
    except TypeError:
        raise TypeError(
            "data must be a data frame, a table, a mapping of columns, the path of a file or a tally, but got "
            f"{type(data).__module__}.{type(data).__name__}"
        ) from None


def column_names(source: Table | Mapping[str, Any]) -> list[str]:
    """Name the columns of data."""
    return list(source if isinstance(source, Mapping) else source.frame.collect_schema())


def collapsed(
    source: Table | Mapping[str, Any], roles: Roles, variables: Sequence[str], designs: Sequence[Design]
) -> Collapsed:
    """Group people who are alike in all columns that are used."""
    if isinstance(source, Mapping):
        for name in (roles.response, *variables, *roles.others, roles.weights, roles.counts):
            if name is not None:
                refuse_absent(name, list(source))
        return _row_by_row(dict(source), roles, variables)
    with engine_errors(source.path or "the data"):
        columns = resolve_columns(source, roles.response, (*variables, *roles.others), roles.weights, roles.counts)
        source = with_value_labels(source, {columns.value: [design.report_form for design in designs]}, columns.by)
        source = categories_as_numbers(source, columns.value)
        schema = source.frame.collect_schema()
        if schema[columns.value] != nw.Object:
            for design in designs:
                refuse_types(source, columns, design.report_form, codes=False)
        used = (columns.value, *columns.by)
        objects = any(schema[name] == nw.Object or schema[name].is_nested() for name in used)
        if objects or _all_differ(source.frame, used):
            # Engines turn objects into something else when they group them, and not all can group lists.
            frame = source.frame.select(*columns.names)
            frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
            return _row_by_row({name: frame[name] for name in columns.names}, roles, variables)
        rows = _grouped(source.frame, schema, columns)
        refuse_bad_amounts(source, columns, 0 if columns.amounts is None else _doubles(rows, "bad").sum())
    text = source.text
    by = {name: rows[f"by{place}"] for place, name in enumerate(columns.by)}
    # A column of a text file is one of numbers if all are; names of clusters and designs stay as they are written.
    covariates = {
        name: column(name, by[name], text=text)._replace(
            order=label_order(source, name) or _order(source.frame, schema, name)
        )
        for name in variables
    }
    others = {name: column(name, by[name]) for name in roles.others}
    amounts, weightless = _amounts(rows, roles)
    return Collapsed(rows["value"].to_list(), covariates, others, amounts, weightless, text)


def _all_differ(frame: Any, names: Sequence[str]) -> bool:
    """Tell whether rows in memory are so different that grouping them would only cost time.

    Of m rows that each are one of D kinds, about m^2 / 2D pairs are alike: with m = 4 sqrt(n), 16 or more if there are
    at most n/2 kinds. None at all is what one sees of a column of measurements.
    """
    if not isinstance(frame, nw.DataFrame) or len(frame) < 1:
        return False
    some = frame.select(*dict.fromkeys(names)).gather_every(max(int(len(frame) ** 0.5 / 4), 1))
    return not some.is_duplicated().any()


def _order(frame: Any, schema: Any, name: str) -> tuple[str, ...] | None:
    """Give the order of levels that a column declares, before its categories are grouped as texts."""
    if schema[name] == nw.Enum:
        return tuple(schema[name].categories)
    return declared(frame[name]) if isinstance(frame, nw.DataFrame) else None


def _grouped(frame: Any, schema: Any, columns: Columns) -> Any:
    """Count the rows that are alike, in the engine that holds them."""
    rows = select_columns(frame, schema, columns)
    if columns.weights is not None:
        heavy = nw.when(nw.col("weight") > 0).then(nw.lit(1)).otherwise(nw.lit(0))
        rows = rows.with_columns(square=nw.col("weight") * nw.col("weight"), heavy=heavy)
        sums = [nw.col(name).sum() for name in ("weight", "square", "heavy", "bad")] + [nw.len().alias("number")]
    elif columns.counts is not None:
        rows = rows.with_columns(summable_counts())
        sums = [nw.col("number").sum(), nw.col("bad").sum()]
    else:
        sums = [nw.len().alias("number")]
    names = ["value", *(f"by{place}" for place in range(len(columns.by)))]
    query = rows.group_by(*names).agg(*sums).head(ROWS_LIMIT + 1)
    rows = query.collect() if isinstance(query, nw.LazyFrame) else query
    if len(rows) > ROWS_LIMIT:
        raise ValueError(f"the data must have at most {ROWS_LIMIT:,} distinct rows in the columns that are used")
    return rows


def _amounts(rows: Any, roles: Roles) -> tuple[Amounts, int]:
    number = _doubles(rows, "number")
    if roles.weights is None:
        bad = 0 if roles.counts is None else int(_doubles(rows, "bad").sum())
        refuse_amounts("weights" if roles.counts is None else "counts", bad)
        return _counted_people(number), 0
    weight, square, heavy = (_doubles(rows, name) for name in ("weight", "square", "heavy"))
    refuse_amounts("weights", int(_doubles(rows, "bad").sum()) or int((~np.isfinite(weight)).sum()))
    return Amounts(heavy.astype(np.int64), weight, square), int(number.sum() - heavy.sum())


def _doubles(rows: Any, name: str) -> Array:
    """Give sums, which of some engines are decimals."""
    return np.asarray(rows[name].to_numpy()).astype(np.float64)


def _counted_people(number: Array) -> Amounts:
    refuse_overflow(number.sum())
    return Amounts(number.astype(np.int64), number, number)


def _row_by_row(table: dict[str, Any], roles: Roles, variables: Sequence[str]) -> Collapsed:
    """Take columns as they are, a row for each person: they are collapsed by their values afterwards."""
    response = table[roles.response]
    response = response.tolist() if isinstance(response, np.ndarray) else response
    response = response.to_list() if hasattr(response, "to_list") else list(response)
    size = len(response)
    for name in (*variables, *roles.others, roles.weights, roles.counts):
        if name is not None and (not hasattr(table[name], "__len__") or len(table[name]) != size):
            raise ValueError(
                f"column {name!r} must have one value for each of the {size:,} rows of {roles.response!r}, but has "
                f"{len(table[name]) if hasattr(table[name], '__len__') else 'no length'}"
            )
    covariates = {name: column(name, table[name]) for name in variables}
    others = {name: column(name, table[name]) for name in roles.others}
    ones = np.ones(size)
    amounts, weightless = _counted_people(ones), 0
    if roles.weights is not None:
        weight = _numbers("weights", roles.weights, table)
        amounts = Amounts((weight > 0).astype(np.int64), weight, weight**2)
        weightless = int((weight == 0).sum())
    elif roles.counts is not None:
        number = _numbers("counts", roles.counts, table)
        refuse_amounts("counts", int((number != np.floor(number)).sum()))
        amounts = _counted_people(number)
    return Collapsed(response, covariates, others, amounts, weightless, text=False)


def _numbers(role: str, name: str, table: dict[str, Any]) -> Array:
    values, missing, _ = column(name, table[name])
    if values.dtype.kind not in "iuf":
        raise TypeError(f"{role} must be a column of numbers, but {name!r} holds something else")
    numbers = values.astype(np.float64)
    refuse_amounts(role, int((missing | ~(numbers >= 0) | np.isinf(numbers)).sum()))
    return numbers
