from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from cases import FORCED
from strategies import surveys
from warner import RandomizedResponse, SubsetSelection, metrics, mle

if TYPE_CHECKING:
    from collections.abc import Callable

YES_NO = RandomizedResponse(2, truth="3/4")


def test_distances_by_hand() -> None:
    estimate, truth = [0.5, 0.3, 0.2], [0.4, 0.4, 0.2]
    assert metrics.squared_error_sum(estimate, truth) == pytest.approx(0.02)
    assert metrics.squared_error_mean(estimate, truth) == pytest.approx(0.02 / 3)
    assert metrics.total_variation(estimate, truth) == pytest.approx(0.1)
    assert metrics.kl_divergence([0.5, 0.5, 0], [0.25, 0.5, 0.25]) == pytest.approx(0.5 * math.log(2))
    assert metrics.kl_divergence([0.5, 0.5], [1, 0]) == math.inf


def test_negative_log_likelihood_by_hand() -> None:
    # shares (0, 1): a report says yes with probability 1/4 and no with 3/4
    expected = -(0.4 * math.log(0.25) + 0.6 * math.log(0.75))
    assert metrics.negative_log_likelihood([0, 1], [40, 60], YES_NO) == pytest.approx(expected, rel=1e-15)
    honest = RandomizedResponse(2, odds=(1, 0))
    assert metrics.negative_log_likelihood([0, 1], [40, 60], honest) == math.inf
    assert metrics.negative_log_likelihood([0, 1], [0, 60], honest) == 0


def test_likelihood_of_a_channel_by_hand() -> None:
    # shares 1/2, 1/2: yes has probability (11/12 + 1/6)/2 = 13/24
    wanted = -(0.2 * math.log(13 / 24) + 0.8 * math.log(11 / 24))
    assert metrics.negative_log_likelihood([0.5, 0.5], [40, 160], FORCED) == pytest.approx(wanted, rel=1e-14)


def test_support_counts_have_no_likelihood() -> None:
    with pytest.raises(TypeError, match="counts have no likelihood of their own"):
        metrics.negative_log_likelihood(np.full(5, 0.2), [2, 2, 2, 2, 2], SubsetSelection(5, odds=(3, 1), size=2))


def test_negative_log_likelihood_is_undefined_for_negative_shares() -> None:
    values = metrics.negative_log_likelihood([[-0.1, 1.1], [0.3, 0.7]], [[20, 80], [40, 60]], YES_NO)
    assert np.isnan(values[0])
    assert np.isfinite(values[1])


def test_batches_give_one_number_each() -> None:
    estimates, truth = np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([0.5, 0.5])
    assert_allclose(metrics.squared_error_sum(estimates, truth), [0, 0.125])
    assert_allclose(metrics.squared_error_mean(estimates, truth), [0, 0.0625])
    assert_allclose(metrics.total_variation(estimates, truth), [0, 0.25])
    assert metrics.negative_log_likelihood(estimates, [[1, 2], [3, 4]], YES_NO).shape == (2,)


@given(survey=surveys())
def test_likelihood_and_divergence_of_the_reports_rank_alike(survey: tuple[list[int], RandomizedResponse]) -> None:
    # D(phi | q + (p-q) theta) = negative log-likelihood - entropy of phi: they differ by a constant.
    counts, design = survey
    observed = np.array(counts) / sum(counts)
    entropy = -sum(x * math.log(x) for x in observed if x)
    shares = mle(counts, design)
    reported = design.q + (design.p - design.q) * shares
    divergence = metrics.kl_divergence(observed, reported)
    assert divergence == pytest.approx(metrics.negative_log_likelihood(shares, counts, design) - entropy, abs=1e-9)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: metrics.squared_error_sum([1, 0], [1, 0, 0]), "same answers"),
        (lambda: metrics.total_variation([1, 0], [1, 0, 0]), "same answers"),
        (lambda: metrics.kl_divergence([1, 0], [1, 0, 0]), "same answers"),
        (lambda: metrics.kl_divergence(0.5, 0.5), "same answers"),
        (lambda: metrics.kl_divergence([0.6, 0.5], [0.5, 0.5]), "sum to 1"),
        (lambda: metrics.total_variation(0.3, 0.5), "same answers"),
        (
            lambda: metrics.kl_divergence([1.5, -0.5], [0.5, 0.5]),
            "must not be negative, but the smallest entry is -0.5",
        ),
        (lambda: metrics.negative_log_likelihood([1, 0], [1, -1], YES_NO), "must not be negative"),
        (lambda: metrics.negative_log_likelihood([1, 0, 0], [1, 1], YES_NO), "shape of counts"),
    ],
)
def test_bad_input(call: Callable[[], Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        call()
