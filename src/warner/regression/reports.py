"""Reports as rows of the likelihood, each under its own design.

A report under a design with few possible reports is the index of its column in the design's table. Sets of answers and
hashes are too many for a table: the distinct ones in the data are indexed, and the design returns their likelihood.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from warner.designs.contract import Design, Device, listed_design
from warner.designs.labels import MISSING, OUTSIDE, first_and_last
from warner.regression.scores import column_scores, report_scores
from warner.reports.counts import refuse_uninformative, refuse_unknown, unknown_values
from warner.reports.loading import refuse_other_names
from warner.reports.options import as_label
from warner.reports.queries import INSIDE
from warner.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Counts, Integers
    from warner.reports.loading import Column, Loaded


Named: TypeAlias = tuple[tuple[Design, ...], tuple[str, ...]]  # designs, and their names


class ReportLikelihoods(NamedTuple):
    """Likelihoods of the reports of some rows.

    `design` is the index of each row's design, and `report` that of its report among the rows of that design's
    `likelihoods`, (reports, k); `status` is 0 for a report, or `MISSING`, or `OUTSIDE`. For designs with a table,
    reports are indexed by its columns. Where answers have numeric values, `scores` are those of the reports of each
    design, and all answers count as one.
    """

    designs: tuple[Design, ...]
    labels: tuple[str, ...]
    design: Integers
    report: Integers
    status: Integers
    likelihoods: tuple[Array, ...]
    tables: tuple[Array | None, ...]
    scores: tuple[Array, ...] | None = None

    @classmethod
    def of_parts(
        cls, named: Named, design: Integers, report: Integers, status: Integers, parts: Sequence[Numbered]
    ) -> ReportLikelihoods:
        scores = tuple(part.scores for part in parts if part.scores is not None)
        likelihoods, tables = tuple(part.likelihood for part in parts), tuple(part.table for part in parts)
        return cls(*named, design, report, status, likelihoods, tables, scores or None)

    def scored(self, some: Any) -> Array | None:
        """Scores of the reports of some rows; None without numeric values."""
        return None if self.scores is None else self._of_rows(self.scores, some)

    def likelihood(self, some: Any) -> Array:
        """Likelihoods of the reports of some rows, (rows, k)."""
        return self._of_rows(self.likelihoods, some)

    def _of_rows(self, of_reports: tuple[Array, ...], some: Any) -> Array:
        design, report = self.design[some], self.report[some]
        rows = np.empty((len(design), *of_reports[0].shape[1:]))
        for number, values in enumerate(of_reports):
            selected = design == number
            rows[selected] = values[report[selected]]
        return rows

    def columns(self, some: Any) -> Integers:
        """Columns of the reports of some rows in the tables of their designs; -1 without a table."""
        tabled = np.array([table is not None for table in self.tables])
        return np.where(tabled[self.design[some]], self.report[some], -1)


class Numbered(NamedTuple):
    """Reports of one design as indices, the likelihood of each index, and the design's table, if it has one.

    With numeric values of the answers, the score of each index; its likelihood is then that of equally common answers,
    in one column, and there is no table.
    """

    report: Integers
    likelihood: Array
    table: Array | None
    scores: Array | None = None


def numbered_reports(design: Design, reports: Counts, values: Array | None = None) -> Numbered:
    """Index and likelihood of reports given as codes: the column of the design's table, if any."""
    if not len(reports) and values is not None:
        return Numbered(np.zeros(0, dtype=np.int64), np.zeros((0, 1)), None, np.zeros(0))
    matrix = None if design.law.sufficient is None else design.law.likelihood().matrix
    if not len(reports):
        nothing = np.zeros((0, design.k))
        return Numbered(np.zeros(0, dtype=np.int64), nothing, None if matrix is None else matrix())
    distinct, index = np.unique(reports, axis=0, return_inverse=True)
    index = index.ravel()
    if values is not None:
        likelihood = design.law.likelihood(distinct).forward(np.full(design.k, 1 / design.k))
        return Numbered(index, likelihood[:, np.newaxis], None, report_scores(design, distinct, values))
    if matrix is None:
        operator = design.law.likelihood(distinct)
        rows = operator.forward(np.eye(design.k)) if operator.matrix is None else operator.matrix()
        return Numbered(index, rows.T, None)
    columns = distinct
    if design.law.sufficient == "counts":  # each report is counted in one column, which need not have its number
        every = np.arange(len(distinct))
        columns = design.law.count(distinct, group=every, groups=len(every)).counts.argmax(axis=1)
    table = matrix()
    return Numbered(columns[index], table.T, table)


def numbered_columns(design: Design, columns: Integers, values: Array | None = None) -> Numbered:
    """Index reports of a tally, which are columns of the design's table already."""
    if values is not None:
        distinct, index = np.unique(columns, return_inverse=True)
        likelihood = design.law.likelihood().forward(np.full(design.k, 1 / design.k))[distinct]
        return Numbered(index, likelihood[:, np.newaxis], None, column_scores(design, distinct, values))
    matrix = design.law.likelihood().matrix
    table = design.law.likelihood().forward(np.eye(design.k)) if matrix is None else matrix()
    return Numbered(columns, table.T, table)


def report_likelihoods(
    loaded: Loaded,
    name: str,
    designs: tuple[Design, ...],
    labels: tuple[str, ...],
    by: str | None = None,
    *,
    people: Integers | None = None,
    drop: bool,
    values: Array | None = None,
) -> ReportLikelihoods:
    """Read a column of reports, each under the design that the column `by` names; `labels` are those of the designs.

    Unless `drop`, invalid values are an error that names the number of `people` with one; these are the respondents
    that were loaded by default. With numeric `values` of the answers, reports have scores.
    """
    written, people = loaded.reports(name), loaded.numbers if people is None else people
    size = len(people)
    index, named = _design_of_each(None if by is None else loaded.column(by, as_written=True), labels, people)
    report = np.zeros(size, dtype=np.int64)
    status = np.where(named, np.int64(INSIDE), np.int64(MISSING))
    parts = []
    for number, design in enumerate(designs):
        selected = np.flatnonzero(named & (index == number))
        part = written
        if selected.size < size:
            part = written[selected] if isinstance(written, np.ndarray) else [written[i] for i in selected.tolist()]
        codes, state = design.report_form.read(part, text=loaded.text)
        state = np.broadcast_to(state, selected.shape)
        status[selected] = state
        if not drop:
            outside = int(people[selected[state == OUTSIDE]].sum())
            refuse_unknown(outside, unknown_values(part, state), design.report_form)
        inside = state == INSIDE
        parts.append(numbered_reports(design, codes[inside], values))
        report[selected[inside]] = parts[-1].report
    found = ReportLikelihoods.of_parts((designs, labels), index, report, status, parts)
    refuse_impossible(found, people)
    return found


def _design_of_each(which: Column | None, labels: Sequence[str], people: Integers) -> tuple[Integers, Any]:
    """Index of each row's design, and whether it is named."""
    if which is None:
        return np.zeros(len(people), dtype=np.int64), np.ones(len(people), dtype=bool)
    numbers = {label: number for number, label in enumerate(labels)}
    written = [as_label(value) for value in which.values.tolist()]
    index = np.array([numbers.get(label, -1) for label in written], dtype=np.int64)
    strange = (index < 0) & ~which.missing
    found: Counter[str] = Counter()
    for row in np.flatnonzero(strange).tolist():
        found[written[row]] += int(people[row])
    refuse_other_names(found, labels)
    return np.where(index < 0, 0, index), ~which.missing


def named_designs(design: Any, by: str | None) -> Named:
    """Check one design, or several by name, which must have the same answers in the same order."""
    if isinstance(design, Design):
        if by is not None:
            raise TypeError(
                f"by names the design of each row, but there is one design for all; leave by={by!r} out, or give "
                'designs by name: {"dice": ..., "direct": ...}'
            )
        refuse_uninformative(design.law)
        _refuse_incomplete(design)
        return (design,), ("",)
    several = list(design.values()) if isinstance(design, Mapping) else []
    for one in several or [design]:
        if isinstance(one, Device):
            listed_design(one)  # which says what to do with one that has no list of answers
    if not several or not all(isinstance(one, Design) for one in several):
        raise TypeError(f"design must be a Design, or a mapping of names to designs, but got {design!r}")
    if by is None:
        raise TypeError('by must name the column with the design of each row: by="version"')
    labels = tuple(map(str, design))
    if len(set(labels)) < len(labels):
        raise ValueError(f"designs must have different names, but got {list(design)!r}")
    refuse_different_answers(tuple(design.values()), labels)
    for one in design.values():
        _refuse_incomplete(one)
    if all(one.epsilon == 0 for one in design.values()):
        refuse_uninformative(next(iter(design.values())))
    return tuple(design.values()), labels


def _refuse_incomplete(design: Design) -> None:
    if not design.law.exhaustive:  # the likelihood of an incomplete list is not that of the reports
        raise TypeError(f"design must have every possible answer, but a {design.mechanism} need not")


def refuse_different_answers(designs: Sequence[Design], labels: Sequence[str]) -> None:
    first = designs[0]
    for label, other in zip(labels, designs, strict=True):
        if other.domain != first.domain:
            raise ValueError(
                f"designs must have the same answers in the same order, but {labels[0]!r} has "
                f"{first_and_last(first.domain)} and {label!r} has {first_and_last(other.domain)}"
            )


def refuse_impossible(found: ReportLikelihoods, people: Integers) -> None:
    for number, likelihood in enumerate(found.likelihoods):
        impossible = (likelihood == 0).all(axis=1)
        selected = (found.design == number) & (found.status == INSIDE)
        if impossible.any() and (made := selected & impossible[np.where(selected, found.report, 0)]).any():
            raise ValueError(
                "reports must be possible under the design, but "
                f"{counted(int(people[made].sum()), 'report is', 'reports are')} impossible under it: no answer leads "
                "to them"
            )
