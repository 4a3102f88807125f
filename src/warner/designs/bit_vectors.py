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

from warner.designs.bits import BitCounter, Incidence, bit_sums
from warner.designs.facts import Counted, added_up
from warner.designs.report_forms import BitForm
from warner.designs.symmetric import Symmetric, SymmetricLaw

if TYPE_CHECKING:
    from warner.arrays import Counts, Integers, Mask
    from warner.designs.symmetric import Product


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

    def _support_products(self, reports: Counts) -> tuple[Product, Product]:
        incidence, k = Incidence(reports), self.k
        return incidence.times, lambda weights: incidence.transposed_times(weights)[..., :k]
