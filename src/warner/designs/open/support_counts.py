r"""Support counts: how many reports of a level support each prefix, by one Fourier transform for all extensions of one.

With e the digits of a direction that belong to the last block, and :math:`r = s - \langle d', u\rangle` for the rest d'
of it and a prefix u, a report supports the extension (u, v) if :math:`\langle e, v\rangle = r`. Let H(e, r) be the
number of reports that have these, and :math:`\omega = e^{2\pi i/g}`. Then

.. math:: \text{count}(v) = \sum_e H(e, \langle e, v\rangle) = \frac1g \Bigl(n + \sum_{k=1}^{g-1} \sum_e
    \omega^{k\langle e, v\rangle} \sum_r H(e, r)\, \omega^{-kr}\Bigr).

(e, r) and (k e, k r) support the same extensions, so that each report is scaled once: the first digit of e that is not
0 becomes 1. Then :math:`F(k c) = \sum_r H(c, r)\, \omega^{-kr}`, for these canonical directions c and k from 1 to
g - 1, fills all of :math:`F_g^\tau` but 0, and count = (n + DFT(F)) / g: one Fourier transform over :math:`\tau` axes
of length g. Reports with e = 0 support all extensions or none, and are counted apart. So the counts of all
:math:`g^\tau` extensions take :math:`n + g^\tau \log g^\tau` steps, and not :math:`n g^\tau`. Two prefixes are done in
one complex transform: one as its real part, one as its imaginary part.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.designs.structured.geometry import inverses

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from warner.arrays import Counts, Integers
    from warner.designs.open.open_domain import OpenDomain

COUNT_ROUNDING = 0.1  # how far a count may be from a whole number
SPACES_CACHED = 4
TABLE_PRODUCTS = 2**16  # products of two elements of a field that are held in a table
VALUES_AT_ONCE = 2**24  # reports times values that are compared at once


@dataclass(frozen=True, eq=False)
class LevelReports:
    """Reports of one level: the direction of each block, of shape (reports, blocks), and the values of the hashes."""

    directions: Counts
    values: Counts

    def __len__(self) -> int:
        return len(self.values)


class _Space(NamedTuple):
    """The directions of one block: the factor that makes each canonical, its number then, and multiples of these."""

    factor: Counts
    number: Counts
    multiples: Counts


@lru_cache(maxsize=SPACES_CACHED)
def _space(field: int, places: int) -> _Space:
    """Give numbers to the canonical directions of so many digits, in their order, and find the multiples of each."""
    size = field**places
    powers = [field**place for place in reversed(range(places))]
    numbers = np.arange(size, dtype=np.int32)
    leading = np.zeros(size, dtype=np.int32)
    for power in powers:
        leading = np.where(leading == 0, numbers // power % field, leading)
    factor = inverses(leading.astype(np.int64), field).astype(np.int32)  # that of the direction 0 is not used
    canonical = np.zeros(size, dtype=np.int32)
    for power in powers:
        canonical += (numbers // power % field).astype(np.int64) * factor % field * power
    points = numbers[leading == 1]
    number = np.zeros(size, dtype=np.int32)
    number[points] = np.arange(len(points))
    multiples = np.zeros((len(points), field - 1), dtype=np.int32)
    for power in powers:
        multiples += (points // power % field).astype(np.int64)[:, np.newaxis] * np.arange(1, field) % field * power
    return _Space(factor, number[canonical], multiples)


def hashes_of_all(block: int, field: int, places: int) -> Counts:
    """Give the inner product of one block with each direction of so many digits, modulo the field: digit by digit.

    >>> hashes_of_all(5, 3, 2)  # (1, 2) with (0, 0), (0, 1), (0, 2), (1, 0) ...
    array([0, 2, 1, 1, 0, 2, 2, 1, 0], dtype=uint32)
    """
    hashes = np.zeros(1, dtype=np.uint32)
    for power in (field**place for place in reversed(range(places))):
        products = (block // power % field * np.arange(field) % field).astype(np.uint32)
        hashes = (hashes[:, np.newaxis] + products).ravel()
        hashes -= field * (hashes >= field).astype(np.uint32)
    return hashes


class ExtensionCounter:
    """Counts how many reports of one level support each extension of a prefix by one block."""

    def __init__(self, design: OpenDomain, reports: LevelReports) -> None:
        level = reports.directions.shape[1]
        self.field, self.places = design.field, design.digits[:level]
        space = _space(self.field, self.places[-1])
        last = reports.directions[:, -1]
        # In the order of the cells that they are counted in; those with the direction 0 first.
        order = np.argsort(np.where(last == 0, -1, space.number[last]), kind="stable")
        self.zeros = int((last == 0).sum())
        self.n = len(reports)
        self._before = np.ascontiguousarray(reports.directions[order, :-1].T)
        self._values = reports.values[order].astype(np.int32)
        factor = np.where(last == 0, 1, space.factor[last])[order].astype(np.int32)
        self._cell = space.number[last][order].astype(np.int64) * self.field
        self._multiples = space.multiples
        self._table = self.field**2 <= TABLE_PRODUCTS
        if self._table:
            products = np.arange(self.field)[:, np.newaxis] * np.arange(self.field) % self.field
            self._products, self._factor = products.ravel().astype(np.int32), factor * self.field
        else:
            self._factor = factor
        self._hashed: dict[int, tuple[int, Counts]] = {}

    def supports(self, prefixes: Sequence[Sequence[int]]) -> Iterator[Integers]:
        """Give for each prefix, a row of blocks, the counts of all its extensions, by the number of their digits."""
        for start in range(0, len(prefixes), 2):
            yield from self._transformed([self._scaled_rest(prefix) for prefix in prefixes[start : start + 2]])

    def _scaled_rest(self, prefix: Sequence[int]) -> Counts:
        """Give k (s - <d', u>) modulo the field for each report, k being the factor of its direction."""
        rest: Counts = self._values
        for place, block in enumerate(prefix):
            known = self._hashed.get(place)
            if known is None or known[0] != block:
                hashes = hashes_of_all(block, self.field, self.places[place]).astype(np.int32)
                known = self._hashed[place] = block, hashes[self._before[place]]
            rest = rest - known[1]
            rest += self.field * (rest < 0)
        if self._table:
            return np.asarray(self._products[self._factor + rest])
        return np.asarray(self._factor.astype(np.int64) * rest % self.field)

    def _transformed(self, rests: list[Counts]) -> Iterator[Integers]:
        from scipy.fft import fft, ifftn  # which take longer to load than all of our modules

        g, points = self.field, len(self._multiples)
        table: NDArray[np.complex128] = np.zeros((points, g), dtype=np.complex128)
        for part, rest in zip((table.real, table.imag), rests, strict=False):
            cells = self._cell[self.zeros :] + rest[self.zeros :]
            part[:] = np.bincount(cells, minlength=points * g).reshape(points, g)
        spectrum = np.zeros(g ** self.places[-1], dtype=np.complex128)
        spectrum[self._multiples] = fft(table, axis=1, overwrite_x=True)[:, 1:]
        shape = (g,) * self.places[-1]
        sums = ifftn(spectrum.reshape(shape), norm="forward", overwrite_x=True).ravel()
        for part, rest in zip((sums.real, sums.imag), rests, strict=False):
            counts = (part + (self.n - self.zeros)) / g
            whole = np.rint(counts)
            if np.abs(counts - whole).max() > COUNT_ROUNDING:
                raise ArithmeticError("support counts are not whole: the Fourier transform is not to be trusted")
            yield whole.astype(np.int64) + int((rest[: self.zeros] == 0).sum())


def support_of_listed(design: OpenDomain, reports: LevelReports, prefixes: Integers) -> Integers:
    """Count how many reports support each of these prefixes, rows of blocks, by comparing each with each.

    The hashes of the distinct blocks at each place are added up: a few steps for each report and prefix.
    """
    g, counts = design.field, np.zeros(len(prefixes), dtype=np.int64)
    kind = np.min_scalar_type(2 * g)
    distinct = [np.unique(prefixes[:, place], return_inverse=True) for place in range(prefixes.shape[1])]
    tables = [
        np.stack([hashes_of_all(block, g, design.digits[place]) for block in blocks.tolist()]).astype(kind)
        if len(blocks) * g ** design.digits[place] <= VALUES_AT_ONCE
        else None
        for place, (blocks, _) in enumerate(distinct)
    ]
    step = max(1, VALUES_AT_ONCE // max(1, *(len(blocks) for blocks, _ in distinct)))
    for start in range(0, len(reports), step):
        part = slice(start, start + step)
        values = reports.values[part].astype(kind)
        hashes = []
        for place, (blocks, _) in enumerate(distinct):
            directions = reports.directions[part, place]
            table = tables[place]
            if table is not None:
                hashes.append(table[:, directions])
            else:
                hashes.append(_products(blocks, directions, g, design.digits[place]).astype(kind))
        for number in range(len(prefixes)):
            total = hashes[0][distinct[0][1][number]]
            for place in range(1, len(hashes)):
                total = total + hashes[place][distinct[place][1][number]]
                total -= (g * (total >= g)).astype(kind)
            counts[number] += np.count_nonzero(total == values)
    return counts


def hashes_of_listed(design: OpenDomain, directions: Counts, prefixes: Integers) -> Integers:
    """Give the hash of each prefix, a row of blocks, under each direction, of shape (prefixes, directions)."""
    total = np.zeros((len(prefixes), len(directions)), dtype=np.int64)
    for place in range(prefixes.shape[1]):
        total += _products(prefixes[:, place], directions[:, place], design.field, design.digits[place])
    return np.asarray(total % design.field)


def _products(blocks: Integers, directions: Counts, field: int, places: int) -> Integers:
    """Give the inner product of each block with each direction, modulo the field, of shape (blocks, directions)."""
    total = np.zeros((len(blocks), len(directions)), dtype=np.int64)
    for power in (field**place for place in range(places)):
        total += (blocks // power % field)[:, np.newaxis] * (directions.astype(np.int64) // power % field)
        total %= field
    return total
