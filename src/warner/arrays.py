"""Type aliases of arrays, limits of doubles, and arrays of Python objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
Counts: TypeAlias = NDArray[Any]  # whole numbers (int64), or sums of weights (float64)
Numbers: TypeAlias = Any  # a number, or an array of them that broadcasts with the others
PerGroup: TypeAlias = Any  # a number, or an array with one for each group where there are groups
Dtype: TypeAlias = np.dtype[Any]
Label: TypeAlias = str | int  # of an answer
Sets: TypeAlias = Sequence[Sequence[int]]  # sets of answers, by their positions in the domain
Size: TypeAlias = int | tuple[int, ...] | None  # number of independent draws, as in NumPy
Shape: TypeAlias = tuple[int, ...]

SMALLEST = 2.0**-1022  # the smallest normal double: a lower bound of divisors
UNIT_ROUNDOFF = 2.0**-53  # of doubles: the largest relative error of one rounding
LARGEST_TOTAL = 2**53  # beyond, a double cannot hold every count


def objects(values: Iterable[Any]) -> Counts:
    """Return an array of Python objects, unchanged: numbers do not become texts, and tuples not rows.

    >>> objects([1, "a", None, (2, 3)])
    array([1, 'a', None, (2, 3)], dtype=object)
    """
    return np.fromiter(values, dtype=object)
