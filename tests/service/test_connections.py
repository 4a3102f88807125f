"""Slow and hostile connections: each is cut off, none keeps others out, and nothing of them is printed."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.serving import StandIn, body_of, exchanged, listening, posted, survey_of, until
from warner.service.app import Rate, survey_app
from warner.service.connections import MOST_HEADER_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.service.connections import Listener

SURVEY = survey_of()
WHOLE = posted(SURVEY, body_of(SURVEY))
HEAD, _, BODY = WHOLE.partition(b"\r\n\r\n")
SHORT = 0.3  # seconds


@pytest.fixture(scope="module")
def quick() -> Iterator[Listener]:
    """Serve with a short deadline."""
    with listening(survey_app(SURVEY, StandIn(), rate=Rate(0)), deadline=SHORT, reply_deadline=SHORT) as listener:
        yield listener


@pytest.fixture(scope="module")
def patient() -> Iterator[Listener]:
    with listening(survey_app(SURVEY, StandIn(), rate=Rate(0))) as listener:
        yield listener


def connected(listener: Listener) -> socket.socket:
    return socket.create_connection(("127.0.0.1", listener.port), timeout=20)


def kept(listener: Listener) -> bool:
    return exchanged(listener.port, WHOLE).startswith(b"HTTP/1.1 200 ")


def trickled(listener: Listener, pieces: list[bytes]) -> tuple[bytes, int]:
    """Send pieces one by one, each long before the deadline; give what came back, and how many were taken."""
    with connected(listener) as connection:
        connection.settimeout(SHORT / 10)
        received = b""
        for number, piece in enumerate(pieces):
            try:
                connection.sendall(piece)
                read = connection.recv(65536)
            except TimeoutError:
                continue
            except ConnectionError:
                return received, number
            if not read:
                return received, number
            received += read
        return received, len(pieces)


@pytest.mark.parametrize(
    "pieces",
    [
        [b"GET / HTTP/1.1\r\n", *[b"X-%d: 1\r\n" % i for i in range(100)]],
        [HEAD + b"\r\n\r\n", *[b"%c" % byte for byte in BODY]],
        [*[b"\r\n"] * 100],
        [b"G", b"E", b"T", b" ", b"/", *[b"a"] * 100],
        [WHOLE.replace(b"Connection: close", b"Connection: keep-alive"), *[b"\r\n"] * 100],
        [
            HEAD.split(b"\r\nContent-Length")[0] + b"\r\nTransfer-Encoding: chunked\r\n\r\n",
            *[b"1\r\n \r\n"] * 100,
        ],
    ],
    ids=["headers", "body", "ends of lines", "address", "after a request", "chunks"],
)
def test_a_slow_request_is_cut_off(quick: Listener, pieces: list[bytes]) -> None:
    # A hundred pieces at a tenth of the deadline: it ends after about ten, and long before all were taken.
    received, taken = trickled(quick, pieces)
    assert taken < 60
    assert received.count(b"HTTP/1.1 ") == received.count(b"HTTP/1.1 200 ") <= 1
    assert kept(quick)


def test_a_connection_without_a_request_is_closed(quick: Listener) -> None:
    assert exchanged(quick.port, b"") == b""


def test_whoever_does_not_read_the_reply_is_cut_off() -> None:
    async def endless(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(1000):
            await send({"type": "http.response.body", "body": bytes(10**5), "more_body": True})

    with listening(endless, reply_deadline=SHORT) as listener, connected(listener) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        until(lambda: listener.server_state.connections)
        until(lambda: not listener.server_state.connections)


def test_whoever_leaves_a_finished_reply_unread_is_cut_off() -> None:
    async def whole(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": bytes(10**7)})

    unlimited = float("inf")  # as on the dashboard, where streams have no end
    with listening(whole, reply_deadline=unlimited, stalled=SHORT) as listener, connected(listener) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        until(lambda: listener.server_state.connections)
        until(lambda: not listener.server_state.connections)


def test_a_connection_serves_several_requests(patient: Listener) -> None:
    again = WHOLE.replace(b"Connection: close", b"Connection: keep-alive")
    received = exchanged(patient.port, again * 3 + WHOLE)
    assert received.count(b"HTTP/1.1 200 ") == 4


def test_requests_that_wait_in_line_may_be_longer_than_one_head(patient: Listener) -> None:
    again = WHOLE.replace(b"Connection: close", b"Connection: keep-alive\r\nX: " + b"a" * (MOST_HEADER_BYTES // 2))
    received = exchanged(patient.port, again * 20 + WHOLE)
    assert received.count(b"HTTP/1.1 ") == received.count(b"HTTP/1.1 200 ") == 21


async def absent(scope: Any, receive: Any, send: Any) -> None:
    """Reply before the body is read, and keep the connection."""
    await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body"})


def test_a_body_that_comes_after_its_reply_is_no_head() -> None:
    body = b" " * 8 * MOST_HEADER_BYTES
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
    with listening(absent) as listener, connected(listener) as connection:
        connection.sendall(head)
        received = connection.recv(65536)
        connection.sendall(body + b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        while piece := connection.recv(65536):
            received += piece
    assert received.count(b"HTTP/1.1 ") == received.count(b"HTTP/1.1 404 ") == 2


def test_a_body_that_trickles_after_its_reply_is_cut_off() -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"
    with listening(absent, deadline=SHORT) as listener:
        received, taken = trickled(listener, [head, *[b" "] * 100])
    assert taken < 60
    assert received.count(b"HTTP/1.1 ") == received.count(b"HTTP/1.1 404 ") == 1


def test_the_deadline_of_a_reply_outlasts_work_after_the_reply_before() -> None:
    async def busy(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/first":
            await absent(scope, receive, send)
            await asyncio.sleep(SHORT)  # it ends while the second request is answered
        else:
            while (await receive())["type"] != "http.disconnect":
                pass

    requests = b"GET /first HTTP/1.1\r\nHost: x\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\n\r\n"
    with listening(busy, reply_deadline=2 * SHORT) as listener, connected(listener) as connection:
        connection.sendall(requests)
        received = connection.recv(65536)
        assert connection.recv(65536) == b""  # it is closed, before the time of the socket is over
    assert received.count(b"HTTP/1.1 404 ") == 1


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: 1\r\n" % i for i in range(100_000)) + b"\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"a" * 10**6 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"a" * 10**6,
        b"GET /" + b"a" * 10**6 + b" HTTP/1.1\r\n\r\n",
        b"GET /" + b"a" * 10**6,
        b"GET / HTTP/1.1\r\n" + b"a" * 10**6,
    ],
    ids=["many", "one long", "without end", "address", "address without end", "name without end"],
)
def test_headers_are_bounded(patient: Listener, head: bytes) -> None:
    received = exchanged(patient.port, head)
    assert received == b"" or received.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 "))
    assert kept(patient)


def test_headers_up_to_the_limit_are_read(patient: Listener) -> None:
    long = posted(SURVEY, body_of(SURVEY), "Content-Type: application/json", "X: " + "a" * (MOST_HEADER_BYTES - 500))
    assert exchanged(patient.port, long).startswith(b"HTTP/1.1 200 ")
    longer = posted(SURVEY, body_of(SURVEY), "Content-Type: application/json", "X: " + "a" * MOST_HEADER_BYTES)
    assert exchanged(patient.port, longer).startswith(b"HTTP/1.1 431 ")


def test_a_body_without_end_is_cut_off(patient: Listener) -> None:
    head = HEAD.split(b"\r\nContent-Length")[0] + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
    piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    with connected(patient) as connection, pytest.raises(ConnectionError):  # noqa: PT012
        connection.sendall(head)
        for _ in range(1000):
            connection.sendall(piece)


GARBAGE = {
    "two lengths": WHOLE.replace(b"\r\nContent-Length", b"\r\nContent-Length: 5\r\nContent-Length"),
    "length and chunks": WHOLE.replace(b"\r\nContent-Length", b"\r\nTransfer-Encoding: chunked\r\nContent-Length"),
    "chunks twice": HEAD + b"\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "a negative length": WHOLE.replace(b"Content-Length: ", b"Content-Length: -"),
    "a signed length": WHOLE.replace(b"Content-Length: ", b"Content-Length: +"),
    "a folded header": WHOLE.replace(b"\r\nHost: localhost", b"\r\nHost:\r\n localhost"),
    "a space before the colon": WHOLE.replace(b"Host:", b"Host :"),
    "a null": WHOLE.replace(b"localhost", b"local\0host"),
    "bare line feeds": WHOLE.replace(b"\r\n", b"\n"),
    "another version": WHOLE.replace(b"HTTP/1.1", b"HTTP/9.9"),
    "no version": b"GET /\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": bytes.fromhex("16030100c8010000c40303") + bytes(100),
    "an upgrade": b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n",
    "CONNECT": b"CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "a star": b"OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "another host": b"GET http://example.org/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "a path that is no UTF-8": b"GET /\xff\xfe%ff%00 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "a bad chunk": HEAD.split(b"\r\nContent-Length")[0] + b"\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
    "a huge chunk": HEAD.split(b"\r\nContent-Length")[0]
    + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
    + b"f" * 40
    + b"\r\n",
}


@pytest.mark.parametrize("name", GARBAGE)
def test_what_is_no_request_is_refused(quick: Listener, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    received = exchanged(quick.port, GARBAGE[name])
    statuses = [line.split(b" ")[1] for line in received.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
    assert all(status[:1] in b"34" for status in statuses)
    assert len(statuses) <= 1
    assert kept(quick)
    assert capfd.readouterr() == ("", "")


@settings(max_examples=40)
@given(
    st.lists(
        st.sampled_from([b"\r\n", b" ", b":", b"\0", b"GET", b"POST", b"/", b"HTTP/1.1", b"\xff", b"0", WHOLE]),
        max_size=8,
    )
)
def test_pieces_of_requests_get_no_more_than_a_refusal(quick: Listener, pieces: list[bytes]) -> None:
    received = exchanged(quick.port, b"".join(pieces))
    for line in received.split(b"\r\n"):
        assert not line.startswith((b"HTTP/1.1 5", b"HTTP/1.1 1"))


def test_idle_connections_make_room_for_new_ones() -> None:
    app = survey_app(SURVEY, StandIn(), rate=Rate(0))
    with listening(app, connections=40) as listener, ExitStack() as stack:
        idle = [stack.enter_context(connected(listener)) for _ in range(100)]
        until(lambda: listener.server_state.connections)
        assert kept(listener)
        until(lambda: len(listener.server_state.connections) <= 40)
        idle[0].settimeout(20)
        assert idle[0].recv(1) == b""  # those that waited longest went first
        idle[-1].setblocking(False)
        with pytest.raises(BlockingIOError):
            idle[-1].recv(1)


@pytest.mark.long
def test_two_thousand_idle_connections_keep_nobody_out() -> None:
    resource = pytest.importorskip("resource")
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 5000:
        pytest.skip("this process may not open 4,000 files")
    with listening(survey_app(SURVEY, StandIn(), rate=Rate(0))) as listener, ExitStack() as stack:
        for _ in range(2000):
            stack.enter_context(connected(listener))
        start = time.monotonic()
        assert kept(listener)
        assert time.monotonic() - start < 10


def test_a_stop_ends_connections_that_wait(patient: Listener) -> None:
    with listening(survey_app(SURVEY, StandIn())) as listener, connected(listener) as connection:
        connection.sendall(HEAD)
        until(lambda: listener.server_state.connections)
    connection.close()
