"""People who answered several randomized questions, counted: how many gave each combination of reports.

Counting is done where the data are (`warner.reports.loading`); only the distinct rows come back. A row counts if it has
a report to every question, and a number in the numeric column, if one is asked for; all others are left out, and
counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.designs.facts import added_up
from warner.designs.labels import MISSING, OUTSIDE
from warner.regression.covariates import refuse_infinite
from warner.reports.counts import as_histograms, refuse_impossible
from warner.reports.dialects import PLAIN
from warner.reports.invalid_values import refuse_unknown, unknown_values
from warner.reports.loading import Wanted, load, opened, refuse_rule, refuse_two_amounts
from warner.reports.paths import are_places
from warner.reports.sampling import effective_number
from warner.reports.tallies import Tally

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers, Mask
    from warner.designs.product import Product
    from warner.reports.columns import Column
    from warner.reports.loading import Loaded


class NumericColumn(NamedTuple):
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
    measured : NumericColumn or None
        The numeric column, if one was asked for.
    """

    design: Product
    counts: Counts
    squares: Array | None = None
    missing: int = 0
    unknown: int = 0
    measured: NumericColumn | None = None

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
    refuse_rule(unknown)
    refuse_two_amounts(weights, counts)
    if isinstance(data, list | tuple | np.ndarray) and not are_places(data):
        if weights is not None or counts is not None or numeric is not None:
            raise TypeError("weights, counts and numeric name columns, and must be left out for a table of counts")
        return _of_counts(data, design)
    if numeric in design.questions:
        raise ValueError(f"numeric must be a column of its own, but {numeric!r} holds reports")
    forms = {name: (part.report_form,) for name, part in zip(design.questions, design.designs, strict=True)}
    wanted = Wanted(forms, () if numeric is None else (numeric,), weights, counts)
    with opened(data, PLAIN._replace(sheet=sheet)) as source:
        loaded = load(source, wanted, few=design.designs[0].report_form, drop=unknown == "drop")
    return _joined(loaded, design, numeric, drop=unknown == "drop")


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


# Columns and amounts to joint reports


def _joined(loaded: Loaded, design: Product, numeric: str | None, *, drop: bool) -> Crosstable:
    """Look up what each row says, leave out what says too little, and count joint reports."""
    number = loaded.numbers
    reports, status = _read(loaded, design, number, drop=drop)
    absent: Mask = (status == MISSING).any(axis=0)
    column = None if numeric is None else _numbers(loaded, numeric)
    if column is not None:
        absent |= column.missing
    strange = (status == OUTSIDE).any(axis=0) & ~absent
    kept = ~absent & ~strange
    known = tuple(part[kept] for part in reports)
    cells = design.joined(known)

    def summed(amounts: Counts) -> Counts:
        return added_up(cells, amounts[kept], len(design.columns)).reshape(design.widths)

    counts = summed(number if loaded.weight is None else loaded.weight)
    squares = None if loaded.square is None else summed(loaded.square)
    measured = None
    if numeric is not None and column is not None:
        refuse_infinite(numeric, column.values[kept])
        weight = np.asarray(number if loaded.weight is None else loaded.weight, dtype=np.float64)[kept]
        square = weight if loaded.square is None else loaded.square[kept]
        values = column.values[kept].astype(np.float64)
        # In an order of their own: engines give rows in any order, and the last digits of sums depend on it.
        order = np.lexsort((square, weight, *known, values))
        reported = tuple(part[order] for part in known)
        measured = NumericColumn(numeric, values[order], reported, weight[order], square[order])
    return _checked(
        Crosstable(design, counts, squares, int(number[absent].sum()), int(number[strange].sum()), measured)
    )


def _numbers(loaded: Loaded, name: str) -> Column:
    """Read the column of numbers that answers are correlated with."""
    column = loaded.column(name)
    if column.values.dtype.kind not in "iufb":
        raise TypeError(f"numeric must be a column of numbers, but {name!r} holds texts")
    return column


def _read(loaded: Loaded, design: Product, number: Integers, *, drop: bool) -> tuple[list[Integers], Integers]:
    """Read the reports to every question, and what each value is, of shape (questions, rows)."""
    reports: list[Integers] = []
    statuses = []
    for name, part in zip(design.questions, design.designs, strict=True):
        form, values = part.report_form, loaded.reports(name)
        codes, status = form.read(values, text=loaded.text)
        if loaded.kind is not None and not reports:  # values that no report can have were lumped together
            status = np.where(loaded.kind < 0, loaded.kind, status)
        if not drop:
            outside = int(number[status == OUTSIDE].sum())
            refuse_unknown(outside, unknown_values(values, status), form, f"reports to {name!r}")
        reports.append(codes)
        statuses.append(status)
    return reports, np.array(statuses)
