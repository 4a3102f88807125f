"""Who leads: the answers that are certainly among the commonest, from simultaneous intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.inference.intervals import Confidence, limits
from warner.results import Result
from warner.words import enumerated, level_text, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.arrays import Array, Counts, Label, Mask
    from warner.documents import Document
    from warner.reports.pools import Collected

NAMED = 20  # answers named in a text


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Result):
    """Who is certainly among the commonest answers, and who may be.

    Attributes
    ----------
    count : int
        How many of the commonest answers.
    certain, possible : ndarray of bool of shape (k,), or (groups, k)
        Certainly among them; not certainly outside.
    confidence : Confidence
        The level at which all of it holds at once, and whose shares are meant.
    tally : Tally or Pool
        The reports.
    """

    count: int
    certain: Mask
    possible: Mask
    confidence: Confidence
    tally: Collected

    def table(self) -> dict[str, Counts]:
        """Give a row for each answer (and group): whether it is certainly among the commonest, or may be."""
        return answer_columns(self.tally) | {"certain": self.certain.ravel(), "possible": self.possible.ravel()}

    def text(self) -> str:
        """Say it in two lines, or in two for each group."""
        tally, level = self.tally, f"{level_text(self.confidence.level)} confidence, {self.confidence.target}"
        what = "the commonest answer" if self.count == 1 else f"among the {self.count:,} commonest answers"
        lines = [f"Certainly {what} ({level}{about_groups(tally)}):"]
        for place, (group, certain, possible) in enumerate(group_rows(tally, self.certain, self.possible)):
            if certain is None or possible is None:
                lines.append(f"{group}no reports")
                continue
            sure = names_of(tally, place, certain)
            lines.append(f"{group}{sure or 'none can be named'}")
            undecided = possible & ~certain
            if undecided.any():
                places = f"and {self.count - certain.sum():,} more of" if certain.any() else f"{self.count:,} of"
                lines.append(f"  {places}: {names_of(tally, place, undecided)}")
        return "\n".join(lines)

    def to_dict(self) -> Document:
        """Give what JSON can hold: the names, for each group."""
        return {
            **listed_groups(self.tally),
            "count": self.count,
            "certain": listed_labels(self.tally, self.certain),
            "possible": listed_labels(self.tally, self.possible),
            "level": self.confidence.level,
            "target": self.confidence.target,
        }


def ranking(tally: Collected, count: int, confidence: Confidence) -> Ranking:
    """Tell who is certainly among the commonest answers, from simultaneous intervals."""
    if not isinstance(count, int | np.integer) or isinstance(count, bool) or not 1 <= count < tally.k:
        raise ValueError(
            f"count must be a whole number from 1 to {tally.k - 1:,}, below the number of answers, but got {count!r}"
        )
    at_once = Confidence(confidence.level, confidence.target, simultaneous=True)
    ends = limits(tally, at_once)
    certain, possible = np.zeros((2, len(ends.low), tally.k), dtype=bool)
    for group in np.flatnonzero(tally.answered):
        certain[group], possible[group] = certain_ranks(ends.low[group], ends.high[group], int(count))
    return Ranking(int(count), tally.squeezed(certain), tally.squeezed(possible), at_once, tally)


def certain_ranks(low: Array, high: Array, count: int) -> tuple[Mask, Mask]:
    """Tell who is certainly among the largest shares, and who possibly is, from simultaneous intervals.

    Certainly in: fewer than `count` others may be as large. Certainly out: at least `count` others are larger.
    """
    as_large = low.size - np.searchsorted(np.sort(high), low, side="left") - 1
    larger = low.size - np.searchsorted(np.sort(low), high, side="right")
    return as_large < count, larger < count


# What is said of some answers, in each group


def answer_columns(tally: Collected) -> dict[str, Counts]:
    """Give the names of the groups and answers as columns, a row for each answer (and group)."""
    groups = len(tally.answered)
    values = np.empty(tally.k, dtype=object)
    values[:] = list(tally.domain)
    columns: dict[str, Counts] = {}
    for place, name in enumerate(tally.by):
        names = np.empty(groups, dtype=object)
        names[:] = [key[place] for key in tally.groups]
        columns[name] = np.repeat(names, tally.k)
    return columns | {"value": np.tile(values, groups)}


def group_rows(tally: Collected, *masks: Mask) -> Iterator[tuple[Any, ...]]:
    """Go through the groups: the words for one, and its masks; None for each where it has no reports."""
    names = [f"{printable(name)}: " for name in tally.group_names()] if tally.by else ["  "]
    rows = zip(*(np.atleast_2d(mask) for mask in masks), strict=True)
    for name, some, row in zip(names, tally.answered, rows, strict=True):
        yield name, *(row if some else (None,) * len(masks))


def names_of(tally: Collected, group: int, mask: Mask) -> str:
    """Name some answers of a group, the largest unbiased shares first; of a pool in the order of the domain."""
    chosen = np.flatnonzero(mask)
    if len(tally.parts) == 1:
        counts, n = tally.parts[0].scaled()
        shares = tally.parts[0].design.readout(counts[[group]], n[[group]]).share()[0]
        chosen = chosen[np.argsort(-shares[chosen], kind="stable")]
    return enumerated([printable(str(tally.domain[i])) for i in chosen], NAMED)


def listed_labels(tally: Collected, mask: Mask) -> list[Label] | list[list[Label]]:
    """Give the labels of some answers, a list for each group where there are groups."""
    labels = [[tally.domain[i] for i in np.flatnonzero(row)] for row in np.atleast_2d(mask)]
    return labels if tally.by else labels[0]


def listed_groups(tally: Collected) -> Document:
    """Name the groups in the order of everything else, where there are any."""
    return {"groups": [list(group) for group in tally.groups]} if tally.by else {}


def about_groups(tally: Collected) -> str:
    """Say that a statement holds in each group, and that weights make it approximate."""
    grouped = ", in each group" if tally.by else ""
    return grouped + ("; approximate, because of weights" if tally.weighted else "")
