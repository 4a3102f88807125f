"""What an estimator's error would be, on a population that one has in mind.

Nobody can say beforehand which valid estimator comes closest, because that depends on the truth. But one can put a
population in the place of the truth, draw surveys from it, and see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warner.estimators import inv_n, inv_p, mle
from warner.metrics import squared_error_sum
from warner.simulate import reports_of_population

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from warner.design import RandomizedResponse

    Estimator = Callable[[Any, RandomizedResponse], NDArray[np.float64]]

VALID: dict[str, Estimator] = {"mle": mle, "inv_p": inv_p, "inv_n": inv_n}  # in the order in which ties are broken
SURVEYS = 20


def predicted_errors(
    shares: ArrayLike,
    n: int,
    design: RandomizedResponse,
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
    return {
        name: float(squared_error_sum(estimator(drawn, design), shares).mean())
        for name, estimator in estimators.items()
    }
