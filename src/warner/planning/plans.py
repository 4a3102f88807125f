r"""How many people, which epsilon: what a survey will be able to say, before anybody is asked.

Three quantities hang together: the number of people, the epsilon of a report, and how sure the answer will be. Any two
give the third. How sure is said in one of two ways:

- ``half_width``: half the length of the exact interval (Clopper and Pearson's, before its ends are cut at
  0 and 1) for an answer with a given true share, at the number of reports to be expected.
- ``error``: the root-mean-square error of the unbiased shares (`warner.inv`) over the K answers, as an estimate of a
  population's shares: :math:`\sqrt{\sum_i \mathrm{Var}_i / K}` with :math:`\sum_i \mathrm{Var}_i =
  (1 - \sum_i \phi_i^2) / (N (p-q)^2)`.

Both are in units of a share: 0.02 is two percentage points.
"""

from __future__ import annotations

import json
import math
import textwrap
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtri

from warner.designs import Channel, Domain, Number, Pooled, RandomizedResponse
from warner.estimators import LARGEST_TOTAL
from warner.estimators.auto import SURVEYS, predicted_errors
from warner.inference.binomial import Reading, binomial_limits, check_level, check_power, smallest_share
from warner.inference.intervals import linear_spread, rate_of, standard_error
from warner.planning.populations import population_shares, tally_of
from warner.planning.shuffling import shuffled
from warner.simulate import seeded_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from warner.estimation import Estimate
    from warner.planning.populations import Population
    from warner.reports.tallies import Tally

Plannable: TypeAlias = RandomizedResponse | Channel

LARGEST_EPSILON = 20.0  # beyond, a report is the truth but for one in some hundred million
SMALLEST_EPSILON = 1e-6
WORTH_TELLING = 0.95  # another protocol is named if it needs fewer than so many of the people
GRID_EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """What a survey of so many people under such a design will be able to say.

    Attributes
    ----------
    design : RandomizedResponse or Channel
        What every answer will go through.
    people : int
        Number of people who report.
    found : str
        Which quantity was asked for: ``"people"``, ``"epsilon"``, ``"half_width"``.
    target : float or None
        The half-width or error that was to be reached; None where that was the question.
    wanted : str
        What ``target`` is: ``"half_width"`` or ``"error"``.
    level : float
        Confidence level of the intervals.
    simultaneous : bool
        Whether the intervals of all answers are to hold together (Bonferroni).
    power : float
        The probability with which an answer as common as ``smallest_share`` is found.
    share : float
        The true share that ``half_width`` and ``standard_error`` are for.
    worst_case : bool
        Whether that share was not given, but is the one with the widest interval: of all shares from 0 to 1, or of
        those in the population if one is given.
    half_width : float
        Half the length of the exact interval of such an answer, before it is cut at 0 and 1.
    standard_error : float
        Of the unbiased share of such an answer.
    error : float
        Root-mean-square error of the unbiased shares over all answers: for the population if one is given, else for
        the population where it is largest, the uniform one.
    smallest_share : float
        An answer with this share is found with probability ``power``: its reports stand out from noise, at the
        family-wise error rate 1 - ``level`` (Bonferroni, exact binomial). Above 1, no answer can be relied on for that.
    population : ndarray of shape (k,) or None
        The expected shares.
    errors : dict of str to float
        With a population, the predicted root-mean-square error over the answers of each estimator: inv by its formula,
        mle, inv_p and inv_n by simulated surveys.
    delta : float or None
        The delta at which the reports, shuffled, were looked at.
    shuffled_epsilon : float or None
        The central epsilon of the shuffled reports at that delta, see `warner.planning.shuffling.shuffled`.
    advice : tuple of str
        Sentences on what else to consider.
    """

    design: Any
    people: int
    found: str
    wanted: str
    target: float | None
    level: float
    simultaneous: bool
    power: float
    share: float
    worst_case: bool
    half_width: float
    standard_error: float
    error: float
    smallest_share: float
    population: NDArray[np.float64] | None = None
    errors: dict[str, float] = field(default_factory=dict)
    delta: float | None = None
    shuffled_epsilon: float | None = None
    advice: tuple[str, ...] = ()

    @property
    def epsilon(self) -> float:
        """The privacy that one report spends, see `RandomizedResponse.epsilon`."""
        return float(self.design.epsilon)

    def table(
        self, epsilons: Sequence[float] | None = None, people: Sequence[int] | None = None
    ) -> dict[str, NDArray[Any]]:
        """Give the half-width and the error over a grid of epsilons and numbers of people.

        Parameters
        ----------
        epsilons : sequence of float, optional
            The epsilons of the rows; if not given, 0.25 to 4 and the plan's own.
        people : sequence of int, optional
            The numbers of people; if not given, from a tenth of the plan's to ten times as many.

        Returns
        -------
        dict of str to ndarray
            Columns ``epsilon``, ``people``, ``half_width`` and ``error``, a row for each pair, epsilon by epsilon.
        """
        epsilons = self.grid_epsilons() if epsilons is None else epsilons
        if people is None:
            people = sorted({min(max(1, _round(self.people * times)), LARGEST_TOTAL) for times in (0.1, 0.3, 1, 3, 10)})
        for n in people:
            _check_people(n)
        designs = [_with_epsilon(self.design.k, epsilon, self.design) for epsilon in epsilons]
        goal = _Goal(
            self.wanted, self.level, self.simultaneous, None if self.worst_case else self.share, self.population
        )
        pairs = [(design, float(n)) for design in designs for n in people]
        return {
            "epsilon": np.repeat(np.array(epsilons, dtype=np.float64), len(people)),
            "people": np.tile(np.array(people, dtype=np.int64), len(epsilons)),
            "half_width": np.array([goal.half_width(*pair) for pair in pairs]),
            "error": np.array([goal.error(*pair) for pair in pairs]),
        }

    def grid_epsilons(self, apart: float = 1.0) -> list[float]:
        """Give some usual epsilons and the plan's own, without those nearer to it than this factor."""
        own = self.epsilon
        if isinstance(self.design, Channel):
            return [own]
        if own > LARGEST_EPSILON:
            return list(GRID_EPSILONS)
        return sorted({own, *(each for each in GRID_EPSILONS if max(each / own, own / each) >= apart)})

    def grid_text(self, epsilons: Sequence[float] | None = None, people: Sequence[int] | None = None) -> str:
        """Write the table in percentage points: a row for each number of people, a column for each epsilon."""
        table = self.table(epsilons, people)
        names, numbers = (list(dict.fromkeys(table[name].tolist())) for name in ("epsilon", "people"))
        cells = 100 * table[self.wanted].reshape(len(names), len(numbers)).T
        own = self.design.shown_epsilon()
        heads = [own if name == self.epsilon else f"{name:g}" for name in names]
        kind = "Half-width of the interval" if self.wanted == "half_width" else "Root-mean-square error"
        width = max(len(f"{number:,}") for number in [*numbers, 1_000_000])
        lines = [f"{kind} in percentage points, by people and epsilon:"]
        lines.append(" " * width + "".join(f"{head:>10}" for head in heads))
        for number, row in zip(numbers, cells, strict=True):
            lines.append(f"{number:>{width},}" + "".join(f"{cell:>10.3g}" for cell in row))
        return "\n".join(lines)

    def plot(self, **options: Any) -> Any:
        """Draw the half-width (or the error) over people and epsilon; see `warner.output.plots.plot_plan`."""
        from warner.output.plots import plot_plan

        return plot_plan(self, **options)

    def to_json(self) -> str:
        """Write the plan as JSON: the fields, with the design as its own file has it; infinity is null."""
        fields = {
            "design": json.loads(self.design.to_json()),
            "epsilon": self.epsilon,
            **{name: getattr(self, name) for name in _SHOWN},
            "population": None if self.population is None else self.population.tolist(),
            "advice": list(self.advice),
        }
        return json.dumps({name: _finite(value) for name, value in fields.items()}, ensure_ascii=False, indent=1)

    def __repr__(self) -> str:
        return self.text()

    def text(self) -> str:
        """Write the plan in plain words; the first line answers the question."""
        at = "the worst case" if self.worst_case else "as expected"
        if self.worst_case and self.population is not None:
            at = "the widest interval in the population"
        together = "all intervals together" if self.simultaneous else "each interval"
        which = "for the worst population" if self.population is None else "for this population"
        told = ""
        if isinstance(self.design, RandomizedResponse):
            told = (
                f"; the truth is reported with probability {self.design.p:.4g}, each other answer with "
                f"{self.design.q:.4g}"
            )
        design = f"Design: {self.design.k:,} answers, epsilon {self.design.shown_epsilon()}{told}."
        interval = (
            f"Interval: ± {_points(self.half_width)} for a true share of {_percent(self.share)} ({at}), {together} at "
            f"{100 * self.level:g} %; standard error {_points(self.standard_error)}."
        )
        error = (
            f"Error of the unbiased shares (inv), root mean square over the answers: {_points(self.error)} ({which}). "
            "That of inv_p is never larger; mle and inv_n promise nothing."
        )
        lines = [self._answer(), design, interval, *([error] if self.error == self.error else []), self._smallest()]
        if self.errors:
            each = ", ".join(f"{name} {100 * value:.3g}" for name, value in self.errors.items())
            how = f"inv by its formula, the others by {SURVEYS} simulated surveys"
            lines.append(f"Predicted error, in percentage points ({how}): {each}.")
        if self.shuffled_epsilon is not None:
            lines.append(self._shuffled())
        # A percent sign stays with its number.
        wrapped = (textwrap.fill(line.replace(" %", "\xa0%"), 120) for line in [*lines, *self.advice])
        return "\n".join(wrapped).replace("\xa0", " ")

    def _answer(self) -> str:
        n = "1 person" if self.people == 1 else f"{self.people:,} people"
        epsilon = f"epsilon {self.design.shown_epsilon()}"
        kind = "half-width of the interval" if self.wanted == "half_width" else "root-mean-square error"
        reached = _points(self.half_width if self.wanted == "half_width" else self.error)
        if self.found == "people":
            return f"{n} are needed for a {kind} of {_points(self.target)} at {epsilon}."
        if self.found == "epsilon":
            least = "the smallest" if self.epsilon > SMALLEST_EPSILON else "as small as is looked at, and enough"
            most = f"{epsilon} is {least} with which {n} reach a {kind} of {_points(self.target)}."
            return most[0].upper() + most[1:]
        return f"{n} at {epsilon} give a {kind} of {reached}."

    def _smallest(self) -> str:
        if self.smallest_share > 1:
            return "Presence: no answer, however common, can be relied on to stand out from the noise."
        return (
            f"Presence: an answer that {_percent(self.smallest_share)} of people hold stands out from the noise with "
            f"probability {100 * self.power:g} %."
        )

    def _shuffled(self) -> str:
        assert self.shuffled_epsilon is not None
        if self.shuffled_epsilon == self.design.epsilon:
            return (
                f"Shuffled: no better than epsilon {self.design.shown_epsilon()} can be proven at delta {self.delta:g}."
            )
        return (
            f"Shuffled: if an honest shuffler mixes these reports, all of them together have a central epsilon of at "
            f"most {_rounded_up(self.shuffled_epsilon, 4)} at delta {self.delta:g} (proven, by the privacy blanket)."
        )


_SHOWN = (
    "people",
    "found",
    "wanted",
    "target",
    "level",
    "simultaneous",
    "power",
    "share",
    "worst_case",
    "half_width",
    "standard_error",
    "error",
    "smallest_share",
    "errors",
    "delta",
    "shuffled_epsilon",
)


def plan(
    domain: Domain | Plannable | None = None,
    *,
    epsilon: Number | None = None,
    people: int | None = None,
    half_width: float | None = None,
    error: float | None = None,
    share: float | None = None,
    level: float = 0.95,
    simultaneous: bool = False,
    power: float = 0.8,
    population: Population | None = None,
    pilot: Estimate | Tally | None = None,
    delta: float | None = None,
    rng: np.random.Generator | None = None,
) -> Plan:
    """Plan a survey: of people, epsilon and half-width (or error), give two and get the third.

    What is found really holds for the design that is returned: the number of people is the smallest that reaches the
    target, and the epsilon the smallest, so the most private, that does (to nine digits).

    Parameters
    ----------
    domain : int, sequence of labels, RandomizedResponse or Channel, optional
        The possible answers or their number; or a whole design, whose epsilon is then given. May be left out with a
        pilot: its design is taken. Of a `Channel` the plan is for the first answer, which must be read off one
        binomial count, as it is where there are two possible reports.
    epsilon : number, optional
        The privacy of one report, in nats.
    people : int, optional
        Number of people who report.
    half_width : float, optional
        Half the length that the exact interval of an answer may have, as a share: 0.02 is two percentage points. Meant
        before the interval is cut at 0 and 1, at the number of reports to be expected; on average over surveys it is
        about that.
    error : float, optional
        Instead of ``half_width``: the root-mean-square error that the unbiased shares may have, over the answers, as an
        estimate of a population's shares: sqrt(sum of variances / K). For the population if one is given, else for the
        one where it is largest.
    share : float, optional
        The true share that the half-width is for; if not given, the one with the widest interval.
    level : float
        Confidence level.
    simultaneous : bool
        Whether all K intervals are to hold together, each then at level 1 - (1 - ``level``) / K.
    power : float
        The probability with which an answer of the smallest share that is told is to be found.
    population : str, tuple, path or array_like, optional
        The expected shares: ``"uniform"``, ``("zipf", s)`` or ``"zipf:s"``, a CSV file with columns value and share (or
        count), or K numbers that sum to 1. The error of each estimator is then predicted.
    pilot : Estimate or Tally, optional
        Reports of an earlier survey: what `inv_p` makes of them is the population.
    delta : float, optional
        Tell the central epsilon at this delta of the reports once shuffled (`warner.planning.shuffling.shuffled`).
    rng : numpy.random.Generator, optional
        For the simulated surveys; seeded from the plan if not given, so that it can be repeated.

    Examples
    --------
    Two answers at odds 3 : 1, so p - q = 1/2, and phi (1 - phi) is at most 1/4: the usual formula asks for
    (1.96 / 0.02)^2 / 4 / (1/2)^2 = 9,604 people for two percentage points, the exact interval for a few more.

    >>> survey = RandomizedResponse(["yes", "no"], odds=(3, 1))
    >>> plan(survey, half_width=0.02).people
    9701
    >>> round(plan(survey, people=9701).half_width, 4)
    0.02
    """
    check_level(level)
    check_power(power)
    if share is not None and not 0 <= share <= 1:
        raise ValueError(f"share must be from 0 to 1, but got {share!r}")
    if pilot is not None and population is not None:
        raise TypeError("give a population or a pilot, not both")
    if half_width is not None and error is not None:
        raise TypeError("give half_width or error, not both")
    if people is not None:
        _check_people(people)
    wanted, target = ("half_width", half_width) if error is None else ("error", error)
    others = [name for name, value in (("people", people), (wanted, target)) if value is not None]
    design, known = _known(domain, epsilon, others, None if pilot is None else tally_of(pilot))
    expected = pilot if pilot is not None else population
    shares = None if expected is None else population_shares(expected, design)
    goal = _Goal(wanted, level, simultaneous, share, shares)
    if known and design.epsilon == 0:
        raise ValueError("the design must have an epsilon above 0: with p = q, reports say nothing, however many")
    if isinstance(design, Channel) and (delta is not None or (wanted == "error" and design.k > 2)):
        raise ValueError("delta, and error with more than two answers, can be planned for a RandomizedResponse only")
    if target is not None:
        _check_target(wanted, target)
    if people is None:
        found, people = "people", _people(design, goal, target or 0)
    elif target is None:
        found = "half_width"
    else:
        found, design = "epsilon", _epsilon(design, people, goal, target)
    return _planned(design, int(people), found, target, goal, power, delta, rng)


class _Goal(NamedTuple):
    """How sure one wants to be: what is measured, for which share and population."""

    wanted: str
    level: float
    simultaneous: bool
    share: float | None
    population: NDArray[np.float64] | None

    def expected_share(self, design: Plannable) -> float:
        """Give the share as given, or the one whose probability of being reported is nearest to 1/2."""
        if self.share is not None:
            return self.share
        spread = linear_spread(design)
        if spread is not None:
            shares = np.linspace(0, 1, 1001) if self.population is None else self.population[:1]
            return float(shares[spread(shares).argmax()])
        base, gain = rate_of(design)
        if self.population is None:
            return float(min(max((0.5 - base) / gain, 0.0), 1.0)) + 0.0  # no minus zero
        shares = self.population if isinstance(design, RandomizedResponse) else self.population[:1]
        return float(shares[np.abs(base + gain * shares - 0.5).argmin()])

    def half_width(self, design: Plannable, n: float) -> float:
        tail = Reading(self.level, simultaneous=self.simultaneous).tail(design.k)
        spread = linear_spread(design)
        if spread is not None:
            return -float(ndtri(tail)) * math.sqrt(float(spread(self.expected_share(design))) / n)
        base, gain = rate_of(design)
        reported = base + gain * self.expected_share(design)
        low, high = binomial_limits(np.float64(min(n * reported, n)), np.float64(n), tail)
        return float((high - low) / 2 / abs(gain))

    def error(self, design: Plannable, n: float) -> float:
        if isinstance(design, Channel):
            if design.k != 2:
                return math.nan  # of several answers, only the first is read off one binomial count
            share = self.expected_share(design) if self.population is None else float(self.population[0])
            return standard_error(design, share, n)
        p, q = design.p, design.q
        squares = 1 / design.k if self.population is None else float(np.square(q + (p - q) * self.population).sum())
        return math.sqrt(max(1 - squares, 0) / (design.k * n)) / abs(p - q)

    def measured(self, design: Plannable, n: float) -> float:
        return self.half_width(design, n) if self.wanted == "half_width" else self.error(design, n)


def _known(
    domain: Domain | Plannable | None,
    epsilon: Number | None,
    others: list[str],
    reports: Tally | None,
) -> tuple[Plannable, bool]:
    """Give a design with the domain, and whether its epsilon is the one to plan with: two of three must be given."""
    own = domain if isinstance(domain, RandomizedResponse | Channel) else None
    if domain is None and reports is not None:
        # With people and a target, epsilon is the question; otherwise it is the pilot's unless given.
        if isinstance(reports.design, Pooled):
            raise TypeError("pilot must have gone through one design, but was pooled from several")
        own = reports.design if epsilon is None and len(others) < 2 else None
        domain = reports.design.domain
    elif domain is None:
        raise TypeError("plan needs the possible answers: their number, their labels, or a design")
    elif own is not None and epsilon is not None:
        raise TypeError(
            "give a design, whose epsilon is known, or the possible answers with epsilon, not a design and epsilon"
        )
    named = ["a design"] if own is not None else ["epsilon"] if epsilon is not None else []
    if len(named) + len(others) != 2:
        got = " and ".join([*named, *others]) or "none of them"
        raise TypeError(
            f"give two of epsilon (or a design), people, and half_width or error, to get the third; but got {got}"
        )
    if own is not None:
        return own, True
    labels: Any = domain
    if epsilon is not None:
        return RandomizedResponse(labels, epsilon=epsilon), True
    return RandomizedResponse(labels, odds=(2, 1)), False


def _people(design: Plannable, goal: _Goal, target: float) -> int:
    """Find the smallest number of people whose measure is at most the target: it falls with their number."""

    def meets(n: int) -> bool:
        return goal.measured(design, float(n)) <= target

    high = 1
    while not meets(high):
        if high >= LARGEST_TOTAL:
            raise ValueError(
                f"no number of people up to 2^53 reaches {_named(goal.wanted)} of {_points(target)} at epsilon "
                f"{design.shown_epsilon()}; 2^53 people would reach {_points(goal.measured(design, LARGEST_TOTAL))}. "
                "Allow a larger epsilon or a wider interval"
            )
        high = min(4 * high, LARGEST_TOTAL)
    low = high // 4  # does not meet it, or is 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if meets(middle) else (middle, high)
    return high


def _epsilon(base: Plannable, people: int, goal: _Goal, target: float) -> RandomizedResponse:
    """Find the smallest epsilon whose own design meets the target: the measure falls with epsilon."""
    k = base.k

    def meets(epsilon: float) -> bool:
        return goal.measured(_with_epsilon(k, epsilon), float(people)) <= target

    low, high = math.log(SMALLEST_EPSILON), math.log(LARGEST_EPSILON)
    if not meets(LARGEST_EPSILON):
        open_design = _with_epsilon(k, LARGEST_EPSILON)
        best = goal.measured(open_design, float(people))
        raise ValueError(
            f"no epsilon up to {LARGEST_EPSILON:g} lets {people:,} people reach {_named(goal.wanted)} of "
            f"{_points(target)}: chance in who is asked is more than that. They can reach {_points(best, up=True)} at "
            f"best; {_points(target)} takes {_people(open_design, goal, target):,} people even with hardly any noise"
        )
    if meets(SMALLEST_EPSILON):
        high = low
    while high - low > 1e-10:
        middle = (low + high) / 2
        low, high = (low, middle) if meets(math.exp(middle)) else (middle, high)
    return RandomizedResponse(base.domain, epsilon=math.exp(high))


def _with_epsilon(k: int, epsilon: float, own: Plannable | None = None) -> Plannable:
    """Make a design of k answers without names; `own` is taken as it is where it has that epsilon."""
    return own if own is not None and own.epsilon == epsilon else RandomizedResponse(k, epsilon=epsilon)


def _planned(
    design: Plannable,
    people: int,
    found: str,
    target: float | None,
    goal: _Goal,
    power: float,
    delta: float | None,
    rng: np.random.Generator | None,
) -> Plan:
    share, spread = goal.expected_share(design), linear_spread(design)
    alpha = (1 - goal.level) / design.k
    least = (
        smallest_share(people, rate_of(design), alpha, power)
        if spread is None
        else float(ndtri(power) - ndtri(alpha)) * standard_error(design, 0.0, people)
    )
    errors = {}
    if goal.population is not None:
        seed = np.append(goal.population, [people, design.epsilon])
        generator = seeded_by(seed) if rng is None else rng
        squared = predicted_errors(goal.population, people, design, rng=generator)
        errors = {"inv": goal.error(design, people)} | {
            name: math.sqrt(value / design.k) for name, value in squared.items()
        }
    return Plan(
        design=design,
        people=people,
        found=found,
        wanted=goal.wanted,
        target=target,
        level=goal.level,
        simultaneous=goal.simultaneous,
        power=power,
        share=share,
        worst_case=goal.share is None,
        half_width=goal.half_width(design, people),
        standard_error=standard_error(design, share, people),
        error=goal.error(design, people),
        smallest_share=least,
        population=goal.population,
        errors=errors,
        delta=delta,
        shuffled_epsilon=None if delta is None or isinstance(design, Channel) else shuffled(design, people, delta),
        advice=_advice(design) if isinstance(design, RandomizedResponse) else (),
    )


def _advice(design: RandomizedResponse) -> tuple[str, ...]:
    """Name the protocol that would tell rare answers from noise with clearly fewer people at the same epsilon."""
    ratio, size = other_protocol(design)
    if ratio >= WORTH_TELLING:
        return ()
    sentence = (
        f"Another protocol: at the same epsilon, subset selection (each person reports a set of {size:,} answers) "
        f"would need about {100 * ratio:.2g} % of the people for the same error of rare answers."
    )
    return (sentence,)


def other_protocol(design: RandomizedResponse) -> tuple[float, int]:
    r"""Compare with subset selection: the part of the people that it needs, and the size of the subsets.

    By the variance of the unbiased share of an answer that nobody holds, :math:`q^*(1-q^*)/(p^*-q^*)^2`, with the
    better of the two subset sizes next to :math:`K/(e^\varepsilon+1)`. It is never worse there than optimized unary
    encoding; with subsets of one answer it is randomized response itself.

    References
    ----------
    .. [1] M. Ye, A. Barg, "Optimal schemes for discrete distribution estimation under locally differential privacy",
       IEEE Trans. Inf. Theory 64 (2018).
    .. [2] T. Wang, J. Blocki, N. Li, S. Jha, "Locally differentially private protocols for frequency estimation",
       USENIX Security 2017.
    """
    a, b = design.odds
    if a <= b or b == 0 or design.k == 2:
        return 1.0, 1
    k, growth = design.k, a / b
    own = design.q * (1 - design.q) / (design.p - design.q) ** 2

    def variance(size: int) -> float:
        held = growth * size / (growth * size + k - size)
        not_held = size * (growth * (size - 1) + k - size) / ((k - 1) * (growth * size + k - size))
        return not_held * (1 - not_held) / (held - not_held) ** 2

    ideal = k / (growth + 1)
    sizes = {max(1, math.floor(ideal)), max(1, math.ceil(ideal))}
    size = min(sizes, key=variance)
    return variance(size) / own, size


def _check_people(people: Any) -> None:
    if isinstance(people, bool) or not isinstance(people, int | np.integer) or not 1 <= people <= LARGEST_TOTAL:
        raise ValueError(f"people must be a whole number from 1 to 2^53, but got {people!r}")


def _check_target(wanted: str, target: float) -> None:
    most = 0.5 if wanted == "half_width" else 1.0
    if not isinstance(target, float | int | np.floating) or not 0 < target < most:
        raise ValueError(
            f"{wanted} must be above 0 and below {most:g}, as a share (0.02 is two points), but got {target!r}"
        )


def _named(wanted: str) -> str:
    return "a half-width" if wanted == "half_width" else "a root-mean-square error"


def _points(share: float | None, *, up: bool = False) -> str:
    """Write a difference of shares in percentage points, in three digits."""
    number = 100 * (math.nan if share is None else share)
    text = _rounded_up(number, 3) if up else f"{number:.3g}"
    return f"{text} percentage point{'' if text == '1' else 's'}"


def _rounded_up(value: float, digits: int) -> str:
    """Write a number in so many significant digits, never less than it is."""
    up = Context(prec=digits, rounding=ROUND_CEILING).create_decimal_from_float(value).normalize()
    return f"{up:f}" if up.adjusted() >= -digits else f"{up:e}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _round(value: float) -> int:
    """Round to two digits: the numbers of a table are to be remembered."""
    unit = int(10 ** max(0, math.floor(math.log10(max(value, 1))) - 1))
    return round(value / unit) * unit


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
