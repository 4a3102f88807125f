r"""Linearised variances of complex samples (Taylor series): strata, clusters, weights, finite populations; jackknife.

Every design gives each report a score a, with :math:`E a = b + g y` given the person, whose y is 1 in a set of answers
and 0 outside; base b and gain g are the design's (0 and 1 of debiased scores). So a complex sample of y becomes one of
a, and the ordinary formulas hold: independent devices add variance between people, and the spread of scores
between clusters contains it. The frequency is Hájek's :math:`f = \sum w_i a_i / \sum w_i`; with :math:`u_i = w_i (a_i -
f) / \sum w` (0 outside of a domain; :math:`w_i (a_i - b)` for a total), summed by cluster to :math:`U_{hc}`, its
variance is [1]_

.. math:: V = \sum_h (1 - f_h) \frac{m_h}{m_h - 1} \sum_c (U_{hc} - \bar U_h)^2 + \sum_h f_h D_h,

where :math:`f_h` is the part of the :math:`m_h` clusters of stratum h that was sampled, 0 if it is not known or small.
The sum of a cluster is linear in its counts of reports, so that counts by cluster are all that is needed. Where people
were drawn alone, each is a cluster, and the sums of squares by stratum need :math:`\sum w_i^2` for each kind of report.

**What a finite population does not take away.** Who asks everybody still has the noise of the device, and of the people
within clusters who were not asked. The textbook's factor :math:`1 - f_h` alone covers half of what it says where nine
tenths of all people were asked. :math:`D_h` is what remains. Where all people of a sampled cluster were asked, or each
cluster is one person, it is the device's alone, which needs no knowledge of the device: with :math:`z = (a - b)/g` and
:math:`z^{(2)}` the same for :math:`y^2`, which is z itself where y is 0 or 1,

.. math:: D_h = \sum_{i \in h} \Bigl(\frac{g w_i}{\sum w}\Bigr)^2 \bigl( z_i^2 - z_i^{(2)} \bigr)

is unbiased for it. Where a part of a cluster was asked, people within clusters add to it: :math:`D_h = \sum_c
\frac{b_c}{b_c - 1} \sum_{i \in c} (u_i - \bar u_c)^2` over its :math:`b_c` people. What small samples make negative is
taken as 0.

**Few or unequal clusters.** Where one cluster has much of the weight, its own score is drawn towards zero, V is too
small, and clusters less strata are too many degrees of freedom. As in regressions, centred scores are then divided by
:math:`\sqrt{1 - \frac{m}{m-1}(J_c - \bar J_h)}`, with :math:`J_c` the cluster's part of all weight (CR2, the
bias-reduced linearization [2]_), and Satterthwaite's degrees of freedom are taken: with S the covariances of these
scores if people were alike and independent, :math:`(\operatorname{tr} S)^2 / \operatorname{tr} S^2`.

**Intervals.** Korn and Graubard's [3]_: the frequency f of what is counted for an answer has the variance of
:math:`n^* = \min(n, f (1 - f) / \max(V, D)) \min(1, (t_{n-1} / t_d)^2)` respondents drawn alone, with D the variance of
the randomization given the true answers. The exact limits of :math:`f n^*` of :math:`n^*` are the interval. It is on
the frequencies of reports, which under randomization are never near 0 or 1. Where the sample shows no variance,
:math:`\min(n, \cdot)` is n. In a finite population :math:`n^*` may exceed n.

**Small domains.** The degrees of freedom d are clusters less strata, or those of unequal clusters, and at most k - 1
with k the effective sample size of the domain by its weights. Where respondents were drawn alone, see `Units.shown`. A
domain in one cluster is *blind*: it shows nothing about the variance between clusters, and its interval is the whole
range.

References
----------
.. [1] C.-E. Särndal, B. Swensson, J. Wretman, "Model Assisted Survey Sampling", Springer 1992, chapters 4 and 5.
.. [2] R. M. Bell, D. F. McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage samples",
   Survey Methodology 28 (2002), 169-181.
.. [3] E. L. Korn, B. I. Graubard, "Confidence intervals for proportions with small expected number of positive counts
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

UNEQUAL_FREEDOM = 0.7  # of clusters less strata: below so many degrees of freedom, clusters count as unequal
LEAST_WEIGHT_LEFT = 1e-9  # part of the weight without one cluster: with less, this cluster has all of it


class Moments(NamedTuple):
    """What the reports of one domain add up to in each unit, for each of some sets of answers: (units, sets).

    Attributes
    ----------
    sums : array
        The weighted sums of scores.
    weight : array
        The sums of weights of those who were asked about the set, mostly all people.
    everybody : array of shape (units,)
        The sums of weights of all people.
    squares : array or None
        The sums of :math:`w^2 (a - f)^2`; None where they are not needed, NaN where counts do not tell them.
    device : array or None
        The sums of what is unbiased for the variance that the device adds; likewise.
    """

    sums: Array
    weight: Array
    everybody: Array
    squares: Array | None = None
    device: Array | None = None


class Deviations(NamedTuple):
    """The linearised scores of estimates, of a domain or of a difference of two, in each unit: (units, sets).

    `centred` are those whose weighted squares add up to the variance, with the mean of the stratum taken away;
    `sums` the scores themselves, `squares` and `device` what `Moments` has. Estimates are independent between people,
    so that the latter two add up where two domains are compared.
    """

    centred: Array
    sums: Array
    squares: Array | None
    device: Array | None

    def minus(self, other: Deviations) -> Deviations:
        """Give those of the difference of two estimates."""
        squares, device = (
            None if mine is None or theirs is None else mine + theirs
            for mine, theirs in ((self.squares, other.squares), (self.device, other.device))
        )
        return Deviations(self.centred - other.centred, self.sums - other.sums, squares, device)

    def scaled(self, factor: Array) -> Deviations:
        """Give those of estimates that are so many times as large."""
        squares, device = (None if part is None else part * factor**2 for part in self[2:])
        return Deviations(self.centred * factor, self.sums * factor, squares, device)


@dataclass(frozen=True, eq=False)
class Units:
    """The primary sampling units: clusters in strata; or people who were drawn alone, by stratum.

    Attributes
    ----------
    stratum : ndarray of shape (units,)
        The number of the stratum of each unit, counted from 0. Where people were drawn alone, a unit stands for all
        people of a stratum.
    people : ndarray of shape (units,)
        The number of people asked in each unit, in whatever domain.
    alone : bool
        Whether people were drawn alone.
    sampled : ndarray of shape (strata,), or None
        The part of the clusters (or people) of each stratum that was sampled; None where it is not known.
    whole : bool
        Whether all people of every sampled cluster were asked.
    """

    stratum: Integers
    people: Array
    alone: bool
    sampled: Array | None = None
    whole: bool = False

    @cached_property
    def sizes(self) -> Array:
        """The number of clusters, or of people who were drawn alone, in the stratum of each unit."""
        sizes = np.bincount(self.stratum, self.people if self.alone else None).astype(np.float64)
        return np.maximum(sizes, 2.0)[self.stratum]  # a stratum without weight has no respondents, and no variance

    @property
    def number(self) -> int:
        """The number of clusters, or of people who were drawn alone."""
        return int(self.people.sum()) if self.alone else len(self.stratum)

    @property
    def strata(self) -> int:
        """The number of strata."""
        return int(self.stratum.max(initial=-1)) + 1

    def freedom_of(self, weight: Array) -> float:
        """Give the degrees of freedom of a domain with so much weight in each unit: clusters less strata.

        Strata in which it has nobody say nothing of it.
        """
        touched = np.bincount(self.stratum, weight, minlength=self.strata) > 0
        sizes = np.bincount(self.stratum, self.people if self.alone else None, minlength=self.strata)
        return float((sizes[touched] - 1).sum())

    @property
    def part(self) -> Array:
        """The part sampled of the stratum of each unit, 0 where it is not known."""
        return np.zeros(len(self.stratum)) if self.sampled is None else self.sampled[self.stratum]

    @property
    def needs_squares(self) -> bool:
        """Whether sums of squares within units are needed."""
        return self.alone or self.sampled is not None

    def means(self, values: Array) -> Array:
        """Give each unit the mean of its stratum."""
        totals = np.zeros((self.strata, values.shape[1]))
        np.add.at(totals, self.stratum, values)
        return np.asarray(totals[self.stratum] / self.sizes[:, np.newaxis])

    def deviations(self, moments: Moments, frequency: Array) -> tuple[Deviations, float]:
        """Linearise the frequencies of one domain; with their degrees of freedom."""
        total = moments.weight.sum(axis=0)
        total = np.where(total > 0, total, 1.0)  # nobody was asked about it: nothing varies
        scores = (moments.sums - frequency * moments.weight) / total
        squares, device = (None if part is None else part / total**2 for part in (moments.squares, moments.device))
        if self.alone:
            return Deviations(scores, scores, squares, device), self.freedom_of(moments.everybody)
        factor, freedom = self.leverage(moments.everybody / moments.everybody.sum())
        centred = (scores - self.means(scores)) * factor[:, np.newaxis]
        return Deviations(centred, scores, squares, device), freedom

    def shown(self, part: Array, worth: float) -> tuple[float, float]:
        r"""Degrees of freedom of a domain of respondents drawn alone, and the part of its variance that V shows.

        With :math:`J_h` the `part` of the domain's weight in a stratum of :math:`n_h` respondents, and its effective
        sample size k, the squared deviations within the stratum have the expectation :math:`e_h = J_h (1 - 1/k) -
        J_h (1 - J_h)/n_h` times the variance. So :math:`d = k \sum_h e_h`, and V shows :math:`\sum_h n_h e_h / (n_h -
        1)` of the variance on average: all of it for a whole sample, one half for two respondents.
        """
        expected = part * (1 - 1 / worth) - part * (1 - part) / self.sizes
        return worth * float(expected.sum()), float((self.sizes / (self.sizes - 1) * expected).sum())

    def leverage(self, part: Array) -> tuple[Array, float]:
        r"""Give the factors of centred scores where clusters with this `part` of all weight are unequal, else ones.

        With them come the degrees of freedom. S has the entries :math:`d_c d_k C_{ck}` with the squared factors
        :math:`d_c` and, e being J less the mean of its stratum, :math:`C_{ck} = [c = k] J_c + [h_c = h_k] (\alpha_c +
        \alpha_k) - e_c e_k`, where :math:`\alpha_c = \bar J_h / 2m_h - J_c / m_h`: sums over strata are enough.
        """
        sizes, mean = self.sizes, self.means(part[:, np.newaxis])[:, 0]
        away = part - mean
        remaining = 1 - sizes / (sizes - 1) * away
        root = 1 / np.sqrt(np.where(remaining > LEAST_WEIGHT_LEFT, remaining, np.inf))
        d = sizes / (sizes - 1) * root**2
        alpha = mean / (2 * sizes) - part / sizes
        own = 2 * alpha - away**2
        sums = [
            np.bincount(self.stratum, d * value) for value in (np.ones_like(d), alpha, alpha**2, away, alpha * away)
        ]
        ones, first, second, apart, mixed = sums
        trace = (d * (own + part)).sum()
        squares = (d * away**2).sum() ** 2 + (2 * ones * second + 2 * first**2 - 4 * mixed * apart).sum()
        squares += (d**2 * ((own + part) ** 2 - own**2)).sum()
        freedom = float(trace**2 / squares) if squares > 0 else 1.0
        most = self.freedom_of(part)
        if freedom >= UNEQUAL_FREEDOM * most:
            return np.ones_like(root), most
        return root, min(freedom, most)

    def variance(self, deviations: Deviations) -> Array:
        """Give the variances; NaN where counts do not tell them."""
        _, sums, squares, device = deviations
        between = self.between(deviations, 1 - self.part)
        if self.sampled is None:
            return between
        assert squares is not None
        assert device is not None
        # Where counts do not tell the device's noise, the population counts as infinite.
        endless = np.full(between.shape, np.nan) if self.alone else self.between(deviations)
        remaining = self._remaining(sums, squares, device)
        return np.where(np.isfinite(remaining), between + np.maximum(remaining, 0), endless)

    def between(self, deviations: Deviations, part: Numbers = 1.0) -> Array:
        """Variances between units, of which each stratum has this part left: those of an infinite population if 1."""
        centred, sums, squares, _ = deviations
        factor = (part * self.sizes / (self.sizes - 1))[:, np.newaxis]
        if not self.alone:
            return np.asarray((factor * centred**2).sum(axis=0))
        assert squares is not None
        return np.asarray((factor * (squares - sums**2 / self.sizes[:, np.newaxis])).sum(axis=0))

    def _remaining(self, sums: Array, squares: Array, device: Array) -> Array:
        """Give what a finite population does not take away: the noise of the device, and of people within clusters."""
        part, people = self.part[:, np.newaxis], self.people[:, np.newaxis]
        if self.alone or self.whole:
            return np.asarray((part * device).sum(axis=0))
        within = people / np.maximum(people - 1, 1) * (squares - sums**2 / np.maximum(people, 1))
        return np.asarray((part * np.where(people > 1, within, device)).sum(axis=0))

    def jackknife(self, moments: Moments, frequency: Array) -> Array:
        """Give the deviations by the jackknife: one cluster left out at a time, the others of its stratum weighed up.

        The squares of these add up to the variance.
        """
        up = (self.sizes / (self.sizes - 1))[:, np.newaxis]

        def without_each(values: Array) -> Array:
            by_stratum = self.means(values) * self.sizes[:, np.newaxis]
            return np.asarray(values.sum(axis=0) + (up - 1) * by_stratum - up * values)

        weight = without_each(moments.weight)
        with np.errstate(invalid="ignore", divide="ignore"):
            moved = np.where(weight > 0, without_each(moments.sums) / weight - frequency, 0.0)
        return np.asarray(moved / np.sqrt(up))


def fewer_people(people: Numbers, freedom: Numbers, tail: Numbers) -> Array:
    """Part of the effective sample size that is left where the variance has few degrees of freedom; at most 1.

    >>> float(fewer_people(200, 30, 0.025).round(4)), float(fewer_people(4, 30, 0.025))  # t of 199 and 30 degrees
    (0.9323, 1.0)
    """
    ratio = stdtrit(np.maximum(people - 1, 1), tail) / stdtrit(np.maximum(freedom, 1), tail)
    return np.asarray(np.minimum(ratio**2, 1.0))
