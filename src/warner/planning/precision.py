r"""Precision of a planned survey: half-width of an interval and root-mean-square error, at expected counts.

Two measures, both in units of a share (0.02 is two percentage points):

- ``half_width``: half the length of the interval of an answer with a given true share, before its ends are cut at 0 and
  1. Where the design has a binomial count for the answer (`SamplingModel.exact`) it is the exact interval of Clopper
  and Pearson at the expected count; elsewhere the approximate one (``Sampled``) at the expected counts. With any-time
  validity, it is the any-time interval at the expected count, or at the expected sum of scores.
- ``error``: the root-mean-square error of the unbiased shares (`warner.inv`) over the K answers, as an estimate of a
  population's shares, :math:`\sqrt{\sum_i \mathrm{Var}_i / K}`. With a ``Symmetry`` of all answers, and
  :math:`\phi_i = q + (p-q)\theta_i`,

  .. math:: \sum_i \mathrm{Var}_i = \frac{\sum_i \phi_i - \sum_i \phi_i^2}{n (p-q)^2},

  where :math:`\sum_i \phi_i = p + (K-1) q` is the mean number of answers that a report counts for: 1 for randomized
  response.

**The worst case.** A binomial count leaves the widest interval where its probability is nearest to 1/2. A mean of
scores, unbiased for the share s of an answer, has the variance :math:`s A + (1-s) B - s^2` per report, where A and B
are the mean squared scores of respondents with the answer and of all others. The true answers of the others matter
through B alone: the variance is largest if all of them have the answer with the largest B, and if s = (A - B)/2. (So is
the approximate interval, up to a part of its width of the order of 1/n^2.)

Expected populations: shares by name (uniform, Zipf), as numbers, from a file, or from a pilot; design effects.

**The design effect** of a complex sample is the variance of an estimate divided by its variance in a simple random
sample of as many respondents,

.. math:: D = \frac{s^2}{f(1-f)/(n (p-q)^2)},

for a share with standard error s that shows as the frequency f of n reports. It is never taken to be smaller than the
part of that variance which comes from randomization alone: no sample design can remove it. Randomization is
independent of the sample. So the variance that clusters add, :math:`(D-1) V` per report with V the variance in a simple
random sample, is the same under a design that randomizes less, where V is smaller and D is larger. What unequal weights
add is in proportion to V instead. A plan with another design than the pilot's uses whichever is larger:
:math:`D' = 1 + (D-1) \max(1, V/V')`, and, where strata make D smaller than 1, :math:`1 - (1-D) \min(1, V/V')`.
"""

from __future__ import annotations

import csv
import math
import os
import reprlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from warner.arrays import LARGEST_TOTAL, Numbers
from warner.designs.facts import LinearCombination
from warner.designs.labels import from_text, positions
from warner.designs.law import checked_shares
from warner.estimation import Estimate
from warner.estimators import NEAREST, fitted
from warner.inference.anytime import anytime_limits
from warner.inference.binomial import Binomial, binomial_limits, check_power, smallest_share
from warner.inference.intervals import intervals_apart
from warner.inference.means import check_tau, quantile_name, values_of
from warner.inference.normal import Sampled
from warner.inference.presence import best_tests
from warner.reports.tallies import Pool, Tally
from warner.simulate import uniform, zipf
from warner.text import points, rounded_up

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from warner.arrays import Array, Integers, Mask, Sets
    from warner.designs.contract import Design
    from warner.designs.facts import SamplingModel, Symmetry
    from warner.designs.labels import Labels
    from warner.inference.intervals import Confidence
    from warner.reports.tallies import Collected

    Pilot = Estimate | Collected
    Population = str | tuple[str, float] | os.PathLike[str] | ArrayLike | Pilot


MEASURES = {"half_width": "interval half-width", "error": "root-mean-square error"}
AMOUNT_DIGITS = 3  # of half-widths in the unit of the answers
PLANNED = ("shares", "mean", "median")  # what can be planned for, besides quantiles by their number
DEFAULT_POWER = 0.8
BOUNDLESS_PEOPLE = float(LARGEST_TOTAL)  # half a report more of each kind makes no difference


@dataclass(frozen=True, eq=False)
class AskedNumber:
    """Numeric answers of which the mean or a quantile is planned."""

    values: Array  # the number of each answer, of shape (k,)
    tau: float | None = None  # probability of the quantile; None for the mean

    @property
    def name(self) -> str:
        """Name of the planned quantity."""
        return "mean" if self.tau is None else quantile_name(self.tau)

    @property
    def width(self) -> float:
        return float(np.ptp(self.values))

    @cached_property
    def memberships(self) -> Array:
        """The numbers on a range from 0 to 1: the fuzzy set whose share is the mean."""
        return np.asarray((self.values - self.values.min()) / self.width)


@dataclass(frozen=True, eq=False)
class PlanningQuestion:
    """Quantity to estimate, and the required precision.

    Attributes
    ----------
    measure : str
        ``"half_width"`` or ``"error"``.
    goal : float or None
        Largest admissible value of the measure; None if the measure is computed.
    confidence : Confidence
        The level of the intervals, and joint or separate coverage.
    power : float
        The probability of detecting an answer with the smallest share.
    answer : int or None
        The position of the answer that the half-width is for; None for the one with the widest interval.
    share : float or None
        Its true share; None for that in the population or, without one, the share with the widest interval.
    population : ndarray of shape (k,) or None
        The expected shares.
    numbers : AskedNumber or None
        The numbers of the answers, if a mean or a quantile is planned; None for shares.
    effect : DesignEffect or None
        The design effect of the sample; None for a simple random sample.
    """

    measure: str
    goal: float | None
    confidence: Confidence
    power: float
    answer: int | None
    share: float | None
    population: Array | None
    numbers: AskedNumber | None = None
    effect: DesignEffect | None = None

    @property
    def worst_case(self) -> bool:
        """True if the half-width is for the share with the widest interval, because none was given."""
        return self.share is None and (self.answer is None or self.population is None)

    @property
    def share_asked(self) -> float | None:
        """Share whose interval is planned: mechanisms and sizes of sets are then chosen for it."""
        return self.share if self.measure == "half_width" and self.numbers is None else None

    @property
    def quantity(self) -> str:
        """Quantity for which mechanisms are compared: shares, the mean, or the distribution function."""
        return "shares" if self.numbers is None else "mean" if self.numbers.tau is None else "distribution"

    @property
    def about(self) -> str:
        """Words that follow the amount of a half-width or an error; empty for shares."""
        return "" if self.numbers is None else f" for the {self.numbers.name}"

    @property
    def unit(self) -> str:
        return "percentage points" if self.numbers is None else "unit of the answers"

    @property
    def scale(self) -> float:
        """Factor from a half-width in shares to the unit of the question."""
        return 100.0 if self.numbers is None else 1.0

    def heading(self, measure: str) -> str:
        return measure.replace("_", "-") + (" (points)" if self.numbers is None else "")

    def amount(self, value: float | None, *, up: bool = False) -> str:
        if self.numbers is None:
            return points(value, up=up)
        number = math.nan if value is None else value
        return rounded_up(number, AMOUNT_DIGITS) if up else in_units(number)


def numbers_asked(domain: Labels, quantity: Any, values: Any) -> AskedNumber | None:
    """Read the quantity: shares (None), the mean, the median, or the quantile of a number from 0 to 1."""
    if isinstance(quantity, str) and quantity not in PLANNED:
        raise ValueError(
            f"quantity must be {', '.join(PLANNED)} or a number from 0 to 1 for a quantile, such as 0.9, but got "
            f"{quantity!r}"
        )
    if quantity == "shares":
        if values is not None:
            raise TypeError('values are for quantity="mean", "median" or a quantile, such as 0.9')
        return None
    if quantity != "mean" and quantity != "median":
        check_tau(quantity)
    numbers = values_of(domain, values)
    if np.ptp(numbers) == 0:
        raise ValueError("values must not all be equal, or there is nothing to plan")
    return AskedNumber(numbers, {"mean": None, "median": 0.5}.get(quantity, quantity))


def in_units(number: float) -> str:
    """Write a number in the unit of the answers, to three digits at least.

    >>> in_units(2.0), in_units(0.123456), in_units(1234.56), in_units(35000.0)
    ('2', '0.123', '1,235', '35,000')
    """
    return f"{number:,.0f}" if abs(number) >= 10**AMOUNT_DIGITS else f"{number:.{AMOUNT_DIGITS}g}"


def share_text(share: float) -> str:
    """Share in percent with three significant digits."""
    return f"{100 * share:.3g} %"


def measure_of(half_width: float | None, error: float | None) -> tuple[str, float | None]:
    """Return the measure and its goal; the half-width if there is no goal."""
    if half_width is not None and error is not None:
        raise TypeError("give half_width or error, not both")
    return ("half_width", half_width) if error is None else ("error", error)


def with_article(measure: str) -> str:
    """Name of a measure in a sentence.

    >>> with_article("half_width"), with_article("error")
    ('an interval half-width', 'a root-mean-square error')
    """
    name = MEASURES[measure]
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def check_question(question: PlanningQuestion) -> None:
    check_power(question.power)
    share, goal = question.share, question.goal
    most = 0.5 if question.measure == "half_width" else 1.0
    unit = "as a share (0.02 is two percentage points)"
    if question.numbers is not None:
        _check_numbers(question, question.numbers)
        most, unit = question.numbers.width / 2, "in the unit of the answers, and less than half of their range"
    if share is not None and not 0 <= share <= 1:
        raise ValueError(f"share must be from 0 to 1, but got {share!r}")
    if goal is not None and (not isinstance(goal, float | int | np.floating) or not 0 < goal < most):
        raise ValueError(f"{question.measure} must be above 0 and below {most:g}, {unit}, but got {goal!r}")


def _check_numbers(question: PlanningQuestion, numbers: AskedNumber) -> None:
    name = numbers.name
    for option, given in (("share", question.share), ("answer", question.answer)):
        if given is not None:
            raise ValueError(f"{option} must be left out where the {name} is planned; it is for shares")
    if question.confidence.simultaneous:
        raise ValueError(f"simultaneous must be left out where the {name} is planned: it is one interval")
    if numbers.tau is not None and question.population is None:
        raise ValueError(
            f"population must be given to plan the {name}, as the expected shares: where the distribution does not "
            "rise, no sample size identifies a quantile"
        )
    if numbers.tau is not None and question.measure == "error":
        raise ValueError(f"error must be left out where the {name} is planned; give half_width")


def check_people(people: Numbers) -> None:
    if isinstance(people, bool) or not isinstance(people, int | np.integer) or not 1 <= people <= LARGEST_TOTAL:
        raise ValueError(f"people must be a whole number from 1 to 2^53, but got {people!r}")


class Cases(NamedTuple):
    """Answers with possibly the widest interval: arrays of shape (cases,).

    Where `exact`, the count of an answer is binomial with probability base + gain * share, for the part `asked` of the
    respondents. Elsewhere the probability of each column matters, of shape (cases, columns): `reported` as expected,
    `absent` for a share of 0.
    """

    places: Integers
    shares: Array
    base: Array
    gain: Array
    exact: Mask
    reported: Array | None = None
    absent: Array | None = None
    asked: Numbers = 1.0

    def expected(self, n: float) -> Binomial:
        """Return the expected binomial counts of n respondents."""
        trials = np.broadcast_to(n * self.asked, self.shares.shape)
        return Binomial(
            np.minimum(trials * (self.base + self.gain * self.shares), trials), trials, self.base, self.gain
        )


@dataclass(frozen=True, eq=False)
class PlannedSample:
    """A design and a question, with the design effect of the sample."""

    design: Design
    question: PlanningQuestion

    @cached_property
    def design_effect(self) -> float:
        """Ratio of the sample size that is needed to that of a simple random sample."""
        return 1.0 if self.question.effect is None else self.question.effect.under(self.design)

    def simple(self, n: float) -> float:
        return n / self.design_effect

    def measured(self, n: float) -> float:
        """Return the measure that the question asks for."""
        return float(getattr(self, self.question.measure)(n))


class Precision(PlannedSample):
    """Precision of shares under a design, by sample size."""

    measures = ("half_width", "error")

    @cached_property
    def cases(self) -> Cases:
        """Answers that the half-width may be for: a single one if the design is symmetric or has two answers."""
        design, answer = self.design, self.question.answer
        if design.law.symmetry is not None:
            return self._alike(design.law.symmetry)
        every, identified = self._every
        if answer is not None and not identified[answer]:
            raise ValueError(
                f"answer must be one whose share the reports identify, but they do not identify that of "
                f"{design.domain[answer]!r}: other answers lead to the same reports"
            )
        if not identified.any():
            raise ValueError("the design must identify the share of some answer, but others lead to the same reports")
        places = np.flatnonzero(identified) if design.k > 2 else np.array([0])
        places = places if answer is None else np.array([answer])
        some = Cases._make(np.asarray(column)[places] for column in every)
        return some._replace(reported=None, absent=None) if some.exact.all() else some

    def _alike(self, alike: Symmetry) -> Cases:
        question, base, gain = self.question, alike.base, alike.gain
        place = question.answer or 0
        share: Numbers = _nearest_to_half(base, gain) if question.share is None else question.share
        if question.share is None and question.population is not None:
            if question.answer is None:
                place = int(np.abs(base + gain * question.population - 0.5).argmin())
            share = question.population[place]
        law = np.array([base]), np.array([gain]), np.array([True])
        asked = self.design.law.counted_fraction * float(alike.asked)
        return Cases(np.array([place]), np.array([share], dtype=np.float64), *law, asked=asked)

    @property
    def unidentified(self) -> Integers:
        """Positions of the answers whose shares are not identified."""
        return np.flatnonzero([] if self.design.law.symmetry is not None else ~self._every[1])

    @cached_property
    def _every(self) -> tuple[Cases, Mask]:
        """All answers, each with the least favorable answers of the others, and those whose shares are identified."""
        design, question, k = self.design, self.question, self.design.k
        vertices = design.law.probabilities(np.eye(k))  # of the reports, if all respondents have an answer
        readout = design.law.readout(BOUNDLESS_PEOPLE * vertices, np.full((k, 1), BOUNDLESS_PEOPLE))
        base, gain, exact = (np.broadcast_to(part, k) for part in (readout.base, readout.gain, readout.exact))
        error = np.zeros((k, k)) if readout.error is None else np.broadcast_to(readout.error, (k, k))
        identified = exact | np.isfinite(error).all(axis=0)
        # The variance per report, for each answer (column) if all hold one answer (row): A - 1 on the diagonal, else B
        variance = np.where(identified, BOUNDLESS_PEOPLE * np.square(np.where(identified, error, 0)), 0)
        within = np.diagonal(variance) + 1
        without = np.where(np.eye(k, dtype=bool), -np.inf, variance)
        absent = vertices[without.argmax(axis=0)]
        if question.share is None and question.population is not None:
            shares = question.population
            reported = np.broadcast_to(shares @ vertices, absent.shape)
        else:
            worst = np.clip((within - without.max(axis=0)) / 2, 0, 1)
            shares = np.where(exact, _nearest_to_half(base, gain), worst)
            shares = shares if question.share is None else np.full(k, float(question.share))
            holding = shares[:, np.newaxis]
            reported = holding * vertices + (1 - holding) * absent
        asked = np.broadcast_to(readout.trials, (k, k))[0] / BOUNDLESS_PEOPLE
        return Cases(np.arange(k), shares, base, gain, exact, reported, absent, asked), identified

    def half_width(self, n: float) -> float:
        return float(self._half_widths(self.simple(n)).max())

    def at(self, n: float) -> dict[str, Any]:
        """Return the attributes of a plan of n respondents, of the answer with the widest interval."""
        error, n = self.error(n), self.simple(n)
        question, widths = self.question, self._half_widths(n)
        case = int(widths.argmax())
        is_chosen = question.answer is not None or (question.population is not None and question.share is None)
        any_answer = self.design.law.symmetry is not None and not is_chosen
        return {
            "answer": None if any_answer else self.design.domain[int(self.cases.places[case])],
            "share": float(self.cases.shares[case]),
            "half_width": float(widths[case]),
            "standard_error": float(self._standard_errors(n)[case]),
            "error": error,
            "smallest_share": self._smallest_share(n, case),
        }

    def error(self, n: float) -> float:
        """Return the root-mean-square error of the unbiased shares, for the population or for the worst one."""
        n = self.simple(n)
        alike, k, population = self.design.law.symmetry, self.design.k, self.question.population
        if alike is not None:
            total = float(alike.p + (k - 1) * alike.q)  # exactly 1 where counts sum to n
            squares = total**2 / k  # of the uniform population, which is the worst
            if population is not None:
                squares = float(np.square(alike.base + alike.gain * population).sum())
            asked = n * self.design.law.counted_fraction * float(alike.asked)
            return math.sqrt(max(total - squares, 0) / (k * asked)) / abs(alike.gain)
        populations = self._populations
        reported = self.design.law.probabilities(populations)
        readout = self.design.law.readout(n * reported, np.full((len(populations), 1), n))
        errors = _binomial_errors(readout.base, readout.gain, populations, readout.trials)
        if readout.error is not None:
            errors = np.where(readout.exact, errors, readout.error)
        return float(np.sqrt(np.square(errors).mean(axis=-1)).max())

    @property
    def _populations(self) -> Array:
        """The population that the error is for, or those that may be the worst, of shape (populations, k)."""
        k = self.design.k
        if self.question.population is not None:
            return self.question.population[np.newaxis]
        if k == 2:  # one share determines the population
            share, place = float(self.cases.shares[0]), int(self.cases.places[0])
            return np.array([[share, 1 - share] if place == 0 else [1 - share, share]])
        return np.concatenate([np.eye(k), np.full((1, k), 1 / k)])

    def _half_widths(self, n: float) -> Array:
        confidence = self.question.confidence
        tail = confidence.tail(intervals_apart([self.design], confidence))
        reports, trials = self.cases.expected(n)[:2]
        ever = confidence.anytime
        low, high = anytime_limits(reports, trials, 2 * tail) if ever else binomial_limits(reports, trials, tail)
        exact = (high - low) / 2 / np.abs(self.cases.gain)
        if confidence.anytime and not self.cases.exact.all():
            return np.where(self.cases.exact, exact, self._anytime_scores(n, 2 * tail))
        linear = Sampled(self.cases.shares, self._linear_errors(n, self.cases.reported), n).distances(tail)
        return np.where(self.cases.exact, exact, sum(linear) / 2)

    def _anytime_scores(self, n: float, alpha: float) -> Array:
        """Half-widths of any-time intervals of shares without a binomial count; see `anytime`."""
        widths = np.zeros(self.cases.places.size)
        for case in np.flatnonzero(~self.cases.exact).tolist():
            assert self.cases.reported is not None
            counts, place = n * self.cases.reported[[case]], int(self.cases.places[case])
            widths[case] = anytime_half_width(self.design.law.readout(counts, np.full((1, 1), n), [[place]]), alpha)
        return widths

    def _standard_errors(self, n: float) -> Array:
        binomial = _binomial_errors(self.cases.base, self.cases.gain, self.cases.shares, n * self.cases.asked)
        return np.where(self.cases.exact, binomial, self._linear_errors(n, self.cases.reported))

    def _linear_errors(self, n: float, probabilities: Array | None) -> Array:
        """Return the standard errors of the shares without a binomial count, at expected counts."""
        errors = np.zeros(self.cases.places.size)
        if probabilities is not None:
            linear = ~self.cases.exact
            sets = [[place] for place in self.cases.places[linear].tolist()]
            counts = n * probabilities[linear]
            readout = self.design.law.readout(counts, np.full((len(sets), 1), n), sets)
            assert readout.error is not None
            errors[linear] = np.diagonal(readout.error)  # each at its own counts
        return errors

    def _smallest_share(self, n: float, case: int) -> float:
        """Share of an answer that is detected at the family-wise error rate 1 - level."""
        alpha, power = (1 - self.question.confidence.level) / self.design.k, self.question.power
        if self.cases.exact[case]:
            trials = float(self.cases.expected(n).n[case])
            return smallest_share(trials, float(self.cases.base[case]), float(self.cases.gain[case]), alpha, power)
        (test,) = best_tests(self.design, [int(self.cases.places[case])], n, alpha, power)
        if test is not None:
            return test.smallest(alpha, power)
        absent = self._linear_errors(n, self.cases.absent)[case]
        return max(float((ndtri(power) - ndtri(alpha)) * absent), 0.0)


def anytime_half_width(readout: SamplingModel, alpha: float) -> float:
    """Half-width of the any-time interval of one share, before it is cut at 0 and 1; see `anytime`."""
    least, width = np.zeros(1), np.ones(1)
    if not np.all(readout.exact):  # a score between the least and the most is so much of a report
        assert readout.scores is not None
        least, most = (np.asarray(score, dtype=np.float64) for score in readout.scores)
        width = most - least
    count = np.clip((readout.count - readout.trials * least) / width, 0, readout.trials)
    low, high = anytime_limits(count, readout.trials, alpha)
    return float(((high - low) / 2 * width / np.abs(readout.gain)).item())


def _nearest_to_half(base: Numbers, gain: Numbers) -> Any:
    """Share at which the probability of a report of the answer is nearest to 1/2."""
    return np.clip((0.5 - base) / gain, 0.0, 1.0) + 0.0  # no minus zero


def _binomial_errors(base: Numbers, gain: Numbers, shares: Array, n: Numbers) -> Array:
    reported = base + gain * shares
    return np.asarray(np.sqrt(np.maximum(reported * (1 - reported), 0) / n) / np.abs(gain))


# Populations


LARGEST_EFFECT = 10**6  # and the smallest design effect is its inverse
ROUNDED_SUM = 0.01  # how much the sum of rounded shares in a file may differ from 1


def population_shares(population: Population, domain: Labels) -> Array:
    """Return the expected shares in the order of the domain.

    By name (``"uniform"``, ``("zipf", s)`` or ``"zipf:s"``); from a CSV file with the columns value and share (or
    count), where answers without a row have none; K shares; or a pilot: its `inv_p` estimate, over all groups.

    >>> population_shares("zipf:1", range(3)) * 11
    array([6., 3., 2.])
    """
    if isinstance(population, Estimate | Tally | Pool):
        return _shares_of_pilot(tally_of(population), domain)
    if isinstance(population, str) and population.startswith("zipf:"):
        return _zipf(len(domain), population.removeprefix("zipf:"))
    if isinstance(population, tuple) and len(population) == 2 and population[0] == "zipf":
        return _zipf(len(domain), population[1])
    if isinstance(population, str) and population == "uniform":
        return uniform(len(domain))
    if isinstance(population, str | os.PathLike):
        if Path(population).suffix.lower() != ".csv":
            raise ValueError(
                f"population must be uniform, zipf:s, a file that ends in .csv, or shares, but got {population!s:.60}"
            )
        return _shares_of_file(Path(population), domain)
    try:
        shares = checked_shares(population, len(domain), name="population")
    except TypeError:
        raise TypeError(
            f"population must be {len(domain):,} shares in the order of the answers, uniform, zipf:s, a file or a "
            f"pilot, but got {reprlib.repr(population)}"
        ) from None
    return np.asarray(shares / shares.sum())


def tally_of(pilot: Pilot) -> Collected:
    reports: Any = pilot.tally if isinstance(pilot, Estimate) else pilot
    if not isinstance(reports, Tally | Pool):
        raise TypeError(f"pilot must be an Estimate, a Tally or a Pool, but got {type(pilot).__name__}")
    return reports


@dataclass(frozen=True, eq=False)
class DesignEffect:
    """The design effect of a sample: given, or that of a pilot's reports."""

    value: float  # under the pilot's design, if it is that of a pilot
    pilot: Design | None = None  # the design of the pilot
    shares: Array | None = None  # as expected, of shape (k,)
    sets: Sets | None = None  # of answers that are estimated; the sum over all answers if None

    def under(self, design: Design) -> float:
        """Design effect of the same sample under another design."""
        if self.pilot is None or self.shares is None or design == self.pilot:
            return self.value
        variances = (_variances(one, self.shares, self.sets) for one in (self.pilot, design))
        here, there = (float(each[np.isfinite(each)].sum()) for each in variances)
        ratio = here / there if 0 < there < math.inf else 1.0
        return 1 + (self.value - 1) * (max(1.0, ratio) if self.value > 1 else min(1.0, ratio))


def given_effect(value: Any) -> DesignEffect:
    known = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not known or not 1 / LARGEST_EFFECT <= value <= LARGEST_EFFECT:
        raise ValueError(
            f"design_effect must be a positive number, such as 1.5, from {1 / LARGEST_EFFECT:g} to "
            f"{LARGEST_EFFECT:,}; 1 is a simple random sample, but got {value!r}"
        )
    return DesignEffect(float(value))


def pilot_effect(pilot: Pilot, shares: Array, question: PlanningQuestion) -> DesignEffect | None:
    """Return the design effect of a pilot for the planned quantity; None if it is a simple random sample."""
    reports = tally_of(pilot)
    if reports.simple:
        return None
    if isinstance(reports, Pool) or reports.sample is None or reports.by:
        grouped = reports.by and reports.sample is not None
        lacking, remedy = ("has groups", "count it without by=, or give") if grouped else ("has weights", "give")
        raise ValueError(
            f"pilot {lacking}, so that its design effect is not known; {remedy} design_effect=, which is 1 for a "
            "simple random sample"
        )
    sets = _sets_asked(reports.design, shares, question)
    found = reports.readout(None, sets)
    assert found.drawn is not None
    assert found.error is not None
    n = np.asarray(found.drawn.people, dtype=np.float64)
    worth = n / np.reshape(reports.n, (1, 1))
    counts, histogram = np.reshape(reports.counts, (1, -1)) * worth, reports.histogram
    histogram = None if histogram is None else np.reshape(histogram, (1, -1)) * worth
    simple, device = (
        reports.design.law.readout(counts, n, sets, target=target, histogram=histogram).squared_errors(target)
        for target in ("population", "realised")
    )
    known = np.isfinite(simple) & (simple > 0)
    squared = np.maximum(np.square(found.error), np.minimum(device, simple))
    value = float(squared[known].sum() / simple[known].sum()) if known.any() else 0.0
    if value < 1 / LARGEST_EFFECT:
        raise ValueError(
            "pilot shows no variance of what is planned, so that its design effect is not known; give design_effect=, "
            "which is 1 for a simple random sample"
        )
    return DesignEffect(value, reports.design, shares, sets)


def _sets_asked(design: Design, shares: Array, question: PlanningQuestion) -> Sets | None:
    """Return the sets of answers whose design effect matters; None for all answers."""
    if (numbers := question.numbers) is not None:
        if numbers.tau is None:
            return LinearCombination(numbers.memberships[np.newaxis])
        order = np.argsort(numbers.values, kind="stable")
        last = int(np.searchsorted(np.cumsum(shares[order]), numbers.tau))
        below = numbers.values <= numbers.values[order[min(last, design.k - 2)]]
        return [np.flatnonzero(below).tolist()]
    if question.measure == "error" or (question.share is not None and question.answer is None):
        return None
    if question.answer is not None:
        return [[question.answer]]
    variances = _variances(design, shares, None)
    return [[int(np.where(np.isfinite(variances), variances, 0).argmax())]]


def _variances(design: Design, shares: Array, sets: Sets | None) -> Array:
    """Variances of unbiased shares of sets of answers, for one report of a simple random sample."""
    n = np.full((1, 1), float(LARGEST_TOTAL))
    squared = design.law.readout(n * design.law.probabilities(shares)[np.newaxis], n, sets).squared_errors()
    return float(LARGEST_TOTAL) * np.ravel(squared)


def _zipf(k: int, s: Any) -> Array:
    try:
        return zipf(k, float(s))
    except (TypeError, ValueError):
        raise ValueError(f"population zipf must have a finite number for s, such as zipf:1.3, but got {s!r}") from None


def _shares_of_pilot(reports: Collected, domain: Labels) -> Array:
    if reports.domain != domain:
        raise ValueError(f"pilot must be about the same {len(domain):,} answers as the plan, but is about others")
    parts = tuple(_without_groups(part) for part in reports.parts)
    return np.asarray(fitted(parts[0] if len(parts) == 1 else Pool(parts), NEAREST).shares[0])


def _without_groups(tally: Tally) -> Tally:
    if not tally.by:
        return tally
    squares = None if tally.squares is None else tally.squares.sum()
    return Tally(tally.design, tally.counts.sum(axis=0), n=tally.n.sum(), squares=squares)


def _shares_of_file(path: Path, domain: Labels) -> Array:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        names = list(rows.fieldnames or ())
        amount = next((name for name in ("share", "count") if name in names), "")
        if not amount or "value" not in names:
            raise ValueError(
                f"{path} must have the columns value and share (or count), but has {', '.join(names) or 'none'}"
            )
        pairs = [(row["value"], row[amount]) for row in rows]
    where = positions(from_text([value for value, _ in pairs], domain), domain)
    if (where < 0).any():
        wrong = pairs[int(np.argmax(where < 0))][0]
        raise ValueError(f"{path} must hold values of the domain, but {reprlib.repr(wrong)} is not in it")
    try:
        amounts = np.array([float(text) for _, text in pairs])
    except (TypeError, ValueError):
        amounts = np.array([np.nan])
    if not (np.isfinite(amounts) & (amounts >= 0)).all() or not amounts.sum() > 0:
        raise ValueError(f"{path} must hold numbers of at least 0 in the column {amount}, not all of them 0")
    if amount == "share" and not min(abs(amounts.sum() - 1), abs(amounts.sum() / 100 - 1)) <= ROUNDED_SUM:
        raise ValueError(
            f"{path} must have shares that sum to 1, or to 100 in percent, but they sum to {amounts.sum():.4g}; name a "
            "column of numbers of respondents count"
        )
    return np.asarray(np.bincount(where, amounts, len(domain)) / amounts.sum())
