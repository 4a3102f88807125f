"""A tally to shares with their evidence (`methods`), and tallies of which nothing can be estimated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import warner
from cases import KUK, SETS
from warner import RandomizedResponse, Tally, UnaryEncoding, inv, inv_n, inv_p, mle, pool, smooth
from warner.designs.facts import full_symmetry
from warner.estimators import METHODS, fitted, refuse_silent

if TYPE_CHECKING:
    from collections.abc import Callable

BARE: dict[str, Callable[..., Any]] = {"inv": inv, "inv_n": inv_n, "inv_p": inv_p, "mle": mle, "smooth": smooth}
YES = ["yes", "no"]
SUPPORT = Tally(SETS, [23, 15, 13, 6, 5], n=31)


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if not method.symmetric])
@pytest.mark.parametrize("design", [RandomizedResponse(["a", "b", "c"], odds=(3, 1)), KUK])
def test_fitted_gives_what_the_bare_functions_give(method: str, design: Any) -> None:
    if METHODS[method].symmetric and full_symmetry(design.law) is None:
        with pytest.raises(TypeError, match=f"{method} needs a symmetric design"):
            fitted(Tally(design, [40, 30, 30]), method)
        return
    rows = np.array([[40, 30, 30], [0, 0, 0], [5, 9, 1]])
    result = fitted(Tally(design, rows, by=("g",), groups=((1,), (2,), (3,))), method)
    assert np.isnan(result.shares[1]).all()
    assert np.isnan(result.log_likelihood[1])
    assert result.certificate is None  # not of all groups
    bare: Callable[..., Any] = BARE.get(method, lambda counts, design: warner.ibu(counts, design).shares)
    for place in (0, 2):
        assert_allclose(result.shares[place], bare(rows[place], design), atol=1e-12)
        if (result.shares[place] >= 0).all():
            fit = -rows[place].sum() * warner.metrics.negative_log_likelihood(result.shares[place], rows[place], design)
            assert_allclose(result.log_likelihood[place], fit, rtol=1e-12)
    proof = fitted(Tally(design, rows[0]), method).certificate
    if not METHODS[method].valid:
        assert proof is None
        return
    assert proof is not None
    told = warner.certificate(bare(rows[0], design), rows[0], design)
    for name in ("excess", "gap", "unique"):
        assert_allclose(getattr(proof, name), [getattr(told, name)], atol=1e-9)


def test_support_has_no_evidence() -> None:
    result = fitted(SUPPORT, "inv_p")
    assert_array_equal(result.shares, [inv_p([23, 15, 13, 6, 5], SETS, n=31)])
    assert np.isnan(result.log_likelihood).all()
    assert result.certificate is None


def test_shares_of_zero_have_the_likelihood_of_their_reports() -> None:
    # A bit is 1 with probability 3/4 for the true answer and 1/4 for the others, so that a report is 9 times as likely
    # from an answer whose bit is 1. Likelihoods are relative to such an answer.
    design = UnaryEncoding(["a", "b", "c"], p="3/4", q="1/4")
    result = fitted(warner.tally(["80"] * 6 + ["40"] * 3 + ["00"] * 3, design, keep=True), "inv_p")
    assert_allclose(result.shares, [[0.75, 0.25, 0]], atol=1e-15)  # of 1/2, 0 and -1/2
    each = [0.75 + 0.25 / 9, 0.75 / 9 + 0.25, 1 / 9]  # of the reports 100, 010 and 000
    assert_allclose(result.log_likelihood, np.array([6, 3, 3]) @ np.log(each), rtol=1e-12)


def test_what_is_silent_is_refused() -> None:
    nothing = RandomizedResponse(YES, odds=(1, 1))
    refuse_silent(pool([Tally(nothing, [5, 5]), Tally(KUK, [1, 2, 3])]))
    for tally in (Tally(nothing, [5, 5]), pool([Tally(nothing, [5, 5]), Tally(KUK, [0, 0, 0])])):
        with pytest.raises(ValueError, match=r"must have .* epsilon above 0"):
            refuse_silent(tally)
    empty = pool([Tally(nothing, [0, 0], missing=3), Tally(KUK, [0, 0, 0], unknown=2)])
    with pytest.raises(ValueError, match=r"at least one report, but there is none \(3 were missing, 2 unknown\)"):
        refuse_silent(empty)
