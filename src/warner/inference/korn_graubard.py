r"""Limits in complex samples: Korn and Graubard's for shares, and limits of means with two more respondents.

**Shares** that show in binomial counts have the exact limits of Clopper and Pearson at the effective sample size, which
comes with the readout (`warner.reports.complex_samples`).

**Other scores**, such as means: Student's t is too short for few respondents with skewed scores. With scores from 0 to
1, one more respondent at each end of the range, as Agresti and Coull add them to counts, gives :math:`m = (k x + 1)/(k
+ 2)` and :math:`V' = V (k/(k+2))^2 + (m^2 + (1-m)^2)/(k+2)^2`, with k the effective sample size by weights. The limits
are :math:`m \pm \max(t_d \sqrt{V'}, z \sqrt{D})`. The variance D of the randomization given the true answers needs no
Student's t, because it is known.

**Groups in one cluster** show nothing about the variance between clusters: their limits are the whole range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri, stdtrit

from warner.inference.binomial import Binomial, binomial_limits, share_limits, standard_error
from warner.inference.normal import never_empty
from warner.reports.complex_samples.linearisation import fewer_people
from warner.words import enumerated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Counts, Numbers
    from warner.designs.facts import Readout

ONE_CLUSTER = "one_cluster"  # the method of the whole range, of a group that lies in one cluster
RANDOMIZATION = "randomization"  # the method where the variance of the randomization exceeds the design-based one


def design_based_limits(readout: Readout, tail: float) -> tuple[Array, Array, Array, tuple[str, ...]]:
    """Return the limits with `tail` on either side, standard errors, and the names of the methods."""
    drawn = readout.drawn
    assert drawn is not None
    assert readout.error is not None
    error = np.array(readout.error)
    counted = np.broadcast_to(readout.exact, error.shape) & (error == 0) & ~np.isinf(drawn.worth)
    if counted.any():  # of a simple sample, at any level
        simple = Binomial(readout.count, readout.trials, readout.base, readout.gain)
        error = np.where(counted, standard_error(simple), error)
    low, high = cut_limits(readout, tail)
    used = methods_of(readout)
    names = [name for name in ("korn_graubard", "linear", RANDOMIZATION, ONE_CLUSTER) if (used == name).any()]
    return low, high, error, tuple(names)


def cut_limits(readout: Readout, tail: Numbers, span: tuple[float, float] = (0.0, 1.0)) -> tuple[Array, Array]:
    """Return the limits within the span, never empty; `tail` may be an array that broadcasts."""
    drawn = readout.drawn
    assert drawn is not None
    exact = np.broadcast_to(readout.exact, readout.count.shape)
    middle, half = _means(readout, drawn.freedom, tail, span)
    low, high = (np.clip(end, *span) for end in never_empty(middle, half, half, span))
    if exact.any():
        ends = share_limits(_effective(readout, drawn.freedom, tail), tail, "population")
        low, high = (np.where(exact, end, other) for end, other in zip(ends, (low, high), strict=True))
    census, share = np.isinf(drawn.worth), np.clip(readout.share(), *span)
    low, high = np.where(census, share, low), np.where(census, share, high)
    return np.where(drawn.blind, span[0], low), np.where(drawn.blind, span[1], high)


def _effective(readout: Readout, freedom: Numbers, tail: Numbers) -> Binomial:
    """Return the counts at the effective sample size."""
    assert readout.drawn is not None
    fewer = fewer_people(readout.drawn.people, freedom, tail)
    return Binomial(readout.count * fewer, readout.trials * fewer, readout.base, readout.gain)


def methods_of(readout: Readout) -> Counts:
    """Return the name of the method of each interval, of shape (groups, sets)."""
    drawn = readout.drawn
    assert drawn is not None
    usual = np.where(np.broadcast_to(readout.exact, readout.count.shape), "korn_graubard", "linear")
    return np.where(drawn.blind, ONE_CLUSTER, np.where(drawn.floored, RANDOMIZATION, usual))


def in_one_cluster(names: Sequence[str]) -> str:
    """Say which groups lie in one cluster; nothing if there is none.

    >>> in_one_cluster(["north"]), in_one_cluster([])
    ('north lies in one cluster, which does not show how clusters vary: its interval is the whole range', '')
    """
    if not names:
        return ""
    lies, whose = (
        ("lies in one cluster", "its interval is")
        if len(names) == 1
        else ("lie in one cluster each", "their intervals are")
    )
    return f"{enumerated(names)} {lies}, which does not show how clusters vary: {whose} the whole range"


def uncut_limits(
    readout: Readout, freedom: Numbers, tail: Numbers, span: tuple[float, float] = (0.0, 1.0)
) -> tuple[Array, Array]:
    """Return the limits with so many degrees of freedom, which may lie beyond the span; arrays broadcast."""
    drawn = readout.drawn
    assert drawn is not None
    exact = np.broadcast_to(readout.exact, readout.count.shape)
    middle, half = _means(readout, freedom, tail, span)
    low, high = middle - half, middle + half
    if exact.any():
        binomial = _effective(readout, freedom, tail)
        one, two = (np.asarray(binomial.share_at(end)) for end in binomial_limits(binomial.count, binomial.n, tail))
        low, high = np.where(exact, np.minimum(one, two), low), np.where(exact, np.maximum(one, two), high)
    census = np.isinf(drawn.worth)
    return np.where(census, readout.share(), low), np.where(census, readout.share(), high)


def _means(readout: Readout, freedom: Numbers, tail: Numbers, span: tuple[float, float]) -> tuple[Array, Array]:
    """Return the middles and half-widths of intervals of means of scores, whose range is the span."""
    drawn = readout.drawn
    assert drawn is not None
    width = span[1] - span[0]
    more = 1 / drawn.worth  # one more respondent, as a part of all
    middle = ((readout.share() - span[0]) / width + more) / (1 + 2 * more)
    inside = np.clip(middle, 0, 1)
    variance = (drawn.variance / width**2 + more**2 * (inside**2 + (1 - inside) ** 2)) / (1 + 2 * more) ** 2
    student, normal = -stdtrit(np.maximum(freedom, 1), tail), -ndtri(tail)
    half = np.maximum(student * np.sqrt(variance), normal * np.sqrt(drawn.floor) / width)
    return span[0] + width * middle, np.asarray(width * half)
