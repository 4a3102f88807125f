"""Claims on the real populations: who is best on each, and how MLE* does on all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from experiments.pinzon2026.datasets import KOSARAK_SESSIONS, PUBLISHED_COLUMNS
from experiments.pinzon2026.methods import METHOD_LABELS, VALID_METHODS
from experiments.pinzon2026.ranking_claims import CLOSE_FACTOR, best_error, is_best, is_worst, mean_errors
from experiments.pinzon2026.verdicts import Claim, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from experiments.pinzon2026.datasets import Histogram
    from experiments.pinzon2026.real import Real, RealSurvey
    from experiments.pinzon2026.repetition import EstimatorErrors


def real_claims(real: Real) -> Iterator[Claim]:
    """Judge on the three columns of the paper; say of other data what was measured there."""
    for name, outcomes_of in real.items():
        if name == "kosarak":
            yield _best_on_kosarak(outcomes_of)
        elif name.startswith("acs"):
            yield _alternating_on_census(name, outcomes_of)
    standings = {name: _standing(outcomes_of) for name, outcomes_of in real.items()}
    published = {name: standing for name, standing in standings.items() if name in PUBLISHED_COLUMNS}
    others = {name: standing for name, standing in standings.items() if name not in PUBLISHED_COLUMNS}
    if published:
        yield _never_the_worst(published, others)
        yield _close_to_the_best(published, others)


def _best_on_kosarak(outcomes_of: Mapping[RealSurvey, Mapping[str, EstimatorErrors]]) -> Claim:
    histogram, errors = _by_epsilon(outcomes_of)
    wins = sum(is_best(means, "inv_p") for means in errors)
    part = (
        f"; N is {histogram.n / KOSARAK_SESSIONS:.1%} of the published one, and the verdict is for that N"
        if histogram.n != KOSARAK_SESSIONS
        else ""
    )
    return Claim(
        "INVP performs best on Kosarak",
        "Experiments on real-world data",
        _wins(histogram, errors) + part,
        verdict(holds=wins == len(errors), corrected=2 * wins > len(errors)),
    )


def _alternating_on_census(name: str, outcomes_of: Mapping[RealSurvey, Mapping[str, EstimatorErrors]]) -> Claim:
    histogram, errors = _by_epsilon(outcomes_of)
    ahead = sum(means["inv_p"] < means["inv_n"] for means in errors)
    return Claim(
        f"INVP and INVN alternate on ACSIncome ({name.removeprefix('acs_').upper()})",
        "Experiments on real-world data",
        f"{_wins(histogram, errors)}; INVP is ahead of INVN at {ahead}",
        verdict(holds=0 < ahead < len(errors)),
    )


def _by_epsilon(
    outcomes_of: Mapping[RealSurvey, Mapping[str, EstimatorErrors]],
) -> tuple[Histogram, list[dict[str, float]]]:
    ordered = sorted(outcomes_of, key=lambda survey: survey.epsilon)
    return ordered[0].histogram, [mean_errors(outcomes_of[survey]) for survey in ordered]


def _wins(histogram: Histogram, errors: list[dict[str, float]]) -> str:
    counted = ", ".join(
        f"{METHOD_LABELS[name]} at {sum(is_best(means, name) for means in errors)}" for name in VALID_METHODS
    )
    return (
        f"best or level: {counted} of {len(errors)} values of ε (N = {histogram.n:,}, K = {histogram.k:,}; "
        f"{histogram.coverage})"
    )


class _Standing(NamedTuple):
    """Rank of MLE* on one dataset."""

    settings: int
    worst: int
    largest_ratio: float  # of its mean squared error to that of the best
    epsilon: float  # there

    def __str__(self) -> str:
        return f"{self.largest_ratio:.3g} (at ε = {self.epsilon})"


def _standing(outcomes_of: Mapping[RealSurvey, Mapping[str, EstimatorErrors]]) -> _Standing:
    errors = {survey.epsilon: mean_errors(outcomes) for survey, outcomes in outcomes_of.items()}
    ratio, epsilon = max((means["mle"] / best_error(means), epsilon) for epsilon, means in errors.items())
    return _Standing(len(errors), sum(is_worst(means, "mle") for means in errors.values()), ratio, epsilon)


def _never_the_worst(published: Mapping[str, _Standing], others: Mapping[str, _Standing]) -> Claim:
    worst = sum(standing.worst for standing in published.values())
    settings = sum(standing.settings for standing in published.values())
    return Claim(
        "On real data, too, MLE* is never the worst of the three",
        "Experiments on real-world data; Conclusion",
        f"the worst by the mean over the seeds in {worst} of {settings} settings"
        + "".join(
            f"; apart from the paper, {name}: {standing.worst} of {standing.settings}"
            for name, standing in others.items()
        ),
        verdict(holds=worst == 0, corrected=worst <= settings / 20),
    )


def _close_to_the_best(published: Mapping[str, _Standing], others: Mapping[str, _Standing]) -> Claim:
    largest = max(standing.largest_ratio for standing in published.values())
    return Claim(
        "On real data, too, MLE* consistently remains close to the best estimator",
        "Experiments on real-world data",
        "its mean squared error over that of the best of the three, at worst: "
        + ", ".join(f"{name} {standing}" for name, standing in published.items())
        + "; “close” is taken as a factor of two"
        + "".join(f"; apart from the paper, {name} {standing}" for name, standing in others.items()),
        verdict(holds=largest <= CLOSE_FACTOR, corrected=largest <= 3 * CLOSE_FACTOR),
    )
