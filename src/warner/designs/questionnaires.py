r"""Several questions under one epsilon: split questionnaires, and questions with several answers.

A device draws s of d questions, uniformly and independently of the answers, and randomizes the answers to these alone.
The report :math:`(S, y)` has probability :math:`\prod_{j \in S} P_j(y_j \mid x_j) / \binom{d}{s}`, so that epsilon is
the sum of the s largest ones. A question is asked of :math:`n_j \sim \text{Bin}(n, s/d)` respondents, whatever their
answers: given :math:`n_j`, all estimates and exact intervals hold. The best s has the smallest total squared error
:math:`\frac{d}{s} \sum_j T_j(\varepsilon/s)`, for total variances T of one report.

**Options of which respondents choose any number** are questions with the answers yes and no. If they choose at most l
of K options, the device adds dummies up to l labels, draws one of the l, and reports it by randomized response among
all K + l labels, at odds b + l (a - b) : b. A label that is held is reported with probability a / (l a + K b), any
other with b / (l a + K b): the report spends ln(a / b) [1]_, and the number of reports of an option is binomial.

A worked number: 4 options, of which at most 2 are chosen, at odds 3 : 1. Then l a + K b = 10: an option is reported by
3/10 of the respondents who choose it, and by 1/10 of the others. The odds among the 6 labels are 5 : 1.

References
----------
.. [1] S. Wang, L. Huang, Y. Nie, P. Wang, H. Xu, W. Yang, "PrivSet: set-valued data analyses with local differential
   privacy", IEEE INFOCOM 2018, 1088-1096: with sets of one label.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.arrays import Counts, Integers, objects
from warner.designs.channel import Channel
from warner.designs.contract import Design, Device, listed_design
from warner.designs.draws import Compared, RandomBytes, selections, uniform
from warner.designs.exact import (
    EPSILON_RANGE,
    Number,
    epsilon_asked,
    exponential_not_above,
    odds_from_json,
    odds_not_above,
    whole_number,
)
from warner.designs.labels import LABELS_LISTED, Domain, canonical, positions, refuse_answers
from warner.designs.product import designs_by_question
from warner.designs.response import RandomizedResponse
from warner.designs.subset import SubsetSelection
from warner.designs.symmetric import number_from_json, refuse_odds
from warner.text import enumerated, percent, quoted

if TYPE_CHECKING:
    from warner.documents import Document

SETS_GAIN = Fraction(21, 20)  # ratio of total variances from which sets of answers replace randomized response
CHOICE = ("yes", "no")
REPORT = "report"  # column of reports that name one option


@dataclass(frozen=True, init=False, repr=False)
class SplitQuestionnaire(Device):
    """Ask each respondent some of several questions, drawn at random on the device, under one epsilon.

    Parameters
    ----------
    questions : mapping of str to sequence of labels or int, or of str to Design
        The possible answers to each question, or their number, by the name of the question; or its design.
    epsilon : number, optional
        The most that all reports of a respondent reveal together, in nats; left out with designs. Each report gets an
        equal part, by randomized response, or by subset selection if that lowers the total squared error by over 5 %.
    asked : int, optional
        Number of questions that are asked of each respondent; needed with designs. If not given, the one with the
        smallest total squared error of all shares.

    Attributes
    ----------
    designs : dict of str to Design
        The randomization of each question.
    asked : int
        Number of questions that are asked of each respondent.
    epsilon : float
        The sum of the `asked` largest epsilons, rounded up.

    Examples
    --------
    >>> health = SplitQuestionnaire({"smokes": ["yes", "no"], "drinks": ["never", "once", "often"]}, epsilon=2)
    >>> health
    <SplitQuestionnaire that asks 1 of 2 questions (smokes, drinks): epsilon 2>
    >>> list(health.randomize({"smokes": ["no", "yes"], "drinks": ["once", "never"]}))
    ['smokes', 'drinks']
    """

    questions: tuple[str, ...]
    parts: tuple[Design, ...]
    asked: int

    mechanism = "split questionnaire"
    field_names = frozenset({"questions", "designs", "asked"})
    _kind = "questions"
    _not_listed = "a {} has several questions; give the design of one, designs[question]"

    def __init__(
        self, questions: Mapping[str, Any], epsilon: Number | None = None, asked: Number | None = None
    ) -> None:
        if not isinstance(questions, Mapping):
            raise TypeError(f"questions must be a mapping of names to answers, but got {type(questions).__name__}")
        if len(questions) < 2:
            raise ValueError(f"questions must be two or more, but got {len(questions)}; one needs its design alone")
        number = None if asked is None else whole_number("asked", asked, 1, len(questions))
        of_designs = any(isinstance(part, Device) for part in questions.values())
        if of_designs != (epsilon is None) or (of_designs and number is None):
            raise ValueError("questions must have their answers, with epsilon, or their designs, with asked")
        if epsilon is None or of_designs:
            parts = [listed_design(part, f"the design of {quoted(name)}") for name, part in questions.items()]
        else:
            budget = epsilon_asked("epsilon", epsilon)
            domains = [canonical(answers, f"answers to {quoted(name)}") for name, answers in questions.items()]
            number = number or best_number([len(domain) for domain in domains], budget)
            parts = [_design(domain, budget / number) for domain in domains]
        self._ask(tuple(questions), tuple(parts), number or 1)

    def _ask(self, questions: tuple[Any, ...], parts: tuple[Design, ...], asked: int) -> None:
        for name, part in zip(questions, parts, strict=True):
            if not isinstance(name, str) or not name:
                raise TypeError(f"questions must have names that are texts, but got {name!r}")
            if part.repetition():
                raise ValueError(f"the design of {quoted(name)} must not be memoized: every draw is a new one")
        self._set(questions=questions, parts=parts, asked=asked)

    @property
    def designs(self) -> dict[str, Design]:
        """The randomization of each question."""
        return dict(zip(self.questions, self.parts, strict=True))

    @cached_property
    def ratio(self) -> tuple[int, int]:
        """Products of the whole numbers of the questions with the largest epsilons."""

        def times(ratio: tuple[int, int]) -> Fraction | float:
            return Fraction(ratio[1], ratio[0]) if ratio[0] else math.inf

        largest = sorted((part.ratio for part in self.parts), key=times)[-self.asked :]
        return math.prod(low for low, _ in largest), math.prod(high for _, high in largest)

    @property
    def draws(self) -> tuple[int, ...]:
        each = (below for part in self.parts for below in part.draws)
        return (*map(Compared, range(len(self.parts), 0, -1)), *each)

    def randomize(self, answers: Any) -> dict[str, list[Any]]:
        """Draw the questions of each respondent, and randomize the answers to them.

        Parameters
        ----------
        answers : mapping or data frame
            A column of answers to each question, by its name, without blanks: the draw must not depend on answers.

        Returns
        -------
        dict of str to list
            A column of reports to each question, with None where it was not asked.
        """
        names = answers if isinstance(answers, Mapping) else getattr(answers, "columns", None)
        if names is None:
            raise TypeError(f"answers must be columns by question, or a data frame, but got {type(answers).__name__}")
        if missing := [repr(name) for name in self.questions if name not in names]:
            raise ValueError(f"answers must have a column for each question, but {enumerated(missing)} is missing")
        return self.draw([self.codes(name, answers[name]) for name in self.questions], os.urandom)

    def codes(self, question: str, answers: Any) -> Integers:
        """Return the positions of the answers to a question in its domain, after checking all of them."""
        if isinstance(answers, str) or not hasattr(answers, "__len__"):
            raise TypeError(f"answers to {quoted(question)} must be a column, but got {type(answers).__name__}")
        column = answers if isinstance(answers, list | tuple | np.ndarray) else list(answers)
        codes = positions(column, self.designs[question].domain, what=f"answers to {quoted(question)}")
        refuse_answers(codes < 0, f"in the domain of {quoted(question)}", "missing or not in it")
        return codes

    def draw(self, codes: Sequence[Integers], random_bytes: RandomBytes, into: str = "csv") -> dict[str, list[Any]]:
        """Draw columns of reports, as they are written in files of the kind `into`, from the codes of all answers."""
        n, d = codes[0].size, len(self.parts)
        if any(answers.shape != (n,) for answers in codes):
            raise ValueError("answers must have columns of one length, with one answer of each respondent")
        sets = selections(np.full(n, self.asked), d, -(-d // 8), random_bytes)
        reports = {name: np.full(n, None) for name in self.questions}
        asked = np.unpackbits(sets, axis=1, count=d).astype(bool).T
        for column, part, answers, rows in zip(reports.values(), self.parts, codes, asked, strict=True):
            if rows.any():
                column[rows] = _written(part, part.draw(answers[rows], random_bytes), into)
        return {name: column.tolist() for name, column in reports.items()}

    def lost(self) -> str:
        """Return a sentence on what asking some of the questions loses; empty if all are asked.

        >>> SplitQuestionnaire({"a": 2, "b": 2, "c": 2}, epsilon=2, asked=2).lost()
        'Joint distributions rest on fewer respondents: 33.3 % of them report on both of two questions.'
        """
        d, s = len(self.parts), self.asked
        if s == 1:
            return f"Joint distributions are lost: no respondent reports on two {self._kind}."
        both = percent(s * (s - 1) / (d * (d - 1)), 1)
        words = f"Joint distributions rest on fewer respondents: {both} of them report on both of two {self._kind}."
        return words if s < d else ""

    def sentences(self) -> tuple[str, ...]:
        return (
            f"{self._kind.capitalize()} ({len(self.parts)}): {enumerated(self.questions, LABELS_LISTED)}.",
            *self._happens(),
            f"Privacy: epsilon {self.shown_epsilon()} for all reports of a respondent together.",
            *filter(None, [self.lost()]),
            "A respondent who is asked again, after a reload or instead of a declined question, spends epsilon again.",
        )

    def _happens(self) -> list[str]:
        asked = (
            f"The device asks {self.asked} of them, drawn at random, whatever the answers are. The others stay blank."
        )
        parts = list(self.designs.items())[: LABELS_LISTED if self._kind == "questions" else 1]
        return [asked, *(f"Randomization of {quoted(name)}: {part.summary()}." for name, part in parts)]

    def summary(self) -> str:
        limit = getattr(self, "at_most", None)
        which = f"that asks {self.asked}" if limit is None else f"with at most {limit}"
        names = f"{len(self.parts)} {self._kind} ({enumerated(self.questions, 4)})"
        return f"{type(self).__name__} {which} of {names}: epsilon {self.shown_epsilon()}"

    def fields(self) -> Document:
        designs = [part.to_dict() for part in self.parts]
        return {"questions": list(self.questions), "asked": self.asked, "designs": designs}

    @classmethod
    def from_fields(cls, fields: Document) -> SplitQuestionnaire:
        designs = designs_by_question(fields)
        return cls(designs, asked=number_from_json(fields, "asked", 1, len(designs)))

    @classmethod
    def examples(cls) -> tuple[SplitQuestionnaire, ...]:
        questions = {"smokes": ["yes", "no"], "drinks": ["never", "once", "often"], "children": 4}
        designs = {"a": RandomizedResponse(["yes", "no"], odds=(3, 1)), "b": SubsetSelection(5, odds=(5, 1), size=2)}
        return cls(questions, epsilon=2), cls(questions, epsilon=2, asked=2), cls(designs, asked=2)


@dataclass(frozen=True, init=False, repr=False)
class SelectAll(SplitQuestionnaire):
    """Ask which of several options apply, under one epsilon: respondents choose any number of them.

    Each option is a question with the answers yes and no, and the device asks some of them. With `at_most`, it reports
    one label instead, that of an option or a dummy. Shares of options need not sum to one: `warner.tally` counts
    reports by option, and `warner.estimate` returns an exact interval for each.

    Parameters
    ----------
    options : sequence of str
        The options, all distinct.
    epsilon : number
        The most that the reports of a respondent reveal together, in nats.
    at_most : int, optional
        The largest number of options that a respondent can choose; the form must not allow more. It pays if it is
        small: for rare options, below about K (1 - exp(-epsilon)).

    Attributes
    ----------
    designs : dict of str to Design
        Randomization of the answer to each option; with `at_most`, of whether the report names it.
    asked : int
        Number of options that the reports of a respondent are about, the one with the smallest total squared error.

    Examples
    --------
    >>> drinks = SelectAll(["beer", "wine", "tea"], epsilon=1)
    >>> drinks
    <SelectAll that asks 1 of 3 options (beer, wine, tea): epsilon 1>
    >>> list(drinks.randomize([["beer"], ["beer", "tea"], []]))
    ['beer', 'wine', 'tea']
    >>> list(SelectAll(["beer", "wine", "tea"], epsilon=1, at_most=2).randomize([["beer"], ["beer", "tea"], []]))
    ['report']
    """

    odds: tuple[int, int]
    at_most: int | None

    mechanism = "select all"
    field_names = frozenset({"options", "odds", "asked", "at_most"})
    _kind = "options"

    def __init__(self, options: Sequence[str], epsilon: Number, at_most: Number | None = None) -> None:
        names, budget = canonical(options, "options"), epsilon_asked("epsilon", epsilon)
        if at_most is None:
            asked = best_number([2] * len(names), budget)
            self._set_options(names, RandomizedResponse(CHOICE, epsilon=budget / asked).odds, asked, None)
        else:
            limit = whole_number("at_most", at_most, 1, len(names) - 1)
            odds = odds_not_above(exponential_not_above(budget), lambda a, b: limit * a + len(names) * b)
            self._set_options(names, odds, 1, limit)

    def _set_options(self, options: Sequence[Any], odds: tuple[int, int], asked: int, at_most: int | None) -> None:
        part: Any = RandomizedResponse(CHOICE, odds=odds)
        a, b = part.odds
        if at_most is not None:
            total = at_most * a + len(options) * b
            refuse_odds(a, b, total)
            part = Channel.of_weights(CHOICE, CHOICE, np.array([[a, total - a], [b, total - b]]), total)
        self._ask(tuple(options), (part,) * len(options), asked)
        self._set(odds=(a, b), at_most=at_most)
        _ = self.device

    @cached_property
    def device(self) -> RandomizedResponse | None:
        """With `at_most`: randomized response among the options and the dummies."""
        if self.at_most is None:
            return None
        (a, b), dummies = self.odds, (f"none {number + 1}" for number in range(self.at_most))
        labels = canonical((*self.questions, *dummies), "options")
        return RandomizedResponse(labels, odds=(b + self.at_most * (a - b), b))

    @property
    def draws(self) -> tuple[int, ...]:
        return super().draws if self.device is None else (self.at_most or 0, *self.device.draws)

    def randomize(self, answers: Any) -> dict[str, list[Any]]:
        """Randomize the options that each respondent chooses: a list of lists, or columns of yes and no by option.

        With `at_most`, the reports are in one column, ``report``. See `SplitQuestionnaire.randomize`.
        """
        if not isinstance(answers, list):
            return super().randomize(answers)
        if not all(isinstance(row, list | tuple | set | frozenset) for row in answers):
            raise TypeError('answers must be lists of options, one for each respondent, such as [["beer"], []]')
        refuse_answers(np.array([not set(row) <= set(self.questions) for row in answers], dtype=bool), "options")
        return super().randomize({name: [CHOICE[name not in row] for row in answers] for name in self.questions})

    def draw(self, codes: Sequence[Integers], random_bytes: RandomBytes, into: str = "csv") -> dict[str, list[Any]]:
        if self.device is None or self.at_most is None:
            return super().draw(codes, random_bytes, into)
        chosen = np.stack(codes, axis=1) == 0
        number = chosen.sum(axis=1, keepdims=True)
        rule, remedy = f"at most {self.at_most} options", "Allow no more in the form, or raise at_most"
        refuse_answers(number[:, 0] > self.at_most, rule, "more", remedy=remedy)
        held = np.hstack([chosen, np.arange(self.at_most) < self.at_most - number]).nonzero()[1]
        drawn = uniform(len(chosen), self.at_most, random_bytes).astype(np.int64)
        one = held.reshape(-1, self.at_most)[np.arange(len(chosen)), drawn]
        return {REPORT: _written(self.device, self.device.draw(one, random_bytes), into).tolist()}

    def _happens(self) -> list[str]:
        happens = super()._happens()
        if self.at_most is not None:
            total = self.at_most * self.odds[0] + len(self.parts) * self.odds[1]
            chosen, other = (f"{weight / total:.4g}" for weight in self.odds)
            happens = [
                f"Respondents choose at most {self.at_most}; the form must not allow more. The report is one label."
            ]
            happens += [f"It is an option with probability {chosen} if it is chosen and {other} if not, or is a dummy."]
        return [*happens, "Shares of options need not sum to one; each is estimated alone."]

    @classmethod
    def from_fields(cls, fields: Document) -> SelectAll:
        options, limit = canonical(fields["options"], "options"), fields["at_most"]
        if limit is not None:
            limit = number_from_json(fields, "at_most", 1, len(options) - 1)
        asked = number_from_json(fields, "asked", 1, len(options) if limit is None else 1)
        made = cls.__new__(cls)
        made._set_options(options, odds_from_json(fields["odds"]), asked, limit)
        return made

    def fields(self) -> Document:
        odds = list(map(str, self.odds))
        return {"options": list(self.questions), "odds": odds, "asked": self.asked, "at_most": self.at_most}

    @classmethod
    def examples(cls) -> tuple[SelectAll, ...]:
        drinks = ["beer", "wine", "tea", "water"]
        return cls(drinks, epsilon=1), cls(drinks, epsilon=6), cls(drinks, epsilon=1, at_most=2)


def best_number(sizes: Sequence[int], epsilon: Fraction) -> int:
    """Return the number of questions, with these numbers of answers, that has the smallest total squared error.

    >>> best_number([2] * 5, Fraction(1)), best_number([2] * 5, Fraction(8))
    (1, 4)
    """

    def error(asked: int) -> Fraction:
        each = {k: _total(_design(k, epsilon / asked)) for k in set(sizes)}
        return sum((each[k] for k in sizes), Fraction(0)) / asked

    return min(range(1, max(1, min(len(sizes), math.floor(epsilon / EPSILON_RANGE[0]))) + 1), key=error)


def _design(domain: Domain, epsilon: Fraction) -> RandomizedResponse | SubsetSelection:
    response, sets = RandomizedResponse(domain, epsilon=epsilon), SubsetSelection(domain, epsilon=epsilon)
    return sets if SETS_GAIN * _total(sets) < _total(response) else response


def _total(design: RandomizedResponse | SubsetSelection) -> Fraction:
    return design.symmetry.total_variance(design.k)


def _written(design: Design, reports: Counts, into: str) -> Counts:
    written: Counts = objects(design.report_form.written(reports, like=np.dtype(object), into=into).tolist())
    return written
