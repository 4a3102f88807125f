"""The reports themselves, kept to be gone through again: what the likelihood of sets of answers needs.

They are in memory, or stay in the file that they are in, and are read block by block at every pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from warner.arrays import Counts, Integers

REPORTS_IN_BLOCK = 2**15  # reports in a block: whoever goes through it needs some memory for each of them


class ReportBlock(NamedTuple):
    """Some reports, in codes, how often each was made or how much it weighs (once if None), and the group of each."""

    reports: Counts
    amounts: Counts | None = None
    group: Integers | None = None

    def where(self, chosen: Counts | slice) -> ReportBlock:
        """Give some of them."""
        return ReportBlock(*(None if values is None else values[chosen] for values in self))  # type: ignore[arg-type]

    def pieces(self) -> Iterator[ReportBlock]:
        """Give all of them, in blocks of bounded size."""
        return (
            self.where(slice(start, start + REPORTS_IN_BLOCK))
            for start in range(0, len(self.reports), REPORTS_IN_BLOCK)
        )


Source: TypeAlias = Callable[[], Iterator[ReportBlock]]


@dataclass(frozen=True, eq=False)
class InMemory:
    """Reports in memory."""

    blocks: tuple[ReportBlock, ...]

    def __call__(self) -> Iterator[ReportBlock]:
        """Go through the reports once."""
        return iter(self.blocks)


@dataclass(frozen=True)
class StoredReports:
    """Reports from one source or several, each of which gives its blocks anew whenever it is called.

    `places` holds for each source the number that its groups have among all groups; None where they are the same.
    What is `streamed` is not in memory, and must be read again at every pass.
    """

    sources: tuple[Source, ...]
    places: tuple[tuple[int, ...] | None, ...]
    streamed: bool = True

    @classmethod
    def in_memory(cls, *blocks: ReportBlock) -> StoredReports:
        """Keep reports in memory, in pieces of bounded size, those of each group together."""
        filled = [block for block in blocks if len(block.reports)]
        if filled and (filled[0].group is not None or _short(filled[0])):
            filled = [_collapsed(part) for part in _by_group(_joined(filled))]
        return cls((InMemory(tuple(piece for block in filled for piece in block.pieces())),), (None,), streamed=False)

    def blocks(self, group: int | None = None) -> Iterator[ReportBlock]:
        """Go through the reports of one group, or through all of them."""
        for source, places in zip(self.sources, self.places, strict=True):
            for block in source():
                if group is None or block.group is None:
                    yield block
                    continue
                numbers = block.group if places is None else np.array(places)[block.group]
                chosen = numbers == group
                if chosen.all():
                    yield block
                elif chosen.any():
                    yield block.where(chosen)

    def renumbered(self, places: list[int]) -> StoredReports:
        """Give the same reports with their groups at other places."""
        renumbered = tuple(
            tuple(places) if before is None else tuple(places[place] for place in before) for before in self.places
        )
        return StoredReports(self.sources, renumbered, self.streamed)

    def __add__(self, other: StoredReports) -> StoredReports:
        return StoredReports(self.sources + other.sources, self.places + other.places, self.streamed or other.streamed)


def _joined(blocks: list[ReportBlock]) -> ReportBlock:
    fields = zip(*blocks, strict=True)
    return ReportBlock(*(None if values[0] is None else np.concatenate(values) for values in fields))  # type: ignore[arg-type]


def _by_group(block: ReportBlock) -> list[ReportBlock]:
    if block.group is None:
        return [block]
    order = np.argsort(block.group, kind="stable")
    _, first = np.unique(block.group[order], return_index=True)
    return [block.where(part) for part in np.split(order, first[1:])]


def _short(block: ReportBlock) -> bool:
    """Tell whether reports are sets that fit into one number of 64 bits."""
    return block.reports.dtype == np.uint8 and block.reports.shape[1] <= 8


def _collapsed(block: ReportBlock) -> ReportBlock:
    """Keep equal reports of one group once, where there are so many that it pays."""
    if not _short(block):
        return block
    n, width = block.reports.shape
    numbers = np.zeros((n, 8), dtype=np.uint8)
    numbers[:, :width] = block.reports
    _, first, place = np.unique(numbers.view(np.uint64)[:, 0], return_index=True, return_inverse=True)
    if 2 * len(first) > n:
        return block
    amounts = np.ones(n, dtype=np.int64) if block.amounts is None else block.amounts
    total = np.zeros(len(first), dtype=amounts.dtype)
    np.add.at(total, place, amounts)
    return block.where(first)._replace(amounts=total)
