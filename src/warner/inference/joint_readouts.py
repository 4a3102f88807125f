"""Readouts of several collections side by side: how one share shows in each, and what they tell together.

Of the population, collections are averaged by their precision. Among these very people, they are averaged by their
numbers; whoever gave a report that says nothing may hold anything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.designs.facts import Fuzzy
from warner.inference.binomial import Binomial, score_interval_is_accurate, standard_error
from warner.inference.normal import Sampled, averaged, sampled_together

if TYPE_CHECKING:
    from warner.arrays import Array, Mask, Sets
    from warner.reports.tallies import Tally


@dataclass(frozen=True, eq=False)
class Joint:
    """The readouts of one group in all collections that tell something: arrays of shape (collections, sets)."""

    binomial: Binomial
    exact: Mask
    error: Array
    people: Array
    silent: float  # people of the group whose reports say nothing
    apart: bool  # of differences of shares, which may be negative
    fuzzy: bool = False  # of fuzzy sets, whose shares are no numbers of people
    freedom: float = math.inf  # of a complex sample
    blind: bool = False  # of a group of a complex sample in one cluster

    @property
    def is_one_count(self) -> bool:
        """Whether one binomial count tells everything, about all people of the group; not that of nobody."""
        return len(self.exact) == 1 and bool(self.exact.all() and (self.binomial.n >= 1).all()) and not self.silent

    def only_count(self, place: int) -> Binomial:
        """Give that count of the set at a place, as numbers."""
        return Binomial(*(float(part[0, place]) for part in self.binomial))

    @property
    def everybody(self) -> float:
        """The number of all people of the group, those included whose reports say nothing."""
        return float(self.people[:, 0].sum() + self.silent)

    def noisy(self, tail: float) -> Mask:
        """Tell where all binomial counts have so much noise that realised shares are about normal."""
        return np.asarray((score_interval_is_accurate(self.binomial, tail) | ~self.exact).all(axis=0))

    def only(self, sets: Mask) -> Joint:
        """Give those of some sets."""
        exact, error, people = self.exact[:, sets], self.error[:, sets], self.people[:, sets]
        return replace(self, binomial=self.binomial.of_sets(sets), exact=exact, error=error, people=people)

    def average(self, target: str) -> tuple[Array, Array, float]:
        """Give the shares that all collections tell together, with standard errors, and what nobody can tell.

        Of the population, by precision. Among these very people, by their numbers: whoever gave a report that says
        nothing may hold anything, so that so much, the last number, may have to be added.
        """
        shares, errors = self.estimates(target)
        if target == "population":
            by_error = self.apart or self.fuzzy
            return *(averaged(shares, errors, self.binomial.n) if by_error else self.sampled()[:2]), 0.0
        weight = self.people / self.everybody
        error = np.sqrt((weight**2 * errors**2).sum(axis=0))
        return (weight * shares).sum(axis=0), error, float(self.silent / self.everybody)

    def sampled(self) -> Sampled:
        """Give the shares of the population that all collections tell together."""
        return sampled_together(Sampled(*self.estimates("population"), self.binomial.n))

    def estimates(self, target: str) -> tuple[Array, Array]:
        """Give each collection's unbiased shares, and standard errors with half a report more of each kind."""
        binomial = self.binomial
        if self.apart:
            return binomial.unbiased, self.error
        if target == "realised":
            error = standard_error(binomial, target)
        else:
            observed = np.clip((binomial.count + 0.5) / (binomial.n + 1), 0, 1)  # not used of what is not exact
            error = np.sqrt(observed * (1 - observed) / binomial.n) / np.abs(binomial.gain)
        return binomial.unbiased, np.where(self.exact, error, self.error)


def beside(groups: list[Joint]) -> Joint:
    """Put the sets of groups beside each other, which equally many collections tell."""
    rows = [(*group.binomial, group.exact, group.error, group.people) for group in groups]
    *counts, exact, error, people = (np.concatenate(parts, axis=1) for parts in zip(*rows, strict=True))
    return replace(groups[0], binomial=Binomial(*counts), exact=exact, error=error, people=people, silent=0.0)


def joints(
    parts: tuple[Tally, ...],
    groups: list[int],
    sets: Sets | None,
    minus: Sets | None = None,
    target: str = "population",
) -> list[Joint]:
    """Ask all collections that have reports of these groups, and say anything, how shares show in them."""
    rows: dict[int, list[tuple[Any, ...]]] = {group: [] for group in groups}
    silent, freedom = np.zeros(len(parts[0].answered)), np.full(len(parts[0].answered), math.inf)
    blind = np.zeros(len(parts[0].answered), dtype=bool)
    for part in parts:
        people, answered = np.atleast_1d(part.n), part.answered
        answering = [group for group in groups if answered[group]]
        if part.design.epsilon == 0:
            silent = silent + people
        elif answering:
            found = part.readout(answering, sets, minus=minus, target=target)
            if found.drawn is not None:
                freedom[answering], blind[answering] = found.drawn.freedom[:, 0], found.drawn.blind[:, 0]
            error = 0.0 if found.error is None else found.error
            laws = (
                found.count,
                found.trials,
                found.base,
                found.gain,
                found.exact,
                error,
                people[answering, np.newaxis],
            )
            each = zip(*(np.broadcast_to(column, found.count.shape) for column in laws), strict=True)
            for group, row in zip(answering, each, strict=True):
                rows[group].append(row)
    results = []
    for group in groups:
        count, trials, base, gain, exact, error, people = (
            np.stack(column) for column in zip(*rows[group], strict=True)
        )
        count, trials, people = (column.astype(np.float64) for column in (count, trials, people))
        binomial, about = Binomial(count, trials, base, gain), (float(silent[group]), minus is not None)
        drawn = float(freedom[group]), bool(blind[group])
        results.append(Joint(binomial, exact, error, people, *about, isinstance(sets, Fuzzy), *drawn))
    return results
