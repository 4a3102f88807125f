"""`warner compare` tells whether two samples differ, each under a design of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warner.cli.delivering import Verdict, refuse_overwriting
from warner.cli.options import Level
from warner.designs.labels import from_text
from warner.reports.tallies import Tally

Saved = Annotated[Path, typer.Argument(help="A tally that `warner tally` saved.")]


def compare(
    first: Saved,
    second: Saved,
    *,
    answer: Annotated[str, typer.Option(help="The answer whose share is compared.")],
    level: Level = 0.95,
    verdict: Verdict,
) -> None:
    """Compare the share of an answer between two samples of different people, each under its own design.

    Use it to compare a direct question with a randomized one, or two years. Prints the difference and the ratio with
    their confidence intervals, and a test of equality that agrees with them.
    """
    from warner.inference.comparisons import compare_samples

    verdict.refuse_other_ending()
    refuse_overwriting({"the first tally": first, "the second tally": second}, {"--output": verdict.output})
    one, two = Tally.load(first), Tally.load(second)
    label = from_text([answer], one.domain)[0]
    result = compare_samples(one, two, label, level=level, names=(first.stem, second.stem))
    verdict.delivered(result)
