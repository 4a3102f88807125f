"""Plots of groups: a caterpillar plot, and a trend with a band along an order, of shares, means and quantiles.

A caterpillar plot has a line for each group. Partially pooled shares are sorted: the pooled share with its interval,
the separate share as a faint dot, and the overall share as a vertical line. Beyond `GROUPS_NAMED` groups they are thin
lines without names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.groups.random_walk import axis_of_values
from warner.inference.answer_tables import reports_in_words
from warner.output import canvas
from warner.text import counted, enumerated, group_name, printable, quoted, reports_counted, shortened, told_apart

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from warner.arrays import Array
    from warner.groups.group_estimates import GroupEstimates
    from warner.inference.means import NumericResult

GROUPS_NAMED = 60  # above, groups are thin lines without names
SERIES_DRAWN = len(canvas.PALETTE)  # distinguishable bands
TITLE = "Groups, estimated together"
TREND_TITLE = "The trend, estimated together"


def plot_groups(
    estimates: GroupEstimates,
    place: int,
    *,
    sort: bool = True,
    level: float = 0.95,
    kind: str = "average",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the shares of one answer; see `GroupEstimates.plot`."""
    ax = canvas.new_axes(_size(estimates)) if ax is None else ax
    return _drawn(ax, estimates, place, sort=sort, level=level, kind=kind, title=title)


def save_groups(
    estimates: GroupEstimates,
    path: str | os.PathLike[str],
    place: int,
    *,
    sort: bool = True,
    level: float = 0.95,
    kind: str = "average",
    title: str | None = None,
) -> None:
    """Draw to a file, which is written whole or not at all; see `GroupEstimates.save_plot`."""
    estimates.answer_limits(place, level, kind)  # errors come before the drawing
    canvas.save_picture(
        lambda ax: _drawn(ax, estimates, place, sort=sort, level=level, kind=kind, title=title), _size(estimates), path
    )


def groups_svg(
    estimates: GroupEstimates, place: int, *, level: float, kind: str, width: float = canvas.FIGURE_INCHES
) -> str:
    """Draw as an SVG element for a web page, this many inches wide."""
    size = width, _size(estimates)[1] + (0.0 if width == canvas.FIGURE_INCHES else 1.2)
    if estimates.numeric:
        means = estimates.mean(level=level, kind=kind)
        return canvas.svg_element(lambda ax: draw_numbers(ax, means, estimates.along), size)
    return canvas.svg_element(
        lambda ax: _drawn(ax, estimates, place, sort=True, level=level, kind=kind, title=None), size
    )


def _size(estimates: GroupEstimates) -> tuple[float, float]:
    groups = len(estimates.tally.groups)
    return (
        (canvas.FIGURE_INCHES, 5.0)
        if estimates.along or groups > GROUPS_NAMED
        else (canvas.FIGURE_INCHES, 2.1 + 0.22 * groups)
    )


class Drawn(NamedTuple):
    """Values of groups, with their intervals, and the names of axes and interval."""

    by: tuple[str, ...]
    groups: Sequence[Any]
    n: Array
    value: Array
    low: Array
    high: Array
    interval: str
    label: str
    point: str
    alone: Array | None = None  # unpooled
    overall: float = float("nan")


def _drawn(
    ax: Axes, estimates: GroupEstimates, place: int, *, sort: bool, level: float, kind: str, title: str | None
) -> Axes:
    tally = estimates.tally
    low, high = (100 * ends for ends in estimates.answer_limits(place, level, kind))
    shown = Drawn(
        tally.by,
        tally.groups,
        np.atleast_1d(tally.n),
        100 * estimates.shares[:, place],
        low,
        high,
        estimates.interval_name(level, kind),
        f"share of respondents with the answer {quoted(tally.domain[place])} (%)",
        "estimated together",
        separate_shares(estimates, place),
        np.nan if estimates.on else 100 * float(estimates.overall[place]),
    )
    if estimates.along is None:
        order = np.argsort(-shown.value, kind="stable") if sort else np.arange(len(shown.value))
        legend = _draw_caterpillar(ax, shown, order)
    else:
        legend = _draw_trends(ax, shown, estimates.along)
    most = "at most " if len(tally.parts) > 1 else "= "
    facts = [
        reports_in_words(tally),
        f"ε {most}{tally.shown_epsilon()}",
    ]
    return _headed(ax, shown, legend, facts, title, TITLE if estimates.along is None else TREND_TITLE)


def _headed(ax: Axes, shown: Drawn, legend: canvas.Legend, facts: list[str], title: str | None, default: str) -> Axes:
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    if shown.by:
        groups = counted(len(shown.groups), "group", "groups")
        facts = [*facts, f"{groups} by {shortened(printable(', '.join(shown.by)), 40)}"]
    above = canvas.add_legend(ax, legend)
    canvas.add_heading(ax, [*facts, *legend.notes], default if title is None else title, above)
    return ax


def separate_shares(estimates: GroupEstimates, place: int) -> Array:
    """Return the unbiased share of each group by itself, from 0 to 1 in percent; NaN if it is not identified."""
    mirrored = place >= len(estimates.direct)
    direct = estimates.direct[0 if mirrored else place]
    share = np.clip(1 - direct.share if mirrored else direct.share, 0, 1)
    return np.where(direct.informative, 100 * share, np.nan)


def _draw_caterpillar(ax: Axes, shown: Drawn, order: NDArray[np.intp]) -> canvas.Legend:
    row = np.arange(order.size)
    few = row.size <= GROUPS_NAMED
    color = canvas.PALETTE[0]
    ends = ax.hlines(row, shown.low[order], shown.high[order], color=color, linewidth=1.6 if few else 0.5, alpha=0.8)
    dots: list[Any] = []
    if shown.alone is not None:
        look: Any = {"color": canvas.REPORTED_POINT, "markersize": 5, "fillstyle": "none"}
        dots = ax.plot(shown.alone[order], row, "o", zorder=2, **(look if few else look | {"markersize": 0.5}))
    points = ax.plot(shown.value[order], row, "o", color=color, markersize=4.5 if few else 1.5, zorder=3)
    handles: list[Any] = [*points, ends, *dots]
    labels = [shown.point, shown.interval, *["each group by itself"] * len(dots)]
    if np.isfinite(shown.overall):
        handles.append(ax.axvline(shown.overall, color=canvas.INK, linewidth=0.9, linestyle="--", zorder=1))
        labels.append("all groups")
    if few:
        named = [printable(group_name(shown.groups[i])) for i in order]
        ax.set_yticks(row, told_apart(named, canvas.fitting(ax, canvas.LABEL_WIDTH)), parse_math=False)
    else:
        ax.set_yticks([])
    ax.set_ylim(row.size - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=canvas.GRID_COLOR, linewidth=0.6)
    ax.set_xlabel(shown.label, parse_math=False)
    return canvas.Legend(handles, labels, [])


def _draw_trends(ax: Axes, shown: Drawn, along: str) -> canvas.Legend:
    column = shown.by.index(along)
    axis = axis_of_values([group[column] for group in shown.groups])
    assert axis is not None  # which is checked before
    x: Any = axis.positions
    if axis.dates:
        days = np.nan_to_num(axis.positions)
        x = np.datetime64("1970-01-01", "s") + np.round(86_400 * days).astype("timedelta64[s]")
    lines: dict[tuple[Any, ...], list[int]] = {}
    for index in axis.order.tolist():
        lines.setdefault(tuple(value for i, value in enumerate(shown.groups[index]) if i != column), []).append(index)
    largest = sorted(lines, key=lambda others: -float(shown.n[lines[others]].sum()))[:SERIES_DRAWN]
    handles, labels = [], []
    dots: list[Any] = []
    for number, others in enumerate([others for others in lines if others in largest]):
        line, color = np.array(lines[others]), canvas.PALETTE[number]
        style, marker = canvas.LINE_STYLES[number % len(canvas.LINE_STYLES)], "" if len(lines[others]) > 1 else "o"
        ax.fill_between(x[line], shown.low[line], shown.high[line], color=color, alpha=0.16, linewidth=0)
        handles += ax.plot(
            x[line], shown.value[line], color=color, linestyle=style, marker=marker, linewidth=1.8, zorder=3
        )
        if shown.alone is not None:
            dots = ax.plot(x[line], shown.alone[line], ".", color=color, markersize=4, alpha=0.35, zorder=2)
        labels.append(printable(group_name(others)) if others else shown.point)
    ax.grid(color=canvas.GRID_COLOR, linewidth=0.6)
    ax.set_ylabel(shown.label, parse_math=False)
    ax.set_xlabel(shortened(printable(along), 2 * canvas.LABEL_WIDTH), parse_math=False)
    notes = [f"bands: {shown.interval}"]
    notes += [f"the {len(largest)} of {len(lines):,} series with the most reports"] * (len(largest) < len(lines))
    return canvas.Legend([*handles, *dots], [*labels, *["each group by itself"] * len(dots)], notes)


# Means and quantiles


def plot_numbers(
    result: NumericResult, along: str | None = None, *, title: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw means, standard deviations or quantiles; see `NumericResult.plot`."""
    _refuse_no_order(result, along)
    return draw_numbers(canvas.new_axes(size_of_numbers(result, along)) if ax is None else ax, result, along, title)


def save_numbers(
    result: NumericResult, path: str | os.PathLike[str], along: str | None = None, *, title: str | None = None
) -> None:
    """Draw to a file, which is written whole or not at all; see `NumericResult.save_plot`."""
    _refuse_no_order(result, along)
    canvas.save_picture(lambda ax: draw_numbers(ax, result, along, title), size_of_numbers(result, along), path)


def draw_numbers(ax: Axes, result: NumericResult, along: str | None, title: str | None = None) -> Axes:
    """Draw the values of a result on these axes, by group or along a column."""
    value, low, high, n = (np.atleast_1d(getattr(result, name)) for name in ("value", "low", "high", "n"))
    name, groups = result.name, result.groups or ((f"all {reports_counted(n.sum(), weighted=result.weighted)}",),)
    shown = Drawn(result.by, groups, n, value, low, high, result.interval_name, name, name)
    legend = _draw_caterpillar(ax, shown, np.arange(len(value))) if along is None else _draw_trends(ax, shown, along)
    (ax.xaxis if along is None else ax.yaxis).set_major_formatter(lambda number, _: f"{number:,.10g}")
    facts = [reports_counted(n.sum(), weighted=result.weighted)]
    return _headed(ax, shown, legend, facts, title, f"Estimated {name}{' by group' * bool(result.by and not along)}")


def size_of_numbers(result: NumericResult, along: str | None) -> tuple[float, float]:
    """Return the size of the figure of `draw_numbers`, in inches."""
    groups = max(len(result.groups), 1)
    return canvas.FIGURE_INCHES, 5.0 if along is not None or groups > GROUPS_NAMED else 2.1 + 0.22 * groups


def _refuse_no_order(result: NumericResult, along: str | None) -> None:
    if along is None:
        return
    if along not in result.by:
        names = enumerated([*map(repr, result.by)]) or "none"
        raise ValueError(f"along must name a column of groups ({names}), but got {along!r}")
    if axis_of_values([group[result.by.index(along)] for group in result.groups]) is None:
        raise ValueError(
            f"along must be a column of numbers, dates, weeks, months or quarters, but {along!r} has no order that can "
            "be read; number its values"
        )
