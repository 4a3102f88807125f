r"""Open domains: report a random linear hash of the beginning of a text or a number, without a list of answers.

A value is a row of blocks (`values`); block l is written in :math:`\tau_l` digits in base g, for a prime g, and
:math:`t_l = \tau_1 + \cdots + \tau_l`. Each person draws a level l, with probability :math:`w_l / W`, and a direction d
of :math:`t_l` digits, uniformly; both do not depend on the value x. The report is (l, d, s), where s is the hash
:math:`h = \langle d, x_1 \ldots x_l\rangle \bmod g` under randomized response with odds a : b. With
:math:`M = a + (g-1) b`,

.. math:: P(l, d, s \mid x) = \frac{w_l}{W}\, g^{-t_l} \cdot \Bigl(\frac{a}{M} \text{ if } s = h, \text{ else }
    \frac{b}{M}\Bigr),

so that the report is :math:`\ln(a/b)`-locally private, exactly: at the last level any two values have different hashes
for some d.

**The law of the counts.** A report of level l *supports* a prefix u of l blocks if :math:`\langle d, u\rangle = s`:
the sender's own prefix with probability p = a/M, any other with probability q = 1/g, whatever the sender holds (proof:
docs/theory/model.md). So the number of reports of level l that support u is exactly :math:`\text{Bin}(n_l, q +
(p-q)\theta)` for a share :math:`\theta` of holders in the population. With the seeds of a general-purpose hash
function, as in the literature on prefix trees [1]_, that holds only as far as the hash is random.

A worked number: g = 3 at odds 3 : 1 has p = 3/5 and q = 1/3; a share of 1/10 shows in a count with probability
1/3 + (4/15)/10 = 0.36.

**Which prime.** Of all primes whose variance :math:`q(1-q)/(p-q)^2` is at most 5 % above the least, the one whose
Fourier transforms, of :math:`g^\tau` points, are the shortest: 16 bits at epsilon 4 take 41^3 = 68,921 points, and not
53^3 = 148,877.

References
----------
.. [1] T. Wang, N. Li, S. Jha, "Locally differentially private heavy hitter identification", IEEE Trans. Dependable
   Secure Comput. 18 (2021), 982-993.

In a column a report is level:direction:value.

The direction is a row of digits in base g, those of as many blocks as the level says. In memory it is one whole number
for each block; in a column, one for all of them, the first digits most significant, in hexadecimal. All reports of one
level have the same length, so that a report's length reveals its level and nothing else.

The weights of the levels: the best division of the respondents among the levels of a search has :math:`n_l \propto
(z_l + y_l)^2` (docs/theory/model.md, "Plan"), and the sum K of these is least, for a given probability :math:`\prod
\Phi(y_l)`, where :math:`(z_l + y_l) \Phi(y_l) / \varphi(y_l)` is the same at all levels (Lagrange). That depends on
neither n nor epsilon: the weights belong to the design.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, count
from operator import mul
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np

from warner.designs.contract import WITHOUT_LIST, Device, revealed
from warner.designs.draws import RandomBytes, in_batches, truth_or_lie, uniform
from warner.designs.exact import TOTAL_LIMIT, Number, Odds, is_decimal, odds_as_given, odds_from_json, whole_number
from warner.designs.finite_geometry import (
    digits,
    few_digits,
    inner_products,
    is_prime,
    modulo,
    next_prime,
    primes_up_to,
)
from warner.designs.labels import MISSING, OUTSIDE, from_text, is_missing, refuse_answers
from warner.designs.open_values import (
    LARGEST_BLOCK,
    MOST_LEVELS,
    NORMALIZATIONS,
    OTHER,
    UTF8_SYMBOLS,
    Texts,
    Values,
    WholeNumbers,
    alphabet_of,
    balanced_steps,
    checked_alphabet,
    checked_normalization,
)
from warner.designs.report_forms import CodedForm, Read
from warner.designs.symmetric import Budget, refuse_odds
from warner.text import conjoined, counted, large_number, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Counts, Dtype, Integers
    from warner.designs.closed_list import ClosedList
    from warner.documents import Document


# Report form


@dataclass(frozen=True)
class OpenForm(CodedForm):
    """Reports with a level, a direction and the value of a hash, such as 2:01f:1.

    In memory a report is a row of whole numbers: the level from 1 on, the direction of each block (0 beyond the
    level), and the value.
    """

    field: int  # g, the number of values of the hash
    block_digits: tuple[int, ...]  # of each block in base g
    holds: ClassVar[str] = "open hashes"

    @property
    def levels(self) -> int:
        return len(self.block_digits)

    @property
    def width(self) -> int:
        return 8 * (self.levels + 2)

    @cached_property
    def points(self) -> tuple[int, ...]:
        """Number of directions of each block: g to the number of its digits."""
        return tuple(self.field**indices for indices in self.block_digits)

    @cached_property
    def _directions(self) -> tuple[int, ...]:
        """Number of directions of each level."""
        return tuple(accumulate(self.points, lambda x, y: x * y))

    @property
    def bits(self) -> float:
        return math.log2(sum(self.field * number for number in self._directions))

    @property
    def rule(self) -> str:
        return (
            f"level:direction:value with a level from 1 to {self.levels}, a direction in lower-case hexadecimal and a "
            f"value from 0 to {self.field - 1}"
        )

    @cached_property
    def _lengths(self) -> tuple[int, list[int], int]:
        """Numbers of characters of level, direction (at each level) and value."""
        hexadecimal = [len(f"{number - 1:x}") for number in self._directions]
        return len(str(self.levels)), hexadecimal, len(str(self.field - 1))

    def read(self, values: Any, *, text: bool = False, codes: bool = False) -> Read:
        """Read texts or their bytes; with `codes`, an array of rows of whole numbers."""
        if codes and len(values):
            rows = np.asarray(values)
            if rows.ndim != 2 or rows.shape[1] != self.levels + 2 or rows.dtype.kind not in "iu":
                got = f"shape {rows.shape} of {rows.dtype}"
                raise TypeError(f"reports must be rows of {self.levels + 2} whole numbers, but got {got}")
            rows = rows.astype(np.int64)  # what is larger becomes negative, and is no report
            return Read(rows, np.where(self.known(rows), 0, OUTSIDE))
        if hasattr(values, "to_pylist"):  # a column of Arrow
            values = values.to_pylist()
        given = values.ravel().tolist() if isinstance(values, np.ndarray) else list(values)
        rows = np.zeros((len(given), self.levels + 2), dtype=np.int64)
        status = np.zeros(len(given), dtype=np.int64)
        for index, value in enumerate(given):
            row = self._row(value)
            if row is None:
                status[index] = MISSING if is_missing(value) else OUTSIDE
            else:
                rows[index] = row
        return Read(rows, status)

    def _row(self, value: Any) -> list[int] | None:
        """Read one report; None for anything else."""
        if isinstance(value, bytes | bytearray):
            value = value.decode("ascii", errors="replace")
        if not isinstance(value, str):
            return None
        first, _, rest = value.partition(":")
        direction, _, last = rest.partition(":")
        wide, lengths, narrow = self._lengths
        if not (_is_number(first, wide) and _is_number(last, narrow) and 1 <= int(first) <= self.levels):
            return None
        level, s = int(first), int(last)
        if len(direction) != lengths[level - 1] or not set(direction) <= set("0123456789abcdef"):
            return None
        number = int(direction, 16)
        if s >= self.field or number >= self._directions[level - 1]:
            return None
        row = [0] * (self.levels + 2)
        for index in range(level, 1, -1):
            number, row[index] = divmod(number, self.points[index - 1])
        row[0], row[1], row[-1] = level, number, s
        return row

    def known(self, rows: Counts) -> Counts:
        """Return True for each row of whole numbers that is a report."""
        level = rows[:, 0]
        right = (level >= 1) & (level <= self.levels) & (rows[:, -1] >= 0) & (rows[:, -1] < self.field)
        for index, points in enumerate(self.points, start=1):
            below = np.where(level >= index, points, 1)
            right &= (rows[:, index] >= 0) & (rows[:, index] < below)
        return np.asarray(right)

    def written(self, reports: Integers, *, like: Dtype | None = None, into: str = "csv") -> Counts:
        kind: Any = like if like is not None and like.kind in "OT" else np.str_
        return np.array([self._text(row) for row in reports.tolist()], dtype=kind)

    def _text(self, row: list[int]) -> str:
        level, number = row[0], row[1]
        for index in range(2, level + 1):
            number = number * self.points[index - 1] + row[index]
        wide, lengths, narrow = self._lengths
        return f"{level:0{wide}}:{number:0{lengths[level - 1]}x}:{row[-1]:0{narrow}}"

    def length(self, digits: int) -> int:
        wide, lengths, narrow = self._lengths
        return wide + lengths[-1] + narrow + 2

    def padded(self, report: Any, digits: int) -> str:
        return self._text(list(map(int, report))).ljust(self.length(digits))

    def unpadded(self, text: str, digits: int) -> Counts | None:
        row = self._row(text.rstrip(" ")) if len(text) == self.length(digits) else None
        return None if row is None else np.array(row)


def _is_number(text: str, length: int) -> bool:
    return len(text) == length and text.isascii() and text.isdigit()


# Answer form


@dataclass(frozen=True)
class AnswerForm:
    """Answers without a list; in memory, an answer is a row of blocks."""

    values: Values
    labels: ClassVar[None] = None  # there is no list of them
    kinds: ClassVar[None] = None

    @property
    def holds(self) -> str:
        return "integers" if isinstance(self.values, WholeNumbers) else "strings"

    def read(self, values: Any, *, text: bool = False, codes: bool = False) -> Read:
        """Encode answers in blocks; with `text`, whole numbers are in digits."""
        given = values.to_pylist() if hasattr(values, "to_pylist") else values
        if text and isinstance(self.values, WholeNumbers):
            given = from_text(list(given), range(2))
        return Read(*self.values.encoded(given))


# Level weights

FALSE_PREFIXES = 32.0  # that noise alone may keep at a level, on average
HELD_PREFIXES = 16.0  # that people are taken to hold, and so are kept, for a plan
EULER = 0.5772156649015329  # Euler's constant: 1 + 1/2 + ... + 1/m is near ln(m) + 0.58
USUAL_LEVEL = 0.95
USUAL_POWER = 0.8
PARTS = 64  # that the people are divided into, about
WEIGHT_STEPS = 500  # of the iteration for Lagrange's condition
STEP_LENGTH = 0.05


def tail_probabilities(sizes: Sequence[int], *, level: float = USUAL_LEVEL) -> list[float]:
    """Return the false-positive probability at each level, from the numbers of possible next blocks.

    At the levels of the search a fixed number of false prefixes may pass; the error of the last test is shared by all
    candidates. Prefixes kept by noise have the weights 1, 1/2, 1/3, ..., so that a true one has the part
    1 / (true + ln(false) + 0.58) of the error.
    """
    kept = FALSE_PREFIXES + HELD_PREFIXES
    tails = [min(0.5, FALSE_PREFIXES / (size * (kept if index else 1))) for index, size in enumerate(sizes[:-1])]
    shared = HELD_PREFIXES + math.log(FALSE_PREFIXES) + EULER if len(sizes) > 1 else 1.0
    return [*tails, (1 - level) / (sizes[-1] * shared)]


def squared_quantiles(tails: Sequence[float], power: float = USUAL_POWER) -> Array:
    """Return (z + y)^2 at each level, with the least sum that finds a value with probability `power`."""
    from scipy.special import ndtr, ndtri

    z = -ndtri(np.asarray(tails))
    y = np.full(len(z), float(ndtri(power ** (1 / len(z)))))
    for _ in range(WEIGHT_STEPS):
        density = np.exp(-(y**2) / 2)
        slack = np.log((z + y) * ndtr(y) / density)
        y = y + STEP_LENGTH * (slack.mean() - slack)
        density = np.exp(-(y**2) / 2) / math.sqrt(2 * math.pi)
        y = y + (math.log(power) - np.log(ndtr(y)).sum()) / (density / ndtr(y)).sum()
    return np.asarray((z + y) ** 2)


def best_weights(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the weights of the levels, whole numbers that sum to about 64.

    >>> best_weights([2**16, 2**16, 2**16])
    (15, 21, 29)
    """
    parts = squared_quantiles(tail_probabilities(sizes))
    return tuple(max(1, round(PARTS * part / parts.sum())) for part in parts.tolist())


# Open domain

LARGEST_OPEN_FIELD = 2**22
LARGEST_CHOSEN_FIELD = 2**17  # beyond, a block of 16 bits has one digit, and nothing becomes shorter
MOST_FOURIER_POINTS = 2**23  # of one Fourier transform: 134 MB of complex numbers
FOURIER_VARIANCE_TOLERANCE = 0.05  # how much more variance is taken for shorter transforms
USUAL_BITS = 16  # of a step
USUAL_BLOCK = 600_000  # values of a block, at most, where the step is not given: four letters of 26
ONE_BY_ONE = 8  # answers up to which Python's own numbers are faster than arrays


@dataclass(frozen=True, init=False, repr=False)
class OpenDomain(Device):
    r"""Report a random hash of a text or a whole number, for values without a list.

    Reports are searched for frequent values by `warner.discover`. For a list that is known beforehand, any other
    mechanism needs fewer people.

    Parameters
    ----------
    epsilon : number, optional
        The most that one report may reveal, in nats, from 1e-9 to 40. The design never spends more.
    odds : pair of numbers or str, optional
        Instead of epsilon: the true hash against each other one, ``(a, b)`` with a > b.
    letters : str, optional
        Answers are texts over this alphabet; ``"a-z0-9.-"`` names ranges, and a hyphen at either end itself. What
        cannot be written in it becomes ``(other)``.
    bytes : int, optional
        Instead: answers are texts of at most this many bytes in UTF-8.
    bits : int, optional
        Instead: answers are whole numbers below 2 to this power.
    length : int, optional
        With letters, the most letters that an answer may have; longer ones become ``(other)``.
    step : int, optional
        The most letters, bytes or bits of a block. Long steps need fewer people, and more memory to search: a block
        may have :math:`2^{22}` values. If not given, 16 bits, 2 bytes, or as many letters as have up to
        600,000 combinations.
    normalize : tuple of str
        Normalization of texts: ``"NFKC"`` (Unicode's compatibility forms), ``"lower"`` (lower
        case), ``"spaces"`` (each run of white space becomes one space, none at the ends).
    field : int, optional
        The number g of hash values, a prime; if not given, see the rule at the head of this module.

    Attributes
    ----------
    values : Texts or WholeNumbers
        The possible answers, and how they are cut into blocks.
    odds : tuple of int
        ``(a, b)`` in lowest terms.
    field : int
        The number of hash values.
    weights : tuple of int
        Of the levels: how the people are divided among them by chance. They are those with which the smallest share
        is found.

    Examples
    --------
    >>> words = OpenDomain(epsilon=1, letters="a-z", length=12)
    >>> words
    <OpenDomain of texts of up to 12 letters of 26 (abcdefghijklmnopqrstuvwxyz) in 3 blocks, 3 hash values, epsilon 1>
    >>> round(words.report_bits, 1)
    58.6
    """

    values: Values
    odds: tuple[int, int]
    field: int
    weights: tuple[int, ...]

    mechanism = "open domain"
    field_names = frozenset({"values", "steps", "levels", "odds", "field"})

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        odds: Odds | None = None,
        letters: str | None = None,
        bytes: Number | None = None,  # noqa: A002 - as the other two, it names what values are made of
        bits: Number | None = None,
        length: Number | None = None,
        step: Number | None = None,
        normalize: Sequence[str] = NORMALIZATIONS,
        field: Number | None = None,
    ) -> None:
        if (epsilon is None) == (odds is None):
            got = "none of them" if epsilon is None else "both"
            raise TypeError(f"an {self.mechanism} needs either epsilon or odds, but got {got}")
        values = _values(letters, bytes, bits, length, step, normalize)
        prime = None if field is None else whole_number("field", field, 2, LARGEST_OPEN_FIELD)
        best, g = _best_odds_and_field(values, Budget(epsilon, odds), prime)
        self._set(values=values, odds=best, field=g, weights=_weights(values))
        self._check()

    @classmethod
    def _make(cls, values: Values, odds: tuple[int, int], field: int, weights: tuple[int, ...]) -> Self:
        made = cls.__new__(cls)
        made._set(values=values, odds=odds, field=field, weights=weights)
        made._check()
        return made

    def _check(self) -> None:
        if not is_prime(self.field):
            raise ValueError(
                f"field must be a prime number, but got {self.field}; the next is {next_prime(self.field)}"
            )
        if max(self.report_form.points) > MOST_FOURIER_POINTS:
            raise ValueError(
                f"field must leave at most {MOST_FOURIER_POINTS:,} points to a block, but with {self.field} a block "
                f"has {max(self.report_form.points):,}; leave it out, or take a smaller step"
            )
        a, b = self.odds
        refuse_odds(a, b, a + (self.field - 1) * b)

    def with_epsilon(self, epsilon: Number) -> Self:
        """Return the design for the same values and blocks that spends at most this epsilon."""
        return self._make(self.values, *_best_odds_and_field(self.values, Budget(epsilon), None), self.weights)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Explain which function accepts an open domain, for attributes that need a list of answers."""
            from warner.designs.contract import Design
            from warner.designs.law import Law

            known = name in Design.__annotations__ or hasattr(Design, name) or hasattr(Law, name)
            named = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(f"an {self.mechanism} {WITHOUT_LIST}" if known else named)

    # Facts

    @property
    def ratio(self) -> tuple[int, int]:
        a, b = self.odds
        return b, a

    @property
    def levels(self) -> int:
        """Number G of levels."""
        return len(self.weights)

    @property
    def p(self) -> float:
        """Probability that a report of some level supports the respondent's own prefix."""
        a, b = self.odds
        return a / (a + (self.field - 1) * b)

    @property
    def q(self) -> float:
        """Probability that a report supports another given prefix."""
        return 1 / self.field

    @property
    def gain(self) -> float:
        """The difference p - q: the increase of the probability of support per unit of the share."""
        a, b = self.odds
        return (a - b) * (self.field - 1) / (self.field * (a + (self.field - 1) * b))

    @cached_property
    def digits(self) -> tuple[int, ...]:
        """Number of digits of each block in base g."""
        sizes = self.values.block_sizes
        return tuple(next(places for places in count(1) if self.field**places >= size) for size in sizes)

    @cached_property
    def report_form(self) -> OpenForm:
        """Representation of a report in a column."""
        return OpenForm(self.field, self.digits)

    @property
    def answer_form(self) -> AnswerForm:
        """Representation of an answer in a column."""
        return AnswerForm(self.values)

    @property
    def report_bits(self) -> float:
        """Size of a report in bits: log2 of the number of possible reports."""
        return self.report_form.bits

    @cached_property
    def _direction_draws(self) -> tuple[int, ...]:
        """Numbers of digits of the direction that are drawn together."""
        at_once = 1
        while self.field ** (at_once + 1) < TOTAL_LIMIT:
            at_once += 1
        total = sum(self.digits)
        return tuple(min(at_once, total - start) for start in range(0, total, at_once))

    @property
    def draws(self) -> tuple[int, ...]:
        a, b = self.odds
        directions = (self.field**indices for indices in self._direction_draws)
        return sum(self.weights), *directions, a + (self.field - 1) * b

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        return (
            cls._make(WholeNumbers((2, 1)), (3, 1), 3, (1, 2)),
            cls._make(WholeNumbers((1, 1)), (5, 2), 2, (1, 1)),
            cls._make(Texts((2,), "ab"), (3, 1), 5, (1,)),
        )

    # Draws

    def draw(self, blocks: Integers, random_bytes: RandomBytes) -> Integers:
        """Draw one report for each value, a row of blocks, exactly; reports are rows as in `OpenForm`."""
        if len(blocks) <= ONE_BY_ONE:
            rows = [self._drawn(row, random_bytes) for row in blocks.tolist()]
            return np.array(rows, dtype=np.int64).reshape(-1, self.levels + 2)
        return np.asarray(self._draw(blocks, random_bytes))

    def draw_last(self, blocks: Integers, random_bytes: RandomBytes) -> Integers:
        """Draw a report of the last level for each value: `draw` without the draw of the level."""
        return self._drawn_at(np.full(len(blocks), self.levels), blocks, random_bytes)

    @in_batches()
    def _draw(self, blocks: Integers, random_bytes: RandomBytes) -> Integers:
        ends = np.cumsum(self.weights)
        drawn = uniform(len(blocks), int(ends[-1]), random_bytes).astype(np.int64)
        return self._drawn_at(np.searchsorted(ends, drawn, side="right") + 1, blocks, random_bytes)

    def _drawn_at(self, level: Integers, blocks: Integers, random_bytes: RandomBytes) -> Integers:
        n, g, (a, b) = len(blocks), self.field, self.odds
        rows = np.zeros((n, self.levels + 2), dtype=np.int64)
        self._draw_directions(rows, random_bytes)
        drawn = uniform(n, a + (g - 1) * b, random_bytes)
        # The hash of all blocks up to the level: the same arithmetic whatever level and value are.
        hashes = np.zeros(n, dtype=np.int64)
        for index, tau in enumerate(self.digits):
            beyond = level <= index
            rows[beyond, index + 1] = 0
            hashes += inner_products(digits(rows[:, index + 1], g, tau), digits(blocks[:, index], g, tau), g)
        rows[:, 0], rows[:, -1] = level, truth_or_lie(drawn, modulo(hashes, g), a, b)
        return rows

    def _draw_directions(self, rows: Integers, random_bytes: RandomBytes) -> None:
        """Draw all digits of the directions, and combine the digits of each block in its column."""
        index, missing = 0, self.digits[0]
        for drawn in self._direction_draws:
            rest, left = uniform(len(rows), self.field**drawn, random_bytes).astype(np.int64), drawn
            while left:
                part = min(left, missing)
                left, missing = left - part, missing - part
                quotient = rest // self.field**left
                rest = rest - quotient * self.field**left
                rows[:, index + 1] = rows[:, index + 1] * self.field**part + quotient
                if not missing and index + 1 < self.levels:
                    index, missing = index + 1, self.digits[index + 1]

    def _drawn(self, blocks: list[int], random_bytes: RandomBytes) -> list[int]:
        """Draw one report in Python integers, which is several times faster than arrays for a single value."""
        g, (a, b) = self.field, self.odds
        u, *parts, v = (int(uniform(1, total, random_bytes)[0]) for total in self.draws)
        level = next(index for index, end in enumerate(accumulate(self.weights), start=1) if u < end)
        number = 0
        for part, indices in zip(parts, self._direction_draws, strict=True):
            number = number * g**indices + part
        direction = [0] * self.levels
        for index in reversed(range(self.levels)):
            number, direction[index] = divmod(number, self.report_form.points[index])
        total = 0
        for index, tau in enumerate(self.digits):
            direction[index] *= index < level
            total += sum(map(mul, few_digits(direction[index], g, tau), few_digits(blocks[index], g, tau)))
        truth, lie = total % g, max(v - a, 0) // max(b, 1)
        return [level, *direction, truth if v < a else lie + (lie >= truth)]

    def randomize(self, answers: Any) -> Any:
        """Randomize true answers into reports, from the operating system's randomness, without a seed.

        Parameters
        ----------
        answers : str, int, list, tuple or array
            One answer gives one report, a text; a list (or tuple) a list, an array an array of the same shape. A text
            that cannot be written becomes ``(other)``; one that is empty, and a missing value, is an error that names
            its position, and never the answers.

        Examples
        --------
        >>> words = OpenDomain(epsilon=1, letters="a-z", length=12)
        >>> report = words.randomize("Privacy")
        >>> report.count(":")
        2
        """
        answers = answers.item() if isinstance(answers, np.generic) else answers
        array = hasattr(answers, "__array__")
        several = array or isinstance(answers, list | tuple)
        coded = self.values.encoded(answers if several else [answers])
        refuse_answers(coded.status < 0, self.values.rule)
        reports = self.report_form.written(self.draw(coded.blocks, os.urandom), like=np.dtype(object))
        if array:
            return reports.reshape(np.shape(answers))
        return reports.tolist() if several else reports[0]

    def closed(self, values: Sequence[str] | Sequence[int], *, other: bool = False) -> ClosedList:
        """Return a design for a list of answers, for reports that were collected with this open domain.

        `warner.tally` counts reports under it, `warner.estimate` gives the shares of the list, with exact intervals,
        comparisons and groups. They need not sum to one: the rest holds other answers. Only reports of the last level
        are counted.

        Parameters
        ----------
        values : sequence of str or of int
            The answers of the list.
        other : bool
            Whether to add an answer for all other values, ``(other)``.

        Examples
        --------
        >>> words = OpenDomain(epsilon=1, letters="a-z", length=12)
        >>> words.closed(["yes", "no"]).domain
        ('yes', 'no')
        """
        from warner.designs.closed_list import ClosedList

        return ClosedList(values, self, other=other)

    # Files and words

    def fields(self) -> Document:
        return {
            "values": self.values.fields(),
            "steps": list(self.values.steps),
            "levels": [str(weight) for weight in self.weights],
            "odds": [str(part) for part in self.odds],
            "field": self.field,
        }

    @classmethod
    def from_fields(cls, fields: Document) -> Self:
        steps, levels, field = fields["steps"], fields["levels"], fields["field"]
        longest = int(math.log2(LARGEST_BLOCK))  # of two symbols
        if not isinstance(steps, list) or not steps or any(type(x) is not int or not 1 <= x <= longest for x in steps):
            raise ValueError(f"this design is damaged: steps must be whole numbers from 1 to {longest}")
        if not isinstance(levels, list) or not all(map(is_decimal, levels)) or not all(map(int, levels)):
            raise ValueError("this design is damaged: levels must be positive whole numbers as decimal strings")
        if len(levels) != len(steps) or sum(map(int, levels)) >= TOTAL_LIMIT:
            raise ValueError("this design is damaged: levels must be one weight for each step, with a sum below 2^62")
        if type(field) is not int or not 2 <= field <= LARGEST_OPEN_FIELD:
            raise ValueError(f"this design is damaged: field must be a prime number up to {LARGEST_OPEN_FIELD:,}")
        values = _values_from_json(fields["values"], tuple(steps))
        return cls._make(values, odds_as_given(odds_from_json(fields["odds"])), field, tuple(map(int, levels)))

    def summary(self) -> str:
        blocks = counted(self.levels, "block", "blocks")
        described = f"OpenDomain of {self.values.described()} in {blocks}"
        return f"{described}, {self.field} hash values, epsilon {self.shown_epsilon()}"

    def sentences(self) -> tuple[str, ...]:
        steps = " + ".join(map(str, self.values.steps))
        blocks = counted(self.levels, "block", "blocks")
        parts = conjoined([percent(weight / sum(self.weights), 0) for weight in self.weights])
        hashed, draws = "the answer", "The device draws"
        if self.levels > 1:
            hashed = "these first blocks"
            draws = f"The device draws how many of them it reports on, 1 to {self.levels} ({parts}), and"
        lie = (1 - self.p) / (self.field - 1)
        happens = (
            f"the answer is cut into {blocks} ({steps} {self.values.units()}). {draws} a random hash function with "
            f"{self.field} values. It reports the function and the hash of {hashed}: the true one with probability "
            f"{self.p:.4g}, and each other one with probability {lie:.4g}."
        )
        deniable = (
            f"a report fits each answer other than the true one with probability {self.q:.4g}, and so about 1 in "
            f"{self.field} of all possible answers."
        )
        possible = f"{self.values.described()}, {large_number(self.values.number)} in all{self._other_words()}"
        return (
            f"Possible answers: {possible}",
            f"Randomization: {happens}",
            revealed(self) if self.odds[1] else "Privacy: a report reveals the true hash (epsilon inf).",
            f"Deniability: {deniable}",
        )

    def _other_words(self) -> str:
        if not isinstance(self.values, Texts):
            return "."
        names = {"NFKC": "in Unicode's normal form NFKC", "lower": "in lower case", "spaces": "with single spaces"}
        spelled = [names[name] for name in self.values.normalize]
        first = f"; texts are taken {conjoined(spelled)}" if spelled else ""
        return f"{first}. Any other answer is reported as {OTHER}."


# What values are made of


def _values(letters: Any, octets: Any, bits: Any, length: Any, step: Any, normalize: Any) -> Values:
    given = {"letters": letters, "bytes": octets, "bits": bits}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        got = conjoined(named) if named else "none of them"
        raise TypeError(f"an open domain needs either letters (with length), bytes or bits, but got {got}")
    if letters is not None and length is None:
        raise TypeError("length must be given with letters: the most letters that an answer may have")
    if letters is None and length is not None:
        raise TypeError(f"length must be left out with {named[0]}, but got {length!r}")
    if bits is not None:
        size = whole_number("bits", bits, 1, MOST_LEVELS * USUAL_BITS)
        return WholeNumbers(_steps(size, step, 2, USUAL_BITS, 1))
    wanted = checked_normalization(normalize)
    alphabet = None if letters is None else alphabet_of(letters, wanted)
    symbols = UTF8_SYMBOLS if alphabet is None else len(alphabet) + 1
    name, given_size = ("bytes", octets) if alphabet is None else ("length", length)
    size = whole_number(name, given_size, 2, MOST_LEVELS * USUAL_BITS)
    usual = max(2, math.floor(math.log(USUAL_BLOCK) / math.log(symbols) + 1e-9))
    return Texts(_steps(size, step, symbols, 2 if alphabet is None else usual, 2), alphabet, wanted)


def _steps(size: int, step: Any, symbols: int, usual: int, least: int) -> tuple[int, ...]:
    """Divide a value of this many symbols into blocks; the first has at least `least` of them."""
    most = math.floor(math.log(LARGEST_BLOCK) / math.log(symbols) + 1e-9)
    longest = usual if step is None else whole_number("step", step, least, most)
    steps = balanced_steps(size, min(longest, size))
    if len(steps) > MOST_LEVELS:
        raise ValueError(f"step must be larger: there may be {MOST_LEVELS} blocks, but it makes {len(steps)}")
    return steps


def _values_from_json(values: object, steps: tuple[int, ...]) -> Values:
    if values == {"kind": "number"}:
        made: Values = WholeNumbers(steps)
    else:
        names = {"kind", "alphabet", "normalize", "other"}
        if not isinstance(values, dict) or values.keys() != names or values["kind"] != "text":
            raise ValueError(
                'this design is damaged: values must be {"kind": "number"}, or texts as warner writes them'
            )
        alphabet, normalize = values["alphabet"], values["normalize"]
        if values["other"] is not True or not isinstance(normalize, list) or steps[0] < 2:
            raise ValueError("this design is damaged: texts must have an other, and begin with a step of at least 2")
        wanted = checked_normalization(normalize)
        if alphabet is not None:
            if not isinstance(alphabet, str) or len(alphabet) < 2 or len(set(alphabet)) < len(alphabet):
                raise ValueError("this design is damaged: alphabet must be at least two distinct characters, or null")
            checked_alphabet(alphabet, wanted)
        made = Texts(steps, alphabet, wanted)
    if len(steps) > MOST_LEVELS or max(made.block_sizes) > LARGEST_BLOCK:
        raise ValueError(
            f"this design is damaged: it must have at most {MOST_LEVELS} blocks of at most {LARGEST_BLOCK:,} values"
        )
    return made


def _weights(values: Values) -> tuple[int, ...]:
    return best_weights([len(values.continuations(level)) for level in range(len(values.steps))])


# Which field to take


def _best_odds_and_field(values: Values, budget: Budget, field: int | None) -> tuple[tuple[int, int], int]:
    # As finely as can be, to choose the field by.
    a, b = budget.odds_within(2, lambda a, b: a + b)
    refuse_odds(a, b, a + b)
    if field is None:
        field = best_field(a, b, values.block_sizes)
    if is_prime(field):
        a, b = budget.odds_within(field, lambda a, b: a + (field - 1) * b)
    return (a, b), field


def best_field(a: int, b: int, sizes: Sequence[int]) -> int:
    """Return the prime with the shortest transforms whose variance is at most 5 % above the least.

    Odds 3 : 1 leave the variances 4, 3.125 and 3.0625 for g = 2, 3 and 5, and a block of four values one digit with 5.

    >>> best_field(3, 1, [4, 2])
    5
    """
    largest = min(4 * a // b + 4, LARGEST_CHOSEN_FIELD) if b else LARGEST_CHOSEN_FIELD
    fields = primes_up_to(largest)
    indices = np.ones((len(sizes), len(fields)), dtype=np.int64)
    bases = fields.astype(np.float64)
    for level, size in enumerate(sizes):
        while (short := bases ** indices[level] < size).any():
            indices[level] += short
    points = bases**indices
    work: Counts = (points * indices).sum(axis=0)
    scale = max(a, b)
    total = a / scale + (bases - 1) * (b / scale)
    # q (1 - q) / (p - q)^2 with p - q = (a - b) (g - 1) / (g M)
    variance = total**2 / ((bases - 1) * ((a - b) / scale) ** 2)
    variance[points.max(axis=0) > MOST_FOURIER_POINTS] = np.inf
    good = np.flatnonzero(variance <= (1 + FOURIER_VARIANCE_TOLERANCE) * variance.min())
    return int(fields[good[np.lexsort((variance[good], work[good]))[0]]])
