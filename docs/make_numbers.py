"""Draw the picture of `numbers.md`: made-up incomes, and what two estimators make of 20,000 randomized reports of them.

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
PICTURE_INCHES = (8.0, 4.2)


def draw(ax: Axes) -> None:
    """Draw the true shares, those of `smooth` and of `mle`, and the interval of the mean."""
    x = np.arange(201)
    incomes = x**1.5 * np.exp(-x / 20)
    incomes = incomes / incomes.sum()
    survey = warner.SquareWave(warner.grid(0, 200_000, 1_000), epsilon=1)
    tally = warner.Tally(survey, survey.simulate(incomes, 20_000, rng=np.random.default_rng(1)))
    smooth, most_likely = (warner.estimate(tally, method=method) for method in ("smooth", "mle"))
    mean = smooth.mean()
    ax.axvspan(float(mean.low) / 1000, float(mean.high) / 1000, color=PALETTE[2], alpha=0.2, linewidth=0, label="mean")
    ax.fill_between(x, 100 * smooth.shares, color=PALETTE[0], alpha=0.35, linewidth=0, label="smooth")
    spikes = np.flatnonzero(most_likely.shares > 1e-6)
    ax.vlines(spikes, 0, 100 * most_likely.shares[spikes], color=PALETTE[1], linewidth=1.4, label="mle")
    ax.plot(x, 100 * incomes, color=INK, linewidth=1.6, linestyle="--", label="truth")
    ax.set_xlim(0, 200)
    ax.set_ylim(0, 5)
    ax.set_xlabel("income (thousand)")
    ax.set_ylabel("share of people (%)")
    ax.grid(color=GRID_COLOR, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9)
    ax.set_title("20,000 randomized reports of an income, ε = 1", loc="left", fontsize=11)
    beyond = spikes[100 * most_likely.shares[spikes] > 5]
    if beyond.size:
        ax.annotate(
            f"spikes of mle reach {100 * most_likely.shares.max():.0f} %",
            (1, 0), xycoords="axes fraction", xytext=(-4, 60), textcoords="offset points", ha="right", fontsize=8,
        )  # fmt: skip


if __name__ == "__main__":
    save_picture(draw, PICTURE_INCHES, TARGET)
