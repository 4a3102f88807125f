"""The search for the most likely coefficients of a model; of ordered answers also where two cutpoints meet.

If nobody seems to hold an answer in the middle, the most likely cutpoints on both sides of it are the same: no maximum
in which they differ, but one of the model without that answer.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from warner.regression.identification import refuse_unidentified
from warner.regression.likelihood import Likelihood
from warner.regression.maxima import NoMaximumError, found
from warner.regression.specifications import joined
from warner.regression.starts import starts, steeper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.regression.data import Observations
    from warner.regression.maxima import Found
    from warner.regression.specifications import Specification
    from warner.regression.starts import Start


class Search(NamedTuple):
    """What was found, and for which model."""

    specification: Specification
    likelihood: Likelihood
    found: Found


def searched(
    rows: Observations, specification: Specification, at_random: int | None = None, more: Sequence[Start] = ()
) -> Search:
    """Climb from all starts, and from some more; where ordered answers made climbs end nowhere, also without each."""
    likelihood = Likelihood(rows, specification.family, specification.mapping)
    places = [*starts(likelihood, at_random=at_random), *more]
    refuse_unidentified(likelihood, places[0].coefficients, [str(name) for name in specification.coefficients])
    further = partial(steeper, likelihood, at_random=at_random)
    results: list[Search] = []
    failure: NoMaximumError | None = None
    try:
        results.append(Search(specification, likelihood, found(likelihood, places, further)))
    except NoMaximumError as error:
        failure = error
    if not (results and results[0].found.ended):
        for cut in range(specification.cuts - 1):
            try:
                results.append(searched(rows, joined(specification, cut), at_random))
            except NoMaximumError as error:
                failure = error
    if not results:
        assert failure is not None
        raise failure
    # In doubt the model with all answers: max takes the first of equals.
    return max(results, key=lambda result: round(result.found.peak.value, 6))
