"""Shares of people above or below a number, or within two numbers, where answers are numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.designs.grids import NEARLY
from warner.inference.intervals import Confidence, Interval, limits
from warner.inference.means import numbers_of
from warner.inference.numeric_results import NumericResult
from warner.typesetting import estimate_columns, number_text
from warner.words import percent

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, PerGroup
    from warner.documents import Document
    from warner.reports.pools import Collected


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ShareBeyond(NumericResult, Interval):
    """The share of people above or below a number, or within two; or one for each group.

    It has the attributes of `NumericResult <warner.inference.numeric_results.NumericResult>`. The value is the sum of
    the estimated shares, moved into the interval, which comes from the counts alone.

    Attributes
    ----------
    share_of : str
        Which numbers are meant, such as ``above 50``.
    se : float or ndarray
        The standard error of the unbiased estimate, as in the table of an estimate.
    """

    numbers = ("value", "se", "low", "high")
    colon = ":"

    share_of: str
    se: PerGroup

    @property
    def name(self) -> str:
        """What it is called."""
        return f"share {self.share_of}"

    @property
    def part(self) -> tuple[str, str]:
        """What kind of quantity it is, and which of them."""
        return "share", self.share_of

    def _key(self) -> Document:
        return {"share_of": self.share_of}

    def _said(self, **numbers: float) -> str:
        value, low, high = (percent(numbers[name]) for name in ("value", "low", "high"))
        return "no reports" if np.isnan(numbers["low"]) else f"{value}, {low} to {high}"

    def _cells(self, table: dict[str, Counts], about: str) -> dict[str, list[str]]:
        """Write shares in percent, each row to two digits of its standard error."""
        columns = estimate_columns(table, self.name, about, of="value", times=100, unknown="")
        return {name: [f"{text} %" if text else "" for text in column] for name, column in columns.items()}


def share_beyond(
    tally: Collected,
    shares: Array,
    confidence: Confidence,
    *,
    above: Any = None,
    below: Any = None,
    within: Any = None,
    values: Any = None,
) -> ShareBeyond:
    """Give the share of people whose number is above or below one, or within two, both included, in each group."""
    given = {
        name: number for name, number in (("above", above), ("below", below), ("within", within)) if number is not None
    }
    if len(given) != 1:
        raise TypeError(f"give one of above, below and within, but got {' and '.join(given) or 'none of them'}")
    (name,) = given
    x = numbers_of(tally, values)
    if within is not None:
        try:
            least, most = (_on_grid(float(end), x) for end in within)
        except (TypeError, ValueError):
            raise ValueError(f"within must be two numbers, such as (18, 25), but got {within!r}") from None
        chosen, shown = (x >= least) & (x <= most), f"{_written(least)} to {_written(most)}"
    else:
        limit = _on_grid(_number(*given.popitem()), x)
        chosen, shown = x > limit if above is not None else x < limit, _written(limit)
    if not chosen.any():
        raise ValueError(
            f"{name} must leave some answers, but none lies {name} {shown}; they are {_written(x.min())} to "
            f"{_written(x.max())}"
        )
    if confidence.simultaneous:
        raise ValueError("simultaneous intervals are for every answer, or cumulative; for one share leave it out")
    ends = limits(tally, confidence, sets=[np.flatnonzero(chosen).tolist()])
    low, high, error = (end[:, 0] for end in (ends.low, ends.high, ends.error))
    value = np.clip(np.atleast_2d(shares)[:, chosen].sum(axis=1), low, high)
    numbers = {"value": value, "se": error, "low": low, "high": high}
    return ShareBeyond.of_groups(tally, numbers, confidence, ends.methods, share_of=f"{name} {shown}")


def _on_grid(limit: float, x: Array) -> float:
    """Return the number of an answer if a limit is that up to rounding, else the limit: 3 * 0.1 is 0.3."""
    points = np.unique(x)
    nearest = points[np.abs(points - limit).argmin()]
    rounding = max(NEARLY * np.diff(points).min(initial=np.inf), 4 * np.spacing(abs(nearest)))
    return float(nearest) if points.size > 1 and abs(nearest - limit) <= rounding else limit


def _written(limit: float) -> str:
    return number_text(limit).replace(",", "")


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not np.isfinite(value):
        raise ValueError(f"{name} must be a finite number, but got {value!r}")
    return float(value)
