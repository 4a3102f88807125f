"""Plots of a regression: its coefficients with their intervals, and predictions against a covariate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.inference.comparisons import answers_of_interest
from warner.output import canvas
from warner.regression.descriptions import abridged, interval_heading, number_name, subject
from warner.regression.formulas import INTERCEPT
from warner.results import Estimates
from warner.text import counted, enumerated, level_text, printable, quoted, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from warner.arrays import Array, Integers
    from warner.regression.regressions import Regression

COEFFICIENTS_DRAWN = 60  # on one page
SHARES_SIZE = (canvas.FIGURE_INCHES, 5.0)  # inches
LINE_POINTS = 31  # of a line
LEVELS_DRAWN = 24  # levels of a factor that fit beside each other
FEW_NUMBERS = 5  # distinct numbers that are drawn as levels
LEVELS_WIDTH = 70  # characters of their names
LINES_DRAWN = len(canvas.PALETTE)  # distinguishable lines
AXIS_MARGIN = 0.06  # of the axis, beside the farthest finite end
LABELED_RATIOS = ((1,), (1, 2, 5), (1, 1.5, 2, 3, 5, 7))  # odds ratios in each decade


def regression_picture(
    fit: Regression,
    against: str | None = None,
    *,
    level: float = 0.95,
    interval: str = "auto",
    odds: bool = False,
    title: str | None = None,
) -> canvas.Picture:
    """Picture of the coefficients, or of predictions `against` a covariate; see `Regression.plot`."""
    if against is not None:
        return canvas.Picture(lambda ax: _draw_shares(ax, fit, against, level), SHARES_SIZE, title)
    rows, _, heads = _layout(fit, _drawn(fit))
    size = canvas.FIGURE_INCHES, 1.9 + 0.3 * (len(rows) + len(heads))
    return canvas.Picture(lambda ax: _draw_coefficients(ax, fit, level, interval, odds=odds), size, title)


# Coefficients


def _drawn(fit: Regression) -> Integers:
    """Return the coefficients to draw: not the intercepts and cutpoints, if there are others."""
    coefficients = fit.specification.coefficients
    cuts = len(fit.specification.domain) - 1 if fit.specification.model == "ordered" else 0
    slopes = [i for i, one in enumerate(coefficients) if i >= cuts and one.term != INTERCEPT]
    return np.array(slopes or range(len(coefficients)))[:COEFFICIENTS_DRAWN]


def _draw_coefficients(
    ax: Axes, fit: Regression, level: float, interval: str, *, odds: bool
) -> tuple[canvas.Legend, str]:
    table = fit.table(level=level, interval=interval)
    chosen = _drawn(fit)
    rows, labels, heads = _layout(fit, chosen)
    estimate, low, high = (table[name][chosen].astype(np.float64) for name in ("estimate", "low", "high"))
    least, most = _span(estimate, low, high)
    ax.set_xlim(least, most)
    ax.axvline(0, color=canvas.INK, linewidth=0.9)
    for row, name in heads:
        ax.axhspan(row - 0.5, row + 0.5, color=canvas.STRIPE, linewidth=0, zorder=0)
        ax.annotate(
            name, (0, row), (5, 0), xycoords=ax.get_yaxis_transform(), textcoords="offset points", va="center",
            fontsize=9, fontweight="bold", parse_math=False,
        )  # fmt: skip
    for place, row in enumerate(rows):
        _draw_row(ax, row, float(estimate[place]), float(low[place]), float(high[place]))
    ax.set_yticks(rows, labels, parse_math=False)
    ax.set_ylim(max(rows) + 0.6, -0.6)
    ax.tick_params(axis="y", length=0, pad=8)  # an arrow may reach over the edge
    canvas.add_grid(ax, "x")
    if odds:
        _label_ratios(ax, least, most)
    ax.set_xlabel(_axis_label(fit, odds=odds))
    lines = "" if fit.penalty else "lines: "
    notes = [counted(fit.people, "respondent", "respondents"), f"{lines}{interval_heading(table['interval'], level)}"]
    notes += ["arrows: to infinity"] * bool(np.isinf(np.concatenate([estimate, low, high])).any())
    notes += ["no finite estimate where there is no dot"] * bool((~np.isfinite(estimate)).any())
    total = len(fit.coefficients)
    left = "cutpoints" if fit.specification.model == "ordered" else "intercepts" if heads else "intercept"
    notes += [f"{left} not drawn"] * (INTERCEPT in fit.model_data.terms.names and len(chosen) < total)
    notes += [f"the first {COEFFICIENTS_DRAWN} coefficients of {total}"] * (len(chosen) == COEFFICIENTS_DRAWN < total)
    return canvas.Legend([], [], notes), subject(fit, odds=odds)


def _layout(fit: Regression, chosen: Integers) -> tuple[list[float], list[str], list[tuple[float, str]]]:
    """Return the rows and labels of coefficients, and the rows and names of the heads of several answers."""
    rows: list[float] = []
    labels: list[str] = []
    heads: list[tuple[float, str]] = []
    coefficients = [fit.specification.coefficients[i] for i in chosen.tolist()]
    several, before, place = len({one.answer for one in coefficients}) > 1, object(), 0
    for answer, term in coefficients:
        if several and answer != before:
            heads.append((float(place), shortened(printable(str(answer)), canvas.LABEL_WIDTH)))
            before, place = answer, place + 1
        rows.append(float(place))
        labels.append(abridged(term, canvas.LABEL_WIDTH))
        place += 1
    return rows, labels, heads


def _span(*parts: Array) -> tuple[float, float]:
    """Return the ends of the axis, from all finite values and zero, with margins."""
    values = np.concatenate(parts)
    finite = np.append(values[np.isfinite(values)], 0.0)
    least, most = float(finite.min()), float(finite.max())
    if least == most:
        return -1.0, 1.0
    margin = AXIS_MARGIN * (most - least)
    # An arrow needs a wider margin than a dot.
    below, above = (2 if np.isinf(values[values * sign > 0]).any() else 1 for sign in (-1, 1))
    return least - below * margin, most + above * margin


def _draw_row(ax: Axes, row: float, estimate: float, low: float, high: float) -> None:
    edges = ax.get_xlim()
    if not (math.isnan(low) or math.isnan(high)):
        ends = [edges[0] if low == -math.inf else low, edges[1] if high == math.inf else high]
        ax.plot(ends, [row, row], color=canvas.PALETTE[0], linewidth=1.4, zorder=2)
        for end, edge, marker in ((low, edges[0], "<"), (high, edges[1], ">")):
            if math.isinf(end):
                ax.plot([edge], [row], marker, color=canvas.PALETTE[0], markersize=7, clip_on=False, zorder=3)
            else:
                ax.plot([end], [row], "|", color=canvas.PALETTE[0], markersize=6, zorder=2)
    if math.isfinite(estimate):
        ax.plot([estimate], [row], "o", color=canvas.PALETTE[0], markersize=5.5, zorder=3)


def _label_ratios(ax: Axes, least: float, most: float) -> None:
    for digits in LABELED_RATIOS:
        ratios = [digit * 10.0**decade for decade in range(-12, 13) for digit in digits]
        shown = [ratio for ratio in ratios if least <= math.log(ratio) <= most]
        if len(shown) > 3:
            break
    ax.set_xticks([math.log(ratio) for ratio in shown], [f"{ratio:g}" for ratio in shown])


def _axis_label(fit: Regression, *, odds: bool) -> str:
    specification = fit.specification
    if specification.of_number:
        return "difference of means in the unit of the answers, per unit of the term"
    if specification.model == "linear":
        return "difference of shares, per unit of the term"
    if odds:
        return "odds ratio, per unit of the term"
    scale = "log-odds" if specification.link == "logit" else f"{specification.link} scale"
    return f"coefficient ({scale}), per unit of the term"


# Shares against a covariate


def _draw_shares(ax: Axes, fit: Regression, against: str, level: float) -> tuple[canvas.Legend, str]:
    domain, number = fit.specification.domain, fit.specification.of_number
    answers = [0] if number else list(answers_of_interest(len(domain)))[:LINES_DRAWN]
    along, shown = _shares(fit, against, level)
    handles: list[Any] = []
    for place, answer in enumerate(answers):
        draw = _draw_levels if isinstance(along, list) else _draw_line
        handles.append(draw(ax, along, shown, answer, place, len(answers)))
    values = np.concatenate([part[:, answers].ravel() for part in (shown.value, shown.low, shown.high)])
    least, most = float(np.nanmin(values)), float(np.nanmax(values))
    if not number:
        least, most = min(least, 0.0), max(most, 0.0)
    margin = AXIS_MARGIN * (most - least or 1.0)
    # Points at 0 need a margin.
    bottom = margin if number or least < 0 or isinstance(along, list) else 0.2 * margin
    ax.set_ylim(least - bottom, most + margin)
    if least < 0 < most:
        ax.axhline(0, color=canvas.INK, linewidth=0.8)
    canvas.add_grid(ax, "y")
    ax.set_xlabel(shortened(printable(against), 2 * canvas.LABEL_WIDTH), parse_math=False)
    ax.set_ylabel(f"mean of {number_name(fit)}" if number else "share of respondents (%)", parse_math=False)
    labels = [shortened(printable(str(domain[answer])), canvas.GROUP_WIDTH) for answer in answers]
    around = "lines" if isinstance(along, list) else "band" if len(answers) == 1 else "bands"
    notes = [counted(fit.people, "respondent", "respondents")]
    notes += ["no intervals: penalized estimates" if fit.penalty else f"{around}: {level_text(level)} interval"]
    terms = fit.model_data.terms
    notes += ["means over all respondents, with their other covariates"] * (len(terms.variables) > 1)
    notes += [f"the first {LEVELS_DRAWN} levels"] * (len(terms.levels.get(against, ())) > LEVELS_DRAWN)
    notes += [f"the first {LINES_DRAWN} of {len(domain):,} answers"] * (2 < len(answers) < len(domain))
    name = "share of each answer" if len(answers) > 1 else f"share of {quoted(domain[0])}"
    name = f"mean of {number_name(fit)}" if number else name
    return canvas.Legend(handles if len(answers) > 1 else [], labels, notes), f"Predicted {name}, by {against}"


def _shares(fit: Regression, against: str, level: float) -> tuple[Any, Estimates]:
    """Predict percentages, or means, through the range of a covariate, or for each of its levels, which are named."""
    terms = fit.model_data.terms
    if against not in terms.kinds:
        names = enumerated([repr(name) for name in terms.kinds]) or "none"
        raise ValueError(f"against must be one of the model's covariates ({names}), but got {against!r}")
    distinct = np.unique(fit.model_data.covariates[against])
    if terms.kinds[against] == "number" and against not in terms.levels and len(distinct) > FEW_NUMBERS:
        values: Any = np.linspace(float(distinct[0]), float(distinct[-1]), LINE_POINTS)
    else:
        values = list(terms.levels.get(against, distinct.tolist()))[:LEVELS_DRAWN]
    shares = fit.predict({against: values}, level=level)
    shown = values
    if isinstance(values, list):
        shown = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    unit = 1 if fit.specification.of_number else 100
    return shown, Estimates(unit * shares.shares, unit * shares.low, unit * shares.high)


def _draw_line(ax: Axes, numbers: Any, shown: Estimates, answer: int, place: int, _: int) -> Any:
    color = canvas.PALETTE[place]
    ax.fill_between(numbers, shown.low[:, answer], shown.high[:, answer], color=color, alpha=0.18, linewidth=0)
    (line,) = ax.plot(numbers, shown.value[:, answer], linewidth=2, **canvas.line_look(place))
    return line


def _draw_levels(ax: Axes, levels: list[str], shown: Estimates, answer: int, place: int, number: int) -> Any:
    at = np.arange(len(levels)) + (place - (number - 1) / 2) * 0.7 / number
    low, high, share = (part[:, answer] for part in (shown.low, shown.high, shown.value))
    ax.vlines(at, low, high, color=canvas.PALETTE[place], linewidth=1.4)
    (points,) = ax.plot(at, share, canvas.MARKERS[place], color=canvas.PALETTE[place], markersize=6)
    names = [shortened(printable(name), canvas.LABEL_WIDTH) for name in levels]
    ax.set_xticks(range(len(names)), names, parse_math=False)
    if sum(map(len, names)) > LEVELS_WIDTH:
        ax.tick_params(axis="x", rotation=40)
    ax.set_xlim(-0.6, len(names) - 0.4)
    return points
