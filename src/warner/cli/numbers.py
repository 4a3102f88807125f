"""Options of answers that are numbers: the grid that they lie on, and the numbers that other answers stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from warner.designs.labels import from_text

if TYPE_CHECKING:
    from warner.designs.labels import Domain, Labels

From = Annotated[
    str | None,
    typer.Option("--from", help="The smallest answer, if answers are numbers; with --to, and --step unless 1."),
]
To = Annotated[str | None, typer.Option("--to", help="The largest answer, if answers are numbers.")]
Step = Annotated[
    str | None,
    typer.Option(
        help="The distance between two answers, if answers are numbers; for an open domain, the largest number of "
        "letters, bytes or bits in a block."
    ),
]


def number_grid(lower: str | None, upper: str | None, step: str | None) -> Domain | None:
    """Give the grid of answers that are numbers, if one is asked for."""
    if lower is None and upper is None and step is None:
        return None
    if lower is None or upper is None:
        raise ValueError("answers that are numbers need --from and --to, and --step if it is not 1")
    from warner import grid

    try:
        return grid(lower, upper, "1" if step is None else step)
    except ValueError as error:
        raise ValueError(str(error).replace(" lower plus", " --from plus")) from None


def values_from_text(text: str, domain: Labels) -> dict[Any, str] | str:
    """Read `a=1,b=2` as the numbers of answers, of which either may itself hold commas and equals signs."""
    if text == "numbers":
        return text
    values: dict[Any, str] = {}
    begun = ""
    for part in text.split(","):
        begun += part
        label, sign, number = begun.rpartition("=")
        (known,) = from_text([label.strip()], domain)
        if sign and known in domain:
            values[known] = number.strip()
            begun = ""
        else:
            begun += ","
    if begun:
        raise ValueError(f"--values must name answers with their numbers, as never=0,once=1, but got {text!r}")
    return values
