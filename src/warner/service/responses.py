"""Response bodies: the reports of one respondent to all questions, in a body of constant length.

docs/reference/formats/surveys.md describes the fields. All codes have as many decimal digits as the widest one of the
survey, and questions that were skipped or not asked are full stops, so that all bodies of a survey have one length. A
body with more reports than the page draws spends more, and is rejected. Errors are not explained, because only a broken
or hostile client sends an invalid body.
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
LEAST_CODE_DIGITS = 4
LEAST_BODY_BYTES = 4096  # accepted in any survey
BYTES_BESIDE_REPORT = 8  # quotes, comma and spaces around a report


class RefusedError(ValueError):
    """Error of a body that no page of this survey can have sent."""


class KeptReport(NamedTuple):
    """Report to a free-text question: index of the question, joint group, and the report as in a column."""

    question: int
    stratum: int
    report: str


@dataclass(frozen=True)
class Bundle:
    """Response of one respondent."""

    nonce: bytes  # 16 bytes; the same in every retry
    token: bytes | None  # 16 bytes of the invitation; None if the survey is open
    cells: tuple[tuple[int, ...], ...]  # by question: counters to increment, numbered across all joint groups
    reports: tuple[KeptReport, ...] = ()  # to free-text questions


class Bodies:
    """Reader and writer of the bodies of a survey, of at most `limit` bytes; every code has `width` digits."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.forms = [item.design.report_form for item in survey.items]
        self.groups = [LabelForm(group.values) for group in survey.groups]
        self.width = max(LEAST_CODE_DIGITS, *(form.digits for form in [*self.forms, *self.groups]))
        self.lengths = [form.length(self.width) for form in self.forms]
        self.names = RESPONSE_FIELDS | ({"groups"} if survey.groups else set())
        texts = sum(self.lengths) + self.width * len(survey.groups)
        self.limit = LEAST_BODY_BYTES + texts + BYTES_BESIDE_REPORT * (len(survey.items) + len(survey.groups))

    def read(self, body: bytes) -> Bundle:
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
        reports = self._list(fields["reports"], len(self.survey.items))
        cells = tuple(self._cells(i, text, stratum) for i, text in enumerate(reports))
        self._check_drawn([not text.startswith(".") for text in reports])
        texts = ((i, reports[i]) for i in self.survey.open_questions)
        kept = tuple(KeptReport(i, stratum, text.rstrip(" ")) for i, text in texts if not text.startswith("."))
        return Bundle(_bytes(fields["nonce"]), token, cells, kept)

    def read_standing(self, body: bytes) -> bytes | None:
        """Read the question of a page about its invitation, which it sends before it shows the survey."""
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
        """Write a body from the encoded reports to all questions, as ``Design.draw`` returns them, or `SKIPPED`."""
        nonce_text = base64.urlsafe_b64encode(nonce)[:22].decode()
        fields: dict[str, Any] = {"survey": self.survey.fingerprint, "nonce": nonce_text, "token": token}
        if self.survey.groups:
            fields["groups"] = [form.padded(code, self.width) for form, code in zip(self.groups, groups, strict=True)]
        fields["reports"] = [
            "." * length if isinstance(report, int) and report == SKIPPED else form.padded(report, self.width)
            for form, length, report in zip(self.forms, self.lengths, reports, strict=True)
        ]
        return json.dumps(fields, separators=(",", ":")).encode()

    def _check_drawn(self, reported: list[bool]) -> None:
        """Reject other numbers of reports than the draws of the page and optional questions can leave."""
        given = iter(reported)
        answered = skippable = 0
        for question in self.survey.questions:
            reports = sum(next(given) for _ in question.items)
            if reports > question.drawn or (0 < reports < question.drawn and not question.optional):
                raise RefusedError
            answered += reports > 0
            skippable += question.optional and not reports
        drawn = self.survey.ask or len(self.survey.questions)
        if not drawn - skippable <= answered <= drawn:
            raise RefusedError

    def _cells(self, index: int, text: Any, stratum: int) -> tuple[int, ...]:
        layout = self.survey.layouts[index]
        if not isinstance(text, str) or len(text) != self.lengths[index]:
            raise RefusedError
        skipped = layout.optional and text == "." * len(text)
        report = SKIPPED if skipped else self.forms[index].unpadded(text, self.width)
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
    """Read 16 bytes from unpadded base64url in canonical form."""
    if not isinstance(text, str) or not NONCE.fullmatch(text):
        raise RefusedError
    try:
        value = base64.urlsafe_b64decode(text + "==")
    except binascii.Error:
        raise RefusedError from None
    if base64.urlsafe_b64encode(value)[:22].decode() != text:  # unused bits that are not 0
        raise RefusedError
    return value
