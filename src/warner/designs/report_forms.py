"""Report forms: representations of a report in a column: a label, a whole number, bits, or a hash.

Values are looked up by value *and* type (`labels`); others are missing or outside of the possible reports.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from warner.arrays import Counts, Dtype, Integers, Mask, objects
from warner.designs.bits import packed_column, sizes
from warner.designs.exact import TOTAL_LIMIT
from warner.designs.labels import (
    MISSING,
    OUTSIDE,
    Labels,
    from_text,
    is_missing,
    labelled,
    positions,
    texts_as_numbers,
    whole_numbers,
)
from warner.text import counted

if TYPE_CHECKING:
    from warner.designs.open_domain import OpenForm


class Read(NamedTuple):
    """Reports as codes, a row for each value, and the status of each: 0 for a report, or `MISSING`, or `OUTSIDE`."""

    reports: Counts
    status: Integers


def all_reports(status: Integers) -> bool:
    """Return True if every value is a report; a status with stride 0 holds for all of them."""
    return not (status[:1] if status.strides == (0,) else status).any()


@dataclass(frozen=True)
class LabelForm:
    """Reports that are labels; whole numbers of hashed reports are labels too."""

    labels: Labels
    of_answers: bool = True  # whether these labels are answers, and not numbers of something else
    width: ClassVar[int] = 8  # bytes of a report in memory

    @property
    def holds(self) -> str:
        return "integers" if isinstance(self.labels[0], int) else "strings"

    @cached_property
    def numbers(self) -> Labels | None:
        """Labels as whole numbers, if they are, or are texts of these: 1, "1" and 1.0 are then the same code."""
        return whole_numbers(self.labels)

    @property
    def kinds(self) -> int | None:
        """Number of different reports; None if it is too large to detect a wrong column."""
        return len(self.labels)

    @property
    def bits(self) -> float:
        """Size of a report in bits."""
        return math.log2(len(self.labels))

    @property
    def rule(self) -> str:
        """Rule that reports obey, for errors."""
        return "in the domain" if self.of_answers else f"whole numbers from 0 to {len(self.labels) - 1:,}"

    @property
    def remedy(self) -> str:
        """Advice about invalid reports, for errors."""
        if self.of_answers:
            return "Add these values to the domain if they were possible answers"
        return CodedForm.remedy

    def possible(self, *, text: bool, codes: bool) -> Any:
        """Return the possible values of a column; a range means numbers in digits."""
        values = range(len(self.labels)) if codes else self.labels if text or self.numbers is None else self.numbers
        return [str(value) for value in values] if text and not isinstance(values, range) else values

    def read(self, values: Any, *, text: bool = False, codes: bool = False) -> Read:
        """Look values up; with `codes` they are positions, with `text` integers are in digits."""
        labels = self.labels if codes or self.numbers is None else self.numbers
        if text:
            given = from_text(values, labels, codes=codes)
        else:
            given = values if codes or self.numbers is None else texts_as_numbers(values, labels)
        indices = positions(given, labels, codes=codes, what="reports").ravel()
        if indices.min(initial=0) >= 0:
            return Read(indices, np.broadcast_to(np.int64(0), indices.shape))
        return Read(indices, np.minimum(indices, 0))

    def written(self, reports: Integers, *, like: Dtype | None = None, into: str = "csv") -> Counts:
        """Return the labels of these reports, as an array of the type of `like` if that can hold them."""
        return labelled(reports, self.labels, like)

    @property
    def digits(self) -> int:
        """Number of decimal digits of a report's code."""
        return len(str(len(self.labels) - 1))

    def length(self, digits: int) -> int:
        """Return the number of characters of `padded`."""
        return digits

    def padded(self, report: Any, digits: int) -> str:
        """Format the code of one report in this number of digits: all reports have one length."""
        return f"{int(report):0{digits}}"

    def unpadded(self, text: str, digits: int) -> int | None:
        """Read the result of `padded`; None for anything else."""
        if len(text) != digits or not (text.isascii() and text.isdigit()) or int(text) >= len(self.labels):
            return None
        return int(text)


class CodedForm:
    """Base of forms whose reports are no labels, and too many to list."""

    labels: ClassVar[None] = None
    numbers: ClassVar[None] = None
    kinds: ClassVar[None] = None
    digits: ClassVar[int] = 0  # a report has a length of its own
    remedy: ClassVar[str] = "Check that this is the design that they went through"

    def possible(self, *, text: bool, codes: bool) -> Any:
        raise ValueError("there are too many possible reports to list")


@dataclass(frozen=True)
class BitForm(CodedForm):
    """Reports that are sets of answers, a bit for each: answer i in byte i // 8, under the mask 0x80 >> (i % 8).

    As text they are lower-case hexadecimal, two digits a byte; spare bits of the last byte are 0. Where every set has
    the same size, `ones` says so, and reports of another size are none.
    """

    k: int
    ones: int | None = None
    holds: ClassVar[str] = "bits"

    @property
    def bits(self) -> float:
        """Size of a report in bits: one for each answer, or log2 of the number of sets of this size."""
        if self.ones is None:
            return float(self.k)
        among = math.lgamma(self.k + 1) - math.lgamma(self.ones + 1) - math.lgamma(self.k - self.ones + 1)
        return among / math.log(2)

    @property
    def rule(self) -> str:
        spare = f" (the last {counted(self._spare, 'bit', 'bits')} 0)" if self._spare else ""
        size = "" if self.ones is None else f" with {counted(self.ones, 'bit', 'bits')} set"
        return f"{counted(self.width, 'byte', 'bytes')} in lower-case hexadecimal{spare}{size}"

    @property
    def width(self) -> int:
        """Number of bytes of a report."""
        return -(-self.k // 8)

    @property
    def _spare(self) -> int:
        return -self.k % 8

    def read(self, values: Any, *, text: bool = False, codes: bool = False) -> Read:
        """Read hexadecimal strings or bytes; with `codes`, rows of packed bytes (uint8)."""
        if codes:
            rows = np.asarray(values, dtype=np.uint8 if len(values) == 0 else None)
            rows = rows.reshape(-1, self.width) if rows.shape[-1:] == (self.width,) or not rows.size else rows
            if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != self.width:
                raise TypeError(
                    f"reports must be rows of {self.width} packed bytes (uint8), but got shape {rows.shape} of "
                    f"{rows.dtype}"
                )
            status = np.broadcast_to(np.int64(0), len(rows))
        else:
            rows, known, missing = packed_column(values, self.width)
            status = np.broadcast_to(np.int64(0), len(rows))
            if not known.all():
                status = np.where(known, 0, np.where(missing, MISSING, OUTSIDE))
        wrong = self._wrong(rows)
        if wrong is None or not wrong.any():
            return Read(rows, status)
        return Read(rows, np.where((status == 0) & wrong, OUTSIDE, status))

    def _wrong(self, rows: Counts) -> Mask | None:
        """Return True for each row of bits that is no report; None if every row is a report."""
        if not self._spare and self.ones is None:
            return None
        wrong = np.asarray((rows[:, -1] & (2**self._spare - 1)) != 0)
        return wrong if self.ones is None else wrong | (sizes(rows) != self.ones)

    def written(self, reports: Counts, *, like: Dtype | None = None, into: str = "csv") -> Counts:
        """Return hexadecimal strings for rows of packed bytes; for a Parquet file, bytes."""
        rows = [row.tobytes() for row in reports]
        if into == "parquet":
            return objects(rows)
        return np.array([row.hex() for row in rows], dtype=_strings_like(like))

    def length(self, digits: int) -> int:
        return 2 * self.width

    def padded(self, report: Any, digits: int) -> str:
        return np.asarray(report, dtype=np.uint8).tobytes().hex()

    def unpadded(self, text: str, digits: int) -> Counts | None:
        return _only(self.read([text]))


@dataclass(frozen=True)
class AskedBitForm(BitForm):
    """Reports of bits for `ones` of the answers: one row of bits marks the covered answers, another has their bits."""

    @property
    def bits(self) -> float:
        assert self.ones is not None
        return super().bits + self.ones

    @property
    def rule(self) -> str:
        assert self.ones is not None
        half = counted(self.width // 2, "byte", "bytes")
        asked = counted(self.ones, "answer", "answers")
        return f"{half} and {half} in lower-case hexadecimal: the {asked} asked about, and those whose bit is 1"

    @property
    def width(self) -> int:
        return 2 * super().width

    def _wrong(self, rows: Counts) -> Mask:
        asked, bits = np.hsplit(rows, 2)
        return np.asarray(super()._wrong(asked) | (bits & ~asked).any(axis=1))


@dataclass(frozen=True)
class HashForm(CodedForm):
    """Reports of a hash function modulo a prime and its value: three whole numbers, alpha, beta and the value.

    As text they are written with colons, such as 12:0:3. Lists of three whole numbers, and rows of an array, are read
    as well.
    """

    prime: int
    values: int
    holds: ClassVar[str] = "hashes"
    width: ClassVar[int] = 24  # bytes of a report in memory

    @property
    def bits(self) -> float:
        return math.log2(self.prime * (self.prime - 1) * self.values)

    @property
    def rule(self) -> str:
        return (
            f"alpha:beta:value with alpha from 1 and beta from 0 to {self.prime - 1}, and value from 0 to "
            f"{self.values - 1}"
        )

    def read(self, values: Any, *, text: bool = False, codes: bool = False) -> Read:
        """Read strings or lists of three numbers; with `codes`, an array of rows of three."""
        array = np.asarray(values) if codes or isinstance(values, np.ndarray) else None
        if array is not None and array.ndim == 2 and array.shape[1] == 3 and array.dtype.kind in "iu":
            wide = np.minimum(array, TOTAL_LIMIT).astype(np.int64)  # what is larger is no report
            return Read(wide, np.where(self._known(wide), 0, OUTSIDE))
        if codes and len(values):
            got = np.asarray(values)
            raise TypeError(f"reports must be rows of three whole numbers, but got shape {got.shape} of {got.dtype}")
        if hasattr(values, "to_pylist"):  # a column of Arrow
            values = values.to_pylist()
        given = values.ravel().tolist() if isinstance(values, np.ndarray) else list(values)
        parts = [_three_numbers(value) for value in given]
        rows = np.array([(0, 0, 0) if part is None else part for part in parts], dtype=np.int64).reshape(-1, 3)
        missing = np.array([is_missing(value) for value in given], dtype=bool)
        return Read(rows, np.where(self._known(rows), 0, np.where(missing, MISSING, OUTSIDE)))

    def _known(self, rows: Integers) -> Counts:
        below = rows < [self.prime, self.prime, self.values]
        return np.asarray((rows >= [1, 0, 0]).all(axis=1) & below.all(axis=1))

    def written(self, reports: Counts, *, like: Dtype | None = None, into: str = "csv") -> Counts:
        """Return strings for rows of three numbers; for JSON or a Parquet file, lists."""
        if into in {"json", "parquet"}:
            return objects(reports.tolist())
        return np.array([":".join(map(str, row)) for row in reports.tolist()], dtype=_strings_like(like))

    @property
    def _digits(self) -> tuple[int, int, int]:
        return len(str(self.prime - 1)), len(str(self.prime - 1)), len(str(self.values - 1))

    def length(self, digits: int) -> int:
        return sum(self._digits) + 2

    def padded(self, report: Any, digits: int) -> str:
        return ":".join(f"{number:0{wide}}" for number, wide in zip(report, self._digits, strict=True))

    def unpadded(self, text: str, digits: int) -> Counts | None:
        parts = text.split(":")
        right = all(part.isascii() and part.isdigit() for part in parts)
        if not right or tuple(len(part) for part in parts) != self._digits:
            return None
        return _only(self.read([":".join(str(int(part)) for part in parts)]))


def _only(read: Read) -> Counts | None:
    """Return the single report that was read; None if it is invalid."""
    return np.asarray(read.reports[0]) if all_reports(read.status) else None


def _strings_like(like: Dtype | None) -> Any:
    """Return the type of `like` if it holds strings of any length, else that of NumPy's strings."""
    return like if like is not None and like.kind in "OT" else np.str_


def _three_numbers(value: object) -> tuple[int, ...] | None:
    """Read alpha:beta:value in canonical form, or a sequence of three whole numbers; None for anything else."""
    if isinstance(value, str):
        parts = value.split(":")
        if not all(part.isascii() and part.isdecimal() and str(int(part[:20])) == part for part in parts):
            return None
        numbers: Any = tuple(map(int, parts))
    else:
        numbers = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(numbers, list | tuple) or len(numbers) != 3:
        return None
    whole = all(isinstance(number, int | np.integer) and not isinstance(number, bool) for number in numbers)
    # What is too large for 64 bits is no report in any case.
    return tuple(max(-1, min(int(number), TOTAL_LIMIT)) for number in numbers) if whole else None


Form: TypeAlias = "LabelForm | BitForm | HashForm | OpenForm"
