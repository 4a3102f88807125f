"""Queries: select, group and count where the data are, in data frames, tables and files.

Values are grouped and counted before they are interpreted: a filter on the labels would be many times slower. Counts
are whole numbers from 0 to 2^53 in any spelling: R writes ``1e+05`` for 100,000, and data frames with gaps ``7.0``.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from warner.arrays import LARGEST_TOTAL
from warner.designs.labels import MISSING, OUTSIDE
from warner.reports.counts import refuse_amounts
from warner.runtime import narwhals as nw

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from warner.designs.report_forms import Form
    from warner.documents import Document
    from warner.reports.readstat import Labels


AMOUNTS_LISTED = 3  # bad values in an error
SPELLED = r"^[0-9]*\.?[0-9]*([eE][+]?[0-9]+)?$"  # a number without a sign, underscores or spaces


def is_wide(dtype: Any) -> bool:
    """Return True if sums of counts may exceed 64 bits with a sign: 128-bit integers, doubles or decimals."""
    return bool(dtype in {nw.UInt64, nw.Int128, nw.UInt128} or dtype.is_float() or dtype.is_decimal())


def amounts(columns: Roles, dtype: Any) -> dict[str, Frame]:
    """Return the expressions of the column `weight` or `number`, and of `bad`, which is 1 for an invalid amount."""
    assert columns.amounts is not None
    given = nw.col(columns.amounts)
    if columns.weights is not None:
        weight = given.cast(nw.Float64)
        return {"weight": weight, "bad": _flag(weight >= 0)}  # a missing amount is not
    amount = given
    if dtype == nw.String:
        amount = given.cast(nw.Float64)  # which holds all whole numbers up to 2^53
    elif dtype != nw.Int64 and not is_wide(dtype):  # smaller integers would overflow
        amount = given.cast(nw.Int64)
    # Among unsigned integers, numbers with a sign would make Arrow give one to all, which does not fit the largest.
    zero, most = (nw.lit(limit, nw.UInt64 if dtype == nw.UInt64 else None) for limit in (0, LARGEST_TOTAL))
    good = ~amount.is_null() & (amount >= zero) & (amount <= most)
    if dtype == nw.String:
        # What lies above 2^53 may have been rounded to it, unless it is spelled as just that.
        good = good & ((amount < most) | (given == nw.lit(str(LARGEST_TOTAL))))
    number = nw.when(good).then(amount).otherwise(zero).cast(nw.Int64)
    if not dtype.is_integer():
        good = good & (amount == amount.cast(nw.Float64).floor())
    if dtype == nw.String:
        good = good & given.str.contains(SPELLED)
    return {"number": number, "bad": _flag(good)}


def _flag(good: Frame) -> Frame:
    return nw.when(good).then(nw.lit(0)).otherwise(nw.lit(1))


def refuse_bad_amounts(source: Table, columns: Roles, bad: float) -> None:
    if not bad or columns.amounts is None:
        return
    flag = amounts(columns, source.schema[columns.amounts])["bad"]
    rows = source.frame.select(shown=nw.col(columns.amounts), bad=flag).filter(nw.col("bad") > 0).head(AMOUNTS_LISTED)
    rows = rows.collect() if isinstance(rows, nw.LazyFrame) else rows
    shown = dict.fromkeys("a missing value" if value is None else str(value) for value in rows["shown"].to_list())
    refuse_amounts("counts" if columns.weights is None else "weights", int(bad), list(shown))


# Queries


Frame: TypeAlias = Any  # what Narwhals wraps, or an expression of it
CountedRows: TypeAlias = dict[str, Any]  # by column, a list or an array: value, number, by0, ..., weight, square, bad

FOREIGN_LIMIT = 1_000  # distinct values outside the domain that are counted before the column is taken for a wrong one
ROWS_LIMIT = 2**25  # counted rows of one query that are fetched at most
FEW_ROWS = 2**16  # that come as Python objects, without arrays
COLUMNS_LISTED = 20  # column names in an error
INSIDE = 0  # the kind of a value in the domain, beside MISSING and OUTSIDE


class Roles(NamedTuple):
    """Columns by their role; for a complex sample, weights are squared `by_kind` of report."""

    value: str
    by: tuple[str, ...]
    weights: str | None
    counts: str | None
    by_kind: bool = False

    @property
    def amounts(self) -> str | None:
        return self.counts if self.weights is None else self.weights

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(name for name in (self.value, *self.by, self.amounts) if name is not None))


@dataclass(frozen=True)
class Table:
    """Table of any library, or of files that DuckDB reads; `text` if all columns are texts, as in CSV.

    `path` names the source of files: the `paths`, each a file, a pattern or a folder, with these `files`. The names of
    their folders contain the columns `partitions`.
    """

    native: Any
    text: bool = False
    path: str = ""
    files: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    labels: Labels | None = None
    skipped_files: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def frame(self) -> Frame:
        return nw.from_native(self.native)

    @cached_property
    def schema(self) -> Document:
        return dict(self.frame.collect_schema())

    @property
    def names(self) -> list[str]:
        return list(self.native.columns) if self.text else list(self.schema)

    @property
    def library(self) -> str | None:
        """Data-frame library of a table in memory, for results."""
        if self.path:
            return None
        name = {"dask": "pandas"}.get(str(self.frame.implementation), str(self.frame.implementation))
        return name if name in {"pandas", "polars", "pyarrow"} else None

    def in_memory(self) -> dict[str, Any] | None:
        """Columns of a table in memory, whose rows have an order; None for any other."""
        if self.path or not isinstance(self.frame, nw.DataFrame):
            return None
        return {name: self.frame[name] for name in self.frame.columns}

    def with_whole_numbers(self, names: Sequence[str]) -> Table:
        return self.with_frame(self.frame.with_columns(nw.col(*names).cast(nw.Int64)))

    def fuller_rows(self, names: Iterable[str], most: int) -> int:
        """Return the number of rows with more than so many values in these columns."""
        schema = self.frame.collect_schema()

        def blank(name: str) -> nw.Expr:
            column = nw.col(name)
            return column.is_null() | column.is_nan() if schema[name].is_float() else column.is_null()

        given = nw.sum_horizontal(*(nw.when(blank(name)).then(0).otherwise(1) for name in names))
        rows = self.frame.select(given=given).filter(nw.col("given") > most).select(number=nw.len())
        return int((rows.collect() if isinstance(rows, nw.LazyFrame) else rows)["number"][0])

    def stacked(self, names: Sequence[str], variable: str, value: str) -> Table:
        """Return the table with a row for each value in these columns, and the name of its column."""
        index = [name for name in self.names if name not in {*names, variable, value}]
        parts = [  # DuckDB cannot unpivot relations of other connections
            self.frame.filter(~nw.col(name).is_null()).select(
                *index, nw.lit(name).alias(variable), nw.col(name).cast(nw.String).alias(value)
            )
            for name in names
        ]
        return self.with_frame(nw.concat(parts), files=(), paths=(), labels=None)

    def with_frame(self, frame: Frame, **changes: Any) -> Table:
        return replace(self, native=frame.to_native(), **changes)


def count_rows(
    source: Table, columns: Roles, form: Form, *, codes: bool, drop: bool, positive: bool = False
) -> CountedRows:
    """Count distinct values, by group, in their engine; with `drop`, many different invalid values count as one."""
    # One row more than the limit shows that there are too many, without fetching them all.
    assert form.kinds is not None
    most = form.kinds + FOREIGN_LIMIT + 1
    limit = ROWS_LIMIT if columns.by else most
    rows = _counted(source, columns, limit + 1, positive=positive)
    if len(rows["value"]) <= limit and (not columns.by or _different(rows["value"]) <= most):
        return rows
    if not drop:
        raise ValueError(
            f"column {columns.value!r} holds more than {form.kinds + FOREIGN_LIMIT:,} different values, but the domain "
            f'has {form.kinds:,}: is this the right column? With unknown="drop" the others are left out'
        )
    text = is_text(source.schema[columns.value])
    only, whole = form.possible(text=text, codes=codes), codes or form.numbers is not None
    rows = _fetched(_query(source.frame, source.schema, columns, only, whole=whole, positive=positive))
    if len(rows["value"]) > ROWS_LIMIT:
        raise ValueError(
            f"there are more than {ROWS_LIMIT:,} groups and values; tally some groups at a time, or by fewer columns"
        )
    return rows


def select_columns(frame: Frame, schema: Document, columns: Roles, only: Frame = None, *, whole: bool = False) -> Frame:
    """Select value, by0, ..., and amounts with a flag; values other than `only` are replaced and marked by kind."""

    def key(name: str) -> Frame:
        if schema[name] != nw.String and is_text(schema[name]):
            return nw.col(name).cast(nw.String)
        # DuckDB takes large numbers in JSON for 128 bits, and gives those back as decimals.
        return nw.col(name).cast(nw.Int64) if schema[name] in {nw.Int128, nw.UInt128} else nw.col(name)

    value = key(columns.value)
    selected = {"value": value, **{f"by{i}": key(name) for i, name in enumerate(columns.by)}}
    if only is not None:
        # A label replaces invalid values, with a flag: a null among integers would make floats of them all.
        text = is_text(schema[columns.value])
        if text and whole:  # as programs without integers write them
            value = value.str.replace_all(r"\.0$", "")
        inside = _in_range(value, only, text=text) if isinstance(only, range) else value.is_in(list(only))
        selected["value"] = nw.when(inside).then(value).otherwise(nw.lit(str(only[0]) if text else only[0]))
        flag = nw.when(inside).then(nw.lit(INSIDE)).otherwise(nw.lit(OUTSIDE))
        selected["kind"] = nw.when(value.is_null()).then(nw.lit(MISSING)).otherwise(flag)
    if columns.amounts is None:
        return frame.select(**selected)
    return frame.select(**selected, **amounts(columns, schema[columns.amounts]))


def _in_range(value: Frame, numbers: range, *, text: bool) -> Frame:
    """Condition that values are among consecutive numbers, in digits if they are texts."""
    if not text:
        return value.is_between(numbers[0], numbers[-1])
    digits = max(len(str(abs(end))) for end in (numbers[0], numbers[-1]))
    written = value.str.contains(f"^(0|-?[1-9][0-9]{{0,{digits - 1}}})$")
    number = nw.when(written).then(value).otherwise(nw.lit("0")).cast(nw.Int128)
    return written & number.is_between(numbers[0], numbers[-1])


def _query(
    frame: Frame, schema: Document, columns: Roles, only: Frame = None, *, whole: bool = False, positive: bool = False
) -> Frame:
    rows = select_columns(frame, schema, columns, only, whole=whole)
    sums = [nw.len().alias("number")]
    if columns.weights is not None:
        added = {"square": nw.col("weight") * nw.col("weight")}
        if positive:
            added["positive"] = nw.when(nw.col("weight") > 0).then(nw.lit(1)).otherwise(nw.lit(0))
        rows = rows.with_columns(**added)
        sums += [nw.col(name).sum() for name in ("weight", "bad", *added)]
    if columns.counts is not None:
        rows = rows.with_columns(nw.col("number").cast(nw.Float64))  # exact up to 2^53, and overflows in no engine
        sums = [nw.col("number").sum(), nw.col("bad").sum()]
    names = ["value", *(f"by{i}" for i in range(len(columns.by))), *(["kind"] if only is not None else [])]
    return rows.group_by(*names).agg(*sums)


def count_distinct_rows(source: Table, columns: Roles, *, positive: bool) -> CountedRows:
    """Count equal rows; with weights and `positive`, also those with a weight above 0."""
    rows = _counted(source, columns, ROWS_LIMIT + 1, positive=positive)
    if len(rows["value"]) > ROWS_LIMIT:
        raise ValueError(f"the data must have at most {ROWS_LIMIT:,} distinct rows in the columns that are used")
    return rows


def _counted(source: Table, columns: Roles, limit: int, *, positive: bool = False) -> CountedRows:
    if source.text and columns.amounts is None:
        return _counted_texts(source.native, columns, limit)
    return _fetched(_query(source.frame, source.schema, columns, positive=positive).head(limit))


def _counted_texts(relation: Any, columns: Roles, limit: int) -> CountedRows:
    """Count distinct rows of texts in DuckDB itself: importing Narwhals and Arrow would take longer."""
    quoted = ['"' + name.replace('"', '""') + '"' for name in (columns.value, *columns.by)]
    names = ["value", *(f"by{index}" for index in range(len(columns.by)))]
    selected = ", ".join(f"{column} AS {name}" for column, name in zip(quoted, names, strict=True))
    counted = relation.aggregate(f"{selected}, count(*) AS number", ", ".join(quoted)).limit(limit)
    if limit > FEW_ROWS:
        return {name: values if name == "number" else values.tolist() for name, values in counted.fetchnumpy().items()}
    rows = counted.fetchall()
    return {name: [row[index] for row in rows] for index, name in enumerate([*names, "number"])}


def fetch_rows(source: Table, names: Sequence[str]) -> dict[str, Any]:
    frame = source.frame.select(*names)
    whole = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    return {name: whole[name] for name in names}


def _fetched(query: Frame) -> CountedRows:
    rows = query.collect() if isinstance(query, nw.LazyFrame) else query
    return {name: FETCHED[name](rows[name]) if name in FETCHED else rows[name] for name in rows.columns}


def _values(series: Frame) -> Any:
    """Return integers as an array, masked where they are missing: there may be millions."""
    if not series.dtype.is_integer():
        return series.to_list()
    if not (missing := series.is_null()).any():
        return _as_array(series)
    return np.ma.masked_array(_as_array(series.fill_null(0)), mask=np.array(missing.to_list()))


def _sums(series: Frame) -> Any:
    if (series.dtype.is_integer() or series.dtype.is_float()) and not series.is_null().any():
        return _as_array(series)
    return np.array(series.to_list(), dtype=np.float64)


FETCHED = {"value": _values, **dict.fromkeys(("number", "weight", "square", "bad", "positive", "kind"), _sums)}


def _as_array(series: Frame) -> Any:
    """Return numbers as an array, without the import of pandas that Arrow would cause."""
    native = series.to_native()
    return np.from_dlpack(native.combine_chunks()) if hasattr(native, "combine_chunks") else series.to_numpy()


def _different(values: Any) -> int:
    return len(np.unique(values)) if isinstance(values, np.ndarray) else len(set(values))


def columns_among(
    names: list[str],
    column: str | None,
    by: str | Iterable[str] | None,
    weights: str | None,
    counts: str | None,
    *,
    partitions: Iterable[str] = (),
    secret: bool = False,
) -> Roles:
    """Check that columns exist, the only one being the default; errors that are `secret` show no names."""
    groups = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    named = [name for name in (*groups, weights, counts) if name is not None]
    if column is None:
        rest = [name for name in names if name not in named and name not in partitions]
        if len(rest) != 1:
            left = f"{len(rest)}{'' if secret else f': {_listed(rest)}'}"
            raise ValueError(f"column must be given unless there is just one to count, but there are {left}")
        column = rest[0]
    if column in groups:
        raise ValueError(f"by must not name the column of reports, {column!r}: randomized reports group no respondents")
    for name in (column, *named):
        refuse_absent(name, names, secret=secret)
    return Roles(column, groups, weights, counts)


def refuse_absent(name: str, names: list[str], *, secret: bool = False) -> None:
    if name in names:
        return
    if secret:
        several = "; repeat the option for each of several columns" if "," in str(name) else ""
        raise ValueError(f"there is no column {name!r} among the {len(names)} columns{several}")
    near = difflib.get_close_matches(str(name), names, n=1)
    guess = f"did you mean {near[0]!r}? The " if near else "the "
    raise ValueError(f"there is no column {name!r}; {guess}columns are: {_listed(names)}")


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:COLUMNS_LISTED])) + (", ..." if len(names) > COLUMNS_LISTED else "")


def is_text(dtype: Any) -> bool:
    """Return True if a column contains texts, also as categories."""
    return bool(dtype in {nw.String, nw.Categorical} or dtype == nw.Enum)


def categories_as_numbers(source: Table, name: str) -> Table:
    """Convert numeric categories of pandas, as readers of SPSS and Stata files make them, to numbers."""
    if source.text or not source.frame.implementation.is_pandas():
        return source
    table = source.frame.to_native()
    categories = getattr(table[name].dtype, "categories", None)
    if categories is None or categories.dtype.kind not in "iuf":
        return source
    kind = "float64" if categories.dtype.kind == "f" else "Int64"  # which may be missing
    return replace(source, native=table.assign(**{name: table[name].astype(kind)}))


def refuse_types(source: Table, columns: Roles, form: Form, *, codes: bool) -> None:
    """Raise an error for columns of a wrong type before a query runs: engines convert silently, in different ways."""
    if form.kinds is None and codes:
        raise TypeError(f"codes must be left out for a column of sets or hashes, which are {form.rule}")
    if source.text:
        refuse_headless([columns.value], form)
        return
    schema = source.schema
    dtype = schema[columns.value]
    text, numeric = is_text(dtype), dtype.is_integer() or dtype.is_float()  # whole numbers
    wanted, fits = {
        "bits": ("hexadecimal strings or bytes, as the reports are", text or dtype == nw.Binary),
        "hashes": ("strings such as 12:0:3, or lists of integers", text or isinstance(dtype, nw.List | nw.Array)),
        "open hashes": ("strings or bytes such as 2:01f:1, as the reports are", text or dtype == nw.Binary),
        "integers": ("integers, as the domain does", numeric or (text and not codes)),
        "strings": ("strings, as the domain does", text or (form.numbers is not None and numeric)),
    }["integers" if codes else form.holds]
    # Unknown is a column of nothing but nulls, and Arrow's bytes of a fixed size; bytes are objects of pandas.
    fits = fits or dtype == nw.Unknown or (form.kinds is None and dtype == nw.Object)
    if not fits:
        raise TypeError(f"column {columns.value!r} must hold {wanted}, but holds {dtype}; convert it first")
    if columns.weights is not None and not schema[columns.weights].is_numeric():
        raise TypeError(f"weights must be a column of numbers, but {columns.weights!r} holds {schema[columns.weights]}")
    if columns.counts is not None and not (schema[columns.counts].is_integer() or is_wide(schema[columns.counts])):
        held = schema[columns.counts]
        raise TypeError(f"counts must be a column of whole numbers, but {columns.counts!r} holds {held}")


def refuse_headless(names: list[str], form: Form) -> None:
    """Raise an error if a header contains a report; it does not show the name, which is an answer."""
    if (form.read(names, text=True).status == INSIDE).any():
        raise ValueError(
            "the first line must name the columns, but one of the names is an answer or a report itself: add a header"
        )
