"""MLE* against the iterative Bayesian update (IBU): how many updates it takes to come near."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from experiments.pinzon2026.drawing import (
    BAND_CAPTION,
    BAND_NOTE,
    COLOURS_AND_MARKERS,
    WIDTH,
    CaptionedFigure,
    draw_band,
    draw_heading,
    label_axes,
    name_panel,
    new_figure,
)
from experiments.pinzon2026.repetition import generator
from warner import RandomizedResponse, mle
from warner.metrics import squared_error_sum
from warner.simulate import reports_of_population, zipf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.lines import Line2D
    from numpy.typing import NDArray

    from experiments.pinzon2026.drawing import Figures
    from experiments.pinzon2026.repetition import Columns
    from experiments.pinzon2026.scale import Scale

REACHED_DISTANCE = 1e-3  # squared distance to the exact MLE, summed over the answers, from which on we call it reached
POINTS_KEPT = 120  # updates at which the distance is kept, about evenly spaced on a logarithmic axis


class Trajectory(NamedTuple):
    """Where all runs of a descent came: arrays of shape (points, runs), and the updates to `NEAR` (-1: more)."""

    step: NDArray[np.int64]
    squared_distance: NDArray[np.float64]
    gap: NDArray[np.float64]
    steps_to_near: NDArray[np.int64]


@dataclass(frozen=True, order=True)
class Descent:
    """One setting: n people from a Zipf law, randomized `runs` times, and IBU from the uniform distribution."""

    k: int
    s: float
    n: int
    epsilon: float
    steps: int
    runs: int

    experiment = "ibu"

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
        """Design of the reports."""
        return RandomizedResponse(self.k, epsilon=self.epsilon)

    def counts(self) -> NDArray[np.int64]:
        """Draw the reports: a histogram for each run."""
        rng = generator(self.experiment, *astuple(self)[:4])
        return reports_of_population(zipf(self.k, self.s), self.n, self.design, rng=rng, size=self.runs)

    def columns(self) -> Columns:
        """Iterate all runs together, and keep the distance to the exact MLE and the certified gap along the way."""
        counts, design = self.counts(), self.design
        exact, observed = mle(counts, design), counts / self.n
        shares = np.full(counts.shape, 1 / self.k)
        kept = self._kept_steps()
        steps_to_near = np.full(self.runs, -1)
        distances, gaps = [], []
        for step in range(self.steps + 1):
            growth = _growth(shares, observed, design)
            distance = squared_error_sum(shares, exact)
            steps_to_near[(steps_to_near < 0) & (distance < REACHED_DISTANCE)] = step
            if step in kept:
                distances.append(distance)
                gaps.append(self.n * np.log(np.maximum(growth.max(axis=-1), 1)))
            shares *= growth
            shares /= shares.sum(axis=-1, keepdims=True)
        size = len(kept) * self.runs
        settings = {"k": self.k, "s": self.s, "n": self.n, "epsilon": self.epsilon}
        return {name: np.full(size, value) for name, value in settings.items()} | {
            "run": np.tile(np.arange(self.runs), len(kept)),
            "step": np.repeat(list(kept), self.runs),
            "squared_distance": np.concatenate(distances),
            "gap": np.concatenate(gaps),
            "steps_to_near": np.tile(steps_to_near, len(kept)),
        }

    def parsed(self, columns: Columns) -> Trajectory:
        """Split the columns again."""
        step, distance, gap, steps_to_near = (
            columns[name].reshape(-1, self.runs) for name in ("step", "squared_distance", "gap", "steps_to_near")
        )
        return Trajectory(step[:, 0], distance, gap, steps_to_near[0])

    def _kept_steps(self) -> dict[int, None]:
        spaced = np.geomspace(1, self.steps, POINTS_KEPT).round().astype(int) if self.steps else np.zeros(0, int)
        return dict.fromkeys([0, *np.unique(spaced).tolist()])  # in order, and looked up at each step


def _growth(
    shares: NDArray[np.float64], observed: NDArray[np.float64], design: RandomizedResponse
) -> NDArray[np.float64]:
    """Return the factors of one update: q sum_j phi_j/mu_j + (p-q) phi_i/mu_i, with mu = q + (p-q) theta.

    This is the update of `warner.ibu`, which gives the last iterate alone, while the figure needs the distance after
    every update. Asked for one update at a time, of one histogram at a time, it takes 16 times as long (K = 60), and
    it adds up in another order: two thirds of the stored distances would change in their last digits.
    """
    kappa = design.p - design.q
    growth = observed / (design.q + kappa * shares)
    together = growth.sum(axis=-1, keepdims=True)
    growth *= kappa
    growth += design.q * together
    return growth


def descents(scale: Scale) -> list[Descent]:
    """List all settings."""
    return [
        Descent(scale.ibu_answers, s, n, epsilon, scale.ibu_steps, scale.ibu_runs)
        for s, n, epsilon in product(scale.ibu_exponents, scale.ibu_people, scale.ibu_epsilons)
    ]


def figures(trajectories: Mapping[Descent, Trajectory]) -> Figures:
    """Draw a figure for each population and sample size, with its caption."""
    return {
        f"ibu s={s:g} n={n}": _figure(
            {descent: trajectory for descent, trajectory in trajectories.items() if (descent.s, descent.n) == (s, n)}
        )
        for s, n in sorted({(descent.s, descent.n) for descent in trajectories})
    }


def _figure(trajectories: Mapping[Descent, Trajectory]) -> CaptionedFigure:
    """Draw the descents that differ in epsilon alone."""
    figure, ((left, right),) = new_figure(WIDTH, 4.1, 1, 2, across=1.0)
    handles: dict[str, Line2D] = {}
    by_epsilon = sorted(trajectories.items(), key=lambda pair: pair[0].epsilon)
    for (descent, trajectory), (colour, marker) in zip(by_epsilon, COLOURS_AND_MARKERS, strict=False):
        steps = np.maximum(trajectory.step, 0.7)  # the start, step 0, at the left edge of a logarithmic axis
        for axes, values in ((left, trajectory.squared_distance), (right, trajectory.gap)):
            handles[f"ε = {descent.epsilon:g}"] = draw_band(
                axes, steps, np.maximum(values, 1e-30), colour, marker, every=10
            )
    left.axhline(REACHED_DISTANCE, color="0.5", linewidth=0.8, linestyle=":")
    right.axhline(0.01, color="0.5", linewidth=0.8, linestyle=":")
    for axes, title, unit in (
        (left, "squared distance to MLE*", "sum over the K answers"),
        (right, "certified gap", "nats, whole sample"),
    ):
        axes.set_xscale("log")
        axes.set_yscale("log")
        label_axes(axes, "updates of IBU", unit)
        name_panel(axes, title)
        axes.set_ylim(bottom=max(axes.get_ylim()[0], 1e-12))
    descent = next(iter(trajectories))
    k, s, n = descent.k, descent.s, descent.n
    notes = [f"{k:,} answers", f"s = {s:g}", f"{n:,} respondents", BAND_NOTE]
    draw_heading(figure, "Convergence of IBU to MLE*", notes, handles, {})
    caption = (
        f"IBU from the uniform distribution, {descent.steps:,} updates, K = {k}, Zipf exponent {s:g}, N = {n:,}. "
        f"Left: squared distance to MLE*, a sum over the answers; the dotted line is at {REACHED_DISTANCE:g}. Right: "
        "the certified gap, a proven bound on the log-likelihood that IBU still lacks, in nats for the whole sample; "
        f"below the dotted line at 0.01 it is of no statistical consequence. Step 0, the start, is drawn at "
        f"the left edge. Lines: median of {descent.runs} runs; {BAND_CAPTION.replace('seeds', 'runs')}."
    )
    return CaptionedFigure(figure, caption)
