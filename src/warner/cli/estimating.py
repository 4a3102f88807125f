"""Estimates: estimate, with the questions besides the shares, and groups."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import warner
from warner.cli.delivering import Delivery, refuse_overwriting
from warner.cli.messages import tell, warn, working
from warner.cli.sources import NOT_FIXED, Source
from warner.cli.values import generator, values_from_text
from warner.designs.labels import from_text
from warner.estimation import estimated
from warner.estimators import METHODS
from warner.results import formulas_in
from warner.runtime import JSON_BYTES, refuse_beyond_memory
from warner.text import conjoined, sentence

if TYPE_CHECKING:
    from warner.cli import commands
    from warner.designs.labels import Labels
    from warner.documents import Document
    from warner.estimation import Estimate
    from warner.groups.group_estimates import GroupEstimates
    from warner.results import Result

ANYTIME_TAKEN = f"{NOT_FIXED}, so the intervals are those that hold however often one looks"
ONE_LOOK = f"{NOT_FIXED}, and what is for one look need not hold for it; the intervals of --anytime do"


# Estimates


def estimate(options: commands.Estimate) -> None:
    """Estimate what people would have answered."""
    given, questions, table, pictures = options.given, options.questions, options.table, options.pictures
    asked = questions.about_answers
    table.refuse_contradictions(f"{conjoined(asked)} {'are' if len(asked) > 1 else 'is'}" if asked else "")
    questions.refuse_contradictions()
    if options.cumulative and pictures.plot is None:
        raise ValueError("--cumulative says what --plot draws; give --plot with a file as well")
    refuse_overwriting(
        {"the reports": options.files, "the design": given.files},
        {"--output": table.output, **pictures.files},
    )
    source = Source(options.files, options.columns, options.reading, options.sample, options.origin)
    method, anytime, level, target = options.method, options.anytime, options.level, options.target
    keep = method in METHODS and METHODS[method].likelihood
    chosen = source.optional_stopping
    ever = anytime if anytime is not None else chosen and target == "population"
    confidence: Document = {"level": level, "target": target, "simultaneous": options.simultaneous, "anytime": ever}
    with working("counting reports"):
        tally = click.get_current_context().with_resource(source.tallied(given, keep=keep))  # until all is written
    with working("estimating"):
        result = estimated(tally, method=method, rng=generator(options.seed))
        if ".json" in table.forms:
            cells = result.shares.size
            refuse_beyond_memory(cells, JSON_BYTES, f"{cells:,} shares in JSON", "write .csv or .parquet")
        answers = _answered(questions, result, level, target, anytime=bool(ever))
        text = table.written(
            Delivery(
                result,
                confidence,
                answers,
                options.rows,
                tuple(map(sentence, result._foundations())) if answers else (),
            )
        )
        text += "" if table.as_json or table.as_csv else _together(result)
        pictures.written(result, confidence, cumulative=options.cumulative)
        doubts = result.doubts() if table.as_json or table.as_csv else []  # the printed table says it itself
        if ".csv" in table.forms:
            from warner.inference.ranking import answer_columns

            doubts += filter(None, [formulas_in(answer_columns(result.tally))])
    if chosen and (questions.asked or not ever):
        tell(f"warner: note: {ONE_LOOK}", err=True)
    elif chosen and anytime is None:
        tell(f"warner: note: {ANYTIME_TAKEN}", err=True)
    for doubt in doubts:
        warn(doubt)
    table.printed(text)


def _together(result: Estimate) -> str:
    """Point to `warner groups` in a line, where groups would be estimated more closely together."""
    if not result.tally.by:
        return ""
    from warner.groups.group_estimates import advice

    said = advice(result.tally)
    return f"`warner groups` is probably closer: {said}\n" if said else ""


def _answered(
    questions: commands.Questions, estimate: Estimate, level: float, target: str, *, anytime: bool = False
) -> dict[str, Result | list[Result]]:
    """Return the answers to what was asked besides the shares, by their names in JSON."""
    groups = _groups(questions.between, estimate.tally.group_names()) if questions.between else None
    pairs = [_pair(text, estimate.tally.domain, groups) for text in questions.compare]
    answers: dict[str, Result | list[Result]] = {}
    if pairs:
        answers["comparisons"] = [
            estimate.compare(*labels, between=groups, level=level, target=target, test=questions.test)
            for labels, groups in pairs
        ]
    if questions.count is not None:
        answers["top"] = estimate.commonest(questions.count, level=level, target=target)
    if questions.present:
        answers["present"] = estimate.present(level=level)
    return answers | _about_numbers(questions, estimate, {"level": level, "target": target}, groups, anytime=anytime)


def _about_numbers(
    questions: commands.Questions, estimate: Estimate, asked: Document, groups: tuple[str, str] | None, *, anytime: bool
) -> dict[str, Result | list[Result]]:
    values = None if questions.values is None else values_from_text(questions.values, estimate.tally.domain)
    answers: dict[str, Result | list[Result]] = {}
    if questions.mean:
        answers["mean"] = estimate.mean(values, anytime=anytime, **asked)
    if questions.standard_deviation:
        answers["standard_deviation"] = estimate.standard_deviation(values, **asked)
    if questions.mean and groups is not None:
        answers["difference"] = estimate.compare_means(groups, values, **asked)
    if taus := [0.5] * questions.median + (list(questions.quantile)):
        how = {"anytime": anytime, "method": questions.quantile_method, **asked}
        try:
            answers["quantiles"] = [estimate.quantile(tau, values, **how) for tau in taus]
        except ValueError as error:  # --method is that of the shares
            raise ValueError(re.sub(r"^method\b", "quantile_method", str(error))) from None
    beyond: list[dict[str, Any]] = [{"above": number} for number in questions.above]
    beyond += [{"below": number} for number in questions.below]
    beyond += [{"within": _two_numbers(text)} for text in questions.within]
    if beyond:
        answers["shares"] = [estimate.interval(values=values, anytime=anytime, **one, **asked) for one in beyond]
    if questions.totals:
        people = questions.population[0] if len(questions.population) == 1 else list(questions.population) or None
        answers["totals"] = estimate.totals(people, values, level=asked["level"])
    return answers


def _two_numbers(text: str) -> tuple[float, float]:
    """Read `18,25` as two numbers."""
    try:
        least, most = map(float, text.split(","))
    except ValueError:
        raise ValueError(f"--within must be two numbers, as 18,25, but got {text!r}") from None
    return least, most


def _groups(between: tuple[str, ...], names: list[str]) -> tuple[str, str]:
    """Read two groups: given one by one, exactly; or as `a,b`, where either may itself hold commas and spaces."""
    if len(between) == 2:
        return between[0], between[1]
    parts = between[0].split(",")
    cuts = [(",".join(parts[:i]), ",".join(parts[i:])) for i in range(1, len(parts))]
    stripped = [(first.strip(), second.strip()) for first, second in cuts]
    known = [pair for pair in dict.fromkeys([*cuts, *stripped]) if all(name in names for name in pair)]
    if len(between) > 2 or (len(cuts) != 1 and len(known) != 1):
        raise ValueError(
            f"--between must name two groups, as a,b or each after its own --between, but got {', '.join(between)!r}"
        )
    return (known or stripped)[0]


def _pair(text: str, domain: Labels, between: tuple[str, str] | None) -> tuple[tuple[Any, ...], Any]:
    """Read `a,b` as two answers, which may hold commas themselves; or one answer, and two groups."""
    if between is not None:
        return tuple(from_text([text], domain)), between
    parts = text.split(",")
    cuts = [(",".join(parts[:i]).strip(), ",".join(parts[i:]).strip()) for i in range(1, len(parts))]
    read = [tuple(from_text(list(cut), domain)) for cut in cuts]
    known = [pair for pair in read if all(label in domain for label in pair)]
    if len(cuts) != 1 and len(known) != 1:
        raise ValueError(f"--compare must name two answers, as a,b, but got {text!r}")
    return (known or read)[0], None


# Groups


def groups(options: commands.Groups) -> None:
    """Estimate the shares of many groups together."""
    given, table, pictures = options.given, options.table, options.pictures
    table.refuse_contradictions("")
    if options.values is not None and not options.mean:
        raise ValueError("--values needs --mean")
    covariates, names = _file_and_columns(options.on)
    refuse_overwriting(
        {"the reports": options.files, "the design": given.files, "the covariates": covariates},
        {"--output": table.output, **pictures.files},
    )
    source = Source(options.files, options.columns, options.reading, options.sample, options.origin)
    with working("counting reports"):
        tally = click.get_current_context().with_resource(source.tallied(given))
    if not tally.by:
        raise ValueError("--by must name the column of the groups, such as --by region")
    with working("estimating"):
        known = None if covariates is None else _columns(covariates, names, tally.by)
        result = warner.estimate_groups(tally, on=known, along=options.along, different_people=options.different_people)
        confidence: Document = {"level": options.level, "kind": options.kind}
        domain = result.tally.domain
        drawn = None if pictures.plot is None else domain[result.place_of(_label(options.answer, domain))]
        means = _means(result, options.values, confidence) if options.mean else {}
        text = table.written(Delivery(result, confidence, means, options.rows))
        pictures.written(result, confidence, answer=drawn)
    if source.optional_stopping:
        tell(f"warner: note: {NOT_FIXED}, and these intervals, which are for one look, need not hold for it", err=True)
    doubts = result.doubts() if table.as_json or table.as_csv else []  # the printed table says it itself
    if ".csv" in table.forms:
        from warner.inference.ranking import answer_columns

        doubts += filter(None, [formulas_in(answer_columns(result.tally))])
    for doubt in doubts:
        warn(doubt)
    table.printed(text)


def _means(result: GroupEstimates, values: str | None, options: Document) -> dict[str, Result | list[Result]]:
    """Give the means of all groups, under their name in JSON."""
    numbers = None if values is None else values_from_text(values, result.tally.domain)
    return {"mean": result.mean(numbers, **options)}


def _label(answer: str | None, domain: Any) -> Any:
    """Give an answer as the domain has it: as a number where that holds numbers."""
    whole = answer is not None and answer.lstrip("-").isdecimal() and answer not in domain
    return int(answer) if whole and answer is not None else answer


def _file_and_columns(on: str | None) -> tuple[str | None, list[str]]:
    """Read FILE:COLUMN,... ; a file may itself have a colon in its name."""
    if on is None or Path(on).exists():
        return on, []
    file, colon, names = on.rpartition(":")
    if not colon or not file or not names:
        raise ValueError(f"--on must be FILE:COLUMN,..., such as regions.csv:income, but there is no file {on!r}")
    return file, [name.strip() for name in names.split(",")]


def _columns(file: str, names: list[str], by: tuple[str, ...]) -> dict[str, Any]:
    """Read the columns that name groups, and the covariates: all others if none are named."""
    from warner.reports.loading import Wanted, column_names, load, opened
    from warner.reports.queries import refuse_absent

    with opened(file) as source:
        held = column_names(source)
        for name in (*by, *names):
            refuse_absent(name, held)
        covariates = names or [name for name in held if name not in by]
        loaded = load(source, Wanted({by[0]: ()}, (*by[1:], *covariates)), every_row=True)

    def values(name: str) -> list[Any]:
        """Give a column, names of groups as they are written; what is missing as None."""
        read = loaded.column(name, as_written=name in by)
        rows = zip(read.values.tolist(), read.missing.tolist(), strict=True)
        return [None if gone else value for value, gone in rows]

    return {name: values(name) for name in (*by, *covariates)}
