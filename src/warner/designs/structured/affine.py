r"""Local hashing by affine functions modulo a prime: the form with a seed in every report.

A report is :math:`(\alpha, \beta, s)`: a function :math:`h(x) = ((\alpha x + \beta) \bmod P) \bmod g` for a prime
P >= K, with :math:`\alpha` from 1 to P - 1 and :math:`\beta` from 0 to P - 1, and a hash value s that is the true one
with odds a : b against each other one. Such functions take any two answers to any two numbers modulo P equally often,
so that two answers have the same hash with one probability, whichever they are: with P = m g + rho,

.. math:: c = \frac{\rho (m+1) m + (g-\rho)\, m (m-1)}{P (P-1)} < \frac1g, \qquad
          p = \frac{a}{a + (g-1) b}, \qquad q = c\, p + (1-c) \frac{b}{a + (g-1) b}.

A worked number: P = 5 and g = 2, at odds 3 : 1. Classes of 3 and 2 numbers: c = (1 * 3 * 2 + 1 * 2 * 1) / 20 = 2/5,
p = 3/4 and q = 2/5 * 3/4 + 3/5 * 1/4 = 9/20.

The draw: three uniform whole numbers, alpha - 1 below P - 1, beta below P, and one below a + (g-1) b that decides as in
randomized response: below a the true hash, else number (v - a) // b among the others.

Nearly all reports differ, so that they are counted one by one, in K steps each; `hashing` has a form for which that is
not so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from warner.designs.draws import REPORTS_AT_ONCE, uniform
from warner.designs.facts import Symmetry
from warner.designs.odds import Budget, NumberReader, OddsDesign, refuse_even, refuse_odds
from warner.designs.report_forms import HashForm
from warner.designs.structured.block_designs import deniability
from warner.designs.structured.geometry import is_prime, next_prime

if TYPE_CHECKING:
    from warner.arrays import Counts, Integers, Mask
    from warner.designs.draws import RandomBytes
    from warner.designs.exact import Number, Odds
    from warner.designs.labels import Domain, Labels

LARGEST_PRIME = 2**32 - 5  # alpha x + beta is then an integer of 64 bits


@dataclass(frozen=True, init=False, repr=False)
class AffineHashing(OddsDesign):
    """Report a random affine hash function, and the hash of the answer under randomized response.

    Made by `LocalHashing.affine`, where its parameters are described.

    Examples
    --------
    >>> from warner import LocalHashing
    >>> survey = LocalHashing.affine(5, odds=(3, 1), values=2)
    >>> survey.p, round(survey.q, 4)
    (0.75, 0.45)
    """

    domain: Labels
    odds: tuple[int, int]
    values: int
    prime: int

    mechanism = "local hashing"
    field_names = frozenset({"domain", "odds", "hash", "prime", "values"})
    fixed_fields: ClassVar = {"hash": "affine"}
    needs = "either epsilon or odds (values and prime may be left out)"
    certain = "that every answer with another hash is not the truth"

    def __init__(
        self,
        domain: Domain,
        *,
        epsilon: Number | None = None,
        odds: Odds | None = None,
        values: Number | None = None,
        prime: Number | None = None,
    ) -> None:
        super().__init__(domain, epsilon=epsilon, odds=odds, values=values, prime=prime)

    @classmethod
    def _numbers(cls, k: int, number: NumberReader) -> dict[str, Any]:
        prime = number("prime", 3, LARGEST_PRIME)
        return {"prime": prime, "values": number("values", 2, (prime or LARGEST_PRIME) - 1, "the prime less 1")}

    @classmethod
    def _best(cls, k: int, budget: Budget, *, values: int | None = None, prime: int | None = None) -> dict[str, Any]:
        if k > LARGEST_PRIME:
            raise ValueError(f"domain must have at most {LARGEST_PRIME:,} answers to be hashed, but got {k:,}")
        # As finely as can be, to choose the number of values by.
        a, b = budget.odds_within(k, lambda a, b: a + b)
        refuse_even(a, b)
        if prime is None:
            prime = next_prime(max(k, 3, (values or 0) + 1))
        if values is None:
            near = a // b + 1 if b else prime
            values = min(_candidates(prime, near), key=lambda g: _symmetry(prime, g, a, b).alike.variance_of_absent)
        odds = budget.odds_within(k, lambda a, b: a + (values - 1) * b)
        return {"odds": odds, "values": values, "prime": prime}

    def _kept(self) -> dict[str, Any]:
        return {"prime": self.prime}

    def _check(self) -> None:
        prime = self.prime
        if not is_prime(prime):
            raise ValueError(f"prime must be a prime number, but got {prime}; the next one is {next_prime(prime)}")
        if prime < self.k:
            raise ValueError(f"prime must be at least the number of answers, {self.k:,}, but got {prime:,}")
        a, b = self.odds
        refuse_odds(a, b, a + (self.values - 1) * b)

    @cached_property
    def symmetry(self) -> Symmetry:
        return _symmetry(self.prime, self.values, *self.odds)

    @property
    def supported(self) -> None:
        """Classes of numbers with the same hash differ in size."""

    @property
    def most_supported(self) -> int:
        """The largest class: with alpha = g, it begins with neighbours."""
        return min(self.k, -(-self.prime // self.values))

    @property
    def report_form(self) -> HashForm:
        """Reports are written as alpha:beta:value."""
        return HashForm(self.prime, self.values)

    @property
    def draws(self) -> tuple[int, ...]:
        """One number for each of alpha and beta, and one for the hash."""
        a, b = self.odds
        return self.prime - 1, self.prime, a + (self.values - 1) * b

    @classmethod
    def examples(cls) -> tuple[AffineHashing, ...]:
        """Give functions with two values and with three, for as many answers as the prime and for fewer."""
        return (
            cls(5, odds=(3, 1), values=2, prime=5),
            cls(["a", "b", "c", "d", "e", "f", "g"], odds=(5, 2), values=3, prime=7),
            cls(4, odds=(2, 1), values=2, prime=7),
        )

    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Integers:
        """Draw one function and one hash for each answer: a row of three whole numbers."""
        (a, b), reports = self.odds, np.empty((answers.size, 3), dtype=np.int64)
        for start in range(0, answers.size, REPORTS_AT_ONCE):
            rows, truth = reports[start : start + REPORTS_AT_ONCE], answers[start : start + REPORTS_AT_ONCE]
            rows[:, 0] = uniform(truth.size, self.prime - 1, random_bytes) + np.uint64(1)
            rows[:, 1] = uniform(truth.size, self.prime, random_bytes)
            drawn = uniform(truth.size, a + (self.values - 1) * b, random_bytes).astype(np.int64)
            hashes = self._hashed(rows, truth)
            lies = np.maximum(drawn - a, 0) // max(b, 1)
            lies += lies >= hashes  # in their order, skipping the true one
            rows[:, 2] = np.where(drawn < a, hashes, lies)
        return reports

    def _hashed(self, reports: Integers, answers: Integers) -> Integers:
        """Hash answers, of a shape that broadcasts with (reports,), by the functions of these reports."""
        alpha, beta = reports[..., 0].astype(np.uint64), reports[..., 1].astype(np.uint64)
        number = alpha * answers.astype(np.uint64) + beta
        number -= number // np.uint64(self.prime) * np.uint64(self.prime)
        number -= number // np.uint64(self.values) * np.uint64(self.values)
        return number.astype(np.int64)

    def supports(self, reports: Counts) -> Mask:
        return np.asarray(self._hashed(reports[:, np.newaxis], np.arange(self.k)) == reports[:, [2]])

    def _opening(self) -> str:
        return f"LocalHashing to {self.values} values modulo {self.prime} among"

    def _happens(self) -> str:
        return (
            f"one of {self.prime * (self.prime - 1):,} hash functions is drawn, which takes each answer to one of "
            f"{self.values:,} values, and reported with such a value, and so with the set of the answers that have it. "
            f"With probability {self.p:.4g} the true answer is in that set, and any given other answer with "
            f"{self.q:.4g}."
        )

    def _deniable(self) -> str:
        return deniability(self, self.k / self.values, constant=False)


def _symmetry(prime: int, values: int, a: int, b: int) -> Symmetry:
    """Give the probabilities of a held and of another answer, and of pairs, at odds a : b.

    That of two answers of which neither is held depends on which three they are: it is the average over all numbers
    modulo the prime.
    """
    total = a + (values - 1) * b
    two, three = _collisions(prime, values)
    other = two * a + (1 - two) * b
    whole = total * other.denominator
    held, others = a * other.denominator, other.numerator
    divisor = math.gcd(whole, held, others)
    neither = (three * a + (two - three) * b) / total
    return Symmetry(held // divisor, others // divisor, whole // divisor, two * a / total, neither)


def _collisions(prime: int, values: int) -> tuple[Fraction, Fraction]:
    """Give the probability that two numbers have the same hash, and that three have it, on average over the third."""
    m, larger = divmod(prime, values)  # so many classes of m + 1 numbers, the others of m
    two = larger * (m + 1) * m + (values - larger) * m * (m - 1)
    three = larger * (m + 1) * m * (m - 1) + (values - larger) * m * (m - 1) * (m - 2)
    pairs = prime * (prime - 1)
    return Fraction(two, pairs), Fraction(three, pairs * (prime - 2))


def _candidates(prime: int, near: int) -> list[int]:
    """Give numbers of values near the ideal one, and those that make classes of about its size as even as can be."""
    sizes = [size for size in range(prime // near - 1, prime // near + 3) if size > 0]
    numbers = [near + step for step in (-1, 0, 1, 2)] + [prime // size + more for size in sizes for more in (0, 1)]
    return sorted({min(max(number, 2), prime - 1) for number in numbers})
