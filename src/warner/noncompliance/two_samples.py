r"""Two-sample models of noncompliance, with two unknown shares: prevalence, and a second share that each model names.

Each model solves two equations in f, the observed shares of yes in the two samples. Standard errors are those of the
delta method, with f(1-f)/n for the variance of f (dividing by n), f being at least half a report away from 0 and 1.
Intervals join Wilson's limits :math:`l_s` and :math:`u_s` of both probabilities of yes [1]_: with slopes
:math:`b_s = \partial x / \partial f_s` of a solution x, the lower end is

.. math:: x - \sqrt{\textstyle\sum_s b_s^2 d_s^2}, \qquad d_s = f_s - l_s \text{ where } b_s > 0,\ u_s - f_s
   \text{ where } b_s < 0,

and the upper end alike, with the other distances; both are cut to [0, 1]. So a share of yes near 0 or 1, or a small
sample beside a large one, has the uncertainty on the correct side. (Samples of 30 to 1,000 respondents, by enumeration:
95 % intervals have coverage .92 or higher, also for a prevalence of 0; multiples of the standard error .81.) The
intervals are approximate. Sampling error, or other noncompliance, can put a solution outside 0 to 1; ``most_likely`` is
then the maximum of the likelihood among the possible ones. An interval of which little is left after the cut means that
the counts fit the design badly.

Honesty given a trait, in the stochastic lie detector, is a ratio of two shares, and far from normal for a rare trait.
So its interval is that of the profile likelihood: all values t for which the best other share loses at most
:math:`\chi^2_{1,1-\alpha}/2` of the log-likelihood. For an estimated prevalence of 0, it may be all of 0 to 1.

References
----------
.. [1] G. Y. Zou, A. Donner, "Construction of confidence limits about effect measures: a general approach", Statistics
   in Medicine 27 (2008), 1693-1702.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import starmap
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from scipy.special import ndtri, xlog1py, xlogy

from warner.designs import Channel
from warner.designs.exact import Number, probability
from warner.estimators import channel_mle
from warner.inference.binomial import Binomial, wilson_limit
from warner.inference.normal import never_empty
from warner.numerics import bisected_each
from warner.results import Column, Estimates, TableResult, check_level
from warner.text import level_text

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Mask
    from warner.documents import Document


# Prevalence


@dataclass(frozen=True, repr=False)
class Share:
    """Estimated share: the solution of the equations, its standard error, and its interval."""

    value: float  #: The solution of the equations, about unbiased; sampling error may put it outside 0 to 1.
    se: float  #: Standard error by the delta method.
    low: float  #: Lower limit of the confidence interval, cut to [0, 1].
    high: float  #: Upper limit of the confidence interval, cut to [0, 1].
    level: float  #: Confidence level, approximate.
    #: The maximum-likelihood value, which is ``value`` itself where the whole solution is possible, otherwise the best
    #: possible one, from `warner.channel_mle`. NaN for honesty if the prevalence is 0.
    most_likely: float

    def __repr__(self) -> str:
        (value,), (error,), (ends,), _ = self._estimates(self.value).texts("undefined", sign=True)
        (most_likely,), *_ = self._estimates(self.most_likely).texts("undefined", sign=True)
        spread = f", se {error}" if error else ""
        likely = "" if most_likely == value else f", most likely {most_likely}"
        return f"{value}{spread}, {ends}, approximate {level_text(self.level)} interval{likely}"

    def _estimates(self, value: float) -> Estimates:
        return Estimates(value, self.low, self.high, self.se, unit="share")


@dataclass(frozen=True, repr=False)
class TwoSamples(TableResult):
    """Prevalence of the trait, and a second share that one sample cannot identify; subclasses name it."""

    prevalence: Share

    model: ClassVar[str]
    note: ClassVar[str]  # what the second share is, in a sentence

    def shares(self) -> dict[str, Share]:
        """Return both shares by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    _rows_key = ""

    def _columns(self) -> list[Column]:
        """Return the columns, a row for each of the two shares."""
        shares = self.shares()
        numbers = {name: np.array([getattr(share, name) for share in shares.values()]) for name in PREVALENCE_COLUMNS}
        table = {"share": numbers.pop("value"), **numbers}
        about = f"approximate {level_text(self.prevalence.level)} interval (%)"
        shown = Estimates.of_table(table, "share", unit="share")
        return [
            Column("quantity", np.array(list(shares)), "quantity"),
            *starmap(Column, table.items()),
            *shown.shown("share", about, unknown="undefined", further={"most likely": table["most_likely"]}),
        ]

    def _title(self) -> str:
        return f"{self.model.capitalize()}, from two samples"

    def _footnotes(self) -> tuple[str]:
        return (self.note,)

    def _facts(self) -> Document:
        shares = {
            name: {key: value for key, value in asdict(share).items() if key != "level"}
            for name, share in self.shares().items()
        }
        return {"model": self.model, "level": self.prevalence.level, "approximate": True, **shares}


PREVALENCE_COLUMNS = ("value", "se", "low", "high", "most_likely")


@dataclass(frozen=True, repr=False)
class UnrelatedQuestion(TwoSamples):
    """Result of `two_sample_unrelated_question`."""

    unrelated: Share

    model = "unrelated question"
    note = "unrelated: the share of respondents who would answer the unrelated question with yes"


@dataclass(frozen=True, repr=False)
class CheatingDetection(TwoSamples):
    """Result of `cheating_detection`; the prevalence is that of honest respondents with the trait."""

    cheaters: Share

    model = "cheating detection"
    note = "cheaters: they say no regardless of the device; how many of them have the trait as well is unknown"


@dataclass(frozen=True, repr=False)
class LieDetector(TwoSamples):
    """Result of `stochastic_lie_detector`."""

    honest: Share

    model = "stochastic lie detector"
    note = "honest: of the respondents with the trait, the share who affirm it"


@dataclass(frozen=True, repr=False)
class AnchoredCrosswise(TwoSamples):
    """Result of `anchored_crosswise`."""

    attentive: Share

    model = "anchored crosswise model"
    note = "attentive: the share of respondents who follow the instructions; the others are assumed to answer at random"


@dataclass(frozen=True, repr=False)
class ExtendedCrosswise(TwoSamples):
    """Result of `extended_crosswise`."""

    one_sayers: Share

    model = "extended crosswise model"
    note = "one-sayers always give the same report; the prevalence is that of all other respondents"


Model = TypeVar("Model", bound=TwoSamples)


# Two samples


NO_SHARE = 1e-9  # a share of 0, up to rounding
NO_PROBABILITY = 1e-15  # a probability of 0, up to rounding
PROFILE_HALVINGS = 30  # of the range of the other share, at each value that the profile likelihood is taken at
PROFILE_POINTS, PROFILE_REFINEMENTS = 33, 4  # values on each grid, and how often a finer one is laid
IMAGINARY_STEP = 1e-30  # of numerical derivatives, taken in the imaginary direction, where nothing cancels


def two_sample_unrelated_question(
    yes: Sequence[int], n: Sequence[int], p: Sequence[Number], *, level: float = 0.95
) -> UnrelatedQuestion:
    r"""Estimate prevalence where the unrelated question's own prevalence is unknown, from two samples.

    In sample s a respondent answers the sensitive question with probability :math:`p_s`, the unrelated one otherwise:
    :math:`\lambda_s = p_s \pi + (1 - p_s) w`. Two equations, two unknowns [1]_. ``unrelated`` is w, the share of
    people who would answer the unrelated question with yes. Where that is known, one sample is enough:
    `warner.surveys.unrelated_question`.

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

    >>> result = two_sample_unrelated_question((260, 340), (1000, 1000), ("0.8", "0.2"))
    >>> round(result.prevalence.value, 6), round(result.unrelated.value, 6)
    (0.233333, 0.366667)
    """
    first, second = _different("p", p)
    # The possible solutions are the mixtures of four populations, each with all or none of either trait.
    pure = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    kinds = pure @ np.array([[first, second], [1 - first, 1 - second]])
    samples = _samples(yes, n)
    return _estimated(UnrelatedQuestion, samples, level, kinds, lambda shares: shares @ pure[: len(shares)])


def cheating_detection(
    yes: Sequence[int], n: Sequence[int], forced: Sequence[Number], *, level: float = 0.95
) -> CheatingDetection:
    r"""Estimate the prevalence among honest respondents, and the share of cheaters, from two samples with a forced yes.

    In sample s the device says *say yes* with probability :math:`p_s`, and *answer truthfully* otherwise. Honest people
    with the trait (:math:`\pi`) say yes either way, honest people without it (:math:`\beta`) when forced, and cheaters
    (:math:`\gamma = 1 - \pi - \beta`) always say no: :math:`\lambda_s = \pi + p_s \beta` [1]_. ``cheaters``
    is :math:`\gamma`. How many cheaters have the trait is not known: the prevalence lies between :math:`\pi` and
    :math:`\pi + \gamma`.

    Parameters
    ----------
    yes, n, level
        As for `two_sample_unrelated_question`.
    forced : two numbers
        The probability of the forced yes in each sample.

    References
    ----------
    .. [1] S. J. Clark, R. A. Desharnais, "Honest answers to embarrassing questions: detecting cheating in the
       randomized response model", Psychological Methods 3 (1998), 160-168.

    Examples
    --------
    0.30 = pi + 0.25 beta and 0.60 = pi + 0.75 beta: beta = 0.6, pi = 0.15, and a quarter cheats.

    >>> cheating_detection((300, 600), (1000, 1000), ("1/4", "3/4"))
    Cheating detection, from two samples
    quantity    share (%)  most likely (%)    se  approximate 95 % interval (%)
    prevalence      15.00            15.00  2.31                 10.60 to 19.63
    cheaters        25.00            25.00  2.43                 20.30 to 29.83
    Cheaters: they say no regardless of the device; how many of them have the trait as well is unknown.
    """
    kinds = np.array([[1.0, 1.0], [0.0, 0.0], _different("forced", forced)])
    return _estimated(CheatingDetection, _samples(yes, n), level, kinds, tuple)


def stochastic_lie_detector(
    yes: Sequence[int], n: Sequence[int], p: Sequence[Number], *, level: float = 0.95
) -> LieDetector:
    r"""Estimate prevalence, and the share of honest answers among respondents with the trait, from two samples.

    People with the trait are to affirm it, and do so with the unknown probability t; otherwise they say no. All others
    answer the plain statement with probability :math:`p_s` (and say no), its negation otherwise (and say yes):
    :math:`\lambda_s = \pi t + (1 - \pi)(1 - p_s)` [1]_. ``honest`` is t, with an interval of the profile likelihood. If
    the solution has a prevalence of 0, its value is undefined (NaN), and its interval may be all of 0 to 1.

    Parameters
    ----------
    yes, n, level
        As for `two_sample_unrelated_question`.
    p : two numbers
        The probability of the plain statement for people without the trait, in each sample.

    References
    ----------
    .. [1] M. Moshagen, J. Musch, E. Erdfelder, "A stochastic lie detector", Behavior Research Methods 44 (2012),
       222-231.

    Examples
    --------
    0.48 = pi t + (1 - pi) 0.8 and 0.30 = pi t + (1 - pi) 0.2: pi = 0.7, and t = 0.24 / 0.7.

    >>> result = stochastic_lie_detector((480, 300), (1000, 1000), ("0.2", "0.8"))
    >>> round(result.prevalence.value, 6), round(result.honest.value, 6)
    (0.7, 0.342857)
    """
    first, second = _different("p", p)
    samples = _samples(yes, n)
    # People with the trait who affirm it, who deny it, and people without it.
    kinds = np.array([[1.0, 1.0], [0.0, 0.0], [1 - first, 1 - second]])
    result = _estimated(LieDetector, samples, level, kinds, lambda shares: _part_of(*shares[:2]), undefined=True)
    low, high = _profile_interval(kinds[2], samples, level)
    return replace(result, honest=replace(result.honest, low=low, high=high))


def anchored_crosswise(
    same: int,
    anchor_same: int,
    n: int,
    *,
    p: Number,
    p_anchor: Number,
    both_same: int | None = None,
    level: float = 0.95,
) -> AnchoredCrosswise:
    r"""Estimate prevalence and the share of attentive respondents, from a crosswise question and one of known answer.

    The anchor is a second crosswise question, on a trait without carriers. Attentive people (a share g) report *same*
    there with probability 1 - ``p_anchor``; the others are taken to answer both questions at random [1]_. ``attentive``
    is g.

    Parameters
    ----------
    same, anchor_same : int
        Numbers of reports *same* on the question, and on the anchor.
    n : int
        Number of respondents who answered both.
    p, p_anchor : number
        The prevalence of the unrelated trait in each question.
    both_same : int, optional
        Number of respondents who reported *same* twice. Without it the two answers are taken as unrelated to each
        other, which makes the standard errors approximate.
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

    >>> result = anchored_crosswise(620, 700, 1000, p="0.2", p_anchor="0.2")
    >>> round(result.prevalence.value, 6), round(result.attentive.value, 6)
    (0.2, 0.666667)
    """
    question, anchor = float(probability("p", p)), float(probability("p_anchor", p_anchor))
    for name, value in (("p", question), ("p_anchor", anchor)):
        if value == 0.5:
            raise ValueError(f"{name} must not be 1/2: then same and differ are equally likely after every answer")
    samples = _samples((same, anchor_same), (n, n))
    if both_same is not None:
        if not 0 <= both_same <= min(same, anchor_same) or same + anchor_same - both_same > n:
            raise ValueError(
                "both_same must be at most same and anchor_same, and leave at most n respondents, but got "
                f"{both_same!r} with {same!r}, {anchor_same!r} and {n!r}"
            )
        f = samples.observed
        samples.covariance[0, 1] = samples.covariance[1, 0] = (both_same / n - f[0] * f[1]) / n

    # Attentive people with the trait, attentive people without it, and the others.
    kinds = np.array([[question, 1 - anchor], [1 - question, 1 - anchor], [0.5, 0.5]])
    return _estimated(AnchoredCrosswise, samples, level, kinds, lambda shares: _part_of(*shares[:2])[::-1])


def extended_crosswise(
    differ: Sequence[int], n: Sequence[int], p: Sequence[Number], *, always: str = "differ", level: float = 0.95
) -> ExtendedCrosswise:
    r"""Estimate prevalence and the share of one-sayers, from two crosswise questions with different probabilities.

    In sample s the unrelated trait has the prevalence :math:`p_s`, and respondents report whether their two answers
    are the same or differ. One-sayers, a share t, always give the report `always`. With it the report "differ" has the
    probability :math:`f_s = t + (1 - t)[\pi (1 - p_s) + (1 - \pi) p_s]` [1]_ [2]_. The prevalence :math:`\pi` is that
    of respondents who are not one-sayers. Without one-sayers both samples have the same prevalence, which
    `warner.check` of the pool of both tallies tests exactly.

    Parameters
    ----------
    differ, n : two whole numbers each
        Numbers of reports "differ", and of respondents, in each sample.
    p : two numbers
        The prevalence of the unrelated trait in each sample; fractions may be strings such as ``"2/3"``.
    always : {"differ", "same"}
        The report of one-sayers.
    level : float
        Confidence level.

    References
    ----------
    .. [1] D. W. Heck, A. Hoffmann, M. Moshagen, "Detecting nonadherence without loss in efficiency: a simple extension
       of the crosswise model", Behavior Research Methods 50 (2018), 1895-1905.
    .. [2] M. J. L. F. Cruyff et al., J. R. Stat. Soc. A 187 (2024), 882-899.

    Examples
    --------
    A tenth are one-sayers, and a fifth of the others have the trait: 0.1 + 0.9 (0.2 * 0.8 + 0.8 * 0.2) = 0.388, and
    0.1 + 0.9 (0.2 * 0.2 + 0.8 * 0.8) = 0.712.

    >>> extended_crosswise((388, 712), (1000, 1000), ("0.2", "0.8"))
    Extended crosswise model, from two samples
    quantity    share (%)  most likely (%)    se  approximate 95 % interval (%)
    prevalence      20.00            20.00  2.02                 16.15 to 24.06
    one_sayers      10.00            10.00  2.10                  5.86 to 14.09
    One-sayers always give the same report; the prevalence is that of all other respondents.
    """
    first, second = _different("p", p)
    if always not in {"differ", "same"}:
        raise ValueError(f"always must be 'differ' or 'same', but got {always!r}")
    samples = _samples(differ, n, "differ")
    if always == "same":  # the same model with both reports exchanged
        samples, first, second = samples._replace(observed=1 - samples.observed), 1 - first, 1 - second
    # Respondents with the trait, without it, and one-sayers.
    kinds = np.array([[1 - first, 1 - second], [first, second], [1.0, 1.0]])
    return _estimated(ExtendedCrosswise, samples, level, kinds, lambda shares: (_part_of(*shares[:2])[1], shares[2]))


class Samples(NamedTuple):
    """Two samples: shares of yes, their covariances, and sample sizes."""

    observed: Array
    covariance: Array
    sizes: tuple[int, ...]


def _samples(yes: Sequence[int], n: Sequence[int], name: str = "yes") -> Samples:
    if not (isinstance(yes, Sequence) and isinstance(n, Sequence)) or len(yes) != 2 or len(n) != 2:
        raise ValueError(f"{name} and n must be two numbers each, one for each sample, but got {yes!r} and {n!r}")
    for count, size in zip(yes, n, strict=True):
        whole = all(isinstance(part, int | np.integer) and not isinstance(part, bool) for part in (count, size))
        if not whole or size < 1 or not 0 <= count <= size:
            raise ValueError(
                f"counts must be whole numbers from 0 to the size of the sample, but got {count!r} of {size!r}"
            )
    sizes = tuple(map(int, n))
    f = np.array([int(count) / size for count, size in zip(yes, sizes, strict=True)])
    half = 0.5 / np.array(sizes)
    inside = np.clip(f, half, 1 - half)  # no yes at all is no proof that there is none
    return Samples(f, np.diag(inside * (1 - inside) / np.array(sizes, dtype=np.float64)), sizes)


def _estimated(
    model: type[Model],
    samples: Samples,
    level: float,
    kinds: Array,
    read: Callable[[Counts], Sequence[Any]],
    *,
    undefined: bool = False,
) -> Model:
    """Solve the equations, with errors; if the solution is no mixture of the kinds, maximize the likelihood.

    A row of `kinds` has one kind's probabilities of yes in the two samples, and `read` turns the shares of the kinds
    into shares of the model, of which the result has the first two. The second one may be `undefined`.
    """
    check_level(level)
    equations = np.vstack([kinds[:3].T, np.ones(3)])  # three kinds are enough for any two probabilities

    def solved(f: Counts) -> Counts:
        return np.array(read(np.linalg.solve(equations, np.append(f, 1))))

    values = solved(samples.observed)
    # A step in the imaginary direction: exact derivatives of rational functions.
    steps = IMAGINARY_STEP * np.eye(2)
    slopes = np.array([solved(samples.observed + 1j * step).imag[:2] / IMAGINARY_STEP for step in steps])
    if not np.isfinite(values).all() and not undefined:
        raise ValueError(
            "these counts give no estimate: the equations have no solution there (a share in a denominator is zero)"
        )
    possible = bool(((values > -NO_PROBABILITY) & (values < 1 + NO_PROBABILITY)).all())
    likely = values.clip(0, 1) if possible else np.array(read(_likeliest(kinds, samples)))
    low, high = never_empty(values[:2], *_distances(slopes, samples, level))
    errors = np.sqrt(np.maximum(np.einsum("is,ij,js->s", slopes, samples.covariance, slopes), 0))
    columns = values[:2], errors, np.maximum(low, 0.0), np.minimum(high, 1.0), np.full(2, level), likely[:2]
    return model(*(Share(*row) for row in np.transpose(columns).tolist()))


def _distances(slopes: Array, samples: Samples, level: float) -> tuple[Array, Array]:
    """Distances of the limits below and above the values: Wilson's limits of both samples, joined by the slopes."""
    sizes, tail = np.array(samples.sizes, dtype=np.float64), (1 - level) / 2
    yes = Binomial(samples.observed * sizes, sizes, 0.0, 1.0)
    low, high = (wilson_limit(yes, tail, side) for side in (-1, 1))
    down, up = (samples.observed - low)[:, np.newaxis], (high - samples.observed)[:, np.newaxis]
    between = 2 * float(ndtri(tail)) ** 2 * slopes[0] * slopes[1] * samples.covariance[0, 1]
    squares = ((slopes * np.where(slopes > 0, *distances)) ** 2 for distances in ((down, up), (up, down)))
    below, above = (np.sqrt(np.maximum(square.sum(axis=0) + between, 0)) for square in squares)
    return below, above


def _likeliest(kinds: Array, samples: Samples) -> Array:
    """Most likely shares of the kinds of respondents: two samples are one channel with four reports."""
    sizes = np.array(samples.sizes, dtype=np.float64)
    weights = sizes / sizes.sum()
    rows = np.stack([kinds * weights, (1 - kinds) * weights], axis=-1).reshape(len(kinds), 4)
    counts = np.stack([samples.observed * sizes, (1 - samples.observed) * sizes], axis=-1).reshape(4)
    return channel_mle(counts, Channel(rows, len(kinds), 4)).shares


def _profile_interval(without: Array, samples: Samples, level: float) -> tuple[float, float]:
    r"""Profile-likelihood interval for the honesty of respondents with the trait.

    With a share c of people `without` it, whose probabilities of yes are given, :math:`\lambda_s = t + c (w_s - t)`.
    The likelihood is concave in c, and in both shares that t is the ratio of; so the values that are left are an
    interval.
    """
    f, sizes = samples.observed, np.array(samples.sizes, dtype=np.float64)

    def chances(t: Array, c: Array) -> Array:
        return np.asarray(
            np.clip(
                t[:, np.newaxis] + c[:, np.newaxis] * (without - t[:, np.newaxis]), NO_PROBABILITY, 1 - NO_PROBABILITY
            )
        )

    def best(t: Array) -> Array:
        """Maximize over c, by where the slope changes its sign."""

        def falling(c: Array) -> Mask:
            yes = chances(t, c)
            return np.asarray(~(((f - yes) * (without - t[:, np.newaxis]) / (yes * (1 - yes))) @ sizes > 0))

        low, high = bisected_each(falling, np.zeros(t.size), np.ones(t.size), steps=PROFILE_HALVINGS)
        reached = [(xlogy(f, yes) + xlog1py(1 - f, -yes)) @ sizes for yes in (chances(t, low), chances(t, high))]
        return np.asarray(np.maximum(*reached))

    grid = np.linspace(0, 1, PROFILE_POINTS)
    heights = best(grid)
    top = float(grid[heights.argmax()])
    least = float(heights.max()) - float(ndtri((1 - level) / 2)) ** 2 / 2

    def end(inside: float, outside: float) -> float:
        for _ in range(PROFILE_REFINEMENTS):
            points = np.linspace(inside, outside, PROFILE_POINTS)
            left_out = np.flatnonzero(best(points) < least)
            if not left_out.size:
                return outside
            inside, outside = float(points[max(left_out[0] - 1, 0)]), float(points[left_out[0]])
        return outside

    return end(top, 0.0), end(top, 1.0)


def _part_of(first: Any, second: Any) -> tuple[Any, Any]:
    """Sum of two shares, and the first one's fraction of it; NaN if the sum is zero up to rounding."""
    both = first + second
    return both, first / both if abs(both) > NO_SHARE else both * np.nan


def _different(name: str, pair: Sequence[Number]) -> tuple[float, float]:
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise ValueError(f"{name} must be two probabilities, one for each sample, but got {pair!r}")
    first, second = (probability(name, value) for value in pair)
    if first == second:
        raise ValueError(f"{name} must differ between the samples, but got {pair[0]!r} twice")
    return float(first), float(second)
