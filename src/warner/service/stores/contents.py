"""Contents of a database, and a new SQLite file that holds them: its tables, whole or not at all."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from warner.service.stores.new_files import fresh

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from warner.arrays import Integers
    from warner.service.survey import Survey

APPLICATION_ID = int.from_bytes(b"wrnr")  # says in the header of the file whose database it is
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
# Only where people answer in their own words
SQLITE_REPORTS = """
create table reports(question integer, stratum integer, report text, number not null,
    primary key(question, stratum, report)) without rowid;
"""


@dataclass(frozen=True)
class Contents:
    """All that a database holds.

    Attributes
    ----------
    survey : Survey
        What is asked.
    state, closed : str
        "open" or "closed", and the day of closing, or nothing.
    pending, published : sequence of ndarray
        For each question its counters.
    days : iterable of (str, int, int)
        Each day with its pending and published responses.
    invitations, seen : iterable of tuples of bytes
        Invitations with their receipts, and nonces, in their order.
    reports : iterable of (int, int, str, int)
        Kept reports in their order: question, joint group, report, and how often it came.
    """

    survey: Survey
    state: str = "open"
    closed: str = ""
    pending: Sequence[Integers] = ()
    published: Sequence[Integers] = ()
    days: Iterable[tuple[str, int, int]] = ()
    invitations: Iterable[tuple[bytes, bytes]] = field(default=(), repr=False)
    seen: Iterable[tuple[bytes]] = field(default=(), repr=False)
    reports: Iterable[tuple[int, int, str, int]] = field(default=(), repr=False)


def save(path: Path, contents: Contents) -> None:
    """Make a database with these contents, whole or not at all, for its owner only."""
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
    """Name the file in errors of SQLite; their texts carry no values."""
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(f"{path}: {error}") from None
