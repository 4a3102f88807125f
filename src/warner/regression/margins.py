r"""Average marginal effects: by how much shares, or a mean number, change with a covariate, on average over people.

Of numbers, the derivative of the mean share in the covariate: everybody's value is moved by h to either side, the
formula is evaluated anew, and the difference taken, so that squares and interactions move along. Of a factor, and of
zeros and ones, the difference of two mean shares: everybody at this level, and everybody at the first one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.inference.two_answers import answers_of_interest
from warner.progress import steps
from warner.regression.intervals import interval_method
from warner.regression.mean_shares import (
    at_the_boundary,
    boundary_notes,
    mean_limits,
    mean_of_columns,
    mean_over_people,
)
from warner.regression.mixed_models import effect_notes
from warner.regression.small_samples import small_sample_notes
from warner.regression.variance_floors import floor_notes
from warner.results import Result, coefficients, rows
from warner.typesetting import Printed, estimate_columns, labels
from warner.words import counted, enumerated, level_text, quoted, sentence, tabulated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from warner.arrays import Array, Counts, Label, Mask
    from warner.documents import Document
    from warner.regression.mean_shares import MeanShares
    from warner.regression.regressions import Regression

EFFECT_STRIDE = 1e-3  # of the standard deviation of a column
LONGEST_STRIDE = 1e-2  # that a predictor may move
# Weights of the values at -2, -1, 1 and 2 strides: the error is of the fourth order.
DIFFERENCE_WEIGHTS = {-2: 1 / 12, -1: -8 / 12, 1: 8 / 12, 2: -1 / 12}


@dataclass(frozen=True, eq=False, repr=False)
class Margins(Result):
    """Average marginal effects, a row for each effect.

    Attributes
    ----------
    effects : tuple of str
        What is changed: a variable of numbers, or a level against the first, as in ``region: north - south``.
    domain : sequence of labels
        The answers; empty where the mean of a number is modelled.
    changes, errors, low, high : arrays of shape (effects, k)
        Changes of the shares of all answers, their standard errors and intervals; of one column for the mean of a
        number, in its unit.
    level : float
        The confidence level of the intervals.
    target : str
        Whether they are for these people ("realised") or for the population that they are a sample of.
    freedom : array of shape (effects, k), or None
        Degrees of freedom of Student's t of each change; None without clusters, for the normal distribution.
    people : int
        The number of people whose reports were used.
    statistic : array of shape (effects, k)
        Change over standard error; the signed root of the likelihood ratio where the interval is that of a profile.
    methods : tuple of tuple of str
        How each interval was found: "wald", "profile", or "none".
    notes : tuple of str
        What must be said wherever these numbers are used: that clusters are few, or that reports tell little.
    """

    effects: tuple[str, ...]
    domain: Sequence[Label]
    changes: Array
    errors: Array
    low: Array
    high: Array
    level: float
    target: str
    freedom: Array | None
    people: int
    statistic: Array
    methods: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def table(self) -> dict[str, Counts]:
        """Give columns as arrays, a row for each effect and answer.

        Returns
        -------
        dict of ndarray
            ``term``, ``answer``, ``estimate``, ``se``, ``statistic``, ``p``, ``low``, ``high``, and ``interval``: how
            these were found. The standard error is NaN where some of the shares are estimated as 0 or 1. Of the mean of
            a number there is no ``answer``.
        """
        rows, k = self.changes.shape
        answers = {"answer": list(self.domain) * rows} if len(self.domain) else {}
        names = {"term": (effect for effect in self.effects for _ in range(k)), **answers}
        numbers = (self.changes, self.errors, self.statistic, self.low, self.high)
        freedom = None if self.freedom is None else self.freedom.ravel()
        methods = (method for row in self.methods for method in row)
        return coefficients(names, *map(np.ravel, numbers), freedom=freedom, methods=methods)

    def to_dict(self) -> Document:
        return {
            "level": self.level,
            "target": self.target,
            "people": self.people,
            "notes": list(self.notes),
            "effects": rows(self.table()),
        }

    def of_interest(self) -> dict[str, Counts]:
        """Give the table as people read it: of two answers the first alone, since the other changes by the opposite."""
        k = self.changes.shape[1]
        kept = np.isin(np.arange(self.changes.size) % k, answers_of_interest(k))
        return {name: column[kept] for name, column in self.table().items()}

    def printed(self, **options: Any) -> Printed:
        """Give a table for a paper: changes in percentage points, or in the unit of the numbers."""
        del options  # the table has none
        table, interval = self.of_interest(), f"{level_text(self.level)} interval"
        columns = {"term": labels(table["term"])}
        if len(self.domain):
            columns["answer"] = labels(table["answer"])
            columns |= estimate_columns(table, "change (points)", interval, times=100)
        else:
            columns |= estimate_columns(table, "change of the mean", interval)
        return Printed(
            columns, f"Average marginal effects, {self._whom()}", tuple(map(sentence, [*self._opposite(), *self.notes]))
        )

    def _whom(self) -> str:
        whom = "these people" if self.target == "realised" else "the population that they are a sample of"
        return f"average over {counted(self.people, 'person', 'people')}, for {whom}"

    def _opposite(self) -> list[str]:
        if len(self.domain) != 2:
            return []
        first, second = map(quoted, self.domain)
        return [f"the share of {second} changes by the opposite of that of {first}"]

    def text(self) -> str:
        """Write the effects as a table for people, in percentage points or in the unit of the numbers."""
        if not len(self.domain):
            head = f"Change of the mean, {self._whom()}"
            return "\n".join([head, *tabulated(self.printed().columns, left=1), *self.notes])
        table = self.of_interest()
        columns = {"term": [str(term) for term in table["term"]], "answer": [str(answer) for answer in table["answer"]]}
        columns["change"] = [f"{100 * change:+.3f}" for change in table["estimate"]]
        columns["se"] = ["-" if np.isnan(error) else f"{100 * error:.3f}" for error in table["se"]]
        columns["p"] = ["-" if np.isnan(p) else f"{p:.2g}" for p in table["p"]]
        columns[f"{level_text(self.level)} interval"] = [
            "-" if np.isnan(low) else f"{100 * low:+.3f} to {100 * high:+.3f}"
            for low, high in zip(table["low"], table["high"], strict=True)
        ]
        head = f"Change of shares in percentage points, {self._whom()}"
        return "\n".join([head, *tabulated(columns, left=2), *self._opposite(), *self.notes])


def marginal_effects(
    fit: Regression,
    variables: Iterable[str] | None = None,
    *,
    level: float = 0.95,
    target: str = "realised",
    interval: str = "auto",
) -> Margins:
    """Give the average marginal effects of some variables; see `Regression.margins`."""
    known = fit.model_data.terms.variables
    if isinstance(variables, str):
        raise TypeError(f"variables must be a list of names, but got the text {variables!r}; write [{variables!r}]")
    wanted = known if variables is None else tuple(variables)
    strange = [name for name in wanted if name not in known]
    if strange or not wanted:
        raise ValueError(
            f"variables must be some that the model uses ({enumerated([repr(name) for name in known], 8) or 'none'}), "
            f"but got {enumerated([repr(name) for name in strange], 8) or 'none'}"
        )
    effects = [effect for name in wanted for effect in _effects(fit, name)]
    method = interval if interval_method(fit, interval) != "none" else "none"
    found = [
        mean_limits(fit, mean, target, method, level, _around, tested=True)
        for _, mean in steps(effects, "marginal effects")
    ]
    errors, low, high, methods, statistic, freedoms, floored = zip(*found, strict=True)
    freedom = None if fit.clustered is None else np.array(freedoms)
    return Margins(
        tuple(name for name, _ in effects),
        () if fit.specification.of_number else fit.specification.domain,
        np.array([mean.shares for _, mean in effects]),
        np.array(errors),
        np.array(low),
        np.array(high),
        level,
        target,
        freedom,
        fit.people,
        np.array(statistic),
        methods,
        tuple(_notes(fit, effects, freedom, np.array(floored))),
    )


def _notes(
    fit: Regression, effects: Sequence[tuple[str, MeanShares]], freedom: Array | None, floored: Mask
) -> list[str]:
    """Say where the reports tell too little, or clusters are few."""
    inside = [(name, mean) for name, mean in effects if not at_the_boundary(fit, mean)]
    said = effect_notes(fit) + (boundary_notes(fit) if len(inside) < len(effects) else [])
    slopes = np.array([mean.slopes[0] for _, mean in inside]).reshape(-1, len(fit.finite_coefficients))
    said += small_sample_notes(fit, [name for name, _ in inside], slopes)
    said += [] if fit.clustered is None or freedom is None else fit.clustered.sentences(freedom)
    return said + floor_notes([name for (name, _), which in zip(effects, floored.tolist(), strict=True) if any(which)])


def _around(changes: Array, half: Array) -> tuple[Array, Array]:
    """Compute Wald's intervals."""
    return changes - half, changes + half


def _effects(fit: Regression, name: str) -> Iterator[tuple[str, MeanShares]]:
    """Give the effects of a variable: one of numbers, one for each further level of a factor."""
    model_data = fit.model_data
    values = model_data.covariates[name]
    levels = model_data.terms.levels.get(name)
    if levels is None and model_data.terms.kinds[name] != "number":
        levels = tuple(np.unique(values).tolist())
    if levels is None and np.isin(values, (0, 1)).all():
        levels = (0, 1)
    if levels is None:
        yield name, _derivative(fit, name)
        return
    first = mean_over_people(fit, {name: levels[0]})
    for level in levels[1:]:
        yield f"{name}: {level} - {levels[0]}", mean_over_people(fit, {name: level}).plus(-1.0, first)


def _derivative(fit: Regression, name: str) -> MeanShares:
    """Differentiate the mean share in a column of numbers."""
    columns = dict(fit.model_data.covariates)
    values = columns[name].astype(np.float64)
    stride = EFFECT_STRIDE * (float(values.std()) or 1.0)
    # Where slopes are steep, shorter ones: no predictor moves by more than that.
    ahead, here = (fit.model_data.terms.matrix(columns | {name: values + step}) for step in (stride, 0.0))
    moved = float(np.abs(fit.specification.matrix(fit.finite_coefficients) @ (ahead - here).T).max())
    stride *= min(1.0, LONGEST_STRIDE / moved) if moved > 0 else 1.0
    total = None
    for strides, weight in DIFFERENCE_WEIGHTS.items():
        mean = mean_of_columns(fit, columns | {name: values + strides * stride})
        total = mean.scaled(weight / stride) if total is None else total.plus(weight / stride, mean)
    assert total is not None
    return total
