"""Random designs and counts for the properties."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from warner import Channel, RandomizedResponse

epsilons = st.floats(-9, 1.6).map(lambda exponent: min(max(10**exponent, 1e-9), 40.0))


def counts_of(k: int, largest: int = 40) -> st.SearchStrategy[list[int]]:
    """Small counts, so that ties and zeros are common, with a few large ones."""
    count = st.one_of(st.integers(0, largest), st.sampled_from([0, 1, largest]), st.integers(0, 10**9))
    return st.lists(count, min_size=k, max_size=k).filter(any)


def designs_of(k: int, *, inverted: bool = False) -> st.SearchStrategy[RandomizedResponse]:
    """Designs with p > q, or with p < q."""
    by_odds = st.tuples(st.integers(0, 12), st.integers(0, 12)).filter(lambda odds: odds[0] > odds[1])
    by_epsilon = epsilons.map(lambda epsilon: RandomizedResponse(k, epsilon=epsilon).odds)
    odds = st.one_of(by_odds, by_epsilon)
    if inverted:
        odds = odds.map(lambda pair: (pair[1], pair[0]))
    return odds.filter(lambda pair: sum(pair) * (k - 1) < 2**60).map(lambda pair: RandomizedResponse(k, odds=pair))


def surveys(*, inverted: bool = False, most: int = 6) -> st.SearchStrategy[tuple[list[int], RandomizedResponse]]:
    return st.integers(2, most).flatmap(lambda k: st.tuples(counts_of(k), designs_of(k, inverted=inverted)))


def channels(answers: int = 4, outputs: int = 4, largest: int = 6) -> st.SearchStrategy[Channel]:
    """Draw small exact channels, with zeros; every row has the same sum."""

    def filled(shape: tuple[int, int]) -> st.SearchStrategy[Channel]:
        rows = st.lists(st.integers(0, largest), min_size=shape[1], max_size=shape[1]).filter(any)
        return st.lists(rows, min_size=shape[0], max_size=shape[0]).map(
            lambda matrix: Channel([[Fraction(x, sum(row)) for x in row] for row in matrix], *shape)
        )

    return st.tuples(st.integers(2, answers), st.integers(2, outputs)).flatmap(filled)
