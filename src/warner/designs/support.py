"""What designs share whose reports are sets of answers, a bit for each.

A report supports a set of answers, each of which is a : b times likelier after it than each other one. A report is held
in bytes, answer i in byte i // 8 under the mask 0x80 >> (i % 8) (`numpy.packbits`), because a million sets among a
thousand answers are then 125 MB, not a gigabyte.

Where this idea ends: reports with more than two levels of likelihood (Bloom filters, only some bits asked for) support
no set, and implement `Design` directly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warner.designs.facts import Sums
from warner.designs.forms import BitForm
from warner.designs.symmetric import Symmetric

if TYPE_CHECKING:
    from warner.arrays import Counts, Integers, Mask

ROWS = 2**15  # reports counted at a time
BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1).astype(np.int64)  # of each byte


class PackedSupport(Symmetric):
    """A design whose reports are rows of packed bits, one for each answer."""

    @property
    def report_form(self) -> BitForm:
        """Reports are written as bits, a byte for each eight answers."""
        return BitForm(self.k)

    def supports(self, reports: Counts) -> Mask:
        """Give for each report, a row each, which answers it supports."""
        return np.unpackbits(reports, axis=1, count=self.k).astype(bool)

    def counted(
        self, reports: Counts, amounts: Counts | None = None, *, group: Integers | None = None, groups: int = 1
    ) -> Sums:
        """Count how often each answer was supported: a histogram of each byte, times the bits of each byte."""
        kind = np.dtype(np.int64) if amounts is None else amounts.dtype
        width = reports.shape[1]
        counts, n = np.zeros((groups, 8 * width), dtype=kind), np.zeros(groups, dtype=kind)
        place = np.zeros(len(reports), dtype=np.int64) if group is None else group
        order = None if group is None else np.argsort(place, kind="stable")
        ends = np.append(np.searchsorted(place if order is None else place[order], np.arange(groups)), len(reports))
        for number, (first, last) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
            for start in range(first, last, ROWS):
                rows = slice(start, min(start + ROWS, last))
                which = rows if order is None else order[rows]
                part, amount = reports[which], None if amounts is None else amounts[which]
                n[number] += len(part) if amount is None else amount.sum()
                for byte in range(width):
                    counts[number, 8 * byte : 8 * byte + 8] += _histogram(part[:, byte], amount) @ BITS
        counts = counts[:, : self.k]
        return Sums(counts[0], n[0]) if group is None else Sums(counts, n)


def _histogram(values: Counts, amounts: Counts | None) -> Counts:
    if amounts is None:
        return np.bincount(values, minlength=256)
    total = np.zeros(256, dtype=amounts.dtype)
    np.add.at(total, values, amounts)
    return total
