"""Sources of reports on the command line: files, pipes, tables of databases, surveys and saved tallies."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warner.cli.options import DesignGiven, Origin
from warner.designs import SEVERAL, Design, OpenDomain, RandomizedResponse, listed_design, load_design
from warner.documents import is_pipe, named_as_given, resolved
from warner.reports.counting import is_survey, tallied, tallied_open
from warner.reports.files import DUCKDB, PIPED, REMOTE, SQLITE, Files, Head, standard_input
from warner.reports.open_tallies import FORMAT as OPEN_FORMAT
from warner.reports.open_tallies import OpenTally
from warner.reports.options import Columns, Input
from warner.reports.tallies import FORMAT, POOL_FORMAT, Pool, Tally, pool
from warner.text import not_installed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from warner.cli import commands


ONE_TABLE = Origin()
NO_LIST = (
    "which has no list of answers: warner discover finds its frequent values; for answers that are known, "
    "warner design ANSWER..."
)
NOT_FIXED = "the number of responses to this survey was not fixed beforehand"


def open_design(options: DesignGiven) -> OpenDomain | None:
    """Read the design of an open domain; None for any other design."""
    if not options.design or len(options.named) > 1 or any(part is not None for part in options.parts):
        return None
    design = load_design(options.files[0])
    return design if isinstance(design, OpenDomain) else None


def design_of(options: DesignGiven) -> Design | dict[str, Design]:
    """Read the design files, or construct the randomized response."""
    if options.design:
        if any(part is not None for part in options.parts):
            raise ValueError(
                "give a design file, or its parts (--domain with --epsilon, --truth, --redraw or --odds), not both"
            )
        if list(options.named) == [""] and (design := load_design(options.files[0])).mechanism in SEVERAL:
            return design  # type: ignore[no-any-return]  # its reports are counted question by question
        designs = {name: listed_design_in(file) for name, file in options.named.items()}
        return designs.get("", designs)
    if options.domain is None:
        raise ValueError(
            "give --design, or --domain with --epsilon: the possible answers must be known beforehand, because "
            "answers without any report count as well"
        )
    labels = [label.strip() for label in options.domain.split(",")]
    return RandomizedResponse(
        labels, epsilon=options.epsilon, truth=options.truth, redraw=options.redraw, odds=options.odds
    )


def listed_design_in(file: str | Path, column: str | None = None) -> Design:
    """Read a design with a list of answers, or that of a column of a split questionnaire; errors name the commands."""
    design = load_design(file)
    if isinstance(design, OpenDomain):
        raise ValueError(f"{file} is an open domain, {NO_LIST} --open {file} makes their design")
    return listed_design(design.designs.get(column, design) if design.mechanism in SEVERAL else design)


@dataclass(frozen=True)
class Source:
    """Files of reports with the options of reading."""

    files: Sequence[str]
    options: Input
    origin: Origin = ONE_TABLE

    @classmethod
    def of(cls, options: commands.Reports) -> Source:
        """Return the source that these options of a command describe."""
        return cls(options.files, Input(options.columns, options.reading, options.sample), options.origin)

    @cached_property
    def piped(self) -> bool:
        """True if a file is a pipe, which can be read only once."""
        return any(file == "-" or is_pipe(Path(file)) for file in self.files)

    @cached_property
    def inspected(self) -> Any:
        """The inspected files of a single source, or the URL of a database."""
        (file,) = self.files
        return file if "://" in file and not REMOTE.match(file) else Files.at(file)

    @cached_property
    def of_survey(self) -> bool:
        if self.options.columns.question is not None:
            return True
        alone = len(self.files) == 1 and self.origin.table is None and self.files[0] != "-"
        return alone and is_survey(self.inspected)

    @property
    def optional_stopping(self) -> bool:
        """True for a survey that does not fix its number of responses, so that stopping may depend on the results."""
        if not self.of_survey:
            return False
        from warner.service.exports import is_fixed

        return not is_fixed(self.files[0])

    @property
    def lost(self) -> str:
        """Sentences on the loss by drawing questions of a survey; empty for other sources."""
        if not self.of_survey:
            return ""
        from warner.service.exports import lost

        return lost(self.files[0], self.options.columns.question)

    def open_tally(self, given: DesignGiven) -> OpenTally | None:
        """Count reports of an open domain, or add up saved tallies of one; None for any other design."""
        design = open_design(given)
        if design is None and (self.piped or given.is_given):  # a pipe can be read only once
            return None
        if self.of_survey:
            from warner.service.exports import is_open_question

            is_open = is_open_question(self.files[0], self.options.columns.question)
            return tallied_open(self.files[0], design, self.options) if is_open else None
        with self.opened() as reports:
            if saved := saved_in(reports, {OPEN_FORMAT}):
                self.refuse_reading(saved)
                tallies = [OpenTally.load(file) for file in saved]
                if design is not None and any(one.design != design for one in tallies):
                    raise ValueError(f"--design must be left out for {saved[0]}, a tally, which has its own")
                parts = [coarsened(one, self.options.columns, file) for one, file in zip(tallies, saved, strict=True)]
                added: OpenTally = rolled_up(sum(parts[1:], parts[0]), self.options.columns)
                return added
            return None if design is None else tallied_open(reports, design, self.options)

    @contextmanager
    def tallied(self, given: DesignGiven, *, keep: bool = False) -> Iterator[Tally | Pool]:
        """Count the reports, and `keep` them while the tally is in use; or read saved tallies."""
        if self.options.columns.question is not None and self.origin.table is not None:
            raise ValueError("give --question, for the database of a survey, or --table, for one of reports, not both")
        with self.opened() as reports:
            if saved := saved_in(reports, {OPEN_FORMAT}):
                yield self._count_listed(saved, given)
                return
            if saved := saved_in(reports):
                if given.is_given and not given.design and given.domain is None:
                    raise ValueError(
                        f"--epsilon, --truth, --redraw and --odds must be left out for {saved[0]}, a tally, which has "
                        "its own design"
                    )
                design = design_of(given) if given.is_given else None
                if isinstance(design, dict):
                    raise ValueError(f"--design must be left out for {saved[0]}, a tally, which has its own")
                yield merged(saved, self, design)
                return
            design = design_of(given) if given.is_given or not self.of_survey else None
            yield tallied(reports, design, self.options.keeping(keep and not self.of_survey))  # surveys keep counts

    def _count_listed(self, saved: Sequence[Path], given: DesignGiven) -> Tally:
        """Count the saved reports of an open domain under the design of a list of answers."""
        counted = self.open_tally(DesignGiven())
        assert counted is not None
        if not given.design:
            raise ValueError(f"{saved[0]} holds reports of an open domain, {NO_LIST} --open makes their design")
        design = design_of(given)
        if isinstance(design, dict):
            raise ValueError(f"give one --design for {saved[0]}, the list of answers to look up")
        return counted.under(design)

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Open the files, the table of a database, or the database of a survey."""
        if len(self.files) > 1 and (self.options.columns.question is not None or self.origin.table is not None):
            raise ValueError(f"a database must be given alone, but got {len(self.files)} files")
        alone = len(self.files) == 1 and not self.piped
        if self.of_survey:
            yield self.files[0]
        elif self.origin.table is not None or (alone and isinstance(self.inspected, str)):
            yield database_table(self.files[0], self.origin.table)
        elif self.piped:
            with ExitStack() as stack:
                yield Files.at([stack.enter_context(self._spool(file)) for file in self.files])
        else:
            yield self.inspected if alone else Files.at([Path(file) for file in self.files])

    def refuse_reading(self, saved: Sequence[Path]) -> None:
        """Raise an error for options of reading reports, or for a saved tally that is given twice."""
        columns = self.options.columns
        options = {"--column": columns.column, "--weights": columns.weights, "--counts": columns.counts}
        options |= {f"--{name.replace('_', '-')}": value or None for name, value in vars(self.options.sample).items()}
        for option, value in options.items():
            if value is not None:
                raise ValueError(
                    f"{option} must be left out for {saved[0]}, a tally, whose reports are counted already"
                )
        if not self.options.reading.plain or self.options.reading.skip_bad_files:
            raise ValueError(
                "--encoding, --decimal, --missing, --sheet and --skip-bad-files must be left out for "
                f"{saved[0]}, a tally"
            )
        if len({resolved(file) for file in saved}) < len(saved):
            raise ValueError("each tally must be given once, or its reports would be counted twice")

    @contextmanager
    def _spool(self, file: str) -> Iterator[Path]:
        """Copy a pipe to a temporary file, because engines read reports more than once."""
        if file != "-" and not is_pipe(Path(file)):
            yield Path(file)
            return
        if self.origin.input_format not in PIPED:
            raise ValueError(
                f"--format must be {', '.join(PIPED[:-1])} or {PIPED[-1]}, but got {self.origin.input_format!r}"
            )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"standard input.{self.origin.input_format}"
            with path.open("wb") as spool:
                if file == "-":
                    shutil.copyfileobj(standard_input(), spool)
                else:
                    with Path(file).open("rb") as pipe:
                        shutil.copyfileobj(pipe, spool)
            with named_as_given({str(path): "standard input" if file == "-" else file}):
                yield path


# Saved tallies


def saved_in(reports: Any, formats: Collection[str] = (FORMAT, POOL_FORMAT)) -> list[Path]:
    """Return the saved tallies among the files: all of the files, or none."""
    heads = reports.heads if isinstance(reports, Files) else ()
    saved = [Path(head.file) for head in heads if head.document in formats]
    if saved and len(saved) < len(heads):
        other = next(head.file for head in heads if Path(head.file) not in saved)
        raise ValueError(
            f"tallies and reports must not be mixed, but {saved[0]} is a tally and {other} is not; count the reports "
            "first, with warner tally, and give both tallies"
        )
    return saved


def merged(saved: Sequence[Path], source: Source, design: Design | None) -> Tally | Pool:
    """Read, roll up and add up saved tallies; raise an error for options of reading reports."""
    source.refuse_reading(saved)
    tallies = []
    for file in saved:
        tally = Tally.load(file)
        for part in tally.parts:
            if design is not None and part.design != design:
                raise ValueError(f"the design of {file} must be the one that is given, but it is {part.design!r}")
        tallies.append(coarsened(tally, source.options.columns, file))
    added = tallies[0] if len(tallies) == 1 else pool(part for counted in tallies for part in counted.parts)
    result: Tally | Pool = rolled_up(added, source.options.columns)
    return result


def coarsened(tally: Any, columns: Columns, file: Path) -> Any:
    """Add up the groups of a saved tally, as far as --by and --where do not distinguish them."""
    for option, names in (("--by", columns.groups), ("--where", columns.rows)):
        missing = [name for name in names if name not in tally.by]
        if missing:
            grouped = f"is grouped by {', '.join(tally.by)}, not by {missing[0]}" if tally.by else "has no groups"
            raise ValueError(f"{option} must name groups of the tally, but {file} {grouped}; count the reports again")
    return tally.aggregate(dict.fromkeys((*columns.groups, *columns.rows))) if columns.by else tally


def rolled_up(tally: Any, columns: Columns) -> Any:
    """Return the groups that --where selects, added up by --by."""
    selected = tally.filter(**columns.rows) if columns.rows else tally
    return selected.aggregate(columns.groups) if columns.by else selected


# Tables of databases


def database_table(url: str, table: str | None) -> Any:
    """Open a table for reading with Ibis."""
    if table is None:
        raise ValueError("--table must name the table of the database")
    scheme, slashes, file = url.partition("://")
    if not slashes:
        scheme, file = _engine(url), url
    if scheme in {"sqlite", "duckdb"} and not Path(file).is_file():  # the library would create an empty file
        raise ValueError(f"there is no database file {file}")
    try:
        import ibis
    except ImportError:
        raise ImportError(not_installed("a table of a database needs Ibis", "sql")) from None
    try:
        if slashes:
            return ibis.connect(url).table(table)
        database = ibis.duckdb.connect(file, read_only=True) if scheme == "duckdb" else ibis.sqlite.connect(file)
        return database.table(table)
    except Exception as error:  # noqa: BLE001 - each engine has its own errors
        raise ValueError(
            f"{table!r} cannot be read from {scheme}: {type(error).__name__}: {str(error).splitlines()[0]}"
        ) from None


def _engine(file: str) -> str:
    """Return the engine of a database file by its first bytes."""
    if not Path(file).is_file():
        raise FileNotFoundError(f"there is no file {file}")
    kind = Head.of(file).kind
    if kind not in {SQLITE, DUCKDB}:
        raise ValueError(
            f"--table is for a table of a database, but {file} is not a DuckDB or SQLite file; leave it out"
        )
    return kind.lower()
