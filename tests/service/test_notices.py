"""Privacy notices: numbers of the survey in each language of the page."""

from __future__ import annotations

import json
import math
import re

import pytest

from collecting_cases import open_survey
from service.serving import survey_of
from warner import RandomizedResponse, surveys
from warner.service import notices
from warner.service.pages import _table as page_words
from warner.service.survey import survey_from_json
from warner.text import certainty

COIN = RandomizedResponse(["yes", "no"], odds=(3, 1))  # 3/4 and 1/4; epsilon ln 3


def read(designs: object = (COIN,), **fields: object) -> str:
    return notices.privacy_notice(survey_from_json(json.dumps(open_survey(designs, **fields))), form="md")


def test_the_largest_probability_after_a_report_by_hand() -> None:
    assert certainty(math.log(3), 0.5) == "75 %"
    assert certainty(math.log(3), 0.1) == "25 %"  # (3 / 10) / (12 / 10)
    assert certainty(math.log(9), 0.1) == "50 %"
    assert certainty(math.log(999), 0.5) == "99.9 %"
    assert certainty(math.inf, 0.5) == "100 %"


def test_the_notice_has_the_numbers_of_the_survey() -> None:
    text = read(groups=[{"id": "region", "text": "Where?", "values": ["north", "south"]}])
    assert (
        "Of 100 people whose answer is “yes”, about 75 send “yes”. Of 100 people with another answer, about 25" in text
    )
    assert "the probability is at most 75 %. If it was 10 % before, it is at most 25 %." in text
    assert "Even after seeing all your reports, the probability is at most 75 % (epsilon 1.099)." in text
    assert "sent as they are: Where?\n" in text
    assert "steps of at least 10 responses" in text
    assert "invitation" not in text


def test_other_kinds_of_questions_have_other_paragraphs() -> None:
    direct, crosswise = RandomizedResponse(["yes", "no"], odds=(1, 0)), surveys.crosswise("1/4")
    fields = open_survey([direct, crosswise], access="invited")
    fields["questions"][1] |= {"mode": "person", "optional": True}
    text = notices.privacy_notice(survey_from_json(json.dumps(fields)), form="md")
    assert "Your report can show or exclude an answer with certainty." in text
    assert "you follow them yourself" in text
    assert "If you skip a question" in text
    assert "a hash of your invitation code" in text
    assert "all your reports" not in text  # epsilon is infinite


@pytest.mark.parametrize("language", [*page_words()["languages"], "pt"])
def test_every_language_of_the_page_has_a_notice(language: str) -> None:
    if language == "pt":
        with pytest.raises(ValueError, match="language must be one of en, de, fr, es, ar for a notice"):
            read(language=language)
        return
    text = read(language=language)
    assert not re.search(r"\{\w+\}", text)
    assert "75 %" in text
    assert len(re.findall(r"^## ", text, re.MULTILINE)) == 6


def test_all_languages_have_the_same_paragraphs_and_placeholders() -> None:
    texts = notices._texts()
    shapes = {
        language: [
            [(when, sorted(re.findall(r"\{\w+\}", text))) for when, text in lines] for _, lines in words["sections"]
        ]
        for language, words in texts.items()
    }
    assert all(shape == shapes["en"] for shape in shapes.values())


def test_the_form_of_address_is_that_of_the_page() -> None:
    assert "Ihr Gerät" in read(language="de")
    informal = read(language="de", address="informal")
    assert "dein Gerät" in informal
    assert "Ihr Gerät" not in informal


def test_a_page_without_a_table_to_sort_has_no_script() -> None:
    assert "<script" not in notices.privacy_notice(survey_of())


def test_the_page_escapes_the_texts_of_the_survey() -> None:
    page = notices.privacy_notice(survey_of(title="<b>A & B</b>"))
    assert "&lt;b&gt;A &amp; B&lt;/b&gt;" in page
    assert "<b>A" not in page


def test_arabic_is_written_from_the_right() -> None:
    fields = open_survey(language="ar")
    assert "lang='ar' dir='rtl'" in notices.privacy_notice(survey_from_json(json.dumps(fields)))
