"""Reports of whole surveys: numbers of respondents by hand, groups, and what is not shown."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from collecting_cases import open_survey, random_body
from service.browsers import accessibility_findings
from warner import OpenDomain, RandomizedResponse, SquareWave, Tally, estimate, grid, surveys
from warner.service.notices import privacy_notice
from warner.service.reporting import survey_report
from warner.service.responses import Bodies
from warner.service.stores import opened
from warner.service.survey import survey_from_json

if TYPE_CHECKING:
    from pathlib import Path

    from service.browsers import ChromiumPage
    from warner.service.stores.contract import Collected

DIRECT = RandomizedResponse(["yes", "no"], odds=(1, 0))
COIN = RandomizedResponse(["yes", "no"], odds=(9, 1))
GROUPS = [{"id": "grade", "text": "Which grade?", "values": ["nine", "ten"]}]

# Tables of which a part is off the screen
HIDDEN_TABLES = (
    "[...document.querySelectorAll('.wide')].filter((table) => table.scrollWidth > table.clientWidth).length"
)


def collected_by(folder: Path, answers: list[list[Any]], *, close: bool = True, **fields: object) -> Collected:
    """Collect the responses of respondents with these answers and groups."""
    survey = survey_from_json(json.dumps(open_survey(**fields)))
    store, bodies = opened(str(folder / "test.db"), survey), Bodies(survey)
    k = len(survey.questions)
    store.keep([bodies.read(random_body(bodies, row[:k], groups=row[k:])) for row in answers])
    if close:
        store.close()
    result = store.collected()
    store.release()
    return result


def test_without_noise_the_numbers_are_the_counts(tmp_path: Path) -> None:
    answers = [[0, 0]] * 4 + [[0, 1]] * 2 + [[1, 0]] * 10 + [[1, 1]] * 24
    page = survey_report(collected_by(tmp_path, answers, designs=[DIRECT], groups=GROUPS), noun="pupils")
    assert "40 pupils responded" in page
    assert "<q>yes</q>: <strong>about 6 of 40 pupils</strong>, between 6 and 6." in page
    assert "about 4 of 14 pupils, between 4 and 4" in page
    assert "about 2 of 26 pupils, between 2 and 2" in page
    assert "width:15.00%" in page


def test_the_range_is_the_interval_for_the_sample(tmp_path: Path) -> None:
    state = collected_by(tmp_path, [[0]] * 12 + [[1]] * 48, designs=[COIN])
    table = estimate(state.tally()).table(level=0.9, target="realised")
    low, high = round(60 * table["low"][0]), round(60 * table["high"][0])
    page = survey_report(state, level=0.9)
    assert f"about {round(60 * table['share'][0])} of 60 respondents</strong>, between {low} and {high}." in page
    assert "In 90 % of such surveys" in page
    assert "The ranges assume that the survey was not closed because of its results." in page


def test_the_population_has_percentages_and_intervals_for_all_looks(tmp_path: Path) -> None:
    state = collected_by(tmp_path, [[0]] * 12 + [[1]] * 48, designs=[COIN])
    low = estimate(state.tally()).table(anytime=True)["low"][0]
    page = survey_report(state, target="population")
    assert f"between {100 * low:.0f} % and" in page
    assert "any-time" in page


def test_small_groups_and_open_surveys_are_not_shown_by_group(tmp_path: Path) -> None:
    answers = [[0, 0]] * 4 + [[1, 1]] * 26
    page = survey_report(collected_by(tmp_path, answers, designs=[DIRECT], groups=GROUPS))
    assert "too few to show" in page
    assert "of 4 respondents" not in page
    (tmp_path / "open").mkdir()
    page = survey_report(collected_by(tmp_path / "open", answers, close=False, designs=[DIRECT], groups=GROUPS))
    assert "Which grade?" not in page
    assert "The survey is still open" in page


def test_numbers_have_a_mean_and_words_are_found(tmp_path: Path) -> None:
    hours = SquareWave(grid(0, 20), epsilon=5)
    words = OpenDomain(letters="a-c", length=2, epsilon=4)
    (word,) = words.values.encoded(["ab"]).blocks
    state = collected_by(tmp_path, [[k % 21, word] for k in range(400)], designs=[hours, words])
    page = survey_report(state)
    assert re.search(r"The mean is <strong>about [\d.]+</strong>, between [\d.]+ and [\d.]+\.", page)
    assert "<svg" in page
    assert "Frequent answers" in page


def test_groups_of_a_numeric_question_have_means_and_no_share_of_the_largest_number(tmp_path: Path) -> None:
    hours = SquareWave(grid(0, 20), epsilon=5)
    rows = [[8 + k % 9, 0] for k in range(300)] + [[3, 1]] * 4  # nine: a mean of 12; ten: too few
    state = collected_by(tmp_path, rows, designs=[hours], groups=GROUPS)
    page = survey_report(state)
    mean = estimate(state.tally(state.survey.questions[0].id, by=("grade",))).mean(target="realised")
    value, low, high = (float(np.asarray(numbers)[0]) for numbers in (mean.value, mean.low, mean.high))
    about, least, most = map(float, re.findall(r"about ([\d.]+), between ([\d.]+) and ([\d.]+)</td>", page)[0])
    assert np.allclose([about, least, most], [value, low, high], atol=0.06)
    assert "<caption>Mean</caption>" in page
    assert "too few to show" in page
    assert "<q>20</q>" not in page.split("Which grade?")[1].split("Technical details")[0]


def test_reports_that_do_not_fit_are_a_warning(tmp_path: Path) -> None:
    survey = survey_from_json(json.dumps(open_survey([surveys.forced_response(truth="1/2", yes="1/4")])))
    store, bodies = opened(str(tmp_path / "test.db"), survey), Bodies(survey)
    reports = [[np.array(1)]] * 60  # at least a quarter would be forced to yes
    store.keep([bodies.read(bodies.write(report, nonce=bytes([i] * 16))) for i, report in enumerate(reports)])
    store.close()
    page = survey_report(store.collected())
    store.release()
    assert "Attention: " in page


def test_texts_are_escaped_and_no_responses_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="0 published responses"):
        survey_report(collected_by(tmp_path, [[0]] * 3, close=False, designs=[DIRECT]))
    (tmp_path / "two").mkdir()
    state = collected_by(tmp_path / "two", [[0]] * 20, designs=[DIRECT], title="<i>Title</i>")
    page = survey_report(state, noun="<u>pupils</u>")
    assert "<i>" not in page
    assert "<u>" not in page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_report_and_notice_are_accessible_and_fit_phones_and_paper(
    tab: ChromiumPage, tmp_path: Path, scheme: Any
) -> None:
    wide = RandomizedResponse([f"a rather long answer number {place}" for place in range(4)], odds=(9, 1))
    hours = SquareWave(grid(0, 20), epsilon=5)
    state = collected_by(
        tmp_path, [[k % 2, k % 4, k % 21, k % 2] for k in range(90)], designs=[COIN, wide, hours], groups=GROUPS
    )
    pages = {"report": survey_report(state), "notice": privacy_notice(state.survey)}
    tab.page.emulate_media(color_scheme=scheme)
    for name, page in pages.items():
        file = tmp_path / f"{name}.html"
        file.write_text(page, encoding="utf-8")
        tab.goto(file.as_uri())
        for width in (320, 390, 1280):
            tab.resize(width, 800)
            assert accessibility_findings(tab) == []
            assert tab.evaluate("document.documentElement.scrollWidth") == width
        tab.resize(390, 800)
        assert tab.evaluate(HIDDEN_TABLES) == 0  # the intervals are in sight
        assert tab.page.pdf(format="A4").startswith(b"%PDF")
    tab.page.emulate_media(color_scheme="light")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_an_estimate_fits_a_phone(tab: ChromiumPage, scheme: Any, tmp_path: Path) -> None:
    design = RandomizedResponse(["never", "once", "a few times", "every month", "every week"], epsilon=1.5)
    estimate(Tally(design, [1516, 790, 673, 527, 494])).save_page(tmp_path / "page.html")
    tab.page.emulate_media(color_scheme=scheme)
    tab.goto((tmp_path / "page.html").as_uri())
    for width in (390, 1280):
        tab.resize(width, 800)
        assert accessibility_findings(tab) == []
        assert tab.evaluate("document.documentElement.scrollWidth") == width
        assert tab.evaluate(HIDDEN_TABLES) == 0
    tab.page.emulate_media(color_scheme="light")
