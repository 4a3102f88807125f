"""Designs as tables of fractions, draws from a script, tallies of reports in codes: what tests of designs share."""

from __future__ import annotations

import io
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from warner import Channel, RandomizedResponse, Tally, metrics
from warner.inference.binomial import Binomial, share_interval
from warner.reports.subtotals import ReportBlock, StoredReports

if TYPE_CHECKING:
    from collections.abc import Callable


def exact(design: Any) -> list[list[Fraction]]:
    if isinstance(design, RandomizedResponse):
        a, b = design.odds
        return [[Fraction(a if i == j else b, design.total) for j in range(design.k)] for i in range(design.k)]
    return [[Fraction(weight, design.total) for weight in row] for row in design.weights.tolist()]


def scripted(draws: list[int], width: int = 8) -> Callable[[int], bytes]:
    return io.BytesIO(b"".join(draw.to_bytes(width, "little") for draw in draws)).read


def log_likelihood(shares: Any, counts: Any, design: Any) -> float:
    return -float(sum(counts)) * float(metrics.negative_log_likelihood(shares, counts, design))


def random_channel(rng: np.random.Generator, answers: int, outputs: int, concentration: float = 0.5) -> Channel:
    return Channel(rng.dirichlet(np.full(outputs, concentration), answers), answers, outputs)


def rates(design: Any, size: Any = 1) -> tuple[float, float]:
    """Return base and gain of reports that name one of `size` answers: each other answer leads there with q."""
    return size * design.q, design.p - design.q


def binomial(counts: Any, n: Any, design: Any, size: Any = 1) -> Binomial:
    """Return the counts of reports that name one of `size` answers, with how they follow its share."""
    return Binomial(counts, n, *rates(design, size))


def clopper_pearson(counts: Any, n: Any, design: Any, level: float) -> tuple[Any, Any]:
    return share_interval(binomial(counts, n, design), (1 - level) / 2)


def grouped(design: Any, counts: Any, n: Any = None) -> Tally:
    """Tally many surveys at once, each of them a group, of n people if their counts do not tell."""
    people = None if n is None else np.broadcast_to(n, len(counts))
    return Tally(design, counts, n=people, by=("survey",), groups=tuple((place,) for place in range(len(counts))))


def whole(design: Any, reports: Any, group: Any = None, **options: Any) -> Tally:
    """Tally reports in codes, and keep them."""
    groups = 1 if group is None else int(group.max()) + 1
    counts, n, histogram = design.law.count(reports, group=group, groups=groups)
    named: dict[str, Any] = (
        {} if group is None else {"by": ("g",), "groups": tuple((place,) for place in range(groups))}
    )
    kept = StoredReports.in_memory(ReportBlock(reports, group=group))
    return Tally(design, counts, n=n, histogram=histogram, kept=kept, **named, **options)
