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


class KeptBlock(NamedTuple):
    """Some reports, in codes, how often each was made or how much it weighs (once if None), and the group of each."""

    reports: Counts
    amounts: Counts | None = None
    group: Integers | None = None

    def where(self, chosen: Counts) -> KeptBlock:
        """Give some of them."""
        return KeptBlock(*(None if values is None else values[chosen] for values in self))  # type: ignore[arg-type]


Source: TypeAlias = Callable[[], Iterator[KeptBlock]]


@dataclass(frozen=True)
class Kept:
    """Reports from one source or several, each of which gives its blocks anew whenever it is called.

    `places` holds for each source the number that its groups have among all groups; None where they are the same.
    What is `streamed` is not in memory, and must be read again at every pass.
    """

    sources: tuple[Source, ...]
    places: tuple[tuple[int, ...] | None, ...]
    streamed: bool = True

    @classmethod
    def held(cls, block: KeptBlock) -> Kept:
        """Keep reports in memory."""
        return cls((lambda: iter((block,)),), (None,), streamed=False)

    def blocks(self, group: int | None = None) -> Iterator[KeptBlock]:
        """Go through the reports of one group, or through all of them."""
        for source, places in zip(self.sources, self.places, strict=True):
            for block in source():
                if group is None or block.group is None:
                    yield block
                    continue
                numbers = block.group if places is None else np.array(places)[block.group]
                if (chosen := numbers == group).any():
                    yield block.where(chosen)

    def renumbered(self, places: list[int]) -> Kept:
        """Give the same reports with their groups at other places."""
        renumbered = tuple(
            tuple(places) if before is None else tuple(places[place] for place in before) for before in self.places
        )
        return Kept(self.sources, renumbered, self.streamed)

    def __add__(self, other: Kept) -> Kept:
        return Kept(self.sources + other.sources, self.places + other.places, self.streamed or other.streamed)
