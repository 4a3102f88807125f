"""Simulation of one setting (population, design, sample size): the errors of every estimator, seed by seed.

For each seed the people are drawn from the population, and then their reports. Two truths follow: the shares among
the sample, `realised`, and of the `population`. Tables and figures show the first, as the paper does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from experiments.estimators.entrants import PREDICTED
from experiments.estimators.populations import SHAPES, Population, made_up
from experiments.pinzon2026.repetition import generator
from warner.designs import MECHANISMS, RandomizedResponse, UnaryEncoding
from warner.estimators import METHODS, estimates
from warner.estimators.auto import choice
from warner.metrics import squared_error_sum, total_variation
from warner.simulate import reports_of_people

if TYPE_CHECKING:
    from experiments.estimators.scale import Scale
    from warner.arrays import Array, Counts, Integers, Mask
    from warner.designs.contract import Design
    from warner.estimators.methods import CustomEstimator

Columns: TypeAlias = "dict[str, Counts]"
Errors: TypeAlias = "dict[str, dict[str, Array]]"  # by estimator, then by measure; an entry for each seed

RESPONSE, BITS = RandomizedResponse.mechanism, UnaryEncoding.mechanism
SHORT_DESIGN_NAMES = {RESPONSE: "RR", BITS: "OUE"}
ERROR_MEASURES = {
    "squared_error": "squared error",
    "total_variation": "total variation",
    "squared_error_population": "squared error, population",
    "total_variation_population": "total variation, population",
}
MOST_REAL_ANSWERS = 100_000  # answers: of real data with more, only those with a share above zero


@dataclass(frozen=True, eq=False)
class Contest:
    """One setting, for the estimators of the library or for one of a user's own.

    Attributes
    ----------
    population : Population
        Where the people are drawn from.
    mechanism : str
        What every answer goes through, as `warner.designs.MECHANISMS` calls it.
    n, epsilon : int
        Sample size, and privacy of the design.
    seeds : int
        Times that people and reports are drawn afresh.
    estimators : tuple of str
        Which of the library's to compare; those that need a likelihood are left out where counts have none.
    own : OwnEstimator, optional
        In their place, one of a user's own: it sees the same reports.
    """

    population: Population
    mechanism: str
    n: int
    epsilon: int
    seeds: int
    estimators: tuple[str, ...]
    own: CustomEstimator | None = None

    @property
    def experiment(self) -> str:
        """The folder of its file."""
        return "contests" if self.own is None else f"own-{self.own.name}-{self.own.digest}"

    @property
    def title(self) -> str:
        """One-line description."""
        return f"{self.population.name}, K = {self.population.k:,}, N = {self.n:,}, ε = {self.epsilon:g}"

    @property
    def name(self) -> str:
        """The name of its file."""
        digest = f" {self.population.digest}" if self.population.digest else ""
        setting = f"K={self.population.k} N={self.n} epsilon={self.epsilon}"
        return f"{SHORT_DESIGN_NAMES[self.mechanism]} {self.population.name}{digest} {setting}"

    @property
    def section(self) -> tuple[str, str]:
        """Mechanism and kind of the population, by which the outcome is grouped."""
        return self.mechanism, self.population.kind

    @property
    def cost(self) -> float:
        """About how many milliseconds it takes."""
        return self.seeds * (10 + 0.01 * self.population.k)

    @property
    def design(self) -> Design:
        """Design of the reports."""
        return next(iter(MECHANISMS[self.mechanism].variants(self.population.k, self.epsilon).values()))

    def surveys(self) -> tuple[Integers, Integers]:
        """Draw people and the counts of their reports, a row for each seed: the same for all estimators."""
        rng = generator(
            "estimators", self.mechanism, self.population.name, self.population.k, self.n, self.epsilon, self.seeds
        )
        people = rng.multinomial(self.n, self.population.shares, size=self.seeds)
        return people, np.stack([reports_of_people(row, self.design, rng=rng) for row in people])

    def columns(self) -> Columns:
        """Draw, estimate and measure."""
        people, counts = self.surveys()
        found = self._estimated(counts)
        truths = {"": people / self.n, "_population": np.broadcast_to(self.population.shares, people.shape)}
        distances = {"squared_error": squared_error_sum, "total_variation": total_variation}
        columns: Columns = {
            "estimator": np.repeat(np.array(list(found), dtype=object), self.seeds),
            "seed": np.tile(np.arange(self.seeds), len(found)),
        }
        for (distance, measure), (suffix, truth) in product(distances.items(), truths.items()):
            columns[distance + suffix] = np.concatenate([measure(shares, truth) for shares in found.values()])
        return columns

    def _estimated(self, counts: Integers) -> dict[str, Array]:
        design = self.design
        if self.own is not None:
            return {self.own.name: self.own.shares(counts, design, self.n)}
        names = [name for name in self.estimators if name in METHODS]
        names = [name for name in names if METHODS[name].applies(to_likelihood=design.law.exclusive)]
        n = None if design.law.exclusive else np.full(self.seeds, self.n)
        found = estimates(counts, design, names, n=n)
        if PREDICTED in self.estimators:
            chosen = [choice(row, design, n=self.n).method for row in counts]
            found[PREDICTED] = np.stack([found[name][row] for row, name in enumerate(chosen)])
        return found

    def parsed(self, columns: Columns) -> Errors:
        """Split the columns again; they must hold every seed."""
        by_estimator: Errors = {}
        for name in dict.fromkeys(columns["estimator"].tolist()):
            rows = columns["estimator"] == name
            if int(rows.sum()) != self.seeds:
                raise ValueError(f"it has {int(rows.sum())} seeds of {name}, not {self.seeds}")
            by_estimator[name] = {measure: columns[measure][rows] for measure in ERROR_MEASURES}
        return by_estimator

    def by(self, own: CustomEstimator) -> Contest:
        """Return the same setting for a user's own estimator."""
        return replace(self, own=own)


def contests(scale: Scale, real: list[Population]) -> list[Contest]:
    """List all settings: the paper's grid, the other shapes and the real data, each under both mechanisms."""
    listed = []
    for name, shape in SHAPES.items():
        paper = shape.kind == "paper"
        answers, people, epsilons = (
            (scale.paper_answers, scale.paper_people, scale.paper_epsilons)
            if paper
            else (scale.answers, scale.people, scale.epsilons)
        )
        for k, n, epsilon in product(answers, people, epsilons):
            listed.append(Contest(made_up(name, k), RESPONSE, n, epsilon, scale.seeds, scale.estimators))
        for k, n, epsilon in product(scale.bits_answers, scale.bits_people, scale.bits_epsilons):
            listed.append(Contest(made_up(name, k), BITS, n, epsilon, scale.seeds, scale.estimators))
    for population, n, epsilon in product(real, scale.real_people, scale.real_epsilons):
        listed.append(Contest(_uncrowded(population), RESPONSE, n, epsilon, scale.real_seeds, scale.estimators))
    for population, k, n, epsilon in product(real, scale.bits_answers, scale.bits_people, scale.bits_epsilons):
        listed.append(Contest(_commonest(population, k), BITS, n, epsilon, scale.seeds, scale.estimators))
    return listed


def _uncrowded(population: Population) -> Population:
    """Leave out answers with a share of zero, of real data with very many answers."""
    return (
        population
        if population.k <= MOST_REAL_ANSWERS
        else _restricted(population, population.shares > 0, "held by somebody")
    )


def _commonest(population: Population, k: int) -> Population:
    """Keep the k most common answers."""
    if population.k <= k:
        return population
    order = np.argsort(-population.shares, kind="stable")[:k]
    return _restricted(population, np.sort(order), f"{k} most common")


def _restricted(population: Population, which: Integers | Mask, words: str) -> Population:
    shares = population.shares[which]
    return Population(f"{population.name} ({words})", population.kind, shares / shares.sum())
