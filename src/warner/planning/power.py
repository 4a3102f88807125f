r"""Power: the sample size that finds an effect, and the probability that a sample finds it.

**One share against a reference value.** The count of an answer is binomial with probability :math:`\mu = b + g\theta`.
The test rejects from the critical count c on, the smallest with :math:`P_{\mu_0}(X \ge c) \le \alpha` (with the mirror
image where :math:`\mu < \mu_0`). Its power :math:`P_{\mu}(X \ge c)` is exact, and a saw-tooth over the sample size: it
rises with n while c stays the same, and drops where c grows. The sample size is the one from which on it never falls
below the goal. Only the lowest points matter, around the solution of the normal distribution
:math:`((z\sqrt{\mu_0(1-\mu_0)} + y\sqrt{\mu(1-\mu)})/(\mu-\mu_0))^2`, which is off by a few :math:`1/|\mu-\mu_0|`.

**Two groups** of n respondents, each under its own design: with V the sum of the variances of both unbiased shares for
one report, and :math:`V_0` the same where both shares are their mean, weighted by precision,

.. math:: n = \Big(\frac{z\sqrt{V_0} + y\sqrt{V}}{\theta_1 - \theta_2}\Big)^2
              + \frac{1/|g_1| + 1/|g_2|}{2\,|\theta_1 - \theta_2|}.

The last term is for the exact test, which needs about half a report more on either side. This is approximate: for a
goal of 0.8 the simulated power of `compare_samples` was 0.79 to 0.84.

**A coefficient** of the logistic regression of a randomized answer on a covariate x, by Wald's test: :math:`n = ((z +
y) s / \beta)^2`, with the expected information :math:`s^{-2}` of one report from :math:`\sum w\,x x'`, :math:`w = (g
\pi (1-\pi))^2 / (\mu (1-\mu))`; approximate.

A design effect multiplies the sample size, and so does the part of the respondents whom a design asks about an answer.

A worked number: forced response, truth with probability 2/3 and "yes" with 1/6, has b = 1/6 and g = 2/3. A share of
20 % has :math:`\mu` = 0.3 against 1/6. With :math:`\alpha` = 5 % on one side, a power of 80 % needs 70 respondents: 62
reach the goal too, but 69 do not. R's ``rr::power.rr.test`` says 55, whose power is 72 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from warner.arrays import LARGEST_TOTAL, SMALLEST, Counts
from warner.designs.contract import Design
from warner.discovery.prefix_search import critical_count
from warner.inference.binomial import ROUNDING, at_least, check_power
from warner.numerics import first_true, first_true_each
from warner.planning.mechanisms import advice
from warner.planning.precision import Precision, share_text
from warner.planning.tradeoffs import PlottedPlan, design_sentence
from warner.results import Column, check_level
from warner.text import counted, level_text, quoted
from warner.typesetting import percent_cells

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from warner.documents import Document
    from warner.planning.precision import PlanningQuestion

TEST_NAMES = {
    "reference": "exact binomial test",
    "shares": "comparison of two shares",
    "coefficient": "Wald test of a logistic regression",
}
NEEDED = {"covariate": "coefficient", "other_design": "shares"}
SIDES = {"one-sided": 1, "two-sided": 2}
LARGEST_EXACT = 10**7  # respondents up to which the exact sample size is computed
TEETH = 4  # multiples of 1 / |mu - mu0| within which the exact sample size is near the normal one
QUADRATURE_NODES = 80  # for a normal covariate
SIZES = (0.25, 0.5, 1, 2, 4)  # times the sample size of the plan


@dataclass(frozen=True)
class Hypothesis:
    """Effect that a test should detect: a share off the reference, two shares, or a coefficient; see `warner.plan`."""

    reference: float | None = None
    shares: tuple[float, float] | None = None
    coefficient: float | None = None
    covariate: float | None = None
    other_design: Design | None = None
    alternative: str | None = None

    @property
    def test(self) -> str:
        return next((name for name in TEST_NAMES if getattr(self, name) is not None), "")

    @property
    def sides(self) -> int:
        """Number of sides; 1 by default for a test against 0, otherwise 2."""
        return SIDES[self.alternative or ("one-sided" if self.reference == 0 else "two-sided")]

    def check(self, share: float | None, level: float, power: float) -> None:
        """Raise an error for options that are missing, contradictory, or leave no effect to detect."""
        check_level(level)
        check_power(power)
        for name in [one.name for one in fields(self) if getattr(self, one.name) is not None]:
            needed = NEEDED.get(name, self.test or "reference, shares or coefficient")
            if name in TEST_NAMES and name != self.test:
                raise TypeError(f"{name} must be left out where {self.test} is given: a plan is for one test")
            if name not in TEST_NAMES and needed != self.test:
                raise TypeError(f"{name} must be left out, or given with {needed}")
        if (self.test == "shares") != (share is None):
            need = "left out where shares are given" if self.shares else f"given with {self.test}: the true share"
            raise TypeError(f"share must be {need}")
        if self.alternative not in {None, *SIDES}:
            raise ValueError(f'alternative must be "one-sided" or "two-sided", but got {self.alternative!r}')
        if self.other_design is not None and not isinstance(self.other_design, Design):
            raise TypeError(f"other_design must be a design, but got {self.other_design!r}")
        if self.shares is not None and np.shape(self.shares) != (2,):
            raise ValueError(f"shares must be two numbers, the share in each group, but got {self.shares!r}")
        shares = [("reference", self.reference), *(("shares", value) for value in self.shares or ())]
        for name, value in [*shares, ("coefficient", self.coefficient), ("covariate", self.covariate)]:
            if not isinstance(value, Real | None):
                raise TypeError(f"{name} must be a number, but got {value!r}")
        for name, value in shares:
            if value is not None and not 0 <= value <= 1:
                raise ValueError(f"{name} must be from 0 to 1, but got {value!r}")
        if self.test == "reference" and self.reference == share:
            raise ValueError(
                f"share must differ from the reference, but is {share!r} as well: there is nothing to find"
            )
        if self.shares is not None and self.shares[0] == self.shares[1]:
            raise ValueError(f"shares must differ, but both are {self.shares[0]!r}: there is nothing to find")
        if self.coefficient is not None and not 0 < abs(self.coefficient) < math.inf:
            raise ValueError(f"coefficient must be a finite number other than 0, but got {self.coefficient!r}")
        if self.coefficient is not None and share in {0, 1}:
            raise ValueError(f"share must be above 0 and below 1 for a coefficient, but got {share!r}")
        if self.covariate is not None and not 0 < self.covariate < 1:
            raise ValueError(
                "covariate must be the share of respondents with the value 1, above 0 and below 1, but got "
                f"{self.covariate!r}; leave it out for a normal covariate"
            )
        if level <= 0.5:
            raise ValueError(f"level must be above 0.5 for a test, such as 0.95, but got {level!r}")
        if power <= 1 - level:
            raise ValueError(f"power must be above the significance level of {1 - level:.4g}, but got {power!r}")


class CountTest(NamedTuple):
    """Exact test of the probability `null` of a count, where `reported`, which is larger, is the true one."""

    null: float
    reported: float

    def power(self, n: float, tail: float) -> float:
        return float(at_least(critical_count(math.floor(n), self.null, tail), math.floor(n), self.reported))

    def respondents(self, tail: float, goal: float) -> tuple[int, bool]:
        """Return the sample size from which on the power never falls below the goal; True if it is exact.

        >>> CountTest(1 / 6, 0.3).respondents(0.05, 0.8)
        (70, True)
        """
        null, reported = self
        if null <= 0:  # a single report rejects
            needed = 1.0 if reported >= 1 else math.log1p(-goal) / math.log1p(-reported)
            return math.ceil(needed * (1 - ROUNDING)), True
        null_variance, variance = null * (1 - null), reported * (1 - reported)
        normal = NormalTest(reported - null, null_variance, variance).respondents(tail, goal)[0]
        if normal > LARGEST_EXACT:
            return normal, False
        middle = normal * null - ndtri(tail) * math.sqrt(normal * null_variance)
        width = TEETH * reported / (reported - null) + 25 * TEETH

        def largest(counts: Counts) -> Counts:
            """Return the last sample size at which each count is critical; with counts / null, half are above."""
            most = np.minimum(counts / null, LARGEST_TOTAL).astype(np.int64) + 2
            return first_true_each(lambda n: at_least(counts, n, null) > tail, counts, most) - 1

        while True:
            counts = np.arange(max(0, int(middle - width)), int(middle + width))
            last = largest(counts)
            first = last[:-1] + 1  # the lowest power of each critical count
            low = np.flatnonzero(at_least(counts[1:], first, reported) < goal)
            if low.size and low[-1] < 0.9 * first.size:
                break
            width *= 2  # the normal distribution is far off in extreme tails
        worst = int(low[-1])
        critical, start, end = int(counts[worst + 1]), int(first[worst]), int(last[worst + 1]) + 1
        return first_true(lambda n: bool(at_least(critical, n, reported) >= goal), start, end), True


class NormalTest(NamedTuple):
    """Normal test of an effect; variances are for one report, where there is no effect and where there is."""

    effect: float
    null_variance: float
    variance: float
    more: float = 0.0  # reports beyond the formula

    def power(self, n: float, tail: float) -> float:
        distance = abs(self.effect) * math.sqrt(max(n - self.more, 0)) + ndtri(tail) * math.sqrt(self.null_variance)
        return float(ndtr(distance / math.sqrt(max(self.variance, SMALLEST))))

    def respondents(self, tail: float, goal: float) -> tuple[int, bool]:
        root = ndtri(goal) * math.sqrt(self.variance) - ndtri(tail) * math.sqrt(self.null_variance)
        return max(1, math.ceil((root / self.effect) ** 2 + self.more)), False


class _Counted(NamedTuple):
    """Probability base + gain * share that a report counts, for the part `asked` of the respondents."""

    base: float
    gain: float
    asked: float

    def variance(self, share: float) -> float:
        counted = self.base + self.gain * share
        return max(counted * (1 - counted), SMALLEST) / self.gain**2 / self.asked


def _counted(name: str, design: Design, question: PlanningQuestion) -> _Counted:
    if design.epsilon == 0:
        raise ValueError(f"{name} must have an epsilon above 0: with p = q, reports carry no information")
    cases = Precision(design, question).cases
    if cases.places.size > 1:
        raise ValueError(f"answer must be given for a {design.mechanism}, which does not treat all answers alike")
    if not cases.exact.all():
        raise ValueError(f"{name} must have a binomial count for the answer, but a {design.mechanism} has none")
    return _Counted(float(cases.base[0]), float(cases.gain[0]), float(np.ravel(cases.asked)[0]))


def _test(design: Design, question: PlanningQuestion, asked: Hypothesis) -> tuple[CountTest | NormalTest, float]:
    """Return the test, and the part of the respondents whom it is about."""
    one, share = _counted("the design", design, question), question.share
    if asked.shares is not None:
        other, (first, second) = _counted("other_design", asked.other_design or design, question), asked.shares
        v, w = one.variance(first), other.variance(second)
        common = first * (w / (v + w)) + second * (v / (v + w))
        more = sum(1 / abs(law.gain) / law.asked for law in (one, other)) / 2 / abs(first - second)
        return NormalTest(first - second, one.variance(common) + other.variance(common), v + w, more), 1.0
    assert share is not None
    if asked.reference is not None:
        null, reported = one.base + one.gain * asked.reference, one.base + one.gain * share
        return CountTest(null, reported) if null < reported else CountTest(1 - null, 1 - reported), one.asked
    if design.k > 2:
        raise ValueError(f"coefficient must be left out for a question with {design.k:,} answers: it is for two")
    x, parts = np.polynomial.hermite_e.hermegauss(QUADRATURE_NODES)
    if asked.covariate is not None:
        x, parts = np.array([0.0, 1.0]), np.array([1 - asked.covariate, asked.covariate])
    coefficient = asked.coefficient or 0.0
    held = expit(logit(share) + coefficient * x)
    reported = one.base + one.gain * held
    slope, variance = one.gain * held * (1 - held), np.maximum(reported * (1 - reported), SMALLEST)
    weights = parts / parts.sum() * slope**2 / variance
    rows = np.stack([np.ones_like(x), x])
    information = (rows * weights) @ rows.T
    if not np.linalg.cond(information) < 1 / np.finfo(float).eps:
        raise ValueError(
            f"coefficient must be nearer to 0, or the share to one half, but got {coefficient!r} and {share!r}: almost "
            "all true answers would be the same"
        )
    squared_error = float(np.linalg.inv(information)[1, 1])
    return NormalTest(coefficient, squared_error, squared_error), one.asked


@dataclass(frozen=True, eq=False, repr=False)
class PowerPlan(PlottedPlan):
    """Sample size with which a test finds an effect, or the power of a test with a sample of this size.

    Attributes
    ----------
    design : Design
        The randomization of the question.
    question : PlanningQuestion
        The answer, its true share, the level, the power to reach, and the design effect.
    hypothesis : Hypothesis
        The reference value, the shares of two groups or the coefficient, and the alternative.
    people : int
        Number of respondents; in each group, if two are compared.
    solved_for : str
        The quantity that was computed: ``"people"`` or ``"power"``.
    power : float
        Probability that the test finds the effect, on the side of the true share.
    approximate : bool
        True if this is approximate: for two groups, coefficients and design effects.
    advice : tuple of str
        Sentences on alternatives.
    """

    fields = ("solved_for", "epsilon", "people", "power", "approximate", "design_effect", "advice")

    design: Design
    question: PlanningQuestion
    hypothesis: Hypothesis
    people: int
    solved_for: str
    power: float
    approximate: bool
    advice: tuple[str, ...] = ()

    @property
    def each(self) -> str:
        return " in each group" if self.hypothesis.shares else ""

    @property
    def measure(self) -> str:
        """Always ``"power"``."""
        return "power"

    @property
    def goal(self) -> float | None:
        """Power to reach; None if the power was computed."""
        return self.question.power if self.solved_for == "people" else None

    def conditions(self) -> list[str]:
        return [self._test_words(), self._effect()]

    @property
    def _answer(self) -> Any:
        place = self.question.answer if self.design.k > 2 else self.question.answer or 0
        return None if place is None else self.design.domain[place]

    def _facts(self) -> Document:
        asked, question = self.hypothesis, self.question
        known = {one.name: getattr(asked, one.name) for one in fields(asked)} | {
            "test": asked.test,
            "alternative": list(SIDES)[asked.sides - 1],
            "other_design": None if asked.other_design is None else asked.other_design.to_dict(),
            "groups": 1 if asked.shares is None else 2,
            "answer": self._answer,
            "share": question.share if asked.shares is None else None,
            "level": question.confidence.level,
            "goal": self.goal,
        }
        return super()._facts() | known

    def _columns(self, epsilons: Sequence[float] | None = None, people: Sequence[int] | None = None) -> list[Column]:
        """Return the power over a grid of epsilons of the design and sample sizes.

        If not given, sample sizes are from a quarter of the plan's to four times as many.
        """
        columns, designs, sizes = self._grid(epsilons, people, [max(1, round(self.people * times)) for times in SIZES])
        powers = np.array([_power(made, self.question, self.hypothesis, n) for made in designs for n in sizes])
        return [*columns, Column("power", powers, "power (%)", percent_cells(powers, 1))]

    def _title(self, *_: Any, **options: Any) -> str:
        return f"Power by epsilon and number of respondents{self.each}"

    def _footnotes(self, *_: Any, **options: Any) -> list[str]:
        return [self._solution(), self._basis()]

    def sentences(self) -> Iterator[str]:
        yield self._solution()
        yield design_sentence(self.design)
        if self.hypothesis.other_design is not None:
            yield design_sentence(self.hypothesis.other_design, "Other group")
        yield self._basis()
        yield from self._design_effect()
        yield from self.advice

    def _solution(self) -> str:
        one, people = self.people == 1, counted(self.people, "respondent", "respondents") + self.each
        epsilon, effect = f"at epsilon {self.design.shown_epsilon()}", self._effect()
        if self.solved_for == "power":
            power = f"with a power of {share_text(self.power)}"
            return f"{people} {epsilon} {'finds' if one else 'find'} {power} {effect}."
        goal = f"with a power of {level_text(self.question.power)}"
        return f"{people} {'is' if one else 'are'} needed {epsilon} to find {goal} {effect}."

    def _effect(self) -> str:
        asked, answer = self.hypothesis, "an answer" if self._answer is None else quoted(self._answer)
        if asked.shares is not None:
            first, second = map(share_text, asked.shares)
            return f"that the shares of {answer} in two groups differ, if they are {first} and {second}"
        share = self.question.share or 0.0
        if asked.reference is not None:
            side = "above" if share > asked.reference else "below"
            return f"that the share of {answer} is {side} {share_text(asked.reference)}, if it is {share_text(share)}"
        unit, where = "for one standard deviation of a normal covariate", "at its mean"
        if asked.covariate is not None:
            unit = f"for a covariate that is 1 for {share_text(asked.covariate)} and 0 for all others"
            where = "where it is 0"
        held = f"if the share of {answer} is {share_text(share)} {where}"
        return f"a coefficient (log odds ratio) of {asked.coefficient:.4g} {unit}, {held}"

    def _test_words(self) -> str:
        asked, level = self.hypothesis, level_text(1 - self.question.confidence.level)
        return f"{TEST_NAMES[asked.test]}, {list(SIDES)[asked.sides - 1]}, at a significance level of {level}"

    def _basis(self) -> str:
        kind = "approximate" if self.approximate else "exact"
        basis = f"Test: {self._test_words()}; its power with this sample size is {share_text(self.power)} ({kind})."
        more = " With more respondents the power never falls below the goal; with fewer it may reach it by chance."
        return basis + more * (self.solved_for == "people" and not self.approximate)


def power_plan(design: Design, question: PlanningQuestion, hypothesis: Hypothesis, people: int | None) -> PowerPlan:
    """Plan a test: compute the sample size from the power, or the power from the sample size; see `warner.plan`."""
    other = hypothesis.other_design
    if other is not None and other.domain != design.domain:
        raise ValueError("other_design must have the same answers as the design, but has others")
    test, part = _test(design, question, hypothesis)
    effect = Precision(design, question).design_effect / part
    solved_for, exact = "power", isinstance(test, CountTest)
    if people is None:
        solved_for = "people"
        alone, exact = test.respondents(_tail(question, hypothesis), question.power)
        people = math.ceil(effect * alone * (1 - ROUNDING))
        if people > LARGEST_TOTAL:
            raise ValueError(
                f"power must be smaller, or the effect or epsilon larger: {question.power!r} needs more than 2^53 "
                f"respondents at epsilon {design.shown_epsilon()}"
            )
    power, told = _power(design, question, hypothesis, people), tuple(advice(Precision(design, question)))
    return PowerPlan(design, question, hypothesis, people, solved_for, power, not exact or effect != 1, told)


def _power(design: Design, question: PlanningQuestion, hypothesis: Hypothesis, people: int) -> float:
    test, part = _test(design, question, hypothesis)
    alone = people * part / Precision(design, question).design_effect
    return test.power(alone * (1 + ROUNDING), _tail(question, hypothesis))


def _tail(question: PlanningQuestion, hypothesis: Hypothesis) -> float:
    return (1 - question.confidence.level) / hypothesis.sides
