r"""Floors of variances in complex samples, and what is left of variances in finite populations.

**Floors.** Clusters that happen to agree show no variance, but respondents within a cluster are independent given the
cluster, and so are their devices. See the page "Regression on covariates" for the covariances F that the sum of scores
has at least, within clusters and in strata of respondents who were drawn alone. The mean of the cluster is subtracted
because the effect of a cluster need not reach a coefficient: it cancels where a covariate varies within clusters.

Linear shares of respondents who all give the same direct answer have no residuals, and no variance of a simple sample
either. There the floor is the exact interval of a share. The fitted value of a respondent averages
:math:`n_i = 1 / \sum_j w_j^2 (x_i'(X'WX)^{-1}x_j)^2` independent ones, and if these agree, an answer that none of them
gave has a share of at most :math:`u_i = 1 - 0.025^{1/n_i}`. So the scores of a linear model have at least the
covariances

.. math:: F = \sum_i w_i^2 \, n_i (u_i / z_{0.975})^2 \, S \otimes x_i x_i'

in the directions in which there are neither residuals nor noise, with 1 on the diagonal of S, and 1/(1 - k) beside it.
The 95 % interval of a share then extends as far as the exact one (Clopper and Pearson), and that of a difference as far
as two exact ones joined. With few degrees of freedom, :math:`u_i` has a smaller :math:`n_i`, as Korn and Graubard have
it.

**Finite populations.** The score of an estimating equation is a debiased report times what is known of the respondent,
so the variance of shares (page "Groups and complex samples") holds for sums of scores. The part between clusters is
bias-reduced (CR2) and has the degrees of freedom; the part within them needs no correction for leverage, since a
cluster is small in it.

Where people were drawn alone, all people of the sampled clusters were asked, or only one was, the noise of the device
is all that is left, and nothing shows it but the single report. Of linear shares the score is :math:`w (z - \hat z)
\otimes x` with debiased indicators z, and since an indicator y has :math:`y^2 = y`, and the product of two is 0,

.. math:: \sum_i f_h w_i^2 \, (z_i z_i' - \operatorname{diag} z_i) \otimes x_i x_i'

is unbiased for the noise, under any design. Other models have no such term: `sampled` is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeAlias

import numpy as np

from warner.text import enumerated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warner.arrays import Array, Integers, Numbers
    from warner.regression.data import Observations
    from warner.reports.samples import Clusters

    Device: TypeAlias = Callable[[Array], Array]


# Finite populations


class Remaining(NamedTuple):
    """Covariances of scores that remain in a finite population."""

    within: Array  # factor f b / (b - 1) of the scatter within each cluster; 0 where it does not count
    size: Array  # b: number of respondents of each cluster
    cluster: Integers  # of each row, as all that follows
    weight: Array
    square: Array
    scores: Array  # of one respondent of each row, unweighted, (n, r)
    device: Array  # noise of the randomization where the scatter within clusters does not show it, (r, r)

    def matrix(self) -> Array:
        """Return the covariances, (r, r); negative estimates count as 0."""
        sums = np.zeros((len(self.size), self.scores.shape[1]))
        np.add.at(sums, self.cluster, self.scores * self.weight[:, np.newaxis])
        scatter = (self.scores.T * (self.within[self.cluster] * self.square)) @ self.scores
        return not_negative(scatter - (sums.T * (self.within / self.size)) @ sums + self.device)

    def with_column(self, column: Array) -> Remaining:
        """Add a column of values, (n,), that were not randomized."""
        return self._replace(scores=np.column_stack([self.scores, column]), device=np.pad(self.device, (0, 1)))


def remaining(rows: Observations, scores: Array, device: Device | None) -> Remaining | None:
    """Covariances that remain in a finite population of clusters; None if the sampling fraction is not known."""
    sampling = rows.sampling
    if sampling.sampled is None:
        return None
    clusters = sampling.clusters
    part, size = sampling.sampled[clusters.stratum], np.bincount(clusters.cluster, rows.people).astype(np.float64)
    alone = (size < 2) | sampling.whole
    within = np.where(alone, 0.0, part * size / np.maximum(size - 1, 1))
    noise = np.zeros((scores.shape[1], scores.shape[1]))
    if alone.any():
        if device is None:
            _refuse("with whole" if sampling.whole else "with clusters of one respondent (join them to others)")
        noise = device(rows.square * np.where(alone, part, 0.0)[clusters.cluster])
    return Remaining(within, size, clusters.cluster, rows.weight, rows.square, scores, noise)


def noise_of_people(rows: Observations, device: Device) -> Array | None:
    """Noise that remains in a finite population without clusters."""
    sampling = rows.sampling
    if sampling.sampled is None:
        return None
    part = sampling.sampled[0] if sampling.stratum is None else sampling.sampled[sampling.stratum]
    return not_negative(device(rows.square * part))


def refuse_drawn_alone(rows: Observations) -> None:
    """Raise an error for a sampling fraction without clusters if the model does not estimate the noise of reports."""
    if rows.sampling.sampled is not None and rows.sampling.cluster is None:
        _refuse("without clusters")


def _refuse(where: str) -> NoReturn:
    raise ValueError(
        f"sampled must be left out {where}, except in the linear model of shares: in others the noise of single "
        "reports, which remains in a finite population, is not known"
    )


def not_negative(matrix: Array) -> Array:
    """Project a covariance matrix on the non-negative ones."""
    values, vectors = np.linalg.eigh(matrix)
    if not np.isfinite(values).all() or values.min(initial=0.0) >= 0:
        return matrix
    return np.asarray((vectors * values.clip(0)) @ vectors.T)


# Variance floors


ROUNDING_OF_VARIANCE = 1e-12  # part of a simple sample's variance that is rounding
LEAST_VARIANCE = 1e-12  # part of the largest variance below which there is none
EXACT_LEVEL = 0.95  # of the exact intervals of shares whose half-widths become standard errors


class Floor(NamedTuple):
    """Least covariances of a sum of scores, or of coefficients, and those of a simple sample."""

    least: Array
    simple: Array

    @property
    def rounding(self) -> Array:
        return np.asarray(ROUNDING_OF_VARIANCE * np.diagonal(self.simple))

    def turned(self, turn: Array) -> Floor:
        """Return the floor of the scores times a matrix."""
        return Floor(turn.T @ self.least @ turn, turn.T @ self.simple @ turn)

    def padded(self) -> Floor:
        return Floor(np.pad(self.least, (0, 1)), np.pad(self.simple, (0, 1)))

    def errors(self, along: Array, variance: Numbers) -> Array:
        """Return the standard errors of contrasts (..., r) by the floor, if the sample design has this variance."""
        least, simple = (((along @ matrix) * along).sum(axis=-1) for matrix in self)
        none = np.maximum(variance, least) <= ROUNDING_OF_VARIANCE * simple
        return np.asarray(np.sqrt(np.where(none, simple, np.maximum(least, 0.0))))

    def raised(self, covariance: Array) -> Array:
        """Return the larger of the sample design's covariances and the floor, in each direction; NaN if not known."""
        known = np.isfinite([covariance, *self]).all() and (np.diagonal(covariance) >= -self.rounding).all()
        if not known:
            return np.full_like(covariance, np.nan)
        raised = larger(not_negative(covariance), self.least)
        missing = _missing(raised, self.simple)
        return np.asarray(raised + missing @ missing.T)

    def where_alike(self, exact: Array, noise: Array) -> Floor:
        """Return the floor with `exact` covariances in the directions in which a simple sample and noise have none."""
        missing = _missing(self.simple + noise, exact)
        if not missing.size:
            return self
        added = missing @ missing.T
        return Floor(larger(self.least, added), self.simple + added)


def _missing(covariance: Array, other: Array) -> Array:
    """Return roots, as columns, of other covariances in the directions in which the first ones are only rounding."""
    values, vectors = np.linalg.eigh(other)
    seen = values > LEAST_VARIANCE * values[-1]
    root, inverse = vectors[:, seen] * np.sqrt(values[seen]), vectors[:, seen] / np.sqrt(values[seen])
    parts, turn = np.linalg.eigh(inverse.T @ covariance @ inverse)
    return np.asarray((root @ turn)[:, parts <= ROUNDING_OF_VARIANCE])


def floor_notes(names: Sequence[str] = ()) -> list[str]:
    if not names:
        return []
    note = (
        f"The sample design shows less variance of {enumerated(list(names))} than respondents within clusters, the "
        "randomization, a simple sample or the exact interval of a share: intervals and p-values use the larger "
        "variance."
    )
    return [note]


def larger(first: Array, second: Array) -> Array:
    """Return the larger of two covariances in each of the directions in which both are uncorrelated."""
    total = first + second
    scale = np.sqrt(np.maximum(np.diagonal(total), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(total / np.outer(scale, scale))
    seen = values > LEAST_VARIANCE * max(values[-1], 0.0)
    root = vectors[:, seen] * np.sqrt(values[seen])  # its product with its transpose is the total, in these units
    inverse = vectors[:, seen] / np.sqrt(values[seen])
    parts, turn = np.linalg.eigh(inverse.T @ (first / np.outer(scale, scale)) @ inverse)
    along = scale[:, np.newaxis] * (root @ turn)
    return np.asarray((along * np.maximum(parts, 1 - parts)) @ along.T)


def about_clusters(clusters: Clusters, weight: Array, values: Array) -> Array:
    """Subtract from values of rows, (n, ...), the weighted mean of their cluster."""
    sums = np.zeros((clusters.number, *values.shape[1:]))
    one = (..., *[np.newaxis] * (values.ndim - 1))
    np.add.at(sums, clusters.cluster, weight[one] * values)
    total = np.bincount(clusters.cluster, weight, minlength=clusters.number)
    return np.asarray(values - (sums / total[one])[clusters.cluster])


def floor_of_clusters(rows: Observations, clusters: Clusters, scores: Array, deviations: Array, noise: Array) -> Floor:
    """Compute the floor of the sum of weighted scores of clusters of respondents.

    Scores are those of one respondent of each row, unweighted, `deviations` those less the mean of their cluster. The
    noise is that of the randomization, if all respondents of the sampled clusters were asked or all reports are equal.
    """
    simple = simple_covariance(rows, scores)
    if rows.sampling.whole:
        return Floor(noise, simple)
    size = np.bincount(clusters.cluster, rows.people).astype(np.float64)
    within = np.where(size > 1, size / np.maximum(size - 1, 1), 0.0)[clusters.cluster]
    scatter = (deviations.T * (within * rows.square)) @ deviations
    varies = np.diagonal(scatter).max() > ROUNDING_OF_VARIANCE * np.diagonal(noise).max()
    return Floor(scatter if varies else noise, simple)  # reports that are all alike show none


def simple_covariance(rows: Observations, scores: Array) -> Array:
    """Return the covariances of a sum of weighted scores in a simple sample, less the sampled fraction."""
    return np.asarray((scores.T * (_not_sampled(rows) * rows.square)) @ scores)


def _not_sampled(rows: Observations) -> Array:
    """Return the fraction that was not sampled, by which each row's variance is multiplied."""
    sampling, part = rows.sampling, np.ones(len(rows.weight))
    if sampling.sampled is None:
        return part
    kept = sampling.kept[0] if sampling.stratum is None else sampling.kept[sampling.stratum]
    one = np.ones(len(part), dtype=bool)
    if sampling.cluster is not None and not sampling.whole:  # of a cluster of one, everybody was asked
        one = np.bincount(sampling.cluster, rows.people)[sampling.cluster] < 2
    return np.where(one, kept, part)


def exact_covariance(rows: Observations, columns: Array, answers: int, reach: Array) -> Array:
    """Return the least covariances of the sum of weighted scores of linear shares without residuals and noise.

    Columns are orthogonal: their weighted products sum to the unit matrix. There are two `answers` for the mean of a
    number. `reach` is the change of the outcome of a respondent with another answer: 1 for shares.
    """
    from scipy.special import ndtri, stdtrit

    sampling, tail = rows.sampling, (1 - EXACT_LEVEL) / 2
    part = np.maximum(np.vecdot(columns @ ((columns.T * rows.square) @ columns), columns), np.finfo(float).tiny)
    worth = 1 / part
    if sampling.cluster is not None or sampling.stratum is not None:
        freedom = rows.n - sampling.strata if sampling.cluster is None else sampling.clusters.degrees_of_freedom
        worth = worth * (stdtrit(np.maximum(worth - 1, freedom), tail) / stdtrit(freedom, tail)) ** 2
    share = -np.expm1(np.log(tail) / worth)
    varies = rows.square * (_not_sampled(rows) > 0) * (share * reach / ndtri(tail)) ** 2 / part
    between = (answers * np.eye(answers - 1) - 1) / (answers - 1)
    return np.kron(between, (columns.T * varies) @ columns)
