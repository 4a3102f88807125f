r"""Two rounds in a row: what the first draws is kept for ever, the second is drawn at every report.

Somebody who is asked again and again, and randomizes afresh each time, soon gives the answer away: averages undo the
noise. With two rounds every report starts from the same permanent response, and all reports together tell no more than
that response does [1]_. The first round sees a *key*: the answer itself, or its hash.

For randomized response among K keys, at odds :math:`a_1 : b_1` and then :math:`a_2 : b_2`, the most telling reports are
:math:`\tau` equal ones. They are one report at odds :math:`a_2^\tau : b_2^\tau`, so that, with
:math:`r = (b_2/a_2)^\tau`,

.. math:: \varepsilon_\tau = \ln\frac{a_1 + (K-1)\,b_1 r}{b_1 + (a_1 + (K-2)\,b_1)\,r}
          \;\to\; \varepsilon_\infty = \ln\frac{a_1}{b_1}.

A worked number: two answers at odds 3 : 1 and again 3 : 1. One report has r = 1/3 and odds 3 + 1/3 : 1 + 3/3 = 5 : 3,
two equal ones have r = 1/9 and 28 : 12 = 7 : 3, and all that will ever come together 3 : 1.

References
----------
.. [1] Ú. Erlingsson, V. Pihur, A. Korolova, "RAPPOR: randomized aggregatable privacy-preserving ordinal response", ACM
   CCS 2014, 1054-1067.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from warner.designs.exact import TOTAL_LIMIT, epsilon_asked, exponential_not_above, lowest_terms, odds_not_above
from warner.designs.forms import LabelForm
from warner.designs.response import RandomizedResponse

if TYPE_CHECKING:
    from warner.arrays import Counts, Integers
    from warner.designs.contract import Design
    from warner.designs.draws import RandomBytes
    from warner.designs.exact import Number
    from warner.designs.forms import Form

EXACT_BITS = 2**14  # binary digits of a power that is still written out
FINE = 2**512  # beyond, powers are multiples of one part in so many


class Rounds(ABC):
    """How an answer becomes a key, a key a permanent response, and that a report; and what many reports reveal."""

    @property
    @abstractmethod
    def once(self) -> Design:
        """The design of a single round of reports: the chain of both."""

    key: ClassVar[str] = "answer"  # what a key is, in words

    @property
    def functions(self) -> int:
        """How many hash functions there are, of which each person has one for ever: one that changes nothing."""
        return 1

    @property
    @abstractmethod
    def keys(self) -> int:
        """How many keys there are, each of which has a permanent response of its own."""

    @property
    @abstractmethod
    def draws(self) -> tuple[int, ...]:
        """The whole numbers below which a person's first report is drawn, one after the other."""

    @property
    @abstractmethod
    def form(self) -> Form:
        """How a permanent response is written."""

    def hashes(self, size: int, random_bytes: RandomBytes) -> Integers:
        """Draw the number of a hash function for each of so many people."""
        return np.zeros(size, dtype=np.int64)

    def keyed(self, answers: Integers, hashes: Integers) -> Integers:
        """Give the key of each answer, under the hash function of whoever gives it."""
        return answers

    @abstractmethod
    def permanent(self, keys: Integers, random_bytes: RandomBytes) -> Counts:
        """Draw the permanent response of each key."""

    @abstractmethod
    def again(self, responses: Counts, hashes: Integers, random_bytes: RandomBytes) -> Counts:
        """Draw a report from each permanent response; it tells the hash function too, where there are several."""

    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Counts:
        """Draw the first report of each of these people, both rounds afresh."""
        hashes = self.hashes(answers.size, random_bytes)
        responses = self.permanent(self.keyed(answers, hashes), random_bytes)
        return self.again(responses, hashes, random_bytes)

    @abstractmethod
    def odds_after(self, reports: int) -> tuple[int, int]:
        """Give how much likelier so many reports can be after one key than after another, in lowest terms."""

    @abstractmethod
    def happens(self) -> str:
        """Say what happens in the two rounds, with their probabilities."""

    @abstractmethod
    def changes(self) -> str:
        """Say how well a change of the answer is hidden."""


@dataclass(frozen=True)
class AnswerRounds(Rounds):
    """Randomized response, twice: the key is the answer."""

    first: RandomizedResponse
    second: RandomizedResponse

    @cached_property
    def once(self) -> Design:
        """A randomized response."""
        return self.first.then(self.second)

    @property
    def keys(self) -> int:
        """One key for each answer."""
        return self.first.k

    @property
    def draws(self) -> tuple[int, ...]:
        """One number for each round."""
        return self.first.draws + self.second.draws

    @property
    def form(self) -> LabelForm:
        """A permanent response is the position of an answer."""
        return LabelForm(range(self.keys))

    def permanent(self, keys: Integers, random_bytes: RandomBytes) -> Counts:
        """Draw the permanent response of each key."""
        return self.first.draw(keys, random_bytes)

    def again(self, responses: Counts, hashes: Integers, random_bytes: RandomBytes) -> Counts:
        """Draw a report from each permanent response."""
        return self.second.draw(responses, random_bytes)

    def odds_after(self, reports: int) -> tuple[int, int]:
        """Give the odds of so many equal reports, a1 + (K-1) b1 r : b1 + (a1 + (K-2) b1) r."""
        (a, b), k = self.first.odds, self.keys
        r = power_not_above(Fraction(self.second.odds[1], self.second.odds[0]), reports)
        return lowest_terms(a + (k - 1) * b * r, b + (a + (k - 2) * b) * r)

    def happens(self) -> str:
        """Say what happens in the two rounds, with their probabilities."""
        return (
            "the first time that somebody gives an answer, a permanent response to it is drawn, and kept: with "
            f"probability {self.first.p:.4g} the answer itself, and each other one with {self.first.q:.4g}. Every "
            f"report then names the permanent response with probability {self.second.p:.4g}, and each other answer "
            f"with {self.second.q:.4g}."
        )

    def changes(self) -> str:
        """Say how well a change of the answer is hidden."""
        return (
            "Only the noise of the second round hides it, and that wears off: each report shows the change by up to "
            f"epsilon {self.second.shown_epsilon()}."
        )


def rounds_of(first: Design, second: Design) -> Rounds:
    """Pair two rounds that fit each other, or say why they do not."""
    if isinstance(first, RandomizedResponse) and isinstance(second, RandomizedResponse):
        if first.domain != second.domain:
            raise ValueError(
                "second must have the answers of first, because it takes a permanent response for an answer, but got "
                f"{first!r} and {second!r}"
            )
        _refuse_odds("first", first, 1)
        _refuse_odds("second", second, 0)
        return AnswerRounds(first, second)
    raise TypeError(f"first and second must be two randomized responses, but got {first!r} and {second!r}")


def _refuse_odds(name: str, design: RandomizedResponse, least: int) -> None:
    a, b = design.odds
    if not a > b >= least:
        rule = "a > b > 0, because without noise there is nothing to keep" if least else "a > b"
        raise ValueError(f"{name} must be at odds a : b with {rule}, but got {a} : {b}")


def power_not_above(ratio: Fraction, exponent: int) -> Fraction:
    """Give a power of a ratio below 1: exactly while it is short, else rounded down, so that epsilon errs upwards."""
    if exponent * ratio.denominator.bit_length() <= EXACT_BITS:
        return ratio**exponent
    power, square = FINE, ratio.numerator * FINE // ratio.denominator
    while exponent:
        if exponent % 2:
            power = power * square // FINE
        square, exponent = square * square // FINE, exponent // 2
    return Fraction(power, FINE)


def second_odds(first: tuple[int, int], eps_first: Number, keys: int, *, half: bool = False) -> tuple[int, int]:
    r"""Give the odds of a second round that leaves a single report at most `eps_first`, as much of it as can be.

    The chain of two randomized responses is at most at odds R : 1 if

    .. math:: \frac{a_2}{b_2} \le \frac{R\,(a_1 + (K-2)\,b_1) - (K-1)\,b_1}{a_1 - R\,b_1}.

    With `half`, R is the root of :math:`e^{\varepsilon_1}`: two bits will tell of an answer, each as much.

    >>> a, b = second_odds((3, 1), "0.5108256", 2)  # two answers; ln(5/3) = 0.51082562...
    >>> round(a / b, 6)
    3.0
    """
    asked = epsilon_asked("eps_first", eps_first)
    both, (a, b) = exponential_not_above(asked / 2 if half else asked), first
    if both * b >= a:
        raise ValueError(
            "eps_first must be below eps_infinity, because the second round only adds noise to the first, but got "
            f"{eps_first}; without a second round, a design that is not memoized will do"
        )
    ratio = (both * (a + (keys - 2) * b) - (keys - 1) * b) / (a - both * b)
    c, d = odds_not_above(ratio, lambda a, b: a + (keys - 1) * b)
    if c <= d or c + (keys - 1) * d >= TOTAL_LIMIT:
        raise ValueError(
            f"eps_first must leave the second round odds that can be drawn from 64 bits for {keys:,} keys, but got "
            f"{eps_first}, which is too {'small' if c <= d else 'near to eps_infinity'}"
        )
    return lowest_terms(c, d)
