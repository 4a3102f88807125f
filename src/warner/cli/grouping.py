"""`warner groups` estimates the shares of many groups together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warner.cli.delivering import Delivery, PictureForms, TableForms, refuse_overwriting
from warner.cli.messages import tell, warn, working
from warner.cli.numbers import values_from_text
from warner.cli.options import ColumnOptions, Level, Reading, Reports, SampleDesign
from warner.cli.sources import NOT_FIXED, DesignGiven, Source
from warner.groups.group_estimates import estimate_groups
from warner.inference.ranking import answer_columns
from warner.results import formulas_in

if TYPE_CHECKING:
    from warner.documents import Document
    from warner.groups.group_estimates import GroupEstimates
    from warner.results import Result


def groups(
    context: typer.Context,
    files: Reports,
    *,
    given: DesignGiven,
    columns: ColumnOptions,
    sample: SampleDesign,
    on: Annotated[
        str | None,
        typer.Option(
            help="Shrink groups towards a regression on these columns of a file with a row for each group, of any kind "
            "that reports are read from; on all of its columns if none are named.",
            metavar="FILE[:COLUMN,...]",
        ),
    ] = None,
    along: Annotated[
        str | None,
        typer.Option(help="Let shares follow a random walk along this column of --by: numbers, dates or weeks."),
    ] = None,
    different_people: Annotated[
        bool,
        typer.Option(
            "--different-people",
            help="State that nobody is in two groups; required for --along with a memoized design.",
        ),
    ] = False,
    mean: Annotated[
        bool,
        typer.Option("--mean", help="Give the mean of answers that are numbers in each group, pooled as shares are."),
    ] = False,
    values: Annotated[
        str | None, typer.Option(help="The number that each answer stands for, for --mean, such as never=0,once=1.")
    ] = None,
    kind: Annotated[
        str, typer.Option(help="Whether intervals hold on average over the groups, or for each: average or each.")
    ] = "average",
    level: Level = 0.95,
    answer: Annotated[
        str | None, typer.Option(help="The answer to draw with --plot; of two answers, the first if not given.")
    ] = None,
    rows: Annotated[int, typer.Option(help="The number of groups to show.", min=1)] = 20,
    reading: Reading,
    table: TableForms,
    pictures: PictureForms,
) -> None:
    """Estimate the shares of many groups together.

    Each share is shrunk towards those of the other groups; the noisier the group's own reports, the more. On average
    over the groups, this is closer to the truth. Intervals hold on average, too; for a claim about one group, use
    --kind each, or `warner estimate`.
    """
    table.refuse_contradictions("")
    if values is not None and not mean:
        raise ValueError("--values needs --mean")
    covariates, names = _file_and_columns(on)
    refuse_overwriting(
        {"the reports": files, "the design": given.files, "the covariates": covariates},
        {"--output": table.output, **pictures.files},
    )
    source = Source(files, columns, reading, sample)
    with working("counting reports"):
        tally = context.with_resource(source.tallied(given))
    if not tally.by:
        raise ValueError("--by must name the column of the groups, such as --by region")
    with working("estimating"):
        known = None if covariates is None else _columns(covariates, names, tally.by)
        result = estimate_groups(tally, on=known, along=along, different_people=different_people)
        options: Document = {"level": level, "kind": kind}
        domain = result.tally.domain
        drawn = None if pictures.plot is None else domain[result.place_of(_label(answer, domain))]
        text = table.written(Delivery(result, options, _means(result, values, options) if mean else {}, rows))
        pictures.written(result, options, answer=drawn)
    if source.optional_stopping:
        tell(f"warner: note: {NOT_FIXED}, and these intervals, which are for one look, need not hold for it", err=True)
    doubts = result.doubts() if table.as_json or table.as_csv else []  # the printed table says it itself
    if ".csv" in table.forms:
        doubts += filter(None, [formulas_in(answer_columns(result.tally))])
    for doubt in doubts:
        warn(doubt)
    table.printed(text)


def _means(result: GroupEstimates, values: str | None, options: Document) -> dict[str, Result | list[Result]]:
    """Give the means of all groups, under their name in JSON."""
    numbers = None if values is None else values_from_text(values, result.tally.domain)
    return {"mean": result.mean(numbers, **options)}


def _label(answer: str | None, domain: Any) -> Any:
    """Give an answer as the domain has it: as a number where that holds numbers."""
    whole = answer is not None and answer.lstrip("-").isdecimal() and answer not in domain
    return int(answer) if whole and answer is not None else answer


def _file_and_columns(on: str | None) -> tuple[str | None, list[str]]:
    """Read FILE:COLUMN,... ; a file may itself have a colon in its name."""
    if on is None or Path(on).exists():
        return on, []
    file, colon, names = on.rpartition(":")
    if not colon or not file or not names:
        raise ValueError(f"--on must be FILE:COLUMN,..., such as regions.csv:income, but there is no file {on!r}")
    return file, [name.strip() for name in names.split(",")]


def _columns(file: str, names: list[str], by: tuple[str, ...]) -> dict[str, Any]:
    """Read the columns that name groups, and the covariates: all others if none are named."""
    from warner.reports.loading import Wanted, column_names, load, opened
    from warner.reports.queries import refuse_absent

    with opened(file) as source:
        held = column_names(source)
        for name in (*by, *names):
            refuse_absent(name, held)
        covariates = names or [name for name in held if name not in by]
        loaded = load(source, Wanted({by[0]: ()}, (*by[1:], *covariates)), every_row=True)

    def values(name: str) -> list[Any]:
        """Give a column, names of groups as they are written; what is missing as None."""
        read = loaded.column(name, as_written=name in by)
        rows = zip(read.values.tolist(), read.missing.tolist(), strict=True)
        return [None if gone else value for value, gone in rows]

    return {name: values(name) for name in (*by, *covariates)}
