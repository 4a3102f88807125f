"""Measurement of speed targets: the best of several times, as a ratio to a yardstick in the same run."""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Line(NamedTuple):
    """One promise: what is done, against what, how many times slower (or faster) it may be, and what was found."""

    work: str
    yardstick: str
    target: str
    kept: bool
    ratio: str
    spread: str


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compared(
    yardstick: Callable[[], object], work: Callable[[], object], rounds: int, repeats: int = 1
) -> tuple[float, float, float]:
    """Return the ratio of the best times, and the smallest and largest ratio of a single round."""
    work()  # warm up
    pairs = [(seconds(yardstick), min(seconds(work) for _ in range(repeats))) for _ in range(rounds)]
    ratios = [mine / other for other, mine in pairs]
    return min(mine for _, mine in pairs) / min(other for other, _ in pairs), min(ratios), max(ratios)


def slower(
    work: str, yardstick: str, most: float, base: Callable[[], object], mine: Callable[[], object], rounds: int = 9
) -> Line:
    ratio, low, high = compared(base, mine, rounds)
    return Line(work, yardstick, f"<= {most:g}x", ratio <= most, f"{ratio:.2f}x", f"{low:.2f} .. {high:.2f}")


def faster(
    work: str, yardstick: str, least: float, base: Callable[[], object], mine: Callable[[], object], rounds: int = 3
) -> Line:
    # The yardstick takes a hundred times longer: the work is timed ten times in its shadow, or its best is not seen.
    ratio, low, high = compared(base, mine, rounds, repeats=10)
    shown = f"{1 / high:.0f} .. {1 / low:.0f}"
    return Line(work, yardstick, f">= {least:g}x faster", 1 / ratio >= least, f"{1 / ratio:.0f}x", shown)


def peak_bytes(work: Callable[[], object]) -> int:
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def peak_resident(command: list[str]) -> float:
    """Run a command and give the largest amount of memory that it held, in MB."""
    measure = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", measure, *command], check=True, capture_output=True, text=True)
    return int(done.stdout) / 1024
