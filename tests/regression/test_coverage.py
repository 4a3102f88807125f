"""Intervals hold the truth as often as they say: coefficients, shares of profiles, and marginal effects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warner
from cases import DICE
from warner import surveys
from warner.regression.regressions import Regression, regress

LEAST, MOST = 0.935, 0.98  # what is promised where reports tell as much as 100 direct answers
GRID = np.array([[1.0, x, d] for x in (-1.5, -0.5, 0.5, 1.5) for d in (0, 1)])
PROFILES: dict[str, list[Any]] = {"x": [-1.5, 0.5, 1.5], "d": [0, 1, 1]}


def k_answers(k: int, epsilon: float) -> warner.RandomizedResponse:
    return warner.RandomizedResponse([f"a{i}" for i in range(k)], epsilon=epsilon)


# Design, people in each of eight cells, coefficients of each answer but the last (cutpoints and slopes if ordered).
SETTINGS: dict[str, tuple[Any, int, Any, str]] = {
    "two answers, forced": (DICE, 60, [[-1, 0.5, 0.5]], "multinomial"),
    "two answers, Warner": (surveys.warner("3/4"), 150, [[-1, 0.5, 0.5]], "multinomial"),
    "two answers, near the floor": (DICE, 60, [[-1, 0.3, -2]], "multinomial"),
    "three answers": (k_answers(3, 2.0), 125, [[-0.5, 0.5, 0.5], [0, 0.8, -0.3]], "multinomial"),
    "five answers": (
        k_answers(5, 2.0),
        375,
        [[-0.5, 0.3, 0.3], [0, 0.5, -0.3], [0.2, 0, 0.4], [0.1, -0.3, 0]],
        "multinomial",
    ),
    "three answers, ordered": (k_answers(3, 1.5), 150, [-0.5, 0.8, 0.5, -0.5], "ordered"),
}


def shares_of(b: Any, model: str, x: Any) -> Any:
    if model == "ordered":
        below = 1 / (1 + np.exp(-(np.array(b[:2]) - (x[:, 1:] @ b[2:])[:, np.newaxis])))
        return np.diff(np.column_stack([np.zeros(len(x)), below, np.ones(len(x))]), axis=1)
    weights = np.exp(np.column_stack([x @ np.transpose(b), np.zeros(len(x))]))
    return weights / weights.sum(axis=1, keepdims=True)


def sample(design: Any, n: int, shares: Any, model: str, rng: Any) -> Regression:
    table = design.law.likelihood().matrix()
    counts = np.array([rng.multinomial(n, probabilities) for probabilities in shares @ table])
    columns = [np.repeat(GRID[:, i], counts.shape[1]) for i in (1, 2)]
    people: dict[str, Any] = {
        "x": columns[0],
        "d": columns[1],
        "answer": [*design.law.columns] * len(GRID),
        "n": counts.ravel(),
    }
    kept = counts.ravel() > 0
    people = {
        name: [value for value, some in zip(values, kept, strict=True) if some] for name, values in people.items()
    }
    return regress("answer", people, design, on=["x", "d"], counts="n", model=model)


def held(low: Any, high: Any, truth: Any) -> Any:
    return (np.asarray(low) <= truth) & (truth <= np.asarray(high))


def covered(setting: str, samples: int, seed: int) -> dict[str, Any]:
    """Return how often each coefficient, share and marginal effect lies in its interval."""
    design, n, b, model = SETTINGS[setting]
    rng = np.random.default_rng(seed)
    truth = shares_of(b, model, GRID)
    profiles = shares_of(b, model, np.column_stack([np.ones(3), PROFILES["x"], PROFILES["d"]]))
    step = np.array([0, 1e-5, 0])
    effect = (shares_of(b, model, GRID + step) - shares_of(b, model, GRID - step)).mean(axis=0) / 2e-5
    hits: dict[str, list[Any]] = {"coefficients": [], "shares": [], "margins": [], "infinite": [], "effective": []}
    for _ in range(samples):
        fit = sample(design, n, truth, model, rng)
        ends = fit.limits()
        hits["coefficients"].append(held(ends.low, ends.high, np.ravel(b)))
        prediction = fit.predict(PROFILES)
        hits["shares"].append(held(prediction.low, prediction.high, profiles).ravel())
        margins = fit.margins(["x"])
        hits["margins"].append(held(margins.low[0], margins.high[0], effect))
        hits["infinite"].append([fit.infinity is not None])
        hits["effective"].append([fit.effective])
    return {name: np.array(values).mean(axis=0) for name, values in hits.items()}


@pytest.mark.long
@pytest.mark.parametrize("setting", SETTINGS)
def test_intervals_hold_the_truth_as_often_as_they_say(setting: Any) -> None:
    samples = 200
    found = covered(setting, samples, seed=11)
    assert found["effective"][0] >= 100
    for what in ("coefficients", "shares", "margins"):
        # All numbers of a kind together; they come from the same samples, so that each sample counts once.
        error = np.sqrt(0.05 * 0.95 / samples)
        assert LEAST - 2 * error <= found[what].mean() <= MOST + 2 * error, (what, found[what])
        assert (found[what] >= LEAST - 4 * error).all(), (what, found[what])


@pytest.mark.long
def test_groups_of_like_predictions_reject_a_true_model_as_often_as_they_say() -> None:
    rng, samples, n = np.random.default_rng(12), 400, 800
    rejected = 0
    for _ in range(samples):
        x = rng.normal(size=n)
        yes = rng.random(n) < 1 / 6 + 2 / 3 / (1 + np.exp(1 - 0.7 * x))
        fit: Any = regress("answer", {"answer": np.where(yes, "yes", "no"), "x": x}, DICE, on=["x"], starts=0)
        rejected += fit.check().groups.p < 0.05
    # Four binomial standard errors.
    assert abs(rejected / samples - 0.05) < 4 * np.sqrt(0.05 * 0.95 / samples)
