"""A table of a database, from the words of a shell: its URL or its file, and the name of the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from warner.reports.files import is_duckdb, is_sqlite
from warner.words import not_installed


def database_table(place: str, table: str | None) -> Any:
    """Open a table for reading, by Ibis."""
    if table is None:
        raise ValueError("--table must name the table of the database")
    scheme, slashes, file = place.partition("://")
    if not slashes:
        scheme, file = engine_of(place), place
    if scheme in {"sqlite", "duckdb"} and not Path(file).is_file():  # or an empty one would be made
        raise ValueError(f"there is no database file {file}")
    try:
        import ibis
    except ImportError:
        raise ImportError(not_installed("a table of a database needs Ibis", "sql")) from None
    try:
        if slashes:
            return ibis.connect(place).table(table)
        database = ibis.duckdb.connect(file, read_only=True) if scheme == "duckdb" else ibis.sqlite.connect(file)
        return database.table(table)
    except Exception as error:  # noqa: BLE001 - each engine has errors of its own
        raise ValueError(
            f"{table!r} cannot be read from {scheme}: {type(error).__name__}: {str(error).splitlines()[0]}"
        ) from None


def engine_of(place: str) -> str:
    """Tell which engine a database file is of, by its first bytes."""
    path = Path(place)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {place}")
    if is_sqlite(path):
        return "sqlite"
    if is_duckdb(path):
        return "duckdb"
    raise ValueError(f"--table is for a table of a database, but {place} is not a DuckDB or SQLite file; leave it out")
