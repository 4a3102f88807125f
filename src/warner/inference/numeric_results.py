"""What results about numbers have in common: a value with its interval, or one for each group, in every form."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from warner.arrays import objects
from warner.inference.comparisons import shown_name
from warner.inference.intervals import EXACT, Confidence
from warner.results import Result, plain
from warner.typesetting import Printed, amount_cells, labels
from warner.words import printable, sentence

if TYPE_CHECKING:
    from warner.arrays import Counts, PerGroup
    from warner.documents import Document
    from warner.reports.tallies import Group


class NumericResult(Result):
    """A value in the unit of the answers with its confidence interval; or one for each group."""

    numbers: ClassVar[tuple[str, ...]] = ("value", "low", "high")  # the attributes that have one for each group
    confidence: Confidence
    methods: tuple[str, ...]
    n: PerGroup
    weighted: bool
    by: tuple[str, ...]
    groups: tuple[Group, ...]

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called."""

    @abstractmethod
    def _key(self) -> Document:
        """Say in JSON which value it is."""

    @abstractmethod
    def _said(self, **numbers: float) -> str:
        """Say the value and the interval of one group."""

    @abstractmethod
    def _cells(self, table: dict[str, Counts], about: str) -> dict[str, list[str]]:
        """Give the columns of a table for a paper, with the interval under this title."""

    @property
    def method(self) -> str:
        """How the interval was computed, in words."""
        return " or ".join(self.methods)

    @property
    def approximate(self) -> bool:
        """Whether the level holds only about, because of the method or of weights."""
        return self.weighted or not EXACT.issuperset(self.methods)

    def table(self) -> dict[str, Counts]:
        """Give it as columns, a row for each group."""
        names = {name: objects(group[place] for group in self.groups) for place, name in enumerate(self.by)}
        return names | {name: np.atleast_1d(getattr(self, name)) for name in self.numbers}

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
        }

    def said(self) -> list[str]:
        """Say the value and the interval of each group, without the kind of the interval."""
        rows = zip(*(np.atleast_1d(getattr(self, name)).tolist() for name in self.numbers), strict=True)
        return [self._said(**dict(zip(self.numbers, row, strict=True))) for row in rows]

    def text(self) -> str:
        """Say it in a line, or in one for each group."""
        about, said = f"{self.interval_name}, {self.method}", self.said()
        if not self.groups:
            return f"<{self.name} {said[0]}, {about}>"
        lines = [f"  {printable(shown_name(group))}: {line}" for group, line in zip(self.groups, said, strict=True)]
        return "\n".join([f"{self.name}, {about}", *lines])

    @property
    def interval_name(self) -> str:
        """What the interval is called: its level, whose value is meant, and whether it is approximate."""
        return f"{'approximate ' if self.approximate else ''}{self.confidence}"
