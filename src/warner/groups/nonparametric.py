r"""Any law of the shares: nonparametric maximum likelihood, for groups that form clusters or lie far out.

A group's count is binomial: of :math:`n_g` people :math:`c_g` were counted, each with probability
:math:`b + a\theta_g`. So the likelihood :math:`f_g(x)` of every share x is known, and the law of the shares can be
anything. The one that makes the counts most likely, :math:`\max_\pi \sum_g \log \sum_j \pi_j f_g(x_j)` [1]_, is found
on a grid. It is a maximum if, and only if, no value is worth more weight,

.. math:: d_j = \frac1G \sum_g \frac{f_g(x_j)}{\sum_i \pi_i f_g(x_i)} \le 1 \quad \text{for all } j,
          \qquad \pi_j (1 - d_j) = 0,

which Newton's steps solve with :math:`\pi_j (1 - d_j) = \mu` and :math:`\mu` that falls to 0 (an interior-point method,
as in [2]_). The share of a group is then its posterior mean.

Where shares are normal or beta, partial pooling (`fay_herriot`) is closer, since it has only two numbers to learn. So
this law is taken only where a hundred groups or more make it far more likely than the best beta law: by more than
:math:`A \log G`, where A is the number of values that have weight, at least 3. That is Schwarz's criterion: each value
costs two numbers, itself and its weight, of :math:`\tfrac12 \log G` each. (With 3 for all A, normal shares with little
noise were taken for clusters.) Its own posterior intervals are too short, as they take the estimated law for the true
one: the standard errors stay those of partial pooling. A group whose noise is less than the distance between two values
of the grid keeps its partially pooled share, which is nearly its own.

References
----------
.. [1] J. Kiefer, J. Wolfowitz, "Consistency of the maximum likelihood estimator in the presence of infinitely many
   incidental parameters", Ann. Math. Stat. 27 (1956), 887-906.
.. [2] R. Koenker, I. Mizera, "Convex optimization, shape constraints, compound decisions, and empirical Bayes rules",
   J. Amer. Stat. Assoc. 109 (2014), 674-685.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit, xlog1py, xlogy

from warner.arrays import SMALLEST
from warner.groups.fay_herriot import BLOCK
from warner.special import beta_cdf

if TYPE_CHECKING:
    from warner.arrays import Array
    from warner.groups.direct_estimates import DirectEstimates
    from warner.groups.fay_herriot import Pooled
    from warner.inference.binomial import Binomial

VALUES = 121  # of the grid of shares
FEWEST_GROUPS_FOR_ANY_LAW, FEWEST_VALUES = 100, 3  # for which this law is thought of
LEARNT_FROM = 4_000  # groups at most, evenly spaced among all: so many tell the law
CERTIFIED = 1e-6  # how much more than 1 a derivative may be
LAW_NEWTON_STEPS = 200  # at most; about 20 are needed
SHRINKING = 0.1  # of mu from step to step
HAS_WEIGHT = 1e-4  # weight of a value that counts as one


def shares_under_any_law(counts: Binomial, direct: DirectEstimates, pooled: Pooled) -> Array | None:
    """Give the posterior means of the shares under the most likely law; None where a beta law says as much.

    `counts` are those of all groups, NaN where there are no reports; `pooled` are their partially pooled shares.
    """
    told = direct.informative & np.isfinite(counts.count)
    if told.sum() < FEWEST_GROUPS_FOR_ANY_LAW:
        return None
    first, last = np.clip([direct.share[told].min(), direct.share[told].max()], 0, 1)
    grid = np.linspace(first, last, VALUES)  # the law has no weight elsewhere
    noise = np.sqrt(direct.sampling_variance(pooled.overall, 0.0))
    fine = np.flatnonzero(told & (noise >= grid[1] - grid[0]))
    if fine.size < FEWEST_GROUPS_FOR_ANY_LAW or first == last:
        return None
    learnt = fine[:: -(-fine.size // LEARNT_FROM)]
    distinct, repeated = np.unique(np.stack([part[learnt] for part in counts]), axis=1, return_counts=True)
    likelihood, many = likelihoods(distinct, grid), repeated.astype(np.float64)
    law = most_likely_law(likelihood, many)
    gain = log_likelihood(likelihood, law, many) - best_beta_likelihood(likelihood, grid, many, pooled)
    if gain <= max(FEWEST_VALUES, values_with_weight(law)) * np.log(learnt.size):
        return None
    shares = np.array(pooled.share)
    for block in np.array_split(fine, -(-fine.size * VALUES // BLOCK)):
        joint = likelihoods(np.stack([part[block] for part in counts]), grid) * law
        shares[block] = joint @ grid / joint.sum(axis=1)
    shares[~told] = law @ grid  # groups that tell nothing have the mean of all
    return shares


def likelihoods(counts: Array, grid: Array) -> Array:
    """Give the likelihood of each share of a grid in each group, (groups, grid), the largest 1.

    `counts` are rows: the count, the trials, base and gain.
    """
    count, trials, base, gain = counts[:, :, np.newaxis]
    probability = np.clip(base + gain * grid, 0, 1)
    logarithm = xlogy(count, probability) + xlog1py(trials - count, -probability)
    return np.asarray(np.exp(logarithm - logarithm.max(axis=1, keepdims=True)))


def log_likelihood(likelihood: Array, law: Array, many: Array) -> float:
    """Give the log-likelihood of a law on the grid."""
    return float(many @ np.log(np.maximum(likelihood @ law, SMALLEST)))


def derivatives(likelihood: Array, law: Array, many: Array) -> Array:
    """Give the directional derivatives towards each value of the grid, over the groups: at most 1 at the maximum."""
    return np.asarray(many @ (likelihood / (likelihood @ law)[:, np.newaxis]) / many.sum())


def most_likely_law(likelihood: Array, many: Array) -> Array:
    """Give the law on a grid under which counts are most likely; `many` groups have each row of the likelihood."""
    weight = many / many.sum()
    size = likelihood.shape[1]
    law, slack = np.full(size, 1 / size), np.ones(size)
    for _ in range(LAW_NEWTON_STEPS):
        if derivatives(likelihood, law / law.sum(), many).max() <= 1 + CERTIFIED:
            break
        scaled = likelihood / (likelihood @ law)[:, np.newaxis]
        target = SHRINKING * (law @ slack) / size / law
        curvature = (scaled.T * weight) @ scaled
        curvature[np.diag_indices(size)] += slack / law
        step = np.linalg.solve(curvature, weight @ scaled - 1 + target)
        change = target - slack - slack / law * step
        law = law + _feasible(law, step) * step
        slack = slack + _feasible(slack, change) * change
    return np.asarray(law / law.sum())


def _feasible(values: Array, step: Array) -> float:
    """Give the part of a step, at most the whole, that leaves all values positive."""
    falling = step < 0
    return min(1.0, 0.99 * float(np.min(-values[falling] / step[falling]))) if falling.any() else 1.0


def values_with_weight(law: Array) -> int:
    """Count the values of a law: neighbours on the grid that have weight are one value, between them."""
    weighty = law > HAS_WEIGHT
    return int(weighty[0]) + int((weighty[1:] & ~weighty[:-1]).sum())


def best_beta_likelihood(likelihood: Array, grid: Array, many: Array, pooled: Pooled) -> float:
    """Give the log-likelihood of the most likely beta law, in the cells of the grid."""
    from scipy.optimize import minimize  # which takes longer to load than all of our modules

    edges = np.concatenate([[0], (grid[1:] + grid[:-1]) / 2, [1]])

    def law(mean_and_size: Array) -> Array:
        mean, size = expit(mean_and_size[0]), np.exp(np.clip(mean_and_size[1], -20, 20))
        return np.diff(beta_cdf(max(mean * size, SMALLEST), max((1 - mean) * size, SMALLEST), edges))

    mean = float(np.clip(pooled.overall, 0.01, 0.99))
    relative = np.clip(pooled.spread**2 / (mean * (1 - mean)), 1e-4, 0.9)
    found = minimize(
        lambda x: -log_likelihood(likelihood, law(x), many),
        [logit(mean), np.log(1 / relative - 1)],
        method="Nelder-Mead",
        options={"xatol": 1e-3, "fatol": 1e-3},
    )
    return -float(found.fun)
