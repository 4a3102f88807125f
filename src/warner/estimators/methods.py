"""METHODS, the registry of estimators: how each is computed from checked counts, and what it is in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from warner.estimators import closed_forms
from warner.estimators.ibu import updated
from warner.estimators.likelihood import Fit, Parts, closed_form
from warner.estimators.newton import most_likely
from warner.estimators.postprocessing import REPAIRS
from warner.estimators.projections import clipped, least_squares, projected, variance_of_one_report, within_one
from warner.progress import steps
from warner.reports.pools import holds_every_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warner.arrays import Array
    from warner.designs.contract import Design
    from warner.reports.counts import Histograms
    from warner.reports.pools import Collected

# Answers from which on some may be common over a rest, and shrinkage of the whole is closer than its parts.
ANSWERS_FOR_SHRINKAGE = 20
BIAS = "the bias of this estimator"
GROUPS_SMOOTHED = 100  # beyond, smoothing each group would be felt
WHY_NEAREST = {  # why inv_p is the default, by whether there is a likelihood
    False: "a report is counted for several answers, so that counts alone have no likelihood",
    True: "a report is counted for several answers, and mle can be much further off where one answer dominates",
}


def undone(histograms: Histograms, design: Design) -> Array:
    """Undo the randomization: by the unbiased line, or by least squares."""
    if design.symmetry is not None:
        return closed_forms.shares(
            histograms, design.symmetry, closed_forms.unbiased, cut=False, exclusive=design.exclusive
        )
    return least_squares(histograms, design)


# What an estimate is made of


class Solution(NamedTuple):
    """Estimated shares of shape (groups, k).

    Of an iteration, also where it ended for each group; of one histogram in closed form, also the shares of its
    distinct counts.
    """

    shares: Array
    fits: Sequence[Fit] = ()
    by_level: Array | None = None


Solver: TypeAlias = "Callable[[Parts], Solution]"


class Method(NamedTuple):
    """An estimator, with all that anybody needs to know of it.

    Attributes
    ----------
    solve : function of the collections
        How it is computed, from checked counts.
    valid : bool
        Whether its shares are always a distribution.
    likelihood : bool
        Whether it needs the likelihood of the reports.
    sentence : str
        What it is, in words.
    symmetric : bool
        Whether it is only for one collection whose answers all have the same p and q.
    one_collection : bool
        Whether it is only for one collection, under any design.
    unbiased : bool
        Whether the expected shares are the true ones.
    maximises_likelihood : bool
        Whether its shares are to be the most likely ones, so that a certificate with a gap is worth a warning.
    fake_bound : function of the tally
        How many times the leverage of the design bounds what a fake report does to a share; None if no bound is known.
    caution : function of shares and collections
        What is to be known about these shares, of these counts.
    suits : function of the tally
        Whether it is the default there, unless one before it in ``DEFAULTS`` is.
    reason : function of the tally
        Why it is the default, where that is not plain.
    outside : str
        Why a share may lie outside its own interval.
    ordered : bool
        Whether it uses the order of the answers, so that whoever asks for it says that they have one.
    weighs_noise : bool
        Whether its shares depend on the effective number of reports, because noise is weighed against what they tell.
    part_sentence : str
        What it is where the list need not hold every answer, so that shares sum to at most one; nothing if it is only
        for lists that do.
    """

    solve: Solver
    valid: bool
    likelihood: bool
    sentence: str
    symmetric: bool = False
    one_collection: bool = False
    unbiased: bool = False
    maximises_likelihood: bool = False
    fake_bound: Callable[[Collected], int | None] = lambda tally: None
    caution: Callable[[Array, Parts], str] = lambda shares, parts: ""
    suits: Callable[[Collected], bool] = lambda tally: False
    reason: Callable[[Collected], str] = lambda tally: ""
    outside: str = BIAS
    ordered: bool = False
    weighs_noise: bool = False
    part_sentence: str = ""

    @property
    def takes_pools(self) -> bool:
        """Whether it estimates from several collections together."""
        return not (self.symmetric or self.one_collection)

    def applies(self, *, to_likelihood: bool, to_symmetric: bool = True, to_complete: bool = True) -> bool:
        """Tell whether it can be had, where the likelihood is known or not, of one symmetric design or of others.

        `to_complete` says whether the list holds every answer that people can have.
        """
        return (
            (to_likelihood or not self.likelihood)
            and (to_symmetric or not self.symmetric)
            and (to_complete or bool(self.part_sentence))
        )

    def sentence_for(self, tally: Collected) -> str:
        """Say what it is, for these reports."""
        return self.sentence if holds_every_answer(tally) else self.part_sentence


def _repaired(line: closed_forms.Line, repair: Callable[[Array], Array]) -> Solver:
    """Make the solver of an estimator that repairs what inverting gives: by its line, where there is one.

    Where the list need not hold every answer, shares may sum to less than one: then only negative ones are repaired.
    """

    def solve(parts: Parts) -> Solution:
        distribution = as_distribution(parts)
        if all(design.complete for design, _ in parts):
            return distribution
        return Solution(within_one(_inverted(parts).shares, distribution.shares))

    def as_distribution(parts: Parts) -> Solution:
        design, histograms = parts[0]
        if len(parts) == 1 and design.symmetry is not None:
            return _by_line(histograms, design, line)
        return Solution(repair(_combined(parts)))

    return solve


def _by_line(histograms: Histograms, design: Design, line: closed_forms.Line, *, cut: bool = True) -> Solution:
    """Evaluate a line: of one histogram at its distinct counts, which the evidence can use as well."""
    assert design.symmetry is not None
    if not (histograms.whole and histograms.single):
        return Solution(closed_forms.shares(histograms, design.symmetry, line, cut=cut, exclusive=design.exclusive))
    by_level = closed_forms.level_shares(histograms, design.symmetry, line, cut=cut, exclusive=design.exclusive)
    return Solution(histograms.distinct.for_each_column(by_level)[np.newaxis], by_level=by_level)


def _inverted(parts: Parts) -> Solution:
    design, histograms = parts[0]
    if len(parts) == 1 and design.symmetry is not None:
        return _by_line(histograms, design, closed_forms.unbiased, cut=False)
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
        return _by_line(histograms, design, closed_forms.most_likely)
    if all(part.exclusive for part, _ in parts):
        return _group_by_group(parts, most_likely)
    starts = iter(_nearest(parts).shares)
    return _group_by_group(parts, lambda row: most_likely(row, start=next(starts)))


_nearest = _repaired(closed_forms.nearest, projected)


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
    return all(part.design.symmetry is not None for part in tally.parts)


def _counts_once(tally: Collected) -> bool:
    return _has_symmetry(tally) and all(part.design.exclusive for part in tally.parts)


def has_turned(tally: Collected) -> bool:
    """Tell whether the truth is the less likely report, p < q, under some design of more than two answers."""
    symmetries = [part.design.symmetry for part in tally.parts]
    return tally.k > 2 and any(symmetry.p < symmetry.q for symmetry in symmetries if symmetry is not None)


def _fakes_in_nearest(tally: Collected) -> int | None:
    # Where a report supports several answers, all shares are lowered by one constant, which may move the other way.
    return (1 if _counts_once(tally) else 2) if _has_symmetry(tally) else None


def _fakes_in_maximum(tally: Collected) -> int | None:
    if not _has_symmetry(tally):
        # Two answers and two reports: the most likely share is the unbiased one, cut to what shares can be.
        return 1 if len(tally.parts) == 1 and tally.k == len(tally.parts[0].design.columns) == 2 else None
    return 1 if _counts_once(tally) and not has_turned(tally) else None


# Which are the defaults


def many_answers(tally: Collected) -> bool:
    """Tell whether `shrink` pays: one symmetric design, and answers enough to learn from what they are like."""
    designs = [part.design for part in tally.parts]
    symmetric = len(designs) == 1 and designs[0].symmetry is not None
    return symmetric and holds_every_answer(tally) and tally.k >= ANSWERS_FOR_SHRINKAGE


def _has_order(tally: Collected) -> bool:
    """Tell whether `smooth` pays: one design whose answers are in an order, and not very many groups."""
    designs = [part.design for part in tally.parts]
    ordered = len(designs) == 1 and designs[0].ordered
    return ordered and holds_every_answer(tally) and len(tally.answered) <= GROUPS_SMOOTHED


def _slow(tally: Collected) -> str:
    """Say why it is not `shrink`, where answers are many."""
    return "for groups, shrink takes about 250 times as long as mle" if many_answers(tally) else ""


METHODS: dict[str, Method] = {
    "mle": Method(
        _maximum,
        valid=True,
        likelihood=True,
        sentence="maximum likelihood: of all distributions, the one that makes these reports the most likely",
        maximises_likelihood=True,
        fake_bound=_fakes_in_maximum,
        suits=lambda tally: holds_every_answer(tally) and all(part.design.exclusive for part in tally.parts),
        reason=_slow,
    ),
    "inv": Method(
        _inverted,
        valid=False,
        likelihood=False,
        sentence="inversion of the randomization: unbiased, but shares can be below zero",
        unbiased=True,
        fake_bound=lambda tally: 1,
        outside="a negative share, which no interval holds",
        part_sentence="inversion of the randomization: unbiased, but shares can be below zero",
    ),
    "inv_n": Method(
        _repaired(closed_forms.rescaled, clipped),
        valid=True,
        likelihood=False,
        sentence="inversion, with negative shares set to zero and the rest scaled to sum to one",
        fake_bound=lambda tally: 1 if _counts_once(tally) else None,
        part_sentence="inversion, with negative shares set to zero; the rest is scaled if it sums to more than one",
    ),
    "inv_p": Method(
        _nearest,
        valid=True,
        likelihood=False,
        sentence="inversion, moved to the nearest distribution",
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
        valid=True,
        likelihood=True,
        sentence="iterative Bayesian update, which climbs to the maximum of the likelihood step by step",
        maximises_likelihood=True,
    ),
    "shrink": Method(
        _shrunk,
        valid=True,
        likelihood=False,
        sentence="shrinkage: the shares to be expected, averaged over many shapes that they may have",
        symmetric=True,
        caution=_outside_narrow_limits,
        suits=lambda tally: many_answers(tally) and not tally.by,
        reason=lambda tally: (
            f"the closest on the whole for a symmetric design with {ANSWERS_FOR_SHRINKAGE} answers or more"
        ),
        outside="shrink draws every share towards what is usual among the others",
        weighs_noise=True,
    ),
    "smooth": Method(
        _smoothed,
        valid=True,
        likelihood=False,
        sentence="smoothing: curves through ordered answers, averaged over how smooth they may be",
        one_collection=True,
        suits=_has_order,
        reason=lambda tally: "the closest on the whole that we know for numbers and other ordered answers",
        outside="smooth draws neighbouring shares together",
        ordered=True,
        weighs_noise=True,
    ),
} | {
    name: Method(
        _by_counts(repair.estimator), valid=repair.valid, likelihood=False, sentence=repair.sentence, symmetric=True
    )
    for name, repair in REPAIRS.items()
}


DEFAULTS = ("smooth", "shrink", "mle", "inv_p")  # the first that suits is taken
SMOOTHED, SHRUNK, MOST_LIKELY, NEAREST = DEFAULTS
UNBIASED = next(name for name, method in METHODS.items() if method.unbiased)


def default_method(tally: Collected) -> str:
    """Name the estimator to take unless another is asked for: the closest that we know.

    That is `smooth` for a design whose answers are in an order, such as a square wave, up to 100 groups of one
    collection. Otherwise it is `shrink` for one symmetric design with 20 answers or more, `mle` elsewhere, and
    `inv_p` where reports support several answers: there `mle` needs the reports, and is up to seven times worse in
    squared error where one answer dominates. Groups keep `mle` or `inv_p`: `shrink` takes about 250 times as long
    as `mle`, which is felt where there are thousands of them. A list that need not hold every answer has `inv_p`.
    """
    return next(name for name in DEFAULTS if METHODS[name].suits(tally))
