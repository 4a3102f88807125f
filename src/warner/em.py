r"""Counts to shares by expectation maximisation, and the certificate that an estimate is the most likely one.

For shares :math:`\theta` a report names answer j with probability :math:`\mu_j = q + (p-q)\theta_j`. With

.. math:: g_i = q \sum_j \frac{\phi_j}{\mu_j} + (p-q) \frac{\phi_i}{\mu_i},

one step of the iterative Bayesian update (IBU) is :math:`\theta_i \leftarrow \theta_i g_i`, and no distribution
has a log-likelihood that exceeds that of :math:`\theta` by more than

.. math:: \text{gap} = N \ln \max_i g_i

nats for the whole sample. So each step says, for free, how far it is from the end, in likelihood (not in
:math:`\theta`: with small epsilon a tiny gap can still hide a visible distance). `warner.mle` gives that end at
once; IBU is here to be compared with, and for the designs that have no closed form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.estimators import SMALLEST, validated

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from warner.design import RandomizedResponse
    from warner.estimators import Shares


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
        Number of updates made.
    history : ndarray of shape (steps + 1,)
        The gap before each update, and after the last.
    """

    shares: Shares
    gap: float
    steps: int
    history: NDArray[np.float64]


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
        Whether the maximum is known to be the only one. It is, unless p < q and several answers were never
        reported.
    """

    excess: NDArray[np.float64] | float
    gap: NDArray[np.float64] | float
    unique: NDArray[np.bool_] | bool


def certificate(shares: ArrayLike, counts: ArrayLike, design: RandomizedResponse) -> Certificate:
    """Verify that shares are the maximum-likelihood estimate, whoever computed them.

    Parameters
    ----------
    shares : array_like of shape (..., k)
        Distributions: no entry below zero, sums of one.
    counts : array_like of shape (..., k)
        The reports that they were estimated from.
    design : RandomizedResponse
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
    array, totals, _ = validated(counts, design)
    theta = np.asarray(shares, dtype=np.float64)
    if theta.shape != array.shape:
        msg = f"shares must have the shape of counts, {array.shape}, but got {theta.shape}"
        raise ValueError(msg)
    sums = theta.sum(axis=-1)
    if not (theta >= 0).all() or not (np.abs(sums - 1) <= 1e-9).all():  # noqa: PLR2004 - far above rounding
        msg = (
            f"shares must be distributions, but the smallest entry is {theta.min():.3g} and a sum is "
            f"{sums.flat[np.abs(sums - 1).argmax()]:.12g}; what inv gives cannot be certified"
        )
        raise ValueError(msg)
    # Divided by the sums: a sum a hair above one would pass for a likelihood that no distribution has.
    growth = largest_growth(array, theta / sums[..., np.newaxis], totals, design)
    a, b = design.odds
    excess = growth - 1
    gap = totals * np.log(np.maximum(growth, 1))
    unique = np.ones(totals.shape, dtype=bool) if a > b else (array == 0).sum(axis=-1) <= 1
    if array.ndim == 1:
        return Certificate(float(excess), float(gap), bool(unique))
    return Certificate(excess, gap, unique)


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
    design: RandomizedResponse,
    *,
    prior: ArrayLike | None = None,
    iterations: int = 40_000,
    gap: float = 1e-6,
) -> Fit:
    """Approach the maximum-likelihood estimate by the iterative Bayesian update, an EM algorithm.

    The O(K) update of [1]_ (eq. IBU-RR), with the stopping rule that the paper misses: it ends when a proven bound
    on the log-likelihood still to be gained falls to `gap`. Without a prior, answers with equal counts keep equal
    shares, so the work is that of the distinct counts. `warner.mle` gives the limit at once.

    Parameters
    ----------
    counts : array_like of shape (k,)
        Number of reports that named each answer.
    design : RandomizedResponse
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
    array, total, _ = validated(counts, design)
    if array.ndim != 1:
        msg = f"counts must be one histogram of shape ({design.k},), but got shape {array.shape}; fit them one by one"
        raise ValueError(msg)
    if iterations < 0 or not gap >= 0:
        msg = f"iterations and gap must be at least 0, but got iterations={iterations!r} and gap={gap!r}"
        raise ValueError(msg)
    if prior is None:
        values, index, times = np.unique(array, return_inverse=True, return_counts=True)
        repeats, theta = times.astype(np.float64), np.full(values.size, 1 / design.k)
    else:
        values, index = array, np.arange(design.k)
        repeats, theta = np.ones(design.k), _positive_prior(prior, design.k)
    n, q, kappa = float(total), design.q, design.p - design.q
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
    return Fit(shares=theta[index], gap=history[-1], steps=len(history) - 1, history=np.array(history))


def _positive_prior(prior: ArrayLike, k: int) -> Shares:
    start = np.array(prior, dtype=np.float64)
    if start.shape != (k,):
        msg = f"prior must have one entry for each of the {k} answers, but got shape {start.shape}"
        raise ValueError(msg)
    wrong = start[~(start > 0) | np.isinf(start)]
    if wrong.size:
        msg = f"prior must be positive and finite, for a share of zero stays zero, but got {wrong[0]:.3g}"
        raise ValueError(msg)
    if start.max() > np.finfo(np.float64).max / k:
        start /= start.max()  # or the sum would overflow
    start /= start.sum()
    return start
