r"""Contests for the distribution of a number: `smooth` against EMS, maximum likelihood and HH-ADMM.

For each seed the people are drawn from the population, and then their reports: of a square wave for `smooth`, `mle` and
EMS, of a hierarchy for HH-ADMM (`rivals`). The truth is the distribution among these people. With F and its estimate on
K answers over a range of 1, the measures are

.. math:: W_1 = \frac1K \sum_t |\hat F(t) - F(t)|, \qquad \mathrm{KS} = \max_t |\hat F(t) - F(t)|,
          \qquad \frac1K \sum_t (\hat F(t) - F(t))^2,

the distance of Wasserstein, that of Kolmogorov and Smirnov, and the squared error of F. Tables show them as ratios to
EMS, the usual estimate: below 1 is closer. Shapes with which `smooth` was built are not among these.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from experiments.estimators.populations import Population
from experiments.estimators.rivals import em_smoothed, hierarchical_reports, nearest_hierarchy
from experiments.pinzon2026.repetition import generator
from warner.designs import SquareWave
from warner.estimators import estimates
from warner.estimators.methods import MOST_LIKELY, SMOOTHED
from warner.simulate import reports_of_people

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from experiments.estimators.scale import Scale
    from experiments.pinzon2026.datasets import Histogram
    from warner.arrays import Array, Counts

EMS, HIERARCHY = "EMS", "HH-ADMM"
DISTANCES: dict[str, Callable[[Array], Array]] = {
    "wasserstein": lambda apart: np.abs(apart).mean(axis=-1),
    "kolmogorov_smirnov": lambda apart: np.abs(apart).max(axis=-1),
    "squared_error_of_F": lambda apart: (apart**2).mean(axis=-1),
}
DISTANCE_NAMES = {"wasserstein": "W1", "kolmogorov_smirnov": "KS", "squared_error_of_F": "squared error of F"}
INCOMES, INCOME_BOUND = "acs_pincp", 2**19  # dollars, below which Li et al. look at incomes


def _bumps(x: Array, *bumps: tuple[float, float, float]) -> Array:
    """Add normal bumps: weight, middle and deviation of each."""
    return np.asarray(sum(w / s * np.exp(-(((x - m) / s) ** 2) / 2) for w, m, s in bumps))


NUMERIC_SHAPES: Mapping[str, tuple[Callable[[Array], Array], str]] = {
    "gamma": (lambda x: x * np.exp(-12 * x), "a gamma law of shape 2, as waiting times have"),
    "log-normal": (lambda x: np.exp(-((np.log(x / 0.12) / 0.8) ** 2) / 2) / x, "a log-normal law with a long tail"),
    "triangle": (lambda x: np.minimum(x / 0.35, (1 - x) / 0.65), "a triangle with its peak at 35 % of the range"),
    "ages": (lambda x: np.where(x < 0.55, 1.0, np.exp(-6 * (x - 0.55))), "a plateau, and a decline beyond 55 %"),
    "three peaks": (
        lambda x: _bumps(x, (0.3, 0.15, 0.04), (0.4, 0.5, 0.08), (0.3, 0.85, 0.05)),
        "three normal bumps of different widths",
    ),
    "arcsine": (lambda x: 1 / np.sqrt(x * (1 - x)), "most people near either end"),
    "steps": (lambda x: np.where(x < 0.2, 3.0, np.where(x < 0.6, 0.5, 1.5)), "three levels with sharp edges"),
    "none or all": (
        lambda x: np.where(x == x[0], 0.2, np.where(x == x[-1], 0.1, 0.7 / len(x))),
        "20 % at the first answer, 10 % at the last, the rest uniform",
    ),
    "round numbers": (
        lambda x: x * (1 - x) ** 4 * np.where(np.arange(len(x)) % 10 == 0, 8.0, 1.0),
        "a beta law with every tenth answer eight times as common",
    ),
}


def numeric_population(name: str, k: int) -> Population:
    """Make a shape over K answers in the middles of as many bins."""
    weights = NUMERIC_SHAPES[name][0]((np.arange(k) + 0.5) / k)
    return Population(name, "other", weights / weights.sum())


def incomes(histogram: Histogram, k: int) -> Population:
    """Insert dollars from 0 up to `INCOME_BOUND` into K bins of equal width."""
    inside = (histogram.values >= 0) & (histogram.values < INCOME_BOUND)
    places = histogram.values[inside] * k // INCOME_BOUND
    people = np.bincount(places, weights=histogram.counts[inside], minlength=k)
    return Population("incomes (ACS)", "real", people / people.sum())


@dataclass(frozen=True, eq=False)
class NumericContest:
    """One setting: a population of numbers, a sample size, and epsilon."""

    population: Population
    n: int
    epsilon: int
    seeds: int

    @property
    def experiment(self) -> str:
        """The folder of its file."""
        return "numbers"

    @property
    def name(self) -> str:
        """The name of its file."""
        digest = f" {self.population.digest}" if self.population.digest else ""
        return f"{self.population.name}{digest} K={self.population.k} N={self.n} epsilon={self.epsilon}"

    @property
    def title(self) -> str:
        """One-line description."""
        return f"{self.population.name}, N = {self.n:,}, ε = {self.epsilon:g}"

    @property
    def cost(self) -> float:
        """About how many milliseconds it takes."""
        return self.seeds * 1000.0

    def columns(self) -> dict[str, Counts]:
        """Draw, estimate and measure."""
        k, design = self.population.k, SquareWave(self.population.k, epsilon=self.epsilon)
        rng = generator("numbers", self.population.name, k, self.n, self.epsilon, self.seeds)
        rows: list[tuple[Any, ...]] = []
        for seed in range(self.seeds):
            people = rng.multinomial(self.n, self.population.shares)
            counts = reports_of_people(people, design, rng=rng)
            histograms = hierarchical_reports(people, self.epsilon, rng=rng)
            found = {
                **estimates(counts, design, (SMOOTHED, MOST_LIKELY)),
                EMS: em_smoothed(counts, design.law.likelihood()),
                HIERARCHY: nearest_hierarchy(histograms, k),
            }
            for name, shares in found.items():
                apart = (shares - people / self.n).cumsum()
                rows.append((name, seed, *(float(distance(apart)) for distance in DISTANCES.values())))
        names = ("estimator", "seed", *DISTANCES)
        columns = dict(zip(names, map(np.array, zip(*rows, strict=True)), strict=True))
        return columns | {"estimator": columns["estimator"].astype(object)}

    def parsed(self, columns: dict[str, Counts]) -> dict[str, dict[str, float]]:
        """Return the mean distances of each estimator; the columns must hold every seed."""
        by_estimator = {}
        for name in dict.fromkeys(columns["estimator"].tolist()):
            rows = columns["estimator"] == name
            if int(rows.sum()) != self.seeds:
                raise ValueError(f"it has {int(rows.sum())} seeds of {name}, not {self.seeds}")
            by_estimator[name] = {measure: float(columns[measure][rows].mean()) for measure in DISTANCES}
        return by_estimator


def numeric_contests(scale: Scale, real: Iterable[Population]) -> list[NumericContest]:
    """List all settings: every shape, and real numbers."""
    populations = [numeric_population(name, scale.numeric_answers) for name in NUMERIC_SHAPES]
    settings = product([*populations, *real], scale.numeric_people, scale.numeric_epsilons)
    return [NumericContest(population, n, epsilon, scale.numeric_seeds) for population, n, epsilon in settings]


class NumericSummary(NamedTuple):
    """An estimator's distances as ratios to EMS over some settings: geometric means, and the worst by W1."""

    estimator: str
    settings: int
    means: dict[str, float]
    closer: int  # settings in which W1 is smaller than that of EMS
    worst: float
    where: str


NumericOutcomes = dict[NumericContest, dict[str, dict[str, float]]]


def ratios_to_ems(found: NumericOutcomes) -> NumericOutcomes:
    """Divide every distance by that of EMS in the same setting."""
    return {
        contest: {
            name: {measure: told[measure] / distances[EMS][measure] for measure in DISTANCES}
            for name, told in distances.items()
        }
        for contest, distances in found.items()
    }


def numeric_summaries(found: NumericOutcomes) -> list[NumericSummary]:
    """Summarize every estimator over some settings, the closest first."""
    ratios = ratios_to_ems(found)
    listed = []
    for name in next(iter(ratios.values())):
        own = {contest: told[name] for contest, told in ratios.items()}
        means = {
            measure: float(np.exp(np.mean([np.log(told[measure]) for told in own.values()]))) for measure in DISTANCES
        }
        worst = max(own, key=lambda contest: own[contest]["wasserstein"])
        closer = sum(told["wasserstein"] < 1 for told in own.values())
        listed.append(NumericSummary(name, len(own), means, closer, own[worst]["wasserstein"], worst.title))
    return sorted(listed, key=lambda summary: summary.means["wasserstein"])


NUMERIC_HEADS = ("estimator", *DISTANCE_NAMES.values(), "W1 smaller than that of EMS", "worst W1", "where")


def numeric_table(found: NumericOutcomes) -> list[list[str]]:
    """Write the summaries as rows."""
    return [
        [
            one.estimator,
            *(f"{one.means[measure]:.2f}" for measure in DISTANCES),
            "–" if one.estimator == EMS else f"{one.closer} of {one.settings}",
            f"{one.worst:.2f}",
            "–" if one.estimator == EMS else one.where,
        ]
        for one in numeric_summaries(found)
    ]


POPULATION_HEADS = ("population", *(f"{name}, smooth / EMS" for name in DISTANCE_NAMES.values()), "worst W1")


def population_table(found: NumericOutcomes, estimator: str = SMOOTHED) -> list[list[str]]:
    """Write one estimator's ratios to EMS by population."""
    rows = []
    for name in dict.fromkeys(contest.population.name for contest in found):
        part = {contest: told for contest, told in found.items() if contest.population.name == name}
        own = next(one for one in numeric_summaries(part) if one.estimator == estimator)
        rows.append([name, *(f"{own.means[measure]:.2f}" for measure in DISTANCES), f"{own.worst:.2f}"])
    return rows
