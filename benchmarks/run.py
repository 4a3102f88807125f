"""Measure the speeds that the README promises, each as a ratio to a yardstick timed in the same run.

Machines are noisy, so yardstick and work are timed in turn, several times; the ratio is that of the best times, and
the spread is the range of the ratios of the single rounds. Run with `make bench`; give words to select lines, such as
`python benchmarks/run.py randomize import`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import tracemalloc
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from published import published_ibu, published_mle
from warner import RandomizedResponse, certificate, ibu, inv_n, inv_p, mle, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray


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
    """Give the ratio of the best times, and the smallest and largest ratio of a single round."""
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


def histogram(k: int, n: int, design: RandomizedResponse, size: int | None = None) -> NDArray[np.int64]:
    return simulate.reports_of_population(simulate.zipf(k, 1.3), n, design, rng=np.random.default_rng(1), size=size)


def closed_forms() -> Iterator[Line]:
    for k, n, most in ((1_423_000, 1_664_500, 6), (10**7, 10**8, 4)):
        for epsilon in (1, 4):
            design = RandomizedResponse(k, epsilon=epsilon)
            counts = histogram(k, n, design)
            for estimator in (mle, inv_p, inv_n):
                work = f"{estimator.__name__}, K = {k:,}, epsilon {epsilon}"
                yield slower(
                    work,
                    "counts.astype(float)",
                    most,
                    lambda counts=counts: counts.astype(float),  # type: ignore[misc]
                    lambda f=estimator, c=counts, d=design: f(c, d),  # type: ignore[misc]
                )
                if k == 10**7:
                    arrays = peak_bytes(lambda f=estimator, c=counts, d=design: f(c, d)) / (8 * k)  # type: ignore[misc]
                    target = "<= 3 arrays"
                    yield Line(f"{work}: peak memory", "K doubles", target, arrays <= 3, f"{arrays:.2f}", "")
            if k < 10**7:
                observed = counts / n
                work = f"mle, K = {k:,}, epsilon {epsilon}"
                yield faster(
                    work,
                    "published MLE*",
                    150,
                    lambda o=observed, d=design: published_mle(o, d.p),  # type: ignore[misc]
                    lambda c=counts, d=design: mle(c, d),  # type: ignore[misc]
                )


def peak_bytes(work: Callable[[], object]) -> int:
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def batches() -> Iterator[Line]:
    design = RandomizedResponse(50, epsilon=1)
    counts = histogram(50, 1_000, design, size=10_000)
    yield faster(
        "mle, 10,000 histograms, K = 50",
        "published MLE* in a loop",
        20,
        lambda: [published_mle(row / 1_000, design.p) for row in counts],
        lambda: mle(counts, design),
        rounds=7,
    )


def randomizing() -> Iterator[Line]:
    design = RandomizedResponse(1000, epsilon=1)
    answers = np.random.default_rng(1).integers(0, 1000, 10**7)
    yield slower(
        "randomize 10^7 codes, K = 1000",
        "os.urandom(8 * 10**7)",
        2.5,
        lambda: os.urandom(8 * 10**7),
        lambda: design.randomize(answers, codes=True),
        rounds=5,
    )


def simulating() -> Iterator[Line]:
    design = RandomizedResponse(1000, epsilon=1)
    shares = simulate.zipf(1000, 1.3)
    rng = np.random.default_rng(1)
    readings: dict[str, Callable[[int], object]] = {
        "of a population": lambda n: simulate.reports_of_population(shares, n, design, rng=rng, size=20),
        "of given people": lambda n: simulate.reports_of_people(np.full(1000, n // 1000), design, rng=rng, size=20),
    }
    for reading, draw in readings.items():
        work = f"histogram {reading}, K = 1000, N = 10^12"
        yield slower(work, "the same, N = 10^6", 2, lambda d=draw: d(10**6), lambda d=draw: d(10**12))  # type: ignore[misc]


def importing() -> Iterator[Line]:
    def run(code: str) -> object:
        return subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603

    base = "import numpy, scipy.special"
    yield slower("import warner", base, 1.7, lambda: run(base), lambda: run("import warner"), rounds=7)


def iterating() -> Iterator[Line]:
    """Not promised, but good to know: what the closed form and the grouping of equal counts save."""
    design = RandomizedResponse(10_000, epsilon=2)
    counts = histogram(10_000, 10**6, design)
    observed = counts / counts.sum()
    steps = 2_000
    gap = float(certificate(published_ibu(observed, design.p, steps), counts, design).gap)
    mine: dict[str, Callable[[], object]] = {
        f"ibu, K = 10,000, {steps:,} steps": lambda: ibu(counts, design, iterations=steps, gap=0),
        f"mle, K = 10,000 (they lack up to {gap:.2g} nats)": lambda: mle(counts, design),
    }
    for work, call in mine.items():
        yield faster(work, f"published IBU, {steps:,} steps", 1, lambda: published_ibu(observed, design.p, steps), call)


def main() -> None:
    chosen = sys.argv[1:]
    lines = []
    print(f"{'':3} {'work':52} {'against':30} {'target':>15} {'measured':>9}   single rounds")
    for group in (closed_forms, batches, randomizing, simulating, importing, iterating):
        if chosen and not any(word in group.__name__ for word in chosen):
            continue
        for line in group():
            mark = "ok" if line.kept else "NO"
            print(
                f"{mark:3} {line.work:52} {line.yardstick:30} {line.target:>15} {line.ratio:>9}   {line.spread}",
                flush=True,
            )
            lines.append(line)
    print(f"\n{sum(line.kept for line in lines)} of {len(lines)} targets met")


if __name__ == "__main__":
    main()
