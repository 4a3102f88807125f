"""What a store must do, in six verbs: keep, publish, close, invite, tell and tidy.

A response is *kept* when its transaction is on disk: its counters are added to, its nonce is remembered, and its
invitation is spent, all of it or nothing. Counters have two numbers: what was *published*, in steps of at least
``batch`` responses, and what is *pending* until the next step. Only published numbers are ever shown.
"""

from __future__ import annotations

import enum
import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Integers
    from warner.reports.tallies import Tally
    from warner.service.bundles import Bundle
    from warner.service.survey import Survey


class Outcome(enum.Enum):
    """What became of a response."""

    KEPT = "kept"  # now, or before: a retry is thanked for again
    USED = "used"  # its invitation was spent on another response
    UNINVITED = "uninvited"  # there is no such invitation
    CLOSED = "closed"  # the survey is closed, or has all the responses that it wants


@dataclass(frozen=True)
class Collected:
    """What a store has published.

    Attributes
    ----------
    survey : Survey
        What was asked.
    state : {"open", "closed"}
        Whether responses are still taken.
    responses : int
        The number of people in all published steps.
    cells : tuple of ndarray of shape (strata, width)
        For each question its counters, a row for each joint group.
    days : dict of str to int
        Published responses of each day.
    invited, spent : int
        The number of invitations, and of those that were used in published steps at most; 0 in an open survey.
    """

    survey: Survey
    state: str
    responses: int
    cells: tuple[Integers, ...]
    days: dict[str, int]
    invited: int = 0

    def tally(self, question: str | None = None, *, by: Sequence[str] = ()) -> Tally:
        """Give the tally of a question, by some of the groups that were asked for."""
        asked = self.survey.question(question)
        layout = self.survey.layouts[self.survey.questions.index(asked)]
        cells = self.cells[self.survey.questions.index(asked)]
        names = [group.id for group in self.survey.groups]
        if strange := [name for name in by if name not in names]:
            raise ValueError(
                f"by must name groups of the survey ({', '.join(names) or 'it has none'}), not {strange[0]!r}"
            )
        table = cells.reshape(*(len(group.values) for group in self.survey.groups), layout.width)
        rest = tuple(axis for axis, name in enumerate(names) if name not in by)
        kept = [name for name in names if name in by]
        table = table.sum(axis=rest).transpose(*(kept.index(name) for name in by), len(by))
        values = {group.id: group.values for group in self.survey.groups}
        groups: list[tuple[str, ...]] = [()]
        for name in by:
            groups = [(*group, value) for group in groups for value in values[name]]
        return layout.tally(table.reshape(*((-1,) if by else ()), layout.width), tuple(by), tuple(groups) if by else ())


class Store(ABC):
    """The database of one survey, open for writing."""

    survey: Survey

    @classmethod
    @abstractmethod
    def opened(cls, place: str, survey: Survey) -> Self:
        """Open or make the database; refuse one of another survey, or one that another process holds."""

    @abstractmethod
    def keep(self, bundles: Sequence[Bundle], *, limit: int | None = None) -> list[Outcome]:
        """Keep responses in one transaction, durably; publish a step if ``batch`` responses wait then.

        `limit` is the most responses that the survey takes. An error means that none of them was kept.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the survey for good: no response is taken any more, and what was pending is published in one step."""

    @abstractmethod
    def invite(self, tokens: Sequence[bytes]) -> None:
        """Add invitations, of which only hashes are kept."""

    @abstractmethod
    def collected(self) -> Collected:
        """Tell what was published."""

    @abstractmethod
    def healthy(self) -> bool:
        """Tell whether a write transaction would work."""

    @abstractmethod
    def tidy(self) -> None:
        """Remove what is no longer needed and could tell an order: called about once a second by the writer."""

    @abstractmethod
    def release(self) -> None:
        """Give the database back: nothing can be kept after that."""


def hashed(label: str, secret: bytes) -> bytes:
    """Hash a nonce or a token, under a label: hashes under two labels cannot be compared."""
    return hashlib.blake2b(secret, digest_size=16, person=label.encode()).digest()


def added(survey: Survey, bundles: Sequence[Bundle]) -> list[Integers]:
    """Add up responses: for each question the amount for each of its counters."""
    sums = [np.zeros(survey.strata * layout.width, dtype=np.int64) for layout in survey.layouts]
    for bundle in bundles:
        for total, cells in zip(sums, bundle.cells, strict=True):
            total[list(cells)] += 1
    return sums
