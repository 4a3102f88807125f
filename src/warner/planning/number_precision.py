r"""Precision of planned means and quantiles, in the unit of the answers, at expected counts.

**A mean** is the share of a fuzzy set (module ``inference.means``). Its half-width is that of the exact interval where
reports are binomial in it, and of the approximate one elsewhere, before it is cut at the ends of the range; its error
is the standard error of the unbiased mean. Without an expected population both are for the worst one. A score that is
unbiased for memberships u has the variance

.. math:: \sum_i \theta_i A_i - \Big(\sum_i \theta_i u_i\Big)^2

per report, with :math:`A_i` the mean square of the scores given the answer i (`LinearEstimator.second_moments`). Given
the mean m, the first sum is at most the upper convex hull of the points :math:`(u_i, A_i)` at m, where one or two
answers are held; along an edge of slope s, the variance is largest at m = s/2. So the worst population has two answers.

**The noise** in a mean is what randomizing adds, whoever is asked: :math:`A_i - u_i^2` given the answer i. Mechanisms
are compared by its largest value over all answers. For a cut-off response, that is :math:`1/(4(p-q)^2)` of the squared
range: the variance of Duchi and others.

**A quantile** has the interval that limits of the distribution function give at every number
(module ``inference.quantiles``). How wide that is depends on how the distribution rises there, and in the worst case it
does not: a quantile is planned for an expected population.

Sample size and epsilon for a given precision: the fewest people, or the smallest epsilon, that reach a goal.

Both measures fall with either, so that bisection finds them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from warner.arrays import LARGEST_TOTAL
from warner.designs.facts import CumulativeSets
from warner.inference.binomial import binomial_limits
from warner.inference.differences import MEAN_UNKNOWN
from warner.inference.intervals import readout_limits
from warner.inference.means import place_of, sets_of, up_to_each
from warner.numerics import bisected, first_true
from warner.planning.precision import PlannedSample, Precision, anytime_half_width, with_article

if TYPE_CHECKING:
    from warner.arrays import Array, Sets
    from warner.designs.contract import Design
    from warner.designs.exact import Number
    from warner.designs.facts import SamplingModel
    from warner.planning.precision import AskedNumber, PlanningQuestion


# Number precision


HULL_ROUNDING = 1e-12  # by how much a point on an edge of the convex hull may lie beside it, of the largest square
SMALLEST_VARIANCE = 1e-30  # of a share that is certain
CUMULATIVE_SHARES = 100  # of the distribution function, by whose noise mechanisms are compared, at most


class NumberMeasured(NamedTuple):
    """What a number of people can tell about a number; see the attributes of `NumberPlan`."""

    half_width: float
    standard_error: float | None
    value: float
    method: str


def precision_of(design: Design, question: PlanningQuestion) -> Precision | MeanPrecision | QuantilePrecision:
    """Give what a survey under this design can tell about what is asked."""
    if question.numbers is None:
        return Precision(design, question)
    return (MeanPrecision if question.numbers.tau is None else QuantilePrecision)(design, question, question.numbers)


@dataclass(frozen=True, eq=False)
class MeanPrecision(PlannedSample):
    """What a survey under this design can tell about a mean, by the number of people who report."""

    numbers: AskedNumber
    measures = ("half_width", "error")

    @cached_property
    def population(self) -> Array:
        """The shares that the precision is for: as expected, or the worst."""
        if self.question.population is not None:
            return self.question.population
        return worst_population(
            self.numbers.memberships, self.design.law.linear.second_moments(self.numbers.memberships)
        )

    @cached_property
    def _reported(self) -> Array:
        return self.design.law.probabilities(self.population)[np.newaxis]

    @cached_property
    def _sets(self) -> Sets:
        return sets_of(self.numbers.memberships)

    def _readout(self, n: float) -> SamplingModel:
        n = self.simple(n)
        found = self.design.law.readout(n * self._reported, np.full((1, 1), n), self._sets)
        if math.isinf(float(found.squared_errors()[0, 0])):
            raise ValueError(MEAN_UNKNOWN)
        return found

    def measured(self, n: float) -> float:
        """Give what the goal is about: the half-width or the error."""
        return self.half_width(n) if self.question.measure == "half_width" else self.error(n)

    def error(self, n: float) -> float:
        """Give the standard error of the unbiased mean."""
        return self.numbers.width * math.sqrt(float(self._readout(n).squared_errors()[0, 0]))

    def half_width(self, n: float) -> float:
        """Give half the length of the interval, before it is cut at the ends of the range."""
        readout, tail = self._readout(n), self.question.confidence.tail(1)
        if self.question.confidence.anytime:
            return self.numbers.width * anytime_half_width(readout, 2 * tail)
        if not np.all(readout.exact):
            return self.numbers.width * -float(ndtri(tail)) * math.sqrt(float(readout.squared_errors()[0, 0]))
        low, high = binomial_limits(readout.count, readout.trials, tail)
        return self.numbers.width * float(((high - low) / 2 / np.abs(readout.gain))[0, 0])

    def at(self, n: float) -> NumberMeasured:
        """Give everything that n people can tell."""
        value = float(self.population @ self.numbers.values)
        method = "clopper_pearson" if np.all(self._readout(n).exact) else "linear"
        return NumberMeasured(self.half_width(n), self.error(n), value, method)


@dataclass(frozen=True, eq=False)
class QuantilePrecision(PlannedSample):
    """What a survey under this design can tell about a quantile, by the number of people who report."""

    numbers: AskedNumber
    measures = ("half_width",)

    @cached_property
    def population(self) -> Array:
        """The shares that are expected."""
        assert self.question.population is not None
        return self.question.population

    @cached_property
    def _reported(self) -> Array:
        return self.design.law.probabilities(self.population)[np.newaxis]

    def measured(self, n: float) -> float:
        """Give the half-width."""
        return self.half_width(n)

    def half_width(self, n: float) -> float:
        r"""Give half the length of the interval, on average over surveys.

        A limit varies about as its share does, so that it falls short of :math:`\tau` with about the probability
        :math:`\Phi((\tau - L(t))/s(t))`, with L(t) and its standard error s(t) at expected counts. The upper end lies
        beyond t if that happens at t or after; the lower end alike. Limits at different numbers are taken to be
        independent, which makes the interval wider than it will be, if anything.
        """
        points, low, high, error, _ = self._limits(n)
        short, reached = ndtr((self._tau - low) / error), ndtr((high - self._tau) / error)
        beyond = 1 - np.cumprod(1 - short[::-1])[::-1]  # that the upper end is after each number
        before = np.cumprod(1 - reached)  # that the lower end is after each number
        return float((beyond - before) @ np.diff(points)) / 2

    @property
    def _tau(self) -> float:
        assert self.numbers.tau is not None
        return self.numbers.tau

    def _limits(self, n: float) -> tuple[Array, Array, Array, Array, tuple[str, ...]]:
        """Return the numbers, limits and errors of the distribution function at each but the last, and the methods."""
        n = self.simple(n)
        points, sets = up_to_each(self.numbers.values)
        known = CumulativeSets(len(points) - 1) if isinstance(sets, CumulativeSets) else sets[:-1]
        readout = self.design.law.readout(n * self._reported, np.full((1, 1), n), known)
        ends = readout_limits(readout, self.question.confidence.tail(1), "population")
        error = np.sqrt(np.maximum(readout.squared_errors()[0], SMALLEST_VARIANCE))
        return points, ends.low[0], ends.high[0], error, ends.methods

    def at(self, n: float) -> NumberMeasured:
        """Give everything that n people can tell."""
        points, *_, methods = self._limits(n)
        value = float(points[place_of(self.population, self.numbers.values, points, self._tau)])
        return NumberMeasured(self.half_width(n), None, value, " or ".join(methods))


def worst_population(memberships: Array, squares: Array) -> Array:
    """Give the shares for which a mean of scores varies most: of two answers, on the upper convex hull.

    >>> worst_population(np.array([0.0, 0.5, 1.0]), np.array([1.0, 1.0, 1.0]))  # the variance is 1 - m^2
    array([1., 0., 0.])
    """
    hull: list[int] = []
    for place in np.lexsort((-squares, memberships)).tolist():
        if hull and memberships[place] == memberships[hull[-1]]:
            continue  # the first of equal memberships has the largest square
        while len(hull) > 1:
            one, two = hull[-2:]
            ahead = (squares[place] - squares[one]) * (memberships[two] - memberships[one])
            along = (squares[two] - squares[one]) * (memberships[place] - memberships[one])
            if ahead < along - HULL_ROUNDING * float(squares.max()):
                break  # it lies below the hull, not on it
            hull.pop()
        hull.append(place)
    best, shares = -math.inf, np.zeros(memberships.size)
    for one, two in pairwise(hull):
        low, high = float(memberships[one]), float(memberships[two])
        slope = float(squares[two] - squares[one]) / (high - low)
        mean = min(max(slope / 2, low), high)
        variance = float(squares[one]) + slope * (mean - low) - mean**2
        if variance > best:
            best, shares = variance, np.zeros(memberships.size)
            shares[two] = (mean - low) / (high - low)
            shares[one] = 1 - shares[two]
    return shares


def noise_of_mean(design: Design, memberships: Array) -> float:
    """Give the largest variance, over all answers, that randomizing adds to one report of a mean: on a range of 1."""
    return float((design.law.linear.second_moments(memberships) - memberships**2).max())


def noise_of_distribution(design: Design) -> float:
    """Give the variance that randomizing adds to one report of a cumulative share, if all answers are equally common.

    On average over the cumulative shares of all answers but the last, or over a hundred evenly spaced ones.
    """
    k = design.k
    sets = [range(end) for end in np.unique(np.linspace(1, k - 1, min(k - 1, CUMULATIVE_SHARES)).astype(int)).tolist()]
    boundless = 2.0**53
    reported = boundless * design.law.probabilities(np.full(k, 1 / k))[np.newaxis]
    readout = design.law.readout(reported, np.full((1, 1), boundless), sets, target="realised")
    return float(boundless * readout.squared_errors("realised").mean())


# Solving


SMALLEST_EPSILON = 1e-6  # smaller ones are not looked for
LARGEST_EPSILON = 20.0  # beyond, a report is the truth but for one in some hundred million
EPSILON_TOLERANCE = 1e-10  # difference of ln epsilon at which the search for it ends
EPSILONS_TRIED = 400  # epsilons that are looked at where the measure may jump


def fewest_people(design: Design, question: PlanningQuestion, goal: float) -> int:
    """Find the smallest number of people whose measure is at most the goal."""
    precision = precision_of(design, question)
    high = 1
    while not precision.measured(float(high)) <= goal:
        if high >= LARGEST_TOTAL:
            best = precision.measured(float(LARGEST_TOTAL))
            raise ValueError(
                f"no number of people up to 2^53 reaches {with_article(question.measure)} of {question.amount(goal)}"
                f"{question.about} at epsilon {design.shown_epsilon()}; 2^53 people would reach "
                f"{question.amount(best)}. Allow a larger epsilon or a wider interval"
            )
        high = min(4 * high, LARGEST_TOTAL)
    # A quarter of them did not reach it, or is nobody.
    return first_true(lambda people: precision.measured(float(people)) <= goal, high // 4 + 1, high)


def smallest_epsilon(design: Design, people: int, question: PlanningQuestion, goal: float) -> Design:
    """Find the design of the same mechanism, for the same answers, that reaches the goal with the smallest epsilon.

    Of a mechanism with a parameter that jumps with epsilon, as the size of sets and the width of a square wave do, the
    measure may jump as well. It is then the smallest of many epsilons, at most a few percent apart, and refined from
    there.
    """

    def made(epsilon: float) -> Design:
        return with_epsilon(design, epsilon, question.share_asked)

    def reaches(epsilon: float) -> bool:
        return precision_of(made(epsilon), question).measured(float(people)) <= goal

    low, high = math.log(SMALLEST_EPSILON), math.log(LARGEST_EPSILON)
    if not reaches(LARGEST_EPSILON):
        nearly_truthful = made(LARGEST_EPSILON)
        best = precision_of(nearly_truthful, question).measured(float(people))
        raise ValueError(
            f"no epsilon up to {LARGEST_EPSILON:g} lets {people:,} people reach {with_article(question.measure)} of "
            f"{question.amount(goal)}: sampling error alone is larger. They can reach "
            f"{question.amount(best, up=True)} at best; {question.amount(goal)} takes "
            f"{fewest_people(nearly_truthful, question, goal):,} people even with hardly any noise"
        )
    if reaches(SMALLEST_EPSILON):
        high = low
    elif design.ordered or not design.law.exclusive:
        # A parameter may jump: bracket the first of many that reaches the goal.
        steps = np.linspace(low, high, EPSILONS_TRIED)
        first = next(place for place, step in enumerate(steps) if reaches(math.exp(step)))
        low, high = float(steps[first - 1]), float(steps[first])
    _, high = bisected(lambda logarithm: reaches(math.exp(logarithm)), low, high, close=EPSILON_TOLERANCE)
    return made(math.exp(high))


def with_epsilon(design: Design, epsilon: Number, share: float | None = None) -> Design:
    """Return the design of the same mechanism and answers that spends this epsilon, the best for a share if given."""
    try:
        made = design.with_epsilon(epsilon)
        return made if share is None else made.best_for_share(share)
    except TypeError:
        raise TypeError(
            f"another epsilon cannot be planned for a {design.mechanism}, which does not follow from epsilon; give the "
            "possible answers instead of the design, or a mechanism such as 'randomized response'"
        ) from None


def follows_epsilon(design: Design) -> bool:
    """Tell whether there are designs of the same mechanism with other epsilons."""
    try:
        design.with_epsilon(1)
    except TypeError:
        return False
    return True
