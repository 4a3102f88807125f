"""What plans have in common: people, epsilon and precision hang together, as tables, text and plots over both."""

from __future__ import annotations

import math
from abc import abstractmethod
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.arrays import LARGEST_TOTAL
from warner.planning.mechanisms import compared
from warner.planning.number_precision import LARGEST_EPSILON, follows_epsilon, precision_of, with_epsilon
from warner.planning.precision import MEASURES, check_people
from warner.results import Result, plain
from warner.typesetting import Printed, cells, in_digits
from warner.words import aligned, wrapped

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

    from warner.arrays import Array, Counts
    from warner.designs.contract import Design
    from warner.documents import Document
    from warner.planning.mechanisms import Mechanisms
    from warner.planning.precision import PlanningQuestion

GRID_EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
GRID_PEOPLE = (0.1, 0.3, 1, 3, 10)  # times the number of people of the plan


@dataclass(frozen=True, eq=False, repr=False)
class Tradeoff(Result):
    """People, epsilon and precision of a survey: two were given, and the third was found.

    Attributes
    ----------
    design : Design
        What every answer will go through.
    people : int
        Number of people who report.
    solved_for : str
        Which quantity was asked for: ``"people"``, ``"epsilon"``, or the measure.
    question : PlanningQuestion
        What is to be known, and how surely; its parts are attributes of the plan as well.
    delta : float or None
        The delta at which the reports, shuffled, were looked at.
    shuffled_epsilon : float or None
        The central epsilon of the shuffled reports at that delta, see `warner.planning.shuffling.shuffled`.
    advice : tuple of str
        Sentences on what else to consider.
    """

    design: Design
    people: int
    solved_for: str
    question: PlanningQuestion
    _: KW_ONLY
    delta: float | None = None
    shuffled_epsilon: float | None = None
    advice: tuple[str, ...] = ()

    @abstractmethod
    def sentences(self) -> Iterable[str]:
        """Say what the plan tells; the first sentence answers the question."""

    @abstractmethod
    def notes(self) -> list[str]:
        """Say what the precision is for, in few words: which interval, and which people."""

    @property
    def epsilon(self) -> float:
        """The privacy that one report spends."""
        return self.design.epsilon

    @property
    def measure(self) -> str:
        """What the goal is about: ``"half_width"`` or ``"error"``."""
        return self.question.measure

    @property
    def goal(self) -> float | None:
        """The half-width or error that was to be reached; None where that was the question."""
        return self.question.goal

    @property
    def level(self) -> float:
        """Confidence level of the intervals."""
        return self.question.confidence.level

    @property
    def simultaneous(self) -> bool:
        """Whether the intervals of all answers are to hold together (Bonferroni)."""
        return self.question.confidence.simultaneous

    @property
    def population(self) -> Array | None:
        """The expected shares, of shape (k,)."""
        return self.question.population

    @cached_property
    def design_effect(self) -> float:
        """Ratio of the sample size that is needed to that of a simple random sample, for the same precision."""
        return precision_of(self.design, self.question).design_effect

    @cached_property
    def mechanisms(self) -> Mechanisms | None:
        """All mechanisms at this epsilon, by the same formulas: what each needs, or tells, and which to take.

        None where it is made for repeated questions, where epsilon is infinite, or where a plan is for shares and the
        design's answers are not alike, as those of a channel.
        """
        alike = self.design.alike is not None or self.question.numbers is not None
        comparable = alike and not self.design.repeatable and math.isfinite(self.epsilon)
        people = self.people if self.goal is None else None
        if comparable:
            with suppress(ValueError):  # no mechanism can be made for this epsilon
                return compared(self.design.domain, self.epsilon, self.question, people)
        return None

    def table(self, epsilons: Sequence[float] | None = None, people: Sequence[int] | None = None) -> dict[str, Counts]:
        """Give the half-width, and the error, over a grid of epsilons and numbers of people.

        Parameters
        ----------
        epsilons : sequence of float, optional
            The epsilons of the rows; if not given, 0.25 to 4 and that of the plan.
        people : sequence of int, optional
            The numbers of people; if not given, from a tenth of the plan's to ten times as many.

        Returns
        -------
        dict of str to ndarray
            Columns ``epsilon``, ``people``, ``half_width`` and, but for quantiles, ``error``, a row for each pair,
            epsilon by epsilon.
        """
        epsilons = self.grid_epsilons() if epsilons is None else epsilons
        if people is None:
            people = sorted({min(max(1, _two_digits(self.people * times)), LARGEST_TOTAL) for times in GRID_PEOPLE})
        for n in people:
            check_people(n)
        designs = [
            self.design if epsilon == self.epsilon else with_epsilon(self.design, epsilon, self.question.share_asked)
            for epsilon in epsilons
        ]
        planned = [precision_of(design, self.question) for design in designs]
        pairs = [(precision, float(n)) for precision in planned for n in people]
        return {
            "epsilon": np.repeat(np.array(epsilons, dtype=np.float64), len(people)),
            "people": np.tile(np.array(people, dtype=np.int64), len(epsilons)),
            **{
                measure: np.array([getattr(precision, measure)(n) for precision, n in pairs])
                for measure in planned[0].measures
            },
        }

    def document(self, *names: str, **more: Any) -> Document:
        """Give the plan as what JSON can hold: its design, these attributes, and what a plan tells besides."""
        return {
            "format": "warner plan",
            "version": 1,
            "design": self.design.to_dict(),
            **{name: plain(getattr(self, name)) for name in names},
            "population": None if self.population is None else self.population.tolist(),
            **more,
            "advice": list(self.advice),
            "mechanisms": None if self.mechanisms is None else self.mechanisms.to_dict(),
        }

    def printed(self, **options: Any) -> Printed:
        """Give a table for a paper, in points or in the unit of the answers; options are those of `table`."""
        table = self.table(**options)
        epsilons = [
            self.design.shown_epsilon() if epsilon == self.epsilon else in_digits(epsilon)
            for epsilon in table["epsilon"].tolist()
        ]
        columns = {"epsilon": epsilons, "people": cells(table["people"])}
        unit = " (points)" if self.question.numbers is None else ""
        names = {"half_width": f"half-width{unit}", "error": f"error{unit}"}
        columns |= {title: cells(self.question.scale * table[name]) for name, title in names.items() if name in table}
        first, design, interval, *_ = self.sentences()
        return Printed(columns, "Precision by epsilon and number of people", (first, design, interval))

    def grid_epsilons(self, apart: float = 1.0) -> list[float]:
        """Give some usual epsilons and that of the plan, without those nearer to it than this factor."""
        planned = self.epsilon
        if not follows_epsilon(self.design):
            return [planned]
        if planned > LARGEST_EPSILON:
            return list(GRID_EPSILONS)
        usual = (epsilon for epsilon in GRID_EPSILONS if max(epsilon / planned, planned / epsilon) >= apart)
        return sorted({planned, *usual})

    def grid_text(self, epsilons: Sequence[float] | None = None, people: Sequence[int] | None = None) -> str:
        """Write the table in its unit: a row for each number of people, a column for each epsilon."""
        table = self.table(epsilons, people)
        columns, rows = (list(dict.fromkeys(table[name].tolist())) for name in ("epsilon", "people"))
        cells = self.question.scale * table[self.measure].reshape(len(columns), len(rows)).T
        heads = [self.design.shown_epsilon() if name == self.epsilon else f"{name:g}" for name in columns]
        title = MEASURES[self.measure].capitalize()
        about = f"{title} in {self.question.unit}, by people and epsilon:"
        texts = [[f"{n:,}", *(self.question.cell(cell) for cell in row)] for n, row in zip(rows, cells, strict=True)]
        widths = (len("1,000,000"), *([8] * len(heads)))
        return "\n".join([about, *aligned([["", *heads], *texts], left=(), least=widths)])

    def plot(self, *, title: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw the half-width (or the error) over people and epsilon; see `warner.output.plan_plots.plot_plan`."""
        from warner.output.plan_plots import plot_plan

        return plot_plan(self, title=title, ax=ax)

    def save_plot(self, path: str | os.PathLike[str], *, title: str | None = None) -> None:
        """Write the picture to a PNG, SVG or PDF file; see `warner.output.plan_plots.save_plan`."""
        from warner.output.plan_plots import save_plan

        save_plan(self, path, title=title)

    def text(self) -> str:
        """Write the plan in plain words; the first line answers the question."""
        return wrapped(self.sentences())


def _two_digits(number: float) -> int:
    """Round to two digits: the numbers of a table are to be remembered."""
    unit = int(10 ** max(0, math.floor(math.log10(max(number, 1))) - 1))
    return round(number / unit) * unit
