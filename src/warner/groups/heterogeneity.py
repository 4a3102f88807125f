r"""Do groups differ, and by how much: Cochran's Q, and the Q-profile interval of the spread.

If all groups have the same share (or lie on the regression), :math:`Q(0) = \sum (y_g - \mu_g)^2 / v_g` is chi-squared
with as many degrees of freedom as there are groups that tell the share, less the number of coefficients [1]_. Under
randomization counts are nearly normal, and the noise is known from the design, so that this holds down to groups of
five reports. With the spread :math:`\tau`, :math:`Q(\tau) = \sum (y_g - \mu_g)^2 / (v_g + \tau^2)` has that law; all
spreads at which it is neither improbably large nor improbably small are the interval [2]_, which may begin at 0.

References
----------
.. [1] W. G. Cochran, "The combination of estimates from different experiments", Biometrics 10 (1954), 101-129.
.. [2] W. Viechtbauer, "Confidence intervals for the amount of heterogeneity in meta-analysis", Stat. Med. 26 (2007),
   37-52.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import chdtrc, chdtri

from warner.groups.fay_herriot import fits, largest_spread
from warner.searching import bisected

if TYPE_CHECKING:
    from warner.arrays import Array
    from warner.groups.direct_estimates import DirectEstimates

HETEROGENEITY_TOLERANCE = 1e-9  # how near an end of the interval is found


class Q(NamedTuple):
    """Cochran's statistic with its degrees of freedom and the probability of one as large where groups are alike."""

    statistic: float
    freedom: int
    p_value: float


def cochran_q(direct: DirectEstimates, covariates: Array) -> Q:
    """Test whether all groups have one share, or lie on the regression."""
    freedom = degrees_of_freedom(direct, covariates)
    statistic = float(_q(direct, covariates, np.zeros(1), direct.overall())[0])
    return Q(statistic, freedom, float(chdtrc(freedom, statistic)) if freedom > 0 else 1.0)


def degrees_of_freedom(direct: DirectEstimates, covariates: Array) -> int:
    """Count the groups that tell the share, less the coefficients."""
    coefficients: int = covariates.shape[1]
    return int(direct.informative.sum()) - coefficients


def q_profile(
    direct: DirectEstimates, covariates: Array, level: float, limit: float | None = None
) -> tuple[float, float]:
    """Give the interval of the spread, from 0 to the largest that shares can have, or to a `limit`."""
    freedom = degrees_of_freedom(direct, covariates)
    overall = direct.overall()
    largest = largest_spread(direct, overall) if limit is None else limit
    if freedom <= 0:
        return 0.0, largest
    tails = chdtri(freedom, [(1 - level) / 2, (1 + level) / 2])

    def end(tail: float) -> float:
        """Find where Q, which falls with the spread, is this."""

        def below(spread: float) -> bool:
            return bool(_q(direct, covariates, np.array([spread]), overall)[0] <= tail)

        if below(0.0):
            return 0.0
        return bisected(below, 0.0, largest, close=HETEROGENEITY_TOLERANCE)[1] if below(largest) else largest

    return end(float(tails[0])), end(float(tails[1]))


def _q(direct: DirectEstimates, covariates: Array, spreads: Array, overall: float) -> Array:
    fit = fits(direct, covariates, spreads, overall)
    some = direct.informative
    total = np.where(some, fit.sampling_variance + spreads[:, np.newaxis] ** 2, 1.0)
    return np.asarray((some * (direct.share - fit.mean) ** 2 / total).sum(axis=1))
