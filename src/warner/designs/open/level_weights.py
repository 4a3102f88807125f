r"""How people are best divided among the levels of a search: the weights of the levels.

A value with share :math:`\theta` passes level l if its count is beyond the quantile :math:`z_l` of what noise has. With
:math:`n_l` people that has probability :math:`\Phi(y_l)` for :math:`\theta = (z_l + y_l) \sqrt{v / n_l}`, where v is
the variance that one report leaves. So with n people it is found with probability :math:`\prod \Phi(y_l)` for

.. math:: \theta = \sqrt{v K / n}, \qquad K = \sum_l (z_l + y_l)^2, \qquad n_l \propto (z_l + y_l)^2,

and K is least, for a given probability, where :math:`(z_l + y_l) \Phi(y_l) / \varphi(y_l)` is the same at all levels
(Lagrange). That depends on neither n nor epsilon: the weights belong to the design.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array

FALSE_PREFIXES = 32.0  # that noise alone may keep at a level, on average
HELD_PREFIXES = 16.0  # that people are taken to hold, and so are kept, for a plan
EULER = 0.5772156649015329  # Euler's constant: 1 + 1/2 + ... + 1/m is near ln(m) + 0.58
USUAL_LEVEL = 0.95
USUAL_POWER = 0.8
PARTS = 64  # that the people are divided into, about
WEIGHT_STEPS = 500  # of the iteration for Lagrange's condition
STEP_LENGTH = 0.05


def tail_probabilities(sizes: Sequence[int], *, level: float = USUAL_LEVEL) -> list[float]:
    """Give the probability with which noise may pass each level, for so many blocks that can follow at each.

    So many false prefixes at the levels of the search; at the last one, the error of the test, shared by all
    candidates. The prefixes that noise keeps have the weights 1, 1/2, 1/3, ..., so that a held one has the part
    1 / (held + ln(false) + 0.58) of it.
    """
    kept = FALSE_PREFIXES + HELD_PREFIXES
    tails = [min(0.5, FALSE_PREFIXES / (size * (kept if place else 1))) for place, size in enumerate(sizes[:-1])]
    shared = HELD_PREFIXES + math.log(FALSE_PREFIXES) + EULER if len(sizes) > 1 else 1.0
    return [*tails, (1 - level) / (sizes[-1] * shared)]


def squared_quantiles(tails: Sequence[float], power: float = USUAL_POWER) -> Array:
    """Give (z + y)^2 at each level, whose sum is the least with which a value is found with this probability."""
    from scipy.special import ndtr, ndtri

    z = -ndtri(np.asarray(tails))
    y = np.full(len(z), float(ndtri(power ** (1 / len(z)))))
    for _ in range(WEIGHT_STEPS):
        density = np.exp(-(y**2) / 2)
        slack = np.log((z + y) * ndtr(y) / density)
        y = y + STEP_LENGTH * (slack.mean() - slack)
        density = np.exp(-(y**2) / 2) / math.sqrt(2 * math.pi)
        y = y + (math.log(power) - np.log(ndtr(y)).sum()) / (density / ndtr(y)).sum()
    return np.asarray((z + y) ** 2)


def best_weights(sizes: Sequence[int]) -> tuple[int, ...]:
    """Give the weights of the levels, whole numbers that sum to about 64.

    >>> best_weights([2**16, 2**16, 2**16])
    (15, 21, 29)
    """
    parts = squared_quantiles(tail_probabilities(sizes))
    return tuple(max(1, round(PARTS * part / parts.sum())) for part in parts.tolist())
