"""Stores of counts: an SQLite file by default, or a PostgreSQL database given by its URL.

Its files::

    contract   interface of a store, and its published state
    sqlite     counts in an SQLite file
    postgres   counts in a schema of a PostgreSQL database, for several processes
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    from warner.service.stores.contract import Collected, Store
    from warner.service.survey import Survey


def is_url(place: str) -> bool:
    """Return True for the URL of a database, False for a file name."""
    return place.startswith(("postgresql://", "postgres://"))


def opened(place: str, survey: Survey) -> Store:
    """Open or create the database of a survey for writing; a file is open in one process only."""
    if is_url(place):
        from warner.service.stores.postgres import PostgresStore

        return PostgresStore.opened(place, survey)
    from warner.service.stores.sqlite import SqliteStore

    return SqliteStore.opened(place, survey)


def collected(place: str) -> Collected:
    """Read the published state of a database without changing it, even while the survey is running."""
    if is_url(place):
        from warner.service.stores.postgres import read
    else:
        from warner.service.stores.sqlite import read
    return read(place)


def backup(place: str, target: str) -> None:
    """Copy a database to a new SQLite file, even while the survey is running."""
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
