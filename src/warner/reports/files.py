"""Files of reports: formats, paths, heads, and opening CSV, Parquet and JSON files in DuckDB.

The header of a text file determines its columns and its delimiter, without detection by the engine. A reader that
detects a dialect may take another line for the header, or lines for comments, and silently omit reports.
"""

from __future__ import annotations

import csv
import fnmatch
import glob
import gzip
import io
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TextIO, TypeAlias, TypeGuard
from urllib.parse import unquote

from warner.designs.labels import LONE_SURROGATE
from warner.documents import HEAD_BYTES, format_within, is_pipe, named_as_given, resolved
from warner.reports.options import PLAIN
from warner.reports.queries import Table
from warner.runtime import refuse_small_address_space
from warner.text import enumerated, not_installed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from warner.reports.options import Reading
    from warner.reports.readstat import Labels


# Formats


class Format(NamedTuple):
    """File format: its endings, and its names on standard input (`piped`).

    `reader` and `writer` are functions, as module:function, that are imported when they are used: a reader takes the
    heads of files and returns a `Reader`, a writer takes the path of a file (`randomizing_files.Write`).
    """

    kind: str
    endings: tuple[str, ...]
    piped: tuple[str, ...]
    reader: str
    writer: str = ""
    texts: bool = False
    delimited: bool = False
    labelled: bool = False
    zipped: bool = True  # whether it is read gzipped, too


FORMATS = (
    Format(
        "csv", (".csv",), ("csv",), "files:read_delimited", "randomizing_files:write_csv", texts=True, delimited=True
    ),
    Format(
        "tsv", (".tsv",), ("tsv",), "files:read_delimited", "randomizing_files:write_tsv", texts=True, delimited=True
    ),
    Format("parquet", (".parquet", ".pq"), ("parquet",), "files:read_parquet", "randomizing_files:write_parquet"),
    Format("json", (".json", ".jsonl", ".ndjson"), ("jsonl",), "files:read_json", "randomizing_files:write_json"),
    Format("SPSS", (".sav", ".zsav"), ("sav", "zsav"), "labelled:read_labelled", labelled=True, zipped=False),
    Format("Stata", (".dta",), ("dta",), "labelled:read_labelled", labelled=True, zipped=False),
    Format("SAS", (".sas7bdat",), ("sas7bdat",), "labelled:read_labelled", labelled=True, zipped=False),
    Format("SAS transport", (".xpt",), ("xpt",), "labelled:read_labelled", labelled=True, zipped=False),
    Format("Excel", (".xlsx", ".xlsm"), ("xlsx",), "excel:read_excel", texts=True, zipped=False),
)
KINDS = {form.kind: form for form in FORMATS}
ENDINGS = {ending: form for form in FORMATS for ending in form.endings}
PIPED = tuple(name for form in FORMATS for name in form.piped)
UNNAMED = KINDS["csv"]  # what files without a known ending are taken for
FOREIGN = {  # what is not read, and what to do
    **dict.fromkeys((".xls", ".xlsb", ".ods", ".numbers"), "save it as .xlsx or .csv"),
    **dict.fromkeys((".rds", ".rdata", ".rda"), "write it from R as .csv or .parquet"),
    ".zip": "unpack it first",
}


def ending_of(name: str) -> str:
    return Path(name.lower().removesuffix(".gz")).suffix


def format_by_name(name: str) -> Format:
    """Format of a file by its ending; CSV if it is not known."""
    return ENDINGS.get(ending_of(name), UNNAMED)


def function(name: str) -> Any:
    """Import the function of this package that reads or writes a format."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(f"warner.reports.{module}"), attribute)


def refuse_foreign(name: str) -> None:
    if remedy := FOREIGN.get(ending_of(name)):
        raise ValueError(f"{name} is of a format that is not read ({ending_of(name)}); {remedy}")
    found = format_by_name(name)
    if not found.zipped and name.lower().endswith(".gz"):
        raise ValueError(f"{name} must be unpacked first, as a file of {found.kind}")


def writer_of(name: str) -> Any:
    """Return the function that writes a file of this name; without an ending, as CSV."""
    found = UNNAMED if ending_of(name) in {"", ".txt"} else ENDINGS.get(ending_of(name))
    if found is None or not found.writer:
        *most, last = [f".{form.piped[0]}" for form in FORMATS if form.writer]
        raise ValueError(f"the output must end in {', '.join(most)} or {last} (.gz may follow), but got {name}")
    return function(found.writer)


# Paths


NULL = "__HIVE_DEFAULT_PARTITION__"  # how a missing value is written
FOLDER_NUMBER = re.compile("0|-?[1-9][0-9]{0,17}")  # in digits, as it would be written again
REMOTE = re.compile(r"(?:s3|s3a|gs|gcs|https?|ftp|hdfs|az|abfss?|hf)://", re.IGNORECASE)
PATHS_LISTED = 3  # files in a message
NAMES_SEARCHED = 100_000  # names of files and folders that are looked at, in search of those that are meant

PathName: TypeAlias = "str | os.PathLike[str]"
Schema: TypeAlias = tuple[tuple[str, str], ...]  # columns with their types


def are_paths(given: object) -> TypeGuard[PathName | Sequence[PathName]]:
    """Return True for the path of a file or a list of `Path` objects; texts in a list may be reports."""
    if isinstance(given, list | tuple):
        return bool(given) and all(isinstance(path, os.PathLike) for path in given)
    return isinstance(given, str | os.PathLike)


def files_of(paths: Sequence[str]) -> tuple[str, ...]:
    """List all files of these paths: files, patterns or folders.

    In a folder, and all folders below it, these are the files with the ending of a known format. Names that begin with
    a dot or an underscore are left out, as other programs do: ``_SUCCESS``, ``_metadata``, ``.part``. Links to folders
    are not followed there, nor by the ``**`` of a pattern: they may lead in a circle.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("day=1/a.csv", "day=2/a.csv", "_log/a.csv", "readme.txt"):
    ...         Path(folder, name).parent.mkdir(exist_ok=True)
    ...         Path(folder, name).touch()
    ...     [Path(file).relative_to(folder).as_posix() for file in files_of([folder])]
    ['day=1/a.csv', 'day=2/a.csv']
    """
    files = [file for path in paths for file in _files(path)]
    seen: set[Path] = set()
    for file in files:
        if (path := resolved(file)) in seen:
            raise ValueError(f"{file} occurs twice: its reports would be counted twice")
        seen.add(path)
    return tuple(files)


def _files(path: str) -> list[str]:
    if REMOTE.match(path):
        raise ValueError(
            f"{path} is not on this machine, and files are not read over a network; copy it first, or open it in "
            "Python with a library that can, such as DuckDB or Polars, and give the frame"
        )
    if glob.has_magic(path) and not Path(path).exists():
        files = sorted(file for file in _matching(path) if not Path(file).is_dir())
    elif Path(path).is_dir():
        known = tuple(ENDINGS)
        entries = _FolderSearch(path).below(path, hidden=(".", "_"))
        named = (entry for entry in entries if entry.name.lower().removesuffix(".gz").endswith(known))
        files = sorted(str(Path(entry.path)) for entry in named if not entry.is_dir())
        if not files:
            endings = enumerated(list(ENDINGS), len(ENDINGS))
            raise FileNotFoundError(f"the folder {path} holds no file that ends in {endings}")
    else:
        files = [path] if Path(path).exists() else []
    if not files:
        raise FileNotFoundError(f"there is no file {path}")
    return files


def _matching(pattern: str) -> Iterator[str]:
    """Yield files and folders that match a pattern, in which ``**`` matches any number of folders."""
    path, search = Path(pattern), _FolderSearch(pattern)
    paths = [path.anchor]
    parts = path.parts[bool(path.anchor) :]
    for number, part in enumerate(parts, 1):
        if part == "**":
            last = number == len(parts)  # then it matches files, too
            inside = (entry for path in paths for entry in search.below(path, hidden=(".",)))
            paths += [entry.path for entry in inside if last or entry.is_dir(follow_symlinks=False)]
            paths = list(dict.fromkeys(paths))
        elif glob.has_magic(part):
            inside = (entry for path in paths for entry in search.inside(path) if fnmatch.fnmatch(entry.name, part))
            paths = [entry.path for entry in inside if part.startswith(".") or not entry.name.startswith(".")]
        else:
            paths = [str(file) for path in paths if os.path.lexists(file := Path(path, part))]
    return (str(Path(path)) for path in paths if path)


class _FolderSearch:
    """Search of folders that raises an error after too many names."""

    def __init__(self, path: str) -> None:
        self.path, self.names = path, 0

    def inside(self, folder: str) -> Iterator[os.DirEntry[str]]:
        if folder and not Path(folder).is_dir():
            return
        with os.scandir(folder or ".") as entries:
            for entry in entries:
                self.names += 1
                if self.names > NAMES_SEARCHED:
                    raise ValueError(
                        f"{self.path} matches more than {NAMES_SEARCHED:,} files and folders; give the folder "
                        "of the reports itself, or a pattern such as folder/*.csv"
                    )
                yield entry

    def below(self, folder: str, hidden: tuple[str, ...]) -> Iterator[os.DirEntry[str]]:
        waiting = [folder]
        while waiting:
            for entry in self.inside(waiting.pop()):
                if not entry.name.startswith(hidden):
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)


def partition(file: str) -> dict[str, str | None]:
    """Read the columns in the names of the folders of a file.

    >>> partition("ds/day=1/place=New%20York/part-0.parquet")
    {'day': '1', 'place': 'New York'}
    """
    pairs = (part.split("=", 1) for part in Path(file).parent.parts if part.find("=") > 0)
    return {unquote(name): None if value == NULL else unquote(value) for name, value in pairs}


def partition_columns(files: Sequence[str]) -> dict[str, bool]:
    """Return the columns in the names of folders, and whether their values are whole numbers."""
    found = [partition(file) for file in files]
    if not found[0] or any(list(values) != list(found[0]) for values in found):
        return {}
    return {
        name: all(values[name] is None or FOLDER_NUMBER.fullmatch(str(values[name])) is not None for values in found)
        for name in found[0]
    }


def shown(paths: Sequence[str]) -> str:
    return enumerated(paths, PATHS_LISTED)


# Files


LONGEST_HEADER = 2**20  # characters
LINE_BYTES = 2_000_000  # bytes; DuckDB drops a last row of 16 times that without an error
SCANNED_BYTES = LINE_BYTES // 2  # bytes read at a time
NO_GZIP = "{} ends in .gz, but is not gzipped, or damaged"
DAMAGED_GZIP = (gzip.BadGzipFile, EOFError, zlib.error)
DELIMITERS = ",\t;|"
NOWHERE = "\x1f"  # the delimiter of a single column: no value is cut
DOUBLE_QUOTED = re.compile('"[^"]*"')
LOOKS = {"DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "UUID"}  # of text in JSON that DuckDB converts
LINE = re.compile(r"CSV Error on Line: (\d+)")
NO_NUMBER = re.compile(r"Could not convert string '(.*?)' to DOUBLE.*?source column ([^\n]*)", re.DOTALL)
COMMA = re.compile(r"Could not convert string '([\d+-]*,\d*)' to DOUBLE.*?source column ([^\n]*)", re.DOTALL)
THOUSANDS = re.compile(
    r"Could not convert string '([+-]?\d{1,3}(?:[.,' ]\d{3})+[.,]?\d*)' to DOUBLE.*?source column ([^\n]*)", re.DOTALL
)
ENGINES = {"duckdb", "_duckdb", "narwhals", "pyarrow", "polars", "pyspark", "py4j", "ibis"}  # whose errors are replaced
OWN_ERROR = re.compile(r"cannot be read: ([^\n]*?)\. Detail: Python exception")  # of `readstat` and `excel`
EXPLANATIONS = {  # of DuckDB's errors on text files
    COMMA: 'column {1!r} must hold numbers, but has {0!r}; give decimal="," for decimal commas',
    THOUSANDS: "column {1!r} must hold numbers, but has {0!r}; write them without separators of thousands",
    NO_NUMBER: "column {1!r} must hold numbers, but has {0!r}",
    re.compile(
        r"Expected Number of Columns: (\d+) Found: (\d+)"
    ): "{place} has another number of values ({1}) than the header ({0})",
    re.compile("unterminated quote|quote should be followed"): "{place} opens a quotation mark that is not closed (one "
    "within a value must be doubled), or does not end as the first line does",
    re.compile(r"Maximum line size of (\d+) bytes"): "{place} is longer than {0} bytes",
    re.compile(r'"maximum_object_size" of (\d+) bytes'): "an object is longer than {0} bytes",
    re.compile("unicode|not utf-8", re.IGNORECASE): '{place} is not UTF-8; give its encoding, as encoding="cp1252"',
    re.compile(r"Expected unique column names, got:\n- '(.*?)'"): "there is more than one column {0!r}",
    re.compile("state machine"): "its quotation marks, or the ends of its lines, differ from line to line",
}
SAVED = {f"warner {what}": ": counts, which Tally.load reads" for what in ("tally", "pool")}
SQLITE, DUCKDB, PIPE = "SQLite", "DuckDB", "pipe"  # kinds of what is no file of reports
NOT_READ = {
    SQLITE: "is an SQLite database, which has no column of reports to read here: the counts of a survey are read by "
    "tally, and by the commands estimate and check; a table, through Ibis",
    DUCKDB: "is a DuckDB database; open it in Python first, or name a table of it with table=",
    PIPE: "must be a file, but is a pipe or a device, which can be read only once; use -",
}
DATABASES = {SQLITE: (0, b"SQLite format 3\0"), DUCKDB: (8, b"DUCK")}  # how they begin, after so many bytes
BEGINNING = 2**10  # characters of a JSON file, among which its first bracket is


def open_text(name: str, encoding: str = "utf-8-sig", errors: str = "strict") -> TextIO:
    if is_zipped(name):
        return io.TextIOWrapper(gzip.open(name, "rb"), encoding=encoding, errors=errors, newline="")
    return Path(name).open(encoding=encoding, errors=errors, newline="")


def is_zipped(name: str) -> bool:
    return name.lower().endswith(".gz")


def standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise ValueError("standard input is closed; give a file instead of -, or send it something")
    return sys.stdin.buffer


@contextmanager
def gzip_errors(name: str) -> Iterator[None]:
    try:
        yield
    except DAMAGED_GZIP:
        raise ValueError(NO_GZIP.format(name)) from None


def refuse_damaged_text(name: str, *, lines: bool) -> None:
    """Raise an error for content that DuckDB misreads silently: damaged gzip, and overlong last `lines`."""
    if not is_zipped(name) and Path(name).stat().st_size <= LINE_BYTES:
        return
    length = 0
    with gzip_errors(name), gzip.open(name) if is_zipped(name) else Path(name).open("rb") as content:
        for blocks, block in enumerate(iter(partial(content.read, SCANNED_BYTES), b"")):
            if not lines:
                continue
            before = min((index for end in (b"\n", b"\r") if (index := block.find(end)) >= 0), default=len(block))
            if length + before > LINE_BYTES:
                content.seek(0)
                number = 1 + sum(content.read(SCANNED_BYTES).count(b"\n") for _ in range(blocks))
                raise ValueError(f"line {number:,} of {name} is longer than {LINE_BYTES:,} bytes; shorten its values")
            last = max(block.rfind(b"\n"), block.rfind(b"\r"))
            length = length + len(block) if last < 0 else len(block) - last - 1


# The head of a file


class Head(NamedTuple):
    """Beginning of a file, which is read once.

    `kind` is that of `formats`, but SQLITE, DUCKDB or PIPE for what can have any name. `record` is the first line of
    lines of text, with line breaks that are quoted, and what a JSON file begins with; None where it is damaged.
    `document` is what a JSON file of ours says that it is.
    """

    file: str
    kind: str
    record: str | None = ""
    document: str | None = None

    @classmethod
    def of(cls, file: str) -> Head:
        if is_pipe(Path(file)):
            return cls(file, PIPE)
        with Path(file).open("rb") as content:
            beginning = content.read(HEAD_BYTES)
            for kind, (offset, mark) in DATABASES.items():
                if beginning[offset:].startswith(mark):
                    return cls(file, kind)
            form = format_by_name(file)
            document = format_within(beginning, content)
            if not form.delimited and form.kind != "json":
                return cls(file, form.kind, document=document)
            content.seek(0)
            try:
                unzipped: Any = gzip.GzipFile(fileobj=content) if is_zipped(file) else content
                lines = io.TextIOWrapper(unzipped, encoding="utf-8-sig", errors="surrogateescape", newline="")
                record = first_record(lines) if form.delimited else lines.read(BEGINNING)
            except DAMAGED_GZIP:
                return cls(file, form.kind, None)
            return cls(file, form.kind, record, document)

    def header(self, *, secret: bool = False) -> tuple[list[str], str]:
        """Return the columns of a text file, and its delimiter; with `secret`, errors contain no names."""
        name, record = self.file, self.record
        if record is None:
            raise ValueError(NO_GZIP.format(name))
        if not record.strip():
            raise ValueError(f"{name} is empty: there is not even a header")
        if "\0" in record:
            raise ValueError(
                f"{name} is not a CSV file in UTF-8: its first line is binary. If it is text, give its encoding, such "
                'as encoding="utf-16"'
            )
        if LONE_SURROGATE.search(record):
            raise ValueError(f'{name} is not UTF-8, in its first line; give its encoding, such as encoding="cp1252"')
        mark = "\t" if self.kind == "tsv" else delimiter_of(record)
        names = next(csv.reader(io.StringIO(record, newline=""), delimiter=mark))
        names = [column or f"column{index}" for index, column in enumerate(names)]  # a row's number often has no name
        refuse_duplicates(names, secret=secret)
        return names, mark


@dataclass(frozen=True)
class Files:
    """Files of some paths (files, patterns or folders), with their heads."""

    paths: tuple[str, ...]
    heads: tuple[Head, ...]

    @classmethod
    def at(cls, given: PathName | Sequence[PathName] | Files) -> Files:
        if isinstance(given, Files):
            return given
        several = [given] if isinstance(given, str | os.PathLike) else given
        paths = tuple(os.fspath(path) for path in several)
        return cls(paths, tuple(map(Head.of, files_of(paths))))

    @property
    def name(self) -> str:
        return shown(self.paths)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(head.file for head in self.heads)

    @property
    def is_sqlite(self) -> bool:
        return len(self.heads) == 1 and self.heads[0].kind == SQLITE

    @property
    def format(self) -> Format:
        """Format that all files have; an error for files without reports."""
        if why := NOT_READ.get(self.heads[0].kind):
            raise ValueError(f"{self.name} {why}")
        for head in self.heads:
            refuse_foreign(head.file)
            if head.kind == "json" and head.document is not None:
                saved = SAVED.get(head.document, "")
                raise ValueError(f"{head.file} must hold reports, but is a {head.document}{saved}")
        kinds = {head.kind for head in self.heads}
        if len(kinds) > 1:
            raise ValueError(
                f"{self.name} holds or matches files of different kinds ({', '.join(sorted(kinds))}); give one kind at "
                "a time, by a pattern such as folder/*.csv"
            )
        return format_by_name(self.heads[0].file)


def first_record(lines: TextIO) -> str:
    """Read the first line, and further lines while a quoted name is open."""
    record = lines.readline(LONGEST_HEADER)
    while record.count('"') % 2 and len(record) < LONGEST_HEADER and (line := lines.readline(LONGEST_HEADER)):
        record += line
    return record


def delimiter_of(record: str) -> str:
    """Most frequent delimiter of a header, outside of quotation marks.

    >>> delimiter_of('id;"Have you ever, in 2024, driven?";answer')
    ';'
    """
    outside = DOUBLE_QUOTED.sub("", record)
    mark = max(DELIMITERS, key=outside.count)
    return mark if mark in outside else NOWHERE


def refuse_duplicates(names: Sequence[str], *, secret: bool = False) -> None:
    """Raise an error for duplicate columns; engines ignore case."""
    seen: dict[str, str] = {}
    for name in names:
        if (same := seen.setdefault(name.lower(), name)) != name or names.count(name) > 1:
            which = "" if secret else f", but got {same!r} and {name!r}"
            raise ValueError(f"the columns must have different names (capitals make no difference){which}")


def csv_query(files: Iterable[str], names: Sequence[str], delimiter: str, **options: bool) -> str:
    """Return the SQL that reads text files in DuckDB: every column as text, without detection."""
    listed = ", ".join(map(sql_text, files))
    columns = ", ".join(f"{sql_text(name)}: 'VARCHAR'" for name in names)
    settings = {"auto_detect": False, "header": True, "max_line_size": LINE_BYTES, **options}
    written = ", ".join(f"{name} = {str(value).lower()}" for name, value in settings.items())
    return (
        f"SELECT * FROM read_csv([{listed}], columns = {{{columns}}}, delim = {sql_text(delimiter)}, quote = '\"', "
        f"escape = '\"', comment = '', {written})"
    )


def sql_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


# Opening


class Reader(NamedTuple):
    """Reader of files of one format as one relation, with the names of their folders as columns if True is given."""

    relation: Callable[[Sequence[str], bool], Any]
    labels: Labels | None = None


def open_files(
    given: PathName | Sequence[PathName] | Files,
    reading: Reading = PLAIN,
    *,
    secret: bool = False,
    columns_only: bool = False,
) -> Table:
    """Open files of one format as a table; with `secret`, errors contain nothing of their content.

    With `columns_only`, the frame of Parquet files, which `batches` reads, has no rows.
    """
    skipped: dict[str, str] = {}
    files = Files.at(given)
    form = files.format
    if reading.sheet is not None and form.kind != "Excel":
        raise ValueError(
            f"sheet must be left out for {files.name}, which is not an Excel file, but got {reading.sheet!r}"
        )
    with engine_errors(files.name, secret=secret):
        database = None if columns_only and form.kind == "parquet" else _database()  # which takes memory

        def reader_of(heads: Sequence[Head]) -> Reader:
            if database is None:
                return Reader(_without_rows)
            made: Reader = function(form.reader)(heads, database, reading, secret=secret)
            return made

        if reading.skip_bad_files:
            files, skipped = _without_bad_files(files, reader_of)
        reader, names = reader_of(files.heads), files.names
        first = reader.relation(names[:1], False)
        if len(names) > 1:
            schemas = {file: _schema(reader.relation([file], False)) for file in names}
            for reason in _other_columns(schemas, secret=secret).values():
                raise ValueError(reason)
        partitions = partition_columns(names)
        if partitions.keys() & set(_columns(first)):
            partitions = {}  # what a file holds itself is taken from there
        alone = len(names) == 1 and not partitions
        whole = first if alone else reader.relation(names, bool(partitions))
        numbers = [] if form.texts else [key for key, of_numbers in partitions.items() if of_numbers]
        # Files with labels are never read without them.
        again = () if form.labelled else names
        table = Table(whole, form.texts, files.name, again, files.paths, tuple(partitions), reader.labels, skipped)
        return table.with_whole_numbers(numbers) if numbers else table


def _columns(relation: Any) -> list[str]:
    return list(relation.schema.names if hasattr(relation, "schema") else relation.columns)


def _schema(relation: Any) -> Schema:
    return tuple((name, str(kind)) for name, kind in Table(relation).schema.items())


def _other_columns(schemas: Mapping[str, Schema], *, secret: bool = False) -> dict[str, str]:
    """Return the files without the columns of most files, or of the first, each with the difference."""
    (usual, _), *_ = Counter(schemas.values()).most_common(1)
    example = next(file for file, schema in schemas.items() if schema == usual)
    alike = f"columns must be those of {example}, in the same order and of the same types"
    # DuckDB matches the columns of several files by position.
    others = {file: schema for file, schema in schemas.items() if schema != usual}
    return {
        file: f"{file}: {alike if secret else _difference(schema, usual, example)}" for file, schema in others.items()
    }


def _difference(found: Schema, expected: Schema, example: str) -> str:
    """Return the first difference between the columns of a file and the expected ones, those of an example."""
    kinds, wanted = dict(found), dict(expected)
    for name, kind in expected:
        if name not in kinds:
            return f"column {name!r} must be there, as in {example}, but is missing"
        if kinds[name] != kind:
            return f"column {name!r} must be {kind}, as in {example}, but is {kinds[name]}"
    if more := [name for name in kinds if name not in wanted]:
        return f"column {more[0]!r} must not be there, as in {example}"
    return f"columns must be in the order of {example}, {enumerated(list(wanted))}, but are {enumerated(list(kinds))}"


def _without_bad_files(files: Files, reader_of: Callable[[Sequence[Head]], Reader]) -> tuple[Files, dict[str, str]]:
    """Return the files that can be read to their ends and have the columns of most; and the others, with reasons."""
    schemas: dict[str, Schema] = {}
    skipped: dict[str, str] = {}
    for head in files.heads:
        try:
            with engine_errors(head.file):
                relation = reader_of([head]).relation([head.file], False)
                schemas[head.file] = _schema(relation)
                _read_through(relation, head.file)
        except (OSError, ValueError) as error:
            schemas.pop(head.file, None)
            skipped[head.file] = str(error)
    if schemas:
        skipped |= _other_columns(schemas)
    heads = tuple(head for head in files.heads if head.file not in skipped)
    if not heads:
        raise ValueError(f"{files.name} holds no file that can be read; {'; '.join(skipped.values())}")
    return (Files(tuple(head.file for head in heads), heads) if skipped else files), skipped


def _read_through(relation: Any, file: str) -> None:
    """Read all values of a file, in which damage raises an error."""
    if hasattr(relation, "aggregate"):
        relation.aggregate("bit_xor(hash(COLUMNS(*)))").fetchall()
        return
    import pyarrow.parquet as pq

    with parquet_errors(file), pq.ParquetFile(file) as content:
        for _ in content.iter_batches():
            pass


@contextmanager
def in_utf8(files: Files, encoding: str, skipped: dict[str, str] | None = None) -> Iterator[Files]:
    """Yield temporary copies of text files in UTF-8; unreadable files are `skipped`, or raise errors that name them."""
    with tempfile.TemporaryDirectory() as folder:
        copies: dict[str, str] = {}
        for number, file in enumerate(files.names):
            try:
                copies[str(_copied(file, Path(folder) / str(number), encoding))] = file
            except ValueError as error:
                if skipped is None:
                    raise
                skipped[file] = str(error)
        if not copies:
            raise ValueError(f"{files.name} holds no file that can be read; {'; '.join((skipped or {}).values())}")
        with named_as_given(copies):
            yield Files.at([Path(copy) for copy in copies])


def _copied(name: str, folder: Path, encoding: str) -> Path:
    """Copy a text file into a folder, in UTF-8, with the folders that name columns."""
    folder = folder.joinpath(*(part for part in Path(name).parent.parts if "=" in part))
    folder.mkdir(parents=True)
    form = format_by_name(name)
    if not form.delimited and form.kind != "json":
        raise ValueError(f"encoding must be left out for {name}, which is not a text file, but got {encoding!r}")
    path = folder / Path(name).name.lower().removesuffix(".gz")
    try:
        with gzip_errors(name), open_text(name, encoding) as file, path.open("w", encoding="utf-8", newline="") as copy:
            shutil.copyfileobj(file, copy)
    except UnicodeError as error:
        raise ValueError(f"{name} cannot be read in the encoding {encoding}: {error}") from None
    return path


def _database() -> Any:
    refuse_small_address_space()
    try:
        import duckdb
    except ImportError:
        raise ImportError(not_installed("reading files needs DuckDB", "cli")) from None
    return duckdb.connect()


# The readers of formats


def read_delimited(heads: Sequence[Head], database: Any, _: Reading, *, secret: bool) -> Reader:
    headers = {head.file: head for head in heads}
    for head in heads:
        if head.record is not None:
            refuse_damaged_text(head.file, lines=True)

    def relation(files: Sequence[str], partitioned: bool) -> Any:
        names, mark = headers[files[0]].header(secret=secret)
        return database.sql(csv_query(_exactly(files), names, mark, **_folders(partitioned)))

    return Reader(relation)


def read_parquet(_: Sequence[Head], database: Any, __: Reading, *, secret: bool) -> Reader:
    def relation(files: Sequence[str], partitioned: bool) -> Any:
        refuse_duplicates(_without_rows(files[:1]).column_names, secret=secret)  # DuckDB would rename them
        if not partitioned:
            return database.read_parquet(_exactly(files))
        listed = ", ".join(map(sql_text, _exactly(files)))
        options = "hive_partitioning = true, hive_types_autocast = false"
        return database.sql(f"SELECT * FROM read_parquet([{listed}], {options})")

    return Reader(relation)


def read_json(heads: Sequence[Head], database: Any, _: Reading, *, secret: bool) -> Reader:
    """Read JSON: an array of objects, or one object per line."""
    del secret
    beginnings = {head.file: head.record or "" for head in heads}
    for file in filter(is_zipped, beginnings):
        refuse_damaged_text(file, lines=False)

    def relation(files: Sequence[str], partitioned: bool) -> Any:
        starts = [beginnings[file].lstrip()[:1] == "[" for file in files]
        if len(set(starts)) > 1:
            raise ValueError("JSON files must all be arrays, or all have one object per line, but these differ")
        layout = "array" if starts[0] else "newline_delimited"
        read = partial(database.read_json, _exactly(files), format=layout, **_folders(partitioned))
        found = read(sample_size=-1)
        types = dict(zip(found.columns, map(str, found.types), strict=True))
        # JSON has no dates, times and identifiers: what looks like one may be a label, and stays text.
        texts = {name: "VARCHAR" for name, kind in types.items() if kind in LOOKS}
        return read(columns=types | texts) if texts else found

    return Reader(relation)


def _exactly(files: Sequence[str]) -> list[str]:
    return [glob.escape(file) for file in files]  # or DuckDB would take [ and ? in a name for a pattern


def _folders(partitioned: bool) -> dict[str, bool]:
    return {"hive_partitioning": partitioned, "hive_types_autocast": False}  # the names, as texts


def _without_rows(files: Sequence[str], partitioned: bool = False) -> Any:
    """Return an empty table with the columns of Parquet files."""
    refuse_small_address_space()
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ImportError(not_installed("reading Parquet files needs PyArrow", "cli")) from None
    with parquet_errors(files[0]):
        schema = pq.read_schema(files[0])
    for name in partition(files[0]) if partitioned else ():
        schema = schema.append(pa.field(name, pa.string()))
    return pa.Table.from_batches([], schema=schema)


@contextmanager
def parquet_errors(name: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowInvalid) as error:
        if getattr(error, "errno", None) is not None:  # of the operating system
            raise
        raise ValueError(f"{name} cannot be read: it is damaged, or no Parquet file") from None


# Errors of engines


@contextmanager
def engine_errors(name: str, *, secret: bool = False) -> Iterator[None]:
    """Replace an engine's error on a file by one that names the file; without details if `secret`."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ENGINES:
            raise
        own = OWN_ERROR.search(str(error))  # which contains no value
        reason = own[1] if own else explanation(str(error), secret=secret)
        raise ValueError(f"{name} cannot be read: {reason}" if reason else f"{name} cannot be read") from None


def explanation(error: str, *, secret: bool = False) -> str:
    """Summarize an error of DuckDB in one line; without values if `secret`, which may leave nothing."""
    where = f"line {found[1]}" if (found := LINE.search(error)) else "a line"
    for pattern, text in EXPLANATIONS.items():
        if (found := pattern.search(error)) and not (secret and "!r}" in text):
            return text.format(*found.groups(), place=where)
    if secret:
        return ""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    return next((line for line in lines if not LINE.search(line) and "Original Line" not in line), "") or lines[0]
