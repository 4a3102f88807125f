"""What `pyreadstat` reads, in a child process: its C library may crash on a damaged file, and must not end ours.

Both sides are here. The side that asks starts Python with `write_stream`, sends it a request, a JSON document, and
reads a stream of Arrow from its standard output: for each file what it says of its columns, and all of its rows if they
are few; or batches of rows. A child that came to its end exits with `ANSWERED`, and one that refused a file with
`REFUSED`, and the reason as the last line of its complaints; any other has crashed. A child takes about a fifth of a
second, nearly all of it for the import of two libraries, so that a small file costs one, and a large one one more for
every query.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager, suppress
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from warner.documents import Document

Labels: TypeAlias = dict[str, dict[Any, str]]  # of each column that has some: codes, in their order, and their labels

READERS = {"SPSS": "read_sav", "Stata": "read_dta", "SAS": "read_sas7bdat", "SAS transport": "read_xport"}
MOMENT = re.compile("^%-?[td]|DATE|TIME|YY|YMD|8601|TOD|HHMM|AMPM")  # in the format of dates and times
CHILD = """
import json, sys
sys.path[:], request = json.load(sys.stdin.buffer)
from warner.reports.readstat import write_stream
write_stream(request)
"""
ANSWERED, REFUSED, ABSENT = 64, 65, 66  # exit codes of a child; a library may end it with 0
FAILED = 1  # the exit code of Python after an error that nobody caught
KILLED = {-9, -15, 128 + 9, 128 + 15}  # the exit codes of what was ended from outside
DAMAGED = "it is damaged, or in another encoding"


class Description(NamedTuple):
    """What a file says of its columns: if they hold a number, an integer, a text or a moment; and their labels.

    `rows` are all of them, as record batches, where they were few enough to be read at once.
    """

    types: dict[str, str]
    labels: Labels
    rows: list[Any] | None = None


def schema_of(types: Mapping[str, str]) -> Any:
    """Give the schema of Arrow for columns of these types; moments are texts."""
    import pyarrow as pa

    arrows = {"number": pa.float64(), "integer": pa.int64(), "text": pa.string(), "moment": pa.string()}
    return pa.schema([(name, arrows[held]) for name, held in types.items()])


# The side that asks


def described(
    kind: str, files: Sequence[str], encoding: str | None = None, *, cells: int = 0
) -> dict[str, Description]:
    """Read what files say of their columns, and the rows of small files, up to so many values altogether."""
    import pyarrow as pa

    told = {}
    for file, batch in _batches(kind, files, encoding=encoding, cells=cells):
        description, content = (column[0].as_py() for column in batch.columns)
        types, labels = json.loads(description)
        rows = None if content is None else list(pa.ipc.open_stream(content))
        told[file] = Description(types, {name: dict(pairs) for name, pairs in labels.items()}, rows)
    return told


def pieces(
    kind: str, files: Sequence[str], types: Mapping[str, str], cells: int, encoding: str | None = None
) -> Generator[tuple[str, Any], None, None]:
    """Read columns of these types, so many values at a time: record batches, and the file that each is from."""
    rows = max(cells // len(types), 1)
    yield from _batches(kind, files, encoding=encoding, types=types, rows=rows)


def _batches(kind: str, files: Sequence[str], **asked: Any) -> Generator[tuple[str, Any], None, None]:
    """Ask a child, and give the batches of each file; if we are not to hear the end of it, it is ended."""
    from warner.words import not_installed

    request = {"kind": kind, "files": [str(Path(file).absolute()) for file in files], **asked}
    file = files[0]
    with tempfile.TemporaryFile() as complaints, _child(request, complaints) as process:
        for number, batch in _stream(process.stdout):
            file = files[number]
            if len(batch):  # it is an empty one that says which file is now read
                yield file, batch
        code = process.wait()
        if code == ABSENT:
            raise ImportError(not_installed("files of SPSS, Stata and SAS need pyreadstat", "readstat"))
        if code != ANSWERED:
            raise ValueError(f"{file} cannot be read: {_reason(code, complaints)} (as a file of {kind})")


@contextmanager
def _child(request: Document, complaints: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a child and send it a request; it is ended afterwards, wherever it is."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=complaints,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        start_new_session=True,  # Ctrl-C is for us
    )
    assert process.stdin is not None
    with process:
        try:
            with suppress(BrokenPipeError), process.stdin as asks:
                asks.write(json.dumps([list(map(str, sys.path)), request]).encode())
            yield process
        finally:
            process.kill()


def _stream(answers: Any) -> Iterator[tuple[int, Any]]:
    """Give the batches of a stream that come whole, each with the number of its file."""
    import pyarrow as pa

    with suppress(StopIteration, OSError, pa.ArrowInvalid):
        reader = pa.ipc.open_stream(answers)
        while True:
            batch, told = reader.read_next_batch_with_custom_metadata()
            yield int(told["file"]), batch


def _reason(code: int, complaints: IO[bytes]) -> str:
    """Say why a child ended."""
    if code in KILLED:
        return "its reader was killed, perhaps for lack of memory"
    if code not in {FAILED, REFUSED}:
        return "it is damaged, and its reader crashed"
    complaints.seek(0)
    lines = complaints.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), DAMAGED)


# The side that reads


class WithoutPandas(MetaPathFinder):
    """Let nobody load pandas: PyArrow would, to see whether values are from there, and it takes longest of all."""

    @staticmethod
    def find_spec(fullname: str, *_: Any) -> None:
        """Find nothing, but for pandas fail."""
        if fullname == "pandas":
            raise ImportError(fullname)


def write_stream(request: Document) -> NoReturn:
    """Answer a request on standard output, and end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    sys.meta_path.insert(0, WithoutPandas)
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # whatever a library prints is no answer
        code, reason = _answered(request, answers)
    sys.stderr.write(f"\n{reason}\n")
    sys.stderr.flush()
    os._exit(code)


def _answered(request: Document, answers: IO[bytes]) -> tuple[int, str]:
    """Answer a request, and give the code to end with, and the reason for it."""
    try:
        import pyarrow as pa
        import pyreadstat
    except ImportError:
        return ABSENT, ""
    asked = "types" in request
    schema = schema_of(request["types"]) if asked else pa.schema({"description": pa.string(), "rows": pa.binary()})
    try:
        with pa.ipc.new_stream(answers, schema) as stream:
            for number, file in enumerate(request["files"]):
                which = {"file": str(number)}
                stream.write_batch(pa.RecordBatch.from_pylist([], schema=schema), custom_metadata=which)
                answers.flush()
                rows = _rows(request, file, request["types"], request["rows"]) if asked else _description(request, file)
                for batch in rows:
                    stream.write_batch(pa.record_batch(batch, schema=schema), custom_metadata=which)
                    answers.flush()
    except BrokenPipeError:
        os._exit(ANSWERED)  # nobody listens any more
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        return REFUSED, " ".join(str(error).split())
    except MemoryError:
        return REFUSED, "it needs more memory than there is"
    except (ArithmeticError, LookupError, TypeError, ValueError):  # of code that met what it did not expect
        return REFUSED, DAMAGED
    return ANSWERED, ""


def _read(request: Document, file: str, **options: Any) -> tuple[Document, Any]:
    import pyreadstat

    reader = getattr(pyreadstat, READERS[request["kind"]])
    values, told = reader(file, output_format="dict", encoding=request["encoding"], **options)
    return values, told


def _description(request: Document, file: str) -> Iterator[list[Any]]:
    """Give what a file says of its columns, and its rows if they are few enough, as a stream within the stream."""
    import pyarrow as pa

    told = _read(request, file, metadataonly=True)[1]
    types, labels, _ = _described(told)
    pairs = {name: list(some.items()) for name, some in labels.items()}
    number, content = getattr(told, "number_rows", None), None
    if number is not None and 0 <= number * len(types) <= request["cells"] and types:
        request["cells"] -= number * len(types)
        buffer = pa.BufferOutputStream()
        with pa.ipc.new_stream(buffer, schema_of(types)) as stream:
            for arrays in _rows(request, file, types, max(number + 1, 1)):
                stream.write_batch(pa.record_batch(arrays, schema=schema_of(types)))
        content = buffer.getvalue().to_pybytes()
    yield [[json.dumps([types, pairs])], pa.array([content], pa.binary())]


def _rows(request: Document, file: str, types: Mapping[str, str], rows: int) -> Iterator[list[Any]]:
    """Read columns of these types, so many rows at a time."""
    import pyarrow as pa

    schema, names, done, size = schema_of(types), list(types), 0, rows
    while size == rows:
        values, _ = _read(request, file, usecols=names, row_offset=done, row_limit=rows)
        size = len(values[names[0]])
        done += size
        if size:
            columns = {name: _plain(values[name], held) for name, held in types.items()}
            yield [pa.array(columns[field.name], field.type, from_pandas=True) for field in schema]


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
