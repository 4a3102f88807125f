"""What `pyreadstat` reads, in another process: its C library may crash on a damaged file, and must not end ours.

Both sides are here. `described` and `pieces` ask a reader, a process that runs `serve` and that is kept for what is
asked next, since it takes longer to start than to read most files. It forks for every request, so that nothing is left
in its memory of a file that did harm; where there is no fork, it ends after a request.

A request is a line of JSON. The answer is some messages, each of which is a line of JSON that may say how many bytes
follow it: ``file``, which file is now read; ``types`` and ``labels`` of its columns; ``bytes``, a batch of Arrow. The
last one is ``end``, or why there is none: ``refused`` with the reason, or ``absent`` if `pyreadstat` is. A reader
that ends without such a message has crashed.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib import import_module
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from warner.documents import Document

Labels: TypeAlias = dict[str, dict[Any, str]]  # of each column that has some: codes, in their order, and their labels

READERS = {"SPSS": "read_sav", "Stata": "read_dta", "SAS": "read_sas7bdat", "SAS transport": "read_xport"}
MOMENT = re.compile("^%-?[td]|DATE|TIME|YY|YMD|8601|TOD|HHMM|AMPM")  # in the format of dates and times
SERVER = """
import json, sys
sys.path[:] = json.loads(sys.stdin.buffer.readline())
from warner.reports.readstat import serve
serve()
"""
ANSWERED = 64  # the exit code of what was forked for a request, and came to its end; a library may end it with 0
FAILED = 1  # the exit code of Python after an error that nobody caught
KILLED = {-9, -15, 128 + 9, 128 + 15}  # the exit codes of what was ended from outside
DAMAGED = "it is damaged, or in another encoding"


class Description(NamedTuple):
    """What a file says of its columns: if they hold a number, an integer, a text or a moment; and their labels."""

    types: dict[str, str]
    labels: Labels


def schema_of(types: Mapping[str, str]) -> Any:
    """Give the schema of Arrow for columns of these types; moments are texts."""
    import pyarrow as pa

    arrows = {"number": pa.float64(), "integer": pa.int64(), "text": pa.string(), "moment": pa.string()}
    return pa.schema([(name, arrows[held]) for name, held in types.items()])


# The side that asks


class Reader(NamedTuple):
    """A process that reads, what it complains of, where it looks for modules, and the process that started it."""

    process: subprocess.Popen[bytes]
    complaints: IO[bytes]
    path: list[str]
    owner: int


ALIVE: list[Reader] = []
IDLE: list[Reader] = []


def described(kind: str, files: Sequence[str], encoding: str | None = None) -> dict[str, Description]:
    """Read what files say of their columns."""
    told = {}
    for file, message, _ in _messages(kind, files, encoding=encoding):
        labels = {name: dict(pairs) for name, pairs in message["labels"].items()}
        told[file] = Description(message["types"], labels)
    return told


def pieces(
    kind: str, files: Sequence[str], types: Mapping[str, str], cells: int, encoding: str | None = None
) -> Generator[tuple[str, Any], None, None]:
    """Read columns of these types, so many values at a time: record batches, and the file that each is from."""
    import pyarrow as pa

    schema = schema_of(types)
    rows = max(cells // len(types), 1)
    for file, _, content in _messages(kind, files, encoding=encoding, types=types, rows=rows):
        yield file, pa.ipc.read_record_batch(pa.py_buffer(content), schema)


def _messages(kind: str, files: Sequence[str], **asked: Any) -> Iterator[tuple[str, Document, bytes]]:
    """Ask a reader, and give its messages on each file; if we are not to hear the end of it, it is ended."""
    from warner.words import not_installed

    for file in files:
        if file.lower().endswith(".gz"):
            raise ValueError(f"{file} must be unpacked first, as a file of {kind}")
    reader, file, answered = _idle() or _started(), files[0], False
    try:
        request = {"kind": kind, "files": [str(Path(file).absolute()) for file in files], **asked}
        for message, content in _answer(reader, request):
            answered = not message.keys().isdisjoint({"end", "refused", "absent"})
            if "absent" in message:
                raise ImportError(not_installed("files of SPSS, Stata and SAS need pyreadstat", "readstat"))
            if "refused" in message:
                raise ValueError(f"{file} cannot be read: {message['refused']} (as a file of {kind})")
            if answered:
                return
            if "file" in message:
                file = files[message["file"]]
            else:
                yield file, message, content
        raise ValueError(f"{file} cannot be read: {_end_of(reader)} (as a file of {kind})")
    finally:
        if answered and hasattr(os, "fork"):
            IDLE.append(reader)
        else:
            _end(reader)


def _answer(reader: Reader, request: Document) -> Iterator[tuple[Document, bytes]]:
    """Send a request, and give the messages that come back whole."""
    asks, answers = reader.process.stdin, reader.process.stdout
    assert asks is not None
    assert answers is not None
    with suppress(BrokenPipeError):
        asks.write(json.dumps(request).encode() + b"\n")
        asks.flush()
    while (line := answers.readline()).endswith(b"\n"):
        message = json.loads(line)
        size = message.get("bytes", 0)
        if len(content := answers.read(size)) < size:
            return
        yield message, content


def _idle() -> Reader | None:
    """Give a reader that waits for us, if there is one; what was forked off us has others."""
    while IDLE:
        reader = IDLE.pop()
        if reader.owner == os.getpid():
            if reader.path == sys.path and reader.process.poll() is None:
                return reader
            _end(reader)
    return None


def _started() -> Reader:
    complaints = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed when the reader is ended
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=complaints,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # a process with threads should not fork
        start_new_session=True,  # Ctrl-C is for us; and what it forks can be ended with it
    )
    reader = Reader(process, complaints, list(sys.path), os.getpid())
    ALIVE.append(reader)
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps(list(map(str, sys.path))).encode() + b"\n")
    return reader


def _end_of(reader: Reader) -> str:
    """Say why a reader ended."""
    code = reader.process.wait()
    if code in KILLED:
        return "its reader was killed, perhaps for lack of memory"
    if code != FAILED:
        return "it is damaged, and its reader crashed"
    reader.complaints.seek(0)
    lines = reader.complaints.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), DAMAGED)


def _end(reader: Reader) -> None:
    """End a reader, wherever it is, and what it forked with it."""
    ALIVE.remove(reader)
    process = reader.process
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            if process.returncode is None:  # or its number may be another's by now
                os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, reader.complaints):
        assert stream is not None
        with suppress(BrokenPipeError):
            stream.close()


@atexit.register
def _end_all() -> None:
    for reader in [reader for reader in ALIVE if reader.owner == os.getpid()]:
        _end(reader)


# The side that reads


class WithoutPandas(MetaPathFinder):
    """Let nobody load pandas: PyArrow would, to see whether values are from there, and it takes longest of all."""

    @staticmethod
    def find_spec(fullname: str, *_: Any) -> None:
        """Find nothing, but for pandas fail."""
        if fullname == "pandas":
            raise ImportError(fullname)


def serve() -> None:
    """Answer requests until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    with suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    sys.meta_path.insert(0, WithoutPandas)
    for library in ("pyarrow", "pyreadstat"):  # now, and not for every request
        with suppress(ImportError):
            import_module(library)
    for line in sys.stdin.buffer:
        process = os.fork() if hasattr(os, "fork") else 0
        if not process:
            answer(json.loads(line), answers)
            os._exit(ANSWERED)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if code != ANSWERED:
            os._exit(128 - code if code < 0 else code)


def answer(request: Document, answers: IO[bytes]) -> None:
    """Answer a request."""

    def say(content: bytes | memoryview = b"", **message: Any) -> None:
        answers.write(json.dumps(message).encode() + b"\n")
        answers.write(content)
        answers.flush()

    try:
        import pyreadstat
    except ImportError:
        say(absent=True)
        return
    try:
        for number, file in enumerate(request["files"]):
            say(file=number)
            _read(request, file, say)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        say(refused=" ".join(str(error).split()))
    except MemoryError:
        say(refused="it needs more memory than there is")
    except (ArithmeticError, LookupError, TypeError, ValueError):  # of code that met what it did not expect
        say(refused=DAMAGED)
    else:
        say(end=True)


def _read(request: Document, file: str, say: Callable[..., None]) -> None:
    """Read the columns that are asked for, so many rows at a time; or, if none are, what the file says of them."""
    import pyreadstat

    def read(**options: Any) -> tuple[Document, Any]:
        reader = getattr(pyreadstat, READERS[request["kind"]])
        values, told = reader(file, output_format="dict", encoding=request["encoding"], **options)
        return values, told

    if "types" not in request:
        types, labels = _described(read(metadataonly=True)[1])
        say(types=types, labels={name: list(some.items()) for name, some in labels.items()})
        return

    import pyarrow as pa

    types, rows = request["types"], request["rows"]
    schema, names, done, size = schema_of(types), list(types), 0, rows
    while size == rows:
        values, _ = read(usecols=names, row_offset=done, row_limit=rows)
        size = len(values[names[0]])
        done += size
        if size:
            columns = {name: _plain(values[name], held) for name, held in types.items()}
            arrays = [pa.array(columns[field.name], field.type, from_pandas=True) for field in schema]
            content = memoryview(pa.record_batch(arrays, schema=schema).serialize())
            say(content, bytes=len(content))


def _described(told: Any) -> Description:
    given = {name: _in_order(labels) for name, labels in told.variable_value_labels.items()}
    types = {}
    for name in told.column_names:
        held, written = str(told.readstat_variable_types[name]), str(told.original_variable_types[name])
        numeric = "moment" if MOMENT.search(written) else "integer" if held.startswith("int") else "number"
        types[name] = "text" if held.startswith("string") else numeric
    suited: Document = {"text": str, "number": int | float, "integer": int | float, "moment": ()}
    labels = {
        name: {code: label for code, label in given[name].items() if isinstance(code, suited[held]) and label}
        for name, held in types.items()
        if name in given
    }
    return Description(types, {name: some for name, some in labels.items() if some})


def _in_order(labels: Mapping[Any, str]) -> dict[Any, str]:
    """Sort labels by their codes, of which a few may be letters, as Stata has them for missing values."""
    return dict(sorted(labels.items(), key=lambda pair: (isinstance(pair[0], str), pair[0])))


def _plain(values: Sequence[Any], held: str) -> Sequence[Any]:
    if held == "text":
        return [value or None for value in values]
    if held == "moment":
        return [value.isoformat() if hasattr(value, "isoformat") else value and str(value) for value in values]
    return values
