"""METHODS, the registry of estimators; estimates of tallies with log-likelihood and certificate; custom estimators.

A custom estimator is any function of counts and a design that returns shares, ``def mine(counts, design)``. It is
called with one survey at a time: a number for each column of the design, with weights scaled to the effective number of
reports. A parameter ``n`` receives the number of reports, which counts do not determine if a report supports several
answers. Its shares are checked and never changed. They have no certificate; intervals come from the counts, for every
estimator.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from warner.designs.facts import full_symmetry
from warner.estimators import closed_forms
from warner.estimators.ibu import updated
from warner.estimators.likelihood import (
    CERTIFICATE_FIELDS,
    Certificate,
    Evidence,
    Fit,
    Parts,
    Whole,
    certified,
    closed_form,
    evidence,
)
from warner.estimators.maximum_likelihood import Blocks, most_likely
from warner.estimators.postprocessing import REPAIRS
from warner.estimators.projections import (
    SUM_ROUNDING,
    clipped,
    least_squares_shares,
    projected,
    refuse_incomplete,
    variance_of_one_report,
    within_one,
)
from warner.metrics import log_likelihood_per_report
from warner.reports.counts import Histograms, checked
from warner.reports.tallies import Collected, Tally, holds_every_answer
from warner.runtime import ESTIMATE_BYTES, refuse_beyond_memory, steps
from warner.text import check_choice

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from warner.arrays import Array, Counts, Integers, Mask
    from warner.designs.contract import Design


# Methods


# Answers from which on some may be common over a rest, and shrinkage of the whole is closer than its parts.
ANSWERS_FOR_SHRINKAGE = 20
BIAS = "the bias of this estimator"
INVERSION = "inversion of the randomization: unbiased, but shares can be below zero"
GROUPS_SMOOTHED = 100  # beyond, smoothing each group would be felt
WHY_NEAREST = {  # why inv_p is the default, by whether there is a likelihood
    False: "a report is counted for several answers, so that counts alone have no likelihood",
    True: "a report is counted for several answers, and mle can be much less accurate where one answer dominates",
}


def unbiased_shares(histograms: Histograms, design: Design) -> Array:
    """Invert the randomization: by the unbiased line, or by least squares."""
    if (symmetry := full_symmetry(design.law)) is not None:
        return closed_forms.shares(
            histograms, symmetry, closed_forms.unbiased, cut=False, exclusive=design.law.exclusive
        )
    return least_squares_shares(histograms, design)


# What an estimate is made of


class Solution(NamedTuple):
    """Estimated shares, (groups, k), with the fit of each group for iterations, and the shares of distinct counts."""

    shares: Array
    fits: Sequence[Fit] = ()
    by_level: Array | None = None


Solver: TypeAlias = "Callable[[Parts], Solution]"


class Method(NamedTuple):
    """An estimator: its solver, its description and its properties."""

    solve: Solver  # computes shares from checked counts
    sentence: str  # its description
    valid: bool = True  # its shares are always a distribution
    likelihood: bool = False  # it needs the likelihood of the reports
    symmetric: bool = False  # it is only for one collection whose answers all have the same p and q
    one_collection: bool = False  # it is only for one collection, under any design
    unbiased: bool = False  # the expected shares are the true ones
    maximises_likelihood: bool = False  # a certificate with a gap is worth a warning
    # Bound on the effect of a fake report on a share, in multiples of the leverage of the design; None if not known
    fake_bound: Callable[[Collected], int | None] = lambda tally: None
    caution: Callable[[Array, Parts], str] = lambda shares, parts: ""  # warning about these shares
    suits: Callable[[Collected], bool] = lambda tally: False  # the default, unless one before it in `DEFAULTS` is
    reason: Callable[[Collected], str] = lambda tally: ""  # why it is the default, if that is not obvious
    outside: str = BIAS  # why a share may lie outside its own interval
    ordered: bool = False  # it uses the order of the answers
    weighs_noise: bool = False  # its shares depend on the effective number of reports
    part_sentence: str = ""  # for incomplete lists, whose shares sum to at most one; empty if it needs complete lists

    def applies(self, *, to_likelihood: bool, to_symmetric: bool = True, to_complete: bool = True) -> bool:
        """Return True if it applies, with a likelihood or not, to a symmetric design, and to a list of every answer."""
        return (
            (to_likelihood or not self.likelihood)
            and (to_symmetric or not self.symmetric)
            and (to_complete or bool(self.part_sentence))
        )

    def sentence_for(self, tally: Collected) -> str:
        return self.sentence if holds_every_answer(tally) else self.part_sentence


def _repaired(line: closed_forms.Line, repair: Callable[[Array], Array]) -> Solver:
    """Make the solver of an estimator that repairs the inverted shares: by its line if the design is symmetric.

    Shares of an incomplete list are repaired only if their positive parts sum to more than one.
    """

    def solve(parts: Parts) -> Solution:
        distribution = as_distribution(parts)
        if all(design.law.exhaustive for design, _ in parts):
            return distribution
        return Solution(within_one(_inverted(parts).shares, distribution.shares))

    def as_distribution(parts: Parts) -> Solution:
        design, histograms = parts[0]
        if len(parts) == 1 and full_symmetry(design.law) is not None:
            return _by_line(histograms, design, line)
        return Solution(repair(_combined(parts)))

    return solve


def _by_line(histograms: Histograms, design: Design, line: closed_forms.Line, *, cut: bool = True) -> Solution:
    """Evaluate a line; for one histogram at its distinct counts, which the evidence also uses."""
    symmetry = full_symmetry(design.law)
    assert symmetry is not None
    if not (histograms.whole and histograms.single):
        return Solution(closed_forms.shares(histograms, symmetry, line, cut=cut, exclusive=design.law.exclusive))
    by_level = closed_forms.shares_of_counts(histograms, symmetry, line, cut=cut, exclusive=design.law.exclusive)
    return Solution(histograms.distinct.for_each_column(by_level)[np.newaxis], by_level=by_level)


def _inverted(parts: Parts) -> Solution:
    design, histograms = parts[0]
    if len(parts) == 1 and full_symmetry(design.law) is not None:
        return _by_line(histograms, design, closed_forms.unbiased, cut=False)
    return Solution(_combined(parts))


def _combined(parts: Parts) -> Array:
    """Average the collections that identify all shares, each weighted by its precision for equal shares."""
    identified = [
        part for part in parts if full_symmetry(part[0].law) is not None or part[0].law.linear.identifiable().all()
    ]
    parts = identified or parts
    if len(parts) == 1:
        return unbiased_shares(parts[0][1], parts[0][0])
    weights = [counts.n[:, np.newaxis] / variance_of_one_report(design) for design, counts in parts]
    shares = [unbiased_shares(counts, design) for design, counts in parts]
    return np.asarray(sum(s * w for s, w in zip(shares, weights, strict=True)) / sum(weights))


def _by_counts(estimator: Callable[..., Array]) -> Solver:
    """Make the solver of an estimator of numbers of reports, for one collection under a symmetric design."""

    def solve(parts: Parts) -> Solution:
        design, histograms = parts[0]
        counts, n = histograms.in_reports()
        return Solution(estimator(counts, design, n=None if design.law.exclusive else n))

    return solve


def _maximum(parts: Parts) -> Solution:
    design, histograms = parts[0]
    if len(parts) == 1 and closed_form(design) is not None:
        return _by_line(histograms, design, closed_forms.most_likely)
    if all(part.law.exclusive for part, _ in parts):
        return _group_by_group(parts, most_likely)
    starts = iter(_nearest(parts).shares)
    return _group_by_group(parts, lambda row: most_likely(row, start=next(starts)))


_nearest = _repaired(closed_forms.nearest_line, projected)


# These two methods are loaded when they are used: most of what is loaded with an estimate would be theirs.


def _shrunk(parts: Parts) -> Solution:
    from warner.estimators import shrinkage

    design, histograms = parts[0]
    shrinkage.refuse_unsymmetric(design)
    if not (histograms.whole and histograms.single):
        return Solution(shrinkage.shares(histograms, design))
    by_level = shrinkage.level_shares(histograms, design)
    return Solution(histograms.distinct.for_each_column(by_level)[np.newaxis], by_level=by_level)


def _outside_narrow_limits(shares: Array, parts: Parts) -> str:
    from warner.estimators.shrinkage import widened

    return widened(shares, parts[0][1], parts[0][0])


def _smoothed(parts: Parts) -> Solution:
    from warner.estimators.smoothing import smoothed

    design, histograms = parts[0]
    return Solution(smoothed(histograms, design))


def _group_by_group(parts: Parts, solver: Callable[[Parts], Fit]) -> Solution:
    groups = range(len(parts[0][1].n))
    fits = [
        solver([(design, histograms.row(group)) for design, histograms in parts])
        for group in steps(groups, "estimates of groups")
    ]
    return Solution(np.array([fit.shares for fit in fits]), fits)


# What fake reports can do


def _has_symmetry(tally: Collected) -> bool:
    return all(full_symmetry(part.design.law) is not None for part in tally.parts)


def _counts_once(tally: Collected) -> bool:
    return _has_symmetry(tally) and all(part.design.law.exclusive for part in tally.parts)


def has_turned(tally: Collected) -> bool:
    """Return True if p < q under some design of more than two answers."""
    symmetries = [full_symmetry(part.design.law) for part in tally.parts]
    return tally.k > 2 and any(symmetry.p < symmetry.q for symmetry in symmetries if symmetry is not None)


def _fakes_in_nearest(tally: Collected) -> int | None:
    # If a report supports several answers, all shares are lowered by one constant, which may move the other way.
    return (1 if _counts_once(tally) else 2) if _has_symmetry(tally) else None


def _fakes_in_maximum(tally: Collected) -> int | None:
    if not _has_symmetry(tally):
        # Two answers and two reports: the most likely share is the unbiased one, cut to 0..1.
        return 1 if len(tally.parts) == 1 and tally.k == len(tally.parts[0].design.law.columns) == 2 else None
    return 1 if _counts_once(tally) and not has_turned(tally) else None


# Which are the defaults


def many_answers(tally: Collected) -> bool:
    """Return True if `shrink` is worthwhile: one symmetric design with many answers."""
    designs = [part.design for part in tally.parts]
    symmetric = len(designs) == 1 and full_symmetry(designs[0].law) is not None
    return symmetric and holds_every_answer(tally) and tally.k >= ANSWERS_FOR_SHRINKAGE


def _has_order(tally: Collected) -> bool:
    """Return True if `smooth` is worthwhile: one design with ordered answers, and not too many groups."""
    designs = [part.design for part in tally.parts]
    ordered = len(designs) == 1 and designs[0].ordered
    return ordered and holds_every_answer(tally) and len(tally.answered) <= GROUPS_SMOOTHED


def _slow(tally: Collected) -> str:
    return "for groups, shrink takes about 250 times as long as mle" if many_answers(tally) else ""


METHODS: dict[str, Method] = {
    "mle": Method(
        _maximum,
        "maximum likelihood: of all distributions, the one that makes these reports the most likely",
        likelihood=True,
        maximises_likelihood=True,
        fake_bound=_fakes_in_maximum,
        suits=lambda tally: holds_every_answer(tally) and all(part.design.law.exclusive for part in tally.parts),
        reason=_slow,
    ),
    "inv": Method(
        _inverted,
        INVERSION,
        valid=False,
        unbiased=True,
        fake_bound=lambda tally: 1,
        outside="a negative share, which no interval contains",
        part_sentence=INVERSION,
    ),
    "inv_n": Method(
        _repaired(closed_forms.rescaled, clipped),
        "inversion, with negative shares set to zero and the rest scaled to sum to one",
        fake_bound=lambda tally: 1 if _counts_once(tally) else None,
        part_sentence="inversion, with negative shares set to zero; the rest is scaled if it sums to more than one",
    ),
    "inv_p": Method(
        _nearest,
        "inversion, moved to the nearest distribution",
        fake_bound=_fakes_in_nearest,
        suits=lambda tally: True,
        reason=lambda tally: (
            (f"{slow}, and " if (slow := _slow(tally)) else "")
            + WHY_NEAREST[holds_every_answer(tally) and all(part.has_likelihood for part in tally.parts)]
        ),
        part_sentence="inversion, moved to the nearest shares of which none is negative and that sum to at most one",
    ),
    "ibu": Method(
        lambda parts: _group_by_group(parts, updated),
        "iterative Bayesian update, which approaches the maximum of the likelihood step by step",
        likelihood=True,
        maximises_likelihood=True,
    ),
    "shrink": Method(
        _shrunk,
        "shrinkage: the expected shares, averaged over many possible shapes",
        symmetric=True,
        caution=_outside_narrow_limits,
        suits=lambda tally: many_answers(tally) and not tally.by,
        reason=lambda tally: (
            f"the smallest total error for a symmetric design with {ANSWERS_FOR_SHRINKAGE} answers or more"
        ),
        outside="shrink pulls every share toward usual values of the others",
        weighs_noise=True,
    ),
    "smooth": Method(
        _smoothed,
        "smoothing: curves through ordered answers, averaged over degrees of smoothness",
        one_collection=True,
        suits=_has_order,
        reason=lambda tally: "the smallest total error known for numbers and other ordered answers",
        outside="smooth pulls neighboring shares together",
        ordered=True,
        weighs_noise=True,
    ),
} | {
    name: Method(_by_counts(repair.estimator), repair.sentence, valid=repair.valid, symmetric=True)
    for name, repair in REPAIRS.items()
}


DEFAULTS = ("smooth", "shrink", "mle", "inv_p")  # the first that suits is taken
SMOOTHED, SHRUNK, MOST_LIKELY, NEAREST = DEFAULTS
UNBIASED = next(name for name, method in METHODS.items() if method.unbiased)


def default_method(tally: Collected) -> str:
    """Name of the default estimator, the one with the least error known; docs/explanation/choosing-an-estimator.md."""
    return next(name for name in DEFAULTS if METHODS[name].suits(tally))


# Fitting


class Fitted(NamedTuple):
    """Estimated shares of shape (groups, k) with their evidence; see `warner.Estimate`."""

    shares: Array
    log_likelihood: Array
    certificate: Certificate | None


def fitted(tally: Collected, method: str, custom: Method | None = None) -> Fitted:
    """Estimate the shares of groups with reports, NaN for others; collections without information are left out."""
    estimator = custom or METHODS[method]
    refuse_inapplicable(method, estimator, tally)
    informative = np.stack([part.answered & (part.design.epsilon > 0) for part in tally.parts])
    if informative.all():
        everything = [(part.design, part.histograms(None)) for part in tally.parts]
        return _with_evidence(estimator.solve(everything), everything, valid=estimator.valid)
    return _fitted_by_pattern(tally, informative, estimator)


def _fitted_by_pattern(tally: Collected, informative: Mask, estimator: Method) -> Fitted:
    """Estimate groups together for which the same collections carry information."""
    answered = np.asarray(informative.any(axis=0))
    size = len(answered)
    shares, log_likelihood = np.full((size, tally.k), np.nan), np.full(size, np.nan)
    proof = Certificate(np.full(size, np.nan), np.full(size, np.nan), np.zeros(size, dtype=bool))
    proven = bool(answered.all())
    for pattern in np.unique(informative[:, answered], axis=1).T:
        groups = np.flatnonzero((informative == pattern[:, np.newaxis]).all(axis=0))
        collections = list(zip(tally.parts, pattern, strict=True))
        parts = [(part.design, part.histograms(groups)) for part, informs in collections if informs]
        fit = _with_evidence(estimator.solve(parts), parts, valid=estimator.valid)
        shares[groups], log_likelihood[groups] = fit.shares, fit.log_likelihood
        for part in (part for part, informs in collections if not informs and part.design.law.exclusive):
            log_likelihood[groups] += _uninformative_log_likelihood(part, groups, fit.shares)
        if fit.certificate is None:
            proven = False
            continue
        for name in CERTIFICATE_FIELDS:
            getattr(proof, name)[groups] = getattr(fit.certificate, name)
    return Fitted(shares, log_likelihood, proof if proven else None)


def _uninformative_log_likelihood(part: Tally, groups: Integers, shares: Array) -> Array:
    """Log-likelihood of reports without information on the shares, of each group."""
    counts, n = (histograms := part.histograms(groups)).counts, histograms.n
    return np.where(n > 0, n * log_likelihood_per_report(shares, counts, n, part.design), 0.0)


def _with_evidence(solution: Solution, parts: Parts, *, valid: bool) -> Fitted:
    """Add log-likelihood and certificate: those of the iteration, or by one forward and one adjoint product."""
    shares, fits, by_level = solution
    if fits:
        proof = Certificate(*(np.array([getattr(fit, name) for fit in fits]) for name in CERTIFICATE_FIELDS))
        return Fitted(shares, np.array([fit.log_likelihood for fit in fits]), proof)
    if not all(design.law.exhaustive and histograms.has_likelihood(design.law) for design, histograms in parts):
        return Fitted(shares, np.full(len(shares), np.nan), None)
    if not all(design.law.exclusive for design, _ in parts):
        return Fitted(shares, *_evidence_of_reports(shares, parts, valid=valid))
    log_likelihood, certificate = evidence(shares, parts, valid=valid, by_level=by_level)
    if not valid:  # shares that do not sum to one have no likelihood
        log_likelihood = np.where(np.abs(shares.sum(axis=-1) - 1) <= SUM_ROUNDING, log_likelihood, np.nan)
    return Fitted(shares, log_likelihood, certificate)


def _evidence_of_reports(shares: Array, parts: Parts, *, valid: bool) -> Evidence:
    """Compute log-likelihood and certificate in one pass through the reports of each group."""
    fits, growth = np.full(len(shares), np.nan), np.full(len(shares), np.nan)
    n = np.sum([histograms.n for _, histograms in parts], axis=0)
    for group, row in enumerate(shares):
        if row.min() >= 0:
            point = Blocks(Whole([(design, histograms.row(group)) for design, histograms in parts])).evaluated(row)
            fits[group], growth[group] = point.n * point.value, point.growth.max()
    unknown = np.zeros(len(shares), dtype=bool)
    return Evidence(fits, certified(growth, n, unknown) if valid else None)


def estimates(
    counts: ArrayLike, design: Design, methods: Sequence[str], *, n: ArrayLike | None = None
) -> dict[str, Array]:
    """Estimate by several methods at once: the counts are checked once, and their distinct values found once.

    Names are those of `METHODS`; counts and `n` are as for `inv`.

    >>> from warner import RandomizedResponse
    >>> estimates([15, 85], RandomizedResponse(["yes", "no"], truth="3/4"), ["inv", "mle"])
    {'inv': array([-0.2,  1.2]), 'mle': array([0., 1.])}
    """
    histograms = checked(counts, design, n)
    flat = histograms.rows()
    shape = (*histograms.n.shape, design.k)
    return {name: METHODS[name].solve([(design, flat)]).shares.reshape(shape) for name in methods}


# Checks before anything is computed


def refuse_inapplicable(name: str, method: Method, tally: Collected) -> None:
    if not method.applies(to_likelihood=True, to_complete=False):
        for part in tally.parts:
            refuse_incomplete(name, part.design)
    if not method.applies(to_likelihood=all(part.has_likelihood for part in tally.parts)):
        raise TypeError(
            f"method must not be {name!r} here: a report is counted for several answers, and its likelihood needs the "
            "reports themselves, of which the tally holds the counts alone; use inv_p, or count them with "
            "keep=True (a saved tally does not hold them)"
        )
    if method.one_collection and len(tally.parts) > 1:
        raise TypeError(f"method must not be {name!r} here: it is for one collection at a time; use mle or inv_p")
    if not method.applies(
        to_likelihood=True, to_symmetric=len(tally.parts) == 1 and full_symmetry(tally.parts[0].design.law) is not None
    ):
        raise TypeError(
            f"method must not be {name!r} here: it is for one collection under a design that gives every answer a "
            "count of its own, with the same p and q for all answers; use mle or inv_p"
        )


def refuse_silent(tally: Collected) -> None:
    """Raise an error for a tally without reports or without information, or with more answers than fit into memory."""
    groups = len(tally.answered)
    several = f"{groups:,} groups of " if tally.by else ""
    remedy = "estimate some groups at a time" if tally.by else "use a larger machine, or a design with fewer answers"
    refuse_beyond_memory(groups * tally.k, ESTIMATE_BYTES, f"estimates of {several}{tally.k:,} answers", remedy)
    if all(part.design.epsilon > 0 for part in tally.parts) and tally.answered.any():
        return
    informative = [part.answered for part in tally.parts if part.design.epsilon > 0]
    uninformed = tally.answered & ~np.any(informative, axis=0) if informative else tally.answered
    if informative and uninformed.any() and not uninformed.all() and tally.by:
        name = tally.group_names()[int(uninformed.argmax())]
        raise ValueError(
            f"every group must have reports of a design with an epsilon above 0, but {name} has none; leave it out"
        )
    if not uninformed.any() and tally.answered.any():
        return
    if tally.answered.any():
        raise ValueError(
            "at least one design that has reports must have an epsilon above 0: with p = q, rows that do not differ, "
            "reports carry no information on the answers"
        )
    left_out = f" ({int(np.sum(tally.missing)):,} were missing, {int(np.sum(tally.unknown)):,} unknown)"
    raise ValueError(f"the tally must hold at least one report, but there is none{left_out}")


# Custom


MethodAsked: TypeAlias = "str | Callable[..., Any] | None"

AUTO = "auto"
METHOD_NAME = re.compile(r"[\w.+-]+")  # it may become the name of a folder
CUSTOM_SENTENCE = "a custom estimator"


@dataclass(frozen=True, eq=False)
class CustomEstimator:
    """Custom estimator with the name that tables use."""

    name: str
    estimator: Callable[..., Any]

    @property
    def digest(self) -> str:
        """Hash of the source of its module, which identifies cached results."""
        try:
            source = inspect.getsource(inspect.getmodule(self.estimator) or self.estimator)
        except (OSError, TypeError):  # typed in by hand, or not written in Python
            return "unknown"
        return blake2b(source.encode(), digest_size=4).hexdigest()

    def shares(self, counts: Counts, design: Design, n: float) -> Array:
        """Estimate surveys of n reports one by one, and check the shares."""
        return np.array([self.of_one(row, design, n) for row in counts])

    def of_one(self, counts: Counts, design: Design, n: float) -> Array:
        setting = f"{n:,} reports under {design.summary()}"
        try:
            keywords = {"n": n} if "n" in inspect.signature(self.estimator).parameters else {}
            row = np.asarray(self.estimator(counts, design, **keywords))
        except Exception as error:
            message = f"the estimator {self.name} failed on {setting}: {type(error).__name__}: {error}"
            raise ValueError(message) from error
        if row.shape != (design.k,) or row.dtype.kind not in "fiu":
            raise ValueError(
                f"the estimator {self.name} must give one share for each of the {design.k} answers, but it gave an "
                f"array of {row.dtype} of shape {row.shape} on {setting}"
            )
        if not np.isfinite(row).all():
            raise ValueError(f"the estimator {self.name} must give finite shares, but one is not, on {setting}")
        return row.astype(np.float64)


def method_of(custom: CustomEstimator) -> Method:
    """Return the method of a custom estimator: for one collection, a group at a time."""

    def solve(parts: Parts) -> Solution:
        if len(parts) > 1:
            raise TypeError(
                f"method must not be the function {custom.name} for a pool: it takes the counts of one design; "
                "estimate each part of the pool, or use mle"
            )
        design, histograms = parts[0]
        counts, numbers = histograms.in_reports()
        rows = zip(counts, numbers.tolist(), strict=True)
        return Solution(np.array([custom.of_one(row.copy(), design, n) for row, n in rows]))

    return Method(solve, CUSTOM_SENTENCE, valid=False, part_sentence=CUSTOM_SENTENCE)


CUSTOM_METHOD = method_of(CustomEstimator("own", lambda counts, design: counts))


def described(name: str) -> Method:
    """Return the method of this name; for other names, that of custom estimators."""
    return METHODS.get(name, CUSTOM_METHOD)


def method_asked(method: MethodAsked, tally: Collected) -> tuple[str, Method | None]:
    """Return the name of the requested method, and the `Method` of a custom function."""
    if method is None:
        return default_method(tally), None
    if isinstance(method, str) or not callable(method):
        check_choice("method", method, (*METHODS, AUTO), ", or a function of counts and design")
        return str(method), None
    function = getattr(method, "func", method)  # of functools.partial
    name = getattr(function, "__name__", type(function).__name__)
    if name in METHODS or name == AUTO:
        raise ValueError(
            f'method must not be a function called {name}: for the estimator of the library give method="{name}", and '
            "give a function of your own another name"
        )
    custom = CustomEstimator(name if METHOD_NAME.fullmatch(name) else "own", method)
    return custom.name, method_of(custom)
