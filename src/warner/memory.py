"""Available memory, so that work that does not fit raises an error before it begins.

`psutil` would be one more dependency, and it does not read the limit of a container, which is often far below the
memory of the machine.
"""

from __future__ import annotations

import os
from pathlib import Path

UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")
TALLY_BYTES = 24  # of a count while it is tallied: itself, a copy, and a sum
ESTIMATE_BYTES = 90  # of an answer while it is estimated and shown: shares, intervals, and what is sorted
FILES_BYTES = 1_500_000_000  # of address space for DuckDB, Arrow and SciPy, mostly their code; with 1.34 GB, some crash
JSON_BYTES = 1500  # of an answer in JSON: its objects in Python


def refuse_beyond_memory(cells: int, bytes_each: int, what: str, remedy: str) -> None:
    """Refuse work on so many cells that needs more memory than there is."""
    needed, free = cells * bytes_each, available()
    if needed > free:
        raise ValueError(
            f"{what} need about {amount_of(needed)} of memory, but {amount_of(free)} are available; {remedy}"
        )


def refuse_small_address_space() -> None:
    """Refuse to load DuckDB and Arrow where they do not fit: there, they crash, or say that they are not installed."""
    most = _address_space()
    if most is not None and most < FILES_BYTES:
        raise ValueError(
            f"reading files needs {amount_of(FILES_BYTES)} of address space, but this process may take "
            f"{amount_of(most)} (ulimit -v); raise that limit, or lift it with ulimit -v unlimited"
        )


def available() -> int:
    """Give the bytes that this process can still take: of the machine, of its container, and of its own limits."""
    free = [2**36]  # where nothing is told, 64 GB
    free += [number * 1024 for number in _numbers("/proc/meminfo", "MemAvailable:")]
    limit, used = (_numbers(f"/sys/fs/cgroup/memory.{name}") for name in ("max", "current"))
    free += [limit[0] - used[0]] if limit and used else []
    if (most := _address_space()) is not None:
        pages = _numbers("/proc/self/statm")
        free.append(most - (pages[0] * os.sysconf("SC_PAGE_SIZE") if pages else 0))
    return max(min(free), 0)


def _address_space() -> int | None:
    """Give the limit of this process, as ``ulimit -v`` sets it."""
    try:
        import resource
    except ImportError:  # Windows has none
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def _numbers(file: str, name: str = "") -> list[int]:
    """Read the first number after a name in a file of the system, if there is one."""
    try:
        lines = Path(file).read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeError):
        return []
    words = [line.removeprefix(name).split() for line in lines if line.startswith(name)]
    return [int(line[0]) for line in words if line and line[0].isdecimal()][:1]


def amount_of(number: int) -> str:
    """Write a number of bytes.

    >>> amount_of(9_600_000_000)
    '9.6 GB'
    """
    power = min(max(len(str(number)) - 1, 0) // 3, len(UNITS) - 1)
    return f"{number / 1000**power:.3g} {UNITS[power]}"
