"""`warner estimate` tells what people would have answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from warner.cli.delivering import Delivery, PictureForms, TableForms, refuse_overwriting
from warner.cli.follow_ups import FollowUps
from warner.cli.messages import tell, warn, working
from warner.cli.options import (
    ColumnOptions,
    Level,
    Reading,
    Reports,
    SampleDesign,
    Seed,
    generator,
)
from warner.cli.sources import NOT_FIXED, DesignGiven, Source
from warner.estimation import estimated
from warner.estimators import METHODS
from warner.memory import JSON_BYTES, refuse_beyond_memory
from warner.results import formulas_in
from warner.words import conjoined, sentence

if TYPE_CHECKING:
    from warner.documents import Document
    from warner.estimation import Estimate

ANYTIME_TAKEN = f"{NOT_FIXED}, so the intervals are those that hold however often one looks"
ONE_LOOK = f"{NOT_FIXED}, and what is for one look need not hold for it; the intervals of --anytime do"


def estimate(
    context: typer.Context,
    files: Reports,
    *,
    given: DesignGiven,
    columns: ColumnOptions,
    sample: SampleDesign,
    method: Annotated[
        str | None,
        typer.Option(
            help=f"The estimator: {', '.join(METHODS)}, or auto: shrink for 20 answers or more, else the closed form "
            "with the smallest predicted error. If not given, the closest that we know: smooth for numbers, shrink for "
            "one symmetric design with 20 answers or more without groups, else maximum likelihood (mle) where the "
            "counts allow it."
        ),
    ] = None,
    seed: Seed = None,
    level: Level = 0.95,
    target: Annotated[
        str, typer.Option(help="Whose shares the intervals are for: population, or realised (the people who reported).")
    ] = "population",
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Give intervals that hold for all answers at once.")
    ] = False,
    anytime: Annotated[
        bool | None,
        typer.Option(
            "--anytime/--one-look",
            help="Give intervals that hold however often you look while reports arrive, or those for one look. If not "
            "given, those for one look, except for a survey whose number of responses was not fixed beforehand.",
        ),
    ] = None,
    follow_ups: FollowUps,
    rows: Annotated[int, typer.Option(help="The number of rows to show; with --by, of each group.", min=1)] = 20,
    reading: Reading,
    table: TableForms,
    pictures: PictureForms,
    cumulative: Annotated[
        bool,
        typer.Option("--cumulative", help="Make --plot show the shares of all answers up to each, in their order."),
    ] = False,
) -> None:
    """Estimate what people would have answered.

    Prints a table of the estimated shares with confidence intervals, the largest first, or the same as JSON or CSV.
    With two answers, the table shows the first, because the other one is the rest; JSON and CSV have both. If means,
    quantiles, shares beyond a number or totals are asked for, CSV and all other tables have a row for each of these.
    """
    _refuse_contradictions(follow_ups, table)
    if cumulative and pictures.plot is None:
        raise ValueError("--cumulative says what --plot draws; give --plot with a file as well")
    refuse_overwriting(
        {"the reports": files, "the design": given.files},
        {"--output": table.output, **pictures.files},
    )
    source = Source(files, columns, reading, sample)
    keep = method in METHODS and METHODS[method].likelihood
    chosen = source.optional_stopping
    ever = anytime if anytime is not None else chosen and target == "population"
    confidence: Document = {"level": level, "target": target, "simultaneous": simultaneous, "anytime": ever}
    with working("counting reports"):
        tally = context.with_resource(source.tallied(given, keep=keep))  # until all is written
    with working("estimating"):
        result = estimated(tally, method=method, rng=generator(seed))
        if ".json" in table.forms:
            cells = result.shares.size
            refuse_beyond_memory(cells, JSON_BYTES, f"{cells:,} shares in JSON", "write .csv or .parquet")
        answers = follow_ups.answered(result, level, target, anytime=bool(ever))
        text = table.written(
            Delivery(result, confidence, answers, rows, tuple(map(sentence, result.foundations())) if answers else ())
        )
        text += "" if table.as_json or table.as_csv else _together(result)
        pictures.written(result, confidence, cumulative=cumulative)
        doubts = result.doubts() if table.as_json or table.as_csv else []  # the printed table says it itself
        if ".csv" in table.forms:
            from warner.inference.ranking import answer_columns

            doubts += filter(None, [formulas_in(answer_columns(result.tally))])
    if chosen and (follow_ups.asked or not ever):
        tell(f"warner: note: {ONE_LOOK}", err=True)
    elif chosen and anytime is None:
        tell(f"warner: note: {ANYTIME_TAKEN}", err=True)
    for doubt in doubts:
        warn(doubt)
    table.printed(text)


def _together(result: Estimate) -> str:
    """Point to `warner groups` in a line, where groups would be estimated more closely together."""
    if not result.tally.by:
        return ""
    from warner.groups.group_estimates import advice

    said = advice(result.tally)
    return f"`warner groups` is probably closer: {said}\n" if said else ""


def _refuse_contradictions(follow_ups: FollowUps, table: TableForms) -> None:
    asked = follow_ups.about_answers
    table.refuse_contradictions(f"{conjoined(asked)} {'are' if len(asked) > 1 else 'is'}" if asked else "")
    follow_ups.refuse_contradictions()
