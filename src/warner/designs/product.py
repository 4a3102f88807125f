r"""Product designs: several questions at once, each with a separate device; joint answers, and joint reports.

A joint answer :math:`i = (i_1, \ldots, i_m)` has one answer to each question. The devices are independent, so that it
is reported as :math:`j = (j_1, \ldots, j_m)` with probability

.. math:: C_{ij} = \prod_q C^{(q)}_{i_q j_q}, \qquad C = C^{(1)} \otimes \cdots \otimes C^{(m)}.

That table is written out only where it is small. Its products with shares, its squares, its (pseudo-)inverse and the
variances of unbiased shares are those of the questions, one after the other (`mode_products`): with K answers to each
of m questions they take about :math:`m K^{m+1}` steps instead of :math:`K^{2m}`. And because everything factorizes:

- :math:`e^\varepsilon` is the product of those of the questions, so that epsilon is their sum;
- joint shares are identified if and only if the shares of each question are: a product of invertible tables is
  invertible.

A worked number: two questions at odds 3 : 1 among two and three answers. The joint report is the truth with probability
:math:`\frac34 \cdot \frac35 = \frac9{20}`, and :math:`\varepsilon = 2 \ln 3 \approx 2.1973` (rounded up).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.designs.channel import Channel
from warner.designs.contract import LARGEST_CHANNEL, Design, listed_design, revealed
from warner.designs.exact import TOTAL_LIMIT
from warner.designs.facts import ChannelOperator, Estimand, ProbabilityBounds, SamplingModel, memberships, nearer_ends
from warner.designs.labels import LABELS_LISTED, Labels, canonical, label_list
from warner.designs.law import INVERSE_TOLERANCE, Law, LinearEstimator, once_per_design
from warner.designs.report_forms import LabelForm
from warner.text import enumerated, percent, quoted

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers, Mask, Sets, Shape
    from warner.designs.draws import RandomBytes
    from warner.documents import Document

JOINT_SEPARATOR = " & "  # between the labels of a joint answer
MOST_JOINT_ANSWERS = 2**16  # joint answers, and joint reports
MERGED_TABLE_ROWS = 64  # rows and columns up to which the tables of neighboring questions are multiplied out
JOINT_TABLE_CELLS = 2**20  # of the table of all joint answers and reports, up to which it is written out


@dataclass(frozen=True, init=False, repr=False)
class Product(Design):
    """Ask several questions, each with a separate randomizing device.

    Answers and reports are joint ones: they name the answers to all questions, in the order of the questions and with
    " & " between them. The last question changes fastest.

    Parameters
    ----------
    designs : mapping of str to Design, or sequence of Design
        Design of each question, by the name of the question; without names they are called
        "question 1" and so on. At least two. Reports must name one thing each, as those of `RandomizedResponse` and
        `Channel` do; there may be at most 65,536 joint answers, and as many joint reports.

    Attributes
    ----------
    questions : tuple of str
        The names of the questions.
    designs : tuple of Design
        Design of each question.

    Notes
    -----
    The devices must be independent: a die that is rolled once, for all questions together, is another design. What all
    reports of a respondent reveal together is the sum of the epsilons.

    Examples
    --------
    >>> from warner import RandomizedResponse
    >>> coin = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> both = Product({"cheated": coin, "copied": coin})
    >>> both
    <Product of 2 questions (cheated, copied): 4 joint answers, epsilon 2.198>
    >>> both.domain
    ('yes & yes', 'yes & no', 'no & yes', 'no & no')
    >>> both.law.likelihood().forward(np.array([1.0, 0, 0, 0]))
    array([0.5625, 0.1875, 0.1875, 0.0625])
    """

    questions: tuple[str, ...]
    designs: tuple[Design, ...]

    mechanism = "product"
    field_names = frozenset({"questions", "designs"})

    @property
    def law(self) -> ProductLaw:
        return ProductLaw(self)

    def __init__(self, designs: Mapping[str, Design] | Sequence[Design]) -> None:
        given: Any = designs
        if not isinstance(given, Mapping | list | tuple):
            raise TypeError(f"designs must be a mapping or a list of designs, but got {type(given).__name__}")
        named = given if isinstance(given, Mapping) else {f"question {i + 1}": part for i, part in enumerate(given)}
        names, parts = tuple(named), tuple(named.values())
        if len(parts) < 2:
            raise ValueError(f"designs must be those of two questions or more, but got {len(parts)}")
        self._ask(names, parts)

    @classmethod
    def of_one_question(cls, name: str, design: Design) -> Product:
        """Return the product of a single question, whose reports are counted as joint ones; it cannot be saved."""
        product = cls.__new__(cls)
        product._ask((name,), (design,))
        return product

    def _ask(self, names: tuple[Any, ...], parts: tuple[Any, ...]) -> None:
        _refuse_parts(names, parts)
        self._set(questions=names, designs=parts)
        _refuse_many("answers", self.sizes)
        _refuse_many("reports", self.widths)

    # Joint labels

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of answers to each question: the shape of a table of joint shares."""
        return tuple(design.k for design in self.designs)

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of possible reports to each question: the shape of a table of joint counts."""
        return tuple(len(design.law.columns) for design in self.designs)

    @cached_property
    def domain(self) -> Labels:  # type: ignore[override]
        """Joint answers."""
        return _joint([design.domain for design in self.designs], "answers")

    @property
    def k(self) -> int:
        return math.prod(self.sizes)

    @cached_property
    def ratio(self) -> tuple[int, int]:
        """Products of the two whole numbers of each question."""
        low, high = zip(*(design.ratio for design in self.designs), strict=True)
        return math.prod(low), math.prod(high)

    @cached_property
    def tables(self) -> tuple[Array, ...]:
        """Table of each question."""
        return tuple(_table_of(design) for design in self.designs)

    # Reports

    @property
    def draws(self) -> tuple[int, ...]:
        return tuple(below for design in self.designs for below in design.draws)

    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Integers:
        parts = zip(self.designs, self.split(answers), strict=True)
        return np.asarray(self.joined([design.draw(codes, random_bytes) for design, codes in parts]), dtype=np.int64)

    def split(self, answers: Integers) -> tuple[Integers, ...]:
        """Return the answers to each question from joint answers, all in codes."""
        return tuple(np.unravel_index(answers, self.sizes))

    def joined(self, reports: Sequence[Integers]) -> Integers:
        """Return joint reports from reports to each question, all in codes.

        >>> from warner import RandomizedResponse
        >>> both = Product([RandomizedResponse(["yes", "no"], truth="3/4"), RandomizedResponse(3, odds=(3, 1))])
        >>> both.joined([np.array([0, 1]), np.array([2, 0])]).tolist()  # yes & 2, no & 0
        [2, 3]
        """
        return np.asarray(np.ravel_multi_index(tuple(reports), self.widths))

    # Algebra, words and files

    def as_channel(self) -> Channel:
        if self.k * len(self.law.columns) > JOINT_TABLE_CELLS:
            raise ValueError(
                f"a table of {self.k:,} joint answers and {len(self.law.columns):,} joint reports would fill the "
                "memory; ask for fewer questions at a time"
            )
        parts = [design.as_channel() for design in self.designs]
        total = math.prod(part.total for part in parts)
        kind = np.int64 if total < TOTAL_LIMIT else object
        weights = kronecker([part.weights.astype(kind) for part in parts])
        return Channel.of_weights(self.domain, self.law.columns, weights, total)

    def among(self, questions: Sequence[int]) -> Product:
        """Return the design of some of the questions, by position: two at least."""
        return Product({self.questions[index]: self.designs[index] for index in questions})

    @classmethod
    def examples(cls) -> tuple[Product, ...]:
        from warner.designs.response import RandomizedResponse

        coin = RandomizedResponse(["yes", "no"], odds=(3, 1))
        forced = Channel([["11/12", "1/12"], ["1/6", "5/6"]], ["yes", "no"], ["yes", "no"])
        cards = Channel([["1/6", "1/3", "1/2"], ["1/2", "1/3", "1/6"]], ["user", "other"], 3)
        alike = Channel([["3/4", "1/4"], ["3/4", "1/4"], ["1/4", "3/4"]], ["beer", "wine", "water"], ["yes", "no"])
        return (
            cls({"cheated": coin, "how often": RandomizedResponse(3, odds=(3, 1))}),
            cls([forced, cards]),
            cls([coin, RandomizedResponse(2, odds=(1, 2)), coin]),
            cls([Channel([[1, 0], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"]), coin]),
            cls([alike, coin]),
        )

    def sentences(self) -> tuple[str, ...]:
        """Explain what happens to each answer, what the reports to all questions reveal, and how deniable they are.

        >>> from warner import RandomizedResponse
        >>> coin = RandomizedResponse(["yes", "no"], truth="3/4")
        >>> print(Product({"cheated": coin, "copied": coin}).in_words())
        Questions (2): cheated, copied. Each has its own randomizing device.
        Possible answers (4): yes & yes, yes & no, no & yes, no & no
        Randomization of 'cheated': RandomizedResponse among 2 answers ('yes', 'no'):
        truth 0.75, each lie 0.25, epsilon 1.099.
        Randomization of 'copied': RandomizedResponse among 2 answers ('yes', 'no'):
        truth 0.75, each lie 0.25, epsilon 1.099.
        Privacy: epsilon 2.198. Seeing one report changes the odds between any two
        answers by at most a factor of 9.0.
        A respondent who answers all questions spends the sum of their epsilons.
        Deniability: if all joint answers are equally common, no report makes any of
        them more than 56.2 % certain.
        """
        parts = list(zip(self.questions, self.designs, strict=True))
        happens = [f"Randomization of {quoted(name)}: {part.summary()}." for name, part in parts[:LABELS_LISTED]]
        happens += [f"And so on for {len(parts) - LABELS_LISTED} more questions."] * (len(parts) > LABELS_LISTED)
        surest = percent(math.prod(_surest(table) for table in self.tables), 1)
        asked = f"Questions ({len(parts)}): {enumerated(self.questions, LABELS_LISTED)}"
        deniable = (
            "Deniability: if all joint answers are equally common, no report makes any of them more than "
            f"{surest} certain."
        )
        again = (
            "A respondent who answers again spends all of it again: a product keeps no permanent responses, even if "
            "its parts do."
        )
        return (
            f"{asked}. Each has its own randomizing device.",
            label_list("answers", self.domain),
            *([] if self.law.columns == self.domain else [label_list("reports", self.law.columns)]),
            *happens,
            revealed(self),
            "A respondent who answers all questions spends the sum of their epsilons.",
            *([again] if any(part.repetition() for part in self.designs) else []),
            deniable,
        )

    def summary(self) -> str:
        return (
            f"Product of {len(self.designs)} questions ({enumerated(self.questions, 4)}): {self.k:,} joint answers, "
            f"epsilon {self.shown_epsilon()}"
        )

    def fields(self) -> Document:
        return {"questions": list(self.questions), "designs": [design.to_dict() for design in self.designs]}

    @classmethod
    def from_fields(cls, fields: Document) -> Product:
        made = cls(designs_by_question(fields))
        _ = made.domain, made.law.columns  # joint labels that look alike raise an error here
        return made


def designs_by_question(fields: Document) -> dict[str, Design]:
    """Read the fields questions and designs, two lists."""
    from warner.designs import design_from_dict

    names, designs = fields["questions"], fields["designs"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("this design is damaged: questions must be a list of names")
    if not isinstance(designs, list) or len(designs) != len(names):
        raise ValueError(f"this design is damaged: designs must be a list of {len(names)}, one for each question")
    if len(set(names)) < len(names):
        raise ValueError("this design is damaged: a question is named twice")
    return dict(zip(names, map(design_from_dict, designs), strict=True))


class ProductLaw(Law):
    """Law of joint reports: products of the laws of the questions."""

    design: Product

    @once_per_design
    def columns(self) -> Labels:
        return _joint([design.law.columns for design in self.design.designs], "reports")

    @once_per_design
    def _merged(self) -> tuple[Array, ...]:
        return merged(self.design.tables)

    @once_per_design
    def _ranges(self) -> tuple[Array, Array, Array]:
        """Least, largest and average entry of each column of the joint table: products of those of the questions."""
        facts = (np.min, np.max, np.mean)
        least, most, average = (kronecker([fact(table, axis=0) for table in self.design.tables]) for fact in facts)
        return least, most, average

    @once_per_design
    def _inverses(self) -> tuple[Array, ...]:
        return merged([design.law.linear.weights() for design in self.design.designs])

    def likelihood(self, reports: Counts | None = None) -> ChannelOperator:
        tables = self._merged
        turned = [table.T for table in tables]
        squared = [table.T**2 for table in tables]
        usual = nearer_ends(*self._ranges)

        def squares(weights: Array) -> Array:
            # sum (C - c)^2 w = sum C^2 w - 2 sum C c w + sum c^2 w
            mixed = mode_products(weights, squared) - 2 * mode_products(usual * weights, turned)
            return np.maximum(mixed + (weights @ usual**2)[..., np.newaxis], 0)

        small = self.k * len(usual) <= JOINT_TABLE_CELLS
        whole = ChannelOperator(
            (self.k, len(usual)),
            lambda shares: mode_products(shares, tables),
            lambda weights: mode_products(weights, turned),
            (lambda: kronecker(self.design.tables)) if small else None,
            squares,
        )
        return whole if reports is None else whole.of_reports(reports)

    def bounds(self) -> ProbabilityBounds:
        least, most, _ = self._ranges
        return ProbabilityBounds(least, most)

    @property
    def linear(self) -> ProductEstimator:
        return ProductEstimator(self)

    def _draw_counts_of_people(self, people: Integers, rng: np.random.Generator, shape: Shape = ()) -> Integers:
        drawn = np.broadcast_to(people, (*shape, people.size))
        for table in self.design.tables:
            rows = table / table.sum(axis=1, keepdims=True)
            alike = np.swapaxes(drawn.reshape(*shape, len(rows), -1), -1, -2)
            drawn = rng.multinomial(alike, rows).sum(axis=-2).reshape(*shape, -1)
        return np.asarray(drawn)

    def sampling_model(
        self, estimand: Estimand, counts: Counts, n: Array, histogram: Counts | None = None
    ) -> SamplingModel:
        # Scores of joint reports whose mean is a share: a Kronecker product, or one table for sets of joint answers.
        sets, minus, target = estimand
        if sets is None:
            factors, known = self._inverses, self.linear.identifiable()
        else:
            weights, known = self._weights(sets)
            if minus is not None:
                others, others_identified = self._weights(minus)
                weights, known = weights - others, known & others_identified
            factors = (weights.T,)

        def means(parts: Sequence[Array]) -> list[Array]:
            """Return the means of functions of the reports given each answer."""
            if sets is None:
                return [table @ part for table, part in zip(self._merged, parts, strict=True)]
            return [mode_products(part.T, [table.T for table in self._merged]).T for part in parts]

        squares = [factor**2 for factor in factors]
        if target == "population":
            # About one report more, spread over all kinds, or a kind that was never seen would count as impossible. A
            # half of each kind, as with few kinds, would here outnumber the reports.
            more = 0.5 * max(self.design.widths)
            observed = (counts + more / counts.shape[-1]) / (n + more)
            variance = mode_products(observed, squares) - mode_products(observed, factors) ** 2
        else:
            held = np.maximum(self.linear.apply(counts / n), 0) + 1 / (n * self.k)
            held = held / held.sum(axis=-1, keepdims=True)
            variance = mode_products(held, means(squares)) - mode_products(held, [part**2 for part in means(factors)])
        error = np.where(known, np.sqrt(np.maximum(variance, 0) / n), np.inf)
        count = np.asarray(mode_products(counts, factors), dtype=np.float64)
        least_and_most = product_ranges([(factor.min(axis=0), factor.max(axis=0)) for factor in factors])
        return SamplingModel(count, n, 0.0, 1.0, np.zeros(known.size, dtype=bool), error, least_and_most)

    def _weights(self, sets: Sets) -> tuple[Array, Mask]:
        """Return unbiased weights of joint reports for each set, a row each, and whether the share is identified."""
        wanted = memberships(sets, self.k)
        weights = mode_products(wanted, [inverse.T for inverse in self._inverses])
        given = mode_products(weights, [table.T for table in self._merged])
        return weights, np.asarray(np.abs(given - wanted).max(axis=1) <= INVERSE_TOLERANCE)


class ProductEstimator(LinearEstimator):
    """Unbiased joint shares, by the weights of each question."""

    law: ProductLaw

    def apply(self, observed: Array) -> Array:
        return mode_products(observed, self.law._inverses)

    def weights(self) -> Array:
        k, columns = self.law.k, len(self.law.columns)
        if k * columns > JOINT_TABLE_CELLS:
            raise ValueError(
                f"the inverse of {k:,} joint answers and {columns:,} joint reports would fill the "
                "memory; linear.apply() gives the shares without it"
            )
        return kronecker([design.law.linear.weights() for design in self.law.design.designs])

    def identifiable(self) -> Mask:
        parts = [design.law.linear.identifiable() for design in self.law.design.designs]
        return np.asarray(reduce(np.logical_and.outer, parts).ravel())

    def influence(self) -> float:
        parts = [design.law.linear.weights() for design in self.law.design.designs]
        least, most = product_ranges([(weights.min(axis=0), weights.max(axis=0)) for weights in parts])
        return float((most - least).max())


def _joint(labels: Sequence[Labels], what: str) -> Labels:
    """Return joint labels, the last question changing fastest; raise an error for labels that look identical."""
    joint = [JOINT_SEPARATOR.join(map(str, cell)) for cell in product(*labels)]
    if len(set(joint)) < len(joint):
        twice = Counter(joint).most_common(1)[0][0]
        raise ValueError(
            f"joint {what} must differ, but {twice!r} can be read in two ways; rename what holds {JOINT_SEPARATOR!r}"
        )
    return canonical(joint)


def _table_of(design: Design) -> Array:
    matrix = design.law.likelihood().matrix
    assert matrix is not None  # of a design with so few answers
    return matrix()


def _surest(table: Array) -> float:
    sums = table.sum(axis=0)
    return float((table.max(axis=0)[sums > 0] / sums[sums > 0]).max())


def _refuse_parts(names: tuple[Any, ...], parts: tuple[Any, ...]) -> None:
    for name, design in zip(names, parts, strict=True):
        if not isinstance(name, str) or not name:
            raise TypeError(f"questions must have names that are texts, but got {name!r}")
        listed_design(design, f"the design of {quoted(name)}")
        if not design.law.exclusive:
            raise ValueError(
                f"a report to {quoted(name)} must name one thing, but under {design.mechanism} it supports several "
                "answers; ask that question with a RandomizedResponse or a Channel"
            )
        if design.k > LARGEST_CHANNEL:
            raise ValueError(
                f"the question {quoted(name)} must have at most {LARGEST_CHANNEL:,} answers, but has {design.k:,}; "
                "ask it on a coarser grid, or merge answers"
            )
        if design.report_form != LabelForm(design.law.columns):  # a set of one answer, or the number of one
            raise ValueError(
                f"a report to {quoted(name)} must be written as a label, but under {design.mechanism} it is not; ask "
                "that question with a RandomizedResponse"
            )


def _refuse_many(what: str, sizes: tuple[int, ...]) -> None:
    if math.prod(sizes) > MOST_JOINT_ANSWERS:
        shape = " x ".join(map(str, sizes))
        raise ValueError(
            f"there must be at most {MOST_JOINT_ANSWERS:,} joint {what}, but {shape} are {math.prod(sizes):,}; take "
            "fewer questions at a time, such as pairs"
        )


# Tables of several questions multiplied together, without writing their product out


def mode_products(values: Array, tables: Sequence[Array]) -> Array:
    r"""Multiply by a Kronecker product, :math:`v (T_1 \otimes \cdots \otimes T_m)`, one table after the other.

    `values` have shape (..., rows of all tables multiplied). Each step contracts the first axis that is left with its
    table and puts it last, so that after all of them the axes are in their order again.

    >>> mode_products(np.array([1.0, 2, 3, 4]), [np.eye(2), np.array([[1.0], [1.0]])])  # adds up pairs
    array([3., 7.])
    """
    if len(tables) == 1:  # one product for all leading axes is faster
        return np.asarray(values @ tables[0])
    leading = values.shape[:-1]
    for table in tables:
        unfolded = values.reshape(*leading, len(table), -1)
        values = (np.swapaxes(unfolded, -1, -2) @ table).reshape(*leading, -1)
    return values


def kronecker(tables: Sequence[Counts]) -> Counts:
    """Return the Kronecker product of tables."""
    return np.asarray(reduce(np.kron, tables))


def product_ranges(factors: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Bound products of numbers, one from each range (least, most), for each combination of ranges.

    >>> product_ranges([(np.array([-1.0]), np.array([2.0])), (np.array([0.0, -3.0]), np.array([1.0, 4.0]))])
    (array([-1., -6.]), array([2., 8.]))
    """
    least, most = np.ones(1), np.ones(1)
    for low, high in factors:
        ends = np.array([np.kron(one, other) for one in (least, most) for other in (low, high)])
        least, most = ends.min(axis=0), ends.max(axis=0)
    return least, most


def merged(tables: Sequence[Array]) -> tuple[Array, ...]:
    """Multiply the tables of neighboring questions as long as the products stay small."""
    blocks = [tables[0]]
    for table in tables[1:]:
        if max(np.multiply(blocks[-1].shape, table.shape)) <= MERGED_TABLE_ROWS:
            blocks[-1] = kronecker([blocks[-1], table])
        else:
            blocks.append(table)
    return tuple(blocks)
