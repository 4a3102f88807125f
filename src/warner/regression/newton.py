r"""Newton's method on the observed information, to a maximum near the start.

The log-likelihood of randomized answers is not concave. Where the information has negative eigenvalues, their absolute
values are taken, which turns a step that would run to a saddle into one that climbs. At a maximum, half the Newton
decrement, :math:`g'I^{-1}g/2`, is how much the log-likelihood can still gain there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array
    from warner.regression.likelihood import Place

STEPS = 200
GAP = 1e-10  # nats that a climb may leave
ENDLESS_GAP = 1e-8  # the same on ground that becomes flat, where a climb would walk outwards for ever
ENDLESS = 1e-8  # eigenvalue of the information of one person, below which ground is flat
FLOOR = 1e-14  # of an eigenvalue in a step
FLAT = 1e-5  # eigenvalue below which the ground may be flat
DEFINITE = 1e-10  # an eigenvalue above this is positive
AT_THE_FOOT = 0.01  # nats below a known maximum, with nothing but the way up in between
NEAR = 0.01  # movement of a predictor
SIMILAR = 0.2  # part of a step by which the next may differ to be the same
PROMISED = 1e-4  # part of the promised gain that a step must keep
SHORTEST = 1e-10  # part of a step


class Surface(Protocol):
    """What can be climbed: a function of coefficients, which enter by linear predictors."""

    @property
    def total(self) -> float:
        """The sum of the weights of all people."""

    @property
    def reach(self) -> float:
        """How far a predictor may move in one step."""

    @property
    def scale(self) -> Array:
        """The size of each coefficient's column: coefficient times scale is a predictor."""

    @property
    def basis(self) -> Array:
        """Directions, as columns, that each move predictors by one in the mean square, and are orthogonal in that."""

    def predictors(self, b: Array) -> Array:
        """Give the predictors of all rows, (f, n)."""

    def movement(self, direction: Array) -> Array:
        """Give by how much predictors move along a direction, (f, n)."""

    def nearer(self, eta: Array) -> Array:
        """Give predictors that are nearer, at which the height still has a slope."""

    def value(self, b: Array) -> float:
        """Give the height."""

    def at(self, b: Array) -> Place:
        """Give the height, its gradient and minus its second derivative."""


class Peak(NamedTuple):
    """Where a climb ended: coefficients, log-likelihood, what could still be gained, and whether it is a maximum."""

    coefficients: Array
    value: float
    gap: float
    reached: bool


class Eigen(NamedTuple):
    """The information of one person, in units of predictors: eigenvalues, and eigenvectors as rows in coefficients."""

    values: Array
    vectors: Array


def eigen(information: Array, likelihood: Surface) -> Eigen:
    r"""Give the eigenvalues of the information, each direction measured by how far it moves predictors.

    They are those of :math:`U'IU`, U the basis: the same for all columns that span the same space, such as
    years and years since 1900.
    """
    basis = likelihood.basis
    values, vectors = np.linalg.eigh(basis.T @ (information / likelihood.total) @ basis)
    return Eigen(values, (basis @ vectors).T)


def climbed(likelihood: Surface, start: Array, *, gap: float = GAP, known: Sequence[Peak] = ()) -> Peak:
    """Climb from a start to a maximum of the likelihood, or to the foot of one that is known already."""
    b, here = start, likelihood.at(start)
    left, reach = np.inf, likelihood.reach
    before, stride = np.zeros_like(b), 1.0
    if not np.isfinite(here.value):
        return Peak(b, here.value, left, reached=False)
    if not len(b):  # nothing is free, as in the profile of the only coefficient
        return Peak(b, here.value, 0.0, reached=True)
    for _ in range(STEPS):
        values, vectors = eigen(here.information, likelihood)
        along = vectors @ here.gradient / likelihood.total
        step = (along / np.maximum(np.abs(values), FLOOR)) @ vectors
        left = float(here.gradient @ step) / 2
        enough = left < (max(gap, ENDLESS_GAP) if abs(values[0]) < ENDLESS else gap)
        if enough and values[0] < -DEFINITE:  # a saddle: leave it along the steepest way
            step = _off_the_saddle(likelihood, b, vectors[0])
        elif enough:
            return _finished(likelihood, b, here.value, step, left)
        if left < AT_THE_FOOT and values[0] > DEFINITE:
            for peak in known:
                if abs(here.value + left - peak.value) < AT_THE_FOOT and _near(likelihood, b + step, peak.coefficients):
                    return peak
        # Where a share goes to 0 by a logit, the height is an exponential in its predictor, and all steps are the same:
        # then ever longer ones are taken.
        stride = 2 * stride if _repeated(likelihood, step, before) else 1.0
        longest = min(stride, reach / max(float(np.abs(likelihood.movement(step)).max()), 1e-300))
        length, there = _along(likelihood, b, here, step, 2 * left, longest)
        before = step
        # On the way to infinity all steps are as long as allowed: then ever longer ones are.
        reach = 2 * reach if length == longest < 1 else likelihood.reach
        if length == 0:  # rounding: nothing more can be gained
            return Peak(b, here.value, left, reached=left < max(1e-6, 1e-13 * abs(here.value)))
        b, here = b + length * step, there
    return Peak(b, here.value, left, reached=False)


def _repeated(likelihood: Surface, step: Array, before: Array) -> bool:
    """Tell whether a step moves predictors as the one before did."""
    moved, difference = np.abs(likelihood.movement(step)).max(), np.abs(likelihood.movement(step - before)).max()
    return bool(difference < SIMILAR * moved)


def _near(likelihood: Surface, first: Array, second: Array) -> bool:
    return bool(np.abs(likelihood.movement(first - second)).max() < NEAR)


def _off_the_saddle(likelihood: Surface, b: Array, direction: Array) -> Array:
    step = direction / max(float(np.abs(likelihood.movement(direction)).max()), np.finfo(float).tiny)
    return max((step, -step), key=lambda way: likelihood.value(b + way))


def _along(
    likelihood: Surface, b: Array, here: Place, step: Array, promise: float, length: float
) -> tuple[float, Place]:
    """Shorten a step until the log-likelihood rises by some of what was promised; 0 if it never does."""
    while length > SHORTEST:
        there = likelihood.at(b + length * step)
        if there.value - here.value >= PROMISED * length * promise:
            return length, there
        length /= 2
    return 0.0, here


def _finished(likelihood: Surface, b: Array, value: float, step: Array, left: float) -> Peak:
    """Take one last full step, unless rounding makes it a step down."""
    last = likelihood.value(b + step)
    if last >= value - 1e-13 * abs(value):
        return Peak(b + step, max(last, value), left, reached=True)
    return Peak(b, value, left, reached=True)
