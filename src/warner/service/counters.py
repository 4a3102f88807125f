"""Counters of a question: which of them a report adds to, and the tally that they are.

Under a design whose reports are counted once there is a counter for each possible report. Where a report supports
several answers, the counters are those of a tally: a histogram of the types of reports, if all counts follow from it;
otherwise the support of each answer, the histogram where there are types, and else the number of reports. Whoever
skips an optional question adds to a counter of its own.

Reports of an open domain are kept themselves (`stores`), because nearly all of them differ: there is one counter, of
their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from warner.reports.tallies import Tally

if TYPE_CHECKING:
    from warner.arrays import Counts, Integers
    from warner.designs import Design
    from warner.reports.tallies import Group as GroupOfReports

SKIPPED = -1  # what is said in the place of a report by whoever skips a question


@dataclass(frozen=True)
class Layout:
    """The counters of one question, in their order, for one joint group of people.

    >>> from warner import RandomizedResponse, UnaryEncoding
    >>> Layout(RandomizedResponse(["never", "once", "often"], odds=(3, 1)), optional=True).width
    4
    >>> bits = Layout(UnaryEncoding(["a", "b", "c"], odds=(3, 1)), optional=False)
    >>> bits.width  # support of three answers, and sets of 0, 1, 2 and 3 answers
    7
    >>> bits.of_report(np.array([0b10100000], dtype=np.uint8))  # a and c, a set of two
    (0, 2, 5)
    """

    design: Design
    optional: bool

    @cached_property
    def _types(self) -> int:
        return 0 if self.design.report_types is None else len(self.design.report_types)

    @cached_property
    def _columns(self) -> int:
        """Counters of the columns: none where they follow from those of the types of reports."""
        follows = self._types and self.design.support_of(np.zeros(self._types, dtype=np.int64)) is not None
        return 0 if follows else len(self.design.columns)

    @cached_property
    def _number(self) -> int:
        """The counter of the reports themselves, where no others add up to it."""
        return int(not self.design.exclusive and not self._types)

    @cached_property
    def width(self) -> int:
        """The number of counters."""
        return self._columns + self._types + self._number + self.optional

    def of_report(self, report: Counts | int) -> tuple[int, ...]:
        """Give the counters that a report in code adds one to; `SKIPPED` stands for none."""
        if not isinstance(report, int):
            return self._asked(report)
        if report not in self._known:  # a label's code, of which there are few
            self._known[report] = (self.width - 1,) if report == SKIPPED else self._asked(np.array(report))
        return self._known[report]

    @cached_property
    def _known(self) -> dict[int, tuple[int, ...]]:
        return {}

    def _asked(self, report: Counts) -> tuple[int, ...]:
        sums = self.design.counted(report[np.newaxis])
        places: list[int] = np.flatnonzero(sums.counts).tolist() if self._columns else []
        if sums.histogram is not None:
            places += (self._columns + np.flatnonzero(sums.histogram)).tolist()
        return (*places, *([self._columns] if self._number else []))

    def responses(self, cells: Counts) -> Integers:
        """Give the number of people behind counters of shape (..., width): those who skipped the question, too."""
        skipped = cells[..., -1] if self.optional else 0
        if self.design.exclusive:
            reports = cells[..., : self._columns].sum(axis=-1)
        else:
            counted = cells[..., self._columns : self._columns + self._types + self._number]
            reports = counted.sum(axis=-1)
        return np.asarray(reports + skipped)

    def tally(self, cells: Counts, by: tuple[str, ...] = (), groups: tuple[GroupOfReports, ...] = ()) -> Tally:
        """Give the tally of counters of shape (width,), or (groups, width)."""
        end = self._columns + self._types
        missing = cells[..., -1] if self.optional else np.zeros(cells.shape[:-1], dtype=np.int64)
        return Tally(
            self.design,
            cells[..., : self._columns] if self._columns else None,
            n=None if self.design.exclusive or self._types else cells[..., end],
            histogram=cells[..., self._columns : end] if self._types else None,
            missing=missing if by else int(missing),
            by=by,
            groups=groups,
        )


@dataclass(frozen=True)
class OpenLayout:
    """The counters of a question whose reports are kept, for one joint group: their number, and that of those who skip.

    >>> OpenLayout(optional=True).width
    2
    """

    optional: bool

    @property
    def width(self) -> int:
        """The number of counters."""
        return 1 + self.optional

    def of_report(self, report: Counts | int) -> tuple[int, ...]:
        """Give the counter that a report adds one to; `SKIPPED` stands for none."""
        return (int(isinstance(report, int) and report == SKIPPED),)

    def responses(self, cells: Counts) -> Integers:
        """Give the number of people behind counters of shape (..., width): those who skipped the question, too."""
        return np.asarray(cells.sum(axis=-1))
