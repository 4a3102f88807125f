"""Expected precision before anybody has answered: the plan of each question of a survey.

A survey whose file fixes the number of responses is read once, at that number, by intervals for one look. Every other
survey is watched until somebody closes it, and has wider intervals, which hold however often one looks. Of numbers, the
interval of the mean is told, in their own unit, for people whose numbers are spread evenly.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from warner.designs.grids import is_numeric
from warner.inference.intervals import Confidence
from warner.planning.number_precision import precision_of
from warner.planning.plans import plan
from warner.planning.precision import PlanningQuestion as Measure
from warner.planning.precision import Precision, numbers_asked
from warner.planning.solving import fewest_people
from warner.words import counted, percent, points

if TYPE_CHECKING:
    from warner.designs import Design, OpenDomain
    from warner.service.survey import Survey

PROSPECT_LEVEL = 0.95
WORTHLESS_HALF_WIDTH = 0.5  # a half-width from here on leaves nearly every share possible
USUAL_PEOPLE = 1000  # the people whose mean is told, where nobody knows how many will come
USUAL_HALF_WIDTH = 0.05  # the half-width that people are counted for, where nobody knows how many will come


def expected(survey: Survey, invited: int) -> int | None:
    """Give the number of people that a survey can count at most; None if there is no end to it."""
    known = [number for number in (survey.stop, invited if survey.invited else None) if number is not None]
    return min(known, default=None)


def anytime(survey: Survey, invited: int) -> bool:
    """Tell whether a survey will have to be closed by hand, and so read by intervals that hold whenever that is."""
    return survey.stop is None or survey.stop != expected(survey, invited)


@lru_cache(maxsize=1024)
def half_width(design: Design, people: int, *, anytime: bool) -> float | None:
    """Give half the length of the interval of an answer, at its widest, after so many reports; None if it has none."""
    if design.epsilon == 0:  # p = q: reports tell nothing, however many
        return None
    try:
        return Precision(design, _measure(anytime=anytime)).half_width(float(people))
    except ValueError:  # other answers lead to the same reports
        return None


@lru_cache(maxsize=1024)
def needed(design: Design, goal: float, *, anytime: bool) -> int | None:
    """Give the number of reports after which no half-width is larger than the goal; None if none is enough."""
    if design.epsilon == 0:
        return None
    try:
        return fewest_people(design, _measure(anytime=anytime), goal)
    except ValueError:  # no number of people is enough
        return None


def of_numbers(design: Design) -> bool:
    """Tell whether answers are numbers in an order: then their mean is what people want to know."""
    return design.ordered and is_numeric(design.domain)


@lru_cache(maxsize=1024)
def half_width_of_mean(design: Design, people: int, *, anytime: bool) -> float:
    """Give half the length of the interval of the mean after so many reports, of numbers that are spread evenly."""
    numbers = numbers_asked(design.domain, "mean", None)
    measure = replace(_measure(anytime=anytime), population=np.full(design.k, 1 / design.k), numbers=numbers)
    return precision_of(design, measure).measured(float(people))


def _measure(*, anytime: bool) -> Measure:
    return Measure("half_width", None, Confidence(PROSPECT_LEVEL, anytime=anytime), 0.8, None, None, None)


def prospects(survey: Survey, invited: int) -> dict[str, str]:
    """Say for each question what the people who may respond can show; of an open survey, how many it takes."""
    people, ever = expected(survey, invited), anytime(survey, invited)
    return {
        question.id: _open_prospect(question.open, people)
        if question.open
        else _prospect(question.listed, people, anytime=ever)
        for question in survey.questions
    }


@lru_cache(maxsize=1024)
def _open_prospect(design: OpenDomain, people: int | None) -> str:
    """Say which answers will be found, of those that people give in their own words."""
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
    """Say what a memoized design does not do on a page that keeps no permanent responses; nothing of other designs."""
    if not design.repeatable:
        return ""
    return (
        "the page keeps no permanent responses: somebody who responds again spends epsilon "
        f"{design.shown_epsilon()} again, and nothing bounds what all responses reveal together"
    )


def doubts(survey: Survey, invited: int, limit: int | None = None) -> list[str]:
    """Say what cannot work as the survey file has it, for the number of people who are invited, or taken at most."""
    said = [
        f"{question.id} has a memoized design, but {unkept(question.listed)}"
        for question in survey.questions
        if not question.open and question.listed.repeatable
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
