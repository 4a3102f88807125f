"""Measure how often the quantile intervals of `smooth` hold, and write the table of `numeric-answers.md`.

    python docs/make_quantile_coverage.py [surveys]

The table stands between ``<!-- measured: quantiles -->`` and ``<!-- end -->``; the words around it are written by hand,
and are to be read again when numbers have changed. 100 surveys of each kind take about ten minutes of one processor.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.stats import beta, norm

import warner
from warner.estimators.smoothing import smoothed_distribution
from warner.inference.means import quantile_places

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

PAGE = Path(__file__).parent / "how-to" / "numeric-answers.md"
BLOCK = re.compile(r"(<!-- measured: quantiles -->\n).*?(<!-- end -->)", flags=re.DOTALL)
SURVEYS, PEOPLE = 100, 10_000
LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
SETTINGS = ((50, 1), (50, 3), (256, 1), (256, 3))  # the number of answers, and epsilon


def _middles(k: int) -> Array:
    return (np.arange(k) + 0.5) / k


def _edges(k: int) -> Array:
    return np.arange(k + 1) / k


SHAPES: dict[str, Callable[[int], Array]] = {
    "beta law": lambda k: np.diff(beta.cdf(_edges(k), 5, 2)),
    "uniform": np.ones,
    "two peaks": lambda k: np.diff(0.6 * norm.cdf(_edges(k), 0.3, 0.05) + 0.4 * norm.cdf(_edges(k), 0.72, 0.09)),
    "pensions": lambda k: (
        0.16 * beta.pdf(_middles(k), 0.7, 9) + 0.5 * beta.pdf(_middles(k), 4, 6) + 0.34 * beta.pdf(_middles(k), 14, 10)
    ),
    "35 % zeros": lambda k: 0.35 * (np.arange(k) == 0) + 0.65 * np.diff(beta.cdf(_edges(k), 1.2, 6)),
    "three steps": lambda k: np.where(_middles(k) < 0.2, 3.0, np.where(_middles(k) < 0.6, 0.5, 1.5)),
    "round numbers": lambda k: _middles(k) * (1 - _middles(k)) ** 4 * np.where(np.arange(k) % 10 == 0, 8.0, 1.0),
}


class Cell(NamedTuple):
    """Coverage of the interval of one quantile in the surveys of one shape, and its mean length in the range."""

    held: float
    length: float


def measured(k: int, epsilon: int, index: int, surveys: int) -> list[Cell]:
    """Draw surveys of a shape, and ask each for all quantiles."""
    shares = list(SHAPES.values())[index](k)
    shares = shares / shares.sum()
    design = warner.SquareWave(k, epsilon=epsilon)
    rng = np.random.default_rng([k, 10 * epsilon, index])
    counts = design.simulate(shares, PEOPLE, rng=rng, size=surveys)
    distribution, deviation = smoothed_distribution(
        warner.Tally(design, counts, by=("survey",), groups=_named(surveys)).histograms(None), design
    )
    reach = norm.ppf(0.975)
    limits = [np.clip(distribution + side * reach * deviation, 0, 1) for side in (-1, 1)]
    for ends in limits:
        ends[:, -1] = 1
    cells = []
    for level in LEVELS:  # as `Estimate.quantile` has it, but with the curves fitted once for all levels
        truth = int(np.argmax(shares.cumsum() >= level - 1e-12))
        first, last = np.array([quantile_places(low, high, level) for low, high in zip(*limits, strict=True)]).T
        cells.append(Cell(float(((first <= truth) & (truth <= last)).mean()), float((last - first).mean()) / k))
    return cells


def _named(surveys: int) -> tuple[tuple[int], ...]:
    return tuple((one,) for one in range(surveys))


def table(surveys: int) -> str:
    """Make the table: ranges over the quantiles of means over the shapes, and the least of all shapes."""
    lines = [["answers", "ε", "coverage", "length", "lowest"], ["---:", "---:", "---", "---", "---"]]
    everything = []
    for k, epsilon in SETTINGS:
        by_shape = {name: measured(k, epsilon, index, surveys) for index, name in enumerate(SHAPES)}
        columns = list(zip(*by_shape.values(), strict=True))
        held = [float(np.mean([cell.held for cell in column])) for column in columns]
        lengths = [100 * float(np.mean([cell.length for cell in column])) for column in columns]
        least, name, level = min(
            (cell.held, name, level)
            for name, cells in by_shape.items()
            for cell, level in zip(cells, LEVELS, strict=True)
        )
        coverage = f"{min(held):.2f} to {max(held):.2f}"
        length = f"{min(lengths):.1f} to {max(lengths):.1f} %"
        lines.append([str(k), str(epsilon), coverage, length, f"{least:.2f} ({name}, {100 * level:.0f} %)"])
        everything += [cell.held for cells in by_shape.values() for cell in cells]
    count = surveys * len(everything)
    seeds = "seeds `default_rng([K, 10 * epsilon, index of the shape])`"
    error = np.ceil(50 / np.sqrt(surveys)) / 100
    mean = np.mean(everything)
    summary = f"Overall coverage is {mean:.2f} ({count:,} intervals, {surveys} surveys of each shape;\n{seeds})."
    summary += f" The standard error of the lowest coverage is at most {error:.2f}."
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + f"\n\n{summary}"


if __name__ == "__main__":
    surveys = int(sys.argv[1]) if len(sys.argv) > 1 else SURVEYS
    made = table(surveys)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(BLOCK.sub(lambda found: f"{found[1]}\n{made}\n\n{found[2]}", page), encoding="utf-8")
