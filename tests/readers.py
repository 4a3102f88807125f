"""Readers of SPSS, Stata and SAS files that start at once: forked from one process that has loaded the libraries.

Each is a process of its own, which does what the child of `warner.reports.readstat` does, and may crash as it may; but
that child takes a quarter of a second for its imports. `test_readstat` runs the child itself as well.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

from warner.reports import readstat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from warner.documents import Document

FORKS = """
import json, os, signal, socket, sys, traceback
sys.path[:] = json.loads(sys.argv[1])
import narwhals.stable.v2, pyarrow  # and not pyreadstat, for which a test may put a module of its own
from warner.reports.readstat import write_streams

signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no process waits for the children
requests = socket.socket(fileno=0)
while True:
    message, files, *_ = socket.recv_fds(requests, 2**20, 3)
    if not message:
        break
    answers, complaints, told = files
    if os.fork():
        for file in files:
            os.close(file)
        continue
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if reader := os.fork():
        os.close(answers)
        os.write(told, b"%d\\n" % reader)
        os.write(told, b"%d\\n" % os.waitstatus_to_exitcode(os.waitpid(reader, 0)[1]))
        os._exit(0)
    os.setsid()
    os.dup2(answers, 1)
    os.dup2(complaints, 2)
    for file in files:
        os.close(file)
    sys.path[:], request = json.loads(message)
    try:
        write_streams(request)
    except BaseException:  # with which Python would end
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
"""


class Reader:
    """Protocol between `readstat` and its child process: the output and the exit code."""

    def __init__(self, answers: IO[bytes], told: IO[bytes]) -> None:
        self.stdout, self._told, self._number = answers, told, int(told.readline())
        self._code: int | None = None

    def wait(self) -> int:
        if self._code is None:
            self._code = int(self._told.readline())
        return self._code

    def kill(self) -> None:
        if self._code is None:
            with suppress(ProcessLookupError):
                os.kill(self._number, signal.SIGKILL)
            self.wait()


@contextmanager
def forked_readers() -> Iterator[Callable[[Document, IO[bytes]], AbstractContextManager[Any]]]:
    """Return what can stand in for `readstat._child`."""
    if not hasattr(os, "fork"):
        yield readstat._child
        return
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-I", "-c", FORKS, json.dumps(sys.path)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # a process that forks must have a single thread
    with theirs:
        process = subprocess.Popen(command, stdin=theirs.fileno(), env=environment, start_new_session=True)

    @contextmanager
    def child(request: Document, complaints: IO[bytes]) -> Iterator[Reader]:
        (answers, to_answer), (told, to_tell) = os.pipe(), os.pipe()
        message = json.dumps([list(map(str, sys.path)), request]).encode()
        socket.send_fds(ours, [message], [to_answer, complaints.fileno(), to_tell])
        os.close(to_answer)
        os.close(to_tell)
        with os.fdopen(answers, "rb") as stream, os.fdopen(told, "rb") as lines:
            reader = Reader(stream, lines)
            try:
                yield reader
            finally:
                reader.kill()

    with process:
        with ours:
            yield child
        process.wait()
