r"""Partial pooling by the model of Fay and Herriot, averaged over the spread between groups.

The direct estimate of group g is :math:`y_g = \theta_g + e_g`, its share :math:`\theta_g = x_g' \beta + u_g`. Errors
have the variance :math:`v_g` that the design tells (`direct_estimates`), and the effects :math:`u_g` the variance
:math:`\tau^2`, whose root is the *spread*. The covariates :math:`x_g` are a column of ones where none are given. Given
the spread, with :math:`w_g = 1/(\tau^2 + v_g)`,

.. math::
    A = X' W X, \quad \beta = A^{-1} X' W y, \quad \mu_g = x_g' \beta, \quad s_g^2 = x_g' A^{-1} x_g,

    \ell(\tau) = \tfrac12 \sum \log w_g - \tfrac12 \log \det A - \tfrac12 \sum w_g (y_g - \mu_g)^2,

    B_g = \tau^2 w_g, \quad E\,\theta_g = \mu_g + B_g (y_g - \mu_g), \quad
    \operatorname{Var} \theta_g = B_g v_g + (1 - B_g)^2 s_g^2.

:math:`\ell` is the restricted likelihood [1]_; :math:`B_g` is the weight of the group's own reports. Shares are not
taken at the most likely spread, which is often zero where groups are few, but averaged over all of its values, with
weights :math:`\exp \ell(\tau)`: a flat prior from 0 to the largest standard deviation that shares can have. Their
errors are averaged with weights :math:`\tau \exp \ell(\tau)`, a prior that is flat in :math:`\tau^2`, under which
intervals cover as they say (to the second order, where groups are of one size [3]_). Under the prior that is flat in
:math:`\tau` shares are closer, but their intervals cover as little as 91 % where the spread is half of the noise.

**Many answers.** Answer k has the spread :math:`r_k \sqrt{m_k (1 - m_k)}` with :math:`0 \le r_k \le 1`; under a
Dirichlet law all :math:`r_k` are equal. Whether they are is learnt from the answers: the :math:`r_k` are draws from one
unknown law on a grid, found by the EM algorithm together with one pseudo-answer that is spread evenly.

References
----------
.. [1] R. E. Fay, R. A. Herriot, "Estimates of income for small places: an application of James-Stein procedures to
   census data", J. Amer. Stat. Assoc. 74 (1979), 269-277.
.. [2] J. N. K. Rao, I. Molina, "Small Area Estimation", 2nd edition, Wiley 2015, sections 6.1 and 10.3.
.. [3] G. S. Datta, J. N. K. Rao, D. D. Smith, "On measuring the variability of small area estimators under a basic area
   level model", Biometrika 92 (2005), 183-196.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.arrays import SMALLEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from warner.arrays import Array
    from warner.groups.direct_estimates import DirectEstimates

SPREADS_TRIED, SPREADS = 25, 49  # of the grid on which the likelihood is looked for, and of that which is averaged over
NEGLIGIBLE_NATS = 18.0  # nats below the maximum of the likelihood
RELATIVE_SPREADS = 41  # for many answers
LAW_STEPS = 100  # of the EM algorithm
MEAN_STEPS = 3  # fixed-point steps for the share at which the variance is taken
BLOCK = 2**19  # numbers in one array
UNLIKELY = 1e-12  # weight of a spread that is left out of the average
LEAST_GRID_SPREAD = 1e-6  # that a grid of spreads reaches to
SMALLEST_MEAN = 1e-4  # of an answer's share times the number of answers, so that its spread is not known to be 0


class Fits(NamedTuple):
    """Restricted likelihoods at some spreads, of shape (spreads,), with means and their variances, (spreads, groups).

    Groups that tell nothing have a mean as well, but are no part of the likelihood.
    """

    log_likelihood: Array
    mean: Array
    variance_of_mean: Array
    sampling_variance: Array


class Pooled(NamedTuple):
    """Partially pooled shares of one set of answers.

    `share`, `error`, `own` (the weight of the group's own reports) and `centre` have the shape (groups,); `spread` is
    the most likely one; `spreads` are those averaged over, with their `weights`; `overall` is the mean share.
    """

    share: Array
    error: Array
    own: Array
    centre: Array
    spread: float
    overall: float
    spreads: Array
    weights: Array


def fits(direct: DirectEstimates, covariates: Array, spreads: Array, start: float, steps: int = MEAN_STEPS) -> Fits:
    """Fit the regression at each of some spreads; the variance is taken at the fitted means, from a `start`."""
    x, y, some = covariates, direct.share, direct.informative
    between = spreads[:, np.newaxis] ** 2
    squares = (x[:, :, np.newaxis] * x[:, np.newaxis]).reshape(len(x), -1)
    mean: Array | float = start
    for _ in range(steps):
        variance = direct.sampling_variance(mean, between)
        total = np.where(some, variance + between, 1.0)
        weight = some / total
        gram = (weight @ squares).reshape(-1, x.shape[1], x.shape[1])
        beta = np.linalg.solve(gram, ((weight * y) @ x)[:, :, np.newaxis])[:, :, 0]
        fitted = beta @ x.T
        mean = np.clip(fitted, 0, 1)
    likelihood = -(np.log(total) + weight * (y - fitted) ** 2).sum(axis=1) - np.linalg.slogdet(gram)[1]
    variance_of_mean = np.linalg.inv(gram).reshape(len(gram), -1) @ squares.T
    return Fits(likelihood / 2, fitted, variance_of_mean, variance)


def partially_pooled(direct: DirectEstimates, covariates: Array, limit: float | None = None) -> Pooled:
    """Pool the shares of one set of answers, averaged over the spread, from 0 to the largest, or to a `limit`."""
    start = direct.overall()
    largest = largest_spread(direct, start) if limit is None else limit

    def likelihood(spreads: Array) -> Array:
        return np.concatenate([fit.log_likelihood for _, fit in _in_blocks(direct, covariates, spreads, start)])

    if int(direct.informative.sum()) <= covariates.shape[1]:  # all shares are their own, and say nothing of the spread
        spreads, weights = np.linspace(0, largest, SPREADS), trapezoid(np.zeros(SPREADS))
        share, error, _, centre = _averaged(direct, covariates, spreads, weights, start)
        return Pooled(share, error, direct.informative.astype(float), centre, 0.0, start, spreads, weights)
    spreads = likely_range(likelihood, largest * np.linspace(0, 1, SPREADS_TRIED) ** 2, SPREADS, NEGLIGIBLE_NATS)
    values = likelihood(spreads)
    weights = trapezoid(values)
    averaged = _averaged(direct, covariates, spreads, weights, start)
    spread = refined_maximum(likelihood, spreads, values)
    return Pooled(*averaged, spread, start, spreads, weights)


def largest_spread(direct: DirectEstimates, overall: float) -> float:
    """Give the largest standard deviation that shares can have whose mean is within two standard errors of this one.

    So the spread is not known to be 0 where the mean is estimated as 0.
    """
    error = error_of_overall(direct, overall)
    nearest = min(max(0.5, overall - 2 * error), overall + 2 * error)  # to one half
    return float(np.sqrt(max(nearest * (1 - nearest), LEAST_GRID_SPREAD**2)))


def error_of_overall(direct: DirectEstimates, overall: float) -> float:
    """Give the standard error of the mean share, if all groups are alike."""
    precision = 1 / np.maximum(direct.select(direct.informative).sampling_variance(overall, 0.0), SMALLEST)
    return float(1 / np.sqrt(precision.sum()))


def likely_range(likelihood: Callable[[Array], Array], tried: Array, points: int, negligible: float) -> Array:
    """Give equally spaced spreads over the range in which the likelihood is not negligible."""
    values = likelihood(tried)
    kept = np.flatnonzero(values > values.max() - negligible)
    return np.linspace(tried[max(kept[0] - 1, 0)], tried[min(kept[-1] + 1, tried.size - 1)], points)


def trapezoid(log_likelihood: Array) -> Array:
    """Give the weights of equally spaced values, under a flat prior, by the trapezoid rule."""
    weights = np.exp(log_likelihood - log_likelihood.max())
    weights[[0, -1]] /= 2
    return np.asarray(weights / weights.sum())


def refined_maximum(likelihood: Callable[[Array], Array], spreads: Array, values: Array) -> float:
    """Find the spread with the largest likelihood between those of a grid, by golden sections of finer grids."""
    for _ in range(3):
        best = int(values.argmax())
        ends = spreads[max(best - 1, 0)], spreads[min(best + 1, spreads.size - 1)]
        spreads = np.linspace(*ends, 9)
        values = likelihood(spreads)
    best = int(values.argmax())
    if 0 < best < spreads.size - 1:
        before, top, after = values[best - 1 : best + 2]
        bend = before - 2 * top + after
        if bend < 0:  # the vertex of a parabola
            return float(spreads[best] + (spreads[1] - spreads[0]) * (before - after) / (2 * bend))
    return float(spreads[best])


def _in_blocks(
    direct: DirectEstimates, covariates: Array, spreads: Array, start: float, steps: int = MEAN_STEPS
) -> Iterator[tuple[slice, Fits]]:
    """Fit at all spreads, so many at once that arrays stay small."""
    size = max(1, BLOCK // max(direct.share.size, 1))
    for first in range(0, spreads.size, size):
        block = slice(first, first + size)
        yield block, fits(direct, covariates, spreads[block], start, steps)


def _averaged(
    direct: DirectEstimates, covariates: Array, spreads: Array, weights: Array, start: float, steps: int = MEAN_STEPS
) -> tuple[Array, Array, Array, Array]:
    """Average over spreads with these weights: share, error, own weight and centre; errors by the matching prior."""
    likely = weights > UNLIKELY
    spreads, weights = spreads[likely], weights[likely]
    laws = np.stack([weights, matched(weights, spreads)])
    total = np.zeros((4, 2, direct.share.size))  # shares, their squares, own weights and centres, under both laws
    for block, fit in _in_blocks(direct, covariates, spreads, start, steps):
        between, law = spreads[block, np.newaxis] ** 2, laws[:, block]
        own = direct.informative * between / np.where(direct.informative, between + fit.sampling_variance, 1.0)
        share = fit.mean + own * (direct.share - fit.mean)
        # Of a group that tells nothing it is the variance between groups.
        within = np.where(direct.informative, own * fit.sampling_variance, between)
        second = within + (1 - own) ** 2 * fit.variance_of_mean + share**2
        total += [law @ values for values in (share, second, own, fit.mean)]
    (share, other), (_, second), (own, _), (centre, _) = total
    # The mean square about the share that is given, which is not the mean under the matching prior.
    return share, np.sqrt(np.maximum(second - 2 * share * other + share**2, 0)), own, centre


def matched(weights: Array, spreads: Array) -> Array:
    """Give the weights of spreads under a prior that is flat in their squares, from those under one that is flat."""
    squared = weights * spreads
    return np.asarray(squared / squared.sum()) if squared.sum() > 0 else weights


# Many answers


def all_partially_pooled(answers: Sequence[DirectEstimates], covariates: Array, means: Array) -> Iterator[Pooled]:
    """Pool the shares of many answers one by one, whose relative spreads are draws from one unknown law.

    `means` are the overall shares of the answers, a distribution. A spread is relative to the largest that shares with
    this mean can have; a mean that is estimated as 0, or as 1, may well be a standard error away from there.
    """
    k = len(answers)
    means = np.maximum(means, SMALLEST_MEAN / k)
    errors = np.array([error_of_overall(*pair) for pair in zip(answers, means.tolist(), strict=True)])
    inside = np.clip(means, np.minimum(errors, 0.5), 1 - np.minimum(errors, 0.5))
    units = np.sqrt(inside * (1 - inside))
    roots = np.linspace(0, 1, RELATIVE_SPREADS)
    relative = roots**2

    def likelihood(place: int, root: Array) -> Array:
        blocks = _in_blocks(answers[place], covariates, units[place] * root**2, float(means[place]), 1)
        return np.concatenate([fit.log_likelihood for _, fit in blocks])

    values = np.stack([likelihood(place, roots) for place in range(k)], axis=1)
    law = law_of_spreads(values, relative)
    for place, direct in enumerate(answers):
        spreads, mean = units[place] * relative, float(means[place])
        averaged = _averaged(direct, covariates, spreads, law[:, place], mean, 1)
        root = refined_maximum(partial(likelihood, place), roots, values[:, place])
        yield Pooled(*averaged, float(units[place] * root**2), mean, spreads, law[:, place])


def law_of_spreads(log_likelihood: Array, relative: Array) -> Array:
    """Give the weights of the relative spreads of each answer, (spreads, answers), with a law that is common to all."""
    k = log_likelihood.shape[1]
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=0))
    flat = np.gradient(relative)
    flat /= flat.sum()
    law = flat
    for _ in range(LAW_STEPS):
        posterior = likelihood * law[:, np.newaxis]
        posterior /= posterior.sum(axis=0)
        law = (k - 1) / k * posterior.sum(axis=1) + flat
        law /= law.sum()
    posterior = likelihood * law[:, np.newaxis]
    return np.asarray(posterior / posterior.sum(axis=0))
