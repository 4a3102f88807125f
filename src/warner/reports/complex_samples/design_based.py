"""Design-based readouts: how shares show in a complex sample, with their standard errors and effective numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.designs.facts import Drawn
from warner.reports.complex_samples.linearisation import fewer_people
from warner.reports.sampling import effective_number

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers, Mask
    from warner.designs.facts import Readout
    from warner.reports.complex_samples.linear_scores import LinearScores
    from warner.reports.pools import Collected
    from warner.reports.tallies import Tally

VARIANCE_ROUNDING = 1e-12  # part of a simple sample's variance that is rounding
ROUNDING_OF_ONE = 1e-15  # variance of a frequency, of one respondent, that is rounding
LEAST_CLUSTERS = 6  # with fewer, a mean design effect is mostly chance
SAME = 1e-6  # part by which variances that are equal may differ
USUAL_TAIL = 0.025  # of the intervals that a single effective number is for


def design_based(tally: Tally, question: LinearScores, groups: Any, target: str) -> Readout:
    """Say how shares show in groups of a complex sample, with design-based standard errors; see `Readout`."""
    refuse_realised(tally, target)
    assert tally.sample is not None
    sample, rows = tally.sample, _numbers_of_groups(tally, groups)
    counts, n = tally.rows()
    keys = [tally.groups[row] if tally.by else () for row in rows.tolist()]
    people, total = sample.people_of(keys), n[rows, np.newaxis].astype(np.float64)
    squares = None if tally.squares is None else np.atleast_1d(tally.squares)[rows, np.newaxis]
    alike = people if squares is None else effective_number(total, squares)  # if only their weights differed
    worth = np.divide(alike, total, out=np.zeros_like(total), where=total > 0)
    histogram = None if tally.histogram is None else tally.histogram.reshape(len(n), -1)[rows] * worth
    found = question.readout(counts[rows] * worth, alike, histogram)
    frequency = question.frequencies(counts[rows] * worth, alike)
    asked = np.broadcast_to(found.trials, frequency.shape)  # all people, or those who were asked about the answer
    accuracy, shown = sample.accuracy(question, frequency, keys)
    gain = np.broadcast_to(np.abs(found.gain), frequency.shape)
    exact = np.broadcast_to(found.exact, frequency.shape)
    alone = np.maximum(frequency * (1 - frequency), 0)
    simple = alone / np.where(asked > 0, asked, 1.0) / gain**2  # the variance of a simple sample
    if found.error is not None:
        simple = np.where(exact, simple, found.error**2)
    known = np.isfinite(accuracy.of_sample) & np.isfinite(simple)
    variance, endless = (np.where(known, np.maximum(part, 0) / gain**2, simple) for part in accuracy)
    floor = _of_randomization(question, counts[rows] * worth, alike, histogram, frequency.shape)
    rounding = VARIANCE_ROUNDING * simple + ROUNDING_OF_ONE / np.where(asked > 0, asked, 1.0) / gain**2
    varies, largest = variance > rounding, np.maximum(variance, floor)
    told = (largest > rounding) & np.isfinite(simple) & np.where(exact, alone > VARIANCE_ROUNDING, simple > 0)
    reported = asked * (people / alike)
    # Only a finite population may make respondents worth more than themselves.
    most = np.divide(np.maximum(endless, floor), largest, out=np.ones(frequency.shape), where=told)
    number = np.divide(asked * simple, largest, out=np.full(frequency.shape, np.inf), where=told)
    trials = np.minimum(number, reported * np.maximum(most, 1))
    certain = shown.certain & (largest <= rounding)  # a census without noise
    noise = np.divide(floor, simple, out=np.zeros(frequency.shape), where=told)
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
    """Return how many times as many degrees of freedom a variance has that is partly that of known noise.

    It is Satterthwaite's ratio for the sum of an estimated and a known variance, at their expectations.
    """
    return np.ones(fixed.shape) if not fixed.any() else (1 + fixed * noise) ** 2


def _of_randomization(
    question: LinearScores, counts: Counts, n: Array, histogram: Counts | None, shape: tuple[int, ...]
) -> Array:
    """Return the variance of the randomization given the true answers, 0 where reports do not determine a share."""
    if not question.design.counts_everybody:
        return np.zeros(shape)
    given = question.readout(counts, n, histogram, target="realised")
    return np.nan_to_num(np.broadcast_to(given.squared_errors("realised"), shape), posinf=0.0)


def refuse_realised(tally: Collected, target: str) -> None:
    """Refuse the share among the people who reported where these are a complex sample."""
    if tally.sample is not None and target != "population":
        raise ValueError(
            'target must be "population" with strata, clusters or replicate weights, which are about sampling from a '
            f"population, but got {target!r}; leave these out for the share among the people who reported"
        )


def _numbers_of_groups(tally: Tally, groups: Any) -> Integers:
    """Give the numbers of groups, of all if None."""
    every = np.arange(len(tally.answered))
    return every if groups is None else every[np.asarray(groups)]


def smallest_effective(tally: Tally) -> Array:
    """Give the least number of people drawn alone, over all answers, that a group's reports are worth, (groups,)."""
    result = np.zeros(len(tally.answered))
    if tally.answered.any():
        found = tally.drawn
        assert found.drawn is not None
        fewer = fewer_people(found.drawn.people, found.drawn.freedom, USUAL_TAIL)
        result[tally.answered] = np.min(found.trials * fewer, axis=1)
    return result


def steady_effective(tally: Tally) -> Array:
    """Return the effective number of reports of each group by one design effect of all answers, of shape (groups,)."""
    result = np.zeros(len(tally.answered))
    if tally.answered.any():
        result[tally.answered] = np.where(few_clusters(tally), 1.0, mean_design_effect(tally.drawn)) * _weighed(tally)
    return result


def few_clusters(tally: Tally) -> Mask:
    """Tell which of the groups that have reports lie in too few clusters to show a design effect."""
    found = tally.drawn
    assert found.freedom is not None
    return np.asarray(found.freedom[:, 0] + 1 < LEAST_CLUSTERS)


def mean_design_effect(found: Readout) -> Array:
    """Return the part of reports that the mean design effect of all answers leaves, at most 1, of shape (groups,).

    It is the sum of the variances of all shares in a simple sample over that of the design-based ones, which few
    clusters show much better than each variance alone. See J. N. K. Rao, A. J. Scott, "The analysis of categorical data
    from complex sample surveys", J. Amer. Stat. Assoc. 76 (1981), 221-230.
    """
    assert found.drawn is not None
    assert found.error is not None
    told = np.isfinite(found.error) & np.isfinite(found.drawn.simple)
    alone, together = (np.where(told, part, 0.0).sum(axis=1) for part in (found.drawn.simple, found.error**2))
    part = np.ones(alone.shape)
    np.divide(alone, together, out=part, where=(alone > 0) & (together > alone))
    return part


def _weighed(tally: Tally) -> Array:
    """Return the effective number of reports by weights alone, of the groups that have reports."""
    n, answered = np.atleast_1d(tally.n).astype(np.float64), tally.answered
    return n[answered] if tally.squares is None else effective_number(n, np.atleast_1d(tally.squares))[answered]


def sample_freedom(tally: Tally) -> Array:
    """Return the degrees of freedom of the groups that have reports."""
    assert tally.drawn.freedom is not None
    return np.ravel(tally.drawn.freedom)
