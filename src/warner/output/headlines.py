"""Headlines of an HTML report: what was found, in a sentence or two, and what speaks against it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.inference.answer_tables import answers_shown
from warner.output.estimate_plots import axis_of
from warner.text import TIGHT, counted
from warner.typesetting import percent_cells, share_decimals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from warner.arrays import Counts
    from warner.estimation import Estimate
    from warner.inference.intervals import Confidence
    from warner.inference.means import Mean, Quantile
    from warner.reports.tallies import Collected


class Shown(NamedTuple):
    """The table of an estimate, the name of its intervals, and the decimals of its shares in sentences."""

    table: dict[str, Counts]
    interval: str
    decimals: int

    def percent(self, share: float) -> str:
        """Return a share in percent; no line breaks before its sign."""
        return f"{percent_cells(np.array([share]), self.decimals)[0]}{TIGHT}%"

    def share(self, row: int) -> str:
        """Return the share of a row."""
        return self.percent(self.table["share"][row])

    def limits(self, row: int) -> str:
        """Return the interval of a row."""
        low, high = (self.percent(self.table[name][row]) for name in ("low", "high"))
        return f"{low} to {high}{', see * below' if self.table['outside'][row] else ''}"

    def answer(self, row: int) -> str:
        """Return the answer of a row with its share and interval."""
        label = escape(str(self.table["value"][row]))
        return f"<q>{label}</q> with an estimated {self.share(row)} of people ({self.interval}: {self.limits(row)})"


HEADLINED_GROUPS, HEADLINED_TREND = 12, 4  # groups with a headline of their own, and those of a trend that have


def warnings(estimate: Estimate) -> str:
    """Say what speaks against the estimate."""
    said = (f"<p class='warning'><strong>Warning:</strong> {escape(warning)}.</p>" for warning in estimate.doubts())
    return "".join(said)


def headline(estimate: Estimate, table: dict[str, Counts], confidence: Confidence, interval: str) -> str:
    """Say which answer leads; of two answers, how common the first is; in each of the first groups.

    Of a trend, in the first and in the last group. Of ordered numbers, say mean and median.
    """
    tally = estimate.tally
    numbers = None if tally.k == 2 else estimate._mean_and_median(confidence)
    if numbers is not None:
        return _of_numbers(tally, numbers)
    answers, shown = answers_shown(tally, table), Shown(table, interval, share_decimals(table["low"], table["high"]))
    leading = _first_of_two if tally.k == 2 else _leader
    if not tally.by:
        return leading(shown, np.arange(answers), "lead") + (_rest(tally, shown) if answers == 1 else "")
    lines, names, groups = [], tally.group_names(), _headlined(tally)
    for group in groups:
        start, rows = f"<strong>{escape(names[group])}</strong>: ", np.arange(answers) + group * answers
        lines.append(_in_group(shown, group, start) if answers == 1 else leading(shown, rows, "group", start))
    more = len(tally.groups) - len(groups)
    others = counted(more, "more group is", "more groups are")
    above = ""
    if answers == 1:
        whose = f"people whose true answer is <q>{escape(str(tally.domain[0]))}</q>"
        above = f"<p class='lead'>Estimated share of {whose}, with its {interval}:</p>"
    return above + "".join(lines) + (f"<p class='note'>{others} in the table.</p>" if more > 0 else "")


def _of_numbers(tally: Collected, numbers: Sequence[Mean | Quantile]) -> str:
    """Say the mean and the median of numbers, in each of the first groups."""

    def said(result: Mean | Quantile, group: int) -> str:
        value, ends = result.value_texts()[group]
        between = f" ({escape(result.interval_name)}: {ends})" if ends else ""
        return f"{result.name} {value}{between}"

    if not tally.by:
        mean, median = (said(result, 0) for result in numbers)
        return f"<p class='lead'>Estimated {mean}.</p><p class='note'>Estimated {median}.</p>"
    names, groups = tally.group_names(), _headlined(tally)
    both = {group: "; ".join(said(one, group) for one in numbers) for group in groups}
    lines = [f"<p class='group'><strong>{escape(names[group])}</strong>: {both[group]}</p>" for group in groups]
    more = len(tally.groups) - len(groups)
    others = counted(more, "more group is", "more groups are")
    return "".join(lines) + (f"<p class='note'>{others} in the table.</p>" if more > 0 else "")


def _headlined(tally: Collected) -> list[int]:
    """Choose the groups that have a headline."""
    axis = axis_of(tally)
    if axis is None or len(tally.groups) <= HEADLINED_TREND:
        return list(range(len(tally.groups)))[:HEADLINED_GROUPS]
    answered = [int(group) for group in axis.order if tally.answered[group]]
    return [answered[0], answered[-1]] if len(answered) > 1 else answered


def _leader(shown: Shown, rows: NDArray[np.intp], style: str, start: str = "") -> str:
    table = shown.table
    shares = table["share"][rows]
    if np.isnan(shares).any():
        return f"<p class='{style}'>{start}no reports.</p>"
    first, second = rows[np.lexsort((-table.get("reports", table["share"])[rows], -shares))][:2]
    tied = int((shares == shares.max()).sum()) - 1
    if tied:
        others = counted(tied, "other answer is", "other answers are")
        return f"<p class='{style}'>{start}A leading answer is {shown.answer(first)}; {others} tied with it.</p>"
    lead = f"<p class='{style}'>{start}The leading answer is {shown.answer(first)}.</p>"
    overlap = table["low"][first] <= table["high"][second]
    order = " Their intervals overlap, so it is not certain which of the two is more common." if overlap else ""
    return f"{lead}<p class='note'>Next comes {shown.answer(second)}.{order}</p>"


def _first_of_two(shown: Shown, rows: NDArray[np.intp], style: str, start: str = "") -> str:
    """Lead with the answer of interest, be it common or rare."""
    first, *others = rows
    if np.isnan(shown.table["share"][first]):
        return f"<p class='{style}'>{start}no reports.</p>"
    label = escape(str(shown.table["value"][first]))
    about = f"{shown.interval}: {shown.limits(first)}"
    lead = f"For an estimated {shown.share(first)} of people, the true answer is <q>{label}</q> ({about})."
    note = f"<p class='note'>The other answer is {shown.answer(others[0])}.</p>" if others else ""
    return f"<p class='{style}'>{start}{lead}</p>{note}"


def _rest(tally: Collected, shown: Shown) -> str:
    """Name the second of two answers; an estimate outside of 0 to 100 % leaves nothing to be said of it."""
    others = 1 - float(shown.table["share"][0])
    if not 0 <= others <= 1:
        return ""
    label = escape(str(tally.domain[1]))
    return f"<p class='note'>For the other {shown.percent(others)}, it is <q>{label}</q>.</p>"


def _in_group(shown: Shown, row: int, start: str) -> str:
    silent = np.isnan(shown.table["share"][row])
    found = "no reports" if silent else f"{shown.share(row)} ({shown.limits(row)})"
    return f"<p class='group'>{start}{found}</p>"
