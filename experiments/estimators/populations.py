"""The populations that estimators are compared on: made up in many shapes, and real ones.

Each shape is a function of K, the number of answers. `POPULATION_KINDS` says what a shape was used for before: an
estimator must not be judged by shapes used to build it.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from experiments.pinzon2026.repetition import generator
from warner.simulate import zipf

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.arrays import Array

POPULATION_KINDS = {
    "paper": "the paper's grid (Zipf)",
    "built with": "shapes used to build shrink",
    "other": "other shapes",
    "real": "real data",
}


@dataclass(frozen=True, eq=False)
class Population:
    """Shares of K answers, with a name; `kind` is one of `POPULATION_KINDS`."""

    name: str
    kind: str
    shares: Array

    @property
    def k(self) -> int:
        """The number of answers."""
        return len(self.shares)

    @property
    def digest(self) -> str:
        """A short name for the content of real data; nothing for a shape, which its name and K tell."""
        if self.kind != "real":
            return ""
        return blake2b(self.shares.astype("<f8").tobytes(), digest_size=4).hexdigest()


class Shape(NamedTuple):
    """A made-up population: its kind, the weights of K answers, and what it is in words."""

    kind: str
    weights: Callable[[int], Array]
    sentence: str


def made_up(name: str, k: int) -> Population:
    """Return a population of `SHAPES` with k answers.

    >>> made_up("linear", 3).shares * 6  # in proportion 1 : 2 : 3
    array([1., 2., 3.])
    """
    shape = SHAPES[name]
    weights = np.asarray(shape.weights(k), dtype=np.float64)
    return Population(name, shape.kind, weights / weights.sum())


def _ranks(k: int) -> Array:
    return np.arange(1.0, k + 1)


def _drawn(name: str, k: int) -> np.random.Generator:
    """Make the generator of a shape that is drawn: once for each K, and always the same."""
    return generator("population", name, k)


def _plateaus(k: int) -> Array:
    return np.where(_ranks(k) <= np.ceil(k / 5), 4.0, 1.0)


def _sparse(k: int) -> Array:
    held = max(2, k // 20)
    return np.concatenate([_drawn("sparse", k).dirichlet(np.ones(held)), np.zeros(k - held)])


def _bump(k: int, centre: float, width: float) -> Array:
    return np.exp(-(((_ranks(k) - centre * k) / (width * k)) ** 2) / 2)


def _two_heads(k: int) -> Array:
    return np.concatenate([[0.4, 0.4], 0.2 * zipf(k - 2, 0.8)]) if k > 2 else np.ones(k)


def _in_steps(k: int, heights: tuple[float, ...], parts: tuple[float, ...]) -> Array:
    """Assign heights to consecutive parts of the answers."""
    ends = np.cumsum(parts)[:-1] * k
    return np.array(heights)[np.searchsorted(ends, _ranks(k) - 0.5)]


def _head(share: float, rest: Array) -> Array:
    """Assign a share to one answer, and the rest to the others."""
    return np.concatenate([[share], (1 - share) * rest / rest.sum()])


def _none_of_these(k: int) -> Array:
    return _head(0.9, zipf(k - 1, 1.0))


def _three_heads(k: int) -> Array:
    rest = (_ranks(k - 3) <= (k - 3) / 2).astype(np.float64)
    return np.concatenate([[0.3, 0.15, 0.05], 0.5 * rest / rest.sum()])


def _all_equal_but(*shares: float) -> Callable[[int], Array]:
    """Assign these shares to some answers, and equal parts of the rest to the others."""
    few = len(shares)
    return lambda k: np.append(shares, np.full(k - few, (1 - sum(shares)) / (k - few))) if k > few else np.ones(k)


def _times_the_rest(*factors: float) -> Callable[[int], Array]:
    """Make some answers so many times as common as each of the others."""
    return lambda k: np.append(factors, np.ones(k - len(factors))) if k > len(factors) else np.ones(k)


def _nearly_all(k: int) -> Array:
    return _head(0.97, _drawn("nearly all", k).lognormal(0, 1, k - 1))


SHAPES = {
    "Zipf 0.01": Shape("paper", lambda k: zipf(k, 0.01), "nearly uniform"),
    "Zipf 1.3": Shape("paper", lambda k: zipf(k, 1.3), "moderately skewed"),
    "Zipf 2.5": Shape("paper", lambda k: zipf(k, 2.5), "one answer holds three quarters"),
    "geometric": Shape("built with", lambda k: np.exp(-8 * _ranks(k) / min(k, 60)), "a geometric law"),
    "plateaus": Shape("built with", _plateaus, "a fifth of the answers is four times as common as the rest"),
    "dominant": Shape(
        "built with", lambda k: np.where(_ranks(k) == 1, k, 1.0), "one answer holds half, the rest is flat"
    ),
    "Dirichlet 0.1": Shape(
        "built with", lambda k: _drawn("Dirichlet", k).dirichlet(np.full(k, 0.1)), "a Dirichlet draw"
    ),
    "log-normal": Shape("built with", lambda k: _drawn("log-normal", k).lognormal(0, 1.5, k), "log-normal, sigma 1.5"),
    "sparse": Shape("built with", _sparse, "a twentieth of the answers, as a broken stick; nobody holds the rest"),
    "bump": Shape("other", lambda k: _bump(k, 0.5, 1 / 6), "a normal density"),
    "every second": Shape("other", lambda k: _ranks(k) % 2, "nobody holds every second answer, the rest is flat"),
    "two heads": Shape("built with", _two_heads, "two answers with 0.4 each over Zipf 0.8"),
    "Zipf 0.8": Shape("other", lambda k: zipf(k, 0.8), "slightly skewed"),
    "Mandelbrot": Shape("other", lambda k: (_ranks(k) + 10) ** -2.0, "(rank + 10) to the power of -2"),
    "stairs": Shape("other", lambda k: _in_steps(k, (9, 3, 0), (1 / 3,) * 3), "thirds in proportion 9 : 3 : 0"),
    "Pareto 1.1": Shape("other", lambda k: _drawn("Pareto", k).pareto(1.1, k) + 1, "draws from a Pareto law"),
    "linear": Shape("other", _ranks, "shares in proportion to the rank"),
    "broken stick": Shape("other", lambda k: _drawn("stick", k).dirichlet(np.ones(k)), "a stick broken at random"),
    "two bumps": Shape(
        "other", lambda k: _bump(k, 0.25, 0.05) + 0.3 * _bump(k, 0.7, 0.1), "two normal densities, apart and unequal"
    ),
    "three tiers": Shape(
        "other", lambda k: _in_steps(k, (100, 10, 1), (0.05, 0.25, 0.7)), "tiers of 5, 25 and 70 % at 100 : 10 : 1"
    ),
    "Benford": Shape("other", lambda k: np.log1p(1 / _ranks(k)), "Benford's law, ln(1 + 1/rank)"),
    "three heads": Shape(
        "built with", _three_heads, "0.3, 0.15 and 0.05; half of the others are equal, and nobody holds the rest"
    ),
    "season": Shape("other", lambda k: 1 + 0.8 * np.cos(2 * np.pi * _ranks(k) / k), "one wave, from 1.8 down to 0.2"),
    "eight tenths": Shape(
        "other",
        lambda k: _head(0.8, np.exp(-8 * _ranks(k - 1) / min(k, 60))),
        "one answer with 0.8 over a geometric law",
    ),
    "nearly all": Shape("other", _nearly_all, "one answer with 0.97 over log-normal draws"),
    "none of these": Shape("built with", _none_of_these, "one answer with 0.9 over Zipf 1"),
    "0.1 % and equal": Shape("built with", _all_equal_but(0.001), "one answer with 0.001, all others equal"),
    "2 % and equal": Shape("built with", _all_equal_but(0.02), "one answer with 0.02, all others equal"),
    "8 % and equal": Shape("built with", _all_equal_but(0.08), "one answer with 0.08, all others equal"),
    "80 % and equal": Shape("built with", _all_equal_but(0.8), "one answer with 0.8, all others equal"),
    "90 % and equal": Shape("built with", _all_equal_but(0.9), "one answer with 0.9, all others equal"),
    "one is rare": Shape("built with", _times_the_rest(0.1), "one answer is ten times rarer than each of the others"),
    "two stand out": Shape("built with", _times_the_rest(2, 1.5), "two are 2 and 1.5 times as common as the others"),
    "three stand out": Shape("other", _all_equal_but(0.3, 0.12, 0.03), "0.3, 0.12 and 0.03, all others equal"),
    "four stand out": Shape("other", _times_the_rest(1.2, 1.5, 3, 10), "1.2, 1.5, 3 and 10 times the others"),
    "65 % and equal": Shape("other", _all_equal_but(0.65), "one answer with 0.65, all others equal"),
    "a tenth is rare": Shape(
        "other", lambda k: _in_steps(k, (1, 0.1), (0.9, 0.1)), "a tenth of the answers is ten times rarer than the rest"
    ),
    "40 % over two levels": Shape(
        "other", lambda k: _head(0.4, _in_steps(k - 1, (3, 1), (0.5, 0.5))), "0.4, the others in halves at 3 : 1"
    ),
}
