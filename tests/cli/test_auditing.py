"""`warner audit`: a stranger's client on the bench, from the shell."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING

import pytest

from cli.shell import COMMAND, run
from warner import SubsetSelection

if TYPE_CHECKING:
    from pathlib import Path

    from cli.shell import Prompt

# A client for sets of two out of four answers that may put the truth into the set when it should not: K = 4, d = 2.
LEAKY = """
import random, sys
answers = ["never", "once", "often", "always"]
for line in sys.stdin:
    truth = line.rstrip("\\n")
    if random.random() < 0.75:
        chosen = {truth, random.choice([answer for answer in answers if answer != truth])}
    else:
        chosen = set(random.sample(answers, 2))
    print("%02x" % sum(0x80 >> place for place, answer in enumerate(answers) if answer in chosen))
"""


@pytest.fixture
def bench(folder: Path) -> Path:
    SubsetSelection(["never", "once", "often", "always"], odds=(3, 1), size=2).save(folder / "sets.json")
    (folder / "client.py").write_text(LEAKY)
    return folder


def test_a_leak_is_found_from_the_shell(bench: Path) -> None:
    client = shlex.join([sys.executable, "client.py"])
    done = run(
        bench, "audit", client, "--design", "sets.json", "--answers", "never", "often", "--runs", "20000", "--json"
    )
    assert (done.returncode, done.stderr) == (1, "")
    found = json.loads(done.stdout)
    assert found["answers"] == ["never", "often"]
    assert found["exceeds"] is True
    # The design claims ln 3 = 1.0986; what is spent is ln(1 + 3 * 4 / 2) = ln 7 = 1.9459.
    assert 1.0986 < 1.7 < found["epsilon_at_least"] < 1.9459
    assert all(pair["event"].startswith("reports that ") for pair in found["pairs"])


def test_warner_itself_passes_its_audit(bench: Path, prompt: Prompt) -> None:
    own = shlex.join([*COMMAND, "randomize", "-", "--lines", "--design", "sets.json"])
    options = ("--design", "sets.json", "--answers", "never", "once", "--level", "0.999999", "-o", "audit.txt")
    said = prompt.prints("audit", own, *options)
    assert said.startswith("Nothing was found against the client")
    assert (bench / "audit.txt").read_text() == said


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("no-such-program",), "'no-such-program' cannot be started"),
        (("cat",), "but line 1 after the answer 'never' is 'never'"),
        (("sleep 100", "--timeout", "0.2"), "or give a larger --timeout"),
        (("cat", "--answers", "never"), "at least two different answers"),
        (("cat", "--answers", "never", "seldom"), "'seldom'"),
        (("cat", "--runs", "3"), "runs must be a whole number from 100"),
        (("cat", "--level", "95"), "level must be between 0 and 1"),
        (("cat", "-o", "audit.csv"), "must end in .json, .txt, .md, .tex or .html"),
        (("cat", "extra"), "extra"),
    ],
)
def test_bad_input_to_audit_is_one_clear_line(
    bench: Path, prompt: Prompt, arguments: tuple[str, ...], complaint: str
) -> None:
    assert complaint in prompt.complains("audit", *arguments, "--design", "sets.json")
