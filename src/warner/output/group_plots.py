"""Plots of partially pooled shares: a caterpillar plot of groups, and a trend with a band along an order.

A caterpillar plot has a line for each group, sorted by share: the pooled share with its interval, the separate share as
a faint dot, and the overall share as a vertical line. Beyond `GROUPS_NAMED` groups they are thin lines without names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warner.groups.random_walk import axis_of_values
from warner.output import canvas
from warner.text import counted, group_name, printable, quoted, reports_counted, shortened, told_apart

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from warner.arrays import Array
    from warner.groups.group_estimates import GroupEstimates

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


def _drawn(
    ax: Axes, estimates: GroupEstimates, place: int, *, sort: bool, level: float, kind: str, title: str | None
) -> Axes:
    tally = estimates.tally
    low, high = (100 * ends for ends in estimates.answer_limits(place, level, kind))
    draw = _draw_caterpillar if estimates.along is None else _draw_trends
    legend = draw(ax, estimates, place, low, high, estimates.interval_name(level, kind), sort)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    most = "at most " if len(tally.parts) > 1 else "= "
    facts = [reports_counted(tally.n, weighted=tally.weighted), f"ε {most}{tally.shown_epsilon()}"]
    facts.append(f"{counted(len(tally.groups), 'group', 'groups')} by {shortened(printable(', '.join(tally.by)), 40)}")
    above = canvas.add_legend(ax, legend)
    default = TITLE if estimates.along is None else TREND_TITLE
    canvas.add_heading(ax, [*facts, *legend.notes], default if title is None else title, above)
    return ax


def separate_shares(estimates: GroupEstimates, place: int) -> Array:
    """Return the unbiased share of each group by itself, from 0 to 1 in percent; NaN if it is not identified."""
    mirrored = place >= len(estimates.direct)
    direct = estimates.direct[0 if mirrored else place]
    share = np.clip(1 - direct.share if mirrored else direct.share, 0, 1)
    return np.where(direct.informative, 100 * share, np.nan)


def _draw_caterpillar(
    ax: Axes, estimates: GroupEstimates, place: int, low: Array, high: Array, interval: str, sort: bool
) -> canvas.Legend:
    tally, share = estimates.tally, 100 * estimates.shares[:, place]
    order = np.argsort(-share, kind="stable") if sort else np.arange(share.size)
    row = np.arange(share.size)
    few = share.size <= GROUPS_NAMED
    alone = separate_shares(estimates, place)
    ends = ax.hlines(row, low[order], high[order], color=canvas.PALETTE[0], linewidth=1.6 if few else 0.5, alpha=0.8)
    dots = ax.plot(
        alone[order], row, ".", color=canvas.REPORTED_POINT, markersize=6 if few else 2, alpha=0.6, zorder=1.5
    )
    points = ax.plot(share[order], row, "o", color=canvas.PALETTE[0], markersize=4.5 if few else 1.5, zorder=3)
    handles: list[Any] = [*points, ends, *dots]
    labels = ["estimated together", interval, "each group by itself"]
    if not estimates.on and np.isfinite(estimates.overall[place]):
        handles.append(
            ax.axvline(100 * estimates.overall[place], color=canvas.INK, linewidth=0.9, linestyle="--", zorder=1)
        )
        labels.append("all groups")
    if few:
        names = told_apart(
            [printable(group_name(tally.groups[i])) for i in order], canvas.fitting(ax, canvas.LABEL_WIDTH)
        )
        ax.set_yticks(row, names, parse_math=False)
    else:
        ax.set_yticks([])
    ax.set_ylim(share.size - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=canvas.GRID_COLOR, linewidth=0.6)
    ax.set_xlabel(f"share of respondents with the answer {quoted(tally.domain[place])} (%)", parse_math=False)
    return canvas.Legend(handles, labels, [])


def _draw_trends(
    ax: Axes, estimates: GroupEstimates, place: int, low: Array, high: Array, interval: str, _sort: bool
) -> canvas.Legend:
    assert estimates.series is not None
    assert estimates.along is not None
    tally, share = estimates.tally, 100 * estimates.shares[:, place]
    column = tally.by.index(estimates.along)
    axis = axis_of_values([group[column] for group in tally.groups])
    assert axis is not None  # as the series has one
    x: Any = axis.positions
    if axis.dates:
        days = np.nan_to_num(axis.positions)
        x = np.datetime64("1970-01-01", "s") + np.round(86_400 * days).astype("timedelta64[s]")
    alone = separate_shares(estimates, place)
    series = [line[line >= 0] for line in estimates.series.indices.T]
    largest = sorted(range(len(series)), key=lambda i: -float(np.atleast_1d(tally.n)[series[i]].sum()))[:SERIES_DRAWN]
    handles, labels = [], []
    dots: list[Any] = []
    for color, number in enumerate(sorted(largest)):
        line: NDArray[np.intp] = series[number]
        style = canvas.LINE_STYLES[color % len(canvas.LINE_STYLES)]
        ax.fill_between(x[line], low[line], high[line], color=canvas.PALETTE[color], alpha=0.16, linewidth=0)
        handles += ax.plot(x[line], share[line], color=canvas.PALETTE[color], linestyle=style, linewidth=1.8, zorder=3)
        dots = ax.plot(x[line], alone[line], ".", color=canvas.PALETTE[color], markersize=4, alpha=0.35, zorder=2)
        others = tuple(value for i, value in enumerate(tally.groups[line[0]]) if i != column)
        labels.append(printable(group_name(others)) if others else "estimated together")
    ax.grid(color=canvas.GRID_COLOR, linewidth=0.6)
    ax.set_ylabel(f"share of respondents with the answer {quoted(tally.domain[place])} (%)", parse_math=False)
    ax.set_xlabel(shortened(printable(estimates.along), 2 * canvas.LABEL_WIDTH), parse_math=False)
    notes = [f"bands: {interval}"]
    notes += [f"the {len(largest)} of {len(series):,} series with the most reports"] * (len(largest) < len(series))
    return canvas.Legend([*handles, *dots], [*labels, "each group by itself"], notes)
