"""Counts of reports, and commands that need counts alone: tally, discover, compare and check."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING, Any

import click

import warner
from warner.cli.delivering import Delivery, deliver_document, refuse_overwriting, same_file
from warner.cli.messages import tell, warn, working
from warner.cli.options import DesignGiven
from warner.cli.sources import NOT_FIXED, Source, coarsened, rolled_up
from warner.cli.values import arguments, generator, groups_named, labels_in, whole_numbers
from warner.designs.labels import from_text
from warner.reports.options import Columns, Input
from warner.reports.tallies import Tally
from warner.text import skipped_words

if TYPE_CHECKING:
    from pathlib import Path

    from warner.cli import commands
    from warner.documents import Saved


def tally(options: commands.Tally) -> None:
    given, output = options.given, options.output
    inputs = {"the reports": options.files, "the design": given.files}
    refuse_overwriting(inputs, {"--output": output}, force=options.force)
    source = Source.of(options)
    with working("counting reports"):
        opened = source.open_tally(given)
    if opened is not None:
        for left_out in filter(None, (opened.left_out(), skipped_words(opened.skipped_files))):
            warn(left_out)
        _deliver(opened, output, force=options.force)
        return
    with ExitStack() as stack:
        with working("counting reports"):
            counted = stack.enter_context(source.tallied(given))
        if source.optional_stopping:
            tell(f"warner: note: {NOT_FIXED}: estimate this tally with --anytime", err=True)
        sentences = [*(part.left_out() for part in counted.parts), skipped_words(counted.skipped_files)]
        for left_out in filter(None, sentences):
            warn(left_out)
        _deliver(counted, output, force=options.force)


def _deliver(counted: Saved, output: Path | None, *, force: bool) -> None:
    """Print or save a tally; the same tally may be saved again, as by a job that is repeated."""
    replaced = output.read_bytes() if output is not None and output.exists() and not force else None
    if replaced is not None and replaced.strip() != counted.to_json().encode().strip():
        raise FileExistsError(f"{output} already exists with other contents; give another file, or --force")
    deliver_document(counted, output)


def discover(options: commands.Discover) -> None:
    from warner.designs.open_values import WholeNumbers
    from warner.results import formulas_in

    files, design, expected, table = options.files, options.design, options.expected, options.table
    table.refuse_contradictions()
    inputs = {"the reports": files, "the design": design, "the expected values": expected}
    refuse_overwriting(inputs, {"--output": table.output, **options.pictures.files})
    with working("searching reports"):
        columns = Columns(options.question, options.column, options.by, options.where, counts=options.counts)
        source = Source(files, Input(columns, options.reading), options.origin)
        tally = source.open_tally(DesignGiven(() if design is None else (str(design),)))
        if tally is None:
            raise ValueError("discover needs the --design of an open domain, or a tally of one; see warner estimate")
        values: list[str] | list[int] | None = None
        if expected is not None:
            lines = labels_in(expected)
            values = lines
            if isinstance(tally.design.values, WholeNumbers):
                values = whole_numbers(
                    lines, "--expected must hold whole numbers, one per line, as the design has them"
                )
        given = arguments(options, "level", "above", "power", "simultaneous")
        found = warner.discover(tally, expected=values, **given)
        text = table.write(Delivery(found))
        options.pictures.write(found)
    if left_out := tally.left_out():
        warn(left_out)
    if {".csv"} & table.forms and (formulas := formulas_in(found.table())):
        tell(f"warner: note: {formulas}", err=True)
    table.echo(text)


def compare(options: commands.Compare) -> None:
    from warner.inference.sample_comparisons import Comparisons, compare_samples

    first, second, verdict, between = options.first, options.second, options.verdict, options.between
    verdict.refuse_other_ending()
    refuse_overwriting({"the first tally": first, "the second tally": second}, {"--output": verdict.output})
    if (second is None) != bool(between):
        raise ValueError("give two tallies, or one and --between with two of its groups")
    if second is not None and same_file(first, second):
        raise ValueError(f"the two tallies must be of different respondents, but both are {first}")
    if options.by and not between:
        raise ValueError("--by needs --between, with two of the groups")
    columns = Columns(by=options.by, where=options.where)
    one, *others = (
        rolled_up(coarsened(Tally.load(file), columns, file), columns) for file in (first, second) if file is not None
    )
    given = arguments(options, "level", "correction")
    label: Any = None if options.answer is None else from_text([options.answer], one.domain)[0]
    result: Any
    if second is None:
        groups = groups_named(between, one.group_names())
        result = compare_samples(one, answer=label, between=groups, **given)
    else:
        names = (first.stem, second.stem) if first.stem != second.stem else (str(first), str(second))
        result = compare_samples(one.aggregate(), others[0].aggregate(), label, names=names, **given)
    several = isinstance(result, Comparisons)
    click.echo(verdict.write(result, options.rows if several else None))
    if options.exit_code and (result.changed.any() if several else result.p_value < 1 - options.level):
        raise click.exceptions.Exit(1)


def check(options: commands.Check) -> None:
    given, verdict = options.given, options.verdict
    verdict.refuse_other_ending()
    refuse_overwriting({"the reports": options.files, "the design": given.files}, {"--output": verdict.output})
    source = Source.of(options)
    with working("checking reports"):
        opened = source.open_tally(given)
        tallied: Any = source.tallied(given, keep=True) if opened is None else nullcontext(opened)
        with tallied as tally:
            asked = arguments(options, "level", "simulations", "fakes")
            result = warner.check(tally, rng=generator(options.seed), **asked)
        text = verdict.write(result)
    if source.optional_stopping:
        tell(f"warner: note: {NOT_FIXED}, and the p-values are for one that was", err=True)
    click.echo(text)
    if not result.fits:
        raise click.exceptions.Exit(1)
