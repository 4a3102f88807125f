"""Randomize files of answers into files of reports, a piece at a time.

True answers pass through memory in pieces of bounded size, and are never written.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

import numpy as np

from warner.designs.open_domain import OpenDomain
from warner.designs.ordered import is_numeric, refuse_texts
from warner.designs.ordered import nearest as nearest_answer
from warner.designs.questionnaires import REPORT, SelectAll, SplitQuestionnaire
from warner.designs.report_forms import LabelForm
from warner.documents import Document, csv_writer, written_whole
from warner.reports.files import (
    delimiter_of,
    engine_errors,
    first_record,
    format_by_name,
    gzip_errors,
    is_zipped,
    open_files,
    open_text,
    refuse_duplicates,
    standard_input,
    writer_of,
)
from warner.reports.labelled import with_value_labels
from warner.reports.options import Reading
from warner.reports.queries import columns_among, refuse_headless
from warner.reports.randomizing import randomize
from warner.reports.tallies import refuse_design

if TYPE_CHECKING:
    from warner.arrays import Counts
    from warner.designs import Design
    from warner.designs.memo import Memo

PIECE_ROWS = 2**16  # rows in memory at a time
csv.field_size_limit(2**27)  # a label or a kept text may be long

Piece: TypeAlias = dict[str, list[Any]]  # some rows, by column
Write: TypeAlias = Callable[[Piece], None]
Devices: TypeAlias = Mapping[str | None, Any]  # by the column of answers; None for the only column


def randomize_file(
    source: str | os.PathLike[str],
    design: Design | OpenDomain | SplitQuestionnaire,
    target: str | os.PathLike[str],
    *,
    column: str | None = None,
    keep: Sequence[str] = (),
    memo: Memo | None = None,
    nearest: bool = False,
    encoding: str | None = None,
    sheet: str | None = None,
    progress: Callable[[int], None] = lambda rows: None,
) -> int:
    """Randomize a column of a file into another file, and return the number of rows.

    The options are those of `warner randomize`. A path ``-`` is CSV on standard input or output; `progress` is called
    with the number of rows done, now and then. Reports are written whole or not at all; those that are sets of answers
    in hexadecimal, into Parquet as bytes, and those that are three numbers with colons, into JSON lines and Parquet as
    lists. An error for an answer outside the domain, or a missing one, names the row, not the answer.
    """
    columns: Devices = {column: design}
    if isinstance(design, SplitQuestionnaire):
        columns = dict(zip(design.questions, design.parts, strict=True))
        if column is not None or memo is not None or nearest:
            raise ValueError(
                "column, memo and nearest must be left out for several questions, which name their columns"
            )
        if isinstance(design, SelectAll) and design.device is not None and REPORT in keep:
            raise ValueError(f"keep must not name {REPORT!r}, which is the column of the reports; rename it")
    elif not isinstance(design, OpenDomain):
        refuse_design(design, "randomize_file(source, design, target)")
    if Path(target).exists() and Path(source).exists() and Path(target).samefile(source):
        raise ValueError(
            f"{os.fspath(target)} holds the true answers, which would be lost; write the reports to another file"
        )
    pieces, types, text = _pieces(source, columns, keep, Reading(encoding=encoding, sheet=sheet))
    first = next(pieces, None)
    if first is None:
        raise ValueError(f"{os.fspath(source)} holds no answers")
    answered = dict(zip(first, map(_answer_form, columns.values()), strict=False))
    kind = format_by_name(os.fspath(target)).kind
    done, undone = 0, _undone(target)
    with _writer(target, types) as write:
        for piece in itertools.chain([first], pieces):
            codes = []
            for (name, form), part in zip(answered.items(), columns.values(), strict=True):
                values = piece.pop(name)
                if nearest:
                    values = _rounded(values, part)
                read, status = form.read(values, text=text and not nearest)
                if status.any():
                    row = done + int(np.flatnonzero(status)[0]) + 1
                    raise ValueError(
                        f"column {name!r} must hold answers of the domain, but in row {row:,} it is missing or not in "
                        f"it; {undone}. {_remedy(part, nearest=nearest)}"
                    )
                codes.append(read)
            if isinstance(design, SplitQuestionnaire):
                reports = design.draw(codes, os.urandom, kind)
            else:
                drawn = _drawn(codes[0], design, memo)
                reports = {name: design.report_form.written(drawn, like=np.dtype(object), into=kind).tolist()}
            write(reports | piece)
            done += len(codes[0])
            progress(done)
    return done


def _rounded(values: list[Any], design: Design | OpenDomain) -> list[Any]:
    """Round numbers, which may be texts, to the nearest answer; None for anything else."""
    if isinstance(design, OpenDomain):
        raise ValueError("nearest must be left out for an open domain, whose answers are not on a scale")
    refuse_texts(design.domain)
    rounded: list[Any] = []
    for value in values:
        try:
            rounded.append(nearest_answer(design.domain, value))
        except ValueError:
            rounded.append(None)
    return rounded


def _remedy(design: Design | OpenDomain, *, nearest: bool) -> str:
    if isinstance(design, OpenDomain):
        return "Leave such rows out"
    if nearest:
        return "Leave rows without a number out"
    if design.ordered and is_numeric(design.domain):
        return "Leave such rows out, or round numbers to the nearest answer (--nearest)"
    return "Leave such rows out, or add the answer to the domain"


def randomize_lines(
    source: str | os.PathLike[str],
    design: Design | OpenDomain,
    target: str | os.PathLike[str],
    *,
    progress: Callable[[int], None] = lambda rows: None,
) -> int:
    """Randomize one answer per line into one report per line, without a header, like the clients of `warner audit`.

    Arguments, result and errors are those of `randomize_file`, with lines in the place of rows.
    """
    if not isinstance(design, OpenDomain):
        refuse_design(design, "randomize_lines(source, design, target)")
    answered, reported = _answer_form(design), design.report_form
    done, undone = 0, _undone(target)
    with _opened_lines(source) as lines, _written_lines(target, "\n") as file:
        while given := list(itertools.islice(lines, PIECE_ROWS)):
            codes, status = answered.read([line.removesuffix("\n").removesuffix("\r") for line in given], text=True)
            if status.any():
                line = done + int(np.flatnonzero(status)[0]) + 1
                raise ValueError(f"every line must be an answer of the domain, but line {line:,} is not; {undone}")
            reports = reported.written(_drawn(codes, design), like=np.dtype(object)).tolist()
            file.writelines(f"{report}\n" for report in reports)
            done += len(reports)
            progress(done)
    return done


def _undone(target: str | os.PathLike[str]) -> str:
    return "what was printed is not to be used" if os.fspath(target) == "-" else "nothing was written"


def _answer_form(design: Design | OpenDomain) -> Any:
    return design.answer_form if isinstance(design, OpenDomain) else LabelForm(design.domain)


def _drawn(codes: Counts, design: Design | OpenDomain, memo: Memo | None = None) -> Any:
    if not isinstance(design, OpenDomain):
        return randomize(codes, design, codes=True, memo=memo)
    if memo is not None:
        raise TypeError("memo is for memoized designs, and an open domain is none")
    return design.draw(codes, os.urandom)


def _answer_columns(names: list[str], columns: Devices, keep: Sequence[str], *, text: bool) -> list[str]:
    """Return the columns of answers; raise an error if the first line is an answer, or if one of them is to be kept."""
    for design in columns.values() if text and len(columns) == 1 else ():
        if not isinstance(design, OpenDomain):
            refuse_headless(names, LabelForm(design.domain))
    answers = [_only(names) if name is None else name for name in columns]
    if kept := [name for name in answers if name in keep]:
        raise ValueError(
            f"keep must not name the column of answers, {kept[0]!r}: the true answers would stand beside the reports"
        )
    if len(set(keep)) < len(keep):
        raise ValueError(f"keep must name each column once, but got {', '.join(map(repr, keep))}")
    return answers


@contextmanager
def _opened_lines(source: str | os.PathLike[str]) -> Iterator[Iterator[str]]:
    name = "standard input" if os.fspath(source) == "-" else os.fspath(source)
    with (
        io.TextIOWrapper(standard_input(), encoding="utf-8-sig", newline="\n")
        if os.fspath(source) == "-"
        else Path(source).open(encoding="utf-8-sig", newline="\n") as lines
    ):
        try:
            yield lines
        except UnicodeDecodeError:
            raise ValueError(f"{name} cannot be read as lines: not UTF-8") from None


@contextmanager
def _written_lines(target: str | os.PathLike[str], newline: str) -> Iterator[TextIO]:
    if os.fspath(target) == "-":
        output = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline=newline, write_through=True)
        try:
            yield output
        finally:
            output.detach()
        return
    with written_whole(target) as part, part.open("w", encoding="utf-8", newline=newline) as file:
        yield file


def _pieces(
    source: str | os.PathLike[str], columns: Devices, keep: Sequence[str], reading: Reading
) -> tuple[Iterator[Piece], Document, bool]:
    """Read the required columns, the answers first; also the Arrow types of the others, and whether all are texts."""
    name, encoding = os.fspath(source), reading.encoding
    coded = encoding or "utf-8-sig"
    form = format_by_name(name)
    if reading.sheet is not None and form.kind != "Excel":
        raise ValueError(f"sheet must be left out for {name}, which is not an Excel file, but got {reading.sheet!r}")
    if name == "-":
        text = io.TextIOWrapper(standard_input(), encoding=coded, newline="")
        return _csv_pieces(text, "standard input", columns, keep), {}, True
    if encoding is not None and not form.labelled:  # no copy in UTF-8 is made, for these are true answers
        if not form.delimited:
            raise ValueError(f"encoding must be left out for {name}, which is not a CSV file, but got {encoding!r}")
        return _csv_pieces(open_text(name, coded), name, columns, keep), {}, True
    file = open_files(source, reading, secret=True)
    answers = _answer_columns(file.names, columns, keep, text=file.text)
    by, partitions = list(keep) or None, file.partitions
    found = (columns_among(file.names, name, by, None, None, partitions=partitions, secret=True) for name in answers)
    selected = [*(roles.value for roles in found), *keep]
    forms = {name: (_answer_form(design),) for name, design in zip(answers, columns.values(), strict=True)}
    file = with_value_labels(file, forms, keep)
    relation = file.frame.select(*selected).to_native()
    with engine_errors(name, secret=True):
        schema = relation.limit(0).to_arrow_table().schema
    types = {kept: schema.field(kept).type for kept in keep}

    def batches() -> Iterator[Piece]:
        with engine_errors(name, secret=True):
            for batch in relation.to_arrow_reader(PIECE_ROWS):
                if batch.num_rows:
                    yield dict(zip(selected, (batch.column(i).to_pylist() for i in range(len(selected))), strict=True))

    return batches(), types, file.text


def _only(names: list[str]) -> str:
    """Return the only column; columns to keep also count, because one of them may contain the answers."""
    if len(names) != 1:
        raise ValueError(
            f"column must be given, that of the answers, unless the file has just one, but there are {len(names)}"
        )
    return names[0]


def _csv_pieces(lines: TextIO, name: str, columns: Devices, keep: Sequence[str]) -> Iterator[Piece]:
    with lines, gzip_errors(name):
        try:
            yield from _csv_rows(lines, name, columns, keep)
        except (csv.Error, UnicodeError) as error:
            # The error does not contain the text, which may be an answer.
            coded = lines.encoding.upper().removesuffix("-SIG")
            what = f"not {coded}" if isinstance(error, UnicodeError) else str(error)
            raise ValueError(f"{name} cannot be read as CSV: {what}") from None


def _csv_rows(lines: TextIO, source: str, columns: Devices, keep: Sequence[str]) -> Iterator[Piece]:
    first = first_record(lines)
    if not first.strip():
        raise ValueError(f"{source} is empty: there is not even a header")
    reader = csv.reader(itertools.chain(io.StringIO(first, newline=""), lines), delimiter=delimiter_of(first))
    header = next(reader)
    answers = _answer_columns(header, columns, keep, text=True)
    refuse_duplicates(header, secret=True)
    selected = [*answers, *keep]
    for name in selected:
        if name not in header:
            raise ValueError(f"there is no column {name!r} among the {len(header)} columns")
    indices = [header.index(name) for name in selected]
    filled = (row for row in reader if row or len(header) == 1)  # a blank line is no row, but of a single column
    done = 0
    while rows := list(itertools.islice(filled, PIECE_ROWS)):
        if long := [index for index, row in enumerate(rows, 1) if len(row) > len(header)]:
            raise ValueError(f"row {done + long[0]:,} of {source} has more values than the header has names")
        done += len(rows)
        # A short row has a missing answer, which raises an error with the number of the row.
        yield {
            name: [row[index] if index < len(row) and row[index] else None for row in rows]
            for name, index in zip(selected, indices, strict=True)
        }


@contextmanager
def _writer(target: str | os.PathLike[str], types: Document) -> Iterator[Write]:
    name = os.fspath(target)
    if name == "-":
        with _written_lines(name, "") as output, _csv_writer(output) as write:
            yield write
        return
    with written_whole(target) as part, writer_of(name)(part, types, zipped=is_zipped(name)) as write:
        yield write


@contextmanager
def write_csv(path: Path, _: Document, *, zipped: bool, delimiter: str = ",") -> Iterator[Write]:
    with _text_writer(path, zipped) as file, _csv_writer(file, delimiter) as write:
        yield write


def write_tsv(path: Path, types: Document, *, zipped: bool) -> Any:
    return write_csv(path, types, zipped=zipped, delimiter="\t")


@contextmanager
def write_json(path: Path, _: Document, *, zipped: bool) -> Iterator[Write]:
    """Write a JSON object on every line."""
    with _text_writer(path, zipped) as file:
        yield lambda piece: file.writelines(
            json.dumps(dict(zip(piece, row, strict=True)), ensure_ascii=False, default=str) + "\n"
            for row in zip(*piece.values(), strict=True)
        )


def _text_writer(path: Path, zipped: bool) -> Any:
    if zipped:
        return gzip.open(path, "wt", encoding="utf-8", newline="")
    return path.open("w", encoding="utf-8", newline="")


@contextmanager
def _csv_writer(file: Any, delimiter: str = ",") -> Iterator[Write]:
    writer = csv_writer(file, delimiter)
    started = False

    def write(piece: Piece) -> None:
        nonlocal started
        if not started:
            writer.writerow(piece)
            started = True
        writer.writerows(zip(*piece.values(), strict=True))

    yield write


@contextmanager
def write_parquet(path: Path, types: Document, *, zipped: bool = False) -> Iterator[Write]:
    del zipped
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer: Any = None

    def write(piece: Piece) -> None:
        nonlocal writer
        if writer is None:
            # The kept columns are of the source's own types, not of what the first piece happens to hold.
            given = {name: next((value for value in column if value is not None), "") for name, column in piece.items()}
            kinds = {name: types.get(name) or _arrow_type(value) for name, value in given.items()}
            writer = pq.ParquetWriter(path, pa.schema(list(kinds.items())))
        writer.write_table(pa.table(piece, schema=writer.schema))

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


def _arrow_type(report: str | int | bytes | list[int]) -> Any:
    import pyarrow as pa

    if isinstance(report, list):
        return pa.list_(pa.int64(), len(report))
    if isinstance(report, bytes):
        return pa.binary(len(report))
    return pa.int64() if isinstance(report, int) else pa.string()
