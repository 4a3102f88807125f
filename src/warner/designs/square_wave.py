r"""Square wave: report a number near the true one, a : b times as likely as a number that is further away [1]_.

Answers are the places 0 ... K - 1 of a grid, reports the places -w ... K - 1 + w. A report at most w places from the
answer has the weight a, every other one b:

.. math:: C_{ij} = \frac{a}{M} \text{ if } |i - j| \le w, \text{ else } \frac{b}{M}, \qquad M = (2w+1)a + (K-1)b,

and :math:`\varepsilon = \ln(a/b)`. Each answer has 2w + 1 reports inside its window and K - 1 outside. Width 0 is
randomized response. The piecewise mechanism [2]_ is the width :math:`w = K e^{-\varepsilon/2}/2` on a fine grid.

A worked number: five answers, width 1, odds 3 : 1. M = 9 + 4 = 13; the answer 0 is reported as -1, 0 or 1 with
probability 3/13 each, and as 2, 3, 4 or 5 with probability 1/13 each.

**The mean.** Reports lie symmetrically around the middle c = (K-1)/2, so that their mean, stretched, is unbiased for
the mean of the answers: the score :math:`s_j = c + (j - c)/\gamma` with :math:`\gamma = (a-b)(2w+1)/M`. With
L = K + 2w,

.. math:: E[(j-c)^2 \mid i] = \frac{(a-b)(2w+1)\left((i-c)^2 + w(w+1)/3\right) + b L(L^2-1)/12}{M},

so that the variance of a score depends on the population through :math:`E(i-c)^2` alone, and the same line gives an
unbiased second moment.

**Shares.** Count the reports from 0, and put those into one class that are a multiple of 2w + 1 apart. The window of
every answer has one report of each class, so that a report falls into the class r with the same probability
:math:`C_r/M`, :math:`C_r = a - b + n_r b`, whatever the answer is, where :math:`n_r` is the size of the class. In the
class of the report t, the report in the window of the answer i is at most t exactly if :math:`i \le t`. So the step
score

.. math:: z_{tj} = \frac{M}{a-b}\left(1[j \le t] - \pi_t\right) \text{ for } j \text{ in the class of } t,
    \text{ else } 0,

is unbiased for :math:`1[i \le t]` less a constant, which is the average over all answers with :math:`\pi_t` the
probability of :math:`j \le t` in this class if all answers are equally common. Scores that are made of these steps
(`ordered`) have the least variance for equally common answers: they are not correlated with scores whose mean is zero
whatever the answer is, for these are constant within each class. As a class has a probability of the order
1/K, F(t) has a variance of the order K/n: the mean is the best thing to ask a square wave for, a sharp distribution
function on a fine grid the worst.

References
----------
.. [1] Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, B. Škorić, N. Li, "Estimating numerical distributions under local
   differential privacy", SIGMOD 2020, arXiv:1912.01051.
.. [2] N. Wang, X. Xiao, Y. Yang, J. Zhao, S. C. Hui, H. Shin, J. Shin, G. Yu, "Collecting and analyzing
   multidimensional data with local differential privacy", ICDE 2019, arXiv:1907.00782.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from warner.designs.contract import LARGEST_CHANNEL
from warner.designs.exact import Number, Odds, epsilon_asked, log_ratio
from warner.designs.facts import BinomialReports, ChannelOperator, ProbabilityBounds
from warner.designs.labels import Domain, Labels, canonical, first_and_last
from warner.designs.law import once_per_design
from warner.designs.ordered import OrderedDesign, ScoreLaw, StepSums, continued, running_sums
from warner.designs.symmetric import Budget, NumberReader, refuse_even
from warner.text import check_choice

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers

QUANTITIES = ("distribution", "mean")
POLYNOMIAL = 1e-9  # how nearly memberships must be a polynomial of the place


@dataclass(frozen=True, init=False, repr=False)
class SquareWave(OrderedDesign):
    r"""Report a number near the true one more likely than one that is further away: for numbers on a grid.

    A report lies on the grid, or up to `width` steps beyond either end of it. The mean of the reports, stretched, is
    unbiased for the mean of the answers, and needs no more people if the grid is finer.

    Parameters
    ----------
    domain : int or sequence of str or of int
        The possible answers in ascending order, such as ``warner.grid(0, 200_000, 1_000)``; or their number K. The
        bounds must be known before data collection.
    epsilon : number, optional
        The most that one report may reveal, in nats, from 1e-9 to 40. The design never spends more.
    odds : pair of numbers or str, optional
        Instead of epsilon: the odds of a report near the answer against one further away, ``(a, b)`` with a > b.
    width : int, optional
        Largest number of steps between the answer and a near report, from 0 to (K - 2)/2.
    quantity : {"distribution", "mean"}, optional
        Quantity for which the width is optimal, if no width is given. For the distribution, the default, it is the
        width with the most information about equally likely answers (Li et al. 2020); for the mean the one with the
        least variance of an unbiased mean in the worst case.

    Attributes
    ----------
    domain : tuple or range
        The labels; consecutive integers are held as a range.
    odds : tuple of int
        ``(a, b)`` in lowest terms.
    width : int
        The steps from an answer to the last report that counts as near.

    Examples
    --------
    >>> from warner import grid
    >>> SquareWave(grid(0, 200_000, 1_000), epsilon=1)
    <SquareWave of width 51 among 201 answers (0, 1000, 2000, ..., 200000): near 0.5833, epsilon 1>
    >>> age = SquareWave(range(18, 100), epsilon=1, quantity="mean")
    >>> age.width, age.nearest(36.6)
    (31, 37)
    """

    domain: Labels
    odds: tuple[int, int]
    width: int

    mechanism = "square wave"
    parameters = ("epsilon", "odds", "width", "quantity")
    field_names = frozenset({"domain", "odds", "width"})
    _needs = "either epsilon or odds (and takes width or quantity)"
    _certain = "that every answer further away is not the truth"

    @property
    def law(self) -> SquareWaveLaw:
        return SquareWaveLaw(self)

    def __init__(
        self,
        domain: Domain,
        *,
        epsilon: Number | None = None,
        odds: Odds | None = None,
        width: Number | None = None,
        quantity: str | None = None,
    ) -> None:
        if width is not None and quantity is not None:
            raise TypeError("a square wave takes either width or quantity, which chooses it, but got both")
        if quantity is not None:
            check_choice("quantity", quantity, QUANTITIES)
        super().__init__(domain, epsilon=epsilon, odds=odds, width=width, quantity=quantity or QUANTITIES[0])

    @classmethod
    def _numbers(cls, k: int, number: NumberReader) -> dict[str, Any]:
        return {"width": number("width", 0, (k - 2) // 2, "half of the number of answers less 1")}

    @classmethod
    def _best(
        cls, k: int, budget: Budget, *, width: int | None = None, quantity: str = "distribution"
    ) -> dict[str, Any]:
        a, b = budget.odds_within(k, lambda a, b: a + b)
        refuse_even(a, b)
        epsilon = log_ratio(b, a) if budget.epsilon is None else epsilon_asked("epsilon", budget.epsilon)
        w = best_width(k, float(epsilon), quantity) if width is None else width
        return {"odds": budget.odds_within(k, lambda a, b: _total(k, w, a, b)), "width": w}

    def _check(self) -> None:
        super()._check()
        canonical(self.law.columns, "reports")

    def _retained(self) -> dict[str, Any]:
        """Keep the quantity for which the width is best; otherwise keep the width."""
        epsilon = self.epsilon
        best = [quantity for quantity in QUANTITIES if best_width(self.k, epsilon, quantity) == self.width]
        return {"quantity": best[0]} if best else {"width": self.width}

    @classmethod
    def _best_for_quantity(cls, domain: Domain, epsilon: Number, quantity: str) -> Self:
        return cls(domain, epsilon=epsilon, quantity=quantity)

    @property
    def total(self) -> int:
        return _total(self.k, self.width, *self.odds)

    @classmethod
    def examples(cls) -> tuple[SquareWave, ...]:
        return (
            cls(5, odds=(3, 1), width=1),
            cls(range(18, 26), odds=(5, 2), width=2),
            cls([0, 10, 20, 30, 40, 50], odds=(4, 1), width=2),
            cls(["low", "middle", "high", "top"], odds=(4, 1), width=1),
            cls(4, odds=(2, 1), width=0),
            cls(["0.5", "1.0", "2.0", "4.0"], odds=(1, 0), width=1),
        )

    def _reported(self, answers: Integers, drawn: Counts) -> Integers:
        (a, b), w = self.odds, self.width
        near = np.uint64((2 * w + 1) * a)
        inside = drawn < near
        # Where the report is far the first quotient is not used, and where it is near the second.
        shift = (np.minimum(drawn, near - np.uint64(1)) // np.uint64(a)).astype(np.int64)
        index = ((np.maximum(drawn, near) - near) // np.uint64(max(b, 1))).astype(np.int64)
        index += (index >= answers) * (2 * w + 1)  # in order, skipping the window
        np.copyto(index, answers + shift, where=inside)
        return index

    def _weights(self) -> Integers:
        (a, b), w = self.odds, self.width
        apart = np.arange(len(self.law.columns)) - np.arange(self.k)[:, np.newaxis]
        return np.where((apart >= 0) & (apart <= 2 * w), a, b).astype(np.int64)

    # Words

    def _happens(self) -> str:
        w, near = self.width, 2 * self.width + 1
        beyond = f" Reports lie up to {w:,} steps beyond either end of the answers; this is expected." if w else ""
        return (
            f"with probability {self._near:.4g} one of the {near:,} numbers at most {w:,} steps away from it is "
            f"reported, each of them equally likely; otherwise one of the {self.k - 1:,} that are further away, again "
            f"each equally likely.{beyond}"
        )

    def _deniable(self) -> str:
        a, b = self.odds
        near = (2 * self.width + 1) * a
        surest = 100 * near / (near + (self.k - 2 * self.width - 1) * b)
        return (
            f"the true answer is at most {self.width:,} steps away from the report in at most {surest:.3g} % of cases."
        )

    @property
    def _near(self) -> float:
        return (2 * self.width + 1) * self.odds[0] / self.total

    def summary(self) -> str:
        return (
            f"SquareWave of width {self.width} among {self.k} answers ({first_and_last(self.domain)}): near "
            f"{self._near:.4g}, epsilon {self.shown_epsilon()}"
        )


class SquareWaveLaw(ScoreLaw):
    """Law of a square wave."""

    design: SquareWave

    @once_per_design
    def columns(self) -> Labels:
        """Reports: the grid and `width` steps beyond either end, or positions if the grid is not of integers."""
        return canonical(continued(self.design.domain, self.design.width), "reports")

    def likelihood(self, reports: Counts | None = None) -> ChannelOperator:
        (a, b), w, k = self.design.odds, self.design.width, self.k
        low, gain = b / self.design.total, (a - b) / self.design.total
        codes = np.arange(k + 2 * w)
        first, last = np.maximum(codes - 2 * w, 0), np.minimum(codes + 1, k)  # the answers within reach of a report

        def forward(x: Array) -> Array:
            running = running_sums(x)
            return low * running[..., -1:] + gain * (running[..., last] - running[..., first])

        def window(v: Array) -> Array:
            running = running_sums(v)
            return running[..., 2 * w + 1 :] - running[..., :k]

        def matrix() -> Array:
            answers = np.arange(k)[:, np.newaxis]
            return np.asarray(low + gain * ((answers >= first) & (answers < last)))

        def merged(answers: Integers) -> tuple[Array, Integers]:
            ends = np.unique(np.concatenate([[0], answers, answers + 2 * w + 1, [codes.size]]))
            starts, lengths = ends[:-1], np.diff(ends)
            after = starts - answers[:, np.newaxis]
            near = (after >= 0) & (after <= 2 * w)
            return np.asarray((low + gain * near) * lengths), np.repeat(np.arange(lengths.size), lengths)

        whole = ChannelOperator(
            (k, codes.size),
            forward,
            lambda v: low * np.sum(v, axis=-1, keepdims=True) + gain * window(v),
            matrix if k <= LARGEST_CHANNEL else None,
            lambda v: gain**2 * window(v),
            merged,
        )
        return whole if reports is None else whole.of_reports(reports)

    def bounds(self) -> ProbabilityBounds:
        (a, b), columns = self.design.odds, len(self.columns)
        return ProbabilityBounds(np.full(columns, b / self.design.total), np.full(columns, a / self.design.total))

    def _scores(self, memberships: Array) -> Array:
        """Score polynomials of the position in closed form, and other memberships by steps."""
        fuzzy = np.asarray(((memberships > 0) & (memberships < 1)).any(axis=1)) & (self.k >= 4)
        found = {index: self._polynomial(memberships[index]) for index in np.flatnonzero(fuzzy).tolist()}
        smooth = {index: scores for index, scores in found.items() if scores is not None}
        if len(smooth) == len(memberships) == 1:
            return smooth[0][np.newaxis]
        rows = np.empty((len(memberships), len(self.columns)))
        for index, scores in smooth.items():
            rows[index] = scores
        rough = np.array([index not in smooth for index in range(len(memberships))])
        if rough.any():
            rows[rough] = self._stepped(memberships[rough])
        return rows

    def _polynomial(self, u: Array) -> Array | None:
        """Score memberships that are a polynomial of the position of degree two at most; None for others.

        In place, because new arrays take more time than the arithmetic if there are many answers.
        """
        (a, b), w, k = self.design.odds, self.design.width, self.k
        edge = (k - 1) / 2
        half = (u[-1] - u[0]) / (2 * edge)
        # u = level + half * place + bend * place^2, through both ends and the value next to the first
        bend = ((u[1] - u[0]) - half) / ((1 - edge) ** 2 - edge**2)
        bend = 0.0 if abs(bend) * edge**2 <= POLYNOMIAL / 10 else bend
        level = (u[0] + u[-1]) / 2 - bend * edge**2
        curve = _centred(k)
        size, near = k + 2 * w, (a - b) * (2 * w + 1)
        scores = _centred(size)
        if bend:
            curve = half * curve + bend * curve**2
            second = (scores**2 * self.design.total - b * (size * (size**2 - 1) / 12)) / near - w * (w + 1) / 3
            scores = half * (self.design.total / near) * scores + bend * second
        else:
            curve *= half
            scores *= half * (self.design.total / near)
        curve += level
        curve -= u
        if np.abs(curve, out=curve).max() > POLYNOMIAL:
            return None
        scores += level
        return scores

    @property
    def _steps_apart(self) -> bool:
        return self.design.width > 0

    def _classes(self, rows: Array) -> Array:
        """Arrange columns in a table: a row for each round of 2w + 1 reports, a column for each class."""
        s = 2 * self.design.width + 1
        table = np.zeros((len(rows), -(-len(self.columns) // s), s))
        table.reshape(len(rows), -1)[:, : rows.shape[1]] = rows
        return table

    @once_per_design
    def _expected(self) -> Array:
        """Probability that a report of a class is at most t, for each t, if all answers are equally common."""
        (a, b), w, columns = self.design.odds, self.design.width, len(self.columns)
        ends = np.arange(columns)
        near = np.minimum(ends, self.k - 1) - np.maximum(ends - 2 * w, 0) + 1  # the answers within reach
        running = self._classes((b + (a - b) * (near / self.k))[np.newaxis])[0].cumsum(axis=0)
        return np.asarray((running / running[-1]).ravel()[:columns])

    def _step_sums(self, weights: Array) -> StepSums:
        table = self._classes(weights)
        running, everything = table.cumsum(axis=1), table.sum(axis=1, keepdims=True)
        steps, gain = self.k - 1, self.design.total / (self.design.odds[0] - self.design.odds[1])
        up_to, whole = (
            part.reshape(len(weights), -1)[:, :steps] for part in (running, np.broadcast_to(everything, table.shape))
        )
        likely = self._expected[:steps]
        total = gain * (up_to - likely * whole)
        square = gain**2 * (up_to * (1 - 2 * likely) + likely**2 * whole)
        ends = (total, square, -gain * likely, gain * (1 - likely))
        return StepSums(*(np.pad(part, [(0, 0)] * (part.ndim - 1) + [(1, 1)]) for part in ends))

    def _stepped(self, memberships: Array) -> Array:
        steps = -np.diff(memberships, axis=1)
        table = self._classes(steps)
        beyond = table[:, ::-1].cumsum(axis=1)[:, ::-1]  # of each class, the steps from a report on
        beyond -= self._classes(steps * self._expected[: self.k - 1]).sum(axis=1, keepdims=True)
        scores = beyond.reshape(len(memberships), -1)[:, : len(self.columns)]
        scores = self.design.total / (self.design.odds[0] - self.design.odds[1]) * scores
        return np.asarray(memberships.mean(axis=1, keepdims=True) + scores)

    def _binomial(self, membership: Array) -> BinomialReports | None:
        if self.design.width:
            return None
        inside = membership == 1
        if not ((membership == 0) | inside).all() or inside.all() or not inside.any():
            return None
        (a, b), size = self.design.odds, int(inside.sum())
        return BinomialReports(inside, size * b / self.design.total, (a - b) / self.design.total)


def _total(k: int, w: int, a: int, b: int) -> int:
    return (2 * w + 1) * a + (k - 1) * b


def _centred(size: int) -> Array:
    """Return `size` positions, counted from the middle."""
    indices = np.arange(size, dtype=np.float64)
    indices -= (size - 1) / 2
    return indices


def best_width(k: int, epsilon: float, quantity: str = "distribution") -> int:
    r"""Return the best width among K answers, in steps.

    For the distribution, :math:`\lfloor \hat b K \rfloor` with
    :math:`\hat b = (\varepsilon e^\varepsilon - e^\varepsilon + 1)/(2 e^\varepsilon (e^\varepsilon - 1 -
    \varepsilon))` (Li et al. 2020): the most information about equally likely answers. For the mean, the least
    worst-case variance.

    >>> best_width(1000, 1.0), best_width(1000, 1.0, "mean")
    (256, 387)
    """
    widest = (k - 2) // 2
    if not math.isfinite(epsilon):
        return 0
    if quantity == "distribution":
        if epsilon < 1e-3:  # the limit is 1/2, where the fraction would cancel
            return min(math.floor((0.5 - epsilon / 3) * k), widest)
        e = math.exp(-epsilon)
        share = (epsilon - 1 + e) / (2 * (math.expm1(epsilon) - epsilon))
        return min(math.floor(share * k), widest)
    widths = np.arange(widest + 1)
    return int(np.argmin(mean_variance(k, widths, epsilon, ((k - 1) / 2) ** 2)))


def mean_variance(k: int, width: Any, epsilon: float, second: float) -> Any:
    r"""Variance of one score of the mean given the answer, in steps squared.

    On average over people with :math:`E(i-c)^2` equal to `second`; the worst case is :math:`((K-1)/2)^2`. The variance
    of people who are sampled adds :math:`\operatorname{Var}(i)` to it.
    """
    w = np.asarray(width, dtype=np.float64)
    b = math.exp(-epsilon)
    near, size = (1 - b) * (2 * w + 1), k + 2 * w
    total = (2 * w + 1) + (k - 1) * b
    square = (near * (second + w * (w + 1) / 3) + b * size * (size**2 - 1) / 12) / total
    return square * (total / near) ** 2 - second
