r"""Tests of "nobody holds this answer" by binomial counts and Chernoff's bound: their level holds for any number.

If nobody holds an answer, a report has the law of some mixture of the other answers' rows, and which one is not known.
Two kinds of evidence have a tail that is bounded for all of them:

- *A count* (`CountTest`) of the reports in a set S. It is binomial, with a probability of at most
  :math:`b = \max_{j \ne i} C_j(S)`. So :math:`P(\text{Bin}(n, b) \ge c)` is a p-value for every S. Where the answer has
  a count of its own, that is S. Elsewhere, S is the set with which the smallest share is found: of few types of reports
  all sets are tried, of many those that put the reports in the order of a likelihood ratio.
- *A sum of scores* (`ScoreTest`), :math:`T = \sum_y c_y w_y`, with the weights of the unbiased share, which is T/n. The
  moment-generating function of a mixture is the mixture of theirs, so that for every s > 0

  .. math:: P(T \ge t) \le e^{-st} \max_{j \ne i} \Big(\sum_y C_{jy} e^{s w_y}\Big)^n,

  Chernoff's bound, and the least of these bounds is a p-value. It serves where no set of reports tells the answer apart
  from mixtures of all the others.

Both are chosen by the design and the number of reports alone, before a report is looked at. What share would be found,
and how surely, is computed for the very test that is used, whatever the others hold.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammainccinv, ndtr, ndtri

from warner.arrays import SMALLEST
from warner.inference.binomial import ROUNDING, at_least, log_binomial, smallest_share
from warner.searching import bisected, rising_roots

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warner.arrays import Array, Counts, Mask
    from warner.designs.contract import Design

TYPES_ENUMERATED = 10  # of reports, up to which every set of them is tried
SETS_COMPARED = 8  # those whose smallest share is computed exactly
MIXTURES_TRIED = 12  # of the other answers, that the likelihood ratio is taken against
MOST_SEARCHED_CELLS = 2**24  # answers times the table's cells, up to which tests are looked for
EXPONENTS = np.geomspace(1e-3, 60, 64)  # s, in units of the largest score
SHARE_HALVINGS = 50  # of the shares from 0 to 1
SMALLEST_START = 1e-9  # share from which that is looked for which several tests find
SHARE_TOLERANCE = 1e-9  # standard errors to which it is found
LAW_POINTS, LAW_DEVIATIONS = 400, 9.0  # numbers of the law of one test, within so many standard deviations
EVIDENCE_CLASSES = 2**13  # into which the laws of several tests are sorted


@dataclass(frozen=True, eq=False)
class CountTest:
    """A count of n reports, each in it with probability `present` after the answer, `least` to `absent` after others.

    `columns` are the reports that are counted; None where the design has a count of its own for the answer.
    """

    n: float
    absent: float
    least: float
    present: float
    columns: Array | None = None

    def p_value(self, count: Array) -> Array:
        """Give the p-value of "nobody holds it"; 1 where no count could tell."""
        if self.present <= self.absent:
            return np.ones(np.shape(count))
        return at_least(count, self.n, self.absent)

    def smallest(self, alpha: float, power: float) -> float:
        """Give the share that is found with this probability, whatever the others hold."""
        if self.present <= self.absent:
            return math.inf
        needed = self.absent + smallest_share(self.n, self.absent, 1.0, alpha, power)
        return max(needed - self.least, 0.0) / (self.present - self.least)

    def law(self, share: float) -> tuple[Array, Array]:
        """Give -ln p and its probabilities, for this share and the others' worst answer."""
        chance = self.least + share * (self.present - self.least)
        width = LAW_DEVIATIONS * math.sqrt(self.n * chance * (1 - chance)) + 10
        start, end = max(math.floor(self.n * chance - width), 0), min(math.ceil(self.n * chance + width), int(self.n))
        step = max((end - start) // LAW_POINTS, 1)
        lower = np.arange(start, end + 1, step, dtype=np.float64)
        masses = np.exp(log_binomial(np.arange(start, end + 1, dtype=np.float64), self.n, chance))
        # Of many counts, neighbours are taken together, with the evidence of the least of them.
        chances = np.add.reduceat(masses, (lower - start).astype(np.int64))
        return -np.log(np.maximum(self.p_value(lower), SMALLEST)), chances


@dataclass(frozen=True, eq=False)
class ScoreTest:
    """A sum of scores of n reports: by its weights, what its exponent costs after each other answer, its variances."""

    n: float
    columns: Array  # the weights
    exponents: Array
    costs: Array  # the largest ln E exp(s w) of all other answers, for each exponent
    variances: tuple[float, float]  # of one score: after the answer, and the most after another

    def p_value(self, total: Array) -> Array:
        """Give the p-value of "nobody holds it": the least of Chernoff's bounds."""
        bounds = self.n * self.costs - np.multiply.outer(np.asarray(total, dtype=np.float64), self.exponents)
        return np.asarray(np.exp(np.minimum(bounds.min(axis=-1), 0.0)))

    def smallest(self, alpha: float, power: float) -> float:
        """Give the share that is found with this probability, by the normal law of the sum."""
        critical = float(((self.n * self.costs - math.log(alpha)) / self.exponents).min())
        return _crossing(lambda share: float(ndtr((self.n * share - critical) / self._deviation(share))) >= power)

    def law(self, share: float) -> tuple[Array, Array]:
        """Give -ln p and its probabilities, for this share: by the normal law of the sum."""
        edges = np.linspace(-LAW_DEVIATIONS, LAW_DEVIATIONS, LAW_POINTS + 1)
        totals = self.n * share + self._deviation(share) * edges
        return -np.log(np.maximum(self.p_value(totals[:-1]), SMALLEST)), np.diff(ndtr(edges))

    def _deviation(self, share: float) -> float:
        within, without = self.variances
        mixed = share * within + (1 - share) * without + share * (1 - share)
        return math.sqrt(self.n * max(mixed, SMALLEST))


Evidence = CountTest | ScoreTest


def evidence(design: Design, places: Sequence[int], n: float, alpha: float, power: float) -> list[Evidence | None]:
    """Choose a test for each of these answers: that which finds the smallest share with this power.

    None of them where the table is too large to look for one.
    """
    operator = design.operator()
    answers, kinds = operator.shape
    if answers**2 * kinds > MOST_SEARCHED_CELLS:
        return [None] * len(places)
    matrix = np.asarray(operator.forward(np.eye(answers)))
    inverse, identified = design.inverse(), design.identified()
    tests: list[Evidence | None] = []
    for place in places:
        own, others = matrix[place], np.delete(matrix, place, axis=0)
        able: list[Evidence] = [_best_set(own, others, n, alpha, power)]
        if identified[place] and design.k > 2:
            able.append(_summed(own, others, inverse[:, place], n))
        tests.append(min(able, key=lambda test: test.smallest(alpha, power)))
    return tests


def _best_set(own: Array, others: Array, n: float, alpha: float, power: float) -> CountTest:
    """Find the set of reports whose count finds the smallest share."""
    sets = _every_set(own.size) if own.size <= TYPES_ENUMERATED else _sets_by_ratio(own, others)
    held, chances = sets @ own, others @ sets.T
    absent, least = np.clip(chances.max(axis=0), 0, 1), np.clip(chances.min(axis=0), 0, 1)
    # The share that would be needed, by the normal law; then exactly, for the best ones.
    noise = np.sqrt(absent * (1 - absent) / n)
    needed = absent - least + (float(-ndtri(alpha)) + float(ndtri(power))) * noise + 1 / n
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(held > absent, needed / (held - least), np.inf)
    best = np.argsort(shares, kind="stable")[:SETS_COMPARED].tolist()
    tests = [CountTest(n, absent[s], least[s], min(held[s], 1.0), sets[s]) for s in best]
    # Where no share is sure to be found, the best by its distance from the others
    return min(tests, key=lambda test: (test.smallest(alpha, power), test.absent - test.present))


def _every_set(types: int) -> Array:
    """List all sets of reports but the empty one and all of them."""
    return np.array(list(itertools.product((0.0, 1.0), repeat=types)))[1:-1]


def _sets_by_ratio(own: Array, others: Array) -> Array:
    """List sets of the reports with the largest likelihood ratios, against mixtures of the others.

    The mixture moves towards the answer with which the best set so far is confused.
    """
    weights, sets = np.full(len(others), 1 / len(others)), []
    for moved in range(1, MIXTURES_TRIED + 1):
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(own > 0, own / (weights @ others), 0.0)
        order = np.argsort(-ratio, kind="stable")
        apart = own[order].cumsum() - others[:, order].cumsum(axis=1).max(axis=0)
        best = int(apart[:-1].argmax()) + 1
        for size in {best, *(1 + np.argsort(-apart[:-1])[:SETS_COMPARED]).tolist()}:
            members = np.zeros(own.size)
            members[order[:size]] = 1
            sets.append(members)
        confused = int(others[:, order[:best]].sum(axis=1).argmax())
        weights = (1 - 1 / (moved + 1)) * weights
        weights[confused] += 1 / (moved + 1)
    return np.unique(sets, axis=0)


def _summed(own: Array, others: Array, weights: Array, n: float) -> ScoreTest:
    exponents = EXPONENTS / np.abs(weights).max()
    costs = np.log(others @ np.exp(np.multiply.outer(weights, exponents))).max(axis=0)
    variances = [float((rows @ weights**2 - (rows @ weights) ** 2).max()) for rows in (own[np.newaxis], others)]
    return ScoreTest(n, weights, exponents, costs, (variances[0], variances[1]))


def smallest_together(tests: Sequence[Evidence], alpha: float, power: float) -> float:
    """Give the share that is found by several tests together, whose p-values Fisher's method combines."""
    alone = min(test.smallest(alpha, power) for test in tests)
    if len(tests) == 1:
        return alone
    critical, wanted = float(gammainccinv(len(tests), alpha)), float(ndtri(power))
    if _beyond(tests, 1.0, critical) < power:
        return math.inf

    def excess(share: Array, _: Mask) -> Array:
        chance = _beyond(tests, share.item(), critical)
        return np.asarray(ndtri(np.clip(chance, SMALLEST, 1 - ROUNDING)) - wanted)

    # Alone, a share is found that is about so many standard errors.
    start = np.clip([alone], SMALLEST_START, 1.0)
    scale = start / max(wanted - float(ndtri(alpha)), 1.0)
    return float(rising_roots(excess, start, scale, 0.0, 1.0, SHARE_TOLERANCE * scale)[0])


def _beyond(tests: Sequence[Evidence], share: float, critical: float) -> float:
    """Give the probability that the evidence of all tests, which adds up, is at least the critical one."""
    *others, last = (_in_classes(test, share, critical) for test in tests)
    together = others[0]
    for one in others[1:]:
        sums = _convolved(together, one)
        together = np.append(sums[: EVIDENCE_CLASSES - 1], sums[EVIDENCE_CLASSES - 1 :].sum())
    # All but the last fall short by so much, and the last by more than that.
    short = together[:-1] @ last.cumsum()[-2::-1]
    return float(1 - short)


def _in_classes(test: Evidence, share: float, critical: float) -> Array:
    """Sort the evidence of a test into classes of equal width; the last is that of enough, and no other has more."""
    values, chances = test.law(share)
    width = critical / (EVIDENCE_CLASSES - 1)
    places = np.minimum(np.floor(values / width), EVIDENCE_CLASSES - 1).astype(np.int64)  # never more than it is
    return np.bincount(places, weights=chances, minlength=EVIDENCE_CLASSES).astype(np.float64)


def _convolved(first: Array, second: Array) -> Array:
    size = 2 * EVIDENCE_CLASSES
    return np.asarray(np.fft.irfft(np.fft.rfft(first, size) * np.fft.rfft(second, size), size))


def _crossing(holds: Callable[[float], bool]) -> float:
    """Find the smallest share from which on something holds; infinite where it does not even for everybody."""
    if not holds(1.0):
        return math.inf
    return bisected(holds, 0.0, 1.0, steps=SHARE_HALVINGS)[1]


def own_count(n: float, base: float, gain: float) -> CountTest:
    """Give the test of an answer with a count of its own; with p < q it counts the reports that do not name it."""
    return CountTest(n, base, base, base + gain) if gain > 0 else CountTest(n, 1 - base, 1 - base, 1 - base - gain)


def observed(test: Evidence, counts: Counts) -> Array:
    """Give the count or the sum that a test looks at, from counts of shape (groups, columns)."""
    assert test.columns is not None
    return np.asarray(counts @ test.columns)
