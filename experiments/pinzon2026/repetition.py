"""Repetition over seeds: how far each estimator is from the truth, for one population and one design.

As published: the truth is the histogram of a given sample, which is randomized afresh for each seed. Errors are
sums over the answers, so that squared bias plus variance is the mean squared error; divide by
K for the mean over the answers of the published figures.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from experiments.pinzon2026.methods import ESTIMATORS
from warner.estimators import estimates
from warner.estimators.auto import choice
from warner.metrics import negative_log_likelihood, squared_error_sum, total_variation
from warner.simulate import reports_of_people

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from warner import RandomizedResponse
    from warner.arrays import Counts

Columns: TypeAlias = "dict[str, Counts]"

# Part of the experiment: with other numbers the same seed draws other reports, or sums them in another order. So many
# counts as are measured at once fit a cache.
COUNTS_DRAWN_AT_ONCE, COUNTS_MEASURED_AT_ONCE = 2**20, 2**16


class EstimatorErrors(NamedTuple):
    """Outcome of one estimator in one configuration: an entry for each seed, and two numbers over all seeds."""

    squared_error: NDArray[np.float64]
    negative_log_likelihood: NDArray[np.float64]
    total_variation: NDArray[np.float64]
    negatives: NDArray[np.int64]
    absent_negatives: NDArray[np.int64]
    squared_bias: float
    variance: float


def generator(*content: object) -> np.random.Generator:
    """Return a generator seeded by its purpose, so that results do not depend on the order of the runs.

    >>> generator("grid", 50).integers(10**9) == generator("grid", 50).integers(10**9)
    np.True_
    """
    digest = blake2b(repr(content).encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))


def repeated(
    people: NDArray[np.int64],
    design: RandomizedResponse,
    *,
    seeds: int,
    rng: np.random.Generator,
    auto: bool = False,
    estimators: Sequence[str] = tuple(ESTIMATORS),
) -> Columns:
    """Randomize the same people for each seed, estimate, and measure.

    Parameters
    ----------
    people : ndarray of int of shape (k,)
        True counts of the answers.
    design : RandomizedResponse
        What every answer goes through.
    seeds : int
        Number of repetitions.
    rng : numpy.random.Generator
        Where the randomness comes from.
    auto : bool
        Also measure the estimator that `warner.estimators.auto.choice` picks for each histogram.
    estimators : sequence of str
        What to measure; all four if not given.

    Returns
    -------
    dict of str to ndarray
        A row per estimator and seed, in columns named as the fields of `EstimatorErrors`, with ``estimator``, ``seed``
        and ``chosen``.
    """
    truth = people / people.sum()
    absent = people == 0
    names = [*estimators, "auto"] if auto else list(estimators)
    measures: dict[str, list[tuple[Counts, ...]]] = {name: [] for name in names}
    sums = {name: np.zeros(design.k) for name in names}
    chosen: list[str] = []
    for counts in _drawn(people, design, seeds, rng):
        shares_of = estimates(counts, design, estimators)
        if auto:
            picked = [choice(histogram, design).method for histogram in counts]
            shares_of["auto"] = np.stack([shares_of[name][row] for row, name in enumerate(picked)])
            chosen += picked
        for name, shares in shares_of.items():
            measures[name].append(
                (
                    squared_error_sum(shares, truth),
                    negative_log_likelihood(shares, counts, design),
                    total_variation(shares, truth),
                    *_below_zero(shares, absent),
                )
            )
            sums[name] += shares.sum(axis=0)
    return _columns(measures, sums, truth, chosen)


def _drawn(
    people: NDArray[np.int64], design: RandomizedResponse, seeds: int, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    drawn_rows = max(1, COUNTS_DRAWN_AT_ONCE // design.k)
    measured_rows = max(1, COUNTS_MEASURED_AT_ONCE // design.k)
    for start in range(0, seeds, drawn_rows):
        block = reports_of_people(people, design, rng=rng, size=min(drawn_rows, seeds - start))
        for first in range(0, len(block), measured_rows):
            yield block[first : first + measured_rows]


def _below_zero(shares: NDArray[np.float64], absent: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the negative shares, of all answers and of answers with a true share of zero."""
    if shares.min() >= 0:
        return np.zeros(len(shares), dtype=np.int64), np.zeros(len(shares), dtype=np.int64)
    below = shares < 0
    return below.sum(axis=-1), (below & absent).sum(axis=-1)


def _columns(
    measures: Mapping[str, list[tuple[Counts, ...]]],
    sums: Mapping[str, NDArray[np.float64]],
    truth: NDArray[np.float64],
    chosen: list[str],
) -> Columns:
    rows = []
    for name, blocks in measures.items():
        by_seed = [np.concatenate(column) for column in zip(*blocks, strict=True)]
        seeds = by_seed[0].size
        squared_bias = float(squared_error_sum(sums[name] / seeds, truth))
        # The mean of the squares is the square of the mean plus the variance: for each answer, hence for their sum.
        variance = float(by_seed[0].mean()) - squared_bias
        rows.append(
            [
                np.full(seeds, name, dtype=object),
                np.arange(seeds),
                *by_seed,
                np.full(seeds, squared_bias),
                np.full(seeds, variance),
                np.array(chosen if name == "auto" else [name] * seeds, dtype=object),
            ]
        )
    titles = ("estimator", "seed", *EstimatorErrors._fields, "chosen")
    return {title: np.concatenate(column) for title, column in zip(titles, zip(*rows, strict=True), strict=True)}


def outcomes(columns: Columns) -> dict[str, EstimatorErrors]:
    """Split the columns of `repeated` by estimator."""
    by_estimator = {}
    for name in dict.fromkeys(columns["estimator"].tolist()):
        rows = columns["estimator"] == name
        values = [columns[field][rows] for field in EstimatorErrors._fields]
        by_estimator[name] = EstimatorErrors(*values[:-2], *(float(value[0]) for value in values[-2:]))
    return by_estimator


def complete_outcomes(columns: Columns, *, seeds: int, auto: bool = False) -> dict[str, EstimatorErrors]:
    """Split the columns of a stored configuration; they must hold every estimator and every seed."""
    by_estimator = outcomes(columns)
    for name in (*ESTIMATORS, "auto") if auto else ESTIMATORS:
        if by_estimator[name].squared_error.shape != (seeds,):
            raise ValueError(f"it has {by_estimator[name].squared_error.size} seeds of {name}, not {seeds}")
    return by_estimator
