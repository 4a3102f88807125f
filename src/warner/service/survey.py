"""Survey files: questions with their designs, groups, and who may answer; and the counters of each question.

A file is read strictly: unknown, missing and repeated fields are errors. The fingerprint is the SHA-256 of the document
in canonical form. It is on the page, in every response, in the database and in all exports, so that two versions of a
survey are never mixed.

If each report names one answer, there is a counter for each possible report. If a report supports several answers, the
counters are those of a tally: the histogram of report types if all counts follow from it; otherwise the support of each
answer, together with the histogram or the number of reports. One more counter is for respondents who skipped an
optional question, or were not asked. Reports to free-text questions are kept one by one (`stores`).
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.designs import OPEN, Design, OpenDomain, SelectAll, device_from_dict, load_design
from warner.designs.exact import double_not_below, log_ratio, shown_up
from warner.designs.labels import LARGEST_JSON_INTEGER, first_and_last
from warner.documents import Document, check_format, document, loaded, parsed, refuse_other_fields, resolved, save_text
from warner.reports.counts import OPTION
from warner.reports.open_tallies import FOUND
from warner.reports.tallies import RESULTS, Tally
from warner.text import shortened

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from warner.arrays import Counts, Integers, Label
    from warner.designs.labels import Labels
    from warner.reports.tallies import Group as GroupOfReports


# Counters


SKIPPED = -1  # in place of the report to a skipped question


class Layout:
    """Counters of one question, in their order, for one joint group.

    >>> from warner import RandomizedResponse, UnaryEncoding
    >>> Layout(RandomizedResponse(["never", "once", "often"], odds=(3, 1)), optional=True).width
    4
    >>> bits = Layout(UnaryEncoding(["a", "b", "c"], odds=(3, 1)), optional=False)
    >>> bits.width  # support of three answers, and sets of 0, 1, 2 and 3 answers
    7
    >>> bits.of_report(np.array([0b10100000], dtype=np.uint8))  # a and c, a set of two
    (0, 2, 5)
    """

    def __init__(self, design: Design, optional: bool) -> None:
        self.design, self.optional = design, optional
        types = design.law.types
        self._types = 0 if types is None else len(types)
        # Counters of answers: none if they follow from the counters of report types
        follows = types is not None and types.support(np.zeros(len(types), dtype=np.int64)) is not None
        self._columns = 0 if follows else len(design.law.columns)
        # A counter of reports, if no other counters add up to their number
        self._number = int(not design.law.exclusive and not self._types)
        self.width = self._columns + self._types + self._number + optional
        self._cache: dict[int, tuple[int, ...]] = {}

    def of_report(self, report: Counts | int) -> tuple[int, ...]:
        """Return the indices of the counters that an encoded report increments; `SKIPPED` for a skipped question."""
        if not isinstance(report, int):
            return self._counters(report)
        if report not in self._cache:  # codes of labels, of which there are few
            self._cache[report] = (self.width - 1,) if report == SKIPPED else self._counters(np.array(report))
        return self._cache[report]

    def _counters(self, report: Counts) -> tuple[int, ...]:
        sums = self.design.law.count(report[np.newaxis])
        indices: list[int] = np.flatnonzero(sums.counts).tolist() if self._columns else []
        if sums.histogram is not None:
            indices += (self._columns + np.flatnonzero(sums.histogram)).tolist()
        return (*indices, *([self._columns] if self._number else []))

    def responses(self, cells: Counts) -> Integers:
        """Return the number of respondents behind counters of shape (..., width), skipped questions included."""
        skipped = cells[..., -1] if self.optional else 0
        if self.design.law.exclusive:
            reports = cells[..., : self._columns].sum(axis=-1)
        else:
            counted = cells[..., self._columns : self._columns + self._types + self._number]
            reports = counted.sum(axis=-1)
        return np.asarray(reports + skipped)

    def tally(self, cells: Counts, by: tuple[str, ...] = (), groups: tuple[GroupOfReports, ...] = ()) -> Tally:
        """Return the tally of counters of shape (width,) or (groups, width)."""
        end = self._columns + self._types
        missing = cells[..., -1] if self.optional else np.zeros(cells.shape[:-1], dtype=np.int64)
        return Tally(
            self.design,
            cells[..., : self._columns] if self._columns else None,
            n=None if self.design.law.exclusive or self._types else cells[..., end],
            histogram=cells[..., self._columns : end] if self._types else None,
            missing=missing if by else int(missing),
            by=by,
            groups=groups,
        )


@dataclass(frozen=True)
class OpenLayout:
    """Counters of a free-text question for one joint group: reports and skipped questions.

    >>> OpenLayout(optional=True).width
    2
    """

    optional: bool

    @property
    def width(self) -> int:
        return 1 + self.optional

    def of_report(self, report: Counts | int) -> tuple[int, ...]:
        """Return the index of the counter that a report increments; `SKIPPED` for a skipped question."""
        return (int(isinstance(report, int) and report == SKIPPED),)

    def responses(self, cells: Counts) -> Integers:
        """Return the number of respondents behind counters of shape (..., width), skipped questions included."""
        return np.asarray(cells.sum(axis=-1))


# Survey


FORMAT = "warner survey"
VERSION = 1
SURVEY_TEXTS = ("title", "intro", "consent", "thanks")
SURVEY_FIELDS = ("id", "title", "language", *SURVEY_TEXTS[1:], "keep", "batch", "access", "groups", "questions")
OPTIONAL_FIELDS = ("stop", "opens", "closes", "address", "ask")
# The values of fields that were left out; the fingerprint has them, and the page fills them in alike (page.js).
SURVEY_DEFAULTS: Document = {
    "language": "en",
    "intro": "",
    "consent": "",
    "thanks": "",
    "keep": "counts",
    "batch": 10,
    "access": "open",
    "groups": [],
}
QUESTION_DEFAULTS: Document = {"mode": "device"}
MODES = ("device", "person", "several")
ACCESSES = ("open", "invited")
ADDRESSES = ("formal", "informal")
INFORMAL_LANGUAGES = ("de",)  # languages in which the page has both forms of address
LEAST_BATCH = 2  # a step of one response would show what this respondent sent
MOST_BATCH = 1_000_000
MOST_COUNTERS = 100_000  # all of them are made at the start
MOST_QUESTIONS = 200
IDENTIFIER = re.compile(r"[a-z0-9-]{1,64}")
LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
MOMENT_WITH_ZONE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)", re.ASCII)


@dataclass(frozen=True)
class Group:
    """Group variable, asked without randomization."""

    id: str
    text: str
    values: tuple[str, ...]

    def to_dict(self) -> Document:
        return {"id": self.id, "text": self.text, "values": list(self.values)}


@dataclass(frozen=True)
class Question:
    """Question with its design.

    In mode "device" the browser randomizes; in mode "several", it randomizes which of several options apply. In mode
    "person" the respondent randomizes, and enters the report.
    """

    id: str
    text: str
    mode: str
    design: Design | OpenDomain | SelectAll  # an open domain is for free-text answers
    help: str | None = None
    labels: Mapping[str, str] | None = None  # on the buttons of the choices; None for the labels of the design
    optional: bool = False  # True if the question may be skipped, which is sent without randomization
    sensitive: str | None = None  # answer with which the privacy is explained, as text

    @property
    def sensitive_answer(self) -> Label | None:
        """The answer with which page, notice and report explain the privacy; None if answers are in respondents' words.

        It is the one that the file names, otherwise the first of two answers and the last of more.
        """
        if self.open:
            return None
        domain = self.answers
        named = next((answer for answer in domain if str(answer) == self.sensitive), None) if self.sensitive else None
        return named if named is not None else domain[0 if len(domain) == 2 else -1]

    @property
    def listed(self) -> Design:
        """Design of a question with a list of answers; an error for free-text questions."""
        if isinstance(self.design, OpenDomain):
            raise ValueError(
                f"question {self.id!r} has free-text answers, and no list of them; find its frequent values with "
                "warner discover, once the survey is closed"
            )
        if isinstance(self.design, SelectAll):
            raise ValueError(
                f"question {self.id!r} has several answers, each with an estimate of its own; name one of its options: "
                f"{first_and_last(self.design.questions)}"
            )
        return self.design

    @property
    def open(self) -> OpenDomain | None:
        """Design of a free-text question; None for other questions."""
        return self.design if isinstance(self.design, OpenDomain) else None

    @property
    def several(self) -> SelectAll | None:
        """Design of a question of which several options can apply; None for other questions."""
        return self.design if isinstance(self.design, SelectAll) else None

    @property
    def answers(self) -> Labels:
        """Possible answers; the options, of which several can apply."""
        return self.several.questions if self.several else self.listed.domain

    @property
    def drawn(self) -> int:
        """Number of reports to the question, if it is asked: more than one for several options."""
        return self.several.asked if self.several else 1

    @property
    def items(self) -> tuple[Item, ...]:
        """Items with a report each: the question, or its options, some of which are drawn."""
        if not isinstance(self.design, SelectAll):
            return (Item(self, self.design),)
        if self.design.device is not None:
            return (Item(self, self.design.device),)
        return tuple(Item(self, design, option) for option, design in self.design.designs.items())

    @property
    def estimated_design(self) -> Design:
        """Design of the reports from which shares are estimated: of yes and no for each of several options."""
        return self.several.parts[0] if self.several else self.listed

    @property
    def choices(self) -> Labels:
        """Choices that the respondent sees: the answers or, if the respondent randomizes, the reports."""
        return self.listed.law.columns if self.mode == "person" else self.answers

    def shown(self, choice: Label) -> str:
        return str(choice) if self.labels is None else self.labels[str(choice)]

    def to_dict(self) -> Document:
        names = ("id", "text", "help", "mode", "labels", "optional", "sensitive")
        fields = {name: getattr(self, name) for name in names if name != "optional" or self.optional}
        return {name: value for name, value in fields.items() if value is not None} | {"design": self.design.to_dict()}


class Item(NamedTuple):
    """Question, or option of a question, that has a report of its own."""

    question: Question
    design: Design | OpenDomain
    option: str | None = None


@dataclass(frozen=True)
class Survey:
    """Survey: questions with their designs, groups, and the texts of the page."""

    id: str  # in addresses: lower-case letters, digits and hyphens
    title: str
    language: str
    intro: str
    consent: str
    thanks: str
    keep: str
    batch: int  # least number of responses in a step of publication
    access: str  # "open", or "invited" for holders of an unused invitation
    groups: tuple[Group, ...]
    questions: tuple[Question, ...]
    # Responses at which the survey closes automatically; intervals for one look are valid at this number, because it is
    # fixed before the first response
    stop: int | None = None
    opens: str | None = None  # responses are accepted from here, in ISO 8601 with the offset from UTC
    closes: str | None = None  # to here
    address: str | None = None  # "formal", also if None, or "informal", in languages that have both
    ask: int | None = None  # questions that the browser draws for each respondent; None to ask all of them

    def early(self, moment: datetime) -> bool:
        return self.opens is not None and moment < datetime.fromisoformat(self.opens)

    def over(self, moment: datetime) -> bool:
        return self.closes is not None and moment >= datetime.fromisoformat(self.closes)

    @property
    def invited(self) -> bool:
        return self.access == "invited"

    @property
    def strata(self) -> int:
        """Number of joint groups; 1 without groups."""
        return math.prod(len(group.values) for group in self.groups)

    def question(self, name: str | None) -> Question:
        """Return the question with this id; the only question if the id is None."""
        known = ", ".join(repr(question.id) for question in self.questions)
        if name is None:
            if len(self.questions) > 1:
                raise ValueError(f"question must be given, one of {known}: the survey asks several")
            return self.questions[0]
        for question in self.questions:
            if question.id == name:
                return question
        raise ValueError(f"question must be one of {known}, but got {name!r}")

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """Items with a report each, in the order of the reports in a response."""
        return tuple(item for question in self.questions for item in question.items)

    @cached_property
    def layouts(self) -> tuple[Layout | OpenLayout, ...]:
        """Counters of each item, for one joint group."""
        return tuple(
            OpenLayout(blank) if isinstance(design, OpenDomain) else Layout(design, blank)
            for question, design, option in self.items
            for blank in [question.optional or self.ask is not None or option is not None]
        )

    @cached_property
    def open_questions(self) -> tuple[int, ...]:
        """Indices of the items that are free-text questions."""
        return tuple(index for index, item in enumerate(self.items) if item.question.open)

    def chance(self, question: Question) -> Fraction:
        """Probability that a respondent is asked a question or, of several options, each of them."""
        of_options = Fraction(question.drawn, len(question.items))
        return of_options if self.ask is None else of_options * Fraction(self.ask, len(self.questions))

    def lost(self, question: Question | None = None) -> str:
        """Describe the loss by drawing questions, and by counting the options of one; empty if there is none."""
        drawn = (
            f"Each respondent is asked {self.ask} of {len(self.questions)} questions, drawn at random by the browser. "
            "Joint distributions of several questions are lost."
        )
        options = "Options are counted one by one: joint distributions are lost, and options are no independent groups."
        return " ".join([drawn] * (self.ask is not None) + [options] * bool(question and question.several))

    @cached_property
    def epsilon(self) -> float:
        """Privacy loss of all reports of one respondent, rounded up: the sum of the largest `ask` of the questions.

        Which questions are drawn is independent of all answers, so that their number is all that counts.
        """
        return double_not_below(self._spent)

    @cached_property
    def _spent(self) -> Decimal:
        of_questions = sorted((log_ratio(*question.design.ratio) for question in self.questions), reverse=True)
        return sum(of_questions[: self.ask], Decimal(0))

    @property
    def shown_epsilon(self) -> str:
        """Epsilon as it is shown everywhere: in four digits, rounded up."""
        return shown_up(self._spent, 4)

    def to_dict(self) -> Document:
        fields: Document = {name: getattr(self, name) for name in SURVEY_FIELDS[:-2]}
        fields |= {name: getattr(self, name) for name in OPTIONAL_FIELDS if getattr(self, name) is not None}
        groups = [group.to_dict() for group in self.groups]
        questions = [question.to_dict() for question in self.questions]
        return {"format": FORMAT, "version": VERSION, **fields, "groups": groups, "questions": questions}

    def to_json(self) -> str:
        return document(self.to_dict())

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the document in canonical form, in hexadecimal."""
        spelled = json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(spelled.encode()).hexdigest()

    def save(self, path: str | os.PathLike[str]) -> None:
        save_text(path, self.to_json())


def load_survey(path: str | os.PathLike[str]) -> Survey:
    """Read a survey file before its collection; it may name the file of a design in the same folder."""
    folder = resolved(path).parent

    def read(text: str) -> Survey:
        survey = survey_from_json(text, folder)
        # Surveys that were collected with other values can still be read.
        check_batch(survey.batch)
        if clash := (RESULTS | FOUND | {OPTION}) & {group.id for group in survey.groups}:
            raise ValueError(
                f"the id of a group must not be {min(clash)!r}, which is a column of every result; give it another"
            )
        return survey

    return loaded(path, read)


def check_batch(batch: int) -> None:
    """Raise an error for steps that would show what one respondent sent, or that never come."""
    if not LEAST_BATCH <= batch <= MOST_BATCH:
        raise ValueError(
            f"batch must be a whole number from {LEAST_BATCH} to {MOST_BATCH:,}, but got {batch:,}: a step of one "
            "response shows what one respondent sent, and nothing is published before this number of respondents has "
            "answered; 10 is a good choice"
        )


def survey_from_json(text: str, folder: Path | None = None) -> Survey:
    """Read the text of a survey file; the files of its designs are in this folder."""
    fields = parsed(text, FORMAT, picture=True)
    check_format(fields, FORMAT, VERSION)
    fields = SURVEY_DEFAULTS | fields
    refuse_other_fields("this survey", fields, {"format", "version", *SURVEY_FIELDS}, OPTIONAL_FIELDS)
    texts: Document = {name: _text(fields[name], name) for name in SURVEY_TEXTS}
    if not texts["title"].strip():
        raise ValueError("title must not be empty: it is the heading of the page")
    _check_settings(fields)
    groups = tuple(_group(group, i) for i, group in enumerate(_list(fields["groups"], "groups")))
    entries = _list(fields["questions"], "questions")
    if not 1 <= len(entries) <= MOST_QUESTIONS:
        raise ValueError(f"questions must be a list of 1 to {MOST_QUESTIONS}, but got {len(entries)}")
    questions = tuple(_question(question, i, folder) for i, question in enumerate(entries))
    for what, parts in (("groups", groups), ("questions", questions)):
        names = [part.id for part in parts]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"the ids of {what} must be distinct, but {_got(repeated[0])} occurs twice")
    rest = ("language", "keep", "batch", "access", *(name for name in OPTIONAL_FIELDS if name in fields))
    settings: Document = {name: fields[name] for name in rest}
    survey = Survey(id=_name(fields["id"], "id"), groups=groups, questions=questions, **texts, **settings)
    cells = survey.strata * sum(layout.width for layout in survey.layouts)
    if cells > MOST_COUNTERS:
        raise ValueError(
            f"a survey must have at most {MOST_COUNTERS:,} counters (answers, times joint groups), but this one has "
            f"{cells:,}; ask for fewer groups, or merge answers"
        )
    return survey


def _check_settings(fields: Document) -> None:
    if not isinstance(fields["language"], str) or not LANGUAGE_TAG.fullmatch(fields["language"]):
        raise ValueError(f'language must be a language tag such as "en" or "pt-BR", but got {_got(fields["language"])}')
    if fields["keep"] != "counts":
        raise ValueError(f'keep must be "counts": version 1 keeps nothing else, but got {_got(fields["keep"])}')
    if type(fields["batch"]) is not int or not 1 <= fields["batch"] <= LARGEST_JSON_INTEGER:
        raise ValueError(f"batch must be a whole number of at least {LEAST_BATCH}, but got {_got(fields['batch'])}")
    if fields["access"] not in ACCESSES:
        raise ValueError(f'access must be "open" or "invited", but got {_got(fields["access"])}')
    if "stop" in fields and (
        type(fields["stop"]) is not int or not fields["batch"] <= fields["stop"] <= LARGEST_JSON_INTEGER
    ):
        raise ValueError(
            f"stop must be a whole number of responses, at least as many as batch ({fields['batch']:,}) and below "
            f"2^53, but got {_got(fields['stop'])}; leave it out to close the survey by hand"
        )
    times = [_moment(fields[name], name) for name in ("opens", "closes") if name in fields]
    if times != sorted(set(times)):
        raise ValueError(f"closes must come after opens ({fields['opens']}), but got {fields['closes']}")
    if "address" in fields and fields["address"] not in ADDRESSES:
        raise ValueError(f'address must be "formal" or "informal", but got {_got(fields["address"])}')
    if "address" in fields and fields["language"].split("-")[0].lower() not in INFORMAL_LANGUAGES:
        raise ValueError(
            f"address must be left out unless language is one of {', '.join(INFORMAL_LANGUAGES)}, but it is "
            f"{_got(fields['language'])}: the page's own words have one form of address there"
        )
    number = len(fields["questions"]) if isinstance(fields["questions"], list) else 0
    if "ask" in fields and not (type(fields["ask"]) is int and 1 <= fields["ask"] < number):
        raise ValueError(
            f"ask must be a whole number of questions, at least 1 and below the number of all ({number}), but got "
            f"{_got(fields['ask'])}; leave it out to ask each respondent all questions"
        )


def _moment(value: Any, what: str) -> datetime:
    try:
        return datetime.fromisoformat(value if MOMENT_WITH_ZONE.fullmatch(value) else "")
    except (ValueError, TypeError):
        raise ValueError(
            f"{what} must be a time with its offset from UTC, such as 2026-12-01T08:00+01:00, but got {_got(value)}"
        ) from None


def _group(fields: Any, index: int) -> Group:
    where = f"group {index + 1}"
    _fields(fields, where, {"id", "text", "values"})
    values = [_text(value, f"values of {where}") for value in _list(fields["values"], f"values of {where}")]
    if len(values) < 2 or len(set(values)) < len(values) or not all(value.strip() for value in values):
        raise ValueError(f"values of {where} must be at least two distinct texts that are not empty")
    return Group(_name(fields["id"], f"id of {where}"), _text(fields["text"], f"text of {where}"), tuple(values))


def _question(fields: Any, index: int, folder: Path | None) -> Question:
    where = f"question {index + 1}"
    fields = QUESTION_DEFAULTS | fields if isinstance(fields, dict) else fields
    _fields(fields, where, {"id", "text", "mode", "design"}, {"help", "labels", "optional", "sensitive"})
    if fields["mode"] not in MODES:
        raise ValueError(f'mode of {where} must be "device", "person" or "several", but got {_got(fields["mode"])}')
    if not isinstance(fields.get("optional", False), bool):
        raise ValueError(f"optional of {where} must be true or false, but got {_got(fields['optional'])}")
    text = _text(fields["text"], f"text of {where}")
    if not text.strip():
        raise ValueError(f"text of {where} must not be empty")
    question = Question(
        id=_name(fields["id"], f"id of {where}"),
        text=text,
        mode=fields["mode"],
        design=_design(fields["design"], where, folder),
        help=_text(fields["help"], f"help of {where}") if "help" in fields else None,
        labels=fields.get("labels"),
        optional=fields.get("optional", False),
        sensitive=_text(fields["sensitive"], f"sensitive of {where}") if "sensitive" in fields else None,
    )
    _check_choices(question, where)
    return question


def _design(field: Any, where: str, folder: Path | None) -> Design | OpenDomain | SelectAll:
    if isinstance(field, str) and folder is None:
        raise ValueError(f"design of {where} must be in the survey itself, but {_got(field)} is the name of a file")
    try:
        design: Any = load_design(folder / field) if folder and isinstance(field, str) else device_from_dict(field)
    except (ValueError, OSError) as error:
        raise ValueError(f"design of {where}: {error}") from None
    if design.mechanism == "split questionnaire":
        raise ValueError(
            f"design of {where} must be the design of one question, but a split questionnaire has several: write a "
            'question for each of its designs, and "ask", their number, in the survey'
        )
    if design.mechanism in OPEN and not isinstance(design, OpenDomain):
        raise ValueError(
            f"design of {where} must randomize answers, but a {design.mechanism} only reads reports; give its source, "
            "the open domain"
        )
    return design  # type: ignore[no-any-return]


def _check_choices(question: Question, where: str) -> None:
    if (question.mode == "several") != (question.several is not None):
        raise ValueError(
            f'mode of {where} must be "several" for a design of warner design select-all, and only for it, but got '
            f"{question.mode!r} and a {question.design.mechanism}"
        )
    if question.open:
        if question.mode != "device":
            raise ValueError(f'mode of {where} must be "device": a text cannot be hashed by hand')
        if question.labels is not None:
            raise ValueError(f"labels of {where} must be left out: its answers are free text")
        if question.sensitive is not None:
            raise ValueError(f"sensitive of {where} must be left out: there is no list of answers")
        return
    answers = question.answers
    if question.sensitive is not None and question.sensitive not in map(str, answers):
        raise ValueError(
            f"sensitive of {where} must be one of the answers, {first_and_last(answers)}, but got "
            f"{_got(question.sensitive)}"
        )
    reports = (label for item in question.items for label in item.design.law.columns)  # type: ignore[union-attr]
    labels = (*answers, *reports) if len(answers) <= MOST_COUNTERS else ()
    if any(isinstance(label, int) and abs(label) > LARGEST_JSON_INTEGER for label in labels):
        raise ValueError(f"labels of {where} must be whole numbers below 2^53, or strings: JavaScript rounds others")
    if any(isinstance(label, str) and not _encodable(label) for label in labels):
        raise ValueError(f"labels of {where} must be texts that UTF-8 can hold, without half characters")
    if question.mode == "person" and not getattr(question.listed.report_form, "of_answers", False):
        raise ValueError(
            f'mode of {where} must be "device": reports under a {question.design.mechanism} are sets, not made by hand'
        )
    if question.labels is None:
        return
    if not isinstance(question.labels, dict) or question.labels.keys() != set(map(str, question.choices)):
        raise ValueError(f"labels of {where} must have a text for each choice: {first_and_last(question.choices)}")
    for text in question.labels.values():
        if not _text(text, f"labels of {where}").strip():
            raise ValueError(f"labels of {where} must not be empty")
    if len(set(question.labels.values())) < len(question.labels):
        raise ValueError(f"labels of {where} must be distinct texts")


def _fields(fields: Any, where: str, names: set[str], optional: Collection[str] = ()) -> None:
    if not isinstance(fields, dict):
        raise ValueError(f"{where} must be an object with the fields {sorted(names)}")
    refuse_other_fields(where, fields, names, optional)


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{what} must be a list, but got {type(value).__name__}")
    return value


def _name(value: Any, what: str) -> str:
    if not isinstance(value, str) or not IDENTIFIER.fullmatch(value):
        raise ValueError(f"{what} must be 1 to 64 lower-case letters, digits and hyphens, but got {_got(value)}")
    return value


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or not _encodable(value) or "\0" in value:
        raise ValueError(f"{what} must be a text that UTF-8 can hold, but got {_got(value)}")
    return value


def _got(value: Any) -> str:
    return shortened(repr(value), 60)


def _encodable(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)  # lone surrogates
