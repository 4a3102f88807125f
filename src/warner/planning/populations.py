r"""Expected populations: shares by name (uniform, Zipf), as numbers, from a file, or from a pilot; design effects.

**The design effect** of a complex sample is the variance of an estimate divided by its variance in a simple random
sample of as many respondents,

.. math:: D = \frac{s^2}{f(1-f)/(n (p-q)^2)},

for a share with standard error s that shows as the frequency f of n reports. It is never taken to be smaller than the
part of that variance which comes from randomization alone: no sample design can remove it. Randomization is
independent of the sample. So the variance that clusters add, :math:`(D-1) V` per report with V the variance in a simple
random sample, is the same under a design that randomizes less, where V is smaller and D is larger. What unequal weights
add is in proportion to V instead. A plan with another design than the pilot's uses whichever is larger:
:math:`D' = 1 + (D-1) \max(1, V/V')`, and, where strata make D smaller than 1, :math:`1 - (1-D) \min(1, V/V')`.
"""

from __future__ import annotations

import csv
import math
import os
import reprlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.arrays import LARGEST_TOTAL
from warner.designs.contract import checked_shares
from warner.designs.facts import Fuzzy
from warner.designs.labels import from_text, positions
from warner.estimation import Estimate
from warner.estimators import NEAREST, fitted
from warner.reports.pools import Pool
from warner.reports.tallies import Tally
from warner.simulate import uniform, zipf

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from warner.arrays import Array, Sets
    from warner.designs.contract import Design
    from warner.designs.labels import Labels
    from warner.planning.precision import PlanningQuestion
    from warner.reports.pools import Collected

    Pilot = Estimate | Collected
    Population = str | tuple[str, float] | os.PathLike[str] | ArrayLike | Pilot

LARGEST_EFFECT = 10**6  # design effect that may be given; the smallest is its inverse
ROUNDED_SUM = 0.01  # how much the sum of rounded shares in a file may differ from 1


def population_shares(population: Population, domain: Labels) -> Array:
    """Give the shares that a population stands for, in the domain's order.

    Parameters
    ----------
    population : str, tuple, path, array_like, Estimate, Tally or Pool
        ``"uniform"``; ``("zipf", s)`` or ``"zipf:s"``; a CSV file with the columns value and share (or count), where
        answers that are not named have none; K shares; or a pilot, of which `inv_p` is taken, its groups together.
    domain : tuple or range
        The possible answers.

    Examples
    --------
    >>> population_shares("zipf:1", range(3)) * 11
    array([6., 3., 2.])
    """
    if isinstance(population, Estimate | Tally | Pool):
        return _shares_of_pilot(tally_of(population), domain)
    if isinstance(population, str) and population.startswith("zipf:"):
        return _zipf(len(domain), population.removeprefix("zipf:"))
    if isinstance(population, tuple) and len(population) == 2 and population[0] == "zipf":
        return _zipf(len(domain), population[1])
    if isinstance(population, str) and population == "uniform":
        return uniform(len(domain))
    if isinstance(population, str | os.PathLike):
        if Path(population).suffix.lower() != ".csv":
            raise ValueError(
                f"population must be uniform, zipf:s, a file that ends in .csv, or shares, but got {population!s:.60}"
            )
        return _shares_of_file(Path(population), domain)
    try:
        shares = checked_shares(population, len(domain), name="population")
    except TypeError:
        raise TypeError(
            f"population must be {len(domain):,} shares in the order of the answers, uniform, zipf:s, a file or a "
            f"pilot, but got {reprlib.repr(population)}"
        ) from None
    return np.asarray(shares / shares.sum())


def tally_of(pilot: Pilot) -> Collected:
    """Give the reports of a pilot."""
    reports: Any = pilot.tally if isinstance(pilot, Estimate) else pilot
    if not isinstance(reports, Tally | Pool):
        raise TypeError(f"pilot must be an Estimate, a Tally or a Pool, but got {type(pilot).__name__}")
    return reports


@dataclass(frozen=True, eq=False)
class DesignEffect:
    """The design effect of a sample: given, or that of a pilot's reports.

    Attributes
    ----------
    value : float
        The design effect; under the pilot's design, if it is that of a pilot.
    pilot : Design or None
        The pilot's design.
    shares : ndarray of shape (k,) or None
        The expected shares.
    sets : sequence of sets or None
        The sets of answers that the estimate is for; all answers, added up, if None.
    """

    value: float
    pilot: Design | None = None
    shares: Array | None = None
    sets: Sets | None = None

    def under(self, design: Design) -> float:
        """Return the design effect of the same sample under a design that may randomize more or less."""
        if self.pilot is None or self.shares is None or design == self.pilot:
            return self.value
        here, there = (_simple_variance(one, self.shares, self.sets) for one in (self.pilot, design))
        ratio = here / there if 0 < there < math.inf else 1.0
        return 1 + (self.value - 1) * (max(1.0, ratio) if self.value > 1 else min(1.0, ratio))


def given_effect(value: Any) -> DesignEffect:
    """Check a design effect."""
    known = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not known or not 1 / LARGEST_EFFECT <= value <= LARGEST_EFFECT:
        raise ValueError(
            f"design_effect must be a positive number, such as 1.5, from {1 / LARGEST_EFFECT:g} to "
            f"{LARGEST_EFFECT:,}; 1 is a simple random sample, but got {value!r}"
        )
    return DesignEffect(float(value))


def pilot_effect(pilot: Pilot, shares: Array, question: PlanningQuestion) -> DesignEffect | None:
    """Return the design effect of a pilot for what is to be known; None if it is a simple random sample."""
    reports = tally_of(pilot)
    if reports.simple:
        return None
    if isinstance(reports, Pool) or reports.sample is None or reports.by:
        lacking = "has groups" if reports.by and reports.sample is not None else "has weights"
        remedy = "count it without by=, or give" if lacking == "has groups" else "give"
        raise ValueError(
            f"pilot {lacking}, so that its design effect is not known; {remedy} design_effect=, which is 1 for a "
            "simple random sample"
        )
    sets = _sets_asked(reports.design, shares, question)
    found = reports.readout(None, sets)
    assert found.drawn is not None
    assert found.error is not None
    n = np.asarray(found.drawn.people, dtype=np.float64)
    worth = n / np.reshape(reports.n, (1, 1))
    counts, histogram = np.reshape(reports.counts, (1, -1)) * worth, reports.histogram
    histogram = None if histogram is None else np.reshape(histogram, (1, -1)) * worth
    simple, device = (
        reports.design.readout(counts, n, sets, target=target, histogram=histogram).squared_errors(target)
        for target in ("population", "realised")
    )
    known = np.isfinite(simple) & (simple > 0)
    squared = np.maximum(np.square(found.error), np.minimum(device, simple))
    value = float(squared[known].sum() / simple[known].sum()) if known.any() else 0.0
    if value < 1 / LARGEST_EFFECT:
        raise ValueError(
            "pilot shows no variance of what is planned, so that its design effect is not known; give design_effect=, "
            "which is 1 for a simple random sample"
        )
    return DesignEffect(value, reports.design, shares, sets)


def _sets_asked(design: Design, shares: Array, question: PlanningQuestion) -> Sets | None:
    """Return the sets of answers whose design effect matters; None for all answers."""
    numbers = question.numbers
    if numbers is not None and numbers.tau is None:
        return Fuzzy(numbers.memberships[np.newaxis])
    if numbers is not None and numbers.tau is not None:
        order = np.argsort(numbers.values, kind="stable")
        last = int(np.searchsorted(np.cumsum(shares[order]), numbers.tau))
        below = numbers.values <= numbers.values[order[min(last, design.k - 2)]]
        return [np.flatnonzero(below).tolist()]
    if question.measure == "error" or (question.share is not None and question.answer is None):
        return None
    if question.answer is not None:
        return [[question.answer]]
    variances = _variances(design, shares, None)
    return [[int(np.where(np.isfinite(variances), variances, 0).argmax())]]


def _variances(design: Design, shares: Array, sets: Sets | None) -> Array:
    """Variances of unbiased shares of sets of answers, for one report of a simple random sample."""
    n = np.full((1, 1), float(LARGEST_TOTAL))
    squared = design.readout(n * design.reported(shares)[np.newaxis], n, sets).squared_errors()
    return float(LARGEST_TOTAL) * np.ravel(squared)


def _simple_variance(design: Design, shares: Array, sets: Sets | None) -> float:
    variances = _variances(design, shares, sets)
    return float(variances[np.isfinite(variances)].sum())


def _zipf(k: int, s: Any) -> Array:
    try:
        return zipf(k, float(s))
    except (TypeError, ValueError):
        raise ValueError(f"population zipf must have a finite number for s, such as zipf:1.3, but got {s!r}") from None


def _shares_of_pilot(reports: Collected, domain: Labels) -> Array:
    if reports.domain != domain:
        raise ValueError(f"pilot must be about the same {len(domain):,} answers as the plan, but is about others")
    parts = tuple(_without_groups(part) for part in reports.parts)
    return np.asarray(fitted(parts[0] if len(parts) == 1 else Pool(parts), NEAREST).shares[0])


def _without_groups(tally: Tally) -> Tally:
    """Put the groups of a tally together."""
    if not tally.by:
        return tally
    squares = None if tally.squares is None else tally.squares.sum()
    return Tally(tally.design, tally.counts.sum(axis=0), n=tally.n.sum(), squares=squares)


def _shares_of_file(path: Path, domain: Labels) -> Array:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        names = list(rows.fieldnames or ())
        amount = next((name for name in ("share", "count") if name in names), "")
        if not amount or "value" not in names:
            raise ValueError(
                f"{path} must have the columns value and share (or count), but has {', '.join(names) or 'none'}"
            )
        pairs = [(row["value"], row[amount]) for row in rows]
    where = positions(from_text([value for value, _ in pairs], domain), domain)
    if (where < 0).any():
        wrong = pairs[int(np.argmax(where < 0))][0]
        raise ValueError(f"{path} must hold values of the domain, but {reprlib.repr(wrong)} is not in it")
    try:
        amounts = np.array([float(text) for _, text in pairs])
    except (TypeError, ValueError):
        amounts = np.array([np.nan])
    if not (np.isfinite(amounts) & (amounts >= 0)).all() or not amounts.sum() > 0:
        raise ValueError(f"{path} must hold numbers of at least 0 in the column {amount}, not all of them 0")
    if amount == "share" and not min(abs(amounts.sum() - 1), abs(amounts.sum() / 100 - 1)) <= ROUNDED_SUM:
        raise ValueError(
            f"{path} must have shares that sum to 1, or to 100 in percent, but they sum to {amounts.sum():.4g}; name a "
            "column of numbers of people count"
        )
    return np.asarray(np.bincount(where, amounts, len(domain)) / amounts.sum())
