r"""Normal (Wald and Wilson) limits of unbiased estimates that no binomial count tells, and their test.

The ends are :math:`x \pm z \cdot \text{error}`. Of a share among these very people more is known: it is a whole number
of people. Where little is randomized, the estimate hardly varies, and what varies is whole people as well, a few of
them with a small probability each: nothing like a normal law, which could then leave out every possible share. So the
ends are rounded outward to possible shares, and are at least half a person away from the estimate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

if TYPE_CHECKING:
    from warner.arrays import Array, Numbers

PERSON_ROUNDING = 1e-9  # part of a person that is rounding
ADDED_REPORTS = 4.0  # that make weights steady; about z^2 for 95 % intervals, as Agresti and Coull add


def never_empty(
    estimate: Numbers, below: Numbers, above: Numbers, span: tuple[Numbers, Numbers] = (0.0, 1.0)
) -> tuple[Numbers, Numbers]:
    """Give the ends that lie so far below and above an estimate, such that something is left of them within `span`.

    An estimate beyond what is possible is moved there, for the end on the far side. That only widens.

    >>> [float(end) for end in never_empty(1.25, 0.125, 0.125)]  # cut at 1, the interval is from 0.875 to 1
    [0.875, 1.375]
    """
    least, most = span
    return np.minimum(estimate, most) - below, np.maximum(estimate, least) + above


def normal_limits(
    estimate: Array,
    error: Array,
    tail: float,
    *,
    people: Numbers | None = None,
    unknown: Numbers = 0.0,
    span: tuple[float, float] = (0.0, 1.0),
) -> tuple[Array, Array]:
    """Give the ends of an interval with `tail` on either side, within `span`; never empty.

    With `people`, they are for a share among so many, of which so large a part as `unknown` may hold anything; numbers
    that are not whole are effective ones, of weights, and not rounded to.

    Examples
    --------
    Of ten people, 5.01 with a standard error of 0.02: that may be 5 or 6.

    >>> [end.round(6).tolist() for end in normal_limits(np.array(0.501), np.array(0.002), 0.025)]
    [0.49708, 0.50492]
    >>> [end.round(6).tolist() for end in normal_limits(np.array(0.501), np.array(0.002), 0.025, people=10)]
    [0.4, 0.6]
    """
    least, most = span
    half = -float(ndtri(tail)) * error
    if people is not None:
        half = np.where(error > 0, np.maximum(half, 0.5 / people), 0.0)  # without noise, the estimate is the share
    low, high = never_empty(estimate, half, half, span)
    if people is not None:
        whole = people == np.rint(people)
        low = np.where(whole, np.floor(people * low + PERSON_ROUNDING) / people, low)
        high = np.where(whole, np.ceil(people * high - PERSON_ROUNDING) / people, high)
    low = low - (unknown if least < 0 else 0.0)  # of a difference, either may be theirs
    return np.clip(low, least, most), np.clip(high + unknown, least, most)


class Sampled(NamedTuple):
    r"""An unbiased estimate of a share in the population that so many people were sampled from, with its error.

    Its variance is that of a sample, :math:`\theta(1-\theta)/n`, and that of the noise. Only the latter has to be
    estimated: at every share the former is known. So an interval ends at the roots of

    .. math:: (x - \theta)^2 = \frac{z^2}{n} \left(\theta(1-\theta) + \text{noise}\right),

    which are Wilson's where there is no noise, and x plus or minus z errors where there is much. Multiples of the
    error alone are far too short for rare answers with little noise, of which a sample may have too few, or none.
    """

    share: Array
    error: Array
    reports: Numbers

    @property
    def inside(self) -> Array:
        """The share, or the nearest possible one."""
        return np.clip(self.share, 0, 1)

    @property
    def noise(self) -> Array:
        """The variance that the noise adds to each report; infinite where reports do not tell the share."""
        return np.asarray(np.maximum(self.reports * self.error**2 - self.inside * (1 - self.inside), 0))

    def distances(self, tail: float) -> tuple[Array, Array]:
        """Give how far the ends of an interval are below and above the nearest possible share; neither is cut.

        Beyond 0 and 1, where no share is, the noise alone is left of the variance.
        """
        factor, inside, noise = float(ndtri(tail)) ** 2 / self.reports, self.inside, self.noise
        root = np.sqrt(4 * factor * (inside * (1 - inside) + (1 + factor) * noise) + factor**2)
        inward = factor * (1 - 2 * inside)  # an interval leans towards one half
        below, above = (
            np.maximum((root + side) / (2 * (1 + factor)), np.sqrt(factor * noise)) for side in (-inward, inward)
        )
        return below, above

    def limits(self, tail: float) -> tuple[Array, Array]:
        """Give the ends of an interval with `tail` on either side, within 0 and 1; never empty.

        Nobody of ten, without noise: Wilson's limits are 0 and z^2 / (n + z^2) = 0.27753.

        >>> [round(float(end), 5) for end in Sampled(np.array(0.0), np.array(0.0), 10.0).limits(0.025)]
        [0.0, 0.27753]
        """
        low, high = never_empty(self.share, *self.distances(tail))
        return np.clip(low, 0, 1), np.clip(high, 0, 1)


def sampled_together(each: Sampled) -> Sampled:
    r"""Average independent estimates of one share by their precision, along the first axis.

    Their variances are those at the share that they have in common. (By its own estimate, a collection that happens to
    have nobody with a rare answer would be the surest.) It is found in two steps, the first from the widest variance
    that a sample can have, 1/4. With the weights w, all together are worth :math:`1 / \sum_j (w_j^2 / n_j)` reports.

    Examples
    --------
    None of 100 and three of 200, without noise, are three of 300.

    >>> average = sampled_together(Sampled(np.array([0.0, 0.015]), np.zeros(2), np.array([100.0, 200.0])))
    >>> round(float(average.share), 9), round(float(average.reports), 9)
    (0.01, 300.0)
    """
    variance = np.asarray(0.25)
    for _ in range(2):
        errors = np.sqrt((variance + each.noise) / each.reports)
        share, error = combined(each.share, errors)
        inside = np.clip(share, 0, 1)
        variance = np.maximum(
            inside * (1 - inside), PERSON_ROUNDING**2
        )  # never zero, or it would not count how many they are
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = np.where(np.isfinite(errors), (error / errors) ** 2, 0.0)
        reports = np.where(np.isfinite(error), 1 / (weights**2 / each.reports).sum(axis=0), each.reports.sum(axis=0))
    return Sampled(share, error, reports)


def normal_test(share: float, error: float) -> float:
    """Give the two-sided p-value of a share of zero, whose estimate is approximately normal."""
    return float(2 * ndtr(-np.abs(ratio_to_error(np.asarray(share), np.asarray(error)))))


def ratio_to_error(share: Array, error: Array) -> Array:
    """Give how many standard errors a share is from zero; of no error, everything but nothing is far."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(error > 0, share / error, np.where(share == 0, 0.0, np.sign(share) * np.inf))


def averaged(shares: Array, errors: Array, reports: Numbers) -> tuple[Array, Array]:
    """Average estimates of one difference, along the first axis, with weights that hardly depend on them.

    By its own error alone, a collection that happens to have nobody with a rare answer would be the surest. So the
    weights are those of errors with a few reports more that score 1 or -1; of many reports these are nothing.
    """
    wide = np.sqrt(errors**2 + ADDED_REPORTS / reports**2)
    share, error = combined(shares, wide)
    known = np.isfinite(wide)
    weights = np.divide(error, wide, out=np.zeros(wide.shape), where=known) ** 2
    total = np.sqrt((weights**2 * np.where(known, errors, 0.0) ** 2).sum(axis=0))
    return share, np.where(np.isfinite(error), total, np.inf)


def combined(shares: Array, errors: Array) -> tuple[Array, Array]:
    """Average estimates by their precision, along the first axis; those with an infinite error say nothing."""
    with np.errstate(divide="ignore"):
        precision = 1 / errors**2
    certain = np.isinf(precision)  # without error: nothing else counts
    precision = np.where(certain.any(axis=0), certain, precision)
    total = precision.sum(axis=0)
    known = total > 0
    middle = np.divide((shares * precision).sum(axis=0), total, out=np.zeros(total.shape), where=known)
    error = np.divide(1, np.sqrt(total), out=np.full(total.shape, np.inf), where=known)
    return middle, np.where(certain.any(axis=0), 0.0, error)
