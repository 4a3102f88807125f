"""`warner randomize` turns true answers into reports."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warner.designs import load_design

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Survey = Annotated[Path, typer.Option("--design", "-d", help="The design: a file that `warner design` wrote.")]


def randomize(
    file: Annotated[
        str, typer.Argument(help="True answers: a CSV, Parquet or JSON-lines file, or - for CSV on standard input.")
    ],
    *,
    design: Survey,
    column: Annotated[str | None, typer.Option("--column", "-c", help="The column of answers.")] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="A column to carry along; may be given more than once.")
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where the reports go: .csv, .parquet, .jsonl, or - .")
    ] = "-",
) -> None:
    """Randomize true answers into reports.

    The probabilities are exact, and the randomness is the operating system's: there is no seed to give.
    """
    from warner.reports.streams import randomize_file

    survey = load_design(design)
    with _progress() as progress:
        rows = randomize_file(file, survey, output, column=column, keep=keep or (), progress=progress)
    if output != "-":
        typer.echo(f"{output}: {rows:,} reports, epsilon {survey.shown_epsilon()} each")


@contextmanager
def _progress() -> Iterator[Callable[[int], None]]:
    """Show the rows done on long work, if somebody is watching."""
    if not sys.stderr.isatty():
        yield lambda rows: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed:,} rows"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("rows", total=None)
        yield lambda rows: bar.update(task, completed=rows)
