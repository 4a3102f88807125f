"""Tables of HTML reports: columns of texts and of numbers, which a click on a heading sorts."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from warner.text import printable
from warner.typesetting import percent_cells, share_decimals

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from warner.arrays import Counts

Cell = tuple[str, str]  # what a number is sorted by, with all its digits or nothing, and how it is shown
UNKNOWN_CELL: Cell = ("", "–")


def number_cells(values: Counts, texts: Iterable[str]) -> list[Cell]:
    """Return the cells of a column: numbers with all their digits, and as readers see them."""
    cells = zip(values.tolist(), texts, strict=True)
    return [UNKNOWN_CELL if np.isnan(value) else (repr(value), text) for value, text in cells]


def share_cells(table: Mapping[str, Counts], stars: Sequence[str] = ()) -> dict[str, list[Cell]]:
    """Return the cells of shares and ends of their intervals, by headings; stars stand beside the shares.

    >>> share_cells({name: np.array([0.25]) for name in ("share", "low", "high")})["share (%)"]
    [('0.25', '25.00')]
    """
    decimals = share_decimals(table["low"], table["high"])
    texts = {name: percent_cells(table[name], decimals) for name in ("share", "low", "high")}
    if stars:
        marks = (f"<span class='mark'>{star}</span>" for star in stars)
        texts["share"] = [f"{text}{mark}" for text, mark in zip(texts["share"], marks, strict=True)]
    return {f"{name} (%)": number_cells(table[name], shown) for name, shown in texts.items()}


def sortable_table(
    texts: Sequence[str],
    numbers: Sequence[str],
    rows: Iterable[tuple[Sequence[str], Sequence[Cell]]],
    label: str,
    falling: str = "",
) -> str:
    """Write a table: the names of its columns of texts and of numbers, its rows, and what it is for a screen reader.

    Rows are sorted already by the column `falling`, the largest number first.

    >>> table = sortable_table(["answer"], ["share"], [(["<yes>"], [("0.5", "50 %")])], "Shares")
    >>> table[table.index("<tbody>") : table.index("</tbody>")].split()[2:]
    ["class='text'>&lt;yes&gt;</td><td", "data-value='0.5'>50", '%</td></tr>']
    """
    heads = [f"<th class='text' scope='col'><button>{escape(printable(name))}</button></th>" for name in texts]
    for name in numbers:
        sort = " aria-sort='descending'" if name == falling else ""
        heads.append(f"<th scope='col'{sort}><button>{name}</button></th>")
    lines = []
    for words, cells in rows:
        written = [f"<td class='text'>{escape(printable(word))}</td>" for word in words]
        written += [f"<td data-value='{value}'>{shown}</td>" for value, shown in cells]
        lines.append(f"<tr>{''.join(written)}</tr>")
    body = "\n".join(lines)
    table = f"<table><thead><tr>{''.join(heads)}</tr></thead><tbody>\n{body}\n</tbody></table>"
    return f"<div class='wide' role='region' aria-label='{escape(label, quote=True)}' tabindex='0'>{table}</div>"
