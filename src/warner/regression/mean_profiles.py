r"""Profile likelihood of mean shares and their differences, by Lagrange duality: marginal effects, mean predictions.

Standard errors say nothing about a share that is estimated as 0 or 1: at the boundary the likelihood has a gradient in
it, and no curvature in its log-odds. The profile likelihood needs none. With
:math:`h(b) = \sum_m w_m\theta_k(x_m; b)`, a sum over rows whose weights may be negative, the upper limit of the
interval is the largest h among the coefficients whose log-likelihood is within half of :math:`\chi^2` of the maximum.
By Lagrange's duality it is

.. math:: \min_{\tau > 0}\; \frac{1}{\tau}\Bigl[\max_b\{\ell(b) + \tau h(b)\} - \ell_{\max} + \chi^2/2\Bigr],

the lower limit the same for -h: the likelihood is *tilted* towards larger h until it has lost what it may. Every
:math:`\tau` gives a limit that is no nearer, and around the best one it hardly changes: a few maximisations will do.
Where shares are free, as those of groups, the log-likelihood is concave in them, and the limit is that of the profile
itself; elsewhere it is that of the least concave function above the profile, at worst too wide. The likelihood ratio
against a value of h comes from the same function, so that interval and p-value agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.regression.likelihood import Expansion, ModifiedLikelihood
from warner.regression.newton import SAME_MAXIMUM_NATS, newton_ascent
from warner.regression.profiles import FalseOptimumError
from warner.regression.specifications import ROWS_WITH_EFFECTS
from warner.regression.starts import coefficients_near

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.arrays import Array
    from warner.regression.intervals import ProfileStart
    from warner.regression.likelihood import Likelihood
    from warner.regression.specifications import Specification

TILT_TOLERANCE = 1e-3  # part of the loss by which a tilt may miss: the limit is off by the square of that
TILTS = 60  # for one limit
FASTEST_TILT = 8.0  # times the tilt before
STRONGEST_TILT = 1e9  # times the tilt of the standard error, beyond which nothing moves any more
STUCK_SHARE = 1e-5  # below which an ascent may be stuck where the likelihood is flat
NO_DISTANCE = 1e-6  # standard errors from the estimate, within which nothing is lost
TILTED_GAIN = 1e-7  # nats that a tilted log-likelihood may still gain
MAXIMUM_CHANGES = 4  # how often a tilt may turn out to have a higher maximum elsewhere


class ShareSum(NamedTuple):
    """A sum of shares, its derivatives in the coefficients, and its second ones."""

    value: float
    gradient: Array
    curvature: Array


@dataclass(frozen=True, eq=False)
class MeanShare:
    """A sum of the shares of one answer over rows x, with weights of either sign."""

    specification: Specification
    x: Array
    weight: Array
    answer: int

    def value(self, b: Array) -> float:
        """Give the sum."""
        return float(self.weight @ self.specification.shares_at(b, self.x)[:, self.answer])

    def at(self, b: Array) -> ShareSum:
        r"""Give the sum with its derivatives.

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
        """Give what some rows add to the sum and its derivatives."""
        family, effects = self.specification.family, self.specification.effects
        x, mapping = self.specification.with_effects(x)
        weight = weight if effects is None else np.outer(weight, effects.probabilities).ravel()
        eta = self.specification.predictors(b, x, mapping)
        truth = np.repeat(np.eye(family.k)[:, [self.answer]], eta.shape[1], axis=1)
        point, share = family.at(eta, truth), family.shares(eta)[self.answer]
        value, weight = float(weight @ share), weight * share
        first = ((weight * point.score) @ x).ravel()
        curvature = weight * (point.score[:, np.newaxis] * point.score - point.curvature)
        second = np.einsum("fgm,mp,mq->fpgq", curvature, x, x, optimize=True).reshape(len(first), -1)
        if mapping is not None:
            first, second = first @ mapping, mapping.T @ second @ mapping
        return ShareSum(value, first, second)


class TiltedLikelihood(ModifiedLikelihood):
    """A likelihood that is tilted towards larger sums of shares: log-likelihood and tilt times sum."""

    def __init__(self, likelihood: Likelihood, quantity: MeanShare) -> None:
        super().__init__(likelihood)
        self.quantity, self.tilt = quantity, 0.0

    def value(self, b: Array) -> float:
        return self.likelihood.value(b) + self.tilt * self.quantity.value(b)

    def at(self, b: Array) -> Expansion:
        plain, extra = self.likelihood.at(b), self.quantity.at(b)
        return Expansion(
            plain.value + self.tilt * extra.value,
            plain.gradient + self.tilt * extra.gradient,
            plain.information - self.tilt * extra.curvature,
        )


class _TiltedMaximum(NamedTuple):
    """The maximum of a tilted likelihood: coefficients, its value, sum of shares, and twice the loss of likelihood."""

    coefficients: Array
    tilted: float
    value: float
    loss: float


class MeanProfile:
    """The profile of a sum of shares, from the maximum of the likelihood."""

    def __init__(self, start: ProfileStart, quantity: MeanShare) -> None:
        self.start, self.tilted = start, TiltedLikelihood(start.likelihood, quantity)
        here = quantity.at(start.coefficients)
        self.estimate = here.value
        variance = float(here.gradient @ start.covariance @ here.gradient)
        known = np.isfinite(variance) and variance > 0
        # It says how far to tilt first; on the boundary, where nothing is known of it, the number of people does.
        self.error = float(np.sqrt(variance if known else 1 / start.likelihood.total_weight))
        self._origin = _TiltedMaximum(start.coefficients, start.log_likelihood, here.value, 0.0)

    def limit(self, quantile: float, side: int) -> float:
        """Give the lower (side -1) or upper (+1) limit of the values that lose at most the quantile, twice the loss."""
        tilt, there = self._tilted_until(side, lambda here: np.sqrt(max(here.loss, 0.0) / quantile), np.sqrt(quantile))
        return there.value + side * (quantile - there.loss) / (2 * tilt)

    def loss(self, target: float) -> float:
        """Give twice the log-likelihood that is lost where the sum has a value."""
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
        """Tilt, first by this many standard errors, until the progress is 1, or as far as it goes."""
        search, changes, here = _TiltSearch(errors / self.error), 0, self._origin
        for _ in range(TILTS):
            tilt = search.tilt
            here = self._maximised(side * tilt, here.coefficients)
            close = abs(progress(here) - 1) < TILT_TOLERANCE
            if close or tilt * self.error > STRONGEST_TILT or search.narrow:
                best = self._best_of_all_starts(side * tilt, here)
                if best is here or changes == MAXIMUM_CHANGES:
                    return tilt, here
                here, changes = best, changes + 1
                search = _TiltSearch(tilt)
            search.update(progress(here))
        return tilt, here

    def _maximised(self, tilt: float, start: Array) -> _TiltedMaximum:
        """Maximise the tilted likelihood from the last maximum, and from less extreme shares where some have come to 0.

        There the likelihood is flat in the log-odds, and no ascent leaves it.
        """
        self.tilted.tilt = tilt
        here, likelihood = self._maximised_from(start), self.start.likelihood
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
        """Maximise from other starts with the same tilt, and give the highest maximum."""
        self.tilted.tilt = tilt
        for start in self.start.starts:
            if np.isfinite(self.tilted.value(start)):
                other = self._maximised_from(start)
                if other.tilted > here.tilted + SAME_MAXIMUM_NATS:
                    here = other
        return here


class _TiltSearch:
    """The search for the tilt whose progress is 1: by secants, since progress is almost proportional to the tilt."""

    def __init__(self, tilt: float) -> None:
        self.tilt = tilt
        self._inside, self._outside = (0.0, 0.0), (np.inf, np.inf)
        self._last = (0.0, 0.0)

    @property
    def narrow(self) -> bool:
        """Whether the tilts on both sides are the same: between them the maximum jumps."""
        return self._outside[0] < self._inside[0] * (1 + TILT_TOLERANCE)

    def update(self, progress: float) -> None:
        """Take note of the progress, and choose the next tilt."""
        here, before = (self.tilt, progress), self._last
        if progress > 1:
            self._outside = here
        else:
            self._inside = here
        slope = (progress - before[1]) / (here[0] - before[0]) if here[0] != before[0] else 0.0
        low, high = self._inside[0], self._outside[0]
        # Progress that does not rise is rounding, as by quadrature: then it is taken as proportional to the tilt.
        step = (1 - progress) / slope if slope > 0 else here[0] * (1 / max(progress, 1 / FASTEST_TILT) - 1)
        target = here[0] + step
        slow = abs(progress - 1) > abs(before[1] - 1) / 2
        if np.isinf(high):
            target = min(target, FASTEST_TILT * low)
        elif slow or not low < target < high:
            target = np.sqrt(max(low, high / FASTEST_TILT**2) * high)
        self.tilt, self._last = float(target), here
