r"""Local hashing: report a random hash function, and the hash of the answer under randomized response [1]_.

Here the functions are linear. Answers are the vectors x of :math:`F_g^t`, digits in base g, for a prime g; a function
is :math:`h(x) = \langle d, x\rangle \bmod g` for a direction d, one of the :math:`D = (g^t-1)/(g-1)` points of
PG(t-1, g). Function and value s together are one whole number, d g + s, which stands for the answers with that hash: a
hyperplane. Of the R = g D possible reports r = D hold a given answer, :math:`r_2 = (g^{t-1}-1)/(g-1)` two given ones,
and p and q follow (`block_designs`). The functions of the literature (seeds of any hash) have about the same p and q;
but their reports are long, hardly two are the same, and each must be compared with every answer. Linear ones are
counted in O(V log V) for V = g^t, by Fourier transforms (`transforms`). With t = 1 it is randomized response.

A worked number: g = 3 and t = 2, for nine answers, at odds 3 : 1. There are D = 4 directions; M = 4 (3 + 2) = 20,
p = 4 * 3 / 20 = 3/5 and q = (1 * 4 + 2 * 1) / 20 = 3/10.

The draw: a uniform whole number u below D (a + (g-1) b) gives the direction, u // (a + (g-1) b), and with what is left
v: if v < a the true hash is reported, else the one with number (v - a) // b among the others.

`LocalHashing.affine` is the form with seeds, for those who must have it: see `affine`.

References
----------
.. [1] T. Wang, J. Blocki, N. Li, S. Jha, "Locally differentially private protocols for frequency estimation", Proc.
   26th USENIX Security Symp. (2017), 729-745.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from warner.designs.draws import REPORTS_AT_ONCE, uniform
from warner.designs.facts import Ancillary
from warner.designs.structured.affine import AffineHashing
from warner.designs.structured.geometry import (
    VECTORS_ONE_BY_ONE,
    canonical_number,
    digits,
    few_digits,
    inner_product,
    remainder,
    size,
    vectors,
)
from warner.designs.structured.prime_field import PrimeFieldDesign
from warner.designs.structured.transforms import hyperplane_sums, sums_of_hyperplanes
from warner.words import counted

if TYPE_CHECKING:
    from warner.arrays import Counts, Integers, Mask
    from warner.designs.contract import Design
    from warner.designs.draws import RandomBytes
    from warner.designs.exact import Number, Odds
    from warner.designs.labels import Domain, Labels
    from warner.documents import Document


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
    optional_fields = frozenset({"field", "dimension", "prime", "values"})
    fixed_fields: ClassVar = {"hash": "linear"}
    least_dimension = 1

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

        It is for those who must collect what other programs collect: reports take three times the bits, and counting
        them takes K steps for each.

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
        """Give linear functions, and affine ones to compare."""
        return {
            f"{cls.mechanism} (linear)": cls(domain, epsilon=epsilon),
            f"{cls.mechanism} (affine)": cls.affine(domain, epsilon=epsilon),
        }

    @classmethod
    def _counts(cls, field: Any, dimension: Any) -> tuple[Any, Any, Any, Any]:
        directions = size(field, dimension)
        return field**dimension, field * directions, directions, size(field, dimension - 1)

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        """Give linear functions with two values and with more, and randomized response, and affine functions."""
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
        directions, values = reports // self.field, reports % self.field
        hashes = np.zeros((len(reports), self.k), dtype=np.int64)
        factors = vectors(directions, self.field, self.dimension)
        for factor, digit in zip(factors, digits(np.arange(self.k), self.field, self.dimension), strict=True):
            hashes = remainder(hashes + factor[:, np.newaxis] * digit, self.field)
        return np.asarray(hashes == values[:, np.newaxis])

    def sums_within(self, weights: Counts) -> Counts:
        """Sum over the answers with each hash."""
        return hyperplane_sums(weights, self.field, self.dimension)

    def sums_around(self, weights: Counts) -> Counts:
        """Sum over the functions, at the hash of each answer."""
        return sums_of_hyperplanes(weights, self.field, self.dimension)

    def block_with(self, answers: Integers, numbers: Integers) -> Integers:
        """Give this function, with the hash of the answer."""
        return numbers * self.field + self._hashed(answers, numbers)

    def _hashed(self, answers: Integers, directions: Integers) -> Integers:
        if answers.size <= VECTORS_ONE_BY_ONE:
            pairs = zip(answers.tolist(), directions.tolist(), strict=True)
            return np.array([self._hash(answer, direction) for answer, direction in pairs], dtype=np.int64)
        hashes = np.zeros_like(answers)
        factors = vectors(directions, self.field, self.dimension)
        for factor, digit in zip(factors, digits(answers, self.field, self.dimension), strict=True):
            hashes = remainder(hashes + factor * digit, self.field)
        return hashes

    def _hash(self, answer: int, direction: int) -> int:
        field, dimension = self.field, self.dimension
        factors = few_digits(canonical_number(direction, field), field, dimension)
        return inner_product(factors, few_digits(answer, field, dimension), field)

    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Integers:
        """Draw one function and one hash for each answer: one whole number below D (a + (g-1) b) decides."""
        (a, b), field, total = self.odds, self.field, self.draws[0]
        reports = np.empty_like(answers)
        for start in range(0, answers.size, REPORTS_AT_ONCE):
            truth = answers[start : start + REPORTS_AT_ONCE]
            drawn = uniform(truth.size, total, random_bytes)
            drawn = drawn if drawn.dtype == object else drawn.astype(np.int64)  # chains may need wider numbers
            quotient = drawn // (a + (field - 1) * b)
            drawn = drawn - quotient * (a + (field - 1) * b)
            directions: Integers = quotient.astype(np.int64)
            hashes = self._hashed(truth, directions)
            lies: Integers = (np.maximum(drawn - a, 0) // max(b, 1)).astype(np.int64)
            lies += lies >= hashes  # in their order, skipping the true one
            honest = (drawn < a).astype(bool, copy=False)
            reports[start : start + REPORTS_AT_ONCE] = directions * field + np.where(honest, hashes, lies)
        return reports

    def ancillary(self) -> Ancillary | None:
        """Give the functions, which are drawn uniformly whatever the answer is."""
        if self.exclusive or self.dimension == 1:
            return None
        functions = self.blocks.with_one
        classes = np.arange(self.blocks.number) // self.field
        return Ancillary("hash functions", classes, np.full(functions, 1 / functions), ordered=False)

    def at_odds(self, a: int, b: int) -> LocalHashing:
        """Give the same functions with other odds, which may be too large for one 64-bit draw, as those of a chain."""
        made = type(self).__new__(type(self))
        made._set(domain=self.domain, odds=(a, b), field=self.field, dimension=self.dimension)
        return made

    @classmethod
    def from_fields(cls, fields: Document) -> Any:
        """Read domain, odds, and what the kind of hash needs."""
        needed = {"linear": {"field", "dimension"}, "affine": {"prime", "values"}}
        kind = fields["hash"]
        if not isinstance(kind, str) or kind not in needed:
            raise ValueError('this design is damaged: hash must be "linear" or "affine"')
        given = fields.keys() & cls.optional_fields
        if given != needed[kind]:
            raise ValueError(
                f'this design is damaged: with hash "{kind}" it must have {" and ".join(sorted(needed[kind]))}, but '
                f"has {' and '.join(sorted(given)) or 'none of them'}"
            )
        return super().from_fields(fields) if kind == "linear" else AffineHashing.from_fields(fields)

    def _space(self) -> str:
        digits = counted(self.dimension, "digit", "digits")
        return f"of {digits} to {self.field} values"

    def _stands_for(self) -> str:
        size = self.k / self.field
        return (
            f"one of {self.blocks.with_one:,} hash functions and one of its {self.field:,} values, and so for the set "
            f"of the {'' if self.supported else 'about '}{size:,.4g} answers with that hash"
        )
