r"""Debiased indicators of the answers: numbers that are right on average, whatever the answer is.

For a report j of a person whose answer is k, weights z with :math:`E[z \mid k] = e_k` can stand for the indicators of
the answer wherever these enter linearly: in shares, in least squares, in the score of an outcome model. With the table
C of the design, of shape (answers, reports), z is row j of a matrix M with :math:`CM = I`. Of all these

.. math:: M = D C' (C D C')^{-1}, \qquad D = \operatorname{diag}(1/\mu_0), \quad \mu_0 = C'\theta_0,

varies least if the shares are :math:`\theta_0`, and its rows sum to one, since :math:`C D C' \theta_0 = C D \mu_0 = 1`.
A pseudo-inverse of C has neither property.

A worked number: truth with probability 3/4 gives C = [[3/4, 1/4], [1/4, 3/4]], and a report of yes counts as 3/2 of a
person who would have answered yes and as -1/2 of one who would have answered no: 3/4 * 3/2 - 1/4 * 1/2 = 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.designs.contract import INVERSE_TOLERANCE
from warner.designs.matrices import inverse

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.arrays import Array
    from warner.designs.facts import Symmetry
    from warner.regression.data import Observations


class DebiasedOutcomes(NamedTuple):
    """Outcomes that are right on average, (n, f), and how they vary by randomization alone.

    `randomized` gives from fitted outcomes, (n, f), the covariances of the sum of their products with the columns, one
    outcome after the other, if nothing but the reports varied.
    """

    z: Array
    randomized: Callable[[Array], Array]


def debiasing(table: Array, shares: Array) -> Array | None:
    """Give the matrix M with CM = I that varies least under these shares; None where reports do not tell all answers.

    Parameters
    ----------
    table : array of shape (k, reports)
        The probability of each report after each answer.
    shares : array of shape (k,)
        About how common each answer is. Whatever is given here, M undoes the table; these only decide how much it
        varies.

    Returns
    -------
    array of shape (reports, k), or None
        Rows sum to one; that of a report which no answer leads to is zero.

    Examples
    --------
    >>> debiasing(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([0.5, 0.5])).round(12)
    array([[ 1.5, -0.5],
           [-0.5,  1.5]])
    """
    matrix = inverse(table, shares)
    return matrix if np.abs(table @ matrix - np.eye(len(table))).max() <= INVERSE_TOLERANCE else None


def debiased(rows: Observations, shares: Array) -> Array | None:
    """Give for each row the debiased indicators of the answers, of shape (n, k); they sum to one in each row.

    None where some design that was used does not tell all answers.

    Parameters
    ----------
    rows : Observations
        Reports, each under its design.
    shares : array of shape (k,)
        About how common each answer is; see `debiasing`.

    Examples
    --------
    Of four people who told the truth with probability 3/4, the first and the last reported yes.

    >>> from warner import RandomizedResponse
    >>> from warner.regression.data import Observations
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> table, report, one = survey.channel(), np.array([0, 1, 1, 0]), np.ones(4)
    >>> rows = Observations(one[:, None], table.T[report], one, one, one, (survey,), 0 * report, report, (table,))
    >>> debiased(rows, np.array([0.5, 0.5])).round(12)
    array([[ 1.5, -0.5],
           [-0.5,  1.5],
           [-0.5,  1.5],
           [ 1.5, -0.5]])
    """
    indicators = np.empty_like(rows.likelihood)
    for place, (design, table) in enumerate(zip(rows.designs, rows.tables, strict=True)):
        of_design = rows.design == place
        if not of_design.any():
            continue
        if table is not None:
            matrix = debiasing(table, shares)
            part = None if matrix is None else matrix[rows.report[of_design]]
        else:
            part = _of_support(rows.likelihood[of_design], design.symmetry)
        if part is None:
            return None
        indicators[of_design] = part
    return indicators


def _of_support(likelihood: Array, symmetry: Symmetry | None) -> Array | None:
    """Give the debiased indicators of reports that support sets S of answers, which their likelihood shows.

    z_k = ([k in S] - q) / (p - q) has mean e_k, so that the sum has mean one, and what the sum lacks of one can be
    shared out among all answers. After that, no support at all and support of all answers are the same: 1/k for each.
    """
    if symmetry is None or symmetry.a == symmetry.b:
        return None
    level = likelihood.mean(axis=1, keepdims=True)
    supported = likelihood > level if symmetry.p > symmetry.q else likelihood < level
    scores = supported / symmetry.gain
    return np.asarray(scores + (1 - scores.sum(axis=1, keepdims=True)) / likelihood.shape[1])
