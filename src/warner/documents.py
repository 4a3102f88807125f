"""Files that are written atomically, locks between processes, and JSON documents that name their format."""

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
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Self, TextIO, TypeAlias, TypeVar

from warner.text import did_you_mean, enumerated, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

Value = TypeVar("Value")
Document: TypeAlias = dict[str, Any]  # what JSON can hold
# Characters that a terminal may obey and JSON does not escape: delete, C1 controls, and marks of direction and of lines
OBEYED = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
LOCK_POLL_SECONDS = 0.01  # between two attempts
HEAD_BYTES = 2**16  # of a file that name its format


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a file atomically: yield a temporary path that replaces `path` on success, and leave nothing on failure."""
    given = Path(path)
    if is_pipe(given):
        yield given  # it cannot be replaced
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
        with suppress(OSError):  # in a folder without permission to search
            part.unlink()


def resolved(path: str | os.PathLike[str]) -> Path:
    """Follow links to the file; a circle of links is an error that names the path."""
    try:
        file = Path(path).resolve()
    except RuntimeError:  # of a circle, before Python 3.13
        file = None
    if file is None or file.is_symlink():  # since then, the link itself is given
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return file


class FileLock:
    """Lock on a separate file beside the protected one; it ends with the process.

    The file itself, which need not exist yet, may be replaced while the lock is held, and closing any handle of a
    database would release the locks of SQLite. A lock that does not `wait` raises `BlockingIOError` at once.
    """

    def __init__(self, path: Path, *, wait: bool = False) -> None:
        self.path = path.with_name(f"{path.name}-lock")
        while True:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            held = not _locked(self._file)
            with suppress(FileNotFoundError):
                if not held and os.path.samestat(os.fstat(self._file), self.path.stat()):
                    return
            os.close(self._file)  # the previous holder removed the file in between: its lock protects nothing
            if held and not wait:
                raise BlockingIOError(f"another process holds {path}")
            time.sleep(LOCK_POLL_SECONDS * held)

    def release(self) -> None:
        """Release the lock, and remove its file."""
        if sys.platform != "win32":  # where an open file cannot be removed
            with suppress(FileNotFoundError):  # another process removed it, and may have a new one
                if os.path.samestat(os.fstat(self._file), self.path.stat()):
                    self.path.unlink()  # while the lock is held, so that it is still ours
        os.close(self._file)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self.release()


def _locked(file: int) -> bool:
    """Lock an open file unless another process has; on Windows its first byte."""
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
    """Text lines for `csv.writer`: CR LF as terminator makes it quote values with either; written with LF."""

    def __init__(self, file: TextIO) -> None:
        self.file = file

    def write(self, line: str) -> int:
        """Write a line of the table."""
        return self.file.write(line.removesuffix("\r\n") + "\n")


def csv_writer(file: TextIO, delimiter: str = ",") -> Any:
    """Return a CSV writer that quotes every value that needs it, including lone carriage returns."""
    return csv.writer(QuotedLines(file), delimiter=delimiter, lineterminator="\r\n")


@contextmanager
def named_as_given(names: Mapping[str, str]) -> Iterator[None]:
    """Replace the names of copies in errors by the original names of the files."""
    try:
        yield
    except (OSError, TypeError, ValueError) as error:
        message = str(error)
        if isinstance(error, OSError) and error.filename is not None:
            message = f"{error.filename}: {error.strerror}"
        renamed = message
        for copy, original in names.items():
            renamed = renamed.replace(copy, original)
        if renamed == message:
            raise
        raise ValueError(renamed) from None


def is_pipe(path: Path) -> bool:
    """Return True for a pipe or a device, which can be read only once."""
    return path.exists() and not path.is_file() and not path.is_dir()


def save_text(path: str | os.PathLike[str], text: str, *, private: bool = False) -> None:
    """Write a text file atomically; a private one is readable by its owner only, and on the disk on return."""
    with written_whole(path) as part:
        if private:
            part.touch(mode=0o600, exist_ok=False)  # before there is anything to read
        part.write_text(text + "\n", encoding="utf-8")
        if private:
            with part.open("rb+") as file:
                os.fsync(file.fileno())


def loaded(path: str | os.PathLike[str], parse: Callable[[str], Value]) -> Value:
    """Read a text file with a parser; its errors then name the file."""
    try:
        return parse(Path(path).read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} must be a text file in UTF-8, but is in another encoding, or not text") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def document(fields: Document) -> str:
    """Write JSON with a line for each field, which is easy to read."""
    body = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items())
    return json_escaped(f"{{\n{body}\n}}")


class Saved(ABC):
    """Value with a JSON document of a named format, which can be saved to a file."""

    _format: ClassVar[str]

    @abstractmethod
    def to_dict(self) -> Document:
        """Return the JSON document."""

    @classmethod
    @abstractmethod
    def from_dict(cls, fields: Document) -> Self:
        """Read the result of `to_dict`; anything else raises a ValueError."""

    def to_json(self) -> str:
        """Return the JSON document as text."""
        return document(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the result of `to_json`; anything else raises a ValueError."""
        return cls.from_dict(parsed(text, cls._format))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the JSON document to a file, atomically."""
        save_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file that `save` wrote."""
        return loaded(path, cls.from_json)


def json_escaped(text: str) -> str:
    r"""Escape characters in JSON that a terminal would obey; JSON itself escapes only the first 32.

    The document stays the same: such characters occur in texts only.

    >>> print(json_escaped(json.dumps("naïve \x9b31m \u202e", ensure_ascii=False)))
    "naïve \u009b31m \u202e"
    """
    return OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _with_article(what: str) -> str:
    return f"{'an' if what[0] in 'aeio' else 'a'} {what}"


def parsed(text: str, kind: str, *, picture: bool = False) -> Document:
    """Parse the JSON of a document of this kind, without a check of its fields; errors can show the line concerned."""
    what = _with_article(kind.removeprefix("warner "))
    if not text.strip():
        raise ValueError(f"{what} must be JSON as warner writes it, but this file is empty")
    try:
        fields = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        if not picture and not text.lstrip().startswith("{"):
            raise ValueError(f"{what} must be JSON as warner writes it, but this is a file of another kind") from None
        raise ValueError(f"{what} must be JSON, but {_unreadable(text, error, picture=picture)}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{what} must be JSON as warner writes it, but this cannot be read: {error}") from None
    return fields if isinstance(fields, dict) else {}


JSON_REMEDIES = (  # by a pattern of what stands at the error
    (r",\s*[]}]", "remove this comma, which follows the last entry"),
    (r"['\u2018-\u201e\u00ab\u00bb`]", 'write texts between straight double quotes, "like this"'),
    (r"//|/\*|#", "remove this comment: JSON has none"),
    (r"True\b|False\b|None\b", "write true, false and null in lower case"),
    (r",", "remove this comma, or put an entry before it"),
    (r"\Z", "the text ends too early: close every quotation mark and bracket"),
)
PICTURE_COLUMNS = 70  # of the line of an error that are shown


def _unreadable(text: str, error: json.JSONDecodeError, *, picture: bool) -> str:
    """Return line and column of an error in JSON, and a remedy; with `picture`, also this part of the line."""
    message, place, before = error.msg, error.pos, text[: error.pos].rstrip()
    if message.startswith("Invalid control character") and text[place] != "\n":
        remedy = "remove this character, which cannot be seen; a tab within a text is written \\t"
    elif message.startswith("Invalid control character"):
        remedy = "close this text before the end of the line; a line break within a text is written \\n"
    elif message.startswith("Invalid \\"):
        remedy = "write a backslash within a text as \\\\"
    elif message.startswith("Unterminated"):
        remedy = "close this text with a double quote"
    elif message == "Extra data":
        remedy = "remove what follows the last bracket"
    else:
        if text[place : place + 1] in {"]", "}"} and before.endswith(","):
            place = len(before) - 1
        remedy = next((words for pattern, words in JSON_REMEDIES if re.match(pattern, text[place:])), "")
        if not remedy and "delimiter" in message:
            mark = "comma or a closing bracket" if "','" in message else "colon"
            place, remedy = len(before), f'put a {mark} here; a double quote within a text is written \\"'
        remedy = remedy or 'write texts between double quotes, "like this"'
    row, start = text.count("\n", 0, place), text.rfind("\n", 0, place) + 1
    column, margin = place - start, f"  {row + 1} | "
    found = f"line {row + 1}, column {column + 1} cannot be read: {remedy}"
    if not picture:  # of a file that may be another one, with true answers
        return found
    left = max(0, column - PICTURE_COLUMNS // 2)
    shown = printable(text[start:].partition("\n")[0].replace("\t", " ")[left : left + PICTURE_COLUMNS])
    return f"{found}\n{margin}{shown}\n{' ' * (len(margin) + column - left)}^"


def format_of(path: Path) -> str | None:
    """Return the field "format" of a JSON document; None for files of other kinds."""
    try:
        with path.open("rb") as file:
            return format_within(file.read(HEAD_BYTES), file)
    except OSError:
        return None  # reading it raises the error


def format_within(beginning: bytes, rest: BinaryIO) -> str | None:
    """Return the format of an open file; it is read whole only if its `beginning` is an object that mentions warner."""
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
    """Check the format, version and fields of a document."""
    check_format(fields, kind, version)
    what = f"this {kind.removeprefix('warner ')} is damaged"
    refuse_other_fields(what, fields, names | {"format", "version"}, optional)
    return fields


def check_format(fields: Document, kind: str, version: int) -> None:
    """Raise an error unless a document is of this kind and version."""
    what = kind.removeprefix("warner ")
    if not isinstance(fields, dict) or fields.get("format") != kind:
        raise ValueError(
            f'{_with_article(what)} must say "format": "{kind}"; this JSON does not, so it is something else'
        )
    if type(fields.get("version")) is not int or fields["version"] != version:
        raise ValueError(
            f"this {what} is of version {fields.get('version')!r}, but this warner reads version {version}; "
            "read it with the warner that wrote it, or a newer one"
        )


def skipped_fields(files: Mapping[str, str]) -> Document:
    """Return the field of a JSON document that lists skipped files, if there are any."""
    return {"skipped_files": dict(files)} if files else {}


def refuse_other_fields(where: str, fields: Document, names: set[str], optional: Collection[str] = ()) -> None:
    """Raise an error that names missing and additional fields.

    >>> refuse_other_fields("this survey", {"id": "x", "starts": 1}, {"id", "title"}, {"opens"})
    Traceback (most recent call last):
    ValueError: this survey: it lacks the field 'title', and must not have the field 'starts'
    """
    missing = sorted(names - fields.keys())
    strange = sorted(fields.keys() - names - set(optional))
    wrong = [f"lacks the {_named_fields(missing)}"] if missing else []
    wrong += [f"must not have the {_named_fields(strange)}"] if strange else []
    if wrong:
        meant = did_you_mean(strange[0], sorted(names | set(optional))) if strange else ""
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
