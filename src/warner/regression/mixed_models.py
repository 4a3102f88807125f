r"""Mixed models: the most likely coefficients and standard deviation of random intercepts, or why there are none.

The maximum is looked for from the coefficients of the model without effects, with several standard deviations, and from
some of the places that it was looked for from. The number of nodes is 25; where twice as many change the log-likelihood
by more than .01, it is 51. A standard deviation that gains nothing over none is 0.

Where groups have few reports each, the likelihood may go on rising with the standard deviation, and the coefficients
with it: then the reports do not tell how much groups differ, and there is no estimate.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.regression.adaptive_quadrature import NODES, SPREAD_TO_BEGIN, RandomIntercepts
from warner.regression.maxima import NoMaximumError, maximise
from warner.regression.newton import SAME_MAXIMUM_NATS, newton_ascent
from warner.regression.specifications import MEDIAN_GROUP, all_groups, with_random_intercepts
from warner.regression.standard_errors import covariance
from warner.regression.starts import Start
from warner.words import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array
    from warner.regression.data import Groups, ModelData
    from warner.regression.maxima import Maximum, ModelMaximum
    from warner.regression.regressions import Regression
    from warner.regression.specifications import Specification

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


class MixedMaximum(NamedTuple):
    """The maximum of a model with random intercepts.

    `maximum` has the standard deviation as its last coefficient, not negative; `without` is the largest log-likelihood
    without effects, and `change` by how much twice the nodes change the log-likelihood.
    """

    specification: Specification
    likelihood: RandomIntercepts
    maximum: Maximum
    starts: tuple[Array, ...]
    without: float
    change: float


def refuse_mixed(data: ModelData, model: str, k: int, errors: str | None, penalty: str | None) -> None:
    """Refuse what random intercepts do not go together with."""
    assert data.groups is not None
    column, sampling = data.groups.column, data.observations.sampling
    if model == "linear":
        raise ValueError(
            "random intercepts need a likelihood, which a linear model has not; leave them out and name "
            f"{column!r} as clusters, or take another model"
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


def mixed_maximum(groups: Groups, plain: ModelMaximum, more: Sequence[Start] = ()) -> MixedMaximum:
    """Maximise the likelihood with an effect for each group, from the maximum without effects and from some more."""
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
    return MixedMaximum(
        with_random_intercepts(specification), likelihood, maximum, others, plain.maximum.best.value, change
    )


def mixed_covariance(likelihood: RandomIntercepts, b: Array) -> Array:
    """Give the covariances of the coefficients and of the standard deviation at a maximum.

    At a standard deviation of 0 the likelihood is even in it, and the coefficients are as without effects.
    """
    if b[-1] > 0:
        return covariance(likelihood, b, "observed")
    result = np.zeros((len(b), len(b)))
    result[:-1, :-1] = covariance(likelihood.without_effects, b[:-1], "observed")
    told = float(likelihood.at(b).information[-1, -1])
    result[-1, -1] = 1 / told if told > 0 else 1.0
    return result


def with_effects(fit: Regression, effects: str, target: str) -> Regression:
    """Give a fit whose shares are averaged over the effects of groups, or those of the median group."""
    if effects not in EFFECTS:
        raise ValueError(f"effects must be one of {', '.join(EFFECTS)}, but got {effects!r}")
    if fit.model_data.groups is None:
        if effects != AVERAGED:
            raise ValueError("effects must be left out without random intercepts: there are no groups")
        return fit
    if target != "realised":
        raise ValueError(
            f"target must be 'realised' with random intercepts, but got {target!r}: how people of the population are "
            "spread over groups is not modelled; name clusters instead of intercepts"
        )
    law = all_groups() if effects == AVERAGED else MEDIAN_GROUP
    return replace(fit, specification=replace(fit.specification, effects=law))


def group_notes(fit: Regression) -> list[str]:
    """Say where groups are few, or the integral over their effects is not known well."""
    groups = fit.model_data.groups
    if groups is None:
        return []
    said = []
    if groups.number < FEW_GROUPS:
        said.append(
            f"With {groups.number} groups the spread between them is hardly known: intervals of what differs only "
            "between groups are somewhat too short."
        )
    if abs(fit.doubling) > DOUBLING_CHANGES:
        said.append(
            f"The log-likelihood changes by {fit.doubling:+.2f} with twice the {fit.nodes} nodes: it is not known more "
            "closely."
        )
    return said


def effect_notes(fit: Regression) -> list[str]:
    """Say over which groups shares are averaged."""
    groups, law = fit.model_data.groups, fit.specification.effects
    if groups is None or law is None:
        return []
    of = f"of {quoted(groups.column)}"
    if len(law.positions) == 1:
        return [f"Shares are those of the median group {of}."]
    return [f"Shares are averages over all groups {of}, of which these {groups.number:,} are a sample."]


def _maximised(likelihood: RandomIntercepts, starts: Sequence[Start], groups: Groups, plain: ModelMaximum) -> Maximum:
    """Climb from all starts; refuse a maximum that is far out, and take no spread where none is as likely."""
    first = newton_ascent(likelihood, starts[0].coefficients)
    if not first.converged and abs(first.coefficients[-1]) > NEARLY_LARGEST * likelihood.largest:
        raise _untold(groups)
    try:
        maximum = maximise(likelihood, [Start("first", first.coefficients), *starts[1:]])
    except NoMaximumError:
        raise _untold(groups) from None
    best = maximum.best
    b = np.append(best.coefficients[:-1], abs(best.coefficients[-1]))
    without = plain.maximum.best
    if without.value > best.value - SAME_MAXIMUM_NATS:
        return maximum._replace(best=without._replace(coefficients=np.append(without.coefficients, 0.0)), infinity=None)
    far = np.abs(likelihood.predictors(b)).max() > FARTHEST_FINITE_PREDICTOR
    if far or maximum.infinity is not None or not _is_maximum(likelihood, b) or _rises(likelihood, b, best.value):
        raise _untold(groups)
    return maximum._replace(best=best._replace(coefficients=b))


def _rises(likelihood: RandomIntercepts, b: Array, value: float) -> bool:
    """Tell whether the likelihood is higher at the largest standard deviation, with as steep slopes as that needs."""
    steeper = b[:-1] * np.sqrt(1 + (LARGEST_SPREAD / LOGISTIC_TO_NORMAL) ** 2)  # as much of everybody's share as before
    return likelihood.for_spread(LARGEST_SPREAD).value(np.append(steeper, LARGEST_SPREAD)) > value


def _is_maximum(likelihood: RandomIntercepts, b: Array) -> bool:
    try:
        np.linalg.cholesky(likelihood.at(b).information)
    except np.linalg.LinAlgError:
        return False
    return True


def _untold(groups: Groups) -> ValueError:
    """Say that the reports do not tell the standard deviation."""
    return ValueError(
        f"the reports do not show how much the {groups.number:,} groups of {groups.column!r} differ: the likelihood "
        f"still rises at a standard deviation of {LARGEST_SPREAD:g}; groups with more reports would show it, or leave "
        f"the random intercepts out and name {groups.column!r} as clusters"
    )
