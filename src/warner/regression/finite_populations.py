r"""Finite populations: what is left of the variance of estimating equations where a large part of all was sampled.

The score of an estimating equation is a debiased report times what is known of the person, so the rules of shares
(`warner.reports.complex_samples.linearisation`) hold for sums of scores. With :math:`f_h` the part of the clusters of
stratum h that was sampled, weighted scores :math:`u_i` and their sums :math:`U_{hc}` by cluster, their sum has the
variance

.. math:: \sum_h (1 - f_h) \frac{m_h}{m_h - 1} \sum_c (U_{hc} - \bar U_h)(U_{hc} - \bar U_h)'
          + \sum_h f_h \sum_c \frac{b_c}{b_c - 1} \sum_{i \in c} (u_i - \bar u_c)(u_i - \bar u_c)'.

The first sum is that of an infinite population times :math:`1 - f_h`, bias-reduced as ever (CR2). The second is what a
finite population does not take away: which of a cluster's people were asked, and the noise of the device, as the
:math:`b_c` people of a cluster show both. A cluster is small in neither, so that this sum needs no correction for
leverage; degrees of freedom are those of the first sum, which has the fewer.

Where people were drawn alone, all people of the sampled clusters were asked, or only one was, the noise of the device
is all that is left, and nothing shows it but the single report. Of linear shares the score is :math:`w (z - \hat z)
\otimes x` with debiased indicators z, and since an indicator y has :math:`y^2 = y`, and the product of two is 0,

.. math:: \sum_i f_h w_i^2 \, (z_i z_i' - \operatorname{diag} z_i) \otimes x_i x_i'

is unbiased for the noise, under any design. Other models have no such term here: `sampled` is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.arrays import Array, Integers
    from warner.regression.data import Observations

    # From weights of rows, (n,), the sum over these of what the device adds to the covariances of a person's score.
    Device: TypeAlias = Callable[[Array], Array]


class Remaining(NamedTuple):
    """What a finite population does not take away of the covariances of scores.

    Attributes
    ----------
    within : array of shape (clusters,)
        :math:`f b / (b - 1)`, by which the scatter of scores within each cluster counts; 0 where it does not.
    size : array of shape (clusters,)
        The number b of people asked in each cluster.
    cluster, weight, square : arrays of shape (n,)
        Those of the rows.
    scores : array of shape (n, r)
        The score of one person of each row, unweighted.
    device : array of shape (r, r)
        The noise of the device where the scatter within clusters does not show it.
    """

    within: Array
    size: Array
    cluster: Integers
    weight: Array
    square: Array
    scores: Array
    device: Array

    def matrix(self) -> Array:
        """Give these covariances, of shape (r, r); what small samples make negative is taken as 0."""
        sums = np.zeros((len(self.size), self.scores.shape[1]))
        np.add.at(sums, self.cluster, self.scores * self.weight[:, np.newaxis])
        scatter = (self.scores.T * (self.within[self.cluster] * self.square)) @ self.scores
        return not_negative(scatter - (sums.T * (self.within / self.size)) @ sums + self.device)

    def with_column(self, own: Array) -> Remaining:
        """Add what a person of each row has, (n,), that went through no device."""
        return self._replace(scores=np.column_stack([self.scores, own]), device=np.pad(self.device, (0, 1)))


def remaining(rows: Observations, scores: Array, device: Device | None) -> Remaining | None:
    """Give what a finite population leaves where people are clustered; None where the part sampled is not known."""
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
            _refuse("with whole" if sampling.whole else "with clusters of one person (join them to others)")
        noise = device(rows.square * np.where(alone, part, 0.0)[clusters.cluster])
    return Remaining(within, size, clusters.cluster, rows.weight, rows.square, scores, noise)


def noise_of_people(rows: Observations, device: Device) -> Array | None:
    """Give the noise that a finite population leaves where people were drawn alone."""
    sampling = rows.sampling
    if sampling.sampled is None:
        return None
    part = sampling.sampled[0] if sampling.stratum is None else sampling.sampled[sampling.stratum]
    return not_negative(device(rows.square * part))


def refuse_drawn_alone(rows: Observations) -> None:
    """Refuse a part sampled of people who were drawn alone, in a model that does not know the noise of each report."""
    if rows.sampling.sampled is not None and rows.sampling.cluster is None:
        _refuse("without clusters")


def _refuse(where: str) -> NoReturn:
    raise ValueError(
        f"sampled must be left out {where}, except in the linear model of shares: in others the noise of single "
        "reports, which remains in a finite population, is not known"
    )


def not_negative(matrix: Array) -> Array:
    """Take variances that are negative as 0, in all directions."""
    values, vectors = np.linalg.eigh(matrix)
    if not np.isfinite(values).all() or values.min(initial=0.0) >= 0:
        return matrix
    return np.asarray((vectors * values.clip(0)) @ vectors.T)
