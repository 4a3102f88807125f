r"""Design, the contract of all mechanisms: facts that others may ask for. No statistic is computed here.

A report adds a vector of zeros and ones to a tally: a single 1 for a table of reports (randomized response, a channel),
several for a report that supports a set of answers. A design tells facts about that vector: how it is drawn, how likely
it is after each answer, in which count a share shows.

What makes closed forms possible is a `Symmetry`: every answer has a count of its own,
:math:`c_i \sim \mathrm{Bin}(n, q + (p-q)\theta_i)`, with the same p and q for all. Randomized response has it with sets
of one member.

Randomizing devices: what an answer goes through before it is reported, with its privacy, its file and its words.

All that does not need a list of answers stands here: how much one report reveals, how the device is written to a file
and read back, and how it is explained. A `Design` (`contract`) has a list of answers besides, an `OpenDomain` has none.
"""

from __future__ import annotations

import hashlib
import json
import reprlib
import textwrap
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np

from warner.arrays import LARGEST_TOTAL
from warner.designs.exact import double_not_below, log_ratio, shown_up
from warner.designs.facts import (
    ChannelOperator,
    Counted,
    Estimand,
    LinearCombination,
    ProbabilityBounds,
    ReportTypes,
    SamplingModel,
    Symmetry,
    added_up,
)
from warner.designs.labels import refuse_rounded
from warner.designs.matrices import inverse
from warner.designs.report_forms import LabelForm
from warner.documents import Document, checked, document, loaded, parsed, save_text
from warner.words import printable

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    from numpy.typing import ArrayLike

    from warner.arrays import Array, Counts, Integers, Label, Mask, Sets, Size
    from warner.designs.channel import Channel
    from warner.designs.draws import RandomBytes
    from warner.designs.exact import Number
    from warner.designs.labels import Domain, Labels
    from warner.designs.report_forms import Form


# Device


FORMAT = "warner design"
VERSION = 1
WITHOUT_LIST = (
    "has no list of answers, which this needs; warner.discover finds its frequent values, or close it with "
    "design.closed([...])"
)


class Device(ABC):
    """What every answer goes through: a frozen value, and the one place that probabilities come from.

    Attributes
    ----------
    mechanism : str
        Its name in files and on the command line.
    field_names, optional_fields : frozenset of str
        What its JSON document must hold besides format, version and mechanism, and what it may hold.
    """

    mechanism: ClassVar[str]
    field_names: ClassVar[frozenset[str]]
    optional_fields: ClassVar[frozenset[str]] = frozenset()

    # Facts that every mechanism must tell

    @property
    @abstractmethod
    def ratio(self) -> tuple[int, int]:
        """The smaller and the larger of the two whole numbers whose ratio is e^epsilon; (0, b) if that is infinite."""

    @property
    @abstractmethod
    def draws(self) -> tuple[int, ...]:
        """The whole numbers below which one report is drawn, one after the other: all that chance decides about it.

        One that is only compared with another is drawn in bytes, not in words of 64 bits: its limit is a ``Compared``.
        """

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple[Self, ...]:
        """Give a few small designs of this mechanism, to look at, and for the tests that every mechanism must pass."""

    @abstractmethod
    def sentences(self) -> tuple[str, ...]:
        """Explain in plain words, a paragraph each, unwrapped: what is done, what it reveals, how deniable it is."""

    @abstractmethod
    def summary(self) -> str:
        """Name the design in one line, with its epsilon."""

    @abstractmethod
    def fields(self) -> Document:
        """Give what the JSON document holds besides format, version and mechanism."""

    @classmethod
    @abstractmethod
    def from_fields(cls, fields: Document) -> Self:
        """Read what `fields` gave, field by field; what is damaged is an error."""

    # What follows from these

    @cached_property
    def epsilon(self) -> float:
        """The privacy that one report spends, in nats, as the smallest double that is not below it."""
        return double_not_below(self._spent)

    def shown_epsilon(self, digits: int = 4) -> str:
        """Write epsilon in so many significant digits, rounded up: never less than what is spent.

        >>> from warner import RandomizedResponse
        >>> RandomizedResponse(2, odds=(3, 1)).shown_epsilon()  # ln 3 = 1.09861...
        '1.099'
        >>> RandomizedResponse(2, epsilon=0.1).shown_epsilon()
        '0.1'
        """
        return shown_up(self._spent, digits)

    @cached_property
    def _spent(self) -> Decimal:
        return log_ratio(*self.ratio)

    # In files and in words

    def to_dict(self) -> Document:
        """Give the design as what JSON can hold."""
        return {"format": FORMAT, "version": VERSION, "mechanism": self.mechanism, **self.fields()}

    def to_json(self) -> str:
        """Write the design as a small JSON document; whole numbers are decimal strings, which no reader rounds.

        >>> from warner import RandomizedResponse
        >>> print(RandomizedResponse(["yes", "no"], truth="3/4").to_json())
        {
          "format": "warner design",
          "version": 1,
          "mechanism": "randomized response",
          "domain": ["yes", "no"],
          "odds": ["3", "1"]
        }
        """
        return document(self.to_dict())

    def fingerprint(self) -> str:
        """Give the SHA-256 of the JSON document in one spelling, without spaces and by field name, in hexadecimal."""
        spelled = json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(spelled.encode()).hexdigest()

    @classmethod
    def from_dict(cls, fields: Document) -> Self:
        """Read what `to_dict` gave; anything else is an error that says what is wrong with it."""
        checked(fields, FORMAT, VERSION, {"mechanism", *cls.field_names}, cls.optional_fields)
        if fields["mechanism"] != cls.mechanism:
            raise ValueError(f"mechanism must be {cls.mechanism!r}, but this design says {fields['mechanism']!r}")
        try:
            return cls.from_fields(fields)
        except TypeError as error:  # labels of other types: in a file that is a wrong value
            raise ValueError(f"this design is damaged: {error}") from None

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; anything else is an error that says what is wrong with it."""
        return cls.from_dict(parsed(text, FORMAT))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the design to a file, whole or not at all."""
        save_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a design that `save` wrote; `warner.load_design` reads designs of every mechanism."""
        return loaded(path, cls.from_json)

    def in_words(self) -> str:
        """Explain what happens to an answer, what a report reveals, and how deniable an answer is.

        >>> from warner import RandomizedResponse
        >>> print(RandomizedResponse(["yes", "no"], truth="3/4").in_words())
        Possible answers (2): yes, no
        What happens to an answer: with probability 0.75 it is reported as it is; otherwise one of the other answers is
        reported instead, each with probability 0.25.
        What a report reveals: epsilon 1.099. It makes no answer more than 3.0 times likelier, against any other, than
        it was before.
        How deniable it is: among people for whom all answers were equally likely, 75 % of those who report an answer
        really hold it, and 25 % do not.
        """
        paragraphs = map(printable, self.sentences())  # labels may hold control characters, which a terminal would obey
        return "\n".join(textwrap.fill(paragraph, 120, break_long_words=False) for paragraph in paragraphs)

    def repetition(self) -> str:
        """Say what somebody spends who reports again on the same question."""
        return "A person who reports again on the same question spends it again."

    def __repr__(self) -> str:
        return f"<{self.summary()}>"


def revealed(design: Device) -> str:
    """Say what a report reveals: by how much it can change the odds of two answers, rounded up as epsilon is."""
    low, high = design.ratio
    if low == high:
        return "What a report reveals: nothing (epsilon 0). Nothing can be estimated from such reports either."
    if low == 0:
        return "What a report reveals: at least one report rules out an answer for certain (epsilon inf)."
    times = -(-1000 * high // low) / 1000
    return (
        f"What a report reveals: epsilon {design.shown_epsilon()}. It makes no answer more than {times:,} times "
        "likelier, against any other, than it was before."
    )


# Contract


__all__ = [
    "ChannelOperator",
    "Counted",
    "Design",
    "ProbabilityBounds",
    "ReportTypes",
    "SamplingModel",
    "Symmetry",
    "revealed",
]

Sufficient: TypeAlias = Literal["counts", "histogram"]

LARGEST_CHANNEL = 4096  # answers of a design that is written out as a matrix
INVERSE_TOLERANCE = 1e-8  # how nearly an inverse must undo a channel
SUM_TOLERANCE = 1e-6  # of shares, which may be single-precision numbers
PEOPLE_AT_ONCE = 2**16  # people drawn at a time in a simulation


class Design(Device):
    """A randomizing device for a list of possible answers.

    Attributes
    ----------
    domain : tuple or range
        The possible answers, in the order of every result; consecutive integers are held as a range.
    parameters : tuple of str
        The keywords that its constructor takes besides the domain, for the command line.
    """

    parameters: ClassVar[tuple[str, ...]] = ()
    ordered: ClassVar[bool] = False  # whether answers are numbers, or in another order that estimates may use
    exhaustive: ClassVar[bool] = True  # whether the domain has every possible answer, so that shares sum to one
    name: str = ""  # of a survey design
    counted_fraction: float = 1.0  # of the respondents, whose reports are counted at all and are the n of a tally
    repeatable: ClassVar[bool] = False  # whether people can report again without spending epsilon again
    domain: Labels

    # Facts that every mechanism must tell

    @abstractmethod
    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Counts:
        """Draw one report for each answer, a row each, exactly; both in codes. The same arithmetic for every answer."""

    @abstractmethod
    def likelihood(self, reports: Counts | None = None) -> ChannelOperator:
        """Return the likelihood of each answer under each of these reports; without reports, under all possible ones.

        Those are the columns, or the types of reports, by `sufficient`. As products, and as a matrix where that is
        small. For single reports it is known up to one positive factor each, on which no estimate depends.
        """

    @abstractmethod
    def sampling_model(
        self, estimand: Estimand, counts: Counts, n: Array, histogram: Counts | None = None
    ) -> SamplingModel:
        """Return the sampling model of each share: a binomial count where one exists, else an unbiased mean of scores.

        See `readout`, which has keywords in the place of an estimand.
        """

    # What follows from these; a mechanism overrides what it knows a shorter way to

    @property
    def symmetry(self) -> Symmetry | None:
        """Response probabilities that all answers share, or None if they differ between answers."""
        return None

    def probabilities(self, shares: Array) -> Array:
        """Return the probability of each column in populations with these shares, of shape (..., k)."""
        return self.likelihood().forward(shares)

    @property
    def exclusive(self) -> bool:
        """Whether each report is counted exactly once: counts then sum to n, and are multinomial."""
        return self.support_size == 1

    @property
    def support_size(self) -> int | None:
        """Number of columns in which one report is counted; None if it varies."""
        return 1

    @property
    def columns(self) -> Labels:
        """What a tally counts: reports of each kind; of set-valued reports, support for each answer."""
        return self.domain

    @property
    def types(self) -> ReportTypes | None:
        """Types of reports that a tally counts besides the columns; None where the columns are enough."""
        return None

    @property
    def sufficient(self) -> Sufficient | None:
        """Which numbers of a tally the likelihood follows from; None if only from the reports themselves."""
        return "counts" if self.exclusive else None

    @property
    def report_form(self) -> Form:
        """How a report is written in a column."""
        return LabelForm(self.columns)

    def count(
        self, reports: Counts, amounts: Counts | None = None, *, group: Integers | None = None, groups: int = 1
    ) -> Counted:
        """Count reports: in each column, in all, and of each type, if there are types.

        With `amounts`, each report stands for so many, or weighs so much; with `group`, the number of each report's
        group, counts are of shape (groups, columns) and numbers of shape (groups,).
        """
        width = len(self.columns)
        place = reports if group is None else reports + group * width
        counts = added_up(place, amounts, groups * width).reshape(width if group is None else (groups, width))
        return Counted(counts, counts.sum(axis=-1))

    def simulate(self, shares: ArrayLike, n: int, *, rng: np.random.Generator, size: Size = None) -> Integers:
        """Draw counts of n respondents, a sample of a population with these shares; see `reports_of_population`."""
        theta = checked_shares(shares, self.k, complete=self.exhaustive)
        _refuse_generator(rng)
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 0 <= n <= LARGEST_TOTAL:
            raise ValueError(f"n must be a whole number of respondents, from 0 to 2^53, but got {n!r}")
        return self._draw_counts(theta, int(n), rng=rng, size=size)

    def simulate_people(self, people: ArrayLike, *, rng: np.random.Generator, size: Size = None) -> Integers:
        """Draw counts of respondents of whom so many have each true answer; see `reports_of_people`."""
        numbers = checked_people(people, self.k)
        _refuse_generator(rng)
        return self._draw_counts_of_people(numbers, rng=rng, size=size)

    def _draw_counts(self, shares: Array, n: int, *, rng: np.random.Generator, size: Size = None) -> Integers:
        """Draw counts of n respondents who are a sample, one respondent at a time; the arguments are not checked."""
        shape = () if size is None else size if isinstance(size, tuple) else (size,)
        drawn = rng.multinomial(n, shares / shares.sum(), size=shape)
        rows = [self._draw_counts_of_people(people, rng=rng) for people in drawn.reshape(-1, self.k)]
        return np.array(rows, dtype=np.int64).reshape(*shape, len(self.columns))

    def _draw_counts_of_people(self, people: Integers, *, rng: np.random.Generator, size: Size = None) -> Integers:
        """Draw counts of respondents with these true answers, one at a time; the arguments are not checked."""
        shape = () if size is None else size if isinstance(size, tuple) else (size,)
        rows = np.zeros((int(np.prod(shape)), len(self.columns)), dtype=np.int64)
        ends = people.cumsum()
        for place in range(len(rows)):
            for start in range(0, int(people.sum()), PEOPLE_AT_ONCE):
                who = np.arange(start, min(start + PEOPLE_AT_ONCE, int(people.sum())))
                rows[place] += self.count(self.draw(ends.searchsorted(who, side="right"), rng.bytes)).counts
        return rows.reshape(*shape, len(self.columns))

    @cached_property
    def linear(self) -> LinearEstimator:
        """Unbiased linear estimator of the shares."""
        return LinearEstimator(self)

    def bounds(self) -> ProbabilityBounds:
        """Return the range of the probability of each column over all answers."""
        matrix = self._matrix
        return ProbabilityBounds(matrix.min(axis=0), matrix.max(axis=0))

    def with_epsilon(self, epsilon: Number) -> Self:
        """Give the design of this mechanism, for the same answers, that spends this epsilon."""
        raise TypeError(f"a {self.mechanism} has no parameter that follows from epsilon; give another design")

    @classmethod
    def variants(cls, domain: Domain, epsilon: Number, quantity: str = "shares") -> Mapping[str, Design]:
        """Return this mechanism's designs for this epsilon, by name, the best one first; none if it has none.

        `quantity` is what they are to estimate best: shares, the mean of a number, or its distribution.
        """
        return {}

    def best_for_share(self, share: Number) -> Self:
        """Return the design of the same mechanism and epsilon that estimates a share of this size best.

        It is the design itself, unless the mechanism has a parameter that depends on the share, such as a size of sets.
        """
        del share
        return self

    def as_channel(self) -> Channel:
        """Write the design as a table of whole numbers."""
        raise TypeError(f"a {self.mechanism} has too many possible reports to be written as a table")

    # Written once, for all

    def readout(
        self,
        counts: Counts,
        n: Array,
        sets: Sets | None = None,
        *,
        minus: Sets | None = None,
        target: str = "population",
        histogram: Counts | None = None,
    ) -> SamplingModel:
        """Return the sampling model of the share of each set of answers, or of each answer, in counts of all groups.

        Counts have shape (groups, columns). With `minus`, the difference of two shares: of each set and of the one at
        the same place in `minus`. `n` is the number of reports, of shape (groups, 1). `target`, for standard errors:
        the share in the "population" that the respondents are a sample of, or the "realised" one among them.
        `histogram` counts the types of reports, of shape (groups, types), where a tally has it.
        """
        return self.sampling_model(Estimand(sets, minus, target), counts, n, histogram)

    @property
    def k(self) -> int:
        """The number of possible answers, K."""
        return len(self.domain)

    def _too_large_for_a_matrix(self) -> ValueError:
        return ValueError(
            f"the design must have at most {LARGEST_CHANNEL} answers to be written as a matrix, but got {self.k:,}"
        )

    @cached_property
    def _matrix(self) -> Array:
        matrix = self.likelihood().matrix
        if matrix is None:
            raise self._too_large_for_a_matrix()
        table = matrix()
        table.flags.writeable = False
        return table

    # Randomizing, and designs made from others

    def randomize(self, answers: Any, *, codes: bool = False) -> Any:
        """Randomize true answers into reports; see `warner.reports.randomizing.randomize`."""
        from warner.reports.randomizing import randomize

        return randomize(answers, self, codes=codes)

    def then(self, second: Design) -> Design:
        """Chain two designs: reports of this one are the answers of the second.

        The channel of the chain is the product of the two matrices, in exact fractions. It never spends more epsilon
        than either. Two randomized responses in a row stay one; every other chain is a `Channel`.

        Parameters
        ----------
        second : Design
            A design whose answers are this one's reports, in the same order.

        Examples
        --------
        >>> from warner import Channel, RandomizedResponse
        >>> forced = Channel([["11/12", "1/12"], ["1/6", "5/6"]], ["yes", "no"], ["yes", "no"])
        >>> forced.then(RandomizedResponse(["yes", "no"], truth="3/4")).weights
        array([[17,  7],
               [ 8, 16]])
        """
        return self.as_channel().then(second)

    def coarsened(self, groups: Mapping[Label, Sequence[Label]]) -> Channel:
        """Merge finer answers into those of this design before they are randomized.

        The result is a design for the finer answers: a 0/1 matrix in front of this one. All members of a group have
        the same row, so that reports tell nothing about how a group's share is divided among them, and the most
        likely shares are not unique; sums over groups are. (To merge answers *after* the fact, add up their estimated
        shares: that needs no other design.)

        Parameters
        ----------
        groups : mapping
            For each answer of this design the finer answers that are merged into it; an answer that is left out cannot
            occur. The finer answers stand in the new domain in the order in which they are listed.

        Examples
        --------
        >>> from warner import RandomizedResponse
        >>> survey = RandomizedResponse(["drinks", "does not"], truth="3/4")
        >>> finer = survey.coarsened({"drinks": ["beer", "wine"], "does not": ["water"]})
        >>> finer.domain
        ('beer', 'wine', 'water')
        >>> finer.channel()
        array([[0.75, 0.25],
               [0.75, 0.25],
               [0.25, 0.75]])
        """
        return self.as_channel().coarsened(groups)

    def restricted(self, allowed: Sequence[Label]) -> Channel:
        """Rule out answers that nobody can hold: structural zeros.

        What happens to an answer stays the same, and so do the possible reports; only the answers that are estimated
        are fewer.

        Parameters
        ----------
        allowed : sequence of labels
            The answers that remain, in their new order.

        Examples
        --------
        >>> from warner import RandomizedResponse
        >>> RandomizedResponse(3, odds=(3, 1)).restricted([0, 2]).weights
        array([[3, 1, 1],
               [1, 1, 3]])
        """
        return self.as_channel().restricted(allowed)

    def save(self, path: str | os.PathLike[str]) -> None:
        for labels in (self.domain, self.columns):
            refuse_rounded(labels)
        super().save(path)


class LinearEstimator:
    """Unbiased linear estimator of the shares: a weight for each column and answer.

    The weights are those of weighted least squares: each report counts by its probability if all answers were equally
    common. With them the shares sum to one. Families of designs override what they have in closed form.
    """

    def __init__(self, law: Design) -> None:
        self.law: Any = law

    def weights(self) -> Array:
        """Return the weights, a row for each column and a column for each answer.

        Where answers are not distinguishable, their shares are the nearest that observed shares can lead to.
        """
        return self._weights

    def apply(self, observed: Array) -> Array:
        """Return unbiased shares from observed shares of the columns, of shape (..., columns)."""
        return np.asarray(observed @ self.weights())

    def identifiable(self) -> Mask:
        """Return True for each answer whose share is identified."""
        return self._identifiable

    def influence(self) -> float:
        """Return the most that one share moves if all reports are exchanged."""
        return float(np.ptp(self.weights(), axis=0).max())

    def reach(self) -> int:
        """Return the largest number of answers that one report supports, whose shares it moves at once."""
        return int(self.law.k if self.law.support_size is None else self.law.support_size)

    def second_moments(self, memberships: Array) -> Array:
        """Return the mean square of one report's score given each answer, for the sum of shares with these memberships.

        Memberships have shape (k,). Infinite where the sum is not identified.
        """
        law, boundless = self.law, float(LARGEST_TOTAL)  # so many respondents that the terms added to counts vanish
        probabilities = law.probabilities(np.eye(law.k))  # each row: all have one answer
        n = np.full((law.k, 1), boundless)
        readout = law.readout(boundless * probabilities, n, LinearCombination(memberships[np.newaxis]))
        return np.asarray(boundless * readout.squared_errors()[:, 0] + memberships**2)

    @cached_property
    def _weights(self) -> Array:
        weights = inverse(self.law._matrix)
        weights.flags.writeable = False
        return weights

    @cached_property
    def _identifiable(self) -> Mask:
        undone = self.law._matrix @ self._weights
        return np.asarray(np.abs(undone - np.eye(self.law.k)).max(axis=0) <= INVERSE_TOLERANCE)


def checked_shares(shares: ArrayLike, k: int, *, name: str = "shares", complete: bool = True) -> Array:
    """Return shares of k answers as an array; raise an error unless they are a distribution.

    Unless the list of answers is `complete`, shares may sum to less than one.

    >>> checked_shares([1, 0], 2)
    array([1., 0.])
    """
    try:
        theta = np.asarray(shares, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be {k:,} numbers, but got {reprlib.repr(shares)}") from None
    if theta.shape == (k,) and (theta >= 0).all():
        total = float(theta.sum())
        if abs(total - 1) <= SUM_TOLERANCE or (not complete and total < 1):
            return theta
    found = f"the sum {theta.sum():.9g}" if theta.shape == (k,) else f"shape {theta.shape}"
    smallest = f" and the smallest share {theta.min():.3g}" if theta.size and not (theta >= 0).all() else ""
    rule = "sum to 1" if complete else "sum to at most 1"
    raise ValueError(f"{name} must be {k:,} shares of at least 0 that {rule}, but got {found}{smallest}")


def checked_people(people: ArrayLike, k: int) -> Integers:
    """Return numbers of respondents with each of k true answers as an array; raise an error unless they are whole."""
    numbers = np.asarray(people)
    whole = numbers.dtype.kind in "iu" and numbers.shape == (k,) and not (numbers < 0).any()
    if not whole or numbers.sum(dtype=np.float64) > LARGEST_TOTAL:
        raise ValueError(
            f"true_counts must be {k:,} whole numbers of at least 0, one for each answer, that sum to at most 2^53, "
            f"but got shape {numbers.shape} of {numbers.dtype}"
        )
    return numbers.astype(np.int64)


def _refuse_generator(rng: object) -> None:
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy.random.Generator, such as numpy.random.default_rng(1), but got {rng!r}")


def listed_design(device: object, name: str = "design") -> Design:
    """Refuse what is no design with a list of answers, under the name that it was given by."""
    if isinstance(device, Design):
        return device
    if isinstance(device, Device):
        raise TypeError(f"an {device.mechanism} {WITHOUT_LIST}")
    raise TypeError(f"{name} must be a design, such as a RandomizedResponse, but got {type(device).__name__}")
