r"""Means and standard deviations of numbers, and differences of means between groups.

The share of a set of answers is :math:`\sum_i u_i \theta_i` with :math:`u_i` one inside and zero outside. A mean is the
same with memberships in between: with :math:`u_i = (x_i - a)/(b - a)` for numbers from a to b, it is
:math:`a + (b-a)\sum_i u_i\theta_i`, the share of a fuzzy set. So a mean needs no statistics of its own. Its interval is
exact (Clopper and Pearson) where some reports are binomial in it, as under a cut-off response and under every design
with two possible reports; elsewhere it is that of an unbiased mean of scores, which is about normal.

The standard deviation of two values is :math:`(b-a)\sqrt{\theta(1-\theta)}`, so its interval is the image of the
interval of the share :math:`\theta`. Of more values, the variance is a share as well,
:math:`\sigma^2 = E(x-c)^2 - (\mu-c)^2` about the estimated mean c. Its error is that of the mean of :math:`(x-c)^2`.
That error vanishes where all values are about as far from the mean, although :math:`(\mu-c)^2` does not. With S the
estimate, L its normal limit and h the half-width of the interval of the mean, the lower limit is therefore
:math:`S - \sqrt{(S-L)^2 + h^4}`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import ndtri

from warner.designs.exact import exact
from warner.designs.facts import Fuzzy
from warner.designs.grids import is_numeric
from warner.inference.comparisons import counts_compared, groups_between, note_between, shown_name
from warner.inference.complex_differences import MEAN_UNKNOWN, STUDENT, domains_apart, student_error
from warner.inference.differences import Difference, agreeing
from warner.inference.intervals import Confidence, law_of, limits
from warner.inference.joint_readouts import joints
from warner.inference.normal import normal_limits, normal_test
from warner.inference.numeric_results import NumericResult
from warner.inference.quantities import Rows
from warner.reports.pools import holds_every_answer
from warner.results import Result, plain
from warner.typesetting import Printed, decimals_of, estimate_columns, number_text, rounded
from warner.words import enumerated, sentence

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, PerGroup, Sets
    from warner.designs.labels import Labels
    from warner.documents import Document
    from warner.inference.intervals import Limits
    from warner.reports.pools import Collected

LARGEST_VALUE = 1e300  # of the numbers that answers stand for, so that their range is a number as well
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
        return _doubles(map(Fraction, domain))
    if hasattr(values, "to_dict") and len(values) == len(domain) and set(getattr(values, "index", ())) == set(domain):
        values = values.to_dict()  # a pandas Series that names the answers, perhaps in another order
    if isinstance(values, Mapping):
        missing = [label for label in domain if label not in values]
        strange = [label for label in values if label not in domain]
        if missing or strange:
            which = f"{missing[0]!r} has none" if missing else f"{strange[0]!r} is no answer"
            raise ValueError(f"values must have a number for each answer and for nothing else, but {which}")
        given: list[Any] = [values[label] for label in domain]
    elif isinstance(values, Iterable) and not isinstance(values, str | AbstractSet):
        given = list(values)
        if len(given) != len(domain):
            raise ValueError(f"values must be {len(domain)} numbers, one for each answer, but got {len(given)}")
    else:
        raise TypeError(f'values must be a mapping, a sequence or "{THEMSELVES}", but got {values!r}')
    return _doubles(exact("values", value) for value in given)


def _doubles(numbers: Iterable[Fraction]) -> Array:
    """Give numbers as doubles; refuse those whose range is too large for one."""
    exactly = list(numbers)
    if any(abs(number) > LARGEST_VALUE for number in exactly):
        raise ValueError(
            f"the numbers that answers stand for must lie between -{LARGEST_VALUE:g} and {LARGEST_VALUE:g}"
        )
    return np.array([float(number) for number in exactly])


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


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Mean(NumericResult):
    """A mean, or a standard deviation, with its confidence interval; or one for each group.

    It has the attributes of `NumericResult <warner.inference.numeric_results.NumericResult>`. The value is the unbiased
    estimate that the interval belongs to, cut to the range of the numbers, whatever method gave the shares; NaN also
    where reports do not tell it.

    Attributes
    ----------
    se : float or ndarray
        Its standard error.
    quantity : {"mean", "standard deviation"}
        What it is.
    """

    numbers: ClassVar[tuple[str, ...]] = ("value", "se", "low", "high")

    se: PerGroup
    quantity: str

    @property
    def name(self) -> str:
        """What it is called."""
        return self.quantity

    @property
    def part(self) -> tuple[str, str]:
        """What kind of quantity it is."""
        return self.quantity, ""

    def _key(self) -> Document:
        return {"quantity": self.quantity}

    def _said(self, **numbers: float) -> str:
        return with_limits(numbers["value"], numbers["low"], numbers["high"], numbers["se"])

    def _cells(self, table: dict[str, Counts], about: str) -> dict[str, list[str]]:
        """Round each row to two digits of its standard error."""
        return estimate_columns(table, self.quantity, about, of="value", unknown="")


def with_limits(value: float, low: float, high: float, error: float) -> str:
    """Write a number and its limits, to two digits of the standard error.

    >>> with_limits(41.2345, 38.9012, 43.5678, 1.19), with_limits(41234.5, 38901.2, 43567.8, 1190.0)
    ('41.2, 38.9 to 43.6', '41,234, 38,901 to 43,568')
    """
    if math.isnan(low):
        return "no reports"
    if low == high:  # known, as it is
        return f"{number_text(value)}, {number_text(low)} to {number_text(high)}"
    decimals = decimals_of(error, low, high)
    numbers = [rounded(x, decimals, "not known") for x in (value, low, high)]
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
    groups = np.flatnonzero(answered).tolist()
    for group, together in zip(groups, joints(tally.parts, groups, sets, target=confidence.target), strict=True):
        middle, _, unknown = together.average(confidence.target)
        shares[group] = middle[0] + unknown / 2
    return shares, limits(tally, confidence, sets=sets)


def _made(
    tally: Collected, rows: Array, confidence: Confidence, methods: tuple[str, ...], quantity: str = "mean"
) -> Mean:
    return Mean.of_groups(tally, dict(zip(Mean.numbers, rows, strict=True)), confidence, methods, quantity=quantity)


def standard_deviation(tally: Collected, values: Any, confidence: Confidence) -> Mean:
    """Estimate the standard deviation of the numbers that answers stand for, in each group."""
    if confidence.anytime:
        raise ValueError("anytime must be left out for a standard deviation, whose interval is for one look")
    x = numbers_of(tally, values)
    range_ = float(np.ptp(x))
    if range_ == 0:
        return _made(tally, np.zeros((4, len(tally.answered))), confidence, ("known",), "standard deviation")
    x = (x - x.min()) / range_  # so that squares are numbers, whatever the unit is
    law = law_of(tally, confidence)
    if ((x == 0) | (x == 1)).all():
        shares, ends = _with_shares(tally, sets_of(x), law)
        rows = _deviations_of_two_values(shares, ends)
        return _made(tally, range_ * rows, confidence, ends.methods, "standard deviation")
    rows = np.full((4, len(tally.answered)), np.nan)
    for group in np.flatnonzero(tally.answered).tolist():
        rows[:, group] = _deviation(tally, group, x, law)
    return _made(tally, range_ * rows, confidence, ("linear",), "standard deviation")


def _deviations_of_two_values(shares: Array, ends: Limits) -> Array:
    """Map the shares of one of two values, 0 and 1, to standard deviations: value, standard error, limits."""
    error, low, high = (part[:, 0] for part in (ends.error, ends.low, ends.high))
    inside = np.clip(shares, 0, 1)
    value, one, other = (np.sqrt(share * (1 - share)) for share in (inside, low, high))
    # The variance of x - x^2 with normal x: the second term is all that is left where the share is one half
    bent = np.sqrt(((1 - 2 * inside) * error) ** 2 + 2 * error**4)
    most = np.where((low <= 0.5) & (high >= 0.5), 0.5, np.maximum(one, other))
    with np.errstate(divide="ignore", invalid="ignore"):
        se = np.where(value > 0, bent / (2 * value), np.inf)
    value = np.where(np.isfinite(error), value, np.nan)
    return np.array([value, se, np.minimum(one, other), most])


def _deviation(tally: Collected, group: int, x: Array, confidence: Confidence) -> tuple[float, float, float, float]:
    """Estimate the standard deviation of numbers from 0 to 1 in one group: value, standard error, limits."""
    most, target, tail = 0.25, confidence.target, confidence.tail(1)
    (of_mean,) = joints(tally.parts, [group], sets_of(x), target=target)
    middle, mean_error, unknown = of_mean.average(target)
    # About the mean of those whose reports say something, which deviations of all people are at least as large as
    squares = (x - np.clip(middle[0] / (1 - unknown), 0, 1)) ** 2
    width = float(squares.max())
    (together,) = joints(tally.parts, [group], Fuzzy(squares[np.newaxis] / width), target=target)
    variance, error = (width * float(part[0]) for part in together.average(target)[:2])
    wide, half = (float(student_error(part, of_mean.freedom, tail)) for part in (error, min(float(mean_error[0]), 1.0)))
    # Respondents whose reports say nothing may hold any answer.
    low, high = normal_limits(np.array(variance), np.array(wide), tail, unknown=unknown * width, span=(0.0, most))
    half = min(-float(ndtri(tail)) * half, 1.0)
    low = np.clip(variance - np.hypot(variance - low, half**2), 0.0, low)
    if together.blind:
        low, high = np.array(0.0), np.array(most)
    value = math.sqrt(min(max(variance + unknown * width / 2, 0.0), most)) if math.isfinite(error) else math.nan
    error = math.hypot(error, math.sqrt(2) * float(mean_error[0]) ** 2)
    return value, error / (2 * value) if value > 0 else math.inf, math.sqrt(low), math.sqrt(high)


@dataclass(frozen=True, eq=False, repr=False)
class MeanComparison(Result):
    """The difference of the means of two groups.

    Attributes
    ----------
    first, second : str
        The groups.
    difference : float
        First minus second of the unbiased means, at most as large as a difference of two of the numbers.
    low, high : float
        Its confidence interval.
    p_value : float
        Of "both means are equal in the population". Below 1 - ``level`` exactly where the interval, for the population,
        leaves out 0.
    confidence : Confidence
        The level, and whose means are meant.
    approximate : bool
        Whether the interval holds only about at its level.
    test : str
        What kind of test the p-value is of: Barnard's or Fisher's exact, approximate because of weights, Student's t of
        a complex sample, or normal.
    note : str
        In a complex sample, what else than its design-based variance decides the interval; empty elsewhere.
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
    note: str = ""

    def table(self) -> dict[str, Counts]:
        """Give the numbers as columns of one row."""
        return {name: np.array([getattr(self, name)]) for name in ("difference", "low", "high", "p_value")}

    def rows(self) -> Rows:
        """Give it as a row of a table of quantities, with the p-value of the test."""
        table = self.table()
        numbers = {"value": table.pop("difference"), **table}
        quantity, of = "difference of means", f"{self.first} against {self.second}"
        cells = self._cells(table | {"difference": numbers["value"]}, "interval")
        shown = cells[quantity], [""], cells["interval"]
        return Rows(
            quantity, [of], [f"{quantity}, {of}"], {}, numbers, shown, self.confidence, self.test, self.approximate
        )

    def _cells(self, table: dict[str, Counts], about: str) -> dict[str, list[str]]:
        unknown = {"p": table["p_value"], "se": np.array([np.nan])}
        columns = estimate_columns(table | unknown, "difference of means", about, of="difference")
        del columns["se"]
        return columns

    def printed(self, **options: Any) -> Printed:
        """Give a table for a paper: the difference in the unit of the numbers, and the test."""
        about = f"{'approximate ' if self.approximate else ''}{self.confidence}"
        columns = self._cells(self.table(**options), about)
        test = f"{self.test} test of equality in the population"
        notes = tuple(map(sentence, filter(None, (test, self.note))))
        return Printed(columns, f"Mean in {self.first} against {self.second}", notes)

    def to_dict(self) -> Document:
        """Give what JSON can hold."""
        numbers = {name: plain(getattr(self, name)) for name in ("difference", "low", "high", "p_value")}
        about = {"level": self.confidence.level, "target": self.confidence.target, "approximate": self.approximate}
        about |= {"note": self.note} if self.note else {}
        return {"quantity": "mean", "first": self.first, "second": self.second, **numbers, "test": self.test, **about}

    def text(self) -> str:
        """Say it in two lines."""
        about = f"{'approximate ' if self.approximate else ''}{self.confidence}"
        said = with_limits(self.difference, self.low, self.high, math.nan)
        head = f"mean in {self.first} against {self.second}, {about}"
        line = f"{said}; {self.test} test of equality in the population: p = {self.p_value:.2g}"
        return "\n".join(filter(None, (head, line, self.note)))


def compare_means(tally: Collected, between: tuple[Any, Any], values: Any, confidence: Confidence) -> MeanComparison:
    """Compare the means of two groups, which are independent, in the unit of the numbers."""
    x = numbers_of(tally, values)
    least, width = float(x.min()), float(np.ptp(x))
    if width == 0:
        raise ValueError("values must not all be equal, or there is nothing to compare")
    keys, rows = groups_between(tally, between, confidence)
    first, second = (shown_name(key) for key in keys)
    law = law_of(tally, confidence)
    sets = sets_of((x - least) / width)
    found, approximate, test = _fuzzy_shares_compared(tally, sets, rows, law)
    numbers = agreeing(Difference(*map(np.asarray, found)), law)
    middle, low, high = (width * float(np.clip(part, -1, 1)) for part in numbers[:3])
    note = note_between(tally, sets, rows, law)
    p_value = float(numbers.p_value)
    return MeanComparison(first, second, middle, low, high, p_value, confidence, approximate, test, note)


def _fuzzy_shares_compared(
    tally: Collected, sets: Sets, rows: list[int], law: Confidence
) -> tuple[Difference, bool, str]:
    """Compare the share of a fuzzy set in two groups: of a complex sample, by two counts, or by the normal law."""
    any_ratio = 0.0, math.inf
    if tally.sample is not None:
        apart = domains_apart(tally.parts[0], sets, rows)
        apart.refuse_unknown(MEAN_UNKNOWN)
        return Difference(apart.middle, *apart.limits(law.tail(1)), *any_ratio, apart.p_value), True, STUDENT
    one, two = joints(tally.parts, rows, sets, target=law.target)
    if one.is_one_count and two.is_one_count:
        by_counts = counts_compared(tally, one.only_count(0), two.only_count(0), law, "barnard")
        if by_counts is not None:
            numbers, approximate, test = by_counts
            return numbers, approximate or not tally.simple, test if tally.simple else "approximate"
    (middle1, error1, unknown1), (middle2, error2, unknown2) = (group.average(law.target) for group in (one, two))
    middle, error = float(middle1[0] - middle2[0]), math.hypot(float(error1[0]), float(error2[0]))
    if math.isinf(error):
        raise ValueError(MEAN_UNKNOWN)
    ends = normal_limits(np.array(middle), np.array(error), law.tail(1), span=(-1.0, 1.0))
    # Whoever gave a report that says nothing may hold the least number or the largest.
    low, high = float(ends[0]) - unknown2, float(ends[1]) + unknown1
    middle += (unknown1 - unknown2) / 2
    # Equality is tested in the population, whosever means the interval is for.
    sampled = [group.average("population") for group in joints(tally.parts, rows, sets)]
    p_value = normal_test(
        float(sampled[0][0][0] - sampled[1][0][0]), math.hypot(float(sampled[0][1][0]), float(sampled[1][1][0]))
    )
    return Difference(middle, low, high, *any_ratio, p_value), True, "normal"
