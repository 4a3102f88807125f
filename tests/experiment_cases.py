"""A scale that takes seconds, and invented results, for tests of the code that judges them."""

from __future__ import annotations

import numpy as np

from experiments.pinzon2026.repetition import EstimatorErrors
from experiments.pinzon2026.scale import Scale

TINY = Scale(
    seeds=4,
    epsilons=(1, 4),
    people=(100, 1_000),
    answers=(20, 40),
    exponents=(1.3,),
    columns=(1,),
    ibu_answers=15,
    ibu_people=(300,),
    ibu_epsilons=(0.5, 2.0),
    ibu_exponents=(1.3,),
    ibu_steps=200,
    ibu_runs=3,
    real_epsilons=(3, 6),
    cases=20,
)


def outcome(error: float, *, likelihood: float = 1.0, bias: float = 0.0, negatives: int = 0) -> EstimatorErrors:
    """Make the outcome of an estimator with this squared error, and the rest, in each of ten seeds."""
    ones = np.ones(10)
    return EstimatorErrors(
        error * ones,
        likelihood * ones,
        ones,
        np.full(10, negatives),
        np.full(10, negatives),
        bias,
        error - bias,
    )
