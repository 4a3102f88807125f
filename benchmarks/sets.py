"""Reports that are sets of answers, a bit for each: how fast they are drawn, counted and gone through."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from measuring import Line, slower
from warner import SubsetSelection, UnaryEncoding, tally

if TYPE_CHECKING:
    from collections.abc import Iterator

K = 1024


def drawing_sets() -> Iterator[Line]:
    """Draw sets for many people: hardly more than the random bytes cost, one for each answer."""
    n = 10**5
    answers = np.random.default_rng(1).integers(0, K, n)
    for design, most in ((UnaryEncoding(K, epsilon=1), 2.5), (SubsetSelection(K, epsilon=1), 4)):
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
    some = reports[: n // 10]
    operator, shares = design.operator(some), rng.dirichlet(np.ones(K))
    yield slower(
        f"likelihood of 10^5 rows of bits, and its slopes, K = {K:,}",
        "np.unpackbits of them",
        3,
        lambda: np.unpackbits(some, axis=1),
        lambda: operator.adjoint(1 / operator.forward(shares)),
    )
