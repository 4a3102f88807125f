r"""Privacy amplification by shuffling: the epsilon of n anonymous reports in random order.

One report spends at most the design's epsilon. If a trusted shuffler removes the names of n reports and mixes them,
each report hides among the others. The privacy of one respondent, whose answer may change while the others stay as they
are, is then (epsilon, delta)-differential privacy with a smaller epsilon [1]_.

The proof needs one idea. Let a report be r times as likely after an answer that it supports as after any other, and
let it support the true answer with probability p, and the true and a given other answer with probability :math:`\beta`.
Whatever the true answer, a report has a part with the same distribution for all answers, the *privacy blanket*. The
adversary may know everything but the report of one respondent and the reports of the blanket. The rest depends on four
counts of a multinomial of n respondents: of blanket reports that support only the one of two answers (probability
:math:`o = (p - \beta)/r`), only the other (o), neither, or both (:math:`\beta/r`). It is the expectation

.. math:: \delta(\varepsilon) = \frac{1}{n o}\, E\bigl[(h - l e^\varepsilon) X_0 - (h e^\varepsilon - l) X_1
          - t(e^\varepsilon - 1) X_2 - h(e^\varepsilon - 1) X_3\bigr]_+

with h = r o and l = t = o. (Lemma 5.3 of [1]_ for these designs; that paper then bounds it by Hoeffding's and Bennett's
inequalities, here it is evaluated.) Randomized response has :math:`\beta = 0`; with p < q its blanket is p, and h = t =
q and l = p.

The value of a report that supports both answers lies between those of :math:`X_1` and :math:`X_2`. Its probability is
put on these two with its mean kept, :math:`1 - e^{-\varepsilon}` on :math:`X_1` and :math:`e^{-\varepsilon}` on
:math:`X_2`: a mean-preserving spread, which does not decrease the mean of a convex function.

References
----------
.. [1] B. Balle, J. Bell, A. Gascón, K. Nissim, "The privacy blanket of the shuffle model", CRYPTO 2019.
.. [2] V. Feldman, A. McMillan, K. Talwar, "Hiding among the clones: a simple and nearly optimal analysis of privacy
   amplification by shuffling", FOCS 2021: nearly the same reduction, for any mechanism.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.designs.facts import full_symmetry
from warner.inference.binomial import at_least
from warner.numerics import bisected

if TYPE_CHECKING:
    from warner.arrays import Array
    from warner.designs.contract import Design
    from warner.designs.facts import Symmetry

MOST_SHUFFLED = 10**9  # reports; the adversary may know the others
GRID_NODES = (160, 40)  # evaluated values of the counts of the other and of the third answers
TAIL_PART = 1e-5  # part of delta for counts that are too rare to be evaluated
TAIL_ERROR = 1e-9  # relative error of the incomplete beta function, generously: 2e-11 was seen at a billion
SUM_ERROR = 1e-6  # relative error of the probabilities, generously: they are products of up to 10^6 ratios
EPSILON_HALVINGS = 10  # halvings of the interval that holds epsilon, once it is known up to a factor of two
SMALLEST_SHOWN = 1e-9  # epsilon at which the halving ends
COUNTS_ONE_BY_ONE = 2**14  # third counts that are evaluated one by one


def shuffled(design: Design, n: int, delta: float) -> float:
    """Bound the central epsilon of n shuffled reports, for this delta.

    The bound is proven: every approximation errs on the large side, and the result is at most the design's epsilon. It
    holds for a change of one respondent's answer, if the shuffler is honest and all n respondents send one report each
    under this design, against an adversary who knows all other true answers.

    Parameters
    ----------
    design : Design
        The randomization of the question, with the same probabilities for all answers and reports that support one
        answer or a set: randomized response, subset selection, unary encoding, hashing, Hadamard response ...
    n : int
        Number of shuffled reports, including that of the protected respondent.
    delta : float
        Probability of a larger privacy loss; far below 1/n, such as 1e-9.

    Returns
    -------
    float
        Epsilon; infinite for a design without noise.

    Notes
    -----
    Reports beyond a billion are treated as known to the adversary.

    Examples
    --------
    >>> from warner import RandomizedResponse
    >>> design = RandomizedResponse(10, epsilon=2)
    >>> shuffled(design, 1, 1e-6) == design.epsilon  # one report hides behind nothing
    True
    >>> shuffled(design, 10_000, 1e-6) < 0.6
    True
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n must be a whole number of respondents, at least 1, but got {n!r}")
    symmetry = shufflable(design, delta)
    low, high = design.ratio
    if low == 0:
        return math.inf
    if low == high:
        return 0.0
    pair = _pair(symmetry, Fraction(high, low), design.k)
    return _smallest_epsilon(pair, min(int(n), MOST_SHUFFLED), delta, design.epsilon)


def shufflable(design: Design, delta: float) -> Symmetry:
    """Check delta and return the response probabilities that the proof needs."""
    if not 0 < delta < 1:
        raise ValueError(f"delta must be between 0 and 1, such as 1e-9, but got {delta!r}")
    symmetry = full_symmetry(design.law)
    if symmetry is None or not design.law.exhaustive or (symmetry.p < symmetry.q and not design.law.exclusive):
        raise ValueError(
            "delta needs a design with the same response probabilities for all answers, such as randomized response "
            f"or subset selection, but got a {design.mechanism}; leave out delta"
        )
    if design.repetition():
        raise ValueError(
            f"delta needs one report from each respondent, but a {design.mechanism} design is for repeated reports, "
            "which a shuffler cannot protect together; leave out delta"
        )
    return symmetry


class _Pair(NamedTuple):
    """Weights h, l and t of the counts, and the probabilities of the four kinds of blanket reports."""

    larger: float
    smaller: float
    third: float
    blanket: float  # of supporting only the one of two answers, or only the other
    neither: float
    both: float = 0.0


def _pair(symmetry: Symmetry, ratio: Fraction, k: int) -> _Pair:
    """Return the blanket of a design whose reports are `ratio` times as likely after some answers as after others."""
    p, q, both = symmetry.p, symmetry.q, symmetry.both
    if p < q:
        return _Pair(*map(float, (q, p, q, p, (k - 2) * p)))
    one = (p - both) / ratio
    neither = (1 - p) + p / ratio - 2 * one - both / ratio
    return _Pair(*map(float, (p - both, one, one, one, neither, both / ratio)))


def _smallest_epsilon(pair: _Pair, n: int, delta: float, local: float) -> float:
    """Smallest proven epsilon, by bisection."""
    tail = TAIL_PART * delta
    fixed = None if pair.both else _grid(0.0, pair, n, tail)

    def proven(epsilon: float) -> bool:
        grid = _grid(epsilon, pair, n, tail) if fixed is None else fixed
        return _delta(epsilon, pair, n, grid) + 2 * tail <= delta

    high = local
    while high > SMALLEST_SHOWN and proven(high / 2):
        high /= 2
    return bisected(proven, high / 2, high, steps=EPSILON_HALVINGS)[1]


def _delta(epsilon: float, pair: _Pair, n: int, grid: tuple[Array, Array, Array]) -> float:
    """Upper bound of the expectation, without the tails that the grid leaves out."""
    other, third, weights = grid
    growth = math.exp(epsilon)
    gain = (pair.larger - pair.smaller * growth) * (1 + 1e-15)
    if gain <= 0:
        return 0.0
    loss = (pair.larger * growth - pair.smaller) * other + pair.third * math.expm1(epsilon) * third
    remaining = n - other - third  # trials of the one answer
    chance = pair.blanket / (1 - pair.blanket - pair.neither - pair.both)
    least = np.floor(loss / gain * (1 - 1e-14)) + 1
    # E (gain X - loss)+ of a binomial X, by its upper tails P(X >= least); x P(X = x) is a tail of one trial less.
    first = gain * remaining * chance * at_least(least - 1, remaining - 1, chance)
    second = loss * at_least(least, remaining, chance)
    expected = first * (1 + TAIL_ERROR) - second * (1 - TAIL_ERROR)
    return float((weights * np.maximum(expected, 0)).sum() / (n * pair.blanket) * (1 + SUM_ERROR))


def _grid(epsilon: float, pair: _Pair, n: int, tail: float) -> tuple[Array, Array, Array]:
    """Values of the counts of the other answer and of neither, and a mean-preserving spread of their probabilities.

    The reports of both are spread over them. Given both counts, the expectation is decreasing and convex in each: one
    more draw of the other answer, instead of anything else, subtracts a non-negative amount that is independent of the
    next draw's. So a mean-preserving move of probability from inside a cell to its two ends does not decrease it.
    """
    one = pair.blanket - pair.both * math.expm1(-epsilon)
    neither = pair.neither + pair.both * math.exp(-epsilon)
    other, weights = _mean_preserving_spread(n, one, tail, GRID_NODES[0])
    if not neither:
        return other, np.zeros_like(other), weights
    chance = neither / (1 - one)
    parts = [
        (value, weight, *_mean_preserving_spread(n - int(value), chance, tail, GRID_NODES[1], coarse=True))
        for value, weight in zip(other, weights, strict=True)
    ]
    values = np.concatenate([np.full(third.size, value) for value, _, third, _ in parts])
    spread = np.concatenate([weight * inner for _, weight, _, inner in parts])
    return values, np.concatenate([third for _, _, third, _ in parts]), spread


def _mean_preserving_spread(
    n: int, chance: float, tail: float, nodes: int, *, coarse: bool = False
) -> tuple[Array, Array]:
    """Concentrate Bin(n, chance) on a few values, without decreasing the mean of any falling convex function.

    Counts below the first value have a probability of at most `tail` (Chernoff: exp(-x^2 / 2 mean) for x below the
    mean), which the caller adds. The probability above the last value goes to the others, where the function is larger.
    """
    mean = n * chance
    width = math.sqrt(2 * mean * math.log(1 / tail)) * (1 + 1e-9)
    first, last = max(0, math.floor(mean - width)), min(n, math.ceil(mean + width) + 1)
    if coarse and last - first > COUNTS_ONE_BY_ONE:
        # A whole cell to its lower end: the third answers hardly matter there, and tens of thousands of them take time.
        ends = np.linspace(first, last, 4 * nodes).round()
        above = np.append(at_least(ends, np.full(ends.shape, float(n)), chance), 0)
        return ends, np.maximum(above[:-1] - above[1:], 0) + 2 * TAIL_ERROR
    x = np.arange(first, last + 1, dtype=np.float64)
    # From each probability to the next by their ratio: sums of logarithms, so that nothing overflows.
    steps = np.log((n - x[:-1]) / (x[:-1] + 1)) + (math.log(chance) - math.log1p(-chance))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    probabilities = np.exp(logs - logs.max())
    probabilities /= probabilities.sum()
    if x.size <= nodes:
        return x, probabilities
    # Probability inside a cell moves to the cell's two ends, in a way that keeps the mean.
    ends = np.unique(np.linspace(first, last, nodes).round())
    cell = np.minimum(np.searchsorted(ends, x, side="right") - 1, ends.size - 2)
    upper = (x - ends[cell]) / (ends[cell + 1] - ends[cell])
    weights: Array = np.zeros(ends.size)
    np.add.at(weights, cell, probabilities * (1 - upper))
    np.add.at(weights, cell + 1, probabilities * upper)
    return ends, weights
