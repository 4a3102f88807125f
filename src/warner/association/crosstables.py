"""People who answered several randomized questions, counted: how many gave each combination of reports.

Counting is done where the data are, by one query for all libraries and files (`warner.reports.queries`); only the
distinct rows come back. A row counts if it has a report to every question, and a number in the numeric column, if
one is asked for; all others are left out, and counted.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np

from warner.designs.facts import added_up
from warner.designs.labels import MISSING, OUTSIDE
from warner.regression.collapsing import column_names, open_source
from warner.regression.covariates import column, refuse_infinite
from warner.reports.amounts import refuse_bad_amounts
from warner.reports.counts import as_histograms, refuse_amounts, refuse_impossible, refuse_overflow
from warner.reports.files import engine_errors
from warner.reports.invalid_values import refuse_unknown, unknown_values
from warner.reports.labelled import with_value_labels
from warner.reports.queries import Columns, Table, categories_as_numbers, count_rows, refuse_absent, refuse_types
from warner.reports.sampling import effective_number
from warner.reports.tallies import Tally

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers
    from warner.designs.product import Product
    from warner.reports.queries import CountedRows


class Measured(NamedTuple):
    """A numeric column beside the reports: its name, and for each distinct row its number, reports and weights."""

    name: str
    values: Array
    reports: tuple[Integers, ...]
    weight: Array
    square: Array


@dataclass(frozen=True, eq=False)
class Crosstable:
    """How often each combination of reports was given.

    Attributes
    ----------
    design : Product
        The questions, and what their answers went through.
    counts : ndarray, with an axis for each question
        Number of people, or the sum of their weights.
    squares : ndarray of the same shape, or None
        With weights, the sum of their squares.
    missing, unknown : int
        Rows left out because something was missing, or because a value was no report.
    measured : Measured or None
        The numeric column, if one was asked for.
    """

    design: Product
    counts: Counts
    squares: Array | None = None
    missing: int = 0
    unknown: int = 0
    measured: Measured | None = None

    @property
    def n(self) -> float:
        """The number of people, or the sum of their weights."""
        return self.counts.sum().item()  # type: ignore[no-any-return]

    @property
    def effective(self) -> float | None:
        """The number of equally weighted people who would say as much; None without weights."""
        return None if self.squares is None else float(effective_number(self.n, self.squares.sum()))

    @property
    def square(self) -> Array:
        """The sum of squared weights in each cell; without weights the number of people."""
        return np.asarray(self.counts if self.squares is None else self.squares, dtype=np.float64)

    def among(self, questions: tuple[int, ...]) -> Crosstable:
        """Give the table of some of the questions, the others added up."""
        others = tuple(place for place in range(self.counts.ndim) if place not in questions)
        squares = None if self.squares is None else self.squares.sum(axis=others)
        return Crosstable(self.design.among(questions), self.counts.sum(axis=others), squares)

    def tally(self) -> Tally:
        """Give the joint reports as a tally of the product design."""
        squares = None if self.squares is None else float(self.squares.sum())
        return Tally(self.design, self.counts.ravel(), squares=squares, missing=self.missing, unknown=self.unknown)


def crosstable(
    data: Any,
    design: Product,
    *,
    weights: Any,
    counts: Any,
    numeric: str | None,
    unknown: str,
    sheet: str | None = None,
) -> Crosstable:
    """Count people by their reports to all questions; see `warner.associate`."""
    if unknown not in {"error", "drop"}:
        raise ValueError(f'unknown must be "error" or "drop", but got {unknown!r}')
    if weights is not None and counts is not None:
        raise TypeError("give weights (how much a row stands for) or counts (how often it occurs), not both")
    if isinstance(data, list | tuple | np.ndarray):
        if weights is not None or counts is not None or numeric is not None:
            raise TypeError("weights, counts and numeric name columns, and must be left out for a table of counts")
        return _of_counts(data, design)
    with engine_errors(os.fspath(data) if isinstance(data, str | os.PathLike) else "data"):
        source = open_source(data, sheet)
        asked = [*design.questions, *(name for name in (numeric, weights, counts) if name is not None)]
        for name in asked:
            refuse_absent(name, column_names(source))
        if numeric in design.questions:
            raise ValueError(f"numeric must be a column of its own, but {numeric!r} holds reports")
        if isinstance(source, Mapping):
            rows, text = _of_mapping(source, design, weights, counts, numeric), False
        else:
            rows, text = _of_source(source, design, weights, counts, numeric, drop=unknown == "drop"), source.text
    return _joined(rows, design, numeric, text=text, drop=unknown == "drop")


def _of_counts(data: Any, design: Product) -> Crosstable:
    """Take a table of counts, with an axis for each question."""
    table = np.asarray(data)
    if table.shape != design.widths:
        shape = " x ".join(map(str, design.widths))
        raise ValueError(
            f"a table of counts must have the shape {shape}, one axis for each question and one entry for each of its "
            f"reports, but got shape {table.shape}"
        )
    if table.dtype.kind not in "iu":
        raise TypeError(f"a table of counts must hold whole numbers, but got {table.dtype}")
    return _checked(Crosstable(design, table))


def _checked(table: Crosstable) -> Crosstable:
    flat = as_histograms(table.counts.ravel(), table.counts.size).counts
    refuse_impossible(flat, table.design)
    if not flat.sum():
        rows = "row" if table.missing == 1 else "rows"
        left_out = f" ({table.missing:,} {rows} had something missing, {table.unknown:,} something unknown)"
        raise ValueError(
            f"there must be at least one person with a report to every question, but there is none{left_out}"
        )
    return table


# Columns of data: distinct rows, or all of them


def _of_mapping(
    given: Mapping[str, Any], design: Product, weights: str | None, counts: str | None, numeric: str | None
) -> CountedRows:
    """Take columns that are in memory, row by row."""
    names = [*design.questions, *(name for name in (numeric, weights, counts) if name is not None)]
    lengths = {len(given[name]) for name in names}
    if len(lengths) > 1:
        raise ValueError(f"columns must be as long as each other, but have lengths {sorted(lengths)}")
    (size,) = lengths
    rows: CountedRows = {"value": given[design.questions[0]], "number": np.ones(size, dtype=np.int64)}
    rows |= {f"by{place}": given[name] for place, name in enumerate(design.questions[1:])}
    if numeric is not None:
        rows[f"by{len(design.questions) - 1}"] = given[numeric]
    if weights is not None:
        weight = _amounts("weights", given[weights]).astype(np.float64)
        rows |= {"weight": weight, "square": weight**2}
    if counts is not None:
        number = _amounts("counts", given[counts])
        if number.dtype.kind not in "iu":
            raise TypeError(f"counts must be a column of whole numbers, but {counts!r} holds {number.dtype}")
        rows["number"] = number
    return rows


def _amounts(name: str, values: Any) -> Counts:
    amounts = column(name, values)
    number = amounts.values
    if number.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be a column of numbers")
    refuse_amounts(name, int((amounts.missing | ~(number >= 0) | np.isinf(number)).sum()))
    return number


def _of_source(
    source: Table, design: Product, weights: str | None, counts: str | None, numeric: str | None, *, drop: bool
) -> CountedRows:
    """Count the distinct rows where they are."""
    first, *others = design.questions
    columns = Columns(first, (*others, *([] if numeric is None else [numeric])), weights, counts)
    forms = {name: (part.report_form,) for name, part in zip(design.questions, design.designs, strict=True)}
    source = with_value_labels(source, forms)
    for name in design.questions:
        source = categories_as_numbers(source, name)
    schema = source.frame.collect_schema()
    if isinstance(source.frame, nw.DataFrame) and any(schema[name] == nw.Object for name in design.questions):
        # Python objects are taken one by one: grouping them would turn integers into floats where some are missing.
        whole = {name: source.frame[name].to_list() for name in columns.names}
        return _of_mapping(whole, design, weights, counts, numeric)
    for name, part in zip(design.questions, design.designs, strict=True):
        refuse_types(source, columns._replace(value=name), part.report_form, codes=False)
    rows = count_rows(source, columns, design.designs[0].report_form, codes=False, drop=drop)
    refuse_bad_amounts(source, columns, sum(rows.get("bad", [])))
    number = np.array(rows["number"])
    refuse_overflow(number.sum())
    rows["number"] = number.astype(np.int64)
    return rows


def _joined(rows: CountedRows, design: Product, numeric: str | None, *, text: bool, drop: bool) -> Crosstable:
    """Look up what each row says, leave out what says too little, and count joint reports."""
    m = len(design.questions)
    values = [rows["value"], *(rows[f"by{place}"] for place in range(m - 1))]
    forms = [part.report_form for part in design.designs]
    read = [form.read(_plain(given), text=text) for form, given in zip(forms, values, strict=True)]
    codes, statuses = [part.reports for part in read], [part.status for part in read]
    if "kind" in rows:  # values of the first question that no report can have were lumped together
        kind = np.asarray(rows["kind"], dtype=np.int64)
        statuses[0] = np.where(kind < 0, kind, statuses[0])
    number = rows["number"]
    if not drop:
        for name, form, status, given in zip(design.questions, forms, statuses, values, strict=True):
            if (status == OUTSIDE).any():
                found = unknown_values(given, status)
                refuse_unknown(int(number[status == OUTSIDE].sum()), found, form, f"reports to {name!r}")
    absent = reduce(np.logical_or, [status == MISSING for status in statuses])
    measured = None
    if numeric is not None:
        measured = column(numeric, rows[f"by{m - 1}"], text=text)
        if measured.values.dtype.kind not in "iufb":
            raise TypeError(f"numeric must be a column of numbers, but {numeric!r} holds texts")
        absent = absent | measured.missing
    strange = reduce(np.logical_or, [status == OUTSIDE for status in statuses]) & ~absent
    kept = ~absent & ~strange
    reports = tuple(part[kept] for part in codes)
    cells = design.joined(reports)
    amount, square = (rows.get(name) for name in ("weight", "square"))

    def summed(amounts: Any) -> Counts:
        return added_up(cells, np.asarray(amounts)[kept], len(design.columns)).reshape(design.widths)

    table = summed(number) if amount is None else summed(np.asarray(amount, dtype=np.float64))
    squares = None if square is None else summed(np.asarray(square, dtype=np.float64))
    known = None
    if measured is not None and numeric is not None:
        refuse_infinite(numeric, measured.values[kept])
        weight = np.asarray(number if amount is None else amount, dtype=np.float64)[kept]
        second = weight if square is None else np.asarray(square, dtype=np.float64)[kept]
        known = Measured(numeric, measured.values[kept].astype(np.float64), reports, weight, second)
    return _checked(Crosstable(design, table, squares, int(number[absent].sum()), int(number[strange].sum()), known))


def _plain(values: Any) -> Any:
    """Give a column as a list, or as an array of numbers: a form reads either."""
    if isinstance(values, list | tuple) or (isinstance(values, np.ndarray) and values.dtype.kind in "iuOU"):
        return values
    return values.to_list() if hasattr(values, "to_list") else list(values)
