r"""Features of reports that an audit counts, and the choice of the event that bounds epsilon.

Most features come from the design: types of reports, support of each answer, and the ratio of the likelihoods of two
answers. Where single reports are too many, the frequent ones are counted, and parts of them. Raw reports, of unknown
form, are texts: the whole, the length, and the words at some positions, so that an order which reveals the truth is
seen.

A client that spends epsilon makes every event A at most :math:`e^\varepsilon` times as likely after one answer as after
another: :math:`P(A \mid x) \le e^\varepsilon P(A \mid x')`. Any event bounds epsilon from below. The event with
a large bound must be chosen on other runs than those that compute it. So runs have three parts [1]_, [2]_:

- *Learn.* Of every statistic whose values exclude each other (the report itself, the size of its set) the values are
  ordered by how much more often they came after x than after x'.
- *Choose.* In that order, the values up to each place are an event. So are traits that a
  report has or lacks: support of an answer, or of one answer but not another. The event with the best predicted bound
  is taken; simpler statistics come first, and another must be better by more than a standard error.
- *Judge.* That event alone is counted in the rest of the runs (`warner.auditing.audits`).

References
----------
.. [1] Z. Ding, Y. Wang, G. Wang, D. Zhang, D. Kifer, "Detecting violations of differential privacy", CCS 2018, 475-489.
.. [2] B. Bichsel, S. Steffen, I. Bogunovic, M. Vechev, "DP-Sniper: black-box discovery of differential privacy
   violations using classifiers", IEEE S&P 2021, 391-409.

Features of a report of an open domain are its level, direction, hash, and the answers that it supports. Given a true
answer, the distribution of all of them is known exactly. Level l has the probability :math:`w_l / W`, and every
digit of a direction that is sent is uniform, whatever the answer is. A report of level l supports the prefix of l
blocks that the answer has with probability p, and any other with 1/g. The value of the hash is uniform, but for an
answer whose prefix is all zeros: it is then that of the noise alone.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.arrays import SMALLEST, Array, Counts, Integers, Label
from warner.designs.facts import ReportTypes, full_symmetry
from warner.designs.support_counts import (
    digit_named,
    digit_parts,
    digit_places,
    hashes_of_listed,
    level_law,
    parts_of_field,
)
from warner.inference.binomial import Binomial, wilson_limit
from warner.text import enumerated, printable, quoted, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from warner.designs.contract import Design
    from warner.designs.open_domain import OpenDomain


@dataclass(frozen=True, eq=False)
class Statistic:
    """Countable feature of a report."""

    count: Callable[[Any], Counts]  # of reports in codes: the number of reports with each value
    phrase: Callable[[Integers], str]  # of the indices of some values: a verb phrase, such as "support 'a'"
    exclusive: bool  # a report has one value, so that sets of values are events; if not, each value is a trait
    law: Callable[[int], Array | float] | None = None  # of the index of an answer: probability of each value


class Event(NamedTuple):
    """Reports with one of these values of a statistic, or with none of them."""

    place: int  # of the statistic
    values: Integers
    lacking: bool = False

    def hits(self, seen: Observed, answer: int) -> int:
        """Count such reports after the answer with this index."""
        number = int(seen.counts[self.place][answer, self.values].sum())
        return seen.runs - number if self.lacking else number

    def words(self, statistics: tuple[Statistic, ...]) -> str:
        """Describe the reports."""
        phrase = statistics[self.place].phrase(self.values)
        return f"reports other than those that {phrase}" if self.lacking else f"reports that {phrase}"


class Observed(NamedTuple):
    """Number of reports with each value after each answer: for each statistic an array of shape (answers, values)."""

    counts: tuple[Counts, ...]
    runs: int

    @classmethod
    def stacked(cls, rows: Sequence[Sequence[Counts]], runs: int) -> Observed:
        """Stack the counts of `count_values` for each answer."""
        return cls(tuple(np.stack(column) for column in zip(*rows, strict=True)), runs)

    def __add__(self, other: Any) -> Observed:
        counts = tuple(mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True))
        return Observed(counts, self.runs + other.runs)


def count_values(statistics: tuple[Statistic, ...], pieces: Iterable[Any]) -> list[Counts]:
    """Count the values of each statistic in the reports after one answer."""
    totals: list[Counts] = []
    for reports in pieces:
        parts = [statistic.count(reports) for statistic in statistics]
        totals = [total + part for total, part in zip(totals, parts, strict=True)] if totals else parts
    return totals


def best_event(
    statistics: tuple[Statistic, ...], learnt: Observed, chosen: Observed, pair: tuple[int, int], runs: int, tail: float
) -> Event:
    """Return the event with the largest predicted bound on epsilon, for `runs` more runs after each of two answers."""
    best, promise = Event(0, np.arange(0)), -np.inf
    first, second = pair
    for index, statistic in enumerate(statistics):
        counts = chosen.counts[index]
        if statistic.exclusive:
            ahead, behind = learnt.counts[index][first] + 0.5, learnt.counts[index][second] + 0.5
            order = np.argsort(-ahead / behind, kind="stable")
            hits, others = counts[first][order].cumsum(), counts[second][order].cumsum()
        else:
            hits, others = (np.concatenate([row, chosen.runs - row]) for row in (counts[first], counts[second]))
        bounds = predicted(hits, others, chosen.runs, runs, tail)
        number = int(np.argmax(bounds))
        if bounds[number] - math.sqrt(1 / (hits[number] + 1) + 1 / (others[number] + 1)) > promise:
            promise, size = bounds[number], len(hits) // 2
            event = (order[: number + 1], False) if statistic.exclusive else (np.array([number % size]), number >= size)
            best = Event(index, *event)
    return best


def predicted(hits: Counts, others: Counts, n: int, runs: int, tail: float) -> Array:
    """Predict ln(lower limit / upper limit) for `runs` runs, from hits among n, by Wilson's limits."""
    scale = runs / n
    # Of a probability itself: base 0, gain 1
    low = wilson_limit(Binomial(scale * hits, runs, 0.0, 1.0), tail, -1)
    high = wilson_limit(Binomial(scale * others, runs, 0.0, 1.0), tail, 1)
    return np.asarray(np.log(np.maximum(low, SMALLEST)) - np.log(high))


# Statistics


VALUES_DESCRIBED = 4  # values of a feature that its description names
LIKELIHOODS_AT_ONCE = 2**22  # in memory
FEWEST_TIMES = 5  # occurrences of a value that is counted by itself
MOST_VALUES = 4096  # counted by themselves
PARTS_EXAMINED = 4  # first bytes, or numbers, of a report that are counted by themselves
LIKELIER_FACTOR = 1 + 1e-6  # smallest ratio of two likelihoods that is not rounding
WORDS_EXAMINED = (0, 1, 2, -1)  # positions of the words of a raw report that are counted
WORD = re.compile(r"[^\W_]+")


def statistics_of(design: Design, answers: Integers, learnt: Sequence[Counts]) -> tuple[Statistic, ...]:
    """Return the statistics of reports after these answers; frequent values of `learnt` reports are counted."""
    verb, known = "are" if design.law.exclusive else "support", design.law.symmetry is not None
    known = known or design.law.sufficient == "counts"
    counted = Statistic(
        lambda reports: design.law.count(reports).counts,
        lambda values: f"{verb} {_listed(design.law.columns, values)}",
        design.law.exclusive,
        (lambda answer: design.law.probabilities(_units(design.k, np.array([answer])))[0]) if known else None,
    )
    if design.law.exclusive:
        return (counted,)
    types = () if design.law.types is None else (_report_types(design, design.law.types),)
    parts = () if design.law.sufficient == "histogram" else _parts(design, learnt)
    return (counted, _comparisons(design, answers), *types, *parts)


def raw_statistics(learnt: Sequence[list[Any]]) -> tuple[Statistic, ...]:
    """Return the statistics of reports of unknown form, as texts."""
    everything = [text for texts in learnt for text in texts]
    looks: list[tuple[str, Callable[[str], Any]]] = [
        ("are", lambda text: text),
        ("have the length", len),
        ("have this number of words:", lambda text: len(WORD.findall(text))),
        ("have this number of different words:", lambda text: len(set(WORD.findall(text)))),
        ("begin with", lambda text: text[:1]),
        ("end with", lambda text: text[-1:]),
        *(
            (f"have at word {index + 1}:" if index >= 0 else "have as last word", partial(_word, index))
            for index in WORDS_EXAMINED
        ),
    ]
    return tuple(_of_texts(verb, look, everything) for verb, look in looks)


def _word(index: int, text: str) -> str:
    words = WORD.findall(text)
    return words[index] if -len(words) <= index < len(words) else ""


def _of_texts(verb: str, look: Callable[[str], Any], texts: list[str]) -> Statistic:
    """Statistic of texts: each common value of a feature, and all other values together."""
    times = Counter(map(look, texts)).most_common(MOST_VALUES)
    values = [value for value, number in times if number >= FEWEST_TIMES]
    indices = {value: index for index, value in enumerate(values)}

    def count(reports: list[str]) -> Counts:
        codes = [indices.get(look(text), len(values)) for text in reports]
        return np.bincount(np.array(codes, dtype=np.int64), minlength=len(values) + 1)

    return Statistic(count, lambda numbers: f"{verb} {_listed_or_other(values, numbers)}", exclusive=True)


def _units(k: int, answers: Integers) -> Array:
    units = np.zeros((len(answers), k))
    units[np.arange(len(answers)), answers] = 1
    return units


def _report_types(design: Design, types: ReportTypes) -> Statistic:
    """Statistic of the report types of a tally: the reports themselves, or the sizes of their sets."""
    labels: Any = types.labels

    def count(reports: Counts) -> Counts:
        histogram = design.law.count(reports).histogram
        assert histogram is not None
        return histogram

    def law(answer: int) -> Array:
        return np.asarray(design.law.likelihood().forward(_units(design.k, np.array([answer])))[0])

    if design.law.sufficient == "histogram":
        return Statistic(count, lambda values: f"are {_listed(labels, values)}", True, law)
    least, most = types.bounds()
    constant = least is not None and most is not None and np.array_equal(least, most)  # the same after every answer
    sizes = (lambda answer: np.asarray(most)) if constant else None
    return Statistic(count, lambda values: f"support this number of answers: {_listed(labels, values)}", True, sizes)


def _comparisons(design: Design, answers: Integers) -> Statistic:
    """Statistic of the pairs of answers of which the first has the larger likelihood of the report.

    For sets: the report supports the first but not the second. It is the most informative event of an honest client.
    """
    pairs = [(i, j) for i in range(len(answers)) for j in range(len(answers)) if i != j]
    ahead, behind = np.array(pairs).T
    units = _units(design.k, answers)
    table = design.law.likelihood().forward(units) if design.law.sufficient == "histogram" else None

    def count(reports: Counts) -> Counts:
        counts = np.zeros(len(pairs), dtype=np.int64)
        step = max(1, LIKELIHOODS_AT_ONCE // (design.k if table is None else len(answers)))
        for start in range(0, len(reports), step):
            part = reports[start : start + step]
            likelihood = design.law.likelihood(part).forward(units) if table is None else table[:, part]
            counts += (likelihood[ahead] > LIKELIER_FACTOR * likelihood[behind]).sum(axis=1)
        return counts

    def phrase(values: Integers) -> str:
        first, second = (quoted(design.domain[int(answers[index])]) for index in pairs[int(values[0])])
        if full_symmetry(design.law) is None:
            return f"the design makes more likely after {first} than after {second}"
        return f"support {first} but not {second}"

    return Statistic(count, phrase, exclusive=False)


# Reports themselves


def _parts(design: Design, learnt: Sequence[Counts]) -> tuple[Statistic, ...]:
    """Statistics of whole reports that are frequent, and of their first bytes or numbers."""

    def written(values: Counts) -> list[Any]:
        rows = np.frombuffer(values.tobytes(), dtype=learnt[0].dtype).reshape(len(values), -1)
        return list(design.report_form.written(rows).tolist())

    width = learnt[0].shape[1]
    columns = range(min(PARTS_EXAMINED, width)) if width > 1 else ()
    parts = [_of_codes(f"have in place {column + 1}:", partial(_column, column), learnt) for column in columns]
    return (_of_codes("are", _row_bytes, learnt, written), *parts)


def _column(column: int, reports: Counts) -> Counts:
    return np.asarray(reports[:, column])


def _row_bytes(reports: Counts) -> Counts:
    """Return each row as one byte string. NumPy drops zeros at the end, but rows of equal length stay distinct."""
    rows = np.ascontiguousarray(reports)
    return rows.view(f"S{rows.itemsize * rows.shape[1]}").ravel()


def _of_codes(
    verb: str,
    look: Callable[[Counts], Counts],
    learnt: Sequence[Counts],
    written: Callable[[Counts], list[Any]] = lambda values: values.tolist(),
) -> Statistic:
    """Statistic of reports in codes: each common value of a feature, and all other values together."""
    observed, times = np.unique(np.concatenate([look(reports) for reports in learnt]), return_counts=True)
    common = np.argsort(-times, kind="stable")[:MOST_VALUES]
    values = np.sort(observed[common[times[common] >= FEWEST_TIMES]])

    def count(reports: Counts) -> Counts:
        seen = look(reports)
        if not len(values):
            return np.array([len(seen)])
        index = np.searchsorted(values, seen).clip(max=len(values) - 1)
        return np.bincount(np.where(values[index] == seen, index, len(values)), minlength=len(values) + 1)

    return Statistic(count, lambda numbers: f"{verb} {_listed_or_other(written(values), numbers)}", exclusive=True)


def _listed(labels: Any, values: Integers) -> str:
    names = [quoted(labels[value]) for value in values[:VALUES_DESCRIBED].tolist()]
    return enumerated(names + [""] * (len(values) - len(names)), VALUES_DESCRIBED)


def _listed_or_other(labels: Sequence[Any], values: Integers) -> str:
    """List values; the index beyond the last is any rare value."""
    names = [shortened(printable(str(labels[value]))) for value in values.tolist() if value < len(labels)]
    if len(names) == len(values):
        return enumerated(names, VALUES_DESCRIBED)
    return enumerated([*names, "a rare one"], VALUES_DESCRIBED) if names else "a rare one"


# Open statistics


def answers_tried(design: OpenDomain, answers: Sequence[Label] | None) -> tuple[tuple[Label, ...], Integers]:
    """Return the answers to try and their blocks; by default short and long ones, and one that becomes other."""
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
    """Return the statistics of reports of an open domain after these answers, each with its distribution."""
    return (
        _levels(design),
        _supports(design, labels, blocks),
        _comparisons_open_statistics(design, labels, blocks),
        _digit_statistic(design),
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
    """Mask of shape (answers, reports): the report supports the prefix of the answer at its level."""
    hashes = hashes_of_listed(design, reports[:, 1:-1], blocks)  # directions beyond the level are 0
    return np.asarray(hashes == reports[:, -1])


def _supports(design: OpenDomain, labels: Sequence[Label], blocks: Integers) -> Statistic:
    """Return the statistic of reports of each level that support the prefix of each answer."""
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


def _comparisons_open_statistics(design: OpenDomain, labels: Sequence[Label], blocks: Integers) -> Statistic:
    """Return the statistic of reports that support one answer but not another, which is the most informative one."""
    pairs = [(i, j) for i in range(len(labels)) for j in range(len(labels)) if i != j]
    ahead, behind = np.array(pairs).T

    def count(reports: Counts) -> Counts:
        supported = _supported(design, reports, blocks)
        return np.asarray((supported[ahead] & ~supported[behind]).sum(axis=1))

    def phrase(values: Integers) -> str:
        first, second = (quoted(labels[index]) for index in pairs[int(values[0])])
        return f"support {first} but not {second}"

    return Statistic(count, phrase, False)


def _digit_statistic(design: OpenDomain) -> Statistic:
    """Part of the field with the first and the last digit of each block."""
    _, law = parts_of_field(design.field)
    sent = np.cumsum(level_law(design)[::-1])[::-1]  # the probability that a block is sent
    indices = digit_places(design)

    def count(reports: Counts) -> Counts:
        directions = (reports[reports[:, 0] > block, block + 1] for block, _ in indices)
        parts = zip(indices, directions, strict=True)
        return np.concatenate([digit_parts(design, sent_ones, *index) for index, sent_ones in parts])

    def phrase(values: Integers) -> str:
        index, part = divmod(int(values[0]), len(law))
        return f"have {digit_named(*indices[index], part, len(law))}"

    every = np.concatenate([sent[block] * law for block, _ in indices])
    return Statistic(count, phrase, False, lambda answer: every)


def _hashes(design: OpenDomain, blocks: Integers) -> Statistic:
    """Values of the hash, in bins."""
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
