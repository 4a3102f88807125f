"""Fitting: a tally to shares by one of `METHODS`, with log-likelihood and certificate; and what cannot be fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.estimators.likelihood import CERTIFICATE_FIELDS, Certificate, Evidence, Whole, certified, evidence
from warner.estimators.methods import METHODS
from warner.estimators.projected_gradients import Blocks
from warner.estimators.projections import SUM_ROUNDING, refuse_incomplete
from warner.memory import ESTIMATE_BYTES, refuse_beyond_memory
from warner.metrics import log_likelihood_per_report
from warner.reports.counts import checked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from warner.arrays import Array, Integers, Mask
    from warner.designs.contract import Design
    from warner.estimators.likelihood import Parts
    from warner.estimators.methods import Method, Solution
    from warner.reports.pools import Collected
    from warner.reports.tallies import Tally


class Fitted(NamedTuple):
    """Estimated shares of shape (groups, k) with their evidence; see `warner.Estimate`."""

    shares: Array
    log_likelihood: Array
    certificate: Certificate | None


def fitted(tally: Collected, method: str, own: Method | None = None) -> Fitted:
    """Estimate the shares of every group that has reports; those of the others are NaN.

    Collections that say nothing about a group, having no reports of it or an epsilon of 0, are left out for it.
    """
    estimator = own or METHODS[method]
    refuse_inapplicable(method, estimator, tally)
    telling = np.stack([part.answered & (part.design.epsilon > 0) for part in tally.parts])
    if telling.all():
        everything = [(part.design, part.histograms(None)) for part in tally.parts]
        return _with_evidence(estimator.solve(everything), everything, valid=estimator.valid)
    return _fitted_by_pattern(tally, telling, estimator)


def _fitted_by_pattern(tally: Collected, telling: Mask, estimator: Method) -> Fitted:
    """Estimate together the groups for which the same collections tell something."""
    answered = np.asarray(telling.any(axis=0))
    size = len(answered)
    shares, log_likelihood = np.full((size, tally.k), np.nan), np.full(size, np.nan)
    proof = Certificate(np.full(size, np.nan), np.full(size, np.nan), np.zeros(size, dtype=bool))
    proven = bool(answered.all())
    for pattern in np.unique(telling[:, answered], axis=1).T:
        groups = np.flatnonzero((telling == pattern[:, np.newaxis]).all(axis=0))
        collections = list(zip(tally.parts, pattern, strict=True))
        parts = [(part.design, part.histograms(groups)) for part, tells in collections if tells]
        fit = _with_evidence(estimator.solve(parts), parts, valid=estimator.valid)
        shares[groups], log_likelihood[groups] = fit.shares, fit.log_likelihood
        for part in (part for part, tells in collections if not tells and part.design.exclusive):
            log_likelihood[groups] += _log_likelihood_of_mute(part, groups, fit.shares)
        if fit.certificate is None:
            proven = False
            continue
        for name in CERTIFICATE_FIELDS:
            getattr(proof, name)[groups] = getattr(fit.certificate, name)
    return Fitted(shares, log_likelihood, proof if proven else None)


def _log_likelihood_of_mute(part: Tally, groups: Integers, shares: Array) -> Array:
    """Give the log-likelihood of reports that say nothing about the shares: it is the same for all of them."""
    counts, n = (histograms := part.histograms(groups)).counts, histograms.n
    return np.where(n > 0, n * log_likelihood_per_report(shares, counts, n, part.design), 0.0)


def _with_evidence(solution: Solution, parts: Parts, *, valid: bool) -> Fitted:
    """Add log-likelihood and certificate, as the iteration found them, or by one forward and one adjoint product."""
    shares, fits, by_level = solution
    if fits:
        proof = Certificate(*(np.array([getattr(fit, name) for fit in fits]) for name in CERTIFICATE_FIELDS))
        return Fitted(shares, np.array([fit.log_likelihood for fit in fits]), proof)
    if not all(design.complete and histograms.has_likelihood(design) for design, histograms in parts):
        return Fitted(shares, np.full(len(shares), np.nan), None)
    if not all(design.exclusive for design, _ in parts):
        return Fitted(shares, *_evidence_of_reports(shares, parts, valid=valid))
    log_likelihood, certificate = evidence(shares, parts, valid=valid, by_level=by_level)
    if not valid:  # what does not sum to one has no likelihood
        log_likelihood = np.where(np.abs(shares.sum(axis=-1) - 1) <= SUM_ROUNDING, log_likelihood, np.nan)
    return Fitted(shares, log_likelihood, certificate)


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


# Refusals: said before anything is computed


def refuse_inapplicable(name: str, method: Method, tally: Collected) -> None:
    """Refuse an estimator that needs more than the tally holds, or another design."""
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
        to_likelihood=True, to_symmetric=len(tally.parts) == 1 and tally.parts[0].design.symmetry is not None
    ):
        raise TypeError(
            f"method must not be {name!r} here: it is for one collection under a design that gives every answer a "
            "count of its own, with the same p and q for all answers; use mle or inv_p"
        )


def refuse_silent(tally: Collected) -> None:
    """Refuse a tally without reports, or with those of designs that say nothing, or of more answers than fit here."""
    groups = len(tally.answered)
    several = f"{groups:,} groups of " if tally.by else ""
    remedy = "estimate some groups at a time" if tally.by else "take a larger machine, or a design with fewer answers"
    refuse_beyond_memory(groups * tally.k, ESTIMATE_BYTES, f"estimates of {several}{tally.k:,} answers", remedy)
    if all(part.design.epsilon > 0 for part in tally.parts) and tally.answered.any():
        return
    telling = [part.answered for part in tally.parts if part.design.epsilon > 0]
    mute = tally.answered & ~np.any(telling, axis=0) if telling else tally.answered
    if telling and mute.any() and not mute.all() and tally.by:
        name = tally.group_names()[int(mute.argmax())]
        raise ValueError(
            f"every group must have reports of a design with an epsilon above 0, but {name} has none; leave it out"
        )
    if not mute.any() and tally.answered.any():
        return
    if tally.answered.any():
        raise ValueError(
            "at least one design that has reports must have an epsilon above 0: with p = q, rows that do not differ, "
            "reports carry no information on the answers"
        )
    left_out = f" ({int(np.sum(tally.missing)):,} were missing, {int(np.sum(tally.unknown)):,} unknown)"
    raise ValueError(f"the tally must hold at least one report, but there is none{left_out}")
