"""Make `cheating.csv`, the made-up survey of the page "Who says yes": 2,400 students, two questions about exams.

All respondents are invented. The true model is below, for comparison with estimates.
A letter about honest exams went to half of the students, drawn by lot. A third were asked directly whether they had
ever cheated, and some cheaters denied it; all others threw dice. All reported the frequency with a spinner.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

import warner

PEOPLE, SCHOOLS = 2_400, 60
# Log-odds of having cheated, at age 22, in the north, without the letter; and by how much they change.
INTERCEPT, PER_YEAR, LETTER, REGION = -0.3, -0.15, -0.6, {"north": 0.0, "south": 0.5, "west": 0.0}
SPREAD = 0.3  # standard deviation of what the students of one school have in common
OFTEN = 0.35  # share of the cheaters who cheated often
ADMITTED = 0.6  # share of the cheaters who admit it when asked directly
WEIGHTS = {"north": 1.4, "south": 0.8, "west": 0.8}  # the north was sampled too thinly

DICE = warner.surveys.forced_response(truth="27/36", yes="6/36")
SPINNER = warner.RandomizedResponse(["never", "once", "often"], odds=(6, 1))


def main(folder: Path) -> None:
    """Write what was known of the students, and what they reported."""
    rng = np.random.default_rng(1965)
    age = rng.integers(18, 30, PEOPLE)
    school = rng.integers(1, SCHOOLS + 1, PEOPLE)
    region = rng.choice(list(REGION), SCHOOLS)[school - 1]
    letter = rng.permutation(PEOPLE) % 2
    version = np.where(rng.random(PEOPLE) < 1 / 3, "direct", "dice")
    common = SPREAD * rng.standard_normal(SCHOOLS)[school - 1]
    odds = INTERCEPT + PER_YEAR * (age - 22) + LETTER * letter + [REGION[name] for name in region] + common
    cheated = rng.random(PEOPLE) < 1 / (1 + np.exp(-odds))
    times = np.where(cheated, np.where(rng.random(PEOPLE) < OFTEN, 2, 1), 0)
    admitted = cheated & (rng.random(PEOPLE) < ADMITTED)
    # Answers and reports by their numbers; real answers would be randomized by `DICE.randomize`, which takes no seed.
    dice = np.array(DICE.outputs)[DICE.draw(np.where(cheated, 0, 1), rng.bytes)]
    spinner = np.array(SPINNER.domain)[SPINNER.draw(times, rng.bytes)]
    columns = {
        "age": age,
        "region": region,
        "school": school,
        "weight": [WEIGHTS[name] for name in region],
        "letter": letter,
        "version": version,
        "cheated": np.where(version == "direct", np.where(admitted, "yes", "no"), dice),
        "times": spinner,
    }
    with (folder / "cheating.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True))


if __name__ == "__main__":
    main(Path(__file__).parent)
