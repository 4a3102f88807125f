"""The input options, declared once: `tally`, `regress`, `associate`, `explain` and the command line make these values.

`Columns` names the columns, `Reading` describes how a file was written and how its values are read, `Sample` describes
the sampling design. The help of a command is made from their fields, so this module needs nothing of the library.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# What a keyword of Python accepts; the command line reads it from one word, or from several.
Columnar: TypeAlias = Any  # the name of a column; beside arrays, an array
Columnars: TypeAlias = Any  # one or several of these; an array or a mapping of names to arrays beside arrays
NumberOrColumn: TypeAlias = Any  # a number, or a column that holds it
Codes: TypeAlias = Any  # texts or numbers
Conditions: TypeAlias = Any  # values by column

JACKKNIFE = "jackknife"  # in the place of columns of replicate weights
WHOLE_NUMBER = re.compile("0|-?[1-9][0-9]*")  # in digits


@dataclass(frozen=True)
class Columns:
    """Names of columns; see `warner.tally`."""

    question: str | None = None
    column: str | None = None
    by: Columnars = None
    where: Conditions = None
    weights: Columnar = None
    counts: Columnar = None

    def __post_init__(self) -> None:
        if self.weights is not None and self.counts is not None:
            raise TypeError("give weights (sampling weights of rows) or counts (frequencies of rows), not both")

    @property
    def groups(self) -> tuple[str, ...]:
        return (self.by,) if isinstance(self.by, str) else tuple(self.by or ())

    @property
    def rows(self) -> Mapping[str, Any]:
        """Required values by column."""
        return self.where or {}


@dataclass(frozen=True)
class Reading:
    """Format of files of other programs, and interpretation of their values; an encoding of None is UTF-8 or stated."""

    unknown: str = "error"
    missing: Codes = ()
    sheet: str | None = None
    encoding: str | None = None
    decimal: str = "."
    codes: bool = False
    keep: bool = False
    skip_bad_files: bool = False

    def __post_init__(self) -> None:
        if self.unknown not in {"error", "drop"}:
            raise ValueError(f'unknown must be "error" or "drop", but got {self.unknown!r}')
        if self.decimal not in {".", ","}:
            raise ValueError(f'decimal must be "." or ",", but got {self.decimal!r}')
        if self.sheet is not None and not isinstance(self.sheet, str):
            raise TypeError(f"sheet must be the name of a sheet, a text, but got {self.sheet!r}")
        object.__setattr__(self, "encoding", _codec(self.encoding))
        object.__setattr__(self, "missing", _written_codes(self.missing))

    @property
    def drop(self) -> bool:
        return self.unknown == "drop"

    @property
    def of_files(self) -> bool:
        """Return True if an option applies to files only."""
        return self.skip_bad_files or not self._default_format

    @property
    def plain(self) -> bool:
        """Return True if files are read as warner writes them."""
        return not self.missing and self._default_format

    @property
    def _default_format(self) -> bool:
        return (self.encoding, self.decimal, self.sheet) == (None, ".", None)

    @property
    def spellings(self) -> tuple[str, ...]:
        """Codes as a text file may contain them: 9 also as 9.0."""
        return (*self.missing, *(f"{code}.0" for code in self.missing if WHOLE_NUMBER.fullmatch(code)))


@dataclass(frozen=True)
class Sample:
    """Sampling design besides weights; see `warner.tally`."""

    strata: Columnar = None
    clusters: Columnar = None
    sampled: NumberOrColumn = None
    whole: bool = False
    replicates: Columnar = None
    scale: float | None = None
    replicate_clusters: int | None = None

    @property
    def is_complex(self) -> bool:
        return any(part is not None for part in (self.strata, self.clusters, self.sampled, self.replicates))

    @property
    def replicated(self) -> bool:
        """Return True if replicate weights are in columns."""
        return self.replicates is not None and not self.jackknife

    @property
    def jackknife(self) -> bool:
        return isinstance(self.replicates, str) and self.replicates == JACKKNIFE


def grouped_keywords(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return keywords, with the input options among them as `columns`, `reading` and `sample`."""
    rest, values = dict(keywords), {}
    for name, kind in (("columns", Columns), ("reading", Reading), ("sample", Sample)):
        values[name] = kind(**{field: rest.pop(field) for field in kind.__dataclass_fields__ if field in rest})
    return rest | values


def as_label(value: object) -> str:
    """Write a value as a name: 1.0 is the name 1."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def written_code(code: str | float) -> str:
    """Return a code as in a text file, a whole number without a point."""
    text = as_label(code)
    return digits if WHOLE_NUMBER.fullmatch(digits := text.removesuffix(".0")) else text


def _written_codes(missing: str | float | Iterable[Any]) -> tuple[str, ...]:
    codes = [missing] if isinstance(missing, str | int | float) else list(missing)
    strange = [code for code in codes if isinstance(code, bool) or not isinstance(code, str | int | float)]
    if strange:
        raise TypeError(f"missing must hold texts or numbers, but got {strange[0]!r}")
    return tuple(dict.fromkeys(map(written_code, codes)))


def _codec(encoding: str | None) -> str | None:
    try:
        "".encode(encoding or "utf-8")  # which rejects rot13 and base64: they are no encodings of texts
        known = codecs.lookup(encoding or "utf-8").name
    except (LookupError, UnicodeError):
        raise ValueError(
            f"encoding must be one of text that Python knows, such as cp1252, latin-1 or utf-16, but got {encoding!r}"
        ) from None
    return None if known in {"utf-8", "utf-8-sig"} else known


SIMPLE, PLAIN, ALL_COLUMNS = Sample(), Reading(), Columns()


class Input(NamedTuple):
    """The input options of one entry point."""

    columns: Columns = ALL_COLUMNS
    reading: Reading = PLAIN
    sample: Sample = SIMPLE

    def keeping(self, keep: bool) -> Input:
        return self._replace(reading=replace(self.reading, keep=keep))
