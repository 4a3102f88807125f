r"""Comparison of mechanisms: what each needs for the same answers at the same epsilon, and which to take.

All mechanisms give the same privacy; they differ in three things. *People*: the fewest that reach a precision, by the
formulas of a plan. *Bits*: what a report takes to send. *Decoding*: the steps from reports to counts. Where answers are
many, nearly all of them are rare, and the number of people goes with the variance that one report leaves in the
unbiased share of an answer that nobody holds [1]_,

.. math:: v = \frac{q(1-q)}{(p-q)^2}.

**The rule.** Of the mechanisms whose v is at most 5 % above the smallest, take the one with the shortest reports; if
two are equally short, the one with the smaller v. It depends on the number of answers and on epsilon alone. Randomized
response, whose reports are as short as can be, is so taken wherever it is about the best. Of a mechanism with several
variants one is in question; the others are compared, for those who must have them, and not recommended.

**Numbers.** For the mean of a number, v is the largest variance, over all answers, that randomizing adds to one report
of the unbiased mean, as a part of the squared range: sampling error comes on top, and is the same for all. For its
distribution, v is the variance that randomizing adds to one report of the unbiased distribution function, on average
over the numbers, if all are equally common: that of exact limits, of quantiles and of shares beyond a number, whatever
the shape. How close an estimator comes that assumes a smooth shape has no formula, and depends on the shape; there
square waves are several times closer, which the recommendation says. Square waves and cut-off responses are compared as
well then; the rule is the same. Both are exact, but for affine hashing, whose law of three answers is averaged over all
of them (`warner.planning.number_precision`).

A worked number: 16 answers at epsilon 1. Randomized response has p = e / (e + 15) = 0.1534 and q = 1 / (e + 15) =
0.0564, so v = 5.66. Sets of 4 answers have p = 4e / (4e + 12) = 0.4754, q = 4 (3e + 12) / (15 (4e + 12)) = 0.2350 and
v = 3.11: 55 % of the people, for reports of log2 1820 = 10.8 bits in the place of 4.

References
----------
.. [1] T. Wang, J. Blocki, N. Li, S. Jha, "Locally differentially private protocols for frequency estimation", USENIX
   Security 2017: the comparison by this variance.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.arrays import objects
from warner.designs import MECHANISMS
from warner.designs.exact import exact
from warner.designs.labels import canonical
from warner.estimators.methods import SMOOTHED
from warner.inference.intervals import Confidence
from warner.planning.number_precision import noise_of_distribution, noise_of_mean, precision_of
from warner.planning.populations import population_shares
from warner.planning.precision import (
    DEFAULT_POWER,
    MEASURES,
    PlanningQuestion,
    Precision,
    check_people,
    check_question,
    measure_of,
    numbers_asked,
    with_article,
)
from warner.planning.solving import fewest_people
from warner.planning.wording import share_text
from warner.results import Result, plain, rows
from warner.typesetting import Printed, in_digits
from warner.words import aligned, counted, enumerated, quoted, rounded_up, wrapped

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes

    from warner.arrays import Array, Counts
    from warner.designs.contract import Design
    from warner.designs.exact import Number
    from warner.designs.labels import Domain, Labels
    from warner.documents import Document
    from warner.planning.populations import Population

VARIANCE_TOLERANCE = 0.05  # part by which the variance may exceed the smallest, for the sake of short reports
DIGITS_COMPARED = 9  # in which variances, and bits, agree that are the same
WHOLE_BITS_FROM = 100  # bits from which on they are shown as whole numbers
WORTH_NAMING = 0.95  # another mechanism is named if it needs less than this part of the people
FAR_SHORTER = 0.5  # or if its reports are shorter than this part


class CandidateMechanism(NamedTuple):
    """A mechanism at its best for some number of answers and some epsilon.

    `variance` is that of the unbiased share of an answer that nobody holds, for one report; of a mean or a
    distribution, what randomizing adds. What is `in_question` may be recommended; other variants of a mechanism are
    compared only.
    """

    name: str
    design: Design
    variance: float
    in_question: bool

    @property
    def bits(self) -> float:
        """What a report takes to send."""
        return self.design.report_bits


class ComparisonWords(NamedTuple):
    """How the variance by which mechanisms are compared is spoken of."""

    smallest: str  # variance of ...
    error: str  # for the same error of ...
    caution: str = ""  # what the variance does not tell


COMPARED = {
    "shares": ComparisonWords("variance of rare answers", "rare answers"),
    "mean": ComparisonWords("worst-case variance of the mean", "the mean (noise alone, in the worst case)"),
    "distribution": ComparisonWords(
        "variance of the distribution function",
        "the distribution function (noise alone, on average)",
        f" This is for limits that assume nothing about the shape. If the whole curve is to be known, and neighbouring "
        f"numbers are about equally common, take a square wave and the estimator {SMOOTHED}: it comes several times "
        "closer.",
    ),
}


def candidates(
    domain: Domain, epsilon: Number, quantity: str = "shares", memberships: Array | None = None
) -> list[CandidateMechanism]:
    """Make the designs of all mechanisms that follow from epsilon, the best for this quantity first.

    For shares, those whose answers are alike. `memberships` are the numbers of a mean, on a range from 0 to 1. A
    mechanism that cannot be made for this epsilon is left out; the list is empty if that holds for all.
    """

    def variance(design: Design) -> float:
        if quantity == "distribution":
            return noise_of_distribution(design)
        return variance_of_rare(design) if memberships is None else noise_of_mean(design, memberships)

    listed: list[CandidateMechanism] = []
    for mechanism in MECHANISMS.values():
        with suppress(ValueError):
            listed += [
                CandidateMechanism(name, design, variance(design), in_question=place == 0)
                for place, (name, design) in enumerate(mechanism.variants(domain, epsilon, quantity).items())
                if design.alike is not None or quantity != "shares"
            ]
    return sorted(listed, key=lambda candidate: float(f"{candidate.variance:.{DIGITS_COMPARED}g}"))


def variance_of_rare(design: Design) -> float:
    """Give the variance that one report leaves in the unbiased share of an answer that nobody holds, on average."""
    assert design.alike is not None
    return float(design.alike.variance_of_absent) / design.counted_part


def preferred(offered: Sequence[CandidateMechanism]) -> CandidateMechanism:
    """Choose by the rule: the shortest reports among those within 5 % of the smallest variance.

    >>> [preferred(candidates(3, epsilon)).name for epsilon in (0.5, 5)]
    ['randomized response', 'randomized response']
    """
    able = [candidate for candidate in offered if candidate.in_question]
    precise = (candidate for candidate in able if candidate.variance <= (1 + VARIANCE_TOLERANCE) * able[0].variance)
    return min(
        precise, key=lambda candidate: round(candidate.bits, DIGITS_COMPARED)
    )  # of equally short ones, the first


def bits_text(bits: float) -> str:
    """Write a number of bits as a tenth, or as a whole number where they are many."""
    return f"{bits:,.0f}" if bits >= WHOLE_BITS_FROM else f"{bits:.1f}"


@dataclass(frozen=True, eq=False, repr=False)
class Mechanisms(Result):
    """All mechanisms side by side, for the same answers at the same epsilon.

    Attributes
    ----------
    domain : tuple or range
        The possible answers.
    epsilon : number
        What a report may spend, as it was asked for.
    candidates : tuple of CandidateMechanism
        The mechanisms, those with the smallest variance first; of shares, their designs are for the answers 0, 1, 2,
        ... (`design` gives them for the real ones).
    question : PlanningQuestion
        What is to be known, and how surely.
    people : int or None
        The number of people who report; None where that is the question, or where none was asked.
    quantity : {"shares", "mean", "distribution"}
        What they are compared for.
    """

    domain: Labels
    epsilon: Number
    candidates: tuple[CandidateMechanism, ...]
    question: PlanningQuestion
    people: int | None = None
    quantity: str = "shares"

    def at(self, epsilon: Number) -> list[CandidateMechanism]:
        """Give the mechanisms at another epsilon, compared for the same quantity."""
        return _candidates(self.domain, epsilon, self.question, self.quantity)

    @cached_property
    def recommended(self) -> str:
        """The name of the mechanism to take: the shortest reports among those within 5 % of the smallest variance."""
        return preferred(self.candidates).name

    def shown_epsilon(self) -> str:
        """Write epsilon in four digits, rounded up."""
        return rounded_up(float(exact("epsilon", self.epsilon)), 4)

    def design(self, name: str | None = None) -> Design:
        """Give the design of the recommended mechanism, or of this one, for these answers and this epsilon.

        >>> mechanisms(["never", "once", "often"], epsilon=1).design()
        <RandomizedResponse among 3 answers ('never', 'once', 'often'): truth 0.5761, each lie 0.2119, epsilon 1>
        """
        wanted = self.recommended if name is None else name
        for candidate in self.candidates:
            if candidate.name == wanted:
                return MECHANISMS[candidate.design.mechanism].variants(self.domain, self.epsilon, self.quantity)[wanted]
        known = ", ".join(repr(candidate.name) for candidate in self.candidates)
        raise ValueError(f"name must be one of {known}, but got {name!r}")

    @cached_property
    def needed(self) -> tuple[int | None, ...]:
        """The people that each mechanism is for: as given, or the fewest that reach the goal; None if 2^53 do not."""
        if self.question.goal is None:
            return (self.people,) * len(self.candidates)
        return tuple(_people(candidate.design, self.question, self.question.goal) for candidate in self.candidates)

    def table(self) -> dict[str, Counts]:
        """Give a row for each mechanism, those with the smallest variance first.

        Returns
        -------
        dict of str to ndarray
            Columns ``mechanism``, ``variance`` (of one report: of the share of an answer that nobody holds, or what
            randomizing adds to that of a mean on a range of 1, or of the distribution function), ``bits`` of a report,
            and ``recommended``; if people or a precision were given, also ``people``, the half-width or the error that
            they reach, and ``decoding``, the steps from their reports to counts.
        """
        columns = {
            "mechanism": objects(candidate.name for candidate in self.candidates),
            "variance": np.array([candidate.variance for candidate in self.candidates]),
            "bits": np.array([candidate.bits for candidate in self.candidates]),
            "recommended": np.array([candidate.name == self.recommended for candidate in self.candidates]),
        }
        if self.needed[0] is None and self.question.goal is None:
            return columns
        designs = [(candidate.design, people) for candidate, people in zip(self.candidates, self.needed, strict=True)]
        reached = [
            np.nan if n is None else precision_of(design, self.question).measured(float(n)) for design, n in designs
        ]
        return columns | {
            "people": objects(self.needed),
            self.question.measure: np.array(reached),
            "decoding": np.array([np.nan if n is None else design.decoding(float(n)) for design, n in designs]),
        }

    def printed(self, **options: Any) -> Printed:
        """Give a table for a paper: the columns of the text."""
        del options  # the table has none
        heads, rows = self._cells()
        columns = dict(zip(heads, map(list, zip(*rows, strict=True)), strict=True))
        columns["recommended"] = ["yes" if text else "" for text in columns.pop("")]
        if "decoding" in columns:
            columns["decoding"] = ["" if np.isnan(steps) else in_digits(steps, 2) for steps in self.table()["decoding"]]
        return Printed(columns, self._title, (self.reason,))

    @property
    def _title(self) -> str:
        told = {"shares": "", "mean": "the mean of ", "distribution": "the distribution of "}[self.quantity]
        return f"Mechanisms for {told}{len(self.domain):,} answers at epsilon {self.shown_epsilon()}{self._about}"

    def to_dict(self) -> Document:
        """Give the table, row by row, and the mechanism that is recommended, as what JSON can hold."""
        return {
            "answers": len(self.domain),
            "quantity": self.quantity,
            "epsilon": float(exact("epsilon", self.epsilon)),
            "goal": plain(self.question.goal),
            "mechanisms": rows(self.table()),
            "recommended": self.recommended,
            "reason": self.reason,
        }

    def text(self) -> str:
        """Write the table, and the recommendation with its reason."""
        heads, rows = self._cells()
        return "\n".join([wrapped([f"{self._title}:"]), *aligned([heads, *rows]), wrapped([self.reason])])

    @property
    def _about(self) -> str:
        question, measure = self.question, self.question.measure
        case = "in the worst case" if question.population is None else "in the population"
        if question.share is not None and question.measure == "half_width":
            case = f"at a share of {share_text(question.share)}"
        if question.goal is not None:
            return f"; people for {with_article(measure)} of {question.amount(question.goal)}{question.about} {case}"
        if self.people is None:
            return ""
        return f"; {MEASURES[measure]}{question.about} of {counted(self.people, 'person', 'people')} {case}"

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        table = self.table()
        columns: list[tuple[str, list[str]]] = [("mechanism", table["mechanism"].tolist())]
        if self.question.goal is not None:
            columns.append(("people", ["> 2^53" if n is None else f"{n:,}" for n in table["people"].tolist()]))
        elif self.people is not None:
            scale, head = self.question.scale, "points" if self.question.numbers is None else "plus or minus"
            reached = table[self.question.measure].tolist()
            columns.append((head, [self.question.cell(scale * value) for value in reached]))
        columns.append(("variance", [f"{value:.4g}" for value in table["variance"].tolist()]))
        columns.append(("bits", [bits_text(value) for value in table["bits"].tolist()]))
        if "decoding" in table:
            columns.append(("decoding", [f"{value:.1e}" for value in table["decoding"].tolist()]))
        columns.append(("", ["recommended" if recommended else "" for recommended in table["recommended"].tolist()]))
        rows = [list(row) for row in zip(*(cells for _, cells in columns), strict=True)]
        return [head for head, _ in columns], rows

    @cached_property
    def reason(self) -> str:
        """The recommendation and its reason, in a sentence."""
        able = [candidate for candidate in self.candidates if candidate.in_question]
        recommended, best = preferred(able), able[0]
        about = COMPARED[self.quantity]
        said = f"Recommended: {recommended.name}, {bits_text(recommended.bits)} bits per report"
        if recommended.variance <= best.variance * (1 + 10.0**-DIGITS_COMPARED):
            shorter = any(
                round(other.bits, DIGITS_COMPARED) < round(recommended.bits, DIGITS_COMPARED) for other in able
            )
            others = f"no other that comes within {100 * VARIANCE_TOLERANCE:.0f} % of it has shorter reports"
            why = others if shorter else "none has shorter reports"
            return f"{said}: the smallest {about.smallest}; {why}.{about.caution}"
        return (
            f"{said}: the shortest reports among the mechanisms whose {about.smallest} is within "
            f"{100 * VARIANCE_TOLERANCE:.0f} % of the smallest, that of {best.name} with {bits_text(best.bits)} bits. "
            f"For the same error of {about.error} it needs "
            f"{100 * (recommended.variance / best.variance - 1):.2g} % more people.{about.caution}"
        )

    def plot(self, *, title: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw what each mechanism needs against epsilon; see `warner.output.plan_plots.plot_mechanisms`."""
        from warner.output.plan_plots import plot_mechanisms

        return plot_mechanisms(self, title=title, ax=ax)

    def save_plot(self, path: str | os.PathLike[str], *, title: str | None = None) -> None:
        """Write the picture to a PNG, SVG or PDF file; see `warner.output.plan_plots.save_mechanisms`."""
        from warner.output.plan_plots import save_mechanisms

        save_mechanisms(self, path, title=title)


def mechanisms(
    domain: Domain,
    *,
    epsilon: Number,
    people: int | None = None,
    half_width: float | None = None,
    error: float | None = None,
    share: float | None = None,
    level: float = 0.95,
    simultaneous: bool = False,
    quantity: str | float = "shares",
    values: Any = None,
    population: Population | None = None,
) -> Mechanisms:
    """Compare all mechanisms for these answers at this epsilon, and recommend one.

    The rule: of the mechanisms whose variance is at most 5 % above the smallest, the one with the shortest reports. The
    variance is that of a rare answer's share; of a mean or a distribution, what randomizing adds. Give a precision to
    see how many people each needs, or a number of people to see how precise each would be; neither changes the
    recommendation.

    Parameters
    ----------
    domain : int or sequence of labels
        The possible answers or their number.
    epsilon : number
        The privacy of one report, in nats.
    people : int, optional
        Number of people who report.
    half_width, error : float, optional
        Instead of ``people``: the half-width that an interval may have, or the root-mean-square error of the unbiased
        shares, as for `plan`.
    share : float, optional
        The true share that the half-width is for: 0 for a rare answer. If not given, the one with the widest interval
        under each mechanism.
    level, simultaneous
        As for `plan`.
    quantity : {"shares", "mean", "distribution", "median"} or float
        What is to be known: shares, or of answers that are numbers their mean, their distribution function, or a
        quantile, such as 0.9.
    values, population
        As for `plan`: the number that each answer stands for, and the expected shares, which a quantile needs.

    Examples
    --------
    >>> compared = mechanisms(16, epsilon=1)
    >>> best = compared.candidates[0]
    >>> best.name, round(best.variance, 2), round(best.bits, 1)
    ('subset selection', 3.11, 10.8)
    >>> compared.recommended
    'subset selection'
    >>> mechanisms(range(18, 100), epsilon=3, quantity="mean").recommended
    'square wave'
    """
    measure, goal = measure_of(half_width, error)
    if people is not None and goal is not None:
        raise TypeError(f"give people or {measure}, not both: the other one is compared")
    labels = canonical(domain)
    numbers = None if quantity in {"shares", "distribution"} else numbers_asked(labels, quantity, values)
    shares = None if population is None else population_shares(population, labels)
    confidence = Confidence(level, simultaneous=simultaneous)
    question = PlanningQuestion(measure, goal, confidence, DEFAULT_POWER, None, share, shares, numbers)
    check_question(question)
    if people is not None:
        check_people(people)
    if quantity == "distribution" and (people is not None or goal is not None):
        raise ValueError(
            'quantity must be "mean", "median" or a number such as 0.9 to compare by people or precision; for a '
            "distribution, variances are compared"
        )
    told = "distribution" if quantity == "distribution" else question.quantity
    found = compared(labels, epsilon, question, None if people is None else int(people), told)
    if found is None:
        for mechanism in MECHANISMS.values():  # one of them says what is wrong with epsilon
            mechanism.variants(len(labels), epsilon)
        raise ValueError(f"no mechanism can be made for epsilon {epsilon!r} and {len(labels):,} answers")
    return found


def compared(
    labels: Labels, epsilon: Number, question: PlanningQuestion, people: int | None, quantity: str | None = None
) -> Mechanisms | None:
    """Compare all mechanisms for a question; None where none can be made for this epsilon."""
    told = question.quantity if quantity is None else quantity
    offered = _candidates(labels, epsilon, question, told)
    return Mechanisms(labels, epsilon, tuple(offered), question, people, told) if offered else None


def _candidates(labels: Labels, epsilon: Number, question: PlanningQuestion, quantity: str) -> list[CandidateMechanism]:
    memberships = None if question.numbers is None else question.numbers.memberships
    # Of shares, labels would cost time, and change nothing.
    return candidates(len(labels) if quantity == "shares" else labels, epsilon, quantity, memberships)


def _people(design: Design, question: PlanningQuestion, goal: float) -> int | None:
    with suppress(ValueError):
        return fewest_people(design, question, goal)
    return None


# Advice of a plan


def advice(precision: Precision) -> Iterator[str]:
    """Say what else to consider, a sentence each."""
    design = precision.design
    names = [quoted(design.domain[place]) for place in precision.unidentified.tolist()]
    if names:
        yield (
            f"Not identified: reports of this design do not identify the share{'s' * (len(names) > 1)} of "
            f"{enumerated(names)}; the plan is for the other answers."
        )
    if design.alike is not None and not design.repeatable:  # what is better for one report may not bear a second
        yield from better_mechanism(design, variance_of_rare(design), candidates(design.k, design.epsilon))


def better_mechanism(
    design: Design, variance: float, offered: Sequence[CandidateMechanism], quantity: str = "shares"
) -> Iterator[str]:
    """Name the recommended mechanism where it needs clearly fewer people at the same epsilon, or far shorter reports.

    Fewer people by the variance of what is to be known, and recommended by the rule of `warner.planning.mechanisms`.
    """
    if not offered:
        return
    best = preferred(offered)
    part = best.variance / variance
    shorter = f"reports of {bits_text(best.bits)} bits instead of {bits_text(design.report_bits)}"
    error = COMPARED[quantity].error
    if part < WORTH_NAMING:
        yield (
            f"Another mechanism: at the same epsilon, {best.name} would need about {100 * part:.2g} % of the people "
            f"for the same error of {error}, and {shorter}."
        )
    elif best.bits < FAR_SHORTER * design.report_bits:
        yield (
            f"Another mechanism: at the same epsilon, {best.name} would need {shorter}, and about {100 * part:.3g} % "
            f"of the people for the same error of {error}."
        )
