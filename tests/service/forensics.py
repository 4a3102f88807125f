"""Content of an SQLite file besides its rows: the position of each row in its page, and the remains of the log.

New cells of a page are put before the older ones, so a page shows the order in which its rows were written, whatever
their keys are. The log has an image of each page after each transaction: two images differ by what one transaction did.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

LEAF, INTERIOR = 0x0A, 0x02  # pages of tables without rowid
WIDTHS = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 7: 8, 8: 0, 9: 0}  # bytes of numbers, by serial type


class Cell(NamedTuple):
    """A row, and where it lies."""

    page: int
    offset: int
    row: tuple[Any, ...]


def cells(image: bytes) -> list[Cell]:
    """Return the rows of all tables, in the order in which they were written as far as the file shows it."""
    size = int.from_bytes(image[16:18]) if image[16:18] != b"\0\1" else 65536
    pages = [image[start : start + size] for start in range(0, len(image), size)]
    return [cell for number, page in enumerate(pages[1:], start=2) for cell in rows(page, number)]


def rows(page: bytes, number: int = 0) -> list[Cell]:
    """Return the rows of a page; the one that was written last lies first, and is given last."""
    kind = page[0]
    if kind not in {LEAF, INTERIOR}:
        return []
    start, skip = (8, 0) if kind == LEAF else (12, 4)
    places = [start + 2 * cell for cell in range(int.from_bytes(page[3:5]))]
    offsets = sorted((int.from_bytes(page[place : place + 2]) for place in places), reverse=True)
    return [Cell(number, offset, _record(page, offset + skip)) for offset in offsets]


def _record(page: bytes, at: int) -> tuple[Any, ...]:
    _, at = _varint(page, at)
    header, first = _varint(page, at)
    values, body = [], at + header
    while first < at + header:
        kind, first = _varint(page, first)
        width = WIDTHS[kind] if kind < 12 else (kind - 12) // 2
        raw = page[body : body + width]
        body += width
        values.append({0: None, 7: _float(raw), 8: 0, 9: 1}.get(kind, int.from_bytes(raw)) if kind < 12 else raw)
    return tuple(values)


def _float(raw: bytes) -> float | None:
    return float(struct.unpack(">d", raw)[0]) if len(raw) == 8 else None


def _varint(page: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(8):
        value = value << 7 | page[at + place] & 0x7F
        if page[at + place] < 0x80:
            return value, at + place + 1
    return value << 8 | page[at + 8], at + 9


def transactions(log: bytes) -> Iterator[dict[int, bytes]]:
    """Return the pages that each transaction of a write-ahead log has written."""
    if len(log) < 32:
        return
    size = int.from_bytes(log[8:12])
    written: dict[int, bytes] = {}
    for start in range(32, len(log), 24 + size):
        head, page = log[start : start + 24], log[start + 24 : start + 24 + size]
        if head[8:16] != log[16:24]:  # the salt of an older log
            return
        written[int.from_bytes(head[:4])] = page
        if int.from_bytes(head[4:8]):
            yield written
            written = {}


def changes(before: dict[int, bytes], log: bytes) -> Iterator[list[tuple[Any, ...]]]:
    """Return the rows that each transaction of a log has changed."""
    pages = dict(before)
    for written in transactions(log):
        old = {cell.row for number in written for cell in rows(pages.get(number, b"\0"), number)}
        yield [cell.row for number, page in written.items() for cell in rows(page, number) if cell.row not in old]
        pages |= written
