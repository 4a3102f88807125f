"""From a weighted survey with gaps to tables for a paper, in Python and in the shell.

Also of inference/answer_tables and regression/descriptions: unweighted numbers, respondents left out, several models.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from warner import RandomizedResponse, Tally, estimate, estimate_groups, plan, pool, regress, regression_table, tally
from warner.results import typeset
from warner.surveys import crosswise

if TYPE_CHECKING:
    from cli.shell import Prompt

SURVEY = RandomizedResponse(["yes", "no"], truth="3/4")
SIZE = 1_200


@pytest.fixture(scope="module")
def people() -> Any:
    """Return 1,200 respondents: 120 without a weight, 200 without age, 150 without region, of whom 32 without both."""
    rng = np.random.default_rng(11)
    age = rng.integers(18, 80, SIZE).astype(np.float64)
    yes = rng.random(SIZE) < 1 / (1 + np.exp(2 - 0.03 * age))
    answers = np.where(yes ^ (rng.random(SIZE) > 0.75), "yes", "no")
    frame = pd.DataFrame({"answer": answers, "age": age, "region": rng.choice(["north", "south"], SIZE)})
    frame["weight"] = np.where(np.arange(SIZE) < 120, 0.0, rng.uniform(0.1, 0.7, SIZE))
    frame.loc[200:399, "age"] = np.nan
    frame.loc[368:517, "region"] = None
    return frame


@pytest.fixture(scope="module")
def models(people: Any) -> list[Any]:
    plain = regress("answer ~ age", people, SURVEY)
    return [plain, regress("answer ~ age + region", people, SURVEY, weights="weight")]


# Weighted tables


@pytest.mark.parametrize("by", [None, "region"])
def test_weighted_tables_have_respondents_and_standard_errors(people: Any, by: str | None) -> None:
    weighted = people.dropna(subset=["region"]) if by else people
    result: Any = estimate(tally(weighted, SURVEY, column="answer", weights="weight", by=by))
    positive = weighted[weighted.weight > 0]
    n: Any = len(positive) if by is None else positive.groupby("region").size().to_numpy()
    assert np.array_equal(result.tally.people, n)
    total = f"({np.sum(n):,} respondents)"
    for text in (result.text(), result.to_latex(), result.to_markdown(), result._repr_html_()):
        assert total in text
        assert re.search(r"\bse\b", text)
    shown = typeset(result).columns
    errors = 100 * result.table()["se"][:: result.tally.k]
    assert [float(error) for error in shown["se"]] == pytest.approx(errors, abs=0.051)
    document = result.to_dict()
    assert document["respondents"] == np.sum(n)
    assert [row["respondents"] for row in document["values"]] == np.repeat(n, 2).tolist()
    if by:
        assert shown["respondents"] == [f"{number:,}" for number in n]
        mean: Any = result.mean([1, 0])
        assert mean.table()["respondents"].tolist() == mean.to_dict()["respondents"] == n.tolist()
        pooled = estimate_groups(result.tally)
        assert typeset(pooled).columns["respondents"] == shown["respondents"]
        assert pooled.to_dict()["respondents"] == np.sum(n)


def test_tables_without_weights_are_as_before(people: Any) -> None:
    result: Any = estimate(tally(people, SURVEY, column="answer"))
    assert result.tally.people is None
    assert "respondents" not in result.to_dict()
    assert {"se", "respondents"}.isdisjoint(typeset(result).columns)


@pytest.mark.parametrize(
    "made", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas, duckdb.from_df, lambda frame: frame.to_dict("list")]
)
def test_every_engine_counts_respondents_with_a_weight(people: Any, made: Any) -> None:
    data = made(people[["answer", "weight"]])
    assert tally(data, SURVEY, column="answer", weights="weight").people == int((people.weight > 0).sum())


def test_respondents_are_saved_and_added_up(people: Any, prompt: Prompt) -> None:
    path = prompt.folder / "people.csv"
    people.dropna(subset=["region"]).assign(school=np.arange(1_050) % 30).to_csv(path, index=False)
    words = ("people.csv", "-c", "answer", "--domain", "yes,no", "--truth", "3/4", "--weights", "weight")
    prompt.prints("tally", *words, "--by", "region", "-o", "tally.json")
    saved: Any = Tally.load(prompt.folder / "tally.json")
    assert saved.aggregate().people == sum(saved.people) == (saved + saved).aggregate().people / 2
    assert saved.filter(region="north").people.tolist() == [saved.people[0]]
    clustered: Any = tally(path, SURVEY, column="answer", weights="weight", by="region", clusters="school")
    read: Any = Tally.from_json(clustered.to_json())
    assert clustered.people.tolist() == read.people.tolist() == saved.people.tolist()
    assert "respondents" not in estimate(Tally(SURVEY, [2.5, 1.5], squares=3.0)).to_dict()  # which does not say so
    both = estimate(pool([saved.aggregate(), Tally(SURVEY, [2.5, 1.5], squares=3.0)]))
    assert "respondents" not in both.to_dict()


# Regressions


def test_respondents_left_out_are_counted_by_column(models: list[Any], people: Any) -> None:
    plain, weighted = models
    assert plain.model_data.without == {"age": 200}
    assert "1,000 respondents used; 200 left out: 200 without age." in plain.text()
    usable = people[people.weight > 0]
    without = {name: int(usable[name].isna().sum()) for name in ("age", "region")}
    assert weighted.to_dict()["missing_by"] == without == {"age": 200, "region": 150}
    text = weighted.text().replace("\n", " ")
    assert "438 left out: 200 without age, 150 without region, 120 with a weight of zero, some without several." in text
    assert weighted.dropped == 200 + 150 - 32 + 120


def test_a_paper_table_has_two_lines_of_notes(models: list[Any]) -> None:
    plain, _ = models
    first, second = typeset(plain).notes
    assert first == (
        "N = 1,000 respondents (200 left out: 200 without age); standard errors from the observed information."
    )
    assert second.startswith("Epsilon 1.099; given the true answer, reports are assumed independent of the covariates;")
    assert "Privacy: covariates are stored in the clear" in plain.text()
    assert "Privacy:" not in plain.to_latex() + plain.to_markdown() + plain.to_html() + plain._repr_html_()


def test_caveats_of_coefficients_are_in_a_paper_table_too(people: Any) -> None:
    few = regress("answer ~ age", people[people.age.notna()].tail(60), SURVEY)
    assert few.notes
    for note in few.notes:
        assert note in few.to_markdown()
        assert f"(1): {note}" in regression_table([few]).to_markdown()


def test_several_models_are_one_table(models: list[Any]) -> None:
    table = regression_table(models)
    shown = typeset(table).columns
    terms = ["age", "region[T.south]", "Intercept", "respondents", "log-likelihood", "AIC", "BIC"]
    assert shown["term"] == terms
    for name, fit in zip(("(1)", "(2)"), models, strict=True):
        own = typeset(fit).columns
        cells = {
            term: f"{value} ({error})"
            for term, value, error in zip(own["term"], own["log-odds"], own["se"], strict=True)
        }
        assert dict(zip(shown["term"], shown[name], strict=True)) == cells | {
            "region[T.south]": cells.get("region[T.south]", ""),
            "respondents": f"{fit.people:,}",
            "log-likelihood": f"{fit.log_likelihood:,.1f}",
            "AIC": "" if fit.criteria.aic is None else f"{fit.criteria.aic:,.1f}",
            "BIC": "" if fit.criteria.bic is None else f"{fit.criteria.bic:,.1f}",
        }
    assert len(typeset(table).notes) == 2
    frame = table.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame["estimate"].tolist() == [*models[0].coefficients, *models[1].coefficients]
    assert [model["people"] for model in table.to_dict()["models"]] == [fit.people for fit in models]
    for text in (table.text(), table.to_latex(), table.to_markdown(), table.to_html(), table._repr_html_()):
        assert "762" in text
    odds = regression_table(models[:1], names=["odds"], odds=True)
    assert odds.table()["odds_ratio"].tolist() == np.exp(models[0].coefficients).tolist()
    assert "odds" in typeset(odds).columns


@pytest.mark.parametrize(
    ("models_given", "options", "complaint"),
    [
        ([], {}, "models must be a list of regressions"),
        (["answer ~ age"], {}, "models must be a list of regressions"),
        (3, {}, "models must be a list of regressions, .* but got 3"),
        (None, {"names": ["a"]}, "names must be 2 different names of models, but got"),
        (None, {"names": ["a", "a"]}, "names must be 2 different names of models, but got"),
        (None, {"names": ["a", "term"]}, "names must be 2 different names of models, but got"),
    ],
)
def test_wrong_models_are_named(models: list[Any], models_given: Any, options: Any, complaint: str) -> None:
    with pytest.raises((TypeError, ValueError), match=complaint):
        regression_table(models if models_given is None else models_given, **options)


def test_the_shell_has_margins_and_several_models(people: Any, models: list[Any], prompt: Prompt) -> None:
    people.to_csv(prompt.folder / "people.csv", index=False)
    SURVEY.save(prompt.folder / "dice.json")
    base = ("regress", "people.csv", "answer ~ age", "-d", "dice.json")
    said = prompt.prints(*base, "--margins")
    margins = models[0].margins()
    assert margins.text() in said
    assert models[0].text() in said
    document = json.loads(prompt.prints(*base, "--margins", "--json"))
    assert document["margins"] == margins.to_dict()
    prompt.prints(*base, "--margins", "-o", "margins.tex")
    assert (prompt.folder / "margins.tex").read_text() == f"{margins.to_latex()}\n"
    other = regress("answer ~ age + region", people, SURVEY)
    table = regression_table([models[0], other])
    also = (*base, "--also", "answer ~ age + region")
    assert prompt.prints(*also) == f"{table.text()}\n"
    for ending, text in ((".tex", table.to_latex()), (".md", table.to_markdown()), (".html", table.to_html())):
        prompt.prints(*also, "-o", f"table{ending}")
        assert (prompt.folder / f"table{ending}").read_text() == f"{text}\n"
    assert json.loads(prompt.prints(*also, "--json")) == json.loads(table.to_json())
    assert "leave --margins out" in prompt.complains(*also, "--margins")
    assert "--also must be a formula" in prompt.complains(*base, "--also", "region")


def test_a_share_without_an_interval_names_the_command_that_has_one(people: Any) -> None:
    small = people.assign(party=np.where(np.arange(SIZE) % 24 == 0, "small", "large"))
    small.loc[small.party == "small", "answer"] = np.where(np.arange(50) % 5 == 0, "yes", "no")  # below 25 %: share 0
    fit = regress("answer ~ party", small, SURVEY, weights="weight")
    predicted = fit.predict({"party": ["small", "large"]})
    assert predicted.table()["share"][0] < 1e-6
    for text in (predicted.text(), predicted.to_latex(), " ".join(predicted.to_dict()["notes"]), fit.margins().text()):
        words = " ".join(text.replace("-{}-", "--").split())
        assert "The share of a group always has a design-based interval" in words
        assert "warner estimate --by" in words
    found = estimate(tally(small, SURVEY, column="answer", weights="weight", by="party"))
    assert np.isfinite(found.table()["high"]).all()
    plain = regress("answer ~ party", small, SURVEY).predict({"party": ["small", "large"]})
    assert "design-based" not in plain.text()


# Codes


CODES = [1, 0, 1, 1, 0]


def spelled(kind: str) -> list[Any]:
    spellings: dict[str, list[Any]] = {
        "numbers": list(CODES),
        "doubles": [float(code) for code in CODES],
        "texts": [str(code) for code in CODES],
        "texts of doubles": [f"{code}.0" for code in CODES],
    }
    return spellings[kind]


@pytest.mark.parametrize("reports", [["1", "0"], [1, 0]])
@pytest.mark.parametrize("kind", ["numbers", "doubles", "texts", "texts of doubles"])
@pytest.mark.parametrize("unknown", ["error", "drop"])
def test_codes_are_the_same_in_every_spelling_and_engine(
    reports: list[Any], kind: str, unknown: str, prompt: Prompt
) -> None:
    design, values = crosswise("1/4", reports=reports), spelled(kind)
    frame = pd.DataFrame({"a": values, "g": [0, 1, 0, 1, 1]})
    frame.to_csv(prompt.folder / "codes.csv", index=False)
    frame.to_parquet(prompt.folder / "codes.parquet")
    sources: list[Any] = [frame, pl.from_pandas(frame), pa.Table.from_pandas(frame), duckdb.from_df(frame)]
    sources += [frame.to_dict("list"), prompt.folder / "codes.csv", prompt.folder / "codes.parquet"]
    for source in sources:
        found = tally(source, design, column="a", unknown=unknown)
        assert (found.counts.tolist(), found.unknown) == ([3, 2], 0)
    assert tally(values, design, unknown=unknown).counts.tolist() == [3, 2]
    assert tally(np.array(values), design, unknown=unknown).counts.tolist() == [3, 2]
    gaps = frame.assign(a=[*values[:4], None])
    assert (tally(gaps, design, column="a").counts.tolist(), tally(gaps, design, column="a").missing) == ([3, 1], 1)
    large = pd.concat([frame] * 8)
    assert regress("a ~ g", large, design).people == 40


def test_codes_that_are_ambiguous_or_no_numbers_stay_apart() -> None:
    ambiguous = RandomizedResponse(["1", "01"], truth="3/4")
    with pytest.raises(ValueError, match="reports must be in the domain, but 1 is not: 1 "):
        tally([1], ambiguous)
    with pytest.raises(ValueError, match="but 1 is not: True"):
        tally([True], RandomizedResponse(["1", "0"], truth="3/4"))
    with pytest.raises(ValueError, match=r"but 1 is not: 0\.5"):
        tally([0.5], RandomizedResponse(["1", "0"], truth="3/4"))
    assert tally([1, 2.0, "3"], RandomizedResponse(["1", "2", "3"], odds=(2, 1))).counts.tolist() == [1, 1, 1]


def test_a_missing_value_of_another_program_points_to_missing(prompt: Prompt) -> None:
    (prompt.folder / "r.csv").write_text("a,g\nyes,1\nNA,2\nno,3\n")
    SURVEY.save(prompt.folder / "dice.json")
    remedy = "If 'NA' is a missing value, give missing=\"NA\","
    with pytest.raises(ValueError, match=re.escape(remedy)):
        tally(prompt.folder / "r.csv", SURVEY, column="a")
    with pytest.raises(ValueError, match=re.escape(remedy)):
        regress("a ~ g", prompt.folder / "r.csv", SURVEY)
    assert "give --missing NA, or leave them out with --unknown drop" in prompt.complains(
        "estimate", "r.csv", "-c", "a", "-d", "dice.json"
    )
    prompt.prints("estimate", "r.csv", "-c", "a", "-d", "dice.json", "--missing", "NA")


# Plans


def test_predicted_errors_of_a_plan_can_be_repeated_and_are_precise() -> None:
    survey, share = RandomizedResponse(4, epsilon=1), [0.7, 0.2, 0.06, 0.04]
    first, again = (plan(survey, people=500, population=share).errors for _ in range(2))
    assert first == again
    others = [plan(survey, people=500, population=share, rng=np.random.default_rng(seed)).errors for seed in range(5)]
    # 100 surveys beside the exact error of inv: standard errors below 3 %, so 15 % is five of them.
    assert all(one[name] == pytest.approx(first[name], rel=0.15) for one in others for name in first)
    assert "Design: crosswise, 2 answers" in plan(crosswise("1/4"), people=500).text()
