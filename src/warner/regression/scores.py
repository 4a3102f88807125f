r"""Scores of reports, and debiased indicators of answers: unbiased numbers, whatever the answer is.

Where answers have numeric values x, a report j has a score :math:`s_j` with :math:`\sum_j C_{ij} s_j = x_i` for each
answer i: the unbiased estimate of a mean (`warner.Estimate.mean`) from this report alone. So scores can replace the
numbers wherever these enter linearly: in least squares, in covariances. They come from `Law.readout`, in closed form
where a design has one: no table of answers and reports is made.

After the answer i scores vary by :math:`v_i = \sum_j C_{ij} s_j^2 - x_i^2`, which follows from the design. The variance
at a mean of m is at least the lower convex envelope of the points :math:`(x_i, v_i)` at m, for all distributions.

A worked number: under a square wave of width 1 on 0, 1, 2 and 3 with odds 3 : 1, M = 12, the reports -1 to 4 are
stretched around 3/2 by M/((a-b)(2w+1)) = 2. A report of 4 scores 3/2 + 2 * 5/2 = 13/2.

For a report j of a respondent whose answer is k, weights z with :math:`E[z \mid k] = e_k` can replace the indicators of
the answer wherever these enter linearly: in shares, in least squares, in the score of an outcome model. With the table
C of the design, of shape (answers, reports), z is row j of a matrix M with :math:`CM = I`. Of all these

.. math:: M = D C' (C D C')^{-1}, \qquad D = \operatorname{diag}(1/\mu_0), \quad \mu_0 = C'\theta_0,

varies least if the shares are :math:`\theta_0`, and its rows sum to one, since :math:`C D C' \theta_0 = C D \mu_0 = 1`.
A pseudo-inverse of C has neither property.

A worked number: truth with probability 3/4 gives C = [[3/4, 1/4], [1/4, 3/4]], and a report of yes counts as 3/2 for
the answer yes and as -1/2 for the answer no: 3/4 * 3/2 - 1/4 * 1/2 = 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.designs.facts import LinearCombination, Symmetry, full_symmetry
from warner.designs.law import INVERSE_TOLERANCE
from warner.designs.matrices import inverse
from warner.inference.means import sets_of

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers
    from warner.designs.contract import Design
    from warner.regression.data import Observations


# Scores


NUMBERS_AT_ONCE = 2**22  # counts of single reports that are held at a time


def report_scores(design: Design, reports: Counts, values: Array) -> Array:
    """Unbiased scores of reports, given as codes, for answers with numeric values.

    >>> from warner import SquareWave
    >>> report_scores(SquareWave(4, odds=(3, 1), width=1), np.arange(6), np.arange(4.0)).round(9)
    array([-3.5, -1.5,  0.5,  2.5,  4.5,  6.5])
    """
    if not len(reports):
        return np.zeros(0)
    step = max(1, NUMBERS_AT_ONCE // len(design.law.columns))
    parts = []
    for start in range(0, len(reports), step):
        block = reports[start : start + step]
        each = np.arange(len(block))
        parts.append(_scores(design, design.law.count(block, group=each, groups=len(block)).counts, values))
    return np.concatenate(parts)


def column_scores(design: Design, columns: Integers, values: Array) -> Array:
    """Unbiased scores of reports that are given as columns of the design's operator."""
    if design.law.sufficient != "counts":
        return report_scores(design, columns, values)
    width = len(design.law.columns)
    step = max(1, NUMBERS_AT_ONCE // width)
    blocks = (columns[start : start + step] for start in range(0, len(columns), step))
    parts = [_scores(design, (block[:, np.newaxis] == np.arange(width)).astype(np.int64), values) for block in blocks]
    return np.concatenate(parts) if parts else np.zeros(0)


def _scores(design: Design, counts: Counts, values: Array) -> Array:
    """Unbiased mean of each row of counts, which is that of one report."""
    least, width = float(values.min()), float(np.ptp(values))
    if width == 0:
        return np.full(len(counts), least)
    one, memberships = np.ones((len(counts), 1)), (values - least) / width
    readout = design.law.readout(counts, one, sets_of(memberships))
    if (np.asarray(readout.trials) != 1).any():  # a share among some respondents is no mean over all reports
        readout = design.law.readout(counts, one, LinearCombination(memberships[np.newaxis]))
    if readout.error is not None and not np.isfinite(readout.error).all():
        raise ValueError(
            "values must be such that reports identify their mean, and these do not: the design gives some answers "
            "with different numbers the same probabilities"
        )
    return np.asarray(least + width * np.broadcast_to(readout.share(), (len(counts), 1))[:, 0])


class LeastVariance(NamedTuple):
    """Least variance of scores due to randomization, as a function of the mean: corners of a convex polygon."""

    means: Array
    variances: Array

    def interpolated(self, means: Array) -> Array:
        """Least variance at these means; beyond the range of the numbers, that at its end."""
        return np.interp(means, self.means, self.variances)


def least_variance(design: Design, values: Array) -> LeastVariance | None:
    """Least variance of scores under a design; None where its reports cannot be listed.

    >>> from warner import RandomizedResponse
    >>> least_variance(RandomizedResponse(["no", "yes"], truth="3/4"), np.array([0.0, 10.0])).variances
    array([75., 75.])
    """
    if design.law.sufficient is None:
        return None
    operator = design.law.likelihood()
    scores = column_scores(design, np.arange(operator.shape[1]), values)
    spread = np.maximum(operator.adjoint(scores**2) - values**2, 0.0)
    return lower_envelope(values, spread)


def lower_envelope(x: Array, y: Array) -> LeastVariance:
    """Corners of the lower convex envelope of points.

    >>> lower_envelope(np.array([0.0, 1.0, 2.0, 3.0]), np.array([3.0, 1.0, 2.0, 0.0])).means.tolist()
    [0.0, 1.0, 3.0]
    """
    corners: list[tuple[float, float]] = []
    for index in np.lexsort((y, x)).tolist():
        here = float(x[index]), float(y[index])
        if corners and corners[-1][0] == here[0]:
            continue  # a higher point at the same number
        while len(corners) > 1:
            (x0, y0), (x1, y1) = corners[-2:]
            if (y1 - y0) * (here[0] - x0) < (here[1] - y0) * (x1 - x0):
                break
            corners.pop()  # not below the line through its neighbors
        corners.append(here)
    means, variances = np.array(corners).T
    return LeastVariance(means, variances)


# Debiased


def debiasing(table: Array, shares: Array) -> Array | None:
    """Matrix M with CM = I of least variance under these shares; None where the shares are not identified.

    Rows of M, (reports, k), sum to one, but for reports that no answer leads to. M inverts the table, (k, reports), for
    any `shares`; these only determine its variance.

    >>> debiasing(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([0.5, 0.5])).round(12)
    array([[ 1.5, -0.5],
           [-0.5,  1.5]])
    """
    matrix = inverse(table, shares)
    return matrix if np.abs(table @ matrix - np.eye(len(table))).max() <= INVERSE_TOLERANCE else None


def debiased(rows: Observations, shares: Array) -> Array | None:
    """Debiased indicators of the answers for each row, (n, k); they sum to one in each row.

    None where a design does not identify all answers. For `shares` see `debiasing`.

    >>> from warner import RandomizedResponse
    >>> from warner.regression.data import Observations
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> table, report, one = survey.channel(), np.array([0, 1]), np.ones(2)
    >>> rows = Observations(one[:, None], table.T[report], one, one, one, (survey,), 0 * report, report, (table,))
    >>> debiased(rows, np.array([0.5, 0.5])).round(12)
    array([[ 1.5, -0.5],
           [-0.5,  1.5]])
    """
    indicators = np.empty_like(rows.likelihood)
    for index, (design, table) in enumerate(zip(rows.designs, rows.tables, strict=True)):
        of_design = rows.design == index
        if not of_design.any():
            continue
        if table is not None:
            matrix = debiasing(table, shares)
            part = None if matrix is None else matrix[rows.report[of_design]]
        else:
            part = _of_support(rows.likelihood[of_design], full_symmetry(design.law))
        if part is None:
            return None
        indicators[of_design] = part
    return indicators


def _of_support(likelihood: Array, symmetry: Symmetry | None) -> Array | None:
    """Debiased indicators of reports that support sets S of answers, which their likelihood shows.

    z_k = ([k in S] - q) / (p - q) has mean e_k, so that the sum has mean one, and what the sum lacks of one can be
    shared out among all answers. After that, no support at all and support of all answers are the same: 1/k for each.
    """
    if symmetry is None or symmetry.p == symmetry.q:
        return None
    level = likelihood.mean(axis=1, keepdims=True)
    supported = likelihood > level if symmetry.p > symmetry.q else likelihood < level
    scores = supported / symmetry.gain
    return np.asarray(scores + (1 - scores.sum(axis=1, keepdims=True)) / likelihood.shape[1])
