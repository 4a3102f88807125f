r"""Standard errors: observed and expected information, outer products of scores, robust (sandwich) covariance.

See the page "Regression on covariates" for the equations of all kinds of errors, degrees of freedom and floors.

**Clusters** (CR2 [1]_). To first order :math:`\hat b - b = I^{-1}\sum_g u_g(b)`, with :math:`u_g` the sum of the
weighted scores of cluster g, and :math:`F = \sum_g F_g` their information. In coordinates in which F is the unit matrix
(:math:`L'FL = 1`, :math:`v_g = L'u_g`), leverages :math:`J_g = L'F_gL` sum to one, and

.. math:: V = T \sum_g \tfrac{h}{h-1}\, B_g (v_g - \bar v)(v_g - \bar v)' B_g\, T', \qquad
          B_g = \big[1 - \tfrac{h}{h-1}(J_g - \bar J)\big]^{-1/2}, \qquad T = I^{-1} F L,

with h the number of clusters of the stratum of g, and means over it. The power -1 in place of -1/2 would be the
jackknife of whole clusters within strata, the power 0 the plain sandwich, which is too small.

**Small samples.** Information is counted in direct answers: for all coefficients `Regression.effective`, for one
quantity h(b) in proportion to the changes :math:`m_n = x_n'V\nabla h` of the predictors when the quantity moves. The
number of respondents is :math:`(\sum w m^2)^2 / \sum w^2 m^4`, and each report counts as the fraction of a direct
answer that the expected information has in that direction. For the coefficient of a level these are the respondents of
that level. Likelihood ratios of a factor with four levels rejected a true null at 5 % in 15 % of surveys with reports
as informative as 25 direct answers, in 8 % at 79, and in 5.5 % at 121. For linear models the respondents that determine
a quantity are counted: intervals for 20 to 100 respondents missed in up to 9 % (two answers, odds of 9 : 1,
enumerated), in up to 7 % for more.

References
----------
.. [1] R. M. Bell and D. F. McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage
   samples", Survey Methodology 28 (2002), 169-181.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from warner.regression.newton import FLAT_EIGENVALUE, Objective, eigensystem
from warner.regression.variance_floors import (
    Floor,
    about_clusters,
    floor_notes,
    floor_of_clusters,
    not_negative,
    remaining,
    simple_covariance,
)
from warner.reports.samples import RESPONDENT, Clusters
from warner.results import StandardErrors
from warner.text import check_choice, enumerated, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Integers, Mask
    from warner.regression.data import Observations
    from warner.regression.likelihood import Likelihood
    from warner.regression.regressions import Regression
    from warner.regression.variance_floors import Device, Remaining


# Cluster robust


LEAST_INFORMATION_LEFT = 1e-6  # of a direction without one cluster: with less, this cluster alone determines it
LEAST_INFORMATION = 1e-10  # part of the information of a direction below which there is none
DOMINANT_CLUSTER = 0.5  # of the information: a cluster with more is said to have most of it
ROUGH_FREEDOM = 4.0  # degrees of freedom below which even these intervals are rough (Pustejovsky and Tipton)
NORMAL_FREEDOM = 40.0  # degrees of freedom below which the normal law is so far off that t is spoken of
MOST_LEVERAGE_NUMBERS = 2**25  # in the matrices of all clusters, of respondents a quarter; else no leverages
ROWS_FOR_PRODUCT = 16  # of a cluster on average, from which on its information is a product of matrices
CLUSTER_NUMBERS_AT_ONCE = 2**20  # numbers that are worked on at a time


def information_by_cluster(
    clusters: Clusters, x: Array, curvature: Array, mapping: Array | None = None
) -> Array | None:
    r"""Compute :math:`R'\big(\sum_{n \in g} c_n \otimes x_nx_n'\big)R` of each cluster; None if there are too many.

    Of columns x, (n, P), and a weight or a matrix in the predictors for each row, (n,) or (f, f, n).
    """
    curvature = curvature if curvature.ndim == 3 else curvature[np.newaxis, np.newaxis]
    f, (n, width) = len(curvature), x.shape
    size = f * width
    most = MOST_LEVERAGE_NUMBERS // (4 if clusters.unit == RESPONDENT else 1)
    if clusters.number * max(size, 1 if mapping is None else mapping.shape[1]) ** 2 > most:
        return None
    order = np.argsort(clusters.cluster, kind="stable")
    starts = np.searchsorted(clusters.cluster[order], np.arange(clusters.number + 1))
    x, curvature = x[order], curvature[:, :, order]
    result = np.zeros((clusters.number, f, width, f, width))
    if n >= ROWS_FOR_PRODUCT * clusters.number:
        for g, (start, end) in enumerate(pairwise(starts.tolist())):
            part = x[start:end]
            for k, m in np.ndindex(f, f):
                result[g, k, :, m] = (part.T * curvature[k, m, start:end]) @ part
    else:
        step = max(1, CLUSTER_NUMBERS_AT_ONCE // (ROWS_FOR_PRODUCT * size**2))  # clusters at a time
        for g in range(0, clusters.number, step):
            indices = starts[g : g + step + 1]
            part = x[indices[0] : indices[-1]]
            each = np.einsum("kmi,ip,iq->ikpmq", curvature[:, :, indices[0] : indices[-1]], part, part)
            result[g : g + step] = np.add.reduceat(each, indices[:-1] - indices[0], axis=0)
    square = result.reshape(clusters.number, size, size)
    return square if mapping is None else np.asarray(mapping.T @ square @ mapping)


@dataclass(frozen=True, eq=False)
class ClusterRobust:
    """Cluster-robust standard errors of coefficients; coordinates are such that the information is the unit matrix.

    Without leverages, whose matrices may be too large, errors are those of the plain sandwich, with as many degrees of
    freedom as there are clusters less strata.
    """

    clusters: Clusters
    effect: Array  # T: derivative of the coefficients in the sum of scores, (coefficients, r)
    scores: Array  # v, in these coordinates, less the mean of the stratum, (clusters, r)
    unit: Array  # L: the coefficients along each of the coordinates, (coefficients, r)
    leverage: Array | None  # J: the fraction of the information of each cluster, (clusters, r, r)
    kept: Array | None = None  # fraction of each cluster's stratum that was not sampled; None, if not known, is 1
    remaining: Remaining | None = None  # variance that remains in a finite population
    floor: Floor | None = None  # least covariances of the sum of scores; None where respondents are the clusters

    @cached_property
    def _sizes(self) -> Array:
        """Number h of clusters in the stratum of each cluster."""
        stratum = self.clusters.stratum
        return np.bincount(stratum)[stratum].astype(np.float64)

    @cached_property
    def _factors(self) -> Array:
        """Roots of h/(h - 1) times the fraction of the stratum that was not sampled, (clusters, 1)."""
        kept = 1.0 if self.kept is None else self.kept
        return np.asarray(np.sqrt(kept * self._sizes / (self._sizes - 1))[:, np.newaxis])

    @cached_property
    def _remaining_covariance(self) -> Array:
        width = self.effect.shape[1]
        return np.zeros((width, width)) if self.remaining is None else self.remaining.matrix()

    @cached_property
    def _strata(self) -> list[Integers]:
        """Clusters of each stratum, as arrays (strata, h) of strata of equal size."""
        order = np.argsort(self.clusters.stratum, kind="stable")
        sizes = np.bincount(self.clusters.stratum)
        start = np.cumsum(sizes) - sizes
        step = max(1, CLUSTER_NUMBERS_AT_ONCE // (2 * self.scores.shape[1]) ** 2)  # strata at a time
        alike = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
        blocks = [some[first : first + step] for some in alike for first in range(0, len(some), step)]
        return [order[start[some][:, np.newaxis] + np.arange(sizes[some[0]])] for some in blocks]

    @cached_property
    def _means(self) -> Array:
        """Mean leverage of each stratum."""
        assert self.leverage is not None
        return means_by_stratum(self.clusters, self.leverage)

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        r"""Eigenvalues and eigenvectors of :math:`1 - \frac{h}{h-1}(J_g - \bar J)`."""
        assert self.leverage is not None
        away = self.leverage - self._means[self.clusters.stratum]
        factor = (self._sizes / (self._sizes - 1))[:, np.newaxis, np.newaxis]
        values, vectors = np.linalg.eigh(np.eye(away.shape[1]) - factor * away)
        return values, vectors

    @cached_property
    def _roots(self) -> Array:
        """B, which is zero in directions that one cluster alone determines: its score is zero there at the estimate."""
        values, vectors = self._spectrum
        inverse = 1 / np.sqrt(np.where(values > LEAST_INFORMATION_LEFT, values, np.inf))
        return np.asarray((vectors * inverse[:, np.newaxis]) @ vectors.swapaxes(1, 2))

    @cached_property
    def _alone(self) -> Array:
        """Directions that one cluster alone determines, as rows, except for clusters of fully sampled strata."""
        if self.leverage is None:
            return np.zeros((0, self.effect.shape[1]))
        varies = np.flatnonzero(self._factors[:, 0] > 0)
        if len(varies) == len(self.leverage):
            values, vectors = self._spectrum
            return np.asarray(vectors.swapaxes(1, 2)[values <= LEAST_INFORMATION_LEFT])
        leverage = self.leverage[varies]
        values, vectors = np.linalg.eigh(leverage.sum(axis=0))
        seen = values > LEAST_INFORMATION_LEFT
        scaled = vectors[:, seen] / np.sqrt(values[seen])  # in these units, parts of clusters add up to one
        parts, turns = np.linalg.eigh(scaled.T @ leverage @ scaled)
        found = turns.swapaxes(1, 2)[parts >= 1 - LEAST_INFORMATION_LEFT] @ scaled.T
        return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))

    @cached_property
    def _adjusted(self) -> Array:
        """Adjusted scores, whose outer products sum to the covariances."""
        scores = self.scores * self._factors
        return scores if self.leverage is None else np.asarray(np.einsum("gij,gj->gi", self._roots, scores))

    @cached_property
    def covariance(self) -> Array:
        half = self._adjusted @ self.effect.T
        return np.asarray(half.T @ half + self.effect @ self._remaining_covariance @ self.effect.T)

    @property
    def sandwich(self) -> Array:
        """Covariances by the plain sandwich without leverage, as in most survey software."""
        half = self.scores * self._factors @ self.effect.T
        return np.asarray(half.T @ half + self.effect @ self._remaining_covariance @ self.effect.T)

    @property
    def known_covariance(self) -> Array:
        """Covariances, NaN for coefficients that rest on one cluster alone."""
        unknown = self.unknown(np.eye(len(self.effect)))
        return np.where(unknown[:, np.newaxis] | unknown, np.nan, self.covariance)

    @cached_property
    def largest_part(self) -> float:
        """Largest fraction of the information in any direction that one cluster has."""
        if self.leverage is None or not self.leverage.size:
            return 0.0
        return float(np.linalg.eigvalsh(self.leverage)[:, -1].max())

    @property
    def dominance(self) -> list[str]:
        """Warning if one cluster has most of the information in some direction: its standard error may be too small."""
        if self.largest_part <= DOMINANT_CLUSTER:
            return []
        part = min(100 * self.largest_part, 100)
        unit = self.clusters.unit
        warning = (
            f"One {unit} has {part:.0f} % of the information on some of the coefficients: the sample cannot show how "
            f"much {unit}s like it differ; intervals may cover less often than their level, and p-values be too small."
        )
        return [warning]

    def unknown(self, contrasts: Array) -> Mask:
        """Return True for contrasts, (..., coefficients), that rest on one cluster alone and have no standard error."""
        along = contrasts @ self.unit
        lost = ((along @ self._alone.T) ** 2).sum(axis=-1)
        return np.asarray(lost > LEAST_INFORMATION_LEFT * (along**2).sum(axis=-1))

    def accuracy(self, contrasts: Array) -> StandardErrors:
        """Return standard errors and degrees of freedom of contrasts, (..., coefficients)."""
        along = contrasts @ self.effect
        between = ((along @ self._adjusted.T) ** 2).sum(axis=-1)
        variance = between + ((along @ self._remaining_covariance) * along).sum(axis=-1)
        unknown = self.unknown(contrasts)
        errors = np.where(unknown, np.nan, np.sqrt(variance))
        freedom = self._freedom_of_each(along.reshape(errors.size, along.shape[-1])).reshape(errors.shape)
        floor = None if self.floor is None else np.where(unknown, np.nan, self.floor.errors(along, variance))
        return StandardErrors(errors, freedom, floor)

    def raised(self, contrasts: Array) -> Array:
        """Return the covariances of contrasts, the columns of an array, at least those of the floor."""
        along = self.effect.T @ contrasts
        covariance = contrasts.T @ self.covariance @ contrasts
        return covariance if self.floor is None else self.floor.turned(along).raised(covariance)

    def _freedom_of_each(self, along: Array) -> Array:
        """Return the degrees of freedom of each contrast, (contrasts, r), in blocks."""
        length = np.sqrt((along**2).sum(axis=1))
        result = np.where(np.isfinite(length), float(self.clusters.degrees_of_freedom), np.nan)
        if self.leverage is None or not self.scores.size:  # every estimate is infinite
            return result
        usable = np.flatnonzero(np.isfinite(length) & (length > 0))
        step = max(1, MOST_LEVERAGE_NUMBERS // self.scores.size)
        for start in range(0, len(usable), step):
            block = usable[start : start + step]
            w, a = self._weights(along[block].T / length[block])
            result[block] = [_wishart_freedom(self, w[:, :, i], a[:, :, i]) for i in np.arange(len(block))[:, None]]
        return result

    def _weights(self, along: Array) -> tuple[Array, Array]:
        """Return w and a of `_wishart_freedom` for contrasts along the columns of an array (r, q)."""
        assert self.leverage is not None
        w = self._factors[:, np.newaxis] * (self._roots @ along)
        return w, self.leverage @ w

    def transformed(self, slopes: Array) -> ClusterRobust:
        """Return the errors of quantities with these derivatives in the coefficients, (quantities, coefficients)."""
        return replace(self, effect=slopes @ self.effect, unit=slopes @ self.unit)

    def with_mean(self, slopes: Array, sums: Array, parts: Array, variance: float, influence: Array) -> ClusterRobust:
        """Add the sampling of a mean over respondents to a quantity with the derivatives `slopes` in the coefficients.

        The weighted influence of respondents has `sums` in clusters, which have these `parts` of all weight, and each
        respondent of a row has an `influence`. The `variance` of the mean is that for respondents independent of each
        other and of the errors of the coefficients.
        """
        clusters, width, deviation = self.clusters, self.scores.shape[1], np.sqrt(variance)
        centred = (sums - means_by_stratum(clusters, sums)[clusters.stratum]) / (deviation or 1.0)
        leverage = None
        if self.leverage is not None:
            leverage = np.zeros((clusters.number, width + 1, width + 1))
            leverage[:, :width, :width], leverage[:, width, width] = self.leverage, parts
        effect, unit = (np.append(slopes @ matrix, deviation)[np.newaxis] for matrix in (self.effect, self.unit))
        left = None if self.remaining is None else self.remaining.with_column(influence / (deviation or 1.0))
        scores = np.column_stack([self.scores, centred])
        floor = None if self.floor is None else self.floor.padded()
        return ClusterRobust(clusters, effect, scores, unit, leverage, self.kept, left, floor)

    def freedom(self, contrasts: Array) -> float:
        """Return the joint degrees of freedom of q contrasts, the columns of an array (coefficients, q)."""
        most = float(self.clusters.degrees_of_freedom)
        along = self.effect.T @ contrasts
        if not np.isfinite(along).all():
            return np.nan
        if self.leverage is None or not along.any():
            return most
        # In units in which the contrasts would be uncorrelated.
        values, vectors = np.linalg.eigh(along.T @ along)
        if values[0] <= LEAST_INFORMATION * values[-1]:
            return np.nan
        return _wishart_freedom(self, *self._weights(along @ vectors / np.sqrt(values)))

    def notes(self, names: Sequence[str], finite: Mask | None = None) -> tuple[str, ...]:
        """Return sentences on the intervals of coefficients with these names, for those that are finite."""
        every = np.eye(len(self.effect))
        known = np.ones(len(every), dtype=bool) if finite is None else finite
        unknown, accuracy = self.unknown(every), self.accuracy(every)
        assert accuracy.freedom is not None
        lost = [name for name, alone in zip(names, unknown & known, strict=True) if alone]
        floored = [name for name, which in zip(names, accuracy.floored() & known, strict=True) if which]
        return (*self.sentences(accuracy.freedom[~unknown & known], lost), *floor_notes(floored))

    def sentences(self, freedom: Array, names: Sequence[str] = ()) -> list[str]:
        """Describe intervals with these degrees of freedom; `names` are of estimates that rest on one cluster alone."""
        known, unit, lines = freedom[np.isfinite(freedom)], self.clusters.unit, []
        least, most = (float(known.min()), float(known.max())) if known.size else (np.inf, np.inf)
        if least < NORMAL_FREEDOM:
            between = f"{least:.1f}" if f"{least:.1f}" == f"{most:.1f}" else f"{least:.1f} to {most:.1f}"
            lines.append(
                f"{unit.capitalize()}s are few or unequal: standard errors are bias-reduced (CR2), and intervals and "
                f"p-values are those of Student's t with {between} degrees of freedom (Satterthwaite)."
            )
        if least < ROUGH_FREEDOM:
            lines.append(
                f"With fewer than {ROUGH_FREEDOM:.0f} degrees of freedom, intervals and p-values are rough: they rest "
                f"on very few {unit}s."
            )
        lines += self.dominance
        if names:
            the, rest, have = ("", "rests", "it has") if len(names) == 1 else ("s", "rest", "they have")
            named = f"The estimate{the} of {enumerated(list(names))}"
            lines.append(f"{named} {rest} on one {unit} alone: {have} no standard error.")
        if self.leverage is None:
            lines.append(f"There are too many {unit}s and coefficients to look at the leverage of each {unit}.")
        return lines


def cluster_robust(
    rows: Observations,
    clusters: Clusters,
    scores: Array,
    information: Array | None,
    inverse: Array,
    device: Device | None = None,
    deviations: Array | None = None,
    exact: Array | None = None,
) -> ClusterRobust:
    """Compute the cluster-robust errors of an estimate from scores of respondents, (n, coefficients), unweighted.

    Each cluster has a positive information matrix, (clusters, coefficients, coefficients); `inverse` is that of the
    derivative of the sum of all scores. `device` is the noise of the randomization in scores, for finite populations.
    `deviations` are scores less the means of clusters in the linear predictors; by default less the means of the
    scores. `exact` are the least covariances of the sum of scores where there are neither residuals nor noise.
    """
    sums = np.zeros((clusters.number, scores.shape[1]))
    np.add.at(sums, clusters.cluster, scores * rows.weight[:, np.newaxis])
    robust, left = of_sums(clusters, sums, information, inverse), remaining(rows, scores, device)
    if clusters.unit != RESPONDENT:
        about = about_clusters(clusters, rows.weight, scores) if deviations is None else deviations
        noise = np.zeros((scores.shape[1], scores.shape[1]))
        if device is not None:
            noise = not_negative(device(rows.square))
        floor = floor_of_clusters(rows, clusters, scores, about, noise)
        floor = floor if exact is None else floor.where_alike(exact, floor.least)
        robust = replace(robust, floor=floor if robust.leverage is None else floor.turned(robust.unit))
    if left is None or rows.sampling.sampled is None:
        return robust
    if robust.leverage is not None:
        left = left._replace(scores=scores @ robust.unit, device=robust.unit.T @ left.device @ robust.unit)
    return replace(robust, kept=1 - rows.sampling.sampled[clusters.stratum], remaining=left)


def of_sums(clusters: Clusters, sums: Array, information: Array | None, inverse: Array) -> ClusterRobust:
    """Compute cluster-robust errors from the sum of scores of each cluster."""
    centred = sums - means_by_stratum(clusters, sums)[clusters.stratum]
    if information is None:
        return ClusterRobust(clusters, inverse, centred, inverse, None)
    total = information.sum(axis=0)
    scale = np.sqrt(np.maximum(np.diagonal(total), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(total / np.outer(scale, scale))
    seen = values > LEAST_INFORMATION * values[-1]
    unit = vectors[:, seen] / np.sqrt(values[seen]) / scale[:, np.newaxis]  # L
    effect = inverse @ total @ unit
    if np.isfinite(effect).all():  # without the directions that the inverse leaves out, since an estimate is infinite
        _, lengths, rows = np.linalg.svd(scale[:, np.newaxis] * effect, full_matrices=False)
        informative = rows[lengths > LEAST_INFORMATION * lengths.max(initial=0)].T
        unit, effect = unit @ informative, effect @ informative
    return ClusterRobust(clusters, effect, centred @ unit, unit, unit.T @ information @ unit)


def means_by_stratum(clusters: Clusters, values: Array) -> Array:
    sizes = np.bincount(clusters.stratum)
    result = np.zeros((len(sizes), *values.shape[1:]))
    np.add.at(result, clusters.stratum, values)
    return np.asarray(result / sizes.reshape(-1, *[1] * (values.ndim - 1)))


def _wishart_freedom(robust: ClusterRobust, w: Array, a: Array) -> float:
    r"""Degrees of freedom of the Wishart matrix with the same mean and total variance of its entries.

    The matrix is a sum of outer products of :math:`p_g`, q contrasts of each cluster's adjusted score, in the working
    model. With :math:`w_g = \sqrt{h/(h-1)}\,B_g\ell`, :math:`a_g = J_gw_g`, :math:`y_g = a_g - \bar Jw_g` and
    :math:`e_g = (\bar Jw_g/2 - a_g)/h`, the covariance of :math:`p_g` and :math:`p_k` is

    .. math:: S_{gk} = [g = k]\, w_g'a_g + [\text{same stratum}]\,(e_g'w_k + w_g'e_k) - y_g'y_k,

    a diagonal and matrices of low rank: sums of products of S need sums over clusters, not over pairs.
    """
    mean = np.empty_like(w)
    for part in robust._strata:
        mean[part] = robust._means[robust.clusters.stratum[part[:, :1]]] @ w[part]
    e, y = (mean / 2 - a) / robust._sizes[:, np.newaxis, np.newaxis], a - mean
    left, right = np.concatenate([w, e], axis=1), np.concatenate([e, w], axis=1)
    diagonal = w.swapaxes(1, 2) @ a  # (clusters, q, q)
    between = left.swapaxes(1, 2) @ right - y.swapaxes(1, 2) @ y

    def summed(first: Array, second: Array) -> Array:
        """Return the sums over each stratum of outer products, of all pairs of contrasts."""
        return np.asarray(np.einsum("sgai,sgbj->ijsab", first, second, optimize=True))

    every = summed(y[np.newaxis], y[np.newaxis])
    strata = [
        (summed(right[part], left[part]), summed(right[part], y[part]), summed(y[part], left[part]))
        for part in robust._strata
    ]

    def trace(i: int, j: int, k: int, m: int) -> float:
        """Return the trace of the product of the covariances of contrasts i and j and those of k and m."""
        total = (
            diagonal[:, i, j] @ diagonal[:, k, m]
            + diagonal[:, i, j] @ between[:, k, m]
            + diagonal[:, k, m] @ between[:, i, j]
        )
        total += _traced(every[m, i], every[j, k])
        for across, down, up in strata:
            total += _traced(across[m, i], across[j, k])
            total -= _traced(down[j, k], up[m, i]) + _traced(down[m, i], up[j, k])
        return float(total)

    expected, most = (diagonal + between).sum(axis=0), float(robust.clusters.degrees_of_freedom)
    variance = sum(trace(i, i, j, j) + trace(i, j, i, j) for i, j in np.ndindex(expected.shape))
    eta = (np.trace(expected) ** 2 + np.trace(expected @ expected)) / variance if variance > 0 else most
    return float(np.clip(eta, 1.0, most))


def _traced(first: Array, second: Array) -> float:
    """Sum of the traces of products of matrices, (strata, a, b) and (strata, b, a)."""
    return float(np.sum(first * second.swapaxes(1, 2)))


# Standard errors


ERRORS = ("observed", "expected", "opg", "robust")


def checked_errors(errors: str | None, rows: Observations) -> str:
    """Return the kind of standard errors, by default from the observed information or, in complex samples, robust."""
    if errors is None:
        return "observed" if rows.sampling.simple else "robust"
    check_choice("errors", errors, ERRORS)
    if errors != "robust" and not rows.sampling.simple:
        raise ValueError(
            "errors must be 'robust' with sampling weights, clusters or strata, which the others ignore, "
            f"but got {errors!r}"
        )
    return errors


def covariance(likelihood: Likelihood, b: Array, errors: str, *, flat: bool = False) -> Array:
    """Covariances of the coefficients at a maximum, without clusters; NaN where the information is singular.

    With `flat`, directions in which the likelihood is flat are left out, which leaves the others as they are.
    """
    if errors == "expected":
        return inverse_information(likelihood.expected(b), likelihood, flat=flat)
    if errors == "opg":
        return inverse_information(likelihood.outer(b), likelihood, flat=flat)
    observed = inverse_information(likelihood.expansion(b).information, likelihood, flat=flat)
    if errors == "observed":
        return observed
    return np.asarray(observed @ score_covariance(likelihood.rows, likelihood.scores(b)) @ observed)


def clustered(likelihood: Likelihood, b: Array, *, flat: bool = False) -> ClusterRobust | None:
    """Cluster-robust errors of coefficients at a maximum; None without clusters.

    The information of a cluster is the expected one; where reports cannot be listed, that of the outer products. Unit
    directions of the columns are used: for columns far from 0, the information in their variation would be lost.
    """
    rows = likelihood.rows
    if rows.sampling.cluster is None:
        return None
    clusters = rows.sampling.clusters
    listed = all(table is not None for table in rows.tables)
    curvature = likelihood.expected_curvature(b) if listed else likelihood.outer_curvature(b)
    information = information_by_cluster(clusters, rows.x, rows.weight * curvature, likelihood.mapping)
    inverse = inverse_information(likelihood.expansion(b).information, likelihood, flat=flat)
    basis, root = likelihood.basis, np.linalg.inv(likelihood.basis)
    scaled = None if information is None else basis.T @ information @ basis
    scores, deviations = (likelihood.scores(b, which) @ basis for which in (None, clusters))
    return cluster_robust(rows, clusters, scores, scaled, root @ inverse @ root.T, deviations=deviations).transformed(
        basis
    )


def floor_of_strata(likelihood: Likelihood, b: Array, *, flat: bool = False) -> Floor | None:
    """Floor of the covariances of coefficients in strata without clusters."""
    rows = likelihood.rows
    if rows.sampling.stratum is None or rows.sampling.cluster is not None:
        return None
    inverse = inverse_information(likelihood.expansion(b).information, likelihood, flat=flat)
    noise = likelihood.assembled(rows.square * likelihood.device_curvature(b))
    return Floor(noise, simple_covariance(rows, likelihood.scores(b))).turned(inverse)


def inverse_information(information: Array, likelihood: Objective, *, flat: bool = False) -> Array:
    scale = np.outer(likelihood.scale, likelihood.scale)
    if flat:
        weight = likelihood.total_weight
        values, vectors = eigensystem(information, likelihood)
        informative = values > FLAT_EIGENVALUE
        return np.asarray((vectors[informative].T / values[informative]) @ vectors[informative] / weight)
    try:
        root = np.linalg.cholesky(information / scale)
    except np.linalg.LinAlgError:
        return np.full_like(information, np.nan)
    half = np.linalg.solve(root, np.eye(len(root)))
    return np.asarray(half.T @ half / scale)


def score_covariance(rows: Observations, scores: Array) -> Array:
    """Covariances B of the sum of weighted scores, (n, coefficients), without clusters.

    Of a finite population this is the fraction that was not sampled.
    """
    if rows.sampling.stratum is not None:
        return _within_strata(rows, scores)
    n = rows.n
    return np.asarray(rows.sampling.kept[0] * n / (n - 1) * (scores.T * rows.square) @ scores)


def _within_strata(rows: Observations, scores: Array) -> Array:
    """Sum of the covariances within strata without clusters; a row is several respondents with the same score."""
    assert rows.sampling.stratum is not None
    total = np.zeros((scores.shape[1], scores.shape[1]))
    for stratum in range(rows.sampling.strata):
        selected = rows.sampling.stratum == stratum
        n = float(rows.people[selected].sum())
        part = scores[selected]
        mean = rows.weight[selected] @ part / n
        scatter = (part.T * rows.square[selected]) @ part - n * np.outer(mean, mean)
        total += rows.sampling.kept[stratum] * n / (n - 1) * scatter
    return total


# Small samples


ENOUGH_DIRECT_ANSWERS = 100  # of all people together, from which on intervals and tests keep their level
ENOUGH_FOR_ONE_QUANTITY = 30  # the same for one coefficient, share or effect
MOST_ROWS_TIMES_QUANTITIES = 10**8  # rows of the data times quantities, beyond which only all together are looked at
DOUBTFUL_INTERVALS = "intervals may cover less often than their level, and p-values should not be relied on"


def effective_answers(fit: Regression, slopes: Array) -> Array:
    """Compute the number of direct answers with the same information on each quantity."""
    rows, likelihood = fit.model_data.observations, fit.likelihood
    direct, report = likelihood.row_information(fit.finite_coefficients)  # (n, f, f)
    flat = slopes.reshape(-1, slopes.shape[-1])
    result = np.zeros(len(flat))
    for index, slope in enumerate(flat):
        moved = likelihood.predictor_change(fit.finite_covariance @ slope)  # (f, n)
        square = (moved**2).sum(axis=0)
        if not np.isfinite(square).all() or not square.any():
            continue
        square /= square.max()
        worth, whole = (np.einsum("fn,nfg,gn->n", moved, one, moved) for one in (report, direct))
        part = np.divide(worth, whole, out=np.zeros_like(worth), where=whole > 0)
        result[index] = (rows.weight @ square) * (rows.weight @ (square * part)) / (rows.square @ square**2)
    return result.reshape(slopes.shape[:-1])


def small_sample_notes(fit: Regression, names: Sequence[str] = (), slopes: Array | None = None) -> list[str]:
    """Return warnings where reports carry little information: on all coefficients, or on named quantities."""
    if fit.penalty is not None:
        return []
    if fit.effective is not None and fit.effective < ENOUGH_DIRECT_ANSWERS:
        direct = f"{fit.effective:,.0f} direct answers, fewer than {ENOUGH_DIRECT_ANSWERS}"
        return [f"The reports are as informative as {direct}: {DOUBTFUL_INTERVALS}."]
    if slopes is None or not len(names) or len(names) * len(fit.model_data.observations.x) > MOST_ROWS_TIMES_QUANTITIES:
        return []
    if fit.effective is None:
        few = _determining_respondents(fit, slopes) < ENOUGH_DIRECT_ANSWERS
        about = f"fewer than {ENOUGH_DIRECT_ANSWERS} respondents are informative"
    else:
        few = effective_answers(fit, slopes) < ENOUGH_FOR_ONE_QUANTITY
        about = f"the reports are less informative than {ENOUGH_FOR_ONE_QUANTITY} direct answers"
    lacking = enumerated([printable(name) for name, which in zip(names, few.tolist(), strict=True) if which])
    return [f"About {lacking} {about}: there {DOUBTFUL_INTERVALS}."] if few.any() else []


def _determining_respondents(fit: Regression, slopes: Array) -> Array:
    """Compute the number of respondents that determine each quantity of a linear model."""
    rows = fit.model_data.observations
    inverse = np.linalg.inv((rows.x.T * rows.weight) @ rows.x)
    result = np.zeros(len(slopes))
    for index, slope in enumerate(slopes):
        square = ((slope.reshape(-1, len(inverse)) @ inverse @ rows.x.T) ** 2).sum(axis=0)
        square /= square.max() or 1.0
        result[index] = (rows.weight @ square) ** 2 / max(float(rows.square @ square**2), np.finfo(float).tiny)
    return result


def coefficient_notes(fit: Regression, which: Sequence[int] | None = None) -> list[str]:
    """Warnings for some coefficients, or for all; those at infinity have sentences of their own."""
    infinite = np.zeros(len(fit.coefficients), dtype=bool) if fit.infinity is None else fit.infinity.mask
    finite = [i for i in (range(len(fit.coefficients)) if which is None else which) if not infinite[i]]
    names = coefficient_names(fit)
    return small_sample_notes(fit, [names[i] for i in finite], np.eye(len(fit.finite_coefficients))[finite])


def coefficient_names(fit: Regression) -> list[str]:
    coefficients = fit.specification.coefficients
    several = len({name.answer for name in coefficients}) > 1
    return [printable(str(name) if several else name.term) for name in coefficients]
