r"""Means and standard deviations of numbers, and differences of means between groups.

The share of a set of answers is :math:`\sum_i u_i \theta_i` with :math:`u_i` one inside and zero outside. A mean is the
same with memberships in between: with :math:`u_i = (x_i - a)/(b - a)` for numbers from a to b, it is
:math:`a + (b-a)\sum_i u_i\theta_i`, the share of a fuzzy set. So a mean needs no statistics of its own. Its interval is
exact (Clopper and Pearson) where some reports are binomial in it, as under a cut-off response and under every design
with two possible reports; elsewhere it is that of an unbiased mean of scores, which is about normal.

The variance :math:`\sigma^2 = E(x-\mu)^2` is such a share as well, at the estimated mean, with the error of its
influence function :math:`(x-\mu)^2 - \sigma^2`; the standard deviation is its root.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.designs.exact import exact
from warner.designs.facts import Fuzzy
from warner.designs.grids import is_numeric
from warner.inference.comparisons import counts_compared, groups_between, shown_name
from warner.inference.complex_differences import STUDENT, domains_apart, student_error
from warner.inference.intervals import Confidence, joint, law_of, limits
from warner.inference.normal import normal_limits, normal_test
from warner.inference.numeric_results import NumericResult
from warner.reports.pools import holds_every_answer
from warner.results import Result, plain
from warner.typesetting import Printed, estimate_columns
from warner.words import enumerated, sentence

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, PerGroup, Sets
    from warner.designs.labels import Labels
    from warner.documents import Document
    from warner.inference.intervals import Limits
    from warner.reports.pools import Collected
    from warner.reports.tallies import Group

MEAN_DECIMALS = 8
THEMSELVES = "numbers"  # the values of answers that are numbers


def values_of(domain: Labels, values: Any = None) -> Array:
    """Give the number that each answer stands for: as given, or the answers themselves where these are numbers.

    >>> values_of(("0.5", "1", "20")).tolist()
    [0.5, 1.0, 20.0]
    >>> values_of(("never", "once"), {"never": 0, "once": "1/2"}).tolist()
    [0.0, 0.5]
    """
    if values is None or (isinstance(values, str) and values == THEMSELVES):
        if not is_numeric(domain):
            raise ValueError(
                f"answers must be numbers, but {_first_text(domain)!r} is none; give values, the number that each "
                "answer stands for, such as 0 for never and 1 for once, or the midpoints of brackets"
            )
        if isinstance(domain, range):
            return np.arange(domain.start, domain.stop, dtype=np.float64)
        return np.array([float(label) for label in domain])
    if isinstance(values, Mapping):
        missing = [label for label in domain if label not in values]
        strange = [label for label in values if label not in domain]
        if missing or strange:
            which = f"{missing[0]!r} has none" if missing else f"{strange[0]!r} is no answer"
            raise ValueError(f"values must have a number for each answer and for nothing else, but {which}")
        given: list[Any] = [values[label] for label in domain]
    elif isinstance(values, Iterable) and not isinstance(values, str):
        given = list(values)
        if len(given) != len(domain):
            raise ValueError(f"values must be {len(domain)} numbers, one for each answer, but got {len(given)}")
    else:
        raise TypeError(f'values must be a mapping, a sequence or "{THEMSELVES}", but got {values!r}')
    return np.array([float(exact("values", value)) for value in given])


def numbers_by_question(values: Mapping[str, Any] | None, questions: Sequence[str]) -> Mapping[str, Any]:
    """Check the numbers of some questions' answers, by the names of their columns."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise TypeError(f'values must map columns to numbers, such as {{"income": "numbers"}}, but got {values!r}')
    strange = [name for name in values if name not in questions]
    if strange:
        known = enumerated(list(map(repr, questions)), 8)
        raise ValueError(f"values must name randomized questions ({known}), but got {strange[0]!r}")
    return values


def _first_text(domain: Labels) -> object:
    return next(label for label in domain if not is_numeric((label, label)))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False, repr=False)
class Mean(NumericResult):
    """A mean, or a standard deviation, with its confidence interval; or one for each group.

    Attributes
    ----------
    value : float or ndarray of shape (groups,)
        The unbiased estimate that the interval belongs to, cut to the range of the numbers; whatever method gave the
        shares. NaN where reports do not tell it, and for a group without reports.
    se : float or ndarray
        Its standard error.
    low, high : float or ndarray
        The confidence interval.
    confidence : Confidence
        The level, whose mean is meant (``population`` or ``realised``), and whether the interval holds at all looks.
    methods : tuple of str
        How the interval was computed: clopper_pearson, exact, linear, korn_graubard or anytime.
    n : int or float, or ndarray of shape (groups,)
        The number of reports, or the sum of their weights.
    weighted : bool
        Whether people were not drawn alike and alone, but have weights, strata or clusters; then the effective number
        of reports stands for their number.
    quantity : {"mean", "standard deviation"}
        What it is.
    by, groups : tuple
        The names of the columns that groups come from, and the groups; empty without groups.
    """

    numbers = ("value", "se", "low", "high")

    value: PerGroup
    se: PerGroup
    low: PerGroup
    high: PerGroup
    confidence: Confidence
    methods: tuple[str, ...]
    n: PerGroup
    weighted: bool = False
    quantity: str = "mean"
    by: tuple[str, ...] = ()
    groups: tuple[Group, ...] = ()

    @property
    def name(self) -> str:
        """What it is called."""
        return self.quantity

    def _key(self) -> Document:
        return {"quantity": self.quantity}

    def _said(self, **numbers: float) -> str:
        return with_limits(numbers["value"], numbers["low"], numbers["high"], numbers["se"])

    def _cells(self, table: dict[str, Counts], about: str) -> dict[str, list[str]]:
        """Round each row to two digits of its standard error."""
        return estimate_columns(table, self.quantity, about, of="value")


def with_limits(value: float, low: float, high: float, error: float | None = None) -> str:
    """Write a number and its limits, to two digits of the standard error.

    >>> with_limits(41.2345, 38.9012, 43.5678, 1.19), with_limits(41234.5, 38901.2, 43567.8, 1190.0)
    ('41.2, 38.9 to 43.6', '41,234, 38,901 to 43,568')
    """
    if math.isnan(low):
        return "no reports"
    decimals = 0
    if error is not None and 0 < error < math.inf:
        decimals = min(max(1 - math.floor(math.log10(error)), 0), MEAN_DECIMALS)
    numbers = ["not known" if math.isnan(x) else f"{x:,.{decimals}f}" for x in (value, low, high)]
    return f"{numbers[0]}, {numbers[1]} to {numbers[2]}"


def numbers_of(tally: Collected, values: Any = None) -> Array:
    """Give the number that each answer stands for; refuse a list that need not hold everybody's answer."""
    if not holds_every_answer(tally):
        raise TypeError("means and quantiles need a list that holds every answer, but people may hold others here")
    return values_of(tally.domain, values)


def sets_of(memberships: Array) -> Sets:
    """Give a fuzzy set, or an ordinary one where all memberships are 0 or 1, with all that is known of such."""
    if ((memberships == 0) | (memberships == 1)).all():
        return [np.flatnonzero(memberships).tolist()]
    return Fuzzy(memberships[np.newaxis])


def mean(tally: Collected, values: Any, confidence: Confidence) -> Mean:
    """Give the mean of the numbers that answers stand for, of each group."""
    x = numbers_of(tally, values)
    least, width = float(x.min()), float(np.ptp(x))
    if width == 0:
        return _made(
            tally, np.full((4, len(tally.answered)), [[least], [0.0], [least], [least]]), confidence, ("known",)
        )
    x -= least
    x /= width
    sets = sets_of(x)
    shares, ends = _with_shares(tally, sets, law_of(tally, confidence))
    return _made(tally, _scaled(shares, ends, least, width), confidence, ends.methods)


def _scaled(shares: Array, ends: Limits, least: float, width: float) -> Array:
    """Turn shares of a fuzzy set into means: values, standard errors and limits, a row each."""
    value = np.where(np.isfinite(ends.error[:, 0]), least + width * np.clip(shares, 0, 1), np.nan)
    return np.array([value, width * ends.error[:, 0], least + width * ends.low[:, 0], least + width * ends.high[:, 0]])


def _with_shares(tally: Collected, sets: Sets, confidence: Confidence) -> tuple[Array, Limits]:
    """Give the unbiased share of one set in each group, of several collections together, and its limits."""
    shares, answered = np.full(len(tally.answered), np.nan), tally.answered
    if len(tally.parts) == 1:
        chosen = None if answered.all() else answered
        readout = tally.parts[0].readout(chosen, sets, target=confidence.target)
        shares[answered] = readout.share()[:, 0]
        return shares, limits(tally, confidence, sets=sets, readout=readout)
    for group in np.flatnonzero(answered).tolist():
        middle, _, unknown = joint(tally.parts, group, sets, target=confidence.target).average(confidence.target)
        shares[group] = middle[0] + unknown / 2
    return shares, limits(tally, confidence, sets=sets)


def _made(
    tally: Collected, rows: Array, confidence: Confidence, methods: tuple[str, ...], quantity: str = "mean"
) -> Mean:
    value, error, low, high = (tally.squeezed(row) for row in np.where(tally.answered, rows, np.nan))
    groups = tally.groups if tally.by else ()
    return Mean(value, error, low, high, confidence, methods, tally.n, not tally.simple, quantity, tally.by, groups)


def standard_deviation(tally: Collected, values: Any, confidence: Confidence) -> Mean:
    """Give the standard deviation of the numbers that answers stand for, of each group: by the delta method."""
    if confidence.anytime:
        raise ValueError("anytime must be left out for a standard deviation, whose interval is for one look")
    x = numbers_of(tally, values)
    if np.ptp(x) == 0:
        return _made(tally, np.zeros((4, len(tally.answered))), confidence, ("known",), "standard deviation")
    centres = np.atleast_1d(mean(tally, values, confidence).value)
    most, target = (float(np.ptp(x)) / 2) ** 2, law_of(tally, confidence).target
    rows = np.full((4, len(tally.answered)), np.nan)
    for group in np.flatnonzero(tally.answered).tolist():
        squares = (x - centres[group]) ** 2
        width = float(squares.max())
        together = joint(tally.parts, group, Fuzzy(squares[np.newaxis] / width), target=target)
        variance, error = (width * float(part[0]) for part in together.average(target)[:2])
        wide = student_error(error, together.freedom, confidence.tail(1))
        low, high = normal_limits(np.array(variance), wide, confidence.tail(1), span=(0.0, most))
        value = math.sqrt(min(max(variance, 0.0), most))
        rows[:, group] = value, error / (2 * value) if value > 0 else math.inf, math.sqrt(low), math.sqrt(high)
    return _made(tally, rows, confidence, ("linear",), "standard deviation")


@dataclass(frozen=True, eq=False, repr=False)
class MeanComparison(Result):
    """The difference of the means of two groups.

    Attributes
    ----------
    first, second : str
        The groups.
    difference : float
        First minus second of the unbiased means.
    low, high : float
        Its confidence interval.
    p_value : float
        Of "both means are equal in the population".
    confidence : Confidence
        The level, and whose means are meant.
    approximate : bool
        Whether the interval holds only about at its level.
    test : str
        What kind of test the p-value is of: Barnard's or Fisher's exact, approximate because of weights, Student's t of
        a complex sample, or normal.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    p_value: float
    confidence: Confidence
    approximate: bool
    test: str

    def table(self) -> dict[str, Counts]:
        """Give the numbers as columns of one row."""
        return {name: np.array([getattr(self, name)]) for name in ("difference", "low", "high", "p_value")}

    def printed(self, **options: Any) -> Printed:
        """Give a table for a paper: the difference in the unit of the numbers, and the test."""
        table = self.table(**options)
        table |= {"p": table["p_value"], "se": np.array([np.nan])}
        about = f"{'approximate ' if self.approximate else ''}{self.confidence}"
        columns = estimate_columns(table, "difference of means", about, of="difference")
        del columns["se"]
        test = f"{self.test} test of equality in the population"
        return Printed(columns, f"Mean in {self.first} against {self.second}", (sentence(test),))

    def to_dict(self) -> Document:
        """Give what JSON can hold."""
        numbers = {name: plain(getattr(self, name)) for name in ("difference", "low", "high", "p_value")}
        about = {"level": self.confidence.level, "target": self.confidence.target, "approximate": self.approximate}
        return {"quantity": "mean", "first": self.first, "second": self.second, **numbers, "test": self.test, **about}

    def text(self) -> str:
        """Say it in two lines."""
        about = f"{'approximate ' if self.approximate else ''}{self.confidence}"
        said = with_limits(self.difference, self.low, self.high, (self.high - self.low) / 4)
        head = f"mean in {self.first} against {self.second}, {about}"
        return f"{head}\n{said}; {self.test} test of equality in the population: p = {self.p_value:.2g}"


def compare_means(tally: Collected, between: tuple[Any, Any], values: Any, confidence: Confidence) -> MeanComparison:
    """Compare the means of two groups, which are independent: by two binomial counts, or by the normal law."""
    x = numbers_of(tally, values)
    least, width = float(x.min()), float(np.ptp(x))
    if width == 0:
        raise ValueError("values must not all be equal, or there is nothing to compare")
    keys, rows = groups_between(tally, between, confidence)
    first, second = (shown_name(key) for key in keys)
    sets = sets_of((x - least) / width)
    if tally.sample is not None:
        apart = domains_apart(tally.parts[0], sets, rows)
        apart.refuse_unknown("the design must tell the mean, but under it that cannot be known")
        low, high = (width * float(end[0]) for end in apart.limits(confidence.tail(1)))
        middle, p_value = width * float(apart.middle[0]), float(apart.p_value[0])
        return MeanComparison(first, second, middle, low, high, p_value, confidence, True, STUDENT)
    law = law_of(tally, confidence)
    one, two = (joint(tally.parts, row, sets, target=law.target) for row in rows)
    if one.is_one_count and two.is_one_count:
        by_counts = counts_compared(tally, one.only_count(0), two.only_count(0), law, "barnard")
        if by_counts is not None:
            numbers, approximate, test = by_counts
            middle, low, high = (width * float(part) for part in (numbers.unbiased, numbers.low, numbers.high))
            named = test if tally.simple else "approximate"
            p_value, approximate = float(numbers.p_value), approximate or not tally.simple
            return MeanComparison(first, second, middle, low, high, p_value, confidence, approximate, named)
    (middle1, error1, _), (middle2, error2, _) = (group.average(law.target) for group in (one, two))
    middle, error = width * float(middle1[0] - middle2[0]), width * math.hypot(float(error1[0]), float(error2[0]))
    if math.isinf(error):
        raise ValueError("the design must tell the mean, but under it that cannot be known")
    ends = normal_limits(np.array(middle), np.array(error), confidence.tail(1), span=(-width, width))
    low, high = map(float, ends)
    # Equality is tested in the population, whosever means the interval is for.
    sampled = [joint(tally.parts, row, sets).average("population") for row in rows]
    p_value = normal_test(
        float(sampled[0][0][0] - sampled[1][0][0]), math.hypot(float(sampled[0][1][0]), float(sampled[1][1][0]))
    )
    return MeanComparison(first, second, middle, low, high, p_value, confidence, True, "normal")
