"""Columns of packed bytes: hexadecimal text or raw bytes to rows of uint8, without a loop over the values.

A column may be a list, a NumPy array or an Arrow array. Of an Arrow array the buffers are read as they are: bytes of a
fixed length are not even copied. Arrow itself is not imported, because whoever has such an array has it already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from warner.designs.labels import is_missing

if TYPE_CHECKING:
    from warner.arrays import Counts, Integers, Mask

ArrowArray: TypeAlias = Any

DIGITS = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
NO_BYTE = 256  # what two characters stand for that are not both hexadecimal digits in lower case
BYTE_OF_PAIR = np.full(2**16, NO_BYTE, dtype=np.uint16)  # by two characters, seen as one number of 16 bits
BYTE_OF_PAIR[np.stack(np.meshgrid(DIGITS, DIGITS, indexing="ij"), axis=-1).view(np.uint16).ravel()] = np.arange(256)


class Packed(NamedTuple):
    """Rows of bytes, one for each value; which values are such a row (of the others it means nothing), or missing."""

    rows: Counts
    known: Mask
    missing: Mask


def packed(values: Any, width: int) -> Packed:
    """Read a column of reports of `width` bytes each, as bytes or as twice as many hexadecimal digits.

    >>> read = packed(["0fa0", None, b"ab", "0FA0"], 2)
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
        return Packed(rows, np.ones(len(rows), dtype=bool), np.zeros(len(rows), dtype=bool))
    return _from_list(flat.tolist(), width)


def _from_arrow(column: ArrowArray, width: int) -> Packed:
    kind = str(column.type)
    if kind.startswith("dictionary"):
        return _from_arrow(column.dictionary_decode(), width)
    if kind in {"string_view", "binary_view"}:
        return _from_arrow(column.cast(f"large_{kind.removesuffix('_view')}"), width)
    n = len(column)
    present = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else np.ones(n, dtype=bool)
    if kind == f"fixed_size_binary[{width}]":
        content = _numbers(column.buffers()[1], np.uint8)
        rows = content[column.offset * width : (column.offset + n) * width].reshape(-1, width)
        return Packed(rows, present, ~present)
    if kind not in {"string", "binary", "large_string", "large_binary"}:
        return _from_list(column.to_pylist(), width)
    _, ends, content = column.buffers()
    ends = _numbers(ends, np.int64 if kind.startswith("large") else np.int32)[column.offset :][: n + 1]
    content = _numbers(content, np.uint8)[ends[0] : ends[-1]] if n else np.zeros(0, dtype=np.uint8)
    return _cut(content, np.diff(ends), ~present, width, text=kind.endswith("string"))


def _numbers(buffer: Any, dtype: Any) -> Counts:
    return np.zeros(0, dtype=dtype) if buffer is None else np.frombuffer(buffer, dtype=dtype)


def _from_list(values: list[Any], width: int) -> Packed:
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
    missing[missing] = [is_missing(values[place]) for place in np.flatnonzero(missing).tolist()]
    return _cut(np.frombuffer(b"".join(strings), dtype=np.uint8), lengths, missing, width, text=text)


def _cut(content: Counts, lengths: Integers, missing: Mask, width: int, *, text: bool) -> Packed:
    """Cut strings that stand one after the other, all of them text or all of them bytes, into rows."""
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
    return Packed(rows, known, missing)
