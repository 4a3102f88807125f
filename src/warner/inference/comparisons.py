"""What can be said of the shares with confidence: how large, which is larger, who leads, who is there at all.

All of it comes from the counts and the design, never from an estimator: estimators differ, and are biased; a count is
binomial. With weights the counts are those of the effective number of reports, and everything here is approximate.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.designs import Channel, RandomizedResponse
from warner.designs.labels import positions, printable
from warner.inference.binomial import (
    ENOUGH,
    Difference,
    Reading,
    adjusted,
    certain_ranks,
    check_power,
    difference,
    difference_between,
    each_group,
    rates,
)
from warner.inference.intervals import absence, difference_of_two, limits, views

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warner.designs import Design
    from warner.reports.tallies import Tally

    Array = NDArray[np.float64]

SHOWN = 20  # names in a text


@dataclass(frozen=True, eq=False, repr=False)
class Interval:
    """A confidence interval for a share, or one for each of many.

    Attributes
    ----------
    low, high : float or ndarray
        The ends; of the shape of the estimate's shares where it is for every answer, one for each group otherwise.
    reading : Reading
        The level, whose share is meant (``population`` or ``realised``), and whether the intervals hold all at once.
    method : str
        How it was computed: clopper_pearson, wilson or score.
    approximate : bool
        Whether the level holds only about, because of the method or of weights.
    """

    low: Any
    high: Any
    reading: Reading
    method: str
    approximate: bool

    def __repr__(self) -> str:
        about = "approximate " if self.approximate else ""
        if np.ndim(self.low) == 0:
            return f"<{_percent(self.low)} to {_percent(self.high)}, {about}{self.reading}, {self.method}>"
        return f"<{np.size(self.low):,} of {about}{self.reading}, {self.method}>"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Two shares against each other.

    Attributes
    ----------
    first, second : str
        What is compared.
    difference : float or ndarray of shape (groups,)
        First minus second, unbiased.
    low, high : float or ndarray
        Confidence interval of the difference.
    ratio_low, ratio_high : float or ndarray
        Confidence interval of first over second; infinite where the second may be zero.
    p_value : float or ndarray
        Of "both shares in the population are equal".
    reading : Reading
        The level, and whose shares are meant.
    approximate : bool
        Whether the interval of the difference holds only about at its level.
    test : str
        What kind of test the p-value is of: ``exact``, ``approximate`` because of weights, or ``normal``.
    groups : tuple of tuple
        The groups, where there is one comparison for each.
    """

    first: str
    second: str
    difference: Any
    low: Any
    high: Any
    ratio_low: Any
    ratio_high: Any
    p_value: Any
    reading: Reading
    approximate: bool
    test: str = "exact"
    groups: tuple[tuple[Any, ...], ...] = ()

    def __repr__(self) -> str:
        return self.text()

    def text(self) -> str:
        """Say it in a line, or in one for each group."""
        head = f"{self.first} against {self.second}, {'approximate ' if self.approximate else ''}{self.reading}"
        rows = np.transpose([np.atleast_1d(getattr(self, name)) for name in _COMPARED])
        names = [f"{_group(group)}: " for group in self.groups] or [""]
        lines = [f"{name}{_told(row, self.test)}" for name, row in zip(names, rows.tolist(), strict=True)]
        return "\n".join([head, *lines])

    def to_dict(self) -> dict[str, Any]:
        """Give what JSON can hold; an infinite ratio, and what a group without reports has, as None."""
        numbers = {name: _plain(getattr(self, name)) for name in _COMPARED}
        about = {"level": self.reading.level, "target": self.reading.target, "approximate": self.approximate}
        grouped = {"groups": [list(group) for group in self.groups]} if self.groups else {}
        return {"first": self.first, "second": self.second, **grouped, **numbers, "test": self.test, **about}


_COMPARED = Difference._fields


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    """Who is certainly among the k commonest answers, and who may be.

    Attributes
    ----------
    k : int
        How many.
    certain, possible : ndarray of bool, of the shape of the tally's counts
        Certainly among the k commonest; not certainly outside.
    reading : Reading
        The level at which all of it holds at once, and whose shares are meant.
    tally : Tally
        The reports.
    """

    k: int
    certain: NDArray[np.bool_]
    possible: NDArray[np.bool_]
    reading: Reading
    tally: Tally

    def __repr__(self) -> str:
        return self.text()

    def text(self) -> str:
        """Say it in two lines, or in two for each group."""
        level = f"{100 * self.reading.level:.6g} % confidence, {self.reading.target}"
        what = "the commonest answer" if self.k == 1 else f"among the {self.k:,} commonest answers"
        lines = [f"Certainly {what} ({level}{_each(self.tally)}{_weighted(self.tally)}):"]
        for group, certain, possible, counts in _rows(self.tally, self.certain, self.possible):
            if not counts.sum():
                lines.append(f"{group}no reports")
                continue
            sure = _names(self.tally.design, certain, counts)
            lines.append(f"{group}{sure or 'none can be named'}")
            open_ = possible & ~certain
            if open_.any():
                places = f"and {self.k - certain.sum():,} more of" if certain.any() else f"{self.k:,} of"
                lines.append(f"  {places}: {_names(self.tally.design, open_, counts)}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Give what JSON can hold: the names, for each group."""
        labels = [_labels(self.tally.design, mask) for mask in np.atleast_2d(self.certain)]
        maybe = [_labels(self.tally.design, mask) for mask in np.atleast_2d(self.possible)]
        grouped = bool(self.tally.by)
        return {
            **_groups_of(self.tally),
            "k": self.k,
            "certain": labels if grouped else labels[0],
            "possible": maybe if grouped else maybe[0],
            "level": self.reading.level,
            "target": self.reading.target,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Presence:
    """Which answers somebody holds: those whose reports rise above the noise.

    Attributes
    ----------
    p_values : ndarray of the shape of the tally's counts
        Of "nobody holds it", for each answer alone.
    adjusted : ndarray of the same shape
        The p-values, adjusted for the number of answers.
    found : ndarray of bool of the same shape
        Whether the adjusted p-value is at most alpha.
    smallest : float or ndarray of shape (groups,)
        The share from which an answer would have been found with probability ``power``.
    alpha, power : float
    correction : str
        holm or bh.
    tally : Tally
        The reports.
    """

    p_values: Array
    adjusted: Array
    found: NDArray[np.bool_]
    smallest: Any
    alpha: float
    power: float
    correction: str
    tally: Tally

    def __repr__(self) -> str:
        return self.text()

    def text(self) -> str:
        """Say it in two lines, or in two for each group."""
        promise = {
            "holm": f"at most {100 * self.alpha:g} % chance of any false one",
            "bh": f"about {100 * self.alpha:g} % false ones among them on average, not proven",
        }[self.correction]
        lines = [f"Answers that somebody holds ({promise}{_each(self.tally)}{_weighted(self.tally)}):"]
        smallest = np.atleast_1d(self.smallest)
        for i, (group, found, _, counts) in enumerate(_rows(self.tally, self.found, self.found)):
            if not counts.sum():
                lines.append(f"{group}no reports")
                continue
            named = _names(self.tally.design, found, counts) or "none rises above the noise"
            share = f"a share of {_percent(min(smallest[i], 1))}" if smallest[i] <= 1 else "not even a share of 100 %"
            lines.append(f"{group}{named}")
            lines.append(f"  {share} would be found with a probability of {100 * self.power:g} %")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Give what JSON can hold: the names of the found, for each group."""
        labels = [_labels(self.tally.design, mask) for mask in np.atleast_2d(self.found)]
        return {
            **_groups_of(self.tally),
            "found": labels if self.tally.by else labels[0],
            "smallest": _plain(self.smallest),
            "alpha": self.alpha,
            "power": self.power,
            "correction": self.correction,
        }


def interval(
    tally: Tally, answers: Any, reading: Reading, *, method: str | None = None, cumulative: bool = False
) -> Interval:
    """Give the intervals of all shares, of one answer, of a set of answers, or of the cumulative shares."""
    shape = (*tally.counts.shape[:-1], tally.design.k)
    sets = None
    if answers is not None and cumulative:
        raise TypeError("give answers or cumulative=True (the shares of all answers up to each), not both")
    if answers is not None:
        one = isinstance(answers, str) or not isinstance(answers, Iterable)
        chosen = _positions([answers] if one else list(answers), tally.design)
        if len(set(chosen)) < len(chosen) or not chosen:
            raise ValueError(f"answers must be different answers, at least one, but got {answers!r}")
        if not one and reading.simultaneous:
            raise ValueError(
                "simultaneous intervals are for every answer, or cumulative; for one set of answers leave it out"
            )
        sets, shape = [chosen], shape[:-1]
    found = limits(tally, reading, sets=sets, cumulative=cumulative, method=method)
    about = found.approximate or found.method != "clopper_pearson" or tally.squares is not None
    return Interval(found.low.reshape(shape)[()], found.high.reshape(shape)[()], reading, found.method, about)


def compare(tally: Tally, first: Any, second: Any, reading: Reading) -> Comparison:
    """Compare two answers, in each group."""
    design = tally.design
    i, j = _positions([first, second], design)
    if i == j:
        raise ValueError(f"two different answers must be compared, but got {first!r} twice")
    _refuse_simultaneous(reading)
    names = repr(design.domain[i]), repr(design.domain[j])
    if not isinstance(design, RandomizedResponse):
        told, test = difference_of_two(tally, (i, j), reading)
        values = Difference(*(told if tally.by else (np.asarray(number)[0] for number in told)))
        about = test == "normal" or reading.target == "realised" or tally.squares is not None
        return Comparison(
            *names, *values, reading, about, test if tally.squares is None else "approximate", tally.groups
        )
    counts, n = tally.scaled()
    chosen, rate = counts[:, [i, j]].astype(np.float64), rates(design)

    def compared(c: Array, total: Array) -> Difference:
        return difference(c[:, 0], c[:, 1], total[:, 0], rate, reading.tail(1), reading.target)

    numbers = each_group(compared, chosen, n)
    found = Difference(*(numbers if tally.by else (number[0] for number in numbers)))
    few = bool((chosen.min(axis=-1)[n[:, 0] > 0] < ENOUGH).all())
    about = not few or tally.squares is not None
    return Comparison(*names, *found, reading, about, _test(tally), tally.groups)


def compare_groups(tally: Tally, answer: Any, between: tuple[Any, Any], reading: Reading) -> Comparison:
    """Compare one answer between two groups."""
    if not tally.by:
        raise ValueError("between needs groups: tally the reports with by=")
    names = {_group(group): group for group in tally.groups}
    keys = [key if isinstance(key, tuple) else (key,) for key in between]
    keys = [key if key in tally.groups else names.get(_group(key), key) for key in keys]  # by name, as they are shown
    for key in keys:
        if key not in tally.groups:
            shown = ", ".join(_group(group) for group in tally.groups[:SHOWN])
            raise ValueError(f"between must name two groups, but there is no group {_group(key)}; there are {shown}")
    if keys[0] == keys[1]:
        raise ValueError(f"two different groups must be compared, but got {_group(keys[0])} twice")
    _refuse_simultaneous(reading)
    (position,) = _positions([answer], tally.design)
    counts, n = tally.scaled()
    rows = [tally.groups.index(key) for key in keys]
    totals = (n[rows[0], 0], n[rows[1], 0])
    if min(totals) == 0:
        raise ValueError(f"both groups must have reports, but {_group(keys[int(np.argmin(totals))])} has none")
    if isinstance(tally.design, RandomizedResponse):
        binomial, rate = counts[:, position], rates(tally.design)
    else:
        (view,) = views(tally.design, [[position]]) if isinstance(tally.design, Channel) else (None,)
        if view is None or view.rate is None:
            raise ValueError(
                "groups can be compared where an answer's share is read off one binomial count; not under this design"
            )
        binomial, rate = counts[:, view.reports].sum(axis=-1), view.rate
    first, second = (float(binomial[row]) for row in rows)
    found = difference_between(first, second, totals, rate, reading.tail(1), reading.target)
    sides = [f"{tally.design.domain[position]!r} in {_group(key)}" for key in keys]
    about = min(first, second) >= ENOUGH or tally.squares is not None
    return Comparison(sides[0], sides[1], *found, reading, about, _test(tally))


def top(tally: Tally, k: int, reading: Reading) -> Ranking:
    """Tell who is certainly among the k commonest answers, from simultaneous intervals."""
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 1 <= k < tally.design.k:
        raise ValueError(
            f"k must be a whole number from 1 to {tally.design.k - 1:,}, below the number of answers, but got {k!r}"
        )
    at_once = Reading(reading.level, reading.target, simultaneous=True)
    found = limits(tally, at_once)
    shape = (*tally.counts.shape[:-1], tally.design.k)
    certain, possible = np.zeros((2, *shape), dtype=bool).reshape(2, -1, shape[-1])
    for row, (low, high) in enumerate(zip(found.low, found.high, strict=True)):
        if not np.isnan(low[0]):
            certain[row], possible[row] = certain_ranks(low, high, int(k))
    return Ranking(int(k), certain.reshape(shape), possible.reshape(shape), at_once, tally)


def present(tally: Tally, *, alpha: float, correction: str, power: float) -> Presence:
    """Tell which answers rise above the noise."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1, such as 0.05, but got {alpha!r}")
    check_power(power)
    plain, least = absence(tally, alpha / tally.design.k, power)
    corrected = adjusted(plain, correction)
    shape = (*tally.counts.shape[:-1], tally.design.k)
    return Presence(
        plain.reshape(shape),
        corrected.reshape(shape),
        (corrected <= alpha).reshape(shape),
        np.reshape(least, shape[:-1])[()],
        alpha,
        power,
        correction,
        tally,
    )


def _positions(answers: list[Any], design: Design) -> list[int]:
    found: list[int] = positions(answers, design.domain).tolist()
    for answer, position in zip(answers, found, strict=True):
        if position < 0:
            few = 5
            shown = ", ".join(map(repr, design.domain[:few])) + (", ..." if design.k > few else "")
            raise ValueError(f"an answer must be in the domain ({shown}), but got {answer!r}")
    return found


def _refuse_simultaneous(reading: Reading) -> None:
    if reading.simultaneous:
        raise ValueError(
            "one comparison has no simultaneous interval; raise the level to 1 - alpha/m for m comparisons"
        )


def _rows(tally: Tally, first: Any, second: Any) -> Any:
    """Go through the groups: the words for one, two masks, and the counts of the answers (or of all reports)."""
    names = [f"{_group(group)}: " for group in tally.groups] if tally.by else ["  "]
    return zip(names, np.atleast_2d(first), np.atleast_2d(second), np.atleast_2d(tally.counts), strict=True)


def _group(group: tuple[Any, ...]) -> str:
    return printable(" / ".join(map(str, group)))


def _groups_of(tally: Tally) -> dict[str, Any]:
    """Name the groups in the order of everything else, where there are any."""
    return {"groups": [list(group) for group in tally.groups]} if tally.by else {}


def _each(tally: Tally) -> str:
    return ", in each group" if tally.by else ""


def _labels(design: Design, mask: NDArray[np.bool_]) -> list[Any]:
    return [design.domain[i] for i in np.flatnonzero(mask)]


def _names(design: Design, mask: NDArray[np.bool_], counts: NDArray[Any]) -> str:
    """List the answers, the most reported first (the least, if lies are likelier than the truth)."""
    chosen = np.flatnonzero(mask)
    if isinstance(design, RandomizedResponse):
        sign = 1 if design.p < design.q else -1
        chosen = chosen[np.argsort(sign * counts[chosen], kind="stable")]
    more = f" and {chosen.size - SHOWN:,} more" if chosen.size > SHOWN else ""
    return ", ".join(printable(str(design.domain[i])) for i in chosen[:SHOWN]) + more


def _weighted(tally: Tally) -> str:
    return "" if tally.squares is None else "; approximate, because of weights"


def _told(row: list[float], test: str) -> str:
    middle, low, high, ratio_low, ratio_high, p_value = row
    if np.isnan(middle):
        return "no reports"
    times = f"{ratio_low:.3g} times or more" if np.isinf(ratio_high) else f"{ratio_low:.3g} to {ratio_high:.3g} times"
    ratio = "" if ratio_low == 0 and np.isinf(ratio_high) else f"; {times}"
    points = f"{100 * middle:+.2f} points, {100 * low:+.2f} to {100 * high:+.2f}{ratio}"
    return f"{points}; {test} test of equality in the population: p = {p_value:.2g}"


def _test(tally: Tally) -> str:
    return "exact" if tally.squares is None else "approximate"


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _plain(value: Any) -> Any:
    if np.ndim(value):
        return [_plain(part) for part in value]
    return float(value) if np.isfinite(value) else None
