"""Random intercepts: brute force, lme4 and GLMMRR."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, logsumexp

from references import reference
from warner import RandomizedResponse
from warner.regression import adaptive_quadrature
from warner.regression.adaptive_quadrature import RandomIntercepts
from warner.regression.data import Observations
from warner.regression.families import LINKS, Binary, Cumulative

REFERENCE = reference("random_intercepts")
DIRECT = RandomizedResponse(["no", "yes"], odds=(1, 0))
CROSSWISE = RandomizedResponse(["no", "yes"], odds=(1, 3))  # the reported answer is the true one with probability 1/4


def sample(name: str) -> list[dict[str, str]]:
    """Read a sample that other programs come with, where it is at hand; it is no part of the project."""
    for folder in Path(__file__).resolve().parents:
        path = folder / "shared" / "data" / "samples" / name
        if path.exists():
            with path.open(encoding="utf-8") as lines:
                return list(csv.DictReader(lines))
    pytest.skip(f"the sample {name} of another package is not at hand")


def mixed(
    x: Any, design: Any, report: Any, group: Any, weight: Any = None, nodes: int = 15, designs: Any = None
) -> Any:
    """Return the model of two answers with a logit link."""
    designs = designs or (DIRECT,)
    tables = tuple(np.asarray(one.law.likelihood().matrix(), dtype=np.float64) for one in designs)
    design, report = np.asarray(design), np.asarray(report)
    likelihood = np.array([tables[d][:, r] for d, r in zip(design, report, strict=True)])
    weight = np.ones(len(report)) if weight is None else np.asarray(weight, dtype=np.float64)
    rows = Observations(np.asarray(x, float), likelihood, weight, weight, weight, designs, design, report, tables)
    _, number = np.unique(group, return_inverse=True)
    return RandomIntercepts(rows, Binary(LINKS["logit"], reference=0), None, number, nodes)


def students(nodes: int) -> Any:
    rows = sample("plagiarism.csv")
    x = np.column_stack([np.ones(len(rows)), *([float(row[name]) for row in rows] for name in ("Gender", "RR", "pp"))])
    design = np.array([row["RRmodel"] == "Crosswise" for row in rows]).astype(int)
    report = np.array([int(row["response"]) for row in rows])
    return mixed(x, design, report, [row["age"] for row in rows], None, nodes, (DIRECT, CROSSWISE))


def small(nodes: int = 25) -> Any:
    rng = np.random.default_rng(3)
    group = np.repeat(np.arange(6), 8)
    x = np.column_stack([np.ones(48), rng.normal(size=48)])
    return mixed(x, rng.integers(0, 2, 48), rng.integers(0, 2, 48), group, None, nodes, (DIRECT, CROSSWISE)), x, group


def by_brute_force(model: Any, b: Any, spread: float) -> float:
    """Integrate over 4,001 equally spaced effects."""
    rows = model.rows
    u = np.linspace(-9, 9, 4001)
    share = expit((rows.x @ b)[:, np.newaxis] + spread * u)
    value = np.log(rows.likelihood[:, [1]] * share + rows.likelihood[:, [0]] * (1 - share))
    total = 0.0
    for group in range(model.number):
        inside = (rows.weight[model.group == group, np.newaxis] * value[model.group == group]).sum(axis=0)
        total += logsumexp(inside - u**2 / 2) + np.log((u[1] - u[0]) / np.sqrt(2 * np.pi))
    return float(total)


@pytest.mark.parametrize("spread", [0.3, 1.0, 2.5])
def test_the_likelihood_is_the_integral(spread: float) -> None:
    model, *_ = small()
    b = np.array([-0.4, 0.7])
    assert_allclose(model.value(np.append(b, spread)), by_brute_force(model, b, spread), rtol=1e-6)


def test_gradient_and_information_are_the_derivatives() -> None:
    model, *_ = small()
    z = np.array([-0.4, 0.7, 0.9])
    here = model.expansion(z)
    for place in range(3):
        step = 1e-4 * np.eye(3)[place]
        up, down = (model.expansion(z + side * step) for side in (1, -1))
        assert_allclose(here.gradient[place], (up.value - down.value) / 2e-4, atol=1e-5)
        assert_allclose(here.information[place], -(up.gradient - down.gradient) / 2e-4, atol=1e-4)


def test_without_effects_it_is_the_ordinary_likelihood() -> None:
    model, *_ = small()
    b = np.array([-0.4, 0.7])
    plain, mixed_at_0 = model.without_effects.expansion(b), model.expansion(np.append(b, 0.0))
    assert_allclose(mixed_at_0.value, plain.value, rtol=1e-12)
    assert_allclose(mixed_at_0.gradient, [*plain.gradient, 0], atol=1e-12)
    assert_allclose(mixed_at_0.information[:2, :2], plain.information, rtol=1e-10)
    assert_allclose(model.value(np.append(b, 1e-5)), plain.value, rtol=1e-6)


def test_the_sign_of_the_standard_deviation_does_not_matter() -> None:
    model, *_ = small()
    assert_allclose(model.value(np.array([-0.4, 0.7, -0.9])), model.value(np.array([-0.4, 0.7, 0.9])), rtol=1e-12)


def test_blocks_of_groups_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    z = np.array([-0.4, 0.7, 0.9])
    whole = small()[0].expansion(z)
    monkeypatch.setattr(
        adaptive_quadrature, "ROW_NODES_AT_ONCE", 9 * adaptive_quadrature.NODES
    )  # two groups of eight rows each
    model, *_ = small()
    assert len(model._blocks) == 3
    assert_allclose(model.expansion(z).information, whole.information, rtol=1e-10)
    assert_allclose(model.value(z), whole.value, rtol=1e-12)


def test_ordered_answers_are_shifted_at_all_cutpoints() -> None:
    """Three ordered answers, told directly: brute force over the effect of one group."""
    design = RandomizedResponse(["never", "once", "often"], odds=(4, 1))
    table = np.asarray(cast("Any", design.law.likelihood().matrix)(), dtype=np.float64)
    report = np.array([0, 1, 2, 2, 1, 0])
    weight = np.ones(6)
    rows = Observations(
        np.ones((6, 1)), table[:, report].T, weight, weight, weight, (design,), report * 0, report, (table,)
    )
    family = Cumulative(3, LINKS["logit"])
    model = RandomIntercepts(rows, family, None, np.array([0, 0, 0, 1, 1, 1]), 25)
    b, spread = np.array([-0.5, 0.8]), 0.7
    u = np.linspace(-9, 9, 4001)
    total = 0.0
    for members in (report[:3], report[3:]):
        low, high = expit(b[0] + spread * u), expit(b[1] + spread * u)
        shares = np.array([low, high - low, 1 - high])
        inside = sum(np.log(table[:, r] @ shares) for r in members)
        total += logsumexp(inside - u**2 / 2) + np.log((u[1] - u[0]) / np.sqrt(2 * np.pi))
    assert_allclose(model.value(np.append(b, spread)), total, rtol=1e-8)


def test_students_are_those_of_glmmrr_with_laplace_and_with_nodes() -> None:
    """The manual page of GLMMRR, by age: with one node -403.1268, with 25 nodes -403.1341."""
    expected = REFERENCE["plagiarism_GLMMRR"]
    laplace, exact = expected["converged_Laplace"], expected["nAGQ_25"]
    one = students(1).value(np.append(laplace["coefficients"], laplace["sd"]))
    assert_allclose(one, laplace["log_likelihood"], atol=1e-5)
    at_theirs = students(25).expansion(np.append(exact["coefficients"], np.sqrt(exact["variance"])))
    assert_allclose(at_theirs.value, exact["log_likelihood"], atol=1e-6)
    assert_allclose(at_theirs.gradient, 0, atol=2e-3)


def test_students_by_fifteen_nodes_are_as_by_25() -> None:
    exact = REFERENCE["plagiarism_GLMMRR"]["nAGQ_25"]
    values = [students(n).value(np.append(exact["coefficients"], np.sqrt(exact["variance"]))) for n in (15, 25)]
    assert_allclose(values[0], values[1], atol=1e-6)


def test_effects_are_posterior_means() -> None:
    model, *_ = small()
    b, spread = np.array([-0.4, 0.7]), 0.9
    effects = model.effects(np.append(b, spread))
    rows = model.rows
    u = np.linspace(-9, 9, 4001)
    share = expit((rows.x @ b)[:, np.newaxis] + spread * u)
    value = np.log(rows.likelihood[:, [1]] * share + rows.likelihood[:, [0]] * (1 - share))
    for group in range(6):
        law = np.exp(value[model.group == group].sum(axis=0) - u**2 / 2)
        law /= law.sum()
        assert_allclose(effects.mean[group], law @ u, atol=1e-6)
        assert_allclose(effects.variance[group], law @ u**2 - (law @ u) ** 2, atol=1e-6)
    for place in range(2):
        step = 1e-5 * np.eye(3)[place]
        up, down = (model.effects(np.append(b, spread) + side * step).mean for side in (1, -1))
        assert_allclose(effects.slopes[:, place], (up - down) / 2e-5, atol=1e-5)
