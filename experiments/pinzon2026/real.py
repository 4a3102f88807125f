"""The experiment on real populations: clicks on a news portal, places and incomes of a census survey, baskets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from experiments.pinzon2026.datasets import PUBLISHED_COLUMNS
from experiments.pinzon2026.drawing import (
    BAND_CAPTION,
    BAND_NOTE,
    ESTIMATOR_STYLES,
    WIDTH,
    CaptionedFigure,
    draw_band,
    draw_heading,
    label_axes,
    name_panel,
    new_figure,
)
from experiments.pinzon2026.methods import METHOD_LABELS, PAPER_METHODS
from experiments.pinzon2026.repetition import complete_outcomes, generator, repeated
from experiments.pinzon2026.results import load
from warner import RandomizedResponse

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from experiments.pinzon2026.datasets import Histogram
    from experiments.pinzon2026.drawing import Figures
    from experiments.pinzon2026.repetition import Columns, EstimatorErrors
    from experiments.pinzon2026.scale import Scale

Real: TypeAlias = "dict[str, dict[RealSurvey, dict[str, EstimatorErrors]]]"  # by dataset


@dataclass(frozen=True, eq=False)
class RealSurvey:
    """One configuration: a real population and an epsilon."""

    histogram: Histogram
    epsilon: float
    seeds: int

    experiment = "real"

    @property
    def name(self) -> str:
        """The name of its file, with the content of the histogram in it: other data are another configuration."""
        return f"{self.histogram.name} {self.histogram.digest} epsilon={self.epsilon}"

    @property
    def cost(self) -> float:
        """About how many milliseconds it takes."""
        return self.seeds * (0.05 + 2e-4 * self.histogram.k)

    @property
    def design(self) -> RandomizedResponse:
        """Design of the reports."""
        return RandomizedResponse(self.histogram.k, epsilon=self.epsilon)

    def columns(self) -> Columns:
        """Randomize the people for each seed, and measure every estimator."""
        people = self.histogram.people()
        rng = generator(self.experiment, self.histogram.name, self.histogram.digest, self.epsilon)
        measured = repeated(people, self.design, seeds=self.seeds, rng=rng)
        size = measured["seed"].size
        settings = {
            "dataset": self.histogram.name,
            "k": self.histogram.k,
            "n": self.histogram.n,
            "epsilon": self.epsilon,
            "absent": int((people == 0).sum()),
        }
        return {name: np.full(size, value) for name, value in settings.items()} | measured

    def parsed(self, columns: Columns) -> dict[str, EstimatorErrors]:
        """Split the columns again, by estimator."""
        return complete_outcomes(columns, seeds=self.seeds)


def surveys(histograms: list[Histogram], scale: Scale) -> list[RealSurvey]:
    """List the configurations for the histograms that were loaded."""
    return [RealSurvey(histogram, epsilon, scale.seeds) for histogram in histograms for epsilon in scale.real_epsilons]


def read(folder: Path, wanted: list[RealSurvey]) -> Real:
    """Read the outcomes of configurations that were computed, by dataset."""
    by_dataset: Real = {}
    for survey in wanted:
        by_dataset.setdefault(survey.histogram.name, {})[survey] = load(folder, survey)
    return by_dataset


def figures(real: Real) -> Figures:
    """Draw, for each column, the true histogram beside the mean squared error against epsilon."""
    return {f"real {name}": _figure(outcomes_of) for name, outcomes_of in real.items()}


def _figure(outcomes_of: dict[RealSurvey, dict[str, EstimatorErrors]]) -> CaptionedFigure:
    ordered = sorted(outcomes_of, key=lambda survey: survey.epsilon)
    histogram = ordered[0].histogram
    figure, ((left, right),) = new_figure(WIDTH, 4.1, 1, 2, across=1.0)
    _draw_truth(left, histogram)
    handles: dict[str, Line2D] = {}
    for estimator in PAPER_METHODS:
        values = np.array([outcomes_of[survey][estimator].squared_error / histogram.k for survey in ordered])
        colour, marker = ESTIMATOR_STYLES[estimator]
        style = "--" if estimator == "inv" else "-"
        epsilons = [survey.epsilon for survey in ordered]
        handles[estimator] = draw_band(right, epsilons, values, colour, marker, mean=True, style=style)
    right.set_yscale("log")
    right.set_xticks([2, 4, 6, 8, 10])
    label_axes(right, "epsilon", "mean over the K answers")
    name_panel(right, "mean squared error")
    notes = [f"{histogram.k:,} answers", f"{histogram.n:,} {histogram.unit}", BAND_NOTE]
    draw_heading(figure, histogram.title, notes, handles, METHOD_LABELS)
    return CaptionedFigure(figure, _caption(histogram, ordered[0].seeds))


def _draw_truth(panel: Axes, histogram: Histogram) -> None:
    shares = histogram.counts / histogram.n
    panel.plot(histogram.values, shares, ".", color="black", markersize=2.5, alpha=0.4, rasterized=True)
    panel.set_yscale("log")
    incomes = histogram.name == "acs_pincp"
    if incomes and histogram.first > 0:
        panel.set_xscale("log")
    label_axes(panel, histogram.axis, f"share of the {histogram.unit}")
    name_panel(panel, "true histogram")
    if not incomes:
        panel.xaxis.set_major_formatter("{x:,.0f}")
        panel.locator_params(axis="x", nbins=4)
        margin = 0.03 * histogram.k  # around the whole domain, including answers with a share of zero
        panel.set_xlim(histogram.first - margin, histogram.last + margin)


def _caption(histogram: Histogram, seeds: int) -> str:
    binned = (
        "; the published code cuts each column into K equal bins instead, so two codes can share one there"
        if histogram.name in PUBLISHED_COLUMNS
        else ""
    )
    return (
        f"{histogram.title}: K = {histogram.k:,}, N = {histogram.n:,}, {histogram.values.size:,} values seen. Data: "
        f"{histogram.coverage}. A category is one code or number from {histogram.first:,} to {histogram.last:,}, "
        f"whether it was seen or not{binned}. Left: true shares. Right: mean squared error (mean over the K answers). "
        f"Lines: mean over {seeds} seeds; {BAND_CAPTION}."
    )
