r"""Goodness of fit: deviance against covariate cells, and Hosmer and Lemeshow's test on groups of predicted shares.

The most likely shares of each cell apart give the largest log-likelihood that any coefficients can reach; twice the
distance to it is the *deviance*. For large cells it is approximately chi-square, with (cells) (answers - 1) -
(coefficients) degrees of freedom. Where the most likely share of an answer is 0 in some cells, it is smaller, so that
the p-value is an upper bound: simulated sizes at 5 % were .1 to 4.3 % (with a degree of freedom less for each such cell
they would be 7 to 11 %).

For small cells, respondents are grouped by their predictions, into ten groups (Hosmer and Lemeshow): the sum of squared
differences of observed and expected reports, over expected ones, is approximately chi-square with (groups - 2)
(reports - 1) degrees of freedom, if there are as many reports as answers. Simulated sizes at 5 % were 4.6 to 6.6 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import chdtrc

from warner.arrays import Array, Counts, Integers, Label, objects
from warner.regression.families import BOUNDARY_SHARE
from warner.regression.model_tests import most_likely
from warner.results import Column, TableResult
from warner.text import counted, enumerated, shortened
from warner.typesetting import Printed, cells, p_value_cells, percent_cells, plain_table, rounded

if TYPE_CHECKING:
    from warner.documents import Document
    from warner.regression.regressions import Regression

PEOPLE_FOR_DEVIANCE = 10.0  # people in the mean cell, beyond which the deviance is about chi-square
PEOPLE_IN_SMALL_CELL = 5  # people, below which a cell is named
SMALL_CELLS_NAMED = 5  # small cells up to which a text names them
CALIBRATION_GROUPS = 10
FEWEST_CALIBRATION_GROUPS = 4
LEAST_EXPECTED_IN_GROUP = 5.0  # reports in a group


class CovariateCells(NamedTuple):
    """Cells of equal covariates: the cell of each row, the respondents and the first row of each cell."""

    of_row: Integers
    people: Array
    first: Integers


def covariate_cells(fit: Regression) -> CovariateCells:
    rows = fit.model_data.observations
    _, first, index = np.unique(rows.x, axis=0, return_index=True, return_inverse=True)
    index = index.ravel().astype(np.int64)
    return CovariateCells(index, np.bincount(index, rows.people).astype(np.float64), first.astype(np.int64))


def saturated_log_likelihood(fit: Regression, cells: CovariateCells) -> tuple[float, int]:
    """Largest log-likelihood of free shares in each cell, and the number of cells in which it needs a share of 0."""
    rows = fit.model_data.observations
    order = np.argsort(cells.of_row, kind="stable")
    ends = np.searchsorted(cells.of_row[order], np.arange(1, len(cells.people)))
    total, boundary = 0.0, 0
    for cell in np.split(order, ends):
        distinct, index = np.unique(rows.likelihood[cell], axis=0, return_inverse=True)
        height, shares = most_likely(distinct, np.bincount(index.ravel(), rows.weight[cell]).astype(np.float64))
        total, boundary = total + height, boundary + int(shares.min() < BOUNDARY_SHARE)
    return total, boundary


class Deviance(NamedTuple):
    """Deviance from the cells, with degrees of freedom and p-value, or None with the reason why there is no test.

    Without degrees of freedom, as many coefficients as the cells have, the p-value is 1. `boundary` is the number of
    cells in which the most likely share of an answer is 0: if there are any, the p-value is an upper bound.
    """

    saturated: float
    deviance: float
    freedom: int | None
    p: float | None
    boundary: int = 0
    reason: str = ""


class CalibrationGroups(NamedTuple):
    """Observed and expected reports in groups of similar predictions, (groups, reports), with the test."""

    people: Array
    predicted: Array
    observed: Array
    expected: Array
    reports: tuple[Label, ...]
    statistic: float
    freedom: int
    p: float


@dataclass(frozen=True, eq=False, repr=False)
class ModelCheck(TableResult):
    """Goodness of fit of a model, and cells with few respondents."""

    formula: str
    cells: int  # number of distinct rows of covariates
    people: int  # number of respondents
    small: tuple[str, ...]  # cells of fewer than 5 respondents, by covariates: predictions may reveal their answers
    deviance: Deviance | None  # from the cells; None for linear and penalized models, and with random intercepts
    groups: CalibrationGroups | None  # of like predictions; None where they are no test
    reason: str  # why there are no groups

    _rows_key = "groups"

    def _columns(self) -> list[Column]:
        """Return the columns, for programs a row for each group of predictions and report, for readers the tests."""
        names = ("group", "people", "predicted", "report", "observed", "expected")
        columns: tuple[Counts, ...] = (np.empty(0),) * len(names)
        if self.groups is not None:
            count, reports = self.groups.observed.shape
            columns = (
                np.repeat(np.arange(1, count + 1), reports),
                np.repeat(self.groups.people, reports),
                np.repeat(self.groups.predicted, reports),
                objects(list(self.groups.reports) * count),
                self.groups.observed.ravel(),
                self.groups.expected.ravel(),
            )
        tests = [] if self.deviance is None else [("deviance from the cells", *self.deviance[1:4])]
        if self.groups is not None:
            tests.append(("chi-square of groups of similar predictions", *self.groups[-3:]))
        p = np.array([np.nan if p is None else p for *_, p in tests])
        return [
            *map(Column, names, columns),
            Column(heading="test", texts=[name for name, *_ in tests]),
            Column(heading="statistic", texts=[rounded(statistic, 2) for _, statistic, *_ in tests]),
            Column(heading="df", texts=["" if freedom is None else f"{freedom:,}" for *_, freedom, _ in tests]),
            Column(heading="p", texts=p_value_cells(p)),
        ]

    def _title(self) -> str:
        respondents = counted(self.people, "respondent", "respondents")
        return f"Fit of {self.formula}: {respondents} in {counted(self.cells, 'cell', 'cells')} of covariates"

    def _footnotes(self) -> list[str]:
        found = []
        if self.deviance is not None and self.deviance.reason:
            found.append(f"deviance from the cells: {self.deviance.reason}")
        elif self.deviance is not None:
            most = f"{self.deviance.saturated:,.2f}"
            found.append(f"no coefficients can reach a log-likelihood above {most}, that of the cells")
        found += [*self._bounds(), *([f"groups of similar predictions: {self.reason}"] if self.reason else [])]
        if self.small:
            named = f" ({'; '.join(self.small)})" if len(self.small) <= SMALL_CELLS_NAMED else ""
            found.append(
                f"privacy: {counted(len(self.small), 'cell has', 'cells have')} fewer than {PEOPLE_IN_SMALL_CELL} "
                f"respondents{named}: predictions for such a cell are nearly statements about single respondents"
            )
        return found

    def _bounds(self) -> list[str]:
        if self.deviance is None or self.deviance.p is None or not self.deviance.boundary:
            return []
        where = f"In {counted(self.deviance.boundary, 'cell', 'cells')} the most likely share of an answer is 0 %"
        return [f"{where}: the p-value against the cells is an upper bound."]

    def _facts(self) -> Document:
        tested = None
        if self.groups is not None:
            tested = {name: getattr(self.groups, name) for name in ("statistic", "freedom", "p")}
        return {
            "formula": self.formula,
            "people": self.people,
            "cells": self.cells,
            "small_cells": self.small,
            "notes": self._bounds(),
            "deviance": None if self.deviance is None else self.deviance._asdict(),
            "groups_test": tested,
            "reason": self.reason,
        }

    def text(self) -> str:
        """Return the tests, and the groups of similar predictions, as tables for a terminal."""
        if self.groups is None:
            return super().text()
        groups, report = self.groups, shortened(repr(self.groups.reports[0]))
        columns = {
            "respondents": cells(groups.people.astype(np.int64)),
            "predicted (%)": percent_cells(groups.predicted, 1),
            f"reports of {report}": cells(groups.observed[:, 0].astype(np.int64)),
            "expected": [f"{number:,.1f}" for number in groups.expected[:, 0]],
        }
        return f"{super().text()}\n\n{plain_table(Printed(columns, 'Groups of similar predictions'))}"


def check_model(fit: Regression) -> ModelCheck:
    cells = covariate_cells(fit)
    small = []
    for pattern in fit.model_data.pattern[cells.first[cells.people < PEOPLE_IN_SMALL_CELL]].tolist():
        values = ((name, shortened(str(column[pattern]))) for name, column in fit.model_data.covariates.items())
        small.append(enumerated([f"{name} = {value}" for name, value in values]))
    deviance = _deviance(fit, cells)
    groups, reason = _calibration(fit, cells, deviance)
    return ModelCheck(fit.model_data.formula, len(cells.people), fit.people, tuple(small), deviance, groups, reason)


def _deviance(fit: Regression, cells: CovariateCells) -> Deviance | None:
    if fit.log_likelihood is None or fit.penalty is not None or fit.model_data.groups is not None:
        return None
    saturated, boundary = saturated_log_likelihood(fit, cells)
    deviance = max(0.0, 2 * (saturated - fit.log_likelihood))
    freedom = len(cells.people) * (len(fit.specification.domain) - 1) - len(fit.coefficients)
    if not fit.model_data.observations.sampling.simple:
        reason = "no test with sampling weights, clusters or strata, which a likelihood ignores"
        return Deviance(saturated, deviance, None, None, boundary, reason)
    if fit.people <= PEOPLE_FOR_DEVIANCE * len(cells.people):
        return Deviance(saturated, deviance, None, None, boundary, "they are too small for a test")
    p = float(chdtrc(freedom, deviance)) if freedom > 0 else 1.0
    return Deviance(saturated, deviance, freedom, p, boundary)


def _why_no_groups(fit: Regression, deviance: Deviance | None) -> str:
    rows = fit.model_data.observations
    if deviance is not None and deviance.p is not None:
        return "not needed, as cells are large"
    if not rows.sampling.simple or fit.log_likelihood is None or fit.penalty is not None:
        return "no test with weights, clusters, strata or a penalty, nor for a linear model"
    if fit.model_data.groups is not None:
        return "no test with random intercepts, where respondents of one group are not independent"
    if len(rows.designs) > 1 or rows.tables[0] is None or rows.tables[0].shape[1] != rows.k:
        return "no test unless all reports are under one design, with as many reports as answers"
    return ""


def _calibration(
    fit: Regression, cells: CovariateCells, deviance: Deviance | None
) -> tuple[CalibrationGroups | None, str]:
    """Hosmer and Lemeshow's test on G groups of similar predictions, or the reason why there is none."""
    reason = _why_no_groups(fit, deviance)
    if reason:
        return None, reason
    rows, specification = fit.model_data.observations, fit.specification
    table = rows.tables[0]
    assert table is not None
    shares = specification.shares_at(fit.finite_coefficients, rows.x[cells.first])
    predicted = 1 - shares[:, specification.reference_index]  # of all answers but the last, or the reference
    group = _tenths(predicted, cells.people)
    people = np.bincount(group, cells.people).astype(np.float64)
    expected, observed = np.zeros((people.size, table.shape[1])), np.zeros((people.size, table.shape[1]))
    np.add.at(expected, group, cells.people[:, np.newaxis] * (shares @ table))
    np.add.at(observed, (group[cells.of_row], rows.report), rows.people)
    if people.size < FEWEST_CALIBRATION_GROUPS or expected.min() < LEAST_EXPECTED_IN_GROUP:
        few = f"fewer than {LEAST_EXPECTED_IN_GROUP:g} expected reports in one"
        return None, f"no test with fewer than {FEWEST_CALIBRATION_GROUPS} groups, or {few}"
    statistic = float(((observed - expected) ** 2 / expected).sum())
    freedom = (people.size - 2) * (table.shape[1] - 1)
    groups = CalibrationGroups(
        people,
        np.bincount(group, cells.people * predicted) / people,
        observed,
        expected,
        tuple(rows.designs[0].law.columns),
        statistic,
        freedom,
        float(chdtrc(freedom, statistic)),
    )
    return groups, ""


def _tenths(predicted: Array, people: Array) -> Integers:
    """Divide cells into groups of similar predictions with about a tenth of the respondents each."""
    order = np.argsort(predicted, kind="stable")
    middle = people[order].cumsum() - people[order] / 2
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.minimum(middle * CALIBRATION_GROUPS / people.sum(), CALIBRATION_GROUPS - 1).astype(np.int64)
    return np.unique(group, return_inverse=True)[1]
