"""What is published, restated: the yardstick that the speeds are measured against.

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


def published_ibu(observed: NDArray[np.float64], p: float, iterations: int) -> NDArray[np.float64]:
    """Update the uniform distribution a fixed number of times."""
    k = len(observed)
    q = (1 - p) / (k - 1)
    shares = np.ones(k) / k
    for _ in range(iterations):
        ratio = observed / (q + (p - q) * shares)
        shares = shares * (q * np.sum(ratio) + (p - q) * ratio)
    return shares
