"""Clients under audit: a function that is called, or a command that is run.

Each failure of a command is one clear error. None makes the audit wait beyond its time limit or fill the memory.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, Queue
from threading import Thread
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np

from warner.designs.report_forms import Form, all_reports
from warner.text import counted, printable, shortened

if TYPE_CHECKING:
    from warner.arrays import Counts, Label

ANSWERS_AT_ONCE = 2**16  # in one call of a client
CHUNK_BYTES = 2**16  # of one read
CHUNKS_WAITING = 64  # in the queue
LONGEST_LINE = 2**25  # bytes of a line, and of lines in memory

Pieces: TypeAlias = Generator[Any]  # batches of reports, unchanged


@dataclass(frozen=True)
class Function:
    """A client that is a function: it takes a list of answers, and returns a report for each."""

    call: Callable[[list[Any]], Any]
    piece: int = ANSWERS_AT_ONCE
    text = False
    place = "position"
    first = 0  # positions are counted from 0

    def reports(self, answer: Label, runs: int) -> Pieces:
        for start in range(0, runs, self.piece):
            size = min(self.piece, runs - start)
            batch = self.call([answer] * size)
            if isinstance(batch, str | bytes) or not hasattr(batch, "__len__"):
                raise TypeError(
                    "client must return a list or an array, with a report for each answer, but returned a "
                    f"{type(batch).__name__}"
                )
            if len(batch) != size:
                raise ValueError(
                    f"client must return a report for each answer, but for {counted(size, 'answer', 'answers')} it "
                    f"returned {len(batch):,}"
                )
            yield batch


@dataclass(frozen=True)
class Command:
    """A client that is a command: one answer per line on standard input, one report per line on standard output."""

    words: tuple[str, ...]  # the program and its arguments, which are not passed to a shell
    timeout: float  # of each start, in seconds
    piece: int = ANSWERS_AT_ONCE
    text = True
    place = "line"
    first = 1

    @classmethod
    def written(cls, command: str, timeout: float, piece: int = ANSWERS_AT_ONCE) -> Command:
        """Parse a command as a shell would, without its pipes and variables."""
        try:
            words = tuple(shlex.split(command))
        except ValueError as error:
            raise ValueError(f"the command cannot be read: {error}; it was {shortened(command)!r}") from None
        if not words:
            raise ValueError("the command must name a program, but it is empty")
        if not 0 < timeout < np.inf:
            raise ValueError(f"timeout must be a positive number of seconds, but got {timeout!r}")
        return cls(words, timeout, piece)

    def reports(self, answer: Label, runs: int) -> Pieces:
        """Start the command, and send it this answer `runs` times."""
        if isinstance(answer, str) and len(answer.splitlines()) != 1:
            raise ValueError(f"an answer must be one line to be sent to a command, but got {answer!r}")
        done = 0
        rule = f"the command must print a line for each answer, but for {counted(runs, 'answer', 'answers')} it"
        for lines in self._pieces(answer, runs):
            done += len(lines)
            if done > runs:
                raise ValueError(f"{rule} printed more; a header does not belong there")
            yield lines
        if done < runs:
            raise ValueError(f"{rule} printed {done:,}")

    def _pieces(self, answer: Label, runs: int) -> Iterator[list[str]]:
        deadline = time.monotonic() + self.timeout
        with self._started(answer, runs) as (process, chunks, complaint):
            lines: list[bytes] = []
            unfinished: list[bytes] = []  # parts of a line
            before, size = 0, 0  # lines that were yielded, and bytes that were not
            while chunk := self._within(deadline, chunks):
                first, *others = chunk.split(b"\n")
                unfinished.append(first)
                size += len(chunk)
                if others:
                    lines += [b"".join(unfinished), *others[:-1]]
                    unfinished = others[-1:]
                if len(lines) >= self.piece or (size > LONGEST_LINE and lines):
                    yield _texts(lines, before)
                    before, lines, size = before + len(lines), [], sum(map(len, unfinished))
                elif size > LONGEST_LINE:
                    raise ValueError(
                        f"the command must print a line for each answer, but line {before + 1:,} has no end"
                    )
            try:
                code = process.wait(max(deadline - time.monotonic(), 0))
            except subprocess.TimeoutExpired:
                raise self._too_slow() from None
            if code:
                raise ValueError(f"the command must end with exit code 0, but it was {code}{complaint()}")
            last = b"".join(unfinished)
            if lines or last:
                yield _texts([*lines, last] if last else lines, before)

    def _within(self, deadline: float, chunks: Queue[bytes]) -> bytes:
        try:
            return chunks.get(timeout=max(deadline - time.monotonic(), 0))
        except Empty:
            raise self._too_slow() from None

    def _too_slow(self) -> ValueError:
        return ValueError(
            f"the command must end within {self.timeout:g} seconds, but did not; it must read its standard input to "
            "the end, print and stop. If it is only slow, ask for fewer runs or give a larger timeout="
        )

    @contextmanager
    def _started(
        self, answer: Label, runs: int
    ) -> Iterator[tuple[subprocess.Popen[bytes], Queue[bytes], Callable[[], str]]]:
        """Run the command, with threads that read its output so that it never blocks; it is ended at the end."""
        with tempfile.TemporaryFile() as answers:
            line = f"{answer}\n".encode()
            for start in range(0, runs, self.piece):
                answers.write(line * min(self.piece, runs - start))
            answers.seek(0)
            try:
                process = subprocess.Popen(
                    self.words,
                    stdin=answers,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,  # so that its children can be ended with it
                )
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or str(error)
                raise ValueError(f"the command {shortened(self.words[0])!r} cannot be started: {why}") from None
            assert process.stdout is not None
            assert process.stderr is not None
            chunks: Queue[bytes] = Queue(CHUNKS_WAITING)
            complaints: deque[str] = deque(maxlen=1)
            threads = (
                Thread(target=_pass_on, args=(process.stdout, chunks), daemon=True),
                Thread(target=_keep_last, args=(process.stderr, complaints), daemon=True),
            )
            for thread in threads:
                thread.start()

            def complaint() -> str:
                threads[1].join(1)
                return f": {complaints[-1]}" if complaints else ""

            try:
                yield process, chunks, complaint
            finally:
                _end(process)
                with suppress(Empty):  # the thread ends once its queue is empty
                    while threads[0].is_alive() and chunks.get(timeout=1):
                        pass
                for thread, stream in zip(threads, (process.stdout, process.stderr), strict=True):
                    thread.join(1)
                    if not thread.is_alive():
                        stream.close()


def _pass_on(stream: IO[bytes], chunks: Queue[bytes]) -> None:
    for chunk in iter(partial(os.read, stream.fileno(), CHUNK_BYTES), b""):
        chunks.put(chunk)
    chunks.put(b"")


def _keep_last(stream: IO[bytes], complaints: deque[str]) -> None:
    """Read the error messages of a command, and keep their last line."""
    for line in iter(partial(stream.readline, CHUNK_BYTES), b""):
        if line.strip():
            complaints.append(shortened(printable(line.decode(errors="replace").strip()), 200))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command and its children if it still runs."""
    if process.returncode is not None:  # the process number may be in use again
        return
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _texts(lines: list[bytes], before: int) -> list[str]:
    """Decode lines; `before` is the number of earlier ones."""
    end, texts = b"\r" if os.linesep == "\r\n" else b"", []
    for number, line in enumerate(lines, start=before + 1):
        try:
            texts.append(line.removesuffix(end).decode())
        except UnicodeDecodeError:
            raise ValueError(f"the command must print UTF-8, but line {number:,} is not") from None
    return texts


Client: TypeAlias = Function | Command


def codes(client: Client, form: Form, answer: Label, runs: int) -> Generator[Counts]:
    """Yield the reports on an answer in codes; raise an error that shows the first invalid report."""
    done = 0
    with closing(client.reports(answer, runs)) as pieces:
        for batch in pieces:
            reports, status = form.read(batch, text=client.text)
            if not all_reports(status):
                wrong = int(np.flatnonzero(status)[0])
                value = list(batch)[wrong]
                shown = f"'{printable(value)}'" if isinstance(value, str) else str(value)
                raise ValueError(
                    f"reports must be {form.rule}, but {client.place} {done + wrong + client.first:,} after the answer "
                    f"{answer!r} is {shortened(shown, 60)}"
                )
            done += len(reports)
            yield reports
