"""Dashboard data: published counts to numbers and words, by the library's own functions.

While a survey is open, everybody who watches it looks again and again. So its intervals are those that hold however
often one looks, and its reports are not tested at all: a test that is repeated raises a false alarm sooner or later.
Whoever closes it has watched it, and may close it because of what was seen; so these intervals stay. Only if the survey
file fixes the number of responses (``stop``), and it is reached, do the exact intervals for one look take their place:
nobody has then chosen the moment. The check is made once, when the survey is closed.

Groups are compared only then, too. A step has at least ``batch`` responses, but those of a small group within it may be
one person's: the difference of two steps would show this person's report.

Expected precision before anybody has answered: the plan of each question of a survey.

A survey whose file fixes the number of responses is read once, at that number, by intervals for one look. Every other
survey is watched until somebody closes it, and has wider intervals, which hold however often one looks. Of numbers, the
interval of the mean is told, in their own unit, for people whose numbers are spread evenly.
"""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from datetime import date, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

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
from warner.results import formulas_in, plain
from warner.text import counted, level_text, percent, points, printable, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

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
WORTHLESS_HALF_WIDTH = 0.5  # a half-width from here on leaves nearly every share possible
USUAL_PEOPLE = 1000  # the people whose mean is told, where nobody knows how many will come
USUAL_HALF_WIDTH = 0.05  # the half-width that people are counted for, where nobody knows how many will come


def expected(survey: Survey, invited: int) -> int | None:
    """Return the maximum number of responses of a survey; None if it is unlimited."""
    known = [number for number in (survey.stop, invited if survey.invited else None) if number is not None]
    return min(known, default=None)


def anytime(survey: Survey, invited: int) -> bool:
    """Return whether a survey is closed by hand, so that its intervals must be valid at any stopping time."""
    return survey.stop is None or survey.stop != expected(survey, invited)


@lru_cache(maxsize=1024)
def half_width(design: Design, people: int, *, anytime: bool) -> float | None:
    """Return the largest half-width of the interval of an answer after `n` reports; None if it has no interval."""
    if design.epsilon == 0:  # p = q: reports tell nothing, however many
        return None
    try:
        return Precision(design, _measure(anytime=anytime)).half_width(float(people))
    except ValueError:  # other answers lead to the same reports
        return None


@lru_cache(maxsize=1024)
def needed(design: Design, goal: float, *, anytime: bool) -> int | None:
    """Return the number of reports at which no half-width exceeds the goal; None if no number is enough."""
    if design.epsilon == 0:
        return None
    try:
        return fewest_people(design, _measure(anytime=anytime), goal)
    except ValueError:  # no number of people is enough
        return None


def of_numbers(design: Design) -> bool:
    """Return whether answers are ordered numbers, for which the mean is shown."""
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
    people, ever = expected(survey, invited), anytime(survey, invited)
    return {
        question.id: _open_prospect(question.open, people)
        if question.open
        else _prospect(question.listed, people, anytime=ever)
        for question in survey.questions
    }


@lru_cache(maxsize=1024)
def _open_prospect(design: OpenDomain, people: int | None) -> str:
    """Return which free-text answers will be found."""
    if people == 0:
        return "nobody is invited yet"
    some = people or USUAL_PEOPLE
    share, reports = plan(design, people=some).smallest_share, counted(some, "report", "reports")
    if share is None or share > 1:
        return f"{reports} find no answer, not even one that everybody gives"
    return f"{reports} find an answer that {percent(share)} of people give, with a probability of 80 %"


def _prospect(design: Design, people: int | None, *, anytime: bool) -> str:
    kind = "any-time intervals" if anytime else "intervals"
    if people != 0 and of_numbers(design):
        some = people or USUAL_PEOPLE
        half = half_width_of_mean(design, some, anytime=anytime)
        reports = counted(some, "report", "reports")
        return (
            f"{reports} give 95 % {kind} of the mean of about \N{PLUS-MINUS SIGN}{half:,.3g}, if numbers spread evenly"
        )
    if people is None:
        enough = needed(design, USUAL_HALF_WIDTH, anytime=anytime)
        if enough is None:
            return "no number of people is enough: its reports tell nothing"
        reports = counted(enough, "report", "reports")
        return f"95 % {kind} of at most \N{PLUS-MINUS SIGN}{points(USUAL_HALF_WIDTH)} take {reports}"
    if people == 0:
        return "nobody is invited yet"
    width, reports = half_width(design, people, anytime=anytime), counted(people, "report", "reports")
    if width is None:
        return "nothing, however many respond: its reports tell nothing"
    if width >= WORTHLESS_HALF_WIDTH:
        return f"{reports} can show next to nothing: the 95 % {kind} leave nearly every share possible"
    return f"{reports} give 95 % {kind} of about \N{PLUS-MINUS SIGN}{points(width, up=True)}, at their widest"


def unkept(design: Design) -> str:
    """Return the warning for a memoized design on a page without permanent responses; empty for other designs."""
    if not design.repetition():
        return ""
    return (
        "the page keeps no permanent responses: somebody who responds again spends epsilon "
        f"{design.shown_epsilon()} again, and nothing bounds what all responses reveal together"
    )


def doubts(survey: Survey, invited: int, limit: int | None = None) -> list[str]:
    """Return warnings about a survey file, for the number of invitations or the maximum number of responses."""
    said = [
        f"{question.id} has a memoized design, but {unkept(question.listed)}"
        for question in survey.questions
        if not question.open and question.listed.repetition()
    ]
    if survey.stop is not None and limit is not None and limit < survey.stop:
        said.append(
            f"--limit takes at most {limit:,} responses, and the survey stops at {survey.stop:,}: it will not close by "
            "itself, and its intervals remain the wider ones"
        )
    if not survey.invited or not invited:
        return said
    if survey.stop is not None and survey.stop > invited:
        said.append(
            f"the survey stops at {survey.stop:,} responses, but only {invited:,} people are invited: it will not "
            "close by itself, and its intervals remain the wider ones"
        )
    if survey.batch > invited:
        said.append(
            f"results are published in steps of {survey.batch:,} responses, but only {invited:,} people are invited: "
            "nothing is seen before the survey is closed"
        )
    return said


# Dashboard data


HALF_WIDTHS = (0.1, 0.05, 0.03, 0.02, 0.01)  # that one may wish for
ANSWERS_SHOWN = 30  # more have their largest shares shown, or those of ranges where they are numbers
RANGES_SHOWN = 10
DAYS_SHOWN = 92
DIRECTION_OVERRIDES = frozenset(
    "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)  # they turn the direction of a text


def version(collected: Collected) -> str:
    """Name what was published: every step has more responses, and closing changes the state."""
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
        "questions": [_question(collected, question) for question in survey.questions],
    }


class _ShownByBrowsers:
    """All characters that hide nothing: not control characters, but for ends of lines, nor those that turn a text."""

    def __contains__(self, character: object) -> bool:
        hidden = character in DIRECTION_OVERRIDES or unicodedata.category(str(character)) == "Cc"
        return character in {"\n", "\t"} or not hidden


def legible(text: str) -> str:
    r"""Show control characters and overrides of the direction of a text as escapes: nothing in it is to be hidden.

    >>> legible("one\ntwo\x1b[0m")
    'one\ntwo\\x1b[0m'
    """
    return printable(text, keep=_ShownByBrowsers())


def _shown_epsilon(epsilon: str) -> str:
    return "infinite" if epsilon == "inf" else epsilon


def _days(days: dict[str, int]) -> Iterator[Document]:
    """Return the responses of every day from the first to the last; only the last days if there are many."""
    if not days:
        return
    first, last = date.fromisoformat(min(days)), date.fromisoformat(max(days))
    first = max(first, last - timedelta(DAYS_SHOWN - 1))
    for number in range((last - first).days + 1):
        day = (first + timedelta(number)).isoformat()
        yield {"day": day, "responses": days.get(day, 0)}


# A question


def _question(collected: Collected, question: Question) -> Document:
    return _open_question(collected, question) if question.open else _listed_question(collected, question)


def _asked(collected: Collected, question: Question, reports: int, skipped: int) -> Document:
    """Return the fields of every question that do not depend on its reports."""
    design = question.design
    return {
        "id": question.id,
        "text": legible(question.text),
        "help": legible(question.help or ""),
        "mode": question.mode,
        "design": [legible(sentence) for sentence in design.sentences()],
        "epsilon": _shown_epsilon(design.shown_epsilon()),
        "reports": reports,
        "skipped": skipped if question.optional else None,
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
        "influence": "",
        "check": None,
        "groups": [],
        "found": None,
        "formulas": "",
    }


def _open_question(collected: Collected, question: Question) -> Document:
    """Return the number of reports of a free-text question and, after closing, the answers that were found.

    The search holds for one look, and so is made once.
    """
    cells = collected.cells[collected.survey.questions.index(question)].sum(axis=0)
    fields = _asked(collected, question, int(cells[0]), int(cells[-1]) if question.optional else 0)
    fields |= {"found": {"text": [], "interval": ""}}
    if collected.state == "open" or not cells[0]:
        return fields
    try:
        tally = collected.open_tally(question.id)
        discovery = discover(tally, level=PROSPECT_LEVEL)
    except ValueError as error:  # such as: a level has no reports
        return fields | {"refused": legible(str(error))}
    (part,) = discovery.findings
    remarks = discovery.remarks(part)
    return fields | {
        "answers": _named_answers(part),
        "left_out": max(0, len(part.values) - ANSWERS_SHOWN),
        "supporting": True,
        "formulas": legible(formulas_in(discovery.table())),
        "groups": [_open_group(collected, question, group) for group in collected.survey.groups],
        "found": {
            "text": [
                legible(said) for said in (*map(sentence, (discovery.promise(), *remarks)), tally.left_out()) if said
            ],
            "interval": f"{level_text(discovery.level)} interval, given that the answer was found",
        },
    }


def _named_answers(part: GroupFindings) -> list[Document]:
    """Return the answers that were found in a group, the most common first."""
    answers = []
    for row in range(min(len(part.values), ANSWERS_SHOWN)):
        numbers = {name: plain(getattr(part, name)[row]) for name in ("share", "low", "high")}
        label = shown_value(part.values[row], bool(part.other[row]))
        answers.append(
            {
                "label": legible(label),
                "reports": plain(part.support[row]),
                "outside": False,
                **numbers,
                "shown": {name: _percent(number) for name, number in numbers.items()},
            }
        )
    return answers


def _open_group(collected: Collected, question: Question, group: Group) -> Document:
    """Search the reports of each value of a group on their own: what is found in one need not be found in another."""
    tally = collected.open_tally(question.id, by=(group.id,))
    discovery = discover(tally, level=PROSPECT_LEVEL)
    reports = np.bincount(tally.rows[1], minlength=len(group.values))
    values = [
        {"value": legible(value), "reports": plain(reports[place]), "numbers": [], "answers": _named_answers(part)}
        for place, (value, part) in enumerate(zip(group.values, discovery.findings, strict=True))
    ]
    return {"id": group.id, "text": legible(group.text), "values": values, "promise": sentence(discovery.promise())}


def _listed_question(collected: Collected, question: Question) -> Document:
    tally = collected.tally(question.id)
    design, reports = question.listed, int(tally.n)
    fields = _asked(collected, question, reports, int(tally.missing))
    fields["design"] += [legible(sentence) for sentence in _not_here(design)]
    fields |= {
        "needed": []
        if of_numbers(design)
        else [_still_needed(collected, design, width, reports) for width in HALF_WIDTHS],
        "made": None if tally.counts_answers else _made(question, tally),
        "supporting": tally.counts_answers and not design.law.exclusive,
    }
    if not reports:
        return fields
    try:
        return fields | _evidence(collected, question, tally)
    except ValueError as error:  # such as: the reports say nothing
        return fields | {"refused": legible(str(error))}


def _not_here(design: Design) -> Iterator[str]:
    """Yield the sentence that revokes the promises of a memoized design on this page."""
    if words := unkept(design):
        yield f"What does not hold here: all that is said above of several reports, because {words}."


def _still_needed(collected: Collected, design: Design, half_width: float, reports: int) -> list[int] | None:
    """Return the total and the remaining number of reports needed for a half-width at the end of the survey."""
    people = needed(design, half_width, anytime=anytime(collected.survey, collected.invited))
    return None if people is None else [people, max(people - reports, 0)]


def _made(question: Question, tally: Tally) -> list[Document]:
    """Count the reports themselves, where they are not answers."""
    counts = tally.counts.tolist()
    order = sorted(range(len(counts)), key=lambda place: -counts[place])[:ANSWERS_SHOWN]
    places = sorted(order) if len(counts) <= ANSWERS_SHOWN else order
    columns, person = tally.design.law.columns, question.mode == "person"
    labels = [question.shown(columns[place]) if person else str(columns[place]) for place in places]
    return [{"label": legible(label), "reports": counts[place]} for label, place in zip(labels, places, strict=True)]


def _evidence(collected: Collected, question: Question, tally: Tally) -> Document:
    """Return the estimates of a question that has reports."""
    closed, wanted = collected.state == "closed", confidence(collected)
    result = estimated(tally)
    numbers = result._mean_and_median(wanted) or ()
    ranges = _ranges(question, tally.k) if numbers else []
    table = _table(result, ranges, wanted)
    one = not ranges and rows_mirrored(table, tally.k)
    rows = np.arange(1) if one else np.arange(len(ranges)) if ranges else _rows_shown(table["share"])
    groups = collected.survey.groups if closed else ()
    return {
        "numbers": [_number(number) for number in numbers],
        "answers": [_answer(question, table, row) for row in rows],
        "left_out": 0 if one or ranges else tally.k - len(rows),
        "rest": _answer(question, table, 1)["label"] if one else "",
        "interval": _interval(collected, result, wanted),
        "influence": influence_text(tally, 1, result.method),
        "formulas": legible(formulas_in(answer_columns(tally))),
        "check": _checked(tally, collected) if closed else None,
        "groups": [_group(collected, question, group, wanted, rows) for group in groups],
    }


def _number(result: Mean | Quantile, place: int = 0) -> Document:
    """Return the mean or median of a group with its interval, as numbers and as text."""
    row = {name: plain(np.atleast_1d(getattr(result, name))[place]) for name in ("value", "low", "high")}
    kind = "" if result.confidence.anytime else "approximate " if result.approximate else "exact "
    return {
        "name": result.name,
        **row,
        "shown": list(result.value_texts()[place]),
        "interval": f"{kind}{result.confidence}",
    }


def _ranges(question: Question, k: int) -> list[range]:
    """Return the indices of ranges of numbers where there are too many answers to show each; empty otherwise."""
    if k <= ANSWERS_SHOWN or question.labels is not None:
        return []
    ends = [place * k // RANGES_SHOWN for place in range(RANGES_SHOWN + 1)]
    return [range(first, last) for first, last in pairwise(ends)]


def _table(result: Estimate, ranges: list[range], wanted: Confidence) -> dict[str, Counts]:
    """Return shares with intervals for all answers, or for ranges of answers, in each group."""
    if not ranges:
        return result._arrays(wanted)
    domain = result.tally.domain
    ends = limits(result.tally, wanted, sets=[list(places) for places in ranges])
    shares = np.stack([result.shares[..., places.start : places.stop].sum(axis=-1) for places in ranges], axis=-1)
    low, high, shares = ends.low.ravel(), ends.high.ravel(), shares.ravel()
    names = objects(" to ".join(_figure(domain[place]) for place in (places[0], places[-1])) for places in ranges)
    outside = (shares < low) | (shares > high)
    return {"value": np.tile(names, len(ends.low)), "share": shares, "low": low, "high": high, "outside": outside}


def _figure(label: Label) -> str:
    """Write a number as people read it, and years, of four digits, without a comma."""
    return f"{label:,}" if isinstance(label, int) and abs(label) >= 10_000 else str(label)


def _rows_shown(shares: Counts) -> NDArray[np.intp]:
    """Choose the answers that are shown: all in the domain's order, or the largest shares if there are many."""
    if shares.size <= ANSWERS_SHOWN:
        return np.arange(shares.size)
    return np.argsort(-shares, kind="stable")[:ANSWERS_SHOWN]


def _answer(question: Question, table: dict[str, Counts], row: int) -> Document:
    label: Label = table["value"][row].item() if isinstance(table["value"][row], np.generic) else table["value"][row]
    numbers = {name: plain(table[name][row]) for name in ("share", "low", "high", "outside")}
    shown = {name: _percent(numbers[name]) for name in ("share", "low", "high")}
    text = question.shown(label) if question.mode == "device" else str(label)
    reports = plain(table["reports"][row]) if "reports" in table else None
    return {"label": legible(text), "reports": reports, **numbers, "shown": shown}


def _percent(share: float | None) -> str:
    if share is None:
        return ""
    return percent(share, 0 if share in {0, 1} else 1 if share >= 0.01 else 2)


def _interval(collected: Collected, result: Estimate, wanted: Confidence) -> Document:
    """Name the kind of the intervals, and say what it promises."""
    miss = level_text(1 - wanted.level)
    if wanted.anytime:
        promise = (
            "It holds however often you look, and whenever the survey is closed: the probability that it ever misses "
            f"the true share is at most {miss}. {_why_anytime(collected)}"
        )
    else:
        about = "about" if result._approximate(wanted) else "at most"
        promise = (
            f"The survey file fixed the number of responses, {collected.responses:,}, before the first of them: at "
            f"that number, it misses the true share with a probability of {about} {miss}."
        )
    kind = "" if wanted.anytime else "approximate " if result._approximate(wanted) else "exact "
    how = "; ".join(INTERVAL_METHODS[method] for method in result._limits(wanted).methods if method in INTERVAL_METHODS)
    return {"name": f"{kind}{wanted}", "promise": promise, "how": how}


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
    rests = "" if collected.fixed else "Its p-values are for a number of responses that was fixed beforehand."
    return {"fits": result.fits, "verdict": legible(result.verdict()), "rests": rests}


def _group(collected: Collected, question: Question, group: Group, wanted: Confidence, rows: Any) -> Document:
    """Return the shares in each value of a group."""
    tally = collected.tally(question.id, by=(group.id,))
    result = estimated(tally)
    numbers = result._mean_and_median(wanted) or ()
    table = _table(result, _ranges(question, tally.k) if numbers else [], wanted)
    width = len(table["value"]) // len(group.values)
    values = []
    for place, value in enumerate(group.values):
        answers = [_answer(question, table, place * width + row) for row in rows]
        told = {"numbers": [_number(one, place) for one in numbers], "answers": answers}
        values.append({"value": legible(value), "reports": plain(tally.n[place]), **told})
    return {"id": group.id, "text": legible(group.text), "values": values}
