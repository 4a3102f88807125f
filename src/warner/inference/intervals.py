r"""Confidence intervals of any sets of answers, under any design, of one collection or several.

A design has a `SamplingModel` of each share: a binomial count with an exact interval, or an unbiased linear combination
of the observed shares with an approximately normal one. The interval of a share that is not identified is from 0 to 1.
The method of an interval determines whether it is exact. Pooled collections are combined by their score
(`warner.inference.normal`); the share of the sample is the average over collections, weighted by sample size.

**Complex samples** (docs/theory/groups-and-samples.md): binomial counts have the limits of Clopper and Pearson at the
effective sample size (Korn and Graubard), other scores the limits of a mean with one more respondent at each end of the
range, because Student's t is too short for few respondents with skewed scores. For groups in one cluster the limits are
the whole range.

**Cumulative shares.** The distribution function of reports that each name one answer,
:math:`G(t) = (t+1)q + (p-q)F(t)`, is within :math:`\sqrt{\ln(2/\alpha)/(2n)}` of the observed one everywhere, with
probability at least :math:`1 - \alpha` (Dvoretzky, Kiefer and Wolfowitz, with Massart's constant [1]_). So F(t) is
within this distance over :math:`|p - q|`.

.. [1] P. Massart, "The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality", Annals of Probability 18 (1990),
   1269-1283.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri, stdtrit

from warner.designs.facts import (
    CumulativeSets,
    Nested,
    SamplingModel,
    check_target,
    counts_everyone,
    full_symmetry,
    sizes_of,
)
from warner.designs.labels import Labels, positions
from warner.estimators.projections import SUM_ROUNDING
from warner.inference.anytime import anytime_interval, refuse_anytime
from warner.inference.binomial import (
    Binomial,
    binomial_limits,
    interval_and_error,
    realised_methods,
    share_interval,
    share_limits,
    standard_error,
)
from warner.inference.normal import Joint, Sampled, concatenated_sets, joints, never_empty, normal_limits, pooled_limits
from warner.reports.design_based import refuse_realised
from warner.reports.linearization import fewer_people
from warner.reports.tallies import Collected, Tally, holds_every_answer
from warner.results import EXACT, Column, Estimates, Limits, TableResult, check_level
from warner.text import NAMES_LISTED, counted, did_you_mean, enumerated, level_text

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Label, Mask, Numbers, PerGroup, Sets
    from warner.designs.contract import Design
    from warner.documents import Document
    from warner.reports.counts import DistinctCounts


# Korn graubard


ONE_CLUSTER = "one_cluster"  # the method of the whole range, of a group that lies in one cluster
RANDOMIZATION = "randomization"  # the method where the variance of the randomization exceeds the design-based one


def design_based_limits(readout: SamplingModel, tail: float) -> Limits:
    """Return the limits with `tail` on either side."""
    drawn = readout.drawn
    assert drawn is not None
    assert readout.error is not None
    error = np.array(readout.error)
    counted = np.broadcast_to(readout.exact, error.shape) & (error == 0) & ~np.isinf(drawn.worth)
    if counted.any():  # of a simple sample, at any level
        error = np.where(counted, standard_error(Binomial.from_readout(readout)), error)
    used = methods_of(readout)
    names = [name for name in ("korn_graubard", "linear", RANDOMIZATION, ONE_CLUSTER) if (used == name).any()]
    return Limits(*cut_limits(readout, tail), error, tuple(names))


def cut_limits(readout: SamplingModel, tail: Numbers, span: tuple[float, float] = (0.0, 1.0)) -> tuple[Array, Array]:
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


def _effective(readout: SamplingModel, freedom: Numbers, tail: Numbers) -> Binomial:
    assert readout.drawn is not None
    fewer = fewer_people(readout.drawn.people, freedom, tail)
    return Binomial(readout.count * fewer, readout.trials * fewer, readout.base, readout.gain)


def methods_of(readout: SamplingModel) -> Counts:
    """Return the name of the method of each interval, of shape (groups, sets)."""
    drawn = readout.drawn
    assert drawn is not None
    usual = np.where(np.broadcast_to(readout.exact, readout.count.shape), "korn_graubard", "linear")
    return np.where(drawn.blind, ONE_CLUSTER, np.where(drawn.floored, RANDOMIZATION, usual))


def in_one_cluster(names: Sequence[str]) -> str:
    """Return a note that names the groups in one cluster; an empty text if there is none.

    >>> in_one_cluster(["north", "south"])
    'one cluster does not show how clusters vary, so the interval is the whole range: north, south'
    """
    about = "one cluster does not show how clusters vary, so the interval is the whole range"
    return f"{about}: {enumerated(names)}" if names else ""


def uncut_limits(
    readout: SamplingModel, freedom: Numbers, tail: Numbers, span: tuple[float, float] = (0.0, 1.0)
) -> tuple[Array, Array]:
    """Return the limits with these degrees of freedom, which may lie beyond the span; arrays broadcast."""
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


def _means(readout: SamplingModel, freedom: Numbers, tail: Numbers, span: tuple[float, float]) -> tuple[Array, Array]:
    """Centers and half-widths of intervals of means of scores whose range is the span."""
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


# Distribution bands


BAND_ANSWERS = 9  # from which on one band for all cumulative shares is narrower than Bonferroni's correction


def has_band(part: Tally, confidence: Confidence) -> bool:
    """Return True if simultaneous intervals of cumulative shares use the Dvoretzky-Kiefer-Wolfowitz band."""
    usual = confidence.simultaneous and confidence.target == "population" and part.simple
    design = part.design
    return bool(usual and full_symmetry(design.law) is not None and design.law.exclusive and design.k >= BAND_ANSWERS)


def dkw_band(readout: SamplingModel, level: float) -> Limits:
    half = np.sqrt(math.log(2 / (1 - level)) / (2 * readout.trials)) / abs(np.asarray(readout.gain))
    share = readout.share()
    low, high = np.clip(np.minimum(share, 1) - half, 0, 1), np.clip(np.maximum(share, 0) + half, 0, 1)
    return Limits(low, high, standard_error(Binomial.from_readout(readout)), ("dkw",))


# Intervals


@dataclass(frozen=True)
class Confidence:
    """The intervals to compute: level, target, and whether they are simultaneous or any-time."""

    level: float = 0.95
    target: str = "population"
    simultaneous: bool = False
    anytime: bool = False

    def __post_init__(self) -> None:
        check_level(self.level)
        check_target(self.target)
        if self.anytime and self.target != "population":
            raise ValueError(
                'target must be "population" for any-time intervals, which treat respondents as a growing sample, but '
                f"got {self.target!r}; leave out anytime once all reports are in"
            )

    def tail(self, k: int) -> float:
        """Probability of a miss on either side; with Bonferroni's correction for k simultaneous intervals.

        Šidák's correction would need counts without negative dependence.
        """
        return (1 - self.level) / (2 * k if self.simultaneous else 2)

    def facts(self) -> Document:
        """Return the JSON fields of the interval of one value."""
        return {"level": self.level, "target": self.target, "anytime": self.anytime}

    def __str__(self) -> str:
        at_once = " simultaneous" if self.simultaneous else ""
        ever, target = " any-time" if self.anytime else "", "sample" if self.target == "realised" else self.target
        return f"{level_text(self.level)}{at_once}{ever} interval ({target})"


class IntervalResult(TableResult):
    """A result with confidence intervals: how they were computed, and whether they hold exactly."""

    _rows_key = ""

    confidence: Confidence
    methods: tuple[str, ...]
    weighted: bool
    sample: str = ""

    @abstractmethod
    def estimates(self) -> Estimates:
        """Return the values with their intervals."""

    @property
    def method(self) -> str:
        """Method of the interval, in words."""
        return " or ".join(self.methods)

    @property
    def approximate(self) -> bool:
        """True if coverage is approximate, because of the method or of weights."""
        return self.weighted or not EXACT.issuperset(self.methods)

    @property
    def interval_name(self) -> str:
        """The level, the target, and whether intervals are approximate, or design-based as of a complex sample."""
        return f"{'design-based ' if self.sample else 'approximate ' if self.approximate else ''}{self.confidence}"

    def _footnotes(self) -> list[str]:
        return [f"method of the interval: {self.method}", *([self.sample] if self.sample else [])]


@dataclass(frozen=True, eq=False, repr=False)
class Interval(IntervalResult):
    """A confidence interval for a share, or one for each of many.

    Attributes
    ----------
    low, high : float or ndarray
        The ends; of the shape of the estimate's shares where it is for every answer, one for each group otherwise.
    confidence : Confidence
        The level, the target (``population`` or ``realised``), and whether intervals are simultaneous or any-time.
    methods : tuple of str
        Methods: clopper_pearson, exact, wilson, score, linear, dkw (the band of Dvoretzky, Kiefer and Wolfowitz),
        korn_graubard (of complex samples) or anytime; several where answers or groups differ.
    weighted : bool
        Whether respondents have weights, strata or clusters, so that intervals use the effective sample size.
    """

    low: PerGroup
    high: PerGroup
    confidence: Confidence
    methods: tuple[str, ...]
    weighted: bool = False

    def estimates(self) -> Estimates:
        return Estimates(np.full(np.shape(self.low), np.nan), self.low, self.high, unit="share")

    def _columns(self) -> list[Column]:
        ends = Column(heading=f"{self.interval_name}, %", texts=lambda: self.estimates().texts()[2])
        return [Column("low", np.ravel(self.low)), Column("high", np.ravel(self.high)), ends]

    def _title(self) -> str:
        return counted(np.size(self.low), "confidence interval", "confidence intervals")

    def _facts(self) -> Document:
        """Return the JSON fields; the interval of a group without reports is None."""
        return {
            "low": self.low,
            "high": self.high,
            **self.confidence.facts(),
            "simultaneous": self.confidence.simultaneous,
            "method": self.method,
            "approximate": self.approximate,
        }

    def text(self) -> str:
        """Return one interval, or the number of intervals, and how they were computed."""
        about = f"{self.interval_name}, {self.method}"
        if np.ndim(self.low):
            return f"{np.size(self.low):,} intervals: {about}"
        return f"{self.estimates().texts(sign=True)[2][0] or 'no reports'}, {about}"


def law_of(tally: Collected, confidence: Confidence) -> Confidence:
    """Confidence for the population, where a design counts only a random part of the respondents."""
    refuse_realised(tally, confidence.target)
    if confidence.target == "population" or all(counts_everyone(part.design.law) for part in tally.parts):
        return confidence
    return replace(confidence, target="population")


def interval(
    tally: Collected, answers: Any, confidence: Confidence, *, method: str | None = None, cumulative: bool = False
) -> Interval:
    """Compute the intervals of all shares, one answer, a set of answers, or the cumulative shares."""
    sets: Sets | None = CumulativeSets(tally.k) if cumulative else None
    if answers is not None and cumulative:
        raise TypeError("give answers or cumulative=True (the shares of all answers up to each), not both")
    if answers is not None:
        one = isinstance(answers, str) or not isinstance(answers, Iterable)
        indices = positions_of([answers] if one else list(answers), tally.domain)
        if len(set(indices)) < len(indices) or not indices:
            raise ValueError(f"answers must be different answers, at least one, but got {answers!r}")
        if not one and confidence.simultaneous:
            raise ValueError(
                "simultaneous intervals are for every answer, or cumulative; for one set of answers leave it out"
            )
        sets = [indices]
    result = limits(tally, confidence, sets=sets, method=method)
    low, high = (end if answers is None else end[:, 0] for end in (result.low, result.high))
    return Interval(tally.squeezed(low), tally.squeezed(high), confidence, result.methods, not tally.simple)


def positions_of(answers: list[Label], domain: Labels) -> list[int]:
    """Find the positions of answers in the domain; raise an error that names a missing answer."""
    indices: list[int] = positions(answers, domain).tolist()
    for answer, index in zip(answers, indices, strict=True):
        if index < 0:
            shown = ", ".join(map(repr, domain[:NAMES_LISTED])) + (", ..." if len(domain) > NAMES_LISTED else "")
            raise ValueError(
                f"an answer must be in the domain ({shown}), but got {answer!r}{did_you_mean(answer, domain)}"
            )
    return indices


def limits(
    tally: Collected,
    confidence: Confidence,
    *,
    sets: Sets | None = None,
    method: str | None = None,
    readout: SamplingModel | None = None,
) -> Limits:
    """Compute intervals and standard errors of all answers or sets; NaN for groups without reports."""
    answered, confidence = tally.answered, law_of(tally, confidence)
    if confidence.anytime:
        refuse_anytime(tally, method)
    if sets is not None and holds_every_answer(tally) and (whole := sizes_of(sets) == tally.k).any():
        return _with_known(tally, confidence, sets, whole, method)
    designs = [part.design for part in tally.parts]
    tail = confidence.tail(len(sets) if isinstance(sets, CumulativeSets) else intervals_apart(designs, confidence))
    if len(tally.parts) == 1:
        part = tally.parts[0]
        if readout is None:
            readout = part.readout(None if answered.all() else answered, sets, target=confidence.target)
        # Equal counts have equal intervals: the distinct ones are known from the estimate.
        alike = sets is None and full_symmetry(part.design.law) is not None
        levels = part.histograms(None).distinct if alike and part.one_long_row and answered.all() else None
        if confidence.anytime:
            found = anytime_interval(readout, 2 * tail, levels)
        elif isinstance(sets, CumulativeSets) and method is None and has_band(part, confidence):
            found = dkw_band(readout, confidence.level)
        else:
            found = readout_limits(readout, tail, confidence.target, method, levels)
    else:
        if method is not None:
            raise ValueError(f"method must be left out for pooled collections, but got {method!r}")
        rows = _of_groups(tally.parts, np.flatnonzero(answered).tolist(), sets, tail, confidence.target)
        low, high, error = map(np.stack, zip(*((row.low, row.high, row.error) for row in rows), strict=True))
        found = Limits(low, high, error, tuple(dict.fromkeys(name for row in rows for name in row.methods)))
    low, high, error = (in_all_groups(part, answered) for part in found[:3])
    return Limits(low, high, error, found.methods)


def intervals_apart(designs: list[Design], confidence: Confidence) -> int:
    """Count the intervals of all answers that do not follow from each other; one, if not all are to hold at once."""
    return 1 if not confidence.simultaneous or mirrored(designs) else designs[0].k


def mirrored(designs: list[Design]) -> bool:
    """Return True if there are two answers whose unbiased shares always sum to one."""
    return designs[0].k == 2 and all(_sum_to_one(design) for design in designs if design.epsilon > 0)


def _sum_to_one(design: Design) -> bool:
    """Return True if unbiased shares of all answers sum to one for all reports, with one sampling model."""
    if not design.law.exclusive:
        return False
    counts = np.sqrt(np.arange(2.0, 2 + len(design.law.columns)))[np.newaxis]  # of which they would not by accident
    readout = design.law.readout(counts, counts.sum(keepdims=True))
    alike = np.all(readout.exact) or not np.any(readout.exact)
    return bool(alike and abs(readout.share().sum() - 1) <= SUM_ROUNDING)


def _with_known(tally: Collected, confidence: Confidence, sets: Sets, whole: Mask, method: str | None) -> Limits:
    """Limits of sets of which some contain all answers, so that their share is known."""
    shape = (len(tally.answered), len(sets))
    low, high, error = np.ones(shape), np.ones(shape), np.zeros(shape)
    methods: tuple[str, ...] = ("known",)
    if not whole.all():
        # Of all answers up to each, only the last set is all of them.
        if isinstance(sets, CumulativeSets):
            others: Sets = CumulativeSets(tally.k - 1)
        elif isinstance(sets, Nested):
            others = sets[:-1]
        else:
            others = [s for s, all_ in zip(sets, whole, strict=True) if not all_]
        rest = limits(tally, confidence, sets=others, method=method)
        low[:, ~whole], high[:, ~whole], error[:, ~whole], methods = rest[:4]
    for ends in (low, high, error):
        ends[~tally.answered] = np.nan
    return Limits(low, high, error, methods)


def in_all_groups(values: Array, answered: Mask) -> Array:
    """Insert rows of NaN for the groups without reports."""
    if answered.all():
        return values
    result = np.full((answered.size, *values.shape[1:]), np.nan)
    result[answered] = values
    return result


# One collection


def readout_limits(
    readout: SamplingModel, tail: float, target: str, method: str | None = None, levels: DistinctCounts | None = None
) -> Limits:
    """Limits of shares in one collection: exact where they are binomial, otherwise approximate."""
    if readout.drawn is not None:
        if method is not None:
            raise ValueError(
                f"method must be left out with strata, clusters or replicate weights, whose intervals are Korn and "
                f"Graubard's, but got {method!r}"
            )
        return design_based_limits(readout, tail)
    binomial = Binomial.from_readout(readout)
    if readout.exact.all():
        low, high, error = interval_and_error(binomial, tail, target, method, levels)
        return Limits(low, high, error, _names(binomial, target, tail, method))
    if method is not None:
        raise ValueError(
            f"method must be left out for this design, whose intervals are linear combinations, but got {method!r}"
        )
    assert readout.error is not None
    share, error = readout.share(), np.broadcast_to(readout.error, readout.count.shape).copy()
    n = readout.trials
    if readout.fuzzy or target == "realised":
        low, high = normal_limits(share, error, tail, people=None if readout.fuzzy else n)
    else:
        low, high = Sampled(share, error, n).limits(tail)
    some = np.flatnonzero(readout.exact)
    if not some.size:
        return Limits(low, high, error, ("linear",))
    base, gain = np.asarray(readout.base)[some], np.asarray(readout.gain)[some]
    trials = np.broadcast_to(n, readout.count.shape)[:, some]
    binomial = Binomial(readout.count[:, some], trials, base, gain)
    low[:, some], high[:, some], error[:, some] = interval_and_error(binomial, tail, target)
    return Limits(low, high, error, (*_names(binomial, target, tail, None), "linear"))


def _names(binomial: Binomial, target: str, tail: float, method: str | None) -> tuple[str, ...]:
    """Methods of binomial counts: the requested one, or the defaults of `share_interval`."""
    if method is not None or target == "population":
        return (method or "clopper_pearson",)
    exact, scored = realised_methods(binomial, tail)
    used = {"exact": exact.any(), "score": scored.any(), "clopper_pearson": not (exact | scored).all()}
    return tuple(name for name, some in used.items() if some)


# Several collections


def _of_groups(
    parts: tuple[Tally, ...], groups: list[int], sets: Sets | None, tail: float, target: str
) -> list[Limits]:
    """Limits of each group; groups with equally many collections are computed together."""
    rows: dict[int, Limits] = {}
    alike: dict[int, list[int]] = {}
    answered = [(part, part.answered) for part in parts]
    for group in groups:
        informative = [part for part, where in answered if where[group] and part.design.epsilon > 0]
        others = [part for part, where in answered if where[group] and part.design.epsilon == 0]
        if len(informative) == 1 and not (others and target == "realised"):
            readout = informative[0].readout([group], sets, target=target)
            found = readout_limits(readout, tail, target)
            rows[group] = Limits(found.low[0], found.high[0], found.error[0], found.methods)
        else:
            alike.setdefault(len(informative), []).append(group)
    for batch in alike.values():
        together = joints(parts, batch, sets, target=target)
        if target == "realised":
            rows.update((group, _realised(one, tail)) for group, one in zip(batch, together, strict=True))
            continue
        found = _combined(concatenated_sets(together), tail)
        for group, low, high, error in zip(batch, *(np.split(end, len(batch)) for end in found[:3]), strict=True):
            rows[group] = Limits(low, high, error, found.methods)
    return [rows[group] for group in groups]


def _combined(together: Joint, tail: float) -> Limits:
    """Combine all collections for the population: binomial counts, otherwise unbiased estimates."""
    low, high, error = np.empty((3, together.exact.shape[1]))
    exact = np.asarray(together.exact.all(axis=0))
    names: tuple[str, ...] = ()
    if exact.any():
        low[exact], high[exact], error[exact], names, *_ = pooled_limits(together.binomial.select(exact), tail)
    if not exact.all():
        others, names = together.select(~exact), (*names, "linear")
        if others.fuzzy:
            share, error[~exact], _ = others.average("population")
            low[~exact], high[~exact] = normal_limits(share, error[~exact], tail)
        else:
            average = others.sampled()
            error[~exact], (low[~exact], high[~exact]) = average.error, average.limits(tail)
    return Limits(low, high, error, names)


def _realised(together: Joint, tail: float) -> Limits:
    """Average the shares of the sample over the collections, weighted by their sample sizes.

    Small binomial counts have averages of exact ends, each at a level at which all of them hold together.
    """
    middle, error, unknown = together.average("realised")
    people = None if together.fuzzy else together.sample_size
    low, high = normal_limits(middle, error, tail, people=people, unknown=unknown)
    safe = np.asarray(~together.noisy(tail) & together.exact.all(axis=0))
    used: tuple[str, ...] = ()
    if safe.any():
        few = together.select(safe)
        each = tail / len(few.exact)
        ends = share_interval(few.binomial, each, "realised")
        used = _names(few.binomial, "realised", each, None)
        weight = few.people / few.sample_size
        low[safe], high[safe] = ((weight * end).sum(axis=0) for end in ends)
        high[safe] += unknown
    return Limits(low, high, error, (() if safe.all() else ("linear",)) + used)
