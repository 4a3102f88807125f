r"""Least squares under any table of probabilities, and projection onto the simplex: the nearest distribution.

**Least squares.** The shares that minimize :math:`\sum_j (\phi_j - \mu_j)^2 / w_j`, where :math:`w_j` is the
probability of the report j for equal shares. They are unbiased and sum to one for every design that identifies all
shares; other designs raise an error.

**Projection.** The distribution nearest to a point x, by the squared distance :math:`\sum_i r_i D_i (x_i - \theta_i)^2`
where :math:`r_i` answers have the i-th share, is

.. math:: \theta_i = \max(0, x_i - \tau / D_i),

with the one :math:`\tau` for which the shares sum to one. That sum is convex, piecewise linear and decreasing in
:math:`\tau`, so Newton's method reaches the root from the left in finitely many steps: shares that are not positive are
left out, and the others sum to one, until all of these are positive [1]_. Between limits, the projection is
:math:`\theta_i = \min(h_i, \max(l_i, x_i + c))`; its sum is not convex in c, and is followed from corner to corner.

**Incomplete lists.** Their shares sum to at most one, and the nearest such point has :math:`\tau \ge 0`: it is the
positive part of x if that sums to at most one, and otherwise the nearest distribution.

.. [1] C. Michelot, "A finite algorithm for finding the projection of a point onto the canonical simplex of R^n", J.
   Optim. Theory Appl. 50 (1986), 195-200.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warner.arrays import SMALLEST, Array

if TYPE_CHECKING:
    from warner.designs.contract import Design
    from warner.reports.counts import Histograms

SUM_ROUNDING = 1e-9  # of a sum of shares


def least_squares_shares(histograms: Histograms, design: Design) -> Array:
    """Estimate the unbiased shares."""
    if not design.law.linear.identifiable().all():
        matrix = design.law.likelihood().matrix
        rank = "not all" if matrix is None else f"only {np.linalg.matrix_rank(matrix())}"
        raise ValueError(
            f"the design must have linearly independent rows to be undone, but among its {design.k} {rank} are: "
            "different shares give the same reports. mle still gives a most likely distribution, but not a unique one"
        )
    return design.law.linear.apply(histograms.counts / histograms.n[..., np.newaxis])


def variance_of_one_report(design: Design) -> float:
    """Variance of the unbiased shares from one report, summed over answers with equal shares."""
    if (alike := design.law.symmetry) is not None:
        reported = alike.base + alike.gain / design.k
        return design.k * reported * (1 - reported) / alike.gain**2 / float(alike.asked)
    inverse = design.law.linear.weights()
    expected = design.law.probabilities(np.full(design.k, 1 / design.k))
    return float(expected @ (inverse**2).sum(axis=1) - ((expected @ inverse) ** 2).sum())


def clipped(shares: Array) -> Array:
    """Set negative shares to zero, and rescale the others to sum to one; equal shares if none is positive."""
    positive = np.maximum(shares, 0)
    total = positive.sum(axis=-1, keepdims=True)
    alike = np.full_like(positive, 1 / shares.shape[-1])
    return np.asarray(np.divide(positive, total, out=alike, where=total > 0))


def projected(points: Array, *, repeats: Array | float = 1.0, metric: Array | float = 1.0) -> Array:
    """Project points, of shape (..., k), onto the distributions, in the metric of a diagonal.

    Each entry represents `repeats` answers, all with that share.

    >>> projected(np.array([0.9, 0.3, -0.2]))  # tau 0.1
    array([0.8, 0.2, 0. ])
    >>> projected(np.array([0.8, 0.6, -0.2]), metric=np.array([1.0, 3.0, 1.0]))  # tau 0.3: (0.8 - 0.3, 0.6 - 0.1, 0)
    array([0.5, 0.5, 0. ])
    """
    inverse = np.ones(points.shape[-1]) / metric
    heights = points * metric  # a share is positive where this is above tau
    weight = (repeats * inverse).sum()
    tau = ((repeats * points).sum(axis=-1, keepdims=True) - 1) / weight
    while True:
        kept = (heights > tau) * repeats
        before, weight = weight, (kept @ inverse)[..., np.newaxis]
        if (weight == before).all():
            break
        tau = np.maximum(tau, (np.vecdot(kept, points)[..., np.newaxis] - 1) / np.maximum(weight, SMALLEST))
    shares = np.asarray(np.maximum(points - tau * inverse, 0))
    total = (repeats * shares).sum(axis=-1, keepdims=True)
    if (np.abs(total - 1) <= SUM_ROUNDING).all():
        return shares
    # So far away that what is left is rounding, or nothing: then it is the highest.
    shares = np.where(total > 0, shares, heights == heights.max(axis=-1, keepdims=True))
    return np.asarray(shares / (repeats * shares).sum(axis=-1, keepdims=True))


def within_one(shares: Array, distribution: Array) -> Array:
    """Return the positive parts of shares if these sum to at most one, and the distribution otherwise.

    With the nearest distribution that is the nearest point of which no share is negative and the sum at most one.

    >>> shares = np.array([[0.5, 0.2, -0.1], [0.9, 0.3, -0.2]])
    >>> within_one(shares, projected(shares))
    array([[0.5, 0.2, 0. ],
           [0.8, 0.2, 0. ]])
    """
    positive = np.maximum(shares, 0)
    return np.where(positive.sum(axis=-1, keepdims=True) <= 1, positive, distribution)


def nearest_shares(shares: Array, *, complete: bool) -> Array:
    """Return the nearest valid shares: a distribution, or, for an incomplete list, a sum of at most one."""
    return projected(shares) if complete else within_one(shares, projected(shares))


def refuse_incomplete(name: str, design: Design) -> None:
    if not design.law.exhaustive:
        raise TypeError(
            f"method must not be {name!r} here: respondents may have answers that are not in the list, so that its "
            "shares need not sum to one; use inv_p, inv_n or inv"
        )


def projected_within(shares: Array, low: Array, high: Array, repeats: Array) -> Array:
    """Nearest distributions to shares of `repeats` answers each, (..., counts), between limits that allow some."""
    corners = np.concatenate([low - shares, high - shares], axis=-1)
    order = np.argsort(corners, axis=-1)
    corners = np.take_along_axis(corners, order, axis=-1)
    slopes = np.cumsum(np.take_along_axis(np.concatenate([repeats, -repeats], axis=-1), order, axis=-1), axis=-1)
    rises = slopes[..., :-1] * np.diff(corners, axis=-1)
    start = np.vecdot(repeats, low)[..., np.newaxis]
    sums = np.concatenate([start, start + np.cumsum(rises, axis=-1)], axis=-1)
    piece = np.clip(np.sum(sums < 1, axis=-1, keepdims=True) - 1, 0, sums.shape[-1] - 2)
    at, slope = (np.take_along_axis(part, piece, axis=-1) for part in (corners, slopes))
    missing = 1 - np.take_along_axis(sums, piece, axis=-1)
    # A piece on which the sum does not change is one where all are at their limits.
    step = np.divide(missing, slope, out=np.zeros_like(missing), where=slope > 0.5)
    longest = np.take_along_axis(corners, piece + 1, axis=-1) - at
    return np.asarray(np.clip(shares + at + np.clip(step, 0, longest), low, high))
