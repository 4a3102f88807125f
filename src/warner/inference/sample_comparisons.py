"""Comparing two independent samples, each under its own design: one answer, or all of them with adjusted p-values.

*One answer.* Where each share shows in a binomial count, and there are up to `MOST_REPORTS`, interval and test are
exact (module `exact_tests`). Otherwise the intervals of both samples are joined (`differences.joined_interval`).

*All answers.* Under one design, shares are equal exactly where the probabilities of their counts are. So Fisher's exact
test applies to each answer, for any number of reports. Under two designs each test is that of one answer, exact up to
`MOST_REPORTS` and `MOST_REPORTS_OF_GROUPS` reports of all answers. The p-values are adjusted by Holm's method, which
bounds the family-wise error rate for tests that depend on each other in any way, or by that of Benjamini and Hochberg.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING, overload

import numpy as np

from warner.arrays import objects
from warner.inference.agreement import MOST_REPORTS_OF_GROUPS
from warner.inference.answer_tables import FIRST_ROWS
from warner.inference.comparisons import Comparison, answers_of_interest, compare_groups, groups_between, shown_name
from warner.inference.differences import (
    STUDENT,
    Difference,
    Sample,
    agreeing,
    domains_compared,
    exact_difference,
    joined_interval,
    joined_test,
    ratio_limits,
)
from warner.inference.exact_tests import MOST_REPORTS, equality_test, fisher_test
from warner.inference.intervals import Confidence, law_of, positions_of
from warner.inference.normal import Sampled, joints
from warner.inference.presence import adjusted
from warner.reports.tallies import refuse_uncounted
from warner.results import Column, Estimates, TableResult, with_library
from warner.text import counted, enumerated, level_text, printable, quoted
from warner.typesetting import fragment, labels, p_value_cells, percent_cells, plain_table, share_decimals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Integers, Label, Mask
    from warner.documents import Document
    from warner.reports.tallies import Collected

FIRST_SAMPLE, SECOND_SAMPLE = "the first sample", "the second sample"


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons(TableResult):
    """The shares of all answers in two samples, with tests of equality that are adjusted for their number.

    Attributes
    ----------
    first, second : str
        Names of the samples, or of the groups.
    answers : tuple of labels
        The answers; of two answers whose shares sum to one, the first.
    shares : ndarray of shape (2, answers)
        Unbiased estimates of the shares in both samples, cut to the range from 0 to 1.
    difference, unbiased : ndarray of shape (answers,)
        First minus second of these shares, and of the unbiased estimates themselves.
    low, high : ndarray of shape (answers,)
        Confidence interval of each difference alone: approximate, and not simultaneous.
    p_value, adjusted : ndarray of shape (answers,)
        Of "both shares are equal", for each answer alone, and adjusted for the number of answers.
    changed : ndarray of bool of shape (answers,)
        Whether the adjusted p-value is at most 1 - ``level``.
    confidence : Confidence
        The level, and whose shares are meant.
    correction : {"holm", "bh"}
        Method of the adjusted p-values.
    approximate : bool
        Whether any p-value is approximate.
    test : str
        Kind of the tests: ``Fisher's exact``, ``Barnard's exact``, ``Student's t``, or ``approximate``.
    """

    first: str
    second: str
    answers: tuple[Label, ...]
    shares: Array
    unbiased: Array
    low: Array
    high: Array
    p_value: Array
    adjusted: Array
    confidence: Confidence
    correction: str
    approximate: bool
    test: str

    _rows_key = "comparisons"

    @property
    def difference(self) -> Array:
        """First minus second of the shares."""
        return np.asarray(self.shares[0] - self.shares[1])

    @property
    def changed(self) -> Mask:
        """True for answers with an adjusted p-value of at most 1 - level."""
        return np.asarray(self.adjusted <= 1 - self.confidence.level)

    def _columns(self, rows: int | None = None) -> list[Column]:
        """Return a row for each answer; readers see the first `rows`, by p-value."""
        shown = self._rows_shown(rows)
        names_of_numbers = ("difference", "unbiased", "low", "high", "p_value", "adjusted", "changed")
        numbers = {name: getattr(self, name) for name in names_of_numbers}
        difference, unbiased, low, high, p, tested, _ = (column[shown] for column in numbers.values())
        decimals = share_decimals(low, high)
        rounded = np.round(100 * np.stack([difference, unbiased]), decimals)
        further = {} if np.array_equal(*rounded) else {"unbiased": unbiased}
        cells = Estimates(difference, low, high, p=p, unit="points")
        values = objects(self.answers)
        shares = zip((self.first, self.second), self.shares[:, shown], strict=True)
        return [
            Column("value", values),
            Column("first", self.shares[0]),
            Column("second", self.shares[1]),
            *starmap(Column, numbers.items()),
            Column(heading="value", texts=partial(labels, values[shown])),
            *(Column(heading=f"{name} (%)", texts=partial(percent_cells, part, decimals)) for name, part in shares),
            *cells.shown("difference", f"{level_text(self.confidence.level)} interval", further=further),
            Column(heading="adjusted p", texts=partial(p_value_cells, tested)),
        ]

    def _rows_shown(self, rows: int | None) -> Integers:
        if rows is None or rows >= len(self.answers):
            return np.arange(len(self.answers))
        return np.argsort(self.p_value, kind="stable")[:rows]

    def _title(self, rows: int | None = None) -> str:
        return f"All answers in {self.first} against {self.second}"

    def _footnotes(self, rows: int | None = None) -> list[str]:
        hidden = len(self.answers) - len(self._rows_shown(rows))
        changed = [quoted(self.answers[index]) for index in np.flatnonzero(self.changed)]
        about = "about" if self.approximate or self.correction == "bh" else "at most"
        method, rate = {
            "holm": ("Holm's method", "family-wise error rate"),
            "bh": ("Benjamini and Hochberg's method, which is not proven here", "false discovery rate"),
        }[self.correction]
        number = counted(len(self.answers), "answer", "answers")
        differ = f"shares that differ: {len(changed):,} of {number}"
        tests = f"{self.test} tests of equality, adjusted for {number} by {method}"
        return [
            *([f"... and {counted(hidden, 'more answer', 'more answers')} with larger p-values"] if hidden else []),
            f"{differ}: {enumerated(changed, FIRST_ROWS)}" if changed else differ,
            f"{tests}; the {rate} is {about} {100 * (1 - self.confidence.level):.6g} %",
            "intervals are approximate, for the population and for one answer at a time",
        ]

    def _facts(self) -> Document:
        return {
            "format": "warner comparisons",
            "version": 1,
            "first": self.first,
            "second": self.second,
            "changed": [self.answers[index] for index in np.flatnonzero(self.changed)],
            "correction": self.correction,
            "test": self.test,
            "level": self.confidence.level,
            "target": self.confidence.target,
            "approximate": self.approximate,
        }

    def text(self, rows: int | None = FIRST_ROWS) -> str:
        """Return the table for a terminal, with this number of rows; all of them if None."""
        return plain_table(self._printed(rows=rows))

    def _repr_html_(self) -> str:
        return fragment(self._printed(rows=FIRST_ROWS))


@overload
def compare_samples(
    first: Collected, second: Collected, answer: Label, *, level: float = 0.95, names: tuple[str, str] = ...
) -> Comparison: ...
@overload
def compare_samples(
    first: Collected,
    second: Collected,
    answer: None = None,
    *,
    level: float = 0.95,
    names: tuple[str, str] = ...,
    correction: str = "holm",
) -> Comparisons: ...
@overload
def compare_samples(
    first: Collected, *, answer: Label, between: tuple[object, object], level: float = 0.95
) -> Comparison: ...
@overload
def compare_samples(
    first: Collected, *, answer: None = None, between: tuple[object, object], level: float = 0.95, correction: str = ...
) -> Comparisons: ...
def compare_samples(
    first: Collected,
    second: Collected | None = None,
    answer: Label | None = None,
    *,
    between: tuple[object, object] | None = None,
    level: float = 0.95,
    names: tuple[str, str] = (FIRST_SAMPLE, SECOND_SAMPLE),
    correction: str = "holm",
) -> Comparison | Comparisons:
    """Compare the share of one answer, or of all answers, between two independent samples or two groups.

    One answer: for a direct question, which is a design that always tells the truth (``odds=(1, 0)``), against a
    randomized one; for two countries or two devices. If respondents deny a trait when they are asked directly, the
    randomized question finds more of it.

    All answers: which shares differ between two months, versions or devices, with p-values that are adjusted for the
    number of answers.

    Parameters
    ----------
    first, second : Tally or Pool
        The counted reports of each sample, without groups. No respondent may be in both, which reports cannot show.
    answer : label, optional
        The answer whose share is compared; it must be possible in both samples. If not given, all answers are
        compared, and both samples must have the same ones.
    between : tuple of two groups, optional
        Compare two groups of the first tally, in the place of a second sample.
    level : float
        Confidence level of the intervals. 1 - ``level`` is the error rate of all tests together.
    names : tuple of two str
        Names of the samples in the result.
    correction : {"holm", "bh"}
        Of all answers: Holm's method bounds the probability of any false finding, Benjamini and Hochberg's (``bh``)
        the expected share of false findings among all findings, which is not proven for these counts.

    Returns
    -------
    Comparison or Comparisons
        A `Comparison` of one answer, or the `Comparisons` of all answers. For one answer, test and interval are
        sharper; Fisher's test of all answers is exact for any number of reports.

    Examples
    --------
    Of 400 respondents asked directly 20 say yes, 5 %. Of 600 with dice 160 do: (160/600 - 1/6) / (3/4) is 13.3 %.

    >>> from warner import RandomizedResponse, Tally, surveys
    >>> direct = Tally(RandomizedResponse(["yes", "no"], odds=(1, 0)), [20, 380])
    >>> dice = Tally(surveys.forced_response(truth="3/4", yes="1/6"), [160, 440])
    >>> compare_samples(dice, direct, "yes", names=("dice", "direct"))
    'yes' in dice against 'yes' in direct
    difference (points)  95 % interval (population)  ratio, 95 % interval      p
                  +8.33             +3.15 to +13.67  just above 1 to 6.65  0.002
    Exact test of equality in the population.

    All answers of a question in two months:

    >>> browser = RandomizedResponse(["A", "B", "C"], odds=(6, 1))
    >>> march, april = Tally(browser, [500, 300, 200]), Tally(browser, [430, 300, 270])
    >>> compare_samples(march, april, names=("March", "April"))
    All answers in March against April
    value  March (%)  April (%)  difference (points)    95 % interval       p  adjusted p
    A          60.00      48.80               +11.20  +4.09 to +18.26   0.002       0.004
    B          28.00      28.00                 0.00   -6.53 to +6.53   1.000       1.000
    C          12.00      23.20               -11.20  -17.22 to -5.15  <0.001      <0.001
    Shares that differ: 2 of 3 answers: 'A', 'C'.
    Fisher's exact tests of equality, adjusted for 3 answers by Holm's method; the family-wise error rate is at most
    5 %.
    Intervals are approximate, for the population and for one answer at a time.
    """
    confidence = Confidence(level)
    if (second is None) == (between is None):
        raise TypeError("compare_samples needs a second sample, or between=(group, group)")
    if isinstance(names, str) or len(names) != 2:
        raise ValueError(f"names must be two texts, one for each sample, but got {names!r}")
    for tally in (first, second):
        if tally is not None:
            refuse_uncounted(tally, "compare_samples(Tally(design, counts), Tally(design, counts), answer)")
    if between is not None:
        if answer is not None:
            return with_library(compare_groups(first, answer, between, confidence), first.backend, first.skipped_files)
        keys, rows = groups_between(first, between, confidence)
        called = shown_name(keys[0]), shown_name(keys[1])
        return _all_answers((first, first), (rows[0], rows[1]), called, confidence, correction)
    assert second is not None
    for tally, name in ((first, "first"), (second, "second")):
        if tally.by:
            raise ValueError(
                f"the {name} sample must have no groups, but is grouped by {', '.join(tally.by)}; add them up with "
                "aggregate(), or give one tally and between=(group, group)"
            )
        if not tally.answered.all():
            raise ValueError(f"the {name} sample must have reports, but has none")
    if answer is not None:
        return _one_answer((first, second), answer, names, confidence)
    if first.domain != second.domain:
        one, two = (f"{tally.k:,} answers from {quoted(tally.domain[0])}" for tally in (first, second))
        raise ValueError(
            f"samples must have the same answers, in the same order, to be compared in all of them, but got {one} and "
            f"{two}; name one answer that both have"
        )
    if first.sample is not None or second.sample is not None:
        raise ValueError(
            "samples with strata, clusters or replicate weights are compared in one answer: name it; or tally both "
            "together by a column, and compare two groups of that tally with between="
        )
    return _all_answers((first, second), (0, 0), names, confidence, correction)


# One answer


def _one_answer(
    tallies: tuple[Collected, Collected], answer: Label, names: tuple[str, str], confidence: Confidence
) -> Comparison:
    samples = [_sample(tally, answer, name) for tally, name in zip(tallies, ("first", "second"), strict=True)]
    tail, (one, two) = confidence.tail(1), (sample.binomial for sample in samples)
    simple = all(tally.simple for tally in tallies)
    if simple and one is not None and two is not None and one.n + two.n <= MOST_REPORTS:
        numbers, test = exact_difference(one, two, tail), "exact"
    else:  # join the intervals of both samples; that of the ratio has each of them at half the tail
        low, high = joined_interval(samples, 1 - confidence.level)
        ratio = ratio_limits(*(end for sample in samples for end in np.clip(sample.interval(tail / 2), 0, 1)))
        apart, test = samples[0].unbiased - samples[1].unbiased, "approximate"
        numbers = Difference(apart, low, high, *ratio, joined_test(samples))
    first, second = (min(max(sample.unbiased, 0.0), 1.0) for sample in samples)
    called = f"{answer!r} in {names[0]}", f"{answer!r} in {names[1]}"
    numbers = Difference(*map(float, agreeing(numbers, confidence)))
    result = Comparison(*called, first - second, *numbers, confidence, test == "approximate", test)
    return with_library(result, tallies[0].backend, {**tallies[0].skipped_files, **tallies[1].skipped_files})


def _sample(tally: Collected, answer: Label, name: str) -> Sample:
    (sample,) = _samples(tally, 0, positions_of([answer], tally.domain), f"the {name} sample")
    return sample


def _samples(tally: Collected, row: int, indices: Sequence[int], name: str) -> list[Sample]:
    informative = any(part.design.epsilon > 0 and part.answered[row] for part in tally.parts)
    (joint,) = joints(tally.parts, [row], [[index] for index in indices]) if informative else (None,)
    unknown = indices[:1] if joint is None else np.asarray(indices)[~np.isfinite(joint.sampled().error)]
    if joint is None or len(unknown):
        answer = tally.domain[int(unknown[0])]
        raise ValueError(f"the design of {name} must identify the share of {answer!r}, but it does not")
    counts = joint.exact[0] & (joint.binomial.n[0] >= 1) & (len(joint.exact) == 1) & (not joint.uninformative)
    estimates = zip(*joint.sampled(), strict=True)
    return [
        Sample(Sampled(*estimate), joint.only_count(index) if counts[index] else None)
        for index, estimate in enumerate(estimates)
    ]


# All answers


def _all_answers(
    tallies: tuple[Collected, Collected],
    rows: tuple[int, int],
    names: tuple[str, str],
    confidence: Confidence,
    correction: str,
) -> Comparisons:
    laws, k = [part.design.law for tally in tallies for part in tally.parts], tallies[0].k
    # Of two answers whose shares sum to one in single counts, the first is compared.
    indices = answers_of_interest(k) if all(law.exclusive and law.exhaustive for law in laws) else range(k)
    one, two = (_samples(tally, row, indices, name) for tally, row, name in zip(tallies, rows, names, strict=True))
    if tallies[0].sample is not None:
        law = law_of(tallies[0], confidence)
        each = [domains_compared(tallies[0].parts[0], index, list(rows), law)[0] for index in indices]
        numbers, tests = [(apart.low, apart.high, apart.p_value) for apart in each], [STUDENT]
    else:
        reports = float(one[0].estimate.reports + two[0].estimate.reports)
        simple = tallies[0].simple and tallies[1].simple
        quick = len(indices) * reports <= MOST_REPORTS_OF_GROUPS
        tested = [_equality(pair, simple=simple, quick=quick) for pair in zip(one, two, strict=True)]
        joined = (joined_interval([*pair], 1 - confidence.level) for pair in zip(one, two, strict=True))
        numbers = [(*ends, p) for ends, (p, _) in zip(joined, tested, strict=True)]
        tests = list(dict.fromkeys(test for _, test in tested))
    unbiased = np.array([[sample.unbiased for sample in samples] for samples in (one, two)])
    low, high, p_value = np.array(numbers, dtype=np.float64).T
    apart = unbiased[0] - unbiased[1]
    ends = agreeing(Difference(apart, low, high, np.zeros_like(low), np.full_like(low, np.inf), p_value), confidence)
    result = Comparisons(
        printable(names[0]),
        printable(names[1]),
        answers=tuple(tallies[0].domain[index] for index in indices),
        shares=np.clip(unbiased, 0, 1),
        unbiased=apart,
        low=ends.low,
        high=ends.high,
        p_value=p_value,
        adjusted=adjusted(p_value, correction),
        confidence=confidence,
        correction=correction,
        approximate=not all("exact" in test for test in tests),
        test=" and ".join(tests),
    )
    return with_library(result, tallies[0].backend, {**tallies[0].skipped_files, **tallies[1].skipped_files})


def _equality(samples: tuple[Sample, Sample], *, simple: bool, quick: bool) -> tuple[float, str]:
    """Test that both shares are equal; also the kind of the test."""
    one, two = (sample.binomial for sample in samples)
    if simple and one is not None and two is not None:
        if (one.base, one.gain) == (two.base, two.gain):
            return fisher_test(one.count, two.count, (one.n, two.n)), "Fisher's exact"
        if quick and one.n + two.n <= MOST_REPORTS:
            return equality_test(one, two), "Barnard's exact"
    return joined_test(list(samples)), "approximate"
