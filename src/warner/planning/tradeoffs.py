"""Plans: sample size, epsilon and precision determine one another, as tables, text and plots."""

from __future__ import annotations

import math
from abc import abstractmethod
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import bdtr

from warner.arrays import LARGEST_TOTAL, objects
from warner.designs.facts import full_symmetry
from warner.numerics import first_true
from warner.planning.mechanisms import compared
from warner.planning.number_precision import SMALLEST_EPSILON, follows_epsilon, precision_of, with_epsilon
from warner.planning.precision import MEASURES, check_people, in_units, share_text, with_article
from warner.results import Column, TableResult
from warner.text import certainties, counted, percent, points, rounded_up, wrapped
from warner.typesetting import Printed, cells, percent_cells, plain_table

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from matplotlib.axes import Axes

    from warner.arrays import Array
    from warner.designs.contract import Design
    from warner.designs.open_domain import OpenDomain
    from warner.designs.questionnaires import SplitQuestionnaire
    from warner.documents import Document
    from warner.planning.mechanisms import Mechanisms
    from warner.planning.precision import PlanningQuestion

PUBLISHED_EPSILONS = (1.1, 2.6)  # range in the table of docs/how-to/sample-size.md
GRID_EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
GRID_PEOPLE = (0.1, 0.3, 1, 3, 10)  # times the sample size of the plan


class SurveyPlan(TableResult):
    """Plan of a survey: sentences, and a table over a grid of epsilons and sample sizes.

    The table is not in the JSON document, which has the `fields` of the plan.
    """

    _rows_key = ""
    fields: ClassVar[tuple[str, ...]]
    design: Design | OpenDomain | SplitQuestionnaire

    @abstractmethod
    def sentences(self) -> Iterable[str]:
        """Return the sentences of the plan; the first one answers the question."""

    @property
    def epsilon(self) -> float:
        """Privacy budget of one report."""
        return self.design.epsilon

    def shown_epsilons(self, epsilons: Array) -> list[str]:
        """Write the epsilons of a grid; the epsilon of the plan in four digits, rounded up."""
        return [self.design.shown_epsilon() if x == self.epsilon else f"{x:g}" for x in epsilons.tolist()]

    def grid_columns(self, epsilons: Sequence[float], people: Sequence[int]) -> list[Column]:
        """Return the columns of a grid with a row for each pair of an epsilon and a sample size."""
        each = np.repeat(np.array(epsilons, dtype=np.float64), len(people))
        sizes = np.tile(np.array(people, dtype=np.int64), len(epsilons))
        return [
            Column("epsilon", each, "epsilon", partial(self.shown_epsilons, each)),
            Column("people", sizes, "respondents"),
        ]

    def grid_text(self) -> str:
        """Grid as text."""
        return plain_table(self._printed()._replace(notes=()))

    def _facts(self) -> Document:
        known = {name: getattr(self, name) for name in self.fields}
        return {"format": "warner plan", "version": 1, "design": self.design.to_dict(), **known}

    def text(self) -> str:
        """Sentences of the plan as wrapped text, with what its epsilon means for a respondent."""
        bounded = self.epsilon < math.inf
        means = f"{certainties(self.epsilon)}." if bounded else "a report can show an answer with certainty."
        low, high = PUBLISHED_EPSILONS
        published = f"Published surveys used epsilons from {low} to {high} for a question."
        return wrapped([*self.sentences(), f"What epsilon means: {means} {published}"])


class PlottedPlan(SurveyPlan):
    """Plan with a plot of its `measure` against the sample size, a line for each epsilon."""

    design: Design
    people: int
    question: PlanningQuestion
    advice: tuple[str, ...]

    @property
    def each(self) -> str:
        """Words after the number of respondents."""
        return ""

    @property
    @abstractmethod
    def measure(self) -> str:
        """Quantity that the plan computes or reaches."""

    @property
    @abstractmethod
    def goal(self) -> float | None:
        """Value of the measure to reach; None if it was computed."""

    @abstractmethod
    def conditions(self) -> list[str]:
        """Return a short phrase with the conditions of the measure."""

    @cached_property
    def design_effect(self) -> float:
        """Ratio of the sample size that is needed to that of a simple random sample."""
        return precision_of(self.design, self.question).design_effect

    def _design_effect(self) -> Iterator[str]:
        if (effect := self.question.effect) is not None:
            drawn = "as given" if effect.pilot is None else "the sample is drawn like the pilot"
            yield (
                f"Design effect: {self.design_effect:.3g} ({drawn}); the required sample size is that many times the "
                "size of a simple random sample."
            )

    def _grid(
        self, epsilons: Sequence[float] | None, people: Sequence[int] | None, usual: Sequence[int]
    ) -> tuple[list[Column], list[Design], Sequence[int]]:
        """Return the columns, the designs and the sample sizes of a grid with a row for each pair of them.

        If not given, epsilons are 0.25 to 4 and that of the plan, and sample sizes are the usual ones.
        """
        epsilons, people = self.grid_epsilons() if epsilons is None else epsilons, usual if people is None else people
        for n in people:
            check_people(n)
        share = self.question.share_asked
        designs = [self.design if x == self.epsilon else with_epsilon(self.design, x, share) for x in epsilons]
        return self.grid_columns(epsilons, people), designs, people

    def grid_epsilons(self, apart: float = 1.0) -> list[float]:
        """Return the epsilon of the plan and some usual epsilons that differ from it by more than this factor."""
        planned = self.epsilon
        if not follows_epsilon(self.design):
            return [planned]
        usual = (epsilon for epsilon in GRID_EPSILONS if max(epsilon / planned, planned / epsilon) >= apart)
        return sorted({planned, *usual})

    def plot(self, *, title: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw the half-width (or the error, or the power) against the sample size, a line for each epsilon.

        The plan itself is a point, and the goal that it had to reach a dashed line. The axes are logarithmic, except
        that of the power. Larger epsilons have darker lines. Half-widths beyond the range of the answers are not drawn.

        Parameters
        ----------
        title : str, optional
            The headline.
        ax : matplotlib Axes, optional
            Where to draw; if not given, a new pyplot figure.
        """
        from warner.output.plan_plots import plan_picture

        return plan_picture(self, title).plot(ax)

    def save_plot(self, path: str | os.PathLike[str], *, title: str | None = None) -> None:
        """Write the picture to a PNG, SVG or PDF file, atomically; no display is needed."""
        from warner.output.plan_plots import plan_picture

        plan_picture(self, title).save(path)


@dataclass(frozen=True, eq=False, repr=False)
class Tradeoff(PlottedPlan):
    """Sample size, epsilon and precision of a survey: two were given, and the third was computed.

    Attributes
    ----------
    design : Design
        The randomization of the question.
    people : int
        Number of respondents.
    solved_for : str
        The quantity that was computed: ``"people"``, ``"epsilon"``, or the measure.
    question : PlanningQuestion
        The quantity to estimate, and the required precision; its fields are attributes of the plan as well.
    delta : float or None
        The delta of the central epsilon of the shuffled reports.
    shuffled_epsilon : float or None
        The central epsilon of the shuffled reports at that delta, see `warner.planning.shuffling.shuffled`.
    advice : tuple of str
        Sentences on alternatives.
    """

    design: Design
    people: int
    solved_for: str
    question: PlanningQuestion
    _: KW_ONLY
    delta: float | None = None
    shuffled_epsilon: float | None = None
    advice: tuple[str, ...] = ()

    @property
    def measure(self) -> str:
        """Measure of precision: ``"half_width"`` or ``"error"``."""
        return self.question.measure

    @property
    def goal(self) -> float | None:
        """Half-width or error to reach; None if it was computed."""
        return self.question.goal

    @property
    def level(self) -> float:
        """Confidence level of the intervals."""
        return self.question.confidence.level

    @property
    def simultaneous(self) -> bool:
        """True if all intervals have joint coverage (Bonferroni)."""
        return self.question.confidence.simultaneous

    @property
    def population(self) -> Array | None:
        """The expected shares, of shape (k,)."""
        return self.question.population

    @cached_property
    def mechanisms(self) -> Mechanisms | None:
        """All mechanisms at this epsilon, by the same formulas, with a recommendation.

        None for designs for repeated questions, for an infinite epsilon, and for plans of shares if the design is not
        symmetric, such as a channel.
        """
        alike = self.design.law.symmetry is not None or self.question.numbers is not None
        comparable = alike and not self.design.repetition() and math.isfinite(self.epsilon)
        people = self.people if self.goal is None else None
        if comparable:
            with suppress(ValueError):  # no mechanism exists for this epsilon
                return compared(self.design.domain, self.epsilon, self.question, people)
        return None

    def _columns(self, epsilons: Sequence[float] | None = None, people: Sequence[int] | None = None) -> list[Column]:
        """Return the half-width and, except for quantiles, the error over a grid of epsilons and sample sizes.

        If not given, sample sizes are from a tenth of the plan's to ten times as many.
        """
        usual = sorted({min(max(1, _two_digits(self.people * times)), LARGEST_TOTAL) for times in GRID_PEOPLE})
        columns, designs, people = self._grid(epsilons, people, usual)
        planned = [precision_of(design, self.question) for design in designs]
        pairs = [(precision, float(n)) for precision in planned for n in people]
        for measure in planned[0].measures:
            reached = np.array([getattr(precision, measure)(n) for precision, n in pairs])
            shown = partial(cells, self.question.scale * reached)
            columns.append(Column(measure, reached, self.question.heading(measure), shown))
        return columns

    def _title(self, *_: Any, **options: Any) -> str:
        return "Precision by epsilon and number of respondents"

    def _footnotes(self, *_: Any, **options: Any) -> list[str]:
        return list(islice(self.sentences(), 3))

    def _facts(self) -> Document:
        mechanisms = None if self.mechanisms is None else self.mechanisms.to_dict()
        return super()._facts() | {"advice": list(self.advice), "mechanisms": mechanisms}

    def _solution(self) -> str:
        """Sentence that answers the question of the plan."""
        question, one, share = self.question, self.people == 1, self.question.share_asked
        people = counted(self.people, "respondent", "respondents")
        about = question.about if share is None else f" for a share of {share_text(share)}"
        epsilon, measure = f"epsilon {self.design.shown_epsilon()}", with_article(self.measure)
        goal = f"{measure} of {question.amount(self.goal)}{about}"
        if self.solved_for == "people":
            return f"{people} {'is' if one else 'are'} needed for {goal} at {epsilon}."
        if self.solved_for == "epsilon":
            searched = self.epsilon > SMALLEST_EPSILON
            smallest = "the smallest" if searched else "enough, and the smallest that is considered,"
            return f"E{epsilon[1:]} is {smallest} with which {people} {'reaches' if one else 'reach'} {goal}."
        reached, nothing = getattr(self, self.measure), ""
        if question.numbers is not None:
            amount = in_units(reached)
            if 2 * reached >= question.numbers.width:
                nothing = ": nothing can be learned about it"
        else:
            amount = capped(reached)
            if reached >= 1 and self.measure == "half_width":
                nothing = ": nothing can be learned about a single answer"
        return f"{people} at {epsilon} {'gives' if one else 'give'} {measure} of {amount}{about}{nothing}."

    def _shuffled(self) -> Iterator[str]:
        central, epsilon = self.shuffled_epsilon, self.design.shown_epsilon()
        if central == self.epsilon:
            yield f"Shuffled reports: no better than epsilon {epsilon} can be proven at delta {self.delta:g}."
        elif central is not None:
            yield (
                "Shuffled reports: if an honest shuffler mixes them, all of them together have a central epsilon of at "
                f"most {rounded_up(central, 4)} at delta {self.delta:g} (proven with the privacy blanket)."
            )

    def grid_text(self, epsilons: Sequence[float] | None = None, people: Sequence[int] | None = None) -> str:
        """Grid with a row for each sample size, and a column for each epsilon."""
        table = self.table(epsilons, people)
        names = list(dict.fromkeys(table["epsilon"].tolist()))
        columns = {"respondents": cells(table["people"][: len(table["people"]) // len(names)])}
        reached = self.question.scale * table[self.measure].reshape(len(names), -1)
        shown = self.shown_epsilons(np.array(names))
        columns |= {f"epsilon {name}": cells(row) for name, row in zip(shown, reached, strict=True)}
        title = f"{MEASURES[self.measure].capitalize()} ({self.question.unit}), by respondents and epsilon"
        return plain_table(Printed(columns, title))


def _two_digits(number: float) -> int:
    unit = int(10 ** max(0, math.floor(math.log10(max(number, 1))) - 1))
    return round(number / unit) * unit


def design_sentence(design: Design, of: str = "Design") -> str:
    happens = ""
    if (symmetry := full_symmetry(design.law)) is not None:
        truth = "the truth is reported" if design.law.exclusive else "a report names the true answer"
        happens = f"; {truth} with probability {float(symmetry.p):.4g}, each other answer with {symmetry.base:.4g}"
    name = getattr(design, "name", "") or design.mechanism  # a survey design has a name
    return f"{of}: {name}, {design.k:,} answers, epsilon {design.shown_epsilon()}{happens}."


def capped(difference: float) -> str:
    """Difference in percentage points, or "more than 100".

    >>> capped(0.03), capped(12_500.0)
    ('3 percentage points', 'more than 100 percentage points')
    """
    return points(difference) if difference <= 1 else "more than 100 percentage points"


PROBABLY = 0.95  # probability that each question is asked of the number of respondents in `least`


@dataclass(frozen=True, eq=False, repr=False)
class SplitPlan(SurveyPlan):
    """Sample size and precision of a split questionnaire, or of a question with several answers.

    Attributes
    ----------
    design : SplitQuestionnaire
        The randomization of all questions.
    people : int
        Number of respondents.
    solved_for : str
        The quantity that was computed: ``"people"``, or the measure of precision.
    least : int
        Number of respondents of whom each question is asked with a probability of 95 %.
    plans : tuple of Plan
        Plan of each question for the respondents in `least`.
    """

    fields = ("epsilon", "people", "solved_for", "asked", "least", "lost")
    _rows_key = "questions"

    design: SplitQuestionnaire
    people: int
    solved_for: str
    least: int
    plans: tuple[Any, ...]

    @property
    def asked(self) -> int:
        """Number of questions that are asked of each respondent."""
        return self.design.asked

    @property
    def lost(self) -> str:
        """Sentence on the loss by asking some of the questions; may be empty."""
        return self.design.lost()

    def _columns(self, *_: Any, **options: Any) -> list[Column]:
        """Return a row for each question: the half-width and the error of its shares."""
        half_width, error = (np.array([getattr(plan, name) for plan in self.plans]) for name in MEASURES)
        return [
            Column("question", objects(self.design.questions), "question"),
            Column("answers", np.array([part.k for part in self.design.parts]), "answers"),
            Column("half_width", half_width, "half-width (%)", percent_cells(half_width, 2)),
            Column("error", error, "error (%)", percent_cells(error, 2)),
        ]

    def _title(self, *_: Any, **options: Any) -> str:
        return "Precision of the shares of each question"

    def _footnotes(self, *_: Any, **options: Any) -> list[str]:
        return self.sentences()

    def sentences(self) -> list[str]:
        many = counted(self.people, "respondent", "respondents")
        each = f"each question is asked of {self.least:,} of them or more with a probability of {percent(PROBABLY, 0)}"
        whole = f"{many}: {'all of them count for each question' if self.least == self.people else each}."
        return [whole, f"Design: {self.design.summary()}.", *filter(None, [self.lost])]

    def text(self) -> str:
        """Sentences of the plan and the table."""
        return f"{super().text()}\n\n{plain_table(self._printed()._replace(notes=()))}"


def split_plan(
    design: SplitQuestionnaire, plan: Callable[..., Any], people: int | None, measure: str, **options: Any
) -> SplitPlan:
    """Plan a split questionnaire by the `plan` of each question; see `warner.plan`."""
    fraction = 1.0 if getattr(design, "at_most", None) else design.asked / len(design.parts)
    goal = options.pop("goal")
    if (people is None) == (goal is None):
        raise TypeError("a plan of several questions needs either people, or half_width or error")
    solved_for = "people" if people is None else measure
    if people is None:
        needed = max(plan(part, **{measure: goal}, **options).people for part in set(design.parts))

        def enough(n: int) -> bool:
            return bool(1 - bdtr(needed - 1, n, fraction) >= PROBABLY)

        most = needed
        while not enough(most):
            most *= 2
        people = first_true(enough, needed, most)
    check_people(people)
    n = int(people)
    least = first_true(lambda m: bool(bdtr(m, n, fraction) > 1 - PROBABLY), 0, n)
    if not least:
        raise ValueError(f"people must be more than {people:,}, so that each question is asked of some of them")
    each = {part: plan(part, people=least, **options) for part in set(design.parts)}
    return SplitPlan(design, n, solved_for, least, tuple(each[part] for part in design.parts))
