"""Sample size planning: sample size, epsilon and precision, of which any two determine the third.

`warner.planning.precision` has the formulas. Those of open domains are in `warner.discovery.prefix_search`: exact
binomial tails at the expected sizes of the levels, and the smallest share that any protocol could find.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, Unpack, overload

import numpy as np

from warner.arrays import LARGEST_TOTAL
from warner.designs import MECHANISMS, RandomizedResponse
from warner.designs.contract import Design
from warner.designs.labels import canonical
from warner.designs.open_domain import FALSE_PREFIXES, HELD_PREFIXES, OpenDomain
from warner.designs.questionnaires import SplitQuestionnaire
from warner.discovery.prefix_search import critical_count, lower_bound, planned_share, smallest_share
from warner.estimation import Estimate
from warner.estimators import METHODS, UNBIASED
from warner.estimators.auto import METHODS_COMPARED, SIMULATED_SURVEYS, predicted_errors
from warner.inference.binomial import check_power
from warner.inference.intervals import Confidence, positions_of
from warner.numerics import first_true
from warner.planning.mechanisms import advice, better_mechanism, candidates, compared, comparison_words
from warner.planning.number_precision import (
    fewest_people,
    noise_of_distribution,
    noise_of_mean,
    precision_of,
    smallest_epsilon,
    with_epsilon,
)
from warner.planning.power import Hypothesis, PowerPlan, power_plan
from warner.planning.precision import (
    DEFAULT_POWER,
    AskedNumber,
    PlanningQuestion,
    Precision,
    check_people,
    check_question,
    given_effect,
    in_units,
    measure_of,
    numbers_asked,
    pilot_effect,
    population_shares,
    share_text,
    tally_of,
)
from warner.planning.shuffling import shufflable, shuffled
from warner.planning.tradeoffs import SplitPlan, SurveyPlan, Tradeoff, capped, design_sentence, split_plan
from warner.reports.tallies import Pool, Tally
from warner.results import EXACT, Column, check_level
from warner.simulate import seeded_by
from warner.text import check_choice, counted, enumerated, level_text, percent, quoted
from warner.typesetting import percent_cells

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from warner.arrays import Array
    from warner.designs.exact import Number
    from warner.designs.labels import Domain
    from warner.documents import Document
    from warner.planning.precision import Pilot, Population
    from warner.reports.tallies import Collected


@dataclass(frozen=True, eq=False, repr=False)
class NumberPlan(Tradeoff):
    """Precision of a survey of this size for a mean or a quantile.

    It has the attributes of `Tradeoff <warner.planning.tradeoffs.Tradeoff>`, too.

    Attributes
    ----------
    half_width : float
        Half the length of the interval, in the unit of the answers: of a mean at the expected counts, before it is cut
        at the ends of the range; of a quantile on average over surveys.
    standard_error : float or None
        Standard error of the unbiased mean; None for a quantile.
    value : float
        The mean, or the quantile, in the planned population.
    method : str
        Method of the interval: clopper_pearson, which is exact, or linear, which is approximate.
    shares : ndarray of shape (k,)
        The planned population: as expected, or the one with the widest interval.
    """

    fields = (
        *("epsilon", "people", "solved_for", "quantity", "measure", "goal", "level", "worst_case", "half_width"),
        *("standard_error", "value", "method", "approximate", "delta", "shuffled_epsilon", "design_effect"),
        "population",
    )

    half_width: float
    standard_error: float | None
    value: float
    method: str
    shares: Array

    @property
    def numbers(self) -> AskedNumber:
        """The numbers of the answers, and the planned quantity."""
        assert self.question.numbers is not None
        return self.question.numbers

    @property
    def quantity(self) -> str:
        """Name of the planned quantity: ``mean``, ``median`` or ``90 % quantile``."""
        return self.numbers.name

    @property
    def error(self) -> float | None:
        """The root-mean-square error of the unbiased mean, which is its standard error; None for a quantile."""
        return self.standard_error

    @property
    def worst_case(self) -> bool:
        """True if the plan is for the population with the widest interval, because none was expected."""
        return self.population is None

    @property
    def approximate(self) -> bool:
        """True if the coverage of the interval is approximately, not at least, its level."""
        return not EXACT.issuperset(self.method.split(" or "))

    def conditions(self) -> list[str]:
        about = f"of the unbiased {self.quantity}" if self.measure == "error" else f"{self.question.confidence}"
        who = " in the worst case" if self.worst_case else ", as in the population"
        return [about, f"true {self.quantity} {in_units(self.value)}{who}"]

    def sentences(self) -> Iterator[str]:
        yield self._solution()
        yield design_sentence(self.design)
        yield self._interval()
        yield from self._design_effect()
        if self.numbers.tau is not None:
            yield (
                "A quantile: its interval comes from limits of the distribution function that assume nothing about its "
                "shape. It is at least as wide as the distance between two numbers, and far wider than the interval of "
                "a mean where there are many numbers."
            )
        yield from self._shuffled()
        yield from self.advice

    def _interval(self) -> str:
        error = "" if self.standard_error is None else f"; standard error {in_units(self.standard_error)}"
        places = np.flatnonzero(self.shares).tolist()
        held = (f"{100 * self.shares[place]:.3g} % answer {quoted(self.design.domain[place])}" for place in places)
        case = f"the worst case: {' and '.join(held)}" if self.worst_case else "as in the population"
        return (
            f"Interval: ± {in_units(self.half_width)} in the unit of the answers, for a {self.quantity} of "
            f"{in_units(self.value)} ({case}), at a confidence level of {level_text(self.level)}, "
            f"{'approximate' if self.approximate else 'exact'}{error}."
        )


def _number_advice(design: Design, quantity: str, memberships: Array) -> Iterator[str]:
    if not design.repetition() and np.isfinite(design.epsilon):
        variance = noise_of_mean(design, memberships) if quantity == "mean" else noise_of_distribution(design)
        offered = candidates(design.domain, design.epsilon, quantity, memberships)
        yield from better_mechanism(design, variance, offered, comparison_words(quantity))


# Open plans


OPEN_GRID_EPSILONS = (0.5, 1.0, 2.0, 4.0)
OPEN_GRID_PEOPLE = (0.1, 1, 10)  # times the sample size of the plan
ADVISED_LIST = 10_000  # values of the list in the advice


@dataclass(frozen=True, eq=False, repr=False)
class OpenPlan(SurveyPlan):
    """Smallest share that a survey of this size will find under an open domain.

    Attributes
    ----------
    design : OpenDomain
        The randomization of the question.
    people : int
        Number of respondents.
    share : float or None
        The share to find; None if the sample size was given.
    level, power : float
        The family-wise false-positive rate is at most 1 - ``level``; a value with the smallest share is found with
        probability ``power``.
    smallest_share : float
        The share that is found with that probability; infinite if there is none.
    lower_bound : float
        The share below which no protocol with one private report per respondent finds a value with that probability.
    """

    fields = (
        *("solved_for", "epsilon", "people", "share", "level", "power"),
        *("smallest_share", "lower_bound", "report_bits", "steps"),
    )

    design: OpenDomain
    people: int
    share: float | None
    level: float
    power: float
    smallest_share: float
    lower_bound: float

    @property
    def solved_for(self) -> str:
        """The quantity that was computed: ``"smallest_share"`` or ``"people"``."""
        return "smallest_share" if self.share is None else "people"

    @property
    def report_bits(self) -> float:
        """Length of a report in bits."""
        return self.design.report_bits

    @property
    def steps(self) -> float:
        """Approximate number of steps of the search: for each prefix, one per report, and a Fourier transform."""
        people = [self.people * weight / sum(self.design.weights) for weight in self.design.weights]
        prefixes = [1.0, *[FALSE_PREFIXES + HELD_PREFIXES] * (self.design.levels - 1)]
        work = [points * math.log2(points) for points in self.design.report_form.points]
        return sum(kept * (n + steps) for kept, n, steps in zip(prefixes, people, work, strict=True))

    def listed_share(self, number: int) -> float:
        """Share that is found with the same probability as one of `number` listed values."""
        n = max(1, round(self.people * self.design.weights[-1] / sum(self.design.weights)))
        critical = critical_count(n, self.design.q, (1 - self.level) / 2 / number)
        return smallest_share(self.design, [n], [critical], power=self.power)

    def _columns(self, epsilons: Sequence[float] | None = None, people: Sequence[int] | None = None) -> list[Column]:
        """Return the smallest share, and its bound, over a grid of epsilons and sample sizes.

        If not given, epsilons are 0.5 to 4 and that of the plan, and sample sizes a tenth of the plan's, as many, and
        ten times as many.
        """
        usual = sorted({*OPEN_GRID_EPSILONS, self.epsilon}) if math.isfinite(self.epsilon) else OPEN_GRID_EPSILONS
        chosen = list(usual if epsilons is None else epsilons)
        numbers = [max(1, round(self.people * times)) for times in OPEN_GRID_PEOPLE] if people is None else list(people)
        designs = [self.design if epsilon == self.epsilon else self.design.with_epsilon(epsilon) for epsilon in chosen]
        plans = [open_plan(made, people=n, level=self.level, power=self.power) for made in designs for n in numbers]
        smallest, least = (
            np.array([getattr(made, name) for made in plans]) for name in ("smallest_share", "lower_bound")
        )
        found = np.where(smallest <= 1, smallest, np.nan)
        return [
            *self.grid_columns(chosen, numbers),
            Column("smallest_share", smallest, "smallest share (%)", [x or "none" for x in percent_cells(found, 2)]),
            Column("lower_bound", least, "lower bound (%)", percent_cells(least, 2)),
        ]

    def _title(self, *_: Any, **options: Any) -> str:
        return "Smallest share that is found, by epsilon and number of respondents"

    def _footnotes(self, *_: Any, **options: Any) -> list[str]:
        return [self._solution()]

    def _facts(self) -> Document:
        return super()._facts() | {"advice": list(self.advice())}

    def sentences(self) -> Iterator[str]:
        design = self.design
        bits, report = math.log2(design.values.number), math.ceil(self.report_bits)
        yield (
            f"{self._solution()}, at epsilon {design.shown_epsilon()}; any value is named falsely with a probability "
            f"of at most {level_text(1 - self.level)}."
        )
        yield f"Design: {design.summary()}; {bits:.1f} bits of possible answers, {report} bits per report."
        yield (
            "No protocol with one private report per respondent finds a value of which nothing is known beforehand "
            f"with that probability if its share is below {percent(self.lower_bound)}."
        )
        yield f"The search takes about {self.steps:.1g} steps."
        yield from self.advice()

    def _solution(self) -> str:
        people = counted(self.people, "respondent", "respondents")
        chance = f"with a probability of {level_text(self.power)}"
        if self.share is not None:
            return f"{people} are needed to find a value with a share of {percent(self.share)} {chance}"
        if self.smallest_share <= 1:
            return f"Among {people}, a value with a share of {percent(self.smallest_share)} is found {chance}"
        return f"Among {people}, not even a value with a share of 100 % is found {chance}"

    def advice(self) -> tuple[str, ...]:
        """Sentences on alternatives."""
        listed = self.listed_share(ADVISED_LIST)
        shorter = (
            "The number of respondents that a share requires grows with the bits of the possible answers: a smaller "
            "alphabet or shorter answers find smaller shares."
        )
        expected = (
            f"Of a list of {ADVISED_LIST:,} expected values, those with a share of {percent(listed)} are found with "
            "the same probability (expected)."
        )
        again = (
            "If you can ask a second time, the values that were found become the list of answers of another mechanism, "
            "which needs fewer respondents."
        )
        return (shorter, expected, again) if listed < self.smallest_share else (shorter, again)


def open_plan(
    design: OpenDomain,
    *,
    people: int | None = None,
    share: float | None = None,
    level: float = 0.95,
    power: float = 0.8,
) -> OpenPlan:
    """Plan a survey with an open domain: compute the sample size from the share, or the reverse; see `warner.plan`.

    Examples
    --------
    >>> from warner import OpenDomain
    >>> apps = OpenDomain(epsilon=1, bits=48, step=16, field=3)
    >>> round(open_plan(apps, people=1_000_000).smallest_share, 4)
    0.0196
    >>> open_plan(apps, share=0.0196).people < 1_010_000
    True
    """
    check_level(level)
    check_power(power)
    if (people is None) == (share is None):
        got = "none of them" if people is None else "both"
        raise TypeError(f"plan of an open domain needs either people or share, but got {got}")
    if share is not None:
        if isinstance(share, bool) or not 0 < share <= 1:
            raise ValueError(f"share must be above 0 and at most 1, but got {share!r}")
        most = 64
        while planned_share(design, most, level=level, power=power) > share:
            most *= 2
            if most > LARGEST_TOTAL:
                raise ValueError(f"share must be larger: {share!r} needs more than 2^53 respondents at this epsilon")
        people = first_true(lambda n: planned_share(design, n, level=level, power=power) <= share, most // 2, most)
    assert people is not None
    check_people(people)
    smallest = planned_share(design, int(people), level=level, power=power)
    bound = lower_bound(design.values.number, int(people), design.epsilon, power)
    return OpenPlan(design, int(people), share, level, power, smallest, bound)


# Plans


USUAL_SHARE = 0.1  # for which a plan for the least favorable share is given as well
PLANNED_SURVEYS = 100  # simulated to predict errors
SIMULATED_CELLS = 2**28  # respondents times answers up to which surveys are simulated person by person


class UsualShare(NamedTuple):
    """Half-width for an answer with this true share."""

    share: float
    people: int
    half_width: float


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Tradeoff):
    """Precision of a survey of this size under this design.

    It has the attributes of `Tradeoff <warner.planning.tradeoffs.Tradeoff>`, too.

    Attributes
    ----------
    answer : str, int or None
        The answer that ``share``, ``half_width``, ``standard_error`` and ``smallest_share`` are for; None if the design
        treats all answers alike.
    share : float
        Its true share.
    half_width : float
        Half the length of the interval of such an answer, before it is cut at 0 and 1.
    standard_error : float
        Standard error of the unbiased share of such an answer.
    error : float
        Root-mean-square error of the unbiased shares over all answers: for the population if one is given, else for
        the one where it is largest. Infinite if the shares of some answers are not identified.
    smallest_share : float
        An answer with this share is found with probability ``power``: its reports stand out from noise, at the
        family-wise error rate 1 - ``level`` (Bonferroni). Above 1 if no answer is.
    errors : dict of str to float
        With a population, the predicted root-mean-square error over the answers of each estimator: inv by its formula,
        mle, inv_p and inv_n by simulated surveys (left out if the simulation would take minutes).
    usual : UsualShare or None
        If half-widths are for the least favorable share: the same for an answer with a true share of 10 %. It has the
        attributes ``share``, ``people`` (the sample size that is needed, if it is computed) and ``half_width``.
    """

    fields = (
        *("epsilon", "people", "solved_for", "measure", "goal", "level", "simultaneous", "power", "worst_case"),
        *("answer", "share", "half_width", "standard_error", "error", "smallest_share", "delta", "shuffled_epsilon"),
        *("design_effect", "population", "errors"),
    )

    answer: str | int | None
    share: float
    half_width: float
    standard_error: float
    error: float
    smallest_share: float
    errors: dict[str, float] = field(default_factory=dict)
    usual: UsualShare | None = None

    @property
    def power(self) -> float:
        """The probability that an answer with the share ``smallest_share`` is found."""
        return self.question.power

    @property
    def worst_case(self) -> bool:
        """True if the share was not given but is the one with the widest interval, among all or in the population."""
        return self.question.worst_case

    def _facts(self) -> Document:
        return super()._facts() | {"usual": None if self.usual is None else self.usual._asdict()}

    def conditions(self) -> list[str]:
        if self.measure == "error":
            return ["of the unbiased shares, over all answers"]
        worst = " (worst case)" if self.worst_case and self.population is None else ""
        answer = "" if self.answer is None else f" of {quoted(self.answer)}"
        return [str(self.question.confidence), f"true share{answer} {100 * self.share:.3g} %{worst}"]

    def sentences(self) -> Iterator[str]:
        yield " ".join([self._solution(), *self._usual()])
        yield design_sentence(self.design)
        yield self._interval()
        yield from self._design_effect()
        if self.error < math.inf:
            population = "the worst population" if self.population is None else "this population"
            yield (
                f"Error of the unbiased shares (inv), as a root mean square over the answers: {capped(self.error)} "
                f"(for {population}). The error of inv_p is never larger; mle and inv_n have no such guarantee."
            )
        yield self._smallest_share()
        if self.errors:
            errors = ", ".join(f"{name} {100 * error:.3g}" for name, error in self.errors.items())
            simulated = [name for name in self.errors if name != UNBIASED]
            sources = [f"{UNBIASED} by its formula"] * (UNBIASED in self.errors)
            sources += [f"{enumerated(simulated)} from simulated surveys, to a few percent"] * bool(simulated)
            yield f"Predicted errors in percentage points: {errors} ({', '.join(sources)})."
        yield from self._shuffled()
        yield from self.advice

    def _usual(self) -> Iterator[str]:
        if self.usual is not None:
            enough = f"{counted(self.usual.people, 'respondent is', 'respondents are')} enough"
            if self.solved_for != "people":
                enough = f"it is {capped(self.usual.half_width)}"
            yield f"For an answer with a true share of {share_text(self.usual.share)}, {enough}."

    def _interval(self) -> str:
        about = "an answer" if self.answer is None else f"the answer {quoted(self.answer)}"
        case = "as given" if self.question.share is not None else "as in the population"
        if self.worst_case:
            case = "the worst case" if self.population is None else "the widest interval in the population"
        intervals = "all intervals together" if self.simultaneous else "each interval"
        return (
            f"Interval: ± {capped(self.half_width)} for {about} with a true share of {share_text(self.share)} ({case}),"
            f" at a confidence level of {level_text(self.level)} for {intervals}; standard error "
            f"{capped(self.standard_error)}."
        )

    def _smallest_share(self) -> str:
        power = level_text(self.power)
        if self.smallest_share > 1:
            return f"Smallest share: no answer, however common, stands out from the noise with probability {power}."
        about = "an answer"
        if self.answer is not None and self.design.law.symmetry is None:
            about = f"the answer {quoted(self.answer)}"
        return (
            f"Smallest share: {about} stands out from the noise with probability {power} if its true share is "
            f"{share_text(self.smallest_share)}."
        )


class PlanOptions(TypedDict, total=False):
    """Options of `plan`, for types: the type of the result depends on the quantity."""

    mechanism: str | None
    epsilon: Number | None
    people: int | None
    half_width: float | None
    error: float | None
    answer: str | int | None
    share: float | None
    level: float
    simultaneous: bool
    power: float
    population: Population | None
    pilot: Pilot | None
    design_effect: float | None
    delta: float | None
    rng: np.random.Generator | None


class OptionsOfTests(PlanOptions, total=False):
    """Options of `plan` for a test."""

    reference: float | None
    shares: tuple[float, float] | None
    coefficient: float | None
    covariate: float | None
    other_design: Design | None
    alternative: str | None


@overload
def plan(domain: OpenDomain, **options: Unpack[PlanOptions]) -> OpenPlan: ...
@overload
def plan(domain: SplitQuestionnaire, **options: Unpack[PlanOptions]) -> SplitPlan: ...
@overload
def plan(  # type: ignore[overload-overlap]  # every text may be a quantity, but this one is for shares
    domain: Domain | Design | None = None,
    *,
    quantity: Literal["shares"] = "shares",
    values: None = None,
    **options: Unpack[PlanOptions],
) -> Plan: ...
@overload
def plan(domain: Domain | Design | None = None, **options: Unpack[OptionsOfTests]) -> PowerPlan: ...
@overload
def plan(
    domain: Domain | Design | None = None, *, quantity: str | float, values: Any = None, **options: Unpack[PlanOptions]
) -> NumberPlan: ...
def plan(
    domain: Domain | Design | OpenDomain | SplitQuestionnaire | None = None,
    *,
    mechanism: str | None = None,
    epsilon: Number | None = None,
    people: int | None = None,
    half_width: float | None = None,
    error: float | None = None,
    answer: str | int | None = None,
    share: float | None = None,
    level: float = 0.95,
    simultaneous: bool = False,
    power: float = DEFAULT_POWER,
    population: Population | None = None,
    pilot: Pilot | None = None,
    design_effect: float | None = None,
    delta: float | None = None,
    rng: np.random.Generator | None = None,
    quantity: str | float = "shares",
    values: Any = None,
    reference: float | None = None,
    shares: tuple[float, float] | None = None,
    coefficient: float | None = None,
    covariate: float | None = None,
    other_design: Design | None = None,
    alternative: str | None = None,
) -> Plan | NumberPlan | OpenPlan | PowerPlan | SplitPlan:
    """Plan a survey: compute one of sample size, epsilon and precision from the other two.

    The result holds for the design that is returned: the sample size is the smallest that reaches the goal, and epsilon
    is the smallest, so the most private, that does (to nine digits).

    Parameters
    ----------
    domain : int, sequence of labels, Design or OpenDomain, optional
        The possible answers, their number, or a design. The epsilon of a design is used, unless people and a goal are
        given: then the epsilon of its mechanism is computed. With a pilot, the default is the pilot's design. With an
        `OpenDomain`, the result is an `OpenPlan`: the smallest share for a sample size, or the sample size that a share
        needs. Its other options are level and power. With a `SplitQuestionnaire`, it is a `SplitPlan`.
    mechanism : str, optional
        The mechanism that randomizes answers, if no design is given: a name in `warner.designs.MECHANISMS`. If not
        given, the one that `warner.mechanisms` recommends for these answers, this epsilon and this ``share``.
    epsilon : number, optional
        The privacy of one report, in nats.
    people : int, optional
        Number of respondents.
    half_width : float, optional
        Half the length that the interval of an answer may have, as a share: 0.02 is two percentage points. It is taken
        at the expected counts, before the interval is cut at 0 and 1; the average over surveys is about the same.
    error : float, optional
        Instead of ``half_width``: the root-mean-square error that the unbiased shares may have, over the answers, as an
        estimate of a population's shares: sqrt(sum of variances / K). For the population if one is given, else for the
        one where it is largest.
    answer : str or int, optional
        The answer that the half-width is for; if not given, the one with the widest interval. It matters for designs
        that treat answers differently; with two answers, the default is the first.
    share : float, optional
        The true share that the half-width is for; if not given, the one with the widest interval. The distribution of
        the other answers is the least favorable one, where it matters.
    level : float
        Confidence level.
    simultaneous : bool
        True for joint coverage of all K intervals, each at level 1 - (1 - ``level``) / K.
    power : float
        Probability of detecting an answer with the smallest share that the plan shows. Of a test, with ``reference``,
        ``shares`` or ``coefficient``: the power to reach; with ``people``, the power is computed.
    population : str, tuple, path or array_like, optional
        The expected shares: ``"uniform"``, ``("zipf", s)`` or ``"zipf:s"``, a CSV file with columns value and share (or
        count), or K numbers that sum to 1. The error of each estimator is then predicted.
    pilot : Estimate, Tally or Pool, optional
        Reports of an earlier survey; their `inv_p` estimate is the population. With a pool of several designs, give the
        design to plan with. If the pilot has strata, clusters or replicate weights, the plan uses its design effect.
    design_effect : float, optional
        Ratio of the required sample size to that of a simple random sample, such as 1.5 for clusters. It replaces the
        design effect of the pilot.
    delta : float, optional
        Compute the central epsilon of the shuffled reports at this delta (`warner.planning.shuffling.shuffled`).
    rng : numpy.random.Generator, optional
        For the simulated surveys; seeded from the plan if not given, so that it can be repeated.
    quantity : {"shares", "mean", "median"} or float
        The quantity to estimate: shares of answers, or, for numeric answers, their mean, median, or a quantile from 0
        to 1, such as 0.9. Then ``half_width`` and ``error``, the standard error of the mean, are in the unit of the
        answers; the result is a `NumberPlan`. A mean is planned for the population, or for the worst one; a quantile
        needs a population.
    values : mapping or sequence, optional
        The number of each answer, if answers are not numeric: as for `Estimate.mean`.
    reference : float, optional
        Plan a test that the true share of ``answer`` is not this one, but ``share``; the result is a `PowerPlan`.
    shares : pair of float, optional
        Plan a comparison of two groups in which the answer has these true shares.
    coefficient : float, optional
        Plan a test of this log odds ratio, in a logistic regression of one of two answers on a covariate: for one
        standard deviation of a normal covariate, at whose mean the answer has the given ``share``.
    covariate : float, optional
        Instead of a normal covariate: one that is 1 for this share of the respondents, and 0 for the others, among whom
        the answer has the given ``share``.
    other_design : Design, optional
        The design of the second group, if it is not that of the first.
    alternative : {"one-sided", "two-sided"}, optional
        One-sided for a reference of 0, otherwise two-sided, if not given.

    Examples
    --------
    Two answers at odds 3 : 1, so p - q = 1/2, and phi (1 - phi) is at most 1/4: the usual formula asks for
    (1.96 / 0.02)^2 / 4 / (1/2)^2 = 9,604 respondents for two percentage points, the exact interval for a few more.

    >>> survey = RandomizedResponse(["yes", "no"], odds=(3, 1))
    >>> plan(survey, half_width=0.02).people
    9701
    >>> round(plan(survey, people=9701).half_width, 4)
    0.02

    The mean age to two years, with a square wave tuned for means:

    >>> from warner import SquareWave
    >>> plan(SquareWave(range(18, 100), epsilon=1, quantity="mean"), half_width=2, quantity="mean").people
    9555
    """
    tested = Hypothesis(reference, shares, coefficient, covariate, other_design, alternative)
    about_shares = {"delta": delta, "quantity": None if quantity == "shares" else quantity}
    of_answers = {"mechanism": mechanism, "epsilon": epsilon, "answer": answer, "population": population}
    of_answers |= {"pilot": pilot, "design_effect": design_effect, "values": values, **vars(tested)}
    precise = {"half_width": half_width, "error": error, "simultaneous": simultaneous or None, **about_shares}
    if isinstance(domain, SplitQuestionnaire):
        if any(value is not None for value in (of_answers | about_shares).values()):
            raise TypeError("plan of several questions takes people, half_width, error, share, level and simultaneous")
        measure, goal = measure_of(half_width, error)
        return split_plan(domain, plan, people, measure, goal=goal, share=share, level=level, simultaneous=simultaneous)
    if isinstance(domain, OpenDomain):
        _refuse(of_answers | precise, "an open domain; give people or share, level and power")
        return open_plan(domain, people=people, share=share, level=level, power=power)
    if pilot is not None and population is not None:
        raise TypeError("give a population or a pilot, not both")
    measure, goal = measure_of(half_width, error)
    if testing := any(value is not None for value in vars(tested).values()):
        tested.check(share, level, power)
        _refuse(precise, "a test; give people, or the power to reach")
        share = share if shares is None else sum(shares) / 2
    reports = None if pilot is None else tally_of(pilot)
    given = [name for name, value in (("people", people), (measure, goal)) if value is not None]
    given += ["power"] * (testing and people is None)
    source = _source(domain, mechanism, epsilon, reports, given)
    labels = source.domain if isinstance(source, Design) else canonical(source)
    expected = population if reports is None else reports
    expected_shares = None if expected is None else population_shares(expected, labels)
    question = PlanningQuestion(
        measure,
        goal,
        Confidence(level, simultaneous=simultaneous),
        power,
        None if answer is None else positions_of([answer], labels)[0],
        share,
        expected_shares,
        numbers_asked(labels, quantity, values),
        None if design_effect is None else given_effect(design_effect),
    )
    check_question(question)
    if design_effect is None and expected_shares is not None and isinstance(expected, Estimate | Tally | Pool):
        question = replace(question, effect=pilot_effect(expected, expected_shares, question))
    if people is not None:
        check_people(people)
    if delta is not None and quantity is not None and mechanism is None and not isinstance(source, Design):
        mechanism = RandomizedResponse.mechanism  # for other designs for numbers no bound is known
    if testing:
        made = _design(source, mechanism, epsilon, question)
        return power_plan(made, question, tested, None if people is None else int(people))
    solved_for = measure
    if people is None or goal is None:
        design = _design(source, mechanism, epsilon, question)
    else:
        solved_for, design = "epsilon", _most_private(source, mechanism, int(people), question, goal)
    if delta is not None:
        shufflable(design, delta)
    _check_identified(design, question)
    if people is None:
        assert goal is not None
        solved_for, people = "people", fewest_people(design, question, goal)
    precision, people = precision_of(design, question), int(people)
    central: Any = {"delta": delta, "shuffled_epsilon": None if delta is None else shuffled(design, people, delta)}
    known = precision.at(float(people)) | central
    if not isinstance(precision, Precision):
        told = tuple(_number_advice(design, question.quantity, precision.numbers.memberships))
        return NumberPlan(design, people, solved_for, question, shares=precision.population, advice=told, **known)
    known |= {"errors": _predicted_errors(precision, people, rng), "usual": _usual(precision, people, solved_for)}
    return Plan(design, people, solved_for, question, advice=tuple(advice(precision)), **known)


def _usual(precision: Precision, people: int, solved_for: str) -> UsualShare | None:
    design, question = precision.design, precision.question
    if question.measure != "half_width" or question.share is not None or question.population is not None:
        return None
    usual = replace(question, share=USUAL_SHARE)
    if solved_for == "people":
        assert question.goal is not None
        people = fewest_people(design, usual, question.goal)
    return UsualShare(USUAL_SHARE, people, Precision(design, usual).half_width(float(people)))


def _refuse(options: dict[str, Any], where: str) -> None:
    if given := [name for name, value in options.items() if value is not None]:
        raise TypeError(f"{given[0]} must be left out for {where}")


def _source(
    domain: Any, mechanism: str | None, epsilon: Number | None, reports: Collected | None, given: list[str]
) -> Any:
    """Return the design or the answers to plan with; two of epsilon, people and a goal must be known."""
    if domain is None and reports is None:
        raise TypeError("plan needs the possible answers: their number, their labels, or a design")
    if isinstance(domain, Design) and (epsilon is not None or mechanism not in {None, domain.mechanism}):
        raise TypeError(
            "give a design, whose mechanism and epsilon are known, or the possible answers with epsilon and mechanism, "
            f"not a design and {'mechanism' if epsilon is None else 'epsilon'}"
        )
    source = domain
    if domain is None and reports is not None:
        if len(reports.parts) > 1:
            raise TypeError("pilot was pooled from several designs; give the design to plan with as the domain")
        source = reports.parts[0].design if mechanism is None else reports.domain
    # With both people and a goal, epsilon is computed, and the epsilon of a design is replaced.
    whole = isinstance(source, Design)
    known = ["epsilon"] if epsilon is not None else ["a design"] if whole and len(given) < 2 else []
    if len(known) + len(given) != 2:
        raise TypeError(
            "give two of epsilon (or a design), people, and half_width or error, to get the third; but got "
            f"{' and '.join([*known, *given]) or 'none of them'}"
        )
    return source


def _design(source: Any, mechanism: str | None, epsilon: Number | None, question: PlanningQuestion) -> Design:
    """Return the design to plan with: the given one, or the best one of the mechanism, else of the recommended one."""
    if isinstance(source, Design):
        return source if epsilon is None else with_epsilon(source, epsilon, question.share_asked)
    assert epsilon is not None
    if mechanism is None:
        return compared(canonical(source), epsilon, question).design()
    return _made(source, mechanism, epsilon, question)


def _most_private(source: Any, mechanism: str | None, people: int, question: PlanningQuestion, goal: float) -> Design:
    if isinstance(source, Design) or mechanism is not None:
        first = source if isinstance(source, Design) else _made(source, mechanism or "", 1, question)
        return smallest_epsilon(first, people, question, goal)
    # The recommendation depends on epsilon: follow it from randomized response until it stays the same.
    found: dict[str, Design] = {}
    name, design = "", _made(source, RandomizedResponse.mechanism, 1, question)
    while name not in found:
        found[name] = smallest_epsilon(design, people, question, goal)
        offered = compared(found[name].domain, found[name].epsilon, question)
        name, design = offered.recommended, offered.design()
    return found[name]


def _made(domain: Any, mechanism: str, epsilon: Number, question: PlanningQuestion) -> Design:
    """Make the best design of a mechanism for an epsilon and a planned quantity."""
    check_choice("mechanism", mechanism, MECHANISMS)
    quantity = "mean" if question.quantity == "mean" else "distribution"
    offered = MECHANISMS[mechanism].variants(domain, epsilon, quantity)
    if not offered:
        raise ValueError(f"mechanism must be one that follows from epsilon, but a {mechanism} does not; give a design")
    made = next(iter(offered.values()))
    return made if question.share_asked is None else made.best_for_share(question.share_asked)


def _check_identified(design: Design, question: PlanningQuestion) -> None:
    if design.epsilon == 0:
        raise ValueError("the design must have an epsilon above 0: with p = q, reports carry no information")
    if question.numbers is None and question.measure == "error" and Precision(design, question).unidentified.size:
        raise ValueError(
            "error must be planned for a design that identifies the shares of all answers; give half_width, for those "
            "that are identified"
        )


def _predicted_errors(precision: Precision, people: int, rng: np.random.Generator | None) -> dict[str, float]:
    """Predict the root-mean-square error of each estimator for the population, by simulated surveys."""
    design, population = precision.design, precision.question.population
    if population is None:
        return {}
    all_identified = not precision.unidentified.size
    known = {UNBIASED: precision.error(float(people))} if all_identified else {}
    alone = max(1, round(precision.simple(people)))
    surveys = PLANNED_SURVEYS
    # Counts of reports with types, and of reports that are counted once each, come from one draw.
    if not design.law.exclusive and design.law.types is None:  # respondent by respondent
        surveys = min(surveys, SIMULATED_CELLS // (alone * design.k))
        if surveys < SIMULATED_SURVEYS:  # that would take minutes
            return known
    generator = seeded_by(np.append(population, [people, design.epsilon])) if rng is None else rng
    # Methods without a likelihood undo the randomization.
    methods = [*known, *(name for name in METHODS_COMPARED if all_identified or METHODS[name].likelihood)]
    squared = predicted_errors(population, [(design, alone)], rng=generator, surveys=surveys, methods=methods)
    simulated = {name: math.sqrt(error / design.k) for name, error in squared.items()}
    # Relative to the error of `inv` in the same surveys, whose expectation is known, most simulation error cancels.
    unbiased = simulated.pop(UNBIASED, 0.0)
    ratio = known[UNBIASED] / unbiased if unbiased > 0 else 1.0
    return known | {name: ratio * error for name, error in simulated.items()}
