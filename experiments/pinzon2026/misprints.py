"""Misprints of the paper and slips of its published code."""

from __future__ import annotations

MISPRINTS_NOTE = (
    "Slips that a reader who checks the formulas or runs the published code may stumble over, and that no claim above "
    "mentions. None of the theorems depends on them."
)
# Where, and what is wrong there.
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
