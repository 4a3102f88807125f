r"""FAB limits: confidence intervals that are exact for every group, and short where the other groups suggest.

"Frequentist, assisted by Bayes" [1]_: Clopper and Pearson's interval has the error probability :math:`\alpha/2` in
either tail. Any other division is exact as well, even one that depends on the share: the share :math:`\theta` is
accepted after c of n reports if, for a positive gain,

.. math:: P_\theta(X \le c) > \alpha \, (1 - s(\theta)) \quad \text{and} \quad P_\theta(X \ge c) > \alpha \, s(\theta).

Whatever the function s is, the probability that the true share is not accepted is at most :math:`\alpha`, as long as s
does not depend on the group's own reports. Intervals are the shortest on average over shares with mean m and spread
:math:`\tau` if

.. math:: \Phi^{-1}(\alpha s) - \Phi^{-1}(\alpha (1 - s)) = 2 \sigma_\theta (m - \theta) / \tau^2, \qquad
          \sigma_\theta^2 = f (1 - f) / (n a^2), \quad f = b + a \theta.

Far above m, s is near 0, and the lower tail has all of :math:`\alpha`. For a negative gain s and 1 - s change places.

m and :math:`\tau` come from all other groups. Each is left out of the regression and of the restricted likelihood of
`fay_herriot` by taking its terms away: with the leverage :math:`h = w x' A^{-1} x` and the residual e, the prediction
without the group is :math:`y - e/(1-h)`, the determinant :math:`(1-h) \det A`, and the sum of squares smaller by
:math:`w e^2 / (1-h)`. What that leaves, the share at which variances are taken, comes from the half of the groups to
which the group does not belong, so that nothing at all depends on its own reports.

References
----------
.. [1] C. Yu, P. D. Hoff, "Adaptive multigroup confidence intervals with constant coverage", Biometrika 105 (2018),
   319-335.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

from warner.groups.fay_herriot import SPREADS, fits, largest_spread
from warner.inference.binomial import Binomial, at_least
from warner.searching import bisected_each

if TYPE_CHECKING:
    from warner.arrays import Array, Integers, Mask
    from warner.groups.direct_estimates import DirectEstimates

SHARES = 101  # at which every group looks for the ends of its interval, twice
FAB_HALVINGS = 30  # of the distance between two of them
DIVISIONS = 4001  # of the error probability, in a table
LEAST_DIVISION = 1e-6  # no tail is without error probability
LEAST_BELIEVED_SPREAD = 1e-3  # that is believed of the other groups
GROUPS_AT_ONCE = 2_000


class Prior(NamedTuple):
    """What the other groups suggest of each: the mean and the spread of its share."""

    mean: Array
    spread: Array


def from_the_others(direct: DirectEstimates, covariates: Array) -> Prior:
    """Give mean and spread for every group, from the reports of all others."""
    groups = direct.share.size
    mean, spread = np.full(groups, 0.5), np.full(groups, np.inf)  # the tails are divided evenly
    odd = np.arange(groups) % 2 == 1
    for half in (odd, ~odd):
        other = direct.select(~half)
        if half.any() and other.informative.any() and direct.informative.sum() > covariates.shape[1] + 2:
            at = other.overall()
            left_out = _left_out(direct, covariates, at, largest_spread(other, at))
            mean[half], spread[half] = left_out.mean[half], left_out.spread[half]
    return Prior(mean, spread)


def _left_out(direct: DirectEstimates, covariates: Array, at: float, largest: float) -> Prior:
    """Leave out each group in turn; variances are taken at one share, and spreads go up to the largest."""
    spreads = largest * np.linspace(0, 1, SPREADS) ** 2
    cells = np.gradient(spreads)
    likelihood, means = np.empty((2, SPREADS, direct.share.size))
    for place, spread in enumerate(spreads):
        fit = fits(direct, covariates, np.array([spread]), at, steps=1)
        total = np.where(direct.informative, fit.sampling_variance[0] + spread**2, 1.0)
        weight = direct.informative / total
        remaining = np.maximum(1 - weight * fit.variance_of_mean[0], 1e-12)
        residual = direct.share - fit.mean[0]
        means[place] = direct.share - residual / remaining
        # Twice the log-likelihood changes by the terms of the group: log w, log (1 - h), and its part of the squares
        lost = np.log(total) + weight * residual**2 / remaining - np.log(remaining)
        likelihood[place] = fit.log_likelihood[0] + np.where(direct.informative, lost, 0.0) / 2
    weights = cells[:, np.newaxis] * np.exp(likelihood - likelihood.max(axis=0))
    weights /= weights.sum(axis=0)
    means = np.where(direct.informative, means, direct.share)
    return Prior((weights * means).sum(axis=0), np.maximum(spreads @ weights, LEAST_BELIEVED_SPREAD))


def fab_limits(counts: Binomial, prior: Prior, level: float) -> tuple[Array, Array]:
    """Give the limits of the shares behind binomial counts; a prior that knows nothing gives Clopper and Pearson's."""
    blocks = range(0, counts.count.size, GROUPS_AT_ONCE)
    ends = []
    for first in blocks:
        some = slice(first, first + GROUPS_AT_ONCE)
        chosen = Binomial(*(part[some] for part in counts)), Prior(*(part[some] for part in prior))
        ends.append(_limits(*chosen, 1 - level))
    low, high = (np.concatenate(parts) for parts in zip(*ends, strict=True))
    return low, high


def _limits(counts: Binomial, prior: Prior, alpha: float) -> tuple[Array, Array]:
    shares = _shares_tried(counts, alpha)
    accepted = np.stack([_accepts(counts, prior, alpha, share) for share in shares])
    first, last = accepted.argmax(axis=0), len(shares) - 1 - accepted[::-1].argmax(axis=0)

    def at(place: Integers) -> Array:
        return np.asarray(shares[np.clip(place, 0, len(shares) - 1), np.arange(shares.shape[1])])

    def inside(share: Array) -> Mask:
        return _accepts(counts, prior, alpha, share)

    low, _ = bisected_each(inside, at(first - 1), at(first), FAB_HALVINGS)
    _, high = bisected_each(lambda share: ~inside(share), at(last), at(last + 1), FAB_HALVINGS)
    return np.where(first == 0, 0.0, low), np.where(last == len(shares) - 1, 1.0, high)


def _shares_tried(counts: Binomial, alpha: float) -> Array:
    """Give shares in rising order, of shape (shares, groups): over the whole range, and near the unbiased share."""
    f = np.clip(counts.count / counts.n, 0.5 / (counts.n + 1), 1 - 0.5 / (counts.n + 1))
    unbiased = np.clip(counts.share_at(f), 0, 1)
    widest = -ndtri(alpha * LEAST_DIVISION) * np.sqrt(f * (1 - f) / counts.n) / np.abs(counts.gain)
    near = unbiased + np.linspace(-1, 1, SHARES)[:, np.newaxis] * widest
    everywhere = np.broadcast_to(np.linspace(0, 1, SHARES)[:, np.newaxis], near.shape)
    return np.sort(np.concatenate([np.clip(near, 0, 1), everywhere]), axis=0)


def _accepts(counts: Binomial, prior: Prior, alpha: float, share: Array) -> Mask:
    """Tell which groups accept these shares.

    A count below what noise alone explains is taken as that much for the lower tail, and one above what certainty
    explains for the upper tail: that only widens, and no interval is empty.
    """
    f = np.clip(counts.reported(share), 0, 1)
    sigma = np.sqrt(f * (1 - f) / counts.n) / np.abs(counts.gain)
    upper = divided(2 * sigma * (prior.mean - share) / prior.spread**2, alpha)
    upper = np.where(counts.gain > 0, upper, 1 - upper)
    others = counts.n - np.maximum(counts.count, counts.n * counts.lowest)
    few = at_least(others, counts.n, 1 - f)  # the same as `at_most` of the reports that count, and six times as fast
    many = at_least(np.minimum(counts.count, counts.n * counts.highest), counts.n, f)
    return np.asarray((few > alpha * (1 - upper)) & (many > alpha * upper))


def divided(needed: Array, alpha: float) -> Array:
    r"""Give the part s of the error probability for which :math:`\Phi^{-1}(\alpha s) - \Phi^{-1}(\alpha(1-s))` is this.

    >>> divided(np.array([-100.0, 0.0, 100.0]), 0.05).round(3).tolist()
    [0.0, 0.5, 1.0]
    """
    part = np.linspace(LEAST_DIVISION, 1 - LEAST_DIVISION, DIVISIONS)
    return np.interp(needed, ndtri(alpha * part) - ndtri(alpha * (1 - part)), part)
