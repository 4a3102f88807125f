"""Plots of plans: precision against sample size, and mechanisms against epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warner.output import canvas
from warner.planning.mechanisms import VARIANCE_TOLERANCE, bits_text, comparison_words
from warner.planning.precision import MEASURES, share_text
from warner.text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from warner.arrays import Array
    from warner.planning.mechanisms import Mechanisms
    from warner.planning.tradeoffs import PlottedPlan

PLAN_SIZE = (canvas.FIGURE_INCHES, 5.2)  # inches
PLAN_SPAN, PLAN_POINTS = 30, 41  # factor below and above the planned sample size, and points of a line
LABELS_APART = 1.15  # smallest ratio of two epsilons with labels
LINE_NAMES_APART = 0.045  # of the height of the axes
MECHANISMS_SIZE = (canvas.FIGURE_INCHES, 6.0)  # inches
EPSILONS_DRAWN, EPSILON_POINTS = (0.1, 10.0), 81
LEAST_MORE, MOST_MORE = 0.1, 20_000.0  # range of the axis, in percent
MECHANISMS_TITLE = "Sample size of each mechanism at the same privacy"
PLAN_TITLES = ("Precision by sample size and epsilon", "Power by sample size and epsilon")


def plan_picture(plan: PlottedPlan, title: str | None = None) -> canvas.Picture:
    """Picture of the half-width (or the error, or the power) against the sample size; see `Plan.plot`."""
    return canvas.Picture(lambda ax: _draw_plan(ax, plan), PLAN_SIZE, title)


def _draw_plan(ax: Axes, plan: PlottedPlan) -> tuple[canvas.Legend, str]:
    fewest, most = max(1, plan.people / PLAN_SPAN), min(plan.people * PLAN_SPAN, 2**53)
    people = np.unique(np.geomspace(fewest, most, PLAN_POINTS).round().astype(np.int64))
    epsilons = plan.grid_epsilons(apart=LABELS_APART)
    table = plan.table(epsilons, people.tolist())
    scale, is_power = plan.question.scale, plan.measure == "power"
    lines = scale * table[plan.measure].reshape(-1, people.size)
    largest = scale if plan.question.numbers is None else plan.question.numbers.width
    handles: list[Any] = []
    labels: list[str] = []
    for epsilon, line, color in zip(epsilons, lines, canvas.sequence(len(epsilons)), strict=True):
        planned = epsilon == plan.design.epsilon
        labels.append(f"ε = {plan.design.shown_epsilon() if planned else f'{epsilon:g}'}")
        shown = np.where(line <= largest, line, np.nan)
        handles += ax.plot(people, shown, color=color, linewidth=2.8 if planned else 1.4)
        if not is_power:
            ax.annotate(labels[-1], (people[-1], line[-1]), (5, 0), textcoords="offset points", va="center", fontsize=8)
    if plan.goal is not None:
        ax.axhline(scale * plan.goal, color=canvas.INK, linestyle="--", linewidth=0.9)
    reached = getattr(plan, plan.measure)
    ax.plot([plan.people], [scale * reached], "o", color=canvas.INK, markersize=7, zorder=4)
    canvas.logarithmic(ax)
    if is_power:  # the lines end close together
        ax.set_yscale("linear")
        ax.set_ylim(0, 1.03 * scale)
    else:
        ax.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else "")
    ax.set_xlabel(f"respondents{plan.each}")
    ax.set_ylabel("power (%)" if is_power else f"{MEASURES[plan.measure]}{plan.question.about} ({plan.question.unit})")
    notes = [f"{plan.design.k:,} answers", *plan.conditions()]
    amount = f"power {share_text(reached)}" if is_power else plan.question.amount(reached)
    amount += "" if plan.question.numbers is None else " in the unit of the answers"
    people_text = counted(plan.people, "respondent", "respondents") + plan.each
    notes.append(f"point: {people_text}, ε = {plan.design.shown_epsilon()}, {amount}")
    notes += ["black dashed line: the goal"] * (plan.goal is not None)
    return canvas.Legend(handles if is_power else [], labels, notes), PLAN_TITLES[is_power]


def mechanisms_picture(compared: Mechanisms, title: str | None = None) -> canvas.Picture:
    """Picture of the sample size of each mechanism against epsilon; see `Mechanisms.plot`."""
    return canvas.Picture(lambda ax: _draw_mechanisms(ax, compared), MECHANISMS_SIZE, title)


def _draw_mechanisms(ax: Axes, compared: Mechanisms) -> tuple[canvas.Legend, str]:
    epsilon = compared.candidates[0].design.epsilon
    epsilons = np.geomspace(min(EPSILONS_DRAWN[0], epsilon), max(EPSILONS_DRAWN[1], epsilon), EPSILON_POINTS)
    more = _more_people(compared, epsilons)
    for place, candidate in enumerate(compared.candidates):
        recommended = candidate.name == compared.recommended
        style = place + place // (len(canvas.PALETTE) + 1)  # so that two lines of one color differ
        ax.plot(
            epsilons,
            np.maximum(more[candidate.name], LEAST_MORE),
            color=_color(place),
            linestyle="-" if recommended else canvas.LINE_STYLES[style % len(canvas.LINE_STYLES)],
            linewidth=3.0 if recommended else 1.4,
            zorder=2 if recommended else 3,
        )
    ax.axhline(100 * VARIANCE_TOLERANCE, color=canvas.INK, linestyle="--", linewidth=0.9)
    ax.axvline(epsilon, color=canvas.INK, linestyle=":", linewidth=1.2)
    canvas.logarithmic(ax)
    ax.set_xlim(epsilons[0], epsilons[-1])
    highest = np.nanmax([np.nanmax(line) for line in more.values()])
    # The lowest line is not cut.
    ax.set_ylim(0.93 * LEAST_MORE, min(1.5 * max(highest, 100 * VARIANCE_TOLERANCE), MOST_MORE))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,g}")
    ax.set_xlabel("epsilon")
    above_best = "more respondents than under the best mechanism (%)"
    criterion = comparison_words(compared.quantity, compared.share).smallest
    ax.set_ylabel(above_best if compared.criterion == "total" else f"{criterion}, % above best")
    _name_lines(ax, compared, more)
    notes = [
        f"{len(compared.domain):,} answers",
        f"numbers: bits of a report at ε = {compared.shown_epsilon()} (dotted line)",
        f"on the lower edge: the best, or within {LEAST_MORE:g} % of it",
        f"dashed line: {100 * VARIANCE_TOLERANCE:.0f} % above the best",
        f"thick line: recommended at ε = {compared.shown_epsilon()}",
    ]
    return canvas.Legend([], [], notes), MECHANISMS_TITLE


def _more_people(compared: Mechanisms, epsilons: Array) -> dict[str, Array]:
    """Return the excess sample size of each mechanism over the best at each epsilon, in percent."""
    more = {candidate.name: np.full(epsilons.size, np.nan) for candidate in compared.candidates}
    for place, epsilon in enumerate(epsilons):
        offered = compared.at(float(epsilon))
        for candidate in offered:
            if candidate.name in more:
                more[candidate.name][place] = 100 * (candidate.criterion / offered[0].criterion - 1)
    return more


def _name_lines(ax: Axes, compared: Mechanisms, more: dict[str, Array]) -> None:
    """Write the name of each mechanism beside the end of its line, in its color; crowded names move apart."""
    least, most = np.log(ax.get_ylim())
    ends = {name: float(line[np.isfinite(line)][-1]) for name, line in more.items()}
    heights = {name: (np.log(max(end, LEAST_MORE)) - least) / (most - least) for name, end in ends.items()}
    order = sorted(heights, key=heights.__getitem__)
    placed = np.array([min(heights[name], 1.0) for name in order])
    steps = LINE_NAMES_APART * np.arange(len(order))
    placed = np.maximum.accumulate(placed - steps) + steps  # upwards, as far as names need
    down = np.minimum.accumulate((np.minimum(placed, 1.0) - steps)[::-1])[::-1]  # and down from the upper edge
    placed = down + steps
    for place, candidate in enumerate(compared.candidates):
        ax.annotate(
            f"{candidate.name}: {bits_text(candidate.bits)}",
            (1, min(heights[candidate.name], 1.0)),
            (1.03, float(placed[order.index(candidate.name)])),
            xycoords="axes fraction",
            va="center",
            fontsize=8,
            color=_color(place),
            fontweight="bold" if candidate.name == compared.recommended else "normal",
            arrowprops={"arrowstyle": "-", "color": _color(place), "linewidth": 0.7, "shrinkB": 0, "relpos": (0, 0.5)},
            annotation_clip=False,
        )


def _color(place: int) -> str:
    colors = (*canvas.PALETTE, canvas.REPORTED_POINT)
    return colors[place % len(colors)]
