r"""associate: association between the answers to several randomized questions, or to one and a number.

- *Independence*: the table of reports is tested exactly, and without any model (`independence`).
- *Joint shares*: :math:`\theta` maximizes the likelihood of the table of reports under the product of the designs
  (`warner.designs.product`), with proof. (Twice the difference of its log-likelihood and that of independent shares
  equals G of the table of reports where the maximum is interior and the designs have as many reports as answers. On the
  boundary it is smaller and not chi-square, so it is not used as a test.)
- *Strength*: differences of joint shares and products of the marginals, the correlation of two answers, Cramér's V and
  the odds ratio.

**Cost of several questions.** A joint share is estimated with the variance :math:`\frac1n (\sum_j \mu_j M_{ij}^2 -
\theta_i^2)`, and for independent questions the sum is the product of the sums of the questions: the noise multiplies,
while the share itself gets smaller. So beyond three questions pairs are more informative than the whole table.

A row counts if it has a report to every question, and a number in the numeric column; all others are left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, starmap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.association.independence import costs_of, independence, pair_of, parts_of, with_numbers
from warner.designs.facts import added_up
from warner.designs.labels import MISSING, OUTSIDE, all_labels
from warner.designs.product import Product
from warner.estimation import Estimate, estimated
from warner.estimators import MOST_LIKELY
from warner.inference.intervals import Confidence
from warner.inference.means import numbers_by_question, values_of
from warner.regression.formulas import refuse_infinite
from warner.reports.counts import as_histograms, refuse_impossible, refuse_unknown, unknown_values
from warner.reports.dialects import refuse_codes_of_reports
from warner.reports.files import are_paths
from warner.reports.loading import Loaded, Selection, load, opened
from warner.reports.options import Codes, Columns, Conditions, Reading
from warner.reports.samples import effective_number
from warner.reports.tallies import Tally
from warner.results import Column, Estimates, TableResult, with_library
from warner.simulate import seeded_by
from warner.text import amount, conjoined, counted, enumerated, level_text, percent, quoted, rounded_up
from warner.typesetting import Printed, in_digits, labels, p_value_cells, plain_table

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers, Mask
    from warner.association.independence import Correlation, Cost, Independence, QuestionPair
    from warner.designs.contract import Design
    from warner.documents import Document


# Crosstables


class NumericColumn(NamedTuple):
    """Numeric column beside the reports: its name, and number, reports and weights of each distinct row."""

    name: str
    values: Array
    reports: tuple[Integers, ...]
    weight: Array
    square: Array


@dataclass(frozen=True, eq=False)
class Crosstable:
    """Counts of the combinations of reports to several questions."""

    design: Product  # of the designs of the questions
    counts: Counts  # respondents, or sums of their weights, with an axis for each question
    squares: Counts | None = None  # with weights, sums of squared weights
    missing: int = 0  # rows left out for a missing value
    unknown: int = 0  # for an invalid report
    measured: NumericColumn | None = None
    library: str | None = None  # of the data frame that the reports came in
    skipped_files: Mapping[str, str] = field(default_factory=dict)

    @property
    def n(self) -> float:
        """Number of respondents, or the sum of their weights."""
        return self.counts.sum().item()  # type: ignore[no-any-return]

    @property
    def effective(self) -> float | None:
        """Effective sample size; None without weights."""
        return None if self.squares is None else float(effective_number(self.n, self.squares.sum()))

    @property
    def square(self) -> Array:
        return np.asarray(self.counts if self.squares is None else self.squares, dtype=np.float64)

    def among(self, questions: tuple[int, ...]) -> Crosstable:
        """Marginal table of the given questions."""
        others = tuple(index for index in range(self.counts.ndim) if index not in questions)
        squares = None if self.squares is None else self.squares.sum(axis=others)
        return Crosstable(self.design.among(questions), self.counts.sum(axis=others), squares)

    def tally(self) -> Tally:
        squares = None if self.squares is None else float(self.squares.sum())
        return Tally(self.design, self.counts.ravel(), squares=squares, missing=self.missing, unknown=self.unknown)


def crosstable(data: Any, design: Product, columns: Columns, reading: Reading, numeric: str | None) -> Crosstable:
    if isinstance(data, list | tuple | np.ndarray) and not are_paths(data):
        if any(value is not None for value in (*vars(columns).values(), numeric)):
            raise TypeError(
                "weights, counts, numeric and where name columns, and must be left out for a table of counts"
            )
        if not reading.plain or reading.skip_bad_files:
            raise TypeError(
                "missing, sheet, encoding, decimal and skip_bad_files must be left out for a table of counts"
            )
        return _of_counts(data, design)
    if numeric in design.questions:
        raise ValueError(f"numeric must be a column of its own, but {numeric!r} holds reports")
    forms = {name: (part.report_form,) for name, part in zip(design.questions, design.designs, strict=True)}
    wanted = Selection(forms, () if numeric is None else (numeric,), columns.weights, columns.counts, columns.rows)
    for part in design.designs:
        refuse_codes_of_reports(reading, part.report_form)
    with opened(data, reading, names=design.questions) as source:
        loaded = load(source, wanted, few=design.designs[0].report_form, drop=reading.drop)
    return _crosstable(loaded, design, numeric, drop=reading.drop)


def _of_counts(data: Any, design: Product) -> Crosstable:
    table = np.asarray(data)
    if table.shape != design.widths:
        shape = " x ".join(map(str, design.widths))
        raise ValueError(
            f"a table of counts must have the shape {shape}, one axis for each question and one entry for each of its "
            f"reports, but got shape {table.shape}"
        )
    if table.dtype.kind not in "iu":
        raise TypeError(f"a table of counts must hold whole numbers, but got {table.dtype}")
    return _checked(Crosstable(design, table))


def _checked(table: Crosstable) -> Crosstable:
    flat = as_histograms(table.counts.ravel(), table.counts.size).counts
    refuse_impossible(flat, table.design.law)
    if not flat.sum():
        rows = "row" if table.missing == 1 else "rows"
        left_out = f" ({table.missing:,} {rows} had missing values, {table.unknown:,} had invalid values)"
        raise ValueError(
            f"there must be at least one respondent with a report to every question, but there is none{left_out}"
        )
    return table


# Columns and amounts to joint reports


def _crosstable(loaded: Loaded, design: Product, numeric: str | None, *, drop: bool) -> Crosstable:
    """Count joint reports of the rows with a report to every question."""
    number = loaded.numbers
    reports, status = _codes(loaded, design, number, drop=drop)
    absent: Mask = (status == MISSING).any(axis=0)
    column = None if numeric is None else loaded.column(numeric)
    if column is not None and column.values.dtype.kind not in "iufb":
        raise TypeError(f"numeric must be a column of numbers, but {numeric!r} holds texts")
    if column is not None:
        absent |= column.missing
    invalid = (status == OUTSIDE).any(axis=0) & ~absent
    complete = ~absent & ~invalid
    known = tuple(part[complete] for part in reports)
    cells = design.joined(known)

    def summed(amounts: Counts) -> Counts:
        return added_up(cells, amounts[complete], len(design.law.columns)).reshape(design.widths)

    counts = summed(number if loaded.weight is None else loaded.weight)
    squares = None if loaded.square is None else summed(loaded.square)
    measured = None
    if numeric is not None and column is not None:
        refuse_infinite(numeric, column.values[complete])
        weight = np.asarray(number if loaded.weight is None else loaded.weight, dtype=np.float64)[complete]
        square = weight if loaded.square is None else loaded.square[complete]
        values = column.values[complete].astype(np.float64)
        # In an order of their own: engines give rows in any order, and the last digits of sums depend on it.
        order = np.lexsort((square, weight, *known, values))
        reported = tuple(part[order] for part in known)
        measured = NumericColumn(numeric, values[order], reported, weight[order], square[order])
    left_out = int(number[absent].sum()), int(number[invalid].sum())
    return _checked(Crosstable(design, counts, squares, *left_out, measured, loaded.library, loaded.skipped_files))


def _codes(loaded: Loaded, design: Product, number: Integers, *, drop: bool) -> tuple[list[Integers], Integers]:
    """Read the reports to every question, and their status, (questions, rows)."""
    reports: list[Integers] = []
    statuses = []
    for name, part in zip(design.questions, design.designs, strict=True):
        form, values = part.report_form, loaded.reports(name)
        codes, status = form.read(values, text=loaded.text)
        if loaded.kind is not None and not reports:  # invalid values were lumped together
            status = np.where(loaded.kind < 0, loaded.kind, status)
        if not drop:
            outside = int(number[status == OUTSIDE].sum())
            refuse_unknown(outside, unknown_values(values, status), form, f"reports to {name!r}")
        reports.append(codes)
        statuses.append(status)
    return reports, np.array(statuses)


# Associations


ROWS_SHOWN = 12  # joint answers, and pairs, in a text
ASSOCIATION_COLUMNS = {"reports", "share", "se", "low", "high", "independent", "difference"}  # of the table
NEGLIGIBLE_PROOF_GAP = 1e-6  # nats for the whole sample: a smaller gap is not told
DOUBTFUL_GAP = 1e-3  # nats for the whole sample: a gap above it is worth a warning
QUESTIONS_FOR_JOINT_TABLE = 3  # questions, up to which the whole table is looked at first
ANSWERS_IN_SMALL_TABLE = 20  # joint answers of two questions, up to which all correlations are told in the text


@dataclass(frozen=True, eq=False, repr=False)
class Association(TableResult):
    """Association between the answers to several questions."""

    crosstable: Crosstable  #: Counts of each combination of reports, with the designs and the number of rows left out.
    joint: Estimate  #: The most likely joint shares, with their certificate, and intervals.
    tested: Independence | None  #: The test that all questions are independent, `test`; None for one question.
    pairs: tuple[QuestionPair, ...]  #: All pairs of questions.
    numeric: tuple[Correlation, ...]  #: Correlations of each answer with the numeric column, if there is one.
    costs: tuple[Cost, ...]  #: Precision lost by asking one question, two, and so on; empty for one question.
    level: float  #: Confidence level of the intervals.

    @property
    def test(self) -> Independence:
        """Test the independence of all questions; raise an error for a single question."""
        if self.tested is None:
            raise AttributeError("one question has no test of independence; its correlations are in numeric")
        return self.tested

    @property
    def design(self) -> Product:
        """Product of the designs of the questions."""
        return self.crosstable.design

    @property
    def shares(self) -> Array:
        """Most likely joint shares, with an axis for each question."""
        return self.joint.shares.reshape(self.design.sizes)

    @property
    def marginals(self) -> dict[str, Array]:
        """Shares of the answers to each question."""
        axes = range(self.shares.ndim)
        return {
            name: self.shares.sum(axis=tuple(other for other in axes if other != axis))
            for axis, name in enumerate(self.design.questions)
        }

    @property
    def unique(self) -> bool:
        """Return True if the joint shares are proven to be the only most likely ones."""
        return bool(self.joint.certificate is not None and self.joint.certificate.unique)

    @property
    def approximate(self) -> bool:
        """Return True if the test of independence, or without a test every interval, is approximate."""
        return self.tested is None or not self.tested.exact

    _rows_key = "joint"

    def _columns(self) -> list[Column]:
        """Return the columns, a row for each joint answer: a column for each question, then the numbers.

        These are ``reports``, where reports are named like answers, ``se`` of the unbiased estimate, and with several
        questions ``independent`` (the product of the marginal shares) and ``difference`` (share minus that).
        """
        cells = np.indices(self.design.sizes).reshape(len(self.design.designs), -1)
        questions = zip(self.design.questions, self.design.designs, cells, strict=True)
        answers: dict[str, Counts] = {name: all_labels(part.domain)[codes] for name, part, codes in questions}
        rows = self.joint.table(self.level)
        known = {name: column for name, column in rows.items() if name in ASSOCIATION_COLUMNS}
        further = {}
        if self.tested is not None:
            independent = self._independent.ravel()
            known |= {"independent": independent, "difference": rows["share"] - independent}
            further["if independent"] = independent
        about = f"approximate {level_text(self.level)} interval (%)"
        return [
            *(Column(name, column, name, partial(labels, column)) for name, column in answers.items()),
            *starmap(Column, known.items()),
            *Estimates.of_table(known, "share", unit="share").shown("share", about, further=further),
        ]

    def _title(self) -> str:
        joint = "Shares" if self.tested is None else "Joint shares"
        return f"{joint} of the answers to {conjoined([quoted(name) for name in self.design.questions])}"

    def _footnotes(self) -> list[str]:
        effective, about = self.crosstable.effective, "intervals" if self.tested is None else "tests and intervals"
        weights = f"all {about} are approximate: weights count as {effective or 0:,.1f} respondents"
        return [
            self._respondents(),
            *([] if self.tested is None else [f"Independence of the true answers: {self.tested.text()}."]),
            *([] if effective is None else [weights]),
            self._proof(),
            *self._sizes(),
            self._privacy(),
            *(f"warning: {doubt}" for doubt in self.warnings()),
        ]

    @property
    def _independent(self) -> Array:
        shares = np.ones(())
        for marginal in self.marginals.values():
            shares = np.multiply.outer(shares, marginal)
        return shares

    def warnings(self) -> list[str]:
        """Return warnings on the results."""
        design, proof = self.design, self.joint.certificate
        warnings = self.joint.warnings()
        if not self.unique:
            warnings.append(
                "the most likely joint shares are not known to be unique: others may fit the reports as well"
            )
        if proof is not None and proof.gap > DOUBTFUL_GAP:
            warnings.append(f"the joint shares may lack up to {proof.gap:.2g} nats of log-likelihood")
        blurred = [name for name, part in parts_of(design) if not part.law.linear.identifiable().all()]
        if blurred:
            unproven = "reports that look independent do not prove that the answers are"
            warnings.append(
                f"reports to {enumerated(blurred, 5)} do not distinguish all answers"
                + ("" if self.tested is None else f": {unproven}")
            )
        correlations = [*(each for pair in self.pairs for each in pair.correlations), *self.numeric]
        outside = sum(each.outside for each in correlations)
        if outside:
            number = counted(outside, "correlation is", "correlations are")
            warnings.append(f"{number} estimated outside -1 to 1, by sampling error: there are too few respondents")
        return warnings

    def text(self) -> str:
        """Return the table, the largest shares first, the pairs of questions, and the cost of several questions."""
        table = self._printed()
        order = np.argsort(-self.joint.shares, kind="stable").tolist()
        columns = {name: [texts[index] for index in order] for name, texts in table.columns.items()}
        first = plain_table(table._replace(columns=columns), ROWS_SHOWN)
        pairs = [plain_table(self._table_of_pairs(), ROWS_SHOWN)] if len(self.pairs) > 1 else []
        costs = [plain_table(self._table_of_costs())] if self.costs else []
        return "\n\n".join([first, *pairs, *costs])

    def _respondents(self) -> str:
        table = self.crosstable
        number = f"N = {amount(table.n)} {'weighted ' * self.joint.tally.weighted}respondents"
        left_out = [
            f"{counted(number, 'row', 'rows')} with {what} left out"
            for number, what in ((table.missing, "something missing"), (table.unknown, "an invalid report"))
            if number
        ]
        return ", ".join([number, *left_out])

    def _proof(self) -> str:
        proof = self.joint.certificate
        gap = 0.0 if proof is None else float(proof.gap)
        gained = "1e-6" if gap <= NEGLIGIBLE_PROOF_GAP else rounded_up(gap, 2)
        only = "the only most likely ones" if self.unique else "most likely ones"
        return f"shares are {only}: by proof, no others gain more than {gained} nats of log-likelihood"

    def _sizes(self) -> list[str]:
        shown, strength = list(self.numeric), []
        if len(self.pairs) == 1:
            (pair,) = self.pairs
            small, few = (size <= ANSWERS_IN_SMALL_TABLE for size in (pair.shares.size, len(pair.correlations)))
            shown = [each for each in pair.correlations if small or (few and None in each.answers)] + shown
            strength = [_strength(pair)]
        return [*strength, *map(_correlation_sentence, shown)]

    def _table_of_pairs(self) -> Printed:
        pairs = sorted(self.pairs, key=lambda pair: pair.test.p_value)
        odds = [pair.odds_ratio for pair in pairs]
        first_correlations = [
            pair.correlations[0] if pair.odds_ratio is not None and pair.correlations else None for pair in pairs
        ]
        value, low, high, se = (
            np.array([math.nan if one is None else getattr(one, name) for one in first_correlations])
            for name in ("value", "low", "high", "se")
        )
        correlations, errors, *_ = Estimates(value, low, high, se).texts()
        columns = {
            "pair of questions": [f"{pair.first} and {pair.second}" for pair in pairs],
            "p": p_value_cells(np.array([pair.test.p_value for pair in pairs])),
            "test": ["exact" if pair.test.exact else "approximate" for pair in pairs],
            "Cramér's V": [in_digits(pair.cramers_v, 2) for pair in pairs],
            "odds ratio": ["" if ratio is None else in_digits(ratio) for ratio in odds],
            "correlation": correlations,
            "se": errors,
        }
        note = f"Each pair by itself: p-values are for one pair, not for all {len(pairs):,} at once."
        return Printed(columns, "Pairs of questions", (note,))

    def _table_of_costs(self) -> Printed:
        title = "Cost of several questions: the share of the first answer to all of them, if answers were independent"
        columns = {
            "questions": [str(cost.questions) for cost in self.costs],
            "share (%)": [f"{100 * cost.share:.2f}" for cost in self.costs],
            "relative error (%)": [in_digits(100 * cost.relative) for cost in self.costs],
            "standard error, times that of direct answers": [f"{cost.times:.2f}" for cost in self.costs],
        }
        many = ("Tables of two questions are more precise than the whole table.",) * (
            len(self.costs) > QUESTIONS_FOR_JOINT_TABLE
        )
        return Printed(columns, title, many)

    def _privacy(self) -> str:
        if self.tested is None:
            return (
                f"Privacy: a report spends epsilon {self.design.shown_epsilon()}, which does not cover the numeric "
                "column: its values are not randomized."
            )
        spent = " + ".join(part.shown_epsilon() for part in self.design.designs[:ROWS_SHOWN])
        spent += " + ..." * (len(self.design.designs) > ROWS_SHOWN)
        return (
            f"Privacy: a respondent who answers all questions spends epsilon {self.design.shown_epsilon()} in total "
            f"({spent}), and all reports of a respondent can be combined."
        )

    def _facts(self) -> Document:
        table, proof = self.crosstable, self.joint.certificate
        about = {"effective": table.effective} if table.effective is not None else {}
        return {
            "format": "warner association",
            "version": 1,
            "questions": self.design.questions,
            "design": (self.design if self.tested is not None else self.design.designs[0]).to_dict(),
            "people": table.n,
            **about,
            "missing": table.missing,
            "unknown": table.unknown,
            "level": self.level,
            "epsilon": self.design.epsilon,
            "test": None if self.tested is None else self.tested.to_dict(),
            "log_likelihood": self.joint.log_likelihood,
            "gap": None if proof is None else proof.gap,
            "unique": self.unique,
            "marginals": self.marginals,
            "pairs": [pair.to_dict() for pair in self.pairs],
            "numeric": [each.to_dict() for each in self.numeric],
            "costs": [cost._asdict() for cost in self.costs],
            "warnings": self.warnings(),
        }


def associate(
    data: Any,
    designs: Mapping[str, Design],
    *,
    weights: str | None = None,
    counts: str | None = None,
    numeric: str | None = None,
    values: Mapping[str, Any] | None = None,
    unknown: str = "error",
    missing: Codes = (),
    sheet: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    skip_bad_files: bool = False,
    where: Conditions = None,
    level: float = 0.95,
    simulations: int = 1999,
    rng: np.random.Generator | None = None,
) -> Association:
    """Test and estimate the association between the answers to several randomized questions.

    Independence is tested on the table of reports, exactly; joint shares are the most likely ones under the product of
    the designs. Each respondent must have used an independent device for each question.

    Parameters
    ----------
    data : data frame, path, mapping of columns, or table of counts
        A row for each respondent, with a column of reports for each question: a frame or table of any library, or the
        path or glob of CSV, Parquet, JSON-lines, SPSS, Stata or SAS files, as for `tally`. Or an array of whole numbers
        with an axis for each question: the counts of the combinations of reports.
    designs : mapping of str to Design
        Design of each question, by the name of its column. Two at least, or one with
        `numeric`; reports must name one thing each, as those of `RandomizedResponse`, `Channel` and all of
        `warner.surveys` do.
    weights : str, optional
        A column of survey weights. All tests are then approximate.
    counts : str, optional
        Column with the number of respondents in each row.
    numeric : str, optional
        A column of numbers: its correlation with each answer is estimated as well. Required for one question.
    values : mapping, optional
        Questions whose answers have numeric values, by the names of their columns: ``{"drinks": "numbers"}`` for
        answers that are numbers, or the number of each answer. Correlations are then with the true number.
    unknown : {"error", "drop"}
        Raise an error for invalid values, or leave their rows out and count them.
    missing, sheet, encoding, decimal, skip_bad_files, where
        Codes of missing values, format of files, and columns whose values select the rows, as for `warner.tally`.
    level : float
        Confidence level of the intervals.
    simulations : int
        The number of tables to draw where there are too many to go through all of them; 0 for none.
    rng : numpy.random.Generator, optional
        The randomness of these; seeded from the counts if not given, so that a result can be repeated.

    Examples
    --------
    Two questions by forced response: of 500 people 60 reported yes to both.

    >>> from warner.surveys import forced_response
    >>> dice = forced_response(truth="2/3", yes="1/6")
    >>> result = associate([[60, 90], [80, 270]], {"cheated": dice, "copied": dice})
    >>> round(result.test.p_value, 6), result.test.method
    (0.000134, "Fisher's exact test")
    >>> result.shares.round(3)
    array([[0.115, 0.085],
           [0.055, 0.745]])
    >>> result.pairs[0].correlations[0].text()
    '0.54, standard error 0.14, approximate 95 % interval 0.26 to 0.84'
    """
    given: object = designs
    if not isinstance(given, Mapping):
        raise TypeError(
            'designs must map columns to designs, such as {"cheated": dice, "copied": dice}, but got '
            f"{type(given).__name__}"
        )
    if len(designs) == 1 and numeric is None:
        raise ValueError(
            "numeric must be given for one question, as the column of numbers that its answers are correlated with; or "
            "give the designs of two questions or more"
        )
    product = Product.of_one_question(*next(iter(designs.items()))) if len(designs) == 1 else Product(designs)
    _refuse_options(product, level, simulations, rng)
    of_questions = numbers_by_question(values, product.questions)
    numbers = {
        name: values_of(part.domain, of_questions[name]) for name, part in parts_of(product) if name in of_questions
    }
    columns = Columns(where=where, weights=weights, counts=counts)
    reading = Reading(unknown, missing, sheet, encoding, decimal, skip_bad_files=skip_bad_files)
    table = crosstable(data, product, columns, reading, numeric)
    generator = seeded_by(table.counts.ravel()) if rng is None else rng
    pairs = tuple(
        pair_of(table.among(indices), level, simulations, generator, numbers)
        for indices in combinations(range(len(designs)), 2)
    )
    test: Independence | None = None
    if len(pairs) == 1:
        test = pairs[0].test
    elif pairs:
        test = independence(table.counts, simulations=simulations, rng=generator, effective=table.effective)
    joint = estimated(table.tally(), method=MOST_LIKELY)
    result = Association(table, joint, test, pairs, with_numbers(table, level, numbers), (), level)
    if test is not None:
        people = table.n if table.effective is None else table.effective
        result = replace(result, costs=costs_of(product, list(result.marginals.values()), people))
    return with_library(result, table.library, table.skipped_files)


def _refuse_options(design: Product, level: float, simulations: object, rng: object) -> None:
    Confidence(level)  # raises an error for an invalid level
    if not isinstance(simulations, int | np.integer) or isinstance(simulations, bool) or simulations < 0:
        raise ValueError(f"simulations must be a whole number of at least 0, but got {simulations!r}")
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy.random.Generator, such as numpy.random.default_rng(1), but got {rng!r}")
    if clash := ASSOCIATION_COLUMNS & set(design.questions):
        raise ValueError(f"a question must not be called {min(clash)!r}, which is a column of the result; rename it")
    for name, part in parts_of(design):
        if part.epsilon == 0:
            raise ValueError(
                f"the design of {quoted(name)} must have an epsilon above 0: its reports carry no information"
            )


# In words


def _strength(pair: QuestionPair) -> str:
    odds = "" if pair.odds_ratio is None else f"odds ratio {pair.odds_ratio:.3g}, "
    sizes = f"Size of the association, of the most likely shares: {odds}Cramér's V {pair.cramers_v:.2g}."
    if pair.odds_ratio is None:
        return sizes
    conditional = pair.shares[:, 0] / np.where(pair.shares.sum(axis=1) > 0, pair.shares.sum(axis=1), np.nan)
    (yes, no), second = pair.domains[0], pair.domains[1][0]
    texts = ["nobody" if np.isnan(share) else percent(share, 1) for share in conditional.tolist()]
    return (
        f"{sizes} Of respondents with the answer {quoted(yes)} to {quoted(pair.first)}, {texts[0]} would answer "
        f"{quoted(second)} to {quoted(pair.second)}; of respondents with {quoted(no)}, {texts[1]}."
    )


def _correlation_sentence(correlation: Correlation) -> str:
    answers = (*correlation.answers, None)[:2]  # a number has none
    first, second = (
        quoted(question) if answer is None else f"{quoted(answer)} to {quoted(question)}"
        for answer, question in zip(answers, (correlation.first, correlation.second), strict=True)
    )
    return f"Correlation of {first} and {second}: {correlation.text()}."
