"""Expected populations: shares by name (uniform, Zipf), as numbers, from a file, or from a pilot survey."""

from __future__ import annotations

import csv
import os
import reprlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.designs.labels import from_text, positions
from warner.estimation import Estimate
from warner.estimators import NEAREST, fitted
from warner.reports.pools import Pool
from warner.reports.tallies import Tally
from warner.simulate import uniform, zipf

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from warner.arrays import Array
    from warner.designs.labels import Labels
    from warner.reports.pools import Collected

    Pilot = Estimate | Collected
    Population = str | tuple[str, float] | os.PathLike[str] | ArrayLike | Pilot


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
        shares = np.asarray(population, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"population must be {len(domain):,} shares in the order of the answers, uniform, zipf:s, a file or a "
            f"pilot, but got {reprlib.repr(population)}"
        ) from None
    if shares.shape != (len(domain),) or not (shares >= 0).all() or not abs(shares.sum() - 1) <= 1e-6:
        raise ValueError(
            f"population must be {len(domain):,} shares of at least 0 that sum to 1, but got shape {shares.shape}, "
            f"sum {shares.sum():.6g}"
        )
    return np.asarray(shares / shares.sum())


def tally_of(pilot: Pilot) -> Collected:
    """Give the reports of a pilot."""
    reports: Any = pilot.tally if isinstance(pilot, Estimate) else pilot
    if not isinstance(reports, Tally | Pool):
        raise TypeError(f"pilot must be an Estimate, a Tally or a Pool, but got {type(pilot).__name__}")
    return reports


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
    return np.asarray(np.bincount(where, amounts, len(domain)) / amounts.sum())
