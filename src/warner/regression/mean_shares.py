r"""Mean shares: averages of shares over respondents and their differences, by the delta method and profile likelihood.

A mean over respondents, :math:`p = \sum_n w_n\theta(x_n)/\sum_n w_n` with gradient g, has the variance :math:`g'Vg` for
the sample. For the population (``target="population"``), each respondent adds :math:`\theta(x_n) - p` to the influence
function. Wald intervals are used where the profile likelihood confirms them (`profiles.wald_agrees`), else profile
intervals. For the population the variance v of the respondents' shares is added: a limit at the distance d from the
estimate moves to :math:`\sqrt{d^2 + z^2 v}` (G. Y. Zou and A. Donner, Statist. Med. 27, 2008, 1693-1702).

A limit is a minimum over tilts :math:`\tau` of the likelihood (page "Regression on covariates"). Every :math:`\tau`
gives an outer bound, which is flat around the best one, so that a few maximizations are enough. Where shares are free,
as those of groups, the limit is that of the profile itself; elsewhere it is that of the least concave function above
the profile, at worst too wide. The likelihood ratio against a value of h comes from the same function, so that interval
and p-value agree.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.designs.facts import check_target
from warner.regression.families import ROWS_WITH_EFFECTS, Specification
from warner.regression.formulas import Columns, number_of_rows
from warner.regression.likelihood import Expansion, Likelihood, ModifiedLikelihood
from warner.regression.linear import least_squares
from warner.regression.maxima import coefficients_near
from warner.regression.newton import SAME_MAXIMUM_NATS, newton_ascent
from warner.regression.profiles import (
    FalseOptimumError,
    ProfileStart,
    from_best_maximum,
    profile_start,
    wald_agrees,
    why_no_profile,
)
from warner.regression.standard_errors import ClusterRobust, inverse_information, score_covariance
from warner.results import Limits, StandardErrors, critical_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from warner.arrays import Array, Mask
    from warner.regression.data import Observations
    from warner.regression.regressions import Regression


# Mean profiles


TILT_TOLERANCE = 1e-3  # part of the loss by which a tilt may miss: the limit is off by the square of that
TILTS = 60  # for one limit
FASTEST_TILT = 8.0  # times the tilt before
STRONGEST_TILT = 1e9  # times the tilt of the standard error, beyond which nothing moves any more
STUCK_SHARE = 1e-5  # below which an ascent may be stuck where the likelihood is flat
NO_DISTANCE = 1e-6  # standard errors from the estimate, within which nothing is lost
TILTED_GAIN = 1e-7  # nats that a tilted log-likelihood may still gain


class ShareSum(NamedTuple):
    """Sum of shares with its gradient and Hessian in the coefficients."""

    value: float
    gradient: Array
    curvature: Array


@dataclass(frozen=True, eq=False)
class MeanShare:
    """Sum of the shares of one answer over rows x, with weights of either sign."""

    specification: Specification
    x: Array
    weight: Array
    answer: int

    def value(self, b: Array) -> float:
        return float(self.weight @ self.specification.shares_at(b, self.x)[:, self.answer])

    def expansion(self, b: Array) -> ShareSum:
        r"""Sum with its gradient and Hessian.

        With s and c the score and the curvature of a true answer k, the first derivatives of its share are
        :math:`\theta_k s`, and the second :math:`\theta_k (ss' - c)`.
        """
        if self.specification.effects is None or len(self.x) <= ROWS_WITH_EFFECTS:
            return self._part(b, self.x, self.weight)
        starts = range(0, len(self.x), ROWS_WITH_EFFECTS)
        pieces = [slice(start, start + ROWS_WITH_EFFECTS) for start in starts]
        values, first, second = zip(*(self._part(b, self.x[one], self.weight[one]) for one in pieces), strict=True)
        return ShareSum(sum(values), np.sum(first, axis=0), np.sum(second, axis=0))

    def _part(self, b: Array, x: Array, weight: Array) -> ShareSum:
        family, effects = self.specification.family, self.specification.effects
        x, mapping = self.specification.with_effects(x)
        weight = weight if effects is None else np.outer(weight, effects.probabilities).ravel()
        eta = self.specification.predictors(b, x, mapping)
        truth = np.repeat(np.eye(family.k)[:, [self.answer]], eta.shape[1], axis=1)
        point, share = family.contributions(eta, truth), family.shares(eta)[self.answer]
        value, weight = float(weight @ share), weight * share
        first = ((weight * point.score) @ x).ravel()
        curvature = weight * (point.score[:, np.newaxis] * point.score - point.curvature)
        second = np.einsum("fgm,mp,mq->fpgq", curvature, x, x, optimize=True).reshape(len(first), -1)
        if mapping is not None:
            first, second = first @ mapping, mapping.T @ second @ mapping
        return ShareSum(value, first, second)


class TiltedLikelihood(ModifiedLikelihood):
    """Log-likelihood plus `tilt` times a sum of shares."""

    def __init__(self, likelihood: Likelihood, quantity: MeanShare) -> None:
        super().__init__(likelihood)
        self.quantity, self.tilt, self.scale, self.basis = quantity, 0.0, likelihood.scale, likelihood.basis
        self.predictors, self.predictor_change = likelihood.predictors, likelihood.predictor_change

    def value(self, b: Array) -> float:
        return self.likelihood.value(b) + self.tilt * self.quantity.value(b)

    def expansion(self, b: Array) -> Expansion:
        plain, extra = self.likelihood.expansion(b), self.quantity.expansion(b)
        return Expansion(
            plain.value + self.tilt * extra.value,
            plain.gradient + self.tilt * extra.gradient,
            plain.information - self.tilt * extra.curvature,
        )


class _TiltedMaximum(NamedTuple):
    """Maximum of a tilted likelihood: coefficients, value, sum of shares, and twice the loss of log-likelihood."""

    coefficients: Array
    tilted: float
    value: float
    loss: float


class MeanProfile:
    """Profile likelihood of a sum of shares."""

    def __init__(self, start: ProfileStart, quantity: MeanShare) -> None:
        self.start, self.tilted = start, TiltedLikelihood(start.likelihood, quantity)
        here = quantity.expansion(start.coefficients)
        self.estimate = here.value
        variance = float(here.gradient @ start.covariance @ here.gradient)
        known = np.isfinite(variance) and variance > 0
        # The error determines the first tilt; on the boundary, where it is not known, the sample size does.
        self.error = float(np.sqrt(variance if known else 1 / start.likelihood.total_weight))
        self._branches: list[_TiltedMaximum] = []  # further maxima that are followed as the tilt changes
        self._origin = _TiltedMaximum(start.coefficients, start.log_likelihood, here.value, 0.0)

    def limit(self, quantile: float, side: int) -> float:
        """Return the lower (side -1) or upper (+1) limit of the values that lose at most the quantile."""
        tilt, there = self._tilted_until(side, lambda here: np.sqrt(max(here.loss, 0.0) / quantile), np.sqrt(quantile))
        weight = self.tilted.quantity.weight
        limit = there.value + side * (quantile - there.loss) / (2 * tilt)
        return float(np.clip(limit, np.minimum(weight, 0).sum(), np.maximum(weight, 0).sum()))

    def loss(self, target: float) -> float:
        """Return twice the loss of log-likelihood where the sum has a value."""
        distance = target - self.estimate
        if abs(distance) < NO_DISTANCE * self.error:
            return 0.0
        side = 1 if distance > 0 else -1
        tilt, there = self._tilted_until(
            side, lambda here: (here.value - self.estimate) / distance, abs(distance) / self.error
        )
        return max(there.loss + 2 * side * tilt * (target - there.value), 0.0)

    def _tilted_until(
        self, side: int, progress: Callable[[_TiltedMaximum], float], errors: float
    ) -> tuple[float, _TiltedMaximum]:
        """Increase the tilt, from this many standard errors, until the progress is 1, or as far as possible."""
        search, here = _TiltSearch(errors / self.error), self._origin
        for _ in range(TILTS):
            tilt = search.tilt
            here = self._maximised(side * tilt, here.coefficients)
            for other in self._branches:
                here = max(here, self._maximised(side * tilt, other.coefficients), key=lambda one: one.tilted)
            close = abs(progress(here) - 1) < TILT_TOLERANCE
            if close or tilt * self.error > STRONGEST_TILT or search.narrow:
                best = self._best_of_all_starts(side * tilt, here)
                if best is here:
                    return tilt, here
                # The highest maximum is that of another branch from some tilt on, so both are followed.
                self._branches += [here, best]
                here, search = best, _TiltSearch(tilt)
            search.update(progress(here))
        warnings.warn("a limit of a mean share was not found and is missing; use interval='wald'", stacklevel=2)
        return tilt, here._replace(value=np.nan)

    def _maximised(self, tilt: float, start: Array) -> _TiltedMaximum:
        """Maximize the tilted likelihood from the last maximum, and from less extreme shares where some are 0.

        There the likelihood is flat in the log-odds, and no ascent leaves it.
        """
        self.tilted.tilt = tilt
        here, likelihood = self._maximised_from(start), self.start.likelihood
        if here.tilted < self.start.log_likelihood + tilt * self.estimate:  # lower than the start of the profile
            here = self._maximised_from(self.start.coefficients)
        eta = likelihood.predictors(here.coefficients)
        if likelihood.family.shares(eta).min() > STUCK_SHARE:
            return here
        again = self._maximised_from(coefficients_near(likelihood, likelihood.pulled_back(eta)))
        return max(here, again, key=lambda one: one.tilted)

    def _maximised_from(self, start: Array) -> _TiltedMaximum:
        maximum = newton_ascent(self.tilted, start, gap=TILTED_GAIN)
        value = self.tilted.quantity.value(maximum.coefficients)
        loss = 2 * (self.start.log_likelihood - (maximum.value - self.tilted.tilt * value))
        if loss < -2 * SAME_MAXIMUM_NATS - 1e-12 * abs(self.start.log_likelihood):
            raise FalseOptimumError(maximum.coefficients, -loss / 2)
        return _TiltedMaximum(maximum.coefficients, maximum.value, value, loss)

    def _best_of_all_starts(self, tilt: float, here: _TiltedMaximum) -> _TiltedMaximum:
        """Maximize from other starts with the same tilt, and return the highest maximum."""
        self.tilted.tilt = tilt
        for start in self.start.starts:
            if np.isfinite(self.tilted.value(start)):
                other = self._maximised_from(start)
                if other.tilted > here.tilted + SAME_MAXIMUM_NATS:
                    here = other
        return here


class _TiltSearch:
    """Search for the tilt whose progress is 1, by secants: progress is almost proportional to the tilt."""

    def __init__(self, tilt: float) -> None:
        self.tilt = tilt
        self._inside, self._outside = (0.0, 0.0), (np.inf, np.inf)
        self._last = (0.0, 0.0)

    @property
    def narrow(self) -> bool:
        """Return True if the tilts on both sides are equal: between them the maximum jumps."""
        return self._outside[0] < self._inside[0] * (1 + TILT_TOLERANCE)

    def update(self, progress: float) -> None:
        here, before = (self.tilt, progress), self._last
        if progress > 1:
            self._outside = here
        else:
            self._inside = here
        slope = (progress - before[1]) / (here[0] - before[0]) if here[0] != before[0] else 0.0
        low, high = self._inside[0], self._outside[0]
        # Progress that does not rise is rounding, as by quadrature: then it is taken as proportional to the tilt.
        step = (1 - progress) / slope if slope > 0 else here[0] * (1 / max(progress, 1 / FASTEST_TILT) - 1)
        if before[1] > 0 and abs(slope) * here[0] < TILT_TOLERANCE:  # nothing moves any more
            step = FASTEST_TILT * here[0]
        target = here[0] + step
        slow = abs(progress - 1) > abs(before[1] - 1) / 2
        if np.isinf(high):
            target = min(target, FASTEST_TILT * low)
        elif slow or not low < target < high:
            target = np.sqrt(max(low, high / FASTEST_TILT**2) * high)
        self.tilt, self._last = float(target), here


# Mean shares


MOVING_PREDICTOR = 1e-3  # along a direction of length one, beyond which a share goes along to 0 or 1


class MeanShares(NamedTuple):
    """Means of shares over respondents, or linear combinations of such means.

    Values, (k,); derivatives in the coefficients, (k, coefficients); shares of each row, (n, k); and the rows of
    columns and weights that are summed.
    """

    shares: Array
    slopes: Array
    each: Array
    x: Array
    weight: Array


def combined(factors: Sequence[float], means: Sequence[MeanShares]) -> MeanShares:
    """Return a linear combination of means."""
    pairs = list(zip(factors, means, strict=True))
    shares, slopes, each = (np.sum([factor * mean[part] for factor, mean in pairs], axis=0) for part in range(3))
    weight = np.concatenate([factor * mean.weight for factor, mean in pairs])
    return MeanShares(shares, slopes, each, np.concatenate([mean.x for mean in means]), weight)


def mean_over_people(fit: Regression, profile: Mapping[str, Any]) -> MeanShares:
    """Average the shares over the sample, with some variables set to given values."""
    model_data = fit.model_data
    count = number_of_rows(model_data.covariates)
    columns = dict(model_data.covariates) | {name: np.full(count, value) for name, value in profile.items()}
    return mean_of_columns(fit, columns)


def mean_of_columns(fit: Regression, columns: Columns) -> MeanShares:
    """Average the shares over respondents with these covariates, which have a row for each pattern of the data."""
    model_data = fit.model_data
    x = model_data.terms.matrix(columns) if columns else np.ones((1, len(model_data.terms.names)))
    weights = model_data.observations.weight
    weight = np.bincount(model_data.pattern, weights, minlength=len(x)) / weights.sum()
    shares = fit.specification.shares_at(fit.finite_coefficients, x)
    slopes = np.tensordot(weight, fit.specification.share_gradients(fit.finite_coefficients, x), axes=1)
    return MeanShares(weight @ shares, slopes, shares[model_data.pattern], x, weight)


def influence(fit: Regression) -> Array:
    """Return the influence function of the coefficients, (n, coefficients)."""
    if fit.log_likelihood is None:
        return least_squares(fit.model_data.observations, fit.specification).influence
    information = fit.likelihood.expansion(fit.finite_coefficients).information
    bread = inverse_information(information, fit.likelihood, flat=fit.infinity is not None)
    return np.asarray(fit.likelihood.scores(fit.finite_coefficients) @ bread)


def accuracy_of(fit: Regression, mean: MeanShares, target: str) -> StandardErrors:
    """Compute the standard errors of a mean, for the sample or the population, with degrees of freedom."""
    check_target(target)
    if target == "realised":
        return fit.accuracy(mean.slopes)
    rows = fit.model_data.observations
    influence_of_mean = (mean.each - mean.shares) / rows.weight.sum()
    if fit.clustered is not None:
        return _of_clusters(fit.clustered, rows, mean.slopes, influence_of_mean)
    variance = np.diagonal(score_covariance(rows, influence_of_mean + influence(fit) @ mean.slopes.T))
    noise = least_squares(rows, fit.specification).noise if fit.log_likelihood is None else None
    if noise is not None:
        variance = variance + np.einsum("...i,ij,...j->...", mean.slopes, noise, mean.slopes)
    # However alike the reports are, a population is never known better than these people are.
    these = fit.accuracy(mean.slopes)
    least = these.errors if fit.log_likelihood is None else 0.0
    return these._replace(errors=np.maximum(np.sqrt(np.maximum(variance, 0.0)), least))


def _of_clusters(robust: ClusterRobust, rows: Observations, slopes: Array, influence_of_mean: Array) -> StandardErrors:
    """Add the sampling of clusters to the errors of a mean; `own`, (n, k), is the influence of each respondent."""
    sums = np.zeros((robust.clusters.number, influence_of_mean.shape[1]))
    np.add.at(sums, robust.clusters.cluster, influence_of_mean * rows.weight[:, np.newaxis])
    parts = np.bincount(robust.clusters.cluster, rows.weight) / rows.weight.sum()
    variances = (rows.square @ influence_of_mean**2).tolist()
    each = [
        robust.with_mean(slopes[k], sums[:, k], parts, variance, influence_of_mean[:, k]).accuracy(np.ones(1))
        for k, variance in enumerate(variances)
    ]
    errors, freedom, floor = zip(*each, strict=True)
    known = robust.floor is not None
    return StandardErrors(np.array(errors), np.array(freedom, dtype=np.float64), np.array(floor) if known else None)


# Intervals


def mean_limits(
    fit: Regression,
    mean: MeanShares,
    target: str,
    method: str,
    level: float,
    around: Callable[[Array, Array], tuple[Array, Array]],
    *,
    tested: bool = False,
) -> tuple[Limits, Mask]:
    """Intervals of a mean, with statistics if it is to be tested, and which of them are those of a floor.

    `around` gives Wald's intervals from values and half-widths. With the method "auto" these are taken where the
    profile likelihood confirms them; "none" has none.
    """
    accuracy = accuracy_of(fit, mean, target)
    k, nothing, errors = len(mean.shares), np.full(len(mean.shares), np.nan), accuracy.errors
    statistic, freedom = accuracy.tested(mean.shares)
    ends, floored = around(mean.shares, accuracy.half_widths(level)), accuracy.floored(level)
    wald = Limits(*ends, errors, ("wald",) * k, statistic, freedom)
    if method == "none":
        return wald._replace(low=nothing, high=nothing, methods=("none",) * k), floored
    boundary = at_the_boundary(fit, mean)
    if why_no_profile(fit) or method == "wald":
        if boundary:
            return Limits(nothing, nothing, nothing, ("none",) * k, nothing, freedom), np.zeros(k, dtype=bool)
        return wald, floored
    z = float(critical_value(level))
    realised = around(mean.shares, z * fit.accuracy(mean.slopes).errors)
    people = np.zeros(k)
    if target == "population":  # sampling adds the variance of the respondents' shares
        rows = fit.model_data.observations
        people = np.diagonal(score_covariance(rows, (mean.each - mean.shares) / rows.weight.sum()))
    start = profile_start(fit, z**2)

    def profiled(answer: int) -> tuple[float, float, float] | None:
        """Return the limits and the statistic of one answer by its profile; None where Wald's interval is used."""
        quantity = MeanShare(fit.specification, mean.x, mean.weight, answer)
        ends = (float(realised[0][answer]), float(realised[1][answer]))
        confirmed = method == "auto" and fit.infinity is None and wald_agrees(fit, quantity.expansion, ends, z)
        if fit.specification.domain[answer] in fit.specification.empty or confirmed:
            return None
        return _profiled(fit, quantity, z, float(people[answer]), start, tested=tested)

    limits = _replaced(wald, profiled, float(mean.weight.sum()))
    return limits._replace(error=nothing if boundary else errors), floored


def _replaced(wald: Limits, profiled: Callable[[int], tuple[float, float, float] | None], whole: float) -> Limits:
    """Replace Wald intervals by profile intervals; of two answers, the other has the rest of the `whole`: 1, or 0."""
    low, high, statistic, methods = wald.low, wald.high, wald.statistic, list(wald.methods)
    k = len(methods)
    for answer in range(1 if k == 2 else k):
        found = profiled(answer)
        if found is not None:
            (low[answer], high[answer], statistic[answer]), methods[answer] = found, "profile"
    if k == 2 and methods[0] == "profile":
        low[1], high[1], statistic[1], methods[1] = whole - high[0], whole - low[0], -statistic[0], "profile"
    return wald._replace(methods=tuple(methods))


def at_the_boundary(fit: Regression, mean: MeanShares) -> bool:
    """Return True if some of the shares go to 0 or 1 with estimates at infinity."""
    if fit.infinity is None:
        return False
    moved = np.abs(fit.specification.matrix(fit.infinity.direction) @ mean.x.T).max(axis=0)
    return bool((moved[mean.weight != 0] > MOVING_PREDICTOR).any())


GROUP_INTERVALS = (
    "The share of a group always has a design-based interval: see warner.estimate of a tally by group (warner estimate "
    "--by)."
)


def boundary_notes(fit: Regression) -> list[str]:
    text = "Some of these shares are estimated as 0 or 100 %, where there are no standard errors"
    reason = why_no_profile(fit)
    if not reason:
        return [f"{text}: intervals and p-values are those of the profile likelihood."]
    other = "A linear model has one." if fit.model_data.observations.sampling.simple else GROUP_INTERVALS
    return [f"{text}, and there is no profile likelihood {reason}: they have no interval. {other}"]


def _profiled(
    fit: Regression, quantity: MeanShare, z: float, people: float, start: ProfileStart, *, tested: bool
) -> tuple[float, float, float]:
    """Both limits, and the signed root of the likelihood ratio against 0."""

    def limits_and_root(profile: MeanProfile) -> tuple[float, float, float]:
        low, high = (profile.limit(z**2, side) for side in (-1, 1))
        return low, high, np.sqrt(_loss_at_0(profile, people)) if tested else np.nan

    estimate = quantity.value(fit.finite_coefficients)
    low, high, root = _from_profile(fit, quantity, z**2, start, limits_and_root)
    below, above = (np.sqrt((limit - estimate) ** 2 + z**2 * people) for limit in (low, high))
    return estimate - below, estimate + above, float(np.copysign(root, estimate))


def mean_share_limits(
    fit: Regression, quantity: MeanShare, threshold: float, start: ProfileStart
) -> tuple[float, float]:
    """Both limits of a sum of shares by its profile; they contain the estimate."""
    low, high = _from_profile(
        fit, quantity, threshold, start, lambda profile: tuple(profile.limit(threshold, side) for side in (-1, 1))
    )
    return low, high


def _from_profile(
    fit: Regression,
    quantity: MeanShare,
    threshold: float,
    start: ProfileStart,
    limits: Callable[[MeanProfile], tuple[float, ...]],
) -> tuple[float, ...]:
    """Limits and statistics of a profile; restart if it leads to a better optimum. The limits contain the estimate."""
    estimate = quantity.value(fit.finite_coefficients)
    found = from_best_maximum(fit, threshold, start, lambda start: limits(MeanProfile(start, quantity)))
    low, high, *rest = found
    return min(low, estimate), max(high, estimate), *rest


def _loss_at_0(profile: MeanProfile, people: float) -> float:
    r"""Quantile at which the interval ends at 0.

    For the population it is the loss at the t with :math:`(\hat h - t)^2 + v\,\mathrm{loss}(t) = \hat h^2`.
    """
    if people == 0 or profile.estimate == 0:
        return profile.loss(0.0)
    from scipy.optimize import brentq  # which takes longer to load than all of our modules

    size = abs(profile.estimate)
    try:
        limit = brentq(
            lambda t: (profile.estimate - t) ** 2 + people * profile.loss(t) - size**2,
            *sorted((0.0, profile.estimate)),
            xtol=1e-6 * size,
        )
    except ValueError:  # a loss that was not found is NaN
        return np.nan
    return profile.loss(float(limit))
