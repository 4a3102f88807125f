r"""Texts and whole numbers as rows of blocks: the values of an open domain.

A value is a row of blocks :math:`x = (x_1, \ldots, x_G)`, each a whole number below :math:`B_l`. A search goes through
the blocks one after the other, and knows all that can follow.

A **text** is normalized, and written in symbols: the position in an alphabet from 1 on, or the bytes of UTF-8. Symbol 0
is its end, and fills the row. What cannot be written (too long, or with other characters) is *other*, which has a code
that no text has: an end, and then the symbol 1. A block of c symbols out of S is a whole number below :math:`S^c`, the
first symbol most significant. With the alphabet abc and blocks of two, "cab" is 3 1, 2 0 and so (13, 8).

A **whole number** below :math:`2^m` is cut into blocks of bits, the most significant first.
"""

from __future__ import annotations

import math
import re
import reprlib
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from warner.arrays import LARGEST_TOTAL, Integers, Mask
from warner.designs.labels import MISSING, OUTSIDE, is_missing, without_mask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.documents import Document


OTHER = "(other)"  # value for all texts that cannot be written
NORMALIZATIONS = ("NFKC", "lower", "spaces")
# The characters of Unicode's property White_Space: what Python and JavaScript take for white space differs.
WHITE_SPACE = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
LARGEST_BLOCK = 2**22  # values of a block: as many counts are held at once
MOST_LEVELS = 64
UTF8_SYMBOLS = 256  # symbols of a text in UTF-8, of which 0 is the end


class Coded(NamedTuple):
    """Values as blocks, of shape (values, levels), and the status of each: 0, `MISSING` or `OUTSIDE`."""

    blocks: Integers
    status: Integers


@dataclass(frozen=True)
class WholeNumbers:
    """Values that are whole numbers below 2^(sum of steps), such as identifiers; a step is a number of bits."""

    steps: tuple[int, ...]
    has_other: ClassVar[bool] = False
    rule: ClassVar[str] = "whole numbers in the range of the design"

    @property
    def block_sizes(self) -> tuple[int, ...]:
        """Number of values of each block."""
        return tuple(2**bits for bits in self.steps)

    @property
    def number(self) -> int:
        """Number of possible values."""
        return int(2 ** sum(self.steps))

    def encoded(self, values: Any) -> Coded:
        """Encode numbers, a list or an array, in blocks of bits."""
        bits, values = sum(self.steps), without_mask(values)
        array = np.asarray(values) if hasattr(values, "__array__") else None
        if array is not None and array.dtype.kind in "iu" and bits < 64:
            array = array.ravel()
            outside = (array < 0) | (array >= 2**bits) if array.dtype.kind == "i" else array >= np.uint64(2**bits)
            return Coded(self._blocks(np.where(outside, 0, array).astype(np.int64)), np.where(outside, OUTSIDE, 0))
        given = values if array is None else array.ravel().tolist()
        indices = [_checked_number(value, 2**bits) for value in given]
        rest = np.array([max(index, 0) for index in indices], dtype=np.int64 if bits < 64 else object)
        return Coded(self._blocks(rest), np.array([min(index, 0) for index in indices], dtype=np.int64))

    def _blocks(self, rest: Any) -> Integers:
        rows = np.empty((len(rest), len(self.steps)), dtype=np.int64)
        for level in reversed(range(len(self.steps))):
            rows[:, level] = rest & (2 ** self.steps[level] - 1)
            rest = rest >> self.steps[level]
        return rows

    def decoded(self, row: Sequence[int]) -> int | None:
        """Return the number of a row of blocks."""
        number = 0
        for block, bits in zip(row, self.steps, strict=True):
            number = number << bits | int(block)
        return number

    def continuations(self, level: int) -> Integers:
        """Return all blocks that can follow at this level, in ascending order."""
        return np.arange(self.block_sizes[level])

    def ended(self, level: int, blocks: Integers) -> Mask:
        """Return True for each block of a level with which a value ends before the last block."""
        return np.zeros(len(blocks), dtype=bool)

    def other_blocks(self) -> Integers | None:
        """Return the code of values that cannot be written; None if there are none."""
        return None

    def fields(self) -> Document:
        """Return the part of the design file that describes the values."""
        return {"kind": "number"}

    def described(self) -> str:
        """Return a description of the values, for messages."""
        return f"whole numbers below 2^{sum(self.steps)}"

    def units(self) -> str:
        """Return the plural name of the units of a step."""
        return "bits"

    def samples(self) -> list[int]:
        """Return a few values that differ as much as possible."""
        return sorted({0, self.number // 3, self.number - 1})


@dataclass(frozen=True)
class Texts:
    """Texts over an alphabet, or in the bytes of UTF-8 (alphabet None); a step is a number of symbols."""

    steps: tuple[int, ...]
    alphabet: str | None
    normalize: tuple[str, ...] = NORMALIZATIONS
    has_other: ClassVar[bool] = True
    rule: ClassVar[str] = "texts that are not empty, once they are normalized"

    @property
    def symbols(self) -> int:
        """Number S of symbols, with the end symbol."""
        return UTF8_SYMBOLS if self.alphabet is None else len(self.alphabet) + 1

    @property
    def length(self) -> int:
        """Largest number of symbols of a text."""
        return sum(self.steps)

    @property
    def block_sizes(self) -> tuple[int, ...]:
        return tuple(self.symbols**step for step in self.steps)

    @property
    def number(self) -> int:
        """Number of possible values: texts of every length from 1 on, and *other*."""
        return 1 + sum(int((self.symbols - 1) ** length) for length in range(1, self.length + 1))

    def normalized(self, text: str) -> str:
        r"""Return the normalized text: NFKC, lower case, single spaces, as `normalize` says.

        What is spelled so stays as it is: lower case letters can combine where their capitals do not, as in U+01F0.

        >>> Texts((4, 4), "abcdefghijklmnopqrstuvwxyz ").normalized(" One \u2003 TWO ")
        'one two'
        """
        if "NFKC" in self.normalize:
            text = unicodedata.normalize("NFKC", text)
        if "lower" in self.normalize:
            text = text.lower()
        if "NFKC" in self.normalize:
            text = unicodedata.normalize("NFKC", text)
        return WHITE_SPACE.sub(" ", text).strip(" ") if "spaces" in self.normalize else text

    def encoded(self, values: Any) -> Coded:
        """Encode texts, a list or an array, in blocks."""
        values = without_mask(values)
        given = np.asarray(values).ravel().tolist() if hasattr(values, "__array__") else values
        known: dict[Any, tuple[tuple[int, ...], int]] = {}
        rows = np.zeros((len(given), len(self.steps)), dtype=np.int64)
        status = np.zeros(len(given), dtype=np.int64)
        for index, value in enumerate(given):
            if not isinstance(value, str):
                status[index] = MISSING if is_missing(value) else OUTSIDE
                continue
            if value not in known:
                known[value] = self._coded(self.normalized(value))
            rows[index], status[index] = known[value]
        return Coded(rows, status)

    def _coded(self, text: str) -> tuple[tuple[int, ...], int]:
        if not text:
            return (0,) * len(self.steps), OUTSIDE
        symbols = self._symbols(text)
        if 0 in symbols or len(symbols) > self.length:
            symbols = [0, 1]
        symbols += [0] * (self.length - len(symbols))
        blocks, start = [], 0
        for step in self.steps:
            number = 0
            for symbol in symbols[start : start + step]:
                number = number * self.symbols + symbol
            blocks.append(number)
            start += step
        return tuple(blocks), 0

    def _symbols(self, text: str) -> list[int]:
        if self.alphabet is None:
            try:
                return list(text.encode("utf-8"))
            except UnicodeEncodeError:  # half a character (a surrogate)
                return [0]
        return [self.alphabet.find(letter) + 1 for letter in text]

    def decoded(self, row: Sequence[int]) -> str | None:
        """Return the text of a row of blocks; None if no normalized text has this code."""
        if row[0] == self._other:
            return OTHER
        symbols: list[int] = []
        for block, step in zip(row, self.steps, strict=True):
            part, number = [], int(block)
            for _ in range(step):
                number, symbol = divmod(number, self.symbols)
                part.append(symbol)
            symbols += part[::-1]
        symbols = [symbol for symbol in symbols if symbol]
        if self.alphabet is not None:
            text = "".join(self.alphabet[symbol - 1] for symbol in symbols)
        else:
            try:
                text = bytes(symbols).decode("utf-8")
            except UnicodeDecodeError:
                return None
        return text if self.normalized(text) == text else None

    @property
    def _other(self) -> int:
        """First block of *other*: an end, the symbol 1, and ends."""
        return int(self.symbols ** (self.steps[0] - 2))

    def other_blocks(self) -> Integers | None:
        return np.array([self._other, *(0 for _ in self.steps[1:])])

    def continuations(self, level: int) -> Integers:
        """Return all blocks that can follow at this level, in ascending order: symbols, then ends.

        At the first level they include the block of *other*, and not that of an empty text.
        """
        return _continuations(self.symbols, self.steps[level], self._other if level == 0 else 0)

    def ended(self, level: int, blocks: Integers) -> Mask:
        """Return True for each block of a level that ends a text, or that represents *other*."""
        ended = blocks % self.symbols == 0
        return np.asarray(ended | (blocks == self._other) if level == 0 else ended)

    def fields(self) -> Document:
        return {"kind": "text", "alphabet": self.alphabet, "normalize": list(self.normalize), "other": True}

    def described(self) -> str:
        if self.alphabet is None:
            return f"texts of up to {self.length} bytes in UTF-8"
        return f"texts of up to {self.length} letters of {len(self.alphabet)} ({reprlib.repr(self.alphabet)[1:-1]})"

    def samples(self) -> list[str]:
        """Return texts that differ as much as possible; the last is too long, and becomes *other*."""
        first, last = ("a", "z") if self.alphabet is None else (self.alphabet.strip()[0], self.alphabet.strip()[-1])
        return [first, last * self.length, first * (self.length + 1)]

    def units(self) -> str:
        return "bytes" if self.alphabet is None else "letters"


Values: TypeAlias = Texts | WholeNumbers


@lru_cache(maxsize=16)
def _continuations(symbols: int, step: int, first: int) -> Integers:
    """Return the blocks of symbols followed by ends, in ascending order; `first` replaces the empty block."""
    heads, blocks = np.zeros(1, dtype=np.int64), [np.array([first])]
    for index in range(step):
        heads = (heads[:, np.newaxis] * symbols + np.arange(1, symbols)).ravel()
        blocks.append(heads * symbols ** (step - 1 - index))
    result = np.sort(np.concatenate(blocks))
    result.flags.writeable = False
    return result


def _checked_number(value: Any, below: int) -> int:
    """Return a whole number from 0 to `below` - 1, or `MISSING` or `OUTSIDE`."""
    if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST_TOTAL:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return MISSING if is_missing(value) else OUTSIDE
    number = int(value)
    return number if 0 <= number < below else OUTSIDE


# Steps and alphabets


def balanced_steps(length: int, step: int) -> tuple[int, ...]:
    """Divide a length into as few parts of at most `step` as possible, balanced, the longer ones first.

    >>> balanced_steps(12, 4), balanced_steps(10, 4)
    ((4, 4, 4), (4, 3, 3))
    """
    levels = -(-length // step)
    return tuple((length + index) // levels for index in reversed(range(levels)))


def alphabet_of(letters: Any, normalize: tuple[str, ...]) -> str:
    """Read an alphabet in which a-z names a range; a hyphen at either end is itself a letter.

    >>> alphabet_of("a-e.-", ("NFKC", "lower"))
    'abcde.-'
    """
    if not isinstance(letters, str) or not letters:
        raise TypeError(f'letters must be the characters of the alphabet, such as "a-z", but got {letters!r}')
    alphabet = re.sub("(.)-(.)", _range, letters, flags=re.DOTALL)
    refuse_large(alphabet)
    if twice := [letter for index, letter in enumerate(alphabet) if letter in alphabet[:index]]:
        raise ValueError(f"letters must be distinct, but {twice[0]!r} occurs twice")
    if len(alphabet) < 2:
        raise ValueError(f"letters must be at least 2 characters, but got {letters!r}")
    return checked_alphabet(alphabet, normalize)


def _range(found: re.Match[str]) -> str:
    first, last = found.groups()
    if first >= last:
        raise ValueError(f"letters must name ranges upwards, such as a-z, but got {found[0]!r}")
    return "".join(map(chr, range(ord(first), ord(last) + 1)))


def refuse_large(alphabet: str) -> None:
    """Raise an error for an alphabet of which a block cannot hold two letters."""
    if (len(alphabet) + 1) ** 2 > LARGEST_BLOCK:
        raise ValueError(f"letters must be at most {math.isqrt(LARGEST_BLOCK) - 1:,} characters; use bytes=")


def checked_alphabet(alphabet: str, normalize: tuple[str, ...]) -> str:
    """Raise an error for characters that normalized texts lack, or that combine with others."""
    refuse_large(alphabet)
    space, texts = "spaces" in normalize, Texts((2,), None, normalize)
    for letter in alphabet:
        if letter == "\0" or unicodedata.category(letter) in {"Cs", "Cn"}:
            raise ValueError(f"letters must be characters that a text can have, but got {letter!r}")
        if unicodedata.category(letter).startswith("M"):
            raise ValueError(f"letters must not be combining characters, but got {letter!r}; use bytes=")
        becomes = texts.normalized(letter)
        if becomes != letter and not (letter == " " and space):
            raise ValueError(
                f"letters must be as normalized texts have them, but {letter!r} becomes {becomes!r}; leave it out, or "
                "normalize less"
            )
    letters = alphabet.replace(" ", "")
    for letter in letters:
        beside = letter.join(letters)
        if texts.normalized(beside) != beside:
            raise ValueError(f"letters must not combine with others, but {letter!r} does; use bytes=")
    return alphabet


def checked_normalization(normalize: Any) -> tuple[str, ...]:
    """Validate names of normalizations, and return them in the order in which they are applied."""
    names = (normalize,) if isinstance(normalize, str) else tuple(normalize or ())
    if strange := [name for name in names if name not in NORMALIZATIONS]:
        raise ValueError(f"normalize must be some of {', '.join(NORMALIZATIONS)}, but got {strange[0]!r}")
    return tuple(name for name in NORMALIZATIONS if name in names)
