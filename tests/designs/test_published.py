"""Errors that the authors of another program measured and published, from our formulas and from our simulator.

Source: the stored runs of github.com/minilek/private_frequency_oracles, made for V. Feldman, J. Nelson, H. Nguyen,
K. Talwar, "Private frequency estimation via projective geometry", ICML 2022. All n respondents have one answer; what is
compared is the squared error of a count, averaged over all K answers, in people squared.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from references import reference
from warner import ProjectiveGeometry, RandomizedResponse, SubsetSelection, inv, simulate

if TYPE_CHECKING:
    from warner.designs import Design

REFERENCE = reference("mechanisms")
ROWS = [row for row in REFERENCE["published"]["rows"] if row["proto"] in {"RR", "PGR", "SS"}]
TRIALS = {"RR": 50, "PGR": 50, "SS": 4}  # sets are drawn person by person


def made(row: dict[str, Any]) -> Design:
    """Make the design that was published, with its own parameters: they are not the best ones."""
    if row["proto"] == "PGR":
        return ProjectiveGeometry(row["K"], epsilon=row["eps"], field=row["field"], dimension=row["t"])
    if row["proto"] == "SS":
        return SubsetSelection(row["K"], epsilon=row["eps"], size=row["size"])
    return RandomizedResponse(row["K"], epsilon=row["eps"])


def named(row: dict[str, Any]) -> str:
    return f"{row['proto']}, epsilon {row['eps']}, n {row['n']}"


# One published client puts the truth into its set too often, and its error is that of the defect.
as_shipped = [row for row in ROWS if row["proto"] == "SS" and row["eps"] < 2]
right = [row for row in ROWS if row not in as_shipped]


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_the_formula_gives_the_published_error(row: dict[str, Any]) -> None:
    symmetry, k, n = made(row).law.symmetry, row["K"], row["n"]
    assert symmetry is not None
    p, q = symmetry.p, symmetry.base
    exact = n * (p * (1 - p) + (k - 1) * q * (1 - q)) / (k * symmetry.gain**2)
    assert_allclose(exact, row["exact"], rtol=1e-5)
    # Four standard errors: one false alarm in 16,000.
    assert (abs(exact - row["published"]) <= 4 * row["se"]) == (row in right)


def assert_simulated(row: dict[str, Any]) -> None:
    """Compare our simulated surveys with the published ones, within four standard errors of their difference."""
    design, n = made(row), row["n"]
    people = np.zeros(row["K"], dtype=np.int64)
    people[0] = n
    errors = []
    for seed in range(TRIALS[row["proto"]]):
        counts = simulate.reports_of_people(people, design, rng=np.random.default_rng(seed))
        shares = inv(counts, design, **({} if design.law.exclusive else {"n": n}))
        errors.append(float(np.square(n * shares - people).mean()))
    spread = float(np.std(errors, ddof=1)) / math.sqrt(len(errors))
    assert abs(np.mean(errors) - row["exact"]) <= 4 * spread
    assert spread <= 0.01 * row["exact"]  # or the comparison would say nothing
    if row in right:
        assert abs(np.mean(errors) - row["published"]) <= 4 * math.hypot(spread, row["se"])


@pytest.mark.parametrize("row", [row for row in ROWS if row["proto"] != "SS"], ids=named)
def test_the_simulator_gives_the_published_error(row: dict[str, Any]) -> None:
    assert_simulated(row)


@pytest.mark.long
@pytest.mark.parametrize("row", [row for row in ROWS if row["proto"] == "SS"], ids=named)
def test_the_simulator_gives_the_published_error_of_sets(row: dict[str, Any]) -> None:
    assert_simulated(row)
