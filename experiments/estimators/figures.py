"""The comparison in figures: every setting as a dot, and the means along epsilon, people and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.estimators.contests import ERROR_MEASURES, RESPONSE
from experiments.estimators.ratios import TOLERATED_RATIO, is_valid, sections, summaries
from experiments.pinzon2026.drawing import ESTIMATOR_STYLES, GREY, CaptionedFigure, label_axes, new_figure
from warner.output.canvas import MARKERS, PALETTE

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from experiments.estimators.contests import Contest
    from experiments.estimators.ratios import Outcomes
    from experiments.pinzon2026.drawing import Figures

RATIO_AXIS = (0.05, 50)  # of the axis of ratios: dots beyond are drawn at the end
MEANS_SHOWN, MEANS_TICKED = (0.3, 6), (0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5)
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
        2.1 + 3.0 * columns, 1.6 + rows * (0.45 + 0.22 * len(names)), rows, columns, left=1.15, across=0.18, down=0.62
    )
    for place in range(panels.size):
        panel: Axes = panels[divmod(place, columns)]
        if place >= len(parts):
            panel.set_visible(False)
            continue
        title, part = list(parts.items())[place]
        _draw_dots(panel, part, names, measure)
        panel.set_title(f"{title} ({len(part)})", fontsize=9.5)
        last = place + columns >= len(parts)
        label_axes(panel, f"{ERROR_MEASURES[measure]} / best in hindsight" if last else None, None)
        panel.set_yticks(range(len(names)), names if place % columns == 0 else [""] * len(names))
    height = figure.get_size_inches()[1]
    figure.suptitle(
        f"{ERROR_MEASURES[measure].capitalize()} against the best of inv_p, inv_n and mle in hindsight",
        fontsize=11.5,
        y=1 - 0.1 / height,
        va="top",
    )
    _explain_dots(figure)
    caption = (
        f"{ERROR_MEASURES[measure].capitalize()} of every estimator, divided by that of the best of inv_p, inv_n and "
        "mle in hindsight (under OUE, of inv_p and inv_n). Each dot is a setting; their number is in brackets. Bars "
        f"are geometric means, and the dashed line is at {TOLERATED_RATIO}. Estimates in grey need not be "
        "distributions. Dots at an edge lie beyond it."
    )
    return CaptionedFigure(figure, caption)


def _explain_dots(figure: Figure) -> None:
    """Add the legend to the figure."""
    from matplotlib.lines import Line2D

    dot: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 4, "markeredgewidth": 0}
    bar: dict[str, Any] = {"marker": "|", "linestyle": "none", "markersize": 9, "markeredgewidth": 2.2}
    handles = {
        "a setting": Line2D([], [], color=PALETTE[0], **dot),
        "a setting (need not be a distribution)": Line2D([], [], color=GREY, **dot),
        "geometric mean": Line2D([], [], color=PALETTE[1], **bar),
        "as good as the best in hindsight": Line2D([], [], color="black", linewidth=0.8),
        f"{TOLERATED_RATIO:g} times its error": Line2D([], [], color="black", linewidth=0.6, linestyle="--"),
    }
    height = figure.get_size_inches()[1]
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="lower center",
        bbox_to_anchor=(0.5, 0.02 / height),
        ncols=3,
        frameon=False,
        fontsize=9,
    )


def _draw_dots(panel: Axes, part: Outcomes, names: list[str], measure: str) -> None:
    panel.axvline(1, color="black", linewidth=0.8, zorder=1)
    panel.axvline(TOLERATED_RATIO, color="black", linewidth=0.6, linestyle="--", zorder=1)
    for row, name in enumerate(names):
        values = np.array([of_all[name][measure].value for of_all in part.values() if name in of_all])
        if not values.size:
            panel.text(1, row, "needs the reports themselves", fontsize=7, va="center", ha="center", color=GREY)
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
    "ε": lambda contest: contest.epsilon,
    "N, people": lambda contest: contest.n,
    "K, answers": lambda contest: contest.population.k,
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
    figure, panels = new_figure(10.2, 4.2, 1, 3, left=0.8, across=0.5)
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
                linewidth=1.3,
            )[0]
        panel.axhline(1, color="black", linewidth=0.8, zorder=1)
        panel.set_yscale("log")
        panel.set_ylim(*MEANS_SHOWN)
        panel.set_yticks(MEANS_TICKED, [f"{tick:g}" for tick in MEANS_TICKED], minor=False)
        panel.set_yticks([], minor=True)
        if axis != "ε":
            panel.set_xscale("log")
        label_axes(panel, axis, "mean ratio" if column == 0 else None)
    title = "Squared error / best in hindsight, geometric mean over all shapes but the paper's, randomized response"
    figure.suptitle(title, fontsize=11.5, y=1 - 0.1 / 4.2, va="top")
    figure.legend(handles.values(), handles, loc="lower center", ncols=len(handles), frameon=False, fontsize=9.5)
    return CaptionedFigure(
        figure,
        "Geometric mean of the squared error against the best in hindsight, over all settings with this epsilon, this "
        "number of people or this number of answers, under randomized response and for all made-up shapes except those "
        f"of the paper. Lines that leave the figure are above {MEANS_SHOWN[1]:g}.",
    )


def _means(part: Outcomes, name: str, value: Callable[[Contest], float]) -> list[tuple[float, float]]:
    logs: dict[float, list[float]] = {}
    for contest, of_all in part.items():
        if name in of_all:
            logs.setdefault(value(contest), []).append(np.log(of_all[name]["squared_error"].value))
    return sorted((point, float(np.exp(np.mean(listed)))) for point, listed in logs.items())
