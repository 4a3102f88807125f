r"""Confidence intervals of coefficients: by profile likelihood, or by standard errors where that is not valid or dear.

A profile needs a likelihood: with sampling weights, clusters or strata there is none, and the interval is that of Wald,
with robust errors. So it is if robust errors were asked for, and for linear shares. Where reports tell as much as 2,000
direct answers would, and no estimate is at infinity, Wald's is taken for those coefficients whose profile confirms it:
however much is known of all people together, a group of 60 may say little about its own coefficient. A penalised
estimate is a point, without an interval.

Whether a profile confirms both ends of :math:`\hat h \pm z\,\mathrm{se}`, h any function of the coefficients, is seen
by one step of Newton's method: the end of the profile is
:math:`[\max_b\{\ell(b) + \tau h(b)\} - \ell_{\max} + z^2/2]/\tau`, nearly the same for all :math:`\tau` near
:math:`\pm z/\mathrm{se}` (`mean_profiles`). A step from the estimate leads to :math:`\hat b + \tau V\nabla h`, and
what a further one would gain is half its decrement.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.regression.newton import newton_ascent
from warner.regression.profiles import Combination, FalseOptimumError, Profile
from warner.regression.standard_errors import covariance
from warner.results import critical_value, wald

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warner.arrays import Array
    from warner.regression.likelihood import Likelihood
    from warner.regression.profiles import Quantity
    from warner.regression.regressions import Regression

INTERVALS = ("auto", "profile", "wald")
MANY = 2000.0  # direct answers that would tell as much, beyond which Wald's interval is taken where it is confirmed
AGREE = 0.05  # part of the way from the estimate to an end by which two intervals that agree may differ
FEW_STARTS = 2  # of each end: null and corrected score, if no other maximum is near
TRIALS = 5
FAR_OUT = 100.0  # movement of a predictor that shows whether a quantity goes along


class Limits(NamedTuple):
    """Ends of intervals, what each rests on, the statistics, and the coefficients of a better optimum, if one was met.

    `method` is "profile", "wald" or, where there is no interval, "none".
    """

    low: Array
    high: Array
    method: tuple[str, ...]
    statistic: Array
    better: Array | None = None


class Summit(NamedTuple):
    """The maximum that profiles start at: its likelihood, coefficients, log-likelihood and covariances."""

    likelihood: Likelihood
    point: Array
    top: float
    spread: Array
    others: tuple[Array, ...]

    def profile(self, quantity: Quantity, unit: float = 1.0) -> Profile:
        """Give the profile of a quantity."""
        return Profile(self.likelihood, quantity, self.point, self.top, self.spread, self.others, unit)


def summit(fit: Regression, threshold: float, better: Array | None = None) -> Summit:
    """Give the maximum of a fit, or that which lies above `better`.

    An end is a point of the profile at which twice the loss is the threshold. If another maximum is known that is not
    lower than that, its branch of the profile may be the higher one there, and all starts are tried.
    """
    assert fit.log_likelihood is not None
    likelihood = fit.likelihood
    rivals = [one for one in fit.optima[1:] if fit.log_likelihood - one.log_likelihood < threshold / 2]
    count = None if rivals or better is not None else FEW_STARTS
    others = fit.profile_starts[:count]
    if better is None:
        return Summit(likelihood, fit.point, fit.log_likelihood, fit.spread, others)
    peak = newton_ascent(likelihood, better)
    spread = covariance(likelihood, peak.coefficients, fit.errors, flat=True)
    return Summit(likelihood, peak.coefficients, peak.value, spread, (*others, fit.point))


def taken(fit: Regression, interval: str) -> str:
    """Tell which interval is taken: "profile", "wald", "none", or "either": Wald's where the profile confirms it."""
    if interval not in INTERVALS:
        raise ValueError(f"interval must be one of {', '.join(INTERVALS)}, but got {interval!r}")
    if fit.penalty is not None:
        if interval != "auto":
            raise ValueError(
                "a penalised fit has point estimates only: intervals around them are not those of "
                "the data; leave the penalty out"
            )
        return "none"
    reason = no_profile(fit)
    if interval == "profile" and reason:
        raise ValueError(f"interval must not be 'profile' {reason}; use 'wald'")
    if interval != "auto":
        return interval
    if reason:
        return "wald"
    return "either" if fit.effective is not None and fit.effective > MANY and fit.infinity is None else "profile"


def no_profile(fit: Regression) -> str:
    """Say why there are no profiles; nothing if there are."""
    if fit.log_likelihood is None:
        return "for a linear model, which has no likelihood"
    if not fit.model_data.observations.sampling.simple:
        return "with sampling weights, clusters or strata, which a likelihood ignores"
    return "with robust errors, which do not trust the likelihood" if fit.errors == "robust" else ""


def wald_agrees(
    fit: Regression, at: Callable[[Array], tuple[float, Array, Array]], ends: tuple[float, float], reach: float
) -> bool:
    """Tell whether the profile of a quantity confirms both ends of its interval by standard errors.

    `at` gives the quantity at some coefficients, with its derivatives and second derivatives.
    """
    assert fit.log_likelihood is not None
    estimate, gradient, _ = at(fit.point)
    along = fit.spread @ gradient
    variance = float(gradient @ along)
    if not variance > 0 or not np.isfinite(ends).all():
        return False
    for side, end in zip((-1, 1), ends, strict=True):
        tilt = side * reach / float(np.sqrt(variance))
        b = fit.point + tilt * along
        place, (value, slope, bend) = fit.likelihood.at(b), at(b)
        rest, information = place.gradient + tilt * slope, place.information - tilt * bend
        try:
            root = np.linalg.cholesky(information)
        except np.linalg.LinAlgError:
            return False
        gain = float(np.sum(np.linalg.solve(root, rest) ** 2)) / 2
        there = value + (place.value + gain - fit.log_likelihood + reach**2 / 2) / tilt
        if not abs(there - end) < AGREE * abs(end - estimate):
            return False
    return True


def limits(fit: Regression, level: float = 0.95, interval: str = "auto") -> Limits:
    """Give the interval of each coefficient.

    An end is infinite where no value is too far out for the reports. An estimate at infinity has one infinite end; one
    that can be anything has two.
    """
    method = taken(fit, interval)
    statistic, low, high = wald(fit.coefficients, fit.standard_errors, level, fit.freedom)
    statistic[~np.isfinite(fit.coefficients)] = np.nan
    count = len(fit.coefficients)
    if method == "none":
        nothing = np.full(count, np.nan)
        return Limits(nothing, nothing.copy(), ("none",) * count, statistic)
    normal = float(critical_value(level))
    if method == "either":
        confirmed = [_confirmed(fit, i, (float(low[i]), float(high[i])), normal) for i in range(count)]
        which = np.flatnonzero(~np.array(confirmed))
    else:
        which = np.arange(count if method == "profile" else 0)
    infinite = np.isinf(fit.coefficients)
    low[infinite & (fit.coefficients < 0)] = -np.inf
    high[infinite & (fit.coefficients > 0)] = np.inf
    undetermined = np.isnan(fit.coefficients)
    low[undetermined], high[undetermined] = -np.inf, np.inf
    without = Limits(low, high, ("wald",) * count, statistic)
    return _profiled(fit, normal**2, without, which.tolist()) if len(which) else without


def _confirmed(fit: Regression, i: int, ends: tuple[float, float], reach: float) -> bool:
    size = len(fit.point)
    return wald_agrees(fit, lambda b: (float(b[i]), np.eye(size)[i], np.zeros((size, size))), ends, reach)


def warned(fit: Regression, ends: Limits) -> Limits:
    """Warn if a better optimum was met while the ends were looked for."""
    if ends.better is not None:
        gain = fit.likelihood.value(ends.better) - (fit.log_likelihood or 0.0)
        warnings.warn(
            f"coefficients with a log-likelihood higher by {gain:.3g} were found: the estimate is a false optimum, "
            "and intervals are those of the better one, widened to hold the estimate; take fit.better()",
            stacklevel=3,
        )
    return ends


def _profiled(fit: Regression, threshold: float, wald: Limits, which: Sequence[int]) -> Limits:
    """Find both ends of some coefficients; with a better optimum they are its own, widened to hold the estimate."""
    top, better = summit(fit, threshold), None
    methods = tuple("profile" if i in which else "wald" for i in range(len(fit.coefficients)))
    for _ in range(TRIALS):
        ends = Limits(wald.low.copy(), wald.high.copy(), methods, wald.statistic.copy())
        try:
            _profile_each(fit, top, threshold, ends, which)
        except FalseOptimumError as error:
            top = summit(fit, threshold, error.coefficients)
            better = top.point
        else:
            if better is None:
                return ends
            low, high = np.fmin(ends.low, fit.coefficients), np.fmax(ends.high, fit.coefficients)
            return ends._replace(low=low, high=high, better=better)
    raise too_many_maxima()


def _profile_each(fit: Regression, top: Summit, threshold: float, ends: Limits, which: Sequence[int]) -> None:
    """Put the ends of the profiles in their places, and the signed roots of the likelihood ratios against 0."""
    for i in which:
        estimate = fit.coefficients[i]
        if np.isnan(estimate):
            continue
        profile = top.profile(Combination(np.eye(len(ends.low))[i]), float(top.likelihood.scale[i]))
        if estimate > -np.inf:
            ends.low[i] = profile.end(threshold, -1)
        if estimate < np.inf:
            ends.high[i] = profile.end(threshold, 1)
        ends.statistic[i] = np.copysign(np.sqrt(max(profile.loss(0.0), 0.0)), estimate)


class Coordinates(NamedTuple):
    """Other coefficients of the same model: T b, and their likelihood."""

    likelihood: Likelihood
    matrix: Array

    def of(self, top: Summit) -> Summit:
        """Give a maximum in these coefficients."""
        turn = self.matrix
        others = tuple(turn @ b for b in top.others)
        return Summit(self.likelihood, turn @ top.point, top.top, turn @ top.spread @ turn.T, others)


def ends_of(
    fit: Regression, quantity: Quantity, threshold: float, coordinates: Coordinates, top: Summit
) -> tuple[float, float]:
    """Find both ends of a quantity of some coefficients, from the maximum of the fit; they hold the estimate."""
    estimate = quantity.value(coordinates.matrix @ fit.point)
    at_infinity = infinite_in(fit, quantity, coordinates)
    for _ in range(TRIALS):
        profile = coordinates.of(top).profile(quantity)
        try:
            low = -np.inf if at_infinity < 0 else profile.end(threshold, -1)
            high = np.inf if at_infinity > 0 else profile.end(threshold, 1)
        except FalseOptimumError as error:
            top = summit(fit, threshold, np.linalg.inv(coordinates.matrix).astype(np.float64) @ error.coefficients)
        else:
            return min(low, estimate), max(high, estimate)
    raise too_many_maxima()


def infinite_in(fit: Regression, quantity: Quantity, coordinates: Coordinates) -> float:
    """Tell whether a quantity lies at minus or plus infinity at the estimate; 0 if it is finite."""
    if fit.infinity is None:
        return 0.0
    point, direction = coordinates.matrix @ fit.point, coordinates.matrix @ fit.infinity.direction
    moved = quantity.value(point + FAR_OUT * direction) - quantity.value(point)
    return float(np.sign(moved)) * np.inf if abs(moved) > FAR_OUT / 100 else 0.0


def too_many_maxima() -> ValueError:
    """Say that profiles lead from one maximum to the next."""
    return ValueError("the likelihood has too many maxima for profiles; use interval='wald', or fit with more starts")
