"""Published tallies of a question, from the database of a survey: what was published of it, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from warner.service.stores import collected, is_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.designs import Design, OpenDomain
    from warner.reports.open_tallies import OpenTally
    from warner.reports.tallies import Tally
    from warner.service.stores.contract import Collected
    from warner.service.survey import Question


def published_tally(
    place: str, question: str | None = None, *, by: Sequence[str] = (), design: Design | None = None
) -> Tally:
    """Give the published tally of a question; whoever skipped it is missing.

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
    """Give the reports to a question that people answered in their own words, of a survey that is closed.

    Parameters are those of `published_tally`.
    """
    found, asked = _asked(place, question, by, design)
    return found.open_tally(asked.id, by=by)


def is_open_question(place: str, question: str | None = None) -> bool:
    """Tell whether people answer a question of a survey in their own words."""
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
    """Tell whether a survey is closed at the number of responses that its file fixes: nobody chose when to stop.

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
