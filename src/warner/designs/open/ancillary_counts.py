r"""Ancillary counts: what no answer changes in the reports of an open domain, with its exact law.

Level l is drawn with probability :math:`w_l / W`, and every digit of a direction that is sent is uniform on the field,
whatever people hold. So the number of reports of each level is binomial, and so is, among those that send a block, the
number whose first (or last) digit of that block lies in a given part of the field.

Whole directions of level l are uniform, too, on :math:`M_l` of them, mostly far more than there are reports. Of n
reports some m have the same one with probability at most :math:`\binom{n}{m} M_l^{1-m}`: each m of them have it with
probability :math:`M_l^{1-m}`. So copies of one report show, which would support a part 1/g of all values together.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers
    from warner.designs.open.open_domain import OpenDomain

FIELD_PARTS = 64  # that the digits of a direction, or the values of a hash, are counted in, at most


class AncillaryCount(NamedTuple):
    """One count that no answer changes: what is counted, of so many reports, with this probability.

    It is binomial; but where it is the largest of the counts of many, `log_kinds` is the logarithm of their number.
    """

    what: str
    seen: int
    n: int
    probability: float
    log_kinds: float = 0.0


def parts_of_field(field: int) -> tuple[Integers, Array]:
    """Cut the elements of a field into parts of about one size, and give the part of each, and its probability.

    >>> parts_of_field(5)
    (array([0, 1, 2, 3, 4]), array([0.2, 0.2, 0.2, 0.2, 0.2]))
    """
    number = min(field, FIELD_PARTS)
    parts = np.arange(field) * number // field
    return parts, np.bincount(parts, minlength=number) / field


def level_law(design: OpenDomain) -> Array:
    """Give the probability of each level."""
    return np.array(design.weights) / sum(design.weights)


def digit_places(design: OpenDomain) -> list[tuple[int, int]]:
    """Give the digits that are counted, as pairs of block and digit: the first and the last of each block."""
    return [(block, digit) for block in range(design.levels) for digit in sorted({0, design.digits[block] - 1})]


def digit_parts(design: OpenDomain, directions: Counts, block: int, digit: int) -> Counts:
    """Count in which part of the field a digit lies, for the directions of one block."""
    parts, law = parts_of_field(design.field)
    power = design.field ** (design.digits[block] - 1 - digit)
    return np.bincount(parts[directions.astype(np.int64) // power % design.field], minlength=len(law))


def digit_named(block: int, digit: int, part: int, parts: int) -> str:
    """Name a count of digits."""
    return f"digit {digit + 1} of block {block + 1} of the direction in part {part + 1} of {parts}"


def ancillary_counts(design: OpenDomain, reports: Counts) -> list[AncillaryCount]:
    """Give all counts that no answer changes, of reports as `OpenForm` has them in memory."""
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
    """Count the reports of a level with the direction that most of them have."""
    sent = reports[reports[:, 0] == level, 1 : level + 1]
    log_kinds = sum(design.digits[:level]) * math.log(design.field)
    sent = sent[np.lexsort(sent.T)]
    changes = np.flatnonzero((sent[1:] != sent[:-1]).any(axis=1)) + 1
    runs = np.diff([0, *changes.tolist(), len(sent)])
    named = f"the most frequent direction of level {level}"
    return AncillaryCount(named, int(runs.max()), len(sent), math.exp(-log_kinds), log_kinds)
