"""HTML report on a discovery: one self-contained page with the plot, the found values, and what the numbers mean."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from warner.discovery.discoveries import Discovery, shown_value
from warner.documents import written_whole
from warner.output.canvas import FIGURE_INCHES, NARROW_INCHES
from warner.output.discovery_plots import discovery_svg
from warner.output.page_tables import sortable_table
from warner.output.pages import TABLE_ROWS, design_section, left_out_section, whole_page
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
)
from warner.typesetting import p_value_cells

if TYPE_CHECKING:
    import os


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
    page = _page(discovery, title, question)
    with written_whole(path) as part:
        part.write_text(page, encoding="utf-8", errors="replace")


def _page(discovery: Discovery, title: str | None, question: str | None) -> str:
    tally, name = discovery.tally, title or question or discovery.title()
    pictures = "".join(
        f"<div class='{kind}'>{discovery_svg(discovery, title=discovery.title(), width=width)}</div>"
        for kind, width in (("broad", FIGURE_INCHES), ("narrow", NARROW_INCHES))
    )
    asked = f"<p>The question: <q>{escape(question)}</q></p>" if question and title else ""
    facts = [reports_counted(tally.n, weighted=False, kind="randomized"), tally.design.values.described()]
    facts += [f"{counted(len(tally.groups), 'group', 'groups')} by {', '.join(tally.by)}"] * bool(tally.by)
    facts.append(f"epsilon {tally.shown_epsilon()}")
    drawn = "Values that were found with their intervals; the numbers are in the table"
    sections = [
        f"<h1>{escape(printable(name))}</h1>\n<p class='facts'>{escape(printable(' · '.join(facts)))}</p>\n{asked}",
        f"<div class='headline'>{_headline(discovery)}</div>",
        f"<figure role='img' aria-label='{drawn}'>{pictures}</figure>",
        f"<h2>Table of results</h2>{_table_of_values(discovery)}",
        f"<h2>How to read the table</h2>{_reading(discovery)}",
        f"<h2>What would have been found</h2>{_remarks(discovery)}",
        f"<h2>Values that were not found</h2>{_candidates(discovery)}",
        f"<h2>How answers were randomized</h2>{design_section(tally)}",
        f"<h2>Rows left out</h2>{left_out_section(tally)}",
        f"<h2>How it was computed</h2>{_computed(discovery)}",
    ]
    return whole_page(name, sections)


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
    rows, adjusted_p = [], p_value_cells(table["adjusted"])
    for row in range(min(number, TABLE_ROWS)):
        texts = [group_name([table[name][row]]) for name in tally.by]
        texts.append(shown_value(table["value"][row], bool(other[row])))
        support, adjusted = int(table["support"][row]), float(table["adjusted"][row])
        numbers = [(repr(support), f"{support:,}")]
        numbers += [(repr(value := float(table[name][row])), percent_tight(value)) for name in ("share", "low", "high")]
        rows.append((texts, [*numbers, (repr(adjusted), escape(adjusted_p[row]))]))
    cut = f"The first {TABLE_ROWS:,} rows of {number:,}. " if number > TABLE_ROWS else ""
    note = f"{cut}Low and high are the ends of the {level_text(discovery.level)} interval, given that it was found."
    if not rows:
        return "<p>No value rises above the noise.</p>"
    names = ("support", "share", "low", "high", "adjusted p")
    written = sortable_table([*tally.by, "value"], names, rows, "Table of results")
    return f"<p class='note'>{escape(note)}</p>{written}"


def _candidates(discovery: Discovery) -> str:
    tally = discovery.tally
    rows = []
    for group, part in zip(tally.groups or ((),), discovery.findings, strict=True):
        for value, support, share, other in part.candidates:
            texts = [*(group_name([name]) for name in group), shown_value(value, other)]
            rows.append((texts, [(repr(support), f"{support:,}"), (repr(share), percent_tight(share))]))
    note = (
        "These had the largest counts of those that were not found. They are not results: among so many values that "
        "were tested, noise alone leads to such counts. Their shares are too large on average. They can be "
        "the list of a second survey."
    )
    if not rows:
        return "<p>None was tested.</p>"
    names = ("support", "unbiased share")
    written = sortable_table([*tally.by, "value"], names, rows[:TABLE_ROWS], "Values that were not found")
    return f"<p class='note'>{escape(note)}</p>{written}"


def _reading(discovery: Discovery) -> str:
    level = _unbroken(level_text(discovery.level))
    explained = {
        "support": "is how many reports of the last level fit the value; a report fits many values.",
        "share": ("is the estimated true share of the value, corrected for its selection by a large count."),
        "low and high": (
            "are the ends of an interval for the share in the population. Given that the value was found, its "
            f"coverage is at least {level}. Just above the limit it reaches down to 0: that the value occurs "
            "is certain, at the level of the test, but its share is not."
        ),
        "adjusted p": (
            "is the smallest error probability, of all tests together, at which the value would have been found."
        ),
    }
    items = [f"<strong>{name}</strong> {text}" for name, text in explained.items()] + [SECOND_LOOK, STRANGERS]
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def _remarks(discovery: Discovery) -> str:
    parts = []
    for group, part in zip(discovery.tally.group_names(), discovery.findings, strict=True):
        head = f"<h3>{escape(printable(group))}</h3>" if discovery.tally.by else ""
        said = "".join(f"<li>{_unbroken(sentence(remark))}</li>" for remark in discovery.remarks(part))
        parts.append(f"{head}<ul>{said}</ul>")
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
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in lines.items()) + "</dl>"


def _unbroken(text: str) -> str:
    """Write a text for a page, with numbers that stay with their percent signs."""
    return escape(text).replace(" %", f"{TIGHT}%")
