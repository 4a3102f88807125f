r"""One share behind the binomial counts of several collections, each under a design of its own.

Of collection g, :math:`c_g` of :math:`n_g` reports count, each with probability
:math:`\phi_g = \beta_g + \gamma_g \theta`. The most likely share is where the score,

.. math:: U(\theta; c) = \sum_g w_g(\theta) \, (c_g - n_g \phi_g(\theta)), \qquad
          w_g(\theta) = \frac{\gamma_g}{\phi_g (1 - \phi_g)},

is zero; it falls with the share, and is the efficient linear combination at every one. Two intervals follow from it.

*Exact*: possible counts are put in the order of their most likely shares. Those whose share is at least the observed
one, t, are the counts with :math:`U(t; c) \ge 0`: a sum of binomial counts with fixed weights, whose law can be added up.
Each count rises with the share (or falls: then the others are counted), so the probability of such counts rises, too,
and the share at which it is `tail` is a lower end that is missed at most so often, whatever the share [1]_. The upper end
is alike. Shares beyond 0 and 1 count as 0 and 1: so an interval is never empty, as for one collection. For one
collection this is Clopper and Pearson's interval.

*Score*: the share is compared with :math:`U(\theta; c)` in its standard deviations. That is Wilson's interval if there
is only one collection, and as good where reports are many.

References
----------
.. [1] R. J. Buehler, "Confidence intervals for the product of two binomial parameters", J. Amer. Stat. Assoc. 52 (1957),
   482-493.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

from warner.inference.binomial import variance_needed
from warner.inference.sums import NEGLECTED, binomial_law, in_blocks, terms_of

if TYPE_CHECKING:
    from warner.arrays import Array, Mask

HALVINGS = 60
LATTICE = 2**11  # cells that the sum of all counts but one is put into, where more collections make it longer
MOST_VARIANCE = 1e4  # of the reports, up to which an end is exact
CLOSE = 1e-7  # standard errors that an exact end may be too wide
HAIR = 10 * NEGLECTED  # a tail is too small if it is so by more than this part of itself
STEPS = 100  # that a root may take; it takes about eight
FLOOR = 1e-290  # what a tail is raised to that is to have a normal quantile


class Counted(NamedTuple):
    """Counts of several collections: arrays of shape (collections, sets)."""

    c: Array
    n: Array
    base: Array
    gain: Array

    def reported(self, share: Array) -> Array:
        """Give the probability of a report that counts."""
        return self.base + self.gain * share

    def mirrored(self) -> Counted:
        """Give the counts of all other reports, and for the share that all other answers have together."""
        return Counted(self.n - self.c, self.n, 1 - self.base - self.gain, self.gain)

    def upright(self) -> Counted:
        """Count the other reports where a share makes reports rarer."""
        turned = self.gain < 0
        return Counted(
            np.where(turned, self.n - self.c, self.c),
            self.n,
            np.where(turned, 1 - self.base, self.base),
            np.abs(self.gain),
        )

    def chosen(self, sets: Mask) -> Counted:
        """Give those of some sets."""
        return Counted(*(part[:, sets] for part in self))

    def whole(self) -> Counted:
        """Give whole numbers, for those of weights: of effective reports, and what counts of them."""
        n = np.maximum(np.rint(self.n), 1)
        return self._replace(c=np.clip(np.rint(self.c * n / self.n), 0, n), n=n)


class PooledLimits(NamedTuple):
    """Ends and standard errors of shares, and which of them are exact, and which not (either end)."""

    low: Array
    high: Array
    error: Array
    methods: tuple[str, ...]


def pooled_limits(counted: Counted, tail: float) -> PooledLimits:
    """Give the limits of shares, with `tail` on either side: exact ones where laws are added up quickly."""
    columns, back = np.unique(np.concatenate(counted), axis=1, return_inverse=True)
    counted = Counted(*np.split(columns, 4)).upright()
    share = crossing(counted, 0.0)
    low, exactly_low = _lower_limits(counted, share, tail)
    high, exactly_high = _lower_limits(counted.mirrored(), 1 - share, tail)
    exact = np.append(exactly_low, exactly_high)
    methods = ("exact",) * bool(exact.any()) + ("score",) * (not exact.all())
    error = 1 / np.sqrt(information(counted, share))
    return PooledLimits(low[back], 1 - high[back], error[back], methods)


def _lower_limits(counted: Counted, share: Array, tail: float) -> tuple[Array, Mask]:
    """Give the lower limits, and which of them are exact."""
    z = -float(ndtri(tail))
    # Never empty: counts beyond what the share 1 explains are taken as that many.
    certain = np.where(share >= 1, counted.n * counted.reported(np.ones_like(share)), counted.c)
    low = crossing(counted._replace(c=certain), z)
    reported = counted.reported(low)
    variance = (counted.n * reported * (1 - reported)).sum(axis=0)
    exact = variance <= max(MOST_VARIANCE, variance_needed(tail))
    if exact.any():
        some = counted.chosen(exact).whole()
        low[exact] = lowest(some, share[exact], low[exact], tail)
    return low, exact


# Exact


def lowest(counted: Counted, share: Array, guess: Array, tail: float) -> Array:
    """Give the smallest shares at which counts of such an estimate or a larger one have a probability above `tail`.

    That probability rises with the share. Its normal quantile is nearly straight, so that the regula falsi (with the
    Illinois rule) finds the root in some steps; what is returned is still below it.
    """
    wanted = float(ndtri(tail))
    close = CLOSE / np.sqrt(information(counted, share)) + np.spacing(1.0)

    def excess(at: Array, some: Mask) -> Array:
        tails = _tail_at(counted.chosen(some), share[some], at, tail)
        return np.asarray(ndtri(np.clip(tails * (1 + HAIR), FLOOR, 1 - NEGLECTED)) - wanted)

    every = np.ones(share.size, dtype=bool)
    below, above = np.zeros(share.size), np.ones(share.size)
    under, over = excess(below, every), excess(above, every)
    # Where even one report is more than the share 1 explains, nothing is learned from them.
    open_ = np.asarray((share > 0) & (under < 0) & (over > 0))
    middle, risen = np.where(open_, guess, 0.5), np.zeros(share.size, dtype=np.int64)
    for turn in range(STEPS):
        if not open_.any():
            break
        edge = np.minimum(close, above - below) / 4
        middle = np.clip(middle, below + edge, above - edge)
        found = np.zeros(share.size)
        found[open_] = excess(middle[open_], open_)
        up, down = open_ & (found <= 0), open_ & (found > 0)
        below, under = np.where(up, middle, below), np.where(up, found, np.where(down & (risen < 0), under / 2, under))
        above, over = np.where(down, middle, above), np.where(down, found, np.where(up & (risen > 0), over / 2, over))
        risen = np.where(up, 1, np.where(down, -1, risen))
        straight = below + np.where(open_, under / np.where(open_, under - over, 1.0), 0.5) * (above - below)
        middle = straight if turn < STEPS // 2 else (below + above) / 2
        open_ = open_ & (above - below > close)
    return below


def _tail_at(counted: Counted, share: Array, at: Array, tail: float) -> Array:
    """Give the probability of counts whose estimate is at least `share`, if the share is `at`."""
    weights = counted.gain / _variance(counted, share)
    middle = counted.n * counted.reported(share)
    chances = np.clip(counted.reported(at), 0, 1)
    collections = len(counted.n)
    widths = np.asarray([terms_of(n, chance, tail) for n, chance in zip(counted.n, chances, strict=True)]).sum(axis=0)
    widths = widths + (4 * LATTICE if collections > 2 else 0)

    def summed(weight: Array, centre: Array, n: Array, chance: Array) -> Array:
        laws = [binomial_law(n[:, g], chance[:, g], tail) for g in range(collections)]
        values = [
            weight[:, g, np.newaxis] * (law.counts() - centre[:, g, np.newaxis]) for g, law in enumerate(laws[:-1])
        ]
        value, terms = values[0], laws[0].terms
        for other, law in zip(values[1:], laws[1:-1], strict=True):
            value, terms = _together(value, terms, other, law.terms)
        # The least count of the last collection that makes the sum reach zero; rounding must not lose a tie.
        last = centre[:, -1:] - value / weight[:, -1:]
        least = np.ceil(last - NEGLECTED * np.maximum(np.abs(last), 1))
        return np.asarray((terms * laws[-1].at_least(least)).sum(axis=1))

    return in_blocks(summed, widths, weights.T, middle.T, counted.n.T, chances.T)


def _together(first: Array, first_terms: Array, second: Array, second_terms: Array) -> tuple[Array, Array]:
    """Give the law of a sum, from values and terms; if long, on a lattice that values are rounded up to.

    So tails only grow, by what is less than a hundredth of a standard deviation.
    """
    if first.shape[1] * second.shape[1] <= LATTICE:
        value, terms = first[:, :, np.newaxis] + second[:, np.newaxis], first_terms[:, :, np.newaxis] * second_terms[:, np.newaxis]
        return value.reshape(len(first), -1), terms.reshape(len(first), -1)
    start = [values.min(axis=1, keepdims=True) for values in (first, second)]
    width = sum((values.max(axis=1, keepdims=True) - low) for values, low in zip((first, second), start, strict=True))
    cell = np.maximum(width / (LATTICE - 2), np.finfo(np.float64).tiny)
    spectra = []
    for values, terms, low in zip((first, second), (first_terms, second_terms), start, strict=True):
        rows = np.arange(len(values))[:, np.newaxis] * LATTICE
        places = (np.ceil((values - low) / cell).astype(np.int64) + rows).ravel()
        table = np.bincount(places, weights=terms.ravel(), minlength=len(values) * LATTICE)
        spectra.append(np.fft.rfft(table.reshape(len(values), LATTICE), axis=1))
    terms = np.maximum(np.fft.irfft(spectra[0] * spectra[1], n=LATTICE, axis=1), 0)
    return start[0] + start[1] + cell * np.arange(LATTICE), terms


# By the score


def crossing(counted: Counted, z: float) -> Array:
    """Find the share in [0, 1] at which the score, which falls with the share, is z deviations; or the nearest end."""
    low, high = np.zeros(counted.c.shape[1]), np.ones(counted.c.shape[1])
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        above = _score(counted, middle) > z
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    low = np.where(_score(counted, np.zeros_like(low)) <= z, 0.0, low)
    return np.where(_score(counted, np.ones_like(low)) >= z, 1.0, low)


def _score(counted: Counted, share: Array) -> Array:
    """Give how many standard deviations the counts are above what this share leads to."""
    weights = counted.gain / _variance(counted, share)
    above = (weights * (counted.c - counted.n * counted.reported(share))).sum(axis=0)
    return np.asarray(above / np.sqrt(information(counted, share)))


def information(counted: Counted, share: Array) -> Array:
    """Give the information that all collections have on a share."""
    return np.asarray((counted.n * counted.gain**2 / _variance(counted, share)).sum(axis=0))


def _variance(counted: Counted, share: Array) -> Array:
    """Give the variance of one report; half a report away from impossible and from certain."""
    inside = np.clip(counted.reported(share), 0.5 / counted.n, 1 - 0.5 / counted.n)
    return np.asarray(inside * (1 - inside))
