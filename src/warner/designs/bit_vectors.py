"""Bit vectors as reports: what designs share whose reports are sets of answers, a bit for each.

A report supports a set of answers, each at odds of a : b against each other answer. A report is held
in bytes, answer i in byte i // 8 under the mask 0x80 >> (i % 8) (`numpy.packbits`), because a million sets among a
thousand answers are then 125 MB, not a gigabyte.

Where this idea ends: reports with more than two levels of likelihood (Bloom filters, or `bit_flips`, which ask for some
bits only) support no set, and implement `Design` directly; sums of their bits (`bit_sums`) are found in the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warner.designs.bits import BitCounter, Incidence, set_bits
from warner.designs.facts import ChannelOperator, Counted, added_up
from warner.designs.report_forms import BitForm
from warner.designs.symmetric import Symmetric, SymmetricLaw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from warner.arrays import Array, Counts, Integers, Mask


class PackedSupport(Symmetric):
    """A design whose reports are rows of packed bits, one for each answer."""

    @property
    def law(self) -> PackedLaw:
        return PackedLaw(self)

    @property
    def report_form(self) -> BitForm:
        return BitForm(self.k)

    def supports(self, reports: Counts) -> Mask:
        return np.unpackbits(reports, axis=1, count=self.k).astype(bool)

    def _types_of(self, reports: Counts) -> Integers | None:
        """Type of each report, as an index into the law's `types`; None if there are no types."""
        return None


class PackedLaw(SymmetricLaw):
    """Law of a design whose reports are rows of packed bits."""

    design: PackedSupport

    def _count(self, reports: Counts, amounts: Counts | None, group: Integers | None, groups: int) -> Counted:
        if group is None and amounts is None:
            return self._counted_at_once(reports)
        sums, n = bit_sums(reports, amounts, group, groups)
        histogram, types = None, self.design._types_of(reports)
        if types is not None and self.types is not None:
            number = len(self.types)
            index = types if group is None else types + number * group
            histogram = added_up(index, amounts, groups * number).reshape(groups, number)
        return Counted(sums[:, : self.k], n, histogram)

    def _counted_at_once(self, reports: Counts) -> Counted:
        """Count unweighted, ungrouped reports block by block, while each block is in the cache."""
        counter, number = BitCounter(reports.shape[1]), 0 if self.types is None else len(self.types)
        histogram = np.zeros((1, number), dtype=np.int64)
        for start in range(0, len(reports), counter.block):
            block = slice(start, start + counter.block)
            if (types := self.design._types_of(reports[block])) is not None:
                histogram += np.bincount(types, minlength=number)
            counter.add(reports[block])
        return Counted(counter.total()[np.newaxis, : self.k], np.array([len(reports)]), histogram if number else None)

    def likelihood(self, reports: Counts | None = None) -> ChannelOperator:
        if reports is None:
            return super().likelihood()
        a, b = (float(part) / max(self.design.odds) for part in self.design.odds)
        incidence, k = Incidence(reports), self.k

        def supported(shares: Array) -> Array:
            return incidence.times(np.pad(shares, (0, -k % 8)))

        def supporting(weights: Array) -> Array:
            return incidence.transposed_times(weights)[:k]

        return ChannelOperator(
            (k, len(reports)),
            lambda x: b * x.sum(axis=-1, keepdims=True) + (a - b) * for_each(supported, x, len(reports)),
            lambda w: b * w.sum(axis=-1, keepdims=True) + (a - b) * for_each(supporting, w, k),
            lambda: np.where(self.design.supports(reports).T, a, b),
            lambda w: (a - b) ** 2 * for_each(supporting, w, k),
        )


def bit_sums(reports: Counts, amounts: Counts | None, group: Integers | None, groups: int) -> tuple[Counts, Counts]:
    """Sum each bit of packed rows, and count the rows, by group: shapes (groups, bits) with padding, and (groups,)."""
    index = np.zeros(len(reports), dtype=np.int64) if group is None else group
    n = added_up(index, amounts, groups)
    sums = np.zeros((groups, 8 * reports.shape[1]), dtype=n.dtype)
    for number, which in _members(group, groups):
        sums[number] = _weighted_bits(reports[which], None if amounts is None else amounts[which])
    return sums, n


def _members(group: Integers | None, groups: int) -> Iterator[tuple[int, slice | Integers]]:
    """Yield each nonempty group with the indices of its rows."""
    if group is None:
        yield 0, slice(None)
        return
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=groups))
    for number in np.flatnonzero(np.diff(ends, prepend=0)).tolist():
        yield number, order[ends[number - 1] if number else 0 : ends[number]]


def _weighted_bits(rows: Counts, amounts: Counts | None) -> Counts:
    """Sum the weights of the rows in which each bit is set; sums of whole numbers are exact."""
    if amounts is None:
        return set_bits(rows)
    if amounts.dtype.kind == "f":
        return Incidence(rows).transposed_times(amounts)
    total = np.zeros(8 * rows.shape[1], dtype=np.int64)
    for power in range(int(amounts.max(initial=0)).bit_length()):  # an amount is made of its bits, and most are small
        total += set_bits(rows[(amounts >> power) & 1 == 1]) << power
    return total


def for_each(product: Callable[[Array], Array], vectors: Array, length: int) -> Array:
    """Apply a product of vectors along the last axis; each result has this length, and leading axes are kept."""
    if vectors.ndim == 1:
        return product(vectors)
    rows = [product(vector) for vector in vectors.reshape(-1, vectors.shape[-1])]
    return np.array(rows).reshape(*vectors.shape[:-1], length)
