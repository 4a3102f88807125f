"""Dashboard and exports agree with the library's results for the published tally.

It tests service/dashboard_data.py and service/exports.py as well.
"""

from __future__ import annotations

import csv
import io
import json
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import betaln
from scipy.stats import beta

import warner
from service.dashboards import example, filled, nothing
from warner import RandomizedResponse, Tally, UnaryEncoding
from warner.results import formulas_in
from warner.service.dashboard_data import ANSWERS_SHOWN, DAYS_SHOWN, HALF_WIDTHS, half_width, legible, reading, version
from warner.service.exports import EXPORT_TYPES, exported, table
from warner.service.stores.contract import Collected
from warner.service.survey import Question, Survey

if TYPE_CHECKING:
    from warner.designs import Design

SURVEY = example()
OPEN, CLOSED = filled(SURVEY, 1000), filled(SURVEY, 1000, "closed")
STOPPED = replace(CLOSED, survey=replace(SURVEY, stop=1000))  # closed by itself, at the number that its file fixes
EARLY = replace(CLOSED, survey=replace(SURVEY, stop=1010))  # closed by hand, before that


def asking(design: Design, **fields: Any) -> Survey:
    """Return a survey of one question."""
    question = Question("q", "Do you?", "device", design, **fields)
    return Survey("one", "One question", "en", "", "", "", "counts", 10, "open", (), (question,))


def collected(survey: Survey, cells: Any, state: str = "open") -> Collected:
    counts = np.array([cells])
    return Collected(survey, state, int(survey.layouts[0].responses(counts).sum()), (counts,), {})


def misfit() -> Collected:
    """Return a closed survey in which an answer was never reported."""
    counts = CLOSED.cells[0].copy()
    counts[:, 0] += counts[:, -1]
    counts[:, -1] = 0
    return replace(CLOSED, cells=(counts, CLOSED.cells[1]))


def test_nobody_has_answered() -> None:
    shown = reading(nothing(SURVEY))
    json.dumps(shown, allow_nan=False)
    assert (shown["responses"], shown["state"], shown["days"]) == (0, "open", [])
    assert [question["answers"] for question in shown["questions"]] == [[], []]
    # 2,326 people are needed for 5 points under this design, as `warner plan` says, and all of them are missing.
    fixed = reading(nothing(replace(SURVEY, stop=5000)))
    needed = warner.plan(SURVEY.questions[0].listed, half_width=0.05).people
    assert fixed["questions"][0]["needed"][HALF_WIDTHS.index(0.05)] == [needed, needed]


@pytest.mark.parametrize("published", [OPEN, CLOSED, EARLY, STOPPED], ids=["open", "closed", "early", "stopped"])
@pytest.mark.parametrize("place", [0, 1])
def test_shares_and_intervals_are_those_of_estimate(published: Collected, place: int) -> None:
    question = SURVEY.questions[place]
    expected = warner.estimate(published.tally(question.id)).table(anytime=published is not STOPPED)
    shown = reading(published)["questions"][place]
    rows = 1 if question.listed.k == 2 else question.listed.k  # of two answers, the second is the rest
    for name in ("share", "low", "high", "outside"):
        assert [answer[name] for answer in shown["answers"]] == expected[name].tolist()[:rows]
    assert [answer["label"] for answer in shown["answers"]] == [str(value) for value in expected["value"][:rows]]
    assert shown["reports"] == 1000


def test_intervals_are_for_any_number_of_looks_unless_the_file_fixes_the_number_of_responses() -> None:
    for published, why in (
        (OPEN, "fixes the number of responses beforehand (stop)"),
        (CLOSED, "fixes the number of responses beforehand (stop)"),
        (replace(OPEN, survey=EARLY.survey), "is shown once all 1,010 responses are there"),
        (EARLY, "only at the 1,010 responses that the survey file fixes; the survey was closed before"),
    ):
        still = reading(published)["questions"][0]
        assert still["interval"]["name"] == "95 % any-time interval (population)"
        assert "however often you look, and whenever the survey is closed" in still["interval"]["promise"]
        assert why in still["interval"]["promise"]
    done = reading(STOPPED)["questions"][0]
    assert done["interval"]["name"] == "exact 95 % interval (population)"
    assert "The survey file fixed the number of responses, 1,000," in done["interval"]["promise"]
    assert "at most 5 %" in done["interval"]["promise"]
    assert "Clopper" in done["interval"]["how"]
    for wide, narrow in zip(still["answers"], done["answers"], strict=True):
        assert wide["low"] <= narrow["low"] <= narrow["high"] <= wide["high"]
        assert wide["share"] == narrow["share"]


def test_a_closed_survey_has_intervals_for_its_respondents_too() -> None:
    assert reading(OPEN)["questions"][0]["sample"] is None  # any-time intervals are for the population
    for published, caveat in (
        (STOPPED, ""),
        (CLOSED, "It assumes that the survey was not closed because of its results."),
    ):
        shown = reading(published)["questions"][0]["sample"]
        table = warner.estimate(published.tally("often")).table(target="realised")
        for name in ("share", "low", "high"):
            np.testing.assert_array_equal([answer[name] for answer in shown["answers"]], table[name])
        assert shown["interval"]["name"].endswith("95 % interval (sample)")
        assert shown["interval"]["promise"].endswith(caveat or "at most 5 %.")
        groups = warner.estimate(published.tally("often", by=("region",))).table(target="realised")
        north = [answer["low"] for answer in shown["groups"][0]["values"][0]["answers"]]
        np.testing.assert_array_equal(north, groups["low"][:5])


def test_an_interval_that_is_approximate_says_so() -> None:
    # Answers that are reported in their own ways: no count tells the share of one of them alone.
    design = warner.Channel(
        [["6/9", "2/9", "1/9"], ["1/9", "6/9", "2/9"], ["2/9", "3/9", "4/9"]], ["a", "b", "c"], ["x", "y", "z"]
    )
    fixed = replace(asking(design), stop=1000)
    shown = reading(collected(fixed, [400, 300, 300], "closed"))["questions"][0]
    assert shown["interval"]["name"].startswith("approximate 95 % interval")
    assert "about 5 %" in shown["interval"]["promise"]


def test_people_still_needed_and_fakes_are_those_of_plan_and_check() -> None:
    shown = reading(replace(OPEN, survey=replace(SURVEY, stop=10**6)))["questions"][0]
    tally = OPEN.tally("often")
    people = [warner.plan(tally.design, half_width=width).people for width in HALF_WIDTHS]
    assert shown["needed"] == [[needed, max(needed - 1000, 0)] for needed in people]
    said = " ".join(warner.check(tally, fakes=1).text().split())
    assert shown["influence"] in said


def test_the_check_is_made_once_when_the_survey_is_closed() -> None:
    assert reading(replace(misfit(), state="open"))["questions"][0]["check"] is None
    found = [question["check"] for question in reading(misfit())["questions"]]
    assert [check["fits"] for check in found] == [False, True]
    assert found[0]["verdict"] == warner.check(misfit().tally("often")).text().splitlines()[0]
    assert found[0]["rests"] == "Its p-values are for a number of responses that was fixed beforehand."
    assert reading(STOPPED)["questions"][0]["check"]["rests"] == ""


def test_reports_that_do_not_fit_raise_no_warning_and_leave_the_filters_of_others_alone() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = list(warnings.filters)
        reading(replace(misfit(), state="open"))
        assert warnings.filters == before


def test_groups_are_told_apart_only_when_the_survey_is_closed() -> None:
    assert reading(OPEN)["questions"][0]["groups"] == []
    assert "groups" not in json.loads(exported(OPEN, "json").content)["questions"][0]
    group = reading(STOPPED)["questions"][0]["groups"][0]
    expected = warner.estimate(CLOSED.tally("often", by=("region",))).table()
    assert (group["id"], [value["value"] for value in group["values"]]) == ("region", ["north", "south"])
    for name in ("share", "low", "high"):
        assert [answer[name] for value in group["values"] for answer in value["answers"]] == expected[name].tolist()


def test_a_group_without_reports_has_no_shares() -> None:
    cells = tuple(np.vstack([counts.sum(axis=0), np.zeros_like(counts[0])]) for counts in CLOSED.cells)
    north, south = reading(replace(CLOSED, cells=cells))["questions"][0]["groups"][0]["values"]
    assert (north["reports"], south["reports"]) == (1000, 0)
    assert [answer["share"] for answer in south["answers"]] == [None] * 5


def test_what_people_choose_from_is_shown_as_in_the_survey() -> None:
    by_device = asking(RandomizedResponse(["y", "n"], odds=(3, 1)), labels={"y": "Yes, I do", "n": "No, never"})
    shown = reading(collected(by_device, [60, 40]))["questions"][0]
    assert [*(answer["label"] for answer in shown["answers"]), shown["rest"]] == ["Yes, I do", "No, never"]
    by_person = reading(OPEN)["questions"][1]
    # The true answer, which was not entered
    assert [*(answer["label"] for answer in by_person["answers"]), by_person["rest"]] == ["yes", "no"]
    counts = OPEN.tally("licence").counts.tolist()
    assert by_person["made"] == [
        {"label": "The same: both yes, or both no", "reports": counts[0]},
        {"label": "Different: one yes, one no", "reports": counts[1]},
    ]


def test_of_two_answers_the_second_is_the_rest_in_groups_as_well() -> None:
    shown = reading(CLOSED)["questions"][1]
    assert (len(shown["answers"]), shown["left_out"], shown["rest"]) == (1, 0, "no")
    assert [len(value["answers"]) for group in shown["groups"] for value in group["values"]] == [1, 1]
    assert reading(CLOSED)["questions"][0]["rest"] == ""
    # Reports that may support both answers are two readings of one share.
    both = asking(UnaryEncoding(["yes", "no"], epsilon=1))
    result = reading(collected(both, [60, 50, 15, 60, 25]))["questions"][0]  # 15 sets are empty, 25 hold both answers
    assert ([answer["label"] for answer in result["answers"]], result["rest"]) == (["yes", "no"], "")


def test_people_who_skip_a_question_are_counted_apart() -> None:
    survey = asking(RandomizedResponse(["y", "n"], odds=(3, 1)), optional=True)
    shown = reading(collected(survey, [60, 40, 7]))["questions"][0]
    assert (shown["reports"], shown["skipped"]) == (100, 7)
    assert reading(collected(survey, [0, 0, 12]))["questions"][0]["answers"] == []
    assert reading(OPEN)["questions"][0]["skipped"] is None


def test_reports_that_are_sets_support_answers() -> None:
    design = UnaryEncoding(["a", "b", "c"], odds=(3, 1))
    survey = asking(design)
    rng = np.random.default_rng(1)
    sums = design.law.count(design.draw(rng.integers(0, 3, 500), rng.bytes))
    cells = np.concatenate([sums.counts, sums.histogram])
    shown = reading(collected(survey, cells))["questions"][0]
    assert shown["supporting"]
    assert [answer["reports"] for answer in shown["answers"]] == sums.counts.tolist()


def test_of_many_answers_the_largest_shares_are_shown() -> None:
    k = 1000
    counts = np.full(k, 20)
    counts[[7, 500]] = 900, 700
    shown = reading(collected(asking(RandomizedResponse(k, epsilon=6)), counts))["questions"][0]
    assert len(shown["answers"]) == ANSWERS_SHOWN
    assert shown["left_out"] == k - ANSWERS_SHOWN
    assert [answer["label"] for answer in shown["answers"][:2]] == ["7", "500"]


def test_reports_that_say_nothing_are_refused_in_words() -> None:
    shown = reading(collected(asking(RandomizedResponse(["y", "n"], odds=(1, 1))), [5, 5]))["questions"][0]
    assert shown["refused"]
    assert shown["needed"] == [None] * len(HALF_WIDTHS)


def test_days_without_responses_are_shown_and_old_days_left_out() -> None:
    shown = reading(replace(OPEN, days={"2026-11-29": 30, "2026-12-02": 10}))["days"]
    assert [tuple(day.values()) for day in shown] == [
        ("2026-11-29", 30),
        ("2026-11-30", 0),
        ("2026-12-01", 0),
        ("2026-12-02", 10),
    ]
    assert len(reading(replace(OPEN, days={"2020-01-01": 1, "2026-01-01": 1}))["days"]) == DAYS_SHOWN


def test_every_step_has_another_version() -> None:
    names = {version(step) for step in (nothing(SURVEY), OPEN, CLOSED, replace(OPEN, responses=1010))}
    assert len(names) == 4
    assert all(name.isascii() and name.isprintable() for name in names)


def test_nothing_in_a_text_is_hidden() -> None:
    assert legible("a\u202eb\x07c\x9b\nd\te") == "a\\u202eb\\x07c\\x9b\nd\te"
    plain = "שלום 👩\u200d🔬 é <b>&amp;"
    assert legible(plain) == plain


def test_what_to_expect_is_said_before_anybody_has_answered() -> None:
    # Two answers at odds 3 : 1. One look at 1,000 reports: half the length of Clopper and Pearson's interval of 500 of
    # 1,000, over p - q = 1/2. Any number of looks at 30: that of the any-time interval of 15 of 30, which is no use.
    coin = asking(RandomizedResponse(["yes", "no"], odds=(3, 1)))
    invited = replace(coin, access="invited")
    assert half_width(coin.questions[0].design, 1000, anytime=False) == pytest.approx(
        (beta.ppf(0.975, 501, 500) - beta.ppf(0.025, 500, 501)) / 2 / 0.5, rel=1e-12
    )
    low, high = (
        brentq(lambda f: _log_martingale(15, 30, f) - np.log(20), *ends) for ends in ((1e-9, 0.5), (0.5, 1 - 1e-9))
    )
    assert half_width(coin.questions[0].design, 30, anytime=True) == pytest.approx((high - low) / 2 / 0.5, rel=1e-9)
    for survey, people, said in (
        (replace(coin, stop=1000), 0, "1,000 reports give 95 % intervals of about ±6.3 percentage points"),
        (replace(invited, stop=1000), 5000, "1,000 reports give 95 % intervals of about ±6.3 percentage points"),
        (invited, 30, "30 reports carry almost no information"),
        (invited, 1000, "1,000 reports give 95 % any-time intervals of about ±11.6 percentage points"),
        (replace(invited, stop=1000), 500, "500 reports give 95 % any-time intervals"),
        (invited, 0, "no respondents are invited yet"),
        (coin, 0, "95 % any-time intervals of at most ±5 percentage points take 6,053 reports"),
        (asking(RandomizedResponse(["y", "n"], odds=(1, 1))), 0, "no number of respondents is enough"),
    ):
        shown = reading(replace(nothing(survey), invited=people))
        assert shown["questions"][0]["prospect"].startswith(said)
    doubts = reading(replace(nothing(replace(invited, stop=40, batch=35)), invited=30))["doubts"]
    assert [doubt.partition(",")[0] for doubt in doubts] == [
        "the survey stops at 40 responses",
        "results are published in steps of 35 responses",
    ]


def _log_martingale(x: int, n: int, f: float) -> float:
    return float(betaln(x + 0.5, n - x + 0.5) - betaln(0.5, 0.5) - x * np.log(f) - (n - x) * np.log1p(-f))


# Exports


@pytest.mark.parametrize("published", [OPEN, CLOSED, EARLY, STOPPED], ids=["open", "closed", "early", "stopped"])
@pytest.mark.parametrize("question", ["often", "licence"])
def test_csv_and_parquet_are_the_table_of_estimate(published: Collected, question: str) -> None:
    anytime = published is not STOPPED
    expected = warner.estimate(published.tally(question)).table(anytime=anytime)
    kind = "95 % any-time interval (population)" if anytime else "95 % interval (population)"
    rows = list(csv.DictReader(io.StringIO(exported(published, "csv", question).content.decode())))
    assert list(rows[0]) == [*expected, "interval"]
    for name, column in expected.items():
        assert [row[name] for row in rows] == [str(value) for value in column.tolist()]
    assert {row["interval"] for row in rows} == {kind}
    pq = pytest.importorskip("pyarrow.parquet")
    stored = pq.read_table(io.BytesIO(exported(published, "parquet", question).content)).to_pydict()
    assert stored == {name: column.tolist() for name, column in table(published, question).items()}


@pytest.mark.parametrize("published", [nothing(SURVEY), OPEN, CLOSED], ids=["empty", "open", "closed"])
def test_json_has_the_tallies_of_all_questions_and_the_fingerprint(published: Collected) -> None:
    export = exported(published, "json")
    fields = json.loads(export.content)
    assert (fields["survey"], fields["state"]) == (SURVEY.fingerprint, published.state)
    assert fields["responses"] == published.responses
    assert (fields["stop"], fields["anytime"]) == (None, True)
    for question in fields["questions"]:
        assert Tally.from_dict(question["tally"]) == published.tally(question["id"])
        if published.state == "closed":
            assert Tally.from_dict(question["groups"]) == published.tally(question["id"], by=["region"])
    assert export.name == f"drinking-{published.responses}.json"


def test_labels_like_formulas_are_warned_of_in_the_words_of_the_command() -> None:
    labels = ["=1+1", "@sum", "-x", "-5", "+", "plain\u202e"]
    question = Question("q", "Q?", "device", RandomizedResponse(labels, odds=(3, 1)))
    survey = Survey("one", "One", "en", "", "", "", "counts", 2, "open", (), (question,))
    published = filled(survey, 60)
    (shown,) = reading(published)["questions"]
    assert shown["formulas"] == formulas_in(table(published, "q"))
    assert shown["formulas"].startswith("3 names begin like a formula ('=1+1'): a spreadsheet program may run it")
    assert [question["formulas"] for question in reading(OPEN)["questions"]] == ["", ""]
    assert reading(nothing(survey))["questions"][0]["formulas"] == ""  # nor is there a file


def test_the_html_page_names_the_kind_of_its_intervals() -> None:
    pytest.importorskip("matplotlib")
    still, shut, done = (exported(one, "html", "often").content.decode() for one in (OPEN, CLOSED, STOPPED))
    assert "any-time" in still
    assert "any-time" in shut
    assert "any-time" not in done
    fields = json.loads(exported(STOPPED, "json").content)
    assert (fields["stop"], fields["anytime"]) == (1000, False)
    assert SURVEY.questions[0].text in still


@pytest.mark.parametrize(
    ("ending", "question", "match"),
    [
        ("xlsx", "often", "format must be one of json, csv, parquet, html, but got 'xlsx'"),
        ("csv", "never", "question must be one of"),
        ("csv", None, "the survey asks several"),
    ],
)
def test_other_files_are_refused(ending: str, question: str | None, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        exported(OPEN, ending, question)


@pytest.mark.parametrize("ending", [ending for ending in EXPORT_TYPES if ending != "json"])
def test_there_are_no_estimates_before_the_first_step(ending: str) -> None:
    with pytest.raises(ValueError, match="no published reports yet"):
        exported(nothing(SURVEY), ending, "often")


# Numbers

INCOMES = warner.SquareWave(warner.grid(0, 200_000, 1_000), epsilon=2, quantity="mean")
AGES = warner.CutoffResponse(range(18, 100), epsilon=1)


def of_numbers(state: str = "open", **fields: Any) -> Collected:
    """Return a survey that asks for an income and an age, by region, with 600 responses."""
    questions = tuple(Question(name, f"{name}?", "device", design) for name, design in (("a", INCOMES), ("b", AGES)))
    survey = replace(SURVEY, questions=questions, **fields)
    return filled(survey, 600, state)


@pytest.mark.parametrize(("state", "stop"), [("open", None), ("closed", None), ("closed", 600)])
def test_means_and_medians_are_those_of_estimate(state: str, stop: int | None) -> None:
    published = of_numbers(state, stop=stop)
    shown = reading(published)
    export = json.loads(exported(published, "json").content)
    json.dumps(shown, allow_nan=False)
    for place, name in enumerate(("a", "b")):
        result = warner.estimate(published.tally(name))
        expected: list[Any] = [result.mean(anytime=stop is None), result.median(anytime=stop is None)]
        numbers = shown["questions"][place]["numbers"]
        assert [number["name"] for number in numbers] == ["mean", "median"]
        for number, right in zip(numbers, expected, strict=True):
            assert [number[key] for key in ("value", "low", "high")] == [right.value, right.low, right.high]
            assert ("any-time" in number["interval"]) == (stop is None)
            assert number["interval"].startswith("approximate") == right.approximate
            assert f"{number['name']} {', '.join(number['shown'])}, " in repr(right)
            assert export["questions"][place][number["name"]] == right.to_dict()


def test_many_numbers_are_shown_in_ranges_that_hold_all_of_them() -> None:
    published = of_numbers()
    shown = reading(published)["questions"]
    result = warner.estimate(published.tally("a"))
    assert [question["left_out"] for question in shown] == [0, 0]
    answers = shown[0]["answers"]
    assert [answer["label"] for answer in answers][::9] == ["0 to 19,000", "180,000 to 200,000"]
    assert sum(answer["share"] for answer in answers) == pytest.approx(1, abs=1e-12)
    limits = result.interval(within=(0, 19_000), anytime=True)
    assert (answers[0]["low"], answers[0]["high"]) == (limits.low, limits.high)
    assert answers[0]["share"] == pytest.approx(result.shares[:20].sum(), abs=1e-12)
    assert all(answer["reports"] is None for answer in answers)


def test_groups_have_means_of_their_own() -> None:
    published = of_numbers("closed")
    shown = reading(published)["questions"][1]["groups"][0]["values"]
    mean = warner.estimate(published.tally("b", by=["region"])).mean(anytime=True)
    assert [value["numbers"][0]["value"] for value in shown] == mean.value.tolist()
    assert [len(value["answers"]) for value in shown] == [10, 10]
    assert all(sum(answer["share"] for answer in value["answers"]) == pytest.approx(1) for value in shown)


def test_answers_that_are_no_numbers_have_no_mean() -> None:
    assert [question["numbers"] for question in reading(OPEN)["questions"]] == [[], []]
    assert not any("mean" in question for question in json.loads(exported(OPEN, "json").content)["questions"])


@pytest.mark.parametrize("anytime", [True, False])
def test_what_to_expect_of_numbers_is_the_interval_of_their_mean(anytime: bool) -> None:
    survey = replace(of_numbers().survey, stop=None if anytime else 1000)
    told = [question["prospect"] for question in reading(nothing(survey))["questions"]]
    kind = "any-time intervals" if anytime else "intervals"
    # 1,000 reports, of numbers that are spread evenly, of which as many of each kind come as are expected: counts are
    # rounded to whole reports here, which moves the third digit at most.
    reported = 1000 * INCOMES.as_channel().channel().mean(axis=0)
    counts = [int(count) for count in np.diff(np.rint([0, *reported.cumsum()]))]
    mean = warner.estimate(Tally(INCOMES, counts)).mean(anytime=anytime)
    number = told[0].split("±")[1].split(", if")[0]
    assert float(number.replace(",", "")) == pytest.approx((mean.high - mean.low) / 2, rel=0.01)
    assert told[0] == f"1,000 reports give 95 % {kind} of the mean of about ±{number}, if numbers are uniform"
    if not anytime:
        planned = warner.plan(INCOMES, people=1000, quantity="mean", population="uniform")
        assert number == f"{planned.half_width:,.3g}"
    assert [question["needed"] for question in reading(nothing(survey))["questions"]] == [[], []]
