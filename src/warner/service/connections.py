"""Connections and their limits: deadlines for slow clients, room for new ones, and a stop that does not wait for ever.

uvicorn waits for a slow request as long as its client likes, and refuses everybody while a thousand idle connections
are open. Here a request has some seconds from its first byte (or from the connection) to its last, and its reply as
many more; and when too many connections are open, those that have waited longest are closed first.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Iterator

    from starlette.types import ASGIApp

REQUEST_SECONDS = 10.0  # seconds for a whole request
REPLY_SECONDS = 30.0  # seconds for its reply
IDLE_SECONDS = 5  # seconds that a connection is kept for the next request
STOPPING_SECONDS = 2  # seconds that requests under way are given when the server stops
MOST_HEADER_BYTES = 16 * 1024  # bytes of all headers
MOST_REFUSED_BYTES = 1024 * 1024  # bytes of a request that is refused already
MOST_CONNECTIONS = 4096
MOST_UNACCEPTED = 2048  # connections that wait to be accepted
HEADERS_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class HeadTooLargeError(ValueError):
    """More headers than any browser sends."""


class Connection(HttpToolsProtocol):
    """One connection, with a time when it is cut off."""

    due = math.inf  # when it is closed
    size = 0  # bytes of the request that were received
    head = 0  # bytes of its address and headers
    in_head = True  # whether headers are still being read
    asked = False  # whether a whole request was read
    unsent = 0  # bytes of replies that wait for the client to read
    last_read = math.inf  # when there were none, or it has last read some
    limits: ConnectionLimits

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self.last_read = self.loop.time()
        self.due = self.last_read + self.limits.deadline
        if len(self.connections) > self.limits.connections:
            self.limits.make_room(self.connections)

    def data_received(self, data: bytes) -> None:
        """Read a piece of a request."""
        if self.due == math.inf and not self.under_way:  # on a kept connection, perhaps only ends of lines
            self.due = self.loop.time() + self.limits.deadline
        self.size += len(data)
        super().data_received(data)
        if self.in_head and self.size > MOST_HEADER_BYTES:
            self._refuse()
        elif self.size > MOST_REFUSED_BYTES and not self.transport.is_closing():
            self.transport.abort()

    def stalls(self, now: float) -> bool:
        """Return whether the client has not read from a reply for too long, even if uvicorn has finished the reply."""
        before, self.unsent = self.unsent, self.transport.get_write_buffer_size()
        if not self.unsent or self.unsent < before:
            self.last_read = now
        return now - self.last_read > self.limits.stalled

    @property
    def under_way(self) -> bool:
        """True while a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def on_message_begin(self) -> None:
        """Count from here."""
        super().on_message_begin()
        self.head, self.in_head, self.asked = 0, True, False
        self.due = self.loop.time() + self.limits.deadline

    def on_url(self, url: bytes) -> None:
        """Read a piece of the address."""
        self._counted(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Read a header."""
        self._counted(len(name) + len(value) + 4)
        super().on_header(name, value)

    def _counted(self, size: int) -> None:
        self.head += size
        if self.head > MOST_HEADER_BYTES:
            raise HeadTooLargeError

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        self.in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Wait for the reply; there is nothing more to read."""
        super().on_message_complete()
        self.asked, self.in_head, self.size = True, True, 0
        self.due = self.loop.time() + (self.limits.reply_deadline if self.under_way else IDLE_SECONDS)

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the end of one that was refused before it was read."""
        super().on_response_complete()
        if self.asked and not self.pipeline:
            self.due = math.inf  # uvicorn closes idle connections

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        if self.head > MOST_HEADER_BYTES:
            self._refuse()
        else:
            super().send_400_response(msg)

    def _refuse(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(HEADERS_TOO_LARGE)
            self.transport.close()


class ConnectionLimits:
    """State that the connections of one listener share: their deadlines and the maximum number of connections."""

    def __init__(
        self,
        *,
        deadline: float = REQUEST_SECONDS,
        reply_deadline: float = REPLY_SECONDS,
        stalled: float = REPLY_SECONDS,
        connections: int = MOST_CONNECTIONS,
    ) -> None:
        self.deadline, self.reply_deadline, self.stalled = deadline, reply_deadline, stalled
        self.connections = connections

    def make_room(self, connections: set[Any]) -> None:
        """Close the connections that have waited longest for the rest of a request: a twentieth of all."""
        # One that was closed stays in the set until the loop comes round to it.
        alive = [one for one in connections if not one.transport.is_closing()]
        if len(alive) > self.connections:
            waiting = sorted((one for one in alive if not one.under_way), key=lambda one: one.due)
            for one in waiting[: max(1, len(alive) // 20)]:
                one.transport.abort()

    def cut_off(self, connections: set[Any], now: float) -> None:
        """Close the connections whose time is over."""
        for one in [one for one in connections if one.due <= now or one.stalls(now)]:
            one.transport.abort()


class Listener(uvicorn.Server):
    """A web application on one socket, within the loop of a server that has several."""

    def __init__(
        self, app: ASGIApp, listening: socket.socket, limits: ConnectionLimits, context: ssl.SSLContext | None = None
    ) -> None:
        self.protocol: type[Connection] = type("LimitedConnection", (Connection,), {"limits": limits})
        super().__init__(
            uvicorn.Config(
                app,
                http=self.protocol,
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
        """The port, which the operating system may have chosen."""
        return int(self.listening.getsockname()[1])

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to whoever runs several listeners."""
        yield

    async def startup(self, sockets: object = None) -> None:
        """Begin to listen; a handshake has the time of a request."""
        await self.lifespan.startup()
        connect = functools.partial(self.protocol, self.config, self.server_state, self.lifespan.state)
        server = await asyncio.get_running_loop().create_server(
            connect,
            sock=self.listening,
            ssl=self.context,
            backlog=MOST_UNACCEPTED,
            ssl_handshake_timeout=None if self.context is None else self.limits.deadline,
        )
        self.servers = [server]
        self.started = True

    async def on_tick(self, counter: int) -> bool:
        """Look ten times a second for connections whose time is over."""
        self.limits.cut_off(self.server_state.connections, asyncio.get_running_loop().time())
        return bool(await super().on_tick(counter))
