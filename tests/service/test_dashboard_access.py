"""Who may see the dashboard."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from warner.service.dashboard import (
    LINK_SECONDS,
    MOST_SESSIONS,
    SESSION_SECONDS,
    UNUSED_SESSION_SECONDS,
    Admission,
    admission,
)

if TYPE_CHECKING:
    from pathlib import Path

KEY = "Zx9-_aB3" * 5 + "Qw4"  # of the form of new_key(), but always the same: it is in the names of tests


class Clock:
    def __init__(self) -> None:
        self.time = 5.0

    def __call__(self) -> float:
        return self.time


def test_a_key_buys_one_session() -> None:
    door = Admission(KEY)
    session = door.enter(KEY)
    assert session is not None
    assert door.admits(session)
    assert door.enter(KEY) is None
    assert door.admits(session)


@pytest.mark.parametrize("given", ["", "x", KEY[:-1], KEY + "A", KEY.swapcase(), "\udc80", "é" * 43, "\0" * 43])
def test_another_key_buys_nothing_and_leaves_the_right_one_alone(given: str) -> None:
    door = Admission(KEY)
    assert door.enter(given) is None
    assert not door.admits(given)
    assert door.enter(KEY) is not None


def test_neither_the_key_nor_nothing_is_a_session() -> None:
    door = Admission(KEY)
    assert not door.admits(KEY)
    assert not door.admits("")
    session = door.enter(KEY)
    assert session != KEY
    assert not door.admits(KEY)


def test_a_session_ends_a_day_after_its_last_use() -> None:
    clock = Clock()
    door = Admission(KEY, clock=clock, reusable=True)
    used, idle = door.enter(KEY), door.enter(KEY)
    assert used is not None
    assert idle is not None
    clock.time += UNUSED_SESSION_SECONDS - 1
    assert door.admits(used)
    clock.time += 1
    assert not door.admits(idle)
    assert door.admits(used)
    clock.time -= UNUSED_SESSION_SECONDS / 2  # nor does it come back
    assert not door.admits(idle)


def test_a_session_ends_after_a_week_however_often_it_is_used() -> None:
    clock = Clock()
    door = Admission(KEY, clock=clock)
    session = door.enter(KEY)
    assert session is not None
    start = clock.time
    while clock.time + UNUSED_SESSION_SECONDS / 2 < start + SESSION_SECONDS:
        clock.time += UNUSED_SESSION_SECONDS / 2
        assert door.admits(session)
    clock.time = start + SESSION_SECONDS
    assert not door.admits(session)
    assert door.enter(KEY) is None  # the link of this session was used


def test_an_unused_link_is_dead_after_ten_minutes_and_a_session_is_not() -> None:
    clock = Clock()
    early, late = Admission(KEY, clock=clock), Admission(KEY, clock=clock)
    clock.time += LINK_SECONDS - 1
    session = early.enter(KEY)
    assert session is not None
    clock.time += 1
    assert late.enter(KEY) is None
    clock.time -= LINK_SECONDS  # nor does it come back
    assert late.enter(KEY) is None
    assert early.admits(session)


def test_keys_and_sessions_are_kept_as_hashes_only() -> None:
    door = Admission(KEY)
    session = door.enter(KEY)
    assert session is not None
    kept = repr(vars(door))
    assert KEY not in kept
    assert session not in kept


def test_a_key_of_a_file_may_be_used_again(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    file.chmod(0o600)
    door, shown = admission(file)
    sessions = [door.enter(KEY) for _ in range(MOST_SESSIONS + 1)]
    assert None not in sessions
    assert len(set(sessions)) == MOST_SESSIONS + 1
    assert not door.admits(str(sessions[0]))  # the oldest was replaced
    assert all(door.admits(str(session)) for session in sessions[1:])
    assert shown == f"$(cat {file})"  # the key itself would stay in a log


@pytest.mark.skipif(os.name != "posix", reason="rights of files are those of POSIX")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610, 0o602])
def test_a_key_file_that_others_may_touch_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "key"
    file.write_text(KEY)
    file.chmod(mode)
    with pytest.raises(ValueError, match=r"readable by its owner alone.*chmod 600"):
        admission(file)


@pytest.mark.skipif(os.name != "posix", reason="pipes with names are those of POSIX")
def test_a_key_file_that_is_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "key"
    os.mkfifo(pipe, 0o600)
    # A reader of the pipe gets a key, so that this test fails where it would otherwise wait forever.
    writer = threading.Thread(target=lambda: pipe.write_text(KEY), daemon=True)
    writer.start()
    with pytest.raises(ValueError, match=r"the key file must be a regular file, but .*key is not; write the"):
        admission(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writer.join()
    os.close(reader)


@pytest.mark.parametrize("content", [b"", b"short", b"a key with spaces in it is none", b"\xff" * 40, b"k" * 257])
def test_a_key_file_without_a_key_is_refused_without_naming_it(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "key"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(ValueError, match="must hold 22 to 256 letters") as refused:
        admission(file)
    assert refused.value.__suppress_context__
    if content:
        assert content.decode("latin-1") not in str(refused.value)


def test_keys_are_new_each_time() -> None:
    (first, key), (_, other) = admission(), admission()
    assert key != other
    assert first.enter(other) is None
    assert first.enter(key) is not None
