"""Claims on which estimator comes closest: ranks by likelihood and by squared error over the grid."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from experiments.pinzon2026.methods import METHOD_LABELS, VALID_METHODS
from experiments.pinzon2026.verdicts import EQUAL_ERRORS, Claim, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from experiments.pinzon2026.grid import Grid, ZipfSurvey
    from experiments.pinzon2026.repetition import EstimatorErrors

Errors: TypeAlias = "dict[ZipfSurvey, dict[str, float]]"  # mean squared errors over the seeds, by estimator

CLOSE_FACTOR = 2.0  # "close to the best": within this factor of it
PAIRED_STANDARD_ERRORS = 2.0  # a mean paired difference of less is none
NOTICEABLE_RATIO = 1.05  # a mean squared error that exceeds another by less may do so by chance


def ranking_claims(grid: Grid) -> Iterator[Claim]:
    """Judge what the paper says on the ranks of the valid estimators."""
    if not grid:
        return
    errors = {survey: mean_errors(outcomes) for survey, outcomes in grid.items()}
    yield _lowest_likelihood(grid)
    yield _never_the_worst(grid, errors)
    yield _close_to_the_best(errors)
    for s, name, regime in (
        (2.5, "inv_p", "high concentration (s = 2.5)"),
        (0.01, "inv_n", "the near-uniform regime (s = 0.01)"),
    ):
        chosen = {survey: means for survey, means in errors.items() if survey.s == s}
        if chosen:
            yield _best_in_regime(grid, chosen, name, regime)
    yield _order_flips({survey: means for survey, means in errors.items() if survey.s not in {0.01, 2.5}})
    yield _order_by_concentration(errors)


def mean_errors(outcomes: Mapping[str, EstimatorErrors]) -> dict[str, float]:
    """Average the squared error of each estimator over the seeds."""
    return {name: float(outcome.squared_error.mean()) for name, outcome in outcomes.items()}


def best_error(means: Mapping[str, float]) -> float:
    """Return the smallest mean error of the valid estimators."""
    return min(means[name] for name in VALID_METHODS)


def is_best(means: Mapping[str, float], name: str) -> bool:
    """Return whether no valid estimator has a smaller mean error."""
    return means[name] <= (1 + EQUAL_ERRORS) * best_error(means)


def is_worst(means: Mapping[str, float], name: str) -> bool:
    """Return whether all other valid estimators have a smaller mean error."""
    return means[name] > (1 + EQUAL_ERRORS) * max(means[other] for other in VALID_METHODS if other != name)


def is_beaten(outcomes: Mapping[str, EstimatorErrors], name: str) -> bool:
    """Return whether another valid estimator has a significantly smaller error: seed by seed, on the same reports."""
    errors = outcomes[name].squared_error
    for other in VALID_METHODS:
        behind = errors - outcomes[other].squared_error
        standard_error = float(behind.std(ddof=1)) / behind.size**0.5
        if behind.mean() > max(PAIRED_STANDARD_ERRORS * standard_error, EQUAL_ERRORS * float(errors.mean())):
            return True
    return False


def geometric_mean(values: list[float]) -> float:
    """Average on a logarithmic scale.

    >>> round(geometric_mean([1.0, 4.0]), 12)
    2.0
    """
    return math.exp(sum(math.log(value) for value in values) / len(values))


def _at(survey: ZipfSurvey) -> str:
    return f"K = {survey.k:,}, s = {survey.s:g}, N = {survey.n:,}, ε = {survey.epsilon}"


def _runs(grid: Grid) -> int:
    return len(grid) * next(iter(grid)).seeds


def _lowest_likelihood(grid: Grid) -> Claim:
    higher = sum(
        int((outcomes["mle"].negative_log_likelihood > outcomes[other].negative_log_likelihood + 1e-12).sum())
        for outcomes in grid.values()
        for other in ("inv_p", "inv_n")
    )
    return Claim(
        "MLE* has the lowest negative log-likelihood of the three valid estimators in every configuration",
        "Experiments, discussion of the overview",
        f"in {_runs(grid):,} single runs of {len(grid)} configurations it was undercut {higher} times",
        verdict(holds=higher == 0),
    )


def _never_the_worst(grid: Grid, errors: Errors) -> Claim:
    total = len(grid)
    worst = [survey for survey, means in errors.items() if is_worst(means, "mle")]
    single = 0
    for outcomes in grid.values():
        larger = np.maximum(outcomes["inv_p"].squared_error, outcomes["inv_n"].squared_error)
        single += int((outcomes["mle"].squared_error > (1 + EQUAL_ERRORS) * larger).sum())
    best = sum(is_best(means, "mle") for means in errors.values())
    tied = sum(all(is_best(means, name) for name in VALID_METHODS) for means in errors.values())
    example = f" (at {_at(worst[0])}, for one)" if worst else ""
    return Claim(
        "MLE* is sandwiched between INVP and INVN in squared error: never the worst of the three",
        "Experiments, discussion of the overview; Conclusion",
        f"the worst by the mean over the seeds in {len(worst)} of {total} configurations{example}, the best in {best} "
        f"(in {tied} of them all three are equal); the worst in {single:,} of {_runs(grid):,} single runs",
        verdict(holds=not worst, corrected=len(worst) <= total / 100),
    )


def _close_to_the_best(errors: Errors) -> Claim:
    ratios = {survey: means["mle"] / best_error(means) for survey, means in errors.items()}
    farthest = max(ratios, key=ratios.__getitem__)
    within = sum(ratio <= CLOSE_FACTOR for ratio in ratios.values())
    return Claim(
        "MLE* is close to the best in all scenarios",
        "Experiments, box “MLE* as a robust default estimator”; Supplement, discussion of the complete results",
        f"its mean squared error is at most twice that of the best of the three in {within} of {len(errors)} "
        f"configurations, and {ratios[farthest]:.1f} times that of the best at worst ({_at(farthest)}); “close” is "
        "taken as a factor of two",
        verdict(holds=within == len(errors), corrected=ratios[farthest] <= 3 * CLOSE_FACTOR),
    )


def _best_in_regime(grid: Grid, errors: Errors, name: str, regime: str) -> Claim:
    wins = sum(not is_beaten(grid[survey], name) for survey in errors)
    ratios = {survey: means[name] / best_error(means) for survey, means in errors.items()}
    farthest = max(ratios, key=ratios.__getitem__)
    exception = f"; at worst {ratios[farthest]:.2f} times the best, at {_at(farthest)}" if wins < len(errors) else ""
    return Claim(
        f"{METHOD_LABELS[name]} is the best in squared error under {regime}",
        "Experiments, discussion of the overview",
        f"the best of the three, or level with it (not behind by more than two standard errors of the paired "
        f"difference over the seeds), in {wins} of {len(errors)} configurations{exception}",
        verdict(holds=wins == len(errors), corrected=wins >= len(errors) / 2),
    )


def _order_flips(errors: Errors) -> Claim:
    # The logarithm of the ratio along every line of the grid on which only N, or only epsilon, varies.
    lines: dict[tuple[str, int, float], list[float]] = {}
    for survey, means in errors.items():
        difference = math.log(means["inv_p"] / means["inv_n"])
        lines.setdefault(("N", survey.k, survey.epsilon), []).append(difference)
        lines.setdefault(("ε", survey.k, survey.n), []).append(difference)
    flips = sum(min(differences) < -EQUAL_ERRORS and max(differences) > EQUAL_ERRORS for differences in lines.values())
    ahead = sum(means["inv_p"] < (1 - EQUAL_ERRORS) * means["inv_n"] for means in errors.values())
    behind = sum(means["inv_p"] > (1 + EQUAL_ERRORS) * means["inv_n"] for means in errors.values())
    return Claim(
        "In between (s = 1.3) the ranking of INVP and INVN flips with ε or N",
        "Introduction; Experiments, discussion of the overview",
        f"INVP is ahead in {ahead} and INVN in {behind} of {len(errors)} configurations; the order changes along "
        f"{flips} of {len(lines)} lines on which only N or only ε varies",
        verdict(holds=flips > 0),
    )


def _order_by_concentration(errors: Errors) -> Claim:
    ratios = {
        s: geometric_mean([means["inv_n"] / means["inv_p"] for survey, means in errors.items() if survey.s == s])
        for s in sorted({survey.s for survey in errors})
    }
    listed = ", ".join(f"{ratio:.2f} at s = {s:g}" for s, ratio in ratios.items())
    return Claim(
        "INVP outperforms INVN on average when the distribution is highly concentrated, and vice versa",
        "Conclusion",
        f"squared error of INVN over that of INVP, geometric mean over the configurations: {listed}",
        verdict(holds=ratios[min(ratios)] < 1 < ratios[max(ratios)]),
    )


def plain_inversion_finding(grid: Grid) -> Claim:
    """Test whether MLE* is always at least as good as INV."""
    ratios = {}
    for survey, outcomes in grid.items():
        means = mean_errors(outcomes)
        ratios[survey] = means["mle"] / means["inv"]
    farthest = max(ratios, key=ratios.__getitem__)
    behind = sum(ratio > NOTICEABLE_RATIO for ratio in ratios.values())
    return Claim(
        "Is MLE* always at least as good as plain INV?",
        "",
        f"its mean squared error exceeds that of INV by more than 5 % in {behind} of {len(grid)} configurations, at "
        f"most {ratios[farthest]:.2f} times ({_at(farthest)})",
        "no" if behind else "yes",
    )


def combination_findings(grid: Grid) -> Iterator[Claim]:
    """Test whether choosing an estimator for each histogram beats every single one, where that was measured."""
    errors = [mean_errors(outcomes) for outcomes in grid.values() if "auto" in outcomes]
    if not errors:
        return
    ratios = {name: [means[name] / best_error(means) for means in errors] for name in ("auto", *VALID_METHODS)}
    auto = ratios.pop("auto")
    always = "; ".join(
        f"always {METHOD_LABELS[name]} {geometric_mean(values):.2f} ({max(values):.1f})"
        for name, values in ratios.items()
    )
    yield Claim(
        "Can the estimators be combined? `predicted` is the one with the smallest predicted error for each histogram",
        "Conclusion (future work)",
        f"squared error relative to the best of the three in hindsight, geometric mean over {len(errors)} "
        f"configurations of the overview (worst in brackets): {METHOD_LABELS['auto']} "
        f"{geometric_mean(auto):.2f} ({max(auto):.1f}); "
        f"{always}",
        "yes" if geometric_mean(auto) < min(geometric_mean(values) for values in ratios.values()) else "no",
    )
