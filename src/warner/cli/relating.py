"""Relations of answers to other variables: regress and associate."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import warner
from warner.cli.delivering import Delivery, refuse_overwriting
from warner.cli.messages import warn, warnings_in_one_line, working
from warner.cli.options import assigned, named_files
from warner.cli.sources import Source, listed_design_in, merged, saved_in
from warner.cli.values import arguments, generator, values_from_text
from warner.designs.labels import from_text
from warner.reports.options import Columns, Input
from warner.results import Result, formulas_in
from warner.text import conjoined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.cli import commands
    from warner.designs import Design
    from warner.documents import Document
    from warner.regression.regressions import Regression


# Options that are arguments of the Python functions as they are
READ_ALIKE = ("unknown", "missing", "sheet", "encoding", "decimal", "skip_bad_files")
FITTED_ALIKE = (
    "by", "model", "link", "weights", "counts", "clusters", "strata", "sampled", "whole", "intercepts", "errors",
    "penalty", "starts", "where",
)  # fmt: skip


# Regressions


def regress(options: commands.Regress) -> None:
    table, reading = options.table, options.reading
    table.refuse_contradictions(["--predict"] * bool(options.predict) + ["--group-effects"] * options.group_effects)
    _refuse_contradictions(options)
    columns = Columns(where=options.where, weights=options.weights, counts=options.counts)
    source = Source(options.files, Input(columns, reading), options.origin)
    data = click.get_current_context().with_resource(source.opened())
    saved = saved_in(data)
    named = {} if saved and not options.design else _files(options.design, options.by)
    refuse_overwriting(
        {"the reports": options.files, **{f"the design {name}".strip(): path for name, path in named.items()}},
        {"--output": table.output, "--plot": options.plot},
    )
    answered = options.formula.partition("~")[0].strip()
    designs = {name: listed_design_in(path, answered) for name, path in named.items()}
    data = merged(saved, source, None) if saved else data
    # A saved tally contains its design; otherwise there is one for all rows, or one for each value of --by.
    design = next(iter(designs.values())) if designs else data.parts[0].design

    def fitted(formula: str) -> Regression:
        return warner.regress(
            formula,
            data,
            designs if options.by is not None else designs.get(""),
            on=None if options.on is None else [name.strip() for name in options.on.split(",")],
            values=None if options.values is None else values_from_text(options.values, design.domain),
            reference=None if options.reference is None else from_text([options.reference], design.domain)[0],
            **arguments(options, *FITTED_ALIKE),
            **arguments(reading, *READ_ALIKE),
        )

    with working("fitting"):
        fit, *others = [fitted(formula) for formula in (options.formula, *options.also)]
    confidence: Document = {"level": options.level, "interval": options.interval, "odds": options.odds}
    with warnings_in_one_line():
        further: dict[str, Result | list[Result]] = {}
        with working("computing intervals"):
            if options.predict:
                profiles = _profiles(fit, options.predict)
                further["predictions"] = fit.predict(profiles, level=options.level, effects=options.effects)
            if options.group_effects:
                further["group_effects"] = fit.effects(options.level)
            margins = None
            if options.margins:
                settings: Document = {name: confidence[name] for name in ("level", "interval")}
                further["margins"] = margins = fit.margins(effects=options.effects, **settings)
            delivery = Delivery(fit, confidence, further, shown=margins)
            if others:
                delivery = Delivery(warner.regression_table([fit, *others], level=options.level, odds=options.odds))
            text = table.write(delivery)
        if ".csv" in table.forms and (formulas := formulas_in(fit.table(**confidence))):
            warn(formulas)
        if options.plot is not None:
            fit.save_plot(options.plot, options.against, **confidence)
        table.echo(text)


def _refuse_contradictions(options: commands.Regress) -> None:
    formula, on = options.formula, options.on
    if options.against is not None and options.plot is None:
        raise ValueError("--against is for --plot; give --plot with a file as well")
    if on is None and "~" not in formula:
        raise ValueError(
            f'give the terms: in the formula, as "{formula} ~ age + region", or with --on, as --on age,region'
        )
    if on is not None and "~" in formula:
        raise ValueError(f"give the terms in the formula or with --on, not both, but got {formula!r} and --on {on}")
    if options.effects != "averaged" and not (options.predict or options.margins):
        raise ValueError("--effects is for --predict and --margins; give one of these as well")
    single = {"--predict": options.predict, "--group-effects": options.group_effects, "--margins": options.margins}
    single |= {"--plot": options.plot, "--on": on, "--interval": options.interval != "auto"}
    if options.also and (named := [option for option, value in single.items() if value]):
        raise ValueError(f"--also is for tables of coefficients of several formulas; leave {conjoined(named)} out")
    if wrong := [further for further in options.also if "~" not in further]:
        raise ValueError(f'--also must be a formula, such as "{formula} + age", but got {wrong[0]!r}')


def _files(designs: Sequence[str], by: str | None) -> dict[str, Path]:
    """Parse --design: a file, or with --by NAME=FILE for each design."""
    if not designs:
        raise ValueError("give --design: the design file of the reports")
    if by is None:
        if len(designs) > 1:
            raise ValueError("several designs need --by, the column that names the design of each row")
        return {"": Path(designs[0])}
    return {name: Path(file) for name, file in named_files(designs, by).items()}


def _profiles(fit: Regression, assignments: Sequence[str]) -> dict[str, list[Any]]:
    """Parse NAME=VALUES and return all combinations of the values of covariates."""
    form = "--predict must be NAME=VALUES, such as age=20,40"
    listed = assigned(assignments, form, "--predict must name each covariate once")
    values = {name: [_value(fit, name, part.strip()) for part in text.split(",")] for name, text in listed.items()}
    rows = list(product(*values.values()))
    return {name: list(column) for name, column in zip(values, zip(*rows, strict=True), strict=True)}


def _value(fit: Regression, name: str, text: str) -> Any:
    """Convert a value to the type of its covariate."""
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


# Associations


def associate(options: commands.Associate) -> None:
    file, reading, verdict = options.file, options.reading, options.verdict
    verdict.refuse_other_ending()
    form = "questions must be given as COLUMN=DESIGN, such as cheated=dice.json"
    files = assigned(options.questions, form, "a question must be given once", last=True)
    inputs = {"the reports": file} | {f"the design of {name!r}": design for name, design in files.items()}
    refuse_overwriting(inputs, {"--output": verdict.output})
    designs: dict[str, Design] = {name: listed_design_in(design, name) for name, design in files.items()}
    columns = Columns(where=options.where, weights=options.weights, counts=options.counts)
    with Source([file], Input(columns, reading), options.origin).opened() as reports:
        result = warner.associate(
            reports,
            designs,
            values=_values(options.values, designs),
            rng=generator(options.seed),
            **arguments(options, "weights", "counts", "numeric", "where", "level", "simulations"),
            **arguments(reading, *READ_ALIKE),
        )
    verdict.deliver(result)


def _values(assignments: Sequence[str], designs: dict[str, Design]) -> dict[str, Any] | None:
    values: dict[str, Any] = {}
    for word in assignments:
        name, _, numbers = word.partition("=")
        if name not in designs:
            raise ValueError(f"--values must be COLUMN=VALUES, with a question as the column, but got {word!r}")
        values[name] = values_from_text(numbers, designs[name].domain)
    return values or None
