"""Report of a whole survey for readers without statistics: sentences with numbers of respondents, and one figure each.

Groups are shown once the survey is closed: before, a new member of a small group would show in two reports' difference.
"""

from __future__ import annotations

import math
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.discovery.discoveries import discover
from warner.estimation import estimated
from warner.inference.checking import check
from warner.inference.intervals import Confidence
from warner.output.estimate_plots import estimate_picture
from warner.output.pages import EstimatePage, bullets, definitions, design_section, whole_page
from warner.reports.counts import OPTION
from warner.results import typeset
from warner.text import level_text, percent, printable
from warner.typesetting import fragment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from warner.arrays import Counts
    from warner.documents import Document
    from warner.estimation import Estimate
    from warner.service.stores.contract import Collected
    from warner.service.survey import Question

MOST_BARS = 12  # answers; more are drawn as the plot of an estimate
MOST_FREQUENT_SHOWN = 12  # free-text answers
RESPONDENTS_ROUNDING = 1e-6  # of a number of respondents, in floating point
LEAST_IN_GROUP = 5  # respondents; the results of smaller groups are left out
REPORT_STYLE = Path(__file__).with_name("report.css").read_text(encoding="utf-8")


class _Row(NamedTuple):
    """An answer with its share, its interval and the words for both."""

    name: str
    share: float
    low: float
    high: float
    about: str
    range: str


class _Words(NamedTuple):
    """Target and words of a report."""

    noun: str
    confidence: Confidence

    def row(self, name: str, share: float, low: float, high: float, n: int) -> _Row:
        """Return an answer in numbers of respondents or, for the population, in percent."""
        if not n:
            return _Row(name, 0.0, 0.0, 1.0, "no reports yet", "between 0 and 0")
        if self.confidence.target == "realised":
            least, most = math.ceil(low * n - RESPONDENTS_ROUNDING), math.floor(high * n + RESPONDENTS_ROUNDING)
            number = min(max(round(share * n), least), most)
            about, ends = f"about {number:,} of {n:,} {self.noun}", f"between {least:,} and {most:,}"
        else:
            about, ends = f"about {percent(share, 0)}", f"between {percent(low, 0)} and {percent(high, 0)}"
        return _Row(name, share, low, high, about, ends)


def survey_report(
    collected: Collected, *, level: float = 0.95, target: str = "realised", noun: str = "respondents"
) -> str:
    """Return the page on the respondents themselves, in numbers of respondents, or on the population, in percent."""
    survey, n = collected.survey, collected.responses
    if not n:
        raise ValueError(
            f"the database has 0 published responses: they are published in steps of {survey.batch:,}, and when the "
            "survey is closed"
        )
    anytime = target == "population" and not collected.fixed
    words = _Words(escape(printable(noun)), Confidence(level, target, anytime=anytime))
    days = sorted(collected.days)
    dates = " to ".join(dict.fromkeys([days[0], days[-1]])) if days else ""
    facts = [f"{n:,} {words.noun} responded", dates, f"the survey is {collected.state}"]
    sections = [_Section(collected, question, words) for question in survey.questions]
    headlines = "".join(f"<li>{section.headline}</li>" for section in sections if section.headline)
    parts = [
        f"<h1>{escape(survey.title)}</h1>\n<p class='facts'>{' · '.join(filter(None, facts))}</p>",
        "<p class='warning'>The survey is still open: its numbers will change.</p>" * (collected.state == "open"),
        f"<div class='headline'><p>In short</p><ul>{headlines}</ul></div>" if headlines else "",
        f"<h2>How to read this page</h2>{_reading(collected, words)}",
        *(section.html() for section in sections),
        f"<section class='technical'><h2>Technical details</h2>{_facts(collected)}",
        *(section.technical() for section in sections),
        "</section>",
    ]
    return whole_page(survey.title, parts, style=REPORT_STYLE)


def _reading(collected: Collected, words: _Words) -> str:
    often = level_text(words.confidence.level)
    who = f"these {words.noun}" if words.confidence.target == "realised" else f"all {words.noun} like these"
    lines = [
        (
            "Chance changed the answers before they were sent, so no single answer is known. The probabilities are "
            "known, so the results of all respondents together can be computed."
        ),
        (
            f"The results are estimates for {who}. Each has a range, the line on its bar. In {often} of such surveys, "
            "the range contains the true number. If two ranges overlap, the difference may be due to chance."
        ),
    ]
    if words.confidence.target == "realised" and not collected.fixed:
        lines.append("The ranges assume that the survey was not closed because of its results.")
    lines += filter(None, [collected.survey.lost()])
    return "".join(f"<p>{line}</p>" for line in lines)


class _Section:
    def __init__(self, collected: Collected, question: Question, words: _Words) -> None:
        self.collected, self.question, self.words = collected, question, words
        self.estimate = None if question.open else estimated(collected.tally(question.id))
        answers: Any = None if question.open else question.answers  # a tuple or a range
        self.place = None if answers is None else int(answers.index(question.sensitive_answer))
        self.discovery = None
        if question.open and collected.state == "closed":
            self.discovery = discover(collected.open_tally(question.id), level=words.confidence.level)
        tally = self.estimate.tally if self.estimate is not None else self.discovery.tally if self.discovery else None
        self.n, self.skipped, self.noun = 0, 0, words.noun
        if tally is not None:
            self.n, self.skipped = int(np.max(tally.n)), int(np.max(tally.missing))
        if collected.survey.chance(question) < 1:
            self.words = words._replace(noun=f"{words.noun} who were asked")

    @property
    def headline(self) -> str:
        """Sentence on the sensitive answer, or on the mean of numbers."""
        text = f"<q>{escape(self.question.text)}</q>"
        if mean := self._mean():
            return f"{text} {mean}"
        if self.estimate is None or not self.n or self.place is None:
            return ""
        row = self._rows(self._shares(self.estimate))[self.place]
        return f"{text} <q>{row.name}</q>: <strong>{row.about}</strong>, {row.range}."

    def html(self) -> str:
        skipped = f"<p>{self._blanks()}</p>" if self.skipped else ""
        if self.question.open and self.discovery is None:
            body = "<p>Answers in respondents' own words are found once the survey is closed.</p>"
        elif not self.n:
            body = "<p>There are no reports yet.</p>"
        else:
            body = "".join([*self._warnings(), self._results(), skipped, *self._groups()])
        return f"<section class='question'><h2 class='wording'>{escape(self.question.text)}</h2>{body}</section>"

    def _blanks(self) -> str:
        survey, question = self.collected.survey, self.question
        if question.drawn < len(question.items):
            return f"Each of them was asked about {question.drawn} of {len(question.items)} options, drawn at random."
        skipped = "skipped it" if survey.ask else "skipped this question"
        why = ["were not asked this question"] * bool(survey.ask) + [skipped] * question.optional
        return f"{self.skipped:,} {self.noun} {' or '.join(why)}."

    def _shares(self, estimate: Estimate) -> dict[str, Counts]:
        """Return the table of an estimate; of several options the shares of yes."""
        table: dict[str, Counts] = estimate.table(**self._options())
        if self.question.several is None:
            return table
        first = {name: column[:: estimate.tally.k] for name, column in table.items()}
        return first | {"value": first[OPTION], "n": estimate.tally.n}

    def technical(self) -> str:
        head = f"<h3>{escape(self.question.text)}</h3>"
        if self.discovery is not None:
            return f"{head}{design_section(self.discovery.tally)}{fragment(typeset(self.discovery))}"
        if self.estimate is None or not self.n:
            return ""
        table = fragment(typeset(self.estimate, **self._options()))
        methods = EstimatePage(self.estimate, self.words.confidence).computation()
        wide = f"<div class='wide' role='group' tabindex='0' aria-label='Estimates'>{table}</div>"
        return f"{head}{design_section(self.estimate.tally)}{wide}{methods}"

    def _options(self) -> Document:
        confidence = self.words.confidence
        return {"level": confidence.level, "target": confidence.target, "anytime": confidence.anytime}

    def _rows(self, table: dict[str, Counts], n: int | None = None) -> list[_Row]:
        numbers = table.get("n", np.full(len(table["value"]), n or self.n))
        columns = ([*table[name].tolist()] for name in ("value", "share", "low", "high"))
        labels = None if self.question.mode == "person" else self.question.labels
        return [
            self.words.row(escape(labels[str(value)] if labels else str(value)), share, low, high, number)
            for value, share, low, high, number in zip(*columns, numbers.tolist(), strict=True)
        ]

    def _mean(self) -> str:
        if self.estimate is None or not self.n:
            return ""
        if (numbers := self.estimate._mean_and_median(self.words.confidence)) is None:
            return ""
        ((value, ends),) = numbers[0].value_texts()
        return f"The mean is <strong>about {escape(value)}</strong>, between {escape(ends.replace(' to ', ' and '))}."

    def _results(self) -> str:
        if self.discovery is not None:
            found = {name: column[:MOST_FREQUENT_SHOWN] for name, column in self.discovery.table().items()}
            rows, several = self._rows(found), "<p>Frequent answers; rarer ones cannot be found.</p>"
            return f"{several}{_bars(rows)}{_sentences(rows)}" if rows else "<p>No answer is frequent enough.</p>"
        assert self.estimate is not None
        mean = f"<p>{text}</p>" if (text := self._mean()) else ""
        if len(self.question.answers) > MOST_BARS and not self.question.several:
            picture = estimate_picture(self.estimate, self.words.confidence, title="Estimated shares").svg()
            label = "Estimated shares; the numbers are at the end"
            return f"{mean}<figure role='img' aria-label='{label}'>{picture}</figure>"
        rows, several = self._rows(self._shares(self.estimate)), ""
        if self.question.several:
            several = "<p>Any number of options can apply: the shares need not sum to 100 %.</p>"
        return f"{mean}{several}{_bars(rows)}{_sentences(rows)}"

    def _warnings(self) -> Iterator[str]:
        if self.estimate is None:
            return
        lines = self.estimate.warnings()
        checked = check(self.estimate.tally)
        lines += [] if checked.fits else [checked.verdict()]
        for line in lines:
            yield f"<p class='warning'>Attention: {escape(line)}</p>"

    def _groups(self) -> Iterator[str]:
        """Yield a table of the sensitive answer, or of the mean of numbers, for each question about groups."""
        if self.estimate is None or self.collected.state != "closed" or (place := self.place) is None:
            return
        for group in self.collected.survey.groups:
            result = estimated(self.collected.tally(self.question.id, by=(group.id,)))
            table, size = self._shares(result), len(group.values)
            means = result._mean_and_median(self.words.confidence)
            texts = [] if means is None else means[0].value_texts()
            # Options come first among the groups of a tally, and answers last.
            start, step = (place * size, 1) if self.question.several else (place, result.tally.k)
            lines = []
            for number, value in enumerate(group.values):
                cells = "<td class='text'>too few to show</td>"
                n = result.tally.n[start + number if self.question.several else number]
                if n >= LEAST_IN_GROUP and texts:
                    mean, ends = map(escape, texts[number])
                    cells = f"<td class='text'>about {mean}, between {ends.replace(' to ', ' and ')}</td>"
                elif n >= LEAST_IN_GROUP:
                    one = {name: column[start + number * step :][:1] for name, column in table.items()}
                    (row,) = self._rows(one, int(n))
                    cells = f"<td class='text'>{row.about}, {row.range}</td>"
                lines.append(f"<tr><th class='text' scope='row'>{escape(value)}</th>{cells}</tr>")
            name = self._rows({key: column[start : start + 1] for key, column in table.items()})[0].name
            caption = "Mean" if texts else f"Answer <q>{name}</q>"
            yield (
                f"<h3>{escape(group.text)}</h3><table class='groups'><caption>{caption}</caption>"
                f"<tbody>{''.join(lines)}</tbody></table>"
            )


def _bars(rows: Sequence[_Row]) -> str:
    parts = []
    for row in rows:
        low, high = (100 * min(max(end, 0), 1) for end in (row.low, row.high))
        parts.append(
            f"<span class='name'>{row.name}</span><span class='track'>"
            f"<span class='fill' style='width:{100 * min(max(row.share, 0), 1):.2f}%'></span>"
            f"<span class='range' style='left:{low:.2f}%;width:{high - low:.2f}%'></span></span>"
            f"<span class='number'>{percent(row.share, 0)}</span>"
        )
    label = "; ".join(f"{row.name}: {row.about}, {row.range}" for row in rows)
    return f"<figure class='bars' role='img' aria-label=\"{label}\">{''.join(parts)}</figure>"


def _sentences(rows: Sequence[_Row]) -> str:
    return bullets(f"<q>{row.name}</q>: {row.about}, {row.range}" for row in rows)


def _facts(collected: Collected) -> str:
    from warner import __version__

    survey = collected.survey
    fixed = "reached the number of responses that was fixed beforehand" if collected.fixed else collected.state
    lines = {
        "survey": survey.id,
        "fingerprint": survey.fingerprint,
        "responses": f"{collected.responses:,}",
        "state": fixed,
        "privacy": f"epsilon {survey.shown_epsilon} for all questions together",
        "software": f"warner {__version__}",
    }
    return definitions(lines)
