"""Tables for papers: Markdown, LaTeX, and HTML, which word processors open.

An estimate is written to two digits of its standard error: the others are noise. No number has a power of ten.
"""

from __future__ import annotations

import math
import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.arrays import LARGEST_TOTAL, Counts
from warner.text import (
    LABEL_CHARACTERS,
    SMALLEST_P_SHOWN,
    WIDEST,
    aligned,
    amount,
    amount_of,
    counted,
    line_width,
    printable,
    told_apart,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Columns = dict[str, list[str]]  # texts, under their headings

TEX = {c: f"\\{c}" for c in "&%$#_{}"}
TEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
TEX |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}  # other signs in the fonts of old documents
SIGNED = re.compile(r"(?<![\w.])-(?=[\d.]|inf)")  # the minus of a number
NUMBER_PATTERN = r"(?:<0\.\d+|> 2\^53|[-+]?(?:[\d,.]+|inf)\*?)"
NUMERIC_CELL = re.compile(
    rf"(?:{NUMBER_PATTERN}|any|\?)(?: (?:to|of) (?:{NUMBER_PATTERN}|any|\?))?|undefined|no reports|not known|-|"
)
ESTIMATE_CELL = re.compile(rf"{NUMBER_PATTERN} \({NUMBER_PATTERN}\)")  # with its standard error
MARKDOWN_SYNTAX = re.compile(r"[\\|*`]|<(?=[A-Za-z/!?])|(?<!\w)_|_(?!\w)")
MOST_DECIMALS = 12
DOUBLE_DIGITS = 15  # of a decimal number in a double
MISSING_TEXT = "(missing)"
LEAST_BAR, BAR_CHARACTERS = 6, 24  # characters of the longest bar, in narrow and in wide terminals
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # first characters of formulas
AS_TEXT = """ style="mso-number-format:'\\@'\""""  # for Excel, which opens pages as well


class Printed(NamedTuple):
    """Table for a paper: columns of texts under their headings, a title, and notes."""

    columns: Columns
    title: str = ""
    notes: tuple[str, ...] = ()


# Numbers as texts


def printed(table: Mapping[str, Counts]) -> Columns:
    """Write the columns of a table as texts: whole numbers in full, others with three digits."""
    return {name: cells(column) for name, column in table.items()}


def cells(column: Counts) -> list[str]:
    """Write the values of a column.

    >>> cells(np.array([1234, None, "a", True, 0.00012345, 2e9], dtype=object))
    ['1,234', '', 'a', 'yes', '0.000123', '2,000,000,000']
    """
    return [_cell(value) for value in column.tolist()]


def labels(column: Counts) -> list[str]:
    """Write names of answers or groups unchanged: 2024 is a year, and a missing name is "(missing)"."""
    return [MISSING_TEXT if value is None else str(value) for value in column.tolist()]


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return in_digits(value) if isinstance(value, float) else str(value)


def in_digits(value: float, digits: int = 3) -> str:
    """Write a number with this many significant digits, without a power of ten.

    >>> in_digits(7.104e-07), in_digits(1234567.0), in_digits(2.0), in_digits(-math.inf)
    ('0.00000071', '1,230,000', '2', '-inf')
    """
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    places = min(digits - 1 - math.floor(math.log10(abs(value))), MOST_DECIMALS)
    text = f"{round(value, places):,.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def p_value_cells(column: Counts) -> list[str]:
    """Write p-values with three decimals; small ones are bounded.

    >>> p_value_cells(np.array([0.0431, 1e-9, 0.0, np.nan]))
    ['0.043', '<0.001', '<0.001', '']
    """

    def cell(p: float) -> str:
        return "" if math.isnan(p) else f"<{SMALLEST_P_SHOWN:g}" if p < SMALLEST_P_SHOWN else f"{p:.3f}"

    return [cell(p) for p in np.asarray(column, dtype=np.float64).tolist()]


def percent_cells(values: Counts, decimals: int) -> list[str]:
    def cell(share: float) -> str:
        return "" if math.isnan(share) else f"{round(100 * share, decimals) + 0.0:.{decimals}f}"  # no minus zero

    return [cell(share) for share in np.asarray(values, dtype=np.float64).tolist()]


def share_decimals(low: Counts, high: Counts) -> int:
    """Choose the decimals of percentages by the shortest of their intervals.

    >>> share_decimals(np.array([0.1]), np.array([0.4])), share_decimals(np.array([0.1]), np.array([0.1001]))
    (1, 4)
    """
    widths = 100 * (np.asarray(high, dtype=np.float64) - np.asarray(low, dtype=np.float64))
    widths = widths[np.isfinite(widths) & (widths > 0)]
    if not widths.size:
        return 2
    shortest = float(widths.min())
    return 1 if shortest >= 20 else min(max(2, math.ceil(math.log10(2 / shortest)) + 1), MOST_DECIMALS)


def interval_cells(low: Iterable[str], high: Iterable[str]) -> list[str]:
    """Join the ends of intervals; empty where there is none."""
    return [f"{first or '?'} to {last or '?'}" if first or last else "" for first, last in zip(low, high, strict=True)]


def decimals_of(error: float, low: float, high: float) -> int:
    """Return the decimals for two digits of an error; without an error, of a quarter of the interval's length.

    >>> decimals_of(0.0123, 0.0, 0.05), decimals_of(math.inf, 0.0, 0.5), decimals_of(0.0, 1.0, 1.0)
    (3, 2, 3)
    """
    if not 0 < error < math.inf:
        error = high / 4 - low / 4
    return max(1 - math.floor(math.log10(error)), 0) if 0 < error < math.inf else 3


def rounded(value: float, decimals: int, unknown: str = "") -> str:
    """Write a number with this many decimals; as digits and a power of ten if it is huge or has very many.

    >>> rounded(1234.5678, 1), rounded(-0.001, 2), rounded(1.23456e-13, 15), rounded(-2.5e299, 0)
    ('1,234.6', '0.00', '1.23e-13', '-2.5e+299')
    """
    if not math.isfinite(value):
        return unknown if math.isnan(value) else f"{value:g}"
    if decimals > MOST_DECIMALS or abs(value) >= LARGEST_TOTAL:
        digits = decimals + 1 + math.floor(math.log10(abs(value))) if value else 1
        return f"{value:.{min(max(digits, 1), DOUBLE_DIGITS)}g}"
    decimals = decimals if abs(value) < 10**DOUBLE_DIGITS else 0
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"  # no minus zero


def number_text(number: float) -> str:
    """Write a number with all the digits that a double keeps of a decimal number.

    >>> number_text(1e15 + 2), number_text(3 * 0.1), number_text(-0.0), number_text(1e16 + 2)
    ('1,000,000,000,000,002', '0.3', '0', '1.0000000000000002e+16')
    """
    if abs(number) < 10**DOUBLE_DIGITS:
        return f"{number + 0.0:,.{DOUBLE_DIGITS}g}"
    return f"{number:,.0f}" if abs(number) < LARGEST_TOTAL and float(number).is_integer() else f"{float(number)!r}"


def count_cells(reports: Counts, totals: Counts | None) -> list[str]:
    """Write numbers of reports, as parts of their totals if there are any."""
    return [amount_of(number, totals, row) for row, number in enumerate(reports.tolist())]


def amount_cells(column: Counts) -> list[str]:
    return [amount(number) for number in column.tolist()]


def _bars(parts: Sequence[float], longest: int) -> list[str]:
    """Draw proportions as bars, of # where standard output cannot encode blocks.

    >>> [len(text) for text in _bars([1, 0.3], 24)]
    [24, 7]
    """
    block = "\N{FULL BLOCK}"
    try:
        block.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        block = "#"
    return [block * round(longest * part) for part in parts]


# Forms


def markdown(table: Printed) -> str:
    r"""Write a table in Markdown, with numbers right-aligned.

    >>> print(markdown(Printed({"value": ["a|b"], "share (%)": ["9.50"]}, "Estimated shares", ("N = 200.",))))
    Estimated shares
    <BLANKLINE>
    | value | share (%) |
    | --- | ---: |
    | a\|b | 9.50 |
    <BLANKLINE>
    N = 200.
    """

    def line(texts: Iterable[str]) -> str:
        return f"| {' | '.join(texts)} |"

    def safe(text: str) -> str:
        return MARKDOWN_SYNTAX.sub(r"\\\g<0>", _in_one_line(text))

    marks = ["---:" if right else "---" for right in _to_the_right(table.columns)]
    rows = zip(*(map(safe, texts) for texts in table.columns.values()), strict=True)
    body = "\n".join([line(map(safe, table.columns)), line(marks), *map(line, rows)])
    return "\n\n".join([*_nonempty([safe(table.title)]), body, *_nonempty([" ".join(map(safe, table.notes))])])


def latex(table: Printed) -> str:
    r"""Write a table in LaTeX, with the rules of the package booktabs; title and notes are a paragraph below.

    >>> print(latex(Printed({"value": ["a & b"], "share (%)": ["-9.50"]})))
    \begin{tabular}{lr}
    \toprule
    value & share (\%) \\
    \midrule
    a \& b & $-$9.50 \\
    \bottomrule
    \end{tabular}
    """
    right = _to_the_right(table.columns)

    def line(texts: Iterable[str], numbers: Sequence[bool]) -> str:
        written = " & ".join(
            SIGNED.sub("$-$", _tex(text)) if number else _tex(text) for text, number in zip(texts, numbers, strict=True)
        )
        # After a rule or the end of a row, a bracket or a star would be read as an option.
        return ("{}" if written.startswith(("[", "*")) else "") + written + r" \\"

    rows = [line(row, right) for row in zip(*table.columns.values(), strict=True)]
    kinds = "".join("r" if number else "l" for number in right)
    body = [line(table.columns, [False] * len(right)), r"\midrule", *rows]
    lines = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", *body, r"\bottomrule", r"\end{tabular}"]
    title = [f"{table.title}."] if table.title else []
    if title or table.notes:
        notes = " ".join(re.sub(r"(?<!\w)'([^']*)'(?!\w)", r"`\1'", _tex(text)) for text in (*title, *table.notes))
        lines += ["", r"\smallskip", rf"{{\footnotesize {notes}\par}}"]
    return "\n".join(lines)


def html(table: Printed) -> str:
    """Write a page with nothing but the table, which Word and LibreOffice open.

    >>> html(Printed({"value": ["<18"], "share (%)": ["9.50"]})).splitlines()[-2]
    '<tr><td>&lt;18</td><td align="right">9.50</td></tr></table>'
    """
    from html import escape

    aligned = [' align="right"' if right else "" for right in _to_the_right(table.columns)]

    def line(texts: Iterable[str], tag: str) -> str:
        pairs = ((text, how + AS_TEXT * like_formula(text)) for text, how in zip(texts, aligned, strict=True))
        return f"<tr>{''.join(f'<{tag}{how}>{escape(text)}</{tag}>' for text, how in pairs)}</tr>"

    rows = [line(table.columns, "th"), *(line(row, "td") for row in zip(*table.columns.values(), strict=True))]
    name = escape(table.title)
    head = f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{name or "Table"}</title></head><body>'
    caption = f'<caption align="left">{name}</caption>\n' if name else ""
    notes = [f"<p>{escape(' '.join(table.notes))}</p>"] if table.notes else []
    return "\n".join([head, f"<table>{caption}" + "\n".join(rows) + "</table>", *notes, "</body></html>"])


def plain_table(table: Printed, most: int | None = None, bars: Sequence[float] = ()) -> str:
    """Write a table for a terminal: numbers right-aligned, long names cut, notes below, `most` rows.

    Texts of the last column may fill the line. `bars` are proportions, drawn as bars in the rest of each line.

    >>> print(plain_table(Printed({"value": ["yes"], "share (%)": ["9.50"]}, "Estimated shares", ("N = 200.",))))
    Estimated shares
    value  share (%)
    yes         9.50
    N = 200.
    """
    right = _to_the_right(table.columns)
    shown: list[list[str]] = []
    for number, (name, texts) in zip(right, table.columns.items(), strict=True):
        room = WIDEST - sum(2 + max(map(len, column)) for column in shown)
        width = max(LABEL_CHARACTERS, room if len(shown) == len(right) - 1 else 0)
        shown.append([printable(name), *(texts if number else told_apart(list(map(printable, texts)), width))[:most]])
    left = {place for place, number in enumerate(right) if not number}
    rows = max(map(len, table.columns.values()), default=0)
    lines = aligned(zip(*shown, strict=True), left) if rows else []
    longest = min(line_width() - max(map(len, lines), default=0) - 2, BAR_CHARACTERS)
    if bars and longest >= LEAST_BAR:
        start = max(map(len, lines))
        drawn = ["", *_bars(bars, longest)]
        lines = [f"{line:{start}}  {text}".rstrip() for line, text in zip(lines, drawn, strict=True)]
    more = f"... and {counted(rows - most, 'more row', 'more rows')}" if most is not None and most < rows else ""
    return "\n".join(_nonempty([wrapped([printable(table.title)]), *lines, more, wrapped(table.notes)]))


def fragment(table: Printed) -> str:
    page = html(table)
    return page[page.index("<table>") : page.index("</body>")].strip()


FORMS: dict[str, Callable[[Printed], str]] = {".md": markdown, ".tex": latex, ".html": html}


def like_formula(text: str) -> bool:
    r"""Return True if a spreadsheet program would read a text as a formula; numbers and lone signs are none.

    >>> [like_formula(text) for text in ("=1+1", "@sum", "-x", "\t=1", "-0.5", "-", "a=b")]
    [True, True, True, True, False, False, False]
    """
    return text.startswith(FORMULA) and len(text) > 1 and not NUMERIC_CELL.fullmatch(text)


def _to_the_right(columns: Columns) -> list[bool]:
    return [
        any(texts) and all(NUMERIC_CELL.fullmatch(text) or ESTIMATE_CELL.fullmatch(text) for text in texts)
        for texts in columns.values()
    ]


def _tex(text: str) -> str:
    return "".join(TEX.get(c, c) for c in _in_one_line(text)).replace("--", "-{}-")


def _in_one_line(text: str) -> str:
    return " ".join(text.splitlines()) if text.strip() else text


def _nonempty(texts: Iterable[str]) -> list[str]:
    return [text for text in texts if text]
