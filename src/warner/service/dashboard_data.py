"""Numbers and sentences of the dashboard, and the expected precision of a survey.

An open survey is watched, so its intervals hold however often you look. They stay when it is closed by hand, because
that decision may depend on the results. Intervals for one look take their place at the number of responses fixed in the
file (``stop``). The goodness-of-fit check is made once, when the survey is closed, because a repeated test raises a
false alarm sooner or later. Groups are shown only after the closing: a step has at least ``batch`` responses, but a
small group may have only one of them, whose report would be the difference of two steps.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from functools import lru_cache
from itertools import pairwise, starmap
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from warner.arrays import objects
from warner.designs.ordered import is_numeric
from warner.discovery.discoveries import discover, shown_value
from warner.estimation import Estimate, estimated
from warner.inference.check_results import influence_text
from warner.inference.checking import check
from warner.inference.comparisons import rows_mirrored
from warner.inference.intervals import Confidence, limits
from warner.inference.ranking import answer_columns
from warner.output.pages import INTERVAL_METHODS
from warner.planning.number_precision import fewest_people, precision_of
from warner.planning.plans import plan
from warner.planning.precision import PlanningQuestion as Measure
from warner.planning.precision import Precision, numbers_asked
from warner.reports.counts import OPTION
from warner.results import formulas_in, plain
from warner.text import counted, level_text, percent, points, printable, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from warner.arrays import Counts, Label
    from warner.designs import Design, OpenDomain
    from warner.discovery.discoveries import GroupFindings
    from warner.documents import Document
    from warner.inference.means import Mean, Quantile
    from warner.reports.tallies import Tally
    from warner.service.stores.contract import Collected
    from warner.service.survey import Group, Question, Survey


# Expected precision


PROSPECT_LEVEL = 0.95
WORTHLESS_HALF_WIDTH = 0.5  # which leaves nearly every share possible
DRAWN_LEVEL = 0.95  # probability of so many reports to a question that is drawn
USUAL_PEOPLE = 1000  # respondents, if their number is unknown
USUAL_HALF_WIDTH = 0.05  # for which respondents are counted, if their number is unknown


def expected(survey: Survey, invited: int) -> int | None:
    """Return the maximum number of responses of a survey; None if it is unlimited."""
    known = [number for number in (survey.stop, invited if survey.invited else None) if number is not None]
    return min(known, default=None)


def anytime(survey: Survey, invited: int) -> bool:
    """Return True if a survey is closed by hand, so that its intervals must be valid at any stopping time."""
    return survey.stop is None or survey.stop != expected(survey, invited)


@lru_cache(maxsize=1024)
def half_width(design: Design, people: int, *, anytime: bool) -> float | None:
    """Return the largest half-width of the interval of an answer after `n` reports; None if it has no interval."""
    with suppress(ValueError):  # not identified either
        if design.epsilon > 0:  # else shares are not identified
            return Precision(design, _measure(anytime=anytime)).half_width(float(people))
    return None


@lru_cache(maxsize=1024)
def needed(design: Design, goal: float, *, anytime: bool) -> int | None:
    """Return the number of reports at which no half-width exceeds the goal; None if no number is enough."""
    with suppress(ValueError):  # no number is enough
        if design.epsilon > 0:
            return fewest_people(design, _measure(anytime=anytime), goal)
    return None


def of_numbers(design: Design) -> bool:
    """Return True if answers are ordered numbers, for which the mean is shown."""
    return design.ordered and is_numeric(design.domain)


@lru_cache(maxsize=1024)
def half_width_of_mean(design: Design, people: int, *, anytime: bool) -> float:
    """Return the half-width of the interval of the mean of evenly distributed numbers after `n` reports."""
    numbers = numbers_asked(design.domain, "mean", None)
    measure = replace(_measure(anytime=anytime), population=np.full(design.k, 1 / design.k), numbers=numbers)
    return precision_of(design, measure).measured(float(people))


def _measure(*, anytime: bool) -> Measure:
    return Measure("half_width", None, Confidence(PROSPECT_LEVEL, anytime=anytime), 0.8, None, None, None)


def prospects(survey: Survey, invited: int) -> dict[str, str]:
    """Return the expected precision of each question; for an open survey, the sample size that it needs."""
    people, any_look = expected(survey, invited), anytime(survey, invited)
    result = {}
    for question in survey.questions:
        chance = survey.chance(question)
        reports = people if people is None else fewest_reports(people, chance)
        if question.open:
            result[question.id] = _open_prospect(question.open, reports)
        else:
            result[question.id] = _prospect(question.estimated_design, reports, anytime=any_look)
        if chance < 1 and reports != 0:
            each = " about each option" * (question.drawn < len(question.items))
            result[question.id] += f"; {percent(float(chance), 1)} of respondents are asked{each}"
    return result


def fewest_reports(people: int, chance: Fraction) -> int:
    """Return the number of reports that is exceeded or reached with a probability of 95 %, if questions are drawn.

    >>> from fractions import Fraction
    >>> fewest_reports(1000, Fraction(1)), fewest_reports(1000, Fraction(1, 2))
    (1000, 474)
    """
    return int(binom.ppf(1 - DRAWN_LEVEL, people, float(chance))) if chance < 1 else people


def responses_needed(reports: int, chance: Fraction) -> int:
    """Return the fewest responses that have so many reports with a probability of 95 %, if questions are drawn.

    >>> from fractions import Fraction
    >>> responses_needed(474, Fraction(1)), responses_needed(474, Fraction(1, 2))
    (474, 999)
    """
    most = range(reports, int(2 * (reports + 10) / chance) + 1)
    enough = bisect_left(most, DRAWN_LEVEL, key=lambda people: binom.sf(reports - 1, people, float(chance)))
    return most[enough] if chance < 1 else reports


@lru_cache(maxsize=1024)
def _open_prospect(design: OpenDomain, people: int | None) -> str:
    if people == 0:
        return "no respondents are invited yet"
    n = people or USUAL_PEOPLE
    share, reports = plan(design, people=n).smallest_share, counted(n, "report", "reports")
    if share is None or share > 1:
        return f"{reports} find no answer, not even one with a share of 100 %"
    return f"{reports} find an answer with a share of {percent(share)}, with a probability of 80 %"


def _prospect(design: Design, people: int | None, *, anytime: bool) -> str:
    kind = "any-time intervals" if anytime else "intervals"
    if people != 0 and of_numbers(design):
        n = people or USUAL_PEOPLE
        half = half_width_of_mean(design, n, anytime=anytime)
        reports = counted(n, "report", "reports")
        return f"{reports} give 95 % {kind} of the mean of about \N{PLUS-MINUS SIGN}{half:,.3g}, if numbers are uniform"
    if people is None:
        enough = needed(design, USUAL_HALF_WIDTH, anytime=anytime)
        if enough is None:
            return "no number of respondents is enough: the shares are not identified"
        reports = counted(enough, "report", "reports")
        return f"95 % {kind} of at most \N{PLUS-MINUS SIGN}{points(USUAL_HALF_WIDTH)} take {reports}"
    if people == 0:
        return "no respondents are invited yet"
    width, reports = half_width(design, people, anytime=anytime), counted(people, "report", "reports")
    if width is None:
        return "no estimate, however many respond: the shares are not identified"
    if width >= WORTHLESS_HALF_WIDTH:
        return f"{reports} carry almost no information: the 95 % {kind} leave nearly every share possible"
    return f"{reports} give 95 % {kind} of about \N{PLUS-MINUS SIGN}{points(width, up=True)}, at their widest"


def unkept(design: Design) -> str:
    """Return the warning for a memoized design on a page without permanent responses; empty for other designs."""
    if not design.repetition():
        return ""
    return (
        "the page keeps no permanent responses: a respondent who responds again spends epsilon "
        f"{design.shown_epsilon()} again, and the total privacy loss is not bounded"
    )


def doubts(survey: Survey, invited: int, limit: int | None = None) -> list[str]:
    """Return warnings about a survey, given the number of invitations and the maximum number of responses."""
    warnings = [
        f"{question.id} has a memoized design, but {unkept(question.listed)}"
        for question in survey.questions
        if question.open is None and question.several is None and question.listed.repetition()
    ]
    if survey.stop is not None and limit is not None and limit < survey.stop:
        warnings.append(
            f"--limit takes at most {limit:,} responses, and the survey stops at {survey.stop:,}: it will not close by "
            "itself, and its intervals remain the wider ones"
        )
    if not survey.invited or not invited:
        return warnings
    if survey.stop is not None and survey.stop > invited:
        warnings.append(
            f"the survey stops at {survey.stop:,} responses, but only {invited:,} respondents are invited: it will not "
            "close by itself, and its intervals remain the wider ones"
        )
    if survey.batch > invited:
        warnings.append(
            f"results are published in steps of {survey.batch:,} responses, but only {invited:,} respondents are "
            "invited: no results are published before the survey is closed"
        )
    return warnings


# Dashboard data


HALF_WIDTHS = (0.1, 0.05, 0.03, 0.02, 0.01)  # that can be chosen
ANSWERS_SHOWN = 30  # of more answers, the largest shares or ranges of numbers
RANGES_SHOWN = 10
DAYS_SHOWN = 92
DIRECTION_OVERRIDES = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def version(collected: Collected) -> str:
    """Return a text that changes with each published step, with the closing, and with invitations."""
    return f"{collected.state}-{collected.responses}-{collected.invited}-{collected.revoked}"


def confidence(collected: Collected) -> Confidence:
    """Return the intervals to show: anytime-valid ones, unless the number of responses was fixed in advance."""
    return Confidence(PROSPECT_LEVEL, anytime=not collected.fixed)


def reading(collected: Collected) -> Document:
    """Return the content of the dashboard, ready for JSON."""
    survey = collected.survey
    return {
        "id": survey.id,
        "title": legible(survey.title),
        "language": survey.language,
        "fingerprint": survey.fingerprint,
        "state": collected.state,
        "batch": survey.batch,
        "stop": survey.stop,
        "fixed": collected.fixed,
        "opens": survey.opens,
        "closes": survey.closes,
        "responses": collected.responses,
        "invited": collected.invited if survey.invited else None,
        "revoked": collected.revoked,
        "doubts": doubts(survey, collected.invited) if collected.state == "open" else [],
        "epsilon": _shown_epsilon(survey.shown_epsilon),
        "days": list(_days(collected.days)),
        "half_widths": list(HALF_WIDTHS),
        "questions": [_QuestionData(collected, question).fields() for question in survey.questions],
    }


class _ShownByBrowsers:
    """All characters except control characters and direction overrides; ends of lines and tabs are included."""

    def __contains__(self, character: object) -> bool:
        hidden = character in DIRECTION_OVERRIDES or unicodedata.category(str(character)) == "Cc"
        return character in {"\n", "\t"} or not hidden


def legible(text: str) -> str:
    r"""Return a text with escapes for control characters and direction overrides, which could hide parts of it.

    >>> legible("one\ntwo\x1b[0m")
    'one\ntwo\\x1b[0m'
    """
    return printable(text, keep=_ShownByBrowsers())


def _shown_epsilon(epsilon: str) -> str:
    return "infinite" if epsilon == "inf" else epsilon


def _days(days: dict[str, int]) -> Iterator[Document]:
    """Yield the responses of every day from the first to the last; only the last days if there are many."""
    if not days:
        return
    first, last = date.fromisoformat(min(days)), date.fromisoformat(max(days))
    first = max(first, last - timedelta(DAYS_SHOWN - 1))
    for number in range((last - first).days + 1):
        day = (first + timedelta(number)).isoformat()
        yield {"day": day, "responses": days.get(day, 0)}


class _QuestionData:
    """Content of the dashboard on one question."""

    def __init__(self, collected: Collected, question: Question) -> None:
        self.collected, self.survey, self.question = collected, collected.survey, question
        self.closed = collected.state == "closed"

    def fields(self) -> Document:
        return self._open() if self.question.open else self._listed()

    def _blank(self, reports: int, skipped: int) -> Document:
        """Return all fields of a question, empty where they depend on the reports."""
        question, design, drawn = self.question, self.question.design, self.survey.ask is not None
        blank = " or ".join(["not asked"] * drawn + ["skipped"] * question.optional)
        return {
            "id": question.id,
            "text": legible(question.text),
            "help": legible(question.help or ""),
            "mode": question.mode,
            "design": [legible(text) for text in (*design.sentences(), self.survey.lost(question)) if text],
            "epsilon": _shown_epsilon(design.shown_epsilon()),
            "reports": reports,
            "skipped": skipped if blank and question.drawn == len(question.items) else None,
            "blank": blank,
            "prospect": prospects(self.survey, self.collected.invited)[question.id],
            **{name: [] for name in ("needed", "numbers", "answers", "groups")},
            **dict.fromkeys(("refused", "rest", "influence", "formulas"), ""),
            **dict.fromkeys(("made", "interval", "sample", "check", "found")),
            "left_out": 0,
            "supporting": False,
        }

    def _open(self) -> Document:
        """Return the number of reports to a free-text question and, after the closing, the detected answers."""
        items = [item.question for item in self.survey.items]
        cells = self.collected.cells[items.index(self.question)].sum(axis=0)
        fields = self._blank(int(cells[0]), int(cells[1:].sum())) | {"found": {"text": [], "interval": ""}}
        if not self.closed or not cells[0]:
            return fields
        try:
            tally = self.collected.open_tally(self.question.id)
            discovery = discover(tally, level=PROSPECT_LEVEL)
        except ValueError as error:  # such as a level without reports
            return fields | {"refused": legible(str(error))}
        (findings,) = discovery.findings
        sentences = map(sentence, (discovery.promise(), *discovery.remarks(findings)))
        return fields | {
            "answers": _detected_answers(findings),
            "left_out": max(0, len(findings.values) - ANSWERS_SHOWN),
            "supporting": True,
            "formulas": legible(formulas_in(discovery.table())),
            "groups": [self._open_group(group) for group in self.survey.groups],
            "found": {
                "text": [legible(text) for text in (*sentences, tally.left_out()) if text],
                "interval": f"{level_text(discovery.level)} interval, given that the answer was found",
            },
        }

    def _open_group(self, group: Group) -> Document:
        """Search the reports of each value of a group separately."""
        tally = self.collected.open_tally(self.question.id, by=(group.id,))
        discovery = discover(tally, level=PROSPECT_LEVEL)
        reports = np.bincount(tally.rows[1], minlength=len(group.values))
        values = [
            {"value": legible(value), "reports": plain(n), "numbers": [], "answers": _detected_answers(findings)}
            for value, n, findings in zip(group.values, reports, discovery.findings, strict=True)
        ]
        promise = sentence(discovery.promise())
        return {"id": group.id, "text": legible(group.text), "values": values, "promise": promise}

    def _listed(self) -> Document:
        question, tally = self.question, self.collected.tally(self.question.id)
        # A report to one of several options counts for one of them; a report of one label, for all.
        design, each = tally.design, np.atleast_1d(tally.n)
        reports = int(each.sum() if question.drawn < len(question.items) else each[0])
        fields = self._blank(reports, int(np.atleast_1d(tally.missing)[0]))
        if words := unkept(design):
            fields["design"].append(
                legible(f"Not valid here: the statements above about several reports, because {words}.")
            )
        widths = () if of_numbers(design) else HALF_WIDTHS
        fields |= {
            "needed": [self._still_needed(width, reports) for width in widths],
            "made": None if tally.counts_answers or question.several else self._report_counts(tally),
            "supporting": tally.counts_answers and not design.law.exclusive,
        }
        if not reports:
            return fields
        try:
            return fields | self._evidence(tally)
        except ValueError as error:  # such as shares that are not identified
            return fields | {"refused": legible(str(error))}

    def _still_needed(self, half_width: float, reports: int) -> list[int] | None:
        """Return the total and the remaining number of respondents needed for a half-width at the end of the survey."""
        chance, any_look = self.survey.chance(self.question), anytime(self.survey, self.collected.invited)
        enough = needed(self.question.estimated_design, half_width, anytime=any_look)
        if enough is None:
            return None
        people = responses_needed(enough, chance)
        return [people, max(people - (reports if chance == 1 else self.collected.responses), 0)]

    def _report_counts(self, tally: Tally) -> list[Document]:
        counts, columns = tally.counts.tolist(), tally.design.law.columns
        order = sorted(range(len(counts)), key=lambda index: -counts[index])[:ANSWERS_SHOWN]
        indices = sorted(order) if len(counts) <= ANSWERS_SHOWN else order
        label = self.question.shown if self.question.mode == "person" else str
        return [{"label": legible(label(columns[index])), "reports": counts[index]} for index in indices]

    def _evidence(self, tally: Tally) -> Document:
        """Return the estimates of a question that has reports; those for the sample once the survey is closed."""
        result = estimated(tally)
        return {
            **self._shares(result, confidence(self.collected)),
            "sample": self._shares(result, Confidence(PROSPECT_LEVEL, "realised")) if self.closed else None,
            "influence": "" if self.question.several else influence_text(tally, 1, result.method),
            "formulas": legible(formulas_in(answer_columns(tally))),
            "check": self._checked(tally) if self.closed else None,
        }

    def _shares(self, result: Estimate, intervals: Confidence) -> Document:
        """Return the estimates with these intervals, by group if the survey is closed."""
        question, k = self.question, result.tally.k
        numbers, ranges, table = self._table(result, intervals)
        one = not ranges and not question.several and rows_mirrored(table, k)
        rows = np.arange(1) if one else np.arange(len(ranges)) if ranges else _rows_shown(table["share"])
        groups = self.survey.groups if self.closed else ()
        return {
            "numbers": [_number(number) for number in numbers],
            "answers": [self._answer(table, row) for row in rows],
            "left_out": 0 if one or ranges else len(table["value"]) - len(rows),
            "rest": self._answer(table, 1)["label"] if one else "",
            "interval": self._interval(result, intervals),
            "groups": [self._group(group, intervals, rows) for group in groups],
        }

    def _group(self, group: Group, intervals: Confidence, rows: Any) -> Document:
        several, size = self.question.several, len(group.values)
        tally = self.collected.tally(self.question.id, by=(group.id,))
        numbers, _, table = self._table(estimated(tally), intervals)
        # Options come first among the groups of a tally, and answers last.
        row_step, group_step = (size, 1) if several else (1, len(table["value"]) // size)
        values = []
        for index, value in enumerate(group.values):
            answers = [self._answer(table, index * group_step + row * row_step) for row in rows]
            reports = tally.n[index::size].sum() if several and several.at_most is None else tally.n[index]
            known = [_number(number, index) for number in numbers]
            values.append({"value": legible(value), "reports": plain(reports), "numbers": known, "answers": answers})
        return {"id": group.id, "text": legible(group.text), "values": values}

    def _table(
        self, result: Estimate, intervals: Confidence
    ) -> tuple[Sequence[Mean | Quantile], list[range], dict[str, Counts]]:
        """Return mean and median of numbers, ranges of too many numbers, and shares of answers or ranges by group.

        Of several options, the shares are those of yes by option, with the number of reports to each.
        """
        tally, numbers, ranges = result.tally, result._mean_and_median(intervals) or (), list[range]()
        if numbers and tally.k > ANSWERS_SHOWN and self.question.labels is None:
            ranges = list(starmap(range, pairwise(i * tally.k // RANGES_SHOWN for i in range(RANGES_SHOWN + 1))))
        if not ranges:
            table = result._arrays(intervals)
            if self.question.several is None:
                return numbers, ranges, table
            first = {name: column[::2] for name, column in table.items()}
            return numbers, ranges, first | {"value": first[OPTION], "reports": tally.n}
        ends = limits(tally, intervals, sets=[list(places) for places in ranges])
        shares = np.stack([result.shares[..., places.start : places.stop].sum(axis=-1) for places in ranges], axis=-1)
        low, high, shares = ends.low.ravel(), ends.high.ravel(), shares.ravel()
        figures = ([_figure(tally.domain[place]) for place in (places[0], places[-1])] for places in ranges)
        names = np.tile(objects(map(" to ".join, figures)), len(ends.low))
        outside = (shares < low) | (shares > high)
        return numbers, ranges, {"value": names, "share": shares, "low": low, "high": high, "outside": outside}

    def _answer(self, table: dict[str, Counts], row: int) -> Document:
        label: Label = plain(table["value"][row])
        numbers = {name: plain(table[name][row]) for name in ("share", "low", "high", "outside")}
        shown = {name: _percent(numbers[name]) for name in ("share", "low", "high")}
        text = str(label) if self.question.mode == "person" else self.question.shown(label)
        reports = plain(table["reports"][row]) if "reports" in table else None
        return {"label": legible(text), "reports": reports, **numbers, "shown": shown}

    def _interval(self, result: Estimate, intervals: Confidence) -> Document:
        """Return the kind of the intervals and a sentence on their coverage."""
        miss, approximate = level_text(1 - intervals.level), result._approximate(intervals)
        about = "about" if approximate else "at most"
        if intervals.target == "realised":
            promise = f"It misses the share among these respondents with a probability of {about} {miss}."
            if not self.collected.fixed:
                promise += " It assumes that the survey was not closed because of its results."
        elif intervals.anytime:
            promise = (
                "It holds however often you look, and whenever the survey is closed: the probability that it ever "
                f"misses the true share is at most {miss}. {self._why_anytime()}"
            )
        else:
            promise = (
                f"The survey file fixed the number of responses, {self.collected.responses:,}, before the first of "
                f"them: at that number, it misses the true share with a probability of {about} {miss}."
            )
        used = (method for method in result._limits(intervals).methods if method in INTERVAL_METHODS)
        how = "; ".join(INTERVAL_METHODS[method] for method in used)
        return {"name": f"{_kind(intervals, approximate=approximate)}{intervals}", "promise": promise, "how": how}

    def _why_anytime(self) -> str:
        """Return a sentence on when the narrower interval for a single look is valid."""
        stop, narrower = self.survey.stop, "The narrower interval for one look"
        if stop is None:
            return f"{narrower} is right only where the survey file fixes the number of responses beforehand (stop)."
        if not self.closed:
            return f"{narrower} is shown once all {stop:,} responses are there."
        return (
            f"{narrower} would be right only at the {stop:,} responses that the survey file fixes; the survey was "
            "closed before."
        )

    def _checked(self, tally: Tally) -> Document:
        """Return the verdict of the check and, for a survey that was stopped by hand, its assumption."""
        result, rests = check(tally, level=PROSPECT_LEVEL), ""
        if not self.collected.fixed:
            rests = "Its p-values are for a number of responses that was fixed beforehand."
        return {"fits": result.fits, "verdict": legible(result.verdict()), "rests": rests}


def _detected_answers(findings: GroupFindings) -> list[Document]:
    """Return the detected answers of a group, the most common first."""
    answers = []
    for row in range(min(len(findings.values), ANSWERS_SHOWN)):
        numbers = {name: plain(getattr(findings, name)[row]) for name in ("share", "low", "high")}
        label = legible(shown_value(findings.values[row], bool(findings.other[row])))
        texts = {name: _percent(number) for name, number in numbers.items()}
        fields = {"label": label, "reports": plain(findings.support[row]), "outside": False}
        answers.append(fields | numbers | {"shown": texts})
    return answers


def _number(result: Mean | Quantile, group: int = 0) -> Document:
    """Return the mean or median of a group with its interval, as numbers and as text."""
    row = {name: plain(np.atleast_1d(getattr(result, name))[group]) for name in ("value", "low", "high")}
    interval = f"{_kind(result.confidence, approximate=result.approximate)}{result.confidence}"
    return {"name": result.name, **row, "shown": list(result.value_texts()[group]), "interval": interval}


def _kind(intervals: Confidence, *, approximate: bool) -> str:
    return "" if intervals.anytime else "approximate " if approximate else "exact "


def _figure(label: Label) -> str:
    """Format a number with commas from five digits on, so that years have none."""
    return f"{label:,}" if isinstance(label, int) and abs(label) >= 10_000 else str(label)


def _rows_shown(shares: Counts) -> NDArray[np.intp]:
    """Return the indices of the answers that are shown: all of them, or the largest shares if there are many."""
    if shares.size <= ANSWERS_SHOWN:
        return np.arange(shares.size)
    return np.argsort(-shares, kind="stable")[:ANSWERS_SHOWN]


def _percent(share: float | None) -> str:
    if share is None:
        return ""
    return percent(share, 0 if share in {0, 1} else 1 if share >= 0.01 else 2)
