r"""Confidence intervals of coefficients: by profile likelihood, or Wald's where that is not valid or needs too long.

A profile needs a likelihood: with sampling weights, clusters or strata there is none, and the interval is that of Wald,
with robust errors. So it is if robust errors were asked for, and for linear shares. Where reports tell as much as 2,000
direct answers would, and no estimate is at infinity, Wald's is taken for those coefficients whose profile confirms it:
however much is known of all people together, a group of 60 may say little about its own coefficient. A penalised
estimate is a point, without an interval.

Whether a profile confirms both limits :math:`\hat h \pm z\,\mathrm{se}`, h any function of the coefficients, is seen
by one step of Newton's method: the limit of the profile is
:math:`[\max_b\{\ell(b) + \tau h(b)\} - \ell_{\max} + z^2/2]/\tau`, nearly the same for all :math:`\tau` near
:math:`\pm z/\mathrm{se}` (`mean_profiles`). A step from the estimate leads to :math:`\hat b + \tau V\nabla h`, and
what a further one would gain is half its decrement.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.progress import steps
from warner.regression.newton import newton_ascent
from warner.regression.profiles import Combination, FalseOptimumError, Profile
from warner.regression.standard_errors import covariance
from warner.results import StandardErrors, critical_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warner.arrays import Array
    from warner.regression.likelihood import Likelihood
    from warner.regression.profiles import Quantity
    from warner.regression.regressions import Regression

COEFFICIENT_INTERVALS = ("auto", "profile", "wald")
ANSWERS_FOR_WALD = 2000.0  # direct answers that would tell as much, beyond which a confirmed Wald interval is taken
WALD_TOLERANCE = 0.05  # part of the way from the estimate to a limit by which two intervals that agree may differ
STARTS_PER_LIMIT = 2  # null and corrected score
FEW_STARTS = 40  # more starts, up to which profiles try all of them, if another maximum is near
MOST_RIVALS = 10  # other maxima that profiles start from, if one of them is near
BETTER_OPTIMA = 5  # how often a profile may lead to a higher maximum
FAR_PREDICTOR = 100.0  # change of a predictor that shows whether a quantity goes along


class CoefficientLimits(NamedTuple):
    """Confidence limits, what each rests on, the statistics, and the coefficients of a better optimum, if one was met.

    `freedom` are the degrees of freedom of the statistics, None for the normal distribution. `method` is "profile",
    "wald" or, where there is no interval, "none".
    """

    low: Array
    high: Array
    method: tuple[str, ...]
    statistic: Array
    freedom: Array | None = None
    better: Array | None = None


class ProfileStart(NamedTuple):
    """The maximum that profiles start at: coefficients, log-likelihood and covariances; and other starts to try."""

    likelihood: Likelihood
    coefficients: Array
    log_likelihood: float
    covariance: Array
    starts: tuple[Array, ...]

    def profile(self, quantity: Quantity, unit: float = 1.0) -> Profile:
        """Give the profile likelihood of a quantity."""
        return Profile(
            self.likelihood, quantity, self.coefficients, self.log_likelihood, self.covariance, self.starts, unit
        )


def profile_start(fit: Regression, threshold: float, better: Array | None = None) -> ProfileStart:
    """Give the maximum of a fit, or the one that an ascent from `better` leads to.

    At a confidence limit twice the loss of log-likelihood is the threshold. If another maximum is known that loses no
    more than that, its branch of the profile may be the higher one there. Then the best other maxima are tried as well,
    and the other starts of the fit, unless there are many.
    """
    assert fit.log_likelihood is not None
    likelihood = fit.profile_likelihood
    rivals = [one for one in fit.optima[1:] if fit.log_likelihood - one.log_likelihood < threshold / 2]
    starts = fit.profile_starts[:STARTS_PER_LIMIT]
    if rivals or better is not None:
        others = fit.profile_starts[STARTS_PER_LIMIT:]
        starts = (*starts, *fit.rivals[:MOST_RIVALS], *(others if len(others) <= FEW_STARTS else ()))
    if better is None and likelihood is fit.likelihood:
        return ProfileStart(likelihood, fit.finite_coefficients, fit.log_likelihood, fit.finite_covariance, starts)
    if better is None:  # more nodes of quadrature move the maximum a little
        near = newton_ascent(likelihood, fit.finite_coefficients)
        return ProfileStart(likelihood, near.coefficients, near.value, fit.finite_covariance, starts)
    maximum = newton_ascent(likelihood, better)
    at_maximum = covariance(likelihood, maximum.coefficients, fit.errors, flat=True)
    starts = (*starts, fit.finite_coefficients)
    return ProfileStart(likelihood, maximum.coefficients, maximum.value, at_maximum, starts)


def interval_method(fit: Regression, interval: str) -> str:
    """Name the method: "profile", "wald", "none", or "either", which is Wald's where the profile confirms it."""
    if interval not in COEFFICIENT_INTERVALS:
        raise ValueError(f"interval must be one of {', '.join(COEFFICIENT_INTERVALS)}, but got {interval!r}")
    if fit.penalty is not None:
        if interval != "auto":
            raise ValueError(
                "a penalised fit has point estimates only: intervals around them are not those of "
                "the data; leave the penalty out"
            )
        return "none"
    reason = why_no_profile(fit)
    if interval == "profile" and reason:
        raise ValueError(f"interval must not be 'profile' {reason}; use 'wald'")
    if interval != "auto":
        return interval
    if reason:
        return "wald"
    return (
        "either"
        if fit.effective is not None and fit.effective > ANSWERS_FOR_WALD and fit.infinity is None
        else "profile"
    )


def why_no_profile(fit: Regression) -> str:
    """Say why there are no profiles; nothing if there are."""
    if fit.log_likelihood is None:
        return "for a linear model, which has no likelihood"
    if not fit.model_data.observations.sampling.simple:
        return "with sampling weights, clusters or strata, which a likelihood ignores"
    return "with robust errors, which do not trust the likelihood" if fit.errors == "robust" else ""


def wald_agrees(
    fit: Regression, at: Callable[[Array], tuple[float, Array, Array]], wald: tuple[float, float], z: float
) -> bool:
    """Tell whether the profile of a quantity confirms both limits of Wald's interval, z standard errors away.

    `at` gives the quantity at some coefficients, with its derivatives and second derivatives.
    """
    assert fit.log_likelihood is not None
    estimate, gradient, _ = at(fit.finite_coefficients)
    along = fit.finite_covariance @ gradient
    variance = float(gradient @ along)
    if not variance > 0 or not np.isfinite(wald).all():
        return False
    for side, limit in zip((-1, 1), wald, strict=True):
        # The Newton step towards the maximum of the tilted likelihood, and what a further one would gain.
        tilt = side * z / float(np.sqrt(variance))
        b = fit.finite_coefficients + tilt * along
        here, (value, first, second) = fit.likelihood.at(b), at(b)
        tilted_gradient, information = here.gradient + tilt * first, here.information - tilt * second
        try:
            root = np.linalg.cholesky(information)
        except np.linalg.LinAlgError:
            return False
        gain = float(np.sum(np.linalg.solve(root, tilted_gradient) ** 2)) / 2
        profile_limit = value + (here.value + gain - fit.log_likelihood + z**2 / 2) / tilt
        if not abs(profile_limit - limit) < WALD_TOLERANCE * abs(limit - estimate):
            return False
    return True


def coefficient_limits(fit: Regression, level: float = 0.95, interval: str = "auto") -> CoefficientLimits:
    """Give the confidence interval of each coefficient.

    A limit is infinite where no value is too far out for the reports. An estimate at infinity has one infinite limit;
    one that can be anything has two.
    """
    method = interval_method(fit, interval)
    count = len(fit.coefficients)
    floor = fit.accuracy(np.eye(len(fit.finite_coefficients))).floor
    accuracy = StandardErrors(fit.standard_errors, fit.freedom, None if floor is None else floor[:count])
    statistic, freedom, low, high = accuracy.wald(fit.coefficients, level)
    statistic[~np.isfinite(fit.coefficients)] = np.nan
    if method == "none":
        nothing = np.full(count, np.nan)
        return CoefficientLimits(nothing, nothing.copy(), ("none",) * count, statistic, freedom)
    z = float(critical_value(level))
    # Which coefficients need a profile.
    if method == "either":
        confirmed = [_confirmed(fit, i, (float(low[i]), float(high[i])), z) for i in range(count)]
        which = np.flatnonzero(~np.array(confirmed))
    else:
        which = np.arange(count if method == "profile" else 0)
    # Estimates at infinity, and those that can be anything.
    infinite = np.isinf(fit.coefficients)
    low[infinite & (fit.coefficients < 0)] = -np.inf
    high[infinite & (fit.coefficients > 0)] = np.inf
    undetermined = np.isnan(fit.coefficients)
    low[undetermined], high[undetermined] = -np.inf, np.inf
    without = CoefficientLimits(low, high, ("wald",) * count, statistic, freedom)
    return _with_profiles(fit, z**2, without, which.tolist()) if len(which) else without


def _confirmed(fit: Regression, i: int, wald: tuple[float, float], z: float) -> bool:
    size = len(fit.finite_coefficients)
    return wald_agrees(fit, lambda b: (float(b[i]), np.eye(size)[i], np.zeros((size, size))), wald, z)


def warn_of_better_optimum(fit: Regression, limits: CoefficientLimits) -> None:
    """Warn if a better optimum was met while the limits were looked for."""
    if limits.better is not None:
        gain = fit.likelihood.value(limits.better) - (fit.log_likelihood or 0.0)
        warnings.warn(
            f"coefficients with a log-likelihood higher by {gain:.3g} were found: the estimate is a false optimum, "
            "and intervals are those of the better one, widened to hold the estimate; take fit.better()",
            stacklevel=3,
        )


def _with_profiles(
    fit: Regression, threshold: float, wald: CoefficientLimits, which: Sequence[int]
) -> CoefficientLimits:
    """Profile some coefficients; from a better optimum, the limits are its own, widened to hold the estimate."""
    start, better = profile_start(fit, threshold), None
    methods = tuple("profile" if i in which else "wald" for i in range(len(fit.coefficients)))
    for _ in range(BETTER_OPTIMA):
        limits = CoefficientLimits(wald.low.copy(), wald.high.copy(), methods, wald.statistic.copy(), wald.freedom)
        try:
            _profile_each(fit, start, threshold, limits, which)
        except FalseOptimumError as error:
            start = profile_start(fit, threshold, error.coefficients)
            better = start.coefficients
        else:
            if better is None:
                return limits
            low, high = np.fmin(limits.low, fit.coefficients), np.fmax(limits.high, fit.coefficients)
            return limits._replace(low=low, high=high, better=better)
    raise too_many_maxima()


def _profile_each(
    fit: Regression, start: ProfileStart, threshold: float, limits: CoefficientLimits, which: Sequence[int]
) -> None:
    """Put the limits of the profiles in their places, and the signed roots of the likelihood ratios against 0."""
    for i in steps(which, "confidence intervals"):
        estimate = fit.coefficients[i]
        if np.isnan(estimate):
            continue
        profile = start.profile(Combination(np.eye(len(start.coefficients))[i]), float(start.likelihood.scale[i]))
        if estimate > -np.inf:
            limits.low[i] = profile.limit(threshold, -1)
        if estimate < np.inf:
            limits.high[i] = profile.limit(threshold, 1)
        limits.statistic[i] = np.copysign(np.sqrt(max(profile.loss(0.0), 0.0)), estimate)


class Coordinates(NamedTuple):
    """Other coefficients of the same model: T b, and their likelihood."""

    likelihood: Likelihood
    matrix: Array

    def of(self, start: ProfileStart) -> ProfileStart:
        """Give a maximum in these coefficients."""
        turn = self.matrix
        return ProfileStart(
            self.likelihood,
            turn @ start.coefficients,
            start.log_likelihood,
            turn @ start.covariance @ turn.T,
            tuple(turn @ b for b in start.starts),
        )


def quantity_limits(
    fit: Regression, quantity: Quantity, threshold: float, coordinates: Coordinates, start: ProfileStart
) -> tuple[float, float]:
    """Give both limits of a quantity of some coefficients by its profile, from the maximum; they hold the estimate."""
    estimate = quantity.value(coordinates.matrix @ fit.finite_coefficients)
    at_infinity = infinite_sign(fit, quantity, coordinates)
    for _ in range(BETTER_OPTIMA):
        profile = coordinates.of(start).profile(quantity)
        try:
            low = -np.inf if at_infinity < 0 else profile.limit(threshold, -1)
            high = np.inf if at_infinity > 0 else profile.limit(threshold, 1)
        except FalseOptimumError as error:
            better = np.linalg.inv(coordinates.matrix).astype(np.float64) @ error.coefficients
            start = profile_start(fit, threshold, better)
        else:
            return min(low, estimate), max(high, estimate)
    raise too_many_maxima()


def infinite_sign(fit: Regression, quantity: Quantity, coordinates: Coordinates) -> float:
    """Tell whether a quantity lies at minus or plus infinity at the estimate; 0 if it is finite."""
    if fit.infinity is None:
        return 0.0
    b, direction = coordinates.matrix @ fit.finite_coefficients, coordinates.matrix @ fit.infinity.direction
    change = quantity.value(b + FAR_PREDICTOR * direction) - quantity.value(b)
    return float(np.sign(change)) * np.inf if abs(change) > FAR_PREDICTOR / 100 else 0.0


def too_many_maxima() -> ValueError:
    """Say that profiles lead from one maximum to the next."""
    return ValueError("the likelihood has too many maxima for profiles; use interval='wald', or fit with more starts")
