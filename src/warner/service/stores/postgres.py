"""PostgreSQL store: counts in a database to which several processes may write at once.

Each survey has its own schema, ``warner_`` and its id, with the tables of the SQLite file. Each process increments its
own set of counters, a *stripe*, so that processes do not wait for each other's rows. Published counts are sums over all
stripes. A process publishes a step when ``batch`` responses wait in its stripe, and within about a second when they
wait in all stripes together.

PostgreSQL shows more of the order of responses than SQLite: each row has the transaction that wrote it (xmin) and its
position (ctid). So every transaction writes all counters of its stripe, which then share one xmin, and invitations are
rewritten in the order of their keys shortly after some were spent. Old versions of rows, which superusers can read
until they are vacuumed, and archives of the server's log cannot be changed from here.

All transactions first lock the table ``survey``: in a shared mode to keep or read responses, in an exclusive mode to
publish all stripes, rewrite or close. Rows are locked in the order of their keys, so there are no deadlocks.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from datetime import date
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from warner.service.stores import contract
from warner.service.stores.contract import Collected, Contents, Ledger, Outcome, Sent, Store
from warner.service.survey import IDENTIFIER
from warner.text import not_installed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

    import psycopg

    from warner.arrays import Integers
    from warner.service.responses import Bundle
    from warner.service.stores.contract import Kept
    from warner.service.survey import Survey


# Sessions


SCHEMA_COMMENT = "warner collect 1"  # on the schema of a survey, with the version of the tables
LONGEST_NAME_BYTES = 63
STATEMENT_MILLISECONDS = 10_000  # after which a statement is cancelled
CONNECT_SECONDS = 5  # if the URL has no other value

SHARED, ALONE = "access share", "access exclusive"  # modes of the lock on the survey
IN_TURN = "share row exclusive"  # one writing process at a time, besides readers

# Accepted values of the settings under which the server writes nothing of a response to its log.
SILENT_SETTINGS = {
    "log_statement": ("none", "ddl"),
    "log_min_duration_statement": ("-1",),
    "log_min_duration_sample": ("-1",),
    "log_transaction_sample_rate": ("0",),
    "log_parameter_max_length_on_error": ("0",),
}


def schema(name: str) -> str:
    """Return the schema name of a survey: ``warner_`` and its id, with underscores for hyphens.

    >>> schema("drinking-2026")
    'warner_drinking_2026'
    """
    whole = f"warner_{name.replace('-', '_')}"
    if len(whole) <= LONGEST_NAME_BYTES:
        return whole
    return f"{whole[:46]}_{hashlib.blake2b(name.encode(), digest_size=8).hexdigest()}"


def driver() -> ModuleType:
    try:
        import psycopg
    except ImportError:
        raise ImportError(not_installed("a PostgreSQL database needs psycopg", "postgres")) from None
    return psycopg


def parts(place: str) -> tuple[str, str | None]:
    """Split a URL into the part for PostgreSQL and the id of a survey, if any."""
    url, mark, name = place.rpartition("#")
    return (url, name) if mark and IDENTIFIER.fullmatch(name) else (place, None)


def connected(url: str) -> psycopg.Connection:
    """Connect to a server, with a timeout of a few seconds."""
    library = driver()
    options = {} if "connect_timeout=" in url else {"connect_timeout": CONNECT_SECONDS}
    try:
        library.conninfo.conninfo_to_dict(url)
    except library.Error:  # which would repeat the URL with its password
        raise ValueError(
            "PostgreSQL cannot read this URL; it is written postgresql://user:password@host/name, with special "
            "characters of a password as % and two hexadecimal digits"
        ) from None
    try:
        connection: psycopg.Connection = library.connect(url, autocommit=True, application_name="warner", **options)
    except library.Error as error:
        raise OSError(f"PostgreSQL: {first_line(error)}") from None
    return connection


def writing(url: str) -> psycopg.Connection:
    """Connect for writing; raise an error if the server would lose acknowledged responses or log them."""
    connection = connected(url)
    try:
        _turn_off_logging(connection)
        _make_durable(connection)
        connection.execute(f"set statement_timeout = {STATEMENT_MILLISECONDS}")
    except BaseException:
        connection.close()
        raise
    return connection


def _turn_off_logging(connection: psycopg.Connection) -> None:
    """Turn off settings under which the server would log responses, or raise an error."""
    library = driver()
    for name, accepted in SILENT_SETTINGS.items():
        with contextlib.suppress(library.errors.InsufficientPrivilege):
            connection.execute(f"set {name} = '{accepted[0]}'")
        value = single(connection, "select current_setting(%s)", name)
        if value not in accepted:
            raise ValueError(
                f"the PostgreSQL server would write responses to its log, because {name} is {value!r}; as a superuser: "
                f"alter role {connection.info.user} set {name} = '{accepted[0]}'"
            )


def _make_durable(connection: psycopg.Connection) -> None:
    if single(connection, "show fsync") != "on":
        raise ValueError("the PostgreSQL server has fsync off: it would lose responses that were acknowledged")
    if single(connection, "show synchronous_commit") == "off":
        connection.execute("set synchronous_commit = on")


@contextlib.contextmanager
def reading(place: str) -> Iterator[tuple[psycopg.Connection, str]]:
    """Yield a connection with a snapshot of a survey, and the name of its schema."""
    url, name = parts(place)
    library = driver()
    try:
        with connected(url) as connection:
            found = _schema(connection, name)
            connection.execute(f"set search_path = {found}")
            with connection.transaction():
                connection.execute("set transaction read only")
                lock(connection, SHARED, snapshot=True)
                yield connection, found
    except library.Error as error:
        raise OSError(f"PostgreSQL: {first_line(error)}") from None


def _schema(connection: psycopg.Connection, name: str | None) -> str:
    """Return the schema of a survey; the only one if the id is None."""
    rows = connection.execute(
        "select nspname from pg_namespace where obj_description(oid, 'pg_namespace') = %s order by 1", (SCHEMA_COMMENT,)
    )
    schemas: list[str] = [row[0] for row in rows.fetchall() if name is None or row[0] == schema(name)]
    if not schemas:
        raise ValueError(f"there is no survey{f' {name!r}' if name else ''} of warner collect in this database")
    if len(schemas) > 1:
        names = ", ".join(single(connection, f"select file::json ->> 'id' from {one}.survey") for one in schemas)
        raise ValueError(f"this database has several surveys ({names}); add # and the id of one to the URL")
    return schemas[0]


def lock(connection: psycopg.Connection, mode: str | None, *, wait: int = 0, snapshot: bool = False) -> None:
    """Lock the survey; with a snapshot, later reads see one state of the database."""
    if snapshot:
        connection.execute("set transaction isolation level repeatable read")
    if wait:
        connection.execute(f"set local lock_timeout = {wait}")
    if mode:
        connection.execute(f"lock table survey in {mode} mode")


def first_line(error: Exception) -> str:
    """Return the message of a PostgreSQL error without its details, which may contain values."""
    return str(error).strip().partition("\n")[0]


def single(connection: psycopg.Connection, query: str, *values: object) -> Any:
    row = connection.execute(query, values).fetchone()
    assert row is not None
    return row[0]


# Postgres


CLOSING_MILLISECONDS = 10_000  # that closing waits for readers
TIDYING_MILLISECONDS = 100  # that tidying waits for readers
REWRITING_PART_OF_TIME = 1 / 50  # that rewriting invitations may take

POSTGRES_TABLES = """
create table survey(fingerprint bytea primary key, file text not null, state text not null, closed text not null);
create table counts(writer integer, question integer, cell integer, pending bigint not null, published bigint not null,
    primary key(writer, question, cell)) with (fillfactor = 40);
create table invitations(token bytea primary key, receipt bytea not null);
create table seen(nonce bytea primary key);
create table days(writer integer, day text, pending bigint not null, published bigint not null,
    primary key(writer, day)) with (fillfactor = 40);
"""


# Only for free-text questions
POSTGRES_REPORTS = """
create table reports(question integer, stratum integer, report text collate "C", number bigint not null,
    primary key(question, stratum, report));
"""


class PostgresStore(Store):
    """Counts of a survey in a schema of a PostgreSQL database."""

    shared = True

    def __init__(self, place: str, survey: Survey) -> None:
        self.survey = survey
        self.published = 0
        self._url, _ = parts(place)
        self._schema = schema(survey.id)
        self._connection: psycopg.Connection | None = None
        self._stripe: int | None = None
        self._spent = False  # True if responses came since invitations and nonces were rewritten
        self._rewrite_after = -np.inf
        self._sent = Sent()
        self._kept: Kept | None = None  # reports of a closed survey, which are final

    @classmethod
    def opened(cls, place: str, survey: Survey) -> Self:
        _, name = parts(place)
        if name not in {None, survey.id}:
            raise ValueError(f"the database's URL names the survey {name!r}, but this is {survey.id!r}")
        store = cls(place, survey)
        try:
            store._make()
            with store._transaction(snapshot=True) as connection:
                contract.check_same_survey(survey, _survey(connection, store._schema), store._schema)
                store._check(connection)
                store._forget(connection)
        except BaseException:
            store._disconnect()
            raise
        return store

    def _make(self) -> None:
        with self._transaction(mode=None) as connection:
            connection.execute("select pg_advisory_xact_lock(hashtext(%s))", (self._schema,))
            row = connection.execute(
                "select obj_description(oid, 'pg_namespace') from pg_namespace where nspname = %s", (self._schema,)
            ).fetchone()
            if row is not None and row[0] != SCHEMA_COMMENT:
                raise ValueError(f"the schema {self._schema} is not one of {SCHEMA_COMMENT}, and is left as it is")
            if row is not None:
                return
            connection.execute(f"create schema {self._schema}")
            connection.execute(f"comment on schema {self._schema} is '{SCHEMA_COMMENT}'")
            connection.execute(POSTGRES_TABLES)
            if self.survey.open_questions:
                connection.execute(POSTGRES_REPORTS)
            text = (bytes.fromhex(self.survey.fingerprint), self.survey.to_json())
            connection.execute("insert into survey values(%s, %s, 'open', '')", text)
            for question, layout in enumerate(self.survey.layouts):
                cells = (question, self.survey.strata * layout.width - 1)
                connection.execute(
                    "insert into counts select 0, %s, cell, 0, 0 from generate_series(0, %s) cell", cells
                )

    def _check(self, connection: psycopg.Connection) -> None:
        numbers = _sums(connection)
        both = _counters(connection, self.survey, self._schema)
        kept = _numbers_kept(connection, self.survey)
        if self.survey.invited:
            query = "select count(*) from invitations where receipt not in (%s, %s)"
            spent = single(connection, query, contract.UNSPENT_RECEIPT, contract.REVOKED_RECEIPT)
        else:
            spent = single(connection, "select count(*) from seen")
        contract.check_consistent(self.survey, _state(connection), both, numbers, kept, spent, self._schema)
        self.published = numbers[1]

    def keep(self, bundles: Sequence[Bundle], *, limit: int | None = None) -> list[Outcome]:
        ledger = Ledger(self.survey, bundles, self._sent)
        self._take_stripe()
        limited = limit is not None or self.survey.stop is not None  # then processes count one after the other
        with self._transaction(mode=IN_TURN if limited else SHARED) as connection:
            state = _state(connection)
            waiting = single(connection, "select coalesce(sum(pending), 0) from days where writer = %s", self._stripe)
            pending, published = _sums(connection)
            entrance = contract.door(self.survey, state, pending + published, limit)
            outcomes, counted = ledger.settled(self._known(connection, ledger.keys), entrance)
            counted = self._remembered(connection, ledger, counted)
            if counted:
                waiting += len(counted)
                responses = pending + published + len(counted)
                step = contract.step_due(self.survey, waiting, responses)
                self._count(connection, list(counted.values()), publish=step)
                published += waiting if step else 0
                if contract.complete(self.survey, responses):
                    published = _shut(connection)
        self.published = published
        self._spent = self._spent or bool(counted)
        self._sent.add(counted.values())
        return outcomes

    def _take_stripe(self) -> None:
        """Lock the first unused stripe and create its counters."""
        if self._stripe is not None and self._connection is not None:
            return
        with self._transaction() as connection:
            oid = single(connection, "select oid::bigint from pg_namespace where nspname = %s", self._schema)
            # A lock of the session, which ends with the process.
            free = (k for k in count() if single(connection, "select pg_try_advisory_lock(%s)", (oid << 16) + k))
            stripe = next(free)
            connection.execute(
                "insert into counts select %s, question, cell, 0, 0 from counts where writer = 0 "
                "order by question, cell on conflict do nothing",
                (stripe,),
            )
        self._stripe = stripe

    def _known(self, connection: psycopg.Connection, keys: list[bytes]) -> dict[bytes, bytes]:
        if self.survey.invited:
            query = "select token, receipt from invitations where token = any(%s) order by token for update"
        else:
            query = "select nonce, nonce from seen where nonce = any(%s)"
        return dict(connection.execute(query, (keys,)).fetchall())

    def _remembered(
        self, connection: psycopg.Connection, ledger: Ledger, counted: dict[bytes, Bundle]
    ) -> dict[bytes, Bundle]:
        """Spend invitations or store nonces; return the responses that no other process has kept meanwhile."""
        keys = sorted(counted)
        if self.survey.invited:
            receipts = [ledger.receipt(counted[token]) for token in keys]
            connection.execute(
                "update invitations set receipt = new.receipt "
                "from unnest(%s::bytea[], %s::bytea[]) as new(token, receipt) where invitations.token = new.token",
                (keys, receipts),
            )
            return counted
        rows = connection.execute(
            "insert into seen select unnest(%s::bytea[]) order by 1 on conflict do nothing returning nonce", (keys,)
        )
        return {nonce: counted[nonce] for (nonce,) in rows.fetchall()}

    def _count(self, connection: psycopg.Connection, bundles: list[Bundle], *, publish: bool) -> None:
        """Add responses to the counters of this stripe; every counter is written, also one that does not change."""
        cells_added = [
            (question, cell, int(cells[cell]))
            for question, cells in enumerate(contract.added(self.survey, bundles))
            for cell in np.flatnonzero(cells).tolist()
        ]
        sums = "counts.pending + sums.amount"
        change = f"published = published + {sums}, pending = 0" if publish else f"pending = {sums}"
        connection.execute(
            f"update counts set {change} from ("
            "  select question, cell, coalesce(amount, 0) as amount from counts as own left join"
            "  unnest(%s::integer[], %s::integer[], %s::bigint[]) as new(question, cell, amount) using (question, cell)"
            "  where own.writer = %s"
            ") as sums where writer = %s and counts.question = sums.question and counts.cell = sums.cell",
            (*(list(column) for column in zip(*cells_added, strict=True)), self._stripe, self._stripe),
        )
        if kept := contract.kept_reports(bundles):
            columns = [[report[part] for report, _ in kept] for part in range(3)]
            connection.execute(
                "insert into reports select * from unnest(%s::integer[], %s::integer[], %s::text[], %s::bigint[]) "
                "on conflict (question, stratum, report) do update set number = reports.number + excluded.number",
                (*columns, [number for _, number in kept]),
            )
        connection.execute(
            "insert into days values(%s, %s, %s, 0) "
            "on conflict (writer, day) do update set pending = days.pending + excluded.pending",
            (self._stripe, contract.today().isoformat(), len(bundles)),
        )
        if publish:
            connection.execute(
                "update days set published = published + pending, pending = 0 where writer = %s", (self._stripe,)
            )

    def close(self) -> None:
        with self._transaction(mode=ALONE, wait=CLOSING_MILLISECONDS) as connection:
            self.published = _shut(connection)
            _rewrite(connection, self.survey)
        self._spent = False

    def invite(self, tokens: Sequence[bytes]) -> None:
        with self._transaction(mode=ALONE, wait=CLOSING_MILLISECONDS) as connection:
            contract.check_invitations(self.survey, _state(connection), tokens)
            hashes = [contract.hashed("token", token) for token in tokens]
            connection.execute(
                "insert into invitations select unnest(%s::bytea[]), %s", (hashes, contract.UNSPENT_RECEIPT)
            )
            _rewrite(connection, self.survey)

    def revoke(self, tokens: Sequence[bytes]) -> int:
        with self._transaction(mode=ALONE, wait=CLOSING_MILLISECONDS) as connection:
            hashes = sorted(contract.hashed("token", token) for token in tokens)
            used = contract.used_among(tokens, self._known(connection, hashes))
            connection.execute(
                "update invitations set receipt = %s where token = any(%s) and receipt = %s",
                (contract.REVOKED_RECEIPT, hashes, contract.UNSPENT_RECEIPT),
            )
            _rewrite(connection, self.survey)
        return used

    def standing(self, token: bytes | None) -> Outcome | None:
        key = b"" if token is None else contract.hashed("token", token)
        with self._transaction() as connection:
            entrance = contract.door(self.survey, _state(connection), sum(_sums(connection)))
            row = connection.execute("select receipt from invitations where token = %s", (key,)).fetchone()
        return contract.standing(self.survey, row[0] if row else None, entrance)

    def collected(self) -> Collected:
        with self._transaction(snapshot=True) as connection:
            collected = _collected(connection, self.survey, self._schema, self._kept)
        self._kept = collected.reports if collected.state == "closed" else None
        return collected

    def healthy(self) -> bool:
        try:
            with self._transaction(mode="row exclusive") as connection:
                connection.execute("update survey set state = state")
        except OSError:
            return False
        return True

    def tidy(self) -> bool:
        """Publish a step that waits in several stripes, rewrite spent or added rows, delete old nonces."""
        with self._transaction() as connection:
            self._forget(connection)
            due = _state(connection) == "open" and self._due(connection)
        spent = self._spent
        if not due and not spent:
            return True
        if not due and time.monotonic() < self._rewrite_after:
            return False
        start = time.monotonic()
        try:
            with self._transaction(mode=ALONE, wait=TIDYING_MILLISECONDS) as connection:
                if self._due(connection):
                    _publish(connection)
                self.published = _sums(connection)[1]
                if spent:
                    _rewrite(connection, self.survey)
            self._spent = False
        except TimeoutError:
            return False
        finally:
            end = time.monotonic()
            self._rewrite_after = end + (end - start) / REWRITING_PART_OF_TIME
        return True

    def _due(self, connection: psycopg.Connection) -> bool:
        pending, published = _sums(connection)
        return contract.step_due(self.survey, pending, pending + published)

    def _forget(self, connection: psycopg.Connection) -> None:
        closed = single(connection, "select closed from survey")
        if closed and contract.today() >= date.fromisoformat(closed) + contract.NONCES_KEPT:
            connection.execute("delete from seen")

    def release(self) -> None:
        """Release the stripe; its pending responses are published by its next process or at the closing."""
        if self._spent:
            with contextlib.suppress(OSError), self._transaction(mode=ALONE, wait=TIDYING_MILLISECONDS) as connection:
                _rewrite(connection, self.survey)
        if self._connection is not None:  # the server releases the stripe of a closed connection with a delay
            with contextlib.suppress(OSError), self._transaction(mode=None) as connection:
                connection.execute("select pg_advisory_unlock_all()")
        self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = self._stripe = None

    @contextlib.contextmanager
    def _transaction(
        self, *, mode: str | None = SHARED, wait: int = 0, snapshot: bool = False
    ) -> Iterator[psycopg.Connection]:
        """Run a durable transaction; the next one replaces a lost connection."""
        library = driver()
        try:
            if self._connection is None:
                self._connection = writing(self._url)
                self._connection.execute(f"set search_path = {self._schema}")
            with self._connection.transaction():
                lock(self._connection, mode, wait=wait, snapshot=snapshot)
                yield self._connection
        except library.errors.LockNotAvailable:
            raise TimeoutError(
                f"{self._schema} is being read, and the reader did not finish in time; try again"
            ) from None
        except library.Error as error:
            raise OSError(f"PostgreSQL: {first_line(error)}") from None
        finally:
            if self._connection is not None and self._connection.closed:
                self._disconnect()


def read(place: str) -> Collected:
    """Read the published state of a survey; the URL may end with ``#`` and the id of one of several surveys."""
    with reading(place) as (connection, name):
        return _collected(connection, _survey(connection, name), name)


def backup(place: str, target: str) -> None:
    """Copy a survey to a new SQLite file, with the sums of all stripes."""
    with reading(place) as (connection, name):
        survey = _survey(connection, name)
        pending, published = _counters(connection, survey, name)
        state, closed = connection.execute("select state, closed from survey").fetchone() or ("", "")
        with connection.cursor("invited") as invited, connection.cursor("seen") as seen:
            invitations = invited.execute("select token, receipt from invitations order by token")
            nonces = seen.execute("select nonce from seen order by nonce")
            days, reports = _days(connection), _reports(connection, survey)
            contract.save(
                Path(target), Contents(survey, state, closed, pending, published, days, invitations, nonces, reports)
            )


def _survey(connection: psycopg.Connection, where: str) -> Survey:
    rows = connection.execute("select fingerprint, file from survey").fetchall()
    if len(rows) != 1:
        raise contract.damaged(where, f"it has {len(rows)} surveys instead of one")
    return contract.stored_survey(rows[0][0], rows[0][1], where)


def _state(connection: psycopg.Connection) -> str:
    return str(single(connection, "select state from survey"))


def _sums(connection: psycopg.Connection) -> tuple[int, int]:
    """Return the number of pending responses in all stripes and of published responses."""
    days = _days(connection)
    return sum(day[1] for day in days), sum(day[2] for day in days)


def _days(connection: psycopg.Connection) -> list[tuple[str, int, int]]:
    return connection.execute(
        "select day, sum(pending)::bigint, sum(published)::bigint from days group by day order by day"
    ).fetchall()


def _counters(connection: psycopg.Connection, survey: Survey, where: str) -> list[list[Integers]]:
    """Return the pending and published counters of each question, summed over all stripes."""
    rows = connection.execute(
        "select question, sum(pending)::bigint, sum(published)::bigint from counts "
        "group by question, cell order by question, cell"
    ).fetchall()
    return contract.by_layout(survey, np.array(rows, dtype=np.int64).reshape(-1, 3), where)


def _collected(connection: psycopg.Connection, survey: Survey, where: str, kept: Kept | None = None) -> Collected:
    _, published = _counters(connection, survey, where)
    days = {day: shown for day, _, shown in _days(connection) if shown}
    responses = contract.check_balance(survey, published, sum(days.values()), where)
    invited = single(connection, "select count(*) from invitations where receipt <> %s", contract.REVOKED_RECEIPT)
    revoked = single(connection, "select count(*) from invitations where receipt = %s", contract.REVOKED_RECEIPT)
    state, reports = _state(connection), kept or {}
    if survey.open_questions and state == "closed" and kept is None:
        contract.check_kept_reports(survey, [published], _numbers_kept(connection, survey), where)
        reports = contract.by_question(_reports(connection, survey))
    return Collected(survey, state, responses, contract.folded(survey, published), days, invited, revoked, reports)


def _numbers_kept(connection: psycopg.Connection, survey: Survey) -> list[tuple[int, int, int]]:
    if not survey.open_questions:
        return []
    return connection.execute("select question, stratum, sum(number)::bigint from reports group by 1, 2").fetchall()


def _reports(connection: psycopg.Connection, survey: Survey) -> list[tuple[int, int, str, int]]:
    if not survey.open_questions:
        return []
    return connection.execute("select question, stratum, report, number from reports order by 1, 2, 3").fetchall()


def _publish(connection: psycopg.Connection) -> None:
    """Publish all pending responses, under an exclusive lock."""
    for table in ("counts", "days"):
        connection.execute(f"update {table} set published = published + pending, pending = 0")


def _shut(connection: psycopg.Connection) -> int:
    """Publish all pending responses and close the survey; return the number of responses."""
    _publish(connection)
    closing = (contract.today().isoformat(),)
    connection.execute("update survey set state = 'closed', closed = %s where state = 'open'", closing)
    return _sums(connection)[1]


def _rewrite(connection: psycopg.Connection, survey: Survey) -> None:
    """Rewrite all spent or added rows in the order of their keys, so that they share one transaction."""
    tables = {"invitations": "1", "seen": "1", **({"reports": "1, 2, 3"} if survey.open_questions else {})}
    for table, keys in tables.items():
        connection.execute(f"create temporary table sorted on commit drop as select * from {table}")
        connection.execute(f"truncate {table}")
        connection.execute(f"insert into {table} select * from sorted order by {keys}")
        connection.execute("drop table sorted")
