r"""Maximum likelihood for pooled randomized responses of different strengths: a separable problem, solved by its dual.

With :math:`E_g = p_g/q_g - 1` for the design of collection g, the log-likelihood is a sum over the answers,

.. math:: \sum_i f_i(\theta_i), \qquad f_i(\theta) = \sum_g c_{gi} \ln(1 + E_g \theta),

of concave functions that only the sum of the shares ties together. So each share follows from one number, the price
:math:`\lambda` of a share: :math:`f_i'(\theta_i) = \lambda`, or 0 where even :math:`f_i'(0)` is below. The price is
where the shares sum to one: the root of one decreasing function. (With p < q in some of the designs the functions are
still concave, but an answer that was never reported has no price; such pools go to the solver for any channel.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from warner.arrays import Array, Mask

PRICE_STEPS = 200  # far more than are needed: Newton's method, or a bracket that is halved
PRICE_TOLERANCE = 1e-15  # of the sum of the shares, and of the price
NEWTON_STEP_TOLERANCE = 1e-12  # of a step against 1/E + theta: the next one would be its square


def separable_mle(counts: Array, gains: Array) -> Array:
    """Give the most likely shares, where the truth is the likelier report in all designs.

    Parameters
    ----------
    counts : ndarray of shape (designs, k)
        Number of reports of each answer under each design.
    gains : ndarray of shape (designs,)
        What a share adds to the odds of its report, E = p/q - 1: above 0.
    """
    counts, column = counts.astype(np.float64), gains[:, np.newaxis]
    at_nothing = _slope(counts, column, np.zeros(counts.shape[1]))
    # The price is the sum of theta f'(theta) = sum c E theta / (1 + E theta) at the maximum, hence at most `high`.
    best = float(column.max())
    low, high = 0.0, min(float(counts.sum()) * best / (1 + best), float(at_nothing.max()))
    price, theta = high, np.zeros(counts.shape[1])
    for _ in range(PRICE_STEPS):
        theta = _from_below(counts, column, price, at_nothing > price, theta)
        excess = float(theta.sum()) - 1
        low, high = (price, high) if excess > 0 else (low, price)
        if abs(excess) <= PRICE_TOLERANCE or high - low <= PRICE_TOLERANCE * price:
            break
        middle, held = (low + high) / 2, theta > 0
        if held.any():
            # Newton's method in 1/price, of which the sum is piecewise linear if there is one design only.
            rate = -float((1 / _bend(counts[:, held], column, theta[held])).sum()) * price**2
            step = 1 / price - excess / rate
            middle = 1 / step if step > 0 and low < 1 / step < high else middle
        price = middle
    return np.asarray(theta / theta.sum())


def _slope(counts: Array, column: Array, theta: Array) -> Array:
    """Give f'(theta)."""
    return np.asarray((counts * (column / (1 + column * theta))).sum(axis=0))


def _bend(counts: Array, column: Array, theta: Array) -> Array:
    """Give f''(theta)."""
    return np.asarray(-(counts * (column / (1 + column * theta)) ** 2).sum(axis=0))


def _from_below(counts: Array, column: Array, price: float, held: Mask, theta: Array) -> Array:
    """Solve f'(theta) = price by Newton's method on 1/f', which is concave: its second step and later come from below.

    For one design 1/f' is linear, and the first step is the answer.
    """
    result = np.zeros_like(theta)
    part, share = counts[:, held], theta[held]
    for _ in range(PRICE_STEPS):
        slope = _slope(part, column, share)
        # 1/f' + h (-f''/f'^2) = 1/price
        step = slope * (slope - price) / (-_bend(part, column, share) * price)
        share = np.maximum(share + step, 0)
        if np.all(np.abs(step) <= NEWTON_STEP_TOLERANCE * (share + 1 / column.max())):
            break
    result[held] = np.minimum(share, 1)
    return result
