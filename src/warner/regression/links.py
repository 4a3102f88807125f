r"""Links: the share of an answer as a function of one linear predictor, with all that its derivatives need.

A link is given by the logarithms of :math:`F(\eta)` and :math:`1 - F(\eta)`, by the two ratios :math:`f/F` and
:math:`f/(1-F)` of its density, and by :math:`f'/f`: then nothing is lost where a share comes near 0 or 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, logit, ndtri

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.arrays import Array

LARGEST = 300.0  # of a predictor whose exponential is taken twice: its square is still a number
ROOT_TWO_PI = np.sqrt(2 * np.pi)


class Sides(NamedTuple):
    """A link at some predictors: log F, log(1 - F), f/F, f/(1 - F), f'/f."""

    log_share: Array
    log_rest: Array
    over_share: Array
    over_rest: Array
    bend: Array


class Link(NamedTuple):
    """A link: its name, what it gives at predictors, and the predictors that give shares."""

    name: str
    sides: Callable[[Array], Sides]
    inverse: Callable[[Array], Array]

    def share(self, eta: Array) -> Array:
        """Give F: the share.

        >>> LINKS["cauchit"].share(np.array([0.0, 1.0]))
        array([0.5 , 0.75])
        """
        return np.asarray(np.exp(self.sides(eta).log_share))


def _logit(eta: Array) -> Sides:
    share, rest = expit(eta), expit(-eta)
    return Sides(log_expit(eta), log_expit(-eta), rest, share, rest - share)


def _probit(eta: Array) -> Sides:
    below, above = log_ndtr(eta), log_ndtr(-eta)
    log_density = -(eta**2) / 2 - np.log(ROOT_TWO_PI)
    return Sides(below, above, np.exp(log_density - below), np.exp(log_density - above), -eta)


def _cloglog(eta: Array) -> Sides:
    # F = 1 - exp(-h), h = e^eta: f/F = h / (e^h - 1), and f/(1 - F) = h.
    hazard = np.exp(np.clip(eta, -LARGEST, LARGEST))
    rest = np.exp(-hazard)
    share = -np.expm1(-hazard)
    return Sides(np.log(share), -hazard, hazard * rest / share, hazard, 1 - hazard)


def _cauchit(eta: Array) -> Sides:
    share, rest = np.arctan2(1.0, -eta) / np.pi, np.arctan2(1.0, eta) / np.pi
    density = 1 / (np.pi * (1 + eta**2))
    return Sides(np.log(share), np.log(rest), density / share, density / rest, -2 * eta / (1 + eta**2))


LINKS = {
    "logit": Link("logit", _logit, logit),
    "probit": Link("probit", _probit, ndtri),
    "cloglog": Link("cloglog", _cloglog, lambda share: np.log(-np.log1p(-share))),
    "cauchit": Link("cauchit", _cauchit, lambda share: np.tan(np.pi * (share - 0.5))),
}
