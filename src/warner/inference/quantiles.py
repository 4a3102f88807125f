r"""Quantiles with confidence intervals, from limits of the distribution function at each single number.

The :math:`\tau`-quantile is :math:`q = \min\{x : F(x) \ge \tau\}`. Let L(t) and U(t) be limits of F(t), each of which
misses with probability at most :math:`\alpha/2` at every single t. The interval is from the first t with
:math:`U(t) \ge \tau` up to the one after the last t with :math:`L(t) < \tau`.

*Each end misses with probability at most* :math:`\alpha/2`. The quantile is a fixed number. If q lies before the lower
end, then :math:`U(q) < \tau \le F(q)`, so that U misses at the fixed point q. If it lies after the upper end, let t be
the number before q: :math:`F(t) < \tau`, and t comes after the last with :math:`L < \tau`, so that
:math:`L(t) \ge \tau > F(t)` misses at the fixed point t. No simultaneous band is needed, and limits need not rise with
t. (Running maxima of L, or minima of U, which look harmless, would need one: the interval then misses too often.) The
interval is exact where the limits are, and never empty: else :math:`U < \tau \le L` somewhere, which no limits allow.

On a fine grid such limits are wide, because they assume nothing. Those of the curves of `smooth` assume that neighbours
are alike: F plus and minus multiples of its standard deviation over all curves. They are several times narrower, and
approximate; the page "Numbers" has their measured coverage.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from warner.designs.facts import Nested, Prefixes
from warner.estimators.methods import SMOOTHED
from warner.estimators.smoothing import smoothed_distribution
from warner.inference.intervals import Confidence, limits
from warner.inference.means import numbers_of
from warner.inference.numeric_results import NumericResult
from warner.typesetting import interval_cells, number_text
from warner.words import level_text

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers, Sets
    from warner.documents import Document
    from warner.reports.pools import Collected

REACHED = 1e-12  # how near to its level a sum of shares counts as there


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Quantile(NumericResult):
    """A quantile with its confidence interval; or one for each group.

    It has the attributes of `NumericResult <warner.inference.numeric_results.NumericResult>`. The value is that of the
    estimated shares, moved into its interval, whose ends are numbers that answers stand for.

    Attributes
    ----------
    tau : float
        The share of people at or below it: 0.5 for the median.
    """

    tau: float

    @property
    def name(self) -> str:
        """What it is called."""
        return quantile_name(self.tau)

    @property
    def part(self) -> tuple[str, str]:
        """What kind of quantity it is, and which of them."""
        return "quantile", f"{self.tau:.12g}"

    def _key(self) -> Document:
        return {"quantile": self.tau}

    def _said(self, **numbers: float) -> str:
        value, low, high = (number_text(numbers[name]) for name in self.numbers)
        return "no reports" if np.isnan(numbers["low"]) else f"{value}, {low} to {high}"

    def _cells(self, table: dict[str, Counts], about: str) -> dict[str, list[str]]:
        """Write values and limits as they are: numbers that answers stand for."""
        value, low, high = (
            ["" if np.isnan(x) else number_text(x) for x in table[name].tolist()] for name in self.numbers
        )
        return {self.name: value, about: interval_cells(low, high)}


def quantile_name(tau: float) -> str:
    """Say what a quantile is called.

    >>> quantile_name(0.5), quantile_name(0.9)
    ('median', '90 % quantile')
    """
    return "median" if tau == 0.5 else f"{level_text(tau)} quantile"


def check_tau(tau: Any) -> None:
    """Refuse what is no level of a quantile."""
    if isinstance(tau, bool) or not isinstance(tau, int | float | np.number) or not 0 < tau < 1:
        raise ValueError(f"a quantile must be one number between 0 and 1, such as 0.5 for the median, but got {tau!r}")


def quantile(
    tally: Collected, shares: Array, tau: float, values: Any, confidence: Confidence, *, method: str | None = None
) -> Quantile:
    """Give a quantile of the numbers that answers stand for, of each group, with the value of these shares.

    With the method `smooth`, limits and values are those of its curves.
    """
    check_tau(tau)
    if confidence.simultaneous:
        raise ValueError("a quantile has no simultaneous interval; raise the level to 1 - alpha/m for m quantiles")
    x = numbers_of(tally, values)
    if method is not None:
        return _smoothed_quantile(tally, tau, x, confidence, method)
    points, sets = up_to_each(x)
    # Any-time limits miss on either side with all of their probability: at two points, each may have half of it.
    each = replace(confidence, level=(1 + confidence.level) / 2) if confidence.anytime else confidence
    ends = limits(tally, each, sets=sets)
    low, high = (np.full(len(tally.answered), np.nan) for _ in range(2))
    value = low.copy()
    for group in np.flatnonzero(tally.answered).tolist():
        first, last = quantile_places(ends.low[group], ends.high[group], tau)
        place = place_of(np.atleast_2d(shares)[group], x, points, tau)
        low[group], high[group], value[group] = points[first], points[last], points[min(max(place, first), last)]
    return _made(tally, tau, (value, low, high), confidence, ends.methods)


def _made(
    tally: Collected, tau: float, rows: tuple[Array, Array, Array], confidence: Confidence, methods: tuple[str, ...]
) -> Quantile:
    numbers = dict(zip(Quantile.numbers, rows, strict=True))
    return Quantile.of_groups(tally, numbers, confidence, methods, tau=float(tau))


def _smoothed_quantile(tally: Collected, tau: float, x: Array, confidence: Confidence, method: str) -> Quantile:
    """Give a quantile by the curves of `smooth`: approximate, and only for answers whose numbers rise."""
    if method != SMOOTHED:
        raise ValueError(f'method must be "{SMOOTHED}", or be left out to assume nothing, but got {method!r}')
    if confidence.anytime or confidence.target != "population":
        raise ValueError(f'method="{SMOOTHED}" is for one look at the population: leave anytime and target out')
    if len(tally.parts) > 1:
        raise ValueError(f'method="{SMOOTHED}" is for one collection, but there are {len(tally.parts)} designs')
    if tally.sample is not None:
        raise ValueError(f'method="{SMOOTHED}" knows nothing of strata and clusters: leave it out for such a sample')
    if (np.diff(x) <= 0).any():
        raise ValueError(f'method="{SMOOTHED}" needs numbers that rise in the order of the answers, but these do not')
    (part,) = tally.parts
    answered = tally.answered
    curves = smoothed_distribution(part.histograms(np.flatnonzero(answered)), part.design)
    reach = float(-ndtri(confidence.tail(1)))
    rows = np.full((3, len(answered)), np.nan)
    for group, middle, deviation in zip(np.flatnonzero(answered).tolist(), *curves, strict=True):
        ends = np.clip(np.array([middle - reach * deviation, middle + reach * deviation]), 0.0, 1.0)
        ends[:, -1] = 1.0
        first, last = quantile_places(ends[0], ends[1], tau)
        place = int(np.argmax(middle >= tau - REACHED))
        rows[:, group] = x[min(max(place, first), last)], x[first], x[last]
    return _made(tally, tau, (rows[0], rows[1], rows[2]), confidence, (SMOOTHED,))


def up_to_each(x: Array) -> tuple[Array, Sets]:
    """Give the distinct numbers in ascending order, and the answers up to each of them."""
    points, place = np.unique(x, return_inverse=True)
    if np.array_equal(place, np.arange(x.size)):
        return points, Prefixes(x.size)
    order: Integers = np.argsort(place, kind="stable")
    return points, Nested(order, np.bincount(place).cumsum())


def quantile_places(low: Array, high: Array, tau: float) -> tuple[int, int]:
    """Turn limits of F at each number, of which the last is known to be 1, into the places that a quantile may have.

    >>> quantile_places(np.array([0.1, 0.3, 0.6, 1.0]), np.array([0.3, 0.6, 0.9, 1.0]), 0.5)
    (1, 2)
    """
    first = int(np.argmax(high >= tau))
    short = np.flatnonzero(low < tau)
    last = int(short[-1]) + 1 if short.size else 0
    return first, min(last, low.size - 1)


def place_of(shares: Array, x: Array, points: Array, tau: float) -> int:
    """Give the place of the quantile of estimated shares."""
    running = np.bincount(points.searchsorted(x), weights=shares, minlength=points.size).cumsum()
    reached = running >= tau - REACHED
    return int(np.argmax(reached)) if reached.any() else points.size - 1
