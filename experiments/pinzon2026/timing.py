"""Running times of the estimators: as K grows, and against IBU. Seconds vary from run to run: no Parquet files."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from experiments.pinzon2026.methods import ESTIMATORS
from warner import RandomizedResponse, channel_mle, ibu, mle
from warner.metrics import squared_error_sum
from warner.simulate import reports_of_population, zipf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from experiments.pinzon2026.iteration import Descent

GROWTH_ROUNDS, RACE_ROUNDS = 5, 3  # the fastest of these counts


class Growth(NamedTuple):
    """The power of K that the time of each estimator grows with, fitted between two numbers of answers."""

    powers: Mapping[str, float]
    smallest: int
    largest: int


class Race(NamedTuple):
    """Seconds for one histogram: MLE*, IBU, the solver for any channel; and how far that one ends from MLE*."""

    mle: float
    ibu: float
    channel: float
    channel_distance: float


class Timings(NamedTuple):
    """All that was timed; a race for each setting, by its title."""

    growth: Growth | None = None
    races: Mapping[str, Race] = {}

    def to_dict(self) -> dict[str, float]:
        """Return all numbers under names of their own."""
        numbers: dict[str, float] = {}
        if self.growth is not None:
            numbers |= {f"slope {name}": power for name, power in self.growth.powers.items()}
            numbers |= {"slope from": float(self.growth.smallest), "slope to": float(self.growth.largest)}
        for title, race in self.races.items():
            numbers |= {f"{name.replace('_', ' ')} {title}": value for name, value in race._asdict().items()}
        return numbers


def growth(largest: int) -> Growth:
    """Time each estimator as K grows, with one report for each answer on average, and fit the power of K."""
    sizes = np.geomspace(largest / 64, largest, 4).astype(int).tolist()
    seconds: dict[str, list[float]] = {name: [] for name in ESTIMATORS}
    for k in sizes:
        design = RandomizedResponse(k, epsilon=2)
        counts = reports_of_population(zipf(k, 1.3), k, design, rng=np.random.default_rng(1))
        for name, estimator in ESTIMATORS.items():
            work = partial(estimator, counts, design)
            seconds[name].append(min(_seconds(work) for _ in range(GROWTH_ROUNDS)))
    powers = {name: float(np.polyfit(np.log(sizes), np.log(taken), 1)[0]) for name, taken in seconds.items()}
    return Growth(powers, sizes[0], sizes[-1])


def race(descent: Descent, steps: int) -> Race:
    """Time three ways on the first histogram of a setting: MLE*, `steps` updates of IBU, the solver for any channel.

    Also how far that solver, which sees nothing but a matrix, ends from MLE*, as a squared distance.
    """
    counts, design = descent.counts()[0], descent.design
    works: tuple[Callable[[], object], ...] = (
        lambda: mle(counts, design),
        lambda: ibu(counts, design, iterations=steps, gap=0),
        lambda: channel_mle(counts, design),
    )
    rounds = [[_seconds(work) for work in works] for _ in range(RACE_ROUNDS)]  # in turn: a busy moment hits them all
    direct, iterated, solved = (min(seconds) for seconds in zip(*rounds, strict=True))
    distance = squared_error_sum(channel_mle(counts, design).shares, mle(counts, design))
    return Race(direct, iterated, solved, float(distance))


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
