"""`warner plan` tells how many people, or which epsilon, a survey needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warner import plan as planned
from warner.cli.delivering import AsJson, deliver_text, refuse_overwriting
from warner.cli.mechanisms import name_of
from warner.cli.numbers import From, Step, To, number_grid, values_from_text
from warner.cli.open_domains import Bits, Bytes, Length, Letters, open_domain
from warner.cli.options import (
    ColumnOptions,
    DesignFile,
    DomainFile,
    Epsilon,
    Level,
    Output,
    Plot,
    Seed,
    Size,
    generator,
    labels_in,
)
from warner.cli.sources import DesignGiven, Source
from warner.designs import OpenDomain, load_design
from warner.designs.labels import canonical, from_text

if TYPE_CHECKING:
    from warner.designs.labels import Domain
    from warner.reports.tallies import Pool, Tally

MechanismPlot = Annotated[
    Path | None,
    typer.Option(help="Save a plot of what each mechanism needs, against epsilon, to this PNG, SVG or PDF file."),
]


def plan(
    *,
    size: Size = None,
    lower: From = None,
    upper: To = None,
    step: Step = None,
    domain_file: DomainFile = None,
    design: DesignFile = None,
    mechanism: Annotated[
        str | None, typer.Option(help="The mechanism, such as subset-selection; if not given, the recommended one.")
    ] = None,
    letters: Letters = None,
    length: Length = None,
    text_bytes: Bytes = None,
    bits: Bits = None,
    epsilon: Epsilon = None,
    people: Annotated[int | None, typer.Option(help="The number of people who report.")] = None,
    quantity: Annotated[
        str,
        typer.Option(
            help="What to plan for: shares or, if answers are numbers, mean, median, or a quantile such as 0.9, which "
            "needs --population or --pilot."
        ),
    ] = "shares",
    values: Annotated[
        str | None,
        typer.Option(help="The number that each answer stands for, for --quantity, such as never=0,once=1."),
    ] = None,
    half_width: Annotated[
        float | None,
        typer.Option(
            help="The half-width that an interval may have, as a share: 0.02 is two percentage points. For a mean or "
            "a quantile, it is in the unit of the answers."
        ),
    ] = None,
    error: Annotated[
        float | None,
        typer.Option(
            help="Instead of --half-width: the root-mean-square error that the unbiased shares, or the unbiased mean, "
            "may have."
        ),
    ] = None,
    answer: Annotated[
        str | None, typer.Option(help="The answer to plan for; if not given, the one with the widest interval.")
    ] = None,
    share: Annotated[
        float | None,
        typer.Option(
            help="The true share to plan for, and to recommend a mechanism for; if not given, the plan is for the "
            "worst case."
        ),
    ] = None,
    level: Level = 0.95,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Plan for intervals that hold for all answers at once.")
    ] = False,
    power: Annotated[
        float, typer.Option(help="The probability with which the smallest share named in the plan is detected.")
    ] = 0.8,
    population: Annotated[
        str | None,
        typer.Option(help="The expected shares: uniform, zipf:1.3, or a CSV file of value and share or count."),
    ] = None,
    pilot: Annotated[
        str | None,
        typer.Option(
            help="A file of reports made with --design, or their saved tally: its estimated shares are the expected "
            "shares, and its design effect is that of the sample."
        ),
    ] = None,
    column: Annotated[str | None, typer.Option("--column", "-c", help="The column of the pilot's reports.")] = None,
    design_effect: Annotated[
        float | None,
        typer.Option(
            help="How many times as many people the sample needs as a simple random sample, such as 1.5 for clusters. "
            "If not given, that of the pilot."
        ),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="Also say what shuffling the reports adds to privacy, at this delta.")
    ] = None,
    seed: Seed = None,
    grid: Annotated[bool, typer.Option("--grid", help="Add a table over epsilon and the number of people.")] = False,
    as_json: AsJson = False,
    output: Output = None,
    plot: Plot = None,
    mechanism_plot: MechanismPlot = None,
) -> None:
    """Plan a survey: find the number of people, epsilon or the half-width.

    Give two of --people, --epsilon and --half-width (or --error) to get the third. With a pilot, its own epsilon counts
    as given unless people and a half-width (or error) are given. All mechanisms are compared at that epsilon. The plan
    is for the recommended one unless you name another; `warner design --best` writes its design.

    For the mean of a number: --from 18 --to 99 --mechanism square-wave --epsilon 1 --quantity mean --half-width 2.

    For answers that no list holds, give --letters and --length, --bytes or --bits, or the --design of an open domain,
    with --people to get the smallest share that will be found, or with --share to get the number of people that
    it takes.
    """
    refuse_overwriting(
        {"the list of answers": domain_file, "the design": design, "the pilot": pilot, "the population": population},
        {"--output": output, "--plot": plot, "--mechanism-plot": mechanism_plot},
    )
    made_of = letters is not None or text_bytes is not None or bits is not None
    opened = open_domain(letters, length, text_bytes, bits, step if made_of else None, epsilon)
    numbers = None if made_of else number_grid(lower, upper, step)
    about = _about(size, domain_file, design, opened, numbers)
    if isinstance(about, OpenDomain):
        others = {
            "--epsilon": None if made_of else epsilon,
            "--mechanism": mechanism,
            "--quantity": None if quantity == "shares" else quantity,
            "--values": values,
            "--half-width": half_width,
            "--error": error,
            "--answer": answer,
            "--simultaneous": simultaneous or None,
            "--population": population,
            "--pilot": pilot,
            "--column": column,
            "--design-effect": design_effect,
            "--delta": delta,
            "--seed": seed,
            "--from": lower,
            "--to": upper,
            "--plot": plot,
            "--mechanism-plot": mechanism_plot,
        }
        _plan_open(about, people, share, level, power, grid, as_json, output, others)
        return
    reports = _pilot(pilot, column, design)
    made = planned(
        None if reports else about,
        mechanism=None if mechanism is None else name_of(mechanism),
        epsilon=epsilon,
        people=people,
        half_width=half_width,
        error=error,
        answer=None if answer is None else _label(answer, about),
        share=share,
        level=level,
        simultaneous=simultaneous,
        power=power,
        population=population,
        pilot=reports,
        design_effect=design_effect,
        delta=delta,
        rng=generator(seed),
        quantity=_quantity(quantity),
        values=None if values is None else values_from_text(values, getattr(about, "domain", None) or canonical(about)),
    )
    compared = made.mechanisms
    tables = [*([] if compared is None else [compared.text()]), *([made.grid_text()] if grid else [])]
    text = made.to_json() if as_json else "\n\n".join([made.text(), *tables])
    if plot is not None:
        made.save_plot(plot)
    if mechanism_plot is not None:
        if compared is None:
            raise ValueError(
                "--mechanism-plot needs a design whose answers are alike, such as randomized response, and a finite "
                "epsilon"
            )
        compared.save_plot(mechanism_plot)
    deliver_text(text, output)


def _plan_open(
    design: OpenDomain,
    people: int | None,
    share: float | None,
    level: float,
    power: float,
    grid: bool,
    as_json: bool,
    output: Path | None,
    others: dict[str, Any],
) -> None:
    """Plan a survey with an open domain."""
    if surplus := [name for name, value in others.items() if value is not None]:
        raise ValueError(f"{surplus[0]} is not for an open domain; give --people or --share, --level and --power")
    made = planned(design, people=people, share=share, level=level, power=power)
    text = made.to_json() if as_json else "\n\n".join([made.text(), *([made.grid_text()] if grid else [])])
    deliver_text(text, output)


def _quantity(text: str) -> str | float:
    """Read what is to be known: a word, or the number of a quantile."""
    try:
        return float(text)
    except ValueError:
        return text


def _about(
    size: int | None,
    domain_file: Path | None,
    design: Path | None,
    opened: OpenDomain | None,
    numbers: Domain | None,
) -> Any:
    """Give the possible answers, their number or the whole design, which must be given in one way."""
    ways: dict[str, Any] = {
        "--size": size,
        "--from and --to": numbers,
        "--domain-file": domain_file,
        "--design": design,
    }
    ways["--letters, --bytes or --bits"] = opened
    named = [way for way, value in ways.items() if value is not None]
    if len(named) != 1:
        got = " and ".join(named) or "none"
        raise ValueError(
            f"give the possible answers in one way (--size, --from and --to, --domain-file or --design), but got {got}"
        )
    if opened is not None or numbers is not None:
        return opened or numbers
    if design is not None:
        return load_design(design)
    return size if domain_file is None else labels_in(domain_file)


def _pilot(file: str | None, column: str | None, design: Path | None) -> Tally | Pool | None:
    if file is None:
        return None
    if design is None:
        raise ValueError("--pilot needs --design, the design that its reports went through")
    with Source([file], ColumnOptions(column=column)).tallied(DesignGiven([str(design)])) as pilot:
        return pilot


def _label(answer: str, about: Any) -> Any:
    """Read an answer as an integer where answers are integers."""
    (label,) = from_text([answer], getattr(about, "domain", None) or canonical(about))
    return label
