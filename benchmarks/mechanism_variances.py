"""Variance added to means and distributions: two tables of docs/explanation/choosing-a-mechanism.md.

`make mechanisms` runs it, for some seconds. Every number is exact, by the formulas of `warner.mechanisms`; nothing is
simulated. A test compares the page with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from warner import mechanisms

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "choosing-a-mechanism.md"
ANSWERS, EPSILONS = (11, 201), (0.5, 1.0, 2.0, 4.0)
SHOWN = {
    "mean": ("cutoff response", "square wave", "subset selection"),
    "distribution": ("square wave", "randomized response", "subset selection"),
}
TITLES = {
    "mean": "**Mean**: the largest added variance, as a fraction of the squared range",
    "distribution": "**Distribution function**: the mean added variance over the numbers, all equally common",
}
BEGIN, END = "<!-- made by benchmarks/mechanism_variances.py -->", "<!-- end of what mechanism_variances.py made -->"


def tables() -> Iterator[str]:
    """Write a table for each quantity: a row for each number of answers and epsilon, the least variance in bold."""
    for quantity, title in TITLES.items():
        yield f"\n{title}\n"
        yield f"| *K* | ε | {' | '.join(SHOWN[quantity])} |"
        yield f"| ---: | ---: | {' | '.join('---:' for _ in SHOWN[quantity])} |"
        for k in ANSWERS:
            for epsilon in EPSILONS:
                compared = mechanisms(k, epsilon=epsilon, quantity=quantity)
                every = {candidate.name: candidate.variance for candidate in compared.candidates}
                variances = [every[name] for name in SHOWN[quantity]]
                cells = [f"{v:,.0f}" if v >= 1000 else f"{v:.3g}" for v in variances]
                near = [v <= min(variances) * (1 + 1e-9) for v in variances]
                row = [f"**{cell}**" if best else cell for cell, best in zip(cells, near, strict=True)]
                yield f"| {k} | {epsilon:g} | {' | '.join(row)} |"


def written(page: str) -> str:
    """Insert the tables into their place on the page."""
    before, rest = page.split(BEGIN)
    made = "\n".join(tables())
    return f"{before}{BEGIN}\n{made}\n\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
