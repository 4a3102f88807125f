"""A dashboard on a listener of its own, over counts that a test sets, and surveys to fill it with."""

from __future__ import annotations

import asyncio
import math
import threading
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the server is an extra, and not installed")

from warner.service.connections import ConnectionLimits, Listener
from warner.service.dashboard import Admission, dashboard_app, new_key
from warner.service.server import Address
from warner.service.stores.contract import Collected
from warner.service.survey import Survey, load_survey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXAMPLE = Path(__file__).parents[2] / "examples" / "survey.json"
SHARES = {2: [0.3, 0.7], 5: [0.5, 0.2, 0.15, 0.1, 0.05]}


def example() -> Survey:
    """Return the example of a survey."""
    return load_survey(EXAMPLE)


def nothing(survey: Survey) -> Collected:
    """Return a survey without responses."""
    cells = tuple(np.zeros((survey.strata, layout.width), dtype=np.int64) for layout in survey.layouts)
    return Collected(survey, "open", 0, cells, {})


def filled(survey: Survey, n: int, state: str = "open", seed: int = 1) -> Collected:
    """Return a survey that so many people have answered; each question counts its reports once."""
    rng = np.random.default_rng(seed)
    people = rng.multinomial(n, np.full(survey.strata, 1 / survey.strata))
    cells = []
    for question, layout in zip(survey.questions, survey.layouts, strict=True):
        k = question.listed.k
        shares = np.array(SHARES.get(k, np.full(k, 1 / k)))
        law = np.append(shares @ question.listed.as_channel().channel(), [0.0] * layout.optional)
        cells.append(np.array([rng.multinomial(some, law) for some in people]))
    days = {"2026-11-12": n // 4, "2026-11-13": n // 2, "2026-11-15": n - n // 4 - n // 2} if n else {}
    return Collected(survey, state, n, tuple(cells), days)


class Steps:
    """Publishes what a test tells it to, as the writer does."""

    def __init__(self, collected: Collected) -> None:
        self.latest, self.trouble, self.closings = collected, "", 0
        self.looks = 0  # how often a client waited for more

    def publish(self, collected: Collected) -> None:
        """Publish a step, from any thread."""
        self.latest = collected

    async def collected(self) -> Collected:
        return self.latest

    async def news(self, after: Collected | None = None) -> Collected:
        self.looks += 1
        while self.latest is after:
            await asyncio.sleep(0.01)
        return self.latest

    async def close(self) -> Collected:
        self.closings += 1
        self.latest = replace(self.latest, state="closed")
        return self.latest


@dataclass
class Dashboard:
    """A dashboard that runs."""

    steps: Steps
    key: str
    port: int
    stop: Callable[[], None]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def link(self) -> str:
        return f"{self.url}/dashboard?key={self.key}"


@contextmanager
def dashboard(
    collected: Collected,
    *,
    admission: Admission | None = None,
    port: int = 0,
    certificate: str = "",
    public: str = "https://example.org/s/a",
) -> Iterator[Dashboard]:
    """Run the dashboard at a port of this machine, any that is free, in a thread of this process."""
    key, steps, ready = new_key(), Steps(collected), threading.Event()
    running: list[Any] = []

    async def run(at: Any) -> None:
        stopping = asyncio.Event()
        door = admission or Admission(key)
        app = dashboard_app(collected.survey, steps, door, public=public, stopping=stopping, certificate=certificate)
        listener = Listener(app, at, ConnectionLimits(reply_deadline=math.inf))
        running.extend((asyncio.get_running_loop(), stopping))
        serving = asyncio.create_task(listener.serve())
        while not listener.started:
            await asyncio.sleep(0.001)
        ready.set()
        await stopping.wait()
        listener.should_exit = True
        await serving

    with closing(Address("127.0.0.1", port).bound()) as at:
        thread = threading.Thread(target=lambda: asyncio.run(run(at)))
        thread.start()
        assert ready.wait(60)
        loop, stopping = running

        def stop() -> None:
            if thread.is_alive():
                loop.call_soon_threadsafe(stopping.set)
            thread.join(20)
            assert not thread.is_alive(), "the dashboard does not stop"

        try:
            yield Dashboard(steps, key, at.getsockname()[1], stop)
        finally:
            stop()
