"""Contributions of rows to a tally, and reports stored for the likelihood of sets of answers.

A column is counted at once or in batches, here or on the machines of a cluster; subtotals add up in any order. Stored
reports are in memory, or stay in their file and are read in blocks at every pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, time
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from warner.designs.facts import added_up
from warner.designs.labels import MISSING, OUTSIDE, is_missing
from warner.designs.report_forms import all_reports
from warner.reports.counts import sum_of_invalid
from warner.reports.queries import INSIDE
from warner.reports.tallies import SUMMED, Tally, in_order, numbers_of
from warner.runtime import TALLY_BYTES, refuse_beyond_memory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from warner.arrays import Array, Counts, Integers, Mask, PerGroup
    from warner.designs import Design
    from warner.reports.tallies import Group


REPORTS_IN_BLOCK = 2**15  # limits the memory for the likelihood of a block


class ReportBlock(NamedTuple):
    """Reports as codes, with the number or weight of each (1 if None), and the group of each."""

    reports: Counts
    amounts: Counts | None = None
    group: Integers | None = None

    def where(self, selected: Counts | slice) -> ReportBlock:
        return ReportBlock(*(None if values is None else values[selected] for values in self))  # type: ignore[arg-type]

    def pieces(self) -> Iterator[ReportBlock]:
        starts = range(0, len(self.reports), REPORTS_IN_BLOCK)
        return (self.where(slice(start, start + REPORTS_IN_BLOCK)) for start in starts)


Source: TypeAlias = Callable[[], Iterator[ReportBlock]]


@dataclass(frozen=True, eq=False)
class InMemory:
    blocks: tuple[ReportBlock, ...]

    def __call__(self) -> Iterator[ReportBlock]:
        return iter(self.blocks)


@dataclass(frozen=True)
class StoredReports:
    """Reports from one or several sources, each of which yields its blocks again at every call.

    `group_numbers` contains for each source the numbers of its groups among all groups; None if they are the same.
    Reports that are `streamed` are not in memory, and are read again at every pass.
    """

    sources: tuple[Source, ...]
    group_numbers: tuple[tuple[int, ...] | None, ...]
    streamed: bool = True

    @classmethod
    def in_memory(cls, *blocks: ReportBlock) -> StoredReports:
        """Store reports in memory, in pieces of bounded size, sorted by group."""
        filled = [block for block in blocks if len(block.reports)]
        if filled and (filled[0].group is not None or _short(filled[0])):
            filled = [_collapsed(part) for part in _by_group(_joined(filled))]
        return cls((InMemory(tuple(piece for block in filled for piece in block.pieces())),), (None,), streamed=False)

    def blocks(self, group: int | None = None) -> Iterator[ReportBlock]:
        for source, numbers in zip(self.sources, self.group_numbers, strict=True):
            for block in source():
                if group is None or block.group is None:
                    yield block
                    continue
                groups = block.group if numbers is None else np.array(numbers)[block.group]
                selected = groups == group
                if selected.all():
                    yield block
                elif selected.any():
                    yield block.where(selected)

    def renumbered(self, numbers: list[int]) -> StoredReports:
        """Return the same reports with other group numbers; those of groups with -1 are left out."""
        renumbered = tuple(
            tuple(numbers) if before is None else tuple(-1 if number < 0 else numbers[number] for number in before)
            for before in self.group_numbers
        )
        return StoredReports(self.sources, renumbered, self.streamed)

    def __add__(self, other: StoredReports) -> StoredReports:
        numbers = self.group_numbers + other.group_numbers
        return StoredReports(self.sources + other.sources, numbers, self.streamed or other.streamed)


def _joined(blocks: list[ReportBlock]) -> ReportBlock:
    fields = zip(*blocks, strict=True)
    return ReportBlock(*(None if values[0] is None else np.concatenate(values) for values in fields))  # type: ignore[arg-type]


def _by_group(block: ReportBlock) -> list[ReportBlock]:
    if block.group is None:
        return [block]
    order = np.argsort(block.group, kind="stable")
    _, first = np.unique(block.group[order], return_index=True)
    return [block.where(part) for part in np.split(order, first[1:])]


def _short(block: ReportBlock) -> bool:
    """Return True if reports are sets that fit into 64 bits."""
    return block.reports.dtype == np.uint8 and block.reports.shape[1] <= 8


def _collapsed(block: ReportBlock) -> ReportBlock:
    """Combine equal reports of one group, if that halves their number."""
    if not _short(block):
        return block
    n, width = block.reports.shape
    numbers = np.zeros((n, 8), dtype=np.uint8)
    numbers[:, :width] = block.reports
    _, first, place = np.unique(numbers.view(np.uint64)[:, 0], return_index=True, return_inverse=True)
    if 2 * len(first) > n:
        return block
    amounts = np.ones(n, dtype=np.int64) if block.amounts is None else block.amounts
    return block.where(first)._replace(amounts=added_up(place, amounts, len(first)))


# Subtotals


CELLS_ALWAYS = 2**20  # groups times columns that fit into any memory

Column: TypeAlias = Any  # a list, a NumPy array or an Arrow array
NOTHING: Mapping[str, int] = {}  # no strange values
EVERYBODY: tuple[Group, ...] = ((),)  # the groups where nothing is grouped by


class Rows(NamedTuple):
    """Rows of data: the report of each, with its number, weight and group.

    `group_index` is the number of a row's group; None if there is one group. For rows of several reports, `square` is
    the sum of squared weights, and `positive` the number of weights above 0.
    """

    reports: Counts
    status: Integers
    number: Integers | None = None  # one report a row where there is none
    weight: Array | None = None
    square: Array | None = None
    positive: Integers | None = None
    group_index: Integers | None = None
    groups: tuple[Group, ...] = EVERYBODY

    @property
    def amounts(self) -> Counts | None:
        """Contribution of each row to the counts; 1 if None."""
        return self.number if self.weight is None else self.weight

    def known(self) -> Rows:
        """Select the rows with valid reports."""
        return self if all_reports(self.status) else self.where(self.status == INSIDE)

    def where(self, which: Mask) -> Rows:
        selected: list[Any] = [None if values is None else values[which] for values in self[:-1]]
        return Rows._make([*selected, self.groups])

    def per_group(self, amounts: Counts | None) -> Counts:
        """Sum of amounts (1 for each row if None) by group."""
        if self.group_index is None:
            return np.array([self.status.size if amounts is None else amounts.sum()])
        return added_up(self.group_index, amounts, len(self.groups))

    def kept(self, numbers: dict[Group, int]) -> ReportBlock:
        """Return the valid reports, with these numbers of their groups."""
        known = self.known()
        index = None
        if self.groups != EVERYBODY:
            index = np.array([numbers[group] for group in self.groups], dtype=np.int64)
            index = np.repeat(index, len(known.status)) if known.group_index is None else index[known.group_index]
        return ReportBlock(known.reports, known.amounts, index)


class Subtotal(NamedTuple):
    """Contribution of some rows to a tally; `arrays` have an entry or a row for each group.

    They have the names of the fields of a tally that add up; with weights, a complex sample also has those
    `without_weight`, and the sums of squared weights `by_kind` of report. `bad` amounts are negative or missing,
    `roughly` is the sum of the others as a float, which does not overflow; `strange` are invalid values, with their
    frequencies.
    """

    groups: tuple[Group, ...]
    arrays: dict[str, Counts]
    rows: int
    bad: int = 0
    roughly: float = 0.0
    strange: Mapping[str, int] = NOTHING

    def numbers(self) -> dict[Group, int]:
        return {group: number for number, group in enumerate(self.groups)}

    def tally(self, design: Design, by: tuple[str, ...], **more: Any) -> Tally:
        summed = {name: values for name, values in self.arrays.items() if name in SUMMED}
        arrays: dict[str, Any] = {name: values if by else values[0] for name, values in summed.items()}
        if design.law.sufficient == "histogram":
            del arrays["counts"]  # which follow: a tally would derive them once more, to compare
        return Tally(design, by=by, groups=self.groups if by else (), dropped=self.strange, **arrays, **more)


def subtotal(design: Design, rows: Rows, *, by_kind: bool = False) -> Subtotal:
    """Count the reports of some rows; for complex samples with weights also their squares `by_kind`."""
    _refuse_too_many(len(rows.groups), design)
    known = rows.known()
    with np.errstate(over="ignore"):
        if known.weight is not None and np.isinf((known.weight**2).sum()) and np.isfinite(known.weight).all():
            raise ValueError("weights must be small enough for a finite sum of squares; divide all by the largest")

    def sums(amounts: Counts | None) -> dict[str, Counts]:
        found = design.law.count(known.reports, amounts, group=known.group_index, groups=len(rows.groups))._asdict()
        present = {name: np.asarray(values) for name, values in found.items() if values is not None}
        return present if known.group_index is not None else {name: v[np.newaxis] for name, v in present.items()}

    arrays = sums(known.amounts)
    for name, kind in (("missing", MISSING), ("unknown", OUTSIDE)):
        arrays[name] = np.zeros(len(rows.groups), dtype=np.int64)
        if known is not rows:
            part = rows.where(rows.status == kind)
            arrays[name] = part.per_group(part.number)
    if known.weight is not None:
        squares = known.weight**2 if known.square is None else known.square
        positive = (known.weight > 0).astype(np.int64) if known.positive is None else known.positive
        arrays |= {"squares": known.per_group(squares), "people": known.per_group(positive)}
        if by_kind:
            arrays["by_kind"] = sums(squares)["counts"]
            arrays["without_weight"] = known.per_group(known.number) - arrays["people"]
    return Subtotal(rows.groups, arrays, rows.status.size)


def added(parts: Iterable[Subtotal], design: Design) -> Subtotal:
    """Add at least one subtotal, with the groups in their fixed order."""
    parts = iter(parts)
    total = next(parts)
    numbers = total.numbers()
    arrays = {name: values.copy() for name, values in total.arrays.items()}
    rows, bad, roughly, strange = total[2:]
    for part in parts:
        rows_of_part = [numbers.setdefault(group, len(numbers)) for group in part.groups]
        _refuse_too_many(len(numbers), design)
        for name, values in part.arrays.items():
            arrays[name] = _grown(arrays[name], len(numbers))
            arrays[name][rows_of_part] += values
        rows, bad, roughly = rows + part.rows, bad + part.bad, roughly + part.roughly
        strange = sum_of_invalid(strange, part.strange)
    groups = in_order(numbers)
    order = [numbers[group] for group in groups]
    return Subtotal(groups, {name: values[order] for name, values in arrays.items()}, rows, bad, roughly, strange)


def _grown(values: Counts, size: int) -> Counts:
    """Extend an array to this size or twice its own: groups appear one after the other in a sorted file."""
    if size <= len(values):
        return values
    longer = np.zeros((max(size, 2 * len(values)), *values.shape[1:]), dtype=values.dtype)
    longer[: len(values)] = values
    return longer


def _refuse_too_many(groups: int, design: Design) -> None:
    types = design.law.types
    width = max(len(design.law.columns), 0 if types is None else len(types))
    if groups * width < CELLS_ALWAYS:
        return
    what = "answers" if types is None or width == len(design.law.columns) else types.name
    if groups == 1:
        remedy = "use a design with fewer, or one whose reports are counted in fewer columns"
        refuse_beyond_memory(width, TALLY_BYTES, f"{width:,} {what}", remedy)
    remedy = "tally some groups at a time, or by fewer columns"
    refuse_beyond_memory(groups * width, TALLY_BYTES, f"{groups:,} groups of {width:,} {what}", remedy)


# Values of columns


def grouped(columns: Sequence[Column]) -> tuple[tuple[Group, ...], Integers]:
    """Return the groups of rows, in a fixed order, and the number of each row's group."""
    factors = [_factored(column) for column in columns]
    position = np.zeros(len(factors[0][0]), dtype=np.int64)
    first = position[:0]
    for codes, values in factors:
        _, first, position = np.unique(position * len(values) + codes, return_index=True, return_inverse=True)
    keys = [tuple(values[codes[row]] for codes, values in factors) for row in first.tolist()]
    groups = in_order(keys)
    return groups, np.array(numbers_of(keys, groups), dtype=np.int64)[position]


def _factored(column: Column) -> tuple[Integers, list[PerGroup]]:
    """Return a column as positions in a list of values, which may contain duplicates."""
    if hasattr(column, "dictionary_encode") and str(column.type) != "null":
        encoded = column if hasattr(column, "indices") else column.dictionary_encode()
        values = [_plain(value) for value in encoded.dictionary.to_pylist()]
        codes = encoded.indices.cast("int64").fill_null(len(values)).to_numpy()
        return codes, [*values, None]
    plain = [_plain(value) for value in (column.to_pylist() if hasattr(column, "to_pylist") else column)]
    index: dict[PerGroup, int] = {}
    codes = np.fromiter((index.setdefault(value, len(index)) for value in plain), dtype=np.int64, count=len(plain))
    return codes, list(index)


def _plain(value: object) -> PerGroup:
    """Convert the value of a group to a type that every engine and JSON represent alike."""
    if is_missing(value):
        return None
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()  # some engines have no dates, only midnights
    infinite = isinstance(value, float) and math.isinf(value)  # which JSON has not
    return value if isinstance(value, str | int | float) and not infinite else str(value)
