"""Design, the contract of all mechanisms: the randomization of an answer before it is reported.

A `Device` has a privacy loss, a file and an explanation. A `Design` is a device with a list of answers; an `OpenDomain`
has none. The distribution of counts of its reports is its `Law`.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from warner.designs.exact import Number, double_not_below, log_ratio, shown_up
from warner.designs.labels import Domain, Labels, refuse_rounded
from warner.designs.report_forms import Form, LabelForm
from warner.documents import Document, Saved, checked, document
from warner.text import printable, wrapped

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    import numpy as np
    from numpy.typing import ArrayLike

    from warner.arrays import Counts, Integers, Label, Size
    from warner.designs.channel import Channel
    from warner.designs.draws import RandomBytes
    from warner.designs.law import Law


# Device

FORMAT = "warner design"
VERSION = 1
WITHOUT_LIST = (
    "has no list of answers, which this needs; warner.discover finds its frequent values, or close it with "
    "design.closed([...])"
)


class Device(Saved):
    """A randomizing device: a frozen value, and the only source of its probabilities."""

    _format = FORMAT
    mechanism: ClassVar[str]  # its name in files and on the command line
    field_names: ClassVar[frozenset[str]]  # fields of its JSON document besides format, version and mechanism
    _optional_fields: ClassVar[frozenset[str]] = frozenset()
    _not_listed: ClassVar[str] = f"an {{}} {WITHOUT_LIST}"  # the error where a list of answers is needed

    def __new__(cls, *_: Any, **arguments: Any) -> Self:
        if "eps" in arguments and "epsilon" in inspect.signature(cls.__init__).parameters:
            raise TypeError(f"eps must be spelled out: {cls.__name__}(..., epsilon={arguments['eps']!r})")
        return super().__new__(cls)

    def _set(self, **attributes: Any) -> None:
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    # Every mechanism defines these

    @property
    @abstractmethod
    def ratio(self) -> tuple[int, int]:
        """Whole numbers (low, high) whose ratio high / low is e^epsilon; low is 0 if epsilon is infinite."""

    @property
    @abstractmethod
    def draws(self) -> tuple[int, ...]:
        """Limits of the uniform whole numbers that decide one report, in the order in which they are drawn.

        One that is only compared with another is drawn in bytes, not in words of 64 bits: its limit is a ``Compared``.
        """

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return a few small designs of this mechanism, for display and for the contract test."""

    @abstractmethod
    def sentences(self) -> tuple[str, ...]:
        """Explain the design in paragraphs: the procedure, what a report reveals, how deniable an answer is."""

    @abstractmethod
    def summary(self) -> str:
        """Return a description of one line, with epsilon."""

    @abstractmethod
    def fields(self) -> Document:
        """Return the mechanism's own fields of the JSON document."""

    @classmethod
    @abstractmethod
    def from_fields(cls, fields: Document) -> Self:
        """Read the fields that `fields` returns; damaged values raise a ValueError."""

    # Derived from these

    @cached_property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats, as the smallest double that is not below it."""
        return double_not_below(self._spent)

    def shown_epsilon(self, digits: int = 4) -> str:
        """Format epsilon with this number of significant digits, rounded up.

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
        """Return the design as a JSON-compatible dictionary."""
        return {"format": FORMAT, "version": VERSION, "mechanism": self.mechanism, **self.fields()}

    def to_json(self) -> str:
        """Return the design as a small JSON document; whole numbers are decimal strings, which no reader rounds.

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
        """Return the SHA-256 of the canonical JSON document, in hexadecimal."""
        spelled = json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(spelled.encode()).hexdigest()

    @classmethod
    def from_dict(cls, fields: Document) -> Self:
        """Read the result of `to_dict`; anything else raises a ValueError."""
        checked(fields, FORMAT, VERSION, {"mechanism", *cls.field_names}, cls._optional_fields)
        if fields["mechanism"] != cls.mechanism:
            raise ValueError(f"mechanism must be {cls.mechanism!r}, but this design says {fields['mechanism']!r}")
        try:
            return cls.from_fields(fields)
        except TypeError as error:  # labels of other types: in a file that is a wrong value
            raise ValueError(f"this design is damaged: {error}") from None

    def in_words(self) -> str:
        """Explain what happens to an answer, what a report reveals, and how deniable an answer is.

        >>> from warner import RandomizedResponse
        >>> print(RandomizedResponse(["yes", "no"], truth="3/4").in_words())
        Possible answers (2): yes, no
        Randomization: with probability 0.75 the true answer is reported; otherwise one
        of the other answers, each with probability 0.25.
        Privacy: epsilon 1.099. Seeing one report changes the odds between any two
        answers by at most a factor of 3.0.
        Deniability: if all answers are equally common, 75 % of the reports are true
        answers, and 25 % are not.
        """
        # Labels may hold control characters, which a terminal would obey.
        return wrapped(printable(sentence) for sentence in self.sentences())

    def repetition(self) -> str:
        """Return a sentence on the total privacy loss of repeated reports; empty if each spends epsilon anew."""
        return ""

    def __repr__(self) -> str:
        return f"<{self.summary()}>"


def revealed(design: Device) -> str:
    """Describe what a report reveals: the largest change of the odds of two answers, rounded up."""
    low, high = design.ratio
    if low == high:
        return "Privacy: a report reveals nothing (epsilon 0), so nothing can be estimated."
    if low == 0:
        return "Privacy: at least one report rules out an answer for certain (epsilon inf)."
    times = -(-1000 * high // low) / 1000
    return (
        f"Privacy: epsilon {design.shown_epsilon()}. Seeing one report changes the odds between any two answers by at "
        f"most a factor of {times:,}."
    )


# Contract

LARGEST_CHANNEL = 4096  # answers of a design that is written out as a matrix


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
    domain: Labels

    # Every mechanism defines these

    @property
    @abstractmethod
    def law(self) -> Law:
        """Distribution of counts of reports, given the shares of the answers."""

    @abstractmethod
    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Counts:
        """Draw one report for each answer exactly, both in codes, with the same arithmetic for every answer."""

    # Derived from these; a mechanism may override them with shorter ways

    @property
    def report_form(self) -> Form:
        """Representation of a report in a column."""
        return LabelForm(self.law.columns)

    def with_epsilon(self, epsilon: Number) -> Self:
        """Return the design of this mechanism for the same answers that spends at most this epsilon."""
        raise TypeError(f"a {self.mechanism} has no parameter that follows from epsilon; give another design")

    @classmethod
    def variants(cls, domain: Domain, epsilon: Number, quantity: str = "shares") -> Mapping[str, Design]:
        """Return this mechanism's designs for this epsilon by name, the best one first; empty if there are none.

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
        """Return the design as a table of whole numbers."""
        raise TypeError(f"a {self.mechanism} has too many possible reports to be written as a table")

    # Final

    @property
    def k(self) -> int:
        """Number K of possible answers."""
        return len(self.domain)

    def _too_large_for_a_matrix(self) -> ValueError:
        return ValueError(
            f"the design must have at most {LARGEST_CHANNEL} answers to be written as a matrix, but got {self.k:,}"
        )

    # Randomizing, and designs made from others

    def simulate(self, shares: ArrayLike, n: int, *, rng: np.random.Generator, size: Size = None) -> Integers:
        """Draw counts of n respondents, a sample of a population with these shares; see `reports_of_population`."""
        return self.law.simulate(shares, n, rng=rng, size=size)

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
        the same row, so that shares within a group are not identified, and the most likely shares are not unique; sums
        over groups are. (To merge answers *after* the fact, add up their estimated
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
        """Exclude answers that no respondent can have: structural zeros.

        The randomization and the possible reports stay the same; fewer answers are estimated.

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
        for labels in (self.domain, self.law.columns):
            refuse_rounded(labels)
        super().save(path)


def listed_design(device: object, name: str = "design") -> Design:
    """Return a design with a list of answers; raise a TypeError for anything else, with the argument's name."""
    if isinstance(device, Design):
        return device
    if isinstance(device, Device):
        raise TypeError(device._not_listed.format(device.mechanism))
    raise TypeError(f"{name} must be a design, such as a RandomizedResponse, but got {type(device).__name__}")
