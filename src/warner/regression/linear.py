r"""Least squares of debiased outcomes, with robust errors: HC1, of clusters (CR2), of strata.

With :math:`E[z_n \mid \text{answer}]` the outcome itself, the regression of z on x is unbiased for the best linear
approximation of the outcome, in closed form. Fitted values may leave the range of the outcome.

- Linear probability model: z are the debiased indicators of answers. Randomization alone makes z vary by
  :math:`\sum_k \theta_k C_k`, with :math:`C_k` the covariances of z after the answer k, which follow from the design.
- Linear model of a number: z are the scores of reports (`scores`). An intercept alone is the mean of
  `warner.Estimate.mean`, with weights, clusters and strata.

Residuals of few respondents can underestimate the variance of z: twenty equal reports leave none at all. So without
clusters errors are at least those of randomization alone. Direct answers that are all alike have the exact intervals of
shares, and in a finite population the noise of randomization remains (`variance_floors`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.regression.maxima import overall_shares
from warner.regression.scores import debiased, debiasing, least_variance
from warner.regression.standard_errors import ClusterRobust, cluster_robust, information_by_cluster, score_covariance
from warner.regression.variance_floors import (
    Floor,
    about_clusters,
    exact_covariance,
    larger,
    noise_of_people,
    refuse_drawn_alone,
    simple_covariance,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.arrays import Array
    from warner.regression.data import Observations
    from warner.regression.families import Specification


# Linear probability


def debiased_answers(rows: Observations, reference: int) -> tuple[Array, Callable[[Array], Array]]:
    """Debiased indicators of each answer but the reference, (n, k - 1), and the covariances of their sums.

    These are the covariances of the sum of weighted scores by randomization alone, from fitted outcomes, (n, k - 1).
    """
    shares = overall_shares(rows)
    z = debiased(rows, shares)
    if z is None:
        raise ValueError(
            "a linear model needs reports that identify the shares of all answers, and these do not; "
            'use model="multinomial"'
        )
    return np.delete(z, reference, axis=1), partial(_randomized, rows, shares, reference)


def _randomized(rows: Observations, shares: Array, reference: int, fitted: Array) -> Array:
    """Covariances of the sum of weighted scores by randomization alone; 0 for reports that cannot be listed."""
    fitted = np.insert(fitted, reference, 1 - fitted.sum(axis=1), axis=1).clip(0)
    fitted /= fitted.sum(axis=1, keepdims=True)
    k, width = fitted.shape[1], rows.x.shape[1]
    size = (k - 1) * width
    total = np.zeros((k - 1, width, k - 1, width))
    for index, table in enumerate(rows.tables):
        matrix = None if table is None else debiasing(table, shares)
        if table is None or matrix is None:
            continue
        of_design = rows.design == index
        x, weight = rows.x[of_design], rows.square[of_design, np.newaxis] * fitted[of_design]
        for answer in range(k):
            varies = (matrix.T * table[answer]) @ matrix - np.outer(np.eye(k)[answer], np.eye(k)[answer])
            without_reference = np.delete(np.delete(varies, reference, axis=0), reference, axis=1)
            total += np.einsum("fg,pq->fpgq", without_reference, (x.T * weight[:, answer]) @ x)
    return total.reshape(size, size)


# Linear means


def _randomized_linear_means(rows: Observations, values: Array, fitted: Array) -> Array:
    """Compute the least covariances of the sum of weighted scores that randomization alone leads to.

    They hold for all distributions with these fitted means. Designs whose reports cannot be listed add nothing.
    """
    total = np.zeros((rows.x.shape[1], rows.x.shape[1]))
    for index, design in enumerate(rows.designs):
        least = least_variance(design, values)
        if least is None:
            continue
        of_design = rows.design == index
        x = rows.x[of_design]
        total += (x.T * (rows.square[of_design] * least.interpolated(fitted[of_design, 0]))) @ x
    return total


# Least squares


class LeastSquares(NamedTuple):
    """Coefficients of each outcome, one after the other, with their covariances.

    `influence`, of shape (n, coefficients), is what one respondent of each row adds to the errors of the coefficients.
    `clustered` are the errors where people are clustered, `noise` what a finite population leaves where they are not,
    `floor` the least covariances of respondents who were drawn alone.
    """

    coefficients: Array
    covariance: Array
    influence: Array
    clustered: ClusterRobust | None = None
    noise: Array | None = None
    floor: Floor | None = None


def least_squares(rows: Observations, specification: Specification) -> LeastSquares:
    """Least-squares regression of debiased outcomes, with robust errors: HC1, or of clusters and strata.

    Without clusters, errors are at least those that randomization alone makes.
    """
    sampling, x, weight, root = rows.sampling, rows.x, rows.weight, np.sqrt(rows.weight)[:, np.newaxis]
    not_sampled_fraction = sampling.kept[0] if sampling.stratum is None else sampling.kept[sampling.stratum]
    # In orthogonal columns: products of columns that are far from 0, such as times of a day, would lose all digits.
    orthogonal, triangle = np.linalg.qr(root * x)
    back, columns = np.linalg.inv(triangle), orthogonal / root
    not_sampled = replace(rows, x=columns, square=rows.square * not_sampled_fraction)
    shares = specification.values is None
    if specification.values is None:
        z, randomized = debiased_answers(not_sampled, specification.reference_index)
    else:
        refuse_drawn_alone(rows)
        assert rows.scores is not None
        z, randomized = rows.scores[:, np.newaxis], partial(_randomized_linear_means, not_sampled, specification.values)
    matrix = back @ (orthogonal.T @ (root * z))  # (P, f)
    fitted = columns @ (orthogonal.T @ (root * z))
    reach = np.ones(len(x))
    if specification.values is not None:
        reach = np.abs(fitted - np.array([specification.values.min(), specification.values.max()])).max(axis=1)
    exact = exact_covariance(rows, columns, z.shape[1] + 1, reach)
    residuals = z - fitted
    scores = (residuals[:, :, np.newaxis] * columns[:, np.newaxis]).reshape(len(x), -1)
    coefficients = np.asarray(np.kron(np.eye(z.shape[1]), back))  # of the columns, from those of the orthogonal ones
    influence = scores @ coefficients.T
    device = partial(_noise, z, columns)
    if sampling.cluster is not None:
        clusters, share_noise = sampling.clusters, device if shares else None
        information = information_by_cluster(clusters, columns, np.eye(z.shape[1])[:, :, np.newaxis] * weight)
        about = about_clusters(clusters, weight, residuals)
        deviations = (about[:, :, np.newaxis] * columns[:, np.newaxis]).reshape(len(x), -1)
        robust = cluster_robust(
            rows, clusters, scores, information, np.eye(len(coefficients)), share_noise, deviations, exact
        )
        robust = robust.transformed(coefficients)
        return LeastSquares(matrix.T.ravel(), robust.covariance, influence, robust)
    covariance = score_covariance(rows, scores)
    if sampling.stratum is None:  # HC1: n/(n - P) in the place of n/(n - 1)
        covariance = covariance * (rows.n - 1) / (rows.n - x.shape[1])
    covariance = coefficients @ larger(covariance, randomized(fitted)) @ coefficients.T
    noise = noise_of_people(rows, device)
    # Errors have the floor of the randomization already.
    simple = Floor(np.zeros_like(covariance), simple_covariance(rows, influence))
    raised = simple.where_alike(coefficients @ exact @ coefficients.T, covariance)
    floor = None if sampling.stratum is None and raised is simple else raised
    if noise is None:
        return LeastSquares(matrix.T.ravel(), covariance, influence, floor=floor)
    noise = coefficients @ noise @ coefficients.T
    return LeastSquares(matrix.T.ravel(), covariance + noise, influence, noise=noise, floor=floor)


def _noise(z: Array, columns: Array, weights: Array) -> Array:
    """Unbiased estimate of the noise of reports in the scores of linear shares: sums of debiased z times columns."""
    (_, f), width = z.shape, columns.shape[1]
    total = np.empty((f, width, f, width))
    for k, m in np.ndindex(f, f):
        total[k, :, m] = (columns.T * (weights * (z[:, k] * z[:, m] - (k == m) * z[:, k]))) @ columns
    return total.reshape(f * width, f * width)
