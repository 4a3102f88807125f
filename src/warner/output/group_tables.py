"""Tables of partially pooled shares: for terminals and papers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warner.groups.group_intervals import HETEROGENEITY_TOLERANCE
from warner.inference.comparisons import remainder
from warner.typesetting import Printed, amount_cells, labels, share_columns
from warner.words import (
    LABEL_CHARACTERS,
    amount,
    counted,
    enumerated,
    level_text,
    points,
    printable,
    quoted,
    reports_counted,
    sentence,
    tabulated,
    told_apart,
    wrapped,
)

if TYPE_CHECKING:
    from warner.groups.group_estimates import GroupEstimates

ANSWERS_TOLD = 5  # whose spreads are told in a line
OWN = "own: how much of a share comes from the group's own reports; the rest comes from the other groups"

ANY_LAW = (
    "groups form clusters, or some lie far out: shares are drawn to the most likely law of the shares, whatever it is "
    "(nonparametric maximum likelihood), not to their mean; own and the widths of intervals are those of a normal law"
)


def groups_text(estimates: GroupEstimates, level: float, kind: str, rows: int) -> str:
    """Write the table for people: groups in their order, and what is to be known of all of them."""
    tally, table = estimates.tally, estimates.of_interest(level, kind)
    answers = table["value"].size // len(tally.groups)
    shown = np.arange(min(rows, len(tally.groups)) * answers)
    columns = {
        printable(name): told_apart([printable(text) for text in labels(table[name][shown])], LABEL_CHARACTERS)
        for name in (*tally.by, "value")
    }
    columns |= {
        "reports": [amount(number) for number in table["reports"][shown].tolist()],
        "own": [_percent(own) for own in table["own"][shown]],
        "share": ["-" if np.isnan(share) else f"{100 * share:.2f}%" for share in table["share"][shown]],
        estimates.interval_name(level, kind): [
            "-" if np.isnan(low) else f"{100 * low:.2f} to {100 * high:6.2f} %"
            for low, high in zip(table["low"][shown], table["high"][shown], strict=True)
        ],
    }
    left = len(tally.groups) - min(rows, len(tally.groups))
    more = [f"... and {counted(left, 'more group', 'more groups')}"] * (left > 0)
    return "\n".join(
        [
            heading(estimates),
            *tabulated(columns, left=len(tally.by) + 1),
            *more,
            wrapped(remarks(estimates, level, kind)),
        ]
    )


def _percent(part: float) -> str:
    return "-" if np.isnan(part) else f"{100 * part:.0f} %"


def heading(estimates: GroupEstimates) -> str:
    """Say what the table is about."""
    tally = estimates.tally
    groups = f"{counted(len(tally.groups), 'group', 'groups')} by {printable(', '.join(tally.by))}"
    drawn = f", on {printable(enumerated(list(estimates.on)))}" if estimates.on else ""
    drawn += f", along {printable(estimates.along)}" if estimates.along else ""
    reports = reports_counted(tally.n, weighted=tally.weighted)
    most = "at most " * (len(tally.parts) > 1)
    return (
        f"Partially pooled shares of {groups}{drawn}, from {reports} among {tally.k:,} answers, epsilon {most}"
        f"{tally.shown_epsilon()}"
    )


def remarks(estimates: GroupEstimates, level: float, kind: str) -> list[str]:
    """Say what a reader of the rows must know: once, and the same at every door."""
    said = [remainder(estimates.tally.domain)] * (
        estimates.of_interest(level, kind)["value"].size == len(estimates.tally.groups)
    )
    said += [
        OWN,
        *[ANY_LAW] * (estimates.law == "any"),
        spread_told(estimates, level),
        test_told(estimates),
        estimates.explanation(level, kind),
    ]
    return [*said, *(f"warning: {doubt}" for doubt in estimates.doubts())]


def spread_told(estimates: GroupEstimates, level: float) -> str:
    """Say how much groups differ."""
    what = "one step" if estimates.along else "spread about the regression" if estimates.on else "spread between groups"
    low, high = (np.atleast_1d(end) for end in estimates.spread_interval(level))
    spread = np.atleast_1d(estimates.spread)
    told = [
        f"{points(value)} ({level_text(level)} interval {_lower_end(first)} to {100 * last:.3g}"
        for value, first, last in zip(spread, low, high, strict=True)
    ]
    roughly = "" if estimates.along else ", if shares are roughly normal"
    if len(told) == 1:
        return f"{what}: {told[0]}{roughly})"
    domain = estimates.tally.domain
    order = np.argsort(-np.nan_to_num(estimates.overall), kind="stable")[:ANSWERS_TOLD]
    named = "; ".join(f"{quoted(domain[place])} {told[place]})" for place in order)
    most = f" of the {ANSWERS_TOLD} most common answers" if len(told) > ANSWERS_TOLD else ""
    return f"{what}{most}{roughly}: {named}"


def _lower_end(low: float) -> str:
    """Write the lower end of a spread; one just above 0 is not written as 0, which the test leaves out."""
    return "above 0" if 0 < low <= HETEROGENEITY_TOLERANCE else f"{100 * low:.3g}"


def test_told(estimates: GroupEstimates) -> str:
    """Say whether groups differ."""
    text = estimates.test().text()
    if estimates.along:
        text = text.replace("That all groups are alike", "That nothing changes")
    elif estimates.on:
        text = text.replace("That all groups are alike", "That all groups lie on the regression")
    return text[0].lower() + text[1:]


def groups_printed(estimates: GroupEstimates, level: float = 0.95, *, kind: str = "average") -> Printed:
    """Write the table for a paper: all rows, and what they rest on."""
    tally, table = estimates.tally, estimates.of_interest(level, kind)
    columns = {name: labels(table[name]) for name in (*tally.by, "value")}
    columns["N"] = amount_cells(table["reports"])
    columns["own (%)"] = ["" if np.isnan(own) else f"{100 * own:.0f}" for own in table["own"]]
    columns |= share_columns(table, estimates.interval_name(level, kind))
    notes = [heading(estimates), *remarks(estimates, level, kind)]
    by = ", ".join(map(printable, tally.by))
    return Printed(columns, f"Partially pooled shares by {by}", tuple(map(sentence, notes)))
