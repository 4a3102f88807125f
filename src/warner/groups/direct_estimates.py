r"""Direct estimates of groups: the unbiased share of each, and its sampling variance at any overall share.

In group g an answer shows in a readout: of :math:`n_g` people :math:`c_g` were counted, each with probability
:math:`b + a\theta_g`. The direct estimate is :math:`y_g = (c_g/n_g - b)/a`. One debiased report of anybody, in any
group, has the variance :math:`f(1-f)/a^2` with :math:`f = b + am` and m the mean share of the groups. Shares differ
between groups by :math:`\tau^2`; by the law of total variance the rest lies within, exactly:

.. math:: \operatorname{Var} y_g = \tau^2 + v_g, \qquad
          v_g = \frac{1}{n_g} \Bigl( \frac{f (1 - f)}{a^2} - \tau^2 \Bigr).

A group's own estimated variance would not do: it goes with the estimate, and is 0 for a count of 0. Since

.. math:: \frac{f (1 - f)}{a^2} = \frac{b (1 - b)}{a^2} + \frac{1 - 2b}{a} \, m - m^2,

the variance is a polynomial in m and :math:`\tau^2`, :math:`r_g (\text{base} + \text{slope} \, m - \text{curvature} \,
m^2 - \tau^2)` with :math:`r_g = 1/n_g`. Where a share does not show in a binomial count, the variance of one report is
that under all reports together, which is a constant. Of a mean, where this variance is mostly that of people, it is the
pooled variance within groups, as in an analysis of variance: what is left of the total after a :math:`\tau^2` that few
groups tell badly would be too small on average. The collections of a pool are joined in each group by their
precisions at the overall share m, with weights :math:`\lambda_p`; then :math:`r_g = \sum \lambda_p^2 / n_p`, and the
coefficients are averages with the weights :math:`\lambda_p^2 / n_p`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.arrays import SMALLEST
from warner.inference.normal import ADDED_REPORTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warner.arrays import Array, Counts, Mask, Numbers, Sets
    from warner.reports.pools import Collected
    from warner.reports.tallies import Tally

LEAST_REPORT_VARIANCE = 1e-12  # of one debiased report, where reports are so many that they tell it
ENOUGH_WITHIN_GROUPS = 30.0  # degrees of freedom, that reports tell their variance within groups


@dataclass(frozen=True)
class DirectEstimates:
    """Unbiased shares of one set of answers, of shape (groups,), with what tells their sampling variance.

    Attributes
    ----------
    share : ndarray of shape (groups,)
        The unbiased share of each group; 0 where reports do not tell it.
    per_report : ndarray of shape (groups,)
        What the variance of one report is multiplied by: one over the number of reports; 0 where there are none.
    base, slope, curvature, between : ndarray of shape (groups,) or (1,)
        One report has the variance base + slope m - curvature m^2 - between tau^2, where m is the mean of the shares
        and tau^2 their variance between groups.
    informative : ndarray of bool of shape (groups,)
        Which groups tell the share: those with reports, under a design that is not silent.
    least : float
        The variance that one report has at least, within and between groups together: direct answers of people who all
        agree would have none, as if it were certain that nobody else differs.
    """

    share: Array
    per_report: Array
    base: Array
    slope: Array
    curvature: Array
    between: Array
    informative: Mask
    least: float = LEAST_REPORT_VARIANCE

    @classmethod
    def known(cls, share: Array, variance: Array) -> DirectEstimates:
        """Give estimates whose variances are known, as those of a meta-analysis are taken to be."""
        nothing, one = np.zeros(1), np.ones(share.shape)
        return cls(share, one, variance, nothing, nothing, nothing, np.ones(share.shape, dtype=bool))

    def sampling_variance(self, mean: Numbers, between: Numbers) -> Array:
        """Give the variances at a mean share and a variance between groups; arrays that broadcast with the groups."""
        whole = np.maximum(self.base + mean * (self.slope - mean * self.curvature), self.least)
        return np.asarray(self.per_report * np.maximum(whole - between * self.between, LEAST_REPORT_VARIANCE))

    def select(self, groups: Mask) -> DirectEstimates:
        """Give those of some groups."""
        coefficients = (self.base, self.slope, self.curvature, self.between)
        base, slope, curvature, between = (part if part.size == 1 else part[groups] for part in coefficients)
        share, per_report = self.share[groups], self.per_report[groups]
        informative = self.informative[groups]
        return DirectEstimates(share, per_report, base, slope, curvature, between, informative, self.least)

    def overall(self) -> float:
        """Give the mean share, each group weighted by the precision that it has if all are alike."""
        some = self.select(self.informative)
        mean = 0.5
        for _ in range(3):  # it hardly depends on where the variance is taken
            weight = 1 / np.maximum(some.sampling_variance(mean, 0.0), SMALLEST)
            mean = float(np.clip(weight @ some.share / weight.sum(), 0, 1))
        return mean


class Collection(NamedTuple):
    """How one set of answers shows in one collection: arrays of shape (groups,), the coefficients also (1,)."""

    share: Array
    n: Array
    base: Array
    slope: Array
    curvature: Array
    informative: Mask
    between: Array = np.ones(1)

    def within_groups(self) -> Collection:
        """Take what differs between groups out of the variance of one report, where reports tell how much it is."""
        some = self.informative
        n, share = self.n[some], self.share[some]
        freedom = float(n.sum()) - n.size
        if self.curvature.any() or freedom < ENOUGH_WITHIN_GROUPS:
            return self
        apart = float(n @ (share - n @ share / n.sum()) ** 2)
        base = np.maximum((self.base * n.sum() - apart) / freedom, LEAST_REPORT_VARIANCE)
        return self._replace(base=base, between=np.zeros(1))

    def precision(self, mean: float) -> Array:
        """Give the precision of each group's share where the mean share is this."""
        one = np.maximum(self.base + mean * (self.slope - mean * self.curvature), LEAST_REPORT_VARIANCE)
        return np.where(self.informative, self.n / one, 0.0)


def direct_estimates(tally: Collected, sets: Sets | None = None) -> list[DirectEstimates]:
    """Give the direct estimates of the shares of all answers, or of some sets of answers; one for each set."""
    collections = [_collections(part, sets) for part in tally.parts]
    return [_joined(list(parts)) for parts in zip(*collections, strict=True)]


def direct_sum(tally: Collected, sets: Sets) -> DirectEstimates:
    """Give the direct estimates of the share of one set, with its variance within groups as the groups have it."""
    return _joined([_collections(part, sets)[0].within_groups() for part in tally.parts])


def _collections(part: Tally, sets: Sets | None) -> list[Collection]:
    """Read how every set shows in one collection."""
    answered, width = part.answered, part.k if sets is None else len(sets)
    if part.design.epsilon == 0 or not answered.any():
        nothing, nobody = np.zeros(answered.size), np.zeros(answered.size, dtype=bool)
        zero = np.zeros(1)
        return [Collection(nothing, nothing, zero, zero, zero, nobody)] * width
    readout = part.readout(None if answered.all() else answered, sets)
    base, gain, exact = (np.atleast_2d(np.asarray(value)) for value in (readout.base, readout.gain, readout.exact))
    constant = base * (1 - base) / gain**2
    if not exact.all():
        constant = np.where(exact, constant, _variance_of_one_report(part, sets))
    slope, curvature = np.where(exact, (1 - 2 * base) / gain, 0.0), np.where(exact, 1.0, 0.0)
    share, trials = readout.share(), np.broadcast_to(readout.trials, readout.count.shape)
    parts = (_column(array, answered) for array in (share, trials, constant, slope, curvature))
    share_of, n_of, base_of, slope_of, curvature_of = parts
    return [
        _what_reports_tell(share_of(k), n_of(k), base_of(k), slope_of(k), curvature_of(k), answered)
        for k in range(width)
    ]


def _what_reports_tell(
    share: Array, n: Array, base: Array, slope: Array, curvature: Array, answered: Mask
) -> Collection:
    """Give a collection in which nothing is infinite: a set that reports do not tell is not informative."""
    known = np.isfinite(base)
    informative = answered & known
    base, slope, curvature = (np.where(known, part, 0.0) for part in (base, slope, curvature))
    return Collection(np.where(informative, share, 0.0), n, base, slope, curvature, informative)


def _column(array: Counts, answered: Mask) -> Callable[[int], Array]:
    """Give the columns of an array that broadcasts to (groups with reports, sets): a number for each group, or one."""
    whole, once = array.shape[0] > 1 or answered.sum() == 1, (array.shape[1] == 1 or not array.strides[1])

    def column(place: int) -> Array:
        values = np.asarray(array[:, 0 if once else place], dtype=np.float64)
        if not whole or answered.all():
            return values
        result = np.zeros(answered.size)
        result[answered] = values
        return result

    return column


def _variance_of_one_report(part: Tally, sets: Sets | None) -> Array:
    """Give the variance of one report under the reports of all groups together, of shape (1, sets)."""
    counts, n = part.scaled()
    histogram = part.scaled_histogram()
    together = None if histogram is None else histogram.sum(axis=0, keepdims=True)
    total = n.sum(axis=0, keepdims=True)
    readout = part.design.readout(counts.sum(axis=0, keepdims=True), total, sets, histogram=together)
    return np.broadcast_to(np.asarray(readout.error) ** 2 * total, (1, readout.share().shape[1]))


def _joined(parts: list[Collection]) -> DirectEstimates:
    """Join the collections of each group by their precisions at the overall share."""
    if len(parts) == 1:
        share, n, base, slope, curvature, informative, between = parts[0]
        each = np.divide(1, n, out=np.zeros_like(share), where=informative)
        return DirectEstimates(share, each, base, slope, curvature, between, informative, _least_variance(parts))
    overall = _overall(parts)
    precision = np.stack([part.precision(overall) for part in parts])
    weight = precision / np.maximum(precision.sum(axis=0), SMALLEST)
    n = np.stack([part.n for part in parts])
    each = np.divide(weight**2, n, out=np.zeros_like(n), where=precision > 0)
    total = each.sum(axis=0)
    share = (weight * [part.share for part in parts]).sum(axis=0)

    def averaged(values: Sequence[Array]) -> Array:
        summed = sum(one * value for one, value in zip(each, values, strict=True))
        return np.asarray(np.divide(summed, total, out=np.zeros_like(total), where=total > 0))

    names = ("base", "slope", "curvature", "between")
    base, slope, curvature, between = (averaged([getattr(part, name) for part in parts]) for name in names)
    return DirectEstimates(share, total, base, slope, curvature, between, total > 0, _least_variance(parts))


def _least_variance(parts: list[Collection]) -> float:
    """Give the least variance of one report, s (1 - s) at the share s of a few reports that would say otherwise."""
    reports = sum(float(part.n[part.informative].sum()) for part in parts)
    share = ADDED_REPORTS / (max(reports, ADDED_REPORTS) + ADDED_REPORTS)
    return max(share * (1 - share), LEAST_REPORT_VARIANCE)


def _overall(parts: list[Collection]) -> float:
    """Give the mean share of all groups and collections, by their precisions."""
    mean = 0.5
    for _ in range(3):
        weight = [part.precision(mean) for part in parts]
        named = sum(float(mine @ part.share) for mine, part in zip(weight, parts, strict=True))
        mean = float(np.clip(named / max(sum(float(mine.sum()) for mine in weight), SMALLEST), 0, 1))
    return mean
