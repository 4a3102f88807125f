r"""Designs for answers in an order, such as numbers, whose reports score every sum of shares without bias.

Every report j has a score :math:`s_j` with :math:`\sum_j C_{ij} s_j = u_i` for each answer i. Then the mean of the
scores of all reports is unbiased for :math:`\sum_i u_i \theta_i`, whatever the shares are: the share of a set, where u
is 1 inside and 0 outside, or a mean, which is the share of a fuzzy set. A mechanism defines the scores, and the reports
that are binomial in a sum; everything else follows. Its variance per report is

.. math:: \sum_j \mu_j s_j^2 - \Big(\sum_i u_i \theta_i\Big)^2,

in a sample from a population, and :math:`\sum_j \mu_j s_j^2 - \sum_i u_i^2 \theta_i` given the true answers.

The least variance if all answers are equally common have scores :math:`s_j = \bar u + \sum_t (u_t - u_{t+1}) z_{tj}`,
with a step score :math:`z_{tj}` for the answers up to t, which is nonzero for few reports j, and for different ones at
neighboring t. So the sums of these scores, and of their squares, take O(K) steps for all cumulative shares, and for all
single answers, whose scores are differences of two neighbors.

Answers that are numbers: grids, the number of each label, and the nearest label.

Numbers are taken as they are written: 0.1 is 1/10. Labels are integers, or texts that are decimal numbers.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from warner.designs.channel import Channel
from warner.designs.contract import LARGEST_CHANNEL, Design
from warner.designs.draws import RandomBytes, in_batches, uniform
from warner.designs.exact import Number, exact
from warner.designs.facts import NOBODY, LinearCombination, Nested, SamplingModel, memberships
from warner.designs.labels import Domain, Labels, canonical, grid_to_json, is_missing, step_of
from warner.designs.law import Law, LinearEstimator, once_per_design
from warner.designs.symmetric import FromOdds, refuse_odds
from warner.numerics import first_true

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from warner.arrays import Array, Counts, Integers, Mask, Sets, Shape
    from warner.designs.facts import BinomialReports, Estimand
    from warner.documents import Document


# Grids

MOST_POINTS = 10**7  # of a grid whose points are listed
DECIMAL = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
NEARLY = 1e-9  # of a step: how far rounding may move a number, which decides on which side of another one it lies


def grid(lower: Number, upper: Number, step: Number = 1) -> range | list[str]:
    """Return the numbers from `lower` to `upper` by `step`, both ends included, as the domain of a design.

    The bounds must be known before data collection. Bounds from the data, such as the largest income, reveal an answer.

    Parameters
    ----------
    lower, upper : number
        The ends, taken as they are written; `upper` is `lower` plus a whole number of steps.
    step : number
        The distance between neighbors, above 0.

    Returns
    -------
    range or list of str
        Integers, or decimal texts where the numbers are not all whole.

    Examples
    --------
    >>> grid(0, 200_000, 50_000)
    range(0, 200001, 50000)
    >>> grid(0, 0.5, 0.1)
    ['0.0', '0.1', '0.2', '0.3', '0.4', '0.5']
    """
    low, high, by = (exact(name, number) for name, number in (("lower", lower), ("upper", upper), ("step", step)))
    if by <= 0:
        raise ValueError(f"step must be above 0, but got {step!r}")
    if high <= low or (high - low) % by:
        raise ValueError(
            f"upper must be a whole number of steps above the lower end, but got {lower!r}, {upper!r} and {step!r}"
        )
    points = int((high - low) / by) + 1
    if points > MOST_POINTS:
        raise ValueError(f"a grid must have at most {MOST_POINTS:,} points, but this has {points:,}; take larger steps")
    if low.denominator == by.denominator == 1:
        return range(int(low), int(high) + 1, int(by))
    texts = decimal_texts([low + i * by for i in range(points)])
    if texts is None:
        raise ValueError(f"lower and step must be decimal numbers, but got {lower!r} and {step!r}")
    return texts


def decimal_texts(numbers: list[Fraction]) -> list[str] | None:
    """Format numbers with the least common number of decimals; None if some number has no finite decimal.

    >>> decimal_texts([Fraction(0), Fraction(1, 8)]), decimal_texts([Fraction(1, 3)])
    (['0.000', '0.125'], None)
    """
    denominator, places = math.lcm(*(number.denominator for number in numbers)), 0
    for factor in (2, 5):
        times = 0
        while denominator % factor == 0:
            denominator, times = denominator // factor, times + 1
        places = max(places, times)
    if denominator != 1:
        return None
    whole = (int(number * 10**places) for number in numbers)
    return [f"{Decimal(number).scaleb(-places, Context(prec=99)):.{places}f}" for number in whole]


def is_numeric(labels: Labels) -> bool:
    """Return True if all labels are integers, or all are decimal numbers as texts."""
    first: Any = labels[0]
    return isinstance(first, int) or all(DECIMAL.fullmatch(str(label)) for label in labels)


def numbers_of(labels: Labels) -> list[Fraction]:
    return [Fraction(label) for label in labels]


def refuse_unordered(labels: Labels) -> None:
    """Raise an error unless numeric labels are in ascending order."""
    if isinstance(labels, range) or not is_numeric(labels):
        return
    numbers = numbers_of(labels)
    for index in range(1, len(numbers)):
        if numbers[index] <= numbers[index - 1]:
            raise ValueError(
                "domain must hold numbers in ascending order, but "
                f"{labels[index]!r} comes after {labels[index - 1]!r}; sort them"
            )


def nearest(labels: Labels, numbers: Any) -> Any:
    """Return the label nearest to each number exactly, halves upwards; numbers beyond the ends become the ends.

    One number returns one label, a list a list, an array or a column an array; missing values stay missing.
    """
    refuse_texts(labels)
    if hasattr(numbers, "__array__") and not isinstance(numbers, np.generic):  # a column of a data frame, too
        numbers = np.asarray(numbers)
    if isinstance(numbers, np.ndarray) and numbers.dtype.kind in "iuf":
        return _nearest_in_array(labels, numbers)
    if isinstance(numbers, np.ndarray):
        flat = [_nearest(labels, number) for number in numbers.ravel().tolist()]
        return np.array(flat, dtype=object).reshape(numbers.shape)
    if isinstance(numbers, list | tuple):
        return [_nearest(labels, number) for number in numbers]
    return _nearest(labels, numbers)


def refuse_texts(labels: Labels) -> None:
    """Raise an error unless the labels are numbers."""
    if not is_numeric(labels):
        raise TypeError("nearest needs answers that are numbers, but the design's are texts")


def _nearest(labels: Labels, number: Any) -> Any:
    if is_missing(number):
        return None
    try:
        return labels[_nearest_index(labels, exact("number", number))]
    except (TypeError, ValueError):  # the message would show a true answer
        raise ValueError("an answer must be a finite number to be rounded to the nearest one of the design") from None


def _nearest_index(labels: Labels, number: Fraction) -> int:
    """Count the midpoints between neighbors that are not above the number."""

    def above(index: int) -> bool:
        return Fraction(labels[index]) + Fraction(labels[index + 1]) > 2 * number

    return first_true(above, 0, len(labels) - 1)


def _nearest_in_array(labels: Labels, numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    missing = np.isnan(numbers) if numbers.dtype.kind == "f" else np.zeros(numbers.shape, dtype=bool)
    if np.isinf(numbers).any():
        raise ValueError("an answer must be a finite number to be rounded to the nearest one of the design")
    values = np.array([float(Fraction(label)) for label in labels]) if step_of(labels) is None else None
    given = np.where(missing, 0.0, numbers.astype(np.float64))
    if values is None:
        step, last = step_of(labels), len(labels) - 1
        exactly = np.clip((given - float(labels[0])) / float(step or 1) + 0.5, 0, last + 0.5)
        indices: Integers = np.floor(exactly).astype(np.int64)
        doubtful = np.abs(exactly - np.rint(exactly)) <= NEARLY
    else:
        middles = (values[:-1] + values[1:]) / 2
        indices = middles.searchsorted(given, side="right")
        apart = np.abs(
            given[..., np.newaxis] - middles[np.clip(indices[..., np.newaxis] - [1, 0], 0, middles.size - 1)]
        )
        doubtful = apart.min(axis=-1) <= NEARLY * np.diff(values).min()
    indices = np.clip(indices, 0, len(labels) - 1)
    for where in zip(*np.nonzero(doubtful & ~missing), strict=True):
        indices[where] = _nearest_index(labels, exact("number", numbers[where]))
    if isinstance(labels[0], str):
        texts = np.array(labels, dtype=object)[indices]
        texts[missing] = None
        return np.asarray(texts)
    whole = np.array(labels, dtype=np.int64)[indices]
    return np.where(missing, np.nan, whole) if missing.any() else whole


def continued(labels: Labels, steps: int) -> Sequence[int]:
    """Extend evenly spaced integers by `steps` on either side; other labels are extended by position."""
    step = step_of(labels)
    if step is None:
        return range(-steps, len(labels) + steps)
    first = int(labels[0])
    return range(first - steps * step, first + (len(labels) + steps) * step, step)


# Ordered

AT_ONCE = 2**22  # scores that are held at a time


class StepSums(NamedTuple):
    """Sums over reports of the step scores of the first 0, 1 ... K answers: zero for none of them and for all.

    `total` and `square` have the shape (rows, K + 1), one row for each row of weights of the reports; `least` and
    `most`, of shape (K + 1,), are the least and the most step score of one report.
    """

    total: Array
    square: Array
    least: Array
    most: Array


class OrderedDesign(FromOdds):
    """A design for ordered answers, made from odds."""

    ordered: ClassVar[bool] = True

    @property
    @abstractmethod
    def law(self) -> ScoreLaw:
        """Distribution of counts of reports, given the shares of the answers."""

    def __init__(self, domain: Domain, **given: Any) -> None:
        labels = canonical(domain)
        refuse_unordered(labels)
        super().__init__(labels, **given)

    def nearest(self, numbers: Any) -> Any:
        """Return the possible answer nearest to each number: halves upwards, numbers beyond the ends at the ends.

        It is exact, is done by the respondent, and spends no epsilon. One number returns one answer, a list a list, and
        an array or a column of a data frame an array; missing values stay missing.
        """
        return nearest(self.domain, numbers)

    @property
    def ratio(self) -> tuple[int, int]:
        a, b = self.odds
        return b, a

    @classmethod
    def variants(cls, domain: Domain, epsilon: Number, quantity: str = "shares") -> Mapping[str, Design]:
        """Return the best design for a mean or a distribution; none for shares."""
        return {} if quantity == "shares" else {cls.mechanism: cls._best_for_quantity(domain, epsilon, quantity)}

    @classmethod
    def _best_for_quantity(cls, domain: Domain, epsilon: Number, quantity: str) -> Self:
        """Return the best design for a mean or a distribution."""
        return cls(domain, epsilon=epsilon)

    # A mechanism defines these

    @property
    @abstractmethod
    def total(self) -> int:
        """Number of equally likely draws that decide one report."""

    @abstractmethod
    def _reported(self, answers: Integers, drawn: Counts) -> Integers:
        """Return the column of each answer's report, decided by its number below `total`."""

    @abstractmethod
    def _weights(self) -> Integers:
        """Return the number of draws that lead from each answer to each report."""

    # Derived from these

    def _check(self) -> None:
        if isinstance(self.domain[0], int):
            refuse_unordered(self.domain)
        refuse_odds(*self.odds, self.total)

    @property
    def draws(self) -> tuple[int, ...]:
        return (self.total,)

    @in_batches()
    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Integers:
        return self._reported(answers, uniform(answers.size, self.total, random_bytes))

    def as_channel(self) -> Channel:
        if self.k > LARGEST_CHANNEL:
            raise self._too_large_for_a_matrix()
        return Channel.of_weights(self.domain, self.law.columns, self._weights(), self.total)

    def fields(self) -> Document:
        return super().fields() | {"domain": grid_to_json(self.domain)}


class ScoreLaw(Law):
    """Law of an ordered design, whose reports have unbiased scores for every sum of shares."""

    design: OrderedDesign

    @abstractmethod
    def _scores(self, memberships: Array) -> Array:
        """Return the unbiased scores of all reports for each row of memberships, as rows."""

    @abstractmethod
    def _step_sums(self, weights: Array) -> StepSums:
        """Return the sums of the step scores for rows of weights of the reports, in O(K)."""

    @property
    def _steps_apart(self) -> bool:
        """True if the step scores of neighboring answers are nonzero for different reports."""
        return self.k > 2

    def _binomial_runs(self, counts: Counts, sizes: Integers) -> tuple[Array, ...] | None:
        """Return count, trials, base and gain of the shares of the first answers; None if not binomial."""
        return None

    def _binomial(self, membership: Array) -> BinomialReports | None:
        """Return reports whose number is binomial in the sum with these memberships; None if there are none."""
        return None

    def _binomial_among_some(self, membership: Array) -> BinomialReports | None:
        """Return reports whose number is binomial among some reports; None if there are none."""
        return None

    def _draw_counts_of_people(self, people: Integers, rng: np.random.Generator, shape: Shape = ()) -> Integers:
        total = np.zeros((*shape, len(self.columns)), dtype=np.int64)
        for answer in np.flatnonzero(people).tolist():
            row = self.likelihood().forward((np.arange(self.k) == answer).astype(np.float64))
            total += rng.multinomial(people[answer], row / row.sum(), size=shape)
        return total

    @property
    def linear(self) -> ScoreEstimator:
        return ScoreEstimator(self)

    def _memberships(self, sets: Sets | None, minus: Sets | None = None) -> Iterator[Array]:
        """Yield memberships in batches of sets, less `minus`, one row for each set; for single answers if None."""
        number = self.k if sets is None else len(sets)
        step = max(1, AT_ONCE // self.k)
        for start in range(0, number, step):
            yield memberships(sets, self.k, range(start, min(start + step, number)), minus)

    def sampling_model(
        self, estimand: Estimand, counts: Counts, n: Array, histogram: Counts | None = None
    ) -> SamplingModel:
        sets, minus, target = estimand
        sizes = None if sets is None else _run_sizes(sets)
        if minus is None and (sets is None or sizes is not None) and self._steps_apart:
            return self._runs(counts, n, sizes, target)
        parts = [
            self._part(counts, n, rows, sets, target, apart=minus is not None)
            for rows in self._memberships(sets, minus)
        ]
        count, trials, base, gain, exact_, error, least, most = (
            np.concatenate([part[index] for part in parts], axis=-1) for index in range(8)
        )
        return SamplingModel(count, trials, base, gain, exact_, error, None if minus is not None else (least, most))

    def _runs(self, counts: Counts, n: Array, sizes: Integers | None, target: str) -> SamplingModel:
        """Return the sampling model of single answers, or of sets of first answers, without a matrix of scores."""
        count, mean, square, least, most = self._scored_runs(counts, n, sizes)
        known = mean**2
        if target != "population":
            certain = 0.0 if sizes is None else np.where(sizes == self.k, 1.0, 0.0)  # all answers together
            known = _squares_held(mean, mean, certain, 1.0)
        error, trials = np.sqrt(np.maximum(square - known, 0) / n), np.broadcast_to(n, count.shape).copy()
        base, gain, exact_ = (np.full(count.shape[1], value) for value in (0.0, 1.0, False))
        # Of single answers: the first one, and all but the last one, which mirrors it.
        indices = np.array([0, self.k - 1]) if sizes is None else np.flatnonzero(sizes < self.k)
        before = np.array([1, self.k - 1]) if sizes is None else sizes[indices]
        binomial = self._binomial_runs(counts, before) if target == "population" else None
        if binomial is not None:
            count[:, indices], trials[:, indices], base[indices], gain[indices] = binomial
            exact_[indices] = True
            if sizes is None:
                count[:, -1] = trials[:, -1] - count[:, -1]
                base[-1] = 1 - base[-1] - gain[-1]
        return SamplingModel(count, trials, base, gain, exact_, error, (least, most))

    def _scored_runs(
        self, counts: Counts, n: Array, sizes: Integers | None
    ) -> tuple[Array, Array, Array, Array, Array]:
        """Return sums and means of scores, means of their squares, and the least and largest score of each set.

        Means include one more report, spread equally over all kinds: otherwise kinds that were never reported would
        count as impossible, and half a report of each kind would outnumber the reports.
        """
        columns = counts.shape[-1]
        weights = np.vstack([counts, np.full((1, columns), 1 / columns)])
        steps = self._step_sums(weights)
        if sizes is None:
            level = np.full(self.k, 1 / self.k)
            total, square = np.diff(steps.total), steps.square[:, 1:] + steps.square[:, :-1]
            least = np.minimum(steps.least[1:], -steps.most[:-1])
            most = np.maximum(steps.most[1:], -steps.least[:-1])
        else:
            level = sizes / self.k
            total, square, least, most = (part[..., sizes] for part in steps)
        everybody = weights.sum(axis=1, keepdims=True)
        square = level**2 * everybody + 2 * level * total + square
        total = level * everybody + total
        first, second = ((sums[:-1] + sums[-1]) / (n + 1) for sums in (total, square))
        return total[:-1], first, second, level + least, level + most

    def _part(
        self, counts: Counts, n: Array, rows: Array, sets: Sets | None, target: str, *, apart: bool
    ) -> tuple[Array, ...]:
        """Return count, trials, base, gain, exactness, error, least and largest score for a batch of sets."""
        scores = self._scores(rows)
        observed = counts.astype(np.float64, copy=False)
        count = np.asarray(observed @ scores.T)

        def mean(scored: Array) -> Array:
            return np.asarray((observed @ scored.T + scored.mean(axis=1)) / (n + 1))

        first = (count + scores.mean(axis=1)) / (n + 1)
        least, most = scores.min(axis=1), scores.max(axis=1)
        second = mean(np.square(scores, out=scores))
        known = first**2
        if target != "population":  # the scores vary around u_i, given the answer i
            known = mean(self._scores(rows**2)) if apart or isinstance(sets, LinearCombination) else first
            known = _squares_held(known, first, rows.min(axis=1), rows.max(axis=1))
        error = np.sqrt(np.maximum(second - known, 0) / n)
        base, gain, trials = np.zeros(len(rows)), np.ones(len(rows)), np.broadcast_to(n, count.shape).copy()
        binomials = [None if apart else self._count_of(row, sets, target) for row in rows]
        exact_ = np.array([known is not None for known in binomials], dtype=bool)
        for index, found in enumerate(binomials):
            if found is None:
                continue
            count[:, index] = counts[:, found.reports].sum(axis=-1)
            base[index], gain[index] = found.base, found.gain
            if found.among is not None:
                asked = counts[:, found.among].sum(axis=-1)
                middle = found.base + found.gain * rows[index].mean()
                trials[:, index] = np.where(asked > 0, asked, NOBODY)
                count[:, index] = np.where(asked > 0, count[:, index], NOBODY * middle)
        return count, trials, base, gain, exact_, error, least, most

    def _count_of(self, membership: Array, sets: Sets | None, target: str) -> BinomialReports | None:
        """Return the binomial count of one set; None if it has none.

        For target `realised` this needs memberships of 0 and 1, and a count among all reports. Otherwise the count is
        not a sum of two binomial numbers.
        """
        fuzzy, realised = isinstance(sets, LinearCombination), target != "population"
        found = None if fuzzy and realised else self._binomial(membership)
        if found is not None or fuzzy or realised:
            return found
        return self._binomial_among_some(membership)

    @once_per_design
    def _inverse(self) -> Array:
        weights = self._scores(np.eye(self.k)).T
        weights.flags.writeable = False
        return weights


class ScoreEstimator(LinearEstimator):
    """Unbiased shares as means of scores, which sums of step scores have in O(K)."""

    law: ScoreLaw

    def apply(self, observed: Array) -> Array:
        everybody = observed.sum(axis=-1, keepdims=True)
        steps = self.law._step_sums(observed.reshape(-1, observed.shape[-1])).total
        return np.asarray(everybody / self.law.k + np.diff(steps, axis=-1).reshape(*observed.shape[:-1], self.law.k))

    def identifiable(self) -> Mask:
        return np.ones(self.law.k, dtype=bool)

    def influence(self) -> float:
        law = self.law
        if not law._steps_apart:
            return max(float(np.ptp(law._scores(rows), axis=1).max()) for rows in law._memberships(None))
        *_, least, most = law._scored_runs(np.zeros((1, len(law.columns))), np.ones((1, 1)), None)
        return float((most - least).max())

    def second_moments(self, memberships: Array) -> Array:
        binomial = self.law._binomial(memberships)
        if binomial is None:
            scores = self.law._scores(memberships[np.newaxis])[0]
            return np.asarray(self.law.likelihood().adjoint(np.square(scores)))
        counted = binomial.base + binomial.gain * memberships
        return np.asarray(counted * (1 - counted) / binomial.gain**2 + memberships**2)


def running_sums(x: Array) -> Array:
    """Return the sums of the first 0, 1, 2, ... numbers along the last axis."""
    x = np.asarray(x, dtype=np.float64)
    sums = np.zeros((*x.shape[:-1], x.shape[-1] + 1))
    np.cumsum(x, axis=-1, out=sums[..., 1:])
    return sums


def _squares_held(mean_square: Array, mean: Array, least: Array | float, most: Array | float) -> Array:
    """Mean square of memberships from `least` to `most`: at least that of their mean, and at most 1."""
    return np.clip(mean_square, np.minimum(np.clip(mean, least, most) ** 2, 1), 1)


def _run_sizes(sets: Sets) -> Integers | None:
    if isinstance(sets, Nested) and np.array_equal(sets.order, np.arange(len(sets.order))):
        return sets.sizes
    return None
