"""Delivering a result: printed as text, JSON or CSV, or written in the form that the ending of a file asks for.

A command has one of the groups of options below, refuses what cannot be done before anything is read, and hands
its result over. No output replaces what is read, and a file is there whole or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import click

from warner.cli.messages import tell, working
from warner.documents import format_of, resolved, save_text, written_whole
from warner.text import conjoined

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warner.results import Result


class Delivery(NamedTuple):
    """A result with the options of its table, such as the level, and what was asked besides.

    Answers to what was asked besides stand below the text, and under their names in JSON; a table is then one of these
    quantities, with `notes` in a paper. `rows` are those of the text.
    """

    result: Result
    options: Mapping[str, Any] = MappingProxyType({})
    besides: Mapping[str, Result | list[Result]] = MappingProxyType({})
    rows: int | None = None
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the result as text, and the further answers that are not in it already."""
        shown = {} if self.rows is None else {"rows": self.rows}
        known = [one.to_dict() for one in self.result.summaries(**self.options)] if self.besides else []
        further = [answer.text() for answer in self._answers if answer.to_dict() not in known]
        return "\n\n".join([self.result.text(**shown, **self.options), *further])

    @property
    def _answers(self) -> list[Result]:
        return [one for given in self.besides.values() for one in (given if isinstance(given, list) else [given])]

    @property
    def _tabled(self) -> tuple[Result, Mapping[str, Any]]:
        """What a table shows, and its options: the quantities that were asked for besides, or the result."""
        if not self.besides:
            return self.result, self.options
        from warner.inference.quantities import Quantities

        return Quantities(tuple(self._answers), self.notes), {}

    def json(self) -> str:
        """Write it as JSON, with what was asked besides."""
        from warner.results import as_json

        answers = {
            name: [one.to_dict() for one in given] if isinstance(given, list) else given.to_dict()
            for name, given in self.besides.items()
        }
        return as_json(self.result.json_fields(**self.options) | answers)

    def csv(self) -> str:
        """Write its table as CSV."""
        from warner.results import as_csv

        result, options = self._tabled
        return as_csv(result.table(**options))

    def written(self, output: Path) -> None:
        """Write it to a file, in the form that its ending asks for."""
        from warner.typesetting import FORMS

        ending = output.suffix.lower()
        if ending in {".json", ".csv", ".txt"}:
            save_text(output, {".json": self.json, ".csv": self._csv_lines, ".txt": self.text}[ending]())
            return
        result, options = self._tabled
        if ending == ".parquet":
            import pyarrow.parquet as pq

            with written_whole(output) as part:
                pq.write_table(result.to_frame("pyarrow", **options), part)
        else:
            save_text(output, FORMS[ending](result.printed(**options)))

    def _csv_lines(self) -> str:
        return self.csv().removesuffix("\n")


@dataclass(frozen=True)
class Verdict:
    """How a test, a comparison or another finding is delivered."""

    as_json: bool = False
    output: Path | None = None

    def refuse_other_ending(self) -> None:
        """Refuse a file that is neither JSON nor text nor a table for a paper."""
        _refuse_other_ending(self.output, (".json", ".txt"))

    def written(self, result: Result) -> str:
        """Write the finding to the file, if one is given, and give what is printed."""
        outcome = Delivery(result)
        if self.output is not None:
            outcome.written(self.output)
        return outcome.json() if self.as_json else outcome.text()

    def delivered(self, result: Result) -> None:
        """Write and print the finding."""
        click.echo(self.written(result))


@dataclass(frozen=True)
class TableForms:
    """How a table of estimates is delivered."""

    as_json: bool = False
    as_csv: bool = False
    output: Path | None = None

    @property
    def forms(self) -> set[str]:
        """The forms that are asked for besides the printed text, by their endings."""
        printed = {".json": self.as_json, ".csv": self.as_csv}
        written = set() if self.output is None else {self.output.suffix.lower()}
        return written | {form for form, asked in printed.items() if asked}

    def refuse_contradictions(self, besides: str) -> None:
        """Refuse two forms on one screen, a file of another kind, and tables for what was asked `besides`, if any."""
        if self.as_json and self.as_csv:
            raise ValueError("give --json or --csv, not both")
        _refuse_other_ending(self.output, (".csv", ".json", ".parquet"))
        if besides and self.forms - {".json"}:
            raise ValueError(f"{besides} answered in the printed table and in JSON only")

    def written(self, outcome: Delivery) -> str:
        """Write the outcome to the file, if one is given, and give what is printed."""
        if self.output is not None:
            outcome.written(self.output)
        if self.as_csv:
            return outcome.csv()
        return (outcome.json() if self.as_json else outcome.text()) + "\n"

    def printed(self, text: str) -> None:
        """Print what `written` gave; CSV as it is, so that no name loses a character."""
        click.echo(text, nl=False, color=True if self.as_csv else None)


@dataclass(frozen=True)
class PictureForms:
    """How a result is drawn, and written as an HTML report."""

    plot: Path | None = None
    report: Path | None = None
    title: str | None = None
    wording: str | None = None

    @property
    def files(self) -> dict[str, Path | None]:
        """The files that are written, by their options."""
        return {"--plot": self.plot, "--report": self.report}

    def written(self, result: Any, options: Mapping[str, Any] = MappingProxyType({}), **drawing: Any) -> None:
        """Draw the result and write its report, as far as files are given; `drawing` is for the plot alone."""
        if self.plot is not None:
            result.save_plot(self.plot, title=self.title, **drawing, **options)
        if self.report is not None:
            result.save_page(self.report, title=self.title, question=self.wording, **options)


class Saved(Protocol):
    """What is a file of its own: a design, a tally."""

    def to_json(self) -> str:
        """Write it as JSON."""

    def save(self, path: Path) -> None:
        """Write it to a file, whole or not at all."""


def deliver_document(document: Saved, output: Path | None) -> None:
    """Print a design or a tally as JSON; or save it, and say what it is."""
    if output is None:
        click.echo(document.to_json())
    else:
        document.save(output)
        tell(f"{output}: {document!r}")


def deliver_text(text: str, output: Path | None) -> None:
    """Print a text, or write it to a file."""
    if output is None:
        click.echo(text)
    else:
        save_text(output, text)


def _refuse_other_ending(output: Path | None, endings: Sequence[str]) -> None:
    """Refuse a file with none of these endings, nor that of a table for a paper."""
    from warner.typesetting import FORMS

    known = (*endings, *FORMS)
    if output is not None and output.suffix.lower() not in known:
        raise ValueError(f"the output must end in {conjoined(known, 'or')}, but got {output}")


def refuse_overwriting(
    inputs: Mapping[str, Path | str | Sequence[str] | None], outputs: Mapping[str, Path | str | None]
) -> None:
    """Refuse outputs that would replace what the command reads, each other, or what a survey is made of."""
    read = [(name, Path(file)) for name, given in inputs.items() for file in _listed(given)]
    written: dict[str, Path] = {}
    for option, file in outputs.items():
        if file is None or file == "-":
            continue
        for name, other in read:
            if same_file(Path(file), other):
                raise ValueError(f"{option} must not be {file}, which is {name} and would be lost; give another file")
        for earlier, other in written.items():
            if same_file(Path(file), other):
                raise ValueError(f"{earlier} and {option} must be different files, but both are {file}")
        _refuse_replacing_a_survey(option, Path(file))
        written[option] = Path(file)


def _refuse_replacing_a_survey(option: str, file: Path) -> None:
    """Refuse to write over a survey file or its database, by any command: neither can be made again."""
    if not file.is_file():
        return
    from warner.service.stores.sqlite import is_database

    held = "a survey" if format_of(file) == "warner survey" else "responses to a survey" if is_database(file) else None
    if held is not None:
        raise ValueError(f"{option} must not be {file}, which holds {held} and would be lost; give another file")


def _listed(given: Path | str | Sequence[str] | None) -> Sequence[Path | str]:
    """Give the files that an argument names: those of patterns and folders as well."""
    if given is None:
        return ()
    if isinstance(given, str | Path):
        return (given,)
    from warner.reports.files import files_of

    try:
        with working("looking for files"):
            return (*given, *files_of(given))
    except (OSError, ValueError):  # whoever opens them will say why
        return given


def same_file(first: Path, second: Path) -> bool:
    """Tell whether two paths lead to one file, which need not be there yet."""
    if first.exists() and second.exists():
        return first.samefile(second)
    return resolved(first) == resolved(second)
