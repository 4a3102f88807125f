"""Sampling models of complex samples: standard errors, effective sample sizes, and their JSON documents.

The count of a sampling model is linear in the counts of reports, for every design. So `LinearScores` can be evaluated
for every cell of a complex sample, with squared weights for weights, and for one report of each kind.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.arrays import LARGEST_TOTAL, Array, Counts, Integers, Mask, Sets
from warner.designs.facts import Drawn, LinearCombination, SamplingModel, counts_everyone, memberships
from warner.reports.linearization import CLUSTER, REPLICATE, STRATUM, ClusterSample, fewer_people, numbers_of_cells
from warner.reports.replicates import ReplicateSample
from warner.reports.samples import effective_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.designs.contract import Design
    from warner.documents import Document
    from warner.reports.linearization import ComplexSample
    from warner.reports.tallies import Collected, Tally


# Design based


VARIANCE_ROUNDING = 1e-12  # part of a simple sample's variance that is rounding
ROUNDING_OF_ONE = 1e-15  # variance of a frequency, of one respondent, that is rounding
LEAST_CLUSTERS = 6  # with fewer, a mean design effect is mostly chance
SAME = 1e-6  # part by which variances that are equal may differ
USUAL_TAIL = 0.025  # of the intervals that a single effective number is for


def design_based(tally: Tally, question: LinearScores, groups: Any, target: str) -> SamplingModel:
    """Return the sampling model of shares in groups of a complex sample, with design-based standard errors."""
    refuse_realised(tally, target)
    assert tally.sample is not None
    sample, rows = tally.sample, np.arange(len(tally.answered))[slice(None) if groups is None else np.asarray(groups)]
    counts, n = tally.rows()
    keys = [tally.groups[row] if tally.by else () for row in rows.tolist()]
    people, total = sample.people_of(keys), n[rows, np.newaxis].astype(np.float64)
    squares = None if tally.squares is None else np.atleast_1d(tally.squares)[rows, np.newaxis]
    alike = people if squares is None else effective_number(total, squares)  # if only their weights differed
    worth = np.divide(alike, total, out=np.zeros_like(total), where=total > 0)
    histogram = None if tally.histogram is None else tally.histogram.reshape(len(n), -1)[rows] * worth
    found = question.readout(counts[rows] * worth, alike, histogram)
    frequency = question.frequencies(counts[rows] * worth, alike)
    asked = np.broadcast_to(found.trials, frequency.shape)  # all respondents, or those asked about the answer
    *accuracy, shown = sample.accuracy(question, frequency, keys)
    gain = np.broadcast_to(np.abs(found.gain), frequency.shape)
    exact = np.broadcast_to(found.exact, frequency.shape)
    alone = np.maximum(frequency * (1 - frequency), 0)
    simple = alone / np.where(asked > 0, asked, 1.0) / gain**2  # the variance of a simple sample
    if found.error is not None:
        simple = np.where(exact, simple, found.error**2)
    known = np.isfinite(accuracy[0]) & np.isfinite(simple)
    variance, endless = (np.where(known, np.maximum(part, 0) / gain**2, simple) for part in accuracy)
    floor = _of_randomization(question, counts[rows] * worth, alike, histogram, frequency.shape)
    rounding = VARIANCE_ROUNDING * simple + ROUNDING_OF_ONE / np.where(asked > 0, asked, 1.0) / gain**2
    varies, largest = variance > rounding, np.maximum(variance, floor)
    determined = (largest > rounding) & np.isfinite(simple) & np.where(exact, alone > VARIANCE_ROUNDING, simple > 0)
    reported = people * (asked / alike)
    # Only a finite population may make respondents worth more than themselves.
    most = np.divide(np.maximum(endless, floor), largest, out=np.ones(frequency.shape), where=determined)
    number = np.divide(asked * simple, largest, out=np.full(frequency.shape, np.inf), where=determined)
    trials = np.minimum(number, reported * np.maximum(most, 1))
    law = question.design.law
    noiseless = law.exclusive and law.bounds().noiseless
    certain = shown.certain & (largest <= rounding) & noiseless  # a census of direct answers
    noise = np.divide(floor, simple, out=np.zeros(frequency.shape), where=determined)
    drawn = Drawn(
        freedom=np.minimum(shown.freedom * _with_noise(shown.fixed, noise), np.maximum(found.trials - 1, 0)),
        people=people,
        worth=np.where(certain, np.inf, asked * np.maximum(most, 1)),
        variance=np.where(varies, variance, np.where(certain, 0.0, simple)) / shown.part,
        simple=simple,
        floor=floor,
        floored=floor > variance * (1 + SAME) + rounding,
        blind=np.broadcast_to(shown.blind, frequency.shape),
    )
    error = np.where(varies, np.sqrt(variance), np.where(exact | certain, 0.0, np.sqrt(simple)))
    return replace(found, count=frequency * trials, trials=trials, error=error, drawn=drawn)


def _with_noise(fixed: Array, noise: Array) -> Array:
    """Satterthwaite's factor on the degrees of freedom of a variance that is partly a known variance of noise."""
    return np.ones(fixed.shape) if not fixed.any() else (1 + fixed * noise) ** 2


def _of_randomization(
    question: LinearScores, counts: Counts, n: Array, histogram: Counts | None, shape: tuple[int, ...]
) -> Array:
    """Variance of the randomization given the true answers; 0 where reports do not determine a share."""
    if not counts_everyone(question.design.law):
        return np.zeros(shape)
    given = question.readout(counts, n, histogram, target="realised")
    return np.nan_to_num(np.broadcast_to(given.squared_errors("realised"), shape), posinf=0.0)


def refuse_realised(tally: Collected, target: str) -> None:
    if tally.sample is not None and target != "population":
        raise ValueError(
            'target must be "population" with strata, clusters or replicate weights, which are about sampling from a '
            f"population, but got {target!r}; leave these out for the share in the sample"
        )


def smallest_effective(tally: Tally) -> Array:
    """Smallest effective sample size over all answers, of each group, (groups,)."""
    result = np.zeros(len(tally.answered))
    if tally.answered.any():
        found = tally.drawn
        assert found.drawn is not None
        fewer = fewer_people(found.drawn.people, found.drawn.freedom, USUAL_TAIL)
        result[tally.answered] = np.min(found.trials * fewer, axis=1)
    return result


def steady_effective(tally: Tally) -> Array:
    """Effective number of reports of each group under one design effect of all answers, (groups,)."""
    result, n = np.zeros(len(tally.answered)), np.atleast_1d(tally.n).astype(np.float64)
    if tally.answered.any():
        alone = n if tally.squares is None else effective_number(n, np.atleast_1d(tally.squares))
        effect = np.where(few_clusters(tally), 1.0, mean_design_effect(tally.drawn))
        result[tally.answered] = effect * alone[tally.answered]
    return result


def few_clusters(tally: Tally) -> Mask:
    """Return True if the groups with reports lie in too few clusters to show a design effect."""
    found = tally.drawn
    assert found.freedom is not None
    return np.asarray(found.freedom[:, 0] + 1 < LEAST_CLUSTERS)


def mean_design_effect(found: SamplingModel) -> Array:
    """Reciprocal of the mean design effect of all answers, at most 1, (groups,).

    It is the sum of the variances of all shares in a simple sample over that of the design-based ones, which few
    clusters show much better than each variance alone. See J. N. K. Rao, A. J. Scott, "The analysis of categorical data
    from complex sample surveys", J. Amer. Stat. Assoc. 76 (1981), 221-230.
    """
    assert found.drawn is not None
    assert found.error is not None
    determined = np.isfinite(found.error) & np.isfinite(found.drawn.simple)
    alone, together = (np.where(determined, part, 0.0).sum(axis=1) for part in (found.drawn.simple, found.error**2))
    part = np.ones(alone.shape)
    np.divide(alone, together, out=part, where=(alone > 0) & (together > alone))
    return part


def sample_freedom(tally: Tally) -> Array:
    assert tally.drawn.freedom is not None
    return np.ravel(tally.drawn.freedom)


# Linear scores


SCORES_AT_ONCE = 2**22  # numbers in the scores of kinds of reports that are held at a time


class LinearScores(NamedTuple):
    """Shares of sets of answers, less those of others; of every answer if None."""

    design: Design
    sets: Sets | None = None
    minus: Sets | None = None

    def readout(
        self, counts: Counts, n: Array, histogram: Counts | None = None, target: str = "population"
    ) -> SamplingModel:
        """Return the sampling model of the shares, from counts of shape (rows, columns)."""
        return self.design.law.readout(counts, n, self.sets, minus=self.minus, target=target, histogram=histogram)

    def sums(self, counts: Counts, n: Array) -> Array:
        """Return the sums of scores, (rows, sets), which are linear in the counts."""
        return np.asarray(self.readout(counts, n).count, dtype=np.float64)

    def frequencies(self, counts: Counts, n: Array) -> Array:
        """Return mean scores, of all respondents or of those asked about an answer; 0 if there are none."""
        found = self.readout(counts, n)
        trials = np.broadcast_to(found.trials, found.count.shape)
        return np.divide(found.count, trials, out=np.zeros(trials.shape), where=trials > 0)

    def counted_parts(self, counts: Counts, n: Array) -> Array:
        """Return the part of respondents that each share is estimated from, (sets,)."""
        found = self.readout(counts, n)
        asked = np.broadcast_to(found.trials, found.count.shape).sum(axis=0) / max(float(np.sum(n)), 1e-300)
        return np.asarray(self.design.law.counted_fraction * np.minimum(asked, 1.0))

    def squared_sums(self, counts: Counts, sums: Array, exact: Any) -> Array:
        """Return sums of squared scores (0 and 1 are their own squares); NaN if counts do not determine them."""
        exact = np.broadcast_to(exact, sums.shape[1:])
        if exact.all():
            return sums
        if not self.design.law.exclusive:
            return np.where(exact, sums, np.nan)
        result, width = np.zeros_like(sums), counts.shape[1]
        step = max(1, SCORES_AT_ONCE // max(width, sums.shape[1]))
        for start in range(0, width, step):
            stop = min(start + step, width)
            kinds = np.eye(stop - start, width, start)
            result += counts[:, start:stop] @ self.sums(kinds, np.ones((stop - start, 1))) ** 2
        return result

    def squared_shares(self, counts: Counts, n: Array) -> Array:
        """Return unbiased sums of squared true memberships, or differences of memberships.

        Memberships are those of the respondents that the share is estimated from. Differences are estimated from all
        respondents, with the memberships of respondents asked about one answer scaled up to all.
        """
        k = self.design.k
        if self.minus is None and not isinstance(self.sets, LinearCombination):
            asked = [self]
        elif self.minus is None:
            asked = [self._replace(sets=LinearCombination(memberships(self.sets, k) ** 2))]
        else:
            asked = [LinearScores(self.design, self.sets), LinearScores(self.design, self.minus)]
        total: Any = 0
        for one in asked:
            found = one.readout(counts, n)
            held = (found.count - found.base * found.trials) / found.gain
            part = one.counted_parts(counts, n) / self.design.law.counted_fraction if self.minus is not None else 1.0
            total = total + held / np.where(part > 0, part, 1.0)
        return np.asarray(total)


# Sample documents


CLUSTER_FIELDS = frozenset({"strata", "clusters", "sampled", "whole", "variance", "cells"})
REPLICATE_FIELDS = frozenset({"replicates", "scale", "cells"})  # and replicate_clusters, if they are known
CELL_FIELDS = frozenset({"people", "kind_squares", "without_weight"})  # that a tally does not have


def sample_from_dict(fields: Document, read: Callable[[Document], Tally]) -> ComplexSample:
    given = fields["sample"]
    names = REPLICATE_FIELDS if isinstance(given, dict) and "replicates" in given else CLUSTER_FIELDS
    required = given.keys() - {"replicate_clusters"} if names is REPLICATE_FIELDS else given
    if not isinstance(given, dict) or set(required) != names or not isinstance(given["cells"], dict):
        raise ValueError(f"sample must have the fields {', '.join(sorted(names))}")
    extra = [REPLICATE] if "replicates" in given else []
    if not extra:
        extra = [
            name for name, title in ((STRATUM, given["strata"]), (CLUSTER, given["clusters"])) if title is not None
        ]
        extra = extra or [STRATUM]
    inside = {name: value for name, value in given["cells"].items() if name not in CELL_FIELDS}
    about = {name: fields[name] for name in ("format", "version", "design")}
    cells = read({**about, "squares": None, **inside, "by": [*fields["by"], *extra]})
    people = given["cells"].get("people")
    numbers = None if people is None else _whole_numbers(people, cells)
    kinds = {"people"} if "replicates" in given else {"people", "kind_squares"}
    if given["cells"].keys() & kinds != (kinds if cells.weighted else set()):
        raise ValueError(f"cells must have {' and '.join(sorted(kinds))} with weights, and not without")
    if "replicates" in given:
        return ReplicateSample.from_dict(given, cells, numbers)
    return ClusterSample.from_dict(given, cells, numbers)


def _whole_numbers(people: object, cells: Tally) -> Integers:
    numbers = numbers_of_cells("people", people, (len(cells.groups),))
    if (numbers != np.rint(numbers)).any() or (numbers > LARGEST_TOTAL).any() or (numbers < cells.answered).any():
        raise ValueError("people must be whole numbers, at least one where there are reports")
    return numbers.astype(np.int64)


def refuse_other_sums(sample: ComplexSample, tally: Tally) -> Tally:
    if isinstance(sample, ClusterSample):
        sums = sample.summed(tally.by)
        if sums.groups != tally.groups or not np.allclose(sums.counts, tally.counts, rtol=1e-9, atol=0):
            raise ValueError("the counts of the sample's cells must add up to those of the tally, but they do not")
    elif not {key[: sample.depth] for key in sample.cells.groups} <= set(tally.groups or [()]):
        raise ValueError("the cells of the sample must be those of the tally's groups")
    return tally
