r"""Least squares of debiased outcomes, with robust errors: HC1, of clusters (CR2), of strata.

With :math:`E[z_n \mid \text{answer}]` the outcome itself, the regression of z on x is that of the outcomes: unbiased
for the best linear approximation, in closed form. Outcomes are the indicators of answers (`linear_probability`), or the
number that answers stand for (`linear_means`).

Residuals tell how much z varies, and where few people speak they can tell too little: twenty people who all report the
same leave none at all. Yet randomization alone makes z vary, by how much the design knows. So without clusters errors
are never below those of randomization alone. Of a finite population, this noise is what is left: `finite_populations`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.regression.cluster_robust import ClusterRobust, cluster_robust, information_by_cluster
from warner.regression.finite_populations import noise_of_people, refuse_drawn_alone
from warner.regression.linear_means import debiased_numbers
from warner.regression.linear_probability import debiased_answers
from warner.regression.standard_errors import score_covariance
from warner.regression.variance_floors import Floor, about_clusters, larger, simple_covariance

if TYPE_CHECKING:
    from warner.arrays import Array
    from warner.regression.data import Observations
    from warner.regression.specifications import Specification


class LeastSquares(NamedTuple):
    """Coefficients of each outcome, one after the other, with their covariances.

    `influence`, of shape (n, coefficients), is what one person of each row adds to the errors of the coefficients.
    `clustered` are the errors where people are clustered, `noise` what a finite population leaves where they are not,
    `floor` the least covariances in strata of respondents who were drawn alone.
    """

    coefficients: Array
    covariance: Array
    influence: Array
    clustered: ClusterRobust | None = None
    noise: Array | None = None
    floor: Floor | None = None


def least_squares(rows: Observations, specification: Specification) -> LeastSquares:
    """Regress debiased outcomes on the columns, with robust errors: HC1, or of clusters and strata.

    Without clusters, errors are at least those that randomization alone makes.
    """
    sampling, x, weight, root = rows.sampling, rows.x, rows.weight, np.sqrt(rows.weight)[:, np.newaxis]
    kept = sampling.kept[0] if sampling.stratum is None else sampling.kept[sampling.stratum]
    # In orthogonal columns: products of columns that are far from 0, such as times of a day, would lose all digits.
    orthogonal, triangle = np.linalg.qr(root * x)
    back, columns = np.linalg.inv(triangle), orthogonal / root
    not_sampled = replace(rows, x=columns, square=rows.square * kept)
    shares = specification.values is None
    if specification.values is None:
        z, randomized = debiased_answers(not_sampled, specification.reference_place)
    else:
        refuse_drawn_alone(rows)
        z, randomized = debiased_numbers(not_sampled, specification.values)
    matrix = back @ (orthogonal.T @ (root * z))  # (P, f)
    fitted = columns @ (orthogonal.T @ (root * z))
    residuals = z - fitted
    scores = (residuals[:, :, np.newaxis] * columns[:, np.newaxis]).reshape(len(x), -1)
    coefficients = np.asarray(np.kron(np.eye(z.shape[1]), back))  # of the columns, from those of the orthogonal ones
    influence = scores @ coefficients.T
    device = partial(_noise, z, columns)
    if sampling.cluster is not None:
        clusters, told = sampling.clusters, device if shares else None
        information = information_by_cluster(clusters, columns, np.eye(z.shape[1])[:, :, np.newaxis] * weight)
        about = about_clusters(clusters, weight, residuals)
        deviations = (about[:, :, np.newaxis] * columns[:, np.newaxis]).reshape(len(x), -1)
        robust = cluster_robust(rows, clusters, scores, information, np.eye(len(coefficients)), told, deviations)
        robust = robust.of(coefficients)
        return LeastSquares(matrix.T.ravel(), robust.covariance, influence, robust)
    covariance = score_covariance(rows, scores)
    if sampling.stratum is None:  # HC1: n/(n - P) in the place of n/(n - 1)
        covariance = covariance * (rows.n - 1) / (rows.n - x.shape[1])
    covariance = coefficients @ larger(covariance, randomized(fitted)) @ coefficients.T
    noise, floor = noise_of_people(rows, device), None
    if sampling.stratum is not None:  # errors have the floor of the randomization already
        floor = Floor(np.zeros_like(covariance), simple_covariance(rows, influence))
    if noise is None:
        return LeastSquares(matrix.T.ravel(), covariance, influence, floor=floor)
    noise = coefficients @ noise @ coefficients.T
    return LeastSquares(matrix.T.ravel(), covariance + noise, influence, noise=noise, floor=floor)


def _noise(z: Array, columns: Array, weights: Array) -> Array:
    """Add up what is unbiased for the noise of reports in the scores of linear shares: debiased z times columns."""
    (_, f), width = z.shape, columns.shape[1]
    total = np.empty((f, width, f, width))
    for k, m in np.ndindex(f, f):
        total[k, :, m] = (columns.T * (weights * (z[:, k] * z[:, m] - (k == m) * z[:, k]))) @ columns
    return total.reshape(f * width, f * width)
