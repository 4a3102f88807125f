r"""Totals: the number of respondents with an answer, the sum of a number, and shares above or below a number.

If the population size N is known, a total is N times a share, or a mean, and so are its error and its limits. If it is
not, but weights are numbers of the population per report, it is the Horvitz-Thompson total :math:`\sum_i w_i z_i` with
the debiased answers z. The variance V of such a sum includes the variance of the sum of weights.

Clusters that happen to agree have V = 0, but their sum still varies: by the randomization, :math:`N^2 D` with D the
variance of the share given the true answers and N the sum of weights, and by respondents within clusters, S. So the
half-width of an interval is :math:`\max(t_d \sqrt V, z \sqrt{\max(N^2 D, S)})`. Direct answers may have no variance at
all, where strata determine them; then the limits are N times those of the share, except in a census.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from warner.arrays import Array, Counts, Mask, PerGroup, objects
from warner.designs.facts import LinearCombination, counts_everyone
from warner.designs.labels import all_labels
from warner.designs.ordered import NEARLY
from warner.inference.differences import student_error
from warner.inference.intervals import Confidence, Interval, IntervalResult, limits
from warner.inference.means import NumericResult, mean, numbers_of, sets_of, values_of
from warner.inference.normal import never_empty
from warner.inference.quantities import Rows
from warner.inference.ranking import reports_in_papers
from warner.reports.design_based import LinearScores
from warner.results import Column, Estimates, group_columns, name_columns
from warner.typesetting import number_text

if TYPE_CHECKING:
    from warner.documents import Document
    from warner.reports.tallies import Collected, Group, Tally


# Totals


KNOWN, EXPANDED = "known population", "sums of weights"  # sources of the population size
# What decides the width of the interval of a sum of weights
BY_DESIGN, BY_RANDOMIZATION, BY_RESPONDENTS = "linear", "randomization", "within_clusters"
FLOORS = {
    BY_RANDOMIZATION: "The sample shows less variance than the randomization adds: intervals use the larger one.",
    BY_RESPONDENTS: "Clusters show less variance than the respondents within them add: intervals use the larger one.",
}
ROUNDING_OF_SUMS = 1e-7  # part of the sum of weights that is rounding


@dataclass(frozen=True, eq=False, repr=False)
class Totals(IntervalResult):
    """Population totals of answers, or the population total of a number, with confidence intervals.

    Attributes
    ----------
    value, se, low, high : ndarray of shape (groups, answers), or (groups, 1) of a number
        The totals, their standard errors and intervals; NaN for a group without reports.
    confidence : Confidence
        The level.
    methods : tuple of str
        How the intervals of the shares, or of the mean, were computed. For sums of weights: ``linear``; or what adds
        more variance than the sample design shows, ``randomization`` or ``within_clusters``.
    weighted : bool
        Whether people were not drawn alike and alone, but have weights, strata or clusters.
    source : {"known population", "sums of weights"}
        Source of the population size.
    answers : tuple
        The answers; empty where the total is of a number.
    by, groups : tuple
        The names of the columns that groups come from, and the groups; empty without groups.
    sample : str
        What the sample consists of, such as 32 schools in 4 regions; empty where people were drawn alone.
    reports : str
        How many reports they rest on, and their epsilon.
    outside : str
        Why a total may lie outside its own interval: the bias of the estimator.
    """

    value: Array
    se: Array
    low: Array
    high: Array
    confidence: Confidence
    methods: tuple[str, ...]
    weighted: bool
    source: str
    answers: tuple[Any, ...] = ()
    by: tuple[str, ...] = ()
    groups: tuple[Group, ...] = ()
    sample: str = ""
    reports: str = ""
    outside: str = ""

    def estimates(self) -> Estimates:
        return Estimates(self.value, self.low, self.high, self.se)

    def _group_columns(self) -> dict[str, Counts]:
        return group_columns(self.by, self.groups, max(len(self.answers), 1))

    def rows(self) -> Rows:
        """Return the labels of the rows in a table of quantities, one for each answer and group."""
        of = [str(answer) for _ in self.value for answer in self.answers] or [""] * self.value.size
        names = [f"total of {answer}" if answer else "total" for answer in of]
        return Rows("total", of, names, self._group_columns(), f"{self.method}, {self.source}")

    @property
    def marked(self) -> Mask:
        """Totals outside their own intervals, one flag for each row."""
        return np.ravel((self.value < self.low) | (self.value > self.high))

    def _columns(self) -> list[Column]:
        answers = {"value": np.tile(objects(self.answers), len(self.value))} if self.answers else {}
        names, found = name_columns(self._group_columns() | answers), self.estimates()
        return [*names, *found.columns("total", self.interval_name, "total", self.marked.tolist(), found.reasons())]

    def _title(self) -> str:
        return "Estimated totals"

    def _footnotes(self) -> list[str]:
        outside = f"* outside its own interval: {self.outside}" if self.outside and self.marked.any() else ""
        floors = [FLOORS[name] for name in self.methods if name in FLOORS]
        notes = [self.reports, f"population size: {self.source}", *super()._footnotes(), outside, *floors]
        return list(filter(None, notes))

    def _facts(self) -> Document:
        axes = (slice(None) if self.groups else 0, slice(None) if self.answers else 0)
        numbers = {name: getattr(self, name)[axes] for name in ("value", "se", "low", "high")}
        known = {"groups": self.groups, "answers": self.answers, "sample": self.sample}
        about = {"level": self.confidence.level, "population": self.source, "method": self.method}
        given = {name: part for name, part in known.items() if part}
        return {"quantity": "total", **given, **numbers, **about, "approximate": self.approximate}


def totals(
    tally: Collected, shares: Array, population: Any, values: Any, confidence: Confidence, *, outside: str = ""
) -> Totals:
    """Estimate the number of respondents with each answer, or the sum of the numbers of the answers."""
    if population is None:
        numbers, methods = _expanded(tally, values, confidence)
    else:
        numbers, methods = _of_population(tally, shares, _number_of_people(tally, population), values, confidence)
    value, error, low, high = numbers
    return Totals(
        *(value, error, low, high),
        confidence,
        methods,
        not tally.simple,
        source=EXPANDED if population is None else KNOWN,
        answers=() if values is not None else tuple(all_labels(tally.domain).tolist()),
        by=tally.by,
        groups=tally.groups if tally.by else (),
        sample="" if tally.sample is None else tally.sample.described(),
        reports=reports_in_papers(tally),
        outside=outside,
    )


def _number_of_people(tally: Collected, population: Any) -> Array:
    """Return the population size, for each group, of shape (groups, 1)."""
    try:
        people = np.atleast_1d(np.asarray(population, dtype=np.float64))
    except (TypeError, ValueError):
        people = np.zeros(0)
    if people.shape not in {(1,), (len(tally.answered),)} or not (np.isfinite(people) & (people > 0)).all():
        each = ", or one for each group, in their order" if tally.by else ""
        raise ValueError(f"population must be the size of the population, above 0{each}, but got {population!r}")
    if people.size == 1 and len(tally.answered) > 1:
        raise ValueError("population must be one number for each group, in their order, but got one for all")
    return people[:, np.newaxis]


def _of_population(
    tally: Collected, shares: Array, people: Array, values: Any, confidence: Confidence
) -> tuple[tuple[Array, ...], tuple[str, ...]]:
    """Multiply shares, or the mean, with errors and limits by the population size; also return the methods."""
    if values is None:
        ends = limits(tally, confidence)
        parts = (shares.reshape(len(people), -1), ends.error, ends.low, ends.high)
        return tuple(people * part for part in parts), ends.methods
    found = mean(tally, values, confidence)
    parts = (found.value, found.se, found.low, found.high)
    return tuple(people * np.reshape(part, (-1, 1)) for part in parts), found.methods


def _expanded(tally: Collected, values: Any, confidence: Confidence) -> tuple[tuple[Array, ...], tuple[str, ...]]:
    """Compute Horvitz-Thompson totals of a complex sample with weights; also return the methods of their intervals."""
    if tally.sample is None or not tally.weighted:
        raise ValueError(
            "population must be given for totals, the size of the population; without it totals need weights that are "
            "numbers of the population per report, and strata, clusters, sampled or replicates for their variance"
        )
    part: Tally = tally.parts[0]
    if not counts_everyone(part.design.law):
        raise ValueError("population must be given under a design that asks each respondent about some of the answers")
    x = None if values is None else values_of(tally.domain, values)
    sets = None if x is None else LinearCombination(x[np.newaxis])
    answered = tally.answered
    counts, n = part.rows()
    question, size = LinearScores(part.design, sets), n[answered, np.newaxis].astype(np.float64)
    found = question.readout(counts[answered], size)
    keys = [tally.groups[row] if tally.by else () for row in np.flatnonzero(answered).tolist()]
    sums = np.asarray(found.count - found.base * size)
    variance, freedom = tally.sample.of_totals(question, sums, keys)
    value, error = sums / found.gain, np.sqrt(np.maximum(variance, 0)) / np.abs(found.gain)
    if found.error is not None:
        error = np.where(np.isinf(found.error), np.inf, error)
    least, most = (0.0, 1.0) if x is None else (float(x.min()), float(x.max()))
    rounding, tail = ROUNDING_OF_SUMS * (most - least) * size, confidence.tail(1)
    error = np.where(error > rounding, error, 0.0)
    within = tally.sample.within_clusters(question, keys) / np.square(found.gain)
    randomization = _of_randomization(part, x)
    wide, floor = student_error(error, freedom, tail), np.sqrt(np.maximum(randomization, within))
    half = -float(ndtri(tail)) * np.maximum(wide, floor)
    low, high = (
        np.maximum(end, min(0.0, least) * size) for end in never_empty(value, half, half, (least * size, most * size))
    )
    certain = np.maximum(error, floor) <= rounding
    if certain.any():
        nothing = np.zeros((len(answered), value.shape[1]))
        *_, lowest, highest = _of_population(tally, nothing, n[:, np.newaxis], values, confidence)[0]
        low, high = np.where(certain, lowest[answered], low), np.where(certain, highest[answered], high)
    decides = np.where(
        (wide >= floor) | certain, BY_DESIGN, np.where(randomization >= within, BY_RANDOMIZATION, BY_RESPONDENTS)
    )
    methods = tuple(name for name in (BY_DESIGN, BY_RANDOMIZATION, BY_RESPONDENTS) if (decides == name).any())
    if x is None:  # limits may exceed the sum of weights, which varies
        value = np.clip(value, 0, size)
    rows = np.full((4, len(answered), value.shape[1]), np.nan)
    rows[:, answered] = value, error, low, high
    return tuple(rows), methods


def _of_randomization(part: Tally, x: Array | None) -> Array:
    """Return the variance that the randomization adds to totals, given the true answers; 0 if not known."""
    answered = part.answered
    counts, n = part.rows()
    size, squares = n[answered, np.newaxis].astype(np.float64), np.atleast_1d(part.squares)[answered, np.newaxis]
    worth = size / squares  # by which weights become those of the effective number of respondents
    histogram = None if part.histogram is None else part.histogram.reshape(len(n), -1)[answered] * worth
    sets, width = None, 1.0
    if x is not None:
        width = float(np.ptp(x)) or 1.0
        sets = sets_of((x - x.min()) / width)
    given = part.design.law.readout(
        counts[answered] * worth, size * worth, sets, target="realised", histogram=histogram
    ).squared_errors("realised")
    return np.nan_to_num(given * (width * size) ** 2, posinf=0.0)


# Shares beyond


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ShareBeyond(NumericResult, Interval):
    """Share of respondents above, below or between numbers; with groups, one share for each.

    It has the attributes of `NumericResult <warner.inference.means.NumericResult>`. The value is the sum of
    the estimated shares, moved into the interval, which comes from the counts alone.

    Attributes
    ----------
    share_of : str
        Which numbers are meant, such as ``above 50``.
    se : float or ndarray
        The standard error of the unbiased estimate, as in the table of an estimate.
    """

    share_of: str
    se: PerGroup

    @property
    def name(self) -> str:
        return f"share {self.share_of}"

    def _identity(self) -> tuple[str, str, Document]:
        return "share", self.share_of, {"share_of": self.share_of}

    def estimates(self) -> Estimates:
        return Estimates(self.value, self.low, self.high, self.se, unit="share")


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
    """Estimate the share of respondents with a number above, below or within limits, in each group."""
    ends = {"above": above, "below": below, "within": within}
    given = {name: number for name, number in ends.items() if number is not None}
    if len(given) != 1:
        raise TypeError(f"give one of above, below and within, but got {' and '.join(given) or 'none of them'}")
    (name,) = given
    x = numbers_of(tally, values)
    if within is not None:
        try:
            least, most = (_on_grid(float(end), x) for end in within)
        except (TypeError, ValueError):
            raise ValueError(f"within must be two numbers, such as (18, 25), but got {within!r}") from None
        selected, range_text = (x >= least) & (x <= most), f"{_written(least)} to {_written(most)}"
    else:
        limit = _on_grid(_finite_number(*given.popitem()), x)
        selected, range_text = x > limit if above is not None else x < limit, _written(limit)
    if not selected.any():
        raise ValueError(
            f"{name} must leave some answers, but none lies {name} {range_text}; they are {_written(x.min())} to "
            f"{_written(x.max())}"
        )
    if confidence.simultaneous:
        raise ValueError("simultaneous intervals are for every answer, or cumulative; for one share leave it out")
    found = limits(tally, confidence, sets=[np.flatnonzero(selected).tolist()])
    low, high, error = (end[:, 0] for end in found[:3])
    value = np.clip(np.atleast_2d(shares)[:, selected].sum(axis=1), low, high)
    numbers = {"value": value, "se": error, "low": low, "high": high}
    return ShareBeyond.of_groups(tally, numbers, confidence, found.methods, share_of=f"{name} {range_text}")


def _on_grid(limit: float, x: Array) -> float:
    """Return the number of an answer that equals the limit up to rounding, otherwise the limit: 3 * 0.1 is 0.3."""
    points = np.unique(x)
    nearest = points[np.abs(points - limit).argmin()]
    rounding = max(NEARLY * np.diff(points).min(initial=np.inf), 4 * np.spacing(abs(nearest)))
    return float(nearest) if points.size > 1 and abs(nearest - limit) <= rounding else limit


def _written(limit: float) -> str:
    return number_text(limit).replace(",", "")


def _finite_number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not np.isfinite(value):
        raise ValueError(f"{name} must be a finite number, but got {value!r}")
    return float(value)
