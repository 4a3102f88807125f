"""Settings of the experiments: as published, or a toy of the same shape."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Scale:
    """The settings of all experiments.

    Attributes
    ----------
    seeds : int
        Times that each configuration is randomized afresh.
    epsilons, people, answers, exponents : tuple
        The grid: epsilon, N, K and the Zipf exponent s.
    columns : tuple
        The epsilons of the complete figures.
    epsilon : float
        The fixed epsilon of the overview; its K and its fixed N are the largest of the grid.
    ibu_answers, ibu_people, ibu_epsilons, ibu_exponents, ibu_steps, ibu_runs
        The comparison with IBU: K, n, epsilon, s, number of updates, and times that each is randomized afresh.
    real_epsilons : tuple
        The epsilons for the real data.
    cases : int
        Random cases in each check of a theorem.
    """

    seeds: int = 100
    epsilons: tuple[int, ...] = tuple(range(1, 11))
    people: tuple[int, ...] = (100, 1_000, 10_000, 100_000, 1_000_000)
    answers: tuple[int, ...] = (50, 100, 1_000, 5_000, 10_000)
    exponents: tuple[float, ...] = (0.01, 1.3, 2.5)
    columns: tuple[int, ...] = (1, 2, 4, 10)
    epsilon: int = 4
    ibu_answers: int = 500
    ibu_people: tuple[int, ...] = (10_000, 500_000)
    ibu_epsilons: tuple[float, ...] = (0.5, 1.0, 2.0)
    ibu_exponents: tuple[float, ...] = (0.01, 1.3)
    ibu_steps: int = 40_000
    ibu_runs: int = 10
    real_epsilons: tuple[int, ...] = tuple(range(1, 11))
    cases: int = 2_000

    @property
    def toy(self) -> bool:
        """Whether this is smaller than what was published, but for the number of seeds."""
        return replace(self, seeds=PUBLISHED.seeds, ibu_runs=PUBLISHED.ibu_runs) != PUBLISHED

    @property
    def timed_answers(self) -> int:
        """The largest K that the estimators are timed at; no setting, as times are never the same twice."""
        return 4_000_000 if self.cases >= PUBLISHED.cases else 400_000


PUBLISHED = Scale()
TOY_REPRODUCTION = Scale(
    seeds=10,
    epsilons=(1, 2, 4, 10),
    people=(100, 1_000, 10_000),
    answers=(50, 200),
    columns=(1, 4),
    ibu_answers=60,
    ibu_people=(1_000, 20_000),
    ibu_steps=2_000,
    ibu_runs=3,
    real_epsilons=(2, 6, 10),
    cases=100,
)


def requested_scale(*, quick: bool = False, seeds: int | None = None) -> Scale:
    """Give the published scale or the toy, with another number of seeds if that is given.

    >>> requested_scale(seeds=20).seeds, requested_scale(quick=True).people
    (20, (100, 1000, 10000))
    """
    chosen = TOY_REPRODUCTION if quick else PUBLISHED
    if seeds is None:
        return chosen
    if seeds < 2:
        raise ValueError(f"seeds must be at least 2, for a variance, but got {seeds!r}")
    return replace(chosen, seeds=seeds, ibu_runs=min(chosen.ibu_runs, seeds))
