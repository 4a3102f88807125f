"""Which files reports are in: a file, a pattern, a folder, or several of these; and what the names of folders tell.

Hive, Spark, DuckDB, Polars and Arrow write large tables in folders such as ``day=1/region=north/``: the name of a
folder holds the value that a column has in all rows of the files below it, and the files do not have that column.
"""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeGuard
from urllib.parse import unquote

from warner.words import enumerated

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ENDINGS = (  # of the files in a folder that are read
    ".csv", ".tsv", ".parquet", ".pq", ".json", ".jsonl", ".ndjson", ".sav", ".zsav", ".dta", ".sas7bdat", ".xpt",
)  # fmt: skip
NULL = "__HIVE_DEFAULT_PARTITION__"  # how a missing value is written
WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")  # in digits, as it would be written again
REMOTE = re.compile(r"(?:s3|s3a|gs|gcs|https?|ftp|hdfs|az|abfss?|hf)://", re.IGNORECASE)
NAMED = 3  # files in a message

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
    a dot or an underscore are left out, as other programs do: ``_SUCCESS``, ``_metadata``, ``.part``.

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
        if (path := Path(file).resolve()) in seen:
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
        files = [file for file in sorted(glob.glob(place, recursive=True)) if not Path(file).is_dir()]
    elif Path(place).is_dir():
        files = sorted(_below(place))
        if not files:
            raise FileNotFoundError(
                f"the folder {place} holds no file that ends in {enumerated(ENDINGS, len(ENDINGS))}"
            )
    else:
        files = [place]
    if not files or not Path(files[0]).exists():
        raise FileNotFoundError(f"there is no file {place}")
    return files


def _below(folder: str) -> Iterable[str]:
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        for name in names:
            if not name.startswith((".", "_")) and name.lower().removesuffix(".gz").endswith(ENDINGS):
                yield str(Path(here) / name)


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
        name: all(values[name] is None or WHOLE.fullmatch(str(values[name])) is not None for values in found)
        for name in found[0]
    }


def shown(places: Sequence[str]) -> str:
    """Name places in a message."""
    return enumerated(places, NAMED)
