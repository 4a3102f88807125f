"""METHODS, the registry of estimators: how each is computed from checked counts, and what it is in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from warner.estimators import lines
from warner.estimators.fitting import refuse_inapplicable
from warner.estimators.ibu import updated
from warner.estimators.likelihood import (
    Certificate,
    Evidence,
    Fit,
    Parts,
    Whole,
    certified,
    closed_form,
    evidence,
)
from warner.estimators.newton import most_likely
from warner.estimators.priors import MANY
from warner.estimators.projections import clipped, least_squares, projected, variance_of_one_report
from warner.estimators.repairs import REPAIRS
from warner.estimators.shrinkage import level_shares, refuse_unsymmetric, widened
from warner.estimators.shrinkage import shares as shrunk
from warner.estimators.spectral import Blocks
from warner.metrics import log_likelihood_per_report
from warner.reports.counts import Histograms, checked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from warner.arrays import Array
    from warner.designs.contract import Design
    from warner.reports.pools import Collected

SUM_ROUNDING = 1e-9  # of a sum of shares
BIAS = "the bias of this estimator"
NEAREST = {  # why inv_p is the default, by whether there is a likelihood
    False: "reports support several answers, so that counts alone have no likelihood",
    True: "reports support several answers, and mle can be much further off where one answer dominates",
}


def undone(histograms: Histograms, design: Design) -> Array:
    """Undo the randomization: by the unbiased line, or by least squares."""
    if design.symmetry is not None:
        return lines.shares(histograms, design.symmetry, lines.unbiased, cut=False, exclusive=design.exclusive)
    return least_squares(histograms, design)


def estimates(
    counts: ArrayLike, design: Design, methods: Sequence[str], *, n: ArrayLike | None = None
) -> dict[str, Array]:
    """Estimate by several methods at once: the counts are checked once, and their distinct values found once.

    Parameters
    ----------
    counts : array_like of shape (..., k)
        As for `inv`.
    design : Design
        What every respondent's answer went through.
    methods : sequence of str
        Names of `METHODS`.
    n : array_like of shape (...), optional
        As for `inv`.

    Examples
    --------
    >>> from warner import RandomizedResponse
    >>> estimates([15, 85], RandomizedResponse(["yes", "no"], truth="3/4"), ["inv", "mle"])
    {'inv': array([-0.2,  1.2]), 'mle': array([0., 1.])}
    """
    histograms = checked(counts, design, n)
    flat = histograms.rows()
    shape = (*histograms.n.shape, design.k)
    return {name: METHODS[name].solve([(design, flat)]).shares.reshape(shape) for name in methods}


# What an estimate is made of


class Solution(NamedTuple):
    """Estimated shares of shape (groups, k).

    Of an iteration, also where it ended for each group; of one histogram in closed form, also the shares of its
    distinct counts.
    """

    shares: Array
    fits: Sequence[Fit] = ()
    by_level: Array | None = None


class Fitted(NamedTuple):
    """Estimated shares of shape (groups, k) with their evidence; see `warner.Estimate`."""

    shares: Array
    log_likelihood: Array
    certificate: Certificate | None


Solver: TypeAlias = "Callable[[Parts], Solution]"


class Method(NamedTuple):
    """An estimator: how it is computed from checked counts, whether it gives distributions, and what it is in words.

    Some need the likelihood; some, the `symmetric` ones, one collection whose answers all have the same p and q. A
    `caution` says what is to be known about these shares, of these counts. `suits` tells where it is the default,
    unless one before it in ``DEFAULTS`` is, and `reason` says why, where that is not plain. `outside` says why a share
    may lie outside its own interval.
    """

    solve: Solver
    valid: bool
    likelihood: bool
    sentence: str
    symmetric: bool = False
    caution: Callable[[Array, Parts], str] = lambda shares, parts: ""
    suits: Callable[[Collected], bool] = lambda tally: False
    reason: Callable[[Collected], str] = lambda tally: ""
    outside: str = BIAS

    def applies(self, *, to_likelihood: bool, to_symmetric: bool = True) -> bool:
        """Tell whether it can be had, where the likelihood is known or not, of one symmetric design or of others."""
        return (to_likelihood or not self.likelihood) and (to_symmetric or not self.symmetric)


def _repaired(line: lines.Line, repair: Callable[[Array], Array]) -> Solver:
    """Make the solver of an estimator that repairs what inverting gives: by its line, where there is one."""

    def solve(parts: Parts) -> Solution:
        design, histograms = parts[0]
        if len(parts) == 1 and design.symmetry is not None:
            return _by_line(histograms, design, line)
        return Solution(repair(_combined(parts)))

    return solve


def _by_line(histograms: Histograms, design: Design, line: lines.Line, *, cut: bool = True) -> Solution:
    """Evaluate a line: of one histogram at its distinct counts, which the evidence can use as well."""
    assert design.symmetry is not None
    if not (histograms.whole and histograms.single):
        return Solution(lines.shares(histograms, design.symmetry, line, cut=cut, exclusive=design.exclusive))
    by_level = lines.level_shares(histograms, design.symmetry, line, cut=cut, exclusive=design.exclusive)
    return Solution(histograms.distinct.for_each_column(by_level)[np.newaxis], by_level=by_level)


def _inverted(parts: Parts) -> Solution:
    design, histograms = parts[0]
    if len(parts) == 1 and design.symmetry is not None:
        return _by_line(histograms, design, lines.unbiased, cut=False)
    return Solution(_combined(parts))


def _combined(parts: Parts) -> Array:
    """Average what the collections say, each with the weight of its precision if all answers were equally common.

    Those that do not tell all shares are left out, as long as some do.
    """
    telling = [part for part in parts if part[0].symmetry is not None or part[0].identified().all()]
    parts = telling or parts
    if len(parts) == 1:
        return undone(parts[0][1], parts[0][0])
    weights = [counts.n[:, np.newaxis] / variance_of_one_report(design) for design, counts in parts]
    shares = [undone(counts, design) for design, counts in parts]
    return np.asarray(sum(s * w for s, w in zip(shares, weights, strict=True)) / sum(weights))


def _by_counts(estimator: Callable[..., Array]) -> Solver:
    """Make the solver of an estimator that takes numbers of reports, of one collection under a symmetric design."""

    def solve(parts: Parts) -> Solution:
        design, histograms = parts[0]
        counts, n = histograms.in_reports()
        return Solution(estimator(counts, design, n=None if design.exclusive else n))

    return solve


def _maximum(parts: Parts) -> Solution:
    design, histograms = parts[0]
    if len(parts) == 1 and closed_form(design) is not None:
        return _by_line(histograms, design, lines.most_likely)
    if all(part.exclusive for part, _ in parts):
        return _group_by_group(parts, most_likely)
    starts = iter(_nearest(parts).shares)
    return _group_by_group(parts, lambda row: most_likely(row, start=next(starts)))


_nearest = _repaired(lines.nearest, projected)


def _shrunk(parts: Parts) -> Solution:
    design, histograms = parts[0]
    refuse_unsymmetric(design)
    if not (histograms.whole and histograms.single):
        return Solution(shrunk(histograms, design))
    by_level = level_shares(histograms, design)
    return Solution(histograms.distinct.for_each_column(by_level)[np.newaxis], by_level=by_level)


def _group_by_group(parts: Parts, solver: Callable[[Parts], Fit]) -> Solution:
    groups = range(len(parts[0][1].n))
    fits = [solver([(design, histograms.row(group)) for design, histograms in parts]) for group in groups]
    return Solution(np.array([fit.shares for fit in fits]), fits)


def _slow(tally: Collected) -> str:
    """Say why it is not `shrink`, where answers are many."""
    return "for groups, shrink takes about 250 times as long as mle" if many_answers(tally) else ""


METHODS: dict[str, Method] = {
    "mle": Method(
        _maximum,
        valid=True,
        likelihood=True,
        sentence="maximum likelihood: of all distributions, the one that makes these reports the most likely",
        suits=lambda tally: all(part.design.exclusive for part in tally.parts),
        reason=_slow,
    ),
    "inv": Method(
        _inverted,
        valid=False,
        likelihood=False,
        sentence="inversion of the randomization: unbiased, but shares can be below zero",
        outside="a negative share, which no interval holds",
    ),
    "inv_n": Method(
        _repaired(lines.rescaled, clipped),
        valid=True,
        likelihood=False,
        sentence="inversion, with negative shares set to zero and the rest scaled to sum to one",
    ),
    "inv_p": Method(
        _nearest,
        valid=True,
        likelihood=False,
        sentence="inversion, moved to the nearest distribution",
        suits=lambda tally: True,
        reason=lambda tally: (
            (f"{slow}, and " if (slow := _slow(tally)) else "")
            + NEAREST[all(part.has_likelihood for part in tally.parts)]
        ),
    ),
    "ibu": Method(
        lambda parts: _group_by_group(parts, updated),
        valid=True,
        likelihood=True,
        sentence="iterative Bayesian update, which climbs to the maximum of the likelihood step by step",
    ),
    "shrink": Method(
        _shrunk,
        valid=True,
        likelihood=False,
        sentence="shrinkage: the shares to be expected, averaged over many shapes that they may have",
        symmetric=True,
        caution=lambda shares, parts: widened(shares, parts[0][1], parts[0][0]),
        suits=lambda tally: many_answers(tally) and not tally.by,
        reason=lambda tally: f"the closest on the whole for a symmetric design with {MANY} answers or more",
        outside="shrink draws every share towards what is usual among the others",
    ),
} | {
    name: Method(
        _by_counts(repair.estimator), valid=repair.valid, likelihood=False, sentence=repair.sentence, symmetric=True
    )
    for name, repair in REPAIRS.items()
}


DEFAULTS = ("shrink", "mle", "inv_p")  # the first that suits is taken


def many_answers(tally: Collected) -> bool:
    """Tell whether `shrink` pays: one symmetric design, and answers enough to learn from what they are like."""
    designs = [part.design for part in tally.parts]
    return len(designs) == 1 and designs[0].symmetry is not None and designs[0].k >= MANY


def default_method(tally: Collected) -> str:
    """Name the estimator to take unless another is asked for: the closest that we know.

    That is `shrink` for one symmetric design with 20 answers or more, `mle` elsewhere, and `inv_p` where reports
    support several answers: there `mle` needs the reports, and is up to seven times worse in squared error where one
    answer dominates. Groups keep `mle` or `inv_p`: `shrink` takes about 250 times as long as `mle`, which is felt where
    there are thousands of them.
    """
    return next(name for name in DEFAULTS if METHODS[name].suits(tally))


def fitted(tally: Collected, method: str, own: Method | None = None) -> Fitted:
    """Estimate the shares of every group that has reports; those of the others are NaN.

    Collections that say nothing about a group, having no reports of it or an epsilon of 0, are left out for it.
    """
    estimator = own or METHODS[method]
    refuse_inapplicable(method, estimator, tally)
    telling = np.stack([part.answered & (part.design.epsilon > 0) for part in tally.parts])
    answered = np.asarray(telling.any(axis=0))
    groups = len(answered)
    if telling.all():
        everything = [(part.design, part.histograms(None)) for part in tally.parts]
        return _with_evidence(estimator.solve(everything), everything, valid=estimator.valid)
    shares, fits = np.full((groups, tally.k), np.nan), np.full(groups, np.nan)
    proofs = [np.full(groups, np.nan), np.full(groups, np.nan), np.zeros(groups, dtype=bool)]
    proven = answered.all()
    for pattern in np.unique(telling[:, answered], axis=1).T:
        chosen = np.flatnonzero((telling == pattern[:, np.newaxis]).all(axis=0))
        parts = [
            (part.design, part.histograms(chosen)) for part, tells in zip(tally.parts, pattern, strict=True) if tells
        ]
        solved = _with_evidence(estimator.solve(parts), parts, valid=estimator.valid)
        shares[chosen], fits[chosen] = solved.shares, solved.log_likelihood
        for part, tells in zip(tally.parts, pattern, strict=True):
            if not tells and part.design.exclusive:  # says nothing about the shares, but has a likelihood
                silent = part.histograms(chosen)
                fits[chosen] += np.where(
                    silent.n > 0,
                    silent.n * log_likelihood_per_report(shares[chosen], silent.counts, silent.n, part.design),
                    0.0,
                )
        if solved.certificate is None:
            proven = np.False_
            continue
        for proof, name in zip(proofs, ("excess", "gap", "unique"), strict=True):
            proof[chosen] = getattr(solved.certificate, name)
    return Fitted(shares, fits, Certificate(*proofs) if proven else None)


def _with_evidence(solution: Solution, parts: Parts, *, valid: bool) -> Fitted:
    """Add log-likelihood and certificate, as the iteration found them, or by one forward and one adjoint product."""
    shares, fits, by_level = solution
    if fits:
        proof = Certificate(*(np.array([getattr(fit, name) for fit in fits]) for name in ("excess", "gap", "unique")))
        return Fitted(shares, np.array([fit.log_likelihood for fit in fits]), proof)
    if not all(histograms.has_likelihood(design) for design, histograms in parts):
        return Fitted(shares, np.full(len(shares), np.nan), None)
    if not all(design.exclusive for design, _ in parts):
        return Fitted(shares, *_evidence_of_reports(shares, parts, valid=valid))
    fit, told = evidence(shares, parts, valid=valid, by_level=by_level)
    if not valid:  # what does not sum to one has no likelihood
        fit = np.where(np.abs(shares.sum(axis=-1) - 1) <= SUM_ROUNDING, fit, np.nan)
    return Fitted(shares, fit, told)


def _evidence_of_reports(shares: Array, parts: Parts, *, valid: bool) -> Evidence:
    """Give log-likelihood and certificate by going through the whole reports of each group once."""
    fits, growth = np.full(len(shares), np.nan), np.full(len(shares), np.nan)
    n = np.sum([histograms.n for _, histograms in parts], axis=0)
    for group, row in enumerate(shares):
        if row.min() >= 0:
            point = Blocks(Whole([(design, histograms.row(group)) for design, histograms in parts])).at(row)
            fits[group], growth[group] = point.n * point.value, point.growth.max()
    unknown = np.zeros(len(shares), dtype=bool)
    return Evidence(fits, certified(growth, n, unknown) if valid else None)
