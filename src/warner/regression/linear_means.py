r"""Linear model of a randomized number: least squares of the scores of reports.

With :math:`E[s \mid \text{number } x] = x` (`scores`), the regression of the scores on the columns is that of the
numbers themselves: the coefficient of a randomized treatment is the difference of two means, and an intercept alone is
the mean that `warner.Estimate.mean` gives, with weights, clusters and strata. Fitted means may leave the range of the
numbers.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from warner.regression.debiased import DebiasedOutcomes
from warner.regression.scores import least_variance

if TYPE_CHECKING:
    from warner.arrays import Array
    from warner.regression.data import Observations


def debiased_numbers(rows: Observations, values: Array) -> DebiasedOutcomes:
    """Give the scores of the reports, and how much these vary by randomization alone."""
    assert rows.scores is not None
    return DebiasedOutcomes(rows.scores[:, np.newaxis], partial(_randomized, rows, values))


def _randomized(rows: Observations, values: Array, fitted: Array) -> Array:
    """Give the covariances of the sum of weighted scores if only reports varied, for people with these fitted means.

    Whatever the numbers of such people are, reports vary at least so much; those that cannot be listed add nothing.
    """
    total = np.zeros((rows.x.shape[1], rows.x.shape[1]))
    for place, design in enumerate(rows.designs):
        least = least_variance(design, values)
        if least is None:
            continue
        of_design = rows.design == place
        x = rows.x[of_design]
        total += (x.T * (rows.square[of_design] * least.at(fitted[of_design, 0]))) @ x
    return total
