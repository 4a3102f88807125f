r"""Tests of the types of reports: the frequency of each value of a report, or of each size of a set.

- *The range of each type.* Whatever the true shares are, a report is of type y with a probability between the least and
  the most over all answers (`ReportTypes.bounds`). Its count is binomial, so that both tails are exact; with R types,
  2R times the smallest is a p-value.
- *What does not depend on the true answers* (`Ancillary`), such as the number of answers that a report of a unary
  encoding supports, or its hash function. Its distribution is known. Two statistics are compared with it. If the
  classes are amounts, their sum, whose distribution is a power of a Fourier transform. And :math:`G^2 = 2 \sum_y n_y
  \ln(n_y / N \pi_y)`, with simulated surveys: (1 + number of surveys with at least this value) / (1 + their number) is
  a p-value. Both are exact, and the smaller one is doubled.

*Pairs of answers.* Crafted reports that support some answers together raise all of their shares at once. With b_i = 1
if a report supports answer i, under unary encoding and subset selection

.. math:: t_{ij} = b_i b_j - \alpha - \beta (b_i + b_j), \qquad
          \beta = \frac{\text{both} - \text{neither}}{p - q}, \quad \alpha = \text{neither} - 2 q \beta

has the mean 0 whatever the true answer is; under unary encoding it is :math:`(b_i - q)(b_j - q)`. It has one of two
distributions on three points: with cumulant functions m_1 if the true answer is i or j, and m_0 otherwise. So the sum
over n reports, of which at most h have true answers i or j, is at least e with probability at most :math:`\min_\lambda
\exp(-\lambda e + (n-h) m_0 + h \max(m_0, m_1))` (Chernoff). With P pairs, h = n, and h from the upper confidence limits
of both shares at 0.001 / K, the p-value is :math:`2 \min(P b_n, P b_h + 0.001)`: valid for every population.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from warner.arrays import SMALLEST, Array, Counts, Integers, Label, Mask
from warner.estimators.auto import SIMULATED_COUNTS_AT_ONCE
from warner.inference.binomial import at_least, at_most, binomial_limits
from warner.inference.check_results import MISFITS_LISTED, Test
from warner.inference.intervals import in_all_groups
from warner.numerics import deviance
from warner.results import plain
from warner.simulate import of_each_size, seeded_by
from warner.text import amount, enumerated, p_value, percent, quoted

if TYPE_CHECKING:
    from warner.designs.facts import Ancillary, Symmetry
    from warner.documents import Document
    from warner.reports.tallies import Tally

CLASSES_SIMULATED = 2**12  # classes that are simulated one by one
EQUAL_G2 = 1 - 1e-9  # ratio of two G2 from which on they count as equal: equal histograms differ by rounding alone
TILTING_STEPS = 100  # far more than are needed to tilt a law
TILTING_TOLERANCE = 1e-6  # relative: how near its average must come
SUM_DEVIATIONS = 24  # standard deviations that the law of a sum is computed on, in all
LONGEST_TRANSFORM, QUICK_TRANSFORM = 2**22, 2**14  # terms of its Fourier transform; in warnings


class TypeCounts(NamedTuple):
    """Counts of report types in groups with reports, of shape (groups, types), and their ranges."""

    counts: Counts
    n: Array
    least: Array
    most: Array

    def tails(self) -> Array:
        """Return the smaller tail probability of each type at the ends of its range; 1 for counts within the range."""
        result = np.ones(self.counts.shape)
        for side, tail, expected in ((-1, at_most, self.least), (1, at_least, self.most)):
            rows, indices = np.nonzero(side * (self.counts - self.n * expected) > 0)
            chances = tail(self.counts[rows, indices].astype(np.float64), self.n[rows, 0], expected[indices])
            result[rows, indices] = np.minimum(result[rows, indices], chances)
        return result


def types_in(part: Tally) -> TypeCounts | None:
    types, counts = part.design.law.types, part.scaled_histogram()
    if types is None or counts is None:
        return None
    ends = zip(types.bounds(), (0.0, 1.0), strict=True)
    least, most = (np.broadcast_to(end if side is None else side, counts.shape[-1]) for side, end in ends)
    return TypeCounts(counts[part.answered], part.scaled()[1][part.answered], least, most)


def _ancillary(part: Tally) -> Ancillary | None:
    return None if part.design.law.types is None else part.design.law.types.ancillary()


def number_of_report_type_tests(part: Tally) -> int:
    return 0 if types_in(part) is None else 1 + (_ancillary(part) is not None)


def report_type_tests(
    part: Tally, chances: float, simulations: int, rng: np.random.Generator | None
) -> tuple[tuple[Test, ...], Mask | None]:
    """Test the types of reports at these chances of error; also return types outside their range, (groups, types)."""
    types = types_in(part)
    if types is None:
        return (), None
    tails = types.tails()
    misfits = np.zeros((part.answered.size, tails.shape[-1]), dtype=bool)
    misfits[part.answered] = 2 * tails.shape[-1] * tails < chances
    tests = [_range_test(part, types, tails, misfits)]
    if (ancillary := _ancillary(part)) is not None:
        tests.append(_law_test(part, types, ancillary, simulations, rng))
    return tuple(tests), misfits


def _range_test(part: Tally, types: TypeCounts, tails: Array, misfits: Mask) -> Test:
    kinds, counts = part.design.law.types, part.histogram
    p_values = in_all_groups(smallest_p_value(tails), part.answered)

    def sentence(group: int) -> str:
        row, n = np.count_nonzero(part.answered[:group]), float(np.atleast_1d(part.n)[group])
        index = int(tails[row].argmin())
        low, high = n * types.least[index], n * types.most[index]
        expected = f"{low:,.1f}" if low == high else f"{low:,.1f} to {high:,.1f}"
        assert kinds is not None
        names = kinds.labels
        made = amount(counts.reshape(-1, len(names))[group, index])
        times = "once" if made == "1" else f"{made} times"
        listed = enumerated([f"{names[i]}" for i in np.flatnonzero(misfits[group])], MISFITS_LISTED) or "none"
        return (
            f"Each kind of report ({kinds.name}): {names[index]} came {times}, {expected} are "
            f"expected whatever the true answers are: {p_value(p_values[group])}. More or less frequent than the "
            f"design can explain: {listed}."
        )

    return Test("kinds of reports", p_values, sentence)


def smallest_p_value(tails: Array) -> Array:
    """P-value of the smallest of these tails, each of which may be on either side."""
    return np.asarray(np.minimum(1, 2 * tails.shape[-1] * tails.min(axis=-1)))


# What does not depend on the true answers


def _law_test(
    part: Tally, types: TypeCounts, ancillary: Ancillary, simulations: int, rng: np.random.Generator | None
) -> Test:
    counts, n, numbers = _by_class(types.counts, ancillary), types.n[:, 0], np.arange(len(ancillary.law))
    found = *_law_p_values(counts, n, ancillary, simulations, rng), np.asarray(counts @ numbers / n)
    p_values, g2, averages = (in_all_groups(values, part.answered) for values in found)

    def sentence(group: int) -> str:
        mean = float(numbers @ ancillary.law)
        average = f"{averages[group]:.4g} on average, where {mean:.4g} are expected; " if ancillary.ordered else ""
        sees = " This is the only test that sees too much noise as well as too little." * ancillary.of_each_type
        return (
            f"Independent of the answers ({ancillary.name}): {average}G2 = {g2[group]:.4g}, {p_value(p_values[group])} "
            f"(G2 against {simulations:,} simulated surveys; exact).{sees}"
        )

    return Test("known law", p_values, sentence, g2)


def _by_class(counts: Counts, ancillary: Ancillary) -> Counts:
    if ancillary.of_each_type:
        return counts
    return np.stack([np.bincount(ancillary.classes, weights=row, minlength=len(ancillary.law)) for row in counts])


def _law_p_values(
    counts: Counts, n: Array, ancillary: Ancillary, simulations: int, rng: np.random.Generator | None
) -> tuple[Array, Array]:
    """Compute the p-value and G2 of each group; groups of one size share the simulated surveys."""
    law = ancillary.law / ancillary.law.sum()
    # Of very many classes, neighbors are merged: their distribution is known as well.
    first = np.arange(0, law.size, -(-law.size // CLASSES_SIMULATED))
    chances = np.add.reduceat(law, first)
    g2 = g_squared(np.add.reduceat(counts, first, axis=-1), counts.sum(axis=-1, keepdims=True) * chances)
    p, step = np.ones(len(g2)), max(1, SIMULATED_COUNTS_AT_ONCE // first.size)
    for size, indices in of_each_size(_rounded_numbers(n)):
        generator = seeded_by([size]) if rng is None else rng
        draws = (
            generator.multinomial(size, chances, size=min(step, simulations - start))
            for start in range(0, simulations, step)
        )
        simulated = np.sort(np.concatenate([g_squared(drawn, size * chances) for drawn in draws]))
        p[indices] = (1 + simulations - np.searchsorted(simulated, g2[indices] * EQUAL_G2)) / (1 + simulations)
    if ancillary.ordered:
        p = np.minimum(1, 2 * np.minimum(p, _average_tests(counts, n, law)))
    return p, g2


def _rounded_numbers(n: Array) -> Integers:
    return np.maximum(1, np.rint(n)).astype(np.int64)


def _average_tests(counts: Counts, n: Array, law: Array, longest: int = LONGEST_TRANSFORM) -> list[float]:
    """Test the average of each group of n reports; with weights, n is the effective number."""
    sizes, numbers = _rounded_numbers(n).tolist(), np.arange(law.size)
    totals = (round(float(row @ numbers / row.sum()) * size) for row, size in zip(counts, sizes, strict=True))
    return [sum_test(total, size, law, longest) for total, size in zip(totals, sizes, strict=True)]


def g_squared(counts: Counts, expected: Array) -> Array:
    r"""Compute :math:`G^2 = 2 \sum_y n_y \ln(n_y / e_y)`, along the last axis; infinite if an impossible type occurs.

    >>> g_squared(np.array([5, 15]), np.array([10.0, 10.0])).round(4)  # 2 (5 ln 0.5 + 15 ln 1.5)
    np.float64(5.2325)
    """
    return np.asarray(2 * deviance(counts, expected).sum(axis=-1))[()]


# Warnings


def report_type_evidence(part: Tally) -> list[tuple[float, str]]:
    types = types_in(part)
    if types is None:
        return []
    assert part.design.law.types is not None
    smallest, what = float(smallest_p_value(types.tails()).min()), part.design.law.types.name
    evidence = [(smallest, f"some {what} are more or less frequent than the noise explains")]
    ancillary = _ancillary(part)
    if ancillary is not None and ancillary.ordered:
        law = ancillary.law / ancillary.law.sum()
        averages = _average_tests(_by_class(types.counts, ancillary), types.n[:, 0], law, QUICK_TRANSFORM)
        evidence.append((min(averages), f"the {ancillary.name} are smaller or larger than the noise explains"))
    return evidence


def sum_test(total: int, n: int, law: Array, longest: int = LONGEST_TRANSFORM) -> float:
    """Return the two-sided p-value of a sum of n independent numbers from 0 on with this distribution; see `sum_tail`.

    >>> round(sum_test(0, 2, np.array([0.1, 0.2, 0.7])), 6)  # twice 0.1^2
    0.02
    """
    possible = np.flatnonzero(law)
    first, last = int(possible[0]), int(possible[-1])
    inside, above = law[first : last + 1], total - n * first
    upper, lower = (above, inside), (n * (last - first) - above, inside[::-1])
    return min(1.0, 2 * min(sum_tail(t, n, shape, longest) for t, shape in (upper, lower)))


def sum_tail(total: int, n: int, law: Array, longest: int = LONGEST_TRANSFORM) -> float:
    r"""Return P(sum of n independent numbers from 0 on with this distribution >= total); 1 below the mean.

    With the law tilted by :math:`e^{sx}` so that `total` t is what is expected,

    .. math:: P(T \ge t) = M(s)^n e^{-st} \sum_{u \ge t} e^{-s(u-t)} P_s(T = u), \qquad M(s) = E e^{sX},

    where the tilted law of the sum is a power of a Fourier transform, whose digits are kept because nothing in it is
    small. If it would be longer than `longest`, the factor before the sum alone: Chernoff's bound, never too small.
    """
    numbers, most = np.arange(law.size), n * (law.size - 1)
    if total >= most:
        return float(law[-1]) ** n if total == most else 0.0
    if total <= n * float(numbers @ law):
        return 1.0
    from scipy.fft import irfft, next_fast_len, rfft  # which takes long to load

    logs = np.log(np.maximum(law, SMALLEST))
    s, tilted, scale = _tilted(total / n, logs)
    chance = float(np.exp(n * scale - s * total))
    variance = n * (float(tilted @ numbers**2) - float(tilted @ numbers) ** 2)
    length = next_fast_len(min(most + 1, int(SUM_DEVIATIONS * np.sqrt(variance)) + 20 * law.size), real=True)
    if length > longest:
        return chance
    law_of_sum = irfft(rfft(tilted, length) ** n, length)
    # Round the circle of the transform: where the whole law does not fit on it, half of it is far enough.
    beyond = np.arange(min(most - total, length // 2 if length <= most else most) + 1)
    return chance * float(np.maximum(law_of_sum[(total + beyond) % length], 0) @ np.exp(-s * beyond))


def _tilted(average: float, logs: Array) -> tuple[float, Array, float]:
    """Tilt a distribution to this average: return the exponent, the tilted distribution, and ln M."""
    numbers = np.arange(logs.size)
    low, high, s = 0.0, np.inf, 0.0
    for _ in range(TILTING_STEPS):
        scale = float(logsumexp(logs + s * numbers))
        tilted = np.exp(logs + s * numbers - scale)
        mean = float(tilted @ numbers)
        if abs(mean - average) <= TILTING_TOLERANCE * average:
            break
        low, high = (s, high) if mean < average else (low, s)
        step = s + (average - mean) / max(float(tilted @ (numbers - mean) ** 2), SMALLEST)
        # Newton's method, kept between the two sides that are known.
        s = step if low < step < high else (low + high) / 2 if high < np.inf else 2 * low + 1
    return s, tilted, scale


# Pairs of answers that reports support together


MOST_ANSWERS_PAIRED = 1024  # beyond, counting all pairs takes minutes
PAIR_CELLS = 2**23  # of reports times answers that are counted at once
HOLDERS_CHANCE = 0.001  # that the limit of some share is wrong
PAIRS_BOUNDED = 50  # pairs with the largest excess, for which the holders are bounded
CHERNOFF_TILTS = np.geomspace(1e-6, 5, 4000)  # lambda, times the largest value


@dataclass(frozen=True, eq=False, kw_only=True)
class PairTest(Test):
    """Test of pairs of answers that crafted reports support together; arrays of shape (groups,)."""

    pairs: tuple[tuple[Label, Label], ...]  # the pair with the smallest p-value in each group
    crafted: Array  # estimated number of crafted reports that support it; NaN where the test alone does not reject
    detectable: Array  # approximate part of the reports that crafted reports for one pair must be to be detected

    def details(self, group: int) -> Document:
        numbers = {"crafted": plain(self.crafted[group]), "detectable": plain(self.detectable[group])}
        return {"pair": list(self.pairs[group]), **numbers}

    def names(self, group: int) -> bool:
        return bool(np.isfinite(self.crafted[group]))


def compares_pairs(part: Tally) -> bool:
    """Return True if reports are kept, one of each respondent, without weights, and all pairs of answers are alike."""
    symmetry = part.design.law.symmetry
    alike = symmetry is not None and symmetry.pairs_alike and 3 <= part.k <= MOST_ANSWERS_PAIRED
    return alike and part.kept is not None and part.simple and not part.design.repetition()


def pair_test(part: Tally, chance: float) -> PairTest:
    """Test each group for pairs of answers that reports support together too often; see the head of the module."""
    symmetry, domain = part.design.law.symmetry, part.design.domain
    assert symmetry is not None
    counts, n = part.rows()
    law, groups, k = _PairLaw.of(symmetry), len(n), part.k
    p_values, excess, detectable = np.full((3, groups), np.nan)
    pairs = [(domain[0], domain[1])] * groups
    for group in np.flatnonzero(part.answered).tolist():
        p_values[group], excess[group], (i, j) = _largest_excess(_together(part, group), counts[group], n[group], law)
        pairs[group] = (domain[i], domain[j])
        deviation = np.sqrt(2 * np.log(k * (k - 1) / chance) * float(law.others @ law.values**2) / n[group])
        detectable[group] = deviation / law.values[0]
    crafted = np.where(p_values < chance, excess / law.values[0], np.nan)

    def sentence(group: int) -> str:
        first, second = map(quoted, pairs[group])
        text = (
            f"Pairs of answers: {first} and {second} are supported together in {max(excess[group], 0):,.0f} more "
            f"reports than expected whatever the true answers are: {p_value(p_values[group])} (at most; for every "
            "population)."
        )
        if np.isfinite(crafted[group]):
            text += f" About {crafted[group]:,.0f} crafted reports would explain this."
        return (
            f"{text} The test cannot detect crafted reports for one answer alone, or for answers that no report "
            f"combines, or in fewer than about {percent(detectable[group])} of the reports."
        )

    return PairTest("pairs of answers", p_values, sentence, pairs=tuple(pairs), crafted=crafted, detectable=detectable)


def _together(part: Tally, group: int) -> Array:
    """Count how many reports support each two answers, of shape (k, k); in blocks, so that memory is bounded."""
    both, step = np.zeros((part.k, part.k)), max(1, PAIR_CELLS // part.k)
    design: Any = part.design
    assert part.kept is not None
    for block in part.kept.blocks(group):
        for start in range(0, len(block.reports), step):
            rows = slice(start, start + step)
            support = design.supports(block.reports[rows])
            if block.amounts is None:  # whole numbers below 2^24 are exact
                support = support.astype(np.float32)
                both += support.T @ support
            else:
                both += (support.T * block.amounts[rows].astype(np.float64)) @ support
    return np.asarray(both)


class _PairLaw(NamedTuple):
    """Values of t with both, one and none of two answers supported; their probabilities if neither, or one, is true."""

    symmetry: Symmetry
    alpha: float
    beta: float
    values: Array
    others: Array
    holders: Array

    @classmethod
    def of(cls, symmetry: Symmetry) -> _PairLaw:
        p, q, _, both, neither, _ = symmetry
        beta = (both - neither) / (p - q)
        alpha = neither - 2 * q * beta
        values = (1 - alpha - 2 * beta, -alpha - beta, -alpha)
        others, holders = (neither, 2 * (q - neither), 1 - 2 * q + neither), (both, p + q - 2 * both, 1 - p - q + both)
        rows = (np.array(row, dtype=float) for row in (values, others, holders))
        return cls(symmetry, float(alpha), float(beta), *rows)

    def tail(self, excess: Array, n: float, most_holders: Array) -> Array:
        """Bound the tail probability of a sum, for every population with at most this number of holders of a pair."""
        exponents = CHERNOFF_TILTS / np.abs(self.values).max()
        tilted = np.exp(np.outer(exponents, self.values))
        free, holders = np.log(tilted @ self.others), np.log(tilted @ self.holders)
        logs = (n - most_holders) * free[:, np.newaxis] + most_holders * np.maximum(free, holders)[:, np.newaxis]
        return np.asarray(np.exp(np.minimum((logs - np.outer(exponents, excess)).min(axis=0), 0.0)))


def _largest_excess(both: Array, counts: Array, n: float, law: _PairLaw) -> tuple[float, float, tuple[int, int]]:
    """Return the p-value, and the sum of t and the pair with the smallest one."""
    first, second = np.triu_indices(counts.size, 1)
    excess = both[first, second] - law.alpha * n - law.beta * (counts[first] + counts[second])
    top = np.argsort(-excess, kind="stable")[:PAIRS_BOUNDED]
    gain = law.symmetry.gain
    ends = binomial_limits(counts.astype(np.float64), n, HOLDERS_CHANCE / counts.size)
    most = np.clip((ends[int(gain > 0)] - law.symmetry.base) / gain, 0, 1)
    holders = np.minimum(n, np.ceil(n * (most[first[top]] + most[second[top]])))
    bounded, free = law.tail(excess[top], n, holders), law.tail(excess[top], n, np.full(top.size, n))
    p = 2 * min(excess.size * float(free[0]), excess.size * float(bounded.min()) + HOLDERS_CHANCE)
    worst = int(top[bounded.argmin()])
    return min(1.0, p), float(excess[worst]), (int(first[worst]), int(second[worst]))
