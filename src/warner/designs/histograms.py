"""Simulated histograms of many respondents, drawn in O(K)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.arrays import Integers

# A histogram of fewer answers than ANSWERS_FOR_BULK costs less than the Python around it. By the mean number of reports
# per answer: up to MEAN_DRAWN_SINGLY they are drawn one by one; up to MEAN_IN_TABLE, a table of Poisson counts pays.
ANSWERS_FOR_BULK, MEAN_DRAWN_SINGLY, MEAN_IN_TABLE = 1000, 10, 10_000
POISSON_TABLE_CELLS = 2**14


def binomial_thinning(people: Integers, keep: float, shape: tuple[int, ...], rng: np.random.Generator) -> Integers:
    """Draw binomial counts of the respondents with each answer who keep it: in O(K) also if few do."""
    n = int(people.sum())
    if people.size < ANSWERS_FOR_BULK or keep >= 1 or not 0 < n * keep < people.size:
        return rng.binomial(people, keep, size=(*shape, people.size))
    # Few keep theirs. With all people in a row, the ones kept are a geometric number of positions apart.
    rate = -math.log1p(-keep)  # an exponential waiting time with this rate, rounded up, is geometric
    enough = int(n * keep + 5 * (n * keep) ** 0.5) + 5
    rows = np.empty((math.prod(shape), people.size), dtype=np.int64)
    listed = n <= people.size * min(100, len(rows))  # then a list of what everybody holds pays, and is not too long
    holds = np.repeat(np.arange(people.size, dtype=np.int32), people) if listed else None
    ends = people.cumsum()
    for row in rows:
        indices = np.ceil(rng.standard_exponential(enough) / rate).cumsum()
        while indices[-1] <= n:
            more = np.ceil(rng.standard_exponential(enough) / rate).cumsum()
            indices = np.concatenate([indices, indices[-1] + more])
        who = indices[: indices.searchsorted(n, side="right")].astype(np.int64)
        answers = ends.searchsorted(who) if holds is None else holds[who - 1]  # people are numbered from 1
        row[:] = np.bincount(answers, minlength=people.size)
    return rows.reshape(*shape, people.size)


def uniform_histograms(totals: Integers, k: int, rng: np.random.Generator) -> Integers:
    """Draw a uniform multinomial histogram over k answers for each total, in O(K)."""
    if k < ANSWERS_FOR_BULK:
        return rng.multinomial(totals, np.full(k, 1 / k))
    rows = np.zeros((np.size(totals), k), dtype=np.int64)
    add_uniform(rows, totals, rng)
    return rows.reshape(*np.shape(totals), k)


def add_uniform(rows: Integers, totals: Integers, rng: np.random.Generator) -> None:
    """Add a uniform multinomial histogram with this total to each row, in place."""
    k = rows.shape[-1]
    if k < ANSWERS_FOR_BULK:
        rows += rng.multinomial(np.reshape(totals, len(rows)), np.full(k, 1 / k))
        return
    if not rows.size:
        return
    # Independent Poisson counts are multinomial given their total, whatever that total is. So we aim a little below
    # the total that is wanted, draw again in the rare case of too many, and then draw those that are missing.
    least = float(np.min(totals))
    mean = (least - 3 * least**0.5) / k
    poisson = _poisson(mean) if MEAN_DRAWN_SINGLY < mean <= MEAN_IN_TABLE else None
    for row, total in zip(rows, np.ravel(totals).tolist(), strict=True):
        missing = total
        while poisson is not None:
            drawn = poisson(k, rng)
            missing = total - int(drawn.sum())
            if missing >= 0:
                row[:] += drawn
                break
        few = missing <= MEAN_DRAWN_SINGLY * k
        row[:] += (
            np.bincount(rng.integers(k, size=missing), minlength=k)
            if few
            else rng.multinomial(missing, np.full(k, 1 / k))
        )


def _poisson(mean: float) -> Callable[[int, np.random.Generator], Integers]:
    """Return a sampler of many Poisson counts with one mean, ten times as fast as a general one.

    The unit interval is cut into POISSON_TABLE_CELLS; in most of them the distribution function passes no step, so that
    the cell determines the count. In the others the position within the cell decides.
    """
    from scipy.special import pdtr

    far = 40 * mean**0.5
    first = max(0, int(mean - far))
    steps = pdtr(np.arange(first, int(mean + far) + 40), mean)  # P(count <= first), P(count <= first + 1), ...
    ends = np.arange(POISSON_TABLE_CELLS + 1) / POISSON_TABLE_CELLS
    table = first + steps.searchsorted(ends, side="right")
    table = np.where(table[1:] == table[:-1], table[:-1], -1)
    table[-1] = -1  # at one, all steps are passed

    def drawn(size: int, rng: np.random.Generator) -> Integers:
        cells = np.frombuffer(rng.bytes(2 * size), dtype="<u2") >> 2  # 16 random bits, of which 14 are the cell
        counts: Integers = table[cells]
        split = np.flatnonzero(counts < 0)
        counts[split] = first + steps.searchsorted(
            (cells[split] + rng.random(split.size)) / POISSON_TABLE_CELLS, side="right"
        )
        return counts

    return drawn
