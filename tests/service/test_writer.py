"""The thread that writes: what was acknowledged was kept, also when the database or the server gives up."""

from __future__ import annotations

import asyncio
import http
import json
import os
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from cases import COIN
from collecting_cases import open_survey
from service.serving import JSON_TYPE, asked
from warner.service.app import survey_app
from warner.service.responses import Bodies, Bundle
from warner.service.stores import opened
from warner.service.stores.contract import Collected, Outcome, Store
from warner.service.survey import Survey, survey_from_json
from warner.service.writer import FullError, NotKeptError, StoppedError, Writer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence
    from pathlib import Path


def a_survey(**fields: Any) -> Survey:
    return survey_from_json(json.dumps(open_survey([COIN], **fields)))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr("warner.service.writer.TICK_SECONDS", 0.1)
    store = opened(str(tmp_path / "collected.db"), a_survey(batch=10))
    yield store
    store.release()


def response(cell: int = 0) -> Bundle:
    return Bundle(os.urandom(16), None, ((cell,),))


def run(store: Store, work: Callable[[Writer], Awaitable[Any]], **options: Any) -> Any:
    """Do something with a writer, and stop it."""

    async def whole() -> Any:
        writer = Writer(store, **options)
        try:
            return await work(writer)
        finally:
            await writer.stop()

    return asyncio.run(whole())


class Faulty:
    """A store that does what it is told to before each transaction."""

    shared = False

    def __init__(self, store: Store, before: Callable[[Sequence[Bundle]], None], *, healthy: bool = True) -> None:
        self.store, self.before, self._healthy = store, before, healthy
        self.batches: list[int] = []

    def keep(self, bundles: Sequence[Bundle], *, limit: int | None = None) -> list[Outcome]:
        self.batches.append(len(bundles))
        self.before(bundles)
        return self.store.keep(bundles, limit=limit)

    def healthy(self) -> bool:
        return self._healthy

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


async def sent(writer: Writer, bundles: Sequence[Bundle]) -> list[Any]:
    return await asyncio.gather(*(writer.keep(bundle) for bundle in bundles), return_exceptions=True)


def test_responses_that_wait_together_are_kept_in_one_transaction(store: Store) -> None:
    at_work, go_on = threading.Event(), threading.Event()

    def held(_: Sequence[Bundle]) -> None:
        at_work.set()
        go_on.wait()

    faulty = Faulty(store, held)

    async def work(writer: Writer) -> list[Any]:
        first = asyncio.create_task(writer.keep(response()))
        await asyncio.to_thread(at_work.wait)
        others = [asyncio.create_task(writer.keep(response(1))) for _ in range(600)]
        await asyncio.sleep(0)
        go_on.set()
        return [await first, *await asyncio.gather(*others)]

    assert run(faulty, work) == [Outcome.KEPT] * 601  # type: ignore[arg-type]
    assert faulty.batches == [1, 512, 88]
    assert store.collected().tally().counts.tolist() == [1, 600]


def test_another_response_under_the_same_nonce_is_refused_in_a_reply_of_the_same_length(store: Store) -> None:
    bodies, nonce = Bodies(store.survey), os.urandom(16)

    async def work(writer: Writer) -> list[Any]:
        app = survey_app(store.survey, writer)
        path = f"/s/{store.survey.id}/report"
        sent = [bodies.write([report], nonce=nonce) for report in (0, 1, 0)]
        return [await asked(app, "POST", path, JSON_TYPE, body) for body in sent]

    replies = run(store, work)
    assert [json.loads(body) for _, _, body in replies] == [
        {"kept": True},
        {"kept": False, "why": "refused"},
        {"kept": True},  # a retry
    ]
    assert (
        len({len(http.HTTPStatus(status).phrase) + len(repr(head)) + len(body) for status, head, body in replies}) == 1
    )
    store.close()
    assert store.collected().tally().counts.tolist() == [1, 0]


def test_one_response_that_cannot_be_kept_does_not_cost_the_others(store: Store) -> None:
    broken = response(99)

    async def work(writer: Writer) -> list[Any]:
        found = await sent(writer, [response(), broken, response()])
        assert writer.trouble.startswith("IndexError")
        assert await writer.keep(response()) is Outcome.KEPT
        assert writer.trouble == ""
        return found

    first, second, third = run(store, work)
    assert first is third is Outcome.KEPT
    assert type(second) is NotKeptError


def test_a_store_that_fails_fails_for_everybody_and_recovers(store: Store) -> None:
    down = [True]

    def before(_: Sequence[Bundle]) -> None:
        if down[0]:
            raise OSError("the disk is gone\nDETAIL: something of a response")

    faulty = Faulty(store, before, healthy=False)

    async def work(writer: Writer) -> None:
        bundles = [response() for _ in range(20)]
        assert {type(outcome) for outcome in await sent(writer, bundles)} == {NotKeptError}
        assert writer.trouble == "OSError: the disk is gone"
        assert sum(faulty.batches) < 2 * len(bundles) + 5  # not each alone, once nothing works
        down[0] = False
        assert await sent(writer, bundles) == [Outcome.KEPT] * 20

    run(faulty, work)  # type: ignore[arg-type]
    assert store.collected().responses == 20


def test_too_many_who_wait_are_sent_away(store: Store) -> None:
    at_work, go_on = threading.Event(), threading.Event()

    def held(_: Sequence[Bundle]) -> None:
        at_work.set()
        go_on.wait()

    async def work(writer: Writer) -> None:
        first = asyncio.create_task(writer.keep(response()))
        await asyncio.to_thread(at_work.wait)
        others = [asyncio.create_task(writer.keep(response())) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(FullError):
            await writer.keep(response())
        go_on.set()
        assert await asyncio.gather(first, *others) == [Outcome.KEPT] * 4

    run(Faulty(store, held), work, most_waiting=3)  # type: ignore[arg-type]


def test_stopping_finishes_what_was_accepted(store: Store) -> None:
    async def work() -> list[Any]:
        writer = Writer(store)
        tasks = [asyncio.create_task(writer.keep(response())) for _ in range(2000)]
        listener = asyncio.create_task(writer.news(after=writer.latest))
        await asyncio.sleep(0)
        await writer.stop()
        with pytest.raises(StoppedError):
            await writer.keep(response())
        assert 0 < (await listener).responses <= writer.latest.responses == 2000
        with pytest.raises(StoppedError):
            await writer.news(after=writer.latest)
        return await asyncio.gather(*tasks)

    assert asyncio.run(work()) == [Outcome.KEPT] * 2000
    assert store.collected().responses == 2000


def test_whoever_leaves_is_counted_all_the_same(store: Store) -> None:
    async def work(writer: Writer) -> None:
        left = response()
        task = asyncio.create_task(writer.keep(left))
        await asyncio.sleep(0)
        task.cancel()
        assert await writer.keep(response()) is Outcome.KEPT
        await writer.close()

    run(store, work)
    assert store.collected().responses == 2


def test_news_comes_with_each_step_and_with_the_closing(store: Store) -> None:
    async def work(writer: Writer) -> list[Collected]:
        news = [await writer.news()]
        for _ in range(2):
            waiting = asyncio.create_task(writer.news(after=news[-1]))
            await sent(writer, [response() for _ in range(9)])
            await asyncio.sleep(0.05)
            await sent(writer, [response()])
            news.append(await waiting)
        await sent(writer, [response() for _ in range(3)])
        waiting = asyncio.create_task(writer.news(after=news[-1]))
        closed = await writer.close()
        news.append(await waiting)
        assert news[-1] is closed
        assert await writer.keep(response()) is Outcome.CLOSED
        return news

    news = run(store, work)
    assert [(seen.responses, seen.state) for seen in news] == [(0, "open"), (10, "open"), (20, "open"), (23, "closed")]


def test_the_log_is_emptied_soon_after_the_last_response(store: Store, tmp_path: Path) -> None:
    log = tmp_path / "collected.db-wal"

    async def work(writer: Writer) -> None:
        for _ in range(3):
            await writer.keep(response())
        until = time.monotonic() + 30
        while log.stat().st_size and time.monotonic() < until:
            await asyncio.sleep(0.02)
        assert log.stat().st_size == 0

    run(store, work)


def test_a_limit_and_health_are_those_of_the_store(store: Store) -> None:
    async def work(writer: Writer) -> None:
        assert await writer.healthy()
        assert await sent(writer, [response(), response()]) == [Outcome.KEPT, Outcome.CLOSED]
        assert await writer.healthy()
        assert (await writer.collected()).responses == 0

    run(store, work, limit=1)


def test_an_errand_that_fails_is_told_and_the_thread_goes_on(store: Store) -> None:
    def broken() -> Collected:
        raise OSError("no database")

    async def work(writer: Writer) -> None:
        right, store.collected = store.collected, broken  # type: ignore[method-assign]
        with pytest.raises(OSError, match="no database"):
            await writer.collected()
        store.collected = right  # type: ignore[method-assign]
        assert (await writer.collected()).responses == 0

    run(store, work)
