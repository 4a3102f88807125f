r"""Linear probability model: shares that are linear in the columns, by least squares of debiased indicators.

With :math:`E[z_n \mid \text{answer } k] = e_k` the regression of z on x is that of the answers themselves
(`least_squares`), with no optimum to miss and no estimate at infinity. The coefficient of a randomized treatment is the
difference of two shares. Fitted shares may leave 0 to 1.

Randomization alone makes z vary by :math:`\sum_k \theta_k C_k`, with :math:`C_k` the covariances of z after the answer
k, which the design knows.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from warner.regression.debiased import DebiasedOutcomes, debiased, debiasing
from warner.regression.starts import overall_shares

if TYPE_CHECKING:
    from warner.arrays import Array
    from warner.regression.data import Observations


def debiased_answers(rows: Observations, reference: int) -> DebiasedOutcomes:
    """Give debiased indicators of each answer but the reference."""
    shares = overall_shares(rows)
    z = debiased(rows, shares)
    if z is None:
        raise ValueError(
            "a linear model needs reports that identify the shares of all answers, and these do not; "
            'use model="multinomial"'
        )
    return DebiasedOutcomes(np.delete(z, reference, axis=1), partial(_randomized, rows, shares, reference))


def _randomized(rows: Observations, shares: Array, reference: int, fitted: Array) -> Array:
    every = np.insert(fitted, reference, 1 - fitted.sum(axis=1), axis=1).clip(0)
    return _spread_by_randomization(rows, shares, every / every.sum(axis=1, keepdims=True), reference)


def _spread_by_randomization(rows: Observations, shares: Array, fitted: Array, reference: int) -> Array:
    """Give the covariances of the sum of weighted scores if only reports varied, for people with these fitted shares.

    Designs whose reports cannot be listed add nothing.
    """
    k, width = fitted.shape[1], rows.x.shape[1]
    size = (k - 1) * width
    total = np.zeros((k - 1, width, k - 1, width))
    for place, table in enumerate(rows.tables):
        matrix = None if table is None else debiasing(table, shares)
        if table is None or matrix is None:
            continue
        of_design = rows.design == place
        x, weight = rows.x[of_design], rows.square[of_design, np.newaxis] * fitted[of_design]
        for answer in range(k):
            varies = (matrix.T * table[answer]) @ matrix - np.outer(np.eye(k)[answer], np.eye(k)[answer])
            kept = np.delete(np.delete(varies, reference, axis=0), reference, axis=1)
            total += np.einsum("fg,pq->fpgq", kept, (x.T * weight[:, answer]) @ x)
    return total.reshape(size, size)
