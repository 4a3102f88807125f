"""Privacy notice of a survey, filled in, in the languages of the page.

The texts are in `notices.json`: for each language the sections, whose paragraphs have a condition. A paragraph with the
condition "odds", "bound" or "no bound" is repeated for each question. Words in brackets are left to the operator.
"""

from __future__ import annotations

import json
import re
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warner.designs.facts import full_symmetry
from warner.output.pages import whole_page
from warner.service.pages import page_words
from warner.text import certainty, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.service.survey import Question, Survey

PLACEHOLDER = re.compile(r"\{(\w+)\}")
RIGHT_TO_LEFT = ("ar",)
UNBOUNDED_EPSILON = 700.0  # larger ones have factors beyond floating-point numbers
TYPED_ANSWERS = 12  # the page has a field to type in for more numbers than this


@cache
def _texts() -> dict[str, Any]:
    texts: dict[str, Any] = json.loads(Path(__file__).with_name("notices.json").read_text(encoding="utf-8"))
    return texts


def privacy_notice(survey: Survey, *, form: str = "html") -> str:
    """Return the privacy notice of a survey in its language, as a page or in Markdown."""
    language = survey.language.split("-")[0].lower()
    texts = _texts()
    if language not in texts:
        known = ", ".join(name for name in texts if "-" not in name)
        raise ValueError(
            f"language must be one of {known} for a notice, but the survey has {survey.language!r}; write the notice "
            "of a copy of the survey in one of these languages, and translate it"
        )
    words = texts.get(f"{language}-informal", texts[language]) if survey.address == "informal" else texts[language]
    sections = [(heading, list(_paragraphs(survey, entries))) for heading, entries in words["sections"]]
    if form == "md":
        parts = [f"# {words['title']}", *(f"## {heading}\n\n" + "\n\n".join(lines) for heading, lines in sections)]
        return "\n\n".join(parts)
    body = [f"<h1>{escape(words['title'])}</h1>"]
    body += [
        f"<h2>{escape(heading)}</h2>" + "".join(f"<p>{escape(line)}</p>" for line in lines)
        for heading, lines in sections
    ]
    direction = "rtl" if language in RIGHT_TO_LEFT else "ltr"
    return whole_page(f"{words['title']}: {survey.title}", body, language=survey.language, direction=direction)


def _paragraphs(survey: Survey, entries: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the paragraphs of a section whose conditions hold, with the numbers of the survey."""
    conditions = _conditions(survey)
    values = {
        "title": survey.title,
        "batch": f"{survey.batch:,}",
        "groups": ", ".join(group.text for group in survey.groups),
        "epsilon": survey.shown_epsilon,
        "together": certainty(survey.epsilon, 0.5),
        "fingerprint": survey.fingerprint,
        "asked": f"{survey.ask}",
        "total": f"{len(survey.questions)}",
    }
    for condition, text in entries:
        if condition in QUESTION_VALUES:
            for question in survey.questions:
                known = QUESTION_VALUES[condition](question, survey)
                if known is not None:
                    yield _filled(text, known)
        elif not condition or conditions[condition]:
            yield _filled(text, values)


def _conditions(survey: Survey) -> dict[str, bool]:
    questions = survey.questions
    listed = [question for question in questions if not question.open and question.mode == "device"]
    several = [question.several.at_most for question in questions if question.several]
    return {
        "device": any(question.mode != "person" for question in questions),
        "ask": survey.ask is not None,
        "options": None in several,
        "ticks": any(several),
        "person": any(question.mode == "person" for question in questions),
        "numbers": any(question.listed.ordered and question.listed.k > TYPED_ANSWERS for question in listed),
        "open": any(question.open is not None for question in questions),
        "groups": bool(survey.groups),
        "optional": any(question.optional for question in questions),
        "invited": survey.invited,
        "uninvited": not survey.invited,
        "together": survey.epsilon < UNBOUNDED_EPSILON,
    }


def _odds(question: Question, survey: Survey) -> dict[str, str] | None:
    """Return how many of 100 respondents send the sensitive answer; None unless the design is symmetric."""
    if question.open or question.mode == "person" or not question.estimated_design.law.exclusive:
        return None
    if question.several:
        p, q = question.estimated_design.as_channel().channel()[:, 0]
    elif (symmetry := full_symmetry(question.listed.law)) is not None:
        p, q = symmetry.p, symmetry.q
    else:
        return None
    return _named(question, survey) | {"hits": f"{float(100 * p):.0f}", "others": f"{float(100 * q):.0f}"}


def _bound(question: Question, survey: Survey) -> dict[str, str] | None:
    if question.open or (epsilon := question.design.epsilon) >= UNBOUNDED_EPSILON:
        return None
    return _named(question, survey) | {"half": certainty(epsilon, 0.5), "tenth": certainty(epsilon, 0.1)}


def _no_bound(question: Question, survey: Survey) -> dict[str, str] | None:
    return _named(question, survey) if question.design.epsilon >= UNBOUNDED_EPSILON else None


def _named(question: Question, survey: Survey) -> dict[str, str]:
    answer = question.sensitive_answer
    if question.drawn < len(question.items):  # which is asked about one option
        return {"question": f"{question.text} {question.shown(str(answer))}", "answer": page_words(survey)["yes"]}
    text = str(answer) if answer is None or question.mode == "person" else question.shown(answer)
    return {"question": " ".join(question.text.split()), "answer": text}


QUESTION_VALUES = {"odds": _odds, "bound": _bound, "no bound": _no_bound}


def _filled(text: str, values: dict[str, str]) -> str:
    return PLACEHOLDER.sub(lambda match: printable(values[match[1]]), text)
