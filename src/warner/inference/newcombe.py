r"""Newcombe's interval: the difference of two independent shares, joined from an interval of each.

Each share has an interval of its own, :math:`l_s` to :math:`u_s` around the unbiased estimate :math:`\hat\theta_s`;
neither is cut at 0 and 1. Their difference has the interval

.. math:: \hat\theta_1 - \hat\theta_2 - \sqrt{(\hat\theta_1 - l_1)^2 + (u_2 - \hat\theta_2)^2}
   \quad\text{to}\quad
   \hat\theta_1 - \hat\theta_2 + \sqrt{(u_1 - \hat\theta_1)^2 + (\hat\theta_2 - l_2)^2}

(Newcombe [1]_; Zou and Donner [2]_). It asks only for the two intervals, so that it holds for any two designs; with
exact intervals it errs on the safe side. The p-value is then the smallest :math:`\alpha` at which the interval of level
:math:`1 - \alpha` leaves out 0: interval and test cannot disagree.

.. [1] R. G. Newcombe, "Interval estimation for the difference between independent proportions: comparison of eleven
   methods", Statistics in Medicine 17 (1998), 873-890.
.. [2] G. Y. Zou, A. Donner, "Construction of confidence limits about effect measures: a general approach", Statistics
   in Medicine 27 (2008), 1693-1702.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from warner.inference.binomial import USUAL_QUANTILE, binomial_limits
from warner.searching import rising_roots

if TYPE_CHECKING:
    from warner.inference.binomial import Binomial
    from warner.inference.normal import Sampled

SMALLEST_ALPHA = 1e-300  # below, a p-value is as good as zero
TEST_QUANTILE_TOLERANCE = 1e-12  # to which the normal quantile of a p-value is found


class Sample(NamedTuple):
    """What a sample tells of one share: an unbiased estimate, and the binomial count that tells it exactly, if any."""

    estimate: Sampled
    binomial: Binomial | None = None

    @property
    def unbiased(self) -> float:
        """The unbiased estimate."""
        return float(self.estimate.share)

    def interval(self, tail: float) -> tuple[float, float]:
        """Give an interval around the unbiased estimate, from the exact limits of the count where there is one.

        It is not cut to 0 and 1. That is done with the difference: distances to ends that were cut would be too short.
        """
        if self.binomial is None:
            below, above = self.estimate.distances(tail)
            return self.unbiased - float(below), self.unbiased + float(above)
        limits = binomial_limits(self.binomial.count, self.binomial.n, tail)
        low, high = self.binomial.ordered(*(self.binomial.share_at(float(limit)) for limit in limits))
        return low, high


def joined(samples: list[Sample], alpha: float) -> tuple[float, float]:
    """Give the interval of the difference at the level 1 - alpha; its ends may lie beyond -1 and 1."""
    (low1, high1), (low2, high2) = (sample.interval(alpha / 2) for sample in samples)
    one, two = (sample.unbiased for sample in samples)
    return one - two - math.hypot(one - low1, high2 - two), one - two + math.hypot(high1 - one, two - low2)


def joined_test(samples: list[Sample]) -> float:
    """Give the smallest alpha at which the interval of level 1 - alpha leaves out 0, by its normal quantile."""
    first_is_larger = samples[0].unbiased > samples[1].unbiased

    def beyond_zero(quantile: float) -> float:
        low, high = joined(samples, 2 * float(ndtr(-quantile)))
        return -low if first_is_larger else high

    farthest = -float(ndtri(SMALLEST_ALPHA / 2))
    if beyond_zero(farthest) < 0:
        return SMALLEST_ALPHA
    nearest = beyond_zero(0.0)
    if nearest >= 0:
        return 1.0
    # An end moves about evenly with the quantile.
    slope = (beyond_zero(USUAL_QUANTILE) - nearest) / USUAL_QUANTILE
    place, scale = np.array([-nearest / slope]), np.array([1 / slope])
    close = np.array([TEST_QUANTILE_TOLERANCE])
    found = rising_roots(lambda at, _: np.array([beyond_zero(at.item())]), place, scale, 0.0, farthest, close)
    return 2 * float(ndtr(-found.item()))
