r"""Goodness of fit: whether reports fit the design that they claim.

A report names answer i with probability :math:`q + (p-q)\theta_i`. Whatever the true shares are, no answer can be rarer
than q (with p < q, none more common), and every distribution of reports that respects this is possible. So reports can
refute only this claim of a randomized response. Two tests look at it:

- *The rarest answer.* Its count is binomial with a probability of at least q. With K answers,
  :math:`K \cdot P(\text{Bin}(N, q) \le \min_i c_i)` is a p-value for all true shares: exact, and cheap.
- *All answers together.* :math:`G^2`, twice the log-likelihood ratio of the best true shares. It is compared with
  surveys simulated at a vertex, where all respondents have the same answer. No true shares are known with larger
  values; that is measured, not proven, and the test is called conservative.

The two tests are strongly dependent. The verdict ranks the smaller p-value among the smaller ones of the same simulated
surveys. If it is beyond all of them, the exact test alone may be smaller. With p < q everything is reversed.

With two types of reports, one count is sufficient, and all tests are exact: the count is binomial with a probability
between l and h, the least and the most of all answers. Counts are the more extreme, the smaller
:math:`\min(P(\text{Bin}(N, l) \le c), P(\text{Bin}(N, h) \ge c))` is; and the probability of one as extreme is largest
at l or at h, because in between it first falls and then rises.

For any other design the first test looks at both sides of every count, between the least and the most of all answers
(`ProbabilityBounds`). Types of reports have tests of their own (`report_types`). Under a design that asks each
respondent about d of the K answers, the number who were asked about an answer is exactly :math:`\mathrm{Bin}(N, d/K)`;
2K times the smallest tail is a p-value. Each collection of a pool has its tests. The smallest p-value is multiplied by
the number of tests.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import numpy as np
from scipy.special import logit

from warner.arrays import SMALLEST, Numbers
from warner.designs.facts import NOBODY, full_symmetry
from warner.estimators import mle
from warner.estimators.auto import SIMULATED_COUNTS_AT_ONCE
from warner.inference.agreement import agreement_evidence, agreement_test
from warner.inference.binomial import ROUNDING, at_each_count, at_least, at_most, binomial_limits
from warner.inference.check_results import Check, Findings, Test
from warner.inference.intervals import in_all_groups
from warner.inference.report_types import (
    EQUAL_G2,
    compares_pairs,
    number_of_report_type_tests,
    pair_test,
    report_type_evidence,
    report_type_tests,
    smallest_p_value,
)
from warner.numerics import bisected_each, deviance, first_true_each
from warner.reports.counts import refuse_uninformative
from warner.reports.tallies import Pool, Tally, refuse_uncounted
from warner.results import check_level
from warner.simulate import of_each_size, seeded_by
from warner.text import amount, p_value, quoted, reports_counted

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Integers, Mask
    from warner.designs.contract import Design
    from warner.designs.facts import ProbabilityBounds
    from warner.designs.symmetric import Symmetric
    from warner.inference.check_results import OpenCheck
    from warner.reports.open_tallies import OpenTally
    from warner.reports.tallies import Collected


# Asked answers


def chance_of_answer(part: Tally) -> float:
    """Probability that a respondent is asked about a given answer."""
    symmetry = part.design.law.symmetry
    return 1.0 if symmetry is None else float(symmetry.asked)


def asked_test(part: Tally) -> Test | None:
    """Test how often each answer was asked about; None if every respondent is asked about all."""
    if chance_of_answer(part) == 1:
        return None
    asked, tails = _asked_and_tails(part)
    p_values, law = in_all_groups(smallest_p_value(tails), part.answered), "approximate" if part.weighted else "exact"

    def sentence(group: int) -> str:
        row = np.count_nonzero(part.answered[:group])
        index, n = int(tails[row].argmin()), float(part.scaled()[1][group, 0])
        times = float(asked[row, index])
        return (
            f"How often each answer was asked about: {quoted(part.domain[index])} "
            f"{amount(int(times) if times.is_integer() else times)} times, where {n * chance_of_answer(part):,.1f} are "
            f"expected whatever the true answers are: {p_value(p_values[group])} ({law})."
        )

    return Test("answers asked about", p_values, sentence)


def _asked_and_tails(part: Tally) -> tuple[Counts, Array]:
    """Count how often each answer was asked about, with the smaller tail, in groups with reports."""
    counts, n = (values[part.answered] for values in part.scaled())
    trials = part.design.law.readout(counts, n).trials
    asked = np.where(trials <= NOBODY, 0, trials)
    chance = chance_of_answer(part)
    return asked, np.minimum(at_most(asked, n, chance), at_least(asked, n, chance))


# Checking


G2_ROUNDING = 1e-9  # below, G2 is rounding, or as good as none; so is a relative change of a tail
Q_HALVINGS = 50  # of the range in which q is searched
WARNING_P_VALUE = 0.01  # of the cheap tests, below which an estimate says so unasked
MISFIT = "the reports do not seem to fit the design: {}"
DISAGREEMENT = "the collections do not seem to come from one population (noncompliance, or different respondents): {}"


class CheckOptions(TypedDict, total=False):
    """Options of `check`, for types: the type of the result depends on the tally."""

    level: float
    simulations: int
    rng: np.random.Generator | None
    fakes: int | None


@overload
def check(tally: Collected, **options: Unpack[CheckOptions]) -> Check: ...
@overload
def check(tally: OpenTally, **options: Unpack[CheckOptions]) -> OpenCheck: ...
def check(
    tally: Collected | OpenTally,
    *,
    level: float = 0.95,
    simulations: int = 999,
    rng: np.random.Generator | None = None,
    fakes: int | None = None,
) -> Check | OpenCheck:
    """Check whether reports fit the design that they claim.

    Each group is checked separately. With weights, the effective number of reports takes the place of their number, and
    the p-values are approximate. A design without noise (p = 1) fits everything.

    Parameters
    ----------
    tally : Tally, Pool or OpenTally
        The reports; of a pool each collection is checked, and whether all collections have the same shares. Of an open
        domain what no answer changes is: levels and directions, by their exact laws, without a simulation.
    level : float
        Reports that fit are rejected with probability at most ``1 - level``, up to the error of the simulation.
    simulations : int
        Number of surveys to simulate for the p-value of G2, for each group.
    rng : numpy.random.Generator, optional
        Where the randomness of the simulation comes from. If not given, it is seeded from the number of reports, so
        that the same reports give the same answer. Groups of one size share the simulated surveys.
    fakes : int, optional
        Number of fake reports in each group, to bound how far they could have moved a share.

    Examples
    --------
    Truth told with probability 3/4: noise alone says yes in a quarter of the reports, and it did not.

    >>> from warner import RandomizedResponse, Tally
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> result = check(Tally(survey, [10, 90]))
    >>> result.fits
    False
    >>> round(result.epsilon_at_least, 2)  # the design claims ln 3 = 1.10
    1.63
    >>> check(Tally(survey, [30, 70])).p_value
    1.0
    """
    _check_options(level, simulations, rng, fakes)
    if not isinstance(tally, Tally | Pool):
        from warner.inference.check_results import check_open  # these load all of open domains
        from warner.reports.open_tallies import OpenTally

        if isinstance(tally, OpenTally):
            if fakes is not None:
                raise ValueError(
                    "fakes must be left out for an open domain: see warner.discover for the effect of fake reports"
                )
            return check_open(tally, level=level)
    refuse_uncounted(tally, "check(Tally(design, counts))")
    if not tally.answered.any():
        raise ValueError("the tally must hold at least one report, but there is none")
    if all(part.design.epsilon == 0 for part in tally.parts):
        refuse_uninformative(tally.parts[0].design.law)
    agreement = agreement_test(tally) if isinstance(tally, Pool) else None
    tests = sum(_number_of_tests(part) for part in tally.parts) + (agreement is not None)
    chance = (1 - level) / max(tests * int(tally.answered.sum()), 1)
    findings = tuple(_checked_part(part, level, chance, simulations, rng) for part in tally.parts)
    result = Check(tally, level, int(simulations), fakes, findings, agreement)
    # What is said of single answers, and of epsilon, is said where the verdict is that the reports do not fit.
    rejected = ~np.atleast_1d(result.group_fits)
    return replace(result, findings=tuple(part.limited_to(rejected) for part in findings))


def _number_of_tests(part: Tally) -> int:
    if part.design.law.bounds().noiseless or not part.answered.any():
        return 0
    return 1 + number_of_report_type_tests(part) + (chance_of_answer(part) < 1) + compares_pairs(part)


def _symmetric(design: Any) -> Symmetric | None:
    """Return a randomized response, for which the least favorable population of simulations is known: a vertex."""
    return design if full_symmetry(design.law) is not None and design.law.exclusive and design.epsilon > 0 else None


def _has_one_count(design: Design) -> bool:
    """Return True if reports are of two types, so that one count is sufficient."""
    return design.law.exclusive and len(design.law.columns) == 2


def _checked_part(
    part: Tally, level: float, chance: float, simulations: int, rng: np.random.Generator | None
) -> Findings:
    design, answered = part.design, part.answered
    misfits, alone = np.zeros((2, answered.size, len(design.law.columns)), dtype=bool)
    if not answered.any():
        return Findings(part, (), misfits, alone, None)
    counts, n = (values[answered] for values in part.scaled())
    bounds, symmetric, spent = design.law.bounds(), _symmetric(design), None
    if symmetric is not None:
        whole = (1 - level) / len(n)  # without noise, the whole level is for the bound on epsilon
        spent = in_all_groups(_least_epsilon(counts, n, design, whole if bounds.noiseless else chance), answered)
    if bounds.noiseless:
        return Findings(part, (), misfits, alone, spent)
    tails, together = _tails(counts, n, bounds), None
    if _has_one_count(design):
        p_values = _one_count_test(counts[:, 0], n[:, 0], *_range_of_one(bounds))
        smallest = tails * EQUAL_G2 <= tails.min(axis=-1, keepdims=True)
        outside = (p_values < chance)[:, np.newaxis] & smallest
    else:
        p_values = np.minimum(1, _families(design) * tails.min(axis=-1))
        outside = tails < chance / _families(design)
    tests = [_range_test(part, bounds, in_all_groups(p_values, answered))]
    if symmetric is not None and not _has_one_count(design):
        g2 = likelihood_ratio(counts, n, symmetric)
        ranked = _judged(g2, p_values, n[:, 0], symmetric, simulations, rng)
        ranks, together, g2 = (in_all_groups(values, answered) for values in (*ranked, g2))
        tests.append(_likelihood_ratio_test(ranks, g2, simulations))
    tests += [] if (asked := asked_test(part)) is None else [asked]
    type_tests, misfit_types = report_type_tests(part, chance, simulations, rng)
    tests += [*type_tests, *([pair_test(part, chance)] if compares_pairs(part) else [])]
    misfits[answered], alone[answered] = outside, outside | (tails < (1 - level) / 2)
    return Findings(part, tuple(tests), misfits, alone, spent, misfit_types, together)


def _range_test(part: Tally, bounds: ProbabilityBounds, p_values: Array) -> Test:
    if bounds.least is not None and bounds.most is not None:
        return Test("possible range", p_values, lambda group: f"Impossible counts: {p_value(p_values[group])}.")
    below = bounds.most is None
    name, rule = ("Rarest", "at least") if below else ("Commonest", "at most")
    floor = bounds.least if below else bounds.most

    def sentence(group: int) -> str:
        counts, n = part.rows()
        extreme = int(counts[group].argmin() if below else counts[group].argmax())
        reports = reports_counted(counts[group, extreme], weighted=False)
        return (
            f"{name} answer: {quoted(part.domain[extreme])} has {reports}. With this noise every answer has {rule} "
            f"{n[group] * floor:,.1f} on average: {p_value(p_values[group])}."
        )

    return Test(f"{name.lower()} answer", p_values, sentence)


def _likelihood_ratio_test(p_values: Array, g2: Array, simulations: int) -> Test:
    def sentence(group: int) -> str:
        return (
            f"All answers together: G2 = {g2[group]:.4g}, {p_value(p_values[group])} (against {simulations:,} "
            "simulated surveys; conservative)."
        )

    return Test("likelihood ratio", p_values, sentence, g2)


def _check_options(level: float, simulations: object, rng: object, fakes: object) -> None:
    check_level(level)
    if isinstance(simulations, bool) or not isinstance(simulations, int | np.integer) or simulations < 1:
        raise ValueError(f"simulations must be a whole number of at least 1, but got {simulations!r}")
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy.random.Generator, such as numpy.random.default_rng(1), but got {rng!r}")
    if fakes is not None and (not isinstance(fakes, int | np.integer) or fakes < 0):
        raise ValueError(f"fakes must be a whole number of reports, at least 0, but got {fakes!r}")


def fit_warning(tally: Collected) -> str:
    """Return a warning if a cheap test of `check` rejects at 99 % for all groups together; otherwise an empty text."""
    evidence = [(p, MISFIT.format(what)) for part in tally.parts for p, what in _evidence(part)]
    if isinstance(tally, Pool) and (found := agreement_evidence(tally)) is not None:
        p, what = found
        evidence.append((min(1.0, p * int(tally.answered.sum())), DISAGREEMENT.format(what)))
    smallest, what = min(evidence, default=(1.0, ""))
    p = min(1.0, smallest * max(len(evidence), 1))
    if p < WARNING_P_VALUE:
        where = ", in some group" if tally.by else ""
        about = "" if tally.simple else "about "
        return f"{what}{where} ({about}{p_value(p)}); the estimate may be wrong, see the check"
    return ""


def _evidence(part: Tally) -> list[tuple[float, str]]:
    bounds, answered = part.design.law.bounds(), part.answered
    if not answered.any() or bounds.noiseless:
        return []
    counts, n = part.scaled()
    if not answered.all():
        counts, n = counts[answered], n[answered]
    tails = _tails(_extremes(counts, bounds), n, bounds)
    both = bounds.least is not None and bounds.most is not None
    rule = "fewer or more" if both else "fewer" if bounds.most is None else "more"
    if _has_one_count(part.design):
        worst = [int(tails.min(axis=-1).argmin())]
        p_first = float(_one_count_test(counts[worst, 0], n[worst, 0], *_range_of_one(bounds))[0])
    else:
        p_first = min(1.0, _families(part.design) * float(tails.min()))
    evidence = [(p_first, f"an answer was reported {rule} times than noise alone explains")]
    evidence += report_type_evidence(part)
    if chance_of_answer(part) < 1:
        smallest = float(smallest_p_value(_asked_and_tails(part)[1]).min())
        evidence.append((smallest, "some answers were asked about more or less often than by chance"))
    return [(min(1.0, p * int(answered.sum())), words) for p, words in evidence]


# The range of each count


def _families(design: Design) -> int:
    """Count the tails that are tested: of every column, on one side or on both, unless any count is possible."""
    width, trivial = len(design.law.columns), (0.0, 1.0)
    looked_at = [
        int(np.count_nonzero(np.broadcast_to(side, width) != end))
        for side, end in zip(design.law.bounds(), trivial, strict=True)
        if side is not None
    ]
    # Of two columns, what is too few of the one is too many of the other.
    return max(sum(looked_at) // (2 if len(looked_at) == 2 and _has_one_count(design) else 1), 1)


def _tails(counts: Counts, n: Array, bounds: ProbabilityBounds) -> Array:
    """Return the smaller tail of each count, at the end of its range where that tail is largest."""
    least, most = bounds

    def tail(c: Array, total: Numbers) -> Array:
        few = 1.0 if least is None else at_most(c, total, least)
        return np.minimum(few, 1.0 if most is None else at_least(c, total, most))

    alike = all(side is None or np.ndim(side) == 0 for side in bounds)
    return at_each_count(tail, counts, n) if alike else tail(np.asarray(counts, dtype=np.float64), n)


def _extremes(counts: Counts, bounds: ProbabilityBounds) -> Counts:
    """Return the smallest and the largest count if all have one range, otherwise all counts."""
    sides = {side: np.ndim(value) for side, value in zip(("min", "max"), bounds, strict=True) if value is not None}
    if any(sides.values()):
        return counts
    return np.concatenate([getattr(counts, side)(axis=-1, keepdims=True) for side in sides], axis=-1)


# One count


def _range_of_one(bounds: ProbabilityBounds) -> tuple[float, float]:
    least, most = (None if side is None else np.broadcast_to(side, 2) for side in bounds)
    if least is None or most is None:  # what is implied: the other column has the rest
        known = least if least is not None else most
        assert known is not None
        limits = sorted((float(known[0]), 1 - float(known[1])))
        return limits[0], limits[1]
    return float(least[0]), float(most[0])


def _one_count_test(c: Counts, n: Array, low: float, high: float) -> Array:
    """Return the largest probability of a count at least as extreme, over probabilities from low to high.

    >>> _one_count_test(np.array([0]), np.array([4.0]), 0.5, 0.5)  # 0 and 4 of 4 are as strange: 2/16
    array([0.125])
    """
    p_values = np.ones(np.shape(c))
    # 1 - 2/3 is not 1/3: a count on the edge is in
    outside = (c < n * low * (1 - ROUNDING)) | (c > n * high * (1 + ROUNDING))
    c, n = np.asarray(c, dtype=np.float64)[outside], n[outside]
    if not c.size:
        return p_values
    strange, last = np.minimum(at_most(c, n, low), at_least(c, n, high)) / EQUAL_G2, np.floor(n)
    none = np.zeros(c.shape)
    few = first_true_each(lambda x: at_most(x, n, low) > strange, none, last + 1) - 1
    many = first_true_each(lambda x: at_least(x, n, high) <= strange, none, last + 1)
    all_are = few >= many
    chances = [np.where(all_are, 1.0, at_most(few, n, phi) + at_least(many, n, phi)) for phi in (low, high)]
    p_values[outside] = np.minimum(1, np.maximum(*chances))
    return p_values


# Randomized response


def likelihood_ratio(counts: Counts, n: Numbers, design: Symmetric) -> Array:
    r"""Compute :math:`G^2 = 2 \sum_i c_i \ln\frac{c_i/N}{q + (p-q)\hat\theta_i}` at the `mle` estimate.

    Where the estimate is positive, observed over expected is one constant. So these answers count as a single answer,
    with s reports of the :math:`N (1 - (K-m) q)` that are expected of m of them together; any other has Nq. As a sum of
    terms :math:`c \ln(c/e) - c + e`, each at least 0, nothing cancels. Counts are of shape (..., k), n of shape (...,
    1).
    """
    a, b, total = design.law.symmetry.whole
    n = np.asarray(n, dtype=np.float64)
    if b == 0:
        return np.zeros(counts.shape[:-1])
    zero = mle(counts, design) <= 0
    positive = design.k - np.count_nonzero(zero, axis=-1)
    apart = at_each_count(lambda c, people: deviance(c, people * design.q), counts, n)
    rest = n[..., 0] - np.vecdot(zero, counts)  # n may differ from the sum by rounding only
    together = n[..., 0] * ((a + (positive - 1.0) * b) / total)
    g2 = 2 * (np.vecdot(zero, apart) + deviance(np.maximum(rest, 0), np.maximum(together, SMALLEST)))
    return np.where(g2 < G2_ROUNDING, 0.0, g2)


def _least_epsilon(counts: Counts, n: Array, design: Design, chance: float) -> Array:
    """Compute a lower bound on the epsilon that was spent, from a confidence limit of q.

    With p > q no answer is rarer than q, so q is at most the upper limit of the rarest, and p/q = 1/q - (K-1) at least
    the value at this limit. With p < q no answer is more common than q, so q is at least the lower limit of the most
    common, and q/p = 1/(1/q - (K-1)). Beyond q = 1/(K-1) there is no p, and the bound is infinite. For two answers one
    count is sufficient, and the bound is the smallest epsilon that its own test does not reject.
    """
    if design.k == 2:
        return _least_epsilon_of_two(counts.min(axis=-1).astype(np.float64), n[:, 0], chance)
    upright = design.law.bounds().most is None
    extreme = np.asarray((counts.min if upright else counts.max)(axis=-1, keepdims=True), dtype=np.float64)
    low, high = binomial_limits(extreme, n, chance / _families(design))
    with np.errstate(divide="ignore"):
        odds = np.maximum(1 / (high if upright else low) - (design.k - 1), 0)
        bound = np.log(odds) if upright else -np.log(odds)
    return np.maximum(bound, 0)[..., 0]


def _least_epsilon_of_two(fewer: Array, n: Array, chance: float) -> Array:
    """Return the smallest epsilon at which so few reports of one of two answers are not significant.

    With q = 1 / (1 + e^epsilon), the probability of so few, or of as many as the others are, rises with epsilon. None
    of 10 has the probability (3^10 + 1) / 4^10 at epsilon ln 3:

    >>> bound = _least_epsilon_of_two(np.array([0.0]), np.array([10.0]), (3**10 + 1) / 4**10)
    >>> round(float(np.exp(bound[0])), 9)
    3.0
    """
    # So few alone: q is between what their limits give at the whole chance, and at half of it.
    low, high = (np.minimum(binomial_limits(fewer, n, part)[1], 0.5) for part in (chance, chance / 2))
    open_ = np.flatnonzero(at_least(n - fewer, n, high) > G2_ROUNDING * chance)
    few, total = fewer[open_], n[open_]

    def refuted(q: Array) -> Mask:
        return np.asarray(at_most(few, total, q) + at_least(total - few, total, q) < chance)

    low[open_], _ = bisected_each(refuted, low[open_], high[open_], steps=Q_HALVINGS)
    return np.where(low < 0.5 - ROUNDING, -logit(low), 0.0)


def _judged(
    g2: Array, p_extreme: Array, n: Array, design: Symmetric, simulations: int, rng: np.random.Generator | None
) -> tuple[Array, Array]:
    """Compute the p-values of G2, and of both tests together, from ranks among the simulated surveys of each size."""
    p_values, together = np.ones(len(g2)), np.ones(len(g2))  # a G2 of zero is the smallest: nothing to simulate
    tested = np.flatnonzero(g2 > 0)
    sizes = np.maximum(1, np.rint(n[tested])).astype(np.int64)
    bounds, families = design.law.bounds(), _families(design)
    vertex, rows = np.eye(1, design.k)[0], max(1, SIMULATED_COUNTS_AT_ONCE // design.k)
    for size, indices in of_each_size(sizes):
        values, extremes = [], []
        generator = seeded_by([size]) if rng is None else rng
        for start in range(0, simulations, rows):
            drawn = design.simulate(vertex, size, rng=generator, size=min(rows, simulations - start))
            people = np.full((len(drawn), 1), float(size))
            values.append(likelihood_ratio(drawn, people, design))
            extremes.append(families * _tails(_extremes(drawn, bounds), people, bounds)[:, 0])
        surveys = np.concatenate(values), np.concatenate(extremes)
        step = max(1, SIMULATED_COUNTS_AT_ONCE // simulations)
        for start in range(0, len(indices), step):
            some = tested[indices[start : start + step]]
            p_values[some], together[some] = _ranked(g2[some], p_extreme[some], *surveys)
    return p_values, together


def _ranked(g2: Array, p_extreme: Array, values: Array, extremes: Array) -> tuple[Array, Array]:
    """Rank each observed G2 among simulated values, and the smaller p-value of both tests among theirs.

    A rank is never below 1 / (1 + simulations); below that, the exact test is used.
    """
    ordered, every = np.sort(values), values.size + 1  # with the observed one

    def as_large(observed: Array) -> Integers:
        return np.asarray(values.size - np.searchsorted(ordered, observed * EQUAL_G2))

    rank = (1 + as_large(g2)) / every
    simulated = (as_large(values) + (g2[:, np.newaxis] >= values * EQUAL_G2)) / every
    smaller = np.minimum(rank, p_extreme)
    below = np.count_nonzero(np.minimum(simulated, extremes) <= smaller[:, np.newaxis], axis=-1)
    together = (1 + below) / every
    return rank, np.where(below == 0, np.minimum(together, p_extreme), together)
