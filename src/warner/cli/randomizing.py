"""`warner randomize` turns true answers into reports."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warner.cli.delivering import refuse_overwriting
from warner.cli.messages import is_quiet, tell
from warner.cli.options import Encoding, Sheet
from warner.designs import Memo, load_design
from warner.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from warner.designs import Design

Survey = Annotated[Path, typer.Option("--design", "-d", help="The design: a file that `warner design` wrote.")]


def randomize(
    file: Annotated[
        str,
        typer.Argument(
            help="True answers: a CSV, Excel, Parquet, JSON-lines, SPSS, Stata or SAS file, or - for CSV on standard "
            "input."
        ),
    ],
    *,
    design: Survey,
    column: Annotated[str | None, typer.Option("--column", "-c", help="The column that holds the answers.")] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="A column to copy to the output; may be given more than once.")
    ] = None,
    sheet: Sheet = None,
    encoding: Encoding = None,
    memo: Annotated[
        Path | None,
        typer.Option(
            help="For a memoized design: the answers are all one person's, whose permanent responses are kept in this "
            "file. It is made if there is none."
        ),
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="Where to write the reports: a .csv, .parquet or .jsonl file, or - for standard output.",
        ),
    ] = "-",
    nearest: Annotated[
        bool,
        typer.Option("--nearest", help="Round numbers to the nearest answer of the design before randomizing them."),
    ] = False,
    lines: Annotated[
        bool, typer.Option("--lines", help="Read one answer per line, and write one report per line, without a header.")
    ] = False,
) -> None:
    """Randomize true answers into reports.

    The probabilities are exact, and the randomness comes from the operating system: there is no seed.
    """
    from warner.reports.randomizing_files import randomize_file, randomize_lines

    if lines and (column is not None or keep or memo is not None or encoding is not None or sheet is not None):
        raise ValueError(
            "--lines has no columns, no sheets, no memo and no other encoding; leave --column, --keep, --sheet, --memo "
            "and --encoding out"
        )
    if lines and nearest:
        raise ValueError("--nearest is for columns of a file; round the numbers before they are given as lines")
    refuse_overwriting({"the file of answers": file, "the design": design, "the memo": memo}, {"--output": output})
    survey = load_design(design)
    kept = None if memo is None else _kept(memo, survey, output)
    with _progress() as progress:
        rows = (
            randomize_lines(file, survey, output, progress=progress)
            if lines
            else randomize_file(
                file,
                survey,
                output,
                column=column,
                keep=keep or (),
                memo=kept,
                nearest=nearest,
                encoding=encoding,
                sheet=sheet,
                progress=progress,
            )
        )
    aside = output == "-"  # then the reports are what is printed
    if kept is not None:
        tell(f"{memo}: {kept.spent()}", err=aside)
    if not aside:
        spent = f"epsilon {survey.shown_epsilon()} each" if kept is None else "all of one person"
        tell(f"{output}: {counted(rows, 'report', 'reports')}, {spent}")


def _kept(memo: Path, survey: Design, output: str) -> Memo:
    """Open a memo, or make one and say so: whoever has mistyped its name would spend epsilon again."""
    if memo.exists():
        return Memo.load(memo, survey)
    made = Memo.create(memo, survey)
    typer.echo(f"{memo}: a new memo; keep it for all later answers of this person", err=output == "-")
    return made


@contextmanager
def _progress() -> Iterator[Callable[[int], None]]:
    """Show the rows done on long work, if somebody is watching."""
    if is_quiet() or not sys.stderr.isatty():
        yield lambda rows: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed:,} rows"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("rows", total=None)
        yield lambda rows: bar.update(task, completed=rows)
