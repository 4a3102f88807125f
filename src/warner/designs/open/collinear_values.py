r"""Collinear values: which answers of a set lie on a line with the value that is held, in the space over the field.

A report of direction d and value s supports two answers u and v that are not held if both :math:`\langle d, u -
x\rangle` and :math:`\langle d, v - x\rangle` are :math:`\delta = s - \langle d, x\rangle`, for the value x that is
held. If u - x and v - x are linearly independent, the two products are independent and uniform, and that has the
probability :math:`1/g^2`. If :math:`v - x = c\,(u - x)`, with :math:`c \ne 1` because u and v differ, both are
:math:`\delta` only if :math:`\delta = 0`, and then with probability 1/g: p/g in all. So with weights w of the answers,
the mean square of the weighted support of a report is larger by :math:`(p/g - 1/g^2)\, c_x` than if no three values
were on a line, with

.. math:: c_x = \sum_{u \ne v} w_u w_v [u, v, x \text{ are distinct, and on a line}] = \sum_{\text{lines } \ell \ni x}
    \Bigl(\sum_{u \in \ell \setminus x} w_u\Bigr)^2 - \sum_{u \ne x} w_u^2.

How many people hold each answer of the list is known from the counts. Of all others it is not known what they hold:
they are taken to hold the value outside of the list that has the largest :math:`c_x`. Each pair of answers has g - 2
further points on its line; where these are too many to be looked at, :math:`c_x` is at most
:math:`\sum_u \min(m_u, g - 2)`, where :math:`m_u` is the largest number of other answers on one line through u.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from warner.designs.structured.geometry import digits, inverses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.arrays import Array, Integers, Mask
    from warner.designs.open.open_domain import OpenDomain

POINTS_AT_ONCE = 2**18  # points of the field's space that are held at once


def collinear_pairs(design: OpenDomain, listed: Integers, shares: Array, members: Integers, weights: Integers) -> Array:
    """Give the mean of c_x over the people, for the first members up to each, of shape (groups, members).

    `listed` are the blocks of all answers of the list, and `shares` theirs, of shape (groups, answers); `members` are
    the positions of those in the set, and `weights` are 1, or -1 for answers that are subtracted. With such, only the
    last column is meant.
    """
    groups, m = len(shares), len(members)
    if design.field == 2 or m < 2:  # a line has two points, or there is no pair
        return np.zeros((groups, m))
    points = np.concatenate(
        [digits(listed[:, place], design.field, tau) for place, tau in enumerate(design.digits)], axis=0
    ).T
    mean, least, most = np.zeros((groups, m)), np.zeros(m), np.zeros(m)
    for seen_from, pairs in _pairs_seen(points, members, weights, design.field):
        mean += shares[:, seen_from] @ pairs
        least, most = np.minimum(least, pairs.min(axis=0)), np.maximum(most, pairs.max(axis=0))
    others = np.clip(1 - shares.sum(axis=-1, keepdims=True), 0, 1)
    return np.asarray(np.clip(mean, least, most) + others * _most_outside(design, listed, points, members, weights))


def _pairs_seen(points: Integers, members: Integers, weights: Integers, field: int) -> Iterator[tuple[slice, Integers]]:
    """Give c_x for the first members, up to each, as seen from each answer x: some answers at a time."""
    step = max(1, POINTS_AT_ONCE // (len(members) * points.shape[1]))
    for start in range(0, len(points), step):
        part = slice(start, start + step)
        yield part, 2 * np.cumsum(_beside(points[part], points[members], weights, field) * weights, axis=1)


def _beside(seen_from: Integers, members: Integers, weights: Integers, field: int) -> Integers:
    """Give the weight of earlier members on the line through x and each member, of shape (values x, members)."""
    apart = (members - seen_from[:, np.newaxis]) % field
    first = (apart != 0).argmax(axis=-1)[..., np.newaxis]
    leading = np.take_along_axis(apart, first, axis=-1)
    itself = leading[..., 0] == 0
    apart = apart * inverses(leading, field) % field
    rows, columns = np.nonzero(~itself)
    numbers = _packed(apart[rows, columns], field)
    order, starts = _runs([rows, *numbers, columns], given=len(numbers) + 1)
    earlier = np.zeros(itself.shape, dtype=np.int64)
    earlier[rows[order], columns[order]] = _running(weights[columns[order]], starts) - weights[columns[order]]
    return earlier


def _most_outside(
    design: OpenDomain, listed: Integers, points: Integers, members: Integers, weights: Integers
) -> Array:
    """Give the largest c_x of a value outside of the list, or a bound on it, for the first members up to each."""
    m, field = len(members), design.field
    if len(listed) == design.values.number:
        return np.zeros(m)
    if m * (m - 1) // 2 * (field - 2) * points.shape[1] > POINTS_AT_ONCE * 2**4:
        return sum(
            (_bound_outside(points, members, (weights == sign).astype(np.int64), field) for sign in (1, -1)),
            np.zeros(m),
        )
    one, other = np.triu_indices(m, 1)
    multiples = np.arange(2, field)[:, np.newaxis]
    start, along = points[members[one]], points[members[other]] - points[members[one]]
    on_line = ((start[:, np.newaxis] + multiples * along[:, np.newaxis]) % field).reshape(-1, points.shape[1])
    later, weight = (np.repeat(each, field - 2) for each in (other, weights[one] * weights[other]))
    blocks = _blocks(design, on_line)
    held = _possible(design, blocks)
    blocks, later, weight = blocks[held], later[held], weight[held]
    # The list stands in front, so that its values are told by what their runs begin with.
    together = np.concatenate([listed, blocks])
    later, weight = (
        np.concatenate([np.full(len(listed), -1), later]),
        np.concatenate([np.zeros(len(listed), int), weight]),
    )
    order, starts = _runs([*together.T, later], given=together.shape[1])
    sums = _running(weight[order], starts)
    run = np.cumsum(starts) - 1
    outside = (later[order][starts] >= 0)[run]
    most = np.zeros(m)
    np.maximum.at(most, later[order][outside], 2 * sums[outside])
    most = np.maximum.accumulate(most)
    ends = np.append(starts[1:], True) & outside
    most[-1] = 2 * max(0, sums[ends].max(initial=0))
    return most


def _bound_outside(points: Integers, members: Integers, chosen: Integers, field: int) -> Array:
    """Bound c_x from above for values outside of the list: see the head of this module."""
    bound = np.zeros(len(members))
    step = max(1, POINTS_AT_ONCE // (len(members) * points.shape[1]))
    for start in range(0, len(members), step):
        some = members[start : start + step]
        beside = _beside(points[some], points[members], chosen, field) + 1
        beside *= chosen
        beside[np.arange(len(some)), np.arange(start, start + len(some))] = 0  # x itself
        most = np.minimum(np.maximum.accumulate(beside, axis=1), field - 2)
        there = np.arange(len(members)) >= np.arange(start, start + len(some))[:, np.newaxis]
        bound += (most * there * chosen[start : start + len(some), np.newaxis]).sum(axis=0)
    return bound


def _packed(rows: Integers, field: int) -> list[Integers]:
    """Put the digits of rows together in as few whole numbers as hold them, one array for each."""
    at_once = int(62 / math.log2(field))
    powers = field ** np.arange(at_once, dtype=np.int64)
    parts = [rows[:, start : start + at_once] for start in range(0, rows.shape[1], at_once)]
    return [part @ powers[: part.shape[1]] for part in parts]


def _blocks(design: OpenDomain, points: Integers) -> Integers:
    """Give the blocks whose digits these points are."""
    ends = np.cumsum(design.digits)
    columns = [
        points[:, end - tau : end] @ design.field ** np.arange(tau - 1, -1, -1, dtype=np.int64)
        for end, tau in zip(ends.tolist(), design.digits, strict=True)
    ]
    return np.stack(columns, axis=1)


def _possible(design: OpenDomain, blocks: Integers) -> Mask:
    """Tell which rows of blocks are values, or may be."""
    possible, ended = np.ones(len(blocks), dtype=bool), np.zeros(len(blocks), dtype=bool)
    for level, column in enumerate(blocks.T):
        possible &= np.where(ended, column == 0, np.isin(column, design.values.continuations(level)))
        ended |= design.values.ended(level, column)
    return possible


def _runs(columns: list[Integers], *, given: int) -> tuple[Integers, Mask]:
    """Sort rows by these columns, and tell where the first `given` of them change: the order, and starts of runs."""
    order = np.lexsort(columns[::-1])
    starts = np.ones(len(order), dtype=bool)
    starts[1:] = np.any([np.diff(column[order]) != 0 for column in columns[:given]], axis=0)
    return order, starts


def _running(weights: Integers, starts: Mask) -> Integers:
    """Add up weights within each run, from its start."""
    total = np.cumsum(weights)
    before = (total - weights)[starts]
    return np.asarray(total - np.repeat(before, np.diff(np.append(np.flatnonzero(starts), len(starts)))))
