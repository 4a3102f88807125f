"""The memo in JavaScript: from the same secret the same permanent responses as in Python."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import subprocess
from typing import Any

import numpy as np
import pytest

from service.nodes import HERE, WEB, node
from warner import RandomizedResponse, UnaryEncoding
from warner.designs import LocalHashing, Memo, Memoized, design_from_json

LABELS = ["never", "once", "often", "Übung", "\U0001f600"]
DESIGNS = [
    Memoized.response(LABELS, eps_infinity=2, eps_first=1),
    Memoized.response(1000, eps_infinity=3, eps_first=1),
    Memoized(RandomizedResponse([5, 3, 8], odds=(3, 1)), RandomizedResponse([5, 3, 8], odds=(1, 0))),
    Memoized.unary(LABELS, eps_infinity=2, eps_first=1),
    Memoized.unary(300, eps_infinity=2, eps_first=1, kind="symmetric"),
    Memoized.rappor(9, f="1/2", p="1/2", q="3/4"),
    Memoized(UnaryEncoding(200, p="1/2", q="1/256"), UnaryEncoding(200, p="255/256", q="1/3")),  # bytes often tie
    Memoized.hashing(LABELS, eps_infinity=2, eps_first=1),
    Memoized.hashing(1000, eps_infinity=3, eps_first=2),
    Memoized(LocalHashing(3, odds=(3, 1), field=3), RandomizedResponse(3, odds=(2, 1))),
    Memoized.bit_flips(LABELS, eps_infinity=2, size=2),
    Memoized.bit_flips(300, eps_infinity=2, eps_first=1, size=40),
    Memoized.bit_flips(LABELS, eps_infinity=2, eps_first=1, size=5),
]


def in_node(cases: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    done = subprocess.run(
        [node(), str(HERE / "memos.mjs")],
        input=json.dumps(cases),
        env={**os.environ, "WARNER_WEB": str(WEB)},
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    written: list[list[dict[str, Any]]] = json.loads(done.stdout)
    return written


def test_python_and_javascript_derive_the_same_reports_from_a_secret() -> None:
    generator = random.Random(1)
    cases: list[dict[str, Any]] = []
    wanted = []
    for design in DESIGNS:
        secret = generator.randbytes(32)
        memo = Memo.from_secret(secret, design)
        draws, reports = [], []
        for answer in [0, design.k - 1, *(generator.randrange(design.k) for _ in range(6))]:
            source = io.BytesIO(generator.randbytes(4000))
            (report,) = design.report_form.written(memo.draw(np.array([answer]), source.read))
            code = design.domain.index(report) if design.report_form.labels == design.domain else report
            used = source.tell()
            draws.append({"answer": answer, "bytes": source.getvalue()[:used].hex()})
            reports.append({"report": str(code), "left": 0})
        cases.append({"design": design.to_dict(), "secret": secret.hex(), "draws": draws})
        wanted.append(reports)
    assert in_node(cases) == wanted


def test_a_design_written_in_another_spelling_has_the_same_permanent_responses() -> None:
    # Odds that are not in lowest terms, and consecutive numbers as a list: Python reads them as one design.
    document = Memoized(RandomizedResponse(3, odds=(3, 1)), RandomizedResponse(3, odds=(1, 0))).to_dict()
    for part, odds in (("first", ["030", "10"]), ("second", ["7", "0"])):
        document[part] = document[part] | {"domain": [0, 1, 2], "odds": odds}
    design: Any = design_from_json(json.dumps(document))
    cases, wanted = [], []
    for number in range(20):
        secret = hashlib.sha256(b"%d" % number).digest()
        cases.append({"design": document, "secret": secret.hex(), "draws": [{"answer": 1, "bytes": "00" * 8}]})
        wanted.append([{"report": str(design.randomize(1, memo=Memo.from_secret(secret, design))), "left": 0}])
    assert in_node(cases) == wanted
    assert len({row[0]["report"] for row in wanted}) > 1


@pytest.mark.parametrize(
    ("design", "secret", "message"),
    [
        (RandomizedResponse(3, odds=(3, 1)), "00" * 32, "only memoized designs need a memo"),
        (DESIGNS[0], "00" * 31, "secret must be 32 random bytes"),
    ],
)
def test_what_needs_no_memo_and_short_secrets_are_refused(design: Any, secret: str, message: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        in_node([{"design": design.to_dict(), "secret": secret, "draws": []}])
    assert message in failed.value.stderr
