"""The process that reads files of SPSS, Stata and SAS: whatever ends it, we tell it in a line, and leave nothing."""

from __future__ import annotations

import datetime as dt
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from warner import RandomizedResponse, Tally, tally
from warner.reports import labelled, readstat
from warner.reports.randomizing_files import randomize_file

pytest.importorskip("duckdb", reason="reading files is an extra, and not installed")
pytest.importorskip("pyarrow", reason="reading files is an extra, and not installed")

StandIn: TypeAlias = Callable[..., Path]

CODES = RandomizedResponse([1, 2], odds=(1, 0))
STAND_IN = """
import os, signal
from types import SimpleNamespace

class ReadstatError(Exception): pass
class PyreadstatError(Exception): pass

def read_sav(file, output_format, encoding, metadataonly=False, usecols=None, row_offset=0, row_limit=0):
    told = SimpleNamespace(
        variable_value_labels={{"answer": {{2.0: "no", 1: "y\\xe9s"}}}}, column_names=["answer"],
        readstat_variable_types={{"answer": "double"}}, original_variable_types={{"answer": "F8.2"}},
    )
    if not metadataonly and row_offset >= {after}:
        {what}
    return {{"answer": [1.0, 2.0, None][: max({rows} - row_offset, 0)]}}, told
"""
CRASH = "os.kill(os.getpid(), signal.SIGSEGV)"
posix = pytest.mark.skipif(os.name != "posix", reason="there are no such signals")


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """Replace `pyreadstat` by a module that behaves as given after a number of the six rows."""
    monkeypatch.setattr(labelled, "LABELLED_VALUES_AT_ONCE", 3)
    (tmp_path / "survey.sav").write_bytes(b"anything")
    number = 0

    def replaced(what: str, after: int = 0, module: str = STAND_IN) -> Path:
        nonlocal number
        number += 1
        (folder := tmp_path / f"modules{number}").mkdir()
        (folder / "pyreadstat.py").write_text(module.format(what=what, after=after, rows=6), encoding="utf-8")
        monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
        return tmp_path / "survey.sav"

    return replaced


@pytest.mark.parametrize(
    ("held", "values", "cells"),
    [
        ("number", [0.0, 1.5, None], [0.0, 1.5, None]),
        ("integer", [0, 2, None], [0, 2, None]),
        ("text", ["no", "", None], ["no", None, None]),
        ("moment", [dt.date(2024, 2, 29), None], ["2024-02-29", None]),
    ],
)
def test_an_empty_text_is_missing_and_a_zero_is_not(held: str, values: list[Any], cells: list[Any]) -> None:
    assert readstat._cells(values, held) == cells


def test_what_a_reader_says_is_read(stand_in: StandIn) -> None:
    path = stand_in("pass")
    assert readstat.described("SPSS", [str(path)])[str(path)] == (
        {"answer": "number"}, {"answer": {1: "yés", 2.0: "no"}}, None
    )  # fmt: skip
    assert tally(path, CODES) == Tally(CODES, [2, 2], missing=2)


@posix
@pytest.mark.usefixtures("quick_readers")
@pytest.mark.parametrize("after", [0, 3])
@pytest.mark.parametrize(
    ("what", "words"),
    [
        (CRASH, "it is damaged, and its reader crashed"),
        ("os.abort()", "it is damaged, and its reader crashed"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "its reader was killed, perhaps for lack of memory"),
        ("raise TypeError('unsupported operand')", "it is damaged, or in another encoding"),  # as on some labels
        ("return {'answer': [10**400]}, told", "it is damaged, or in another encoding"),
        ("raise ReadstatError('Invalid\\nfile')", "Invalid file"),
        ("raise MemoryError", "it needs more memory than there is"),
        ("raise KeyError('null')", "it is damaged, or in another encoding"),
        ("raise RuntimeError('what is this?')", "RuntimeError: what is this?"),
        ("os._exit(0)", "it is damaged, and its reader crashed"),
    ],
)
def test_whatever_happens_to_a_reader_is_one_line(
    what: str, words: str, after: int, stand_in: StandIn, tmp_path: Path
) -> None:
    path = stand_in(what, after)
    expected = f"{path} cannot be read: {words} (as a file of SPSS)"
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        tally(path, CODES)
    with pytest.raises(ValueError, match="cannot be read"):
        randomize_file(path, CODES, tmp_path / "reports.csv")
    assert not (tmp_path / "reports.csv").exists()
    assert not list(tmp_path.glob("core*"))


@posix
@pytest.mark.parametrize("after", [0, 3])
def test_after_a_crash_other_files_are_read(after: int, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    path = stand_in(f"if 'bad' in file: {CRASH}", after)
    bad = path.rename(path.with_name("very-bad.sav"))  # the second in order
    path.write_bytes(b"anything")
    for _ in range(2):
        with pytest.raises(ValueError, match=r"very-bad.sav cannot be read: it is damaged, and its reader crashed"):
            tally([path, bad], CODES)
        assert tally(path, CODES) == Tally(CODES, [2, 2], missing=2)
    files = [str(path), str(bad), str(path)]
    with pytest.raises(ValueError, match=r"very-bad.sav cannot be read: it is damaged, and its reader crashed"):
        list(readstat.pieces_of_file("SPSS", files, {"answer": "number"}, 3))
    monkeypatch.chdir(path.parent)  # after the reader was started
    assert tally("survey.sav", CODES).n == 4


def test_what_is_printed_while_reading_is_no_answer(stand_in: StandIn, capfd: pytest.CaptureFixture[str]) -> None:
    assert tally(stand_in("print('{}', flush=True); os.write(1, b'{}')"), CODES).n == 4
    assert capfd.readouterr() == ("", "")


def test_a_reader_that_is_not_installed_is_told(stand_in: StandIn) -> None:
    path = stand_in("", module="raise ImportError")
    with pytest.raises(ImportError, match=r"^files of SPSS, Stata and SAS need pyreadstat, .* its extra \[readstat\]$"):
        tally(path, CODES)


@posix
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc to look at")
def test_a_reader_that_is_not_heard_to_the_end_is_ended(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    path = stand_in("if row_offset: import time; time.sleep(600)")
    children: list[subprocess.Popen[bytes]] = []
    started = subprocess.Popen

    def watched(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        children.append(started(*arguments, **options))
        return children[-1]

    monkeypatch.setattr("subprocess.Popen", watched)
    begun = readstat.pieces_of_file("SPSS", [str(path)], {"answer": "number"}, 3)
    next(begun)
    (reader,) = children
    assert reader.poll() is None
    begun.close()
    assert reader.returncode == -signal.SIGKILL  # and so it was waited for
    await_end(reader.pid)


SCRIPT = """
import subprocess, sys, time
from warner.reports import readstat

class Watched(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        print(self.pid, flush=True)

subprocess.Popen = Watched
pieces = readstat.pieces_of_file("SPSS", [sys.argv[1]], {"answer": "number"}, 3)
next(pieces)
print("reading", flush=True)
time.sleep(600)
"""


@posix
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc to look at")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_reader_outlives_us(number: int, stand_in: StandIn) -> None:
    # It answers without end, and so waits until the parent reads on.
    path = stand_in("return {'answer': [1.0] * 3}, told")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SCRIPT, str(path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        group = int(process.stdout.readline())
        assert process.stdout.readline() == "reading\n"
        assert running(group)
        process.send_signal(number)
    await_end(group)


def await_end(group: int) -> None:
    end = time.monotonic() + 20
    while running(group) and time.monotonic() < end:
        time.sleep(0.01)
    assert not running(group)


def running(group: int) -> list[str]:
    """Name the processes of a group that have not ended; zombies have."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(its_group) == group and state != "Z":
            found.append(stat.parent.name)
    return found
