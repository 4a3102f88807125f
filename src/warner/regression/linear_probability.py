r"""Linear probability model: shares that are linear in the columns, by least squares of debiased indicators.

With :math:`E[z_n \mid \text{answer } k] = e_k` the regression of z on x is that of the answers themselves: unbiased for
the best linear approximation, in closed form, with no optimum to miss and no estimate at infinity. The coefficient of a
randomized treatment is the difference of two shares. Fitted shares may leave 0 to 1.

Residuals tell how much z varies, and where few people speak they can tell too little: twenty people who all report the
same leave none at all. Yet randomization alone makes z vary by :math:`\sum_k \theta_k C_k`, with :math:`C_k` the
covariances of z after the answer k, which the design knows. So errors are never below those of randomization alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.regression.cluster_robust import ClusterRobust, cluster_robust, information_by_cluster
from warner.regression.debiased import debiased, debiasing
from warner.regression.standard_errors import score_covariance
from warner.regression.starts import overall_shares

if TYPE_CHECKING:
    from warner.arrays import Array
    from warner.regression.data import Observations

LEAST_VARIANCE = 1e-12  # part of the largest variance below which there is none


class LeastSquares(NamedTuple):
    """Coefficients of each answer but the reference, one after the other, with their covariances.

    `influence`, of shape (n, coefficients), is what one person of each row adds to the errors of the coefficients.
    `clustered` are the errors where people are clustered.
    """

    coefficients: Array
    covariance: Array
    influence: Array
    clustered: ClusterRobust | None = None


def least_squares(rows: Observations, reference: int) -> LeastSquares:
    """Regress debiased indicators on the columns, with robust errors: HC1, or of clusters and strata.

    Without clusters, errors are at least those that randomization alone makes.
    """
    shares = overall_shares(rows)
    z = debiased(rows, shares)
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
    if rows.sampling.cluster is not None:
        clusters = rows.sampling.clusters
        information = information_by_cluster(clusters, x, np.eye(z.shape[1])[:, :, np.newaxis] * weight)
        robust = cluster_robust(rows, clusters, scores, information, bread)
        return LeastSquares(matrix.T.ravel(), robust.covariance, influence, robust)
    covariance = score_covariance(rows, influence)
    if rows.sampling.stratum is None:  # HC1: n/(n - P) in the place of n/(n - 1)
        covariance = covariance * (rows.n - 1) / (rows.n - x.shape[1])
    fitted = np.insert(x @ matrix, reference, 1 - (x @ matrix).sum(axis=1), axis=1).clip(0)
    least = (
        bread @ _spread_by_randomization(rows, shares, fitted / fitted.sum(axis=1, keepdims=True), reference) @ bread
    )
    return LeastSquares(matrix.T.ravel(), larger(covariance, least), influence)


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


def larger(first: Array, second: Array) -> Array:
    """Give the covariances that are the larger of two in each of the directions in which both are uncorrelated."""
    total = first + second
    scale = np.sqrt(np.maximum(np.diagonal(total), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(total / np.outer(scale, scale))
    seen = values > LEAST_VARIANCE * values[-1]
    root = vectors[:, seen] * np.sqrt(values[seen])  # its product with its transpose is the total, in these units
    inverse = vectors[:, seen] / np.sqrt(values[seen])
    parts, turn = np.linalg.eigh(inverse.T @ (first / np.outer(scale, scale)) @ inverse)
    along = scale[:, np.newaxis] * (root @ turn)
    return np.asarray((along * np.maximum(parts, 1 - parts)) @ along.T)
