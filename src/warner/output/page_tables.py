"""Tables of HTML reports: columns of texts and of numbers, which a click on a heading sorts."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from warner.words import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Cell = tuple[str, str]  # what a number is sorted by, with all its digits or nothing, and how it is shown


def sortable_table(
    texts: Sequence[str], numbers: Sequence[str], rows: Iterable[tuple[Sequence[str], Sequence[Cell]]], label: str
) -> str:
    """Write a table: the names of its columns of texts and of numbers, its rows, and what it is for a screen reader.

    >>> table = sortable_table(["answer"], ["share"], [(["<yes>"], [("0.5", "50 %")])], "Shares")
    >>> table[table.index("<tbody>") : table.index("</tbody>")].split()[2:]
    ["class='text'>&lt;yes&gt;</td><td", "data-value='0.5'>50", '%</td></tr>']
    """
    heads = [f"<th class='text' scope='col'><button>{escape(printable(name))}</button></th>" for name in texts]
    heads += [f"<th scope='col' data-column='{name}'><button>{name}</button></th>" for name in numbers]
    lines = []
    for words, cells in rows:
        written = [f"<td class='text'>{escape(printable(word))}</td>" for word in words]
        written += [f"<td data-value='{value}'>{shown}</td>" for value, shown in cells]
        lines.append(f"<tr>{''.join(written)}</tr>")
    body = "\n".join(lines)
    table = f"<table><thead><tr>{''.join(heads)}</tr></thead><tbody>\n{body}\n</tbody></table>"
    return f"<div class='wide' role='region' aria-label='{escape(label, quote=True)}' tabindex='0'>{table}</div>"
