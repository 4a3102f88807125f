r"""Precision of planned means and quantiles, in the unit of the answers, at expected counts.

**A mean** is the share of a fuzzy set (module ``inference.means``). Its half-width is that of the exact interval where
reports are binomial in it, and of the approximate one elsewhere, before it is cut at the ends of the range; its error
is the standard error of the unbiased mean. Without an expected population both are for the worst one. A score that is
unbiased for memberships u has the variance

.. math:: \sum_i \theta_i A_i - \Big(\sum_i \theta_i u_i\Big)^2

per report, with :math:`A_i` the mean square of the scores given the answer i (`LinearEstimator.second_moments`). Given
the mean m, the first sum is at most the upper convex hull of the points :math:`(u_i, A_i)` at m, for populations with
one or two answers; along an edge of slope s, the variance is largest at m = s/2. So the worst population has two
answers.

**The noise** in a mean is the variance that randomizing adds: :math:`A_i - u_i^2` given the answer i. Mechanisms
are compared by its largest value over all answers. For a cut-off response, that is :math:`1/(4(p-q)^2)` of the squared
range: the variance of Duchi and others.

**A quantile** has the interval that limits of the distribution function give at every number
(module ``inference.quantiles``). Its width depends on the slope of the distribution function there, which is 0 in the
worst case: a quantile is planned for an expected population.

**Solving.** The smallest sample size, or epsilon, that reaches a goal is found by bisection: both measures fall with
either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri

from warner.arrays import LARGEST_TOTAL
from warner.designs.facts import CumulativeSets
from warner.inference.binomial import binomial_limits
from warner.inference.differences import MEAN_UNKNOWN
from warner.inference.intervals import readout_limits
from warner.inference.means import quantile_index, sets_of, up_to_each
from warner.numerics import bisected, first_true
from warner.planning.precision import PlannedSample, Precision, anytime_half_width, with_article

if TYPE_CHECKING:
    from warner.arrays import Array
    from warner.designs.contract import Design
    from warner.designs.exact import Number
    from warner.designs.facts import SamplingModel
    from warner.planning.precision import AskedNumber, PlanningQuestion


HULL_ROUNDING = 1e-12  # by how much a point on an edge of the convex hull may lie beside it, of the largest square
SMALLEST_VARIANCE = 1e-30  # of a share that is certain
CUMULATIVE_SHARES = 100  # of the distribution function, by whose noise mechanisms are compared, at most


def precision_of(design: Design, question: PlanningQuestion) -> Precision | MeanPrecision | QuantilePrecision:
    if question.numbers is None:
        return Precision(design, question)
    return (MeanPrecision if question.numbers.tau is None else QuantilePrecision)(design, question, question.numbers)


@dataclass(frozen=True, eq=False)
class NumberPrecision(PlannedSample):
    """Precision of a mean or a quantile by sample size."""

    numbers: AskedNumber

    @cached_property
    def population(self) -> Array:
        """Shares that the precision is for: as expected, or the worst."""
        if self.question.population is not None:
            return self.question.population
        squares = self.design.law.linear.second_moments(self.numbers.memberships)
        return worst_population(self.numbers.memberships, squares)

    @cached_property
    def _reported(self) -> Array:
        return self.design.law.probabilities(self.population)[np.newaxis]


class MeanPrecision(NumberPrecision):
    """Precision of a mean by sample size."""

    measures = ("half_width", "error")

    def _readout(self, n: float) -> SamplingModel:
        n = self.simple(n)
        found = self.design.law.readout(n * self._reported, np.full((1, 1), n), sets_of(self.numbers.memberships))
        if math.isinf(float(found.squared_errors()[0, 0])):
            raise ValueError(MEAN_UNKNOWN)
        return found

    def error(self, n: float) -> float:
        """Return the standard error of the unbiased mean."""
        return self.numbers.width * math.sqrt(float(self._readout(n).squared_errors()[0, 0]))

    def half_width(self, n: float) -> float:
        """Half-width of the interval, before it is cut at the ends of the range."""
        readout, tail = self._readout(n), self.question.confidence.tail(1)
        if self.question.confidence.anytime:
            return self.numbers.width * anytime_half_width(readout, 2 * tail)
        if not np.all(readout.exact):
            return self.numbers.width * -float(ndtri(tail)) * math.sqrt(float(readout.squared_errors()[0, 0]))
        low, high = binomial_limits(readout.count, readout.trials, tail)
        return self.numbers.width * float(((high - low) / 2 / np.abs(readout.gain))[0, 0])

    def at(self, n: float) -> dict[str, Any]:
        value = float(self.population @ self.numbers.values)
        method = "clopper_pearson" if np.all(self._readout(n).exact) else "linear"
        return {"half_width": self.half_width(n), "standard_error": self.error(n), "value": value, "method": method}


class QuantilePrecision(NumberPrecision):
    """Precision of a quantile by sample size."""

    measures = ("half_width",)

    def half_width(self, n: float) -> float:
        r"""Average half-width of the interval over surveys.

        A limit varies about as its share does: it falls short of :math:`\tau` with a probability of about
        :math:`\Phi((\tau - L(t))/s(t))`, with L(t) and its standard error s(t) at expected counts. The upper end lies
        beyond t if that happens at t or after; the lower end alike. Limits at different numbers are taken to be
        independent, which can only make the interval too wide.
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

    def at(self, n: float) -> dict[str, Any]:
        points, *_, methods = self._limits(n)
        value = float(points[quantile_index(self.population, self.numbers.values, points, self._tau)])
        method = " or ".join(methods)
        return {"half_width": self.half_width(n), "standard_error": None, "value": value, "method": method}


def worst_population(memberships: Array, squares: Array) -> Array:
    """Shares for which a mean of scores has the largest variance: of two answers, on the upper convex hull.

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
    """Largest variance, over all answers, that randomizing adds to one report of a mean, on a range of 1."""
    return float((design.law.linear.second_moments(memberships) - memberships**2).max())


def noise_of_distribution(design: Design) -> float:
    """Variance that randomizing adds to one report of a cumulative share, if all answers are equally common.

    On average over the cumulative shares of all answers but the last, or over a hundred evenly spaced ones.
    """
    k = design.k
    sets = [range(end) for end in np.unique(np.linspace(1, k - 1, min(k - 1, CUMULATIVE_SHARES)).astype(int)).tolist()]
    boundless = 2.0**53
    reported = boundless * design.law.probabilities(np.full(k, 1 / k))[np.newaxis]
    readout = design.law.readout(reported, np.full((1, 1), boundless), sets, target="realised")
    return float(boundless * readout.squared_errors("realised").mean())


# Solving


SMALLEST_EPSILON = 1e-6  # lower end of the search
LARGEST_EPSILON = 20.0  # upper end: all but one report in some hundred million are the truth
EPSILON_TOLERANCE = 1e-10  # difference of ln epsilon at which the search for it ends
EPSILONS_TRIED = 400  # grid of the search where the measure may jump


def fewest_people(design: Design, question: PlanningQuestion, goal: float) -> int:
    """Smallest sample size whose measure is at most the goal."""
    precision = precision_of(design, question)
    high = 1
    while not precision.measured(float(high)) <= goal:
        if high >= LARGEST_TOTAL:
            best = precision.measured(float(LARGEST_TOTAL))
            raise ValueError(
                f"no sample size up to 2^53 reaches {with_article(question.measure)} of {question.amount(goal)}"
                f"{question.about} at epsilon {design.shown_epsilon()}; 2^53 respondents would reach "
                f"{question.amount(best)}. Allow a larger epsilon or a wider interval"
            )
        high = min(4 * high, LARGEST_TOTAL)
    return first_true(lambda people: precision.measured(float(people)) <= goal, high // 4 + 1, high)


def smallest_epsilon(design: Design, people: int, question: PlanningQuestion, goal: float) -> Design:
    """Design of the same mechanism, for the same answers, that reaches the goal with the smallest epsilon.

    If a parameter of the mechanism jumps with epsilon, such as the size of sets or the width of a square wave, the
    measure may jump as well. The search then starts from a grid of epsilons that are a few percent apart.
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
            f"no epsilon up to {LARGEST_EPSILON:g} lets {people:,} respondents reach "
            f"{with_article(question.measure)} of {question.amount(goal)}: sampling error alone is larger. They can "
            f"reach {question.amount(best, up=True)} at best; {question.amount(goal)} takes "
            f"{fewest_people(nearly_truthful, question, goal):,} respondents even with hardly any noise"
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
    try:
        design.with_epsilon(1)
    except TypeError:
        return False
    return True
