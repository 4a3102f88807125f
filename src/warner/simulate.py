"""Made-up populations and the report histograms that they would give, without simulating people.

A histogram costs O(K) draws whatever the number of people. Everything random takes a `numpy.random.Generator`, so
that a simulation can be repeated; a real answer never comes this way (see `warner.reports.randomizing`).

Two readings, which differ in their variance and must not be mixed up:

- `reports_of_population`: N people are drawn from a population with the given shares, and answer.
- `reports_of_people`: these very people answer; their true histogram is given and does not vary.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import pdtr

from warner.designs import Channel, Pooled, RandomizedResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from warner.designs import Design

# A histogram of fewer than LONG answers costs less than the Python around it. Reports for each answer, on average: up
# to FEW they are drawn one by one; from FEW to MANY, a table of Poisson counts is worth making.
LONG, FEW, MANY = 1000, 10, 10_000
CELLS = 2**14


def uniform(k: int) -> NDArray[np.float64]:
    """Give k equal shares.

    >>> uniform(4)
    array([0.25, 0.25, 0.25, 0.25])
    """
    return zipf(k, 0)


def zipf(k: int, s: float) -> NDArray[np.float64]:
    """Give k shares that fall off as the rank to the power of -s: the commonest answer first.

    >>> zipf(3, 1) * 11  # in proportion 1 : 1/2 : 1/3
    array([6., 3., 2.])
    """
    if k < 1 or not np.isfinite(s):
        raise ValueError(f"k must be at least 1 and s finite, but got k={k!r} and s={s!r}")
    weights: NDArray[np.float64] = np.arange(1, k + 1, dtype=np.float64) ** -float(s)
    weights /= weights.sum()
    return weights


def reports_of_population(
    shares: ArrayLike,
    n: int,
    design: Design,
    *,
    rng: np.random.Generator,
    size: int | tuple[int, ...] | None = None,
) -> NDArray[np.int64]:
    r"""Draw the histogram of n reports from people who are a sample of a population.

    The counts are multinomial with probabilities :math:`q + (p-q)\theta_i`.

    Parameters
    ----------
    shares : array_like of shape (k,)
        True shares of the population.
    n : int
        Number of people.
    design : RandomizedResponse or Channel
        What every answer goes through.
    rng : numpy.random.Generator
        Where the randomness comes from.
    size : int or tuple of int, optional
        Draw an array of this shape of independent histograms.

    Returns
    -------
    ndarray of shape (*size, k), or (*size, outputs) for a channel

    Examples
    --------
    >>> from warner import RandomizedResponse
    >>> design = RandomizedResponse(3, epsilon=1)
    >>> int(reports_of_population([0.5, 0.3, 0.2], 1000, design, rng=np.random.default_rng(1)).sum())
    1000
    """
    theta = np.asarray(shares, dtype=np.float64)
    if theta.shape != (design.k,) or not (theta >= 0).all() or not abs(theta.sum() - 1) <= 1e-9:
        raise ValueError(
            f"shares must be a distribution over {design.k} answers, but got shape {theta.shape}, sum {theta.sum():.9g}"
        )
    _check(n, rng)
    if isinstance(design, Pooled):
        raise TypeError("pooled designs must be drawn from part by part, each with its own number of people")
    if isinstance(design, Channel):
        reported = theta @ design.channel()
        return rng.multinomial(n, reported / reported.sum(), size=size)
    shape = _shape(size)
    keep = _keep(design)
    held = np.flatnonzero(theta)
    if design.k < LONG or keep < 0 or 2 * min(n * keep, held.size) > design.k:
        reported = design.q + (design.p - design.q) * theta
        return rng.multinomial(n, reported / reported.sum(), size=shape)
    # Keep or redraw, as below: cheaper where few are kept, or few answers are held at all.
    kept = rng.binomial(n, keep, size=shape)
    reports = _uniform_histograms(n - kept, design.k, rng)
    truths = theta[held] / theta[held].sum()
    if n * keep > held.size:
        reports[..., held] += rng.multinomial(kept, truths)
    else:
        ends = truths.cumsum()
        for row, people in zip(reports.reshape(-1, design.k), np.ravel(kept).tolist(), strict=True):
            # The last end may be rounded to just below one.
            place = np.minimum(ends.searchsorted(rng.random(people), side="right"), held.size - 1)
            row[held] += np.bincount(place, minlength=held.size)
    return reports


def reports_of_people(
    true_counts: ArrayLike,
    design: RandomizedResponse,
    *,
    rng: np.random.Generator,
    size: int | tuple[int, ...] | None = None,
) -> NDArray[np.int64]:
    r"""Draw the histogram of reports from people whose true answers are given.

    Of the people with answer i, :math:`\text{Bin}(n_i, p-q)` keep it; all others draw one of the K answers
    uniformly. That is the same mechanism, read as *keep or redraw*, and equals randomizing each person apart.

    Parameters
    ----------
    true_counts : array_like of int of shape (k,)
        How many people hold each answer.
    design, rng, size
        As for `reports_of_population`; the design must have p >= q.

    Examples
    --------
    >>> from warner import RandomizedResponse
    >>> reports_of_people([5, 3, 2], RandomizedResponse(3, odds=(1, 0)), rng=np.random.default_rng(1))
    array([5, 3, 2])
    """
    people = np.asarray(true_counts)
    if people.dtype.kind not in "iu" or people.shape != (design.k,) or (people < 0).any():
        raise ValueError(
            f"true_counts must be {design.k} whole numbers of at least 0, one for each answer, but got "
            f"shape {people.shape} of {people.dtype}"
        )
    if design.odds[0] < design.odds[1]:
        raise ValueError(
            "the design must have p >= q to be read as keep or redraw; use reports_of_population for p < q"
        )
    _check(1, rng)
    people = people.astype(np.int64)
    held = np.flatnonzero(people)  # of many answers, most may be held by nobody
    where = slice(None) if 2 * held.size > design.k else held
    kept = _kept(people[where], _keep(design), _shape(size), rng)
    reports = _uniform_histograms(people.sum() - kept.sum(axis=-1), design.k, rng)
    reports[..., where] += kept
    return reports


def seeded_by(counts: ArrayLike) -> np.random.Generator:
    """Make a generator whose seed is the counts: the same reports give the same simulation, on every machine.

    >>> seeded_by([40, 60]).integers(100) == seeded_by([40, 60]).integers(100)
    np.True_
    """
    digest = blake2b(np.ascontiguousarray(counts, dtype="<f8").tobytes(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))


def _shape(size: int | tuple[int, ...] | None) -> tuple[int, ...]:
    return () if size is None else size if isinstance(size, tuple) else (int(size),)


def _keep(design: RandomizedResponse) -> float:
    """Give the probability p - q that an answer is kept, and not redrawn."""
    return (design.odds[0] - design.odds[1]) / design.total


def _kept(
    people: NDArray[np.int64], keep: float, shape: tuple[int, ...], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw how many of the people with each answer keep it: binomial counts."""
    n = int(people.sum())
    if people.size < LONG or keep >= 1 or not 0 < n * keep < people.size:
        return rng.binomial(people, keep, size=(*shape, people.size))
    # Few keep theirs. With all people in a row, those who do are a geometric number of places apart.
    rate = -math.log1p(-keep)  # an exponential waiting time with this rate, rounded up, is geometric
    enough = int(n * keep + 5 * (n * keep) ** 0.5) + 5
    rows = np.empty((math.prod(shape), people.size), dtype=np.int64)
    listed = n <= people.size * min(100, len(rows))  # then a list of what everybody holds pays, and is not too long
    holds = np.repeat(np.arange(people.size, dtype=np.int32), people) if listed else None
    ends = people.cumsum()
    for row in rows:
        places = np.ceil(rng.standard_exponential(enough) / rate).cumsum()
        while places[-1] <= n:
            more = np.ceil(rng.standard_exponential(enough) / rate).cumsum()
            places = np.concatenate([places, places[-1] + more])
        who = places[: places.searchsorted(n, side="right")].astype(np.int64)
        answers = ends.searchsorted(who) if holds is None else holds[who - 1]  # people are numbered from 1
        row[:] = np.bincount(answers, minlength=people.size)
    return rows.reshape(*shape, people.size)


def _uniform_histograms(totals: NDArray[np.int64], k: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw, for each total, how many of so many uniform draws fall on each of k answers: in O(K) each."""
    if k < LONG:
        return rng.multinomial(totals, np.full(k, 1 / k))
    rows = np.zeros((np.size(totals), k), dtype=np.int64)
    if not rows.size:
        return rows.reshape(*np.shape(totals), k)
    # Independent Poisson counts are multinomial given their total, whatever that total is. So we aim a little below
    # the total that is wanted, draw again in the rare case of too many, and then draw those that are missing.
    least = float(np.min(totals))
    mean = (least - 3 * least**0.5) / k
    poisson = _poisson(mean) if FEW < mean <= MANY else None
    for row, total in zip(rows, np.ravel(totals).tolist(), strict=True):
        missing = total
        while poisson is not None:
            row[:] = poisson(k, rng)
            missing = total - int(row.sum())
            if missing >= 0:
                break
        few = missing <= FEW * k
        row[:] += (
            np.bincount(rng.integers(k, size=missing), minlength=k)
            if few
            else rng.multinomial(missing, np.full(k, 1 / k))
        )
    return rows.reshape(*np.shape(totals), k)


def _poisson(mean: float) -> Callable[[int, np.random.Generator], NDArray[np.int64]]:
    """Make a sampler of many Poisson counts with one mean: ten times as fast as one that must take any mean.

    The unit interval is cut into CELLS; in most of them the distribution function passes no step, so that the cell
    tells the count. In the others the place within the cell decides.
    """
    spread = 40 * mean**0.5
    first = max(0, int(mean - spread))
    steps = pdtr(np.arange(first, int(mean + spread) + 40), mean)  # P(count <= first), P(count <= first + 1), ...
    ends = np.arange(CELLS + 1) / CELLS
    table = first + steps.searchsorted(ends, side="right")
    table = np.where(table[1:] == table[:-1], table[:-1], -1)
    table[-1] = -1  # at one, all steps are passed

    def drawn(size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        cells = np.frombuffer(rng.bytes(2 * size), dtype="<u2") >> 2  # 16 random bits, of which 14 are the cell
        counts: NDArray[np.int64] = table[cells]
        split = np.flatnonzero(counts < 0)
        counts[split] = first + steps.searchsorted((cells[split] + rng.random(split.size)) / CELLS, side="right")
        return counts

    return drawn


def _check(n: int, rng: Any) -> None:
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy.random.Generator, such as numpy.random.default_rng(1), but got {rng!r}")
    if not isinstance(n, int | np.integer) or n < 0:
        raise ValueError(f"n must be a whole number of people, at least 0, but got {n!r}")
