"""Settings of the experiments: as published, or a toy of the same shape."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from pathlib import Path


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
    epsilons: tuple[float, ...] = tuple(range(1, 11))
    people: tuple[int, ...] = (100, 1_000, 10_000, 100_000, 1_000_000)
    answers: tuple[int, ...] = (50, 100, 1_000, 5_000, 10_000)
    exponents: tuple[float, ...] = (0.01, 1.3, 2.5)
    columns: tuple[float, ...] = (1, 2, 4, 10)
    epsilon: float = 4
    ibu_answers: int = 500
    ibu_people: tuple[int, ...] = (10_000, 500_000)
    ibu_epsilons: tuple[float, ...] = (0.5, 1.0, 2.0)
    ibu_exponents: tuple[float, ...] = (0.01, 1.3)
    ibu_steps: int = 40_000
    ibu_runs: int = 10
    real_epsilons: tuple[float, ...] = tuple(range(1, 11))
    cases: int = 2_000

    def __post_init__(self) -> None:
        if not set(self.columns) <= set(self.epsilons):
            raise ValueError(f"columns must be epsilons of the grid, {self.epsilons}, but got {self.columns}")
        if self.epsilon not in self.epsilons:
            raise ValueError(f"epsilon must be one of the epsilons, {self.epsilons}, but got {self.epsilon}")
        for name in ("epsilons", "people", "answers", "exponents"):
            if not getattr(self, name) or min(getattr(self, name)) <= 0:
                raise ValueError(f"{name} must be positive numbers, at least one, but got {getattr(self, name)}")
        if min(self.answers) < 2:
            raise ValueError(f"answers must be at least 2, but got {self.answers}")

    @property
    def toy(self) -> bool:
        """True if this is smaller than what was published, but for the number of seeds."""
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


def requested_scale(*, quick: bool = False, seeds: int | None = None, grid: str | Path | Scale | None = None) -> Scale:
    """Return the published scale, the toy, or settings of your own; with another number of seeds if that is given.

    >>> requested_scale(seeds=20).seeds, requested_scale(quick=True).people
    (20, (100, 1000, 10000))
    """
    if isinstance(grid, Scale):
        chosen = grid
    elif grid is not None:
        chosen = scale_of_file(grid, quick=quick)
    else:
        chosen = TOY_REPRODUCTION if quick else PUBLISHED
    if seeds is None:
        return chosen
    if seeds < 2:
        raise ValueError(f"seeds must be at least 2, for a variance, but got {seeds!r}")
    return replace(chosen, seeds=seeds, ibu_runs=min(chosen.ibu_runs, seeds))


def scale_of_file(path: str | Path, *, quick: bool = False) -> Scale:
    """Read settings of your own: a JSON object with fields of `Scale`, such as ``{"people": [500], "answers": [20]}``.

    Settings that the file leaves out are those of the published experiments, or of the toy. If only `epsilons` is
    given, `columns` are the first four of them and `epsilon` is the middle one.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"grid must be a JSON file, but {path} is not one: {error}") from None
    known = {field.name: field.default for field in fields(Scale)}
    if not isinstance(document, dict) or not set(document) <= set(known):
        unknown = ", ".join(sorted(set(document) - set(known))) if isinstance(document, dict) else repr(document)
        raise ValueError(f"grid must be a JSON object with settings among {', '.join(known)}, but {path} has {unknown}")
    settings = {name: tuple(value) if isinstance(value, list) else value for name, value in document.items()}
    for name, value in settings.items():
        numbers = value if isinstance(value, tuple) else (value,)
        if isinstance(value, tuple) != isinstance(known[name], tuple) or not all(
            isinstance(number, int | float) and not isinstance(number, bool) for number in numbers
        ):
            kind = "a list of numbers" if isinstance(known[name], tuple) else "a number"
            raise ValueError(f"{name} must be {kind}, but {path} has {value!r}")
    if "epsilons" in settings:
        epsilons = settings["epsilons"]
        settings = {"columns": epsilons[:4], "epsilon": epsilons[len(epsilons) // 2] if epsilons else 0} | settings
    return replace(TOY_REPRODUCTION if quick else PUBLISHED, **settings)
