r"""The maxima of a likelihood that were found, how often each, and estimates that lie at infinity.

Randomized answers make estimates at infinity usual: where a group reports yes more rarely than people without the trait
would, its most likely share is 0, and its coefficient minus infinity. The climb then walks outwards for ever, on ground
that becomes flat. Whether it does is seen by pulling it back, and letting it go again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.regression.newton import FLAT, Peak, climbed, eigen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from warner.arrays import Array, Mask
    from warner.regression.newton import Surface
    from warner.regression.starts import Start

ROUNDS = 6  # of starts about the best maximum so far
BETTER = 1e-4  # nats by which a maximum is better
SAME = 1e-6  # nats within which two climbs have reached one maximum
APART = 0.05  # movement of a predictor beyond which they have not
FAR = 12.0  # predictors beyond this are as good as infinite
PULLS = (1.0, 0.5, 0.25)  # parts of the way back, until the climb from there returns
TOUCHED, UNMOVED = 1e-3, 1e-2  # parts of a direction in a coefficient, in units of its predictor
ENDLESS = 1000.0  # as good as infinity, for a direction
FARTHER = 10.0  # how much farther a predictor may go without any loss, if the estimate lies at infinity


class Optimum(NamedTuple):
    """A maximum: its log-likelihood, and how many starts ended there."""

    log_likelihood: float
    starts: int


class Infinity(NamedTuple):
    """Which coefficients have no finite estimate: minus or plus infinity, NaN if both will do, 0 where it is finite.

    `direction` is the way on which the likelihood does not fall, and `near` a place on it that is no farther out than
    it must be: profiles begin there.
    """

    signs: Array
    direction: Array
    near: Peak

    @property
    def mask(self) -> Mask:
        """The coefficients concerned."""
        return np.asarray(self.signs != 0)


class NoMaximumError(ValueError):
    """No climb ended at a maximum."""


class Found(NamedTuple):
    """The best maximum that was found, all of them from the best one down, and what lies at infinity."""

    peak: Peak
    optima: tuple[Optimum, ...]
    infinity: Infinity | None
    tried: int

    @property
    def ended(self) -> bool:
        """Whether all climbs ended at a maximum."""
        return sum(optimum.starts for optimum in self.optima) == self.tried


def found(
    likelihood: Surface, starts: Iterable[Start], further: Callable[[Array], Iterable[Start]] | None = None
) -> Found:
    """Climb from all starts, then from further ones about the best maximum as long as there is a better one."""
    peaks: list[tuple[Peak, int]] = []
    tried, foot, before = 0, -np.inf, -np.inf
    for _ in range(ROUNDS):
        for start in starts:
            tried += 1
            foot = max(foot, likelihood.value(start.coefficients))
            peak = climbed(likelihood, start.coefficients, known=[one for one, _ in peaks])
            if peak.reached:
                _add(likelihood, peaks, peak)
        highest = max((peak for peak, _ in peaks), key=lambda one: one.value, default=None)
        if further is None or highest is None or highest.value < before + BETTER:
            break
        starts, before = further(highest.coefficients), highest.value
    # Flat ground below a start is no maximum.
    if not peaks or max(peak.value for peak, _ in peaks) < foot - SAME:
        raise NoMaximumError(
            f"no maximum of the likelihood was found from {tried} starts: the reports may say too little for this many "
            "coefficients; leave terms out, or use another link"
        )
    peaks.sort(key=lambda item: -item[0].value)
    best = peaks[0][0]
    optima = tuple(Optimum(peak.value, count) for peak, count in peaks)
    endless = infinity(likelihood, best)
    if endless is not None and endless.near.value > best.value - SAME:
        best = endless.near._replace(value=max(best.value, endless.near.value))
    return Found(best, optima, endless, tried)


def _add(likelihood: Surface, peaks: list[tuple[Peak, int]], peak: Peak) -> None:
    """Count a climb to a maximum that is known, or add a new one."""
    for place, (other, count) in enumerate(peaks):
        if _same(likelihood, peak, other):
            peaks[place] = (max(peak, other, key=lambda one: one.value), count + 1)
            return
    peaks.append((peak, 1))


def _same(likelihood: Surface, first: Peak, second: Peak) -> bool:
    if abs(first.value - second.value) > SAME + 1e-12 * abs(first.value):
        return False
    # Predictors far out may differ: the ground is flat there.
    one, other = (np.clip(likelihood.predictors(peak.coefficients), -FAR, FAR) for peak in (first, second))
    return bool(np.abs(one - other).max() < APART) or infinity(likelihood, first) is not None


def infinity(likelihood: Surface, peak: Peak) -> Infinity | None:
    r"""Find the coefficients that the likelihood drives to infinity; None if there are none.

    Along eigenvectors whose eigenvalue is next to nothing the predictors are pulled back to where there is a slope. If
    the climb from there runs out again, and from 10 farther out does not come back, without a loss of 1e-6, the
    estimate lies at infinity. Coefficients that these directions do not touch are finite. The others go where the climb
    takes them; those that it leaves where they are, between several that run away, can be anything.
    """
    values, vectors = eigen(likelihood.at(peak.coefficients).information, likelihood)
    flat = vectors[values < FLAT]
    if not len(flat):
        return None
    eta = likelihood.predictors(peak.coefficients)
    ways = np.stack([likelihood.movement(vector).ravel() for vector in flat], axis=1)
    back = np.linalg.lstsq(ways, (likelihood.nearer(eta) - eta).ravel(), rcond=None)[0] @ flat
    for part in PULLS:
        pulled = peak.coefficients + part * back
        again = climbed(likelihood, pulled)
        if again.value > peak.value - SAME:
            break
    direction = again.coefficients - pulled
    reach = float(np.abs(likelihood.movement(direction)).max())
    if reach < 1.0:  # it stays: a finite maximum on flat ground
        return None
    # Farther out by 10, or as far again for a link whose tail is long; the climb undoes all that should not move along.
    out = climbed(likelihood, again.coefficients + max(FARTHER / reach, 1.0) * direction)
    value = max(again.value, peak.value)
    direction = out.coefficients - again.coefficients
    reach = float(np.abs(likelihood.movement(direction)).max())
    if reach < FARTHER / 2 or out.value < value - SAME - 1e-13 * abs(value):
        return None
    direction = direction / reach
    touched = np.sqrt((flat**2).sum(axis=0)) * likelihood.scale > TOUCHED
    signs = np.zeros(len(direction))
    for i in np.flatnonzero(touched).tolist():
        signs[i] = _sign(likelihood, again.coefficients, direction, flat, i, value)
    return Infinity(signs, direction, again)


def _sign(likelihood: Surface, b: Array, direction: Array, flat: Array, i: int, value: float) -> float:
    """Tell whether a coefficient runs to minus or to plus infinity; NaN if the likelihood lets it do either.

    It can do either if the direction stays one without a loss when its part in the coefficient is turned round, by as
    little of the flat ground as possible.
    """
    own = (flat[:, i] * likelihood.scale[i]) @ flat  # the flat direction nearest to it
    turned = direction - 1.1 * (direction[i] / own[i]) * own
    far = b + ENDLESS * max(1.0, float(np.abs(likelihood.predictors(b)).max())) * turned
    # By whom it moves most: in the mean square a level of 60 among a million people would not move at all.
    moved = float(np.abs(likelihood.movement(direction[i] * np.eye(len(b))[i])).max())
    if moved < UNMOVED or likelihood.value(far) >= value - 2 * SAME:
        return np.nan
    return float(np.copysign(np.inf, direction[i]))
