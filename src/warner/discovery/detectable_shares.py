r"""What can be found: the smallest share that a search finds with a given probability, and the least that any could.

A value with share :math:`\theta` is found if each of its prefixes is kept and the last test succeeds. Levels are
independent, and a prefix has at least the share of the value, so that

.. math:: P(\text{found}) \ge \prod_l P(\text{Bin}(n_l, q + (p-q)\theta) \ge c_l).

**Nobody can do much better.** *Let a share* :math:`\theta` *hold a value that was drawn uniformly from X, and the
others uniform values. Any protocol with one* :math:`\varepsilon` *-private report from each of n people, without
interaction, that names the value with probability* :math:`\pi` *has*

.. math:: \frac{\theta^2}{1-\theta} \ge \frac{2 v^* (\pi \ln|X| - \ln 2)}{n},
    \qquad v^* = \frac{4 e^\varepsilon}{(e^\varepsilon-1)^2}.

Let :math:`P_x` be the law of a report after x and P their mean. A report has the law :math:`\theta P_x + (1-\theta) P`,
whose divergence from P is at most :math:`\theta^2 \chi^2(P_x \| P) / (2 (1-\theta))`. For each report the ratios
:math:`P_x / P` have mean 1 over x and lie between m and :math:`e^\varepsilon m`, so that their variance is at most
:math:`(e^\varepsilon m - 1)(1 - m) \le 1/v^*` (Bhatia and Davis). Fano's inequality,
:math:`\pi \ln|X| \le n \theta^2 / (2 v^* (1-\theta)) + \ln 2`, is the claim.

**Crafted reports need no randomness.** An attacker chooses the level of each report, and each supports the value. Of n
reports of a level, f of them crafted, :math:`f + \text{Bin}(n - f, q)` support a value that no respondent holds. The
fewest crafted reports with :math:`\prod_l P(f_l + \text{Bin}(n_l - f_l, q) \ge c_l) \ge \pi` go to the levels where one
more of them raises the logarithm of the probability most; each raises it less than the one before.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from warner.designs.open.level_weights import tail_probabilities
from warner.inference.binomial import at_least
from warner.searching import bisected, first_true, first_true_each

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Integers, Numbers
    from warner.designs.open.open_domain import OpenDomain

DETECTABLE_TOLERANCE = 1e-10  # how exactly a share is found


def critical_count(n: int, probability: float, alpha: float) -> int:
    """Give the smallest count that Bin(n, probability) reaches with probability at most alpha; n + 1 if there is none.

    >>> critical_count(10, 0.5, 0.05)  # P(X >= 9) = 11/1024, P(X >= 8) = 56/1024
    9
    """
    return first_true(lambda count: bool(at_least(count, n, probability) <= alpha), 0, n + 1)


def critical_counts(n: int, probability: float, alphas: Array) -> Integers:
    """Do as `critical_count` for many error probabilities.

    >>> critical_counts(10, 0.5, np.array([0.05, 0.06]))
    array([9, 8])
    """
    low, high = np.zeros(len(alphas), dtype=np.int64), np.full(len(alphas), n + 1)
    return first_true_each(lambda counts: at_least(counts, n, probability) <= alphas, low, high)


def smallest_share(design: OpenDomain, people: Sequence[int], critical: Sequence[int], *, power: float = 0.8) -> float:
    """Give the share that is found with this probability, for so many reports and such critical counts at each level.

    Infinite where no share is.
    """

    def chance(share: float) -> float:
        rate = design.q + design.gain * share
        return math.prod(float(at_least(c, n, rate)) for c, n in zip(critical, people, strict=True))

    if chance(1.0) < power:
        return math.inf
    return bisected(lambda share: chance(share) >= power, 0.0, 1.0, close=DETECTABLE_TOLERANCE)[1]


def fewest_crafted(
    q: float, reports: Sequence[int], critical: Sequence[int], *, power: float = 0.8
) -> tuple[int, ...] | None:
    """Return the fewest crafted reports at each level, among all, with which a value that nobody holds is found.

    Each other report supports the value with the probability `q`.

    None where not even all reports of each level would be enough.

    Examples
    --------
    One level of 100 reports, of which 60 must support the value, as one report in four does by chance. With 47 crafted
    ones, 13.25 of the others do on average.

    >>> fewest_crafted(0.25, [100], [60], power=0.5)
    (47,)
    """

    def chance(level: int, crafted: Numbers) -> Array:
        n, rest = reports[level], np.asarray(crafted, dtype=np.float64)
        return np.where(rest < critical[level], at_least(critical[level] - rest, n - rest, q), 1.0)

    if any(least > n for least, n in zip(critical, reports, strict=True)):
        return None

    def fewest(level: int, probability: float) -> int:
        return first_true(lambda crafted: bool(chance(level, crafted) >= probability), 0, critical[level])

    # From so many that this level alone does not lose too much, to so many that hardly anything is left to gain.
    most = power ** (0.1 / len(reports))
    ranges = [np.arange(fewest(level, power), fewest(level, most) + 1) for level in range(len(reports))]
    logs = [np.log(chance(level, crafted)) for level, crafted in enumerate(ranges)]
    gains = np.concatenate([np.diff(log) for log in logs])
    level_of_gain = np.repeat(np.arange(len(logs)), [len(log) - 1 for log in logs])
    order = np.argsort(-gains, kind="stable")
    reached = sum(float(log[0]) for log in logs) + np.concatenate([[0.0], np.cumsum(gains[order])])
    added = level_of_gain[order[: int((reached >= math.log(power) - DETECTABLE_TOLERANCE).argmax())]]
    first = np.array([crafted[0] for crafted in ranges])
    return tuple((first + np.bincount(added, minlength=len(logs))).tolist())


def planned_share(design: OpenDomain, n: int, *, level: float = 0.95, power: float = 0.8) -> float:
    """Give the share that a survey of n people will find with this probability, at the expected sizes of its levels."""
    sizes = [len(design.values.continuations(place)) for place in range(design.levels)]
    tails = tail_probabilities(sizes, level=level)
    people = [max(1, round(n * weight / sum(design.weights))) for weight in design.weights]
    critical = [critical_count(number, design.q, tail) for number, tail in zip(people, tails, strict=True)]
    return smallest_share(design, people, critical, power=power)


def lower_bound(number: int, n: int, epsilon: float, power: float = 0.8) -> float:
    """Give the share below which no protocol names a value, one of this number, with this probability.

    >>> round(lower_bound(2**48, 1_000_000, 1.0), 4)
    0.0137
    """
    if math.isinf(epsilon):
        return 0.0
    need = 8 / math.expm1(epsilon) * math.exp(epsilon) / math.expm1(epsilon)
    need *= max(power * math.log(number) - math.log(2), 0.0) / n
    return (math.sqrt(need**2 + 4 * need) - need) / 2  # theta^2 + need theta - need = 0
