"""Writer: one thread that keeps all waiting responses in one transaction.

A durable transaction waits for the disk, some milliseconds, for any number of responses. Responses are acknowledged
after their transaction. The event loop of the server never waits for the disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import time
from collections import deque
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from warner.service.stores import contract

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from warner.service.responses import Bundle
    from warner.service.stores.contract import Collected, Outcome, Store

RESPONSES_PER_TRANSACTION = 512
MOST_RESPONSES_WAITING = 8192  # more are rejected as busy
TICK_SECONDS = 1.0  # between two calls of `Store.tidy`, and between two announcements of published steps
JOIN_SECONDS = 2.0  # that stopping waits for a transaction
LOOK_SECONDS = 2.0  # between two checks of what other processes have published
CLOCK_SECONDS = 600.0  # between two checks of the clock for the end of a survey, because the clock may be set
COMPLAINT_SECONDS = 60.0  # between two lines on the database

Value = TypeVar("Value")


class NotKeptError(RuntimeError):
    """Error of a response that was not kept and may be sent again; `Writer.trouble` has the reason."""


class FullError(NotKeptError):
    """Error if too many responses wait."""


class StoppedError(NotKeptError):
    """Error after the writer was stopped."""


class _Waiting(NamedTuple):
    work: Any  # a response to keep, or a function to call
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop


class Writer:
    """Thread that writes to a store; its methods can be called from any event loop.

    The thread alone uses the store. `log` is called with a line when the database cannot be written, when it can again,
    and when the survey is closed.
    """

    def __init__(
        self,
        store: Store,
        *,
        limit: int | None = None,
        most_together: int = RESPONSES_PER_TRANSACTION,
        most_waiting: int = MOST_RESPONSES_WAITING,
        log: Callable[[str], object] | None = None,
    ) -> None:
        self.store, self.limit = store, limit
        self.most_together, self.most_waiting = most_together, most_waiting
        self.log = log or (lambda _: None)
        self.latest: Collected = store.collected()  # at most `TICK_SECONDS` old; `news` waits for the next one
        self.trouble = ""  # last error of the database, without anything of a response; empty without error
        self._responses: deque[_Waiting] = deque()
        self._errands: deque[_Waiting] = deque()
        self._listeners: list[_Waiting] = []
        self._change = threading.Condition()  # guards these three queues and `_stopping`
        self._stopping = False
        self._untidy = False  # True if something was written since the last call of `tidy`
        self._announced = store.published
        # Times of the last call of `tidy`, check of the store, good transaction, check of the clock, and complaint
        self._ticked = self._looked = self._worked = self._glanced = self._complained = -math.inf
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    async def keep(self, bundle: Bundle) -> Outcome:
        """Keep a response; return when it is on the disk, or raise `NotKeptError`."""
        outcome: Outcome = await self._result(self._responses, bundle, most=self.most_waiting)
        return outcome

    async def close(self) -> Collected:
        """Close the survey permanently and return the published state."""
        return await self._done(self._close)

    async def standing(self, token: bytes | None) -> Outcome | None:
        """Return the certain outcome of a response before it is made; None if it may be kept."""
        outcome: Outcome | None = await self._result(
            self._errands, lambda: self.store.standing(token), most=self.most_waiting
        )
        return outcome

    async def collected(self) -> Collected:
        return await self._done(self.store.collected)

    async def healthy(self) -> bool:
        """Return True if a write transaction works, or has worked within the last second."""
        return await self._done(self._healthy)

    @property
    def closed(self) -> bool:
        return self.latest.state == "closed"

    async def news(self, after: Collected | None = None) -> Collected:
        """Return the published state as soon as it differs from `after`."""
        with self._change:
            if self.latest is not after:
                return self.latest
            self._listeners = [listener for listener in self._listeners if not listener.future.done()]
            future = self._queued(self._listeners, None)
        news: Collected = await future
        return news

    async def stop(self) -> None:
        """Keep all accepted responses and end the thread.

        A thread that is stuck in its database is abandoned after `JOIN_SECONDS` seconds; its responses were not
        acknowledged.
        """
        with self._change:
            self._stopping = True
            self._change.notify()
        await asyncio.to_thread(self._thread.join, JOIN_SECONDS)

    @property
    def stuck(self) -> bool:
        """True while the thread runs, so that the store must not be used."""
        return self._thread.is_alive()

    async def _done(self, errand: Callable[[], Value]) -> Value:
        value: Value = await self._result(self._errands, errand)
        return value

    async def _result(self, queue: deque[_Waiting], work: Any, most: float = math.inf) -> Any:
        with self._change:
            if len(queue) >= most:
                raise FullError("too many responses wait")
            future = self._queued(queue, work)
            self._change.notify()
        return await future

    def _queued(self, queue: deque[_Waiting] | list[_Waiting], work: Any) -> asyncio.Future[Any]:
        if self._stopping:
            raise StoppedError("the writer has been stopped")
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        queue.append(_Waiting(work, future, loop))
        return future

    # The methods below run in the thread.

    def _run(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._responses or self._errands or self._stopping, self._patience())
                together = [self._responses.popleft() for _ in range(min(len(self._responses), self.most_together))]
                errands = [self._errands.popleft() for _ in range(len(self._errands))]
                ending = self._stopping and not together and not errands
            if together:
                self._keep(together)
            for errand in errands:
                _resolve_all([errand], [self._tried(errand.work)])
            now = time.monotonic()
            if self._untidy and (ending or now - self._ticked >= TICK_SECONDS):
                self._tried(self._tick)
            elif self.store.shared and now - self._looked >= LOOK_SECONDS and not ending:
                self._tried(self._look)
            if self._is_over() and not ending:
                self._glanced = now
                self._tried(self._close)
            if ending:
                break
        _resolve_all(self._listeners, [StoppedError("the writer has been stopped")] * len(self._listeners))

    def _patience(self) -> float | None:
        """Return the seconds until the next scheduled task."""
        due = [self._ticked + TICK_SECONDS] if self._untidy else []
        if self.store.shared:
            due.append(self._looked + LOOK_SECONDS)
        if self.store.survey.closes is not None and not self.closed:
            left = (datetime.fromisoformat(self.store.survey.closes) - contract.now()).total_seconds()
            due.append(max(self._glanced + TICK_SECONDS, time.monotonic() + min(max(left, 0.0), CLOCK_SECONDS)))
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _is_over(self) -> bool:
        """Return True if the survey must be closed because its time is over; failures are retried after a delay."""
        waited = time.monotonic() - self._glanced >= TICK_SECONDS
        return not self.closed and self.store.survey.over(contract.now()) and waited

    def _keep(self, together: list[_Waiting]) -> None:
        bundles = [waiting.work for waiting in together]
        self._untidy = True
        outcomes = self._tried(self.store.keep, bundles, limit=self.limit)
        if isinstance(outcomes, Exception):
            outcomes = self._kept_alone(bundles)
            if any(isinstance(outcome, Exception) for outcome in outcomes):
                self._complain()
        else:
            self._worked = time.monotonic()
            if self.trouble and self._complained > -math.inf:
                self._complained = -math.inf
                self.log("warner: the database can be written again, and responses are kept\n")
            self.trouble = ""
        _resolve_all(together, outcomes)

    def _kept_alone(self, bundles: list[Bundle]) -> list[Outcome | Exception]:
        """Keep each response in a separate transaction, as long as the store works."""
        outcomes: list[Outcome | Exception] = []
        works = True
        for bundle in bundles:
            kept = self._tried(self.store.keep, [bundle], limit=self.limit) if works else None
            if isinstance(kept, list):
                outcomes += kept
            else:
                outcomes.append(NotKeptError("the database could not be written"))
                works = works and self._tried(self.store.healthy) is True
        return outcomes

    def _complain(self) -> None:
        if time.monotonic() - self._complained >= COMPLAINT_SECONDS:
            self._complained = time.monotonic()
            self.log(f"warner: responses cannot be kept, so none is confirmed: {self.trouble}\n")

    def _tick(self) -> None:
        self._ticked = time.monotonic()
        self._untidy = not self.store.tidy()
        if self.store.published != self._announced:
            self._announce(self.store.collected())

    def _look(self) -> None:
        self._looked = time.monotonic()
        collected = self.store.collected()
        if (collected.responses, collected.state) != (self.latest.responses, self.latest.state):
            self._announce(collected)

    def _close(self) -> Collected:
        self.store.close()
        self._untidy = True
        self._announce(self.store.collected())
        return self.latest

    def _healthy(self) -> bool:
        if time.monotonic() - self._worked < TICK_SECONDS:
            return True
        self._untidy = True
        if healthy := self.store.healthy():
            self._worked = time.monotonic()
        return healthy

    def _announce(self, collected: Collected) -> None:
        with self._change:
            before, self.latest = self.latest, collected
            self._announced = collected.responses
            listeners, self._listeners = self._listeners, []
        _resolve_all(listeners, [collected] * len(listeners))
        if before.state != collected.state:
            self.log(f"warner: the survey is {contract.closing_words(collected)}\n")

    def _tried(self, work: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        try:
            return work(*arguments, **options)
        except Exception as error:  # noqa: BLE001 - the thread must survive all errors
            first = str(error).partition("\n")[0]  # later lines may contain values
            self.trouble = f"{type(error).__name__}: {first}"
            return error


def _resolve_all(waiting: Iterable[_Waiting], results: Iterable[Any]) -> None:
    """Resolve each future in its event loop."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for (_, future, loop), result in zip(waiting, results, strict=True):
        loops.setdefault(loop, []).append((future, result))
    for loop, pairs in loops.items():
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(_resolve, pairs)


def _resolve(pairs: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, result in pairs:
        if future.done():  # cancelled
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
