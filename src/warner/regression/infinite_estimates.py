r"""Infinite estimates (separation): coefficients that the likelihood drives to infinity, and the reasons in words.

Under randomization, infinite estimates are common: where a group reports yes more rarely than respondents without the
trait would, its most likely share is 0, and its coefficient minus infinity. Newton's method then moves out forever,
where the likelihood becomes flat. To detect this, the maximum is pulled back, and the ascent starts again.

Along the direction in which the likelihood does not fall, the predictors of some respondents change: their most likely
share of an answer is 0 or 1. The reason names them by the value of a covariate that selects just them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.regression.newton import FLAT_EIGENVALUE, SAME_MAXIMUM_NATS, eigensystem, newton_ascent
from warner.text import counted, percent, quoted

if TYPE_CHECKING:
    from warner.arrays import Array, Label, Mask
    from warner.regression.newton import LocalMaximum, Objective
    from warner.regression.regressions import Regression

PULL_BACKS = (1.0, 0.5, 0.25)  # parts of the way back, until the ascent from there returns
TOUCHED, UNMOVED = 1e-3, 1e-2  # parts of a direction in a coefficient, in units of its predictor
INFINITELY_FAR = 1000.0  # times the largest predictor: as good as infinity, for a direction
FARTHER_OUT = 10.0  # that a predictor may go without any loss, if the estimate lies at infinity
MOVING_PART = 1e-3  # of the largest change of a predictor
MOVED_OUT = 20.0  # how far predictors are moved, to see which shares vanish
VANISHING_SHARE = 1e-3  # below which a share vanishes


class Infinity(NamedTuple):
    """Coefficients without a finite estimate: -inf or inf, NaN if both fit equally well, 0 if finite.

    `direction` is the way on which the likelihood does not fall, and `near` a place on it that is no farther out than
    it must be: profiles begin there.
    """

    signs: Array
    direction: Array
    near: LocalMaximum

    @property
    def mask(self) -> Mask:
        return np.asarray(self.signs != 0)


def infinity(likelihood: Objective, maximum: LocalMaximum) -> Infinity | None:
    """Find the coefficients that the likelihood drives to infinity; None if there are none.

    Along eigenvectors with an eigenvalue near zero the predictors are pulled back to where there is a gradient. If the
    ascent from there runs out again, and from 10 farther out does not return, without a loss of 1e-6, the estimate lies
    at infinity. Coefficients that these directions do not touch are finite. The others go where the ascent takes them;
    those that it leaves unchanged, between several that run away, can be anything.
    """
    values, vectors = eigensystem(likelihood.expansion(maximum.coefficients).information, likelihood)
    flat = vectors[values < FLAT_EIGENVALUE]
    if not len(flat):
        return None
    # Pull the predictors back along the flat directions, and ascend again.
    eta = likelihood.predictors(maximum.coefficients)
    ways = np.stack([likelihood.predictor_change(vector).ravel() for vector in flat], axis=1)
    back = np.linalg.lstsq(ways, (likelihood.pulled_back(eta) - eta).ravel(), rcond=None)[0] @ flat
    for part in PULL_BACKS:
        pulled = maximum.coefficients + part * back
        again = newton_ascent(likelihood, pulled)
        if again.value > maximum.value - SAME_MAXIMUM_NATS:
            break
    direction = again.coefficients - pulled
    distance = float(np.abs(likelihood.predictor_change(direction)).max())
    if distance < 1.0:  # it stays: a finite maximum where the likelihood is nearly flat
        return None
    # Farther out by 10, or as far again for a link whose tail is long; the ascent undoes what should not move along.
    out = newton_ascent(likelihood, again.coefficients + max(FARTHER_OUT / distance, 1.0) * direction)
    value = max(again.value, maximum.value)
    direction = out.coefficients - again.coefficients
    distance = float(np.abs(likelihood.predictor_change(direction)).max())
    if distance < FARTHER_OUT / 2 or out.value < value - SAME_MAXIMUM_NATS - 1e-13 * abs(value):
        return None
    # Which coefficients go along, and where to.
    direction = direction / distance
    touched = np.sqrt((flat**2).sum(axis=0)) * likelihood.scale > TOUCHED
    signs = np.zeros(len(direction))
    for i in np.flatnonzero(touched).tolist():
        signs[i] = _sign(likelihood, again.coefficients, direction, flat, i, value)
    return Infinity(signs, direction, again)


def _sign(likelihood: Objective, b: Array, direction: Array, flat: Array, i: int, value: float) -> float:
    """Sign of infinity of a coefficient; NaN if the likelihood permits both.

    It can do either if the direction stays one without a loss when its part in the coefficient is turned round, by as
    little of the flat directions as possible.
    """
    nearest = (flat[:, i] * likelihood.scale[i]) @ flat  # the flat direction nearest to it
    turned = direction - 1.1 * (direction[i] / nearest[i]) * nearest
    far = b + INFINITELY_FAR * max(1.0, float(np.abs(likelihood.predictors(b)).max())) * turned
    # By whom it moves most: in the mean square a level of 60 among a million people would not move at all.
    moved = float(np.abs(likelihood.predictor_change(direction[i] * np.eye(len(b))[i])).max())
    if moved < UNMOVED or likelihood.value(far) >= value - 2 * SAME_MAXIMUM_NATS:
        return np.nan
    return float(np.copysign(np.inf, direction[i]))


# In words


class InfiniteEstimate(NamedTuple):
    """Coefficient without a finite estimate, NaN if any value is possible, and the reason."""

    answer: Label | None
    term: str
    estimate: float
    reason: str


def infinite_estimates(fit: Regression) -> tuple[InfiniteEstimate, ...]:
    if fit.infinity is None:
        return ()
    change = np.abs(fit.likelihood.predictor_change(fit.infinity.direction))  # (f, n)
    moving = change > MOVING_PART * change.max()
    result = []
    for i in np.flatnonzero(fit.infinity.mask).tolist():
        touched = np.abs(fit.likelihood.predictor_change(np.eye(len(fit.finite_coefficients))[i])) > 0
        people = (moving & touched).any(axis=0)
        if not people.any():  # it makes up for another one: these people's predictors stay where they are
            people = moving[touched.any(axis=1)].any(axis=0)
        if not people.any():
            people = moving.any(axis=0)
        name = fit.specification.coefficients[i]
        result.append(
            InfiniteEstimate(name.answer, name.term, float(fit.coefficients[i]), reason_in_words(fit, people))
        )
    return tuple(result)


def reason_in_words(fit: Regression, people: Mask) -> str:
    """Reason in words: the respondents whose most likely share of an answer is 0 or 1, and their reports."""
    assert fit.infinity is not None
    rows, domain = fit.model_data.observations, fit.specification.domain
    b = fit.finite_coefficients + MOVED_OUT * fit.infinity.direction
    weight = rows.weight[people]
    shares = fit.specification.shares_at(b, rows.x[people])
    who = f"the {counted(int(rows.people[people].sum()), 'person', 'people')}{people_in_words(fit, people)}"
    vanished = np.flatnonzero((shares < VANISHING_SHARE).all(axis=0)).tolist()
    certain = np.flatnonzero((shares > 1 - VANISHING_SHARE).all(axis=0)).tolist()
    if len(domain) == 2 and len(vanished) == 1 and (reason := _against_noise(fit, people, weight, vanished[0])):
        return f"{who} {reason}"
    if certain:
        return f"the most likely share of {quoted(domain[certain[0]])} among {who} is 100 %"
    if vanished:
        names = " and of ".join(quoted(domain[k]) for k in vanished)
        return f"the most likely share of {names} among {who} is 0 %"
    return f"the most likely share of some answers among {who} is 0 or 100 %"


def _against_noise(fit: Regression, people: Mask, weight: Array, vanished: int) -> str:
    """Compare reports of respondents with reports expected without an answer, under one design with a table."""
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
        f"{percent(expected, 1)} of respondents whose true answer is {answer}"
    )


def people_in_words(fit: Regression, people: Mask) -> str:
    """Covariate values that select some rows, as in " with region = 'north'"; empty if no short description exists."""
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
