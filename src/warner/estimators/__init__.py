"""Estimators of the true shares, from counts of reports.

`shrink` is the default for one symmetric design with 20 answers or more (without groups): the lowest total error known.
`smooth` is the default for designs with ordered answers. `mle` is the default elsewhere, if a report names one answer:
the most likely distribution, with a certificate. `inv_p` is the default where reports support several answers: its
squared error is at most that of `inv`, for every population and every sample. `inv_n` is for nearly equal shares.
`inv` alone is unbiased; confidence intervals are based on it, but shares may be negative. If every count is at least
N q (p > q), the last four agree. docs/explanation/choosing-an-estimator.md has the measurements.

For comparison there are the repairs of the literature (`warner.estimators.postprocessing`): `base_cut`, `norm_cut`,
`power`, `power_ns` and `mle_pooled`, for one collection under a symmetric design. `METHODS` lists all estimators.

Its files::

    methods             METHODS, the registry: solvers and properties of the estimators; the default; custom estimators
    closed_forms        the closed forms of symmetric designs, exactly
    projections         least squares under any table; projection onto the simplex
    likelihood          log-likelihood, Certificate, Fit
    maximum_likelihood  channel_mle: interior point, Newton, projected gradients, column generation; pools
    ibu                 the iterative Bayesian update, and its acceleration
    postprocessing      base_cut, norm_cut, power, power_ns, mle_pooled
    shrinkage           expected shares, averaged over a dictionary of priors
    smoothing           smooth: averaged curves through ordered answers
    priors              the dictionary of priors of a share
    auto                predicted errors, and the choice
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warner.designs.facts import full_symmetry
from warner.estimators import closed_forms
from warner.estimators.ibu import ibu
from warner.estimators.likelihood import Certificate, Fit, certificate
from warner.estimators.maximum_likelihood import channel_mle, most_likely
from warner.estimators.methods import (
    METHODS,
    MOST_LIKELY,
    NEAREST,
    UNBIASED,
    Method,
    estimates,
    fitted,
    refuse_silent,
    unbiased_shares,
)
from warner.reports.counts import checked, multinomial

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from warner.arrays import Array
    from warner.designs.contract import Design

__all__ = [
    "METHODS",
    "MOST_LIKELY",
    "NEAREST",
    "UNBIASED",
    "Certificate",
    "Fit",
    "Method",
    "certificate",
    "channel_mle",
    "estimates",
    "fitted",
    "ibu",
    "inv",
    "inv_n",
    "inv_p",
    "mle",
    "refuse_silent",
]


def inv(counts: ArrayLike, design: Design, *, n: ArrayLike | None = None) -> Array:
    r"""Estimate the true shares by undoing the randomization.

    A report names answer i with probability :math:`\phi_i = q + (p-q)\theta_i`. Solving for :math:`\theta_i` and
    inserting the observed share for :math:`\phi_i` gives the unbiased estimate [1]_:

    .. math:: \hat\theta_i = \frac{c_i/N - q}{p - q}.

    Unbiased and summing to one, but rare answers can go below zero; `mle` never does.

    For a `Channel` it is weighted least squares: the shares that minimize :math:`\sum_j (\phi_j - \mu_j)^2 / w_j`,
    where :math:`w_j` is the probability of the report j for equal shares. It is unbiased, and sums to one, for every
    design that identifies all shares; other designs raise an error.

    Parameters
    ----------
    counts : array_like of shape (..., k)
        Number of reports that named each answer; leading axes are separate surveys. Integers take the exact
        path, floats are weighted counts. For a `Channel` there is an entry for each output; for reports that are
        sets, the number of sets that contain the answer.
    design : Design
        Design of the reports.
    n : array_like of shape (...), optional
        Number of reports, if a report may support several answers, so that the counts do not sum to it.

    Returns
    -------
    ndarray of shape (..., k)
        The estimated shares. For one histogram of integers each is the correctly rounded exact value; in a batch,
        within 4 units in the last place of 1 (of the share itself where `inv` exceeds 1).

    References
    ----------
    .. [1] S. L. Warner, "Randomized response", J. Amer. Stat. Assoc. 60 (1965), 63-69.

    Examples
    --------
    Each of 100 respondents tells the truth with probability 3/4; 40 reports are "yes":
    (0.40 - 0.25) / (0.75 - 0.25) = 0.30.

    >>> from warner import RandomizedResponse
    >>> inv([40, 60], RandomizedResponse(["yes", "no"], truth="3/4"))
    array([0.3, 0.7])
    """
    return unbiased_shares(checked(counts, design, n), design)


def inv_n(counts: ArrayLike, design: Design, *, n: ArrayLike | None = None) -> Array:
    """Estimate the true shares by `inv`, negative shares set to zero and the others rescaled to sum to one.

    Known as INVN, or norm-mul. Parameters and precision as for `inv`. Shares of an incomplete list (a closed list of an
    open domain) are rescaled only if they sum to more than one.

    Examples
    --------
    Here `inv` gives (-0.2, 1.2), which is clipped and rescaled.

    >>> from warner import RandomizedResponse
    >>> inv_n([15, 85], RandomizedResponse(["yes", "no"], truth="3/4"))
    array([0., 1.])
    """
    return estimates(counts, design, ["inv_n"], n=n)["inv_n"]


def inv_p(counts: ArrayLike, design: Design, *, n: ArrayLike | None = None) -> Array:
    """Estimate the true shares by the distribution that is nearest to `inv` in Euclidean distance.

    Known as INVP, or norm-sub: every share of `inv` is lowered by one constant and cut off at zero. Parameters
    and precision as for `inv`. For an incomplete list (a closed list of an open domain), it is the nearest point with
    no negative share and a sum of at most one: `inv`, cut off at zero, if that sums to less.

    Examples
    --------
    `inv` gives (-0.2, 0.4, 0.8): lowered by 0.1 and cut off at zero they sum to one.

    >>> from warner import RandomizedResponse
    >>> inv_p([20, 35, 45], RandomizedResponse(3, odds=(2, 1)))
    array([0. , 0.3, 0.7])
    """
    return estimates(counts, design, [NEAREST], n=n)[NEAREST]


def mle(counts: ArrayLike, design: Design) -> Array:
    r"""Estimate the true shares by the distribution that makes the observed counts most likely.

    With :math:`E = e^\varepsilon - 1` and A the answers with a positive share, m of them with s reports together,

    .. math:: \hat\theta_i = \frac{c_i (E + m)/s - 1}{E} \quad (i \in A), \qquad A = \{i : c_i (E + m) > s\},

    for p > q; for p < q, where E = p/q - 1 is negative, the inequality is turned: the *largest* counts are cut off.
    This is MLE* of [1]_: the limit of the iterative Bayesian update (`warner.ibu`), without the iteration.
    Parameters and precision as for `inv`; `warner.certificate` verifies any result. For a `Channel` the solver is
    `warner.channel_mle`, one histogram after the other.

    Notes
    -----
    Unique, with one exception: if p < q and several answers were never reported, every distribution on those
    is equally likely, and the uniform one is returned (`warner.certificate` says so).

    References
    ----------
    .. [1] C. A. Pinzón et al., "Estimating the True Distribution of Data Collected with Randomized Response",
       AAAI 2026.

    Examples
    --------
    Odds 2 : 1 among four answers, so E = 1. Answer 0 has 1 * (1 + 4) <= 21 and is cut off; of the others, with
    m = 3 and s = 20, the shares are 4 c / 20 - 1.

    >>> from warner import RandomizedResponse
    >>> mle([1, 6, 6, 8], RandomizedResponse(4, odds=(2, 1)))
    array([0. , 0.2, 0.2, 0.6])
    """
    histograms = multinomial(counts, design)
    if (symmetry := full_symmetry(design.law)) is not None:
        return closed_forms.shares(histograms, symmetry, closed_forms.most_likely)
    flat = histograms.rows()
    rows = [most_likely([(design, flat.row(index))]).shares for index in range(len(flat.n))]
    return np.array(rows).reshape(*histograms.n.shape, design.k)
