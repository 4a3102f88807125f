r"""Ranking (selection): the answers that are certainly among the most common ones.

*By pairs.* The sign test compares two answers by the reports that support exactly one of them. An answer is certainly
among the m most common if fewer than m others are not significantly smaller, and certainly not if m others are
significantly larger. Either is wrong only if an answer outside the m most common tests larger than one inside. There
are :math:`m(K-m)` such pairs, so that tests at the level :math:`\alpha / (m(K-m))` err with probability at most
:math:`\alpha`. Simultaneous intervals would have to hold on both sides, and not overlap. For m = 1 there are K - 1
tests, each against the strongest rival. If the number of reports that support both answers is not known, it is taken to
be as small as possible, which is conservative.

*By simultaneous intervals*, where there is no such test: of shares of the sample, of pools, and under designs whose
answers are not symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.arrays import Array, Counts, Label, Mask, Numbers, objects
from warner.designs.facts import full_symmetry
from warner.inference.answer_tables import reports_in_words
from warner.inference.binomial import Binomial, at_least, at_most
from warner.inference.exact_tests import sign_tail
from warner.inference.intervals import Confidence, limits, mirrored
from warner.inference.normal import joints
from warner.numerics import first_true
from warner.results import Column, TableResult, group_columns, name_columns
from warner.text import enumerated, level_text, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.documents import Document
    from warner.reports.tallies import Collected

ANSWERS_LISTED = 20  # that the text of a result names


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(TableResult):
    """The answers that are certainly among the most common ones, and those that may be.

    Attributes
    ----------
    count : int
        Number of the most common answers.
    certain, possible : ndarray of bool of shape (k,), or (groups, k)
        Certainly among them; not certainly outside.
    confidence : Confidence
        The level at which all of it holds at once, and whose shares are meant.
    approximate : bool
        Whether it holds only about at its level.
    tally : Tally or Pool
        The reports.
    """

    count: int
    certain: Mask
    possible: Mask
    confidence: Confidence
    approximate: bool
    tally: Collected

    _rows_key = ""

    def _columns(self) -> list[Column]:
        found = [("certain", self.certain, "certainly"), ("possible", self.possible, "possibly")]
        flags = (Column(name, mask.ravel(), heading) for name, mask, heading in found)
        return [*name_columns(answer_columns(self.tally)), *flags]

    @property
    def _leading(self) -> str:
        return "the most common answer" if self.count == 1 else f"among the {self.count:,} most common answers"

    def _title(self) -> str:
        return f"Answers that are certainly, or possibly, {self._leading}"

    def _footnotes(self) -> list[str]:
        about, level = "approximate " * self.approximate, level_text(self.confidence.level)
        at_once = f"all of it holds at once, at {about}confidence {level} ({self.confidence.target})"
        return [reports_in_papers(self.tally), at_once]

    def text(self) -> str:
        """Return the names of the answers, for each group."""
        about = "approximate, " if self.approximate and self.tally.simple else ""
        tally, level = self.tally, f"{about}{level_text(self.confidence.level)} confidence, {self.confidence.target}"
        lines = [f"Certainly {self._leading} ({level}{about_groups(tally)}):"]
        for index, (group, certain, possible) in enumerate(group_rows(tally, self.certain, self.possible)):
            if certain is None or possible is None:
                lines.append(f"{group}no reports")
                continue
            sure = names_of(tally, index, certain)
            lines.append(f"{group}{sure or 'none can be named'}")
            undecided = possible & ~certain
            if undecided.any():
                indices = f"and {self.count - certain.sum():,} more of" if certain.any() else f"{self.count:,} of"
                lines.append(f"  {indices}: {names_of(tally, index, undecided)}")
        return "\n".join(lines)

    def _facts(self) -> Document:
        return {
            **listed_groups(self.tally),
            "count": self.count,
            "certain": listed_labels(self.tally, self.certain),
            "possible": listed_labels(self.tally, self.possible),
            "level": self.confidence.level,
            "target": self.confidence.target,
            "approximate": self.approximate,
        }


def ranking(tally: Collected, count: int, confidence: Confidence) -> Ranking:
    """Find the answers that are certainly among the most common, by pairs or from simultaneous intervals."""
    if not isinstance(count, int | np.integer) or isinstance(count, bool) or not 1 <= count < tally.k:
        raise ValueError(
            f"count must be a whole number from 1 to {tally.k - 1:,}, below the number of answers, but got {count!r}"
        )
    at_once = Confidence(confidence.level, confidence.target, simultaneous=True)
    certain, possible = np.zeros((2, len(tally.answered), tally.k), dtype=bool)
    ranked, approximate = _by_pairs(tally, int(count), at_once) or _by_intervals(tally, int(count), at_once)
    certain[tally.answered], possible[tally.answered] = ranked
    if tally.sample is not None:
        drawn = tally.parts[0].drawn.drawn
        assert drawn is not None
        blind = np.flatnonzero(tally.answered)[drawn.blind[:, 0]]  # nothing is known about a group in one cluster
        certain[blind], possible[blind] = False, True
    names = tally.squeezed(certain), tally.squeezed(possible)
    return Ranking(int(count), *names, at_once, approximate or not tally.simple, tally)


def _by_intervals(tally: Collected, count: int, at_once: Confidence) -> tuple[tuple[Mask, Mask], bool]:
    simultaneous = limits(tally, at_once)
    rows = [
        certain_ranks(simultaneous.low[group], simultaneous.high[group], count)
        for group in np.flatnonzero(tally.answered)
    ]
    certain, possible = (np.stack(masks) for masks in zip(*rows, strict=True))
    return (certain, possible), not simultaneous.exact


def _by_pairs(tally: Collected, count: int, at_once: Confidence) -> tuple[tuple[Mask, Mask], bool] | None:
    """Compare pairs of answers, if all answers are symmetric or two answers have one count."""
    if at_once.target != "population":
        return None
    level = (1 - at_once.level) / (count * (tally.k - count))
    groups = np.flatnonzero(tally.answered).tolist()
    part = tally.parts[0]
    symmetry = full_symmetry(part.design.law)
    if len(tally.parts) == 1 and symmetry is not None:
        counts, n = part.scaled()
        exclusive, turned = part.design.law.exclusive, symmetry.gain < 0
        rows = []
        for group in groups:
            # With p < q an answer is the more common, the more reports do not support it.
            support = n[group, 0] - counts[group] if turned else counts[group]
            ceilings = np.array([0.0, 2 * n[group, 0]])
            rows.append(leading(support, ceilings[[int(turned)]] if exclusive else ceilings, count, level))
    elif tally.sample is None and mirrored([part.design for part in tally.parts]):
        readouts = joints(tally.parts, groups, [[0]])
        if not all(readout.is_one_count for readout in readouts):
            return None
        rows = [_of_two(readout.only_count(0), level) for readout in readouts]
    else:
        return None
    certain, possible = (np.stack(masks) for masks in zip(*rows, strict=True))
    return (certain, possible), False


def _of_two(count: Binomial, level: float) -> tuple[Mask, Mask]:
    tails = (float(tail(count.count, count.n, count.reported(0.5))) for tail in (at_least, at_most))
    first, second = count.ordered(*tails)
    certain = np.array([first <= level, second <= level])
    return certain, ~certain[::-1]


def leading(support: Counts, ceilings: Array, count: int, level: float) -> tuple[Mask, Mask]:
    """Find the answers that are certainly, and possibly, among the most supported, by tests of pairs at this level.

    The number of reports that support exactly one of two answers is at least |c - s|, where s is the sum of both counts
    and c one of the `ceilings` 0 and 2n. The closer a rival is, the weaker is the evidence: that leaves tests of the
    leading answers against the strongest rival, and one bisection for the answers that the weakest leader excludes.
    """
    support = np.asarray(support, dtype=np.float64)
    order = np.argpartition(-support, [count - 1, count])
    weakest, rival = float(support[order[count - 1]]), float(support[order[count]])

    def shown(larger: Numbers, smaller: Numbers) -> Mask:
        apart = np.min([np.abs(ceiling - larger - smaller) for ceiling in ceilings], axis=0)
        first = (apart + larger - smaller) / 2  # of those that support exactly one of the two
        return np.asarray((larger > smaller) & (sign_tail(first, apart - first) <= level))

    certain = np.zeros(support.size, dtype=bool)
    certain[order[:count]] = shown(support[order[:count]], rival)
    values = np.unique(support[support < weakest])
    # How many values are shown to be smaller than the weakest leader
    out = first_true(lambda index: not shown(weakest, values[index]), 0, values.size)
    return certain, support > values[out - 1] if out else np.ones(support.size, dtype=bool)


def certain_ranks(low: Array, high: Array, count: int) -> tuple[Mask, Mask]:
    """Find the answers that are certainly, and possibly, among the largest, from simultaneous intervals."""
    as_large = low.size - np.searchsorted(np.sort(high), low, side="left") - 1
    larger = low.size - np.searchsorted(np.sort(low), high, side="right")
    return as_large < count, larger < count


# What is said of some answers, in each group


def answer_columns(tally: Collected) -> dict[str, Counts]:
    """Columns of group and answer names, a row for each answer (and group)."""
    columns = group_columns(tally.by, tally.groups, tally.k)
    return columns | {"value": np.tile(objects(tally.domain), len(tally.answered))}


def reports_in_papers(tally: Collected) -> str:
    """Return the number of reports and epsilon, for tables in papers."""
    most = "at most " * (len(tally.parts) > 1)
    return f"N = {reports_in_words(tally)}, epsilon {most}{tally.shown_epsilon()}"


def group_rows(tally: Collected, *masks: Mask) -> Iterator[tuple[Any, ...]]:
    """Yield the name of each group and its masks; None for each mask if the group has no reports."""
    names = [f"{printable(name)}: " for name in tally.group_names()] if tally.by else ["  "]
    rows = zip(*(np.atleast_2d(mask) for mask in masks), strict=True)
    for name, some, row in zip(names, tally.answered, rows, strict=True):
        yield name, *(row if some else (None,) * len(masks))


def names_of(tally: Collected, group: int, mask: Mask) -> str:
    """Name some answers of a group, the largest unbiased shares first; of a pool in the order of the domain."""
    indices = np.flatnonzero(mask)
    if len(tally.parts) == 1:
        counts, n = tally.parts[0].scaled()
        shares = tally.parts[0].design.law.readout(counts[[group]], n[[group]]).share()[0]
        indices = indices[np.argsort(-shares[indices], kind="stable")]
    return enumerated([printable(str(tally.domain[i])) for i in indices], ANSWERS_LISTED)


def listed_labels(tally: Collected, mask: Mask) -> list[Label] | list[list[Label]]:
    """Labels of the selected answers, a list for each group if there are groups."""
    labels = [[tally.domain[i] for i in np.flatnonzero(row)] for row in np.atleast_2d(mask)]
    return labels if tally.by else labels[0]


def listed_groups(tally: Collected) -> Document:
    """Name the groups in the order of everything else, where there are any."""
    return {"groups": [list(group) for group in tally.groups]} if tally.by else {}


def about_groups(tally: Collected) -> str:
    """Qualification of a statement: in each group, and approximate because of weights or the sample design."""
    grouped = ", in each group" if tally.by else ""
    if tally.simple:
        return grouped
    return f"{grouped}; approximate, because of {'weights' if tally.sample is None else 'the sample design'}"
