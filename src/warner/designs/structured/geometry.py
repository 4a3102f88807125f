r"""Finite geometry over a prime field: prime numbers, points of a projective space, and their coordinates.

A point of the projective space PG(t-1, q) is a non-zero vector of t coordinates modulo q, up to a factor; its canonical
vector has 1 as the first coordinate that is not 0. Those with more leading zeros come first, and then the coordinates
after the 1, as digits of a number: (0,..,0,1), (0,..,1,0), (0,..,1,1), ... So the canonical vectors with j such free
coordinates have the numbers from :math:`(q^j-1)/(q-1)` on, and there are :math:`(q^t-1)/(q-1)` points. Hyperplanes are
as many, each named by the point that it is perpendicular to; sums over them are in `transforms`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from warner.arrays import Integers

TABLES_CACHED = 64  # of a few geometries, one or two for each of their dimensions
VECTORS_ONE_BY_ONE = 8  # up to which Python's own numbers are faster than arrays


# Prime numbers


def is_prime(number: int) -> bool:
    """Tell whether a number below 2^40 or so is prime, by trial.

    >>> [number for number in range(20) if is_prime(number)]
    [2, 3, 5, 7, 11, 13, 17, 19]
    """
    if number < 4:
        return number > 1
    return number % 2 > 0 and all(number % divisor for divisor in range(3, math.isqrt(number) + 1, 2))


def next_prime(number: int) -> int:
    """Give the smallest prime that is at least the number.

    >>> next_prime(1000)
    1009
    """
    while not is_prime(number):
        number += 1
    return number


def primes_up_to(largest: int) -> Integers:
    """Give all primes up to a number, by the sieve of Eratosthenes.

    >>> primes_up_to(20)
    array([ 2,  3,  5,  7, 11, 13, 17, 19])
    """
    prime = np.ones(largest + 1, dtype=bool)
    prime[:2] = False
    for factor in range(2, math.isqrt(largest) + 1):
        if prime[factor]:
            prime[factor * factor :: factor] = False
    return np.flatnonzero(prime)


# Points and their coordinates


def size(field: Any, dimension: Any) -> Any:
    """Give the number of points of PG(dimension - 1, field), which is that of its hyperplanes too.

    Of whole numbers, or roughly of arrays of floats.

    >>> size(2, 3)  # the Fano plane
    7
    """
    return (field**dimension - 1) // (field - 1)


def remainder(numbers: Integers, field: int) -> Integers:
    """Give non-negative numbers modulo the field, by the quotient: NumPy takes remainders much more slowly."""
    return numbers - numbers // field * field


def digits(numbers: Integers, field: int, places: int) -> Integers:
    """Write numbers in base `field`: an array of shape (places, numbers), the most significant digits first."""
    written = np.empty((places, numbers.size), dtype=np.int64)
    for place in reversed(range(places)):
        quotient = numbers // field
        written[place] = numbers - quotient * field
        numbers = quotient
    return written


def vectors(points: Integers, field: int, dimension: int) -> Integers:
    """Give the canonical vectors of these points, of shape (dimension, points).

    >>> vectors(np.arange(7), 2, 3).T.tolist()
    [[0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]]
    """
    return digits(canonical_numbers(points, field, dimension), field, dimension)


def canonical_numbers(points: Integers, field: int, dimension: int) -> Integers:
    """Give the numbers whose digits in base `field` are the canonical vectors of these points."""
    ends, _, gaps = _canonical_ranges(field, dimension)
    return np.asarray(points + gaps[np.searchsorted(ends, points, side="right")])


@lru_cache(maxsize=TABLES_CACHED)
def _canonical_ranges(field: int, dimension: int) -> tuple[Integers, Integers, Integers]:
    """Give for each number of free coordinates: where its points end, its numbers start, and how far apart they are."""
    free = range(dimension)
    ends = np.array([size(field, coordinates + 1) for coordinates in free])
    starts = np.array([field**coordinates for coordinates in free])
    return ends, starts, np.array([field**coordinates - size(field, coordinates) for coordinates in free])


def points_of(coordinates: Integers, field: int) -> Integers:
    """Give the points on which these vectors lie, of shape (dimension, vectors); none of them is zero.

    >>> points_of(np.array([[0], [2], [1]]), 3)  # (0, 2, 1) is twice (0, 1, 2)
    array([3])
    """
    leading = coordinates[0]
    for coordinate in coordinates[1:]:
        leading = np.where(leading == 0, coordinate, leading)
    factor = inverses(leading, field)
    number = np.zeros_like(leading)
    for coordinate in coordinates:
        number = number * field + remainder(coordinate * factor, field)
    _, starts, gaps = _canonical_ranges(field, len(coordinates))
    return np.asarray(number - gaps[np.searchsorted(starts, number, side="right") - 1])


def inverses(values: Integers, field: int) -> Integers:
    """Give 1 / value modulo the field for values from 1 on, as their power field - 2 (Fermat)."""
    power, square, exponent = np.ones_like(values), values, field - 2
    while exponent:
        if exponent % 2:
            power = remainder(power * square, field)
        square, exponent = remainder(square * square, field), exponent // 2
    return power


# A few vectors, one by one: Python's own numbers are several times faster than arrays of one element


def few_digits(number: int, field: int, places: int) -> list[int]:
    """Write one number in base `field`, the most significant digit first."""
    written = [0] * places
    for place in range(places - 1, -1, -1):
        number, written[place] = divmod(number, field)
    return written


def canonical_number(point: int, field: int) -> int:
    """Give the number whose digits in base `field` are the canonical vector of one point.

    >>> few_digits(canonical_number(4, 2), 2, 3)  # of the points of the Fano plane, (1, 0, 1)
    [1, 0, 1]
    """
    power, below = 1, 0  # field^j, and the number of points with fewer than j free coordinates
    while below + power <= point:
        power, below = power * field, below + power
    return point + power - below


def point_of(coordinates: list[int], field: int) -> int:
    """Give the point on which one vector lies, which is not zero.

    >>> point_of([0, 2, 1], 3)
    3
    """
    leading = next(filter(None, coordinates))
    factor, number = pow(leading, field - 2, field) if leading > 1 else 1, 0
    for coordinate in coordinates:
        number = number * field + coordinate * factor % field
    power, below = 1, 0
    while power * field <= number:
        power, below = power * field, below + power
    return number - power + below


def inner_product(one: list[int], other: list[int], field: int) -> int:
    """Give the inner product of two vectors modulo the field."""
    total: int = sum(map(mul, one, other))
    return total % field
