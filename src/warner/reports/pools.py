"""Reports collected under several designs: epsilon changed over the years, two devices, a pilot and a study.

They are several tallies, not a strange design: a `Pool` has ``parts``, and a `Tally` has one, itself. Both answer the
same questions, so that whoever works with either need not ask which it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from warner.documents import Document, checked, document, loaded, parsed, save_text
from warner.reports.tallies import VERSION, Tally, group_order
from warner.words import reports_counted

if TYPE_CHECKING:
    import os

    from warner.arrays import Counts, Mask, PerGroup
    from warner.designs.contract import Design
    from warner.designs.labels import Labels
    from warner.reports.tallies import Group

POOL_FORMAT = "warner pool"


@dataclass(frozen=True, repr=False)
class Pool:
    """Reports collected under several designs about the same answers: each person under one of them.

    Made by `pool`. `warner.estimate` gives the shares that make all reports together the most likely, with intervals
    from the efficient combination of the collections. It assumes that all collections come from the same population,
    which `warner.check` tests.

    Attributes
    ----------
    parts : tuple of Tally
        The collections, with the same answers and the same groups.
    """

    parts: tuple[Tally, ...]

    @property
    def domain(self) -> Labels:
        """The possible answers, the same in all parts."""
        return self.parts[0].domain

    @property
    def k(self) -> int:
        """The number of possible answers, K."""
        return self.parts[0].k

    @property
    def by(self) -> tuple[str, ...]:
        """Names of what the reports are grouped by."""
        return self.parts[0].by

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups, the same in all parts."""
        return self.parts[0].groups

    @property
    def n(self) -> PerGroup:
        """The number of reports of all parts, for each group."""
        return sum(part.n for part in self.parts)

    @property
    def missing(self) -> PerGroup:
        """Number of rows of all parts that were left out because the value was missing."""
        return sum(part.missing for part in self.parts)

    @property
    def unknown(self) -> PerGroup:
        """Number of rows of all parts that were left out because the value was not in the domain."""
        return sum(part.unknown for part in self.parts)

    @property
    def weighted(self) -> bool:
        """Whether the counts of any part are sums of weights."""
        return any(part.weighted for part in self.parts)

    @property
    def simple(self) -> bool:
        """Whether people were drawn alike and alone: without weights; strata and clusters are not pooled."""
        return not self.weighted

    @property
    def sample(self) -> None:
        """Pools have no complex samples."""
        return

    @property
    def effective(self) -> PerGroup:
        """The number of equally weighted reports that would say as much, for each group."""
        return sum(part.effective for part in self.parts)

    @property
    def answered(self) -> Mask:
        """Which groups have reports, of shape (groups,)."""
        return np.atleast_1d(self.n) > 0

    @property
    def counts_answers(self) -> bool:
        """Counts of several designs have nothing in common that could be shown beside the answers."""
        return False

    @property
    def backend(self) -> str | None:
        """The data-frame library that the first reports came from."""
        return self.parts[0].backend

    def squeezed(self, values: Counts) -> PerGroup:
        """Take off the axis of the groups where there are none."""
        return self.parts[0].squeezed(values)

    def group_names(self) -> list[str]:
        """Name each group; one empty name without groups."""
        return self.parts[0].group_names()

    def shown_epsilon(self) -> str:
        """Write the privacy that one report spends at most, in the part that spends most, rounded up."""
        return max(self.parts, key=lambda part: part.design.epsilon).shown_epsilon()

    def to_dict(self) -> Document:
        """Give the pool as what JSON can hold: its tallies."""
        return {"format": POOL_FORMAT, "version": VERSION, "parts": [part.to_dict() for part in self.parts]}

    def to_json(self) -> str:
        """Write the pool as JSON."""
        return document(self.to_dict())

    @classmethod
    def from_dict(cls, fields: Document) -> Pool:
        """Read what `to_dict` gave; anything else is an error that says what is wrong with it."""
        checked(fields, POOL_FORMAT, VERSION, {"parts"})
        parts = fields["parts"]
        read = [Tally.from_dict(part) for part in parts] if isinstance(parts, list) else []
        pooled = pool(read) if read else None
        if not isinstance(pooled, Pool) or len(pooled.parts) < len(read):
            raise ValueError("this pool is damaged: parts must be several tallies of different designs")
        return pooled

    @classmethod
    def from_json(cls, text: str) -> Pool:
        """Read what `to_json` wrote; anything else is an error that says what is wrong with it."""
        return cls.from_dict(parsed(text, POOL_FORMAT))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the pool to a file, whole or not at all."""
        save_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Pool:
        """Read a pool that `save` wrote."""
        return loaded(path, cls.from_json)

    def __repr__(self) -> str:
        reports = reports_counted(self.n, weighted=self.weighted)
        parts = "\n  ".join(map(repr, self.parts))
        return f"<Pool of {reports} of {len(self.parts)} designs among {self.k:,} answers:\n  {parts}>"


Collected: TypeAlias = Tally | Pool


def holds_every_answer(tally: Collected) -> bool:
    """Tell whether everybody's answer is in the domain, so that shares sum to one."""
    return all(part.design.complete for part in tally.parts)


def refuse_uncounted(given: object, usage: str) -> None:
    """Refuse what are no counted reports."""
    if not isinstance(given, Tally | Pool):
        from warner.reports.open_tallies import OpenTally  # which loads all of open domains

        if isinstance(given, OpenTally):
            raise TypeError(
                "tally must be of a design with a list of answers, but got reports of an open domain; warner.discover "
                "finds their frequent values, and tally.closed([...]) looks up a list"
            )
        raise TypeError(f"tally must be a Tally or a Pool, but got {type(given).__name__}: {usage}")


def pool(tallies: Iterable[Tally]) -> Tally | Pool:
    """Put tallies together that have the same answers, but went through different designs.

    `warner.estimate` gives the shares that make all reports together the most likely, with a certificate, and intervals
    from the efficient combination of the collections. It assumes that all collections come from the same population,
    which `warner.check` tests. Tallies of one design are added up; if there is only one design, the result is a
    `Tally`.

    Parameters
    ----------
    tallies : iterable of Tally
        At least one; with the same groups, if there are groups (a group that is missing in one has no reports there),
        and all with weights or all without. Weights count as they are, so that those of all tallies must be on one
        scale, such as people of the population per report.

    Examples
    --------
    With epsilon ln 3, 40 of 100 say yes; with ln 9, 34 of 100. Each alone would give 0.30.

    >>> from warner import RandomizedResponse, estimate
    >>> first = Tally(RandomizedResponse(["yes", "no"], odds=(3, 1)), [40, 60])
    >>> second = Tally(RandomizedResponse(["yes", "no"], odds=(9, 1)), [34, 66])
    >>> estimate(pool([first, second])).shares.round(3)
    array([0.3, 0.7])
    """
    given = list(tallies) if isinstance(tallies, Iterable) else []
    strange = [type(part).__name__ for part in given if not isinstance(part, Tally)]
    if not given or strange:
        got = strange[0] if strange else type(tallies).__name__ if not isinstance(tallies, Iterable) else "none"
        remedy = "; reports of one open domain add up, tally + tally" if got == "OpenTally" else ""
        raise TypeError(f"tallies must be a list of at least one Tally, but got {got}{remedy}")
    for part in given:
        if part.domain != given[0].domain:
            mine, other = (f"{len(labels)} answers from {labels[0]!r}" for labels in (given[0].domain, part.domain))
            raise ValueError(
                f"tallies must be about the same answers, in the same order, to be pooled, but got {mine} and {other}"
            )
        if part.by != given[0].by:
            raise ValueError(f"tallies must have the same groups to be pooled, but got {given[0].by} and {part.by}")
        if part.weighted != given[0].weighted:
            raise ValueError("tallies must be all with weights or all without to be pooled")
        if part.design != given[0].design and (part.sample or given[0].sample) is not None:
            raise ValueError(
                "tallies with strata, clusters or replicate weights must be of one design to be put together"
            )
    groups = tuple(sorted({group for part in given for group in part.groups}, key=group_order))
    merged: dict[Design, Tally] = {}
    for part in given:
        aligned = part.with_groups(groups)
        merged[part.design] = merged[part.design] + aligned if part.design in merged else aligned
    parts = tuple(merged.values())
    return parts[0] if len(parts) == 1 else Pool(parts)
