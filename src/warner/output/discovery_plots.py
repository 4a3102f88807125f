"""Plots of discoveries: the values that were found with their intervals, and the share from which on they are found.

A row for each value, the largest share first, with its interval given that it was found; a vertical line at
the smallest share that would have been found. Below them stand, hollow and grey, the best of the values that were not
found: they are no result. Groups are coloured points, in the rows of the values that any of them has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.discovery.discoveries import shown_value
from warner.output import canvas
from warner.text import counted, level_text, percent, printable, reports_counted, shortened, told_apart

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes

    from warner.arrays import Array
    from warner.discovery.discoveries import Discovery, GroupFindings

VALUES_DRAWN = 40  # rows of values that were found
CANDIDATES_DRAWN = 5  # rows of values that were not
Value = tuple[str | int, bool]  # a value, and True for all values that could not be encoded


class _Rows(NamedTuple):
    """The values that are drawn, the groups that have them, and how many more values there are."""

    values: list[Value]
    groups: list[int]
    more: int


def plot_discovery(discovery: Discovery, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw what was found; see `Discovery.plot`."""
    return _drawn(canvas.new_axes(_size(discovery)) if ax is None else ax, discovery, title)


def save_discovery_plot(discovery: Discovery, path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Draw to a file, which is written whole or not at all; see `Discovery.save_plot`."""
    canvas.save_picture(lambda ax: _drawn(ax, discovery, title), _size(discovery), path)


def discovery_svg(discovery: Discovery, *, title: str, width: float = canvas.FIGURE_INCHES) -> str:
    """Draw as an SVG element for a web page, this many inches wide."""
    height = _size(discovery)[1] + (0.0 if width == canvas.FIGURE_INCHES else canvas.MORE_LINES)
    return canvas.svg_element(lambda ax: _drawn(ax, discovery, title), (width, height))


def _size(discovery: Discovery) -> tuple[float, float]:
    rows, candidates = _rows(discovery), 0
    if not discovery.tally.by:
        candidates = len(discovery.findings[0].candidates[:CANDIDATES_DRAWN])
    height = 0.27 if len(rows.groups) == 1 else 0.16 + 0.13 * len(rows.groups)
    return canvas.FIGURE_INCHES, 2.2 + height * max(1, len(rows.values)) + 0.27 * candidates


def _rows(discovery: Discovery) -> _Rows:
    """Choose the groups with the most reports, and the values with the largest shares in any of them."""
    n = np.atleast_1d(discovery.tally.n)
    groups = np.sort(np.argsort(-n, kind="stable")[: len(canvas.PALETTE)]).tolist()
    shares: dict[Value, float] = {}
    for group in groups:
        for value, share in _shares(discovery.findings[group]).items():
            shares[value] = max(share, shares.get(value, 0.0))
    ordered = sorted(shares, key=lambda value: -shares[value])
    most = min(VALUES_DRAWN, max(1, canvas.POINT_ROWS_DRAWN // len(groups)))
    return _Rows(ordered[:most], groups, max(0, len(ordered) - most))


def _shares(part: GroupFindings) -> dict[Value, float]:
    return dict(zip(_values(part), part.share.tolist(), strict=True))


def _values(part: GroupFindings) -> list[Value]:
    return list(zip(part.values, part.other.tolist(), strict=True))


def _drawn(ax: Axes, discovery: Discovery, title: str | None) -> Axes:
    tally, rows = discovery.tally, _rows(discovery)
    legend = _draw_groups(ax, discovery, rows) if tally.by else _draw_values(ax, discovery, rows)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    ax.grid(axis="x", color=canvas.GRID_COLOR, linewidth=0.6)
    ax.set_xlabel("true share of the value (%)")
    facts = [reports_counted(tally.n, weighted=False), f"ε = {tally.shown_epsilon()}"]
    facts += [f"by {shortened(printable(', '.join(tally.by)), canvas.LABEL_WIDTH)}"] * bool(tally.by)
    facts.append(discovery.promise())
    notes = [f"the {len(rows.values)} most common of {len(rows.values) + rows.more:,} found values"] * bool(rows.more)
    above = canvas.add_legend(ax, legend)
    canvas.add_heading(ax, [*facts, *notes, *legend.notes], discovery.title() if title is None else title, above)
    return ax


def _draw_values(ax: Axes, discovery: Discovery, rows: _Rows) -> canvas.Legend:
    (part,), number = discovery.findings, len(rows.values)
    names, handles, labels = [shown_value(*value) for value in rows.values], list[Any](), list[str]()
    if number:
        points, ends = _with_intervals(ax, part, rows.values, np.arange(number, dtype=np.float64), 0)
        handles, labels = [*points, ends], ["found", f"{level_text(discovery.level)} interval"]
    candidates = part.candidates[:CANDIDATES_DRAWN]
    below = max(1, number) + np.arange(len(candidates))
    if candidates:
        shares = [100 * one.share for one in candidates]
        hollow: Any = {"color": canvas.REPORTED_POINT, "markerfacecolor": "none", "markersize": 5}
        handles += ax.plot(shares, below, "o", **hollow)
        labels.append("not found: no result")
        names += ([] if number else [""]) + [shown_value(one.value, one.other) for one in candidates]
        ax.axhspan(below[0] - 0.5, below[-1] + 0.5, color=canvas.STRIPE, linewidth=0, zorder=0)
    if not number:
        ax.annotate("none rises above the noise", (0.02, 0), xycoords=("axes fraction", "data"), va="center")
        names = names or [""]
    lines = {"found": part.smallest_share, "expected values": part.smallest_expected}
    for style, (label, share) in zip(canvas.LINE_STYLES[1:3], lines.items(), strict=True):
        if share is not None and share <= 1:
            handles.append(ax.axvline(100 * share, color=canvas.PALETTE[1], linewidth=1.1, linestyle=style, zorder=1))
            labels.append(f"{label} from {percent(share)} on")
    some = part.smallest_share <= 1
    notes = [_given(), _dashed(discovery)] if some else [_given(), "not even a share of 100 % would be found"]
    _limit(ax, discovery, handles, labels)
    _name_rows(ax, names)
    return canvas.Legend(handles, labels, notes)


def _draw_groups(ax: Axes, discovery: Discovery, rows: _Rows) -> canvas.Legend:
    tally = discovery.tally
    names = told_apart([printable(tally.group_names()[group]) for group in rows.groups], canvas.GROUP_WIDTH)
    handles, labels = list[Any](), list[str]()
    for striped in range(0, len(rows.values), 2):
        ax.axhspan(striped - 0.5, striped + 0.5, color=canvas.STRIPE, linewidth=0, zorder=0)
    for place, group in enumerate(rows.groups):
        part = discovery.findings[group]
        row = np.arange(len(rows.values), dtype=np.float64) + (place - (len(rows.groups) - 1) / 2) * 0.8 / len(
            rows.groups
        )
        points, _ = _with_intervals(ax, part, rows.values, row, place)
        handles += points
        least = part.smallest_share
        labels.append(f"{names[place]}, from {percent(least)} on" if least <= 1 else f"{names[place]}, too small")
        if least <= 1:
            ax.axvline(100 * least, color=canvas.PALETTE[place], linewidth=0.9, linestyle="--", zorder=1)
    if not rows.values:
        ax.annotate("none rises above the noise", (0.02, 0), xycoords=("axes fraction", "data"), va="center")
    notes = [f"lines: {level_text(discovery.level)} intervals", _given(), "no mark: not found in that group"]
    notes.append(_dashed(discovery))
    if len(rows.groups) < len(tally.groups):
        notes.append(f"the {len(rows.groups)} of {counted(len(tally.groups), 'group', 'groups')} with the most reports")
    _limit(ax, discovery, handles, labels)
    _name_rows(ax, [shown_value(*value) for value in rows.values] or [""])
    return canvas.Legend(handles, labels, notes)


def _with_intervals(ax: Axes, part: GroupFindings, values: list[Value], rows: Array, color: int) -> tuple[Any, Any]:
    """Draw shares with their intervals in the rows of their values; a value that was not found has none."""
    place = {value: number for number, value in enumerate(_values(part))}
    chosen = [place.get(value, -1) for value in values]
    there = np.array([number >= 0 for number in chosen], dtype=bool)
    share, low, high = (100 * column[[n for n in chosen if n >= 0]] for column in (part.share, part.low, part.high))
    ends = canvas.whiskers(ax, low, high, rows[there], canvas.PALETTE[color])
    points = ax.plot(share, rows[there], canvas.MARKERS[color], color=canvas.PALETTE[color], markersize=5.5, zorder=3)
    return points, ends


def _given() -> str:
    return "intervals hold given that the value was found"


def _dashed(discovery: Discovery) -> str:
    return f"dashed: shares found with a probability of {level_text(discovery.power)}"


def _limit(ax: Axes, discovery: Discovery, handles: list[Any], labels: list[str]) -> None:
    """Mark the share that values must exceed."""
    if discovery.above:
        handles.append(ax.axvline(100 * discovery.above, color=canvas.PALETTE[-1], linewidth=1.0, zorder=1))
        labels.append(f"asked for: above {percent(discovery.above)}")


def _name_rows(ax: Axes, names: list[str]) -> None:
    ax.set_yticks(np.arange(len(names)), told_apart(names, canvas.fitting(ax, canvas.LABEL_WIDTH)), parse_math=False)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    _, right = ax.get_xlim()
    ax.set_xlim(min(0.0, ax.get_xlim()[0]), right)
