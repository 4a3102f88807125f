"""The complete results, a figure for each metric and population: a row of panels for each K, a column for each ε."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warner.papers.pinzon2026.drawing import GREY, draw_legend, figure, named
from warner.papers.pinzon2026.grid import surveys
from warner.papers.pinzon2026.overview import METRICS, POPULATIONS, draw_lines, explained, scaled
from warner.simulate import zipf

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from warner.papers.pinzon2026.grid import Grid, Survey
    from warner.papers.pinzon2026.scale import Scale


def wanted(scale: Scale) -> list[Survey]:
    """List the configurations of the complete figures."""
    return [survey for survey in surveys(scale) if survey.epsilon in scale.columns]


def figures(grid: Grid, scale: Scale, metrics: tuple[str, ...] = ("mse", "nll")) -> dict[str, tuple[Figure, str]]:
    """Draw each metric in each population, the true histogram on the left, and write the captions."""
    found = {(one.k, one.s, one.n, one.epsilon): (one, outcome) for one, outcome in grid.items()}
    drawn = {}
    for metric in metrics:
        title, unit = METRICS[metric]
        for s in scale.exponents:
            rows, columns = len(scale.answers), 1 + len(scale.columns)
            drawing, panels = figure(1.2 + 2.1 * columns, 1.6 + 1.7 * rows, rows, columns)
            handles: dict[str, Any] = {}
            for row, k in zip(panels, scale.answers, strict=True):
                _truth(row[0], found[k, s, max(scale.people), scale.columns[0]][0])
                for panel, epsilon in zip(row[1:], scale.columns, strict=True):
                    outcomes = [found[k, s, n, epsilon][1] for n in scale.people]
                    outcomes = [{name: one for name, one in each.items() if name != "auto"} for each in outcomes]
                    draw_lines(panel, scale.people, outcomes, metric, k, handles)
                    scaled(panel, metric, by_people=True)
                    named(panel, "N, people" if k == scale.answers[-1] else None, None)
                    panel.set_xticks(scale.people)
                    if k == scale.answers[0]:
                        panel.set_title(f"ε = {epsilon}", fontsize=11)
                for panel in row:
                    panel.minorticks_off()
                named(row[0], "category" if k == scale.answers[-1] else None, f"K = {k:,}")
            panels[0][0].set_title("true share", fontsize=11)
            population = f"s = {s:g}, {POPULATIONS.get(s, 'Zipf')}"
            draw_legend(drawing, handles, f"{title} ({unit}) against N:  {population}")
            drawn[f"complete {metric} s={s:g}"] = (
                drawing,
                f"{title} ({unit}) against N for {population}. Rows: K; columns: ε. On the left the true shares: grey "
                f"the law, black the realised histogram of {max(scale.people):,} people (ε = {scale.columns[0]}). "
                + explained(metric, scale.seeds),
            )
    return drawn


def _truth(panel: Any, survey: Survey) -> None:
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
