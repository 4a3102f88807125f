"""Counting where the reports are: data frames, tables and files.

One query, written with Narwhals, serves pandas, Polars, PyArrow, DuckDB, Ibis, Dask and Spark. Files (CSV, Parquet,
JSON lines, gzipped or globbed) are opened by DuckDB, which reads them out of core. Group and count first, then look at
the labels: a filter over the labels would be many times slower on every engine, and only counted rows come back.
"""

from __future__ import annotations

import difflib
import glob
import gzip
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.design import RandomizedResponse

Found = dict[str, list[Any]]  # the counted rows, by column: value, number, by0, by1, ..., weight, square, bad, outside

FOREIGN = 1_000  # so many values outside the domain are counted before the column is thought to be the wrong one
ROWS_LIMIT = 2**25  # counted rows of a grouped query that are fetched at the most
SHOWN = 20
ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".tsv": "tsv"}


class Columns(NamedTuple):
    """Which columns play which part."""

    value: str
    by: tuple[str, ...]
    weights: str | None
    counts: str | None


class Source(NamedTuple):
    """A frame that Narwhals can query; `text` if all its columns are strings, as in a CSV file."""

    frame: Any
    text: bool


def counted(source: Source, columns: Columns, design: RandomizedResponse, *, codes: bool, drop: bool) -> Found:
    """Count the values of a column, for each group, in the engine that holds it.

    With `drop`, too many different values are not an error: those outside the domain are lumped together.
    """
    schema = dict(source.frame.collect_schema())
    if not source.text:
        _refuse_types(schema, columns, design, codes=codes)
    # One row more than can be right tells that there are too many, without fetching them all.
    most = design.k + FOREIGN + 1
    limit = ROWS_LIMIT if columns.by else most
    found = _fetched(_query(source.frame, schema, columns).head(limit + 1))
    if len(found["value"]) <= limit and len(set(found["value"])) <= most:
        return found
    if not drop:
        msg = (
            f"column {columns.value!r} holds more than {design.k + FOREIGN:,} different values, but the domain has "
            f'{design.k:,}: is this the right column? With unknown="drop" the others are left out'
        )
        raise ValueError(msg)
    labels: Any = range(design.k) if codes else design.domain
    found = _fetched(_query(source.frame, schema, columns, only=[str(x) for x in labels] if source.text else labels))
    if len(found["value"]) > ROWS_LIMIT:
        msg = f"there are more than {ROWS_LIMIT:,} groups and values; tally some groups at a time, or by fewer columns"
        raise ValueError(msg)
    return found


def _query(frame: Any, schema: dict[str, Any], columns: Columns, only: Any = None) -> Any:
    def key(name: str) -> Any:
        if schema[name] in {nw.Categorical, nw.Enum}:
            return nw.col(name).cast(nw.String)
        # DuckDB takes large numbers in JSON for 128 bits, and gives those back as decimals.
        return nw.col(name).cast(nw.Int64) if schema[name] in {nw.Int128, nw.UInt128} else nw.col(name)

    value = key(columns.value)
    keys = {"value": value, **{f"by{i}": key(name) for i, name in enumerate(columns.by)}}
    if only is not None:
        inside = value.is_between(only[0], only[-1]) if isinstance(only, range) else value.is_in(list(only))
        keys["value"] = nw.when(inside).then(value)
        keys["outside"] = nw.when(value.is_null() | inside).then(nw.lit(0)).otherwise(nw.lit(1))
    amounts: dict[str, Any] = {}
    sums = [nw.len().alias("number")]
    if columns.counts is not None:
        amount = key(columns.counts) if schema[columns.counts].is_integer() else nw.col(columns.counts).cast(nw.Int64)
        amounts, sums = {"number": amount}, [nw.col("number").sum()]
    if columns.weights is not None:
        amount = nw.col(columns.weights).cast(nw.Float64)
        amounts, sums = (
            {"weight": amount, "square": amount * amount},
            [*sums, nw.col("weight").sum(), nw.col("square").sum()],
        )
    if amounts:  # a missing amount is not at least 0 either
        amounts["bad"] = nw.when(amount >= 0).then(nw.lit(0)).otherwise(nw.lit(1))
        sums.append(nw.col("bad").sum())
    return frame.select(**keys, **amounts).group_by(*keys).agg(*sums)


def _fetched(query: Any) -> Found:
    rows = query.collect() if isinstance(query, nw.LazyFrame) else query
    return {name: rows[name].to_list() for name in rows.columns}


def chosen(source: Source, column: str | None, by: Any, weights: str | None, counts: str | None) -> Columns:
    """Check that the columns are there; where there is only one left to count, it need not be named."""
    names = list(source.frame.collect_schema())
    groups = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    named = [name for name in (*groups, weights, counts) if name is not None]
    if column is None:
        rest = [name for name in names if name not in named]
        if len(rest) != 1:
            msg = f"column must be given unless there is just one to count, but there are {len(rest)}: {_listed(rest)}"
            raise ValueError(msg)
        column = rest[0]
    for name in (column, *named):
        if name not in names:
            near = difflib.get_close_matches(str(name), names, n=1)
            guess = f"did you mean {near[0]!r}? " if near else ""
            msg = f"there is no column {name!r}; {guess}The columns are: {_listed(names)}"
            raise ValueError(msg)
    return Columns(column, groups, weights, counts)


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")


def _refuse_types(schema: dict[str, Any], columns: Columns, design: RandomizedResponse, *, codes: bool) -> None:
    """Look at the schema before anything is run: engines differ in what they silently convert."""
    dtype = schema[columns.value]
    vague = dtype == nw.Unknown  # a column of nothing but nulls
    if codes or isinstance(design.domain[0], int):
        wanted, fits = "integers", dtype.is_integer()
    else:
        wanted, fits = "strings", dtype in {nw.String, nw.Categorical, nw.Enum}
    if not fits and not vague:
        msg = f"column {columns.value!r} must hold {wanted}, as the domain does, but holds {dtype}; convert it first"
        raise TypeError(msg)
    if columns.weights is not None and not schema[columns.weights].is_numeric():
        msg = f"weights must be a column of numbers, but {columns.weights!r} holds {schema[columns.weights]}"
        raise TypeError(msg)
    if columns.counts is not None and not schema[columns.counts].is_integer():
        msg = f"counts must be a column of whole numbers, but {columns.counts!r} holds {schema[columns.counts]}"
        raise TypeError(msg)


def opened(path: str | os.PathLike[str]) -> Source:
    """Open a file, or all files of a pattern, without reading them."""
    name = os.fspath(path)
    try:
        import duckdb  # noqa: PLC0415 - only files need it
    except ImportError:
        msg = "reading files needs DuckDB: pip install 'warner[cli]'"
        raise ImportError(msg) from None
    pattern = glob.has_magic(name) and not Path(name).exists()
    files = sorted(glob.glob(name, recursive=True)) if pattern else [name]  # noqa: PTH207 - may be absolute
    if not files or not Path(files[0]).exists():
        msg = f"there is no file {name}"
        raise FileNotFoundError(msg)
    if Path(files[0]).is_dir():
        msg = f"{name} is a folder; give a file, or a pattern such as {name.rstrip('/')}/*.csv"
        raise IsADirectoryError(msg)
    kind = ENDINGS.get(Path(files[0].removesuffix(".gz")).suffix.lower(), "csv")
    connection: Any = duckdb.connect()
    with readable(name):
        if kind == "parquet":
            relation = connection.read_parquet(files)
        elif kind == "json":
            relation = connection.read_json(files, format="newline_delimited")
        else:
            # Every column as text, or a sniffer would turn labels such as 007 into numbers.
            mark = "\t" if kind == "tsv" else _delimiter(files[0])
            relation = connection.read_csv(files, header=True, all_varchar=True, delimiter=mark, quotechar='"')
    return Source(nw.from_native(relation), text=kind in {"csv", "tsv"})


@contextmanager
def readable(name: str, *, secret: bool = False) -> Iterator[None]:
    """Turn an engine's error on a file into a plain one that names the file; no word of it where that is secret."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.split(".")[0] not in {"duckdb", "_duckdb", "narwhals"}:
            raise
        lines = str(error).splitlines()
        telling = next((line for line in lines if "unicode" in line.lower() or "utf" in line.lower()), lines[0])
        msg = f"{name} cannot be read" + ("" if secret else f": {telling.strip()}")
        raise ValueError(msg) from None


def _delimiter(name: str) -> str:
    """Take the delimiter from the header alone: guessing it from the values goes wrong for a single column."""
    try:
        with gzip.open(name, "rb") if name.endswith(".gz") else Path(name).open("rb") as file:
            header = file.readline(2**16)
    except gzip.BadGzipFile:
        msg = f"{name} ends in .gz, but is not gzipped"
        raise ValueError(msg) from None
    if not header.strip():
        msg = f"{name} is empty: there is not even a header"
        raise ValueError(msg)
    if b"\0" in header:
        msg = f"{name} is not a CSV file: its first line is binary"
        raise ValueError(msg)
    return max(",\t;|", key=lambda mark: header.count(mark.encode()))
