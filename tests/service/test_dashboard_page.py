"""The dashboard in real browsers: live numbers; accessible, without console messages or requests to other hosts."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from service.browsers import BROWSERS, ChromiumPage, accessibility_findings, browser, chromium, wait_until
from service.dashboards import Dashboard, dashboard, example, filled, nothing
from warner import RandomizedResponse, estimate
from warner.service.dashboard import Admission, new_key
from warner.service.survey import Group, Question, Survey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.browsers import Page
    from warner.service.stores.contract import Collected

SURVEY = example()
KEY = new_key()
HOSTILE = [
    "<script>document.title = 'taken'</script>",
    "<img src=x onerror=alert(1)>",
    "\"'><b>&amp;",
    "left \u202e right",
    "bell \x07 and \x1b[31m",
    "</script><!--",
    "שלום",
    "%s ${x} {{x}} \\u003c",
]


def text(page: Page, selector: str) -> str:
    found: str = page.evaluate("(selector) => document.querySelector(selector)?.textContent ?? ''", selector)
    return found


def responses(page: Page) -> str:
    return text(page, ".responses strong")


def opened(page: Page, board: Dashboard) -> None:
    page.goto(board.link)
    wait_until(lambda: responses(page))


def spoken(page: Page) -> list[str]:
    """Return what the console holds, but that a browser could not connect to a server that a test has stopped."""
    return [line for line in page.console if "ERR_CONNECTION_REFUSED" not in line and "can’t establish" not in line]


@pytest.fixture(scope="module")
def page() -> Iterator[ChromiumPage]:
    """Start Chromium once; a page that stays open keeps its stream until the next test goes elsewhere."""
    with chromium(viewport={"width": 1100, "height": 800}) as started:
        yield started
        assert not spoken(started)
        assert {urlsplit(request.url).hostname for request in started.requests} == {"127.0.0.1"}


@pytest.mark.parametrize("name", BROWSERS)
def test_the_link_opens_the_dashboard_and_leaves_the_address_bar(name: str) -> None:
    with dashboard(filled(SURVEY, 40)) as board, browser(name) as page:
        opened(page, board)
        assert responses(page) == "40"
        assert page.evaluate("location.href") == f"{board.url}/dashboard"
        assert page.evaluate("document.cookie") == ""
        page.reload()  # the session goes on, in a cookie that browsers keep at 127.0.0.1 although it is for https
        wait_until(lambda: responses(page) == "40")
        assert {urlsplit(request.url).netloc for request in page.requests} == {f"127.0.0.1:{board.port}"}
        assert [line for line in page.console if "NetworkError" not in line] == []
        page.goto("about:blank")


def test_numbers_are_those_of_the_library(page: ChromiumPage) -> None:
    collected = filled(SURVEY, 1000)
    with dashboard(collected) as board:
        opened(page, board)
        for question in SURVEY.questions:
            table = estimate(collected.tally(question.id)).table(anytime=True)
            card = f'[data-question="{question.id}"]'
            shown = page.evaluate(
                "(card) => [...document.querySelectorAll(`${card} .estimated`)].map((cell) => cell.textContent)", card
            )
            numbers = [[float(number) for number in re.findall(r"[\d.]+", cell)] for cell in shown[1:]]
            rows = slice(1 if question.listed.k == 2 else None)  # of two answers, the second is the rest
            expected = 100 * np.stack([table[name][rows] for name in ("share", "low", "high")], axis=1)
            np.testing.assert_allclose(numbers, expected, atol=0.051)
            assert "95 % any-time interval" in text(page, f"{card} caption").replace("\N{NO-BREAK SPACE}", " ")
            rest = "There are two answers: the share of no is 100 % minus that of yes."
            assert (rest in text(page, card).replace("\N{NO-BREAK SPACE}", " ")) == (question.listed.k == 2)
        # The drawing: a bar as long as the share, whiskers from end to end, of a scale to 100 %.
        bar = page.evaluate(
            "[...document.querySelectorAll('.bar')[0].querySelectorAll('.share, .whisker')].map((node) => "
            "['width', 'x1', 'x2'].map((name) => parseFloat(node.getAttribute(name))))"
        )
        table = estimate(collected.tally("often")).table(anytime=True)
        assert bar[0][0] == pytest.approx(100 * table["share"][0])
        assert bar[1][1:] == pytest.approx([100 * table["low"][0], 100 * table["high"][0]])


def test_caveats_stand_once_and_axes_are_equal_for_both_targets(page: ChromiumPage) -> None:
    stopped = replace(filled(SURVEY, 1000, "closed"), survey=replace(SURVEY, stop=1000))
    for collected, caveat in ((filled(SURVEY, 1000), "It holds however often you look"), (stopped, "at most 5 %")):
        with dashboard(collected) as board:
            opened(page, board)
            shown = text(page, "main").replace("\N{NO-BREAK SPACE}", " ")
            assert shown.count(caveat) == 1
            assert shown.count("a false alarm sooner or later") == (collected.state == "open")
            ends = page.evaluate("[...document.querySelectorAll('.axis')].map((axis) => axis.lastChild.textContent)")
            assert len(ends) > 2 * (collected.state == "closed")
            assert len(set(ends)) == 1
            assert page.evaluate("document.querySelector('.summary progress')?.value ?? 0") == (
                collected.survey.stop or 0
            )
            page.goto("about:blank")
    with dashboard(stopped) as board:
        opened(page, board)
        page.page.select_option("#target", "sample")
        table = estimate(stopped.tally("often")).table(target="realised")
        cell = text(page, '[data-question="often"] tbody .estimated').replace("\N{NO-BREAK SPACE}", " ")
        numbers = [f"{100 * table[name][0]:.1f} %" for name in ("share", "low", "high")]
        assert cell == f"{numbers[0]} {numbers[1]} to {numbers[2]}"
        assert "misses the share among these respondents" in text(page, ".caveats")
        page.goto("about:blank")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_expired_link_and_a_shared_survey_are_accessible(page: ChromiumPage, scheme: Any) -> None:
    page.page.emulate_media(color_scheme=scheme)
    local = "http://192.168.1.5:8000/s/a"
    with dashboard(filled(SURVEY, 40), certificate=":".join(["AB"] * 32), public=local) as board:
        opened(page, board)
        assert "Not for other devices: without HTTPS" in text(page, ".summary")
        wait_until(lambda: page.evaluate("document.querySelector('img.code').naturalWidth"))
        page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        page.resize(320, 800)
        assert page.evaluate("document.documentElement.scrollWidth") == 320
        assert not accessibility_findings(page)
        page.page.context.clear_cookies()
        page.goto(board.link)
        assert "warner survey link" in text(page, "main")
        assert page.evaluate("document.documentElement.scrollWidth") == 320
        assert page.evaluate("getComputedStyle(document.querySelector('.card')).borderTopWidth") == "1px"  # styled
        assert not accessibility_findings(page)
        page.goto("about:blank")
    page.console[:] = [line for line in page.console if "403" not in line]
    page.page.emulate_media(color_scheme="light")
    page.resize(1100, 800)


def test_before_the_first_step_there_are_words(page: ChromiumPage) -> None:
    with dashboard(nothing(SURVEY)) as board:
        opened(page, board)
        assert responses(page) == "0"
        assert "appear when 10 responses have arrived" in text(page, ".nothing")
        assert page.evaluate("document.querySelectorAll('.bar').length") == 0
        assert "9,235 more (9,235 in all)" in text(
            page, ".questions"
        )  # for intervals that hold however often one looks
        expected = "What to expect: 95 % any-time intervals of at most ±5 percentage points take 9,235 reports."
        assert text(page, ".prospect").replace("\N{NO-BREAK SPACE}", " ") == expected


def test_what_is_needed_is_measured_by_what_the_survey_will_count(page: ChromiumPage) -> None:
    fixed = replace(SURVEY, stop=1000, closes="2101-12-24T12:00+01:00")
    for survey, invited, words in (
        (fixed, 0, "2,326 in all: more than the 1,000 at which the survey closes"),
        (replace(fixed, stop=5000), 0, "2,326 more (2,326 in all)"),
        (
            replace(fixed, stop=50_000, access="invited"),
            40_000,
            "9,235 more (9,235 in all)",
        ),  # it cannot reach its number
    ):
        with dashboard(replace(nothing(survey), invited=invited)) as board:
            opened(page, board)
            assert words in text(page, '[data-question="often"]')
            assert re.search(rf"December 2[34], 2101.*, or with {survey.stop:,} responses", text(page, ".summary"))
            assert ("it will not close by itself" in text(page, ".summary")) == bool(invited)


@pytest.mark.parametrize("stop", [None, 1000])
def test_nobody_is_advised_to_close_a_survey_that_closes_by_itself(page: ChromiumPage, stop: int | None) -> None:
    with dashboard(nothing(replace(SURVEY, stop=stop))) as board:
        opened(page, board)
        shown = text(page, "main")
    assert ("Close it once enough respondents have answered." in shown) == (stop is None)
    assert ("Let it close by itself at 1,000 responses" in shown) == (stop is not None)
    # Closing by hand publishes the waiting responses, however few they are.
    assert "in steps of at least 10 until the survey is closed, so that" in shown


def test_steps_arrive_by_themselves_and_folds_focus_and_wishes_stay(page: ChromiumPage) -> None:
    with dashboard(filled(SURVEY, 40)) as board:
        opened(page, board)
        page.click('[data-question="often"] details[data-name="design"] summary')
        page.page.select_option("#wish", "3")
        page.evaluate("document.querySelector('[data-question=\"often\"] details summary').focus()")
        board.steps.publish(filled(SURVEY, 50))
        wait_until(lambda: responses(page) == "50")
        assert page.evaluate("document.querySelector('[data-question=\"often\"] details').open")
        assert page.evaluate("document.activeElement.textContent") == "How answers are randomized"
        assert "Still needed for ± 2 percentage points" in text(page, ".questions")
        assert "50 responses published" in text(page, ".hidden[role=status]")


def test_a_lost_connection_is_said_and_comes_back(page: ChromiumPage) -> None:
    door = Admission(KEY, reusable=True)
    with dashboard(filled(SURVEY, 40), admission=door) as board:
        board.key = KEY
        opened(page, board)
        assert text(page, "#connection").startswith("Live.")
        port = board.port
    wait_until(lambda: "Connection lost" in text(page, "#connection"))
    assert responses(page) == "40"  # what is known stays
    with dashboard(filled(SURVEY, 60), admission=door, port=port):
        wait_until(lambda: responses(page) == "60")
        assert text(page, "#connection").startswith("Live.")
    wait_until(lambda: "Connection lost" in text(page, "#connection"))
    with dashboard(filled(SURVEY, 60), port=port):  # a new start knows no old session
        wait_until(lambda: "open the new link that it printed" in text(page, "#connection"))
        page.console[:] = [line for line in page.console if "403" not in line]
        page.goto("about:blank")


def test_closing_asks_first_and_is_for_good(page: ChromiumPage) -> None:
    with dashboard(filled(SURVEY, 40)) as board:
        opened(page, board)
        page.click(".closing button")
        assert "cannot be reopened" in text(page, "dialog")
        assert "The intervals stay as they are" in text(page, "dialog")
        assert page.evaluate("document.activeElement.textContent") == "Keep it open"
        page.page.keyboard.press("Enter")  # a key that is hit by accident keeps it open
        assert not page.evaluate("document.querySelector('dialog').open")
        assert board.steps.closings == 0
        page.click(".closing button")
        page.click("dialog button.danger")
        wait_until(lambda: text(page, ".state") == "Closed")
        assert board.steps.closings == 1
        assert not page.evaluate("document.querySelector('dialog').open")
        assert text(page, "#connection") == "The survey is closed. These results are final."
        note = text(page, ".caveats .note").replace("\N{NO-BREAK SPACE}", " ")
        assert note.startswith("95 % any-time interval (population). It holds however often you look")
        assert "The reports fit the design" in text(page, '[data-question="often"] dl')
        assert page.evaluate("document.querySelectorAll('.closing button').length") == 0


def test_a_failed_closing_is_said(page: ChromiumPage) -> None:
    with dashboard(filled(SURVEY, 40)) as board:
        opened(page, board)

        async def fail() -> Collected:
            raise OSError

        board.steps.close = fail  # type: ignore[method-assign]
        page.click(".closing button")
        page.click("dialog button.danger")
        wait_until(lambda: "did not close the survey" in text(page, "dialog [role=alert]"))
        page.console[:] = [line for line in page.console if "500" not in line]
        assert text(page, ".state") == "Open"


def test_files_can_be_taken_away(page: ChromiumPage) -> None:
    with dashboard(filled(SURVEY, 40)) as board:
        opened(page, board)
        with page.page.expect_download() as download:
            page.click('[data-question="often"] a[href*="format=csv"]')
        assert download.value.suggested_filename == "drinking-often-40.csv"
        with page.page.expect_download() as download:
            page.click('.summary a[href*="format=json"]')
        assert json.loads(Path(download.value.path()).read_text())["survey"] == SURVEY.fingerprint


def hostile() -> Survey:
    labels = HOSTILE
    design = RandomizedResponse(labels, odds=(3, 1))
    question = Question("q", HOSTILE[0], "device", design, help=HOSTILE[3])
    group = Group("g", HOSTILE[1], (HOSTILE[0], HOSTILE[2]))
    return Survey("hostile", HOSTILE[0], "he", "", "", "", "counts", 10, "open", (group,), (question,))


@pytest.mark.parametrize("state", ["open", "closed"])
def test_whatever_stands_in_a_label_is_shown_as_text(page: ChromiumPage, state: str) -> None:
    survey = hostile()
    with dashboard(filled(survey, 200, state)) as board:
        opened(page, board)
        escaped = [
            label.replace("\u202e", "\\u202e").replace("\x07", "\\x07").replace("\x1b", "\\x1b") for label in HOSTILE
        ]
        shown = page.evaluate(
            "[...document.querySelector('.shares').querySelectorAll('tbody th')].map((label) => label.innerText)"
        )
        assert [" ".join(label.split()) for label in shown] == [" ".join(label.split()) for label in escaped]
        assert page.evaluate("document.title") == f"{HOSTILE[0]} – dashboard"
        assert text(page, "h1") == HOSTILE[0]
        assert page.evaluate("document.querySelectorAll('b, img, script:not([src])').length") == 0
        page.goto("about:blank")


# Screens


def misfit() -> Collected:
    collected = filled(SURVEY, 1000, "closed")
    counts = collected.cells[0].copy()
    counts[:, 0] += counts[:, -1]
    counts[:, -1] = 0
    return replace(collected, cells=(counts, collected.cells[1]))


def many() -> Collected:
    question = Question("q", "Which of these?", "device", RandomizedResponse(1000, epsilon=4))
    survey = Survey("many", "Many answers", "en", "", "", "", "counts", 10, "open", (), (question,))
    return filled(survey, 5000)


SCREENS: dict[str, Any] = {
    "0": lambda: nothing(SURVEY),
    "1000": lambda: filled(SURVEY, 1000),
    "failed": misfit,
    "many": many,
    "hostile": lambda: filled(hostile(), 200, "closed"),
}


@pytest.mark.parametrize("name", SCREENS)
def test_screens_are_accessible_and_fit(page: ChromiumPage, name: str, tmp_path: Path) -> None:
    with dashboard(SCREENS[name]()) as board:
        opened(page, board)
        page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        for scheme, width in (("light", 1100), ("dark", 320)):
            page.page.emulate_media(color_scheme=scheme)
            page.resize(width, 800)
            assert page.evaluate("document.documentElement.scrollWidth") == width
            page.screenshot(tmp_path / f"{name}-{scheme}-{width}.png")
            assert not accessibility_findings(page)
        if name == "0":
            page.click(".closing button")
            assert not accessibility_findings(page)
    page.page.emulate_media(color_scheme="light")
    page.resize(1100, 800)


def test_everything_can_be_reached_by_keyboard(page: ChromiumPage) -> None:
    with dashboard(filled(SURVEY, 40)) as board:
        opened(page, board)
        reached = []
        for _ in range(40):
            page.page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.tagName + ' ' + document.activeElement.textContent"))
        for wanted in (
            "BUTTON Copy",
            "SELECT",
            "SUMMARY How answers are randomized",
            "A CSV",
            "BUTTON Close the survey…",
        ):
            assert any(one.startswith(wanted) for one in reached), wanted
