"""`warner tally` counts reports once and for all, and adds up what was counted."""

from __future__ import annotations

from contextlib import ExitStack

import typer

from warner.cli.options import (
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
    Output,
    Question,
    Redraw,
    Reports,
    Table,
    Truth,
    Unknown,
    Weights,
    refuse_overwriting,
    written,
)
from warner.cli.sources import DesignGiven, Source
from warner.cli.telling import tell, working


def tally(
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
    unknown: Unknown = "error",
    table: Table = None,
    input_format: Format = "csv",
    encoding: Encoding = None,
    decimal: Decimal = ".",
    missing: Missing = None,
    output: Output = None,
) -> None:
    """Count reports and save the tally, or add up tallies that were saved.

    A tally holds the counts and the design, and no report: `warner estimate`, `check` and `regress` take it in the
    place of reports. Tallies of one design add up exactly, as if all reports had been counted at once; those of
    several designs make a pool, which supposes that all reports come from the same population.
    """
    refuse_overwriting({"the reports": files, "the design": design}, {"--output": output})
    given = DesignGiven(design, domain, epsilon, truth, redraw, odds)
    wrote = written(encoding, decimal, missing)
    source = Source(files, column, by, weights, counts, unknown, table, input_format, question, wrote)
    with ExitStack() as stack:
        with working("counting reports"):
            counted = stack.enter_context(source.tallied(given))
        if output is None:
            typer.echo(counted.to_json())
        else:
            counted.save(output)
            tell(f"{output}: {counted!r}")
