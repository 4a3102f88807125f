"""Iterative Bayesian update (EM): shares are multiplied by g until the certified gap is small.

`ibu` is for comparison; `extrapolated` adds the acceleration of SQUAREM, for channels that are too large for a matrix.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from warner.arrays import SMALLEST, Array
from warner.estimators.likelihood import (
    ANSWERS_FACTORIZED,
    Channels,
    Fit,
    closed_form,
    combined_channel,
    unique_among,
    unique_maximum,
)
from warner.reports.counts import Histograms, multinomial

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from warner.designs.contract import Design
    from warner.designs.facts import ChannelOperator, Symmetry

STALLED_CYCLES = 10  # cycles in which the same answer keeps the certificate from falling
LEAST_PART_OF_UPDATE = 0.1  # extrapolation leaves each share at least this part of its plain update, and never at zero


def ibu(
    counts: ArrayLike,
    design: Design | ChannelOperator,
    *,
    prior: ArrayLike | None = None,
    iterations: int = 40_000,
    gap: float = 1e-6,
) -> Fit:
    """Approach the maximum-likelihood estimate by the iterative Bayesian update, an EM algorithm.

    The update of [1]_ (eq. IBU; for a `RandomizedResponse` eq. IBU-RR, in O(K)), with the stopping rule that the paper
    lacks: it ends when a proven bound on the log-likelihood still to be gained falls to `gap`. Without a prior,
    answers with equal counts of a `RandomizedResponse` keep equal shares, so the work is that of the distinct counts.
    `warner.mle` gives the limit at once.

    Parameters
    ----------
    counts : array_like of shape (k,)
        Number of reports that named each answer; for a channel, one for each output.
    design : Design or ChannelOperator
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
    histogram = one_histogram(counts, design)
    if iterations < 0 or not gap >= 0:
        raise ValueError(f"iterations and gap must be at least 0, but got iterations={iterations!r} and gap={gap!r}")
    start = None if prior is None else _positive_prior(prior, design.law.k)
    return updated([(design, histogram)], start, iterations=iterations, gap=gap)


def updated(parts: Channels, prior: Array | None = None, *, iterations: int = 40_000, gap: float = 1e-6) -> Fit:
    """Update the shares of one group, for one or several designs."""
    design, histogram = parts[0]
    symmetry = closed_form(design)
    if any(counts.streamed(part.law) for part, counts in parts):
        raise TypeError(
            "ibu goes through the reports thousands of times, and these are in a file; use mle, which ends at the "
            "same shares in a few passes, or give the reports as an array"
        )
    if len(parts) == 1 and symmetry is not None:
        return _symmetric_ibu(histogram, design.law.k, symmetry, prior, iterations, gap)
    operator, counts, total = combined_channel(parts)
    theta = np.full(operator.shape[0], 1 / operator.shape[0]) if prior is None else prior
    n = float(total)
    observed = counts / n
    history = []
    for _ in range(iterations + 1):
        expected = operator.forward(theta)
        growth = operator.adjoint(observed / np.maximum(expected, SMALLEST))
        history.append(n * math.log(max(growth.max(), 1.0)))
        if history[-1] <= gap or len(history) > iterations:
            break
        theta = theta * growth
        theta /= theta.sum()  # already one but for rounding, which would pile up
    seen = observed > 0
    unique = False
    if operator.matrix is not None and operator.shape[0] <= ANSWERS_FACTORIZED and (expected[seen] > 0).all():
        unique = unique_maximum(operator.matrix()[:, seen], observed[seen], expected[seen], growth)
    return Fit(
        theta,
        gap=history[-1],
        steps=len(history) - 1,
        history=np.array(history),
        unique=unique,
        log_likelihood=n * float(observed[seen] @ np.log(np.maximum(expected[seen], SMALLEST))),
        excess=float(growth.max()) - 1,
    )


def _symmetric_ibu(
    histogram: Histograms, k: int, symmetry: Symmetry, prior: Array | None, iterations: int, gap: float
) -> Fit:
    """Update in O(K); without a prior, answers with equal counts keep equal shares."""
    counts, n = histogram.counts, float(histogram.n)
    if prior is None:
        values, index, times = np.unique(counts, return_inverse=True, return_counts=True)
        repeats, theta = times.astype(np.float64), np.full(values.size, 1 / k)
    else:
        values, index = counts, np.arange(k)
        repeats, theta = np.ones(k), prior
    q, gain = symmetry.base, symmetry.gain
    observed = values / n
    history = []
    for _ in range(iterations + 1):
        # Nothing observed where nothing is expected (no noise, a share of zero) is a ratio of 0, not 0/0.
        expected = np.maximum(q + gain * theta, SMALLEST)
        ratio = observed / expected
        growth = q * (repeats @ ratio) + gain * ratio
        history.append(n * math.log(max(growth.max(), 1.0)))
        if history[-1] <= gap or len(history) > iterations:
            break
        theta = theta * growth
        theta /= repeats @ theta  # already one but for rounding, which would pile up
    return Fit(
        theta[index],
        gap=history[-1],
        steps=len(history) - 1,
        history=np.array(history),
        unique=bool(unique_among(np.asarray(np.count_nonzero(counts == 0)), symmetry)),
        log_likelihood=float((repeats * values) @ np.log(expected)),
        excess=float(growth.max()) - 1,
    )


# Extrapolated IBU


def extrapolated(observed: Array, n: float, operator: ChannelOperator, gap: float, iterations: int) -> Fit:
    """Alternate two updates and one extrapolation (SQUAREM), with lengths in Fisher's metric, weights 1/theta."""
    seen = observed > 0
    k = operator.shape[0]

    def evaluated(shares: Array) -> tuple[Array, Array, Array, float]:
        expected = np.maximum(operator.forward(shares), SMALLEST)
        fit = float(observed[seen] @ np.log(expected[seen]))
        return shares, expected, operator.adjoint(observed / expected), fit

    theta, expected, growth, fit = evaluated(np.full(k, 1 / k))
    best, best_fit, steps = theta, fit, 0
    history = [n * math.log(max(growth.max(), 1.0))]
    worst, since = -1, 0
    while history[-1] > gap and steps < iterations:
        worst, since = int(growth.argmax()), since + 1 if growth.argmax() == worst else 0
        if since >= STALLED_CYCLES:
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
            jump = np.maximum(theta + 2 * length * first + length**2 * second, LEAST_PART_OF_UPDATE * twice)
            tried = evaluated(jump / jump.sum())
            steps += 1
            if tried[-1] >= fit:
                break
        theta, expected, growth, fit = tried
        history.append(n * math.log(max(growth.max(), 1.0)))
        if history[-1] <= min(history):
            best, best_fit = theta, fit
    return Fit(
        best,
        gap=min(history),
        steps=steps,
        history=np.array(history),
        unique=False,
        log_likelihood=n * best_fit,
        excess=math.expm1(min(history) / n),
    )


def _towards(answer: int, theta: Array, expected: Array, observed: Array, operator: ChannelOperator) -> Array:
    """Move shares toward one answer by a line search with Newton's method."""
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


def one_histogram(counts: ArrayLike, design: Design | ChannelOperator) -> Histograms:
    histogram = multinomial(counts, design)
    if histogram.n.ndim:
        shape = histogram.counts.shape
        raise ValueError(
            f"counts must be one histogram of shape {shape[-1:]}, but got shape {shape}; fit them one by one"
        )
    return histogram


def _positive_prior(prior: ArrayLike, k: int) -> Array:
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
