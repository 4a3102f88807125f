"""Counting where the reports are: data frames, tables and files.

One query, written with Narwhals, serves pandas, Polars, PyArrow, DuckDB, Ibis, Dask and Spark. Files (CSV, Parquet,
JSON lines, gzipped or globbed; SPSS, Stata and SAS by way of `labelled`, Excel by way of `excel`) are opened by DuckDB,
which reads them out of core. Group and count first, then look at what the values mean: a filter over the labels would
be many times slower on every engine, and only counted rows come back.
"""

from __future__ import annotations

import difflib
import glob
import re
import zlib
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np

from warner.designs.labels import MISSING, OUTSIDE
from warner.documents import format_of, is_pipe
from warner.memory import refuse_small_address_space
from warner.reports import excel, labelled, readstat
from warner.reports.amounts import amounts, is_wide, summable_counts
from warner.reports.files import csv_query, header, open_text, refuse_duplicates, sql_text
from warner.reports.formats import LABELLED, TEXTS, kind_of, refuse_foreign
from warner.reports.paths import files_of, partition, partition_columns, places_of, shown
from warner.words import not_installed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from warner.designs.forms import Form
    from warner.documents import Document
    from warner.reports.paths import Place
    from warner.reports.readstat import Labels

Frame: TypeAlias = Any  # what Narwhals wraps, or an expression of it
CountedRows: TypeAlias = dict[str, Any]  # by column, a list or an array: value, number, by0, ..., weight, square, bad

FOREIGN_LIMIT = 1_000  # distinct values outside the domain that are counted before the column is taken for a wrong one
ROWS_LIMIT = 2**25  # counted rows of one query that are fetched at most
NAMES_LISTED = 20  # column names in an error
INSIDE = 0  # the kind of a value in the domain, beside MISSING and OUTSIDE
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


class Columns(NamedTuple):
    """Which columns play which part."""

    value: str
    by: tuple[str, ...]
    weights: str | None
    counts: str | None

    @property
    def amounts(self) -> str | None:
        """The column of weights, or of counts."""
        return self.counts if self.weights is None else self.weights

    @property
    def names(self) -> list[str]:
        """All of them, each once."""
        return list(dict.fromkeys(name for name in (self.value, *self.by, self.amounts) if name is not None))


class Source(NamedTuple):
    """A frame that Narwhals can query; `text` if all its columns are strings, as in a CSV file.

    `path` names where it was opened from, if from anywhere: the `places`, each a file, a pattern or a folder, which
    hold these `files`. The names of their folders stand for the columns `partitions`. Files of SPSS, Stata and SAS have
    `labels` for the values of some columns.
    """

    frame: Frame
    text: bool
    path: str = ""
    files: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    labels: Labels | None = None


def counted(source: Source, columns: Columns, form: Form, *, codes: bool, drop: bool) -> CountedRows:
    """Count the distinct values of a column, for each group, in the engine that holds it.

    With `drop`, too many different values are not an error: those that no report can be are lumped together.
    """
    schema = dict(source.frame.collect_schema())
    # One row more than can be right tells that there are too many, without fetching them all.
    assert form.kinds is not None
    most = form.kinds + FOREIGN_LIMIT + 1
    limit = ROWS_LIMIT if columns.by else most
    rows = _fetched(_query(source.frame, schema, columns).head(limit + 1))
    if len(rows["value"]) <= limit and (not columns.by or _different(rows["value"]) <= most):
        return rows
    if not drop:
        raise ValueError(
            f"column {columns.value!r} holds more than {form.kinds + FOREIGN_LIMIT:,} different values, but the domain "
            f'has {form.kinds:,}: is this the right column? With unknown="drop" the others are left out'
        )
    only, whole = form.possible(text=source.text, codes=codes), codes or form.holds == "integers"
    rows = _fetched(_query(source.frame, schema, columns, only, whole=whole))
    if len(rows["value"]) > ROWS_LIMIT:
        raise ValueError(
            f"there are more than {ROWS_LIMIT:,} groups and values; tally some groups at a time, or by fewer columns"
        )
    return rows


def selected(frame: Frame, schema: Document, columns: Columns, only: Frame = None, *, whole: bool = False) -> Frame:
    """Choose what counting needs: value, by0, by1, ..., and of amounts number or weight, with a flag for bad ones.

    With `only`, the values that reports can have, others are replaced and told apart by their kind; these values are
    `whole` numbers, or texts.
    """

    def key(name: str) -> Frame:
        if schema[name] != nw.String and is_text(schema[name]):
            return nw.col(name).cast(nw.String)
        # DuckDB takes large numbers in JSON for 128 bits, and gives those back as decimals.
        return nw.col(name).cast(nw.Int64) if schema[name] in {nw.Int128, nw.UInt128} else nw.col(name)

    value = key(columns.value)
    chosen = {"value": value, **{f"by{i}": key(name) for i, name in enumerate(columns.by)}}
    if only is not None:
        # Some label stands for what has none, and a flag tells: a null among integers would make floats of them all.
        text = schema[columns.value] == nw.String
        value = (
            value.str.replace_all(r"\.0$", "") if text and whole else value
        )  # as programs without integers write them
        inside = _in_range(value, only, text=text) if isinstance(only, range) else value.is_in(list(only))
        chosen["value"] = nw.when(inside).then(value).otherwise(nw.lit(str(only[0]) if text else only[0]))
        flag = nw.when(inside).then(nw.lit(INSIDE)).otherwise(nw.lit(OUTSIDE))
        chosen["kind"] = nw.when(value.is_null()).then(nw.lit(MISSING)).otherwise(flag)
    if columns.amounts is None:
        return frame.select(**chosen)
    return frame.select(**chosen, **amounts(columns, schema[columns.amounts]))


def _in_range(value: Frame, numbers: range, *, text: bool) -> Frame:
    """Tell which values are among consecutive numbers, in digits if they are texts: there are too many to list."""
    if not text:
        return value.is_between(numbers[0], numbers[-1])
    digits = max(len(str(abs(end))) for end in (numbers[0], numbers[-1]))
    written = value.str.contains(f"^(0|-?[1-9][0-9]{{0,{digits - 1}}})$")
    number = nw.when(written).then(value).otherwise(nw.lit("0")).cast(nw.Int128)
    return written & number.is_between(numbers[0], numbers[-1])


def _query(frame: Frame, schema: Document, columns: Columns, only: Frame = None, *, whole: bool = False) -> Frame:
    """Count the distinct rows of what is selected."""
    rows = selected(frame, schema, columns, only, whole=whole)
    sums = [nw.len().alias("number")]
    if columns.weights is not None:
        rows = rows.with_columns(square=nw.col("weight") * nw.col("weight"))
        sums += [nw.col("weight").sum(), nw.col("square").sum(), nw.col("bad").sum()]
    if columns.counts is not None:
        rows = rows.with_columns(summable_counts())
        sums = [nw.col("number").sum(), nw.col("bad").sum()]
    names = ["value", *(f"by{i}" for i in range(len(columns.by))), *(["kind"] if only is not None else [])]
    return rows.group_by(*names).agg(*sums)


def _fetched(query: Frame) -> CountedRows:
    rows = query.collect() if isinstance(query, nw.LazyFrame) else query
    return {name: rows[name].to_list() if name.startswith("by") else _values(rows[name]) for name in rows.columns}


def _values(series: Frame) -> Any:
    """Give integers as an array, masked where they are missing: there may be millions of different ones."""
    if not series.dtype.is_integer():
        return series.to_list()
    if not (missing := series.is_null()).any():
        return _as_array(series)
    return np.ma.masked_array(_as_array(series.fill_null(0)), mask=np.array(missing.to_list()))


def _as_array(series: Frame) -> Any:
    """Give whole numbers as an array; Arrow's own way would load pandas, which takes longer than all the rest."""
    native = series.to_native()
    return np.from_dlpack(native.combine_chunks()) if hasattr(native, "combine_chunks") else series.to_numpy()


def _different(values: Any) -> int:
    return len(np.unique(values)) if isinstance(values, np.ndarray) else len(set(values))


def chosen(
    source: Source,
    column: str | None,
    by: str | Iterable[str] | None,
    weights: str | None,
    counts: str | None,
    *,
    secret: bool = False,
) -> Columns:
    """Check that the columns are there; where there is only one left to count, it need not be named.

    With `secret` the names are not told in errors: in a file without a header they are somebody's answers.
    """
    return chosen_among(
        list(source.frame.collect_schema()), column, by, weights, counts, partitions=source.partitions, secret=secret
    )


def chosen_among(
    names: list[str],
    column: str | None,
    by: str | Iterable[str] | None,
    weights: str | None,
    counts: str | None,
    *,
    partitions: Iterable[str] = (),
    secret: bool = False,
) -> Columns:
    """Choose from these names; see `chosen`. Those of folders are not counted unless they are asked for."""
    groups = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    named = [name for name in (*groups, weights, counts) if name is not None]
    if column is None:
        rest = [name for name in names if name not in named and name not in partitions]
        if len(rest) != 1:
            names_left = "" if secret else f": {_listed(rest)}"
            raise ValueError(
                f"column must be given unless there is just one to count, but there are {len(rest)}{names_left}"
            )
        column = rest[0]
    for name in (column, *named):
        refuse_absent(name, names, secret=secret)
    return Columns(column, groups, weights, counts)


def refuse_absent(name: str, names: list[str], *, secret: bool = False) -> None:
    """Refuse the name of a column that is not there."""
    if name in names:
        return
    if secret:
        raise ValueError(f"there is no column {name!r} among the {len(names)} columns")
    near = difflib.get_close_matches(str(name), names, n=1)
    guess = f"did you mean {near[0]!r}? The " if near else "the "
    raise ValueError(f"there is no column {name!r}; {guess}columns are: {_listed(names)}")


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:NAMES_LISTED])) + (", ..." if len(names) > NAMES_LISTED else "")


def is_text(dtype: Any) -> bool:
    """Tell whether a column holds texts, be it as categories; an Enum is like the others, but has a hash of its own."""
    return bool(dtype in {nw.String, nw.Categorical} or dtype == nw.Enum)


def with_numbers(source: Source, name: str) -> Source:
    """Give categories of pandas that are numbers, as readers of SPSS and Stata files make them, as these numbers."""
    if not source.frame.implementation.is_pandas():
        return source
    table = source.frame.to_native()
    categories = getattr(table[name].dtype, "categories", None)
    if categories is None or categories.dtype.kind not in "iuf":
        return source
    kind = "float64" if categories.dtype.kind == "f" else "Int64"  # which may be missing
    return source._replace(frame=nw.from_native(table.assign(**{name: table[name].astype(kind)})))


def refuse_types(source: Source, columns: Columns, form: Form, *, codes: bool) -> None:
    """Look at the schema before anything is run: engines differ in what they silently convert."""
    if form.kinds is None and codes:
        raise TypeError(f"codes must be left out for a column of sets or hashes, which are {form.rule}")
    if source.text:
        refuse_headless([columns.value], form)
        return
    schema = source.frame.collect_schema()
    dtype = schema[columns.value]
    text = is_text(dtype)
    if form.holds == "bits":
        wanted, fits = "hexadecimal strings or bytes, as the reports are", text or dtype == nw.Binary
    elif form.holds == "hashes":
        wanted, fits = "strings such as 12:0:3, or lists of integers", text or isinstance(dtype, nw.List | nw.Array)
    elif codes or form.holds == "integers":
        wanted, fits = "integers, as the domain does", dtype.is_integer() or dtype.is_float()  # whole ones
    else:
        wanted, fits = "strings, as the domain does", text
    # Unknown is a column of nothing but nulls, and Arrow's bytes of a fixed size; bytes are objects of pandas.
    fits = fits or dtype == nw.Unknown or (form.kinds is None and dtype == nw.Object)
    if not fits:
        raise TypeError(f"column {columns.value!r} must hold {wanted}, but holds {dtype}; convert it first")
    if columns.weights is not None and not schema[columns.weights].is_numeric():
        raise TypeError(f"weights must be a column of numbers, but {columns.weights!r} holds {schema[columns.weights]}")
    if columns.counts is not None and not (schema[columns.counts].is_integer() or is_wide(schema[columns.counts])):
        raise TypeError(
            f"counts must be a column of whole numbers, but {columns.counts!r} holds {schema[columns.counts]}"
        )


def opened(
    given: Place | Sequence[Place],
    *,
    secret: bool = False,
    columns_only: bool = False,
    encoding: str | None = None,
    sheet: str | None = None,
) -> Source:
    """Open a file, or all files of patterns and folders; with ``secret``, errors tell nothing of what is in them.

    With ``columns_only``, for those who read Parquet files by themselves, the frame of these has no rows. The encoding
    is for SPSS, Stata and SAS files that do not tell it, the `sheet` for Excel files.
    """
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
    with readable(name, secret=secret):
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
            return Source(whole, text, name, (), places, tuple(partitions), described[files[0]].labels)
        return Source(whole, text, name, tuple(files), places, tuple(partitions))


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
def readable(name: str, *, secret: bool = False) -> Iterator[None]:
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


def refuse_headless(names: list[str], form: Form) -> None:
    """Refuse a text file whose first line is a value of this form: the error tells no name, it is somebody's answer."""
    if (form.read(names, text=True).status == INSIDE).any():
        raise ValueError(
            "the first line must name the columns, but one of the names is an answer or a report itself: add a header"
        )
