r"""Packed bits: rows of bytes from columns of text or bytes, counts by position, sizes of rows, products with them.

**Columns.** A column of packed bits holds hexadecimal text or raw bytes; it is read without a loop over its values. It
may be a list, a NumPy array or an Arrow array. Of an Arrow array the buffers are read as they are: bytes of a fixed
length are not even copied. Arrow itself is not imported here.

**Counting by position.** The bits of 64 positions are added at once, without carries between them: a *carry-save adder*
takes three words x, y, z and gives two,

.. math:: x + y + z = s + 2 c, \qquad s = x \oplus y \oplus z, \qquad c = (x \wedge y) \vee ((x \oplus y) \wedge z),

in each position. So two slabs of rows are added to a slab of sums, and what is carried goes to the slab of the next
power of two, in the manner of a binary counter [1]_: five operations for each word, whatever the number of rows. A slab
stays in the processor's cache.

**Products.** For a product with zeros and ones, a byte is looked up in a table of the 256 sums of eight numbers; for
the transposed product, weights are added up by byte, and these 256 sums by bit: one step for eight bits.

References
----------
.. [1] W. Muła, N. Kurz, D. Lemire, "Faster population counts using AVX2 instructions", Computer J. 61 (2018), 111-120.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from warner.designs.facts import added_up
from warner.designs.labels import is_missing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from warner.arrays import Array, Counts, Integers, Mask

    Words = NDArray[np.uint64]

ArrowArray: TypeAlias = Any

HEX_DIGITS = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
NO_BYTE = 256  # value of two characters that are not both hexadecimal digits in lower case
BYTE_OF_PAIR = np.full(2**16, NO_BYTE, dtype=np.uint16)  # by two characters, seen as one number of 16 bits
BYTE_OF_PAIR[np.stack(np.meshgrid(HEX_DIGITS, HEX_DIGITS, indexing="ij"), axis=-1).view(np.uint16).ravel()] = np.arange(
    256
)

BYTES_ADDED_AT_ONCE = 2**16  # bytes that are added at once
ROWS_MULTIPLIED_AT_ONCE = 2**15  # rows of a product, or words of which bits are counted, that are worked on at once
BITS_OF_BYTE = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1).astype(np.float64)  # of each byte


def set_bits(rows: Counts) -> Integers:
    """Count the rows in which each bit is set: eight numbers for each byte, from the highest bit on."""
    counter = BitCounter(rows.shape[1])
    counter.add(rows)
    return counter.total()


class BitCounter:
    """Counter of the rows in which each bit is set; rows of `width` bytes may be added in blocks.

    Attributes
    ----------
    block : int
        A number of rows that is well added at once: whole slabs, still in a cache if they were just read.
    """

    def __init__(self, width: int) -> None:
        least = 8 // math.gcd(width, 8)  # rows that make whole words
        self._height = least * max(1, BYTES_ADDED_AT_ONCE // (least * width))
        self.block = 32 * self._height
        self._sums: list[Words] = []  # a slab for each power of two
        self._waiting: list[Words | None] = [None]  # and one that waits for another of its power
        self._spare: list[Words] = []  # slabs to be used again: new memory takes longer than the additions
        self._scratch = np.empty(self._height * width // 8, dtype=np.uint64)
        self._rest = np.zeros(8 * width, dtype=np.int64)

    def add(self, rows: Counts) -> None:
        slabs = len(rows) // self._height
        if len(rows) > slabs * self._height:
            self._rest += _unpacked(rows[slabs * self._height :])
        if slabs:
            for slab in np.ascontiguousarray(rows[: slabs * self._height]).reshape(slabs, -1).view(np.uint64):
                self._add(slab)
            if self._waiting[0] is not None:
                self._waiting[0] = self._waiting[0].copy()  # the rows are the caller's

    def _add(self, slab: Words) -> None:
        """Add a slab to the ones, two slabs at a time, with carries to the next powers of two."""
        power, added = 0, slab
        while (first := self._waiting[power]) is not None:
            self._waiting[power] = None
            if power == len(self._sums):
                self._sums.append(np.zeros_like(slab))
                self._waiting.append(None)
            carry = self._spare.pop() if self._spare else np.empty_like(slab)
            _carry_save(self._sums[power], first, added, carry, self._scratch)
            if power:  # those of power 0 are the rows themselves
                self._spare += [first, added]
            power, added = power + 1, carry
        self._waiting[power] = added

    def total(self) -> Integers:
        counts = self._rest.copy()
        for slabs in (self._sums, self._waiting):
            for power, slab in enumerate(slabs):
                if slab is not None:
                    counts += _unpacked(slab.view(np.uint8).reshape(self._height, -1)) << power
        return counts


def _carry_save(total: Words, x: Words, y: Words, carry: Words, scratch: Words) -> None:
    """Add two slabs to a third in place, and write the carry."""
    np.bitwise_and(total, x, out=carry)
    np.bitwise_xor(total, x, out=total)
    np.bitwise_and(total, y, out=scratch)
    np.bitwise_xor(total, y, out=total)
    np.bitwise_or(carry, scratch, out=carry)


def _unpacked(rows: Counts) -> Integers:
    return np.asarray(np.unpackbits(rows, axis=1).sum(axis=0, dtype=np.int64))


def sizes(rows: Counts) -> Integers:
    """Count the set bits of each row."""
    number, width = rows.shape
    words = -(-width // 8)
    # Numbers of bits are added up by a product: exact in single precision below 2^24, and much faster than a sum.
    kind = np.float32 if 8 * width < 2**24 else np.float64
    result, ones = np.empty(number, dtype=np.int64), np.ones(words, dtype=kind)
    step = max(1, ROWS_MULTIPLIED_AT_ONCE // words)
    for start in range(0, number, step):
        part = rows[start : start + step]
        if width % 8:
            part = np.pad(part, ((0, 0), (0, -width % 8)))
        part = np.ascontiguousarray(part)
        result[start : start + step] = np.bitwise_count(part.view(np.uint64)).astype(kind) @ ones
    return result


class Incidence:
    """Packed rows as a matrix of zeros and ones, for products with vectors of doubles.

    Bytes are held position by position, so that a product goes through each position in one piece.

    >>> incidence = Incidence(np.array([[0b11000000], [0b10000001]], dtype=np.uint8))
    >>> incidence.times(np.arange(8.0))  # 0 + 1, and 0 + 7
    array([1., 7.])
    >>> incidence.transposed_times(np.array([2.0, 3.0]))
    array([5., 2., 0., 0., 0., 0., 0., 3.])
    """

    def __init__(self, rows: Counts) -> None:
        self._bytes = np.ascontiguousarray(rows.T)

    def times(self, values: Array) -> Array:
        """Sum the values, of shape (..., bits), of the bits set in each row."""
        if values.ndim > 1:
            rows = [self.times(row) for row in values.reshape(-1, values.shape[-1])]
            return np.reshape(rows, (*values.shape[:-1], self._bytes.shape[1]))
        values = np.pad(values, (0, 8 * len(self._bytes) - values.size))
        tables = values.reshape(-1, 8) @ BITS_OF_BYTE.T
        result = np.zeros(self._bytes.shape[1])
        scratch = np.empty(min(ROWS_MULTIPLIED_AT_ONCE, result.size))
        for start in range(0, result.size, ROWS_MULTIPLIED_AT_ONCE):
            total = result[start : start + ROWS_MULTIPLIED_AT_ONCE]
            term = scratch[: total.size]
            for table, column in zip(tables, self._bytes[:, start : start + ROWS_MULTIPLIED_AT_ONCE], strict=True):
                np.take(table, column, out=term, mode="clip")  # no byte is out of range: nothing to be checked
                total += term
        return result

    def transposed_times(self, weights: Array) -> Array:
        """Sum the weights, of shape (..., rows), of the rows in which each bit is set."""
        if weights.ndim > 1:
            rows = [self.transposed_times(row) for row in weights.reshape(-1, weights.shape[-1])]
            return np.reshape(rows, (*weights.shape[:-1], 8 * len(self._bytes)))
        sums = np.zeros((len(self._bytes), 256))
        for start in range(0, weights.size, ROWS_MULTIPLIED_AT_ONCE):
            weight = weights[start : start + ROWS_MULTIPLIED_AT_ONCE]
            for index, column in enumerate(self._bytes[:, start : start + ROWS_MULTIPLIED_AT_ONCE]):
                sums[index] += np.bincount(column, weight, 256)
        return np.asarray((sums @ BITS_OF_BYTE).ravel())


def bit_sums(reports: Counts, amounts: Counts | None, group: Integers | None, groups: int) -> tuple[Counts, Counts]:
    """Sum each bit of packed rows, and count the rows, by group: shapes (groups, bits) with padding, and (groups,)."""
    index = np.zeros(len(reports), dtype=np.int64) if group is None else group
    n = added_up(index, amounts, groups)
    sums = np.zeros((groups, 8 * reports.shape[1]), dtype=n.dtype)
    for number, which in _members(group, groups):
        sums[number] = _weighted_bits(reports[which], None if amounts is None else amounts[which])
    return sums, n


def _members(group: Integers | None, groups: int) -> Iterator[tuple[int, slice | Integers]]:
    """Yield each nonempty group with the indices of its rows."""
    if group is None:
        yield 0, slice(None)
        return
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=groups))
    for number in np.flatnonzero(np.diff(ends, prepend=0)).tolist():
        yield number, order[ends[number - 1] if number else 0 : ends[number]]


def _weighted_bits(rows: Counts, amounts: Counts | None) -> Counts:
    """Sum the weights of the rows in which each bit is set; sums of whole numbers are exact."""
    if amounts is None:
        return set_bits(rows)
    if amounts.dtype.kind == "f":
        return Incidence(rows).transposed_times(amounts)
    total = np.zeros(8 * rows.shape[1], dtype=np.int64)
    for power in range(int(amounts.max(initial=0)).bit_length()):  # an amount is made of its bits, and most are small
        total += set_bits(rows[(amounts >> power) & 1 == 1]) << power
    return total


# Columns of packed bits


class PackedColumn(NamedTuple):
    """A column of packed reports: one row of bytes for each value; `known` marks valid rows."""

    rows: Counts
    known: Mask
    missing: Mask


def packed_column(values: Any, width: int) -> PackedColumn:
    """Read a column of reports of `width` bytes each, as bytes or as hexadecimal digits.

    >>> read = packed_column(["0fa0", None, b"ab", "0FA0"], 2)
    >>> read.rows[read.known].tolist()
    [[15, 160], [97, 98]]
    """
    if hasattr(values, "buffers"):
        return _from_arrow(values, width)
    if not isinstance(values, np.ndarray):
        return _from_list(list(values), width)
    flat = values.ravel()
    if flat.dtype.kind == "S" and flat.dtype.itemsize <= width and not isinstance(flat, np.ma.MaskedArray):
        # NumPy drops zeros at the end of its own strings of bytes, which are put back.
        rows = flat.astype(f"S{width}").view(np.uint8).reshape(-1, width)
        return PackedColumn(rows, np.ones(len(rows), dtype=bool), np.zeros(len(rows), dtype=bool))
    return _from_list(flat.tolist(), width)


def _from_arrow(column: ArrowArray, width: int) -> PackedColumn:
    kind = str(column.type)
    if kind.startswith("dictionary"):
        return _from_arrow(column.dictionary_decode(), width)
    if kind in {"string_view", "binary_view"}:
        return _from_arrow(column.cast(f"large_{kind.removesuffix('_view')}"), width)
    n = len(column)
    present = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else np.ones(n, dtype=bool)
    if kind == f"fixed_size_binary[{width}]":
        content = _array_of_buffer(column.buffers()[1], np.uint8)
        rows = content[column.offset * width : (column.offset + n) * width].reshape(-1, width)
        return PackedColumn(rows, present, ~present)
    if kind not in {"string", "binary", "large_string", "large_binary"}:
        return _from_list(column.to_pylist(), width)
    _, ends, content = column.buffers()
    ends = _array_of_buffer(ends, np.int64 if kind.startswith("large") else np.int32)[column.offset :][: n + 1]
    content = _array_of_buffer(content, np.uint8)[ends[0] : ends[-1]] if n else np.zeros(0, dtype=np.uint8)
    return _cut(content, np.diff(ends), ~present, width, text=kind.endswith("string"))


def _array_of_buffer(buffer: Any, dtype: Any) -> Counts:
    return np.zeros(0, dtype=dtype) if buffer is None else np.frombuffer(buffer, dtype=dtype)


def _from_list(values: list[Any], width: int) -> PackedColumn:
    text = any(isinstance(value, str) for value in values)

    def string(value: Any) -> bytes:
        if isinstance(value, str):
            return value.encode("utf-8", "replace")
        if isinstance(value, bytes | bytearray):
            return value.hex().encode() if text else bytes(value)  # among hexadecimal strings, another of them
        return b""

    strings = [string(value) for value in values]
    lengths = np.fromiter(map(len, strings), dtype=np.int64, count=len(strings))
    missing = lengths == 0
    missing[missing] = [is_missing(values[index]) for index in np.flatnonzero(missing).tolist()]
    return _cut(np.frombuffer(b"".join(strings), dtype=np.uint8), lengths, missing, width, text=text)


def _cut(content: Counts, lengths: Integers, missing: Mask, width: int, *, text: bool) -> PackedColumn:
    """Split concatenated strings, all text or all bytes, into rows."""
    size = 2 * width if text else width
    fits = (lengths == size) & ~missing
    every = bool(fits.all())
    rows = (content if every else content[np.repeat(fits, lengths)]).reshape(-1, size)
    known = fits
    if text:
        values = BYTE_OF_PAIR[rows.view(np.uint16)]
        rows, known = values.astype(np.uint8), fits.copy()
        known[fits] = (values < NO_BYTE).all(axis=1)
    if not every:
        whole = np.zeros((len(lengths), width), dtype=np.uint8)
        whole[fits] = rows
        rows = whole
    return PackedColumn(rows, known, missing)
