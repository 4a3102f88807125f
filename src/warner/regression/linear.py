r"""Shares that are linear in the columns: least squares of debiased indicators.

With :math:`E[z_n \mid \text{answer } k] = e_k` the regression of z on x is that of the answers themselves: unbiased for
the best linear approximation, in closed form, with no optimum to miss and no estimate at infinity. The coefficient of a
randomized treatment is the difference of two shares. Fitted shares may leave 0 to 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.regression.cluster_robust import ClusterRobust, cluster_robust, clusters_of, information_by_cluster
from warner.regression.covariances import spread_of_scores
from warner.regression.debiased import debiased
from warner.regression.starts import overall_shares

if TYPE_CHECKING:
    from warner.arrays import Array
    from warner.regression.rows import Rows


class LeastSquares(NamedTuple):
    """Coefficients of each answer but the reference, one after the other, with their covariances.

    `influence`, of shape (n, coefficients), is what one person of each row adds to the errors of the coefficients.
    `clustered` are the errors where people are clustered.
    """

    coefficients: Array
    covariance: Array
    influence: Array
    clustered: ClusterRobust | None = None


def least_squares(rows: Rows, reference: int) -> LeastSquares:
    """Regress debiased indicators on the columns, with robust errors: HC1, or of clusters and strata."""
    z = debiased(rows, overall_shares(rows))
    if z is None:
        raise ValueError(
            "a linear model needs reports that tell the shares of all answers, and these do not; "
            'use model="multinomial"'
        )
    z = np.delete(z, reference, axis=1)
    x, weight = rows.x, rows.weight
    inverse = np.linalg.inv((x.T * weight) @ x)
    matrix = inverse @ (x.T * weight) @ z  # (P, f)
    residuals = z - x @ matrix
    scores = (residuals[:, :, np.newaxis] * x[:, np.newaxis]).reshape(len(x), -1)
    bread = np.asarray(np.kron(np.eye(z.shape[1]), inverse))
    influence = scores @ bread
    if rows.cluster is not None:
        clusters = clusters_of(rows)
        information = information_by_cluster(clusters, x, np.eye(z.shape[1])[:, :, np.newaxis] * weight)
        robust = cluster_robust(rows, clusters, scores, information, bread)
        return LeastSquares(matrix.T.ravel(), robust.covariance, influence, robust)
    covariance = spread_of_scores(rows, influence)
    if rows.stratum is None:  # HC1: n/(n - P) in the place of n/(n - 1)
        covariance = covariance * (rows.n - 1) / (rows.n - x.shape[1])
    return LeastSquares(matrix.T.ravel(), covariance, influence)
