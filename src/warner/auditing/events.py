r"""Choice of the event that bounds epsilon best: learnt and chosen from other runs than those that judge it.

A client that spends epsilon makes every event A at most :math:`e^\varepsilon` times as likely after one answer as after
another: :math:`P(A \mid x) \le e^\varepsilon P(A \mid x')`. Any event bounds epsilon from below; the art is to find one
that bounds it well, without looking at the runs that it is then judged by. So runs have three parts [1]_, [2]_:

- *Learn.* Of every statistic whose values exclude each other (the report itself, the size of its set) the values are
  ordered by how much more often they came after x than after x'.
- *Choose.* In that order, the values up to each place are an event. So are the traits that a report has or lacks: that
  it supports an answer, or one answer but not another. The one with the best predicted bound is taken; the plainer
  statistic comes first, and another must be better by more than a standard error.
- *Judge.* That event alone is counted in the rest of the runs (`warner.auditing.audits`).

References
----------
.. [1] Z. Ding, Y. Wang, G. Wang, D. Zhang, D. Kifer, "Detecting violations of differential privacy", CCS 2018, 475-489.
.. [2] B. Bichsel, S. Steffen, I. Bogunovic, M. Vechev, "DP-Sniper: black-box discovery of differential privacy
   violations using classifiers", IEEE S&P 2021, 391-409.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.arrays import SMALLEST
from warner.inference.binomial import Binomial, wilson_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from warner.arrays import Array, Counts, Integers


@dataclass(frozen=True, eq=False)
class Statistic:
    """Something to look at in a report.

    Attributes
    ----------
    count : callable
        Takes reports in codes, gives how many of them have each value.
    phrase : callable
        Takes the numbers of some values, and says what reports with one of them do: "support 'a'".
    exclusive : bool
        Whether a report has just one of the values, so that sets of values are events; if not, each value is a trait.
    law : callable, optional
        Takes the position of an answer, gives the probability of each value after it, by the design.
    """

    count: Callable[[Any], Counts]
    phrase: Callable[[Integers], str]
    exclusive: bool
    law: Callable[[int], Array | float] | None = None


class Event(NamedTuple):
    """Reports that have one of these values of a statistic, or that have none of them."""

    place: int  # of the statistic
    values: Integers
    lacking: bool = False

    def hits(self, seen: Observed, answer: int) -> int:
        """Count the reports after this answer, by its place among those audited."""
        number = int(seen.counts[self.place][answer, self.values].sum())
        return seen.runs - number if self.lacking else number

    def words(self, statistics: tuple[Statistic, ...]) -> str:
        """Say which reports these are."""
        phrase = statistics[self.place].phrase(self.values)
        return f"reports other than those that {phrase}" if self.lacking else f"reports that {phrase}"


class Observed(NamedTuple):
    """How many reports after each answer had each value: for each statistic an array of shape (answers, values)."""

    counts: tuple[Counts, ...]
    runs: int

    @classmethod
    def of(cls, rows: Sequence[Sequence[Counts]], runs: int) -> Observed:
        """Put together what `counted` gave for each answer."""
        return cls(tuple(np.stack(column) for column in zip(*rows, strict=True)), runs)

    def __add__(self, other: Any) -> Observed:
        counts = tuple(mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True))
        return Observed(counts, self.runs + other.runs)


def count_values(statistics: tuple[Statistic, ...], pieces: Iterable[Any]) -> list[Counts]:
    """Count the values of each statistic in the reports after one answer, which come some at a time."""
    totals: list[Counts] = []
    for reports in pieces:
        parts = [statistic.count(reports) for statistic in statistics]
        totals = [total + part for total, part in zip(totals, parts, strict=True)] if totals else parts
    return totals


# The choice


def best_event(
    statistics: tuple[Statistic, ...], learnt: Observed, chosen: Observed, pair: tuple[int, int], runs: int, tail: float
) -> Event:
    """Find the event that should bound epsilon best, from `runs` more runs after each of two answers."""
    best, promise = Event(0, np.arange(0)), -np.inf
    first, second = pair
    for place, statistic in enumerate(statistics):
        counts = chosen.counts[place]
        if statistic.exclusive:
            ahead, behind = learnt.counts[place][first] + 0.5, learnt.counts[place][second] + 0.5
            order = np.argsort(-ahead / behind, kind="stable")
            hits, others = counts[first][order].cumsum(), counts[second][order].cumsum()
        else:
            hits, others = (np.concatenate([row, chosen.runs - row]) for row in (counts[first], counts[second]))
        bounds = predicted(hits, others, chosen.runs, runs, tail)
        number = int(np.argmax(bounds))
        if bounds[number] - math.sqrt(1 / (hits[number] + 1) + 1 / (others[number] + 1)) > promise:
            promise, size = bounds[number], len(hits) // 2
            event = (order[: number + 1], False) if statistic.exclusive else (np.array([number % size]), number >= size)
            best = Event(place, *event)
    return best


def predicted(hits: Counts, others: Counts, n: int, runs: int, tail: float) -> Array:
    """Predict ln(lower limit / upper limit) for `runs` runs, from hits among n, by Wilson's limits, which are quick."""
    scale = runs / n
    # Of a probability itself: base 0, gain 1
    low = wilson_limit(Binomial(scale * hits, runs, 0.0, 1.0), tail, -1)
    high = wilson_limit(Binomial(scale * others, runs, 0.0, 1.0), tail, 1)
    return np.asarray(np.log(np.maximum(low, SMALLEST)) - np.log(high))
