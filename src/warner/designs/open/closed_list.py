r"""Closed lists: reports of an open domain as those of a design for a list of answers that is known beforehand.

Reports of the last level are hashes of whole values, so that any list can be looked up in them. A report supports a
listed answer with probability p = a/M if it is held and q = 1/g if not, whatever the sender holds (`open_domain`): the
law of local hashing, and the `Symmetry` of all designs that support sets. Two listed answers are supported together
with probability p/g if one of them is held, because the direction then decides about the other; else with
:math:`1/g^2`, or p/g where the three values lie on a line of the field's space. The variance of a set of answers takes
:math:`1/g^2`: it is too small where many people hold values on lines with those of the set, as neighbouring numbers are
(0, 1 and 2 for people who hold 3: by a third, for g = 5 at odds 3 : 1). Single answers, and differences of two, have no
such error.

The list need not hold everybody's answer: **shares do not sum to one**, and what is left is the share of all other
answers. So the unbiased shares and the exact intervals of single answers hold; a set of m answers is supported by a
report m q + (p-q) share times on average. With weights w of the answers, :math:`W_1 = \sum w` and
:math:`W_2 = \sum w^2`, the weighted support t of a report depends on the answer x that is held by

.. math:: E\,t = q W_1 + (p-q) w_x, \quad E\,t^2 = q W_2 + (p-q) w_x^2 + \nu (W_1^2 - W_2) +
    2 (\beta - \nu) w_x (W_1 - w_x),

where :math:`\beta` and :math:`\nu` are the probabilities of pairs, and :math:`w_x = 0` for answers outside of the list.
A tally counts the reports of the last level alone; those of other levels say nothing about whole values.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from warner.designs.contract import PEOPLE_AT_ONCE
from warner.designs.device import revealed
from warner.designs.facts import Fuzzy, Readout, Sums, Symmetry, sizes_of, summed
from warner.designs.labels import canonical, first_and_last, labels_from_json, labels_to_json, listed
from warner.designs.open.open_domain import OpenDomain
from warner.designs.open.support_counts import LevelReports, hashes_of_listed, support_of_listed
from warner.designs.open.values import OTHER, WholeNumbers
from warner.designs.symmetric import Symmetric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Counts, Integers, Mask, Sets, Size
    from warner.designs.draws import RandomBytes
    from warner.designs.labels import Labels
    from warner.designs.open.report_form import OpenForm
    from warner.documents import Document


@dataclass(frozen=True, init=False, repr=False)
class ClosedList(Symmetric):
    """Reports of an open domain, read for a list of answers that is known beforehand.

    Made by `OpenDomain.closed`. Its shares need not sum to one.

    Attributes
    ----------
    domain : tuple or range
        The answers of the list.
    source : OpenDomain
        What the answers go through.
    other : bool
        Whether the last answer of the list stands for all that cannot be written.
    """

    domain: Labels
    source: OpenDomain
    other: bool

    mechanism = "closed list"
    field_names = frozenset({"domain", "source", "other"})
    complete: ClassVar[bool] = False

    def __init__(self, values: Sequence[str] | Sequence[int], source: OpenDomain, *, other: bool = False) -> None:
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
        if len(np.unique(blocks, axis=0)) < len(blocks):
            raise ValueError("values must differ once they are normalized, but two of them do not")
        blocks.flags.writeable = False
        for name, value in {"domain": domain, "source": source, "other": bool(other), "_blocks": blocks}.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> Any:
        return type(self)._remade, (self.to_dict(),)

    @classmethod
    def _remade(cls, fields: Document) -> Self:
        return cls.from_dict(fields)

    # Facts

    @property
    def counts_everybody(self) -> bool:  # type: ignore[override]
        """Whether all reports are of the last level: reports of others are not counted."""
        return self.source.levels == 1

    def reported(self, shares: Array) -> Array:
        """Give q + (p - q) share for each answer: those of people with other answers are counted as well."""
        return np.asarray(self.q + self.symmetry.gain * shares)

    @property
    def supported(self) -> int | None:
        """A report supports any number of answers."""
        return None

    @property
    def odds(self) -> tuple[int, int]:  # type: ignore[override]
        """Those of the open domain."""
        return self.source.odds

    @property
    def symmetry(self) -> Symmetry:
        (a, b), g = self.odds, self.source.field
        total = a + (g - 1) * b
        return Symmetry(a * g, total, total * g, both=Fraction(a, total * g), neither=Fraction(1, g * g))

    @property
    def report_form(self) -> OpenForm:
        return self.source.report_form

    @property
    def draws(self) -> tuple[int, ...]:
        return self.source.draws[1:]

    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Integers:
        """Draw a report of the last level for each answer."""
        return self.source.draw_last(self._blocks[answers], random_bytes)  # type: ignore[attr-defined]

    def simulate(self, shares: Array, n: int, *, rng: np.random.Generator, size: Size = None) -> Integers:
        """Draw counts of n people; what the shares lack of one is held by people with other answers.

        Their hash is uniform, and so is what they report.
        """
        shape = () if size is None else size if isinstance(size, tuple) else (size,)
        everybody = np.append(shares, max(0.0, 1 - shares.sum()))
        drawn = rng.multinomial(n, everybody / everybody.sum(), size=shape).reshape(-1, self.k + 1)
        rows = np.zeros((len(drawn), self.k), dtype=np.int64)
        for place, people in enumerate(drawn):
            rows[place] = self.simulate_people(people[:-1], rng=rng)
            for start in range(0, int(people[-1]), PEOPLE_AT_ONCE):
                others = np.zeros(min(PEOPLE_AT_ONCE, int(people[-1]) - start), dtype=np.int64)
                reports = self.draw(others, rng.bytes)
                reports[:, -1] = rng.integers(self.source.field, size=len(others))
                rows[place] += self.counted(reports).counts
        return rows.reshape(*shape, self.k)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        small = OpenDomain._of(WholeNumbers((2, 1)), (3, 1), 3, (1, 2))
        other = OpenDomain._of(WholeNumbers((2, 1)), (5, 2), 3, (1, 2))
        return cls([1, 2, 7], small), cls([0, 5], small), cls([3, 4, 6], other)

    def supports(self, reports: Counts) -> Mask:
        """Give for each report, a row each, which answers it supports: none, for those of other levels."""
        hashes = hashes_of_listed(self.source, reports[:, 1:-1], self._blocks)  # type: ignore[attr-defined]
        return np.asarray((hashes == reports[:, -1]) & (reports[:, 0] == self.source.levels)).T

    def counted(
        self, reports: Counts, amounts: Counts | None = None, *, group: Integers | None = None, groups: int = 1
    ) -> Sums:
        """Count how often each answer was supported by reports of the last level, and those."""
        last = reports[:, 0] == self.source.levels
        rows = reports[last]
        if amounts is None and group is None:
            level = LevelReports(rows[:, 1:-1], rows[:, -1])
            counts = support_of_listed(self.source, level, self._blocks)  # type: ignore[attr-defined]
            return Sums(counts, np.asarray(len(rows)))
        some = None if amounts is None else amounts[last]
        return super().counted(rows, some, group=None if group is None else group[last], groups=groups)

    def readout(
        self,
        counts: Counts,
        n: Array,
        sets: Sets | None = None,
        *,
        minus: Sets | None = None,
        target: str = "population",
        histogram: Counts | None = None,
    ) -> Readout:
        """Say how shares show in the counts: binomially for one answer; see the head of this module."""
        if isinstance(sets, Fuzzy):
            raise TypeError("means need a list that holds every answer, but a closed list need not")
        q, gain = self.q, self.symmetry.gain
        if sets is None:
            return Readout(counts, n, q, gain, np.True_)
        sizes = sizes_of(sets)
        others = np.zeros_like(sizes) if minus is None else sizes_of(minus)
        count = summed(counts, sets).astype(np.float64)
        other = np.zeros_like(count) if minus is None else summed(counts, minus).astype(np.float64)
        binomial = np.asarray((sizes == 1) & (minus is None))
        if binomial.all():
            return Readout(count, n, np.full(sizes.shape, q), gain, np.True_)
        first_weight, squares = sizes - others, sizes + others  # W_1 and W_2
        share = ((count - other) / n - first_weight * q) / gain
        # Those who hold an answer of either set, with one report more.
        held = [np.clip((c / (n + 1) - m * q) / gain, 0, 1) for c, m in ((count, sizes), (other, others))]
        mean, square = held[0] - held[1], held[0] + held[1]
        both, neither = float(self.symmetry.both), float(self.symmetry.neither)
        second = q * squares + gain * square + neither * (first_weight**2 - squares)
        second += 2 * (both - neither) * (first_weight * mean - square)
        if target == "population":
            variance = second - (q * first_weight + gain * mean) ** 2
        else:  # without the chance in who was asked
            variance = second - (q * first_weight) ** 2 - 2 * q * first_weight * gain * mean - gain**2 * square
        least, most = ((sign * m - first_weight * q) / gain for sign, m in ((-1, others), (1, sizes)))
        return Readout(
            np.where(binomial, count, n * share),
            n,
            np.where(binomial, q, 0.0),
            np.where(binomial, gain, 1.0),
            binomial,
            np.sqrt(np.maximum(variance, 0) / n) / gain,
            (least, most) if minus is None else None,
        )

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
        return f"{listed('answers', self.domain)}. {kept}", happens, revealed(self), *rest[1:]
