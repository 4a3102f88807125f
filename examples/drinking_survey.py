"""A made-up survey on a sensitive question, from the answers to the estimate: `python examples/drinking_survey.py`.

4,000 respondents are asked how often they drove after drinking. Each device reports the truth only sometimes, so no
single report reveals the true answer, but the shares can be estimated.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import warner

ANSWERS = ["never", "once", "a few times", "every month", "every week"]
PEOPLE = [2560, 720, 480, 200, 40]  # true counts of the answers, which stay secret in a real survey


def main(folder: Path) -> None:
    """Randomize, estimate, print a table, and draw it."""
    survey = warner.RandomizedResponse(ANSWERS, epsilon=1.5)

    # On the respondents' side: each answer is randomized before it leaves their hands.
    answers = [answer for answer, people in zip(ANSWERS, PEOPLE, strict=True) for _ in range(people)]
    reports = survey.randomize(answers)

    # On the analyst's side: all there is to see is how often each answer was reported.
    counts = [reports.count(answer) for answer in ANSWERS]
    shares = warner.mle(counts, survey)
    proof = warner.certificate(shares, counts, survey)

    print("How often did you drive after drinking in the last year?")
    print(f"{len(reports):,} people, each report told truthfully with probability {survey.p:.2f}, ", end="")
    print(f"else turned into one of the other answers: epsilon {survey.shown_epsilon()}\n")
    print(f"{'answer':12}  {'reports':>7}  {'reported':>8}  {'estimated':>9}  {'true':>6}")
    truth = np.array(PEOPLE) / len(reports)
    for answer, count, share, true in zip(ANSWERS, counts, shares, truth, strict=True):
        bar = "█" * round(30 * share)
        print(f"{answer:12}  {count:7,}  {count / len(reports):8.1%}  {share:9.1%}  {true:6.1%}  {bar}")
    print(f"\nCertificate: no distribution is more likely than this one by more than {proof.gap:.0e} nats.")

    folder.mkdir(parents=True, exist_ok=True)
    picture = folder / "drinking_survey.png"
    warner.estimate(warner.Tally(survey, counts)).save_plot(picture, title="Driving after drinking")
    print(f"Picture: {picture}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo"))
