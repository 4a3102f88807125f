r"""Privacy audit: a lower confidence bound on the epsilon that a client spends, and tests of its design.

A client is run many times on a few chosen answers. For two of them, x and x', and an event A that was chosen on other
runs (`warner.auditing.statistics`), the numbers of hits are binomial, and

.. math:: \varepsilon \ge \ln \frac{P(A \mid x)}{P(A \mid x')} \ge \ln \frac{L}{U},

with L the lower limit of Clopper and Pearson for the one probability and U the upper limit for the other. Each limit
misses with probability at most :math:`\alpha / (4 m)` for m ordered pairs of answers. So with probability at least
:math:`1 - \alpha/2` no bound exceeds the true epsilon, for every client. The other half of
:math:`\alpha = 1 - \text{level}` is for goodness-of-fit tests of the design: given a true answer, the distribution of
reports is known exactly, so an audit detects too much noise as well as too little.

A worked number: of 1,000 runs an event came 500 times after x and 100 times after x', which looks like ln 5 = 1.61.
With tails of 0.025 each, L = 0.4686 and U = 0.1203: at least 1.3597 is spent.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.auditing.clients import ANSWERS_AT_ONCE, Client, Command, Function, codes
from warner.auditing.statistics import (
    Event,
    Observed,
    Statistic,
    answers_tried,
    best_event,
    count_values,
    open_statistics,
    raw_statistics,
    statistics_of,
)
from warner.designs.exact import whole_number
from warner.designs.labels import positions
from warner.designs.open_domain import OpenDomain
from warner.inference.binomial import at_least, at_most, binomial_limits
from warner.reports.tallies import refuse_design
from warner.results import Column, TableResult, check_level
from warner.text import counted, did_you_mean, enumerated, level_text, p_value, percent, quoted, rounded_down, wrapped
from warner.typesetting import plain_table

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from warner.arrays import Integers, Label
    from warner.designs.contract import Design
    from warner.documents import Document


# Findings


PAIRS_SHOWN = 12  # rows of the table
MISFITS_SHOWN = 3  # in a text


class Pair(NamedTuple):
    """Bound from one ordered pair of answers.

    Attributes
    ----------
    answer, other : label
        The answer after which the event is more likely, and the one after which it is less.
    epsilon_at_least : float
        The lower bound on epsilon; 0 if there is no evidence.
    event : str
        The reports that were counted, in words.
    hits, other_hits : int
        Number of these reports after either answer.
    runs : int
        Number of runs after each.
    """

    answer: Label
    other: Label
    epsilon_at_least: float
    event: str
    hits: int
    other_hits: int
    runs: int


class Misfit(NamedTuple):
    """Reports that are more or less frequent than under the design.

    Attributes
    ----------
    answer : label
        The true answer of the runs.
    event : str
        The reports, in words.
    share, expected : float
        Observed and expected share of such reports.
    p_value : float
        p-value of the fit to the design, multiplied by the number of tests and by two.
    """

    answer: Label
    event: str
    share: float
    expected: float
    p_value: float


@dataclass(frozen=True, eq=False, repr=False)
class Audit(TableResult):
    """Bounds and tests of an audit. At the stated level, all of them hold at once.

    Attributes
    ----------
    design : Design
        The design that the client claims to follow.
    answers : tuple of labels
        The answers that were tried.
    runs : int
        Number of runs with each answer.
    level : float
        Joint confidence level of all bounds and tests, for independent runs.
    raw : bool
        True if reports were read as texts of any form.
    pairs : tuple of Pair
        The bound for each ordered pair of answers.
    p_value : float
        p-value of the fit to the design, over all tests.
    misfits : tuple of Misfit
        Counts that contradict the design, the clearest first; at most ten.
    repeats : bool
        True if the client, started again, made the same reports in the same order.
    tests : int
        Number of counts that were compared with the design; 0 for raw reports.
    """

    _rows_key = "pairs"

    design: Design | OpenDomain
    answers: tuple[Label, ...]
    runs: int
    level: float
    raw: bool
    pairs: tuple[Pair, ...]
    p_value: float
    misfits: tuple[Misfit, ...]
    repeats: bool
    tests: int

    @property
    def worst(self) -> Pair:
        """The pair of answers with the largest bound."""
        return max(self.pairs, key=lambda pair: pair.epsilon_at_least)

    @property
    def epsilon_at_least(self) -> float:
        """Largest of the lower bounds on epsilon."""
        return self.worst.epsilon_at_least

    @property
    def exceeds(self) -> bool:
        """True if the client spends more epsilon than the design claims."""
        return self.epsilon_at_least > self.design.epsilon

    @property
    def fits(self) -> bool:
        """True if no count of reports contradicts the design."""
        return not self.misfits

    @property
    def passed(self) -> bool:
        """True if nothing was found against the client."""
        return self.fits and not self.exceeds and not self.repeats

    def _columns(self) -> list[Column]:
        """Return a row for each ordered pair of answers; readers see the largest bounds first."""
        shown = sorted(self.pairs, key=lambda pair: -pair.epsilon_at_least)
        texts = {
            "answer": [str(pair.answer) for pair in shown],
            "against": [str(pair.other) for pair in shown],
            "epsilon at least": [f"{float(rounded_down(pair.epsilon_at_least)):.3f}" for pair in shown],
            "hits (%)": [f"{100 * pair.hits / pair.runs:.1f}" for pair in shown],
            "against (%)": [f"{100 * pair.other_hits / pair.runs:.1f}" for pair in shown],
            "event": [pair.event for pair in shown],
        }
        values = map(np.array, zip(*self.pairs, strict=True))
        readers = [Column(heading=heading, texts=column) for heading, column in texts.items()]
        return [*map(Column, Pair._fields, values), *readers]

    def _title(self) -> str:
        return "Bounds on epsilon"

    def _footnotes(self) -> list[str]:
        return [self._verdict(), *self._fit(), self._level()]

    def _facts(self) -> Document:
        return {
            "format": "warner audit",
            "version": 1,
            "passed": self.passed,
            "epsilon_at_least": self.epsilon_at_least,
            "epsilon_claimed": "inf" if np.isinf(self.design.epsilon) else self.design.epsilon,
            "exceeds": self.exceeds,
            "fits": None if self.raw else self.fits,
            "repeats": self.repeats,
            "level": self.level,
            "runs": self.runs,
            "answers": list(self.answers),
            "raw": self.raw,
            "p_value": None if self.raw else self.p_value,
            "tests": self.tests,
            "misfits": [misfit._asdict() for misfit in self.misfits],
            "design": self.design.to_dict(),
        }

    def text(self) -> str:
        """Return the verdict, the evidence, the pairs with the largest bounds, and the limits of any audit."""
        pairs = plain_table(self._printed()._replace(notes=()), PAIRS_SHOWN)
        above, below = [self._verdict(), self._evidence()], [*self._fit(), self._level()]
        return "\n\n".join([wrapped(above), pairs, wrapped(below), wrapped([NOT_AUDITED])])

    def _verdict(self) -> str:
        claimed, bound = self.design.shown_epsilon(), rounded_down(self.epsilon_at_least)
        if self.repeats:
            return (
                "The client repeats itself: started again with the same answers, it gives the same reports in the same "
                "order. Its randomness comes from a fixed seed: the program alone is enough to undo it, and no epsilon "
                "holds. The bounds below assume independent runs, which is not the case."
            )
        if self.exceeds:
            return f"The client spends more than it claims: epsilon is at least {bound}; the design claims {claimed}."
        spends = f"at least {bound} of the epsilon {claimed} that the design claims is spent"
        if not self.fits:
            return f"The client does not follow the design, though it was not found to spend more: {spends}."
        return f"Nothing was found against the client: {spends}."

    def _evidence(self) -> str:
        worst = self.worst
        if worst.epsilon_at_least == 0:
            return "The reports do not distinguish any two of these answers."
        return (
            f"Evidence: {worst.event} came in {percent(worst.hits / worst.runs)} of {worst.runs:,} runs after "
            f"{quoted(worst.answer)}, and in {percent(worst.other_hits / worst.runs)} after {quoted(worst.other)}."
        )

    def _fit(self) -> list[str]:
        if self.raw:
            return ["Reports were taken as texts, so that it was not tested whether they follow the design."]
        compared = counted(self.tests, "count", "counts")
        if self.fits:
            return [f"The reports fit the design: none of {compared} stands out ({p_value(self.p_value)})."]
        sentences = [f"The reports do not fit the design: {p_value(self.p_value)} for {compared}."]
        sentences += [
            f"After {quoted(misfit.answer)}, {misfit.event} make up {_share(misfit.share)}; the design says "
            f"{_share(misfit.expected)}."
            for misfit in self.misfits[:MISFITS_SHOWN]
        ]
        return [" ".join(sentences)]

    def _level(self) -> str:
        return (
            f"{self.runs:,} runs after each of {enumerated(list(map(quoted, self.answers)))}; separate "
            "runs chose and judged the reports. If runs are independent of each other, all of "
            f"this holds at once with a probability of at least {level_text(self.level)}, whatever the client does."
        )


def _share(share: float) -> str:
    return f"{100 * share:.4g} %"


NOT_AUDITED = (
    "Not detectable by an audit: the client's behavior after other answers, or outside an audit; events too rare for "
    "this number of runs; memory from one report to the next; and other data that are sent with a report, such as "
    "its time. A bound below the claim is no proof that the claim holds."
)


# Audits


RUNS_OF_FUNCTION, RUNS_OF_COMMAND = 100_000, 20_000  # after each answer, unless asked for
FEWEST_RUNS, MOST_RUNS = 100, 10**9
ANSWERS_ALL_TRIED = 4  # possible answers up to which all are tried
BYTES_LEARNT_FROM = 2**27  # of reports in memory
RAW_REPORT_BYTES = 2**10  # assumed length of a report of unknown form
REPORTS_COMPARED = 1000  # with those of another start
MISFITS_KEPT = 10  # the clearest


def audit(
    client: Callable[[list[Any]], Any] | str,
    design: Design | OpenDomain,
    *,
    answers: Sequence[Label] | None = None,
    runs: int | None = None,
    level: float = 0.95,
    raw: bool = False,
    timeout: float = 300,
) -> Audit:
    """Run a client many times, and compute a lower bound on the epsilon that it spends.

    The bound is valid for every client with independent runs. It is exact: with probability at least ``level``, no
    bound is above the true epsilon. It does not cover answers that were not tried.

    Parameters
    ----------
    client : callable or str
        A function that takes a list of answers and returns a report for each, as ``design.randomize`` does. Or a
        command, which reads one answer per line and prints one report per line, as ``warner randomize --lines`` does;
        it is split as a shell would, but no shell runs it.
    design : Design or OpenDomain
        The design that the client claims to follow.
    answers : sequence of labels, optional
        The answers to try, two or more. If not given: all of up to four, else the first, the middle and the last one;
        of an open domain a short one, a long one, and for texts one that is too long and becomes ``(other)``.
    runs : int, optional
        Number of runs with each answer. If not given, 100,000 for a function and 20,000 for a command.
    level : float
        Joint confidence level of all bounds and tests.
    raw : bool
        Read reports as texts of any form: for clients that do not write reports as the design does. The fit to the
        design is then not tested.
    timeout : float
        Seconds that a command may take, each of the three times that it is started for an answer.

    Examples
    --------
    A client that tells the truth with probability 0.9 where 3/4 was agreed spends ln 9 = 2.2, not ln 3 = 1.1.

    >>> from warner import RandomizedResponse
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> careless = RandomizedResponse(["yes", "no"], truth="0.9")
    >>> found = audit(careless.randomize, survey)
    >>> found.exceeds, found.fits
    (True, False)
    >>> 2.0 < found.epsilon_at_least < 2.2
    True
    """
    if not isinstance(design, OpenDomain):
        refuse_design(design, "audit(client, design)")
    check_level(level)
    labels, indices, statistics_for = _tried(design, answers)
    size = RAW_REPORT_BYTES if raw else _size_of_report(design)
    audited = _client(client, min(ANSWERS_AT_ONCE, max(1, BYTES_LEARNT_FROM // (4 * size))), timeout)
    usual = RUNS_OF_COMMAND if audited.text else RUNS_OF_FUNCTION
    total = whole_number("runs", usual if runs is None else runs, FEWEST_RUNS, MOST_RUNS)
    learning, choosing = min(total // 4, max(1, BYTES_LEARNT_FROM // (size * len(indices)))), total // 4
    judging = total - learning - choosing
    first_reports: list[list[list[Hashable]]] = []

    def run(number: int, summarize: Callable[[Iterable[Any]], Any]) -> list[Any]:
        """Run the client with each answer, and summarize its reports."""
        first_reports.append([[] for _ in labels])
        summaries = []
        for label, first in zip(labels, first_reports[-1], strict=True):
            pieces = audited.reports(label, number) if raw else codes(audited, design.report_form, label, number)
            with closing(pieces):
                summaries.append(summarize(_noted(pieces, first, raw=raw)))
        return summaries

    reports = run(learning, _concatenated)
    statistics = raw_statistics(reports) if raw else statistics_for(reports)
    count = partial(count_values, statistics)
    learnt = Observed.stacked([count([some]) for some in reports], learning)
    choice = Observed.stacked(run(choosing, count), choosing)
    judged = Observed.stacked(run(judging, count), judging)
    pairs = epsilon_bounds(statistics, (learnt, choice, judged), labels, (1 - level) / 2)
    misfits, tests = _misfits(statistics, learnt + choice + judged, indices, labels)
    repetitions = [
        chance_of_repeating(first, again)
        for later in first_reports[1:]
        for first, again in zip(first_reports[0], later, strict=True)
    ]
    # Half of alpha is for the bounds: p-values are doubled, and multiplied by the number of tests.
    factor = 2 * (tests + len(repetitions))
    return Audit(
        design=design,
        answers=labels,
        runs=total,
        level=level,
        raw=raw,
        pairs=pairs,
        p_value=min(1.0, factor * min((misfit.p_value for misfit in misfits), default=1.0)),
        misfits=tuple(m._replace(p_value=factor * m.p_value) for m in misfits if factor * m.p_value < 1 - level),
        repeats=factor * min(repetitions) < 1 - level,
        tests=tests,
    )


def _tried(
    design: Design | OpenDomain, answers: Sequence[Label] | None
) -> tuple[tuple[Label, ...], Integers, Callable[[Any], tuple[Statistic, ...]]]:
    """Return the answers to try, their positions in the domain, and a function that makes the statistics."""
    if isinstance(design, OpenDomain):
        labels, blocks = answers_tried(design, answers)
        return labels, np.arange(len(labels)), lambda learnt: open_statistics(design, labels, blocks)
    k = design.k
    indices = np.arange(k) if k <= ANSWERS_ALL_TRIED else np.array([0, k // 2, k - 1])
    if answers is not None:
        if isinstance(answers, str | bytes):
            raise TypeError(f"answers must be a list of answers, but got {answers!r}")
        indices = positions(list(answers), design.domain, what="answers")
        unknown = [label for label, index in zip(answers, indices.tolist(), strict=True) if index < 0]
        if unknown:
            hint, listed = did_you_mean(unknown[0], design.domain), enumerated(list(map(quoted, unknown)))
            raise ValueError(f"answers must be in the domain of the design, but it does not have {listed}{hint}")
        if len(indices) < 2 or len(set(indices.tolist())) < len(indices):
            given = enumerated(list(map(quoted, answers)))
            raise ValueError(f"answers must be at least two different answers, but got {given}")
    labels = tuple(design.domain[index] for index in indices.tolist())
    return labels, indices, lambda learnt: statistics_of(design, indices, learnt)


def _client(client: Any, piece: int, timeout: float) -> Client:
    if isinstance(client, str):
        return Command.written(client, timeout, piece)
    if not callable(client):
        raise TypeError(
            "client must be a function from a list of answers to a list of reports, or a command as a string, but got "
            f"a {type(client).__name__}"
        )
    return Function(client, piece)


def _size_of_report(design: Design | OpenDomain) -> int:
    if isinstance(design, OpenDomain):
        return design.report_form.width
    return int(design.draw(np.zeros(1, dtype=np.int64), os.urandom).nbytes)


def _concatenated(pieces: Iterable[Any]) -> Any:
    parts = list(pieces)
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return [text for texts in parts for text in texts]


def _noted(pieces: Iterable[Any], first: list[Hashable], *, raw: bool) -> Iterator[Any]:
    """Yield reports, raw ones as texts, and record the first ones."""
    for given in pieces:
        reports = [value if isinstance(value, str) else repr(value) for value in given] if raw else given
        some = reports[: max(0, REPORTS_COMPARED - len(first))]
        first.extend(some if raw else (np.asarray(row).tobytes() for row in some))
        yield reports


def epsilon_bounds(
    statistics: tuple[Statistic, ...],
    seen: tuple[Observed, Observed, Observed],
    labels: tuple[Label, ...],
    alpha: float,
) -> tuple[Pair, ...]:
    """Lower bounds on epsilon for each ordered pair of answers; all are valid with probability at least 1 - alpha.

    `seen` are the counts of the runs to learn from, to choose by, and to judge by.
    """
    learnt, choice, judged = seen
    ordered = [(i, j) for i in range(len(labels)) for j in range(len(labels)) if i != j]
    tail = alpha / (2 * len(ordered))
    pairs = []
    for first, second in ordered:
        event = best_event(statistics, learnt, choice, (first, second), judged.runs, tail)
        hits, others = event.hits(judged, first), event.hits(judged, second)
        bound = epsilon_at_least(hits, others, judged.runs, tail)
        pairs.append(Pair(labels[first], labels[second], bound, event.words(statistics), hits, others, judged.runs))
    return tuple(pairs)


def epsilon_at_least(hits: int, others: int, runs: int, tail: float) -> float:
    """Bound ln(P(A | x) / P(A | x')) from below, where A came `hits` and `others` times.

    >>> round(epsilon_at_least(500, 100, 1000, 0.025), 3)
    1.36
    >>> epsilon_at_least(100, 100, 1000, 0.025)  # epsilon is never negative
    0.0
    """
    low, high = float(binomial_limits(hits, runs, tail)[0]), float(binomial_limits(others, runs, tail)[1])
    return math.log(low / high) if low > high else 0.0


def _misfits(
    statistics: tuple[Statistic, ...], seen: Observed, indices: Integers, labels: tuple[Label, ...]
) -> tuple[list[Misfit], int]:
    """Compare each binomial count with its distribution; return the smallest p-values and the number of tests."""
    misfits, tests = [], 0
    for index, statistic in enumerate(statistics):
        if statistic.law is None:
            continue
        for row, answer in enumerate(indices.tolist()):
            counts = seen.counts[index][row]
            law = np.clip(np.broadcast_to(statistic.law(answer), counts.shape), 0, 1)
            n = np.float64(seen.runs)
            tails = np.minimum(at_least(counts, n, law), at_most(counts, n, law))
            tests += counts.size
            for value in np.argsort(tails, kind="stable")[:MISFITS_KEPT].tolist():
                words, p = Event(index, np.array([value])).words(statistics), min(1.0, 2 * float(tails[value]))
                misfits.append(Misfit(labels[row], words, float(counts[value] / n), float(law[value]), p))
    # Ties among p-values of 0 are ordered by the difference.
    misfits.sort(key=lambda misfit: (misfit.p_value, -abs(misfit.share - misfit.expected)))
    return misfits[:MISFITS_KEPT], tests


def chance_of_repeating(first: list[Hashable], again: list[Hashable]) -> float:
    """Probability that a second start repeats the reports in the same order; 1 if it did not.

    If runs are independent, every order of the same reports is equally likely, for every client.

    >>> round(chance_of_repeating(list("aab"), list("aab")), 3)  # of aab, aba and baa
    0.333
    """
    length = min(len(first), len(again))
    if first[:length] != again[:length]:
        return 1.0
    orders = math.lgamma(length + 1) - sum(math.lgamma(times + 1) for times in Counter(again[:length]).values())
    return min(1.0, math.exp(-orders))
