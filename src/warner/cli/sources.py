"""Reports and their design, from the options that several commands share."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import narwhals as nw

from warner.designs import RandomizedResponse, load_design
from warner.documents import is_pipe
from warner.reports.counting import is_survey, tally
from warner.reports.dialects import Dialect
from warner.reports.engines import Source as Table
from warner.reports.streams import standard_input

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.designs import Design
    from warner.reports.tallies import Tally

FORMATS = ("csv", "tsv", "parquet", "jsonl")


class DesignGiven(NamedTuple):
    """A design file, or the answers of a randomized response and one of its parameters."""

    file: Path | None
    domain: str | None
    epsilon: str | None
    truth: str | None
    redraw: str | None
    odds: str | None

    def design(self) -> Design:
        """Read the file, or make the randomized response."""
        file, domain, *parameters = self
        if file is not None:
            if any(value is not None for value in (domain, *parameters)):
                raise ValueError(
                    "give a design file, or its parts (--domain with --epsilon, --truth, --redraw or --odds), not both"
                )
            return load_design(file)
        if domain is None:
            raise ValueError(
                "give --design, or --domain with --epsilon: the possible answers must be known beforehand, because "
                "those that nobody happened to report count as well"
            )
        labels = [label.strip() for label in domain.split(",")]
        return RandomizedResponse(labels, epsilon=self.epsilon, truth=self.truth, redraw=self.redraw, odds=self.odds)


class Source(NamedTuple):
    """Where reports are, and how they are to be read."""

    file: str
    column: str | None
    by: list[str] | None
    weights: str | None
    counts: str | None
    unknown: str
    table: str | None
    input_format: str
    question: str | None = None
    dialect: Dialect = Dialect()

    @property
    def of_survey(self) -> bool:
        """Whether this is the database of a survey, which has its own designs."""
        return self.question is not None or (self.table is None and is_survey(self.file))

    @contextmanager
    def tallied(self, given: DesignGiven, *, keep: bool = False) -> Iterator[Tally]:
        """Count the reports, and `keep` them as long as the tally is used; or read the tally of a survey."""
        if self.question is not None and self.table is not None:
            raise ValueError("give --question, for the database of a survey, or --table, for one of reports, not both")
        design = None if self.of_survey and all(value is None for value in given) else given.design()
        with self.opened() as reports:
            yield tally(
                reports,
                design,
                question=self.question,
                column=self.column,
                by=self.by or None,
                weights=self.weights,
                counts=self.counts,
                unknown=self.unknown,
                keep=keep and not self.of_survey,  # which has counts alone
                encoding=None if self.dialect.encoding == "utf-8" else self.dialect.encoding,
                decimal=self.dialect.decimal,
                missing=self.dialect.missing,
            )

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Give what holds the reports: a path, a table of a database, or standard input as a file of its own."""
        if self.of_survey:
            yield self.file
        elif "://" in self.file:
            yield self._database_table()
        elif self.file == "-":
            with self._spooled(standard_input()) as path:
                yield path
        elif is_pipe(Path(self.file)):
            with Path(self.file).open("rb") as pipe, self._spooled(pipe) as path:
                yield path
        else:
            yield self.file

    @contextmanager
    def prepared(self) -> Iterator[Any]:
        """Give what holds the reports as if it had been written as warner would."""
        with self.opened() as reports:
            if self.dialect.plain:
                yield reports
            elif isinstance(reports, str | Path):
                with self.dialect.opened(reports) as source:
                    yield source
            else:
                yield self.dialect.applied(Table(nw.from_native(reports), text=False))

    @contextmanager
    def _spooled(self, reports: BinaryIO) -> Iterator[Path]:
        """Hold what a pipe brings in a file for a moment, as reports may be: engines read it more than once."""
        if self.input_format not in FORMATS:
            raise ValueError(f"--format must be csv, tsv, parquet or jsonl, but got {self.input_format!r}")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"standard input.{self.input_format}"
            with path.open("wb") as spool:
                shutil.copyfileobj(reports, spool)
            yield path

    def _database_table(self) -> Any:
        try:
            import ibis
        except ImportError:
            raise ImportError("a database URL needs Ibis: pip install 'warner[sql]'") from None
        if self.table is None:
            raise ValueError("--table must name the table of the database")
        scheme, _, place = self.file.partition("://")
        if scheme in {"sqlite", "duckdb"} and not Path(place).is_file():  # or an empty one would be made
            raise ValueError(f"there is no database file {place}")
        try:
            return ibis.connect(self.file).table(self.table)
        except Exception as error:  # noqa: BLE001 - each engine has errors of its own
            raise ValueError(
                f"{self.table!r} cannot be read from {scheme}: {type(error).__name__}: {str(error).splitlines()[0]}"
            ) from None
