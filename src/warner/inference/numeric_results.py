"""What results about numbers have in common: a value with its interval, or one for each group, in every form."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from warner.arrays import objects
from warner.inference.comparisons import shown_name
from warner.inference.intervals import IntervalResult
from warner.inference.quantities import Rows
from warner.results import plain
from warner.typesetting import Printed, amount_cells, labels
from warner.words import printable, sentence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warner.arrays import Array, Counts, PerGroup
    from warner.documents import Document
    from warner.inference.intervals import Confidence
    from warner.reports.pools import Collected
    from warner.reports.tallies import Group


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NumericResult(IntervalResult):
    """A value in the unit of the answers with its confidence interval; or one for each group.

    Attributes
    ----------
    value : float or ndarray of shape (groups,)
        The estimate; NaN for a group without reports.
    low, high : float or ndarray
        The confidence interval.
    confidence : Confidence
        The level, whose value is meant (``population`` or ``realised``), and whether the interval holds at all looks.
    methods : tuple of str
        How the interval was computed: clopper_pearson, exact, linear, korn_graubard or anytime; of a quantile, how the
        limits of the distribution function were.
    n : int or float, or ndarray of shape (groups,)
        The number of reports, or the sum of their weights.
    weighted : bool
        Whether people were not drawn alike and alone, but have weights, strata or clusters; then the effective number
        of reports stands for their number.
    by, groups : tuple
        The names of the columns that groups come from, and the groups; empty without groups.
    sample : str
        What the sample consists of, such as 32 schools in 4 regions; empty where people were drawn alone.
    """

    numbers: ClassVar[tuple[str, ...]] = ("value", "low", "high")  # the attributes that have one for each group
    colon: ClassVar[str] = ""  # between the name and the value

    value: PerGroup
    low: PerGroup
    high: PerGroup
    confidence: Confidence
    methods: tuple[str, ...]
    n: PerGroup
    weighted: bool
    by: tuple[str, ...]
    groups: tuple[Group, ...]
    sample: str = ""

    @classmethod
    def of_groups(
        cls, tally: Collected, rows: Mapping[str, Array], confidence: Confidence, methods: tuple[str, ...], **about: Any
    ) -> Self:
        """Give a result from its numbers in each group of a tally, by their names; NaN for groups without reports."""
        numbers: Any = {name: tally.squeezed(np.where(tally.answered, row, np.nan)) for name, row in rows.items()}
        return cls(
            **numbers,
            confidence=confidence,
            methods=methods,
            n=tally.n,
            weighted=not tally.simple,
            by=tally.by,
            groups=tally.groups if tally.by else (),
            sample="" if tally.sample is None else tally.sample.described(),
            **about,
        )

    @property
    def interval_name(self) -> str:
        """What the interval is called; of a complex sample it is design-based, as in the table of an estimate."""
        return f"design-based {self.confidence}" if self.sample else super().interval_name

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called."""

    @property
    @abstractmethod
    def part(self) -> tuple[str, str]:
        """What kind of quantity it is, and which of them, if there are several."""

    @abstractmethod
    def _key(self) -> Document:
        """Say in JSON which value it is."""

    @abstractmethod
    def _said(self, **numbers: float) -> str:
        """Say the value and the interval of one group."""

    @abstractmethod
    def _cells(self, table: dict[str, Counts], about: str) -> dict[str, list[str]]:
        """Give the columns of a table for a paper, with the interval under this title."""

    def table(self) -> dict[str, Counts]:
        """Give it as columns, a row for each group."""
        names = {name: objects(group[place] for group in self.groups) for place, name in enumerate(self.by)}
        return names | {name: np.atleast_1d(getattr(self, name)) for name in self.numbers}

    def rows(self) -> Rows:
        """Give it as rows of a table of quantities, one for each group."""
        table, (quantity, of) = self.table(), self.part
        cells = self._cells(table, "interval")
        groups = {name: table.pop(name) for name in self.by}
        each = len(table["value"])
        shown = cells[self.name], cells.get("se", [""] * each), cells["interval"]
        names, confidence = [self.name] * each, self.confidence
        return Rows(quantity, [of] * each, names, groups, table, shown, confidence, self.method, self.approximate)

    def printed(self, **options: Any) -> Printed:
        """Give a table for a paper, a row for each group."""
        table = self.table(**options)
        columns = {name: labels(table[name]) for name in self.by} | {"reports": amount_cells(np.atleast_1d(self.n))}
        columns |= self._cells(table, self.interval_name)
        return Printed(columns, f"Estimated {self.name}", (sentence(f"method of the interval: {self.method}"),))

    def to_dict(self) -> Document:
        """Give what JSON can hold; what is not known as None."""
        return {
            **self._key(),
            **({"groups": [list(group) for group in self.groups]} if self.groups else {}),
            **{name: plain(getattr(self, name)) for name in self.numbers},
            "level": self.confidence.level,
            "target": self.confidence.target,
            "anytime": self.confidence.anytime,
            "method": self.method,
            "approximate": self.approximate,
            **({"sample": self.sample} if self.sample else {}),
        }

    def said(self) -> list[str]:
        """Say the value and the interval of each group, without the kind of the interval."""
        rows = zip(*(np.atleast_1d(getattr(self, name)).tolist() for name in self.numbers), strict=True)
        return [self._said(**dict(zip(self.numbers, row, strict=True))) for row in rows]

    def text(self) -> str:
        """Say it in a line, or in one for each group."""
        about, said = f"{self.interval_name}, {self.method}", self.said()
        if not self.groups:
            return f"<{self.name}{self.colon} {said[0]}, {about}>"
        lines = [f"  {printable(shown_name(group))}: {line}" for group, line in zip(self.groups, said, strict=True)]
        return "\n".join([f"{self.name}, {about}", *lines])
