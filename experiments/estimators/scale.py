"""Settings of the comparison: a stated part of all there is, or a toy of the same shape."""

from __future__ import annotations

from dataclasses import dataclass, replace

from experiments.estimators.entrants import BUILT_IN


@dataclass(frozen=True)
class Scale:
    """The settings of the comparison.

    Attributes
    ----------
    seeds, real_seeds : int
        Times that people and reports are drawn afresh in each setting; of real data, which have many answers.
    paper_answers, paper_people, paper_epsilons : tuple of int
        The part of the paper's grid under randomized response: K, N and epsilon, for its three Zipf populations.
    answers, people, epsilons : tuple of int
        The same for all other shapes.
    bits_answers, bits_people, bits_epsilons : tuple of int
        The same for optimal unary encoding, all shapes.
    real_people, real_epsilons : tuple of int
        The same for real data. Under unary encoding, their most common answers, so many as `bits_answers` says.
    numeric_seeds, numeric_answers, numeric_people, numeric_epsilons
        The same for distributions of numbers under a square wave; the number of answers must be a power of 4.
    estimators : tuple of str
        The estimators of the library that are compared: results of others are another folder.
    """

    seeds: int = 16
    real_seeds: int = 4
    paper_answers: tuple[int, ...] = (50, 1_000)
    paper_people: tuple[int, ...] = (100, 1_000, 10_000, 100_000, 1_000_000)
    paper_epsilons: tuple[int, ...] = (1, 2, 4, 7, 10)
    answers: tuple[int, ...] = (20, 100, 1_000)
    people: tuple[int, ...] = (1_000, 10_000, 1_000_000)
    epsilons: tuple[int, ...] = (1, 3, 6)
    bits_answers: tuple[int, ...] = (1_000,)
    bits_people: tuple[int, ...] = (10_000, 1_000_000)
    bits_epsilons: tuple[int, ...] = (1, 2, 4)
    real_people: tuple[int, ...] = (10_000, 1_000_000)
    real_epsilons: tuple[int, ...] = (1, 2, 4, 7)
    numeric_seeds: int = 4
    numeric_answers: int = 256
    numeric_people: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)
    numeric_epsilons: tuple[int, ...] = (1, 3)
    estimators: tuple[str, ...] = BUILT_IN

    @property
    def toy(self) -> bool:
        """True if this is a toy, whose numbers say nothing."""
        return self.seeds < FEW_SEEDS or len(self.answers) < len(Scale.answers)


FEW_SEEDS = 8
TOY_COMPARISON = Scale(
    seeds=4,
    real_seeds=2,
    paper_answers=(50,),
    paper_people=(1_000, 100_000),
    paper_epsilons=(1, 4),
    answers=(20,),
    people=(1_000,),
    epsilons=(1, 4),
    bits_answers=(50,),
    bits_people=(10_000,),
    bits_epsilons=(2,),
    real_people=(10_000,),
    real_epsilons=(2,),
    numeric_seeds=2,
    numeric_answers=64,
    numeric_people=(1_000,),
    numeric_epsilons=(2,),
)


def requested_scale(*, quick: bool = False, seeds: int | None = None) -> Scale:
    """Return the scale by default or the toy, with another number of seeds if that is given.

    >>> requested_scale(seeds=100).seeds, requested_scale(quick=True).toy
    (100, True)
    """
    chosen = TOY_COMPARISON if quick else Scale()
    if seeds is None:
        return chosen
    if seeds < 2:
        raise ValueError(f"seeds must be at least 2, for a standard error, but got {seeds!r}")
    real, numeric = min(chosen.real_seeds, seeds), min(chosen.numeric_seeds, seeds)
    return replace(chosen, seeds=seeds, real_seeds=real, numeric_seeds=numeric)
