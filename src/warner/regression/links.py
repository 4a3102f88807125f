r"""Links: the share of an answer as a function of one linear predictor, with all that its derivatives need.

A link is given in two ways. `plain` has the share :math:`F(\eta)`, the rest, the density f and :math:`f'/f`: enough
where every report is possible after every answer. `sides` has the logarithms of F and of :math:`1 - F`, and the ratios
:math:`f/F` and :math:`f/(1-F)`: then nothing is lost where a share comes near 0 or 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import erfcx, expit, log_expit, log_ndtr, logit, ndtr, ndtri

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.arrays import Array

LARGEST_PREDICTOR = 300.0  # of a predictor whose exponential is taken twice: its square is still a number
ROOT_TWO_PI = np.sqrt(2 * np.pi)


class Plain(NamedTuple):
    """A link at some predictors: F, 1 - F, f, f'/f."""

    share: Array
    rest: Array
    density: Array
    bend: Array


class Sides(NamedTuple):
    """A link at some predictors, near its ends: log F, log(1 - F), f/F, f/(1 - F), f'/f."""

    log_share: Array
    log_rest: Array
    over_share: Array
    over_rest: Array
    bend: Array


class Link(NamedTuple):
    """A link: its name, what it gives at predictors, and the predictors that give shares.

    >>> LINKS["cauchit"].plain(np.array([0.0, 1.0])).share
    array([0.5 , 0.75])
    """

    name: str
    plain: Callable[[Array], Plain]
    sides: Callable[[Array], Sides]
    inverse: Callable[[Array], Array]


def _logit(eta: Array) -> Plain:
    # One exponential for both sides: the smaller is e/(1 + e), the larger 1/(1 + e), with e = exp(-|eta|).
    small = np.exp(-np.abs(eta))
    large = 1 / (1 + small)
    small *= large
    above = eta >= 0
    share, rest = np.where(above, large, small), np.where(above, small, large)
    return Plain(share, rest, small * large, rest - share)


def _logit_sides(eta: Array) -> Sides:
    share, rest = expit(eta), expit(-eta)
    return Sides(log_expit(eta), log_expit(-eta), rest, share, rest - share)


def _probit(eta: Array) -> Plain:
    return Plain(ndtr(eta), ndtr(-eta), np.exp(-(eta**2) / 2) / ROOT_TWO_PI, -eta)


def _probit_sides(eta: Array) -> Sides:
    # f/F = sqrt(2/pi) / erfcx(-eta/sqrt 2), where the exponentials of f and of F have cancelled.
    with np.errstate(divide="ignore"):  # at infinity
        over_share, over_rest = (np.sqrt(2 / np.pi) / erfcx(side / np.sqrt(2)) for side in (-eta, eta))
    return Sides(log_ndtr(eta), log_ndtr(-eta), over_share, over_rest, -eta)


def _cloglog(eta: Array) -> Plain:
    # F = 1 - exp(-h), h = e^eta, with density f = h exp(-h).
    hazard = np.exp(np.clip(eta, -LARGEST_PREDICTOR, LARGEST_PREDICTOR))
    rest = np.exp(-hazard)
    return Plain(-np.expm1(-hazard), rest, hazard * rest, 1 - hazard)


def _cloglog_sides(eta: Array) -> Sides:
    hazard = np.exp(np.clip(eta, -LARGEST_PREDICTOR, LARGEST_PREDICTOR))
    share = -np.expm1(-hazard)
    return Sides(np.log(share), -hazard, hazard * np.exp(-hazard) / share, hazard, 1 - hazard)


def _cauchit(eta: Array) -> Plain:
    share, rest = np.arctan2(1.0, -eta) / np.pi, np.arctan2(1.0, eta) / np.pi
    return Plain(share, rest, 1 / (np.pi * (1 + eta**2)), -2 * eta / (1 + eta**2))


def _cauchit_sides(eta: Array) -> Sides:
    share, rest, density, bend = _cauchit(eta)
    return Sides(np.log(share), np.log(rest), density / share, density / rest, bend)


LINKS = {
    "logit": Link("logit", _logit, _logit_sides, logit),
    "probit": Link("probit", _probit, _probit_sides, ndtri),
    "cloglog": Link("cloglog", _cloglog, _cloglog_sides, lambda share: np.log(-np.log1p(-share))),
    "cauchit": Link("cauchit", _cauchit, _cauchit_sides, lambda share: np.tan(np.pi * (share - 0.5))),
}
