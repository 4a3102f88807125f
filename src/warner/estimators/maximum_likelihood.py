r"""Maximum likelihood under any channel, with a certificate.

Randomized response has a closed form (`warner.mle`). Pools of randomized responses use one price (`separable_mle`).
Other channels use an interior-point method and Newton's method on the positive shares, or projected gradients,
whichever is faster; with products only, accelerated IBU. docs/theory/estimators.md has the equations.

**Projected gradients** [1]_ go through the reports once per step. Only the sums :math:`\ell`, g and the metric D are
needed. So reports may be a histogram, several collections, or blocks of a file that is read again for every step, and
each report's likelihood need only be known up to a positive factor, which cancels in g. Any constant :math:`c_j` may be
subtracted from a column in D. With the level of the answers that a report does not support, D is the whole curvature of
a block design at uniform shares, but for one factor, and the first step is nearly Newton's. Barzilai and Borwein's rule
estimates the factor from the change of the gradient over the last step, compared with the prediction of D.

**Pools of randomized responses** are solved by their dual: each share follows from the price :math:`\lambda` of a
share, by :math:`f_i'(\theta_i) = \lambda`, or is 0 if even :math:`f_i'(0)` is below. (With p < q in some of the designs
an answer that was never reported has no price; such pools use the solver for any channel.)

**Column generation**, for channels whose rows are constant on long stretches of reports. The most likely distribution
under a square wave, or a cut-off response, has few positive shares. Restricted to s answers, the rows of the channel
change only at the ends of their windows, so the likelihood depends on the counts through their sums over at most 2s + 1
stretches of reports: a table of s rows, for Newton's method. Then :math:`g_i = \sum_j \phi_j C_{ij}/\mu_j` of all K
answers costs two running sums. Its peaks above 1 join the answers, answers without a share leave, and every round
raises the likelihood. This is the constrained Newton method of [3]_ for mixing distributions.

.. [1] E. G. Birgin, J. M. Martinez, M. Raydan, "Nonmonotone spectral projected gradient methods on convex sets",
   SIAM J. Optim. 10 (2000), 1196-1211. The metric is ours.
.. [2] B. Zhou, L. Gao, Y.-H. Dai, "Gradient methods with adaptive step-sizes", Comput. Optim. Appl. 35 (2006), 69-86:
   if the two lengths of Barzilai and Borwein disagree, the shorter one is taken.
.. [3] Y. Wang, "On fast computation of the non-parametric maximum likelihood estimate of a mixing distribution",
   J. R. Stat. Soc. B 69 (2007), 185-198.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from warner.arrays import SMALLEST, Array, Counts, Integers, Mask
from warner.designs.facts import ChannelOperator
from warner.estimators.ibu import extrapolated, one_histogram
from warner.estimators.likelihood import (
    ANSWERS_FACTORIZED,
    EXCESS_ROUNDING,
    RANK_CELLS,
    Channels,
    Fit,
    Whole,
    closed_form,
    combined_channel,
    evidence,
    unique_by_products,
    unique_maximum,
)
from warner.estimators.projections import projected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import ArrayLike

    from warner.designs.contract import Design


# Separable


PRICE_STEPS = 200  # far more than are needed: Newton's method, or a bracket that is halved
PRICE_TOLERANCE = 1e-15  # of the sum of the shares, and of the price
NEWTON_STEP_TOLERANCE = 1e-12  # of a step against 1/E + theta: the next one would be its square


def separable_mle(counts: Array, gains: Array) -> Array:
    """Most likely shares, if p > q > 0 in all designs, from counts of shape (designs, k) and gains E = p/q - 1 > 0."""
    counts, column = counts.astype(np.float64), gains[:, np.newaxis]
    at_nothing = _slope(counts, column, np.zeros(counts.shape[1]))
    # The price is the sum of theta f'(theta) = sum c E theta / (1 + E theta) at the maximum, hence at most `high`.
    best = float(column.max())
    low, high = 0.0, min(float(counts.sum()) * best / (1 + best), float(at_nothing.max()))
    price, theta = high, np.zeros(counts.shape[1])
    for _ in range(PRICE_STEPS):
        theta = _from_below(counts, column, price, at_nothing > price, theta)
        excess = float(theta.sum()) - 1
        low, high = (price, high) if excess > 0 else (low, price)
        if abs(excess) <= PRICE_TOLERANCE or high - low <= PRICE_TOLERANCE * price:
            break
        middle, held = (low + high) / 2, theta > 0
        if held.any():
            # Newton's method in 1/price, of which the sum is piecewise linear if there is one design only.
            rate = -float((1 / _bend(counts[:, held], column, theta[held])).sum()) * price**2
            step = 1 / price - excess / rate
            middle = 1 / step if step > 0 and low < 1 / step < high else middle
        price = middle
    return np.asarray(theta / theta.sum())


def _slope(counts: Array, column: Array, theta: Array) -> Array:
    return np.asarray((counts * (column / (1 + column * theta))).sum(axis=0))


def _bend(counts: Array, column: Array, theta: Array) -> Array:
    return np.asarray(-(counts * (column / (1 + column * theta)) ** 2).sum(axis=0))


def _from_below(counts: Array, column: Array, price: float, held: Mask, theta: Array) -> Array:
    """Solve f'(theta) = price by Newton's method on the concave 1/f', whose later steps come from below."""
    result = np.zeros_like(theta)
    part, share = counts[:, held], theta[held]
    for _ in range(PRICE_STEPS):
        slope = _slope(part, column, share)
        # 1/f' + h (-f''/f'^2) = 1/price
        step = slope * (slope - price) / (-_bend(part, column, share) * price)
        share = np.maximum(share + step, 0)
        if np.all(np.abs(step) <= NEWTON_STEP_TOLERANCE * (share + 1 / column.max())):
            break
    result[held] = np.minimum(share, 1)
    return result


# Maximum likelihood


# Projected gradients


IMPOSSIBLE_PROBABILITY = 1e-140  # a probability that counts as zero: the square of its reciprocal is still a double
LEAST_CURVATURE = 1e-12  # the least curvature of the metric, against its largest
EM_GROWTH, EM_PASSES = 3.0, 6  # the largest g down to which the first passes, so many at most, are those of EM
METRIC_STEPS, METRIC_EVERY = (3, 10), 25  # accepted steps after which the metric is taken anew, then again and again
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
    """Log-likelihood and its derivatives at some shares."""

    n: float  # number of reports
    value: float  # log-likelihood per report; -inf if shares exclude observed reports
    growth: Array  # g; infinite in that case
    squares: Array | None = None  # D, if requested

    @property
    def gap(self) -> float:
        """Certified bound on the gain of any other distribution, in nats for the whole sample."""
        return self.n * math.log(max(float(self.growth.max()), 1.0))


class LikelihoodOfShares(Protocol):
    """Reports with a log-likelihood that can be evaluated at any shares."""

    def evaluated(self, shares: Array, *, squares: bool = False) -> Point:
        """Evaluate the log-likelihood in one pass through the reports."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Reports in blocks: each an operator, and the number of reports of each of its columns.

    Every pass iterates over all blocks, which may be read from a file.

    Truth is told with probability 3/4; 40 of 100 say yes. At equal shares each report has probability 1/2, so that
    g = (0.40 * 0.75 + 0.60 * 0.25) / 0.5 = 0.9 for yes, and 1.1 for no.

    >>> from warner import RandomizedResponse
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> Blocks([(survey.law.likelihood(), np.array([40, 60]))]).evaluated(np.array([0.5, 0.5])).growth.round(12)
    array([0.9, 1.1])
    """

    blocks: Iterable[tuple[ChannelOperator, Counts]]

    def evaluated(self, shares: Array, *, squares: bool = False) -> Point:
        n, value = 0.0, 0.0
        growth, curvature = np.zeros_like(shares), np.zeros_like(shares)
        for operator, amounts in self.blocks:
            n += float(amounts.sum())
            expected = np.where(amounts > 0, operator.forward(shares), 1.0)  # unobserved reports do not count
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
    """Maximize the likelihood by spectral projected gradients, starting from a distribution.

    It ends when the certified gap is at most `gap` nats for the whole sample, at the level of rounding, or after
    `passes` passes, two at least, which are its ``steps``: see the gap of the result. The nearer the start, the fewer
    passes; its zeros may become positive. Uniqueness of the maximum is not examined here.

    Examples
    --------
    >>> from warner import RandomizedResponse
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> fit = projected_gradients(Blocks([(survey.law.likelihood(), np.array([40, 60]))]), np.array([0.5, 0.5]))
    >>> fit.shares.round(6), fit.steps <= 5
    (array([0.3, 0.7]), True)
    """
    ascent = _Ascent(likelihood, start, passes)
    while ascent.point.gap > gap and ascent.used < passes and ascent.lulls < LULLS_AT_ROUNDING:
        step = ascent.projected_step() or ascent.em_step()
        if step is None:
            break
        ascent.accept(*step)
    best = ascent.best_point
    return Fit(
        ascent.best,
        gap=best.gap,
        steps=ascent.used,
        history=np.array(ascent.gaps),
        unique=False,
        log_likelihood=best.n * best.value,
        excess=float(best.growth.max()) - 1,
    )


class _Ascent:
    """State of an ascent: the current and the best shares, the metric, and the length of the next step.

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
        """Step along the gradient, then to the nearest distribution; None if no part of it is good enough.

        The step is shortened until the log-likelihood exceeds a recent one.
        """
        number, point = len(self.gaps), self.point
        due = number in METRIC_STEPS or number % METRIC_EVERY == 0 or self.stale + 1 >= STALE_STEPS
        target = self.shares + self.length * (point.growth - 1) / self.metric
        direction = projected(target, metric=self.metric) - self.shares
        floor = min(self.values[-NONMONOTONE_STEPS:]) - VALUE_ROUNDING * (1 + abs(self.point.value))
        slope = float((point.growth - 1) @ direction)
        steepest = WILDEST_GROWTH * max(float(point.growth.max()), 1.0)
        part, self.tries = 1.0, 0
        while slope > 0 and part >= SHORTEST_PART and self.used < self.passes:
            tried = np.maximum(self.shares + part * direction, 0)
            tried /= tried.sum()
            ahead = self.likelihood.evaluated(tried, squares=due)
            self.used, self.tries = self.used + 1, self.tries + 1
            onward = -math.inf
            if ahead.growth.max() <= steepest:
                onward = float((ahead.growth - 1) @ direction)
                # Concave: what the slope is at the end it was at least all the way, which rounding hides less.
                if ahead.value >= floor + SUFFICIENT_ASCENT * part * slope or onward >= SUFFICIENT_ASCENT * slope:
                    return tried, ahead
            part *= min(max(slope / (slope - onward), 0.1), 0.5)
        return None

    def em_step(self) -> tuple[Array, Point] | None:
        """Return a step of EM, which never lowers the likelihood; the metric is then computed again."""
        if self.used >= self.passes:
            return None
        tried = self.shares * self.point.growth / (self.shares @ self.point.growth)
        self.used, self.stale, self.lulls = self.used + 1, STALE_STEPS - 1, self.lulls + (self.tries == 0)
        return tried, self.likelihood.evaluated(tried, squares=True)

    def accept(self, shares: Array, point: Point) -> None:
        """Move to new shares, and update the metric or the length of the next step."""
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


def _begun(likelihood: LikelihoodOfShares, start: Array, passes: int) -> tuple[Array, Point, int]:
    """Evaluate the start, moved halfway to equal shares if it nearly excludes some reports; then some steps of EM."""
    theta, point, used = start, likelihood.evaluated(start, squares=True), 1
    if point.growth.max() > start.size:  # which is never so at equal shares, whatever the reports
        theta = (start + 1 / start.size) / 2
        point, used = likelihood.evaluated(theta, squares=True), 2
        if point.value == -math.inf:
            raise ValueError("reports must be possible, but some have a likelihood of zero after every answer")
    while point.growth.max() > EM_GROWTH and used < min(EM_PASSES, passes):
        theta = theta * point.growth / (theta @ point.growth)
        point, used = likelihood.evaluated(theta, squares=True), used + 1
    return theta, point, used


def _metric(point: Point) -> Array:
    assert point.squares is not None
    largest = float(point.squares.max())  # zero only where no report tells one answer from another
    return np.maximum(point.squares, LEAST_CURVATURE * (largest or 1.0))


def _length(step: Array, change: Array, metric: Array, free: Mask, lengths: list[float]) -> float:
    """Factor on the step of the metric: the longer Barzilai-Borwein length, or the least of recent short ones."""
    curved = float(step @ change)
    long = float(step @ (metric * step)) / curved if curved > 0 else LONGEST_LENGTH
    inverse = free / metric
    within = np.where(free, change - (inverse @ change) / inverse.sum(), 0.0)
    curved = float(step @ within)
    lengths.append(curved / float(within @ (within / metric)) if curved > 0 else LONGEST_LENGTH)
    length = min(lengths[-LENGTHS_COMPARED:]) if lengths[-1] < long / 2 else long
    return min(max(length, 1 / LONGEST_LENGTH), LONGEST_LENGTH)


# Newton


INTERIOR_STEPS = 60
POLISH_STEPS = 50
STEP_ROUNDING = 2.0**-52
MATRIX_CELLS = 2**24  # of a matrix, beyond which products take its place
ANSWERS_FOR_COLUMNS = 100  # from which on a small table of some answers is used, where rows are alike on stretches
ANSWERS_FOR_GRADIENTS = 400  # answers, from which on gradients go first
GRADIENT_PASSES, EXTRA_PASSES = 30, 40  # of theirs, and more where the first ones came near:
EXTRA_PASSES_GAP = 3e-3  # nats per report
POLISH_GAP = 0.01  # nats for the whole sample, at which Newton's method takes over
FAILED_GAP = 1e-6  # nats for the whole sample, above which the interior point has failed
RESCUE_PASSES = 2000  # that are tried then


def channel_mle(
    counts: ArrayLike, channel: Design | ChannelOperator, *, gap: float = 1e-6, iterations: int = 10_000
) -> Fit:
    r"""Maximize the likelihood under any channel, with a certificate.

    Up to 3,000 answers it goes as far as doubles can, in two stages. The first is a primal-dual interior-point method
    [1]_, with one Cholesky factor per step; from 400 answers on, spectral projected gradients [2]_ are tried before it,
    and they also take over in the rare cases where it does not converge. The second is Newton's method on the answers
    that have a share. Usually ten to twenty steps suffice, whatever the privacy.

    Beyond 3,000 answers, and for a `ChannelOperator` without a matrix, projected gradients go on until the gap is
    reached. They need the ``squares`` of the operator; without them, it is IBU with the extrapolation of [3]_. Where
    rows are alike on long stretches of reports (``merged``), as under a square wave, answers join a small table as they
    are needed, whatever their number.

    Parameters
    ----------
    counts : array_like of shape (outputs,)
        Number of reports of each kind; floats are weighted counts.
    channel : Design or ChannelOperator
        What every respondent's answer went through.
    gap : float
        Without a matrix, stop when the certified gap, in nats for the whole sample, is at most this.
    iterations : int
        Without a matrix, the most steps, each with two products with the channel. Compare the `gap` of the result with
        the requested one: channels that blur neighbors widely can need more.

    Returns
    -------
    Fit
        Look at ``unique``: where several distributions are equally likely (more answers than reports, finer answers
        that were merged), the fit to the reports is known, and the shares are one choice among many.

    References
    ----------
    .. [1] S. J. Wright, "Primal-dual interior-point methods", SIAM 1997, chapter 10 (Mehrotra's predictor-corrector).
    .. [2] E. G. Birgin, J. M. Martinez and M. Raydan, "Nonmonotone spectral projected gradient methods on convex sets",
       SIAM J. Optim. 10 (2000), 1196-1211.
    .. [3] R. Varadhan and C. Roland, "Simple and globally convergent methods for accelerating the convergence of any
       EM algorithm", Scand. J. Statist. 35 (2008), 335-353.

    Examples
    --------
    Forced response: 1/6 of all are told to say yes and 1/12 to say no. 40 of 200 say yes:
    (0.20 - 1/6) / (11/12 - 1/6) = 2/45.

    >>> from warner import Channel
    >>> forced = Channel([["11/12", "1/12"], ["1/6", "5/6"]], ["yes", "no"], ["yes", "no"])
    >>> fit = channel_mle([40, 160], forced)
    >>> fit.shares.round(4), fit.unique
    (array([0.0444, 0.9556]), True)
    """
    histogram = one_histogram(counts, channel)
    if iterations < 0 or not gap >= 0:
        raise ValueError(f"iterations and gap must be at least 0, but got iterations={iterations!r} and gap={gap!r}")
    return most_likely([(channel, histogram)], gap=gap, iterations=iterations)


def most_likely(parts: Channels, *, start: Array | None = None, gap: float = 1e-6, iterations: int = 10_000) -> Fit:
    """Maximize the likelihood of one group, for one or several designs; reports that support sets from `start`."""
    if not all(design.law.exclusive for design, _ in parts):
        k, reports = parts[0][0].law.k, Whole(parts)
        fit = projected_gradients(Blocks(reports), np.full(k, 1 / k) if start is None else start, gap=gap)
        return _with_matrix(fit, reports, gap)
    symmetries = [closed_form(design) for design, _ in parts]
    if len(parts) > 1 and all(symmetry is not None and symmetry.p > symmetry.q > 0 for symmetry in symmetries):
        # Truth is the more likely report, and lies are possible: one price, no channel.
        gains = np.array([float((s.p - s.q) / s.q) for s in symmetries if s is not None])
        return fitted_channel(separable_mle(np.stack([histogram.counts for _, histogram in parts]), gains), parts)
    operator, counts, total = combined_channel(parts)
    n = float(total)
    observed = counts / n
    k, columns = operator.shape
    if operator.merged is not None and k >= ANSWERS_FOR_COLUMNS:
        return most_likely_by_columns(operator, counts, gap=gap)
    large = k > ANSWERS_FACTORIZED or (operator.squares is not None and k * columns > MATRIX_CELLS)
    if operator.matrix is not None and not large:
        seen = observed > 0
        return newton(np.ascontiguousarray(operator.matrix()[:, seen]), observed[seen], n)
    if operator.squares is not None:
        fit = projected_gradients(Blocks([(operator, counts)]), np.full(k, 1 / k), gap=gap, passes=iterations)
        expected = operator.forward(fit.shares)
        growth = operator.adjoint(observed / np.maximum(expected, SMALLEST))
        return replace(fit, unique=unique_by_products(operator, observed, expected, growth))
    return extrapolated(observed, n, operator, gap, iterations)


def fitted_channel(shares: Array, parts: Channels) -> Fit:
    """Return the fit for shares in closed form."""
    proof = evidence(shares[np.newaxis], [(design, histogram.rows()) for design, histogram in parts], valid=True)
    assert proof.certificate is not None
    gap = float(proof.certificate.gap[0])
    return Fit(
        shares,
        gap=gap,
        steps=0,
        history=np.array([gap]),
        unique=True,
        log_likelihood=float(proof.log_likelihood[0]),
        excess=float(proof.certificate.excess[0]),
    )


def _with_matrix(fit: Fit, reports: Whole, gap: float) -> Fit:
    """Add what a matrix of few reports shows: uniqueness, or a better maximum if the search failed."""
    blocks = reports.prepared or []
    tables = [operator.matrix for operator, _ in blocks if operator.matrix is not None]
    cells = sum(operator.shape[0] * operator.shape[1] for operator, _ in blocks)
    if not tables or len(tables) < len(blocks) or len(fit.shares) > ANSWERS_FACTORIZED or cells > RANK_CELLS:
        return fit
    amounts = np.concatenate([amounts for _, amounts in blocks])
    matrix = np.hstack([table() for table in tables])[:, amounts > 0]
    observed = amounts[amounts > 0] / amounts.sum()
    if fit.gap > max(gap, EXCESS_ROUNDING * amounts.sum()):
        return newton(matrix, observed, float(amounts.sum()))
    return replace(fit, unique=unique_maximum(matrix, observed, *_growth(matrix, observed, fit.shares)))


def newton(matrix: Array, observed: Array, n: float) -> Fit:
    """Maximize the likelihood; the matrix contains only reports that occurred, with their observed shares.

    With many answers gradients go first: a pass costs a hundredth of an interior-point step. They also end what the
    interior point did not: once in some ten thousand channels its steps go to and fro.
    """
    search = _Search(matrix, observed, n)
    if len(matrix) >= ANSWERS_FOR_GRADIENTS:
        search.by_gradients(search.best, GRADIENT_PASSES)
        if POLISH_GAP < search.gap <= EXTRA_PASSES_GAP * n:
            search.by_gradients(search.best, EXTRA_PASSES)
        if search.gap <= 1:
            search.polish(search.best, search.best > 0)
    if search.excess > EXCESS_ROUNDING / 10:
        search.interior_point()
    for start in (search.best, np.full(len(matrix), 1 / len(matrix))):
        if search.excess > EXCESS_ROUNDING and search.gap > FAILED_GAP:
            search.by_gradients(start, RESCUE_PASSES, gap=FAILED_GAP)
            search.polish(search.best, search.best > 0)
    return search.fit()


class _Search:
    """Best shares found so far, and methods that improve them."""

    def __init__(self, matrix: Array, observed: Array, n: float) -> None:
        self.matrix, self.observed, self.n = matrix, observed, n
        self.best = np.full(len(matrix), 1 / len(matrix))
        self.excess = math.inf
        self.steps = 0
        self.history: list[float] = []

    @property
    def gap(self) -> float:
        return self.n * math.log1p(max(self.excess, 0.0))

    def consider(self, *candidates: Array) -> None:
        for candidate in candidates:
            excess = float(_growth(self.matrix, self.observed, candidate)[1].max()) - 1
            if excess < self.excess:
                self.best, self.excess = candidate, excess
        self.history.append(self.excess)

    def by_gradients(self, start: Array, passes: int, gap: float = POLISH_GAP) -> None:
        reports = Blocks([(ChannelOperator.of_matrix(self.matrix), self.observed * self.n)])
        fit = projected_gradients(reports, start, gap=gap, passes=passes)
        self.steps += fit.steps
        self.consider(fit.shares)

    def polish(self, shares: Array, active: Mask) -> None:
        polished, steps = _polished(self.matrix, self.observed, shares, active)
        self.steps += steps
        self.consider(polished)

    def interior_point(self) -> None:
        shares = np.full(len(self.matrix), 1 / len(self.matrix))
        slack = np.maximum(1 - _growth(self.matrix, self.observed, shares)[1], 0) + 0.1
        # The set of answers with a share often shows early: polish then, and only go on if that was not the end.
        for tolerance in (1e-7, 1e-11):
            shares, slack, steps = _interior_point(self.matrix, self.observed, shares, slack, tolerance, self.history)
            self.steps += steps
            self.consider(shares / shares.sum())
            self.polish(shares, shares > slack)
            if self.excess <= EXCESS_ROUNDING / 10:
                break

    def fit(self) -> Fit:
        expected, growth = _growth(self.matrix, self.observed, self.best)
        return Fit(
            self.best,
            gap=self.gap,
            steps=self.steps,
            history=self.n * np.log1p(np.maximum(self.history, 0)),
            unique=unique_maximum(self.matrix, self.observed, expected, growth),
            log_likelihood=self.n * float(self.observed @ np.log(np.maximum(expected, SMALLEST))),
            excess=float(growth.max()) - 1,
        )


def _growth(matrix: Array, observed: Array, shares: Array) -> tuple[Array, Array]:
    expected = shares @ matrix
    return expected, matrix @ (observed / np.maximum(expected, SMALLEST))


def _interior_point(
    matrix: Array, observed: Array, x: Array, z: Array, tolerance: float, history: list[float]
) -> tuple[Array, Array, int]:
    """Minimize -sum phi log(x C) + sum x over x >= 0, by Mehrotra's predictor and corrector; z is the slack of x."""
    k = len(x)
    for step in range(INTERIOR_STEPS):
        expected, growth = _growth(matrix, observed, x)
        excess = growth.max() * x.sum() - 1
        history.append(float(excess))
        if math.log1p(max(excess, 0)) <= tolerance:
            return x, z, step
        solve = _cholesky(_hessian(matrix, observed, expected), z / x)
        if solve is None:  # as near as doubles come
            return x, z, step
        dx = solve(growth - 1)
        dz = -z - z * dx / x
        product = x @ z / k
        aimed = (x + _longest(x, dx) * dx) @ (z + _longest(z, dz) * dz) / k
        centre = ((aimed / product) ** 3 * product - dx * dz) / x
        dx = solve(growth - 1 + centre)
        dz = centre - z - z * dx / x
        x, z = x + _longest(x, dx) * dx, z + _longest(z, dz) * dz
    return x, z, INTERIOR_STEPS


def _longest(x: Array, dx: Array) -> float:
    """Largest step, up to 1, that keeps x positive, with a small margin."""
    return min(1.0, 0.995 / max(float((-dx / x).max()), SMALLEST))


def _hessian(matrix: Array, observed: Array, expected: Array) -> Array:
    """Lower triangle of C diag(phi / mu^2) C'."""
    from scipy.linalg.blas import dsyrk

    scaled = matrix * (np.sqrt(observed) / np.maximum(expected, SMALLEST))
    return np.asarray(dsyrk(1.0, scaled.T, trans=1, lower=1))


def _cholesky(matrix: Array, diagonal: Array) -> Callable[[Array], Array] | None:
    """Add to the diagonal (in place), factor, and return the solver; None for a matrix that is singular to doubles."""
    from scipy.linalg.lapack import dpotrf, dpotrs

    matrix.ravel(order="K")[:: len(matrix) + 1] += diagonal
    largest = matrix.ravel(order="K")[:: len(matrix) + 1].copy()
    factor, wrong = dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
    # A pivot that lost nearly all of its digits says the same as one below zero.
    if wrong or not (factor.ravel(order="K")[:: len(matrix) + 1] ** 2 > 1e-14 * largest).all():
        return None
    return lambda right: np.asarray(dpotrs(factor, right, lower=1)[0])


def _polished(matrix: Array, observed: Array, shares: Array, active: Mask) -> tuple[Array, int]:
    """Solve g = 1 on the active answers by Newton; reuse a factorization while it reduces the residual tenfold."""
    x = np.where(active, shares, 0.0)
    active = active.copy()
    solve: Callable[[Array], Array] | None = None
    before = math.inf
    for step in range(POLISH_STEPS):
        expected, growth = _growth(matrix, observed, x)
        residual = growth[active] - 1
        size = float(np.abs(residual).max())
        if size <= STEP_ROUNDING or (size < EXCESS_ROUNDING and size > before / 2):  # as good as doubles can
            worst = int(np.where(active, 0, growth).argmax())
            if active[worst] or growth[worst] <= 1 + 1e-13:
                return x / x.sum(), step
            active[worst], solve, before = True, None, math.inf
            continue
        if solve is None or size > before / 10:
            solve = _solver(matrix[active], observed, expected)
        before = size
        dx = np.zeros_like(x)
        dx[active] = solve(residual)
        falling = dx < 0
        reach = float((x[falling] / -dx[falling]).min(initial=math.inf))
        length = min(1.0, reach)
        while length > 1e-10 and _rise(matrix, observed, expected, x, length * dx) > 1e-15:
            length /= 2
        x = np.maximum(x + length * dx, 0)
        if length == reach:
            active &= ~(falling & (x <= -1e-12 * dx))
            x[~active], solve, before = 0, None, math.inf
            if not active.any():
                break
    return x / max(x.sum(), SMALLEST), POLISH_STEPS


def _solver(matrix: Array, observed: Array, expected: Array) -> Callable[[Array], Array]:
    solve = _cholesky(_hessian(matrix, observed, expected), np.zeros(len(matrix)))
    if solve is not None:
        return solve
    half = _hessian(matrix, observed, expected)
    whole = half + np.tril(half, -1).T  # some answers are not distinguishable: take the shortest solution
    return lambda right: np.asarray(np.linalg.lstsq(whole, right, rcond=1e-12)[0], dtype=np.float64)


def _rise(matrix: Array, observed: Array, expected: Array, x: Array, dx: Array) -> float:
    """Increase of -sum phi log(x C) + sum x from x to x + dx."""
    ratio = (np.maximum(x + dx, 0) @ matrix) / np.maximum(expected, SMALLEST)
    return float(dx.sum() - observed @ np.log(np.maximum(ratio, SMALLEST)))


# Column generation


FIRST_ANSWERS = 33  # evenly spread, to begin with
PEAKS_ADDED = 200  # answers that join in a round
ROUNDS = 200


def most_likely_by_columns(operator: ChannelOperator, counts: Counts, *, gap: float) -> Fit:
    """Maximize the likelihood until the certified gap is at most `gap` nats for the whole sample."""
    assert operator.merged is not None
    n, k = float(counts.sum()), operator.shape[0]
    observed = np.asarray(counts / n, dtype=np.float64)
    answers = np.unique(np.linspace(0, k - 1, min(k, FIRST_ANSWERS)).round().astype(np.int64))
    history: list[float] = []
    shares = np.zeros(k)
    while len(history) < ROUNDS:
        table, stretch = operator.merged(answers)
        together = np.asarray(np.bincount(stretch, weights=observed, minlength=table.shape[1]), dtype=np.float64)
        made = together > 0
        held = newton(np.ascontiguousarray(table[:, made]), together[made], n).shares
        shares = np.zeros(k)
        shares[answers] = held
        expected = operator.forward(shares)
        growth = operator.adjoint(observed / np.maximum(expected, SMALLEST))
        excess = float(growth.max()) - 1
        history.append(n * math.log1p(max(excess, 0.0)))
        more = np.union1d(answers[held > 0], _peaks(growth))
        if history[-1] <= gap or np.array_equal(more, answers):
            break
        answers = more
    seen = observed > 0
    return Fit(
        shares,
        gap=history[-1],
        steps=len(history),
        history=np.array(history),
        unique=unique_by_products(operator, observed, expected, growth),
        log_likelihood=n * float(observed[seen] @ np.log(expected[seen])),
        excess=excess,
    )


def _peaks(growth: Array) -> Integers:
    """Answers with the largest g in each stretch of answers with g > 1."""
    above = np.concatenate([[False], growth > 1 + EXCESS_ROUNDING / 10, [False]])
    starts, ends = (np.flatnonzero(np.diff(above.astype(np.int8)) == step) for step in (1, -1))
    peaks = np.array([a + int(growth[a:b].argmax()) for a, b in zip(starts, ends, strict=True)], dtype=np.int64)
    return peaks[np.argsort(-growth[peaks], kind="stable")[:PEAKS_ADDED]]
