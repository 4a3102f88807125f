"""The speed and the memory of groups that are estimated together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from measuring import Line, peak_bytes, slower
from warner import RandomizedResponse, Tally, estimate, estimate_groups, tally

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
    yield clustering()


def clustering() -> Line:
    """Count 10^7 rows by cluster and stratum, for design-based intervals, against counting them by two columns."""
    rng = np.random.default_rng(3)
    survey = RandomizedResponse(["yes", "no"], epsilon=1)
    school = rng.integers(0, 10**4, 10**7)
    answers = np.array(survey.domain)[rng.integers(0, 2, 10**7)]
    table = pa.table({"answer": answers, "school": school, "region": school % 10})
    return slower(
        "tally by cluster and stratum, 10^7 rows in 10^4 clusters",
        "tally by the same two columns",
        1.3,
        lambda: tally(table, survey, column="answer", by=["region", "school"]),
        lambda: tally(table, survey, column="answer", strata="region", clusters="school"),
        rounds=3,
    )
