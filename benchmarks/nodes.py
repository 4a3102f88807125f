"""Time of a draw in a respondent's browser, measured in Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import warner
from measuring import Line
from warner import LocalHashing, OpenDomain, RandomizedResponse, UnaryEncoding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.designs.contract import Device

WEB = Path(warner.__file__).parent / "service" / "web"
ROUNDS = 9
MOST_OF_HASHING = 3  # times that an open answer may take
# The microseconds of one draw under each design, answers in turn, in each round after the first, in which the code is
# compiled; the designs take turns, so that they are timed side by side. Answers are labels, or whole numbers.
SCRIPT = """
const [folder, texts, rounds, draws] = process.argv.slice(1);
const { design, randomize } = await import(`${folder}/warner.js`);
await import(`${folder}/sets.js`);
await import(`${folder}/open.js`);
const surveys = JSON.parse(texts).map(design);
const answer = ({ answers }, i) => (typeof answers.size === "bigint" ? i : answers.at(i % answers.size));
const times = surveys.map(() => []);
for (let round = 0; round <= rounds; round++) {
  surveys.forEach((survey, place) => {
    const start = process.hrtime.bigint();
    for (let i = 0; i < draws; i++) randomize(survey, answer(survey, i));
    times[place].push(Number(process.hrtime.bigint() - start) / 1000 / draws);
  });
}
console.log(JSON.stringify(times.map((each) => each.slice(1))));
"""


def microseconds(node: str, designs: list[Device], draws: int) -> list[list[float]]:
    """Return the time of one draw under each design in each round."""
    texts = json.dumps([design.to_dict() for design in designs])
    command = [node, "--input-type=module", "-e", SCRIPT, WEB.as_uri(), texts, str(ROUNDS), str(draws)]
    times: list[list[float]] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return times


def drawing_in_node() -> Iterator[Line]:
    """One report, from answer to label, with randomness of the operating system for each."""
    node = shutil.which("node")
    if node is None:
        yield Line("a draw in Node, K = 1000", "(there is no Node here)", "", True, "", "")
        return
    (times,) = microseconds(node, [RandomizedResponse(1000, epsilon=1)], 20_000)
    shown = f"{min(times):.1f} .. {max(times):.1f}"
    best = f"{min(times):.1f} us"
    yield Line("a draw in Node, K = 1000", "microseconds", "<= 20 us", min(times) <= 20, best, shown)
    (sets,) = microseconds(node, [UnaryEncoding(1000, epsilon=1)], 500)
    shown = f"{min(sets):.0f} .. {max(sets):.0f}"
    yield Line("a unary encoding in Node, K = 1000", "(for information)", "", True, f"{min(sets):.0f} us", shown)
    hashing, apps = microseconds(node, [LocalHashing(1024, epsilon=1), OpenDomain(epsilon=1, bits=48)], 5000)
    ratio, ratios = min(apps) / min(hashing), [mine / other for other, mine in zip(hashing, apps, strict=True)]
    work, yardstick = "one answer in Node, an open domain of 48 bits", "the same under local hashing, K = 1,024"
    shown = f"{min(ratios):.2f} .. {max(ratios):.2f}"
    yield Line(work, yardstick, "<= 3x", ratio <= MOST_OF_HASHING, f"{ratio:.2f}x", shown)
