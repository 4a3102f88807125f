"""What a draw costs in a respondent's browser, measured in Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import warner
from measuring import Line
from warner import RandomizedResponse, UnaryEncoding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.designs import Design

WEB = Path(warner.__file__).parent / "service" / "web"
ROUNDS = 9
# The microseconds of one draw, answers in turn, in each round after the first, in which the code is compiled
SCRIPT = """
const [folder, text, rounds, draws] = process.argv.slice(1);
const { design, randomize } = await import(`${folder}/warner.js`);
await import(`${folder}/sets.js`);
const survey = design(JSON.parse(text));
const times = [];
for (let round = 0; round <= rounds; round++) {
  const start = process.hrtime.bigint();
  for (let i = 0; i < draws; i++) randomize(survey, survey.answers.at(i % survey.answers.size));
  times.push(Number(process.hrtime.bigint() - start) / 1000 / draws);
}
console.log(JSON.stringify(times.slice(1)));
"""


def microseconds(node: str, design: Design, draws: int) -> list[float]:
    """Give the time of one draw in each round."""
    command = [node, "--input-type=module", "-e", SCRIPT, WEB.as_uri(), design.to_json(), str(ROUNDS), str(draws)]
    times: list[float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return times


def drawing_in_node() -> Iterator[Line]:
    """One report, from answer to label, with randomness of the operating system for each."""
    node = shutil.which("node")
    if node is None:
        yield Line("a draw in Node, K = 1000", "(there is no Node here)", "", True, "", "")
        return
    times = microseconds(node, RandomizedResponse(1000, epsilon=1), 20_000)
    shown = f"{min(times):.1f} .. {max(times):.1f}"
    best = f"{min(times):.1f} us"
    yield Line("a draw in Node, K = 1000", "microseconds", "<= 20 us", min(times) <= 20, best, shown)
    sets = microseconds(node, UnaryEncoding(1000, epsilon=1), 500)
    shown = f"{min(sets):.0f} .. {max(sets):.0f}"
    yield Line("a unary encoding in Node, K = 1000", "(for information)", "", True, f"{min(sets):.0f} us", shown)
