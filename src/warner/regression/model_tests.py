r"""Likelihood-ratio tests and Wald tests of terms, and of models against smaller ones; sensitivity to noncompliance.

A smaller model that is searched less thoroughly than the larger one makes the likelihood ratio too large. So the
smaller one has all starts and, besides, the larger optimum with the tested coefficients at zero; and if it then has a
higher likelihood than the larger one, the larger one is maximized again from there. With sampling weights, clusters or
strata, for linear models, and for robust errors, Wald's test is used: :math:`(C'b)'(C'VC)^{-1}(C'b)`, of
:math:`C'b = 0`. With clusters it is compared with F, whose degrees of freedom are those of V in these contrasts.

If a share c of respondents reports ``safe`` regardless of the device and of the truth, a report has the probabilities
:math:`(1-c) C + c\,[\text{report} = \text{safe}]` instead of C. The model is fitted again under that design. These
respondents are assumed to be independent of the answer and of the covariates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import chdtrc, fdtrc

from warner.arrays import Array, Counts, Label, Mask, objects
from warner.designs.exact import Number, probability
from warner.designs.facts import ChannelOperator
from warner.designs.labels import positions
from warner.estimators import channel_mle
from warner.regression.formulas import INTERCEPT
from warner.regression.maxima import Start, global_maximum, maximise
from warner.regression.newton import SAME_MAXIMUM_NATS, newton_ascent
from warner.regression.scores import report_scores
from warner.regression.standard_errors import NORMAL_FREEDOM, ROUGH_FREEDOM, ClusterRobust, coefficient_notes
from warner.regression.variance_floors import floor_notes
from warner.reports.queries import INSIDE
from warner.results import Column, Estimates, TableResult
from warner.text import counted, enumerated, level_text
from warner.typesetting import cells, labels, p_value_cells, rounded

if TYPE_CHECKING:
    from fractions import Fraction

    from warner.documents import Document
    from warner.regression.data import Observations
    from warner.regression.regressions import Regression


# Model tests


RATIO, WALD = "likelihood ratio", "Wald"
NESTED_TOLERANCE = 1e-8  # part of a column that may be left after those of the larger model
SINGULAR = 1e-13  # part of the largest variance below which there is none
LIKELIHOOD_TOLERANCE = 1e-9  # part of a log-likelihood by which the same people may differ


class ModelTest(NamedTuple):
    """Test: name, statistic, degrees of freedom, of the denominator too for an F distribution, p-value and note."""

    test: str
    statistic: float
    freedom: int
    p: float
    note: str = ""
    denominator: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class ModelTests(TableResult):
    """Tests of terms, or of a smaller model."""

    formula: str  # the larger model
    names: tuple[str, ...]  # of the tests: a term, or the smaller model
    tests: tuple[ModelTest, ...]
    people: int  # number of respondents
    notes: tuple[str, ...] = ()  # caveats of all p-values

    @property
    def statistic(self) -> float:
        """The statistic of the first test."""
        return self.tests[0].statistic

    @property
    def freedom(self) -> int:
        """The degrees of freedom of the first test."""
        return self.tests[0].freedom

    @property
    def p_value(self) -> float:
        """The p-value of the first test."""
        return self.tests[0].p

    _rows_key = ""  # in JSON, "tests", which have their notes

    def _columns(self) -> list[Column]:
        """Return the columns; the denominator is infinite where p is not that of an F distribution."""
        names, tests, freedom = objects(self.names), objects(test.test for test in self.tests), self._column("freedom")
        statistics, p = self._column("statistic"), self._column("p")
        return [
            Column("term", names, "left out", labels(names)),
            Column(heading="test", texts=labels(tests)),
            Column("statistic", statistics, "statistic", [rounded(value, 2) for value in statistics.tolist()]),
            Column("freedom", freedom, "df"),
            Column("p", p, "p", p_value_cells(p)),
            Column("test", tests),
            Column("denominator", np.array([test.denominator or np.inf for test in self.tests])),
        ]

    def _column(self, name: str) -> Counts:
        return np.array([getattr(test, name) for test in self.tests])

    def _title(self) -> str:
        return f"Tests in {self.formula}"

    def _footnotes(self) -> list[str]:
        notes = [*(test.note for test in self.tests if test.note), *self.notes]
        return [f"N = {counted(self.people, 'respondent', 'respondents')}", *dict.fromkeys(notes)]

    def _facts(self) -> Document:
        tests = [{"term": name, **test._asdict()} for name, test in zip(self.names, self.tests, strict=True)]
        return {"formula": self.formula, "people": self.people, "notes": self.notes, "tests": tests}


def term_tests(fit: Regression) -> ModelTests:
    groups = {term: group for term, group in fit.specification.groups.items() if term != INTERCEPT}
    if not groups:
        raise ValueError(f"the model must have terms besides the intercept, but is {fit.model_data.formula!r}")
    every = np.arange(len(fit.finite_coefficients))
    cuts = fit.specification.cuts
    results = [_tested(fit, np.eye(len(every))[:, np.delete(every, group)], cuts) for group in groups.values()]
    tested = sorted(index for group in groups.values() for index in group)
    return ModelTests(
        fit.model_data.formula, tuple(groups), tuple(results), fit.people, tuple(coefficient_notes(fit, tested))
    )


def nested_model_test(fit: Regression, smaller: Regression) -> ModelTests:
    inside = _embedding(fit, smaller)
    name = f"to {smaller.model_data.formula}"
    known = None if smaller.log_likelihood is None else smaller.finite_coefficients
    result = _tested(fit, inside, smaller.specification.cuts, known)
    return ModelTests(fit.model_data.formula, (name,), (result,), fit.people, tuple(coefficient_notes(fit)))


def _tested(fit: Regression, inside: Array, cuts: int, known: Array | None = None) -> ModelTest:
    """Test whether the coefficients are of the form T a, the first of them cutpoints; `known` is an a found before."""
    if fit.penalty is not None:
        raise ValueError("models must be fitted without a penalty to be compared: it has point estimates only")
    if fit.log_likelihood is None or not fit.model_data.observations.sampling.simple or fit.errors == "robust":
        return _wald(fit, inside)
    return _likelihood_ratio(fit, inside, cuts, known)


def _likelihood_ratio(fit: Regression, inside: Array, cuts: int, known: Array | None) -> ModelTest:
    assert fit.log_likelihood is not None
    full = fit.likelihood
    small = full.within(inside)
    # The larger optimum with the tested coefficients at zero: of T a, the a that is nearest.
    further = [_nearest(inside, fit.finite_coefficients)]
    if known is not None:
        further.append(Start("smaller model", known))
    if fit.model_data.groups is None:
        null = global_maximum(small, cuts, more=further).best
    else:
        null = maximise(small, [*further, *(_nearest(inside, b) for b in fit.starts)]).best
    top, note = fit.log_likelihood, ""
    if null.value > top + SAME_MAXIMUM_NATS:
        top = newton_ascent(full, inside @ null.coefficients).value
        note = (
            "A smaller model has a higher likelihood than the larger one: its estimate is a false optimum, and was "
            f"maximized again from there, to a log-likelihood of {top:.6f}; fit with more starts."
        )
    elif fit.infinity is not None:
        note = "An estimate lies at infinity: p-values should not be relied on."
    statistic = max(0.0, 2 * (top - null.value))
    freedom = inside.shape[0] - inside.shape[1]
    return ModelTest(RATIO, statistic, freedom, float(chdtrc(freedom, statistic)), note)


def _nearest(inside: Array, b: Array) -> Start:
    """Return the a whose T a is nearest to coefficients of the larger model, as a start."""
    return Start("larger model", np.linalg.lstsq(inside, b, rcond=None)[0].astype(np.float64))


def _wald(fit: Regression, inside: Array) -> ModelTest:
    size, kept = inside.shape
    raised = fit.raised(np.eye(size))
    scale = 1 / np.maximum(np.sqrt(np.diag(raised)), np.finfo(float).tiny)
    # C is orthogonal to T, in coefficients of like size.
    across = np.linalg.qr(inside * scale[:, np.newaxis], mode="complete")[0][:, kept:] * scale[:, np.newaxis]
    freedom = size - kept
    if not np.isfinite(fit.coefficients).all():
        note = "An estimate lies at infinity, and Wald's test needs finite ones."
        return ModelTest(WALD, np.nan, freedom, np.nan, note)
    if fit.clustered is not None and fit.clustered.unknown(across.T).any():
        return ModelTest(WALD, np.nan, freedom, np.nan, "The tested coefficients rest on one cluster alone.")
    contrast = across.T @ fit.coefficients
    statistic = _quadratic(contrast, across.T @ fit.finite_covariance @ across)
    if fit.clustered is None:
        found = ModelTest(WALD, statistic, freedom, float(chdtrc(freedom, statistic)))
    else:
        found = _of_clusters(fit.clustered, across, statistic)
    floored = _quadratic(contrast, fit.raised(across))
    p = float(chdtrc(freedom, floored))
    if not p > found.p:  # also where one of both is not known
        return found
    return ModelTest(WALD, floored, freedom, p, " ".join(floor_notes(["what is tested"])))


def _quadratic(contrast: Array, covariance: Array) -> float:
    """Return c'V^-1 c; infinite where V is singular, NaN where V is not known."""
    if not np.isfinite(covariance).all():
        return np.nan
    scale = np.sqrt(np.maximum(np.diagonal(covariance), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    along = vectors.T @ (contrast / scale)
    if values[0] <= SINGULAR * max(values[-1], 0.0):
        return np.inf
    return float((along**2 / values).sum())


def _of_clusters(robust: ClusterRobust, contrasts: Array, statistic: float) -> ModelTest:
    r"""Compare Wald's W with F: :math:`(\eta - q + 1) W / (\eta q)` has q and :math:`\eta - q + 1` degrees."""
    q, eta = contrasts.shape[1], robust.freedom(contrasts)
    left = eta - q + 1
    if not left > 0:
        return ModelTest(WALD, statistic, q, np.nan, "There are too few clusters for this test.")
    p = float(fdtrc(q, left, left * statistic / (eta * q)))
    sentences = (
        [f"The p-value is that of F with {q} and {left:.1f} degrees of freedom."] if left < NORMAL_FREEDOM else []
    )
    if left < ROUGH_FREEDOM:
        sentences.append(f"With fewer than {ROUGH_FREEDOM:.0f}, p-values are rough: they rest on very few clusters.")
    sentences += robust.dominance
    return ModelTest(WALD, statistic, q, p, " ".join(sentences), left)


# Whether one model is within another


def _embedding(fit: Regression, smaller: Regression) -> Array:
    """Matrix T with T a the larger model's coefficients of the smaller model; an error if the models are not nested."""
    if not hasattr(smaller, "model_data"):
        raise TypeError(f"smaller must be a regression, but got {type(smaller).__name__}")
    _refuse_different_models(fit, smaller)
    _refuse_different_people(fit.model_data.observations, smaller.model_data.observations)
    large, small = fit.model_data, smaller.model_data
    strange = [name for name in small.terms.variables if name not in large.terms.variables]
    if strange:
        raise _not_nested(fit, smaller, f"{enumerated(strange)} is not in the larger one")
    x = small.terms.matrix(large.covariates) if large.covariates else np.ones((1, len(small.terms.names)))
    x = x[large.pattern]
    columns, left = _solved(large.observations.x, x)
    if left.any():
        outside = [name for name, part in zip(small.terms.names, left, strict=True) if part]
        raise _not_nested(fit, smaller, f"{enumerated(outside)} does not follow from the larger one's columns")
    full = np.asarray(np.kron(np.eye(fit.specification.shares.predictors), columns), dtype=np.float64)
    mapping = full if smaller.specification.mapping is None else full @ smaller.specification.mapping
    inside = mapping
    if fit.specification.mapping is not None:
        inside, left = _solved(fit.specification.mapping, mapping)
        if left.any():
            raise _not_nested(fit, smaller, "its coefficients enter in another way")
    if fit.model_data.groups is not None:
        inside[-1, -1] = 1.0  # the standard deviation between groups is free in both
    if inside.shape[1] >= inside.shape[0]:
        raise _not_nested(fit, smaller, "it has as many coefficients")
    if smaller.log_likelihood is not None:
        again = fit.likelihood.within(inside).value(smaller.finite_coefficients)
        if abs(again - smaller.log_likelihood) > 1e-6 + LIKELIHOOD_TOLERANCE * abs(again):
            raise ValueError(
                "both models must be fitted to the same respondents, but the reports do not agree; leave out "
                "respondents with missing values first"
            )
    return np.asarray(inside)


def _solved(basis: Array, columns: Array) -> tuple[Array, Mask]:
    """Regress columns on others, and mark the columns that do not depend on them."""
    solution = np.asarray(np.linalg.lstsq(basis, columns, rcond=None)[0], dtype=np.float64)
    left = np.abs(columns - basis @ solution).max(axis=0)
    return solution, left > NESTED_TOLERANCE * np.maximum(np.abs(columns).max(axis=0), np.finfo(float).tiny)


def _not_nested(fit: Regression, smaller: Regression, why: str) -> ValueError:
    return ValueError(
        f"smaller must be a part of the model, but {smaller.model_data.formula!r} is none of "
        f"{fit.model_data.formula!r}: {why}"
    )


def _refuse_different_models(fit: Regression, smaller: Regression) -> None:
    for name in ("model", "link", "reference"):
        one, other = getattr(fit.specification, name), getattr(smaller.specification, name)
        if one != other:
            raise ValueError(f"both models must have the same {name}, but got {one!r} and {other!r}")
    groups = [None if one.model_data.groups is None else one.model_data.groups.column for one in (fit, smaller)]
    if groups[0] != groups[1]:
        raise ValueError(
            f"both models must have the same random intercepts, but got {groups[0]!r} and {groups[1]!r}; whether "
            "groups differ is tested by spread()"
        )
    if fit.penalty != smaller.penalty:
        raise ValueError("both models must be fitted without a penalty to be compared")


def _refuse_different_people(rows: Observations, others: Observations) -> None:
    if rows.designs != others.designs:
        raise ValueError("both models must be fitted to reports under the same designs, but theirs differ")
    if rows.n != others.n:
        raise ValueError(
            f"both models must be fitted to the same respondents, but there are {rows.n:,} and {others.n:,}; leave out "
            "respondents with missing values first"
        )
    sums = zip((rows.weight.sum(), rows.square.sum()), (others.weight.sum(), others.square.sum()), strict=True)
    same = all(np.isclose(one, other, rtol=LIKELIHOOD_TOLERANCE) for one, other in sums)
    if not same or rows.sampling.features != others.sampling.features:
        raise ValueError("both models must be fitted with the same weights, clusters and strata, but theirs differ")
    if (rows.scores is None) != (others.scores is None):
        raise ValueError("both models must be of the mean of a number, or both of shares, but one is of each")
    if rows.scores is not None and others.scores is not None:
        one, other = (
            np.array([w @ s, w @ s**2]) for w, s in ((rows.weight, rows.scores), (others.weight, others.scores))
        )
        if not np.allclose(one, other, rtol=LIKELIHOOD_TOLERANCE):
            raise ValueError(
                "both models must be fitted to the same respondents with the same values, but theirs differ"
            )
        return
    if not all(
        np.allclose(one, other, rtol=LIKELIHOOD_TOLERANCE)
        for one, other in zip(rows.patterns(), others.patterns(), strict=True)
    ):
        raise ValueError("both models must be fitted to the same respondents, but their reports differ")


# Measures of a whole model


class Criteria(NamedTuple):
    """Fit measures; None without a likelihood, or without the likelihood of a sample.

    `aic` and `bic`, with the number of respondents; `mcfadden`, 1 less the ratio of the log-likelihood to that of the
    same shares for everybody; and that log-likelihood itself, under the same designs.
    """

    aic: float | None
    bic: float | None
    mcfadden: float | None
    null_log_likelihood: float | None


def criteria(fit: Regression) -> Criteria:
    if fit.specification.of_number:
        return Criteria(None, None, None, None)
    null, size = null_log_likelihood(fit.model_data.observations), len(fit.finite_coefficients)
    if fit.log_likelihood is None or fit.penalty is not None:
        return Criteria(None, None, None, null)
    mcfadden = 1 - fit.log_likelihood / null if null else None
    if not fit.model_data.observations.sampling.simple:
        return Criteria(None, None, mcfadden, null)
    twice = -2 * fit.log_likelihood
    return Criteria(twice + 2 * size, twice + float(np.log(fit.people)) * size, mcfadden, null)


def null_log_likelihood(rows: Observations) -> float:
    """Largest log-likelihood of shares that do not depend on covariates, for any link."""
    return most_likely(*rows.patterns())[0]


def most_likely(likelihoods: Array, weights: Array) -> tuple[float, Array]:
    """Largest log-likelihood of respondents with equal covariates, from distinct likelihoods, and the shares."""
    if len(likelihoods) == 1:
        best = likelihoods[0].argmax()
        return float(weights[0] * np.log(likelihoods[0, best])), np.eye(likelihoods.shape[1])[best]
    shares = channel_mle(weights, ChannelOperator.of_matrix(likelihoods.T)).shares
    return float(weights @ np.log(likelihoods @ shares)), shares


# Sensitivity


MEAN_SHARE = "mean share"
MEAN_NUMBER = "mean"
INDEPENDENCE_ASSUMED = (
    "Cheating is assumed to be independent of the answer and of the covariates. No count can confirm that."
)


@dataclass(frozen=True, eq=False, repr=False)
class RegressionSensitivity(TableResult):
    """Regression under several shares of respondents who give the safe report regardless of the design."""

    safe: Label  # the report of those respondents
    cheating: Array  # their shares, as assumed
    fits: tuple[Regression, ...]  # under each of these assumptions
    level: float  # of the intervals

    _rows_key = "values"

    def _columns(self) -> list[Column]:
        """Return the columns, a row for each assumed share and coefficient or mean; of two answers, readers see one."""
        parts, domain = [self._of(fit) for fit in self.fits], self.fits[0].specification.domain
        table = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        table = {"cheating": np.repeat(self.cheating, [len(part["term"]) for part in parts]), **table}
        kept = (table["term"] != MEAN_SHARE) | (table["answer"] != domain[1]) | (len(domain) != 2)
        interval, estimates = f"{level_text(self.level)} interval", Estimates.of_table(table, rows=kept)
        return [
            *starmap(Column, table.items()),
            Column(heading="cheating (%)", texts=cells(100 * table["cheating"][kept])),
            Column(heading="answer", texts=cells(table["answer"][kept])),
            Column(heading="term", texts=labels(table["term"][kept])),
            *estimates.shown("estimate", interval, unknown="any"),
        ]

    def _of(self, fit: Regression) -> dict[str, Counts]:
        ends, shares = fit.limits(self.level), fit.predict(level=self.level)
        names = [(name.term, name.answer) for name in fit.specification.coefficients]
        names += [(MEAN_SHARE, answer) for answer in shares.domain] or [(MEAN_NUMBER, None)]
        return {
            "term": objects(term for term, _ in names),
            "answer": objects(answer for _, answer in names),
            "estimate": np.append(fit.coefficients, shares.shares[0]),
            "se": np.append(fit.standard_errors, shares.errors[0]),
            "low": np.append(ends.low, shares.low[0]),
            "high": np.append(ends.high, shares.high[0]),
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the fits: those of all, and those of single assumed shares."""
        always = [note for note in self.fits[0].notes if all(note in fit.notes for fit in self.fits)]
        sometimes = [
            f"If {100 * share:g} % do: {note[0].lower()}{note[1:]}"
            for share, fit in zip(self.cheating.tolist(), self.fits, strict=True)
            for note in fit.notes
            if note not in always
        ]
        return (*always, *sometimes)

    def _title(self) -> str:
        formula = self.fits[0].model_data.formula
        return f"{formula}, if some respondents reported {self.safe!r} regardless of the design"

    def _footnotes(self) -> list[str]:
        number = counted(self.fits[0].people, "respondent", "respondents")
        return [f"N = {number}", INDEPENDENCE_ASSUMED, *self.notes]

    def _facts(self) -> Document:
        about = {"formula": self.fits[0].model_data.formula, "safe": self.safe, "level": self.level}
        return {**about, "notes": self.notes}


def sensitivity_to_cheating(
    fit: Regression, safe: Label, shares: Sequence[Number], level: float
) -> RegressionSensitivity:
    if isinstance(shares, str) or not isinstance(shares, Sequence):
        raise TypeError(f"shares must be a sequence, such as (0, 0.1), but got {shares!r}")
    assumed = [probability("shares", share) for share in shares]
    if not assumed or 1 in assumed:
        raise ValueError(
            f"shares must be at least 0 and below 1, but got {shares!r}: if all cheat, shares are not identified"
        )
    rows, values = fit.model_data.observations, fit.specification.values
    if values is None:
        several = [_contaminated(rows, safe, share) for share in assumed]
    else:
        several = [_contaminated_scores(rows, safe, float(share), values) for share in assumed]
    fits = tuple(_refitted(fit, some) for some in several)
    return RegressionSensitivity(safe, np.array([float(share) for share in assumed]), fits, level)


def _refitted(fit: Regression, rows: Observations) -> Regression:
    from warner.regression.regressions import fitted, fitted_linear

    data = replace(fit.model_data, observations=rows)
    if fit.log_likelihood is None:
        return fitted_linear(data, fit.specification)
    more = [Start("as before", fit.finite_coefficients)]
    return fitted(data, fit.specification, errors=fit.errors, penalty=fit.penalty, more=more)


def _contaminated_scores(rows: Observations, safe: Label, cheating: float, values: Array) -> Observations:
    """Scores that are unbiased if this share of respondents gives the safe report regardless of the design.

    A report then scores (1 - c) x + c s on average, with s the score of the safe report. That reports vary at least as
    without such people stays true: what is said of randomization alone is of the design as it is.
    """
    assert rows.scores is not None
    scores, known = rows.scores.copy(), False
    for number, design in enumerate(rows.designs):
        codes, status = design.report_form.read([safe], text=False)
        if np.any(status != INSIDE):
            continue
        known, selected = True, rows.design == number
        scores[selected] = (scores[selected] - cheating * report_scores(design, codes, values)) / (1 - cheating)
    if not known:
        raise ValueError(f"report must be a possible report of a design, but {safe!r} is not one")
    return replace(rows, scores=scores)


def _contaminated(rows: Observations, safe: Label, cheating: Fraction) -> Observations:
    """Observations under the designs in which this share of respondents gives the safe report."""
    designs, tables, possible = list(rows.designs), list(rows.tables), []
    likelihood = rows.likelihood.copy()
    for number, design in enumerate(rows.designs):
        try:
            channel = design.as_channel()
        except (TypeError, ValueError) as error:
            raise TypeError(f"sensitivity needs designs with a table of probabilities: {error}") from None
        column = int(positions([safe], channel.outputs)[0])
        possible += list(channel.outputs)
        if column < 0:
            continue
        changed = channel.contaminated(column, cheating)
        table = changed.channel()
        designs[number], tables[number] = changed, table
        selected = rows.design == number
        likelihood[selected] = table.T[rows.report[selected]]
    if safe not in possible:
        raise ValueError(
            f"report must be a possible report of a design, but {safe!r} is none of "
            f"{enumerated([repr(label) for label in dict.fromkeys(possible)])}"
        )
    return replace(rows, likelihood=likelihood, designs=tuple(designs), tables=tuple(tables))
