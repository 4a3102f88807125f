r"""Two-sample models of noncompliance with covariates: cheating detection, lie detector, unrelated question.

A model of cheating is a regression with one more kind of people, each with its own row of probabilities in each sample.
What differs from `warner.regress` is which slopes are free; that is a linear map of coefficients.

- Clark and Desharnais: people with the trait, people without it, and cheaters, who always say no. All slopes are free.
- The stochastic lie detector: people with the trait who affirm it (a share t of them), who deny it, and people without
  it. The first two have the same slopes, and intercepts that differ by :math:`\log t - \log(1 - t)`.
- The unrelated question whose own share is unknown: four kinds of people, with either trait or not; the unrelated one
  has the same share w everywhere, so that it adds :math:`\log w - \log(1 - w)` to two of the four.

The first two have the same table of probabilities: no data can tell a lying carrier from a cheater who may carry the
trait or not. Which model it is, is an assumption.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from warner.designs import Channel
from warner.designs.exact import Number, probability
from warner.regression.data import ModelData, model_data
from warner.regression.families import Coefficient, Softmax, Specification, multinomial
from warner.regression.formulas import INTERCEPT
from warner.regression.regressions import Regression, fitted
from warner.regression.variance_floors import floor_notes
from warner.reports.options import grouped_keywords
from warner.results import Column, Estimates, StandardErrors, TableResult, coefficients
from warner.text import counted, enumerated, level_text
from warner.typesetting import labels

if TYPE_CHECKING:
    from warner.arrays import Array, Label
    from warner.designs.contract import Design
    from warner.documents import Document

CHEATERS = ("honest, trait", "honest, no trait", "cheater")
CARRIERS = ("trait, affirmed", "trait, denied", "no trait")
UNRELATED = ("both traits", "the trait", "the unrelated trait", "neither trait")


def cheating_detection_regression(
    formula: str,
    data: Any,
    forced: Mapping[Any, Number | None],
    *,
    by: str,
    reports: tuple[Label, Label] = ("yes", "no"),
    **options: Any,
) -> Regression:
    """Regress the trait, and cheating, on covariates: Clark and Desharnais' model; see `cheating_detection`.

    Parameters
    ----------
    formula, data
        As for `warner.regress`.
    forced : mapping of the values of ``by`` to numbers
        The probability of the forced yes in each sample; None for a sample that was asked directly, where cheaters say
        no as well.
    by : str
        The column that names each respondent's sample.
    reports : pair of labels
        How yes and no are written.
    **options
        ``on``, ``X``, ``names``, ``weights``, ``counts``, ``clusters``, ``strata``, ``errors``, ``penalty``,
        ``starts``, ``unknown`` and the options of files of `warner.regress`.

    Returns
    -------
    Regression
        A multinomial one of three kinds of people, with honest people without the trait as the reference.

    Examples
    --------
    As in `cheating_detection`, without covariates: shares of .15, .60 and .25.

    >>> samples = {"sample": ["a", "a", "b", "b"], "answer": ["yes", "no"] * 2, "n": [300, 700, 600, 400]}
    >>> fit = cheating_detection_regression(
    ...     "answer", samples, {"a": "1/4", "b": "3/4"}, by="sample", on=[], counts="n"
    ... )
    >>> fit.specification.shares_at(fit.finite_coefficients, np.ones((1, 1))).round(6)
    array([[0.15, 0.6 , 0.25]])
    """
    designs = _designs("forced", forced, CHEATERS, reports, lambda p: [1, p, 0], direct=[1, 0, 0])
    people, fit_options = _data(formula, data, designs, by, options)
    return fitted(people, multinomial(people.terms, CHEATERS, CHEATERS[1]), **fit_options)


def lie_detector_regression(
    formula: str,
    data: Any,
    p: Mapping[Any, Number | None],
    *,
    by: str,
    reports: tuple[Label, Label] = ("yes", "no"),
    **options: Any,
) -> TraitRegression:
    """Regress the trait on covariates by the stochastic lie detector; see `stochastic_lie_detector`.

    Parameters
    ----------
    formula, data, by, reports, **options
        As for `cheating_detection_regression`.
    p : mapping of the values of ``by`` to numbers
        The probability of the plain statement for people without the trait, in each sample; None for a sample that was
        asked directly, and is taken to be honest.

    Examples
    --------
    As in `stochastic_lie_detector`, without covariates: the prevalence is .7, and t is .24/.7.

    >>> samples = {"sample": ["a", "a", "b", "b"], "answer": ["yes", "no"] * 2, "n": [480, 520, 300, 700]}
    >>> fit = lie_detector_regression("answer", samples, {"a": "0.2", "b": "0.8"}, by="sample", on=[], counts="n")
    >>> expit(fit.coefficients[0]).round(6), fit.coefficients[-1].round(6)
    (np.float64(0.7), np.float64(0.342857))
    """
    designs = _designs("p", p, CARRIERS, reports, lambda p: [1, 0, 1 - p], direct=[1, 1, 0])
    people, fit_options = _data(formula, data, designs, by, options)
    # B has a row for affirming and one for denying respondents: an intercept each, and the same slopes.
    mapping = _same_coefficients(people, 2)
    mapping[1, 0, [0, -1]] = 0, 1
    names = [f"{INTERCEPT} ({CARRIERS[0]})", *people.terms.names[1:], f"{INTERCEPT} ({CARRIERS[1]})"]
    fit = fitted(people, _specification(people, CARRIERS, mapping, names), **fit_options)
    return TraitRegression(fit, "honest", _affirmed, "the share of respondents with the trait who affirm it")


def unrelated_question_regression(
    formula: str,
    data: Any,
    p: Mapping[Any, Number | None],
    *,
    by: str,
    reports: tuple[Label, Label] = ("yes", "no"),
    **options: Any,
) -> TraitRegression:
    """Regress the trait where the unrelated question's own share is unknown; see `two_sample_unrelated_question`.

    The unrelated trait is taken to be independent of the sensitive one, and of the covariates.

    Parameters
    ----------
    formula, data, by, reports, **options
        As for `cheating_detection_regression`.
    p : mapping of the values of ``by`` to numbers
        The probability of the sensitive question in each sample; None for a sample that was asked it directly.

    Examples
    --------
    As in `two_sample_unrelated_question`: prevalence .233333, and w = .366667.

    >>> samples = {"sample": ["a", "a", "b", "b"], "answer": ["yes", "no"] * 2, "n": [260, 740, 340, 660]}
    >>> fit = unrelated_question_regression("answer", samples, {"a": "0.8", "b": "0.2"}, by="sample", on=[], counts="n")
    >>> expit(fit.coefficients[0]).round(6), fit.coefficients[-1].round(6)
    (np.float64(0.233333), np.float64(0.366667))
    """
    designs = _designs("p", p, UNRELATED, reports, lambda p: [1, p, 1 - p, 0], direct=[1, 1, 0, 0])
    people, fit_options = _data(formula, data, designs, by, options)
    # The trait's log-odds x'b in two rows of B, the unrelated one's log-odds in two.
    mapping = _same_coefficients(people, 3)
    mapping[2] = 0
    mapping[[0, 2], 0, -1] = 1
    specification = _specification(people, UNRELATED, mapping, [*people.terms.names, "unrelated"])
    fit = fitted(people, specification, **fit_options)
    return TraitRegression(fit, "unrelated", _unrelated, "the share of respondents with the unrelated trait")


def _designs(
    name: str,
    probabilities: Mapping[Any, Number | None],
    kinds: tuple[str, ...],
    reports: tuple[Label, Label],
    yes: Any,
    direct: list[int],
) -> dict[Any, Design]:
    """Return each sample's table of the probabilities of yes."""
    if not isinstance(probabilities, Mapping) or len(set(probabilities.values()) - {None}) < 2:
        raise ValueError(
            f"{name} must be a mapping of the samples to at least two different probabilities, "
            f"but got {probabilities!r}"
        )
    result: dict[Any, Design] = {}
    for sample, value in probabilities.items():
        chances = direct if value is None else yes(probability(name, value))
        result[sample] = Channel([[chance, 1 - chance] for chance in chances], kinds, reports)
    return result


_OF_THE_FIT = {"errors": "errors", "penalty": "penalty", "starts": "at_random"}


def _data(
    formula: str, data: Any, designs: Mapping[Any, Design], by: str, options: dict[str, Any]
) -> tuple[ModelData, dict[str, Any]]:
    of_data = {name: value for name, value in options.items() if name not in _OF_THE_FIT}
    of_fit = {_OF_THE_FIT[name]: value for name, value in options.items() if name in _OF_THE_FIT}
    return model_data(formula, data, designs, **grouped_keywords({"by": by, **of_data})), of_fit


def _same_coefficients(people: ModelData, predictors: int) -> Array:
    """Return a mapping in which all predictors have the same coefficients, and none has the last one."""
    if people.terms.names[:1] != (INTERCEPT,):
        raise ValueError("this model needs an intercept: leave '- 1' or '0 +' out of the formula")
    width = len(people.terms.names)
    return np.tile(np.eye(width, width + 1), (predictors, 1, 1))


def _specification(people: ModelData, kinds: tuple[str, ...], mapping: Array, names: list[str]) -> Specification:
    groups = {term: columns for term, columns in people.terms.groups.items() if columns != (0,)}
    coefficients = tuple(Coefficient(None, name) for name in names)
    shares, last = Softmax(len(kinds), len(kinds) - 1), kinds[-1]
    return Specification("cheating", "logit", kinds, last, shares, coefficients, groups, np.concatenate([*mapping]))


def _affirmed(b: Array) -> tuple[Array, Array]:
    """Coefficients of the trait and t, with derivatives: the odds are e^first + e^last, t is the part of e^first."""
    first, last = b[0], b[-1]
    with np.errstate(invalid="ignore"):  # infinity less infinity: the share is then read elsewhere
        t = float(expit(first - last))
    values = np.concatenate([[np.logaddexp(first, last)], b[1:-1], [t]])
    slopes = np.eye(len(b))
    slopes[0, [0, -1]] = t, 1 - t
    slopes[-1] = 0
    slopes[-1, [0, -1]] = t * (1 - t), -t * (1 - t)
    return values, slopes


def _unrelated(b: Array) -> tuple[Array, Array]:
    """Coefficients of the trait and w, with derivatives."""
    w = float(expit(b[-1]))
    slopes = np.eye(len(b))
    slopes[-1, -1] = w * (1 - w)
    return np.concatenate([b[:-1], [w]]), slopes


@dataclass(frozen=True, eq=False, repr=False)
class TraitRegression(TableResult):
    """Coefficients of the trait's log-odds, and one further share: of honest carriers, or of an unrelated trait."""

    fit: Regression  # of the kinds of respondents, with its maxima, tests and predictions
    name: str  # of the further share: "honest" or "unrelated"
    read: Any
    meaning: str

    @property
    def terms(self) -> tuple[str, ...]:
        """Terms of the model, and the share."""
        return (*self.fit.model_data.terms.names, self.name)

    @property
    def coefficients(self) -> Array:
        """Coefficients of the trait's log-odds, infinite where the estimate is, and the share."""
        share = self.read(self.fit.finite_coefficients)[0][-1]
        return np.append(self.read(self.fit.coefficients)[0][:-1], share)

    @property
    def covariance(self) -> Array:
        """Covariances of coefficients and share, by the delta method; NaN where an estimate lies at infinity."""
        slopes = self.read(self.fit.finite_coefficients)[1]
        inner = np.nan_to_num(self.fit.covariance)
        covariance = slopes @ inner @ slopes.T
        # A coefficient that runs away takes with it what it moves; and the share, however little that still moves.
        lost = np.abs(slopes) > np.append(np.full(len(slopes) - 1, 1e-6), 0.0)[:, np.newaxis]
        lost = (lost & np.isnan(np.diag(self.fit.covariance))).any(axis=1)
        return np.where(lost[:, np.newaxis] | lost, np.nan, covariance)

    @property
    def freedom(self) -> Array | None:
        """Degrees of freedom of Student's t; None without clusters, for the normal distribution."""
        return self._accuracy.freedom

    @property
    def _accuracy(self) -> StandardErrors:
        return self.fit.accuracy(self.read(self.fit.finite_coefficients)[1])

    @property
    def notes(self) -> list[str]:
        """Warnings on the intervals where clusters are few or unequal."""
        accuracy = self._accuracy
        floored = [term for term, which in zip(self.terms, accuracy.floored(), strict=True) if which]
        if self.fit.clustered is None or accuracy.freedom is None:
            return floor_notes(floored)
        return [*self.fit.clustered.sentences(accuracy.freedom), *floor_notes(floored)]

    def _input_library(self) -> str | None:
        return self.fit.model_data.backend

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood at the estimates."""
        assert self.fit.log_likelihood is not None
        return self.fit.log_likelihood

    _rows_key = "coefficients"

    def _columns(self, level: float = 0.95) -> list[Column]:
        """Return the columns, a row for each coefficient with its Wald interval, then the share."""
        estimate, se = self.coefficients, np.sqrt(np.diag(self.covariance))
        limits = self._accuracy._replace(errors=se).wald(estimate, level)
        limits.statistic[-1], limits.low[-1] = np.nan, max(limits.low[-1], 0.0)
        limits.high[-1] = min(limits.high[-1], 1.0)
        table = coefficients({"term": self.terms}, estimate, limits)
        return [
            *starmap(Column, table.items()),
            Column(heading="term", texts=labels(table["term"])),
            *Estimates.of_table(table).shown("estimate", f"approximate {level_text(level)} interval", unknown="any"),
        ]

    def _title(self, level: float = 0.95) -> str:
        return f"Log-odds of the trait: {self.fit.model_data.formula}"

    def _footnotes(self, level: float = 0.95) -> list[str]:
        """Return the basis and meaning of the coefficients, the search for the maximum, and the notes."""
        best, *others = self.fit.optima
        search = f"{best.starts} of {self.fit.tried} starts ended at this maximum"
        if others:
            search += f"; the next best is {best.log_likelihood - others[0].log_likelihood:.3g} below it"
        against = enumerated([f"{name} = {value}" for name, value in self.fit.model_data.terms.references], 8)
        return [
            f"N = {counted(self.fit.people, 'respondent', 'respondents')}",
            *([f"levels are compared with {against}"] if against else []),
            f"the row {self.name} is a share, all others are log-odds: {self.meaning}",
            f"log-likelihood {self.log_likelihood:,.2f}; {search}",
            *self.notes,
        ]

    def _facts(self, level: float = 0.95) -> Document:
        return {
            "format": "warner trait regression",
            "version": 1,
            "formula": self.fit.model_data.formula,
            "designs": [design.to_dict() for design in self.fit.model_data.observations.designs],
            "people": self.fit.people,
            "missing": self.fit.model_data.missing,
            "unknown": self.fit.model_data.unknown,
            "log_likelihood": self.log_likelihood,
            "gap": self.fit.gap,
            "optima": [optimum._asdict() for optimum in self.fit.optima],
            "share": {"name": self.name, "meaning": self.meaning},
            "level": level,
            "notes": self.notes,
        }
