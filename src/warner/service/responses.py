"""Response bodies: the reports of one person to all questions, in a body whose length tells nothing.

A body is JSON with these fields and no others: ``survey``, the fingerprint; ``nonce``, 16 random bytes that are the
same in every retry; ``token``, the invitation, or full stops where the survey is open; ``reports``, a text for each
question; and ``groups``, where the survey asks for groups. Codes are written in decimal digits, all with as many as the
widest of the survey needs and at least four, sets in hexadecimal, and a skipped question as full stops, so that all
bodies of a survey have one length. It is checked here against the survey; what is wrong with it is not said, because
nobody but a broken or hostile client can send it.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from warner.designs.report_forms import LabelForm
from warner.service.survey import SKIPPED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Counts
    from warner.service.survey import Survey

RESPONSE_FIELDS = {"survey", "nonce", "token", "reports"}
STANDING_FIELDS = {"survey", "token"}
NONCE = re.compile(r"[A-Za-z0-9_-]{22}")
OPEN_TOKEN = "." * 22  # the token of an open survey
LEAST_CODE_DIGITS = 4  # digits of a code
LEAST_BODY_BYTES = 4096  # bytes that a body may have in any survey
BYTES_BESIDE_REPORT = 8  # bytes of a body that a question may take beside its report: quotes, comma, spaces


class RefusedError(ValueError):
    """A body that no page of this survey has sent."""


class KeptReport(NamedTuple):
    """A report that is kept itself: the place of its question, the joint group, and the report as a column has it."""

    question: int
    stratum: int
    report: str


@dataclass(frozen=True)
class Bundle:
    """The response of one person: its nonce, its invitation, and the counters that it adds one to.

    Attributes
    ----------
    nonce : bytes
        16 bytes; the same in every retry.
    token : bytes or None
        The 16 bytes of the invitation; None where the survey is open.
    cells : tuple of tuple of int
        For each question the counters of all joint groups, counted through, that are added to.
    reports : tuple of KeptReport
        The reports to questions that people answer in their own words: these are kept themselves.
    """

    nonce: bytes
    token: bytes | None
    cells: tuple[tuple[int, ...], ...]
    reports: tuple[KeptReport, ...] = ()


class Bodies:
    """The bodies of a survey: read by its server, written by clients that are no browsers.

    Attributes
    ----------
    width : int
        The digits of every code.
    limit : int
        The bytes that a body may have.
    """

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        forms = [question.design.report_form for question in survey.questions]
        self.groups = [LabelForm(group.values) for group in survey.groups]
        self.width = max(LEAST_CODE_DIGITS, *(form.digits for form in [*forms, *self.groups]))
        self.lengths = [form.length(self.width) for form in forms]
        self.names = RESPONSE_FIELDS | ({"groups"} if survey.groups else set())
        texts = sum(self.lengths) + self.width * len(survey.groups)
        self.limit = LEAST_BODY_BYTES + texts + BYTES_BESIDE_REPORT * (len(survey.questions) + len(survey.groups))

    def read(self, body: bytes) -> Bundle:
        """Read a body, or raise `RefusedError`."""
        fields = _fields(body)
        if fields.keys() != self.names or fields["survey"] != self.survey.fingerprint:
            raise RefusedError
        stratum = 0
        for group, text in zip(self.groups, self._list(fields.get("groups", []), len(self.groups)), strict=True):
            code = group.unpadded(text, self.width) if isinstance(text, str) else None
            if code is None:
                raise RefusedError
            stratum = stratum * len(group.labels) + code
        token = self._token(fields["token"])
        reports = self._list(fields["reports"], len(self.survey.questions))
        cells = tuple(self._cells(place, text, stratum) for place, text in enumerate(reports))
        kept = ((place, reports[place]) for place in self.survey.open_questions)
        return Bundle(
            nonce=_bytes(fields["nonce"]),
            token=token,
            cells=cells,
            reports=tuple(
                KeptReport(place, stratum, text.rstrip(" ")) for place, text in kept if not text.startswith(".")
            ),
        )

    def read_standing(self, body: bytes) -> bytes | None:
        """Read what a page asks before it asks anybody: about its invitation, or in an open survey about none."""
        fields = _fields(body)
        if fields.keys() != STANDING_FIELDS or fields["survey"] != self.survey.fingerprint:
            raise RefusedError
        return self._token(fields["token"])

    def _token(self, token: Any) -> bytes | None:
        if (token == OPEN_TOKEN) == self.survey.invited:
            raise RefusedError
        return _bytes(token) if self.survey.invited else None

    def write(
        self, reports: Sequence[Counts | int], *, nonce: bytes, token: str = OPEN_TOKEN, groups: Sequence[int] = ()
    ) -> bytes:
        """Write a body: the reports to all questions in code, as ``Design.draw`` gives them, or `SKIPPED`."""
        fields = {
            "survey": self.survey.fingerprint,
            "nonce": base64.urlsafe_b64encode(nonce)[:22].decode(),
            "token": token,
            **(
                {"groups": [form.padded(code, self.width) for form, code in zip(self.groups, groups, strict=True)]}
                if self.survey.groups
                else {}
            ),
            "reports": [self._written(place, report) for place, report in enumerate(reports)],
        }
        return json.dumps(fields, separators=(",", ":")).encode()

    def _written(self, place: int, report: Counts | int) -> str:
        if isinstance(report, int) and report == SKIPPED:
            return "." * self.lengths[place]
        return self.survey.questions[place].design.report_form.padded(report, self.width)

    def _cells(self, place: int, text: Any, stratum: int) -> tuple[int, ...]:
        question, layout = self.survey.questions[place], self.survey.layouts[place]
        if not isinstance(text, str) or len(text) != self.lengths[place]:
            raise RefusedError
        skipped = question.optional and text == "." * len(text)
        report = SKIPPED if skipped else question.design.report_form.unpadded(text, self.width)
        if report is None:
            raise RefusedError
        return tuple(stratum * layout.width + cell for cell in layout.of_report(report))

    def _list(self, value: Any, length: int) -> list[Any]:
        if not isinstance(value, list) or len(value) != length:
            raise RefusedError
        return value


def _fields(body: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(body.decode("utf-8"), object_pairs_hook=_distinct)
    except (ValueError, RecursionError):  # not UTF-8 is a ValueError
        raise RefusedError from None
    if not isinstance(fields, dict):
        raise RefusedError
    return fields


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise RefusedError
    return fields


def _bytes(text: Any) -> bytes:
    """Read 16 bytes from unpadded base64url, in its one spelling."""
    if not isinstance(text, str) or not NONCE.fullmatch(text):
        raise RefusedError
    try:
        value = base64.urlsafe_b64decode(text + "==")
    except binascii.Error:
        raise RefusedError from None
    if base64.urlsafe_b64encode(value)[:22].decode() != text:  # spare bits that are not 0
        raise RefusedError
    return value
