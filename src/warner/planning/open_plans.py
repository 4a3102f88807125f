"""Plans of open domains: the smallest share that will be found, or the people that a share takes.

The formulas are those of `warner.discovery.detectable_shares`: exact binomial tails at the expected sizes of the
levels, and the least share that any protocol could find.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.arrays import LARGEST_TOTAL
from warner.designs.open.level_weights import FALSE_PREFIXES, HELD_PREFIXES
from warner.discovery.detectable_shares import critical_count, lower_bound, planned_share, smallest_share
from warner.inference.binomial import check_power
from warner.planning.precision import check_people
from warner.results import Result, check_level, plain
from warner.searching import first_true
from warner.typesetting import Printed
from warner.words import counted, level_text, percent, tabulated, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Counts
    from warner.designs.open.open_domain import OpenDomain
    from warner.documents import Document

OPEN_GRID_EPSILONS = (0.5, 1.0, 2.0, 4.0)
OPEN_GRID_PEOPLE = (0.1, 1, 10)  # times the number of people of the plan
ADVISED_LIST = 10_000  # values of the list that the advice speaks of


@dataclass(frozen=True, eq=False, repr=False)
class OpenPlan(Result):
    """What a survey of this many people under an open domain will find.

    Attributes
    ----------
    design : OpenDomain
        What every answer will go through.
    people : int
        Number of people who report.
    share : float or None
        The share that was to be found; None where the number of people was given.
    level, power : float
        Any value is named falsely with probability at most 1 - ``level``; one with the smallest share is found with
        probability ``power``.
    smallest_share : float
        The share that is found with that probability; infinite where none is.
    lower_bound : float
        The share below which no protocol with one private report per person finds a value with that probability.
    """

    design: OpenDomain
    people: int
    share: float | None
    level: float
    power: float
    smallest_share: float
    lower_bound: float

    @property
    def epsilon(self) -> float:
        """The privacy that one report spends."""
        return self.design.epsilon

    @property
    def report_bits(self) -> float:
        """What a report takes to send, in bits."""
        return self.design.report_bits

    @property
    def steps(self) -> float:
        """About how many steps the search takes: for each prefix, one per report, and a Fourier transform."""
        people = [self.people * weight / sum(self.design.weights) for weight in self.design.weights]
        prefixes = [1.0, *[FALSE_PREFIXES + HELD_PREFIXES] * (self.design.levels - 1)]
        work = [points * math.log2(points) for points in self.design.report_form.points]
        return sum(kept * (n + steps) for kept, n, steps in zip(prefixes, people, work, strict=True))

    def listed_share(self, number: int) -> float:
        """Give the share that is found with that probability if it is one of a list of so many expected values."""
        n = max(1, round(self.people * self.design.weights[-1] / sum(self.design.weights)))
        critical = critical_count(n, self.design.q, (1 - self.level) / 2 / number)
        return smallest_share(self.design, [n], [critical], power=self.power)

    def table(self, epsilons: Sequence[float] | None = None, people: Sequence[int] | None = None) -> dict[str, Counts]:
        """Give the smallest share, and its bound, over a grid of epsilons and numbers of people.

        Parameters
        ----------
        epsilons : sequence of float, optional
            The epsilons of the rows; if not given, 0.5 to 4 and that of the plan.
        people : sequence of int, optional
            The numbers of people; if not given, a tenth of the plan's, as many, and ten times as many.
        """
        usual = sorted({*OPEN_GRID_EPSILONS, self.epsilon}) if math.isfinite(self.epsilon) else OPEN_GRID_EPSILONS
        chosen = list(usual if epsilons is None else epsilons)
        numbers = [max(1, round(self.people * times)) for times in OPEN_GRID_PEOPLE] if people is None else list(people)
        designs = [self.design if epsilon == self.epsilon else self.design.with_epsilon(epsilon) for epsilon in chosen]
        plans = [open_plan(made, people=n, level=self.level, power=self.power) for made in designs for n in numbers]
        return {
            "epsilon": np.repeat(np.array(chosen, dtype=np.float64), len(numbers)),
            "people": np.tile(np.array(numbers, dtype=np.int64), len(chosen)),
            "smallest_share": np.array([made.smallest_share for made in plans]),
            "lower_bound": np.array([made.lower_bound for made in plans]),
        }

    def to_dict(self) -> Document:
        asked = ("epsilon", "people", "share", "level", "power")
        told = ("smallest_share", "lower_bound", "report_bits", "steps")
        return {
            "format": "warner plan",
            "version": 1,
            "design": self.design.to_dict(),
            "solved_for": "smallest_share" if self.share is None else "people",
            **{name: plain(getattr(self, name)) for name in (*asked, *told)},
            "advice": list(self.advice()),
        }

    def text(self) -> str:
        """Write the plan in plain words; the first line answers the question."""
        design = self.design
        bits, report = math.log2(design.values.number), math.ceil(self.report_bits)
        first = (
            f"{self._solution()}, at epsilon {design.shown_epsilon()}; any value is named falsely with a probability "
            f"of at most {level_text(1 - self.level)}."
        )
        about = f"Design: {design.summary()}; {bits:.1f} bits of possible answers, {report} bits per report."
        bound = (
            "No protocol with one private report per person finds a value of which nothing is known beforehand with "
            f"that probability if fewer than {percent(self.lower_bound)} hold it."
        )
        return wrapped([first, about, bound, f"The search takes about {self.steps:.1g} steps.", *self.advice()])

    def printed(self, **options: Any) -> Printed:
        """Give a table for a paper: the smallest share and its bound in percent; options are those of `table`."""
        table = {name: column.tolist() for name, column in self.table(**options).items()}
        columns = {
            "epsilon": [self.design.shown_epsilon() if x == self.epsilon else f"{x:g}" for x in table["epsilon"]],
            "people": [f"{n:,}" for n in table["people"]],
            "smallest share": [percent(share) if share <= 1 else "none" for share in table["smallest_share"]],
            "lower bound": [percent(share) for share in table["lower_bound"]],
        }
        return Printed(
            columns, "Smallest share that is found, by epsilon and number of people", (f"{self._solution()}.",)
        )

    def grid_text(self) -> str:
        """Write the table in percent."""
        return "\n".join(tabulated(self.printed().columns, left=0))

    def _solution(self) -> str:
        people, chance = counted(self.people, "person", "people"), f"with a probability of {level_text(self.power)}"
        if self.share is not None:
            return f"{people} are needed to find a value that {percent(self.share)} hold {chance}"
        if self.smallest_share <= 1:
            return f"Among {people}, a value that {percent(self.smallest_share)} hold is found {chance}"
        return f"Among {people}, not even a value that all hold is found {chance}"

    def advice(self) -> tuple[str, ...]:
        """Say what else to consider."""
        listed = self.listed_share(ADVISED_LIST)
        shorter = (
            "The number of people that a share takes grows with the bits of the possible answers: a smaller alphabet "
            "or shorter answers find smaller shares."
        )
        expected = (
            f"Of a list of {ADVISED_LIST:,} expected values, those that {percent(listed)} hold are found with the same "
            "probability (expected)."
        )
        again = (
            "If people can be asked a second time, what was found becomes the list of answers of another mechanism, "
            "which needs fewer people."
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
    """Plan a survey with an open domain: of people and share, give one and get the other; see `warner.plan`.

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
        people = _fewest(design, share, level, power)
    assert people is not None
    check_people(people)
    bound = lower_bound(design.values.number, int(people), design.epsilon, power)
    return OpenPlan(
        design, int(people), share, level, power, planned_share(design, int(people), level=level, power=power), bound
    )


def _fewest(design: OpenDomain, share: float, level: float, power: float) -> int:
    """Find a number of people that finds the share, where one fewer does not."""

    def enough(n: int) -> bool:
        return planned_share(design, n, level=level, power=power) <= share

    most = 64
    while not enough(most):
        most *= 2
        if most > LARGEST_TOTAL:
            raise ValueError(f"share must be larger: {share!r} needs more than 2^53 people at this epsilon")
    return first_true(enough, most // 2, most)
