"""SQLite store: one file, what `warner collect` keeps by default.

The file shows counts, and no order. All counters are made at the start; a counter is always a float of eight bytes,
and the receipt of an invitation always 16 bytes, so that a row never moves to another place in the file when it
changes. (An integer takes one byte more from 128 on, and its row would move to the end of the page: the last to grow
would be the last in the page.) SQLite's write-ahead log does show the order, until `tidy` empties it.

Reports that are kept themselves are rows that are added, and so are nonces: within a page of the file they lie in the
order in which they came. Therefore the file is written anew, in the order of the keys, when it is opened, stopped or
closed, and where reports are kept about once a second, as far as that takes a fiftieth of the time.

Tables: see "The database" in the documentation of the formats.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from warner.designs.labels import LARGEST_JSON_INTEGER
from warner.documents import FileLock, resolved
from warner.service.stores.contract import (
    APPLICATION_ID,
    NONCES_KEPT,
    REVOKED_RECEIPT,
    UNSPENT_RECEIPT,
    VERSION,
    Collected,
    Contents,
    Ledger,
    Outcome,
    Sent,
    Store,
    added,
    by_question,
    complete,
    door,
    folded,
    fresh,
    hashed,
    kept_reports,
    refuse_imbalance,
    refuse_invitations,
    refuse_other_number,
    refuse_other_survey,
    refuse_unknown,
    save,
    standing,
    step_due,
    stored_survey,
    today,
    worded,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from warner.arrays import Integers
    from warner.service.responses import Bundle
    from warner.service.survey import Survey

SQLITE_MAGIC = b"SQLite format 3\0"
OPENING_SECONDS = 5.0  # seconds that opening and reading wait for another connection
BUSY_SECONDS = 0.1  # seconds that the writer waits for one that reads
SORTING_PART_OF_TIME = 1 / 50  # what writing the file anew may take, while a survey runs
SQLITE_SETTINGS = (
    "journal_mode = wal",
    "synchronous = full",
    "fullfsync = on",  # macOS: the disk's own cache, too
    "secure_delete = on",
    "temp_store = memory",
    "wal_autocheckpoint = 0",  # `tidy` does it, apart from the transactions that somebody waits for
    f"busy_timeout = {1000 * BUSY_SECONDS:.0f}",
)


class SqliteStore(Store):
    """The counts of a survey in a file that this process holds alone."""

    shared = False

    def __init__(self, path: Path, survey: Survey, connection: sqlite3.Connection, lock: FileLock) -> None:
        self.path = path
        self.survey = survey
        self._connection = connection
        self._lock = lock
        self._file = path.stat()
        self._unsorted = bool(survey.open_questions)  # whether nonces or reports were added, or may have been
        self._sort_after = 0.0
        self._sent = Sent()
        self.published = 0

    @classmethod
    def opened(cls, place: str, survey: Survey) -> Self:
        path = resolved(place)
        if path.exists():
            _refuse_foreign(path)
        try:
            lock = FileLock(path)
        except BlockingIOError:
            raise BlockingIOError(f"another process is collecting into {path}") from None
        except OSError as error:
            raise OSError(f"nothing can be written beside {place}: {error.strerror}; use another folder") from None
        try:
            if not path.exists():
                save(path, Contents(survey))
            store = cls(path, survey, _connected(path, "rw"), lock)
        except BaseException:
            lock.release()
            raise
        try:
            store._start()
        except BaseException:
            store.release()
            raise
        return store

    def _start(self) -> None:
        with worded(self.path):
            refuse_other_survey(self.survey, _survey(self._connection, str(self.path)), str(self.path))
            for setting in SQLITE_SETTINGS:
                self._connection.execute(f"pragma {setting}").fetchall()
            self._check()
            self.published = self._days()[1]
            self._forget()
            self._sort()
            self._sort_after = 0.0

    def _check(self) -> None:
        """Check the laws of the counters, and that everybody who was counted left a receipt."""
        where = str(self.path)
        pending, published = self._days()
        both = [_counters(self._connection, self.survey, column, where) for column in ("pending", "published")]
        for counters, people in zip(both, (pending, published), strict=True):
            refuse_imbalance(self.survey, counters, people, where)
        if self.survey.open_questions:
            refuse_other_number(self.survey, both, _numbers_kept(self._connection), where)
        if self.survey.invited:
            spent = self._value(
                "select count(*) from invitations where receipt not in (?, ?)", UNSPENT_RECEIPT, REVOKED_RECEIPT
            )
        else:
            spent = self._value("select count(*) from seen")
        forgotten = not self.survey.invited and self._state() == "closed" and spent == 0
        if spent != pending + published and not forgotten:
            raise ValueError(
                f"{where} is damaged: it counts {pending + published} responses but has receipts of {spent}; "
                "use a backup"
            )

    def keep(self, bundles: Sequence[Bundle], *, limit: int | None = None) -> list[Outcome]:
        """Keep responses in one transaction, durably; publish a step if ``batch`` responses wait then."""
        ledger = Ledger(self.survey, bundles, self._sent)
        with self._transaction():
            pending, published = self._days()
            entrance = door(self.survey, self._state(), pending + published, limit)
            outcomes, counted = ledger.settled(self._known(ledger.keys), entrance)
            if counted:
                self._count(ledger, counted)
                pending += len(counted)
                if complete(self.survey, pending + published):
                    published = self._shut()
                elif step_due(self.survey, pending, pending + published):
                    self._publish()
                    published += pending
        self.published = published
        self._sent.add(counted.values())
        return outcomes

    def _known(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        where = (
            "select receipt from invitations where token"
            if self.survey.invited
            else "select nonce from seen where nonce"
        )
        rows = ((key, self._connection.execute(f"{where} = ?", (key,)).fetchone()) for key in keys)
        return {key: row[0] for key, row in rows if row is not None}

    def _count(self, ledger: Ledger, counted: dict[bytes, Bundle]) -> None:
        if self.survey.invited:
            receipts = ((ledger.receipt(counted[token]), token) for token in sorted(counted))
            self._connection.executemany("update invitations set receipt = ? where token = ?", receipts)
        else:
            self._connection.executemany("insert into seen values(?)", ((nonce,) for nonce in sorted(counted)))
            self._unsorted = True
        sums = added(self.survey, counted.values())
        amounts = (
            (float(cells[cell]), question, cell)
            for question, cells in enumerate(sums)
            for cell in np.flatnonzero(cells).tolist()
        )
        self._connection.executemany("update counts set pending = pending + ? where question = ? and cell = ?", amounts)
        reports = ((*report, float(number)) for report, number in kept_reports(counted.values()))
        if self.survey.open_questions:
            self._connection.executemany(
                "insert into reports values(?, ?, ?, ?) "
                "on conflict(question, stratum, report) do update set number = number + excluded.number",
                reports,
            )
        day = today().isoformat()
        self._connection.execute("insert or ignore into days values(?, 0.0, 0.0)", (day,))
        self._connection.execute("update days set pending = pending + ? where day = ?", (float(len(counted)), day))

    def _publish(self) -> None:
        for table in ("counts", "days"):
            self._connection.execute(
                f"update {table} set published = published + pending, pending = 0.0 where pending <> 0.0"
            )

    def close(self) -> None:
        with self._transaction():
            self.published = self._shut()
        with worded(self.path):
            self._sort()

    def _shut(self) -> int:
        """Publish all that waits and close the survey, within a transaction; give the number of responses."""
        self._publish()
        closing = (today().isoformat(),)
        self._connection.execute("update survey set state = 'closed', closed = ? where state = 'open'", closing)
        return self._days()[1]

    def invite(self, tokens: Sequence[bytes]) -> None:
        refuse_invitations(self.survey, self._state(), tokens)
        with self._transaction():
            rows = ((token, UNSPENT_RECEIPT) for token in sorted(hashed("token", token) for token in tokens))
            self._connection.executemany("insert into invitations values(?, ?)", rows)

    def revoke(self, tokens: Sequence[bytes]) -> int:
        with self._transaction():
            hashes = sorted(hashed("token", token) for token in tokens)
            known = self._known(hashes)
            refuse_unknown(tokens, known)
            rows = ((REVOKED_RECEIPT, token, UNSPENT_RECEIPT) for token in hashes)
            self._connection.executemany("update invitations set receipt = ? where token = ? and receipt = ?", rows)
        return sum(receipt not in {UNSPENT_RECEIPT, REVOKED_RECEIPT} for receipt in known.values())

    def standing(self, token: bytes | None) -> Outcome | None:
        """Return the certain outcome of a response before it is made; None if it may be kept."""
        with worded(self.path):
            entrance = door(self.survey, self._state(), sum(self._days()))
            key = None if token is None else hashed("token", token)
            receipt = None if key is None else self._known([key]).get(key)
        return standing(self.survey, receipt, entrance)

    def collected(self) -> Collected:
        return _collected(self._connection, self.survey, self.path)

    def healthy(self) -> bool:
        try:
            with self._transaction():  # SQLite does not write a page for an update that changes nothing
                self._connection.execute("insert into survey values(x'', '', '', '')")
                self._connection.execute("delete from survey where fingerprint = x''")
        except OSError:
            return False
        return True

    def tidy(self) -> bool:
        """Empty the write-ahead log, which shows the order of responses; forget nonces a day after the closing."""
        with worded(self.path):
            self._forget()
            closed = self._state() == "closed"  # by itself, with its last response
            kept = self.survey.open_questions and time.monotonic() >= self._sort_after
            if self._unsorted and (closed or kept):
                self._try_to_sort()
            busy, _, _ = self._connection.execute("pragma wal_checkpoint(truncate)").fetchone()
        return not busy and not (self._unsorted and (closed or self.survey.open_questions))

    def _forget(self) -> None:
        closed = self._value("select closed from survey")
        if closed and today() >= date.fromisoformat(closed) + NONCES_KEPT:
            self._connection.execute("delete from seen")

    def release(self) -> None:
        """Close the database as a single file without a log."""
        # Where somebody reads, the log stays, empty, until the next start; where the file is another's, so is its log.
        with contextlib.suppress(sqlite3.Error, OSError):
            self._refuse_other_file()
            self._sort()
            self._connection.execute("pragma wal_checkpoint(truncate)").fetchall()
            self._connection.execute("pragma journal_mode = delete").fetchall()
        self._connection.close()
        self._lock.release()

    def _sort(self) -> None:
        """Write the file anew, in the order of the keys: what was added one by one lies in that of arrival."""
        if self._unsorted:
            start = time.monotonic()
            self._connection.execute("vacuum")
            self._unsorted = False
            end = time.monotonic()
            self._sort_after = end + (end - start) / SORTING_PART_OF_TIME

    def _try_to_sort(self) -> None:
        """Sort, unless somebody who reads stands in the way."""
        try:
            self._sort()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode not in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
                raise

    def _days(self) -> tuple[int, int]:
        """Return the number of pending and of published responses."""
        row = self._connection.execute("select total(pending), total(published) from days").fetchone()
        return int(row[0]), int(row[1])

    def _state(self) -> str:
        return str(self._value("select state from survey"))

    def _value(self, query: str, *values: object) -> Any:
        return self._connection.execute(query, values).fetchone()[0]

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing, and on the disk at the end."""
        self._refuse_other_file()
        with worded(self.path):
            self._connection.execute("begin immediate")
            try:
                yield
                self._connection.execute("commit")
            except BaseException:
                if self._connection.in_transaction:  # a full disk may have rolled it back already
                    self._connection.execute("rollback")
                raise

    def _refuse_other_file(self) -> None:
        """Refuse to write to a file that was removed or replaced: SQLite would, and all of it would be lost."""
        try:
            there = os.path.samestat(self.path.stat(), self._file)
        except FileNotFoundError:
            there = False
        if not there:
            raise OSError(f"{self.path}: this file was removed or replaced while its survey was running; start again")


def is_database(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a database of `warner collect`, by its first bytes."""
    with Path(path).open("rb") as file:
        head = file.read(100)
    return head.startswith(SQLITE_MAGIC) and int.from_bytes(head[68:72]) == APPLICATION_ID


def read(place: str) -> Collected:
    """Read what a database has published, beside a running survey or not; nothing is changed."""
    with _reading(place) as connection:
        return _collected(connection, _survey(connection, place), Path(place))


def backup(place: str, target: str) -> None:
    """Copy a database to a new file, beside a running survey or not: all of it, row by row in the order of the keys.

    Its pages are made anew, so they show no order and nothing that was removed.
    """
    with _reading(place) as connection, fresh(Path(target)) as part:
        _survey(connection, place)
        connection.execute("vacuum into ?", (str(part),))


def _refuse_foreign(path: Path) -> None:
    if path.is_dir() or not is_database(path):
        raise ValueError(f"{path} is not a database of warner collect, and is left as it is; give another name")


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    with worded(path):
        return sqlite3.connect(
            f"{path.as_uri()}?mode={mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=OPENING_SECONDS,
        )


@contextlib.contextmanager
def _reading(place: str) -> Iterator[sqlite3.Connection]:
    """Yield a read-only connection."""
    path = resolved(place)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {place}")
    _refuse_foreign(path)
    mode = "ro&immutable=1" if _without_log(path) else "ro"
    with contextlib.closing(_connected(path, mode)) as connection, worded(path):
        yield connection


def _without_log(path: Path) -> bool:
    """Return whether a file was copied from a running survey without its log, so that no process writes to it.

    SQLite would make such a log in order to read it, or fail where it may not write.
    """
    with path.open("rb") as file:
        logged = file.read(20)[18:] == b"\2\2"
    return logged and not path.with_name(f"{path.name}-wal").exists()


def _survey(connection: sqlite3.Connection, where: str) -> Survey:
    """Read the survey of a database."""
    version = connection.execute("pragma user_version").fetchone()[0]
    if version != VERSION:
        raise ValueError(f"this database is of version {version}, but this warner reads version {VERSION}")
    rows = connection.execute("select fingerprint, file from survey").fetchall()
    if len(rows) != 1:
        raise ValueError(f"this database is damaged: it has {len(rows)} surveys, and not one; use a backup")
    return stored_survey(rows[0][0], rows[0][1], where)


def _counters(connection: sqlite3.Connection, survey: Survey, column: str, where: str) -> list[Integers]:
    rows = connection.execute(f"select question, {column} from counts order by question, cell").fetchall()
    table = np.array([row if _whole(row[1]) else (-1, 0) for row in rows], dtype=np.int64).reshape(-1, 2)
    widths = [survey.strata * layout.width for layout in survey.layouts]
    if not np.array_equal(table[:, 0], np.repeat(np.arange(len(widths)), widths)):
        raise ValueError(f"{where} is damaged: it does not have the counters of its survey; use a backup")
    return np.split(table[:, 1], np.cumsum(widths)[:-1])


def _numbers_kept(connection: sqlite3.Connection) -> list[tuple[int, int, int]]:
    """Return the number of kept reports of each question and joint group."""
    return connection.execute("select question, stratum, total(number) from reports group by 1, 2").fetchall()


def _whole(count: object) -> bool:
    return isinstance(count, float) and count.is_integer() and 0 <= count <= LARGEST_JSON_INTEGER


def _collected(connection: sqlite3.Connection, survey: Survey, path: Path) -> Collected:
    with worded(path):
        connection.execute("begin")  # one moment for all that is read
        try:
            state = connection.execute("select state from survey").fetchone()[0]
            invited, revoked = connection.execute(
                "select count(*), count(case when receipt = ? then 1 end) from invitations", (REVOKED_RECEIPT,)
            ).fetchone()
            days = dict(connection.execute("select day, published from days where published > 0 order by day"))
            counters = _counters(connection, survey, "published", str(path))
            reports = {}
            if survey.open_questions and state == "closed":
                refuse_other_number(survey, [counters], _numbers_kept(connection), str(path))
                rows = connection.execute("select question, stratum, report, number from reports order by 1, 2, 3")
                reports = by_question(rows)
        finally:
            connection.execute("commit")
    days = {day: int(number) for day, number in days.items()}
    responses = refuse_imbalance(survey, counters, sum(days.values()), str(path))
    cells = folded(survey, counters)
    return Collected(survey, state, responses, cells, days, invited - revoked, revoked, reports)
