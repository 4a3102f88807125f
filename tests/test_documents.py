"""Files and their lock (`documents`): a lock keeps other processes out, on every system, and ends with its process."""

from __future__ import annotations

import subprocess
import sys
import time
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from warner.documents import FileLock

if TYPE_CHECKING:
    from pathlib import Path

HOLDING = """if True:
    import sys
    from pathlib import Path
    from warner.documents import FileLock
    lock = FileLock(Path(sys.argv[1]))
    print("held", flush=True)
    sys.stdin.readline()
"""


def msvcrt() -> Any:
    """Return a stand-in for the locks of Windows: a region of a file, held by one open file at a time."""
    fcntl = pytest.importorskip("fcntl", reason="this system has the real one")
    module = ModuleType("msvcrt")

    def locking(file: int, mode: int, size: int) -> None:
        assert (mode, size) == (7, 1)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(13, "Permission denied") from None

    module.__dict__.update(LK_NBLCK=7, locking=locking)
    return module


@pytest.fixture(params=["this system", "Windows"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Use the file lock of this system and that of Windows, where open files cannot be removed."""
    if request.param == "Windows":
        monkeypatch.setitem(sys.modules, "msvcrt", msvcrt())
        monkeypatch.setattr("warner.documents.sys", SimpleNamespace(platform="win32"))
    return str(request.param)


def test_one_holds_it_and_others_are_refused_or_wait(system: str, tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    first = FileLock(file)
    with pytest.raises(BlockingIOError, match="another process holds"):
        FileLock(file)
    first.release()
    with FileLock(file, wait=True), pytest.raises(BlockingIOError):
        FileLock(file)
    FileLock(file).release()
    assert [path.name for path in tmp_path.iterdir()] == ["kept.json-lock"] * (system == "Windows")


def test_another_process_holds_it_until_it_ends(system: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDING, str(tmp_path / "kept.json")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError):
            FileLock(tmp_path / "kept.json")
        process.kill()
        process.wait()
        before = time.monotonic()
        FileLock(tmp_path / "kept.json", wait=True).release()
        assert time.monotonic() - before < 60


def test_a_lock_whose_file_was_removed_keeps_out_nobody_and_is_taken_again(tmp_path: Path) -> None:
    first = FileLock(tmp_path / "kept.json")
    first.path.unlink()  # as a process that releases it while another one has just opened it
    second = FileLock(tmp_path / "kept.json")
    first.release()  # and leaves the file of the second alone
    with pytest.raises(BlockingIOError):
        FileLock(tmp_path / "kept.json")
    second.release()
    assert not list(tmp_path.iterdir())
