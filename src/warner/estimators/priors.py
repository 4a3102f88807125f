r"""The dictionary of priors that `warner.shrink` averages over: distributions of a share before any report.

A prior G is a distribution of one share on [0, 1]. The shares of K answers are K draws from the same G, given that they
sum to one: labels carry no information. No single G fits all populations, so there are a few hundred of them, each with
a weight; `Beliefs` contains the constants, where prior knowledge is stated:

- *equal*: all shares are 1/K.
- *gamma*: from nearly equal shares to a few that sum to nearly one; the Dirichlet distributions.
- *log-normal*: shares as products of many factors.
- *power*: a density proportional to :math:`\theta^{-1-d}` on [low, high], with a part of the shares equal to zero.
- *heads*: a few large shares, equal or not, over a rest that is equal, nearly so, exponential or very uneven. The
  number of heads is spread on a logarithmic scale, and so is the sum of the other shares: from .9 down to .001,
  because "nearly all" may mean 90 % as well as 99.9 %. A rest that is only nearly equal has no level fixed beforehand:
  that would be wrong by a little, and very many reports detect a little. Heads may also be a part of the answers, from
  15 to 90 % of them, over a rest that is rare but not empty.

The case that one answer has all respondents has a weight as well, and is no distribution of one share.

All distributions have the mean 1/K, but for some with heavy tails: K draws usually have a mean below the expectation,
because the rare large draw is missing, and it is the K draws that sum to one. A distribution with mean part/K is
admitted if its K draws can well sum to one: :math:`K \operatorname{Var} > (1 - \text{part})^2`.

A prior is put on the nodes of a grid by hat functions: an interval with the mass P and the first moment Q adds
(Q - left P) / width to its right end, and the rest to its left end. That preserves mass and mean exactly; both are
closed forms.

The kinds, their weights and most constants were chosen by simulation on twelve populations (Zipf .01, 1.3 and 2.5,
geometric, plateaus, Dirichlet, log-normal, sparse, and one or two answers with 50, 80, 90 and 100 %), and judged on
others. Corrections followed for heads of .35, .5, .54 and .62 over an equal rest, for three heads over a rest with half
of the shares zero, and for half of the answers a hundred times as common as the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import gammainc, gammaln, logsumexp, ndtr

from warner.estimators.methods import ANSWERS_FOR_SHRINKAGE
from warner.numerics import bisected_each

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.arrays import Array, Integers, Mask

PRIOR_KINDS = ("equal", "gamma", "log-normal", "power", "heads")
LOWEST_POWER_END = 1e-12  # of its upper end: where a power law begins at the lowest
POWER_END_BISECTIONS = 60
PRIOR_ROUNDING = 1e-12
CERTAIN_NATS = 40.0  # nats: 1 - exp(-40) is 1 in doubles
UNDERFLOW_NATS = 745.0  # nats: exp(-745) is 0 in doubles
# Added to the variance of a sum of shares, before the reports and after, so that the ratio is finite.
SUM_VARIANCE_SLACK = 1e-5
POWER_TOPS = 8  # upper ends of power laws, from 1 down to 1.5/K


def penalty(k: int) -> float:
    """Exponent that lowers the weight of concentrated distributions; see `Dictionary.believed`."""
    return 0.12 * max(0.0, math.log10(k / 100)) + 0.2 * max(0.0, math.log10(k / 1000))


def one_hot(k: int) -> float:
    """Weight of the case that one of k answers has all respondents."""
    return min(0.1, 5 / k) if k >= ANSWERS_FOR_SHRINKAGE else 0.02


@dataclass(frozen=True)
class Beliefs:
    """Constants of the dictionary.

    Within a kind all priors weigh the same, but for the corrections of `Dictionary.believed`. `levels` are priors under
    which many answers, a part of them, are common, over a rest that is rare but not empty. Without them the rest would
    seem empty, and the common answers would get its shares.
    """

    weights: tuple[float, ...] = (0.05, 0.30, 0.15, 0.30, 0.20)  # of each of `PRIOR_KINDS`
    shapes: tuple[float, ...] = tuple(np.geomspace(0.02, 20_000.0, 19).tolist())  # of gamma distributions
    sigmas: tuple[float, ...] = (0.3, 0.6, 1.0, 1.5, 2.0, 3.0)  # of log-normal distributions
    powers: tuple[float, ...] = (-1.0, 0.0, 0.4, 0.8, 1.2, 2.0)  # of power laws
    empty: tuple[float, ...] = (0.0, 0.5, 0.9, 0.99)  # parts of the answers with a share of zero, under power laws
    light: tuple[float, ...] = (0.9, 0.8, 0.7, 0.6, 0.5, 0.42, 0.35, 0.28, 0.2)  # means of heavy tails, as parts of 1/K
    heads: tuple[int, ...] = (1, 2, 3, 10, 30, 100)  # numbers of common answers
    masses: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99, 0.997, 0.999)  # sums of their shares
    spreads: tuple[float, ...] = (4.0, 1.3)  # largest multiples of their average
    rests: tuple[float, ...] = (np.inf, 10_000.0, 1000.0, 100.0, 10.0, 1.0, 0.2)  # shapes of the others' distributions
    levels: tuple[float, ...] = (0.15, 0.3, 0.5, 0.7, 0.9)  # parts of the answers that are common
    level_masses: tuple[float, ...] = (0.9, 0.97, 0.99, 0.997, 0.999)
    level_spread: float = 1.3
    level_rests: tuple[float, ...] = (np.inf, 10.0)
    counted: bool = True  # the density of the sum is averaged over the number of heads, rather than normal
    penalty: Callable[[int], float] = penalty
    one_hot: Callable[[int], float] = one_hot
    tilt: float = 0.25  # power of the shares in which their sum is corrected, from `ANSWERS_FOR_SHRINKAGE` answers on
    furthest: float = 1.0  # standard deviations by which that moves a share at most


BELIEFS = Beliefs()


class Gammas(NamedTuple):
    """Gamma distributions; an infinite shape puts all mass at the mean."""

    shape: Array
    mean: Array

    def cumulated(self, theta: Array) -> tuple[Array, Array]:
        """Return the mass and the first moment up to each theta, (distributions, thetas)."""
        mean = self.mean[:, np.newaxis]
        mass = (theta >= mean).astype(np.float64)
        first = mass * mean
        finite = np.flatnonzero(np.isfinite(self.shape))
        shape, ratio = self.shape[finite, np.newaxis], theta / mean[finite]
        with np.errstate(divide="ignore"):
            nats = shape * (ratio - 1 - np.log(ratio))
        # Chernoff: where these are many, the mass below, or that above, is less than exp(-nats).
        law, index = np.nonzero(nats < np.where(ratio < 1, UNDERFLOW_NATS, CERTAIN_NATS))
        shape, x = shape[law, 0], (shape * ratio)[law, index]
        mass[finite[law], index] = gammainc(shape, x)
        first[finite[law], index] = self.mean[finite[law]] * gammainc(shape + 1, x)
        return mass, first

    @property
    def square(self) -> Array:
        """Mean of the squared share."""
        return np.asarray(self.mean**2 * (1 + 1 / self.shape))


class LogNormals(NamedTuple):
    """Log-normal distributions, by the standard deviation of the logarithm and the mean."""

    sigma: Array
    mean: Array

    def cumulated(self, theta: Array) -> tuple[Array, Array]:
        sigma, mean = self.sigma[:, np.newaxis], self.mean[:, np.newaxis]
        logs = np.log(np.maximum(theta, np.finfo(float).tiny))
        z = (logs - np.log(mean)) / sigma + sigma / 2
        return ndtr(z), ndtr(z - sigma) * mean

    @property
    def square(self) -> Array:
        return np.asarray(np.exp(self.sigma**2) * self.mean**2)


class Powers(NamedTuple):
    """Densities proportional to theta^(-1-d) on [low, high]."""

    d: Array
    low: Array
    high: Array

    def cumulated(self, theta: Array) -> tuple[Array, Array]:
        d, which = np.unique(self.d, return_inverse=True)  # the powers are few
        mass, first = (_primitive(d[:, np.newaxis], theta, moment)[which] for moment in (0, 1))
        low, high = ([_primitive(self.d, end, moment)[:, np.newaxis] for moment in (0, 1)] for end in self[1:])
        total = high[0] - low[0]
        return (np.clip(mass, low[0], high[0]) - low[0]) / total, (np.clip(first, low[1], high[1]) - low[1]) / total

    @property
    def mean(self) -> Array:
        return _integral(*self, 1) / _integral(*self, 0)

    @property
    def square(self) -> Array:
        return _integral(*self, 2) / _integral(*self, 0)


def _integral(d: Array, low: Array, high: Array, moment: int) -> Array:
    """Integrate theta^(moment - 1 - d) from low to high."""
    return _primitive(d, high, moment) - _primitive(d, low, moment)


def _primitive(d: Array, theta: Array, moment: int) -> Array:
    """Antiderivative of theta^(moment - 1 - d)."""
    power = moment - d
    flat = np.abs(power) < PRIOR_ROUNDING
    some = np.where(flat, 1.0, power)
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(flat, np.log(theta), theta**some / some))


def _low_ends(d: Array, high: Array, mean: Array) -> Array:
    """Lower ends for which the power laws have these means; NaN if there is none."""

    def above(low: Array) -> Mask:
        return np.asarray(_integral(d, low, high, 1) / _integral(d, low, high, 0) > mean)

    none = (mean >= 0.98 * high) | above(LOWEST_POWER_END * high)
    least, most = np.log(LOWEST_POWER_END * high), np.log(high * (1 - 1e-9))
    low, _ = bisected_each(lambda logarithm: above(np.exp(logarithm)), least, most, steps=POWER_END_BISECTIONS)
    return np.where(none, np.nan, np.exp(low))


Families: TypeAlias = tuple[Gammas, LogNormals, Powers]


class Dictionary(NamedTuple):
    """Priors of one share among k answers: mixtures of zero, a distribution, and a second one for heads.

    Laws are numbered through the families. The prior j has the mass `empty` at zero and `part` of the law `law`; the
    last ones, those with heads, also have `head_part` of the law `head`. `sum_to_one` is the logarithm of the density
    with which k draws sum to one.
    """

    k: int
    beliefs: Beliefs
    families: Families
    kind: Integers
    law: Integers
    part: Array
    empty: Array
    head: Integers
    head_part: Array
    mean: Array
    variance: Array
    sum_to_one: Array

    def weights_at(self, nodes: Array) -> Array:
        """Weights of every prior at rows of nodes, (rows, nodes, priors)."""
        if len(nodes) > 1:
            rows, row = np.unique(nodes, axis=0, return_inverse=True)
            if len(rows) < len(nodes):
                return np.asarray(self.weights_at(rows)[row])
        theta, which = np.unique(nodes, return_inverse=True)
        mass, first = (table.T.copy()[which.reshape(nodes.shape)] for table in self.cumulated(theta))
        weights = _hats(mass, first, nodes[..., np.newaxis])
        weights[:, 0] += self.empty
        return weights

    def cumulated(self, theta: Array) -> tuple[Array, Array]:
        """Return the mass above zero and the first moment up to each theta, both (priors, thetas)."""
        tables = zip(*(family.cumulated(theta) for family in self.families), strict=True)
        mass, first = (self._mixed(np.concatenate(parts)) for parts in tables)
        return mass, first

    def _mixed(self, of_laws: Array) -> Array:
        """Mix values of the distributions, (distributions, ...), as the priors do."""
        mixed = self.part[:, np.newaxis] * of_laws[self.law]
        if self.head.size:
            mixed[-self.head.size :] += self.head_part[:, np.newaxis] * of_laws[self.head]
        return np.asarray(mixed)

    def believed(self, noise: Array | float) -> Array:
        """Weight of each prior, (..., priors), if the noise of a share of 1/K has this variance.

        Two corrections. Gamma distributions with spreads far below the noise have a lower weight, proportional to
        sqrt(Var / (Var + noise)): with few answers they gain nothing there and lose elsewhere. Concentrated
        distributions have a lower weight, proportional to (K^2 Var + 1)^-a: the largest of very many noisy counts would
        otherwise seem a common answer too often.
        """
        noise = np.asarray(noise)[..., np.newaxis]
        detectable = np.sqrt(self.variance / (self.variance + noise)) + PRIOR_ROUNDING
        within = np.where(self.kind == PRIOR_KINDS.index("gamma"), detectable, 1.0)
        of_kind = np.array(self.beliefs.weights)
        of_kind[0] *= min(1.0, self.k / 100)
        members = self.kind[:, np.newaxis] == np.arange(len(PRIOR_KINDS))
        of_kind = of_kind / np.maximum(within @ members, PRIOR_ROUNDING)
        penalties = (self.k**2 * self.variance + 1) ** -self.beliefs.penalty(self.k)
        weights = of_kind[..., self.kind] * within * penalties
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _hats(mass: Array, first: Array, nodes: Array) -> Array:
    """Split the mass of each interval between its two ends so that the mean is preserved.

    All are of shape (..., nodes, priors). What is done in place is done for speed: these are the largest arrays.
    """
    within, right, width = (np.diff(part, axis=-2) for part in (mass, first, nodes))
    right -= nodes[..., :-1, :] * within
    right /= np.where(width > 0, width, 1)
    np.minimum(np.maximum(right, 0, out=right), within, out=right)
    weights = np.zeros_like(mass)
    np.subtract(within, right, out=weights[..., :-1, :])
    weights[..., 1:, :] += right
    return weights


def _distinct(families: Families) -> tuple[Families, Integers]:
    """Return the families without duplicate distributions, and the new number of each distribution."""
    firsts: list[Integers] = []
    numbers: list[Integers] = []
    for family in families:
        _, first, which = np.unique(np.array(family), axis=1, return_index=True, return_inverse=True)
        order = np.argsort(first)  # as they were
        numbers.append(sum(each.size for each in firsts) + np.argsort(order)[which])
        firsts.append(first[order])
    fewer: Any = (type(family)(*np.array(family)[:, some]) for family, some in zip(families, firsts, strict=True))
    return tuple(fewer), np.concatenate(numbers)


@lru_cache(16)
def dictionary(k: int, beliefs: Beliefs = BELIEFS) -> Dictionary:
    # The laws. Those of heads, and of what there is besides heads, come last in their families.
    dirichlet = Gammas(np.array([np.inf, *beliefs.shapes]), np.full(1 + len(beliefs.shapes), 1 / k))
    log_normals = _log_normals(k, beliefs)
    powers, empty = _powers(k, beliefs)
    rests, heads, head_part = _heads(k, beliefs)
    families = (
        Gammas(*(np.concatenate(pair) for pair in zip(dirichlet, rests, strict=True))),
        log_normals,
        Powers(*(np.concatenate(pair) for pair in zip(powers, heads, strict=True))),
    )
    ends = np.cumsum([laws[0].size for laws in (dirichlet, rests, log_normals, powers, heads)])
    of_dirichlet, of_rest, of_log_normal, of_power, of_head = np.split(np.arange(ends[-1]), ends[:-1])

    # The priors, kind by kind: equal, gamma, log-normal, power, heads. One without heads has its law a second time.
    sizes = (1, of_dirichlet.size - 1, of_log_normal.size, of_power.size, of_head.size)
    kind = np.repeat(np.arange(len(PRIOR_KINDS)), sizes)
    with_heads = kind == PRIOR_KINDS.index("heads")
    law = np.concatenate([of_dirichlet, of_log_normal, of_power, of_rest])
    second, part_of_second, nobody = law.copy(), np.zeros(law.size), np.zeros(law.size)
    second[with_heads], part_of_second[with_heads] = of_head, head_part
    nobody[kind == PRIOR_KINDS.index("power")] = empty
    part = 1 - nobody - part_of_second

    # Their moments, and the density with which k draws sum to one: normal, but for few heads.
    means = np.concatenate([family.mean for family in families])
    squares = np.concatenate([family.square for family in families])
    mean = part * means[law] + part_of_second * means[second]
    variance = np.maximum(part * squares[law] + part_of_second * squares[second] - mean**2, 0)
    sum_to_one = _normal(1, k * mean, k * variance + SUM_VARIANCE_SLACK)
    few = with_heads & (part_of_second * k <= max(beliefs.heads))
    if beliefs.counted and few.any():
        variances = squares - means**2
        rest, head = ((means[laws[few]], variances[laws[few]]) for laws in (law, second))
        sum_to_one[few] = _sum_with_heads(k, part_of_second[few], rest, head)

    families, number = _distinct(families)
    law, of_head = number[law], number[of_head]
    return Dictionary(k, beliefs, families, kind, law, part, nobody, of_head, head_part, mean, variance, sum_to_one)


def _normal(x: float, mean: Array, variance: Array) -> Array:
    """Logarithm of a normal density."""
    return np.asarray(-0.5 * (x - mean) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance))


def _sum_with_heads(k: int, part: Array, of_rest: tuple[Array, Array], of_head: tuple[Array, Array]) -> Array:
    """Log-density at 1 of the sum of k draws, averaged over the number of heads among them, Bin(k, part)."""
    r = np.arange(min(k, math.ceil(4 * k * part.max()) + 10) + 1)[:, np.newaxis]
    number = gammaln(k + 1) - gammaln(r + 1) - gammaln(k - r + 1) + r * np.log(part) + (k - r) * np.log1p(-part)
    mean = r * of_head[0] + (k - r) * of_rest[0]
    variance = r * of_head[1] + (k - r) * of_rest[1] + SUM_VARIANCE_SLACK
    return np.asarray(logsumexp(number + _normal(1, mean, variance), axis=0))


def _can_sum_to_one(part: Array, k: int, square: Array) -> Mask:
    """Return True if k draws from a distribution with mean part/k and this mean square can sum to one."""
    return np.asarray((part == 1) | (k * (square - (part / k) ** 2) > (1 - part) ** 2))


def _log_normals(k: int, beliefs: Beliefs) -> LogNormals:
    sigma, part = np.array(list(product(beliefs.sigmas, (1.0, *beliefs.light)))).T
    laws = LogNormals(sigma, part / k)
    wide = _can_sum_to_one(part, k, laws.square)
    return LogNormals(laws.sigma[wide], laws.mean[wide])


def _powers(k: int, beliefs: Beliefs) -> tuple[Powers, Array]:
    """Return power laws, and the part of the answers without respondents under each."""
    tops = np.geomspace(1.0, 1.5 / k, POWER_TOPS) if k > 2 else np.array([1.0, 0.9, 0.75])
    # The part with shares of zero, or the mean, is given, and the lower end follows;
    given = [(empty, 1.0) for empty in beliefs.empty] + [(0.0, part) for part in beliefs.light]
    d, high, empty, part = np.array(
        [(d, top, *pair) for d, top, pair in product(beliefs.powers, tops, given) if pair[1] == 1 or d > 0]
    ).T
    low = _low_ends(d, high, part / (k * (1 - empty)))
    fits = np.isfinite(low) & _can_sum_to_one(part, k, Powers(d, low, high).square)
    laws, nobody = np.array([d, low, high])[:, fits], empty[fits]
    # or the lower end is given, and the part with shares of zero follows from the mean 1/K.
    ends = [
        (d, top, low)
        for d, top in product(beliefs.powers, tops)
        for low in ((LOWEST_POWER_END,) if d < 0 else (0.1, 0.01, 0.001))
    ]
    d, high, low = np.array(ends).T
    others = Powers(d, low * high, high)
    empty = 1 - 1 / (k * others.mean)
    fits = empty > 0
    laws = np.concatenate([laws, np.array(others)[:, fits]], axis=1)
    return Powers(*laws), np.concatenate([nobody, empty[fits]])


def _heads(k: int, beliefs: Beliefs) -> tuple[Gammas, Powers, Array]:
    """Return the distributions of the rest and of the heads, pairwise, and the part of the answers that are heads."""
    few = product(beliefs.heads, beliefs.masses, beliefs.spreads, beliefs.rests)
    many = product(beliefs.levels, beliefs.level_masses, [beliefs.level_spread], beliefs.level_rests)
    every = [law for law in few if law[0] <= k / 4] + [(round(part * k), *law) for part, *law in many]
    # Of these, the heads that stand out: at least twice as common as the others.
    laws = [law for law in every if law[1] / law[0] >= 2 * (1 - law[1]) / k] if k >= ANSWERS_FOR_SHRINKAGE else []
    if not laws:
        nothing = np.zeros(0)
        return Gammas(nothing, nothing), Powers(nothing, nothing, nothing), nothing
    heads, together, above_average, shape = np.array(laws).T
    high = np.minimum(1.0, above_average * together / heads)
    low = _low_ends(np.zeros(len(laws)), high, together / heads)
    fits = np.isfinite(low)
    part, together, shape, low, high = (column[fits] for column in (heads / k, together, shape, low, high))
    return Gammas(shape, (1 - together) / (k * (1 - part))), Powers(np.zeros(part.size), low, high), part
