"""The comparison in figures: every setting as a dot, and the means along epsilon, respondents and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.estimators.contests import ERROR_MEASURES, RESPONSE
from experiments.estimators.ratios import TOLERATED_RATIO, is_valid, sections, summaries
from experiments.pinzon2026.drawing import (
    ESTIMATOR_STYLES,
    GREY,
    HEADING,
    WIDTH,
    CaptionedFigure,
    draw_heading,
    label_axes,
    name_panel,
    new_figure,
)
from warner.output.canvas import INK, MARKERS, PALETTE

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from experiments.estimators.contests import Contest
    from experiments.estimators.ratios import Outcomes
    from experiments.pinzon2026.drawing import Figures

RATIO_AXIS = (0.05, 50)  # of the axis of ratios: dots beyond are drawn at the end
MEANS_SHOWN, MEANS_TICKED = (0.3, 6), (0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5)
TICKS = {"respondents": (1_000, 30_000, 1_000_000), "answers": (20, 100, 1_000)}
DOT_SCATTER = 0.33  # rows, up and down, that the dots of one estimator are spread over


def figures(found: Outcomes) -> Figures:
    """Draw every setting by squared error and by total variation, and the means along the settings."""
    drawn: Figures = {}
    for measure in ("squared_error", "total_variation"):
        drawn[f"settings {measure.replace('_', ' ')}"] = _settings(found, measure)
    drawn["along the settings"] = _along(found)
    return drawn


def _settings(found: Outcomes, measure: str) -> CaptionedFigure:
    parts = {title: part for title, part in sections(found).items() if not title.endswith("everything")}
    names = [summary.estimator for summary in summaries(found, measure)][::-1]
    columns = min(2, len(parts))  # more would be too small to read on a page
    rows = -(-len(parts) // columns)
    figure, panels = new_figure(
        WIDTH, 1.8 + rows * (0.45 + 0.22 * len(names)), rows, columns, left=1.1, across=0.18, down=0.55
    )
    for place in range(panels.size):
        panel: Axes = panels[divmod(place, columns)]
        if place >= len(parts):
            panel.set_visible(False)
            continue
        title, part = list(parts.items())[place]
        _draw_dots(panel, part, names, measure)
        name_panel(panel, f"{title} ({len(part)})")
        last = place + columns >= len(parts)
        label_axes(panel, f"{ERROR_MEASURES[measure]} / best in hindsight" if last else None, None)
        panel.set_yticks(range(len(names)), names if place % columns == 0 else [""] * len(names))
    title = f"{ERROR_MEASURES[measure].capitalize()} of every estimator against the best in hindsight"
    notes = [
        "best of inv_p, inv_n and mle",
        "numbers of settings in parentheses",
        "dots at an edge are beyond the axis",
    ]
    draw_heading(figure, title, notes, _dots_explained(), {})
    caption = (
        f"{ERROR_MEASURES[measure].capitalize()} of every estimator, divided by that of the best of inv_p, inv_n and "
        "mle in hindsight (under OUE, of inv_p and inv_n). Each dot is a setting; parentheses contain their "
        f"number. Bars are geometric means, and the dashed line is at {TOLERATED_RATIO}. Estimates in gray need not be "
        "distributions. Dots at an edge are beyond the axis."
    )
    return CaptionedFigure(figure, caption)


def _dots_explained() -> dict[str, Line2D]:
    """Return the entries of the legend."""
    from matplotlib.lines import Line2D

    dot: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 4, "markeredgewidth": 0}
    bar: dict[str, Any] = {"marker": "|", "linestyle": "none", "markersize": 9, "markeredgewidth": 2.2}
    return {
        "distribution": Line2D([], [], color=PALETTE[0], **dot),
        "other estimate": Line2D([], [], color=GREY, **dot),
        "geometric mean": Line2D([], [], color=PALETTE[1], **bar),
        "best in hindsight": Line2D([], [], color=INK, linewidth=0.8),
        f"{TOLERATED_RATIO:g} times": Line2D([], [], color=INK, linewidth=0.8, linestyle="--"),
    }


def _draw_dots(panel: Axes, part: Outcomes, names: list[str], measure: str) -> None:
    panel.axvline(1, color=INK, linewidth=0.8, zorder=1)
    panel.axvline(TOLERATED_RATIO, color=INK, linewidth=0.8, linestyle="--", zorder=1)
    for row, name in enumerate(names):
        values = np.array([of_all[name][measure].value for of_all in part.values() if name in of_all])
        if not values.size:
            panel.text(1, row, "needs the reports themselves", fontsize=8, va="center", ha="center", color=GREY)
            continue
        colour = PALETTE[0] if is_valid(name) else GREY
        # Side by side without chance: the same results give the same figure.
        aside = DOT_SCATTER * (2 * ((np.arange(values.size) * 0.618034) % 1) - 1)
        panel.scatter(np.clip(values, *RATIO_AXIS), row + aside, s=5, color=colour, alpha=0.35, linewidths=0, zorder=2)
        mean = np.exp(np.log(values).mean())
        panel.plot([mean, mean], [row - 0.42, row + 0.42], color=PALETTE[1], linewidth=2.2, zorder=3)
    panel.set_xscale("log")
    panel.set_xlim(RATIO_AXIS[0] * 0.85, RATIO_AXIS[1] * 1.2)
    panel.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
    panel.set_xticks([], minor=True)
    panel.set_ylim(-0.6, len(names) - 0.4)


ALONG: dict[str, Callable[[Contest], float]] = {
    "epsilon": lambda contest: contest.epsilon,
    "respondents": lambda contest: contest.n,
    "answers": lambda contest: contest.population.k,
}


def _along(found: Outcomes) -> CaptionedFigure:
    """Draw the geometric mean of the distributions' squared errors along epsilon, N and K.

    Of made-up shapes under randomized response alone: there every K comes with every N, epsilon and shape, so that the
    points of a line differ in nothing else.
    """
    part = {
        contest: of_all
        for contest, of_all in found.items()
        if contest.mechanism == RESPONSE and contest.population.kind in {"built with", "other"}
    }
    names = [summary.estimator for summary in summaries(part) if is_valid(summary.estimator)]
    figure, panels = new_figure(WIDTH, 4.2, 1, 3, left=0.72, across=0.5, head=HEADING + 0.1)
    handles: dict[str, Line2D] = {}
    for column, (axis, value) in enumerate(ALONG.items()):
        panel: Axes = panels[0, column]
        for place, name in enumerate(names):
            colour, marker = ESTIMATOR_STYLES.get(name, (GREY, MARKERS[place % len(MARKERS)]))
            handles[name] = panel.plot(
                *zip(*_means(part, name, value), strict=True),
                "-" if name in ESTIMATOR_STYLES else "--",
                color=colour,
                marker=marker,
                markersize=4,
                linewidth=1.6,
            )[0]
        panel.axhline(1, color=INK, linewidth=0.8, zorder=1)
        panel.set_yscale("log")
        panel.set_ylim(*MEANS_SHOWN)
        panel.set_yticks(MEANS_TICKED, [f"{tick:g}" for tick in MEANS_TICKED], minor=False)
        panel.set_yticks([], minor=True)
        if axis != "epsilon":
            panel.set_xscale("log")
            panel.set_xticks(TICKS[axis])
            panel.minorticks_off()
            panel.xaxis.set_major_formatter("{x:,.0f}")
        label_axes(panel, axis, "mean ratio" if column == 0 else None)
    notes = ["randomized response", "geometric mean over all shapes except those of the paper"]
    draw_heading(figure, "Squared error against the best in hindsight", notes, handles, {})
    return CaptionedFigure(
        figure,
        "Geometric mean of the squared error against the best in hindsight, over all settings with this epsilon, this "
        "number of respondents or this number of answers, under randomized response and for all made-up shapes except "
        f"those of the paper. Lines that leave the figure are above {MEANS_SHOWN[1]:g}.",
    )


def _means(part: Outcomes, name: str, value: Callable[[Contest], float]) -> list[tuple[float, float]]:
    logs: dict[float, list[float]] = {}
    for contest, of_all in part.items():
        if name in of_all:
            logs.setdefault(value(contest), []).append(np.log(of_all[name]["squared_error"].value))
    return sorted((point, float(np.exp(np.mean(listed)))) for point, listed in logs.items())
