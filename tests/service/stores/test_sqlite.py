"""Behavior of the SQLite store: one owner process, foreign files left alone, one file at rest.

It tests service/stores/contract.py as well.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from cases import COIN
from collecting_cases import open_survey
from warner.service.responses import Bundle
from warner.service.stores import backup, collected, opened
from warner.service.stores.contract import hashed
from warner.service.stores.sqlite import is_database
from warner.service.survey import Survey, survey_from_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def a_survey(**fields: Any) -> Survey:
    return survey_from_json(json.dumps(open_survey([COIN], **{"batch": 1, **fields})))


def response(cell: int = 0) -> Bundle:
    return Bundle(os.urandom(16), None, ((cell,),))


OPEN_IT = """
import sys
from warner.service.stores import opened
from warner.service.survey import load_survey
try:
    opened(sys.argv[1], load_survey(sys.argv[2])).release()
except OSError as error:
    print(error)
"""


def test_one_process_holds_a_file(tmp_path: Path) -> None:
    path, survey = tmp_path / "collected.db", a_survey(batch=2)
    survey.save(tmp_path / "survey.json")
    command = [sys.executable, "-c", OPEN_IT, str(path), str(tmp_path / "survey.json")]
    store = opened(str(path), survey)
    with pytest.raises(BlockingIOError, match="another process is collecting into"):
        opened(str(path), survey)
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert told.stdout == f"another process is collecting into {path}\n"
    store.keep([response()])  # the refused ones changed nothing
    store.release()
    opened(str(path), survey).release()
    assert {path.name for path in tmp_path.iterdir()} == {"collected.db", "survey.json"}


def test_a_link_to_a_held_file_is_the_same_file(tmp_path: Path) -> None:
    path, link = tmp_path / "collected.db", tmp_path / "link.db"
    store = opened(str(path), a_survey())
    link.symlink_to(path)
    with pytest.raises(BlockingIOError):
        opened(str(link), a_survey())
    store.release()


def a_text(path: Path) -> None:
    path.write_text("SQLite format 3, but not really", encoding="utf-8")


def an_empty_file(path: Path) -> None:
    path.touch()


def another_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("create table survey(fingerprint, file, state, closed)")
    connection.close()


def a_folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("make", [a_text, an_empty_file, another_database, a_folder])
@pytest.mark.parametrize(
    "use", [lambda place: opened(place, a_survey()), collected, lambda place: backup(place, f"{place}.copy")]
)
def test_what_is_not_ours_is_refused_and_never_touched(
    tmp_path: Path, make: Callable[[Path], None], use: Callable[[str], object]
) -> None:
    path = tmp_path / "file.db"
    make(path)
    before = path.stat().st_mtime_ns, path.is_file() and path.read_bytes()
    with pytest.raises(ValueError, match="not a database of warner collect"):
        use(str(path))
    assert (path.stat().st_mtime_ns, path.is_file() and path.read_bytes()) == before
    assert [path.name for path in tmp_path.iterdir()] == ["file.db"]


def test_a_file_of_another_survey_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "collected.db"
    opened(str(path), a_survey()).release()
    before = path.stat().st_mtime_ns, path.read_bytes()
    with pytest.raises(ValueError, match="another survey"):
        opened(str(path), a_survey(title="Another survey"))
    assert (path.stat().st_mtime_ns, path.read_bytes()) == before
    assert [path.name for path in tmp_path.iterdir()] == ["collected.db"]


def test_a_file_of_a_newer_warner_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "collected.db"
    opened(str(path), a_survey()).release()
    with sqlite3.connect(path) as connection:
        connection.execute("pragma user_version = 2")
    connection.close()
    for use in (collected, lambda place: opened(place, a_survey())):
        with pytest.raises(ValueError, match="version 2"):
            use(str(path))


@pytest.mark.parametrize("place", ["absent/collected.db", "file/collected.db"])
def test_a_folder_that_cannot_be_written_to_is_one_clear_line(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"nothing can be written beside .*collected\.db: .*; use another folder"):
        opened(str(tmp_path / place), a_survey())


def test_there_is_nothing_to_read_in_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no file"):
        collected(str(tmp_path / "collected.db"))
    assert list(tmp_path.iterdir()) == []


def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    store = opened(str(tmp_path / "collected.db"), a_survey())
    store.keep([response()])
    assert {path.name for path in tmp_path.iterdir()} == {
        "collected.db",
        "collected.db-wal",
        "collected.db-shm",
        "collected.db-lock",
    }
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    store.release()


def test_a_file_that_cannot_be_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warner.service.stores.contract.SQLITE_TABLES", "create table nonsense(")
    with pytest.raises(OSError, match=r"collected\.db"):
        opened(str(tmp_path / "collected.db"), a_survey())
    assert list(tmp_path.iterdir()) == []


def test_the_settings_are_those_that_are_promised(tmp_path: Path) -> None:
    store = opened(str(tmp_path / "collected.db"), a_survey())
    connection = store._connection  # type: ignore[attr-defined]
    promised = {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "application_id": 0x77726E72}
    assert {name: connection.execute(f"pragma {name}").fetchone()[0] for name in promised} == promised
    store.release()
    assert is_database(tmp_path / "collected.db")


def test_somebody_who_reads_delays_tidying_but_nobody_else(tmp_path: Path) -> None:
    path = tmp_path / "collected.db"
    store = opened(str(path), a_survey())
    store.keep([response()])
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("begin")
    reader.execute("select * from days").fetchall()
    store.keep([response()])
    assert not store.tidy()
    assert store.collected().responses == 2
    reader.execute("commit")
    assert store.tidy()
    assert (tmp_path / "collected.db-wal").stat().st_size == 0
    reader.close()
    store.release()


def test_a_log_that_was_left_by_a_crash_is_read(tmp_path: Path) -> None:
    path, crashed = tmp_path / "collected.db", tmp_path / "crashed"
    crashed.mkdir()
    store = opened(str(path), a_survey())
    store.keep([response(1)])
    for name in ("collected.db", "collected.db-wal"):
        shutil.copy(tmp_path / name, crashed)
    store.release()
    assert collected(str(crashed / "collected.db")).tally().counts.tolist() == [0, 1]
    again = opened(str(crashed / "collected.db"), a_survey())
    assert again.collected().responses == 1
    again.release()
    assert [path.name for path in crashed.iterdir()] == ["collected.db"]


@pytest.mark.parametrize("replaced", [False, True])
def test_nothing_is_acknowledged_into_a_file_that_was_removed(tmp_path: Path, replaced: bool) -> None:
    path, survey = tmp_path / "collected.db", a_survey()
    store = opened(str(path), survey)
    store.keep([response()])
    backup(str(path), str(tmp_path / "copy.db"))
    path.unlink()
    if replaced:
        (tmp_path / "copy.db").rename(path)
    with pytest.raises(OSError, match="removed or replaced while its survey was running"):
        store.keep([response()])
    assert not store.healthy()
    store.release()
    if replaced:
        assert collected(str(path)).responses == 1


def test_a_lock_that_was_removed_is_not_taken_from_its_next_owner(tmp_path: Path) -> None:
    path, survey = tmp_path / "collected.db", a_survey()
    first = opened(str(path), survey)
    for file in tmp_path.glob("collected.db*"):  # what `rm collected.db*` does
        file.unlink()
    second = opened(str(path), survey)
    first.release()
    with pytest.raises(BlockingIOError):
        opened(str(path), survey)
    second.release()


@pytest.mark.parametrize(
    "damage",
    [
        "delete from survey",
        "update counts set published = 1e300 where cell = 0",
        "update counts set published = published + 0.5",
        "update counts set published = 'many' where cell = 0",
        "drop table counts",
    ],
)
def test_a_damaged_database_is_refused_in_words(tmp_path: Path, damage: str) -> None:
    path, survey = tmp_path / "collected.db", a_survey()
    opened(str(path), survey).release()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(damage)
        connection.commit()
    for work in (lambda: opened(str(path), survey), lambda: collected(str(path))):
        with pytest.raises((ValueError, OSError), match=r"damaged|no such table"):
            work()


def test_a_database_that_was_cut_off_is_refused_in_words(tmp_path: Path) -> None:
    path, survey = tmp_path / "collected.db", a_survey()
    opened(str(path), survey).release()
    os.truncate(path, 5000)
    with pytest.raises(OSError, match="malformed"):
        opened(str(path), survey)


def test_a_stopped_file_shows_no_order_of_nonces(tmp_path: Path) -> None:
    """Nonces that were added one by one lie in the page in the order of arrival, until the file is written anew."""
    survey = survey_from_json(json.dumps(open_survey()))
    path = tmp_path / "collected.db"
    nonces = [hashlib.sha256(b"%d" % i).digest()[:16] for i in range(60)]
    store = opened(str(path), survey)
    for nonce in nonces:
        store.keep([Bundle(nonce, None, ((0,),))])
    store.tidy()
    arrived = [hashed("seen", nonce) for nonce in nonces]

    def lie() -> list[int]:
        content = path.read_bytes()
        return sorted(range(60), key=lambda i: content.index(arrived[i]))

    assert lie() in (list(range(60)), list(range(60))[::-1])  # while it runs
    store.release()
    assert [arrived[i] for i in lie()] in (sorted(arrived), sorted(arrived, reverse=True))
