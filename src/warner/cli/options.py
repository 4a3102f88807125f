"""Options that several commands share, each with its help in one place, and groups of those that belong together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    import numpy as np

    from warner.reports.dialects import Dialect

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
Strata = Annotated[str | None, typer.Option(help="The column that names strata, such as regions.")]
Clusters = Annotated[str | None, typer.Option(help="The column that names clusters, such as schools or households.")]
Sampled = Annotated[
    str | None,
    typer.Option(
        help="The fraction of a stratum's clusters (without clusters: of its people) that was sampled: a number such "
        "as 0.25, or a column.",
        metavar="NUMBER | COLUMN",
    ),
]
Whole = Annotated[bool, typer.Option("--whole", help="Say that all people in the sampled clusters were asked.")]
Replicates = Annotated[
    str | None,
    typer.Option(
        help="The columns of replicate weights, as a pattern such as rw*, with --weights and --scale; or jackknife, to "
        "leave out one cluster at a time.",
        metavar="PATTERN | jackknife",
    ),
]
Scale = Annotated[
    float | None, typer.Option(help="The scale factor of the replicate weights, from their documentation.")
]
ReplicateClusters = Annotated[
    int | None, typer.Option(help="The number of clusters in the sample behind the replicate weights.", min=2)
]
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
        "usually state theirs."
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
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the result to this file, completely or not at all.")
]
Plot = Annotated[Path | None, typer.Option(help="Save a plot of the result to this PNG, SVG or PDF file.")]


class ColumnOptions(NamedTuple):
    """The columns that hold reports and what belongs to them."""

    question: Question = None
    column: Column = None
    by: By = None
    where: Where = None
    weights: Weights = None
    counts: Counts = None

    @property
    def rows_wanted(self) -> dict[str, str]:
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


class OpenColumns(NamedTuple):
    """The columns that hold reports of an open domain, which have no weights and one design."""

    question: Question = None
    column: Column = None
    by: Annotated[list[str] | None, typer.Option(help="Group by this column; may be given more than once.")] = None
    where: Where = None
    counts: Counts = None


class SampleDesign(NamedTuple):
    """How people were sampled, besides their weights."""

    strata: Strata = None
    clusters: Clusters = None
    sampled: Sampled = None
    whole: Whole = False
    replicates: Replicates = None
    scale: Scale = None
    replicate_clusters: ReplicateClusters = None

    @property
    def part_sampled(self) -> float | str | None:
        """The part sampled as a number, or the column that holds it."""
        return number_or_column(self.sampled)


def number_or_column(text: str | None) -> float | str | None:
    """Read a number; anything else is the name of a column."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


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


def labels_in(file: Path) -> list[str]:
    """Read labels from a file, one per line; empty lines are left out."""
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} must be text in UTF-8, but has the byte 0x{error.object[error.start]:02x}") from None
    return [line.rstrip("\r") for line in lines if line.strip()]


def generator(seed: int | None) -> np.random.Generator | None:
    """Give the randomness of a simulation; None lets the library seed it from its input."""
    if seed is None:
        return None
    from numpy.random import default_rng

    return default_rng(seed)
