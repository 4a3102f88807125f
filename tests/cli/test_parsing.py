"""Parsing the words of a shell (`cli/parsing`): plain words are converted at once, and as Typer's validators would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer import BadParameter
from typer.main import get_command

from warner.cli.parsing import convert_plain_words

WORDS = [
    "7",
    "007",
    "0",
    "-1",
    "+5",
    " 5",
    "1_000",
    "1e3",
    "0.25",
    ".5",
    "3.",
    "9" * 40,
    "nan",
    "inf",
    "٣",
    "",
    "x",
    ".",
]


def taken(word: str, kind: Any, limits: dict[str, Any], *, plainly: bool) -> str:
    """Return the value or the error of a command with one option of this kind for a word."""

    def value(value: Any = None) -> Any:
        return value

    value.__annotations__["value"] = Annotated[kind | None, typer.Option("--value", **limits)]
    app = typer.Typer(add_completion=False)
    app.command()(value)
    command: Any = get_command(app)
    if plainly:
        convert_plain_words(command.params)
    try:
        return repr(command(["--value", word], standalone_mode=False))
    except BadParameter as error:
        return error.format_message()


@pytest.mark.parametrize(
    ("kind", "limits"),
    [
        (str, {}),
        (list[str], {}),
        (Path, {}),
        (int, {}),
        (int, {"min": 1, "max": 6}),
        (float, {}),
        (float, {"max": 0.2}),
    ],
)
def test_a_plain_word_becomes_what_a_validator_makes_of_it(kind: Any, limits: dict[str, Any]) -> None:
    for word in WORDS:
        assert taken(word, kind, limits, plainly=True) == taken(word, kind, limits, plainly=False), word


def test_a_file_that_may_not_be_read_is_refused_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    assert "is not readable" in taken(str(tmp_path), Path, {}, plainly=True)
    assert taken(str(tmp_path / "new.csv"), Path, {}, plainly=True) == repr(tmp_path / "new.csv")


@pytest.mark.parametrize(
    "words", [["show", "survey.json"], ["tally", "reports.csv", "-c", "answer", "-d", "survey.json"]]
)
def test_plain_words_load_no_validators(folder: Path, words: list[str]) -> None:
    code = (
        f"import sys; sys.argv = ['warner', *{words}]\nfrom warner.__main__ import main\n"
        "try: main()\nexcept SystemExit: pass\nprint('pydantic' in sys.modules, 'rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder)
    assert done.stdout.splitlines()[-1] == "False False"
