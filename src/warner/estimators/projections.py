r"""Undoing any table of probabilities: weighted least squares, and the distribution nearest to the result.

The shares that minimise :math:`\sum_j (\phi_j - \mu_j)^2 / w_j`, where :math:`w_j` is how often the report j would be
made if all answers were equally common. That is unbiased, and sums to one, for every design whose shares can be told at
all; others are an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from warner.arrays import Array
    from warner.designs.contract import Design
    from warner.reports.counts import Histograms


def least_squares(histograms: Histograms, design: Design) -> Array:
    """Give the unbiased shares."""
    if not design.identified().all():
        matrix = design.operator().matrix
        rank = "not all" if matrix is None else f"only {np.linalg.matrix_rank(matrix())}"
        raise ValueError(
            f"the design must have linearly independent rows to be undone, but among its {design.k} {rank} are: "
            "different shares give the same reports. mle still gives a most likely distribution, but not a unique one"
        )
    return design.undone(histograms.counts / histograms.n[..., np.newaxis])


def variance_of_one_report(design: Design) -> float:
    """Give the variance that one report leaves in the unbiased shares, summed, if all answers are equally common."""
    if design.symmetry is not None:
        reported = design.symmetry.q + design.symmetry.gain / design.k
        return design.k * reported * (1 - reported) / design.symmetry.gain**2
    inverse = design.inverse()
    expected = design.operator().forward(np.full(design.k, 1 / design.k))
    return float(expected @ (inverse**2).sum(axis=1) - ((expected @ inverse) ** 2).sum())


def clipped(shares: Array) -> Array:
    """Set negative shares to zero, and rescale the others to sum to one; where none is positive, all are alike."""
    positive = np.maximum(shares, 0)
    total = positive.sum(axis=-1, keepdims=True)
    alike = np.full_like(positive, 1 / shares.shape[-1])
    return np.asarray(np.divide(positive, total, out=alike, where=total > 0))


def projected(shares: Array) -> Array:
    """Give the distribution nearest to shares that sum to one: lower all by one constant, cut off at zero."""
    falling = -np.sort(-shares, axis=-1)
    size = np.arange(1, shares.shape[-1] + 1)
    constant = (falling.cumsum(axis=-1) - 1) / size
    kept = np.count_nonzero(falling > constant, axis=-1, keepdims=True)
    return np.maximum(shares - np.take_along_axis(constant, kept - 1, axis=-1), 0)
