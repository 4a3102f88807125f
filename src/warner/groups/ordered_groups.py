"""Groups in an order: what numbers, dates, weeks, months and quarters are read as positions on a line."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from warner.arrays import Array, Mask
    from warner.reports.pools import Collected

EPOCH = date(1970, 1, 1)
NUMBER_AS_TEXT = re.compile(r"[-+]?\d{1,15}(\.\d+)?")
DATE = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d))?(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")
WEEK = re.compile(r"(\d{4})-?W(\d\d)", re.IGNORECASE)
QUARTER = re.compile(r"(\d{4})[- ]?Q([1-4])", re.IGNORECASE)


class Axis(NamedTuple):
    """Where groups lie: positions, NaN for those without one; and whether these are days since 1970."""

    positions: Array
    dates: bool

    @property
    def order(self) -> NDArray[np.intp]:
        """The groups that have a position, from left to right."""
        placed = np.flatnonzero(np.isfinite(self.positions))
        return placed[np.argsort(self.positions[placed], kind="stable")]


def axis_of_values(values: Sequence[object]) -> Axis | None:
    """Give the axis of values that have an order; None where they have none. Missing values have no position.

    >>> axis_of_values(["2026-W01", "2026-W02", "2026-W10", None]).positions.tolist()
    [20451.0, 20458.0, 20514.0, nan]
    """
    known = list(dict.fromkeys(value for value in values if value is not None))
    if not known or any(isinstance(value, bool) for value in known):
        return None
    for reads, dates in ((_number, False), (_day, True)):
        found = [reads(value) for value in known]
        if None not in found and len(set(found)) == len(found):
            places = dict(zip(known, found, strict=True))
            positions = [np.nan if value is None else places[value] for value in values]
            return Axis(np.array(positions, dtype=np.float64), dates)
    return None


def has_place(tally: Collected, along: str | None) -> Mask:
    """Tell which groups have a place along a column: those that have a value of it; all where there is no order."""
    if along is None:
        return np.ones(len(tally.groups), dtype=bool)
    return np.array([group[tally.by.index(along)] is not None for group in tally.groups])


def without_place(tally: Collected, along: str | None) -> str:
    """Say that some groups have no place along a column; nothing where all have."""
    all_placed = has_place(tally, along).all()
    return "" if all_placed else f"groups without a value of {along!r} have no place along it, and no share here"


def _number(value: object) -> float | None:
    if isinstance(value, int | float):
        return float(value) if np.isfinite(value) else None
    return float(value) if isinstance(value, str) and NUMBER_AS_TEXT.fullmatch(value.strip()) else None


def _day(value: object) -> float | None:
    """Read a date as days since 1970: a day, with or without a time; the first day of a week, a month or a quarter."""
    if isinstance(value, datetime | date):
        value = value.isoformat()
    text = str(value).strip()
    try:
        if found := WEEK.fullmatch(text):
            return float((date.fromisocalendar(int(found[1]), int(found[2]), 1) - EPOCH).days)
        if found := QUARTER.fullmatch(text):
            return float((date(int(found[1]), 3 * int(found[2]) - 2, 1) - EPOCH).days)
        if not (found := DATE.fullmatch(text)):
            return None
        year, month, day, hour, minute, second = (int(part) if part else None for part in found.groups())
        moment = datetime(year or 0, month or 0, day or 1, hour or 0, minute or 0, second or 0, tzinfo=UTC)
    except ValueError:  # February 30
        return None
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(days=1)
