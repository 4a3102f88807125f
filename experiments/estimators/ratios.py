r"""Error ratios to the best in hindsight: what an estimator has lost, or won, in a setting, and over many.

The best in hindsight is the smallest expected error of `inv_p`, `inv_n` and `mle` in a setting (of those that counts
are enough for): it cannot be chosen without the truth. A ratio is

.. math:: r = \frac{\bar x + f}{\min_j \bar y_j + f}, \qquad f = 0.1/N^2,

of means over the seeds, with a floor of a tenth of a squared person (a tenth of a person for total variation), without
which a design that flips no report would make both sides zero. Standard errors are those of the simulation, by the
delta method from the same seeds: :math:`\text{se}(r) = \text{sd}(x - r y)/(\sqrt{S}\,(\bar y + f))`. The smallest of
three means over few seeds is, on average, below the smallest expectation, so that ratios err against the estimator.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from experiments.estimators.contests import ERROR_MEASURES, SHORT_DESIGN_NAMES
from experiments.estimators.entrants import PREDICTED
from experiments.estimators.populations import POPULATION_KINDS
from warner.estimators import METHODS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from experiments.estimators.contests import Contest, Errors

Outcomes: TypeAlias = "dict[Contest, dict[str, dict[str, Ratio]]]"  # by setting, estimator and measure

REFERENCES = ("inv_p", "inv_n", "mle")
TOLERATED_RATIO = 1.15  # a ratio above it is counted
LEAST_PEOPLE_WRONG = 0.1  # people


class Ratio(NamedTuple):
    """An error against the best in hindsight, with the standard error of the simulation."""

    value: float
    error: float


class Summary(NamedTuple):
    """Outcome of one estimator over many settings, by one measure."""

    estimator: str
    settings: int
    mean: Ratio  # geometric
    worst: Ratio
    where: str
    above: int  # settings with a ratio above TOLERATED


def ratios(errors: Errors, n: int, measure: str) -> dict[str, Ratio]:
    """Return each estimator's ratio in one setting.

    Here `inv_p` has 2 on average, which is the best of the references, and another has 1.

    >>> one = {"inv_p": {"squared_error": np.array([1.0, 3.0])}, "mine": {"squared_error": np.array([0.5, 1.5])}}
    >>> ratios(one, 10**9, "squared_error")["mine"]
    Ratio(value=0.5, error=0.0)
    """
    floor = LEAST_PEOPLE_WRONG / n**2 if measure.startswith("squared") else LEAST_PEOPLE_WRONG / n
    best = min((errors[name][measure] for name in REFERENCES if name in errors), key=lambda values: values.mean())
    below = float(best.mean()) + floor
    found = {}
    for name, measures in errors.items():
        value = (float(measures[measure].mean()) + floor) / below
        rest = measures[measure] - value * best
        found[name] = Ratio(value, float(rest.std(ddof=1)) / len(rest) ** 0.5 / below)
    return found


def outcomes(errors_of: Mapping[Contest, Errors]) -> Outcomes:
    """Return the ratios of every setting, by estimator and measure."""
    found: Outcomes = {}
    for contest, errors in errors_of.items():
        by_measure = {measure: ratios(errors, contest.n, measure) for measure in ERROR_MEASURES}
        found[contest] = {name: {measure: by_measure[measure][name] for measure in ERROR_MEASURES} for name in errors}
    return found


def summaries(found: Outcomes, measure: str = "squared_error") -> list[Summary]:
    """Summarize every estimator over some settings: distributions first, then by the mean."""
    listed = []
    for name in dict.fromkeys(name for of_all in found.values() for name in of_all):
        settings = {contest: of_all[name][measure] for contest, of_all in found.items() if name in of_all}
        values = np.array([ratio.value for ratio in settings.values()])
        spread = np.array([ratio.error / ratio.value for ratio in settings.values()])  # of the logarithm
        mean = float(np.exp(np.log(values).mean()))
        worst = max(settings, key=lambda contest: settings[contest].value)
        listed.append(
            Summary(
                name,
                len(values),
                Ratio(mean, mean * float(np.sqrt((spread**2).sum())) / len(values)),
                settings[worst],
                worst.title,
                int((values > TOLERATED_RATIO).sum()),
            )
        )
    return sorted(listed, key=lambda summary: (not is_valid(summary.estimator), summary.mean.value))


def is_valid(estimator: str) -> bool:
    """Return whether the estimates are distributions; those of a custom estimator are assumed to be."""
    return estimator == PREDICTED or estimator not in METHODS or METHODS[estimator].valid


def sections(found: Outcomes) -> dict[str, Outcomes]:
    """Part the settings by mechanism and kind of population, by their titles; all of a mechanism last."""
    parts: dict[str, Outcomes] = {}
    for mechanism in SHORT_DESIGN_NAMES:
        here = {contest: of_all for contest, of_all in found.items() if contest.mechanism == mechanism}
        for kind, words in POPULATION_KINDS.items():
            part = {contest: of_all for contest, of_all in here.items() if contest.population.kind == kind}
            if part:
                parts[f"{SHORT_DESIGN_NAMES[mechanism]}, {words}"] = part
        if here:
            parts[f"{SHORT_DESIGN_NAMES[mechanism]}, everything"] = here
    return parts


def as_csv(found: Outcomes) -> str:
    """Write all ratios, a line for each setting and estimator."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = [column for measure in ERROR_MEASURES for column in (measure, f"{measure}_se")]
    writer.writerow(["mechanism", "kind", "population", "k", "n", "epsilon", "seeds", "estimator", *columns])
    for contest, of_all in found.items():
        setting = [*contest.section, contest.population.name, contest.population.k, contest.n, contest.epsilon]
        for name, of_measures in of_all.items():
            numbers = [f"{number:.6g}" for measure in ERROR_MEASURES for number in of_measures[measure]]
            writer.writerow([*setting, contest.seeds, name, *numbers])
    return text.getvalue().rstrip("\n")


def table(found: Outcomes, names: Iterable[str] | None = None) -> list[list[str]]:
    """Make the table of one section: a row for each estimator, by squared error and by total variation."""
    wanted = None if names is None else set(names)
    by_variation = {summary.estimator: summary for summary in summaries(found, "total_variation")}
    rows = []
    for summary in summaries(found):
        if wanted is not None and summary.estimator not in wanted:
            continue
        other = by_variation[summary.estimator]
        rows.append(
            [
                summary.estimator if is_valid(summary.estimator) else f"{summary.estimator} (not a distribution)",
                f"{summary.settings}",
                written(summary.mean),
                written(summary.worst),
                summary.where,
                f"{summary.above}",
                written(other.mean),
                written(other.worst),
            ]
        )
    return rows


TABLE_HEADS = (
    "estimator",
    "settings",
    "squared error, mean",
    "squared error, worst",
    "worst setting",
    f"settings above {TOLERATED_RATIO}",
    "total variation, mean",
    "total variation, worst",
)


def written(ratio: Ratio) -> str:
    """Write a ratio with its standard error.

    >>> written(Ratio(0.7234, 0.0123)), written(Ratio(1234.5, 67.8))
    ('0.72 ± 0.01', '1,234 ± 68')
    """
    if ratio.value >= 100:
        return f"{ratio.value:,.0f} ± {ratio.error:,.0f}"
    digits = 1 if ratio.value >= 10 else 2
    return f"{ratio.value:.{digits}f} ± {ratio.error:.{digits}f}"


def markdown(rows: list[list[str]], heads: Iterable[str] = TABLE_HEADS) -> str:
    """Write a table in Markdown."""
    listed = list(heads)
    lines = [listed, ["---"] * len(listed), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


WORST_HEADS = ("setting", "design", "squared error", "best in hindsight")


def worst_settings(found: Outcomes, estimator: str, count: int = 10) -> list[list[str]]:
    """List the settings in which an estimator did worst by squared error, and which of the references was the best."""
    own = {contest: of_all for contest, of_all in found.items() if estimator in of_all}
    falling = sorted(own, key=lambda contest: -own[contest][estimator]["squared_error"].value)[:count]
    rows = []
    for contest in falling:
        of_references = {name: own[contest][name]["squared_error"].value for name in REFERENCES if name in own[contest]}
        best = min(of_references, key=of_references.__getitem__)
        rows.append(
            [
                contest.title,
                SHORT_DESIGN_NAMES[contest.mechanism],
                written(own[contest][estimator]["squared_error"]),
                best,
            ]
        )
    return rows
