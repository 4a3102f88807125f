"""HTML report on partially pooled shares: one self-contained page with a plot, the table and what the numbers mean."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from warner.documents import written_whole
from warner.output.canvas import FIGURE_INCHES, NARROW_INCHES
from warner.output.group_plots import TITLE, TREND_TITLE, groups_svg
from warner.output.page_tables import number_cells, share_cells, sortable_table
from warner.output.pages import TABLE_ROWS, design_section, left_out_section, whole_page
from warner.text import group_name, quoted, sentence
from warner.typesetting import amount_cells, fragment, percent_cells

if TYPE_CHECKING:
    import os

    from warner.groups.group_estimates import GroupEstimates

POOLED = (
    "Each share is the unbiased share of the group, shrunk toward the others by the model of Fay and Herriot, with the "
    "variance of the design, and averaged over the variance between groups."
)
ANY = (
    "Each share is the posterior mean of the group under the nonparametric maximum likelihood distribution of the "
    "shares (Kiefer and Wolfowitz). Standard errors are those of the model of Fay and Herriot."
)
WALKED = (
    "Each share follows a random walk, smoothed by Kalman's filter with the variance of the design, and "
    "averaged over the size of a step."
)


def save_group_page(
    estimates: GroupEstimates,
    path: str | os.PathLike[str],
    *,
    level: float,
    kind: str,
    title: str | None,
    question: str | None,
) -> None:
    """Write the page; see `GroupEstimates.save_page`. It is written whole or not at all."""
    page = _page(estimates, level, kind, title, question)
    with written_whole(path) as part:
        part.write_text(page, encoding="utf-8", errors="replace")


def _page(estimates: GroupEstimates, level: float, kind: str, title: str | None, question: str | None) -> str:
    tally = estimates.tally
    common = int(np.nan_to_num(estimates.overall).argmax()) if tally.k > 2 else 0
    pictures = "".join(
        f"<div class='{name}'>{groups_svg(estimates, common, level=level, kind=kind, width=width)}</div>"
        for name, width in (("broad", FIGURE_INCHES), ("narrow", NARROW_INCHES))
    )
    name = title or question or (TITLE if estimates.along is None else TREND_TITLE)
    asked = f"<p>The question: <q>{escape(question)}</q></p>" if question and title else ""
    said = "".join(f"<li>{escape(sentence(remark))}</li>" for remark in estimates.footnotes(level, kind=kind))
    drawn = (
        "Means by group; the numbers are in the table"
        if estimates.numeric
        else f"Shares of {quoted(tally.domain[common])} by group; the numbers are in the table"
    )
    computed = WALKED if estimates.along else ANY if estimates.law == "any" else POOLED
    sections = [
        f"<h1>{escape(name)}</h1>\n<p class='facts'>{escape(estimates.title())}</p>\n{asked}",
        f"<figure role='img' aria-label='{escape(drawn, quote=True)}'>{pictures}</figure>",
        f"<h2>Table of results</h2>{(_table_of_means if estimates.numeric else _table)(estimates, level, kind)}",
        f"<h2>How to read the table</h2><ul>{said}</ul>",
        f"<h2>How answers were randomized</h2>{design_section(tally)}",
        f"<h2>Rows left out</h2>{left_out_section(tally)}",
        f"<h2>How it was computed</h2><p>{computed}</p>",
    ]
    return whole_page(name, sections)


def _table_of_means(estimates: GroupEstimates, level: float, kind: str) -> str:
    return fragment(estimates.mean(level=level, kind=kind).printed())


def _table(estimates: GroupEstimates, level: float, kind: str) -> str:
    tally, table = estimates.tally, estimates.of_interest(level, kind)
    some = {name: column[:TABLE_ROWS] for name, column in table.items()}
    columns = {"reports": number_cells(some["reports"], amount_cells(some["reports"]))}
    columns |= {"own (%)": number_cells(some["own"], percent_cells(some["own"], 0)), **share_cells(some)}
    names = zip(*([group_name([one]) for one in some[name].tolist()] for name in (*tally.by, "value")), strict=True)
    rows = zip(names, zip(*columns.values(), strict=True), strict=True)
    cut = f"The first {TABLE_ROWS:,} rows of {table['value'].size:,}. " if table["value"].size > TABLE_ROWS else ""
    note = f"<p class='note'>{cut}Low and high are the ends of the {escape(estimates.interval_name(level, kind))}.</p>"
    return note + sortable_table([*tally.by, "answer"], [*columns], rows, "Table of results")
