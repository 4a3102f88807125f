"""`warner check` tells whether reports fit the design that they claim."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated, Any

import typer

from warner import check as checked
from warner.cli.delivering import Verdict, refuse_overwriting
from warner.cli.messages import tell, working
from warner.cli.options import ColumnOptions, Reading, Reports, SampleDesign, Seed, generator
from warner.cli.sources import NOT_FIXED, DesignGiven, Source


def check(
    files: Reports,
    *,
    given: DesignGiven,
    columns: ColumnOptions,
    sample: SampleDesign,
    level: Annotated[
        float, typer.Option(help="The probability that reports that fit pass the check, at least.")
    ] = 0.95,
    simulations: Annotated[int, typer.Option(help="The number of surveys to simulate for each group.")] = 999,
    seed: Seed = None,
    fakes: Annotated[
        int | None, typer.Option(help="Also say how far this many fake reports could move a share.")
    ] = None,
    reading: Reading,
    verdict: Verdict,
) -> None:
    """Check whether reports fit the design.

    Reports under several designs are also checked for coming from one population.

    The exit code is 0 if the reports fit the design that they claim, 1 if they do not, and 2 for bad input.
    """
    verdict.refuse_other_ending()
    refuse_overwriting({"the reports": files, "the design": given.files}, {"--output": verdict.output})
    source = Source(files, columns, reading, sample)
    with working("checking reports"):
        opened = source.open_tally(given)
        tallied: Any = source.tallied(given) if opened is None else nullcontext(opened)
        with tallied as tally:
            result = checked(tally, level=level, simulations=simulations, rng=generator(seed), fakes=fakes)
        text = verdict.written(result)
    if source.optional_stopping:
        tell(f"warner: note: {NOT_FIXED}, and the p-values are for one that was", err=True)
    typer.echo(text)
    if not result.fits:
        raise typer.Exit(1)
