"""Messages of commands besides their result: none with --quiet; progress only on a terminal."""

from __future__ import annotations

import io
import logging
import time
from typing import TYPE_CHECKING

import pytest

from cli.shell import ESTIMATE
from warner import runtime
from warner.cli import messages as telling

if TYPE_CHECKING:
    from cli.shell import Prompt

DESIGN = ("design", "yes", "no", "--epsilon", "1", "-o", "made.json")


def test_quiet_leaves_the_result_alone(prompt: Prompt) -> None:
    assert prompt.prints(*DESIGN).startswith("made.json: <RandomizedResponse")
    assert prompt.prints("--quiet", *DESIGN) == prompt.prints(*DESIGN, "--quiet") == ""
    assert "No such option '-q'" in prompt.complains("-q", *DESIGN)  # a question, after commands that read surveys
    assert prompt.prints(*DESIGN) != ""  # one command's silence is not the next one's
    assert prompt.prints(*ESTIMATE, "--quiet") == prompt.prints(*ESTIMATE)


def test_names_of_files_cannot_command_a_terminal(prompt: Prompt) -> None:
    said = prompt.prints(*DESIGN[:-1], "a\x1b]0;title\x07.json")
    assert said.startswith(r"a\x1b]0;title\x07.json: <RandomizedResponse")


def test_quiet_leaves_warnings_out(prompt: Prompt) -> None:
    asked = ("estimate", "reports.csv", "-c", "answer", "--domain", "never,once,often", "--epsilon", "0.2", "--json")
    code, loud, said = prompt._run(asked)
    assert (code, said[:15]) == (0, "warner: warning")
    assert prompt.prints(*asked, "--quiet") == loud


def test_quiet_does_not_hide_errors(prompt: Prompt) -> None:
    assert "there is no file" in prompt.complains("estimate", "nope.csv", "-d", "survey.json", "--quiet")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("quiet", "seconds", "shown"), [(False, 0.0, True), (True, 0.0, False), (False, 60.0, False)])
def test_long_work_shows_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, quiet: bool, seconds: float, shown: bool
) -> None:
    pytest.importorskip("rich")
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr(telling, "PROGRESS_DELAY_SECONDS", seconds)
    telling.set_quiet(quiet)
    try:
        with telling.working("counting reports"):
            patience = time.monotonic() + 10
            while shown and "counting reports" not in screen.getvalue() and time.monotonic() < patience:
                time.sleep(0.01)
    finally:
        telling.set_quiet(False)
    assert ("counting reports" in screen.getvalue()) == shown


def test_the_line_on_a_terminal_says_how_far_work_is_and_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr(telling, "PROGRESS_DELAY_SECONDS", 0.0)
    monkeypatch.setattr(runtime, "SECONDS_BETWEEN", 0.0)
    logger = logging.getLogger(runtime.LOGGER)
    with telling.working("computing intervals"):
        patience = time.monotonic() + 10
        while "coefficients: " not in screen.getvalue() and time.monotonic() < patience:
            list(runtime.steps(range(3), "coefficients"))
            time.sleep(0.01)
    assert "computing intervals; coefficients: " in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[2K")  # the line is erased
    assert not logger.handlers
    assert logger.level == logging.NOTSET


def test_nothing_is_shown_where_nobody_watches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(telling, "PROGRESS_DELAY_SECONDS", 0.0)
    with telling.working("counting reports"):
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")
