r"""Not everybody follows the instructions: how much that matters, and how two samples can tell.

A randomized answer protects the honest. It does not make people honest: some give the safe answer whatever the device
says, some do not understand. `sensitivity` shows how the result depends on their share, for any design. Where two
samples went through devices of different strength, or a question of known answer was asked besides, that share can be
estimated: `cheating_detection`, `stochastic_lie_detector`, `anchored_crosswise`. `unrelated_question` uses two samples
in the same way, to estimate how common the unrelated trait is.

These four solve two equations in the two observed shares of yes, f. Standard errors are those of the delta method, with
f(1-f)/n for the variance of f (dividing by n). Intervals are the estimate and so many standard errors, cut to [0, 1]:
approximate, for samples in which yes and no are both common. Chance, or people who do something else again, can put a
solution outside 0 to 1; then ``most_likely`` is the maximum of the likelihood among the possible ones. An interval of
which hardly anything is left after the cut says that the counts fit the design badly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from warner.designs import Channel, RandomizedResponse, probability
from warner.designs.labels import positions
from warner.estimators import inv, mle
from warner.estimators.likelihood import channel_mle
from warner.inference.binomial import Reading, check_level
from warner.inference.intervals import limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from warner.designs import Number
    from warner.reports.tallies import Tally

    Array = NDArray[np.float64]
    Solution = Callable[[NDArray[Any]], tuple[Any, ...]]

TINY = 1e-30  # of the derivatives, taken in the imaginary direction, where nothing cancels


@dataclass(frozen=True, repr=False)
class Part:
    """One estimated share: its value as the equations give it, its standard error, its interval.

    Attributes
    ----------
    value : float
        The solution of the equations, unbiased or nearly so; chance may put it outside 0 to 1.
    se : float
        Standard error by the delta method.
    low, high : float
        Confidence interval, cut to [0, 1].
    level : float
        Its confidence level, approximate.
    most_likely : float
        The maximum-likelihood value: ``value`` itself where the whole solution is possible, otherwise the best possible
        one, from `warner.channel_mle`. NaN for the honesty of people with a trait that then nobody has.
    """

    value: float
    se: float
    low: float
    high: float
    level: float
    most_likely: float

    def __repr__(self) -> str:
        about = f"approximate {100 * self.level:.6g} % interval {100 * self.low:.2f} to {100 * self.high:.2f} %"
        likely = "" if self.most_likely == self.value else f", most likely {100 * self.most_likely:.2f} %"
        return f"<{100 * self.value:.2f} %, se {100 * self.se:.2f}, {about}{likely}>"


@dataclass(frozen=True)
class TwoSamples:
    """What two samples tell: how common the trait is, and something else that one sample could not have told.

    Attributes
    ----------
    prevalence : Part
        The share of people with the trait.
    other : Part
        The further share; the function that made this says which.
    """

    prevalence: Part
    other: Part


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity:
    """How the shares depend on the share of people who gave the safe report whatever they were told.

    Attributes
    ----------
    tally : Tally
        The reports.
    safe : str or int
        The report that those people gave.
    cheating : ndarray of shape (rows,)
        Their share, as assumed in each row.
    shares : ndarray of shape (rows, k)
        The unbiased shares, by `warner.inv`; outside 0 to 1 where the reports speak against so many of those people, or
        by chance.
    most_likely : ndarray of shape (rows, k)
        The maximum-likelihood shares, by `warner.mle`.
    low, high : ndarray of shape (rows, k)
        Intervals for the shares in the population, given that assumption, as in `Estimate.table`.
    level : float
        Their confidence level.
    approximate : bool
        Whether they hold only about at that level: with weights, or where no single count decides a share.
    """

    tally: Tally
    safe: str | int
    cheating: Array
    shares: Array
    most_likely: Array
    low: Array
    high: Array
    level: float
    approximate: bool

    def table(self) -> dict[str, NDArray[Any]]:
        """Give columns as arrays, a row for each assumed share and answer.

        Returns
        -------
        dict of ndarray
            ``cheating``, ``value`` (the answer), ``share``, ``most_likely``, ``low`` and ``high``.
        """
        rows, k = self.shares.shape
        return {
            "cheating": np.repeat(self.cheating, k),
            "value": np.array(list(self.tally.design.domain) * rows),
            "share": self.shares.ravel(),
            "most_likely": self.most_likely.ravel(),
            "low": self.low.ravel(),
            "high": self.high.ravel(),
        }

    def text(self) -> str:
        """Write the table for people."""
        domain = [str(label) for label in self.tally.design.domain]
        width = max(map(len, [*domain, "value"]))
        about = f"   {'approximate ' if self.approximate else ''}{Reading(self.level)}"
        lines = [
            f"Shares, if so many people reported {self.safe!r} whatever they were told",
            f"ignoring   {'value':{width}}     share  most likely{about}",
        ]
        for cheating, shares, likely, low, high in zip(
            self.cheating, self.shares, self.most_likely, self.low, self.high, strict=True
        ):
            for i, label in enumerate(domain):
                ends = f"   {100 * low[i]:6.2f} to {100 * high[i]:6.2f} %"
                first = f"{100 * cheating:7.2f}%" if i == 0 else 8 * " "
                lines.append(f"{first}   {label:{width}}   {100 * shares[i]:6.2f}%      {100 * likely[i]:6.2f}%{ends}")
        lines.append("Who ignores the design is taken to be independent of the trait. No count can confirm that.")
        if ((self.shares < 0) | (self.shares > 1)).any():
            lines.append("Shares outside 0 to 100 % are due to chance, or speak against so many such people.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text()


def sensitivity(
    tally: Tally,
    safe: str | int,
    cheating: Sequence[Number] = (0, 0.05, 0.1, 0.2, 0.3),
    *,
    level: float = 0.95,
) -> Sensitivity:
    r"""Show how the shares change with the share of people who ignore the design and give the safe report.

    If a share c of people reports ``safe`` whatever the device says and whatever the truth is, a report has the
    probabilities :math:`(1-c) C + c\,[\text{report} = \text{safe}]` instead of C, and that design is undone. Those
    people are taken to be anybody: independent of the trait. If it is mostly those with the trait who play safe, the
    prevalence is higher than any row says, by up to c. One sample cannot tell c; two can, see `cheating_detection`.

    Parameters
    ----------
    tally : Tally
        Reports under a `RandomizedResponse` or a `Channel`, without groups.
    safe : str or int
        The report that gives nothing away: in most designs "no".
    cheating : sequence of numbers
        Shares to assume, each at least 0 and below 1.
    level : float
        Confidence level of the intervals, given c.

    Returns
    -------
    Sensitivity
        With ``table()`` and ``text()``.

    Examples
    --------
    40 of 100 say yes where the truth is told with probability 3/4, and safe is "no". If a fifth plays safe, a yes has
    probability 0.8 * 0.75 = 0.6 with the trait and 0.8 * 0.25 = 0.2 without: (0.4 - 0.2) / 0.4 = 0.5.

    >>> from warner import Tally
    >>> from warner.surveys import warner
    >>> print(sensitivity(Tally(warner("3/4"), [40, 60]), "no", (0, 0.2)).text())
    Shares, if so many people reported 'no' whatever they were told
    ignoring   value     share  most likely   95 % interval (population)
       0.00%   yes      30.00%       30.00%    10.66 to  50.56 %
               no       70.00%       70.00%    49.44 to  89.34 %
      20.00%   yes      50.00%       50.00%    25.82 to  75.70 %
               no       50.00%       50.00%    24.30 to  74.18 %
    Who ignores the design is taken to be independent of the trait. No count can confirm that.
    """
    check_level(level)
    if tally.by:
        raise ValueError("sensitivity needs a tally without groups, but got one with groups; take one group at a time")
    if not isinstance(tally.design, RandomizedResponse | Channel):
        raise TypeError("sensitivity needs reports of one design, but got pooled ones; take one part at a time")
    column = int(positions([safe], tally.design.outputs)[0])
    if column < 0:
        raise ValueError(
            f"safe must be a possible report of the design, but {safe!r} is none of {list(tally.design.outputs)[:10]}"
        )
    if isinstance(cheating, str) or not isinstance(cheating, Sequence):
        raise TypeError(f"cheating must be a sequence of shares, such as (0, 0.1), but got {cheating!r}")
    assumed = [probability("cheating", share) for share in cheating]
    if not assumed or 1 in assumed:
        raise ValueError(
            f"cheating must be shares of at least 0 and below 1, but got {cheating!r}: if all cheat, nothing is known"
        )
    tallies = [replace(tally, design=_contaminated(tally.design, column, share)) for share in assumed]
    ends = [limits(one, Reading(level)) for one in tallies]
    return Sensitivity(
        tally,
        safe,
        np.array([float(share) for share in assumed]),
        np.array([inv(tally.counts, one.design) for one in tallies]),
        np.array([mle(tally.counts, one.design) for one in tallies]),
        np.array([found.low[0] for found in ends]),
        np.array([found.high[0] for found in ends]),
        level,
        approximate=any(found.approximate for found in ends) or tally.squares is not None,
    )


def _contaminated(design: RandomizedResponse | Channel, safe: int, cheating: Fraction) -> Channel:
    """Give the design in which so many report the safe thing whatever they were told, in whole numbers."""
    if isinstance(design, RandomizedResponse):
        design = design.restricted(design.domain)  # the same, as a table
    honest = cheating.denominator - cheating.numerator
    weights = design.weights.astype(object) * honest
    weights[:, safe] += cheating.numerator * design.total
    rows = [[Fraction(weight, design.total * cheating.denominator) for weight in row] for row in weights.tolist()]
    return Channel(rows, design.domain, design.outputs)


def unrelated_question(yes: Sequence[int], n: Sequence[int], p: Sequence[Number], *, level: float = 0.95) -> TwoSamples:
    r"""Estimate prevalence where the unrelated question's own prevalence is unknown, from two samples.

    In sample s a person answers the sensitive question with probability :math:`p_s`, the unrelated one otherwise:
    :math:`\lambda_s = p_s \pi + (1 - p_s) w`. Two equations, two unknowns [1]_. ``other`` is w, the prevalence of the
    unrelated trait.

    Parameters
    ----------
    yes, n : two whole numbers each
        How many said yes, of how many, in each sample.
    p : two numbers
        The probability of the sensitive question in each sample; fractions may be strings such as ``"2/3"``.
    level : float
        Confidence level.

    References
    ----------
    .. [1] B. G. Greenberg et al., "The unrelated question randomized response model: theoretical framework", J. Amer.
       Stat. Assoc. 64 (1969), 520-539.

    Examples
    --------
    Shares of yes of 0.26 and 0.34 with p = 0.8 and 0.2: 0.26 = 0.8 pi + 0.2 w and 0.34 = 0.2 pi + 0.8 w.

    >>> found = unrelated_question((260, 340), (1000, 1000), ("0.8", "0.2"))
    >>> round(found.prevalence.value, 6), round(found.other.value, 6)
    (0.233333, 0.366667)
    """
    first, second = _different("p", p)

    def solved(f: NDArray[Any]) -> tuple[Any, ...]:
        return (
            ((1 - second) * f[0] - (1 - first) * f[1]) / (first - second),
            (first * f[1] - second * f[0]) / (first - second),
        )

    # The possible solutions are the mixtures of four populations, each with all or none of either trait.
    pure = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    asked = np.array([[first, second], [1 - first, 1 - second]])
    return _found(solved, _samples(yes, n), level, pure @ asked, lambda shares: tuple(shares @ pure))


def cheating_detection(
    yes: Sequence[int], n: Sequence[int], forced: Sequence[Number], *, level: float = 0.95
) -> TwoSamples:
    r"""Estimate prevalence among the honest, and the share of cheaters, from two samples with a forced yes.

    In sample s the device says *say yes* with probability :math:`p_s`, and *answer truthfully* otherwise. Honest people
    with the trait (:math:`\pi`) say yes either way, honest people without it (:math:`\beta`) when forced, and cheaters
    (:math:`\gamma = 1 - \pi - \beta`) always say no: :math:`\lambda_s = \pi + p_s \beta` [1]_. ``other`` is
    :math:`\gamma`. How many cheaters have the trait is not known: the prevalence lies between :math:`\pi` and
    :math:`\pi + \gamma`.

    Parameters
    ----------
    yes, n, level
        As for `unrelated_question`.
    forced : two numbers
        The probability of the forced yes in each sample.

    References
    ----------
    .. [1] S. J. Clark, R. A. Desharnais, "Honest answers to embarrassing questions: detecting cheating in the
       randomized response model", Psychological Methods 3 (1998), 160-168.

    Examples
    --------
    0.30 = pi + 0.25 beta and 0.60 = pi + 0.75 beta: beta = 0.6, pi = 0.15, and a quarter cheats.

    >>> found = cheating_detection((300, 600), (1000, 1000), ("1/4", "3/4"))
    >>> round(found.prevalence.value, 6), round(found.other.value, 6)
    (0.15, 0.25)
    """
    first, second = _different("forced", forced)

    def solved(f: NDArray[Any]) -> tuple[Any, ...]:
        honest_no = (f[1] - f[0]) / (second - first)
        honest_yes = f[0] - first * honest_no
        return honest_yes, 1 - honest_yes - honest_no, honest_no

    kinds = np.array([[1.0, 1.0], [0.0, 0.0], [first, second]])
    return _found(solved, _samples(yes, n), level, kinds, tuple)


def stochastic_lie_detector(
    yes: Sequence[int], n: Sequence[int], p: Sequence[Number], *, level: float = 0.95
) -> TwoSamples:
    r"""Estimate prevalence, and the share of its carriers who answer honestly, from two samples.

    People with the trait are to affirm it, and do so with the unknown probability t; otherwise they say no. All others
    answer the plain statement with probability :math:`p_s` (and say no), its negation otherwise (and say yes):
    :math:`\lambda_s = \pi t + (1 - \pi)(1 - p_s)` [1]_. ``other`` is t.

    Parameters
    ----------
    yes, n, level
        As for `unrelated_question`.
    p : two numbers
        The probability of the plain statement for people without the trait, in each sample.

    References
    ----------
    .. [1] M. Moshagen, J. Musch, E. Erdfelder, "A stochastic lie detector", Behavior Research Methods 44 (2012),
       222-231.

    Examples
    --------
    0.48 = pi t + (1 - pi) 0.8 and 0.30 = pi t + (1 - pi) 0.2: pi = 0.7, and t = 0.24 / 0.7.

    >>> found = stochastic_lie_detector((480, 300), (1000, 1000), ("0.2", "0.8"))
    >>> round(found.prevalence.value, 6), round(found.other.value, 6)
    (0.7, 0.342857)
    """
    first, second = _different("p", p)

    def solved(f: NDArray[Any]) -> tuple[Any, ...]:
        prevalence = 1 - (f[0] - f[1]) / (second - first)
        return prevalence, (f[0] - (1 - prevalence) * (1 - first)) / prevalence

    # People with the trait who affirm it, who deny it, and people without it.
    kinds = np.array([[1.0, 1.0], [0.0, 0.0], [1 - first, 1 - second]])
    return _found(solved, _samples(yes, n), level, kinds, lambda shares: _part_of(shares[0], shares[1]))


def anchored_crosswise(
    same: int,
    anchor_same: int,
    n: int,
    *,
    p: Number,
    p_anchor: Number,
    both_same: int | None = None,
    level: float = 0.95,
) -> TwoSamples:
    r"""Estimate prevalence and the share of attentive people, from a crosswise question and one of known answer.

    The anchor is a second crosswise question, on a trait that nobody has. Attentive people (a share g) report *same*
    there with probability 1 - ``p_anchor``; the others are taken to answer both questions at random [1]_. ``other``
    is g.

    Parameters
    ----------
    same, anchor_same : int
        How many reported *same* on the question, and on the anchor.
    n : int
        How many people answered both.
    p, p_anchor : number
        The prevalence of the unrelated trait in each question.
    both_same : int, optional
        How many reported *same* twice. Without it the two answers are taken as unrelated to each other, which makes the
        standard errors approximate.
    level : float
        Confidence level.

    References
    ----------
    .. [1] Y. Atsusaka, R. T. Stevenson, "A bias-corrected estimator for the crosswise model with inattentive
       respondents", Political Analysis 31 (2023), 134-148.

    Examples
    --------
    The anchor: 0.7 = g 0.8 + (1 - g)/2, so g = 2/3. The question: 0.62 = g x + (1 - g)/2, so x = 0.68 of the attentive
    report *same*, and 0.68 = 0.2 pi + 0.8 (1 - pi) gives pi = 0.2.

    >>> found = anchored_crosswise(620, 700, 1000, p="0.2", p_anchor="0.2")
    >>> round(found.prevalence.value, 6), round(found.other.value, 6)
    (0.2, 0.666667)
    """
    question, anchor = float(probability("p", p)), float(probability("p_anchor", p_anchor))
    for name, value in (("p", question), ("p_anchor", anchor)):
        if value == 0.5:
            raise ValueError(
                f"{name} must not be 1/2: then same and differ are equally likely for everybody, and say nothing"
            )
    samples = _samples((same, anchor_same), (n, n))
    if both_same is not None:
        if not 0 <= both_same <= min(same, anchor_same) or same + anchor_same - both_same > n:
            raise ValueError(
                f"both_same must be at most same and anchor_same, and leave at most n people, but got {both_same!r} "
                f"with {same!r}, {anchor_same!r} and {n!r}"
            )
        f = samples.observed
        samples.covariance[0, 1] = samples.covariance[1, 0] = (both_same / n - f[0] * f[1]) / n

    def solved(f: NDArray[Any]) -> tuple[Any, ...]:
        attentive = (f[1] - 0.5) / (0.5 - anchor)
        return ((f[0] - (1 - attentive) / 2) / attentive + question - 1) / (2 * question - 1), attentive

    # Attentive people with the trait, attentive people without it, and the others.
    kinds = np.array([[question, 1 - anchor], [1 - question, 1 - anchor], [0.5, 0.5]])

    def read(shares: Array) -> tuple[float, float]:
        attentive, with_trait = _part_of(shares[0], shares[1])
        return with_trait, attentive

    return _found(solved, samples, level, kinds, read)


class Samples(NamedTuple):
    """Two samples: the shares of yes, their covariances, and how many people were asked."""

    observed: Array
    covariance: Array
    sizes: tuple[int, ...]


def _samples(yes: Sequence[int], n: Sequence[int]) -> Samples:
    if not (isinstance(yes, Sequence) and isinstance(n, Sequence)) or len(yes) != 2 or len(n) != 2:
        raise ValueError(f"yes and n must be two numbers each, one for each sample, but got {yes!r} and {n!r}")
    for count, size in zip(yes, n, strict=True):
        whole = all(isinstance(part, int | np.integer) and not isinstance(part, bool) for part in (count, size))
        if not whole or size < 1 or not 0 <= count <= size:
            raise ValueError(
                f"counts must be whole numbers from 0 to the size of the sample, but got {count!r} of {size!r}"
            )
    sizes = tuple(map(int, n))
    f = np.array([int(count) / size for count, size in zip(yes, sizes, strict=True)])
    return Samples(f, np.diag(f * (1 - f) / np.array(sizes, dtype=np.float64)), sizes)


def _found(
    solved: Solution, samples: Samples, level: float, kinds: Array, read: Callable[[Array], tuple[float, ...]]
) -> TwoSamples:
    """Solve the equations, with errors; where no mixture of the kinds of people is a solution, find the likeliest.

    The first two values of a solution are those that are told; the rest must be shares as well. A row of `kinds` has
    one kind's probabilities of yes in the two samples, and `read` turns the shares of the kinds into the values.
    """
    check_level(level)
    f = samples.observed
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.array(solved(f))
        # A step in the imaginary direction: exact derivatives of rational functions.
        slopes = np.array([np.imag(solved(f + 1j * step))[:2] / TINY for step in TINY * np.eye(2)])
    if not (np.isfinite(values).all() and np.isfinite(slopes).all()):
        raise ValueError(
            "these counts give no estimate: the equations have no solution there (a share in a denominator is zero)"
        )
    errors = np.sqrt(np.maximum(np.einsum("is,ij,js->s", slopes, samples.covariance, slopes), 0))
    possible = bool(((values >= 0) & (values <= 1)).all())
    likely = values if possible else np.array(read(_likeliest(kinds, samples)))
    # For the ends half a yes and half a no more, or samples without one would be certain. And never empty: a value
    # beyond 0 or 1 is moved there, for the end on the far side.
    halved = (f * samples.sizes + 0.5) / (np.array(samples.sizes) + 1)
    wider = samples.covariance + np.diag(halved * (1 - halved) / samples.sizes - np.diag(samples.covariance))
    reach = -float(ndtri((1 - level) / 2)) * np.sqrt(np.maximum(np.einsum("is,ij,js->s", slopes, wider, slopes), 0))
    parts = [
        Part(value, error, max(min(value, 1) - half, 0.0), min(max(value, 0) + half, 1.0), level, best)
        for value, error, half, best in zip(
            values[:2].tolist(), errors.tolist(), reach.tolist(), likely[:2].tolist(), strict=True
        )
    ]
    return TwoSamples(*parts)


def _likeliest(kinds: Array, samples: Samples) -> Array:
    """Give the most likely shares of the kinds of people: two samples are one channel with four reports."""
    sizes = np.array(samples.sizes, dtype=np.float64)
    weights = sizes / sizes.sum()
    rows = np.stack([kinds * weights, (1 - kinds) * weights], axis=-1).reshape(len(kinds), 4)
    counts = np.stack([samples.observed * sizes, (1 - samples.observed) * sizes], axis=-1).reshape(4)
    return channel_mle(counts, Channel(rows, len(kinds), 4)).shares


def _part_of(first: float, second: float) -> tuple[float, float]:
    """Give the sum of two shares, and the first one's part of it."""
    both = first + second
    return both, first / both if both > 0 else np.nan


def _different(name: str, pair: Sequence[Number]) -> tuple[float, float]:
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise ValueError(f"{name} must be two probabilities, one for each sample, but got {pair!r}")
    first, second = (probability(name, value) for value in pair)
    if first == second:
        raise ValueError(f"{name} must differ between the samples, or they say the same, but got {pair[0]!r} twice")
    return float(first), float(second)
