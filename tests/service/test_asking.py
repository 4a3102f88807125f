"""Questions that the browser draws, and questions with several answers: from the page to the estimates.

Tests of drawn questions in `survey`, `responses`, `dashboard_data`, `exports`, `reporting`, `notices` and the page.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import beta

from cli.shell import run
from collecting_cases import open_survey
from service.browsers import wait_until
from service.nodes import HERE, WEB, node
from service.respondents import TOKEN, Book, heading, opened, press, served
from service.test_page import hosting
from warner import RandomizedResponse, SelectAll, SplitQuestionnaire, estimate, tally
from warner.service.dashboard_data import fewest_reports, prospects, reading, responses_needed
from warner.service.exports import exported
from warner.service.notices import privacy_notice
from warner.service.pages import hosted_page
from warner.service.reporting import survey_report
from warner.service.responses import Bodies, RefusedError
from warner.service.stores.sqlite import SqliteStore
from warner.service.survey import SKIPPED, Survey, load_survey, survey_from_json

if TYPE_CHECKING:
    from pathlib import Path

    from service.browsers import Page
    from service.databases import Place

COIN = RandomizedResponse(["yes", "no"], odds=(3, 1))
THREE = RandomizedResponse(["never", "once", "often"], odds=(5, 1))
DRINKS = SelectAll(["beer", "wine", "tea"], epsilon=1)  # one of them is drawn
PILLS = SelectAll(["red", "green", "blue", "white"], epsilon=1, at_most=2)  # one label is reported
ASKED = "[...document.querySelectorAll('.wording')].map((words) => words.innerText.trim())"
KEPT = "Object.entries(sessionStorage).map(([key, text]) => key + text).join()"


def several(*designs: Any, optional: int | None = None, **fields: Any) -> Survey:
    """Return a survey with a question for each design, in mode several where it is one of options."""
    document = open_survey(designs, **{name: value for name, value in fields.items() if value is not None})
    for question, design in zip(document["questions"], designs, strict=True):
        question["mode"] = "several" if isinstance(design, SelectAll) else "device"
    if optional is not None:
        document["questions"][optional]["optional"] = True
    return survey_from_json(json.dumps(document))


def in_node(**given: Any) -> Any:
    done = subprocess.run(
        [node(), str(HERE / "asking.mjs")],
        input=json.dumps(given),
        env={**os.environ, "WARNER_WEB": str(WEB)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


# Survey files


@pytest.mark.parametrize("ask", [0, 3, -1, "1", 1.5, True, None])
def test_more_or_fewer_questions_than_can_be_asked_are_refused(ask: Any) -> None:
    fields = open_survey([COIN, COIN, COIN], ask=ask)
    with pytest.raises(ValueError, match=r"^ask must be .* below the number of all \(3\), .*; leave it out to ask"):
        survey_from_json(json.dumps(fields))


def test_a_single_question_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match=r"^ask must be .* below the number of all \(1\)"):
        several(COIN, ask=1)


@pytest.mark.parametrize(
    ("design", "mode", "words"),
    [
        (DRINKS, "device", 'mode of question 1 must be "several" for a design of warner design select-all'),
        (COIN, "several", 'mode of question 1 must be "several" for a design of warner design select-all'),
        (SplitQuestionnaire({"a": COIN, "b": COIN}, asked=1), "device", 'and "ask", their number, in the survey'),
    ],
)
def test_a_mode_goes_with_its_design(design: Any, mode: str, words: str) -> None:
    fields = open_survey([design])
    fields["questions"][0]["mode"] = mode
    with pytest.raises(ValueError, match=words):
        survey_from_json(json.dumps(fields))


def test_labels_and_the_sensitive_answer_are_options() -> None:
    fields = open_survey([DRINKS])
    labels = {"beer": "A beer", "wine": "A wine", "tea": "A tea"}
    fields["questions"][0] |= {"mode": "several", "labels": labels, "sensitive": "wine"}
    question = survey_from_json(json.dumps(fields)).questions[0]
    assert (question.shown("tea"), question.sensitive_answer) == ("A tea", "wine")
    fields["questions"][0]["labels"] = {"yes": "Yes", "no": "No"}
    with pytest.raises(
        ValueError, match="labels of question 1 must have a text for each choice: 'beer', 'wine', 'tea'"
    ):
        survey_from_json(json.dumps(fields))


def test_a_group_cannot_be_called_option(tmp_path: Path) -> None:
    groups = [{"id": "option", "text": "", "values": ["a", "b"]}]
    (tmp_path / "survey.json").write_text(several(DRINKS, groups=groups).to_json(), encoding="utf-8")
    with pytest.raises(ValueError, match="the id of a group must not be 'option'"):
        load_survey(tmp_path / "survey.json")


def test_python_and_javascript_have_one_fingerprint_and_epsilon() -> None:
    survey = several(COIN, THREE, DRINKS, PILLS, ask=2)
    found = in_node(survey=survey.to_dict(), people=[[0] * 5 + [[]]])
    assert json.loads(found["bodies"][0])["survey"] == survey.fingerprint
    assert survey.epsilon <= found["epsilon"] <= survey.epsilon * (1 + 1e-14)
    assert survey_from_json(survey.to_json()) == survey


# Epsilon


def channel(design: Any) -> Any:
    """Return P(reports | true answers) of one question by enumeration, from the device's own description."""
    if not isinstance(design, SelectAll):
        return design.as_channel().channel()
    k = len(design.questions)
    if design.at_most is None:  # each answer is a yes or no for each option; reports are (those asked, their reports)
        part, rows = design.parts[0].as_channel().channel(), []
        for answers in itertools.product([0, 1], repeat=k):
            row = []
            for some in itertools.combinations(range(k), design.asked):
                reports = itertools.product([0, 1], repeat=len(some))
                row += [math.prod(part[answers[i], y] for i, y in zip(some, r, strict=True)) for r in reports]
            rows.append(row)
        return np.array(rows) / math.comb(k, design.asked)
    assert design.device is not None
    device, rows = design.device.as_channel().channel(), []
    for number in range(design.at_most + 1):
        for chosen in itertools.combinations(range(k), number):
            held = [*chosen, *range(k, k + design.at_most - number)]
            rows.append(device[held].mean(axis=0))
    return np.array(rows)


@pytest.mark.parametrize("ask", [1, 2, 3, None])
def test_epsilon_is_the_largest_ratio_of_all_responses(ask: int | None) -> None:
    # Every set of questions, all answers and all reports: the ratio of the probabilities of a response.
    designs = (COIN, THREE, DRINKS, PILLS)
    survey = several(*designs, ask=ask)
    tables, largest = [channel(design) for design in designs], 0.0
    for some in itertools.combinations(range(4), ask or 4):
        joint = reduce(np.kron, [tables[i] for i in some])
        assert np.allclose(joint.sum(axis=1), 1)
        largest = max(largest, float((joint.max(axis=0) / joint.min(axis=0)).max()))
    assert math.log(largest) == pytest.approx(survey.epsilon, abs=1e-12)
    by_hand = sorted([math.log(3), math.log(5), 1, 1], reverse=True)[: ask or 4]
    assert survey.epsilon == pytest.approx(sum(by_hand), abs=1e-12)


def test_two_options_that_are_drawn_spend_what_the_question_says() -> None:
    drinks = SelectAll(["beer", "wine", "tea", "water"], epsilon=4)
    table = channel(drinks)
    assert drinks.asked == 2
    assert math.log((table.max(axis=0) / table.min(axis=0)).max()) == pytest.approx(4, abs=1e-12)
    assert several(drinks).epsilon == pytest.approx(4, abs=1e-12)


# Draws


def test_every_set_of_questions_is_equally_likely() -> None:
    # Exact: over all bytes, those that are undecided aside, each set is drawn as often as any other.
    one, two = in_node(survey=several(COIN).to_dict(), sets=[(3, 1), (3, 2)])["counts"]
    assert one.pop("undecided") == two.pop("undecided") == 256
    assert one == dict.fromkeys(["0", "1", "2"], 85 * 256)
    assert two == dict.fromkeys(["0,1", "0,2", "1,2"], 85 * 256)


def test_boxes_have_exactly_the_probabilities_of_the_design_and_more_ticks_spend_no_more() -> None:
    # At odds 3 : 1, at most 2 of 4: a label that is held 3/10, any other 1/10. Two of three or more ticks are drawn.
    pills = SelectAll(["red", "green", "blue", "white"], epsilon=math.log(3.0000001), at_most=2).to_dict()
    pills |= {"odds": ["3", "1"]}
    found = in_node(survey=several(COIN).to_dict(), labels=[(pills, 10)])["counts"]
    assert len(found) == 16
    table = []
    for case in found:
        ticked, total = case["ticked"], 10 * case["first"]
        law = [Fraction(count, total) for count in case["counts"]]
        held = {*ticked, *range(4, 4 + max(0, 2 - len(ticked)))}
        share = Fraction(3 - 1, 10) * Fraction(2, max(2, len(ticked)))
        assert law == [Fraction(1, 10) + share * (label in held) for label in range(6)]
        table.append(law)
    assert max(max(column) / min(column) for column in zip(*table, strict=True)) == 3


def test_a_reload_draws_nothing_and_a_response_is_followed_by_a_new_draw() -> None:
    survey = several(*[RandomizedResponse(["zanzibar", "quokka"], odds=(3, 1))] * 50, DRINKS, ask=5).to_dict()
    answers = {f"q{place}": "quokka" for place in range(1, 51)} | {"q51": ["wine"]}
    found = in_node(survey=survey, answers=answers, other=TOKEN)
    assert len(found["first"]) == 5
    assert found["again"] == [found["first"]] * 20
    assert found["invited"] != found["first"]  # another respondent; alike with a probability of 4 in 10 million
    (stored,) = found["stored"]
    assert "quokka" not in json.dumps(stored)
    assert json.loads(stored[1]) == sorted(json.loads(stored[1]))
    assert found["outcome"] == "kept"
    reports = json.loads(found["sent"][0])["reports"]
    assert [place for place, text in enumerate(reports) if text != "...."] == json.loads(stored[1])
    assert [key for key in found["left"] if "." * 22 in key] == []  # the draw is forgotten with the response


# Responses


def body(survey: Survey, **reports: int) -> bytes:
    """Return the body with these reports, by the name of an item, and blanks."""
    names = [f"{item.question.id}{item.option or ''}" for item in survey.items]
    assert set(reports) <= set(names)
    return Bodies(survey).write([reports.get(name, SKIPPED) for name in names], nonce=bytes(16))


@pytest.mark.parametrize(
    ("reports", "fine"),
    [
        ({"q1": 0, "q2": 1}, True),
        ({"q3beer": 1, "q4": 5}, True),
        ({"q1": 0}, False),  # a page draws two
        ({}, False),
        ({"q1": 0, "q2": 1, "q4": 0}, False),  # spends more
        ({"q1": 0, "q3beer": 1, "q3tea": 0}, False),  # one option is drawn
        ({"q3beer": 1, "q3tea": 0}, False),
    ],
)
def test_only_as_many_reports_as_are_drawn(reports: dict[str, int], fine: bool) -> None:
    survey = several(COIN, THREE, DRINKS, PILLS, ask=2)
    if fine:
        bundle = Bodies(survey).read(body(survey, **reports))
        blank = sum(
            cells == layout.of_report(SKIPPED) for cells, layout in zip(bundle.cells, survey.layouts, strict=True)
        )
        assert blank == len(survey.items) - len(reports)
    else:
        with pytest.raises(RefusedError):
            Bodies(survey).read(body(survey, **reports))


@pytest.mark.parametrize("optional", [None, 0])
def test_so_many_options_are_reported_as_are_drawn(optional: int | None) -> None:
    survey = several(SelectAll(["beer", "wine", "tea", "water"], epsilon=4), COIN, optional=optional)  # two are drawn
    Bodies(survey).read(body(survey, q1beer=0, q1tea=1, q2=0))
    for reports in ({"q1beer": 0}, {"q1beer": 0, "q1tea": 1, "q1wine": 0}):
        if optional is not None and len(reports) < 2:
            Bodies(survey).read(body(survey, **reports, q2=0))
            continue
        with pytest.raises(RefusedError):
            Bodies(survey).read(body(survey, **reports, q2=0))


@pytest.mark.parametrize(
    ("ask", "reports", "fine"),
    [
        (2, {"q1": 0}, True),  # q2 was drawn, and skipped
        (2, {"q3beer": 0}, True),
        (2, {}, False),  # only one question can be skipped
        (2, {"q2": 0}, False),
        (1, {}, True),
        (None, {"q1": 0, "q3tea": 1}, True),
        (None, {"q1": 0, "q2": 0}, False),
    ],
)
def test_only_optional_questions_can_be_skipped(ask: int | None, reports: dict[str, int], fine: bool) -> None:
    survey = several(COIN, THREE, DRINKS, optional=1, ask=ask)
    try:
        Bodies(survey).read(body(survey, **reports))
    except RefusedError:
        assert not fine
    else:
        assert fine


def test_all_bodies_have_one_length() -> None:
    survey = several(COIN, SelectAll([f"{i}" for i in range(40)], 8), PILLS, THREE, ask=2)
    bodies = in_node(survey=survey.to_dict(), people=[[1] * 41 + [[0, 1]] + [2]] * 200)["bodies"]
    assert len({len(text) for text in bodies}) == 1
    assert len({Bodies(survey).read(text.encode()).nonce for text in bodies}) == 200


# From the page to the estimates


def exact(count: int, n: int, p: float, q: float) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson in shares; fewer reports than noise makes count as what it makes."""
    count = max(count, math.floor(q * n))
    low = beta.ppf(0.025, count, n - count + 1) if count else 0.0
    high = beta.ppf(0.975, count + 1, n - count) if count < n else 1.0
    return max(0.0, (low - q) / (p - q)), min(1.0, (high - q) / (p - q))


def test_from_the_page_to_estimates(place: Place) -> None:
    # 6,000 respondents of known answers. A correct program fails if one of 9 binomial counts is more than 5 standard
    # errors off: with a probability below 9 * 6e-7.
    people = 6000
    survey = several(COIN, THREE, DRINKS, PILLS, ask=2, id=place.id, stop=people)
    # of 10 respondents: coin 3 yes; three 1, 4, 5; beer 6, wine 4, tea 1; red 5, green 2, blue 0, white 1 (at most 2)
    shares = {"q1": [0.3], "q2": [0.1, 0.4, 0.5], "q3": [0.6, 0.4, 0.1], "q4": [0.5, 0.2, 0, 0.1]}
    ten = range(10)
    truth = [
        [int(i >= 3), (0 if i < 1 else 1 if i < 5 else 2), int(i >= 6), int(i < 6), int(i != 7),
         [0, 1] if i < 2 else [0] if i < 5 else [3] if i == 5 else []]
        for i in ten
    ]  # fmt: skip
    bodies = in_node(survey=survey.to_dict(), people=[truth[i % 10] for i in range(people)])["bodies"]
    with place.opened(survey) as store:
        store.keep([Bodies(survey).read(text.encode()) for text in bodies])
        collected = store.collected()
    assert (collected.state, collected.fixed) == ("closed", True)
    # Each question is asked of half of them, each option of a third of these.
    for name, chance in (("q1", 1 / 2), ("q2", 1 / 2), ("q3", 1 / 6), ("q4", 1 / 2)):
        n = np.atleast_1d(collected.tally(name).n)
        assert (np.abs(n - people * chance) <= 5 * math.sqrt(people * chance * (1 - chance))).all()
        assert (n + collected.tally(name).missing == people).all()
        table = estimate(tally(place.place, question=name)).table()
        rates = {"q1": (3 / 4, 1 / 4), "q2": (5 / 7, 1 / 7)}
        design = collected.survey.question(name).design
        if isinstance(design, SelectAll):
            a, b = design.odds
            total = a + b if design.at_most is None else design.at_most * a + len(design.questions) * b
            rates[name] = a / total, b / total
            assert table["option"].tolist() == [option for option in design.questions for _ in range(2)]
            table = {column: values[::2] for column, values in table.items()}
            assert table["value"].tolist() == ["yes"] * len(design.questions)
        p, q = rates[name]
        for row, share in enumerate(shares[name]):
            count, size = int(table["reports"][row]), int(n[row % len(n)])
            expected = q + (p - q) * share
            assert abs(count - size * expected) <= 5 * math.sqrt(size * expected * (1 - expected))
            assert (table["low"][row], table["high"][row]) == pytest.approx(exact(count, size, p, q), abs=1e-9)


def published(folder: Path, survey: Survey, counts: list[tuple[str, int, int]]) -> Any:
    """Return the published state after so many reports of code 0 and 1 to items, from two groups in turn."""
    bodies, bundles = Bodies(survey), []
    names = [f"{item.question.id}{item.option or ''}" for item in survey.items]
    for name, *numbers in counts:
        for code, number in enumerate(numbers):
            reports: Any = [code if known == name else SKIPPED for known in names]
            groups = [(place % 2,) if survey.groups else () for place in range(number)]
            bundles += [bodies.read(bodies.write(reports, nonce=os.urandom(16), groups=group)) for group in groups]
    store = SqliteStore.opened(str(folder / "survey.db"), survey)
    store.keep(bundles)
    collected = store.collected()
    store.release()
    return collected


def options_published(folder: Path, **fields: Any) -> Any:
    """Return 60 of 100 reports of beer, 60 of 90 of wine, 20 of 80 of tea."""
    survey = several(SelectAll(["beer", "wine", "tea"], epsilon=math.log(3)), **fields)
    return published(folder, survey, [("q1beer", 60, 40), ("q1wine", 60, 30), ("q1tea", 20, 60)])


SHARES = [(0.6 - 0.25) * 2, (60 / 90 - 0.25) * 2, 0]  # odds 3 : 1, by hand


def test_shares_of_options_need_not_sum_to_one(tmp_path: Path) -> None:
    counted = options_published(tmp_path, stop=270).tally("q1")
    assert (counted.by, counted.groups) == (("option",), (("beer",), ("wine",), ("tea",)))
    assert (counted.n.tolist(), counted.missing.tolist()) == ([100, 90, 80], [170, 180, 190])
    assert estimate(counted).table()["share"][::2] == pytest.approx(SHARES, abs=1e-6)


def test_dashboard_report_and_exports_have_the_same_intervals(tmp_path: Path) -> None:
    groups = [{"id": "region", "text": "Where?", "values": ["north", "south"]}]
    collected = options_published(tmp_path, stop=270, groups=groups)
    (question,) = reading(collected)["questions"]
    assert question["reports"] == 270
    assert [(row["label"], row["reports"]) for row in question["answers"]] == [("beer", 100), ("wine", 90), ("tea", 80)]
    assert question["interval"]["name"] == "exact 95 % interval (population)"
    assert question["check"]["fits"]
    columns = exported(collected, "csv", "q1").content.decode().splitlines()
    rows = [dict(zip(columns[0].split(","), line.split(","), strict=True)) for line in columns[1::2]]
    for row, answer, share, n in zip(rows, question["answers"], SHARES, (100, 90, 80), strict=True):
        ends = exact(int(row["reports"]), n, 3 / 4, 1 / 4)
        assert (row["option"], row["value"]) == (answer["label"], "yes")
        assert (float(row["low"]), float(row["high"])) == pytest.approx(ends, abs=1e-6)
        assert (answer["share"], answer["low"], answer["high"]) == pytest.approx((share, *ends), abs=1e-6)
    # In groups, every option again; and the report has the same, in numbers of respondents who were asked.
    (group,) = question["groups"]
    assert [(value["value"], value["reports"]) for value in group["values"]] == [("north", 135), ("south", 135)]
    table = estimate(collected.tally("q1", by=("region",))).table()
    for value in group["values"]:
        here = (table["region"] == value["value"]) & (table["value"] == "yes")
        assert [row["label"] for row in value["answers"]] == table["option"][here].tolist()
        assert [row["share"] for row in value["answers"]] == pytest.approx(table["share"][here].tolist())
    page = survey_report(collected)
    assert "<q>beer</q>: about 70 of 100 respondents who were asked" in page
    assert "Each of them was asked about 1 of 3 options, drawn at random." in page
    # Of tea, the sensitive option: 20 of 80 reports, one half of each from north and south
    assert page.count("about 0 of 40 respondents who were asked") == 2
    assert "the shares need not sum to 100 %" in page
    assert b"beer" in exported(collected, "html", "q1").content
    tallies = json.loads(exported(collected, "json").content)["questions"][0]
    assert tallies["tally"]["by"] == ["option"]


def test_options_without_reports_have_no_share(tmp_path: Path) -> None:
    collected = published(tmp_path, several(DRINKS), [("q1beer", 6, 4)])
    (question,) = reading(collected)["questions"]
    assert [row["share"] is None for row in question["answers"]] == [False, True, True]
    assert "<q>tea</q>: no reports yet" in survey_report(collected)


def test_one_label_is_counted_for_every_option(tmp_path: Path) -> None:
    # 30 reports of red, 20 of green: of 50 respondents each.
    collected = published(tmp_path, several(PILLS, stop=50), [("q1", 30, 20)])
    assert collected.tally("q1").counts.tolist() == [[30, 20], [20, 30], [0, 50], [0, 50]]
    (question,) = reading(collected)["questions"]
    assert (question["reports"], [row["reports"] for row in question["answers"]]) == (50, [50] * 4)
    assert question["skipped"] is None


def test_what_is_lost_is_said_everywhere(tmp_path: Path) -> None:
    survey = several(COIN, THREE, ask=1)
    collected = published(tmp_path, survey, [("q1", 6, 4), ("q2", 3, 7)])
    lost = "Each respondent is asked 1 of 2 questions, drawn at random by the browser. Joint distributions of several"
    assert survey.lost().startswith(lost)
    for question in reading(collected)["questions"]:
        assert any(sentence.startswith(lost) for sentence in question["design"])
        assert (question["reports"], question["skipped"], question["blank"]) == (10, 10, "not asked")
    assert json.loads(exported(collected, "json").content)["questions"][0]["lost"].startswith(lost)
    page = survey_report(collected)
    assert "10 respondents were not asked this question." in page
    assert survey.lost() in page
    assert several(COIN, THREE).lost() == ""


# Expected precision


@pytest.mark.parametrize(("people", "chance"), [(100, Fraction(1, 2)), (1000, Fraction(1, 7)), (50, Fraction(2, 3))])
def test_the_number_of_reports_is_reached_with_a_probability_of_95_percent(people: int, chance: Fraction) -> None:
    # Against sums of the binomial distribution in exact arithmetic
    def at_least(reports: int, n: int) -> Fraction:
        terms = (math.comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(reports, n + 1))
        return sum(terms, Fraction(0))

    number = fewest_reports(people, chance)
    assert at_least(number, people) >= Fraction(95, 100) > at_least(number + 1, people)
    needed = responses_needed(number, chance)
    assert at_least(number, needed) >= Fraction(95, 100) > at_least(number, needed - 1)
    assert needed <= people


def test_prospects_are_those_of_the_reports_that_come() -> None:
    asked = prospects(several(COIN, DRINKS, ask=1, stop=1000), 0)
    assert asked["q1"] == prospects(several(COIN, stop=474), 0)["q1"] + "; 50.0 % of respondents are asked"
    assert asked["q2"].endswith("; 16.7 % of respondents are asked about each option")


# Notices


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "ar"])
def test_notices_tell_what_is_drawn(language: str) -> None:
    plain = privacy_notice(several(COIN, COIN, language=language), form="md").count("\n\n")
    drawn = privacy_notice(several(COIN, COIN, language=language, ask=1), form="md").count("\n\n")
    assert drawn == plain + 1
    options = privacy_notice(several(DRINKS, PILLS, language=language), form="md")
    assert options.count("\n\n") == plain + 2
    assert "27" in options  # 1 / (1 + e) of respondents who do not drink tea report that they do


def test_the_notice_has_the_probabilities_of_options() -> None:
    text = privacy_notice(several(COIN, DRINKS, PILLS, ask=1), form="md")
    assert "Your browser asks you 1 of the 3 questions." in text
    assert "“Question 2? tea” Of 100 people whose answer is “yes”, about 73 send “yes”." in text
    # a / (2a + 4b) and b / (2a + 4b) at a / b = e
    assert "“Question 3?” Of 100 people whose answer is “white”, about 29 send “white”." in text
    assert "Of 100 people with another answer, about 11 send “white” as well." in text
    assert "(epsilon 1.099)" in text


# The shell


def test_the_shell_estimates_options_and_says_what_is_lost(tmp_path: Path) -> None:
    collected = options_published(tmp_path, stop=270)
    done = run(tmp_path, "estimate", "survey.db", "--question", "q1")
    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith(("beer", "wine", "tea"))]
    assert [row[:6] for row in rows] == [
        ["beer", "yes", "60", "of", "100", "70.0"],
        ["wine", "yes", "60", "of", "90", "83.3"],
        ["tea", "yes", "20", "of", "80", "0.0"],
    ]
    lost = collected.survey.lost(collected.survey.questions[0])
    assert done.stderr == f"warner: note: {lost}\n"
    assert "options are no independent groups" in lost
    assert "warner groups" not in done.stdout  # which would pool them


# Browsers


def tick(page: Page, *places: int) -> None:
    for place in places:
        page.click(f".choice:nth-child({place + 1})")


TICKED = "[...document.querySelectorAll('input')].map((input) => Number(input.checked)).join('')"


def test_a_reload_asks_the_same_and_stores_no_answer(page: Page) -> None:
    survey = several(*[RandomizedResponse(["zanzibar", "quokka"], odds=(3, 1))] * 30, DRINKS, ask=2)
    book = Book()
    with served(survey, book) as url:
        opened(page, url)
        asked = page.evaluate(ASKED)
        assert "2 of the 31 questions" in page.evaluate("document.querySelector('main').innerText")
        page.click(".choice:nth-child(2)")
        for _ in range(3):
            page.reload()
            wait_until(lambda: page.evaluate("document.querySelectorAll('fieldset').length"))
            assert page.evaluate(ASKED) == asked
        assert page.evaluate("sessionStorage.length + localStorage.length") == 1
        assert "quokka" not in page.evaluate(KEPT)
        for number in range(page.evaluate("document.querySelectorAll('fieldset').length")):
            page.click(f"fieldset:nth-of-type({number + 1}) .choice:nth-child(2)")
        press(page)
        heading(page, "Your response has arrived")
        assert page.evaluate("sessionStorage.length") == 0
        (bundle,) = book.bundles
        skipped = [
            cells == layout.of_report(SKIPPED) for cells, layout in zip(bundle.cells, survey.layouts, strict=True)
        ]
        assert skipped.count(False) == 2
        assert "Questions or possibilities without a report" in page.evaluate(
            "document.querySelector('main').textContent"
        )


def test_boxes_go_with_nothing_or_with_each_other(page: Page) -> None:
    book = Book()
    with served(several(PILLS, optional=0), book) as url:
        opened(page, url)
        assert page.evaluate(TICKED) == "000000"  # four options, none of these, and skipping
        press(page)
        assert not book.bundles
        assert "Please tick everything that applies, or “none of these”." in page.evaluate(
            "document.querySelector('fieldset').innerText"
        )
        tick(page, 0, 2, 3)
        assert page.evaluate(TICKED) == "101100"
        tick(page, 4)
        assert page.evaluate(TICKED) == "000010"
        tick(page, 5)
        assert page.evaluate(TICKED) == "000001"
        tick(page, 1)
        assert page.evaluate(TICKED) == "010000"
        page.click("summary")
        page.click(".fold button")
        assert "Practice draw 1" in page.evaluate("document.querySelector('.drawn').innerText")
        press(page)
        heading(page, "Your response has arrived")
        (bundle,) = book.bundles
        assert bundle.cells[0][0] < 6  # one of four options and two blanks


def test_a_hosted_page_draws_as_well(page: Page, tmp_path: Path) -> None:
    survey, book = several(COIN, THREE, DRINKS, ask=1), Book()
    other = hosting(tmp_path, {})
    origin = f"http://127.0.0.1:{other.server_port}"
    with served(survey, book, origins=[origin]) as url, other:
        (tmp_path / "page.html").write_text(hosted_page(survey, url.rsplit("/s/", 1)[0]), encoding="utf-8")
        opened(page, f"{origin}/page.html")
        assert page.evaluate("document.querySelectorAll('fieldset').length") == 1
        page.click(".choice:nth-child(2)")
        press(page)
        heading(page, "Your response has arrived")
        assert len(book.bundles) == 1
        other.shutdown()
