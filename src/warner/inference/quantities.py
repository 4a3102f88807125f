"""Means, quantiles, shares beyond a number and totals in one table, a row for each quantity and group.

Every row has the same columns, whatever the quantity, as tidy data has them: what it is, its value, its interval and
how that was found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.arrays import Counts, objects
from warner.results import Column, TableResult
from warner.text import counted, level_text
from warner.typesetting import amount_cells, labels

if TYPE_CHECKING:
    from collections.abc import Iterable

    from warner.reports.tallies import Collected

QUANTITY_NUMBERS = ("value", "se", "low", "high", "p_value")  # NaN where a quantity has none


class Rows(NamedTuple):
    """Labels of the rows of one quantity."""

    quantity: str
    of: list[str]  # what of it, in each row: the level of a quantile, an answer, a stretch of numbers
    names: list[str]  # both in words
    groups: dict[str, Counts]
    method: str


@dataclass(frozen=True, eq=False, repr=False)
class Quantities(TableResult):
    """Several quantities in one table: means, quantiles, shares beyond a number, totals, differences of means."""

    parts: tuple[Any, ...]  # each has `rows` and `estimates`
    notes: tuple[str, ...] = ()  # assumptions of all of them, in sentences

    _rows_key = "quantities"

    def _footnotes(self) -> tuple[str, ...]:
        return self.notes

    def _columns(self) -> list[Column]:
        parts, found = [part.rows() for part in self.parts], [part.estimates() for part in self.parts]
        confidences, doubts = [part.confidence for part in self.parts], [part.approximate for part in self.parts]

        def joined(values: Iterable[Any]) -> list[Any]:
            """Join the values of all parts; a single value is repeated for all rows of its part."""
            each = (
                values if isinstance(values, list) else [values] * len(part.of)
                for values, part in zip(values, parts, strict=True)
            )
            return [value for values in each for value in values]

        @cache
        def written() -> list[tuple[list[str], ...]]:
            return [one.texts(one.reasons(), sign=True) for one in found]

        def cells(index: int) -> list[str]:
            """Return values, standard errors, intervals or p-values; empty texts where a quantity has none."""
            return joined(texts[index] or "" for texts in written())

        def group_cells(name: str) -> list[str]:
            """Return the names of groups; they are empty for comparisons of groups."""
            return joined(labels(part.groups[name]) if part.groups else "" for part in parts)

        names = dict.fromkeys(name for part in parts for name in part.groups)
        groups = {name: joined(part.groups[name].tolist() if part.groups else None for part in parts) for name in names}
        numbers = [{name: column.tolist() for name, column in one.numbers().items()} for one in found]
        known = [name for name in QUANTITY_NUMBERS if any(name in each for each in numbers)]
        alike = len(set(map(str, confidences))) == 1
        heading = str(confidences[0]) if alike else f"{level_text(confidences[0].level)} interval"
        about = zip(parts, confidences, doubts, strict=True)
        how = [
            ", ".join(filter(None, (part.method, "" if alike else confidence.target, "approximate" * doubt)))
            for part, confidence, doubt in about
        ]
        headings = ["estimate", "se", heading, *(["p"] if "p_value" in known else [])]
        return [
            *(Column(name, objects(group), name, partial(group_cells, name)) for name, group in groups.items()),
            Column(
                "quantity", objects(joined(part.quantity for part in parts)), "quantity", joined(p.names for p in parts)
            ),
            Column("of", objects(joined(part.of for part in parts))),
            *(Column(name, np.array(joined(each.get(name, np.nan) for each in numbers))) for name in known),
            Column("level", np.array(joined(confidence.level for confidence in confidences))),
            Column("target", objects(joined(confidence.target for confidence in confidences))),
            Column("interval", objects(joined(part.method for part in parts))),
            Column("approximate", np.array(joined(doubts))),
            *(Column(heading=head, texts=partial(cells, index)) for index, head in enumerate(headings)),
            Column(heading="method of the interval", texts=joined(how)),
        ]

    def _title(self) -> str:
        return "Estimates"

    def leading(self, rows: int | None) -> list[Column]:
        """Return the columns that readers see above all others, with the reports of each of the first groups."""
        parts = self.parts if rows is None else tuple(part.first_groups(rows) for part in self.parts)
        shown = [column for column in replace(self, parts=parts)._columns() if column.heading]
        place = len(parts[0].by)
        amounts = {"reports": [part.n for part in parts]} if place else {}
        amounts |= {} if parts[0].people is None else {"respondents": [part.people for part in parts]}
        columns = {name: np.concatenate([*map(np.atleast_1d, each)]) for name, each in amounts.items()}
        counts = [Column(heading=name, texts=partial(amount_cells, column)) for name, column in columns.items()]
        return [*shown[: place + 1], *counts, *shown[place + 1 :]]

    def notes_on_answers(self, tally: Collected, rows: int | None) -> list[str]:
        """Return the sentences below `leading`: groups that are left out, remedies, and the place of the shares."""
        more = 0 if rows is None else max(len(tally.groups) - rows, 0)
        remedies = [note for part in self.parts if (note := getattr(part, "note", ""))]
        shares = f"the shares of the {tally.k:,} answers are in table() and plot() (--csv, --plot)"
        return [f"... and {counted(more, 'more group', 'more groups')}"] * bool(more) + [*remedies, shares]
