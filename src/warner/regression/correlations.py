r"""The correlation of two answers, and of an answer with a number, from randomized reports.

With the debiased indicators a and b of two answers (:math:`E[a \mid \text{answer}] = 1` for those who hold it, 0 for
others), :math:`\pi_1, \pi_2` their means, :math:`v = \pi(1-\pi)` and :math:`c` their covariance (with 1/n), the
correlation of the true indicators is

.. math:: r = \frac{c}{\sqrt{v_1 v_2}}

[1]_: the randomization blows up the variance of a and b, which is therefore not used, but leaves their covariance as it
is, because devices are independent. With a number y in the place of b, :math:`v_2` is its variance.

The standard error is that of the influence function: the mean square, over n, of

.. math:: \frac{(a-\pi_1)(b-\pi_2) - c}{\sqrt{v_1 v_2}}
    - \frac r2 \left(\frac{\dot v_1}{v_1} + \frac{\dot v_2}{v_2}\right),

with :math:`\dot v = (1-2\pi)(a-\pi)` for an indicator and :math:`(y-\bar y)^2 - v` for a number. Nothing keeps the
estimate between -1 and 1: where it lies outside, that is said, and it is not cut.

.. [1] J. A. Fox, P. E. Tracy, "Measuring associations with randomized response", Social Science Research 13 (1984),
   188-197.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from scipy.special import ndtri

from warner.results import plain

if TYPE_CHECKING:
    from warner.arrays import Array, Label
    from warner.documents import Document


@dataclass(frozen=True)
class Correlation:
    """The correlation of two true answers, or of one with a number.

    Attributes
    ----------
    first, second : str
        The question, and the other question or the numeric column.
    answers : tuple
        The answers whose indicators are meant: one for each question.
    value, se : float
        The estimate, which sampling error may put outside -1 to 1, and its standard error. NaN where a share is
        estimated to be 0 or less, or 1 or more, or all numbers are the same: there is no variance to divide by.
    low, high : float
        Approximate confidence interval, not cut either.
    difference, difference_se : float
        The covariance: for two answers, the share of people who hold both minus the product of the two shares.
    """

    first: str
    second: str
    answers: tuple[Label, ...]
    value: float
    se: float
    low: float
    high: float
    difference: float
    difference_se: float

    @property
    def outside(self) -> bool:
        """Whether the estimate is no possible correlation."""
        return abs(self.value) > 1

    def text(self) -> str:
        """Say it in one line."""
        if math.isnan(self.value):
            return "undefined, because a share is estimated to be 0 or less, or 1 or more, or all numbers are the same"
        interval = f"{self.low:.3g} to {self.high:.3g}"
        beyond = "; outside -1 to 1, by sampling error" if self.outside else ""
        return f"{self.value:.3g}, standard error {self.se:.2g}, interval {interval}{beyond}"

    def to_dict(self) -> Document:
        """Give what JSON can hold."""
        names = ("value", "se", "low", "high", "difference", "difference_se")
        about = {"first": self.first, "second": self.second, "answers": list(self.answers)}
        return about | {name: plain(getattr(self, name)) for name in names} | {"outside": self.outside}


class Scores(NamedTuple):
    """One number for each row, and whether it stands for an indicator, whose variance follows from its mean."""

    values: Array
    indicator: bool = True

    def mean(self, weight: Array) -> float:
        """Give the weighted mean."""
        return float(weight @ self.values / weight.sum())

    def variance(self, weight: Array) -> tuple[float, Array]:
        """Give the variance of what the scores stand for, and its influence function."""
        mean = self.mean(weight)
        if self.indicator:
            return mean * (1 - mean), (1 - 2 * mean) * (self.values - mean)
        squared = (self.values - mean) ** 2
        variance = float(weight @ squared / weight.sum())
        return variance, squared - variance


def correlation(
    names: tuple[str, str],
    answers: tuple[Label, ...],
    first: Scores,
    second: Scores,
    weight: Array,
    square: Array,
    level: float,
) -> Correlation:
    """Give the correlation of what two columns of scores stand for.

    `weight` is the number of people in each row, or the sum of their weights, and `square` that of squared weights.

    Examples
    --------
    Direct answers are their own indicators: 30 people hold both, 20 only the first, 10 only the second, 40 none. The
    phi coefficient is (30 * 40 - 20 * 10) / sqrt(50 * 50 * 40 * 60) = 0.4082.

    >>> import numpy as np
    >>> a, b = Scores(np.array([1.0, 1, 0, 0])), Scores(np.array([1.0, 0, 1, 0]))
    >>> people = np.array([30.0, 20, 10, 40])
    >>> round(correlation(("q", "r"), ("yes", "yes"), a, b, people, people, 0.95).value, 4)
    0.4082
    """
    total = float(weight.sum())
    product = (first.values - first.mean(weight)) * (second.values - second.mean(weight))
    covariance = float(weight @ product / total)

    def error(influence: Array) -> float:
        return math.sqrt(float(square @ influence**2)) / total

    (v1, change1), (v2, change2) = first.variance(weight), second.variance(weight)
    value = se = math.nan
    if v1 > 0 and v2 > 0:
        value = covariance / math.sqrt(v1 * v2)
        se = error((product - covariance) / math.sqrt(v1 * v2) - value / 2 * (change1 / v1 + change2 / v2))
    half = -float(ndtri((1 - level) / 2)) * se
    ends = value, se, value - half, value + half
    return Correlation(*names, answers, *ends, covariance, error(product - covariance))
