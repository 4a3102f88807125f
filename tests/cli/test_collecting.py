"""`warner survey`: from a new survey to its report, as the commands are typed."""

from __future__ import annotations

import http.client
import json
import math
import re
import shlex
import ssl
import stat
from pathlib import Path

import pytest

from cli.shell import Prompt, fails, run, succeeds
from service.serving import Running, body_of, exchanged, posted
from warner.service.sharing import local_address
from warner.service.survey import load_survey

QUESTIONS = (
    ("--title", "Exams at our school", "--stop", "40"),
    ("--question", "Have you ever cheated?", "--answers", "no,yes", "--sensitive", "yes", "--epsilon", "3"),
    ("--question", "How often did you skip a class?", "--answers", "never,once,often"),
    ("--sensitive", "once", "--epsilon", "1", "--group", "Which grade are you in?=9,10"),
)
NEW = ("survey", "new", "exams.json", *(word for words in QUESTIONS for word in words))


def test_from_a_new_survey_to_its_report(tmp_path: Path) -> None:
    said = succeeds(tmp_path, *NEW)
    assert "from 10 % to at most 70 %, or from 50 % to at most 96 %" in said  # e^3 / (9 + e^3), e^3 / (1 + e^3)
    survey = load_survey(tmp_path / "exams.json")
    running = Running(tmp_path, survey="exams.json", command=("survey", "serve"))
    try:
        for _ in range(40):
            assert b"200" in exchanged(running.port, posted(survey, body_of(survey)))[:20]
    finally:
        running.stop()
    complaint = fails(tmp_path, "survey", "close", "exams-school.db")
    assert "closed already" in complaint  # by the fortieth response
    succeeds(tmp_path, "survey", "backup", "exams-school.db", "-o", "copy.db")
    succeeds(tmp_path, "survey", "notice", "exams.json", "-o", "notice.md")
    said = succeeds(tmp_path, "survey", "report", "copy.db", "-o", "report.html", "--noun", "pupils")
    assert said == "report.html: a page for readers; print it with a browser for a PDF\n"
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert re.search(r"about \d+ of 40 pupils</strong>, between \d+ and \d+", page)
    assert "reached the number of responses that was fixed beforehand" in page


def test_the_commands_of_the_page_lead_from_a_new_survey_to_its_report(tmp_path: Path) -> None:
    """Run the commands as the page "Run a web survey" has them, and compare what they print."""
    try:
        local_address()
    except ValueError as error:
        pytest.skip(str(error))
    page = (Path(__file__).parents[2] / "docs/tutorials/web-survey.md").read_text(encoding="utf-8")
    section = page.partition("## In ten minutes")[2].partition("\n## ")[0]
    commands = re.findall(r"^\$ warner (.*)\n((?:(?!\$|```).*\n)*)", section, re.MULTILINE)
    assert [line.split()[1] for line, _ in commands] == ["new", "notice", "serve", "close", "report"]
    for line, printed in commands:
        words = shlex.split(line)
        if words[1] != "serve":
            said = succeeds(tmp_path, *words)
            if words[1] != "close":
                assert said == printed
            continue
        running = Running(tmp_path, *words[3:], survey=words[2], command=("survey", "serve"))
        shown = [line.split()[0] for line in printed.splitlines() if line != "..."]
        assert [word for word in shown if re.search(rf"^{word}\b", running.said, re.MULTILINE)] == shown
        survey = load_survey(tmp_path / words[2])
        host = re.findall(r"survey +https://([\d.]+):", running.said)[0]
        trusting = ssl.create_default_context(cafile=tmp_path / "exams-school.certificate.pem")  # the right address too
        for _ in range(60):
            client = http.client.HTTPSConnection(host, running.port, context=trusting)
            client.request("POST", f"/s/{survey.id}/report", body_of(survey), {"content-type": "application/json"})
            assert client.getresponse().status == 200
            client.close()
        assert running.stop() == 0
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert re.search(r"about \d+ of 60 pupils</strong>, between \d+ and \d+", report)
    assert "Which grade are you in?" in report
    assert "at most 89 %" in (tmp_path / "notice.html").read_text(encoding="utf-8")
    assert stat.S_IMODE((tmp_path / "exams-school.certificate.pem").stat().st_mode) == 0o600


def test_a_running_survey_gives_a_new_link_to_its_dashboard(tmp_path: Path) -> None:
    succeeds(tmp_path, *NEW)
    assert "no running dashboard in" in fails(tmp_path, "survey", "link", "exams.json")
    running = Running(tmp_path, survey="exams.json", command=("survey", "serve"))
    try:
        link = succeeds(tmp_path, "survey", "link", "exams.json").strip()
        request = (
            f"GET {link.partition('/dashboard')[1]}{link.partition('/dashboard')[2]} HTTP/1.1\r\nHost: localhost\r\n"
        )
        for status in (b"200", b"403"):  # it works once
            assert status in exchanged(running.dashboard_port, f"{request}Connection: close\r\n\r\n".encode())[:20]
    finally:
        running.stop()
    assert not (tmp_path / "exams-school.dashboard.json").exists()
    assert "no running dashboard in" in fails(tmp_path, "survey", "link", "exams.json")


def test_every_question_is_an_option(tmp_path: Path) -> None:
    succeeds(tmp_path, *NEW)
    survey = load_survey(tmp_path / "exams.json")
    assert (survey.id, survey.title, survey.stop, survey.invited) == ("exams-school", "Exams at our school", 40, False)
    cheated, skipped = survey.questions
    assert list(cheated.listed.domain) == ["yes", "no"]  # the sensitive one of two answers is first
    assert list(skipped.listed.domain) == ["never", "once", "often"]
    assert [question.sensitive_answer for question in survey.questions] == ["yes", "once"]
    assert [round(question.design.epsilon, 9) for question in survey.questions] == [3, 1]
    assert [(group.text, group.values) for group in survey.groups] == [("Which grade are you in?", ("9", "10"))]


def test_single_values_are_for_all_questions_and_the_rest_has_defaults(tmp_path: Path) -> None:
    words = ("--title", "Zwei", "--question", "Eins?", "--question", "Zwei?", "--language", "de", "--invited")
    succeeds(tmp_path, "survey", "new", "zwei.json", *words, "--epsilon", "1.5")
    survey = load_survey(tmp_path / "zwei.json")
    assert [list(question.listed.domain) for question in survey.questions] == [["ja", "nein"]] * 2
    assert all(math.isclose(question.design.epsilon, 1.5) for question in survey.questions)
    assert survey.invited
    assert len({question.id for question in survey.questions}) == 2


def test_the_example_is_a_survey(tmp_path: Path) -> None:
    succeeds(tmp_path, "survey", "new", "exams.json", "--example")
    assert len(load_survey(tmp_path / "exams.json").questions) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--title must be given, because there is no terminal"),
        (("--title", "A"), "--question must be given, because there is no terminal"),
        (("--title", "A", "--example"), "--example must be given without --title"),
        (("--title", "A", "--question", "B?", "--sensitive", "maybe"), "must be one of the answers (yes, no)"),
        (("--title", "A", "--question", "B?", "--epsilon", "-1"), "epsilon must be positive"),
        (("--title", "A", "--question", "B?", "--group", "Class"), "--group must be TEXT=A,B,..."),
        (("--title", "A", "--question", "B?", "--group", "Class=7a"), "--group must have at least two distinct texts"),
        (("--title", "A", "--question", "B?", "--answers", "yes"), "--answers must be two or more different texts"),
        (("--title", "A", "--question", "B?", "--answers", "yes,yes"), "separated by commas, but got 'yes,yes'"),
        (("--title", "A", "--question", "B?", "--language", "english"), "--language must be a tag such as en"),
        (
            ("--title", "A", *(2 * ("--question", "B?")), *(3 * ("--epsilon", "1"))),
            "for each of 2 questions, but got 3",
        ),
        (("--title", "A", "--question", "B?", "--stop", "5"), "stop must be a whole number"),
    ],
)
def test_wrong_options_are_one_clear_line(arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    assert words in fails(tmp_path, "survey", "new", "new.json", *arguments)


def test_nothing_is_overwritten_without_force(tmp_path: Path) -> None:
    succeeds(tmp_path, *NEW)
    for command in (NEW, ("survey", "notice", "exams.json", "-o", "notice.html")):
        run(tmp_path, *command)  # the first of the two notices
        assert "already exists, and is not overwritten" in fails(tmp_path, *command)
        succeeds(tmp_path, *command, "--force")
    assert "--output must end in .html or .md" in fails(tmp_path, "survey", "notice", "exams.json", "-o", "notice.pdf")
    assert "--output must not be exams.json" in fails(tmp_path, "survey", "notice", "exams.json", "-o", "exams.json")
    assert "responses to a survey" not in fails(tmp_path, "survey", "report", "none.db", "-o", "report.html")


def test_a_terminal_is_asked(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["Exams", "", "Have you ever cheated?", "", "", "7", "", "Which grade?", "9,10", ""])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: next(answers))
    printed, asked = prompt.notes("survey", "new", "exams.json")
    assert "exams.json: 1 question." in printed
    assert "1 strong: a report raises the probability of an answer from 10 % to at most 24 %, or" in asked
    survey = load_survey(prompt.folder / "exams.json")
    assert survey.language == "en"
    assert survey.questions[0].sensitive_answer == "yes"
    assert math.isclose(survey.questions[0].design.epsilon, 7)
    assert survey.groups[0].values == ("9", "10")
    document = json.loads((prompt.folder / "exams.json").read_text(encoding="utf-8"))
    assert document["questions"][0]["text"] == "Have you ever cheated?"


def test_a_wrong_answer_in_the_terminal_is_asked_again(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = ["Exams", "english", "en", "Have you ever cheated?", "yes", "yes,no", "Yes", "no", "strong", "0", "1", ""]
    answers = iter([*typed, "Which grade?", "9", "9,10", ""])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: next(answers))
    printed, asked = prompt.notes("survey", "new", "exams.json")
    assert "exams.json: 1 question." in printed
    errors = [line.split(" must")[0] for line in asked.splitlines() if line.startswith("Error: ")]
    assert errors == [f"Error: {name}" for name in ("language", "answers", "sensitive", "epsilon", "epsilon", "group")]
    survey = load_survey(prompt.folder / "exams.json")
    assert (survey.questions[0].sensitive_answer, survey.groups[0].values) == ("no", ("9", "10"))
    assert math.isclose(survey.questions[0].design.epsilon, 1)
