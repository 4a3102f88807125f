r"""Closed lists: reports of an open domain as those of a design for a list of answers that is known beforehand.

Reports of the last level are hashes of whole values, so that any list can be looked up in them. A report supports a
listed answer with probability p = a/M if it is held and q = 1/g if not, whatever the sender holds (`open_domain`): the
law of local hashing, and the `Symmetry` of all designs that support sets. Two listed answers are supported together
with probability p/g if one of them is held, because the direction then decides about the other; else with
:math:`1/g^2`, or p/g where the three values lie on a line of the field's space (`collinear_values`), as neighboring
numbers do.

The list need not be complete: **shares do not sum to one**, and the rest is the share of all other answers. So the
unbiased shares and the exact intervals of single answers hold; a set of m answers is supported by a report m q + (p-q)
share times on average. With weights w of the answers, :math:`W_1 = \sum w` and :math:`W_2 = \sum w^2`, the weighted
support t of a report depends on the answer x that is held by

.. math:: E\,t = q W_1 + (p-q) w_x, \quad E\,t^2 = q W_2 + (p-q) w_x^2 + \nu (W_1^2 - W_2) +
    (\beta - \nu) (2 w_x (W_1 - w_x) + c_x),

where :math:`\beta = p/g` and :math:`\nu = 1/g^2` are the probabilities of pairs, :math:`c_x` is the sum of :math:`w_u
w_v` over the ordered pairs on a line with x, and :math:`w_x = 0` for answers outside of the list. Other answers are
unknown: they are taken to be the value with the largest variance. If the list also has the values on a line with those
of the set, as the neighbors of numbers are, that is the narrower interval. A tally counts the reports of the last
level only; other levels carry no information about whole values.

Collinear values: which answers of a set lie on a line with the value that is held, in the space over the field.

A report of direction d and value s supports two answers u and v that are not held if both :math:`\langle d, u -
x\rangle` and :math:`\langle d, v - x\rangle` are :math:`\delta = s - \langle d, x\rangle`, for the value x that is
held. If u - x and v - x are linearly independent, the two products are independent and uniform, and that has the
probability :math:`1/g^2`. If :math:`v - x = c\,(u - x)`, with :math:`c \ne 1` because u and v differ, both are
:math:`\delta` only if :math:`\delta = 0`, and then with probability 1/g: p/g in all. So with weights w of the answers,
the mean square of the weighted support of a report is larger by :math:`(p/g - 1/g^2)\, c_x` than if no three values
were on a line, with

.. math:: c_x = \sum_{u \ne v} w_u w_v [u, v, x \text{ are distinct, and on a line}] = \sum_{\text{lines } \ell \ni x}
    \Bigl(\sum_{u \in \ell \setminus x} w_u\Bigr)^2 - \sum_{u \ne x} w_u^2.

The shares of listed answers are known from the counts. All other respondents are taken to have the value outside of
the list with the largest :math:`c_x`. Each pair of answers has g - 2
further points on its line; where these are too many to be looked at, :math:`c_x` is at most
:math:`\sum_u \min(m_u, g - 2)`, where :math:`m_u` is the largest number of other answers on one line through u.

Three points on a line cannot be found among many in fewer steps than there are pairs, as far as is known. Both sums are
averages over answers, so that of long lists and large sets they are taken over a sample, which is the same each time:
the answers with the largest shares, and one from each of equal parts of the others. Of sets of 2,500 answers the
standard errors were within 1.3 % of the exact ones. Lists of up to 1,024 answers are never sampled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from warner.designs.contract import revealed
from warner.designs.facts import (
    Counted,
    CumulativeSets,
    Estimand,
    LinearCombination,
    SamplingModel,
    Symmetry,
    added_up,
    sizes_of,
    summed,
)
from warner.designs.finite_geometry import digits, inverses
from warner.designs.labels import Labels, canonical, first_and_last, label_list, labels_from_json, labels_to_json
from warner.designs.law import PEOPLE_AT_ONCE
from warner.designs.open_domain import OpenDomain, OpenForm
from warner.designs.open_values import OTHER, WholeNumbers
from warner.designs.support_counts import LevelReports, hashes_of_listed, support_of_listed
from warner.designs.symmetric import Symmetric, SymmetricLaw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Counts, Integers, Mask, Sets, Shape
    from warner.designs.draws import RandomBytes
    from warner.documents import Document


# Collinear values

POINTS_AT_ONCE = 2**18  # points of the field's space that are held at once
LEAST_SEEN_FROM, PAIRS_SEEN = 512, 2**20  # values x in a sample: at least 512, and at most 2^20 pairs (x, member)
PRODUCTS_IN_TABLE = 2**16  # products of two numbers of a field that are looked up


def collinear_pairs(design: OpenDomain, listed: Integers, shares: Array, members: Integers, weights: Integers) -> Array:
    """Return the mean of c_x over the respondents, for the first members up to each, of shape (groups, members).

    `listed` are the blocks of all answers of the list, and `shares` theirs, of shape (groups, answers); `members` are
    the positions of those in the set, and `weights` are 1, or -1 for answers that are subtracted. With such, only the
    last column is meant.
    """
    groups, m = len(shares), len(members)
    if design.field == 2 or m < 2:  # a line has two points, or there is no pair
        return np.zeros((groups, m))
    points = np.concatenate(
        [digits(listed[:, index], design.field, tau) for index, tau in enumerate(design.digits)], axis=0
    ).T
    mean, least, most = np.zeros((groups, m)), np.zeros(m), np.zeros(m)
    seen_from, people = _representatives(listed, shares, max(LEAST_SEEN_FROM, PAIRS_SEEN // m))
    step = max(1, POINTS_AT_ONCE // m)
    for start in range(0, len(seen_from), step):
        some = slice(start, start + step)
        earlier = _earlier_weight(points[seen_from[some]], points[members], weights, design.field)
        pairs = 2 * np.cumsum(earlier * weights, axis=1)
        mean += people[:, some] @ pairs
        least, most = np.minimum(least, pairs.min(axis=0)), np.maximum(most, pairs.max(axis=0))
    others = np.clip(1 - shares.sum(axis=-1, keepdims=True), 0, 1)
    return np.asarray(np.clip(mean, least, most) + others * _most_outside(design, listed, points, members, weights))


def _representatives(listed: Integers, shares: Array, number: int) -> tuple[Integers, Array]:
    """Return the positions of at most `number` answers, and the shares that each of them represents.

    Half of them are the answers with the largest shares, which represent themselves. Each of the others is drawn from
    one part of the rest, in the order of the values: neighbors lie on similar lines.
    """
    answers = len(listed)
    if answers <= number:
        return np.arange(answers), shares
    alone, parts = number // 2, number - number // 2
    by_size = np.argsort(-np.abs(shares).max(axis=0), kind="stable")
    rest = by_size[alone:]
    rest = rest[np.lexsort(listed[rest].T[::-1])]
    ends = np.linspace(0, len(rest), parts + 1).astype(int)
    drawn = ends[:-1] + (np.random.default_rng(answers).random(parts) * np.diff(ends)).astype(int)
    people = np.concatenate([shares[:, by_size[:alone]], np.add.reduceat(shares[:, rest], ends[:-1], axis=1)], axis=1)
    return np.concatenate([by_size[:alone], rest[drawn]]), people


def _earlier_weight(seen_from: Integers, members: Integers, weights: Integers, field: int) -> Integers:
    """Return the weight of earlier members on the line through x and each member, of shape (values x, members)."""
    numbers = _directions(seen_from, members, field)
    order = np.lexsort(numbers[::-1], axis=1) if len(numbers) > 1 else np.argsort(numbers[0], axis=1, kind="stable")
    starts = np.zeros(order.shape, dtype=bool)
    starts[:, 0] = True
    for number in numbers:
        starts[:, 1:] |= np.diff(np.take_along_axis(number, order, axis=1), axis=1) != 0
    before = np.cumsum(weights[order], axis=1) - weights[order]
    first = np.maximum.accumulate(np.where(starts, np.arange(order.shape[1]), 0), axis=1)
    earlier = np.empty(order.shape, dtype=np.int64)
    np.put_along_axis(earlier, order, before - np.take_along_axis(before, first, axis=1), axis=1)
    return earlier


def _directions(seen_from: Integers, members: Integers, field: int) -> list[Integers]:
    """Return numbers that are equal for members in the same direction from x, of shape (values x, members) each.

    A direction is scaled so that its first digit that is not 0 is 1; its digits fill as few numbers as hold them. That
    of x itself is 0, and of no other member.
    """
    kind = np.int32 if field**2 <= PRODUCTS_IN_TABLE else np.int64
    ours, theirs = (points.T.astype(kind)[:, :, np.newaxis] for points in (seen_from, members))

    def apart(index: int) -> Integers:
        digit = theirs[index].T - ours[index]
        digit += (digit < 0) * kind(field)
        return np.asarray(digit)

    leading = np.zeros((len(seen_from), len(members)), dtype=kind)
    for index in range(len(ours)):
        np.copyto(leading, apart(index), where=leading == 0)
    table = None
    if kind is np.int32:
        table = np.arange(field) * inverses(np.arange(field), field)[:, np.newaxis] % field
        leading *= kind(field)
    else:
        leading = inverses(leading, field)
    numbers, at_once = [], int(62 / math.log2(field))
    for start in range(0, len(ours), at_once):
        packed = np.zeros(leading.shape, dtype=np.int64)
        for index in range(start, min(start + at_once, len(ours))):
            packed *= field
            packed += leading * apart(index) % field if table is None else table.ravel()[leading + apart(index)]
        numbers.append(packed)
    return numbers


def _most_outside(
    design: OpenDomain, listed: Integers, points: Integers, members: Integers, weights: Integers
) -> Array:
    """Return the largest c_x of a value outside of the list, or a bound on it, for the first members up to each."""
    m, field = len(members), design.field
    if len(listed) == design.values.number:
        return np.zeros(m)
    if m * (m - 1) // 2 * (field - 2) * points.shape[1] > POINTS_AT_ONCE * 2**4:
        return sum(
            (_bound_outside(points, members, (weights == sign).astype(np.int64), field) for sign in np.unique(weights)),
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
    # The list comes first, so that runs that begin with a listed value are identified.
    together = np.concatenate([listed, blocks])
    later, weight = (
        np.concatenate([np.full(len(listed), -1), later]),
        np.concatenate([np.zeros(len(listed), int), weight]),
    )
    order = np.lexsort([later, *together.T[::-1]])
    starts = np.ones(len(order), dtype=bool)
    starts[1:] = (np.diff(together[order], axis=0) != 0).any(axis=1)
    run, total = np.cumsum(starts) - 1, np.cumsum(weight[order])
    sums = total - (total - weight[order])[starts][run]
    outside = (later[order][starts] >= 0)[run]
    most = np.zeros(m)
    np.maximum.at(most, later[order][outside], 2 * sums[outside])
    most = np.maximum.accumulate(most)
    ends = np.append(starts[1:], True) & outside
    most[-1] = 2 * max(0, sums[ends].max(initial=0))
    return most


def _bound_outside(points: Integers, members: Integers, chosen: Integers, field: int) -> Array:
    """Upper bound of c_x for values outside of the list; see the head of this module."""
    m = len(members)
    bound = np.zeros(m)
    parts = min(m, max(LEAST_SEEN_FROM, PAIRS_SEEN // m))
    ends = np.linspace(0, m, parts + 1).astype(int)
    sizes = np.diff(ends)
    seen_from = ends[:-1] + (np.random.default_rng(m).random(parts) * sizes).astype(int)
    step = max(1, POINTS_AT_ONCE // m)
    for start in range(0, parts, step):
        some = slice(start, start + step)
        beside = _earlier_weight(points[members[seen_from[some]]], points[members], chosen, field) + 1
        beside *= chosen
        beside[np.arange(len(beside)), seen_from[some]] = 0  # x itself
        most = np.minimum(np.maximum.accumulate(beside, axis=1), field - 2)
        # Of each part of the members, how many are among the first members up to each
        there = np.clip(np.arange(1, m + 1) - ends[:-1][some, np.newaxis], 0, sizes[some, np.newaxis])
        bound += (most * there * chosen[seen_from[some], np.newaxis]).sum(axis=0)
    return bound


def _blocks(design: OpenDomain, points: Integers) -> Integers:
    ends = np.cumsum(design.digits)
    columns = [
        points[:, end - tau : end] @ design.field ** np.arange(tau - 1, -1, -1, dtype=np.int64)
        for end, tau in zip(ends.tolist(), design.digits, strict=True)
    ]
    return np.stack(columns, axis=1)


def _possible(design: OpenDomain, blocks: Integers) -> Mask:
    """Return True for each row of blocks that can be a value."""
    possible, ended = np.ones(len(blocks), dtype=bool), np.zeros(len(blocks), dtype=bool)
    for level, column in enumerate(blocks.T):
        possible &= np.where(ended, column == 0, np.isin(column, design.values.continuations(level)))
        ended |= design.values.ended(level, column)
    return possible


# Closed list


@dataclass(frozen=True, init=False, repr=False)
class ClosedList(Symmetric):
    """Reports of an open domain, read for a list of answers that is known beforehand.

    Made by `OpenDomain.closed`. Its shares need not sum to one.

    Attributes
    ----------
    domain : tuple or range
        The answers of the list.
    source : OpenDomain
        Design of the open domain.
    other : bool
        Whether the last answer of the list represents all values outside the open domain.
    """

    domain: Labels
    source: OpenDomain
    other: bool
    _blocks: Integers = field(compare=False)

    _support_size = None
    mechanism = "closed list"
    field_names = frozenset({"domain", "source", "other"})

    @property
    def law(self) -> ClosedListLaw:
        return ClosedListLaw(self)

    def __init__(self, values: Sequence[str] | Sequence[int], source: OpenDomain, *, other: bool = False) -> None:
        if isinstance(values, str | bytes):
            raise TypeError(f"values must be a list of answers, but got {values!r}")
        labels: list[Any] = list(values)
        if other:
            if not source.values.has_other:
                raise ValueError("other must be left out for whole numbers, all of which can be written")
            labels.append(OTHER)
        domain = canonical(labels, "values")
        given = np.asarray(domain) if isinstance(domain, range) else list(domain)[: len(labels) - other]
        coded = source.values.encoded(given)
        wrong = coded.status < 0
        last = source.values.other_blocks()
        if last is not None:
            wrong |= (coded.blocks == last).all(axis=1)
        if wrong.any():
            strange = labels[int(np.argmax(wrong))]
            raise ValueError(f"values must be {source.values.described()}, but got {strange!r}")
        blocks = coded.blocks if not other or last is None else np.vstack([coded.blocks, last])
        first: dict[tuple[int, ...], int] = {}
        for index, row in enumerate(map(tuple, blocks.tolist())):
            if first.setdefault(row, index) < index:
                twins = f"{labels[first[row]]!r} and {labels[index]!r}"
                raise ValueError(f"values must differ once they are normalized, but {twins} do not")
        blocks.flags.writeable = False
        self._set(domain=domain, source=source, other=bool(other), _blocks=blocks)

    # Facts

    @property
    def odds(self) -> tuple[int, int]:  # type: ignore[override]
        return self.source.odds

    @property
    def symmetry(self) -> Symmetry:
        (a, b), g = self.odds, self.source.field
        total = a + (g - 1) * b
        return Symmetry(Fraction(a, total), Fraction(1, g), both=Fraction(a, total * g), neither=Fraction(1, g * g))

    @property
    def report_form(self) -> OpenForm:
        return self.source.report_form

    @property
    def draws(self) -> tuple[int, ...]:
        return self.source.draws[1:]

    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Integers:
        return self.source.draw_last(self._blocks[answers], random_bytes)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        small = OpenDomain._make(WholeNumbers((2, 1)), (3, 1), 3, (1, 2))
        other = OpenDomain._make(WholeNumbers((2, 1)), (5, 2), 3, (1, 2))
        return cls([1, 2, 7], small), cls([0, 5], small), cls([3, 4, 6], other)

    def supports(self, reports: Counts) -> Mask:
        hashes = hashes_of_listed(self.source, reports[:, 1:-1], self._blocks)
        return np.asarray((hashes == reports[:, -1]) & (reports[:, 0] == self.source.levels)).T

    # Files and words

    def fields(self) -> Document:
        named = self.domain if not self.other else self.domain[:-1]
        return {"domain": labels_to_json(named), "source": self.source.to_dict(), "other": self.other}

    @classmethod
    def from_fields(cls, fields: Document) -> Self:
        if type(fields["other"]) is not bool:
            raise ValueError("this design is damaged: other must be true or false")
        values: Any = labels_from_json("domain", fields["domain"])
        return cls(values, OpenDomain.from_dict(fields["source"]), other=fields["other"])

    def summary(self) -> str:
        return (
            f"ClosedList of {self.k} answers ({first_and_last(self.domain)}) among {self.source.values.described()}: "
            f"truth {self.p:.4g}, each other {self.q:.4g}, epsilon {self.shown_epsilon()}"
        )

    def sentences(self) -> tuple[str, ...]:
        _, happens, *rest = self.source.sentences()
        kept = "Answers that are not in this list are reported in the same way, so that shares need not sum to one."
        return f"{label_list('answers', self.domain)}. {kept}", happens, revealed(self), *rest[1:]


class ClosedListLaw(SymmetricLaw):
    """Law of reports that are read for a list of answers; shares need not sum to one."""

    design: ClosedList

    exhaustive = False

    @property
    def counted_fraction(self) -> float:  # type: ignore[override]
        """Fraction of the respondents whose reports are of the last level."""
        return self.design.source.weights[-1] / sum(self.design.source.weights)

    def probabilities(self, shares: Array) -> Array:
        return np.asarray(self.design.q + self.symmetry.gain * shares)

    def _draw_counts(self, shares: Array, n: int, rng: np.random.Generator, shape: Shape = ()) -> Integers:
        """Draw counts of n respondents; the remaining share has answers outside of the list.

        Their hash is uniform, and so is what they report.
        """
        everybody = np.append(shares, max(0.0, 1 - shares.sum()))
        drawn = rng.multinomial(n, everybody / everybody.sum(), size=shape).reshape(-1, self.k + 1)
        rows = np.zeros((len(drawn), self.k), dtype=np.int64)
        for index, people in enumerate(drawn):
            rows[index] = self._draw_counts_of_people(people[:-1], rng)
            for start in range(0, int(people[-1]), PEOPLE_AT_ONCE):
                others = np.zeros(min(PEOPLE_AT_ONCE, int(people[-1]) - start), dtype=np.int64)
                reports = self.design.draw(others, rng.bytes)
                reports[:, -1] = rng.integers(self.design.source.field, size=len(others))
                rows[index] += self.count(reports).counts
        return rows.reshape(*shape, self.k)

    def _count(self, reports: Counts, amounts: Counts | None, group: Integers | None, groups: int) -> Counted:
        last = reports[:, 0] == self.design.source.levels
        rows = reports[last]
        some = None if amounts is None else amounts[last]
        index = None if group is None else group[last]
        sent, blocks = LevelReports(rows[:, 1:-1], rows[:, -1]), self.design._blocks
        counts = support_of_listed(self.design.source, sent, blocks, some, group=index, groups=groups)
        n = added_up(np.zeros(len(rows), dtype=np.int64) if index is None else index, some, groups)
        return Counted(counts.reshape(groups, self.k), n)

    def sampling_model(
        self, estimand: Estimand, counts: Counts, n: Array, histogram: Counts | None = None
    ) -> SamplingModel:
        sets, minus, target = estimand
        if isinstance(sets, LinearCombination):
            raise TypeError("means need a list that holds every answer, but a closed list need not")
        q, gain = self.design.q, self.symmetry.gain
        if sets is None:
            return SamplingModel(counts, n, q, gain, np.True_)
        sizes = sizes_of(sets)
        others = np.zeros_like(sizes) if minus is None else sizes_of(minus)
        count = summed(counts, sets).astype(np.float64)
        other = np.zeros_like(count) if minus is None else summed(counts, minus).astype(np.float64)
        binomial = np.asarray((sizes == 1) & (minus is None))
        if binomial.all():
            return SamplingModel(count, n, np.full(sizes.shape, q), gain, np.True_)
        # Shares of both sets, with one report added
        first, second = (np.clip((c / (n + 1) - m * q) / gain, 0, 1) for c, m in ((count, sizes), (other, others)))
        pairs = self._collinear_pairs((counts / (n + 1) - q) / gain, sets, minus)
        total, squares = sizes - others, sizes + others  # W_1 and W_2
        variance = self._support_variance(total, squares, first - second, first + second, pairs, target)
        share = ((count - other) / n - total * q) / gain
        error = np.sqrt(np.maximum(variance, 0) / n) / gain
        scores = ((0 - total * q) / gain, (sizes - total * q) / gain) if minus is None else None
        return SamplingModel(count, n, q, gain, binomial).with_scores_where_not_binomial(n, share, error, scores)

    def _support_variance(
        self, total: Integers, squares: Integers, mean: Array, square: Array, pairs: Array, target: str
    ) -> Array:
        """Variance of the weighted support t of one report, from W_1 and W_2; see the head of this module.

        `mean`, `square` and `pairs` are averages over the people, of w, its square and c, for what they hold.
        """
        q, gain = self.design.q, self.symmetry.gain
        both, neither = float(self.symmetry.both), float(self.symmetry.neither)
        second_moment = q * squares + gain * square + neither * (total**2 - squares)
        second_moment += (both - neither) * (2 * (total * mean - square) + pairs)
        if target == "population":
            return np.asarray(second_moment - (q * total + gain * mean) ** 2)
        # conditional on the answers, without sampling variance
        return np.asarray(second_moment - (q * total) ** 2 - 2 * q * total * gain * mean - gain**2 * square)

    def _collinear_pairs(self, shares: Array, sets: Sets, minus: Sets | None) -> Array:
        """Return for each set the mean weight of its pairs on a line with the true answer."""
        blocks: Integers = self.design._blocks
        if isinstance(sets, CumulativeSets):
            members = np.arange(len(sets))
            return collinear_pairs(self.design.source, blocks, shares, members, np.ones_like(members))
        pairs = np.zeros((len(shares), len(sets)))
        for index, inside in enumerate(sets):
            outside = [] if minus is None else minus[index]
            members = np.array([*inside, *outside], dtype=np.int64)
            weights = np.repeat([1, -1], [len(inside), len(outside)])
            pairs[:, index] = collinear_pairs(self.design.source, blocks, shares, members, weights)[:, -1]
        return pairs
