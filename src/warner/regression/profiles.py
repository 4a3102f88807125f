r"""Profile likelihood: confidence limits of a coefficient, a linear combination, or the log-odds of an answer.

The profile of a quantity h(b) at t is the largest log-likelihood with h fixed at t. The interval is all t with
:math:`2(\ell_{\max} - \ell_p(t)) \le \chi^2`. It needs no standard error, so it is right near the noise floor, where
the likelihood is lopsided, and for estimates at infinity, which get one infinite limit.

What is fixed is a linear function of the coefficients, or the log-odds of one answer among several at some columns x:

.. math:: h(b) = c'b - \log\textstyle\sum_{l \ne k} e^{x'b_l}.

Either can be solved for one of the coefficients, the pivot; the others are free.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import logsumexp

from warner.regression.likelihood import Expansion, ModifiedLikelihood
from warner.regression.newton import SAME_MAXIMUM_NATS, LocalMaximum, newton_ascent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array
    from warner.regression.likelihood import Likelihood

LOSS_TOLERANCE = 1e-8  # how far twice the loss of log-likelihood may be from its quantile at a limit
PROFILE_EVALUATIONS = 100  # for one limit
FLAT_FROM_PREDICTOR = 60.0  # change of a predictor beyond which a profile that does not change has no limit
FARTHEST_PREDICTOR = 1e6  # change of a predictor beyond which it has none in any case
FLAT_LOSS = 1e-6  # change of twice the loss below which a profile does not change
ROUGH_GAIN, CLEARLY_LOWER = 1e-4, 0.01  # nats that an ascent may still gain, and by which it is then given up
BRANCH_CHANGES = 4  # how often a limit may turn out to lie on a lower branch


@dataclass(frozen=True, eq=False)
class Combination:
    """A linear function of the coefficients: c'b."""

    weights: Array

    @cached_property
    def pivot(self) -> int:
        """The coefficient that is solved for."""
        return int(np.abs(self.weights).argmax())

    def value(self, b: Array) -> float:
        """Give the quantity."""
        return float(self.weights @ b)

    def gradient(self, b: Array) -> Array:
        """Give its derivatives in the coefficients."""
        return self.weights

    def curvature(self, b: Array) -> Array | None:
        """Give its second derivatives; None where they are nothing."""
        return None


@dataclass(frozen=True, eq=False)
class LogOdds:
    """The log-odds of an answer against all others together, in a multinomial logit, for people with columns x."""

    x: Array
    answer: int  # the number of its predictor
    predictors: int

    @cached_property
    def pivot(self) -> int:
        """The coefficient that is solved for: of this answer, so that the others do not depend on it."""
        return self.answer * len(self.x) + int(np.abs(self.x).argmax())

    def _predictors(self, b: Array) -> tuple[float, Array]:
        """Give the predictor of the answer, and those of all others but the reference."""
        eta = b.reshape(self.predictors, -1) @ self.x
        return float(eta[self.answer]), np.delete(eta, self.answer)

    def _others(self, b: Array) -> Array:
        """Give the shares that the others but the reference have among themselves, 0 in the answer's place."""
        rest = self._predictors(b)[1]
        return np.insert(np.exp(rest - logsumexp(np.append(rest, 0.0))), self.answer, 0.0)

    def value(self, b: Array) -> float:
        """Give the predictor of the answer less the logarithm of what all others have together."""
        eta, rest = self._predictors(b)
        return eta - float(logsumexp(np.append(rest, 0.0)))

    def gradient(self, b: Array) -> Array:
        """Give the derivatives in the coefficients."""
        steps = -self._others(b)
        steps[self.answer] = 1
        return np.outer(steps, self.x).ravel()

    def curvature(self, b: Array) -> Array:
        """Give the second derivatives: minus the variance of who the others are."""
        others = self._others(b)
        return np.asarray(-np.kron(np.diag(others) - np.outer(others, others), np.outer(self.x, self.x)))


Quantity = Combination | LogOdds


class ConstrainedLikelihood(ModifiedLikelihood):
    r"""A likelihood in which a quantity is fixed, as a function of all coefficients but the pivot.

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
        """The root mean square of each free coefficient's column."""
        return np.asarray(self.likelihood.scale[self.free])

    @cached_property
    def basis(self) -> Array:
        """Unit directions of the free coefficients, those of all with the pivot left where it is."""
        root = np.linalg.inv(self.likelihood.basis)[:, self.free]
        return np.asarray(np.linalg.inv(np.linalg.qr(root, mode="r")))

    def all_coefficients(self, free: Array) -> Array:
        """Give all coefficients: the pivot is what gives the quantity its fixed value."""
        b = np.zeros(len(free) + 1)
        b[self.free] = free
        b[self.quantity.pivot] = (self.target - self.quantity.value(b)) / self._gradient_at_pivot(b)
        return b

    def _gradient_at_pivot(self, b: Array) -> float:
        return float(self.quantity.gradient(b)[self.quantity.pivot])

    def predictors(self, b: Array) -> Array:
        """Give the predictors of all rows at free coefficients."""
        return self.likelihood.predictors(self.all_coefficients(b))

    def value(self, b: Array) -> float:
        return self.likelihood.value(self.all_coefficients(b))

    def at(self, b: Array) -> Expansion:
        """Give the log-likelihood, its gradient and its information in the free coefficients."""
        every = self.all_coefficients(b)
        here = self.likelihood.at(every)
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
        """Give the change of all predictors along a direction of the free coefficients, to first order."""
        return self.likelihood.predictor_change(self._jacobian @ direction)

    def profile_derivative(self, b: Array) -> float:
        """Give the derivative of the profile in the value of the quantity, at a maximum."""
        every = self.all_coefficients(b)
        return float(self.likelihood.at(every).gradient[self.quantity.pivot]) / self._gradient_at_pivot(every)


class FalseOptimumError(Exception):
    """A higher likelihood than that of the estimate was found, at `coefficients`: the estimate is a false optimum."""

    def __init__(self, coefficients: Array, gain: float) -> None:
        super().__init__(f"a likelihood that is higher by {gain:.3g} was found")
        self.coefficients, self.gain = coefficients, gain


class _ProfilePoint(NamedTuple):
    """A point of the profile: the value of the quantity, the free coefficients, twice the loss, and its derivative."""

    target: float
    free: Array
    loss: float
    derivative: float


class Profile:
    """The profile likelihood of a quantity.

    Parameters
    ----------
    likelihood : Likelihood
        Of all coefficients.
    quantity : Quantity
        What is fixed.
    coefficients : array
        Those of the maximum; where it lies at infinity, some that are as good.
    log_likelihood : float
        The log-likelihood there.
    covariance : array
        Of the coefficients; it says where to look for the limits.
    starts : sequence of array
        Further coefficients from which each limit is tried, lest it lie on a lower branch of the profile.
    unit : float
        How far a predictor moves for one unit of the quantity.
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
    ) -> None:
        self.constrained = ConstrainedLikelihood(likelihood, quantity)
        self.log_likelihood, self.unit = log_likelihood, unit
        gradient = quantity.gradient(coefficients)
        self.estimate = quantity.value(coefficients)
        along = covariance @ gradient
        variance = float(gradient @ along)
        known = np.isfinite(variance) and variance > 0
        self.error = float(np.sqrt(variance)) if known else 1 / unit
        # Where the free coefficients are expected to go as the quantity moves: a regression on it.
        free = self.constrained.free
        self._tangent = along[free] / variance if known and np.isfinite(along).all() else None
        self._origin = _ProfilePoint(self.estimate, coefficients[free], 0.0, 0.0)
        self._starts = [b[free] for b in starts]

    def loss(self, target: float) -> float:
        """Give twice the log-likelihood that is lost where the quantity has a value."""
        return self._on_best_branch(self._point(target, [self._origin])).loss

    def limit(self, quantile: float, side: int) -> float:
        """Give the lower (side -1) or upper (+1) value at which twice the loss is the quantile; infinite if none is."""
        path = [self._origin]
        inside, outside = self._origin, None
        target = self.estimate + side * np.sqrt(quantile) * self.error
        changes = 0
        for _ in range(PROFILE_EVALUATIONS):
            here = self._point(target, path)
            path = [*path[-1:], here]
            if abs(here.loss - quantile) < LOSS_TOLERANCE:
                best = self._on_best_branch(here)
                changes += 1
                if best is here or changes > BRANCH_CHANGES:
                    return here.target
                here, outside = best, None  # on a higher branch the limit is farther out
                path = [here]
            if here.loss > quantile:
                outside = here
            else:
                if outside is None and self._is_flat(inside, here):
                    return float(side * np.inf)
                inside = here
            target = self._next(inside, outside, here, quantile, side)
        return float(target)

    def _is_flat(self, before: _ProfilePoint, here: _ProfilePoint) -> bool:
        """Tell whether the profile has become flat, far out."""
        moved = abs(here.target - self.estimate) * self.unit
        unchanged = abs(here.loss - before.loss) < FLAT_LOSS
        return moved > FARTHEST_PREDICTOR or (moved > FLAT_FROM_PREDICTOR and unchanged)

    def _next(
        self, inside: _ProfilePoint, outside: _ProfilePoint | None, here: _ProfilePoint, quantile: float, side: int
    ) -> float:
        """Take a step of Newton's method on the root of the loss, which is almost linear; else halve or double."""
        root = np.sqrt(max(here.loss, 0.0))
        step = (np.sqrt(quantile) - root) * 2 * root / here.derivative if here.derivative * side > 0 else np.inf
        target = here.target + step
        if outside is not None:
            low, high = sorted((inside.target, outside.target))
            return float(target) if low < target < high else (low + high) / 2
        farthest = self.estimate + 2 * (here.target - self.estimate)
        return float(target) if 0 < step * side <= abs(farthest - here.target) else farthest

    def _point(self, target: float, path: Sequence[_ProfilePoint]) -> _ProfilePoint:
        """Maximise with the quantity fixed, from where the last points lead to."""
        last = path[-1]
        for _ in range(PROFILE_EVALUATIONS):
            self.constrained.target = target
            for start in self._expected(target, path):
                if np.isfinite(self.constrained.value(start)):
                    return self._maximised(start)
            target = (target + last.target) / 2  # out of bounds: nearer to what is known
        raise ValueError("the profile likelihood could not be followed; use interval='wald'")

    def _expected(self, target: float, path: Sequence[_ProfilePoint]) -> list[Array]:
        """Extrapolate the free coefficients: along the last two points, or along the tangent at the estimate."""
        last = path[-1]
        if len(path) > 1 and last.target != path[-2].target:
            secant = (last.free - path[-2].free) / (last.target - path[-2].target)
            return [last.free + (target - last.target) * secant, last.free]
        if self._tangent is not None:
            return [last.free + (target - last.target) * self._tangent, last.free]
        return [last.free]

    def _maximised(self, start: Array, known: Sequence[LocalMaximum] = ()) -> _ProfilePoint:
        maximum = newton_ascent(self.constrained, start, known=known)
        loss, b = 2 * (self.log_likelihood - maximum.value), maximum.coefficients
        if loss < -2 * SAME_MAXIMUM_NATS - 1e-12 * abs(self.log_likelihood):
            raise FalseOptimumError(self.constrained.all_coefficients(b), -loss / 2)
        return _ProfilePoint(self.constrained.target, b, loss, -2 * self.constrained.profile_derivative(b))

    def _on_best_branch(self, here: _ProfilePoint) -> _ProfilePoint:
        """Maximize from other starts with the same value of the quantity, and return the highest maximum.

        An ascent that is nearly at its end and clearly lower than the present maximum is not finished.
        """
        self.constrained.target = here.target
        for start in self._starts:
            if not np.isfinite(self.constrained.value(start)):
                continue
            value = self.log_likelihood - here.loss / 2
            known = [LocalMaximum(here.free, value, 0.0, converged=True)]
            rough = newton_ascent(self.constrained, start, gap=ROUGH_GAIN, known=known)
            if rough.value > value - CLEARLY_LOWER:
                other = self._maximised(rough.coefficients, known)
                if other.loss < here.loss - 2 * SAME_MAXIMUM_NATS:
                    here = other
        return here
