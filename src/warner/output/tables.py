"""Tables of an estimate: for terminals, notebooks and papers."""

from __future__ import annotations

import sys
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from warner.estimators.auto import METHODS_COMPARED
from warner.inference.comparisons import remainder
from warner.inference.intervals import Confidence
from warner.typesetting import Printed, amount_cells, count_cells, labels, share_columns
from warner.words import (
    LABEL_CHARACTERS,
    aligned,
    amount_of,
    counted,
    printable,
    quoted,
    reports_counted,
    sentence,
    told_apart,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warner.arrays import Counts, Mask
    from warner.estimation import Estimate
    from warner.reports.tallies import Collected

    Table = dict[str, Counts]
    Rows = NDArray[np.intp]

NOTEBOOK_ROWS = 20
ROWS_OF_ALL_GROUPS = 200  # of all groups together
GROUPS_TOLD = 5  # groups whose predicted errors are shown
BAR_CHARACTERS = 24  # characters of the longest bar
NO_CLUSTERS = "people who were drawn together, such as pupils of a school, count as if drawn alone"


def _brick() -> str:
    """Give the character that bars are made of: a plain one where standard output cannot write the other."""
    try:
        "█".encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return "#"
    return "█"


def estimate_text(estimate: Estimate, confidence: Confidence, rows: int) -> str:
    """Write the estimate as a table for people, the largest shares first or in their order, with a bar for each."""
    table = estimate.of_interest(confidence)
    order, totals = largest_first(estimate, table, rows), totals_of(estimate, table)
    # A single share has no other beside it: its bar is a part of the whole.
    largest = 1.0 if table["share"].size == 1 else np.nanmax(np.append(table["share"], 1e-9))
    names = {head: told_apart(texts, LABEL_CHARACTERS) for head, texts in _names(estimate, table, order).items()}
    about, brick = estimate.kind_of_interval(confidence), _brick()
    counted_answers = "reports" in table
    heads = [*names, *([count_heading(estimate)] * counted_answers), "share", f"{about}{confidence}"]
    lines = [heads]
    for label, i in zip(zip(*names.values(), strict=True), order, strict=True):
        share = table["share"][i]
        if np.isnan(share):
            lines.append([*label, "no reports"])
            continue
        bar = brick * round(BAR_CHARACTERS * max(share, 0) / largest)
        mark = "*" if table["outside"][i] else " "
        interval = f"{100 * table['low'][i]:6.2f} to {100 * table['high'][i]:6.2f} %{mark}"
        reports = [amount_of(table["reports"][i], totals, i)] if counted_answers else []
        lines.append([*label, *reports, f"{100 * share:.2f}%", f"{interval}  {bar}"])
    widths = (*([0] * len(names)), *([10] * counted_answers), 7)
    said = [heading(estimate), *aligned(lines, left={*range(len(names)), len(heads) - 1}, least=widths)]
    said += _more(estimate, table, rows)
    said += _remarks(estimate, confidence, table, outside=bool(table["outside"][order].any()))
    return "\n".join([*said, *_cautions(estimate)])


def _cautions(estimate: Estimate) -> list[str]:
    """Say what speaks against the shares, and why this estimator was taken."""
    said = [f"warning: {warning}" for warning in estimate.doubts()]
    if estimate.choices:
        return [*said, _predicted(estimate)]
    reason = estimate.reason()
    return [*said, f"{estimate.method} is the default here: {reason}"] if reason else said


def estimate_html(estimate: Estimate) -> str:
    """Write the estimate as a table for notebooks."""
    confidence = Confidence()
    table = estimate.of_interest(confidence)
    order, totals = largest_first(estimate, table, NOTEBOOK_ROWS), totals_of(estimate, table)
    counted_answers = "reports" in table
    about = f"{estimate.kind_of_interval(confidence)}95 %"
    heading_of_counts = [count_heading(estimate)] if counted_answers else []
    names = _names(estimate, table, order)
    heads = "".join(
        f"<th>{escape(name)}</th>" for name in (*names, *heading_of_counts, "share", f"low ({about})", "high")
    )
    rows = []
    for label, i in zip(zip(*names.values(), strict=True), order, strict=True):
        shown = [table[name][i] for name in ("share", "low", "high")]
        percents = ["–" if np.isnan(number) else f"{100 * number:.2f} %" for number in shown]
        percents[0] += "*" * bool(table["outside"][i])
        reports = [amount_of(table["reports"][i], totals, i)] if counted_answers else []
        titles = "".join(f"<th scope='row'>{escape(name)}</th>" for name in label)
        rows.append(f"<tr>{titles}{''.join(f'<td>{text}</td>' for text in (*reports, *percents))}</tr>")
    body = f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    outside = bool(table["outside"][order].any())
    notes = [*_more(estimate, table, NOTEBOOK_ROWS)]
    notes += [*_remarks(estimate, confidence, table, outside=outside), *_cautions(estimate)]
    return f"<p>{escape(heading(estimate))}</p>{body}{''.join(f'<p>{escape(note)}</p>' for note in notes)}"


def estimate_printed(estimate: Estimate, confidence: Confidence) -> Printed:
    """Write the estimate as a table for a paper: all rows, in the domain's order, and what they rest on."""
    tally, table = estimate.tally, estimate.of_interest(confidence)
    totals = totals_of(estimate, table)
    columns = {name: labels(table[name]) for name in (*tally.by, "value")}
    if "reports" in table:
        columns[count_heading(estimate)] = count_cells(table["reports"], totals)
    elif totals is not None:
        columns["N"] = amount_cells(totals)
    about = estimate.kind_of_interval(confidence)
    columns |= share_columns(table, f"{about}{confidence}")
    marked = zip(columns["share (%)"], table["outside"].tolist(), strict=True)
    columns["share (%)"] = [f"{text}*" if outside else text for text, outside in marked]
    what = f"Estimated share of {quoted(tally.domain[0])}" if answers_shown(tally, table) == 1 else "Estimated shares"
    by = f" by {', '.join(map(printable, tally.by))}" if tally.by else ""
    remarks = _remarks(estimate, confidence, table, outside=bool(table["outside"].any()))
    collected, *warnings = foundations(estimate)
    return Printed(columns, what + by, (collected, *map(sentence, remarks), *warnings))


def foundations(estimate: Estimate) -> tuple[str, ...]:
    """Say what numbers of an estimate rest on, for a paper: the reports, and what speaks against them."""
    notes = [_collected(estimate), *(f"warning: {warning}" for warning in estimate.doubts())]
    return tuple(map(sentence, notes))


def totals_of(estimate: Estimate, table: Table) -> Counts | None:
    """Give the number of all reports of each row's group; None where the rows add up to it, without groups."""
    n = np.atleast_1d(estimate.tally.n)
    answers = table["value"].size // n.size
    return np.repeat(n, answers) if estimate.tally.by or answers == 1 else None


def _names(estimate: Estimate, table: Table, order: Rows) -> dict[str, list[str]]:
    """Name the rows: their groups, each column under its name, and the answers; a group without reports has none."""
    by = {printable(name): list(map(printable, labels(table[name][order]))) for name in estimate.tally.by}
    values = zip(table["value"][order].tolist(), np.isnan(table["share"][order]).tolist(), strict=True)
    return by | {"value": ["" if silent and by else printable(str(value)) for value, silent in values]}


def _remarks(estimate: Estimate, confidence: Confidence, table: Table, *, outside: bool) -> list[str]:
    """Say what a reader of the rows must know."""
    said = [remainder(estimate.tally.domain)] if answers_shown(estimate.tally, table) == 1 else []
    numbers = None if estimate.tally.by else estimate.mean_and_median(confidence)
    said += [] if numbers is None else [number.text().strip("<>") for number in numbers]
    if outside:
        said.append(f"* outside its own interval: {estimate.estimator.outside}")
    if confidence.anytime:
        said.append("the intervals hold however often you look while reports arrive")
    if estimate.tally.sample is not None:
        said += map(printable, (estimate.sample_words(confidence), *estimate.sample_notes()))
    elif estimate.tally.weighted:
        effective = f"{float(np.sum(estimate.tally.effective)):,.1f}"
        said.append(f"intervals are approximate: weights count as {effective} reports; {NO_CLUSTERS}")
    return said


def heading(estimate: Estimate) -> str:
    """Say in one line what was estimated, from how many reports."""
    tally = estimate.tally
    grouped = [f"{counted(len(tally.groups), 'group', 'groups')} by {', '.join(tally.by)}"] if tally.by else []
    pooled = [f"{len(tally.parts)} designs"] if len(tally.parts) > 1 else []
    reports = reports_counted(np.asarray(tally.n).sum(), weighted=tally.weighted)
    collected = f"{reports} among {tally.k:,} answers, {_epsilon(tally)}"
    return ", ".join([f"Estimate ({estimate.name()}) from {collected}", *pooled, *grouped, *_left_out(tally)])


def _collected(estimate: Estimate) -> str:
    """Say what a table in a paper rests on."""
    tally = estimate.tally
    reports = reports_counted(np.asarray(tally.n).sum(), weighted=tally.weighted)
    pooled = [f"{len(tally.parts)} designs"] if len(tally.parts) > 1 else []
    return ", ".join([f"N = {reports}", *_left_out(tally), *pooled, _epsilon(tally), f"estimator {estimate.name()}"])


def _epsilon(tally: Collected) -> str:
    return f"epsilon {'at most ' * (len(tally.parts) > 1)}{tally.shown_epsilon()}"


def _left_out(tally: Collected) -> list[str]:
    return [
        f"{int(np.sum(number)):,} {name} left out"
        for name, number in (("missing", tally.missing), ("unknown", tally.unknown))
        if np.any(number)
    ]


def count_heading(estimate: Estimate) -> str:
    """Name the column of counts: reports of an answer, or reports that support it."""
    return "reports" if all(part.design.law.exclusive for part in estimate.tally.parts) else "support"


def largest_first(estimate: Estimate, table: Table, rows: int) -> Rows:
    """Choose the rows to show: of each group the largest shares, those first; of two answers the one of interest.

    Answers that are known to have an order keep it.

    So many rows of each group, and of all groups together at most 200, unless more are asked for. A group without
    reports has one row.
    """
    answers = answers_shown(estimate.tally, table)
    shares = table["share"].reshape(-1, answers)
    order = (
        np.argsort(-shares, axis=1, kind="stable")
        if estimate.tally.k > 2
        else np.tile(range(answers), (len(shares), 1))
    )
    if estimate.ordered:  # the largest, in the order of the answers
        order[:, :rows].sort(axis=1)
    shown = (order + answers * np.arange(len(shares))[:, np.newaxis])[: _groups(answers, rows), :rows]
    silent = np.isnan(shares[: len(shown), :1])
    kept: Mask = (~silent).repeat(shown.shape[1], axis=1)
    kept[:, 0] = True
    return shown[kept]


def answers_shown(tally: Collected, table: Table) -> int:
    """Give the number of answers that a table has rows for: of two, one may stand for both."""
    return table["value"].size // max(len(tally.groups), 1)


def _groups(answers: int, rows: int) -> int:
    """Give how many groups are shown at most."""
    return max(ROWS_OF_ALL_GROUPS // min(rows, answers), rows // answers, 1)


def _more(estimate: Estimate, table: Table, rows: int) -> list[str]:
    """Say how many answers and groups are not shown."""
    answers = answers_shown(estimate.tally, table)
    hidden = max(answers - rows, 0)
    if not estimate.tally.by:
        return [f"... and {hidden:,} more"] * bool(hidden)
    groups = max(len(estimate.tally.groups) - _groups(answers, rows), 0)
    said = [f"{counted(hidden, 'more answer', 'more answers')} in each group"] * bool(hidden)
    said += [counted(groups, "more group", "more groups")] * bool(groups)
    return [f"... and {', '.join(said)}"] * bool(said)


def _predicted(estimate: Estimate) -> str:
    """Show predicted errors to one digit: they are no better than orders of magnitude."""
    choices = estimate.choices
    if not choices[0].errors:
        return f"auto took {choices[0].method}: {estimate.estimator.reason(estimate.tally)}"
    if len(choices) == 1:
        ((name, errors),) = choices
        listed = ", ".join(f"{other} {error:.0e}" for other, error in errors.items())
        return f"auto took {name}; predicted squared errors (orders of magnitude): {listed}"
    taken = [choice.method for choice in choices]
    listed = ", ".join(f"{name} in {taken.count(name)}" for name in METHODS_COMPARED if name in taken)
    shown = "; ".join(
        ", ".join(f"{name} {error:.0e}" for name, error in choice.errors.items()) for choice in choices[:GROUPS_TOLD]
    )
    more = "; ..." if len(choices) > GROUPS_TOLD else ""
    predicted = f"predicted squared errors (orders of magnitude), group by group: {shown}{more}"
    return f"auto took {listed} of {len(choices)} groups; {predicted}"
