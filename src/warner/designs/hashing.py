r"""Local hashing: report a random hash function, and the hash of the answer under randomized response [1]_.

Here the functions are linear. Answers are the vectors x of :math:`F_g^t`, digits in base g, for a prime g; a function
is :math:`h(x) = \langle d, x\rangle \bmod g` for a direction d, one of the :math:`D = (g^t-1)/(g-1)` points of
PG(t-1, g). Function and value s together are one whole number, d g + s, which represents the answers with that hash: a
hyperplane. Of the R = g D possible reports r = D hold a given answer, :math:`r_2 = (g^{t-1}-1)/(g-1)` two given ones,
and p and q follow (`block_designs`). The functions of the literature (seeds of any hash) have about the same p and q;
but their reports are long, hardly two are the same, and each must be compared with every answer. Linear ones are
counted in O(V log V) for V = g^t, by Fourier transforms (`transforms`). With t = 1 it is randomized response.

A worked number: g = 3 and t = 2, for nine answers, at odds 3 : 1. There are D = 4 directions; M = 4 (3 + 2) = 20,
p = 4 * 3 / 20 = 3/5 and q = (1 * 4 + 2 * 1) / 20 = 3/10.

`LocalHashing.affine` is the form with seeds.

References
----------
.. [1] T. Wang, J. Blocki, N. Li, S. Jha, "Locally differentially private protocols for frequency estimation", Proc.
   26th USENIX Security Symp. (2017), 729-745.

Local hashing by affine functions modulo a prime: the form with a seed in every report.

A report is :math:`(\alpha, \beta, s)`: a function :math:`h(x) = ((\alpha x + \beta) \bmod P) \bmod g` for a prime
P >= K, with :math:`\alpha` from 1 to P - 1 and :math:`\beta` from 0 to P - 1, and a hash value s that is the true one
with odds a : b against each other one. Such functions take any two answers to any two numbers modulo P equally often,
so that two answers have the same hash with one probability, whichever they are: with P = m g + rho,

.. math:: c = \frac{\rho (m+1) m + (g-\rho)\, m (m-1)}{P (P-1)} < \frac1g, \qquad
          p = \frac{a}{a + (g-1) b}, \qquad q = c\, p + (1-c) \frac{b}{a + (g-1) b}.

A worked number: P = 5 and g = 2, at odds 3 : 1. Classes of 3 and 2 numbers: c = (1 * 3 * 2 + 1 * 2 * 1) / 20 = 2/5,
p = 3/4 and q = 2/5 * 3/4 + 3/5 * 1/4 = 9/20.

Nearly all reports differ, so that they are counted one by one, in K steps each, unlike those of linear functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from warner.designs import finite_geometry as geometry
from warner.designs.block_designs import PrimeFieldDesign, deniability
from warner.designs.draws import RandomBytes, in_batches, truth_or_lie, uniform
from warner.designs.facts import Ancillary, Symmetry
from warner.designs.report_forms import HashForm
from warner.designs.symmetric import Budget, NumberReader, OddsDesign, refuse_even, refuse_odds
from warner.text import counted

if TYPE_CHECKING:
    from warner.arrays import Counts, Integers, Mask
    from warner.designs.contract import Design
    from warner.designs.exact import Number, Odds
    from warner.designs.labels import Domain, Labels
    from warner.documents import Document


# Affine

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
    _fixed_fields: ClassVar = {"hash": "affine"}
    _needs = "either epsilon or odds (values and prime may be left out)"
    _certain = "that every answer with another hash is not the truth"
    _opening = "LocalHashing to {0.values} values modulo {0.prime} among"
    _retained_names = ("prime",)
    _support_size = None  # classes of numbers with one hash differ in size

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
            prime = geometry.next_prime(max(k, 3, (values or 0) + 1))
        if values is None:
            near = a // b + 1 if b else prime
            values = min(_candidates(prime, near), key=lambda g: _symmetry(prime, g, a, b).variance_of_absent)
        odds = budget.odds_within(k, lambda a, b: a + (values - 1) * b)
        return {"odds": odds, "values": values, "prime": prime}

    def _check(self) -> None:
        prime = self.prime
        if not geometry.is_prime(prime):
            raise ValueError(
                f"prime must be a prime number, but got {prime}; the next one is {geometry.next_prime(prime)}"
            )
        if prime < self.k:
            raise ValueError(f"prime must be at least the number of answers, {self.k:,}, but got {prime:,}")
        a, b = self.odds
        refuse_odds(a, b, a + (self.values - 1) * b)

    @cached_property
    def symmetry(self) -> Symmetry:
        """Response probabilities that all answers share."""
        return _symmetry(self.prime, self.values, *self.odds)

    @property
    def _largest_support(self) -> int:
        return min(self.k, -(-self.prime // self.values))  # with alpha = g, neighbors share a hash

    @property
    def report_form(self) -> HashForm:
        return HashForm(self.prime, self.values)

    @property
    def draws(self) -> tuple[int, ...]:
        a, b = self.odds
        return self.prime - 1, self.prime, a + (self.values - 1) * b

    @classmethod
    def examples(cls) -> tuple[AffineHashing, ...]:
        return (
            cls(5, odds=(3, 1), values=2, prime=5),
            cls(["a", "b", "c", "d", "e", "f", "g"], odds=(5, 2), values=3, prime=7),
            cls(4, odds=(2, 1), values=2, prime=7),
        )

    @in_batches()
    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Integers:
        rows = np.empty((answers.size, 3), dtype=np.int64)
        for column, below in enumerate(self.draws):
            rows[:, column] = uniform(answers.size, below, random_bytes)
        rows[:, 0] += 1
        rows[:, 2] = truth_or_lie(rows[:, 2], self._hashed(rows, answers), *self.odds)
        return rows

    def _hashed(self, reports: Integers, answers: Integers) -> Integers:
        """Return the hashes of answers, of a shape that broadcasts with (reports,), under these reports' functions."""
        alpha, beta = reports[..., 0].astype(np.uint64), reports[..., 1].astype(np.uint64)
        number = alpha * answers.astype(np.uint64) + beta
        number -= number // np.uint64(self.prime) * np.uint64(self.prime)
        number -= number // np.uint64(self.values) * np.uint64(self.values)
        return number.astype(np.int64)

    def supports(self, reports: Counts) -> Mask:
        return np.asarray(self._hashed(reports[:, np.newaxis], np.arange(self.k)) == reports[:, [2]])

    def _happens(self) -> str:
        return (
            f"one of {self.prime * (self.prime - 1):,} hash functions is drawn, which maps each answer to one of "
            f"{self.values:,} values. The report is the function with a value, and represents all answers with that "
            f"value. With probability {self.p:.4g} the true answer is in that set, and any given other answer with "
            f"{self.q:.4g}."
        )

    def _deniable(self) -> str:
        return deniability(self, self.k / self.values, constant=False)


def _symmetry(prime: int, values: int, a: int, b: int) -> Symmetry:
    """Return the response probabilities at odds a : b; those of three answers are averages over all numbers.

    That of two answers of which neither is held depends on which three they are: it is the average over all numbers
    modulo the prime.
    """
    total = a + (values - 1) * b
    two, three = _collisions(prime, values)
    other = two * a + (1 - two) * b
    neither = (three * a + (two - three) * b) / total
    return Symmetry(Fraction(a, total), other / total, both=two * a / total, neither=neither)


def _collisions(prime: int, values: int) -> tuple[Fraction, Fraction]:
    """Probability that two numbers have the same hash, and that three have it, averaged over the third."""
    m, larger = divmod(prime, values)  # classes of m + 1 numbers; the others have m
    two = larger * (m + 1) * m + (values - larger) * m * (m - 1)
    three = larger * (m + 1) * m * (m - 1) + (values - larger) * m * (m - 1) * (m - 2)
    pairs = prime * (prime - 1)
    return Fraction(two, pairs), Fraction(three, pairs * (prime - 2))


def _candidates(prime: int, near: int) -> list[int]:
    """Return numbers of hash values near the ideal one, and those whose classes are as even as possible."""
    sizes = [size for size in range(prime // near - 1, prime // near + 3) if size > 0]
    numbers = [near + step for step in (-1, 0, 1, 2)] + [prime // size + more for size in sizes for more in (0, 1)]
    return sorted({min(max(number, 2), prime - 1) for number in numbers})


# Hashing


@dataclass(frozen=True, init=False, repr=False)
class LocalHashing(PrimeFieldDesign):
    r"""Report a random linear hash function, and the hash of the answer under randomized response.

    A report is one whole number. With two hash values this is binary local hashing, with about
    :math:`e^\varepsilon + 1` of them optimal local hashing.

    Parameters
    ----------
    domain : int or sequence of str or of int
        The possible answers, all distinct, in the order of every result; or their number K.
    epsilon : number, optional
        The most that one report may reveal, in nats, from 1e-9 to 40. The design never spends more.
    odds : pair of numbers or str, optional
        Instead of epsilon: the true hash against each other one, ``(a, b)`` with a > b.
    field : int, optional
        The number g of hash values, a prime. If not given, the one with the smallest variance for rare answers, near
        :math:`e^\varepsilon + 1`.
    dimension : int, optional
        The number t of digits of an answer; if not given, the least with :math:`g^t` at least K.

    Attributes
    ----------
    domain : tuple or range
        The labels; consecutive integers are held as a range.
    odds : tuple of int
        ``(a, b)`` in lowest terms.
    field, dimension : int
        Number of hash values, and of digits of an answer.

    Examples
    --------
    >>> survey = LocalHashing(9, odds=(3, 1), field=3)
    >>> round(survey.p, 4), round(survey.q, 4)
    (0.6, 0.3)
    >>> LocalHashing(9, epsilon=1)
    <LocalHashing of 2 digits to 3 values among 9 answers (0, 1, 2, ..., 8): truth 0.5761, each other 0.303, epsilon 1>
    """

    domain: Labels
    odds: tuple[int, int]
    field: int
    dimension: int

    mechanism = "local hashing"
    field_names = frozenset({"domain", "odds", "hash"})
    _optional_fields = frozenset({"field", "dimension", "prime", "values"})
    _fixed_fields: ClassVar = {"hash": "linear"}
    _least_dimension = 1

    @classmethod
    def affine(
        cls,
        domain: Domain,
        *,
        epsilon: Number | None = None,
        odds: Odds | None = None,
        values: Number | None = None,
        prime: Number | None = None,
    ) -> AffineHashing:
        r"""Hash by :math:`((\alpha x + \beta) \bmod P) \bmod g` instead: reports are three whole numbers.

        For compatibility with other programs: reports take three times the bits, and counting takes K steps for each.

        Parameters
        ----------
        domain, epsilon, odds
            As for `LocalHashing`.
        values : int, optional
            The number g of hash values, at least 2; if not given, the one with the smallest variance for rare answers.
        prime : int, optional
            P, a prime that is at least the number of answers and above g; if not given, the smallest.
        """
        return AffineHashing(domain, epsilon=epsilon, odds=odds, values=values, prime=prime)

    @classmethod
    def variants(cls, domain: Domain, epsilon: Number, quantity: str = "shares") -> dict[str, Design]:
        """Return linear hashing and affine hashing."""
        return {
            f"{cls.mechanism} (linear)": cls(domain, epsilon=epsilon),
            f"{cls.mechanism} (affine)": cls.affine(domain, epsilon=epsilon),
        }

    @classmethod
    def _counts(cls, field: Any, dimension: Any) -> tuple[Any, Any, Any, Any]:
        directions = geometry.size(field, dimension)
        return field**dimension, field * directions, directions, geometry.size(field, dimension - 1)

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        return (
            cls(["a", "b", "c", "d", "e", "f", "g", "h", "i"], odds=(3, 1), field=3),
            cls(5, odds=(5, 2), field=3),
            cls(8, odds=(3, 1), field=2),
            cls(3, odds=(3, 1), field=3),
            cls(["yes", "no"], odds=(2, 1), field=2, dimension=2),
            cls(4, odds=(1, 0), field=2),
            *AffineHashing.examples(),
        )

    def supports(self, reports: Counts) -> Mask:
        directions, values = np.divmod(reports[:, np.newaxis], self.field)
        return np.asarray(self._hashed(np.arange(self.k), directions) == values)

    def _sums_within(self, weights: Counts) -> Counts:
        return geometry.hyperplane_sums(weights, self.field, self.dimension)

    def _sums_around(self, weights: Counts) -> Counts:
        return geometry.sums_of_hyperplanes(weights, self.field, self.dimension)

    def _block_with(self, answers: Integers, numbers: Integers) -> Integers:
        return numbers * self.field + self._hashed(answers, numbers)

    def _hashed(self, answers: Integers, directions: Integers) -> Integers:
        if answers.shape == directions.shape and answers.size <= geometry.VECTORS_ONE_BY_ONE:
            pairs = zip(answers.tolist(), directions.tolist(), strict=True)
            return np.array([self._hash(*pair) for pair in pairs], dtype=np.int64)
        factors = geometry.vectors(directions, self.field, self.dimension)
        return geometry.inner_products(factors, geometry.digits(answers, self.field, self.dimension), self.field)

    def _hash(self, answer: int, direction: int) -> int:
        field, dimension = self.field, self.dimension
        factors = geometry.few_digits(geometry.canonical_number(direction, field), field, dimension)
        return geometry.inner_product(factors, geometry.few_digits(answer, field, dimension), field)

    @in_batches()
    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Integers:
        (a, b), field = self.odds, self.field
        drawn = uniform(answers.size, self.draws[0], random_bytes)
        drawn = drawn if drawn.dtype == object else drawn.astype(np.int64)  # chains may need wider numbers
        quotient = drawn // (a + (field - 1) * b)
        directions: Integers = quotient.astype(np.int64)
        hashes = self._hashed(answers, directions)
        return directions * field + truth_or_lie(drawn - quotient * (a + (field - 1) * b), hashes, a, b)

    def _at_odds(self, a: int, b: int) -> LocalHashing:
        """Return the same functions at other odds, which may need more than one 64-bit draw, as in a chain."""
        made = type(self).__new__(type(self))
        made._set(domain=self.domain, odds=(a, b), field=self.field, dimension=self.dimension)
        return made

    @classmethod
    def from_fields(cls, fields: Document) -> Any:
        needed = {"linear": {"field", "dimension"}, "affine": {"prime", "values"}}
        kind = fields["hash"]
        if not isinstance(kind, str) or kind not in needed:
            raise ValueError('this design is damaged: hash must be "linear" or "affine"')
        given = fields.keys() & cls._optional_fields
        if given != needed[kind]:
            raise ValueError(
                f'this design is damaged: with hash "{kind}" it must have {" and ".join(sorted(needed[kind]))}, but '
                f"has {' and '.join(sorted(given)) or 'none of them'}"
            )
        return super().from_fields(fields) if kind == "linear" else AffineHashing.from_fields(fields)

    def _ancillary(self) -> Ancillary | None:
        """Return the hash functions, which are uniform after every answer."""
        if self.dimension == 1:
            return None
        functions = self.blocks.with_one
        classes = np.arange(self.blocks.number) // self.field
        return Ancillary("hash functions", classes, np.full(functions, 1 / functions), ordered=False)

    @property
    def _opening(self) -> str:  # type: ignore[override]
        return f"LocalHashing of {counted(self.dimension, 'digit', 'digits')} to {{0.field}} values among"

    def _represents(self) -> str:
        size = self.k / self.field
        return (
            f"one of {self.blocks.with_one:,} hash functions and one of its {self.field:,} values, and so the set "
            f"of the {'' if self._support_size else 'about '}{size:,.4g} answers with that hash"
        )
