"""Reports to counts: from an array, any data frame, a file or an engine that has them.

Counting is somebody else's job (`engines`): only counted rows come to Python. What a value means is asked of the
design's `report_form`; which counts a report adds to, of the design itself.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, time
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np

from warner.arrays import LARGEST_TOTAL, PerGroup
from warner.designs.forms import all_reports
from warner.designs.labels import MISSING, OUTSIDE, is_missing
from warner.reports.engines import INSIDE, Source, chosen, counted, opened, readable, refuse_headless
from warner.reports.tallies import Tally, group_order, refuse_design

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Counts, Integers, Mask
    from warner.designs import Design
    from warner.designs.forms import Form
    from warner.reports.engines import Columns, Frame
    from warner.reports.tallies import Group

CELLS_LIMIT = 2**27  # groups times columns: a larger table would fill the memory
VALUES_LISTED = 5  # values in an error that are no reports
GROUP = "group"  # the name of an unnamed grouping array

Columnar: TypeAlias = Any  # the name of a column, or for arrays an array


def tally(
    reports: Any,
    design: Design,
    *,
    column: str | None = None,
    by: Columnar = None,
    weights: Columnar = None,
    counts: Columnar = None,
    codes: bool = False,
    unknown: str = "error",
) -> Tally:
    """Count reports.

    Parameters
    ----------
    reports : sequence, array, series, data frame, table or path
        A list or NumPy array of reports; a pandas, Polars (eager or lazy), PyArrow or DuckDB frame or series; an Ibis
        table; a Dask or Spark data frame; the path or glob of CSV, Parquet or JSON-lines files, gzipped or not. Reports
        that are sets of answers are hexadecimal strings or bytes, as `randomize` writes them.
    design : Design
        What every report went through.
    column : str, optional
        The column that holds the reports; may be left out where there is only one.
    by : str or list of str, optional
        Columns to group by; a missing value is a group. For arrays: an array of the same length, or a mapping of names
        to such arrays.
    weights : str, optional
        A column of survey weights (for arrays: an array). Negative and missing weights are an error.
    counts : str, optional
        A column that already holds how often each value was reported (for arrays: an array).
    codes : bool
        The reports are positions in the domain instead of labels; sets are rows of packed bits (uint8).
    unknown : {"error", "drop"}
        What to do with values that no report can have: refuse them, or leave them out and count them.

    Examples
    --------
    >>> from warner import RandomizedResponse
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> tally(["no", "no", None, "yes"], survey)
    <Tally of 3 reports among 2 answers: 1 'yes', 2 'no'; 1 missing>
    """
    refuse_design(design, "tally(reports, design)")
    if unknown not in {"error", "drop"}:
        raise ValueError(f'unknown must be "error" or "drop", but got {unknown!r}')
    if weights is not None and counts is not None:
        raise TypeError("give weights (how much a report stands for) or counts (how often it was made), not both")
    options = _Options(by, weights, counts, codes, unknown == "drop")
    if isinstance(reports, str | os.PathLike):
        with readable(os.fspath(reports)):
            return _tally_source(opened(reports), design, column, options)
    if isinstance(reports, list | tuple | range | np.ndarray):
        if column is not None:
            raise TypeError(f"column must be left out for a sequence of reports, but got {column!r}")
        return _tally_array(reports, design, options)
    try:
        frame: Frame = nw.from_native(reports, allow_series=True)
    except TypeError:
        raise TypeError(
            "reports must be a sequence, an array, a data frame, a table or the path of a file, but got "
            f"{type(reports).__module__}.{type(reports).__name__}"
        ) from None
    if isinstance(frame, nw.Series):
        frame = frame.alias(column or frame.name or "report").to_frame()
    library = {"dask": "pandas"}.get(str(frame.implementation), str(frame.implementation))
    made = _tally_source(Source(frame, text=False), design, column, options)
    return replace(made, backend=library if library in {"pandas", "polars", "pyarrow"} else None)


class _Options(NamedTuple):
    by: Columnar
    weights: Columnar
    counts: Columnar
    codes: bool
    drop: bool


class _Grouping(NamedTuple):
    """Names of what rows are grouped by, the distinct groups in a fixed order, and the group of each row."""

    by: tuple[str, ...] = ()
    groups: tuple[Group, ...] = ()
    place: Integers | None = None


class _Rows(NamedTuple):
    """Rows that were counted, wherever that was: what was read, for how many reports of what weight, in which group."""

    reports: Counts
    status: Integers
    number: Integers | None = None  # one report a row where there is none
    weight: Array | None = None
    square: Array | None = None
    place: Integers | None = None

    def where(self, which: Mask) -> _Rows:
        return _Rows(*(None if values is None else values[which] for values in self))  # type: ignore[arg-type]

    def per_group(self, amounts: Counts | None, groups: int) -> PerGroup:
        """Add up amounts, of which each row has one (1 if None), in each group; give one sum where there are none."""
        amounts = np.ones(self.status.size, dtype=np.int64) if amounts is None else amounts
        total = np.zeros(groups, dtype=amounts.dtype)
        np.add.at(total, np.zeros_like(self.status) if self.place is None else self.place, amounts)
        return total[0] if self.place is None else total


def _assembled(design: Design, rows: _Rows, grouping: _Grouping) -> Tally:
    size = len(grouping.groups) if grouping.by else 1
    width = max(len(design.columns), 0 if design.kinds is None else len(design.kinds))
    if size * width > CELLS_LIMIT:
        raise ValueError(
            f"{size:,} groups of {width:,} answers are more than fit in memory; tally some groups at a time, or by "
            "fewer columns"
        )
    rows = rows._replace(place=grouping.place)
    complete = all_reports(rows.status)  # as is usual: nothing need be picked out

    def left_out(kind: int) -> PerGroup:
        part = rows.where(rows.status == kind)
        return part.per_group(part.number, size)

    known = rows if complete else rows.where(rows.status == INSIDE)
    amounts = known.number if known.weight is None else known.weight
    sums = design.counted(known.reports, amounts, group=known.place, groups=size)
    return Tally(
        design,
        **sums._asdict(),
        missing=0 if complete else left_out(MISSING),
        unknown=0 if complete else left_out(OUTSIDE),
        by=grouping.by,
        groups=grouping.groups,
        squares=None if known.square is None else known.per_group(known.square, size),
    )


# Sequences and arrays


def _tally_array(reports: Any, design: Design, options: _Options) -> Tally:
    form = design.report_form
    read = form.read(reports, codes=options.codes)
    size = read.status.size
    number = weight = None
    if options.counts is not None:
        number = _whole_numbers(options.counts, size)
    if options.weights is not None:
        weight = _same_length("weights", options.weights, size).astype(np.float64)
        _refuse_amounts("weights", int((~(weight >= 0) | np.isinf(weight)).sum()))
    grouping = _Grouping()
    if options.by is not None:
        arrays = options.by if isinstance(options.by, Mapping) else {GROUP: options.by}
        grouping = _grouped(tuple(arrays), [_values(name, array, size) for name, array in arrays.items()])
    if not options.drop:
        _refuse_unknown(reports, read.status, number, form)
    return _assembled(design, _Rows(*read, number, weight, None if weight is None else weight**2), grouping)


def _whole_numbers(counts: Columnar, size: int) -> Integers:
    number = _same_length("counts", counts, size)
    if number.dtype.kind not in "iu" or (number < 0).any():
        raise ValueError(
            f"counts must be whole numbers of at least 0, but got {number.min()} in an array of {number.dtype}"
        )
    _refuse_overflow(number.sum(dtype=np.float64))
    return number.astype(np.int64)


def _same_length(name: str, values: Any, size: int) -> Counts:
    array = np.asarray(values)
    if array.shape != (size,):
        raise ValueError(f"{name} must have one value for each of the {size} reports, but got shape {array.shape}")
    return array


def _values(name: str, values: Any, size: int) -> list[object]:
    """Give the values of a grouping: those of a list as they are, for an array would make 1 and "1" the same."""
    if not isinstance(values, list | tuple):
        return list(_same_length(name, values, size).tolist())
    if len(values) != size:
        raise ValueError(f"{name} must have one value for each of the {size} reports, but got {len(values)}")
    return list(values)


def _grouped(by: tuple[str, ...], columns: list[list[object]]) -> _Grouping:
    if not by:
        return _Grouping()
    keys = list(zip(*([_plain(value) for value in column] for column in columns), strict=True))
    groups = tuple(sorted(set(keys), key=group_order))
    index = {group: position for position, group in enumerate(groups)}
    return _Grouping(by, groups, np.fromiter((index[key] for key in keys), dtype=np.int64, count=len(keys)))


def _plain(value: object) -> PerGroup:
    """Reduce a group's value to what every engine and JSON can hold alike."""
    if is_missing(value):
        return None
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()  # some engines have no dates, only midnights
    return value if isinstance(value, str | int | float) else str(value)


# Data frames, tables and files


def _tally_source(source: Source, design: Design, column: str | None, options: _Options) -> Tally:
    form = design.report_form
    columns = chosen(source, column, options.by, options.weights, options.counts)
    if source.text:
        refuse_headless([columns.value], form)
    if isinstance(source.frame, nw.DataFrame) and source.frame.schema[columns.value] == nw.Object:
        return _tally_objects(source.frame, design, columns, options)
    table = counted(source, columns, form, codes=options.codes, drop=options.drop)
    rows = _Rows(*form.read(table["value"], text=source.text, codes=options.codes))
    if "kind" in table:  # values that no report can have were lumped together
        kind = np.array(table["kind"], dtype=np.int64)
        rows = rows._replace(status=np.where(kind < 0, kind, rows.status))
    if "bad" in table:
        _refuse_amounts("weights" if columns.weights is not None else "counts", sum(int(n) for n in table["bad"]))
    _refuse_overflow(sum(table.get("roughly", [])))
    rows = rows._replace(number=np.array([int(n) for n in table["number"]], dtype=np.int64))
    if not options.drop:
        _refuse_unknown(table["value"], rows.status, rows.number, form)
    if columns.weights is not None:
        weight, square = (np.array(table[name], dtype=np.float64) for name in ("weight", "square"))
        _refuse_amounts("weights", int((~np.isfinite(weight)).sum()))
        rows = rows._replace(weight=weight, square=square)
    return _assembled(design, rows, _grouped(columns.by, [table[f"by{i}"] for i in range(len(columns.by))]))


def _tally_objects(frame: Frame, design: Design, columns: Columns, options: _Options) -> Tally:
    """Count Python objects one by one: grouping them would turn integers into floats where some are missing."""

    def values(name: str | None) -> PerGroup:
        return None if name is None else frame[name].to_list()

    by = {name: values(name) for name in columns.by} or None
    plain = options._replace(by=by, weights=values(columns.weights), counts=values(columns.counts))
    return _tally_array(values(columns.value), design, plain)


# Errors


def _refuse_unknown(values: Sequence[Any] | Counts, status: Integers, number: Integers | None, form: Form) -> None:
    """Refuse values that no report can have, and show the first of them."""
    outside = np.zeros(0, dtype=np.int64) if all_reports(status) else np.flatnonzero(status == OUTSIDE)
    if not outside.size:
        return
    if isinstance(values, np.ndarray) and values.shape[:1] != status.shape:
        values = values.ravel()
    total = outside.size if number is None else int(number[outside].sum())
    listed = ", ".join(repr(values[i]) for i in outside[:VALUES_LISTED].tolist())
    listed += ", ..." if outside.size > VALUES_LISTED else ""
    raise ValueError(
        f"reports must be {form.rule}, but {total:,} {'is' if total == 1 else 'are'} not: {listed}. {form.remedy}, or "
        'leave them out with unknown="drop"'
    )


def _refuse_overflow(total: float) -> None:
    if total > LARGEST_TOTAL:
        raise ValueError(f"counts must sum to at most 2^53, but sum to about {total:.3g}")


def _refuse_amounts(name: str, bad: int) -> None:
    if bad:
        raise ValueError(f"{name} must be finite numbers of at least 0, but {bad:,} are negative or missing")
