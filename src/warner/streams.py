"""Files of answers to files of reports, a piece at a time.

True answers pass through memory in pieces of bounded size and are written nowhere: what reaches the output is the
randomized column, and only those other columns that are asked for by name.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from warner.engines import chosen, opened, readable
from warner.files import written_whole
from warner.labels import labelled, positions
from warner.randomize import randomize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from warner.design import RandomizedResponse

PIECE = 2**16  # rows in memory at a time

Piece = dict[str, list[Any]]


def randomize_file(
    source: str | os.PathLike[str],
    design: RandomizedResponse,
    target: str | os.PathLike[str],
    *,
    column: str | None = None,
    keep: Sequence[str] = (),
    progress: Callable[[int], None] = lambda rows: None,  # noqa: ARG005
) -> int:
    """Randomize a column of a file into another file, and give the number of rows.

    Parameters
    ----------
    source : path
        A CSV, Parquet or JSON-lines file of true answers; ``-`` for CSV on standard input.
    design : RandomizedResponse
        What every answer goes through.
    target : path
        Where the reports go, as CSV, Parquet or JSON lines by its ending; written whole or not at all. ``-`` for CSV on
        standard output.
    column : str, optional
        The column of answers; may be left out where there is only one.
    keep : sequence of str
        Other columns to carry along. The true answers never are.
    progress : callable
        Told the number of rows done, now and then.

    Raises
    ------
    ValueError
        For an answer outside the domain, or a missing one: it names the row, not the answer.
    """
    pieces, text = _pieces(source, column, keep)
    first = next(pieces, None)
    if first is None:
        msg = f"{os.fspath(source)} holds no answers"
        raise ValueError(msg)
    name = next(iter(first))
    done = 0
    with _writer(target) as write:
        for piece in itertools.chain([first], pieces):
            answers = piece.pop(name)
            codes = positions(_as_labels(answers, design) if text else answers, design)
            if (codes < 0).any():
                row = done + int(np.flatnonzero(codes < 0)[0]) + 1
                msg = (
                    f"column {name!r} must hold answers of the domain, but in row {row:,} it is missing or not in it; "
                    "nothing was written. Leave such rows out, or add the answer to the domain"
                )
                raise ValueError(msg)
            reports = labelled(randomize(codes, design, codes=True), design).tolist()
            write({name: reports} | piece)
            done += len(reports)
            progress(done)
    return done


def _as_labels(values: list[Any], design: RandomizedResponse) -> list[Any]:
    """Read the texts of a CSV as integers, where the labels are integers: a number has one spelling."""
    if isinstance(design.domain[0], str):
        return values
    return [int(v) if v and v.removeprefix("-").isdecimal() and str(int(v[:20])) == v else v for v in values]


def _pieces(source: str | os.PathLike[str], column: str | None, keep: Sequence[str]) -> tuple[Iterator[Piece], bool]:
    """Read the wanted columns, the answers first; also whether all is text."""
    if os.fspath(source) == "-":
        return _csv_pieces(sys.stdin, column, keep), True
    name = os.fspath(source)
    with readable(name, secret=True):
        file = opened(source)
    wanted = [chosen(file, column, list(keep) or None, None, None).value, *keep]
    relation = file.frame.select(*wanted).to_native()

    def batches() -> Iterator[Piece]:
        with readable(name, secret=True):
            for batch in relation.to_arrow_reader(PIECE):
                if batch.num_rows:
                    yield dict(zip(wanted, (batch.column(i).to_pylist() for i in range(len(wanted))), strict=True))

    return batches(), file.text


def _csv_pieces(lines: TextIO, column: str | None, keep: Sequence[str]) -> Iterator[Piece]:
    reader = csv.reader(lines)
    header = next(reader, None)
    if not header:
        msg = "standard input is empty: there is not even a header"
        raise ValueError(msg)
    rest = [name for name in header if name not in keep]
    if column is None and len(rest) != 1:
        msg = f"column must be given unless there is just one, but there are {len(rest)}: {', '.join(map(repr, rest))}"
        raise ValueError(msg)
    wanted = [column if column is not None else rest[0], *keep]
    for name in wanted:
        if name not in header:
            msg = f"there is no column {name!r}; The columns are: {', '.join(map(repr, header))}"
            raise ValueError(msg)
    places = [header.index(name) for name in wanted]
    while rows := list(itertools.islice(reader, PIECE)):
        # A short row has no answer: it is missing, and will be refused by its number.
        yield {
            name: [row[place] if place < len(row) and row[place] else None for row in rows]
            for name, place in zip(wanted, places, strict=True)
        }


@contextmanager
def _writer(target: str | os.PathLike[str]) -> Iterator[Callable[[Piece], None]]:
    name = os.fspath(target)
    if name == "-":
        with _csv_writer(sys.stdout) as write:
            yield write
        return
    ending = Path(name.removesuffix(".gz")).suffix.lower()
    with written_whole(target) as part:
        if ending in {".parquet", ".pq"}:
            with _parquet_writer(part) as write:
                yield write
            return
        with (
            gzip.open(part, "wt", encoding="utf-8", newline="")
            if name.endswith(".gz")
            else part.open("w", encoding="utf-8", newline="") as file
        ):
            if ending in {".json", ".jsonl", ".ndjson"}:
                yield lambda piece: file.writelines(
                    json.dumps(dict(zip(piece, row, strict=True)), ensure_ascii=False, default=str) + "\n"
                    for row in zip(*piece.values(), strict=True)
                )
            elif ending in {".csv", ".tsv", ".txt", ""}:
                with _csv_writer(file, "\t" if ending == ".tsv" else ",") as write:
                    yield write
            else:
                msg = f"the output must end in .csv, .tsv, .parquet or .jsonl (.gz may follow), but got {name}"
                raise ValueError(msg)


@contextmanager
def _csv_writer(file: Any, delimiter: str = ",") -> Iterator[Callable[[Piece], None]]:
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    started = False

    def write(piece: Piece) -> None:
        nonlocal started
        if not started:
            writer.writerow(piece)
            started = True
        writer.writerows(zip(*piece.values(), strict=True))

    yield write


@contextmanager
def _parquet_writer(path: Path) -> Iterator[Callable[[Piece], None]]:
    import pyarrow as pa  # noqa: PLC0415 - only this format needs it
    import pyarrow.parquet as pq  # noqa: PLC0415

    writer: Any = None

    def write(piece: Piece) -> None:
        nonlocal writer
        table = pa.table(piece) if writer is None else pa.table(piece, schema=writer.schema)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()
