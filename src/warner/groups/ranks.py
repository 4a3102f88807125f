"""Expected ranks of groups: where each may stand, by draws from the laws of their pooled shares.

Ranks of separate estimates are led by the smallest groups, whose noise is the largest. Expected ranks are not: a group
of which little is known is expected in the middle, with a wide range.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.arrays import objects
from warner.inference.ranking import reports_in_papers
from warner.results import Result, rows
from warner.typesetting import Printed, labels
from warner.words import group_name, level_text, printable, quoted, tabulated

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Label
    from warner.documents import Document
    from warner.reports.pools import Collected

DRAWS, FEW_DRAWS = 2_000, 200  # for up to MANY_GROUPS, and for more
MANY_GROUPS = 10_000
RANKS_SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class GroupRanks(Result):
    """Expected ranks of groups by the share of one answer, 1 for the largest.

    Attributes
    ----------
    tally : Tally or Pool
        The reports.
    answer : label
        The answer whose shares are ranked.
    expected, low, high : ndarray of shape (groups,)
        The expected rank, and its range at the level.
    among_first : ndarray of shape (groups,)
        The probability of being among the first `count`.
    count : int
        How many are first.
    level : float
        Of the ranges.
    """

    tally: Collected
    answer: Label
    expected: Array
    low: Array
    high: Array
    among_first: Array
    count: int
    level: float

    def table(self) -> dict[str, Counts]:
        """Give a row for each group: its expected rank, the range, and the probability of being among the first."""
        names = {name: objects(key[place] for key in self.tally.groups) for place, name in enumerate(self.tally.by)}
        return names | {"rank": self.expected, "low": self.low, "high": self.high, "first": self.among_first}

    def to_dict(self) -> Document:
        """Give the ranks as what JSON can hold."""
        return {"answer": self.answer, "count": self.count, "level": self.level, "ranks": rows(self.table())}

    def printed(self, **_: Any) -> Printed:
        """Give a table for a paper: all groups, in their order."""
        table, first = self.table(), "first" if self.count == 1 else f"among the first {self.count:,}"
        columns = {name: labels(table[name]) for name in self.tally.by}
        columns |= {
            "expected rank": [f"{rank:.1f}" for rank in self.expected],
            f"{level_text(self.level)} range": [
                f"{low:.0f} to {high:.0f}" for low, high in zip(self.low, self.high, strict=True)
            ],
            f"{first} (%)": [f"{100 * part:.0f}" for part in self.among_first],
        }
        title = f"Expected ranks of groups by the share of {quoted(self.answer)}"
        return Printed(columns, title, (f"{reports_in_papers(self.tally)}.",))

    def text(self) -> str:
        """Write a table for people, the first ranks first."""
        order = np.argsort(self.expected, kind="stable")[:RANKS_SHOWN]
        first = "first" if self.count == 1 else f"among the first {self.count:,}"
        columns = {
            printable(", ".join(self.tally.by)): [printable(group_name(self.tally.groups[i])) for i in order],
            "expected rank": [f"{self.expected[i]:.1f}" for i in order],
            f"{level_text(self.level)} range": [f"{self.low[i]:.0f} to {self.high[i]:.0f}" for i in order],
            first: [f"{100 * self.among_first[i]:.0f} %" for i in order],
        }
        rest = len(self.tally.groups) - order.size
        more = [f"... and {rest:,} more groups"] * (rest > 0)
        return "\n".join([f"Ranks of groups by the share of {quoted(self.answer)}", *tabulated(columns), *more])


def expected_ranks(
    share: Array, error: Array, count: int, level: float, seed: int
) -> tuple[Array, Array, Array, Array]:
    """Give expected ranks, the ends of their ranges, and the probability of being among the first `count`."""
    rng = np.random.default_rng(seed)
    draws = DRAWS if share.size <= MANY_GROUPS else FEW_DRAWS
    places = np.empty((draws, share.size), dtype=np.int32)
    for draw in range(draws):
        order = np.argsort(-(share + error * rng.standard_normal(share.size)), kind="stable")
        places[draw, order] = np.arange(1, share.size + 1)
    low, high = np.quantile(places, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return places.mean(axis=0), np.floor(low), np.ceil(high), (places <= count).mean(axis=0)
