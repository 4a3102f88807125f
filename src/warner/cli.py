"""The command line: parse, call one function, print. No arithmetic lives here."""

from __future__ import annotations

import csv
import io
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.design import RandomizedResponse
    from warner.estimate import Estimate

app = typer.Typer(
    name="warner",
    help="What people would have answered, from answers that were randomized before they left their hands.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

DesignFile = Annotated[
    Path | None, typer.Option("--design", "-d", help="The design: a file that `warner design` wrote.")
]
Epsilon = Annotated[str | None, typer.Option(help="The privacy of one report, in nats: spends at most that.")]
Truth = Annotated[str | None, typer.Option(help="The probability that a report is the truth, such as 0.75 or 3/4.")]
Redraw = Annotated[str | None, typer.Option(help="The probability of a uniform re-draw over all answers.")]
Odds = Annotated[str | None, typer.Option(help="Truth against each lie, as a:b.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file, whole or not at all.")]


def _version(show: bool) -> None:  # noqa: FBT001 - Typer's callback
    if show:
        from warner import __version__  # noqa: PLC0415

        typer.echo(f"warner {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@app.command("design", epilog="Example: warner design never once often --epsilon 1 -o survey.json")
def design_command(
    labels: Annotated[list[str] | None, typer.Argument(help="The possible answers, in order.")] = None,
    *,
    epsilon: Epsilon = None,
    truth: Truth = None,
    redraw: Redraw = None,
    odds: Odds = None,
    domain_file: Annotated[Path | None, typer.Option(help="Read the answers from a file, one a line.")] = None,
    size: Annotated[int | None, typer.Option(help="As many answers, with the labels 0, 1, 2, ...")] = None,
    integers: Annotated[bool, typer.Option("--integers", help="The labels are integers, not text.")] = False,
    output: Output = None,
) -> None:
    """Write down what every answer will go through, for those who collect and those who analyse."""
    given = [name for name, value in (("labels", labels), ("--domain-file", domain_file), ("--size", size)) if value]
    if len(given) != 1:
        got = " and ".join(given) or "none"
        msg = f"give the possible answers in one way (labels, --domain-file or --size), but got {got}"
        raise ValueError(msg)
    texts = labels or []
    if domain_file:
        lines = domain_file.read_text(encoding="utf-8-sig").split("\n")
        texts = [line.rstrip("\r") for line in lines if line.strip()]
    domain: Any = size or ([int(text) for text in texts] if integers else texts)
    made = _designed(domain, epsilon, truth, redraw, odds)
    if output is None:
        typer.echo(made.to_json())
    else:
        made.save(output)
        typer.echo(f"{output}: {made!r}")


@app.command(epilog="Example: warner show survey.json")
def show(design: Annotated[Path, typer.Argument(help="A design file.")]) -> None:
    """Explain a design in plain words."""
    from warner.design import RandomizedResponse  # noqa: PLC0415

    typer.echo(RandomizedResponse.load(design).in_words())


@app.command(epilog="Example: warner randomize answers.csv --column answer --design survey.json -o reports.parquet")
def randomize(
    file: Annotated[
        str, typer.Argument(help="True answers: a CSV, Parquet or JSON-lines file, or - for CSV on stdin.")
    ],
    *,
    design: Annotated[Path, typer.Option("--design", "-d", help="The design file.")],
    column: Annotated[str | None, typer.Option("--column", "-c", help="The column of answers.")] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="A column to carry along; may be given more than once.")
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where the reports go: .csv, .parquet, .jsonl, or - .")
    ] = "-",
) -> None:
    """Randomize true answers into reports, with exact probabilities from the operating system's randomness."""
    from warner.design import RandomizedResponse  # noqa: PLC0415
    from warner.streams import randomize_file  # noqa: PLC0415

    survey = RandomizedResponse.load(design)
    with _progress() as progress:
        rows = randomize_file(file, survey, output, column=column, keep=keep or (), progress=progress)
    if output != "-":
        typer.echo(f"{output}: {rows:,} reports, epsilon {survey.shown_epsilon()} each")


@app.command(epilog="Example: warner estimate reports.csv --column answer --design survey.json --by region")
def estimate(
    file: Annotated[
        str, typer.Argument(help="Reports: a CSV, Parquet or JSON-lines file or pattern, a database URL, or -.")
    ],
    *,
    design: DesignFile = None,
    epsilon: Epsilon = None,
    truth: Truth = None,
    redraw: Redraw = None,
    odds: Odds = None,
    domain: Annotated[
        str | None, typer.Option(help="The answers, with commas between, where there is no design file.")
    ] = None,
    column: Annotated[str | None, typer.Option("--column", "-c", help="The column of reports.")] = None,
    by: Annotated[list[str] | None, typer.Option(help="Group by this column; may be given more than once.")] = None,
    weights: Annotated[str | None, typer.Option(help="A column of survey weights.")] = None,
    counts: Annotated[str | None, typer.Option(help="A column that holds how often each value was reported.")] = None,
    method: Annotated[str, typer.Option(help="mle, inv, inv_n, inv_p or ibu.")] = "mle",
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    top: Annotated[int, typer.Option(help="Show so many rows.", min=1)] = 20,
    unknown: Annotated[str, typer.Option(help="Values outside the domain: error, or drop.")] = "error",
    table: Annotated[str | None, typer.Option(help="The table, where FILE is a database URL.")] = None,
    input_format: Annotated[
        str, typer.Option("--format", help="Of standard input: csv, tsv, parquet or jsonl.")
    ] = "csv",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    output: Output = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the estimate to this PNG, SVG or PDF file.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page for others to this HTML file.")] = None,
) -> None:
    """Estimate what people would have answered, with confidence intervals."""
    from warner.estimate import estimate as estimated  # noqa: PLC0415
    from warner.tally import tally  # noqa: PLC0415

    if as_json and as_csv:
        msg = "give --json or --csv, not both"
        raise ValueError(msg)
    survey = _survey(design, domain, epsilon, truth, redraw, odds)
    with _reports(file, table, input_format) as reports:
        counted = tally(reports, survey, column=column, by=by or None, weights=weights, counts=counts, unknown=unknown)
    found = estimated(counted, method=method)
    if output is not None:
        _write(found, output, level)
    if plot is not None:
        from warner.plot import saved  # noqa: PLC0415

        saved(found, plot, level=level)
    if report is not None:
        from warner.report import report as reported  # noqa: PLC0415

        reported(found, report, level=level)
    if as_json:
        typer.echo(found.to_json(level=level))
    elif as_csv:
        typer.echo(_csv(found, level), nl=False)
    else:
        typer.echo(found.text(level=level, rows=top))


@app.command(epilog="Example: warner reproduce all --jobs 2 -o results/ --data data/")
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
    """Reproduce the experiments of Pinzón et al. (AAAI 2026), and check the paper's claims.

    What is finished is in the folder, so that an interrupted run goes on where it stopped.
    """
    from warner.paper.run import reproduce as reproduced  # noqa: PLC0415

    try:
        with _stages() as (tell, say):
            page = reproduced(
                experiment, output, seeds=seeds, jobs=jobs, data=data, dask=dask, quick=quick, tell=tell, say=say
            )
    except KeyboardInterrupt:
        typer.echo(
            f"warner: interrupted; what is done is kept in {output}, the same command goes on from there", err=True
        )
        sys.exit(130)
    typer.echo(f"{page}: figures, claims and settings; the numbers are beside it")


def _designed(domain: Any, epsilon: Any, truth: Any, redraw: Any, odds: Any) -> RandomizedResponse:
    from warner.design import RandomizedResponse  # noqa: PLC0415

    return RandomizedResponse(domain, epsilon=epsilon, truth=truth, redraw=redraw, odds=odds)


def _survey(
    design: Path | None,
    domain: str | None,
    epsilon: str | None,
    truth: str | None,
    redraw: str | None,
    odds: str | None,
) -> RandomizedResponse:
    from warner.design import RandomizedResponse  # noqa: PLC0415

    named = [value for value in (domain, epsilon, truth, redraw, odds) if value is not None]
    if design is not None and not named:
        return RandomizedResponse.load(design)
    if design is not None:
        msg = "give a design file, or its parts (--domain with --epsilon, --truth, --redraw or --odds), not both"
        raise ValueError(msg)
    if domain is None:
        msg = (
            "give --design, or --domain with --epsilon: the possible answers must be known beforehand, because those "
            "that nobody happened to report count as well"
        )
        raise ValueError(msg)
    return _designed([label.strip() for label in domain.split(",")], epsilon, truth, redraw, odds)


@contextmanager
def _reports(file: str, table: str | None, input_format: str) -> Iterator[Any]:
    """Give what `tally` takes: a path, a table of a database, or standard input as a file of its own."""
    if "://" in file:
        try:
            import ibis  # noqa: PLC0415 - only databases need it
        except ImportError:
            msg = "a database URL needs Ibis: pip install 'warner[sql]'"
            raise ImportError(msg) from None
        if table is None:
            msg = "--table must name the table of the database"
            raise ValueError(msg)
        scheme, _, place = file.partition("://")
        if scheme in {"sqlite", "duckdb"} and not Path(place).is_file():  # or an empty one would be made
            msg = f"there is no database file {place}"
            raise ValueError(msg)
        try:
            opened = ibis.connect(file).table(table)
        except Exception as error:  # noqa: BLE001 - every database has errors of its own
            msg = f"{table!r} cannot be read from {scheme}: {type(error).__name__}: {str(error).splitlines()[0]}"
            raise ValueError(msg) from None
        yield opened
    elif file == "-":
        # Reports are public, so a file may hold them for a moment; engines do not read a pipe reliably.
        if input_format not in {"csv", "tsv", "parquet", "jsonl"}:
            msg = f"--format must be csv, tsv, parquet or jsonl, but got {input_format!r}"
            raise ValueError(msg)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"standard input.{input_format}"
            with path.open("wb") as spool:
                shutil.copyfileobj(sys.stdin.buffer, spool)
            yield path
    else:
        yield file


@contextmanager
def _progress() -> Iterator[Any]:
    """Show the rows done on long work, if somebody is watching."""
    if not sys.stderr.isatty():
        yield lambda rows: None  # noqa: ARG005
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (SpinnerColumn(), TextColumn("{task.completed:,} rows"), TimeElapsedColumn())
    from rich.console import Console  # noqa: PLC0415

    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("rows", total=None)
        yield lambda rows: bar.update(task, completed=rows)


@contextmanager
def _stages() -> Iterator[Any]:
    """Show the stage of long work and the time left, and lines on what is left out."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    console = Console(stderr=True)
    if not sys.stderr.isatty():
        yield (lambda stage, done, total: None), (lambda line: typer.echo(f"warner: {line}", err=True))  # noqa: ARG005
        return
    columns = (TextColumn("{task.description:8}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, speed_estimate_period=60) as bar:
        tasks: dict[str, Any] = {}

        def tell(stage: str, done: float, total: float) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=1)
            bar.update(tasks[stage], completed=done / total if total else 1)

        yield tell, lambda line: console.print(line, markup=False, highlight=False)


def _write(found: Estimate, output: Path, level: float) -> None:
    from warner.files import written_whole  # noqa: PLC0415

    ending = output.suffix.lower()
    if ending not in {".csv", ".json", ".parquet"}:
        msg = f"the output must end in .csv, .json or .parquet, but got {output}"
        raise ValueError(msg)
    with written_whole(output) as part:
        if ending == ".parquet":
            import pyarrow.parquet as pq  # noqa: PLC0415

            pq.write_table(found.to_frame("pyarrow", level=level), part)
        else:
            text = found.to_json(level=level) + "\n" if ending == ".json" else _csv(found, level)
            part.write_text(text, encoding="utf-8")


def _csv(found: Estimate, level: float) -> str:
    table = found.table(level)
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))
    return lines.getvalue()
