"""The overview: the largest number of answers, against N at one epsilon and against epsilon at the largest N."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from experiments.pinzon2026.drawing import (
    BAND_CAPTION,
    BAND_NOTE,
    ESTIMATOR_STYLES,
    WIDTH,
    CaptionedFigure,
    draw_band,
    draw_heading,
    draw_line,
    label_axes,
    name_panel,
    new_figure,
)
from experiments.pinzon2026.grid import surveys
from experiments.pinzon2026.methods import METHOD_LABELS, PAPER_METHODS, VALID_METHODS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from numpy.typing import NDArray

    from experiments.pinzon2026.drawing import Figures
    from experiments.pinzon2026.grid import Grid, ZipfSurvey
    from experiments.pinzon2026.repetition import EstimatorErrors
    from experiments.pinzon2026.scale import Scale

POPULATIONS = {0.01: "near-uniform", 1.3: "moderately skewed", 2.5: "highly concentrated"}
METRICS = {
    "mse": ("Mean squared error", "mean over the K answers"),
    "nll": ("Negative log-likelihood", "nats per report"),
    "bias": ("Squared bias", "sum over the K answers"),
    "variance": ("Variance", "sum over the K answers"),
}
ESTIMATORS_DRAWN = {
    "mse": (*VALID_METHODS, "auto", "inv"),
    "nll": (*VALID_METHODS, "auto"),  # INV has no likelihood where a share is negative
    "bias": tuple(PAPER_METHODS),
    "variance": tuple(PAPER_METHODS),
}
SMALLEST_EXCESS = 1e-9  # nats per report: smaller excesses are drawn there


class Slice(NamedTuple):
    """A way through the grid on which only N, or only epsilon, varies."""

    word: str  # in the name of the file
    axis: str
    fixed: str
    points: tuple[float, ...]
    by_people: bool


def wanted(scale: Scale) -> list[ZipfSurvey]:
    """List the configurations of the overview."""
    return [survey for survey in surveys(scale) if survey.auto]


def _slices(scale: Scale) -> Iterator[Slice]:
    yield Slice("by N", "respondents", f"ε = {scale.epsilon}", scale.people, by_people=True)
    yield Slice("by epsilon", "epsilon", f"{max(scale.people):,} respondents", scale.epsilons, by_people=False)


def figures(grid: Grid, scale: Scale, metrics: tuple[str, ...] = ("mse", "nll")) -> Figures:
    """Draw each metric both ways, with the populations side by side, and write the captions."""
    return {
        f"overview {metric} {way.word}": _figure(grid, scale, metric, way)
        for metric in metrics
        for way in _slices(scale)
    }


def _figure(grid: Grid, scale: Scale, metric: str, way: Slice) -> CaptionedFigure:
    k = max(scale.answers)
    outcomes_at: dict[tuple[float, float, float], dict[str, EstimatorErrors]] = {
        (survey.s, survey.n, survey.epsilon): outcomes for survey, outcomes in grid.items() if survey.k == k
    }
    title, unit = METRICS[metric]
    rows = 2 if metric == "nll" else 1
    figure, panels = new_figure(WIDTH, 1.8 + 2.2 * rows, rows, len(scale.exponents), left=0.95)
    handles: dict[str, Line2D] = {}
    for column, s in enumerate(scale.exponents):
        panel = panels[0, column]
        along = [
            outcomes_at[(s, point, scale.epsilon) if way.by_people else (s, max(scale.people), point)]
            for point in way.points
        ]
        draw_estimators(panel, way.points, along, metric, k, handles)
        name_panel(panel, f"{POPULATIONS.get(s, 'Zipf')} (s = {s:g})")
        scale_axes(panel, metric, by_people=way.by_people)
        first = s == scale.exponents[0]
        label_axes(panel, None if metric == "nll" else way.axis, f"{title.lower()}\n({unit})" if first else None)
        if metric == "nll":  # the curves coincide: the panel below shows their differences
            _draw_excess(panels[1, column], way.points, along)
            scale_axes(panels[1, column], "excess", by_people=way.by_people)
            label_axes(panels[1, column], way.axis, f"excess over MLE*\n({unit})" if first else None)
    notes = [f"{k:,} answers", way.fixed, *([] if metric in {"bias", "variance"} else [BAND_NOTE])]
    draw_heading(figure, f"{title} by {'sample size' if way.by_people else way.axis}", notes, handles, METHOD_LABELS)
    excess = (
        f"Below, on a logarithmic axis, by how much it exceeds that of MLE* (drawn at {SMALLEST_EXCESS:g} if less)."
    )
    caption = (
        f"{title} ({unit}) against {way.axis}, for {k:,} answers and {way.fixed}, in three populations. "
        + (f"{excess} " if metric == "nll" else "")
        + lines_explained(metric, scale.seeds)
    )
    return CaptionedFigure(figure, caption)


def lines_explained(metric: str, seeds: int) -> str:
    """Return the description of lines and bands."""
    if metric in {"bias", "variance"}:
        return (
            f"Over {seeds} seeds; squared bias plus variance is the mean squared error as a sum over the answers. The "
            "squared bias of the unbiased INV is what is left of its variance in so many seeds."
        )
    return f"Lines: mean over {seeds} seeds; {BAND_CAPTION}."


def draw_estimators(
    panel: Axes,
    points: tuple[float, ...],
    along: list[dict[str, EstimatorErrors]],
    metric: str,
    k: int,
    handles: dict[str, Line2D],
) -> None:
    """Draw one line for each estimator, and add it to the handles of the legend."""
    for name in ESTIMATORS_DRAWN[metric]:
        if not all(name in outcomes for outcomes in along):
            continue
        colour, marker = ESTIMATOR_STYLES[name]
        style = "--" if name in {"inv", "auto"} else "-"
        values = np.array([_metric_value(outcomes[name], metric, k) for outcomes in along])
        if metric in {"bias", "variance"}:
            handles[name] = draw_line(panel, points, np.maximum(values[:, 0], 1e-20), colour, marker, style=style)
        else:
            handles[name] = draw_band(panel, points, values, colour, marker, mean=True, style=style)


def _metric_value(outcome: EstimatorErrors, metric: str, k: int) -> NDArray[np.float64]:
    """Return what a figure shows of an outcome: an entry for each seed, or one for all."""
    if metric == "mse":
        return outcome.squared_error / k
    if metric == "nll":
        return outcome.negative_log_likelihood
    return np.array([outcome.squared_bias if metric == "bias" else outcome.variance])


def _draw_excess(panel: Axes, points: tuple[float, ...], along: list[dict[str, EstimatorErrors]]) -> None:
    """Draw by how much each negative log-likelihood exceeds the smallest, that of MLE*."""
    for name in ("inv_p", "inv_n", "auto"):
        excess = [
            outcomes[name].negative_log_likelihood - outcomes["mle"].negative_log_likelihood for outcomes in along
        ]
        colour, marker = ESTIMATOR_STYLES[name]
        style = "--" if name == "auto" else "-"
        draw_band(panel, points, np.maximum(excess, SMALLEST_EXCESS), colour, marker, mean=True, style=style)


def scale_axes(panel: Axes, metric: str, *, by_people: bool) -> None:
    """Choose the axes: logarithmic, but for epsilon; and for likelihoods, whose curves would else be one line."""
    from matplotlib.ticker import LogLocator

    if by_people:
        panel.set_xscale("log")
        panel.xaxis.set_major_locator(LogLocator(100))
        panel.xaxis.set_minor_locator(LogLocator(10))
        panel.xaxis.set_major_formatter("{x:,.0f}")
        panel.xaxis.set_minor_formatter("")
    else:
        panel.set_xticks([2, 4, 6, 8, 10])
    if metric == "nll":
        panel.ticklabel_format(axis="y", useOffset=False)
    else:
        panel.set_yscale("log")
