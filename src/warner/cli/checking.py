"""`warner check` tells whether reports fit the design that they claim."""

from __future__ import annotations

from typing import Annotated

import typer

from warner import check as checked
from warner.cli.options import (
    AsJson,
    By,
    Column,
    Counts,
    Decimal,
    DesignFile,
    Domain,
    Encoding,
    Epsilon,
    Format,
    Missing,
    Odds,
    Question,
    Redraw,
    Reports,
    Seed,
    Table,
    Truth,
    Unknown,
    Verdict,
    Weights,
    generator,
    refuse_other_ending,
    refuse_overwriting,
    written,
)
from warner.cli.sources import DesignGiven, Source
from warner.cli.telling import working
from warner.documents import save_text


def check(
    files: Reports,
    *,
    design: DesignFile = None,
    epsilon: Epsilon = None,
    truth: Truth = None,
    redraw: Redraw = None,
    odds: Odds = None,
    domain: Domain = None,
    question: Question = None,
    column: Column = None,
    by: By = None,
    weights: Weights = None,
    counts: Counts = None,
    level: Annotated[
        float, typer.Option(help="The probability that reports that fit pass the check, at least.")
    ] = 0.95,
    simulations: Annotated[int, typer.Option(help="The number of surveys to simulate for each group.")] = 999,
    seed: Seed = None,
    fakes: Annotated[
        int | None, typer.Option(help="Also say how far this many fake reports could move a share.")
    ] = None,
    unknown: Unknown = "error",
    missing: Missing = None,
    encoding: Encoding = None,
    decimal: Decimal = ".",
    table: Table = None,
    input_format: Format = "csv",
    as_json: AsJson = False,
    output: Verdict = None,
) -> None:
    """Check whether reports fit the design.

    The exit code is 0 if the reports fit the design that they claim, 1 if they do not, and 2 for bad input.
    """
    refuse_other_ending(output)
    refuse_overwriting({"the reports": files, "the design": design}, {"--output": output})
    given = DesignGiven(design, domain, epsilon, truth, redraw, odds)
    wrote = written(encoding, decimal, missing)
    source = Source(files, column, by, weights, counts, unknown, table, input_format, question, wrote)
    with working("checking reports"):
        with source.tallied(given) as tally:
            result = checked(tally, level=level, simulations=simulations, rng=generator(seed), fakes=fakes)
        if output is not None:
            save_text(output, result.to_json() if output.suffix.lower() == ".json" else result.text())
        text = result.to_json() if as_json else result.text()
    typer.echo(text)
    if not result.fits:
        raise typer.Exit(1)
