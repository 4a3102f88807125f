r"""Tables for papers: Markdown, LaTeX, and HTML, which word processors open.

A table for people has the digits that mean something, and no column that only programs need.
"""

from __future__ import annotations

import math
import re
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warner.arrays import Counts

Printed: TypeAlias = dict[str, list[str]]  # columns of texts, under their headings

TEX = {c: f"\\{c}" for c in "&%$#_{}"}
TEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
NUMERIC = re.compile(r"[-+]?[\d,.]+( (to|of) [-+]?[\d,.]+)?|")


def printed(table: Mapping[str, Counts]) -> Printed:
    """Write the columns of any table as texts: whole numbers in full, others in four digits."""
    return {name: [_cell(value) for value in column.tolist()] for name, column in table.items()}


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def shares_printed(table: Mapping[str, Counts], heading: str, totals: Counts | None = None) -> Printed:
    """Write the table of an estimate: shares in percent, and intervals as texts, under a heading that ends in ")".

    With `totals`, each number of reports says of how many: where the table does not have all answers.
    Of two decimals none is shown that the interval's width makes meaningless: with half-widths above ten points, one.
    """
    low, high = table["low"], table["high"]
    widths = (high - low)[np.isfinite(high - low)]
    decimals = 2 if not widths.size or float(np.min(widths)) < 0.2 else 1

    def percents(values: Counts) -> list[str]:
        return ["" if math.isnan(value) else f"{100 * value:.{decimals}f}" for value in values.tolist()]

    labels = {name: [str(value) for value in column.tolist()] for name, column in table.items() if name not in HIDDEN}
    reports = {"reports": _counts(table["reports"], totals)} if "reports" in table else {}
    ends = zip(percents(low), percents(high), strict=True)
    intervals = [f"{first} to {last}" if first else "" for first, last in ends]
    return {**labels, **reports, "share (%)": percents(table["share"]), f"{heading.removesuffix(')')}, %)": intervals}


def _counts(reports: Counts, totals: Counts | None) -> list[str]:
    def written(number: float) -> str:  # sums of weights may be large, and no power of ten is wanted
        return f"{number:,.1f}" if isinstance(number, float) and number >= 1000 else _cell(number)

    counts = map(written, reports.tolist())
    if totals is None:
        return list(counts)
    return [f"{number} of {written(total)}" for number, total in zip(counts, totals.tolist(), strict=True)]


HIDDEN = {"reports", "share", "people", "se", "low", "high", "outside"}


def markdown(columns: Printed) -> str:
    r"""Write a table in Markdown, numbers to the right.

    >>> print(markdown({"value": ["a|b"], "share (%)": ["9.50"]}))
    | value | share (%) |
    | --- | ---: |
    | a\|b | 9.50 |
    """

    def line(cells: list[str]) -> str:
        return f"| {' | '.join(cells)} |"

    marks = ["---:" if right else "---" for right in _to_the_right(columns)]
    rows = zip(*([_in_one_line(text).replace("|", "\\|") for text in texts] for texts in columns.values()), strict=True)
    return "\n".join([line(list(columns)), line(marks), *(line(list(row)) for row in rows)])


def latex(columns: Printed) -> str:
    r"""Write a table in LaTeX, with the rules of the package booktabs.

    >>> print(latex({"value": ["a & b"], "share (%)": ["9.50"]}))
    \begin{tabular}{lr}
    \toprule
    value & share (\%) \\
    \midrule
    a \& b & 9.50 \\
    \bottomrule
    \end{tabular}
    """

    def line(cells: Any) -> str:
        return " & ".join("".join(TEX.get(c, c) for c in _in_one_line(cell)) for cell in cells) + r" \\"

    rows = zip(*columns.values(), strict=True)
    kinds = "".join("r" if right else "l" for right in _to_the_right(columns))
    body = [line(columns), r"\midrule", *map(line, rows)]
    return "\n".join([rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", *body, r"\bottomrule", r"\end{tabular}"])


def html(columns: Printed) -> str:
    """Write a page with nothing but the table, which Word and LibreOffice open, and which can be pasted.

    >>> html({"value": ["<18"], "share (%)": ["9.50"]}).splitlines()[-2]
    '<tr><td>&lt;18</td><td align="right">9.50</td></tr></table>'
    """
    aligned = [' align="right"' if right else "" for right in _to_the_right(columns)]

    def line(cells: Any, tag: str) -> str:
        pairs = zip(cells, aligned, strict=True)
        return f"<tr>{''.join(f'<{tag}{how}>{escape(str(cell))}</{tag}>' for cell, how in pairs)}</tr>"

    rows = [line(columns, "th"), *(line(row, "td") for row in zip(*columns.values(), strict=True))]
    head = '<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>Table</title></head><body>'
    return "\n".join([head, "<table>" + "\n".join(rows) + "</table>", "</body></html>"])


FORMS = {".md": markdown, ".tex": latex, ".html": html}


def _to_the_right(columns: Printed) -> list[bool]:
    return [all(NUMERIC.fullmatch(text) for text in texts) for texts in columns.values()]


def _in_one_line(text: object) -> str:
    return " ".join(str(text).splitlines()) if str(text).strip() else str(text)
