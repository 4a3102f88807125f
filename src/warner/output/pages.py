"""HTML report: one self-contained page with the estimates, a plot, a table, the design and the methods.

The page loads nothing: style, script and picture are part of it. It begins with the most important numbers.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from warner.arrays import SMALLEST
from warner.designs.facts import full_symmetry
from warner.documents import written_whole
from warner.estimation import ANSWERS_DRAWN, Estimate
from warner.estimators import METHODS
from warner.estimators.methods import BIAS, CUSTOM_METHOD, described
from warner.inference.answer_tables import (
    NO_CLUSTERS,
    answers_shown,
    groups_counted,
    reports_in_words,
    sample_in_words,
    totals_of,
)
from warner.output.canvas import FIGURE_INCHES, NARROW_INCHES
from warner.output.estimate_plots import DEFAULT_TITLE, axis_of, estimate_picture
from warner.output.group_plots import TITLE, TREND_TITLE, group_picture, number_picture
from warner.results import typeset
from warner.text import TIGHT, counted, group_name, level_text, printable, quoted, reports_counted, rounded_up
from warner.text import sentence as as_sentence
from warner.typesetting import amount_cells, count_cells, fragment, percent_cells, share_decimals

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from warner.arrays import Counts
    from warner.groups.group_estimates import GroupEstimates
    from warner.inference.intervals import Confidence
    from warner.inference.means import Mean, Quantile
    from warner.output.canvas import Picture
    from warner.reports.open_tallies import OpenTally
    from warner.reports.tallies import Collected, Tally

SPENT_AGAIN = "A respondent who reports again on the same question spends it again."
TABLE_ROWS = 2000  # more would make browsers slow

INTERVAL_METHODS = {
    "clopper_pearson": "Clopper and Pearson's interval for the binomial number of reports, translated into shares",
    "exact": "all shares under which the number of reports is not improbable, by sums of binomial counts",
    "wilson": "Wilson's score interval for the binomial number of reports, translated into shares",
    "score": "the score interval: all shares under which the reports are not too many standard errors from expected",
    "anytime": "a mixture martingale (Robbins; Ville's inequality) of the number of reports, translated into shares",
    "korn_graubard": "Korn and Graubard's interval: Clopper and Pearson's at the effective number of reports",
    "linear": "an unbiased linear combination of the observed shares, plus and minus a multiple of its standard error",
    "randomization": "the interval at the variance of the randomization, where that exceeds the variance in the sample",
    "one_cluster": "the whole range, of a group that lies in one cluster, which does not show how clusters vary",
}
TARGET_SHARES = {
    "population": "share in the population that the respondents were drawn from",
    "realised": "share in the sample: the respondents themselves",
}
TARGET_CHANCE = {"population": "the randomization and for sampling error", "realised": "the randomization"}
NO_LIKELIHOOD = "a report can count for several answers, so the counts alone do not have a likelihood"
MEANS_TITLE = "Estimated mean of each group"
CUMULATIVE_TITLE = "Share of respondents up to each answer"
WIDTH_OF_SAMPLES = "The intervals are as wide as the differences between the sampled units make them."
ANYTIME_EXPLAINED = (
    "The intervals are valid however often you look while reports arrive. They are wider than intervals for one look, "
    "at a number of reports that was fixed beforehand."
)
BARS = "Bars begin at 0 %; the mark is the share."
SHARE_EXPLAINED = (
    "<strong>share</strong> is the estimated true share of the answer, corrected for the randomization; "
    "<strong>people</strong> is that share of the number of reports."
)
STYLE, SCRIPT = ((files("warner.output") / f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))


def save_page(
    estimate: Estimate,
    path: str | os.PathLike[str],
    confidence: Confidence,
    *,
    title: str | None = None,
    question: str | None = None,
) -> None:
    """Write the page; see `Estimate.save_page`. It is written whole or not at all."""
    page = EstimatePage(estimate, confidence)
    write_page(path, (title, question, DEFAULT_TITLE), page.facts(), page.first(), page.sections())


def write_page(
    path: str | os.PathLike[str],
    names: tuple[str | None, str | None, str],
    facts: str,
    first: Sequence[str],
    sections: Mapping[str, str],
) -> None:
    """Write a page atomically, with its first parts, and further sections under their headings.

    `names` has the title, the wording of the question, and a title for the case that both are missing.
    """
    title, question, default = names
    heading = title or question or default
    asked = f"<p>The question: <q>{escape(question)}</q></p>" if question and title else ""
    head = f"<h1>{escape(heading)}</h1>\n<p class='facts'>{escape(facts)}</p>\n{asked}"
    page = whole_page(heading, [head, *first, *(f"<h2>{name}</h2>{text}" for name, text in sections.items())])
    with written_whole(path) as part:
        # A title may hold half a surrogate pair, which no encoding has.
        part.write_text(page, encoding="utf-8", errors="replace")


def figure(picture: Picture, label: str) -> str:
    """Picture in two widths, of which the page shows the one that fits; the table of the page has its numbers."""
    widths = {"broad": FIGURE_INCHES, "narrow": NARROW_INCHES}
    pictures = "".join(f"<div class='{name}'>{picture.svg(width)}</div>" for name, width in widths.items())
    return f"<figure role='img' aria-label='{escape(label)}; the numbers are in the table'>{pictures}</figure>"


def bullets(items: Iterable[str]) -> str:
    """Write a list of items that are HTML already."""
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def definitions(lines: Mapping[str, str]) -> str:
    """Write a list of names and texts."""
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in lines.items()) + "</dl>"


def whole_page(
    heading: str, sections: Sequence[str], *, style: str = "", language: str = "en", direction: str = "ltr"
) -> str:
    """Join the sections of a page with its style and script."""
    head = (
        "<meta charset='utf-8'><meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(heading)}</title><style>\n{STYLE}{style}</style>"
    )
    body = "\n".join(sections)
    body += f"\n<script>\n{SCRIPT}</script>" if "<button" in body else ""  # buttons sort tables
    root = f"<html lang='{language}' dir='{direction}'>"
    return f"<!DOCTYPE html>\n{root}<head>{head}</head>\n<body>\n<main>\n{body}\n</main>\n</body></html>\n"


def design_section(tally: Collected | OpenTally) -> str:
    parts: Sequence[Tally | OpenTally] = tally.parts
    several = len(parts) > 1
    lines = []
    for number, part in enumerate(parts, start=1):
        if several:
            lines.append(f"<h3>Design {number}: {reports_counted(part.n, weighted=part.weighted)}</h3>")
        lines += [f"<p>{escape(sentence)}</p>" for sentence in part.design.sentences()]
    spent = "at most " * several + f"<strong>epsilon = {tally.shown_epsilon()}</strong> (rounded up)"
    if math.isinf(max(part.design.epsilon for part in parts)):
        privacy = "<strong>Epsilon is infinite</strong>: a report can rule out an answer with certainty."
    else:
        again = " ".join(dict.fromkeys(part.design.repetition() or SPENT_AGAIN for part in parts))
        privacy = f"In terms of local differential privacy, one report spends {spent}. {again}"
    return "".join([*lines, f"<p>{privacy}</p>"])


def left_out_section(tally: Collected | OpenTally) -> str:
    missing, unknown = int(np.sum(tally.missing)), int(np.sum(tally.unknown))
    if not missing and not unknown:
        return "<p>None: every row held a possible report.</p>"
    lines = [f"<li>{counted(missing, 'row', 'rows')} without a value</li>"] * (missing > 0)
    lines += [f"<li>{counted(unknown, 'row', 'rows')} with a value that is not a possible report</li>"] * (unknown > 0)
    return f"<ul>{''.join(lines)}</ul><p>The shares are those among the rows that were counted.</p>"


# Tables in general


Cell = tuple[str, str]  # what a number is sorted by, with all its digits or nothing, and how it is shown
UNKNOWN_CELL: Cell = ("", "–")


def number_cells(values: Counts, texts: Iterable[str]) -> list[Cell]:
    """Return the cells of a column: numbers with all their digits, and as readers see them."""
    cells = zip(values.tolist(), texts, strict=True)
    return [UNKNOWN_CELL if np.isnan(value) else (repr(value), text) for value, text in cells]


def interval_cells(table: Mapping[str, Counts], texts: Iterable[str]) -> list[Cell]:
    """Return the cells of intervals: their texts, and bars from 0 to the largest limit with a mark at the share."""
    ends = np.array([table[name] for name in ("low", "share", "high")])
    places = np.clip(ends / max(np.nanmax(ends[2], initial=0), SMALLEST), 0, 1).T.tolist()
    bars = (
        f"<span class='bar' style='--low: {low:.1%}; --share: {share:.1%}; --high: {high:.1%}'></span>"
        for low, share, high in places
    )
    return number_cells(ends[0], (text + bar for text, bar in zip(texts, bars, strict=True)))


def share_cells(table: Mapping[str, Counts], interval: str, stars: Sequence[str] = ()) -> dict[str, list[Cell]]:
    """Return the cells of shares and of their intervals, by headings; stars stand beside the shares.

    >>> share_cells({name: np.array([0.25]) for name in ("share", "low", "high")}, "95 % interval")["share (%)"]
    [('0.25', '25.00')]
    """
    decimals = share_decimals(table["low"], table["high"])
    shares, low, high = (percent_cells(table[name], decimals) for name in ("share", "low", "high"))
    if stars:
        shares = [f"{text}<span class='mark'>{star}</span>" for text, star in zip(shares, stars, strict=True)]
    ends = (f"{first} to {last}" for first, last in zip(low, high, strict=True))
    return {"share (%)": number_cells(table["share"], shares), f"{interval} (%)": interval_cells(table, ends)}


def _table_of(
    some: Mapping[str, Counts], by: Sequence[str], columns: Mapping[str, list[Cell]], falling: str = ""
) -> str:
    """Write a table of results by groups and answers."""
    names = zip(*([group_name([one]) for one in some[name].tolist()] for name in (*by, "value")), strict=True)
    rows = zip(names, zip(*columns.values(), strict=True), strict=True)
    return sortable_table([*by, "answer"], [*columns], rows, "Table of results", falling)


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


# Estimates


HEADLINED_GROUPS, HEADLINED_TREND = 12, 4  # most groups with a headline, and groups of a trend


class EstimatePage:
    """Parts of the page of an estimate with these intervals."""

    def __init__(self, estimate: Estimate, confidence: Confidence) -> None:
        self.estimate, self.tally, self.confidence = estimate, estimate.tally, confidence
        self.table = estimate._of_interest(confidence)
        self.answers = answers_shown(self.tally, self.table)
        self.one, self.grouped, self.pooled = self.answers == 1, bool(self.tally.by), len(self.tally.parts) > 1
        self.level, self.approximate = level_text(confidence.level), estimate._approximate(confidence)
        kind = "any-time interval" if confidence.anytime else "interval"
        self.interval = f"{estimate._kind_of_interval(confidence)}{_unbroken(self.level)} {kind}"
        self.decimals = share_decimals(self.table["low"], self.table["high"])
        # True if every report counts for exactly one answer
        self.counted_once = all(part.design.law.exclusive for part in self.tally.parts)

    def facts(self) -> str:
        tally = self.tally
        facts = [reports_in_words(tally, "randomized"), f"{tally.k:,} possible answers"]
        facts += [f"{len(tally.parts)} designs"] * self.pooled
        facts += [groups_counted(tally)] * self.grouped
        return " · ".join([*facts, f"epsilon {'at most ' * self.pooled}{tally.shown_epsilon()}"])

    def first(self) -> list[str]:
        """Return the headline and the pictures."""
        numbers = self.estimate._leading(self.confidence) if self.grouped else None
        of_means = numbers is not None and self.tally.k > ANSWERS_DRAWN
        titles = {False: MEANS_TITLE if of_means else self._picture_title()}
        titles |= {True: CUMULATIVE_TITLE} if self.estimate._ordered else {}
        warned = (
            f"<p class='warning'><strong>Warning:</strong> {escape(one)}.</p>" for one in self.estimate.warnings()
        )
        return [
            f"<div class='headline'>{''.join(warned)}{self._headline()}</div>",
            "" if numbers is None else f"<div class='wide'>{fragment(typeset(numbers))}</div>",
            *(
                figure(estimate_picture(self.estimate, self.confidence, title=name, cumulative=cumulative), name)
                for cumulative, name in titles.items()
            ),
        ]

    def sections(self) -> dict[str, str]:
        return {
            "Table of results": self._table_section(),
            "How to read the table": bullets(self._explanations()),
            "How answers were randomized": design_section(self.tally),
            "Rows left out": left_out_section(self.tally),
            "How it was computed": self.computation(),
        }

    def _picture_title(self) -> str:
        tally = self.tally
        if self.one:
            return f"Estimated {'and reported ' * tally.counts_answers}share of {quoted(tally.domain[0])}"
        if not tally.counts_answers or axis_of(tally) is not None:  # the lines of a trend are those of the estimates
            return "Estimated shares"
        return "Estimated and reported shares" if self.counted_once else "Estimated shares and supporting reports"

    # The headline

    def _percent(self, share: float) -> str:
        """Return a share in percent; there is no line break before its sign."""
        return f"{percent_cells(np.array([share]), self.decimals)[0]}{TIGHT}%"

    def _share(self, row: int) -> str:
        return self._percent(self.table["share"][row])

    def _limits(self, row: int) -> str:
        low, high = (self._percent(self.table[name][row]) for name in ("low", "high"))
        return f"{low} to {high}{', see * below' if self.table['outside'][row] else ''}"

    def _label(self, row: int) -> str:
        return f"<q>{escape(str(self.table['value'][row]))}</q>"

    def _answer(self, row: int) -> str:
        return (
            f"{self._label(row)} with an estimated {self._share(row)} of people ({self.interval}: {self._limits(row)})"
        )

    def _headline(self) -> str:
        """Sentences on the leading answer, or on the first of two answers; in each of the first groups.

        For a trend, in the first and in the last group. For numeric answers, mean and median.
        """
        tally, one = self.tally, self.one
        if (numbers := self.estimate._leading(self.confidence)) is not None:
            return self._of_numbers(numbers.parts)
        leading = self._first_of_two if tally.k == 2 else self._leader
        if not self.grouped:
            return leading(np.arange(self.answers), "lead") + (self._rest() if one else "")
        names, groups, lines = tally.group_names(), self._headlined(), list[str]()
        if one:
            whose = f"people whose true answer is <q>{escape(str(tally.domain[0]))}</q>"
            lines.append(f"<p class='lead'>Estimated share of {whose}, with its {self.interval}:</p>")
        for group in groups:
            start, rows = f"<strong>{escape(names[group])}</strong>: ", np.arange(self.answers) + group * self.answers
            if one:
                silent = np.isnan(self.table["share"][group])
                found = "no reports" if silent else f"{self._share(group)} ({self._limits(group)})"
                lines.append(f"<p class='group'>{start}{found}</p>")
            else:
                lines.append(leading(rows, "group", start))
        return "".join([*lines, self._more_groups(groups)])

    def _more_groups(self, groups: list[int]) -> str:
        more = len(self.tally.groups) - len(groups)
        others = counted(more, "more group is", "more groups are")
        return f"<p class='note'>{others} in the table.</p>" if more > 0 else ""

    def _of_numbers(self, numbers: Sequence[Mean | Quantile]) -> str:
        """Sentences on the mean and the median of numbers, in each of the first groups."""

        def described_value(result: Mean | Quantile, group: int) -> str:
            value, ends = result.value_texts()[group]
            between = f" ({escape(result.interval_name)}: {ends})" if ends else ""
            return f"{result.name} {value}{between}"

        if not self.grouped:
            return "".join(
                f"<p class='{'note' if place else 'lead'}'>Estimated {described_value(result, 0)}.</p>"
                for place, result in enumerate(numbers)
            )
        names, groups = self.tally.group_names(), self._headlined()
        both = {group: "; ".join(described_value(one, group) for one in numbers) for group in groups}
        lines = [f"<p class='group'><strong>{escape(names[group])}</strong>: {both[group]}</p>" for group in groups]
        return "".join([*lines, self._more_groups(groups)])

    def _headlined(self) -> list[int]:
        axis, groups = axis_of(self.tally), range(len(self.tally.groups))
        if axis is None or len(groups) <= HEADLINED_TREND:
            return list(groups)[:HEADLINED_GROUPS]
        answered = [int(group) for group in axis.order if self.tally.answered[group]]
        return [answered[0], answered[-1]] if len(answered) > 1 else answered

    def _leader(self, rows: NDArray[np.intp], style: str, start: str = "") -> str:
        table = self.table
        shares = table["share"][rows]
        if np.isnan(shares).any():
            return f"<p class='{style}'>{start}no reports.</p>"
        first, second = rows[np.lexsort((-table.get("reports", table["share"])[rows], -shares))][:2]
        tied = int((shares == shares.max()).sum()) - 1
        if tied:
            others = counted(tied, "other answer is", "other answers are")
            return f"<p class='{style}'>{start}A leading answer is {self._answer(first)}; {others} tied with it.</p>"
        lead = f"<p class='{style}'>{start}The leading answer is {self._answer(first)}.</p>"
        overlap = table["low"][first] <= table["high"][second]
        order = " Their intervals overlap, so it is not certain which of the two is more common." if overlap else ""
        return f"{lead}<p class='note'>Next comes {self._answer(second)}.{order}</p>"

    def _first_of_two(self, rows: NDArray[np.intp], style: str, start: str = "") -> str:
        first, *others = rows
        if np.isnan(self.table["share"][first]):
            return f"<p class='{style}'>{start}no reports.</p>"
        about = f"{self.interval}: {self._limits(first)}"
        lead = f"For an estimated {self._share(first)} of people, the true answer is {self._label(first)} ({about})."
        note = f"<p class='note'>The other answer is {self._answer(others[0])}.</p>" if others else ""
        return f"<p class='{style}'>{start}{lead}</p>{note}"

    def _rest(self) -> str:
        """Sentence on the second of two answers; empty for an estimate outside of 0 to 100 %."""
        others = 1 - float(self.table["share"][0])
        if not 0 <= others <= 1:
            return ""
        label = escape(str(self.tally.domain[1]))
        return f"<p class='note'>For the other {self._percent(others)}, it is <q>{label}</q>.</p>"

    # The table

    def _table_section(self) -> str:
        tally, table, size = self.tally, self.table, self.table["value"].size
        order = np.lexsort((-table.get("reports", table["share"]), -table["share"]))[:TABLE_ROWS]  # NaN goes last
        sorted_by_share = not self.grouped and tally.k > 2 and not self.estimate._ordered
        if not sorted_by_share:
            order = np.sort(order)
        some = {name: column[order] for name, column in table.items()}
        columns: dict[str, list[Cell]] = {}
        if "reports" in table:
            heading, totals = "reports" if self.counted_once else "supporting reports", totals_of(tally, table)
            shown = count_cells(some["reports"], None if totals is None else totals[order])
            columns[heading] = number_cells(some["reports"], shown)
        if "respondents" in some and self.grouped:
            columns["respondents"] = number_cells(some["respondents"], amount_cells(some["respondents"]))
        columns |= share_cells(some, f"{self.level} interval", ["*" * one for one in some["outside"].tolist()])
        if not tally.simple:
            columns["se (%)"] = number_cells(some["se"], percent_cells(some["se"], self.decimals))
        columns["people"] = number_cells(some["people"], (f"{number:,.0f}" for number in some["people"].tolist()))
        cut = f"The {TABLE_ROWS:,} rows with the largest shares, of {size:,}. " if size > TABLE_ROWS else ""
        sorting = " Click a column's name to sort by it." if size > 1 else ""
        return f"<p class='note'>{cut}{BARS}{sorting}</p>" + _table_of(
            some, tally.by, columns, "share (%)" if sorted_by_share else ""
        )

    # How to read the table

    def _explanations(self) -> Iterator[str]:
        tally, confidence = self.tally, self.confidence
        if "reports" in self.table:
            yield self._reports_explained()
        yield SHARE_EXPLAINED
        if self.one:
            first, second = (f"<q>{escape(str(answer))}</q>" for answer in tally.domain)
            yield (
                f"There are two answers, so one row {'for each group ' * self.grouped}is enough: the share of {second} "
                f"is 100{TIGHT}% minus that of {first}, and its interval is the mirror image."
            )
        yield self._ends_explained()
        if self.grouped or not self.one:
            yield self._at_once()
        if confidence.anytime:
            yield ANYTIME_EXPLAINED
        if tally.sample is not None:
            sample = "; ".join([sample_in_words(tally, confidence), *self.estimate._sample_notes()])
            yield f"{escape(as_sentence(sample))} {WIDTH_OF_SAMPLES}"
        elif tally.weighted:
            effective = f"{float(np.sum(tally.effective)):,.1f}"
            yield (
                f"Reports have weights: they count as {effective} reports, and the intervals are approximate; "
                f"{NO_CLUSTERS}."
            )
        if self.table["outside"].any():
            yield f"<strong>*</strong> marks a share outside its own interval. {self._outside_explained()}"

    def _ends_explained(self) -> str:
        single, confidence = self.one and not self.grouped, self.confidence
        holds = f"{'the' if single else 'each'} interval would contain the true share"
        if confidence.simultaneous and not self.one:
            holds = "all intervals would contain their true shares at once"
        if confidence.anytime:
            holds = f"{holds}, at every number of reports,"
        often = f"{'about' if self.approximate else 'at least'} {_unbroken(self.level)}"
        return (
            f"<strong>{self.level} interval</strong> is a confidence interval for the "
            f"{TARGET_SHARES[confidence.target]}. If the survey were repeated many times, {holds} in {often} of the "
            f"repetitions. {'It accounts' if single else 'The intervals account'} for "
            f"{TARGET_CHANCE[confidence.target]}, but not for people who did not take part, did not follow the "
            "procedure or did not tell the truth."
        )

    def _at_once(self) -> str:
        """Joint or separate coverage of the intervals."""
        if self.confidence.simultaneous and not self.one:
            everything = "all answers of a group" if self.grouped else "all answers"
            return f"The intervals hold for {everything} at once, so they may be compared with one another."
        thing, picked = ("group", "a group") if self.one else ("answer", "an answer")
        return (
            f"The intervals hold for one {thing} at a time: of many intervals, up to "
            f"{_unbroken(level_text(1 - self.confidence.level))} can be expected to miss the true share, and {picked} "
            "picked for its large share is more likely to be among them."
        )

    def _reports_explained(self) -> str:
        symmetry = full_symmetry(self.tally.parts[0].design.law)
        direction = "Reports are randomized: their shares are not the true shares."
        if symmetry is not None and symmetry.gain == 1:
            direction = "Nothing was randomized: their shares are the true shares."
        elif symmetry is not None and symmetry.gain < 0:
            direction += " They are reversed: the larger the true share of an answer, the less often it is reported."
        elif symmetry is not None:
            direction += " They are closer to equal shares."
        if self.counted_once:
            often = "how often the answer was reported" + ", of how many reports" * (self.one or self.grouped)
            return f"<strong>reports</strong> is {often}. {direction}"
        return (
            "<strong>supporting reports</strong> is how many reports support the answer. A report can support several "
            f"answers, so these numbers need not add up to the number of reports. {direction}"
        )

    def _outside_explained(self) -> str:
        estimate = self.estimate
        if estimate._estimator.unbiased:
            return f"This is expected: {estimate.method} can leave the range from 0 to 100 %, and an interval cannot."
        if estimate._estimator.outside != BIAS:
            return f"This is expected: {escape(estimate._estimator.outside)}. Rely on the interval there."
        often = ", which is common for frequent answers among many rare ones" * (self.tally.k > 2)
        bias = f"the bias of the estimator ({escape(estimate._name())}){often}"
        return f"This is expected: it is {bias}. Rely on the interval there."

    # How it was computed

    def computation(self) -> str:
        from warner import __version__

        lines = {
            "method": self._method_explained(),
            "intervals": self._intervals_explained(),
            "design": "; ".join(part.design.summary() for part in self.tally.parts),
            "log-likelihood": self._log_likelihood(),
            "certificate": self._certificate(),
            "software": f"warner {__version__}",
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
        }
        return definitions(lines)

    def _method_explained(self) -> str:
        estimate = self.estimate
        if not estimate.choices:
            why = f" (the default here: {estimate._reason()})" if estimate._reason() else ""
            return f"{estimate.method}{why}: {described(estimate.method).sentence_for(self.tally)}"
        if not estimate.choices[0].errors:
            name = estimate.choices[0].method
            return f"auto: {name}, {estimate._estimator.reason(self.tally)}: {METHODS[name].sentence}"
        compared = " or ".join(estimate.choices[0].errors)
        taken = dict.fromkeys(choice.method for choice in estimate.choices)
        chosen = "; ".join(f"{name}, {METHODS[name].sentence}" for name in taken)
        where = " in each group" if self.grouped else ""
        return f"auto: of {compared}, the one with the smallest predicted error{where}. It took {chosen}"

    def _intervals_explained(self) -> str:
        used = [INTERVAL_METHODS[method] for method in self.estimate._limits(self.confidence).methods]
        where = "answer or group" if self.grouped else "answer"
        how = used[0] if len(used) == 1 else f"depending on the {where}, {', or '.join(used)}"
        holds = "approximate: the level is about" if self.approximate else "the level is at least"
        return f"{self.confidence}: {how} ({holds} {self.level})"

    def _log_likelihood(self) -> str:
        fits = np.atleast_1d(np.asarray(self.estimate.log_likelihood, dtype=np.float64))
        known = fits[~np.isnan(fits)]
        if not known.size:
            reason = "a share is negative, or the sum is not one" if self.counted_once else NO_LIKELIHOOD
            return f"not defined: {reason}"
        groups = counted(known.size, "group", "groups")
        return f"{known.sum():,.6f} nats" + (f", the sum over {groups}" if self.grouped else "")

    def _certificate(self) -> str:
        estimate, method = self.estimate, self.estimate.method
        if estimate.certificate is not None:
            gap = float(np.max(estimate.certificate.gap))
            where = ", in any group" if self.grouped else ""
            bound = f" by more than {rounded_up(gap, 2)} nats" if gap > 0 else ""
            return f"no distribution is more likely than this one{bound}{where}"
        if not self.counted_once:
            return f"none: {NO_LIKELIHOOD}"
        if described(method) is CUSTOM_METHOD and not estimate.choices:
            return f"none: {method} is a custom estimator"
        if not estimate.choices and not described(method).valid:
            return f"none: {method} does not maximize the likelihood"
        return "none: a group has no reports"


def _unbroken(text: str) -> str:
    return text.replace(" ", TIGHT)


# Pooled groups


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
    tally = estimates.tally
    if estimates.numeric:
        means = estimates.mean(level=level, kind=kind)
        picture, drawn, table = number_picture(means, estimates.along), "Means", fragment(typeset(means))
    else:
        common = int(np.nan_to_num(estimates.overall).argmax()) if tally.k > 2 else 0
        picture = group_picture(estimates, common, level=level, kind=kind)
        drawn, table = f"Shares of {quoted(tally.domain[common])}", _group_table(estimates, level, kind)
    computed = WALKED if estimates.along else ANY if estimates.law == "any" else POOLED
    sections = {
        "Table of results": table,
        "How to read the table": bullets(escape(as_sentence(note)) for note in estimates._footnotes(level, kind=kind)),
        "How answers were randomized": design_section(tally),
        "Rows left out": left_out_section(tally),
        "How it was computed": f"<p>{computed}</p>",
    }
    names = (title, question, TITLE if estimates.along is None else TREND_TITLE)
    write_page(path, names, estimates._title(), [figure(picture, f"{drawn} by group")], sections)


def _group_table(estimates: GroupEstimates, level: float, kind: str) -> str:
    tally, table = estimates.tally, estimates.of_interest(level, kind)
    some = {name: column[:TABLE_ROWS] for name, column in table.items()}
    columns = {"reports": number_cells(some["reports"], amount_cells(some["reports"]))}
    columns |= {"own (%)": number_cells(some["own"], percent_cells(some["own"], 0))}
    columns |= share_cells(some, f"{level_text(level)} interval")
    cut = f"The first {TABLE_ROWS:,} rows of {table['value'].size:,}. " if table["value"].size > TABLE_ROWS else ""
    note = f"<p class='note'>{cut}The interval is the {escape(estimates.interval_name(level, kind))}. {BARS}</p>"
    return note + _table_of(some, tally.by, columns)
