"""Where counts are kept: an SQLite file by default, or a PostgreSQL database by its URL.

Its files::

    contract           what a store must do; Collected: what it has published
    sqlite     counts in one SQLite file, which shows no order
    postgres   counts in a schema of a PostgreSQL database, for several processes
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    from warner.service.stores.contract import Collected, Store
    from warner.service.survey import Survey


def is_url(place: str) -> bool:
    """Return whether the text is the URL of a database and not a file name."""
    return place.startswith(("postgresql://", "postgres://"))


def opened(place: str, survey: Survey) -> Store:
    """Open the database of a survey for writing; make it if there is none. A file is held by one process only."""
    if is_url(place):
        from warner.service.stores.postgres import PostgresStore

        return PostgresStore.opened(place, survey)
    from warner.service.stores.sqlite import SqliteStore

    return SqliteStore.opened(place, survey)


def collected(place: str) -> Collected:
    """Read what a database has published, beside a running survey or not; nothing is changed."""
    if is_url(place):
        from warner.service.stores.postgres import read
    else:
        from warner.service.stores.sqlite import read
    return read(place)


def backup(place: str, target: str) -> None:
    """Copy a database to a new SQLite file, beside a running survey or not; no file is written over."""
    if is_url(place):
        from warner.service.stores.postgres import backup as copy
    else:
        from warner.service.stores.sqlite import backup as copy
    copy(place, target)


def without_password(place: str) -> str:
    """Return the name of a database without its password.

    >>> without_password("postgresql://survey:secret@db.example/warner?sslmode=require&password=x")
    'postgresql://survey@db.example/warner?sslmode=require'
    """
    if not is_url(place):
        return place
    parts = urlsplit(place)
    user, at, hosts = parts.netloc.rpartition("@")
    options = "&".join(option for option in parts.query.split("&") if not option.startswith(("password=", "sslpass")))
    return urlunsplit((parts.scheme, f"{user.split(':')[0]}{at}{hosts}", parts.path, options, parts.fragment))
