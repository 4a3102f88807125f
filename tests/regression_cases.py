"""Fits of the reference cases, made once."""

from __future__ import annotations

from functools import cache
from typing import Any

from cases import DICE, THREE
from references import reference
from warner import surveys
from warner.regression.regressions import regress

REFERENCE = reference("regression")
CASES = {
    "A_binary_forced_response": (["x", "d"], DICE),
    "B_three_answers": (["x", "d"], THREE),
    "D_infinite": (["g"], DICE),
    "H_false_optimum": (["x"], surveys.warner("3/4")),
}


def people_of(name: str) -> dict[str, list[Any]]:
    """Return the table of a case as columns: a row for each covariate row and report, with its frequency."""
    covariates, design = CASES[name]
    columns: dict[str, list[Any]] = {column: [] for column in (*covariates, "answer", "people")}
    for row in REFERENCE[name]["rows"]:
        for label, count in zip(design.domain, row[len(covariates) :], strict=True):
            for column, value in zip(columns, [*row[: len(covariates)], label, count], strict=True):
                columns[column].append(value)
    return columns


@cache
def fit_of(letter: str, **options: Any) -> Any:
    """Fit the model of a case, by the letter that its name begins with."""
    name = next(name for name in CASES if name.startswith(letter))
    covariates, design = CASES[name]
    if letter == "B" and "model" not in options:
        options = {"reference": "never", **options}
    return regress("answer ~ " + " + ".join(covariates), people_of(name), design, counts="people", **options)
