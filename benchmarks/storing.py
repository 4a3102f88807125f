"""Durable responses: all that wait in one transaction, against one each; and, over HTTP, against a disk not waited for.

A disk that others use, too, takes 0.5 ms at one moment and 10 ms at the next. So rounds are short and taken in turn,
and the ratio is the median of those of the single rounds.

Run as a program, it is a server: `python storing.py survey.json FILE.db full` prints its port.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from measuring import Line
from responding import CONNECTIONS, Crowd, example, served
from warner.service.responses import Bodies
from warner.service.stores.sqlite import SqliteStore
from warner.service.survey import Survey, load_survey
from warner.service.writer import RESPONSES_PER_TRANSACTION, Writer

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS = 15
SECONDS = 0.6  # of a round
TOGETHER, ALONE = 3000, 200  # responses of a round without HTTP: some tenths of a second


def storing() -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as name:
        pairs = kept_together_and_alone(Path(name))
        yield line(f"responses kept together, {CONNECTIONS} clients", "one durable transaction each", 8, pairs)
    with tempfile.TemporaryDirectory() as name:
        pairs = durable_and_not(Path(name))
        yield line(f"durable responses, {CONNECTIONS} connections", "synchronous = normal", 0.75, pairs)


def line(work: str, yardstick: str, least: float, pairs: list[tuple[float, float]]) -> Line:
    ratios = [ours / other for ours, other in pairs]
    ratio = median(ratios)
    ours, other = (median(rates) for rates in zip(*pairs, strict=True))
    spread = f"{min(ratios):.2f} .. {max(ratios):.2f}; {ours:,.0f} and {other:,.0f} per second"
    return Line(work, yardstick, f">= {least:g}", ratio >= least, f"{ratio:.2f}", spread)


def kept_together_and_alone(folder: Path) -> list[tuple[float, float]]:
    """Return responses per second of the writer alone, with all that wait in one transaction, and with one each."""
    stores = [SqliteStore.opened(str(folder / f"{name}.db"), example()) for name in ("together", "alone")]
    try:
        return [
            (written_rate(stores[0], TOGETHER, RESPONSES_PER_TRANSACTION), written_rate(stores[1], ALONE, 1))
            for _ in range(ROUNDS)
        ]
    finally:
        for store in stores:
            store.release()


def written_rate(store: SqliteStore, number: int, together: int) -> float:
    """Send responses from many clients, each of which waits for its answer."""
    bodies = Bodies(store.survey)
    sent = iter([bodies.write([0] * len(store.survey.questions), nonce=os.urandom(16)) for _ in range(number)])

    async def client(writer: Writer) -> None:
        for body in sent:
            await writer.keep(bodies.read(body))

    async def crowd() -> float:
        writer = Writer(store, most_together=together)
        start = time.perf_counter()
        await asyncio.gather(*(client(writer) for _ in range(CONNECTIONS)))
        taken = time.perf_counter() - start
        await writer.stop()
        return number / taken

    return asyncio.run(crowd())


def durable_and_not(folder: Path) -> list[tuple[float, float]]:
    """Return responses per second over HTTP, of a server that waits for the disk and of one that does not."""
    survey = example()
    survey.save(folder / "survey.json")
    crowd = Crowd(survey)
    with ExitStack() as stack:
        ports = []
        for synchronous in ("full", "normal"):
            command = (__file__, "survey.json", f"{synchronous}.db", synchronous)
            ports.append(stack.enter_context(served(folder, *command))[1])
            crowd.rate(ports[-1], seconds=SECONDS)
        return [(crowd.rate(ports[0], seconds=SECONDS), crowd.rate(ports[1], seconds=SECONDS)) for _ in range(ROUNDS)]


def serve(survey: Survey, place: str, synchronous: str) -> None:
    """Serve a survey whose database waits for the disk, or does not."""
    from warner.service.app import Rate, survey_app
    from warner.service.connections import ConnectionLimits, Listener
    from warner.service.server import Address, loop_factory

    store = SqliteStore.opened(place, survey)
    store._connection.execute(f"pragma synchronous = {synchronous}")

    async def run() -> None:
        writer = Writer(store)
        app = survey_app(survey, writer, rate=Rate(0))
        listener = Listener(app, Address("127.0.0.1", 0).bound(), ConnectionLimits())
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
    serve(load_survey(sys.argv[1]), sys.argv[2], sys.argv[3])
