"""`warner reproduce` runs published experiments again, and checks what they claim."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warner.cli.messages import is_quiet
from warner.cli.messages import tell as say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.documents import Document


COMPARISON = "estimators"


def reproduce(
    experiment: Annotated[
        str,
        typer.Argument(
            help="grid, overview, complete, bias-variance, real, ibu, claims or all of these; or estimators, which "
            "compares all estimators."
        ),
    ] = "all",
    *,
    seeds: Annotated[
        int | None,
        typer.Option(
            help="How often to randomize each configuration.  [default: 100; for estimators 16]", show_default=False
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(help="The number of processes.", min=1)] = 1,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The folder for the results.  [default: results; for estimators results-estimators]",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="The folder with the real data; for estimators, also any CSV file with the columns value,count.  "
            "[default: ~/.cache/warner]",
            show_default=False,
        ),
    ] = None,
    estimator: Annotated[
        list[str] | None,
        typer.Option(
            help="For estimators: your own, as module:function, a function of counts and design; may be repeated.",
        ),
    ] = None,
    dask: Annotated[str | None, typer.Option(help="Compute on the Dask cluster at this address.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Run everything at toy size, within a minute.")] = False,
) -> None:
    """Reproduce the paper's experiments and claims.

    These are the experiments of Pinzón et al. (AAAI 2026), and a comparison of all estimators that goes beyond them.
    What is finished is kept in the folder, so that an interrupted run continues where it stopped.
    """
    target = output or Path("results-estimators" if experiment == COMPARISON else "results")
    if estimator and experiment != COMPARISON:
        raise ValueError(f"--estimator must be given with {COMPARISON}, but the experiment is {experiment}")
    options: Document = {"seeds": seeds, "jobs": jobs, "data": data, "dask": dask, "quick": quick}
    try:
        with _stages() as (tell, say):
            if experiment == COMPARISON:
                from warner.papers.estimators.run import compare

                page = compare(target, estimators=estimator or (), **options, tell=tell, say=say)
            else:
                from warner.papers.pinzon2026.run import reproduce as reproduced

                page = reproduced(experiment, target, **options, tell=tell, say=say)
    except KeyboardInterrupt:
        typer.echo(
            f"warner: interrupted; what is done is kept in {target}, and the same command continues from there",
            err=True,
        )
        sys.exit(130)
    what = "tables, figures" if experiment == COMPARISON else "figures, claims"
    say(f"{page}: {what} and settings; the numbers are beside it")


@contextmanager
def _stages() -> Iterator[Any]:
    """Show the stage of long work and the time left, and lines on what is left out."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if is_quiet() or not sys.stderr.isatty():
        yield (lambda stage, done, total: None), (lambda line: say(f"warner: {line}", err=True))
        return
    columns = (TextColumn("{task.description:8}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, speed_estimate_period=60) as bar:
        tasks: Document = {}

        def tell(stage: str, done: float, total: float) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=1)
            bar.update(tasks[stage], completed=done / total if total else 1)

        yield tell, lambda line: console.print(line, markup=False, highlight=False)
