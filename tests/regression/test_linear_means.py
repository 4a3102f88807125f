"""Regression of a randomized number: exact, unbiased, in all outputs."""

from __future__ import annotations

import itertools
import json
import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from cases import DICE, NINE
from warner import (
    Channel,
    CutoffResponse,
    Pool,
    RandomizedResponse,
    SquareWave,
    UnaryEncoding,
    estimate,
    grid,
    regress,
    tally,
)

FOUR = [0, 1, 5, 20]


def people(n: int, seed: int = 1) -> dict[str, Any]:
    """Return people of 18 to 79 in two regions, in households, with weights, who have one of four numbers."""
    rng = np.random.default_rng(seed)
    return {
        "age": rng.integers(18, 80, n),
        "region": np.where(rng.random(n) < 0.4, "north", "south"),
        "house": rng.integers(0, n // 3, n),
        "weight": rng.uniform(0.5, 3, n),
        "number": rng.choice(FOUR, n, p=[0.4, 0.3, 0.2, 0.1]),
    }


def fit_of(formula: str, data: Any, design: Any, **options: Any) -> Any:
    return regress(formula, data, design, model="linear", **{"values": "numbers", **options})


def test_of_direct_answers_it_is_least_squares_of_the_numbers() -> None:
    data = people(200)
    fit = fit_of("number ~ age + region", data, RandomizedResponse(FOUR, odds=(1, 0)))
    x = np.column_stack([np.ones(200), data["age"], data["region"] == "south"]).astype(float)
    inverse = np.linalg.inv(x.T @ x)
    b = inverse @ x.T @ data["number"]
    residuals = data["number"] - x @ b
    hc1 = inverse @ (x.T * residuals**2) @ x @ inverse * 200 / 197
    assert_allclose(fit.coefficients, b, rtol=1e-10)
    assert_allclose(fit.covariance, hc1, rtol=1e-9)
    predicted = fit.predict({"age": [20, 50], "region": ["north", "south"]})
    assert_allclose(predicted.shares[:, 0], [b[0] + 20 * b[1], b[0] + 50 * b[1] + b[2]])
    assert_allclose(fit.margins().changes[:, 0], b[1:], rtol=1e-9)


@pytest.mark.parametrize(
    "design",
    [
        SquareWave(4, odds=(3, 1), width=1),
        CutoffResponse([0, 1, 5], odds=(3, 1)),
        RandomizedResponse([3, 7, 4], odds=(2, 1)),
        Channel([["1/2", "1/4", "1/4"], ["1/8", "1/8", "3/4"]], [0, 10], ["a", "b", "c"]),
    ],
)
def test_coefficients_are_unbiased_by_enumeration(design: Any) -> None:
    """All reports that three people can give: the mean of the coefficients is least squares of their numbers."""
    x = np.array([0.0, 1.0, 5.0])
    truth = np.array([0, 1, design.k - 1])
    numbers = np.array([float(label) for label in design.domain])[truth]
    table = design.as_channel().channel()
    expected = np.zeros(2)
    for reports in itertools.product(range(table.shape[1]), repeat=3):
        chance = table[truth, reports].prod()
        if chance > 0:
            data = {"r": [design.law.columns[place] for place in reports], "x": x}
            expected += chance * fit_of("r", data, design, on=["x"]).coefficients
    slope, intercept = np.polyfit(x, numbers, 1)
    assert_allclose(expected, [intercept, slope], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weights": "weight"},
        {"clusters": "house"},
        {"strata": "region"},
        {"clusters": "house", "weights": "weight"},
    ],
)
@pytest.mark.parametrize("design", [DICE, NINE, RandomizedResponse(["yes", "no"], odds=(1, 0))])
def test_of_zeros_and_ones_it_is_the_linear_probability_model(design: Any, options: dict[str, Any]) -> None:
    data = people(120)
    data["r"] = design.randomize(np.where(data["number"] > 1, "yes", "no"))
    shares = regress("r ~ age", data, design, model="linear", reference="no", **options)
    means = fit_of("r ~ age", data, design, values={"yes": 1, "no": 0}, **options)
    assert_allclose(means.coefficients, shares.coefficients, rtol=1e-9)
    assert_allclose(means.covariance, shares.covariance, rtol=1e-7)
    if "clusters" in options:
        assert_allclose(means.freedom, np.asarray(shares.freedom), rtol=1e-7)
    for target in ("realised", "population"):
        one, other = (fit.predict({"age": [20, 60]}, target=target) for fit in (means, shares))
        assert_allclose(one.errors[:, 0], other.errors[:, 0], rtol=1e-7)


def test_few_people_whose_reports_are_alike_have_the_error_of_randomization() -> None:
    # All say no: then the fitted mean is below 0, where yes is said with probability 1/10 (NINE: .9 and .1).
    fit = fit_of("r ~ 1", {"r": ["no"] * 30}, NINE, values={"yes": 5, "no": 0})
    assert_allclose(fit.standard_errors, 5 * np.sqrt(0.1 * 0.9 / 30) / 0.8, rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "design",
    [
        SquareWave(FOUR, epsilon=1, width=1),
        CutoffResponse(FOUR, epsilon=1),
        RandomizedResponse(FOUR, epsilon=1),
        UnaryEncoding(FOUR, epsilon=1),
    ],
)
def test_an_intercept_alone_is_the_mean_of_an_estimate(design: Any, weighted: bool) -> None:
    data = people(400)
    reports = design.report_form.written(
        design.draw(np.searchsorted(FOUR, data["number"]), np.random.default_rng(3).bytes)
    )
    data["r"] = reports
    options: dict[str, Any] = {"weights": "weight"} if weighted else {}
    fit = fit_of("r ~ 1", data, design, **options)
    mean = estimate(tally(data, design, column="r", **options)).mean()
    assert_allclose(fit.coefficients[0], mean.value, rtol=1e-9)
    # The error of an estimate has a report more of all kinds; with weights it takes their effective number.
    assert_allclose(fit.standard_errors[0], mean.se, rtol=0.15 if weighted else 0.02)


def surveys(number: int, seed: int) -> float:
    """Return how often the 95 % interval of the slope holds: the design and the numbers of NUMBERS 1.7."""
    rng = np.random.default_rng(seed)
    design, held = SquareWave(101, epsilon=1), 0
    for _ in range(number):
        x = rng.integers(0, 11, 2000)
        numbers = 20 + 5 * x + rng.integers(-10, 11, 2000)
        reports = design.draw(numbers, rng.bytes) - design.width
        fit = fit_of("r", {"r": reports, "x": x}, design, on=["x"])
        limits = fit.limits()
        held += bool(limits.low[1] <= 5 <= limits.high[1])
    return held / number


def test_the_interval_of_a_slope_holds_in_60_surveys() -> None:
    # Of 60 surveys at 95 %, 50 or fewer with probability 2e-4.
    assert surveys(60, seed=1) > 50 / 60


@pytest.mark.long
def test_the_interval_of_a_slope_holds_in_1000_surveys() -> None:
    # Four standard errors of a share of 1,000: below .9224 or above .9776 with probability 6e-5.
    assert abs(surveys(1000, seed=2) - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 1000)


@pytest.mark.parametrize("mechanism", [SquareWave, CutoffResponse])
def test_many_answers_need_no_table(mechanism: Any) -> None:
    k = 5000
    design = mechanism(k, epsilon=1)
    rng = np.random.default_rng(1)
    reports = design.report_form.written(design.draw(rng.integers(0, k, 300), rng.bytes))
    tracemalloc.start()
    fit = fit_of("r ~ x", {"r": reports, "x": rng.normal(size=300)}, design)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(fit.standard_errors).all()
    assert peak < k * k * 8 * 0.9  # a table of doubles


def test_tallies_and_several_designs_give_the_same() -> None:
    data, designs = (
        people(300),
        {"wave": SquareWave(FOUR, epsilon=1, width=1), "coin": RandomizedResponse(FOUR, odds=(4, 1))},
    )
    data["by"] = np.where(np.arange(300) % 3 == 0, "wave", "coin")
    data["r"] = np.array(
        [designs[by].randomize([number])[0] for by, number in zip(data["by"], data["number"].tolist(), strict=True)]
    )
    fit = fit_of("r ~ region", data, designs, by="by")
    parts = [
        tally({name: data[name][data["by"] == by] for name in ("r", "region")}, design, column="r", by="region")
        for by, design in designs.items()
    ]
    pooled = fit_of("~ region", Pool(tuple(parts)), None)
    assert_allclose(pooled.coefficients, fit.coefficients, rtol=1e-10)
    assert_allclose(pooled.standard_errors, fit.standard_errors, rtol=1e-10)
    assert "Mean of the answers: ~ region" in pooled.text()


def test_sensitivity_stretches_slopes_and_keeps_the_mean_unbiased() -> None:
    data, design = people(200), SquareWave(FOUR, epsilon=2, width=1)
    data["r"] = design.randomize(data["number"])
    fit = fit_of("r ~ age", data, design)
    result = fit.sensitivity(0, (0, 0.2))
    assert_allclose(result.fits[1].coefficients[1], fit.coefficients[1] / 0.8, rtol=1e-9)
    (safe,) = fit_of("r ~ 1", {"r": [0, 0]}, design).coefficients
    assert_allclose(result.table()["estimate"][-1], (fit.predict().shares[0, 0] - 0.2 * safe) / 0.8, rtol=1e-9)
    assert result.table()["term"][-1] == "mean"
    with pytest.raises(ValueError, match="99 is not one"):
        fit.sensitivity(99)


def test_every_door_speaks_of_means_in_the_unit_of_the_answers() -> None:
    data, design = people(300), SquareWave(grid(0, 100_000, 1000), epsilon=2)
    data["income"] = design.randomize(1000 * data["number"])
    fit = fit_of("income ~ age + region", data, design)
    text = " ".join(fit.text().split())
    assert "Mean of income: income ~ age + region" in text
    assert "differences of means, in the unit of the answers" in text
    assert "fitted means may leave 0 to 100,000, the range of the answers" in text
    assert "share" not in text
    assert "share" not in fit.predict().text() + fit.margins().text() + fit.predict().to_markdown() + fit.to_markdown()
    assert "%" not in fit.margins().text().replace("95 % interval", "")
    told = json.loads(fit.to_json())
    assert (told["model"], told["values"], told["reference"]) == ("linear", "numbers", None)
    assert list(json.loads(fit.predict().to_json())["means"][0])[:2] == ["mean", "se"]
    assert "answer" not in fit.margins().table()
    assert fit.terms().tests[0].statistic == pytest.approx((fit.coefficients[1] / fit.standard_errors[1]) ** 2)
    assert fit.compare(fit_of("income ~ age", data, design)).tests[0].freedom == 1
    assert "nor for a linear model" in fit.check().text()
    assert fit.criteria.null_log_likelihood is None
    assert "Mean of income" in fit.to_html()
    ax = fit.plot("age")
    assert (ax.get_ylabel(), ax.get_ylim()[0] > -1e6) == ("mean of income", True)
    assert fit.plot().get_xlabel() == "difference of means in the unit of the answers, per unit of the term"


def test_values_of_answers_that_are_no_numbers_are_told() -> None:
    data = people(100)
    data["r"] = NINE.randomize(np.where(data["number"] > 1, "yes", "no"))
    fit = fit_of("r ~ age", data, NINE, values={"yes": 5, "no": 0.5})
    assert "Numeric values of the answers: 'yes' = 5, 'no' = 0.5." in " ".join(fit.text().split())
    assert fit.to_dict()["values"] == [5.0, 0.5]


def test_what_cannot_be_is_refused() -> None:
    data, design = {"r": [0, 1] * 20, "x": np.arange(40.0)}, RandomizedResponse(3, odds=(2, 1))
    with pytest.raises(ValueError, match='values must come with model="linear"'):
        regress("r ~ x", data, design, values="numbers")
    with pytest.raises(ValueError, match="reference must be left out with values"):
        fit_of("r ~ x", data, design, reference=0)
    with pytest.raises(ValueError, match="answers must be numbers"):
        fit_of("r ~ x", {"r": ["yes"] * 3, "x": [1, 2, 3]}, NINE)
    with pytest.raises(ValueError, match="2 has none"):
        fit_of("r ~ x", data, design, values={0: 1, 1: 2})
    with pytest.raises(ValueError, match='values="numbers"'):
        regress("r ~ x", {"r": [1, 2, 3], "x": [1.0, 2.0, 4.0]}, SquareWave(1000, epsilon=1), model="linear")
    with pytest.raises(ValueError, match="has 999 levels: 998 coefficients"):
        fit_of("r ~ C(x)", {"r": [1] * 999, "x": np.arange(999)}, design)
    shares = regress("r ~ x", data, design, model="linear", reference=2)
    with pytest.raises(ValueError, match="both models must"):
        fit_of("r ~ x", data, design).compare(shares)


def test_a_covariate_far_from_zero_has_the_slope_and_error_that_it_has_near_zero() -> None:
    data = people(200)
    near, far = (
        fit_of("number ~ age", data | {"age": data["age"] + shift}, RandomizedResponse(FOUR, odds=(3, 1)))
        for shift in (0, 10**8)
    )
    assert_allclose(far.coefficients[1], near.coefficients[1], rtol=1e-6)
    assert_allclose(far.standard_errors[1], near.standard_errors[1], rtol=1e-6)
