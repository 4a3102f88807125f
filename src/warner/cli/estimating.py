"""Estimates: estimate, with quantities besides the shares, and groups."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import warner
from warner.cli.delivering import Delivery, TableForms, refuse_overwriting
from warner.cli.messages import tell, warn, working
from warner.cli.sources import NOT_FIXED, Source
from warner.cli.values import generator, groups_named, two_numbers, values_from_text
from warner.designs.labels import Labels, from_text
from warner.estimation import Estimate, estimated
from warner.estimators import METHODS
from warner.estimators.methods import SMOOTHED
from warner.results import Result, formulas_in
from warner.runtime import JSON_BYTES, refuse_beyond_memory
from warner.text import sentence

if TYPE_CHECKING:
    from warner.cli import commands
    from warner.documents import Document
    from warner.groups.group_estimates import GroupEstimates

ANYTIME_BY_DEFAULT = f"{NOT_FIXED}, so the intervals have coverage at all looks"
ONE_LOOK = f"{NOT_FIXED}, so intervals and tests for one look may not have their coverage; those of --anytime do"


# Estimates


def estimate(options: commands.Estimate) -> None:
    given, questions, table, pictures = options.given, options.questions, options.table, options.pictures
    table.refuse_contradictions(questions.about_answers)
    questions.refuse_contradictions()
    if options.cumulative and pictures.plot is None:
        raise ValueError("--cumulative is for --plot; give --plot with a file as well")
    refuse_overwriting(
        {"the reports": options.files, "the design": given.files}, {"--output": table.output, **pictures.files}
    )
    source = Source.of(options)
    method, anytime, level, target = options.method, options.anytime, options.level, options.target
    keep = method in METHODS and METHODS[method].likelihood
    optional_stopping = source.optional_stopping
    all_looks = anytime if anytime is not None else optional_stopping and target == "population"
    confidence: Document = {"level": level, "target": target}
    confidence |= {"simultaneous": options.simultaneous, "anytime": all_looks}
    with working("counting reports"):
        tally = click.get_current_context().with_resource(source.tallied(given, keep=keep))  # open until the output
    with working("estimating"):
        result = estimated(tally, method=method, rng=generator(options.seed))
        if ".json" in table.forms:
            cells = result.shares.size
            refuse_beyond_memory(cells, JSON_BYTES, f"{cells:,} shares in JSON", "write .csv or .parquet")
        further = _quantities(questions, result, level, target, anytime=bool(all_looks))
        notes = tuple(map(sentence, result._foundations())) if further else ()
        text = table.write(Delivery(result, confidence, further, options.rows, notes))
        lost = source.lost
        if result.tally.by and not (table.as_json or table.as_csv or ("option" in result.tally.by and lost)):
            from warner.groups.group_estimates import advice

            reason = advice(result.tally)
            text += f"`warner groups` is probably more accurate: {reason}\n" if reason else ""
        pictures.write(result, confidence, cumulative=options.cumulative)
    if optional_stopping and (questions.is_given or not all_looks):
        tell(f"warner: note: {ONE_LOOK}", err=True)
    elif optional_stopping and anytime is None:
        tell(f"warner: note: {ANYTIME_BY_DEFAULT}", err=True)
    if lost:
        tell(f"warner: note: {lost}", err=True)
    _warn(result, table)
    table.echo(text)


def _warn(result: Estimate | GroupEstimates, table: TableForms) -> None:
    """Print the warnings of a result that its output does not contain."""
    for warning in result.warnings() if table.as_json or table.as_csv else []:
        warn(warning)
    if ".csv" in table.forms:
        from warner.inference.ranking import answer_columns

        if formulas := formulas_in(answer_columns(result.tally)):
            warn(formulas)


def _quantities(
    questions: commands.Questions, estimate: Estimate, level: float, target: str, *, anytime: bool
) -> dict[str, Result | list[Result]]:
    """Return the quantities besides the shares by their keys in JSON."""
    groups = groups_named(questions.between, estimate.tally.group_names()) if questions.between else None
    pairs = [_pair(text, estimate.tally.domain, groups) for text in questions.compare]
    result: dict[str, Result | list[Result]] = {}
    if pairs:
        result["comparisons"] = [
            estimate.compare(*labels, between=groups, level=level, target=target, test=questions.test)
            for labels, groups in pairs
        ]
    if questions.count is not None:
        result["top"] = estimate.commonest(questions.count, level=level, target=target)
    if questions.present:
        result["present"] = estimate.present(level=level)
    return result | _about_numbers(questions, estimate, {"level": level, "target": target}, groups, anytime=anytime)


def _about_numbers(
    questions: commands.Questions,
    estimate: Estimate,
    confidence: Document,
    groups: tuple[str, str] | None,
    *,
    anytime: bool,
) -> dict[str, Result | list[Result]]:
    values = None if questions.values is None else values_from_text(questions.values, estimate.tally.domain)
    result: dict[str, Result | list[Result]] = {}
    if questions.mean:
        result["mean"] = estimate.mean(values, anytime=anytime, **confidence)
    if questions.standard_deviation:
        result["standard_deviation"] = estimate.standard_deviation(values, **confidence)
    if questions.mean and groups is not None:
        result["difference"] = estimate.compare_means(groups, values, **confidence)
    if questions.quantile_method not in {None, SMOOTHED}:  # for quantile, this is `method`
        raise ValueError(f'quantile_method must be "{SMOOTHED}", or be left out, but got {questions.quantile_method!r}')
    if taus := [0.5] * questions.median + (list(questions.quantile)):
        settings = {"anytime": anytime, "method": questions.quantile_method, **confidence}
        result["quantiles"] = [estimate.quantile(tau, values, **settings) for tau in taus]
    beyond: list[dict[str, Any]] = [{"above": number} for number in questions.above]
    beyond += [{"below": number} for number in questions.below]
    beyond += [{"within": two_numbers("--within", text, "18,25")} for text in questions.within]
    if beyond:
        result["shares"] = [estimate.interval(values=values, anytime=anytime, **one, **confidence) for one in beyond]
    if questions.totals:
        people = questions.population[0] if len(questions.population) == 1 else list(questions.population) or None
        result["totals"] = estimate.totals(people, values, level=confidence["level"])
    return result


def _pair(text: str, domain: Labels, between: tuple[str, str] | None) -> tuple[tuple[Any, ...], Any]:
    """Parse `a,b` as two answers, which may contain commas; or one answer, to be compared between two groups."""
    if between is not None:
        return tuple(from_text([text], domain)), between
    parts = text.split(",")
    cuts = [(",".join(parts[:i]).strip(), ",".join(parts[i:]).strip()) for i in range(1, len(parts))]
    pairs = [tuple(from_text(list(cut), domain)) for cut in cuts]
    known = [pair for pair in pairs if all(label in domain for label in pair)]
    if len(cuts) != 1 and len(known) != 1:
        raise ValueError(f"--compare must name two answers, as a,b, but got {text!r}")
    return (known or pairs)[0], None


# Groups


def groups(options: commands.Groups) -> None:
    given, table, pictures = options.given, options.table, options.pictures
    table.refuse_contradictions()
    if options.values is not None and not options.mean:
        raise ValueError("--values needs --mean")
    covariates, names = _file_and_columns(options.on)
    refuse_overwriting(
        {"the reports": options.files, "the design": given.files, "the covariates": covariates},
        {"--output": table.output, **pictures.files},
    )
    source = Source.of(options)
    with working("counting reports"):
        tally = click.get_current_context().with_resource(source.tallied(given))
    if not tally.by:
        raise ValueError("--by must name the column of the groups, such as --by region")
    with working("estimating"):
        known = None if covariates is None else _columns(covariates, names, tally.by)
        result = warner.estimate_groups(tally, on=known, along=options.along, different_people=options.different_people)
        confidence: Document = {"level": options.level, "kind": options.kind}
        domain = result.tally.domain
        named = None if options.answer is None else from_text([options.answer], domain)[0]
        wanted = options.answer is not None or (pictures.plot is not None and not result.numeric)
        plotted = domain[result.index_of(named)] if wanted else None
        numbers = None if options.values is None else values_from_text(options.values, domain)
        means = {"mean": result.mean(numbers, **confidence)} if options.mean else {}
        text = table.write(Delivery(result, confidence, means, options.rows))
        pictures.write(result, confidence, answer=plotted)
    if source.optional_stopping:
        tell(f"warner: note: {NOT_FIXED}, so these intervals, for one look, may not have their coverage", err=True)
    _warn(result, table)
    table.echo(text)


def _file_and_columns(on: str | None) -> tuple[str | None, list[str]]:
    """Parse FILE:COLUMN,...; the name of the file may contain a colon."""
    if on is None or Path(on).exists():
        return on, []
    file, colon, names = on.rpartition(":")
    if not colon or not file or not names:
        raise ValueError(f"--on must be FILE:COLUMN,..., such as regions.csv:income, but there is no file {on!r}")
    return file, [name.strip() for name in names.split(",")]


def _columns(file: str, names: list[str], by: tuple[str, ...]) -> dict[str, Any]:
    """Read the columns that name groups, and the covariates: all others if none are named."""
    from warner.reports.loading import Selection, column_names, load, opened
    from warner.reports.queries import refuse_absent

    with opened(file) as source:
        present = column_names(source)
        for name in (*by, *names):
            refuse_absent(name, present)
        covariates = names or [name for name in present if name not in by]
        loaded = load(source, Selection({by[0]: ()}, (*by[1:], *covariates)), every_row=True)

    def values(name: str) -> list[Any]:
        """Return a column, with the written names of groups, and None for missing values."""
        column = loaded.column(name, as_written=name in by)
        rows = zip(column.values.tolist(), column.missing.tolist(), strict=True)
        return [None if is_missing else value for value, is_missing in rows]

    return {name: values(name) for name in (*by, *covariates)}
