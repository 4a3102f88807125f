r"""Comparison of mechanisms for the same answers at the same epsilon, and a recommendation.

**The criterion.** Mechanisms of shares are ranked by the total squared error T: the sum of the variances of all K
unbiased shares, for one report. With v the variance of the share of an answer that no respondent has [1]_,

.. math:: v = \frac{q(1-q)}{(p-q)^2}, \qquad T = K v + \frac{1 - 2q}{p-q} - \sum_i \theta_i^2.

The population enters through the last term alone, which is the same for every mechanism that asks about every answer:
the order is the same in every population. The column `total` is for equal shares, the worst case. If the true share
is given, mechanisms are ranked by the variance of that share, :math:`\phi(1-\phi)/(p-q)^2` with
:math:`\phi = q + (p-q)\theta`. Sizes of sets follow the same criterion. A mechanism that asks about a part of the
answers divides all of this by that part.

**The rule** is that of `mechanisms`. With 20 answers or more, shrinkage is the default estimator, which gains from
support of several answers. Ties are decided by the criterion, bits, steps of decoding, and for randomized response.

**Numbers.** For the mean of a number, v is the largest variance, over all answers, that randomizing adds to one report
of the unbiased mean, as a part of the squared range: sampling error comes on top, and is the same for all. For its
distribution, v is the variance that randomizing adds to one report of the unbiased distribution function, on average
over the numbers, if all are equally common. This is the variance behind exact limits, quantiles and shares beyond a
number, for every shape; estimators that assume a smooth shape have no formula for their error.

A worked number: 16 answers at epsilon 1. Randomized response has p = e / (e + 15) = 0.1534 and q = 1 / (e + 15) =
0.0564, so v = 5.66 and T = 16 v + (1 - 2q) / (p - q) - 1/16 = 99.7. Sets of 4 answers have p = 4e / (4e + 12) = 0.4754,
q = 4 (3e + 12) / (15 (4e + 12)) = 0.2350, v = 3.11 and T = 51.9: 52 % of the respondents, for reports of log2 1820 =
10.8 bits instead of 4.

References
----------
.. [1] T. Wang, J. Blocki, N. Li, S. Jha, "Locally differentially private protocols for frequency estimation", USENIX
   Security 2017: the comparison by this variance.
"""

from __future__ import annotations

import math
import operator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import starmap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.arrays import objects
from warner.designs import MECHANISMS, RandomizedResponse
from warner.designs.exact import exact
from warner.designs.labels import canonical
from warner.estimators.methods import SMOOTHED
from warner.inference.intervals import Confidence
from warner.planning.number_precision import fewest_people, noise_of_distribution, noise_of_mean, precision_of
from warner.planning.precision import (
    DEFAULT_POWER,
    MEASURES,
    PlanningQuestion,
    Precision,
    check_people,
    check_question,
    given_effect,
    measure_of,
    numbers_asked,
    population_shares,
    share_text,
    with_article,
)
from warner.results import Column, TableResult
from warner.text import check_choice, counted, enumerated, percent, quoted, rounded_up, sentence
from warner.typesetting import cells, in_digits

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes

    from warner.arrays import Array, Counts
    from warner.designs.contract import Design
    from warner.designs.exact import Number
    from warner.designs.labels import Domain, Labels
    from warner.documents import Document
    from warner.planning.precision import Population

VARIANCE_TOLERANCE = 0.05  # relative excess of the criterion over the smallest that short reports may cost
MANY_ANSWERS = 20  # number of answers from which on reports of up to 64 bits count as equally short
EQUALLY_SHORT = 64  # bits: a machine word
DECODED = 10.0**6  # reports for which the steps of decoding are compared
DIGITS_COMPARED = 9  # significant digits in which equal variances, or bits, agree
WHOLE_BITS_FROM = 100  # bits from which on they are shown as whole numbers
WORTH_NAMING = 0.95  # relative sample size below which another mechanism is named
FAR_SHORTER = 0.5  # relative length of reports below which another mechanism is named


class CandidateMechanism(NamedTuple):
    """A mechanism at its best for a number of answers and an epsilon.

    `variance` is that of the unbiased share of an answer that no respondent has, for one report; for a mean or a
    distribution, the variance that randomizing adds. For shares, `total` is the total squared error of one report, and
    `share_variance` the variance of a share of the given size. A candidate `in_question` may be recommended; other
    variants of a mechanism are listed for comparison.
    """

    name: str
    design: Design
    variance: float
    in_question: bool
    total: float | None = None
    share_variance: float | None = None

    @property
    def bits(self) -> float:
        """Length of a report in bits."""
        return self.design.report_form.bits

    @property
    def criterion(self) -> float:
        """Number by which mechanisms are ranked: the most specific one that is known."""
        known = (self.share_variance, self.total, self.variance)
        return next(value for value in known if value is not None)

    @property
    def rank(self) -> float:
        """The criterion, rounded, so that equal mechanisms compare equal."""
        return float(f"{self.criterion:.{DIGITS_COMPARED}g}")


class ComparisonWords(NamedTuple):
    smallest: str  # the criterion
    error: str  # for the same ...
    caution: str = ""  # what the criterion does not cover


COMPARED = {
    "shares": ComparisonWords("total squared error of the shares", "total error"),
    "mean": ComparisonWords("worst-case variance of the mean", "error of the mean (noise alone, in the worst case)"),
    "distribution": ComparisonWords(
        "variance of the distribution function",
        "error of the distribution function (noise alone, on average)",
        f" This is for limits that assume nothing about the shape. For the whole curve, if neighboring "
        f"numbers are about equally common, use a square wave and the estimator {SMOOTHED}: its error is several times "
        "smaller.",
    ),
}


def comparison_words(quantity: str, share: float | None = None) -> ComparisonWords:
    if share is None:
        return COMPARED[quantity]
    return ComparisonWords(f"variance of a share of {share_text(share)}", f"error of a share of {share_text(share)}")


def candidates(
    domain: Domain,
    epsilon: Number,
    quantity: str = "shares",
    memberships: Array | None = None,
    share: float | None = None,
) -> list[CandidateMechanism]:
    """Return the best design of every mechanism that follows from epsilon, ranked by the criterion of this quantity.

    For shares, the designs are symmetric, and the best ones for a `share` of this size if one is given. `memberships`
    are the numbers of a mean, on a range from 0 to 1. A mechanism that cannot be made for this epsilon is left out.
    """

    def candidate(name: str, design: Design, place: int) -> CandidateMechanism:
        total = given = None
        if quantity == "distribution":
            variance = noise_of_distribution(design)
        elif memberships is not None:
            variance = noise_of_mean(design, memberships)
        else:
            variance, total = variance_of_share(design, 0), total_error(design)
            given = None if share is None else variance_of_share(design, share)
        return CandidateMechanism(name, design, variance, place == 0, total, given)

    listed: list[CandidateMechanism] = []
    for mechanism in MECHANISMS.values():
        with suppress(ValueError):
            listed += [
                candidate(name, design if share is None else design.best_for_share(share), place)
                for place, (name, design) in enumerate(mechanism.variants(domain, epsilon, quantity).items())
                if design.law.symmetry is not None or quantity != "shares"
            ]
    return sorted(listed, key=lambda one: one.rank)


def variance_of_share(design: Design, share: Number) -> float:
    """Variance of the unbiased estimate of a share, for one report of a symmetric design."""
    assert design.law.symmetry is not None
    return float(design.law.symmetry.share_variance(exact("share", share))) / design.law.counted_fraction


def total_error(design: Design) -> float:
    """Total squared error of the unbiased shares, all equal, for one report of a symmetric design."""
    assert design.law.symmetry is not None
    return float(design.law.symmetry.total_variance(design.k)) / design.law.counted_fraction


def decoding_steps(design: Design, n: float) -> float:
    """Approximate number of steps to count n reports: their bytes of bits, all answers for each, or a transform."""
    if design.report_form.holds == "bits":
        return n * design.report_form.width
    if design.law.sufficient is None:
        return n * design.k
    return n if design.law.types is None else n + len(design.law.types) * math.log2(len(design.law.types))


def preferred(offered: Sequence[CandidateMechanism]) -> CandidateMechanism:
    """Recommended mechanism; the head of the module has the rule.

    >>> [preferred(candidates(3, epsilon)).name for epsilon in (0.5, 5)]
    ['randomized response', 'randomized response']
    """
    able = [candidate for candidate in offered if candidate.in_question]
    near = (candidate for candidate in able if candidate.criterion <= (1 + VARIANCE_TOLERANCE) * able[0].criterion)
    return min(
        near,
        key=lambda one: (
            max(round(one.bits, DIGITS_COMPARED), equally_short(one)),
            one.rank,
            round(one.bits, DIGITS_COMPARED),
            decoding_steps(one.design, DECODED),
            one.name != RandomizedResponse.mechanism,
        ),
    )


def equally_short(candidate: CandidateMechanism) -> int:
    return EQUALLY_SHORT if candidate.total is not None and candidate.design.k >= MANY_ANSWERS else 0


def ratio_in_words(ratio: float, more: str = "more respondents", many: str = "many respondents") -> str:
    """Write a ratio of sample sizes, or of variances, in words.

    >>> ratio_in_words(1.088), ratio_in_words(2.31), ratio_in_words(103.2)
    ('8.8 % more respondents', '2.3 times as many respondents', '103 times as many respondents')
    """
    factor = f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"
    return f"{100 * (ratio - 1):.2g} % {more}" if ratio < 2 else f"{factor} times as {many}"


def bits_text(bits: float) -> str:
    return f"{bits:,.0f}" if bits >= WHOLE_BITS_FROM else f"{bits:.1f}"


def variance_text(variance: float) -> str:
    """Write a variance with four digits, or as a whole number if it is large.

    >>> variance_text(3.67312), variance_text(339504.7)
    ('3.673', '339,505')
    """
    return f"{variance:,.0f}" if variance >= 10**3 else f"{variance:.4g}"


@dataclass(frozen=True, eq=False, repr=False)
class Mechanisms(TableResult):
    """All mechanisms side by side, for the same answers at the same epsilon.

    Attributes
    ----------
    domain : tuple or range
        The possible answers.
    epsilon : number
        Privacy budget of one report, as requested.
    candidates : tuple of CandidateMechanism
        The mechanisms in the order of the criterion. For shares, their designs have the answers 0, 1, 2, ...; `design`
        returns them for the actual answers.
    question : PlanningQuestion
        The quantity to estimate, and the required precision.
    people : int or None
        Sample size; None if it is computed or was not given.
    quantity : {"shares", "mean", "distribution"}
        The quantity for which mechanisms are compared.
    """

    _rows_key = "mechanisms"

    domain: Labels
    epsilon: Number
    candidates: tuple[CandidateMechanism, ...]
    question: PlanningQuestion
    people: int | None = None
    quantity: str = "shares"

    def at(self, epsilon: Number) -> list[CandidateMechanism]:
        """Return the mechanisms at another epsilon, compared for the same quantity."""
        return _candidates(self.domain, epsilon, self.question, self.quantity)

    @property
    def share(self) -> float | None:
        """The true share whose variance ranks the mechanisms; None if the total squared error does."""
        return self.question.share_asked

    @cached_property
    def recommended(self) -> str:
        """The name of the recommended mechanism: its criterion is at most 5 % above the smallest."""
        return preferred(self.candidates).name

    @property
    def criterion(self) -> str:
        """The column of `table` by which mechanisms are ranked."""
        if self.share is not None:
            return "share_variance"
        return "total" if self.quantity == "shares" else "variance"

    def shown_epsilon(self) -> str:
        """Epsilon in four digits, rounded up."""
        return rounded_up(float(exact("epsilon", self.epsilon)), 4)

    def design(self, name: str | None = None) -> Design:
        """Return the design of the recommended mechanism, or of this one, for these answers and this epsilon.

        >>> mechanisms(["never", "once", "often"], epsilon=1).design()
        <RandomizedResponse among 3 answers ('never', 'once', 'often'): truth 0.5761, each lie 0.2119, epsilon 1>
        """
        wanted, named = name or self.recommended, {one.name: one for one in self.candidates}
        check_choice("name", wanted, named)
        variants = MECHANISMS[named[wanted].design.mechanism].variants(self.domain, self.epsilon, self.quantity)
        return variants[wanted] if self.share is None else variants[wanted].best_for_share(self.share)

    @cached_property
    def needed(self) -> tuple[int | None, ...]:
        """Sample size of each mechanism: as given, or the smallest that reaches the goal; None if 2^53 does not."""
        people = [self.people] * len(self.candidates)
        if self.question.goal is not None:
            for place, candidate in enumerate(self.candidates):
                with suppress(ValueError):
                    people[place] = fewest_people(candidate.design, self.question, self.question.goal)
        return tuple(people)

    @cached_property
    def _numbers(self) -> dict[str, Counts]:
        numbers: dict[str, Counts] = {"mechanism": objects(candidate.name for candidate in self.candidates)}
        for name in ("share_variance", "total", "variance", "bits"):
            if getattr(self.candidates[0], name) is not None:
                numbers[name] = np.array([getattr(candidate, name) for candidate in self.candidates])
        numbers["recommended"] = numbers["mechanism"] == self.recommended
        if self.needed[0] is None and self.question.goal is None:
            return numbers
        designs = [(candidate.design, people) for candidate, people in zip(self.candidates, self.needed, strict=True)]
        reached = [
            np.nan if n is None else precision_of(design, self.question).measured(float(n)) for design, n in designs
        ]
        return numbers | {
            "people": objects(self.needed),
            self.question.measure: np.array(reached),
            "decoding": np.array([np.nan if n is None else decoding_steps(design, float(n)) for design, n in designs]),
        }

    def _columns(self) -> list[Column]:
        """Return a row for each mechanism, those with the smallest criterion first.

        The columns are the numbers of `CandidateMechanism` for one report. If people or a precision were given, also
        ``people``, the half-width or error that they reach, and ``decoding``, the steps from their reports to counts.
        """
        numbers, question = self._numbers, self.question
        shown = {"mechanism": numbers["mechanism"].tolist()}
        if question.goal is not None:
            shown["respondents"] = ["> 2^53" if n is None else f"{n:,}" for n in self.needed]
        elif self.people is not None:
            shown[question.heading(question.measure)] = cells(question.scale * numbers[question.measure])
        at_share = f"variance at {share_text(self.share or 0)}"
        headings = {"share_variance": at_share, "total": "total", "variance": "variance"}
        shown |= {
            heading: [*map(variance_text, numbers[x].tolist())] for x, heading in headings.items() if x in numbers
        }
        shown["bits"] = list(map(bits_text, numbers["bits"].tolist()))
        if "decoding" in numbers:
            steps = numbers["decoding"].tolist()
            shown["decoding"] = ["" if math.isnan(number) else in_digits(number, 2) for number in steps]
        shown["recommended"] = ["yes" * recommended for recommended in numbers["recommended"].tolist()]
        readers = [Column(heading=heading, texts=texts) for heading, texts in shown.items()]
        return [*starmap(Column, numbers.items()), *readers]

    def _title(self) -> str:
        about = {"shares": "", "mean": "the mean of ", "distribution": "the distribution of "}[self.quantity]
        return f"Mechanisms for {about}{len(self.domain):,} answers at epsilon {self.shown_epsilon()}{self._about}"

    def _footnotes(self) -> list[str]:
        return [self.reason]

    def _facts(self) -> Document:
        return {
            "answers": len(self.domain),
            "quantity": self.quantity,
            "epsilon": float(exact("epsilon", self.epsilon)),
            "goal": self.question.goal,
            "criterion": self.criterion,
            "share": self.share,
            "design_effect": None if self.question.effect is None else self.question.effect.value,
            "recommended": self.recommended,
            "reason": self.reason,
        }

    @property
    def _about(self) -> str:
        question, measure = self.question, self.question.measure
        case = "in the worst case" if question.population is None else "in the population"
        if question.share is not None and question.measure == "half_width":
            case = f"at a share of {share_text(question.share)}"
        if question.effect is not None:
            case = f"{case}, with a design effect of {question.effect.value:.3g}"
        if question.goal is not None:
            return (
                f"; respondents for {with_article(measure)} of {question.amount(question.goal)}{question.about} {case}"
            )
        if self.people is None:
            return ""
        return f"; {MEASURES[measure]}{question.about} of {counted(self.people, 'respondent', 'respondents')} {case}"

    @cached_property
    def reason(self) -> str:
        """The recommendation and its reasons, in sentences."""
        words = comparison_words(self.quantity, self.share)
        sentences = (self._recommendation(words), *self._smaller_numbers(words), *self._instead(words))
        return " ".join(sentences) + words.caution

    def _recommendation(self, words: ComparisonWords) -> str:
        able = [candidate for candidate in self.candidates if candidate.in_question]
        recommended, best = preferred(able), able[0]
        near = f"within {100 * VARIANCE_TOLERANCE:.0f} %"
        limit = equally_short(recommended)
        size = f" of {recommended.design.law.support_size}" if "size" in recommended.design.parameters else ""
        opening = f"Recommended: {recommended.name}{size}, {bits_text(recommended.bits)} bits per report:"
        if recommended.rank == best.rank:
            shorter = [other for other in able if other.bits < recommended.bits * (1 - 10.0**-DIGITS_COMPARED)]
            why = "none has shorter reports"
            if any(other.criterion <= (1 + VARIANCE_TOLERANCE) * best.criterion for other in shorter):
                why = f"reports of up to {limit} bits count as equally short"
            elif shorter:
                why = f"no other that comes {near} of it has shorter reports"
            return f"{opening} the smallest {words.smallest}; {why}."
        needed = ratio_in_words(recommended.criterion / best.criterion)
        if recommended.bits <= limit:
            return (
                f"{opening} the smallest {words.smallest} among the mechanisms whose reports take at most {limit} "
                f"bits. For the same {words.error} it needs {needed} than {best.name}, whose reports take "
                f"{bits_text(best.bits)} bits."
            )
        return (
            f"{opening} the shortest reports among the mechanisms whose {words.smallest} is {near} of the smallest, "
            f"that of {best.name} with {bits_text(best.bits)} bits. For the same {words.error} it needs {needed}."
        )

    def _smaller_numbers(self, words: ComparisonWords) -> Iterator[str]:
        recommended = preferred(self.candidates)
        variants = [one.name for one in self.candidates if not one.in_question and one.rank < recommended.rank]
        if variants:
            yield sentence(f"{variants[0]} is listed for comparison only")
        table = self._numbers
        asked = "people" if self.question.goal is not None else self.question.measure
        if asked not in table:
            return
        numbers = [math.inf if number is None else float(number) for number in table[asked].tolist()]
        own = numbers[self.candidates.index(recommended)]
        better = [
            (number, one)
            for number, one in zip(numbers, self.candidates, strict=True)
            if (number < own * (1 - 10.0**-DIGITS_COMPARED) and one.rank > recommended.rank)
            or (number < own * WORTH_NAMING and one.in_question)
        ]
        if better:
            number, one = min(better, key=operator.itemgetter(0))
            needs = f"needs {percent(number / own, 0)} of the respondents"
            column = f"{needs} here" if asked == "people" else f"has a smaller {MEASURES[asked]} here"
            ratio = ratio_in_words(one.criterion / recommended.criterion, "larger", "large")
            larger = f"its {words.smallest} is {ratio}"
            reason = larger if one.rank > recommended.rank else f"its reports take {bits_text(one.bits)} bits"
            yield sentence(f"{one.name} {column}, but {reason}")

    def _instead(self, words: ComparisonWords) -> Iterator[str]:
        recommended = preferred(self.candidates)
        one = next((one for one in self.candidates if one.name == RandomizedResponse.mechanism), None)
        if one is not None and one.total is not None and not recommended.design.law.exclusive:
            yield sentence(
                f"{one.name} needs {ratio_in_words(one.criterion / recommended.criterion)} for the same {words.error}, "
                "but its counts alone give the most likely shares and exact intervals for sets of answers"
            )

    def plot(self, *, title: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw the excess sample size of each mechanism over the best, against epsilon, for the same number of answers.

        By the criterion that they are ranked by, in percent; both axes are logarithmic. The recommended mechanism is
        one of those below the dashed line; the best of all is on the lower edge.

        Parameters
        ----------
        title : str, optional
            The headline.
        ax : matplotlib Axes, optional
            Where to draw; if not given, a new pyplot figure.
        """
        from warner.output.plan_plots import mechanisms_picture

        return mechanisms_picture(self, title).plot(ax)

    def save_plot(self, path: str | os.PathLike[str], *, title: str | None = None) -> None:
        """Write the picture to a PNG, SVG or PDF file, atomically; no display is needed."""
        from warner.output.plan_plots import mechanisms_picture

        mechanisms_picture(self, title).save(path)


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
    design_effect: float | None = None,
) -> Mechanisms:
    """Compare all mechanisms for these answers at this epsilon, and recommend one.

    Mechanisms are ranked by the total squared error of the shares, by the variance of a `share` of the given size, or,
    for a mean or a distribution, by the variance that randomizing adds. The recommended one is among those whose number
    is at most 5 % above the smallest: with fewer than 20 answers the one with the shortest reports, with more the one
    with the smallest number among reports of up to 64 bits. Given a precision, the table has the sample size of each;
    given a sample size, the precision of each. Neither changes the recommendation.

    Parameters
    ----------
    domain : int or sequence of labels
        The possible answers or their number.
    epsilon : number
        The privacy of one report, in nats.
    people : int, optional
        Number of respondents.
    half_width, error : float, optional
        Instead of ``people``: the half-width that an interval may have, or the root-mean-square error of the unbiased
        shares, as for `plan`.
    share : float, optional
        The true share that the half-width is for, and whose variance ranks the mechanisms: 0 for a rare answer. If not
        given, half-widths are for the share with the widest interval under each mechanism.
    level, simultaneous
        As for `plan`.
    quantity : {"shares", "mean", "distribution", "median"} or float
        The quantity to estimate: shares, or, for numeric answers, their mean, distribution function, or a quantile,
        such as 0.9.
    values, population
        As for `plan`: the number of each answer, and the expected shares, which a quantile needs.
    design_effect : float, optional
        As for `plan`: ratio of the required sample size to that of a simple random sample.

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
    effect = None if design_effect is None else given_effect(design_effect)
    question = PlanningQuestion(measure, goal, confidence, DEFAULT_POWER, None, share, shares, numbers, effect)
    check_question(question)
    if people is not None:
        check_people(people)
    if quantity == "distribution" and (people is not None or goal is not None):
        raise ValueError(
            'quantity must be "mean", "median" or a number such as 0.9 to compare by people or precision; for a '
            "distribution, variances are compared"
        )
    kind = "distribution" if quantity == "distribution" else question.quantity
    return compared(labels, epsilon, question, None if people is None else int(people), kind)


def compared(
    labels: Labels, epsilon: Number, question: PlanningQuestion, people: int | None = None, quantity: str | None = None
) -> Mechanisms:
    quantity = question.quantity if quantity is None else quantity
    offered = _candidates(labels, epsilon, question, quantity)
    if not offered:
        for mechanism in MECHANISMS.values():  # one of them raises an error about epsilon
            mechanism.variants(len(labels), epsilon)
        raise ValueError(f"no mechanism can be made for epsilon {epsilon!r} and {len(labels):,} answers")
    return Mechanisms(labels, epsilon, tuple(offered), question, people, quantity)


def _candidates(labels: Labels, epsilon: Number, question: PlanningQuestion, quantity: str) -> list[CandidateMechanism]:
    memberships = None if question.numbers is None else question.numbers.memberships
    share = question.share_asked if quantity == "shares" else None
    # For shares, labels would cost time and change nothing.
    return candidates(len(labels) if quantity == "shares" else labels, epsilon, quantity, memberships, share)


def advice(precision: Precision) -> Iterator[str]:
    """Yield sentences on what is not identified and on a better mechanism."""
    design = precision.design
    names = [quoted(design.domain[place]) for place in precision.unidentified.tolist()]
    if names:
        yield (
            f"Not identified: reports of this design do not identify the share{'s' * (len(names) > 1)} of "
            f"{enumerated(names)}; the plan is for the other answers."
        )
    # The best mechanism for one report may not be made for repeated questions.
    if design.law.symmetry is not None and not design.repetition():
        share = precision.question.share_asked
        own = total_error(design) if share is None else variance_of_share(design, share)
        offered = candidates(design.k, design.epsilon, share=share)
        yield from better_mechanism(design, own, offered, comparison_words("shares", share))


def better_mechanism(
    design: Design, criterion: float, offered: Sequence[CandidateMechanism], words: ComparisonWords
) -> Iterator[str]:
    """Name the recommended mechanism if it needs clearly fewer respondents, or far shorter reports, at this epsilon."""
    if not offered:
        return
    best = preferred(offered)
    part = best.criterion / criterion
    shorter = f"reports of {bits_text(best.bits)} bits instead of {bits_text(design.report_form.bits)}"
    if part < WORTH_NAMING:
        yield (
            f"Another mechanism: at the same epsilon, {best.name} would need about {100 * part:.2g} % of the "
            f"respondents for the same {words.error}, and {shorter}."
        )
    elif best.bits < FAR_SHORTER * design.report_form.bits:
        yield (
            f"Another mechanism: at the same epsilon, {best.name} would need {shorter}, and about {100 * part:.3g} % "
            f"of the respondents for the same {words.error}."
        )
