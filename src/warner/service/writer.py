"""The writer: one thread that keeps responses, those that wait together in one transaction.

A durable transaction waits for the disk, some milliseconds, however many responses are in it. So the thread takes all
that wait, keeps them, and only then tells those who wait for each: what was acknowledged is on the disk. The event loop
of the server never waits for the disk itself.
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

RESPONSES_PER_TRANSACTION = 512  # responses in one transaction
MOST_RESPONSES_WAITING = 8192  # responses that wait for the thread; more are sent away for a moment
TICK_SECONDS = 1.0  # seconds between two calls of `Store.tidy`, and between two announcements of published steps
JOIN_SECONDS = 2.0  # seconds that stopping waits for a transaction that is under way
LOOK_SECONDS = 2.0  # seconds between two looks at what other processes have published
CLOCK_SECONDS = 600.0  # seconds between two looks at the clock, for the end of a survey: somebody may set it
COMPLAINT_SECONDS = 60.0  # seconds for which one line about the database is enough

Value = TypeVar("Value")


class NotKeptError(RuntimeError):
    """A response was not kept, and may be sent again as it is; `Writer.trouble` says why."""


class FullError(NotKeptError):
    """Too many responses wait: send it again in a moment."""


class StoppedError(NotKeptError):
    """The writer has been stopped."""


class _Waiting(NamedTuple):
    """Somebody who waits for the thread: for a response that is to be kept, or for an errand."""

    what: Any
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop


class Writer:
    """The thread that writes to a store; everything else asks it, from any event loop.

    Parameters
    ----------
    store : Store
        Where responses are kept. From now on only this thread uses it.
    limit : int, optional
        The most responses that the survey takes.
    most_together, most_waiting : int
        The most responses in one transaction, and the most that wait for one.
    log : callable, optional
        Is told a line when the database cannot be written, when it can again, and when the survey is closed.

    Attributes
    ----------
    latest : Collected
        What was published, at most `TICK_SECONDS` seconds ago; `news` waits for more.
    trouble : str
        What went wrong with the database last time; empty if nothing did. It carries nothing of a response.

    Examples
    --------
    >>> import asyncio, os, tempfile
    >>> from warner import RandomizedResponse
    >>> from warner.service.responses import Bundle
    >>> from warner.service.stores import opened
    >>> from warner.service.survey import Question, Survey
    >>> question = Question("q", "Do you?", "device", RandomizedResponse(["yes", "no"], odds=(3, 1)))
    >>> survey = Survey("example", "An example", "en", "", "", "", "counts", 1, "open", (), (question,))
    >>> async def one_response(store):
    ...     writer = Writer(store)
    ...     outcome = await writer.keep(Bundle(os.urandom(16), None, ((0,),)))
    ...     await writer.stop()
    ...     return outcome
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = opened(f"{folder}/collected.db", survey)
    ...     print(asyncio.run(one_response(store)), store.collected().tally().counts)
    ...     store.release()
    Outcome.KEPT [1 0]
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
        self.store = store
        self.limit = limit
        self.most_together = most_together
        self.most_waiting = most_waiting
        self.log = log or (lambda _: None)
        self.latest: Collected = store.collected()
        self.trouble = ""
        self._responses: deque[_Waiting] = deque()
        self._errands: deque[_Waiting] = deque()
        self._listeners: list[_Waiting] = []
        self._change = threading.Condition()  # guards these three, and the end
        self._stopping = False
        self._untidy = False  # something was written since the last tidying
        self._announced = store.published
        self._ticked = self._looked = self._worked = -math.inf  # when; the last is that of a transaction that worked
        self._glanced = self._complained = -math.inf
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    async def keep(self, bundle: Bundle) -> Outcome:
        """Keep a response; return when it is on the disk, or raise `NotKeptError`."""
        outcome: Outcome = await self._answer(self._responses, bundle, most=self.most_waiting)
        return outcome

    async def close(self) -> Collected:
        """Close the survey for good, and give what was published."""
        return await self._done(self._close)

    async def standing(self, token: bytes | None) -> Outcome | None:
        """Return the certain outcome of a response before it is made; None if it may be kept."""
        outcome: Outcome | None = await self._answer(
            self._errands, lambda: self.store.standing(token), most=self.most_waiting
        )
        return outcome

    async def collected(self) -> Collected:
        """Return the published responses."""
        return await self._done(self.store.collected)

    async def healthy(self) -> bool:
        """Return whether a write transaction works, or has worked within the last second."""
        return await self._done(self._healthy)

    @property
    def closed(self) -> bool:
        """True if the survey was closed at the last look."""
        return self.latest.state == "closed"

    async def news(self, after: Collected | None = None) -> Collected:
        """Wait until something else is published than `after`, or the survey is closed, and give it."""
        with self._change:
            if self.latest is not after:
                return self.latest
            self._listeners = [listener for listener in self._listeners if not listener.future.done()]
            future = self._queued(self._listeners, None)
        news: Collected = await future
        return news

    async def stop(self) -> None:
        """Finish what was accepted, and end the thread; the store is then free.

        A thread that is stuck in its database is left behind after `JOIN_SECONDS` seconds: nothing of what it
        still has was acknowledged.
        """
        with self._change:
            self._stopping = True
            self._change.notify()
        await asyncio.to_thread(self._thread.join, JOIN_SECONDS)

    @property
    def stuck(self) -> bool:
        """True while the thread runs: nothing else may then use the store."""
        return self._thread.is_alive()

    async def _done(self, errand: Callable[[], Value]) -> Value:
        value: Value = await self._answer(self._errands, errand)
        return value

    async def _answer(self, queue: deque[_Waiting], what: Any, most: float = math.inf) -> Any:
        with self._change:
            if len(queue) >= most:
                raise FullError("too many responses wait")
            future = self._queued(queue, what)
            self._change.notify()
        return await future

    def _queued(self, queue: deque[_Waiting] | list[_Waiting], what: Any) -> asyncio.Future[Any]:
        if self._stopping:
            raise StoppedError("the writer has been stopped")
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        queue.append(_Waiting(what, future, loop))
        return future

    # From here on, all is done by the thread.

    def _run(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(self._anything, self._patience())
                together = [self._responses.popleft() for _ in range(min(len(self._responses), self.most_together))]
                errands = [self._errands.popleft() for _ in range(len(self._errands))]
                ending = self._stopping and not together and not errands
            if together:
                self._keep(together)
            for errand in errands:
                _tell([errand], [self._tried(errand.what)])
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
        _tell(self._listeners, [StoppedError("the writer has been stopped")] * len(self._listeners))

    def _anything(self) -> bool:
        return bool(self._responses or self._errands or self._stopping)

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
        """Return whether the survey must be closed because its time is over; failures are retried after a delay."""
        waited = time.monotonic() - self._glanced >= TICK_SECONDS
        return not self.closed and self.store.survey.over(contract.now()) and waited

    def _keep(self, together: list[_Waiting]) -> None:
        bundles = [waiting.what for waiting in together]
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
        _tell(together, outcomes)

    def _kept_alone(self, bundles: list[Bundle]) -> list[Outcome | Exception]:
        """Keep each response in a transaction of its own, for as long as the store works at all."""
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
        """Log in one line that responses are not kept, and why; at most once in a period."""
        if time.monotonic() - self._complained >= COMPLAINT_SECONDS:
            self._complained = time.monotonic()
            self.log(f"warner: responses cannot be kept, and nobody is thanked for one: {self.trouble}\n")

    def _tick(self) -> None:
        self._ticked = time.monotonic()
        self._untidy = not self.store.tidy()
        if self.store.published != self._announced:
            self._announce(self.store.collected())

    def _look(self) -> None:
        """Read what other processes have published, and whether one of them closed the survey."""
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
        _tell(listeners, [collected] * len(listeners))
        if before.state != collected.state:
            self.log(f"warner: the survey is {contract.closing_words(collected)}\n")

    def _tried(self, work: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Return the result of a task, or raise its error."""
        try:
            return work(*arguments, **options)
        except Exception as error:  # noqa: BLE001 - the thread must outlive whatever goes wrong
            first = str(error).partition("\n")[0]  # what follows may carry values
            self.trouble = f"{type(error).__name__}: {first}"
            return error


def _tell(waiting: Iterable[_Waiting], answers: Iterable[Any]) -> None:
    """Deliver the outcome to each waiting request in its event loop."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for (_, future, loop), answer in zip(waiting, answers, strict=True):
        loops.setdefault(loop, []).append((future, answer))
    for loop, pairs in loops.items():
        with contextlib.suppress(RuntimeError):  # the loop has ended, and nobody waits
            loop.call_soon_threadsafe(_resolve, pairs)


def _resolve(pairs: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, answer in pairs:
        if future.done():  # whoever asked has gone
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
