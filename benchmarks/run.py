"""Measure the speeds that the page "Speed" promises, each as a ratio to a yardstick timed in the same run.

Machines are noisy, so yardstick and work are timed in turn, several times; the ratio is that of the best times, and
the spread is the range of the ratios of the single rounds. Run with `make bench`; give words to select lines, such as
`python benchmarks/run.py randomize import`.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import next_fast_len, rfft

from climbing import climbing
from discovering import discovering
from grouping import grouping
from growing import growing
from measuring import Line, compared, faster, peak_bytes, peak_resident, seconds, slower
from nodes import drawing_in_node
from numeric import numeric
from one_answer import one_answer
from published import published_ibu, published_mle, published_repetition
from regressing import regressing
from responding import collecting
from sets import counting_sets, drawing_sets, filed_sets
from shrinking import shrinking
from starting import starting
from storing import storing
from warner import (
    Channel,
    ChannelOperator,
    HadamardResponse,
    LocalHashing,
    ProjectiveGeometry,
    RandomizedResponse,
    Tally,
    certificate,
    channel_mle,
    check,
    estimate,
    ibu,
    inv_n,
    inv_p,
    mle,
    pool,
    simulate,
    tally,
)
from warner.estimators import METHODS
from warner.estimators.auto import choice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray


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


def heavy_counts() -> Iterator[Line]:
    """One answer holds more people than there are answers, so that its count lies beyond any short table."""
    design = RandomizedResponse(1_423_000, epsilon=4)
    counts = histogram(1_423_000, 1_664_500, design)
    counts[5] = 20_000_000
    work = "mle, K = 1,423,000, one count above K"
    yield slower(work, "counts.astype(float)", 6, lambda: counts.astype(float), lambda: mle(counts, design))
    arrays = peak_bytes(lambda: mle(counts, design)) / counts.nbytes
    yield Line(f"{work}: peak memory", "K doubles", "<= 1.2 arrays", arrays <= 1.2, f"{arrays:.2f}", "")


def table_of_channel() -> Iterator[Line]:
    """The table of a dense channel: all answers in one product."""
    k = 800
    rng = np.random.default_rng(3)
    matrix = rng.dirichlet(np.ones(k), k) / 2 + np.eye(k) / 2
    counts = rng.multinomial(10**6, matrix.mean(axis=0))
    results = iter([estimate(Tally(Channel(matrix, k, k), counts)) for _ in range(10)])
    work = "table of a channel, K = 800 (new design each time)"
    base = "a product of two 800 x 800 matrices"
    yield slower(work, base, 10, lambda: matrix @ matrix, lambda: next(results).table())


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


def counting() -> Iterator[Line]:
    import duckdb

    design = RandomizedResponse(1000, epsilon=1)
    codes = np.random.default_rng(1).integers(0, 1000, 10**7)

    def by_hand() -> object:
        return codes.min() >= 0 and codes.max() < 1000 and np.bincount(codes, minlength=1000)

    yield slower(
        "tally of 10^7 codes, K = 1000", "np.bincount and a range check", 2, by_hand, lambda: tally(codes, design)
    )
    with tempfile.TemporaryDirectory() as folder:
        rows = 10**8 if shutil.disk_usage(folder).free > 5 * 10**9 else 10**7
        path = Path(folder) / "reports.parquet"
        made_up_reports(path, rows)

        def bare() -> object:
            with duckdb.connect() as connection:
                return connection.sql(f"select v, count(*) from '{path}' group by v").fetchall()

        work = f"tally of a Parquet file, {rows:.0e} rows"
        yield slower(work, "the bare DuckDB group-by", 1.15, bare, lambda: tally(path, design), rounds=5)
        code = f"import warner; warner.tally({str(path)!r}, warner.RandomizedResponse(1000, epsilon=1))"
        peak = peak_resident([sys.executable, "-c", code])
        yield Line(f"{work}: peak memory", "", "< 1000 MB", peak < 1000, f"{peak:.0f} MB", "")


def made_up_reports(path: Path, rows: int) -> None:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(f"copy (select (random() * 999)::bigint as v from range({rows})) to '{path}'")


def commanding() -> Iterator[Line]:
    peaks = []
    with tempfile.TemporaryDirectory() as folder:
        survey, answers = Path(folder) / "survey.json", Path(folder) / "answers.parquet"
        RandomizedResponse(1000, epsilon=1).save(survey)
        for rows in (10**6, 10**7):
            made_up_reports(answers, rows)
            command = ["-m", "warner", "randomize", str(answers), "-d", str(survey), "-o", f"{folder}/{rows}.parquet"]
            peaks.append(peak_resident([sys.executable, *command]))
    ratio = peaks[1] / peaks[0]
    shown = f"{peaks[0]:.0f} and {peaks[1]:.0f} MB"
    yield Line(
        "randomize a Parquet file, 10^7 rows: memory", "10^6 rows", "<= 1.2x", ratio <= 1.2, f"{ratio:.2f}x", shown
    )


def estimating() -> Iterator[Line]:
    design = RandomizedResponse(1_423_000, epsilon=1)
    counts = histogram(1_423_000, 1_664_500, design)
    yield slower(
        "Estimate and its table, K = 1,423,000",
        "counts.astype(float)",
        20,
        lambda: counts.astype(float),
        lambda: estimate(Tally(design, counts), method="mle").table(),
    )


def being_sure() -> Iterator[Line]:
    design = RandomizedResponse(1_423_000, epsilon=4)
    counts = histogram(1_423_000, 1_664_500, design)
    result = estimate(Tally(design, counts), method="mle")
    copy = result.tally.parts[0].counts.astype
    work = "intervals of all shares, K = 1,423,000, N = 1,664,500"
    yield slower(work, "counts.astype(float)", 15, lambda: copy(float), result.interval)

    design = RandomizedResponse(10_000, epsilon=4)
    counts = histogram(10_000, 10**6, design)
    truth = inv_p(counts, design)

    def apart() -> object:
        drawn = simulate.reports_of_population(truth, 10**6, design, rng=np.random.default_rng(1), size=20)
        return [estimator(drawn, design) for estimator in (mle, inv_p, inv_n)]

    work, against = "choice by predicted errors, K = 10^4, N = 10^6", "its 20 histograms and three estimators apart"
    yield slower(work, against, 3, apart, lambda: choice(counts, design))


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


def checking() -> Iterator[Line]:
    design = RandomizedResponse(10_000, epsilon=1)
    survey = Tally(design, histogram(10_000, 10**6, design))
    vertex = np.full(10_000, design.q)
    vertex[0] = design.p
    work = "check, K = 10^4, N = 10^6, 999 simulations"

    def draw() -> object:
        rng = np.random.default_rng(1)
        return [rng.multinomial(10**6, vertex / vertex.sum(), size=111) for _ in range(9)]

    yield slower(work, "drawing the 999 histograms", 4, draw, lambda: check(survey), rounds=5)
    peak = peak_bytes(lambda: check(survey)) / 2**20
    yield Line(f"{work}: memory", "", "< 500 MB", peak < 500, f"{peak:.0f} MB", "")


def many_groups() -> Iterator[Line]:
    """95,000 groups of about a thousand people, most of them different: the check, and the choice of an estimator."""
    design = RandomizedResponse(["never", "once", "often"], epsilon=1)
    rng = np.random.default_rng(1)
    counts = rng.multinomial(rng.poisson(1_000, 95_000) + 1, np.array([0.6, 0.3, 0.1]) @ design.channel())
    survey = Tally(design, counts, by=("g",), groups=tuple((g,) for g in range(len(counts))))

    def plain() -> object:
        return estimate(survey).text()

    against = "estimate of the same, and its table"
    yield slower("check of 95,000 groups", against, 5, plain, lambda: check(survey).text(), rounds=3)
    yield slower(
        "method auto for 95,000 groups", against, 10, plain, lambda: estimate(survey, method="auto").text(), rounds=3
    )


def channels() -> Iterator[Line]:
    for n, epsilon, s in (
        (10**4, 2, 1.3),
        (10**4, 1, 1.3),
        (10**4, 0.5, 1.3),
        (5 * 10**5, 1, 1.3),
        (5 * 10**5, 0.5, 0.01),
    ):
        yield from response_as_channel(n, epsilon, s)
    yield dense_channel()
    yield from circulant_operator()
    yield from pooled_responses()


def response_as_channel(n: int, epsilon: float, s: float) -> Iterator[Line]:
    k = 500
    design = RandomizedResponse(k, epsilon=epsilon)
    counts = simulate.reports_of_population(simulate.zipf(k, s), n, design, rng=np.random.default_rng(1))
    channel = Channel(design.channel(), k, k)
    fit = channel_mle(counts, channel)
    excess = float(certificate(fit.shares, counts, channel).excess)
    away = float(abs(fit.shares - mle(counts, design)).max())
    work = f"RR as 500 x 500, N = {n:.0e}, eps {epsilon:g}, Zipf {s:g}"
    good = excess <= 1e-12 and fit.steps <= 30 and away <= 1e-10
    shown = f"excess {excess:.1e}, {away:.1e} from mle"
    yield Line(work, "excess 1e-12, mle within 1e-10", "<= 30 steps", good, f"{fit.steps}", shown)
    # Plain updates all cost the same: those that are needed are counted once, and a twentieth of them is timed.
    needed = ibu(counts, channel, gap=n * 1e-6, iterations=60_000).steps
    matrix, observed = design.channel(), counts / n

    def plain() -> object:
        shares = np.full(k, 1 / k)
        for _ in range(needed // 20):
            shares = shares * (matrix @ (observed / (shares @ matrix)))
        return shares

    once, low, high = compared(plain, lambda: channel_mle(counts, channel), 3)
    ratio, spread = 20 / once, f"{20 / high:.0f} .. {20 / low:.0f}"
    yield Line(work, f"plain IBU, {needed:,} steps", ">= 20x faster", ratio >= 20, f"{ratio:.0f}x", spread)


def dense_channel() -> Line:
    from scipy.linalg.lapack import dpotrf

    k = 2000
    rng = np.random.default_rng(2)
    channel = Channel(rng.dirichlet(np.ones(k), k), k, k)
    counts = rng.multinomial(10**6, simulate.zipf(k, 1.3) @ channel.channel())
    matrix = channel.channel()
    symmetric = np.asfortranarray(matrix @ matrix.T + np.eye(k))
    work = "random dense channel 2,000 x 2,000"
    return slower(
        work, "a Cholesky factor", 60, lambda: dpotrf(symmetric, lower=1), lambda: channel_mle(counts, channel), 3
    )


def pooled_responses() -> Iterator[Line]:
    rng = np.random.default_rng(1)
    designs = [RandomizedResponse(10**5, epsilon=epsilon) for epsilon in (1, 2, 3, 4, 5)]
    truth = simulate.zipf(10**5, 1.3)
    together = pool([Tally(one, simulate.reports_of_population(truth, 10**6, one, rng=rng)) for one in designs])
    counts = np.concatenate([part.counts for part in together.parts])
    copy = counts.astype

    def solve() -> object:
        return METHODS["mle"].solve([(part.design, part.histograms(None)) for part in together.parts])

    work = "pooled RR, 5 designs, K = 10^5"
    yield slower(work, "counts.astype(float)", 3000, lambda: copy(float), solve, 3)
    peak = peak_bytes(solve) / counts.nbytes
    yield Line(f"{work}: peak memory", "its counts", "O(K): <= 20x", peak <= 20, f"{peak:.0f}x", "")


def decoding() -> Iterator[Line]:
    """Support of all answers from the histogram of reports; and what one report costs its sender, for information."""
    for design in (
        ProjectiveGeometry(797_161, epsilon=1),  # (3^13 - 1) / 2 points
        ProjectiveGeometry(787_657, epsilon=7, field=887),  # a plane over the field of 887
        LocalHashing(823_543, epsilon=2),  # 7^7 answers
        HadamardResponse(2**20 - 1, epsilon=1),
    ):
        likely = design.law.likelihood().forward(simulate.zipf(design.k, 1.3))
        reports = np.random.default_rng(1).multinomial(10**7, likely / likely.sum())
        row = np.random.default_rng(2).random(next_fast_len(design.blocks.points, real=True))
        yield slower(
            f"decode {design.mechanism}, V = {design.blocks.points:,}",
            "a real FFT of that length",
            40,
            lambda row=row: rfft(row),  # type: ignore[misc]
            lambda design=design, reports=reports: design.law.types.support(reports),  # type: ignore[misc]
        )
    answers = np.random.default_rng(3).integers(1024, size=10**5)
    for made in (ProjectiveGeometry, LocalHashing, HadamardResponse, LocalHashing.affine):
        small = made(1024, epsilon=1)
        spent = min(seconds(lambda small=small: small.draw(answers, os.urandom)) for _ in range(5))  # type: ignore[misc]
        name = type(small).__name__
        yield Line(f"a report of {name}, K = 1,024", "(for information)", "", True, f"{1e4 * spent:.0f} ns", "")


def circulant_operator() -> Iterator[Line]:
    k, n = 10**5, 10**6
    distance = np.minimum(np.arange(k), k - np.arange(k))
    weights = np.exp(-distance.astype(float))
    transform = np.fft.rfft(weights / weights.sum())
    products = 0

    def spread(shares: NDArray[np.float64]) -> NDArray[np.float64]:
        nonlocal products
        products += 1
        return np.fft.irfft(np.fft.rfft(shares) * transform, k)

    squared = np.fft.rfft((weights / weights.sum()) ** 2)  # what is far away is next to zero: the least of each column
    operator = ChannelOperator((k, k), spread, spread)
    told = ChannelOperator((k, k), spread, spread, None, lambda w: np.fft.irfft(np.fft.rfft(w) * squared, k))
    expected = np.maximum(spread(simulate.zipf(k, 1.3)), 0)
    work = "circulant operator, K = 10^5, N = 10^6"
    for seed in (1, 2):
        counts = np.random.default_rng(seed).multinomial(n, expected / expected.sum())
        for words, given, most in (("", operator, 5_000), (", squares", told, 1_000)):
            products = 0
            fit = channel_mle(counts, given, gap=0.01, iterations=most // 2 - 10)
            good = products <= most and fit.gap <= 0.01
            shown = f"gap {fit.gap:.3g} nats"
            yield Line(work + words, "products with the channel", f"<= {most:,}", good, f"{products:,}", shown)
    tracemalloc.start()
    channel_mle(counts, operator, gap=0.01, iterations=40)
    peak = tracemalloc.get_traced_memory()[1] / counts.nbytes
    tracemalloc.stop()
    yield Line(f"{work}: peak memory", "its counts", "<= 40x", peak <= 40, f"{peak:.0f}x", "")


def reproducing() -> Iterator[Line]:
    """One repetition of a configuration of the paper's grid, of a hundred that are done at once."""
    from threadpoolctl import threadpool_limits

    sys.path.append(str(Path(__file__).resolve().parent.parent))  # the experiments are not part of the package
    from experiments.pinzon2026.methods import VALID_METHODS
    from experiments.pinzon2026.repetition import repeated

    rng = np.random.default_rng(1)
    seeds = 100
    for k, least in ((10_000, 25), (50, 500)):
        design = RandomizedResponse(k, epsilon=4)
        answers = rng.choice(k, size=10**6, p=simulate.zipf(k, 1.3))
        people = np.bincount(answers, minlength=k)
        truth = people / 10**6
        with threadpool_limits(1):
            ratio, low, high = compared(
                lambda a=answers, t=truth, d=design: published_repetition(a, t, d.p, rng),  # type: ignore[misc]
                lambda c=people, d=design: repeated(c, d, seeds=seeds, rng=rng, estimators=VALID_METHODS),  # type: ignore[misc]
                rounds=15,
            )
        shown = f"{seeds / high:.0f} .. {seeds / low:.0f}"
        work = f"one repetition, K = {k:,}, N = 10^6"
        against, factor = "person by person, as published", seeds / ratio
        yield Line(work, against, f">= {least}x faster", factor >= least, f"{factor:.0f}x", shown)


GROUPS = (
    closed_forms,
    heavy_counts,
    batches,
    randomizing,
    drawing_sets,
    one_answer,
    drawing_in_node,
    collecting,
    simulating,
    starting,
    iterating,
    counting,
    counting_sets,
    filed_sets,
    estimating,
    being_sure,
    shrinking,
    numeric,
    discovering,
    grouping,
    growing,
    decoding,
    checking,
    many_groups,
    commanding,
    channels,
    climbing,
    table_of_channel,
    regressing,
    storing,
    reproducing,
)


def main() -> None:
    chosen = sys.argv[1:]
    lines = []
    print(f"{'':3} {'work':52} {'against':30} {'target':>15} {'measured':>9}   single rounds")
    for group in GROUPS:
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
