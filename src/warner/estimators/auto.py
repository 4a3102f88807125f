"""What an estimator's error would be, on a population that one has in mind.

Nobody can say beforehand which of the closed forms comes closest, because that depends on the truth. But one can put a
population in the place of the truth, draw surveys from it, and see.

For many answers there is no need to: `shrink` learns from the reports what the population is like, and comes closer
than the best of the three in hindsight, on average and in the worst case that was found (docs/which-estimator.md). So
``method="auto"`` is `shrink` for one symmetric design with 20 answers or more, and the choice by predicted errors
elsewhere. Below 20 answers there is little to learn from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.estimators import METHODS
from warner.estimators.priors import MANY
from warner.metrics import squared_error_sum
from warner.reports.counts import Histograms, checked
from warner.simulate import seeded_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from warner.arrays import Array
    from warner.designs.contract import Design
    from warner.estimators.likelihood import Parts
    from warner.reports.pools import Collected

COMPARED = ("mle", "inv_p", "inv_n")  # in the order in which ties are broken
SURVEYS = 20
NOTABLE = 0.3  # part of the average share beyond which noise makes it worth saying that shrink is closer
ROUNDING = 1e-28  # a squared error below this is none


def predicted_errors(
    shares: ArrayLike,
    collections: Sequence[tuple[Design, int]],
    *,
    rng: np.random.Generator,
    surveys: int = SURVEYS,
    methods: Sequence[str] = COMPARED,
) -> dict[str, float]:
    """Predict each estimator's mean squared error, summed over the answers, by drawing surveys.

    Parameters
    ----------
    shares : array_like of shape (k,)
        The population to put in the place of the truth.
    collections : sequence of (Design, int)
        What answers go through, and how many people: one pair, or several for a pool.
    rng : numpy.random.Generator
        Where the randomness comes from.
    surveys : int
        How many surveys to draw.
    methods : sequence of str
        What to compare; of these, the ones that the designs allow.
    """
    truth = np.asarray(shares, dtype=np.float64)
    parts: Parts = [(design, _surveys(truth, n, design, rng, surveys)) for design, n in collections]
    counts_suffice = all(design.exclusive for design, _ in collections)
    allowed = [name for name in methods if METHODS[name].applies(to_likelihood=counts_suffice)]
    errors = {name: float(squared_error_sum(METHODS[name].solve(parts).shares, truth).mean()) for name in allowed}
    return {name: error if error > ROUNDING else 0.0 for name, error in errors.items()}


def _surveys(shares: Array, n: int, design: Design, rng: np.random.Generator, surveys: int) -> Histograms:
    counts = design.simulate(shares, n, rng=rng, size=surveys)
    return Histograms(counts, np.full(surveys, n), counts.max(initial=0))


class Choice(NamedTuple):
    """Which valid estimator to take, and the errors that were predicted; none where `shrink` is taken by rule."""

    method: str
    errors: dict[str, float]


def many_answers(designs: Sequence[Design]) -> bool:
    """Tell whether `shrink` pays: one symmetric design, and answers enough to learn from."""
    return len(designs) == 1 and designs[0].symmetry is not None and designs[0].k >= MANY


def choice(
    counts: ArrayLike, design: Design, *, n: float | None = None, rng: np.random.Generator | None = None
) -> Choice:
    """Choose the closed form with the smallest predicted error for reports like these; `mle` if in doubt.

    The population in the place of the truth is what `inv_p` makes of these reports. Of several such plug-ins it was the
    one whose choice came closest to the best in hindsight. The predicted errors tell the estimators apart, but are
    themselves no better than an order of magnitude.

    Parameters
    ----------
    counts : array_like of shape (k,)
        Number of reports of each answer.
    design : Design
        What every answer went through.
    n : float, optional
        The (effective) number of reports; the sum of the counts if not given.
    rng : numpy.random.Generator, optional
        Where the randomness comes from; seeded from the counts if not given, so that the choice can be repeated.
    """
    histogram = checked(counts, design, None if design.exclusive else n).rows()
    people = float(histogram.n[0] if n is None else n)
    return choice_for([(design, histogram)], [people], rng=rng)


def choice_for(parts: Parts, people: Sequence[float], *, rng: np.random.Generator | None = None) -> Choice:
    """Choose for the checked counts of one group of people, of one design or several; see `choice`."""
    generator = seeded_by(np.concatenate([histograms.counts[0] for _, histograms in parts])) if rng is None else rng
    collections = [(design, max(1, round(n))) for (design, _), n in zip(parts, people, strict=True)]
    errors = predicted_errors(METHODS["inv_p"].solve(parts).shares[0], collections, rng=generator)
    return Choice(min(errors, key=errors.__getitem__), errors)


def choices(tally: Collected, rng: np.random.Generator | None) -> tuple[Choice, ...]:
    """Choose an estimator for each group that has reports: by rule, or by simulated surveys."""
    if many_answers([part.design for part in tally.parts]):
        return (Choice("shrink", {}),) * int(tally.answered.sum())
    chosen = []
    for group in np.flatnonzero(tally.answered).tolist():
        telling = [part for part in tally.parts if part.answered[group] and part.design.epsilon > 0]
        people = [float(np.atleast_1d(part.effective)[group]) for part in telling]
        parts = [(part.design, part.histograms([group])) for part in telling]
        chosen.append(choice_for(parts, people, rng=rng))
    return tuple(chosen)


def second_opinion(tally: Collected, method: str) -> str:
    """Say that `shrink` is probably closer on the whole than this method, where it is; nothing elsewhere.

    That is a rule, and costs nothing: one symmetric design with 20 answers or more, and noise that is not small
    against the average share. An unbiased estimate is not questioned.
    """
    if method in {"inv", "shrink"} or not many_answers([part.design for part in tally.parts]):
        return ""
    symmetry, average = tally.parts[0].design.symmetry, 1 / tally.k
    assert symmetry is not None
    people = np.atleast_1d(tally.parts[0].effective)[tally.answered]
    noise = np.sqrt(symmetry.q * (1 - symmetry.q) / people) / abs(symmetry.gain)
    scarce = noise > NOTABLE * average
    if not scarce.any():
        return ""
    where = f" in {int(scarce.sum())} of {scarce.size} groups" if tally.by else ""
    compared = f"noise alone has a standard deviation of {noise.max():.2%}, and the average share is {average:.2%}"
    return f'method="shrink" is probably closer on the whole{where}: {compared}'
