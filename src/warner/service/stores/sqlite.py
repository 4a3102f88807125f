"""SQLite store: one file.

The file shows counts, but not the order of responses. All counters are created at the start. A counter is always a
float of eight bytes and a receipt always 16 bytes, so that rows never move when they change. (An integer takes a byte
more from 128 on, which would move its row to the end of the page.) The write-ahead log shows the order until `tidy`
empties it.

Reports to free-text questions and nonces are added as rows, which lie in a page in the order of arrival. Therefore the
file is rewritten in the order of the keys when it is opened, stopped or closed; with free-text questions about once a
second, using at most a fiftieth of the time.

See "The database" in the documentation of the formats.
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
from warner.service.stores import contract
from warner.service.stores.contract import Collected, Contents, Ledger, Outcome, Sent, Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from warner.arrays import Integers
    from warner.service.responses import Bundle
    from warner.service.survey import Survey

SQLITE_MAGIC = b"SQLite format 3\0"
OPENING_SECONDS = 5.0  # that opening and reading wait for another connection
BUSY_SECONDS = 0.1  # that the writer waits for a reader
SORTING_PART_OF_TIME = 1 / 50  # that rewriting the file may take while a survey runs
SQLITE_SETTINGS = (
    "journal_mode = wal",
    "synchronous = full",
    "fullfsync = on",  # macOS: through the cache of the disk
    "secure_delete = on",
    "temp_store = memory",
    "wal_autocheckpoint = 0",  # done by `tidy`, outside of the transactions of responses
    f"busy_timeout = {1000 * BUSY_SECONDS:.0f}",
)


class SqliteStore(Store):
    """Counts of a survey in a file that only this process writes."""

    shared = False

    def __init__(self, path: Path, survey: Survey, connection: sqlite3.Connection, lock: FileLock) -> None:
        self.path = path
        self.survey = survey
        self._connection = connection
        self._lock = lock
        self._file = path.stat()
        self._unsorted = bool(survey.open_questions)  # True if nonces or reports may have been added
        self._sort_after = 0.0
        self._sent = Sent()
        self.published = 0

    @classmethod
    def opened(cls, place: str, survey: Survey) -> Self:
        path = resolved(place)
        if path.exists():
            _check_is_database(path)
        try:
            lock = FileLock(path)
        except BlockingIOError:
            raise BlockingIOError(f"another process is collecting into {path}") from None
        except OSError as error:
            raise OSError(f"nothing can be written beside {place}: {error.strerror}; use another folder") from None
        try:
            if not path.exists():
                contract.save(path, Contents(survey))
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
        with contract.worded(self.path):
            contract.check_same_survey(self.survey, _survey(self._connection, str(self.path)), str(self.path))
            for setting in SQLITE_SETTINGS:
                self._connection.execute(f"pragma {setting}").fetchall()
            self._check()
            self.published = self._days()[1]
            self._forget()
            self._sort()
            self._sort_after = 0.0

    def _check(self) -> None:
        where = str(self.path)
        both = [_counters(self._connection, self.survey, column, where) for column in ("pending", "published")]
        kept = _numbers_kept(self._connection, self.survey)
        if self.survey.invited:
            query = "select count(*) from invitations where receipt not in (?, ?)"
            spent = self._value(query, contract.UNSPENT_RECEIPT, contract.REVOKED_RECEIPT)
        else:
            spent = self._value("select count(*) from seen")
        contract.check_consistent(self.survey, self._state(), both, self._days(), kept, spent, where)

    def keep(self, bundles: Sequence[Bundle], *, limit: int | None = None) -> list[Outcome]:
        ledger = Ledger(self.survey, bundles, self._sent)
        with self._transaction():
            pending, published = self._days()
            entrance = contract.door(self.survey, self._state(), pending + published, limit)
            outcomes, counted = ledger.settled(self._known(ledger.keys), entrance)
            if counted:
                self._count(ledger, counted)
                pending += len(counted)
                if contract.complete(self.survey, pending + published):
                    published = self._shut()
                elif contract.step_due(self.survey, pending, pending + published):
                    self._publish()
                    published += pending
        self.published = published
        self._sent.add(counted.values())
        return outcomes

    def _known(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        invited = "select receipt from invitations where token = ?"
        query = invited if self.survey.invited else "select nonce from seen where nonce = ?"
        rows = ((key, self._connection.execute(query, (key,)).fetchone()) for key in keys)
        return {key: row[0] for key, row in rows if row is not None}

    def _count(self, ledger: Ledger, counted: dict[bytes, Bundle]) -> None:
        if self.survey.invited:
            receipts = ((ledger.receipt(counted[token]), token) for token in sorted(counted))
            self._connection.executemany("update invitations set receipt = ? where token = ?", receipts)
        else:
            self._connection.executemany("insert into seen values(?)", ((nonce,) for nonce in sorted(counted)))
            self._unsorted = True
        amounts = (
            (float(cells[cell]), question, cell)
            for question, cells in enumerate(contract.added(self.survey, counted.values()))
            for cell in np.flatnonzero(cells).tolist()
        )
        self._connection.executemany("update counts set pending = pending + ? where question = ? and cell = ?", amounts)
        reports = ((*report, float(number)) for report, number in contract.kept_reports(counted.values()))
        if self.survey.open_questions:
            self._connection.executemany(
                "insert into reports values(?, ?, ?, ?) "
                "on conflict(question, stratum, report) do update set number = number + excluded.number",
                reports,
            )
        day = contract.today().isoformat()
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
        with contract.worded(self.path):
            self._sort()

    def _shut(self) -> int:
        """Publish all pending responses and close the survey within a transaction; return the number of responses."""
        self._publish()
        closing = (contract.today().isoformat(),)
        self._connection.execute("update survey set state = 'closed', closed = ? where state = 'open'", closing)
        return self._days()[1]

    def invite(self, tokens: Sequence[bytes]) -> None:
        contract.check_invitations(self.survey, self._state(), tokens)
        with self._transaction():
            hashes = sorted(contract.hashed("token", token) for token in tokens)
            rows = ((token, contract.UNSPENT_RECEIPT) for token in hashes)
            self._connection.executemany("insert into invitations values(?, ?)", rows)

    def revoke(self, tokens: Sequence[bytes]) -> int:
        with self._transaction():
            hashes = sorted(contract.hashed("token", token) for token in tokens)
            used = contract.used_among(tokens, self._known(hashes))
            rows = ((contract.REVOKED_RECEIPT, token, contract.UNSPENT_RECEIPT) for token in hashes)
            self._connection.executemany("update invitations set receipt = ? where token = ? and receipt = ?", rows)
        return used

    def standing(self, token: bytes | None) -> Outcome | None:
        with contract.worded(self.path):
            entrance = contract.door(self.survey, self._state(), sum(self._days()))
            key = None if token is None else contract.hashed("token", token)
            receipt = None if key is None else self._known([key]).get(key)
        return contract.standing(self.survey, receipt, entrance)

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
        """Empty the write-ahead log, sort added rows, and delete nonces some days after the closing."""
        with contract.worded(self.path):
            self._forget()
            closed = self._state() == "closed"
            due = self.survey.open_questions and time.monotonic() >= self._sort_after
            if self._unsorted and (closed or due):
                try:
                    self._sort()
                except sqlite3.OperationalError as error:  # a reader prevents it
                    if error.sqlite_errorcode not in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
                        raise
            busy, _, _ = self._connection.execute("pragma wal_checkpoint(truncate)").fetchone()
        return not busy and not (self._unsorted and (closed or self.survey.open_questions))

    def _forget(self) -> None:
        closed = self._value("select closed from survey")
        if closed and contract.today() >= date.fromisoformat(closed) + contract.NONCES_KEPT:
            self._connection.execute("delete from seen")

    def release(self) -> None:
        """Close the database as a single file without a log."""
        # During a read, the empty log stays until the next start; the log of a replaced file belongs to that file.
        with contextlib.suppress(sqlite3.Error, OSError):
            self._check_file()
            self._sort()
            self._connection.execute("pragma wal_checkpoint(truncate)").fetchall()
            self._connection.execute("pragma journal_mode = delete").fetchall()
        self._connection.close()
        self._lock.release()

    def _sort(self) -> None:
        """Rewrite the file in the order of the keys."""
        if self._unsorted:
            start = time.monotonic()
            self._connection.execute("vacuum")
            self._unsorted = False
            end = time.monotonic()
            self._sort_after = end + (end - start) / SORTING_PART_OF_TIME

    def _days(self) -> tuple[int, int]:
        row = self._connection.execute("select total(pending), total(published) from days").fetchone()
        return int(row[0]), int(row[1])

    def _state(self) -> str:
        return str(self._value("select state from survey"))

    def _value(self, query: str, *values: object) -> Any:
        return self._connection.execute(query, values).fetchone()[0]

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """Run a durable transaction."""
        self._check_file()
        with contract.worded(self.path):
            self._connection.execute("begin immediate")
            try:
                yield
                self._connection.execute("commit")
            except BaseException:
                if self._connection.in_transaction:  # a full disk may have rolled it back
                    self._connection.execute("rollback")
                raise

    def _check_file(self) -> None:
        """Raise an error if the file was removed or replaced, because SQLite would write to the old one."""
        try:
            same = os.path.samestat(self.path.stat(), self._file)
        except FileNotFoundError:
            same = False
        if not same:
            raise OSError(f"{self.path}: this file was removed or replaced while its survey was running; start again")


def is_database(path: str | os.PathLike[str]) -> bool:
    """Return True if a file is a database of a survey, by its first bytes."""
    with Path(path).open("rb") as file:
        head = file.read(100)
    return head.startswith(SQLITE_MAGIC) and int.from_bytes(head[68:72]) == contract.APPLICATION_ID


def read(place: str) -> Collected:
    with _reading(place) as connection:
        return _collected(connection, _survey(connection, place), Path(place))


def backup(place: str, target: str) -> None:
    """Copy a database to a new file, row by row in the order of the keys, without any removed data."""
    with _reading(place) as connection, contract.fresh(Path(target)) as part:
        _survey(connection, place)
        connection.execute("vacuum into ?", (str(part),))


def _check_is_database(path: Path) -> None:
    if path.is_dir() or not is_database(path):
        raise ValueError(f"{path} is not a database of warner collect, and is left as it is; give another name")


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    with contract.worded(path):
        return sqlite3.connect(
            f"{path.as_uri()}?mode={mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=OPENING_SECONDS,
        )


@contextlib.contextmanager
def _reading(place: str) -> Iterator[sqlite3.Connection]:
    path = resolved(place)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {place}")
    _check_is_database(path)
    mode = "ro&immutable=1" if _without_log(path) else "ro"
    with contextlib.closing(_connected(path, mode)) as connection, contract.worded(path):
        yield connection


def _without_log(path: Path) -> bool:
    """Return True if a file was copied from a running survey without its log, which SQLite would create to read it."""
    with path.open("rb") as file:
        logged = file.read(20)[18:] == b"\2\2"
    return logged and not path.with_name(f"{path.name}-wal").exists()


def _survey(connection: sqlite3.Connection, where: str) -> Survey:
    version = connection.execute("pragma user_version").fetchone()[0]
    if version != contract.VERSION:
        raise ValueError(f"this database is of version {version}, but this warner reads version {contract.VERSION}")
    rows = connection.execute("select fingerprint, file from survey").fetchall()
    if len(rows) != 1:
        raise contract.damaged("this database", f"it has {len(rows)} surveys instead of one")
    return contract.stored_survey(rows[0][0], rows[0][1], where)


def _counters(connection: sqlite3.Connection, survey: Survey, column: str, where: str) -> list[Integers]:
    rows = connection.execute(f"select question, {column} from counts order by question, cell").fetchall()
    table = np.array([row if _whole(row[1]) else (-1, 0) for row in rows], dtype=np.int64).reshape(-1, 2)
    (counters,) = contract.by_layout(survey, table, where)
    return counters


def _numbers_kept(connection: sqlite3.Connection, survey: Survey) -> list[tuple[int, int, int]]:
    if not survey.open_questions:
        return []
    return connection.execute("select question, stratum, total(number) from reports group by 1, 2").fetchall()


def _whole(count: object) -> bool:
    return isinstance(count, float) and count.is_integer() and 0 <= count <= LARGEST_JSON_INTEGER


def _collected(connection: sqlite3.Connection, survey: Survey, path: Path) -> Collected:
    with contract.worded(path):
        connection.execute("begin")  # one snapshot for all queries
        try:
            state = connection.execute("select state from survey").fetchone()[0]
            invited, revoked = connection.execute(
                "select count(*), count(case when receipt = ? then 1 end) from invitations", (contract.REVOKED_RECEIPT,)
            ).fetchone()
            days = dict(connection.execute("select day, published from days where published > 0 order by day"))
            counters = _counters(connection, survey, "published", str(path))
            reports = {}
            if survey.open_questions and state == "closed":
                contract.check_kept_reports(survey, [counters], _numbers_kept(connection, survey), str(path))
                rows = connection.execute("select question, stratum, report, number from reports order by 1, 2, 3")
                reports = contract.by_question(rows)
        finally:
            connection.execute("commit")
    days = {day: int(number) for day, number in days.items()}
    responses = contract.check_balance(survey, counters, sum(days.values()), str(path))
    cells = contract.folded(survey, counters)
    return Collected(survey, state, responses, cells, days, invited - revoked, revoked, reports)
