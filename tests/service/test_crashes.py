"""Acknowledged responses are kept and counted once: killed processes and servers, a full disk, the order of writes."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from itertools import count, takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from service.crashing import a_survey, collect_until_killed, expected, numbered, sent
from service.databases import postgres
from warner.service.stores import collected, opened
from warner.service.stores.contract import Outcome, hashed
from warner.service.writer import NotKeptError, Writer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

APART = 10**6  # between the numbers of the responses of two rounds


def received(told: Connection) -> Iterator[bytes]:
    """Return what a process has told until it was killed."""
    while True:
        try:
            yield told.recv_bytes()
        except (EOFError, OSError):
            return


def killed_at_random(place: str, rounds: int, rng: np.random.Generator) -> tuple[set[int], set[int]]:
    """Start and kill a process again and again; give the responses that were acknowledged, and all that were sent."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system cannot fork")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["service.crashing"])  # imported once, and not in each round
    acknowledged: set[int] = set()
    issued: set[int] = set()
    for number in range(rounds):
        first = APART * number
        ours, theirs = context.Pipe(duplex=False)
        again = sorted(issued - acknowledged)
        process = context.Process(target=collect_until_killed, args=(place, again, first, theirs), daemon=True)
        process.start()
        theirs.close()
        assert ours.recv_bytes() == b"ready"
        time.sleep(rng.uniform(0.02, 0.3))
        process.kill()
        process.join()
        found = {int.from_bytes(told) for told in received(ours)}
        ours.close()
        acknowledged |= found
        last = max((one for one in found if one >= first), default=first)
        issued |= set(range(first, last + 40))  # and those that were under way, who try again
    return acknowledged, issued


def in_file(path: Path, issued: set[int]) -> tuple[set[int], list[list[int]]]:
    """Return the responses whose receipts stand in a file, and the counters of both questions."""
    with sqlite3.connect(path) as connection:
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        seen = {row[0] for row in connection.execute("select nonce from seen")}
        rows = connection.execute("select question, pending + published from counts order by question, cell").fetchall()
    connection.close()
    counters: list[list[int]] = [[], []]
    for question, number in rows:
        counters[question].append(int(number))
    kept = {number for number in issued if hashed("seen", numbered(number).nonce) in seen}
    assert len(kept) == len(seen)
    return kept, counters


def check_kills(path: Path, rounds: int) -> None:
    acknowledged, issued = killed_at_random(str(path), rounds, np.random.default_rng())
    assert len(acknowledged) > rounds  # it did work in between
    kept, counters = in_file(path, issued)
    assert acknowledged <= kept
    for found, right in zip(counters, expected(kept), strict=True):
        assert_array_equal(found, right)  # each once, and nothing else
    store = opened(str(path), a_survey())  # which checks the laws of the counters
    missing = sorted(issued)
    for start in range(0, len(missing), 500):
        assert set(store.keep([numbered(one) for one in missing[start : start + 500]])) == {Outcome.KEPT}
    store.close()
    for cells, right in zip(store.collected().cells, expected(issued), strict=True):
        assert_array_equal(cells[0], right)
    store.release()


def test_a_killed_process_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    check_kills(tmp_path / "collected.db", 5)


@pytest.mark.long
def test_a_process_killed_fifty_times_loses_nothing(tmp_path: Path) -> None:
    check_kills(tmp_path / "collected.db", 50)


def check_killed_server(rounds: int) -> None:
    """Kill the server while clients send; they try again, and each is counted once."""
    server, survey = postgres(), a_survey("killed-server")
    place = server.database()
    store = opened(place, survey)
    acknowledged: list[int] = []
    ended = threading.Event()
    rng = np.random.default_rng()

    def trouble() -> None:
        try:
            for _ in range(rounds):
                before = len(acknowledged)
                while len(acknowledged) < before + 50:
                    time.sleep(0.01)
                time.sleep(rng.uniform(0, 0.2))
                server.kill()
                server.start()
        finally:
            ended.set()

    async def work() -> None:
        writer = Writer(store)
        killing = asyncio.create_task(asyncio.to_thread(trouble))
        numbers = takewhile(lambda _: not ended.is_set(), count())
        await sent(writer, numbers, acknowledged.append)
        await killing
        await writer.stop()

    asyncio.run(work())
    store.close()
    found = store.collected()
    assert len(set(acknowledged)) == len(acknowledged) == found.responses
    for cells, right in zip(found.cells, expected(acknowledged), strict=True):
        assert_array_equal(cells[0], right)
    store.release()
    opened(place, survey).release()  # which checks the laws of the counters


def test_a_killed_server_loses_nothing_that_was_acknowledged() -> None:
    check_killed_server(3)


@pytest.mark.long
def test_a_server_killed_fifty_times_loses_nothing() -> None:
    check_killed_server(50)


def test_a_killed_process_leaves_a_server_in_order() -> None:
    server = postgres()
    place = server.database()
    acknowledged, issued = killed_at_random(place, 3, np.random.default_rng())
    store = opened(place, a_survey())
    everybody = sorted(issued)
    assert set(store.keep([numbered(one) for one in everybody])) == {Outcome.KEPT}
    store.close()
    assert acknowledged <= issued
    for cells, right in zip(store.collected().cells, expected(issued), strict=True):
        assert_array_equal(cells[0], right)
    store.release()


def test_on_a_full_disk_nothing_is_acknowledged_and_then_it_goes_on(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="this system does not limit the size of files")
    path = tmp_path / "collected.db"
    store = opened(str(path), a_survey(batch=1))
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    said: list[str] = []

    async def work() -> str:
        writer = Writer(store, log=said.append)
        assert await writer.keep(numbered(0)) is Outcome.KEPT
        assert said == []
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))  # no file may be longer: SQLite's log must be
            for number in range(1, 6):
                with pytest.raises(NotKeptError):
                    await writer.keep(numbered(number))
            assert not store.healthy()
            trouble = writer.trouble
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY if hard == -1 else hard, hard))
        assert collected(str(path)).responses == 1
        for number in range(6):
            assert await writer.keep(numbered(number)) is Outcome.KEPT
        await writer.stop()
        return trouble

    trouble = asyncio.run(work())
    assert "collected.db" in trouble
    # One line when it begins, however many responses are sent away, and one when it is over.
    assert said == [
        f"warner: responses cannot be kept, so none is confirmed: {trouble}\n",
        "warner: the database can be written again, and responses are kept\n",
    ]
    for cells, right in zip(store.collected().cells, expected(range(6)), strict=True):
        assert_array_equal(cells[0], right)
    store.release()
    opened(str(path), a_survey(batch=1)).release()


EVENT = re.compile(r'fdatasync\(.*= 0|<\.\.\. fdatasync resumed.*= 0|write\(\d+, "kept (\d+)')


def test_the_disk_has_it_before_it_is_acknowledged(tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    log = tmp_path / "calls"
    script = Path(__file__).with_name("crashing.py")
    people = 12
    roots = [str(script.parents[2] / "src"), str(script.parents[1])]
    command = [strace, "-f", "-qq", "-s", "24", "-e", "trace=write,fdatasync,fsync", "-o", str(log)]
    done = subprocess.run(
        [*command, sys.executable, str(script), str(tmp_path / "collected.db"), str(people)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(roots)},
        capture_output=True,
        text=True,
        check=False,
    )
    if "ptrace" in done.stderr.lower():
        pytest.skip("strace may not trace processes here")
    assert done.returncode == 0, done.stderr
    events = [found[1] for line in log.read_text(encoding="utf-8").splitlines() if (found := EVENT.search(line))]
    shown = [event for event in events if event is not None]
    assert shown == [str(number) for number in range(people)]
    for before, after in zip(["start", *shown], shown, strict=False):
        start = events.index(before) if before != "start" else 0
        # Each response was sent after the one before was acknowledged: its own write to the disk lies between them.
        assert None in events[start + 1 : events.index(after)] or (before == "start" and events[0] is None)
