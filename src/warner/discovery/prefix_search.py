r"""Search for frequent values, level by level, with a test at the last level.

At each level but the last, the support of all extensions of the selected prefixes is counted (`support_counts`).
Extensions are selected if at most 32 of all extensions reach their count by noise alone, on average. A value x that
extends the selected prefix u with the weight :math:`\omega_u` is detected if its count is at least the smallest c with

.. math:: P(\text{Bin}(n, q) \ge c) \le \alpha_x = \alpha\, \frac{\omega_u}{\sum \omega} \cdot
    \frac1{\text{number of extensions of } u} .

A prefix that noise alone produces r times has the weight 1/max(1, r). Expected values are tested with half of
:math:`\alpha`, shared equally. *Other* is tested as one more value: with the weight of a selected prefix, or in the
list. docs/theory/model.md proves that the family-wise error rate is at most :math:`\alpha`, and has the detectable
share and the lower bound for all protocols.

**Crafted reports need no randomness.** An attacker chooses the level of each report, and each supports the value. Of n
reports of a level, f of them crafted, :math:`f + \text{Bin}(n - f, q)` support a value without respondents. The
fewest crafted reports with :math:`\prod_l P(f_l + \text{Bin}(n_l - f_l, q) \ge c_l) \ge \pi` go to the levels where one
more of them raises the logarithm of the probability most; each raises it less than the one before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.designs.open_domain import FALSE_PREFIXES, OpenDomain, tail_probabilities
from warner.designs.support_counts import ExtensionCounter, LevelReports, support_of_listed
from warner.inference.binomial import at_least
from warner.numerics import bisected, first_true, first_true_each

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Integers, Mask, Numbers


# Detectable shares


DETECTABLE_TOLERANCE = 1e-10  # how exactly a share is found


def critical_count(n: int, probability: float, alpha: float) -> int:
    """Smallest count that Bin(n, probability) reaches with probability at most alpha; n + 1 if there is none.

    >>> critical_count(10, 0.5, 0.05)  # P(X >= 9) = 11/1024, P(X >= 8) = 56/1024
    9
    """
    return first_true(lambda count: bool(at_least(count, n, probability) <= alpha), 0, n + 1)


def critical_counts(n: int, probability: float, alphas: Array) -> Integers:
    """Critical counts, as `critical_count`, for many error probabilities.

    >>> critical_counts(10, 0.5, np.array([0.05, 0.06]))
    array([9, 8])
    """
    low, high = np.zeros(len(alphas), dtype=np.int64), np.full(len(alphas), n + 1)
    return first_true_each(lambda counts: at_least(counts, n, probability) <= alphas, low, high)


def smallest_share(design: OpenDomain, people: Sequence[int], critical: Sequence[int], *, power: float = 0.8) -> float:
    """Share that is detected with this probability; infinite if there is none."""

    def chance(share: float) -> float:
        rate = design.q + design.gain * share
        return math.prod(float(at_least(c, n, rate)) for c, n in zip(critical, people, strict=True))

    if chance(1.0) < power:
        return math.inf
    return bisected(lambda share: chance(share) >= power, 0.0, 1.0, close=DETECTABLE_TOLERANCE)[1]


def fewest_crafted(
    q: float, reports: Sequence[int], critical: Sequence[int], *, power: float = 0.8
) -> tuple[int, ...] | None:
    """Return the fewest crafted reports at each level, among all, that make a value without respondents appear.

    Each other report supports the value with the probability `q`.

    None where not even all reports of each level would be enough.

    Examples
    --------
    One level of 100 reports, of which 60 must support the value, as one report in four does by chance. With 47 crafted
    ones, 13.25 of the others do on average.

    >>> fewest_crafted(0.25, [100], [60], power=0.5)
    (47,)
    """

    def chance(level: int, crafted: Numbers) -> Array:
        n, rest = reports[level], np.asarray(crafted, dtype=np.float64)
        return np.where(rest < critical[level], at_least(critical[level] - rest, n - rest, q), 1.0)

    if any(least > n for least, n in zip(critical, reports, strict=True)):
        return None

    def fewest(level: int, probability: float) -> int:
        return first_true(lambda crafted: bool(chance(level, crafted) >= probability), 0, critical[level])

    # From numbers at which this level alone does not lose too much, to numbers that leave hardly anything to gain.
    most = power ** (0.1 / len(reports))
    ranges = [np.arange(fewest(level, power), fewest(level, most) + 1) for level in range(len(reports))]
    logs = [np.log(chance(level, crafted)) for level, crafted in enumerate(ranges)]
    gains = np.concatenate([np.diff(log) for log in logs])
    level_of_gain = np.repeat(np.arange(len(logs)), [len(log) - 1 for log in logs])
    order = np.argsort(-gains, kind="stable")
    reached = sum(float(log[0]) for log in logs) + np.concatenate([[0.0], np.cumsum(gains[order])])
    added = level_of_gain[order[: int((reached >= math.log(power) - DETECTABLE_TOLERANCE).argmax())]]
    first = np.array([crafted[0] for crafted in ranges])
    return tuple((first + np.bincount(added, minlength=len(logs))).tolist())


def planned_share(design: OpenDomain, n: int, *, level: float = 0.95, power: float = 0.8) -> float:
    """Share that a survey of n respondents detects with this probability, at the expected sizes of its levels."""
    sizes = [len(design.values.continuations(index)) for index in range(design.levels)]
    tails = tail_probabilities(sizes, level=level)
    people = [max(1, round(n * weight / sum(design.weights))) for weight in design.weights]
    critical = [critical_count(number, design.q, tail) for number, tail in zip(people, tails, strict=True)]
    return smallest_share(design, people, critical, power=power)


def lower_bound(number: int, n: int, epsilon: float, power: float = 0.8) -> float:
    """Share below which no protocol names one of this number of values with this probability.

    >>> round(lower_bound(2**48, 1_000_000, 1.0), 4)
    0.0137
    """
    if math.isinf(epsilon):
        return 0.0
    need = 8 / math.expm1(epsilon) * math.exp(epsilon) / math.expm1(epsilon)
    need *= max(power * math.log(number) - math.log(2), 0.0) / n
    return (math.sqrt(need**2 + 4 * need) - need) / 2  # theta^2 + need theta - need = 0


# Prefix search


MOST_PREFIXES = 512  # kept at a level
CANDIDATES_LISTED = 32  # of the values that were not found
MOST_FOUND = 100_000  # values, in one group
NO_PREFIX, ONLY_END = np.zeros((1, 0), dtype=np.int64), np.zeros(1, dtype=np.int64)

Blocks = tuple[int, ...]


@dataclass(frozen=True)
class Hit:
    """Detected value: its blocks, its count, its critical count, its part of the error."""

    blocks: Blocks
    count: int
    critical: int
    part: float


@dataclass(frozen=True)
class Search:
    """Result of a search."""

    hits: list[Hit]  # detected values, by their counts
    candidates: list[tuple[Blocks, int]]  # values with the largest counts among those not found
    critical: tuple[int, ...]  # of a new prefix at each level, and of a new value at the last
    expected_critical: int | None  # of a value of the list
    easiest: int  # least critical count of a value that continues a selected prefix; one above the reports if none does
    easiest_expected: int | None  # least critical count of a value of the list, by either test
    tested: int  # number of tested values
    kept: tuple[int, ...]  # number of selected prefixes at each level but the last


class _Kept(NamedTuple):
    """Prefixes in ascending order, whether each has ended, and the weight of each."""

    prefixes: Integers
    ended: Mask
    weights: Array


def search(
    design: OpenDomain, reports: Sequence[LevelReports], alpha: float, *, above: float, expected: Integers | None
) -> Search:
    """Find the values with a share above a limit, naming any falsely with probability at most alpha.

    There is one collection of reports for each level. `expected` are the blocks of distinct values that are tested in
    any case, (values, levels).
    """
    kept = _Kept(NO_PREFIX, np.zeros(1, dtype=bool), np.ones(1))
    critical, numbers = [], []
    for level in range(design.levels - 1):
        kept, least = _extended(design, level, reports[level], kept)
        critical.append(least)
        numbers.append(len(kept.prefixes))
    other = design.values.other_blocks()
    if other is not None and expected is None and design.levels > 1:
        kept = _with_other(kept, other[:-1])
    rate = design.q + design.gain * above
    budget = alpha if expected is None else alpha / 2
    tested = _Tested(design, reports[-1], rate)
    tested.search(kept, budget, alpha)
    if expected is not None:
        tested.expect(expected, budget, alpha)
    # A value whose prefix is not among the kept ones would add the weight of another.
    new = 1.0 if design.levels == 1 else 1 / (kept.weights.sum() + 1)
    follow = len(design.values.continuations(design.levels - 1))
    last = critical_count(len(reports[-1]), rate, budget * new / follow)
    return Search(
        sorted(tested.hits.values(), key=lambda hit: (-hit.count, hit.blocks)),
        tested.best(),
        (*critical, last),
        tested.expected_critical,
        tested.easiest,
        tested.easiest_expected,
        tested.number,
        tuple(numbers),
    )


def _extended(design: OpenDomain, level: int, reports: LevelReports, kept: _Kept) -> tuple[_Kept, int]:
    """Select the extensions, by the block of this level, with counts above noise; also return the critical count."""
    values, n = design.values, len(reports)
    follow = values.continuations(level)
    total = int(len(follow) * (~kept.ended).sum() + kept.ended.sum())
    least = critical_count(n, design.q, min(FALSE_PREFIXES / max(total, 1), 0.5))
    rows, counts = [NO_PREFIX[:0].reshape(0, level + 1)], [np.zeros(0, dtype=np.int64)]
    counted = slice(None if least <= n else 0)  # none where not even all reports would be enough
    supports = ExtensionCounter(design, reports).supports(kept.prefixes[counted].tolist())
    for prefix, ended, support in zip(kept.prefixes[counted], kept.ended[counted], supports, strict=True):
        possible = ONLY_END if ended else follow
        of_these = support[possible]
        good = np.flatnonzero(of_these >= least)
        good = good[np.argsort(-of_these[good], kind="stable")[:MOST_PREFIXES]]
        rows.append(np.column_stack([np.tile(prefix, (len(good), 1)), possible[good]]))
        counts.append(of_these[good])
    every, number = np.concatenate(rows), np.concatenate(counts)
    best = np.argsort(-number, kind="stable")[:MOST_PREFIXES]
    if len(best) == MOST_PREFIXES:  # another one must take the place of one of these
        least = int(number[best[-1]]) + 1
    best = best[np.lexsort(every[best].T[::-1])]  # in ascending order, so that neighbors share blocks
    noise = total * at_least(number[best], n, design.q)
    prefixes = every[best]
    return _Kept(prefixes, values.ended(level, prefixes[:, -1]), 1 / np.maximum(1, noise)), least


def _with_other(kept: _Kept, other: Integers) -> _Kept:
    """Add the prefix of *other*, which is always tested."""
    if (kept.prefixes == other).all(axis=1).any():
        return kept
    return _Kept(np.vstack([kept.prefixes, other]), np.append(kept.ended, True), np.append(kept.weights, 1.0))


class _Tested:
    """Tests of values at the last level."""

    def __init__(self, design: OpenDomain, reports: LevelReports, rate: float) -> None:
        self.design, self.reports, self.rate = design, reports, rate
        self.hits: dict[Blocks, Hit] = {}
        self.number = 0
        self.expected_critical: int | None = None
        self.easiest = len(reports) + 1
        self.easiest_expected: int | None = None
        self._others: dict[Blocks, int] = {}
        self._least: dict[Blocks, tuple[int, float]] = {}  # of each prefix: the critical count, and the part of alpha

    def search(self, kept: _Kept, budget: float, alpha: float) -> None:
        """Test all extensions of the selected prefixes."""
        last, n = self.design.levels - 1, len(self.reports)
        if not len(kept.prefixes) or not n:
            return
        follow = self.design.values.continuations(last)
        shares = budget * kept.weights / kept.weights.sum() / np.where(kept.ended, 1, len(follow))
        least = zip(shares.tolist(), critical_counts(n, self.rate, shares).tolist(), strict=True)
        supports = ExtensionCounter(self.design, self.reports).supports(kept.prefixes.tolist())
        for prefix, ended, (share, critical), support in zip(
            kept.prefixes.tolist(), kept.ended, least, supports, strict=True
        ):
            possible = ONLY_END if ended else follow
            counts = support[possible]
            self.number += len(possible)
            self._least[tuple(prefix)] = critical, share / alpha
            self.easiest = self.easiest if ended else min(self.easiest, critical)
            found = counts >= critical
            if len(self.hits) + int(found.sum()) > MOST_FOUND:  # copies of one report support 1/g of all values
                raise ValueError(
                    f"more than {MOST_FOUND:,} values rise above the noise, which genuine reports do not cause: many "
                    "are copies or fabricated; look at them with warner check, and leave those out"
                )
            for index in np.flatnonzero(found).tolist():
                self._add((*prefix, int(possible[index])), int(counts[index]), critical, share / alpha)
            missed = _largest(np.where(found, -1, counts), len(counts) - int(found.sum()))
            self._list([((*prefix, int(possible[index])), int(counts[index])) for index in missed])

    def expect(self, expected: Integers, budget: float, alpha: float) -> None:
        """Test the values of a list."""
        share = budget / len(expected)
        self.expected_critical = self.easiest_expected = critical_count(len(self.reports), self.rate, share)
        self.number += len(expected)
        counts = support_of_listed(self.design, self.reports, expected)
        for row, count in zip(expected.tolist(), counts.tolist(), strict=True):
            # Found by either test: selected for reaching the smaller of the two critical counts.
            critical, part = self._least.get(tuple(row[:-1]), (len(self.reports) + 1, 0.0))
            if self.expected_critical <= critical:
                critical, part = self.expected_critical, share / alpha
            self.easiest_expected = min(self.easiest_expected, critical)
            if count >= critical:
                self._add(tuple(row), count, critical, part)
            else:
                self._list([(tuple(row), count)])

    def _add(self, blocks: Blocks, count: int, critical: int, part: float) -> None:
        if self.design.values.decoded(blocks) is not None:  # what no text can be is not named
            self.hits[blocks] = Hit(blocks, count, critical, part)

    def _list(self, pairs: list[tuple[Blocks, int]]) -> None:
        self._others.update(pairs)
        if len(self._others) > 64 * CANDIDATES_LISTED:
            self._others = dict(self._by_count()[: 8 * CANDIDATES_LISTED])

    def best(self) -> list[tuple[Blocks, int]]:
        """Return the values with the largest counts among those not found."""
        readable = ((blocks, count) for blocks, count in self._by_count() if blocks not in self.hits)
        return [pair for pair in readable if self.design.values.decoded(pair[0]) is not None][:CANDIDATES_LISTED]

    def _by_count(self) -> list[tuple[Blocks, int]]:
        return sorted(self._others.items(), key=lambda pair: (-pair[1], pair[0]))


def _largest(counts: Integers, number: int) -> list[int]:
    """Return the indices of the `number` largest counts, in ascending order, with the first of equal ones."""
    number = min(number, CANDIDATES_LISTED)
    if not number:
        return []
    least = np.partition(counts, -number)[-number]
    above = np.flatnonzero(counts > least)
    equal = np.flatnonzero(counts == least)[: number - len(above)]
    indices: list[int] = np.sort(np.concatenate([above, equal])).tolist()
    return indices
