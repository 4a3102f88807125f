"""What an estimator's error would be, on a population that one has in mind.

Nobody can say beforehand which valid estimator comes closest, because that depends on the truth. But one can put a
population in the place of the truth, draw surveys from it, and see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.estimators import inv_n, inv_p, mle
from warner.metrics import squared_error_sum
from warner.simulate import reports_of_population, seeded_by

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from warner.designs import Design

    Estimator = Callable[[Any, Design], NDArray[np.float64]]

VALID: dict[str, Estimator] = {"mle": mle, "inv_p": inv_p, "inv_n": inv_n}  # in the order in which ties are broken
SURVEYS = 20
ROUNDING = 1e-28  # a squared error below this is none


def predicted_errors(
    shares: ArrayLike,
    n: int,
    design: Design,
    *,
    rng: np.random.Generator,
    surveys: int = SURVEYS,
    estimators: Mapping[str, Estimator] = VALID,
) -> dict[str, float]:
    """Predict each estimator's mean squared error, summed over the answers, by drawing surveys.

    Parameters
    ----------
    shares : array_like of shape (k,)
        The population to put in the place of the truth.
    n : int
        Number of people in a survey.
    design : RandomizedResponse
        What every answer goes through.
    rng : numpy.random.Generator
        Where the randomness comes from.
    surveys : int
        How many surveys to draw.
    estimators : mapping of str to function
        What to compare; the valid estimators if not given.
    """
    drawn = reports_of_population(shares, n, design, rng=rng, size=surveys)
    errors = {
        name: float(squared_error_sum(estimator(drawn, design), shares).mean())
        for name, estimator in estimators.items()
    }
    return {name: error if error > ROUNDING else 0.0 for name, error in errors.items()}


class Choice(NamedTuple):
    """Which valid estimator to take, and the errors that were predicted for all of them."""

    method: str
    errors: dict[str, float]


def choice(
    counts: ArrayLike, design: Design, *, n: float | None = None, rng: np.random.Generator | None = None
) -> Choice:
    """Choose the valid estimator with the smallest predicted error for reports like these; `mle` if in doubt.

    The population in the place of the truth is what `inv_p` makes of these reports. Of several such plug-ins it was the
    one whose choice came closest to the best in hindsight. The predicted errors tell the estimators apart, but are
    themselves no better than an order of magnitude.

    Parameters
    ----------
    counts : array_like of shape (k,)
        Number of reports of each answer.
    design : RandomizedResponse
        What every answer went through.
    n : float, optional
        The effective number of reports, where counts are weighted; their sum if not given.
    rng : numpy.random.Generator, optional
        Where the randomness comes from; seeded from the counts if not given, so that the choice can be repeated.
    """
    people = max(1, round(float(np.sum(counts) if n is None else n)))
    generator = seeded_by(counts) if rng is None else rng
    errors = predicted_errors(inv_p(counts, design), people, design, rng=generator)
    return Choice(min(errors, key=errors.__getitem__), errors)
