r"""Maximum likelihood under any channel: a primal-dual interior point, then Newton's method on the positive shares.

For randomized response the maximum has a closed form (`warner.mle`), and for several of them together one price decides
(`separable`). For every other channel `channel_mle` goes there by an interior-point method or by projected gradients
(`projected_gradients`), whichever is faster; where only products with the channel are known, by accelerated IBU.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from warner.arrays import SMALLEST
from warner.designs.facts import ChannelOperator
from warner.estimators.ibu import extrapolated, one_histogram
from warner.estimators.likelihood import (
    ANSWERS_FACTORIZED,
    EXCESS_ROUNDING,
    RANK_CELLS,
    Fit,
    Whole,
    closed_form,
    evidence,
    joined,
    unique_by_products,
    unique_maximum,
)
from warner.estimators.projected_gradients import Blocks, projected_gradients
from warner.estimators.separable import separable_mle
from warner.reports.counts import Histograms

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from warner.arrays import Array, Mask
    from warner.designs.contract import Design
    from warner.estimators.likelihood import Channels

INTERIOR_STEPS = 60
POLISH_STEPS = 50
STEP_ROUNDING = 2.0**-52
MATRIX_CELLS = 2**24  # of a matrix, beyond which products take its place
ANSWERS_FOR_COLUMNS = (
    100  # from so many on, a small table of the answers that are needed, where rows are alike on stretches
)
ANSWERS_FOR_GRADIENTS = 400  # answers, from which on gradients go first
GRADIENT_PASSES, EXTRA_PASSES = 30, 40  # of theirs, and more where the first ones came near:
EXTRA_PASSES_GAP = 3e-3  # nats per report
POLISH_GAP = 0.01  # nats for the whole sample, at which Newton's method takes over
FAILED_GAP = 1e-6  # nats for the whole sample, above which the interior point has failed
RESCUE_PASSES = 2000  # that are tried then


def channel_mle(
    counts: ArrayLike, channel: Design | ChannelOperator, *, gap: float = 1e-6, iterations: int = 10_000
) -> Fit:
    r"""Find the most likely shares for any channel, with proof.

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
        the one that was asked for: channels that blur neighbours widely can need more.

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
    """Find the most likely shares of one group of people, whose reports went through one design or several.

    Reports that support sets of answers are gone through from `start`: their likelihood is not that of counts.
    """
    if not all(design.exclusive for design, _ in parts):
        k, reports = parts[0][0].k, Whole(parts)
        fit = projected_gradients(Blocks(reports), np.full(k, 1 / k) if start is None else start, gap=gap)
        return _with_matrix(fit, reports, gap)
    symmetries = [closed_form(design) for design, _ in parts]
    if len(parts) > 1 and all(symmetry is not None and symmetry.a > symmetry.b > 0 for symmetry in symmetries):
        # Truth is the likelier report, and lies are possible: one price, no channel.
        gains = np.array([(s.a - s.b) / s.b for s in symmetries if s is not None])
        return fitted(separable_mle(np.stack([histogram.counts for _, histogram in parts]), gains), parts)
    operator, counts, total = joined(parts)
    n = float(total)
    observed = counts / n
    k, columns = operator.shape
    if operator.merged is not None and k >= ANSWERS_FOR_COLUMNS:
        from warner.estimators.column_generation import most_likely_by_columns

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


def fitted(shares: Array, parts: Channels) -> Fit:
    """Give the evidence for shares that were found in closed form."""
    proof = evidence(
        shares[np.newaxis],
        [(design, Histograms(h.counts[np.newaxis], np.atleast_1d(h.n), h.largest)) for design, h in parts],
        valid=True,
    )
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
    """Add what a matrix tells where reports are few: whether the maximum is unique; and the way, if it was lost."""
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
    """Find the most likely shares; the matrix holds only the reports that were made, with their observed shares.

    A pass through the reports costs a hundredth of an interior-point step for some hundred answers, and less for more.
    So with many answers gradients go first, and Newton's method ends what they began. They also end what the interior
    point did not: once in some ten thousand channels its steps go to and fro.
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
    """The best shares so far, how they were found, and the ways to better ones."""

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
    """Minimise -sum phi log(x C) + sum x over x >= 0, by Mehrotra's predictor and corrector; z is the slack of x."""
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
    """Give the largest step, up to 1, that keeps x positive, with a little to spare."""
    return min(1.0, 0.995 / max(float((-dx / x).max()), SMALLEST))


def _hessian(matrix: Array, observed: Array, expected: Array) -> Array:
    """Give C diag(phi / mu^2) C', its lower triangle."""
    from scipy.linalg.blas import dsyrk

    scaled = matrix * (np.sqrt(observed) / np.maximum(expected, SMALLEST))
    return np.asarray(dsyrk(1.0, scaled.T, trans=1, lower=1))


def _cholesky(matrix: Array, diagonal: Array) -> Callable[[Array], Array] | None:
    """Add to the diagonal (in place), factor, and give the solver; None where the sum is singular to doubles."""
    from scipy.linalg.lapack import dpotrf, dpotrs

    matrix.ravel(order="K")[:: len(matrix) + 1] += diagonal
    largest = matrix.ravel(order="K")[:: len(matrix) + 1].copy()
    factor, wrong = dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
    # A pivot that lost nearly all of its digits says the same as one below zero.
    if wrong or not (factor.ravel(order="K")[:: len(matrix) + 1] ** 2 > 1e-14 * largest).all():
        return None
    return lambda right: np.asarray(dpotrs(factor, right, lower=1)[0])


def _polished(matrix: Array, observed: Array, shares: Array, active: Mask) -> tuple[Array, int]:
    """Solve g = 1 on the active answers by Newton's method, dropping those that reach zero, adding those with g > 1.

    One factor serves as long as it brings the residual down tenfold.
    """
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
    # Some answers cannot be told apart: take the shortest step that does it.
    half = _hessian(matrix, observed, expected)
    whole = half + np.tril(half, -1).T
    return lambda right: np.asarray(np.linalg.lstsq(whole, right, rcond=1e-12)[0], dtype=np.float64)


def _rise(matrix: Array, observed: Array, expected: Array, x: Array, dx: Array) -> float:
    """Give how much -sum phi log(x C) + sum x rises from x to x + dx."""
    ratio = (np.maximum(x + dx, 0) @ matrix) / np.maximum(expected, SMALLEST)
    return float(dx.sum() - observed @ np.log(np.maximum(ratio, SMALLEST)))
