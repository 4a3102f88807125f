"""`warner reproduce` runs published experiments again, and checks what they claim."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.documents import Document


def reproduce(
    experiment: Annotated[
        str, typer.Argument(help="grid, overview, complete, bias-variance, real, ibu, claims or all.")
    ] = "all",
    *,
    seeds: Annotated[
        int | None, typer.Option(help="How often each configuration is randomized.  [default: 100]", show_default=False)
    ] = None,
    jobs: Annotated[int, typer.Option(help="Number of processes.", min=1)] = 1,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for the results.")] = Path("results"),
    data: Annotated[
        Path | None, typer.Option(help="The folder with the real data.  [default: ~/.cache/warner]", show_default=False)
    ] = None,
    dask: Annotated[str | None, typer.Option(help="Compute on the Dask cluster at this address.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Everything at toy size, within a minute.")] = False,
) -> None:
    """Reproduce the paper's experiments and claims.

    These are the experiments of Pinzón et al. (AAAI 2026). What is finished is kept in the folder, so that an
    interrupted run continues where it stopped.
    """
    from warner.papers.pinzon2026.run import reproduce as reproduced

    try:
        with _stages() as (tell, say):
            page = reproduced(
                experiment, output, seeds=seeds, jobs=jobs, data=data, dask=dask, quick=quick, tell=tell, say=say
            )
    except KeyboardInterrupt:
        typer.echo(
            f"warner: interrupted; what is done is kept in {output}, and the same command continues from there",
            err=True,
        )
        sys.exit(130)
    typer.echo(f"{page}: figures, claims and settings; the numbers are beside it")


@contextmanager
def _stages() -> Iterator[Any]:
    """Show the stage of long work and the time left, and lines on what is left out."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not sys.stderr.isatty():
        yield (lambda stage, done, total: None), (lambda line: typer.echo(f"warner: {line}", err=True))
        return
    columns = (TextColumn("{task.description:8}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, speed_estimate_period=60) as bar:
        tasks: Document = {}

        def tell(stage: str, done: float, total: float) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=1)
            bar.update(tasks[stage], completed=done / total if total else 1)

        yield tell, lambda line: console.print(line, markup=False, highlight=False)
