"""The respondents' page in real browsers: what leaves, what stays, and that a person reports once."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from scipy.stats import chi2

import warner
from collecting_cases import open_survey
from service.browsers import wait_until
from service.respondents import LABELS, TOKEN, Book, choose, driving, heading, opened, posts, press, served
from service.serving import collecting
from warner import RandomizedResponse
from warner.designs import MECHANISMS
from warner.service import stores
from warner.service.pages import address, hosted_page
from warner.service.responses import Bodies
from warner.service.survey import SKIPPED, survey_from_json

if TYPE_CHECKING:
    from pathlib import Path

    from service.browsers import ChromiumPage, Page

ARRIVED = "Your response has arrived"
WAITING = "Not sent yet; trying again"
CHECKED = "[...document.querySelectorAll('input')].filter((input) => input.checked || input.value.length > 2).length"
# What a page leaves behind: storage, cookies, history
LEFT = "[sessionStorage.length, localStorage.length, document.cookie, history.state, location.hash]"
TOKEN_BYTES = bytes(range(16))


# What leaves, and what stays


def test_one_host_one_post_and_no_answer_anywhere(page: Page) -> None:
    survey, book = driving(), Book()
    with served(survey, book) as url:
        before, said = len(page.requests), len(page.console)
        opened(page, url)
        loaded = [request.url for request in page.requests[before:] if not request.url.endswith("favicon.ico")]
        assert len(loaded) <= 1 + 4
        choose(page, 1, 2, 0, 4)
        assert page.evaluate(LEFT) == [0, 0, "", None, ""]
        press(page)
        heading(page, ARRIVED)
        requests = page.requests[before:]
        (sent,) = [request for request in requests if request.method == "POST"]
        assert {urlsplit(request.url).netloc for request in requests} == {urlsplit(url).netloc}
        assert sent.url == f"{url}/report"
        assert not sent.headers.get("cookie", "") + sent.headers.get("referer", "")
        everything = json.dumps([[request.url, request.headers, request.body.decode()] for request in requests])
        assert not any(label in everything for label in [*LABELS, "Both the same", "south"])
        fields = json.loads(sent.body)
        assert fields.keys() == {"survey", "nonce", "token", "groups", "reports"}
        assert (fields["survey"], fields["token"], fields["groups"]) == (survey.fingerprint, "." * 22, ["0001"])
        assert fields["reports"][1] == "0000"  # what the person chose, who has randomized it
        assert book.bundles == [Bodies(survey).read(sent.body)]
        assert page.evaluate(LEFT) == [0, 0, "", None, ""]
        assert page.evaluate("[location.href, document.querySelectorAll('form').length]") == [url, 0]
        assert page.console[said:] == []


def test_all_bodies_have_one_length(page: Page) -> None:
    designs = [example for mechanism in MECHANISMS.values() for example in mechanism.examples() if example.k < 5000]
    document = open_survey(designs)
    for question in document["questions"][::2]:
        question["optional"] = True
    survey = survey_from_json(json.dumps(document))
    bodies = Bodies(survey)
    drawn = """async (module, survey, choices) => {
      const { opened, body } = await import(module);
      const form = await opened(survey);
      return choices.map((chosen) => body(form, chosen));
    }"""
    rng = np.random.default_rng(1)
    choices: list[list[int | None]] = [[int(rng.integers(design.k)) for design in designs] for _ in range(20)]
    choices += [[0 for _ in designs], [design.k - 1 for design in designs]]
    choices += [[None if place % 2 == 0 else 0 for place in range(len(designs))]]
    with served(survey, Book()) as url:
        page.goto(url)
        sent = [text.encode() for text in page.evaluate(drawn, address("page.js"), survey.to_dict(), choices)]
    assert len({len(body) for body in sent}) == 1
    read = [bodies.read(body) for body in sent]
    assert len({bundle.nonce for bundle in read}) == len(sent)
    skipped = tuple(layout.of_report(SKIPPED) for layout in survey.layouts)
    assert read[-1].cells[::2] == skipped[::2]
    assert all(bundle.cells[place] != skipped[place] for bundle in read[:-1] for place in range(0, len(designs), 2))


def test_reload_and_back_restore_nothing(page: Page) -> None:
    with served(driving(), Book()) as url:
        opened(page, url)
        choose(page, 1, 2, 0, 4)
        assert page.evaluate(CHECKED) == 4
        page.reload()
        wait_until(lambda: page.evaluate("document.querySelectorAll('fieldset').length"))
        assert page.evaluate(CHECKED) == 0
        choose(page, 1, 2, 0, 4)
        page.goto(url.rsplit("/s/", 1)[0] + "/health")
        page.back()
        wait_until(lambda: page.evaluate("document.querySelectorAll('fieldset').length"))
        assert page.evaluate(CHECKED) == 0
        assert page.evaluate("document.querySelectorAll(':is(input, button):not([autocomplete=off])').length") == 0


# Once, and the same bytes


def test_a_double_click_is_one_report(page: Page) -> None:
    book = Book()
    with served(driving(), book) as url:
        before = len(posts(page))
        opened(page, url)
        choose(page, 0, 0, 1, 5)
        page.evaluate("((button) => { button.click(); button.click(); })(document.querySelector('main > button'))")
        heading(page, ARRIVED)
        assert len(posts(page)) == before + 1
        assert len(book.bundles) == 1
        page.goto(url.rsplit("/s/", 1)[0] + "/health")
        page.back()  # and then nothing is sent again
        wait_until(lambda: page.evaluate("document.querySelectorAll('fieldset').length"))
        assert len(posts(page)) == before + 1


def test_retries_and_reloads_send_the_same_bytes(page: Page) -> None:
    book = Book(reachable=False)
    with served(driving(), book) as url:
        before = len(posts(page))
        opened(page, url)
        choose(page, 0, 0, 1, 5)
        press(page)
        heading(page, WAITING)
        assert page.evaluate("document.querySelectorAll('input, dl').length") == 0  # no draw is shown before it is sent
        key = f"warner response test {'.' * 22} {driving().fingerprint}"
        assert page.evaluate("Object.keys(sessionStorage)") == [key]
        press(page)  # "Try again now"
        wait_until(lambda: len(posts(page)) == before + 2)
        page.reload()
        heading(page, WAITING)
        book.reachable = True
        press(page)
        heading(page, ARRIVED)
        sent = [request.body for request in posts(page)[before:]]
        assert len(sent) >= 4
        assert set(sent) == {sent[0]}
        assert len(book.bundles) == 1
        assert page.evaluate(LEFT) == [0, 0, "", None, ""]


@pytest.mark.parametrize("reply", ["{}", '{"message": "Forbidden"}', "[]", "5", "null", '{"kept": "true"}'])
def test_what_others_reply_is_no_refusal(tab: ChromiumPage, reply: str) -> None:
    book = Book()
    with served(driving(), book) as url:
        tab.page.route("**/report", lambda route: route.fulfill(status=403, body=reply))
        opened(tab, url)
        choose(tab, 0, 0, 1, 5)
        press(tab)
        heading(tab, WAITING)
        tab.page.unroute("**/report")
        press(tab)
        heading(tab, ARRIVED)
        assert len(book.bundles) == 1


def test_a_network_that_comes_back_is_used_at_once(tab: ChromiumPage) -> None:
    book = Book()
    with served(driving(), book) as url:
        opened(tab, url)
        choose(tab, 0, 0, 1, 5)
        tab.page.context.set_offline(True)
        press(tab)
        heading(tab, WAITING)
        tab.page.context.set_offline(False)
        heading(tab, ARRIVED)
        assert len(book.bundles) == 1


def test_two_tabs_with_one_invitation_are_counted_once(tab: ChromiumPage) -> None:
    book = Book(tokens={TOKEN_BYTES: b""}, invited=True)
    with served(driving(access="invited"), book) as url:
        other = type(tab)(tab.page.context.new_page())
        for one in (tab, other):
            opened(one, f"{url}#t={TOKEN}")
            assert one.evaluate("location.href") == url  # not for shoulders
            choose(one, 0, 0, 1, 5)
        tab.page.bring_to_front()
        tab.reload()  # the invitation outlives a reload
        wait_until(lambda: tab.evaluate("document.querySelectorAll('fieldset').length"))
        choose(tab, 0, 0, 1, 5)
        press(tab)
        heading(tab, ARRIVED)
        other.page.bring_to_front()
        press(other)
        heading(other, "This invitation has already been used")
        assert len(book.bundles) == 1
        assert tab.evaluate("sessionStorage.length") == other.evaluate("sessionStorage.length") == 0
        other.page.close()


def asked_again(page: Page, token: str) -> None:
    """Paste the link of an invitation into the address of a survey that is open, and wait for empty questions."""
    page.evaluate(f"void setTimeout(() => (location.hash = 't={token}'))")

    def empty() -> bool:
        with suppress(Exception):  # while the page is being replaced, no browser answers
            return bool(page.evaluate(f"[document.querySelectorAll('fieldset').length, {CHECKED}]") == [4, 0])
        return False

    wait_until(lambda: empty() and page.evaluate("location.hash") == "")


def test_another_invitation_in_the_same_tab_is_another_person(page: Page) -> None:
    other = base64.urlsafe_b64encode(bytes(16))[:22].decode()
    book = Book(tokens={TOKEN_BYTES: b"", bytes(16): b""}, invited=True)
    with served(driving(access="invited"), book) as url:
        opened(page, f"{url}#t={TOKEN}")
        choose(page, 0, 0, 1, 5)
        asked_again(page, other)
        assert page.evaluate("location.href") == url
        choose(page, 0, 0, 1, 5)
        press(page)
        heading(page, ARRIVED)
        assert [bundle.token for bundle in book.bundles] == [bytes(16)]
        asked_again(page, TOKEN)  # after the thanks as well


def test_a_mistyped_code_is_corrected_without_another_draw(page: Page) -> None:
    book = Book(tokens={TOKEN_BYTES: b""}, invited=True)
    with served(driving(access="invited"), book) as url:
        before = len(posts(page))
        opened(page, url)
        choose(page, 0, 0, 1, 5)
        press(page)
        assert page.evaluate("document.activeElement.className") == "code"
        assert "22" in page.evaluate("document.querySelector('.field .error').innerText")
        page.type("input.code", "B" * 22)  # no 16 bytes are written so: nothing is drawn for it
        press(page)
        assert page.evaluate("document.activeElement.className") == "code"
        assert len(posts(page)) == before
        page.evaluate("void (document.querySelector('input.code').value = '')")
        page.type("input.code", "B" * 21 + "A")
        press(page)
        heading(page, "This invitation code was not recognized")
        page.type("input.code", f"{url}#t={TOKEN}")
        press(page)
        heading(page, ARRIVED)
        wrong, right = [json.loads(request.body) for request in posts(page)[before:]]
        assert wrong | {"token": TOKEN} == right
        assert len(book.bundles) == 1
        assert page.evaluate(LEFT) == [0, 0, "", None, ""]


def test_a_closed_survey_says_so(page: Page) -> None:
    book = Book()
    with served(driving(), book) as url:
        opened(page, url)
        choose(page, 0, 0, 1, 5)
        book.closed = True
        press(page)
        heading(page, "This survey is closed")
        assert page.evaluate("sessionStorage.length") == 0
        page.goto(url)
        assert "This survey is closed." in page.evaluate("document.body.innerText")
        assert page.evaluate("document.querySelectorAll('input, button, script').length") == 0
        assert not book.bundles


# What is refused


def test_without_script_nothing_can_be_sent(tab: ChromiumPage) -> None:
    with served(driving(), Book()) as url:
        session = tab.page.context.new_cdp_session(tab.page)
        session.send("Emulation.setScriptExecutionDisabled", {"value": True})
        tab.goto(url)
        assert "nothing can be sent" in tab.page.inner_text("body")
        assert tab.page.locator("input, button, form, select, textarea").count() == 0
        session.send("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize("what", ["insecure", "altered"])
def test_pages_that_cannot_be_trusted_ask_nothing(tab: ChromiumPage, what: str) -> None:
    with served(driving(), Book()) as url:
        other = type(tab)(tab.page.context.new_page())
        if what == "insecure":
            other.page.add_init_script("Object.defineProperty(window, 'isSecureContext', { value: false })")
        else:

            def altered(route: Any) -> None:
                reply = route.fetch()
                route.fulfill(response=reply, body=reply.text().replace('"odds":["3","1"]', '"odds":["9","1"]', 1))

            other.page.route(url, altered)
        other.goto(url)
        wait_until(lambda: "nothing was sent" in other.evaluate("document.body.innerText"))
        assert other.evaluate("document.querySelectorAll('input, button').length") == 0
        other.page.close()


def test_another_person_can_start_again(page: Page) -> None:
    book = Book()
    with served(driving(), book) as url:
        opened(page, f"{url}#questions")  # a link with a fragment of its own would load nothing
        choose(page, 0, 0, 1, 5)
        press(page)
        heading(page, ARRIVED)
        page.click("main a")
        heading(page, "A survey")
        assert len(book.bundles) == 1


def test_missing_answers_are_asked_for(page: Page) -> None:
    with served(driving(), Book()) as url:
        before = len(posts(page))
        opened(page, url)
        choose(page, 0)
        press(page)
        asked = "[...document.querySelectorAll('fieldset')].map((field) => field.getAttribute('aria-invalid'))"
        assert page.evaluate(asked) == [None, "true", "true", "true"]
        assert page.evaluate("document.activeElement === document.querySelectorAll('fieldset:nth-of-type(2) input')[0]")
        choose(page, 0, 0)
        assert page.evaluate(asked) == [None, None, "true", "true"]
        assert len(posts(page)) == before


def test_the_command_thanks_for_a_response_that_is_in_its_file(page: Page, tmp_path: Path) -> None:
    survey = driving(batch=2)
    with collecting(tmp_path, survey) as running:
        opened(page, f"http://127.0.0.1:{running.port}/s/{survey.id}")
        choose(page, 1, 2, 0, 5)
        press(page)
        heading(page, ARRIVED)
        running.stop()
    (database,) = tmp_path.glob("*.db")
    store = stores.opened(str(database), survey)
    store.close()  # which publishes a single response, too
    store.release()
    assert warner.tally(database, question="both").counts.tolist() == [1, 0]  # as the person chose


# On the pages of others


def hosting(folder: Path, files: dict[str, str]) -> Any:
    """Serve files from another origin."""
    import functools
    import http.server
    import threading

    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments: Any) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def test_a_page_on_another_host_sends_to_the_server(page: Page, tmp_path: Path) -> None:
    survey, book = driving(), Book()
    other = hosting(tmp_path, {})
    origin = f"http://127.0.0.1:{other.server_port}"
    with served(survey, book, origins=[origin]) as url, other:
        (tmp_path / "page.html").write_text(hosted_page(survey, url.rsplit("/s/", 1)[0]), encoding="utf-8")
        before, said = len(page.requests), len(page.console)
        opened(page, f"{origin}/page.html")
        choose(page, 1, 2, 0, 4)
        press(page)
        heading(page, ARRIVED)
        requests = [request for request in page.requests[before:] if request.method != "OPTIONS"]
        assert [request.url for request in requests] == [f"{origin}/page.html", f"{url}/report"]
        assert len(book.bundles) == 1
        assert page.console[said:] == []
        other.shutdown()


def test_a_survey_within_another_page(page: Page, tmp_path: Path) -> None:
    survey, book = driving(), Book()
    other = hosting(tmp_path, {})
    origin = f"http://127.0.0.1:{other.server_port}"
    with served(survey, book, origins=[origin]) as url, other:
        host = url.rsplit("/s/", 1)[0]
        embedding = (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Ours</title><h1>{ARRIVED[:4]}</h1>'
            f'<div class="warner" data-warner="{url}" data-fingerprint="{survey.fingerprint}"></div>'
            f'<script type="module" src="{host}{address("page.js")}"></script>'
        )
        (tmp_path / "page.html").write_text(embedding, encoding="utf-8")
        opened(page, f"{origin}/page.html")
        choose(page, 1, 2, 0, 4)
        page.click(".warner > button")
        wait_until(lambda: page.evaluate("document.querySelector('h2').innerText") == ARRIVED)
        submitted = """async (module, url, survey) => {
          const { submit } = await import(module);
          return submit(url, survey, { often: "fjord", both: "differ" }, { groups: { region: "south" } });
        }"""
        assert page.evaluate(submitted, host + address("page.js"), url, survey.to_dict()) == "kept"
        (drawn, differs, skipped) = book.bundles[1].cells
        assert len(book.bundles) == 2
        assert drawn[0] >= survey.layouts[0].width  # the second group
        assert (differs, skipped) == ((2 + 1,), (6 + 5,))
        other.shutdown()


# The law


DRAWING = """async ([module, url, survey, people, sending]) => {
  const { opened, body, deliver } = await import(module);
  const form = await opened(survey);
  const bodies = Array.from({ length: people }, (_, i) => body(form, [i % 5]));
  const waiting = sending ? [...bodies.keys()] : [], replies = [];
  const client = async () => {
    for (let i; (i = waiting.pop()) !== undefined; ) replies.push(await deliver(`${url}/report`, bodies[i]));
  };
  await Promise.all(Array.from({ length: 6 }, client));
  return [replies, bodies];
}"""


@pytest.mark.parametrize("wrong", [False, True])
def test_reports_of_the_page_follow_the_design(tab: ChromiumPage, wrong: bool) -> None:
    # 400 people with each of 5 answers: 20 degrees of freedom. Under the right odds chi-square exceeds the bound of 76
    # once in 5e7 runs. With b + 1 for b, 3/11 and not 3/7 of reports are true, and 2/11 and not 1/7 are each lie: it is
    # then about 2000 ((3/11 - 3/7)^2 7/3 + 4 (2/11 - 1/7)^2 7) = 198 on average.
    design = RandomizedResponse(LABELS, odds=(3, 1))
    survey, book = survey_from_json(json.dumps(open_survey([design]))), Book()
    with served(survey, book) as url:
        other = tab.page.context.new_page()
        if wrong:

            def altered(route: Any) -> None:
                reply = route.fetch()
                read, altered = 'const [a, b] = ratio("odds", odds);', 'let [a, b] = ratio("odds", odds); b += 1n;'
                assert reply.text().count(read) == 1
                route.fulfill(response=reply, body=reply.text().replace(read, altered))

            other.route("**/warner.js", altered)
        other.goto(url)
        replies, sent = other.evaluate(DRAWING, [address("page.js"), url, survey.to_dict(), 2000, not wrong])
        other.close()
    read = [Bodies(survey).read(text.encode()) for text in sent]
    if not wrong:
        assert set(replies) == {"kept"}
        assert book.kept == {bundle.nonce: bundle for bundle in read}
    table = np.zeros((5, 5))
    for place, bundle in enumerate(read):
        table[place % 5, bundle.cells[0][0]] += 1
    expected = 400 * design.channel()
    statistic = ((table - expected) ** 2 / expected).sum()
    assert (statistic > chi2.isf(2e-8, 20)) == wrong
