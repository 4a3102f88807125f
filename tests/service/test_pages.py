"""The shell of the page: what stands in it, what cannot, and the policy under which it runs.

It tests service/pages.py as well.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re

import pytest

from service.respondents import driving
from warner.service.pages import assets, hosted_page, page, policy, version

LANGUAGES = json.loads(assets()["words.js"].decode().split("export default ")[1].rstrip(";\n"))["languages"]
JSON = re.compile(r'<script type="application/json">(.*?)</script>', re.DOTALL)
HOSTILE = '</script><!--<script>alert("1")</script>&amp;"\'<form action="/">'


def source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_shell_holds_the_survey_and_its_fingerprint() -> None:
    survey = driving(title=HOSTILE, intro=HOSTILE, thanks=HOSTILE)
    text = page(survey)
    (held,) = JSON.findall(text)
    assert json.loads(held) == {
        "fingerprint": survey.fingerprint,
        "epsilon": survey.shown_epsilon,
        "survey": survey.to_dict(),
    }
    (words,) = re.findall(r'data-words="(.*?)"', text)
    assert json.loads(html.unescape(words))["languages"] == {"en": LANGUAGES["en"]}
    without = JSON.sub("", text)
    assert "alert(" in html.unescape(without)
    assert not re.search(r"<(form|input|select|textarea|button|iframe|img)\b|<script(?! type=\"module\")", without)


def test_nothing_is_loaded_from_anywhere_else() -> None:
    addresses = re.findall(r'(?:src|href)="([^"]*)"', page(driving()))
    assert len(addresses) == len(set(addresses)) == 4
    assert all(re.fullmatch(rf"/static/{version()}/\w+\.js", address) for address in addresses)
    assert {address.rsplit("/", 1)[1] for address in addresses} <= assets().keys()


def test_the_policy_allows_the_style_of_the_page_and_no_other() -> None:
    (style,) = re.findall(r"<style>(.*?)</style>", page(driving()), re.DOTALL)
    rules = dict(rule.split(" ", 1) for rule in policy().split("; "))
    assert rules["style-src"] == f"'self' {source(style)}"
    assert rules["default-src"] == rules["form-action"] == rules["frame-ancestors"] == rules["base-uri"] == "'none'"
    assert rules["script-src"] == rules["connect-src"] == "'self'"
    assert rules["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in policy()


def test_a_closed_survey_has_neither_script_nor_questions() -> None:
    text = page(driving(), "closed")
    assert LANGUAGES["en"]["closed"] in text
    assert "<script" not in text
    assert "How often?" not in text


@pytest.mark.parametrize("language", ["ar", "en"])
def test_a_time_is_not_turned_round_where_words_run_from_right_to_left(language: str) -> None:
    # Without this, browsers show 2026-12-01 as 12-2026- and 01 among Arabic words.
    text = page(driving(language=language, opens="2026-12-01T08:00+01:00"), "early")
    assert '<bdi dir="ltr">2026-12-01, 08:00 (UTC+01:00)</bdi>' in text


def test_a_hosted_page_is_one_file_for_one_server() -> None:
    text = hosted_page(driving(), "https://collect.example.org/surveys/")
    assert 'data-warner="https://collect.example.org/surveys/s/test"' in text
    (script,) = re.findall(r'<script type="module">(.*?)</script>', text, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    (given,) = re.findall(r'content-security-policy" content="(.*?)"', text)
    rules = dict(rule.split(" ", 1) for rule in html.unescape(given).split("; "))
    assert rules["script-src"] == source(script)
    assert rules["style-src"] == source(style)
    assert rules["connect-src"] == "https://collect.example.org"
    assert re.findall(r'(?:src|href)="([^"]*)"', text) == ["data:,"]
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)


@pytest.mark.parametrize(
    "server",
    [
        *("collect.example.org", "ftp://example.org", "https://", "https://a.org/?x=1", "https://a.org/#x"),
        *("https://a.org *", "https://a.org;script-src", "https://a.org:99999", "https://a.org:0", "https://["),
        *("https://u:p@a.org", "https://a.org/a b", "https://a.org\n", "https://a.örg", "https://.a.org"),
    ],
)
def test_a_hosted_page_needs_the_address_of_its_server(server: str) -> None:
    with pytest.raises(ValueError, match="url must be the address of the survey's server"):
        hosted_page(driving(), server)


@pytest.mark.parametrize(
    ("language", "direction", "spoken"),
    [("en", "ltr", "en"), ("de-AT", "ltr", "de"), ("AR", "rtl", "ar"), ("fa", "rtl", "en"), ("xx", "ltr", "en")],
)
def test_language_and_direction(language: str, direction: str, spoken: str) -> None:
    text = page(driving(language=language))
    assert f'<html lang="{language}" dir="{direction}">' in text
    assert html.escape(LANGUAGES[spoken]["noscript"]) in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_words_are_there_in_every_language(language: str) -> None:
    ours, english = LANGUAGES[language], LANGUAGES["en"]
    assert list(ours) == list(english)
    for name, text in ours.items():
        assert sorted(set(re.findall(r"\{\w+\}", text))) == sorted(set(re.findall(r"\{\w+\}", english[name])))
        assert text == text.strip() != ""
        assert language == "en" or text != english[name] or name == "no"  # which Spanish writes alike


def test_no_word_is_unused() -> None:
    script = "".join(assets()[name].decode() for name in ("page.js", "sets.js", "open.js"))
    built = {
        "usedText",
        "closedText",
        "revokedText",
        "earlyText",
        "refused",
        "refusedText",
        "device",
        "person",
        "noscript",
        "loading",
    }
    unused = {word for word in LANGUAGES["en"] if f'"{word}"' not in script} - built
    assert unused == set()
