"""Make `answers.csv`, the made-up survey that the demo runs on: 4,000 people, two questions, two regions.

All respondents are invented. The true shares are below, for comparison with estimates.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from warner import simulate

DRINKING = {"never": 0.64, "once": 0.18, "a few times": 0.12, "every month": 0.05, "every week": 0.01}
SITES = [f"site{number:03}.example" for number in range(1, 301)]
PEOPLE = 4_000


def main(folder: Path) -> None:
    """Write the answers, and the list of sites, which is the domain of the second question."""
    rng = np.random.default_rng(1965)
    answers = rng.choice(list(DRINKING), PEOPLE, p=list(DRINKING.values()))
    sites = rng.choice(SITES, PEOPLE, p=simulate.zipf(len(SITES), 1.3))
    regions = rng.choice(["north", "south"], PEOPLE)
    with (folder / "answers.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["region", "answer", "site"])
        writer.writerows(zip(regions.tolist(), answers.tolist(), sites.tolist(), strict=True))
    (folder / "sites.txt").write_text("\n".join(SITES) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(__file__).parent)
