"""Lines at the start of a server: expected precision, problems of the survey file, and its state."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from typing import Any

from cases import COIN
from collecting_cases import open_survey
from service.dashboards import nothing
from warner.designs import Memoized
from warner.service.dashboard_data import reading
from warner.service.server import Address, Places, _Door, opening
from warner.service.survey import Survey, survey_from_json

TWICE = Memoized.response(["never", "once", "often"], eps_infinity=2, eps_first="0.9")
UNKEPT = (
    "the page keeps no permanent responses: a respondent who responds again spends epsilon 0.9 again, and the total "
    "privacy loss is not bounded"
)


def survey_of(designs: Any = (COIN,), **fields: Any) -> Survey:
    return survey_from_json(json.dumps(open_survey(designs, **fields)))


def told(survey: Survey, limit: int | None = None, **published: Any) -> list[str]:
    """Return the lines, without the addresses and the last one."""
    with closing(Address("127.0.0.1", 0).bound()) as here, closing(Address("127.0.0.1", 0).bound()) as there:
        places = Places("x.db", _Door("127.0.0.1", here, None), _Door("127.0.0.1", there, None))
        return opening(replace(nothing(survey), **published), places, "key", limit)[4:-1]


def test_a_memoized_design_is_not_what_it_promises_where_nothing_is_kept() -> None:
    survey = survey_of([COIN, TWICE])
    assert told(survey)[-1] == f"warning    q2 has a memoized design, but {UNKEPT}"
    board = reading(nothing(survey))
    assert board["doubts"] == [f"q2 has a memoized design, but {UNKEPT}"]
    first, second = (question["design"] for question in board["questions"])
    assert not any("permanent" in sentence for sentence in first)
    assert any("any number" in sentence for sentence in second)  # which is the design's promise, and is taken back:
    assert second[-1] == f"Not valid here: the statements above about several reports, because {UNKEPT}."


def test_a_limit_below_the_number_at_which_the_survey_closes_is_warned_about() -> None:
    survey = survey_of(stop=1000)
    (warning,) = (line for line in told(survey, limit=999) if line.startswith("warning"))
    assert warning == (
        "warning    --limit takes at most 999 responses, and the survey stops at 1,000: it will not close by itself, "
        "and its intervals remain the wider ones"
    )
    for limit in (None, 1000, 1001):
        assert not any(line.startswith("warning") for line in told(survey, limit=limit))


def test_a_survey_that_is_over_promises_nothing_more() -> None:
    (closed,) = told(survey_of(stop=1000), state="closed")
    assert closed == (
        "state      closed with 0 responses, before the 1,000 that its file fixes: the intervals remain those that "
        "hold however often you look"
    )
    late = told(survey_of(closes="2025-12-01T08:00Z"))
    assert late == ["state      closed: 2025-12-01T08:00Z is over, and no more responses are accepted"]
