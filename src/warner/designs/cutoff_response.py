r"""Cut-off response: chance draws a cut-off, "is it at least t?" is asked, and the yes or no is randomized.

The cut-off is the answer t = 1 ... K - 1 with probability :math:`g_t/G`, where the whole numbers g are the gaps
between neighboring answers and G is their sum; the yes or no goes through Warner's randomized response with odds
a : b. The report is the cut-off together with the yes or no:

.. math:: P((t, \text{yes}) \mid i) = \frac{g_t}{G} \cdot \frac{a \text{ if } i \ge t, \text{ else } b}{a + b},
   \qquad \varepsilon = \ln(a/b).

**The mean is binomial.** Over all cut-offs, a yes has the probability
:math:`q + (p - q)(x_i - x_0)/(x_{K-1} - x_0)` with :math:`p = a/(a+b)` and :math:`q = b/(a+b)`, which is linear in the
number x. So the number of yeses is binomial in the mean, whatever the distribution, and its interval exact for every
sample size. Without the cut-off this is the mechanism of Duchi, Jordan and Wainwright [1]_ for a mean, and
Microsoft's 1BitMean [2]_; the cut-off is noise, spends nothing, and identifies the distribution [3]_.

A worked number: the answers 0, 1, 5 and 20 have the gaps 1, 4 and 15, so that the cut-offs 1, 5 and 20 have the
probabilities 1/20, 4/20 and 15/20. At odds 3 : 1 a respondent with the answer 5 says yes with probability
5/20 · 3/4 + 15/20 · 1/4 = 3/8, which is 1/4 + 1/2 · 5/20.

References
----------
.. [1] J. C. Duchi, M. I. Jordan, M. J. Wainwright, "Local privacy and statistical minimax rates", FOCS 2013.
.. [2] B. Ding, J. Kulkarni, S. Yekhanin, "Collecting telemetry data privately", NeurIPS 2017.
.. [3] Y. Liu, Q. Hu, L. Kong, "Tuning-free estimation and inference of cumulative distribution function under local
   differential privacy", ICML 2024.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from warner.designs.contract import LARGEST_CHANNEL
from warner.designs.exact import Number, Odds, is_decimal, odds_as_given, odds_from_json
from warner.designs.facts import NOBODY, BinomialReports, ChannelOperator, ProbabilityBounds
from warner.designs.labels import Domain, Labels, canonical, first_and_last, labels_from_json
from warner.designs.law import once_per_design
from warner.designs.ordered import OrderedDesign, ScoreLaw, StepSums, is_numeric, numbers_of, running_sums
from warner.text import counted, enumerated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Counts, Integers
    from warner.designs.symmetric import Budget
    from warner.documents import Document

DICE = (6, 4, 8, 10, 12, 20, 100)  # sides of usual dice; 100 are two with ten sides
MEAN_TOLERANCE = 1e-12  # how nearly memberships must be those of the mean


@dataclass(frozen=True, init=False, repr=False)
class CutoffResponse(OrderedDesign):
    """Ask whether the number is at least a random cut-off, and randomize the yes or no.

    The interval of the mean is exact for any sample size, and the device can be worked by hand, with a card that
    shows the cut-off and a die.

    Parameters
    ----------
    domain : int or sequence of str or of int
        The possible answers in ascending order, such as ``warner.grid(0, 200_000, 1_000)``; or their number K. The
        bounds must be known before data collection.
    epsilon : number, optional
        The most that one report may reveal, in nats, from 1e-9 to 40. The design never spends more.
    odds : pair of numbers or str, optional
        Instead of epsilon: the odds of the truth about the cut-off against its opposite, ``(a, b)`` with a > b.
    gaps : sequence of int, optional
        Relative probabilities of the K - 1 cut-offs, as whole numbers. If not given, the distances between the answers
        if these are numbers, so that the mean is binomial; otherwise all cut-offs are equally likely.

    Attributes
    ----------
    domain : tuple or range
        The labels; consecutive integers are held as a range.
    odds : tuple of int
        ``(a, b)`` in lowest terms.
    gaps : tuple of int
        In lowest terms.

    Examples
    --------
    >>> CutoffResponse([0, 1, 5, 20], odds=(3, 1))
    <CutoffResponse among 4 answers (0, 1, 5, 20): truth 0.75, epsilon 1.099>
    >>> CutoffResponse([0, 1, 5, 20], odds=(3, 1)).law.columns
    ('< 1', '>= 1', '< 5', '>= 5', '< 20', '>= 20')
    """

    domain: Labels
    odds: tuple[int, int]
    gaps: tuple[int, ...]

    mechanism = "cutoff response"
    parameters = ("epsilon", "odds")
    field_names = frozenset({"domain", "odds", "gaps"})
    _certain = "on which side of its cut-off the answer lies"
    _retained_names = ("gaps",)

    @property
    def law(self) -> CutoffLaw:
        return CutoffLaw(self)

    def __init__(
        self,
        domain: Domain,
        *,
        epsilon: Number | None = None,
        odds: Odds | None = None,
        gaps: Sequence[int] | None = None,
    ) -> None:
        labels = canonical(domain)
        super().__init__(labels, epsilon=epsilon, odds=odds, gaps=_gaps(labels) if gaps is None else _reduced(gaps))

    @classmethod
    def _best(cls, k: int, budget: Budget, *, gaps: tuple[int, ...]) -> dict[str, Any]:
        whole = sum(gaps)
        return {"odds": budget.odds_within(k, lambda a, b: whole * (a + b)), "gaps": gaps}

    def _check(self) -> None:
        if len(self.gaps) != self.k - 1 or min(self.gaps) < 1:
            raise ValueError(
                f"gaps must be {self.k - 1} whole numbers above 0, one for each answer after the first, but got "
                f"{len(self.gaps)}, the least of them {min(self.gaps, default=0)}"
            )
        super()._check()

    @property
    def total(self) -> int:
        return self._whole * sum(self.odds)

    @cached_property
    def _whole(self) -> int:
        return sum(self.gaps)

    @property
    def p(self) -> float:
        """The probability that the comparison with the cut-off is reported truthfully."""
        return self.odds[0] / sum(self.odds)

    @property
    def q(self) -> float:
        """The probability that its opposite is reported."""
        return self.odds[1] / sum(self.odds)

    @classmethod
    def examples(cls) -> tuple[CutoffResponse, ...]:
        return (
            cls(4, odds=(3, 1)),
            cls([0, 1, 5, 20], odds=(2, 1)),
            cls(["low", "middle", "high"], odds=(5, 2)),
            cls([0, 1000], odds=(3, 1)),
            cls(["0.5", "1.0", "2.0"], odds=(1, 0)),
        )

    @cached_property
    def _chances(self) -> Array:
        return np.array([gap / self._whole for gap in self.gaps])

    @cached_property
    def _cumulative_gaps(self) -> Integers:
        return np.cumsum(np.array(self.gaps, dtype=np.int64))

    def _reported(self, answers: Integers, drawn: Counts) -> Integers:
        both = np.uint64(sum(self.odds))
        gap = drawn // both
        truthful = drawn - gap * both < np.uint64(self.odds[0])
        before = self._cumulative_gaps.searchsorted(
            gap.astype(np.int64), side="right"
        )  # the cut-off is the answer after these
        return np.asarray(2 * before + ((answers > before) == truthful))

    def _weights(self) -> Integers:
        (a, b), gaps = self.odds, np.array(self.gaps, dtype=np.int64)
        above = np.arange(self.k)[:, np.newaxis] > np.arange(self.k - 1)
        weights = np.stack([np.where(above, b, a) * gaps, np.where(above, a, b) * gaps], axis=-1)
        return weights.reshape(self.k, -1)

    # Words and files

    def _happens(self) -> str:
        return (
            "a cut-off is drawn from the answers after the first, and the question becomes whether the number is at "
            f"least the cut-off. The true reply is reported with probability {self.p:.4g}, and the opposite otherwise, "
            "together with the cut-off."
        )

    def _deniable(self) -> str:
        k, p = self.k, self.p
        # A yes to the highest cut-off, which one answer makes more likely, and a no to the lowest.
        surest = 100 * p / (p + (k - 1) * self.q)
        return f"no report makes any answer more than {surest:.3g} % certain."

    def sentences(self) -> tuple[str, ...]:
        return (*super().sentences(), f"By hand: {self._cards()} {self._die()}")

    def _cards(self) -> str:
        """Describe the deck: as many cards of each cut-off as its gap."""
        first, last = self.domain[1], self.domain[-1]
        if len(set(self.gaps)) == 1:
            deck = f"one for each of {counted(self.k - 1, 'amount', 'amounts')}, from {first} to {last}"
        else:
            named = [f"{gap:,} with {label}" for gap, label in zip(self.gaps, self.domain[1:], strict=True)]
            deck = f"{enumerated(named)}, {self._whole:,} in all"
        return (
            f"make cards with amounts ({deck}), shuffle them, and let the respondent draw one and put it back. Ask: is "
            "your number at least the amount on your card?"
        )

    def _die(self) -> str:
        """Describe which faces of a usual die mean the opposite, if one has these odds."""
        a, b = self.odds
        sides = next((sides for sides in DICE if sides * b % (a + b) == 0), None)
        no, yes = self.law.columns[:2]
        record = f'Of a card with {self.domain[1]}, write "{yes}" for a yes and "{no}" for a no, and nothing else.'
        if b == 0:
            return f"The reply is always true, so it is not protected. {record}"
        if sides is None:
            return (
                f"No usual die has the odds {a} : {b}; for interviews, make the design with odds such as 5:1, 2:1 or "
                f"4:1 instead of epsilon. {record}"
            )
        faces = sides * b // (a + b)
        die = "a die" if sides == 6 else f"a die with {sides} sides"
        shows = "shows 1" if faces == 1 else "shows 1 or 2" if faces == 2 else f"shows at most {faces}"
        return f"The respondent rolls {die}, unseen; if it {shows}, the reply is the opposite of the truth. {record}"

    def summary(self) -> str:
        return (
            f"CutoffResponse among {self.k} answers ({first_and_last(self.domain)}): truth {self.p:.4g}, epsilon "
            f"{self.shown_epsilon()}"
        )

    def fields(self) -> Document:
        return super().fields() | {"gaps": [str(gap) for gap in self.gaps]}

    @classmethod
    def from_fields(cls, fields: Document) -> Self:
        gaps = fields["gaps"]
        if not isinstance(gaps, list) or not all(map(is_decimal, gaps)):
            raise ValueError("this design is damaged: gaps must be whole numbers as decimal strings")
        whole = [int(gap) for gap in gaps]
        if not whole or min(whole) < 1:
            raise ValueError("this design is damaged: gaps must be above 0")
        labels = canonical(labels_from_json("domain", fields["domain"]))
        return cls._make(domain=labels, odds=odds_as_given(odds_from_json(fields["odds"])), gaps=_reduced(whole))


class CutoffLaw(ScoreLaw):
    """Law of cutoff response."""

    design: CutoffResponse

    @once_per_design
    def columns(self) -> tuple[str, ...]:
        """Reports: a no and a yes for each cut-off, ``< 5`` and ``>= 5``."""
        return tuple(f"{sign} {label}" for label in self.design.domain[1:] for sign in ("<", ">="))

    def likelihood(self, reports: Counts | None = None) -> ChannelOperator:
        p, q, k, chances = self.design.p, self.design.q, self.k, self.design._chances
        columns = 2 * (k - 1)

        def forward(x: Array) -> Array:
            running = np.asarray(x, dtype=np.float64).cumsum(axis=-1)
            everybody = running[..., -1:]
            above = everybody - running[..., :-1]
            table = np.empty((*above.shape[:-1], columns))
            table[..., 1::2] = chances * (q * everybody + (p - q) * above)
            table[..., 0::2] = chances * (p * everybody - (p - q) * above)
            return table

        def adjoint(v: Array) -> Array:
            yes, no = chances * v[..., 1::2], chances * v[..., 0::2]
            return np.asarray((q * yes + p * no).sum(axis=-1, keepdims=True) + (p - q) * running_sums(yes - no))

        def squares(v: Array) -> Array:
            # From the least entry of a yes, and the most of a no: both are those of answers below the cut-off.
            return running_sums(((p - q) * chances) ** 2 * (v[..., 1::2] + v[..., 0::2]))

        def merged(answers: Integers) -> tuple[Array, Integers]:
            # Cut-offs between two of these answers have the same likelihoods.
            ends = np.unique(np.concatenate([[0], answers, [k - 1]]))
            likely = np.add.reduceat(chances, ends[:-1])
            above = answers[:, np.newaxis] > ends[:-1]
            table = np.stack([np.where(above, q, p) * likely, np.where(above, p, q) * likely], axis=-1)
            stretch = np.repeat(np.arange(likely.size), np.diff(ends))
            return table.reshape(answers.size, -1), (2 * stretch[:, np.newaxis] + np.arange(2)).ravel()

        matrix = (lambda: forward(np.eye(k))) if k <= LARGEST_CHANNEL else None
        whole = ChannelOperator((k, columns), forward, adjoint, matrix, squares, merged)
        return whole if reports is None else whole.of_reports(reports)

    def bounds(self) -> ProbabilityBounds:
        chances = np.repeat(self.design._chances, 2)
        return ProbabilityBounds(chances * self.design.q, chances * self.design.p)

    def _scores(self, memberships: Array) -> Array:
        r"""Return unbiased scores, from the step of the memberships at each cut-off.

        .. math:: \sum_i u_i \theta_i = u_0 + \sum_t (u_t - u_{t-1}) P(X \ge t),

        and :math:`P(X \ge t)` shows in the yeses with this cut-off. What is expected are yeses among people for whom
        all answers are equally common: then these scores have the least variance of all unbiased ones.
        """
        p, q = self.design.p, self.design.q
        steps = np.diff(memberships, axis=1) / (self.design._chances * (p - q))
        expected = q + (p - q) * (1 - np.arange(1, self.k) / self.k)
        scores = np.empty((len(memberships), 2 * (self.k - 1)))
        scores[:, 1::2] = steps * (1 - expected)
        scores[:, 0::2] = -steps * expected
        return np.asarray(scores + memberships.mean(axis=1, keepdims=True))

    def _step_sums(self, weights: Array) -> StepSums:
        p, q = self.design.p, self.design.q
        worth = 1 / (self.design._chances * (p - q))
        expected = q + (p - q) * (1 - np.arange(1, self.k) / self.k)
        no, yes = weights[:, 0::2], weights[:, 1::2]
        total = worth * (no * expected - yes * (1 - expected))
        square = worth**2 * (no * expected**2 + yes * (1 - expected) ** 2)
        ends = (total, square, -worth * (1 - expected), worth * expected)
        return StepSums(*(np.pad(part, [(0, 0)] * (part.ndim - 1) + [(1, 1)]) for part in ends))

    def _binomial_runs(self, counts: Counts, sizes: Integers) -> tuple[Array, ...]:
        """Return the noes to the cut-off after each number of answers, among all reports with it."""
        noes = counts[:, 2 * (sizes - 1)]
        asked = noes + counts[:, 2 * (sizes - 1) + 1]
        q, gain = self.design.q, self.design.p - self.design.q
        middle = q + gain * sizes / self.k
        trials, count = np.where(asked > 0, asked, NOBODY), np.where(asked > 0, noes, NOBODY * middle)
        return count, trials, np.full(sizes.size, q), np.full(sizes.size, gain)

    def _binomial(self, membership: Array) -> BinomialReports | None:
        """Return all yeses for memberships that rise with the number from 0 to 1, or all noes if they fall."""
        mean = np.append(0.0, self.design._chances.cumsum())
        for says, line in ((1, mean), (0, 1 - mean)):
            if np.abs(membership - line).max() <= MEAN_TOLERANCE:
                return BinomialReports(
                    np.arange(2 * (self.k - 1)) % 2 == says, self.design.q, self.design.p - self.design.q
                )
        return None

    def _binomial_among_some(self, membership: Array) -> BinomialReports | None:
        """Return the yeses to the lower bound of the set, or the noes to its upper bound, among all reports with it."""
        steps = np.diff(membership)
        (indices,) = steps.nonzero()
        if indices.size != 1 or abs(steps[indices[0]]) != 1:
            return None
        columns = np.arange(2 * (self.k - 1))
        reports = columns == 2 * indices[0] + (steps[indices[0]] > 0)
        return BinomialReports(reports, self.design.q, self.design.p - self.design.q, among=columns // 2 == indices[0])


def _gaps(labels: Labels) -> tuple[int, ...]:
    """Return the distances between neighbors in lowest terms; equal distances if the answers are no numbers."""
    if isinstance(labels, range) or not is_numeric(labels):
        return (1,) * (len(labels) - 1)
    numbers = numbers_of(labels)
    gaps = [after - before for before, after in pairwise(numbers)]
    scale = math.lcm(*(gap.denominator for gap in gaps))
    return _reduced([int(gap * scale) for gap in gaps])


def _reduced(gaps: Sequence[int]) -> tuple[int, ...]:
    divisor = math.gcd(*gaps) or 1
    return tuple(int(gap) // divisor for gap in gaps)
