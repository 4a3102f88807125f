"""A dashboard on a listener of its own, over counts that a test sets, and surveys to fill it with."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from warner.service.admission import Admission, new_key
from warner.service.stores.contract import Collected
from warner.service.survey import Survey, load_survey

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLE = Path(__file__).parents[2] / "examples" / "survey.json"
SHARES = {2: [0.3, 0.7], 5: [0.5, 0.2, 0.15, 0.1, 0.05]}


def example() -> Survey:
    """Give the example of a survey."""
    return load_survey(EXAMPLE)


def nothing(survey: Survey) -> Collected:
    """Give a survey that nobody has answered."""
    cells = tuple(np.zeros((survey.strata, layout.width), dtype=np.int64) for layout in survey.layouts)
    return Collected(survey, "open", 0, cells, {})


def filled(survey: Survey, n: int, state: str = "open", seed: int = 1) -> Collected:
    """Give a survey that so many people have answered; each question counts its reports once."""
    rng = np.random.default_rng(seed)
    people = rng.multinomial(n, np.full(survey.strata, 1 / survey.strata))
    cells = []
    for question, layout in zip(survey.questions, survey.layouts, strict=True):
        k = question.design.k
        shares = np.array(SHARES.get(k, np.full(k, 1 / k)))
        law = np.append(shares @ question.design.channel(), [0.0] * layout.optional)
        cells.append(np.array([rng.multinomial(some, law) for some in people]))
    days = {"2026-11-12": n // 4, "2026-11-13": n // 2, "2026-11-15": n - n // 4 - n // 2} if n else {}
    return Collected(survey, state, n, tuple(cells), days)


@dataclass
class Dashboard:
    """A dashboard that runs; `collected` may be set."""

    collected: Collected
    key: str = field(default_factory=new_key)
    port: int = 0
    closings: int = 0
    server: Any = None
    stopped: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def link(self) -> str:
        return f"{self.url}/dashboard?key={self.key}"

    async def close(self) -> None:
        self.closings += 1
        self.collected = replace(self.collected, state="closed")

    def stop(self) -> None:
        self.server.should_exit = True
        loop: asyncio.AbstractEventLoop = self.loop
        loop.call_soon_threadsafe(self.stopped.set)

    loop: Any = None


@contextmanager
def dashboard(collected: Collected, *, port: int = 0, key: str | None = None, **options: Any) -> Iterator[Dashboard]:
    """Run the dashboard on any free port of this machine."""
    uvicorn = pytest.importorskip("uvicorn")
    from warner.service.dashboard import dashboard_app

    running = Dashboard(collected, **({} if key is None else {"key": key}))
    app = dashboard_app(
        collected.survey,
        lambda: running.collected,
        running.close,
        admission=options.pop("admission", None) or Admission(running.key),
        public="https://survey.example.org",
        stopped=running.stopped,
        **options,
    )
    config = uvicorn.Config(
        app, port=port, lifespan="off", access_log=False, log_level="error", timeout_graceful_shutdown=3
    )
    running.server = uvicorn.Server(config)

    def run() -> None:
        loop = running.loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(running.server.serve())
        finally:
            loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        while not running.server.started:
            thread.join(0.01)
            assert thread.is_alive(), "the dashboard did not start"
        running.port = running.server.servers[0].sockets[0].getsockname()[1]
        yield running
    finally:
        running.stop()
        thread.join(10)
        assert not thread.is_alive(), "the dashboard does not stop"
