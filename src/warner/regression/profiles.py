r"""Profile likelihood: the values of a quantity that the reports do not speak against.

The profile of a quantity h(b) at t is the largest log-likelihood with h held at t. The interval is all t with
:math:`2(\ell_{\max} - \ell_p(t)) \le \chi^2`. It needs no standard error, so it is right near the noise floor, where
the likelihood is lopsided, and for estimates at infinity, which get one infinite end.

What is held is a linear function of the coefficients, or the log-odds of one answer among several at some columns x:

.. math:: h(b) = c'b - \log\textstyle\sum_{l \ne k} e^{x'b_l}.

Either can be solved for one of the coefficients, the pivot; the others are free.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import logsumexp

from warner.regression.likelihood import Expansion, Likelihood
from warner.regression.newton import SAME_MAXIMUM_NATS, LocalMaximum, newton_ascent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array

CLOSE = 1e-8  # how far twice the log-likelihood may be from its quantile at an end
EVALUATIONS = 100
FARTHEST = 60.0  # movement of a predictor beyond which a profile that stays as it is has reached its limit
ENDLESS = 1e6
LEVEL_GROUND = 1e-6
BRANCHES = 4  # how often an end may turn out to lie on a lower branch


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
        """Give the log-odds."""
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


class Held(Likelihood):
    r"""A likelihood in which a quantity is held, as a function of all coefficients but the pivot.

    With g and I the gradient and the information in all of them, and J the derivatives of all in the free ones, the
    gradient is :math:`J'g`, and the information :math:`J'IJ - g_p\,\partial^2 b_p`.
    """

    def __init__(self, likelihood: Likelihood, quantity: Quantity) -> None:
        super().__init__(likelihood.rows, likelihood.family, likelihood.mapping, likelihood.offset)
        self.quantity, self.target = quantity, 0.0
        self.free = np.delete(np.arange(likelihood.size), quantity.pivot)
        self._jacobian = np.eye(likelihood.size)[:, self.free]

    @cached_property
    def scale(self) -> Array:
        """The root mean square of each free coefficient's column."""
        return np.asarray(super().scale[self.free])

    @cached_property
    def basis(self) -> Array:
        """Unit directions of the free coefficients, those of all with the pivot left where it is."""
        root = np.linalg.inv(super().basis)[:, self.free]
        return np.asarray(np.linalg.inv(np.linalg.qr(root, mode="r")))

    def whole(self, free: Array) -> Array:
        """Give all coefficients: the pivot is what makes the quantity what it is held at."""
        b = np.zeros(len(free) + 1)
        b[self.free] = free
        b[self.quantity.pivot] = (self.target - self.quantity.value(b)) / self._lift(b)
        return b

    def _lift(self, b: Array) -> float:
        return float(self.quantity.gradient(b)[self.quantity.pivot])

    def value(self, b: Array) -> float:
        """Give the log-likelihood at free coefficients."""
        return super().value(self.whole(b))

    def at(self, b: Array) -> Expansion:
        """Give the log-likelihood, its gradient and its information in the free coefficients."""
        whole = self.whole(b)
        place = super().at(whole)
        pivot, lift = self.quantity.pivot, self._lift(whole)
        self._jacobian[pivot] = -self.quantity.gradient(whole)[self.free] / lift
        information = self._jacobian.T @ place.information @ self._jacobian
        bend = self.quantity.curvature(whole)
        if bend is not None:
            information += place.gradient[pivot] / lift * bend[np.ix_(self.free, self.free)]
        return Expansion(place.value, place.gradient @ self._jacobian, information)

    def predictor_change(self, direction: Array) -> Array:
        """Give by how much predictors move along a direction of the free coefficients, to first order."""
        return super().predictor_change(self._jacobian @ direction)

    def slope(self, b: Array) -> float:
        """Give the derivative of the profile in what the quantity is held at, at a maximum."""
        whole = self.whole(b)
        return float(super().at(whole).gradient[self.quantity.pivot]) / self._lift(whole)


class FalseOptimumError(Exception):
    """A higher likelihood than that of the estimate was found, at `coefficients`: the estimate is a false optimum."""

    def __init__(self, coefficients: Array, gain: float) -> None:
        super().__init__(f"a likelihood that is higher by {gain:.3g} was found")
        self.coefficients, self.gain = coefficients, gain


class _Solution(NamedTuple):
    """A point of the profile: what is held, the free coefficients, twice the loss, and its derivative."""

    target: float
    free: Array
    loss: float
    slope: float


class Profile:
    """The profile of a quantity.

    Parameters
    ----------
    likelihood : Likelihood
        Of all coefficients.
    quantity : Quantity
        What is held.
    point : array
        The coefficients of the maximum; where it lies at infinity, some that are as good.
    top : float
        The log-likelihood there.
    covariance : array
        Of the coefficients; it says where to look for the ends.
    others : sequence of array
        Further coefficients from which each end is tried, lest it lie on a lower branch of the profile.
    unit : float
        How far a predictor moves for one unit of the quantity.
    """

    def __init__(
        self,
        likelihood: Likelihood,
        quantity: Quantity,
        point: Array,
        top: float,
        covariance: Array,
        others: Sequence[Array] = (),
        unit: float = 1.0,
    ) -> None:
        self.held = Held(likelihood, quantity)
        self.top, self.unit = top, unit
        gradient = quantity.gradient(point)
        self.estimate = quantity.value(point)
        along = covariance @ gradient
        variance = float(gradient @ along)
        told = np.isfinite(variance) and variance > 0
        self.error = float(np.sqrt(variance)) if told else 1 / unit
        # Where the free coefficients are expected to go as the quantity moves: a regression on it.
        self._tangent = along[self.held.free] / variance if told and np.isfinite(along).all() else None
        self._origin = _Solution(self.estimate, point[self.held.free], 0.0, 0.0)
        self._others = [b[self.held.free] for b in others]

    def loss(self, target: float) -> float:
        """Give twice the log-likelihood that is lost where the quantity is held at a value."""
        solution = self._solved(target, [self._origin])
        return self._highest(solution).loss

    def end(self, quantile: float, side: int) -> float:
        """Give the lower (side -1) or upper (+1) value at which twice the loss is the quantile; infinite if none is."""
        path = [self._origin]
        inside, outside = self._origin, None
        target = self.estimate + side * np.sqrt(quantile) * self.error
        branches = 0
        for _ in range(EVALUATIONS):
            here = self._solved(target, path)
            path = [*path[-1:], here]
            if abs(here.loss - quantile) < CLOSE:
                highest = self._highest(here)
                branches += 1
                if highest is here or branches > BRANCHES:
                    return here.target
                here, outside = highest, None  # on a higher branch: farther out
                path = [here]
            if here.loss > quantile:
                outside = here
            else:
                if outside is None and self._level(inside, here):
                    return float(side * np.inf)
                inside = here
            target = self._next(inside, outside, here, quantile, side)
        return float(target)

    def _level(self, before: _Solution, here: _Solution) -> bool:
        """Tell whether the profile has become flat, far out."""
        moved = abs(here.target - self.estimate) * self.unit
        return moved > ENDLESS or (moved > FARTHEST and abs(here.loss - before.loss) < LEVEL_GROUND)

    def _next(self, inside: _Solution, outside: _Solution | None, here: _Solution, quantile: float, side: int) -> float:
        """Take a step of Newton's method on the root of the loss, which is almost linear; else halve or double."""
        root = np.sqrt(max(here.loss, 0.0))
        step = (np.sqrt(quantile) - root) * 2 * root / here.slope if here.slope * side > 0 else np.inf
        target = here.target + step
        if outside is not None:
            low, high = sorted((inside.target, outside.target))
            return float(target) if low < target < high else (low + high) / 2
        farthest = self.estimate + 2 * (here.target - self.estimate)
        return float(target) if 0 < step * side <= abs(farthest - here.target) else farthest

    def _solved(self, target: float, path: Sequence[_Solution]) -> _Solution:
        """Climb to the maximum with the quantity held, from where the last ones lead to."""
        last = path[-1]
        for _ in range(EVALUATIONS):
            self.held.target = target
            for start in self._expected(target, path):
                if np.isfinite(self.held.value(start)):
                    return self._climbed(start)
            target = (target + last.target) / 2  # out of bounds: nearer to what is known
        raise ValueError("the profile likelihood could not be followed; use interval='wald'")

    def _expected(self, target: float, path: Sequence[_Solution]) -> list[Array]:
        last = path[-1]
        if len(path) > 1 and last.target != path[-2].target:
            slope = (last.free - path[-2].free) / (last.target - path[-2].target)
            return [last.free + (target - last.target) * slope, last.free]
        if self._tangent is not None:
            return [last.free + (target - last.target) * self._tangent, last.free]
        return [last.free]

    def _climbed(self, start: Array, known: Sequence[LocalMaximum] = ()) -> _Solution:
        peak = newton_ascent(self.held, start, known=known)
        loss = 2 * (self.top - peak.value)
        if loss < -2 * SAME_MAXIMUM_NATS - 1e-12 * abs(self.top):
            raise FalseOptimumError(self.held.whole(peak.coefficients), -loss / 2)
        return _Solution(self.held.target, peak.coefficients, loss, -2 * self.held.slope(peak.coefficients))

    def _highest(self, here: _Solution) -> _Solution:
        """Try other starts at the same place, and give the highest maximum."""
        self.held.target = here.target
        for start in self._others:
            if np.isfinite(self.held.value(start)):
                other = self._climbed(start, [LocalMaximum(here.free, self.top - here.loss / 2, 0.0, converged=True)])
                if other.loss < here.loss - 2 * SAME_MAXIMUM_NATS:
                    here = other
        return here
