"""`warner estimate` tells what people would have answered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warner.cli.follow_ups import Questions
from warner.cli.messages import tell, warn, working
from warner.cli.options import (
    AsJson,
    Columns,
    Level,
    Plot,
    Reading,
    Reports,
    Seed,
    generator,
    refuse_overwriting,
    taking_groups,
)
from warner.cli.sources import NOT_FIXED, DesignGiven, Source
from warner.documents import Document, written_whole
from warner.estimation import estimated
from warner.estimators import METHODS
from warner.inference.ranking import answer_columns
from warner.memory import JSON_BYTES, refuse_beyond_memory
from warner.results import as_csv as csv_text
from warner.results import as_json as json_text
from warner.results import formulas_in
from warner.typesetting import FORMS

if TYPE_CHECKING:
    from warner.estimation import Estimate
    from warner.results import Result

ANYTIME_TAKEN = f"{NOT_FIXED}, so the intervals are those that hold however often one looks"
ONE_LOOK = f"{NOT_FIXED}, and what is for one look need not hold for it; the intervals of --anytime do"
ENDINGS = (".csv", ".json", ".parquet", *FORMS)
HtmlReport = Annotated[Path | None, typer.Option(help="Write an HTML report to this file.")]


@taking_groups
def estimate(
    context: typer.Context,
    files: Reports,
    *,
    given: DesignGiven,
    columns: Columns,
    method: Annotated[
        str | None,
        typer.Option(
            help=f"The estimator: {', '.join(METHODS)}, or auto: shrink for 20 answers or more, else the closed form "
            "with the smallest predicted error. If not given, the closest that we know: shrink for one symmetric "
            "design with 20 answers or more without groups, else maximum likelihood (mle) where the counts allow it."
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
    compare: Annotated[
        list[str] | None, typer.Option(help="Compare two answers, as a,b; may be given more than once.")
    ] = None,
    between: Annotated[
        list[str] | None,
        typer.Option(
            help="Compare the answer of --compare between two groups, with --by: as a,b, or each after a --between of "
            "its own."
        ),
    ] = None,
    test: Annotated[str, typer.Option(help="The exact test for --between: barnard or fisher.")] = "barnard",
    commonest: Annotated[
        int | None,
        typer.Option(help="Name the answers that are certainly among the COUNT most common.", metavar="COUNT"),
    ] = None,
    present: Annotated[bool, typer.Option("--present", help="Name the answers that somebody certainly holds.")] = False,
    rows: Annotated[int, typer.Option(help="The number of rows to show; with --by, of each group.", min=1)] = 20,
    top: Annotated[int | None, typer.Option(hidden=True, min=1)] = None,  # as --rows was called
    reading: Reading,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the result as CSV.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write to this .csv, .json or .parquet file; or a table for a paper to this .md, .tex or .html file.",
        ),
    ] = None,
    plot: Plot = None,
    report: HtmlReport = None,
    title: Annotated[str | None, typer.Option(help="The headline of --report, and the title of --plot.")] = None,
    wording: Annotated[
        str | None, typer.Option(help="The question that people were asked, word for word, for --report.")
    ] = None,
) -> None:
    """Estimate what people would have answered.

    Prints a table of the estimated shares with confidence intervals, the largest first, or the same as JSON or CSV. Of
    two answers the table shows the first, because the other one is the rest; JSON and CSV have both.
    """
    questions = Questions(compare or [], between or [], commonest, present, test)
    _refuse_contradictions(questions, output, as_json=as_json, as_csv=as_csv)
    refuse_overwriting(
        {"the reports": files, "the design": given.files}, {"--output": output, "--plot": plot, "--report": report}
    )
    source = Source(files, columns, reading)
    keep = method in METHODS and METHODS[method].likelihood
    chosen = source.chosen
    ever = anytime if anytime is not None else chosen and target == "population"
    confidence: Document = {"level": level, "target": target, "simultaneous": simultaneous, "anytime": ever}
    with working("counting reports"):
        tally = context.with_resource(source.tallied(given, keep=keep))  # until all is written
    with working("estimating"):
        result = estimated(tally, method=method, rng=generator(seed))
        answers = questions.answered(result, level, target)
        if output is not None:
            _write(result, output, confidence, answers)
        if plot is not None:
            result.save_plot(plot, title=title, **confidence)
        if report is not None:
            result.save_page(report, title=title, question=wording, **confidence)
        if as_json:
            text = _json(result, confidence, answers) + "\n"
        elif as_csv:
            text = _csv(result, confidence)
        else:
            texts = (answer.text() for several in answers.values() for answer in several)
            text = "\n\n".join([result.text(rows=top or rows, **confidence), *texts]) + "\n"
        doubts = result.doubts() if as_json or as_csv else []  # the printed table says it itself
        if as_csv or (output is not None and output.suffix.lower() == ".csv"):
            doubts += filter(None, [formulas_in(answer_columns(result.tally))])
    if chosen and (questions.asked or not ever):
        tell(f"warner: note: {ONE_LOOK}", err=True)
    elif chosen and anytime is None:
        tell(f"warner: note: {ANYTIME_TAKEN}", err=True)
    for doubt in doubts:
        warn(doubt)
    typer.echo(text, nl=False, color=True if as_csv else None)  # CSV as it is: no label loses a character


def _refuse_contradictions(questions: Questions, output: Path | None, *, as_json: bool, as_csv: bool) -> None:
    ending = None if output is None else output.suffix.lower()
    if as_json and as_csv:
        raise ValueError("give --json or --csv, not both")
    if ending is not None and ending not in ENDINGS:
        raise ValueError(f"the output must end in .csv, .json, .parquet, .md, .tex or .html, but got {output}")
    if questions.asked and (as_csv or ending not in {None, ".json"}):
        raise ValueError("--compare, --commonest and --present are answered in the printed table and in JSON only")
    if questions.between and not questions.compare:
        raise ValueError("--between needs --compare with the answer to compare")


def _write(estimate: Estimate, output: Path, confidence: Document, answers: dict[str, list[Result]]) -> None:
    ending = output.suffix.lower()
    with written_whole(output) as part:
        if ending == ".parquet":
            import pyarrow.parquet as pq

            pq.write_table(estimate.to_frame("pyarrow", **confidence), part)
        else:
            if ending in FORMS:
                text = FORMS[ending](estimate.printed(**confidence)) + "\n"
            else:
                text = _json(estimate, confidence, answers) + "\n" if ending == ".json" else _csv(estimate, confidence)
            part.write_text(text, encoding="utf-8")


def _json(estimate: Estimate, confidence: Document, answers: dict[str, list[Result]]) -> str:
    cells = estimate.shares.size
    refuse_beyond_memory(cells, JSON_BYTES, f"{cells:,} shares in JSON", "write .csv or .parquet")
    fields = {name: [answer.to_dict() for answer in several] for name, several in answers.items() if several}
    single = {name: several if name == "comparisons" else several[0] for name, several in fields.items()}
    return json_text(estimate.to_dict(**confidence) | single)


def _csv(estimate: Estimate, confidence: Document) -> str:
    return csv_text(estimate.table(**confidence))
