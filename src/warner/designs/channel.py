r"""Channel: any finite design as a matrix of whole numbers, a row for each answer, a column for each report.

The answer in row i is reported as column j with probability :math:`C_{ij} = w_{ij} / \sum_j w_{ij}`, and all rows have
the same sum. The draw: one uniform whole number below that sum; the report is the column in which the running sum of
the answer's row passes it.

**Sampling model.** The number of some reports is exactly binomial in the share of an answer: under a design with two
reports either of them, under forced response those that name it. Otherwise an unbiased linear combination of the
observed shares, :math:`\sum_j w_j \phi_j` with :math:`\sum_j C_{ij} w_j` one for the answer and zero for all others, is
approximately normal, with variance :math:`(\sum_j w_j^2 \phi_j - (\sum_j w_j \phi_j)^2)/N`. Without such
weights, the share is not identified.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from warner.designs.contract import Design, listed_design, revealed
from warner.designs.draws import REPORTS_AT_ONCE, RandomBytes, uniform
from warner.designs.exact import TOTAL_LIMIT, is_decimal, refuse_wide
from warner.designs.facts import (
    BinomialReports,
    ChannelOperator,
    Estimand,
    LinearCombination,
    SamplingModel,
    memberships,
    summed,
)
from warner.designs.labels import (
    LABELS_LISTED,
    Domain,
    Labels,
    canonical,
    first_and_last,
    label_list,
    labels_from_json,
    labels_to_json,
)
from warner.designs.law import INVERSE_TOLERANCE, Law, once_per_design
from warner.designs.matrices import whole_rows

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers, Label, Mask, Sets, Shape
    from warner.documents import Document

FUZZY_SET_TOLERANCE = 1e-12  # how nearly the probability of a report must be a line in the memberships of a fuzzy set
# A binomial count is read where its variance is at most this many times that of the best linear combination.
BINOMIAL_VARIANCE_RATIO = 1.05


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Channel(Design):
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
    domain : int or sequence of str or of int
        The possible answers, all distinct, in the order of every result; or their number.
    outputs : int or sequence of str or of int
        The possible reports, in the order of the columns; or their number.
    procedure : str
        Instructions for the respondent, in plain words. Designs that differ in it alone are equal.
    name : str
        The name of the survey design, such as ``"crosswise"``. Designs that differ in it alone are equal, too.

    Attributes
    ----------
    domain, outputs : tuple or range
        The labels; consecutive integers are held as a range.
    weights : ndarray of shape (k, outputs)
        The whole numbers; of 64 bits, or Python's own where those are too short.
    total : int
        The sum of each row: the number of equally likely draws that decide one report.
    procedure : str
        Instructions for the respondent; may be empty.
    name : str
        The name of the survey design; empty if it has none.

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

    domain: Labels
    outputs: Labels
    weights: Counts
    total: int
    procedure: str
    name: str

    mechanism = "channel"
    field_names = frozenset({"domain", "outputs", "weights"})
    _optional_fields = frozenset({"procedure", "name"})

    @property
    def law(self) -> TableLaw:
        return TableLaw(self)

    def __init__(self, matrix: Any, domain: Domain, outputs: Domain, *, procedure: str = "", name: str = "") -> None:
        rows, columns = canonical(domain), canonical(outputs, "outputs")
        for what, text in (("procedure", procedure), ("name", name)):
            if not isinstance(text, str):
                raise TypeError(f"{what} must be a text, but got {reprlib.repr(text)}")
        self._reduce(rows, columns, *whole_rows(matrix, rows, len(columns)), procedure, name)

    @classmethod
    def of_weights(
        cls, domain: Labels, outputs: Labels, weights: Counts, total: int, procedure: str = "", name: str = ""
    ) -> Self:
        """Make a design from whole numbers whose rows sum to `total`."""
        made = cls.__new__(cls)
        made._reduce(domain, outputs, weights, total, procedure, name)
        return made

    def _reduce(self, domain: Labels, outputs: Labels, weights: Counts, total: int, procedure: str, name: str) -> None:
        """Set the attributes, with whole numbers in lowest terms."""
        divisor = math.gcd(*np.unique(weights).tolist()) if weights.dtype != object else math.gcd(*weights.ravel())
        weights, total = weights // divisor, total // divisor
        refuse_wide(total)
        if total < TOTAL_LIMIT:
            weights = weights.astype(np.int64)
        weights.flags.writeable = False
        self._set(domain=domain, outputs=outputs, weights=weights, total=total, procedure=procedure, name=name)

    @cached_property
    def ratio(self) -> tuple[int, int]:
        """Smallest and largest number of the column in which their ratio is largest."""
        columns = [
            (low, high)
            for low, high in zip(self.weights.min(axis=0).tolist(), self.weights.max(axis=0).tolist(), strict=True)
            if high > 0
        ]
        impossible = [pair for pair in columns if pair[0] == 0]
        return impossible[0] if impossible else max(columns, key=lambda pair: Fraction(pair[1], pair[0]))

    def channel(self) -> Array:
        """Return P(report | answer) as doubles: a row for each answer, a column for each report."""
        return (self.weights / self.total).astype(np.float64)

    @cached_property
    def _doubles(self) -> Array:
        return self.channel()

    @property
    def draws(self) -> tuple[int, ...]:
        return (self.total,)

    @classmethod
    def examples(cls) -> tuple[Channel, ...]:
        dice = [["4/6", "1/6", "1/6"], ["1/6", "4/6", "1/6"], ["1/12", "1/4", "2/3"]]
        return (
            cls([["11/12", "1/12"], ["1/6", "5/6"]], ["yes", "no"], ["yes", "no"]),
            cls([["1/25", "8/25", "16/25"], ["49/100", "42/100", "9/100"]], ["yes", "no"], 3),
            cls(dice, ["a", "b", "c"], ["a", "b", "c"], procedure="Roll a die, unseen."),
            cls([["1", "0", "0"], ["1/4", "1/4", "1/2"], ["1/4", "3/4", "0"]], 3, ["x", "y", "z"]),
            cls([["3/4", "1/4"], ["3/4", "1/4"], ["1/4", "3/4"]], ["beer", "wine", "water"], ["yes", "no"]),
        )

    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Integers:
        few = answers.size < self.k  # then only the rows of these answers are summed
        running = (self.weights[answers] if few else self.weights).cumsum(axis=1)
        rows = np.arange(answers.size) if few else answers
        reports = np.empty_like(answers)
        for start in range(0, answers.size, REPORTS_AT_ONCE):
            truth = rows[start : start + REPORTS_AT_ONCE]
            drawn = uniform(truth.size, self.total, random_bytes)
            reports[start : start + REPORTS_AT_ONCE] = _column_drawn(truth, drawn, running)
        return reports

    # Algebra

    def as_channel(self) -> Channel:
        return self

    def then(self, second: Design) -> Design:
        listed_design(second, "second")
        if self.outputs != second.domain:
            raise ValueError(
                "the reports of the first design must be the answers of the second, in the same order, but got "
                f"{first_and_last(self.outputs)} and {first_and_last(second.domain)}"
            )
        other = second.as_channel()
        total = self.total * other.total
        kind = np.int64 if total < TOTAL_LIMIT else object  # no sum of the product exceeds the total
        weights = self.weights.astype(kind) @ other.weights.astype(kind)
        return Channel.of_weights(self.domain, other.outputs, weights, total)

    def coarsened(self, groups: Mapping[Label, Sequence[Label]]) -> Channel:
        if not isinstance(groups, Mapping) or any(
            isinstance(members, str | bytes) or not isinstance(members, Sequence) for members in groups.values()
        ):
            raise TypeError(
                "groups must map answers of the design to lists of finer answers, such as {'drinks': ['beer', 'wine']}"
            )
        rows = np.repeat(self._rows_of(list(groups), "groups"), [len(members) for members in groups.values()])
        finer = canonical(list(chain.from_iterable(groups.values())), "groups")
        return Channel.of_weights(finer, self.outputs, self.weights[rows], self.total)

    def restricted(self, allowed: Sequence[Label]) -> Channel:
        labels = canonical(allowed, "allowed")
        rows = self._rows_of(labels, "allowed")
        return Channel.of_weights(labels, self.outputs, self.weights[rows], self.total, self.procedure)

    def _rows_of(self, labels: Sequence[object], name: str) -> list[int]:
        """Find the rows of answers, compared by value and type."""
        index = {(type(label), label): row for row, label in enumerate(self.domain)}
        wanted = [(int if isinstance(x, np.integer) else str if isinstance(x, np.str_) else type(x), x) for x in labels]
        strange = [label for kind, label in wanted if (kind, label) not in index]
        if strange:
            raise ValueError(f"{name} must name answers of the design, but {strange[0]!r} is none of them")
        return [index[pair] for pair in wanted]

    # Words and files

    def sentences(self) -> tuple[str, ...]:
        """Explain what happens to each answer, what a report reveals, and how deniable an answer is.

        The ``procedure`` comes first if there is one.

        >>> print(Channel([["11/12", "1/12"], ["1/6", "5/6"]], ["yes", "no"], ["yes", "no"]).in_words())
        Possible answers (2): yes, no
        Possible reports (2): yes, no
        Randomization of the answer yes: reported as yes with probability 0.9167, as no
        with probability 0.08333.
        Randomization of the answer no: reported as yes with probability 0.1667, as no
        with probability 0.8333.
        Privacy: epsilon 2.303. Seeing one report changes the odds between any two
        answers by at most a factor of 10.0.
        Deniability: if all answers are equally common, no report makes any answer more
        than 90.9 % certain.
        """
        matrix = self._doubles
        happens = []
        for label, row in zip(self.domain[:LABELS_LISTED], matrix, strict=False):
            likely = np.argsort(-row, kind="stable")[:LABELS_LISTED]
            ways = [f"as {self.outputs[j]} with probability {row[j]:.4g}" for j in sorted(likely) if row[j] > 0]
            more = ", and otherwise" if np.count_nonzero(row) > len(ways) else ""
            happens.append(f"Randomization of the answer {label}: reported {', '.join(ways)}{more}.")
        happens += [f"And so on for {self.k - LABELS_LISTED:,} more."] * (self.k > LABELS_LISTED)
        sums = matrix.sum(axis=0)
        surest = 100 * (matrix.max(axis=0)[sums > 0] / sums[sums > 0]).max()
        deniable = (
            "Deniability: if all answers are equally common, no report makes any answer more than "
            f"{surest:.3g} % certain."
        )
        does = [f"For the respondent: {self.procedure}"] if self.procedure else []
        return (
            *does,
            label_list("answers", self.domain),
            label_list("reports", self.outputs),
            *happens,
            revealed(self),
            deniable,
        )

    def contaminated(self, report: int, share: Fraction) -> Channel:
        """Return the design in which this share of the respondents gives one report whatever the answer."""
        weights = self.weights.astype(object) * (share.denominator - share.numerator)
        weights[:, report] += share.numerator * self.total
        return Channel.of_weights(self.domain, self.outputs, weights, self.total * share.denominator)

    def summary(self) -> str:
        return (
            f"Channel from {self.k} answers ({first_and_last(self.domain)}) to {len(self.outputs)} reports "
            f"({first_and_last(self.outputs)}): epsilon {self.shown_epsilon()}"
        )

    def fields(self) -> Document:
        texts = {"procedure": self.procedure, "name": self.name}
        return {
            "domain": labels_to_json(self.domain),
            "outputs": labels_to_json(self.outputs),
            "weights": [[str(weight) for weight in row] for row in self.weights.tolist()],
        } | {key: text for key, text in texts.items() if text}

    @classmethod
    def from_fields(cls, fields: Document) -> Self:
        procedure, name = (fields.get(key, "") for key in ("procedure", "name"))
        for key, text in (("procedure", procedure), ("name", name)):
            if not isinstance(text, str):
                raise ValueError(f"this design is damaged: {key} must be a text")
        domain = canonical(labels_from_json("domain", fields["domain"]))
        outputs = canonical(labels_from_json("outputs", fields["outputs"]), "outputs")
        rows = fields["weights"]
        shaped = isinstance(rows, list) and len(rows) == len(domain)
        if not shaped or not all(isinstance(row, list) and len(row) == len(outputs) for row in rows):
            raise ValueError(f"this design is damaged: weights must be {len(domain)} lists of {len(outputs)}")
        if not all(map(is_decimal, chain.from_iterable(rows))):
            raise ValueError("this design is damaged: weights must be whole numbers as decimal strings")
        weights = np.array([[int(part) for part in row] for row in rows], dtype=object)
        sums = set(weights.sum(axis=1).tolist())
        if len(sums) > 1 or sums == {0}:
            raise ValueError(
                f"this design is damaged: all rows of weights must have one sum above 0, but got {min(sums)}"
            )
        return cls.of_weights(domain, outputs, weights, sums.pop(), procedure, name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Channel):
            return NotImplemented
        same = (self.domain, self.outputs, self.total) == (other.domain, other.outputs, other.total)
        return same and bool(np.array_equal(self.weights, other.weights))

    def __hash__(self) -> int:
        return hash((self.domain, self.outputs, self.total, tuple(self.weights[0].tolist())))


class TableLaw(Law):
    """Law of a table of probabilities: counts of reports are multinomial."""

    design: Channel

    @property
    def columns(self) -> Labels:
        return self.design.outputs

    def likelihood(self, reports: Counts | None = None) -> ChannelOperator:
        return ChannelOperator.of_matrix(self.design._doubles if reports is None else self.design._doubles[:, reports])

    def _draw_counts_of_people(self, people: Integers, rng: np.random.Generator, shape: Shape = ()) -> Integers:
        rows = self.design._doubles / self.design._doubles.sum(axis=1, keepdims=True)
        return np.asarray(rng.multinomial(people, rows, size=(*shape, self.k)).sum(axis=-2))

    def sampling_model(
        self, estimand: Estimand, counts: Counts, n: Array, histogram: Counts | None = None
    ) -> SamplingModel:
        weights, identified = self._weights_of(estimand)
        # Half a report more of each kind, or a kind that was never seen would count as impossible. For fuzzy sets one
        # report of all kinds alike: there may be more kinds than reports, and the scores of all of them count.
        more = 1 / counts.shape[-1] if isinstance(estimand.sets, LinearCombination) else 0.5
        error = np.where(identified, self._errors(counts, n, weights, estimand.target, more), np.inf)
        count = np.asarray(counts @ weights, dtype=np.float64)
        base, gain, exact_ = np.zeros(error.shape[-1]), np.ones(error.shape[-1]), np.zeros(error.shape[-1], dtype=bool)
        expected = self._matrix.mean(axis=0)
        variances = expected @ weights**2 - (expected @ weights) ** 2
        for index, known in enumerate(self._binomials(estimand)):
            if known is not None and identified[index] and _nearly_best(known, expected, variances[index]):
                count[:, index] = counts[:, known.reports].sum(axis=-1)
                base[index], gain[index], exact_[index] = known.base, known.gain, True
        return SamplingModel(count, n, base, gain, exact_, error, (weights.min(axis=0), weights.max(axis=0)))

    def _weights_of(self, estimand: Estimand) -> tuple[Array, Mask]:
        """Return weights of the reports that are unbiased for the estimand, and which shares are identified."""
        sets, minus, _ = estimand
        if sets is None:
            return self.linear.weights(), self.linear.identifiable()
        weights = summed(self.linear.weights(), sets)
        identified = self._identified(weights, sets)
        if minus is None:
            return weights, identified
        other = summed(self.linear.weights(), minus)
        return weights - other, identified & self._identified(other, minus)

    def _errors(self, counts: Counts, n: Array, weights: Array, target: str, more: float) -> Array:
        """Return standard errors of linear combinations of observed shares, with `more` reports of each kind added."""
        if target == "population":
            observed = (counts + more) / (n + more * counts.shape[-1])
            variance = observed @ weights**2 - (observed @ weights) ** 2
        else:
            matrix = self._matrix
            given = matrix @ weights**2 - (matrix @ weights) ** 2  # of one report, by the answer that was given
            # One respondent more, spread over all answers, keeps the variance above 0.
            held = np.maximum((counts / n) @ self.linear.weights(), 0) + 1 / (n * self.k)
            variance = held @ given / held.sum(axis=-1, keepdims=True)
        return np.asarray(np.sqrt(np.maximum(variance, 0) / n))

    def _identified(self, weights: Array, sets: Sets) -> Mask:
        """Return True for each set whose weights are unbiased for its share in every population."""
        wanted = memberships(sets, self.k).T
        return np.asarray(np.abs(self._matrix @ weights - wanted).max(axis=0) <= INVERSE_TOLERANCE)

    @once_per_design
    def _single_answers(self) -> list[BinomialReports | None]:
        """For each answer the reports whose number is binomial in its share; `_binomial` for all answers at once."""
        weights, k = self.design.weights, self.k
        low, high = weights.min(axis=0), weights.max(axis=0)
        # First guess: reports that one answer makes more likely than all others do, equally.
        candidates = ((weights == low).sum(axis=0) == k - 1) & (high > low)
        owner = weights.argmax(axis=0)
        binomials: list[BinomialReports | None] = [None] * k
        for i in np.unique(owner[candidates]).tolist():
            reports = candidates & (owner == i)
            binomials[i] = self._count_model(reports, int(weights[i, reports].sum()), int(low[reports].sum()))
        if self.design.outputs == self.design.domain:  # second guess: the report that names the answer
            for i in (i for i in range(k) if binomials[i] is None):
                others = np.delete(weights[:, i], i)
                if (others == others[0]).all() and others[0] != weights[i, i]:
                    reports = np.arange(k) == i
                    binomials[i] = self._count_model(reports, int(weights[i, i]), int(others[0]))
        return binomials

    def _binomials(self, estimand: Estimand) -> list[BinomialReports | None]:
        """Find for each share a set of reports with a binomial count that depends on the share alone.

        Differences have such a set only with two answers, whose shares sum to one; fuzzy sets only for the population.
        """
        sets, minus, target = estimand
        if sets is None:
            return self._single_answers
        if minus is not None:
            # Two shares that sum to one: their difference is twice the first, less one.
            known = [self._binomial(members) if self.k == 2 else None for members in sets]
            return [x and BinomialReports(x.reports, x.base + x.gain / 2, x.gain / 2) for x in known]
        if not isinstance(sets, LinearCombination):
            return [self._binomial(members) for members in sets]
        if target != "population" or len(self.design.outputs) > 2:
            return [None] * len(sets)
        return [self._line(u) for u in sets.memberships]

    def _line(self, u: Array) -> BinomialReports | None:
        """Return the second of two reports if its probability is linear in the memberships u."""
        chance, (low, high) = self.design._doubles[:, 1], (u.argmin(), u.argmax())
        gain = (chance[high] - chance[low]) / (u[high] - u[low])
        base = chance[low] - gain * u[low]
        if gain == 0 or np.abs(base + gain * u - chance).max() > FUZZY_SET_TOLERANCE:
            return None
        return BinomialReports(np.array([False, True]), float(base), float(gain))

    def _binomial(self, members: Sequence[int]) -> BinomialReports | None:
        """Find reports that are equally likely after all answers of the set, and after all others.

        Two candidates are tried: reports that have this property one by one, and the reports that name the set's
        answers.
        """
        if len(members) == 1:
            return self._single_answers[members[0]]
        held = np.zeros(self.k, dtype=bool)
        held[list(members)] = True
        if held.all():
            return None
        inside, outside = self.design.weights[held], self.design.weights[~held]
        steady = (inside == inside[0]).all(axis=0) & (outside == outside[0]).all(axis=0)
        guesses = [np.asarray(steady & (inside[0] > outside[0]), dtype=bool)]
        guesses += [held] if self.design.outputs == self.design.domain else []
        for reports in guesses:
            within, without = (set(rows[:, reports].sum(axis=1).tolist()) for rows in (inside, outside))
            if len(within) == len(without) == 1 and within != without:
                return self._count_model(reports, within.pop(), without.pop())
        return None

    def _count_model(self, reports: Mask, within: int, without: int) -> BinomialReports:
        return BinomialReports(reports, without / self.design.total, (within - without) / self.design.total)


def _column_drawn(truth: Integers, drawn: Counts, running: Counts) -> Integers:
    """Count the running sums up to the draw by bisection, with the same steps for every answer."""
    drawn = drawn if drawn.dtype == object else drawn.astype(np.int64)
    if truth.size == 1:  # then all of them are counted
        return np.array([np.count_nonzero(running[truth[0]] <= drawn[0])])
    columns = running.shape[1]
    reached = np.zeros_like(truth)
    for power in reversed(range(columns.bit_length())):
        trial = np.minimum(reached + 2**power, columns)
        reached = np.where((running[truth, trial - 1] <= drawn).astype(bool, copy=False), trial, reached)
    return reached


def _nearly_best(known: BinomialReports, expected: Array, linear: float) -> bool:
    """Return True if a binomial count is about as precise as the best linear combination."""
    share = float(expected[known.reports].sum())
    return share * (1 - share) / known.gain**2 <= BINOMIAL_VARIANCE_RATIO * linear
