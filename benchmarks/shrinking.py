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
    # groups, one after the other: until this is met, tallies with groups keep mle by default
    small = RandomizedResponse(30, epsilon=2)
    rows = simulate.reports_of_population(
        simulate.zipf(30, 1.3), 1_000, small, rng=np.random.default_rng(1), size=10**4
    )
    groups = Tally(small, rows, by=("g",), groups=tuple((place,) for place in range(10**4)))
    yield slower(
        "shrink, 10^4 groups of 30 answers",
        "mle of the same groups",
        20,
        lambda: estimate(groups, method="mle"),
        lambda: estimate(groups, method="shrink"),
        rounds=1,
    )
    # as many distinct counts as there are answers
    spread = RandomizedResponse(10**5, epsilon=2)
    weighted = np.random.default_rng(1).gamma(20.0, 1e3, 10**5)
    peak = peak_bytes(lambda: shrink(weighted, spread))
    limit = 4 * weighted.nbytes + 64 * 2**20
    work = "shrink, 10^5 distinct counts: peak memory"
    yield Line(work, "", "4 arrays and 64 MB", peak <= limit, f"{peak / 2**20:.0f} MB", "")
