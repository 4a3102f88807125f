"""Questions that people answer in their own words: reports are kept without order, and found after closing."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import random
import re
import time
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import warner
from cases import COIN
from collecting_cases import open_survey
from service.browsers import accessibility_findings, chromium, wait_until
from service.dashboards import dashboard
from service.forensics import cells
from service.respondents import Book, heading, opened, posts, press, served
from service.serving import JSON_TYPE, asked
from warner import OpenDomain
from warner.results import formulas_in
from warner.service.app import Rate, survey_app
from warner.service.dashboard_data import prospects, reading
from warner.service.exports import exported
from warner.service.pages import address
from warner.service.responses import Bodies, KeptReport, RefusedError
from warner.service.stores import backup, collected
from warner.service.stores.contract import Collected, by_question
from warner.service.stores.sqlite import SqliteStore
from warner.service.survey import SKIPPED, load_survey, survey_from_json
from warner.text import sentence

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from service.browsers import ChromiumPage, Page
    from service.databases import Place
    from warner.service.responses import Bundle
    from warner.service.survey import Survey

WORDS = OpenDomain(epsilon=4, letters="a-z", length=6)
BYTES, IDS = OpenDomain(epsilon=2, bytes=12), OpenDomain(epsilon=2, bits=48)
REGION = {"id": "region", "text": "Where?", "values": ["north", "south"]}
TYPED = "Quokka"  # a word that stands nowhere else
ARRIVED = "Your response has arrived"
LEFT = """async () => [sessionStorage.length, localStorage.length, document.cookie, history.state, location.hash,
  (await indexedDB.databases?.() ?? []).length, (await caches.keys()).length]"""


def asking(designs: Any = (WORDS, COIN), **fields: Any) -> Survey:
    """Return a survey whose first question is answered in people's own words, and may be skipped."""
    document = open_survey(designs) | fields
    document["questions"][0]["optional"] = True
    return survey_from_json(json.dumps(document))


def people(survey: Survey, words: Sequence[str | None], groups: Any = None) -> list[Bundle]:
    """Return the responses of respondents with these words, or skip the question."""
    bodies, design = Bodies(survey), survey.questions[0].open
    assert design is not None
    responses = []
    for place, word in enumerate(words):
        report = SKIPPED if word is None else design.draw(design.values.encoded([word]).blocks, os.urandom)[0]
        chosen = () if groups is None else groups[place]
        body = bodies.write([report, 0][: len(survey.questions)], nonce=os.urandom(16), groups=chosen)
        responses.append(bodies.read(body))
    return responses


# The survey file and the response


def test_a_survey_takes_texts_and_says_what_cannot_be(tmp_path: Path) -> None:
    survey = asking([WORDS, BYTES, IDS])
    assert survey == survey_from_json(survey.to_json())
    assert survey.open_questions == (0, 1, 2)
    assert [layout.width for layout in survey.layouts] == [2, 1, 1]
    assert survey.epsilon == pytest.approx(8)
    document = open_survey([WORDS])
    WORDS.save(tmp_path / "words.json")
    document["questions"][0]["design"] = "words.json"
    (tmp_path / "survey.json").write_text(json.dumps(document), encoding="utf-8")
    assert load_survey(tmp_path / "survey.json").questions[0].design == WORDS
    for change, message in [
        ({"mode": "person"}, 'mode of question 1 must be "device": a text cannot be hashed by hand'),
        ({"labels": {"a": "A"}}, "labels of question 1 must be left out"),
        ({"design": WORDS.closed(["a", "b"]).to_dict()}, "must randomize answers, but a closed list only"),
        ({"design": WORDS.to_dict() | {"field": 4}}, "field must be a prime"),
    ]:
        document = open_survey([WORDS])
        document["questions"][0] |= change
        with pytest.raises(ValueError, match=message):
            survey_from_json(json.dumps(document))


def test_a_body_has_one_length_and_keeps_the_report() -> None:
    survey = asking(groups=[REGION])
    bodies = Bodies(survey)
    rows = WORDS.draw(WORDS.values.encoded(["quokka"] * 60).blocks, os.urandom)
    written = [bodies.write([row, 1], nonce=os.urandom(16), groups=[1]) for row in [*rows, SKIPPED]]
    assert len({len(body) for body in written}) == 1
    assert {row[0] for row in rows.tolist()} == {1, 2}  # both levels, of two lengths
    read = [bodies.read(body) for body in written]
    texts = WORDS.report_form.written(rows).tolist()
    assert [bundle.reports for bundle in read[:-1]] == [(KeptReport(0, 1, text),) for text in texts]
    assert {bundle.cells for bundle in read[:-1]} == {((2,), (3,))}
    assert (read[-1].reports, read[-1].cells) == ((), ((3,), (3,)))


@pytest.mark.parametrize("damage", ["0", "9:", ":", "3:ffff", "x", " ", ".", "-1"])
def test_what_is_no_report_is_refused(damage: str) -> None:
    survey = asking()
    body = json.loads(
        Bodies(survey).write([WORDS.draw(np.zeros((1, 2), dtype=int), os.urandom)[0], 0], nonce=bytes(16))
    )
    right = body["reports"][0]
    for wrong in (damage.ljust(len(right)), damage + right[len(damage) :], right[: -len(damage)] + damage, right + " "):
        body["reports"][0] = wrong
        if wrong != right and WORDS.report_form.read([wrong.rstrip(" ")]).status[0] != 0:
            with pytest.raises(RefusedError):
                Bodies(survey).read(json.dumps(body).encode())
    body["reports"][0] = right.rstrip(" ") if right.endswith(" ") else right[:-1]
    with pytest.raises(RefusedError):
        Bodies(survey).read(json.dumps(body).encode())


def hostile(right: bytes, kind: int, chance: random.Random) -> bytes:
    """Return a body that no page sends, of one of many kinds, by changing one that a page might send."""
    fields = json.loads(right)
    fields["nonce"] = base64.urlsafe_b64encode(chance.randbytes(16))[:22].decode()
    report, length = fields["reports"][0], len(fields["reports"][0])
    place = chance.randrange(len(report.rstrip(" ")))
    changed: list[Any] = [
        report[:place] + chance.choice("gXz;.\0\n٣") + report[place + 1 :],
        report[:place] + report[place + 1 :],
        f"{chance.choice('0345678９')}{report[1:]}",
        re.sub(":.*:", lambda direction: f":{'f' * (len(direction[0]) - 2)}:", report),  # beyond the largest
        re.sub(r"\d+( *)$", r"99\1", report),  # the hash values are fewer
        "'; drop table reports; --".ljust(length)[:length],
        " " * length,
        f"{report} ",
        None,
        [report],
        chance.randrange(10**6),
        {"level": 1},
        True,
    ]
    if kind < len(changed):
        fields["reports"][0] = changed[kind]
        return json.dumps(fields).encode()
    bodies = [
        right[: chance.randrange(len(right))],
        chance.randbytes(len(right)),
        b"[" * 3000,
        json.dumps(fields | {"also": 1}).encode(),
        json.dumps(fields | {"reports": fields["reports"] * 2}).encode(),
        json.dumps(fields | {"reports": fields["reports"][:1]}).encode(),
        right.replace(b'"reports"', b'"reports":["x"],"reports"'),
        json.dumps(fields | {"survey": "0" * 64}).encode(),
    ]
    return bodies[kind - len(changed)]


def test_of_many_hostile_posts_none_is_kept_and_honest_ones_all_are(tmp_path: Path) -> None:
    survey, chance, book = asking(), random.Random(5), Book()
    rows = WORDS.draw(WORDS.values.encoded(["quokka", "emu", "kiwi"] * 40).blocks, os.urandom)
    honest = [Bodies(survey).write([row, 1], nonce=os.urandom(16)) for row in rows]
    damaged = [hostile(body, kind, chance) for kind in range(21) for body in honest[::4]]
    posts_in_turn = [(body, 200) for body in honest] * 2 + [(body, 400) for body in damaged]  # and everybody once more
    chance.shuffle(posts_in_turn)
    app = survey_app(survey, book, rate=Rate(0), complain=pytest.fail)

    async def replies() -> list[tuple[int, int]]:
        path = f"/s/{survey.id}/report"
        every = [await asked(app, "POST", path, JSON_TYPE, body) for body, _ in posts_in_turn]
        return [(status, len(text)) for status, _, text in every]

    told = asyncio.run(replies())
    assert [status for status, _ in told] == [status for _, status in posts_in_turn]
    assert len({length for _, length in told}) == 1
    assert sorted(report.report for bundle in book.kept.values() for report in bundle.reports) == sorted(
        WORDS.report_form.written(rows).tolist()
    )


# Stores


def kept(place: Place, survey: Survey, sent: list[Bundle], at_once: int = 7) -> None:
    """Keep responses, some at a time, and close the survey."""
    with place.opened(survey) as store:
        for start in range(0, len(sent), at_once):
            store.keep(sent[start : start + at_once])
            store.keep(sent[start : start + 1])  # a retry, which is not kept again
            store.tidy()
        store.close()


def test_reports_are_kept_and_found_after_closing(place: Place) -> None:
    survey = place.survey([WORDS, COIN], batch=5, groups=[REGION])
    words = ["quokka"] * 300 + ["yurt"] * 200
    rng = np.random.default_rng(5)
    groups = rng.integers(2, size=(len(words), 1)).tolist()
    sent = people(survey, words, groups)
    with place.opened(survey) as store:
        store.keep(sent[:250])
        assert store.collected().reports == {}
        assert reading(store.collected())["questions"][0]["reports"] == 250
        with pytest.raises(ValueError, match="searched in one look, when the survey is closed"):
            warner.tally(place.place, question="q1")
    kept(place, survey, sent[250:], 60)
    tally: Any = warner.tally(place.place, question="q1")
    texts = [bundle.reports[0].report for bundle in sent]
    assert tally == warner.tally(texts, WORDS)
    by = warner.tally(place.place, question="q1", by="region")
    assert by == warner.tally(texts, WORDS, by={"region": [REGION["values"][group[0]] for group in groups]})
    assert warner.tally(place.place, WORDS, question="q1") == tally
    found = warner.discover(tally)
    assert "quokka" in found.values  # 300 of 500 at epsilon 4: certain but for a chance far below 1e-6
    with pytest.raises(ValueError, match="find its frequent values with warner discover"):
        collected(place.place).tally("q1")
    assert int(warner.tally(place.place, question="q2").n) == 500


def test_equal_reports_are_kept_as_often_as_they_came(place: Place) -> None:
    tiny = OpenDomain(odds=(3, 1), bits=2, step=1, field=2)
    survey = place.survey([tiny], batch=2)
    design = survey.questions[0].open
    assert design is not None
    rows = design.draw(design.values.encoded([3] * 100).blocks, os.urandom)
    bodies = Bodies(survey)
    sent = [bodies.read(bodies.write([row], nonce=os.urandom(16))) for row in rows]
    kept(place, survey, sent)
    reports = collected(place.place).reports[0]
    assert {text: number for _, text, number in reports} == Counter(bundle.reports[0].report for bundle in sent)
    assert len(reports) <= 12
    assert warner.tally(place.place).n == 100


def test_skipped_questions_are_missing_and_a_backup_has_all(place: Place, tmp_path: Path) -> None:
    document = open_survey([WORDS, COIN], id=place.id)
    document["questions"][0]["optional"] = True
    survey = survey_from_json(json.dumps(document))
    sent = people(survey, ["quokka", None, "yurt", None, "fjord"])
    with place.opened(survey) as store:
        store.keep(sent)
        backup(place.place, str(tmp_path / "copy.db"))  # of a running survey
    copy = SqliteStore.opened(str(tmp_path / "copy.db"), survey)
    copy.close()
    copy.release()
    tally = warner.tally(tmp_path / "copy.db", question="q1")
    assert (tally.n, tally.missing) == (3, 2)
    assert sorted(tally.to_dict()["reports"]) == sorted(bundle.reports[0].report for bundle in sent if bundle.reports)


def test_a_damaged_store_is_refused_and_damaged_reports_are_counted(place: Place) -> None:
    survey = place.survey([WORDS], batch=2)
    kept(place, survey, people(survey, ["quokka"] * 20))
    form = WORDS.report_form
    (_, first, number), *_ = collected(place.place).reports[0]
    place.execute(f"update reports set report = '9:00:1' where report = '{first}'")
    tally = warner.tally(place.place)
    assert (tally.n, tally.unknown, dict(tally.dropped)) == (20 - number, number, {"9:00:1": number})
    assert "9:00:1" in tally.left_out()
    assert form.read(["9:00:1"]).status[0] < 0
    place.execute("delete from reports where report = '9:00:1'")
    with pytest.raises(ValueError, match="does not keep as many reports as it has counted"):
        collected(place.place)
    with pytest.raises(ValueError, match="does not keep as many reports"), place.opened(survey):
        pass


def test_a_survey_without_texts_has_no_table_of_reports(tmp_path: Path) -> None:
    survey = survey_from_json(json.dumps(open_survey([COIN])))
    store = SqliteStore.opened(str(tmp_path / "collected.db"), survey)
    tables = store._connection.execute("select name from sqlite_master where type = 'table'").fetchall()
    store.release()
    assert ("reports",) not in tables


def rows_shown(path: Path) -> list[Any]:
    """Return the reports in the order in which the file shows them to be written."""
    return [
        row[2]
        for _, _, row in cells(path.read_bytes())
        if len(row) == 4 and isinstance(row[3], float) and isinstance(row[2], bytes)
    ]


def test_the_file_does_not_show_the_order_of_reports(tmp_path: Path) -> None:
    survey = asking([WORDS], batch=2)
    sent = people(survey, ["quokka", "yurt", "fjord", "pumice"] * 20)
    orders: list[list[Any]] = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}.db"
        store = SqliteStore.opened(str(path), survey)
        for bundle in sent if name == "one" else sent[::-1]:
            store.keep([bundle])
        while not store.tidy():  # as the writer does about once a second
            time.sleep(0.05)
        assert path.with_name(f"{path.name}-wal").stat().st_size == 0
        orders.append(rows_shown(path))
        store.release()
        orders.append(rows_shown(path))
    assert len(orders[0]) == len({bundle.reports[0].report for bundle in sent}) > 60
    assert orders[0] == orders[1] == orders[2] == orders[3]  # that of the keys, whatever that of arrival was


def test_the_file_is_sorted_when_it_is_opened_after_a_crash(tmp_path: Path) -> None:
    survey = asking([WORDS], batch=2)
    path = tmp_path / "collected.db"
    store = SqliteStore.opened(str(path), survey)
    store._sort_after = float("inf")
    for bundle in people(survey, ["quokka", "yurt"] * 30):
        store.keep([bundle])
    store.tidy()
    crashed = rows_shown(path)
    store._connection.close()
    store._lock.release()
    SqliteStore.opened(str(path), survey).release()
    assert sorted(crashed) == sorted(rows_shown(path))
    # SQLite puts the cells of a new page in the order of the keys; here they lay in that of arrival.
    assert crashed != rows_shown(path) == sorted(crashed)


# What the operator sees


def finished(words: Sequence[str | None], **fields: Any) -> Any:
    """Return what a closed survey has published."""
    survey = asking(**fields)
    sent = people(survey, words)
    answered = sum(word is not None for word in words)
    counts = (np.array([[answered, len(words) - answered]]), np.array([[len(words), 0]]))
    kept = Counter(report for bundle in sent for report in bundle.reports)
    reports = by_question((*report, number) for report, number in sorted(kept.items()))
    return Collected(survey, "closed", len(words), counts, {}, reports=reports)


def test_the_dashboard_names_what_discover_finds_once_the_survey_is_closed() -> None:
    published = finished(["quokka"] * 400 + ["yurt"] * 100 + [None] * 30)
    shown = reading(published)["questions"][0]
    json.dumps(shown, allow_nan=False)
    assert (shown["reports"], shown["skipped"]) == (500, 30)
    found = warner.discover(published.open_tally("q1"))
    assert [answer["label"] for answer in shown["answers"]] == list(found.values)
    table = found.table()
    for name in ("share", "low", "high"):
        assert [answer[name] for answer in shown["answers"]] == table[name].tolist()
    assert sentence(found.promise()) in shown["found"]["text"]
    running = replace(published, state="open", reports={})
    shown = reading(running)["questions"][0]
    assert (shown["answers"], shown["reports"], shown["found"]["text"]) == ([], 500, [])
    share = warner.plan(WORDS, people=1000).smallest_share
    assert f"find an answer with a share of {100 * share:.2f} %" in prospects(running.survey, 0)["q1"]


def finished_in_groups() -> Collected:
    """Return what a closed survey has published whose people say other words in the north than in the south."""
    survey = asking(groups=[REGION])
    sent = people(survey, ["quokka"] * 400 + ["yurt"] * 300 + ["igloo"] * 20, [[0]] * 400 + [[1]] * 320)
    kept = Counter(report for bundle in sent for report in bundle.reports)
    reports = by_question((*report, number) for report, number in sorted(kept.items()))
    counts = np.array([[400, 0], [320, 0]]), np.array([[400, 0], [320, 0]])
    return Collected(survey, "closed", 720, counts, {}, reports=reports)


def test_the_dashboard_searches_each_group_on_its_own() -> None:
    published = finished_in_groups()
    shown = reading(published)["questions"][0]
    json.dumps(shown, allow_nan=False)
    (region,) = shown["groups"]
    found = warner.discover(published.open_tally("q1", by=("region",)))
    assert region["promise"] == "The probability of naming any falsely is at most 5 % in each group."
    assert [(value["value"], value["reports"]) for value in region["values"]] == [("north", 400), ("south", 320)]
    for value, part, word in zip(region["values"], found.findings, ("quokka", "yurt"), strict=True):
        assert [answer["label"] for answer in value["answers"]] == list(part.values)
        assert part.values[0] == word  # one survey in twenty names another besides
        assert [answer["low"] for answer in value["answers"]] == part.low.tolist()
    assert reading(replace(published, state="open", reports={}))["questions"][0]["groups"] == []


def test_exports_of_texts() -> None:
    published = finished(["quokka"] * 400)
    document = json.loads(exported(published, "json").content)
    assert warner.OpenTally.from_dict(document["questions"][0]["tally"]) == published.open_tally("q1")
    assert b"quokka" in exported(published, "csv", "q1").content
    assert b"quokka" in exported(published, "html", "q1").content
    running = replace(published, state="open", reports={})
    assert "tally" not in json.loads(exported(running, "json").content)["questions"][0]
    with pytest.raises(ValueError, match="when the survey is closed"):
        exported(running, "csv", "q1")


def test_answers_like_formulas_are_warned_of_beside_the_files() -> None:
    # About 240 of 400 reports support this text, and 11 any other. In at most one survey in twenty another is named.
    published = finished(["=1+1"] * 400, designs=(OpenDomain(epsilon=4, letters="1=+", length=4), COIN))
    assert b"\n=1+1," in exported(published, "csv", "q1").content  # as it is
    found = warner.discover(published.open_tally("q1"))
    shown = reading(published)["questions"][0]
    assert shown["formulas"] == formulas_in(found.table())
    assert re.match(r"\d names? begins? like a formula \('=1\+1'\): a spreadsheet program may", shown["formulas"])
    assert reading(finished(["quokka"] * 400))["questions"][0]["formulas"] == ""
    running = replace(published, state="open", reports={})
    assert reading(running)["questions"][0]["formulas"] == ""  # nor is there a file
    with dashboard(published) as board, chromium() as page:
        page.goto(board.link)
        wait_until(lambda: "as CSV" in page.evaluate("document.body.innerText"))
        assert f"Note: {shown['formulas']}." in page.evaluate("document.querySelector('[data-question=q1]').innerText")


def test_too_few_reports_are_said_and_no_error() -> None:
    shown = reading(finished(["quokka"]))["questions"][0]
    assert "level" in shown["refused"]


def test_the_dashboard_page_says_what_was_found() -> None:
    published = finished(["quokka"] * 400 + ["<b>"] * 100)
    with dashboard(published) as running, chromium() as page:
        page.goto(running.link)
        wait_until(lambda: page.evaluate("document.querySelectorAll('table').length"))
        text = page.evaluate("document.querySelector('[data-question=q1]').innerText")
        assert "Answers found" in text
        assert "quokka" in text
        assert accessibility_findings(page) == []
    grouped = finished_in_groups()
    south = {place: [row for row in rows if row[0] == 1] for place, rows in grouped.reports.items()}
    for collection, told in ((grouped, "yurt"), (replace(grouped, reports=south), "no answer rises above the noise")):
        with dashboard(collection) as running, chromium() as page:
            page.goto(running.link)
            wait_until(partial(page.evaluate, "document.querySelectorAll('table').length"))
            page.evaluate("document.querySelector('[data-question=q1] [data-name=groups]').open = true")
            text = page.evaluate("document.querySelector('[data-question=q1]').innerText")
            assert "Answers found in each group" in text
            assert told in text
            assert "Each group was searched on its own." in text
            assert accessibility_findings(page) == []
    with dashboard(replace(published, state="open", reports={})) as running, chromium() as page:
        page.goto(running.link)
        wait_until(lambda: page.evaluate("document.querySelectorAll('.card').length"))
        text = page.evaluate("document.querySelector('[data-question=q1]').innerText")
        assert "in their own words" in text
        assert accessibility_findings(page) == []


# The page


def used(page: Page) -> list[str]:
    said: list[str] = page.evaluate("[...document.querySelectorAll('.used')].map((said) => said.innerText)")
    return said


def test_only_the_report_about_a_text_leaves_the_page(page: Page) -> None:
    survey, book = asking([WORDS, BYTES, IDS]), Book()
    with served(survey, book) as url:
        before, said = len(page.requests), len(page.console)
        opened(page, url)
        for place, text in enumerate([f" {TYPED} ", "Zanzibär", "123456789"], 1):
            page.type(f"fieldset:nth-of-type({place}) .typed", text)
        assert used(page) == [
            "Your browser will use “quokka”.",
            "Your browser will use “zanzibär”.",
            "Your browser will use 123,456,789.",
        ]
        assert page.evaluate(LEFT) == [0, 0, "", None, "", 0, 0]
        press(page)
        heading(page, ARRIVED)
        requests = page.requests[before:]
        (sent,) = [request for request in requests if request.method == "POST"]
        everything = json.dumps([[request.url, request.headers, request.body.decode()] for request in requests]).lower()
        assert not any(word in everything for word in ("quokka", "zanzib", "123456789", "123,456,789"))
        assert json.loads(sent.body).keys() == {"survey", "nonce", "token", "reports"}
        assert book.bundles == [Bodies(survey).read(sent.body)]
        assert [report.question for report in book.bundles[0].reports] == [0, 1, 2]
        assert page.evaluate(LEFT) == [0, 0, "", None, "", 0, 0]
        assert page.evaluate("document.querySelectorAll('input, .used').length") == 0
        page.click("summary")
        texts = page.evaluate("[...document.querySelectorAll('dd')].map((said) => said.innerText)")
        for text, report in zip(texts, book.bundles[0].reports, strict=True):
            assert (
                text == f"{report.report} (a randomly chosen calculation and one of its results, which many texts give)"
            )
        assert page.console[said:] == []


def test_what_cannot_be_written_is_said_and_what_is_empty_asked_for(page: Page) -> None:
    survey, book = asking([WORDS, IDS]), Book()
    with served(survey, book) as url:
        before = len(posts(page))
        opened(page, url)
        page.type("fieldset:nth-of-type(1) .typed", "far too long a text")
        page.type("fieldset:nth-of-type(2) .typed", "-5")
        other = "This is too long or has other characters. Your browser will use only that it is some other answer."
        assert used(page) == [other, ""]
        press(page)
        wrong = page.evaluate("[...document.querySelectorAll('fieldset .error')].map((error) => error.innerText)")
        assert wrong == ["", "Please enter a number from 0 to 281,474,976,710,655."]
        assert len(posts(page)) == before
        page.evaluate("document.querySelectorAll('.typed').forEach((input) => (input.value = ''))")
        page.type("fieldset:nth-of-type(2) .typed", "5")
        page.click("fieldset:nth-of-type(1) .choice")  # skipped
        press(page)
        heading(page, ARRIVED)
        assert [report.question for report in book.bundles[0].reports] == [1]


@pytest.mark.parametrize("language", ["en", "de", "ar"])
def test_a_text_for_everybody(tab: ChromiumPage, language: str) -> None:
    tab.resize(320, 640)
    with served(asking([WORDS, BYTES, IDS], language=language), Book()) as url:
        opened(tab, url)
        press(tab)
        tab.type("fieldset:nth-of-type(1) .typed", "word")
        tab.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
        assert accessibility_findings(tab) == []
        assert tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    tab.resize(1000, 800)


def test_reports_from_the_page_are_found(tab: ChromiumPage, place: Place) -> None:
    survey = place.survey([WORDS], batch=10)
    drawn = """async (module, survey, words) => {
      const { opened, body } = await import(module);
      const form = await opened(survey);
      return words.map((word) => body(form, [form.designs[0].answers.indexOf(word)]));
    }"""
    with served(survey, Book()) as url:
        tab.goto(url)
        bodies = tab.evaluate(drawn, address("page.js"), survey.to_dict(), ["Quokka"] * 300 + ["yurt"] * 50)
    read = Bodies(survey)
    kept(place, survey, [read.read(text.encode()) for text in bodies], 50)
    tally: Any = warner.tally(place.place)
    found = warner.discover(tally)
    assert found.values[0] == "quokka"
    # 300 of 350 hold it: within five standard errors of a share of the reports of the last level, about 230 of them
    assert abs(found.table()["share"][0] - 300 / 350) < 5 * (0.25 / 200) ** 0.5 / WORDS.gain
