"""Plots of groups: a caterpillar plot, and a trend with a band along an order, of shares, means and quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.groups.random_walk import axis_of_values
from warner.inference.answer_tables import reports_in_words
from warner.output import canvas
from warner.text import counted, enumerated, group_name, printable, quoted, reports_counted, shortened

if TYPE_CHECKING:
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


def group_picture(
    estimates: GroupEstimates,
    place: int,
    *,
    sort: bool = True,
    level: float = 0.95,
    kind: str = "average",
    title: str | None = None,
) -> canvas.Picture:
    """Picture of the shares of one answer; see `GroupEstimates.plot`."""
    estimates.answer_limits(place, level, kind)  # errors come before the drawing
    size = _size(len(estimates.tally.groups), estimates.along)
    return canvas.Picture(lambda ax: _drawn(ax, estimates, place, sort=sort, level=level, kind=kind), size, title)


def _size(groups: int, along: str | None) -> canvas.Inches:
    return canvas.FIGURE_INCHES, 5.0 if along is not None or groups > GROUPS_NAMED else 2.1 + 0.22 * groups


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
    ax: Axes, estimates: GroupEstimates, place: int, *, sort: bool, level: float, kind: str
) -> tuple[canvas.Legend, str]:
    tally = estimates.tally
    low, high = (100 * ends for ends in estimates.answer_limits(place, level, kind))
    mirrored = place >= len(estimates.direct)
    direct = estimates.direct[0 if mirrored else place]
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
        100 * np.where(direct.informative, np.clip(1 - direct.share if mirrored else direct.share, 0, 1), np.nan),
        np.nan if estimates.on else 100 * float(estimates.overall[place]),
    )
    if estimates.along is None:
        order = np.argsort(-shown.value, kind="stable") if sort else np.arange(len(shown.value))
        legend = _draw_caterpillar(ax, shown, order)
    else:
        legend = _draw_trends(ax, shown, estimates.along)
    facts = [reports_in_words(tally), f"ε {'at most' if len(tally.parts) > 1 else '='} {tally.shown_epsilon()}"]
    return _with_facts(shown, legend, facts), TITLE if estimates.along is None else TREND_TITLE


def _with_facts(shown: Drawn, legend: canvas.Legend, facts: list[str]) -> canvas.Legend:
    if shown.by:
        groups = counted(len(shown.groups), "group", "groups")
        facts = [*facts, f"{groups} by {shortened(printable(', '.join(shown.by)), 40)}"]
    return legend._replace(notes=[*facts, *legend.notes])


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
        canvas.name_rows(ax, [printable(group_name(shown.groups[i])) for i in order])
    else:
        ax.set_yticks([])
        ax.set_ylim(row.size - 0.5, -0.5)
    canvas.add_grid(ax, "x")
    ax.set_xlabel(shown.label, parse_math=False)
    return canvas.Legend(handles, labels, [])


def _draw_trends(ax: Axes, shown: Drawn, along: str) -> canvas.Legend:
    column = shown.by.index(along)
    axis = axis_of_values([group[column] for group in shown.groups])
    assert axis is not None  # which is checked before
    x = canvas.along_axis(axis)
    lines: dict[tuple[Any, ...], list[int]] = {}
    for index in axis.order.tolist():
        lines.setdefault(tuple(value for i, value in enumerate(shown.groups[index]) if i != column), []).append(index)
    largest = sorted(lines, key=lambda others: -float(shown.n[lines[others]].sum()))[:SERIES_DRAWN]
    handles, labels = [], []
    dots: list[Any] = []
    for number, others in enumerate([others for others in lines if others in largest]):
        line, color, marker = np.array(lines[others]), canvas.PALETTE[number], "" if len(lines[others]) > 1 else "o"
        ax.fill_between(x[line], shown.low[line], shown.high[line], color=color, alpha=0.16, linewidth=0)
        handles += ax.plot(
            x[line], shown.value[line], marker=marker, linewidth=1.8, zorder=3, **canvas.line_look(number)
        )
        if shown.alone is not None:
            dots = ax.plot(x[line], shown.alone[line], "o", color=color, mfc="none", markersize=4, alpha=0.6, zorder=2)
        labels.append(printable(group_name(others)) if others else shown.point)
    canvas.add_grid(ax)
    ax.set_ylabel(shown.label, parse_math=False)
    ax.set_xlabel(shortened(printable(along), 2 * canvas.LABEL_WIDTH), parse_math=False)
    notes = [f"bands: {shown.interval}"]
    notes += [f"the {len(largest)} of {len(lines):,} series with the most reports"] * (len(largest) < len(lines))
    return canvas.Legend([*handles, *dots], [*labels, *["each group by itself"] * len(dots)], notes)


def number_picture(result: NumericResult, along: str | None, title: str | None = None) -> canvas.Picture:
    """Picture of means, standard deviations or quantiles, by group or along a column; see `NumericResult.plot`."""
    if along is not None and along not in result.by:
        names = enumerated([*map(repr, result.by)]) or "none"
        raise ValueError(f"along must name a column of groups ({names}), but got {along!r}")
    if along is not None and axis_of_values([group[result.by.index(along)] for group in result.groups]) is None:
        raise ValueError(
            f"along must be a column of numbers, dates, weeks, months or quarters, but {along!r} has no order that can "
            "be read; number its values"
        )
    return canvas.Picture(lambda ax: _draw_numbers(ax, result, along), _size(max(len(result.groups), 1), along), title)


def _draw_numbers(ax: Axes, result: NumericResult, along: str | None) -> tuple[canvas.Legend, str]:
    value, low, high, n = (np.atleast_1d(getattr(result, name)) for name in ("value", "low", "high", "n"))
    name, groups = result.name, result.groups or ((f"all {reports_counted(n.sum(), weighted=result.weighted)}",),)
    shown = Drawn(result.by, groups, n, value, low, high, result.interval_name, name, name)
    legend = _draw_caterpillar(ax, shown, np.arange(len(value))) if along is None else _draw_trends(ax, shown, along)
    (ax.xaxis if along is None else ax.yaxis).set_major_formatter(lambda number, _: f"{number:,.10g}")
    facts = [reports_counted(n.sum(), weighted=result.weighted)]
    return _with_facts(shown, legend, facts), f"Estimated {name}{' by group' * bool(result.by and not along)}"
