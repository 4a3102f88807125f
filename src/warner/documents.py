"""Files that are there whole or not at all, a lock that one process holds at a time, and JSON that says what it is."""

from __future__ import annotations

import codecs
import csv
import errno
import json
import os
import re
import secrets
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, TypeAlias, TypeVar

from warner.text import enumerated

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from types import TracebackType

Value = TypeVar("Value")
Document: TypeAlias = dict[str, Any]  # what JSON can hold
# What a terminal may obey and JSON does not escape: delete, C1 controls, and marks of direction and of lines
OBEYED = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
LOCK_POLL_SECONDS = 0.01  # between two looks at a lock that somebody else holds
HEAD_BYTES = 2**16  # of a file in which the name of its format is looked for


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a path to write to; it takes the place of `path` only when all went well.

    Written beside, then renamed: a reader never sees half a file, and a failure leaves nothing behind.
    """
    given = Path(path)
    if is_pipe(given):
        yield given  # there is nothing to take the place of
        return
    target = resolved(given)  # through a link, to the file itself
    part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        yield part
        part.replace(target)
    except OSError as error:
        if error.errno is None or str(error.filename) not in {"None", str(part)}:
            raise
        # Named as the user named it; Arrow names the part in its description of the error.
        why = os.strerror(error.errno) if part.name in str(error.strerror) else error.strerror
        raise type(error)(error.errno, why, str(path)) from None
    finally:
        with suppress(OSError):  # in a folder that nobody may search, for one
            part.unlink()


def resolved(path: str | os.PathLike[str]) -> Path:
    """Follow links to the file itself; those that lead in a circle are an error that names the path."""
    try:
        file = Path(path).resolve()
    except RuntimeError:  # of a circle, before Python 3.13
        file = None
    if file is None or file.is_symlink():  # since then, the link itself is given
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return file


class FileLock:
    """A lock on a file of its own, beside the file that it is for; it ends with the process, however that ends.

    It is not taken on the file itself: that may be replaced while the lock is held, and to close any handle of a
    database would let go of SQLite's own locks.

    Parameters
    ----------
    path : Path
        The file that only one process may change at a time; it need not be there yet.
    wait : bool
        Whether to wait for whoever holds the lock; or else to raise `BlockingIOError` at once.
    """

    def __init__(self, path: Path, *, wait: bool = False) -> None:
        self.path = path.with_name(f"{path.name}-lock")
        while True:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            held = not _locked(self._file)
            with suppress(FileNotFoundError):
                if not held and os.path.samestat(os.fstat(self._file), self.path.stat()):
                    return
            os.close(self._file)  # whoever held it removed the file in between: that lock would keep out nobody
            if held and not wait:
                raise BlockingIOError(f"another process holds {path}")
            time.sleep(LOCK_POLL_SECONDS * held)

    def release(self) -> None:
        """Let go of the lock, and remove its file."""
        if sys.platform != "win32":  # where nobody can remove a file that is open
            with suppress(FileNotFoundError):  # somebody else removed it, and may have a new one
                if os.path.samestat(os.fstat(self._file), self.path.stat()):
                    self.path.unlink()  # while the lock is held, so that it is still ours
        os.close(self._file)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()


def _locked(file: int) -> bool:
    """Lock an open file, unless another process has; on Windows its first byte, which need not exist."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # the second on Windows
        return False
    return True


class QuotedLines:
    """Text lines for `csv.writer` with the line terminator CR LF, for it quotes what holds either; written with LF."""

    def __init__(self, file: TextIO) -> None:
        self.file = file

    def write(self, line: str) -> int:
        """Write a line of the table."""
        return self.file.write(line.removesuffix("\r\n") + "\n")


def csv_writer(file: TextIO, delimiter: str = ",") -> Any:
    """Give a writer of CSV whose every value is read back, a lone carriage return as well."""
    return csv.writer(QuotedLines(file), delimiter=delimiter, lineterminator="\r\n")


@contextmanager
def named_as_given(names: Mapping[str, str]) -> Iterator[None]:
    """Let errors name files as they were given: `names` by the copies that are read in their place."""
    try:
        yield
    except (OSError, TypeError, ValueError) as error:
        said = str(error)
        if isinstance(error, OSError) and error.filename is not None:
            said = f"{error.filename}: {error.strerror}"
        told = said
        for copy, given in names.items():
            told = told.replace(copy, given)
        if told == said:
            raise
        raise ValueError(told) from None


def is_pipe(path: Path) -> bool:
    """Tell a pipe or a device, which can be gone through once, from a file and a folder."""
    return path.exists() and not path.is_file() and not path.is_dir()


def save_text(path: str | os.PathLike[str], text: str, *, private: bool = False) -> None:
    """Write a text file, whole or not at all; a private one for its owner only, and on the disk on return."""
    with written_whole(path) as part:
        if private:
            part.touch(mode=0o600, exist_ok=False)  # before there is anything to read
        part.write_text(text + "\n", encoding="utf-8")
        if private:
            with part.open("rb+") as file:
                os.fsync(file.fileno())


def loaded(path: str | os.PathLike[str], parse: Callable[[str], Value]) -> Value:
    """Read a text file with a parser whose errors then name the file."""
    try:
        return parse(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} must be a text file in UTF-8, but is in another encoding, or not text") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def document(fields: Document) -> str:
    """Write JSON with a line for each field: these files are read by people, too."""
    body = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items())
    return json_escaped(f"{{\n{body}\n}}")


def json_escaped(text: str) -> str:
    r"""Escape what a terminal would obey in JSON, which escapes only the first 32 characters by itself.

    The same JSON to every reader: outside of texts it holds nothing of the kind.

    >>> print(json_escaped(json.dumps("naïve \x9b31m \u202e", ensure_ascii=False)))
    "naïve \u009b31m \u202e"
    """
    return OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _one(what: str) -> str:
    """Put the article before the name of a document: an open tally, a design."""
    return f"{'an' if what[0] in 'aeio' else 'a'} {what}"


def parsed(text: str, kind: str) -> Document:
    """Read the JSON of a document of this kind; `checked` looks at its fields."""
    what = kind.removeprefix("warner ")
    try:
        fields = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{_one(what)} must be JSON as warner writes it, but this cannot be read: {error}") from None
    return fields if isinstance(fields, dict) else {}


def format_of(path: Path) -> str | None:
    """Tell what a JSON document says that it is, by its field "format"; None for files of any other kind."""
    try:
        with path.open("rb") as file:
            return format_within(file.read(HEAD_BYTES), file)
    except OSError:
        return None  # whoever reads it will say what is wrong


def format_within(beginning: bytes, rest: BinaryIO) -> str | None:
    """Tell the same of a file that is open, of which the `beginning` is read already.

    Only a file that begins with an object, and speaks of warner early on, is read whole.
    """
    if not beginning.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{") or b'"warner ' not in beginning:
        return None
    try:
        fields = json.loads((beginning + rest.read()).decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    kind = fields.get("format") if isinstance(fields, dict) else None
    return kind if isinstance(kind, str) else None


def checked(
    fields: Document, kind: str, version: int, names: set[str], optional: frozenset[str] = frozenset()
) -> Document:
    """Give the fields of a document of this kind with just these names; anything else is an error that says why."""
    check_format(fields, kind, version)
    what = f"this {kind.removeprefix('warner ')} is damaged"
    refuse_other_fields(what, fields, names | {"format", "version"}, optional)
    return fields


def check_format(fields: Document, kind: str, version: int) -> None:
    """Raise an error unless a document is of this kind and version."""
    what = kind.removeprefix("warner ")
    if not isinstance(fields, dict) or fields.get("format") != kind:
        raise ValueError(f'{_one(what)} must say "format": "{kind}"; this JSON does not, so it is something else')
    if type(fields.get("version")) is not int or fields["version"] != version:
        raise ValueError(
            f"this {what} is of version {fields.get('version')!r}, but this warner reads version {version}; "
            "read it with the warner that wrote it, or a newer one"
        )


def refuse_other_fields(where: str, fields: Document, names: set[str], optional: Collection[str] = ()) -> None:
    """Refuse fields other than just these, with or without the optional ones: say which lack, and which are too many.

    >>> refuse_other_fields("this survey", {"id": "x", "starts": 1}, {"id", "title"}, {"opens"})
    Traceback (most recent call last):
    ValueError: this survey: it lacks the field 'title', and must not have the field 'starts'
    """
    missing = sorted(names - fields.keys())
    strange = sorted(fields.keys() - names - set(optional))
    wrong = [f"lacks the {_named_fields(missing)}"] if missing else []
    wrong += [f"must not have the {_named_fields(strange)}"] if strange else []
    if wrong:
        from difflib import get_close_matches

        guess = get_close_matches(strange[0], names | set(optional), 1) if strange else []
        meant = f"; did you mean {guess[0]!r}?" if guess else ""
        raise ValueError(f"{where}: it {', and '.join(wrong)}{meant}")


def _named_fields(names: list[str]) -> str:
    return f"field{'' if len(names) == 1 else 's'} {enumerated([f'{name!r:.40}' for name in names])}"


def _without_repeats(pairs: list[tuple[str, Any]]) -> Document:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field is repeated")
    return fields


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")
