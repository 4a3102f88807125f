"""Options that several commands share, each with its help in one place, and groups of those that belong together."""

from __future__ import annotations

import inspect
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_type_hints

import typer
from typer.core import TyperCommand

from warner.cli.messages import working
from warner.documents import format_of, resolved, save_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

    from warner.reports.dialects import Dialect
    from warner.results import Result

# What a report goes through
DesignFile = Annotated[
    Path | None, typer.Option("--design", "-d", help="The design: a file that `warner design` wrote.")
]
DesignFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--design",
        "-d",
        help="The design: a file that `warner design` wrote. For several designs, NAME=FILE for each, and --by.",
        metavar="FILE | NAME=FILE",
    ),
]
Epsilon = Annotated[
    str | None, typer.Option(help="The privacy parameter of one report, in nats; the design never spends more.")
]
Truth = Annotated[
    str | None, typer.Option(help="The probability that a report is the true answer, such as 0.75 or 3/4.")
]
Redraw = Annotated[
    str | None, typer.Option(help="The probability that the answer is replaced by a uniform draw from all answers.")
]
Odds = Annotated[str | None, typer.Option(help="The odds of the true answer against each other answer, as a:b.")]

# The possible answers
Size = Annotated[int | None, typer.Option(help="The number of possible answers, with the labels 0, 1, 2, ...")]
DomainFile = Annotated[Path | None, typer.Option(help="Read the possible answers from a file, one per line.")]
Domain = Annotated[str | None, typer.Option(help="The answers, separated by commas, if there is no design file.")]

# Where reports are, and how they are read
Reports = Annotated[
    list[str],
    typer.Argument(
        help="Reports: CSV, Excel, Parquet, JSON, SPSS, Stata or SAS files, patterns or folders; or saved tallies, or "
        "a database, or -.",
        metavar="FILE...",
    ),
]
Question = Annotated[
    str | None, typer.Option("--question", "-q", help="The question, if FILE is the database of a survey.")
]
Column = Annotated[str | None, typer.Option("--column", "-c", help="The column that holds the reports.")]
By = Annotated[
    list[str] | None,
    typer.Option(
        help="Group by this column; may be given more than once. With several designs, the first column names the "
        "design of each row, and all are estimated together."
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        help="Take only the rows in which this column has this value; may be given more than once.",
        metavar="COLUMN=VALUE",
    ),
]
Weights = Annotated[str | None, typer.Option(help="The column of survey weights.")]
Counts = Annotated[str | None, typer.Option(help="The column that says how often each value was reported.")]
Unknown = Annotated[str, typer.Option(help="What to do with values that no report can have: error, or drop.")]
Table = Annotated[str | None, typer.Option(help="The table, if FILE is the URL of a database of reports.")]
Format = Annotated[
    str, typer.Option("--format", help="The format of standard input: csv, tsv, parquet, jsonl, xlsx, sav, dta or xpt.")
]
Sheet = Annotated[str | None, typer.Option(help="The sheet of an Excel file, if there are several.")]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="The encoding of a text file, such as cp1252 or utf-16; UTF-8 if not given. SPSS, Stata and SAS files "
        "mostly tell theirs."
    ),
]
Decimal = Annotated[str, typer.Option(help="The decimal mark of numbers in a text file: a point or a comma.")]
Missing = Annotated[
    list[str] | None,
    typer.Option(help="Codes that stand for missing values, such as -99,NA; may be given more than once."),
]

# How sure, and what comes out
Level = Annotated[float, typer.Option(help="The confidence level of the intervals.")]
Seed = Annotated[
    int | None, typer.Option(help="The seed of simulated surveys; if not given, it follows from the input.", min=0)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the result to this file, completely or not at all.")
]
Verdict = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Write the result to this .json or .txt file, or a table for a paper to this .md, .tex or .html file.",
    ),
]
Plot = Annotated[Path | None, typer.Option(help="Save a plot of the result to this PNG, SVG or PDF file.")]


class Columns(NamedTuple):
    """The columns that hold reports and what belongs to them."""

    question: Question = None
    column: Column = None
    by: By = None
    where: Where = None
    weights: Weights = None
    counts: Counts = None

    @property
    def chosen(self) -> dict[str, str]:
        """The rows that are meant, as values by column."""
        pairs = {}
        for word in self.where or ():
            name, equals, value = word.partition("=")
            if not name or not equals:
                raise ValueError(f"--where must be COLUMN=VALUE, such as version=dice, but got {word!r}")
            if name in pairs:
                raise ValueError(f"--where must name each column once, but {name!r} is there twice")
            pairs[name] = value
        return pairs


class Reading(NamedTuple):
    """How reports are read."""

    unknown: Unknown = "error"
    missing: Missing = None
    sheet: Sheet = None
    encoding: Encoding = None
    decimal: Decimal = "."
    table: Table = None
    input_format: Format = "csv"

    @property
    def dialect(self) -> Dialect:
        """How a file was written; codes for missing values are separated by commas."""
        from warner.reports.dialects import dialect

        codes = [code.strip() for codes in self.missing or () for code in codes.split(",")]
        return dialect(self.encoding, self.decimal, codes, self.sheet)


class AnswersCommand(TyperCommand):
    """A command whose options --answers and --reports take all words up to the next option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the option before each of its words, as the parser wants it."""
        spelled: list[str] = []
        taking = ""
        known = [option for parameter in self.params for option in parameter.opts]
        for word in args:
            if word in {"--answers", "--reports"} & set(known):
                taking = word
                continue
            if word.startswith("-") and not word[1:].isdecimal():  # -3 is an answer
                taking = ""
            spelled += [taking, word] if taking else [word]
        return super().parse_args(ctx, spelled)


def taking_groups(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of each group that it takes, in the place of the group.

    Typer reads the options of a command from its signature. A group is a named tuple, whose fields are options.
    """
    signature = inspect.signature(function, eval_str=True)
    groups = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if hasattr(parameter.annotation, "_fields")
    }

    @wraps(function)
    def command(*arguments: Any, **options: Any) -> None:
        for name, group in groups.items():
            options[name] = group(**{field: options.pop(field) for field in group._fields})
        function(*arguments, **options)

    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        parameters += _options(groups[name]) if name in groups else [parameter]
    command.__dict__["__signature__"] = signature.replace(parameters=parameters)
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _options(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(field, keyword, default=group._field_defaults[field], annotation=hints[field])
        for field in group._fields
    ]


def refuse_other_ending(output: Path | None) -> None:
    """Refuse a file for a verdict that is neither JSON nor text nor a table for a paper."""
    if output is not None and output.suffix.lower() not in {".json", ".txt", ".md", ".tex", ".html"}:
        raise ValueError(f"the output must end in .json, .txt, .md, .tex or .html, but got {output}")


def save_result(output: Path | None, result: Result) -> None:
    """Write a verdict to a file, in the form that its ending asks for; do nothing without one."""
    if output is None:
        return
    from warner.typesetting import FORMS  # with all that it needs

    ending = output.suffix.lower()
    if ending in FORMS:
        save_text(output, FORMS[ending](result.printed()))
    else:
        save_text(output, result.to_json() if ending == ".json" else result.text())


def refuse_overwriting(
    inputs: Mapping[str, Path | str | Sequence[str] | None], outputs: Mapping[str, Path | str | None]
) -> None:
    """Refuse outputs that would replace what the command reads, each other, or what a survey is made of."""
    read = [(name, Path(file)) for name, given in inputs.items() for file in _listed(given)]
    written: dict[str, Path] = {}
    for option, file in outputs.items():
        if file is None or file == "-":
            continue
        for name, other in read:
            if same_file(Path(file), other):
                raise ValueError(f"{option} must not be {file}, which is {name} and would be lost; give another file")
        for earlier, other in written.items():
            if same_file(Path(file), other):
                raise ValueError(f"{earlier} and {option} must be different files, but both are {file}")
        _refuse_replacing_a_survey(option, Path(file))
        written[option] = Path(file)


def _refuse_replacing_a_survey(option: str, file: Path) -> None:
    """Refuse to write over a survey file or its database, by any command: neither can be made again."""
    if not file.is_file():
        return
    from warner.service.stores.sqlite import is_database

    held = "a survey" if format_of(file) == "warner survey" else "responses to a survey" if is_database(file) else None
    if held is not None:
        raise ValueError(f"{option} must not be {file}, which holds {held} and would be lost; give another file")


def _listed(given: Path | str | Sequence[str] | None) -> Sequence[Path | str]:
    """Give the files that an argument names: those of patterns and folders as well."""
    if given is None:
        return ()
    if isinstance(given, str | Path):
        return (given,)
    from warner.reports.paths import files_of

    try:
        with working("looking for files"):
            return (*given, *files_of(given))
    except (OSError, ValueError):  # whoever opens them will say why
        return given


def same_file(first: Path, second: Path) -> bool:
    """Tell whether two paths lead to one file, which need not be there yet."""
    if first.exists() and second.exists():
        return first.samefile(second)
    return resolved(first) == resolved(second)


def labels_in(file: Path) -> list[str]:
    """Read labels from a file, one per line; empty lines are left out."""
    lines = file.read_text(encoding="utf-8-sig").split("\n")
    return [line.rstrip("\r") for line in lines if line.strip()]


def generator(seed: int | None) -> np.random.Generator | None:
    """Give the randomness of a simulation; None lets the library seed it from its input."""
    if seed is None:
        return None
    from numpy.random import default_rng

    return default_rng(seed)
