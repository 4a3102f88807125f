"""Connections to a PostgreSQL server: what is asked of it before anything is written, and the lock that comes first."""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING, Any

from warner.service.survey import IDENTIFIER
from warner.words import not_installed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    import psycopg

SCHEMA_COMMENT = "warner collect 1"  # the comment on a schema of ours; the version of the tables
LONGEST_NAME_BYTES = 63  # bytes of a name in PostgreSQL
STATEMENT_MILLISECONDS = 10_000  # after which a statement is given up: somebody holds a lock, or the disk is stuck
CONNECT_SECONDS = 5  # seconds, if the URL says nothing else

SHARED, ALONE = "access share", "access exclusive"  # modes of the lock on the survey
IN_TURN = "share row exclusive"  # one process after the other, beside those who read

# Settings of the server under which it writes nothing of a response to its log, with the values that are fine.
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
    """Return the module psycopg, or raise an error if it is not installed."""
    try:
        import psycopg
    except ImportError:
        raise ImportError(not_installed("a PostgreSQL database needs psycopg", "postgres")) from None
    return psycopg


def parts(place: str) -> tuple[str, str | None]:
    """Split a URL into the part that PostgreSQL reads and the id of a survey, if any."""
    url, mark, name = place.rpartition("#")
    return (url, name) if mark and IDENTIFIER.fullmatch(name) else (place, None)


def connected(url: str) -> psycopg.Connection:
    """Connect to a server, in a few seconds or not at all."""
    library = driver()
    options = {} if "connect_timeout=" in url else {"connect_timeout": CONNECT_SECONDS}
    try:
        library.conninfo.conninfo_to_dict(url)
    except library.Error:  # which would repeat the URL, with its password
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
    """Connect for writing; refuse a server that would lose what it acknowledges, or write responses to its log."""
    connection = connected(url)
    try:
        _silence(connection)
        _wait_for_the_disk(connection)
        connection.execute(f"set statement_timeout = {STATEMENT_MILLISECONDS}")
    except BaseException:
        connection.close()
        raise
    return connection


def _silence(connection: psycopg.Connection) -> None:
    """Turn off what the server would log of responses, or refuse it."""
    library = driver()
    for name, fine in SILENT_SETTINGS.items():
        with contextlib.suppress(library.errors.InsufficientPrivilege):
            connection.execute(f"set {name} = '{fine[0]}'")
        now = single(connection, "select current_setting(%s)", name)
        if now not in fine:
            raise ValueError(
                f"the PostgreSQL server would write responses to its log, because {name} is {now!r}; as a superuser: "
                f"alter role {connection.info.user} set {name} = '{fine[0]}'"
            )


def _wait_for_the_disk(connection: psycopg.Connection) -> None:
    """Have a transaction on disk before it is acknowledged, or refuse the server."""
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
            mine = _schema(connection, name)
            connection.execute(f"set search_path = {mine}")
            with connection.transaction():
                connection.execute("set transaction read only")
                lock(connection, SHARED, snapshot=True)
                yield connection, mine
    except library.Error as error:
        raise OSError(f"PostgreSQL: {first_line(error)}") from None


def _schema(connection: psycopg.Connection, name: str | None) -> str:
    """Find the schema of a survey; the only one if no id is given."""
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
    """Acquire the first lock in the lock order; with a snapshot, later reads see one state of the database."""
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
    """Return the single value of a query."""
    row = connection.execute(query, values).fetchone()
    assert row is not None
    return row[0]
