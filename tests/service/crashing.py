"""A process that takes responses until it is killed, and tells which it has acknowledged."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np

from cases import COIN
from collecting_cases import open_survey
from warner import RandomizedResponse
from warner.service.responses import Bundle
from warner.service.stores import opened
from warner.service.survey import survey_from_json
from warner.service.writer import NotKeptError, Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from multiprocessing.connection import Connection

    from numpy.typing import NDArray

    from warner.service.survey import Survey

CLIENTS = 32


def a_survey(name: str = "crash", **fields: Any) -> Survey:
    designs = [COIN, RandomizedResponse(3, odds=(3, 1))]
    return survey_from_json(json.dumps(open_survey(designs, id=name, **fields)))


def numbered(number: int) -> Bundle:
    """Return the response of this number, always the same."""
    nonce = hashlib.blake2b(number.to_bytes(8), digest_size=16).digest()
    return Bundle(nonce, None, ((number % 2,), (number % 3,)))


def expected(numbers: Iterable[int]) -> list[NDArray[Any]]:
    """Return the counters of these responses."""
    array = np.fromiter(numbers, dtype=np.int64)
    return [np.bincount(array % 2, minlength=2), np.bincount(array % 3, minlength=3)]


async def sent(writer: Writer, numbers: Iterable[int], acknowledge: Callable[[int], None]) -> None:
    """Send responses from many clients, each again and again until it is acknowledged."""
    line = iter(numbers)

    async def client() -> None:
        for number in line:
            while True:
                try:
                    await writer.keep(numbered(number))
                    break
                except NotKeptError:
                    await asyncio.sleep(0.02)
            acknowledge(number)

    await asyncio.gather(*(client() for _ in range(CLIENTS)))


def collect_until_killed(place: str, again: list[int], first: int, told: Connection) -> None:
    """Send responses, those of earlier clients again and then new ones; print the number of each acknowledged one."""

    async def work() -> None:
        writer = Writer(opened(place, a_survey()))
        told.send_bytes(b"ready")
        await sent(writer, chain(again, count(first)), lambda number: told.send_bytes(number.to_bytes(8)))

    asyncio.run(work())


def collect_one_by_one(place: str, people: int) -> None:
    """Accept responses of one client, and write a line for each acknowledged one."""

    async def work() -> None:
        store = opened(place, a_survey())
        writer = Writer(store)
        for number in range(people):
            await writer.keep(numbered(number))
            sys.stdout.write(f"kept {number}\n")
            sys.stdout.flush()
        await writer.stop()
        store.release()

    asyncio.run(work())


if __name__ == "__main__":
    collect_one_by_one(sys.argv[1], int(sys.argv[2]))
