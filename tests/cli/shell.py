"""The command as a user meets it: run in a process of its own, or, where only words matter, in this one."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from warner import RandomizedResponse
from warner.__main__ import main

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("typer", reason="the command line is an extra, and not installed")

SURVEY = RandomizedResponse(["never", "once", "often"], epsilon=1)
COUNTS = {"never": 520, "once": 285, "often": 195}
COMMAND = [sys.executable, "-m", "warner"]
ESTIMATE = ("estimate", "reports.csv", "--column", "answer", "--design", "survey.json")
CHECK = ("check", *ESTIMATE[1:])


def run(folder: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=100, **options
    )


def succeeds(folder: Path, *arguments: str, **options: Any) -> str:
    done = run(folder, *arguments, **options)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def fails(folder: Path, *arguments: str, code: int = 2, **options: Any) -> str:
    """Run what must fail: one clear line, no traceback, nothing new on disk."""
    before = sorted(folder.iterdir())
    done = run(folder, *arguments, **options)
    assert done.returncode == code
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("warner: ")
    assert sorted(folder.iterdir()) == before
    return done.stderr


class Prompt:
    """A shell in this process: quick, for commands that are done before anything is read or written."""

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
