"""Columns of reports that nearly all differ, such as sets of answers: read and counted in batches, which are added up.

On Dask and Spark each partition is counted where it is; warner must be installed there.
"""

from __future__ import annotations

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from warner.reports.counts import unknown_values
from warner.reports.files import engine_errors, format_by_name, open_files, parquet_errors, partition, shown
from warner.reports.queries import Frame, Roles, Table, select_columns
from warner.reports.subtotals import NOTHING, Column, ReportBlock, Rows, Subtotal, added, grouped, subtotal
from warner.runtime import narwhals as nw

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from warner.designs import Design
    from warner.designs.report_forms import Form
    from warner.reports.tallies import Group

Stamp: TypeAlias = tuple[str, int, int]  # name, size and time of a file

BATCH_BYTES = 2**24  # of reports that are read at a time
BATCH_ROWS = 2**17  # at most
READ_BYTES = 2**20  # of a Parquet file that are in memory at a time
MERGED = 8  # subtotals that Dask adds up at a time


def rows_at_a_time(form: Form) -> int:
    return min(max(BATCH_BYTES // form.width, 1), BATCH_ROWS)


def batches(source: Table, columns: Roles, form: Form) -> Iterator[Frame]:
    """Iterate over a source, a frame ahead; not by Ibis: some databases answer only the thread that opened them."""
    frames = _frames(source, columns, form)
    if source.frame.implementation.is_ibis():
        yield from frames
        return
    with ThreadPoolExecutor(1) as reader:
        ahead = reader.submit(next, frames, None)
        while (frame := ahead.result()) is not None:
            ahead = reader.submit(next, frames, None)
            yield frame


def _frames(source: Table, columns: Roles, form: Form) -> Iterator[Frame]:
    schema, rows = source.schema, rows_at_a_time(form)
    if source.files and format_by_name(source.files[0]).kind == "parquet":
        yield from (select_columns(batch, schema, columns) for batch in _parquet(source, columns.names, rows))
        return
    frame = select_columns(source.frame, schema, columns)
    native = frame.to_native()
    if isinstance(frame, nw.DataFrame):
        yield from _slices(frame, rows)
    elif hasattr(native, "collect_batches"):  # Polars
        yield from map(nw.from_native, native.collect_batches(chunk_size=rows))
    elif hasattr(native, "to_pyarrow_batches"):  # Ibis
        yield from map(_from_arrow, _ibis_reader(native, rows))
    elif hasattr(native, "to_arrow_reader"):  # DuckDB
        yield from map(_from_arrow, native.to_arrow_reader(rows))
    else:
        yield from _slices(frame.collect(), rows)


def _slices(frame: Frame, rows: int) -> Iterator[Frame]:
    return (frame[start : start + rows] for start in range(0, len(frame), rows))


def _ibis_reader(table: Any, rows: int) -> Iterator[Any]:
    import ibis

    backend = ibis.get_backend(table)
    if backend.name != "duckdb":
        return table.to_pyarrow_batches(chunk_size=rows)  # type: ignore[no-any-return]
    # Ibis asks DuckDB for its batches by a name that it no longer has. What it compiles runs all the same, once tables
    # in memory have been made known, as any query does.
    table.limit(0).to_pyarrow()
    return backend.con.sql(backend.compile(table)).to_arrow_reader(rows)  # type: ignore[no-any-return]


def _from_arrow(batch: Any) -> Frame:
    import pyarrow as pa

    return nw.from_native(pa.Table.from_batches([batch]))


def _parquet(source: Table, names: list[str], rows: int) -> Iterator[Frame]:
    """Read Parquet files with Arrow, ten times as fast here as a database."""
    import pyarrow.parquet as pq

    schema = source.schema
    inside = [name for name in names if name not in source.partitions]
    for name in source.files:
        folders = {key: value for key, value in partition(name).items() if key in source.partitions and key in names}
        constant = [nw.lit(value, nw.String).cast(schema[key]).alias(key) for key, value in folders.items()]
        with parquet_errors(name), pq.ParquetFile(name, buffer_size=READ_BYTES, pre_buffer=False) as file:
            frames = map(_from_arrow, file.iter_batches(rows, columns=inside))
            yield from (frame.with_columns(*constant) for frame in frames) if constant else frames


# A batch


class Batch(NamedTuple):
    """Rows, with 0 for each invalid amount; the number of these; and the invalid values."""

    rows: Rows
    bad: int
    strange: Mapping[str, int]

    def counted(self, design: Design, columns: Roles) -> Subtotal:
        number = self.rows.number
        roughly = 0.0 if number is None else float(number.sum(dtype=np.float64))
        return subtotal(design, self.rows, by_kind=columns.by_kind)._replace(
            bad=self.bad, roughly=roughly, strange=self.strange
        )


def read_batch(frame: Frame, form: Form) -> Batch:
    values = _arrow_column(frame["value"])
    rows, bad = Rows(*form.read(values)), 0
    if by := [name for name in frame.columns if name.startswith("by")]:
        groups, index = grouped([_arrow_column(frame[name]) for name in by])
        rows = rows._replace(groups=groups, group_index=None if len(groups) == 1 else index)
    for name in {"number", "weight"}.intersection(frame.columns):
        amounts = frame[name].fill_null(-1).to_numpy()
        wrong = ~(amounts >= 0) | np.isinf(amounts) | (frame["bad"].to_numpy() > 0)
        bad = int(wrong.sum())
        amounts = np.where(wrong, 0, amounts) if bad else amounts
        rows = rows._replace(number=amounts) if name == "number" else rows._replace(weight=amounts)
    return Batch(rows, bad, unknown_values(values, rows.status, rows.number))


def _arrow_column(series: Frame) -> Column:
    """Return an Arrow column, or a list for Python objects or without Arrow."""
    if series.dtype == nw.Object:
        return series.to_list()
    native = series.to_native()
    if getattr(native, "num_chunks", 0) == 1:
        return native.chunk(0)  # not a copy of it
    try:
        arrow = series.to_arrow()
    except ImportError:
        return series.to_list()
    return arrow.combine_chunks() if hasattr(arrow, "combine_chunks") else arrow


def no_rows(columns: Roles, form: Form) -> Batch:
    rows = (
        Rows(*form.read([]), group_index=np.zeros(0, dtype=np.int64), groups=()) if columns.by else Rows(*form.read([]))
    )
    return Batch(rows if columns.weights is None else rows._replace(weight=np.zeros(0)), 0, NOTHING)


# Partitions of a cluster


def on_cluster(frame: Frame) -> bool:
    """Return True if a frame has partitions that are counted where they are."""
    return _is_dask(frame) or hasattr(frame.to_native(), "mapInArrow")


def _is_dask(frame: Frame) -> bool:
    return bool(frame.implementation.is_dask())


def counted_on_cluster(source: Table, columns: Roles, design: Design) -> Subtotal:
    """Count every partition where it is; only one subtotal is sent back."""
    frame = select_columns(source.frame, source.schema, columns)
    return (_counted_by_dask if _is_dask(frame) else _counted_by_spark)(frame.to_native(), columns, design)


def _counted_by_dask(native: Any, columns: Roles, design: Design) -> Subtotal:
    from dask.delayed import delayed

    once = delayed(design)  # sent to each machine once
    parts = [delayed(_partition)([part], columns, once) for part in native.to_delayed()]
    while len(parts) > 1:
        several = (parts[start : start + MERGED] for start in range(0, len(parts), MERGED))
        parts = [delayed(added)(some, once) for some in several]
    total: Subtotal = parts[0].compute()
    return total


def _counted_by_spark(native: Any, columns: Roles, design: Design) -> Subtotal:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)  # it is not used
        counted = native.mapInArrow(partial(_spark_partition, columns=columns, design=design), "part binary")
        total = counted.repartition(1).mapInArrow(partial(_spark_total, design=design), "part binary").collect()
    parts = (pickle.loads(row["part"]) for row in total)
    return added(chain([no_rows(columns, design.report_form).counted(design, columns)], parts), design)


def _partition(frames: Iterable[Any], columns: Roles, design: Design) -> Subtotal:
    form = design.report_form
    slices = chain.from_iterable(_slices(nw.from_native(frame), rows_at_a_time(form)) for frame in frames)
    parts = (read_batch(part, form).counted(design, columns) for part in slices)
    return added(chain([no_rows(columns, form).counted(design, columns)], parts), design)


def _spark_partition(batches: Iterable[Any], *, columns: Roles, design: Design) -> Iterator[Any]:
    import pyarrow as pa

    yield _as_row(_partition((pa.Table.from_batches([batch]) for batch in batches), columns, design))


def _spark_total(batches: Iterable[Any], *, design: Design) -> Iterator[Any]:
    parts = (pickle.loads(part) for batch in batches for part in batch.column(0).to_pylist())
    yield _as_row(added(parts, design))


def _as_row(part: Subtotal) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict({"part": [pickle.dumps(part)]})


# Files, again


@dataclass(frozen=True, eq=False)
class FileReports:
    """Reports of files, read again at every pass; `stamps` and `rows` show whether a file has changed since."""

    paths: tuple[str, ...]
    columns: Roles
    form: Form
    numbers: dict[Group, int]
    stamps: tuple[Stamp, ...]
    rows: int

    def __call__(self) -> Iterator[ReportBlock]:
        rows = 0
        with engine_errors(shown(self.paths)):
            source = open_files(self.paths, columns_only=True)
            self._refuse_changed(stamped(source) != self.stamps)
            for frame in batches(source, self.columns, self.form):
                batch = read_batch(frame, self.form).rows
                self._refuse_changed(not self.numbers.keys() >= set(batch.groups))
                rows += batch.status.size
                yield from batch.kept(self.numbers).pieces()
            self._refuse_changed(rows != self.rows or stamped(source) != self.stamps)

    def _refuse_changed(self, changed: bool) -> None:
        if changed:
            raise ValueError(f"{shown(self.paths)} has changed since its reports were counted; tally it again")


def stamped(source: Table) -> tuple[Stamp, ...]:
    """Name, size and modification time of each file, by which changes are detected."""
    stats = ((file, Path(file).stat()) for file in source.files)
    return tuple((str(Path(file).absolute()), stat.st_size, stat.st_mtime_ns) for file, stat in stats)
