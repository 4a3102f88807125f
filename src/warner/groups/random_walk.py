r"""Trends: shares of groups in an order follow a random walk; Kalman's filter and smoother, averaged over the step.

The share of week t is that of week t - 1 plus a step, :math:`\theta_t = \theta_{t-1} + \tau \eta_t`, and its direct
estimate :math:`y_t = \theta_t + e_t` has the variance :math:`v_t` that the design tells at the overall share. The
filter starts diffuse: the first week with reports has level :math:`y` and variance v, and is no part of the likelihood.
Weeks without reports are bridged, and before the first report the level is carried back, each with a variance that
grows by :math:`\tau^2` per step. Where weeks are d apart the step has the variance :math:`d \tau^2`; :math:`\tau = 0`
is a constant. Shares are averaged over :math:`\tau` as in `fay_herriot`. Several series (a region each) have the same
:math:`\tau`, and a start each.

The weight of a week's own reports is the derivative of its smoothed share in :math:`y_t`, which is
:math:`\operatorname{Var}(\theta_t \mid y) / v_t`.

**Whether anything changes.** Under a constant share the most likely step is 0 more often than half of the time, as the
boundary alone would have it [2]_. In a long series of equal weeks the likelihood rises from 0 if
:math:`\sum_k Z_k^2 / (\pi k)^2` exceeds its mean 1/6, a law of Cramer and von Mises: with probability 0.34. Over S
series these add up. A gamma law with the same skewness has the shape 0.6125 S, and exceeds its mean with a probability
that rises from 0.33 to 1/2 as S grows. The likelihood ratio is referred to chi-squared with one degree of freedom times
that probability: its size at 5 % was 3.5 to 5.1 % (3 to 52 weeks, 1 to 20 series), that of half of chi-squared 2.4 to
4.8 %, and least for one series.

References
----------
.. [1] J. Durbin, S. J. Koopman, "Time Series Analysis by State Space Methods", 2nd edition, Oxford 2012, chapter 2.
.. [2] N. G. Shephard, A. C. Harvey, "On the probability of estimating a deterministic component in the local level
   model", J. Time Ser. Anal. 11 (1990), 339-347.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import chdtri, gammaincc

from warner.groups.fay_herriot import Pooled, largest_spread, likely_range, refined_maximum, trapezoid
from warner.searching import bisected

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers, Mask
    from warner.groups.direct_estimates import DirectEstimates

STEPS_TRIED, STEPS_AVERAGED = (
    25,
    33,
)  # of the grid on which the likelihood is looked for, and of that which is averaged over
NEGLIGIBLE_WALK_NATS = 12.0  # nats below the maximum of the likelihood
# Of a gamma law with the skewness of Cramer's and von Mises's statistic, whose cumulants are 1/6, 1/45, 8/945.
SCORE_SHAPE = 4 * (1 / 45) ** 3 / (8 / 945) ** 2
WALK_TOLERANCE = 1e-7  # how near an end of the interval of a step is found
REGULAR = 0.11  # months have 28 to 31 days: distances so near to whole steps are whole


class Series(NamedTuple):
    """Groups in their order: `places`, of shape (length, series), -1 where a series is shorter; distances between."""

    places: Integers
    distances: Array

    @property
    def present(self) -> Mask:
        """Where there is a group, empty or not."""
        return np.asarray(self.places >= 0)

    def laid_out(self, values: Counts) -> Counts:
        """Give values of the groups in the order of the series; those that are not there are 0."""
        return np.where(self.present, values[self.places], 0)

    def collected(self, values: Array, groups: int) -> Array:
        """Give values of shape (length, series) for each group; NaN for those in no series."""
        result = np.full(groups, np.nan)
        result[self.places[self.present]] = values[self.present]
        return result


def ordered_series(positions: Array, series: Integers) -> Series:
    """Put groups in the order of their positions, those of each series by themselves; NaN is no position.

    Distances are in steps: the usual distance, their median, is one.

    >>> ordered_series(np.array([7.0, 21.0, 14.0, 35.0]), np.zeros(4, dtype=np.int64)).distances.ravel().tolist()
    [0.0, 1.0, 1.0, 2.0]
    """
    placed = np.flatnonzero(np.isfinite(positions))
    order = placed[np.lexsort((positions[placed], series[placed]))]
    _, first, lengths = np.unique(series[order], return_index=True, return_counts=True)
    row = np.arange(order.size) - np.repeat(first, lengths)
    column = np.repeat(np.arange(lengths.size), lengths)
    places = np.full((lengths.max(), lengths.size), -1)
    places[row, column] = order
    gaps = np.diff(np.where(places >= 0, positions[places], np.nan), axis=0, prepend=np.nan)
    usual = np.nanmedian(gaps) if np.isfinite(gaps).any() else 1.0
    steps = np.nan_to_num(gaps / usual)
    whole = np.maximum(np.rint(steps), 1)
    return Series(places, np.where((steps > 0) & (np.abs(steps - whole) <= REGULAR * whole), whole, steps))


class Smoothed(NamedTuple):
    """Log-likelihoods, (steps,), smoothed shares and their variances, (length, series, steps)."""

    log_likelihood: Array
    share: Array
    variance: Array


def smoothed(share: Array, noise: Array, observed: Mask, distances: Array, steps: Array) -> Smoothed:
    """Filter and smooth series of direct estimates, of shape (length, series), at each of some standard deviations.

    Where nothing is observed in a series its smoothed shares are NaN.
    """
    shape = (*share.shape, steps.size)
    level, variance, predicted = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    growth = distances[:, :, np.newaxis] * steps**2
    now, uncertainty = np.full(shape[1:], np.nan), np.full(shape[1:], np.inf)
    likelihood = np.zeros(steps.size)
    with np.errstate(invalid="ignore"):
        for t in range(len(share)):
            uncertainty = uncertainty + growth[t]
            predicted[t] = uncertainty
            y, v, seen = share[t, :, np.newaxis], noise[t, :, np.newaxis], observed[t, :, np.newaxis]
            first = np.isinf(uncertainty)
            total, error = uncertainty + v, y - now
            likelihood -= np.where(seen & ~first, np.log(total) + error**2 / total, 0).sum(axis=0) / 2
            gain = np.where(first, 1.0, uncertainty / total)
            now = np.where(seen, np.where(first, y, now + gain * error), now)
            uncertainty = np.where(seen, np.where(first, v, uncertainty * (1 - gain)), uncertainty)
            level[t], variance[t] = now, uncertainty
        for t in range(len(share) - 2, -1, -1):
            later, spread = level[t + 1], variance[t + 1]  # smoothed already
            start = np.isinf(variance[t])  # before the first report
            back = variance[t] / predicted[t + 1]
            level[t] = np.where(start, later, level[t] + back * (later - level[t]))
            bridged = variance[t] + back**2 * (spread - predicted[t + 1])
            variance[t] = np.where(start, spread + growth[t + 1], bridged)
    return Smoothed(likelihood, level, variance)


@dataclass(frozen=True)
class RandomWalks:
    """The direct estimates of one set of answers along series: their likelihood, smoothed shares and step."""

    direct: DirectEstimates
    series: Series

    @cached_property
    def overall(self) -> float:
        """The mean share."""
        return self.direct.overall()

    @cached_property
    def largest(self) -> float:
        """The largest step that is thought of: that of shares that jump from one end to the other."""
        return largest_spread(self.direct, self.overall)

    @cached_property
    def noise(self) -> Array:
        """The sampling variances in the order of the series."""
        return self.series.laid_out(self.direct.sampling_variance(self.overall, 0.0))

    @cached_property
    def observed(self) -> Mask:
        """Where in the series there are reports."""
        return self.series.laid_out(self.direct.informative).astype(bool)

    def smoothed(self, steps: Array) -> Smoothed:
        """Smooth at each of some standard deviations of a step."""
        share = self.series.laid_out(self.direct.share)
        return smoothed(share, self.noise, self.observed, self.series.distances, steps)

    def likelihood(self, steps: Array) -> Array:
        """Give the log-likelihood of each of some standard deviations of a step."""
        return self.smoothed(steps).log_likelihood

    @cached_property
    def tried(self) -> Array:
        """A first grid of steps, finer near 0."""
        return np.asarray(self.largest * np.linspace(0, 1, STEPS_TRIED) ** 3)

    def pooled(self) -> Pooled:
        """Give the smoothed shares, averaged over the standard deviation of a step."""
        steps = likely_range(self.likelihood, self.tried, STEPS_AVERAGED, NEGLIGIBLE_WALK_NATS)
        values, shares, variances = self.smoothed(steps)
        weights = trapezoid(values)
        share = shares @ weights
        error = np.sqrt(np.maximum((variances + shares**2) @ weights - share**2, 0))
        own = np.divide(variances @ weights, self.noise, out=np.zeros_like(share), where=self.observed)
        groups = self.direct.share.size
        share, error, own = (self.series.collected(part, groups) for part in (share, error, own))
        spread = refined_maximum(self.likelihood, steps, values)
        return Pooled(share, error, own, np.full(groups, self.overall), spread, self.overall, steps, weights)

    @cached_property
    def most_likely(self) -> tuple[float, float]:
        """The most likely step, and its log-likelihood."""
        best = refined_maximum(self.likelihood, self.tried, self.likelihood(self.tried))
        return best, float(self.likelihood(np.array([best]))[0])

    def likelihood_ratio(self) -> float:
        """Give the likelihood-ratio statistic of a constant share: twice what the best step gains over none."""
        return 2 * max(self.most_likely[1] - float(self.likelihood(np.zeros(1))[0]), 0.0)

    def chance_of_a_step(self) -> float:
        """Give the probability that the most likely step is not 0 although nothing changes."""
        shape = SCORE_SHAPE * max(int((self.observed.sum(axis=0) > 1).sum()), 1)
        return float(gammaincc(shape, shape))

    def limits(self, level: float) -> tuple[float, float]:
        """Give the profile-likelihood interval of the step; it begins at 0 where the statistic of no step is small."""
        best, top = self.most_likely
        least = top - float(chdtri(1, 1 - level)) / 2

        def likely(step: float) -> bool:
            return bool(self.likelihood(np.array([step]))[0] >= least)

        low = 0.0 if likely(0.0) else bisected(likely, 0.0, best, close=WALK_TOLERANCE)[0]
        high = (
            self.largest
            if likely(self.largest)
            else bisected(lambda x: not likely(x), best, self.largest, close=WALK_TOLERANCE)[1]
        )
        return low, high
