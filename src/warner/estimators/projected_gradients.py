r"""Maximum likelihood from reports of any kind, by spectral projected gradients: one pass through them per step.

With :math:`\mu_j = \sum_i \theta_i C_{ij}` the log-likelihood per report and its gradient are

.. math:: \ell = \frac1N \sum_j n_j \ln \mu_j, \qquad g_i = \frac1N \sum_j n_j \frac{C_{ij}}{\mu_j},

and no distribution is more likely than :math:`\theta` by more than :math:`N \ln \max_i g_i` nats (`likelihood`). These
sums are all that is asked of the reports. So they may be a histogram, several collections, or blocks of a file that is
read again for every step; and each report's likelihood need only be known up to a positive factor, which cancels in g.

A step goes along the gradient and then to the nearest distribution [1]_, both in the metric of the diagonal

.. math:: D_i = \frac1N \sum_j n_j \frac{(C_{ij} - c_j)^2}{\mu_j^2},

the curvature of :math:`\ell` along each share. Steps sum to zero, so that any constant :math:`c_j` may be taken from a
column. With the level of the answers that a report does not support, D is the whole curvature of a block design at
uniform shares, but for one factor, and the first step is nearly Newton's. The factor is learned on the way, as Barzilai
and Borwein do: from how much the gradient changed over the last step, compared with what D predicts.

EM multiplies each share by g: the more private the reports, the shorter its steps, and a share of zero stays zero. Here
a step is as long as the curvature allows, and an answer that was cut off too early comes back.

.. [1] E. G. Birgin, J. M. Martinez, M. Raydan, "Nonmonotone spectral projected gradient methods on convex sets",
   SIAM J. Optim. 10 (2000), 1196-1211. The metric is ours; where the two lengths of Barzilai and Borwein disagree, the
   shorter one is taken, as in B. Zhou, L. Gao, Y.-H. Dai, "Gradient methods with adaptive step-sizes", Comput. Optim.
   Appl. 35 (2006), 69-86.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from warner.estimators.likelihood import Fit
from warner.estimators.projections import projected

if TYPE_CHECKING:
    from collections.abc import Iterable

    from warner.arrays import Array, Counts, Mask
    from warner.designs.facts import ChannelOperator

IMPOSSIBLE_PROBABILITY = 1e-140  # a probability that counts as zero: the square of its reciprocal is still a double
LEAST_CURVATURE = 1e-12  # the least curvature of the metric, against its largest
EM_GROWTH, EM_PASSES = 3.0, 6  # the largest g down to which the first passes, so many at most, are those of EM
METRIC_STEPS, METRIC_EVERY = (
    (3, 10),
    25,
)  # accepted steps after which the metric is taken anew, and then again and again
STALE_STEPS = 12  # steps without a smaller gap, after which it is taken anew as well
LULLS_AT_ROUNDING = 2  # times that this may happen at the level of rounding: there is no more to gain
NONMONOTONE_STEPS = 8  # steps; the least log-likelihood among them must be surpassed
SUFFICIENT_ASCENT = 1e-4  # the part of what the slope promises that a step must bring
WILDEST_GROWTH = 10.0  # times the largest g before a step: beyond, it nearly rules out what was reported
SHORTEST_PART = 1e-3  # the least part of a step that is tried
LENGTHS_COMPARED = 4  # steps, of which the shortest length is taken
LONGEST_LENGTH = 1e8  # the largest factor on what the metric says, and the reciprocal of the least
VALUE_ROUNDING = 1e-15  # of a log-likelihood per report, relative
GAP_ROUNDING = 1e-12  # nats per report, below which sums of doubles may tell no more


class Point(NamedTuple):
    """What a pass through the reports gives.

    Attributes
    ----------
    n : float
        Number of reports.
    value : float
        Log-likelihood per report; -inf where shares rule out what was reported.
    growth : ndarray of shape (k,)
        g; infinite in that case.
    squares : ndarray of shape (k,) or None
        D, where it was asked for.
    """

    n: float
    value: float
    growth: Array
    squares: Array | None = None

    @property
    def gap(self) -> float:
        """The certified bound on what any other distribution could gain, in nats for the whole sample."""
        return self.n * math.log(max(float(self.growth.max()), 1.0))


class LikelihoodOfShares(Protocol):
    """Reports whose log-likelihood can be had at any shares."""

    def at(self, shares: Array, *, squares: bool = False) -> Point:
        """Go through the reports once."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Reports in one block or in several: each an operator, and the number of reports of each of its columns.

    All of them are gone through in every pass, so they may be made on the way, for instance from a file.

    Examples
    --------
    Truth is told with probability 3/4; 40 of 100 say yes. At equal shares each report has probability 1/2, so that
    g = (0.40 * 0.75 + 0.60 * 0.25) / 0.5 = 0.9 for yes, and 1.1 for no.

    >>> from warner import RandomizedResponse
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> Blocks([(survey.operator(), np.array([40, 60]))]).at(np.array([0.5, 0.5])).growth.round(12)
    array([0.9, 1.1])
    """

    blocks: Iterable[tuple[ChannelOperator, Counts]]

    def at(self, shares: Array, *, squares: bool = False) -> Point:
        """Go through the blocks once: forward and adjoint of each and, where asked for, its squares."""
        n, value = 0.0, 0.0
        growth, curvature = np.zeros_like(shares), np.zeros_like(shares)
        for operator, amounts in self.blocks:
            n += float(amounts.sum())
            expected = np.where(amounts > 0, operator.forward(shares), 1.0)  # what nobody reported does not count
            if value == -math.inf or expected.min(initial=1.0) <= IMPOSSIBLE_PROBABILITY:
                value = -math.inf
                continue
            ratio = amounts / expected
            value += float(amounts @ np.log(expected))
            growth += operator.adjoint(ratio)
            if squares:
                assert operator.squares is not None
                curvature += operator.squares(ratio / expected)
        if value == -math.inf:
            growth.fill(math.inf)
        return Point(n, value / n, growth / n, curvature / n if squares else None)


def projected_gradients(likelihood: LikelihoodOfShares, start: Array, *, gap: float = 1e-6, passes: int = 1000) -> Fit:
    """Maximise the likelihood by spectral projected gradients, from a distribution on.

    It ends when the certified gap is at most `gap`, when sums of doubles tell no more, or after `passes` passes: look
    at the gap of the result. Its ``steps`` are passes. Whether the maximum is unique is not examined here.

    Parameters
    ----------
    likelihood : LikelihoodOfShares
        The reports, with the squares of their operators: for instance `Blocks`.
    start : ndarray of shape (k,)
        A distribution; the nearer, the fewer passes. Shares of zero may become positive.
    gap : float
        Nats for the whole sample.
    passes : int
        The most passes through the reports, two at least.

    Examples
    --------
    >>> from warner import RandomizedResponse
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> fit = projected_gradients(Blocks([(survey.operator(), np.array([40, 60]))]), np.array([0.5, 0.5]))
    >>> fit.shares.round(6), fit.steps <= 5
    (array([0.3, 0.7]), True)
    """
    ascent = _Ascent(likelihood, start, passes)
    while ascent.point.gap > gap and ascent.used < passes and ascent.lulls < LULLS_AT_ROUNDING:
        step = ascent.projected_step() or ascent.em_step()
        if step is None:
            break
        ascent.accept(*step)
    return ascent.fit()


class _Ascent:
    """An ascent: its shares and their point, the best so far, the metric, and the length of the next step in it.

    `stale` counts steps without a smaller gap; `lulls` counts how often that lasted long at the level of rounding.
    """

    def __init__(self, likelihood: LikelihoodOfShares, start: Array, passes: int) -> None:
        self.likelihood, self.passes = likelihood, passes
        self.shares, self.point, self.used = _begun(likelihood, start, passes)
        self.best, self.best_point = self.shares, self.point
        self.values, self.gaps = [self.point.value], [self.point.gap]
        self.metric, self.length, self.lengths = _metric(self.point), 1.0, list[float]()
        self.stale = self.lulls = self.tries = 0

    def projected_step(self) -> tuple[Array, Point] | None:
        """Go along the gradient, then to the nearest distribution; None if no part of this step is good enough."""
        number = len(self.gaps)
        due = number in METRIC_STEPS or number % METRIC_EVERY == 0 or self.stale + 1 >= STALE_STEPS
        target = self.shares + self.length * (self.point.growth - 1) / self.metric
        direction = projected(target, metric=self.metric) - self.shares
        floor = min(self.values[-NONMONOTONE_STEPS:]) - VALUE_ROUNDING * (1 + abs(self.point.value))
        tried, ahead, self.tries = _searched(
            self.likelihood, self.shares, self.point, direction, floor, squares=due, passes=self.passes - self.used
        )
        self.used += self.tries
        return None if ahead is None else (tried, ahead)

    def em_step(self) -> tuple[Array, Point] | None:
        """Take a step of EM, which never falls, where none in this metric is good; the metric is then taken anew."""
        if self.used >= self.passes:
            return None
        tried = self.shares * self.point.growth / (self.shares @ self.point.growth)
        self.used, self.stale, self.lulls = self.used + 1, STALE_STEPS - 1, self.lulls + (self.tries == 0)
        return tried, self.likelihood.at(tried, squares=True)

    def accept(self, shares: Array, point: Point) -> None:
        """Go to other shares, and learn from the step how long the next one may be, or take the metric anew."""
        step, change = shares - self.shares, self.point.growth - point.growth
        self.shares, self.point = shares, point
        self.values.append(point.value)
        self.gaps.append(point.gap)
        self.stale += 1
        if point.gap < self.best_point.gap:
            self.best, self.best_point, self.stale, self.lulls = shares, point, 0, 0
        if point.squares is None:
            self.length = _length(step, change, self.metric, shares > 0, self.lengths)
        else:
            self.lulls += self.stale >= STALE_STEPS and self.best_point.gap <= GAP_ROUNDING * point.n
            self.metric, self.length, self.stale = _metric(point), 1.0, self.stale % STALE_STEPS

    def fit(self) -> Fit:
        """Give the shares with the smallest gap."""
        point = self.best_point
        return Fit(
            self.best,
            gap=point.gap,
            steps=self.used,
            history=np.array(self.gaps),
            unique=False,
            log_likelihood=point.n * point.value,
            excess=float(point.growth.max()) - 1,
        )


def _begun(likelihood: LikelihoodOfShares, start: Array, passes: int) -> tuple[Array, Point, int]:
    """Begin at shares, or halfway to equal ones where they all but rule out what was reported.

    Far from the maximum D says little about the way there: the first steps are those of EM.
    """
    theta, point, used = start, likelihood.at(start, squares=True), 1
    if point.growth.max() > start.size:  # which is never so at equal shares, whatever the reports
        theta = (start + 1 / start.size) / 2
        point, used = likelihood.at(theta, squares=True), 2
        if point.value == -math.inf:
            raise ValueError("reports must be possible, but some have a likelihood of zero after every answer")
    while point.growth.max() > EM_GROWTH and used < min(EM_PASSES, passes):
        theta = theta * point.growth / (theta @ point.growth)
        point, used = likelihood.at(theta, squares=True), used + 1
    return theta, point, used


def _metric(point: Point) -> Array:
    assert point.squares is not None
    largest = float(point.squares.max())  # zero only where no report tells one answer from another
    return np.maximum(point.squares, LEAST_CURVATURE * (largest or 1.0))


def _searched(
    likelihood: LikelihoodOfShares,
    theta: Array,
    point: Point,
    direction: Array,
    floor: float,
    *,
    squares: bool,
    passes: int,
) -> tuple[Array, Point | None, int]:
    """Go along the direction, by shorter and shorter parts of it, until the log-likelihood rises above the floor."""
    slope = float((point.growth - 1) @ direction)
    steepest = WILDEST_GROWTH * max(float(point.growth.max()), 1.0)
    part, used = 1.0, 0
    while slope > 0 and part >= SHORTEST_PART and used < passes:
        tried = np.maximum(theta + part * direction, 0)
        tried /= tried.sum()
        ahead = likelihood.at(tried, squares=squares)
        used += 1
        onward = -math.inf
        if ahead.growth.max() <= steepest:
            onward = float((ahead.growth - 1) @ direction)
            # Concave: what the slope is at the end it was at least all the way, which rounding hides less.
            if ahead.value >= floor + SUFFICIENT_ASCENT * part * slope or onward >= SUFFICIENT_ASCENT * slope:
                return tried, ahead, used
        part *= min(max(slope / (slope - onward), 0.1), 0.5)
    return theta, None, used


def _length(step: Array, change: Array, metric: Array, free: Mask, lengths: list[float]) -> float:
    """Give the factor on the metric's step: the longer one of Barzilai and Borwein, or the least of recent short ones.

    The short one looks at the part of the change that lies in the face of the simplex where the shares are.
    """
    curved = float(step @ change)
    long = float(step @ (metric * step)) / curved if curved > 0 else LONGEST_LENGTH
    inverse = free / metric
    within = np.where(free, change - (inverse @ change) / inverse.sum(), 0.0)
    curved = float(step @ within)
    lengths.append(curved / float(within @ (within / metric)) if curved > 0 else LONGEST_LENGTH)
    length = min(lengths[-LENGTHS_COMPARED:]) if lengths[-1] < long / 2 else long
    return min(max(length, 1 / LONGEST_LENGTH), LONGEST_LENGTH)
