"""Where counts are kept: an SQLite file by default, or a PostgreSQL database by its URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warner.service.stores.contract import Collected, Store
    from warner.service.survey import Survey


def is_url(place: str) -> bool:
    """Tell whether a database is meant that is reached by a URL, and not a file."""
    return place.startswith(("postgresql://", "postgres://"))


def opened(place: str, survey: Survey) -> Store:
    """Open the database of a survey for writing, as its only process; make it if there is none."""
    if is_url(place):
        from warner.service.stores.postgres import PostgresStore

        return PostgresStore.opened(place, survey)
    from warner.service.stores.sqlite import SqliteStore

    return SqliteStore.opened(place, survey)


def collected(place: str) -> Collected:
    """Read what a database has published, beside a running survey or not; nothing is changed."""
    if is_url(place):
        from warner.service.stores.postgres import read

        return read(place)
    from warner.service.stores.sqlite import read

    return read(place)
