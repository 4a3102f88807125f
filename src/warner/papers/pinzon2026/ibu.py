"""MLE* against the iterative Bayesian update: how many updates it takes to come near, and how long that is."""

from __future__ import annotations

import time
from dataclasses import astuple, dataclass
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.designs import RandomizedResponse
from warner.estimators import mle
from warner.estimators.likelihood import channel_mle, ibu
from warner.metrics import squared_error_sum
from warner.papers.pinzon2026.drawing import BAND, LINES, band, draw_legend, figure, log_axis
from warner.papers.pinzon2026.repetition import generator
from warner.simulate import reports_of_population, zipf

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from warner.papers.pinzon2026.repetition import Columns
    from warner.papers.pinzon2026.scale import Scale

EXPERIMENT = "ibu"
NEAR = 1e-3  # squared distance to the exact MLE, summed over the answers, from which on we call it reached
POINTS = 120  # updates at which the distance is kept, about evenly spaced on a logarithmic axis


@dataclass(frozen=True, order=True)
class Descent:
    """One setting: so many people from a Zipf law, randomized some times, and IBU from the uniform distribution."""

    k: int
    s: float
    n: int
    epsilon: float
    steps: int
    runs: int

    @property
    def experiment(self) -> str:
        """The folder of its file."""
        return EXPERIMENT

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"K={self.k} s={self.s} N={self.n} epsilon={self.epsilon}"

    @property
    def cost(self) -> float:
        """About how many milliseconds it takes."""
        return self.steps * (0.02 + 6e-6 * self.k * self.runs)

    @property
    def design(self) -> RandomizedResponse:
        """What every answer goes through."""
        return RandomizedResponse(self.k, epsilon=self.epsilon)

    def counts(self) -> NDArray[np.int64]:
        """Draw the reports: a histogram for each run."""
        rng = generator(EXPERIMENT, *astuple(self)[:4])
        return reports_of_population(zipf(self.k, self.s), self.n, self.design, rng=rng, size=self.runs)

    def columns(self) -> Columns:
        """Iterate all runs together, and keep the distance to the exact MLE and the certified gap along the way."""
        counts = self.counts()
        exact = mle(counts, self.design)
        q, kappa = self.design.q, self.design.p - self.design.q
        observed = counts / self.n
        shares = np.full(counts.shape, 1 / self.k)
        kept = np.unique(np.geomspace(1, self.steps, POINTS).round().astype(int)) if self.steps else np.zeros(0, int)
        kept = np.concatenate([[0], kept])
        wanted = set(kept.tolist())
        reached = np.full(self.runs, -1)
        distances, gaps = [], []
        for step in range(self.steps + 1):
            growth = observed / (q + kappa * shares)
            together = growth.sum(axis=-1, keepdims=True)
            growth *= kappa
            growth += q * together
            distance = squared_error_sum(shares, exact)
            reached[(reached < 0) & (distance < NEAR)] = step
            if step in wanted:
                distances.append(distance)
                gaps.append(self.n * np.log(np.maximum(growth.max(axis=-1), 1)))
            shares *= growth
            shares /= shares.sum(axis=-1, keepdims=True)
        size = kept.size * self.runs
        settings = {"k": self.k, "s": self.s, "n": self.n, "epsilon": self.epsilon}
        return {name: np.full(size, value) for name, value in settings.items()} | {
            "run": np.tile(np.arange(self.runs), kept.size),
            "step": np.repeat(kept, self.runs),
            "squared_distance": np.concatenate(distances),
            "gap": np.concatenate(gaps),
            "steps_to_near": np.tile(reached, kept.size),
        }


class Path(NamedTuple):
    """The way of all runs of a setting, arrays of shape (points, runs), and the steps that each needed (-1: more)."""

    step: NDArray[np.int64]
    squared_distance: NDArray[np.float64]
    gap: NDArray[np.float64]
    reached: NDArray[np.int64]


def descents(scale: Scale) -> list[Descent]:
    """List all settings."""
    return [
        Descent(scale.ibu_answers, s, n, epsilon, scale.ibu_steps, scale.ibu_runs)
        for s, n, epsilon in product(scale.ibu_exponents, scale.ibu_people, scale.ibu_epsilons)
    ]


def path(columns: Columns, runs: int) -> Path:
    """Take the columns of a `Descent` apart again."""
    step, distance, gap, reached = (
        columns[name].reshape(-1, runs) for name in ("step", "squared_distance", "gap", "steps_to_near")
    )
    return Path(step[:, 0], distance, gap, reached[0])


def seconds(descent: Descent, steps: int) -> dict[str, float]:
    """Time three ways on the first histogram of a setting: MLE*, so many updates of IBU, the solver for any channel.

    Also how far that solver, which sees nothing but a matrix, ends from MLE*, as a squared distance.
    """
    counts = descent.counts()[0]
    design = descent.design
    works: dict[str, Callable[[], object]] = {
        "mle": lambda: mle(counts, design),
        "ibu": lambda: ibu(counts, design, iterations=steps, gap=0),
        "channel": lambda: channel_mle(counts, design),
    }
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(3):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            taken[name].append(time.perf_counter() - start)
    away = float(squared_error_sum(channel_mle(counts, design).shares, mle(counts, design)))
    return {name: min(times) for name, times in taken.items()} | {"channel distance": away}


def figures(paths: dict[Descent, Path]) -> dict[str, tuple[Figure, str]]:
    """Draw a figure for each population and number of people, with its caption."""
    drawn = {}
    for s, n in sorted({(one.s, one.n) for one in paths}):
        shown = {one.epsilon: (one, way) for one, way in paths.items() if (one.s, one.n) == (s, n)}
        drawing, ((left, right),) = figure(8.8, 3.9, 1, 2, across=1.05)
        handles = {}
        for (epsilon, (_, way)), (colour, marker) in zip(sorted(shown.items()), LINES, strict=False):
            steps = np.maximum(way.step, 0.7)  # the start, step 0, at the left edge of a logarithmic axis
            for axes, values in ((left, way.squared_distance), (right, way.gap)):
                handles[f"ε = {epsilon:g}"] = band(axes, steps, np.maximum(values, 1e-30), colour, marker, every=10)
        left.axhline(NEAR, color="0.5", linewidth=0.8, linestyle=":")
        right.axhline(0.01, color="0.5", linewidth=0.8, linestyle=":")
        for axes, title, unit in (
            (left, "Squared distance to MLE*", "sum over the K answers"),
            (right, "Certified gap", "nats, whole sample"),
        ):
            log_axis(axes, "updates of IBU", unit)
            axes.set_title(title, fontsize=10)
            axes.set_ylim(bottom=max(axes.get_ylim()[0], 1e-12))
        draw_legend(drawing, handles, f"IBU on the way to MLE*:  K = {next(iter(paths)).k}, s = {s:g}, n = {n:,}")
        one = next(iter(shown.values()))[0]
        caption = (
            f"IBU from the uniform distribution, {one.steps:,} updates, K = {one.k}, Zipf exponent {s:g}, n = {n:,}. "
            f"Left: squared distance to MLE*, a sum over the answers; the dotted line is at {NEAR:g}. Right: the "
            "certified gap, a proven bound on the log-likelihood that IBU still lacks, in nats for the whole sample; "
            f"below the dotted line at 0.01 it is of no statistical consequence. Step 0, the start, is drawn at "
            f"the left edge. Lines: median of {one.runs} runs; {BAND.replace('seeds', 'runs')}."
        )
        drawn[f"ibu s={s:g} n={n}"] = (drawing, caption)
    return drawn
