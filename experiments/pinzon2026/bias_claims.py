"""Claims on negative shares, bias and variance over the grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments.pinzon2026.methods import VALID_METHODS
from experiments.pinzon2026.verdicts import EQUAL_ERRORS, SAMPLING_ERRORS, Claim, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from experiments.pinzon2026.grid import Grid

PART_CALLED_MOSTLY = 0.9  # of the configurations


def bias_claims(grid: Grid) -> Iterator[Claim]:
    """Judge what the paper says on validity, bias and variance."""
    if not grid:
        return
    yield _negative_shares(grid)
    yield from _negative_absent_shares(grid)
    yield _unbiased(grid)
    yield variance_formula(grid)
    yield _projection_bound(grid)


def _negative_shares(grid: Grid) -> Claim:
    invalid = np.array([(outcomes["inv"].negatives > 0).mean() for outcomes in grid.values()])
    always = int((invalid == 1).sum())
    others = sum(int(outcomes[name].negatives.sum()) for outcomes in grid.values() for name in VALID_METHODS)
    return Claim(
        "INV gives negative shares very often; the other three never do",
        "Theoretical comparison, Validity",
        f"INV has a negative share in {invalid.mean():.1%} of all runs, and in every run of {always} of {len(grid)} "
        f"configurations; the others in {others}",
        verdict(holds=invalid.mean() > 0.5 and others == 0),
    )


def _negative_absent_shares(grid: Grid) -> Iterator[Claim]:
    many, few = [], []  # rates of negative shares, where many or hardly any false reports of an answer are expected
    for survey, outcomes in grid.items():
        absent = survey.absent
        if not absent:
            continue
        rate = float(outcomes["inv"].absent_negatives.mean()) / absent
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


def _unbiased(grid: Grid) -> Claim:
    seeds = next(iter(grid)).seeds
    # Of an unbiased estimator the squared bias over R seeds is, on average, 1/R of the variance.
    ratios = np.array(
        [
            outcomes["inv"].squared_bias * (seeds - 1) / outcomes["inv"].variance
            for outcomes in grid.values()
            if outcomes["inv"].variance > 0
        ]
    )
    standard_error = float(ratios.std(ddof=1)) / len(ratios) ** 0.5
    return Claim(
        "INV is unbiased",
        "Theoretical comparison, Unbiasedness",
        f"its squared bias over {seeds} seeds, relative to what chance alone leaves, is {ratios.mean():.3f} ± "
        f"{standard_error:.3f} on average over the configurations; 1 is expected of an unbiased estimator",
        verdict(holds=abs(float(ratios.mean()) - 1) <= SAMPLING_ERRORS * standard_error),
    )


def variance_formula(grid: Grid) -> Claim:
    """Compare the variance of INV with the formula as printed, and with p - q squared in its denominator."""
    printed, repaired = [], []
    for survey, outcomes in grid.items():
        design, k, n = survey.design, survey.k, survey.n
        q, kappa = design.q, design.p - design.q
        measured = outcomes["inv"].variance * survey.seeds / (survey.seeds - 1)
        formula = k * q * (1 - q) + kappa * (1 - 2 * q - kappa)  # equals p (1-p) + (K-1) q (1-q)
        printed.append(measured * n * kappa / formula)
        repaired.append(measured * n * kappa**2 / formula)
    standard_error = float(np.std(repaired)) / len(repaired) ** 0.5
    return Claim(
        "The mean squared error of INV is [K q(1-q) + (p-q)(1-2q-(p-q))] / (N (p-q))",
        "Supplement, proof of Theorem 9; from the variance formula (eq. var)",
        f"measured over printed: {_range(printed)}; with (p-q)² in the denominator: {_range(repaired)} (median, "
        "smallest and largest over the grid)",
        verdict(
            holds=abs(float(np.mean(printed)) - 1) < 0.05,
            corrected=abs(float(np.mean(repaired)) - 1) < SAMPLING_ERRORS * standard_error,
        ),
    )


def _range(values: list[float]) -> str:
    return f"{np.median(values):.3g} ({min(values):.3g} to {max(values):.3g})"


def _projection_bound(grid: Grid) -> Claim:
    farther = sum(
        int((outcomes["inv_p"].squared_error > (1 + EQUAL_ERRORS) * outcomes["inv"].squared_error).sum())
        for outcomes in grid.values()
    )
    return Claim(
        "The error of INVP is at most twice the norm of that of INV",
        "Supplement, Theorem 9 (consistency)",
        f"the squared error of INVP exceeds that of INV in {farther} of {len(grid) * next(iter(grid)).seeds:,} single "
        "runs; as a projection takes no point farther from the points of the simplex, a factor of 1 can be proven",
        verdict(holds=farther == 0),
    )


def bias_finding(grid: Grid) -> Claim:
    """Test whether the bias of MLE*, too, is between those of INVP and INVN."""
    inside, level = 0, 0
    for outcomes in grid.values():
        smaller, larger = sorted(outcomes[name].squared_bias for name in ("inv_p", "inv_n"))
        inside += smaller * (1 - EQUAL_ERRORS) <= outcomes["mle"].squared_bias <= larger * (1 + EQUAL_ERRORS)
        level += larger <= smaller * (1 + EQUAL_ERRORS)
    return Claim(
        "Is the bias of MLE*, too, between those of INVP and INVN?",
        "",
        f"its squared bias, chance over {next(iter(grid)).seeds} seeds included, is between the two in {inside} of "
        f"{len(grid)} configurations (in {level} all are equal)",
        "yes" if inside == len(grid) else "mostly" if inside >= PART_CALLED_MOSTLY * len(grid) else "no",
    )
