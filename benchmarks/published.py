"""Published methods, reimplemented: the yardstick of the speed targets.

MLE* and IBU follow the listing in Pinzón et al., "Estimating the True Distribution of Data Collected with Randomized
Response" (AAAI 2026), supplementary material, section "Code for reproducibility": the same sorting, the same scalar
loop over the sorted shares, the same arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def published_mle(observed: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    """Drop the smallest observed shares one by one until the rest is positive."""
    k = len(observed)
    q = (1 - p) / (k - 1)
    order = np.argsort(observed)
    dropped, rest = 0, 1.0
    while dropped < k and q * rest > (1 - dropped * q) * observed[order[dropped]]:
        rest -= observed[order[dropped]]
        dropped += 1
    scale = (p - q) * rest / (1 - dropped * q)
    shares = np.zeros(k)
    shares[order[dropped:]] = observed[order[dropped:]] / scale - q / (p - q)
    return shares


def published_repetition(
    answers: NDArray[np.int64], truth: NDArray[np.float64], p: float, rng: np.random.Generator
) -> list[tuple[float, float]]:
    """One repetition of an experiment, person by person: perturb, count, three estimators, two metrics each."""
    k = len(truth)
    q = (1 - p) / (k - 1)
    keep = rng.random(answers.size) < p - q
    reports = np.where(keep, answers, rng.integers(0, k, answers.size))
    observed = np.bincount(reports, minlength=k) / answers.size
    inverted = (observed - q) / (p - q)
    clipped = np.maximum(inverted, 0)
    estimates = (published_mle(observed, p), clipped / clipped.sum(), projected(inverted))
    return [
        (float(np.sum((shares - truth) ** 2)), float(-np.sum(observed * np.log(q + (p - q) * shares))))
        for shares in estimates
    ]


def projected(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Project onto the simplex: sort, then walk down until the rest would be negative."""
    total, taken = 0.0, 0
    for share in np.sort(shares)[::-1]:
        if share + (1 - total - share) / (taken + 1) <= 0:
            break
        total += share
        taken += 1
    return np.maximum(shares - (total - 1) / taken, 0)


def published_ibu(observed: NDArray[np.float64], p: float, iterations: int) -> NDArray[np.float64]:
    """Update the uniform distribution a fixed number of times."""
    k = len(observed)
    q = (1 - p) / (k - 1)
    shares = np.ones(k) / k
    for _ in range(iterations):
        ratio = observed / (q + (p - q) * shares)
        shares = shares * (q * np.sum(ratio) + (p - q) * ratio)
    return shares
