r"""Memoization: a permanent round, drawn once and kept for ever, and a second round, drawn at every report.

Somebody who is asked again and again, and randomizes afresh each time, soon gives the answer away: averages undo the
noise. With two rounds every report starts from the same permanent response, and all reports together tell no more than
that response does [1]_. The first round sees a *key*: the answer itself, or its hash. Unary encoding, whose bits are
drawn again, is in `rappor`.

**Answers** (L-GRR). For randomized response among K keys, at odds :math:`a_1 : b_1` and then :math:`a_2 : b_2`, the
most telling reports are :math:`\tau` equal ones. They are one report at odds :math:`a_2^\tau : b_2^\tau`, so that,
with :math:`r = (b_2/a_2)^\tau`,

.. math:: \varepsilon_\tau = \ln\frac{a_1 + (K-1)\,b_1 r}{b_1 + (a_1 + (K-2)\,b_1)\,r}
          \;\to\; \varepsilon_\infty = \ln\frac{a_1}{b_1}.

A worked number: two answers at odds 3 : 1 and again 3 : 1. One report has r = 1/3 and odds 3 + 1/3 : 1 + 3/3 = 5 : 3,
two equal ones have r = 1/9 and 28 : 12 = 7 : 3, and all that will ever come together 3 : 1.

**Hash values** (LOLOHA). A hash function is drawn once for ever, and its g values are the keys of randomized response
[2]_.

**Histories.** Whoever changes the answer, and comes back to it, reports again from the permanent response that it had.
Let a history have the keys :math:`x_1, \ldots, x_n`, m different ones, and let C be the classes of times with the same
key. Permanent responses are independent, and given them so are reports, so that reports :math:`y_1, \ldots, y_n` have
the probability

.. math:: \prod_{c \in C} \sum_r P_1(r \mid x_c) \prod_{t \in c} P_2(y_t \mid r),

in which the keys themselves stand in :math:`P_1(r \mid x_c)` alone. A history with the **same pattern of equal and
different keys** has the same classes C. Each of its sums is at most :math:`e^{\varepsilon_\infty}` times the other's,
because each term is; where both have the same key they are equal. Hence reports, however many, tell two such histories
apart by at most :math:`\varepsilon_\infty` for each class whose keys differ, and :math:`m\,\varepsilon_\infty` in all.

Histories with other classes have no such bound. It is not enough that they change at the same times: ABABAB comes back
to A and B at other times than ABCABC, and as the noise of the second round wears off, reports show which responses
recur. There each report adds up to the epsilon of the second round. Under hashing, the classes are those of the hash
values: A and B may share one that C does not have, so that the *answers* ABAB and ACAC have the same pattern and their
hashes do not.

References
----------
.. [1] Ú. Erlingsson, V. Pihur, A. Korolova, "RAPPOR: randomized aggregatable privacy-preserving ordinal response", ACM
   CCS 2014, 1054-1067.
.. [2] H. H. Arcolezi, C. Pinzón, C. Palamidessi, S. Gambs, "Frequency estimation of evolving data under local
   differential privacy", EDBT 2023, 512-525.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from warner.designs.draws import uniform
from warner.designs.exact import TOTAL_LIMIT, epsilon_asked, exponential_not_above, lowest_terms, odds_not_above
from warner.designs.report_forms import LabelForm
from warner.designs.response import RandomizedResponse

if TYPE_CHECKING:
    from warner.arrays import Counts, Integers, Label
    from warner.designs.contract import Design
    from warner.designs.draws import RandomBytes
    from warner.designs.exact import Number
    from warner.designs.report_forms import Form
    from warner.designs.structured.hashing import LocalHashing

EXACT_POWER_BITS = 2**14  # binary digits of a power that is still written out
POWER_DENOMINATOR = 2**512  # beyond, powers are multiples of one part in so many


class Rounds(ABC):
    """How an answer becomes a key, a key a permanent response, and that a report; and what many reports reveal."""

    first: Any  # the design of the permanent response
    second: Any  # what that goes through in every report
    key: ClassVar[str] = "answer"  # what a key is, in words

    @cached_property
    def once(self) -> Design:
        """The design of a single round of reports: the chain of both."""
        chain: Design = self.first.then(self.second)
        return chain

    @property
    def keys_in_words(self) -> str:
        """Several keys."""
        return f"{self.key}s"

    @property
    def alike(self) -> str:
        """Say which histories reports tell apart by no more than the epsilon of each key: the neighbouring relation."""
        return f"any other history with the same pattern of equal and different {self.keys_in_words}"

    @property
    def functions(self) -> int:
        """How many hash functions there are, of which each person has one for ever: one that changes nothing."""
        return 1

    @property
    def keys(self) -> int:
        """How many keys there are, each of which has a permanent response of its own: as many as answers."""
        return int(self.first.k)

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

    def written_hash(self, hashes: Counts) -> Label:
        """Write the hash function of one person, for a file."""
        return int(hashes[0])

    def read_hash(self, number: object, size: int) -> Counts | None:
        """Read a hash function from a file, so many times; None if there is no such function."""
        known = type(number) is int and 0 <= number < self.functions
        return np.full(size, number) if known else None

    def permanent(self, keys: Integers, random_bytes: RandomBytes) -> Counts:
        """Draw the permanent response to each key."""
        drawn: Counts = self.first.draw(keys, random_bytes)
        return drawn

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
        """Say how well the pattern of equal and different keys is hidden."""


@dataclass(frozen=True)
class AnswerRounds(Rounds):
    """Randomized response, twice: the key is the answer."""

    first: RandomizedResponse
    second: RandomizedResponse

    @property
    def draws(self) -> tuple[int, ...]:
        """One number for each round."""
        return self.first.draws + self.second.draws

    @property
    def form(self) -> LabelForm:
        """A permanent response is the position of an answer."""
        return LabelForm(range(self.keys))

    def again(self, responses: Counts, hashes: Integers, random_bytes: RandomBytes) -> Counts:
        return self.second.draw(responses, random_bytes)

    def odds_after(self, reports: int) -> tuple[int, int]:
        """Give the odds of so many equal reports, a1 + (K-1) b1 r : b1 + (a1 + (K-2) b1) r."""
        (a, b), k = self.first.odds, self.keys
        r = power_not_above(Fraction(self.second.odds[1], self.second.odds[0]), reports)
        return lowest_terms(a + (k - 1) * b * r, b + (a + (k - 2) * b) * r)

    def happens(self) -> str:
        return (
            "the first time that somebody gives an answer, a permanent response to it is drawn, and kept: with "
            f"probability {self.first.p:.4g} the answer itself, and each other one with {self.first.q:.4g}. Every "
            f"report then names the permanent response with probability {self.second.p:.4g}, and each other answer "
            f"with {self.second.q:.4g}."
        )

    def changes(self) -> str:
        return (
            "Only the noise of the second round hides it, and that wears off: each report shows it by up to epsilon "
            f"{self.second.shown_epsilon()}."
        )


@dataclass(frozen=True)
class HashRounds(Rounds):
    """A hash function for ever, and randomized response, twice, on its values: the key is the hash of the answer."""

    first: LocalHashing
    second: RandomizedResponse

    key = "hash value"

    @cached_property
    def values(self) -> AnswerRounds:
        """The two rounds of the hash values."""
        return AnswerRounds(RandomizedResponse(self.first.field, odds=self.first.odds), self.second)

    @cached_property
    def once(self) -> Design:
        """Local hashing with the same functions."""
        chain = self.values.once
        assert isinstance(chain, RandomizedResponse)
        return self.first.at_odds(*chain.odds)

    @property
    def keys(self) -> int:
        """One key for each hash value."""
        return self.first.field

    @property
    def functions(self) -> int:
        """As many as there are directions."""
        return self.first.blocks.with_one

    @property
    def draws(self) -> tuple[int, ...]:
        """One number for the function, and one for each round."""
        return (self.functions, *self.values.draws)

    @property
    def form(self) -> LabelForm:
        """A permanent response is a hash value."""
        return self.values.form

    def hashes(self, size: int, random_bytes: RandomBytes) -> Integers:
        """Draw a direction for each person."""
        return uniform(size, self.functions, random_bytes).astype(np.int64)

    def keyed(self, answers: Integers, hashes: Integers) -> Integers:
        return self.first.block_with(answers, hashes) % self.first.field

    def permanent(self, keys: Integers, random_bytes: RandomBytes) -> Counts:
        return self.values.permanent(keys, random_bytes)

    def again(self, responses: Counts, hashes: Integers, random_bytes: RandomBytes) -> Counts:
        """Draw a hash value from each permanent response, and tell it with the function."""
        return hashes * self.first.field + self.values.again(responses, hashes, random_bytes)

    def odds_after(self, reports: int) -> tuple[int, int]:
        """Give the odds of two answers with different hashes; equal hashes tell nothing apart."""
        return self.values.odds_after(reports)

    def happens(self) -> str:
        first, second = self.values.first, self.second
        return (
            f"each person has one of {self.functions:,} hash functions for ever, which takes each answer to one of "
            f"{self.keys:,} values. The first time that a value comes, a permanent response to it is drawn, and kept: "
            f"with probability {first.p:.4g} the value itself, and each other one with {first.q:.4g}. Every report "
            f"tells the function, and names the permanent response with probability {second.p:.4g}, and each other "
            f"value with {second.q:.4g}."
        )

    def changes(self) -> str:
        return (
            f"{self.values.changes()} Which answers share a hash value depends on the person's function: a change "
            "between two of them does not show, so that even histories with the same pattern of answers can be told "
            "apart. By the function, reports of one person can be told from those of others."
        )


def power_not_above(ratio: Fraction, exponent: int) -> Fraction:
    """Give a power of a ratio below 1: exactly while it is short, else rounded down, so that epsilon errs upwards."""
    if exponent * ratio.denominator.bit_length() <= EXACT_POWER_BITS:
        return ratio**exponent
    power, square = POWER_DENOMINATOR, ratio.numerator * POWER_DENOMINATOR // ratio.denominator
    while exponent:
        if exponent % 2:
            power = power * square // POWER_DENOMINATOR
        square, exponent = square * square // POWER_DENOMINATOR, exponent // 2
    return Fraction(power, POWER_DENOMINATOR)


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
