"""Use of designs: show, randomize and audit."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import warner
from warner.cli.delivering import refuse_overwriting
from warner.cli.messages import is_quiet, progress_bar, tell
from warner.cli.values import arguments
from warner.designs import listed_design, load_design
from warner.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from warner.cli import commands
    from warner.designs import Design, Memo


def show(options: commands.Show) -> None:
    design = load_design(options.design)
    fingerprint = design.fingerprint()
    if options.as_json:
        from warner.results import as_json

        said = {"sentences": list(design.sentences()), "epsilon": design.shown_epsilon(), "fingerprint": fingerprint}
        click.echo(as_json(said | {"design": design.to_dict()}))
    else:
        click.echo(f"{design.in_words()}\nFingerprint, which identifies the design: {fingerprint}")


def randomize(options: commands.Randomize) -> None:
    from warner.reports.randomizing_files import randomize_file, randomize_lines

    file, design, memo, output = options.file, options.design, options.memo, options.output
    columns = (options.column, options.keep or None, memo, options.encoding, options.sheet)
    if options.lines and any(option is not None for option in columns):
        raise ValueError(
            "--lines has no columns, no sheets, no memo and no other encoding; leave --column, --keep, --sheet, --memo "
            "and --encoding out"
        )
    if options.lines and options.nearest:
        raise ValueError("--nearest is for columns of a file; round the numbers before they are given as lines")
    files: dict[str, Path | str | None] = {"the file of answers": file, "the design": design, "the memo": memo}
    refuse_overwriting(files, {"--output": output}, force=options.force)
    if output != "-" and Path(output).exists() and not options.force:
        raise FileExistsError(
            f"{output} already exists, and is not overwritten: a second draw for the same respondents spends epsilon "
            "again; give another file, or --force"
        )
    survey = load_design(design)
    permanent = None if memo is None else _open_memo(memo, survey, output)
    with _progress() as progress:
        if options.lines:
            rows = randomize_lines(file, survey, output, progress=progress)
        else:
            given = arguments(options, "column", "keep", "nearest", "encoding", "sheet")
            rows = randomize_file(file, survey, output, memo=permanent, progress=progress, **given)
    aside = output == "-"  # then the reports are what is printed
    if permanent is not None:
        tell(f"{memo}: {permanent.spent()}", err=aside)
    if not aside:
        spent = f"epsilon {survey.shown_epsilon()} each" if permanent is None else "all of one respondent"
        tell(f"{output}: {counted(rows, 'report', 'reports')}, {spent}")


def _open_memo(memo: Path, survey: Design, output: str) -> Memo:
    """Open a memo, or create and announce it, since a mistyped name would spend epsilon again."""
    from warner.designs import Memo

    if memo.exists():
        return Memo.load(memo, survey)
    created = Memo.create(memo, survey)
    click.echo(f"{memo}: a new memo; keep it for all later answers of this respondent", err=output == "-")
    return created


@contextmanager
def _progress() -> Iterator[Callable[[int], None]]:
    """Show the number of finished rows, if standard error is a terminal."""
    if is_quiet() or not sys.stderr.isatty():
        yield lambda rows: None
        return
    with progress_bar("{task.completed:,} rows") as bar:
        task = bar.add_task("rows", total=None)
        yield lambda rows: bar.update(task, completed=rows)


def audit(options: commands.Audit) -> None:
    from warner.designs import OpenDomain
    from warner.designs.labels import from_text

    verdict = options.verdict
    verdict.refuse_other_ending()
    refuse_overwriting({"the design": options.design}, {"--output": verdict.output})
    claimed = load_design(options.design)
    answers = options.answers or None
    words: Any = answers
    if isinstance(claimed, OpenDomain):
        if answers is not None and claimed.answer_form.holds == "integers":
            words = from_text(list(answers), range(2))
    elif answers is not None:
        words = from_text(list(answers), listed_design(claimed).domain)
    given = arguments(options, "runs", "level", "raw", "timeout")
    result = warner.audit(options.command, claimed, answers=words, **given)
    verdict.deliver(result)
    if not result.passed:
        raise click.exceptions.Exit(1)
