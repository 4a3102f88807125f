"""Reports of an open domain, by level: `OpenTally`.

Nearly all reports differ, so no smaller statistic is sufficient: the reports themselves are stored, a few bytes each,
without their order. Tallies of the same design add up, and are saved and loaded like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from warner.designs import device_from_dict
from warner.designs.facts import added_up
from warner.designs.labels import MISSING
from warner.designs.open_domain import OpenDomain
from warner.designs.support_counts import LevelReports
from warner.documents import Document, checked, skipped_fields
from warner.reports.counts import (
    aggregated_names,
    new_numbers,
    refuse_unknown,
    selected_groups,
    shortened_keys,
    sum_of_invalid,
)
from warner.reports.tallies import (
    Group,
    GroupedReports,
    Tally,
    grouping_from_json,
    in_order,
    numbers_of,
    refuse_grouping,
)
from warner.runtime import refuse_beyond_memory
from warner.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from warner.arrays import Integers, PerGroup
    from warner.designs.contract import Design
    from warner.reports.subtotals import Rows

FORMAT = "warner open tally"
VERSION = 1
LEFT_OUT = ("missing", "unknown")  # why rows may be left out
FOUND = {"value", "other", "support", "share", "low", "high", "p", "adjusted"}  # columns of Discovery.table
COPIES = 4  # of reports as they are read, while a tally is made


@dataclass(frozen=True, eq=False, repr=False)
class OpenTally(GroupedReports):
    """Reports of an open domain, by level and group, with the design that they went through.

    Made by `warner.tally`. Tallies of the same design add up with ``+`` and ``sum``.

    Attributes
    ----------
    design : OpenDomain
        What every report went through.
    levels : tuple of LevelReports
        The reports of each level.
    places : tuple of ndarray
        The number of the group of each report, at each level.
    missing, unknown : int, or ndarray of shape (groups,)
        Number of rows left out because the value was missing, or was no report.
    by : tuple of str
        Names of what the reports are grouped by; empty without groups.
    groups : tuple of tuple
        The groups, each with one value for each name in `by`.
    backend : str or None
        Library of the data frame that the reports came in.
    """

    design: OpenDomain
    levels: tuple[LevelReports, ...]
    places: tuple[Integers, ...] = field(kw_only=True)
    missing: PerGroup = field(default=0, kw_only=True)
    unknown: PerGroup = field(default=0, kw_only=True)
    by: tuple[str, ...] = field(default=(), kw_only=True)
    groups: tuple[Group, ...] = field(default=(), kw_only=True)
    dropped: Mapping[str, int] = field(default_factory=dict, kw_only=True)
    skipped_files: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    backend: str | None = field(default=None, kw_only=True)
    _format: ClassVar[str] = FORMAT

    def __post_init__(self) -> None:
        refuse_grouping(self.by, self.groups, FOUND)
        self._check_numbers(*LEFT_OUT)

    @classmethod
    def of_rows(cls, design: OpenDomain, rows: Integers, index: Integers | None = None, **more: Any) -> OpenTally:
        """Make a tally of reports in the format of `OpenForm`; `index` is the number of each report's group."""
        index = np.zeros(len(rows), dtype=np.int64) if index is None else index
        order = np.lexsort((*rows.T[::-1], index))  # the order in which reports came is not kept
        rows, index = rows[order], index[order]
        level, kind = rows[:, 0], np.min_scalar_type(design.field - 1)
        chosen = [np.flatnonzero(level == number) for number in range(1, design.levels + 1)]
        levels = tuple(
            LevelReports(rows[which, 1 : number + 1].astype(np.uint32), rows[which, -1].astype(kind))
            for number, which in enumerate(chosen, start=1)
        )
        return cls(design, levels, places=tuple(index[which].astype(np.uint32) for which in chosen), **more)

    @cached_property
    def rows(self) -> tuple[Integers, Integers]:
        """All reports in the format of `OpenForm`, and the number of each report's group."""
        parts = []
        for number, reports in enumerate(self.levels, start=1):
            rows = np.zeros((len(reports), self.design.levels + 2), dtype=np.int64)
            rows[:, 0], rows[:, -1] = number, reports.values
            rows[:, 1 : number + 1] = reports.directions
            parts.append(rows)
        return np.concatenate(parts), np.concatenate(self.places).astype(np.int64)

    @property
    def level_sizes(self) -> Integers:
        """The number of reports of each level, of shape (levels,), or (groups, levels)."""
        sizes = np.stack([np.bincount(index, minlength=self._width) for index in self.places], axis=-1)
        return sizes if self.by else sizes[0]

    @property
    def _width(self) -> int:
        """Number of groups; 1 if there are no groups."""
        return len(self.groups) if self.by else 1

    @property
    def n(self) -> PerGroup:
        """The number of reports; of each group, where there are groups."""
        total = self.level_sizes.sum(axis=-1)
        return total if self.by else int(total)

    def of_group(self, number: int) -> tuple[LevelReports, ...]:
        """Return the reports of one group, by level."""
        if not self.by:
            return self.levels
        return tuple(
            LevelReports(reports.directions[index == number], reports.values[index == number])
            for reports, index in zip(self.levels, self.places, strict=True)
        )

    def closed(self, values: Sequence[str] | Sequence[int], *, other: bool = False) -> Tally:
        """Count the reports for a list of answers; see `OpenDomain.closed`."""
        return self.under(self.design.closed(values, other=other))

    def under(self, design: Design) -> Tally:
        """Count the reports under a closed list of this open domain."""
        if getattr(design, "source", None) != self.design:
            raise ValueError(f"design must be a closed list of {self.design!r}, but got {design!r}")
        rows, index = self.rows
        left: dict[str, Any] = {name: getattr(self, name) for name in (*LEFT_OUT, "backend", "skipped_files")}
        sums = [design.law.count(rows[index == number]) for number in range(self._width)]
        if not self.by:
            return Tally(design, sums[0].counts, n=int(sums[0].n), **left)
        counts = np.array([part.counts for part in sums], dtype=np.int64).reshape(-1, len(design.law.columns))
        n = np.array([int(part.n) for part in sums], dtype=np.int64)
        return Tally(design, counts, n=n, by=self.by, groups=self.groups, **left)

    def aggregate(self, by: str | Sequence[str] = ()) -> OpenTally:
        """Add up groups, for coarser groups or none; see `Tally.aggregate`."""
        names = aggregated_names(by, self.by)
        if names == self.by:
            return self
        keys = shortened_keys(self.by, self.groups, names)
        return self._regrouped(names, groups := in_order(keys), numbers_of(keys, groups))

    def filter(self, **columns: object) -> OpenTally:
        """Select the groups with these values; see `Tally.filter`."""
        rows = selected_groups(self.by, self.groups, columns)
        if len(rows) == len(self.groups):
            return self
        numbers = new_numbers(rows, len(self.groups))
        return self._regrouped(self.by, tuple(self.groups[row] for row in rows), numbers)

    def _regrouped(self, by: tuple[str, ...], groups: tuple[Group, ...], positions: Sequence[int]) -> OpenTally:
        """Return the reports with new numbers of their groups; groups with the number -1 are left out."""
        rows, position = self.rows
        numbers = np.array(positions, dtype=np.int64)
        index, present = numbers[position], numbers >= 0
        amounts = {name: np.atleast_1d(getattr(self, name))[present] for name in LEFT_OUT}
        left = {name: _by_group(by, groups, numbers[present], values) for name, values in amounts.items()}
        dropped = self.dropped if present.all() or not np.any(self.unknown) else {}
        more = {"by": by, "groups": groups if by else (), "dropped": dropped, "skipped_files": self.skipped_files}
        return self.of_rows(self.design, rows[index >= 0], index[index >= 0], **more, **left)

    def __add__(self, other: object) -> OpenTally:
        if not isinstance(other, OpenTally):
            return NotImplemented
        self._refuse_other(other, {"design": "design", "by": "grouping"})
        groups = in_order((*self.groups, *other.groups))
        numbers = [numbers_of(part.groups, groups) if self.by else [0] for part in (self, other)]
        parts = [part._regrouped(self.by, groups, own) for part, own in zip((self, other), numbers, strict=True)]
        more = {name: sum(getattr(part, name) for part in parts) for name in LEFT_OUT}
        more |= {"dropped": sum_of_invalid(self.dropped, other.dropped), "backend": self.backend}
        more["skipped_files"] = {**self.skipped_files, **other.skipped_files}
        rows, groups_of_rows = map(np.concatenate, zip(*(part.rows for part in parts), strict=True))
        return self.of_rows(self.design, rows, groups_of_rows, by=self.by, groups=groups, **more)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OpenTally):
            return NotImplemented
        same = (self.design, self.by, self.groups) == (other.design, other.by, other.groups)
        same = same and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in LEFT_OUT)
        return same and all(np.array_equal(one, two) for one, two in zip(self.rows, other.rows, strict=True))

    def __hash__(self) -> int:
        return hash((self.design, self.by, self.groups, int(np.sum(self.n))))

    # Files

    def to_dict(self) -> Document:
        """Return the tally as a JSON document: the design, and the reports of each group."""
        rows, index = self.rows
        form = self.design.report_form
        lists = [form.written(rows[index == number]).tolist() for number in range(self._width)]
        return {
            "format": FORMAT,
            "version": VERSION,
            "design": self.design.to_dict(),
            "reports": lists if self.by else lists[0],
            **self._groups_document(),
            **skipped_fields(self.skipped_files),
        }

    @classmethod
    def from_dict(cls, fields: Document) -> OpenTally:
        """Read a document of `to_dict`; anything else raises an error that names the reason."""
        names = {"design", "reports", "missing", "unknown", "by", "groups"}
        checked(fields, FORMAT, VERSION, names, frozenset({"skipped_files"}))
        try:
            return cls._from_fields(fields)
        except (TypeError, ValueError) as error:
            raise ValueError(f"this tally is damaged: {error}") from None

    @classmethod
    def _from_fields(cls, fields: Document) -> OpenTally:
        design, grouping = device_from_dict(fields["design"]), grouping_from_json(fields)
        if not isinstance(design, OpenDomain):
            raise ValueError(f"design must be an open domain, but is a {design.mechanism}")
        by = grouping["by"]
        lists = fields["reports"] if by else [fields["reports"]]
        width = len(grouping["groups"]) if by else 1
        if not isinstance(lists, list) or not all(isinstance(part, list) for part in lists) or len(lists) != width:
            raise ValueError("reports must be a list of reports, one for each group where there are groups")
        read = [design.report_form.read(part) for part in lists]
        if any(part.status.any() for part in read):
            raise ValueError(f"reports must be {design.report_form.rule}")
        left: dict[str, Any] = {}
        for name in LEFT_OUT:
            numbers = fields[name] if by else [fields[name]]
            if not isinstance(numbers, list) or any(type(number) is not int for number in numbers):
                raise ValueError(f"{name} must be a whole number, one for each group")
            left[name] = np.array(numbers, dtype=np.int64 if not numbers else None) if by else numbers[0]
        index = np.repeat(np.arange(width), [len(part) for part in lists])
        rows = np.concatenate([design.report_form.read([]).reports, *(part.reports for part in read)])
        return cls.of_rows(design, rows, index, **grouping, **left)

    def __repr__(self) -> str:
        sizes = self.level_sizes.reshape(-1, self.design.levels).sum(axis=0).tolist()
        levels = counted(self.design.levels, "level", "levels")
        return f"<{self._described(f'of {levels}', '', ', '.join(f'{size:,}' for size in sizes))}>"


def _by_group(by: tuple[str, ...], groups: Sequence[Group], index: Integers, amounts: Integers) -> Any:
    """Add up amounts by the number of their group; without groups to one number."""
    total = added_up(index, amounts, len(groups) if by else 1)
    return total if by else int(total[0])


def open_tally(
    design: OpenDomain,
    by: tuple[str, ...],
    parts: Iterable[tuple[Rows, Mapping[str, int]]],
    *,
    drop: bool,
    backend: str | None = None,
) -> OpenTally:
    """Make a tally of rows and of the invalid values among them, which raise an error unless `drop`."""
    parts = list(parts)
    groups = in_order(group for rows, _ in parts for group in rows.groups)
    reports, indices = [design.report_form.read([]).reports], [np.zeros(0, dtype=np.int64)]
    strange: dict[str, int] = {}
    totals: dict[str, Any] = dict.fromkeys(LEFT_OUT, 0)
    for rows, unknown in parts:
        index = np.array(numbers_of(rows.groups, groups), dtype=np.int64)
        size = len(rows.status)
        group = np.repeat(index[:1], size) if rows.group_index is None else index[rows.group_index]
        number = np.ones(size, dtype=np.int64) if rows.number is None else rows.number.astype(np.int64)
        good = np.flatnonzero(rows.status == 0)
        if rows.number is not None:
            _refuse_many(int(number[good].sum()), design)
            good = np.repeat(good, number[good])
        reports.append(rows.reports[good])
        indices.append(group[good])
        for name, which in zip(LEFT_OUT, (rows.status == MISSING, rows.status < MISSING), strict=True):
            totals[name] = totals[name] + _by_group(by, groups, group[which], number[which])
        strange = sum_of_invalid(strange, unknown)
    if not drop:
        refuse_unknown(int(np.sum(totals["unknown"])), strange, design.report_form)
    more = {"by": by, "groups": groups if by else (), "dropped": strange, "backend": backend, **totals}
    return OpenTally.of_rows(design, np.concatenate(reports), np.concatenate(indices), **more)


def _refuse_many(reports: int, design: OpenDomain) -> None:
    """Raise an error for more reports than memory holds: each is stored, even if many are equal."""
    remedy = "check that counts are the numbers of reports"
    refuse_beyond_memory(reports, COPIES * design.report_form.width, f"{reports:,} reports", remedy)
