"""Predicted mean squared error of estimators, by simulation on a plausible population; the choice `auto`.

The best closed form depends on the unknown truth. Surveys drawn from a plausible population compare them.

For many answers, `shrink` learns the shape of the population from the reports, with a lower error than the best of the
three in hindsight, on average and in the worst case found (docs/explanation/choosing-an-estimator.md). So
``method="auto"`` is `shrink` for one symmetric design with 20 answers or more, and the choice by predicted errors
elsewhere. Fewer than 20 answers show little about the population.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.estimators import METHODS, NEAREST
from warner.estimators.methods import SHRUNK, many_answers
from warner.estimators.projections import refuse_incomplete
from warner.metrics import squared_error_sum
from warner.reports.counts import Histograms, checked
from warner.simulate import seeded_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike

    from warner.arrays import Array, Counts, Integers
    from warner.designs.contract import Design
    from warner.estimators.likelihood import Parts
    from warner.reports.tallies import Collected, Tally

METHODS_COMPARED = ("mle", "inv_p", "inv_n")  # in the order in which ties are broken
SIMULATED_SURVEYS = 20
SIMULATED_COUNTS_AT_ONCE = 2**20  # counts of simulated surveys held at a time
GROUPS_PREDICTED = 5  # groups whose predicted errors are shown
SQUARED_ERROR_ROUNDING = 1e-28  # a squared error below this is that of rounding


def predicted_errors(
    shares: ArrayLike,
    collections: Sequence[tuple[Design, int]],
    *,
    rng: np.random.Generator,
    surveys: int = SIMULATED_SURVEYS,
    methods: Sequence[str] = METHODS_COMPARED,
) -> dict[str, float]:
    """Predict each applicable estimator's mean squared error, summed over the answers, by drawing surveys."""
    truth = np.asarray(shares, dtype=np.float64)[np.newaxis]
    sizes = [np.array([n]) for _, n in collections]
    drawn = _surveys(truth, [design for design, _ in collections], sizes, [rng], surveys)
    return {name: float(errors[0]) for name, errors in _errors(truth, drawn, methods).items()}


def _surveys(
    truths: Array,
    designs: Sequence[Design],
    people: Sequence[Integers],
    generators: Iterable[np.random.Generator],
    surveys: int,
) -> Parts:
    """Draw surveys of each population with its own generator; those of one population are consecutive rows."""
    drawn: list[list[Counts]] = [[] for _ in designs]
    for truth, generator, *sizes in zip(truths, generators, *people, strict=True):
        for counts, design, n in zip(drawn, designs, sizes, strict=True):
            counts.append(design.simulate(truth, int(n), rng=generator, size=surveys))
    rows = [np.concatenate(counts) for counts in drawn]
    return [
        (design, Histograms(counts, np.repeat(n, surveys), counts.max(initial=0)))
        for design, counts, n in zip(designs, rows, people, strict=True)
    ]


def _errors(truths: Array, drawn: Parts, methods: Sequence[str]) -> dict[str, Array]:
    """Return the mean squared error of each applicable estimator, for each population."""
    counts_suffice = all(design.law.exclusive for design, _ in drawn)
    errors = {}
    for name in (name for name in methods if METHODS[name].applies(to_likelihood=counts_suffice)):
        shares = METHODS[name].solve(drawn).shares.reshape(len(truths), -1, truths.shape[-1])
        mean = squared_error_sum(shares, truths[:, np.newaxis]).mean(axis=-1)
        errors[name] = np.where(mean > SQUARED_ERROR_ROUNDING, mean, 0.0)
    return errors


class Choice(NamedTuple):
    """Chosen estimator, and the predicted errors; none where `shrink` is chosen by rule."""

    method: str
    errors: dict[str, float]


def choice(
    counts: ArrayLike, design: Design, *, n: float | None = None, rng: np.random.Generator | None = None
) -> Choice:
    """Choose the closed form with the smallest predicted error for these reports.

    Surveys are drawn from the estimate of `inv_p`. Without `n`, the number of reports is the sum of the counts; without
    `rng`, the seed follows from the counts.
    """
    histogram = checked(counts, design, None if design.law.exclusive else n).rows()
    people = float(histogram.n[0] if n is None else n)
    (chosen,) = choices_for([(design, histogram)], [np.array([people])], rng=rng)
    return chosen


def choices_for(parts: Parts, people: Sequence[Array], *, rng: np.random.Generator | None = None) -> list[Choice]:
    """Choose for each of several groups, independently of the others unless `rng` is given."""
    rows = np.concatenate([histograms.counts for _, histograms in parts], axis=-1)
    generators = (seeded_by(row) if rng is None else rng for row in rows)
    sizes = [np.maximum(1, np.rint(n)).astype(np.int64) for n in people]
    truths = METHODS[NEAREST].solve(parts).shares
    drawn = _surveys(truths, [design for design, _ in parts], sizes, generators, SIMULATED_SURVEYS)
    errors = _errors(truths, drawn, METHODS_COMPARED)
    names, table = list(errors), np.stack(list(errors.values()), axis=-1)
    best = table.argmin(axis=-1).tolist()
    return [Choice(names[i], dict(zip(names, row, strict=True))) for i, row in zip(best, table.tolist(), strict=True)]


def choices(tally: Collected, rng: np.random.Generator | None) -> tuple[Choice, ...]:
    """Choose an estimator for each group with reports: by rule, or by simulated surveys."""
    for part in tally.parts:
        refuse_incomplete("auto", part.design)
    if many_answers(tally):
        return (Choice(SHRUNK, {}),) * int(tally.answered.sum())
    informative = np.stack([part.answered & (part.design.epsilon > 0) for part in tally.parts])
    chosen = [Choice(METHODS_COMPARED[0], {})] * tally.answered.size
    for pattern in np.unique(informative[:, informative.any(axis=0)], axis=1).T:
        alike = np.flatnonzero((informative == pattern[:, np.newaxis]).all(axis=0))
        parts = [part for part, informs in zip(tally.parts, pattern, strict=True) if informs]
        for group, taken in zip(alike.tolist(), _choices_among(parts, alike, rng), strict=True):
            chosen[group] = taken
    return tuple(chosen[group] for group in np.flatnonzero(tally.answered).tolist())


def _choices_among(parts: Sequence[Tally], groups: Integers, rng: np.random.Generator | None) -> Iterator[Choice]:
    """Choose for groups with reports in all collections: many at a time, equal ones once."""
    people = [np.atleast_1d(part.steady)[groups].astype(np.float64) for part in parts]
    if rng is None:
        facts = [*(part.rows()[0][groups].astype(np.float64) for part in parts), np.stack(people, axis=-1)]
        _, first, index = np.unique(np.concatenate(facts, axis=-1), axis=0, return_index=True, return_inverse=True)
    else:
        first = index = np.arange(len(groups))
    step = max(1, SIMULATED_COUNTS_AT_ONCE // (SIMULATED_SURVEYS * max(len(part.design.law.columns) for part in parts)))
    chosen: list[Choice] = []
    for start in range(0, len(first), step):
        some = first[start : start + step]
        histograms = [(part.design, part.histograms(groups[some])) for part in parts]
        chosen += choices_for(histograms, [n[some] for n in people], rng=rng)
    return (chosen[i] for i in index.tolist())


def choices_in_words(choices: Sequence[Choice]) -> str:
    """Return a sentence on the chosen estimators, with their predicted errors to one digit.

    >>> choices_in_words([Choice("mle", {"mle": 0.012, "inv_p": 0.034})])
    'auto chose mle; predicted squared errors (orders of magnitude): mle 1e-02, inv_p 3e-02'
    """
    predicted = [", ".join(f"{name} {error:.0e}" for name, error in one.errors.items()) for one in choices]
    if len(choices) == 1:
        return f"auto chose {choices[0].method}; predicted squared errors (orders of magnitude): {predicted[0]}"
    taken = [choice.method for choice in choices]
    listed = ", ".join(f"{name} in {taken.count(name)}" for name in METHODS_COMPARED if name in taken)
    shown = "; ".join([*predicted[:GROUPS_PREDICTED], *["..."] * (len(choices) > GROUPS_PREDICTED)])
    errors = f"predicted squared errors (orders of magnitude), group by group: {shown}"
    return f"auto chose {listed} of {len(choices)} groups; {errors}"
