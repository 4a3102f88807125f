r"""Agreement of pooled collections: whether their shares can be those of one population.

Collections under different designs estimate the same shares if they come from one population and respondents follow
the instructions. Each pair of collections is compared in each answer. Where both shares show in binomial counts, the
p-value of equal shares is exact, whatever the common share is (`exact_differences.equality_test`), up to
`MOST_REPORTS` in a pair and `MOST_REPORTS_OF_GROUPS` in all groups; beyond, the intervals of both shares are joined
(`newcombe`), and the test is approximate. With m pairs and answers, :math:`\min(1, m \min p)` is a p-value for every
population. Two answers count as one: their shares sum to one.

The likelihood-ratio statistic of a common distribution has no such guarantee: compared with chi-squared, it rejects
9 to 14 % of good surveys at the level of 5 % where shares are zero.

Of many answers only the largest difference in each direction is tested, and of many pairs those nearly as large as the
largest; m stays the number of all. A p-value that is left out can only make the result larger, so that it stays valid.
Where answers share one sampling distribution nothing is lost: the p-value falls as the score rises.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtr

from warner.inference.binomial import Binomial
from warner.inference.check_results import Test
from warner.inference.comparisons import answers_of_interest
from warner.inference.differences import Sample, joined_test
from warner.inference.exact_tests import MOST_REPORTS, equality_scores, equality_test
from warner.inference.normal import Joint, Sampled, ratio_to_error
from warner.reports.tallies import Collected, Tally, holds_every_answer
from warner.results import plain
from warner.text import p_value, percent, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.arrays import Array, Integers, Label, Mask
    from warner.designs.labels import Labels
    from warner.documents import Document

NAME = "same population"
MOST_REPORTS_OF_GROUPS = 50 * MOST_REPORTS  # of all groups together, up to which exact tests take a few seconds
CLOSE_TO_LARGEST = 0.8  # of the largest difference in standard errors: below, no p-value can be the smallest
WORTH_TESTING = 0.1  # normal p-value, for all comparisons together, from which on an exact one is not below 0.01


class Compared(NamedTuple):
    """The clearest difference in one group: the answer, two collections, their unbiased shares and the p-value."""

    answer: Label
    collections: tuple[int, int]
    shares: tuple[float, float]
    p_value: float


@dataclass(frozen=True, eq=False, kw_only=True)
class AgreementTest(Test):
    """The test that all collections of a pool have the same shares."""

    compared: tuple[Compared | None, ...]  # clearest difference in each group; None with fewer than two collections
    comparisons: Integers  # pairs of collections times answers, in each group
    approximate: Mask  # a comparison in the group uses the normal distribution

    def document(self, group: int) -> Document | None:
        """Return the JSON fields of the test in one group; None where fewer than two collections are compared."""
        one = self.compared[group]
        if one is None:
            return None
        return {
            "p_value": plain(self.p_value[group]),
            "approximate": bool(self.approximate[group]),
            "comparisons": int(self.comparisons[group]),
            "answer": one.answer,
            "collections": [index + 1 for index in one.collections],
            "shares": list(one.shares),
        }


def agreement_test(tally: Collected) -> AgreementTest | None:
    """Test in each group that all collections have the same shares; None where no two can be compared."""
    groups = tally.answered.size
    farthest: list[list[tuple[float, _Pair, int, int]]] = [[] for _ in range(groups)]
    comparisons, approximate = np.zeros(groups, dtype=np.int64), np.zeros(groups, dtype=bool)
    for pair in _pairs(tally):
        comparisons[pair.groups] += pair.known.sum(axis=1)
        approximate[pair.groups] |= (pair.known & ~pair.exact).any(axis=1)
        for row, group in enumerate(pair.groups.tolist()):
            farthest[group] += [(distance, pair, row, answer) for answer, distance in pair.farthest(row).items()]
    if not comparisons.any():
        return None
    clearest: list[Compared | None] = []
    for differences in farthest:
        least = CLOSE_TO_LARGEST * max((distance for distance, *_ in differences), default=0.0)
        tested = (pair.compared(row, answer) for distance, pair, row, answer in differences if distance >= least)
        clearest.append(min(tested, key=lambda one: one.p_value, default=None))
    smallest = np.array([np.nan if one is None else one.p_value for one in clearest])
    p_values = np.minimum(1, comparisons * smallest)

    def sentence(group: int) -> str:
        one = clearest[group]
        if one is None:
            return "Same population: fewer than two collections can be compared."
        where = zip(one.shares, one.collections, strict=True)
        first, second = (f"{percent(share)} in collection {index + 1}" for share, index in where)
        number = int(comparisons[group])
        most = f", the clearest of {number:,} comparisons" if number > 1 else ""
        kind = "approximate" if approximate[group] else "exact"
        times = f", multiplied by {number:,}" if number > 1 else ""
        return (
            f"Same population: the unbiased share of {quoted(one.answer)} is {first} and {second}{most}: "
            f"{p_value(p_values[group])} ({kind}{times})."
        )

    compared = tuple(clearest)
    return AgreementTest(NAME, p_values, sentence, compared=compared, comparisons=comparisons, approximate=approximate)


def agreement_evidence(tally: Collected) -> tuple[float, str] | None:
    """Return the smallest p-value of all groups with its words; p-values that cannot be small are not computed."""
    pairs = list(_pairs(tally))
    if not pairs:
        return None
    comparisons = np.zeros(tally.answered.size, dtype=np.int64)
    for pair in pairs:
        comparisons[pair.groups] += pair.known.sum(axis=1)
    all_comparisons = int(comparisons.max()) * int(tally.answered.sum())
    smallest, words = 1.0, ""
    for pair in pairs:
        for flat in {int(pair.distances.argmax()), int(pair.distances.argmin())}:
            row, answer = (int(index) for index in np.unravel_index(flat, pair.distances.shape))
            if 2 * float(ndtr(-abs(pair.distances[row, answer]))) * all_comparisons >= WORTH_TESTING:
                continue
            one = pair.compared(row, answer)
            if (p := one.p_value * float(comparisons[pair.groups[row]])) < smallest:
                first, second = (index + 1 for index in one.collections)
                label = quoted(one.answer)
                smallest, words = p, f"the shares of {label} differ between collections {first} and {second}"
    return min(1.0, smallest), words


# Pairs of collections


@dataclass(frozen=True, eq=False)
class _Shares:
    """The unbiased shares of one collection in the groups that have reports: arrays of shape (groups, answers)."""

    groups: Integers
    binomial: Binomial
    exact: Mask
    share: Array
    error: Array

    def sample(self, row: int, answer: int) -> Sample:
        estimate = Sampled(self.share[row, answer], self.error[row, answer], np.float64(self.binomial.n[row, answer]))
        return Sample(estimate, self.count(row, answer) if self.exact[row, answer] else None)

    def count(self, row: int, answer: int) -> Binomial:
        return Binomial(*(float(part[row, answer]) for part in self.binomial))

    def select(self, groups: Integers) -> _Shares:
        rows = np.searchsorted(self.groups, groups)
        arrays = (self.exact[rows], self.share[rows], self.error[rows])
        return _Shares(groups, Binomial(*(part[rows] for part in self.binomial)), *arrays)


@dataclass(frozen=True, eq=False)
class _Pair:
    collections: tuple[int, int]
    first: _Shares
    second: _Shares
    labels: Labels
    may_be_exact: bool

    @property
    def groups(self) -> Integers:
        return self.first.groups

    @cached_property
    def known(self) -> Mask:
        enough = (np.asarray(self.first.binomial.n) >= 1) & (np.asarray(self.second.binomial.n) >= 1)
        return np.asarray(np.isfinite(self.first.error) & np.isfinite(self.second.error) & enough)

    @cached_property
    def exact(self) -> Mask:
        reports = np.asarray(self.first.binomial.n) + np.asarray(self.second.binomial.n)
        counted = self.first.exact & self.second.exact & (reports <= MOST_REPORTS)
        return np.asarray(counted) if self.may_be_exact else np.zeros_like(counted)

    @cached_property
    def distances(self) -> Array:
        """Differences in standard errors, of shape (groups, answers); 0 where a share is not identified."""
        with np.errstate(invalid="ignore"):
            difference, error = self.first.share - self.second.share, np.hypot(self.first.error, self.second.error)
        return np.where(self.known, ratio_to_error(difference, error), 0.0)

    def farthest(self, row: int) -> dict[int, float]:
        """Return the answers with the largest difference in each direction, with their scores."""
        known, distances = self.known[row], self.distances[row]
        if not known.any():
            return {}
        one, two = (Binomial(*(part[row] for part in shares.binomial)) for shares in (self.first, self.second))
        laws = np.stack([np.broadcast_to(part, known.shape) for part in (one.n, *one[2:], two.n, *two[2:])])
        if (self.exact[row] & known).all() and (laws == laws[:, :1]).all():  # p-values are ordered as the scores
            one, two = (Binomial(each.count, *(float(part[0]) for part in each[1:])) for each in (one, two))
            distances = equality_scores(one, two)
        ends = {int(np.where(known, side * distances, -np.inf).argmax()) for side in (1, -1)}
        return {answer: abs(float(distances[answer])) for answer in sorted(ends)}

    def compared(self, row: int, answer: int) -> Compared:
        sides = self.first, self.second
        if self.exact[row, answer]:
            p = equality_test(*(side.count(row, answer) for side in sides))
        else:
            p = joined_test([side.sample(row, answer) for side in sides])
        shares = float(self.first.share[row, answer]), float(self.second.share[row, answer])
        return Compared(self.labels[answer], self.collections, shares, p)


def _pairs(tally: Collected) -> Iterator[_Pair]:
    answers = answers_of_interest(tally.k) if holds_every_answer(tally) else range(tally.k)
    sets = [[0]] if len(answers) == 1 else None
    informative = [
        (index, part) for index, part in enumerate(tally.parts) if part.design.epsilon > 0 and part.answered.any()
    ]
    if len(informative) < 2:
        return
    shares = {index: _shares(part, sets) for index, part in informative}
    exact = tally.simple and (not tally.by or float(np.sum(tally.n)) <= MOST_REPORTS_OF_GROUPS)
    for (one, first), (two, second) in combinations(informative, 2):
        groups = np.flatnonzero(first.answered & second.answered)
        if groups.size:
            yield _Pair((one, two), shares[one].select(groups), shares[two].select(groups), tally.domain, exact)


def _shares(part: Tally, sets: list[list[int]] | None) -> _Shares:
    groups = np.flatnonzero(part.answered)
    found = part.readout(groups, sets)
    columns = (*Binomial.from_readout(found), found.exact, 0.0 if found.error is None else found.error)
    count, n, base, gain, exact, error = (np.broadcast_to(column, found.count.shape) for column in columns)
    binomial = Binomial(count.astype(np.float64), n.astype(np.float64), base, gain)
    alone = Joint(binomial, exact, error, n, uninformative=0.0, signed=False)
    return _Shares(groups, binomial, exact, *alone.estimates("population"))
