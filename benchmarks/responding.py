"""Responses over HTTP, kept on disk, against an endpoint that reads and checks them the same way and keeps nothing.

Run as a program, it is that endpoint: `python responding.py survey.json` prints its port.
"""

from __future__ import annotations

import asyncio
import base64
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measuring import Line
from warner import RandomizedResponse
from warner.service.responses import Bodies
from warner.service.stores import collected
from warner.service.survey import Question, Survey, load_survey

if TYPE_CHECKING:
    from collections.abc import Iterator

CONNECTIONS = 64
ROUNDS = 10
SECONDS = 1.0  # of a round
FEW, MANY = 10**4, 10**5  # responses after which memory is measured
PATIENCE = 60.0  # seconds that a server may take to start


def example() -> Survey:
    """Return a survey of three questions."""
    design = RandomizedResponse(["never", "once", "a few times", "every month", "every week"], epsilon=1.5)
    questions = tuple(Question(f"q{i}", "How often?", "device", design) for i in range(3))
    return Survey("bench", "A survey", "en", "", "", "", "counts", 10, "open", (), questions)


class Sender(asyncio.Protocol):
    """One connection that sends a response as soon as the last one was thanked for."""

    def __init__(self, crowd: Crowd) -> None:
        self.crowd = crowd
        self.received = 0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.crowd.send(transport)

    def data_received(self, data: bytes) -> None:
        if not self.received and not data.startswith(b"HTTP/1.1 200 "):
            self.crowd.failed = data[:60]
            self.transport.close()
            return
        self.received += len(data)
        if self.crowd.length == 0:  # of the first reply; all have one length
            head, _, _ = data.partition(b"\r\n\r\n")
            self.crowd.length = len(head) + 4 + int(re.findall(rb"content-length: (\d+)", head)[0])
        if self.received >= self.crowd.length:
            self.received -= self.crowd.length
            self.crowd.thanked += 1
            self.crowd.send(self.transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.crowd.connected -= 1


class Crowd:
    """People who respond all at once, each with a nonce of its own, for some seconds or until there are enough."""

    def __init__(self, survey: Survey) -> None:
        reports = [0] * len(survey.questions)
        body = Bodies(survey).write(reports, nonce=bytes(16))
        head = (
            f"POST /s/{survey.id}/report HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self.before, self.after = (head.encode() + body).split(b"A" * 22)
        self.length = self.thanked = self.connected = 0
        self.failed = b""

    def send(self, transport: asyncio.Transport) -> None:
        if time.perf_counter() >= self.end or self.started >= self.enough:
            transport.close()
            return
        self.started += 1
        nonce = base64.urlsafe_b64encode(os.urandom(16))[:22]
        transport.write(self.before + nonce + self.after)

    def rate(self, port: int, *, seconds: float = 1e9, enough: int = sys.maxsize) -> float:
        """Return the responses per second that were thanked for."""
        return asyncio.run(self._rate(port, seconds, enough))

    async def _rate(self, port: int, seconds: float, enough: int) -> float:
        self.thanked, self.started, self.enough = 0, 0, enough
        start = time.perf_counter()
        self.end = start + seconds
        loop = asyncio.get_running_loop()
        self.connected = CONNECTIONS
        for _ in range(CONNECTIONS):
            await loop.create_connection(lambda: Sender(self), "127.0.0.1", port)
        while self.connected:
            await asyncio.sleep(0.01)
        if self.failed:
            raise RuntimeError(f"a response was refused: {self.failed!r}")
        return self.thanked / (time.perf_counter() - start)


@contextmanager
def served(folder: Path, *command: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Run a server, and give its process and its port."""
    with subprocess.Popen([sys.executable, *command], cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = re.search(r":(\d+)", process.stdout.readline())
            if port is None:
                raise RuntimeError("the server did not start")
            yield process, int(port[1])
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)


def resident(process: subprocess.Popen[str]) -> float:
    """Return the memory that a process holds, in MB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) / 1024


def collecting() -> Iterator[Line]:
    survey = example()
    crowd = Crowd(survey)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        survey.save(folder / "survey.json")
        options = ("--port", "0", "--dashboard-port", "0", "--rate", "0")
        process, kept = stack.enter_context(served(folder, "-m", "warner", "collect", "survey.json", *options))
        yield page_requests(kept)
        crowd.rate(kept, enough=FEW)
        few = resident(process) if sys.platform == "linux" else 0.0
        _, echo = stack.enter_context(served(folder, __file__, "survey.json"))
        crowd.rate(echo, seconds=SECONDS / 4)
        pairs = [(crowd.rate(echo, seconds=SECONDS), crowd.rate(kept, seconds=SECONDS)) for _ in range(ROUNDS)]
        ratio = max(ours for _, ours in pairs) / max(bare for bare, _ in pairs)
        ratios = [ours / bare for bare, ours in pairs]
        work = f"responses kept on disk, {CONNECTIONS} connections"
        spread = f"{min(ratios):.2f} .. {max(ratios):.2f}; {max(ours for _, ours in pairs):,.0f} per second"
        yield Line(work, "the same parsing, nothing kept", ">= 0.6", ratio >= 0.6, f"{ratio:.2f}", spread)
        if sys.platform != "linux":
            yield Line("memory of the server", "(measured on Linux)", "", True, "", "")
            return
        so_far = collected(str(folder / "bench.db")).responses
        crowd.rate(kept, enough=max(0, MANY - so_far))
        many = resident(process)
        told = collected(str(folder / "bench.db")).responses
        work, spread = f"memory after {told:,} responses", f"{few:.0f} MB, {many:.0f} MB"
        yield Line(work, f"after {FEW:,}", "<= 1.2x", many <= 1.2 * few, f"{many / few:.2f}x", spread)


def page_requests(port: int) -> Line:
    """Count what a browser must load beside the page before its first question is there."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as reply:
        page = reply.read().decode()
    loaded = set(re.findall(r'(?:src|href)="([^"]+)"', page))
    elsewhere = [address for address in loaded if not address.startswith("/static/")]
    good = len(loaded) <= 3 and not elsewhere
    return Line("the page: requests beside itself", "files of its own server", "<= 3", good, str(len(loaded)), "")


def echo(survey: Survey) -> None:
    """Serve an endpoint that does everything but keep."""
    from warner.service.app import Rate, survey_app
    from warner.service.connections import ConnectionLimits, Listener
    from warner.service.server import Address, loop_factory
    from warner.service.stores.contract import Outcome

    class Echo:
        closed = False

        async def keep(self, bundle: object) -> Outcome:
            return Outcome.KEPT

        async def standing(self, token: object) -> None:
            return None

        async def healthy(self) -> bool:
            return True

    listener = Listener(survey_app(survey, Echo(), rate=Rate(0)), Address("127.0.0.1", 0).bound(), ConnectionLimits())

    async def run() -> None:
        serving = asyncio.create_task(listener.serve())
        while not listener.started:
            await asyncio.sleep(0.01)
        print(f"echo :{listener.port}", flush=True)
        await serving

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(run())


if __name__ == "__main__":
    echo(load_survey(sys.argv[1]))
