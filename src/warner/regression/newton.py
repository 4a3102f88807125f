r"""Newton's method on the observed information, to a maximum of the log-likelihood near the start.

The log-likelihood of randomized answers is not concave. Where the information has negative eigenvalues, their absolute
values are taken, which turns a step toward a saddle into an ascent. At a maximum, half the Newton decrement,
:math:`g'I^{-1}g/2`, is how much the log-likelihood can still gain there.

Eigenvalues cost ten times as much as a Cholesky factor. They are computed only where the factor does not exist, where
it is ill-conditioned, or where the last steps of an ascent depend on how flat the log-likelihood is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array
    from warner.regression.likelihood import Expansion

NEWTON_STEPS = 200
CONVERGED_GAIN = 1e-10  # nats that the log-likelihood may still gain when an ascent ends
CONVERGED_GAIN_AT_LAST = 1e-5  # the same after all steps, on the way to infinity
CONVERGED_GAIN_IF_FLAT = 1e-8  # the same where it becomes flat, and an ascent would walk outwards for ever
VANISHING_EIGENVALUE = 1e-8  # of the information of one respondent, below which the log-likelihood is flat
SMALLEST_EIGENVALUE = 1e-14  # that a step divides by
FLAT_EIGENVALUE = 1e-5  # below which the log-likelihood may be flat
POSITIVE_EIGENVALUE = 1e-10  # above which an eigenvalue is positive
SMALLEST_PIVOT = 1e-6  # of the information of one respondent, below which eigenvalues decide
KNOWN_MAXIMUM_NATS = 0.01  # to a known maximum, within which an ascent is sure to end there
KNOWN_MAXIMUM_DISTANCE = 0.01  # the same in predictors
REPEATED_STEP = 0.2  # part of a step by which the next may differ to count as the same
ARMIJO_FRACTION = 1e-4  # part of the gain to first order that a step must reach
SHORTEST_STEP = 1e-10  # part of a Newton step
BLOCKED_CHANGE = 1e-3  # of a predictor, below which a step that bounds shorten ends an ascent
SAME_MAXIMUM_NATS = 1e-6  # within which two ascents have reached one maximum


class Objective(Protocol):
    """Function of coefficients to be maximized; coefficients enter by linear predictors."""

    @property
    def total_weight(self) -> float:
        """Sum of the weights of all respondents."""

    @property
    def longest_step(self) -> float:
        """Largest change of a predictor in one step."""

    @property
    def rounding(self) -> float:
        """Nats by which values may differ from their derivatives."""

    @property
    def scale(self) -> Array:
        """Size of each coefficient's column: coefficient times scale is a predictor."""

    @property
    def basis(self) -> Array:
        """Directions, as columns, that move predictors by one in the mean square and are orthogonal."""

    def predictors(self, b: Array) -> Array:
        """Predictors of all rows, (f, n)."""

    def predictor_change(self, direction: Array) -> Array:
        """Change of all predictors along a direction, (f, n)."""

    def pulled_back(self, eta: Array) -> Array:
        """Less extreme predictors, at which the function is not flat."""

    def value(self, b: Array) -> float: ...

    def expansion(self, b: Array) -> Expansion:
        """Value, gradient, and minus the second derivative."""


class LocalMaximum(NamedTuple):
    """End of an ascent: coefficients, log-likelihood, possible further gain, and whether it converged."""

    coefficients: Array
    value: float
    gap: float
    converged: bool


def eigensystem(information: Array, likelihood: Objective) -> tuple[Array, Array]:
    r"""Eigenvalues of the information of one respondent, in units of predictors, and eigenvectors as rows.

    They are those of :math:`U'IU`, U the basis: the same for all columns that span the same space, such as
    years and years since 1900.
    """
    basis = likelihood.basis
    values, vectors = np.linalg.eigh(basis.T @ (information / likelihood.total_weight) @ basis)
    return values, (basis @ vectors).T


def newton_ascent(
    likelihood: Objective, start: Array, *, gap: float = CONVERGED_GAIN, known: Sequence[LocalMaximum] = ()
) -> LocalMaximum:
    """Ascend to a local maximum of the likelihood, or to the neighborhood of a known one."""
    b, here = start, likelihood.expansion(start)
    gap = max(gap, likelihood.rounding)
    gain, longest_step = np.inf, likelihood.longest_step
    last_step, factor = np.zeros_like(b), 1.0
    if not np.isfinite(here.value):
        return LocalMaximum(b, here.value, gain, converged=False)
    if not len(b):  # nothing is free, as in the profile of the only coefficient
        return LocalMaximum(b, here.value, 0.0, converged=True)
    for _ in range(NEWTON_STEPS):
        # The Newton step, half its decrement, and whether that is the end: at a maximum or near a known one. An ascent
        # leaves a saddle along the steepest way.
        factored = _step_by_factor(likelihood, here)
        if factored is not None:
            step, gain = factored
            stationary = gain < gap
        if factored is None or gap <= gain < CONVERGED_GAIN_IF_FLAT:
            values, vectors = eigensystem(here.information, likelihood)
            along = vectors @ here.gradient / likelihood.total_weight
            step = (along / np.maximum(np.abs(values), SMALLEST_EIGENVALUE)) @ vectors
            gain = float(here.gradient @ step) / 2
            flat = abs(values[0]) < VANISHING_EIGENVALUE
            stationary = gain < (max(gap, CONVERGED_GAIN_IF_FLAT) if flat else gap)
            if stationary and values[0] < -POSITIVE_EIGENVALUE:
                step = vectors[0] / max(_largest_change(likelihood, vectors[0]), np.finfo(float).tiny)
                step, stationary = max((step, -step), key=lambda way: likelihood.value(b + way)), False
        if stationary:  # after one last full step, unless rounding makes it a step down
            last = likelihood.value(b + step)
            up = last >= here.value - 1e-13 * abs(here.value) - likelihood.rounding
            end, value = (b + step, max(last, here.value)) if up else (b, here.value)
            return LocalMaximum(end, value, gain, converged=True)
        if gain < KNOWN_MAXIMUM_NATS:
            for maximum in known:
                near = abs(here.value + gain - maximum.value) < KNOWN_MAXIMUM_NATS
                concave = factored is not None or values[0] > POSITIVE_EIGENVALUE
                distance = _largest_change(likelihood, b + step - maximum.coefficients)
                if near and concave and distance < KNOWN_MAXIMUM_DISTANCE:
                    return maximum
        # Where a share goes to 0 by a logit, the log-likelihood is an exponential in its predictor, and all steps are
        # the same: then ever longer ones are taken.
        moved = _largest_change(likelihood, step)
        repeated = _largest_change(likelihood, step - last_step) < REPEATED_STEP * moved
        factor = 2 * factor if repeated else 1.0
        longest = min(factor, longest_step / max(moved, 1e-300))
        length, there = _line_search(likelihood, b, here, step, 2 * gain, longest)
        if length * moved < BLOCKED_CHANGE and length < longest and likelihood.value(b + 2 * length * step) == -np.inf:
            return LocalMaximum(b + length * step, there.value, gain, converged=False)
        last_step = step
        # On the way to infinity all steps are as long as allowed: then ever longer ones are.
        longest_step = 2 * longest_step if length == longest < 1 else likelihood.longest_step
        # Rounding hides what may be left to gain. Without this rule, an ascent would go on in ever shorter steps.
        if length == 0 or (length < longest and there.value <= here.value):
            least = max(1e-6, 1e-13 * abs(here.value), 10 * likelihood.rounding)
            return LocalMaximum(b, here.value, gain, converged=gain < least)
        b, here = b + length * step, there
    return LocalMaximum(b, here.value, gain, converged=gain < CONVERGED_GAIN_AT_LAST)


def _step_by_factor(likelihood: Objective, here: Expansion) -> tuple[Array, float] | None:
    """Newton step and half its decrement by a Cholesky factor; None where eigenvalues must decide."""
    diagonal = np.diagonal(here.information)
    if (diagonal <= SMALLEST_PIVOT * likelihood.total_weight * likelihood.scale**2).any():
        return None
    size = np.sqrt(diagonal)
    information = here.information / np.outer(size, size)
    try:
        pivots = np.diagonal(np.linalg.cholesky(information)) * size / likelihood.scale
    except np.linalg.LinAlgError:
        return None
    if pivots.min() ** 2 < SMALLEST_PIVOT * likelihood.total_weight:
        return None
    step = np.linalg.solve(information, here.gradient / size) / size
    return step, float(here.gradient @ step) / 2


def _largest_change(likelihood: Objective, direction: Array) -> float:
    """Maximum absolute change of a linear predictor along a direction."""
    return float(np.abs(likelihood.predictor_change(direction)).max())


def _line_search(
    likelihood: Objective, b: Array, here: Expansion, step: Array, slope: float, length: float
) -> tuple[float, Expansion]:
    """Halve a step until the log-likelihood rises by a fraction of slope times length; 0 if it never does."""
    while length > SHORTEST_STEP and length * slope > likelihood.rounding:
        there = likelihood.expansion(b + length * step)
        if there.value - here.value >= ARMIJO_FRACTION * length * slope - likelihood.rounding:
            return length, there
        length /= 2
    return 0.0, here
