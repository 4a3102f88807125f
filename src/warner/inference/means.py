r"""Means, standard deviations and quantiles of numbers, and differences of means between groups.

**Means.** The share of a set of answers is :math:`\sum_i u_i \theta_i` with :math:`u_i` one inside and zero outside.
With :math:`u_i = (x_i - a)/(b - a)` for numbers from a to b, the mean is :math:`a + (b-a)\sum_i u_i\theta_i`, the share
of a fuzzy set. Its interval is exact (Clopper and Pearson) where some reports are binomial in it, as under a cut-off
response and every design with two possible reports; otherwise it is that of an unbiased, approximately normal mean of
scores.

**Standard deviations.** For two values it is :math:`(b-a)\sqrt{\theta(1-\theta)}`, so that its interval is the image of
the interval of :math:`\theta`. For more values the variance is a share as well, :math:`\sigma^2 = E(x-c)^2 - (\mu-c)^2`
about the estimated mean c. Its error is that of the mean of :math:`(x-c)^2`, which vanishes where all values are about
as far from the mean, although :math:`(\mu-c)^2` does not. With S the estimate, L its normal limit and h the half-width
of the interval of the mean, the lower limit is therefore :math:`S - \sqrt{(S-L)^2 + h^4}`.

**Quantiles.** The :math:`\tau`-quantile is :math:`q = \min\{x : F(x) \ge \tau\}`. Let L(t) and U(t) be limits of F(t),
each of which misses with probability at most :math:`\alpha/2` at every single t. The interval is from the first t with
:math:`U(t) \ge \tau` up to the number after the last t with :math:`L(t) < \tau`. Each end misses with probability at
most :math:`\alpha/2`: If q lies before the lower end, then :math:`U(q) < \tau \le F(q)`, so that U misses at the fixed
point q. If it lies after the upper end, let t be the number before q: :math:`F(t) < \tau`, and t comes after the last
with :math:`L < \tau`, so that :math:`L(t) \ge \tau > F(t)` misses at the fixed point t. No simultaneous band is needed,
and limits need not rise with t. The interval is exact where the limits are, and never empty.

On a fine grid such limits are wide, because they assume nothing. Those of the curves of `smooth` are F plus and minus
multiples of its standard deviation over all curves; docs/how-to/numeric-answers.md has their measured coverage.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import ndtri

from warner.designs.exact import exact
from warner.designs.facts import CumulativeSets, LinearCombination, Nested
from warner.designs.ordered import is_numeric
from warner.estimators.methods import SMOOTHED
from warner.estimators.smoothing import smoothed_distribution
from warner.inference.answer_tables import respondents
from warner.inference.comparisons import counts_compared, groups_between, note_between, shown_name
from warner.inference.differences import MEAN_UNKNOWN, STUDENT, Difference, agreeing, domain_difference, student_error
from warner.inference.intervals import Confidence, IntervalResult, law_of, limits
from warner.inference.normal import joints, normal_limits, normal_test
from warner.inference.quantities import Rows
from warner.reports.tallies import Collected, Group, holds_every_answer
from warner.results import Column, Estimates, Limits, TableResult, group_columns, name_columns
from warner.text import enumerated, level_text, sentence
from warner.typesetting import amount_cells, plain_table

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes

    from warner.arrays import Array, Counts, Integers, PerGroup, Sets
    from warner.designs.labels import Labels
    from warner.documents import Document


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NumericResult(IntervalResult):
    """A value in the unit of the answers with its confidence interval; or one for each group.

    Attributes
    ----------
    value : float or ndarray of shape (groups,)
        The estimate; NaN for a group without reports.
    low, high : float or ndarray
        The confidence interval.
    confidence : Confidence
        The level, the target (``population`` or ``realised``), and whether the interval is any-time.
    methods : tuple of str
        Methods of the interval, or of the limits of the distribution function: clopper_pearson, exact, linear,
        korn_graubard or anytime.
    n : int or float, or ndarray of shape (groups,)
        The number of reports, or the sum of their weights.
    weighted : bool
        Whether respondents have weights, strata or clusters, so that intervals use the effective sample size.
    by, groups : tuple
        The names of the grouping columns, and the groups; empty without groups.
    sample : str
        Description of a complex sample, such as 32 schools in 4 regions; otherwise empty.
    people : ndarray of shape (groups,), or None
        With weights, the number of respondents in each group, if it is known.
    """

    value: PerGroup
    low: PerGroup
    high: PerGroup
    confidence: Confidence
    methods: tuple[str, ...]
    n: PerGroup
    weighted: bool
    by: tuple[str, ...]
    groups: tuple[Group, ...]
    sample: str = ""
    people: Counts | None = None

    @classmethod
    def of_groups(
        cls, tally: Collected, rows: Mapping[str, Array], confidence: Confidence, methods: tuple[str, ...], **about: Any
    ) -> Self:
        """Make a result from its numbers in each group; NaN for groups without reports."""
        numbers: Any = {name: tally.squeezed(np.where(tally.answered, row, np.nan)) for name, row in rows.items()}
        return cls(
            **numbers,
            confidence=confidence,
            methods=methods,
            n=tally.n,
            weighted=not tally.simple,
            by=tally.by,
            groups=tally.groups if tally.by else (),
            sample="" if tally.sample is None else tally.sample.described(),
            people=respondents(tally),
            **about,
        )

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the quantity."""

    @abstractmethod
    def _identity(self) -> tuple[str, str, Document]:
        """Return the kind of the quantity, the individual one if there are several, and the JSON fields of both."""

    def rows(self) -> Rows:
        """Return the labels of the rows in a table of quantities, one for each group."""
        (quantity, of, _), each = self._identity(), np.size(self.value)
        return Rows(quantity, [of] * each, [self.name] * each, self._group_columns(), self.method)

    def _group_columns(self) -> dict[str, Counts]:
        return group_columns(self.by, self.groups)

    def _columns(self) -> list[Column]:
        reports, found = Column(heading="reports", texts=partial(amount_cells, np.atleast_1d(self.n))), self.estimates()
        numbers = found.columns(self.name, self.interval_name, unknown=found.reasons())
        people = [] if self.people is None else [Column("respondents", self.people, "respondents")]
        return [*name_columns(self._group_columns()), reports, *people, *numbers]

    def _title(self) -> str:
        return f"Estimated {self.name}"

    def _facts(self) -> Document:
        numbers = {name: getattr(self, name, None) for name in ("value", "se", "low", "high")}
        return {
            **self._identity()[2],
            **({"groups": self.groups} if self.groups else {}),
            **{name: number for name, number in numbers.items() if number is not None},
            **self.confidence.facts(),
            "method": self.method,
            "approximate": self.approximate,
            **({"sample": self.sample} if self.sample else {}),
            **({} if self.people is None else {"respondents": self.people if self.groups else int(self.people[0])}),
        }

    def first_groups(self, number: int) -> Self:
        """Return the result for the first groups."""
        some: Any = {name: part[:number] for name, part in vars(self).items() if isinstance(part, np.ndarray)}
        return replace(self, groups=self.groups[:number], **some)

    def plot(self, *, along: str | None = None, title: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw the value of each group with its interval, a line for each group; or a trend.

        Parameters
        ----------
        along : str, optional
            A column of groups that has an order, such as dates or numbers: values are drawn over it, with a line and a
            band for each combination of the other columns.
        title : str, optional
            The headline.
        ax : matplotlib Axes, optional
            Where to draw; if not given, a new pyplot figure of a fitting size.
        """
        from warner.output.group_plots import number_picture

        return number_picture(self, along, title).plot(ax)

    def save_plot(self, path: str | os.PathLike[str], *, along: str | None = None, title: str | None = None) -> None:
        """Draw to a PNG, SVG or PDF file, atomically; options are those of `plot`."""
        from warner.output.group_plots import number_picture

        number_picture(self, along, title).save(path)

    def value_texts(self) -> list[tuple[str, str]]:
        """Return the value and the interval of each group as texts, for sentences."""
        found = self.estimates()
        values, _, ends, _ = found.texts(found.reasons(), sign=True)
        return list(zip(values, ends, strict=True))

    def text(self) -> str:
        """Return a single value in one line; a table of groups."""
        if self.groups:
            return plain_table(self._printed())
        colon = ":" * self.name[-1].isdigit()  # share above 50: 8.61 %
        ((value, ends),) = self.value_texts()
        return ", ".join(filter(None, (f"{self.name}{colon} {value}", ends, self.interval_name, self.method)))


# Means


LARGEST_VALUE = 1e300  # of the numbers of answers, so that their range is finite
THEMSELVES = "numbers"  # the values of answers that are numbers


def values_of(domain: Labels, values: Any = None) -> Array:
    """Return the number of each answer: as passed, or the answers themselves if they are numbers.

    >>> values_of(("0.5", "1", "20")).tolist()
    [0.5, 1.0, 20.0]
    >>> values_of(("never", "once"), {"never": 0, "once": "1/2"}).tolist()
    [0.0, 0.5]
    """
    if values is None or (isinstance(values, str) and values == THEMSELVES):
        if not is_numeric(domain):
            text = next(label for label in domain if not is_numeric((label, label)))  # type: ignore[arg-type]
            raise ValueError(
                f"answers must be numbers, but {text!r} is not a number; give values, a number for each answer, "
                "such as 0 for never and 1 for once, or the midpoints of brackets"
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
        numbers: list[Any] = [values[label] for label in domain]
    elif isinstance(values, Iterable) and not isinstance(values, str | AbstractSet):
        numbers = list(values)
        if len(numbers) != len(domain):
            raise ValueError(f"values must be {len(domain)} numbers, one for each answer, but got {len(numbers)}")
    else:
        raise TypeError(f'values must be a mapping, a sequence or "{THEMSELVES}", but got {values!r}')
    return _doubles(exact("values", value) for value in numbers)


def _doubles(numbers: Iterable[Fraction]) -> Array:
    exactly = list(numbers)
    if any(abs(number) > LARGEST_VALUE for number in exactly):
        raise ValueError(f"the numbers of answers must lie between -{LARGEST_VALUE:g} and {LARGEST_VALUE:g}")
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


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Mean(NumericResult):
    """A mean, or a standard deviation, with its confidence interval; or one for each group.

    It has the attributes of `NumericResult <warner.inference.means.NumericResult>`. The value is the unbiased
    estimate that the interval belongs to, cut to the range of the numbers, whatever method gave the shares; NaN also
    where reports do not tell it.

    Attributes
    ----------
    se : float or ndarray
        Its standard error.
    quantity : {"mean", "standard deviation"}
        What it is.
    """

    se: PerGroup
    quantity: str

    @property
    def name(self) -> str:
        return self.quantity

    def _identity(self) -> tuple[str, str, Document]:
        return self.quantity, "", {"quantity": self.quantity}

    def estimates(self) -> Estimates:
        return Estimates(self.value, self.low, self.high, self.se)


def numbers_of(tally: Collected, values: Any = None) -> Array:
    """Return the number of each answer; raise an error if the answers are not exhaustive."""
    if not holds_every_answer(tally):
        raise TypeError("means and quantiles need a list that holds every answer, but respondents may have others here")
    return values_of(tally.domain, values)


def sets_of(memberships: Array) -> Sets:
    """Return a fuzzy set, or an ordinary set if all memberships are 0 or 1."""
    if ((memberships == 0) | (memberships == 1)).all():
        return [np.flatnonzero(memberships).tolist()]
    return LinearCombination(memberships[np.newaxis])


def mean(tally: Collected, values: Any, confidence: Confidence) -> Mean:
    """Estimate the mean of the numbers of the answers, in each group."""
    x = numbers_of(tally, values)
    least, width = float(x.min()), float(np.ptp(x))
    if width == 0:
        rows = np.full((4, len(tally.answered)), [[least], [0.0], [least], [least]])
        return _made(tally, rows, confidence, ("known",))
    shares, ends = _with_shares(tally, sets_of((x - least) / width), law_of(tally, confidence))
    error, low, high = (width * part[:, 0] for part in (ends.error, ends.low, ends.high))
    value = np.where(np.isfinite(ends.error[:, 0]), least + width * np.clip(shares, 0, 1), np.nan)
    return _made(tally, np.array([value, error, least + low, least + high]), confidence, ends.methods)


def _with_shares(tally: Collected, sets: Sets, confidence: Confidence) -> tuple[Array, Limits]:
    """Return the unbiased share of one set in each group, averaged over collections, and its limits."""
    shares, answered = np.full(len(tally.answered), np.nan), tally.answered
    if len(tally.parts) == 1:
        selected = None if answered.all() else answered
        readout = tally.parts[0].readout(selected, sets, target=confidence.target)
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
    numbers = dict(zip(("value", "se", "low", "high"), rows, strict=True))
    return Mean.of_groups(tally, numbers, confidence, methods, quantity=quantity)


def standard_deviation(tally: Collected, values: Any, confidence: Confidence) -> Mean:
    """Estimate the standard deviation of the numbers of the answers, in each group."""
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
    """Map shares of one of two values, 0 and 1, to standard deviations: value, error, limits."""
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
    # Squares about the mean of the informative reports
    squares = (x - np.clip(middle[0] / (1 - unknown), 0, 1)) ** 2
    width = float(squares.max())
    (together,) = joints(tally.parts, [group], LinearCombination(squares[np.newaxis] / width), target=target)
    variance, error = (width * float(part[0]) for part in together.average(target)[:2])
    wide, half = (float(student_error(part, of_mean.freedom, tail)) for part in (error, min(float(mean_error[0]), 1.0)))
    # Respondents with uninformative reports may have any answer.
    low, high = normal_limits(np.array(variance), np.array(wide), tail, unknown=unknown * width, span=(0.0, most))
    half = min(-float(ndtri(tail)) * half, 1.0)
    low = np.clip(variance - np.hypot(variance - low, half**2), 0.0, low)
    if together.blind:
        low, high = np.array(0.0), np.array(most)
    value = math.sqrt(min(max(variance + unknown * width / 2, 0.0), most)) if math.isfinite(error) else math.nan
    error = math.hypot(error, math.sqrt(2) * float(mean_error[0]) ** 2)
    return value, error / (2 * value) if value > 0 else math.inf, math.sqrt(low), math.sqrt(high)


@dataclass(frozen=True, eq=False, repr=False)
class MeanComparison(TableResult):
    """The difference of the means of two groups.

    Attributes
    ----------
    first, second : str
        The groups.
    difference : float
        First minus second of the unbiased means, moved into its interval.
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

    _rows_key = None

    def estimates(self) -> Estimates:
        """Return the difference with its interval and the p-value of the test."""
        return Estimates(self.difference, self.low, self.high, p=self.p_value)

    def rows(self) -> Rows:
        """Return the label of the row in a table of quantities."""
        quantity, of = "difference of means", f"{self.first} against {self.second}"
        return Rows(quantity, [of], [f"{quantity}, {of}"], {}, self.test)

    def _columns(self) -> list[Column]:
        about = f"{'approximate ' if self.approximate else ''}{self.confidence}"
        return self.estimates().columns("difference of means", about, "difference")

    def _title(self) -> str:
        return f"Mean in {self.first} against {self.second}"

    def _footnotes(self) -> list[str]:
        return [f"{self.test} test of equality in the population", *filter(None, [self.note])]

    def _facts(self) -> Document:
        about = {"level": self.confidence.level, "target": self.confidence.target, "approximate": self.approximate}
        note = {"note": self.note} if self.note else {}
        return {"quantity": "mean", "first": self.first, "second": self.second, "test": self.test, **about, **note}


def compare_means(tally: Collected, between: tuple[Any, Any], values: Any, confidence: Confidence) -> MeanComparison:
    """Compare the means of two groups, which are independent, in the unit of the numbers."""
    x = numbers_of(tally, values)
    least, width = float(x.min()), float(np.ptp(x))
    if width == 0:
        raise ValueError("values must not all be equal, or there is nothing to compare")
    keys, rows = groups_between(tally, between, confidence)
    first, second = (shown_name(key) for key in keys)
    law, sets = law_of(tally, confidence), sets_of((x - least) / width)
    found, approximate, test = _fuzzy_shares_compared(tally, sets, rows, law)
    numbers = agreeing(found, law)
    low, high = (width * float(np.clip(end, -1, 1)) for end in (numbers.low, numbers.high))
    middle = float(np.clip(width * numbers.unbiased, low, high))
    about = approximate, test, note_between(tally, sets, rows, law)
    return MeanComparison(first, second, middle, low, high, float(numbers.p_value), confidence, *about)


def _fuzzy_shares_compared(
    tally: Collected, sets: Sets, rows: list[int], law: Confidence
) -> tuple[Difference, bool, str]:
    """Compare the share of a fuzzy set in two groups: by Student's t, two counts, or the normal distribution."""
    any_ratio = 0.0, math.inf
    if tally.sample is not None:
        apart = domain_difference(tally.parts[0], sets, rows)
        apart.refuse_unknown(MEAN_UNKNOWN)
        return Difference(apart.middle, *apart.limits(law.tail(1)), *any_ratio, apart.p_value), True, STUDENT
    one, two = joints(tally.parts, rows, sets, target=law.target)
    if by_counts := counts_compared(tally, one, two, law, "barnard"):
        numbers, approximate, test = by_counts
        return numbers, approximate or not tally.simple, test if tally.simple else "approximate"
    (middle1, error1, unknown1), (middle2, error2, unknown2) = (group.average(law.target) for group in (one, two))
    middle, error = float(middle1[0] - middle2[0]), math.hypot(float(error1[0]), float(error2[0]))
    if math.isinf(error):
        raise ValueError(MEAN_UNKNOWN)
    ends = normal_limits(np.array(middle), np.array(error), law.tail(1), span=(-1.0, 1.0))
    # Respondents with uninformative reports may have the smallest number or the largest.
    low, high = float(ends[0]) - unknown2, float(ends[1]) + unknown1
    middle += (unknown1 - unknown2) / 2
    # Equality is tested in the population, whosever means the interval is for.
    sampled = [group.average("population") for group in joints(tally.parts, rows, sets)]
    distance, errors = float(sampled[0][0][0] - sampled[1][0][0]), (float(error[0]) for _, error, _ in sampled)
    p_value = normal_test(distance, math.hypot(*errors))
    return Difference(middle, low, high, *any_ratio, p_value), True, "normal"


# Quantiles


WIDE_STEPS, WIDE_PART = 10, 0.25  # answers, and part of the range of the numbers, beyond which an interval is wide
SMOOTH_ADVISED = (
    f'wide, because nothing is assumed of the distribution: method="{SMOOTHED}" (--quantile-method {SMOOTHED}) is '
    "narrower"
)
REACHED = 1e-12  # how near to its level a sum of shares counts as there


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Quantile(NumericResult):
    """A quantile with its confidence interval; or one for each group.

    It has the attributes of `NumericResult <warner.inference.means.NumericResult>`. The value is that of the
    estimated shares, moved into its interval, whose ends are numbers of answers.

    Attributes
    ----------
    tau : float
        The share of people at or below it: 0.5 for the median.
    """

    tau: float
    note: str = ""  # the remedy for an interval that is wide

    @property
    def name(self) -> str:
        return quantile_name(self.tau)

    def _identity(self) -> tuple[str, str, Document]:
        return "quantile", f"{self.tau:.12g}", {"quantile": self.tau}

    def _facts(self) -> Document:
        return super()._facts() | ({"note": self.note} if self.note else {})

    def _footnotes(self) -> list[str]:
        return [*super()._footnotes(), *filter(None, [self.note])]

    def text(self) -> str:
        return super().text() + (f"\n{sentence(self.note)}" if self.note and not self.groups else "")

    def estimates(self) -> Estimates:
        return Estimates(self.value, self.low, self.high, unit="value")


def quantile_name(tau: float) -> str:
    """Return the name of a quantile.

    >>> quantile_name(0.5), quantile_name(0.9)
    ('median', '90 % quantile')
    """
    return "median" if tau == 0.5 else f"{level_text(tau)} quantile"


def check_tau(tau: Any) -> None:
    if isinstance(tau, bool) or not isinstance(tau, int | float | np.number) or not 0 < tau < 1:
        raise ValueError(f"a quantile must be one number between 0 and 1, such as 0.5 for the median, but got {tau!r}")


def quantile(
    tally: Collected, shares: Array, tau: float, values: Any, confidence: Confidence, *, method: str | None = None
) -> Quantile:
    """Estimate a quantile of the numbers of the answers in each group, from these shares or from smoothed curves."""
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
    value, low, high = np.full((3, len(tally.answered)), np.nan)
    for group in np.flatnonzero(tally.answered).tolist():
        first, last = quantile_places(ends.low[group], ends.high[group], tau)
        index = quantile_index(np.atleast_2d(shares)[group], x, points, tau)
        low[group], high[group], value[group] = points[first], points[last], points[min(max(index, first), last)]
    spanned = points.searchsorted(high) - points.searchsorted(low)
    wide = ((spanned >= WIDE_STEPS) & (high - low > WIDE_PART * np.ptp(points))).any()
    note = SMOOTH_ADVISED if wide and not _reason_against_smooth(tally, x, confidence) else ""
    numbers = {"value": value, "low": low, "high": high}
    return Quantile.of_groups(tally, numbers, confidence, ends.methods, tau=float(tau), note=note)


def _reason_against_smooth(tally: Collected, x: Array, confidence: Confidence) -> str:
    """Return the reason why quantiles have no smooth intervals here; empty if they have."""
    if confidence.anytime or confidence.target != "population":
        return "smooth quantiles are for one look at the population: leave anytime and target out"
    if len(tally.parts) > 1:
        return f"smooth quantiles are for one collection, but there are {len(tally.parts)} designs"
    if tally.sample is not None:
        return "smooth quantiles ignore strata and clusters: leave the method out for such a sample"
    if (np.diff(x) <= 0).any():
        return "smooth quantiles need numbers that rise in the order of the answers, but these do not"
    return ""


def _smoothed_quantile(tally: Collected, tau: float, x: Array, confidence: Confidence, method: str) -> Quantile:
    """Estimate a quantile from the curves of `smooth`: approximate, for ascending numbers only."""
    if method != SMOOTHED:
        raise ValueError(f'method must be "{SMOOTHED}", or be left out to assume nothing, but got {method!r}')
    if reason := _reason_against_smooth(tally, x, confidence):
        raise ValueError(reason)
    (part,), groups = tally.parts, np.flatnonzero(tally.answered)
    curves = smoothed_distribution(part.histograms(groups), part.design)
    reach = float(-ndtri(confidence.tail(1)))
    value, low, high = np.full((3, tally.answered.size), np.nan)
    for group, middle, deviation in zip(groups.tolist(), *curves, strict=True):
        ends = np.clip(np.array([middle - reach * deviation, middle + reach * deviation]), 0.0, 1.0)
        ends[:, -1] = 1.0
        first, last = quantile_places(ends[0], ends[1], tau)
        index = int(np.argmax(middle >= tau - REACHED))
        value[group], low[group], high[group] = x[min(max(index, first), last)], x[first], x[last]
    numbers = {"value": value, "low": low, "high": high}
    return Quantile.of_groups(tally, numbers, confidence, (SMOOTHED,), tau=float(tau))


def summary_of_numbers(tally: Collected, shares: Array, confidence: Confidence) -> tuple[Mean | Quantile, ...]:
    """Return mean, median and standard deviation; the last has no any-time interval."""
    single = replace(confidence, simultaneous=False)
    spread = () if confidence.anytime else (standard_deviation(tally, None, single),)
    return mean(tally, None, single), quantile(tally, shares, 0.5, None, single), *spread


def up_to_each(x: Array) -> tuple[Array, Sets]:
    """Return the distinct numbers in ascending order, and the cumulative sets of answers."""
    points, index = np.unique(x, return_inverse=True)
    if np.array_equal(index, np.arange(x.size)):
        return points, CumulativeSets(x.size)
    order: Integers = np.argsort(index, kind="stable")
    return points, Nested(order, np.bincount(index).cumsum())


def quantile_places(low: Array, high: Array, tau: float) -> tuple[int, int]:
    """Convert limits of F at each number (1 at the last) to the range of positions of a quantile.

    >>> quantile_places(np.array([0.1, 0.3, 0.6, 1.0]), np.array([0.3, 0.6, 0.9, 1.0]), 0.5)
    (1, 2)
    """
    first = int(np.argmax(high >= tau))
    short = np.flatnonzero(low < tau)
    last = int(short[-1]) + 1 if short.size else 0
    return first, min(last, low.size - 1)


def quantile_index(shares: Array, x: Array, points: Array, tau: float) -> int:
    running = np.bincount(points.searchsorted(x), weights=shares, minlength=points.size).cumsum()
    reached = running >= tau - REACHED
    return int(np.argmax(reached)) if reached.any() else points.size - 1
