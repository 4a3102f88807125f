r"""How shares are read off the reports of any design, with what uncertainty.

Of some reports the number is exactly binomial in the share of an answer: under randomized response those that name it,
under a design with two reports either of them, under forced response again those that name it. Then the interval of
`binomial` is exact. Otherwise an unbiased linear combination of the observed shares, :math:`\sum_j w_j \phi_j`
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
from scipy.special import gammaincc, ndtr, ndtri

from warner.designs import Channel, Pooled, RandomizedResponse
from warner.estimators import IDENTIFIED, channel_inverse
from warner.inference.binomial import (
    ENOUGH,
    FEW,
    Difference,
    Rates,
    Reading,
    at_least,
    at_most,
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
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from warner.reports.tallies import Tally

    Array = NDArray[np.float64]

AS_GOOD = 1.05  # an exact view is taken if its variance is at most so many times that of the best linear one
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
    rate, sizes = rates(design), np.ones(1, dtype=np.int64)
    if cumulative:  # every answer has rates of its own, so equal counts do not have equal intervals
        sizes = np.arange(1, design.k + 1)
        counts, rate = counts.cumsum(axis=-1).astype(np.float64), rates(design, sizes)
    elif sets is not None:
        sizes = np.array([len(chosen) for chosen in sets])
        counts = np.stack([counts[:, list(chosen)].sum(axis=-1) for chosen in sets], axis=-1).astype(np.float64)
        rate = rates(design, sizes)
    low, high, error = each_group(lambda c, total: interval_and_error(c, total, rate, tail, target, method), counts, n)
    if (whole := sizes == design.k).any():
        low[:, whole] = high[:, whole] = np.where(n > 0, 1.0, np.nan)  # all answers together: known
        error[:, whole] = np.where(n > 0, 0.0, np.nan)
    scored = suited(n[n[:, 0] > 0], rate, target, tail)
    both = "score" if scored.all() else "score or clopper_pearson" if scored.any() else "clopper_pearson"
    return Limits(low, high, error, method or both, approximate=both != "clopper_pearson")


# Channels


def views(design: Channel, sets: Sequence[Sequence[int]]) -> list[View]:
    """Find for each set of answers how its share is read off."""
    matrix, inverse = design.channel(), channel_inverse(design)
    expected = matrix.mean(axis=0)
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


def rate_of(design: RandomizedResponse | Channel) -> Rates:
    """Give the rates at which reports follow the share of the first answer, where one binomial count tells it."""
    if isinstance(design, RandomizedResponse):
        return rates(design)
    (view,) = views(design, [[0]])
    if view.rate is None:
        raise ValueError(
            "the design must have a binomial count for its first answer, as one with two possible reports has"
        )
    return view.rate


def linear_spread(design: RandomizedResponse | Channel) -> Callable[[Any], Any] | None:
    """Give the variance that one report leaves in the first of two shares, by that share; None for binomial counts."""
    if isinstance(design, RandomizedResponse) or design.k != 2:
        return None
    (view,) = views(design, [[0]])
    if view.rate is not None or not view.identified:
        return None
    mean, square = design.channel() @ view.weights, design.channel() @ view.weights**2
    return lambda share: square[1] + (square[0] - square[1]) * share - (mean[1] + (mean[0] - mean[1]) * share) ** 2


def standard_error(design: RandomizedResponse | Channel, share: float, n: float) -> float:
    """Give the standard error of the unbiased estimate of the first answer's share, if that is the true one."""
    spread = linear_spread(design)
    if spread is not None:
        return float(np.sqrt(spread(share) / n))
    base, gain = rate_of(design)
    reported = base + gain * share
    return float(np.sqrt(reported * (1 - reported) / n) / abs(gain))


def _binomial(design: Channel, members: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], Rates | None]:
    """Find reports whose number is binomial in the share: as likely after every answer of the set, and of the others.

    Two guesses: the reports that are so one by one, and likelier within the set; and those that name its answers.
    """
    nothing = np.zeros(len(design.outputs), dtype=bool)
    if members.all():
        return nothing, None
    inside, outside = design.weights[members], design.weights[~members]
    steady = (inside == inside[0]).all(axis=0) & (outside == outside[0]).all(axis=0)
    guesses = [np.asarray(steady & (inside[0] > outside[0]), dtype=bool)]
    guesses += [members] if design.outputs == design.domain else []
    for reports in guesses:
        within, without = (set(rows[:, reports].sum(axis=1).tolist()) for rows in (inside, outside))
        if len(within) == len(without) == 1 and within != without:
            base = without.pop()
            return reports, Rates(base / design.total, (within.pop() - base) / design.total)
    return nothing, None


def _channel_limits(
    design: Channel, counts: NDArray[Any], n: Any, view: View, tail: float, target: str, method: str | None
) -> tuple[Array, ...]:
    if view.rate is not None:
        binomial = counts[:, view.reports].sum(axis=-1, keepdims=True).astype(np.float64)
        return interval_and_error(binomial, n, view.rate, tail, target, method)
    if method is not None:
        raise ValueError(
            f"method must be left out for this design, whose intervals are linear combinations, but got {method!r}"
        )
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
        held = np.maximum((counts / n) @ channel_inverse(design), 0)
        variance = held @ each / np.maximum(held.sum(axis=-1), IDENTIFIED)
    return share, np.sqrt(np.maximum(variance, 0)[:, np.newaxis] / n)


# Pooled collections


def _pooled_limits(
    design: Pooled, counts: NDArray[Any], sets: Sequence[Sequence[int]], reading: Reading, method: str | None
) -> Limits:
    if reading.target != "population":
        raise ValueError("target must be population for pooled collections: they were answered by different people")
    if method is not None:
        raise ValueError(f"method must be left out for pooled collections, but got {method!r}")
    whole = np.array([len(chosen) == design.k for chosen in sets])
    some = [chosen for chosen, known in zip(sets, whole, strict=True) if not known]
    low, high, error = np.ones(len(sets)), np.ones(len(sets)), np.zeros(len(sets))
    name = "score"
    if some:
        parts = binomial_parts(design, counts, some)
        tail = reading.tail(design.k)
        name = "score" if parts is not None else "linear"
        found = _combined(design, counts, some, tail) if parts is None else _scored(*parts, tail)
        low[~whole], high[~whole], error[~whole] = found
    return Limits(low[np.newaxis], high[np.newaxis], error[np.newaxis], name, approximate=True)


def _scored(c: Array, n: Array, base: Array, gain: Array, tail: float) -> tuple[Array, Array, Array]:
    z = -float(ndtri(tail))
    nothing, everything = base, base + gain
    # Never empty, as for one collection: counts beyond what the shares 0 and 1 explain are moved there.
    beyond = _score(c, n, base, gain, np.zeros(c.shape[1])) < 0
    high = _crossing(np.where(beyond, n * nothing, c), n, base, gain, -z)
    beyond = _score(c, n, base, gain, np.ones(c.shape[1])) > 0
    low = _crossing(np.where(beyond, n * everything, c), n, base, gain, z)
    least = (n * np.minimum(nothing * (1 - nothing), everything * (1 - everything))).sum(axis=0)
    enough = (least >= ENOUGH) & (tail >= FEW)
    if not enough.all():
        exact = _all_at_once(c, n, Rates(base, gain), tail)
        low, high = np.where(enough, low, exact[0]), np.where(enough, high, exact[1])
    middle = _crossing(c, n, base, gain, 0.0)
    return low, high, 1 / np.sqrt(_information(n, base, gain, middle))


def _all_at_once(c: Array, n: Array, rate: Rates, tail: float) -> tuple[Array, Array]:
    """Give what the exact intervals of all collections have in common, each at a level that lets all of them hold."""
    low, high = share_interval(c, n, rate, tail / len(c))
    conflict = low.max(axis=0) > high.min(axis=0)  # then everything between them
    return (
        np.where(conflict, low.min(axis=0), low.max(axis=0)),
        np.where(conflict, high.max(axis=0), high.min(axis=0)),
    )


def _combined(
    design: Pooled, counts: NDArray[Any], sets: Sequence[Sequence[int]], tail: float
) -> tuple[Array, Array, Array]:
    """Combine unbiased estimates of the collections by their precision, where not all are binomial counts."""
    told = [_linear_parts(part, own, sets) for part, own in design.told(counts)]
    precision = np.array([1 / error**2 for _, error in told])  # none where a collection does not tell a share
    total = precision.sum(axis=0)
    known = total > 0
    shares = np.array([share for share, _ in told])
    middle = np.divide((shares * precision).sum(axis=0), total, out=np.zeros(len(sets)), where=known)
    error = np.divide(1, np.sqrt(total), out=np.full(len(sets), np.inf), where=known)
    half = -float(ndtri(tail)) * error
    low, high = np.clip(np.minimum(middle, 1) - half, 0, 1), np.clip(np.maximum(middle, 0) + half, 0, 1)
    return np.where(known, low, 0.0), np.where(known, high, 1.0), error


def _linear_parts(
    design: RandomizedResponse | Channel, counts: NDArray[Any], sets: Sequence[Sequence[int]]
) -> tuple[Array, Array]:
    n = np.array([[float(counts.sum())]])
    if isinstance(design, RandomizedResponse):
        rate = rates(design, np.array([len(chosen) for chosen in sets]))
        c = np.array([counts[list(chosen)].sum() for chosen in sets], dtype=np.float64)
        seen = (c + 0.5) / (n[0] + 1)
        return (c / n[0] - rate.base) / rate.gain, np.sqrt(seen * (1 - seen) / n[0]) / abs(rate.gain)
    ends = [
        linear(design, counts[np.newaxis], n, view.weights, "population") if view.identified else (0.0, np.inf)
        for view in views(design, sets)
    ]
    return np.array([float(np.squeeze(share)) for share, _ in ends]), np.array(
        [float(np.squeeze(error)) for _, error in ends]
    )


def binomial_parts(
    design: Pooled, counts: NDArray[Any], sets: Sequence[Sequence[int]]
) -> tuple[Array, Array, Array, Array] | None:
    """Give for every collection and set the binomial count, its size, and base and gain; shape (collections, sets)."""
    rows = []
    for part, own in design.told(counts):
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


def _variance(n: Array, base: Array, gain: Array, theta: Array) -> tuple[Array, Array]:
    """Give the probability of a report, and its variance; half a report away from impossible and from certain."""
    reported = base + gain * theta
    inside = np.clip(reported, 0.5 / n, 1 - 0.5 / n)
    return reported, inside * (1 - inside)


def _information(n: Array, base: Array, gain: Array, theta: Array) -> Array:
    _, variance = _variance(n, base, gain, theta)
    return np.asarray((n * gain**2 / variance).sum(axis=0))


def _score(c: Array, n: Array, base: Array, gain: Array, theta: Array) -> Array:
    """Give how many standard deviations the counts are above what this share leads to."""
    reported, variance = _variance(n, base, gain, theta)
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
        told = [_absent(part, own[np.newaxis], alpha, power) for part, own in design.told(counts[0])]
        # Fisher's combination: under absence each p-value is at least as large as a uniform one, independently.
        logs = -sum(np.log(np.maximum(p_values, np.finfo(np.float64).tiny)) for p_values, _ in told)
        together = gammaincc(len(told), logs)
        parts = binomial_parts(design, counts[0], sets)
        if parts is None:
            error = _combined(design, counts[0], sets, alpha)[2]
        else:  # that of an answer which nobody holds
            _, size, base, gain = parts
            error = 1 / np.sqrt(_information(size, base, gain, np.zeros(design.k)))
        return together, np.array([deviations * error.max()])
    each = each_group(lambda c, total: _absent(design, c, alpha, power, total), counts, n)
    return each[0], each[1].max(axis=-1)


def _absent(
    design: RandomizedResponse | Channel, counts: NDArray[Any], alpha: float, power: float, n: Any = None
) -> tuple[Array, Array]:
    total = counts.sum(axis=-1, keepdims=True).astype(np.float64) if n is None else n
    if isinstance(design, RandomizedResponse):
        return presence(counts, total, rates(design)), np.zeros((len(counts), design.k))
    p_values, least = np.ones((2, len(counts), design.k))
    for place, view in enumerate(views(design, [[i] for i in range(design.k)])):
        if view.rate is not None:
            c = counts[:, view.reports].sum(axis=-1, keepdims=True).astype(np.float64)
            p_values[:, place] = presence(c, total, view.rate)[:, 0]
            least[:, place] = [smallest_share(size, view.rate, alpha, power) for size in total[:, 0]]
        elif view.identified:
            share, error = linear(design, counts, total, view.weights, "population")
            p_values[:, place] = ndtr(-_ratio(share, error))[:, 0]
            least[:, place] = float(ndtri(power) - ndtri(alpha)) * error[:, 0]
        else:
            least[:, place] = np.inf
    return p_values, least


def _ratio(share: Array, error: Array) -> Array:
    """Give how many standard errors a share is from zero; of no error, everything but nothing is far."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(error > 0, share / error, np.sign(share) * np.inf if np.any(share) else 0.0)


def difference_of_two(tally: Tally, pair: tuple[int, int], reading: Reading) -> tuple[Difference, str]:
    """Compare two answers under a design whose counts are not those of the answers; also name the test.

    If there are only two answers, and one binomial count tells them, everything is as exact as for one share: the
    difference is twice the share minus one. Otherwise it is approximately normal. The ratio comes from the intervals of
    both, each at half the tail.
    """
    design = tally.design
    counts, n = tally.scaled()
    wider = Reading(1 - (1 - reading.level) / 2, reading.target)
    ends = limits(tally, wider, sets=[[pair[0]], [pair[1]]])
    ratio = ratio_limits(ends.low[:, 0], ends.high[:, 0], ends.low[:, 1], ends.high[:, 1])
    if isinstance(design, Channel) and design.k == 2 and (view := views(design, [[pair[0]]])[0]).rate is not None:
        one = limits(tally, reading, sets=[[pair[0]]])
        c = counts[:, view.reports].sum(axis=-1).astype(np.float64)
        half = view.rate.base + view.rate.gain / 2
        fewer, more = at_most(c, n[:, 0], half), at_least(c, n[:, 0], half)
        with np.errstate(divide="ignore", invalid="ignore"):
            middle = 2 * (c / n[:, 0] - view.rate.base) / view.rate.gain - 1
        p_value = np.where(n[:, 0] > 0, np.minimum(1, 2 * np.minimum(fewer, more)), np.nan)
        return Difference(middle, 2 * one.low[:, 0] - 1, 2 * one.high[:, 0] - 1, *ratio, p_value), "exact"
    if isinstance(design, Pooled):
        told = [
            _difference_of_part(part, own[np.newaxis], pair, reading.target) for part, own in design.told(counts[0])
        ]
        precision = np.array([1 / error**2 for _, error in told])
        middle = (np.array([share for share, _ in told]) * precision).sum(axis=0) / precision.sum(axis=0)
        error = 1 / np.sqrt(precision.sum(axis=0))
    else:
        middle, error = each_group(
            lambda c, total: _difference_of_part(design, c, pair, reading.target, total), counts, n
        )
    half_width = -float(ndtri(reading.tail(1))) * error
    low, high = np.minimum(middle, 1) - half_width, np.maximum(middle, -1) + half_width
    p_value = np.where(np.isnan(middle), np.nan, 2 * ndtr(-np.abs(_ratio(middle, error))))
    return Difference(middle, np.clip(low, -1, 1), np.clip(high, -1, 1), *ratio, p_value), "normal"


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
        raise ValueError("the design must tell the two shares apart from each other, but under it they cannot be known")
    share, error = linear(design, counts, total, one.weights - two.weights, target)
    return share[:, 0], error[:, 0]
