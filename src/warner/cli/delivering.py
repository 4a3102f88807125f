"""Output of results: text, JSON or CSV on standard output, or a file in the format of its ending."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from warner.cli.messages import tell, warn, working
from warner.documents import format_of, resolved, save_text, written_whole
from warner.text import conjoined, skipped_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warner.documents import Saved
    from warner.results import Result


class Delivery(NamedTuple):
    """A result with the options of its table, such as the level, and further quantities, by their names in JSON.

    Tables show only further quantities, with `notes` in a paper, or one that is `shown`; `rows` limits the text.
    """

    result: Result
    options: Mapping[str, Any] = MappingProxyType({})
    further: Mapping[str, Result | list[Result]] = MappingProxyType({})
    rows: int | None = None
    notes: tuple[str, ...] = ()
    shown: Result | None = None

    def text(self) -> str:
        """Return the text of the result, and of the further quantities that it does not contain."""
        limit = {} if self.rows is None else {"rows": self.rows}
        known = [one.to_dict() for one in self.result._summaries(**self.options)] if self.further else []
        further = [quantity.text() for quantity in self._quantities if quantity.to_dict() not in known]
        return "\n\n".join([self.result.text(**limit, **self.options), *further])

    @property
    def _quantities(self) -> list[Result]:
        return [one for value in self.further.values() for one in (value if isinstance(value, list) else [value])]

    @property
    def _table(self) -> tuple[Result, Mapping[str, Any]]:
        """The result that a table shows, and its options: the further quantities, if there are any."""
        if self.shown is not None:
            return self.shown, {}
        if not self.further:
            return self.result, self.options
        from warner.inference.quantities import Quantities

        return Quantities(tuple(self._quantities), self.notes), {}

    def json(self) -> str:
        from warner.results import as_json

        quantities = {
            name: [one.to_dict() for one in value] if isinstance(value, list) else value.to_dict()
            for name, value in self.further.items()
        }
        return as_json(self.result._json_fields(**self.options) | quantities)

    def csv(self) -> str:
        from warner.results import as_csv

        result, options = self._table
        return as_csv(result.table(**options))

    def write(self, output: Path) -> None:
        """Write a file in the format of its ending."""
        from warner.results import typeset
        from warner.typesetting import FORMS

        ending = output.suffix.lower()
        if ending in {".json", ".csv", ".txt"}:
            text = {".json": self.json, ".csv": self.csv, ".txt": self.text}[ending]()
            save_text(output, text.removesuffix("\n") if ending == ".csv" else text)
            return
        result, options = self._table
        if ending == ".parquet":
            import pyarrow.parquet as pq

            with written_whole(output) as part:
                pq.write_table(result.to_frame("pyarrow", **options), part)
        else:
            save_text(output, FORMS[ending](typeset(result, **options)))


@dataclass(frozen=True)
class Verdict:
    """Output options of tests and comparisons."""

    as_json: bool = False
    output: Path | None = None

    def refuse_other_ending(self) -> None:
        _refuse_other_ending(self.output, (".json", ".txt"))

    def write(self, result: Result, rows: int | None = None) -> str:
        """Write the result to the output file, if there is one; return the text to print."""
        delivery = Delivery(result, rows=rows)
        if self.output is not None:
            delivery.write(self.output)
        return delivery.json() if self.as_json else delivery.text()

    def deliver(self, result: Result) -> None:
        click.echo(self.write(result))


@dataclass(frozen=True)
class TableForms:
    """Output options of tables of estimates."""

    as_json: bool = False
    as_csv: bool = False
    output: Path | None = None

    @property
    def forms(self) -> set[str]:
        """The formats of the output other than printed text, as endings of files."""
        printed = {".json": self.as_json, ".csv": self.as_csv}
        files = set() if self.output is None else {self.output.suffix.lower()}
        return files | {form for form, is_printed in printed.items() if is_printed}

    def refuse_contradictions(self, untabulated: Sequence[str] = ()) -> None:
        """Raise an error for --json with --csv, another ending, or a table with `untabulated` options."""
        if self.as_json and self.as_csv:
            raise ValueError("give --json or --csv, not both")
        _refuse_other_ending(self.output, (".csv", ".json", ".parquet"))
        if untabulated and self.forms - {".json"}:
            verb = "are" if len(untabulated) > 1 else "is"
            raise ValueError(f"{conjoined(untabulated)} {verb} answered in the printed table and in JSON only")

    def write(self, delivery: Delivery) -> str:
        """Write the result to the output file, if there is one; return the text to print."""
        if self.output is not None:
            delivery.write(self.output)
        if {".csv", ".parquet"} & self.forms and (skipped := skipped_words(delivery.result._skipped_files())):
            warn(skipped)
        if self.as_csv:
            return delivery.csv()
        return (delivery.json() if self.as_json else delivery.text()) + "\n"

    def echo(self, text: str) -> None:
        """Print the text of `write`; CSV keeps all characters of names."""
        click.echo(text, nl=False, color=True if self.as_csv else None)


@dataclass(frozen=True)
class PictureForms:
    """Plot and HTML report of a result."""

    plot: Path | None = None
    report: Path | None = None
    title: str | None = None
    wording: str | None = None

    @property
    def files(self) -> dict[str, Path | None]:
        return {"--plot": self.plot, "--report": self.report}

    def write(self, result: Any, options: Mapping[str, Any] = MappingProxyType({}), **plot_options: Any) -> None:
        if self.plot is not None:
            result.save_plot(self.plot, title=self.title, **plot_options, **options)
        if self.report is not None:
            result.save_page(self.report, title=self.title, question=self.wording, **options)


def deliver_document(document: Saved, output: Path | None) -> None:
    """Print a design or a tally as JSON, or save and describe it."""
    if output is None:
        click.echo(document.to_json())
    else:
        document.save(output)
        tell(f"{output}: {document!r}")


def deliver_text(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text)
    else:
        save_text(output, text)


def _refuse_other_ending(output: Path | None, endings: Sequence[str]) -> None:
    from warner.typesetting import FORMS

    known = (*endings, *FORMS)
    if output is not None and output.suffix.lower() not in known:
        raise ValueError(f"the output must end in {conjoined(known, 'or')}, but got {output}")


HEADER_BYTES = 2**16
COLLECTED = {"design", "tally", "pool", "open tally", "memo"}  # documents that cannot be computed again


def refuse_overwriting(
    inputs: Mapping[str, Path | str | Sequence[str] | None],
    outputs: Mapping[str, Path | str | None],
    *,
    force: bool | None = None,
) -> None:
    """Raise an error for outputs that would replace an input, each other, a survey file or its database.

    Commands without an option `force` replace their results of earlier runs, but no design, tally or memo.
    """
    sources = [(name, Path(file)) for name, argument in inputs.items() for file in _files_in(argument)]
    written: dict[str, Path] = {}
    for option, file in outputs.items():
        if file is None or file == "-":
            continue
        for name, other in sources:
            if same_file(Path(file), other):
                raise ValueError(f"{option} must not be {file}, which is {name} and would be lost; give another file")
        for earlier, other in written.items():
            if same_file(Path(file), other):
                raise ValueError(f"{earlier} and {option} must be different files, but both are {file}")
        _refuse_replacing_a_survey(option, Path(file), results=force is None)
        written[option] = Path(file)


def _refuse_replacing_a_survey(option: str, file: Path, *, results: bool) -> None:
    if not file.is_file():
        return
    from warner.service.stores.sqlite import is_database

    kind = (format_of(file) or "").removeprefix("warner ")
    if results and kind in COLLECTED:
        content: str | None = f"a saved {kind}"
    elif results and file.suffix.lower() == ".csv" and not _begins_like_a_result(file):
        content = "other data than a result of warner"
    else:
        content = "a survey" if kind == "survey" else "responses to a survey" if is_database(file) else None
    if content is not None:
        raise ValueError(f"{option} must not be {file}, which holds {content} and would be lost; give another file")


def _begins_like_a_result(file: Path) -> bool:
    """Return True for an empty file, or a header with the ends of intervals, which every CSV of results has."""
    with file.open("rb") as lines:
        header = lines.readline(HEADER_BYTES)
    return not header.strip() or {b"low", b"high"} <= set(header.strip().split(b","))


def _files_in(argument: Path | str | Sequence[str] | None) -> Sequence[Path | str]:
    """Return the files that an argument names, including the files of patterns and folders."""
    if argument is None:
        return ()
    if isinstance(argument, str | Path):
        return (argument,)
    from warner.reports.files import files_of

    try:
        with working("looking for files"):
            return (*argument, *files_of(argument))
    except (OSError, ValueError):  # opening the files raises the same error
        return argument


def same_file(first: Path, second: Path) -> bool:
    """Return True if two paths are of the same file, which need not exist."""
    if first.exists() and second.exists():
        return first.samefile(second)
    return resolved(first) == resolved(second)
