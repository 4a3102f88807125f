r"""Memoization: a permanent round, drawn once per key and kept, and a second round, drawn at every report.

Averages of reports that are randomized anew each time reveal the answer. With two rounds every report starts from the
same permanent response, and all reports together reveal no more than that response does [1]_. The first round sees a
*key*: the answer, its hash, or its position among the covered answers.

**Answers** (L-GRR). For randomized response among K keys, at odds :math:`a_1 : b_1` and then :math:`a_2 : b_2`, the
most informative reports are :math:`\tau` equal ones. They are one report at odds :math:`a_2^\tau : b_2^\tau`, so that,
with :math:`r = (b_2/a_2)^\tau`,

.. math:: \varepsilon_\tau = \ln\frac{a_1 + (K-1)\,b_1 r}{b_1 + (a_1 + (K-2)\,b_1)\,r}
          \;\to\; \varepsilon_\infty = \ln\frac{a_1}{b_1}.

A worked number: two answers at odds 3 : 1 and again 3 : 1. One report has r = 1/3 and odds 3 + 1/3 : 1 + 3/3 = 5 : 3,
two equal ones have r = 1/9 and 28 : 12 = 7 : 3, and all reports together 3 : 1.

**Hash values** (LOLOHA). A hash function is drawn once, and its g values are the keys of randomized response [2]_.

**Bits** (RAPPOR). A unary encoding with probabilities :math:`p_1, q_1`, whose bits are drawn again with :math:`p_2`
where they are 1 and with :math:`q_2` where they are 0, reveals most by :math:`\tau` ones for one answer and
:math:`\tau` zeros for another. With :math:`r = (q_2/p_2)^\tau` and :math:`s = ((1-p_2)/(1-q_2))^\tau`,

.. math:: \varepsilon_\tau = \ln\frac{p_1 + (1-p_1)\,r}{q_1 + (1-q_1)\,r} \cdot
                              \frac{1-q_1 + q_1 s}{1-p_1 + p_1 s}
          \;\to\; \varepsilon_\infty = \ln\frac{p_1 (1-q_1)}{q_1 (1-p_1)}.

Basic RAPPOR has the parameters f, p and q: :math:`p_1 = 1 - f/2`, :math:`q_1 = f/2`, :math:`p_2 = q` and
:math:`q_2 = p`. L-SUE has the same two rounds, made from their epsilons, and L-OSUE an optimal first round [3]_.

A worked number: f = 1/2, p = 1/2, q = 3/4. One report is a unary encoding with p = 3/4 * 3/4 + 1/4 * 1/2 = 11/16 and
q = 1/4 * 3/4 + 3/4 * 1/2 = 9/16; any number of them together have odds of at most (3/4 * 3/4) : (1/4 * 1/4) = 9 : 1.

**Bit flips** (dBitFlipPM). The d covered answers of a person are drawn once [4]_. The key is the covered answer that is
true, or that none is: d + 1 keys (K, if all answers are covered). For each key the d bits are drawn once, each right
with odds s : t. dBitFlipPM sends these bits at every report, so that all reports of an unchanged answer are equal, and
spend :math:`\varepsilon_\infty = 2 \ln(s/t)` together (:math:`\ln(s/t)` if d = 1). **Every change of the key shows at
once**, unless all d bits happen to be the same. A second round, in which each bit is flipped again at odds c : e, hides
that for a while: with :math:`r = (e/c)^\tau`, :math:`\tau` reports of an unchanged answer spend

.. math:: \varepsilon_\tau = 2 \ln\frac{s + t r}{t + s r}

together; half of it if d = 1. Without a second round e and r are 0.

A worked number: 2 of 4 answers, bits at odds 3 : 1 and again 3 : 1. Bits of one report have odds 3 * 3 + 1 : 3 + 3, or
5 : 3, so that it spends 2 ln(5/3) = 1.022; two reports spend 2 ln(7/3) = 1.695, any number of them 2 ln 3 = 2.198.

**Histories.** A person who returns to an earlier answer reports again from its permanent response. Let a history have
the keys :math:`x_1, \ldots, x_n`, m different ones, and let C be the classes of times with the same key. Permanent
responses are independent, and given them so are reports, so that reports :math:`y_1, \ldots, y_n` have the probability

.. math:: \prod_{c \in C} \sum_r P_1(r \mid x_c) \prod_{t \in c} P_2(y_t \mid r),

in which the keys appear in :math:`P_1(r \mid x_c)` alone. A history with the **same pattern of equal and different
keys** has the same classes C. Each of its sums is at most :math:`e^{\varepsilon_\infty}` times the other's, because
each term is; where both have the same key they are equal. Hence the reports distinguish two such histories by at most
:math:`\varepsilon_\infty` for each class whose keys differ, and by :math:`m\,\varepsilon_\infty` in all.

Histories with other classes have no such bound, even if their changes coincide in time. ABABAB returns to A and B at
other times than ABCABC, and as the noise of the second round averages out, reports show which responses recur. There
each report adds up to the epsilon of the second round. Under hashing, the classes are those of the hash values: A and B
may share one that C does not have, so that the *answers* ABAB and ACAC have the same pattern and their hashes do not.

References
----------
.. [1] Ú. Erlingsson, V. Pihur, A. Korolova, "RAPPOR: randomized aggregatable privacy-preserving ordinal response", ACM
   CCS 2014, 1054-1067.
.. [2] H. H. Arcolezi, C. Pinzón, C. Palamidessi, S. Gambs, "Frequency estimation of evolving data under local
   differential privacy", EDBT 2023, 512-525.
.. [3] H. H. Arcolezi, J.-F. Couchot, B. Al Bouna, X. Xiao, "Improving the utility of locally differentially private
   protocols for longitudinal and multidimensional frequency estimates", Digital Communications and Networks 10 (2024),
   369-379.
.. [4] B. Ding, J. Kulkarni, S. Yekhanin, "Collecting telemetry data privately", Advances in Neural Information
   Processing Systems 30 (2017), 3571-3580.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from warner.designs.draws import Compared, RandomBytes, bernoulli, in_batches, uniform
from warner.designs.exact import (
    TOTAL_LIMIT,
    Number,
    epsilon_asked,
    exponential_not_above,
    lowest_terms,
    odds_not_above,
    probability,
)
from warner.designs.report_forms import BitForm, Form, LabelForm
from warner.designs.response import RandomizedResponse
from warner.designs.unary import BITS_AT_ONCE, UnaryEncoding

if TYPE_CHECKING:
    from warner.arrays import Counts, Integers, Label
    from warner.designs.bit_flips import BitFlips
    from warner.designs.contract import Design
    from warner.designs.hashing import LocalHashing
    from warner.designs.labels import Labels


# Rounds

EXACT_POWER_BITS = 2**14  # binary digits of a power that is still written out
POWER_DENOMINATOR = 2**512  # beyond, powers are multiples of one part in so many


class Rounds(ABC):
    """Two rounds: an answer becomes a key, a key a permanent response, and that a report."""

    first: Any  # the design of the permanent response
    second: Any  # what that goes through in every report
    key: ClassVar[str] = "answer"  # what a key is, in words

    @cached_property
    def once(self) -> Design:
        """Design of a single round of reports: the chain of both."""
        chain: Design = self.first.then(self.second)
        return chain

    @property
    def keys_in_words(self) -> str:
        return f"{self.key}s"

    @property
    def neighboring_histories(self) -> str:
        """Neighboring relation: the histories whose reports differ by at most epsilon for each key."""
        return f"any other history with the same pattern of equal and different {self.keys_in_words}"

    @property
    def functions(self) -> int:
        """Number of hash functions, of which each respondent has one permanently."""
        return 1

    @property
    def keys(self) -> int:
        """Number of keys, each of which has a permanent response."""
        return int(self.first.k)

    @property
    @abstractmethod
    def draws(self) -> tuple[int, ...]:
        """Limits of the uniform whole numbers that decide a respondent's first report."""

    @property
    @abstractmethod
    def form(self) -> Form:
        """Representation of a permanent response in a file."""

    def hashes(self, size: int, random_bytes: RandomBytes) -> Integers:
        """Draw the hash function of each of `size` respondents."""
        return np.zeros(size, dtype=np.int64)

    def keyed(self, answers: Integers, hashes: Integers) -> Integers:
        """Return the key of each answer under its respondent's hash function."""
        return answers

    def written_hash(self, hashes: Counts) -> Label:
        """Return the hash function of one respondent as a label, for a file."""
        return int(hashes[0])

    def read_hash(self, number: object, size: int) -> Counts | None:
        """Read a hash function from a file, repeated `size` times; None if it is invalid."""
        known = type(number) is int and 0 <= number < self.functions
        return np.full(size, number) if known else None

    def permanent(self, keys: Integers, random_bytes: RandomBytes) -> Counts:
        """Draw the permanent response to each key."""
        drawn: Counts = self.first.draw(keys, random_bytes)
        return drawn

    @abstractmethod
    def again(self, responses: Counts, hashes: Integers, random_bytes: RandomBytes) -> Counts:
        """Draw a report from each permanent response; it includes the hash function if there are several."""

    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Counts:
        """Draw the first report of each of these respondents, both rounds anew."""
        hashes = self.hashes(answers.size, random_bytes)
        responses = self.permanent(self.keyed(answers, hashes), random_bytes)
        return self.again(responses, hashes, random_bytes)

    @abstractmethod
    def odds_after(self, reports: int) -> tuple[int, int]:
        """Return the largest likelihood ratio of this number of reports between two keys, in lowest terms."""

    @abstractmethod
    def happens(self) -> str:
        """Describe the two rounds, with their probabilities."""

    @abstractmethod
    def changes(self) -> str:
        """Describe how well the pattern of equal and different keys is hidden."""


@dataclass(frozen=True)
class AnswerRounds(Rounds):
    """Randomized response with two rounds: the key is the answer."""

    first: Any
    second: RandomizedResponse

    @property
    def response(self) -> RandomizedResponse:
        """Randomized response of a key that gives the permanent response."""
        response: RandomizedResponse = self.first
        return response

    @property
    def draws(self) -> tuple[int, ...]:
        return self.response.draws + self.second.draws

    @property
    def form(self) -> LabelForm:
        return LabelForm(range(self.keys))

    def again(self, responses: Counts, hashes: Integers, random_bytes: RandomBytes) -> Counts:
        return self.second.draw(responses, random_bytes)

    def odds_after(self, reports: int) -> tuple[int, int]:
        (a, b), k = self.response.odds, self.keys
        r = power_not_above(Fraction(self.second.odds[1], self.second.odds[0]), reports)
        return lowest_terms(a + (k - 1) * b * r, b + (a + (k - 2) * b) * r)

    def happens(self) -> str:
        return (
            "when a respondent first has an answer, a permanent response to it is drawn and kept: with probability "
            f"{self.first.p:.4g} the answer itself, and each other one with {self.first.q:.4g}. Every report "
            f"names the permanent response with probability {self.second.p:.4g}, and each other answer "
            f"with {self.second.q:.4g}."
        )

    def changes(self) -> str:
        return (
            "Only the noise of the second round hides a change, and it wears off: each report reveals up to epsilon "
            f"{self.second.shown_epsilon()}."
        )


@dataclass(frozen=True)
class HashRounds(AnswerRounds):
    """A permanent hash function, and randomized response with two rounds on its values: the key is the hash."""

    first: LocalHashing

    key = "hash value"

    @cached_property
    def response(self) -> RandomizedResponse:
        return RandomizedResponse(self.first.field, odds=self.first.odds)

    @cached_property
    def once(self) -> Design:
        """Local hashing with the same functions."""
        chain = self.response.then(self.second)
        assert isinstance(chain, RandomizedResponse)
        return self.first._at_odds(*chain.odds)

    @property
    def keys(self) -> int:
        return self.first.field

    @property
    def functions(self) -> int:
        return self.first.blocks.with_one

    @property
    def draws(self) -> tuple[int, ...]:
        return (self.functions, *super().draws)

    def hashes(self, size: int, random_bytes: RandomBytes) -> Integers:
        return uniform(size, self.functions, random_bytes).astype(np.int64)

    def keyed(self, answers: Integers, hashes: Integers) -> Integers:
        return self.first._block_with(answers, hashes) % self.first.field

    def permanent(self, keys: Integers, random_bytes: RandomBytes) -> Counts:
        return self.response.draw(keys, random_bytes)

    def again(self, responses: Counts, hashes: Integers, random_bytes: RandomBytes) -> Counts:
        return hashes * self.first.field + super().again(responses, hashes, random_bytes)

    def happens(self) -> str:
        first, second = self.response, self.second
        return (
            f"each respondent has one of {self.functions:,} hash functions permanently, which maps each answer to one "
            f"of {self.keys:,} values. When a value first occurs, a permanent response to it is drawn and kept: "
            f"with probability {first.p:.4g} the value itself, and each other one with {first.q:.4g}. Every report "
            f"contains the function, and names the permanent response with probability {second.p:.4g}, and each other "
            f"value with {second.q:.4g}."
        )

    def changes(self) -> str:
        return (
            f"{super().changes()} Which answers share a hash value depends on the respondent's function: a change "
            "between two of them does not show, so even histories with the same pattern of answers are "
            "distinguishable. The function links all reports of a respondent."
        )


def power_not_above(ratio: Fraction, exponent: int) -> Fraction:
    """Return a power of a ratio below 1: exactly while it is short, otherwise rounded down."""
    if exponent * ratio.denominator.bit_length() <= EXACT_POWER_BITS:
        return ratio**exponent
    power, square = POWER_DENOMINATOR, ratio.numerator * POWER_DENOMINATOR // ratio.denominator
    while exponent:
        if exponent % 2:
            power = power * square // POWER_DENOMINATOR
        square, exponent = square * square // POWER_DENOMINATOR, exponent // 2
    return Fraction(power, POWER_DENOMINATOR)


def second_odds(first: tuple[int, int], eps_first: Number, keys: int, *, half: bool = False) -> tuple[int, int]:
    r"""Return the largest odds of a second round with which a single report spends at most `eps_first`.

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


# Rappor


def basic_rappor(domain: Labels, f: Number, p: Number, q: Number) -> tuple[UnaryEncoding, UnaryEncoding]:
    """Return the two rounds of basic RAPPOR from the parameters of its paper."""
    rate, zero, one = probability("f", f), probability("p", p), probability("q", q)
    if not 0 < rate < 1:
        raise ValueError(
            f"f must be above 0, so that there is noise, and below 1, so that reports carry information, but got {f}"
        )
    if not 0 < zero < one:
        raise ValueError(f"p and q must have 0 < p < q, as in RAPPOR's paper, but got {p} and {q}")
    return UnaryEncoding(domain, p=1 - rate / 2, q=rate / 2), UnaryEncoding(domain, p=one, q=zero)


@dataclass(frozen=True)
class BitRounds(Rounds):
    """Unary encoding whose bits are drawn again: the key is the answer."""

    first: UnaryEncoding
    second: UnaryEncoding

    @property
    def draws(self) -> tuple[int, ...]:
        again = [Compared(rate.denominator) for rate in (self.second.one, self.second.zero) for _ in range(self.keys)]
        return (*self.first.draws, *again)

    @property
    def form(self) -> BitForm:
        return self.first.report_form

    def again(self, responses: Counts, hashes: Integers, random_bytes: RandomBytes) -> Counts:
        reports, rates = np.empty_like(responses), (self.second.one, self.second.zero)
        step = max(1, BITS_AT_ONCE // self.keys)
        for start in range(0, len(responses), step):
            part = slice(start, start + step)
            bits = np.unpackbits(responses[part], axis=1, count=self.keys).astype(bool)
            ones, zeros = (bernoulli(bits.size, rate.numerator, rate.denominator, random_bytes) for rate in rates)
            reports[part] = np.packbits(np.where(bits, ones.reshape(bits.shape), zeros.reshape(bits.shape)), axis=1)
        return reports

    def odds_after(self, reports: int) -> tuple[int, int]:
        (p, q), (c, d) = ((stage.one, stage.zero) for stage in (self.first, self.second))
        r, s = power_not_above(d / c, reports), power_not_above((1 - c) / (1 - d), reports)
        ones, zeros = (p + (1 - p) * r) / (q + (1 - q) * r), (1 - q + q * s) / (1 - p + p * s)
        return lowest_terms(ones * zeros, 1)

    def happens(self) -> str:
        return (
            "when a respondent first has an answer, a permanent response to it is drawn and kept: a bit for each "
            f"answer, which is 1 with probability {self.first.p:.4g} for that answer and with {self.first.q:.4g} "
            f"for each other one. Every report draws each bit again: it is 1 with probability {self.second.p:.4g} "
            f"where the permanent bit is 1, and with {self.second.q:.4g} where it is 0."
        )

    def changes(self) -> str:
        p, q, k = self.first.p, self.first.q, self.keys
        differ = 2 * (p * (1 - q) + q * (1 - p)) + (k - 2) * 2 * q * (1 - q)
        return (
            f"The permanent responses to two answers differ in about {differ:,.3g} of {k:,} bits, and the noise of the "
            "second round cannot hide so many for long: a few reports show the change. The bits link the reports of a "
            "respondent."
        )


# Dbitflip


@dataclass(frozen=True)
class FlipRounds(Rounds):
    """Permanent covered answers, and bits for them that are drawn again: the key is the covered true answer."""

    first: BitFlips
    second: RandomizedResponse

    key = "answer asked about"

    @property
    def keys_in_words(self) -> str:
        return "answers asked about" + (", all others being one" if self.keys > self.first.size else "")

    @cached_property
    def once(self) -> Design:
        """Bit flips at the odds of both rounds."""
        (s, t), (c, e) = self.first.odds, self.second.odds
        return self.first._at_odds(*lowest_terms(Fraction(s * c + t * e), Fraction(s * e + t * c)))

    @property
    def keys(self) -> int:
        return self.first.size + (self.first.size < self.first.k)

    @property
    def draws(self) -> tuple[int, ...]:
        return (*self.first.draws, *[Compared(sum(self.second.odds))] * self.first.size)

    @property
    def form(self) -> BitForm:
        return BitForm(self.first.size)

    def hashes(self, size: int, random_bytes: RandomBytes) -> Counts:
        return self.first._draw_covered(size, random_bytes)

    def written_hash(self, hashes: Counts) -> Label:
        return str(hashes[0].tobytes().hex())

    def read_hash(self, text: object, size: int) -> Counts | None:
        read = BitForm(self.first.k, self.first.size).read([text])
        return None if read.status.any() else np.repeat(read.reports, size, axis=0)

    def keyed(self, answers: Integers, hashes: Counts) -> Integers:
        """Index of each answer among its respondent's covered answers; their number if it is not covered."""
        found = self.first._covered_positions(hashes) == answers[:, np.newaxis]
        return np.where(found.any(axis=1), found.argmax(axis=1), self.first.size)

    def permanent(self, keys: Integers, random_bytes: RandomBytes) -> Counts:
        bits = self.first._draw_bits(keys[:, np.newaxis] == np.arange(self.first.size), random_bytes)
        return np.packbits(bits, axis=1)

    def again(self, responses: Counts, hashes: Counts, random_bytes: RandomBytes) -> Counts:
        bits = np.unpackbits(responses, axis=1, count=self.first.size).astype(bool)
        c, e = self.second.odds
        turned = bernoulli(bits.size, e, c + e, random_bytes).reshape(bits.shape)
        return self.first._packed(hashes, bits ^ turned)

    @in_batches(lambda rounds: max(1, BITS_AT_ONCE // rounds.first.k))
    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Counts:
        return super().draw(answers, random_bytes)

    def odds_after(self, reports: int) -> tuple[int, int]:
        (s, t), (c, e) = self.first.odds, self.second.odds
        r = power_not_above(Fraction(e, c), reports)
        ratio = (s + t * r) / (t + s * r)
        return lowest_terms(ratio if self.first.size == 1 else ratio**2, Fraction(1))

    def happens(self) -> str:
        size, k = self.first.size, self.first.k
        which = "all" if size == k else f"{size:,}"
        again = (
            "Every report contains the permanent bits unchanged."
            if not self.second.odds[1]
            else f"Every report flips each permanent bit again with probability {self.second.q:.4g}."
        )
        return (
            f"{which} of the {k:,} answers are drawn permanently for each respondent. When one of these, or any other "
            "answer, is first true, a permanent bit for each of them is drawn and kept: 1 for the true answer and 0 "
            f"for any other, flipped with probability {self.first.q:.4g}. {again}"
        )

    def changes(self) -> str:
        p, q, size = self.first.p, self.first.q, self.first.size
        apart = 1 if self.keys > size else 2  # bits whose law changes at least: to an answer that is not asked about
        same = (2 * p * q) ** apart * (p * p + q * q) ** (size - apart)
        link = "The answers that are asked about link the reports of a respondent."
        if not self.second.odds[1]:
            return (
                "There is no second round to hide a change: it shows at once if it is from or to an answer that is "
                f"asked about, but for at most {100 * same:.2g} % of changes, after which all bits are the same. {link}"
            )
        return (
            "Only the noise of the second round hides a change, and it wears off: each report reveals up to epsilon "
            f"{self.second.shown_epsilon()} for each bit that differs. {link}"
        )
