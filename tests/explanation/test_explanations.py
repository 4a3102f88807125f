"""explain: a randomized answer as predictor, from data to words, against references, other programs and brute force.

It tests explanation/explanations.py and explanation/explanations.py as well.
"""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from numpy.testing import assert_allclose
from scipy.stats import t as student

from outside import data_file, published
from references import reference
from warner import Channel, RandomizedResponse, SquareWave, UnaryEncoding, runtime, surveys
from warner.explanation.explanations import explain
from warner.regression.data import Observations
from warner.regression.scores import debiased
from warner.results import typeset

if TYPE_CHECKING:
    from pathlib import Path

REFERENCE = reference("regression")["F_predictor"]
DIRECT = Channel([[1, 0], [0, 1]], ["yes", "no"], ["yes", "no"])
DICE = RandomizedResponse(["yes", "no"], truth="5/6")
COLOURS = RandomizedResponse(["red", "green", "blue"], truth="3/4")

reference_data = {
    "x": REFERENCE["x"],
    "trait": np.where(REFERENCE["report_yes"], "yes", "no"),
    "numeric": REFERENCE["numeric_outcome"],
    "binary": REFERENCE["binary_outcome"],
}


def survey(n: int, seed: int, *questions: Any) -> dict[str, Any]:
    """Draw people with a number, a text, an outcome of each kind, weights, clusters, and reports of some questions."""
    rng = np.random.default_rng(seed)
    age, region = rng.integers(18, 80, n), rng.choice(["east", "north", "west"], n)
    eta = 0.02 * (age - 50) + 0.5 * (region == "west")
    data: dict[str, Any] = {}
    for place, design in enumerate(questions):
        held = rng.integers(design.k, size=n)
        eta = eta + np.linspace(1.5, -1, design.k)[held]
        data[f"q{place}"] = np.array(design.law.columns)[design.draw(held, rng.bytes)]
    return data | {
        "age": age,
        "region": region,
        "score": eta + rng.gumbel(size=n),
        "votes": (eta + rng.logistic(size=n) > 0).astype(int),
        "w": rng.uniform(0.5, 2, n),
        "village": rng.integers(0, 60, n),
    }


@pytest.mark.parametrize(
    ("outcome", "family", "method", "expected"),
    [
        ("numeric", "linear", "corrected", "corrected_least_squares"),
        ("binary", "logit", "corrected", "corrected_logit"),
        ("binary", "logit", "ml", "joint_ml_logit"),
        ("numeric", "linear", "ml", "joint_ml_gauss"),
    ],
)
def test_the_reference_case_is_reached(outcome: str, family: Any, method: Any, expected: str) -> None:
    design = surveys.warner("9/10")
    fit = explain(f"{outcome} ~ x + trait", reference_data, {"trait": design}, family=family, method=method)
    wanted = REFERENCE[expected]
    assert fit.names == ("Intercept", "x", "trait[yes]")
    assert_allclose(fit.coefficients, wanted.get("coef", wanted.get("outcome")), atol=1e-9)
    if "se" in wanted:  # those of the corrected score are HC0, without bias reduction
        n = len(REFERENCE["x"])
        errors = fit.errors if fit.clustered is None else np.sqrt(np.diag(fit.clustered.sandwich) * (n - 1) / n)
        assert_allclose(errors, wanted["se"][-3:], atol=1e-9)
    if method == "ml":
        assert fit.log_likelihood is not None
        assert_allclose(fit.log_likelihood, wanted["log_likelihood"], atol=1e-9)
    if "sigma" in wanted:
        assert fit.deviation is not None
        assert_allclose(fit.deviation, wanted["sigma"], atol=1e-9)


def test_the_published_model_of_the_minarets_is_the_maximum() -> None:
    result = published()["minarets"]["predictor_linear"]
    with data_file("regression/minarets.csv").open() as file:
        people = [row for row in csv.DictReader(file) if row["condition"] != "0"]
    data = {
        "opinion": [float(row["leftRight"]) for row in people],
        "age": [float(row["age"]) for row in people],
        "trait": ["yes" if row["rrt"] == "1" else "no" for row in people],
        "condition": [row["condition"] for row in people],
    }
    # The stochastic lie detector, with the share of the truthful among carriers as it was estimated.
    truthful = 0.6358063928
    designs = {
        version: Channel(np.array([[truthful, 1 - truthful], [1 - p, p]]), ["yes", "no"], ["yes", "no"])
        for version, p in (("1", 2 / 12), ("2", 10 / 12))
    }
    fit = explain(
        "opinion ~ trait + age", data, {"trait": designs}, by="condition", method="ml", shares="constant"
    )  # fmt: skip
    assert_allclose(fit.coefficients, result["exact"]["coef"], atol=1e-6)
    assert_allclose(fit.errors, result["printed"]["se"], atol=2e-5)  # they stopped early
    assert_allclose(fit.log_likelihood, result["exact"]["log_likelihood"], atol=1e-8)  # type: ignore[arg-type]
    assert_allclose(fit.deviation, result["exact"]["sigma"], atol=1e-6)  # type: ignore[arg-type]


@pytest.mark.parametrize("formula", ["age + region + q0", "scale(age) * q0", "0 + q0 + age", "q0:age + C(region)"])
def test_direct_answers_give_what_statsmodels_gives(formula: str) -> None:
    data = survey(400, 1, DIRECT)
    frame = pd.DataFrame(data)
    frame["q0"] = pd.Categorical(frame["q0"], ["no", "yes"])
    as_theirs = formula.replace("scale(age)", "I((age - age.mean()) / age.std())")
    linear = explain(f"score ~ {formula}", data, {"q0": DIRECT})
    theirs = smf.ols(f"score ~ {as_theirs}", frame).fit(cov_type="HC2")
    # The same model: equal fitted values and equal errors, whatever its columns are called.
    assert len(linear.names) == len(theirs.params)
    assert_allclose(sorted(linear.coefficients), sorted(theirs.params), rtol=1e-8)
    assert_allclose(sorted(linear.errors), sorted(theirs.bse), rtol=1e-8)
    logit = explain(f"votes ~ {formula}", data, {"q0": DIRECT}, family="logit")
    theirs = smf.logit(f"votes ~ {as_theirs}", frame).fit(cov_type="HC0", disp=0, method="newton", tol=1e-14)
    assert_allclose(sorted(logit.coefficients), sorted(theirs.params), rtol=1e-8)
    assert logit.clustered is not None
    plain = np.sqrt(np.diag(logit.clustered.sandwich) * 399 / 400)
    assert_allclose(sorted(plain), sorted(theirs.bse), rtol=1e-8)


def test_weights_and_clusters_of_direct_answers_are_those_of_statsmodels() -> None:
    data = survey(400, 2, DIRECT)
    fit = explain("score ~ age + q0", data, {"q0": DIRECT}, weights="w", clusters="village")
    columns = np.column_stack([np.ones(400), data["age"], data["q0"] == "yes"])
    groups = len(np.unique(data["village"]))
    model = sm.WLS(data["score"], columns, weights=data["w"])
    theirs = model.fit(cov_type="cluster", cov_kwds={"groups": data["village"], "use_correction": False})
    assert_allclose(fit.coefficients, theirs.params, rtol=1e-8)
    assert fit.clustered is not None
    assert_allclose(fit.clustered.sandwich, theirs.cov_params() * groups / (groups - 1), rtol=1e-8)
    assert (fit.weighted, fit.clusters) == (True, groups)
    assert "weighted, in 60 clusters" in fit.text()


def test_maximum_likelihood_with_clusters_is_robust_as_that_of_statsmodels() -> None:
    data = survey(400, 13, DIRECT)
    options: Any = {"family": "logit", "method": "ml", "clusters": "village"}
    fit = explain("votes ~ age + q0", data, {"q0": DIRECT}, **options)
    columns = np.column_stack([np.ones(400), data["age"], data["q0"] == "yes"])
    groups = {"groups": data["village"], "use_correction": False}
    theirs = sm.Logit(data["votes"], columns).fit(cov_type="cluster", cov_kwds=groups, disp=0, tol=1e-14)
    assert_allclose(fit.coefficients, theirs.params, rtol=1e-8)
    number = len(np.unique(data["village"]))
    assert fit.clustered is not None
    assert_allclose(fit.clustered.sandwich, theirs.cov_params() * number / (number - 1), rtol=1e-7)


def test_shares_may_depend_on_all_that_is_in_the_terms_or_on_nothing() -> None:
    data = survey(600, 14, DICE)
    young = data["age"] < 40
    data["q0"] = np.where(young, "yes", data["q0"])  # shares that depend on age

    def fit(formula: str, shares: Any) -> Any:
        return explain(f"score ~ {formula}", data, {"q0": DICE}, method="ml", shares=shares)

    # Age enters only with the answer: the same model as with age by itself, so the same shares.
    together, apart = fit("q0 + q0:age", "covariates"), fit("age * q0", "covariates")
    assert_allclose(together.log_likelihood, apart.log_likelihood, rtol=1e-10)
    constant = fit("age * q0", "constant")
    assert constant.log_likelihood < apart.log_likelihood - 10
    assert "the same for all respondents" in constant.text()
    assert "follow a logit model in the other terms" in apart.text()
    assert_allclose(fit("q0", "constant").coefficients, fit("q0", "covariates").coefficients, rtol=1e-9)


def test_two_randomized_predictors_and_their_interaction_are_those_of_brute_force() -> None:
    data = survey(500, 3, COLOURS, DICE)
    fit = explain("score ~ age + q0 * q1", data, {"q0": COLOURS, "q1": DICE})
    assert fit.names == (
        "Intercept", "age", "q0[red]", "q0[green]", "q1[yes]", "q0[red]:q1[yes]", "q0[green]:q1[yes]",
    )  # fmt: skip
    first, second = np.linalg.inv(COLOURS.channel()), np.linalg.inv(DICE.channel())
    bread, right = np.zeros((7, 7)), np.zeros(7)
    for n in range(500):
        for a, colour in enumerate(["red", "green", "blue"]):
            for b, said in enumerate(["yes", "no"]):
                z = first[COLOURS.domain.index(data["q0"][n]), a] * second[DICE.domain.index(data["q1"][n]), b]
                red, green, yes = colour == "red", colour == "green", said == "yes"
                x = np.array([1, data["age"][n], red, green, yes, red * yes, green * yes])
                bread += z * np.outer(x, x)
                right += z * x * data["score"][n]
    assert_allclose(fit.coefficients, np.linalg.solve(bread, right), rtol=1e-8)
    listed = explain("score", data, {"q0": COLOURS, "q1": DICE}, on=["age"])
    assert_allclose(listed.coefficients, explain("score ~ age + q0 + q1", data, listed_designs()).coefficients)


def listed_designs() -> dict[str, Any]:
    return {"q0": COLOURS, "q1": DICE}


def test_reports_that_are_sets_and_designs_that_differ_enter_by_their_debiased_indicators() -> None:
    bits = UnaryEncoding(["red", "green", "blue"], epsilon=3)
    rng = np.random.default_rng(4)
    held = rng.integers(3, size=300)
    reports = bits.draw(held, rng.bytes)
    dice = np.array(COLOURS.law.columns)[COLOURS.draw(held, rng.bytes)]
    written = bits.report_form.written(reports)
    version = np.where(np.arange(300) < 200, "bits", "dice")
    data = {
        "q": [str(b) if v == "bits" else str(d) for b, d, v in zip(written, dice, version, strict=True)],
        "version": version,
        "score": held + rng.normal(size=300),
    }
    fit = explain("score", data, {"q": {"bits": bits, "dice": COLOURS}}, on=[], by="version")
    matrix: Any = bits.law.likelihood(reports[:200]).matrix
    one = np.ones(200)
    rows = Observations(one[:, None], matrix().T, one, one, one, (bits,), np.zeros(200, int), np.full(200, -1), (None,))
    first: Any = debiased(rows, np.full(3, 1 / 3))
    second = np.linalg.inv(COLOURS.channel())[[COLOURS.domain.index(report) for report in dice[200:]]]
    z = np.vstack([first, second])
    # Means of the outcome by answer: the weighted ones, and their differences to the last.
    means = z.T @ data["score"] / z.sum(axis=0)
    assert_allclose(fit.coefficients, [means[2], means[0] - means[2], means[1] - means[2]], rtol=1e-9)


def test_every_library_and_a_file_give_the_same(tmp_path: Path) -> None:
    data = survey(200, 5, DICE)
    formula, designs = "score ~ age + region + q0", {"q0": DICE}
    wanted = explain(formula, data, designs).coefficients
    frame = pd.DataFrame(data)
    frame.to_csv(tmp_path / "people.csv", index=False)
    table = pa.table(data)
    for same in (frame, pl.DataFrame(data), pl.LazyFrame(data), table, tmp_path / "people.csv"):
        assert_allclose(explain(formula, same, designs).coefficients, wanted, rtol=1e-9)


def test_versions_are_named_in_a_file_as_they_are_written(tmp_path: Path) -> None:
    data = survey(300, 15, DICE)
    data["version"] = np.where(np.arange(300) < 150, 1, 2)
    data["q0"] = np.where(np.arange(300) == 7, "perhaps", data["q0"])
    pd.DataFrame(data).to_csv(tmp_path / "people.csv", index=False)
    designs = {"q0": {"1": DICE, "2": RandomizedResponse(["yes", "no"], truth="2/3")}}
    with pytest.raises(ValueError, match="reports must be in the domain, but 1 is not: 'perhaps'"):
        explain("score ~ age + q0", tmp_path / "people.csv", designs, by="version")
    fit = explain("score ~ age + q0", tmp_path / "people.csv", designs, by="version", unknown="drop")
    assert (fit.people, fit.dropped) == (299, 1)
    same = explain("score ~ age + q0", data, designs, by="version", unknown="drop")
    assert_allclose(fit.coefficients, same.coefficients, rtol=1e-9)


def test_rows_with_something_missing_are_left_out_and_counted() -> None:
    data = survey(200, 6, DICE)
    frame = pd.DataFrame(data)
    frame.loc[[0, 1], "age"] = np.nan
    frame.loc[[1, 2], "q0"] = None
    frame.loc[3, "score"] = np.nan
    frame["unused"] = np.nan
    fit = explain("score ~ age + q0", frame, {"q0": DICE})
    assert (fit.people, fit.dropped) == (196, 4)
    assert "196 respondents, 4 left out because something is missing" in fit.text()
    rest = {name: values[4:] for name, values in data.items()}
    assert_allclose(fit.coefficients, explain("score ~ age + q0", rest, {"q0": DICE}).coefficients, rtol=1e-9)
    frame.loc[4, "w"] = 0.0  # a weight of zero, and nothing missing
    weighted = explain("score ~ age + q0", frame, {"q0": DICE}, weights="w")
    assert (weighted.people, weighted.dropped) == (195, 4)
    frame["version"] = ["dice", None] + 198 * ["dice"]
    frame.loc[5:6, "version"] = None
    by = explain("score ~ age + q0", frame, {"q0": {"dice": DICE}}, by="version")
    assert (by.people, by.dropped) == (194, 6)


@pytest.mark.parametrize(("family", "outcome"), [("linear", "score"), ("logit", "votes")])
@pytest.mark.parametrize("method", ["corrected", "ml"])
def test_order_units_and_the_reference_do_not_matter(family: Any, outcome: str, method: Any) -> None:
    data = survey(500, 7, COLOURS)
    options: Any = {"family": family, "method": method}
    fit = explain(f"{outcome} ~ age + q0", data, {"q0": COLOURS}, **options)
    order = np.random.default_rng(1).permutation(500)
    turned = {name: values[order] for name, values in data.items()} | {"age": data["age"][order] * 1000.0}
    other = Channel(COLOURS.channel()[::-1], ["blue", "green", "red"], ["red", "green", "blue"])
    again = explain(f"{outcome} ~ age + q0", turned, {"q0": other}, **options)
    intercept, age, red, green = fit.coefficients
    assert_allclose(again.coefficients, [intercept + red, age / 1000, -red, green - red], atol=1e-8)
    assert_allclose(again.errors[1] * 1000, fit.errors[1], rtol=1e-7)
    assert_allclose(again.errors[2], fit.errors[2], rtol=1e-7)
    if method == "ml":
        assert_allclose(again.log_likelihood, fit.log_likelihood, rtol=1e-10)  # type: ignore[arg-type]


def test_table_text_and_json_say_the_same() -> None:
    data = survey(300, 8, DICE)
    fit = explain("score ~ age + q0", data, {"q0": DICE})
    table = fit.table(level=0.9)
    assert list(table) == ["term", "estimate", "se", "statistic", "p", "low", "high", "freedom"]
    assert_allclose(table["high"] - table["low"], 2 * student.ppf(0.95, fit.freedom) * fit.errors, rtol=1e-6)
    assert_allclose(table["statistic"], fit.coefficients / fit.errors)
    written = json.loads(fit.to_json())
    assert (written["format"], written["version"], written["people"]) == ("warner explanation", 1, 300)
    assert [row["term"] for row in written["coefficients"]] == list(fit.names)
    assert_allclose([row["estimate"] for row in written["coefficients"]], fit.coefficients)
    assert_allclose([row["high"] for row in written["coefficients"]], fit.table()["high"])
    assert_allclose(written["covariance"], fit.covariance)
    assert written["designs"] == {"q0": [DICE.to_dict()]}
    text = fit.text()
    assert repr(fit) == text
    assert text.startswith("Linear regression of score, corrected for the randomization: age + q0\n")
    assert list(typeset(fit, 0.9).columns) == ["term", "estimate", "se", "90 % interval", "p"]
    assert "not on the outcome" in text
    assert "No distribution of the errors" in text
    assert "against the answer 'no' (q0)" in text
    assert fit.to_frame("polars").shape == (3, 8)
    likely = explain("score ~ age + q0", data, {"q0": DICE}, method="ml")
    assert "also learnt from the shape" in likely.text()
    assert "4 of 4 starts ended at this maximum" in likely.text()
    written = json.loads(likely.to_json())
    assert written["optima"] == [{"log_likelihood": likely.log_likelihood, "starts": 4}]
    assert written["deviation"] == likely.deviation


def test_few_clusters_use_students_t() -> None:
    data = survey(300, 9, DICE) | {"village": np.arange(300) // 30}
    fit = explain("score ~ age + q0", data, {"q0": DICE}, clusters="village")
    table = fit.table()
    assert fit.freedom is not None
    assert ((fit.freedom > 7) & (fit.freedom < 9)).all()
    assert_allclose(table["high"] - fit.coefficients, student.ppf(0.975, fit.freedom) * fit.errors, rtol=1e-9)
    assert_allclose(table["p"], 2 * student.sf(np.abs(table["statistic"]), fit.freedom), rtol=1e-9)


def test_few_respondents_have_bias_reduced_errors_and_a_warning() -> None:
    data = survey(14, 3, DIRECT)
    fit = explain("score ~ q0", data, {"q0": DIRECT})
    assert fit.clusters is None
    assert fit.freedom is not None
    assert (fit.freedom < 13).all()
    text = fit.text()
    assert "There are fewer than 15 respondents" in text
    assert "Respondents are few or unequal: standard errors are bias-reduced (CR2)" in text
    assert "cluster" not in text
    written = json.loads(fit.to_json())
    assert written["clusters"] is None
    assert written["notes"] == list(fit.notes)
    more = explain("score ~ q0", survey(60, 3, DIRECT), {"q0": DIRECT})
    assert "fewer than 15" not in more.text()
    # The effect of an answer that one respondent holds has no standard error; by HC0 it was 0.
    alone = data | {"q0": np.array(["yes"] + ["no"] * 13)}
    one = explain("score ~ q0", alone, {"q0": DIRECT})
    assert np.isnan(one.errors[1])
    assert "q0[yes] rests on one respondent alone: it has no standard error." in one.text()
    likely = explain("score ~ q0", data, {"q0": DIRECT}, method="ml")
    assert "There are fewer than 30 respondents" in likely.text()
    assert likely.freedom is None
    weighted = explain("score ~ q0", survey(60, 3, DIRECT), {"q0": DIRECT}, method="ml", weights="w")
    assert weighted.freedom is not None
    assert weighted.clusters is None


def test_strata_without_clusters_and_with_them() -> None:
    data = survey(300, 10, DICE) | {"county": np.arange(300) // 100}
    fit = explain("score ~ age + q0", data, {"q0": DICE}, strata="county")
    assert fit.stratified
    assert "in strata" in fit.text()
    plain = explain("score ~ age + q0", data, {"q0": DICE})
    assert_allclose(fit.errors, plain.errors, rtol=0.05)
    with pytest.raises(ValueError, match="clusters must lie in one stratum each"):
        explain("score ~ age + q0", data, {"q0": DICE}, strata="county", clusters="village")


def test_little_information_is_said() -> None:
    noisy = RandomizedResponse(["yes", "no"], truth="6/10")
    for seed in range(20):
        try:
            fit = explain("score ~ age + q0", survey(150, seed, noisy), {"q0": noisy})
        except ValueError as error:
            assert "too little information" in str(error)
            continue
        assert fit.strength is not None
        assert ("little information" in fit.text()) == (fit.strength < 3)


def test_a_design_that_does_not_tell_all_answers_needs_a_model_of_them() -> None:
    # Three answers and two reports: only the shape of the outcome's distribution could tell the rest.
    blurred = Channel([["9/10", "1/10"], ["1/2", "1/2"], ["1/10", "9/10"]], ["a", "b", "c"], ["yes", "no"])
    data = survey(300, 11, DICE)
    with pytest.raises(ValueError, match='method="ml"'):
        explain("score ~ q0", data, {"q0": blurred})


DATA = survey(100, 12, DICE)
FEW = {name: values[:3] for name, values in DATA.items()}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"formula": "score ~ age"}, "a term with the randomized answer 'q0'"),
        ({"formula": "q0 ~ age"}, "a term with the randomized answer 'q0'"),
        ({"formula": "q0 ~ age + q0"}, "use warner.regress"),
        ({"formula": "score ~ score + q0"}, "among its own predictors"),
        ({"formula": "score"}, "on="),
        ({"formula": "score ~ q0", "on": ["age"]}, "not both"),
        ({"formula": "score ~ q0 +"}, "formula"),
        ({"formula": "score ~ q0 + agee"}, "there is no column 'agee'; did you mean 'age'"),
        ({"formula": "scores ~ q0"}, "there is no column 'scores'; did you mean 'score'"),
        ({"formula": "region ~ q0"}, "must hold numbers, but holds texts"),
        ({"formula": "score ~ q0", "family": "logit"}, "must be 0 or 1"),
        ({"formula": "w0 ~ q0"}, "must differ between respondents"),
        ({"formula": "score ~ q0 + age + I(2 * age)"}, "follow"),
        ({"family": "probit"}, "family must be one of linear, logit, but got 'probit'"),
        ({"method": "em"}, "method must be one of"),
        ({"shares": "x"}, "shares must be one of"),
        ({"weights": "negative"}, "finite numbers of at least 0, but 1 is negative, missing or infinite"),
        ({"weights": "region"}, "weights must be a column of numbers"),
        ({"clusters": "w0"}, "at least two, but all respondents are in one"),
        ({"strata": "alone"}, "every stratum must have at least two people, but one has only one"),
        ({"clusters": "no such"}, "there is no column 'no such'"),
        ({"designs": DICE}, "designs must name the column"),
        ({"designs": {"q0": "dice"}}, "must be a Design"),
        ({"designs": {"q0": {"a": DICE}}}, "by must name the column"),
        ({"designs": {"q0": {"a": DICE, "b": COLOURS}}, "by": "region"}, "the same answers"),
        ({"designs": {"q0": {"east": DICE}}, "by": "region"}, "by must be a column of the names of designs"),
        ({"by": "region"}, "by names the design of each row, but there is one design for all"),
        ({"unknown": "skip"}, 'unknown must be "error" or "drop"'),
        ({"designs": {"q0": COLOURS}}, "reports must be in the domain, but 100 are not: "),
        ({"data": [1, 2]}, "data must be a data frame"),
        ({"formula": "score ~ age + w + q0", "data": FEW}, "as many coefficients as there are respondents"),
        ({"data": DATA | {"age": [1, 2]}}, "must have one value for each of the"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_reason_and_remedy(change: dict[str, Any], message: str) -> None:
    extra = {
        "w0": np.zeros(100),
        "negative": np.where(np.arange(100) == 7, -1.0, 1.0),
        "alone": np.minimum(np.arange(100), 1),
    }
    given: dict[str, Any] = {"formula": "score ~ age + region + q0", "data": DATA | extra, "designs": {"q0": DICE}}
    given |= change
    with pytest.raises((ValueError, TypeError), match=message.replace("(", r"\(")):
        explain(given.pop("formula"), given.pop("data"), given.pop("designs"), **given)


def test_levels_must_be_between_zero_and_one() -> None:
    with pytest.raises(ValueError, match=r"level must be between 0 and 1, such as 0.95, but got 95"):
        explain("score ~ q0", DATA, {"q0": DICE}).table(95)


def test_more_answers_than_can_be_gone_through_are_refused_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    data = {"x": [1, 2, 3, 4], "y": [0.0, 1.0, 0.0, 1.0]}
    with pytest.raises(
        ValueError, match="'x' must have at most 4,096 answers, but has 4,097, and every respondent"
    ) as told:
        explain("y ~ x", data, {"x": SquareWave(4097, epsilon=1)}, values={"x": "numbers"})
    assert "\n" not in str(told.value)
    monkeypatch.setattr(runtime, "available", lambda: 4 * 50 * 119)
    with pytest.raises(ValueError, match="200 entries, one for each respondent and each of 50 answers, need about 24"):
        explain("y ~ x", data, {"x": SquareWave(50, epsilon=1)}, values={"x": "numbers"})
