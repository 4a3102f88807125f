"""The complete results, a figure for each metric and population: a row of panels for each K, a column for each ε."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments.pinzon2026.drawing import GREY, CaptionedFigure, draw_heading, label_axes, name_panel, new_figure
from experiments.pinzon2026.grid import surveys
from experiments.pinzon2026.methods import METHOD_LABELS
from experiments.pinzon2026.overview import METRICS, POPULATIONS, draw_estimators, lines_explained, scale_axes
from warner.simulate import zipf

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from experiments.pinzon2026.drawing import Figures
    from experiments.pinzon2026.grid import Grid, ZipfSurvey
    from experiments.pinzon2026.scale import Scale


def wanted(scale: Scale) -> list[ZipfSurvey]:
    """List the configurations of the complete figures."""
    return [survey for survey in surveys(scale) if survey.epsilon in scale.columns]


def figures(grid: Grid, scale: Scale, metrics: tuple[str, ...] = ("mse", "nll")) -> Figures:
    """Draw each metric in each population, the true histogram on the left, and write the captions."""
    return {
        f"complete {metric} s={s:g}": _figure(grid, scale, metric, s) for metric in metrics for s in scale.exponents
    }


def _figure(grid: Grid, scale: Scale, metric: str, s: float) -> CaptionedFigure:
    cells = {(survey.k, survey.n, survey.epsilon): survey for survey in grid if survey.s == s}
    title, unit = METRICS[metric]
    rows, columns = len(scale.answers), 1 + len(scale.columns)
    figure, panels = new_figure(1.2 + 2.1 * columns, 1.9 + 1.7 * rows, rows, columns)
    handles: dict[str, Line2D] = {}
    for row, k in zip(panels, scale.answers, strict=True):
        _draw_truth(row[0], cells[k, max(scale.people), scale.columns[0]])
        for panel, epsilon in zip(row[1:], scale.columns, strict=True):
            along = [
                {name: outcome for name, outcome in grid[cells[k, n, epsilon]].items() if name != "auto"}
                for n in scale.people
            ]
            draw_estimators(panel, scale.people, along, metric, k, handles)
            scale_axes(panel, metric, by_people=True)
            label_axes(panel, "respondents" if k == scale.answers[-1] else None, None)
            if k == scale.answers[0]:
                name_panel(panel, f"ε = {epsilon}")
        for panel in row:
            panel.minorticks_off()
        label_axes(row[0], "category" if k == scale.answers[-1] else None, f"K = {k:,}")
    name_panel(panels[0][0], "true share")
    population = f"s = {s:g}, {POPULATIONS.get(s, 'Zipf')}"
    draw_heading(figure, f"{title} by sample size", [unit, population], handles, METHOD_LABELS)
    return CaptionedFigure(
        figure,
        f"{title} ({unit}) against N for {population}. Rows: K; columns: ε. On the left the true shares: grey "
        f"the law, black the realised histogram of {max(scale.people):,} people (ε = {scale.columns[0]}). "
        + lines_explained(metric, scale.seeds),
    )


def _draw_truth(panel: Axes, survey: ZipfSurvey) -> None:
    category = np.arange(1, survey.k + 1)
    people = survey.people()
    held = np.flatnonzero(people)
    panel.plot(category[held], people[held] / survey.n, ".", color="black", markersize=2.0, alpha=0.35, rasterized=True)
    panel.plot(category, zipf(survey.k, survey.s), color=GREY, linewidth=1.2)
    panel.set_xscale("log")
    panel.set_yscale("log")
    low, high = panel.get_ylim()
    centre = np.sqrt(low * high)
    panel.set_ylim(min(low, centre / 10), max(high, 10 * centre))  # a flat population is to look flat
