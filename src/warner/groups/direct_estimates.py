r"""Direct estimates of groups: the unbiased share of each, and its sampling variance at any overall share.

In group g an answer shows in a readout: of :math:`n_g` people :math:`c_g` were counted, each with probability
:math:`b + a\theta_g`. The direct estimate is :math:`y_g = (c_g/n_g - b)/a`. One debiased report of anybody, in any
group, has the variance :math:`f(1-f)/a^2` with :math:`f = b + am` and m the mean share of the groups. Shares differ
between groups by :math:`\tau^2`; by the law of total variance the rest lies within, exactly:

.. math:: \operatorname{Var} y_g = \tau^2 + v_g, \qquad
          v_g = \frac{1}{n_g} \Bigl( \frac{f (1 - f)}{a^2} - \tau^2 \Bigr).

A group's own estimated variance would not do: it goes with the estimate, and is 0 for a count of 0. Since

.. math:: \frac{f (1 - f)}{a^2} = \frac{b (1 - b)}{a^2} + \frac{1 - 2b}{a} \, m - m^2,

the variance is a polynomial in m and :math:`\tau^2`, with coefficients for each group: base, slope, curvature, between.
Where a share does not show in a binomial count, the variance of one report is that under all reports together, which is
a constant. The collections of a pool are joined in each group by their precisions at the overall share m, with weights
:math:`\lambda_p`; the coefficients are then added up with weights :math:`\lambda_p^2 / n_p`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.arrays import SMALLEST

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Mask, Numbers, Sets
    from warner.reports.pools import Collected
    from warner.reports.tallies import Tally

LEAST_VARIANCE = 1e-12  # of one debiased report: direct answers of people who all agree have none


@dataclass(frozen=True)
class DirectEstimates:
    """Unbiased shares of one set of answers, of shape (groups,), with the coefficients of their sampling variance.

    Attributes
    ----------
    share : ndarray of shape (groups,)
        The unbiased share of each group; 0 where reports do not tell it.
    base, slope, curvature, between : ndarray of shape (groups,)
        The sampling variance is base + slope m - curvature m^2 - between tau^2, where m is the mean of the shares and
        tau^2 their variance between groups.
    informative : ndarray of bool of shape (groups,)
        Which groups tell the share: those with reports, under a design that is not silent.
    """

    share: Array
    base: Array
    slope: Array
    curvature: Array
    between: Array
    informative: Mask

    @classmethod
    def known(cls, share: Array, variance: Array) -> DirectEstimates:
        """Give estimates whose variances are known, as those of a meta-analysis are taken to be."""
        nothing = np.zeros_like(share)
        return cls(share, variance, nothing, nothing, nothing, np.ones(share.shape, dtype=bool))

    def sampling_variance(self, mean: Numbers, between: Numbers) -> Array:
        """Give the variances at a mean share and a variance between groups; arrays that broadcast with the groups."""
        variance = self.base + mean * (self.slope - mean * self.curvature) - between * self.between
        return np.asarray(np.maximum(variance, LEAST_VARIANCE * self.between))

    def chosen(self, groups: Mask) -> DirectEstimates:
        """Give those of some groups."""
        numbers = (self.share, self.base, self.slope, self.curvature, self.between)
        share, base, slope, curvature, between = (part[groups] for part in numbers)
        return DirectEstimates(share, base, slope, curvature, between, self.informative[groups])

    def overall(self) -> float:
        """Give the mean share, each group weighted by the precision that it has if all are alike."""
        some = self.chosen(self.informative)
        mean = 0.5
        for _ in range(3):  # it hardly depends on where the variance is taken
            weight = 1 / np.maximum(some.sampling_variance(mean, 0.0), SMALLEST)
            mean = float(np.clip(weight @ some.share / weight.sum(), 0, 1))
        return mean


class Collection(NamedTuple):
    """How one set of answers shows in one collection: arrays of shape (groups,); the variance of one report."""

    share: Array
    n: Array
    base: Array
    slope: Array
    curvature: Array
    informative: Mask

    def variance(self, mean: float) -> Array:
        """Give the variance of one debiased report where the mean share is this."""
        return np.maximum(self.base + mean * (self.slope - mean * self.curvature), LEAST_VARIANCE)


def direct_estimates(tally: Collected, sets: Sets | None = None) -> list[DirectEstimates]:
    """Give the direct estimates of the shares of all answers, or of some sets of answers; one for each set."""
    collections = [_collections(part, sets) for part in tally.parts]
    return [_joined([part[place] for part in collections]) for place in range(len(collections[0]))]


def _collections(part: Tally, sets: Sets | None) -> list[Collection]:
    """Read how every set shows in one collection."""
    answered, width = part.answered, part.k if sets is None else len(sets)
    _, n = part.scaled()
    shape = (int(answered.sum()), width)
    if part.design.epsilon == 0 or not answered.any():
        nothing = np.zeros(answered.size)
        silent = Collection(nothing, nothing, nothing, nothing, nothing, np.zeros(answered.size, dtype=bool))
        return [silent] * width
    readout = part.readout(None if answered.all() else answered, sets)
    base, gain = (np.broadcast_to(np.asarray(value, dtype=np.float64), shape) for value in (readout.base, readout.gain))
    exact = np.broadcast_to(readout.exact, shape)
    constant = base * (1 - base) / gain**2
    if not exact.all():
        constant = np.where(exact, constant, _variance_of_one_report(part, sets))
    columns = (
        readout.share(),
        np.broadcast_to(readout.trials, shape),
        constant,
        np.where(exact, (1 - 2 * base) / gain, 0.0),
        np.where(exact, 1.0, 0.0),
        np.isfinite(constant),
    )
    whole = [_with_empty(np.where(np.isfinite(column), column, 0.0), answered) for column in columns]
    share, n, constant, slope, curvature, told = whole
    return [
        Collection(share[:, k], n[:, k], constant[:, k], slope[:, k], curvature[:, k], told[:, k] > 0)
        for k in range(width)
    ]


def _variance_of_one_report(part: Tally, sets: Sets | None) -> Array:
    """Give the variance of one report under the reports of all groups together, of shape (1, sets)."""
    counts, n = part.scaled()
    histogram = part.scaled_histogram()
    together = None if histogram is None else histogram.sum(axis=0, keepdims=True)
    total = n.sum(axis=0, keepdims=True)
    readout = part.design.readout(counts.sum(axis=0, keepdims=True), total, sets, histogram=together)
    return np.broadcast_to(np.asarray(readout.error) ** 2 * total, (1, readout.share().shape[1]))


def _with_empty(values: Counts, answered: Mask) -> Array:
    """Give values of the groups that have reports a row for each group, 0 for the others."""
    if answered.all():
        return np.asarray(values, dtype=np.float64)
    result = np.zeros((answered.size, values.shape[1]))
    result[answered] = values
    return result


def _joined(parts: list[Collection]) -> DirectEstimates:
    """Join the collections of each group by their precisions at the overall share."""
    overall = _overall(parts) if len(parts) > 1 else 0.5
    precision = np.stack([_precision(part, overall) for part in parts])
    weight = precision / np.maximum(precision.sum(axis=0), SMALLEST)
    n = np.stack([part.n for part in parts])
    each = np.divide(weight**2, n, out=np.zeros_like(n), where=precision > 0)  # times the variance of one report
    share = (weight * [part.share for part in parts]).sum(axis=0)
    base, slope, curvature = (
        (each * [getattr(part, name) for part in parts]).sum(axis=0) for name in ("base", "slope", "curvature")
    )
    return DirectEstimates(share, base, slope, curvature, each.sum(axis=0), precision.sum(axis=0) > 0)


def _precision(part: Collection, mean: float) -> Array:
    return np.where(part.informative, part.n / part.variance(mean), 0.0)


def _overall(parts: list[Collection]) -> float:
    """Give the mean share of all groups and collections, by their precisions."""
    mean = 0.5
    for _ in range(3):
        weight = [_precision(part, mean) for part in parts]
        named = sum(float(mine @ part.share) for mine, part in zip(weight, parts, strict=True))
        mean = float(np.clip(named / max(sum(float(mine.sum()) for mine in weight), SMALLEST), 0, 1))
    return mean
