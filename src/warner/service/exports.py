"""Downloads of the dashboard: published steps only, with the intervals that it shows.

JSON has the tallies of all questions, for a program to go on with, and says whether only any-time intervals hold. CSV
and Parquet have the table of estimates of one question, and a column that names the kind of its intervals; HTML is the
report page. The responses of groups are told apart only when the survey is closed, for the reason that `readings`
gives.

Published tallies of a question, from the database of a survey: what was published of it, and nothing else.
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


# Exports


FORMAT = "warner collected"
VERSION = 1
EXPORT_TYPES = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "html": "text/html; charset=utf-8",
}


class Export(NamedTuple):
    """A file to take away."""

    name: str
    kind: str
    content: bytes


def exported(collected: Collected, ending: str, question: str | None = None) -> Export:
    """Return the published responses as a file: json of all questions; csv, parquet or html of one question.

    Raises
    ------
    ValueError
        If there is no such kind of file or no such question, or if a question has no published reports yet.
    ImportError
        If the library that writes such files is not installed.
    """
    if ending not in EXPORT_TYPES:
        raise ValueError(f"format must be one of {', '.join(EXPORT_TYPES)}, but got {ending!r}")
    survey = collected.survey
    if ending == "json":
        return Export(f"{survey.id}-{collected.responses}.json", EXPORT_TYPES[ending], tallies(collected).encode())
    asked = survey.question(question)
    counted = collected.open_tally(asked.id) if asked.open else collected.tally(asked.id)
    if not int(counted.n):
        raise ValueError(f"question {asked.id!r} has no published reports yet")
    content = _page(collected, asked.id) if ending == "html" else _table(collected, asked.id, ending)
    return Export(f"{survey.id}-{asked.id}-{collected.responses}.{ending}", EXPORT_TYPES[ending], content)


def tallies(collected: Collected) -> str:
    """Write the tallies of all questions as JSON, each as a tally file has it."""
    survey, closed = collected.survey, collected.state == "closed"
    by = [group.id for group in survey.groups]
    questions = [
        {"id": question.id, "text": question.text}
        | (_open_tallies if question.open else _listed_tallies)(collected, question.id, by if closed else [])
        for question in survey.questions
    ]
    head = {"format": FORMAT, "version": VERSION, "id": survey.id, "title": survey.title, "survey": survey.fingerprint}
    return document(
        {**head, "state": collected.state, "responses": collected.responses, "stop": survey.stop}
        | {"anytime": confidence(collected).anytime, "days": collected.days, "questions": questions}
    )


def _open_tallies(collected: Collected, question: str, by: list[str]) -> Document:
    """Return the reports of a free-text question after the survey is closed."""
    if collected.state != "closed":
        return {}
    groups = {"groups": collected.open_tally(question, by=by).to_dict()} if by else {}
    return {"tally": collected.open_tally(question).to_dict(), **groups}


def _listed_tallies(collected: Collected, question: str, by: list[str]) -> Document:
    groups = {"groups": collected.tally(question, by=by).to_dict()} if by else {}
    return {"tally": collected.tally(question).to_dict(), **groups, **_numbers(collected, question)}


def _numbers(collected: Collected, question: str) -> Document:
    """Return the mean and median of a numeric question, with the intervals that the dashboard shows."""
    tally = collected.tally(question)
    numbers = estimated(tally)._mean_and_median(confidence(collected)) if tally.n else None
    return {result.name: result.to_dict() for result in numbers or ()}


def table(collected: Collected, question: str) -> dict[str, Counts]:
    """Return the estimates of a question as columns; the last column names the kind of interval."""
    if collected.survey.question(question).open:
        return discover(collected.open_tally(question), level=PROSPECT_LEVEL).table()
    wanted = confidence(collected)
    result = estimated(collected.tally(question))
    columns = result.table(wanted.level, anytime=wanted.anytime)
    return columns | {"interval": np.full(len(columns["value"]), str(wanted), dtype=object)}


def _table(collected: Collected, question: str, ending: str) -> bytes:
    columns = table(collected, question)
    if ending == "csv":
        return as_csv(columns).encode("utf-8", "replace")
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(as_frame(columns, "pyarrow"), buffer)
    return buffer.getvalue()


def _page(collected: Collected, question: str) -> bytes:
    asked, anytime = collected.survey.question(question), confidence(collected).anytime
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        if asked.open:
            found = discover(collected.open_tally(question), level=PROSPECT_LEVEL)
            found.save_page(path, title=collected.survey.title, question=asked.text)
            return path.read_bytes()
        result = estimated(collected.tally(question))
        result.save_page(path, title=collected.survey.title, question=asked.text, level=PROSPECT_LEVEL, anytime=anytime)
        return path.read_bytes()


# Published


def published_tally(
    place: str, question: str | None = None, *, by: Sequence[str] = (), design: Design | None = None
) -> Tally:
    """Return the published tally of a question; skipped questions count as missing.

    Parameters
    ----------
    place : str
        The SQLite file that `warner collect` keeps, or the URL of a PostgreSQL database. A survey may be running on it.
    question : str, optional
        The id of the question; may be left out where the survey asks only one.
    by : sequence of str
        Groups of the survey to count apart.
    design : Design, optional
        What the answers are thought to have gone through: anything but the design in the database is refused.
    """
    found, asked = _asked(place, question, by, design)
    counted = found.tally(asked.id, by=by)
    if by and found.state == "open":
        raise ValueError(
            "by must be left out while the survey is open: a small group may have one new member in a step, whose "
            "report the difference would show; close the survey first"
        )
    return counted


def published_reports(
    place: str, question: str | None = None, *, by: Sequence[str] = (), design: OpenDomain | None = None
) -> OpenTally:
    """Return the reports of a free-text question of a closed survey.

    Parameters are those of `published_tally`.
    """
    found, asked = _asked(place, question, by, design)
    return found.open_tally(asked.id, by=by)


def is_open_question(place: str, question: str | None = None) -> bool:
    """Return whether a question of a survey has free-text answers."""
    _refuse_foreign(place)
    return collected(place).survey.question(question).open is not None


def _asked(
    place: str, question: str | None, by: Sequence[str], design: Design | OpenDomain | None
) -> tuple[Collected, Question]:
    """Read what was published, and refuse what cannot be asked of it."""
    # A URL may hold a password, and is never repeated.
    name = "the database" if is_url(place) else place
    _refuse_foreign(place)
    found = collected(place)
    asked = found.survey.question(question)
    if design is not None and design != asked.design:
        raise ValueError(
            f"design must be left out, or be that of question {asked.id!r} in {name}, {asked.design!r}, but got "
            f"{design!r}"
        )
    if len(set(by)) < len(by):
        raise ValueError(f"by must name each group once, but got {', '.join(by)}")
    if not found.responses:
        raise ValueError(
            f"{name} has 0 published responses: they are published in steps of {found.survey.batch:,}, and when the "
            "survey is closed"
        )
    return found, asked


def is_fixed(place: str) -> bool:
    """Return whether a survey closed at the number of responses fixed in its file, so that nobody chose when to stop.

    Ask this before the tally is read. Once it is so, nothing changes any more; until then, intervals must hold however
    often somebody looks.
    """
    _refuse_foreign(place)
    return collected(place).fixed


def _refuse_foreign(place: str) -> None:
    """Refuse a file that no survey was collected in."""
    from warner.service.stores.sqlite import is_database

    if is_url(place):
        return
    if not Path(place).exists():
        raise FileNotFoundError(f"there is no file {place}")
    if not Path(place).is_file() or not is_database(place):
        raise ValueError(
            f"{place} is not a database of a survey, which `warner collect` keeps; reports in other files have a "
            "column and a design, and no question"
        )
