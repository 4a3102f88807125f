"""The overview: the largest number of answers, against N at one epsilon and against epsilon at the largest N."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warner.papers.pinzon2026.drawing import BAND, STYLES, band, draw_legend, figure, line, named
from warner.papers.pinzon2026.grid import surveys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from warner.papers.pinzon2026.grid import Grid, Survey
    from warner.papers.pinzon2026.repetition import Outcome
    from warner.papers.pinzon2026.scale import Scale

POPULATIONS = {0.01: "near-uniform", 1.3: "moderately skewed", 2.5: "highly concentrated"}
METRICS = {
    "mse": ("Mean squared error", "mean over the K answers"),
    "nll": ("Negative log-likelihood", "nats per report"),
    "bias": ("Squared bias", "sum over the K answers"),
    "variance": ("Variance", "sum over the K answers"),
}
SHOWN = {
    "mse": ("mle", "inv_p", "inv_n", "auto", "inv"),
    "nll": ("mle", "inv_p", "inv_n", "auto"),  # INV has no likelihood where a share is negative
    "bias": ("mle", "inv_p", "inv_n", "inv"),
    "variance": ("mle", "inv_p", "inv_n", "inv"),
}

TINY = 1e-9  # nats per report: excesses below this are drawn there


def wanted(scale: Scale) -> list[Survey]:
    """List the configurations of the overview."""
    return [survey for survey in surveys(scale) if survey.auto]


def value(outcome: Outcome, metric: str, k: int) -> NDArray[np.float64]:
    """Give what a figure shows of an outcome: an entry for each seed, or one for all."""
    if metric == "mse":
        return outcome.squared_error / k
    if metric == "nll":
        return outcome.negative_log_likelihood
    return np.array([outcome.squared_bias if metric == "bias" else outcome.variance])


def slices(scale: Scale) -> Iterator[tuple[str, str, str, tuple[Any, ...], bool]]:
    """Give both ways through the grid: a word for the file, the axis, what is fixed, the points, if against N."""
    fixed = f"N = {max(scale.people):,}"
    yield "by N", "N, people", f"ε = {scale.epsilon}", scale.people, True
    yield "by epsilon", "ε", fixed, scale.epsilons, False


def figures(grid: Grid, scale: Scale, metrics: tuple[str, ...] = ("mse", "nll")) -> dict[str, tuple[Figure, str]]:
    """Draw each metric both ways, with the populations side by side, and write the captions."""
    k = max(scale.answers)
    found = {(one.s, one.n, one.epsilon): outcome for one, outcome in grid.items() if one.k == k}
    drawn = {}
    for metric in metrics:
        title, unit = METRICS[metric]
        for word, axis, fixed, points, by_people in slices(scale):
            rows = 2 if metric == "nll" else 1
            drawing, panels = figure(9.6, 1.5 + 2.2 * rows, rows, len(scale.exponents))
            handles: dict[str, Any] = {}
            for column, s in enumerate(scale.exponents):
                panel = panels[0, column]
                row = [
                    found[(s, point, scale.epsilon) if by_people else (s, max(scale.people), point)] for point in points
                ]
                draw_lines(panel, points, row, metric, k, handles)
                panel.set_title(f"s = {s:g}, {POPULATIONS.get(s, 'Zipf')}", fontsize=10)
                scaled(panel, metric, by_people=by_people)
                first = s == scale.exponents[0]
                named(panel, None if metric == "nll" else axis, f"{title}\n({unit})" if first else None)
                if metric == "nll":  # the curves lie on each other: below, what tells them apart
                    draw_excess(panels[1, column], points, row)
                    scaled(panels[1, column], "excess", by_people=by_people)
                    named(panels[1, column], axis, f"Excess over MLE*\n({unit})" if first else None)
            draw_legend(drawing, handles, f"{title}:  K = {k:,}, {fixed}")
            drawn[f"overview {metric} {word}"] = (
                drawing,
                f"{title} ({unit}) against {axis.split(',')[0]}, for K = {k:,} and {fixed}, in three populations. "
                + (
                    f"Below, on a logarithmic axis, by how much it exceeds that of MLE* (drawn at {TINY:g} if less). "
                    if metric == "nll"
                    else ""
                )
                + explained(metric, scale.seeds),
            )
    return drawn


def explained(metric: str, seeds: int) -> str:
    """Say what lines and bands are."""
    if metric in {"bias", "variance"}:
        return (
            f"Over {seeds} seeds; squared bias plus variance is the mean squared error as a sum over the answers. The "
            "squared bias of the unbiased INV is what is left of its variance in so many seeds."
        )
    return f"Lines: mean over {seeds} seeds; {BAND}."


def draw_lines(
    panel: Any, points: tuple[Any, ...], row: list[dict[str, Outcome]], metric: str, k: int, handles: dict[str, Any]
) -> None:
    """Draw one line for each estimator."""
    for name in SHOWN[metric]:
        if not all(name in outcomes for outcomes in row):
            continue
        colour, marker = STYLES[name]
        style = "--" if name in {"inv", "auto"} else "-"
        values = np.array([value(outcomes[name], metric, k) for outcomes in row])
        if metric in {"bias", "variance"}:
            handles[name] = line(panel, points, np.maximum(values[:, 0], 1e-20), colour, marker, style=style)
        else:
            handles[name] = band(panel, points, values, colour, marker, mean=True, style=style)


def draw_excess(panel: Any, points: tuple[Any, ...], row: list[dict[str, Outcome]]) -> None:
    """Draw by how much each negative log-likelihood exceeds the smallest, that of MLE*."""
    for name in ("inv_p", "inv_n", "auto"):
        excess = [each[name].negative_log_likelihood - each["mle"].negative_log_likelihood for each in row]
        colour, marker = STYLES[name]
        band(panel, points, np.maximum(excess, TINY), colour, marker, mean=True, style="--" if name == "auto" else "-")


def scaled(panel: Any, metric: str, *, by_people: bool) -> None:
    """Choose the axes: logarithmic, but for epsilon; and for likelihoods, whose curves would else be one line."""
    if by_people:
        panel.set_xscale("log")
    else:
        panel.set_xticks([2, 4, 6, 8, 10])
    if metric == "nll":
        panel.ticklabel_format(axis="y", useOffset=False)
    else:
        panel.set_yscale("log")
