"""Unsent responses in a tab: each is kept for its own respondent and its own version of the survey."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from collecting_cases import open_survey
from service.browsers import wait_until
from service.nodes import HERE, WEB, node
from service.respondents import TOKEN, Book, choose, driving, posts, served
from service.test_page import hosting
from warner import RandomizedResponse
from warner.service.pages import address, hosted_page
from warner.service.survey import survey_from_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from service.browsers import ChromiumPage, Page
    from warner.service.survey import Survey

FIRST, SECOND = TOKEN, base64.urlsafe_b64encode(bytes(16))[:22].decode()
FIRST_BYTES, SECOND_BYTES = bytes(range(16)), bytes(16)
OPEN = "." * 22
KEPT, LOST = {"kept": True}, None
REFUSED = {"kept": False, "why": "refused"}
ARRIVED = "Your response has arrived"
WAITING = "Not sent yet; trying again"
CHANGED = "This survey has changed."
EARLY = "This survey is not open yet"


# `submit`, in Node


def one_question(truth: int = 3, **fields: Any) -> dict[str, Any]:
    """Return a survey whose answers are a thousand numbers, so that two draws of one answer hardly ever agree."""
    return survey_from_json(json.dumps(open_survey([RandomizedResponse(1000, odds=(truth, 1))], **fields))).to_dict()


def submitted(*steps: dict[str, Any], storage: str = "free") -> list[dict[str, Any]]:
    """Submit responses one after the other in one tab."""
    done = subprocess.run(
        [node(), str(HERE / "unsent.mjs"), storage],
        input=json.dumps([{"survey": one_question(), "answers": {"q1": 7}, "options": {}} | step for step in steps]),
        env={**os.environ, "WARNER_WEB": str(WEB)},
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    results: list[dict[str, Any]] = json.loads(done.stdout)
    return results


def step(*replies: Any, token: str = OPEN, survey: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a response that gets these replies; at the one that is lost, the page is left."""
    options = {} if token == OPEN else {"token": token}
    return {"replies": list(replies), "options": options} | ({} if survey is None else {"survey": survey})


def tokens(sent: list[str]) -> list[str]:
    return [json.loads(body)["token"] for body in sent]


INVITED = one_question(access="invited")


def test_another_respondent_is_never_thanked_for_a_response_that_waits() -> None:
    first, second, again = submitted(
        step(LOST, token=FIRST, survey=INVITED),
        step(KEPT, token=SECOND, survey=INVITED),
        step(KEPT, token=FIRST, survey=INVITED),
    )
    assert (first["outcome"], tokens(first["sent"])) == (None, [FIRST])
    assert first["stored"] == first["sent"]
    assert (second["outcome"], tokens(second["sent"])) == ("kept", [SECOND])
    assert second["stored"] == first["stored"]  # which waits on for its own respondent
    assert (again["outcome"], again["sent"], again["stored"]) == ("kept", first["sent"], [])  # drawn once


def test_without_an_invitation_a_waiting_response_is_sent_as_what_it_is() -> None:
    first, second, third = submitted(step(LOST), step(KEPT), step(KEPT))
    assert (second["outcome"], second["sent"], second["stored"]) == ("earlier", first["sent"], [])
    assert third["outcome"] == "kept"
    assert len(third["sent"]) == 1
    assert third["sent"] != first["sent"]


@pytest.mark.parametrize("why", ["refused", "closed"])
def test_where_the_waiting_response_was_not_counted_the_new_one_is_sent(why: str) -> None:
    first, second = submitted(step(LOST), step({"kept": False, "why": why}, KEPT))
    assert second["outcome"] == "kept"
    assert second["sent"][0] == first["sent"][0] != second["sent"][1]
    assert second["stored"] == []


@pytest.mark.parametrize("token", [OPEN, FIRST])
def test_a_response_to_an_earlier_version_is_not_sent_as_one_to_the_new(token: str) -> None:
    access = "open" if token == OPEN else "invited"
    before, after = (one_question(truth, access=access) for truth in (3, 4))
    assert before["id"] == after["id"]
    first, second, third = submitted(
        step(LOST, token=token, survey=before),
        step(KEPT, token=token, survey=after),
        step(KEPT, token=token, survey=after),
    )
    (body,) = second["sent"]
    assert second["outcome"] == third["outcome"] == "kept"
    assert json.loads(body)["survey"] != json.loads(first["sent"][0])["survey"]
    assert second["stored"] == []
    assert (len(first["warned"]), len(second["warned"]), len(third["warned"])) == (0, 1, 0)
    assert "another version of this survey was not sent" in second["warned"][0]


def test_a_new_version_leaves_the_responses_of_others_alone() -> None:
    other = one_question(4, access="invited")
    first, second, _, again = submitted(
        step(LOST, token=FIRST, survey=INVITED),
        step(KEPT, token=SECOND, survey=other),
        step(KEPT, token=SECOND, survey=INVITED),
        step(KEPT, token=FIRST, survey=INVITED),
    )
    assert (second["stored"], second["warned"]) == (first["sent"], [])
    assert again["sent"] == first["sent"]


@pytest.mark.parametrize("storage", ["full", "forbidden"])
@pytest.mark.parametrize("token", [OPEN, FIRST])
def test_a_second_click_is_no_second_response_where_nothing_can_be_stored(storage: str, token: str) -> None:
    survey = None if token == OPEN else INVITED
    first, second, third = submitted(
        step(LOST, token=token, survey=survey),
        step(KEPT, token=token, survey=survey),
        step(KEPT, token=token, survey=survey),
        storage=storage,
    )
    assert second["sent"] == first["sent"]
    assert second["outcome"] == ("earlier" if token == OPEN else "kept")
    assert third["outcome"] == "kept"
    assert third["sent"] != first["sent"]
    assert first["stored"] == third["stored"] == []


# In browsers, on the survey's own page and on those of others


SEEN = "document.body.innerText"
FIELDS = "document.querySelectorAll('fieldset').length"
STORED = "[...Object.keys(sessionStorage)].sort().map((key) => [key.split(' ')[1], sessionStorage[key]])"
DRIVING = driving(access="invited")


@contextmanager
def pages_of_surveys(
    folder: Path, *surveys: tuple[Survey, Book], together: bool = False, single: bool = False
) -> Iterator[list[str]]:
    """Serve surveys within pages of one other origin, whose tabs share storage, and return their addresses."""
    with ExitStack() as stack:
        other = stack.enter_context(hosting(folder, {}))
        stack.callback(other.shutdown)
        origin = f"http://127.0.0.1:{other.server_port}"
        urls = [stack.enter_context(served(survey, book, origins=[origin])) for survey, book in surveys]
        hosts = [url.rsplit("/s/", 1)[0] for url in urls]
        elements = [f'<main class="warner" data-warner="{url}"></main>' for url in urls]
        scripts = [f'<script type="module" src="{host}{address("page.js")}"></script>' for host in hosts]
        texts = [hosted_page(survey, host) for (survey, _), host in zip(surveys, hosts, strict=True)]
        if not single:
            parts = [("".join(elements), scripts[0])] if together else zip(elements, scripts, strict=True)
            head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Ours</title>'
            texts = [head + element + script for element, script in parts]
        for place, text in enumerate(texts):
            (folder / f"page{place}.html").write_text(text, encoding="utf-8")
        yield [f"{origin}/page{place}.html" for place in range(len(texts))]


def shown(page: Page, *texts: str) -> None:
    """Wait until a page shows one of these texts."""
    wait_until(lambda: any(text in page.evaluate(SEEN) for text in texts))


def asked(page: Page, url: str, token: str | None = None) -> None:
    """Open a page anew in the same tab, and wait for its questions."""
    page.goto("about:blank")
    page.goto(url if token is None else f"{url}#t={token}")
    wait_until(lambda: page.evaluate(FIELDS))


def answered(page: Page) -> None:
    choose(page, 0, 0, 1, 5)
    page.click("main > button")


@pytest.mark.parametrize("single", [False, True])
def test_the_page_asks_the_next_respondent_and_sends_each_response_under_its_invitation(
    page: Page, tmp_path: Path, single: bool
) -> None:
    book = Book(tokens={FIRST_BYTES: b"", SECOND_BYTES: b""}, invited=True, reachable=False)
    with pages_of_surveys(tmp_path, (DRIVING, book), single=single) as (url,):
        before = len(posts(page))
        asked(page, url, FIRST)
        answered(page)
        shown(page, WAITING)
        page.goto("about:blank")
        book.reachable = True
        asked(page, url, SECOND)
        assert book.bundles == []  # opening the second link sends nothing
        page.reload()  # which the second invitation outlives
        wait_until(lambda: page.evaluate(FIELDS))
        assert page.evaluate("document.querySelectorAll('input.code').length") == 0
        answered(page)
        shown(page, ARRIVED)
        assert [bundle.token for bundle in book.bundles] == [SECOND_BYTES]
        ((_, waiting),) = page.evaluate(STORED)
        assert tokens([waiting]) == [FIRST]
        page.goto("about:blank")
        page.goto(f"{url}#t={FIRST}")
        shown(page, ARRIVED)
        assert [bundle.token for bundle in book.bundles] == [SECOND_BYTES, FIRST_BYTES]
        sent = [request.body.decode() for request in posts(page)[before:]]
        assert {body for body in sent if tokens([body]) == [FIRST]} == {waiting}
        assert page.evaluate(STORED) == []


def test_the_page_tells_that_a_waiting_response_is_for_an_earlier_version(page: Page, tmp_path: Path) -> None:
    books = [Book(reachable=False), Book()]
    surveys = [driving(title=title) for title in ("One", "The other")]
    with pages_of_surveys(tmp_path, *zip(surveys, books, strict=True)) as (before, after):
        asked(page, before)
        answered(page)
        shown(page, WAITING)
        asked(page, after)
        shown(page, CHANGED)
        assert books[1].bundles == []
        assert page.evaluate(STORED) == []
        answered(page)
        shown(page, ARRIVED)
        assert [len(book.bundles) for book in books] == [0, 1]
        asked(page, after)
        assert CHANGED not in page.evaluate(SEEN)


def test_a_new_version_does_not_delete_the_response_of_another_invitation(page: Page, tmp_path: Path) -> None:
    books = [
        Book(tokens={FIRST_BYTES: b""}, invited=True, reachable=False),
        Book(tokens={SECOND_BYTES: b""}, invited=True),
    ]
    surveys = [driving(access="invited", title=title) for title in ("One", "The other")]
    with pages_of_surveys(tmp_path, *zip(surveys, books, strict=True)) as (before, after):
        asked(page, before, FIRST)
        answered(page)
        shown(page, WAITING)
        asked(page, after, SECOND)
        assert CHANGED not in page.evaluate(SEEN)
        answered(page)
        shown(page, ARRIVED)
        books[0].reachable = True
        page.goto("about:blank")
        page.goto(f"{before}#t={FIRST}")
        shown(page, ARRIVED)
        assert [[bundle.token for bundle in book.bundles] for book in books] == [[FIRST_BYTES], [SECOND_BYTES]]


def test_a_response_under_a_typed_code_outlives_reloads(page: Page, tmp_path: Path) -> None:
    book = Book(tokens={FIRST_BYTES: b""}, invited=True, reachable=False)
    with pages_of_surveys(tmp_path, (DRIVING, book)) as (url,):
        before = len(posts(page))
        asked(page, url)
        page.type("input.code", SECOND)
        answered(page)
        shown(page, WAITING)
        page.reload()
        shown(page, WAITING)
        book.reachable = True
        for _ in range(2):  # the code was mistyped, which a reload does not forget either
            page.reload()
            shown(page, "This invitation code was not recognized")
        page.type("input.code", FIRST)
        page.click("main > button")
        shown(page, ARRIVED)
        sent = [json.loads(request.body) for request in posts(page)[before:]]
        assert {body["token"] for body in sent} == {FIRST, SECOND}
        assert len({json.dumps(body | {"token": ""}) for body in sent}) == 1
        assert page.evaluate(STORED) == []


def test_an_open_survey_does_not_take_the_invitation_of_another_on_its_page(page: Page, tmp_path: Path) -> None:
    invited = driving(access="invited", id="other")
    books = [Book(), Book(tokens={FIRST_BYTES: b""}, invited=True)]
    both = zip([driving(), invited], books, strict=True)
    with pages_of_surveys(tmp_path, *both, together=True) as (url,):
        page.goto("about:blank")
        page.goto(f"{url}#t={FIRST}")
        wait_until(lambda: page.evaluate(FIELDS) == 8)
        assert page.evaluate("[location.hash, document.querySelectorAll('input.code').length]") == ["", 0]
        assert page.evaluate(STORED) == [["invitation", FIRST]]


def test_a_response_that_waits_under_a_typed_code_goes_on_when_the_code_is_typed_again(
    page: Page, tmp_path: Path
) -> None:
    book = Book(tokens={FIRST_BYTES: b"", SECOND_BYTES: b""}, invited=True, reachable=False)
    with pages_of_surveys(tmp_path, (DRIVING, book)) as (url,):
        before = len(posts(page))
        asked(page, url)
        page.type("input.code", FIRST)
        answered(page)
        shown(page, WAITING)
        asked(page, url, SECOND)
        book.reachable = True
        answered(page)
        shown(page, ARRIVED)
        asked(page, url)
        page.type("input.code", FIRST)
        page.evaluate("document.querySelector('input.code').dispatchEvent(new Event('change'))")
        shown(page, ARRIVED)
        assert [bundle.token for bundle in book.bundles] == [SECOND_BYTES, FIRST_BYTES]
        bodies = {request.body.decode() for request in posts(page)[before:]}
        assert sorted(tokens([*bodies])) == sorted([FIRST, SECOND])  # one draw for each
        assert page.evaluate(STORED) == []


@pytest.mark.parametrize("pasted", [False, True])
@pytest.mark.parametrize("damaged", [SECOND[:-1], SECOND[:-1] + "B", SECOND + "."])
def test_a_damaged_link_never_continues_with_the_invitation_before(
    tab: ChromiumPage, tmp_path: Path, damaged: str, pasted: bool
) -> None:
    book = Book(tokens={FIRST_BYTES: b"", SECOND_BYTES: b""}, invited=True)
    with pages_of_surveys(tmp_path, (DRIVING, book)) as (url,):
        asked(tab, url, FIRST)
        if pasted:
            tab.evaluate(f"void setTimeout(() => (location.hash = 't={damaged}'))")
        else:
            asked(tab, url, damaged)
        wait_until(lambda: tab.page.locator("input.code").count())
        assert tab.evaluate("location.hash") == ""
        tab.reload()
        tab.type("input.code", SECOND)
        answered(tab)
        shown(tab, ARRIVED)
        assert [bundle.token for bundle in book.bundles] == [SECOND_BYTES]


FAILING_ONCE = "if (performance.getEntriesByType('navigation')[0].type !== 'reload') fetch = () => Promise.reject()"
FORBIDDEN = "Object.defineProperty(window, 'sessionStorage', { get() { throw Error(); } })"


def with_script(file: Path, script: str) -> None:
    """Run this script before the survey's own."""
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("<main", f"<script>{script}</script><main", 1), encoding="utf-8")


def test_a_survey_that_could_not_be_loaded_still_has_its_invitation(page: Page, tmp_path: Path) -> None:
    book = Book(tokens={FIRST_BYTES: b""}, invited=True)
    with pages_of_surveys(tmp_path, (DRIVING, book)) as (url,):
        with_script(tmp_path / "page0.html", FAILING_ONCE)
        page.goto("about:blank")
        page.goto(f"{url}#t={FIRST}")
        shown(page, "could not be loaded")
        page.reload()
        wait_until(lambda: page.evaluate(FIELDS))
        assert page.evaluate("[location.hash, document.querySelectorAll('input.code').length]") == ["", 0]


def test_where_nothing_can_be_stored_a_reload_keeps_the_invitation(tab: ChromiumPage, tmp_path: Path) -> None:
    book = Book(tokens={FIRST_BYTES: b""}, invited=True)
    with pages_of_surveys(tmp_path, (DRIVING, book)) as (url,):
        with_script(tmp_path / "page0.html", FORBIDDEN)
        asked(tab, url, FIRST)
        tab.reload()
        wait_until(lambda: tab.evaluate(FIELDS))
        answered(tab)
        shown(tab, ARRIVED)
        assert [bundle.token for bundle in book.bundles] == [FIRST_BYTES]


def test_an_invitation_that_comes_too_early_is_not_forgotten(page: Page, tmp_path: Path) -> None:
    book = Book(tokens={FIRST_BYTES: b""}, invited=True, early=True)
    survey = driving(access="invited", opens="2026-01-01T08:00Z")
    with pages_of_surveys(tmp_path, (survey, book)) as (url,):
        page.goto("about:blank")
        page.goto(f"{url}#t={FIRST}")
        shown(page, EARLY)
        book.early = False
        page.reload()
        wait_until(lambda: page.evaluate(FIELDS))
        book.early = True
        answered(page)
        shown(page, EARLY)
        book.early = False
        page.reload()
        wait_until(lambda: page.evaluate(FIELDS))
        answered(page)
        shown(page, ARRIVED)
        assert [bundle.token for bundle in book.bundles] == [FIRST_BYTES]
        assert page.evaluate(STORED) == []


def test_after_an_unknown_code_another_respondent_can_start(page: Page, tmp_path: Path) -> None:
    book = Book(tokens={SECOND_BYTES: b""}, invited=True)
    with pages_of_surveys(tmp_path, (DRIVING, book)) as (url,):
        before = len(posts(page))
        asked(page, url)
        page.type("input.code", FIRST)
        answered(page)
        for _ in range(2):
            shown(page, "This invitation code was not recognized")
            page.reload()
        shown(page, "This invitation code was not recognized")
        page.click("main a")
        wait_until(lambda: page.evaluate(FIELDS))
        assert page.evaluate(STORED) == []
        page.type("input.code", SECOND)
        answered(page)
        shown(page, ARRIVED)
        sent = [json.loads(request.body) for request in posts(page)[before:]]
        assert len({body["nonce"] for body in sent if body["token"] == FIRST}) == 1
        assert {body["nonce"] for body in sent if body["token"] == SECOND} == {sent[-1]["nonce"]}
        assert sent[-1]["nonce"] != sent[0]["nonce"]


SUBMIT = """async (module, url, survey, token) => {
  const { submit } = await import(module);
  const sending = submit(url, survey, { often: "fjord", both: "differ" }, { token, groups: { region: "south" } });
  return Promise.race([sending, new Promise((done) => setTimeout(() => done("waits"), 2000))]);
}"""


def test_submit_in_browsers_thanks_each_respondent_for_their_own_response(page: Page) -> None:
    book = Book(tokens={FIRST_BYTES: b"", SECOND_BYTES: b""}, invited=True, reachable=False)
    with served(DRIVING, book) as url:
        health = url.rsplit("/s/", 1)[0] + "/health"
        outcomes = []
        for token, reachable in ((FIRST, False), (SECOND, True), (FIRST, True)):
            page.goto("about:blank")
            book.reachable = reachable
            page.goto(health)
            outcomes.append(page.evaluate(SUBMIT, address("page.js"), url, DRIVING.to_dict(), token))
            # What is stored holds reports: no true answer, and nothing of the invitation that is not sent with them.
            assert "fjord" not in json.dumps(page.evaluate("{ ...sessionStorage }"))
        assert outcomes == ["waits", "kept", "kept"]
        assert [bundle.token for bundle in book.bundles] == [SECOND_BYTES, FIRST_BYTES]
        assert page.evaluate("sessionStorage.length") == 0
