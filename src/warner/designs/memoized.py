r"""Repeated questions with memoization: a permanent response that is drawn once, and reports that are drawn from it.

A single report spends :math:`\varepsilon_1` (`eps_first`), and any number of reports of an unchanged answer together
at most :math:`\varepsilon_\infty` (`eps_infinity`), which is larger. `rounds` has the equations, the sources and worked
numbers. Each method of `Memoized` that makes a design states its name in the literature.

One round of reports, one from each person, follows the *chain* of both rounds, which is a design (`Memoized.once`) with
the law of such reports. The rounds of one respondent depend on each other through the permanent response: analyze them
round by round.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.designs.bit_flips import BitFlips
from warner.designs.contract import Design, revealed
from warner.designs.exact import double_not_below, epsilon_asked, log_ratio, lowest_terms, shown_up, whole_number
from warner.designs.hashing import LocalHashing
from warner.designs.labels import Domain, Labels, canonical, first_and_last, label_list
from warner.designs.response import RandomizedResponse
from warner.designs.rounds import AnswerRounds, BitRounds, FlipRounds, HashRounds, Rounds, basic_rappor, second_odds
from warner.designs.unary import OPTIMAL, SYMMETRIC, UnaryEncoding
from warner.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from warner.arrays import Counts, Integers
    from warner.designs.draws import RandomBytes
    from warner.designs.exact import Number
    from warner.designs.memo import Memo
    from warner.documents import Document


STAGES: dict[str, type[Design]] = {
    design.mechanism: design for design in (RandomizedResponse, UnaryEncoding, LocalHashing, BitFlips)
}
MOST_REPORTS_PER_PERSON = 10**12  # reports of one person
MOST_REPORTS_IN_TABLE = 10**9  # reports in a table


def from_chain(fact: str) -> Any:
    """Forward an attribute to the chain of both rounds."""
    return property(attrgetter(f"once.{fact}"))


@dataclass(frozen=True, init=False, repr=False)
class Memoized(Design):
    r"""Ask the same respondents repeatedly: a permanent response, and reports that are drawn from it.

    Parameters
    ----------
    first : Design
        The permanent round, drawn once for each answer that a respondent gives, and kept forever (`Memo`).
    second : Design
        The round that is drawn afresh at every report.

    Notes
    -----
    `response` and its like make both rounds from the two epsilons, `eps_first` of a single report and `eps_infinity` of
    all reports of an unchanged answer.

    Each different answer that a person gives spends `eps_infinity` of its own, and so does a second device, or a memo
    that is lost. That compares histories with the same pattern of equal and different answers (under hashing, of hash
    values), and bounds nothing else: what is *not* protected is that an answer changed, when, and that it came back.
    ``warner.designs.rounds`` has the proof.

    Examples
    --------
    >>> survey = Memoized.response(["never", "once", "often"], eps_infinity=2, eps_first=1)
    >>> survey.eps_first, survey.eps_infinity
    (1.0, 2.0)
    >>> [round(survey.eps_after(reports), 3) for reports in (1, 2, 3, 5, 10)]
    [1.0, 1.661, 1.912, 1.995, 2.0]
    """

    first: Design
    second: Design
    rounds: Rounds = field(compare=False)

    mechanism = "memoized"
    field_names = frozenset({"first", "second"})

    # The chain of both rounds describes a single report.
    domain = from_chain("domain")
    law = from_chain("law")
    ordered = from_chain("ordered")
    ratio = from_chain("ratio")
    report_form = from_chain("report_form")
    as_channel = from_chain("as_channel")
    then = from_chain("then")
    p = from_chain("p")
    q = from_chain("q")

    def __init__(self, first: Design, second: Design) -> None:
        self._set(first=first, second=second, rounds=_rounds_of(first, second))

    # From the two epsilons

    @classmethod
    def response(cls, domain: Domain, *, eps_infinity: Number, eps_first: Number) -> Memoized:
        """Make randomized response with two rounds (L-GRR): for few possible answers.

        Parameters
        ----------
        domain : int or sequence of str or of int
            The possible answers, all distinct, in the order of every result; or their number K.
        eps_infinity : number
            The most that all reports of an unchanged answer may reveal together, in nats.
        eps_first : number
            The most that a single report may reveal, below `eps_infinity`. Both rounds spend at most that.

        Examples
        --------
        >>> survey = Memoized.response(4, eps_infinity=2, eps_first=1)
        >>> round(survey.first.p, 4), round(survey.second.p, 4), round(survey.p, 4)
        (0.7112, 0.6165, 0.4754)
        """
        first = _first(RandomizedResponse, domain, eps_infinity)
        return cls(first, RandomizedResponse(first.domain, odds=second_odds(first.odds, eps_first, first.k)))

    @classmethod
    def unary(cls, domain: Domain, *, eps_infinity: Number, eps_first: Number, kind: str = OPTIMAL) -> Memoized:
        """Make unary encoding with two rounds: for many possible answers, in long reports.

        Parameters
        ----------
        domain, eps_infinity, eps_first
            As for `response`.
        kind : str
            Of the permanent round: "optimal" (L-OSUE), after which a single report is an optimal unary encoding, or
            "symmetric" (L-SUE), as basic RAPPOR has it. The second round is symmetric.

        Examples
        --------
        >>> survey = Memoized.unary(1000, eps_infinity=2, eps_first=1)
        >>> round(survey.p, 4), round(survey.q, 4)  # as UnaryEncoding.optimal(1000, epsilon=1)
        (0.5, 0.2689)
        """
        first = _first(UnaryEncoding, domain, eps_infinity, kind=kind)
        # Of both kinds a bit of the other answers is a randomized response of two: 1 - q1 : q1 against itself. Of
        # optimal ones the chain has p = 1/2, so that its odds are those of that bit; of symmetric ones their square.
        bit = lowest_terms(1 - first.zero, first.zero)
        c, d = second_odds(bit, eps_first, 2, half=kind == SYMMETRIC)
        return cls(first, UnaryEncoding(first.domain, p=Fraction(c, c + d), q=Fraction(d, c + d)))

    @classmethod
    def rappor(cls, domain: Domain, *, f: Number, p: Number, q: Number) -> Memoized:
        """Make basic RAPPOR, with a bit for each answer, from the parameters of its paper.

        Parameters
        ----------
        domain : int or sequence of str or of int
            The possible answers, all distinct, in the order of every result; or their number K.
        f : number
            Probability that a permanent bit is drawn at random: it is the true one with probability 1 - f/2.
        p, q : number
            Probability that a reported bit is 1 where the permanent bit is 0 (p) or 1 (q): in the paper q is the
            larger one.

        Examples
        --------
        >>> survey = Memoized.rappor(100, f="1/2", p="1/2", q="3/4")
        >>> round(survey.eps_first, 4), round(survey.eps_infinity, 4)
        (0.5371, 2.1972)
        """
        return cls(*basic_rappor(canonical(domain), f, p, q))

    @classmethod
    def hashing(
        cls,
        domain: Domain,
        *,
        eps_infinity: Number,
        eps_first: Number,
        field: Number | None = None,
        dimension: Number | None = None,
    ) -> Memoized:
        """Make local hashing with two rounds (LOLOHA): for many possible answers, in short reports.

        Each person has a permanent hash function, and memoizes its few values. Each value used spends `eps_infinity`,
        however often the answer changes.

        Parameters
        ----------
        domain, eps_infinity, eps_first
            As for `response`.
        field, dimension : int, optional
            The number of hash values, and of digits of an answer, as for `LocalHashing`. If not given, the best ones
            for a single report; fewer values spend less when answers change.

        Examples
        --------
        >>> survey = Memoized.hashing(1000, eps_infinity=2, eps_first=1)
        >>> survey.first.field, survey.second.k
        (3, 3)
        """
        asked = epsilon_asked("eps_first", eps_first)
        best = LocalHashing(domain, epsilon=asked, field=field, dimension=dimension)
        first = _first(LocalHashing, best.domain, eps_infinity, field=best.field, dimension=best.dimension)
        odds = second_odds(first.odds, eps_first, first.field)
        return cls(first, RandomizedResponse(first.field, odds=odds))

    @classmethod
    def bit_flips(
        cls, domain: Domain, *, eps_infinity: Number, eps_first: Number | None = None, size: Number | None = None
    ) -> Memoized:
        """Make bit flips with permanent bits (dBitFlipPM): every change of the answer shows at once.

        Each person is always asked about the same few answers, and keeps the bits for them: one row of bits if one of
        these answers is true, for each of them, and one row if another answer is true.

        Parameters
        ----------
        domain, eps_infinity
            As for `response`.
        eps_first : number, optional
            The most that a single report may reveal. If not given, there is no second round, as in dBitFlipPM: reports
            are the permanent bits themselves. All reports of an unchanged answer spend `eps_infinity`, but every change
            from or to a covered answer shows. A second round hides that for a while.
        size : int, optional
            Number of answers that each respondent is asked about, as for `BitFlips`: fewer answers need fewer
            memo keys, and more respondents.

        Examples
        --------
        >>> survey = Memoized.bit_flips(1000, eps_infinity=2, size=16)
        >>> survey.eps_first, survey.eps_infinity, survey.rounds.keys
        (2.0, 2.0, 17)
        """
        first = _first(BitFlips, domain, eps_infinity, size=size)
        odds = (1, 0) if eps_first is None else second_odds(first.odds, eps_first, 2, half=first.size > 1)
        return cls(first, RandomizedResponse(2, odds=odds))

    # What reports reveal

    @property
    def eps_first(self) -> float:
        """The privacy loss of a single report, as the smallest double that is not below it: ``epsilon``."""
        return self.epsilon

    @property
    def eps_infinity(self) -> float:
        """The total privacy loss of all reports of an unchanged answer, as the smallest double not below it."""
        return self.first.epsilon

    def eps_after(self, reports: int) -> float:
        """Return the total privacy loss of this number of reports of an unchanged answer, rounded up.

        >>> survey = Memoized(RandomizedResponse(2, odds=(3, 1)), RandomizedResponse(2, odds=(3, 1)))
        >>> round(survey.eps_after(2), 6)  # ln(7/3) = 0.847297...
        0.847298
        """
        return double_not_below(self._spent_after(whole_number("reports", reports, 1, MOST_REPORTS_PER_PERSON)))

    def table(self) -> dict[str, Counts]:
        """Return columns: numbers of reports of an unchanged answer, and their epsilon."""
        reports = [1]
        while (
            shown_up(self._spent_after(reports[-1]), 4) != self.first.shown_epsilon()
            and reports[-1] < MOST_REPORTS_IN_TABLE
        ):
            reports.append(reports[-1] * 5 // 2 if str(reports[-1])[0] == "2" else reports[-1] * 2)
        return {"reports": np.array(reports), "epsilon": np.array([self.eps_after(number) for number in reports])}

    def _spent_after(self, reports: int) -> Decimal:
        high, low = self.rounds.odds_after(reports)
        return log_ratio(low, high)

    # One report after the other

    @property
    def once(self) -> Design:
        """Design of one round of reports, one from each respondent: the chain of both rounds."""
        return self.rounds.once

    @property
    def draws(self) -> tuple[int, ...]:
        return self.rounds.draws

    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Counts:
        """Draw a first report for each answer, both rounds anew: each from a different respondent."""
        return self.rounds.draw(answers, random_bytes)

    def report(self, answer: Any, memo: Memo) -> Any:
        """Draw one respondent's next report: the permanent response comes from the memo, the rest is drawn.

        Parameters
        ----------
        answer : str or int
            The true answer, as it is now; a list of them gives a list of reports.
        memo : Memo
            Memo of this respondent's device.
        """
        return self.randomize(answer, memo=memo)

    def randomize(self, answers: Any, *, codes: bool = False, memo: Memo | None = None) -> Any:
        """Randomize true answers into reports: of one respondent with a memo, or of a different respondent each."""
        from warner.reports.randomizing import randomize

        return randomize(answers, self, codes=codes, memo=memo)

    @classmethod
    def examples(cls) -> tuple[Memoized, ...]:
        return (
            cls(RandomizedResponse(["a", "b", "c"], odds=(5, 1)), RandomizedResponse(["a", "b", "c"], odds=(3, 1))),
            cls(RandomizedResponse(2, odds=(3, 1)), RandomizedResponse(2, odds=(3, 1))),
            cls(RandomizedResponse(4, odds=(9, 2)), RandomizedResponse(4, odds=(1, 0))),
            cls.rappor(["a", "b"], f="1/2", p="1/2", q="3/4"),
            cls(UnaryEncoding.optimal(3, odds=(3, 1)), UnaryEncoding(3, p="2/3", q="1/3")),
            cls(LocalHashing(8, odds=(5, 1), field=3), RandomizedResponse(3, odds=(3, 1))),
            cls(LocalHashing(4, odds=(3, 1), field=2), RandomizedResponse(2, odds=(3, 1))),
            cls(BitFlips(["a", "b", "c"], odds=(3, 1), size=2), RandomizedResponse(2, odds=(1, 0))),
            cls(BitFlips(3, odds=(3, 1), size=2), RandomizedResponse(2, odds=(3, 1))),
            cls(BitFlips(["yes", "no"], odds=(2, 1), size=1), RandomizedResponse(2, odds=(3, 1))),
        )

    # In words, and in files

    def sentences(self) -> tuple[str, ...]:
        forever, keys = self.first.shown_epsilon(), self.rounds.keys
        reports = self.table()["reports"].tolist()
        numbers = [counted(number, "report", "reports") for number in reports] + ["any number"]
        spent = [shown_up(self._spent_after(number), 4) for number in reports] + [forever]
        whole = shown_up(keys * log_ratio(*self.first.ratio), 4)
        several = (
            f"Total privacy loss if the answer changes: at most epsilon {forever} for each {self.rounds.key} that "
            f"occurs, {whole} for all {keys:,}, against {self.rounds.neighboring_histories}."
        )
        pattern = (
            "Not protected: this pattern, which shows that the answer changed, when, and that an earlier answer came "
            f"back. {self.rounds.changes()}"
        )
        kept = (
            "Keep the permanent responses: a respondent who loses them, or answers on two devices, spends epsilon "
            f"{forever} again for each {self.rounds.key}."
        )
        return (
            label_list("answers", self.domain),
            f"Randomization: {self.rounds.happens()}",
            revealed(self),
            "Total privacy loss while the answer stays the same:",
            *(f"  {number:>16}   epsilon {epsilon}" for number, epsilon in zip(numbers, spent, strict=True)),
            several,
            pattern,
            kept,
        )

    def repetition(self) -> str:
        return (
            "All reports of a respondent whose answer stays the same spend at most epsilon "
            f"{self.first.shown_epsilon()} together, if the permanent response is kept."
        )

    def summary(self) -> str:
        return (
            f"Memoized {self.first.mechanism} among {self.k} answers ({first_and_last(self.domain)}): epsilon "
            f"{self.shown_epsilon()} for one report, {self.first.shown_epsilon()} for all of an unchanged answer"
        )

    def fields(self) -> Document:
        return {"first": self.first.to_dict(), "second": self.second.to_dict()}

    @classmethod
    def from_fields(cls, fields: Document) -> Memoized:
        made = cls(_stage("first", fields["first"]), _stage("second", fields["second"]))
        _ = made.once  # a chain in too large numbers raises an error here
        return made


def _l_osue(domain: Domain, *, eps_infinity: Number, eps_first: Number) -> Memoized:
    return Memoized.unary(domain, eps_infinity=eps_infinity, eps_first=eps_first, kind=OPTIMAL)


def _l_sue(domain: Domain, *, eps_infinity: Number, eps_first: Number) -> Memoized:
    return Memoized.unary(domain, eps_infinity=eps_infinity, eps_first=eps_first, kind=SYMMETRIC)


# The names of the literature, and how such a design is made
REPEATED_DESIGNS: dict[str, Callable[..., Memoized]] = {
    "l grr": Memoized.response,
    "l osue": _l_osue,
    "l sue": _l_sue,
    "rappor": Memoized.rappor,
    "loloha": Memoized.hashing,
    "dbitflippm": Memoized.bit_flips,
}


def _first(mechanism: Any, domain: Domain, eps_infinity: Number, **parameters: Any) -> Any:
    """Make the permanent round; error messages call its epsilon eps_infinity."""
    labels = canonical(domain)
    epsilon_asked("eps_infinity", eps_infinity)
    return mechanism(labels, epsilon=eps_infinity, **parameters)


# Both rounds, and the permanent responses of the first, which are the answers of the second
_PAIRS: tuple[tuple[Any, Any, Any, Callable[[Any], Labels]], ...] = (
    (RandomizedResponse, RandomizedResponse, AnswerRounds, lambda first: first.domain),
    (UnaryEncoding, UnaryEncoding, BitRounds, lambda first: first.domain),
    (LocalHashing, RandomizedResponse, HashRounds, lambda first: range(first.field)),
    (BitFlips, RandomizedResponse, FlipRounds, lambda first: range(2)),
)


def _rounds_of(first: Any, second: Any) -> Rounds:
    """Pair two rounds; raise a TypeError if they do not fit each other."""
    for kind, again, rounds, responses in _PAIRS:
        if not isinstance(first, kind) or not isinstance(second, again):
            continue
        if second.domain != responses(first):
            raise ValueError(
                "second must take the permanent responses of first for its answers, which are "
                f"{first_and_last(responses(first))}, but got {second!r}"
            )
        for name, (a, b) in (("first", first.odds), ("second", second.odds)):
            if not a > b:
                raise ValueError(f"{name} must be at odds a : b with a > b, but got {a} : {b}")
        if not first.ratio[0]:
            raise ValueError(
                f"first must have a finite epsilon, which all reports together will spend, but got {first!r}"
            )
        paired: Rounds = rounds(first, second)
        return paired
    raise TypeError(
        "first and second must be two randomized responses, two unary encodings, linear local hashing and a "
        "randomized response of its hash values, or bit flips and a randomized response of two answers for each bit, "
        f"but got {first!r} and {second!r}"
    )


def _stage(name: str, document: object) -> Design:
    mechanism = document.get("mechanism") if isinstance(document, dict) else None
    if not isinstance(document, dict) or mechanism not in STAGES:
        known = ", ".join(map(repr, STAGES))
        raise ValueError(f"this design is damaged: {name} must be a design, its mechanism one of {known}")
    return STAGES[mechanism].from_dict(document)
