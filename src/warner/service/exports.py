"""Downloads of the dashboard: published steps only, with the intervals that it shows.

JSON has the tallies of all questions, for a program to go on with, and says whether only any-time intervals hold. CSV
and Parquet have the table of estimates of one question, and a column that names the kind of its intervals; HTML is the
report page. The responses of groups are told apart only when the survey is closed, for the reason that `readings`
gives.
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
from warner.service.dashboard_data import confidence
from warner.service.expected_precision import PROSPECT_LEVEL

if TYPE_CHECKING:
    from warner.arrays import Counts
    from warner.documents import Document
    from warner.service.stores.contract import Collected

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
    """Give what was published as a file of this kind: json of all questions, csv, parquet or html of one.

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
    """Give the reports to a question that is answered in people's own words, once the survey is closed."""
    if collected.state != "closed":
        return {}
    groups = {"groups": collected.open_tally(question, by=by).to_dict()} if by else {}
    return {"tally": collected.open_tally(question).to_dict(), **groups}


def _listed_tallies(collected: Collected, question: str, by: list[str]) -> Document:
    groups = {"groups": collected.tally(question, by=by).to_dict()} if by else {}
    return {"tally": collected.tally(question).to_dict(), **groups, **_numbers(collected, question)}


def _numbers(collected: Collected, question: str) -> Document:
    """Give the mean and the median of a question that is answered by numbers, with the intervals that are shown."""
    tally = collected.tally(question)
    numbers = estimated(tally).mean_and_median(confidence(collected)) if tally.n else None
    return {result.name: result.to_dict() for result in numbers or ()}


def table(collected: Collected, question: str) -> dict[str, Counts]:
    """Give the estimates of a question as columns, the last of which names the kind of the intervals."""
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
