"""Reports to counts: from an array, any data frame, a file or an engine that has them.

Counting is somebody else's job (`engines`): only counted rows come to Python, where their labels are looked at,
and where they become a `Tally`, which carries its design, adds up, and can be saved.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, time
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import narwhals as nw
import numpy as np

from warner.designs import Design, design_from_json
from warner.designs.labels import MISSING, OUTSIDE, from_text, is_missing, positions
from warner.documents import document, loaded, parsed, save_text
from warner.estimators import LARGEST_TOTAL
from warner.reports.engines import Columns, Source, chosen, counted, opened, readable, refuse_headless

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT = "warner tally"
VERSION = 1
CELLS_LIMIT = 2**27  # a table of groups times answers beyond this would fill the memory
SHOWN = 5
RESULTS = {"value", "reports", "share", "people", "se", "low", "high", "outside"}  # columns of Estimate.table
GROUP = "group"  # the name of an unnamed grouping array

Group = tuple[Any, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Tally:
    """How often each answer was reported, under which design.

    Made by `tally`, or directly from counts that somebody else made. Tallies of the same design add up with ``+``,
    so that shards can be counted anywhere and merged exactly.

    Attributes
    ----------
    design : RandomizedResponse or Channel
        What every report went through. Nothing after this can be run with the wrong epsilon.
    counts : ndarray of shape (k,), or (groups, k)
        Number of reports of each answer, in the domain's order (for a `Channel`, of each output); sums of weights if
        there are weights.
    missing, unknown : int, or ndarray of shape (groups,)
        Number of rows left out because the value was missing, or was not in the domain.
    by : tuple of str
        Names of what the reports are grouped by; empty without groups.
    groups : tuple of tuple
        The groups, each with one value for each name in `by`; a missing value, None, is a group of its own.
    squares : float or ndarray of shape (groups,), or None
        With weights, the sum of their squares.
    backend : str or None
        The data-frame library that the reports came from, for results to go back to.

    Examples
    --------
    >>> from warner import RandomizedResponse
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> Tally(survey, [40, 60]) + Tally(survey, [1, 2], missing=3)
    <Tally of 103 reports among 2 answers: 41 'yes', 62 'no'; 3 missing>
    """

    design: Design
    counts: Any
    missing: Any = field(default=0, kw_only=True)
    unknown: Any = field(default=0, kw_only=True)
    by: tuple[str, ...] = field(default=(), kw_only=True)
    groups: tuple[Group, ...] = field(default=(), kw_only=True)
    squares: Any = field(default=None, kw_only=True)
    backend: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        array = np.asarray(self.counts)
        shape = (len(self.groups), len(self.design.outputs)) if self.by else (len(self.design.outputs),)
        if array.shape != shape:
            raise ValueError(
                f"counts must have shape {shape}, one for each possible report (and group), but got shape {array.shape}"
            )
        if array.dtype.kind not in "iuf" or not array.min(initial=0) >= 0 or not np.isfinite(array.max(initial=0)):
            raise ValueError("counts must be finite numbers of at least 0")
        if self.squares is None and array.dtype.kind == "f":
            raise ValueError("counts must be whole numbers, or come with squares, the sum of the squared weights")
        if array.size and array.sum(axis=-1, dtype=np.float64).max() > LARGEST_TOTAL:
            raise ValueError("counts must sum to at most 2^53")
        if clash := RESULTS & set(self.by):
            raise ValueError(f"by must not name a group {min(clash)!r}, which is a column of the result; rename it")
        if any(len(group) != len(self.by) for group in self.groups) or len(set(self.groups)) < len(self.groups):
            raise ValueError("groups must be distinct, with one value for each name in by")
        if (
            np.min(self.missing) < 0
            or np.min(self.unknown) < 0
            or (self.squares is not None and np.min(self.squares) < 0)
        ):
            raise ValueError("missing, unknown and squares must be at least 0")
        array = array.astype(np.int64 if self.squares is None else np.float64)
        array.flags.writeable = False
        object.__setattr__(self, "counts", array)
        for name in ("missing", "unknown", "squares"):
            value = getattr(self, name)
            if value is not None and self.by:
                object.__setattr__(self, name, np.broadcast_to(np.asarray(value), shape[:-1]))

    @property
    def reports(self) -> Any:
        """The number of reports that were counted (the sum of their weights), for each group."""
        return self.counts.sum(axis=-1)

    @property
    def effective(self) -> Any:
        """The number of equally weighted reports that would say as much, Kish's (sum of w)^2 / (sum of w^2)."""
        if self.squares is None:
            return self.reports
        squares = np.asarray(self.squares, dtype=np.float64)
        return np.divide(self.reports**2, squares, out=np.zeros_like(squares), where=squares > 0)[()]

    def scaled(self) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Give the counts and totals that intervals use, a row for each group: those of the effective reports.

        Without weights these are the counts themselves; a group without reports has a total of 0.
        """
        counts = self.counts.reshape(-1, self.counts.shape[-1])
        n = counts.sum(axis=-1, keepdims=True).astype(np.float64)
        if self.squares is None:
            return counts, n
        effective = np.reshape(self.effective, n.shape)
        return counts * np.divide(effective, n, out=np.zeros_like(n), where=n > 0), effective

    def __add__(self, other: object) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        for name, mine, theirs in (
            ("design", self.design, other.design),
            ("grouping", self.by, other.by),
            ("use of weights", self.squares is not None, other.squares is not None),
        ):
            if mine != theirs:
                raise ValueError(f"tallies must have the same {name} to add up, but got {mine!r} and {theirs!r}")
        groups = tuple(sorted({*self.groups, *other.groups}, key=_group_order))
        place = {group: position for position, group in enumerate(groups)}

        def both(name: str) -> Any:
            if not self.by:
                return getattr(self, name) + getattr(other, name)
            total = np.zeros((len(groups), *getattr(self, name).shape[1:]), dtype=getattr(self, name).dtype)
            for part in (self, other):
                total[[place[group] for group in part.groups]] += getattr(part, name)
            return total

        return Tally(
            self.design,
            both("counts"),
            missing=both("missing"),
            unknown=both("unknown"),
            by=self.by,
            groups=groups,
            squares=None if self.squares is None else both("squares"),
        )

    def to_json(self) -> str:
        """Write the tally as JSON: the design as in its own file, counts in the domain's order, a row a group."""
        whole = self.squares is None
        return document(
            {
                "format": FORMAT,
                "version": VERSION,
                "design": json.loads(self.design.to_json()),
                "counts": self.counts.tolist(),
                "missing": np.asarray(self.missing).tolist(),
                "unknown": np.asarray(self.unknown).tolist(),
                "by": list(self.by),
                "groups": [list(group) for group in self.groups],
                "squares": None if whole else np.asarray(self.squares).tolist(),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; anything else is an error that says what is wrong with it."""
        names = {"design", "counts", "missing", "unknown", "by", "groups", "squares"}
        fields = parsed(text, FORMAT, VERSION, names)
        try:
            squares = fields["squares"]
            return cls(
                design_from_json(json.dumps(fields["design"])),
                np.array(fields["counts"], dtype=None if squares is None else np.float64),
                missing=fields["missing"],
                unknown=fields["unknown"],
                by=tuple(fields["by"]),
                groups=tuple(tuple(group) for group in fields["groups"]),
                squares=squares,
            )
        except (TypeError, ValueError) as error:
            raise ValueError(f"this tally is damaged: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tally to a file, whole or not at all."""
        save_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a tally that `save` wrote."""
        return loaded(path, cls.from_json)

    def __repr__(self) -> str:
        reports = np.asarray(self.reports).sum()
        amount = amount_text(reports) + ("" if self.squares is None else " (weighted)")
        grouped = f" in {len(self.groups):,} groups by {', '.join(self.by)}" if self.by else ""
        totals = self.counts.sum(axis=0) if self.by else self.counts
        few = 4
        shown = zip(totals[:few], self.design.outputs[:few], strict=True)
        listed = ", ".join(f"{amount_text(number)} {label!r}" for number, label in shown)
        listed += ", ..." if totals.size > few else ""
        left_out = "".join(
            f"; {int(np.sum(getattr(self, name))):,} {name}"
            for name in ("missing", "unknown")
            if np.any(getattr(self, name))
        )
        kinds = "answers" if self.design.outputs is self.design.domain else "outputs"
        return f"<Tally of {amount} reports among {totals.size:,} {kinds}{grouped}: {listed}{left_out}>"


def amount_text(amount: Any) -> str:
    """Write a number of reports in full, or a sum of weights to a tenth."""
    return f"{amount:,.1f}" if isinstance(amount, float | np.floating) else f"{amount:,}"


def tally(
    reports: Any,
    design: Design,
    *,
    column: str | None = None,
    by: Any = None,
    weights: Any = None,
    counts: Any = None,
    codes: bool = False,
    unknown: str = "error",
) -> Tally:
    """Count reports.

    Parameters
    ----------
    reports : sequence, array, series, data frame, table or path
        A list or NumPy array of reports; a pandas, Polars (eager or lazy), PyArrow or DuckDB frame or series; an Ibis
        table; a Dask or Spark data frame; the path or glob of CSV, Parquet or JSON-lines files, gzipped or not.
    design : RandomizedResponse or Channel
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
        The reports are positions in the domain instead of labels.
    unknown : {"error", "drop"}
        What to do with values outside the domain: refuse them, or leave them out and count them.

    Examples
    --------
    >>> from warner import RandomizedResponse
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> tally(["no", "no", None, "yes"], survey)
    <Tally of 3 reports among 2 answers: 1 'yes', 2 'no'; 1 missing>
    """
    if unknown not in {"error", "drop"}:
        raise ValueError(f'unknown must be "error" or "drop", but got {unknown!r}')
    if weights is not None and counts is not None:
        raise TypeError("give weights (how much a report stands for) or counts (how often it was made), not both")
    options = _Options(by, weights, counts, codes, unknown)
    if isinstance(reports, str | os.PathLike):
        with readable(os.fspath(reports)):
            return _tally_source(opened(reports), design, column, options)
    if isinstance(reports, list | tuple | range | np.ndarray):
        if column is not None:
            raise TypeError(f"column must be left out for a sequence of reports, but got {column!r}")
        return _tally_array(reports, design, options)
    try:
        frame: Any = nw.from_native(reports, allow_series=True)
    except TypeError:
        raise TypeError(
            "reports must be a sequence, an array, a data frame, a table or the path of a file, but got "
            f"{type(reports).__module__}.{type(reports).__name__}"
        ) from None
    if isinstance(frame, nw.Series):
        frame = frame.alias(column or frame.name or "report").to_frame()
    found = _tally_source(Source(frame, text=False), design, column, options)
    library = {"dask": "pandas"}.get(str(frame.implementation), str(frame.implementation))
    return replace(found, backend=library if library in {"pandas", "polars", "pyarrow"} else None)


class _Options(NamedTuple):
    by: Any
    weights: Any
    counts: Any
    codes: bool
    unknown: str


class _Rows(NamedTuple):
    """Counted rows, wherever they were counted: each a position (or not), in a group, for so many reports."""

    found: NDArray[np.int64]
    group: NDArray[np.intp] | None = None
    number: NDArray[np.int64] | None = None  # None: one report a row
    weight: NDArray[np.float64] | None = None
    square: NDArray[np.float64] | None = None


def _assembled(design: Design, by: tuple[str, ...], groups: tuple[Group, ...], rows: _Rows) -> Tally:
    size = max(len(groups), 1)
    kinds = len(design.outputs)
    if size * kinds > CELLS_LIMIT:
        raise ValueError(
            f"{size:,} groups of {kinds:,} answers are more than fit in memory; tally some groups at a time, or by "
            "fewer columns"
        )
    group = rows.group

    def summed(where: NDArray[np.bool_] | None, amount: NDArray[Any] | None, *, cells: bool = False) -> NDArray[Any]:
        """Add up an amount (one a row if None) over groups, or over groups and answers."""
        width = kinds if cells else 1
        place = rows.found if cells else np.zeros_like(rows.found)
        if group is not None:
            place = place + group * width
        if where is not None:
            place, amount = place[where], amount if amount is None else amount[where]
        if amount is None:
            total: NDArray[Any] = np.bincount(place, minlength=size * width)
        else:
            total = np.zeros(size * width, dtype=amount.dtype)
            np.add.at(total, place, amount)
        return total.reshape(size, width)

    known = None if not rows.found.size or rows.found.min() >= 0 else rows.found >= 0
    shape = (size,) if by else ()
    amount = rows.number if rows.weight is None else rows.weight
    counts = summed(known, amount, cells=True).reshape(*shape, kinds)
    left_out: dict[str, Any] = {
        name: summed(rows.found == kind, rows.number).reshape(shape)[()] if known is not None else 0
        for name, kind in (("missing", MISSING), ("unknown", OUTSIDE))
    }
    squares = None if rows.square is None else summed(known, rows.square).reshape(shape)[()]
    return Tally(design, counts, by=by, groups=groups if by else (), squares=squares, **left_out)


# Sequences and arrays


def _tally_array(reports: Any, design: Design, options: _Options) -> Tally:
    found = positions(reports, design.outputs, codes=options.codes, what="reports").ravel()
    number = weight = group = None
    names: tuple[str, ...] = ()
    groups: tuple[Group, ...] = ()
    if options.counts is not None:
        number = _same_length("counts", options.counts, found.size)
        if number.dtype.kind not in "iu" or (number < 0).any():
            raise ValueError(
                f"counts must be whole numbers of at least 0, but got {number.min()} in an array of {number.dtype}"
            )
        _refuse_overflow(number.sum(dtype=np.float64))
        number = number.astype(np.int64)
    if options.weights is not None:
        weight = _same_length("weights", options.weights, found.size).astype(np.float64)
        _refuse_amounts("weights", int((~(weight >= 0) | np.isinf(weight)).sum()))
    if options.by is not None:
        arrays = options.by if isinstance(options.by, Mapping) else {GROUP: options.by}
        names = tuple(arrays)
        columns = [_values(name, array, found.size) for name, array in arrays.items()]
        groups, group = _grouped(columns)
    if options.unknown == "error" and found.size and found.min() == OUTSIDE:
        where = found == OUTSIDE
        first = np.flatnonzero(where)[:SHOWN].tolist()
        values = [reports[i] for i in first] if np.ndim(reports) == 1 else []
        _refuse_unknown(values, int(where.sum() if number is None else number[where].sum()))
    rows = _Rows(found, group, number, weight, None if weight is None else weight**2)
    return _assembled(design, names, groups, rows)


def _same_length(name: str, values: Any, n: int) -> NDArray[Any]:
    array = np.asarray(values)
    if array.shape != (n,):
        raise ValueError(f"{name} must have one value for each of the {n} reports, but got shape {array.shape}")
    return array


def _values(name: str, values: Any, n: int) -> list[Any]:
    """Give the values of a grouping: those of a list as they are, for an array would make 1 and "1" the same."""
    if not isinstance(values, list | tuple):
        return list(_same_length(name, values, n).tolist())
    if len(values) != n:
        raise ValueError(f"{name} must have one value for each of the {n} reports, but got {len(values)}")
    return list(values)


def _grouped(columns: list[list[Any]]) -> tuple[tuple[Group, ...], NDArray[np.intp]]:
    """Give the distinct groups in a fixed order, and the group of each row."""
    keys = list(zip(*([_plain(value) for value in column] for column in columns), strict=True))
    groups = tuple(sorted(set(keys), key=_group_order))
    index = {group: position for position, group in enumerate(groups)}
    return groups, np.fromiter((index[key] for key in keys), dtype=np.intp, count=len(keys))


def _plain(value: Any) -> Any:
    """Reduce a group's value to what every engine and JSON can hold alike."""
    if is_missing(value):
        return None
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()  # some engines have no dates, only midnights
    return value if isinstance(value, str | int | float) else str(value)


def _group_order(group: Group) -> tuple[tuple[bool, bool, Any], ...]:
    """Sort numbers, then strings, then missing values, whatever the engine's own order."""
    return tuple((value is None, isinstance(value, str), 0 if value is None else value) for value in group)


# Data frames, tables and files


def _tally_source(source: Source, design: Design, column: str | None, options: _Options) -> Tally:
    columns = chosen(source, column, options.by, options.weights, options.counts)
    if source.text:
        refuse_headless([columns.value], design.outputs)
    if isinstance(source.frame, nw.DataFrame) and source.frame.schema[columns.value] == nw.Object:
        return _tally_objects(source.frame, design, columns, options)
    found = counted(source, columns, design.outputs, codes=options.codes, drop=options.unknown == "drop")
    values = from_text(found["value"], design.outputs, codes=options.codes) if source.text else found["value"]
    codes = positions(values, design.outputs, codes=options.codes)
    if "kind" in found:
        kind = np.array(found["kind"], dtype=np.int64)
        codes = np.where(kind < 0, kind, codes)
    if "bad" in found:
        bad = sum(int(n) for n in found["bad"])
        _refuse_amounts("weights" if columns.weights is not None else "counts", bad)
    _refuse_overflow(sum(found.get("roughly", [])))
    number = np.array([int(n) for n in found["number"]], dtype=np.int64)
    if options.unknown == "error" and (codes == OUTSIDE).any():
        where = np.flatnonzero(codes == OUTSIDE)
        _refuse_unknown([found["value"][i] for i in where[:SHOWN]], int(number[where].sum()))
    weight = square = group = None
    if columns.weights is not None:
        weight, square = (np.array(found[name], dtype=np.float64) for name in ("weight", "square"))
        _refuse_amounts("weights", int((~np.isfinite(weight)).sum()))
    groups: tuple[Group, ...] = ()
    if columns.by:
        groups, group = _grouped([found[f"by{i}"] for i in range(len(columns.by))])
    return _assembled(design, columns.by, groups, _Rows(codes, group, number, weight, square))


def _tally_objects(frame: Any, design: Design, columns: Columns, options: _Options) -> Tally:
    """Count Python objects one by one: grouping them would turn integers into floats where some are missing."""

    def values(name: str | None) -> Any:
        return None if name is None else frame[name].to_list()

    by = {name: values(name) for name in columns.by} or None
    plain = options._replace(by=by, weights=values(columns.weights), counts=values(columns.counts))
    return _tally_array(values(columns.value), design, plain)


def _refuse_unknown(values: list[Any], number: int) -> None:
    shown = ", ".join(map(repr, values)) + (", ..." if len(values) == SHOWN else "")
    raise ValueError(
        f"reports must be in the domain, but {number:,} are not: {shown}. Add these values to the domain if they were "
        'possible answers, or leave them out with unknown="drop"'
    )


def _refuse_overflow(total: float) -> None:
    if total > LARGEST_TOTAL:
        raise ValueError(f"counts must sum to at most 2^53, but sum to about {total:.3g}")


def _refuse_amounts(name: str, bad: int) -> None:
    if bad:
        raise ValueError(f"{name} must be finite numbers of at least 0, but {bad:,} are negative or missing")
