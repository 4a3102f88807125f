"""Opening files: CSV, Parquet and JSON lines in DuckDB, gzipped or not; what an engine says of them in plain words.

Of a text file the first line tells which columns there are, and what stands between them; nothing else is guessed. A
reader that looks for a dialect by itself may take another line for the header, or lines for comments, and leave reports
out without a word. Files of SPSS, Stata and SAS are opened by way of `labelled`, Excel files by way of `excel`.
"""

from __future__ import annotations

import csv
import glob
import gzip
import io
import re
import zlib
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import narwhals as nw

from warner.designs.labels import LONE_SURROGATE
from warner.documents import format_of, is_pipe
from warner.memory import refuse_small_address_space
from warner.reports.formats import LABELLED, TEXTS, kind_of, refuse_foreign
from warner.reports.paths import files_of, partition, partition_columns, places_of, shown
from warner.reports.queries import Table
from warner.words import not_installed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from warner.documents import Document
    from warner.reports.paths import Place

LONGEST_HEADER = 2**20  # characters
DELIMITERS = ",\t;|"
NOWHERE = "\x1f"  # the delimiter of a single column: no value is cut
QUOTED = re.compile('"[^"]*"')
LOOKS = {"DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "UUID"}  # of text in JSON that DuckDB converts
LINE = re.compile(r"CSV Error on Line: (\d+)")
NO_NUMBER = re.compile(r"Could not convert string '(.*?)' to DOUBLE.*?source column ([^\n]*)", re.DOTALL)
COMMA = re.compile(r"Could not convert string '([\d+-]*,\d*)' to DOUBLE.*?source column ([^\n]*)", re.DOTALL)
THOUSANDS = re.compile(
    r"Could not convert string '([+-]?\d{1,3}(?:[.,' ]\d{3})+[.,]?\d*)' to DOUBLE.*?source column ([^\n]*)", re.DOTALL
)
ENGINES = {"duckdb", "_duckdb", "narwhals", "pyarrow", "polars", "pyspark", "py4j", "ibis"}  # whose errors are told
OURS = re.compile(r"cannot be read: ([^\n]*?)\. Detail: Python exception")  # by `readstat` and `excel`, within a query
TELLING = {  # what DuckDB says of a text file, and what it means
    COMMA: 'column {1!r} must hold numbers, but has {0!r}; give decimal="," for decimal commas',
    THOUSANDS: "column {1!r} must hold numbers, but has {0!r}; write them without separators of thousands",
    NO_NUMBER: "column {1!r} must hold numbers, but has {0!r}",
    re.compile(
        r"Expected Number of Columns: (\d+) Found: (\d+)"
    ): "{place} has another number of values ({1}) than the header ({0})",
    re.compile("unterminated quote|quote should be followed"): "{place} opens a quotation mark that is not closed; one "
    "within a value must be doubled",
    re.compile(r"Maximum line size of (\d+) bytes"): "{place} is longer than {0} bytes",
    re.compile("unicode|not utf-8", re.IGNORECASE): '{place} is not UTF-8; give its encoding, as encoding="cp1252"',
    re.compile(r"Expected unique column names, got:\n- '(.*?)'"): "there is more than one column {0!r}",
    re.compile("state machine"): "its quotation marks, or the ends of its lines, differ from line to line",
}
SAVED = {f"warner {what}": ": counts, which Tally.load reads" for what in ("tally", "pool")}
SQLITE, DUCKDB = b"SQLite format 3\0", b"DUCK"  # how databases begin, that of DuckDB after eight bytes


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
    if LONE_SURROGATE.search(record):
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


def open_files(
    given: Place | Sequence[Place],
    *,
    secret: bool = False,
    columns_only: bool = False,
    encoding: str | None = None,
    sheet: str | None = None,
) -> Table:
    """Open a file, or all files of patterns and folders; with ``secret``, errors tell nothing of what is in them.

    With ``columns_only``, for those who read Parquet files by themselves, the frame of these has no rows. The encoding
    is for SPSS, Stata and SAS files that do not tell it, the `sheet` for Excel files.
    """
    from warner.reports import excel, labelled, readstat

    places = places_of(given)
    name, files = shown(places), list(files_of(places))
    if is_sqlite(Path(files[0])):
        raise ValueError(
            f"{name} is an SQLite database, which has no column of reports to read here: the counts of a survey are "
            "read by tally, and by the commands estimate and check; a table, through Ibis"
        )
    if is_duckdb(Path(files[0])):
        raise ValueError(f"{name} is a DuckDB database; open it in Python first, or name a table of it with table=")
    if is_pipe(Path(files[0])):
        raise ValueError(f"{name} must be a file, but is a pipe or a device, which can be read only once; use -")
    for file in files:
        refuse_foreign(file)
        if kind_of(file) == "json" and (document := format_of(Path(file))) is not None:
            raise ValueError(f"{file} must hold reports, but is a {document}{SAVED.get(document, '')}")
    kinds = {kind_of(file) for file in files}
    if len(kinds) > 1:
        raise ValueError(
            f"{name} holds or matches files of different kinds ({', '.join(sorted(kinds))}); give one kind at a time, "
            "by a pattern such as folder/*.csv"
        )
    kind = kinds.pop()
    if sheet is not None and kind != "Excel":
        raise ValueError(f"sheet must be left out for {name}, which is not an Excel file, but got {sheet!r}")
    with engine_errors(name, secret=secret):
        if columns_only and kind == "parquet":  # without DuckDB, which takes memory
            frame_of = partial(_without_rows)
        elif kind in LABELLED:
            described = readstat.described(kind, files, encoding)
            frame_of = partial(labelled.relation, _database(), kind, described, encoding=encoding, secret=secret)
        elif kind == "Excel":
            frame_of = partial(excel.relation, _database(), sheet=sheet, secret=secret)
        else:
            frame_of = partial(_relation, _database(), kind, secret=secret)
        first = nw.from_native(frame_of(files[:1]))
        for file in files[1:]:
            # DuckDB matches the columns of several files by their position: they must be the same, in the same order.
            other = nw.from_native(frame_of([file]))
            if list(other.collect_schema().items()) != list(first.collect_schema().items()):
                raise ValueError(
                    f"{file} must have the same columns as {files[0]}, in the same order and of the same types"
                )
        partitions = partition_columns(files)
        if partitions.keys() & first.collect_schema().keys():
            partitions = {}  # what a file holds itself is taken from there
        whole = first if len(files) == 1 and not partitions else nw.from_native(frame_of(files, bool(partitions)))
        text = kind in TEXTS
        numbers = [] if text else [key for key, of_numbers in partitions.items() if of_numbers]
        whole = whole.with_columns(nw.col(*numbers).cast(nw.Int64)) if numbers else whole
        if kind in LABELLED:  # which nobody may read past their labels
            return Table(whole, text, name, (), places, tuple(partitions), described[files[0]].labels)
        return Table(whole, text, name, tuple(files), places, tuple(partitions))


def is_sqlite(path: Path) -> bool:
    """Tell whether a file is an SQLite database, by its first bytes."""
    return _begins(path, SQLITE)


def is_duckdb(path: Path) -> bool:
    """Tell whether a file is a database of DuckDB."""
    return _begins(path, DUCKDB, 8)


def _begins(path: Path, mark: bytes, place: int = 0) -> bool:
    """Tell whether a file has these bytes at a place near its beginning."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(place + len(mark))[place:] == mark


def _database() -> Any:
    refuse_small_address_space()
    try:
        import duckdb
    except ImportError:
        raise ImportError(not_installed("reading files needs DuckDB", "cli")) from None
    return duckdb.connect()


def _relation(database: Any, kind: str, files: list[str], partitioned: bool = False, *, secret: bool = False) -> Any:
    exactly = [glob.escape(file) for file in files]  # or DuckDB would take [ and ? in a name for a pattern
    folders: Document = {"hive_partitioning": partitioned, "hive_types_autocast": False}  # the names, as texts
    if kind == "parquet":
        refuse_duplicates(_without_rows(files[:1]).column_names, secret=secret)  # DuckDB would rename them
        if not partitioned:
            return database.read_parquet(exactly)
        listed = ", ".join(map(sql_text, exactly))
        return database.sql(
            f"SELECT * FROM read_parquet([{listed}], hive_partitioning = true, hive_types_autocast = false)"
        )
    if kind == "json":
        read = partial(database.read_json, exactly, format=_layout(files), **folders)
        found = read(sample_size=-1)
        types = dict(zip(found.columns, map(str, found.types), strict=True))
        # JSON has no dates, times and identifiers: what looks like one may be a label, and stays text.
        texts = {name: "VARCHAR" for name, kind in types.items() if kind in LOOKS}
        return read(columns=types | texts) if texts else found
    names, mark = header(files[0], "\t" if kind == "tsv" else None, secret=secret)
    return database.sql(csv_query(exactly, names, mark, **folders))


def _layout(files: list[str]) -> str:
    """Tell whether JSON files are an array of objects each, or have one object per line."""
    layouts = {"array" if _beginning(file).lstrip().startswith("[") else "newline_delimited" for file in files}
    if len(layouts) > 1:
        raise ValueError("JSON files must all be arrays, or all have one object per line, but these differ")
    return layouts.pop()


def _beginning(name: str) -> str:
    """Read what a file begins with; of a damaged one nothing, which its reader will say."""
    try:
        with open_text(name, errors="replace") as file:
            return file.read(2**10)
    except (OSError, EOFError, zlib.error):
        return ""


def _without_rows(files: list[str], partitioned: bool = False) -> Any:
    """Give a table with the columns of Parquet files, which are alike, and none of their rows."""
    refuse_small_address_space()
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ImportError(not_installed("reading Parquet files needs PyArrow", "cli")) from None
    schema = pq.read_schema(files[0])
    for name in partition(files[0]) if partitioned else ():
        schema = schema.append(pa.field(name, pa.string()))
    return pa.Table.from_batches([], schema=schema)


@contextmanager
def engine_errors(name: str, *, secret: bool = False) -> Iterator[None]:
    """Turn an engine's error on a file into a plain one that names the file; no word of it where that is secret."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ENGINES:
            raise
        ours = OURS.search(str(error))  # what we say ourselves, within a query, tells no value
        telling = f": {ours[1]}" if ours else "" if secret else f": {telling_line(str(error))}"
        raise ValueError(f"{name} cannot be read{telling}") from None


def telling_line(error: str) -> str:
    """Say in one line what DuckDB says in many; never the line of the file, which it shows as well."""
    place = f"line {found[1]}" if (found := LINE.search(error)) else "a line"
    for pattern, words in TELLING.items():
        if found := pattern.search(error):
            return words.format(*found.groups(), place=place)
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    return next((line for line in lines if not LINE.search(line) and "Original Line" not in line), "") or lines[0]
