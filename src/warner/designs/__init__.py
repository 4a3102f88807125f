r"""What a respondent's answer goes through before it is reported.

A k-ary randomized response is two whole numbers, the odds :math:`a : b` of the truth against *each* lie:

.. math:: p = \frac{a}{a + (K-1)b}, \qquad q = \frac{b}{a + (K-1)b}, \qquad \varepsilon = |\ln(a/b)|.

**The one rule for epsilon:** probabilities come from :math:`a` and :math:`b`, never from a rounded epsilon. A
design asked for by ``epsilon=`` rounds :math:`a` down, so that what is spent is never more than what was asked
for; every epsilon that is shown is that of :math:`a : b`, rounded up.

A worked number: three answers at odds 3 : 1 are told truthfully with probability 3/5 and turned into each of
the two others with probability 1/5, and :math:`\varepsilon = \ln 3 \approx 1.0987` (rounded up).

The same design has many names in the wild, and libraries disagree on what "p" means, so each is a keyword:

=================  ==============================================================================
``epsilon=``       the privacy parameter of local differential privacy, in nats
``truth=``         the probability p that the report *is* the truth
``redraw=``        the probability that the answer is replaced by a uniform draw over all K
                   answers, the truth included (browsers and the literature call it *rate*)
``odds=(a, b)``    truth against each lie, as whole numbers or fractions
=================  ==============================================================================

Any other finite design is a `Channel`: a table of whole numbers, a row for each answer, a column for each report.
Whoever works with either asks for ``domain`` (the answers), ``outputs`` (the reports; for a `RandomizedResponse` the
same labels) and ``channel()``.
"""

from __future__ import annotations

import json
import math
import reprlib
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeAlias, overload

import numpy as np

from warner.documents import document, loaded, parsed, save_text

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

Number: TypeAlias = int | float | str | Fraction | Decimal | np.integer[Any] | np.floating[Any]
Labels: TypeAlias = tuple[str, ...] | tuple[int, ...] | range
Domain: TypeAlias = int | Sequence[str] | Sequence[int] | np.ndarray[Any, Any]
OneDesign: TypeAlias = "RandomizedResponse | Channel"
Design: TypeAlias = "RandomizedResponse | Channel | Pooled"

# One report is drawn from 64 random bits. Below 2^62 at most a fifth of the draws must be thrown away.
TOTAL_LIMIT = 2**62
# Exact chains of designs may need more; they are drawn from several times 64 bits. Some limit there must be.
WIDEST_TOTAL = 2**320
FLOAT_TOTAL = 2**52  # doubles in a matrix are rounded to so many parts of one
EPSILON_RANGE = (Fraction(1, 10**9), Fraction(40))
CHANNEL_LIMIT = 4096
SHOWN = 12  # labels in a design in words
FORMAT = "warner design"
VERSION = 1


@dataclass(frozen=True, init=False, repr=False)
class RandomizedResponse:
    r"""Report the truth with probability p, and each of the K - 1 other answers with probability q.

    A frozen value: the contract between those who collect answers and those who analyse reports. Give exactly
    one of the four parametrisations; numbers are taken as written (``truth=0.9`` is 9/10, not the nearest
    binary fraction).

    Parameters
    ----------
    domain : int or sequence of str or of int
        The possible answers, all distinct, in the order of every result; or their number K, for the labels
        0..K-1.
    epsilon : number, optional
        The most that one report may reveal, in nats, from 1e-9 to 40. The design spends at most that.
    truth : number, optional
        The probability p that the report is the truth, from 0 to 1.
    redraw : number, optional
        The probability that the answer is replaced by one drawn uniformly from *all* K answers, from 0 to 1.
    odds : pair of numbers or str, optional
        Truth against each lie, ``(a, b)`` or ``"a:b"``. ``(1, 0)`` always tells the truth.

    Attributes
    ----------
    domain : tuple or range
        The labels; consecutive integers are held as a range and cost no memory.
    odds : tuple of int
        ``(a, b)`` in lowest terms.

    Notes
    -----
    ``p < q`` (odds below one, such as Warner's design with p < 1/2) is legal, and so is ``p = q``, which
    reveals nothing and from which nothing can be estimated.

    References
    ----------
    .. [1] S. L. Warner, "Randomized response: a survey technique for eliminating evasive answer bias",
       J. Amer. Stat. Assoc. 60 (1965), 63-69.

    Examples
    --------
    >>> survey = RandomizedResponse(["never", "once", "often"], odds=(3, 1))
    >>> survey.p, survey.q
    (0.6, 0.2)
    >>> survey
    <RandomizedResponse among 3 answers ('never', 'once', 'often'): truth 0.6, each lie 0.2, epsilon 1.099>
    >>> RandomizedResponse(4, redraw="1/2").odds
    (5, 1)
    """

    domain: Labels
    odds: tuple[int, int]

    def __init__(
        self,
        domain: Domain,
        *,
        epsilon: Number | None = None,
        truth: Number | None = None,
        redraw: Number | None = None,
        odds: tuple[Number, Number] | str | None = None,
    ) -> None:
        given = {"epsilon": epsilon, "truth": truth, "redraw": redraw, "odds": odds}
        named = [name for name, value in given.items() if value is not None]
        if len(named) != 1:
            what = f"got {' and '.join(named)}" if named else "got none of them"
            raise TypeError(f"a design needs exactly one of epsilon, truth, redraw and odds, but {what}")
        labels = _labels(domain)
        k = len(labels)
        if epsilon is not None:
            a, b = _odds_from_epsilon(epsilon, k)
        elif truth is not None:
            p = probability("truth", truth)
            a, b = _whole(p * (k - 1), 1 - p)
        elif redraw is not None:
            rate = probability("redraw", redraw)
            a, b = _whole(k * (1 - rate) + rate, rate)
        else:
            assert odds is not None
            a, b = _odds_as_given(odds)
        total = a + (k - 1) * b
        if total >= TOTAL_LIMIT:
            raise ValueError(
                f"{named[0]} must give odds a : b with a + (K-1) b below 2^62, so that one 64-bit draw can decide, "
                f"but got about 10^{len(hex(max(a, b))) * 1.2:.0f}; give fewer digits, or use epsilon="
            )
        object.__setattr__(self, "domain", labels)
        object.__setattr__(self, "odds", (a, b))

    @classmethod
    def _of_odds(cls, domain: Domain, a: int, b: int) -> Self:
        """Make a design whose odds may be too large for one 64-bit draw, as those of a chain are."""
        small = cls(domain, odds=(1, 1))
        a, b = _odds_as_given((a, b))
        _refuse_wide(a + (small.k - 1) * b)
        object.__setattr__(small, "odds", (a, b))
        return small

    @property
    def outputs(self) -> Labels:
        """The possible reports: the same as the answers."""
        return self.domain

    @property
    def k(self) -> int:
        """The number of possible answers, K."""
        return len(self.domain)

    @property
    def total(self) -> int:
        """The number of equally likely draws that decide one report, a + (K-1) b."""
        a, b = self.odds
        return a + (self.k - 1) * b

    @property
    def p(self) -> float:
        """The probability that a report is the truth."""
        return self.odds[0] / self.total

    @property
    def q(self) -> float:
        """The probability of each lie."""
        return self.odds[1] / self.total

    @property
    def epsilon(self) -> float:
        r"""The privacy that one report spends, in nats, as the smallest double not below :math:`|\ln(a/b)|`."""
        return _double_not_below(self._spent)

    def shown_epsilon(self, digits: int = 4) -> str:
        """Write epsilon in so many significant digits, rounded up: never less than what is spent.

        >>> RandomizedResponse(2, odds=(3, 1)).shown_epsilon()  # ln 3 = 1.09861...
        '1.099'
        >>> RandomizedResponse(2, epsilon=0.1).shown_epsilon()
        '0.1'
        """
        return _shown_up(self._spent, digits)

    @cached_property
    def _spent(self) -> Decimal:
        return _log_ratio(*sorted(self.odds))

    def channel(self) -> NDArray[np.float64]:
        """Give the K x K matrix of P(report | truth): a row for each truth, a column for each report.

        >>> RandomizedResponse(["yes", "no"], truth="3/4").channel()
        array([[0.75, 0.25],
               [0.25, 0.75]])
        """
        if self.k > CHANNEL_LIMIT:
            raise ValueError(
                f"the channel of K = {self.k} answers would hold {self.k**2:,} numbers; it is given up to "
                f"K = {CHANNEL_LIMIT}. Beyond, p and q say all of it"
            )
        matrix = np.full((self.k, self.k), self.q)
        np.fill_diagonal(matrix, self.p)
        return matrix

    @overload
    def randomize(self, answers: str, *, codes: bool = False) -> str: ...
    @overload
    def randomize(self, answers: int | np.integer[Any], *, codes: bool = False) -> int: ...
    @overload
    def randomize(self, answers: list[str] | tuple[str, ...], *, codes: bool = False) -> list[str]: ...
    @overload
    def randomize(self, answers: list[int] | tuple[int, ...], *, codes: bool = False) -> list[int]: ...
    @overload
    def randomize(self, answers: np.ndarray[Any, Any], *, codes: bool = False) -> np.ndarray[Any, Any]: ...
    def randomize(self, answers: Any, *, codes: bool = False) -> Any:
        """Randomize true answers into reports; see `warner.reports.randomizing.randomize`."""
        from warner.reports.randomizing import randomize

        return randomize(answers, self, codes=codes)

    def then(self, second: OneDesign) -> OneDesign:
        """Chain two designs: reports of this one are the answers of the second. See `Channel.then`.

        Two randomized responses in a row are one, exactly. Here the report is the truth with probability 3/5 times 3/5,
        plus 2/5 times 1/5: together 11/25, and 7/25 for each lie.

        >>> survey = RandomizedResponse(3, odds=(3, 1))
        >>> survey.then(survey).odds
        (11, 7)
        """
        return _chained(self, second)

    def coarsened(self, groups: Mapping[Any, Sequence[Any]]) -> Channel:
        """Merge finer answers into those of this design before they are randomized; see `Channel.coarsened`."""
        return _coarsened(self, groups)

    def restricted(self, allowed: Sequence[Any]) -> Channel:
        """Rule out all answers but these, which nobody can hold; see `Channel.restricted`."""
        return _restricted(self, allowed)

    def in_words(self) -> str:
        """Explain what a respondent does, what that reveals, and how deniable an answer is.

        >>> print(RandomizedResponse(["yes", "no"], truth="3/4").in_words())
        Possible answers (2): yes, no
        What happens to an answer: with probability 0.75 it is reported as it is; otherwise one of the other answers is
        reported instead, each with probability 0.25.
        What a report reveals: epsilon 1.099. It makes no answer more than 3.0 times likelier, against any other, than
        it was before.
        How deniable it is: among people for whom all answers were equally likely, 75 % of those who report an answer
        really hold it, and 25 % do not.
        """
        a, b = self.odds
        first = (
            f"What happens to an answer: with probability {self.p:.4g} it is reported as it is; otherwise one of the "
            f"other answers is reported instead, each with probability {self.q:.4g}."
        )
        if b == 0:
            first = "What happens to an answer: nothing. Every report is the truth."
            second = "What a report reveals: everything (epsilon inf)."
        elif a == b:
            second = "What a report reveals: nothing (epsilon 0). Nothing can be estimated from such reports either."
        elif a == 0:
            second = "What a report reveals: one answer that is certainly not the truth (epsilon inf)."
        else:
            second = _revealed(self.shown_epsilon(), max(a, b), min(a, b))
        third = (
            "How deniable it is: among people for whom all answers were equally likely, "
            f"{100 * self.p:.3g} % of those who report an answer really hold it, and {100 - 100 * self.p:.3g} % do not."
        )
        return _paragraphs(_listed("answers", self.domain), first, second, third)

    def to_json(self) -> str:
        r"""Write the design as a small JSON document.

        ``odds`` are decimal strings, because they exceed 2^53 and readers that hold numbers as doubles would
        change them; ``domain`` is the list of labels, or ``{"first": i, "size": K}`` for consecutive integers.

        >>> print(RandomizedResponse(["yes", "no"], truth="3/4").to_json())
        {
          "format": "warner design",
          "version": 1,
          "mechanism": "randomized response",
          "domain": ["yes", "no"],
          "odds": ["3", "1"]
        }
        """
        return document(
            {
                "format": FORMAT,
                "version": VERSION,
                "mechanism": "randomized response",
                "domain": _labels_to_json(self.domain),
                "odds": [str(part) for part in self.odds],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; anything else is an error that says what is wrong with it."""
        fields = parsed(text, FORMAT, VERSION, {"mechanism", "domain", "odds"})
        if fields["mechanism"] != "randomized response":
            raise ValueError(f"mechanism must be 'randomized response', but this design says {fields['mechanism']!r}")
        try:
            return cls._of_odds(_labels_from_json("domain", fields["domain"]), *_odds_from_json(fields["odds"]))
        except TypeError as error:  # labels of other types: in a file that is a wrong value
            raise ValueError(f"this design is damaged: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the design to a file, whole or not at all."""
        save_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a design that `save` wrote."""
        return loaded(path, cls.from_json)

    def __repr__(self) -> str:
        return (
            f"<RandomizedResponse among {self.k} answers ({_first_and_last(self.domain)}): truth {self.p:.4g}, "
            f"each lie {self.q:.4g}, epsilon {self.shown_epsilon()}>"
        )


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Channel:
    r"""Report each output with a probability that depends on the answer: any finite design.

    A table of whole numbers: the answer in row i is reported as column j with probability
    :math:`C_{ij} = w_{ij} / \sum_j w_{ij}`, and all rows have the same sum. Reports may come from another set than
    answers: cards of a deck, the number of red ones, a yes that was forced.

    Parameters
    ----------
    matrix : array_like of shape (k, outputs)
        The probabilities, a row for each answer. Fractions, whole numbers and strings such as ``"1/3"`` or ``"0.25"``
        are taken exactly, and rows must sum to one. A row with doubles must sum to one within 1e-9; it is rounded to
        whole numbers over 2^52, what is left over is put on its largest entry, and epsilon is that of these numbers.
    inputs : int or sequence of str or of int
        The possible answers, all distinct, in the order of every result; or their number.
    outputs : int or sequence of str or of int
        The possible reports, in the order of the columns; or their number.
    procedure : str
        What a respondent does, in plain words, for those who read the design. It says nothing that ``matrix`` does not,
        so designs that differ in it alone are equal.

    Attributes
    ----------
    inputs, outputs : tuple or range
        The labels; consecutive integers are held as a range.
    weights : ndarray of shape (k, outputs)
        The whole numbers; of 64 bits, or Python's own where those are too short.
    total : int
        The sum of each row: the number of equally likely draws that decide one report.
    procedure : str
        What a respondent does; empty where nobody has said so.

    Examples
    --------
    Kuk's design: draw two cards from a deck that is 4/5 red if you have the trait and 3/10 red if not; report how
    many are red.

    >>> kuk = Channel([["1/25", "8/25", "16/25"], ["49/100", "42/100", "9/100"]], ["yes", "no"], 3)
    >>> kuk
    <Channel from 2 answers ('yes', 'no') to 3 reports (0, 1, 2): epsilon 2.506>
    >>> kuk.weights
    array([[ 4, 32, 64],
           [49, 42,  9]])
    """

    inputs: Labels
    outputs: Labels
    weights: NDArray[Any]
    total: int
    procedure: str

    def __init__(self, matrix: Any, inputs: Domain, outputs: Domain, *, procedure: str = "") -> None:
        rows, columns = _labels(inputs, "inputs"), _labels(outputs, "outputs")
        if not isinstance(procedure, str):
            raise TypeError(f"procedure must be a text, but got {reprlib.repr(procedure)}")
        self._set(rows, columns, *_whole_rows(matrix, rows, len(columns)), procedure)

    @classmethod
    def _of_weights(
        cls, inputs: Domain, outputs: Domain, weights: NDArray[Any], total: int, procedure: str = ""
    ) -> Self:
        made = cls.__new__(cls)
        made._set(_labels(inputs, "inputs"), _labels(outputs, "outputs"), weights, total, procedure)
        return made

    def _set(self, inputs: Labels, outputs: Labels, weights: NDArray[Any], total: int, procedure: str) -> None:
        divisor = math.gcd(*np.unique(weights).tolist()) if weights.dtype != object else math.gcd(*weights.ravel())
        _refuse_wide(total // divisor)
        weights = weights // divisor
        if total // divisor < TOTAL_LIMIT:
            weights = weights.astype(np.int64)
        weights.flags.writeable = False
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "outputs", outputs)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "total", total // divisor)
        object.__setattr__(self, "procedure", procedure)

    @property
    def domain(self) -> Labels:
        """The possible answers, under the name that every design has for them."""
        return self.inputs

    @property
    def k(self) -> int:
        """The number of possible answers, K."""
        return len(self.inputs)

    @property
    def epsilon(self) -> float:
        r"""The privacy that one report spends, :math:`\max_j \ln(\max_i C_{ij} / \min_i C_{ij})`, in nats, rounded up.

        Infinite where a report is possible after one answer and impossible after another.
        """
        return _double_not_below(self._spent)

    def shown_epsilon(self, digits: int = 4) -> str:
        """Write epsilon in so many significant digits, rounded up: never less than what is spent."""
        return _shown_up(self._spent, digits)

    @cached_property
    def _extremes(self) -> tuple[int, int]:
        """The smallest and the largest number of the column in which their ratio is largest."""
        columns = [
            (low, high)
            for low, high in zip(self.weights.min(axis=0).tolist(), self.weights.max(axis=0).tolist(), strict=True)
            if high > 0
        ]
        impossible = [pair for pair in columns if pair[0] == 0]
        return impossible[0] if impossible else max(columns, key=lambda pair: Fraction(pair[1], pair[0]))

    @cached_property
    def _spent(self) -> Decimal:
        return _log_ratio(*self._extremes)

    def channel(self) -> NDArray[np.float64]:
        """Give the matrix of P(report | answer) as doubles: a row for each answer, a column for each report."""
        return (self.weights / self.total).astype(np.float64)

    @overload
    def randomize(self, answers: str | int | np.integer[Any], *, codes: bool = False) -> str | int: ...
    @overload
    def randomize(
        self, answers: list[str] | list[int] | tuple[str, ...] | tuple[int, ...], *, codes: bool = False
    ) -> list[Any]: ...
    @overload
    def randomize(self, answers: np.ndarray[Any, Any], *, codes: bool = False) -> np.ndarray[Any, Any]: ...
    def randomize(self, answers: Any, *, codes: bool = False) -> Any:
        """Randomize true answers into reports; see `warner.reports.randomizing.randomize`."""
        from warner.reports.randomizing import randomize

        return randomize(answers, self, codes=codes)

    def then(self, second: OneDesign) -> OneDesign:
        """Chain two designs: reports of this one are the answers of the second.

        The channel of the chain is the product of the two matrices, in exact fractions. It never spends more epsilon
        than either. Two `RandomizedResponse` in a row stay one; every other chain is a `Channel`.

        Parameters
        ----------
        second : RandomizedResponse or Channel
            A design whose answers are this one's reports, in the same order.

        Examples
        --------
        >>> forced = Channel([["11/12", "1/12"], ["1/6", "5/6"]], ["yes", "no"], ["yes", "no"])
        >>> forced.then(RandomizedResponse(["yes", "no"], truth="3/4")).weights
        array([[17,  7],
               [ 8, 16]])
        """
        return _chained(self, second)

    def coarsened(self, groups: Mapping[Any, Sequence[Any]]) -> Channel:
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
        >>> survey = RandomizedResponse(["drinks", "does not"], truth="3/4")
        >>> finer = survey.coarsened({"drinks": ["beer", "wine"], "does not": ["water"]})
        >>> finer.inputs
        ('beer', 'wine', 'water')
        >>> finer.channel()
        array([[0.75, 0.25],
               [0.75, 0.25],
               [0.25, 0.75]])
        """
        return _coarsened(self, groups)

    def restricted(self, allowed: Sequence[Any]) -> Channel:
        """Rule out answers that nobody can hold: structural zeros.

        What happens to an answer stays the same, and so do the possible reports; only the answers that are estimated
        are fewer. Parameters: ``allowed``, the labels that remain, in their new order.

        Examples
        --------
        >>> RandomizedResponse(3, odds=(3, 1)).restricted([0, 2]).weights
        array([[3, 1, 1],
               [1, 1, 3]])
        """
        return _restricted(self, allowed)

    def in_words(self) -> str:
        """Explain what happens to each answer, what a report reveals, and how deniable an answer is.

        A design that tells its ``procedure`` begins with that.

        >>> print(Channel([["11/12", "1/12"], ["1/6", "5/6"]], ["yes", "no"], ["yes", "no"]).in_words())
        Possible answers (2): yes, no
        Possible reports (2): yes, no
        What happens to the answer yes: it is reported as yes with probability 0.9167, as no with probability 0.08333.
        What happens to the answer no: it is reported as yes with probability 0.1667, as no with probability 0.8333.
        What a report reveals: epsilon 2.303. It makes no answer more than 10.0 times likelier, against any other, than
        it was before.
        How deniable it is: among people for whom all answers were equally likely, no report makes it more than 90.9 %
        sure that an answer is held.
        """
        matrix = self.channel()
        what = []
        for label, row in zip(self.inputs[:SHOWN], matrix, strict=False):
            likely = np.argsort(-row, kind="stable")[:SHOWN]
            each = [f"as {self.outputs[j]} with probability {row[j]:.4g}" for j in sorted(likely) if row[j] > 0]
            more = ", and otherwise" if np.count_nonzero(row) > len(each) else ""
            what.append(f"What happens to the answer {label}: it is reported {', '.join(each)}{more}.")
        what += [f"And so on for {self.k - SHOWN:,} more."] * (self.k > SHOWN)
        low, high = self._extremes
        if low == high:
            reveals = "What a report reveals: nothing (epsilon 0). Nothing can be estimated from such reports either."
        elif low == 0:
            reveals = "What a report reveals: at least one report rules out an answer for certain (epsilon inf)."
        else:
            reveals = _revealed(self.shown_epsilon(), high, low)
        sums = matrix.sum(axis=0)
        surest = 100 * (matrix.max(axis=0)[sums > 0] / sums[sums > 0]).max()
        deniable = (
            "How deniable it is: among people for whom all answers were equally likely, no report makes it more than "
            f"{surest:.3g} % sure that an answer is held."
        )
        does = [f"For the respondent: {self.procedure}"] if self.procedure else []
        lists = (_listed("answers", self.inputs), _listed("reports", self.outputs))
        return _paragraphs(*does, *lists, *what, reveals, deniable)

    def to_json(self) -> str:
        r"""Write the design as a small JSON document; whole numbers are decimal strings, as in `RandomizedResponse`.

        >>> print(Channel([["11/12", "1/12"], ["1/6", "5/6"]], ["yes", "no"], ["yes", "no"]).to_json())
        {
          "format": "warner design",
          "version": 1,
          "mechanism": "channel",
          "inputs": ["yes", "no"],
          "outputs": ["yes", "no"],
          "weights": [["11", "1"], ["2", "10"]]
        }
        """
        return document(
            {
                "format": FORMAT,
                "version": VERSION,
                "mechanism": "channel",
                "inputs": _labels_to_json(self.inputs),
                "outputs": _labels_to_json(self.outputs),
                "weights": [[str(weight) for weight in row] for row in self.weights.tolist()],
            }
            | ({"procedure": self.procedure} if self.procedure else {})
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; anything else is an error that says what is wrong with it."""
        fields = parsed(text, FORMAT, VERSION, {"mechanism", "inputs", "outputs", "weights"}, {"procedure"})
        if fields["mechanism"] != "channel":
            raise ValueError(f"mechanism must be 'channel', but this design says {fields['mechanism']!r}")
        procedure = fields.get("procedure", "")
        if not isinstance(procedure, str):
            raise ValueError("this design is damaged: procedure must be a text")
        try:
            inputs = _labels(_labels_from_json("inputs", fields["inputs"]), "inputs")
            outputs = _labels(_labels_from_json("outputs", fields["outputs"]), "outputs")
        except TypeError as error:  # labels of other types: in a file that is a wrong value
            raise ValueError(f"this design is damaged: {error}") from None
        rows = fields["weights"]
        shaped = isinstance(rows, list) and len(rows) == len(inputs)
        if not shaped or not all(isinstance(row, list) and len(row) == len(outputs) for row in rows):
            raise ValueError(f"this design is damaged: weights must be {len(inputs)} lists of {len(outputs)}")
        if not all(map(_is_decimal, chain.from_iterable(rows))):
            raise ValueError("this design is damaged: weights must be whole numbers as decimal strings")
        weights = np.array([[int(part) for part in row] for row in rows], dtype=object)
        sums = set(weights.sum(axis=1).tolist())
        if len(sums) > 1 or sums == {0}:
            raise ValueError(
                f"this design is damaged: all rows of weights must have one sum above 0, but got {min(sums)}"
            )
        return cls._of_weights(inputs, outputs, weights, sums.pop(), procedure)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the design to a file, whole or not at all."""
        save_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a design that `save` wrote; `load_design` reads designs of every kind."""
        return loaded(path, cls.from_json)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Channel):
            return NotImplemented
        same = (self.inputs, self.outputs, self.total) == (other.inputs, other.outputs, other.total)
        return same and bool(np.array_equal(self.weights, other.weights))

    def __hash__(self) -> int:
        return hash((self.inputs, self.outputs, self.total, tuple(self.weights[0].tolist())))

    def __repr__(self) -> str:
        return (
            f"<Channel from {self.k} answers ({_first_and_last(self.inputs)}) to {len(self.outputs)} reports "
            f"({_first_and_last(self.outputs)}): epsilon {self.shown_epsilon()}>"
        )


@dataclass(frozen=True, repr=False)
class Pooled:
    """What reports went through that were collected under several designs: each person under one of them.

    Made by `warner.pool`. It randomizes nobody; its parts do.

    Attributes
    ----------
    parts : tuple of RandomizedResponse or Channel
        The designs, with the same answers.
    """

    parts: tuple[OneDesign, ...]

    @property
    def domain(self) -> Labels:
        """The possible answers, the same in all parts."""
        return self.parts[0].domain

    @property
    def outputs(self) -> Labels:
        """Numbers for the possible reports: those of the first part, then those of the second, and so on."""
        return range(sum(len(part.outputs) for part in self.parts))

    @property
    def k(self) -> int:
        """The number of possible answers, K."""
        return self.parts[0].k

    @property
    def epsilon(self) -> float:
        """The privacy that one report spends at most: that of the part that spends most."""
        return max(part.epsilon for part in self.parts)

    def shown_epsilon(self, digits: int = 4) -> str:
        """Write epsilon in so many significant digits, rounded up."""
        return max(self.parts, key=lambda part: part.epsilon).shown_epsilon(digits)

    def split(self, counts: NDArray[Any]) -> list[NDArray[Any]]:
        """Give the counts of each part."""
        return np.split(counts, np.cumsum([len(part.outputs) for part in self.parts])[:-1], axis=-1)

    def told(self, counts: NDArray[Any]) -> list[tuple[OneDesign, NDArray[Any]]]:
        """Give the parts that tell something, with their counts: those with reports, and an epsilon above 0."""
        pairs = zip(self.parts, self.split(counts), strict=True)
        return [(part, own) for part, own in pairs if part.epsilon > 0 and own.any()]

    def channel(self) -> NDArray[np.float64]:
        """Give the matrix of all parts side by side, as if each person went through one of them by lot."""
        return np.hstack([part.channel() for part in self.parts]) / len(self.parts)

    def in_words(self) -> str:
        """Explain each part in turn."""
        return "\n\n".join(f"Design {i}\n{part.in_words()}" for i, part in enumerate(self.parts, 1))

    def to_json(self) -> str:
        """Write the designs as one JSON document."""
        parts = [json.loads(part.to_json()) for part in self.parts]
        return document({"format": FORMAT, "version": VERSION, "mechanism": "pooled", "parts": parts})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote."""
        parts = parsed(text, FORMAT, VERSION, {"mechanism", "parts"})["parts"]
        read = [design_from_json(json.dumps(part)) for part in parts] if isinstance(parts, list) else []
        plain = tuple(part for part in read if not isinstance(part, Pooled))
        if not plain or len(plain) < len(read) or any(part.domain != plain[0].domain for part in plain):
            raise ValueError("this design is damaged: parts must be designs with the same answers")
        return cls(plain)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the designs to a file, whole or not at all."""
        save_text(path, self.to_json())

    def randomize(self, answers: Any, *, codes: bool = False) -> NoReturn:
        """Refuse: each person goes through one of the parts, which must be chosen."""
        raise TypeError("a pooled design randomizes nobody; use the part that the person goes through")

    def __repr__(self) -> str:
        return (
            f"<Pooled design of {len(self.parts)} parts among {self.k} answers ({_first_and_last(self.domain)}): "
            f"epsilon at most {self.shown_epsilon()}>"
        )


def design_from_json(text: str) -> Design:
    """Read a design of any kind: what ``to_json`` of `RandomizedResponse` or `Channel` wrote."""
    try:
        mechanism = json.loads(text)["mechanism"]
    except (ValueError, TypeError, KeyError, RecursionError):
        mechanism = None  # damaged: the reader below says how
    if mechanism == "pooled":
        return Pooled.from_json(text)
    return Channel.from_json(text) if mechanism == "channel" else RandomizedResponse.from_json(text)


def load_design(path: str | os.PathLike[str]) -> Design:
    """Read a design of any kind from the file that its ``save`` wrote.

    Parameters
    ----------
    path : str or path
        A JSON file; what is wrong with another one is said in the error.
    """
    return loaded(path, design_from_json)


# Chains, groups, structural zeros


def _as_channel(design: OneDesign) -> Channel:
    if isinstance(design, Channel):
        return design
    if design.k > CHANNEL_LIMIT:
        raise ValueError(
            f"the design must have at most {CHANNEL_LIMIT} answers to be written as a matrix, but got {design.k:,}"
        )
    a, b = design.odds
    weights = np.full((design.k, design.k), b, dtype=np.int64 if design.total < TOTAL_LIMIT else object)
    np.fill_diagonal(weights, a)
    return Channel._of_weights(design.domain, design.domain, weights, design.total)


def _chained(first: OneDesign, second: OneDesign) -> OneDesign:
    given: object = second
    if not isinstance(given, RandomizedResponse | Channel):
        raise TypeError(f"then must be given a RandomizedResponse or a Channel, but got {type(given).__name__}")
    if first.outputs != second.domain:
        raise ValueError(
            "the reports of the first design must be the answers of the second, in the same order, but got "
            f"{_first_and_last(first.outputs)} and {_first_and_last(second.domain)}"
        )
    if isinstance(first, RandomizedResponse) and isinstance(second, RandomizedResponse):
        (a, b), (c, d), k = first.odds, second.odds, first.k
        return RandomizedResponse._of_odds(first.domain, a * c + (k - 1) * b * d, a * d + b * c + (k - 2) * b * d)
    one, two = _as_channel(first), _as_channel(second)
    total = one.total * two.total
    kind = np.int64 if total < TOTAL_LIMIT else object  # no sum of the product exceeds the total
    weights = one.weights.astype(kind) @ two.weights.astype(kind)
    return Channel._of_weights(one.inputs, two.outputs, weights, total)


def _coarsened(design: OneDesign, groups: Mapping[Any, Sequence[Any]]) -> Channel:
    if not isinstance(groups, Mapping) or any(
        isinstance(members, str | bytes) or not isinstance(members, Sequence) for members in groups.values()
    ):
        raise TypeError(
            "groups must map answers of the design to lists of finer answers, such as {'drinks': ['beer', 'wine']}"
        )
    rows = np.repeat(_rows_of(design, list(groups), "groups"), [len(members) for members in groups.values()])
    whole = _as_channel(design)
    finer = list(chain.from_iterable(groups.values()))
    return Channel._of_weights(_labels(finer, "groups"), whole.outputs, whole.weights[rows], whole.total)


def _restricted(design: OneDesign, allowed: Sequence[Any]) -> Channel:
    labels = _labels(allowed, "allowed")
    whole = _as_channel(design)
    rows = _rows_of(design, labels, "allowed")
    return Channel._of_weights(labels, whole.outputs, whole.weights[rows], whole.total, whole.procedure)


def _rows_of(design: Design, labels: Sequence[Any], name: str) -> list[int]:
    """Find the rows of answers, compared by value and type."""
    place = {(type(label), label): row for row, label in enumerate(design.domain)}
    wanted = [(int if isinstance(x, np.integer) else str if isinstance(x, np.str_) else type(x), x) for x in labels]
    strange = [label for kind, label in wanted if (kind, label) not in place]
    if strange:
        raise ValueError(f"{name} must name answers of the design, but {strange[0]!r} is none of them")
    return [place[pair] for pair in wanted]


# Whole numbers


def _whole_rows(matrix: Any, inputs: Labels, columns: int) -> tuple[NDArray[Any], int]:
    """Turn a matrix of probabilities into whole numbers with one sum for all rows."""
    shape = (len(inputs), columns)
    try:
        array = matrix if isinstance(matrix, np.ndarray) else np.array(matrix, dtype=object)
    except ValueError:  # rows of different lengths
        array = np.empty(0)
    if array.shape != shape:
        got = f"shape {array.shape}" if array.ndim == 2 else "rows of different lengths"
        raise ValueError(
            f"matrix must have {shape[0]} rows, one for each answer, and {shape[1]} columns, but got {got}"
        )
    if array.dtype.kind == "f":
        return _rounded(array.astype(np.float64), inputs), FLOAT_TOTAL
    rows = [_fractions(row, inputs[i]) for i, row in enumerate(array.tolist())]
    total = math.lcm(*(entry.denominator for row in rows for entry in row))
    return np.array([[int(entry * total) for entry in row] for row in rows], dtype=object), total


def _fractions(row: list[Any], label: str | int) -> list[Fraction]:
    if any(isinstance(entry, float) for entry in row):
        doubles = np.array([[float(entry if isinstance(entry, float) else _exact("matrix", entry)) for entry in row]])
        return [Fraction(weight, FLOAT_TOTAL) for weight in _rounded(doubles, (label,))[0].tolist()]  # type: ignore[arg-type]
    exact = [_exact("matrix", entry) for entry in row]
    if min(exact) < 0:
        _refuse_negative(label, float(min(exact)))
    if sum(exact) != 1:
        raise ValueError(f"every row of matrix must sum to one, but that of the answer {label!r} sums to {sum(exact)}")
    return exact


def _rounded(rows: NDArray[np.float64], inputs: Labels) -> NDArray[np.int64]:
    """Round rows of doubles to whole numbers over 2^52, what is left over going to the largest entry."""
    sums = rows.sum(axis=1)
    wrong = np.flatnonzero(~(np.abs(sums - 1) <= 1e-9))
    if (rows < 0).any():
        where = int(np.argwhere(rows < 0)[0, 0])
        _refuse_negative(inputs[where], float(rows[where].min()))
    if wrong.size:
        raise ValueError(
            f"every row of matrix must sum to one, but that of the answer {inputs[wrong[0]]!r} sums to "
            f"{sums[wrong[0]]:.12g}"
        )
    weights = np.rint(rows * FLOAT_TOTAL).astype(np.int64)
    weights[np.arange(len(rows)), rows.argmax(axis=1)] += FLOAT_TOTAL - weights.sum(axis=1)
    return weights


def _refuse_negative(label: str | int, value: float) -> NoReturn:
    raise ValueError(
        f"matrix must hold probabilities of at least 0, but the row of the answer {label!r} has {value:.12g}"
    )


def _refuse_wide(total: int) -> None:
    if total >= WIDEST_TOTAL:
        raise ValueError(
            f"the design must be in whole numbers whose sum is below 2^320, but it needs about 2^{total.bit_length()}; "
            "give fewer digits, or chain fewer designs"
        )


# Epsilon, rounded up


def _log_ratio(low: int, high: int) -> Decimal:
    """Give an upper bound of ln(high/low) that is good to 50 digits."""
    if low == 0:
        return Decimal("inf")
    if low == high:
        return Decimal(0)
    with localcontext(Context(prec=60)):
        # Quotient and logarithm are good to 59 digits each; the addend covers what they may lack.
        return (Decimal(high) / Decimal(low)).ln() + Decimal("1e-55")


def _double_not_below(spent: Decimal) -> float:
    nearest = float(spent)
    return nearest if Decimal(nearest) >= spent else math.nextafter(nearest, math.inf)


def _shown_up(spent: Decimal, digits: int) -> str:
    up = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(spent)
    if not up.is_finite():
        return "inf"
    up = up.normalize()
    return f"{up:f}" if up.adjusted() >= -digits else f"{up:e}"


# Words


def _revealed(epsilon: str, high: int, low: int) -> str:
    times = math.ceil(1000 * Fraction(high, low)) / 1000  # rounded up, as epsilon is
    return (
        f"What a report reveals: epsilon {epsilon}. It makes no answer more than {times:,} times likelier, against any "
        "other, than it was before."
    )


def _listed(what: str, labels: Labels) -> str:
    shown = ", ".join(map(str, labels[:SHOWN])) + (f", ..., {labels[-1]}" if len(labels) > SHOWN else "")
    return f"Possible {what} ({len(labels):,}): {shown}"


def _paragraphs(*paragraphs: str) -> str:
    return "\n".join(textwrap.fill(paragraph, 120, break_long_words=False) for paragraph in paragraphs)


def _first_and_last(labels: Labels) -> str:
    first = [repr(label) for label in labels[:3]]
    last = [repr(label) for label in labels[3:][-1:]]
    return ", ".join(first + ["..."] * (len(labels) > len(first + last)) + last)


# Arguments and files


def _labels(domain: Domain, name: str = "domain") -> Labels:
    """Check labels, of the argument of this name, and hold them in one canonical form."""
    ordered = domain.ndim == 1 if isinstance(domain, np.ndarray) else isinstance(domain, Sequence)
    ordered = ordered and not isinstance(domain, str | bytes)
    if isinstance(domain, bool) or not (ordered or isinstance(domain, int | np.integer)):
        raise TypeError(f"{name} must be the number of answers or a list of labels, but got {reprlib.repr(domain)}")
    if isinstance(domain, int | np.integer):
        domain = range(int(domain))
    labels = domain if isinstance(domain, range) and domain.step == 1 else _distinct_labels(list(domain), name)
    k = labels.stop - labels.start if isinstance(labels, range) else len(labels)  # len(range) gives up at 2^63
    if not 2 <= k < TOTAL_LIMIT:
        raise ValueError(f"{name} must have at least 2 answers (and fewer than 2^62), but got {k}")
    ends = (labels[0], labels[-1]) if isinstance(labels, range) else labels
    large = [label for label in ends if isinstance(label, int) and not -(2**63) <= label < 2**63]
    if large:
        raise ValueError(f"{name} must hold integers of 64 bits, but got {large[0]}; use strings")
    return labels


def _distinct_labels(domain: list[Any], name: str) -> Labels:
    labels: Labels
    if all(isinstance(label, str) for label in domain):
        labels = tuple(map(str, domain))
        if any("\0" in label or not label for label in labels):
            raise ValueError(
                f"{name} must hold labels that are not empty (a file would have them missing) and without NUL"
            )
    elif all(isinstance(label, int | np.integer) and not isinstance(label, bool) for label in domain):
        labels = tuple(map(int, domain))
        consecutive = range(labels[0], labels[0] + len(labels))
        if labels == tuple(consecutive):
            return consecutive
    else:
        kinds = ", ".join(sorted({type(label).__name__ for label in domain}))
        raise TypeError(f"{name} must hold labels that are all strings or all integers, but got {kinds}")
    label, times = Counter[str | int](labels).most_common(1)[0] if labels else ("", 1)
    if times > 1:
        raise ValueError(f"{name} must hold distinct labels, but {label!r} stands there {times} times")
    return labels


def _exact(name: str, value: Number) -> Fraction:
    """Take a number as it is written: the double 0.9 is 9/10."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction | Decimal | np.number):
        raise TypeError(f'{name} must be a number, a fraction or a string such as "3/4", but got {reprlib.repr(value)}')
    text = str(value).strip()
    try:
        if "/" in text:
            return Fraction(text)
        decimal = Decimal(text)
        if abs(decimal.adjusted()) < 1000:
            return Fraction(decimal)
    except (ArithmeticError, ValueError):  # among them infinity, NaN, and what is no number
        pass
    raise ValueError(f'{name} must be a finite number or a string such as "3/4", but got {reprlib.repr(value)}')


def probability(name: str, value: Number) -> Fraction:
    """Take a probability as it is written."""
    exact = _exact(name, value)
    if not 0 <= exact <= 1:
        raise ValueError(f"{name} must be a probability from 0 to 1, but got {reprlib.repr(value)}")
    return exact


def _whole(first: Fraction, second: Fraction) -> tuple[int, int]:
    """Reduce the ratio of two non-negative numbers to whole numbers in lowest terms."""
    a, b = first.numerator * second.denominator, second.numerator * first.denominator
    divisor = math.gcd(a, b)
    return a // divisor, b // divisor


def _odds_as_given(odds: tuple[Number, Number] | str) -> tuple[int, int]:
    parts = odds.split(":") if isinstance(odds, str) else odds
    if not isinstance(parts, Sequence) or len(parts) != 2:
        raise TypeError(
            f'odds must be a pair (a, b) or a string "a:b", truth against each lie, but got {reprlib.repr(odds)}'
        )
    first, second = (_exact("odds", part) for part in parts)
    if first < 0 or second < 0 or first == second == 0:
        raise ValueError(f"odds must be two numbers of at least 0, not both 0, but got {reprlib.repr(odds)}")
    return _whole(first, second)


def _odds_from_epsilon(epsilon: Number, k: int) -> tuple[int, int]:
    """Round e^epsilon down to a ratio of integers, as finely as one 64-bit draw allows (b = 2^j, j <= 52)."""
    exact = _exact("epsilon", epsilon)
    if isinstance(epsilon, float | np.floating):
        exact = min(exact, Fraction(float(epsilon)))  # as written or as stored, whichever is less
    low, high = EPSILON_RANGE
    if not low <= exact <= high:
        raise ValueError(
            f"epsilon must be positive, from {float(low)} to {float(high)}, but got {reprlib.repr(epsilon)}; below, "
            "reports say nothing; above, they are the truth: odds=(1, 0) says so"
        )
    with localcontext(Context(prec=60)):
        exponent = Decimal(exact.numerator) / Decimal(exact.denominator)
        # Quotient and exponential are each half a unit off at most, and the exponent is at most 40.
        growth = exponent.exp() * (1 - Decimal("1e-57"))
        for bits in range(52, -1, -1):
            b = 2**bits
            a = int(growth * b)
            if a + (k - 1) * b < TOTAL_LIMIT:
                break
    if a <= b:
        raise ValueError(
            f"epsilon must be at least about {1 / b:.1g} for K = {k} answers, because odds finer than that cannot "
            f"be drawn from 64 bits, but got {reprlib.repr(epsilon)}"
        )
    return _whole(Fraction(a), Fraction(b))


def _labels_to_json(labels: Labels) -> Any:
    return {"first": labels.start, "size": len(labels)} if isinstance(labels, range) else list(labels)


def _labels_from_json(name: str, domain: object) -> Domain:
    if isinstance(domain, dict) and domain.keys() == {"first", "size"}:
        first, size = domain["first"], domain["size"]
        if type(first) is int and type(size) is int and size >= 0:
            return range(first, first + size)
    elif isinstance(domain, list):
        return domain
    raise ValueError(f'this design is damaged: {name} must be a list of labels or {{"first": ..., "size": ...}}')


def _odds_from_json(odds: object) -> tuple[int, int]:
    if isinstance(odds, list) and [type(part) for part in odds] == [str, str]:
        a, b = odds
        if all(map(_is_decimal, odds)):
            return int(a), int(b)
    raise ValueError("this design is damaged: odds must be two whole numbers as decimal strings")


def _is_decimal(part: object) -> bool:
    return isinstance(part, str) and part.isascii() and part.isdigit() and len(part) < 100
