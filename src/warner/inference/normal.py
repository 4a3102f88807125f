r"""The normal law, for unbiased estimates that no binomial count tells: interval and test.

The ends are :math:`x \pm z \cdot \text{error}`. Of a share among these very people more is known: it is a whole number
of people. Where little is randomized, the estimate hardly varies, and what varies is whole people as well, a few of
them with a small probability each: nothing like a normal law, which could then leave out every possible share. So the
ends are rounded outward to possible shares, and are at least half a person away from the estimate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

if TYPE_CHECKING:
    from warner.arrays import Array, Numbers

HAIR = 1e-9  # of a person: rounding


def normal_ends(
    estimate: Array,
    error: Array,
    tail: float,
    *,
    people: Numbers | None = None,
    unknown: Numbers = 0.0,
    span: tuple[float, float] = (0.0, 1.0),
) -> tuple[Array, Array]:
    """Give the ends of an interval with `tail` on either side, within `span`; never empty.

    With `people`, they are for a share among so many, of which so large a part as `unknown` may hold anything; numbers
    that are not whole are effective ones, of weights, and not rounded to.

    Examples
    --------
    Of ten people, 5.01 with a standard error of 0.02: that may be 5 or 6.

    >>> [end.round(6).tolist() for end in normal_ends(np.array(0.501), np.array(0.002), 0.025)]
    [0.49708, 0.50492]
    >>> [end.round(6).tolist() for end in normal_ends(np.array(0.501), np.array(0.002), 0.025, people=10)]
    [0.4, 0.6]
    """
    least, most = span
    half = -float(ndtri(tail)) * error
    if people is not None:
        half = np.where(error > 0, np.maximum(half, 0.5 / people), 0.0)  # without noise, the estimate is the share
    # A share beyond what is possible is moved there, for the end on the far side.
    low, high = np.minimum(estimate, most) - half, np.maximum(estimate, least) + half
    if people is not None:
        whole = people == np.rint(people)
        low = np.where(whole, np.floor(people * low + HAIR) / people, low)
        high = np.where(whole, np.ceil(people * high - HAIR) / people, high)
    low = low - (unknown if least < 0 else 0.0)  # of a difference, either may be theirs
    return np.clip(low, least, most), np.clip(high + unknown, least, most)


def normal_test(share: float, error: float) -> float:
    """Give the two-sided p-value of a share of zero, whose estimate is approximately normal."""
    return float(2 * ndtr(-np.abs(ratio_to_error(np.asarray(share), np.asarray(error)))))


def ratio_to_error(share: Array, error: Array) -> Array:
    """Give how many standard errors a share is from zero; of no error, everything but nothing is far."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(error > 0, share / error, np.where(share == 0, 0.0, np.sign(share) * np.inf))
