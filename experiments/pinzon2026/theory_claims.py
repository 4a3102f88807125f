"""Claims on theory: theorems, lemmas and formulas, judged by the numbers of `theorems`.

A check at random cases can refute a theorem but not prove it: where it finds nothing, the statement holds as far as it
was tried.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from experiments.pinzon2026.methods import ESTIMATORS, METHOD_LABELS, VALID_METHODS
from experiments.pinzon2026.verdicts import EQUAL_ERRORS, SAMPLING_ERRORS, Claim, verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


def theory_claims(checks: Mapping[str, Mapping[str, float]]) -> Iterator[Claim]:
    """Judge every statement whose check was made."""
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
            judged = list(judge(checks[name]))
        except KeyError as error:
            raise ValueError(
                f"checks/{name}.parquet in the results is damaged or older (it has no {error}); delete it and run again"
            ) from None
        yield from judged


def _likelihood(numbers: Mapping[str, float]) -> Iterator[Claim]:
    yield Claim(
        "MLE* is the maximum-likelihood estimate",
        "Theorem 1; Supplement, Theorem 7",
        f"on {numbers['cases']:,.0f} random histograms ({numbers['with zeros']:,.0f} of them with zeros in the "
        f"estimate) the certificate leaves {numbers['largest excess']:.1e} at most, and Algorithm 1 as printed agrees "
        f"within {numbers['largest difference']:.1e}",
        verdict(holds=numbers["largest excess"] < 1e-12 and numbers["largest difference"] < 1e-9),
    )


def _uniqueness(numbers: Mapping[str, float]) -> Iterator[Claim]:
    distance = numbers["largest squared distance to MLE*"]
    yield Claim(
        "The MLE is unique",
        "Theorem 1",
        f"IBU from {numbers['starts']:.0f} random starts ended within {distance:.1e} of MLE* in squared distance "
        f"(K = 20; {numbers['zeros']:.0f} of its shares at zero)",
        verdict(holds=distance < 1e-9),
    )


def _threshold(numbers: Mapping[str, float]) -> Iterator[Claim]:
    yield Claim(
        "After the loop of Algorithm 1 the threshold τ* is the observed share φ of rank i",
        "after Algorithm 1",
        f"of {numbers['cases']:,.0f} random cases with zeros the threshold of rank i gives MLE* in "
        f"{numbers['as printed']:,.0f}, that of rank i+1, as the proof sketch has it, in {numbers['as sketched']:,.0f}",
        verdict(holds=numbers["as printed"] == numbers["cases"], corrected=numbers["as sketched"] == numbers["cases"]),
    )


def _order(numbers: Mapping[str, float]) -> Iterator[Claim]:
    out_of_order, apart = numbers["out of order"], numbers["apart, though counts are equal"]
    tied = numbers["tied, though counts differ"]
    ordered = out_of_order == 0 and apart == 0
    yield Claim(
        "The entries of the MLE are in the order of the observed shares: θ_i ≤ θ_j if and only if φ_i ≤ φ_j",
        "proof sketch of Theorem 1; Supplement, Theorem 6, has the “if” alone",
        f"against “if” {out_of_order:,.0f} (out of order) and {apart:,.0f} (equal observed shares, different "
        f"estimates) of {numbers['cases']:,.0f} random cases; against “only if” (different observed shares, equal "
        f"estimates, as zeros are) {tied:,.0f}",
        verdict(holds=ordered and tied == 0, corrected=ordered),
    )
    yield Claim(
        "Renaming the answers renames the MLE",
        "Supplement, Theorem 5 (permutations)",
        f"different in {numbers['moved']:,.0f} of {numbers['cases']:,.0f} random cases",
        verdict(holds=numbers["moved"] == 0),
    )


def _smallest(numbers: Mapping[str, float]) -> Iterator[Claim]:
    worse, negative = numbers["worse"], numbers["with a negative term"]
    repair = (
        "; λ falls with n, as Lemma 3(c) has it, but the ratio in δ_i is upside down in print: it is λ with n zeros "
        "over λ with n-1, hence at most 1. The proof needs another line: the estimate with n-1 zeros maximizes the "
        "likelihood over a set that contains the one with n"
    )
    yield Claim(
        "The number n of zeros is as small as possible, as every term δ_i of its proof is at least 0",
        "Supplement, Lemma 4",
        f"in {numbers['steps']:,.0f} steps from n-1 to n the likelihood rose {worse:,.0f} times; a δ_i with i > n was "
        f"negative in {negative:,.0f} of them" + (repair if negative else ""),
        verdict(holds=worse == 0 and negative == 0, corrected=worse == 0),
    )


def _divergence(numbers: Mapping[str, float]) -> Iterator[Claim]:
    yield Claim(
        "Maximizing the likelihood is minimizing the Kullback-Leibler divergence from the observed shares",
        "Supplement, Theorem 3",
        f"ranks by both disagree in {numbers['disagreements']:,.0f} of {numbers['cases']:,.0f} random cases; the two "
        f"differ by the entropy of the observed shares, within {numbers['largest difference']:.1e}",
        verdict(holds=numbers["disagreements"] == 0),
    )


def _collinearity(numbers: Mapping[str, float]) -> Iterator[Claim]:
    yield Claim(
        "With one share below q and the next large enough, INVP, MLE* and INVN are on a line, MLE* in the middle",
        "Theorem 2; Supplement, Theorem 8",
        f"in {numbers['cases']:,.0f} random cases INVN - INVP = t (MLE* - INVP) within {numbers['residual']:.1e}, and "
        f"t ≥ {numbers['smallest t']:.3f} > 1",
        verdict(holds=numbers["residual"] < 1e-9 and numbers["smallest t"] > 1),
    )


def _continuity(numbers: Mapping[str, float]) -> Iterator[Claim]:
    largest = max(numbers[name] for name in ESTIMATORS)
    yield Claim(
        "The four estimators are continuous",
        "Supplement, Lemma 5",
        f"moving one report moved each of them, in the sum of absolute differences, by at most {largest:.3f} times "
        "2/(N(p-q)); a proof has 1 as the bound, so that they are even Lipschitz",
        verdict(holds=largest <= 1 + EQUAL_ERRORS),
    )


def _vertex(numbers: Mapping[str, float]) -> Iterator[Claim]:
    biased = all(numbers[f"{name} mean"] + SAMPLING_ERRORS * numbers[f"{name} error"] < 1 for name in VALID_METHODS)
    unbiased = abs(numbers["inv mean"] - 1) <= SAMPLING_ERRORS * numbers["inv error"]
    means = ", ".join(f"{METHOD_LABELS[name]} {numbers[f'{name} mean']:.4f}" for name in ESTIMATORS)
    yield Claim(
        "Where everybody holds one answer the valid estimators are biased, and INV is not",
        "Theoretical comparison, Unbiasedness",
        f"mean estimate of that answer’s share, truly 1: {means} (standard errors below {numbers['inv error']:.4f}, "
        "K = 10, ε = 1)",
        verdict(holds=biased and unbiased),
    )
    reported = numbers["reported"]
    yield Claim(
        "There the observed shares scatter around (p-q, q, …, q)",
        "Theoretical comparison, Unbiasedness (example)",
        f"the share of reports of that answer is {reported:.4f} on average; p - q = {numbers['p - q']:.4f}, p = "
        f"{numbers['p']:.4f}",
        verdict(holds=abs(reported - numbers["p - q"]) < 0.01, corrected=abs(reported - numbers["p"]) < 0.01),
    )


def _variance(numbers: Mapping[str, float]) -> Iterator[Claim]:
    tolerance = SAMPLING_ERRORS * numbers["relative error"]

    def near(measured: str, formula: str) -> bool:
        return abs(numbers[measured] / numbers[formula] - 1) < tolerance

    yield Claim(
        "Var(INV_i) = q(1-q)/(N(p-q)) + θ_i (p-q)(1-2q-(p-q))/(N(p-q)), as the observed counts are multinomial",
        "eq. (var)",
        f"measured {numbers['people drawn']:.5f} with people drawn at random and {numbers['people given']:.5f} with "
        f"given people; as printed {numbers['printed']:.5f}; with (p-q)² below {numbers['repaired']:.5f}, which is the "
        f"variance for given people; the multinomial one, φ(1-φ)/(N(p-q)²), is {numbers['multinomial']:.5f} (K = 5, "
        "ε = 1.2, N = 400, θ = 1/2)",
        verdict(
            holds=near("people drawn", "printed"),
            corrected=near("people given", "repaired") and near("people drawn", "multinomial"),
        ),
    )


def _consistency(numbers: Mapping[str, float]) -> Iterator[Claim]:
    slopes, ends = {}, {}
    for name in ESTIMATORS:
        errors = [numbers[f"{name} squared error at N=1e{exponent}"] for exponent in (8, 10, 12)]
        slopes[name] = (math.log10(errors[-1]) - math.log10(errors[0])) / 4
        ends[name] = numbers[f"{name} total variation at N=1e12"]
    rates = ", ".join(f"{METHOD_LABELS[name]} N^{slope:.2f}" for name, slope in slopes.items())
    yield Claim(
        "All four estimators are consistent: squared error and total variation go to 0 as N grows",
        "Theoretical comparison, MSE, TV and consistency; Supplement, Theorem 9",
        f"squared error falls as {rates} from N = 10^8 to 10^12 (K = 100, ε = 1, s = 1.3); total variation at N = "
        f"10^12 is {max(ends.values()):.1e} at most",
        verdict(holds=all(abs(slope + 1) < 0.1 for slope in slopes.values()) and max(ends.values()) < 1e-3),
    )
    sizes = (10, 100, 1_000, 10_000)
    errors = [numbers[f"inv squared error at K={k}"] for k in sizes]
    slope = float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])
    yield Claim(
        "The rate is O(K/N)",
        "Theoretical comparison, MSE, TV and consistency; Supplement, Theorem 9",
        f"for fixed ε the squared error of INV grows as K^{slope:.2f} (K = 10 to 10,000, ε = 1, N = 10^9); with p - q "
        f"about (e^ε - 1)/K, theory has K²/(N (e^ε - 1)²). The squared error falls with N as N^{slopes['inv']:.2f}, "
        f"hence the norm, of which the proof speaks, as N^{slopes['inv'] / 2:.2f}",
        verdict(holds=slope < 1.1, corrected=abs(slope - 2) < 0.1),
    )
