r"""How shares are read off the reports of any design, with what uncertainty.

Of some reports the number is exactly binomial in the share of an answer: under randomized response those that name it,
under a design with two reports either of them, under forced response again those that name it. Then the interval of
`warner.intervals` is exact. Otherwise an unbiased linear combination of the observed shares, :math:`\sum_j w_j \phi_j`
with :math:`\sum_j C_{ij} w_j` one for the answer and zero for all others, is approximately normal, with variance
:math:`(\sum_j w_j^2 \phi_j - (\sum_j w_j \phi_j)^2)/N`. If there are no such weights, reports do not tell that share,
and its interval is from 0 to 1.

Collections that were pooled are combined by the score: with binomial counts c of n in each, the share is compared with
:math:`\sum_g \gamma_g (c_g - n_g \phi_g) / (\phi_g(1-\phi_g))`, where :math:`\phi_g = \beta_g + \gamma_g \theta`.
That is the efficient linear combination at every share, and Wilson's interval if there is only one collection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from warner.design import Channel, Pooled, RandomizedResponse
from warner.intervals import (
    ENOUGH,
    Difference,
    Rates,
    Reading,
    at_least,
    each_group,
    interval_and_error,
    presence,
    rates,
    ratio_limits,
    share_interval,
    smallest_share,
    suited,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from warner.tally import Tally

    Array = NDArray[np.float64]

AS_GOOD = 1.05  # an exact view is taken if its variance is at most so many times that of the best linear one
IDENTIFIED = 1e-8
HALVINGS = 60


class Limits(NamedTuple):
    """Ends and standard errors, of shape (groups, sets), how they came about, and whether they are approximate."""

    low: Array
    high: Array
    error: Array
    method: str
    approximate: bool


class View(NamedTuple):
    """How the share of a set of answers is read off: by a binomial count, by weights, or not at all."""

    reports: NDArray[np.bool_]  # whose number is binomial in the share
    rate: Rates | None
    weights: Array
    identified: bool


def limits(
    tally: Tally,
    reading: Reading,
    *,
    sets: Sequence[Sequence[int]] | None = None,
    cumulative: bool = False,
    method: str | None = None,
) -> Limits:
    """Give the interval and standard error of every answer's share, or of the shares of sets of answers."""
    design = tally.design
    counts, n = tally.scaled()
    tail = reading.tail(design.k)
    if isinstance(design, RandomizedResponse):
        return _limits_of_response(design, counts, n, tail, reading.target, method, sets, cumulative=cumulative)
    if cumulative:
        sets = [range(last + 1) for last in range(design.k)]
    chosen = [[i] for i in range(design.k)] if sets is None else sets
    if isinstance(design, Pooled):
        return _pooled_limits(design, counts[0], chosen, reading, method)
    found = views(design, chosen)

    def read(c: NDArray[Any], total: Any) -> tuple[Array, ...]:
        ends = [_channel_limits(design, c, total, view, tail, reading.target, method) for view in found]
        return tuple(np.concatenate(parts, axis=1) for parts in zip(*ends, strict=True))

    low, high, error = each_group(read, counts, n)
    exact = all(view.rate is not None for view in found)
    name = method or ("clopper_pearson" if exact and reading.target == "population" else "score" if exact else "linear")
    return Limits(low, high, error, name, approximate=name != "clopper_pearson")


def _limits_of_response(
    design: RandomizedResponse,
    counts: NDArray[Any],
    n: Array,
    tail: float,
    target: str,
    method: str | None,
    sets: Sequence[Sequence[int]] | None,
    *,
    cumulative: bool,
) -> Limits:
    rate = rates(design)
    if cumulative:  # every answer has rates of its own, so equal counts do not have equal intervals
        counts, rate = counts.cumsum(axis=-1).astype(np.float64), rates(design, np.arange(1, design.k + 1))
    elif sets is not None:
        counts = np.stack([counts[:, list(chosen)].sum(axis=-1) for chosen in sets], axis=-1)
        counts, rate = counts.astype(np.float64), rates(design, np.array([len(chosen) for chosen in sets]))
    low, high, error = each_group(lambda c, total: interval_and_error(c, total, rate, tail, target, method), counts, n)
    if np.ndim(rate.base):
        whole = np.isclose(rate.base, design.k * design.q, rtol=1e-12)
        low[:, whole] = high[:, whole] = np.where(n > 0, 1.0, np.nan)  # all answers together: known
        error[:, whole] = np.where(n > 0, 0.0, np.nan)
    scored = suited(n[n > 0], rate if np.ndim(rate.base) == 0 else Rates(rate.base.max(), rate.gain), target)
    both = "score" if scored.all() else "score or clopper_pearson" if scored.any() else "clopper_pearson"
    return Limits(low, high, error, method or both, approximate=both != "clopper_pearson")


# Channels


def views(design: Channel, sets: Sequence[Sequence[int]]) -> list[View]:
    """Find for each set of answers how its share is read off."""
    matrix = design.channel()
    expected = matrix.mean(axis=0)
    possible = expected > 0
    scale = np.sqrt(expected[possible])
    inverse = np.zeros((len(design.outputs), design.k))
    inverse[possible] = np.linalg.pinv(matrix[:, possible] / scale) / scale[:, np.newaxis]
    found = []
    for chosen in sets:
        members = np.zeros(design.k, dtype=bool)
        members[list(chosen)] = True
        weights = inverse[:, members].sum(axis=1)
        identified = bool(np.abs(matrix @ weights - members).max() <= IDENTIFIED)
        reports, rate = _binomial(design, members)
        if rate is not None and identified:
            share = float(expected[reports].sum())
            linear = float(expected @ weights**2 - (expected @ weights) ** 2)
            if share * (1 - share) / rate.gain**2 > AS_GOOD * linear:
                rate = None
        found.append(View(reports, rate if identified else None, weights, identified))
    return found


def _binomial(design: Channel, members: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], Rates | None]:
    """Find the reports that are equally likely within the set and equally likely without, and likelier within."""
    if members.all():
        return np.zeros(len(design.outputs), dtype=bool), None
    inside, outside = design.weights[members], design.weights[~members]
    steady = (inside == inside[0]).all(axis=0) & (outside == outside[0]).all(axis=0)
    reports = np.asarray(steady & (inside[0] > outside[0]), dtype=bool)
    gain = float(sum((inside[0] - outside[0])[reports].tolist()) / design.total)
    if gain == 0:
        return reports, None
    return reports, Rates(float(sum(outside[0][reports].tolist()) / design.total), gain)


def _channel_limits(
    design: Channel, counts: NDArray[Any], n: Any, view: View, tail: float, target: str, method: str | None
) -> tuple[Array, ...]:
    if view.rate is not None:
        binomial = counts[:, view.reports].sum(axis=-1, keepdims=True).astype(np.float64)
        return interval_and_error(binomial, n, view.rate, tail, target, method)
    if method is not None:
        msg = f"method must be left out for this design, whose intervals are linear combinations, but got {method!r}"
        raise ValueError(msg)
    if not view.identified:
        return np.zeros((len(n), 1)), np.ones((len(n), 1)), np.full((len(n), 1), np.inf)
    share, error = linear(design, counts, n, view.weights, target)
    half = -float(ndtri(tail)) * error
    # Never empty: a share beyond 0 or 1 is moved there, for the end on the far side.
    low, high = np.minimum(share, 1) - half, np.maximum(share, 0) + half
    return np.clip(low, 0, 1), np.clip(high, 0, 1), error


def linear(design: Channel, counts: NDArray[Any], n: Any, weights: Array, target: str) -> tuple[Array, Array]:
    """Give a linear combination of the observed shares and its standard error, a column each."""
    share = (counts @ weights)[:, np.newaxis] / n
    if target == "population":
        # Half a report more of each kind, or a kind that was never seen would count as impossible.
        observed = (counts + 0.5) / (n + 0.5 * counts.shape[-1])
        variance = observed @ weights**2 - (observed @ weights) ** 2
    else:
        matrix = design.channel()
        each = matrix @ weights**2 - (matrix @ weights) ** 2  # of one report, by the answer that was given
        held = np.maximum((counts / n) @ np.linalg.pinv(matrix), 0)
        variance = held @ each / np.maximum(held.sum(axis=-1), IDENTIFIED)
    return share, np.sqrt(np.maximum(variance, 0)[:, np.newaxis] / n)


# Pooled collections


def _pooled_limits(
    design: Pooled, counts: NDArray[Any], sets: Sequence[Sequence[int]], reading: Reading, method: str | None
) -> Limits:
    if reading.target != "population":
        msg = "target must be population for pooled collections: they were answered by different people"
        raise ValueError(msg)
    if method is not None:
        msg = f"method must be left out for pooled collections, but got {method!r}"
        raise ValueError(msg)
    c, n, base, gain = _parts(design, counts, sets)
    tail = reading.tail(design.k)
    z = -float(ndtri(tail))
    low, high = np.zeros((2, c.shape[1]))
    nothing, everything = base, base + gain
    # Never empty, as for one collection: counts beyond what the shares 0 and 1 explain are moved there.
    beyond = _score(c, n, base, gain, np.zeros_like(low)) < 0
    high = _crossing(np.where(beyond, n * nothing, c), n, base, gain, -z)
    beyond = _score(c, n, base, gain, np.ones_like(low)) > 0
    low = _crossing(np.where(beyond, n * everything, c), n, base, gain, z)
    enough = (n * np.minimum(nothing * (1 - nothing), everything * (1 - everything))).sum(axis=0) >= ENOUGH
    if not enough.all():
        exact = _all_at_once(c, n, Rates(base, gain), tail)
        low, high = np.where(enough, low, exact[0]), np.where(enough, high, exact[1])
    middle = np.clip(_crossing(c, n, base, gain, 0.0), 0, 1)
    error = 1 / np.sqrt(_information(n, base, gain, middle))
    return Limits(low[np.newaxis], high[np.newaxis], error[np.newaxis], "score", approximate=True)


def _all_at_once(c: Array, n: Array, rate: Rates, tail: float) -> tuple[Array, Array]:
    """Give what the exact intervals of all collections have in common, each at a level that lets all of them hold."""
    low, high = share_interval(c, n, rate, tail / len(c))
    conflict = low.max(axis=0) > high.min(axis=0)  # then everything between them
    return (
        np.where(conflict, low.min(axis=0), low.max(axis=0)),
        np.where(conflict, high.max(axis=0), high.min(axis=0)),
    )


def binomial_parts(
    design: Pooled, counts: NDArray[Any], sets: Sequence[Sequence[int]]
) -> tuple[Array, Array, Array, Array] | None:
    """Give for every collection and set the binomial count, its size, and base and gain; shape (collections, sets)."""
    rows = []
    for part, own in zip(design.parts, design.split(counts), strict=True):
        n = float(own.sum())
        if isinstance(part, RandomizedResponse):
            sizes = np.array([len(chosen) for chosen in sets])
            every = sizes.max() == 1
            c = own[[chosen[0] for chosen in sets]] if every else [own[list(chosen)].sum() for chosen in sets]
            rate = rates(part, sizes)
            rows.append((np.asarray(c, dtype=np.float64), n, rate.base, np.full(sizes.size, rate.gain)))
            continue
        found = views(part, sets)
        if any(view.rate is None for view in found):
            return None
        c = [own[view.reports].sum() for view in found]
        both = np.array([view.rate for view in found])
        rows.append((np.asarray(c, dtype=np.float64), n, both[:, 0], both[:, 1]))
    counted, sizes_of_all, bases, gains = zip(*rows, strict=True)
    return np.stack(counted), np.array(sizes_of_all)[:, np.newaxis], np.stack(bases), np.stack(gains)


def _variance(base: Array, gain: Array, theta: Array) -> tuple[Array, Array]:
    reported = base + gain * theta
    return reported, np.maximum(reported * (1 - reported), np.finfo(np.float64).tiny)


def _information(n: Array, base: Array, gain: Array, theta: Array) -> Array:
    _, variance = _variance(base, gain, theta)
    return np.asarray((n * gain**2 / variance).sum(axis=0))


def _score(c: Array, n: Array, base: Array, gain: Array, theta: Array) -> Array:
    """Give how many standard deviations the counts are above what this share leads to."""
    reported, variance = _variance(base, gain, theta)
    return np.asarray((gain * (c - n * reported) / variance).sum(axis=0) / np.sqrt(_information(n, base, gain, theta)))


def _crossing(c: Array, n: Array, base: Array, gain: Array, z: float) -> Array:
    """Find the share in [0, 1] at which the score, which falls with the share, is z; or the nearest end."""
    low, high = np.zeros(c.shape[1]), np.ones(c.shape[1])
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        above = _score(c, n, base, gain, middle) > z
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    low = np.where(_score(c, n, base, gain, np.zeros_like(low)) <= z, 0.0, low)
    return np.where(_score(c, n, base, gain, np.ones_like(low)) >= z, 1.0, low)


# Presence and differences


def absence(tally: Tally, alpha: float, power: float) -> tuple[Array, Array]:
    """Give for each group the p-value of "nobody holds it" for each answer, and the smallest share that is found.

    That share is for a test at alpha, and found with this power; for designs whose answers differ in it, the largest.
    """
    design = tally.design
    counts, n = tally.scaled()
    if isinstance(design, RandomizedResponse):
        rate = rates(design)
        (p_values,) = each_group(lambda c, total: (presence(c, total, rate),), counts, n)
        least = [smallest_share(total, rate, alpha, power) if total > 0 else np.nan for total in n[:, 0]]
        return p_values, np.array(least)
    deviations = float(ndtri(power) - ndtri(alpha))
    sets = [[i] for i in range(design.k)]
    if isinstance(design, Pooled):
        c, size, base, gain = _parts(design, counts[0], sets)
        nothing = np.zeros(design.k)
        above = _score(c, size, base, gain, nothing)
        error = 1 / np.sqrt(_information(size, base, gain, nothing))
        return ndtr(-above)[np.newaxis], np.array([deviations * error.max()])
    found = views(design, sets)
    each = each_group(lambda c, total: _absent(design, c, total, found, alpha, power, deviations), counts, n)
    return each[0], each[1].max(axis=-1)


def _absent(
    design: Channel, counts: NDArray[Any], n: Array, found: list[View], alpha: float, power: float, deviations: float
) -> tuple[Array, Array]:
    p_values, least = np.ones((2, len(counts), len(found)))
    for place, view in enumerate(found):
        if view.rate is not None:
            c = counts[:, view.reports].sum(axis=-1).astype(np.float64)
            p_values[:, place] = at_least(c, n[:, 0], view.rate.base)
            least[:, place] = [smallest_share(total, view.rate, alpha, power) for total in n[:, 0]]
        elif view.identified:
            share, error = linear(design, counts, n, view.weights, "population")
            p_values[:, place], least[:, place] = ndtr(-share / error)[:, 0], deviations * error[:, 0]
        else:
            least[:, place] = np.inf
    return p_values, least


def normal_difference(tally: Tally, pair: tuple[int, int], reading: Reading) -> Difference:
    """Compare two answers under a design whose counts are not those of the answers: all of it approximate.

    The ratio comes from the intervals of both, each at half the tail.
    """
    design = tally.design
    counts, n = tally.scaled()
    if isinstance(design, Pooled):
        own = zip(design.parts, design.split(counts), strict=True)
        told = [_difference_of_part(part, c, pair, reading.target) for part, c in own if c.sum()]
        precision = np.array([1 / error**2 for _, error in told])
        middle = (np.array([share for share, _ in told]) * precision).sum(axis=0) / precision.sum(axis=0)
        error = 1 / np.sqrt(precision.sum(axis=0))
    else:
        middle, error = each_group(
            lambda c, total: _difference_of_part(design, c, pair, reading.target, total), counts, n
        )
    half = -float(ndtri(reading.tail(1))) * error
    wider = Reading(1 - (1 - reading.level) / 2, reading.target)
    ends = limits(tally, wider, sets=[[pair[0]], [pair[1]]])
    ratio_low, ratio_high = ratio_limits(ends.low[:, 0], ends.high[:, 0], ends.low[:, 1], ends.high[:, 1])
    low, high = np.clip(middle - half, -1, 1), np.clip(middle + half, -1, 1)
    return Difference(middle, low, high, ratio_low, ratio_high, 2 * ndtr(-np.abs(middle) / error))


def _difference_of_part(
    design: RandomizedResponse | Channel, counts: NDArray[Any], pair: tuple[int, int], target: str, n: Any = None
) -> tuple[Array, Array]:
    total = counts.sum(axis=-1, keepdims=True).astype(np.float64) if n is None else n
    i, j = pair
    if isinstance(design, RandomizedResponse):
        weights = np.zeros(design.k)
        weights[[i, j]] = 1 / (design.p - design.q), -1 / (design.p - design.q)
        share = (counts @ weights)[:, np.newaxis] / total
        seen = (counts[:, [i, j]].sum(axis=-1, keepdims=True) + 1) / (total + 1)  # half a report more of each
        error = np.sqrt(np.maximum(seen * weights[i] ** 2 - share**2, 0) / total)
        return share[:, 0], error[:, 0]
    one, two = views(design, [[i], [j]])
    if not (one.identified and two.identified):
        msg = "the design must tell the two shares apart from each other, but under it they cannot be known"
        raise ValueError(msg)
    share, error = linear(design, counts, total, one.weights - two.weights, target)
    return share[:, 0], error[:, 0]


def _parts(design: Pooled, counts: NDArray[Any], sets: Sequence[Sequence[int]]) -> tuple[Array, Array, Array, Array]:
    parts = binomial_parts(design, counts, sets)
    if parts is None:
        msg = "shares must be read off binomial counts in every part of a pooled design, but one of them has none"
        raise ValueError(msg)
    return parts
