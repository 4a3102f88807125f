r"""Partial pooling by the model of Fay and Herriot, averaged over the spread between groups.

The direct estimate of group g is :math:`y_g = \theta_g + e_g`, with :math:`\theta_g = x_g' \beta + u_g`. Errors have
the variance :math:`v_g` of the design, the effects :math:`u_g` the variance :math:`\tau^2`. Given the *spread*
:math:`\tau`, with :math:`w_g = 1/(\tau^2 + v_g)`,

.. math::
    A = X' W X, \quad \beta = A^{-1} X' W y, \quad \mu_g = x_g' \beta, \quad s_g^2 = x_g' A^{-1} x_g,

    \ell(\tau) = \tfrac12 \sum \log w_g - \tfrac12 \log \det A - \tfrac12 \sum w_g (y_g - \mu_g)^2,

    B_g = \tau^2 w_g, \quad E\,\theta_g = \mu_g + B_g (y_g - \mu_g), \quad
    \operatorname{Var} \theta_g = B_g v_g + (1 - B_g)^2 s_g^2.

:math:`\ell` is the restricted likelihood [1]_. Shares are averaged over all spreads with weights
:math:`\exp \ell(\tau)`, their errors with weights :math:`\tau \exp \ell(\tau)`, under which intervals have their
coverage to the second order, for groups of one size [2]_. The relative spreads of many answers are draws from one
distribution on a grid, estimated by the EM algorithm together with one pseudo-answer that is spread evenly.

**Direct estimates.** The variance :math:`v_g` (docs/theory/groups-and-samples.md) is a polynomial in the mean share m
and :math:`\tau^2`: a group's own estimated variance would be correlated with the estimate, and 0 for a count of 0.
Without a binomial count, the variance of one report is that under all reports together. For a mean, where this variance
is mostly that of respondents, it is the pooled variance within groups. The collections of a pool are combined in each
group by their precisions at m, with weights :math:`\lambda_p`; then :math:`1/n_g` becomes
:math:`\sum \lambda_p^2 / n_p`, and the coefficients are averages with these weights.

**Nonparametric maximum likelihood** [3]_, for groups that form clusters or lie far out. The distribution on a grid that
maximizes :math:`\sum_g \log \sum_j \pi_j f_g(x_j)` is found by Newton's steps for :math:`\pi_j (1 - d_j) = \mu` with
:math:`\mu` that falls to 0 [4]_, where :math:`d_j = \frac1G \sum_g f_g(x_j) / \sum_i \pi_i f_g(x_i)` is at most 1 at
the maximum. It is used if Schwarz's criterion prefers it to the best beta distribution. Its posterior intervals would
neglect the estimation of the distribution, so that standard errors are those of partial pooling. A group with less
noise than the distance between two values of the grid keeps its partially pooled share.

.. [1] R. E. Fay, R. A. Herriot, "Estimates of income for small places: an application of James-Stein procedures to
   census data", J. Amer. Stat. Assoc. 74 (1979), 269-277.
.. [2] G. S. Datta, J. N. K. Rao, D. D. Smith, "On measuring the variability of small area estimators under a basic area
   level model", Biometrika 92 (2005), 183-196.
.. [3] J. Kiefer, J. Wolfowitz, "Consistency of the maximum likelihood estimator in the presence of infinitely many
   incidental parameters", Ann. Math. Stat. 27 (1956), 887-906.
.. [4] R. Koenker, I. Mizera, "Convex optimization, shape constraints, compound decisions, and empirical Bayes rules",
   J. Amer. Stat. Assoc. 109 (2014), 674-685.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit, logit, xlog1py, xlogy

from warner.arrays import SMALLEST, Array, Counts, Mask, Numbers, Sets
from warner.inference.normal import ADDED_REPORTS
from warner.numerics import beta_cdf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from warner.inference.binomial import Binomial
    from warner.reports.tallies import Collected, Tally


# Fay herriot


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
    """Restricted likelihoods at some spreads, (spreads,), with means and their variances, (spreads, groups)."""

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
    """Return the largest standard deviation of shares whose mean is within two standard errors of this one."""
    error = error_of_overall(direct, overall)
    nearest = min(max(0.5, overall - 2 * error), overall + 2 * error)  # to one half
    return float(np.sqrt(max(nearest * (1 - nearest), LEAST_GRID_SPREAD**2)))


def error_of_overall(direct: DirectEstimates, overall: float) -> float:
    """Return the standard error of the mean share, if all groups have the same share."""
    precision = 1 / np.maximum(direct.select(direct.informative).sampling_variance(overall, 0.0), SMALLEST)
    return float(1 / np.sqrt(precision.sum()))


def likely_range(likelihood: Callable[[Array], Array], tried: Array, points: int, negligible: float) -> Array:
    """Return equally spaced spreads over the range in which the likelihood is not negligible."""
    values = likelihood(tried)
    likely = np.flatnonzero(values > values.max() - negligible)
    return np.linspace(tried[max(likely[0] - 1, 0)], tried[min(likely[-1] + 1, tried.size - 1)], points)


def trapezoid(log_likelihood: Array) -> Array:
    """Return posterior weights of equally spaced values, under a flat prior, by the trapezoid rule."""
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
    """Fit at all spreads, in blocks that keep arrays small."""
    size = max(1, BLOCK // max(direct.share.size, 1))
    for first in range(0, spreads.size, size):
        block = slice(first, first + size)
        yield block, fits(direct, covariates, spreads[block], start, steps)


def _averaged(
    direct: DirectEstimates, covariates: Array, spreads: Array, weights: Array, start: float, steps: int = MEAN_STEPS
) -> tuple[Array, Array, Array, Array]:
    """Average over spreads: share, error (by the matching prior), weight of own reports, and center."""
    likely = weights > UNLIKELY
    spreads, weights = spreads[likely], weights[likely]
    laws = np.stack([weights, matched(weights, spreads)])
    total = np.zeros((4, 2, direct.share.size))  # shares, their squares, own weights and centers, under both priors
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
    """Convert the weights of spreads from a flat prior to a prior that is flat in their squares."""
    squared = weights * spreads
    return np.asarray(squared / squared.sum()) if squared.sum() > 0 else weights


# Many answers


def all_partially_pooled(answers: Sequence[DirectEstimates], covariates: Array, means: Array) -> Iterator[Pooled]:
    """Pool the shares of many answers one by one, whose relative spreads are draws from one unknown law.

    `means` are the overall shares; one that is estimated as 0, or as 1, may well be a standard error away from there.
    """
    k = len(answers)
    means = np.maximum(means, SMALLEST_MEAN / k)
    errors = np.array([error_of_overall(*pair) for pair in zip(answers, means.tolist(), strict=True)])
    inside = np.clip(means, np.minimum(errors, 0.5), 1 - np.minimum(errors, 0.5))
    units = np.sqrt(inside * (1 - inside))
    roots = np.linspace(0, 1, RELATIVE_SPREADS)
    relative = roots**2

    def likelihood(index: int, root: Array) -> Array:
        blocks = _in_blocks(answers[index], covariates, units[index] * root**2, float(means[index]), 1)
        return np.concatenate([fit.log_likelihood for _, fit in blocks])

    values = np.stack([likelihood(index, roots) for index in range(k)], axis=1)
    law = law_of_spreads(values, relative)
    for index, direct in enumerate(answers):
        spreads, mean = units[index] * relative, float(means[index])
        averaged = _averaged(direct, covariates, spreads, law[:, index], mean, 1)
        root = refined_maximum(partial(likelihood, index), roots, values[:, index])
        yield Pooled(*averaged, float(units[index] * root**2), mean, spreads, law[:, index])


def law_of_spreads(log_likelihood: Array, relative: Array) -> Array:
    """Return the posterior weights of relative spreads, (spreads, answers), under an estimated common prior."""
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


# Direct estimates


LEAST_REPORT_VARIANCE = 1e-12  # of one debiased report, where reports are so many that they tell it
ENOUGH_WITHIN_GROUPS = 30.0  # degrees of freedom, that reports tell their variance within groups


@dataclass(frozen=True)
class DirectEstimates:
    """Unbiased shares of one set of answers, of shape (groups,), with what determines their sampling variance.

    One report has the variance base + slope m - curvature m^2 - between tau^2, where m is the mean of the shares and
    tau^2 their variance between groups. These four have the shape (groups,) or (1,).
    """

    share: Array  # 0 where reports do not identify it
    per_report: Array  # one over the number of reports; 0 where there are none
    base: Array
    slope: Array
    curvature: Array
    between: Array
    informative: Mask  # groups with reports, under a design that identifies the share
    least: float = LEAST_REPORT_VARIANCE  # of one report, within and between groups; it matters if all reports agree

    @classmethod
    def known(cls, share: Array, variance: Array) -> DirectEstimates:
        """Make estimates with known variances, as in a meta-analysis."""
        nothing, one = np.zeros(1), np.ones(share.shape)
        return cls(share, one, variance, nothing, nothing, nothing, np.ones(share.shape, dtype=bool))

    def sampling_variance(self, mean: Numbers, between: Numbers) -> Array:
        """Return the variances at a mean share and a variance between groups; arrays broadcast."""
        whole = np.maximum(self.base + mean * (self.slope - mean * self.curvature), self.least)
        return np.asarray(self.per_report * np.maximum(whole - between * self.between, LEAST_REPORT_VARIANCE))

    def select(self, groups: Mask) -> DirectEstimates:
        coefficients = (self.base, self.slope, self.curvature, self.between)
        base, slope, curvature, between = (part if part.size == 1 else part[groups] for part in coefficients)
        share, per_report = self.share[groups], self.per_report[groups]
        informative = self.informative[groups]
        return DirectEstimates(share, per_report, base, slope, curvature, between, informative, self.least)

    def overall(self) -> float:
        """Return the mean share, each group weighted by its precision if all groups are alike."""
        some = self.select(self.informative)
        mean = 0.5
        for _ in range(3):  # it hardly depends on where the variance is taken
            weight = 1 / np.maximum(some.sampling_variance(mean, 0.0), SMALLEST)
            mean = float(np.clip(weight @ some.share / weight.sum(), 0, 1))
        return mean


class Collection(NamedTuple):
    """Sampling model of one set of answers in one collection: arrays of shape (groups,), coefficients also (1,)."""

    share: Array
    n: Array
    base: Array
    slope: Array
    curvature: Array
    informative: Mask
    between: Array = np.ones(1)

    def within_groups(self) -> Collection:
        """Use the pooled variance within groups for one report, if it has enough degrees of freedom."""
        some = self.informative
        n, share = self.n[some], self.share[some]
        freedom = float(n.sum()) - n.size
        if self.curvature.any() or freedom < ENOUGH_WITHIN_GROUPS:
            return self
        apart = float(n @ (share - n @ share / n.sum()) ** 2)
        base = np.maximum((self.base * n.sum() - apart) / freedom, LEAST_REPORT_VARIANCE)
        return self._replace(base=base, between=np.zeros(1))

    def precision(self, mean: float) -> Array:
        """Return the precision of each group's share at this mean share."""
        one = np.maximum(self.base + mean * (self.slope - mean * self.curvature), LEAST_REPORT_VARIANCE)
        return np.where(self.informative, self.n / one, 0.0)


def direct_estimates(tally: Collected, sets: Sets | None = None) -> list[DirectEstimates]:
    """Compute the direct estimates of the shares of all answers, or of some sets of answers, one for each set."""
    collections = [_collections(part, sets) for part in tally.parts]
    return [_precision_weighted(list(parts)) for parts in zip(*collections, strict=True)]


def direct_sum(tally: Collected, sets: Sets) -> DirectEstimates:
    """Compute the direct estimates of the share of one set, with the pooled variance within groups."""
    return _precision_weighted([_collections(part, sets)[0].within_groups() for part in tally.parts])


def _collections(part: Tally, sets: Sets | None) -> list[Collection]:
    """Return the sampling model of every set in one collection."""
    answered, width = part.answered, part.k if sets is None else len(sets)
    if part.design.epsilon == 0 or not answered.any():
        nothing, zero = np.zeros(answered.size), np.zeros(1)
        return [Collection(nothing, nothing, zero, zero, zero, nothing.astype(bool))] * width
    readout = part.readout(None if answered.all() else answered, sets)
    base, gain, exact = (np.atleast_2d(np.asarray(value)) for value in (readout.base, readout.gain, readout.exact))
    constant = base * (1 - base) / gain**2
    if not exact.all():
        constant = np.where(exact, constant, _variance_of_one_report(part, sets))
    slope, curvature = np.where(exact, (1 - 2 * base) / gain, 0.0), np.where(exact, 1.0, 0.0)
    arrays = (readout.share(), np.broadcast_to(readout.trials, readout.count.shape), constant, slope, curvature)
    columns = [_column_getter(array, answered) for array in arrays]

    def collection(index: int) -> Collection:
        """Return a collection without infinite numbers; a set that is not identified is not informative."""
        share, n, *coefficients = (column(index) for column in columns)
        known = np.isfinite(coefficients[0])
        informative = answered & known
        base, slope, curvature = (np.where(known, part, 0.0) for part in coefficients)
        return Collection(np.where(informative, share, 0.0), n, base, slope, curvature, informative)

    return [collection(index) for index in range(width)]


def _column_getter(array: Counts, answered: Mask) -> Callable[[int], Array]:
    """Return a function that extracts a column of an array that broadcasts to (groups with reports, sets)."""
    whole, once = array.shape[0] > 1 or answered.sum() == 1, (array.shape[1] == 1 or not array.strides[1])

    def column(index: int) -> Array:
        values = np.asarray(array[:, 0 if once else index], dtype=np.float64)
        if not whole or answered.all():
            return values
        result = np.zeros(answered.size)
        result[answered] = values
        return result

    return column


def _variance_of_one_report(part: Tally, sets: Sets | None) -> Array:
    """Return the variance of one report under the reports of all groups together, of shape (1, sets)."""
    counts, n = part.scaled()
    histogram = part.scaled_histogram()
    together = None if histogram is None else histogram.sum(axis=0, keepdims=True)
    total = n.sum(axis=0, keepdims=True)
    readout = part.design.law.readout(counts.sum(axis=0, keepdims=True), total, sets, histogram=together)
    return np.broadcast_to(np.asarray(readout.error) ** 2 * total, (1, readout.share().shape[1]))


def _precision_weighted(parts: list[Collection]) -> DirectEstimates:
    """Combine the collections of each group by their precisions at the overall share."""
    if len(parts) == 1:
        share, n, base, slope, curvature, informative, between = parts[0]
        each = np.divide(1, n, out=np.zeros_like(share), where=informative)
        return DirectEstimates(share, each, base, slope, curvature, between, informative, _least_variance(parts))
    overall = _overall(parts)
    precision = np.stack([part.precision(overall) for part in parts])
    weight = precision / np.maximum(precision.sum(axis=0), SMALLEST)
    n = np.stack([part.n for part in parts])
    each = np.divide(weight**2, n, out=np.zeros_like(n), where=precision > 0)
    total = each.sum(axis=0)
    share = (weight * [part.share for part in parts]).sum(axis=0)

    def averaged(values: Sequence[Array]) -> Array:
        summed = sum(one * value for one, value in zip(each, values, strict=True))
        return np.asarray(np.divide(summed, total, out=np.zeros_like(total), where=total > 0))

    names = ("base", "slope", "curvature", "between")
    base, slope, curvature, between = (averaged([getattr(part, name) for part in parts]) for name in names)
    return DirectEstimates(share, total, base, slope, curvature, between, total > 0, _least_variance(parts))


def _least_variance(parts: list[Collection]) -> float:
    """Return s (1 - s), the least variance of one report, at the share s of a few added reports."""
    reports = sum(float(part.n[part.informative].sum()) for part in parts)
    share = ADDED_REPORTS / (max(reports, ADDED_REPORTS) + ADDED_REPORTS)
    return max(share * (1 - share), LEAST_REPORT_VARIANCE)


def _overall(parts: list[Collection]) -> float:
    mean = 0.5
    for _ in range(3):
        weight = [part.precision(mean) for part in parts]
        named = sum(float(mine @ part.share) for mine, part in zip(weight, parts, strict=True))
        mean = float(np.clip(named / max(sum(float(mine.sum()) for mine in weight), SMALLEST), 0, 1))
    return mean


# Nonparametric


VALUES = 121  # of the grid of shares
FEWEST_GROUPS_FOR_ANY_LAW, FEWEST_VALUES = 100, 3  # for which this law is thought of
LEARNT_FROM = 4_000  # groups at most, evenly spaced among all: so many tell the law
CERTIFIED = 1e-6  # how much more than 1 a derivative may be
LAW_NEWTON_STEPS = 200  # at most; about 20 are needed
SHRINKING = 0.1  # of mu from step to step
HAS_WEIGHT = 1e-4  # weight of a value that counts as one


def shares_under_any_law(counts: Binomial, direct: DirectEstimates, pooled: Pooled) -> Array | None:
    """Compute posterior means under the nonparametric maximum-likelihood distribution of shares.

    None if a beta distribution is not significantly worse. `counts` are NaN for groups without reports.
    """
    informative = direct.informative & np.isfinite(counts.count)
    if informative.sum() < FEWEST_GROUPS_FOR_ANY_LAW:
        return None
    first, last = np.clip([direct.share[informative].min(), direct.share[informative].max()], 0, 1)
    grid = np.linspace(first, last, VALUES)  # the law has no weight elsewhere
    noise = np.sqrt(direct.sampling_variance(pooled.overall, 0.0))
    noisy = np.flatnonzero(informative & (noise >= grid[1] - grid[0]))
    if noisy.size < FEWEST_GROUPS_FOR_ANY_LAW or first == last:
        return None
    sampled = noisy[:: -(-noisy.size // LEARNT_FROM)]
    distinct, repeated = np.unique(np.stack([part[sampled] for part in counts]), axis=1, return_counts=True)
    likelihood, many = likelihoods(distinct, grid), repeated.astype(np.float64)
    law = most_likely_law(likelihood, many)
    gain = log_likelihood(likelihood, law, many) - best_beta_likelihood(likelihood, grid, many, pooled)
    if gain <= max(FEWEST_VALUES, values_with_weight(law)) * np.log(sampled.size):
        return None
    shares = np.array(pooled.share)
    for block in np.array_split(noisy, -(-noisy.size * VALUES // BLOCK)):
        joint = likelihoods(np.stack([part[block] for part in counts]), grid) * law
        shares[block] = joint @ grid / joint.sum(axis=1)
    shares[~informative] = law @ grid  # groups that tell nothing have the mean of all
    return shares


def likelihoods(counts: Array, grid: Array) -> Array:
    """Return the likelihood of each share of a grid, (groups, grid), scaled; rows are count, trials, base and gain."""
    count, trials, base, gain = counts[:, :, np.newaxis]
    probability = np.clip(base + gain * grid, 0, 1)
    logarithm = xlogy(count, probability) + xlog1py(trials - count, -probability)
    return np.asarray(np.exp(logarithm - logarithm.max(axis=1, keepdims=True)))


def log_likelihood(likelihood: Array, law: Array, many: Array) -> float:
    return float(many @ np.log(np.maximum(likelihood @ law, SMALLEST)))


def derivatives(likelihood: Array, law: Array, many: Array) -> Array:
    """Return the directional derivatives toward each value of the grid, which are at most 1 at the maximum."""
    return np.asarray(many @ (likelihood / (likelihood @ law)[:, np.newaxis]) / many.sum())


def most_likely_law(likelihood: Array, many: Array) -> Array:
    """Maximize the likelihood over distributions on a grid; `many` groups have each row of the likelihood."""
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
    """Return the largest fraction of a step that leaves all values positive."""
    falling = step < 0
    return min(1.0, 0.99 * float(np.min(-values[falling] / step[falling]))) if falling.any() else 1.0


def values_with_weight(law: Array) -> int:
    """Count the values of a distribution; neighbors on the grid are one value."""
    weighty = law > HAS_WEIGHT
    return int(weighty[0]) + int((weighty[1:] & ~weighty[:-1]).sum())


def best_beta_likelihood(likelihood: Array, grid: Array, many: Array, pooled: Pooled) -> float:
    """Maximize the log-likelihood over beta distributions, in the cells of the grid."""
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
