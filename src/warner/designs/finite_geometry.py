r"""Transforms over finite vector spaces: Walsh-Hadamard, Fourier and Radon, the sums over all hyperplanes at once.

**Sums over hyperplanes** cost O(V log V) for V points, not O(V^2): they are Radon transforms, and their Fourier
transform is a gather [1]_. With y a number for each vector u of :math:`F_q^m` and Y its Fourier transform over all m
axes, the sums over the hyperplanes of direction d are

.. math:: R[d, s] = \sum_{\langle d, u\rangle = s} y[u] = \frac1q \sum_\lambda e^{2\pi i \lambda s/q}\, Y[\lambda d].

For d = (1, w) the frequencies :math:`\lambda d = (\lambda, \lambda w)` with :math:`\lambda \le q/2`, which are enough
for real numbers, all lie in the half that a real transform along the first axis gives. Directions that begin with a 0
are those of one dimension less, in the plane :math:`\lambda_1 = 0`. So each step below has the same form: take a part
of an array, move its cells by a table, transform along an axis of length q. Over the field of two elements the Fourier
transform is that of Walsh and Hadamard, which needs no multiplication.

Sums of whole numbers are exact: rounded where rounding errors are known to be small, and looked at.

References
----------
.. [1] E. D. Bolker, "The finite Radon transform", Contemp. Math. 63 (1987), 27-50.

Finite geometry over a prime field: prime numbers, points of a projective space, and their coordinates.

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

from warner.arrays import UNIT_ROUNDOFF, Array, Counts, Integers

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Transform = Callable[[Array], Array]
    Spectrum = NDArray[np.complex128]


# Geometry

TABLES_CACHED = 64  # of a few geometries, one or two for each of their dimensions
VECTORS_ONE_BY_ONE = 8  # up to which Python's own numbers are faster than arrays


# Prime numbers


def is_prime(number: int) -> bool:
    """Return True if a number below about 2^40 is prime, by trial division."""
    if number < 4:
        return number > 1
    return number % 2 > 0 and all(number % divisor for divisor in range(3, math.isqrt(number) + 1, 2))


def next_prime(number: int) -> int:
    """Return the smallest prime that is at least the number."""
    while not is_prime(number):
        number += 1
    return number


def primes_up_to(largest: int) -> Integers:
    """Return all primes up to a number, by the sieve of Eratosthenes."""
    prime = np.ones(largest + 1, dtype=bool)
    prime[:2] = False
    for factor in range(2, math.isqrt(largest) + 1):
        if prime[factor]:
            prime[factor * factor :: factor] = False
    return np.flatnonzero(prime)


# Points and their coordinates


def size(field: Any, dimension: Any) -> Any:
    """Return the number of points of PG(dimension - 1, field), or of its hyperplanes; roughly for arrays of floats."""
    return (field**dimension - 1) // (field - 1)


def modulo(numbers: Integers, field: int) -> Integers:
    """Return non-negative numbers modulo the field, by the quotient: NumPy computes remainders much more slowly."""
    return numbers - numbers // field * field


def digits(numbers: Integers, field: int, length: int) -> Integers:
    """Return the digits of numbers in base `field`, of shape (places, ...), most significant first."""
    written = np.empty((length, *numbers.shape), dtype=np.int64)
    for index in reversed(range(length)):
        quotient = numbers // field
        written[index] = numbers - quotient * field
        numbers = quotient
    return written


def vectors(points: Integers, field: int, dimension: int) -> Integers:
    """Return the canonical vectors of these points, of shape (dimension, ...).

    >>> vectors(np.arange(7), 2, 3).T.tolist()
    [[0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]]
    """
    return digits(canonical_numbers(points, field, dimension), field, dimension)


def canonical_numbers(points: Integers, field: int, dimension: int) -> Integers:
    """Return the numbers whose digits in base `field` are the canonical vectors of these points."""
    ends, _, gaps = _canonical_ranges(field, dimension)
    return np.asarray(points + gaps[np.searchsorted(ends, points, side="right")])


@lru_cache(maxsize=TABLES_CACHED)
def _canonical_ranges(field: int, dimension: int) -> tuple[Integers, Integers, Integers]:
    """For each number of free coordinates: the end of its points, the start of its numbers, and their distance."""
    free = range(dimension)
    ends = np.array([size(field, coordinates + 1) for coordinates in free])
    starts = np.array([field**coordinates for coordinates in free])
    return ends, starts, np.array([field**coordinates - size(field, coordinates) for coordinates in free])


def points_of(coordinates: Integers, field: int) -> Integers:
    """Return the points on which these nonzero vectors lie, of shape (dimension, vectors)."""
    leading = coordinates[0]
    for coordinate in coordinates[1:]:
        leading = np.where(leading == 0, coordinate, leading)
    factor = inverses(leading, field)
    number = np.zeros_like(leading)
    for coordinate in coordinates:
        number = number * field + modulo(coordinate * factor, field)
    _, starts, gaps = _canonical_ranges(field, len(coordinates))
    return np.asarray(number - gaps[np.searchsorted(starts, number, side="right") - 1])


def inverses(values: Integers, field: int) -> Integers:
    """Return 1 / value modulo the field for values from 1 on, as the power field - 2 (Fermat)."""
    power, square, exponent = np.ones_like(values), values, field - 2
    while exponent:
        if exponent % 2:
            power = modulo(power * square, field)
        square, exponent = modulo(square * square, field), exponent // 2
    return power


def inner_products(one: Integers, other: Integers, field: int) -> Integers:
    """Return inner products modulo the field of vectors of shape (dimension, ...), which are broadcast."""
    total: Integers = np.zeros(np.broadcast_shapes(one.shape[1:], other.shape[1:]), dtype=np.int64)
    for factor, coordinate in zip(one, other, strict=True):
        total = modulo(total + factor * coordinate, field)
    return total


# A few vectors, one by one: Python's own numbers are several times faster than arrays of one element


def few_digits(number: int, field: int, length: int) -> list[int]:
    """Return the digits of one number in base `field`, most significant first."""
    written = [0] * length
    for index in range(length - 1, -1, -1):
        number, written[index] = divmod(number, field)
    return written


def canonical_number(point: int, field: int) -> int:
    """Return the number whose digits in base `field` are the canonical vector of one point."""
    power, below = 1, 0  # field^j, and the number of points with fewer than j free coordinates
    while below + power <= point:
        power, below = power * field, below + power
    return point + power - below


def point_of(coordinates: list[int], field: int) -> int:
    """Return the point on which one nonzero vector lies."""
    leading = next(filter(None, coordinates))
    factor, number = pow(leading, field - 2, field) if leading > 1 else 1, 0
    for coordinate in coordinates:
        number = number * field + coordinate * factor % field
    power, below = 1, 0
    while power * field <= number:
        power, below = power * field, below + power
    return number - power + below


def inner_product(one: list[int], other: list[int], field: int) -> int:
    total: int = sum(map(mul, one, other))
    return total % field


# Transforms

BLUESTEIN_ROUNDINGS = 2000  # at most, of a Fourier transform of prime length by Bluestein's method
TRANSFORMED_AT_ONCE = 2**22  # numbers, where there are many rows of them


# Vectors of bits


def walsh_hadamard(values: Counts) -> Counts:
    r"""Return :math:`\sum_u (-1)^{\langle u, v\rangle} y[u]` for each v, bit by bit; leading axes are kept.

    Sums and differences of the two halves of an array, interleaved, are one step, and need no other for the next bit.
    Whole numbers stay whole.

    >>> walsh_hadamard(np.array([1, 2, 3, 4]))
    array([10, -2, -4,  0])
    """
    length = values.shape[-1]
    for _ in range(length.bit_length() - 1):
        low, high = values[..., : length // 2], values[..., length // 2 :]
        values = np.empty_like(values)
        np.add(low, high, out=values[..., 0::2])
        np.subtract(low, high, out=values[..., 1::2])
    return values


def even_sums(values: Counts) -> Counts:
    r"""Sum for each v over the vectors u of bits with :math:`\langle u, v\rangle = 0`: half of sum plus transform.

    >>> even_sums(np.array([1, 2, 3, 4]))  # all, 0 and 2, 0 and 1, 0 and 3
    array([10,  4,  3,  5])
    """
    return _halved(values.sum(axis=-1, keepdims=True) + walsh_hadamard(values))


# Sums over hyperplanes


def perpendicular_sums(values: Counts, field: int, dimension: int) -> Counts:
    r"""Sum numbers of points over each hyperplane: for every point x, over all y with <x, y> = 0.

    The points at infinity, y = (0, y'), are a space of one dimension less, with sums T'. For the others, y = (1, u),
    the Radon transform R of their numbers gives what is missing:

    .. math:: T[(0, d)] = R[d, 0] + T'[d], \quad T[(1, \mu d)] = R[d, -1/\mu] + T'[d], \quad T[(1, 0)] = \sum y'.

    Sums of whole numbers are exact up to totals of 2^53. The space is PG(dimension - 1, field).

    >>> perpendicular_sums(np.array([20, 9, 11, 6, 18, 7, 9]), 2, 3)  # point 0 is (0,0,1), and 9 + 6 + 7 are on 1, 3, 5
    array([22, 44, 26, 40, 36, 36, 36])
    """
    if field == 2:  # vectors of bits, but for zero: half of the sum and of the transform
        padded = np.concatenate([np.zeros_like(values[..., :1]), values], axis=-1)
        return _halved(values.sum(axis=-1, keepdims=True) + walsh_hadamard(padded)[..., 1:])
    return _by_rows(lambda rows: _perpendicular(rows, field, dimension), values, field, dimension - 1)


def _perpendicular(values: Array, field: int, dimension: int) -> Array:
    rows = len(values)
    sums = np.zeros((rows, 1))  # in PG(0, q) the only point is (1), and not perpendicular to itself
    for m in range(1, dimension):
        start, end = size(field, m), size(field, m + 1)
        result = np.empty((rows, end))
        result[:, start] = values[:, :start].sum(axis=-1)
        spectrum = _spectrum(values[:, start:end], field, m)
        for free in reversed(range(m)):
            first, last = size(field, free), size(field, free + 1)
            part = _along_directions(spectrum, field, free)
            part += sums[:, np.newaxis, first:last]
            result[:, first:last] = part[:, 0]
            scaled = result[:, start + field**free : start + field ** (free + 1)]
            scaled[:] = part.reshape(rows, -1).take(_scaled(field, free), axis=1)
            spectrum = spectrum[:, 0]
        sums = result
    return sums


def hyperplane_sums(values: Counts, field: int, dimension: int) -> Counts:
    r"""Sum numbers of vectors over all affine hyperplanes: :math:`R[d, s] = \sum_{\langle d, u\rangle = s} y[u]`.

    Values are those of all vectors, in the order of their digits; sums of whole numbers are exact up to totals of 2^53.
    The sum for direction d, a point of PG(dimension - 1, field), and the value s is at index d * field + s.

    >>> hyperplane_sums(np.array([1, 2, 3, 4]), 2, 2)  # by second digit, by first, by their sum
    array([4, 6, 3, 7, 5, 5])
    """
    if field == 2:
        total, differences = (transformed := walsh_hadamard(values))[..., :1], transformed[..., 1:]
        twice = np.empty((*values.shape[:-1], 2 * differences.shape[-1]), dtype=values.dtype)
        twice[..., 0::2], twice[..., 1::2] = total + differences, total - differences
        return _halved(twice)
    return _by_rows(lambda rows: _radon(rows, field, dimension), values, field, dimension)


def _radon(values: Array, field: int, dimension: int) -> Array:
    sums = np.empty((len(values), size(field, dimension), field))
    spectrum = _spectrum(values, field, dimension)
    for free in reversed(range(dimension)):
        directions = slice(size(field, free), size(field, free + 1))
        sums[:, directions] = _along_directions(spectrum, field, free).swapaxes(1, 2)
        spectrum = spectrum[:, 0]
    return sums.reshape(len(values), -1)


def sums_of_hyperplanes(values: Counts, field: int, dimension: int) -> Counts:
    r"""Sum numbers of affine hyperplanes over those that hold each vector: :math:`\sum_d r[d, \langle d, x\rangle]`.

    The transpose of `hyperplane_sums`. Directions that begin with a 0 do not see the first coordinate: their sums are
    those of one dimension less, the same for all values of it.

    Examples
    --------
    >>> sums_of_hyperplanes(np.array([4, 6, 3, 7, 5, 5]), 2, 2)  # (0, 0) is in those with 4, 3 and 5
    array([12, 14, 16, 18])
    """
    if field == 2:
        differences = np.concatenate([np.zeros_like(values[..., :1]), values[..., 0::2] - values[..., 1::2]], axis=-1)
        return _halved(values.sum(axis=-1, keepdims=True) + walsh_hadamard(differences))
    return _by_rows(lambda rows: _transposed_radon(rows, field, dimension), values, field, dimension)


def _transposed_radon(values: Array, field: int, dimension: int) -> Array:
    from scipy.fft import irfftn, rfft

    rows, half = len(values), field // 2
    values = values.reshape(rows, -1, field)
    sums = np.zeros((rows, 1))
    for free in range(dimension):
        width = field**free
        part = rfft(values[:, size(field, free) : size(field, free + 1)].swapaxes(1, 2), axis=1)
        spectrum = np.zeros((rows, half + 1, width), dtype=complex)
        spectrum[:, 0, 0] = part[:, 0].real.sum(axis=-1)
        spectrum[:, 1:].reshape(rows, -1)[:, _multiplied(field, free)] = part[:, 1:].reshape(rows, -1)
        shape, axes = (field,) * (free + 1), (*range(2, free + 2), 1)
        layer = irfftn(spectrum.reshape(rows, half + 1, *shape[1:]), s=shape, axes=axes, overwrite_x=True)
        sums = (layer.reshape(rows, field, width) * width + sums[:, np.newaxis]).reshape(rows, -1)
    return sums


def _spectrum(values: Array, field: int, dimension: int) -> Spectrum:
    """Fourier transform over all axes; the first has only the frequencies up to half the field."""
    from scipy.fft import rfftn  # which takes longer to load than all of our modules

    axes = (*range(2, dimension + 1), 1)
    return np.asarray(rfftn(values.reshape(len(values), *(field,) * dimension), axes=axes))


def _along_directions(spectrum: Spectrum, field: int, free: int) -> Array:
    """Return the sums over the hyperplanes <d, u> = s of all directions d = (1, w), of shape (rows, s, w)."""
    from scipy.fft import irfft

    rows, half, width = len(spectrum), field // 2, field**free
    spectrum = spectrum[:, : half + 1].reshape(rows, half + 1, width)
    chosen = np.empty_like(spectrum)
    chosen[:, 0] = spectrum[:, 0, :1]
    moved = spectrum[:, 1:].reshape(rows, -1).take(_multiplied(field, free), axis=1)
    chosen[:, 1:] = moved.reshape(rows, half, width)
    return np.asarray(irfft(chosen, n=field, axis=1, overwrite_x=True))


@lru_cache(TABLES_CACHED)
def _multiplied(field: int, free: int) -> Integers:
    """For each factor up to half the field and each w, the index of factor * w in an array (factor, vector)."""
    factors = np.arange(1, field // 2 + 1)
    return _table((factors - 1) * field**free, factors, field, free)


@lru_cache(TABLES_CACHED)
def _scaled(field: int, free: int) -> Integers:
    """For each factor mu from 1 on and each v, the index of s = -1/mu and w = v/mu in an array (s, w)."""
    factors = inverses(np.arange(1, field), field)
    return _table((field - factors) * field**free, factors, field, free)


def _table(offsets: Integers, factors: Integers, field: int, free: int) -> Integers:
    """Return offset + the number of factor * w, for all vectors w of `free` coordinates, digit by digit."""
    table = np.zeros((len(factors), 1), dtype=np.int64)
    if free:
        products = factors[:, np.newaxis] * np.arange(field) % field
    for _ in range(free):
        table = (table[:, :, np.newaxis] * field + products[:, np.newaxis]).reshape(len(factors), -1)
    table += offsets[:, np.newaxis]
    return table.ravel().astype(np.int32 if table.size < 2**31 else np.int64)


# Whole numbers


def _halved(values: Counts) -> Counts:
    return values // 2 if values.dtype.kind in "iu" else values / 2


def _by_rows(transform: Transform, values: Counts, field: int, dimension: int) -> Counts:
    """Transform the last axis in batches of rows; whole numbers exactly."""
    leading, length = values.shape[:-1], values.shape[-1]
    rows = values.reshape(math.prod(leading), length)
    if not len(rows):
        return np.zeros((*leading, transform(np.zeros((1, length))).shape[-1]), dtype=values.dtype)
    step = max(1, TRANSFORMED_AT_ONCE // length)
    # How far a transform can be off, as a part of the length of what it gives: the worst that sums of q terms can do,
    # along each axis; a large prime goes through a convolution of another length, and errors no longer grow with it.
    part = 4 * UNIT_ROUNDOFF * (dimension + 1) * min(field**1.5, BLUESTEIN_ROUNDINGS)
    # Sums over hyperplanes make a row at most this many times as long, its mean left aside.
    longer = math.sqrt(float(field) ** (dimension - 1))
    pieces = []
    for start in range(0, len(rows), step):
        piece = rows[start : start + step]
        whole = values.dtype.kind in "iu"
        pieces.append(_exactly(transform, piece, part, longer) if whole else transform(piece))
    return np.concatenate(pieces).reshape(*leading, -1)


def _exactly(transform: Transform, counts: Integers, part: float, longer: float) -> Integers:
    """Transform whole numbers with rounding; high and low bits separately if rounding errors could matter."""
    real = counts.astype(np.float64)
    lengths, totals = np.sqrt((real * real).sum(axis=-1)), real.sum(axis=-1)
    if part * (longer * lengths + totals).max(initial=0) < 1 / 8:
        sums = transform(real)
        nearest = np.rint(sums)
        if np.abs(np.subtract(sums, nearest, out=sums), out=sums).max(initial=0) <= 0.1:
            return nearest.astype(np.int64)
    bits = int(counts.max()).bit_length() // 2
    if not bits:
        raise ArithmeticError("sums over hyperplanes are not whole numbers: the Fourier transform is not reliable")
    high, low = counts >> bits, counts & (2**bits - 1)
    return (_exactly(transform, high, part, longer) << bits) + _exactly(transform, low, part, longer)
