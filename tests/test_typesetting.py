"""Tables for papers: the digits that mean something, every label as it is, and what the numbers rest on."""

from __future__ import annotations

import importlib
import pkgutil
import re
from functools import cache
from html import unescape
from html.parser import HTMLParser
from inspect import isabstract
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import warner
from cases import COIN, DIRECT
from regression_cases import fit_of, people_of
from warner import RandomizedResponse, Tally, estimate, plan, surveys
from warner.inference.means import quantile_name
from warner.inference.quantities import Quantities
from warner.noncompliance import cheating_detection, sensitivity
from warner.noncompliance.trait_regressions import unrelated_question_regression
from warner.results import Result, typeset
from warner.text import level_text
from warner.typesetting import Printed, html, latex, markdown, number_text, rounded

if TYPE_CHECKING:
    from collections.abc import Callable

SURVEY = RandomizedResponse(["50 % & more", "a_b|c", "<none>"], odds=(6, 1))
COUNTS = [400, 350, 250]
DRINKS = warner.SquareWave(range(7), epsilon=1)
DRINK_COUNTS = [list(range(90, 90 + 10 * (7 + 2 * DRINKS.width), 10)), list(range(10, 10 + 7 + 2 * DRINKS.width))]
DRINKS_BY_REGION = Tally(DRINKS, DRINK_COUNTS, by=("region",), groups=(("north",), ("south",)))
WORDS = warner.OpenDomain(epsilon=4, letters="a-z", length=4)
WEEKS = Tally(SURVEY, [COUNTS, [40, 30, 30], [0, 0, 0]], by=("week",), groups=((1,), (2,), (None,)))


def test_every_form_has_the_numbers_of_the_table() -> None:
    result = estimate(Tally(SURVEY, COUNTS))
    table = result.table(level=0.9)
    for text in (result.to_markdown(level=0.9), result.to_latex(level=0.9), result.to_html(level=0.9)):
        for share, low, high in zip(table["share"], table["low"], table["high"], strict=True):
            assert f"{100 * share:.2f}" in text
            assert f"{100 * low:.2f} to {100 * high:.2f}" in text
        assert "90" in text
        assert "outside" not in text


def test_wide_intervals_have_fewer_digits_and_short_ones_more() -> None:
    text = estimate(Tally(surveys.crosswise("1/4"), [30, 50])).to_markdown()
    assert re.search(r"\| \d+\.\d \|", text)
    assert not re.search(r"\d\.\d\d \|", text)
    # 10^8 direct answers: the interval of a share of 10^-5 is 4 sqrt(10^-5 / 10^8) long, 0.00012 points.
    direct = estimate(Tally(RandomizedResponse(["rare", "common"], odds=(1, 0)), [1000, 10**8 - 1000]))
    assert typeset(direct).columns["share (%)"] == ["0.001000"]


def test_numbers_that_differ_are_written_differently_near_the_limit_of_doubles() -> None:
    low = 10**15
    result = estimate(Tally(RandomizedResponse(range(low, low + 3), odds=(9, 1)), [400, 300, 300]))
    for quantity, lowest in ((result.mean(), "1,000,000,000,000,001, "), (result.median(), "1,000,000,000,000,001, ")):
        text = quantity.text()
        assert "e+" not in text
        assert lowest in text
    for number in (1e15 + 1, 1e15 + 0.125, 2.0**53 - 1, 2.0**53, 1e16 + 2, 1e300):
        assert float(number_text(number).replace(",", "")) == number
    assert rounded(1e15 + 1.25, 3) == "1,000,000,000,000,001"  # of a double there, no decimals are left


def test_a_level_below_one_is_never_a_hundred_percent() -> None:
    assert [level_text(level) for level in (0.5, 0.95, 1 - 0.05 / 3)] == ["50 %", "95 %", "98.3333 %"]
    for nines in range(2, 13):
        assert level_text(1 - 10.0**-nines) == f"99{'.' * (nines > 2)}{'9' * (nines - 2)} %"
    assert level_text(0.9999996) == "99.99996 %"
    result = estimate(Tally(SURVEY, COUNTS))
    assert "99.9999999 % interval" in result.text(level=0.999999999)
    assert "99.9999999 % interval" in result.interval("a_b|c", level=0.999999999).text()
    assert "level 99.9999999 %" in warner.check(result.tally, level=0.999999999, simulations=19).text()
    assert "100 %" not in quantile_name(0.999999999)


def test_what_is_approximate_says_so() -> None:
    weighted = estimate(Tally(SURVEY, [400.0, 350.0, 250.0], squares=1200.0))
    assert "approximate 95 % interval" in weighted.to_markdown()
    assert "weights count as 833.3 reports" in weighted.to_markdown()
    assert "approximate" not in estimate(Tally(SURVEY, COUNTS)).to_latex()


def test_groups_have_their_number_of_reports_in_every_form() -> None:
    result = estimate(WEEKS)
    assert typeset(result).columns["week"][::3] == ["1", "2", "(missing)"]
    assert typeset(result).columns["reports"][::3] == ["400 of 1,000", "40 of 100", "0 of 0"]
    for text in (result.text(), result.to_markdown(), result.to_latex(), result.to_html(), result._repr_html_()):
        assert "400 of 1,000" in text
        assert "40 of 100" in text
        assert "(missing)" in text
        assert "None" not in text
    pooled = warner.pool([WEEKS, Tally(RandomizedResponse(list(SURVEY.domain), odds=(3, 1)), WEEKS.counts, by=("week",),
                                       groups=WEEKS.groups)])  # fmt: skip
    assert typeset(estimate(pooled)).columns["N"][::3] == ["2,000", "200", "0"]


def test_what_a_table_rests_on_stands_below_it() -> None:
    result = estimate(Tally(SURVEY, COUNTS, missing=4))
    for text in (result.to_markdown(), result.to_latex(), result.to_html()):
        assert "Estimated shares (mle) from 1,000 reports among 3 answers, epsilon 1.792, 4 missing left out" in text
    two = estimate(Tally(COIN, [40, 60])).to_markdown()
    assert two.startswith(
        "Estimated shares (mle) from 100 reports among 2 answers, epsilon 1.099\n\n| value | reports |"
    )
    assert "The share of 'no' is 100 % minus that of 'yes'." in two


@pytest.mark.filterwarnings("ignore:the reports do not seem to fit:UserWarning")
def test_a_share_outside_its_interval_is_marked_and_a_misfit_is_said() -> None:
    table = typeset(estimate(Tally(COIN, [5, 95]), method="inv"))
    assert table.columns["share (%)"] == ["-40.00*"]
    assert any(note.startswith("* outside its own interval: a negative share") for note in table.notes)
    assert any(note.startswith("Warning: the reports do not seem to fit") for note in table.notes)


def test_labels_survive() -> None:
    texts = ["50 % & more", "a_b|c", "<none>", "a\nb", "x\\y^z~", "[18, 25)", "*", "--", "<18"]
    table = Printed({"value": texts, "n|m": [str(i) for i in range(len(texts))]}, "of 'a_b'", ("N < 5.",))
    written = latex(table)
    assert r"50 \% \& more & 0 \\" in written
    assert r"x\textbackslash{}y\textasciicircum{}z\textasciitilde{} & 4 \\" in written
    # A bracket or a star after a rule or the end of a row would be an option of it.
    assert "\n{}[18, 25) & 5" in written
    assert "\n{}* & 6" in written
    assert "\n-{}- & 7" in written
    assert r"\textless{}none\textgreater{} & 2" in written
    assert r"value & n\textbar{}m \\" in written
    assert r"of `a\_b'. N \textless{} 5." in written
    lines = markdown(table).splitlines()
    assert r"| a_b\|c | 1 |" in lines
    assert r"| \<none> | 2 |" in lines
    assert r"| \* | 6 |" in lines
    assert r"| value | n\|m |" in lines
    assert len(lines) == 2 + 2 + len(texts) + 2
    shown: list[str] = []

    class Cells(HTMLParser):
        def handle_data(self, data: str) -> None:
            shown.append(data)

    Cells().feed(html(table))
    assert set(texts) <= set(shown)


def test_a_minus_is_a_minus_in_latex_but_not_in_a_label() -> None:
    table = Printed({"term": ["north-south", "-1"], "log-odds": ["-0.5", "<0.001"], "95 %": ["-inf to -0.1", "1 to 2"]})
    assert r"north-south & $-$0.5 & $-$inf to $-$0.1 \\" in latex(table)
    assert r"-1 & \textless{}0.001 & 1 to 2 \\" in latex(table)


# Regressions


def test_a_regression_has_people_references_and_criteria_below_its_table() -> None:
    data = people_of("A_binary_forced_response")
    data["region"] = ["north" if value else "south" for value in data["d"]]
    fit = warner.regress("answer ~ x + region", data, surveys.forced_response(truth="2/3", yes="1/6"), counts="people")
    criteria = fit.criteria
    for text in (fit.to_markdown(), fit.to_latex(), unescape(fit.to_html())):
        assert f"N = {fit.people:,} respondents" in text
        assert "levels are compared with region = north." in text
        assert f"log-likelihood {fit.log_likelihood:,.2f}, AIC {criteria.aic:,.2f}, BIC {criteria.bic:,.2f}" in text
        assert "against" in text
        assert "e-" not in text.replace("pre-", "")
    assert typeset(fit).title == "Log-odds of 'yes' against 'no': answer ~ x + region"
    assert list(typeset(fit).columns) == ["term", "log-odds", "se", "95 % interval (profile likelihood)", "p"]


def test_a_coefficient_has_two_digits_of_its_error() -> None:
    fit = fit_of("A", errors="observed")
    columns, table = typeset(fit, interval="wald").columns, fit.table(interval="wald")
    for place, error in enumerate(table["se"]):
        digits = columns["se"][place].replace(".", "").lstrip("0")
        assert len(digits) == 2
        assert float(columns["se"][place]) == pytest.approx(error, rel=0.05)
        decimals = len(columns["se"][place].partition(".")[2])
        assert columns["log-odds"][place] == f"{table['estimate'][place]:.{decimals}f}"


@pytest.mark.parametrize("letter", ["A", "B"])
def test_odds_ratios_are_called_so_and_their_errors_are_theirs(letter: str) -> None:
    fit = fit_of(letter)
    plain, ratios = fit.table(), fit.table(odds=True)
    assert "estimate" not in ratios
    np.testing.assert_allclose(ratios["odds_ratio"], np.exp(plain["estimate"]), rtol=1e-12)
    np.testing.assert_allclose(ratios["low"], np.exp(plain["low"]), rtol=1e-12)
    # The delta method, by a difference: a coefficient that moves by h standard errors moves its ratio by h of its own.
    h = 1e-6
    moved = (np.exp(plain["estimate"] + h * plain["se"]) - np.exp(plain["estimate"])) / h
    np.testing.assert_allclose(ratios["se"], moved, rtol=1e-5)
    np.testing.assert_array_equal(ratios["p"], plain["p"])
    printed = typeset(fit, odds=True)
    assert "odds ratio" in printed.columns
    assert "estimate" not in printed.columns
    assert printed.title.startswith("Odds ratios of ")
    for text in (fit.text(odds=True), fit.to_markdown(odds=True), fit.to_latex(odds=True), fit.to_html(odds=True)):
        assert "Odds ratios of" in text
        assert "Log-odds" not in text
        assert "by the delta method" in text
        assert "Intercept is shown as the odds themselves" in " ".join(text.split())
    record = fit.to_dict(odds=True)
    assert record["odds"] is True
    assert record["coefficients"][0]["odds_ratio"] == ratios["odds_ratio"][0]
    assert fit.plot(odds=True).get_title(loc="left").startswith("Odds ratios of")


def test_an_infinite_odds_ratio_has_no_error() -> None:
    table = fit_of("D").table(odds=True)
    lost = ~np.isfinite(fit_of("D").coefficients)
    assert lost.any()
    assert np.isnan(table["se"][lost]).all()
    assert "inf" not in typeset(fit_of("D"), odds=True).columns["se"]


def test_an_ordered_model_says_what_its_ratios_are_of() -> None:
    printed = typeset(fit_of("B", model="ordered"), odds=True)
    assert printed.title.startswith("Odds ratios of later against earlier answers")
    assert "Cutpoints are shown as the odds of the answers up to there" in " ".join(printed.notes)


# Every result


@cache
def people() -> dict[str, list[Any]]:
    rng = np.random.default_rng(1)
    trait, other = (rng.choice(["yes", "no"], 2000).tolist() for _ in range(2))
    income = rng.normal(0, 1e6, 2000)  # coefficients of the order of 1e-7
    outcome = 1e-6 * income + (np.array(trait) == "yes") + rng.normal(0, 1, 2000)
    sample = ["a", "b"] * 1000
    return {"trait": trait, "other": other, "income": income.tolist(), "outcome": outcome.tolist(), "sample": sample}


@cache
def rich() -> Any:
    return warner.regress("trait", people(), COIN, on=["income"])


def reported_words() -> Any:
    words = ["tea"] * 1500 + ["milk"] * 1500
    reports = WORDS.draw(WORDS.values.encoded(words).blocks, np.random.default_rng(3).bytes)
    return warner.tally(reports, WORDS, codes=True)


@cache
def pupils_by_school() -> Any:
    rng = np.random.default_rng(5)
    school = rng.integers(8, size=400)
    pupils = {"school": school.tolist(), "cheated": (rng.random(400) < 0.2 + 0.05 * school).astype(int).tolist()}
    return warner.regress("cheated ~ (1 | school)", pupils, warner.RandomizedResponse([0, 1], odds=(1, 0)))


MAKERS: dict[str, Callable[[], Result]] = {
    "estimate": lambda: estimate(Tally(SURVEY, COUNTS)),
    "estimate of two answers": lambda: estimate(Tally(COIN, [40_000, 60_000])),
    "estimate by group": lambda: estimate(WEEKS),
    "groups": lambda: warner.estimate_groups(WEEKS),
    "intervals of groups": lambda: warner.estimate_groups(WEEKS).interval(),
    "test of groups": lambda: warner.estimate_groups(WEEKS).test(),
    "ranks of groups": lambda: warner.estimate_groups(WEEKS).ranks("<none>"),
    "interval": lambda: estimate(Tally(SURVEY, COUNTS)).interval(),
    "mean": lambda: estimate(Tally(DRINKS, DRINK_COUNTS[0])).mean(),
    "mean by group": lambda: estimate(DRINKS_BY_REGION).mean(),
    "means of groups": lambda: warner.estimate_groups(DRINKS_BY_REGION).mean(),
    "standard deviation": lambda: estimate(Tally(DRINKS, DRINK_COUNTS[0])).standard_deviation(),
    "quantile": lambda: estimate(Tally(DRINKS, DRINK_COUNTS[0])).quantile(0.9),
    "comparison of means": lambda: estimate(DRINKS_BY_REGION).compare_means(between=("north", "south")),
    "share beyond a number": lambda: estimate(Tally(DRINKS, DRINK_COUNTS[0])).interval(above=3),
    "share beyond a number by group": lambda: estimate(DRINKS_BY_REGION).interval(within=(1, 2)),
    "quantities": lambda: Quantities(
        (
            estimate(DRINKS_BY_REGION).mean(),
            estimate(DRINKS_BY_REGION).quantile(0.5),
            estimate(DRINKS_BY_REGION).interval(below=2),
            estimate(DRINKS_BY_REGION).compare_means(between=("north", "south")),
            estimate(Tally(SURVEY, COUNTS)).totals(population=5_000_000),
        ),
        ("N = 1,000 reports.",),
    ),
    "totals": lambda: estimate(Tally(SURVEY, COUNTS)).totals(population=5_000_000),
    "discovery": lambda: warner.discover(reported_words()),
    "check of open answers": lambda: warner.check(reported_words()),
    "plan of an open domain": lambda: plan(WORDS, people=10_000),
    "comparison": lambda: estimate(Tally(SURVEY, COUNTS)).compare("50 % & more", "<none>"),
    "comparison by group": lambda: estimate(WEEKS).compare("50 % & more", "<none>"),
    "comparisons": lambda: warner.compare_samples(Tally(SURVEY, COUNTS), Tally(SURVEY, COUNTS[::-1])),
    "ranking": lambda: estimate(Tally(SURVEY, COUNTS)).commonest(1),
    "presence": lambda: estimate(Tally(SURVEY, COUNTS)).present(),
    "presence by group": lambda: estimate(WEEKS).present(),
    "check": lambda: warner.check(Tally(SURVEY, COUNTS)),
    "check by group": lambda: warner.check(WEEKS),
    "plan": lambda: plan(SURVEY, people=1000),
    "plan of a test": lambda: plan(COIN, share=0.2, reference=0.05, power=0.9),
    "plan of several questions": lambda: plan(warner.SelectAll(["a", "b", "c"], epsilon=1), people=1000),
    "plan of a mean": lambda: plan(DRINKS, people=1000, quantity="mean"),
    "mechanisms": lambda: warner.mechanisms(1000, epsilon=2, people=10**6),
    "audit": lambda: warner.audit(COIN.randomize, COIN, runs=200),
    "regression": rich,
    "regression table": lambda: warner.regression_table([rich(), fit_of("A")]),
    "regression of three answers": lambda: fit_of("B"),
    "ordered regression": lambda: fit_of("B", model="ordered"),
    "linear regression": lambda: fit_of("A", model="linear"),
    "infinite regression": lambda: fit_of("D"),
    "penalised regression": lambda: fit_of("D", penalty="jeffreys"),
    "spread between groups": lambda: pupils_by_school().spread(),
    "effects of groups": lambda: pupils_by_school().effects(),
    "prediction": lambda: rich().predict({"income": [-1e6, 1e6]}),
    "mean prediction": lambda: fit_of("B").predict(),
    "margins": lambda: rich().margins(),
    "margins of three answers": lambda: fit_of("B").margins(),
    "tests": lambda: rich().terms(),
    "model check": lambda: rich().check(),
    "sensitivities": lambda: fit_of("A").sensitivity("no", (0, 0.1)),
    "association": lambda: warner.associate(people(), {"trait": COIN, "other": DIRECT}, simulations=99),
    "explanation": lambda: warner.explain("outcome", people(), {"trait": COIN}, on=["income"]),
    "likely explanation": lambda: warner.explain("outcome", people(), {"trait": COIN}, on=[], method="ml"),
    "sensitivity": lambda: sensitivity(Tally(surveys.warner("3/4"), [400, 600]), "no"),
    "two samples": lambda: cheating_detection((260, 340), (1000, 1000), ("0.8", "0.2")),
    "trait regression": lambda: unrelated_question_regression(
        "trait", people(), {"a": "0.8", "b": "0.2"}, on=["income"], by="sample"
    ),
}


@cache
def result_of(name: str) -> Any:
    return MAKERS[name]()


def kinds(of: type[Result] = Result) -> set[type[Result]]:
    below = of.__subclasses__()
    return set(below).union(*(kinds(one) for one in below))


def test_every_kind_of_result_is_among_those_that_are_tested() -> None:
    for module in pkgutil.walk_packages(warner.__path__, "warner."):
        if not module.name.startswith(("warner.service", "warner.cli", "warner.__main__")):
            importlib.import_module(module.name)
    tested = {kind for result in map(result_of, MAKERS) for kind in type(result).__mro__}
    siblings = {"UnrelatedQuestion", "LieDetector", "AnchoredCrosswise", "ExtendedCrosswise"}  # as CheatingDetection
    found = {kind for kind in kinds() if kind.__module__.startswith("warner.") and not isabstract(kind)}
    missing = {kind.__name__ for kind in found} - siblings
    assert sorted(missing - {kind.__name__ for kind in tested}) == []


@pytest.mark.parametrize("form", ["to_markdown", "to_latex", "to_html"])
@pytest.mark.parametrize("name", list(MAKERS))
def test_every_result_has_a_table_with_meaningful_digits(name: str, form: str) -> None:
    result = result_of(name)
    text: str = getattr(result, form)()
    cells = [cell for texts in typeset(result).columns.values() for cell in texts]
    assert cells
    for cell in cells:
        assert not re.search(r"\d(\.\d+)?e[-+]?\d", cell), cell  # no power of ten
        assert "nan" not in cell.lower()
        assert "None" not in cell
        number = re.fullmatch(r"[-+]?[\d,]*\.(\d+)\*?", cell)
        if number:  # at most six digits after the zeros that lead
            assert len(number[1].lstrip("0")) <= 6, cell
    assert typeset(result).title or name == "interval"
    assert text


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in {"interval", "plan", "mechanisms"}])
def test_every_result_says_how_many_people_it_rests_on(name: str) -> None:
    printed = typeset(result_of(name))
    said = " ".join([printed.title, *printed.notes, *printed.columns])
    number = r"N = [\d,]+|[\d,]+ (people|person|respondents?|runs|reports)"
    assert re.search(rf"{number}|two samples|reports|Tests in|against", said)


def test_p_values_are_bounded_in_every_table() -> None:
    for name, result in ((name, result_of(name)) for name in MAKERS):
        for head, texts in typeset(result).columns.items():
            if head == "p" or head.endswith(" p") or head.startswith("p "):
                assert all(re.fullmatch(r"<0\.001|[01]\.\d{3}|", text) for text in texts), (name, head, texts)


def test_of_two_answers_one_share_is_shown_in_words_and_in_papers() -> None:
    for name in ("prediction", "margins", "sensitivity", "sensitivities", "estimate of two answers"):
        result = result_of(name)
        columns = typeset(result).columns
        answers: list[str] = columns.get("answer", columns.get("value", []))
        assert "no" not in answers, name
        assert "yes" in answers, name
        assert not re.search(r"\bno\b  ", result.text()), name
    assert "The share of 'no' is 100 % minus that of 'yes'." in result_of("prediction").text()
    assert "The share of 'no' changes by the opposite of that of 'yes'." in result_of("margins").text()
    assert result_of("prediction").table()["answer"].tolist() == ["yes", "no"] * 2  # programs get both
