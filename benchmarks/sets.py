"""Reports that are sets of answers, a bit for each: how fast they are drawn, counted and gone through."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from measuring import Line, compared, peak_resident, slower
from warner import BitFlips, SubsetSelection, UnaryEncoding, estimate, simulate, tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

K = 1024
FLIPS = BitFlips(K, epsilon=1, size=16)
PIECE = 2**16  # reports that are written at a time, as `warner randomize` does


def drawing_sets() -> Iterator[Line]:
    """Draw sets for many people: hardly more than the random bytes cost, one for each answer."""
    n = 10**5
    answers = np.random.default_rng(1).integers(0, K, n)
    designs = (UnaryEncoding(K, epsilon=1), 2.5), (SubsetSelection(K, epsilon=1), 4), (FLIPS, 4)
    for design, most in designs:
        yield slower(
            f"randomize 10^5 codes, {design.mechanism}, K = {K:,}",
            "os.urandom(10**5 * K)",
            most,
            lambda: os.urandom(n * K),
            lambda d=design: d.randomize(answers, codes=True),  # type: ignore[misc]
            rounds=5,
        )


def counting_sets() -> Iterator[Line]:
    """Count packed bits in memory, and go through them once as the most likely shares do, there and back."""
    n = 10**6
    rng = np.random.default_rng(1)
    reports = rng.integers(0, 256, (n, K // 8), dtype=np.uint8)
    design = UnaryEncoding(K, epsilon=1)
    work = f"tally of 10^6 rows of bits, K = {K:,}"
    yield slower(work, "a copy of their bytes", 2, reports.copy, lambda: tally(reports, design, codes=True))
    flips = FLIPS.draw(rng.integers(0, K, n // 10), rng.bytes)
    work = f"tally of 10^5 rows of bit flips, 16 of K = {K:,}"
    unary = reports[: len(flips)]
    yield slower(
        work,
        "the same of a unary encoding",
        4,
        lambda: tally(unary, design, codes=True),
        lambda: tally(flips, FLIPS, codes=True),
    )
    some = reports[: n // 10]
    operator, shares = design.law.likelihood(some), rng.dirichlet(np.ones(K))
    yield slower(
        f"likelihood of 10^5 rows of bits, and its slopes, K = {K:,}",
        "np.unpackbits of them",
        3,
        lambda: np.unpackbits(some, axis=1),
        lambda: operator.adjoint(1 / operator.forward(shares)),
    )


def filed_sets() -> Iterator[Line]:
    """Count bits in a Parquet file, and find the most likely shares by going through it again and again."""
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reports.parquet"
        some = rng.integers(0, 256, (10**6, K // 8), dtype=np.uint8)
        _write(path, (some[start : start + PIECE] for start in range(0, len(some), PIECE)))
        yield slower(
            f"tally of a Parquet file, 10^6 rows of bits, K = {K:,}",
            "reading the column with Arrow",
            1.5,
            lambda: pq.read_table(path, columns=["report"]),
            lambda: tally(path, UnaryEncoding(K, epsilon=1)),
        )
        design, peaks = UnaryEncoding(256, epsilon=1), []
        code = (
            f"import warner; reports = warner.tally({str(path)!r}, warner.UnaryEncoding(256, epsilon=1), keep=True); "
            "warner.estimate(reports, method='mle')"
        )
        for n in (10**6, 10**7):
            _write(path, _drawn(design, n, rng))
            peaks.append(peak_resident([sys.executable, "-c", code]))
        kept = tally(path, design, keep=True)
        work = "mle of a Parquet file, 10^7 rows of bits, K = 256"
        ratio, low, high = compared(lambda: tally(path, design), lambda: estimate(kept, method="mle"), rounds=2)
        yield Line(work, "counting it", "<= 20x", ratio <= 20, f"{ratio:.1f}x", f"{low:.1f} .. {high:.1f}")
        small = peaks[1] < 200 and peaks[1] <= 1.2 * peaks[0]
        target, shown = "<= 1.2x, 200 MB", f"{peaks[0]:.0f} and {peaks[1]:.0f} MB"
        yield Line(f"{work}: memory", "10^6 rows", target, small, f"{peaks[1] / peaks[0]:.2f}x", shown)


def _drawn(design: UnaryEncoding, n: int, rng: np.random.Generator) -> Iterator[NDArray[np.uint8]]:
    shares = simulate.zipf(design.k, 1.3)
    for start in range(0, n, PIECE):
        yield design.draw(rng.choice(design.k, min(PIECE, n - start), p=shares), rng.bytes)


def _write(path: Path, pieces: Iterable[NDArray[np.uint8]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    for rows in pieces:
        kind = pa.binary(rows.shape[1])
        column = pa.FixedSizeBinaryArray.from_buffers(kind, len(rows), [None, pa.py_buffer(np.ascontiguousarray(rows))])
        writer = writer or pq.ParquetWriter(path, pa.schema({"report": kind}))
        writer.write_table(pa.table({"report": column}))
    assert writer is not None
    writer.close()
