"""Interface of a store, its published state, and new SQLite files.

A response is *kept* by one transaction: its counters are incremented, its nonce is stored, and its invitation is spent.
Each counter has a *published* part, in steps of at least ``batch`` responses, and a *pending* part. Only published
counts are ever shown.

A nonce is the same in every retry, so a response is counted once. A store keeps its hash as a receipt: in a survey by
invitation in place of the unused invitation, in an open survey in a separate table. The two hashes cannot be compared.
Hashes of the reports sent with a receipt are kept in memory only, so that a database does not show who sent what.
"""

from __future__ import annotations

import contextlib
import enum
import hashlib
import json
import os
import secrets
import sqlite3
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from warner.reports.counting import by_option
from warner.reports.counts import OPTION
from warner.reports.open_tallies import OpenTally
from warner.reports.tallies import Tally
from warner.service.survey import Layout, survey_from_json
from warner.text import counted as in_words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from warner.arrays import Integers
    from warner.designs import Design
    from warner.reports.tallies import Group
    from warner.service.responses import Bundle, KeptReport
    from warner.service.survey import Question, Survey


Kept: TypeAlias = dict[int, list[tuple[int, str, int]]]  # by question: joint group, report, and frequency

UNSPENT_RECEIPT = bytes(16)  # of an unused invitation
REVOKED_RECEIPT = b"\xff" * 16  # of a revoked invitation
BODIES_REMEMBERED = 65_536  # responses with which retries are compared
NONCES_KEPT = timedelta(days=2)  # of a closed survey: at least one full day


class Outcome(enum.Enum):
    KEPT = "kept"  # now, or before in case of a retry
    USED = "used"  # its invitation was spent on another response
    REFUSED = "refused"  # in an open survey: another response had the same nonce
    REVOKED = "revoked"  # its invitation was revoked before it was used
    UNINVITED = "uninvited"  # there is no such invitation
    EARLY = "early"  # the survey is not open yet
    CLOSED = "closed"  # the survey is closed or complete


class Door(NamedTuple):
    """Number of further responses that are accepted, and the outcome of the others."""

    room: float
    refusal: Outcome


def door(survey: Survey, state: str, responses: int, limit: int | None = None) -> Door:
    """Return how many responses are accepted now, given the number of pending and published responses."""
    moment = now()
    if survey.early(moment) and state == "open":
        return Door(0, Outcome.EARLY)
    if state != "open" or survey.over(moment):
        return Door(0, Outcome.CLOSED)
    most = min((number for number in (limit, survey.stop) if number is not None), default=np.inf)
    return Door(max(most - responses, 0), Outcome.CLOSED)


def complete(survey: Survey, responses: int) -> bool:
    return survey.stop is not None and responses >= survey.stop


def step_due(survey: Survey, waiting: int, responses: int) -> bool:
    """Return True if pending responses are published: at least ``batch``, if as many can still follow.

    So the last step of a survey that closes automatically has ``batch`` responses, too. `responses` counts pending and
    published responses.
    """
    left = np.inf if survey.stop is None else survey.stop - responses
    return waiting >= survey.batch and left >= survey.batch


@dataclass(frozen=True)
class Collected:
    """Published state of a store."""

    survey: Survey
    state: str  # "open" or "closed"
    responses: int
    cells: tuple[Integers, ...]  # counters of each question, (strata, width)
    days: dict[str, int]  # responses of each day, in UTC
    invited: int = 0  # valid invitations, used or not; 0 in an open survey
    revoked: int = 0  # invitations
    reports: Kept = field(default_factory=dict, repr=False)  # to the free-text questions of a closed survey

    @property
    def fixed(self) -> bool:
        """True if the survey reached the number of responses fixed in its file, so that intervals for one look hold."""
        return self.state == "closed" and self.responses == self.survey.stop

    def tally(self, question: str | None = None, *, by: Sequence[str] = ()) -> Tally:
        """Return the tally of a question by some of the group columns.

        A question with several answers has a tally of yes and no by ``option``: each option is estimated by itself.
        """
        found = self.survey.question(question)
        several = found.several
        if several is None:
            return self._layout(found.listed, found).tally(*self._by_groups(found, by))
        if several.device is not None:
            return by_option(self._layout(several.device, found).tally(*self._by_groups(found, by)), several.designs)
        counted = [self._by_groups(found, by, option) for option in several.questions]
        cells, groups = np.concatenate([np.atleast_2d(part) for part, *_ in counted]), counted[0][2] or ((),)
        of_options = tuple((option, *group) for option in several.questions for group in groups)
        return Tally(several.parts[0], cells[:, :-1], missing=cells[:, -1], by=(OPTION, *by), groups=of_options)

    def _layout(self, design: Design, question: Question) -> Layout:
        (index, *_) = self._indices(question)
        return Layout(design, self.survey.layouts[index].optional)

    def _indices(self, question: Question) -> list[int]:
        return [index for index, item in enumerate(self.survey.items) if item.question is question]

    def open_tally(self, question: str | None = None, *, by: Sequence[str] = ()) -> OpenTally:
        """Return the reports of a free-text question after the survey is closed.

        The search for frequent answers is valid for one look, so it waits for the closing. Invalid reports in a damaged
        database are counted and left out.
        """
        found = self.survey.question(question)
        design = found.open
        if design is None:
            raise ValueError(f"question {found.id!r} has a list of answers; estimate their shares")
        if self.state != "closed":
            raise ValueError(
                f"the reports to question {found.id!r} are searched in one look, when the survey is closed: close it "
                "first, with warner survey close or on its dashboard"
            )
        cells, names, groups = self._by_groups(found, by)
        kept = self.reports.get(self._indices(found)[0], ())
        number = np.array([row[2] for row in kept], dtype=np.int64)
        read = design.report_form.read([row[1] for row in kept])
        sizes = [len(group.values) for group in self.survey.groups]
        joint = np.unravel_index(np.array([row[0] for row in kept], dtype=np.int64), sizes or (1,))
        group = np.zeros(len(kept), dtype=np.int64)
        for name in names:
            axis = [group.id for group in self.survey.groups].index(name)
            group = group * sizes[axis] + joint[axis]
        good = np.repeat(np.flatnonzero(read.status == 0), number[read.status == 0])
        strange = {row[1]: row[2] for row, status in zip(kept, read.status.tolist(), strict=True) if status}
        wrong = np.bincount(group[read.status != 0], number[read.status != 0], max(1, len(groups))).astype(np.int64)
        blank = self.survey.layouts[self._indices(found)[0]].optional
        missing = cells[..., -1] if blank else np.zeros(cells.shape[:-1], dtype=np.int64)
        left: Any = {"missing": missing if names else int(missing), "unknown": wrong if names else int(wrong[0])}
        grouping: Any = {"by": names, "groups": groups, "dropped": strange}
        return OpenTally.of_rows(design, read.reports[good], group[good], **left, **grouping)

    def _by_groups(
        self, question: Question, by: Sequence[str], option: str | None = None
    ) -> tuple[Integers, tuple[str, ...], tuple[Group, ...]]:
        """Return the counters of a question or option, one row for each group, and the groups."""
        items = self.survey.items
        cells = next(self.cells[i] for i in self._indices(question) if items[i].option == option)
        width = cells.shape[-1]
        names = [group.id for group in self.survey.groups]
        if strange := [name for name in by if name not in names]:
            raise ValueError(
                f"by must name groups of the survey ({', '.join(names) or 'it has none'}), not {strange[0]!r}"
            )
        table = cells.reshape(*(len(group.values) for group in self.survey.groups), width)
        rest = tuple(axis for axis, name in enumerate(names) if name not in by)
        kept = [name for name in names if name in by]
        table = table.sum(axis=rest).transpose(*(kept.index(name) for name in by), len(by))
        values = {group.id: group.values for group in self.survey.groups}
        groups = tuple(product(*(values[name] for name in by))) if by else ()
        return table.reshape(*((-1,) if by else ()), width), tuple(by), groups


def closing_words(collected: Collected) -> str:
    """Return a sentence on how a survey ended and which of its intervals are valid."""
    number = in_words(collected.responses, "response", "responses")
    if collected.fixed:
        return f"closed with {number}, the number that the survey file fixes: intervals for one look are right at it"
    stop = collected.survey.stop
    why = "a number that the survey file does not fix" if stop is None else f"before the {stop:,} that its file fixes"
    return f"closed with {number}, {why}: the intervals remain those that hold however often you look"


class Store(ABC):
    """Database of one survey, open for writing, used by one thread at a time."""

    survey: Survey
    published: int  # responses, as far as this store knows
    shared: ClassVar[bool]  # True if other processes may write to the same database

    @classmethod
    @abstractmethod
    def opened(cls, place: str, survey: Survey) -> Self:
        """Open or create the database; raise an error if it is of another survey, or in use by another process."""

    @abstractmethod
    def keep(self, bundles: Sequence[Bundle], *, limit: int | None = None) -> list[Outcome]:
        """Keep responses in one durable transaction; publish a step if ``batch`` responses wait then.

        The response that completes the number at which the survey stops closes it in the same transaction. `limit` is
        the maximum number of responses. After an error, a retry with the same nonces is safe.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the survey permanently and publish all pending responses."""

    @abstractmethod
    def invite(self, tokens: Sequence[bytes]) -> None:
        """Store the hashes of new invitations."""

    @abstractmethod
    def revoke(self, tokens: Sequence[bytes]) -> int:
        """Revoke all or none of the invitations; return the number of used ones, whose responses stay counted."""

    @abstractmethod
    def standing(self, token: bytes | None) -> Outcome | None:
        """Return the certain outcome of a response before it is made; None if it may be kept.

        None for an invitation that does not exist, so that guesses cannot be tested.
        """

    @abstractmethod
    def collected(self) -> Collected:
        """Return the published state."""

    @abstractmethod
    def healthy(self) -> bool:
        """Return True if a write transaction that changes nothing succeeds."""

    @abstractmethod
    def tidy(self) -> bool:
        """Remove data that could show the order of responses; the writer calls this about once a second.

        False if a reader of the database prevented it, so that it must be repeated.
        """

    @abstractmethod
    def release(self) -> None:
        """Close the database; no response can be kept afterwards."""


class Sent:
    """Hashes of the latest responses by receipt, to distinguish retries from other responses with the same nonce.

    They are in memory only, under a key of this process. In the database, such a hash would show the response to
    everybody who knows the nonce.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._hashes: dict[tuple[bytes, bytes], bytes] = {}

    def differs(self, bundle: Bundle) -> bool:
        known = self._hashes.get(_entry(bundle))
        return known is not None and known != self._hashed(bundle)

    def add(self, bundles: Iterable[Bundle]) -> None:
        """Add responses that were counted; the oldest ones are dropped."""
        for bundle in bundles:
            self._hashes[_entry(bundle)] = self._hashed(bundle)
            if len(self._hashes) > BODIES_REMEMBERED:
                del self._hashes[next(iter(self._hashes))]

    def _hashed(self, bundle: Bundle) -> bytes:
        content = json.dumps([bundle.cells, bundle.reports]).encode()
        return hashlib.blake2b(content, digest_size=16, key=self._key).digest()


@dataclass
class Ledger:
    """Decision on which responses are counted, each once."""

    survey: Survey
    bundles: Sequence[Bundle]  # in the order of arrival
    sent: Sent  # hashes of earlier responses
    entries: list[tuple[bytes, bytes]] = field(init=False)  # the key and the receipt of each response

    def __post_init__(self) -> None:
        self.entries = [_entry(bundle) for bundle in self.bundles]

    @property
    def keys(self) -> list[bytes]:
        """Distinct hashes of the invitations or, in an open survey, of the nonces; sorted to avoid deadlocks."""
        return sorted({key for key, _ in self.entries})

    def settled(self, known: dict[bytes, bytes], door: Door) -> tuple[list[Outcome], dict[bytes, Bundle]]:
        """Return the outcome of each response, and which ones are counted, given the receipts in the store, by key."""
        receipts = dict(known)
        absent = None if self.survey.invited else UNSPENT_RECEIPT  # an open survey accepts everybody
        other = Outcome.USED if self.survey.invited else Outcome.REFUSED
        outcomes: list[Outcome] = []
        counted: dict[bytes, Bundle] = {}
        for bundle, (key, receipt) in zip(self.bundles, self.entries, strict=True):
            before = receipts.get(key, absent)
            if before is None:
                outcomes.append(Outcome.UNINVITED)
            elif before == receipt:
                first = counted.get(key)
                differs = self.sent.differs(bundle) if first is None else first != bundle
                outcomes.append(other if differs else Outcome.KEPT)
            elif before != UNSPENT_RECEIPT:
                outcomes.append(_outcome_of_spent(before))
            elif len(counted) >= door.room:
                outcomes.append(door.refusal)
            else:
                receipts[key] = receipt
                counted[key] = bundle
                outcomes.append(Outcome.KEPT)
        return outcomes, counted

    def receipt(self, bundle: Bundle) -> bytes:
        """Return the hash that replaces an invitation in the database."""
        return _entry(bundle)[1]


def _entry(bundle: Bundle) -> tuple[bytes, bytes]:
    if bundle.token is None:
        seen = hashed("seen", bundle.nonce)
        return seen, seen
    return hashed("token", bundle.token), hashed("spent", bundle.nonce)


def hashed(label: str, secret: bytes) -> bytes:
    """Hash a nonce or a token; hashes with different labels cannot be compared."""
    return hashlib.blake2b(secret, digest_size=16, person=label.encode()).digest()


def added(survey: Survey, bundles: Collection[Bundle]) -> list[Integers]:
    """Return the increments of the counters of each question by these responses."""
    sums = []
    for question, layout in enumerate(survey.layouts):
        width = survey.strata * layout.width
        cells = [cell for bundle in bundles for cell in bundle.cells[question]]
        sums.append(np.bincount(np.array(cells, dtype=np.int64), minlength=width))
        if len(sums[-1]) > width:
            raise IndexError(f"question {question + 1} has {width} counters, but a response increments another one")
    return sums


def kept_reports(bundles: Iterable[Bundle]) -> list[tuple[KeptReport, int]]:
    """Return the distinct reports to free-text questions with their frequencies, sorted."""
    return sorted(Counter(report for bundle in bundles for report in bundle.reports).items())


def by_question(rows: Iterable[tuple[int, int, str, int]]) -> Kept:
    """Group rows of question, joint group, report and frequency by question."""
    found: Kept = {}
    for question, stratum, report, number in rows:
        found.setdefault(question, []).append((stratum, report, int(number)))
    return found


def damaged(where: str, why: str) -> ValueError:
    return ValueError(f"{where} is damaged: {why}; use a backup")


def check_kept_reports(
    survey: Survey, counters: Sequence[Sequence[Integers]], kept: Iterable[tuple[int, int, int]], where: str
) -> None:
    """Raise an error unless as many reports are kept as were counted, pending or published, in each joint group.

    `kept` has rows of question, joint group and number.
    """
    numbers = {(question, stratum): int(number) for question, stratum, number in kept}
    for question in survey.open_questions:
        width = survey.layouts[question].width
        people = np.sum([cells[question] for cells in counters], axis=0).reshape(-1, width)[:, 0]
        for stratum, number in enumerate(people.tolist()):
            if numbers.pop((question, stratum), 0) != number:
                raise damaged(where, "it does not keep as many reports as it has counted")
    if numbers:
        raise damaged(where, "it keeps reports to a question that counts them")


def today() -> date:
    """Return the current day in UTC, the finest time that is stored."""
    return now().date()


def now() -> datetime:
    return datetime.now(UTC)


def folded(survey: Survey, counters: Sequence[Integers]) -> tuple[Integers, ...]:
    """Reshape the counters of each question to one row for each joint group."""
    return tuple(np.asarray(cells).reshape(survey.strata, -1) for cells in counters)


def check_balance(survey: Survey, counters: Sequence[Integers], days: int, where: str) -> int:
    """Return the number of responses; raise an error unless all questions and the days have it, in each joint group."""
    pairs = zip(survey.layouts, folded(survey, counters), strict=True)
    responses = np.array([layout.responses(cells) for layout, cells in pairs])
    uneven = (responses != responses[0]).any() or int(responses[0].sum()) != days
    if uneven or any((cells < 0).any() for cells in counters):
        raise damaged(where, "its questions do not have the same number of responses")
    return days


def stored_survey(fingerprint: object, text: object, where: str) -> Survey:
    """Read the survey of a database; raise an error if its text was changed."""
    if isinstance(text, str):
        try:
            survey = survey_from_json(text)
        except ValueError as error:
            raise ValueError(f"the survey in {where} cannot be read: {error}") from None
        if fingerprint == bytes.fromhex(survey.fingerprint):
            return survey
    raise damaged(where, "the survey in it does not have the fingerprint under which it was collected")


def check_same_survey(survey: Survey, stored: Survey, where: str) -> None:
    """Raise an error if a database belongs to another survey, or to another version of it."""
    if stored.fingerprint != survey.fingerprint:
        raise ValueError(
            f"{where} belongs to another survey, or to another version of it: its fingerprint begins with "
            f"{stored.fingerprint[:12]}, that of this survey with {survey.fingerprint[:12]}; "
            "answers under two designs are never mixed, so use a new database"
        )


def standing(survey: Survey, receipt: bytes | None, entrance: Door) -> Outcome | None:
    """Return the certain outcome of a response under an invitation with this receipt; None if it is not known."""
    if entrance.room <= 0:
        return entrance.refusal
    if not survey.invited or receipt in {None, UNSPENT_RECEIPT}:
        return None
    assert receipt is not None
    return _outcome_of_spent(receipt)


def _outcome_of_spent(receipt: bytes) -> Outcome:
    return Outcome.REVOKED if receipt == REVOKED_RECEIPT else Outcome.USED


def check_consistent(
    survey: Survey,
    state: str,
    counters: Sequence[Sequence[Integers]],
    numbers: tuple[int, int],
    kept: Iterable[tuple[int, int, int]],
    spent: int,
    where: str,
) -> None:
    """Raise an error unless pending and published counters, their numbers of responses and kept reports fit.

    Each response has left a receipt; an open survey forgets them after its closing.
    """
    for cells, number in zip(counters, numbers, strict=True):
        check_balance(survey, cells, number, where)
    check_kept_reports(survey, counters, kept, where)
    forgotten = not survey.invited and state == "closed" and spent == 0
    if spent != sum(numbers) and not forgotten:
        raise damaged(where, f"it counts {sum(numbers)} responses but has receipts of {spent}")


def by_layout(survey: Survey, table: Integers, where: str) -> list[list[Integers]]:
    """Split each column of counters by question; the first column has the index of the question."""
    widths = [survey.strata * layout.width for layout in survey.layouts]
    if not np.array_equal(table[:, 0], np.repeat(np.arange(len(widths)), widths)):
        raise damaged(where, "it does not have the counters of its survey")
    return [np.split(column, np.cumsum(widths)[:-1]) for column in table.T[1:]]


def used_among(tokens: Sequence[bytes], known: dict[bytes, bytes]) -> int:
    """Return how many of the invitations to revoke were used, given their receipts.

    An error for those that do not exist names their positions, because they are secret.
    """
    strange = [index for index, token in enumerate(tokens) if hashed("token", token) not in known]
    if strange:
        raise ValueError(
            f"only invitations to this survey can be revoked, but {len(strange):,} of these {len(tokens):,} are none, "
            f"the first of them at place {strange[0] + 1:,}; nothing was revoked"
        )
    return sum(receipt not in {UNSPENT_RECEIPT, REVOKED_RECEIPT} for receipt in known.values())


def check_invitations(survey: Survey, state: str, tokens: Sequence[bytes]) -> None:
    if not survey.invited:
        raise ValueError('invitations are for surveys whose access is "invited"; this one is open to everybody')
    if state != "open":
        raise ValueError("this survey is closed: invitations to it cannot be used")
    if any(len(token) != 16 for token in tokens) or len(set(tokens)) < len(tokens):
        raise ValueError("invitations must be distinct and of 16 bytes each")


@contextlib.contextmanager
def fresh(target: Path) -> Iterator[Path]:
    """Yield an empty private file that is synced and renamed to `target` on success, unless that file exists."""
    if target.exists():
        raise FileExistsError(f"{target} already exists and is not overwritten; give another name")
    part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        part.touch(mode=0o600, exist_ok=False)
        yield part
        _sync(part)
        try:
            os.link(part, target)  # which never replaces a file
        except FileExistsError:
            raise FileExistsError(f"{target} already exists and is not overwritten") from None
        except OSError:  # a file system without links
            target.touch(mode=0o600, exist_ok=False)
            part.replace(target)
        if os.name != "nt":
            _sync(target.parent)  # the name must survive a power failure as well
    finally:
        part.unlink(missing_ok=True)
        part.with_name(f"{part.name}-journal").unlink(missing_ok=True)


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)


# Contents


APPLICATION_ID = int.from_bytes(b"wrnr")  # in the header of the file
VERSION = 1  # of the tables
SQLITE_TABLES = """
create table survey(fingerprint blob primary key, file text not null, state text not null, closed text not null)
    without rowid;
create table counts(question integer, cell integer, pending not null, published not null, primary key(question, cell))
    without rowid;
create table invitations(token blob primary key, receipt blob not null) without rowid;
create table seen(nonce blob primary key) without rowid;
create table days(day text primary key, pending not null, published not null) without rowid;
"""
# Only for free-text questions
SQLITE_REPORTS = """
create table reports(question integer, stratum integer, report text, number not null,
    primary key(question, stratum, report)) without rowid;
"""


@dataclass(frozen=True)
class Contents:
    """Complete contents of a database; rows are in the order of their keys."""

    survey: Survey
    state: str = "open"
    closed: str = ""  # day of the closing
    pending: Sequence[Integers] = ()  # counters of each question
    published: Sequence[Integers] = ()
    days: Iterable[tuple[str, int, int]] = ()  # with pending and published responses
    invitations: Iterable[tuple[bytes, bytes]] = field(default=(), repr=False)  # with receipts
    seen: Iterable[tuple[bytes]] = field(default=(), repr=False)
    reports: Iterable[tuple[int, int, str, int]] = field(default=(), repr=False)  # question, group, report, frequency


def save(path: Path, contents: Contents) -> None:
    """Write a new database for its owner only, atomically."""
    survey = contents.survey
    widths = [survey.strata * layout.width for layout in survey.layouts]
    zeros = [np.zeros(width) for width in widths]
    pending, published = contents.pending or zeros, contents.published or zeros
    counts = (
        (question, cell, float(pending[question][cell]), float(published[question][cell]))
        for question, width in enumerate(widths)
        for cell in range(width)
    )
    days = ((day, float(waiting), float(shown)) for day, waiting, shown in contents.days)
    row = (bytes.fromhex(survey.fingerprint), survey.to_json(), contents.state, contents.closed)
    with (
        fresh(path) as part,
        worded(path),
        contextlib.closing(sqlite3.connect(part, isolation_level=None)) as connection,
    ):
        connection.executescript(
            f"pragma application_id = {APPLICATION_ID}; pragma user_version = {VERSION}; {SQLITE_TABLES}"
            + (SQLITE_REPORTS if survey.open_questions else "")
        )
        connection.execute("begin")
        connection.execute("insert into survey values(?, ?, ?, ?)", row)
        connection.executemany("insert into counts values(?, ?, ?, ?)", counts)
        connection.executemany("insert into days values(?, ?, ?)", days)
        connection.executemany("insert into invitations values(?, ?)", contents.invitations)
        connection.executemany("insert into seen values(?)", contents.seen)
        if survey.open_questions:
            reports = ((*row[:3], float(row[3])) for row in contents.reports)
            connection.executemany("insert into reports values(?, ?, ?, ?)", reports)
        connection.execute("commit")


@contextlib.contextmanager
def worded(path: Path) -> Iterator[None]:
    """Name the file in errors of SQLite, whose texts contain no values."""
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(f"{path}: {error}") from None
