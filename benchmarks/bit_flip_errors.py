"""Squared error of bit flips by the number of answers: a table of docs/explanation/choosing-a-mechanism.md.

`make mechanisms` runs it, for about a minute; see `mechanism_errors`, whose measure it uses.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import mechanism_errors as measure
from mechanism_errors import DOCS, Setting, errors, shown
from warner import BitFlips, SubsetSelection

if TYPE_CHECKING:
    from collections.abc import Iterator

K, PEOPLE, EXPONENT = 256, 10_000, 1.3
EPSILONS, SIZES = (1.0, 2.0, 4.0), (1, 16, 256)
BEGIN, END = "<!-- made by benchmarks/bit_flip_errors.py -->\n", "<!-- end of what bit_flip_errors.py made -->\n"


def table() -> Iterator[str]:
    """Write a row for each number of answers asked about, and a column for each epsilon."""
    heads = [f"ε = {epsilon:g}" for epsilon in EPSILONS]
    yield f"| answers asked about | bits | {' | '.join(heads)} |"
    yield f"| ---: | ---: |{' ---: |' * len(heads)}"
    settings = {epsilon: Setting(K, epsilon, EXPONENT, PEOPLE) for epsilon in EPSILONS}
    best = {epsilon: errors("", SubsetSelection(K, epsilon=epsilon), settings[epsilon]) for epsilon in EPSILONS}
    for size in SIZES:
        cells = []
        for epsilon in EPSILONS:
            design = BitFlips(K, epsilon=epsilon, size=size)
            found = errors(f"{size}", design, settings[epsilon])
            against = found["inv_p"] * found["exact"] / (best[epsilon]["inv_p"] * best[epsilon]["exact"])
            cells.append(shown(math.sqrt(against)))
        yield f"| {size} | {design.report_form.bits:.0f} | {' | '.join(cells)} |"


if __name__ == "__main__":
    measure.METHODS = ("inv_p",)
    page = (DOCS / "explanation" / "choosing-a-mechanism.md").read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    made = "\n".join(table())
    (DOCS / "explanation" / "choosing-a-mechanism.md").write_text(
        f"{before}{BEGIN}\n{made}\n\n{END}{rest.split(END)[1]}", encoding="utf-8"
    )
