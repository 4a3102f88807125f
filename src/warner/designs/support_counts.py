r"""Ancillary counts: what no answer changes in the reports of an open domain, with its exact law.

Level l is drawn with probability :math:`w_l / W`, and every digit of a direction that is sent is uniform on the field,
whatever the true answers are. So the number of reports of each level is binomial, and so is, among reports with a
block, the number whose first (or last) digit of that block lies in a given part of the field.

Whole directions of level l are uniform, too, on :math:`M_l` of them, mostly far more than there are reports. Of n
reports some m have the same one with probability at most :math:`\binom{n}{m} M_l^{1-m}`: each m of them have it with
probability :math:`M_l^{1-m}`. So copies of one report show, which would support a part 1/g of all values together.

Support counts: how many reports of a level support each prefix, by one Fourier transform for all extensions of one.

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

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.designs.facts import added_up
from warner.designs.finite_geometry import digits, inner_products, inverses

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from warner.arrays import Array, Counts, Integers
    from warner.designs.open_domain import OpenDomain


# Support counts

COUNT_ROUNDING = 0.1  # how far a count may be from a whole number
SPACES_CACHED = 4
TABLE_PRODUCTS = 2**16  # products of two elements of a field that are held in a table
COMPARISONS_PER_POINT = 64  # of values with reports, from which on a transform is faster
POINTS_PER_REPORT = 8  # up to which the hashes of all directions are computed, and looked up for each report


@dataclass(frozen=True, eq=False)
class LevelReports:
    """Reports of one level: the direction of each block, of shape (reports, blocks), and the values of the hashes."""

    directions: Counts
    values: Counts

    def __len__(self) -> int:
        return len(self.values)


class _Space(NamedTuple):
    """Directions of one block: the factor to canonical form, the number of that, and its multiples."""

    factor: Counts
    number: Counts
    multiples: Counts


@lru_cache(maxsize=SPACES_CACHED)
def _space(field: int, length: int) -> _Space:
    """Return the numbers of the canonical directions of this many digits, and the multiples of each."""
    size = field**length
    powers = [field**index for index in reversed(range(length))]
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


def hashes_of_all(block: int, field: int, length: int) -> Counts:
    """Return the inner product of one block with each direction of this many digits, modulo the field.

    >>> hashes_of_all(5, 3, 2)  # (1, 2) with (0, 0), (0, 1), (0, 2), (1, 0) ...
    array([0, 2, 1, 1, 0, 2, 2, 1, 0], dtype=uint8)
    """
    kind = np.min_scalar_type(2 * field)
    hashes = np.zeros(1, dtype=kind)
    for power in (field**index for index in reversed(range(length))):
        products = (block // power % field * np.arange(field) % field).astype(kind)
        hashes = _reduced((hashes[:, np.newaxis] + products).ravel(), field)
    return hashes


def _reduced(sums: Counts, field: int) -> Counts:
    """Return sums of two field elements modulo the field, for unsigned integers."""
    return np.asarray(np.minimum(sums, sums - sums.dtype.type(field)))


class ExtensionCounter:
    """Counter of the reports of one level that support each extension of a prefix by one block."""

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
        """Yield for each prefix, a row of blocks, the counts of all its extensions, in the order of their digits."""
        for start in range(0, len(prefixes), 2):
            yield from self._transformed([self._scaled_rest(prefix) for prefix in prefixes[start : start + 2]])

    def _scaled_rest(self, prefix: Sequence[int]) -> Counts:
        """Return k (s - <d', u>) modulo the field of each report, with the factor k of its direction (see the head)."""
        rest: Counts = self._values
        for index, block in enumerate(prefix):
            known = self._hashed.get(index)
            if known is None or known[0] != block:
                hashes = hashes_of_all(block, self.field, self.places[index]).astype(np.int32)
                known = self._hashed[index] = block, hashes[self._before[index]]
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
                raise ArithmeticError("support counts are not whole: the Fourier transform is not reliable")
            yield whole.astype(np.int64) + int((rest[: self.zeros] == 0).sum())


def support_of_listed(
    design: OpenDomain,
    reports: LevelReports,
    prefixes: Integers,
    amounts: Counts | None = None,
    *,
    group: Integers | None = None,
    groups: int = 1,
) -> Counts:
    """Count the reports that support each of these prefixes, rows of blocks; with groups, (groups, prefixes).

    Prefixes are taken in their order, so that what is left of a hash, s - <d', u>, is computed once for all that share
    their first blocks u. Many that differ in the last block alone are counted by a transform.
    """
    everybody = group is None and amounts is None
    counts = np.zeros((groups, len(prefixes)), dtype=np.int64 if amounts is None else amounts.dtype)
    rests = _Remainders(design, reports)
    counter, points = None, design.field ** design.digits[prefixes.shape[1] - 1]
    order = np.lexsort(prefixes.T[::-1])
    changes = np.any(np.diff(prefixes[order, :-1], axis=0) != 0, axis=1) if len(order) else np.zeros(0, dtype=bool)
    for alike in np.split(order, np.flatnonzero(changes) + 1):
        if everybody and len(alike) * len(reports) > COMPARISONS_PER_POINT * points:
            counter = ExtensionCounter(design, reports) if counter is None else counter
            (support,) = counter.supports([prefixes[alike[0], :-1].tolist()])
            counts[0, alike] = support[prefixes[alike, -1]]
            continue
        for number in alike:
            supports = rests.remainders(prefixes[number].tolist()) == 0
            if everybody:
                counts[0, number] = np.count_nonzero(supports)
            else:
                index = np.zeros(np.count_nonzero(supports), dtype=np.int64) if group is None else group[supports]
                counts[:, number] = added_up(index, None if amounts is None else amounts[supports], groups)
    return counts if group is not None else counts[0]


class _Remainders:
    """Remainders s - <d, u> of the hashes of reports modulo the field, for one prefix u after the other.

    The digits of a block are taken in two halves, whose hashes under all directions are few: those are looked up.
    """

    def __init__(self, design: OpenDomain, reports: LevelReports) -> None:
        self.field = design.field
        self._kind = np.min_scalar_type(2 * self.field)
        self._halves = [  # of which block, how many digits, and how many come after
            (index, number, after)
            for index, tau in enumerate(design.digits[: reports.directions.shape[1]])
            for number, after in ((tau - tau // 2, tau // 2), (tau // 2, 0))
            if number
        ]
        self._directions = [
            self._part(reports.directions[:, index].astype(np.int64), number, after).astype(np.int32)
            for index, number, after in self._halves
        ]
        self._parts: list[int] = []  # the halves of the last prefix, and what was left after each
        self._remainders = [reports.values.astype(self._kind)]

    def remainders(self, prefix: list[int]) -> Counts:
        """Return the remainders of this prefix; those of its common part with the last prefix are reused."""
        parts = [self._part(prefix[index], number, after) for index, number, after in self._halves]
        known = 0
        while known < len(self._parts) and parts[known] == self._parts[known]:
            known += 1
        self._parts, self._remainders = parts, self._remainders[: known + 1]
        for half in range(known, len(parts)):
            left = self._remainders[-1]
            if parts[half]:  # the hash of 0 is 0
                left = left - self._hashes(half, parts[half])
                left = np.minimum(left, left + self._kind.type(self.field))  # unsigned: large where it is below zero
            self._remainders.append(left)
        return self._remainders[-1]

    def _part(self, blocks: Any, number: int, after: int) -> Any:
        """Return `number` digits of blocks, before the last `after` digits."""
        return blocks // self.field**after % self.field**number

    def _hashes(self, half: int, part: int) -> Counts:
        directions, number = self._directions[half], self._halves[half][1]
        if self.field**number <= POINTS_PER_REPORT * len(directions):
            return np.asarray(hashes_of_all(part, self.field, number).take(directions))
        return np.asarray(_products(np.array([part]), directions, self.field, number)[0].astype(self._kind))


def hashes_of_listed(design: OpenDomain, directions: Counts, prefixes: Integers) -> Integers:
    """Return the hash of each prefix, a row of blocks, under each direction, of shape (prefixes, directions)."""
    total = np.zeros((len(prefixes), len(directions)), dtype=np.int64)
    for index in range(prefixes.shape[1]):
        total += _products(prefixes[:, index], directions[:, index], design.field, design.digits[index])
    return np.asarray(total % design.field)


def _products(blocks: Integers, directions: Counts, field: int, length: int) -> Integers:
    """Return inner products of blocks and directions modulo the field, of shape (blocks, directions)."""
    factors = digits(directions.astype(np.int64), field, length)
    return inner_products(digits(blocks[:, np.newaxis], field, length), factors[:, np.newaxis], field)


# Ancillary counts

FIELD_PARTS = 64  # that the digits of a direction, or the values of a hash, are counted in, at most


class AncillaryCount(NamedTuple):
    """A binomial ancillary count of n reports; of the largest of many counts, `log_kinds` is their log number."""

    what: str
    seen: int
    n: int
    probability: float
    log_kinds: float = 0.0


def parts_of_field(field: int) -> tuple[Integers, Array]:
    """Divide the elements of a field into parts of similar size: the part of each, and its probability.

    >>> parts_of_field(5)
    (array([0, 1, 2, 3, 4]), array([0.2, 0.2, 0.2, 0.2, 0.2]))
    """
    number = min(field, FIELD_PARTS)
    parts = np.arange(field) * number // field
    return parts, np.bincount(parts, minlength=number) / field


def level_law(design: OpenDomain) -> Array:
    return np.array(design.weights) / sum(design.weights)


def digit_places(design: OpenDomain) -> list[tuple[int, int]]:
    """Return the digits that are counted, as pairs of block and digit: the first and the last of each block."""
    return [(block, digit) for block in range(design.levels) for digit in sorted({0, design.digits[block] - 1})]


def digit_parts(design: OpenDomain, directions: Counts, block: int, digit: int) -> Counts:
    """Count the part of the field in which a digit lies, for the directions of one block."""
    parts, law = parts_of_field(design.field)
    power = design.field ** (design.digits[block] - 1 - digit)
    return np.bincount(parts[directions.astype(np.int64) // power % design.field], minlength=len(law))


def digit_named(block: int, digit: int, part: int, parts: int) -> str:
    return f"digit {digit + 1} of block {block + 1} of the direction in part {part + 1} of {parts}"


def ancillary_counts(design: OpenDomain, reports: Counts) -> list[AncillaryCount]:
    """Count levels and directions of reports in the format of `OpenForm`; no answer changes their distributions."""
    n, sizes = len(reports), np.bincount(reports[:, 0] - 1, minlength=design.levels)
    _, law = parts_of_field(design.field)
    counts = [
        AncillaryCount(f"level {level + 1}", int(size), n, float(chance))
        for level, (size, chance) in enumerate(zip(sizes.tolist(), level_law(design).tolist(), strict=True))
    ]
    for block, digit in digit_places(design):
        sent = reports[reports[:, 0] > block, block + 1]
        found = digit_parts(design, sent, block, digit)
        counts += [
            AncillaryCount(digit_named(block, digit, part, len(law)), int(number), len(sent), float(law[part]))
            for part, number in enumerate(found.tolist())
        ]
    return counts + [_most_frequent_direction(design, reports, level) for level in range(1, design.levels + 1)]


def _most_frequent_direction(design: OpenDomain, reports: Counts, level: int) -> AncillaryCount:
    """Count the reports of a level with the most frequent direction."""
    sent = reports[reports[:, 0] == level, 1 : level + 1]
    log_kinds = sum(design.digits[:level]) * math.log(design.field)
    sent = sent[np.lexsort(sent.T)]
    changes = np.flatnonzero((sent[1:] != sent[:-1]).any(axis=1)) + 1
    runs = np.diff([0, *changes.tolist(), len(sent)])
    named = f"the most frequent direction of level {level}"
    return AncillaryCount(named, int(runs.max()), len(sent), math.exp(-log_kinds), log_kinds)
