"""The command as a user meets it: in this process; or in one of its own, where signals, pipes or encodings matter."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias
from unittest import mock

import pytest

from warner import RandomizedResponse
from warner.__main__ import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytest.importorskip("click", reason="the command line is an extra, and not installed")

SURVEY = RandomizedResponse(["never", "once", "often"], epsilon=1)
COUNTS = {"never": 520, "once": 285, "often": 195}
COMMAND = [sys.executable, "-m", "warner"]
ESTIMATE = ("estimate", "reports.csv", "--column", "answer", "--design", "survey.json")
CHECK = ("check", *ESTIMATE[1:])


def launched(folder: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, which takes a second."""
    return subprocess.run(
        [*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=100, **options
    )


Way: TypeAlias = "Callable[..., subprocess.CompletedProcess[str]]"


class Stream(io.BytesIO):
    """The bytes of a stream, which can be read even if the command closes it."""

    def close(self) -> None:
        pass


def run(
    folder: Path,
    *arguments: str,
    input: str = "",  # noqa: A002 - as `subprocess.run` has it
    stdin: BinaryIO | None = None,
    env: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the command in this process, with streams, folder and environment as a process of its own would have them."""
    given, printed, said = Stream(stdin.read() if stdin else input.encode()), Stream(), Stream()
    streams: Any = {
        name: io.TextIOWrapper(stream, encoding="utf-8", newline="\n")
        for name, stream in (("stdin", given), ("stdout", printed), ("stderr", said))
    }
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    surroundings = mock.patch.dict(os.environ, env or {}, clear=env is not None)
    with contextlib.chdir(folder), surroundings, mock.patch.multiple(sys, argv=["warner", *arguments], **streams):
        try:
            main()
        except SystemExit as stopped:
            code = stopped.code
    for number, handler in handlers.items():
        signal.signal(number, handler)
    for name in ("stdout", "stderr"):
        streams[name].flush()
    texts = (stream.getvalue().decode() for stream in (printed, said))
    return subprocess.CompletedProcess(["warner", *arguments], int(code or 0), *texts)


def succeeds(folder: Path, *arguments: str, how: Way = run, **options: Any) -> str:
    done = how(folder, *arguments, **options)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def fails(folder: Path, *arguments: str, code: int = 2, how: Way = run, **options: Any) -> str:
    """Run what must fail: one clear line, no traceback, nothing new on disk."""
    before = sorted(folder.iterdir())
    done = how(folder, *arguments, **options)
    assert done.returncode == code
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("warner: ")
    assert sorted(folder.iterdir()) == before
    return done.stderr


class Prompt:
    """A shell in this process, in a folder, whose streams and modules a test may replace."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.monkeypatch, self.capsys = folder, monkeypatch, capsys
        monkeypatch.chdir(folder)

    def _run(self, arguments: tuple[str, ...]) -> tuple[object, str, str]:
        self.monkeypatch.setattr(sys, "argv", ["warner", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        return stopped.value.code, *self.capsys.readouterr()

    def prints(self, *arguments: str) -> str:
        """Run what must succeed, and give what it prints."""
        code, out, err = self._run(arguments)
        assert (code, err) == (0, "")
        return out

    def notes(self, *arguments: str) -> tuple[str, str]:
        """Run what must succeed, and give what it prints, and what it says beside."""
        code, out, err = self._run(arguments)
        assert code == 0
        return out, err

    def complains(self, *arguments: str) -> str:
        """Run what must fail, as `fails` does: one clear line, nothing new on disk."""
        before = sorted(self.folder.iterdir())
        code, out, err = self._run(arguments)
        assert (code, out) == (2, "")
        assert err.startswith("warner: ")
        assert len(err.splitlines()) == 1
        assert sorted(self.folder.iterdir()) == before
        return err
