"""Write the measured tables and figures of `how-close.md` and `choosing-an-estimator.md` from a folder of results.

    python -m experiments estimators --data DATA -o results-estimators
    python docs/make_how_close.py results-estimators

Everything between ``<!-- measured: name -->`` and ``<!-- end -->`` is replaced; the words around it are written by
hand, and are to be read again when numbers have changed.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Any

from experiments.estimators.ratios import Ratio, is_valid, markdown, written

DOCS = Path(__file__).parent
PAGES = ("evidence/how-close.md", "explanation/choosing-an-estimator.md")
FIGURES = {
    "settings-squared-error.png": "how_close_squared_error.png",
    "settings-total-variation.png": "how_close_total_variation.png",
    "along-the-settings.png": "how_close_along.png",
}
SETTING = ("mechanism", "population", "k", "n", "epsilon")
HEADINGS = {"the paper's grid (Zipf)": "Zipf", "shapes used to build shrink": "shapes of `shrink`"}
JUDGED = "RR, other shapes"  # shapes not used to build any estimator


class Results:
    """Results that a run of the comparison left in its folder."""

    def __init__(self, folder: Path) -> None:
        self.summary: dict[str, list[dict[str, Any]]] = json.loads(
            (folder / "summary.json").read_text(encoding="utf-8")
        )
        self.settings: dict[str, Any] = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
        with (folder / "ratios.csv").open(encoding="utf-8") as file:
            self.lines = list(csv.DictReader(file))

    def of(self, section: str, measure: str = "squared_error") -> dict[str, dict[str, Any]]:
        """Return the summaries of a section, by estimator."""
        return {one["estimator"]: one for one in self.summary[section] if one["measure"] == measure}

    def blocks(self) -> dict[str, str]:
        """Return what is measured, by the name of its block."""
        return {
            "settings": self.in_words(),
            "judged": self.judged(),
            "rr": self.section("RR"),
            "oue": self.section("OUE"),
            "short": self.short(),
        }

    def in_words(self) -> str:
        """Return how much was run."""
        count = {tuple(line[name] for name in SETTING) for line in self.lines}
        shown = {name: _listed(self.settings[name]) for name in ("answers", "people", "epsilons")}
        paper = {name: _listed(self.settings[f"paper_{name}"]) for name in ("answers", "people", "epsilons")}
        bits = {name: _listed(self.settings[f"bits_{name}"]) for name in ("answers", "people", "epsilons")}
        real = {name: _listed(self.settings[f"real_{name}"]) for name in ("people", "epsilons")}
        words = (
            f"{len(count):,} settings, each drawn {self.settings['seeds']} times (real data under randomized response "
            f"{self.settings['real_seeds']} times). Of the paper's grid: *K* = {paper['answers']}; *N* = "
            f"{paper['people']}; ε = {paper['epsilons']}. Other shapes: *K* = {shown['answers']}; *N* = "
            f"{shown['people']}; ε = {shown['epsilons']}. Optimal unary encoding (OUE), all shapes: *K* = "
            f"{bits['answers']}; *N* = {bits['people']}; ε = {bits['epsilons']}. Real data: *N* = {real['people']}; "
            f"ε = {real['epsilons']}."
        )
        return textwrap.fill(words, 120, break_on_hyphens=False)

    def judged(self) -> str:
        """Make the table of all estimators on shapes not used to build them."""
        variation = self.of(JUDGED, "total_variation")
        rows = [
            [
                _called(name),
                _ratio(one["mean"]).partition(" ")[0],
                _ratio(one["worst"]),
                f"{one['above']}",
                _ratio(variation[name]["mean"]).partition(" ")[0],
            ]
            for name, one in self.of(JUDGED).items()
        ]
        heads = ("estimator", "squared error", "worst", "above 1.15", "TV")
        return markdown(rows, heads)

    def section(self, mechanism: str) -> str:
        """Make the table of means of a mechanism, of valid estimators; in parentheses the worst."""
        start = f"{mechanism}, "
        titles = [title for title in self.summary if title.startswith(start) and not title.endswith("everything")]
        found = [self.of(title) for title in titles]
        rows = [
            [f"`{name}`", *(_in_short(one.get(name)) for one in found)]
            for name in self.of("RR, everything")
            if is_valid(name) and any(name in one for one in found)
        ]
        kinds = [title.removeprefix(start) for title in titles]
        return markdown(rows, ["estimator", *(HEADINGS.get(kind, kind) for kind in kinds)])

    def short(self) -> str:
        """Make the short table of distributions, for the page that advises."""
        columns = ("RR, other shapes", "RR, real data", "OUE, other shapes")
        shown = [title for title in columns if title in self.summary]
        names = [name for name in self.of(shown[0]) if is_valid(name)]
        rows = [[f"`{name}`", *(_in_short(self.of(title).get(name)) for title in shown)] for name in names]
        return markdown(rows, ["squared error against the best in hindsight", *shown])


def _listed(numbers: list[int]) -> str:
    return ", ".join(f"{number:,}" for number in numbers)


def _called(name: str) -> str:
    return f"`{name}`" if is_valid(name) else f"`{name}` †"


def _ratio(told: dict[str, float]) -> str:
    return written(Ratio(**told))


def _in_short(one: dict[str, Any] | None) -> str:
    """Write a mean, and in parentheses the worst."""
    if one is None:
        return "needs the reports"
    mean, worst = (written(Ratio(**one[name])).partition(" ")[0] for name in ("mean", "worst"))
    return f"{mean} ({worst})"


def main(folder: Path) -> None:
    """Replace the measured blocks of the pages, and the figures."""
    blocks = Results(folder).blocks()
    for page in PAGES:
        text = (DOCS / page).read_text(encoding="utf-8")
        for name in re.findall(r"<!-- measured: (\w+) -->", text):
            pattern = rf"<!-- measured: {name} -->\n.*?<!-- end -->"
            found = re.search(pattern, text, flags=re.DOTALL)
            assert found is not None, f"{page}: the block {name} has no end"
            text = text.replace(found.group(), f"<!-- measured: {name} -->\n\n{blocks[name]}\n\n<!-- end -->")
        (DOCS / page).write_text(text, encoding="utf-8")
    for source, target in FIGURES.items():
        shutil.copy(folder / "figures" / source, DOCS / "images" / target)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
