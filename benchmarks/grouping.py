"""The speed and the memory of groups that are estimated together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from measuring import Line, peak_bytes, slower
from warner import RandomizedResponse, Tally, estimate, estimate_groups

if TYPE_CHECKING:
    from collections.abc import Iterator

GROUPS = 10**5
MOST_MEMORY = 300e6  # bytes


def grouping() -> Iterator[Line]:
    """Partial pooling with its table against maximum likelihood of the same groups, each by itself."""
    rng = np.random.default_rng(1)
    names = tuple((place,) for place in range(GROUPS))
    for k, most in ((2, 1.0), (30, 3.0)):
        design = RandomizedResponse(k, epsilon=1)
        shares = rng.dirichlet(np.full(k, 2.0), size=GROUPS)
        people = rng.integers(20, 400, GROUPS)
        counts = rng.multinomial(people, design.q + (design.p - design.q) * shares)
        tally = Tally(design, counts, by=("g",), groups=names)
        work = f"estimate_groups and its table, 10^5 groups of {k} answers"
        yield slower(
            work,
            "estimate by mle and its table",
            most,
            lambda t=tally: estimate(t, method="mle").table(),  # type: ignore[misc]
            lambda t=tally: estimate_groups(t).table(),  # type: ignore[misc]
            rounds=3,
        )
        peak = peak_bytes(lambda t=tally: estimate_groups(t))  # type: ignore[misc]
        yield Line(f"{work}: peak memory", "", "300 MB", peak <= MOST_MEMORY, f"{peak / 1e6:.0f} MB", "")
