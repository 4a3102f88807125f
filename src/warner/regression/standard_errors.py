r"""Standard errors: observed and expected information, outer products of scores, robust (sandwich) covariance.

`observed` is the inverse of I, minus the second derivative; `expected` that of F, its mean; `opg` that of G, the sum of
outer products of the scores. `robust` is :math:`I^{-1} B I^{-1}` with :math:`B = \frac{n}{n-1}\sum_n w_n^2 s_n s_n'`;
with strata, the same about the mean within each stratum, added up. Clusters are in `cluster_robust`; what a part
sampled takes away, and what it leaves, is in `finite_populations`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from warner.regression.cluster_robust import cluster_robust, information_by_cluster
from warner.regression.newton import FLAT_EIGENVALUE, eigensystem
from warner.regression.variance_floors import Floor, simple_covariance

if TYPE_CHECKING:
    from warner.arrays import Array
    from warner.regression.cluster_robust import ClusterRobust
    from warner.regression.data import Observations
    from warner.regression.likelihood import Likelihood
    from warner.regression.newton import Objective

Errors: TypeAlias = Literal["observed", "expected", "opg", "robust"]
ERRORS: tuple[str, ...] = get_args(Errors)


def default_errors(rows: Observations) -> str:
    """Name the kind of errors to take unless another is asked for: robust with sampling weights, clusters or strata."""
    return "observed" if rows.sampling.simple else "robust"


def check_errors(errors: str, rows: Observations) -> None:
    """Refuse a kind of errors that does not exist, or that would ignore how people were sampled."""
    if errors not in ERRORS:
        raise ValueError(f"errors must be one of {', '.join(ERRORS)}, but got {errors!r}")
    if errors != "robust" and not rows.sampling.simple:
        raise ValueError(
            "errors must be 'robust' with sampling weights, clusters or strata, which the others ignore, "
            f"but got {errors!r}"
        )


def covariance(likelihood: Likelihood, b: Array, errors: str, *, flat: bool = False) -> Array:
    """Give the covariances of the coefficients at a maximum; NaN where the information is singular.

    With `flat`, directions in which the likelihood is flat are left out: what they do not touch keeps its covariances.
    People must not be clustered; for clusters see `clustered`.
    """
    if errors == "expected":
        return inverse_information(likelihood.expected(b), likelihood, flat=flat)
    if errors == "opg":
        return inverse_information(likelihood.outer(b), likelihood, flat=flat)
    observed = inverse_information(likelihood.at(b).information, likelihood, flat=flat)
    if errors == "observed":
        return observed
    return np.asarray(observed @ score_covariance(likelihood.rows, likelihood.scores(b)) @ observed)


def clustered(likelihood: Likelihood, b: Array, *, flat: bool = False) -> ClusterRobust | None:
    """Give the errors of coefficients at a maximum where people are clustered; None where they are not.

    A cluster's information is the expected one; where reports cannot be listed, that of the outer products. All is in
    unit directions of the columns: of columns that are far from 0, the information in what varies would seem nothing.
    """
    rows = likelihood.rows
    if rows.sampling.cluster is None:
        return None
    clusters = rows.sampling.clusters
    listed = all(table is not None for table in rows.tables)
    curvature = likelihood.expected_curvature(b) if listed else likelihood.outer_curvature(b)
    information = information_by_cluster(clusters, rows.x, rows.weight * curvature, likelihood.mapping)
    inverse = inverse_information(likelihood.at(b).information, likelihood, flat=flat)
    basis, root = likelihood.basis, np.linalg.inv(likelihood.basis)
    told = None if information is None else basis.T @ information @ basis
    scores, deviations = (likelihood.scores(b, which) @ basis for which in (None, clusters))
    return cluster_robust(rows, clusters, scores, told, root @ inverse @ root.T, deviations=deviations).of(basis)


def floor_of_strata(likelihood: Likelihood, b: Array, *, flat: bool = False) -> Floor | None:
    """Compute the floor of the covariances of coefficients in strata of respondents who were drawn alone."""
    rows = likelihood.rows
    if rows.sampling.stratum is None or rows.sampling.cluster is not None:
        return None
    inverse = inverse_information(likelihood.at(b).information, likelihood, flat=flat)
    noise = likelihood.assembled(rows.square * likelihood.device_curvature(b))
    return Floor(noise, simple_covariance(rows, likelihood.scores(b))).turned(inverse)


def inverse_information(information: Array, likelihood: Objective, *, flat: bool = False) -> Array:
    """Invert an information, in units of the columns; NaN where it cannot be done."""
    scale = np.outer(likelihood.scale, likelihood.scale)
    if flat:
        weight = likelihood.total_weight
        values, vectors = eigensystem(information, likelihood)
        told = values > FLAT_EIGENVALUE
        return np.asarray((vectors[told].T / values[told]) @ vectors[told] / weight)
    try:
        root = np.linalg.cholesky(information / scale)
    except np.linalg.LinAlgError:
        return np.full_like(information, np.nan)
    half = np.linalg.solve(root, np.eye(len(root)))
    return np.asarray(half.T @ half / scale)


def score_covariance(rows: Observations, scores: Array) -> Array:
    """Give B: the covariances of the sum of weighted scores, from a person's of each row, (n, coefficients).

    People must not be clustered. Of a finite population this is the part that was not sampled.
    """
    if rows.sampling.stratum is not None:
        return _within_strata(rows, scores)
    n = rows.n
    return np.asarray(rows.sampling.kept[0] * n / (n - 1) * (scores.T * rows.square) @ scores)


def _within_strata(rows: Observations, scores: Array) -> Array:
    """Add up the strata where each person is a cluster: a row stands for several people with the same score."""
    assert rows.sampling.stratum is not None
    total = np.zeros((scores.shape[1], scores.shape[1]))
    for which in range(rows.sampling.strata):
        chosen = rows.sampling.stratum == which
        n = float(rows.people[chosen].sum())
        part = scores[chosen]
        mean = rows.weight[chosen] @ part / n
        scatter = (part.T * rows.square[chosen]) @ part - n * np.outer(mean, mean)
        total += rows.sampling.kept[which] * n / (n - 1) * scatter
    return total
