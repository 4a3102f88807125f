r"""Linearised variances of complex samples (Taylor series): strata, clusters, weights, finite populations.

Every design gives each report a row z of debiased answers: given the person, E z = y, her true 0 or 1. So a complex
sample of y becomes one of z, and the ordinary formulas hold: independent devices add variance between people, and the
spread of z between clusters contains it. A mean of z is Hájek's :math:`\hat\theta = \sum w_i z_i / \sum w_i`; with the
scores :math:`u_i = w_i (z_i - \hat\theta) / \sum w` (0 outside of a domain; :math:`w_i z_i` for a total), summed by
cluster to :math:`U_{hc}`, the variance is [1]_

.. math:: V = \sum_h (1 - f_h) \frac{m_h}{m_h - 1} \sum_c (U_{hc} - \bar U_h)(U_{hc} - \bar U_h)' + \sum_h f_h D_h,

where :math:`f_h` is the part of the clusters of stratum h that was sampled, 0 if it is not known or small. Each of
:math:`m_h` clusters may be one person.

**What a finite population does not take away.** Who asks everybody still has the noise of the device, and of the people
within clusters who were not asked. The textbook's factor :math:`1 - f_h` alone covers half of what it says where nine
tenths of all people were asked. :math:`D_h` is what remains. Where all people of a sampled cluster were asked, or each
cluster is one person, it is the device's alone, which needs no knowledge of the device: since :math:`y_k^2 = y_k` and
:math:`y_k y_l = 0`,

.. math:: D_h = \sum_{i \in h} \Bigl(\frac{w_i}{\sum w}\Bigr)^2 \bigl( z_i z_i' - \operatorname{diag}(z_i) \bigr)

is unbiased for it. Where a part of a cluster was asked, people within clusters add to it: :math:`D_h = \sum_c
\frac{b_c}{b_c - 1} \sum_{i \in c} (u_i - \bar u_c)(u_i - \bar u_c)'` over its :math:`b_c` people. What small samples
make negative is taken as 0.

**Intervals.** Korn and Graubard's [2]_: the frequency f of what is counted for an answer has the variance of
:math:`n^* = \min(n, f (1 - f) / V_f) \, (t_{n-1} / t_d)^2` people who were drawn alone, with d degrees of freedom,
clusters less strata; the exact limits of :math:`f n^*` of :math:`n^*` are the interval. On the frequencies of reports,
which under randomization are never near 0 or 1.

References
----------
.. [1] C.-E. Särndal, B. Swensson, J. Wretman, "Model Assisted Survey Sampling", Springer 1992, chapters 4 and 5.
.. [2] E. L. Korn, B. I. Graubard, "Confidence intervals for proportions with small expected number of positive counts
   estimated from survey data", Survey Methodology 24 (1998), 193-201.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import stdtrit

if TYPE_CHECKING:
    from warner.arrays import Array, Integers, Numbers


@dataclass(frozen=True, eq=False)
class ClusterSample:
    """The reports of one domain, such as a group, by cluster; what is outside of it counts as none.

    Attributes
    ----------
    counts : ndarray of shape (clusters, columns)
        The sum of the weights of each kind of report. All clusters of the sample are there, also those in which the
        domain has nobody.
    squares : ndarray of shape (clusters, columns)
        The sum of the squared weights.
    people : ndarray of shape (clusters,)
        The number of people asked in each cluster, in the domain or not.
    stratum : ndarray of shape (clusters,)
        The number of the stratum of each cluster, counted from 0.
    debiased : ndarray of shape (columns, k)
        The row z of debiased answers that each kind of report gives: `Design.inverse`.
    sampled : ndarray of shape (strata,), or None
        The part of the clusters of each stratum that was sampled; None where it is not known.
    whole : bool
        Whether all people of every sampled cluster were asked.
    """

    counts: Array
    squares: Array
    people: Array
    stratum: Integers
    debiased: Array
    sampled: Array | None = None
    whole: bool = False

    @cached_property
    def total_weight(self) -> float:
        """The sum of all weights in the domain."""
        return float(self.counts.sum())

    @property
    def strata(self) -> int:
        """The number of strata."""
        return int(self.stratum.max()) + 1

    @property
    def freedom(self) -> int:
        """The degrees of freedom: clusters less strata."""
        return len(self.stratum) - self.strata

    @cached_property
    def shares(self) -> Array:
        """Hájek's means of the debiased answers: the unbiased shares."""
        return np.asarray(self.counts.sum(axis=0) @ self.debiased / self.total_weight)

    @cached_property
    def totals(self) -> Array:
        """Horvitz and Thompson's totals, where weights are people of the population per report."""
        return np.asarray(self.counts.sum(axis=0) @ self.debiased)

    @cached_property
    def covariance(self) -> Array:
        """The covariances of the shares, of shape (k, k)."""
        centred = self.debiased - self.shares
        return self._linearised(centred / self.total_weight)

    @cached_property
    def covariance_of_totals(self) -> Array:
        """The covariances of the totals, of shape (k, k)."""
        return self._linearised(self.debiased)

    def _linearised(self, scores: Array) -> Array:
        """Give the variance of the sum of weighted scores, one for each kind of report, (columns, k)."""
        sums = self.counts @ scores
        sizes = np.bincount(self.stratum)
        means = np.stack([np.bincount(self.stratum, column) for column in sums.T], axis=1) / sizes[:, np.newaxis]
        centred = sums - means[self.stratum]
        part = np.zeros(self.strata) if self.sampled is None else self.sampled
        factor = ((1 - part) * sizes / np.maximum(sizes - 1, 1))[self.stratum]
        between = (centred.T * factor) @ centred
        return between if self.sampled is None else between + self._remaining(scores, sums, part)

    def _remaining(self, scores: Array, sums: Array, part: Array) -> Array:
        """Give what a finite population does not take away: the noise of the device, and of people within clusters."""
        scale = self._scale_of(scores)
        alone = self.people <= 1
        device = (part[self.stratum] * (alone | self.whole)) @ self.squares
        result = scale**2 * self._device_noise(device)
        some = ~alone & (not self.whole)
        if some.any():
            factor = part[self.stratum[some]] * self.people[some] / (self.people[some] - 1)
            squares = (scores.T * (factor @ self.squares[some])) @ scores
            own = (sums[some].T * (factor / self.people[some])) @ sums[some]
            result = result + squares - own
        negative = np.diag(result) < 0  # as small samples can make it
        result[negative], result[:, negative] = 0, 0
        return np.asarray(result)

    def _scale_of(self, scores: Array) -> float:
        """Give how much a unit of weight counts: 1 in a total, its part of all weights in a mean."""
        return 1.0 if scores is self.debiased else 1 / self.total_weight

    def _device_noise(self, squares: Array) -> Array:
        """Give the sum of squared weights times z z' - diag(z), over kinds of reports."""
        z = self.debiased
        return np.asarray((z.T * squares) @ z - np.diag(squares @ z))

    @cached_property
    def jackknife_covariance(self) -> Array:
        """The covariances by the jackknife: one cluster left out at a time, the others of its stratum weighed up."""
        sizes = np.bincount(self.stratum).astype(np.float64)
        by_stratum = np.stack([np.bincount(self.stratum, column) for column in self.counts.T], axis=1)
        up = (sizes / (sizes - 1))[self.stratum][:, np.newaxis]
        left = self.counts.sum(axis=0) + (up - 1) * by_stratum[self.stratum] - up * self.counts
        moved = left @ self.debiased / left.sum(axis=1, keepdims=True) - self.shares
        return np.asarray((moved.T * ((sizes - 1) / sizes)[self.stratum]) @ moved)


def replicate_covariance(replicates: Array, estimate: Array, scale: float, parts: Numbers = 1.0) -> Array:
    """Give covariances from estimates with replicate weights, (replicates, k): scale times the sum of squares about it.

    `parts` are factors of the single replicates, as some jackknives have them.
    """
    moved = replicates - estimate
    return np.asarray(scale * (moved.T * np.broadcast_to(parts, len(moved))) @ moved)


class Frequency(NamedTuple):
    """Weighted frequencies of reports with their linearised variances, the people asked, and degrees of freedom."""

    share: Numbers
    variance: Numbers
    people: Numbers
    freedom: Numbers


def effective_people(frequency: Frequency, level: float) -> Array:
    """Give the number of people drawn alone who would say as much: Korn and Graubard's, never more than were asked.

    >>> round(float(effective_people(Frequency(0.5, 0.0025, 200, 30), 0.95)), 2)  # 100, by t of 199 and 30 degrees
    93.23
    """
    f, variance, people, freedom = (np.asarray(value, dtype=np.float64) for value in frequency)
    alone = f * (1 - f)
    known = (variance > 0) & (alone > 0)
    number = np.where(known, np.minimum(alone / np.where(known, variance, 1.0), people), people)
    tail = (1 - level) / 2
    smaller = (stdtrit(np.maximum(people - 1, 1), tail) / stdtrit(np.maximum(freedom, 1), tail)) ** 2
    return np.asarray(np.where(known, np.minimum(number * smaller, people), people))
