"""Trends: estimates of groups that have an order, along an axis of time or of numbers.

Groups by one column are a trend where all values of that column are numbers, dates, weeks, months or quarters, and
there are three of them at least. The axis is that of the values themselves: groups that are twice as far apart are
drawn so. Each of the most common answers is a line, with its intervals as a band. Neither is drawn through groups
without reports, nor where steps of a regular series are missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warner.groups.ordered_groups import axis_of_values
from warner.output import canvas
from warner.words import counted, printable, shortened, told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from warner.arrays import Array, Mask
    from warner.groups.ordered_groups import Axis
    from warner.output.estimate_plots import Shown
    from warner.reports.pools import Collected

GROUPS_OF_A_TREND = 3  # that make a trend
BANDS_DRAWN = 5  # whose bands can be told apart
GROUPS_MARKED = 40  # groups that have a marker each
AXIS_CHARACTERS = 84  # that fit below an axis
NUMBERS_IN_FULL = 1e6  # numbers from which on the axis writes all digits
REGULAR_STEPS = 0.75  # of the steps between groups must be equal for a missing one to be a gap


def axis_of(tally: Collected) -> Axis | None:
    """Give the axis of groups that have an order; None where they have none.

    >>> from warner import RandomizedResponse, Tally
    >>> weeks = (("2026-W01",), ("2026-W02",), ("2026-W10",), (None,))
    >>> axis_of(Tally(RandomizedResponse(2, epsilon=1), [[5, 5]] * 4, by=("week",), groups=weeks)).positions.tolist()
    [20451.0, 20458.0, 20514.0, nan]
    """
    if len(tally.by) != 1:
        return None
    values = [group[0] for group in tally.groups]
    return axis_of_values(values) if sum(value is not None for value in values) >= GROUPS_OF_A_TREND else None


def pieces(positions: Array, known: Mask) -> list[NDArray[np.intp]]:
    """Cut a series where a group has no reports, and where steps of a regular series are missing.

    >>> weeks = np.array([1.0, 2.0, 3.0, 7.0, 8.0])
    >>> [piece.tolist() for piece in pieces(weeks, np.array([True, True, True, True, True]))]
    [[0, 1, 2], [3, 4]]
    """
    steps = np.diff(positions)
    usual = float(np.median(steps)) if steps.size else 0.0
    regular = usual > 0 and np.isclose(steps, usual, rtol=0.11).mean() >= REGULAR_STEPS  # months have 28 to 31 days
    cut = ~known[1:] | ~known[:-1]
    if regular:
        cut = cut | (steps > 1.6 * usual)
    parts = np.split(np.arange(positions.size), np.flatnonzero(cut) + 1)
    return [part[known[part]] for part in parts if known[part].any()]


def draw_trend(ax: Axes, tally: Collected, shown: Shown, axis: Axis, rows: int) -> canvas.Legend:
    """Draw a line with a band for each of the most common answers; of two answers, for the first."""
    order = axis.order
    n = np.asarray(tally.n, dtype=np.float64)
    answers = _answers(shown, n, rows)
    x: Any = axis.positions[order]
    if axis.dates:
        x = np.datetime64("1970-01-01", "s") + np.round(86_400 * x).astype("timedelta64[s]")
    parts = pieces(axis.positions[order], n[order] > 0)
    raw: list[Any] = []
    if len(answers) == 1 and shown.reported is not None:
        for part in parts:
            style = ".:" if len(x) <= GROUPS_MARKED or part.size == 1 else ":"
            raw = ax.plot(
                x[part], shown.reported[order[part], 0], style, color=canvas.REPORTED_POINT, linewidth=1.3, zorder=1.5
            )
    handles = [
        _draw_answer(ax, x, parts, [column[order, answer] for column in shown[:3]], place)
        for place, answer in enumerate(answers)
    ]
    _finish(ax, tally, shown.part(order, np.array(answers)), axis, answers)
    names = told_apart([printable(str(tally.domain[answer])) for answer in answers], canvas.GROUP_WIDTH)
    around = "band" if len(answers) == 1 else "bands"
    notes = [f"{around}: {shown.interval_label}"]
    notes += [f"the {len(answers)} most common of {tally.k:,} answers"] * (1 < len(answers) < tally.k)
    notes += ["lines end where there are no reports"] * (len(parts) > 1)
    notes += _left_out(axis, n)
    return canvas.Legend([*handles, *raw[:1]], [*names, *[shown.reports_label] * len(raw[:1])], notes)


def _answers(shown: Shown, n: Array, rows: int) -> list[int]:
    """Choose the answers to draw, the most common first: those with the largest shares of all reports together."""
    if shown.share.shape[1] <= 2:  # of two answers the first, or two readings of it
        return list(range(shown.share.shape[1]))
    common = np.argsort(-(n @ np.nan_to_num(shown.share)), kind="stable")
    return [int(place) for place in common[: min(rows, BANDS_DRAWN)]]


def _draw_answer(ax: Axes, x: Any, parts: list[NDArray[np.intp]], numbers: list[Array], place: int) -> Any:
    share, low, high = numbers
    colour, style = canvas.PALETTE[place], canvas.LINE_STYLES[place % len(canvas.LINE_STYLES)]
    marker = canvas.MARKERS[place] if len(x) <= GROUPS_MARKED else ""
    for part in parts:
        if part.size > 1:
            ax.fill_between(x[part], low[part], high[part], color=colour, alpha=0.16, linewidth=0)
        else:  # a band would have no width
            ax.vlines(x[part], low[part], high[part], color=colour, alpha=0.45, linewidth=3.5)
        ax.plot(
            x[part],
            share[part],
            linestyle=style if part.size > 1 else "none",
            marker=marker or ("" if part.size > 1 else canvas.MARKERS[place]),
            color=colour,
            linewidth=1.8,
            markersize=4.5,
            zorder=3,
        )
    (handle,) = ax.plot([], [], linestyle=style, marker=marker, color=colour, linewidth=1.8, markersize=4.5)
    return handle


def _left_out(axis: Axis, n: Array) -> list[str]:
    without = int((~np.isfinite(axis.positions)).sum())
    empty = int((n[axis.order] == 0).sum())
    notes = ["the group without a value is not drawn"] * (without > 0)
    return notes + [f"{counted(empty, 'group has', 'groups have')} no reports"] * (empty > 0)


def _finish(ax: Axes, tally: Collected, shown: Shown, axis: Axis, answers: list[int]) -> None:
    """Scale and label the axes."""
    drawn = np.concatenate([part.ravel() for part in (shown.share, shown.low, shown.high)])
    if len(answers) == 1 and shown.reported is not None:
        drawn = np.append(drawn, shown.reported)
    least, most = min(float(np.nanmin(drawn)), 0.0), float(np.nanmax(drawn))
    room = 0.04 * (most - least or 1.0)
    ax.set_ylim(least - room, most + room)
    if least < 0:
        ax.axhline(0, color=canvas.INK, linewidth=0.8)
    ax.grid(color=canvas.GRID_COLOUR, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_ylabel(shown.axis_label, parse_math=False)
    ax.set_xlabel(shortened(printable(tally.by[0]), 2 * canvas.LABEL_WIDTH), parse_math=False)
    if len(axis.order) <= GROUPS_MARKED:
        _label_groups(ax, tally, axis)
    elif axis.dates:
        _label_dates(ax)
    else:
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}" if abs(value) < NUMBERS_IN_FULL else f"{value:.0f}")


def _label_groups(ax: Axes, tally: Collected, axis: Axis) -> None:
    """Name the groups at their places, from left to right, those whose names fit beside each other."""
    names = told_apart([printable(str(tally.groups[group][0])) for group in axis.order], canvas.GROUP_WIDTH)
    placed = axis.positions[axis.order]
    room = (placed[-1] - placed[0]) / canvas.fitting(ax, AXIS_CHARACTERS)  # of a character
    shown: list[int] = []
    for group, name in enumerate(names):
        if not shown or placed[group] - placed[shown[-1]] >= room * (2 + (len(name) + len(names[shown[-1]])) / 2):
            shown.append(group)
    # Matplotlib counts days since 1970 as well.
    ax.set_xticks([float(placed[group]) for group in shown], [names[group] for group in shown], parse_math=False)


def _label_dates(ax: Axes) -> None:
    from matplotlib import dates

    untyped: Any = dates
    locator = untyped.AutoDateLocator(minticks=3, maxticks=canvas.fitting(ax, 9))
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(untyped.ConciseDateFormatter(locator))
