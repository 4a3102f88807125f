"""Why an estimate lies at infinity, in words: who reported an answer more rarely, or more often, than noise allows.

Along the direction in which the likelihood does not fall, the predictors of some people move: their most likely share
of an answer is 0 or 1. Who they are is said by a value of a covariate where one names just them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.words import counted, percent, quoted

if TYPE_CHECKING:
    from warner.arrays import Array, Label, Mask
    from warner.regression.regressions import Regression

MOVES = 1e-3  # part of the largest movement
OUT = 20.0  # how far predictors are moved, to see which shares vanish
LEFT = 1e-3  # a share below this vanishes


class Infinite(NamedTuple):
    """A coefficient without a finite estimate: minus or plus infinity, or NaN if it can be anything, and why."""

    answer: Label | None
    term: str
    estimate: float
    reason: str


def infinite(fit: Regression) -> tuple[Infinite, ...]:
    """Name the coefficients that have no finite estimate, with reasons."""
    if fit.infinity is None:
        return ()
    movement = fit.likelihood.movement(fit.infinity.direction)  # (f, n)
    moving = np.abs(movement) > MOVES * np.abs(movement).max()
    result = []
    for i in np.flatnonzero(fit.infinity.mask).tolist():
        touched = np.abs(fit.likelihood.movement(np.eye(len(fit.point))[i])) > 0
        people = (moving & touched).any(axis=0)
        if not people.any():  # it makes up for another one: these people's predictors stay where they are
            people = moving[touched.any(axis=1)].any(axis=0)
        if not people.any():
            people = moving.any(axis=0)
        name = fit.specification.coefficients[i]
        result.append(Infinite(name.answer, name.term, float(fit.coefficients[i]), reason(fit, people)))
    return tuple(result)


def reason(fit: Regression, people: Mask) -> str:
    """Say what is special about the reports of some people, whose most likely share of an answer is 0 or 1."""
    assert fit.infinity is not None
    rows, domain = fit.model_data.observations, fit.specification.domain
    b = fit.point + OUT * fit.infinity.direction
    weight = rows.weight[people]
    shares = fit.specification.shares_at(b, rows.x[people])
    who = f"the {counted(int(rows.people[people].sum()), 'person', 'people')}{described(fit, people)}"
    vanished = np.flatnonzero((shares < LEFT).all(axis=0)).tolist()
    certain = np.flatnonzero((shares > 1 - LEFT).all(axis=0)).tolist()
    if len(domain) == 2 and len(vanished) == 1 and (said := _against_noise(fit, people, weight, vanished[0])):
        return f"{who} {said}"
    if certain:
        return f"the most likely share of {quoted(domain[certain[0]])} among {who} is 100 %"
    if vanished:
        names = " and of ".join(quoted(domain[k]) for k in vanished)
        return f"the most likely share of {names} among {who} is 0 %"
    return f"the most likely share of some answers among {who} is 0 or 100 %"


def _against_noise(fit: Regression, people: Mask, weight: Array, vanished: int) -> str:
    """Compare the reports of people with those of people without an answer, under one design with a table."""
    rows = fit.model_data.observations
    numbers = np.unique(rows.design[people])
    table = rows.tables[numbers[0]]
    if len(numbers) > 1 or table is None:
        return ""
    # The first answer is the trait: its typical report is the one that it makes more likely than the other does.
    design, other = rows.designs[numbers[0]], 1 - vanished
    typical = int(np.argmax(table[0] / np.maximum(table[1], np.finfo(float).tiny)))
    observed = float(weight @ (rows.report[people] == typical) / weight.sum())
    expected = float(table[other, typical])
    if (observed < expected) != (vanished == 0):
        return ""  # the covariates are behind it, and not these reports alone
    report, answer = quoted(design.as_channel().outputs[typical]), quoted(fit.specification.domain[other])
    return (
        f"reported {report} in {percent(observed, 1)}, {'less' if vanished == 0 else 'more'} than the "
        f"{percent(expected, 1)} of people whose answer is {answer}"
    )


def described(fit: Regression, people: Mask) -> str:
    """Say by values of covariates who some rows are: " with region = 'north'"; nothing if no few words do."""
    if people.all():
        return ""
    model_data = fit.model_data
    columns = {name: values[model_data.pattern] for name, values in model_data.covariates.items()}
    conditions = {name: values == values[people][0] for name, values in columns.items()}
    for name, same in conditions.items():
        if (same == people).all():
            return f" with {name} = {columns[name][people][0]!s}"
    constant = {name: same for name, same in conditions.items() if same[people].all()}
    if constant and (np.logical_and.reduce(list(constant.values())) == people).all():
        return " with " + " and ".join(f"{name} = {columns[name][people][0]!s}" for name in constant)
    for name, values in columns.items():
        if model_data.terms.kinds[name] == "number":
            if ((values >= values[people].min()) == people).all():
                return f" with {name} of at least {values[people].min()!s}"
            if ((values <= values[people].max()) == people).all():
                return f" with {name} of at most {values[people].max()!s}"
    return ""
