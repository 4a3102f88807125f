"""Files read by `pyreadstat` in a child process, because its C library may crash on a damaged file.

Both sides are here. The parent starts Python with `write_streams` and sends it a request, a JSON document. For each
file the child writes to its standard output one byte when it begins to read the file, and then a stream of Arrow: the
metadata of the schema describe the columns, followed by the requested rows. The child exits with `ANSWERED`; with
`REFUSED` if it rejects a file, and the reason as the last line of standard error; any other exit is a crash. A child
takes about a fifth of a second, nearly all of it for the import of two libraries: one child reads all descriptions and
the rows of small files, and one more every query of large files.
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
from itertools import chain
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
from warner.reports.readstat import write_streams
write_streams(request)
"""
BEGUN = b"\n"  # written when a child begins to read a file
ANSWERED, REFUSED, ABSENT = 64, 65, 66  # exit codes of a child; a library may end it with 0
FAILED = 1  # the exit code of Python after an uncaught error
KILLED = {-9, -15, 128 + 9, 128 + 15}  # the exit codes of what was ended from outside
DAMAGED = "it is damaged, or in another encoding"


class Description(NamedTuple):
    """Columns of a file: number, integer, text or moment; their value labels; and all rows of a small file."""

    types: dict[str, str]
    labels: Labels
    rows: list[Any] | None = None


def schema_of(types: Mapping[str, str]) -> Any:
    """Arrow schema of columns of these types; moments are texts."""
    import pyarrow as pa

    arrows = {"number": pa.float64(), "integer": pa.int64(), "text": pa.string(), "moment": pa.string()}
    return pa.schema([(name, arrows[held]) for name, held in types.items()])


# The parent


def described(
    kind: str, files: Sequence[str], encoding: str | None = None, *, cells: int = 0
) -> dict[str, Description]:
    """Read the descriptions of files, and the rows of small files, up to `cells` values altogether."""
    result: dict[str, Description] = {}
    rows: list[Any] = []
    for file, schema, batch in _streams(kind, files, encoding=encoding, cells=cells):
        if batch is None:
            types, pairs, small = json.loads(schema.metadata[b"description"])
            labels = {name: dict(some) for name, some in pairs.items()}
            rows = []
            result[file] = Description(types, labels, rows if small else None)
        else:
            rows.append(batch)
    return result


def pieces_of_file(
    kind: str, files: Sequence[str], types: Mapping[str, str], cells: int, encoding: str | None = None
) -> Generator[tuple[str, Any], None, None]:
    rows = max(cells // len(types), 1)
    for file, _, batch in _streams(kind, files, encoding=encoding, types=types, rows=rows):
        if batch is not None:
            yield file, batch


def _streams(kind: str, files: Sequence[str], **fields: Any) -> Generator[tuple[str, Any, Any], None, None]:
    """Yield the streams of a child: for each file its schema, and then the schema with each batch."""
    import pyarrow as pa

    from warner.text import not_installed

    request = {"kind": kind, "files": [str(Path(file).absolute()) for file in files], **fields}
    name = files[0]
    with tempfile.TemporaryFile() as complaints, _child(request, complaints) as process:
        answers: Any = process.stdout
        with suppress(OSError, pa.ArrowInvalid):  # the child ended within a stream
            for file in files:
                if not answers.read(len(BEGUN)):
                    break
                name = file
                stream = pa.ipc.open_stream(answers)
                for batch in chain([None], stream):
                    yield file, stream.schema, batch
        code = process.wait()
        if code == ABSENT:
            raise ImportError(not_installed("files of SPSS, Stata and SAS need pyreadstat", "readstat"))
        if code != ANSWERED:
            raise ValueError(f"{name} cannot be read: {_reason(code, complaints)} (as a file of {kind})")


@contextmanager
def _child(request: Document, complaints: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a child, send it a request, and end it afterwards."""
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


def _reason(code: int, complaints: IO[bytes]) -> str:
    if code in KILLED:
        return "its reader was killed, perhaps for lack of memory"
    if code not in {FAILED, REFUSED}:
        return "it is damaged, and its reader crashed"
    complaints.seek(0)
    lines = complaints.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), DAMAGED)


# The child


class WithoutPandas(MetaPathFinder):
    """Import hook that hides pandas, which PyArrow would load, at great cost, to inspect types."""

    @staticmethod
    def find_spec(fullname: str, *_: Any) -> None:
        if fullname == "pandas":
            raise ImportError(fullname)


def write_streams(request: Document) -> NoReturn:
    """Answer a request on standard output, and exit."""
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
    """Answer a request; return the exit code and its reason."""
    try:
        import pyreadstat
    except ImportError:
        return ABSENT, ""
    try:
        for file in request["files"]:
            answers.write(BEGUN)
            answers.flush()
            _write_stream(request, file, answers)
    except BrokenPipeError:
        os._exit(ANSWERED)  # the parent has closed the pipe
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        return REFUSED, " ".join(str(error).split())
    except MemoryError:
        return REFUSED, "it needs more memory than there is"
    except (ArithmeticError, LookupError, TypeError, ValueError):  # of code that met what it did not expect
        return REFUSED, DAMAGED
    return ANSWERED, ""


def _read_file(request: Document, file: str, **options: Any) -> tuple[Document, Any]:
    import pyreadstat

    reader = getattr(pyreadstat, READERS[request["kind"]])
    values, metadata = reader(file, output_format="dict", encoding=request["encoding"], **options)
    return values, metadata


def _write_stream(request: Document, file: str, answers: IO[bytes]) -> None:
    """Write the description of a file and the rows of a small file, or the requested rows."""
    import pyarrow as pa

    types, description, rows = request.get("types"), "", request.get("rows", 0)
    if types is None:
        metadata = _read_file(request, file, metadataonly=True)[1]
        types, labels, _ = _described(metadata)
        number = getattr(metadata, "number_rows", None)
        if small := bool(types) and number is not None and 0 <= number * len(types) <= request["cells"]:
            request["cells"] -= number * len(types)
            rows = number + 1
        description = json.dumps([types, {name: list(some.items()) for name, some in labels.items()}, small])
    schema, done, size = schema_of(types).with_metadata({"description": description}), 0, rows
    with pa.ipc.new_stream(answers, schema) as stream:
        while size == rows > 0:
            values, _ = _read_file(request, file, usecols=list(types), row_offset=done, row_limit=rows)
            columns = [
                pa.array(_cells(values[name], types[name]), schema.field(name).type, from_pandas=True) for name in types
            ]
            size = len(columns[0])
            done += size
            if size:
                stream.write_batch(pa.record_batch(columns, schema=schema))
                answers.flush()


def _described(metadata: Any) -> Description:
    value_labels = {
        name: dict(sorted(labels.items(), key=lambda pair: (isinstance(pair[0], str), pair[0])))  # codes may be letters
        for name, labels in metadata.variable_value_labels.items()
    }
    types = {}
    for name in metadata.column_names:
        held, written = str(metadata.readstat_variable_types[name]), str(metadata.original_variable_types[name])
        numeric = "moment" if MOMENT.search(written) else "integer" if held.startswith("int") else "number"
        types[name] = "text" if held.startswith("string") else numeric
    suited: Document = {"text": str, "number": int | float, "integer": int | float, "moment": ()}
    labels = {
        name: {code: label for code, label in value_labels[name].items() if isinstance(code, suited[held]) and label}
        for name, held in types.items()
        if name in value_labels
    }
    return Description(types, {name: some for name, some in labels.items() if some})


def _cells(values: Sequence[Any], held: str) -> Sequence[Any]:
    if held == "text":
        return [value or None for value in values]
    if held == "moment":
        return [value.isoformat() if hasattr(value, "isoformat") else value and str(value) for value in values]
    return values
