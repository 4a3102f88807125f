"""Surveys and responses for the tests of collecting."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from cases import COIN
from warner.service.responses import OPEN_TOKEN, Bodies


def open_survey(designs: Any = (COIN,), **fields: Any) -> dict[str, Any]:
    """Return the document of a survey with a question for each design, and other fields as given."""
    questions = [
        {"id": f"q{place + 1}", "text": f"Question {place + 1}?", "mode": "device", "design": design.to_dict()}
        for place, design in enumerate(designs)
    ]
    texts = {"title": "A survey", "language": "en", "intro": "", "consent": "", "thanks": ""}
    kept = {"keep": "counts", "batch": 10, "access": "open", "groups": []}
    return {"format": "warner survey", "version": 1, "id": "test", **texts, **kept, "questions": questions} | fields


def random_body(bodies: Bodies, answers: Any = None, *, token: str = OPEN_TOKEN, groups: Any = ()) -> bytes:
    """Return the body of a respondent with these answers, in code; by default the first answer to each question."""
    asked = bodies.survey.items
    held = [0] * len(asked) if answers is None else answers
    reports = [item.design.draw(np.array([x]), os.urandom)[0] for item, x in zip(asked, held, strict=True)]
    return bodies.write(reports, nonce=os.urandom(16), token=token, groups=groups)
