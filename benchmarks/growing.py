"""Growth of time with the size of a problem: exponents over four sizes and ratios at one, in processor time."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from measuring import Line, peak_bytes
from warner import OpenDomain, RandomizedResponse, SquareWave, Tally, estimate, estimate_groups, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROUNDS = 5
LINEAR = 1.2  # exponents up to which growth counts as linear


def processor_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def in_turn(works: Sequence[Callable[[], object]], rounds: int = ROUNDS) -> list[list[float]]:
    """Return the processor seconds of each work, in each of several rounds; all of them run once before."""
    for work in works:
        work()
    return [
        list(times) for times in zip(*([processor_seconds(work) for work in works] for _ in range(rounds)), strict=True)
    ]


def growth(work: str, sizes: Sequence[int], works: Sequence[Callable[[], object]], most: float = LINEAR) -> Line:
    """Fit the exponent of the best times at four sizes."""
    best = [min(times) for times in in_turn(works)]
    exponent = float(np.polyfit(np.log(sizes), np.log(best), 1)[0])
    shown = ", ".join(f"{1000 * seconds:.3g}" for seconds in best) + " ms"
    return Line(
        work, f"sizes {sizes[0]:,} to {sizes[-1]:,}", f"size^{most:g}", exponent <= most, f"^{exponent:.2f}", shown
    )


def slower(work: str, yardstick: str, most: float, base: Callable[[], object], mine: Callable[[], object]) -> Line:
    others, ours = in_turn([base, mine])
    ratio, ratios = min(ours) / min(others), sorted(one / other for one, other in zip(ours, others, strict=True))
    return Line(
        work, yardstick, f"<= {most:g}x", ratio <= most, f"{ratio:.2f}x", f"{ratios[0]:.2f} .. {ratios[-1]:.2f}"
    )


def within(work: str, most: float, call: Callable[[], object]) -> Line:
    peak = peak_bytes(call) / 1e6
    return Line(f"{work}: peak memory", "", f"<= {most:g} MB", peak <= most, f"{peak:.0f} MB", "")


def growing() -> Iterator[Line]:
    yield from medians()
    yield from groups_one_by_one()
    yield from sets_of_closed_lists()
    yield from json_of_tables()


def medians() -> Iterator[Line]:
    """Cumulative shares of a square wave: the widest range of sizes, since caches and new memory make steps in it."""
    sizes, results, designs = (12_500, 50_000, 200_000, 800_000), [], []
    for k in sizes:
        x = (np.arange(k) + 0.5) / k
        design = SquareWave(k, epsilon=1)
        shares = x**4 * (1 - x)
        counts = design.simulate(shares / shares.sum(), 10**6, rng=np.random.default_rng(1))
        designs.append((design, counts))
        results.append(estimate(Tally(design, counts), method="inv"))
    work = "median under a square wave"
    yield growth(work, sizes, [result.median for result in results])
    k, result = sizes[2], results[2]
    design, counts = designs[2]
    adjoint = design.law.likelihood().adjoint

    def products() -> None:
        for _ in range(10):
            adjoint(counts.astype(np.float64))

    yield slower(f"{work}, K = {k:,}", "10 products with the channel", 10, products, result.median)
    yield within(f"{work}, K = {k:,}", 100, result.median)


def groups_one_by_one() -> Iterator[Line]:
    """Exact intervals of one of ten answers, and of one of two, in so many groups."""
    rng, number = np.random.default_rng(1), 2_000
    work: list[Callable[[], object]] = []
    for k in (2, 10):
        design = RandomizedResponse(k, epsilon=1)
        people = rng.integers(50, 400, number)
        shares = rng.dirichlet(np.full(k, 3.0), number)
        counts = rng.multinomial(people, design.q + (design.p - design.q) * shares)
        tally = Tally(design, counts, by=("g",), groups=tuple((place,) for place in range(number)))
        made = iter([estimate_groups(tally) for _ in range(ROUNDS + 1)])  # each keeps its intervals
        work.append(lambda made=made: next(made).interval(0, kind="each"))  # type: ignore[misc]
    yield slower("exact intervals of 1 of 10 answers, 2,000 groups", "of 1 of 2 answers", 1.5, *work)


def sets_of_closed_lists() -> Iterator[Line]:
    """Half of a set are neighboring numbers, which lie on lines, and half are random ones."""
    design, rng = OpenDomain(epsilon=2, bits=32), np.random.default_rng(1)
    sizes, work = (2_000, 4_000, 8_000, 16_000), []
    for size in sizes:
        values = list(dict.fromkeys([*range(size // 2), *rng.integers(2**32, size=size).tolist()]))[:size]
        closed = design.closed(values)
        counts = rng.binomial(20_000, closed.law.probabilities(np.full(size, 0.5 / size)))
        result = estimate(Tally(closed, counts, n=20_000.0), method="inv")
        work.append(lambda result=result, values=values: result.interval(values))
    yield growth("interval of a set of a closed list", sizes, work)


def json_of_tables() -> Iterator[Line]:
    design = RandomizedResponse(10**5, epsilon=4)
    counts = simulate.reports_of_population(simulate.zipf(10**5, 1.3), 10**6, design, rng=np.random.default_rng(1))
    result: Any = estimate(Tally(design, counts), method="mle")
    rows = result.to_dict()
    work = "JSON of an estimate of 10^5 answers"
    against = "json.dumps of its dictionary"
    yield slower(work, against, 0.4, lambda: json.dumps(rows, ensure_ascii=False, indent=1), result.to_json)
    yield within(work, 60, result.to_json)
