r"""Features of a report of an open domain that an audit counts: level, direction, hash, and what it supports.

After a known answer the law of all of them is known exactly. Level l has the probability :math:`w_l / W`, and every
digit of a direction that is sent is uniform, whatever the answer is. A report of level l supports the prefix of l
blocks that the answer has with probability p, and any other with 1/g. The value of the hash is uniform, but for an
answer whose prefix is all zeros: it is then that of the noise alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warner.auditing.events import Statistic
from warner.designs.open.ancillary_counts import (
    digit_named,
    digit_parts,
    digit_places,
    level_law,
    parts_of_field,
)
from warner.designs.open.support_counts import hashes_of_listed
from warner.words import enumerated, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Counts, Integers, Label
    from warner.designs.open.open_domain import OpenDomain


def answers_tried(design: OpenDomain, answers: Sequence[Label] | None) -> tuple[tuple[Label, ...], Integers]:
    """Give the answers to try and their blocks; if none are named, short and long ones, and one that becomes other."""
    labels = list(design.values.samples() if answers is None else answers)
    coded = design.values.encoded(labels)
    if (coded.status < 0).any():
        strange = quoted(labels[int(np.argmax(coded.status < 0))])
        raise ValueError(f"answers must be {design.values.described()}, but got {strange}")
    if len(labels) < 2 or len(np.unique(coded.blocks, axis=0)) < len(labels):
        given = enumerated([quoted(label) for label in labels])
        raise ValueError(f"answers must be two or more that differ once they are normalized, but got {given}")
    return tuple(labels), coded.blocks


def open_statistics(design: OpenDomain, labels: Sequence[Label], blocks: Integers) -> tuple[Statistic, ...]:
    """Give what to look at in reports after these answers, each with its law."""
    return (
        _levels(design),
        _supports(design, labels, blocks),
        _comparisons(design, labels, blocks),
        _digits(design),
        _hashes(design, blocks),
    )


def _levels(design: OpenDomain) -> Statistic:
    law = level_law(design)
    return Statistic(
        lambda reports: np.bincount(reports[:, 0] - 1, minlength=design.levels),
        lambda values: f"are of level {enumerated([str(value + 1) for value in values.tolist()])}",
        True,
        lambda answer: law,
    )


def _supported(design: OpenDomain, reports: Counts, blocks: Integers) -> Counts:
    """Tell which reports support the prefix of each answer, as long as their level says: (answers, reports)."""
    hashes = hashes_of_listed(design, reports[:, 1:-1], blocks)  # directions beyond the level are 0
    return np.asarray(hashes == reports[:, -1])


def _supports(design: OpenDomain, labels: Sequence[Label], blocks: Integers) -> Statistic:
    """Count for each level and answer the reports that support its prefix."""
    weights = level_law(design)

    def count(reports: Counts) -> Counts:
        supported = _supported(design, reports, blocks)
        return np.concatenate([supported[:, reports[:, 0] == 1 + level].sum(axis=1) for level in range(design.levels)])

    def law(answer: int) -> Array:
        same = (blocks == blocks[answer]).cumprod(axis=1).T  # of shape (levels, answers)
        return (weights[:, np.newaxis] * np.where(same, design.p, design.q)).ravel()

    def phrase(values: Integers) -> str:
        level, answer = divmod(int(values[0]), len(labels))
        return f"are of level {level + 1} and support {quoted(labels[answer])}"

    return Statistic(count, phrase, False, law)


def _comparisons(design: OpenDomain, labels: Sequence[Label], blocks: Integers) -> Statistic:
    """Count the reports that support one answer but not another: under an honest client no event tells more."""
    pairs = [(i, j) for i in range(len(labels)) for j in range(len(labels)) if i != j]
    ahead, behind = np.array(pairs).T

    def count(reports: Counts) -> Counts:
        supported = _supported(design, reports, blocks)
        return np.asarray((supported[ahead] & ~supported[behind]).sum(axis=1))

    def phrase(values: Integers) -> str:
        first, second = (quoted(labels[place]) for place in pairs[int(values[0])])
        return f"support {first} but not {second}"

    return Statistic(count, phrase, False)


def _digits(design: OpenDomain) -> Statistic:
    """Count in which part of the field the first and the last digit of each block lie."""
    _, law = parts_of_field(design.field)
    sent = np.cumsum(level_law(design)[::-1])[::-1]  # the probability that a block is sent
    places = digit_places(design)

    def count(reports: Counts) -> Counts:
        directions = (reports[reports[:, 0] > block, block + 1] for block, _ in places)
        parts = zip(places, directions, strict=True)
        return np.concatenate([digit_parts(design, sent_ones, *place) for place, sent_ones in parts])

    def phrase(values: Integers) -> str:
        place, part = divmod(int(values[0]), len(law))
        return f"have {digit_named(*places[place], part, len(law))}"

    every = np.concatenate([sent[block] * law for block, _ in places])
    return Statistic(count, phrase, False, lambda answer: every)


def _hashes(design: OpenDomain, blocks: Integers) -> Statistic:
    """Count the values of the hash, in bins."""
    bins, uniform = parts_of_field(design.field)
    lie = (1 - design.p) / (design.field - 1)
    noise = np.bincount(bins, weights=np.where(np.arange(design.field) == 0, design.p, lie), minlength=len(uniform))
    weights = level_law(design)

    def law(answer: int) -> Array:
        zeros = (blocks[answer] == 0).cumprod()
        return np.asarray((weights[:, np.newaxis] * np.where(zeros[:, np.newaxis], noise, uniform)).sum(axis=0))

    return Statistic(
        lambda reports: np.bincount(bins[reports[:, -1]], minlength=len(uniform)),
        lambda values: f"have a hash in part {enumerated([str(v + 1) for v in values.tolist()])} of {len(uniform)}",
        True,
        law,
    )
