"""The respondents' side: every status, one length of all replies, headers, other sites, hostile bodies, silence.

It tests service/pages.py and service/pages.py as well.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.serving import JSON_TYPE, NONCES, StandIn, asked, body_of, exchanged, listening, posted, survey_of
from warner.service.app import MOST_REQUESTS_AT_ONCE, PAGE_HEADERS, Guard, Rate, survey_app
from warner.service.pages import STATUS, address, assets
from warner.service.responses import Bodies

if TYPE_CHECKING:
    from warner.service.survey import Survey

SURVEY = survey_of()
REPORT = f"/s/{SURVEY.id}/report"
SITE = "https://www.example.org"


def reply(
    method: str,
    path: str,
    headers: dict[str, str] | None = None,
    body: bytes = b"",
    *,
    keeper: StandIn | None = None,
    **options: Any,
) -> tuple[int, dict[str, str], bytes]:
    said: list[str] = []
    app = survey_app(SURVEY, keeper or StandIn(), complain=said.append, **options)
    answer = asyncio.run(asked(app, method, path, headers, body))
    assert "".join(said).count("\n") == (answer[0] == 500)
    return answer


def sent(body: bytes | None = None, headers: dict[str, str] | None = None, **options: Any) -> tuple[int, str]:
    """Send a response, and give the status and the word of its reply."""
    status, _, text = reply("POST", REPORT, {**JSON_TYPE, **(headers or {})}, body or body_of(SURVEY), **options)
    fields = json.loads(text)
    assert fields["kept"] is (status == 200)
    return status, fields.get("why", "kept")


@pytest.mark.parametrize(("word", "nonce"), NONCES.items())
def test_what_became_of_a_response_is_its_reply(word: str, nonce: bytes) -> None:
    keeper = StandIn()
    assert sent(body_of(SURVEY, nonce), keeper=keeper) == (STATUS[word], word)
    assert [bundle.nonce for bundle in keeper.bundles] == [nonce]


def test_a_kept_response_is_thanked_for_in_these_words() -> None:
    assert reply("POST", REPORT, JSON_TYPE, body_of(SURVEY))[2].rstrip() == b'{"kept":true}'


@pytest.mark.parametrize(
    "kind",
    [None, "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1", "text/json", ""],
)
def test_only_json_is_taken(kind: str | None) -> None:
    keeper = StandIn()
    headers = {} if kind is None else {"content-type": kind}
    assert reply("POST", REPORT, headers, body_of(SURVEY), keeper=keeper)[0] == 415
    assert not keeper.bundles
    assert sent(headers={"content-type": "Application/JSON; charset=UTF-8"}) == (200, "kept")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "FOO"])
def test_responses_are_only_posted(method: str) -> None:
    status, headers, _ = reply(method, REPORT, JSON_TYPE, body_of(SURVEY))
    assert (status, headers["allow"]) == (405, "POST")


def test_a_body_that_is_too_long_is_refused() -> None:
    limit = Bodies(SURVEY).limit
    assert sent(body_of(SURVEY).ljust(limit)) == (200, "kept")
    assert sent(body_of(SURVEY).ljust(limit + 1)) == (413, "large")
    for length in (str(limit + 1), "9" * 5000, "-1", "1e3"):
        assert sent(headers={"content-length": length}) == (413, "large")


@pytest.mark.parametrize(
    ("headers", "word"),
    [
        ({}, "kept"),
        ({"sec-fetch-site": "same-origin"}, "kept"),
        ({"sec-fetch-site": "none"}, "kept"),
        ({"sec-fetch-site": "cross-site"}, "origin"),
        ({"sec-fetch-site": "same-site"}, "origin"),
        ({"sec-fetch-site": "cross-site", "origin": "https://evil.example"}, "origin"),
        ({"sec-fetch-site": "cross-site", "origin": SITE}, "origin"),
        ({"sec-fetch-site": "same-origin, cross-site"}, "origin"),
    ],
)
def test_pages_of_other_sites_cannot_send(headers: dict[str, str], word: str) -> None:
    assert sent(headers=headers)[1] == word
    status, answer, _ = reply("OPTIONS", REPORT, {"origin": SITE, "access-control-request-method": "POST", **headers})
    assert status == 405
    assert not [name for name in answer if name.startswith("access-control")]


def test_pages_of_an_allowed_origin_can_send() -> None:
    site = {"sec-fetch-site": "cross-site", "origin": SITE}
    other = {"sec-fetch-site": "cross-site", "origin": SITE + ".evil.example"}
    status, headers, _ = reply("OPTIONS", REPORT, {**site, "access-control-request-method": "POST"}, origins=[SITE])
    assert status == 204
    assert headers["access-control-allow-origin"] == SITE
    assert headers["access-control-allow-methods"] == "POST"
    assert headers["access-control-allow-headers"] == "content-type"
    assert "access-control-allow-credentials" not in headers
    assert sent(headers=site, origins=[SITE]) == (200, "kept")
    assert reply("POST", REPORT, {**JSON_TYPE, **site}, body_of(SURVEY), origins=[SITE])[1]["vary"] == "origin"
    assert sent(headers=other, origins=[SITE]) == (403, "origin")
    status, headers, _ = reply("OPTIONS", REPORT, other, origins=[SITE])
    assert status == 405
    assert "access-control-allow-origin" not in headers


def test_replies_have_one_length_from_the_first_byte_to_the_last() -> None:
    limit = Bodies(SURVEY).limit
    requests = {word: posted(SURVEY, body_of(SURVEY, nonce)) for word, nonce in NONCES.items()}
    requests["refused"] = posted(SURVEY, b"{}")
    requests["large"] = posted(SURVEY, b" " * (limit + 1))
    requests["type"] = posted(SURVEY, body_of(SURVEY), "Content-Type: text/plain")
    requests["method"] = posted(SURVEY, b"", method="PUT")
    requests["origin"] = posted(SURVEY, b"", "Sec-Fetch-Site: cross-site", "Content-Type: application/json")
    for rate, later in ((Rate(0), ()), (Rate(1), ("rate",))):
        with listening(survey_app(SURVEY, StandIn(), rate=rate, complain=str)) as listener:
            replies = {word: exchanged(listener.port, request) for word, request in requests.items() if not later}
            for word in later:
                exchanged(listener.port, requests["kept"])
                replies[word] = exchanged(listener.port, requests["kept"])
        for word, received in replies.items():
            assert received.startswith(f"HTTP/1.1 {STATUS[word]} ".encode()), word
            assert json.loads(received.partition(b"\r\n\r\n")[2]).get("why", "kept") == word
        lengths = {len(received) for received in replies.values()}
        assert len(lengths) == 1
    asked = {
        word: standing(INVITED, place) for place, word in enumerate(("open", "used", "revoked", "early", "closed"))
    }
    with listening(survey_app(INVITED, StandIn(), rate=Rate(0), complain=str)) as listener:
        replies = {word: exchanged(listener.port, request) for word, request in asked.items()}
    for word, received in replies.items():
        assert received.startswith(f"HTTP/1.1 {STATUS[word]} ".encode()), word
        assert json.loads(received.partition(b"\r\n\r\n")[2]) == {"kept": False, "why": word}
    assert {len(received) for received in replies.values()} == lengths
    assert len({len(request) for request in asked.values()}) == 1
    assert set(requests) | {"rate"} | set(asked) == set(STATUS)


INVITED = survey_of(access="invited")


def standing(survey: Survey, place: int) -> bytes:
    """Request the state of an invitation; the stand-in chooses its reply by the first byte."""
    token = base64.urlsafe_b64encode(bytes([place]) + bytes(15))[:22].decode()
    body = json.dumps({"survey": survey.fingerprint, "token": token}).encode()
    return posted(survey, body).replace(b"/report ", b"/standing ", 1)


@pytest.mark.parametrize(
    "body",
    ["", "{}", "[]", '{"survey":"x","token":"A"}', json.dumps({"survey": SURVEY.fingerprint, "token": "A" * 22})],
)
def test_what_no_page_asks_is_refused(body: str) -> None:
    assert reply("POST", f"/s/{SURVEY.id}/standing", JSON_TYPE, body.encode())[0] == 400


def test_a_survey_says_when_it_opens_and_that_it_is_over() -> None:
    for opens, closes, words in (
        (
            "2101-12-01T08:00+01:00",
            "2101-12-02T08:00Z",
            'It opens on <bdi dir="ltr">2101-12-01, 08:00 (UTC+01:00)</bdi>.',
        ),
        ("2001-12-01T08:00+01:00", "2001-12-02T08:00Z", "This survey is closed"),
    ):
        survey = survey_of(opens=opens, closes=closes)
        status, _, text = asyncio.run(asked(survey_app(survey, StandIn()), "GET", f"/s/{survey.id}"))
        assert status == 200
        assert words in text.decode()
        assert b"<script" not in text


def test_who_may_come_later_is_told_when() -> None:
    assert reply("POST", REPORT, JSON_TYPE, body_of(SURVEY, NONCES["busy"]))[1]["retry-after"] == "10"
    rate = Rate(20)
    waits = [reply("POST", REPORT, JSON_TYPE, body_of(SURVEY), rate=rate)[1].get("retry-after") for _ in range(21)]
    assert waits == [None] * 20 + ["3"]


def test_too_many_at_once_are_sent_away() -> None:
    async def full() -> tuple[int, int]:
        held = asyncio.Event()

        async def slow(scope: Any, receive: Any, send: Any) -> None:
            await held.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        app = Guard(slow, str)
        first = [asyncio.create_task(asked(app, "GET", "/")) for _ in range(MOST_REQUESTS_AT_ONCE)]
        await asyncio.sleep(0)
        status, headers, _ = await asked(app, "GET", "/")
        assert "retry-after" in headers
        held.set()
        assert [answer[0] for answer in await asyncio.gather(*first)] == [200] * MOST_REQUESTS_AT_ONCE
        return status, (await asked(app, "GET", "/"))[0]

    assert asyncio.run(full()) == (503, 200)


PAGES = {
    "/": 303,
    f"/s/{SURVEY.id}": 200,
    f"/s/{SURVEY.id}/survey.json": 200,
    "/health": 200,
    "/favicon.ico": 200,
    "/robots.txt": 200,
    "/s/other": 404,
    f"/s/{SURVEY.id}/": 404,
    "/s/other/report": 404,
    "/static/0000000000000000/page.js": 404,
    "/static/%2e%2e/app.py": 404,
    "/dashboard": 404,
    "/nowhere": 404,
}


@pytest.mark.parametrize(("path", "status"), PAGES.items())
def test_every_reply_has_the_headers_that_protect(path: str, status: int) -> None:
    found, headers, _ = reply("GET", path)
    assert found == status
    for name, value in PAGE_HEADERS.items():
        assert name == "content-security-policy" or headers[name] == value
    assert_nothing_from_elsewhere(headers["content-security-policy"])
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    assert "camera=()" in headers["permissions-policy"]
    assert not {"set-cookie", "server", "etag", "last-modified"} & set(headers)


def assert_nothing_from_elsewhere(policy: str) -> None:
    rules = {name: sources for name, *sources in (rule.split() for rule in policy.split("; "))}
    assert rules["default-src"] == rules["form-action"] == rules["frame-ancestors"] == rules["base-uri"] == ["'none'"]
    assert rules["script-src"] == rules["connect-src"] == ["'self'"]
    assert rules["require-trusted-types-for"] == ["'script'"]
    for source in chain.from_iterable(rules.values()):
        assert source in {"'none'", "'self'", "'script'"} or source.startswith("'sha256-")


def test_the_page_holds_the_survey_and_its_fingerprint() -> None:
    survey = survey_of(title="</script><script>alert(1)</script>", intro="<!-- & \u2028")
    _, headers, text = asyncio.run(asked(survey_app(survey, StandIn()), "GET", f"/s/{survey.id}"))
    assert headers["content-type"] == "text/html; charset=utf-8"
    found = re.findall(rb'<script type="application/json">(.*?)</script>', text, re.DOTALL)
    assert len(found) == 1
    assert json.loads(found[0]) == {
        "fingerprint": survey.fingerprint,
        "epsilon": survey.shown_epsilon,
        "survey": survey.to_dict(),
    }
    assert b"alert(1)</script>" not in text


def test_a_closed_survey_has_a_page_that_asks_nothing() -> None:
    keeper = StandIn()
    keeper.closed = True
    status, _, text = reply("GET", f"/s/{SURVEY.id}", keeper=keeper)
    assert status == 200
    assert b"<script" not in text
    assert b"closed" in text


def test_the_survey_file_is_the_one_that_was_given() -> None:
    _, _, text = reply("GET", f"/s/{SURVEY.id}/survey.json")
    assert json.loads(text) == SURVEY.to_dict()


def test_health_is_that_of_the_database() -> None:
    keeper = StandIn()
    assert reply("GET", "/health", keeper=keeper)[0] == 200
    keeper.well = False
    assert reply("GET", "/health", keeper=keeper)[0] == 503


def test_files_may_be_kept_for_ever_and_by_allowed_sites() -> None:
    assert assets()
    for name, content in assets().items():
        status, headers, text = reply("GET", address(name))
        assert (status, text) == (200, content)
        assert "immutable" in headers["cache-control"]
        assert headers["cross-origin-resource-policy"] == "same-origin"
        shared = reply("GET", address(name), origins=[SITE])[1]
        assert shared["cross-origin-resource-policy"] == "cross-origin"
        assert shared["access-control-allow-origin"] == "*"
    assert not [name for name in assets() if name.endswith((".json", ".ts", ".md"))]


def test_a_mistake_of_ours_is_a_number_and_a_place() -> None:
    said: list[str] = []
    app = survey_app(SURVEY, StandIn(), complain=said.append)
    nonce = NONCES["error"]
    for number in (1, 2):
        assert asyncio.run(asked(app, "POST", REPORT, JSON_TYPE, body_of(SURVEY, nonce)))[0] == 500
        assert re.fullmatch(rf"warner: mistake {number}: KeyError in \w+\.py, line \d+\n", said[-1])
    assert len(said) == 2


# Hostile bodies


def statuses(bodies: list[bytes]) -> set[int]:
    """Send bodies, and give the statuses of all replies; nothing but a whole response must reach the writer."""
    keeper = StandIn()
    said: list[str] = []
    app = survey_app(SURVEY, keeper, rate=Rate(0), complain=said.append)

    async def all_of_them() -> set[int]:
        return {(await asked(app, "POST", REPORT, JSON_TYPE, body))[0] for body in bodies}

    found = asyncio.run(all_of_them())
    assert not keeper.bundles
    assert not said
    return found


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=600) | st.text(max_size=200).map(str.encode), min_size=20, max_size=20))
def test_bytes_are_refused(bodies: list[bytes]) -> None:
    assert statuses(bodies) == {400}


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.sampled_from(["survey", "nonce", "token", "reports", "more"]), ANYTHING), min_size=20, max_size=20
    )
)
def test_a_response_with_a_wrong_field_is_refused(changes: list[tuple[str, Any]]) -> None:
    whole = json.loads(body_of(SURVEY))
    bodies = [json.dumps(whole | {name: value}).encode() for name, value in changes if whole.get(name) != value]
    assert statuses(bodies) <= {400}


CODES = [
    "-1",
    "-001",
    "٣",
    "٣٣٣٣",
    "1_0",
    "0_01",
    "+001",
    "0x01",
    "1e00",
    " 001",
    "001 ",
    "0001\0",
    "NaN",
    "00.0",
    "9999",
    "00003",
    "3",
]


@pytest.mark.parametrize("code", [*CODES, 1, -1, 1.0, None, True, [], {}, "", "²²²²", "１２３４", "0\u200b01"])
def test_what_is_no_code_is_refused(code: object) -> None:
    whole = json.loads(body_of(SURVEY))
    reports = [code, whole["reports"][1]]
    assert statuses([json.dumps(whole | {"reports": reports}).encode()]) == {400}
    assert statuses([json.dumps(whole | {"reports": reports}, ensure_ascii=False).encode()]) == {400}


def hostile() -> dict[str, bytes]:
    whole = body_of(SURVEY)
    text = whole.decode()
    return {
        "empty": b"",
        "deep": b"[" * 4000,
        "deep and closed": b'{"a":' * 600 + b"1" + b"}" * 600,
        "twice": whole[:-1] + b"," + whole[1:],
        "one field twice": whole[:-1] + b',"token":"' + b"." * 22 + b'"}',
        "numbers": text.replace('"0', "0").encode(),
        "a huge number": b'{"survey":' + b"9" * 4000 + b"}",
        "a huge exponent": b'{"survey":1e999999999}',
        "not a number": b'{"survey":NaN}',
        "infinite": b"[Infinity,-Infinity]",
        "with a mark of its order": b"\xef\xbb\xbf" + whole,
        "in UTF-16": text.encode("utf-16"),
        "after it": whole + b"x",
        "two": whole + whole,
        "null": whole + b"\0",
        "half a character": text.replace("....", "\\ud800").encode(),
        "a comment": whole + b"//",
        "a comma": whole[:-1] + b",}",
        "a list": b"[" + whole + b"]",
        "a string": json.dumps(text).encode(),
        "form": b"reports=0001",
    }


@pytest.mark.parametrize("name", hostile())
def test_hostile_bodies_are_refused(name: str) -> None:
    assert statuses([hostile()[name]]) == {400}


def test_every_changed_byte_of_a_response_is_refused_or_another_response() -> None:
    whole = body_of(SURVEY)
    keeper = StandIn()
    app = survey_app(SURVEY, keeper, rate=Rate(0))
    changed = [whole[:i] + bytes([byte]) + whole[i + 1 :] for i in range(len(whole)) for byte in b'"\\0a.\x00\xff']

    async def all_of_them() -> list[int]:
        return [(await asked(app, "POST", REPORT, JSON_TYPE, body))[0] for body in changed]

    found = asyncio.run(all_of_them())
    fields = [_fields(body) for body, status in zip(changed, found, strict=True) if status != 400]
    for field in fields:  # only another nonce or another report
        assert field is not None
        assert field.keys() == json.loads(whole).keys()
        assert field["survey"] == SURVEY.fingerprint
        assert [len(report) for report in field["reports"]] == [len(r) for r in json.loads(whole)["reports"]]
    assert found.count(400) > 0.8 * len(found)


def _fields(body: bytes) -> dict[str, Any] | None:
    try:
        return json.loads(body)  # type: ignore[no-any-return]
    except ValueError:
        return None


@pytest.mark.long
def test_a_hundred_thousand_hostile_requests_are_refused() -> None:
    rng = __import__("random").Random(1)
    whole = [body_of(SURVEY) for _ in range(100)]

    def spoilt() -> bytes:
        body = bytearray(rng.choice(whole))
        for _ in range(rng.randrange(1, 6)):
            place = rng.randrange(len(body))
            body[place : place + rng.randrange(3)] = rng.randbytes(rng.randrange(1, 4)) + b"{"
        return bytes(body)

    assert statuses([spoilt() if i % 2 else rng.randbytes(rng.randrange(500)) for i in range(100_000)]) == {400}
