"""The first line of a text file: which columns there are, and what stands between them.

Nothing else is guessed from a text file. A reader that looks for a dialect by itself may take another line for the
header, or lines for comments, and leave reports out without a word.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from warner.designs.labels import HALF

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LONGEST_HEADER = 2**20  # characters
DELIMITERS = ",\t;|"
NOWHERE = "\x1f"  # the delimiter of a single column: no value is cut
QUOTED = re.compile('"[^"]*"')


def open_text(name: str, encoding: str = "utf-8-sig", errors: str = "strict") -> TextIO:
    """Open a text file, gzipped or not, with its lines as they are."""
    if name.lower().endswith(".gz"):
        return io.TextIOWrapper(gzip.open(name, "rb"), encoding=encoding, errors=errors, newline="")
    return Path(name).open(encoding=encoding, errors=errors, newline="")


def header(name: str, delimiter: str | None = None, *, secret: bool = False) -> tuple[list[str], str]:
    """Read the names of the columns of a text file, and its delimiter, which the header tells if it is not given."""
    try:
        with open_text(name, errors="surrogateescape") as file:
            record = first_record(file)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise ValueError(f"{name} ends in .gz, but is not gzipped, or damaged") from None
    if not record.strip():
        raise ValueError(f"{name} is empty: there is not even a header")
    if "\0" in record:
        raise ValueError(
            f"{name} is not a CSV file in UTF-8: its first line is binary. If it is text, give its encoding, such as "
            'encoding="utf-16"'
        )
    if HALF.search(record):
        raise ValueError(f'{name} is not UTF-8, in its first line; give its encoding, such as encoding="cp1252"')
    mark = delimiter_of(record) if delimiter is None else delimiter
    names = next(csv.reader(io.StringIO(record, newline=""), delimiter=mark))
    names = [column or f"column{place}" for place, column in enumerate(names)]  # a row's number often has no name
    refuse_duplicates(names, secret=secret)
    return names, mark


def first_record(lines: TextIO) -> str:
    """Read the first line, and on where a name in quotation marks has a line break."""
    record = lines.readline(LONGEST_HEADER)
    while record.count('"') % 2 and len(record) < LONGEST_HEADER and (line := lines.readline(LONGEST_HEADER)):
        record += line
    return record


def delimiter_of(record: str) -> str:
    """Give the delimiter that stands in a header most often, outside of quotation marks.

    >>> delimiter_of('id;"Have you ever, in 2024, driven?";answer')
    ';'
    """
    outside = QUOTED.sub("", record)
    mark = max(DELIMITERS, key=outside.count)
    return mark if mark in outside else NOWHERE


def refuse_duplicates(names: Sequence[str], *, secret: bool = False) -> None:
    """Refuse columns of one name, of which nobody can tell which is meant; engines do not tell capitals apart."""
    seen: dict[str, str] = {}
    for name in names:
        if (same := seen.setdefault(name.lower(), name)) != name or names.count(name) > 1:
            which = "" if secret else f", but got {same!r} and {name!r}"
            raise ValueError(f"the columns must have different names (capitals make no difference){which}")


def csv_query(files: Iterable[str], names: Sequence[str], delimiter: str, **options: bool) -> str:
    """Give the SQL that reads text files in DuckDB: every column as text, and nothing guessed."""
    listed = ", ".join(map(sql_text, files))
    columns = ", ".join(f"{sql_text(name)}: 'VARCHAR'" for name in names)
    settings = {"auto_detect": False, "header": True, **options}
    written = ", ".join(f"{name} = {str(value).lower()}" for name, value in settings.items())
    return (
        f"SELECT * FROM read_csv([{listed}], columns = {{{columns}}}, delim = {sql_text(delimiter)}, quote = '\"', "
        f"escape = '\"', comment = '', {written})"
    )


def sql_text(text: str) -> str:
    """Write a text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"
