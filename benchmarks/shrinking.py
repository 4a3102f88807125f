"""The speed and the memory of the shrinkage estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from measuring import Line, peak_bytes, slower
from warner import RandomizedResponse, Tally, estimate, shrink, simulate
from warner.estimators.auto import choice

if TYPE_CHECKING:
    from collections.abc import Iterator


def shrinking() -> Iterator[Line]:
    """Shrinkage against the choice between the closed forms by predicted errors, on the same counts."""
    for k, n, most in ((1_000, 10**6, 4.0), (10_000, 10**6, 1.0), (10**6, 10**7, 0.07)):
        design = RandomizedResponse(k, epsilon=2)
        truth = simulate.zipf(k, 1.3)
        counts = simulate.reports_of_population(truth, n, design, rng=np.random.default_rng(1))
        work = f"shrink, K = {k:,}, N = {n:.0e}"
        yield slower(
            work,
            "choice by predicted errors",
            most,
            lambda c=counts, d=design: choice(c, d),  # type: ignore[misc]
            lambda c=counts, d=design: shrink(c, d),  # type: ignore[misc]
            rounds=3 if k == 10**6 else 15,
        )
        peak = peak_bytes(lambda c=counts, d=design: shrink(c, d))  # type: ignore[misc]
        limit = 4 * counts.nbytes + 64 * 2**20
        shown = f"{peak / 2**20:.0f} MB"
        yield Line(f"{work}: peak memory", "", "4 arrays and 64 MB", peak <= limit, shown, "")
    # groups: until this is met, they keep mle by default
    rng = np.random.default_rng(1)
    for words, k, people in (
        ("10^4 groups of 30 answers, 1,000 reports each", 30, np.full(10**4, 1_000)),
        ("10^4 groups of 30 answers, 100 to 1,000 reports", 30, rng.integers(100, 1_001, 10**4)),
        ("100 groups of 300 answers, 1,000 to 10,000 reports", 300, rng.integers(1_000, 10_001, 100)),
    ):
        design, truth = RandomizedResponse(k, epsilon=2), simulate.zipf(k, 1.3)
        rows = np.array([design.simulate(truth, n, rng=rng) for n in people.tolist()])
        groups = Tally(design, rows, by=("g",), groups=tuple((place,) for place in range(len(rows))))
        yield slower(
            f"shrink, {words}",
            "mle of the same groups",
            20,
            lambda t=groups: estimate(t, method="mle"),  # type: ignore[misc]
            lambda t=groups: estimate(t, method="shrink"),  # type: ignore[misc]
            rounds=3,
        )
    # as many distinct counts as there are answers
    spread = RandomizedResponse(10**5, epsilon=2)
    weighted = np.random.default_rng(1).gamma(20.0, 1e3, 10**5)
    peak = peak_bytes(lambda: shrink(weighted, spread))
    limit = 4 * weighted.nbytes + 64 * 2**20
    work = "shrink, 10^5 distinct counts: peak memory"
    yield Line(work, "", "4 arrays and 64 MB", peak <= limit, f"{peak / 2**20:.0f} MB", "")
