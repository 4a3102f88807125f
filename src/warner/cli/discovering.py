"""`warner discover` finds the frequent values of an open domain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warner.cli.delivering import Delivery, PictureForms, TableForms, refuse_overwriting
from warner.cli.messages import tell, warn, working
from warner.cli.options import (
    ColumnOptions,
    DesignFile,
    Level,
    OpenColumns,
    Reading,
    Reports,
    labels_in,
)
from warner.cli.sources import DesignGiven, Source
from warner.designs.open_values import WholeNumbers
from warner.discovery.discoveries import discover as discovered
from warner.results import formulas_in


def discover(
    files: Reports,
    *,
    design: DesignFile = None,
    columns: OpenColumns,
    level: Level = 0.95,
    above: Annotated[float, typer.Option(help="Name only values whose share in the population is above this.")] = 0.0,
    expected: Annotated[
        Path | None,
        typer.Option(help="A file of values that are tested in any case, one per line, such as a dictionary."),
    ] = None,
    power: Annotated[
        float, typer.Option(help="The probability of finding a value that has the smallest share in the result.")
    ] = 0.8,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Let the level hold for all groups together, not for each.")
    ] = False,
    reading: Reading,
    table: TableForms,
    pictures: PictureForms,
) -> None:
    """Find the frequent values of an open domain.

    The probability of naming any value that nobody holds is at most 1 - level, for one look at the reports. Each value
    comes with its share, and an interval that holds given that the value was found.
    """
    table.refuse_contradictions("")
    inputs = {"the reports": files, "the design": design, "the expected values": expected}
    refuse_overwriting(inputs, {"--output": table.output, **pictures.files})
    given = DesignGiven(None if design is None else [str(design)])
    with working("searching reports"):
        tally = Source(files, ColumnOptions(**columns._asdict()), reading).open_tally(given)
        if tally is None:
            raise ValueError("discover needs the --design of an open domain, or a tally of one; see warner estimate")
        values: list[str] | list[int] | None = None
        if expected is not None:
            lines = labels_in(expected)
            values = _whole(lines) if isinstance(tally.design.values, WholeNumbers) else lines
        found = discovered(tally, level=level, above=above, expected=values, power=power, simultaneous=simultaneous)
        text = table.written(Delivery(found))
        pictures.written(found)
    if left_out := tally.left_out():
        warn(left_out)
    if {".csv"} & table.forms and (formulas := formulas_in(found.table())):
        tell(f"warner: note: {formulas}", err=True)
    table.printed(text)


def _whole(lines: list[str]) -> list[int]:
    """Read expected values as whole numbers."""
    try:
        return [int(line) for line in lines]
    except ValueError:
        raise ValueError("--expected must hold whole numbers, one per line, as the design has them") from None
