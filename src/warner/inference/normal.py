r"""Normal and Wilson limits of unbiased estimates without a binomial count, and limits from several collections.

A normal interval is :math:`x \pm z \cdot \text{error}`. A share of the sample is a whole number of respondents over n.
With little randomization the estimate hardly varies, and its distribution is far from normal. So ends are rounded
outward to possible shares, and are at least half a respondent away from the estimate.

For the population, collections are averaged by precision. For the sample, they are averaged by sample size, and
respondents with uninformative reports may have any answer.

**Pooled limits** (docs/theory/estimators.md). Of collection g, :math:`c_g` of :math:`n_g` reports count, each with
probability :math:`\phi_g = \beta_g + \gamma_g \theta`. The maximum-likelihood estimate of the common share is the root
of the score,

.. math:: U(\theta; c) = \sum_g w_g(\theta) \, (c_g - n_g \phi_g(\theta)), \qquad
          w_g(\theta) = \frac{\gamma_g}{\phi_g (1 - \phi_g)},

which falls with the share. *Exact limits* order possible counts by their estimates [1]_: those with at least the
observed estimate t have :math:`U(t; c) \ge 0`, a sum of binomial counts with fixed weights. Shares beyond 0 and 1 count
as 0 and 1, so that an interval is never empty. *Score limits* compare the share with :math:`U(\theta; c)` in its
standard deviations.

.. [1] R. J. Buehler, "Confidence intervals for the product of two binomial parameters", J. Amer. Stat. Assoc. 52
   (1957), 482-493.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from warner.designs.facts import LinearCombination
from warner.inference.binomial import (
    LIMIT_TOLERANCE,
    NEGLECTED,
    SMALLEST_TAIL,
    TAIL_TOLERANCE,
    Binomial,
    binomial_law,
    in_blocks,
    score_interval_is_accurate,
    standard_error,
    terms_of,
    variance_needed,
)
from warner.numerics import rising_roots
from warner.results import Limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.arrays import Array, Mask, Numbers, Sets
    from warner.reports.tallies import Tally

    Values = tuple[Array, Array]
    Adding = Callable[[Values, Values], Values]


# Normal


PERSON_ROUNDING = 1e-9  # part of a person that is rounding
ADDED_REPORTS = 4.0  # that make weights steady; about z^2 for 95 % intervals, as Agresti and Coull add


def never_empty(
    estimate: Numbers, below: Numbers, above: Numbers, span: tuple[Numbers, Numbers] = (0.0, 1.0)
) -> tuple[Numbers, Numbers]:
    """Return the ends at these distances below and above an estimate, so that the interval within `span` is not empty.

    An estimate beyond what is possible is moved there, for the end on the far side. That only widens.

    >>> [float(end) for end in never_empty(1.25, 0.125, 0.125)]  # cut at 1, the interval is from 0.875 to 1
    [0.875, 1.375]
    """
    least, most = span
    return np.minimum(estimate, most) - below, np.maximum(estimate, least) + above


def normal_limits(
    estimate: Array,
    error: Array,
    tail: float,
    *,
    people: Numbers | None = None,
    unknown: Numbers = 0.0,
    span: tuple[float, float] = (0.0, 1.0),
) -> tuple[Array, Array]:
    """Return the ends of an interval with `tail` on either side, within `span`; never empty.

    With `people`, they are for a share among this number of respondents, of whom the fraction `unknown` may have any
    answer. Limits are rounded to whole respondents only if the number is whole; effective numbers of weights are not.

    Examples
    --------
    Of ten people, 5.01 with a standard error of 0.02: that may be 5 or 6.

    >>> [end.round(6).tolist() for end in normal_limits(np.array(0.501), np.array(0.002), 0.025)]
    [0.49708, 0.50492]
    >>> [end.round(6).tolist() for end in normal_limits(np.array(0.501), np.array(0.002), 0.025, people=10)]
    [0.4, 0.6]
    """
    least, most = span
    half = -float(ndtri(tail)) * error
    if people is not None:
        half = np.where(error > 0, np.maximum(half, 0.5 / people), 0.0)  # without noise, the estimate is the share
    low, high = never_empty(estimate, half, half, span)
    if people is not None:
        whole = people == np.rint(people)
        low = np.where(whole, np.floor(people * low + PERSON_ROUNDING) / people, low)
        high = np.where(whole, np.ceil(people * high - PERSON_ROUNDING) / people, high)
    low = low - (unknown if least < 0 else 0.0)  # of a difference, either may be theirs
    return np.clip(low, least, most), np.clip(high + unknown, least, most)


class Sampled(NamedTuple):
    r"""An unbiased estimate of a share in the population, from a sample of this size, with its error.

    Its variance is the sampling variance, :math:`\theta(1-\theta)/n`, and the variance of the noise. Only the noise has
    to be estimated. So an interval ends at the roots of

    .. math:: (x - \theta)^2 = \frac{z^2}{n} \left(\theta(1-\theta) + \text{noise}\right),

    which are Wilson's where there is no noise, and x plus or minus z errors where there is much. Multiples of the
    error alone are far too short for rare answers with little noise, of which a sample may have too few, or none.
    """

    share: Array
    error: Array
    reports: Numbers

    @property
    def inside(self) -> Array:
        """The share, or the nearest possible one."""
        return np.clip(self.share, 0, 1)

    @property
    def noise(self) -> Array:
        """The variance that the noise adds to each report; infinite where reports do not identify the share."""
        return np.asarray(np.maximum(self.reports * self.error**2 - self.inside * (1 - self.inside), 0))

    def distances(self, tail: float) -> tuple[Array, Array]:
        """Distances of the ends of an interval from the nearest possible share; neither is cut."""
        factor, inside, noise = float(ndtri(tail)) ** 2 / self.reports, self.inside, self.noise
        root = np.sqrt(4 * factor * (inside * (1 - inside) + (1 + factor) * noise) + factor**2)
        inward = factor * (1 - 2 * inside)  # an interval leans toward one half
        least = np.sqrt(factor * noise)
        below, above = (np.maximum((root + side) / (2 * (1 + factor)), least) for side in (-inward, inward))
        return below, above

    def limits(self, tail: float) -> tuple[Array, Array]:
        """Return the ends of an interval with `tail` on either side, within 0 and 1; never empty.

        None of ten, without noise: Wilson's limits are 0 and z^2 / (n + z^2) = 0.27753.

        >>> [round(float(end), 5) for end in Sampled(np.array(0.0), np.array(0.0), 10.0).limits(0.025)]
        [0.0, 0.27753]
        """
        low, high = never_empty(self.share, *self.distances(tail))
        return np.clip(low, 0, 1), np.clip(high, 0, 1)


def sampled_together(each: Sampled) -> Sampled:
    r"""Average independent estimates of one share by their precision, along the first axis.

    Variances are taken at the common share. (At its own estimate, a collection without reports of a rare answer would
    have the highest precision.) It is found in two steps, the first from the largest sampling variance, 1/4. With the
    weights w, the effective sample size is :math:`1 / \sum_j (w_j^2 / n_j)`.

    Examples
    --------
    None of 100 and three of 200, without noise, are three of 300.

    >>> average = sampled_together(Sampled(np.array([0.0, 0.015]), np.zeros(2), np.array([100.0, 200.0])))
    >>> round(float(average.share), 9), round(float(average.reports), 9)
    (0.01, 300.0)
    """
    variance = np.asarray(0.25)
    for _ in range(2):
        errors = np.sqrt((variance + each.noise) / each.reports)
        share, error = combined(each.share, errors)
        inside = np.clip(share, 0, 1)
        # Never zero, or it would not count how many they are
        variance = np.maximum(inside * (1 - inside), PERSON_ROUNDING**2)
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = np.where(np.isfinite(errors), (error / errors) ** 2, 0.0)
        reports = np.where(np.isfinite(error), 1 / (weights**2 / each.reports).sum(axis=0), each.reports.sum(axis=0))
    return Sampled(share, error, reports)


def normal_test(share: float, error: float) -> float:
    """Two-sided p-value of a share of zero, for an approximately normal estimate."""
    return float(2 * ndtr(-np.abs(ratio_to_error(np.asarray(share), np.asarray(error)))))


def ratio_to_error(share: Array, error: Array) -> Array:
    """Distance of shares from zero in standard errors; infinite if there is no error."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(error > 0, share / error, np.where(share == 0, 0.0, np.sign(share) * np.inf))


def averaged(shares: Array, errors: Array, reports: Numbers) -> tuple[Array, Array]:
    """Average estimates of one difference, along the first axis, with weights that hardly depend on them.

    The weights are those of errors with a few more reports that score 1 or -1: see `sampled_together`.
    """
    wide = np.sqrt(errors**2 + ADDED_REPORTS / reports**2)
    share, error = combined(shares, wide)
    known = np.isfinite(wide)
    weights = np.divide(error, wide, out=np.zeros(wide.shape), where=known) ** 2
    total = np.sqrt((weights**2 * np.where(known, errors, 0.0) ** 2).sum(axis=0))
    return share, np.where(np.isfinite(error), total, np.inf)


def combined(shares: Array, errors: Array) -> tuple[Array, Array]:
    """Average estimates by their precision, along the first axis; those with an infinite error have no weight."""
    with np.errstate(divide="ignore"):
        precision = 1 / errors**2
    certain = np.isinf(precision)  # without error: nothing else counts
    precision = np.where(certain.any(axis=0), certain, precision)
    total = precision.sum(axis=0)
    known = total > 0
    middle = np.divide((shares * precision).sum(axis=0), total, out=np.zeros(total.shape), where=known)
    error = np.divide(1, np.sqrt(total), out=np.full(total.shape, np.inf), where=known)
    return middle, np.where(certain.any(axis=0), 0.0, error)


# Joint readouts


@dataclass(frozen=True, eq=False)
class Joint:
    """Sampling models of one group in all informative collections: arrays of shape (collections, sets)."""

    binomial: Binomial
    exact: Mask
    error: Array
    people: Array
    uninformative: float  # number of respondents of the group with uninformative reports
    signed: bool  # differences of shares, which may be negative
    fuzzy: bool = False  # fuzzy sets, whose shares are not numbers of respondents
    freedom: float = math.inf  # of a complex sample
    blind: bool = False  # a group of a complex sample in one cluster

    @property
    def is_one_count(self) -> bool:
        """True if one binomial count determines the share of all respondents of the group."""
        counted = self.exact.all() and (self.binomial.n >= 1).all()
        return len(self.exact) == 1 and bool(counted) and not self.uninformative

    def only_count(self, index: int) -> Binomial:
        return Binomial(*(float(part[0, index]) for part in self.binomial))

    @property
    def sample_size(self) -> float:
        """Sample size of the group, with uninformative reports."""
        return float(self.people[:, 0].sum() + self.uninformative)

    def noisy(self, tail: float) -> Mask:
        """Return True where all binomial counts are noisy enough for approximately normal shares of the sample."""
        return np.asarray((score_interval_is_accurate(self.binomial, tail) | ~self.exact).all(axis=0))

    def select(self, sets: Mask) -> Joint:
        exact, error, people = self.exact[:, sets], self.error[:, sets], self.people[:, sets]
        return replace(self, binomial=self.binomial.select(sets), exact=exact, error=error, people=people)

    def average(self, target: str) -> tuple[Array, Array, float]:
        """Average shares of all collections, with standard errors, and the fraction of uninformative reports.

        Respondents whose reports are uninformative may have any answer, so that this fraction may have to be added.
        """
        shares, errors = self.estimates(target)
        if target == "population":
            by_error = self.signed or self.fuzzy
            return *(averaged(shares, errors, self.binomial.n) if by_error else self.sampled()[:2]), 0.0
        weight = self.people / self.sample_size
        error = np.sqrt((weight**2 * errors**2).sum(axis=0))
        return (weight * shares).sum(axis=0), error, float(self.uninformative / self.sample_size)

    def sampled(self) -> Sampled:
        """Shares of the population, averaged over all collections."""
        return sampled_together(Sampled(*self.estimates("population"), self.binomial.n))

    def estimates(self, target: str) -> tuple[Array, Array]:
        """Unbiased shares of each collection, and standard errors with half a report added of each kind."""
        binomial = self.binomial
        if self.signed:
            return binomial.unbiased, self.error
        if target == "realised":
            error = standard_error(binomial, target)
        else:
            observed = np.clip((binomial.count + 0.5) / (binomial.n + 1), 0, 1)  # not used of what is not exact
            error = np.sqrt(observed * (1 - observed) / binomial.n) / np.abs(binomial.gain)
        return binomial.unbiased, np.where(self.exact, error, self.error)


def concatenated_sets(groups: list[Joint]) -> Joint:
    """Concatenate the sets of groups that have equally many collections."""
    rows = [(*group.binomial, group.exact, group.error, group.people) for group in groups]
    *counts, exact, error, people = (np.concatenate(parts, axis=1) for parts in zip(*rows, strict=True))
    return replace(groups[0], binomial=Binomial(*counts), exact=exact, error=error, people=people, uninformative=0.0)


def joints(
    parts: tuple[Tally, ...],
    groups: list[int],
    sets: Sets | None,
    minus: Sets | None = None,
    target: str = "population",
) -> list[Joint]:
    """Return the sampling models of shares in all informative collections with reports of these groups."""
    rows: dict[int, list[tuple[Any, ...]]] = {group: [] for group in groups}
    silent, freedom = np.zeros(len(parts[0].answered)), np.full(len(parts[0].answered), math.inf)
    blind = np.zeros(len(parts[0].answered), dtype=bool)
    for part in parts:
        people, answered = np.atleast_1d(part.n), part.answered
        answering = [group for group in groups if answered[group]]
        if part.design.epsilon == 0:
            silent = silent + people
        elif answering:
            found = part.readout(answering, sets, minus=minus, target=target)
            if found.drawn is not None:
                freedom[answering], blind[answering] = found.drawn.freedom[:, 0], found.drawn.blind[:, 0]
            error = 0.0 if found.error is None else found.error
            laws = (*Binomial.from_readout(found), found.exact, error, people[answering, np.newaxis])
            each = zip(*(np.broadcast_to(column, found.count.shape) for column in laws), strict=True)
            for group, row in zip(answering, each, strict=True):
                rows[group].append(row)
    results = []
    for group in groups:
        columns = (np.stack(column) for column in zip(*rows[group], strict=True))
        count, trials, base, gain, exact, error, people = columns
        count, trials, people = (column.astype(np.float64) for column in (count, trials, people))
        binomial, about = Binomial(count, trials, base, gain), (float(silent[group]), minus is not None)
        drawn = float(freedom[group]), bool(blind[group])
        results.append(Joint(binomial, exact, error, people, *about, isinstance(sets, LinearCombination), *drawn))
    return results


# Pooled


SCORE_LIMIT_TOLERANCE = 1e-13  # share by which a score limit may be below its place
LATTICE_CELLS = 2**11  # that the sum of all counts but one is put into, where more collections make it longer
MOST_POOLED_VARIANCE = 1e4  # of the reports of all collections, up to which an end is exact


def pooled_limits(binomial: Binomial, tail: float) -> Limits:
    """Limits of shares, with `tail` on either side: exact where distributions can be convolved quickly."""
    columns, back = np.unique(np.concatenate(binomial), axis=1, return_inverse=True)
    binomial = Binomial(*np.split(columns, 4)).upright()
    share = crossing(binomial, 0.0)
    # The upper end is one less the lower end of all other answers.
    both = Binomial(*(np.append(*parts, axis=1) for parts in zip(binomial, binomial.mirrored(), strict=True)))
    lower, exact = _lower_limits(both, np.append(share, 1 - share), tail)
    methods = ("exact",) * bool(exact.any()) + ("score",) * (not exact.all())
    low, high = np.split(lower, 2)
    error = 1 / np.sqrt(information(binomial, share))
    return Limits(low[back], 1 - high[back], error[back], methods)


def _lower_limits(binomial: Binomial, share: Array, tail: float) -> tuple[Array, Mask]:
    """Lower limits, and which of them are exact."""
    # Never empty: counts beyond what the share 1 explains are taken as that many.
    certain = np.where(share >= 1, binomial.n * binomial.reported(np.ones_like(share)), binomial.count)
    low = crossing(binomial._replace(count=certain), -float(ndtri(tail)))
    reported = binomial.reported(low)
    variance = (binomial.n * reported * (1 - reported)).sum(axis=0)
    exact = variance <= max(MOST_POOLED_VARIANCE, variance_needed(tail))
    if exact.any():
        some = binomial.select(exact).whole()
        low[exact] = lowest(some, share[exact], low[exact], tail)
    return low, exact


# Exact


def lowest(binomial: Binomial, share: Array, guess: Array, tail: float) -> Array:
    """Smallest shares, near a guess, at which counts as large as the observed have a probability above `tail`."""
    quantile = float(ndtri(tail))
    # The collection that tells most goes last: its law is added up as it is.
    order = np.argsort(binomial.n * binomial.gain**2 / _variance(binomial, share), axis=0, kind="stable")
    binomial = Binomial(*(np.take_along_axis(part, order, axis=0) for part in binomial))

    def excess(shares: Array, some: Mask) -> Array:
        tails = _tail_at(binomial.select(some), share[some], shares, tail)
        return np.asarray(ndtri(np.clip(tails * (1 + TAIL_TOLERANCE), SMALLEST_TAIL, 1 - NEGLECTED)) - quantile)

    error = 1 / np.sqrt(information(binomial, share))
    low = rising_roots(excess, guess, error, 0.0, 1.0, LIMIT_TOLERANCE * error)
    # Where even one report is more than the share 1 explains, nothing is learned from them.
    return np.where((share > 0) & (low < 1), low, 0.0)


def _tail_at(binomial: Binomial, share: Array, true_share: Array, tail: float) -> Array:
    """Probability of counts whose estimate is at least `share`, if the true share is `true_share`."""
    weights = binomial.gain / _variance(binomial, share)
    inside = (share > 0) & (share < 1)  # there the score is zero at the counts that were observed
    center = np.where(inside, binomial.count, binomial.n * binomial.reported(share))
    chances = np.clip(binomial.reported(true_share), 0, 1)
    terms = np.stack([terms_of(n, chance, tail) for n, chance in zip(binomial.n, chances, strict=True)])
    short = terms[:-1].prod(axis=0) <= LATTICE_CELLS
    result = np.empty(share.size)
    for which, added in ((short, _every_pair), (~short, _on_a_lattice)):
        if which.any():
            widths = terms.sum(axis=0)[which] + (LATTICE_CELLS if len(terms) > 2 else 0)
            rows = [part[:, which].T for part in (weights, center, binomial.n, chances)]
            result[which] = in_blocks(lambda *block, added=added: _summed(tail, added, *block), widths, *rows)
    return result


def _summed(tail: float, added: Adding, weights: Array, center: Array, n: Array, chances: Array) -> Array:
    """P(weighted sum of counts above the center >= 0), in rows of collections; the last one is summed exactly."""
    laws = [binomial_law(*column, tail) for column in zip(n.T, chances.T, strict=True)]
    values = [
        weight[:, np.newaxis] * (law.counts() - middle[:, np.newaxis])
        for weight, middle, law in zip(weights.T, center.T, laws, strict=True)
    ]
    value, terms = values[0], laws[0].terms
    for other, law in zip(values[1:-1], laws[1:-1], strict=True):
        value, terms = added((value, terms), (other, law.terms))
    # The least count of the last collection that makes the sum reach zero; rounding must not lose a tie.
    missing = -value / weights[:, -1:]
    rounding = NEGLECTED * np.maximum(np.abs(missing), 1) + 8 * np.spacing(center[:, -1:])
    least = np.ceil(center[:, -1:] + missing - rounding)
    return np.asarray((terms * laws[-1].at_least(least)).sum(axis=1))


def _every_pair(one: Values, other: Values) -> Values:
    """Distribution of a sum from values and probabilities, by all pairs."""
    value = one[0][:, :, np.newaxis] + other[0][:, np.newaxis]
    terms = one[1][:, :, np.newaxis] * other[1][:, np.newaxis]
    return value.reshape(len(value), -1), terms.reshape(len(value), -1)


def _on_a_lattice(one: Values, other: Values) -> Values:
    """Distribution of a sum on a lattice, with values rounded up: tails grow by about 0.01 standard deviations."""
    parts = [np.where(terms > 0, values, values[:, :1]) for values, terms in (one, other)]
    start = [values.min(axis=1, keepdims=True) for values in parts]
    width = sum(values.max(axis=1, keepdims=True) - low for values, low in zip(parts, start, strict=True))
    cell = np.maximum(width / (LATTICE_CELLS - 2), np.finfo(np.float64).tiny)
    spectra = []
    for values, (_, terms), low in zip(parts, (one, other), start, strict=True):
        rows = np.arange(len(values))[:, np.newaxis] * LATTICE_CELLS
        indices = (np.ceil((values - low) / cell).astype(np.int64) + rows).ravel()
        table = np.bincount(indices, weights=terms.ravel(), minlength=len(values) * LATTICE_CELLS)
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
    return rising_roots(lambda at, some: z - _score(binomial.select(some), at), guess, error, 0.0, 1.0, below)


def _score(binomial: Binomial, share: Array) -> Array:
    """Score at a share, in standard deviations."""
    weights = binomial.gain / _variance(binomial, share)
    above = (weights * (binomial.count - binomial.n * binomial.reported(share))).sum(axis=0)
    return np.asarray(above / np.sqrt(information(binomial, share)))


def information(binomial: Binomial, share: Array) -> Array:
    return np.asarray((binomial.n * binomial.gain**2 / _variance(binomial, share)).sum(axis=0))


def _variance(binomial: Binomial, share: Array) -> Array:
    """Variance of one report, with its probability at least 1/(2n) away from 0 and 1."""
    inside = np.clip(binomial.reported(share), 0.5 / binomial.n, 1 - 0.5 / binomial.n)
    return np.asarray(inside * (1 - inside))
