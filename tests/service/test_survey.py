"""The survey file: what is read, what is refused, and the fingerprint."""

from __future__ import annotations

import hashlib
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from collecting_cases import open_survey
from warner import OpenDomain, RandomizedResponse, SubsetSelection
from warner.designs import MECHANISMS
from warner.service.pages import _table
from warner.service.survey import INFORMAL_LANGUAGES, MOST_COUNTERS, SURVEY_DEFAULTS, load_survey, survey_from_json

EXAMPLE = Path(__file__).parents[2] / "examples" / "survey.json"


def read(fields: Any) -> Any:
    return survey_from_json(json.dumps(fields))


def test_the_example_is_read_and_written_as_it_stands() -> None:
    survey = load_survey(EXAMPLE)
    assert survey.to_dict() == json.loads(EXAMPLE.read_text(encoding="utf-8"))
    assert survey_from_json(survey.to_json()) == survey
    assert [question.mode for question in survey.questions] == ["device", "person"]


def test_fingerprint_is_the_sha256_of_the_sorted_document() -> None:
    fields = open_survey(title="Über 🂡 <script>")
    spelled = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert read(fields).fingerprint == hashlib.sha256(spelled).hexdigest()


def test_fingerprint_by_hand() -> None:
    # The document typed out, so that neither json.dumps nor to_dict is its own witness.
    design = (
        '{"domain":["yes","no"],"format":"warner design","mechanism":"randomized response","odds":["3","1"],'
        '"version":1}'
    )
    question = '{"design":' + design + ',"id":"q","mode":"device","text":"?"}'
    spelled = (
        '{"access":"open","batch":10,"consent":"","format":"warner survey","groups":[],"id":"s","intro":"",'
        '"keep":"counts","language":"en","questions":[' + question + '],"thanks":"","title":"T","version":1}'
    )
    fields = json.loads(spelled)
    assert read(fields).fingerprint == hashlib.sha256(spelled.encode()).hexdigest()


@pytest.mark.parametrize("field", ["title", "intro", "questions", "batch", "access", "groups", "id"])
def test_any_change_changes_the_fingerprint(field: str) -> None:
    before = open_survey()
    changed: dict[str, Any] = {
        "title": "other",
        "intro": "other",
        "questions": [before["questions"][0] | {"text": "other"}],
        "batch": 11,
        "access": "invited",
        "groups": [{"id": "g", "text": "", "values": ["a", "b"]}],
        "id": "other",
    }
    assert read(before | {field: changed[field]}).fingerprint != read(before).fingerprint


@pytest.mark.parametrize("mechanism", [*MECHANISMS, "open domain"])
def test_the_text_that_a_database_keeps_has_the_fingerprint(mechanism: str) -> None:
    # Otherwise the database would be called damaged.
    designs = (OpenDomain(epsilon=4, letters="a-z", length=6),)
    for design in MECHANISMS[mechanism].examples() if mechanism in MECHANISMS else designs:
        survey = survey_from_json(json.dumps(open_survey([design], title="Ü \u2028 \U0001f600")))
        assert survey_from_json(survey.to_json()).fingerprint == survey.fingerprint


def test_designs_are_found_beside_the_survey(tmp_path: Path) -> None:
    survey = open_survey()
    design = RandomizedResponse(["yes", "no"], odds=(3, 1))
    design.save(tmp_path / "coin.json")
    inside = read(survey)
    survey["questions"][0]["design"] = "coin.json"
    (tmp_path / "survey.json").write_text(json.dumps(survey), encoding="utf-8")
    assert load_survey(tmp_path / "survey.json").questions[0].design == design
    assert load_survey(tmp_path / "survey.json").fingerprint == inside.fingerprint
    with pytest.raises(ValueError, match="must be in the survey itself"):
        read(survey)


def test_epsilon_is_the_sum_and_never_below_it() -> None:
    two = open_survey(designs=[RandomizedResponse(2, odds=(3, 1)), RandomizedResponse(3, odds=(5, 1))])
    epsilon = read(two).epsilon
    assert math.log(15) <= epsilon <= math.log(15) * (1 + 1e-15)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "format": ({"format": "warner design"}, "format"),
    "version": ({"version": 2}, "version 2"),
    "version as text": ({"version": "1"}, "version '1'"),
    "a number to stop at below a step": ({"batch": 10, "stop": 9}, r"stop must be .* at least as many as batch \(10\)"),
    "a number to stop at that is none": ({"stop": 10.0}, "stop must be a whole number of responses"),
    "a time without an offset": ({"opens": "2026-12-01T08:00"}, "opens must be a time with its offset from UTC"),
    "a day that there is not": ({"closes": "2026-02-30T08:00Z"}, "closes must be a time"),
    "a time that is no text": ({"closes": 5}, "closes must be a time"),
    "an end before the beginning": (
        {"opens": "2026-12-01T08:00+01:00", "closes": "2026-12-01T07:00Z"},
        "closes must come after opens",
    ),
    "a form of address that there is not": (
        {"language": "de", "address": "du"},
        'address must be "formal" or "informal"',
    ),
    "a form of address in English": ({"address": "informal"}, "address must be left out unless language is one of de"),
    "unknown field": ({"colour": "red"}, "it must not have the field 'colour'$"),
    "id": ({"id": "Two Words"}, "id must be 1 to 64 lower-case letters"),
    "id of another script": ({"id": "\u0663"}, "id must be"),
    "long id": ({"id": "a" * 65}, "id must be"),
    "id is a number": ({"id": 7}, "id must be"),
    "empty title": ({"title": " "}, "title must not be empty"),
    "title is no text": ({"title": None}, "title must be a text"),
    "half a character": ({"intro": "\ud800"}, "intro must be a text"),
    "NUL": ({"thanks": "a\0b"}, "thanks must be a text"),
    "language": ({"language": 'en" onload="'}, "language must be"),
    "keep": ({"keep": "rows"}, 'keep must be "counts"'),
    "batch 0": ({"batch": 0}, "batch must be"),
    "batch true": ({"batch": True}, "batch must be"),
    "batch 10.0": ({"batch": 10.0}, "batch must be"),
    "access": ({"access": "all"}, "access must be"),
    "groups": ({"groups": {}}, "groups must be a list"),
    "a group of one value": ({"groups": [{"id": "g", "text": "", "values": ["a"]}]}, "at least two distinct"),
    "a value twice": ({"groups": [{"id": "g", "text": "", "values": ["a", "a"]}]}, "at least two distinct"),
    "a group without text": ({"groups": [{"id": "g", "values": ["a", "b"]}]}, "it lacks the field 'text'"),
    "two groups of one name": (
        {"groups": [{"id": "g", "text": "", "values": ["a", "b"]}] * 2},
        "ids of groups must be distinct",
    ),
    "no questions": ({"questions": []}, "questions must be a list of 1 to"),
}


def test_two_questions_need_two_ids() -> None:
    fields = open_survey()
    twice = [fields["questions"][0], fields["questions"][0] | {"text": "another"}]
    with pytest.raises(ValueError, match="the ids of questions must be distinct"):
        read(fields | {"questions": twice})


@pytest.mark.parametrize("case", REFUSED)
def test_surveys_are_read_strictly(case: str) -> None:
    change, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        read(open_survey() | change)


@pytest.mark.parametrize("field", sorted(open_survey().keys() - SURVEY_DEFAULTS.keys()))
def test_missing_fields_are_errors(field: str) -> None:
    fields = open_survey()
    del fields[field]
    with pytest.raises(ValueError, match=r"it lacks the field|format|version") as failed:
        read(fields)
    assert "damaged" not in str(failed.value)  # the file is not complete yet


def test_defaults_are_filled_in_before_the_fingerprint_is_taken() -> None:
    fields = open_survey()
    short = {name: value for name, value in fields.items() if name not in SURVEY_DEFAULTS}
    short["questions"] = [{name: one[name] for name in one if name != "mode"} for one in fields["questions"]]
    assert read(short) == read(fields)
    assert read(short).fingerprint == read(fields).fingerprint
    assert json.loads(read(short).to_json()) == fields


def test_a_misspelled_field_gets_a_suggestion() -> None:
    fields = open_survey()
    fields["questions"][0]["optonal"] = True
    with pytest.raises(ValueError, match=r"question 1: .* field 'optonal'; did you mean 'optional'\?$"):
        read(fields)


WRONG_JSON = {
    "a comma after the last entry": ("10,", "10,\n}", "line 11, column 15 .*: remove this comma", 'batch": 10,'),
    "a comma that is missing": (
        '"A survey",',
        '"A survey"',
        "line 5, column 23 .*: put a comma",
        '"title": "A survey"',
    ),
    "single quotes": ('"title"', "'title'", "line 5, column 4 .*straight double quotes", "'title': "),
    "curly quotes": (
        '"A survey"',
        "\u201cA survey\u201d",
        "line 5, column 13 .*straight double quotes",
        "\u201cA survey",
    ),
    "a comment": ('"title"', '// the title\n"title"', "line 5, column 4 .*: remove this comment", "// the title"),
    "a colon that is missing": ('"title":', '"title"', "line 5, column 11 .*: put a colon", '"title" "A survey"'),
    "a text that is not closed": ('"A survey"', '"A survey', "line 5, column 23 .*: close this text", '"A survey,'),
    "Python's constants": ("10", "None", "line 11, column 13 .*lower case", "None"),
}


@pytest.mark.parametrize("case", WRONG_JSON)
def test_wrong_json_is_shown_with_its_line_and_a_remedy(case: str) -> None:
    old, new, words, line = WRONG_JSON[case]
    text = json.dumps(open_survey(), indent=3, ensure_ascii=False)
    with pytest.raises(ValueError, match=f"a survey must be JSON, but .*{words}") as failed:
        survey_from_json(text.replace(old, new, 1))
    _, picture, mark = str(failed.value).split("\n")
    assert line in picture
    column = int(re.findall(r"column (\d+)", str(failed.value))[0])
    assert mark.index("^") == picture.index("|") + 1 + column


def test_the_picture_of_a_long_line_holds_the_place() -> None:
    text = json.dumps(open_survey(intro="x" * 5000)).replace('"consent"', "'consent'")
    with pytest.raises(ValueError, match="straight double quotes") as failed:
        survey_from_json(text)
    _, picture, mark = str(failed.value).split("\n")
    assert picture[mark.index("^") :].startswith("'consent'")
    assert len(picture) < 90


QUESTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "mode": ({"mode": "browser"}, 'must be "device", "person" or "several"'),
    "empty text": ({"text": ""}, "must not be empty"),
    "unknown field": ({"scale": 3}, "it must not have the field 'scale'"),
    "optional": ({"optional": 1}, "must be true or false"),
    "sensitive": ({"sensitive": "perhaps"}, "sensitive of question 1 must be one of the answers, 'yes', 'no'"),
    "sensitive is a number": ({"sensitive": 1}, "sensitive of question 1 must be a text"),
    "labels of some": ({"labels": {"yes": "Yes!"}}, "a text for each choice: 'yes', 'no'"),
    "labels of others": ({"labels": {"yes": "a", "no": "b", "maybe": "c"}}, "a text for each choice"),
    "labels alike": ({"labels": {"yes": "a", "no": "a"}}, "distinct"),
    "an empty label": ({"labels": {"yes": "a", "no": ""}}, "must not be empty"),
    "labels is a list": ({"labels": ["a", "b"]}, "a text for each choice"),
    "design": ({"design": {"format": "warner design"}}, "design of question 1: this design is"),
    "design is a number": ({"design": 7}, "design of question 1"),
}


@pytest.mark.parametrize("case", QUESTIONS)
def test_questions_are_read_strictly(case: str) -> None:
    change, words = QUESTIONS[case]
    fields = open_survey()
    fields["questions"][0] |= change
    with pytest.raises(ValueError, match=words):
        read(fields)


def test_a_repeated_field_is_an_error() -> None:
    text = json.dumps(open_survey()).replace('"title"', '"intro": "", "title"', 1)
    with pytest.raises(ValueError, match="a field is repeated"):
        survey_from_json(text)


def test_nobody_reports_a_set_by_hand() -> None:
    fields = open_survey(designs=[SubsetSelection(["a", "b", "c", "d"], odds=(3, 1), size=2)])
    fields["questions"][0]["mode"] = "person"
    with pytest.raises(ValueError, match='mode of question 1 must be "device"'):
        read(fields)


def test_integers_that_javascript_rounds_are_refused() -> None:
    read(open_survey(designs=[RandomizedResponse([2**53 - 1, 0], odds=(3, 1))]))
    with pytest.raises(ValueError, match=r"below 2\^53"):
        read(open_survey(designs=[RandomizedResponse([2**53, 0], odds=(3, 1))]))


def test_the_number_of_counters_is_bounded() -> None:
    read(open_survey(designs=[RandomizedResponse(MOST_COUNTERS, odds=(3, 1))]))
    with pytest.raises(ValueError, match="at most 100,000 counters"):
        read(open_survey(designs=[RandomizedResponse(MOST_COUNTERS + 1, odds=(3, 1))]))
    with pytest.raises(ValueError, match="at most 100,000 counters"):
        read(open_survey(designs=[RandomizedResponse(2**40, odds=(3, 1))]))


@pytest.mark.parametrize("name", ["people", "share", "value", "support", "other"])
def test_groups_that_no_result_can_have_are_refused_before_anybody_answers(name: str, tmp_path: Path) -> None:
    document = open_survey(groups=[{"id": name, "text": "Which?", "values": ["a", "b"]}])
    (tmp_path / "survey.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ValueError, match=f"the id of a group must not be '{name}', which is a column of every result"):
        load_survey(tmp_path / "survey.json")
    assert read(document).groups[0].id == name  # what was collected before can still be read


def test_the_sensitive_answer_is_named_or_the_first_of_two_or_the_last() -> None:
    fields = open_survey(designs=[RandomizedResponse(["yes", "no"], odds=(3, 1)), RandomizedResponse(3, odds=(3, 1))])
    assert [question.sensitive_answer for question in read(fields).questions] == ["yes", 2]
    before = read(fields).fingerprint
    fields["questions"][0]["sensitive"], fields["questions"][1]["sensitive"] = "no", "1"
    survey = read(fields)
    assert [question.sensitive_answer for question in survey.questions] == ["no", 1]
    assert read(survey.to_dict()) == survey
    assert survey.fingerprint != before


def test_questions_are_found_by_name() -> None:
    survey = load_survey(EXAMPLE)
    assert survey.question("often") is survey.questions[0]
    with pytest.raises(ValueError, match="one of 'often', 'licence', but got 'oftn'"):
        survey.question("oftn")
    with pytest.raises(ValueError, match="asks several"):
        survey.question(None)


def test_what_may_be_left_out_is_part_of_the_fingerprint_if_it_is_there() -> None:
    plain = survey_from_json(json.dumps(open_survey(language="de")))
    assert not {"stop", "opens", "closes", "address"} & plain.to_dict().keys()
    more: dict[str, Any] = {
        "stop": 1000,
        "opens": "2026-12-01T08:00+01:00",
        "closes": "2026-12-24T12:00:00Z",
        "address": "informal",
    }
    prints = {plain.fingerprint}
    for name, value in more.items():
        survey = survey_from_json(json.dumps(open_survey(language="de", **{name: value})))
        assert survey.to_dict()[name] == value
        assert survey_from_json(survey.to_json()) == survey
        prints.add(survey.fingerprint)
    assert len(prints) == 5


def test_the_languages_that_know_two_forms_of_address_are_those_of_the_page() -> None:
    assert set(INFORMAL_LANGUAGES) == set(_table()["informal"])


@pytest.mark.parametrize(
    "field", ["stop", "opens", "closes", "address", "language", "access", "keep", "batch", "title"]
)
def test_a_long_value_is_cut_in_the_message(field: str) -> None:
    for value in (["x"] * 5000, list(range(5000))):
        with pytest.raises(ValueError, match=rf"^{field} must .*\.\.\.") as failed:
            read(open_survey(language="de") | {field: value})
        assert len(str(failed.value)) < 300
