"""Bodies of responses: equal length, strict parsing, and the counters that they increment.

It tests service/survey.py as well.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collecting_cases import open_survey, random_body
from warner import RandomizedResponse, SubsetSelection, UnaryEncoding
from warner.designs import MECHANISMS
from warner.designs.hashing import AffineHashing
from warner.service.responses import Bodies, RefusedError
from warner.service.stores.contract import Collected, added
from warner.service.survey import SKIPPED, survey_from_json

GROUPS = [
    {"id": "region", "text": "Where?", "values": ["north", "south"]},
    {"id": "age", "text": "How old?", "values": ["young", "old", "very old"]},
]
DESIGNS = [design for mechanism in MECHANISMS.values() for design in mechanism.examples()]


def bodies_of(**fields: Any) -> Bodies:
    return Bodies(survey_from_json(json.dumps(open_survey(**fields))))


def changed(body: bytes, **fields: Any) -> bytes:
    return json.dumps(json.loads(body) | fields).encode()


def test_a_body_by_hand() -> None:
    bodies = bodies_of(designs=[RandomizedResponse(3, odds=(3, 1)), UnaryEncoding(9, odds=(3, 1))], groups=GROUPS)
    body = bodies.write([2, np.array([0b10000000, 0b10000000])], nonce=bytes(range(16)), groups=[1, 2])
    assert json.loads(body) == {
        "survey": bodies.survey.fingerprint,
        "nonce": "AAECAwQFBgcICQoLDA0ODw",
        "token": "." * 22,
        "groups": ["0001", "0002"],
        "reports": ["0002", "8080"],
    }
    bundle = bodies.read(body)
    assert bundle.nonce == bytes(range(16))
    assert bundle.token is None
    # Joint group 1 * 3 + 2 = 5; nine answers and ten sizes of sets: 19 counters; answers 0 and 8 make a set of two.
    assert bundle.cells == ((5 * 3 + 2,), (5 * 19 + 0, 5 * 19 + 8, 5 * 19 + 9 + 2))


@pytest.mark.parametrize("place", range(len(DESIGNS)))
def test_counters_are_the_tally_of_the_reports_under_every_mechanism(place: int) -> None:
    design = DESIGNS[place]
    fields = open_survey(designs=[design, design], groups=GROUPS)
    fields["questions"][0]["optional"] = True
    survey = survey_from_json(json.dumps(fields))
    bodies = Bodies(survey)
    reports = [design.draw(np.array([i % design.k]), os.urandom)[0] for i in range(60)]
    sent = [
        bodies.write([report if i % 5 else SKIPPED, report], nonce=os.urandom(16), groups=[i % 2, i % 3])
        for i, report in enumerate(reports)
    ]
    assert len({len(body) for body in sent}) == 1
    cells = added(survey, [bodies.read(body) for body in sent])
    collected = Collected(survey, "open", 60, tuple(cell.reshape(6, -1) for cell in cells), {})
    for question, answered in (("q1", [r for i, r in enumerate(reports) if i % 5]), ("q2", reports)):
        expected = design.law.count(np.array(answered))
        tally = collected.tally(question)
        assert np.array_equal(tally.counts, expected.counts)
        assert tally.n == expected.n == len(answered)
        assert tally.missing == 60 - len(answered)
        if expected.histogram is not None:
            assert np.array_equal(tally.histogram, expected.histogram)
    for layout, counters in zip(survey.layouts, collected.cells, strict=True):
        assert layout.responses(counters).tolist() == [10] * 6


def test_groups_are_those_of_the_people() -> None:
    design = RandomizedResponse(4, odds=(1, 0))
    survey = survey_from_json(json.dumps(open_survey(designs=[design], groups=GROUPS)))
    bodies = Bodies(survey)
    sent = {(0, 0): [0, 0], (0, 2): [1], (1, 1): [2, 3, 3]}
    bundles = [
        bodies.read(bodies.write([code], nonce=os.urandom(16), groups=group))
        for group, codes in sent.items()
        for code in codes
    ]
    (cells,) = added(survey, bundles)
    collected = Collected(survey, "open", 6, (cells.reshape(6, -1),), {})
    by_age = collected.tally("q1", by=["age"])
    assert by_age.groups == (("young",), ("old",), ("very old",))
    assert by_age.counts.tolist() == [[2, 0, 0, 0], [0, 0, 1, 2], [0, 1, 0, 0]]
    both = collected.tally("q1", by=["age", "region"])
    assert both.groups[1] == ("young", "south")
    assert dict(zip(both.groups, both.counts.tolist(), strict=True))["old", "south"] == [0, 0, 1, 2]
    assert collected.tally().counts.tolist() == [2, 1, 1, 2]
    with pytest.raises(ValueError, match=r"groups of the survey \(region, age\), not 'sex'"):
        collected.tally(by=["sex"])


@pytest.mark.parametrize("k", [2, 9_999, 10_000, 10_001, 99_000])
def test_codes_are_as_wide_as_the_widest_question_needs(k: int) -> None:
    bodies = bodies_of(designs=[RandomizedResponse(2, odds=(3, 1)), RandomizedResponse(k, odds=(3, 1))])
    width = max(4, len(str(k - 1)))
    reports = json.loads(bodies.write([1, k - 1], nonce=bytes(16)))["reports"]
    assert reports == ["1".zfill(width), str(k - 1).zfill(width)]
    assert bodies.read(bodies.write([1, k - 1], nonce=bytes(16))).cells == ((1,), (k - 1,))


@pytest.mark.parametrize(
    "code",
    [
        "0002",
        "-001",
        "+001",
        " 001",
        "1_00",
        "٠٠٠١",
        "001",
        "00001",
        "0x01",
        "1e00",
        "....",
        "²²²²",
        "",
        1,
        None,
        ["0001"],
    ],
)
def test_other_spellings_of_codes_are_refused(code: Any) -> None:
    bodies = bodies_of()
    good = random_body(bodies)
    bodies.read(changed(good, reports=["0001"]))
    with pytest.raises(RefusedError):
        bodies.read(changed(good, reports=[code]))


def test_sets_of_another_size_or_with_spare_bits_are_refused() -> None:
    bodies = bodies_of(designs=[SubsetSelection(5, odds=(3, 1), size=2)])
    good = random_body(bodies)
    bodies.read(changed(good, reports=["88"]))
    for text in ("80", "89", "A0", "8", "888", "0x", "..", "８８"):
        with pytest.raises(RefusedError):
            bodies.read(changed(good, reports=[text]))


def test_hashes_are_three_numbers_of_fixed_width() -> None:
    bodies = bodies_of(designs=[AffineHashing(7, odds=(3, 1), prime=11, values=3)])
    good = bodies.write([np.array([1, 10, 2])], nonce=bytes(16))
    assert json.loads(good)["reports"] == ["01:10:2"]
    bodies.read(good)
    for text in ("00:10:2", "01:11:2", "01:10:3", "1:010:2", "01:10: ", "+1:10:2", "011:0:2"):
        with pytest.raises(RefusedError):
            bodies.read(changed(good, reports=[text]))


@pytest.mark.parametrize(
    "change",
    [
        {"survey": "0" * 64},
        {"survey": None},
        {"nonce": "A" * 21},
        {"nonce": "A" * 23},
        {"nonce": "A" * 21 + "B"},  # spare bits that are not 0: a second spelling of the same nonce
        {"nonce": "A" * 21 + "="},
        {"nonce": "A" * 21 + "+"},
        {"nonce": 1},
        {"token": "A" * 22},
        {"token": ""},
        {"reports": []},
        {"reports": ["0000", "0000"]},
        {"reports": "0000"},
        {"reports": {"0": "0000"}},
        {"groups": []},
        {"more": 1},
    ],
)
def test_what_no_page_sends_is_refused(change: dict[str, Any]) -> None:
    bodies = bodies_of()
    with pytest.raises(RefusedError):
        bodies.read(changed(random_body(bodies), **change))


def test_invited_surveys_need_a_token_and_open_ones_none() -> None:
    invited = bodies_of(access="invited")
    token = "A" * 22
    assert invited.read(random_body(invited, token=token)).token == bytes(16)
    with pytest.raises(RefusedError):
        invited.read(random_body(invited))


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"a":' * 50_000, b"NaN", b'"' + b"x" * 100, b"1" * 5000],
)
def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(RefusedError):
        bodies_of().read(body)


def test_repeated_fields_are_refused() -> None:
    bodies = bodies_of()
    body = random_body(bodies)
    with pytest.raises(RefusedError):
        bodies.read(body[:-1] + b',"token":"' + b"." * 22 + b'"}')


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(body: bytes) -> None:
    with pytest.raises(RefusedError):
        bodies_of().read(body)


@given(st.data())
def test_damaged_bodies_are_refused_or_mean_something_else(data: st.DataObject) -> None:
    bodies = bodies_of(designs=[RandomizedResponse(3, odds=(3, 1)), UnaryEncoding(9, odds=(3, 1))])
    body = bytearray(bodies.write([2, np.array([0b10000000, 0b10000000])], nonce=bytes(range(16))))
    place = data.draw(st.integers(0, len(body) - 1))
    body[place] = data.draw(st.integers(0, 255))
    try:
        bundle = bodies.read(bytes(body))
    except RefusedError:
        return
    assert all(0 <= cell < 3 for cell in bundle.cells[0])
    assert all(0 <= cell < 19 for cell in bundle.cells[1])
