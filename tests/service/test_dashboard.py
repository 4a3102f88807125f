"""The dashboard over HTTP: closed to strangers, in steps, live, and ended with the server."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

import warner
from collecting_cases import random_body
from service.dashboards import Dashboard, dashboard, example, filled, nothing
from service.serving import collecting, exchanged, posted, until
from warner.documents import save_text
from warner.service import dashboard as service
from warner.service.app import PAGE_HEADERS
from warner.service.dashboard import LINK_SECONDS, SESSION_SECONDS, Admission, _hashed, link_file, new_link
from warner.service.exports import exported
from warner.service.responses import Bodies
from warner.service.sharing import qr_svg
from warner.service.stores import collected

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SURVEY = example()
NAME = f"__Host-warner-{SURVEY.fingerprint[:8]}"
SECRETS = [SURVEY.title, SURVEY.id, SURVEY.fingerprint[:8], *(question.text for question in SURVEY.questions)]
CLOSING = json.dumps({"survey": SURVEY.fingerprint}, separators=(",", ":"))
OURS = {"sec-fetch-site": "same-origin", "content-type": "application/json"}


class Reply:
    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.status, self.body = answer.status, answer.read()
        self.headers = {name.lower(): value for name, value in answer.getheaders()}
        self.cookie = self.headers.get("set-cookie", "").partition(";")[0]


def ask(port: int, path: str, method: str = "GET", body: str | None = None, **headers: str) -> Reply:
    """Send one request; underscores in the names of headers are sent as hyphens."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        return Reply(connection.getresponse())
    finally:
        connection.close()


def entered(running: Dashboard) -> str:
    """Open the link, and give the cookie."""
    reply = ask(running.port, f"/dashboard?key={running.key}")
    assert reply.status == 200
    return reply.cookie


class Stream:
    """An event stream that is open."""

    def __init__(self, port: int, cookie: str, last: str | None = None) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.connection.request("GET", "/dashboard/live", headers={"cookie": cookie, **_given(last)})
        self.answer = self.connection.getresponse()

    def event(self) -> dict[str, str]:
        """Return the next event that carries something; empty at the end of the stream."""
        fields: dict[str, str] = {}
        while True:
            line = self.answer.readline().decode()
            if not line:
                return {}
            name, _, value = line.rstrip("\n").partition(": ")
            if name:
                fields[name] = value
            elif "data" in fields:
                return fields
            elif not line.strip():
                fields = {name: value for name, value in fields.items() if name == "retry"}

    def reading(self) -> dict[str, Any]:
        """Return what the next event shows."""
        shown: dict[str, Any] = json.loads(self.event()["data"])
        return shown

    def close(self) -> None:
        self.answer.close()
        self.connection.close()


def _given(last: str | None) -> dict[str, str]:
    return {} if last is None else {"last-event-id": last}


@pytest.fixture(scope="module")
def running() -> Iterator[Dashboard]:
    """Run one dashboard for all who only look."""
    with dashboard(filled(SURVEY, 40), admission=Admission(KEY, reusable=True)) as board:
        board.key = KEY
        yield board


# Of the form of new_key(), but always the same: they are in the names of tests.
KEY, OTHER = "Zx9-_aB3" * 5 + "Qw4", "Ab3_-9xZ" * 5 + "4wQ"
DOORS = [
    ("GET", "/"),
    ("GET", "/dashboard"),
    ("GET", "/dashboard/live"),
    ("GET", "/dashboard/code.svg"),
    *(
        ("GET", f"/dashboard/export?format={ending}&question=often")
        for ending in ("json", "csv", "parquet", "html", "x")
    ),
    ("POST", "/dashboard/close"),
]


# Strangers


def refused(reply: Reply) -> bool:
    """Return whether a reply is a refusal that gives nothing away."""
    shown = reply.body.decode() + repr(reply.headers)
    return reply.status == 403 and not reply.cookie and not any(secret in shown for secret in SECRETS)


@pytest.mark.parametrize(("method", "path"), DOORS)
@pytest.mark.parametrize("cookie", [None, "", "x", "y=", f"{NAME}=", f"{NAME}={OTHER}", f"{NAME}={KEY}"])
def test_strangers_learn_nothing(running: Dashboard, method: str, path: str, cookie: str | None) -> None:
    given = {} if cookie is None else {"cookie": cookie}
    reply = ask(running.port, path, method, CLOSING if method == "POST" else None, **given, **OURS)
    assert refused(reply)
    assert "warner survey link" in reply.body.decode()
    assert running.steps.closings == 0


@pytest.mark.parametrize("key", ["", "x", KEY[:-1], KEY + "=", "%00", "%ff", KEY.lower(), f"&key={KEY}x"])
def test_another_key_opens_nothing(running: Dashboard, key: str) -> None:
    assert refused(ask(running.port, f"/dashboard?key={key}"))


def test_a_link_works_once_and_its_session_goes_on() -> None:
    with dashboard(filled(SURVEY, 40)) as board:
        assert ask(board.port, f"/dashboard?key={board.key}", "HEAD").status == 403  # a look ahead uses nothing up
        first = ask(board.port, f"/dashboard?key={board.key}")
        assert first.status == 200
        assert refused(ask(board.port, f"/dashboard?key={board.key}"))
        assert refused(ask(board.port, "/dashboard"))
        again = ask(board.port, "/dashboard", cookie=first.cookie)
        assert (again.status, again.body) == (200, first.body)
        reload = ask(board.port, f"/dashboard?key={board.key}", cookie=first.cookie)
        assert (reload.status, reload.cookie) == (200, "")


def test_a_link_that_was_not_used_is_dead_after_ten_minutes() -> None:
    now = [0.0]
    with dashboard(filled(SURVEY, 40), admission=Admission(KEY, clock=lambda: now[0])) as board:
        now[0] = LINK_SECONDS
        assert refused(ask(board.port, f"/dashboard?key={KEY}"))


def test_a_new_link_needs_no_restart_and_works_once(tmp_path: Path) -> None:
    file = link_file(tmp_path / "survey.json", "drinking")
    with dashboard(filled(SURVEY, 40), admission=Admission(KEY, renewals=file)) as board:
        save_text(file, json.dumps({"url": f"{board.url}/dashboard"}), private=True)
        entered(replace(board, key=KEY))
        page = ask(board.port, f"/dashboard?key={KEY}")  # it was used
        assert (page.status, b"warner survey link survey.json" in page.body) == (403, True)
        links = [new_link(file), new_link(file)]
        keys = [link.removeprefix(f"{board.url}/dashboard?key=") for link in links]
        assert not any(key in file.read_text() for key in keys)  # only a hash
        assert refused(ask(board.port, f"/dashboard?key={keys[0]}"))  # there is a newer one
        assert ask(board.port, f"/dashboard?key={keys[1]}").status == 200
        assert refused(ask(board.port, f"/dashboard?key={keys[1]}"))
        file.chmod(0o644)
        with pytest.raises(ValueError, match="no running dashboard"):
            new_link(file)
    file.chmod(0o600)
    with pytest.raises(ValueError, match="does not answer: is the survey served from this folder"):
        new_link(file)
    with pytest.raises(ValueError, match=r"no running dashboard .* Start it with `warner survey serve`"):
        new_link(tmp_path / "none.json")


@pytest.mark.parametrize("spoiled", ["rights", "age", "future", "text", "none"])
def test_a_key_that_others_could_have_written_or_that_is_old_opens_nothing(spoiled: str, tmp_path: Path) -> None:
    file = tmp_path / "x.dashboard.json"
    door = Admission(OTHER, renewals=file)
    until = time.time() + {"age": -1, "future": LINK_SECONDS + 100}.get(spoiled, 60)
    fields = {"url": "http://127.0.0.1:1/dashboard", "key": _hashed(KEY).hex(), "until": until}
    if spoiled != "none":
        save_text(file, "{" if spoiled == "text" else json.dumps(fields), private=True)
        file.chmod(0o606 if spoiled == "rights" else 0o600)
    assert door.enter(KEY) is None
    save_text(file, json.dumps(fields | {"until": time.time() + 60}), private=True)
    assert door.enter(KEY) is not None
    assert door.enter(KEY) is None


@pytest.mark.parametrize("access", ["open", "invited"])
def test_a_shared_survey_shows_code_and_certificate_and_invitations_show_no_code(access: str) -> None:
    survey = replace(SURVEY, access=access)
    certificate = ":".join(["AB"] * 32)
    for given in (certificate, ""):
        with dashboard(nothing(survey), certificate=given) as board:
            cookie = entered(board)
            page = ask(board.port, "/dashboard", cookie=cookie).body.decode()
            code = ask(board.port, "/dashboard/code.svg", cookie=cookie)
        assert (certificate in page) == bool(given)
        assert ("each browser warns" in page) == bool(given)
        assert code.status == (200 if given and access == "open" else 404)
        if code.status == 200:
            assert code.body == qr_svg("https://example.org/s/a")


def test_the_cookie_is_for_this_host_and_for_nothing_but_requests(running: Dashboard) -> None:
    given = ask(running.port, f"/dashboard?key={KEY}").headers["set-cookie"]
    value, *attributes = given.split("; ")
    assert re.fullmatch(rf"{NAME}=[\w-]{{43}}", value)
    assert {part.lower() for part in attributes} == {"httponly", "path=/", "samesite=strict", "secure"}


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:80", "127.0.0.1.evil.example", "evil.example#127.0.0.1", "", "localhost."),
        *("127.0.0.1@evil.example", "127.0.0.1, evil.example", "[::2]", "127.0.0.2", "0.0.0.0"),
    ],
)
def test_another_name_of_this_machine_opens_nothing(running: Dashboard, host: str) -> None:
    assert refused(ask(running.port, f"/dashboard?key={KEY}", host=host))
    assert refused(ask(running.port, "/dashboard", cookie=entered(running), host=host))


@pytest.mark.parametrize("host", ["localhost", "LocalHost:9000", "127.0.0.1:1", "[::1]:8001"])
def test_a_tunnel_may_change_the_port(running: Dashboard, host: str) -> None:
    assert ask(running.port, "/dashboard", cookie=entered(running), host=host).status == 200


def test_two_hosts_in_one_request_are_refused(running: Dashboard) -> None:
    head = f"GET /dashboard?key={KEY} HTTP/1.1\r\nHost: evil.example\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    assert exchanged(running.port, head.encode()).startswith((b"HTTP/1.1 403 ", b"HTTP/1.1 400 "))


@pytest.mark.parametrize("site", ["cross-site", "same-site"])  # another port of this machine is of the same site
@pytest.mark.parametrize(("method", "path"), DOORS)
def test_pages_of_others_get_nothing_even_with_the_cookie(
    running: Dashboard, site: str, method: str, path: str
) -> None:
    foreign = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors", "origin": "http://evil.example"}
    reply = ask(running.port, path, method, CLOSING if method == "POST" else None, cookie=entered(running), **foreign)
    assert refused(reply)
    assert running.steps.closings == 0


@pytest.mark.parametrize(
    "origin",
    [
        {},
        {"origin": "null"},
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "http://["},
    ],
)
def test_a_browser_that_says_only_its_origin_is_believed(running: Dashboard, origin: dict[str, str]) -> None:
    assert refused(ask(running.port, "/dashboard/close", "POST", CLOSING, cookie=entered(running), **origin))
    assert running.steps.closings == 0


def test_a_link_in_the_page_of_another_site_may_be_followed(running: Dashboard) -> None:
    followed = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert ask(running.port, f"/dashboard?key={KEY}", **followed).status == 200
    posted_there = {**followed, "origin": "http://evil.example"}
    assert refused(ask(running.port, "/dashboard/close", "POST", CLOSING, cookie=entered(running), **posted_there))


def test_every_reply_has_the_strict_headers(running: Dashboard) -> None:
    cookie = entered(running)
    paths = ["/dashboard", "/dashboard/dashboard.js", "/dashboard/dashboard.css", "/favicon.ico", "/nowhere"]
    for reply in (
        *(ask(running.port, path, cookie=cookie) for path in [*paths, "/dashboard/export?format=html&question=often"]),
        ask(running.port, "/dashboard"),
        ask(running.port, "/dashboard", host="evil.example"),
    ):
        assert {name: reply.headers[name] for name in PAGE_HEADERS} == PAGE_HEADERS


def test_only_the_files_of_the_dashboard_are_served(running: Dashboard) -> None:
    assert ask(running.port, "/dashboard/dashboard.js").headers["content-type"] == "text/javascript; charset=utf-8"
    for name in ("page.js", "dashboard.py", "..%2fdashboard.py", "%2e%2e", "dashboard.js%00"):
        assert ask(running.port, f"/dashboard/{name}", cookie=entered(running)).status == 404


# What is shown


def test_the_stream_begins_with_all_there_is(running: Dashboard) -> None:
    stream = Stream(running.port, entered(running))
    assert stream.answer.getheader("content-type") == "text/event-stream; charset=utf-8"
    assert stream.answer.getheader("x-accel-buffering") == "no"
    assert stream.reading()["responses"] == 40
    stream.close()


def test_a_step_is_sent_when_it_is_published_and_nothing_between() -> None:
    with dashboard(filled(SURVEY, 40)) as board:
        stream = Stream(board.port, entered(board))
        assert stream.reading()["responses"] == 40
        looks = board.steps.looks
        board.steps.publish(replace(board.steps.latest))  # another value, the same step
        until(lambda: board.steps.looks > looks + 1)  # the stream has seen it, and waits for more
        board.steps.publish(filled(SURVEY, 50))
        assert stream.reading()["responses"] == 50
        stream.close()


def test_a_stream_ends_with_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "STREAM_PAUSE_SECONDS", 0.05)
    now = [0.0]
    with dashboard(filled(SURVEY, 40), admission=Admission(KEY, clock=lambda: now[0])) as board:
        board.key = KEY
        cookie = entered(board)
        stream = Stream(board.port, cookie)
        assert stream.reading()["responses"] == 40
        now[0] = SESSION_SECONDS
        assert stream.event() == {}  # it ends, and a page that is still open learns nothing more
        stream.close()
        assert refused(ask(board.port, "/dashboard/live", cookie=cookie))
        assert refused(ask(board.port, "/dashboard", cookie=cookie))


def test_a_stream_that_is_opened_again_goes_on_where_it_was() -> None:
    with dashboard(filled(SURVEY, 40)) as board:
        cookie = entered(board)
        stream = Stream(board.port, cookie)
        first = stream.event()
        stream.close()
        looks = board.steps.looks
        again = Stream(board.port, cookie, first["id"])
        until(lambda: board.steps.looks > looks + 1)
        board.steps.publish(filled(SURVEY, 50))
        assert again.reading()["responses"] == 50  # and not the step that was seen
        again.close()
        late = Stream(board.port, cookie, first["id"])  # what was missed meanwhile comes at once
        assert late.reading()["responses"] == 50
        late.close()


def test_a_step_is_worked_out_once_however_many_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    worked = []

    def counted(collected: Any) -> dict[str, int]:
        worked.append(collected)
        return {"n": collected.responses}

    monkeypatch.setattr(service, "reading", counted)
    with dashboard(filled(SURVEY, 40)) as board:
        cookie = entered(board)
        streams = [Stream(board.port, cookie) for _ in range(8)]
        assert [stream.reading()["n"] for stream in streams] == [40] * 8
        board.steps.publish(filled(SURVEY, 50))
        assert [stream.reading()["n"] for stream in streams] == [50] * 8
        for stream in streams:
            stream.close()
    assert [collected.responses for collected in worked] == [40, 50]


def test_beyond_so_many_streams_one_gets_a_look_and_comes_back_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MOST_STREAMS", 2)
    with dashboard(filled(SURVEY, 40)) as board:
        cookie = entered(board)
        streams = [Stream(board.port, cookie) for _ in range(2)]
        assert [stream.reading()["responses"] for stream in streams] == [40, 40]
        third = Stream(board.port, cookie)
        event = third.event()
        assert (event["retry"], json.loads(event["data"])["responses"]) == (str(service.RETRY_MILLISECONDS), 40)
        assert third.event() == {}  # it ends
        third.close()
        streams[0].close()

        def room() -> bool:
            stream = Stream(board.port, cookie)
            retry = stream.event().get("retry")
            stream.close()
            return retry == str(service.RECONNECT_MILLISECONDS)

        until(room)  # a stream that ends frees its slot
        streams[1].close()


def test_a_silent_stream_says_that_it_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "HEARTBEAT_SECONDS", 0.0)
    monkeypatch.setattr(service, "STREAM_PAUSE_SECONDS", 0.05)
    with dashboard(filled(SURVEY, 40)) as board:
        stream = Stream(board.port, entered(board))
        stream.event()
        assert stream.answer.readline() == b": still here\n"
        stream.close()


def test_trouble_of_the_database_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "STREAM_PAUSE_SECONDS", 0.05)
    with dashboard(filled(SURVEY, 40)) as board:
        stream = Stream(board.port, entered(board))
        stream.event()
        board.steps.trouble = "OSError: no space left on device"
        assert stream.event() == {"event": "trouble", "data": '"OSError: no space left on device"'}
        board.steps.trouble = ""
        assert stream.event() == {"event": "trouble", "data": '""'}
        stream.close()


def test_streams_end_whole_when_the_server_stops() -> None:
    with dashboard(filled(SURVEY, 40)) as board:
        head = f"GET /dashboard/live HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {entered(board)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", board.port), timeout=60) as connection:
            connection.sendall(head.encode())
            received = b""
            while b"data: " not in received:
                received += connection.recv(65536)
            board.stop()
            while piece := connection.recv(65536):
                received += piece
    assert received.endswith(b"\r\n0\r\n\r\n")  # the last piece, of no bytes: the connection was not cut off


def test_work_that_takes_long_holds_up_neither_others_nor_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    def endless(collected: Any) -> Any:
        begun.append(collected)
        time.sleep(60)

    monkeypatch.setattr(service, "reading", endless)
    with dashboard(filled(SURVEY, 40)) as board:
        cookie = entered(board)
        stream = Stream(board.port, cookie)
        until(lambda: begun)
        assert ask(board.port, "/dashboard", cookie=cookie).status == 200
        board.stop()
        assert stream.event() == {}
        stream.close()


# Files


@pytest.mark.parametrize("ending", ["json", "csv", "parquet", "html"])
def test_files_are_those_of_the_library(running: Dashboard, ending: str) -> None:
    reply = ask(running.port, f"/dashboard/export?format={ending}&question=often", cookie=entered(running))
    expected = exported(running.steps.latest, ending, "often")
    assert reply.status == 200
    assert reply.headers["content-disposition"] == f'attachment; filename="{expected.name}"'
    assert reply.headers["content-type"] == expected.kind
    if ending != "html":  # whose picture has names that are drawn anew
        assert reply.body == expected.content


@pytest.mark.parametrize(
    ("asked", "said"),
    [("format=xlsx", "format must be"), ("", "format must be"), ("format=csv&question=x", "question must be one of")],
)
def test_other_files_are_refused_in_words(running: Dashboard, asked: str, said: str) -> None:
    reply = ask(running.port, f"/dashboard/export?{asked}", cookie=entered(running))
    assert (reply.status, reply.headers["content-type"]) == (400, "text/plain; charset=utf-8")
    assert said in reply.body.decode()


def test_a_library_that_is_missing_is_named(running: Dashboard, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any) -> Any:
        raise ImportError("No module named 'pyarrow'", name="pyarrow")

    monkeypatch.setattr(service, "exported", missing)
    reply = ask(running.port, "/dashboard/export?format=parquet&question=often", cookie=entered(running))
    assert (reply.status, reply.body.decode()) == (501, "parquet needs pyarrow, which is not installed\n")


# Closing


@pytest.mark.parametrize(("stop", "kind"), [(None, "95 % any-time"), (40, "exact 95 %"), (50, "95 % any-time")])
def test_closing_switches_the_intervals_only_at_the_number_that_was_fixed(stop: int | None, kind: str) -> None:
    with dashboard(filled(replace(SURVEY, stop=stop), 40)) as board:
        cookie = entered(board)
        stream = Stream(board.port, cookie)
        kinds = [stream.reading()["questions"][0]["interval"]["name"]]
        closing = json.dumps({"survey": board.steps.latest.survey.fingerprint}, separators=(",", ":"))
        reply = ask(board.port, "/dashboard/close", "POST", closing, cookie=cookie, **OURS)
        assert (reply.status, json.loads(reply.body)) == (200, {"closed": True})
        kinds.append(stream.reading()["questions"][0]["interval"]["name"])
        stream.close()
    assert kinds == ["95 % any-time interval (population)", f"{kind} interval (population)"]
    assert board.steps.closings == 1


@pytest.mark.parametrize("body", ["", "{}", '{"survey":"x"}', CLOSING + " ", CLOSING * 100])
def test_only_the_survey_that_is_shown_is_closed(running: Dashboard, body: str) -> None:
    reply = ask(running.port, "/dashboard/close", "POST", body, cookie=entered(running), **OURS)
    assert reply.status in {400, 413}
    assert running.steps.closings == 0


def test_closing_is_no_matter_of_a_link(running: Dashboard) -> None:
    assert ask(running.port, "/dashboard/close", cookie=entered(running)).status == 404
    assert running.steps.closings == 0


# The command, with a database


def test_a_survey_from_the_first_response_to_the_last(tmp_path: Path) -> None:
    bodies = Bodies(SURVEY)

    def respond(number: int) -> None:
        for _ in range(number):
            body = random_body(bodies, groups=[0])
            assert b" 200 " in exchanged(survey.port, posted(SURVEY, body)).partition(b"\r\n")[0]

    with collecting(tmp_path, SURVEY) as survey:
        found = re.search(r"dashboard +(\S+)", survey.said)
        assert found is not None
        link = urlsplit(found[1])
        cookie = ask(survey.dashboard_port, f"{link.path}?{link.query}").cookie
        stream = Stream(survey.dashboard_port, cookie)
        assert stream.reading()["responses"] == 0
        respond(9)
        shown = json.loads(ask(survey.dashboard_port, "/dashboard/export?format=json", cookie=cookie).body)
        assert shown["responses"] == 0  # nothing moves before ten have come
        assert set(shown["questions"][0]["tally"]["counts"]) == {0}
        respond(1)
        assert stream.reading()["responses"] == 10
        respond(5)
        reply = ask(survey.dashboard_port, "/dashboard/close", "POST", CLOSING, cookie=cookie, **OURS)
        assert reply.status == 200
        last = stream.reading()
        assert (last["responses"], last["state"]) == (15, "closed")  # the rest is published in one step
        again = Stream(survey.dashboard_port, cookie)
        again.event()
        assert survey.stop() == 0
        assert (stream.event(), again.event()) == ({}, {})
        stream.close()
        again.close()
        said = survey.out.read_text() + survey.err.read_text()
    assert cookie.partition("=")[2] not in said
    expected = warner.estimate(collected(str(tmp_path / "drinking.db")).tally("often")).table(anytime=True)
    for name in ("share", "low", "high"):
        assert [answer[name] for answer in last["questions"][0]["answers"]] == expected[name].tolist()


@pytest.mark.skipif(os.name != "posix", reason="rights of files are those of POSIX")
def test_the_key_of_a_file_opens_again_and_is_not_printed(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(KEY)
    file.chmod(0o600)
    with collecting(tmp_path, SURVEY, "--key-file", "key") as survey:
        assert KEY not in survey.said
        assert "/dashboard?key=$(cat key)" in survey.said
        for _ in range(2):
            assert ask(survey.dashboard_port, f"/dashboard?key={KEY}").status == 200
