"""Simulated populations and report histograms, without simulating respondents.

For randomized response and channels a histogram costs O(K) draws for any number of respondents. Everything random takes
a `numpy.random.Generator`, so that simulations are reproducible; real answers use
`warner.reports.randomizing.randomize`.

Two models, which differ in their variance:

- `reports_of_population`: N respondents are drawn from a population with the given shares, and answer.
- `reports_of_people`: a fixed sample answers; its true histogram is given and does not vary.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from warner.arrays import Array, Integers, Size
    from warner.designs.contract import Design


def uniform(k: int) -> Array:
    """Return k equal shares.

    >>> uniform(4)
    array([0.25, 0.25, 0.25, 0.25])
    """
    return zipf(k, 0)


def zipf(k: int, s: float) -> Array:
    """Return k shares proportional to rank^-s, the most common answer first.

    >>> zipf(3, 1) * 11  # in proportion 1 : 1/2 : 1/3
    array([6., 3., 2.])
    """
    if not isinstance(k, int | np.integer) or k < 1 or not np.isfinite(s):
        raise ValueError(f"k must be a whole number of at least 1 and s finite, but got k={k!r} and s={s!r}")
    with np.errstate(over="ignore"):
        weights: Array = np.arange(1, k + 1, dtype=np.float64) ** -float(s)
        total = weights.sum()
    if not np.isfinite(total):
        raise ValueError(f"s must not be so small that {k:,} answers to the power of -s overflow, but got {s!r}")
    weights /= total
    return weights


def reports_of_population(
    shares: ArrayLike, n: int, design: Design, *, rng: np.random.Generator, size: Size = None
) -> Integers:
    r"""Draw the histogram of n reports from a sample of a population.

    The counts of a randomized response are multinomial with probabilities :math:`q + (p-q)\theta_i`.

    Parameters
    ----------
    shares : array_like of shape (k,)
        True shares of the population; those of an incomplete list may sum to less than one.
    n : int
        Number of respondents.
    design : Design
        Design of the reports.
    rng : numpy.random.Generator
        Source of randomness.
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
    return design.simulate(shares, n, rng=rng, size=size)


def reports_of_people(
    true_counts: ArrayLike, design: Design, *, rng: np.random.Generator, size: Size = None
) -> Integers:
    r"""Draw the histogram of reports from respondents with given true answers.

    Under randomized response with p >= q, :math:`\text{Bin}(n_i, p-q)` of the respondents with answer i keep it; all
    others draw one of the K answers uniformly. This is equivalent to randomizing each respondent separately, as other
    designs do.

    Parameters
    ----------
    true_counts : array_like of int of shape (k,)
        Number of respondents with each true answer.
    design, rng, size
        As for `reports_of_population`.

    Examples
    --------
    >>> from warner import RandomizedResponse
    >>> reports_of_people([5, 3, 2], RandomizedResponse(3, odds=(1, 0)), rng=np.random.default_rng(1))
    array([5, 3, 2])
    """
    return design.law.simulate_people(true_counts, rng=rng, size=size)


def seeded_by(counts: ArrayLike) -> np.random.Generator:
    """Create a generator seeded by the counts, so that simulations are reproducible on every machine.

    >>> seeded_by([40, 60]).integers(100) == seeded_by([40, 60]).integers(100)
    np.True_
    """
    digest = blake2b(np.ascontiguousarray(counts, dtype="<f8").tobytes(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))


def of_each_size(sizes: Integers) -> Iterator[tuple[int, Integers]]:
    """Yield the distinct sizes of groups, with the indices of the groups of each size.

    >>> [(size, places.tolist()) for size, places in of_each_size(np.array([5, 3, 5]))]
    [(3, [1]), (5, [0, 2])]
    """
    order = np.argsort(sizes, kind="stable")
    different, first = np.unique(sizes[order], return_index=True)
    if different.size:
        yield from zip(different.tolist(), np.split(order, first[1:]), strict=True)
