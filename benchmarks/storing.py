"""Durable responses over HTTP: all that wait in one transaction, against one each, and against a disk not waited for.

Run as a program, it is a server: `python storing.py survey.json FILE.db full 512` prints its port.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import Line
from responding import CONNECTIONS, ROUNDS, SECONDS, Crowd, example, served
from warner.service.stores.sqlite import SqliteStore
from warner.service.survey import Survey, load_survey
from warner.service.writer import MOST_TOGETHER, Writer

if TYPE_CHECKING:
    from collections.abc import Iterator

# How each server writes: SQLite's setting, and the most responses in one transaction.
SERVERS = {"ours": ("full", MOST_TOGETHER), "alone": ("full", 1), "careless": ("normal", MOST_TOGETHER)}


def storing() -> Iterator[Line]:
    survey = example()
    crowd = Crowd(survey)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        survey.save(folder / "survey.json")
        ports = {}
        for server, (synchronous, together) in SERVERS.items():
            command = (__file__, "survey.json", f"{server}.db", synchronous, str(together))
            _, ports[server] = stack.enter_context(served(folder, *command))
            crowd.rate(ports[server], seconds=SECONDS / 4)
        rounds = [{server: crowd.rate(port, seconds=SECONDS) for server, port in ports.items()} for _ in range(ROUNDS)]
    work = f"responses kept together, {CONNECTIONS} connections"
    for other, yardstick, least in (
        ("alone", "one durable transaction each", 8),
        ("careless", "synchronous = normal", 0.75),
    ):
        ratios = [rates["ours"] / rates[other] for rates in rounds]
        best, theirs = (max(rates[server] for rates in rounds) for server in ("ours", other))
        spread = f"{min(ratios):.2f} .. {max(ratios):.2f}; {best:,.0f} and {theirs:,.0f} per second"
        yield Line(work, yardstick, f">= {least:g}", best >= least * theirs, f"{best / theirs:.2f}", spread)


def serve(survey: Survey, place: str, synchronous: str, together: int) -> None:
    """Serve a survey whose database waits for the disk, or does not."""
    from warner.service.app import survey_app
    from warner.service.connections import Limits, Listener
    from warner.service.limits import Rate
    from warner.service.server import Address, loop_factory

    store = SqliteStore.opened(place, survey)
    store._connection.execute(f"pragma synchronous = {synchronous}")

    async def run() -> None:
        writer = Writer(store, most_together=together)
        app = survey_app(survey, writer, rate=Rate(0))
        listener = Listener(app, Address("127.0.0.1", 0).bound(), Limits())
        serving = asyncio.create_task(listener.serve())
        while not listener.started:
            await asyncio.sleep(0.01)
        print(f"storing :{listener.port}", flush=True)
        await serving
        await writer.stop()

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(run())
    store.release()


if __name__ == "__main__":
    serve(load_survey(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
