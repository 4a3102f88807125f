"""Draw the figure of `numeric-answers.md`: made-up incomes, and two estimates from 20,000 randomized reports.

    python docs/make_numbers.py

The incomes, the design and the seed are those of the page, whose examples run as tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import warner
from warner.output.canvas import GRID_COLOR, INK, PALETTE, save_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TARGET = Path(__file__).parent / "images" / "numbers.png"
PICTURE_INCHES = (8.0, 4.0)


def draw(ax: Axes) -> None:
    """Draw the true shares in two panels: with `smooth` and the interval of the mean, and with `mle`."""
    x = np.arange(201)
    incomes = x**1.5 * np.exp(-x / 20)
    incomes = incomes / incomes.sum()
    survey = warner.SquareWave(warner.grid(0, 200_000, 1_000), epsilon=1)
    tally = warner.Tally(survey, survey.simulate(incomes, 20_000, rng=np.random.default_rng(1)))
    smooth, most_likely = (warner.estimate(tally, method=method) for method in ("smooth", "mle"))
    mean = smooth.mean()
    figure = ax.figure
    ax.remove()
    left, right = figure.subplots(1, 2)
    left.fill_between(x, 100 * smooth.shares, color=PALETTE[0], alpha=0.6, linewidth=0, label="estimated: smooth")
    left.axvspan(
        float(mean.low) / 1000, float(mean.high) / 1000, color=PALETTE[1], alpha=0.4, linewidth=0, label="mean"
    )
    spikes = np.flatnonzero(most_likely.shares > 1e-6)
    right.vlines(spikes, 0, 100 * most_likely.shares[spikes], color=PALETTE[0], linewidth=1.6, label="estimated: mle")
    for panel in (left, right):
        panel.plot(x, 100 * incomes, color=INK, linewidth=1.6, linestyle="--", label="true")
        panel.set_xlim(0, 200)
        panel.set_ylim(bottom=0)
        panel.set_xlabel("income (thousand)")
        panel.grid(color=GRID_COLOR, linewidth=0.6)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
        panel.legend(frameon=False, fontsize=9, loc="upper right")
    left.set_ylabel("share of respondents (%)")
    left.set_title("20,000 randomized reports of an income, ε = 1", loc="left", fontsize=12)


if __name__ == "__main__":
    save_picture(draw, PICTURE_INCHES, TARGET)
