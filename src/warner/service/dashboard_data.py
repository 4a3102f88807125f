"""Numbers and sentences of the dashboard, and the expected precision of a survey.

**Intervals.** An open survey is watched, so its intervals hold however often you look. They stay when it is closed by
hand, because that decision may depend on the results. If the survey reaches the number of responses fixed in its file
(``stop``), intervals for one look take their place. The goodness-of-fit check is made once, when the survey is closed,
because a repeated test raises a false alarm sooner or later.

**Groups** are shown only after the closing. A step has at least ``batch`` responses, but a small group may have only
one of them, whose report would be the difference of two steps.

**Questions that are drawn** have fewer reports than the survey has responses. If several options can apply, each has a
row of its own; these shares need not sum to one.

**Expected precision** of each question refers to intervals for one look if the file fixes the number of responses,
otherwise to any-time intervals. For numbers it is that of the mean of evenly distributed numbers.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from dataclasses import replace
from datetime import date, timedelta
from functools import lru_cache
from itertools import pairwise
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
    from collections.abc import Iterator
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
    if design.epsilon == 0:  # shares are not identified
        return None
    try:
        return Precision(design, _measure(anytime=anytime)).half_width(float(people))
    except ValueError:  # not identified either
        return None


@lru_cache(maxsize=1024)
def needed(design: Design, goal: float, *, anytime: bool) -> int | None:
    """Return the number of reports at which no half-width exceeds the goal; None if no number is enough."""
    if design.epsilon == 0:
        return None
    try:
        return fewest_people(design, _measure(anytime=anytime), goal)
    except ValueError:  # no number is enough
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
        "questions": [
            (_open_question if question.open else _listed_question)(collected, question)
            for question in survey.questions
        ],
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


# A question


def _fields(collected: Collected, question: Question, reports: int, skipped: int) -> Document:
    """Return all fields of a question, empty where they depend on the reports."""
    design, drawn = question.design, collected.survey.ask is not None
    blank = " or ".join(["not asked"] * drawn + ["skipped"] * question.optional)
    return {
        "id": question.id,
        "text": legible(question.text),
        "help": legible(question.help or ""),
        "mode": question.mode,
        "design": [legible(text) for text in (*design.sentences(), collected.survey.lost(question)) if text],
        "epsilon": _shown_epsilon(design.shown_epsilon()),
        "reports": reports,
        "skipped": skipped if blank and question.drawn == len(question.items) else None,
        "blank": blank,
        "prospect": prospects(collected.survey, collected.invited)[question.id],
        "needed": [],
        "refused": "",
        "numbers": [],
        "answers": [],
        "left_out": 0,
        "rest": "",
        "made": None,
        "supporting": False,
        "interval": None,
        "sample": None,
        "influence": "",
        "check": None,
        "groups": [],
        "found": None,
        "formulas": "",
    }


def _open_question(collected: Collected, question: Question) -> Document:
    """Return the number of reports to a free-text question and, after the closing, the detected answers."""
    items = [item.question for item in collected.survey.items]
    cells = collected.cells[items.index(question)].sum(axis=0)
    fields = _fields(collected, question, int(cells[0]), int(cells[1:].sum()))
    fields |= {"found": {"text": [], "interval": ""}}
    if collected.state == "open" or not cells[0]:
        return fields
    try:
        tally = collected.open_tally(question.id)
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
        "groups": [_open_group(collected, question, group) for group in collected.survey.groups],
        "found": {
            "text": [legible(text) for text in (*sentences, tally.left_out()) if text],
            "interval": f"{level_text(discovery.level)} interval, given that the answer was found",
        },
    }


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


def _open_group(collected: Collected, question: Question, group: Group) -> Document:
    """Search the reports of each value of a group separately."""
    tally = collected.open_tally(question.id, by=(group.id,))
    discovery = discover(tally, level=PROSPECT_LEVEL)
    reports = np.bincount(tally.rows[1], minlength=len(group.values))
    values = [
        {"value": legible(value), "reports": plain(n), "numbers": [], "answers": _detected_answers(findings)}
        for value, n, findings in zip(group.values, reports, discovery.findings, strict=True)
    ]
    return {"id": group.id, "text": legible(group.text), "values": values, "promise": sentence(discovery.promise())}


def _listed_question(collected: Collected, question: Question) -> Document:
    tally = collected.tally(question.id)
    # A report to one of several options counts for one of them; a report of one label, for all.
    design, each = tally.design, np.atleast_1d(tally.n)
    reports = int(each.sum() if question.drawn < len(question.items) else each[0])
    fields = _fields(collected, question, reports, int(np.atleast_1d(tally.missing)[0]))
    if words := unkept(design):
        fields["design"].append(
            legible(f"Not valid here: the statements above about several reports, because {words}.")
        )
    fields |= {
        "needed": []
        if of_numbers(design)
        else [_still_needed(collected, question, width, reports) for width in HALF_WIDTHS],
        "made": None if tally.counts_answers or question.several else _report_counts(question, tally),
        "supporting": tally.counts_answers and not design.law.exclusive,
    }
    if not reports:
        return fields
    try:
        return fields | _evidence(collected, question, tally)
    except ValueError as error:  # such as shares that are not identified
        return fields | {"refused": legible(str(error))}


def _still_needed(collected: Collected, question: Question, half_width: float, reports: int) -> list[int] | None:
    """Return the total and the remaining number of respondents needed for a half-width at the end of the survey."""
    survey, chance = collected.survey, collected.survey.chance(question)
    enough = needed(question.estimated_design, half_width, anytime=anytime(survey, collected.invited))
    if enough is None:
        return None
    people = responses_needed(enough, chance)
    return [people, max(people - (reports if chance == 1 else collected.responses), 0)]


def _report_counts(question: Question, tally: Tally) -> list[Document]:
    counts, columns = tally.counts.tolist(), tally.design.law.columns
    order = sorted(range(len(counts)), key=lambda index: -counts[index])[:ANSWERS_SHOWN]
    indices = sorted(order) if len(counts) <= ANSWERS_SHOWN else order
    label = question.shown if question.mode == "person" else str
    return [{"label": legible(label(columns[index])), "reports": counts[index]} for index in indices]


def _evidence(collected: Collected, question: Question, tally: Tally) -> Document:
    """Return the estimates of a question that has reports; those for the sample once the survey is closed."""
    closed, result = collected.state == "closed", estimated(tally)
    return {
        **_shares(collected, question, result, confidence(collected)),
        "sample": _shares(collected, question, result, Confidence(PROSPECT_LEVEL, "realised")) if closed else None,
        "influence": "" if question.several else influence_text(tally, 1, result.method),
        "formulas": legible(formulas_in(answer_columns(tally))),
        "check": _checked(tally, collected) if closed else None,
    }


def _shares(collected: Collected, question: Question, result: Estimate, intervals: Confidence) -> Document:
    """Return the estimates with these intervals, by group if the survey is closed."""
    tally = result.tally
    numbers = result._mean_and_median(intervals) or ()
    ranges = _ranges(question, tally.k) if numbers else []
    table = _of_options(question, tally.n, _table(result, ranges, intervals))
    one = not ranges and not question.several and rows_mirrored(table, tally.k)
    rows = np.arange(1) if one else np.arange(len(ranges)) if ranges else _rows_shown(table["share"])
    groups = collected.survey.groups if collected.state == "closed" else ()
    return {
        "numbers": [_number(number) for number in numbers],
        "answers": [_answer(question, table, row) for row in rows],
        "left_out": 0 if one or ranges else len(table["value"]) - len(rows),
        "rest": _answer(question, table, 1)["label"] if one else "",
        "interval": _interval(collected, result, intervals),
        "groups": [_group(collected, question, group, intervals, rows) for group in groups],
    }


def _of_options(question: Question, n: Any, table: dict[str, Counts]) -> dict[str, Counts]:
    """Return the shares of yes by option, with the number of reports to each; other questions' tables as they are."""
    if question.several is None:
        return table
    first = {name: column[::2] for name, column in table.items()}
    return first | {"value": first[OPTION], "reports": n}


def _number(result: Mean | Quantile, group: int = 0) -> Document:
    """Return the mean or median of a group with its interval, as numbers and as text."""
    row = {name: plain(np.atleast_1d(getattr(result, name))[group]) for name in ("value", "low", "high")}
    kind = "" if result.confidence.anytime else "approximate " if result.approximate else "exact "
    return {
        "name": result.name,
        **row,
        "shown": list(result.value_texts()[group]),
        "interval": f"{kind}{result.confidence}",
    }


def _ranges(question: Question, k: int) -> list[range]:
    """Return the indices of ranges of numbers where there are too many answers to show each; empty otherwise."""
    if k <= ANSWERS_SHOWN or question.labels is not None:
        return []
    ends = [i * k // RANGES_SHOWN for i in range(RANGES_SHOWN + 1)]
    return [range(first, last) for first, last in pairwise(ends)]


def _table(result: Estimate, ranges: list[range], intervals: Confidence) -> dict[str, Counts]:
    """Return shares with intervals for all answers, or for ranges of answers, in each group."""
    if not ranges:
        return result._arrays(intervals)
    domain = result.tally.domain
    ends = limits(result.tally, intervals, sets=[list(places) for places in ranges])
    shares = np.stack([result.shares[..., places.start : places.stop].sum(axis=-1) for places in ranges], axis=-1)
    low, high, shares = ends.low.ravel(), ends.high.ravel(), shares.ravel()
    names = objects(" to ".join(_figure(domain[place]) for place in (places[0], places[-1])) for places in ranges)
    outside = (shares < low) | (shares > high)
    return {"value": np.tile(names, len(ends.low)), "share": shares, "low": low, "high": high, "outside": outside}


def _figure(label: Label) -> str:
    """Format a number with commas from five digits on, so that years have none."""
    return f"{label:,}" if isinstance(label, int) and abs(label) >= 10_000 else str(label)


def _rows_shown(shares: Counts) -> NDArray[np.intp]:
    """Return the indices of the answers that are shown: all of them, or the largest shares if there are many."""
    if shares.size <= ANSWERS_SHOWN:
        return np.arange(shares.size)
    return np.argsort(-shares, kind="stable")[:ANSWERS_SHOWN]


def _answer(question: Question, table: dict[str, Counts], row: int) -> Document:
    label: Label = table["value"][row].item() if isinstance(table["value"][row], np.generic) else table["value"][row]
    numbers = {name: plain(table[name][row]) for name in ("share", "low", "high", "outside")}
    shown = {name: _percent(numbers[name]) for name in ("share", "low", "high")}
    text = str(label) if question.mode == "person" else question.shown(label)
    reports = plain(table["reports"][row]) if "reports" in table else None
    return {"label": legible(text), "reports": reports, **numbers, "shown": shown}


def _percent(share: float | None) -> str:
    if share is None:
        return ""
    return percent(share, 0 if share in {0, 1} else 1 if share >= 0.01 else 2)


def _interval(collected: Collected, result: Estimate, intervals: Confidence) -> Document:
    """Return the kind of the intervals and a sentence on their coverage."""
    miss = level_text(1 - intervals.level)
    about = "about" if result._approximate(intervals) else "at most"
    if intervals.target == "realised":
        promise = f"It misses the share among these respondents with a probability of {about} {miss}."
        if not collected.fixed:
            promise += " It assumes that the survey was not closed because of its results."
    elif intervals.anytime:
        promise = (
            "It holds however often you look, and whenever the survey is closed: the probability that it ever misses "
            f"the true share is at most {miss}. {_why_anytime(collected)}"
        )
    else:
        promise = (
            f"The survey file fixed the number of responses, {collected.responses:,}, before the first of them: at "
            f"that number, it misses the true share with a probability of {about} {miss}."
        )
    kind = "" if intervals.anytime else "approximate " if result._approximate(intervals) else "exact "
    how = "; ".join(
        INTERVAL_METHODS[method] for method in result._limits(intervals).methods if method in INTERVAL_METHODS
    )
    return {"name": f"{kind}{intervals}", "promise": promise, "how": how}


def _why_anytime(collected: Collected) -> str:
    """Return a sentence on when the narrower interval for a single look is valid."""
    stop = collected.survey.stop
    if stop is None:
        return (
            "The narrower interval for one look is right only where the survey file fixes the number of responses "
            "beforehand (stop)."
        )
    if collected.state == "open":
        return f"The narrower interval for one look is shown once all {stop:,} responses are there."
    return (
        f"The narrower interval for one look would be right only at the {stop:,} responses that the survey file fixes; "
        "the survey was closed before."
    )


def _checked(tally: Tally, collected: Collected) -> Document:
    """Return the verdict of the check and, for a survey that was stopped by hand, its assumption."""
    result = check(tally, level=PROSPECT_LEVEL)
    assumption = "" if collected.fixed else "Its p-values are for a number of responses that was fixed beforehand."
    return {"fits": result.fits, "verdict": legible(result.verdict()), "rests": assumption}


def _group(collected: Collected, question: Question, group: Group, intervals: Confidence, rows: Any) -> Document:
    tally = collected.tally(question.id, by=(group.id,))
    result = estimated(tally)
    numbers = result._mean_and_median(intervals) or ()
    table = _of_options(question, tally.n, _table(result, _ranges(question, tally.k) if numbers else [], intervals))
    size = len(group.values)
    # Options come first among the groups of a tally, and answers last.
    row_step, group_step = (size, 1) if question.several else (1, len(table["value"]) // size)
    values = []
    for index, value in enumerate(group.values):
        answers = [_answer(question, table, index * group_step + row * row_step) for row in rows]
        several = question.several and question.several.at_most is None
        fields = {"value": legible(value), "reports": plain(tally.n[index::size].sum() if several else tally.n[index])}
        values.append(fields | {"numbers": [_number(one, index) for one in numbers], "answers": answers})
    return {"id": group.id, "text": legible(group.text), "values": values}
