r"""Small samples: the effective number of answers behind coefficients and shares, and notes where it is too small.

How much they tell is counted in direct answers. Of all coefficients together that is `Regression.effective`. Of one
quantity h(b) alone: people speak about it as much as their predictors move, :math:`m_n = x_n'V\nabla h`, when it moves
and all else gives way. So those who do are :math:`(\sum w m^2)^2 / \sum w^2 m^4` in number, as with sampling weights,
and the reports of each are worth that part of a direct answer that the expected information has in that direction.
For the coefficient of a level against all others it is the people of that level, however many the others are.

Likelihood ratios of a factor with four levels rejected a true null at 5 % in 15 % of surveys whose reports told as much
as 25 direct answers, in 8 % at 79, and in 5.5 % at 121.

Of linear shares there is no information, and the people who speak about a quantity are counted themselves: intervals
for 20 to 100 people beside many missed in up to 9 % (two answers, odds of 9 : 1, enumerated), in up to 7 % for more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warner.words import enumerated, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array
    from warner.regression.regressions import Regression

ENOUGH_DIRECT_ANSWERS = 100  # of all people together, from which on intervals and tests keep their level
ENOUGH_FOR_ONE_QUANTITY = 30  # the same for one coefficient, share or effect
MOST_ROWS_TIMES_QUANTITIES = 10**8  # rows of the data times quantities, beyond which only all together are looked at
DOUBTFUL_INTERVALS = "intervals may cover less often than their level, and p-values should not be relied on"


def effective_answers(fit: Regression, slopes: Array) -> Array:
    """Give how many direct answers would tell as much about what has these derivatives, (..., coefficients)."""
    rows, likelihood = fit.model_data.observations, fit.likelihood
    direct, report = likelihood.row_information(fit.finite_coefficients)  # (n, f, f)
    flat = slopes.reshape(-1, slopes.shape[-1])
    result = np.zeros(len(flat))
    for place, slope in enumerate(flat):
        moved = likelihood.predictor_change(fit.finite_covariance @ slope)  # (f, n)
        square = (moved**2).sum(axis=0)
        if not np.isfinite(square).all() or not square.any():
            continue
        square /= square.max()
        worth, whole = (np.einsum("fn,nfg,gn->n", moved, one, moved) for one in (report, direct))
        part = np.divide(worth, whole, out=np.zeros_like(worth), where=whole > 0)
        result[place] = (rows.weight @ square) * (rows.weight @ (square * part)) / (rows.square @ square**2)
    return result.reshape(slopes.shape[:-1])


def small_sample_notes(fit: Regression, names: Sequence[str] = (), slopes: Array | None = None) -> list[str]:
    """Say where the reports tell too little: of all, or of the quantities that have these names and derivatives."""
    if fit.penalty is not None:
        return []
    if fit.effective is None:
        return _of_linear(fit, names, slopes)
    if fit.effective < ENOUGH_DIRECT_ANSWERS:
        direct = f"{fit.effective:,.0f} direct answers, fewer than {ENOUGH_DIRECT_ANSWERS}"
        return [f"The reports are as informative as {direct}: {DOUBTFUL_INTERVALS}."]
    if slopes is None or not len(names) or len(names) * len(fit.model_data.observations.x) > MOST_ROWS_TIMES_QUANTITIES:
        return []
    few = effective_answers(fit, slopes) < ENOUGH_FOR_ONE_QUANTITY
    if not few.any():
        return []
    about = enumerated([printable(name) for name, lacking in zip(names, few.tolist(), strict=True) if lacking])
    fewer = f"less informative than {ENOUGH_FOR_ONE_QUANTITY} direct answers"
    return [f"About {about} the reports are {fewer}: there {DOUBTFUL_INTERVALS}."]


def _of_linear(fit: Regression, names: Sequence[str], slopes: Array | None) -> list[str]:
    """Say the same of linear shares, by the number of people who speak about each quantity."""
    rows = fit.model_data.observations
    if slopes is None or not len(names) or len(names) * len(rows.x) > MOST_ROWS_TIMES_QUANTITIES:
        return []
    inverse = np.linalg.inv((rows.x.T * rows.weight) @ rows.x)
    few = []
    for name, slope in zip(names, slopes, strict=True):
        square = ((slope.reshape(-1, len(inverse)) @ inverse @ rows.x.T) ** 2).sum(axis=0)
        square /= square.max() or 1.0
        people = (rows.weight @ square) ** 2 / max(float(rows.square @ square**2), np.finfo(float).tiny)
        few += [name] * bool(people < ENOUGH_DIRECT_ANSWERS)
    if not few:
        return []
    about = enumerated([printable(name) for name in few])
    return [f"About {about} fewer than {ENOUGH_DIRECT_ANSWERS} people are informative: there {DOUBTFUL_INTERVALS}."]


def coefficient_notes(fit: Regression, which: Sequence[int] | None = None) -> list[str]:
    """Say the same of some coefficients, or of all; those at infinity have words of their own."""
    lost = np.zeros(len(fit.coefficients), dtype=bool) if fit.infinity is None else fit.infinity.mask
    chosen = [i for i in (range(len(fit.coefficients)) if which is None else which) if not lost[i]]
    names = coefficient_names(fit)
    return small_sample_notes(fit, [names[i] for i in chosen], np.eye(len(fit.finite_coefficients))[chosen])


def coefficient_names(fit: Regression) -> list[str]:
    """Name the coefficients: by their terms, with the answer where there are several blocks."""
    coefficients = fit.specification.coefficients
    several = len({name.answer for name in coefficients}) > 1
    return [printable(str(name) if several else name.term) for name in coefficients]
