"""The running process: libraries imported on first use, available memory, and messages about progress.

Two measured savings of processor time in `warner estimate` on a small file (255 ms, Python 3.11) keep the imports on
first use. The parts of NumPy that `scipy.special` imports without need, mostly `numpy.f2py` and `numpy.testing`, take
42 ms; neither NumPy nor SciPy has a public way to leave them out. Narwhals takes 14 ms.

`psutil` would be one more dependency, and it does not read the memory limit of a container. Progress goes to the logger
`warner.progress`: no message in the first two seconds, and counts of steps only, never data.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from time import monotonic
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import narwhals as narwhals

UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")
TALLY_BYTES = 24  # per count of a tally: itself, a copy, and a sum
ESTIMATE_BYTES = 90  # per answer of an estimate: shares, intervals, and sorted copies
FILES_BYTES = 1_500_000_000  # of address space for DuckDB, Arrow and SciPy, mostly their code; with 1.34 GB, some crash
JSON_BYTES = 1500  # per answer in JSON: its objects in Python
LOGGER = "warner.progress"
SECONDS_BETWEEN = 2.0  # messages, and before the first one

Item = TypeVar("Item")


class _OnFirstUse(ModuleType):
    """Module that loads another one for the first attribute that it lacks."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


def on_first_use(name: str) -> Any:
    """Return a module that is imported when one of its attributes is first used.

    >>> on_first_use("math").floor(1.5)
    1
    """
    return _OnFirstUse(name)


if not TYPE_CHECKING:
    narwhals = on_first_use("narwhals")


def postpone_parts_of_numpy() -> None:
    """Replace the parts of NumPy that are not imported yet by modules that import them on first use.

    NumPy imports f2py, testing, polynomial and others on first use, too, but `scipy.special` copies every public name
    of NumPy, which imports them all. This changes NumPy itself, so only the command line calls it, never the library.
    """
    import numpy as np

    for name in set(np.__all__) - vars(np).keys():
        setattr(np, name, on_first_use(f"numpy.{name}"))


def refuse_beyond_memory(cells: int, bytes_each: int, what: str, remedy: str) -> None:
    """Raise an error if this number of cells needs more memory than is available."""
    needed, free = cells * bytes_each, available()
    if needed > free:
        raise ValueError(
            f"{what} need about {size_text(needed)} of memory, but {size_text(free)} are available; {remedy}"
        )


def refuse_small_address_space() -> None:
    """Raise an error if DuckDB and Arrow do not fit into the address space: they would crash there."""
    most = _address_space()
    if most is not None and most < FILES_BYTES:
        raise ValueError(
            f"reading files needs {size_text(FILES_BYTES)} of address space, but this process may take "
            f"{size_text(most)} (ulimit -v); raise that limit, or lift it with ulimit -v unlimited"
        )


def available() -> int:
    """Bytes of memory that this process can still take: of the machine, its container, and its own limits."""
    free = [2**36]  # 64 GB if nothing is known
    free += [number * 1024 for number in _numbers("/proc/meminfo", "MemAvailable:")]
    limit, used = (_numbers(f"/sys/fs/cgroup/memory.{name}") for name in ("max", "current"))
    free += [limit[0] - used[0]] if limit and used else []
    if (most := _address_space()) is not None:
        pages = _numbers("/proc/self/statm")
        free.append(most - (pages[0] * os.sysconf("SC_PAGE_SIZE") if pages else 0))
    return max(min(free), 0)


def _address_space() -> int | None:
    """Limit of the address space, as set by ``ulimit -v``."""
    try:
        import resource
    except ImportError:  # Windows has none
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def _numbers(file: str, name: str = "") -> list[int]:
    """Return the first number after a name in a file of the system, if any."""
    try:
        lines = Path(file).read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeError):
        return []
    words = [line.removeprefix(name).split() for line in lines if line.startswith(name)]
    return [int(line[0]) for line in words if line and line[0].isdecimal()][:1]


def size_text(number: int) -> str:
    """Write a number of bytes.

    >>> size_text(9_600_000_000)
    '9.6 GB'
    """
    power = min(max(len(str(number)) - 1, 0) // 3, len(UNITS) - 1)
    return f"{number / 1000**power:.3g} {UNITS[power]}"


def steps(items: Sequence[Item], what: str) -> Iterator[Item]:
    """Yield items of a computation, such as "confidence intervals", and log the progress from time to time.

    >>> list(steps(range(3), "confidence intervals"))
    [0, 1, 2]
    """
    last = monotonic()
    for done, item in enumerate(items):
        now = monotonic()
        if now - last >= SECONDS_BETWEEN:
            import logging  # whose import a computation of less than two seconds does without

            logging.getLogger(LOGGER).info("%s: %d of %d", what, done, len(items))
            last = now
        yield item
