"""Features of a report that an audit counts: what it supports, how large its set is, the report itself and its parts.

A design tells nearly all of it by its own counting: reports of each kind, support of each answer, and the likelihood of
two answers to compare. Where single reports are too many to be counted, those that come often are, and parts of them.
Raw reports, of which nothing is known, are texts: the whole, the length, and the words at some places, so that an order
which gives the truth away is seen.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.auditing.events import Statistic
from warner.words import enumerated, printable, quoted, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warner.arrays import Array, Counts, Integers
    from warner.designs.contract import Design

VALUES_DESCRIBED = 4  # values of a feature that its description names
LIKELIHOODS_AT_ONCE = 2**22  # that are worked out at a time
FEWEST_TIMES = 5  # that a value must have come to be counted by itself
MOST_VALUES = 4096  # that are counted by themselves
PARTS_EXAMINED = 4  # first bytes, or numbers, of a report that are counted by themselves
LIKELIER_FACTOR = 1 + 1e-6  # from which on the ratio of two likelihoods is not rounding
WORDS_EXAMINED = (0, 1, 2, -1)  # places of the words of a raw report that are counted
WORD = re.compile(r"[^\W_]+")


def statistics_of(design: Design, answers: Integers, learnt: Sequence[Counts]) -> tuple[Statistic, ...]:
    """Give what to look at in the reports of a design, after these answers.

    `learnt` are some reports after each of them, in codes; of these the values that come often are taken.
    """
    verb = "are" if design.exclusive else "support"
    counted = Statistic(
        lambda reports: design.counted(reports).counts,
        lambda values: f"{verb} {_listed(design.columns, values)}",
        design.exclusive,
        _law_of_columns(design),
    )
    if design.exclusive:
        return (counted,)
    types = () if design.report_types is None else (_report_types(design),)
    parts = () if design.sufficient == "histogram" else _parts(design, learnt)
    return (counted, _comparisons(design, answers), *types, *parts)


def raw_statistics(learnt: Sequence[list[Any]]) -> tuple[Statistic, ...]:
    """Give what to look at in reports of which nothing is known, as texts."""
    everything = [text for texts in learnt for text in texts]
    looks: list[tuple[str, Callable[[str], Any]]] = [
        ("are", lambda text: text),
        ("have the length", len),
        ("have this number of words:", lambda text: len(WORD.findall(text))),
        ("have this number of different words:", lambda text: len(set(WORD.findall(text)))),
        ("begin with", lambda text: text[:1]),
        ("end with", lambda text: text[-1:]),
        *(
            (f"have at word {place + 1}:" if place >= 0 else "have as last word", _word_at(place))
            for place in WORDS_EXAMINED
        ),
    ]
    return tuple(_of_texts(verb, look, everything) for verb, look in looks)


def _word_at(place: int) -> Callable[[str], str]:
    def word(text: str) -> str:
        words = WORD.findall(text)
        return words[place] if -len(words) <= place < len(words) else ""

    return word


def _of_texts(verb: str, look: Callable[[str], Any], texts: list[str]) -> Statistic:
    """Look at one thing in texts: at each of its common values, and at all the others together."""
    times = Counter(map(look, texts)).most_common(MOST_VALUES)
    values = [value for value, number in times if number >= FEWEST_TIMES]
    places = {value: place for place, value in enumerate(values)}

    def count(reports: list[str]) -> Counts:
        codes = [places.get(look(text), len(values)) for text in reports]
        return np.bincount(np.array(codes, dtype=np.int64), minlength=len(values) + 1)

    return Statistic(count, lambda numbers: f"{verb} {_listed_or_other(values, numbers)}", exclusive=True)


# The law of a design


def _law_of_columns(design: Design) -> Callable[[int], Array] | None:
    if design.alike is None and design.sufficient != "counts":
        return None
    return lambda answer: design.reported(_units(design.k, np.array([answer])))[0]


def _law(design: Design) -> Callable[[int], Array]:
    """Give the probability of each column, or of each kind, after an answer."""
    return lambda answer: design.operator().forward(_units(design.k, np.array([answer])))[0]


def _units(k: int, answers: Integers) -> Array:
    units = np.zeros((len(answers), k))
    units[np.arange(len(answers)), answers] = 1
    return units


# What a design tells apart


def _report_types(design: Design) -> Statistic:
    """Look at the types of reports that a tally keeps apart: the reports themselves, or the sizes of their sets."""
    types: Any = design.report_types

    def count(reports: Counts) -> Counts:
        histogram = design.counted(reports).histogram
        assert histogram is not None
        return histogram

    if design.sufficient == "histogram":
        return Statistic(count, lambda values: f"are {_listed(types, values)}", True, _law(design))
    least, most = design.report_type_bounds() or (None, None)
    constant = least is not None and most is not None and np.array_equal(least, most)  # the same after every answer
    law = (lambda answer: np.asarray(most)) if constant else None
    return Statistic(count, lambda values: f"support this number of answers: {_listed(types, values)}", True, law)


def _comparisons(design: Design, answers: Integers) -> Statistic:
    """Look at whether the design makes a report likelier after one answer than after another, for every two answers.

    For sets: whether the report supports the one but not the other. Under an honest client no event tells more.
    """
    pairs = [(i, j) for i in range(len(answers)) for j in range(len(answers)) if i != j]
    ahead, behind = np.array(pairs).T
    units = _units(design.k, answers)
    table = design.operator().forward(units) if design.sufficient == "histogram" else None

    def count(reports: Counts) -> Counts:
        counts = np.zeros(len(pairs), dtype=np.int64)
        step = max(1, LIKELIHOODS_AT_ONCE // (design.k if table is None else len(answers)))
        for start in range(0, len(reports), step):
            part = reports[start : start + step]
            likelihood = design.operator(part).forward(units) if table is None else table[:, part]
            counts += (likelihood[ahead] > LIKELIER_FACTOR * likelihood[behind]).sum(axis=1)
        return counts

    def phrase(values: Integers) -> str:
        first, second = (quoted(design.domain[int(answers[place])]) for place in pairs[int(values[0])])
        if design.symmetry is None:
            return f"the design makes likelier after {first} than after {second}"
        return f"support {first} but not {second}"

    return Statistic(count, phrase, exclusive=False)


# Reports themselves


def _parts(design: Design, learnt: Sequence[Counts]) -> tuple[Statistic, ...]:
    """Look at whole reports that came often, and at their first bytes or numbers."""

    def written(values: Counts) -> list[Any]:
        rows = np.frombuffer(values.tobytes(), dtype=learnt[0].dtype).reshape(len(values), -1)
        return list(design.report_form.written(rows).tolist())

    width = learnt[0].shape[1]
    columns = range(min(PARTS_EXAMINED, width)) if width > 1 else ()
    parts = [_of_codes(f"have in place {column + 1}:", partial(_column, column), learnt) for column in columns]
    return (_of_codes("are", _joined, learnt, written), *parts)


def _column(column: int, reports: Counts) -> Counts:
    return np.asarray(reports[:, column])


def _joined(reports: Counts) -> Counts:
    """Give each row as one string of bytes. NumPy sees no zeros at the end; all being as long, none get equal."""
    rows = np.ascontiguousarray(reports)
    return rows.view(f"S{rows.itemsize * rows.shape[1]}").ravel()


def _of_codes(
    verb: str,
    look: Callable[[Counts], Counts],
    learnt: Sequence[Counts],
    written: Callable[[Counts], list[Any]] = lambda values: values.tolist(),
) -> Statistic:
    """Look at one thing in reports: at each of its common values, and at all the others together."""
    observed, times = np.unique(np.concatenate([look(reports) for reports in learnt]), return_counts=True)
    common = np.argsort(-times, kind="stable")[:MOST_VALUES]
    values = np.sort(observed[common[times[common] >= FEWEST_TIMES]])

    def count(reports: Counts) -> Counts:
        seen = look(reports)
        if not len(values):
            return np.array([len(seen)])
        place = np.searchsorted(values, seen).clip(max=len(values) - 1)
        return np.bincount(np.where(values[place] == seen, place, len(values)), minlength=len(values) + 1)

    return Statistic(count, lambda numbers: f"{verb} {_listed_or_other(written(values), numbers)}", exclusive=True)


# In words


def _listed(labels: Any, values: Integers) -> str:
    names = [quoted(labels[value]) for value in values[:VALUES_DESCRIBED].tolist()]
    return enumerated(names + [""] * (len(values) - len(names)), VALUES_DESCRIBED)


def _listed_or_other(labels: Sequence[Any], values: Integers) -> str:
    """List values, the last of which stands for all others."""
    names = [shortened(printable(str(labels[value]))) for value in values.tolist() if value < len(labels)]
    if len(names) == len(values):
        return enumerated(names, VALUES_DESCRIBED)
    return enumerated([*names, "a rare one"], VALUES_DESCRIBED) if names else "a rare one"
