r"""Exact tests of equal probabilities (sign, Fisher, Barnard), and exact limits of the difference of two proportions.

*The sign test*, for two counts of the same reports: of the reports in exactly one of two equally likely counts, each is
in the first with probability one half. *Fisher's test*, for the counts of two samples: given their sum, the first count
is hypergeometric. Neither needs p or q. In small samples Fisher's test hardly spends half of its level [1]_; Barnard's
spends more.

**Limits.** Each count is binomial with a probability that follows its share. If the shares differ by :math:`d`, the two
probabilities lie on a line, :math:`\phi_1 = e + \rho\phi_2`. The score of a table of two counts is its distance from
the line in standard errors,

.. math:: z = \frac{c_1/n_1 - \rho\, c_2/n_2 - e}{\text{error at } \hat\phi_2} ,

where :math:`\hat\phi_2` is the maximum-likelihood estimate on the line. The difference at which the score is a normal
quantile is an approximate limit, which orders the tables. Every order leads to a limit that holds. With :math:`R` the
tables up to the observed one in this order, it is

.. math:: \min\{d : \max_{\phi_2} P_d(R) \ge \text{tail}\} .

If it is above the true d, then :math:`P_d(R)` is below the tail; so the observed table is one of the first in the order
that together have less than the tail, which has a probability below the tail (Buehler [2]_; Lloyd and Moldovan [3]_).
R becomes more probable with a larger first or a smaller second share, so that the maximum rises with d. Tables that
reject equality come first in the order. So the interval excludes 0 wherever the test rejects.

*Barnard's test* is the largest probability, on the line, of a score at least as large [4]_, [5]_; two-sided, twice
that. If both counts follow their shares alike, the line is :math:`\phi_1 = \phi_2`, and z the score statistic with
pooled variance.

.. [1] D. V. Mehrotra, I. S. F. Chan, R. L. Berger, "A cautionary note on exact unconditional inference for a difference
   between two independent binomial proportions", Biometrics 59 (2003), 441-450.
.. [2] R. J. Buehler, "Confidence intervals for the product of two binomial parameters", J. Amer. Statist. Assoc. 52
   (1957), 482-493.
.. [3] C. J. Lloyd, M. V. Moldovan, "Exact one-sided confidence limits for the difference between two correlated
   proportions", Statistics in Medicine 26 (2007), 3369-3384.
.. [4] G. A. Barnard, "Significance tests for 2 x 2 tables", Biometrika 34 (1947), 123-138.
.. [5] S. Suissa, J. J. Shuster, "Exact unconditional sample sizes for the 2 x 2 binomial trial", J. Roy. Statist. Soc.
   A 148 (1985), 317-327.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import gammaln, ndtri, xlog1py, xlogy

from warner.arrays import SMALLEST, Array, Integers, Mask, Numbers
from warner.inference.binomial import LIMIT_TOLERANCE, ROUNDING, Binomial, at_least, expected_range, log_binomial
from warner.numerics import bisected, first_true_each, rising_roots

if TYPE_CHECKING:
    from collections.abc import Callable


# Exact differences


MOST_REPORTS = 10_000  # in all that is compared at once, up to which exact limits take a few seconds at most
SCORE_ROUNDING = 1e-11  # relative difference of scores below which it is rounding
GRID_STEP = 0.25  # standard errors between two probabilities at which a chance is looked at
FAR_DEVIATIONS = 9.0  # standard deviations of a count beyond which nothing is left that matters
PROBABILITIES_AT_ONCE = 32  # at which a chance is looked at together
PEAKS_REFINED, REFINEMENTS = 3, 2  # the highest peaks on the grid, and the finer grids that are laid around each
HOPELESS_PEAK = 0.9  # of the highest value on the grid: a peak that is lower there cannot be the highest of all
HIGHEST_SCORE = 40.0  # beyond, nothing is left of a chance that a double could hold
SMALLEST_CHANCE, LARGEST_CHANCE = 1e-300, 1 - 2.0**-53  # between which chances have a normal quantile
CUBIC_STEPS, CUBIC_STEP = 2, 1e-7  # steps of Newton's method that polish a root, and how far each may go, relatively
CRITICAL_SCORE_TOLERANCE = 1e-5  # difference of scores to which the critical one is found
SMALLEST_ERROR = 1e-4  # difference that the standard error of one is taken to be at least, to search for a limit


class Line(NamedTuple):
    """Line of the probabilities of two counts: the first is start + slope * the second."""

    start: float
    slope: float

    def swapped(self) -> Line:
        return Line(-self.start / self.slope, 1 / self.slope)


class TwoBinomials(NamedTuple):
    """Joint distribution of two counts: their numbers of reports and the ranges of their probabilities.

    If a report is in at most one of the counts, `together` is the range of the sum of both probabilities. Otherwise the
    counts are independent.
    """

    n1: float
    n2: float
    span1: tuple[float, float]
    span2: tuple[float, float]
    together: tuple[float, float] | None = None

    def swapped(self) -> TwoBinomials:
        return TwoBinomials(self.n2, self.n1, self.span2, self.span1, self.together)

    def stretch(self, line: Line) -> tuple[float, float]:
        """Range of the second probability on the line; empty (low > high) if the line is impossible."""
        start, slope = line
        low, high = self.span2
        low, high = max(low, (self.span1[0] - start) / slope), min(high, (self.span1[1] - start) / slope)
        if self.together is None:
            return low, high
        least, most = ((total - start) / (1 + slope) for total in self.together)
        return max(low, least), min(high, most)

    def score(self, first: Numbers, second: Numbers, line: Line) -> Array:
        """Distance of the counts from the line in standard errors, positive if the first count is too large."""
        start, slope = line
        likeliest = _likeliest_apart if self.together is None else _likeliest_together
        two = np.clip(likeliest(first, second, self.n1, self.n2, line), *self.stretch(line))
        one = np.clip(start + slope * two, 0, 1)
        variance = one * (1 - one) / self.n1 + slope**2 * two * (1 - two) / self.n2
        if self.together is not None:  # reports of the one are not of the other: the covariance is -one * two / n
            variance = variance + 2 * slope * one * two / self.n1
        apart = first / self.n1 - slope * second / self.n2 - start
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.clip(apart / np.sqrt(variance), -HIGHEST_SCORE, HIGHEST_SCORE)
        return np.where(np.abs(apart) > ROUNDING, np.where(variance > 0, score, np.sign(apart) * HIGHEST_SCORE), 0.0)

    def fewest(self, line: Line, score: float) -> Integers:
        """Smallest first count with at least this score for each second count, or n1 + 1 if there is none."""

        def holds(first: Array, second: Array) -> Mask:
            return np.asarray(self.score(first, second, line) >= score * (1 - SCORE_ROUNDING))

        return _fewest(holds, self.n1, np.arange(self.n2 + 1), together=self.together is not None)

    def largest_chance(
        self, fewest: Integers, line: Line, far: float = FAR_DEVIATIONS, against: float | None = None
    ) -> float:
        """Largest probability, on the line, of first counts of at least `fewest`; 0 if the line is impossible.

        Counts that are `far` standard deviations off are left out; `against` is a number that it is only compared with.
        """
        low, high = self.stretch(line)
        if low > high + ROUNDING:
            return 0.0
        ways = _log_ways(self.n2)
        upward = None if self.together is not None else _log_ways(self.n1)

        def chances(two: Array) -> Array:
            one = np.clip(line.start + line.slope * two, 0, 1)
            window = _window(self.n2, two, far)
            law, needed = _laws(ways, window, self.n2, two), fewest[window]
            if upward is None:
                rest = self.n2 - np.arange(window.start, window.stop)
                with np.errstate(divide="ignore", invalid="ignore"):
                    given = np.where(two < 1, np.clip(one / (1 - two), 0, 1), 0.0)
                return np.asarray(np.vecdot(law, at_least(needed.astype(np.float64), rest, given[:, np.newaxis])))
            others = _window(self.n1, one, far)
            tails = _laws(upward, others, self.n1, one)[:, ::-1].cumsum(axis=-1)[:, ::-1]
            tails = np.append(tails, np.zeros((two.size, 1)), axis=-1)
            return np.asarray(np.vecdot(law, tails[:, np.clip(needed - others.start, 0, tails.shape[-1] - 1)]))

        reports = self.n1 if self.together is not None else self.n1 + self.n2
        return _largest(chances, low, max(low, high), reports * max(1.0, line.slope) ** 2, against)


# The most likely probability on a line: t of the second count, with u = start + slope * t of the first


def _likeliest_together(first: Numbers, second: Numbers, n: float, _: float, line: Line) -> Numbers:
    """Larger root of (slope c1 t + c2 u) (1 - u - t) = (1 + slope) (n - c1 - c2) t u: no report is in both counts."""
    start, slope = line
    others, slopes, rest = n - first - second, 1 + slope, 1 - start
    named = slope * (first + second)
    square = -slopes * (named + slope * others)
    linear = named * rest - second * start * slopes - slopes * others * start
    constant = second * start * rest
    # Of the two forms of the root, the one in which nothing cancels
    root = np.sqrt(np.maximum(linear**2 - 4 * square * constant, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        larger = np.where(linear >= 0, (linear + root) / (-2 * square), 2 * constant / (root - linear))
    return np.where(np.isnan(larger), 0.0, larger)


def _likeliest_apart(first: Numbers, second: Numbers, n1: float, n2: float, line: Line) -> Numbers:
    """Middle root of slope (c1 - n1 u) t (1 - t) + (c2 - n2 t) u (1 - u) = 0: the counts are independent."""
    start, slope = line
    cube = slope**2 * (n1 + n2)
    free, other = first - n1 * start, 1 - 2 * start
    square = (slope * (-n1 * slope - free) - slope**2 * second - n2 * slope * other) / cube
    linear = (slope * free + second * slope * other - n2 * start * (1 - start)) / cube
    constant = second * start * (1 - start) / cube
    return _polished(_middle_root(square, linear, constant), square, linear, constant)


def _middle_root(square: Numbers, linear: Numbers, constant: Numbers) -> Numbers:
    """Middle root of t^3 + square t^2 + linear t + constant, by Viète's trigonometric formula."""
    p = np.minimum(linear - square**2 / 3, -(ROUNDING**2))  # where all three coincide, there is one place
    q = 2 * square**3 / 27 - square * linear / 3 + constant
    angle = np.arccos(np.clip(1.5 * q / p * np.sqrt(-3 / p), -1, 1))
    return 2 * np.sqrt(-p / 3) * np.cos((angle - 2 * math.pi) / 3) - square / 3


def _polished(t: Numbers, square: Numbers, linear: Numbers, constant: Numbers) -> Numbers:
    """Refine the root by Newton's method, because cosines lose half of the digits where two roots are close."""
    lost = CUBIC_STEP * (1 + np.abs(square))
    for _ in range(CUBIC_STEPS):
        slope = (3 * t + 2 * square) * t + linear
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = np.clip((((t + square) * t + linear) * t + constant) / slope, -lost, lost)
        t = np.where(slope < 0, t - step, t)  # the cubic falls through its middle root
    return t


# Tests of equality: for which tables they refute it


def barnard_test(
    first: float, second: float, n: tuple[float, float], lowest: float = 0.0, highest: float = 1.0
) -> float:
    """Exact p-value of the hypothesis that two counts have equal probabilities between `lowest` and `highest`.

    Examples
    --------
    All of two against none of two: if both say yes with probability x, that has probability x^2 (1 - x)^2, which is
    largest at 1/2. Two-sided, that counts twice.

    >>> round(barnard_test(2, 0, (2, 2)), 6)
    0.125
    >>> round(barnard_test(2, 0, (2, 2), lowest=0.75), 4)  # 2 * (3/16)^2
    0.0703
    """
    return line_test(first, second, TwoBinomials(*n, (lowest, highest), (lowest, highest)), Line(0.0, 1.0))


def line_test(first: float, second: float, law: TwoBinomials, line: Line) -> float:
    """Exact p-value of the hypothesis that two probabilities lie on a line, twice the one-sided p-value."""
    score = float(law.score(first, second, line))
    if score == 0:
        return 1.0
    if score < 0:
        return line_test(second, first, law.swapped(), line.swapped())
    return min(1.0, 2 * law.largest_chance(law.fewest(line, score), line, FAR_DEVIATIONS + score))


@lru_cache(maxsize=64)
def refuted_by_score(law: TwoBinomials, line: Line, tail: float) -> Integers:
    """Smallest first count whose score rejects the line at this level, for each second count."""
    known: dict[bytes, bool] = {}  # of few reports, many scores have the same tables

    def too_many(score: float) -> bool:
        tables = law.fewest(line, score)
        name = tables.tobytes()
        if name not in known:
            known[name] = law.largest_chance(tables, line, against=tail) >= tail
        return known[name]

    few = enough = -float(ndtri(tail))  # close to what is looked for
    while not too_many(few):
        few -= 1 / 4
    while too_many(enough):
        enough += 1 / 4
    _, enough = bisected(lambda score: not too_many(score), few, enough, close=CRITICAL_SCORE_TOLERANCE)
    return law.fewest(line, enough)


def refuted_by_sign(n: float, tail: float) -> Integers:
    """Smallest first count that rejects equality by the sign test for each second count, or n + 1."""
    return _fewest(lambda a, b: at_least(a, a + b, 0.5) < tail, n, np.arange(n + 1), together=True)


def _fewest(holds: Callable[[Array, Array], Mask], n: float, second: Array, *, together: bool) -> Integers:
    """Smallest first count from which on a condition holds, for each second count; n + 1 if there is none."""
    most = n - second if together else np.full(second.size, n)
    fewest = first_true_each(lambda first: holds(first, second), np.zeros(second.size), most + 1)
    return np.where(fewest > most, n + 1, fewest).astype(np.int64)


# Limits


def limits_between(first: Binomial, second: Binomial, tail: float) -> tuple[float, float, float]:
    """Limits of the difference of two shares in two samples, and the p-value of equality.

    Examples
    --------
    All of four against none of four, without randomization. If the shares differ by d, that has at most the probability
    ((1 + d) / 2)^8, with the shares (1 + d)/2 and (1 - d)/2; it is 0.025 at d = 0.2612.

    >>> low, high, p_value = limits_between(Binomial(4, 4, 0.0, 1.0), Binomial(0, 4, 0.0, 1.0), 0.025)
    >>> round(low, 3), high, round(p_value, 6)  # the p-value is 2 / 2^8
    (0.261, 1.0, 0.007812)
    """
    law, line = _between(first, second)
    equal = line(0.0)
    refuted = refuted_by_score(law, equal, tail), refuted_by_score(law.swapped(), equal.swapped(), tail)
    counts = first.upright().count, second.upright().count
    return *_limits(law, counts, refuted, line, tail), line_test(*counts, law, equal)


def equality_test(first: Binomial, second: Binomial) -> float:
    """Return the exact p-value of equal shares in two samples, that of `limits_between` without its limits.

    >>> round(equality_test(Binomial(4, 4, 0.0, 1.0), Binomial(0, 4, 0.0, 1.0)), 6)  # 2 / 2^8
    0.007812
    """
    law, line = _between(first, second)
    return line_test(first.upright().count, second.upright().count, law, line(0.0))


def equality_scores(first: Binomial, second: Binomial) -> Array:
    """Return the distance of pairs of counts from equal shares, in standard errors; n, p and q are shared."""
    law, line = _between(first, second)
    return law.score(first.upright().count, second.upright().count, line(0.0))


def _between(first: Binomial, second: Binomial) -> tuple[TwoBinomials, Callable[[float], Line]]:
    """Return the distribution of the counts of two samples, and the line of each difference of shares."""
    one, two = first.upright(), second.upright()
    slope = one.gain / two.gain

    def line(difference: float) -> Line:
        return Line(one.base + one.gain * difference - slope * two.base, slope)

    return TwoBinomials(one.n, two.n, one.span, two.span), line


def limits_of_answers(first: Binomial, second: Binomial, tail: float) -> tuple[float, float]:
    """Limits of the difference of two shares in one sample, if a report is in at most one of the counts.

    Both follow their shares alike. The test of equality is the sign test.

    Examples
    --------
    All of four reports, without randomization. If shares differ by d, that has at most the probability ((1 + d) / 2)^4;
    it is 0.1 at d = 0.1247.

    >>> low, high = limits_of_answers(Binomial(4, 4, 0.0, 1.0), Binomial(0, 4, 0.0, 1.0), 0.1)
    >>> round(low, 3), high
    (0.125, 1.0)
    """
    base, gain = first.base, first.gain
    least, most = sorted((2 * base, 2 * base + gain))  # at a joint share of 0, and of 1
    law = TwoBinomials(first.n, second.n, first.span, second.span, (least, most))
    return _limits_by_sign(law, (first.count, second.count), gain, tail)


def limits_of_supports(first: float, second: float, n: float, gain: float, tail: float) -> tuple[float, float]:
    """Limits of the difference of two shares, from the reports that support exactly one of the answers."""
    return _limits_by_sign(TwoBinomials(n, n, (0.0, 1.0), (0.0, 1.0), (0.0, 1.0)), (first, second), gain, tail)


def _limits_by_sign(law: TwoBinomials, counts: tuple[float, float], gain: float, tail: float) -> tuple[float, float]:
    refuted = refuted_by_sign(law.n1, tail)
    low, high = _limits(law, counts, (refuted, refuted), lambda d: Line(abs(gain) * d, 1.0), tail)
    return (low, high) if gain > 0 else (-high, -low)


def _limits(
    law: TwoBinomials,
    counts: tuple[float, float],
    refuted: tuple[Integers, Integers],
    line: Callable[[float], Line],
    tail: float,
) -> tuple[float, float]:
    """Both limits; the upper limit is the negative lower limit of the reversed difference."""
    low = _lower_limit(law, *counts, refuted[0], line, tail)
    return low, -_lower_limit(law.swapped(), *counts[::-1], refuted[1], lambda d: line(-d).swapped(), tail)


def _lower_limit(
    law: TwoBinomials, first: float, second: float, refuted_from: Integers, line: Callable[[float], Line], tail: float
) -> float:
    """Smallest difference at which the tables from the observed one on have at least the probability `tail`."""
    quantile = -float(ndtri(tail))
    refuted = first >= refuted_from[int(second)]
    # Counts are moved into the range that shares from 0 to 1 can explain, which only widens the interval.
    second = max(second, float(expected_range(law.n2, *law.span2)[0]))
    first = min(first, float(expected_range(law.n1, *law.span1)[1]))
    first = first if law.together is None else min(first, law.n1 - second)

    whole, level = line(1.0), line(0.0).start
    gain = whole.start - level
    # The score is zero at the unbiased difference, and falls by about one per standard error.
    unbiased = (first / law.n1 - whole.slope * second / law.n2 - level) / gain
    error = math.sqrt(1 / law.n1 + whole.slope**2 / law.n2) / (2 * gain)

    def shortfall(difference: Array, _: Mask) -> Array:
        return np.asarray(quantile - law.score(first, second, line(difference.item())))

    start = np.array([unbiased - quantile * error])
    about = rising_roots(shortfall, start, np.array([error]), -1.0, 1.0, np.array([ROUNDING * error])).item()
    if about == -1:  # such tables come last: of all, or of those that refute equality
        return ROUNDING if refuted else -1.0
    before = law.fewest(line(about), quantile)
    before[int(second)] = min(before[int(second)], int(first))
    # With more first reports, or fewer second ones, a table comes no later: so the observed one is among them, too.
    before = np.minimum.accumulate(before[::-1])[::-1]
    before = np.maximum(before, refuted_from) if refuted else np.minimum(before, refuted_from)

    def excess(difference: Array, _: Mask) -> Array:
        chance = law.largest_chance(before, line(difference.item()), against=tail)
        # The normal quantile of a chance rises by about one per standard error.
        return np.asarray(ndtri(np.clip(chance, SMALLEST_CHANCE, LARGEST_CHANCE)) + quantile)

    scale = np.array([max((np.clip(unbiased, -1, 1) - about) / quantile, SMALLEST_ERROR)])
    limit = rising_roots(excess, np.array([about]), scale, -1.0, 1.0, LIMIT_TOLERANCE * scale).item()
    return max(limit, ROUNDING) if refuted else min(limit, 0.0)


# The largest chance


def _log_ways(n: float) -> Array:
    return np.asarray(gammaln(n + 1) - gammaln(np.arange(n + 1) + 1) - gammaln(n - np.arange(n + 1) + 1))


def _window(n: float, probabilities: Array, deviations: float) -> slice:
    """Range of counts within some standard deviations of the expected count."""
    mean, width = n * probabilities, deviations * np.sqrt(n * probabilities * (1 - probabilities)) + 10
    return slice(max(math.floor((mean - width).min()), 0), min(math.ceil((mean + width).max()), int(n)) + 1)


def _laws(ways: Array, window: slice, n: float, probabilities: Array) -> Array:
    """Binomial probabilities of the counts in a window, of shape (probabilities, counts)."""
    x, p = np.arange(window.start, window.stop), probabilities[:, np.newaxis]
    return np.asarray(np.exp(ways[window] + xlogy(x, p) + xlog1py(n - x, -p)))


def _largest(
    function: Callable[[Array], Array], low: float, high: float, n: float, against: float | None = None
) -> float:
    """Largest value of a mixture of binomial probabilities: on a grid, then on finer grids around its peaks.

    In the arc sine of its root a standard error of the probability is 1 / (2 sqrt(n)) everywhere.
    """
    start, end = (math.asin(math.sqrt(min(max(x, 0.0), 1.0))) for x in (low, high))
    points = 2 + math.ceil((end - start) * 2 * math.sqrt(n) / GRID_STEP)
    grid = np.linspace(start, end, points)
    blocks = np.array_split(grid, math.ceil(points / PROBABILITIES_AT_ONCE))
    values = np.concatenate([function(np.sin(block) ** 2) for block in blocks])
    best = float(values.max())
    if against is not None and not HOPELESS_PEAK * against <= best <= against / HOPELESS_PEAK:
        return best
    width = (end - start) / (points - 1)
    sides = np.pad(values, 1)
    peaks = np.flatnonzero((values >= sides[:-2]) & (values >= sides[2:]) & (values >= HOPELESS_PEAK * best))
    for index in peaks[np.argsort(-values[peaks])][:PEAKS_REFINED].tolist():
        angle, half_width = float(grid[index]), width
        for _ in range(REFINEMENTS):
            finer = np.linspace(max(angle - half_width, start), min(angle + half_width, end), PROBABILITIES_AT_ONCE + 1)
            around = function(np.sin(finer) ** 2)
            top = int(around.argmax())
            best, angle = max(best, float(around[top])), float(finer[top])
            half_width = 2 * half_width / PROBABILITIES_AT_ONCE
        if 0 < top < PROBABILITIES_AT_ONCE:  # the top of the parabola through the three highest
            before, here, after = around[top - 1 : top + 2]
            step = float(finer[1] - finer[0])
            shift = (after - before) / max(2 * (2 * here - before - after), SMALLEST)
            best = max(best, float(function(np.sin([angle + step * np.clip(shift, -1, 1)]) ** 2)[0]))
    return best


# Equality tests


TERMS_SUMMED = 10**5  # terms of a tail up to which they are summed; beyond, they are integrated
INTEGRAL_PANELS, PANEL_NODES = 60, 20  # of that integral, by Gauss and Legendre's rule in each panel


def sign_tail(first: Numbers, second: Numbers) -> Array:
    """Return P(Bin(first + second, 1/2) >= first), the one-sided p-value of the sign test.

    >>> float(sign_tail(4.0, 1.0))  # (5 + 1) / 32
    0.1875
    """
    return at_least(first, first + second, 0.5)


def sign_test(first: Numbers, second: Numbers) -> Numbers:
    """Two-sided p-value of the sign test, twice the smaller tail."""
    return np.minimum(1, 2 * np.minimum(sign_tail(first, second), sign_tail(second, first)))[()]


# Fisher's test


def fisher_test(first: float, second: float, n: tuple[float, float]) -> float:
    """Fisher's exact p-value of equal probabilities, twice the smaller tail of the hypergeometric distribution.

    >>> round(fisher_test(2, 0, (2, 2)), 6)  # one of six ways to choose two of four
    0.333333
    """
    c1, c2, n1, n2 = (float(value) for value in (first, second, *n))
    if c1 * n2 < c2 * n1:  # count the tail on the far side of the expected value
        c1, c2, n1, n2 = c2, c1, n2, n1
    together = c1 + c2
    share = together / (n1 + n2)
    if not 0 < share < 1:
        return 1.0

    def chance(steps: Numbers) -> Numbers:
        logs = log_binomial(c1 + steps, n1, share) + log_binomial(c2 - steps, n2, share)
        return np.exp(logs - log_binomial(np.asarray(together), n1 + n2, share))

    # Beyond twelve standard deviations, each at most sqrt(c1 + c2) / 2, nothing is left that a double could hold.
    last = min(n1 - c1, c2, 6 * math.sqrt(together) + 100)
    if last <= TERMS_SUMMED:
        k = np.arange(last)
        ratios = (n1 - c1 - k) * (c2 - k) / ((c1 + k + 1) * (n2 - c2 + k + 1))
        return min(1.0, 2 * float(chance(np.asarray(0.0)) * (1 + ratios.cumprod().sum())))
    # Each term is an integral over one step around it, but for a part of the curvature: Euler and Maclaurin's formula.
    nodes, weights = np.polynomial.legendre.leggauss(PANEL_NODES)
    edges = np.linspace(-0.5, last + 0.5, INTEGRAL_PANELS + 1)
    half = (edges[1:] - edges[:-1]) / 2
    inside = (edges[1:] + edges[:-1])[:, np.newaxis] / 2 + half[:, np.newaxis] * nodes
    total = float((chance(inside) @ weights) @ half)
    slope = float(chance(np.asarray(0.0)) - chance(np.asarray(-1.0)))
    return min(1.0, 2 * (total + slope / 24))
