"""`warner compare`: two samples of different people, from their saved tallies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from warner import RandomizedResponse, Tally, surveys
from warner.inference.sample_comparisons import compare_samples

if TYPE_CHECKING:
    from cli.shell import Prompt

DIRECT = Tally(RandomizedResponse(["yes", "no"], odds=(1, 0)), [20, 380])
DICE = Tally(surveys.forced_response(truth="3/4", yes="1/6"), [160, 440])


def test_two_samples_in_every_form(prompt: Prompt) -> None:
    DIRECT.save(prompt.folder / "direct.json")
    DICE.save(prompt.folder / "dice.json")
    asked = ("compare", "dice.json", "direct.json", "--answer", "yes", "--level", "0.9")
    found = compare_samples(DICE, DIRECT, "yes", level=0.9, names=("dice", "direct"))
    assert prompt.prints(*asked) == f"{found.text()}\n"
    assert json.loads(prompt.prints(*asked, "--json", "-o", "x.txt"))["p_value"] == found.p_value
    assert (prompt.folder / "x.txt").read_text() == f"{found.text()}\n"


def test_wrong_samples(prompt: Prompt) -> None:
    DIRECT.save(prompt.folder / "direct.json")
    asked = ("compare", "direct.json", "direct.json", "--answer")
    assert "maybe" in prompt.complains(*asked, "maybe")
    assert "would be lost" in prompt.complains(*asked, "yes", "-o", "direct.json")
    assert "a tally must say" in prompt.complains("compare", "survey.json", "direct.json", "--answer", "yes")
