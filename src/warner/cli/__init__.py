"""The command line: parse, call one function, print. No arithmetic lives here."""

from __future__ import annotations

import csv
import io
import shutil
import sys
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.designs import Design, RandomizedResponse
    from warner.estimation import Estimate

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

# Survey designs by name (`warner.surveys`), each with the parameters that its option takes:
SURVEYS = {
    "warner": ("p",),
    "forced_response": ("truth", "yes"),
    "unrelated_question": ("p", "prevalence"),
    "crosswise": ("p",),
    "triangular": ("p",),
    "mangat": ("p",),
    "mangat_singh": ("truth", "p"),
    "kuk": ("r1", "r2", "draws"),
    "mirrored": ("p",),
    "disguised": ("p",),
}

# What every command that reads reports takes:
Reports = Annotated[
    str, typer.Argument(help="Reports: a CSV, Parquet or JSON-lines file or pattern, a database URL, or -.")
]
Domain = Annotated[str | None, typer.Option(help="The answers, with commas between, where there is no design file.")]
Column = Annotated[str | None, typer.Option("--column", "-c", help="The column of reports.")]
By = Annotated[list[str] | None, typer.Option(help="Group by this column; may be given more than once.")]
Weights = Annotated[str | None, typer.Option(help="A column of survey weights.")]
Counts = Annotated[str | None, typer.Option(help="A column that holds how often each value was reported.")]
Unknown = Annotated[str, typer.Option(help="Values outside the domain: error, or drop.")]
Table = Annotated[str | None, typer.Option(help="The table, where FILE is a database URL.")]
Format = Annotated[str, typer.Option("--format", help="Of standard input: csv, tsv, parquet or jsonl.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Seed = Annotated[int | None, typer.Option(help="Of the simulation; from the counts if not given.", min=0)]


def _version(show: bool) -> None:
    if show:
        from warner import __version__

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


@app.command(
    "design",
    epilog="Example: warner design never once often --epsilon 1 -o survey.json; or: warner design --crosswise 1/4",
)
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
    warner: Annotated[str | None, typer.Option(help="Warner's: P(asked for the trait itself), as 1/6.")] = None,
    forced_response: Annotated[
        str | None,
        typer.Option(help="truth=3/4,yes=1/6; or, for any answers, truth=7/10,never=1/10,once=1/10,often=1/10."),
    ] = None,
    unrelated_question: Annotated[
        str | None, typer.Option(help="p=1/2,prevalence=1/12: P(asked for the trait), unrelated share of yes.")
    ] = None,
    crosswise: Annotated[str | None, typer.Option(help="The prevalence of the unrelated trait, as 1/4.")] = None,
    triangular: Annotated[str | None, typer.Option(help="The prevalence of the unrelated trait, as 1/4.")] = None,
    mangat: Annotated[str | None, typer.Option(help="Mangat (1994): P(no | not the trait), as 7/10.")] = None,
    mangat_singh: Annotated[
        str | None, typer.Option(help="truth=0.55,p=0.7: P(the truth at once), else Warner's with p.")
    ] = None,
    kuk: Annotated[
        str | None, typer.Option(help="r1=0.6,r2=0.2,draws=5: red shares of the two packs, number of cards.")
    ] = None,
    mirrored: Annotated[str | None, typer.Option(help="Mirrored question: as --warner.")] = None,
    disguised: Annotated[str | None, typer.Option(help="The red share of the yes-stack, as 0.8.")] = None,
    output: Output = None,
) -> None:
    """Write down what every answer will go through, for those who collect and those who analyse.

    Either a randomized response among given answers, by --epsilon, --truth, --redraw or --odds; or a survey design by
    its name, --warner to --disguised, for a yes/no question. With these, LABELS are the two answers, that of having the
    trait first, if they are not to be yes and no.
    """
    surveys = {
        "warner": warner,
        "forced_response": forced_response,
        "unrelated_question": unrelated_question,
        "crosswise": crosswise,
        "triangular": triangular,
        "mangat": mangat,
        "mangat_singh": mangat_singh,
        "kuk": kuk,
        "mirrored": mirrored,
        "disguised": disguised,
    }
    named = {name: value for name, value in surveys.items() if value is not None}
    if named:
        other = {
            "--epsilon": epsilon,
            "--truth": truth,
            "--redraw": redraw,
            "--odds": odds,
            "--domain-file": domain_file,
            "--size": size,
            "--integers": integers or None,
        }
        made: Design = _survey_design(named, labels, [name for name, value in other.items() if value is not None])
    else:
        made = _response(labels, domain_file, size, epsilon, truth, redraw, odds, integers=integers)
    if output is None:
        typer.echo(made.to_json())
    else:
        made.save(output)
        typer.echo(f"{output}: {made!r}")


def _response(
    labels: list[str] | None,
    domain_file: Path | None,
    size: int | None,
    epsilon: str | None,
    truth: str | None,
    redraw: str | None,
    odds: str | None,
    *,
    integers: bool,
) -> RandomizedResponse:
    given = [name for name, value in (("labels", labels), ("--domain-file", domain_file), ("--size", size)) if value]
    if len(given) != 1:
        got = " and ".join(given) or "none"
        raise ValueError(f"give the possible answers in one way (labels, --domain-file or --size), but got {got}")
    texts = _lines(domain_file) if domain_file else labels or []
    domain: Any = size or ([int(text) for text in texts] if integers else texts)
    return _designed(domain, epsilon, truth, redraw, odds)


def _survey_design(named: dict[str, str], labels: list[str] | None, other: list[str]) -> Design:
    """Make a survey design from its option, `--kuk r1=0.6,r2=0.2,draws=5`, with none of the other options."""
    from warner import surveys

    options = [f"--{name.replace('_', '-')}" for name in named]
    if len(named) > 1 or other:
        raise ValueError(
            f"{options[0]} makes a whole design, so it must stand alone, but got {', '.join([*options, *other])}"
        )
    ((name, given),) = named.items()
    wanted = SURVEYS[name]
    pairs = _named_values(given, options[0], wanted)
    answers: dict[str, Any] = {"answers": labels} if labels else {}
    if name == "forced_response" and pairs.keys() != set(wanted):
        if "truth" in pairs and len(pairs) > len(wanted) and not labels:
            return surveys.forced_response(truth=pairs.pop("truth"), forced=pairs)
    elif pairs.keys() == set(wanted):
        if pairs.get("draws", "").isdecimal():
            return surveys.kuk(pairs["r1"], pairs["r2"], int(pairs["draws"]), **answers)
        made: Design = getattr(surveys, name)(**pairs, **answers)
        return made
    form = ",".join(f"{parameter}=..." for parameter in wanted)
    more = ", or truth=... and a probability for each of at least two answers" if name == "forced_response" else ""
    raise ValueError(f"{options[0]} must be given as {form}{more}, but got {given!r}")


def _named_values(given: str, option: str, wanted: tuple[str, ...]) -> dict[str, str]:
    """Read `a=1/2,b=0.3`; a single value needs no name where one is wanted."""
    if "=" not in given and len(wanted) == 1:
        return {wanted[0]: given}
    parts = [part.rpartition("=") for part in given.split(",")]
    pairs = {name.strip(): value.strip() for name, _, value in parts}
    if len(pairs) < len(parts) or "" in pairs:
        form = ",".join(f"{parameter}=..." for parameter in wanted)
        raise ValueError(f"{option} must be given as {form}, each name once, but got {given!r}")
    return pairs


@app.command(epilog="Example: warner show survey.json")
def show(design: Annotated[Path, typer.Argument(help="A design file.")]) -> None:
    """Explain a design in plain words."""
    from warner.designs import load_design

    typer.echo(load_design(design).in_words())


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
    from warner.designs import load_design
    from warner.reports.streams import randomize_file

    survey = load_design(design)
    with _progress() as progress:
        rows = randomize_file(file, survey, output, column=column, keep=keep or (), progress=progress)
    if output != "-":
        typer.echo(f"{output}: {rows:,} reports, epsilon {survey.shown_epsilon()} each")


@app.command(epilog="Example: warner estimate reports.csv --column answer --design survey.json --by region")
def estimate(
    file: Reports,
    *,
    design: DesignFile = None,
    epsilon: Epsilon = None,
    truth: Truth = None,
    redraw: Redraw = None,
    odds: Odds = None,
    domain: Domain = None,
    column: Column = None,
    by: By = None,
    weights: Weights = None,
    counts: Counts = None,
    method: Annotated[str, typer.Option(help="mle, inv, inv_n, inv_p, ibu, or auto: the smallest error.")] = "mle",
    seed: Seed = None,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    target: Annotated[
        str, typer.Option(help="Whose shares the intervals are for: population, or realised (these people).")
    ] = "population",
    simultaneous: Annotated[bool, typer.Option("--simultaneous", help="Intervals that hold all at once.")] = False,
    compare: Annotated[
        list[str] | None, typer.Option(help="Compare two answers, as a,b; may be given more than once.")
    ] = None,
    between: Annotated[
        str | None, typer.Option(help="Compare the answer of --compare between two groups, as a,b, with --by.")
    ] = None,
    top_certain: Annotated[
        int | None, typer.Option(help="Name the answers that are certainly among the so many commonest.")
    ] = None,
    present: Annotated[bool, typer.Option("--present", help="Name the answers that somebody certainly holds.")] = False,
    top: Annotated[int, typer.Option(help="Show so many rows.", min=1)] = 20,
    unknown: Unknown = "error",
    table: Table = None,
    input_format: Format = "csv",
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    output: Output = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the estimate to this PNG, SVG or PDF file.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page for others to this HTML file.")] = None,
) -> None:
    """Estimate what people would have answered, with confidence intervals."""
    from warner.estimation import estimate as estimated
    from warner.reports.tallies import tally

    if as_json and as_csv:
        raise ValueError("give --json or --csv, not both")
    survey = _survey(design, domain, epsilon, truth, redraw, odds)
    with _reports(file, table, input_format) as reports:
        counted = tally(reports, survey, column=column, by=by or None, weights=weights, counts=counts, unknown=unknown)
    with warnings.catch_warnings(record=True) as doubts:
        warnings.simplefilter("always", UserWarning)
        found = estimated(counted, method=method, rng=_generator(seed))
    for doubt in doubts if as_json or as_csv else ():  # the table says it itself
        typer.echo(f"warner: warning: {doubt.message}", err=True)
    reading: dict[str, Any] = {"level": level, "target": target, "simultaneous": simultaneous}
    pairs = [_pair(given, survey, between) for given in compare or []]
    if (as_csv or (output is not None and output.suffix.lower() != ".json")) and (compare or top_certain or present):
        raise ValueError("--compare, --top-certain and --present are answered in the printed table and in JSON only")
    if between is not None and not pairs:
        raise ValueError("--between needs --compare with the answer to compare")
    asked: dict[str, list[Any]] = {
        "comparisons": [found.compare(*pair, between=groups, level=level, target=target) for pair, groups in pairs],
        "top": [] if top_certain is None else [found.top(top_certain, level=level, target=target)],
        "present": [found.present(alpha=1 - level)] if present else [],
    }
    if output is not None:
        _write(found, output, reading, asked)
    if plot is not None:
        from warner.output.plots import saved

        saved(found, plot, **reading)
    if report is not None:
        from warner.output.pages import report as reported

        reported(found, report, **reading)
    if as_json:
        typer.echo(_json(found, reading, asked))
    elif as_csv:
        typer.echo(_csv(found, reading), nl=False)
    else:
        texts = [found.text(rows=top, **reading), *(answer.text() for answers in asked.values() for answer in answers)]
        typer.echo("\n\n".join(texts))


@app.command(epilog="Example: warner check reports.csv --column answer --design survey.json --fakes 100")
def check(
    file: Reports,
    *,
    design: DesignFile = None,
    epsilon: Epsilon = None,
    truth: Truth = None,
    redraw: Redraw = None,
    odds: Odds = None,
    domain: Domain = None,
    column: Column = None,
    by: By = None,
    weights: Weights = None,
    counts: Counts = None,
    level: Annotated[float, typer.Option(help="Reports that fit pass at least this often.")] = 0.95,
    simulations: Annotated[int, typer.Option(help="Surveys to simulate for each group.")] = 999,
    seed: Seed = None,
    fakes: Annotated[int | None, typer.Option(help="Say how far so many fake reports could move a share.")] = None,
    unknown: Unknown = "error",
    table: Table = None,
    input_format: Format = "csv",
    as_json: AsJson = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this .json or .txt file, whole or not at all.")
    ] = None,
) -> None:
    """Check whether reports fit the design that they claim: exit code 0 if they do, 1 if not, 2 for bad input."""
    from warner.documents import save_text
    from warner.inference.fit import check as checked
    from warner.reports.tallies import tally

    if output is not None and output.suffix.lower() not in {".json", ".txt"}:
        raise ValueError(f"the output must end in .json or .txt, but got {output}")
    survey = _survey(design, domain, epsilon, truth, redraw, odds)
    with _reports(file, table, input_format) as reports:
        counted = tally(reports, survey, column=column, by=by or None, weights=weights, counts=counts, unknown=unknown)
    found = checked(counted, level=level, simulations=simulations, rng=_generator(seed), fakes=fakes)
    if output is not None:
        save_text(output, found.to_json() if output.suffix.lower() == ".json" else found.text())
    typer.echo(found.to_json() if as_json else found.text())
    if not found.fits:
        raise typer.Exit(1)


@app.command("plan", epilog="Example: warner plan --size 10 --epsilon 1 --half-width 0.02")
def plan_command(
    *,
    size: Annotated[int | None, typer.Option(help="The number of possible answers.")] = None,
    domain_file: Annotated[Path | None, typer.Option(help="Read the answers from a file, one a line.")] = None,
    design: DesignFile = None,
    epsilon: Epsilon = None,
    people: Annotated[int | None, typer.Option(help="The number of people who report.")] = None,
    half_width: Annotated[
        float | None, typer.Option(help="The half-width that an interval may have, as a share: 0.02 is two points.")
    ] = None,
    error: Annotated[
        float | None, typer.Option(help="Instead: the root-mean-square error that the unbiased shares may have.")
    ] = None,
    share: Annotated[
        float | None, typer.Option(help="The true share to plan for; if not given, the worst case.")
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="The intervals of all answers are to hold together.")
    ] = False,
    power: Annotated[float, typer.Option(help="The probability of finding the smallest share that is told.")] = 0.8,
    population: Annotated[
        str | None,
        typer.Option(help="The expected shares: uniform, zipf:1.3, or a CSV file of value and share or count."),
    ] = None,
    pilot: Annotated[
        str | None, typer.Option(help="A file of reports under --design, whose estimate is the population.")
    ] = None,
    column: Annotated[str | None, typer.Option("--column", "-c", help="The column of the pilot's reports.")] = None,
    delta: Annotated[float | None, typer.Option(help="Tell what a shuffler adds, at this delta.")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Of the simulated surveys; if not given, made from the plan.")
    ] = None,
    grid: Annotated[bool, typer.Option("--grid", help="Add a table over epsilon and people.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    output: Output = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the plan to this PNG, SVG or PDF file.")] = None,
) -> None:
    """Plan a survey: of people, epsilon and half-width (or error), give two and get the third.

    With a pilot, its own epsilon counts as given unless people and a target are.
    """
    from warner.designs import load_design
    from warner.documents import save_text
    from warner.planning.plans import plan
    from warner.reports.tallies import tally

    options = (("--size", size), ("--domain-file", domain_file), ("--design", design))
    given = [name for name, value in options if value is not None]
    if len(given) != 1:
        got = " and ".join(given) or "none"
        raise ValueError(f"give the possible answers in one way (--size, --domain-file or --design), but got {got}")
    if pilot is not None and design is None:
        raise ValueError("--pilot needs --design, the design that its reports went through")
    survey: Any = None if design is None else load_design(design)
    reports = None if pilot is None or survey is None else tally(pilot, survey, column=column)
    made = plan(
        None if reports else survey or size or _lines(domain_file),
        epsilon=epsilon,
        people=people,
        half_width=half_width,
        error=error,
        share=share,
        level=level,
        simultaneous=simultaneous,
        power=power,
        population=population,
        pilot=reports,
        delta=delta,
        rng=_generator(seed),
    )
    text = made.to_json() if as_json else "\n\n".join([made.text(), *([made.grid_text()] if grid else [])])
    if plot is not None:
        from warner.output.plots import saved_plan

        saved_plan(made, plot)
    if output is None:
        typer.echo(text)
    else:
        save_text(output, text)


def _lines(path: Path | None) -> list[str]:
    """Read labels from a file, one a line."""
    lines = path.read_text(encoding="utf-8-sig").split("\n") if path else []
    return [line.rstrip("\r") for line in lines if line.strip()]


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
    from warner.papers.pinzon2026.run import reproduce as reproduced

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
    from warner.designs import RandomizedResponse

    return RandomizedResponse(domain, epsilon=epsilon, truth=truth, redraw=redraw, odds=odds)


def _survey(
    design: Path | None,
    domain: str | None,
    epsilon: str | None,
    truth: str | None,
    redraw: str | None,
    odds: str | None,
) -> Design:
    from warner.designs import load_design

    named = [value for value in (domain, epsilon, truth, redraw, odds) if value is not None]
    if design is not None and not named:
        return load_design(design)
    if design is not None:
        raise ValueError(
            "give a design file, or its parts (--domain with --epsilon, --truth, --redraw or --odds), not both"
        )
    if domain is None:
        raise ValueError(
            "give --design, or --domain with --epsilon: the possible answers must be known beforehand, because those "
            "that nobody happened to report count as well"
        )
    return _designed([label.strip() for label in domain.split(",")], epsilon, truth, redraw, odds)


@contextmanager
def _reports(file: str, table: str | None, input_format: str) -> Iterator[Any]:
    """Give what `tally` takes: a path, a table of a database, or standard input as a file of its own."""
    if "://" in file:
        try:
            import ibis
        except ImportError:
            raise ImportError("a database URL needs Ibis: pip install 'warner[sql]'") from None
        if table is None:
            raise ValueError("--table must name the table of the database")
        scheme, _, place = file.partition("://")
        if scheme in {"sqlite", "duckdb"} and not Path(place).is_file():  # or an empty one would be made
            raise ValueError(f"there is no database file {place}")
        try:
            opened = ibis.connect(file).table(table)
        except Exception as error:  # noqa: BLE001 - each engine has errors of its own
            raise ValueError(
                f"{table!r} cannot be read from {scheme}: {type(error).__name__}: {str(error).splitlines()[0]}"
            ) from None
        yield opened
    elif file == "-":
        # Reports are public, so a file may hold them for a moment; engines do not read a pipe reliably.
        if input_format not in {"csv", "tsv", "parquet", "jsonl"}:
            raise ValueError(f"--format must be csv, tsv, parquet or jsonl, but got {input_format!r}")
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
        yield lambda rows: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed:,} rows"), TimeElapsedColumn())
    from rich.console import Console

    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("rows", total=None)
        yield lambda rows: bar.update(task, completed=rows)


def _generator(seed: int | None) -> Any:
    if seed is None:
        return None
    from numpy.random import default_rng

    return default_rng(seed)


def _pair(given: str, survey: Design, between: str | None) -> tuple[tuple[Any, ...], Any]:
    """Read `a,b` as two answers, which may hold commas themselves; or one answer, and two groups."""
    from warner.designs.labels import from_text

    if between is not None:
        groups = between.split(",")
        if len(groups) != 2:
            raise ValueError(f"--between must name two groups, as a,b, but got {between!r}")
        return tuple(from_text([given], survey.domain)), tuple(group.strip() for group in groups)
    parts = given.split(",")
    cuts = [(",".join(parts[:i]).strip(), ",".join(parts[i:]).strip()) for i in range(1, len(parts))]
    read = [tuple(from_text(list(cut), survey.domain)) for cut in cuts]
    known = [pair for pair in read if all(label in survey.domain for label in pair)]
    if len(cuts) != 1 and len(known) != 1:
        raise ValueError(f"--compare must name two answers, as a,b, but got {given!r}")
    return (known or read)[0], None


def _json(found: Estimate, reading: dict[str, Any], asked: dict[str, list[Any]]) -> str:
    import json

    answers = {name: [answer.to_dict() for answer in given] for name, given in asked.items() if given}
    single = {name: given if name == "comparisons" else given[0] for name, given in answers.items()}
    return json.dumps(found.to_dict(**reading) | single, ensure_ascii=False, indent=1)


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
        tasks: dict[str, Any] = {}

        def tell(stage: str, done: float, total: float) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=1)
            bar.update(tasks[stage], completed=done / total if total else 1)

        yield tell, lambda line: console.print(line, markup=False, highlight=False)


def _write(found: Estimate, output: Path, reading: dict[str, Any], asked: dict[str, list[Any]]) -> None:
    from warner.documents import written_whole

    ending = output.suffix.lower()
    if ending not in {".csv", ".json", ".parquet"}:
        raise ValueError(f"the output must end in .csv, .json or .parquet, but got {output}")
    with written_whole(output) as part:
        if ending == ".parquet":
            import pyarrow.parquet as pq

            pq.write_table(found.to_frame("pyarrow", **reading), part)
        else:
            text = _json(found, reading, asked) + "\n" if ending == ".json" else _csv(found, reading)
            part.write_text(text, encoding="utf-8")


def _csv(found: Estimate, reading: dict[str, Any]) -> str:
    table = found.table(**reading)
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))
    return lines.getvalue()
