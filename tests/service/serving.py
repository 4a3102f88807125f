"""Servers for the tests: one in a thread of this process, with a stand-in for the writer; and the command itself."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the server is an extra, and not installed")

from collecting_cases import open_survey
from warner import RandomizedResponse, UnaryEncoding
from warner.service.connections import ConnectionLimits, Listener
from warner.service.responses import OPEN_TOKEN, Bodies
from warner.service.server import Address
from warner.service.stores.contract import Outcome
from warner.service.survey import survey_from_json
from warner.service.writer import NotKeptError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from starlette.types import ASGIApp

    from warner.service.responses import Bundle
    from warner.service.survey import Survey

STARTED = 60.0  # seconds that a server may take to start on a busy machine
JSON_TYPE = {"content-type": "application/json"}


class StandIn:
    """Keeps nothing; the first byte of the nonce says what becomes of a response."""

    OUTCOMES = (Outcome.KEPT, Outcome.USED, Outcome.UNINVITED, Outcome.CLOSED)
    STANDINGS = (None, Outcome.USED, Outcome.REVOKED, Outcome.EARLY, Outcome.CLOSED)

    def __init__(self) -> None:
        self.bundles: list[Bundle] = []
        self.well = True
        self.closed = False

    async def keep(self, bundle: Bundle) -> Outcome:
        self.bundles.append(bundle)
        place = bundle.nonce[0]
        if place == len(self.OUTCOMES):
            raise NotKeptError
        if place == len(self.OUTCOMES) + 1:
            raise KeyError(bundle.nonce.hex())  # a mistake of ours that names something of the request
        return self.OUTCOMES[place]

    async def standing(self, token: bytes | None) -> Outcome | None:
        return None if token is None else self.STANDINGS[token[0]]

    async def healthy(self) -> bool:
        return self.well


NONCES = {
    word: bytes([place]) + bytes(15)
    for place, word in enumerate(("kept", "used", "uninvited", "closed", "busy", "error"))
}


def body_of(survey: Survey, nonce: bytes | None = None, token: str | None = None) -> bytes:
    """Return the body of a made-up response."""
    bodies = Bodies(survey)
    reports = [item.design.draw(np.array([0]), os.urandom)[0] for item in survey.items]
    kept = nonce or b"\0" + os.urandom(15)  # the stand-in keeps it
    return bodies.write(reports, nonce=kept, token=token or OPEN_TOKEN, groups=[0] * len(survey.groups))


def survey_of(**fields: Any) -> Survey:
    """Return a survey of two questions, and other fields as given."""
    designs = (RandomizedResponse(["never", "once", "often"], odds=(3, 1)), UnaryEncoding(9, odds=(3, 1)))
    return survey_from_json(json.dumps(open_survey(designs, **fields)))


async def asked(
    app: ASGIApp, method: str, path: str, headers: dict[str, str] | None = None, body: bytes = b""
) -> tuple[int, dict[str, str], bytes]:
    """Call a web application without a server: status, headers and body of its reply."""
    sent: list[Any] = []
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return waiting.pop() if waiting else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    pairs = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": pairs,
        "client": ("192.0.2.1", 1),
    }
    await app(scope, receive, send)
    head = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], head, b"".join(message.get("body", b"") for message in sent[1:])


@contextmanager
def listening(app: ASGIApp, **limits: Any) -> Iterator[Listener]:
    """Serve an application in a thread of this process; `port` is where."""
    started = threading.Event()
    with closing(Address("127.0.0.1", 0).bound()) as public:
        listener = Listener(app, public, ConnectionLimits(**limits))

        async def run() -> None:
            started.set()
            await listener.serve()

        thread = threading.Thread(target=lambda: asyncio.run(run()))
        thread.start()
        started.wait(STARTED)
        until(lambda: listener.started)
        try:
            yield listener
        finally:
            listener.should_exit = True
            thread.join()


def until(happened: Callable[[], object], seconds: float = STARTED) -> None:
    """Wait until something has happened."""
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.01)


def exchanged(port: int, sent: bytes, *, patience: float = 20.0) -> bytes:
    """Send bytes on a connection of its own, and give all that comes until it is closed."""
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as connection:
        received = b""
        try:
            connection.sendall(sent)
            while piece := connection.recv(65536):
                received += piece
        except ConnectionError:
            pass
        return received


def posted(survey: Survey, body: bytes, *headers: str, method: str = "POST") -> bytes:
    """Write a request by which a page sends a response; the connection is closed after it."""
    head = [
        f"{method} /s/{survey.id}/report HTTP/1.1",
        "Host: localhost",
        "Connection: close",
        *(headers or ("Content-Type: application/json",)),
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


class Running:
    """A survey that is served by the command, in a process of its own."""

    def __init__(
        self,
        folder: Path,
        *options: str,
        survey: str = "survey.json",
        command: tuple[str, ...] = ("collect",),
        environment: dict[str, str] | None = None,
    ):
        self.folder = folder
        self.out, self.err = folder / "stdout.txt", folder / "stderr.txt"
        with self.out.open("ab") as out, self.err.open("ab") as err:
            start = out.tell()
            self.process = subprocess.Popen(
                [sys.executable, "-m", "warner", *command, survey, "--port", "0", "--dashboard-port", "0", *options],
                cwd=folder,
                stdout=out,
                stderr=err,
                env={**os.environ, **(environment or {})},
            )
        try:
            until(lambda: self.process.poll() is not None or b"Ctrl-C" in self.out.read_bytes()[start:])
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        self.said = self.out.read_bytes()[start:].decode()
        assert self.process.poll() is None, self.err.read_text()
        found = re.search(r"survey +https?://[^ ]*?:(\d+)/s/", self.said)
        assert found is not None
        self.port = int(found[1])
        other = re.search(r"dashboard +https?://[^ ]*?:(\d+)/", self.said)
        assert other is not None
        self.dashboard_port = int(other[1])

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Stop the server, and give its exit code."""
        self.process.send_signal(number)
        return self.process.wait(STARTED)


@contextmanager
def collecting(folder: Path, survey: Survey, *options: str, **more: Any) -> Iterator[Running]:
    """Run `warner collect` on a survey in a folder."""
    survey.save(folder / "survey.json")
    running = Running(folder, *options, **more)
    try:
        yield running
    finally:
        running.process.kill()
        running.process.wait()
