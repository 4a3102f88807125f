"""Global maximum of the likelihood: Newton's method from several starts, and all local maxima that they lead to.

The log-likelihood of randomized answers is not concave and can have several maxima. After all starts, further ones
about the best maximum follow, as long as a better one turns up. Of ordered answers, maxima may also lie where two
cutpoints meet: if nobody seems to hold an answer in the middle, the most likely cutpoints on both sides of it are the
same. That is no maximum in which they differ, but one of the model without that answer.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.regression.identification import refuse_unidentified
from warner.regression.infinite_estimates import infinity
from warner.regression.likelihood import Likelihood
from warner.regression.newton import SAME_MAXIMUM_NATS, LocalMaximum, newton_ascent
from warner.regression.specifications import joined
from warner.regression.starts import starts as all_starts
from warner.regression.starts import steeper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from warner.arrays import Array
    from warner.regression.data import Observations
    from warner.regression.infinite_estimates import Infinity
    from warner.regression.newton import Objective
    from warner.regression.specifications import Specification
    from warner.regression.starts import Start

START_ROUNDS = 6  # of starts about the best maximum so far
BETTER_MAXIMUM_NATS = 1e-4  # by which a maximum must be better for another round
DIFFERENT_PREDICTORS = 0.05  # between two maxima that are not the same
LARGEST_FINITE_PREDICTOR = 12.0  # beyond which a predictor is as good as infinite


class Optimum(NamedTuple):
    """A maximum: its log-likelihood, and how many starts ended there."""

    log_likelihood: float
    starts: int


class NoMaximumError(ValueError):
    """No ascent ended at a maximum."""


class Maximum(NamedTuple):
    """The best maximum, all of them from the best one down, what lies at infinity, and the number of starts."""

    best: LocalMaximum
    optima: tuple[Optimum, ...]
    infinity: Infinity | None
    tried: int

    @property
    def all_converged(self) -> bool:
        """Whether all ascents ended at a maximum."""
        return sum(optimum.starts for optimum in self.optima) == self.tried


class ModelMaximum(NamedTuple):
    """The maximum, the model that has it, as asked for or with cutpoints that meet, and where ascents began."""

    specification: Specification
    likelihood: Likelihood
    maximum: Maximum
    starts: tuple[Array, ...]


def maximum_likelihood(
    rows: Observations, specification: Specification, at_random: int | None = None, more: Sequence[Start] = ()
) -> ModelMaximum:
    """Maximise the likelihood of a model from all starts, and from some more.

    Where ordered answers kept an ascent from converging, each pair of cutpoints is also joined.
    """
    likelihood = Likelihood(rows, specification.family, specification.mapping)
    starts = tuple(all_starts(likelihood, at_random=at_random))
    refuse_unidentified(likelihood, starts[0].coefficients, [str(name) for name in specification.coefficients])
    further = partial(steeper, likelihood, at_random=at_random)
    results: list[ModelMaximum] = []
    failure: NoMaximumError | None = None
    try:
        maximum = maximise(likelihood, [*starts, *more], further)
        results.append(ModelMaximum(specification, likelihood, maximum, tuple(start.coefficients for start in starts)))
    except NoMaximumError as error:
        failure = error
    if not (results and results[0].maximum.all_converged):
        for cut in range(specification.cuts - 1):
            try:
                results.append(maximum_likelihood(rows, joined(specification, cut), at_random))
            except NoMaximumError as error:
                failure = error
    if not results:
        assert failure is not None
        raise failure
    # In doubt the model with all answers: max takes the first of equals.
    return max(results, key=lambda result: round(result.maximum.best.value, 6))


def maximise(
    likelihood: Objective, starts: Iterable[Start], further: Callable[[Array], Iterable[Start]] | None = None
) -> Maximum:
    """Maximise from all starts, then from further ones about the best maximum as long as there is a better one."""
    maxima: list[tuple[LocalMaximum, int]] = []
    tried, best_start, before = 0, -np.inf, -np.inf
    for _ in range(START_ROUNDS):
        for start in starts:
            tried += 1
            maximum = newton_ascent(likelihood, start.coefficients, known=[one for one, _ in maxima])
            if maximum.converged:  # no lower than its start
                _add(likelihood, maxima, maximum)
            else:
                best_start = max(best_start, likelihood.value(start.coefficients))
        highest = max((one for one, _ in maxima), key=lambda one: one.value, default=None)
        if further is None or highest is None or highest.value < before + BETTER_MAXIMUM_NATS:
            break
        starts, before = further(highest.coefficients), highest.value
    # Where the likelihood is flat below a start, there is no maximum.
    if not maxima or max(one.value for one, _ in maxima) < best_start - SAME_MAXIMUM_NATS:
        raise NoMaximumError(
            f"no maximum of the likelihood was found from {tried} starts: the reports may say too little for this many "
            "coefficients; leave terms out, or use another link"
        )
    maxima.sort(key=lambda item: -item[0].value)
    best = maxima[0][0]
    optima = tuple(Optimum(one.value, count) for one, count in maxima)
    endless = infinity(likelihood, best)
    if endless is not None and endless.near.value > best.value - SAME_MAXIMUM_NATS:
        best = endless.near._replace(value=max(best.value, endless.near.value))
    return Maximum(best, optima, endless, tried)


def _add(likelihood: Objective, maxima: list[tuple[LocalMaximum, int]], maximum: LocalMaximum) -> None:
    """Count another ascent to a maximum that is known, or add a new one."""
    for place, (other, count) in enumerate(maxima):
        if _same(likelihood, maximum, other):
            maxima[place] = (max(maximum, other, key=lambda one: one.value), count + 1)
            return
    maxima.append((maximum, 1))


def _same(likelihood: Objective, first: LocalMaximum, second: LocalMaximum) -> bool:
    if abs(first.value - second.value) > SAME_MAXIMUM_NATS + 1e-12 * abs(first.value):
        return False
    # Predictors far out may differ: the likelihood is flat there.
    far = LARGEST_FINITE_PREDICTOR
    one, other = (np.clip(likelihood.predictors(each.coefficients), -far, far) for each in (first, second))
    return bool(np.abs(one - other).max() < DIFFERENT_PREDICTORS) or infinity(likelihood, first) is not None
