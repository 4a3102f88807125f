"""Which files reports are in: a file, a pattern, a folder, or several of these; and what the names of folders tell.

Hive, Spark, DuckDB, Polars and Arrow write large tables in folders such as ``day=1/region=north/``: the name of a
folder holds the value that a column has in all rows of the files below it, and the files do not have that column.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeGuard
from urllib.parse import unquote

from warner.documents import resolved
from warner.reports.formats import ENDINGS
from warner.words import enumerated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NULL = "__HIVE_DEFAULT_PARTITION__"  # how a missing value is written
FOLDER_NUMBER = re.compile("0|-?[1-9][0-9]{0,17}")  # in digits, as it would be written again
REMOTE = re.compile(r"(?:s3|s3a|gs|gcs|https?|ftp|hdfs|az|abfss?|hf)://", re.IGNORECASE)
PLACES_LISTED = 3  # files in a message
NAMES_SEARCHED = 100_000  # names of files and folders that are looked at, in search of those that are meant

Place: TypeAlias = "str | os.PathLike[str]"


def are_places(given: object) -> TypeGuard[Place | Sequence[Place]]:
    """Tell whether this is the path of a file, or a list of `Path` objects; texts in a list may be reports."""
    if isinstance(given, list | tuple):
        return bool(given) and all(isinstance(place, os.PathLike) for place in given)
    return isinstance(given, str | os.PathLike)


def places_of(given: Place | Sequence[Place]) -> tuple[str, ...]:
    """Give one place or several as texts."""
    return (os.fspath(given),) if isinstance(given, str | os.PathLike) else tuple(os.fspath(place) for place in given)


def files_of(places: Sequence[str]) -> tuple[str, ...]:
    """Give all files of these places, each of which is a file, a pattern or a folder.

    In a folder, and all folders below it, these are the files with the ending of a known format. Names that begin with
    a dot or an underscore are left out, as other programs do: ``_SUCCESS``, ``_metadata``, ``.part``. Links to folders
    are not followed there, nor by the ``**`` of a pattern: they may lead in a circle.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("day=1/a.csv", "day=2/a.csv", "_log/a.csv", "readme.txt"):
    ...         Path(folder, name).parent.mkdir(exist_ok=True)
    ...         Path(folder, name).touch()
    ...     [Path(file).relative_to(folder).as_posix() for file in files_of([folder])]
    ['day=1/a.csv', 'day=2/a.csv']
    """
    files = [file for place in places for file in _files(place)]
    seen: set[Path] = set()
    for file in files:
        if (path := resolved(file)) in seen:
            raise ValueError(f"{file} is there twice: its reports would be counted twice")
        seen.add(path)
    return tuple(files)


def _files(place: str) -> list[str]:
    if REMOTE.match(place):
        raise ValueError(
            f"{place} is not on this machine, and files are not read over a network; copy it first, or open it in "
            "Python with a library that can, such as DuckDB or Polars, and give the frame"
        )
    if glob.has_magic(place) and not Path(place).exists():
        files = sorted(file for file in _matching(place) if not Path(file).is_dir())
    elif Path(place).is_dir():
        files = sorted(_below(place))
        if not files:
            raise FileNotFoundError(
                f"the folder {place} holds no file that ends in {enumerated(list(ENDINGS), len(ENDINGS))}"
            )
    else:
        files = [place] if Path(place).exists() else []
    if not files:
        raise FileNotFoundError(f"there is no file {place}")
    return files


def _below(place: str) -> Iterator[str]:
    """Give the files in a folder, and in all folders below it, that have the ending of a known format."""
    for entry in _FolderSearch(place).below(place, hidden=(".", "_")):
        if entry.name.lower().removesuffix(".gz").endswith(tuple(ENDINGS)) and not entry.is_dir():
            yield str(Path(entry.path))


def _matching(pattern: str) -> Iterator[str]:
    """Give the files and folders that match a pattern, in which ``**`` stands for any number of folders, or none."""
    path, search = Path(pattern), _FolderSearch(pattern)
    places = [path.anchor]
    parts = path.parts[bool(path.anchor) :]
    for number, part in enumerate(parts, 1):
        if part == "**":
            last = number == len(parts)  # then it stands for files, too
            inside = (entry for place in places for entry in search.below(place, hidden=(".",)))
            places += [entry.path for entry in inside if last or entry.is_dir(follow_symlinks=False)]
            places = list(dict.fromkeys(places))
        elif glob.has_magic(part):
            places = [entry.path for place in places for entry in search.inside(place) if _matches(entry.name, part)]
        else:
            places = [str(file) for place in places if os.path.lexists(file := Path(place, part))]
    return (str(Path(place)) for place in places if place)


def _matches(name: str, part: str) -> bool:
    """Tell whether a name matches a part of a pattern; hidden ones are named as such."""
    return fnmatch.fnmatch(name, part) and (part.startswith(".") or not name.startswith("."))


class _FolderSearch:
    """A search of folders for a place, which ends if it looks at too many names: nobody means a whole disk."""

    def __init__(self, place: str) -> None:
        self.place, self.names = place, 0

    def inside(self, folder: str) -> Iterator[os.DirEntry[str]]:
        """Give what is in a folder; nothing if it is none."""
        if folder and not Path(folder).is_dir():
            return
        with os.scandir(folder or ".") as entries:
            for entry in entries:
                self.names += 1
                if self.names > NAMES_SEARCHED:
                    raise ValueError(
                        f"{self.place} stands for more than {NAMES_SEARCHED:,} files and folders; give the folder "
                        "of the reports itself, or a pattern such as folder/*.csv"
                    )
                yield entry

    def below(self, folder: str, hidden: tuple[str, ...]) -> Iterator[os.DirEntry[str]]:
        """Give all that is in a folder and in those below it, but for names that begin in one of these ways."""
        waiting = [folder]
        while waiting:
            for entry in self.inside(waiting.pop()):
                if not entry.name.startswith(hidden):
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)


def partition(file: str) -> dict[str, str | None]:
    """Read the columns that the folders of a file stand for.

    Examples
    --------
    >>> partition("ds/day=1/place=New%20York/part-0.parquet")
    {'day': '1', 'place': 'New York'}
    """
    pairs = (part.partition("=") for part in Path(file).parent.parts)
    return {
        unquote(name): None if value == NULL else unquote(value) for name, equals, value in pairs if equals and name
    }


def partition_columns(files: Sequence[str]) -> dict[str, bool]:
    """Name the columns that the folders of all files stand for, and whether their values are whole numbers."""
    found = [partition(file) for file in files]
    if not found[0] or any(list(values) != list(found[0]) for values in found):
        return {}
    return {
        name: all(values[name] is None or FOLDER_NUMBER.fullmatch(str(values[name])) is not None for values in found)
        for name in found[0]
    }


def shown(places: Sequence[str]) -> str:
    """Name places in a message."""
    return enumerated(places, PLACES_LISTED)
