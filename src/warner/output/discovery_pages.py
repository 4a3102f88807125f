"""Plots and HTML reports of discoveries: the values that were found, their intervals, and the smallest share found.

Groups are colored points, in the rows of the values that any of them has.
"""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.discovery.discoveries import Discovery, shown_value
from warner.output import canvas
from warner.output.pages import (
    BARS,
    TABLE_ROWS,
    Cell,
    bullets,
    definitions,
    design_section,
    figure,
    interval_cells,
    left_out_section,
    sortable_table,
    write_page,
)
from warner.text import (
    TIGHT,
    counted,
    enumerated,
    group_name,
    level_text,
    percent,
    percent_tight,
    printable,
    reports_counted,
    sentence,
    shortened,
    told_apart,
)
from warner.typesetting import p_value_cells

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from warner.arrays import Array
    from warner.discovery.discoveries import GroupFindings

VALUES_DRAWN = 40  # rows of values that were found
CANDIDATES_DRAWN = 5  # rows of values that were not
GIVEN = "intervals hold given that the value was found"
Value = tuple[str | int, bool]  # a value, and True for all values that could not be encoded


def discovery_picture(discovery: Discovery, title: str | None = None) -> canvas.Picture:
    """Picture of the detected values; see `Discovery.plot`."""
    drawing = _Drawing(discovery)
    candidates = 0 if discovery.tally.by else len(discovery.findings[0].candidates[:CANDIDATES_DRAWN])
    height = 0.27 if len(drawing.groups) == 1 else 0.16 + 0.13 * len(drawing.groups)
    size = canvas.FIGURE_INCHES, 2.2 + height * max(1, len(drawing.values)) + 0.27 * candidates
    return canvas.Picture(drawing.drawn, size, title)


class _Drawing:
    """Picture of the groups with the most reports, and of the values with the largest shares in any of them."""

    def __init__(self, discovery: Discovery) -> None:
        self.discovery, self.tally = discovery, discovery.tally
        order = np.argsort(-np.atleast_1d(self.tally.n), kind="stable")
        self.groups = np.sort(order[: len(canvas.PALETTE)]).tolist()
        shares: dict[Value, float] = {}
        for part in (discovery.findings[group] for group in self.groups):
            for value, share in zip(_values(part), part.share.tolist(), strict=True):
                shares[value] = max(share, shares.get(value, 0.0))
        ordered = sorted(shares, key=lambda value: -shares[value])
        self.values = ordered[: min(VALUES_DRAWN, max(1, canvas.POINT_ROWS_DRAWN // len(self.groups)))]
        self.number_found = len(ordered)

    def drawn(self, ax: Axes) -> tuple[canvas.Legend, str]:
        discovery, tally = self.discovery, self.tally
        self.handles, self.labels = list[Any](), list[str]()
        self.names = [shown_value(*value) for value in self.values]  # of the rows
        if not self.values:
            ax.annotate("none rises above the noise", (0.02, 0), xycoords=("axes fraction", "data"), va="center")
        notes = self._draw_groups(ax) if tally.by else self._draw_values(ax)
        if discovery.above:
            self.handles.append(ax.axvline(100 * discovery.above, color=canvas.PALETTE[-1], linewidth=1.0, zorder=1))
            self.labels.append(f"asked for: above {percent(discovery.above)}")
        canvas.name_rows(ax, self.names or [""])
        left, right = ax.get_xlim()
        ax.set_xlim(min(0.0, left), right)
        canvas.add_grid(ax, "x")
        ax.set_xlabel("true share of the value (%)")
        facts = [reports_counted(tally.n, weighted=False), f"ε = {tally.shown_epsilon()}"]
        facts += [f"by {shortened(printable(', '.join(tally.by)), canvas.LABEL_WIDTH)}"] * bool(tally.by)
        facts.append(discovery.promise())
        number = len(self.values)
        facts += [f"the {number} most common of {self.number_found:,} found values"] * (number < self.number_found)
        return canvas.Legend(self.handles, self.labels, [*facts, *notes]), discovery._title()

    def _draw_values(self, ax: Axes) -> list[str]:
        """Draw what was found, and below it the best candidates that were not; return notes."""
        discovery, (part,), number = self.discovery, self.discovery.findings, len(self.values)
        if number:
            self.handles += self._with_intervals(ax, part, np.arange(number, dtype=np.float64), 0)
            self.labels += ["found", f"{level_text(discovery.level)} interval"]
        candidates = part.candidates[:CANDIDATES_DRAWN]
        below = max(1, number) + np.arange(len(candidates))
        if candidates:
            shares = [100 * one.share for one in candidates]
            hollow: Any = {"color": canvas.REPORTED_POINT, "markerfacecolor": "none", "markersize": 5}
            self.handles += ax.plot(shares, below, "o", **hollow)
            self.labels.append("not found: no result")
            self.names = [*(self.names or [""]), *(shown_value(one.value, one.other) for one in candidates)]
            ax.axhspan(below[0] - 0.5, below[-1] + 0.5, color=canvas.STRIPE, linewidth=0, zorder=0)
        lines = {"found": part.smallest_share, "expected values": part.smallest_expected}
        for style, (label, share) in zip(canvas.LINE_STYLES[1:3], lines.items(), strict=True):
            if share is not None and share <= 1:
                look: Any = {"color": canvas.PALETTE[1], "linewidth": 1.1, "linestyle": style, "zorder": 1}
                self.handles.append(ax.axvline(100 * share, **look))
                self.labels.append(f"{label} from {percent(share)} on")
        return [GIVEN, self._dashed() if part.smallest_share <= 1 else "not even a share of 100 % would be found"]

    def _draw_groups(self, ax: Axes) -> list[str]:
        """Draw what was found in each group, in the rows of the values; return notes."""
        discovery, tally, number = self.discovery, self.tally, len(self.groups)
        names = told_apart([printable(tally.group_names()[group]) for group in self.groups], canvas.GROUP_WIDTH)
        canvas.stripe_rows(ax, len(self.values))
        for place, group in enumerate(self.groups):
            part = discovery.findings[group]
            rows = np.arange(len(self.values), dtype=np.float64) + (place - (number - 1) / 2) * 0.8 / number
            self.handles += self._with_intervals(ax, part, rows, place)[:-1]
            least = part.smallest_share
            self.labels.append(f"{names[place]}, {f'from {percent(least)} on' if least <= 1 else 'too small'}")
            if least <= 1:
                ax.axvline(100 * least, color=canvas.PALETTE[place], linewidth=0.9, linestyle="--", zorder=1)
        notes = [f"lines: {level_text(discovery.level)} intervals", GIVEN, "no mark: not found in that group"]
        notes.append(self._dashed())
        if number < len(tally.groups):
            notes.append(f"the {number} of {counted(len(tally.groups), 'group', 'groups')} with the most reports")
        return notes

    def _with_intervals(self, ax: Axes, part: GroupFindings, rows: Array, color: int) -> list[Any]:
        """Draw shares with their intervals in the rows of their values; a value that was not found has none."""
        place = {value: number for number, value in enumerate(_values(part))}
        there = np.array([value in place for value in self.values], dtype=bool)
        chosen = [place[value] for value in self.values if value in place]
        share, low, high = (100 * column[chosen] for column in (part.share, part.low, part.high))
        ends = canvas.whiskers(ax, low, high, rows[there], canvas.PALETTE[color])
        return [*canvas.group_points(ax, share, rows[there], color), ends]

    def _dashed(self) -> str:
        return f"dashed: shares found with a probability of {level_text(self.discovery.power)}"


def _values(part: GroupFindings) -> list[Value]:
    return list(zip(part.values, part.other.tolist(), strict=True))


# Pages


HEADLINED_VALUES = 5  # named in the headline
COMPUTED = (
    "Prefixes whose count rises above noise are followed level by level; the last level, whose reports were not used "
    "before, is the test of each value. The share is the median-unbiased one, and the interval the exact one, of a "
    "binomial count that was selected for being large."
)
SECOND_LOOK = "This is for one look at the reports. For a second look, share the error probability."
STRANGERS = (
    "The values are texts from strangers, and crafted reports can make any text appear: read them before they are "
    "published."
)


def save_discovery_page(
    discovery: Discovery, path: str | os.PathLike[str], *, title: str | None, question: str | None
) -> None:
    """Write the page; see `Discovery.save_page`. It is written whole or not at all."""
    tally = discovery.tally
    facts = [reports_counted(tally.n, weighted=False, kind="randomized"), tally.design.values.described()]
    facts += [f"{counted(len(tally.groups), 'group', 'groups')} by {', '.join(tally.by)}"] * bool(tally.by)
    facts.append(f"epsilon {tally.shown_epsilon()}")
    picture = figure(discovery_picture(discovery), "Values that were found with their intervals")
    sections = {
        "Table of results": _table_of_values(discovery),
        "How to read the table": _reading(discovery),
        "What would have been found": _remarks(discovery),
        "Values that were not found": _candidates(discovery),
        "How answers were randomized": design_section(tally),
        "Rows left out": left_out_section(tally),
        "How it was computed": _computed(discovery),
    }
    names = (title and printable(title), question and printable(question), printable(discovery._title()))
    first = [f"<div class='headline'>{_headline(discovery)}</div>", picture]
    write_page(path, names, printable(" · ".join(facts)), first, sections)


def _headline(discovery: Discovery) -> str:
    """Name the most common values, of each group where there are groups."""
    lines = []
    for group, part in zip(discovery.tally.group_names(), discovery.findings, strict=True):
        pairs = zip(part.values, part.other.tolist(), part.share.tolist(), strict=True)
        names = [f"{shown_value(value, other)} ({percent(share)})" for value, other, share in pairs]
        start = f"<strong>{escape(printable(group))}</strong>: " if discovery.tally.by else ""
        number = counted(len(names), "value was found", "values were found")
        found = f"{number}: {enumerated(names, HEADLINED_VALUES)}." if names else "no value rises above the noise."
        found = found if start else sentence(found)
        lines.append(f"<p class='{'group' if start else 'lead'}'>{start}{_unbroken(found)}</p>")
    return "".join([*lines, f"<p class='note'>{_unbroken(sentence(discovery.promise()))}</p>"])


def _table_of_values(discovery: Discovery) -> str:
    tally, table = discovery.tally, discovery.table()
    number = len(table["value"])
    other = table.get("other", np.zeros(number, dtype=bool))
    ends = (
        f"{percent_tight(low)} to {percent_tight(high)}" for low, high in zip(table["low"], table["high"], strict=True)
    )
    rows, adjusted_p, intervals = [], p_value_cells(table["adjusted"]), interval_cells(table, ends)
    for row in range(min(number, TABLE_ROWS)):
        texts = [group_name([table[name][row]]) for name in tally.by]
        texts.append(shown_value(table["value"][row], bool(other[row])))
        support, share, adjusted = (table[name][row].item() for name in ("support", "share", "adjusted"))
        numbers = [(repr(support), f"{support:,}"), (repr(share), percent_tight(share)), intervals[row]]
        rows.append((texts, [*numbers, (repr(adjusted), escape(adjusted_p[row]))]))
    cut = f"The first {TABLE_ROWS:,} rows of {number:,}. " if number > TABLE_ROWS else ""
    names = ("support", "share", f"{level_text(discovery.level)} interval", "adjusted p")
    note = f"{cut}{BARS}"
    return _noted_table(tally.by, names, rows, note, "Table of results", "No value rises above the noise.")


def _candidates(discovery: Discovery) -> str:
    rows = []
    for group, part in zip(discovery.tally.groups or ((),), discovery.findings, strict=True):
        for value, support, share, other in part.candidates:
            texts = [*(group_name([name]) for name in group), shown_value(value, other)]
            rows.append((texts, [(repr(support), f"{support:,}"), (repr(share), percent_tight(share))]))
    note = (
        "These had the largest counts of those that were not found. They are not results: with this many values "
        "tested, noise alone leads to such counts. Their shares are too large on average. They can be "
        "the list of a second survey."
    )
    names, label = ("support", "unbiased share"), "Values that were not found"
    return _noted_table(discovery.tally.by, names, rows[:TABLE_ROWS], note, label, "None was tested.")


def _noted_table(
    by: Sequence[str], names: Sequence[str], rows: list[tuple[list[str], list[Cell]]], note: str, label: str, empty: str
) -> str:
    """Write a table of values with a note; without rows, the sentence for that case."""
    if not rows:
        return f"<p>{empty}</p>"
    return f"<p class='note'>{escape(note)}</p>{sortable_table([*by, 'value'], names, rows, label)}"


def _reading(discovery: Discovery) -> str:
    level = _unbroken(level_text(discovery.level))
    explained = {
        "support": "is how many reports of the last level fit the value; a report fits many values.",
        "share": "is the estimated true share of the value, corrected for its selection by a large count.",
        f"{level} interval": (
            "is an interval for the share in the population. Given that the value was found, its "
            f"coverage is at least {level}. Just above the limit it reaches down to 0: that the value occurs "
            "is certain, at the level of the test, but its share is not."
        ),
        "adjusted p": (
            "is the smallest error probability, of all tests together, at which the value would have been found."
        ),
    }
    return bullets([*(f"<strong>{name}</strong> {text}" for name, text in explained.items()), SECOND_LOOK, STRANGERS])


def _remarks(discovery: Discovery) -> str:
    parts = []
    for group, part in zip(discovery.tally.group_names(), discovery.findings, strict=True):
        head = f"<h3>{escape(printable(group))}</h3>" if discovery.tally.by else ""
        parts.append(head + bullets(_unbroken(sentence(remark)) for remark in discovery.remarks(part)))
    return "".join(parts)


def _computed(discovery: Discovery) -> str:
    from warner import __version__

    tested = [f"{part.tested:,}" for part in discovery.findings]
    kept = ["; ".join(f"{number:,}" for number in part.kept) or "none" for part in discovery.findings]
    lines = {
        "method": COMPUTED,
        "values tested": " / ".join(tested),
        "prefixes kept": " / ".join(kept),
        "design": discovery.tally.design.summary(),
        "software": f"warner {__version__}",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
    }
    return definitions(lines)


def _unbroken(text: str) -> str:
    """Write a text for a page, with numbers that stay with their percent signs."""
    return escape(text).replace(" %", f"{TIGHT}%")
