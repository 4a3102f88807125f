"""Reports and their design, from the options that several commands share."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from warner.cli.databases import database_table
from warner.cli.merging import merged, saved_in
from warner.cli.options import Columns, DesignFiles, Domain, Epsilon, Odds, Reading, Redraw, Truth
from warner.designs import RandomizedResponse, load_listed_design
from warner.documents import is_pipe, named_as_given
from warner.reports.counting import is_survey, tally
from warner.reports.formats import PIPED
from warner.reports.paths import REMOTE, are_places, files_of, places_of
from warner.reports.queries import Table
from warner.reports.randomizing_files import standard_input

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.designs import Design
    from warner.reports.pools import Pool
    from warner.reports.tallies import Tally

NOT_FIXED = "the number of responses to this survey was not fixed beforehand"


class DesignGiven(NamedTuple):
    """Design files, or the answers of a randomized response and one of its parameters."""

    design_files: DesignFiles = None
    epsilon: Epsilon = None
    truth: Truth = None
    redraw: Redraw = None
    odds: Odds = None
    domain: Domain = None

    @property
    def named(self) -> dict[str, str]:
        """The files by the names of their designs; a single one may have none."""
        files = self.design_files or []
        if len(files) == 1 and ("=" not in files[0] or Path(files[0]).exists()):
            return {"": files[0]}
        return named_files(files)

    @property
    def files(self) -> list[str]:
        """The files themselves."""
        return list(self.named.values())

    def design(self) -> Design | dict[str, Design]:
        """Read the files, or make the randomized response."""
        files, *parts = self
        if files:
            if any(part is not None for part in parts):
                raise ValueError(
                    "give a design file, or its parts (--domain with --epsilon, --truth, --redraw or --odds), not both"
                )
            designs = {name: load_listed_design(file) for name, file in self.named.items()}
            return designs.get("", designs)
        if self.domain is None:
            raise ValueError(
                "give --design, or --domain with --epsilon: the possible answers must be known beforehand, because "
                "those that nobody happened to report count as well"
            )
        labels = [label.strip() for label in self.domain.split(",")]
        return RandomizedResponse(labels, epsilon=self.epsilon, truth=self.truth, redraw=self.redraw, odds=self.odds)


def named_files(given: list[str], by: str | None = None) -> dict[str, str]:
    """Read NAME=FILE for each design; NAME as in the column `by`, or in the first that --by names."""
    where = "with several designs" if by is None else "with --by"
    column = "first column of --by" if by is None else f"column {by!r}"
    files: dict[str, str] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            raise ValueError(f"{where}, --design must be NAME=FILE, NAME as in the {column}, but got {text!r}")
        if name in files:
            raise ValueError(f"--design must name each design once, but {name!r} is there twice")
        files[name] = path
    return files


class Source(NamedTuple):
    """Where reports are, and how they are to be read."""

    files: list[str]
    columns: Columns = Columns()
    reading: Reading = Reading()

    @property
    def of_survey(self) -> bool:
        """Whether this is the database of a survey, which has its own designs."""
        one = len(self.files) == 1 and self.reading.table is None
        return self.columns.question is not None or (
            one and not REMOTE.match(self.files[0]) and is_survey(self.files[0])
        )

    @property
    def chosen(self) -> bool:
        """Whether somebody may have chosen the number of reports by what they showed: in a survey that fixes none."""
        if not self.of_survey:
            return False
        from warner.service.published import is_fixed

        return not is_fixed(self.files[0])

    @contextmanager
    def tallied(self, given: DesignGiven, *, keep: bool = False) -> Iterator[Tally | Pool]:
        """Count the reports, and `keep` them as long as the tally is used; or read what was counted before."""
        if self.columns.question is not None and self.reading.table is not None:
            raise ValueError("give --question, for the database of a survey, or --table, for one of reports, not both")
        named = any(value is not None for value in given)
        dialect = self.reading.dialect
        with self.opened() as reports:
            if saved := saved_in(reports):
                design = given.design() if named else None
                if isinstance(design, dict):
                    raise ValueError(f"--design must be left out for {saved[0]}, a tally, which has its own")
                yield merged(saved, self, design)
                return
            if not named and are_places(reports) and not self.of_survey:
                files_of(places_of(reports))  # a file that is not there is the first thing to say
            design = given.design() if named or not self.of_survey else None
            yield tally(
                reports,
                design,
                question=self.columns.question,
                column=self.columns.column,
                by=self.columns.by or None,
                weights=self.columns.weights,
                counts=self.columns.counts,
                unknown=self.reading.unknown,
                keep=keep and not self.of_survey,  # which has counts alone
                encoding=None if dialect.encoding == "utf-8" else dialect.encoding,
                decimal=dialect.decimal,
                missing=dialect.missing,
                sheet=dialect.sheet,
                where=self.columns.chosen or None,
            )

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Give what holds the reports: a path, or several, a table of a database, or a pipe as a file of its own."""
        if len(self.files) > 1:
            if self.columns.question is not None or self.reading.table is not None:
                raise ValueError(f"a database must be given alone, but got {len(self.files)} files")
            with ExitStack() as stack:
                alone = (self._replace(files=[file]) for file in self.files)
                yield [Path(stack.enter_context(one.opened())) for one in alone]
            return
        (file,) = self.files
        if self.of_survey:
            yield file
        elif ("://" in file and not REMOTE.match(file)) or self.reading.table is not None:
            yield database_table(file, self.reading.table)
        elif file == "-":
            with self._spooled(standard_input(), "standard input") as path:
                yield path
        elif is_pipe(Path(file)):
            with Path(file).open("rb") as pipe, self._spooled(pipe, file) as path:
                yield path
        else:
            yield file

    @contextmanager
    def prepared(self) -> Iterator[Any]:
        """Give what holds the reports as if it had been written as warner would."""
        dialect = self.reading.dialect
        with self.opened() as reports:
            if dialect.plain:
                yield reports
            elif are_places(reports):
                with dialect.opened(reports) as source:
                    yield source
            else:
                yield dialect.applied(Table(reports))

    @contextmanager
    def _spooled(self, reports: BinaryIO, name: str) -> Iterator[Path]:
        """Hold what a pipe brings in a file for a moment, as reports may be: engines read it more than once."""
        if self.reading.input_format not in PIPED:
            raise ValueError(
                f"--format must be {', '.join(PIPED[:-1])} or {PIPED[-1]}, but got {self.reading.input_format!r}"
            )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"standard input.{self.reading.input_format}"
            with path.open("wb") as spool:
                shutil.copyfileobj(reports, spool)
            with named_as_given({str(path): name}):
                yield path
