"""How a report of an open domain is written in a column: level:direction:value, and read back.

The direction is a row of digits in base g, those of as many blocks as the level says. In memory it is one whole number
for each block; in a column, one for all of them, the first digits most significant, in hexadecimal. All reports of one
level have the same length, so that a report's length tells its level and nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from warner.designs.labels import MISSING, OUTSIDE, is_missing
from warner.designs.report_forms import Read

if TYPE_CHECKING:
    from warner.arrays import Counts, Dtype, Integers


@dataclass(frozen=True)
class OpenForm:
    """Reports of a level, a direction and the value of a hash, such as 2:01f:1.

    In memory a report is a row of whole numbers: the level from 1 on, the direction of each block (0 beyond the
    level), and the value.

    Attributes
    ----------
    field : int
        The number g of values of the hash.
    block_digits : tuple of int
        The digits of each block in base g.
    """

    field: int
    block_digits: tuple[int, ...]
    holds: ClassVar[str] = "open hashes"
    labels: ClassVar[None] = None  # reports are none
    kinds: ClassVar[None] = None  # nearly all reports differ

    @property
    def levels(self) -> int:
        """The number of levels."""
        return len(self.block_digits)

    @property
    def width(self) -> int:
        """The bytes of a report in memory."""
        return 8 * (self.levels + 2)

    @cached_property
    def points(self) -> tuple[int, ...]:
        """How many directions a block can have: g to the number of its digits."""
        return tuple(self.field**places for places in self.block_digits)

    @cached_property
    def _directions(self) -> tuple[int, ...]:
        """How many directions each level has."""
        return tuple(accumulate(self.points, lambda x, y: x * y))

    @property
    def bits(self) -> float:
        """The bits that tell one report from all others."""
        return math.log2(sum(self.field * number for number in self._directions))

    @property
    def rule(self) -> str:
        """What reports must be, for an error."""
        return (
            f"level:direction:value with a level from 1 to {self.levels}, a direction in lower-case hexadecimal and a "
            f"value from 0 to {self.field - 1}"
        )

    @property
    def remedy(self) -> str:
        """What to do about values that are no reports."""
        return "Check that this is the design that they went through"

    def possible(self, *, text: bool, codes: bool) -> Any:
        """Refuse: there are too many reports to list."""
        raise ValueError("there are too many reports to list")

    @cached_property
    def _lengths(self) -> tuple[int, list[int], int]:
        """The characters of level, direction (at each level) and value."""
        hexadecimal = [len(f"{number - 1:x}") for number in self._directions]
        return len(str(self.levels)), hexadecimal, len(str(self.field - 1))

    def read(self, values: Any, *, text: bool = False, codes: bool = False) -> Read:
        """Read texts, or their bytes; with `codes`, an array of rows of whole numbers."""
        if codes and len(values):
            rows = np.asarray(values)
            if rows.ndim != 2 or rows.shape[1] != self.levels + 2 or rows.dtype.kind not in "iu":
                got = f"shape {rows.shape} of {rows.dtype}"
                raise TypeError(f"reports must be rows of {self.levels + 2} whole numbers, but got {got}")
            rows = rows.astype(np.int64)  # what is larger becomes negative, and is no report
            return Read(rows, np.where(self.known(rows), 0, OUTSIDE))
        if hasattr(values, "to_pylist"):  # a column of Arrow
            values = values.to_pylist()
        given = values.ravel().tolist() if isinstance(values, np.ndarray) else list(values)
        rows = np.zeros((len(given), self.levels + 2), dtype=np.int64)
        status = np.zeros(len(given), dtype=np.int64)
        for place, value in enumerate(given):
            row = self._row(value)
            if row is None:
                status[place] = MISSING if is_missing(value) else OUTSIDE
            else:
                rows[place] = row
        return Read(rows, status)

    def _row(self, value: Any) -> list[int] | None:
        """Read one report; None for anything else."""
        if isinstance(value, bytes | bytearray):
            value = value.decode("ascii", errors="replace")
        if not isinstance(value, str):
            return None
        first, _, rest = value.partition(":")
        direction, _, last = rest.partition(":")
        wide, lengths, narrow = self._lengths
        if not (_is_number(first, wide) and _is_number(last, narrow) and 1 <= int(first) <= self.levels):
            return None
        level, s = int(first), int(last)
        if len(direction) != lengths[level - 1] or not set(direction) <= set("0123456789abcdef"):
            return None
        number = int(direction, 16)
        if s >= self.field or number >= self._directions[level - 1]:
            return None
        row = [0] * (self.levels + 2)
        for place in range(level, 1, -1):
            number, row[place] = divmod(number, self.points[place - 1])
        row[0], row[1], row[-1] = level, number, s
        return row

    def known(self, rows: Counts) -> Counts:
        """Tell which rows of whole numbers are reports."""
        level = rows[:, 0]
        right = (level >= 1) & (level <= self.levels) & (rows[:, -1] >= 0) & (rows[:, -1] < self.field)
        for place, points in enumerate(self.points, start=1):
            below = np.where(level >= place, points, 1)
            right &= (rows[:, place] >= 0) & (rows[:, place] < below)
        return np.asarray(right)

    def written(self, reports: Integers, *, like: Dtype | None = None, into: str = "csv") -> Counts:
        """Give texts for rows of whole numbers."""
        kind: Any = like if like is not None and like.kind in "OT" else np.str_
        return np.array([self._text(row) for row in reports.tolist()], dtype=kind)

    def _text(self, row: list[int]) -> str:
        level, number = row[0], row[1]
        for place in range(2, level + 1):
            number = number * self.points[place - 1] + row[place]
        wide, lengths, narrow = self._lengths
        return f"{level:0{wide}}:{number:0{lengths[level - 1]}x}:{row[-1]:0{narrow}}"

    digits: ClassVar[int] = 0  # its numbers have digits of their own

    def length(self, digits: int) -> int:
        """Give the characters of what `padded` gives: those of the longest report."""
        wide, lengths, narrow = self._lengths
        return wide + lengths[-1] + narrow + 2

    def padded(self, report: Any, digits: int) -> str:
        """Write one report, with spaces at its end: all that are sent have one length."""
        return self._text(list(map(int, report))).ljust(self.length(digits))

    def unpadded(self, text: str, digits: int) -> Counts | None:
        """Read what `padded` gave; None for anything else."""
        row = self._row(text.rstrip(" ")) if len(text) == self.length(digits) else None
        return None if row is None else np.array(row)


def _is_number(text: str, length: int) -> bool:
    return len(text) == length and text.isascii() and text.isdigit()
