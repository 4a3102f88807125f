r"""Mixed models: maximum likelihood of random intercepts, the spread between groups, and the effect of each group.

See the page "Regression on covariates" for the interval and the test of the spread, and the distribution of effects.

The likelihood is maximized from the coefficients of the model without effects, with several standard deviations, and
from some starts of that model. There are 25 quadrature nodes; where twice as many change the log-likelihood by more
than .01, there are 51. A standard deviation that gains nothing over none is 0. Where groups have few reports each, the
likelihood may keep rising with the standard deviation and the coefficients; then there is no estimate. The upper limit
of the interval is infinite if it is beyond a standard deviation of 10.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtrc

from warner.arrays import Array, Integers, Mask, objects
from warner.numerics import rising_roots
from warner.regression.adaptive_quadrature import NODES, SPREAD_TO_BEGIN, RandomIntercepts
from warner.regression.families import MEDIAN_GROUP, Specification, all_groups, with_random_intercepts
from warner.regression.maxima import Maximum, ModelMaximum, NoMaximumError, Start, maximise
from warner.regression.newton import SAME_MAXIMUM_NATS, newton_ascent
from warner.regression.profiles import Combination, ConstrainedLikelihood
from warner.regression.standard_errors import covariance
from warner.results import Column, Estimates, TableResult, critical_value
from warner.text import check_choice, counted, level_text, p_value, quoted
from warner.typesetting import in_digits, labels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from warner.documents import Document
    from warner.regression.data import Groups, ModelData
    from warner.regression.regressions import Regression


# Mixed models


AVERAGED = "averaged"
EFFECTS = (AVERAGED, "median")
FEW_GROUPS = 20  # groups of random intercepts, below which the spread between them is hardly known
MORE_NODES = 51
DOUBLING_CHANGES = 0.01  # nats by which twice the nodes may change the log-likelihood
SPREADS_TO_BEGIN = (0.5, 1.5, 0.1)  # standard deviations, at the coefficients without effects
STARTS_OF_PLAIN_MODEL = 2  # of the model without effects, that ascents begin at as well: null and corrected score
LARGEST_SPREAD = 10.0  # standard deviation beyond which it runs away
NEARLY_LARGEST = 0.9  # part of it, from which an ascent that does not end is on its way out
LOGISTIC_TO_NORMAL = 1.7  # standard deviations of normal effects that flatten a logistic slope by the square root of 2
FARTHEST_FINITE_PREDICTOR = 30.0  # of the median group, beyond which coefficients run away


def refuse_mixed(data: ModelData, model: str, k: int, errors: str | None, penalty: str | None) -> None:
    """Raise an error for options that random intercepts exclude."""
    assert data.groups is not None
    column, sampling = data.groups.column, data.observations.sampling
    if model == "linear":
        raise ValueError(
            "random intercepts need a likelihood, which a linear model lacks; leave them out and name "
            f"{column!r} as clusters, or use another model"
        )
    if model == "multinomial" and k > 2:
        raise ValueError(
            f'random intercepts are for two answers or for ordered ones, but there are {k}: take model="ordered", or '
            "one answer against the rest, by a `coarsened` design"
        )
    if sampling.weighted:
        raise ValueError(
            "random intercepts must be left out with sampling weights: how these should enter is an open question; "
            f"name {column!r} as clusters instead"
        )
    if sampling.cluster is not None or sampling.stratum is not None:
        raise ValueError(
            "clusters and strata must be left out with random intercepts, whose errors follow from the effects of "
            f"groups: keep the intercepts of {column!r} or the clusters, not both"
        )
    if penalty is not None:
        raise ValueError(f"penalty must be left out with random intercepts, but got {penalty!r}")
    if errors not in {None, "observed"}:
        raise ValueError(f"errors must be 'observed' with random intercepts, or be left out, but got {errors!r}")


def mixed_maximum(
    groups: Groups, plain: ModelMaximum, more: Sequence[Start] = ()
) -> tuple[Specification, RandomIntercepts, Maximum, tuple[Array, ...], float]:
    """Maximize the likelihood with random intercepts, from the maximum without effects and from further starts.

    The last coefficient is the standard deviation, not negative. The last value returned is by how much twice the nodes
    change the log-likelihood.
    """
    specification = plain.specification
    if plain.maximum.infinity is not None:
        lost = plain.maximum.infinity.mask.tolist()
        names = [str(name) for name, infinite in zip(specification.coefficients, lost, strict=True) if infinite]
        raise ValueError(
            f"random intercepts need finite estimates, but without them that of {names[0]} already lies at infinity; "
            "leave out its term, or the random intercepts"
        )
    base = plain.likelihood
    starts = [Start("plain", np.append(plain.maximum.best.coefficients, spread)) for spread in SPREADS_TO_BEGIN]
    others = tuple(np.append(b, SPREAD_TO_BEGIN) for b in plain.starts[:STARTS_OF_PLAIN_MODEL])
    starts += [Start("start of plain", b) for b in others]
    change = 0.0
    for nodes in (NODES, MORE_NODES):
        likelihood = RandomIntercepts(base.rows, base.family, base.mapping, groups.of_row, nodes, LARGEST_SPREAD)
        maximum = _maximised(likelihood, [*starts, *more], groups, plain)
        best = maximum.best.coefficients
        doubled = RandomIntercepts(base.rows, base.family, base.mapping, groups.of_row, 2 * nodes)
        change = doubled.value(best) - likelihood.value(best)
        if abs(change) <= DOUBLING_CHANGES:
            break
        more = (*more, Start("fewer nodes", best))
    return with_random_intercepts(specification), likelihood, maximum, others, change


def mixed_covariance(likelihood: RandomIntercepts, b: Array) -> Array:
    """Covariances of the coefficients and the standard deviation; the likelihood is even in it at 0."""
    if b[-1] > 0:
        return covariance(likelihood, b, "observed")
    result = np.zeros((len(b), len(b)))
    result[:-1, :-1] = covariance(likelihood.without_effects, b[:-1], "observed")
    information = float(likelihood.expansion(b).information[-1, -1])
    result[-1, -1] = 1 / information if information > 0 else 1.0
    return result


def with_effects(fit: Regression, effects: str, target: str) -> Regression:
    """Fit whose shares are averaged over the effects of groups, or are those of the median group."""
    check_choice("effects", effects, EFFECTS)
    if fit.model_data.groups is None:
        if effects != AVERAGED:
            raise ValueError("effects must be left out without random intercepts: there are no groups")
        return fit
    if target != "realised":
        raise ValueError(
            f"target must be 'realised' with random intercepts, but got {target!r}: the distribution of the "
            "population over groups is not modeled; name clusters instead of intercepts"
        )
    law = all_groups() if effects == AVERAGED else MEDIAN_GROUP
    return replace(fit, specification=replace(fit.specification, effects=law))


def group_notes(fit: Regression) -> list[str]:
    """Warnings where groups are few, or the integral over their effects is inaccurate."""
    groups = fit.model_data.groups
    if groups is None:
        return []
    notes = []
    if groups.number < FEW_GROUPS:
        notes.append(
            f"With {groups.number} groups the spread between them is hardly known: intervals of what differs only "
            "between groups are somewhat too short."
        )
    if abs(fit.doubling) > DOUBLING_CHANGES:
        notes.append(
            f"The log-likelihood changes by {fit.doubling:+.2f} with twice the {fit.nodes} nodes: it is not known more "
            "closely."
        )
    return notes


def effect_notes(fit: Regression) -> list[str]:
    groups, law = fit.model_data.groups, fit.specification.effects
    if groups is None or law is None:
        return []
    of = f"of {quoted(groups.column)}"
    if len(law.positions) == 1:
        return [f"Shares are those of the median group {of}."]
    return [f"Shares are averages over all groups {of}, of which these {groups.number:,} are a sample."]


def _maximised(likelihood: RandomIntercepts, starts: Sequence[Start], groups: Groups, plain: ModelMaximum) -> Maximum:
    """Maximize from all starts; raise an error for a maximum that is far out, and drop a spread that gains nothing."""
    first = newton_ascent(likelihood, starts[0].coefficients)
    if not first.converged and abs(first.coefficients[-1]) > NEARLY_LARGEST * likelihood.largest:
        raise _unidentified_spread(groups)
    try:
        maximum = maximise(likelihood, [Start("first", first.coefficients), *starts[1:]])
    except NoMaximumError:
        raise _unidentified_spread(groups) from None
    best = maximum.best
    b = np.append(best.coefficients[:-1], abs(best.coefficients[-1]))
    without = plain.maximum.best
    if without.value > best.value - SAME_MAXIMUM_NATS:
        return maximum._replace(best=without._replace(coefficients=np.append(without.coefficients, 0.0)), infinity=None)
    far = np.abs(likelihood.predictors(b)).max() > FARTHEST_FINITE_PREDICTOR
    if far or maximum.infinity is not None or not _is_maximum(likelihood, b) or _rises(likelihood, b, best.value):
        raise _unidentified_spread(groups)
    return maximum._replace(best=best._replace(coefficients=b))


def _rises(likelihood: RandomIntercepts, b: Array, value: float) -> bool:
    """Return True if the likelihood is higher at the largest standard deviation, with slopes as steep as that needs."""
    steeper = b[:-1] * np.sqrt(1 + (LARGEST_SPREAD / LOGISTIC_TO_NORMAL) ** 2)  # as much of everybody's share as before
    return likelihood.for_spread(LARGEST_SPREAD).value(np.append(steeper, LARGEST_SPREAD)) > value


def _is_maximum(likelihood: RandomIntercepts, b: Array) -> bool:
    try:
        np.linalg.cholesky(likelihood.expansion(b).information)
    except np.linalg.LinAlgError:
        return False
    return True


def _unidentified_spread(groups: Groups) -> ValueError:
    return ValueError(
        f"the reports do not show how much the {groups.number:,} groups of {groups.column!r} differ: the likelihood "
        f"still rises at a standard deviation of {LARGEST_SPREAD:g}; groups with more reports would show it, or leave "
        f"the random intercepts out and name {groups.column!r} as clusters"
    )


# Random effects


SPREADS_BELOW, SPREADS_ABOVE = 8, 16  # standard deviations, below and above the most likely, to average effects over
GROWING_STEP = 1.2  # from one of those above to the next
FIRST_LOSS = 0.3  # twice the loss of log-likelihood, at most, at the first of those above: .25 half an error away
LIMIT_CLOSE = 1e-7  # how close limits of the standard deviation are found
LOSS_AVERAGED = 12.0  # twice the loss of log-likelihood up to which they go
NEWTON_STEPS_EACH = 2  # from the coefficients of one standard deviation to those of the next
HOLDS_ON = "on average"


@dataclass(frozen=True, eq=False, repr=False)
class Spread(TableResult):
    """Standard deviation of the effects of groups, on the scale of the coefficients."""

    column: str  #: The column that names the groups.
    groups: int  #: Number of groups.
    value: float  #: The most likely standard deviation.
    low: float  #: Lower limit of the interval of the profile likelihood.
    high: float  #: Upper limit of the interval of the profile likelihood.
    statistic: float  #: Twice the log-likelihood that effects gain over none.
    p_value: float  #: P-value of the test that groups do not differ, at the boundary.
    level: float  #: Confidence level of the interval.
    people: int  #: Number of respondents in all groups.

    _rows_key = ""

    def _columns(self) -> list[Column]:
        name, number = objects([self.column]), np.array([self.groups])
        found = {"spread": self.value, "low": self.low, "high": self.high}
        found |= {"statistic": self.statistic, "p": self.p_value}
        table = {name: np.array([value]) for name, value in found.items()}
        return [
            Column("groups", name, "groups", [self.column]),
            Column("number", number, "number"),
            *starmap(Column, table.items()),
            *Estimates.of_table(table, "spread").shown("spread", f"{level_text(self.level)} interval"),
        ]

    def _title(self) -> str:
        return "Standard deviation of the effects of groups"

    def _footnotes(self) -> list[str]:
        return [f"N = {self.people:,} respondents", "p is the p-value of the test that all groups are alike"]

    def _facts(self) -> Document:
        numbers = {"spread": self.value, "low": self.low, "high": self.high, "level": self.level}
        return {"column": self.column, "groups": self.groups, **numbers, "statistic": self.statistic, "p": self.p_value}

    def text(self) -> str:
        """Return the spread as a sentence."""
        (value,), _, (interval,), _ = Estimates(self.value, self.low, self.high).texts()
        between = f"{level_text(self.level)} interval {interval}, profile likelihood"
        return (
            f"Spread between the {self.groups:,} groups of {quoted(self.column)}: a standard deviation of {value} "
            f"({between}); test of equal groups: {p_value(self.p_value)}."
        )


def spread_between(fit: Regression, level: float = 0.95) -> Spread:
    groups, without = fit.model_data.groups, fit.without_effects
    if groups is None or without is None or fit.log_likelihood is None:
        raise ValueError(
            'spread needs random intercepts: fit with a term such as "(1 | school)", or with intercepts="school"'
        )
    value = float(fit.finite_coefficients[-1])
    statistic = max(0.0, 2 * (fit.log_likelihood - without))
    low, high = _limits(fit, float(critical_value(level)) ** 2, statistic)
    p = 1.0 if statistic == 0 else float(chdtrc(1, statistic)) / 2
    return Spread(groups.column, groups.number, value, low, high, statistic, p, level, fit.people)


def _limits(fit: Regression, threshold: float, statistic: float) -> tuple[float, float]:
    """Limits of the profile likelihood of the standard deviation; the upper one is infinite if far out.

    They are looked for on either side of the estimate: below 0 the likelihood is that of minus the standard deviation.
    """
    value, error = float(fit.finite_coefficients[-1]), float(np.sqrt(fit.finite_covariance[-1, -1]))
    known = {value: fit.finite_coefficients}

    def outside(spreads: Array) -> Array:
        """Return the distance of a standard deviation from the interval, in about standard errors."""
        losses = [_loss(fit, spread, known) for spread in spreads.tolist()]
        return np.asarray(np.sqrt(np.maximum(losses, 0.0)) - np.sqrt(threshold))

    def root(function: Callable[[Array, Mask], Array], side: int, low: float, high: float) -> float:
        start = np.array([value + side * np.sqrt(threshold) * error])
        return float(rising_roots(function, start, np.array([error]), low, high, np.array([LIMIT_CLOSE]))[0])

    low = 0.0 if statistic <= threshold else root(lambda spreads, _: -outside(spreads), -1, 0.0, value)
    high = root(lambda spreads, _: outside(spreads), 1, value, LARGEST_SPREAD)
    return low, high if high < LARGEST_SPREAD else np.inf


def _loss(fit: Regression, spread: float, known: dict[float, Array]) -> float:
    """Twice the loss of log-likelihood at a standard deviation, from the coefficients of the nearest known one."""
    assert isinstance(fit.likelihood, RandomIntercepts)
    last = Combination(np.eye(len(fit.finite_coefficients))[-1])
    constrained = ConstrainedLikelihood(fit.likelihood.for_spread(spread), last)
    constrained.target = spread
    nearest = min(known, key=lambda one: abs(one - spread))
    best = newton_ascent(constrained, known[nearest][:-1])
    known[spread] = constrained.all_coefficients(best.coefficients)
    return 2 * ((fit.log_likelihood or 0.0) - best.value)


# Effects


@dataclass(frozen=True, eq=False, repr=False)
class RandomEffects(TableResult):
    """Effects of groups, on the scale of the coefficients."""

    column: str  #: The column that names the groups.
    groups: tuple[Any, ...]  #: Names of the groups.
    people: Integers  #: Number of respondents in each group, of shape (groups,).
    effects: Array  #: Predicted effects, of shape (groups,).
    errors: Array  #: Standard errors of the effects.
    low: Array  #: Lower limits of intervals that have their coverage on average over the groups.
    high: Array  #: Upper limits of these intervals.
    spread: float  #: The most likely standard deviation between groups.
    level: float  #: Confidence level of the intervals.

    _rows_key = "effects"

    def _columns(self) -> list[Column]:
        names = objects(self.groups)
        numbers = {"effect": self.effects, "se": self.errors, "low": self.low, "high": self.high}
        return [
            Column(self.column, names, self.column, labels(names)),
            Column("people", self.people, "respondents"),
            *starmap(Column, numbers.items()),
            *Estimates.of_table(numbers, "effect").shown("effect", f"{level_text(self.level)} interval"),
        ]

    def _title(self) -> str:
        number = counted(len(self.groups), "group", "groups")
        return f"Effects of {number} of {quoted(self.column)}, with a spread of {in_digits(self.spread)}"

    def _footnotes(self) -> list[str]:
        about = f"over all groups, intervals have coverage {self.level:g}; a group unlike the others is shrunk to them"
        return [f"N = {int(self.people.sum()):,} respondents", about]

    def _facts(self) -> Document:
        return {"column": self.column, "spread": self.spread, "level": self.level, "holds": HOLDS_ON}


def group_effects(fit: Regression, level: float = 0.95) -> RandomEffects:
    groups = fit.model_data.groups
    if groups is None:
        raise ValueError(
            'effects need random intercepts: fit with a term such as "(1 | school)", or with intercepts="school"'
        )
    people = np.bincount(groups.of_row, fit.model_data.observations.people, minlength=groups.number)
    spread = float(fit.finite_coefficients[-1])
    found = [*reversed([*_at_spreads(fit, -1)]), *_at_spreads(fit, 1)]
    spreads, logs, means, variances = (np.array(part) for part in zip(*found, strict=True))
    half_way = np.diff(spreads, prepend=spreads[0], append=spreads[-1]) / 2
    # The trapezoid rule, with a prior that is flat in the variance: one flat in the spread makes intervals too short.
    chance = np.exp(logs - logs.max()) * (half_way[:-1] + half_way[1:]) * spreads
    chance /= chance.sum()
    mean, square = chance @ means, chance @ (variances + means**2)
    errors = np.sqrt(np.maximum(square - mean**2, 0.0))
    half = float(critical_value(level)) * errors
    return RandomEffects(
        groups.column, groups.names, people.astype(np.int64), mean, errors, mean - half, mean + half, spread, level
    )


def _at_spreads(fit: Regression, side: int) -> Iterator[tuple[float, float, Array, Array]]:
    """Follow the likelihood from the best standard deviation down to 0, or up, until too much is lost.

    Yield standard deviations, log-likelihoods, and means and variances of the effects. The most likely coefficients
    follow from those of the standard deviation before by steps of Newton's method.
    """
    likelihood, b = fit.likelihood, fit.finite_coefficients.copy()
    assert isinstance(likelihood, RandomIntercepts)
    best, error = float(b[-1]), float(np.sqrt(fit.finite_covariance[-1, -1]))
    step = best / SPREADS_BELOW if side < 0 else max(error, best / SPREADS_BELOW) / 2
    ahead = [best - step * index for index in range(1, SPREADS_BELOW + 1)]
    if side > 0:
        # A standard error at 0 says little: the likelihood may be flat there, and steep farther out.
        while _loss(fit, best + step, {best: b}) > FIRST_LOSS:
            step /= 2
        ahead = [best + step * (GROWING_STEP**index - 1) / (GROWING_STEP - 1) for index in range(SPREADS_ABOVE + 1)]
    elif not best:
        return
    for spread in ahead:
        b[-1] = max(spread, 0.0)
        likelihood = likelihood.for_spread(b[-1])
        for _ in range(NEWTON_STEPS_EACH):
            here = likelihood.expansion(b)
            b[:-1] += np.linalg.lstsq(here.information[:-1, :-1], here.gradient[:-1], rcond=None)[0]
        here = likelihood.expansion(b)
        loss = 2 * ((fit.log_likelihood or 0.0) - here.value)
        if not np.isfinite(loss) or spread > LARGEST_SPREAD:
            return
        covariance = np.linalg.pinv(here.information[:-1, :-1], hermitian=True)
        mean, variance, slopes = likelihood.effects(b)
        along = np.einsum("gi,ij,gj->g", slopes, covariance, slopes)
        yield b[-1], here.value, b[-1] * mean, b[-1] ** 2 * (variance + along)
        if loss > LOSS_AVERAGED:
            return
