r"""Cluster-robust standard errors with few and unequal clusters: CR2, with degrees of freedom for each contrast.

The coefficients solve :math:`\sum_g u_g(b) = 0`, with :math:`u_g` the sum of the weighted scores of the people of
cluster g, and :math:`F = \sum_g F_g` their information. To first order :math:`\hat b - b = I^{-1}\sum_g u_g(b)`, with
I the derivative that the estimate was found with. At the estimate a cluster's own score has been drawn towards zero,
:math:`u_g(\hat b) = u_g - F_g F^{-1} \sum_h u_h`, the more so the more of all information it has. In coordinates in
which F is the unit matrix (:math:`L'FL = 1`, :math:`v_g = L'u_g`), leverages :math:`J_g = L'F_gL` add up to one, and

.. math:: V = T \sum_g \tfrac{h}{h-1}\, B_g (v_g - \bar v)(v_g - \bar v)' B_g\, T', \qquad
          B_g = \big[1 - \tfrac{h}{h-1}(J_g - \bar J)\big]^{-1/2}, \qquad T = I^{-1} F L,

with h the number of clusters of the stratum of g, and means over it. With one stratum this is the bias-reduced
linearization of Bell and McCaffrey [1]_, CR2: for least squares :math:`\sum_g X_g'(1-H_g)^{-1/2}e_ge_g'(1-H_g)^{-1/2}
X_g`, by :math:`X'f(XMX') = f(X'XM)X'` in matrices as small as the number of coefficients. The power -1 in the place of
-1/2 would be the jackknife of whole clusters within strata, the power 0 the plain sandwich, which is too small.

The law of V. If the scores were normal with covariances :math:`J_g` (people independent: the working model), a contrast
:math:`c'Vc` would be a sum of squares of :math:`p_g`, with covariances S between clusters, as variable as
:math:`\chi^2_\nu/\nu` with Satterthwaite's :math:`\nu = (\operatorname{tr} S)^2 / \operatorname{tr} S^2`, and Student's
t has that many degrees of freedom: h - 1 for the mean of h equal clusters, hardly more than 1 if one cluster has most
of the information. Of q contrasts at once, V is like a Wishart matrix with as many degrees of freedom
:math:`\eta` as give its entries the same total variance, and :math:`\frac{\eta-q+1}{\eta q}W` is F with q and
:math:`\eta-q+1` degrees of freedom [2]_.

Of a finite population the terms of a stratum count less, and others are added: see `finite_populations`.

What it cannot do: how much clusters differ is seen only from clusters like them. If one has most of the information, or
very few determine a contrast, that is said; if one alone does, there is no standard error.

References
----------
.. [1] R. M. Bell and D. F. McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage
   samples", Survey Methodology 28 (2002), 169-181.
.. [2] J. E. Pustejovsky and E. Tipton, "Small-sample methods for cluster-robust variance estimation and hypothesis
   testing in fixed effects models", J. Bus. Econ. Stat. 36 (2018), 672-683.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from warner.regression.finite_populations import not_negative, remaining
from warner.regression.variance_floors import about_clusters, floor_notes, floor_of_clusters
from warner.reports.sampling import RESPONDENT
from warner.results import StandardErrors
from warner.words import enumerated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Integers, Mask
    from warner.regression.data import Observations
    from warner.regression.finite_populations import Device, Remaining
    from warner.regression.variance_floors import Floor
    from warner.reports.sampling import Clusters

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
    r"""Give :math:`R'\big(\sum_{n \in g} c_n \otimes x_nx_n'\big)R` of each cluster; None if that is too much to keep.

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
            places = starts[g : g + step + 1]
            part = x[places[0] : places[-1]]
            each = np.einsum("kmi,ip,iq->ikpmq", curvature[:, :, places[0] : places[-1]], part, part)
            result[g : g + step] = np.add.reduceat(each, places[:-1] - places[0], axis=0)
    square = result.reshape(clusters.number, size, size)
    return square if mapping is None else np.asarray(mapping.T @ square @ mapping)


@dataclass(frozen=True, eq=False)
class ClusterRobust:
    """The errors of coefficients that were estimated from clusters of people.

    Attributes
    ----------
    clusters : Clusters
        Which clusters and strata there are.
    effect : array of shape (coefficients, r)
        T: what a cluster's score does to the coefficients.
    scores : array of shape (clusters, r)
        v, in coordinates in which the information is the unit matrix; less the mean of the stratum.
    unit : array of shape (coefficients, r)
        L: the coefficients along each of these coordinates.
    leverage : array of shape (clusters, r, r), or None
        J: the part of all information that each cluster has. None where these matrices would be too large: then errors
        are those of the plain sandwich, with as many degrees of freedom as there are clusters less strata.
    kept : array of shape (clusters,), or None
        The part of each cluster's stratum that was not sampled; None where that is not known, and counts as all.
    remaining : Remaining or None
        What a finite population does not take away, in the same coordinates.
    floor : Floor or None
        The least covariances of the sum of scores, in the same coordinates; None where respondents are the clusters.
    """

    clusters: Clusters
    effect: Array
    scores: Array
    unit: Array
    leverage: Array | None
    kept: Array | None = None
    remaining: Remaining | None = None
    floor: Floor | None = None

    @cached_property
    def _sizes(self) -> Array:
        """The number h of clusters in the stratum of each cluster."""
        stratum = self.clusters.stratum
        return np.bincount(stratum)[stratum].astype(np.float64)

    @cached_property
    def _factors(self) -> Array:
        """The roots of h/(h - 1), and of the part of the stratum that was not sampled, (clusters, 1)."""
        kept = 1.0 if self.kept is None else self.kept
        return np.asarray(np.sqrt(kept * self._sizes / (self._sizes - 1))[:, np.newaxis])

    @cached_property
    def _remaining_covariance(self) -> Array:
        """The covariances of scores that a finite population does not take away."""
        width = self.effect.shape[1]
        return np.zeros((width, width)) if self.remaining is None else self.remaining.matrix()

    @cached_property
    def _strata(self) -> list[Integers]:
        """The clusters of each stratum, as arrays (strata, h) of some strata that are as large as each other."""
        order = np.argsort(self.clusters.stratum, kind="stable")
        sizes = np.bincount(self.clusters.stratum)
        start = np.cumsum(sizes) - sizes
        step = max(1, CLUSTER_NUMBERS_AT_ONCE // (2 * self.scores.shape[1]) ** 2)  # strata at a time
        alike = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
        blocks = [some[first : first + step] for some in alike for first in range(0, len(some), step)]
        return [order[start[some][:, np.newaxis] + np.arange(sizes[some[0]])] for some in blocks]

    @cached_property
    def _means(self) -> Array:
        """The mean leverage of each stratum."""
        assert self.leverage is not None
        return means_by_stratum(self.clusters, self.leverage)

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        r"""The eigenvalues and eigenvectors of :math:`1 - \frac{h}{h-1}(J_g - \bar J)`."""
        assert self.leverage is not None
        away = self.leverage - self._means[self.clusters.stratum]
        factor = (self._sizes / (self._sizes - 1))[:, np.newaxis, np.newaxis]
        values, vectors = np.linalg.eigh(np.eye(away.shape[1]) - factor * away)
        return values, vectors

    @cached_property
    def _roots(self) -> Array:
        """B, zero in directions that one cluster alone determines: its score is zero there at the estimate."""
        values, vectors = self._spectrum
        inverse = 1 / np.sqrt(np.where(values > LEAST_INFORMATION_LEFT, values, np.inf))
        return np.asarray((vectors * inverse[:, np.newaxis]) @ vectors.swapaxes(1, 2))

    @cached_property
    def _alone(self) -> Array:
        """Directions that one cluster alone determines, as rows; clusters of fully sampled strata do not count."""
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
        """The scores after adjustment, whose squares and products add up to the covariances."""
        scores = self.scores * self._factors
        return scores if self.leverage is None else np.asarray(np.einsum("gij,gj->gi", self._roots, scores))

    @cached_property
    def covariance(self) -> Array:
        """The covariances of the coefficients."""
        half = self._adjusted @ self.effect.T
        return np.asarray(half.T @ half + self.effect @ self._remaining_covariance @ self.effect.T)

    @property
    def sandwich(self) -> Array:
        """The covariances by the plain sandwich, without regard to leverage: those of most programs for surveys."""
        half = self.scores * self._factors @ self.effect.T
        return np.asarray(half.T @ half + self.effect @ self._remaining_covariance @ self.effect.T)

    @property
    def known_covariance(self) -> Array:
        """The same, NaN for coefficients that rest on one cluster alone."""
        unknown = self.unknown(np.eye(len(self.effect)))
        return np.where(unknown[:, np.newaxis] | unknown, np.nan, self.covariance)

    @cached_property
    def largest_part(self) -> float:
        """The largest part that one cluster has of the information in some direction."""
        return 0.0 if self.leverage is None else float(np.linalg.eigvalsh(self.leverage)[:, -1].max())

    @property
    def dominance(self) -> list[str]:
        """Warn if one cluster has most of the information in some direction: its standard error may be too small."""
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
        """Tell which contrasts, (..., coefficients), rest on one cluster alone, so that they have no standard error."""
        along = contrasts @ self.unit
        lost = ((along @ self._alone.T) ** 2).sum(axis=-1)
        return np.asarray(lost > LEAST_INFORMATION_LEFT * (along**2).sum(axis=-1))

    def accuracy(self, contrasts: Array) -> StandardErrors:
        """Give standard errors and degrees of freedom of contrasts, (..., coefficients)."""
        along = contrasts @ self.effect
        between = ((along @ self._adjusted.T) ** 2).sum(axis=-1)
        variance = between + ((along @ self._remaining_covariance) * along).sum(axis=-1)
        unknown = self.unknown(contrasts)
        errors = np.where(unknown, np.nan, np.sqrt(variance))
        freedom = self._freedom_of_each(along.reshape(-1, along.shape[-1])).reshape(errors.shape)
        floor = None if self.floor is None else np.where(unknown, np.nan, self.floor.errors(along, variance))
        return StandardErrors(errors, freedom, floor)

    def raised(self, contrasts: Array) -> Array:
        """Return the covariances of contrasts, the columns of an array, at least those of the floor."""
        along = self.effect.T @ contrasts
        covariance = contrasts.T @ self.covariance @ contrasts
        return covariance if self.floor is None else self.floor.turned(along).raised(covariance)

    def _freedom_of_each(self, along: Array) -> Array:
        """Give the degrees of freedom of each of some contrasts, (contrasts, r), many at a time."""
        length = np.sqrt((along**2).sum(axis=1))
        result = np.where(np.isfinite(length), float(self.clusters.degrees_of_freedom), np.nan)
        if self.leverage is None:
            return result
        usable = np.flatnonzero(np.isfinite(length) & (length > 0))
        step = max(1, MOST_LEVERAGE_NUMBERS // self.scores.size)
        for start in range(0, len(usable), step):
            block = usable[start : start + step]
            w, a = self._weights(along[block].T / length[block])
            result[block] = [_Squares(self, w[:, :, i], a[:, :, i]).freedom() for i in np.arange(len(block))[:, None]]
        return result

    def _weights(self, along: Array) -> tuple[Array, Array]:
        """Give w and a of `_Squares` for contrasts along the columns of an array (r, q)."""
        assert self.leverage is not None
        w = self._factors[:, np.newaxis] * (self._roots @ along)
        return w, self.leverage @ w

    def of(self, slopes: Array) -> ClusterRobust:
        """Give the errors of what has these derivatives in the coefficients, (quantities, coefficients)."""
        return replace(self, effect=slopes @ self.effect, unit=slopes @ self.unit)

    def with_mean(self, slopes: Array, sums: Array, parts: Array, variance: float, own: Array) -> ClusterRobust:
        """Add the sampling of a mean over people to a quantity with these derivatives in the coefficients.

        Parameters
        ----------
        slopes : array of shape (coefficients,)
            Its derivatives.
        sums, parts : arrays of shape (clusters,)
            What the values of each cluster's people add to the error of the mean, and their part of all weight.
        variance : float
            That of the mean if people were independent of each other and of the errors of the coefficients.
        own : array of shape (n,)
            What one person of each row adds to the error of the mean, of which `sums` are the weighted sums.
        """
        clusters, width, deviation = self.clusters, self.scores.shape[1], np.sqrt(variance)
        centred = (sums - means_by_stratum(clusters, sums)[clusters.stratum]) / (deviation or 1.0)
        leverage = None
        if self.leverage is not None:
            leverage = np.zeros((clusters.number, width + 1, width + 1))
            leverage[:, :width, :width], leverage[:, width, width] = self.leverage, parts
        effect, unit = (np.append(slopes @ matrix, deviation)[np.newaxis] for matrix in (self.effect, self.unit))
        left = None if self.remaining is None else self.remaining.with_column(own / (deviation or 1.0))
        scores = np.column_stack([self.scores, centred])
        floor = None if self.floor is None else self.floor.padded()
        return ClusterRobust(clusters, effect, scores, unit, leverage, self.kept, left, floor)

    def freedom(self, contrasts: Array) -> float:
        """Give the degrees of freedom of the law of q contrasts at once, the columns of an array (coefficients, q)."""
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
        return _Squares(self, *self._weights(along @ vectors / np.sqrt(values))).freedom()

    def notes(self, names: Sequence[str], finite: Mask | None = None) -> tuple[str, ...]:
        """Say what the intervals of the coefficients, which have these names, rest on; of those that are finite."""
        every = np.eye(len(self.effect))
        known = np.ones(len(every), dtype=bool) if finite is None else finite
        unknown, accuracy = self.unknown(every), self.accuracy(every)
        assert accuracy.freedom is not None
        lost = [name for name, alone in zip(names, unknown & known, strict=True) if alone]
        floored = [name for name, which in zip(names, accuracy.floored() & known, strict=True) if which]
        return (*self.sentences(accuracy.freedom[~unknown & known], lost), *floor_notes(floored))

    def sentences(self, freedom: Array, names: Sequence[str] = ()) -> list[str]:
        """Describe intervals with these degrees of freedom; `names` are of what rests on one cluster alone."""
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
            rest, have = ("rests", "it has") if len(names) == 1 else ("rest", "they have")
            lines.append(f"{enumerated(list(names))} {rest} on one {unit} alone: {have} no standard error.")
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
) -> ClusterRobust:
    """Make the errors of an estimate.

    Parameters
    ----------
    rows : Observations
        Whose weights are taken.
    clusters : Clusters
        Those of the rows.
    scores : array of shape (n, coefficients)
        The score of one person of each row, unweighted.
    information : array of shape (clusters, coefficients, coefficients), or None
        Of each cluster; a positive matrix.
    inverse : array of shape (coefficients, coefficients)
        That of the derivative of the sum of all scores.
    device : function, optional
        The noise of reports in scores, where the model tells it; for finite populations.
    deviations : array of shape (n, coefficients), optional
        The scores without the means of clusters in the linear predictors; without those of the scores if not given.
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
        robust = replace(robust, floor=floor if robust.leverage is None else floor.turned(robust.unit))
    if left is None or rows.sampling.sampled is None:
        return robust
    if robust.leverage is not None:
        left = left._replace(scores=scores @ robust.unit, device=robust.unit.T @ left.device @ robust.unit)
    return replace(robust, kept=1 - rows.sampling.sampled[clusters.stratum], remaining=left)


def of_sums(clusters: Clusters, sums: Array, information: Array | None, inverse: Array) -> ClusterRobust:
    """Make the errors of an estimate from the sum of scores of each cluster."""
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
        told = rows[lengths > LEAST_INFORMATION * lengths[0]].T
        unit, effect = unit @ told, effect @ told
    return ClusterRobust(clusters, effect, centred @ unit, unit, unit.T @ information @ unit)


def means_by_stratum(clusters: Clusters, values: Array) -> Array:
    """Average what clusters have, (clusters, ...), over each stratum."""
    sizes = np.bincount(clusters.stratum)
    result = np.zeros((len(sizes), *values.shape[1:]))
    np.add.at(result, clusters.stratum, values)
    return np.asarray(result / sizes.reshape(-1, *[1] * (values.ndim - 1)))


class _Squares:
    r"""The sum of outer products of :math:`p_g`, q contrasts of each cluster's adjusted score, in the working model.

    With :math:`w_g = \sqrt{h/(h-1)}\,B_g\ell`, :math:`a_g = J_gw_g`, :math:`y_g = a_g - \bar Jw_g` and
    :math:`e_g = (\bar Jw_g/2 - a_g)/h`, the covariance of :math:`p_g` and :math:`p_k` is

    .. math:: S_{gk} = [g = k]\, w_g'a_g + [\text{same stratum}]\,(e_g'w_k + w_g'e_k) - y_g'y_k,

    a diagonal and matrices of low rank: sums of products of S need sums over clusters, not over pairs of them.
    """

    def __init__(self, robust: ClusterRobust, w: Array, a: Array) -> None:
        mean = np.empty_like(w)
        for part in robust._strata:
            mean[part] = robust._means[robust.clusters.stratum[part[:, :1]]] @ w[part]
        e = (mean / 2 - a) / robust._sizes[:, np.newaxis, np.newaxis]
        self.q, self.most = w.shape[2], float(robust.clusters.degrees_of_freedom)
        self.y = a - mean
        self.left_factor, self.right_factor = np.concatenate([w, e], axis=1), np.concatenate([e, w], axis=1)
        self.diagonal = w.swapaxes(1, 2) @ a  # (clusters, q, q)
        # Of pairs of contrasts, the sums over each stratum of outer products.
        self.across = [self._summed(self.right_factor[part], self.left_factor[part]) for part in robust._strata]
        self.down = [self._summed(self.right_factor[part], self.y[part]) for part in robust._strata]
        self.up = [self._summed(self.y[part], self.left_factor[part]) for part in robust._strata]
        self.all = self._summed(self.y[np.newaxis], self.y[np.newaxis])
        self.between = self.left_factor.swapaxes(1, 2) @ self.right_factor - self.y.swapaxes(1, 2) @ self.y

    def _summed(self, first: Array, second: Array) -> Array:
        return np.asarray(np.einsum("sgai,sgbj->ijsab", first, second, optimize=True))

    def freedom(self) -> float:
        """Give the degrees of freedom of the Wishart matrix with the same mean and total variance of its entries."""
        mean = (self.diagonal + self.between).sum(axis=0)
        variance = sum(self._trace(i, i, j, j) + self._trace(i, j, i, j) for i, j in np.ndindex(self.q, self.q))
        eta = (np.trace(mean) ** 2 + np.trace(mean @ mean)) / variance if variance > 0 else self.most
        return float(np.clip(eta, 1.0, self.most))

    def _trace(self, i: int, j: int, k: int, m: int) -> float:
        """Give the trace of the product of the covariances of contrasts i and j and those of k and m."""
        own, between = self.diagonal, self.between
        total = own[:, i, j] @ own[:, k, m] + own[:, i, j] @ between[:, k, m] + own[:, k, m] @ between[:, i, j]
        total += _traced(self.all[m, i], self.all[j, k])
        for across, down, up in zip(self.across, self.down, self.up, strict=True):
            total += _traced(across[m, i], across[j, k])
            total -= _traced(down[j, k], up[m, i]) + _traced(down[m, i], up[j, k])
        return float(total)


def _traced(first: Array, second: Array) -> float:
    """Give the sum of the traces of products of matrices, (strata, a, b) and (strata, b, a)."""
    return float(np.sum(first * second.swapaxes(1, 2)))
