r"""Pooled confidence limits: one share behind the binomial counts of several collections, each under its own design.

Of collection g, :math:`c_g` of :math:`n_g` reports count, each with probability
:math:`\phi_g = \beta_g + \gamma_g \theta`. The most likely share is where the score,

.. math:: U(\theta; c) = \sum_g w_g(\theta) \, (c_g - n_g \phi_g(\theta)), \qquad
          w_g(\theta) = \frac{\gamma_g}{\phi_g (1 - \phi_g)},

is zero; it falls with the share, and is the efficient linear combination at every one. Two intervals follow from it.

*Exact*: possible counts are put in the order of their most likely shares. Those whose share is at least the observed
one, t, are the counts with :math:`U(t; c) \ge 0`: a sum of binomial counts with fixed weights, whose law can be added
up. Each count rises with the share (or falls: then the other reports are counted), so the probability of such counts
rises, too, and the share at which it is `tail` is a lower end that misses with at most this probability, whatever the
share is [1]_. The upper end is alike. Shares beyond 0 and 1 count as 0 and 1: so an interval is never empty, as for one
collection. For one collection it is that of Clopper and Pearson.

*Score*: the share is compared with :math:`U(\theta; c)` in its standard deviations. That is Wilson's interval if there
is only one collection, and as good where reports are many.

References
----------
.. [1] R. J. Buehler, "Confidence intervals for the product of two binomial parameters", J. Amer. Stat. Assoc. 52
   (1957), 482-493.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

from warner.inference.binomial import LIMIT_TOLERANCE, Binomial, variance_needed
from warner.inference.binomial_sums import NEGLECTED, SMALLEST_TAIL, TAIL_TOLERANCE, binomial_law, in_blocks, terms_of
from warner.searching import rising_roots

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.arrays import Array, Mask

    Values = tuple[Array, Array]  # values and their probabilities, a row for each law
    Adding = Callable[[Values, Values], Values]

SCORE_LIMIT_TOLERANCE = 1e-13  # share by which a score limit may be below its place
LATTICE_CELLS = 2**11  # that the sum of all counts but one is put into, where more collections make it longer
MOST_POOLED_VARIANCE = 1e4  # of the reports of all collections, up to which an end is exact


class PooledLimits(NamedTuple):
    """Ends and standard errors of shares, and which of them are exact, and which not (either end)."""

    low: Array
    high: Array
    error: Array
    methods: tuple[str, ...]


def pooled_limits(binomial: Binomial, tail: float) -> PooledLimits:
    """Give the limits of shares, with `tail` on either side: exact ones where laws are added up quickly."""
    columns, back = np.unique(np.concatenate(binomial), axis=1, return_inverse=True)
    binomial = Binomial(*np.split(columns, 4)).upright()
    share = crossing(binomial, 0.0)
    # The upper end is one less the lower end of all other answers.
    both = Binomial(*(np.append(*parts, axis=1) for parts in zip(binomial, binomial.mirrored(), strict=True)))
    lower, exact = _lower_limits(both, np.append(share, 1 - share), tail)
    methods = ("exact",) * bool(exact.any()) + ("score",) * (not exact.all())
    low, high = np.split(lower, 2)
    error = 1 / np.sqrt(information(binomial, share))
    return PooledLimits(low[back], 1 - high[back], error[back], methods)


def _lower_limits(binomial: Binomial, share: Array, tail: float) -> tuple[Array, Mask]:
    """Give the lower limits, and which of them are exact."""
    # Never empty: counts beyond what the share 1 explains are taken as that many.
    certain = np.where(share >= 1, binomial.n * binomial.reported(np.ones_like(share)), binomial.count)
    low = crossing(binomial._replace(count=certain), -float(ndtri(tail)))
    reported = binomial.reported(low)
    variance = (binomial.n * reported * (1 - reported)).sum(axis=0)
    exact = variance <= max(MOST_POOLED_VARIANCE, variance_needed(tail))
    if exact.any():
        some = binomial.of_sets(exact).whole()
        low[exact] = lowest(some, share[exact], low[exact], tail)
    return low, exact


# Exact


def lowest(binomial: Binomial, share: Array, guess: Array, tail: float) -> Array:
    """Give the smallest shares at which counts of such an estimate or a larger one have a probability above `tail`.

    That probability rises with the share. `share` is the estimate, and `guess` where the limit may be.
    """
    wanted = float(ndtri(tail))
    # The collection that tells most goes last: its law is added up as it is.
    order = np.argsort(binomial.n * binomial.gain**2 / _variance(binomial, share), axis=0, kind="stable")
    binomial = Binomial(*(np.take_along_axis(part, order, axis=0) for part in binomial))

    def excess(at: Array, some: Mask) -> Array:
        tails = _tail_at(binomial.of_sets(some), share[some], at, tail)
        return np.asarray(ndtri(np.clip(tails * (1 + TAIL_TOLERANCE), SMALLEST_TAIL, 1 - NEGLECTED)) - wanted)

    error = 1 / np.sqrt(information(binomial, share))
    low = rising_roots(excess, guess, error, 0.0, 1.0, LIMIT_TOLERANCE * error)
    # Where even one report is more than the share 1 explains, nothing is learned from them.
    return np.where((share > 0) & (low < 1), low, 0.0)


def _tail_at(binomial: Binomial, share: Array, at: Array, tail: float) -> Array:
    """Give the probability of counts whose estimate is at least `share`, if the share is `at`."""
    weights = binomial.gain / _variance(binomial, share)
    inside = (share > 0) & (share < 1)  # there the score is zero at the counts that were observed
    centre = np.where(inside, binomial.count, binomial.n * binomial.reported(share))
    chances = np.clip(binomial.reported(at), 0, 1)
    terms = np.stack([terms_of(n, chance, tail) for n, chance in zip(binomial.n, chances, strict=True)])
    short = terms[:-1].prod(axis=0) <= LATTICE_CELLS
    result = np.empty(share.size)
    for which, added in ((short, _every_pair), (~short, _on_a_lattice)):
        if which.any():
            widths = terms.sum(axis=0)[which] + (LATTICE_CELLS if len(terms) > 2 else 0)
            rows = [part[:, which].T for part in (weights, centre, binomial.n, chances)]
            result[which] = in_blocks(lambda *block, added=added: _summed(tail, added, *block), widths, *rows)
    return result


def _summed(tail: float, added: Adding, weights: Array, centre: Array, n: Array, chances: Array) -> Array:
    """Give P(sum of weights times counts above the centre >= 0): rows of collections, of which the last is exact."""
    laws = [binomial_law(*column, tail) for column in zip(n.T, chances.T, strict=True)]
    values = [
        weight[:, np.newaxis] * (law.counts() - middle[:, np.newaxis])
        for weight, middle, law in zip(weights.T, centre.T, laws, strict=True)
    ]
    value, terms = values[0], laws[0].terms
    for other, law in zip(values[1:-1], laws[1:-1], strict=True):
        value, terms = added((value, terms), (other, law.terms))
    # The least count of the last collection that makes the sum reach zero; rounding must not lose a tie.
    missing = -value / weights[:, -1:]
    rounding = NEGLECTED * np.maximum(np.abs(missing), 1) + 8 * np.spacing(centre[:, -1:])
    least = np.ceil(centre[:, -1:] + missing - rounding)
    return np.asarray((terms * laws[-1].at_least(least)).sum(axis=1))


def _every_pair(one: Values, other: Values) -> Values:
    """Give the law of a sum, from values and their probabilities: of all pairs."""
    value = one[0][:, :, np.newaxis] + other[0][:, np.newaxis]
    terms = one[1][:, :, np.newaxis] * other[1][:, np.newaxis]
    return value.reshape(len(value), -1), terms.reshape(len(value), -1)


def _on_a_lattice(one: Values, other: Values) -> Values:
    """Give the law of a sum on a lattice that values are rounded up to.

    So tails only grow, as if counts were larger by about a hundredth of a standard deviation.
    """
    parts = [np.where(terms > 0, values, values[:, :1]) for values, terms in (one, other)]
    start = [values.min(axis=1, keepdims=True) for values in parts]
    width = sum(values.max(axis=1, keepdims=True) - low for values, low in zip(parts, start, strict=True))
    cell = np.maximum(width / (LATTICE_CELLS - 2), np.finfo(np.float64).tiny)
    spectra = []
    for values, (_, terms), low in zip(parts, (one, other), start, strict=True):
        rows = np.arange(len(values))[:, np.newaxis] * LATTICE_CELLS
        places = (np.ceil((values - low) / cell).astype(np.int64) + rows).ravel()
        table = np.bincount(places, weights=terms.ravel(), minlength=len(values) * LATTICE_CELLS)
        spectra.append(np.fft.rfft(table.reshape(len(values), LATTICE_CELLS), axis=1))
    terms = np.maximum(np.fft.irfft(spectra[0] * spectra[1], n=LATTICE_CELLS, axis=1), 0)
    return start[0] + start[1] + cell * np.arange(LATTICE_CELLS), terms


# By the score


def crossing(binomial: Binomial, z: float) -> Array:
    """Find the share in [0, 1] at which the score, which falls with the share, is z deviations; or the nearest end."""
    unbiased = (binomial.count - binomial.n * binomial.base) * binomial.gain
    guess = np.clip(unbiased.sum(axis=0) / (binomial.n * binomial.gain**2).sum(axis=0), 0, 1)
    error = 1 / np.sqrt(information(binomial, guess))
    guess = np.clip(guess - z * error, 0, 1)
    below = np.full(guess.size, SCORE_LIMIT_TOLERANCE)
    return rising_roots(lambda at, some: z - _score(binomial.of_sets(some), at), guess, error, 0.0, 1.0, below)


def _score(binomial: Binomial, share: Array) -> Array:
    """Give how many standard deviations the counts are above what this share leads to."""
    weights = binomial.gain / _variance(binomial, share)
    above = (weights * (binomial.count - binomial.n * binomial.reported(share))).sum(axis=0)
    return np.asarray(above / np.sqrt(information(binomial, share)))


def information(binomial: Binomial, share: Array) -> Array:
    """Give the information that all collections have on a share."""
    return np.asarray((binomial.n * binomial.gain**2 / _variance(binomial, share)).sum(axis=0))


def _variance(binomial: Binomial, share: Array) -> Array:
    """Give the variance of one report; half a report away from impossible and from certain."""
    inside = np.clip(binomial.reported(share), 0.5 / binomial.n, 1 - 0.5 / binomial.n)
    return np.asarray(inside * (1 - inside))
