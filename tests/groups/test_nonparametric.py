"""Any law of the shares: the certificate of its maximum, a law that is known exactly, and that it is closer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

from cases import COIN, DIRECT
from warner import RandomizedResponse, Tally, estimate_groups
from warner.groups import group_estimates
from warner.groups.fay_herriot import (
    Pooled,
    best_beta_likelihood,
    derivatives,
    likelihoods,
    log_likelihood,
    most_likely_law,
    values_with_weight,
)
from warner.groups.group_estimates import advice
from warner.results import typeset

if TYPE_CHECKING:
    from pathlib import Path

EPSILON_3 = RandomizedResponse(["yes", "no"], epsilon=3)


def surveyed(shares: Any, n: Any, rng: Any, design: Any = EPSILON_3) -> Any:
    lie = 1 / (1 + np.exp(design.epsilon))
    yes = rng.binomial(n, lie + (1 - 2 * lie) * shares)
    groups = tuple((i,) for i in range(len(shares)))
    return Tally(design, np.stack([yes, np.subtract(n, yes)], axis=1), by=("g",), groups=groups)


def two_clusters(groups: Any, rng: Any) -> Any:
    return np.where(rng.random(groups) < 0.5, 0.2, 0.4)


def clustered(seed: int = 3) -> Any:
    rng = np.random.default_rng(seed)
    return surveyed(two_clusters(150, rng), np.full(150, 300), rng)


@pytest.mark.parametrize("seed", range(5))
def test_no_value_is_worth_more_weight(seed: int) -> None:
    """The certificate of Kiefer and Wolfowitz's maximum, for groups of all sizes."""
    rng = np.random.default_rng(seed)
    groups, grid = int(rng.integers(20, 300)), np.linspace(0.05, 0.9, 121)
    n = rng.integers(1, 2000, groups)
    count = rng.binomial(n, 0.1 + 0.8 * rng.beta(1, 2, groups))
    likelihood = likelihoods(np.stack([count, n, np.full(groups, 0.1), np.full(groups, 0.8)]).astype(float), grid)
    once = np.ones(groups)
    law = most_likely_law(likelihood, once)
    assert (law >= 0).all()
    assert law.sum() == pytest.approx(1)
    assert derivatives(likelihood, law, once).max() <= 1 + 1e-6
    assert derivatives(likelihood, law, once) @ law == pytest.approx(1)
    for other in rng.dirichlet(np.full(121, 0.05), 20):
        assert log_likelihood(likelihood, other, once) <= log_likelihood(likelihood, law, once) + 1e-6 * groups


def test_likelihoods_are_binomial() -> None:
    grid = np.linspace(0, 1, 7)
    found = likelihoods(np.array([[3.0, 0.0], [10.0, 4.0], [0.25, 0.0], [0.5, 1.0]]), grid)
    for row, (count, n, base, gain) in enumerate([(3, 10, 0.25, 0.5), (0, 4, 0, 1)]):
        expected = binom.pmf(count, n, base + gain * grid)
        assert_allclose(found[row], expected / expected.max(), atol=1e-12)


def test_two_values_are_found_exactly() -> None:
    """All people of a group answer alike, directly: the law is that of the groups, 70 and 30 of 100."""
    counts = np.array([[0.0, 50.0], [50.0, 50.0], [0.0, 0.0], [1.0, 1.0]])
    law = most_likely_law(likelihoods(counts, np.linspace(0, 1, 121)), np.array([70.0, 30.0]))
    assert_allclose(law[[0, -1]], [0.7, 0.3], atol=1e-4)
    assert values_with_weight(law) == 2


def test_values_are_neighbours_with_weight() -> None:
    assert values_with_weight(np.array([0.2, 0.1, 0, 0.3, 0, 0, 0.2, 0.2])) == 3


def test_groups_in_clusters_are_drawn_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve surveys: the sum of squared errors is at most half of that under the normal law."""
    rng = np.random.default_rng(20)
    errors = np.zeros((2, 12))
    for survey in range(12):
        truth = two_clusters(150, rng)
        tally = surveyed(truth, np.full(150, 300), rng)
        together = estimate_groups(tally)
        assert together.law == "any"
        with monkeypatch.context() as patched:
            patched.setattr(group_estimates, "shares_under_any_law", lambda *_: None)
            normal = estimate_groups(tally)
        assert normal.law == "normal"
        assert_allclose(together.errors, normal.errors)
        assert_allclose(together.own, normal.own)
        low, high = together.limits(0.95, "average")
        assert ((low <= together.shares) & (together.shares <= high)).all()
        errors[:, survey] = [np.mean((found.shares[:, 0] - truth) ** 2) for found in (together, normal)]
    assert errors[0].sum() < 0.5 * errors[1].sum()


def test_each_group_is_counted_with_its_own_number_of_reports() -> None:
    """A group of a million keeps its own share, which the grid is too coarse for; an empty one has the mean."""
    rng = np.random.default_rng(5)
    truth = np.append(two_clusters(200, rng), [0.29123, 0.3])
    tally = surveyed(truth, np.append(np.full(200, 300), [1_000_000, 0]), rng)
    together = estimate_groups(tally)
    assert together.law == "any"
    assert abs(together.shares[-2, 0] - together.direct[0].share[-2]) < 1e-3
    assert 0.25 < together.shares[-1, 0] < 0.35
    assert_allclose(together.shares.sum(axis=1), 1)


@pytest.mark.parametrize("shape", ["beta", "normal", "uniform"])
def test_a_law_without_clusters_stays_as_it_is(shape: str) -> None:
    """With little noise 3 log(groups) would be exceeded; the values of the law are counted (in none of 240 surveys)."""
    rng = np.random.default_rng(6)
    for _ in range(4):
        truth = {
            "beta": lambda: rng.beta(2.5, 5.8, 400),
            "normal": lambda: np.clip(rng.normal(0.3, 0.1, 400), 0, 1),
            "uniform": lambda: rng.uniform(0.05, 0.75, 400),
        }[shape]()
        assert estimate_groups(surveyed(truth, np.full(400, 1000), rng)).law == "normal"


def test_where_it_is_not_thought_of() -> None:
    tally = clustered()
    groups = {"g": list(range(150)), "x": np.arange(150.0)}
    assert estimate_groups(tally, on=groups).law == "normal"
    assert estimate_groups(tally, along="g").law == "normal"
    few = Tally(EPSILON_3, tally.counts[:99], by=("g",), groups=tally.groups[:99])
    assert estimate_groups(few).law == "normal"
    alike = Tally(COIN, [[40, 60]] * 120, by=("g",), groups=tuple((i,) for i in range(120)))
    assert estimate_groups(alike).law == "normal"
    nobody = Tally(DIRECT, [[0, 60]] * 120, by=("g",), groups=tuple((i,) for i in range(120)))
    assert estimate_groups(nobody).law == "normal"


def test_every_door_says_it(tmp_path: Path) -> None:
    together, page = estimate_groups(clustered()), tmp_path / "page.html"
    said = "groups form clusters, or some lie far out"
    assert said.capitalize() in together.text()
    assert not any(note.startswith("Warning") for note in typeset(together).notes)  # separate estimates are as good
    assert json.loads(together.to_json())["law"] == "any"
    assert any(said.capitalize() in note for note in typeset(together).notes)
    together.save_page(page)
    assert "Kiefer and Wolfowitz" in page.read_text(encoding="utf-8")
    assert advice(together.tally).startswith(said)


def test_the_best_beta_distribution_may_have_all_its_weight_at_both_ends() -> None:
    # Half of 20 groups all say no, and half all say yes: shares of 0 and 1 are equally likely, and vary by 1/4.
    counts = np.array([[0.0] * 10 + [20.0] * 10, [20.0] * 20, [0.0] * 20, [1.0] * 20])
    grid = np.linspace(0, 1, 121)
    none = np.zeros(20)
    pooled = Pooled(none, none, none, none, 0.5, 0.5, spreads=np.array([0.5]), weights=np.ones(1))
    found = best_beta_likelihood(likelihoods(counts, grid), grid, np.ones(20), pooled)
    assert_allclose(found, 20 * np.log(0.5), rtol=1e-6)
