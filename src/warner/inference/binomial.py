r"""How sure: confidence intervals for shares, for their differences and ranks, and which answers are there at all.

A count is exactly binomial, :math:`c_i \sim \text{Bin}(N, q + (p-q)\theta_i)`, whatever the other shares are. So the
exact interval of Clopper and Pearson for that probability, carried over to :math:`\theta_i`, covers at least at its
level, for every K, N and epsilon. Intervals that start from a valid estimator do not: the share of a frequent answer
under `mle` is biased when many answers are near zero, and bootstrap or likelihood-ratio intervals around it can miss
nearly always.

Two shares can be meant, and the words of an interval say which: that of the **population** which the people are a
sample of, or the **realised** share among these very people, where only the randomization is left to chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import betainc, betaincc, betainccinv, betaincinv, gammaln, ndtr, ndtri

from warner.estimators import LONG_ROW, SMALLEST, distinct

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from warner.designs import RandomizedResponse

    Array = NDArray[np.float64]

TARGETS = {"population": "share in the population", "realised": "share among these people"}
HAIR = 1e-12
MANY_PEOPLE = 1e10
MANY = 1e10  # from so many reports on, limits of the beta distribution are lost in rounding
FEW = 0.005  # the smallest tail for which an approximation by the normal law was looked at
ENOUGH = 10  # expected reports, or their variance, from which approximate intervals may be used


@dataclass(frozen=True)
class Reading:
    """Which intervals are meant: their level, whose share they are for, and whether they hold all at once."""

    level: float = 0.95
    target: str = "population"
    simultaneous: bool = False

    def __post_init__(self) -> None:
        check_level(self.level)
        if self.target not in TARGETS:
            raise ValueError(f"target must be one of {', '.join(TARGETS)}, but got {self.target!r}")

    def tail(self, k: int) -> float:
        """Give the chance of a miss on either side; that of one of k intervals, if they are to hold all at once.

        That is Bonferroni's correction. Šidák's would need counts that do not depend on each other negatively.
        """
        return (1 - self.level) / (2 * k if self.simultaneous else 2)

    def __str__(self) -> str:
        at_once = " simultaneous" if self.simultaneous else ""
        return f"{100 * self.level:.6g} %{at_once} interval ({self.target})"


class Rates(NamedTuple):
    """How reports follow a share: a report names the answers in question with probability base + gain * share."""

    base: Any
    gain: Any

    @property
    def lowest(self) -> Any:
        """The probability of such a report where it is the least."""
        return self.base + np.minimum(self.gain, 0)

    @property
    def highest(self) -> Any:
        """The probability of such a report where it is the most."""
        return self.base + np.maximum(self.gain, 0)

    def spread(self, share: Any) -> Any:
        """Give the variance of one report, if the share among these very people is given."""
        without, within = self.base, self.base + self.gain
        return share * within * (1 - within) + (1 - share) * without * (1 - without)


def rates(design: RandomizedResponse, size: Any = 1) -> Rates:
    """Give the rates of reports that name one of `size` answers: each of the others leads there with q a piece."""
    return Rates(size * design.q, design.p - design.q)


# Intervals for a share


def share_interval(
    counts: NDArray[Any], n: Any, rate: Rates, tail: float, target: str = "population", method: str | None = None
) -> tuple[Array, Array]:
    """Give intervals for the shares behind these counts, with `tail` on either side.

    An interval is never empty: a count below what noise alone explains is taken as that much for the upper end, and
    one above what certainty explains for the lower end. That only widens, so the level is kept.

    Parameters
    ----------
    counts : ndarray of shape (..., k)
        Number of reports of each answer; fractional where weights were rescaled to an effective number of reports.
    n : ndarray of shape (..., 1)
        Number of reports in all.
    rate : Rates
        How reports follow the share.
    tail : float
        Chance of a miss on either side.
    target : {"population", "realised"}
        Whose share is meant.
    method : {"clopper_pearson", "wilson", "score"}, optional
        ``clopper_pearson`` is exact, in the sense of at least, for both targets. ``wilson``, for the population, is
        narrower, and approximate. ``score`` is for the realised share, much narrower where little is randomized, and
        approximate. If not given: ``clopper_pearson``, but ``score`` for a realised share where reports are many
        enough for it.
    """
    low, high = each_count(lambda c, total: _ends(c, total, rate, tail, target, method), counts, n)
    return low, high


def clopper_pearson(counts: NDArray[Any], n: Any, design: RandomizedResponse, level: float) -> tuple[Array, Array]:
    """Give exact intervals for the population shares behind these counts: `share_interval` at its defaults."""
    return share_interval(counts, n, rates(design), Reading(level).tail(1))


def standard_errors(counts: NDArray[Any], n: Any, rate: Rates, target: str = "population") -> Array:
    r"""Give the standard errors of `inv`: sqrt(phi (1 - phi) / N) / (p - q) for the share in the population.

    The observed share stands for phi. At counts of 0 that gives 0: an interval is the better judge of a rare answer.
    For the realised share :math:`\theta`, phi (1 - phi) becomes :math:`\theta p(1-p) + (1-\theta) q(1-q)`, less than
    it by :math:`(p-q)^2 \theta(1-\theta)`, which is the chance in who was asked.
    """
    return each_count(lambda c, total: (_standard_error(c, total, rate, target),), counts, n)[0]


def interval_and_error(
    counts: NDArray[Any], n: Any, rate: Rates, tail: float, target: str, method: str | None = None
) -> tuple[Array, ...]:
    """Give `share_interval` and `standard_errors` in one pass: low, high, error."""
    return each_count(
        lambda c, total: (*_ends(c, total, rate, tail, target, method), _standard_error(c, total, rate, target)),
        counts,
        n,
    )


def binomial_limits(c: Any, n: Any, tail: Any) -> tuple[Array, Array]:
    """Give the exact limits of Clopper and Pearson for a probability, `tail` on either side.

    BetaInv(tail; c, n-c+1), which is 0 for c = 0, and BetaInv(1-tail; c+1, n-c), which is 1 for c = n. For very many
    reports, where these would be lost in rounding, the normal limits, which are the same to all digits that count.
    """
    low = np.where(c > 0, betaincinv(np.maximum(c, SMALLEST), n - c + 1, tail), 0.0)
    high = np.where(c < n, betainccinv(c + 1, np.maximum(n - c, SMALLEST), tail), 1.0)
    many = np.minimum(c, n - c) > MANY
    if np.any(many):
        half = -ndtri(tail) * np.sqrt(c / n * (1 - c / n) / n) + 1 / (2 * n)
        low, high = np.where(many, c / n - half, low), np.where(many, c / n + half, high)
    return low, high


def check_level(level: float) -> None:
    """Refuse what is no confidence level."""
    if not isinstance(level, float | int | np.floating) or not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, such as 0.95, but got {level!r}")


def suited(n: Any, rate: Rates, target: str, tail: float) -> NDArray[np.bool_]:
    """Tell whether the score interval is the default: for realised shares, if there is much noise, or none at all.

    Not far out in the tails, where simultaneous intervals end: there the normal law is no good approximation.
    """
    least = n * np.minimum(rate.spread(0.0), rate.spread(1.0))
    none = np.maximum(rate.spread(0.0), rate.spread(1.0)) == 0
    return np.asarray(((least >= ENOUGH) & (tail >= FEW)) | none) & (target == "realised")


def each_group(
    function: Callable[[NDArray[Any], Any], tuple[Array, ...]], counts: NDArray[Any], n: Any
) -> tuple[Array, ...]:
    """Evaluate a function of the counts and totals of the groups that have reports; the others get NaN."""
    some = n[:, 0] > 0
    if some.all():
        return function(counts, n)
    known = function(counts[some], n[some])
    results = tuple(np.full((len(some), *part.shape[1:]), np.nan) for part in known)
    for result, part in zip(results, known, strict=True):
        result[some] = part
    return results


def each_count(function: Callable[[Array, Any], tuple[Array, ...]], counts: NDArray[Any], n: Any) -> tuple[Array, ...]:
    """Evaluate a function of a count and a total; with many answers, once for each distinct count."""
    k = counts.shape[-1]
    if counts.dtype != np.int64 or k <= LONG_ROW:
        return function(np.asarray(counts, dtype=np.float64), n)
    rows, totals = counts.reshape(-1, k), np.broadcast_to(n, (*counts.shape[:-1], 1)).reshape(-1)
    results = []
    for row, total in zip(rows, totals, strict=True):
        values, _, slots, index = distinct(row, int(row.max()))
        tables = np.zeros((len(evaluated := function(values.astype(np.float64), total)), slots[-1] + 1))
        tables[:, slots] = evaluated
        results.append([table[index] for table in tables])
    if len(results) == 1:
        return tuple(result.reshape(counts.shape) for result in results[0])
    return tuple(np.stack(parts).reshape(counts.shape) for parts in zip(*results, strict=True))


def _ends(c: Array, n: Any, rate: Rates, tail: float, target: str, method: str | None) -> tuple[Array, Array]:
    # The never-empty rule: counts beyond what the shares 0 and 1 explain are moved there, for the end on their side.
    # (A hair's breadth keeps products that should be whole from the wrong side.)
    most, least = np.ceil(n * rate.highest * (1 - HAIR)), np.floor(n * rate.lowest * (1 + HAIR))
    # Where hardly any report is expected, or hardly any other, one is already more than they explain.
    most = most - (at_least(most, n, rate.highest) < tail)
    least = least + (at_most(least, n, rate.lowest) < tail)
    below, above = np.minimum(c, most), np.minimum(np.maximum(c, least), n)
    ends = [np.clip(end, 0, 1) for end in _unclipped(below, above, n, rate, tail, target, method)]
    if np.ndim(rate.gain):
        return np.where(rate.gain > 0, ends[0], ends[1]), np.where(rate.gain > 0, ends[1], ends[0])
    return (ends[0], ends[1]) if rate.gain > 0 else (ends[1], ends[0])


def _unclipped(
    below: Array, above: Array, n: Any, rate: Rates, tail: float, target: str, method: str | None
) -> tuple[Array, Array]:
    """Give the share at the lower limit for the count `below`, and at the upper limit for the count `above`."""
    allowed = {"population": ("clopper_pearson", "wilson"), "realised": ("clopper_pearson", "score")}[target]
    if method is not None and method not in allowed:
        raise ValueError(f"method must be one of {', '.join(allowed)} for the {TARGETS[target]}, but got {method!r}")
    if method == "wilson":
        _refuse_few(n * np.minimum(rate.lowest, 1 - rate.highest), "wilson", "expected reports of an absent answer")
        return _wilson(below, n, rate, tail, -1), _wilson(above, n, rate, tail, 1)
    scored = suited(n, rate, target, tail) & (method != "clopper_pearson")
    if method == "score" and not scored.all():
        _refuse_few(n * np.minimum(rate.spread(0.0), rate.spread(1.0)), "score", "as the variance of noise alone")
    ends = binomial_limits(below, n, tail)[0], binomial_limits(above, n, tail)[1]
    low, high = ((end - rate.base) / rate.gain for end in ends)
    if scored.any():
        low = np.where(scored, _score(below, n, rate, tail, -1), low)
        high = np.where(scored, _score(above, n, rate, tail, 1), high)
    return low, high


def _wilson(c: Array, n: Any, rate: Rates, tail: float, side: int) -> Array:
    """Give Wilson's limit: the probability at which the count is z of that probability's standard errors away."""
    z2 = float(ndtri(tail)) ** 2
    limit = (c + z2 / 2 + side * np.sqrt(z2 * (c * (1 - c / n) + z2 / 4))) / (n + z2)
    return np.asarray((limit - rate.base) / rate.gain)


def _score(c: Array, n: Any, rate: Rates, tail: float, side: int) -> Array:
    """Give the realised share at which `inv` is z of that share's standard errors away: the root of a quadratic."""
    inverse = (c / n - rate.base) / rate.gain
    factor = float(ndtri(tail)) ** 2 / (n * rate.gain**2)
    slope = rate.spread(1.0) - rate.spread(0.0)
    middle = 2 * inverse + factor * slope
    root = np.sqrt(np.maximum(middle**2 - 4 * (inverse**2 - factor * rate.spread(0.0)), 0))
    return np.asarray((middle + side * np.copysign(1, rate.gain) * root) / 2)


def _standard_error(c: Array, n: Any, rate: Rates, target: str) -> Array:
    observed = np.minimum(c / n, 1)  # sums of weights may end a hair above
    if target == "population":
        variance = observed * (1 - observed)
    else:
        variance = rate.spread(np.clip((observed - rate.base) / rate.gain, 0, 1))
    return np.asarray(np.sqrt(variance / n) / abs(rate.gain))


def _refuse_few(found: Any, method: str, what: str) -> None:
    if not np.all(found >= ENOUGH):
        raise ValueError(
            f"method {method!r} needs at least {ENOUGH} {what}, but there are {np.min(found):.3g}; use "
            "'clopper_pearson', which holds for any number"
        )


# Two shares against each other


class Difference(NamedTuple):
    """The difference of two shares with its interval, the interval of their ratio, and the p-value of equality."""

    difference: Any
    low: Any
    high: Any
    ratio_low: Any
    ratio_high: Any
    p_value: Any


def difference(first: Any, second: Any, n: Any, rate: Rates, tail: float, target: str) -> Difference:
    """Compare the shares of two answers of the same people, from their counts.

    Which of the two is larger needs neither p nor q: given c_i + c_j, the count c_i is binomial with probability
    phi_i / (phi_i + phi_j), which is one half if and only if the shares are equal. So the (sign) test is exact. The
    difference is approximately normal, with variance [phi_i + phi_j - (phi_i - phi_j)^2] / N / (p-q)^2; where a
    count is below 10, and for the ratio, the ends come from the exact intervals of both, each at half the tail.
    """
    x, y = (((c / n) - rate.base) / rate.gain for c in (first, second))
    if target == "population":
        variance = ((first + second) / n - ((first - second) / n) ** 2) / n
    else:
        # Given the truths, a report of one or the other has variance p+q-(p-q)^2 for those who hold either, 2q else.
        held = np.clip(x, 0, 1) + np.clip(y, 0, 1)
        within, without = 2 * rate.base + rate.gain - rate.gain**2, 2 * rate.base
        variance = (np.minimum(held, 1) * within + np.maximum(1 - held, 0) * without) / n
    half = -float(ndtri(tail)) * np.sqrt(variance) / abs(rate.gain)
    return _compared(
        (x - y, x - y - half, x - y + half), first, second, (n, n), rate, tail, target, _sign_test(first, second)
    )


def difference_between(
    first: Any, second: Any, n: tuple[Any, Any], rate: Rates, tail: float, target: str
) -> Difference:
    """Compare the shares of one answer in two groups of people, from its counts there.

    The interval joins the limits of each group's share (Wilson's, or the score limits of the realised share) as
    Newcombe does: each side is the root of the sum of two squared distances. Equality is tested by Fisher's exact
    test, two-sided by doubling, which needs neither p nor q. Counts below 10, and ratios, as in `difference`.
    """
    x, y = ((c / size - rate.base) / rate.gain for c, size in zip((first, second), n, strict=True))
    limit = _wilson if target == "population" else _score
    turn = 1 if rate.gain > 0 else -1
    (low1, high1), (low2, high2) = (
        [limit(c, size, rate, tail, turn * side) for side in (-1, 1)]
        for c, size in zip((first, second), n, strict=True)
    )
    low = x - y - np.hypot(x - low1, high2 - y)
    high = x - y + np.hypot(high1 - x, y - low2)
    return _compared((x - y, low, high), first, second, n, rate, tail, target, _fisher_test(first, second, n))


def _compared(
    approximate: tuple[Any, Any, Any],
    first: Any,
    second: Any,
    n: tuple[Any, Any],
    rate: Rates,
    tail: float,
    target: str,
    p_value: Any,
) -> Difference:
    (low1, high1), (low2, high2) = (
        _ends(np.asarray(c, dtype=np.float64), size, rate, tail / 2, target, "clopper_pearson")
        for c, size in zip((first, second), n, strict=True)
    )
    middle, low, high = approximate
    few = np.minimum(first, second) < ENOUGH
    if target == "realised":
        few |= ~suited(n[0], rate, target, tail) | ~suited(n[1], rate, target, tail)
    ratio_low, ratio_high = ratio_limits(low1, high1, low2, high2)
    return Difference(
        np.asarray(middle)[()],
        np.clip(np.where(few, low1 - high2, low), -1, 1)[()],
        np.clip(np.where(few, high1 - low2, high), -1, 1)[()],
        ratio_low[()],
        ratio_high[()],
        p_value,
    )


def ratio_limits(low1: Any, high1: Any, low2: Any, high2: Any) -> tuple[Any, Any]:
    """Give what the ratio of two shares can be if each lies in its interval; infinite where the second may be zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(high2 > 0, low1 / high2, 0.0), np.where(low2 > 0, high1 / low2, np.inf)


def _sign_test(first: Any, second: Any) -> Any:
    """Give the two-sided p-value of P(Bin(first + second, 1/2)) at `first`."""
    more = at_least(first, first + second, 0.5)
    fewer = at_least(second, first + second, 0.5)
    return np.minimum(1, 2 * np.minimum(more, fewer))[()]


def at_least(c: Any, n: Any, probability: Any) -> Array:
    """Give P(Bin(n, probability) >= c) = I(probability; c, n - c + 1), which is 1 for c = 0 and 0 for c > n."""
    inside = (c > 0) & (c <= n)
    tails = betainc(np.where(inside, c, 1.0), np.where(inside, n - c + 1, 1.0), probability)
    return np.where(inside, tails, np.where(c <= 0, 1.0, 0.0))


def at_most(c: Any, n: Any, probability: Any) -> Array:
    """Give P(Bin(n, probability) <= c) = 1 - I(probability; c + 1, n - c), which is 1 for c = n and 0 for c < 0."""
    inside = (c >= 0) & (c < n)
    tails = betaincc(np.where(inside, c + 1, 1.0), np.where(inside, n - c, 1.0), probability)
    return np.where(inside, tails, np.where(c < 0, 0.0, 1.0))


def _fisher_test(first: Any, second: Any, n: tuple[Any, Any]) -> Any:
    """Give Fisher's exact p-value of equal probabilities, twice the smaller tail of the hypergeometric law."""
    c1, c2, n1, n2 = (float(value) for value in (first, second, *n))
    if n1 + n2 > MANY_PEOPLE:  # there the logarithms of factorials cancel; the law is normal
        spread = (c1 + c2) / (n1 + n2) * (1 - (c1 + c2) / (n1 + n2)) * (1 / n1 + 1 / n2)
        apart = max(abs(c1 / n1 - c2 / n2) - (1 / n1 + 1 / n2) / 2, 0)
        return min(1.0, 2 * float(ndtr(-apart / math.sqrt(spread)))) if spread > 0 else 1.0
    if c1 * n2 < c2 * n1:  # count the tail on the far side of the expected value
        c1, c2, n1, n2 = c2, c1, n2, n1
    # Beyond twelve standard deviations, each at most sqrt(c1 + c2) / 2, nothing is left that a double could hold.
    steps = np.arange(min(n1 - c1, c2, 6 * math.sqrt(c1 + c2) + 100) + 1)
    with_first, with_second = c1 + steps, c2 - steps

    def ways(of: Any, chosen: Any) -> Any:
        return gammaln(of + 1) - gammaln(chosen + 1) - gammaln(of - chosen + 1)

    logs = ways(n1, with_first) + ways(n2, with_second) - ways(n1 + n2, c1 + c2)
    return min(1.0, 2 * float(np.exp(logs).sum()))


# Ranks and presence


def certain_ranks(low: Array, high: Array, k: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell who is certainly among the k largest shares, and who possibly is, from simultaneous intervals.

    Certainly in: fewer than k others may be as large. Certainly out: at least k others are larger.
    """
    as_large = low.size - np.searchsorted(np.sort(high), low, side="left") - 1
    larger = low.size - np.searchsorted(np.sort(low), high, side="right")
    return as_large < k, larger < k


def presence(counts: NDArray[Any], n: Any, rate: Rates) -> Array:
    r"""Give for each answer the p-value of "nobody holds it", under which its count is :math:`\text{Bin}(N, q)`."""
    if rate.gain > 0:
        return each_count(lambda c, total: (at_least(c, total, rate.base),), counts, n)[0]
    # If the truth is the rarer report, an answer that somebody holds shows by a count that is too low.
    return each_count(lambda c, total: (at_least(total - c, total, 1 - rate.base),), counts, n)[0]


def adjusted(p_values: Array, correction: str) -> Array:
    """Adjust p-values for their number, along the last axis, by Holm or by Benjamini and Hochberg.

    To call those present whose adjusted p-value is at most alpha then errs at all with probability at most alpha
    (``holm``), or is wrong for at most a share alpha of the found on average (``bh``). Holm's always holds. That of
    Benjamini and Hochberg is not proven for counts, which are negatively dependent; simulations have not broken it.
    """
    if correction not in {"holm", "bh"}:
        raise ValueError(f'correction must be "holm" or "bh", but got {correction!r}')
    k = p_values.shape[-1]
    order = np.argsort(p_values, axis=-1)
    ranked = np.take_along_axis(p_values, order, axis=-1)
    if correction == "holm":
        stepped = np.maximum.accumulate(ranked * np.arange(k, 0, -1), axis=-1)
    else:
        stepped = np.minimum.accumulate((ranked * k / np.arange(1, k + 1))[..., ::-1], axis=-1)[..., ::-1]
    result = np.empty_like(p_values)
    np.put_along_axis(result, order, np.minimum(stepped, 1), axis=-1)
    return result


def smallest_share(n: float, rate: Rates, alpha: float, power: float) -> float:
    r"""Give the share that an answer must have to be found among n people with this probability.

    Found means: so many reports that noise alone has them with probability at most alpha (alpha/K, where K answers are
    tested). For many reports it is near :math:`(z_{1-\alpha} + z_{\text{power}}) \sqrt{q(1-q)/n} / (p-q)`; here both
    steps are exact, because with a few expected reports of each answer that formula promises too much. Above 1 where no
    share is enough.

    Examples
    --------
    Without noise an answer is found once it is reported: with 80 % power if 1 - (1 - share)^n = 0.8.

    >>> round(smallest_share(10, Rates(0.0, 1.0), 0.01, 0.8), 6) == round(1 - 0.2**0.1, 6)
    True
    """
    check_power(power)
    # Where the share makes a report rarer, an answer is found by having few: count those of all the others.
    noise = float(rate.base if rate.gain > 0 else 1 - rate.base)
    quantile, error = float(-ndtri(alpha)), math.sqrt(noise * (1 - noise) / n)
    if n * min(noise, 1 - noise) > MANY:
        return max(quantile + float(ndtri(power)), 0.0) * error / abs(float(rate.gain))
    start = n * (noise + quantile * error)
    critical = _smallest_whole(lambda c: float(betainc(c, n - c + 1, noise)) <= alpha, math.floor(n), start)
    if critical > n:
        return math.inf
    return max(float(betaincinv(critical, n - critical + 1, power)) - noise, 0.0) / abs(float(rate.gain))


def _smallest_whole(holds: Callable[[int], bool], n: int, start: float) -> int:
    """Find the smallest whole number from 1 to n from which on something holds, or n + 1."""
    low, high = 0, min(max(1, math.ceil(start)), n)
    if n < 1:
        return 1
    step = 1
    while not holds(high):
        if high >= n:
            return n + 1
        low, high, step = high, min(high + step, n), 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def check_power(power: float) -> None:
    """Refuse what is no power of a test."""
    if not 0 < power < 1:
        raise ValueError(f"power must be between 0 and 1, such as 0.8, but got {power!r}")
