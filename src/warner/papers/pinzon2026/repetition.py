"""One population, one design, many seeds: how far each estimator is from the truth.

As published: the truth is the realised histogram of given people, who are randomized afresh for each seed. Errors are
sums over the answers, so that squared bias plus variance is the mean squared error; whoever wants the mean over the
answers, as in the published figures, divides by K.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.estimators import inv, inv_n, inv_p, mle
from warner.estimators.auto import choice
from warner.metrics import negative_log_likelihood, squared_error_sum, total_variation
from warner.simulate import reports_of_people

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from warner.designs import RandomizedResponse
    from warner.estimators.auto import Estimator

    Columns = dict[str, NDArray[Any]]

ESTIMATORS: dict[str, Estimator] = {"mle": mle, "inv_p": inv_p, "inv_n": inv_n, "inv": inv}
VALID = ("mle", "inv_p", "inv_n")
NAMES = {"mle": "MLE*", "inv_p": "INVP", "inv_n": "INVN", "inv": "INV", "auto": "auto"}
BLOCK, PART = 2**20, 2**16  # counts that are drawn at once, and counts that are measured at once: these fit a cache


class Outcome(NamedTuple):
    """What one estimator did in one configuration: an entry for each seed, and two numbers over all seeds."""

    squared_error: NDArray[np.float64]
    negative_log_likelihood: NDArray[np.float64]
    total_variation: NDArray[np.float64]
    negatives: NDArray[np.int64]
    absent_negatives: NDArray[np.int64]
    squared_bias: float
    variance: float


def generator(*content: object) -> np.random.Generator:
    """Make a generator whose seed is what it is for: whoever runs it, and after what, draws the same.

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
    estimators: Mapping[str, Estimator] = ESTIMATORS,
) -> Columns:
    """Randomize the same people for each seed, estimate, and measure.

    Parameters
    ----------
    people : ndarray of int of shape (k,)
        How many people hold each answer: the truth.
    design : RandomizedResponse
        What every answer goes through.
    seeds : int
        Number of repetitions.
    rng : numpy.random.Generator
        Where the randomness comes from.
    auto : bool
        Also measure the estimator that `warner.estimators.auto.choice` picks for each histogram.
    estimators : mapping of str to function
        What to measure; all four if not given.

    Returns
    -------
    dict of str to ndarray
        A row for each estimator and seed, in columns named as the fields of `Outcome`, with ``estimator``, ``seed``
        and ``chosen``.
    """
    truth = people / people.sum()
    absent = people == 0
    names = [*estimators, "auto"] if auto else list(estimators)
    parts: dict[str, list[tuple[NDArray[Any], ...]]] = {name: [] for name in names}
    sums = {name: np.zeros(design.k) for name in names}
    chosen: list[str] = []
    for counts in _drawn(people, design, seeds, rng):
        shares = {name: estimator(counts, design) for name, estimator in estimators.items()}
        if auto:
            picked = [choice(row, design).method for row in counts]
            shares["auto"] = np.stack([shares[name][row] for row, name in enumerate(picked)])
            chosen += picked
        for name, estimated in shares.items():
            parts[name].append(
                (
                    squared_error_sum(estimated, truth),
                    negative_log_likelihood(estimated, counts, design),
                    total_variation(estimated, truth),
                    *_below_zero(estimated, absent),
                )
            )
            sums[name] += estimated.sum(axis=0)
    return _columns(parts, sums, truth, chosen)


def _drawn(
    people: NDArray[np.int64], design: RandomizedResponse, seeds: int, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Draw all histograms, some at a time."""
    many, few = max(1, BLOCK // design.k), max(1, PART // design.k)
    for start in range(0, seeds, many):
        block = reports_of_people(people, design, rng=rng, size=min(many, seeds - start))
        for first in range(0, len(block), few):
            yield block[first : first + few]


def _below_zero(shares: NDArray[np.float64], absent: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the negative shares, of all answers and of those that nobody holds."""
    if shares.min() >= 0:
        return np.zeros(len(shares), dtype=np.int64), np.zeros(len(shares), dtype=np.int64)
    below = shares < 0
    return below.sum(axis=-1), (below & absent).sum(axis=-1)


def _columns(
    parts: Mapping[str, list[tuple[NDArray[Any], ...]]],
    sums: Mapping[str, NDArray[np.float64]],
    truth: NDArray[np.float64],
    chosen: list[str],
) -> Columns:
    rows = []
    for name, blocks in parts.items():
        measured = [np.concatenate(column) for column in zip(*blocks, strict=True)]
        seeds = measured[0].size
        bias = float(squared_error_sum(sums[name] / seeds, truth))
        # The mean of the squares is the square of the mean plus the variance: for each answer, hence for their sum.
        variance = float(measured[0].mean()) - bias
        rows.append(
            [
                np.full(seeds, name, dtype=object),
                np.arange(seeds),
                *measured,
                np.full(seeds, bias),
                np.full(seeds, variance),
                np.array(chosen if name == "auto" else [name] * seeds, dtype=object),
            ]
        )
    titles = ("estimator", "seed", *Outcome._fields, "chosen")
    return {title: np.concatenate(column) for title, column in zip(titles, zip(*rows, strict=True), strict=True)}


def outcomes(columns: Columns) -> dict[str, Outcome]:
    """Take the columns of `repeated` apart again, by estimator."""
    found = {}
    for name in dict.fromkeys(columns["estimator"].tolist()):
        rows = columns["estimator"] == name
        values = [columns[field][rows] for field in Outcome._fields]
        found[name] = Outcome(*values[:-2], *(float(value[0]) for value in values[-2:]))
    return found


def outcomes_of(columns: Columns, *, seeds: int, auto: bool = False) -> dict[str, Outcome]:
    """Take the columns of a stored configuration apart; they must hold every estimator, and every seed."""
    found = outcomes(columns)
    for name in (*ESTIMATORS, "auto") if auto else ESTIMATORS:
        if found[name].squared_error.shape != (seeds,):
            raise ValueError(f"it has {found[name].squared_error.size} seeds of {name}, not {seeds}")
    return found
