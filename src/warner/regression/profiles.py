r"""Profile likelihood: confidence limits of a coefficient, a linear combination, or the log-odds of an answer.

The profile of a quantity h(b) at t is the largest log-likelihood with h fixed at t. The interval is all t with
:math:`2(\ell_{\max} - \ell_p(t)) \le \chi^2`; it has one infinite limit for an estimate at infinity. A linear function
of the coefficients is fixed, or the log-odds of one answer among several at some columns x:

.. math:: h(b) = c'b - \log\textstyle\sum_{l \ne k} e^{x'b_l}.

Either can be solved for one of the coefficients, the pivot; the others are free. See the page "Regression on
covariates" for the intervals that are profiles.

One Newton step shows whether a profile confirms both limits :math:`\hat h \pm z\,\mathrm{se}`, for any function h of
the coefficients: the limit of the profile is :math:`[\max_b\{\ell(b) + \tau h(b)\} - \ell_{\max} + z^2/2]/\tau`, nearly
the same for all :math:`\tau` near :math:`\pm z/\mathrm{se}` (`mean_shares`). A step from the estimate leads to
:math:`\hat b + \tau V\nabla h`, and half its decrement is the possible gain of a further step.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from scipy.special import logsumexp

from warner.regression.likelihood import Expansion, Likelihood, ModifiedLikelihood
from warner.regression.maxima import Cutpoints
from warner.regression.newton import CONVERGED_GAIN, SAME_MAXIMUM_NATS, LocalMaximum, newton_ascent
from warner.regression.standard_errors import covariance
from warner.results import Limits, StandardErrors, critical_value
from warner.runtime import steps
from warner.text import check_choice

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warner.arrays import Array, Mask
    from warner.regression.regressions import Regression


# Profiles


LOSS_TOLERANCE = 1e-8  # how far twice the loss of log-likelihood may be from its quantile at a limit
PROFILE_EVALUATIONS = 100  # for one limit
FLAT_FROM_PREDICTOR = 60.0  # change of a predictor beyond which a profile that does not change has no limit
FARTHEST_PREDICTOR = 1e6  # change of a predictor beyond which it has none in any case
FLAT_LOSS = 1e-6  # change of twice the loss below which a profile does not change
ROUGH_GAIN, CLEARLY_LOWER = 1e-4, 0.01  # nats that an ascent may still gain, and by which it is then given up
TARGET_ROUNDING = 1e-10  # part of the distance from the estimate, within which rounding hides where a limit is
ROUNDED_LOSS = 1e-3  # how far twice the loss may then be from its quantile
SMALLEST_FIRST_STEP = 1e-8  # change of a predictor below which a standard error is rounding
LARGEST_FIRST_STEP = 1e3  # change of a predictor within which a limit is looked for first


@dataclass(frozen=True, eq=False)
class Combination:
    """Linear combination of the coefficients: c'b."""

    weights: Array

    @cached_property
    def pivot(self) -> int:
        """Index of the coefficient that is solved for."""
        return int(np.abs(self.weights).argmax())

    def value(self, b: Array) -> float:
        return float(self.weights @ b)

    def gradient(self, b: Array) -> Array:
        return self.weights

    def curvature(self, b: Array) -> Array | None:
        return None


@dataclass(frozen=True, eq=False)
class LogOdds:
    """Log-odds of an answer against all others together, in a multinomial logit, for respondents with columns x."""

    x: Array
    answer: int  # the number of its predictor
    predictors: int

    @cached_property
    def pivot(self) -> int:
        """Index of the coefficient that is solved for: one of this answer, so that the others do not depend on it."""
        return self.answer * len(self.x) + int(np.abs(self.x).argmax())

    def _predictors(self, b: Array) -> tuple[float, Array]:
        """Predictor of the answer, and those of all others but the reference."""
        eta = b.reshape(self.predictors, -1) @ self.x
        return float(eta[self.answer]), np.delete(eta, self.answer)

    def _others(self, b: Array) -> Array:
        """Conditional shares given any other answer, without the reference; 0 for the answer itself."""
        rest = self._predictors(b)[1]
        return np.insert(np.exp(rest - logsumexp(np.append(rest, 0.0))), self.answer, 0.0)

    def value(self, b: Array) -> float:
        eta, rest = self._predictors(b)
        return eta - float(logsumexp(np.append(rest, 0.0)))

    def gradient(self, b: Array) -> Array:
        steps = -self._others(b)
        steps[self.answer] = 1
        return np.outer(steps, self.x).ravel()

    def curvature(self, b: Array) -> Array:
        """Second derivatives: minus the covariances of the other answers' indicators."""
        others = self._others(b)
        return np.asarray(-np.kron(np.diag(others) - np.outer(others, others), np.outer(self.x, self.x)))


Quantity = Combination | LogOdds


class ConstrainedLikelihood(ModifiedLikelihood):
    r"""Likelihood with a quantity fixed, as a function of all coefficients but the pivot.

    With g and I the gradient and the information in all of them, and J the derivatives of all in the free ones, the
    gradient is :math:`J'g`, and the information :math:`J'IJ - g_p\,\partial^2 b_p`.
    """

    def __init__(self, likelihood: Likelihood, quantity: Quantity) -> None:
        super().__init__(likelihood)
        self.quantity, self.target = quantity, 0.0
        self.free = np.delete(np.arange(likelihood.size), quantity.pivot)
        self._jacobian = np.eye(likelihood.size)[:, self.free]

    @cached_property
    def scale(self) -> Array:
        return np.asarray(self.likelihood.scale[self.free])

    @cached_property
    def basis(self) -> Array:
        root = np.linalg.inv(self.likelihood.basis)[:, self.free]
        return np.asarray(np.linalg.inv(np.linalg.qr(root, mode="r")))

    def all_coefficients(self, free: Array) -> Array:
        """Return all coefficients, with the pivot that gives the quantity its fixed value."""
        b = np.zeros(len(free) + 1)
        b[self.free] = free
        b[self.quantity.pivot] = (self.target - self.quantity.value(b)) / self._gradient_at_pivot(b)
        return b

    def _gradient_at_pivot(self, b: Array) -> float:
        return float(self.quantity.gradient(b)[self.quantity.pivot])

    def predictors(self, b: Array) -> Array:
        return self.likelihood.predictors(self.all_coefficients(b))

    def value(self, b: Array) -> float:
        return self.likelihood.value(self.all_coefficients(b))

    def expansion(self, b: Array) -> Expansion:
        every = self.all_coefficients(b)
        here = self.likelihood.expansion(every)
        pivot, at_pivot = self.quantity.pivot, self._gradient_at_pivot(every)
        self._jacobian[pivot] = -self.quantity.gradient(every)[self.free] / at_pivot
        # J is the identity but for the pivot's row: J'IJ differs from the free block by products with this row.
        free, slope = self.free, self._jacobian[pivot]
        information = here.information[np.ix_(free, free)]
        if slope.any():
            cross = np.outer(here.information[free, pivot] + here.information[pivot, pivot] / 2 * slope, slope)
            information += cross + cross.T
        second = self.quantity.curvature(every)
        if second is not None:
            information += here.gradient[pivot] / at_pivot * second[np.ix_(self.free, self.free)]
        return Expansion(here.value, here.gradient @ self._jacobian, information)

    def predictor_change(self, direction: Array) -> Array:
        """Return the change of all predictors along a direction of the free coefficients, to first order."""
        return self.likelihood.predictor_change(self._jacobian @ direction)

    def profile_derivative(self, b: Array) -> float:
        """Return the derivative of the profile in the value of the quantity, at a maximum."""
        every = self.all_coefficients(b)
        return float(self.likelihood.expansion(every).gradient[self.quantity.pivot]) / self._gradient_at_pivot(every)


class ConstrainedCutpoints(Cutpoints):
    """Cutpoints of a model in which a linear combination of coefficients is fixed; they may meet but not fall."""

    def __init__(self, constrained: ConstrainedLikelihood, cuts: int) -> None:
        super().__init__(constrained.likelihood, cuts)
        self.constrained = constrained
        self._constrained_faces: dict[bytes, ConstrainedLikelihood] = {}

    def objective(self, met: Mask) -> ConstrainedLikelihood:
        if met.tobytes() not in self._constrained_faces:
            quantity = self.constrained.quantity
            within = Combination(quantity.gradient(np.zeros(self.likelihood.size)) @ self._inside(met))
            self._constrained_faces[met.tobytes()] = ConstrainedLikelihood(self.face(met), within)
        face = self._constrained_faces[met.tobytes()]
        face.target = self.constrained.target
        return face

    def reduced(self, b: Array, met: Mask) -> Array:
        return super().reduced(b, met)[self.objective(met).free]

    def rising(self, b: Array) -> Array:
        """Return coefficients whose cutpoints do not fall: those above the pivot are raised, those below it lowered."""
        b, pivot = b.copy(), self.constrained.quantity.pivot
        pivot = pivot if pivot < self.cuts else 0
        b[pivot : self.cuts] = np.maximum.accumulate(b[pivot : self.cuts])
        b[: pivot + 1] = np.minimum.accumulate(b[pivot::-1])[::-1]
        return self._kept(b)

    def derivative(self, b: Array) -> float:
        met = self.met(b)
        return self.objective(met).profile_derivative(self.reduced(b, met))

    def _spread(self, a: Array, met: Mask) -> Array:
        return super()._spread(self.objective(met).all_coefficients(a), met)

    def _gradient(self, b: Array) -> Array:
        return super()._gradient(b) - self.derivative(b) * self.constrained.quantity.gradient(b)

    def _kept(self, b: Array) -> Array:
        return self.constrained.all_coefficients(b[self.constrained.free])


class FalseOptimumError(Exception):
    """The estimate is a false optimum: coefficients with a higher likelihood were found."""

    def __init__(self, coefficients: Array, gain: float) -> None:
        super().__init__(f"a likelihood that is higher by {gain:.3g} was found")
        self.coefficients, self.gain = coefficients, gain


class _ProfilePoint(NamedTuple):
    """Point of the profile: value of the quantity, free coefficients, twice the loss, and its derivative."""

    target: float
    free: Array
    loss: float
    derivative: float


class Profile:
    """Profile likelihood of a quantity, from the maximum, or finite coefficients as good as it.

    The covariances of the coefficients are for the first step of the search. Each limit is also tried from `starts`, in
    case it lies on a lower branch of the profile. `unit` is the change of a predictor for one unit of the quantity. The
    first coefficients are `cuts` cutpoints.
    """

    def __init__(
        self,
        likelihood: Likelihood,
        quantity: Quantity,
        coefficients: Array,
        log_likelihood: float,
        covariance: Array,
        starts: Sequence[Array] = (),
        unit: float = 1.0,
        cuts: int = 0,
    ) -> None:
        self.constrained = ConstrainedLikelihood(likelihood, quantity)
        self._cutpoints = ConstrainedCutpoints(self.constrained, cuts) if cuts > 1 else None
        self.log_likelihood, self.unit = log_likelihood, unit
        gradient = quantity.gradient(coefficients)
        self.estimate = quantity.value(coefficients)
        along = covariance @ gradient
        variance = float(gradient @ along)
        known = np.isfinite(variance) and variance > (SMALLEST_FIRST_STEP / unit) ** 2
        self.error = min(float(np.sqrt(variance)), LARGEST_FIRST_STEP / unit) if known else 1 / unit
        # Where the free coefficients are expected to go as the quantity moves: a regression on it.
        free = self.constrained.free
        self._tangent = along[free] / variance if known and np.isfinite(along).all() else None
        self._origin = _ProfilePoint(self.estimate, coefficients[free], 0.0, 0.0)
        self._inside = [self._origin]  # all points that were found within intervals
        self._starts = [b[free] for b in starts]

    def loss(self, target: float) -> float:
        """Return twice the loss of log-likelihood where the quantity has a value."""
        nearest = min(self._inside, key=lambda point: abs(point.target - target))
        return self._on_best_branch(self._point(target, [nearest]), nearest).loss

    def limit(self, quantile: float, side: int) -> float:
        """Return the lower (-1) or upper (+1) value at which twice the loss is the quantile; infinite if there is none.

        A point with a greater loss may lie on a lower branch, or where the likelihood is flat. An ascent from `inside`,
        the last point with a smaller loss, leads to the branch of the estimate, since no ascent goes down. The limit is
        NaN, with a warning, if the search does not converge.
        """
        inside, outside, last = [self._origin], None, self._origin
        path = inside
        target = self.estimate + side * np.sqrt(quantile) * self.error
        for _ in range(PROFILE_EVALUATIONS):
            here = self._point(target, path)
            stray = here.loss > quantile and (
                here.derivative * side <= 0 or here.loss - quantile > abs(last.loss - quantile) / 2
            )
            if stray:
                here = self._on_best_branch(here, inside[-1], others=False)
            if self._is_limit(here, inside[-1], quantile):
                best = self._on_best_branch(here, None if last is inside[-1] else inside[-1])
                if best is here:
                    self._inside.append(here)
                    return here.target
                # On a higher branch the limit is farther out.
                here, outside, path, inside = best, None, [], [self._origin]
            if here.loss > quantile:
                outside = here
            else:
                if outside is not None and here.target == outside.target:
                    outside = None
                if outside is None and self._is_flat(inside[-1], here):
                    return float(side * np.inf)
                inside = [*inside[-1:], here]
                self._inside.append(here)
            path = inside if stray else [*path[-1:], here]
            last = here
            target = self._next(inside[-1], outside, here, quantile, side)
        warnings.warn("a limit of a profile likelihood was not found and is missing; use interval='wald'", stacklevel=2)
        return np.nan

    def _is_limit(self, here: _ProfilePoint, inside: _ProfilePoint, quantile: float) -> bool:
        """Return True if twice the loss is the quantile, or as near to it as rounding permits."""
        missed, moved = abs(here.loss - quantile), abs(here.target - inside.target)
        rounded = moved < TARGET_ROUNDING * abs(here.target - self.estimate)
        return missed < LOSS_TOLERANCE or (missed < ROUNDED_LOSS and rounded)

    def _is_flat(self, before: _ProfilePoint, here: _ProfilePoint) -> bool:
        moved = abs(here.target - self.estimate) * self.unit
        unchanged = abs(here.loss - before.loss) < FLAT_LOSS
        return moved > FARTHEST_PREDICTOR or (moved > FLAT_FROM_PREDICTOR and unchanged)

    def _next(
        self, inside: _ProfilePoint, outside: _ProfilePoint | None, here: _ProfilePoint, quantile: float, side: int
    ) -> float:
        """Return the next value: a Newton step on the root of the loss, which is nearly linear; else halve or double.

        If the step from a point inside leads beyond the point outside, that point may lie on a lower branch, and is
        evaluated once more, from the point inside.
        """
        root = np.sqrt(max(here.loss, 0.0))
        step = (np.sqrt(quantile) - root) * 2 * root / here.derivative if here.derivative * side > 0 else np.inf
        target = here.target + step
        if outside is not None:
            low, high = sorted((inside.target, outside.target))
            if low < target < high:
                return float(target)
            return outside.target if here is inside else (low + high) / 2
        farthest = self.estimate + 2 * (here.target - self.estimate)
        return float(target) if 0 < step * side <= abs(farthest - here.target) else farthest

    def _point(self, target: float, path: Sequence[_ProfilePoint]) -> _ProfilePoint:
        """Maximize with the quantity fixed, from an extrapolation of the last points."""
        last = path[-1]
        for _ in range(PROFILE_EVALUATIONS):
            self.constrained.target = target
            for start in self._expected(target, path):
                if np.isfinite(self.constrained.value(start)):
                    return self._maximised(start)
            target = (target + last.target) / 2  # out of bounds: nearer to what is known
        raise ValueError("the profile likelihood could not be followed; use interval='wald'")

    def _expected(self, target: float, path: Sequence[_ProfilePoint]) -> list[Array]:
        """Extrapolate the free coefficients along the last two points, or along the tangent at the estimate."""
        last, slope = path[-1], self._tangent
        if len(path) > 1 and last.target != path[-2].target:
            slope = (last.free - path[-2].free) / (last.target - path[-2].target)
        ahead = [] if slope is None else [last.free + (target - last.target) * slope]
        return [self._rising(start) for start in (*ahead, last.free)]

    def _rising(self, start: Array) -> Array:
        if self._cutpoints is None:
            return start
        return self._cutpoints.rising(self.constrained.all_coefficients(start))[self.constrained.free]

    def _ascent(self, start: Array, known: Sequence[LocalMaximum], gap: float = CONVERGED_GAIN) -> LocalMaximum:
        if self._cutpoints is None:
            return newton_ascent(self.constrained, start, gap=gap, known=known)
        spread = self.constrained.all_coefficients
        known = [one._replace(coefficients=spread(one.coefficients)) for one in known]
        maximum = self._cutpoints.ascent(self.constrained, spread(start), known=known, gap=gap)
        return maximum._replace(coefficients=maximum.coefficients[self.constrained.free])

    def _maximised(self, start: Array, known: Sequence[LocalMaximum] = ()) -> _ProfilePoint:
        maximum = self._ascent(start, known)
        loss, b = 2 * (self.log_likelihood - maximum.value), maximum.coefficients
        every = self.constrained.all_coefficients(b)
        if loss < -2 * SAME_MAXIMUM_NATS - 1e-12 * abs(self.log_likelihood):
            raise FalseOptimumError(every, -loss / 2)
        slope = self.constrained.profile_derivative(b) if self._cutpoints is None else self._cutpoints.derivative(every)
        return _ProfilePoint(self.constrained.target, b, loss, -2 * slope)

    def _on_best_branch(self, here: _ProfilePoint, near: _ProfilePoint | None, *, others: bool = True) -> _ProfilePoint:
        """Maximize from another point and from other starts with the same value, and return the highest maximum.

        An ascent that is nearly at its end and clearly lower than the present maximum is not finished.
        """
        self.constrained.target = here.target
        for start in [*([self._rising(near.free)] if near else []), *(self._starts if others else [])]:
            if not np.isfinite(self.constrained.value(start)):
                continue
            value = self.log_likelihood - here.loss / 2
            known = [LocalMaximum(here.free, value, 0.0, converged=True)]
            rough = self._ascent(start, known, ROUGH_GAIN)
            if rough.value > value - CLEARLY_LOWER:
                other = self._maximised(rough.coefficients, known)
                if other.loss < here.loss - 2 * SAME_MAXIMUM_NATS:
                    here = other
        return here


# Intervals


COEFFICIENT_INTERVALS = ("auto", "profile", "wald")
ANSWERS_FOR_WALD = 2000.0  # direct answers that would tell as much, beyond which a confirmed Wald interval is taken
WALD_TOLERANCE = 0.05  # part of the way from the estimate to a limit by which two intervals that agree may differ
STARTS_PER_LIMIT = 2  # null and corrected score
FEW_STARTS = 40  # more starts, up to which profiles try all of them, if another maximum is near
MOST_RIVALS = 10  # other maxima that profiles start from, if one of them is near
BETTER_OPTIMA = 5  # how often a profile may lead to a higher maximum
FAR_PREDICTOR = 100.0  # change of a predictor that shows whether a quantity goes along


Found = TypeVar("Found")


class ProfileStart(NamedTuple):
    """Maximum from which profiles start: coefficients, log-likelihood and covariances; and further starts."""

    likelihood: Likelihood
    coefficients: Array
    log_likelihood: float
    covariance: Array
    starts: tuple[Array, ...]
    cuts: int = 0

    def profile(self, quantity: Quantity, unit: float = 1.0) -> Profile:
        return Profile(self.likelihood, quantity, *self[1:5], unit, self.cuts)


def profile_start(fit: Regression, threshold: float, better: Array | None = None) -> ProfileStart:
    """Maximum of a fit, or the one that an ascent from `better` leads to, as the start of profiles.

    At a confidence limit twice the loss of log-likelihood is the threshold. If another maximum is known that loses no
    more than that, its branch of the profile may be the higher one there. Then the best other maxima are tried as well,
    and the other starts of the fit, unless there are many.
    """
    assert fit.log_likelihood is not None
    likelihood, cuts = fit.profile_likelihood, fit.specification.cuts
    rivals = [one for one in fit.optima[1:] if fit.log_likelihood - one.log_likelihood < threshold / 2]
    starts = fit.profile_starts[:STARTS_PER_LIMIT]
    if rivals or better is not None:
        others = fit.profile_starts[STARTS_PER_LIMIT:]
        starts = (*starts, *fit.rivals[:MOST_RIVALS], *(others if len(others) <= FEW_STARTS else ()))
    if better is None:
        b, value = fit.finite_coefficients, fit.log_likelihood
        if likelihood is not fit.likelihood:  # more nodes of quadrature move the maximum a little
            b, value, *_ = newton_ascent(likelihood, b)
        return ProfileStart(likelihood, b, value, fit.finite_covariance, starts, cuts)
    maximum = newton_ascent(likelihood, better)
    if not maximum.converged and cuts > 1:  # cutpoints have met there
        maximum = Cutpoints(likelihood, cuts).ascent(likelihood, better, known=())
    at_maximum = covariance(likelihood, maximum.coefficients, fit.errors, flat=True)
    starts = (*starts, fit.finite_coefficients)
    return ProfileStart(likelihood, maximum.coefficients, maximum.value, at_maximum, starts, cuts)


def interval_method(fit: Regression, interval: str) -> str:
    """Interval method: "profile", "wald", "none", or "either", which is Wald's where the profile confirms it."""
    check_choice("interval", interval, COEFFICIENT_INTERVALS)
    if fit.penalty is not None:
        if interval != "auto":
            raise ValueError(
                "a penalized fit has point estimates only: intervals around them are not those of "
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
    informative = fit.effective is not None and fit.effective > ANSWERS_FOR_WALD
    return "either" if informative and fit.infinity is None else "profile"


def why_no_profile(fit: Regression) -> str:
    """Reason why there are no profiles; empty if there are."""
    if fit.log_likelihood is None:
        return "for a linear model, which has no likelihood"
    if not fit.model_data.observations.sampling.simple:
        return "with sampling weights, clusters or strata, which a likelihood ignores"
    return "with robust errors, which do not trust the likelihood" if fit.errors == "robust" else ""


def wald_agrees(
    fit: Regression, at: Callable[[Array], tuple[float, Array, Array]], wald: tuple[float, float], z: float
) -> bool:
    """Return True if the profile of a quantity, `at` some coefficients, confirms both limits of Wald's interval."""
    assert fit.log_likelihood is not None
    estimate, gradient, _ = at(fit.finite_coefficients)
    along = fit.finite_covariance @ gradient
    variance = float(gradient @ along)
    if not variance > 0 or not np.isfinite(wald).all():
        return False
    for side, limit in zip((-1, 1), wald, strict=True):
        # The Newton step toward the maximum of the tilted likelihood, and what a further one would gain.
        tilt = side * z / float(np.sqrt(variance))
        b = fit.finite_coefficients + tilt * along
        here, (value, first, second) = fit.likelihood.expansion(b), at(b)
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


def coefficient_limits(fit: Regression, level: float = 0.95, interval: str = "auto") -> tuple[Limits, Array | None]:
    """Confidence interval of each coefficient, and the coefficients of a better optimum if one was found.

    A limit is infinite where no value is too far out for the reports. An estimate at infinity has one infinite limit;
    one that can be anything has two. Methods are "profile", "wald" or, where there is no interval, "none".
    """
    method = interval_method(fit, interval)
    count = len(fit.coefficients)
    floor = fit.accuracy(np.eye(len(fit.finite_coefficients))).floor
    accuracy = StandardErrors(fit.standard_errors, fit.freedom, None if floor is None else floor[:count])
    wald = accuracy.wald(fit.coefficients, level)._replace(methods=("wald",) * count)
    wald.statistic[~np.isfinite(fit.coefficients)] = np.nan
    low, high = wald.low, wald.high
    if method == "none":
        nothing = np.full(count, np.nan)
        return wald._replace(low=nothing, high=nothing, methods=("none",) * count), None
    z = float(critical_value(level))
    # Which coefficients need a profile.
    if method == "either":
        units = np.eye(len(fit.finite_coefficients))

        def confirmed(i: int) -> bool:
            ends = float(low[i]), float(high[i])
            return wald_agrees(fit, lambda b: (float(b[i]), units[i], np.zeros_like(units)), ends, z)

        which = np.array([i for i in range(count) if not confirmed(i)], dtype=np.int64)
    else:
        which = np.arange(count if method == "profile" else 0)
    # Estimates at infinity, and those that can be anything.
    infinite = np.isinf(fit.coefficients)
    low[infinite & (fit.coefficients < 0)] = -np.inf
    high[infinite & (fit.coefficients > 0)] = np.inf
    undetermined = np.isnan(fit.coefficients)
    low[undetermined], high[undetermined] = -np.inf, np.inf
    return _with_profiles(fit, z**2, wald, which.tolist()) if len(which) else (wald, None)


def warn_of_better_optimum(fit: Regression, better: Array | None) -> None:
    if better is not None:
        gain = fit.likelihood.value(better) - (fit.log_likelihood or 0.0)
        warnings.warn(
            f"coefficients with a log-likelihood higher by {gain:.3g} were found: the estimate is a false optimum, "
            "and intervals are those of the better one, widened to hold the estimate; fit again with more starts, or "
            "in Python take fit.better()",
            stacklevel=3,
        )


def _with_profiles(
    fit: Regression, threshold: float, wald: Limits, which: Sequence[int]
) -> tuple[Limits, Array | None]:
    """Profile some coefficients; from a better optimum, limits are widened to contain the estimate."""
    first = profile_start(fit, threshold)
    methods = tuple("profile" if i in which else "wald" for i in range(len(fit.coefficients)))

    def profiled(start: ProfileStart) -> tuple[ProfileStart, Array, Array, Array]:
        """Compute the limits of the profiles, and the signed roots of the likelihood ratios against 0."""
        low, high, statistic = wald.low.copy(), wald.high.copy(), wald.statistic.copy()
        for i in steps(which, "confidence intervals"):
            estimate = fit.coefficients[i]
            if np.isnan(estimate):
                continue
            profile = start.profile(Combination(np.eye(len(start.coefficients))[i]), float(start.likelihood.scale[i]))
            if estimate > -np.inf:
                low[i] = profile.limit(threshold, -1)
            if estimate < np.inf:
                high[i] = profile.limit(threshold, 1)
            statistic[i] = np.copysign(np.sqrt(max(profile.loss(0.0), 0.0)), estimate)
        return start, low, high, statistic

    start, low, high, statistic = from_best_maximum(fit, threshold, first, profiled)
    if start is not first:
        low, high = np.fmin(low, fit.coefficients), np.fmax(high, fit.coefficients)
    limits = wald._replace(low=low, high=high, methods=methods, statistic=statistic)
    return limits, None if start is first else start.coefficients


def from_best_maximum(
    fit: Regression, threshold: float, start: ProfileStart, search: Callable[[ProfileStart], Found]
) -> Found:
    """Search by profiles from a maximum, and again from each better one that this leads to."""
    for _ in range(BETTER_OPTIMA):
        try:
            return search(start)
        except FalseOptimumError as error:
            start = profile_start(fit, threshold, error.coefficients)
    raise ValueError("the likelihood has too many maxima for profiles; use interval='wald', or fit with more starts")


class Coordinates(NamedTuple):
    """Linear transformation T b of the coefficients, and their likelihood."""

    likelihood: Likelihood
    matrix: Array

    def transformed(self, start: ProfileStart) -> ProfileStart:
        turn = self.matrix
        b, turned = turn @ start.coefficients, turn @ start.covariance @ turn.T
        starts = tuple(turn @ one for one in start.starts)
        return start._replace(likelihood=self.likelihood, coefficients=b, covariance=turned, starts=starts)


def quantity_limits(
    fit: Regression, quantity: Quantity, threshold: float, coordinates: Coordinates, start: ProfileStart
) -> tuple[float, float]:
    """Both limits of a quantity of some coefficients by its profile; they contain the estimate."""
    estimate = quantity.value(coordinates.matrix @ fit.finite_coefficients)
    at_infinity = infinite_sign(fit, quantity, coordinates)

    def both_limits(start: ProfileStart) -> tuple[float, float]:
        profile = coordinates.transformed(start).profile(quantity)
        try:
            low = -np.inf if at_infinity < 0 else profile.limit(threshold, -1)
            return low, np.inf if at_infinity > 0 else profile.limit(threshold, 1)
        except FalseOptimumError as error:
            better = np.linalg.solve(coordinates.matrix, error.coefficients).astype(np.float64)
            raise FalseOptimumError(better, error.gain) from None

    low, high = from_best_maximum(fit, threshold, start, both_limits)
    return min(low, estimate), max(high, estimate)


def infinite_sign(fit: Regression, quantity: Quantity, coordinates: Coordinates) -> float:
    """Sign of infinity of a quantity at the estimate; 0 if it is finite."""
    if fit.infinity is None:
        return 0.0
    b, direction = coordinates.matrix @ fit.finite_coefficients, coordinates.matrix @ fit.infinity.direction
    change = quantity.value(b + FAR_PREDICTOR * direction) - quantity.value(b)
    return float(np.sign(change)) * np.inf if abs(change) > FAR_PREDICTOR / 100 else 0.0
