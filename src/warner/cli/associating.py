"""`warner associate` tells whether the answers to several questions go together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warner.cli.delivering import Verdict, refuse_overwriting
from warner.cli.numbers import values_from_text
from warner.cli.options import Level, Reading, Seed, Weights, generator
from warner.cli.sources import Source, listed_design_in

if TYPE_CHECKING:
    from warner.designs import Design


def associate(
    file: Annotated[
        str,
        typer.Argument(
            help="Reports: a CSV, Excel, Parquet, JSON, SPSS, Stata or SAS file, a pattern, a folder, a database, or -."
        ),
    ],
    questions: Annotated[
        list[str],
        typer.Argument(help="The column of each question, and the file of its design.", metavar="COLUMN=DESIGN..."),
    ],
    *,
    weights: Weights = None,
    counts: Annotated[str | None, typer.Option(help="The column that says how many people a row stands for.")] = None,
    numeric: Annotated[
        str | None, typer.Option(help="Correlate the answers with this column of numbers; needed for one question.")
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Option(
            help="Correlate the number that a question's answers stand for: as drinks=numbers for answers that are "
            "numbers, or drinks=never=0,once=1; may be given more than once.",
            metavar="COLUMN=VALUES",
        ),
    ] = None,
    level: Level = 0.95,
    simulations: Annotated[
        int, typer.Option(help="The number of random tables to draw where there are too many for an exact test.")
    ] = 1999,
    seed: Seed = None,
    reading: Reading,
    verdict: Verdict,
) -> None:
    """Test whether the answers to several questions are associated.

    The file has a row for each person, with a column of reports for each question; each answer was randomized
    independently. Prints a test of independence, the joint shares, and measures of how strong the association is. One
    question is correlated with the numbers of --numeric.
    """
    from warner.association.associations import associate as associated

    verdict.refuse_other_ending()
    files = _files(questions)
    inputs = {"the reports": file} | {f"the design of {name!r}": str(design) for name, design in files.items()}
    refuse_overwriting(dict(inputs), {"--output": verdict.output})
    designs: dict[str, Design] = {name: listed_design_in(design) for name, design in files.items()}
    with Source([file], reading=reading).prepared() as reports:
        result = associated(
            reports,
            designs,
            weights=weights,
            counts=counts,
            numeric=numeric,
            values=_values(values or [], designs),
            unknown=reading.unknown,
            level=level,
            simulations=simulations,
            rng=generator(seed),
        )
    verdict.delivered(result)


def _values(given: list[str], designs: dict[str, Design]) -> dict[str, Any] | None:
    """Read COLUMN=VALUES words."""
    values: dict[str, Any] = {}
    for word in given:
        name, _, numbers = word.partition("=")
        if name not in designs:
            raise ValueError(f"--values must be COLUMN=VALUES, with a question as the column, but got {word!r}")
        values[name] = values_from_text(numbers, designs[name].domain)
    return values or None


def _files(questions: list[str]) -> dict[str, Path]:
    """Read COLUMN=DESIGN words, each column once; a column may itself hold an equals sign."""
    files: dict[str, Path] = {}
    for word in questions:
        name, _, design = word.rpartition("=")
        if not name or not design:
            raise ValueError(f"questions must be given as COLUMN=DESIGN, such as cheated=dice.json, but got {word!r}")
        if name in files:
            raise ValueError(f"a question must be given once, but {name!r} is there twice")
        files[name] = Path(design)
    return files
