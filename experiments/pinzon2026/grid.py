"""The grid: made-up populations after Zipf's law, over epsilon, sample size, number of answers, and the exponent."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from experiments.pinzon2026.repetition import complete_outcomes, generator, repeated
from experiments.pinzon2026.results import load
from warner import RandomizedResponse
from warner.simulate import zipf

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from experiments.pinzon2026.repetition import Columns, EstimatorErrors
    from experiments.pinzon2026.scale import Scale

Grid: TypeAlias = "dict[ZipfSurvey, dict[str, EstimatorErrors]]"


@dataclass(frozen=True, order=True)
class ZipfSurvey:
    """One configuration of the grid: K answers, Zipf exponent s, N people, epsilon.

    Attributes
    ----------
    k, n : int
        Number of answers, and of people.
    s : float
        Exponent of Zipf's law, which the people are drawn from once.
    epsilon : float
        Privacy of the design.
    seeds : int
        Times that these people are randomized afresh.
    auto : bool
        Whether the choice among the estimators is measured as well; it takes ten times as long.
    """

    k: int
    s: float
    n: int
    epsilon: float
    seeds: int
    auto: bool = False

    experiment = "grid"

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"K={self.k} s={self.s} N={self.n} epsilon={self.epsilon}"

    @property
    def cost(self) -> float:
        """About how many milliseconds it takes."""
        repetition = 2e-4 * self.k * (1.5 if self.n > 10 * self.k else 1)
        return self.seeds * (0.05 + repetition * (12 if self.auto else 1))

    @property
    def design(self) -> RandomizedResponse:
        """Design of the reports."""
        return RandomizedResponse(self.k, epsilon=self.epsilon)

    def people(self, rng: np.random.Generator | None = None) -> NDArray[np.int64]:
        """Draw the people: the truth of this configuration, the same each time."""
        drawn: NDArray[np.int64] = (rng or self._rng()).multinomial(self.n, zipf(self.k, self.s))
        return drawn

    @property
    def absent(self) -> int:
        """Number of answers with a share of zero."""
        return int((self.people() == 0).sum())

    def columns(self) -> Columns:
        """Randomize the people for each seed, and measure every estimator."""
        rng = self._rng()
        people = self.people(rng)
        measured = repeated(people, self.design, seeds=self.seeds, rng=rng, auto=self.auto)
        size = measured["seed"].size
        settings = {"k": self.k, "s": self.s, "n": self.n, "epsilon": self.epsilon, "absent": int((people == 0).sum())}
        return {name: np.full(size, value) for name, value in settings.items()} | measured

    def parsed(self, columns: Columns) -> dict[str, EstimatorErrors]:
        """Split the columns again, by estimator."""
        return complete_outcomes(columns, seeds=self.seeds, auto=self.auto)

    def _rng(self) -> np.random.Generator:
        return generator(self.experiment, *astuple(self)[:4])


def surveys(scale: Scale) -> list[ZipfSurvey]:
    """List the whole grid."""
    listed = []
    for k, s, n, epsilon in product(scale.answers, scale.exponents, scale.people, scale.epsilons):
        overview = k == max(scale.answers) and (epsilon == scale.epsilon or n == max(scale.people))
        listed.append(ZipfSurvey(k, s, n, epsilon, scale.seeds, auto=overview))
    return listed


def read(folder: Path, wanted: list[ZipfSurvey]) -> Grid:
    """Read the outcomes of configurations that were computed."""
    return {survey: load(folder, survey) for survey in wanted}
