r"""Trends and covariates of groups: random walks by Kalman's filter and smoother, ordered groups, group regressions.

The share of week t is the share of week t - 1 plus a step, :math:`\theta_t = \theta_{t-1} + \tau \eta_t`, and its
direct estimate :math:`y_t = \theta_t + e_t` has the variance :math:`v_t` of the design at the overall share. The filter
starts diffuse: the first week with reports has level :math:`y` and variance v, and is no part of the likelihood [1]_.
Weeks without reports are bridged, and before the first report the level is carried back, each with a variance that
grows by :math:`\tau^2` per step. Where weeks are d apart the step has the variance :math:`d \tau^2`. Several series (a
region each) have the same :math:`\tau`, and a start each. The weight of a week's own reports is the derivative of its
smoothed share in :math:`y_t`, which is :math:`\operatorname{Var}(\theta_t \mid y) / v_t`.

**Test of a constant share.** The most likely step of a constant share is 0 more often than half of the time [2]_: the
likelihood rises from 0 if a Cramér-von Mises statistic, summed over S series, exceeds its mean. A gamma distribution
with the same skewness has the shape 0.6125 S. The likelihood ratio is compared with chi-squared with one degree of
freedom times that probability (docs/theory/groups-and-samples.md has its measured size).

.. [1] J. Durbin, S. J. Koopman, "Time Series Analysis by State Space Methods", 2nd edition, Oxford 2012, chapter 2.
.. [2] N. G. Shephard, A. C. Harvey, "On the probability of estimating a deterministic component in the local level
   model", J. Time Ser. Anal. 11 (1990), 339-347.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import chdtri, gammaincc

from warner.arrays import SMALLEST, Array, Counts, Integers, Mask
from warner.groups.fay_herriot import DirectEstimates, Pooled, largest_spread, likely_range, refined_maximum, trapezoid
from warner.numerics import bisected
from warner.regression.formulas import kind
from warner.reports.loading import column
from warner.reports.tallies import Collected, Group, Pool, group_order
from warner.runtime import narwhals as nw
from warner.text import counted, enumerated, group_name, quoted

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Random walk


STEPS_TRIED, STEPS_AVERAGED = 25, 33  # of the grid on which the likelihood is looked for, and of that which is averaged
NEGLIGIBLE_WALK_NATS = 12.0  # nats below the maximum of the likelihood
# Of a gamma law with the skewness of Cramer's and von Mises's statistic, whose cumulants are 1/6, 1/45, 8/945.
SCORE_SHAPE = 4 * (1 / 45) ** 3 / (8 / 945) ** 2
WALK_TOLERANCE = 1e-7  # how near an end of the interval of a step is found
REGULAR = 0.11  # months have 28 to 31 days: distances so near to whole steps are whole


class Series(NamedTuple):
    """Groups in their order: `indices`, of shape (length, series), -1 where a series is shorter; distances between."""

    indices: Integers
    distances: Array

    @property
    def present(self) -> Mask:
        """Mask of the positions with a group, empty or not."""
        return np.asarray(self.indices >= 0)

    def laid_out(self, values: Counts) -> Counts:
        """Arrange values of the groups in the order of the series; 0 where there is no group."""
        return np.where(self.present, values[self.indices], 0)

    def collected(self, values: Array, groups: int) -> Array:
        """Return values of shape (length, series) by group; NaN for groups in no series."""
        result = np.full(groups, np.nan)
        result[self.indices[self.present]] = values[self.present]
        return result


def ordered_series(positions: Array, series: Integers) -> Series:
    """Order groups by position, each series by itself; NaN is no position.

    Distances are in steps: the usual distance, their median, is one.

    >>> ordered_series(np.array([7.0, 21.0, 14.0, 35.0]), np.zeros(4, dtype=np.int64)).distances.ravel().tolist()
    [0.0, 1.0, 1.0, 2.0]
    """
    placed = np.flatnonzero(np.isfinite(positions))
    order = placed[np.lexsort((positions[placed], series[placed]))]
    _, first, lengths = np.unique(series[order], return_index=True, return_counts=True)
    row = np.arange(order.size) - np.repeat(first, lengths)
    column = np.repeat(np.arange(lengths.size), lengths)
    indices = np.full((lengths.max(), lengths.size), -1)
    indices[row, column] = order
    gaps = np.diff(np.where(indices >= 0, positions[indices], np.nan), axis=0, prepend=np.nan)
    usual = np.nanmedian(gaps) if np.isfinite(gaps).any() else 1.0
    steps = np.nan_to_num(gaps / usual)
    whole = np.maximum(np.rint(steps), 1)
    return Series(indices, np.where((steps > 0) & (np.abs(steps - whole) <= REGULAR * whole), whole, steps))


class Smoothed(NamedTuple):
    """Log-likelihoods, (steps,), smoothed shares and their variances, (length, series, steps)."""

    log_likelihood: Array
    share: Array
    variance: Array


def smoothed(share: Array, noise: Array, observed: Mask, distances: Array, steps: Array) -> Smoothed:
    """Filter and smooth series of direct estimates, (length, series), at each step; NaN for a series without any."""
    shape = (*share.shape, steps.size)
    level, variance, predicted = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    growth = distances[:, :, np.newaxis] * steps**2
    now, uncertainty = np.full(shape[1:], np.nan), np.full(shape[1:], np.inf)
    likelihood = np.zeros(steps.size)
    with np.errstate(invalid="ignore"):
        for t in range(len(share)):
            uncertainty = uncertainty + growth[t]
            predicted[t] = uncertainty
            y, v, seen = share[t, :, np.newaxis], noise[t, :, np.newaxis], observed[t, :, np.newaxis]
            first = np.isinf(uncertainty)
            total, error = uncertainty + v, y - now
            likelihood -= np.where(seen & ~first, np.log(total) + error**2 / total, 0).sum(axis=0) / 2
            gain = np.where(first, 1.0, uncertainty / total)
            now = np.where(seen, np.where(first, y, now + gain * error), now)
            uncertainty = np.where(seen, np.where(first, v, uncertainty * (1 - gain)), uncertainty)
            level[t], variance[t] = now, uncertainty
        for t in range(len(share) - 2, -1, -1):
            later, spread = level[t + 1], variance[t + 1]  # smoothed already
            start = np.isinf(variance[t])  # before the first report
            back = variance[t] / predicted[t + 1]
            level[t] = np.where(start, later, level[t] + back * (later - level[t]))
            bridged = variance[t] + back**2 * (spread - predicted[t + 1])
            variance[t] = np.where(start, spread + growth[t + 1], bridged)
    return Smoothed(likelihood, level, variance)


@dataclass(frozen=True)
class RandomWalks:
    """The direct estimates of one set of answers along series: their likelihood, smoothed shares and step."""

    direct: DirectEstimates
    series: Series

    @cached_property
    def overall(self) -> float:
        return self.direct.overall()

    @cached_property
    def largest(self) -> float:
        """The largest step considered: that of shares that jump from one end to the other."""
        return largest_spread(self.direct, self.overall)

    @cached_property
    def noise(self) -> Array:
        return self.series.laid_out(self.direct.sampling_variance(self.overall, 0.0))

    @cached_property
    def observed(self) -> Mask:
        return self.series.laid_out(self.direct.informative).astype(bool)

    def smoothed(self, steps: Array) -> Smoothed:
        share = self.series.laid_out(self.direct.share)
        return smoothed(share, self.noise, self.observed, self.series.distances, steps)

    def likelihood(self, steps: Array) -> Array:
        return self.smoothed(steps).log_likelihood

    @cached_property
    def tried(self) -> Array:
        """A first grid of steps, finer near 0."""
        return np.asarray(self.largest * np.linspace(0, 1, STEPS_TRIED) ** 3)

    def pooled(self) -> Pooled:
        """Return the smoothed shares, averaged over the standard deviation of a step."""
        steps = likely_range(self.likelihood, self.tried, STEPS_AVERAGED, NEGLIGIBLE_WALK_NATS)
        values, shares, variances = self.smoothed(steps)
        weights = trapezoid(values)
        share = shares @ weights
        error = np.sqrt(np.maximum((variances + shares**2) @ weights - share**2, 0))
        own = np.divide(variances @ weights, self.noise, out=np.zeros_like(share), where=self.observed)
        groups = self.direct.share.size
        share, error, own = (self.series.collected(part, groups) for part in (share, error, own))
        spread = refined_maximum(self.likelihood, steps, values)
        return Pooled(share, error, own, np.full(groups, self.overall), spread, self.overall, steps, weights)

    @cached_property
    def most_likely(self) -> tuple[float, float]:
        """The most likely step, and its log-likelihood."""
        best = refined_maximum(self.likelihood, self.tried, self.likelihood(self.tried))
        return best, float(self.likelihood(np.array([best]))[0])

    def likelihood_ratio(self) -> float:
        """Return the likelihood-ratio statistic of a constant share."""
        return 2 * max(self.most_likely[1] - float(self.likelihood(np.zeros(1))[0]), 0.0)

    def chance_of_a_step(self) -> float:
        """Return the probability that the estimated step is positive although nothing changes."""
        shape = SCORE_SHAPE * max(int((self.observed.sum(axis=0) > 1).sum()), 1)
        return float(gammaincc(shape, shape))

    def limits(self, level: float) -> tuple[float, float]:
        """Compute the profile-likelihood interval of the step."""
        best, top = self.most_likely
        least = top - float(chdtri(1, 1 - level)) / 2

        def likely(step: float) -> bool:
            return bool(self.likelihood(np.array([step]))[0] >= least)

        low, high = 0.0, self.largest
        if not likely(low):
            low, _ = bisected(likely, low, best, close=WALK_TOLERANCE)
        if not likely(high):
            _, high = bisected(lambda step: not likely(step), best, high, close=WALK_TOLERANCE)
        return low, high


# Ordered groups


EPOCH = date(1970, 1, 1)
NUMBER_AS_TEXT = re.compile(r"[-+]?\d{1,15}(\.\d+)?")
DATE = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d))?(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")
WEEK = re.compile(r"(\d{4})-?W(\d\d)", re.IGNORECASE)
QUARTER = re.compile(r"(\d{4})[- ]?Q([1-4])", re.IGNORECASE)


class Axis(NamedTuple):
    """Positions of groups on an axis: positions, NaN for those without one; and whether these are days since 1970."""

    positions: Array
    dates: bool

    @property
    def order(self) -> NDArray[np.intp]:
        """The groups that have a position, from left to right."""
        placed = np.flatnonzero(np.isfinite(self.positions))
        return placed[np.argsort(self.positions[placed], kind="stable")]


def axis_of_values(values: Sequence[object]) -> Axis | None:
    """Return the axis of ordered values, or None. Missing values have no position.

    >>> axis_of_values(["2026-W01", "2026-W02", "2026-W10", None]).positions.tolist()
    [20451.0, 20458.0, 20514.0, nan]
    """
    known = list(dict.fromkeys(value for value in values if value is not None))
    if not known or any(isinstance(value, bool) for value in known):
        return None
    for reads, dates in ((_as_number, False), (_day, True)):
        found = [reads(value) for value in known]
        if None not in found and len(set(found)) == len(found):
            indices = dict(zip(known, found, strict=True))
            positions = [np.nan if value is None else indices[value] for value in values]
            return Axis(np.array(positions, dtype=np.float64), dates)
    return None


def has_position(tally: Collected, along: str | None) -> Mask:
    """Return which groups have a value of the column `along`; all without an order."""
    if along is None:
        return np.ones(len(tally.groups), dtype=bool)
    return np.array([group[tally.by.index(along)] is not None for group in tally.groups])


def without_position(tally: Collected, along: str | None) -> str:
    """Return a warning if some groups have no value of the column `along`."""
    complete = has_position(tally, along).all()
    return "" if complete else f"groups without a value of {along!r} have no position along it, and no share here"


def _as_number(value: object) -> float | None:
    if isinstance(value, int | float):
        return float(value) if np.isfinite(value) else None
    return float(value) if isinstance(value, str) and NUMBER_AS_TEXT.fullmatch(value.strip()) else None


def _day(value: object) -> float | None:
    """Read a date as days since 1970: a day, with or without a time; the first day of a week, month or quarter."""
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


# Group covariates


COLLINEAR = 1e-9  # of the largest diagonal of a triangular factor: below, a covariate follows from the others


class Covariates(NamedTuple):
    """A tally with all groups that have covariates, their names, and a row of an orthonormal basis for each group."""

    tally: Collected
    names: tuple[str, ...]
    matrix: Array


def group_covariates(tally: Collected, on: Any) -> Covariates:
    """Join columns of numbers to the groups of a tally; groups without reports get a share by the regression."""
    columns = _columns(on)
    for name in tally.by:
        if name not in columns:
            raise ValueError(
                f"on must have the column {name!r}, which names the groups, but has "
                f"{enumerated([repr(other) for other in columns]) or 'none'}"
            )
    names = tuple(name for name in columns if name not in tally.by)
    if not names:
        raise ValueError(f"on must have a column of numbers besides {enumerated([repr(name) for name in tally.by])}")
    rows = list(zip(*(_group_values(columns[name]) for name in tally.by), strict=True))
    if len(set(rows)) < len(rows):
        twice = next(row for index, row in enumerate(rows) if row in rows[:index])
        raise ValueError(f"on must have one row for each group, but {quoted(group_name(twice))} occurs twice")
    found, others = _matched(tally.groups, rows)
    numbers = np.column_stack([_finite_column(name, columns[name]) for name in names])
    complete = _with_groups(tally, [rows[index] for index in others])
    of_group = dict(zip(tally.groups, found, strict=True)) | {rows[index]: index for index in others}
    values = numbers[[of_group[group] for group in complete.groups]]
    answered = complete.answered
    if answered.sum() <= len(names) + 1:
        groups = counted(int(answered.sum()), "group", "groups")
        raise ValueError(
            "on must have fewer covariates than there are groups with reports, less one for the overall share and one "
            f"for the spread, but has {len(names)} for {groups}; leave some out"
        )
    return Covariates(complete, names, _orthonormal(values, answered, names))


def _columns(on: Any) -> dict[str, Any]:
    if isinstance(on, Mapping):
        columns = {str(name): values for name, values in on.items()}
        lengths = {len(values) for values in columns.values() if hasattr(values, "__len__")}
        if any(not hasattr(values, "__len__") or isinstance(values, str) for values in columns.values()):
            raise TypeError("on must hold columns of equal length, with a row for each group")
        if len(lengths) > 1:
            raise ValueError(f"on must have columns of equal length, but they have lengths {sorted(lengths)}")
        return columns
    try:
        frame: Any = nw.from_native(on)
    except TypeError:
        raise TypeError(
            f"on must be a data frame or a mapping of columns, with a row for each group, but got {type(on).__name__}"
        ) from None
    whole = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    return {name: whole[name] for name in whole.columns}


def _group_values(values: Any) -> list[Any]:
    """Convert values that name groups to Python: whole numbers to int, missing values to None."""
    listed = values.to_list() if hasattr(values, "to_list") else np.asarray(values, dtype=object).tolist()
    plain = (value.item() if isinstance(value, np.generic) else value for value in listed)
    return [None if value != value else _as_integer(value) for value in plain]  # NaN differs from itself


def _as_integer(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _matched(groups: tuple[Group, ...], rows: list[Group]) -> tuple[list[int], list[int]]:
    """Find the row of each group, and the other rows: by values, otherwise by text, such as 1 and "1"."""
    indices = {row: index for index, row in enumerate(rows)}
    written = {tuple(map(str, row)): index for index, row in enumerate(rows)}
    found = [indices.get(group, written.get(tuple(str(_as_integer(value)) for value in group), -1)) for group in groups]
    absent = [group_name(group) for group, index in zip(groups, found, strict=True) if index < 0]
    if absent:
        raise ValueError(
            f"on must have a row for each group, but has none for {enumerated([quoted(name) for name in absent])}"
        )
    return found, sorted(set(range(len(rows))) - set(found))


def _finite_column(name: str, values: Any) -> Array:
    read = column(name, values)
    if kind(read.values) == "text":
        raise ValueError(f"on must hold numbers, but column {name!r} holds texts; make a column of 0 and 1 for each")
    if read.missing.any():
        lacking = counted(int(read.missing.sum()), "row lacks", "rows lack")
        raise ValueError(f"on must have no missing values, but {lacking} {name!r}")
    numbers = read.values.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError(f"on must hold finite numbers, but column {name!r} does not")
    return numbers


def _with_groups(tally: Collected, more: list[Group]) -> Collected:
    if not more:
        return tally
    groups = tuple(sorted([*tally.groups, *more], key=group_order))
    parts = tuple(part.with_groups(groups) for part in tally.parts)
    return Pool(parts) if len(parts) > 1 else parts[0]


def _orthonormal(values: Array, answered: Any, names: tuple[str, ...]) -> Array:
    """Return a basis of intercept and covariates that is orthonormal over the groups with reports."""
    values = values / np.maximum(np.abs(values).max(axis=0), SMALLEST)  # so that squares are numbers
    center, scale = values[answered].mean(axis=0), values[answered].std(axis=0)
    if (scale == 0).any():
        raise ValueError(f"on must vary between groups, but {names[int((scale == 0).argmax())]!r} is the same in all")
    matrix = np.column_stack([np.ones(len(values)), (values - center) / scale])
    factor: Array = np.linalg.qr(matrix[answered]).R
    diagonal = np.abs(np.diag(factor))
    dependent = diagonal <= COLLINEAR * diagonal.max()
    if dependent.any():
        name = names[int(dependent.argmax()) - 1]
        raise ValueError(f"on must not hold {name!r}, which follows from the other covariates; leave it out")
    return np.asarray(np.linalg.solve(factor.T, matrix.T).T)
