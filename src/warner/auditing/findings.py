"""Results of an audit: a bound on epsilon for each pair of answers, and whether the client follows its design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.results import Result, plain
from warner.typesetting import Printed
from warner.words import (
    LINE_CHARACTERS,
    aligned,
    counted,
    enumerated,
    level_text,
    p_value,
    percent,
    quoted,
    rounded_down,
    shortened,
    wrapped,
)

if TYPE_CHECKING:
    from warner.arrays import Counts, Label
    from warner.designs.contract import Design
    from warner.designs.open.open_domain import OpenDomain
    from warner.documents import Document

PAIRS_SHOWN = 12  # rows of the table
MISFITS_SHOWN = 3  # that a text describes


class Pair(NamedTuple):
    """The bound from one ordered pair of answers.

    Attributes
    ----------
    answer, other : label
        The answer after which the event is more likely, and the one after which it is less.
    epsilon_at_least : float
        The lower bound on epsilon; 0 if these two say nothing.
    event : str
        The reports that were counted, in words.
    hits, other_hits : int
        How many of them came after either answer.
    runs : int
        In how many runs after each.
    """

    answer: Label
    other: Label
    epsilon_at_least: float
    event: str
    hits: int
    other_hits: int
    runs: int


class Misfit(NamedTuple):
    """Reports that come more or less often than the design says.

    Attributes
    ----------
    answer : label
        The answer after which they come.
    event : str
        The reports, in words.
    share, expected : float
        How often they came, and how often they should.
    p_value : float
        Of a client that follows its design, multiplied by the number of tests and by two.
    """

    answer: Label
    event: str
    share: float
    expected: float
    p_value: float


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Result):
    """What an audit found. At the stated level all of it holds at once.

    Attributes
    ----------
    design : Design
        What the client claims to do.
    answers : tuple of labels
        The answers that were tried.
    runs : int
        How often each was.
    level : float
        How sure all of this is together, if runs are independent of each other.
    raw : bool
        Whether reports were taken as texts of any form.
    pairs : tuple of Pair
        The bound for each ordered pair of answers.
    p_value : float
        If the client follows its design, counts at least this far from it occur with probability at most this.
    misfits : tuple of Misfit
        What does not fit, the clearest first; at most ten.
    repeats : bool
        Whether the client, started again, gave the same reports in the same order.
    tests : int
        How many counts were compared with the design; 0 for raw reports.
    """

    design: Design | OpenDomain
    answers: tuple[Label, ...]
    runs: int
    level: float
    raw: bool
    pairs: tuple[Pair, ...]
    p_value: float
    misfits: tuple[Misfit, ...]
    repeats: bool
    tests: int

    @property
    def worst(self) -> Pair:
        """The pair of answers with the largest bound."""
        return max(self.pairs, key=lambda pair: pair.epsilon_at_least)

    @property
    def epsilon_at_least(self) -> float:
        """The epsilon that is spent at the least: the largest of the bounds."""
        return self.worst.epsilon_at_least

    @property
    def exceeds(self) -> bool:
        """Whether more epsilon is spent than the design claims."""
        return self.epsilon_at_least > self.design.epsilon

    @property
    def fits(self) -> bool:
        """Whether reports come as often as the design says, as far as that was tested."""
        return not self.misfits

    @property
    def passed(self) -> bool:
        """Whether nothing was found against the client."""
        return self.fits and not self.exceeds and not self.repeats

    def table(self) -> dict[str, Counts]:
        """Give a row for each ordered pair of answers."""
        rows = zip(*self.pairs, strict=True)
        return {name: np.array(column) for name, column in zip(Pair._fields, rows, strict=True)}

    def printed(self, **options: Any) -> Printed:
        """Give a table for a paper: the bound for each pair of answers, and the verdict below."""
        del options  # the table has none
        columns = {
            "answer": [str(pair.answer) for pair in self.pairs],
            "against": [str(pair.other) for pair in self.pairs],
            "epsilon at least": [_at_least(pair.epsilon_at_least) for pair in self.pairs],
            "hits (%)": [f"{100 * pair.hits / pair.runs:.1f}" for pair in self.pairs],
            "against (%)": [f"{100 * pair.other_hits / pair.runs:.1f}" for pair in self.pairs],
            "by": [pair.event for pair in self.pairs],
        }
        return Printed(columns, "Bounds on epsilon", (self._verdict(), *self._fit(), self._level()))

    def to_dict(self) -> Document:
        return {
            "format": "warner audit",
            "version": 1,
            "passed": self.passed,
            "epsilon_at_least": self.epsilon_at_least,
            "epsilon_claimed": "inf" if np.isinf(self.design.epsilon) else self.design.epsilon,
            "exceeds": self.exceeds,
            "fits": None if self.raw else self.fits,
            "repeats": self.repeats,
            "level": self.level,
            "runs": self.runs,
            "answers": list(self.answers),
            "raw": self.raw,
            "p_value": None if self.raw else self.p_value,
            "tests": self.tests,
            "pairs": [pair._asdict() for pair in self.pairs],
            "misfits": [plain(misfit._asdict()) for misfit in self.misfits],
            "design": self.design.to_dict(),
        }

    def text(self) -> str:
        """Say it in plain words: the verdict, the evidence, the pairs, and what no audit can see."""
        lines = [wrapped([self._verdict(), self._evidence()]), "", *self._table_of_pairs(), ""]
        return "\n".join([*lines, wrapped([*self._fit(), self._level()]), "", wrapped([NOT_AUDITED])])

    def _verdict(self) -> str:
        claimed, bound = self.design.shown_epsilon(), rounded_down(self.epsilon_at_least)
        if self.repeats:
            return (
                "The client repeats itself: started again with the same answers, it gives the same reports in the same "
                "order. Its randomness comes from a fixed seed, so that whoever has the program can undo it, and no "
                "epsilon holds. The bounds below take runs for independent, which they are not."
            )
        if self.exceeds:
            return f"The client spends more than it claims: epsilon is at least {bound}; the design claims {claimed}."
        spends = f"at least {bound} of the epsilon {claimed} that the design claims is really spent"
        if not self.fits:
            return f"The client does not follow the design, though it was not found to spend more: {spends}."
        return f"Nothing was found against the client: {spends}."

    def _evidence(self) -> str:
        worst = self.worst
        if worst.epsilon_at_least == 0:
            return "No two of these answers could be told apart by their reports."
        return (
            f"What shows it: {worst.event} came in {percent(worst.hits / worst.runs)} of {worst.runs:,} runs after "
            f"{quoted(worst.answer)}, and in {percent(worst.other_hits / worst.runs)} after {quoted(worst.other)}."
        )

    def _table_of_pairs(self) -> list[str]:
        shown = sorted(self.pairs, key=lambda pair: -pair.epsilon_at_least)[:PAIRS_SHOWN]
        names = [(shortened(quoted(pair.answer), 20), shortened(quoted(pair.other), 20)) for pair in shown]
        width = max(10, *(len(name) for both in names for name in both))
        heads = ["answer", "against", "epsilon >=", "hits", "against", "by"]
        setting: Any = {"left": {0, 1, 5}, "least": (width, width, 10, 7, 7)}
        room = LINE_CHARACTERS - len("  ") - len(aligned([heads], **setting)[0]) + len("by")
        rows = [heads]
        for pair, (answer, other) in zip(shown, names, strict=True):
            shares = [percent(hits / pair.runs, 1) for hits in (pair.hits, pair.other_hits)]
            rows.append([answer, other, _at_least(pair.epsilon_at_least), *shares, shortened(pair.event, room)])
        lines = [f"  {line}" for line in aligned(rows, **setting)]
        if len(self.pairs) > PAIRS_SHOWN:
            lines.append(f"  ... and {counted(len(self.pairs) - PAIRS_SHOWN, 'pair', 'pairs')} more")
        return lines

    def _fit(self) -> list[str]:
        if self.raw:
            return ["Reports were taken as texts, so that it was not tested whether they follow the design."]
        compared = counted(self.tests, "count", "counts")
        if self.fits:
            return [f"The reports fit the design: of {compared} compared with it none stands out ({self._p()})."]
        sentences = [f"The reports do not fit the design: {self._p()} for {compared}."]
        sentences += [
            f"After {quoted(misfit.answer)}, {misfit.event} make up {_share(misfit.share)}; the design says "
            f"{_share(misfit.expected)}."
            for misfit in self.misfits[:MISFITS_SHOWN]
        ]
        return [" ".join(sentences)]

    def _p(self) -> str:
        return p_value(self.p_value)

    def _level(self) -> str:
        return (
            f"{self.runs:,} runs after each of {enumerated(list(map(quoted, self.answers)))}; the runs "
            "that chose what to look at are not those that judged it. If runs are independent of each other, all of "
            f"this holds at once with a probability of at least {level_text(self.level)}, whatever the client does."
        )


def _at_least(bound: float) -> str:
    return f"{float(rounded_down(bound)):.3f}"


def _share(share: float) -> str:
    return f"{100 * share:.4g} %"


NOT_AUDITED = (
    "What no audit can see: what the client does after other answers, or when nobody audits it; what is too rare for "
    "this number of runs; what it remembers from one report to the next; and what is sent along with a report, such as "
    "its time. A bound below the claim is no proof that the claim holds."
)
