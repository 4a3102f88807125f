"""`warner regress` tells how the answers depend on what else is known of people."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warner.cli.delivering import Delivery, TableForms, refuse_overwriting
from warner.cli.messages import warn, warnings_in_one_line, working
from warner.cli.numbers import values_from_text
from warner.cli.options import (
    Clusters,
    ColumnOptions,
    Counts,
    Level,
    Plot,
    Reading,
    Reports,
    Sampled,
    Strata,
    Weights,
    Whole,
    number_or_column,
)
from warner.cli.sources import Source, listed_design_in, merged, named_files, saved_in
from warner.designs.labels import from_text
from warner.results import formulas_in
from warner.words import conjoined

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warner.designs import Design
    from warner.documents import Document
    from warner.regression.regressions import Regression
    from warner.results import Result


def regress(
    context: typer.Context,
    files: Reports,
    formula: Annotated[
        str,
        typer.Argument(
            help='The column of reports and the terms, as "answer ~ age + C(region)"; with --on, the column.'
        ),
    ],
    *,
    design: Annotated[
        list[str] | None,
        typer.Option(
            "--design",
            "-d",
            help="The design: a file that `warner design` wrote. With --by, NAME=FILE for each design; may be given "
            "more than once.",
        ),
    ] = None,
    by: Annotated[str | None, typer.Option(help="The column that names the design of each row.")] = None,
    on: Annotated[
        str | None,
        typer.Option(help="The covariates, separated by commas, instead of a formula; needs no extra package."),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            help="The model: multinomial (log-odds of each answer), ordered, or linear (the shares themselves, or with "
            "--values the mean of a number)."
        ),
    ] = "multinomial",
    values: Annotated[
        str | None,
        typer.Option(
            help="With --model linear, the number that each answer stands for, whose mean is modelled: as "
            "never=0,once=1, or numbers for answers that are numbers."
        ),
    ] = None,
    link: Annotated[
        str,
        typer.Option(help="The link function for two answers or ordered answers: logit, probit, cloglog or cauchit."),
    ] = "logit",
    reference: Annotated[
        str | None, typer.Option(help="The answer that the others are compared with; the last one if not given.")
    ] = None,
    weights: Weights = None,
    counts: Counts = None,
    clusters: Clusters = None,
    strata: Strata = None,
    sampled: Sampled = None,
    whole: Whole = False,
    intercepts: Annotated[
        str | None,
        typer.Option(
            help="The column of groups, such as schools, with a random intercept each; in a formula (1 | school)."
        ),
    ] = None,
    errors: Annotated[
        str | None,
        typer.Option(
            help="Standard errors: observed, expected, opg or robust; robust with weights, clusters or strata, else "
            "observed."
        ),
    ] = None,
    penalty: Annotated[str | None, typer.Option(help="The penalty: jeffreys makes every estimate finite.")] = None,
    starts: Annotated[
        int | None, typer.Option(help="The number of random starts, in addition to those that are always tried.", min=0)
    ] = None,
    level: Level = 0.95,
    interval: Annotated[
        str, typer.Option(help="The method for the intervals of coefficients: auto, profile or wald.")
    ] = "auto",
    odds: Annotated[bool, typer.Option("--odds", help="Show the coefficients as odds ratios.")] = False,
    predict: Annotated[
        list[str] | None,
        typer.Option(
            help="Also predict the shares, or with --values the mean, for these values of a covariate, as age=20,40; "
            "may be given more than once.",
            metavar="NAME=VALUES",
        ),
    ] = None,
    effects: Annotated[
        str,
        typer.Option(
            help="With random intercepts, whose shares --predict gives: averaged over all groups, or those of the "
            "median group.",
            metavar="averaged|median",
        ),
    ] = "averaged",
    group_effects: Annotated[
        bool, typer.Option("--group-effects", help="With random intercepts, also show the effect of each group.")
    ] = False,
    reading: Reading,
    table: TableForms,
    plot: Plot = None,
    against: Annotated[
        str | None,
        typer.Option(help="Make --plot show the predicted shares, or with --values the mean, against this covariate."),
    ] = None,
) -> None:
    """Estimate how the answers depend on what else is known about people.

    Prints a table of coefficients with their intervals and the assumptions behind them, or the same as JSON or CSV.
    """
    asked = {"--predict": bool(predict), "--group-effects": group_effects}
    named_besides = conjoined([name for name, given in asked.items() if given])
    table.refuse_contradictions(f"{named_besides} {'are' if all(asked.values()) else 'is'}" if named_besides else "")
    _refuse_contradictions(formula, on, plot, against)
    if effects != "averaged" and not predict:
        raise ValueError("--effects says whose shares --predict gives; give --predict as well")
    source = Source(files, ColumnOptions(weights=weights, counts=counts), reading)
    data = context.with_resource(source.prepared())
    saved = saved_in(data)
    named = {} if saved and not design else _files(design or [], by)
    refuse_overwriting(
        {"the reports": files, **{f"the design {name}".strip(): path for name, path in named.items()}},
        {"--output": table.output, "--plot": plot},
    )
    designs = {name: listed_design_in(path) for name, path in named.items()}
    data = merged(saved, source, None) if saved else data
    # A saved tally tells its own design; else there is one for all rows, or one for each value of --by.
    answered = next(iter(designs.values())) if designs else data.parts[0].design
    fit = _fitted(
        formula,
        data,
        designs if by is not None else designs.get(""),
        by=by,
        on=None if on is None else [name.strip() for name in on.split(",")],
        model=model,
        values=None if values is None else values_from_text(values, answered.domain),
        link=link,
        reference=_answer(reference, answered),
        weights=weights,
        counts=counts,
        clusters=clusters,
        strata=strata,
        sampled=number_or_column(sampled),
        whole=whole,
        intercepts=intercepts,
        errors=errors,
        penalty=penalty,
        starts=starts,
        unknown=reading.unknown,
    )
    confidence: Document = {"level": level, "interval": interval, "odds": odds}
    with warnings_in_one_line({"take fit.better()": "give more --starts"}):
        besides: dict[str, Result | list[Result]] = {}
        with working("computing intervals"):
            if predict:
                besides["predictions"] = fit.predict(_profiles(fit, predict), level=level, effects=effects)
            if group_effects:
                besides["group_effects"] = fit.effects(level)
            text = table.written(Delivery(fit, confidence, besides))
        if ".csv" in table.forms:
            for said in filter(None, [formulas_in(fit.table(**confidence))]):
                warn(said)
        if plot is not None:
            fit.save_plot(plot, against, level=level, interval=interval, odds=odds)
        table.printed(text)


def _fitted(formula: str, data: Any, design: Design | Mapping[str, Design] | None, **options: Any) -> Regression:
    from warner.regression.regressions import regress as regressed

    with working("fitting"):
        return regressed(formula, data, design, **options)


def _refuse_contradictions(formula: str, on: str | None, plot: Path | None, against: str | None) -> None:
    if against is not None and plot is None:
        raise ValueError("--against says what --plot draws; give --plot with a file as well")
    if on is None and "~" not in formula:
        raise ValueError(
            f'give the terms: in the formula, as "{formula} ~ age + region", or with --on, as --on age,region'
        )
    if on is not None and "~" in formula:
        raise ValueError(f"give the terms in the formula or with --on, not both, but got {formula!r} and --on {on}")


def _files(given: list[str], by: str | None) -> dict[str, Path]:
    """Read --design: a file, or with --by NAME=FILE for each design."""
    if not given:
        raise ValueError("give --design: the file of the design that the reports went through")
    if by is None:
        if len(given) > 1:
            raise ValueError("several designs need --by, the column that names the design of each row")
        return {"": Path(given[0])}
    return {name: Path(file) for name, file in named_files(given, by).items()}


def _answer(text: str | None, design: Design) -> Any:
    return None if text is None else from_text([text], design.domain)[0]


def _profiles(fit: Regression, given: list[str]) -> dict[str, list[Any]]:
    """Read NAME=VALUES: all combinations of the values of the covariates that are named."""
    values = {}
    for text in given:
        name, equals, listed = text.partition("=")
        if not equals or not listed:
            raise ValueError(f"--predict must be NAME=VALUES, such as age=20,40, but got {text!r}")
        if name in values:
            raise ValueError(f"--predict must name each covariate once, but {name!r} is there twice")
        values[name] = [_value(fit, name, part.strip()) for part in listed.split(",")]
    rows = list(product(*values.values()))
    return {name: list(column) for name, column in zip(values, zip(*rows, strict=True), strict=True)}


def _value(fit: Regression, name: str, text: str) -> Any:
    """Read a value as what the covariate holds."""
    kinds = fit.model_data.terms.kinds
    if name not in kinds:
        raise ValueError(f"--predict must name covariates of the model ({', '.join(kinds)}), but got {name!r}")
    if kinds[name] == "text":
        return text
    if kinds[name] == "boolean" and text.lower() in {"true", "false"}:
        return text.lower() == "true"
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"--predict must give numbers for {name}, but got {text!r}") from None
    return int(number) if number.is_integer() else number
