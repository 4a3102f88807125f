r"""Counts to shares for any channel, and the certificate that an estimate is the most likely one.

For shares :math:`\theta` and a channel C a report is j with probability :math:`\mu_j = \sum_i \theta_i C_{ij}`. With

.. math:: g_i = \sum_j \phi_j \frac{C_{ij}}{\mu_j},

one step of the iterative Bayesian update (IBU, an EM algorithm) is :math:`\theta_i \leftarrow \theta_i g_i`, and no
distribution has a log-likelihood that exceeds that of :math:`\theta` by more than

.. math:: \text{gap} = N \ln \max_i g_i

nats for the whole sample. So each step says, for free, how far it is from the end, in likelihood (not in
:math:`\theta`: with small epsilon a tiny gap can still hide a visible distance). Randomized response has that end in
closed form (`warner.mle`). For every other channel, `channel_mle` goes there by an interior-point method, or, where
the channel is too large for a matrix, by accelerated IBU; `ibu` itself is here to be compared with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from warner.designs import Channel, Pooled, RandomizedResponse
from warner.estimators import SMALLEST, Histograms, histograms, refuse_impossible, validated
from warner.estimators.separable import separable_mle

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from warner.estimators import Shares

Doubles: TypeAlias = "NDArray[np.float64]"

DENSE_LIMIT = 3000  # answers; beyond, a Cholesky factor for each step is slower than many updates
INTERIOR_STEPS = 60
POLISH_STEPS = 50
ROUNDING = 2.0**-52
ENOUGH = 1e-12  # an excess of the largest g over 1 that is rounding
PATIENCE = 10  # cycles in which the same answer keeps the certificate from falling
FLOOR = 0.1  # extrapolation leaves each share at least this part of its plain update, and never at zero


@dataclass(frozen=True, eq=False)
class Fit:
    """Where an iterative estimate ended.

    Attributes
    ----------
    shares : ndarray of shape (k,)
        The last iterate.
    gap : float
        A proven bound on the log-likelihood it lacks, in nats for the whole sample. Compare it with the gap
        that was asked for: a fit that ran out of steps says so here, and only here.
    steps : int
        Number of updates made; for `channel_mle` of Newton steps, or of updates, each of two products with the channel.
    history : ndarray
        The gap before each update, and after the last (`channel_mle`: at each point that it kept).
    unique : bool
        Whether the maximum is known to be the only one; see `Certificate`.
    """

    shares: Shares
    gap: float
    steps: int
    history: NDArray[np.float64]
    unique: bool


@dataclass(frozen=True)
class ChannelOperator:
    r"""A channel that is too large for a matrix: how shares become probabilities of reports, and the adjoint of that.

    Attributes
    ----------
    shape : tuple of int
        Number of answers, and of possible reports.
    forward : callable
        Takes shares :math:`\theta`, gives :math:`\mu_j = \sum_i \theta_i C_{ij}`.
    adjoint : callable
        Takes a number for each report, gives :math:`\sum_j C_{ij} w_j` for each answer.

    Examples
    --------
    >>> from warner import channel_mle
    >>> half = ChannelOperator((3, 3), lambda x: (x + np.roll(x, 1)) / 2, lambda w: (w + np.roll(w, -1)) / 2)
    >>> channel_mle([25, 50, 25], half).shares.round(3)
    array([0.5, 0.5, 0. ])
    """

    shape: tuple[int, int]
    forward: Callable[[Doubles], Doubles]
    adjoint: Callable[[Doubles], Doubles]


AnyChannel: TypeAlias = RandomizedResponse | Channel | Pooled | ChannelOperator


@dataclass(frozen=True, eq=False)
class Certificate:
    """How far shares are from the most likely ones.

    Attributes
    ----------
    excess : float or ndarray
        The largest g minus 1. Zero, up to rounding, exactly at the maximum; 1e-12 is a pass.
    gap : float or ndarray
        A proven bound on the log-likelihood that is left on the table, in nats for the whole sample.
        Below 0.01 it is of no statistical consequence.
    unique : bool or ndarray
        Whether the maximum is known to be the only one. For randomized response it is, unless p < q and several
        answers were never reported. For a `Channel` it is where the rows of the answers that a most likely
        distribution can hold are linearly independent on the reports that were made; elsewhere compare fits, not
        shares. Of a `ChannelOperator` it is not known.
    """

    excess: NDArray[np.float64] | float
    gap: NDArray[np.float64] | float
    unique: NDArray[np.bool_] | bool


def certificate(shares: ArrayLike, counts: ArrayLike, design: AnyChannel) -> Certificate:
    """Verify that shares are the maximum-likelihood estimate, whoever computed them.

    Parameters
    ----------
    shares : array_like of shape (..., k)
        Distributions: no entry below zero, sums of one.
    counts : array_like of shape (..., k)
        The reports that they were estimated from; for a channel, one count for each output.
    design : RandomizedResponse, Channel or ChannelOperator
        What every respondent's answer went through.

    Examples
    --------
    The most likely shares pass. With a twentieth moved from one answer to the other the largest g is
    0.25 (0.40/0.375 + 0.60/0.625) + 0.5 (0.40/0.375) = 1.04, so the loss is at most 100 ln 1.04 = 3.92 nats.

    >>> from warner import RandomizedResponse
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> certificate([0.30, 0.70], [40, 60], survey).excess < 1e-12
    True
    >>> f"{certificate([0.25, 0.75], [40, 60], survey).gap:.2f}"
    '3.92'
    """
    array, totals, _ = _checked(counts, design)
    theta = np.asarray(shares, dtype=np.float64)
    shape = (*array.shape[:-1], _operator(design).shape[0] if isinstance(design, ChannelOperator) else design.k)
    if theta.shape != shape:
        raise ValueError(f"shares must have the shape of counts, {shape}, but got {theta.shape}")
    sums = theta.sum(axis=-1)
    if not (theta >= 0).all() or not (np.abs(sums - 1) <= 1e-9).all():
        raise ValueError(
            f"shares must be distributions, but the smallest entry is {theta.min():.3g} and a sum is "
            f"{sums.flat[np.abs(sums - 1).argmax()]:.12g}; what inv gives cannot be certified"
        )
    # Divided by the sums: a sum a hair above one would pass for a likelihood that no distribution has.
    theta = theta / sums[..., np.newaxis]
    if isinstance(design, RandomizedResponse):
        growth = largest_growth(array, theta, totals, design)
        unique = _unique_response(array, design)
    else:
        growth, unique = _largest_growth_of_rows(array / totals[..., np.newaxis], theta, design)
    excess = growth - 1
    gap = totals * np.log(np.maximum(growth, 1))
    if array.ndim == 1:
        return Certificate(float(excess), float(gap), bool(unique))
    return Certificate(excess, gap, unique)


def _unique_response(counts: NDArray[Any], design: RandomizedResponse) -> NDArray[np.bool_]:
    a, b = design.odds
    return np.asarray(((counts == 0).sum(axis=-1) <= 1) | (a > b))


def _largest_growth_of_rows(
    observed: Doubles, theta: Doubles, design: Channel | Pooled | ChannelOperator
) -> tuple[Doubles, NDArray[np.bool_]]:
    operator = _operator(design)
    matrix = None if isinstance(design, ChannelOperator) or design.k > DENSE_LIMIT else design.channel()
    largest = np.empty(observed.shape[:-1])
    unique = np.zeros(observed.shape[:-1], dtype=bool)
    for where in np.ndindex(largest.shape):
        phi = observed[where]
        expected = operator.forward(theta[where])
        growth = operator.adjoint(phi / np.maximum(expected, SMALLEST))
        # Reported, though these shares rule it out: everything is to be gained.
        largest[where] = np.inf if (expected[phi > 0] <= 0).any() else growth.max()
        if matrix is not None and np.isfinite(largest[where]):
            seen = phi > 0
            unique[where] = _unique_maximum(matrix[:, seen], phi[seen], expected[seen], growth)
    return largest, unique


def largest_growth(
    counts: NDArray[Any],
    shares: NDArray[np.float64],
    totals: NDArray[Any],
    design: RandomizedResponse,
    repeats: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Give the largest g; with `repeats`, of distinct counts that occur so often each."""
    kappa = design.p - design.q
    expected = shares * kappa
    expected += design.q
    impossible = ((counts > 0) & (expected <= 0)).any(axis=-1) if not (expected > 0).all() else np.False_
    expected *= totals[..., np.newaxis]
    ratio = np.divide(counts, np.maximum(expected, SMALLEST, out=expected), out=expected)
    together = ratio.sum(axis=-1) if repeats is None else repeats @ ratio
    growth = design.q * together + kappa * (ratio.max(axis=-1) if kappa > 0 else ratio.min(axis=-1))
    # Reported, though these shares rule it out: everything is to be gained.
    return np.where(impossible, np.inf, growth)


def ibu(
    counts: ArrayLike,
    design: AnyChannel,
    *,
    prior: ArrayLike | None = None,
    iterations: int = 40_000,
    gap: float = 1e-6,
) -> Fit:
    """Approach the maximum-likelihood estimate by the iterative Bayesian update, an EM algorithm.

    The update of [1]_ (eq. IBU; for a `RandomizedResponse` eq. IBU-RR, in O(K)), with the stopping rule that the paper
    misses: it ends when a proven bound on the log-likelihood still to be gained falls to `gap`. Without a prior,
    answers with equal counts of a `RandomizedResponse` keep equal shares, so the work is that of the distinct counts.
    `warner.mle` gives the limit at once.

    Parameters
    ----------
    counts : array_like of shape (k,)
        Number of reports that named each answer; for a channel, one for each output.
    design : RandomizedResponse, Channel or ChannelOperator
        What every respondent's answer went through.
    prior : array_like of shape (k,), optional
        Where to start: positive shares, rescaled to sum to one; uniform if not given.
    iterations : int
        The most updates to make.
    gap : float
        Stop when the certified gap, in nats for the whole sample, is at most this.

    References
    ----------
    .. [1] C. A. Pinzón et al., "Estimating the True Distribution of Data Collected with Randomized Response",
       AAAI 2026.

    Examples
    --------
    >>> from warner import RandomizedResponse
    >>> fit = ibu([40, 60], RandomizedResponse(["yes", "no"], truth="3/4"))
    >>> fit.shares.round(3)
    array([0.3, 0.7])
    >>> fit.gap <= 1e-6
    True
    """
    array, total = _one_histogram(counts, design)
    if iterations < 0 or not gap >= 0:
        raise ValueError(f"iterations and gap must be at least 0, but got iterations={iterations!r} and gap={gap!r}")
    n = float(total)
    if not isinstance(design, RandomizedResponse):
        operator = _operator(design)
        start = np.full(operator.shape[0], 1 / operator.shape[0])
        start = start if prior is None else _positive_prior(prior, operator.shape[0])
        return _general_ibu(array / n, n, design, start, iterations, gap)
    if prior is None:
        values, index, times = np.unique(array, return_inverse=True, return_counts=True)
        repeats, theta = times.astype(np.float64), np.full(values.size, 1 / design.k)
    else:
        values, index = array, np.arange(design.k)
        repeats, theta = np.ones(design.k), _positive_prior(prior, design.k)
    q, kappa = design.q, design.p - design.q
    observed = values / n
    history = []
    for _ in range(iterations + 1):
        # Nothing observed where nothing is expected (no noise, a share of zero) is a ratio of 0, not 0/0.
        ratio = observed / np.maximum(q + kappa * theta, SMALLEST)
        growth = q * (repeats @ ratio) + kappa * ratio
        history.append(n * math.log(max(growth.max(), 1.0)))
        if history[-1] <= gap or len(history) > iterations:
            break
        theta = theta * growth
        theta /= repeats @ theta  # already one but for rounding, which would pile up
    unique = bool(_unique_response(array, design))
    return Fit(theta[index], gap=history[-1], steps=len(history) - 1, history=np.array(history), unique=unique)


def _general_ibu(
    observed: Doubles, n: float, design: Channel | Pooled | ChannelOperator, theta: Doubles, iterations: int, gap: float
) -> Fit:
    operator = _operator(design)
    history = []
    for _ in range(iterations + 1):
        growth = operator.adjoint(observed / np.maximum(operator.forward(theta), SMALLEST))
        history.append(n * math.log(max(growth.max(), 1.0)))
        if history[-1] <= gap or len(history) > iterations:
            break
        theta = theta * growth
        theta /= theta.sum()  # already one but for rounding, which would pile up
    unique = bool(certificate(theta, observed * n, design).unique)
    return Fit(theta, gap=history[-1], steps=len(history) - 1, history=np.array(history), unique=unique)


def channel_mle(counts: ArrayLike, channel: AnyChannel, *, gap: float = 1e-6, iterations: int = 10_000) -> Fit:
    r"""Find the most likely shares for any channel, with proof.

    A primal-dual interior-point method [1]_, one Cholesky factor a step, and then Newton's method on the answers that
    have a share: about ten to twenty steps to the last digits, whatever the privacy. Beyond 3,000 answers, or for a
    `ChannelOperator`, it is IBU with the extrapolation of [2]_, which needs nothing but products with the channel; an
    extrapolated point is taken only where the likelihood does not fall.

    Parameters
    ----------
    counts : array_like of shape (outputs,)
        Number of reports of each kind; floats are weighted counts.
    channel : Channel, ChannelOperator or RandomizedResponse
        What every respondent's answer went through.
    gap : float
        Extrapolated IBU stops when the certified gap, in nats for the whole sample, is at most this. The interior-point
        method always goes as far as doubles can.
    iterations : int
        The most updates of extrapolated IBU, two products with the channel each.

    Returns
    -------
    Fit
        Look at ``unique``: where several distributions are equally likely (more answers than reports, finer answers
        that were merged), the fit to the reports is known, and the shares are one choice among many.

    References
    ----------
    .. [1] S. J. Wright, "Primal-dual interior-point methods", SIAM 1997, chapter 10 (Mehrotra's predictor-corrector).
    .. [2] R. Varadhan and C. Roland, "Simple and globally convergent methods for accelerating the convergence of any
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
    array, total = _one_histogram(counts, channel)
    if iterations < 0 or not gap >= 0:
        raise ValueError(f"iterations and gap must be at least 0, but got iterations={iterations!r} and gap={gap!r}")
    observed, n = array / float(total), float(total)
    if isinstance(channel, Pooled) and _upright(channel, array):
        return _pooled_responses(array, channel)
    if isinstance(channel, ChannelOperator) or channel.k > DENSE_LIMIT:
        return _extrapolated(observed, n, _operator(channel), gap, iterations)
    seen = observed > 0
    return _newton(np.ascontiguousarray(channel.channel()[:, seen]), observed[seen], n)


def _pooled_responses(counts: NDArray[Any], design: Pooled) -> Fit:
    """Solve for people with randomized responses of different strengths: no channel, one price (`separable_mle`)."""
    told = [(part.odds, own) for part, own in design.told(counts) if isinstance(part, RandomizedResponse)]
    shares = separable_mle(np.stack([own for _, own in told]), np.array([(a - b) / b for (a, b), _ in told]))
    gap = float(certificate(shares, counts, design).gap)
    return Fit(shares, gap=gap, steps=0, history=np.array([gap]), unique=True)


def _upright(design: Pooled, counts: NDArray[Any]) -> bool:
    """Tell pools of randomized responses in which the truth is the likelier report, but lies are possible."""
    return all(
        isinstance(part, RandomizedResponse) and part.odds[0] > part.odds[1] > 0 for part, _ in design.told(counts)
    )


# Interior point and active set (the matrix holds only the reports that were made)


def _newton(matrix: Doubles, observed: Doubles, n: float) -> Fit:
    shares = np.full(len(matrix), 1 / len(matrix))
    slack = np.maximum(1 - _growth(matrix, observed, shares)[1], 0) + 0.1
    history: list[float] = []
    best, least, steps = shares, math.inf, 0
    # The set of answers with a share often shows early: polish then, and only go on if that was not the end.
    for tolerance in (1e-7, 1e-11):
        shares, slack, done = _interior_point(matrix, observed, shares, slack, tolerance, history)
        polished, more = _polished(matrix, observed, shares, shares > slack)
        steps += done + more
        for candidate in (polished, shares / shares.sum()):
            excess = float(_growth(matrix, observed, candidate)[1].max()) - 1
            if excess < least:
                best, least = candidate, excess
        history.append(least)
        if least <= ENOUGH / 10:
            break
    expected, growth = _growth(matrix, observed, best)
    gaps = n * np.log1p(np.maximum(history, 0))
    unique = _unique_maximum(matrix, observed, expected, growth)
    return Fit(best, gap=float(gaps[-1]), steps=steps, history=gaps, unique=unique)


def _growth(matrix: Doubles, observed: Doubles, shares: Doubles) -> tuple[Doubles, Doubles]:
    expected = shares @ matrix
    return expected, matrix @ (observed / np.maximum(expected, SMALLEST))


def _interior_point(
    matrix: Doubles, observed: Doubles, x: Doubles, z: Doubles, tolerance: float, history: list[float]
) -> tuple[Doubles, Doubles, int]:
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


def _longest(x: Doubles, dx: Doubles) -> float:
    """Give the largest step, up to 1, that keeps x positive, with a little to spare."""
    return min(1.0, 0.995 / max(float((-dx / x).max()), SMALLEST))


def _hessian(matrix: Doubles, observed: Doubles, expected: Doubles) -> Doubles:
    """Give C diag(phi / mu^2) C', its lower triangle."""
    from scipy.linalg.blas import dsyrk

    scaled = matrix * (np.sqrt(observed) / np.maximum(expected, SMALLEST))
    return np.asarray(dsyrk(1.0, scaled.T, trans=1, lower=1))


def _cholesky(matrix: Doubles, diagonal: Doubles) -> Callable[[Doubles], Doubles] | None:
    """Add to the diagonal (in place), factor, and give the solver; None where the sum is singular to doubles."""
    from scipy.linalg.lapack import dpotrf, dpotrs

    matrix.ravel(order="K")[:: len(matrix) + 1] += diagonal
    largest = matrix.ravel(order="K")[:: len(matrix) + 1].copy()
    factor, wrong = dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
    # A pivot that lost nearly all of its digits says the same as one below zero.
    if wrong or not (factor.ravel(order="K")[:: len(matrix) + 1] ** 2 > 1e-14 * largest).all():
        return None
    return lambda right: np.asarray(dpotrs(factor, right, lower=1)[0])


def _polished(matrix: Doubles, observed: Doubles, shares: Doubles, active: NDArray[np.bool_]) -> tuple[Doubles, int]:
    """Solve g = 1 on the active answers by Newton's method, dropping those that reach zero, adding those with g > 1.

    One factor serves as long as it brings the residual down tenfold.
    """
    x = np.where(active, shares, 0.0)
    active = active.copy()
    solve: Callable[[Doubles], Doubles] | None = None
    before = math.inf
    for step in range(POLISH_STEPS):
        expected, growth = _growth(matrix, observed, x)
        residual = growth[active] - 1
        size = float(np.abs(residual).max())
        if size <= ROUNDING or (size < ENOUGH and size > before / 2):  # as good as doubles can
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


def _solver(matrix: Doubles, observed: Doubles, expected: Doubles) -> Callable[[Doubles], Doubles]:
    solve = _cholesky(_hessian(matrix, observed, expected), np.zeros(len(matrix)))
    if solve is not None:
        return solve
    # Some answers cannot be told apart: take the shortest step that does it.
    half = _hessian(matrix, observed, expected)
    whole = half + np.tril(half, -1).T
    return lambda right: np.asarray(np.linalg.lstsq(whole, right, rcond=1e-12)[0], dtype=np.float64)


def _rise(matrix: Doubles, observed: Doubles, expected: Doubles, x: Doubles, dx: Doubles) -> float:
    """Give how much -sum phi log(x C) + sum x rises from x to x + dx."""
    ratio = (np.maximum(x + dx, 0) @ matrix) / np.maximum(expected, SMALLEST)
    return float(dx.sum() - observed @ np.log(np.maximum(ratio, SMALLEST)))


def _unique_maximum(matrix: Doubles, observed: Doubles, expected: Doubles, growth: Doubles) -> bool:
    """Tell whether the rows of all answers that may have a share, those with g = 1, are linearly independent."""
    excess = max(float(growth.max()) - 1, 0.0)
    # From an excess e of the largest g, no g_i moves by more than about sqrt(2 e) times this on the way to the maximum.
    freedom = np.sqrt((matrix * matrix) @ (observed / expected**2))
    rows = matrix[growth >= 1 - 1e-9 - 2 * math.sqrt(2 * excess) * freedom]
    if len(rows) > rows.shape[1]:
        return False
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    gram = rows @ rows.T
    try:
        pivots = np.diagonal(np.linalg.cholesky(gram))
    except np.linalg.LinAlgError:
        pivots = np.zeros(1)
    # Pivots are distances from the rows before; small ones are told from rounding by singular values.
    return bool(pivots.min() > 1e-5 or np.linalg.matrix_rank(rows) == len(rows))


# Extrapolated IBU


def _extrapolated(observed: Doubles, n: float, operator: ChannelOperator, gap: float, iterations: int) -> Fit:
    """Alternate two updates and one extrapolation (SQUAREM), lengths measured in Fisher's metric, weights 1/theta."""
    seen = observed > 0
    k = operator.shape[0]

    def evaluated(shares: Doubles) -> tuple[Doubles, Doubles, Doubles, float]:
        expected = np.maximum(operator.forward(shares), SMALLEST)
        fit = float(observed[seen] @ np.log(expected[seen]))
        return shares, expected, operator.adjoint(observed / expected), fit

    theta, expected, growth, fit = evaluated(np.full(k, 1 / k))
    best, steps = theta, 0
    history = [n * math.log(max(growth.max(), 1.0))]
    worst, since = -1, 0
    while history[-1] > gap and steps < iterations:
        worst, since = int(growth.argmax()), since + 1 if growth.argmax() == worst else 0
        if since >= PATIENCE:
            # An answer that was cut too far grows back by a factor of g only, which is nearly one: give it its share.
            theta, expected, growth, fit = evaluated(_towards(worst, theta, expected, observed, operator))
            steps, since = steps + 1, 0
        once, _, again, _ = evaluated(theta * growth)
        twice = once * again
        first, second = once - theta, twice - 2 * once + theta
        weight = 1 / np.maximum(once, SMALLEST)
        longest = max(math.sqrt(float(weight @ first**2) / max(float(weight @ second**2), SMALLEST)), 1.0)
        steps += 1
        for length in (longest, (1 + longest) / 2, 1.0):  # with 1 it is the second update, which never falls
            jump = np.maximum(theta + 2 * length * first + length**2 * second, FLOOR * twice)
            tried = evaluated(jump / jump.sum())
            steps += 1
            if tried[-1] >= fit:
                break
        theta, expected, growth, fit = tried
        history.append(n * math.log(max(growth.max(), 1.0)))
        if history[-1] <= min(history):
            best = theta
    return Fit(best, gap=min(history), steps=steps, history=np.array(history), unique=False)


def _towards(answer: int, theta: Doubles, expected: Doubles, observed: Doubles, operator: ChannelOperator) -> Doubles:
    """Move shares towards one answer as far as the likelihood rises: Newton's method on the line, free of products."""
    vertex = np.zeros_like(theta)
    vertex[answer] = 1
    seen = observed > 0
    change = operator.forward(vertex)[seen] / expected[seen] - 1
    part = 0.0
    for _ in range(8):
        slope = change / (1 + part * change)
        part = min(max(part + float(observed[seen] @ slope) / float(observed[seen] @ slope**2), 0.0), 0.9)
    return theta + part * (vertex - theta)


# Arguments


def _operator(channel: AnyChannel) -> ChannelOperator:
    if isinstance(channel, ChannelOperator):
        return channel
    if isinstance(channel, Pooled):
        return _side_by_side(channel)
    if isinstance(channel, RandomizedResponse):  # no matrix: the same for everybody, and more for one
        q, gain = channel.q, channel.p - channel.q
        return ChannelOperator((channel.k,) * 2, lambda x: q * x.sum() + gain * x, lambda w: q * w.sum() + gain * w)
    matrix = channel.channel()
    return ChannelOperator((matrix.shape[0], matrix.shape[1]), lambda x: x @ matrix, lambda w: matrix @ w)


def _side_by_side(design: Pooled) -> ChannelOperator:
    """Put the channels of the parts beside each other, as if each person went through one of them by lot."""
    parts = [_operator(part) for part in design.parts]
    share = 1 / len(parts)

    def forward(theta: Doubles) -> Doubles:
        return np.concatenate([part.forward(theta) for part in parts]) * share

    def adjoint(w: Doubles) -> Doubles:
        own = zip(parts, design.split(w), strict=True)
        return np.asarray(sum(part.adjoint(weights) for part, weights in own) * share)

    return ChannelOperator((design.k, len(design.outputs)), forward, adjoint)


def _checked(counts: ArrayLike, channel: AnyChannel) -> Histograms:
    if not isinstance(channel, ChannelOperator):
        return validated(counts, channel)
    found = histograms(counts, channel.shape[1], "outputs of the channel")
    possible = channel.forward(np.full(channel.shape[0], 1 / channel.shape[0])) > 0
    refuse_impossible(found.counts, ~possible, range(channel.shape[1]))
    return found


def _one_histogram(counts: ArrayLike, channel: AnyChannel) -> tuple[NDArray[Any], NDArray[Any]]:
    array, total, _ = _checked(counts, channel)
    if array.ndim != 1:
        shape = array.shape[-1:]
        raise ValueError(
            f"counts must be one histogram of shape {shape}, but got shape {array.shape}; fit them one by one"
        )
    return array, total


def _positive_prior(prior: ArrayLike, k: int) -> Shares:
    start = np.array(prior, dtype=np.float64)
    if start.shape != (k,):
        raise ValueError(f"prior must have one entry for each of the {k} answers, but got shape {start.shape}")
    wrong = start[~(start > 0) | np.isinf(start)]
    if wrong.size:
        raise ValueError(f"prior must be positive and finite, for a share of zero stays zero, but got {wrong[0]:.3g}")
    if start.max() > np.finfo(np.float64).max / k:
        start /= start.max()  # or the sum would overflow
    start /= start.sum()
    return start
