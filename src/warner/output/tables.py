"""An estimate as a table: for a terminal, and for a notebook."""

from __future__ import annotations

import sys
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from warner.estimators.auto import COMPARED
from warner.inference.complements import remainder, unmirrored
from warner.inference.intervals import Confidence
from warner.words import amount_of, counted, group_name, printable, reports_counted, shortened

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warner.arrays import Counts
    from warner.estimation import Estimate
    from warner.estimators.auto import Choice

    Table = dict[str, Counts]

NOTEBOOK_ROWS = 20
GROUPS_TOLD = 5  # groups whose predicted errors are shown
BAR = 24  # characters of the longest bar
WIDEST = 40  # characters of a label


def _brick() -> str:
    """Give the character that bars are made of: a plain one where standard output cannot write the other."""
    try:
        "█".encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return "#"
    return "█"


def estimate_text(estimate: Estimate, confidence: Confidence, rows: int) -> str:
    """Write the estimate as a table for people, the largest shares first, with a bar for each."""
    ends = estimate.limits(confidence)
    table, totals = unmirrored(estimate.columns(ends), estimate.tally)
    order = largest_first(estimate, table, rows)
    labels = [row_label(estimate, table, i) for i in order]
    width = min(max([len(label) for label in labels] + [5]), WIDEST)
    # A single share has no other beside it: its bar is a part of the whole.
    largest = 1.0 if table["share"].size == 1 else np.nanmax(np.append(table["share"], 1e-9))
    counts = [amount_of(table["reports"][i], totals, i) for i in order] if "reports" in table else [""] * len(order)
    wide = max(10, *map(len, counts)) if "reports" in table else 0
    head = f"  {count_heading(estimate):>{wide}}" if "reports" in table else ""
    about, brick = "approximate " if estimate.approximate(ends) else "", _brick()
    lines = [heading(estimate), f"{'value':{width}}{head}  {'share':>7}  {about}{confidence}"]
    for label, i, count in zip(labels, order, counts, strict=True):
        share = table["share"][i]
        if np.isnan(share):
            lines.append(f"{label:{width}}  no reports")
            continue
        bar = brick * round(BAR * max(share, 0) / largest)
        mark = "*" if table["outside"][i] else " "
        interval = f"{100 * table['low'][i]:6.2f} to {100 * table['high'][i]:6.2f} %{mark}"
        reports = f"  {count:>{wide}}" if wide else ""
        lines.append(f"{shortened(label, width):{width}}{reports}  {100 * share:6.2f}%  {interval}  {bar}".rstrip())
    if len(order) < len(table["value"]):
        lines.append(f"... and {len(table['value']) - len(order):,} more")
    if totals is not None:
        lines.append(remainder(estimate.tally.domain))
    if table["outside"][order].any():
        inverted = estimate.method == "inv"
        reason = "a negative share, which no interval holds" if inverted else "the bias of this estimator"
        lines.append(f"* outside its own interval: {reason}")
    if confidence.anytime:
        lines.append("the intervals hold however often you look while reports arrive")
    if estimate.tally.weighted:
        effective = f"{float(np.sum(estimate.tally.effective)):,.1f}"
        lines.append(f"intervals are approximate: weights count as {effective} reports")
    lines += [f"warning: {warning}" for warning in estimate.doubts()]
    if estimate.choices:
        lines.append(_predicted(estimate.choices))
    elif opinion := estimate.second_opinion():
        lines.append(opinion)
    return "\n".join(lines)


def estimate_html(estimate: Estimate) -> str:
    """Write the estimate as a table for notebooks."""
    confidence = Confidence()
    ends = estimate.limits(confidence)
    table, totals = unmirrored(estimate.columns(ends), estimate.tally)
    counted_answers = "reports" in table
    about = "approximate 95 %" if estimate.approximate(ends) else "95 %"
    heading_of_counts = [count_heading(estimate)] if counted_answers else []
    heads = "".join(f"<th>{name}</th>" for name in ("value", *heading_of_counts, "share", f"low ({about})", "high"))
    rows = []
    for i in largest_first(estimate, table, NOTEBOOK_ROWS):
        shown = [table[name][i] for name in ("share", "low", "high")]
        percents = ("–" if np.isnan(number) else f"{100 * number:.2f} %" for number in shown)
        reports = [amount_of(table["reports"][i], totals, i)] if counted_answers else []
        cells = "".join(f"<td>{text}</td>" for text in (*reports, *percents))
        rows.append(f"<tr><th scope='row'>{escape(row_label(estimate, table, i))}</th>{cells}</tr>")
    body = f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    note = "" if totals is None else f"<p>{escape(remainder(estimate.tally.domain))}</p>"
    return f"<p>{escape(heading(estimate))}</p>{body}{note}"


def heading(estimate: Estimate) -> str:
    """Say in one line what was estimated, from how many reports."""
    tally = estimate.tally
    left_out = [
        f"{int(np.sum(number)):,} {name} left out"
        for name, number in (("missing", tally.missing), ("unknown", tally.unknown))
        if np.any(number)
    ]
    grouped = [f"{counted(len(tally.groups), 'group', 'groups')} by {', '.join(tally.by)}"] if tally.by else []
    pooled = [f"{len(tally.parts)} designs"] if len(tally.parts) > 1 else []
    reports = reports_counted(np.asarray(tally.n).sum(), weighted=tally.weighted)
    most = "at most " if len(tally.parts) > 1 else ""
    collected = f"{reports} among {tally.k:,} answers, epsilon {most}{tally.shown_epsilon()}"
    return ", ".join([f"Estimate ({estimate.name()}) from {collected}", *pooled, *grouped, *left_out])


def count_heading(estimate: Estimate) -> str:
    """Name the column of counts: reports of an answer, or reports that support it."""
    return "reports" if all(part.design.exclusive for part in estimate.tally.parts) else "support"


def largest_first(estimate: Estimate, table: Table, rows: int) -> NDArray[np.intp]:
    """Choose the rows to show, group by group: the largest shares first, of two answers the one of interest."""
    if estimate.tally.k == 2:
        return np.arange(table["value"].size)[:rows]
    k = estimate.tally.k
    group = np.repeat(np.arange(table["value"].size // k), k)
    return np.lexsort((-table["share"], group))[:rows]


def row_label(estimate: Estimate, table: Table, row: int) -> str:
    """Name a row: its group, if there are groups, and the answer."""
    return printable(group_name([*(table[name][row] for name in estimate.tally.by), str(table["value"][row])]))


def _predicted(choices: tuple[Choice, ...]) -> str:
    """Show predicted errors to one digit: they are no better than orders of magnitude."""
    if not choices[0].errors:
        return f"auto took {choices[0].method}: the design is symmetric, and has 20 answers or more"
    if len(choices) == 1:
        ((name, errors),) = choices
        listed = ", ".join(f"{other} {error:.0e}" for other, error in errors.items())
        return f"auto took {name}; predicted squared errors (orders of magnitude): {listed}"
    taken = [choice.method for choice in choices]
    listed = ", ".join(f"{name} in {taken.count(name)}" for name in COMPARED if name in taken)
    shown = "; ".join(
        ", ".join(f"{name} {error:.0e}" for name, error in choice.errors.items()) for choice in choices[:GROUPS_TOLD]
    )
    more = "; ..." if len(choices) > GROUPS_TOLD else ""
    predicted = f"predicted squared errors (orders of magnitude), group by group: {shown}{more}"
    return f"auto took {listed} of {len(choices)} groups; {predicted}"
