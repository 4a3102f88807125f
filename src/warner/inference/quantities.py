"""Means, quantiles, shares beyond a number and totals in one table, a row for each quantity and group.

Every row has the same columns, whatever the quantity, as tidy data has them: what it is, its value, its interval and
how that was found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.arrays import objects
from warner.results import Result, rows
from warner.typesetting import Printed, labels, p_value_cells
from warner.words import level_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Counts
    from warner.documents import Document
    from warner.inference.intervals import Confidence

QUANTITY_NUMBERS = ("value", "se", "low", "high", "p_value")  # NaN where a quantity has none


class Rows(NamedTuple):
    """The rows of one quantity: which they are, their numbers, and these as a paper has them."""

    quantity: str
    of: Sequence[str]  # what of it, in each row: the level of a quantile, an answer, a stretch of numbers
    names: Sequence[str]  # both in words
    groups: dict[str, Counts]
    numbers: dict[str, Counts]
    cells: tuple[list[str], list[str], list[str]]  # value, standard error and interval
    confidence: Confidence
    method: str
    approximate: bool


@dataclass(frozen=True, eq=False, repr=False)
class Quantities(Result):
    """Several quantities in one table.

    Attributes
    ----------
    parts : tuple of results
        Means, quantiles, shares beyond a number, totals, differences of means.
    notes : tuple of str
        What all of them rest on, in sentences, for a paper.
    """

    parts: tuple[Any, ...]  # each has `rows`
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """Say each in plain words."""
        return "\n\n".join(part.text() for part in self.parts)

    def table(self) -> dict[str, Counts]:
        """Give a row for each quantity and group: its names, value, standard error, interval and how it was found."""
        parts = [part.rows() for part in self.parts]
        known = [name for name in QUANTITY_NUMBERS if any(name in part.numbers for part in parts)]
        texts = {
            "quantity": [part.quantity for part in parts for _ in part.of],
            "of": [text for part in parts for text in part.of],
        }
        methods = [part.method for part in parts for _ in part.of]
        targets = [part.confidence.target for part in parts for _ in part.of]
        return {
            **_group_columns(parts),
            **{name: objects(column) for name, column in texts.items()},
            **{name: np.concatenate([_numbers(part, name) for part in parts]) for name in known},
            "level": np.array([part.confidence.level for part in parts for _ in part.of]),
            "target": objects(targets),
            "interval": objects(methods),
            "approximate": np.array([part.approximate for part in parts for _ in part.of]),
        }

    def to_dict(self) -> Document:
        """Give the rows as what JSON can hold."""
        return {"quantities": rows(self.table())}

    def printed(self, **options: Any) -> Printed:
        """Give a table for a paper: each value with the digits that mean something."""
        table, parts = self.table(**options), [part.rows() for part in self.parts]
        about = {str(part.confidence) for part in parts}
        alike = len(about) == 1
        heading = about.pop() if alike else f"{level_text(parts[0].confidence.level)} interval"
        value, error, ends = ([cell for part in parts for cell in part.cells[place]] for place in range(3))
        how = [
            ", ".join(filter(None, (part.method, "" if alike else part.confidence.target, _doubt(part))))
            for part in parts
            for _ in part.of
        ]
        columns = {
            name: [
                text for part in parts for text in (labels(part.groups[name]) if part.groups else [""] * len(part.of))
            ]
            for name in _group_names(parts)
        }
        columns |= {"quantity": [name for part in parts for name in part.names], "estimate": value, "se": error}
        columns |= {heading: ends} | ({"p": p_value_cells(table["p_value"])} if "p_value" in table else {})
        return Printed(columns | {"method of the interval": how}, "Estimates", self.notes)


def _doubt(part: Rows) -> str:
    return "approximate" if part.approximate else ""


def _numbers(part: Rows, name: str) -> Counts:
    return part.numbers.get(name, np.full(len(part.of), np.nan))


def _group_names(parts: list[Rows]) -> list[str]:
    return list(dict.fromkeys(name for part in parts for name in part.groups))


def _group_columns(parts: list[Rows]) -> dict[str, Counts]:
    """Give the columns of groups; of what compares groups they are empty."""
    return {
        name: objects(
            label for part in parts for label in (part.groups[name].tolist() if part.groups else [None] * len(part.of))
        )
        for name in _group_names(parts)
    }
