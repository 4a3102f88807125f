"""Clients that are commands: strangers that may do anything. An audit makes one clear error of it, and never hangs."""

from __future__ import annotations

import os
import shlex
import sys
import threading
import time
from pathlib import Path

import pytest

from cases import COIN
from warner import RandomizedResponse, SubsetSelection, audit
from warner.auditing.clients import Command, codes

HONEST = """
import random, sys
for line in sys.stdin:
    answer = line.rstrip("\\n")
    print(answer if random.SystemRandom().random() < 0.75 else {"yes": "no", "no": "yes"}[answer])
"""


def python(code: str) -> str:
    return f"{shlex.quote(sys.executable)} -S -c {shlex.quote(code)}"


def test_an_honest_command_passes() -> None:
    # One false alarm in a million runs of this test, at most
    found = audit(python(HONEST), COIN, runs=4000, level=1 - 1e-6)
    assert found.passed
    assert 0.5 < found.epsilon_at_least <= COIN.epsilon  # 0.83 on average, and 0.04 standard error
    assert found.runs == 4000


def test_a_command_that_tells_the_truth_is_caught() -> None:
    found = audit("cat", COIN, runs=400)
    assert found.exceeds
    assert not found.repeats  # the same answers, but nothing that was left to chance
    assert audit("cat", COIN, runs=400, raw=True).exceeds


def test_a_seeded_command_repeats_itself() -> None:
    seeded = HONEST.replace("random.SystemRandom().random()", "random.random()").replace(
        "for", "random.seed(1)\nfor", 1
    )
    assert audit(python(seeded), COIN, runs=400).repeats


def test_answers_and_reports_are_lines_of_any_text() -> None:
    design = RandomizedResponse(["ä, b", "'c d'", "-1"], odds=(1, 0))
    assert audit("cat", design, runs=100).answers == design.domain
    numbers = RandomizedResponse([-1, 7], odds=(1, 0))
    assert audit("cat", numbers, runs=100).passed
    with pytest.raises(ValueError, match=r"one line .*'a\\nb'"):
        audit("cat", RandomizedResponse(["a\nb", "c"], odds=(1, 0)), runs=100)


def test_long_reports_come_in_pieces() -> None:
    # 25,000 lines of 200 hexadecimal digits, 5 MB: many reads, of which lines do not end with the reads.
    design = SubsetSelection(800, epsilon=1)
    report = design.randomize(0)
    command = Command.written(python(f"import sys\nfor line in sys.stdin: print({report!r})"), 60, piece=1000)
    pieces = list(codes(command, design.report_form, 0, 25_000))
    assert len(pieces) > 10
    assert sum(len(piece) for piece in pieces) == 25_000
    assert {row.tobytes().hex() for piece in pieces for row in piece} == {report}


def test_the_last_line_may_lack_its_end() -> None:
    code = "import sys\nsys.stdout.write(sys.stdin.read()[:-1])"
    assert audit(python(code), RandomizedResponse(2, odds=(1, 0)), runs=100).passed


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("", "must name a program"),
        ("   ", "must name a program"),
        ("'unclosed", "cannot be read: No closing quotation"),
        ("no-such-program --here", "'no-such-program' cannot be started: No such file"),
        ("/", "cannot be started: Permission denied"),
        ("true", "for 25 answers it printed 0"),
        ("head -n 24", "for 25 answers it printed 24"),
        ("sed p", "for 25 answers it printed more; a header does not belong there"),
        ("yes", "for 25 answers it printed more"),
        ("sed s/yes/maybe/", "in the domain, but line 1 after the answer 'yes' is 'maybe'"),
        ("sed 7s/$/\\\\x1b/", r"but line 7 after the answer 'yes' is 'yes\\x1b'"),
        (python("import sys; sys.stdin.read(); sys.exit('out of\\nluck')"), "exit code 0, but it was 1: luck"),
        (python("import sys; print('yes\\n' * 25, end=''); sys.exit(3)"), "exit code 0, but it was 3$"),
        (python("while True: print('x' * 2**20, end='')"), "line 1 has no end"),
        (python("import os; os.kill(os.getpid(), 9)"), "exit code 0, but it was -9"),
        (python("import sys; sys.stdout.buffer.write(b'yes\\nno\\n\\xff\\n')"), "UTF-8, but line 3 is not"),
    ],
)
def test_a_command_that_gives_no_reports_is_one_clear_error(command: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint) as raised:
        audit(command, COIN, runs=100, timeout=30)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "command",
    [
        "sleep 1000",  # never reads, never ends
        python("import time\nprint('yes', flush=True)\ntime.sleep(1000)"),
        python("import os, time\nos.close(1)\ntime.sleep(1000)"),  # says that it is done, and is not
        "sh -c 'sleep 1000 & echo $! > child'",  # leaves a child behind that holds the pipe
        python("import sys\nwhile True: sys.stderr.write('x' * 1000)"),  # complains for ever
    ],
)
def test_a_command_that_never_ends_is_ended(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    threads = threading.active_count()
    with pytest.raises(ValueError, match=r"must end within 0\.3 seconds"):
        audit(command, COIN, runs=100, timeout=0.3)
    if (child := tmp_path / "child").exists():
        _wait_until(lambda: not _alive(int(child.read_text())))
    _wait_until(lambda: threading.active_count() <= threads)  # what read its output has ended as well


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z" if Path("/proc").exists() else True


def _wait_until(condition: object) -> None:
    assert callable(condition)
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("still there after half a minute")


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan")])
def test_a_time_limit_is_a_positive_number(timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout must be a positive number of seconds"):
        audit("cat", COIN, timeout=timeout)
