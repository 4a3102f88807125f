"""Exports of published results: downloads of the dashboard, and tallies from the database of a survey.

JSON has the tallies of all questions, and a field that is true if only any-time intervals hold. CSV and Parquet have
the estimates of one question, with a column that names the kind of interval. HTML is the report page. Results by group
are available after the survey is closed, for the reason given in `dashboard_data`.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.discovery.discoveries import discover
from warner.documents import document
from warner.estimation import estimated
from warner.results import as_csv, as_frame
from warner.service.dashboard_data import PROSPECT_LEVEL, confidence
from warner.service.stores import collected, is_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Counts
    from warner.designs import Design, OpenDomain
    from warner.documents import Document
    from warner.reports.open_tallies import OpenTally
    from warner.reports.tallies import Tally
    from warner.service.stores.contract import Collected
    from warner.service.survey import Question


FORMAT = "warner collected"
VERSION = 1
EXPORT_TYPES = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "html": "text/html; charset=utf-8",
}


class Export(NamedTuple):
    """File name, media type and content of a download."""

    name: str
    kind: str
    content: bytes


def exported(collected: Collected, ending: str, question: str | None = None) -> Export:
    """Return the published responses as a file: json of all questions; csv, parquet or html of one question."""
    if ending not in EXPORT_TYPES:
        raise ValueError(f"format must be one of {', '.join(EXPORT_TYPES)}, but got {ending!r}")
    survey = collected.survey
    if ending == "json":
        return Export(f"{survey.id}-{collected.responses}.json", EXPORT_TYPES[ending], tallies(collected).encode())
    found = survey.question(question)
    tally = collected.open_tally(found.id) if found.open else collected.tally(found.id)
    if not np.any(tally.n):
        raise ValueError(f"question {found.id!r} has no published reports yet")
    content = _page(collected, found.id) if ending == "html" else _table(collected, found.id, ending)
    return Export(f"{survey.id}-{found.id}-{collected.responses}.{ending}", EXPORT_TYPES[ending], content)


def tallies(collected: Collected) -> str:
    """Return the tallies of all questions as JSON, each with the fields of a tally file."""
    survey, closed = collected.survey, collected.state == "closed"
    by = [group.id for group in survey.groups]
    questions = [
        {"id": question.id, "text": question.text}
        | ({"lost": lost} if (lost := survey.lost(question)) else {})
        | _tallies(collected, question, by if closed else [])
        for question in survey.questions
    ]
    head = {"format": FORMAT, "version": VERSION, "id": survey.id, "title": survey.title, "survey": survey.fingerprint}
    return document(
        {**head, "state": collected.state, "responses": collected.responses, "stop": survey.stop}
        | {"anytime": confidence(collected).anytime, "days": collected.days, "questions": questions}
    )


def _tallies(collected: Collected, question: Question, by: list[str]) -> Document:
    if question.open and collected.state != "closed":
        return {}
    counted = collected.open_tally if question.open else collected.tally
    groups = {"groups": counted(question.id, by=by).to_dict()} if by else {}
    numbers = {} if question.open else _numbers(collected, question.id)
    return {"tally": counted(question.id).to_dict(), **groups, **numbers}


def _numbers(collected: Collected, question: str) -> Document:
    """Return the mean and median of a numeric question, with the intervals that the dashboard shows."""
    tally = collected.tally(question)
    numbers = estimated(tally)._mean_and_median(confidence(collected)) if np.any(tally.n) else None
    return {result.name: result.to_dict() for result in numbers or ()}


def table(collected: Collected, question: str) -> dict[str, Counts]:
    """Return the estimates of a question as columns; the last column names the kind of interval."""
    if collected.survey.question(question).open:
        return discover(collected.open_tally(question), level=PROSPECT_LEVEL).table()
    intervals = confidence(collected)
    result = estimated(collected.tally(question))
    columns = result.table(intervals.level, anytime=intervals.anytime)
    return columns | {"interval": np.full(len(columns["value"]), str(intervals), dtype=object)}


def _table(collected: Collected, question: str, ending: str) -> bytes:
    columns = table(collected, question)
    if ending == "csv":
        return as_csv(columns).encode("utf-8", "replace")
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(as_frame(columns, "pyarrow"), buffer)
    return buffer.getvalue()


def _page(collected: Collected, question: str) -> bytes:
    found, anytime = collected.survey.question(question), confidence(collected).anytime
    title, text = collected.survey.title, found.text
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        if found.open:
            discover(collected.open_tally(question), level=PROSPECT_LEVEL).save_page(path, title=title, question=text)
        else:
            result = estimated(collected.tally(question))
            result.save_page(path, title=title, question=text, level=PROSPECT_LEVEL, anytime=anytime)
        return path.read_bytes()


def published_tally(
    place: str, question: str | None = None, *, by: Sequence[str] = (), design: Design | None = None
) -> Tally:
    """Return the published tally of a question by groups of the survey; skipped questions count as missing.

    The database is an SQLite file or a URL of PostgreSQL, even of a running survey; its design must be the given one.
    """
    found, published = _published(place, question, by, design)
    tally = published.tally(found.id, by=by)
    if by and published.state == "open":
        raise ValueError(
            "by must be left out while the survey is open: a small group may have one new member in a step, whose "
            "report the difference would show; close the survey first"
        )
    return tally


def published_reports(
    place: str, question: str | None = None, *, by: Sequence[str] = (), design: OpenDomain | None = None
) -> OpenTally:
    """Return the reports of a free-text question of a closed survey; parameters as in `published_tally`."""
    found, published = _published(place, question, by, design)
    return published.open_tally(found.id, by=by)


def is_open_question(place: str, question: str | None = None) -> bool:
    return _read(place).survey.question(question).open is not None


def _published(
    place: str, question: str | None, by: Sequence[str], design: Design | OpenDomain | None
) -> tuple[Question, Collected]:
    """Return a question and the published state, after checks of the arguments."""
    # A URL may contain a password, so it is never repeated.
    name = "the database" if is_url(place) else place
    published = _read(place)
    found = published.survey.question(question)
    if design is not None and design != found.design:
        raise ValueError(
            f"design must be left out, or be that of question {found.id!r} in {name}, {found.design!r}, but got "
            f"{design!r}"
        )
    if len(set(by)) < len(by):
        raise ValueError(f"by must name each group once, but got {', '.join(by)}")
    if not published.responses:
        raise ValueError(
            f"{name} has 0 published responses: they are published in steps of {published.survey.batch:,}, and when "
            "the survey is closed"
        )
    return found, published


def is_fixed(place: str) -> bool:
    """Return True if a survey closed at the number of responses fixed in its file, so that one-look intervals hold.

    Call this before reading the tally: once it is True, results no longer change.
    """
    return _read(place).fixed


def lost(place: str, question: str | None = None) -> str:
    """Describe the loss by drawing questions, and by counting the options of one; empty if there is none."""
    survey = _read(place).survey
    return survey.lost(survey.question(question))


def _read(place: str) -> Collected:
    """Return the published state, or raise an error if a file is no database of a survey."""
    from warner.service.stores.sqlite import is_database

    if not is_url(place) and not Path(place).exists():
        raise FileNotFoundError(f"there is no file {place}")
    if not is_url(place) and not (Path(place).is_file() and is_database(place)):
        raise ValueError(
            f"{place} is not a database of a survey, which `warner collect` keeps; reports in other files have a "
            "column and a design, and no question"
        )
    return collected(place)
