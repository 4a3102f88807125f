"""Connections with deadlines for slow clients and a maximum number.

uvicorn waits for a slow request indefinitely, and rejects new clients while a thousand connections are idle. Here a
request and its reply have deadlines. When too many connections are open, those that have waited longest are closed.

uvicorn has no setting for these limits, so a `Connection` wraps uvicorn's protocol. As an `asyncio.Protocol` it sees
incoming bytes; as an ASGI application it sees where requests and replies begin and end. Two parts of uvicorn are used
that are not documented: the arguments of its protocol, and `startup`, which sets the deadline of a TLS handshake.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
from typing import TYPE_CHECKING, Any

import uvicorn

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Iterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

REQUEST_SECONDS = 10.0
REPLY_SECONDS = 30.0
IDLE_SECONDS = 5  # until a connection without a request is closed
STOPPING_SECONDS = 2  # for requests under way when the server stops
MOST_HEADER_BYTES = 16 * 1024
MOST_REFUSED_BYTES = 1024 * 1024  # of a request that was rejected
MOST_CONNECTIONS = 4096
MOST_UNACCEPTED = 2048  # connections in the backlog
HEADERS_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
BODY_HEADERS = {b"content-length", b"transfer-encoding"}


class Connection(asyncio.Protocol):
    """Connection with deadlines, between its socket, uvicorn and the application."""

    transport: asyncio.Transport

    def __init__(self, http: Any, limits: ConnectionLimits) -> None:
        self.http: asyncio.Protocol = http(app_state={"connection": self})
        self.limits = limits
        self.time = asyncio.get_running_loop().time
        self.due = math.inf  # when the connection is closed, in the time of the loop
        self.size = 0  # bytes since the connection, the head of a request, or the end of a reply
        self.begun = False  # True if `due` is the deadline of the current request
        self.complete = True  # True if the last request was read to its end
        self.under_way = False  # True while a request is being answered
        self.unsent = 0  # bytes of replies that the client has not read
        self.last_read = math.inf  # the last time at which the client read some, or nothing was unsent

    # Calls by the socket

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.last_read = self.time()
        self.due = self.last_read + self.limits.deadline
        self.http.connection_made(transport)
        self.limits.admit(self)

    def data_received(self, data: bytes) -> None:
        if self.complete and not self.begun and not self.under_way:
            self._begin()
        self.size += len(data)
        self.http.data_received(data)
        if self.size > MOST_REFUSED_BYTES:
            self.transport.abort()
        elif self.size > MOST_HEADER_BYTES:  # if the head is complete, uvicorn calls the application first
            asyncio.get_running_loop().call_soon(self._bound_head)

    def eof_received(self) -> bool | None:
        return self.http.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.limits.connections.discard(self)
        self.http.connection_lost(exc)

    def pause_writing(self) -> None:
        self.http.pause_writing()

    def resume_writing(self) -> None:
        self.http.resume_writing()

    def stalls(self, now: float) -> bool:
        """Return True if the client has read nothing of a reply for too long."""
        before, self.unsent = self.unsent, self.transport.get_write_buffer_size()
        if not self.unsent or self.unsent < before:
            self.last_read = now
        return now - self.last_read > self.limits.stalled

    def _begin(self) -> None:
        self.begun, self.due = True, self.time() + self.limits.deadline

    def _bound_head(self) -> None:
        in_head = self.complete and not self.under_way
        if in_head and self.size > MOST_HEADER_BYTES and not self.transport.is_closing():
            self.transport.write(HEADERS_TOO_LARGE)
            self.transport.close()

    # Calls by the application

    async def answer(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the application, and record where the request and its reply end."""
        size = len(scope["raw_path"]) + len(scope["query_string"])
        size += sum(len(name) + len(value) + 4 for name, value in scope["headers"])
        if not self.begun:
            self._begin()
        self.size, self.under_way, self.complete = 0, True, False
        if not any(name in BODY_HEADERS and value != b"0" for name, value in scope["headers"]):
            self._read_whole()
        answered = False

        def end() -> None:
            nonlocal answered
            if not answered:  # an application may go on after its reply, during the next request
                answered, self.under_way, self.begun, self.size = True, False, False, 0
                if self.complete:
                    self.due = math.inf  # uvicorn closes idle connections

        async def received() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body") and not answered:
                self._read_whole()
            return message

        async def sent(message: Message) -> None:
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                end()

        try:
            await (app if size <= MOST_HEADER_BYTES else _headers_too_large)(scope, received, sent)
        finally:
            end()

    def _read_whole(self) -> None:
        self.complete, self.due = True, self.time() + self.limits.reply_deadline


async def _headers_too_large(scope: Scope, receive: Receive, send: Send) -> None:
    headers = [(b"content-length", b"0"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 431, "headers": headers})
    await send({"type": "http.response.body"})


class ConnectionLimits:
    """Deadlines and maximum number of the connections of one listener."""

    def __init__(
        self,
        *,
        deadline: float = REQUEST_SECONDS,
        reply_deadline: float = REPLY_SECONDS,
        stalled: float = REPLY_SECONDS,
        connections: int = MOST_CONNECTIONS,
    ) -> None:
        self.deadline, self.reply_deadline, self.stalled = deadline, reply_deadline, stalled
        self.most = connections
        self.connections: set[Connection] = set()

    def admit(self, connection: Connection) -> None:
        """Add a connection; if there are too many, close the twentieth that has waited longest."""
        self.connections.add(connection)
        if len(self.connections) > self.most:
            # A closed connection stays in the set until the loop processes it.
            alive = [one for one in self.connections if not one.transport.is_closing()]
            if len(alive) > self.most:
                waiting = sorted((one for one in alive if not one.under_way), key=lambda one: one.due)
                for one in waiting[: max(1, len(alive) // 20)]:
                    one.transport.abort()

    def cut_off(self, now: float) -> None:
        for one in [one for one in self.connections if one.due <= now or one.stalls(now)]:
            one.transport.abort()


class Listener(uvicorn.Server):
    """Web application on one socket, in an event loop with several listeners."""

    def __init__(
        self, app: ASGIApp, listening: socket.socket, limits: ConnectionLimits, context: ssl.SSLContext | None = None
    ) -> None:
        async def answered(scope: Scope, receive: Receive, send: Send) -> None:
            await scope["state"].pop("connection").answer(app, scope, receive, send)

        super().__init__(
            uvicorn.Config(
                answered,
                http="httptools",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=IDLE_SECONDS,
                timeout_graceful_shutdown=STOPPING_SECONDS,
            )
        )
        self.listening, self.limits, self.context = listening, limits, context

    @property
    def port(self) -> int:
        """Port number, perhaps chosen by the operating system."""
        return int(self.listening.getsockname()[1])

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the caller, who runs several listeners."""
        yield

    async def startup(self, sockets: object = None) -> None:
        """Start to listen; a TLS handshake has the deadline of a request."""
        await self.lifespan.startup()
        protocol: Any = self.config.http_protocol_class
        http = functools.partial(protocol, config=self.config, server_state=self.server_state)
        server = await asyncio.get_running_loop().create_server(
            lambda: Connection(http, self.limits),
            sock=self.listening,
            ssl=self.context,
            backlog=MOST_UNACCEPTED,
            ssl_handshake_timeout=None if self.context is None else self.limits.deadline,
        )
        self.servers = [server]
        self.started = True

    async def on_tick(self, counter: int) -> bool:
        """Close connections past their deadlines, ten times a second."""
        self.limits.cut_off(asyncio.get_running_loop().time())
        return bool(await super().on_tick(counter))
