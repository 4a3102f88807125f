"""What the paper says, statement by statement, and what was measured: a table with a verdict for each.

Every verdict is computed from the results in the folder; nothing is taken from the paper but its statements. A check at
random cases can refute a theorem but not prove it: where it finds nothing, the statement holds as far as it was tried.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.designs import RandomizedResponse
from warner.papers.pinzon2026.ibu import NEAR
from warner.papers.pinzon2026.real import PUBLISHED, SESSIONS
from warner.papers.pinzon2026.repetition import ESTIMATORS, NAMES, VALID
from warner.simulate import reports_of_population, zipf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from warner.papers.pinzon2026.grid import Grid, Survey
    from warner.papers.pinzon2026.ibu import Descent, Path
    from warner.papers.pinzon2026.real import Real
    from warner.papers.pinzon2026.repetition import Outcome

HOLDS, CORRECTED, FAILS = "holds", "holds with a correction", "does not hold"
EQUAL = 1e-9  # relative: closer than this, two errors are the same number, rounded
CLOSE = 2.0  # "close to the best": within this factor of it
SIGMAS = 4.0
PAIRED = 2.0  # standard errors of a paired difference: less is level
HALF = 0.5
MOSTLY = 0.9
ABOVE = 1.05  # a mean squared error that exceeds another by less may do so by chance
PRINTED_STEPS = {(10_000, 1.0): 7_000, (10_000, 0.5): 25_000, (500_000, 1.0): 20_000, (500_000, 0.5): math.inf}


MISPRINTS_NOTE = (
    "Slips that a reader who checks the formulas or runs the published code may stumble over, and that no claim above "
    "mentions. None of the theorems depends on them."
)
MISPRINTS = (
    (
        "Captions of the overview figures",
        "the largest exponent is given as s = 5.0; the text and the supplement have s = 2.5.",
    ),
    (
        "Experiments, setup",
        "the text has 100 seeds for each configuration; the published code, as it stands, runs 10.",
    ),
    (
        "Published code",
        "the squared error is a mean over K answers, squared bias and variance are sums: they add up to K times it.",
    ),
    ("Published code", "`assert p >= q` lets p = q pass, which then divides by zero; p > q is what is needed."),
    ("Definition of φ", "the index u counts people, so it runs from 1 to N; it is printed as u = 1..K."),
    ("Equation for τ*", "the minimum is one over the observed shares; over all real numbers it is not attained."),
    (
        "Supplement, proof of Theorem 4",
        "θ_β = 0 is meant, not θ_β > 0; m ≤ K, not m < K; and the divergence is that to M(θ), not to θ.",
    ),
    (
        "Supplement, Lemma 3(d)",
        "its proof takes φ_n = φ_{n+1}; the statement, one index too low, has φ_{n-1} = φ_n.",
    ),
    (
        "Supplement, Theorem 7",
        "φ is f_σ(φ′), not f_σ(φ); n runs from 0 to K-1; and at the end φ_n ≠ φ_{n+1} is meant, as in Lemma 3(d).",
    ),
    ("Supplement, Theorem 8", "in the formulas for INVN and MLE* the index on the left is i, not n."),
)


class Claim(NamedTuple):
    """A statement, where it stands, what was measured, and the verdict."""

    statement: str
    place: str
    measured: str
    verdict: str


class Evidence(NamedTuple):
    """All results that the claims are judged by."""

    grid: Grid
    real: Real
    ibu: Mapping[Descent, Path]
    checks: Mapping[str, Mapping[str, float]]
    times: Mapping[str, float]


def claims(evidence: Evidence) -> list[Claim]:
    """Judge every statement that the evidence has something to say on."""
    found: list[Claim] = []
    if evidence.grid:
        found += [*_ranking(evidence.grid), *_bias(evidence.grid)]
    found += _real(evidence.real)
    found += _theory(evidence.checks, evidence.times)
    if evidence.ibu:
        found += _iteration(evidence.ibu, evidence.times)
    found += _arithmetic()
    return found


def beyond(evidence: Evidence) -> list[Claim]:
    """Measure what the paper does not say, but its readers may want to know."""
    return [*(_beyond_grid(evidence.grid) if evidence.grid else ()), *_beyond_iteration(evidence.times)]


def verdict(*, holds: bool, corrected: bool = False) -> str:
    """Choose the word."""
    return HOLDS if holds else CORRECTED if corrected else FAILS


def _mean(outcomes: Mapping[str, Outcome]) -> dict[str, float]:
    """Give the mean squared error of each estimator."""
    return {name: float(outcome.squared_error.mean()) for name, outcome in outcomes.items()}


def _best(errors: Mapping[str, float], name: str) -> bool:
    return errors[name] <= (1 + EQUAL) * min(errors[other] for other in VALID)


def _beaten(outcomes: Mapping[str, Outcome], name: str) -> bool:
    """Tell if another valid estimator has a smaller error by more than chance: seed by seed, on the same reports."""
    own = outcomes[name].squared_error
    for other in VALID:
        behind = own - outcomes[other].squared_error
        error = float(behind.std(ddof=1)) / behind.size**0.5
        if behind.mean() > max(PAIRED * error, EQUAL * float(own.mean())):
            return True
    return False


def _worst(errors: Mapping[str, float], name: str) -> bool:
    return errors[name] > (1 + EQUAL) * max(errors[other] for other in VALID if other != name)


def _at(survey: Survey) -> str:
    return f"K = {survey.k:,}, s = {survey.s:g}, N = {survey.n:,}, ε = {survey.epsilon}"


def _ranking(grid: Grid) -> Iterator[Claim]:
    errors = {survey: _mean(outcomes) for survey, outcomes in grid.items()}
    total = len(grid)
    runs = total * next(iter(grid)).seeds
    higher = sum(
        int((each["mle"].negative_log_likelihood > each[other].negative_log_likelihood + 1e-12).sum())
        for each in grid.values()
        for other in ("inv_p", "inv_n")
    )
    yield Claim(
        "MLE* has the lowest negative log-likelihood of the three valid estimators in every configuration",
        "Experiments, discussion of the overview",
        f"in {runs:,} single runs of {total} configurations it was undercut {higher} times",
        verdict(holds=higher == 0),
    )
    worst = [survey for survey, each in errors.items() if _worst(each, "mle")]
    single = sum(
        int(
            (
                each["mle"].squared_error
                > (1 + EQUAL) * np.maximum(each["inv_p"].squared_error, each["inv_n"].squared_error)
            ).sum()
        )
        for each in grid.values()
    )
    best = sum(_best(each, "mle") for each in errors.values())
    tied = sum(all(_best(each, name) for name in VALID) for each in errors.values())
    outside = f" (at {_at(worst[0])}, for one)" if worst else ""
    yield Claim(
        "MLE* is sandwiched between INVP and INVN in squared error: never the worst of the three",
        "Experiments, discussion of the overview; Conclusion",
        f"the worst by the mean over the seeds in {len(worst)} of {total} configurations{outside}, the best in {best} "
        f"(in {tied} of them all three are equal); the worst in {single:,} of {runs:,} single runs",
        verdict(holds=not worst, corrected=len(worst) <= total / 100),
    )
    ratios = {survey: each["mle"] / min(each[name] for name in VALID) for survey, each in errors.items()}
    far = max(ratios, key=ratios.__getitem__)
    within = sum(ratio <= CLOSE for ratio in ratios.values())
    yield Claim(
        "MLE* is close to the best in all scenarios",
        "Experiments, box “MLE* as a robust default estimator”; Supplement, discussion of the complete results",
        f"its mean squared error is at most twice that of the best of the three in {within} of {total} configurations, "
        f"and {ratios[far]:.1f} times that of the best at worst ({_at(far)}); “close” is taken as a factor of two",
        verdict(holds=within == total, corrected=ratios[far] <= 3 * CLOSE),
    )
    yield from _by_population(grid, errors)


def _by_population(grid: Grid, errors: Mapping[Survey, Mapping[str, float]]) -> Iterator[Claim]:
    for s, name, regime in (
        (2.5, "inv_p", "high concentration (s = 2.5)"),
        (0.01, "inv_n", "the near-uniform regime (s = 0.01)"),
    ):
        chosen = {survey: each for survey, each in errors.items() if survey.s == s}
        if not chosen:
            continue
        wins = sum(not _beaten(grid[survey], name) for survey in chosen)
        behind = {survey: each[name] / min(each[other] for other in VALID) for survey, each in chosen.items()}
        far = max(behind, key=behind.__getitem__)
        other = "" if wins == len(chosen) else f"; at worst {behind[far]:.2f} times the best, at {_at(far)}"
        yield Claim(
            f"{NAMES[name]} is the best in squared error under {regime}",
            "Experiments, discussion of the overview",
            f"the best of the three, or level with it (not behind by more than two standard errors of the paired "
            f"difference over the seeds), in {wins} of {len(chosen)} configurations{other}",
            verdict(holds=wins == len(chosen), corrected=wins >= len(chosen) / 2),
        )
    middle = {survey: each for survey, each in errors.items() if survey.s not in {0.01, 2.5}}
    curves: dict[tuple[object, ...], list[tuple[int, float]]] = {}
    for survey, each in middle.items():
        difference = math.log(each["inv_p"] / each["inv_n"])
        curves.setdefault(("N", survey.k, survey.epsilon), []).append((survey.n, difference))
        curves.setdefault(("ε", survey.k, survey.n), []).append((survey.epsilon, difference))
    flips = sum(
        min(value for _, value in points) < -EQUAL and max(value for _, value in points) > EQUAL
        for points in curves.values()
    )
    ahead = sum(each["inv_p"] < (1 - EQUAL) * each["inv_n"] for each in middle.values())
    behind_count = sum(each["inv_p"] > (1 + EQUAL) * each["inv_n"] for each in middle.values())
    yield Claim(
        "In between (s = 1.3) the ranking of INVP and INVN flips with ε or N",
        "Introduction; Experiments, discussion of the overview",
        f"INVP is ahead in {ahead} and INVN in {behind_count} of {len(middle)} configurations; the order changes along "
        f"{flips} of {len(curves)} lines on which only N or only ε varies",
        verdict(holds=flips > 0),
    )
    means = {}
    for s in sorted({survey.s for survey in errors}):
        logs = [math.log(each["inv_n"] / each["inv_p"]) for survey, each in errors.items() if survey.s == s]
        means[s] = math.exp(sum(logs) / len(logs))
    said = ", ".join(f"{ratio:.2f} at s = {s:g}" for s, ratio in means.items())
    flattest, steepest = min(means), max(means)
    yield Claim(
        "INVP outperforms INVN on average when the distribution is highly concentrated, and vice versa",
        "Conclusion",
        f"squared error of INVN over that of INVP, geometric mean over the configurations: {said}",
        verdict(holds=means[flattest] < 1 < means[steepest]),
    )


def _bias(grid: Grid) -> Iterator[Claim]:
    total, seeds = len(grid), next(iter(grid)).seeds
    invalid = np.array([(each["inv"].negatives > 0).mean() for each in grid.values()])
    always = int((invalid == 1).sum())
    yield Claim(
        "INV gives negative shares very often; the other three never do",
        "Theoretical comparison, Validity",
        f"INV has a negative share in {invalid.mean():.1%} of all runs, and in every run of {always} of {total} "
        "configurations; the others in "
        f"{sum(int(each[name].negatives.sum()) for each in grid.values() for name in VALID)}",
        verdict(
            holds=invalid.mean() > HALF
            and not any(each[name].negatives.any() for each in grid.values() for name in VALID)
        ),
    )
    yield from _absent(grid)
    ratios = np.array(
        [
            each["inv"].squared_bias * (seeds - 1) / each["inv"].variance
            for each in grid.values()
            if each["inv"].variance > 0
        ]
    )
    error = float(ratios.std(ddof=1)) / len(ratios) ** 0.5
    yield Claim(
        "INV is unbiased",
        "Theoretical comparison, Unbiasedness",
        f"its squared bias over {seeds} seeds, relative to what chance alone leaves, is {ratios.mean():.3f} ± "
        f"{error:.3f} on average over the configurations; 1 is expected of an unbiased estimator",
        verdict(holds=abs(float(ratios.mean()) - 1) <= SIGMAS * error),
    )
    yield from _variances(grid)
    lower = sum(
        int((each["inv_p"].squared_error > (1 + EQUAL) * each["inv"].squared_error).sum()) for each in grid.values()
    )
    yield Claim(
        "The error of INVP is at most twice the norm of that of INV",
        "Supplement, Theorem 9 (consistency)",
        f"the squared error of INVP exceeds that of INV in {lower} of {total * seeds:,} single runs; as a projection "
        "takes no point farther from the points of the simplex, a factor of 1 can be proven",
        verdict(holds=lower == 0),
    )


def _absent(grid: Grid) -> Iterator[Claim]:
    many, few = [], []
    for survey, each in grid.items():
        absent = survey.absent
        if not absent:
            continue
        rate = float(each["inv"].absent_negatives.mean()) / absent
        expected = survey.n * survey.design.q
        if expected >= 10:
            many.append(rate)
        elif expected <= 0.1:
            few.append(rate)
    if not many or not few:
        return
    yield Claim(
        "For an absent answer INV is negative with probability close to 1/2, regardless of N",
        "Theoretical comparison, Validity",
        f"{np.mean(many):.3f} on average where at least 10 false reports of it are expected (Nq ≥ 10, {len(many)} "
        f"configurations), and {np.mean(few):.3f} where Nq ≤ 0.1 ({len(few)} configurations), as INV is negative for "
        "every answer that was not reported",
        verdict(
            holds=max(abs(float(np.mean(rates)) - 0.5) for rates in (many, few)) < 0.1,
            corrected=abs(float(np.mean(many)) - 0.5) < 0.1,
        ),
    )


def _variances(grid: Grid) -> Iterator[Claim]:
    printed, repaired = [], []
    for survey, each in grid.items():
        design, k, n = survey.design, survey.k, survey.n
        q, kappa = design.q, design.p - design.q
        measured = each["inv"].variance * survey.seeds / (survey.seeds - 1)
        formula = k * q * (1 - q) + kappa * (1 - 2 * q - kappa)  # equals p (1-p) + (K-1) q (1-q)
        printed.append(measured * n * kappa / formula)
        repaired.append(measured * n * kappa**2 / formula)
    first, second = _spread(printed), _spread(repaired)
    close = abs(float(np.mean(repaired)) - 1) < SIGMAS * float(np.std(repaired)) / len(repaired) ** 0.5
    yield Claim(
        "The mean squared error of INV is [K q(1-q) + (p-q)(1-2q-(p-q))] / (N (p-q))",
        "Supplement, proof of Theorem 9; from the variance formula (eq. var)",
        f"measured over printed: {first}; with (p-q)² in the denominator: {second} (median, smallest and largest over "
        "the grid)",
        verdict(holds=abs(float(np.mean(printed)) - 1) < 0.05, corrected=close),
    )


def _beyond_iteration(times: Mapping[str, float]) -> Iterator[Claim]:
    timed = [key for key in _timed(times) if f"channel {key}" in times]
    if not timed:
        return
    gains = [times[f"ibu {key}"] / times[f"channel {key}"] for key in timed]
    prices = [times[f"channel {key}"] / times[f"mle {key}"] for key in timed]
    away = max(times[f"channel distance {key}"] for key in timed)
    yield Claim(
        "Is there something between MLE* and IBU for designs without a closed form?",
        "",
        "an interior-point solver that sees nothing but the matrix ends within a squared distance of "
        f"{away:.1e} of MLE*. It takes {min(prices):,.0f} to {max(prices):,.0f} times as long as MLE*, and is "
        f"{min(gains):.2g} to {max(gains):.2g} times as fast as IBU to {NEAR:g} (or all its updates), which has the "
        "short update for randomized response here, and no matrix",
        "yes" if away < NEAR and max(gains) > 1 else "no",
    )


def _spread(values: list[float]) -> str:
    return f"{np.median(values):.3g} ({min(values):.3g} to {max(values):.3g})"


def _beyond_grid(grid: Grid) -> Iterator[Claim]:
    errors = {survey: _mean(outcomes) for survey, outcomes in grid.items()}
    total = len(grid)
    over = {survey: each["mle"] / each["inv"] for survey, each in errors.items()}
    far = max(over, key=over.__getitem__)
    beaten = sum(ratio > ABOVE for ratio in over.values())
    yield Claim(
        "Is MLE* always at least as good as plain INV?",
        "",
        f"its mean squared error exceeds that of INV by more than 5 % in {beaten} of {total} configurations, at most "
        f"{over[far]:.2f} times ({_at(far)})",
        "no" if beaten else "yes",
    )
    yield _bias_between(grid)
    chosen = {
        survey: each["auto"] / min(each[name] for name in VALID) for survey, each in errors.items() if "auto" in each
    }
    if chosen:
        fixed = {
            name: [errors[survey][name] / min(errors[survey][v] for v in VALID) for survey in chosen] for name in VALID
        }
        others = "; ".join(
            f"always {NAMES[name]} {_geometric(values):.2f} ({max(values):.1f})" for name, values in fixed.items()
        )
        own = list(chosen.values())
        yield Claim(
            "Can the estimators be combined? `auto` takes the one with the smallest predicted error for each histogram",
            "Conclusion (future work)",
            f"squared error relative to the best of the three in hindsight, geometric mean over {len(own)} "
            f"configurations of the overview (worst in brackets): auto {_geometric(own):.2f} ({max(own):.1f}); "
            f"{others}",
            "yes" if _geometric(own) < min(_geometric(values) for values in fixed.values()) else "no",
        )


def _bias_between(grid: Grid) -> Claim:
    total, inside, level = len(grid), 0, 0
    for each in grid.values():
        parts = sorted(each[name].squared_bias for name in ("inv_p", "inv_n"))
        inside += parts[0] * (1 - EQUAL) <= each["mle"].squared_bias <= parts[1] * (1 + EQUAL)
        level += parts[1] <= parts[0] * (1 + EQUAL)
    return Claim(
        "Is the bias of MLE*, too, between those of INVP and INVN?",
        "",
        f"its squared bias, chance over {next(iter(grid)).seeds} seeds included, is between the two in {inside} of "
        f"{total} configurations (in {level} all are equal)",
        "yes" if inside == total else "mostly" if inside >= MOSTLY * total else "no",
    )


def _geometric(values: list[float]) -> float:
    return math.exp(sum(math.log(value) for value in values) / len(values))


def _real(real: Real) -> Iterator[Claim]:
    for name, outcomes_of in real.items():
        ordered = sorted(outcomes_of, key=lambda survey: survey.epsilon)
        errors = [_mean(outcomes_of[survey]) for survey in ordered]
        data = ordered[0].histogram
        wins = {
            each: [survey.epsilon for survey, e in zip(ordered, errors, strict=True) if _best(e, each)]
            for each in VALID
        }
        counted = ", ".join(f"{NAMES[each]} at {len(epsilons)}" for each, epsilons in wins.items())
        of = f"of {len(ordered)} values of ε (N = {data.n:,}, K = {data.k:,}; {data.coverage})"
        if name == "kosarak":
            fewer = data.n != SESSIONS
            yield Claim(
                "INVP performs best on Kosarak",
                "Experiments on real-world data",
                f"best or level: {counted} {of}"
                + (f"; N is {data.n / SESSIONS:.1%} of the published one, and the verdict is for that N" * fewer),
                verdict(holds=len(wins["inv_p"]) == len(ordered), corrected=2 * len(wins["inv_p"]) > len(ordered)),
            )
        elif name.startswith("acs"):
            yield Claim(
                f"INVP and INVN alternate on ACSIncome ({name.removeprefix('acs_').upper()})",
                "Experiments on real-world data",
                f"best or level: {counted} {of}; INVP is ahead of INVN at "
                f"{sum(e['inv_p'] < e['inv_n'] for e in errors)}",
                verdict(holds=0 < sum(e["inv_p"] < e["inv_n"] for e in errors) < len(ordered)),
            )
    yield from _real_together(real)


def _real_together(real: Real) -> Iterator[Claim]:
    """Judge on the three columns of the paper; say of other data what was found there."""
    worst = dict.fromkeys(real, 0)
    settings, far = dict(worst), {}
    for name, outcomes_of in real.items():
        errors = {survey.epsilon: _mean(outcomes) for survey, outcomes in outcomes_of.items()}
        worst[name] = sum(_worst(each, "mle") for each in errors.values())
        settings[name] = len(errors)
        ratios = {epsilon: each["mle"] / min(each[v] for v in VALID) for epsilon, each in errors.items()}
        far[name] = max((ratio, epsilon) for epsilon, ratio in ratios.items())
    judged = [name for name in real if name in PUBLISHED]
    others = [name for name in real if name not in PUBLISHED]
    if not judged:
        return
    failures, total = sum(worst[name] for name in judged), sum(settings[name] for name in judged)
    yield Claim(
        "On real data, too, MLE* is never the worst of the three",
        "Experiments on real-world data; Conclusion",
        f"the worst by the mean over the seeds in {failures} of {total} settings"
        + "".join(f"; apart from the paper, {name}: {worst[name]} of {settings[name]}" for name in others),
        verdict(holds=failures == 0, corrected=failures <= total / 20),
    )

    def said(name: str) -> str:
        return f"{name} {far[name][0]:.3g} (at ε = {far[name][1]})"

    largest = max(far[name][0] for name in judged)
    yield Claim(
        "On real data, too, MLE* consistently remains close to the best estimator",
        "Experiments on real-world data",
        f"its mean squared error over that of the best of the three, at worst: {', '.join(map(said, judged))}; “close” "
        "is taken as a factor of two" + "".join(f"; apart from the paper, {said(name)}" for name in others),
        verdict(holds=largest <= CLOSE, corrected=largest <= 3 * CLOSE),
    )


def _theory(checks: Mapping[str, Mapping[str, float]], times: Mapping[str, float]) -> Iterator[Claim]:
    judges: dict[str, Callable[[Mapping[str, float]], Iterator[Claim]]] = {
        "likelihood": _likelihood,
        "uniqueness": _uniqueness,
        "threshold": _threshold,
        "order": _order,
        "smallest": _smallest,
        "divergence": _divergence,
        "collinearity": _collinearity,
        "continuity": _continuity,
        "vertex": _vertex,
        "variance": _variance,
        "consistency": _consistency,
    }
    for name, judge in judges.items():
        if name not in checks:
            continue
        try:
            found = list(judge(checks[name]))
        except KeyError as error:
            raise ValueError(
                f"checks/{name}.parquet in the results is damaged or older (it has no {error}); delete it and run again"
            ) from None
        yield from found
    slopes = {name: times[f"slope {name}"] for name in ESTIMATORS if f"slope {name}" in times}
    if slopes:
        said = ", ".join(f"{NAMES[name]} K^{slope:.2f}" for name, slope in slopes.items())
        yield Claim(
            "MLE* and INVP take O(K log K), INV and INVN O(K)",
            "Table 1; Theoretical comparison, Complexity (which has O(K) for INVP)",
            f"time grows as {said}, from K = {times['slope from']:,.0f} to {times['slope to']:,.0f}, here; counts are "
            "whole numbers, so no sort is needed, and all four are O(K)",
            verdict(holds=max(slopes.values()) < 1.3),
        )


def _likelihood(found: Mapping[str, float]) -> Iterator[Claim]:
    yield Claim(
        "MLE* is the maximum-likelihood estimate",
        "Theorem 1; Supplement, Theorem 7",
        f"on {found['cases']:,.0f} random histograms ({found['with zeros']:,.0f} of them with zeros in the estimate) "
        f"the certificate leaves {found['largest excess']:.1e} at most, and Algorithm 1 as printed agrees within "
        f"{found['largest difference']:.1e}",
        verdict(holds=found["largest excess"] < 1e-12 and found["largest difference"] < 1e-9),
    )


def _uniqueness(found: Mapping[str, float]) -> Iterator[Claim]:
    yield Claim(
        "The MLE is unique",
        "Theorem 1",
        f"IBU from {found['starts']:.0f} random starts ended within {found['largest squared distance to MLE*']:.1e} of "
        f"MLE* in squared distance (K = 20; {found['zeros']:.0f} of its shares at zero)",
        verdict(holds=found["largest squared distance to MLE*"] < 1e-9),
    )


def _threshold(found: Mapping[str, float]) -> Iterator[Claim]:
    yield Claim(
        "After the loop of Algorithm 1 the threshold τ* is the observed share φ of rank i",
        "after Algorithm 1",
        f"of {found['cases']:,.0f} random cases with zeros the threshold of rank i gives MLE* in "
        f"{found['as printed']:,.0f}, that of rank i+1, as the proof sketch has it, in {found['as sketched']:,.0f}",
        verdict(holds=found["as printed"] == found["cases"], corrected=found["as sketched"] == found["cases"]),
    )


def _order(found: Mapping[str, float]) -> Iterator[Claim]:
    ordered = found["out of order"] == 0 and found["apart, though counts are equal"] == 0
    yield Claim(
        "The entries of the MLE are in the order of the observed shares: θ_i ≤ θ_j if and only if φ_i ≤ φ_j",
        "proof sketch of Theorem 1; Supplement, Theorem 6, has the “if” alone",
        f"against “if” {found['out of order']:,.0f} (out of order) and {found['apart, though counts are equal']:,.0f} "
        f"(equal observed shares, different estimates) of {found['cases']:,.0f} random cases; against “only if” "
        f"(different observed shares, equal estimates, as zeros are) {found['tied, though counts differ']:,.0f}",
        verdict(
            holds=ordered and found["tied, though counts differ"] == 0,
            corrected=ordered,
        ),
    )
    yield Claim(
        "Renaming the answers renames the MLE",
        "Supplement, Theorem 5 (permutations)",
        f"different in {found['moved']:,.0f} of {found['cases']:,.0f} random cases",
        verdict(holds=found["moved"] == 0),
    )


def _smallest(found: Mapping[str, float]) -> Iterator[Claim]:
    repair = (
        "; λ falls with n, as Lemma 3(c) has it, but the ratio in δ_i is upside down in print: it is λ with n zeros "
        "over λ with n-1, hence at most 1. The proof needs another line: the estimate with n-1 zeros maximizes the "
        "likelihood over a set that contains the one with n"
    )
    yield Claim(
        "The number n of zeros is as small as possible, as every term δ_i of its proof is at least 0",
        "Supplement, Lemma 4",
        f"in {found['steps']:,.0f} steps from n-1 to n the likelihood rose {found['worse']:,.0f} times; a δ_i with i > "
        "n "
        f"was negative in {found['with a negative term']:,.0f} of them" + repair * (found["with a negative term"] > 0),
        verdict(
            holds=found["worse"] == 0 and found["with a negative term"] == 0,
            corrected=found["worse"] == 0,
        ),
    )


def _divergence(found: Mapping[str, float]) -> Iterator[Claim]:
    yield Claim(
        "Maximizing the likelihood is minimizing the Kullback-Leibler divergence from the observed shares",
        "Supplement, Theorem 3",
        f"ranks by both disagree in {found['disagreements']:,.0f} of {found['cases']:,.0f} random cases; the two "
        f"differ by the entropy of the observed shares, within {found['largest difference']:.1e}",
        verdict(holds=found["disagreements"] == 0),
    )


def _collinearity(found: Mapping[str, float]) -> Iterator[Claim]:
    yield Claim(
        "With one share below q and the next large enough, INVP, MLE* and INVN are on a line, MLE* in the middle",
        "Theorem 2; Supplement, Theorem 8",
        f"in {found['cases']:,.0f} random cases INVN - INVP = t (MLE* - INVP) within {found['residual']:.1e}, and t ≥ "
        f"{found['smallest t']:.3f} > 1",
        verdict(holds=found["residual"] < 1e-9 and found["smallest t"] > 1),
    )


def _continuity(found: Mapping[str, float]) -> Iterator[Claim]:
    largest = max(found[name] for name in ESTIMATORS)
    yield Claim(
        "The four estimators are continuous",
        "Supplement, Lemma 5",
        f"moving one report moved each of them, in the sum of absolute differences, by at most {largest:.3f} times "
        "2/(N(p-q)); a proof has 1 as the bound, so that they are even Lipschitz",
        verdict(holds=largest <= 1 + EQUAL),
    )


def _vertex(found: Mapping[str, float]) -> Iterator[Claim]:
    biased = all(found[f"{name} mean"] + SIGMAS * found[f"{name} error"] < 1 for name in VALID)
    unbiased = abs(found["inv mean"] - 1) <= SIGMAS * found["inv error"]
    said = ", ".join(f"{NAMES[name]} {found[f'{name} mean']:.4f}" for name in ESTIMATORS)
    yield Claim(
        "Where everybody holds one answer the valid estimators are biased, and INV is not",
        "Theoretical comparison, Unbiasedness",
        f"mean estimate of that answer’s share, truly 1: {said} (standard errors below {found['inv error']:.4f}, K = "
        "10, ε = 1)",
        verdict(holds=biased and unbiased),
    )
    reported = found["reported"]
    yield Claim(
        "There the observed shares scatter around (p-q, q, …, q)",
        "Theoretical comparison, Unbiasedness (example)",
        f"the share of reports of that answer is {reported:.4f} on average; p - q = {found['p - q']:.4f}, p = "
        f"{found['p']:.4f}",
        verdict(holds=abs(reported - found["p - q"]) < 0.01, corrected=abs(reported - found["p"]) < 0.01),
    )


def _variance(found: Mapping[str, float]) -> Iterator[Claim]:
    tolerance = SIGMAS * found["relative error"]

    def near(measured: str, formula: str) -> bool:
        return abs(found[measured] / found[formula] - 1) < tolerance

    yield Claim(
        "Var(INV_i) = q(1-q)/(N(p-q)) + θ_i (p-q)(1-2q-(p-q))/(N(p-q)), as the observed counts are multinomial",
        "eq. (var)",
        f"measured {found['people drawn']:.5f} with people drawn at random and {found['people given']:.5f} with given "
        f"people; as printed {found['printed']:.5f}; with (p-q)² below {found['repaired']:.5f}, which is the variance "
        f"for given people; the multinomial one, φ(1-φ)/(N(p-q)²), is {found['multinomial']:.5f} (K = 5, ε = 1.2, N = "
        "400, θ = 1/2)",
        verdict(
            holds=near("people drawn", "printed"),
            corrected=near("people given", "repaired") and near("people drawn", "multinomial"),
        ),
    )


def _consistency(found: Mapping[str, float]) -> Iterator[Claim]:
    slopes, ends = {}, {}
    for name in ESTIMATORS:
        errors = [found[f"{name} squared error at N=1e{exponent}"] for exponent in (8, 10, 12)]
        slopes[name] = (math.log10(errors[-1]) - math.log10(errors[0])) / 4
        ends[name] = found[f"{name} total variation at N=1e12"]
    said = ", ".join(f"{NAMES[name]} N^{slope:.2f}" for name, slope in slopes.items())
    yield Claim(
        "All four estimators are consistent: squared error and total variation go to 0 as N grows",
        "Theoretical comparison, MSE, TV and consistency; Supplement, Theorem 9",
        f"squared error falls as {said} from N = 10^8 to 10^12 (K = 100, ε = 1, s = 1.3); total variation at N = 10^12 "
        f"is {max(ends.values()):.1e} at most",
        verdict(holds=all(abs(slope + 1) < 0.1 for slope in slopes.values()) and max(ends.values()) < 1e-3),
    )
    sizes = (10, 100, 1_000, 10_000)
    errors = [found[f"inv squared error at K={k}"] for k in sizes]
    slope = float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])
    yield Claim(
        "The rate is O(K/N)",
        "Theoretical comparison, MSE, TV and consistency; Supplement, Theorem 9",
        f"for fixed ε the squared error of INV grows as K^{slope:.2f} (K = 10 to 10,000, ε = 1, N = 10^9); with p - q "
        f"about (e^ε - 1)/K, theory has K²/(N (e^ε - 1)²). The squared error falls with N as N^{slopes['inv']:.2f}, "
        f"hence the norm, of which the proof speaks, as N^{slopes['inv'] / 2:.2f}",
        verdict(holds=slope < 1.1, corrected=abs(slope - 2) < 0.1),
    )


def _iteration(ibu: Mapping[Descent, Path], times: Mapping[str, float]) -> Iterator[Claim]:
    medians = {one: np.median(path.squared_distance, axis=-1) for one, path in ibu.items()}
    falling = all((np.diff(median) <= 1e-9).all() for median in medians.values())
    arrived = sum(bool(median[-1] <= median[0] / 100) for median in medians.values())
    worst = max(medians, key=lambda one: float(medians[one][-1]))
    yield Claim(
        "The error of IBU against MLE* converges to 0",
        "The exact MLE vs. IBU’s approximation",
        f"its median over the runs {'never rises' if falling else 'rises at times'}, and falls to a hundredth of the "
        f"first or less within {worst.steps:,} updates in {arrived} of {len(medians)} settings; in the slowest (s = "
        f"{worst.s:g}, n = {worst.n:,}, ε = {worst.epsilon:g}) it is still {medians[worst][-1]:.1e} of "
        f"{medians[worst][0]:.1e} then",
        # The paper itself says that 40,000 updates are not enough for some of them.
        verdict(holds=falling and all(bool(median[-1] <= median[0] / 2) for median in medians.values())),
    )
    yield from _steps(ibu)
    ratios = {key: times[f"ibu {key}"] / times[f"mle {key}"] for key in _timed(times)}
    if ratios:
        fast, slow = max(ratios.values()), min(ratios.values())
        key = max(ratios, key=ratios.__getitem__)
        yield Claim(
            "MLE* is significantly more efficient than IBU",
            "Introduction, contribution 2; The exact MLE vs. IBU’s approximation",
            f"IBU to a squared distance of {NEAR:g} (or all its updates) takes {slow:,.0f} to {fast:,.0f} times as "
            f"long as the exact MLE*: {times[f'ibu {key}']:.2f} s against {1e6 * times[f'mle {key}']:,.0f} µs at {key}",
            verdict(holds=slow > 1),
        )


def _steps(ibu: Mapping[Descent, Path]) -> Iterator[Claim]:
    for (n, epsilon), printed in PRINTED_STEPS.items():
        said, agree = [], []
        for one, path in ibu.items():
            if (one.n, one.epsilon) != (n, epsilon):
                continue
            middle = float(np.median(np.where(path.reached < 0, np.inf, path.reached)))
            measured = f"more than {one.steps:,}" if math.isinf(middle) else f"{middle:,.0f}"
            said.append(f"{measured} at s = {one.s:g} (median of {one.runs} runs)")
            agree.append(math.isinf(middle) if math.isinf(printed) else printed / 2 <= middle <= 2 * printed)
        if not said:
            continue
        text = "more than 40,000" if math.isinf(printed) else f"about {printed:,}"
        yield Claim(
            f"IBU needs {text} updates at n = {n:,} and ε = {epsilon:g}",
            "The exact MLE vs. IBU’s approximation",
            f"to a squared distance below {NEAR:g}: {', '.join(said)}; the text names neither distance nor s, so a "
            "factor of two counts as agreement",
            verdict(holds=all(agree), corrected=any(agree)),
        )


def _timed(times: Mapping[str, float]) -> list[str]:
    return [name.removeprefix("ibu ") for name in times if name.startswith("ibu ")]


def _arithmetic() -> Iterator[Claim]:
    """Judge what a calculation decides."""
    wrong, better, tried, gain = 0, 0, 0, 1.0
    where = (0.0, 0)
    for epsilon in np.arange(0.25, 6.01, 0.25):
        e = math.exp(epsilon)
        for k in range(2, 1_001):
            direct = (e + k - 2) / (e - 1) ** 2  # N times the variance of INV for an absent answer
            unary = 4 * e / (e - 1) ** 2
            wrong += (direct < unary) != (k < 3 * e + 2)
            if k < 3 * e + 2:
                tried += 1
                subset = min(_subset_selection(k, size, e) for size in _sizes(k, e))
                if subset < direct * (1 - EQUAL):
                    better += 1
                    if direct / subset > gain:
                        gain, where = direct / subset, (float(epsilon), k)
    yield Claim(
        "RR is optimal among all LDP mechanisms whenever K < 3e^ε + 2",
        "Introduction",
        f"that is where its variance for an absent answer falls below that of optimized unary encoding ({wrong} "
        "exceptions for ε = 0.25 to 6, K to 1,000). Among all mechanisms: subset selection has a smaller one in "
        f"{better:,} of {tried:,} such cases, by a factor of up to {gain:.2f} (ε = {where[0]:g}, K = {where[1]})",
        verdict(holds=wrong == 0 and better == 0, corrected=wrong == 0),
    )
    printed = 70_201, 1_423_000
    codes, dollars = len(range(100, 70_301 + 1)), len(range(100, 1_423_000 + 1))
    yield Claim(
        "PUMA codes from 100 to 70,301 give K = 70,201; incomes from 100 to 1,423,000 give K = 1,423,000",
        "Experiments on real-world data",
        f"by counting, {codes:,} and {dollars:,} values; in the published code K is a number of equal bins",
        verdict(
            holds=(codes, dollars) == printed,
            # Miscounted, not mistaken: a thousandth at most.
            corrected=all(abs(n / text - 1) < 1e-3 for n, text in zip((codes, dollars), printed, strict=True)),
        ),
    )


def _sizes(k: int, e: float) -> set[int]:
    size = k / (e + 1)
    return {max(1, math.floor(size)), max(1, math.ceil(size))}


def _subset_selection(k: int, size: int, e: float) -> float:
    """Give N times the variance of an absent answer's share under subset selection, with sets of this size."""
    if size >= k:
        return math.inf
    scale = size * e + k - size
    p = size * e / scale
    q = size * (e * (size - 1) + k - size) / ((k - 1) * scale)
    return q * (1 - q) / (p - q) ** 2


def complexity(largest: int) -> dict[str, float]:
    """Time each estimator as K grows, with one report for each answer on average, and fit the power of K."""
    found: dict[str, float] = {}
    sizes = np.geomspace(largest / 64, largest, 4).astype(int)
    seconds: dict[str, list[float]] = {name: [] for name in ESTIMATORS}
    for k in sizes.tolist():
        design = RandomizedResponse(k, epsilon=2)
        counts = reports_of_population(zipf(k, 1.3), k, design, rng=np.random.default_rng(1))
        for name, estimator in ESTIMATORS.items():
            seconds[name].append(min(_seconds(estimator, counts, design) for _ in range(5)))
    for name, taken in seconds.items():
        found[f"slope {name}"] = float(np.polyfit(np.log(sizes), np.log(taken), 1)[0])
    return found | {"slope from": float(sizes[0]), "slope to": float(sizes[-1])}


def _seconds(
    estimator: Callable[[NDArray[np.int64], RandomizedResponse], object],
    counts: NDArray[np.int64],
    design: RandomizedResponse,
) -> float:
    start = time.perf_counter()
    estimator(counts, design)
    return time.perf_counter() - start


def markdown(found: list[Claim], more: list[Claim], note: str) -> str:
    """Write the claims as a Markdown page."""
    counts = {word: sum(claim.verdict == word for claim in found) for word in (HOLDS, CORRECTED, FAILS)}
    summary = ", ".join(
        f"{number} {word.replace('holds', 'hold').replace('does not', 'do not')}" for word, number in counts.items()
    )
    lines = [
        "# The claims of the paper, checked",
        "",
        "C. A. Pinzón et al., *Estimating the True Distribution of Data Collected with Randomized Response*, 2026.",
        f"{len(found)} statements: {summary}.",
        "",
        note,
        "",
        "| statement | where | measured | verdict |",
        "| --- | --- | --- | --- |",
        *(
            f"| {_cell(one.statement)} | {_cell(one.place)} | {_cell(one.measured)} | **{one.verdict}** |"
            for one in found
        ),
    ]
    if more:
        lines += ["", "## Beyond the paper", "", "| question | measured | answer |", "| --- | --- | --- |"]
        lines += [f"| {_cell(one.statement)} | {_cell(one.measured)} | **{one.verdict}** |" for one in more]
    lines += ["", "## Misprints", "", MISPRINTS_NOTE, ""]
    lines += [f"- {place}: {text}" for place, text in MISPRINTS]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
