"""Squared errors of mechanisms and estimators: tables and picture of docs/explanation/choosing-a-mechanism.md.

`make mechanisms` runs it, for about an hour; the page is otherwise written by hand. People are drawn from a population,
each of them is asked, and the reports themselves are estimated from, so that nothing but the contract of a design is
used: a new mechanism is in the tables by being in the registry.
"""

from __future__ import annotations

import json
import math
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner import Tally, mechanisms
from warner.estimators import fitted
from warner.inference.intervals import Confidence
from warner.metrics import squared_error_sum
from warner.planning.mechanisms import candidates
from warner.planning.precision import PlanningQuestion, Precision
from warner.reports.subtotals import ReportBlock, StoredReports
from warner.simulate import zipf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.arrays import Array
    from warner.designs import Design

DOCS = Path(__file__).parent.parent / "docs"
EPSILONS, EXPONENTS, PEOPLE = (0.5, 1.0, 2.0, 4.0), (0.01, 1.3, 2.5), (10_000, 100_000)
SURVEYS = {16: (50, 10), 256: (50, 10), 1024: (20, 4)}  # for so many answers, with so many people
METHODS: tuple[str, ...] = ("inv", "inv_p", "inv_n", "mle")
SHAPES = {
    0.01: "All answers about equally common (Zipf 0.01)",
    1.3: "A few common answers and many rare ones (Zipf 1.3)",
    2.5: "One answer has three quarters (Zipf 2.5)",
}
BEGIN, END = "<!-- made by benchmarks/mechanism_errors.py -->\n", "<!-- end of what is made -->\n"
BEST = "subset selection"  # what the others are compared with
DETAILED = ("randomized response", BEST)  # mechanisms with a row for each estimator
PICTURE = {"answers": 1000, "epsilon": 1.0}


class Setting(NamedTuple):
    """Answers, epsilon, the exponent of Zipf's law, and people."""

    k: int
    epsilon: float
    exponent: float
    n: int


def errors(name: str, design: Design, setting: Setting) -> dict[str, float]:
    """Return the mean squared error of each estimator, summed over the answers, over the exact one of inv; and that."""
    truth = zipf(setting.k, setting.exponent)
    question = PlanningQuestion("error", None, Confidence(), 0.8, None, None, truth)
    exact = setting.k * Precision(design, question).error(float(setting.n)) ** 2
    rng = np.random.default_rng([setting.k, setting.n, round(100 * setting.epsilon), round(100 * setting.exponent)])
    found: dict[str, list[float]] = {method: [] for method in METHODS}
    for _ in range(SURVEYS[setting.k][PEOPLE.index(setting.n)]):
        tally = surveyed(design, truth, setting.n, rng)
        for method in METHODS:
            found[method].append(float(squared_error_sum(fitted(tally, method).shares[0], truth)))
    result = {method: float(np.mean(values)) / exact for method, values in found.items()} | {"exact": exact}
    print(json.dumps([name, setting, result]), flush=True)
    return result


def surveyed(design: Design, truth: Array, n: int, rng: np.random.Generator) -> Tally:
    """Randomize the answers of n respondents one by one, and count their reports."""
    people = np.repeat(np.arange(design.k), rng.multinomial(n, truth))
    reports = design.draw(people, rng.bytes)
    counts, number, histogram = design.law.count(reports)
    return Tally(design, counts, n=number, histogram=histogram, kept=StoredReports.in_memory(ReportBlock(reports)))


def geometric(values: list[float]) -> float:
    """Return the geometric mean."""
    return math.exp(float(np.log(values).mean()))


def shown(value: float) -> str:
    """Write a ratio in two or three digits."""
    return f"{value:.1g}" if value < 0.01 else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def tables(measured: dict[tuple[str, Setting], dict[str, float]]) -> Iterator[str]:
    """Write the tables: two mechanisms for each shape of the population, and a summary of all mechanisms."""
    names = list(dict.fromkeys(name for name, _ in measured))
    for exponent in EXPONENTS:
        yield f"**{SHAPES[exponent]}**\n"
        yield f"| mechanism and estimator | {' | '.join(f'ε = {epsilon:g}' for epsilon in EPSILONS)} |"
        yield f"| --- |{' ---: |' * len(EPSILONS)}"
        for name in DETAILED:
            means = [
                {method: geometric([row[method] for row in rows]) for method in METHODS[1:]}
                for rows in (_ratios(measured, name, epsilon, exponent) for epsilon in EPSILONS)
            ]
            for method in METHODS[1:]:
                cells = [
                    f"**{shown(each[method])}**" if each[method] == min(each.values()) else shown(each[method])
                    for each in means
                ]
                yield f"| {name}, `{method}` | {' | '.join(cells)} |"
        yield ""
    yield f"| mechanism | `mle` / `inv_p` | `inv_n` / `inv_p` | relative to {BEST} |"
    yield "| --- | --- | --- | --- |"
    for name in names:
        rows = [ratios for (own, _), ratios in measured.items() if own == name]
        ratios = [
            [row["mle"] / row["inv_p"] for row in rows],
            [row["inv_n"] / row["inv_p"] for row in rows],
            [
                row["inv_p"] * row["exact"] / (measured[BEST, setting]["inv_p"] * measured[BEST, setting]["exact"])
                for (own, setting), row in measured.items()
                if own == name
            ],
        ]
        cells = [f"{shown(geometric(r))} ({shown(min(r))}–{shown(max(r))})" for r in ratios]
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""


def _ratios(
    measured: dict[tuple[str, Setting], dict[str, float]], name: str, epsilon: float, exponent: float
) -> list[dict[str, float]]:
    return [
        ratios
        for (own, setting), ratios in measured.items()
        if (own, setting.epsilon, setting.exponent) == (name, epsilon, exponent)
    ]


def run() -> dict[tuple[str, Setting], dict[str, float]]:
    """Measure every mechanism in every setting."""
    settings = [Setting(*values) for values in product(SURVEYS, EPSILONS, EXPONENTS, PEOPLE)]
    measured: dict[tuple[str, Setting], dict[str, float]] = {}
    for setting in settings:
        for candidate in sorted(candidates(setting.k, setting.epsilon)):
            measured[candidate.name, setting] = errors(candidate.name, candidate.design, setting)
    return measured


def written(page: str, made: str) -> str:
    """Insert what is made into its place on the page."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{made}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    mechanisms(int(PICTURE["answers"]), epsilon=PICTURE["epsilon"]).save_plot(DOCS / "images" / "mechanisms.png")
    if "--picture" not in sys.argv:
        path = DOCS / "explanation" / "choosing-a-mechanism.md"
        made = "\n".join(tables(run()))
        path.write_text(written(path.read_text(encoding="utf-8"), made), encoding="utf-8")
