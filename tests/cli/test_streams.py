"""Closed and strange streams, other encodings, signals: a clear line, and no file half-written."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from cli.shell import COMMAND, ESTIMATE, fails, launched, run

if TYPE_CHECKING:
    from pathlib import Path

SHELL = shlex.join(COMMAND)
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")


def in_shell(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False, timeout=100)


@pytest.mark.parametrize("command", ["estimate - --design survey.json", "check - --design survey.json"])
def test_closed_standard_input_is_a_clear_line(folder: Path, command: str) -> None:
    done = in_shell(folder, f"{SHELL} {command} <&-")
    assert done.returncode == 2
    assert done.stderr == "warner: standard input is closed; give a file instead of -, or send it something\n"


@pytest.mark.parametrize("lines", ["", "--lines"])
def test_answers_from_a_closed_standard_input(folder: Path, lines: str) -> None:
    done = in_shell(folder, f"{SHELL} randomize - {lines} --design survey.json <&-")
    assert (done.returncode, done.stdout) == (2, "")
    assert "standard input is closed" in done.stderr


def test_closed_standard_output_is_no_success(folder: Path) -> None:
    done = in_shell(folder, f"{SHELL} {shlex.join(ESTIMATE)} >&-")
    assert done.returncode == 2
    assert done.stderr == "warner: standard output is closed; send it to a file or to /dev/null\n"
    assert in_shell(folder, f"{SHELL} {shlex.join(ESTIMATE)} >&- 2>&-").returncode == 2


def test_reports_from_named_pipes_and_process_substitution(folder: Path) -> None:
    expected = run(folder, *ESTIMATE).stdout
    assert expected.startswith("Estimate")
    os.mkfifo(folder / "pipe")
    options = "--column answer --design survey.json"
    for command in (f"cat reports.csv > pipe & {SHELL} estimate pipe", f"{SHELL} estimate <(cat reports.csv)"):
        done = in_shell(folder, f"{command} {options}")
        assert (done.returncode, done.stderr, done.stdout) == (0, "", expected)


def test_answers_from_a_pipe_are_never_held_in_a_file(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    done = in_shell(folder, f"cat reports.csv > pipe & {SHELL} randomize pipe -c answer --design survey.json; cat pipe")
    assert done.stderr == "warner: pipe must be a file, but is a pipe or a device, which can be read only once; use -\n"


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
def test_a_terminal_that_lacks_characters_gets_plainer_ones(folder: Path, encoding: str) -> None:
    done = launched(folder, *ESTIMATE, env=os.environ | {"PYTHONIOENCODING": encoding})
    assert (done.returncode, done.stderr) == (0, "")
    assert "#####" in done.stdout
    assert done.stdout.replace("#", "█") == run(folder, *ESTIMATE).stdout


def test_labels_that_a_terminal_lacks_are_escaped(folder: Path) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "cp1252"}
    design = ("design", "да", "нет", "--epsilon", "1", "-o", "accents.json")
    done = launched(folder, *design, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u0434\\u0430" in launched(folder, "show", "accents.json", env=environment).stdout


def test_a_page_for_a_pipe(folder: Path) -> None:
    done = in_shell(folder, f"{SHELL} {shlex.join(ESTIMATE)} --report /dev/stdout | head -c 15")
    assert (done.stdout, done.stderr) == ("<!DOCTYPE html>", "")


def test_a_link_that_leads_to_itself(folder: Path) -> None:
    (folder / "loop").symlink_to("loop")
    words = fails(folder, "design", "a", "b", "--epsilon", "1", "-o", "loop")
    assert words == "warner: loop: Too many levels of symbolic links\n"


def test_a_folder_that_is_not_there_is_named_without_numbers(folder: Path) -> None:
    words = fails(folder, *ESTIMATE, "--output", "nowhere/x.csv")
    assert words == "warner: nowhere/x.csv: No such file or directory\n"


def test_to_be_terminated_is_as_clean_as_to_be_interrupted(folder: Path) -> None:
    command = [*COMMAND, "randomize", "-", "--column", "answer", "--design", "survey.json", "-o", "out.csv"]
    before = sorted(folder.iterdir())
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdin=pipe, stderr=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write("answer\n" + "never\n" * 100_000)
        process.stdin.flush()
        while not list(folder.glob(".*part")):
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 143
        assert process.stderr.read() == "warner: terminated; no file is half-written\n"
        process.stdin.close()
    assert sorted(folder.iterdir()) == before


# What an installed `warner` runs, with a signal to itself when some module is about to be imported.
SIGNALLED = """if True:
    import os, signal, sys

    class Finder:
        def find_spec(name, *_):
            if name in {modules!r}:
                os.kill(os.getpid(), {number})

    sys.meta_path.insert(0, Finder)
    from warner.__main__ import run
    sys.exit(run())
"""


@pytest.mark.parametrize(
    "module", ["numpy", "scipy.special", "warner.estimation", "click", "warner.cli.estimating", "duckdb"]
)
@pytest.mark.parametrize(("number", "said"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
def test_signals_while_libraries_are_loaded(folder: Path, module: str, number: signal.Signals, said: str) -> None:
    code = SIGNALLED.format(modules=[module], number=int(number))
    command = [sys.executable, "-c", code, *ESTIMATE]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=100)
    assert done.stderr == f"warner: {said}; no file is half-written\n"
    assert (done.returncode, done.stdout) == (128 + number, "")


def test_an_ignored_interruption_stays_ignored(folder: Path) -> None:
    code = SIGNALLED.format(modules=["numpy", "duckdb"], number=int(signal.SIGINT))
    done = in_shell(folder, f"trap '' INT; {shlex.join([sys.executable, '-c', code, *ESTIMATE])}")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == run(folder, *ESTIMATE).stdout


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("milliseconds", range(0, 1000, 20))
def test_signals_at_any_moment(folder: Path, number: signal.Signals, milliseconds: int) -> None:
    # Python itself, which needs some milliseconds to start, answers before any line of ours runs.
    ready = [
        sys.executable,
        "-c",
        "import warner.__main__ as m, sys; m._prepare_process(); print(flush=True); sys.exit(m.run())",
    ]
    pipe = subprocess.PIPE
    with subprocess.Popen([*ready, *ESTIMATE], cwd=folder, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        time.sleep(milliseconds / 1000)
        process.send_signal(number)
        printed, said = process.communicate(timeout=100)
    if process.returncode == 0:  # it was done before
        assert printed.startswith("Estimate")
        assert said == ""
    else:
        # Python ends by the signal itself where C code evaluated the Python code that it struck; a shell sees the same.
        assert process.returncode in {128 + number, -number}
        assert said in {
            "warner: interrupted; no file is half-written\n",
            "warner: terminated; no file is half-written\n",
        }


def test_too_little_memory_is_a_clear_line(folder: Path) -> None:
    run(folder, "design", "--size", "100000000", "--epsilon", "5", "-o", "large.json")
    (folder / "large.csv").write_text("a\n1\n2\n", encoding="utf-8")
    done = in_shell(folder, f"ulimit -v 3000000; {SHELL} estimate large.csv --design large.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith("warner: ")
    assert "Traceback" not in done.stderr


HOSTILE = "a\x1b]0;title\x07b\u202e\x9b31m"


def test_no_file_from_somebody_else_can_command_a_terminal(folder: Path) -> None:
    fields = json.loads((folder / "survey.json").read_text(encoding="utf-8"))
    (folder / "hostile.json").write_text(json.dumps(fields | {"domain": [HOSTILE, "b"]}), encoding="utf-8")
    shown = run(folder, "show", "hostile.json").stdout
    assert r"a\x1b]0;title\x07b\u202e\x9b31m" in shown
    (folder / "hostile.csv").write_text(f'answer\n"{HOSTILE}"\nb\n', encoding="utf-8")
    texts = [
        run(folder, command, "hostile.csv", "--design", "hostile.json").stdout for command in ("estimate", "check")
    ]
    texts.append(run(folder, "estimate", f"{HOSTILE}.csv", "--design", "hostile.json").stderr)
    for text in (shown, *texts):
        assert text
        assert not set(text) & set("\x1b\x07\x9b\u202e")
    assert HOSTILE in run(folder, "estimate", "hostile.csv", "--design", "hostile.json", "--csv").stdout  # for programs


@pytest.mark.parametrize("extra", ["", "import threading; threading.Timer(0.3, print, ['thread']).start()"])
def test_a_process_ends_when_all_is_done_that_was_left_for_its_end(folder: Path, extra: str) -> None:
    code = f"import atexit; atexit.register(print, 'last'); {extra}\nfrom warner.__main__ import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", code, "show", "nowhere.json"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, "warner: there is no file nowhere.json\n")
    assert done.stdout.split() == ["thread", "last"][not extra :]


@pytest.mark.parametrize(
    "words",
    [
        ESTIMATE,
        (*ESTIMATE, "-o", "table.parquet"),
        ("randomize", *ESTIMATE[1:], "-o", "out.csv"),
        ("regress", "reports.csv", "answer ~ region", "-d", "survey.json"),
    ],
)
def test_a_process_says_nothing_at_its_end(folder: Path, words: tuple[str, ...]) -> None:
    # Compiled libraries complain there about what is still alive; commands within the process of the tests do not end.
    done = launched(folder, *words)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_has_colors_and_its_own_width_unless_it_wants_none(folder: Path) -> None:
    pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")

    def shown(*arguments: str, **environment: str) -> str:
        reader, writer = pty.openpty()
        given = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "NO_COLOR"}}
        command = [*COMMAND, *arguments]
        streams = {"stdin": writer, "stdout": writer, "stderr": writer}
        subprocess.run(command, cwd=folder, env=given | environment, check=False, timeout=100, **streams)
        os.close(writer)
        pieces = []
        with contextlib.suppress(OSError):  # Linux reports the end as an error
            while piece := os.read(reader, 65536):
                pieces.append(piece)
        os.close(reader)
        return b"".join(pieces).decode()

    assert "\x1b[31mwarner:\x1b[0m No such command" in shown("estimat")
    assert "\x1b[1mIntervals\x1b[0m:" in shown("check", "--help")
    assert "\x1b[1mCommands\x1b[0m:" in shown()
    for arguments in (("estimat",), ("check", "--help"), ()):
        assert "\x1b" not in shown(*arguments, NO_COLOR="1")
    for columns in (60, 100):
        lines = shown("show", "survey.json", COLUMNS=str(columns)).splitlines()[:-1]  # without the fingerprint
        assert columns - 15 < max(map(len, lines)) <= columns
