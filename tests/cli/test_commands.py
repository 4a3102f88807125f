"""Behavior of all commands: help, one-line errors, and a survey from its design to its plan.

It tests cli/options.py, cli/commands.py, cli/texts.py and cli/sources.py.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import pytest

from cli.shell import ESTIMATE, run, succeeds
from warner import SubsetSelection, estimate, load_design, plan, tally
from warner.__main__ import main
from warner.cli import COMMANDS, command_named, commands, designing, options, texts
from warner.cli.options import DesignGiven, in_shell_words
from warner.designs import MECHANISMS
from warner.estimators import METHODS
from warner.reports.files import PIPED
from warner.reports.options import Columns, Reading, Sample
from warner.text import not_installed

if TYPE_CHECKING:
    from pathlib import Path

    from cli.shell import Prompt


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("estimate", "nope.csv", "-d", "survey.json"), "there is no file nope.csv"),
        (("estimate", "reports.csv", "-d", "survey.json", "-c", "anwser"), "did you mean 'answer'?"),
        (("estimate", "reports.csv", "-d", "survey.json"), "column must be given unless there is just one"),
        (("estimate", "reports.csv", "-c", "answer"), "the possible answers must be known beforehand"),
        (("estimate", "reports.csv", "-c", "answer", "-d", "nope.json"), "nope.json"),
        (("estimate", "reports.csv", "-c", "answer", "-d", "reports.csv"), "reports.csv: a design must be JSON"),
        (("estimate", "reports.csv", "-c", "answer", "-d", "survey.json", "--epsilon", "1"), "not both"),
        ((*ESTIMATE, "--method", "bayes"), "one of mle, inv, inv_n, inv_p, ibu"),
        ((*ESTIMATE, "--target", "everyone"), "target must be one of population, realised"),
        ((*ESTIMATE, "--compare", "once"), "--compare must name two answers, as a,b, but got 'once'"),
        ((*ESTIMATE, "--compare", "once,twice"), "must be in the domain"),
        ((*ESTIMATE, "--compare", "once,once"), "two different answers"),
        ((*ESTIMATE, "--between", "north,south"), "--between needs --compare"),
        ((*ESTIMATE, "--compare", "once", "--between", "north"), "--between must name two groups"),
        ((*ESTIMATE, "--compare", "once", "--between", "north,south"), "between needs groups"),
        ((*ESTIMATE, "--commonest", "3"), "--commonest must be a whole number from 1 to 2"),
        ((*ESTIMATE, "--level", "95"), "level must be between 0 and 1"),
        ((*ESTIMATE, "--unknown", "ignore"), '"error" or "drop"'),
        ((*ESTIMATE, "-o", "e.xlsx"), "must end in .csv, .json, .parquet, .md, .tex or .html"),
        ((*ESTIMATE, "-o", "nowhere/e.csv"), "nowhere/e.csv: No such file or directory"),
        (("show", "nowhere.json"), "there is no file nowhere.json"),
        (("estimate", ".", "-d", "survey.json"), "survey.json must hold reports, but is a warner design"),
        (("estimate", "empty.csv", "-d", "survey.json"), "empty.csv is empty"),
        (("estimate", "header.csv", "-d", "survey.json"), "at least one report, but there is none"),
        (("estimate", "binary.csv", "-d", "survey.json"), "is not a CSV file"),
        (("estimate", "latin.csv", "-d", "survey.json"), "cannot be read"),
        (("estimate", "colons.csv", "-d", "survey.json", "-c", "answer"), "columns are: 'id:answer'"),
        (("show", "reports.csv"), "a design must be JSON"),
        (("randomize", "reports.csv", "-c", "answer", "-d", "survey.json", "-o", "out.xlsx"), "must end in .csv"),
        (("randomize", "reports.csv", "-c", "answer", "-d", "survey.json", "-o", "./reports.csv"), "would be lost"),
        (("randomize", "empty.csv", "-d", "survey.json", "-o", "out.csv"), "is empty"),
        (("randomize", "header.csv", "-d", "survey.json", "-o", "out.csv"), "holds no answers"),
        (
            ("randomize", "reports.csv", "-c", "answer", "--keep", "q", "-d", "survey.json", "-o", "o.csv"),
            "no column 'q'",
        ),
        ((*ESTIMATE, "--json", "--csv"), "--json or --csv, not both"),
        ((*ESTIMATE, "--rows", "0"), "--rows"),
        ((*ESTIMATE, "--csv", "--present"), "answered in the printed table and in JSON only"),
        ((*ESTIMATE, "-o", "e.csv", "--commonest", "1"), "answered in the printed table and in JSON only"),
        (
            ("estimate", "-", "-d", "survey.json", "--format", "xls"),
            "--format must be csv, tsv, parquet, jsonl, sav, zsav, dta, sas7bdat, xpt or xlsx, but got 'xls'",
        ),
        (("estimate", "sqlite:///nowhere.db", "--table", "t", "-d", "survey.json"), "no database file /nowhere.db"),
        (("estimate", "broken.csv.gz", "-d", "survey.json"), "broken.csv.gz"),
        (("frobnicate",), "No such command 'frobnicate'"),
        (("estimate",), "Missing argument"),
        ((*ESTIMATE, "--nonsense"), "No such option"),
    ],
)
def test_bad_input_is_one_clear_line(prompt: Prompt, arguments: tuple[str, ...], complaint: str) -> None:
    folder = prompt.folder
    (folder / "empty.csv").write_bytes(b"")
    (folder / "header.csv").write_text("v\n")
    (folder / "binary.csv").write_bytes(bytes(range(256)) * 20)
    (folder / "latin.csv").write_bytes("v\nnever\nä\n".encode("latin-1"))
    (folder / "broken.csv.gz").write_bytes(gzip.compress(b"v\nnever\n" * 9)[:15])
    (folder / "colons.csv").write_text("id:answer\n1:never\n")
    assert complaint in prompt.complains(*arguments)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("randomize", "reports.csv"), "Missing option '--design' / '-d'."),
        (("compare",), "Missing argument 'FIRST'."),
        (("compare", "a.json", "--answer", "once"), "give two tallies, or one and --between with two of its groups"),
        (("audit", "cat"), "Missing option '--design' / '-d'."),
        (("survey", "backup", "a.db"), "Missing option '--output' / '-o'."),
        (("show",), "Missing argument 'DESIGN'."),
        (("regress", "reports.csv"), "Missing argument"),
        (("associate", "reports.csv"), "Missing argument 'COLUMN=DESIGN...'."),
        ((*ESTIMATE, "--rows", "1.5"), "Invalid value for '--rows': '1.5' is not a valid whole number."),
        ((*ESTIMATE, "--commonest", "x"), "Invalid value for '--commonest': 'x' is not a valid whole number."),
        ((*ESTIMATE, "--level", "high"), "Invalid value for '--level': 'high' is not a valid number."),
        ((*ESTIMATE, "--above", "1", "--above", "x"), "Invalid value for '--above': 'x' is not a valid number."),
        ((*ESTIMATE, "--levl", "0.9"), "'--level'"),
        ((*ESTIMATE, "--output"), "Option '--output' requires an argument."),
        (("estimat",), "No such command 'estimat'. Did you mean 'estimate'?"),
    ],
)
def test_what_is_missing_or_misspelled_is_named(prompt: Prompt, arguments: tuple[str, ...], complaint: str) -> None:
    assert complaint in prompt.complains(*arguments)


def test_a_missing_extra_is_one_line(folder: Path) -> None:
    code = "import sys; sys.modules['click'] = None; from warner.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == f"warner: {not_installed('the command line needs click', 'cli')}\n"


def test_help_has_an_example_in_every_command(folder: Path) -> None:
    wide = {**os.environ, "COLUMNS": "200"}
    overview = succeeds(folder, "--help", env=wide)
    for command in ("plan", "design", "show", "collect", "randomize", "tally", "estimate", "check"):
        assert command in overview
        assert f"Example: warner {command}" in succeeds(folder, command, "--help", env=wide)
    assert succeeds(folder, "--version").startswith("warner 1.")
    for words in (("estimate",), ("survey", "new")):
        assert succeeds(folder, "help", *words) == succeeds(folder, *words, "--help")
    assert succeeds(folder, "survey", "help", "new") == succeeds(folder, "survey", "new", "--help")
    assert succeeds(folder, "help") == succeeds(folder, "--help")
    nothing = run(folder)
    assert (nothing.returncode, nothing.stderr) == (0, "")
    assert nothing.stdout.startswith("Usage: warner ")


def options_of(command: str) -> dict[str, str]:
    """Return the options of a command, by the names of their arguments."""
    declared = command_named(command).params
    return {str(one.name): max(one.opts, key=len) for one in declared if isinstance(one, click.Option)}


def names_of(*kinds: Any) -> set[str]:
    return {field.name for kind in kinds for field in fields(kind)}


def test_whatever_reads_reports_reads_them_in_the_same_ways() -> None:
    reading = names_of(Reading) - {"codes", "keep"} | {"where", "weights", "counts", "table", "input_format"}
    for command in ("tally", "estimate", "groups", "check", "regress", "associate"):
        offered = set(options_of(command))
        assert reading <= offered
        assert (names_of(DesignGiven, Columns, Sample) <= offered) == (command not in {"regress", "associate"})


def test_every_text_is_of_an_option_and_every_field_has_one() -> None:
    used = set()
    for command in COMMANDS:
        declared = commands.declared(command)
        groups: dict[str, type] = {}
        named = {field.name for field in options._options_of(declared, groups)}
        assert {name for name in named if options.text_of(command, name) is None} <= {"codes", "keep"}
        used |= {("", name) for name in named} | {(command, name) for name in named}
    general = {key for key, text in texts.TEXTS.items() if text.heading == texts.GENERAL}
    assert set(texts.TEXTS) - general <= used
    sections = re.split(r"^(?=\S)", texts.WORDS.strip(), flags=re.MULTILINE)[1:]  # headings of one command, or several
    numbers = [section.partition("\n")[0].count(", ") + 1 for section in sections]
    entries = [len(re.findall("^  [a-z]", section, re.MULTILINE)) for section in sections]
    assert len(texts.TEXTS) == sum(number * entry for number, entry in zip(numbers, entries, strict=True))
    assert not [name for name in texts.CHOICES if ("", name) not in texts.TEXTS]


def test_lists_of_names_in_the_help_are_those_of_the_registries() -> None:
    assert texts.CHOICES["method"].split("|") == [*METHODS, "auto"]
    assert texts.CHOICES["mechanism"].split("|") == [
        name.replace(" ", "-") for name, mechanism in MECHANISMS.items() if mechanism.parameters
    ]
    assert texts.CHOICES["input_format"].split("|") == [*PIPED]
    made = {name: designing.maker(designing.name_of(name)).usage() for name in designing.listed().split(", ")}
    listed = commands.HELP["design"].partition("may be left out):\n\n\b\n")[2].partition("\n\n")[0]
    shown = dict(re.findall(r"^  (\S+) +(.*(?:\n {10}.*)?)$", listed, re.MULTILINE))
    assert {name: " ".join(text.split()) for name, text in shown.items()} == {
        name: usage.replace("=...", "=") for name, usage in made.items()
    }


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("estimate", "target"),
        ("estimate", "unknown"),
        ("estimate", "test"),
        ("groups", "kind"),
        ("regress", "model"),
        ("regress", "link"),
        ("regress", "errors"),
        ("regress", "penalty"),
        ("regress", "interval"),
        ("regress", "effects"),
        ("design", "quantity"),
    ],
)
def test_choices_in_the_help_are_those_that_a_command_takes(prompt: Prompt, command: str, name: str) -> None:
    words = {
        "estimate": (*ESTIMATE, "--by", "region", "--compare", "once", "--between", "north,south"),
        "groups": ("groups", *ESTIMATE[1:], "--by", "region"),
        "regress": ("regress", "reports.csv", "answer ~ region", "-d", "survey.json", "--predict", "region=north"),
        "design": ("design", "--best", "--size", "4", "--epsilon", "1"),
    }
    found = options.text_of(command, name)
    assert found is not None
    said = prompt.complains(*words[command], options_of(command)[name], "neither")
    assert "'neither'" in said
    missing = [choice for choice in found.choices or [found.value.strip("[]")] if choice not in said]
    assert not missing, said


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_into_80_columns_and_has_no_types_of_python(prompt: Prompt, command: str) -> None:
    text = prompt.prints(*command.split(), "--help")
    assert max(map(len, text.splitlines())) <= 80
    assert not re.search(r"<(str|int|float|path|list)", text)
    assert "..." not in text.partition("Commands:")[2]
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ('leave them out with unknown="drop"', "leave them out with --unknown drop"),
        ("for direct answers give odds=(1, 0)", "for direct answers give --odds 1:0"),
        ("confirm this with different_people=True", "confirm this with --different-people"),
        ("give fewer digits, or use epsilon=", "give fewer digits, or use --epsilon"),
        ("crosswise takes p=..., but got q=1/4", "crosswise takes p=..., but got q=1/4"),
        ("answers must be numbers; give values, the number", "answers must be numbers; give --values, the number"),
    ],
)
def test_keywords_of_the_library_are_options_in_the_shell(message: str, wanted: str) -> None:
    assert in_shell_words(message, options_of("estimate") | options_of("groups")) == wanted


@pytest.mark.parametrize(
    ("message", "command", "given", "wanted"),
    [
        ("half_width must be above 0", "plan", "half_width", "--half-width must be above 0"),
        ("between must name two groups", "estimate", "between", "--between must name two groups"),
        ("between needs groups", "estimate", "between", "--between needs groups"),
        ("memo is for memoized designs", "randomize", "memo", "--memo is for memoized designs"),
        ("count must be a whole number", "estimate", "count", "--commonest must be a whole number"),
        ("upper must be above", "plan", "upper", "--to must be above"),
        ("column must be given", "estimate", "", "--column must be given"),
        ("counts must hold at least one report", "estimate", "", "counts must hold at least one report"),
        ("give people, and half_width or error", "plan", "size", "give people, and --half-width or error"),
        ("values must not all be equal", "estimate", "mean", "values must not all be equal"),
    ],
)
def test_arguments_of_the_library_are_options_in_the_shell(message: str, command: str, given: str, wanted: str) -> None:
    assert in_shell_words(message, options_of(command), [given]) == wanted


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_subset_selection_from_its_design_to_the_next_plan(tmp_path: Path, ending: str) -> None:
    made = SubsetSelection(["never", "once", "often", "daily"], odds=(3, 1), size=2)
    asked = ("subset selection", "size=2", "--odds", "3:1", "--answers", *made.domain)
    succeeds(tmp_path, "design", *asked, "-o", "survey.json")
    assert load_design(tmp_path / "survey.json") == made
    assert "a set of 2 of the 4 answers is drawn" in succeeds(tmp_path, "show", "survey.json")
    people, target = 20_000, f"reports.{ending}"
    held = [1 / 2, 1 / 4, 1 / 8, 1 / 8]  # each so common that neither check nor warning can err by chance
    answers = [answer for answer, share in zip(made.domain, held, strict=True) for _ in range(round(people * share))]
    rows = [f"{answer},{'north' if place % 2 else 'south'}" for place, answer in enumerate(answers)]
    (tmp_path / "answers.csv").write_text("\n".join(["answer,region", *rows]) + "\n")
    options = ("-c", "answer", "-d", "survey.json")
    said = succeeds(tmp_path, "randomize", "answers.csv", *options, "--keep", "region", "-o", target)
    assert said == f"{target}: 20,000 reports, epsilon 1.099 each\n"
    document = json.loads(succeeds(tmp_path, "estimate", target, *options, "--json"))
    assert (document["method"], document["reports"]) == ("inv_p", people)
    counted = tally(tmp_path / target, made, column="answer")
    assert document["values"] == estimate(counted).to_dict()["values"]
    # Support is binomial with q + (p-q) share: six standard errors, a false alarm in about 10^8 runs.
    expected = made.q + (made.p - made.q) * np.array(held)
    assert (np.abs(counted.counts / people - expected) <= 6 * np.sqrt(expected * (1 - expected) / people)).all()
    text = succeeds(tmp_path, "estimate", target, *options, "--by", "region", "--rows", "3", "--present")
    assert "(inv_p) from 20,000 reports among 4 answers, epsilon 1.099, 2 groups by region" in text
    assert "... and 1 more answer in each group" in text
    assert succeeds(tmp_path, "check", target, *options).startswith("The reports fit the design (p = ")
    pilot = succeeds(tmp_path, "plan", "-d", "survey.json", "--pilot", target, "-c", "answer", "--half-width", "0.01")
    assert pilot.startswith(plan(pilot=counted, half_width=0.01).text() + "\n\nMechanisms for 4 answers")
    by_name = ("--size", "4", "--mechanism", "subset-selection", "--epsilon", "1", "--people", "900", "--answer", "3")
    by_itself = plan(4, mechanism="subset selection", epsilon=1, people=900, answer=3)
    assert succeeds(tmp_path, "plan", *by_name).startswith(by_itself.text() + "\n")


def test_subset_selection_says_what_is_no_set(prompt: Prompt) -> None:
    SubsetSelection(3, epsilon=1, size=2).save("sets.json")
    (prompt.folder / "sets.csv").write_text("v\nc0\ne0\n")  # e0 is a set of three
    wrong = prompt.complains("estimate", "sets.csv", "-d", "sets.json")
    assert "1 are not: 'e0'" in wrong or "1 is not: 'e0'" in wrong
    assert "--unknown drop" in wrong
    assert "1 unknown left out" in prompt.prints("estimate", "sets.csv", "-d", "sets.json", "--unknown", "drop")


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), RuntimeError("Query interrupted"), click.Abort()])
def test_ctrl_c_is_one_line_wherever_it_strikes(
    raised: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # DuckDB raises a RuntimeError in the middle of a query, and Click Abort, which is an exit code of 1 elsewhere.
    def stopped(*_: object) -> None:
        raise raised

    monkeypatch.setattr("warner.cli.app.invoke", stopped)
    monkeypatch.setattr("sys.argv", ["warner", "show", "design.json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "warner: interrupted; no file is half-written\n"


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["estimat"], ["estimate", "--help"], ["design", "-h"]])
def test_lists_and_help_load_nothing_of_the_library(words: list[str]) -> None:
    code = (
        f"import sys; sys.argv = ['warner', *{words}]\nfrom warner.__main__ import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(sorted({'numpy', 'scipy', 'warner.designs', 'warner.cli.estimating', 'duckdb'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_design_is_shown_without_scipy_and_without_data_frames(tmp_path: Path) -> None:
    SubsetSelection(8, epsilon=1).save(tmp_path / "design.json")
    code = (
        "import sys; sys.argv = ['warner', 'show', 'design.json']\nfrom warner.__main__ import main\n"
        "try: main()\nexcept SystemExit: pass\nprint(sorted({'scipy', 'narwhals', 'duckdb'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "[]"


def test_completion_of_a_command_loads_nothing_of_the_library(tmp_path: Path) -> None:
    asked = {"_WARNER_COMPLETE": "bash_complete", "COMP_WORDS": "warner es", "COMP_CWORD": "1"}
    code = (
        "import atexit, sys; sys.argv = ['warner']\n"
        "atexit.register(lambda: print('numpy' in sys.modules))\nfrom warner.__main__ import main; main()"
    )
    command, environment = [sys.executable, "-c", code], {**os.environ, **asked}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100, env=environment)
    assert done.stdout.split() == ["plain,estimate", "False"]


def completed(words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return what Bash would offer in the place of the last word."""
    for name, value in {
        "_WARNER_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    return capsys.readouterr().out.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("warner survey inv", ["plain,invite"]),
        ("warner estimate --qua", ["plain,--quantile", "plain,--quantile-method"]),
        ("warner estimate r.csv --target ", ["plain,population", "plain,realised"]),
        ("warner estimate r.csv --method inv_", ["plain,inv_n", "plain,inv_p"]),
        ("warner plan --mechanism sub", ["plain,subset-selection"]),
        ("warner estimate r.csv --design sur", ["file,sur"]),
        ("warner estimate re", ["file,re"]),
        ("warner design --answers a b --si", ["plain,--size"]),
    ],
)
def test_completion_offers_commands_options_choices_and_files(
    words: str, offered: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert completed(words, monkeypatch, capsys) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_that_asks_for_completion(
    shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if shell == "bash":  # whose version Click asks for
        monkeypatch.setattr("click.shell_completion.BashComplete._check_version", lambda *_: None)
    monkeypatch.setenv("_WARNER_COMPLETE", f"{shell}_source")
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    script = capsys.readouterr().out
    assert f"_WARNER_COMPLETE={shell}_complete" in script
    assert "warner" in script


def test_the_list_of_commands_says_what_each_says_first() -> None:
    for name, listed in COMMANDS.items():
        assert callable(getattr(import_module(f"warner.cli.{listed.module}"), name.rpartition(" ")[2]))
        declared = commands.declared(name)
        assert (declared.__doc__ or "").splitlines()[0] == listed.summary, name
        assert listed.example.startswith(f"warner {name} ")
