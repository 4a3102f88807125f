"""Exact draws from random bytes: of 64 bits, and of as many as a design needs."""

from __future__ import annotations

import io
import itertools
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from cases import KUK
from strategies import channels
from tables import scripted
from warner import Channel, RandomizedResponse
from warner.designs import MECHANISMS, Design, Memoized, design_from_dict
from warner.designs.draws import BYTES_AHEAD, bernoulli, selection, uniform

if TYPE_CHECKING:
    from collections.abc import Callable

WIDE = KUK.then(Channel([[0.8, 0.2]] * 3, 3, 2)).then(RandomizedResponse(2, epsilon=1))
EVERY = [design for mechanism in MECHANISMS.values() for design in mechanism.examples()]


@given(st.integers(1, 2**62 - 1), st.data())
def test_a_draw_is_the_remainder_of_its_bits(total: int, data: st.DataObject) -> None:
    limit = 2**64 // total * total
    bits = data.draw(st.lists(st.integers(0, limit - 1), min_size=1, max_size=5))
    for draws in (bits, [0] * len(bits), [limit - 1] * len(bits)):
        assert uniform(len(draws), total, scripted(draws)).tolist() == [draw % total for draw in draws]


@pytest.mark.parametrize("total", [3, 5, 2**61 + 1, 2**62 - 1, 2**62 + 1, 3 * 2**200])
def test_what_lies_beyond_the_last_whole_block_is_drawn_again(total: int) -> None:
    width = 8 if total < 2**62 else 8 * (total.bit_length() // 64 + 1)
    limit, last = 2 ** (8 * width) // total * total, 2 ** (8 * width) - 1
    assert limit <= last
    # The second of three is thrown away twice, then 7; the third once, then limit - 1.
    script = [5, last, limit, last, limit - 1, 7]
    assert uniform(3, total, scripted(script, width)).tolist() == [5 % total, 7 % total, total - 1]


@pytest.mark.parametrize("total", [1, 2, 2**62 - 1, 2**62, 2**63, 2**64, 2**300])
def test_draws_are_below_the_total(total: int) -> None:
    drawn = uniform(1000, total, np.random.default_rng(1).bytes).tolist()
    assert min(drawn) >= 0
    assert max(drawn) < total
    # The largest of a thousand is below 0.98 of the total with probability 0.98^1000 = 2e-9.
    assert total < 50 or max(drawn) > 0.98 * total


def two_bytes_of_all(rest: int, asked: list[int]) -> Callable[[int], bytes]:
    """Return all pairs of first and second bytes, and then one byte again and again."""

    def source(size: int) -> bytes:
        asked.append(size)
        first = {1: np.repeat(np.arange(256), 256), 2: np.arange(256)}
        return np.resize(first.get(len(asked), rest), size).astype(np.uint8).tobytes()

    return source


@given(st.integers(0, 2**320), st.integers(1, 2**320))
def test_a_bit_is_one_with_exactly_its_probability(n: int, more: int) -> None:
    d = n + more
    # All pairs of two bytes: those below n/d are ones. At most one is undecided, and asks for a third byte, by which
    # it is a one if that is as low as can be, a zero if it is as high.
    for rest, ones in ((0, -(-(n << 16) // d)), (255, (n << 16) // d)):
        asked: list[int] = []
        assert bernoulli(2**16, n, d, two_bytes_of_all(rest, asked)).sum() == ones
        undecided = [2**16] + [256] * ((n << 8) % d > 0) + [1] * ((n << 16) % d > 0)
        assert asked[: len(undecided)] == undecided


def first_then(first: list[int], rest: int) -> Callable[[int], bytes]:
    """Return these bytes, and then one again and again."""
    once = iter([bytes(first)])
    return lambda size: next(once, bytes([rest] * size))


@given(st.integers(1, 60_000), st.data())
def test_bits_of_different_probabilities_are_each_drawn_by_its_own(d: int, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, d), min_size=1, max_size=20))
    first = data.draw(st.lists(st.integers(0, 255), min_size=len(numbers), max_size=len(numbers)))
    for rest in (0, 255):
        bits = bernoulli(len(numbers), np.array(numbers, np.uint32), d, first_then(first, rest))
        for number, byte, bit in zip(numbers, first, bits.tolist(), strict=True):
            assert bit == bernoulli(1, number, d, first_then([byte], rest))[0]


@pytest.mark.parametrize("d", [1, 3, 256, 2**64])
def test_bits_that_are_certain_are_so(d: int) -> None:
    source = np.random.default_rng(1).bytes
    assert not bernoulli(10_000, 0, d, source).any()
    assert bernoulli(10_000, d, d, source).all()
    assert bernoulli(0, 1, 2, source).shape == (0,)


@given(first=channels(3, 3), data=st.data())
def test_wide_designs_are_drawn_from_more_bits_by_the_same_rule(first: Channel, data: st.DataObject) -> None:
    rough = Channel(np.full((len(first.outputs), 3), [[0.1, 0.2, 0.7]]), len(first.outputs), 3)
    fine = RandomizedResponse(3, epsilon=1)
    chain: Any = first.then(rough).then(fine)
    assert chain.total >= 2**62
    width = 8 * (chain.total.bit_length() // 64 + 1)
    limit = 2 ** (8 * width) // chain.total * chain.total
    for truth in range(first.k):
        running = np.cumsum(chain.weights[truth])
        edges = [0, *(int(edge) for edge in running[:-1]), *(int(edge) - 1 for edge in running if edge), limit - 1]
        draws = [*edges, *data.draw(st.lists(st.integers(0, limit - 1), max_size=3))]
        expected = [sum(edge <= draw % chain.total for edge in running) for draw in draws]
        # The first draw of all is thrown away: it is beyond the last whole block.
        script = [2 ** (8 * width) - 1, *draws[1:], draws[0]]
        reports = chain.draw(np.full(len(draws), truth), scripted(script, width))
        assert reports.tolist() == expected


def test_a_wide_randomized_response_is_drawn_by_its_rule() -> None:
    chain = RandomizedResponse(4, epsilon=1).then(RandomizedResponse(4, epsilon=2))
    assert isinstance(chain, RandomizedResponse)
    a, b = chain.odds
    edges = [0, a - 1, a, a + b - 1, a + b, a + 2 * b, chain.total - 1]
    for truth, wanted in ((0, [0, 0, 1, 1, 2, 3, 3]), (2, [2, 2, 0, 0, 1, 3, 3])):
        assert chain.draw(np.full(7, truth), scripted(edges, 16)).tolist() == wanted


@pytest.mark.parametrize("truth", [0, 1, 2])
def test_odds_beyond_64_bits_are_drawn_by_their_rule(truth: int) -> None:
    for a in (2**63 - 1, 2**63, 2**64 - 1, 2**200, 2**318):
        design: Any = design_from_dict(RandomizedResponse(3, odds=(2, 1)).to_dict() | {"odds": [str(a), "1"]})
        width = 8 * (design.total.bit_length() // 64 + 1)
        reports = design.draw(np.full(4, truth), scripted([0, a - 1, a, a + 1], width))
        assert reports.tolist() == [truth, truth, *(lie for lie in range(3) if lie != truth)]
        assert design.randomize([truth] * 20) == [truth] * 20  # but once in 2^59 runs


def test_a_wide_chain_of_hash_values_is_drawn_by_its_rule() -> None:
    chain: Any = Memoized.hashing(9, eps_infinity=2, eps_first=1, field=3).once
    (a, b), total = chain.odds, chain.draws[0]
    assert total >= 2**62
    values = a + 2 * b
    for direction, truth in itertools.product(range(4), range(9)):
        edges = [direction * values + u for u in (0, a - 1, a, a + b - 1, a + b, values - 1)]
        hashed = int(chain._block_with(np.array([truth]), np.array([direction]))[0]) - 3 * direction
        first, second = (value for value in range(3) if value != hashed)
        drawn = chain.draw(np.full(6, truth), scripted(edges, 8 * (total.bit_length() // 64 + 1)))
        assert (drawn - 3 * direction).tolist() == [hashed, hashed, first, first, second, second]


@pytest.mark.parametrize("design", [*EVERY, WIDE], ids=lambda design: design.summary())
def test_the_answers_do_not_change_how_much_randomness_is_used(design: Design) -> None:
    used = []
    for truth in range(design.k):
        source = np.random.default_rng(1)  # the same bytes for everybody
        design.draw(np.full(20_000, truth), source.bytes)
        used.append(source.bit_generator.state)
    assert all(state == used[0] for state in used)


@pytest.mark.parametrize("design", [*EVERY, WIDE], ids=lambda design: design.summary())
def test_pieces_of_work_make_no_difference(design: Design) -> None:
    # The answers are not touched, and no answers give no reports.
    answers = np.arange(30_000) % design.k
    before = answers.copy()
    reports = design.draw(answers, np.random.default_rng(2).bytes)
    assert len(reports) == len(answers)
    assert_array_equal(answers, before)
    assert len(design.draw(answers[:0], np.random.default_rng(2).bytes)) == 0
    # What is counted of each answer's reports has its expectation, in every piece.
    law = design.law.probabilities(np.eye(design.k))
    for part in (slice(0, 15_000), slice(15_000, None)):
        for answer in range(design.k):
            counts, n = design.law.count(reports[part][answers[part] == answer])[:2]
            error = np.sqrt(law[answer] * (1 - law[answer]) / n)
            assert (np.abs(counts / n - law[answer]) <= 5 * error + 1e-12).all()


@given(st.integers(1, 40), st.data())
def test_a_selection_compares_the_same_bytes_as_one_bit_after_the_other(among: int, data: st.DataObject) -> None:
    size = data.draw(st.integers(0, among))
    # Half of the bytes are the very digits that are compared with first, so that others must decide.
    ties = [256 * needed // left % 256 for needed, left in itertools.product(range(size + 1), range(1, among + 1))]
    source = data.draw(st.lists(st.sampled_from(ties) | st.integers(0, 255), min_size=20 * among, max_size=20 * among))
    one, other = io.BytesIO(bytes(source)), io.BytesIO(bytes(source))
    wanted, needed = [], size
    for left in range(among, 0, -1):
        wanted.append(int(bernoulli(1, needed, left, one.read)[0]))
        needed -= wanted[-1]
    assert list(selection(size, among, other.read)) == wanted
    assert sum(wanted) == size
    assert one.tell() == other.tell()  # not a byte more


def test_selections_from_the_operating_system_are_all_equally_common() -> None:
    # 20,000 of 10 sets: each within five standard errors, which fails once in 100,000 runs; bytes are taken in blocks.
    sets = Counter(bytes(selection(2, 5, os.urandom)) for _ in range(20_000))
    assert len(sets) == 10
    assert max(abs(times - 2000) for times in sets.values()) < 5 * np.sqrt(1800)
    assert sum(selection(BYTES_AHEAD, 3 * BYTES_AHEAD, os.urandom)) == BYTES_AHEAD


def test_a_member_that_is_decided_by_its_last_digit_takes_no_further_byte() -> None:
    # 1/512 has the digits 0 and 128: the first member is not selected. The second is, with probability 1/511 > 0.
    assert list(selection(1, 512, io.BytesIO(bytes([0, 128, 0, 0])).read))[:2] == [0, 1]


def test_the_second_byte_of_a_member_decides_by_the_next_digit() -> None:
    # 2/3 has the digits 170, 170: after 170, the byte 169 is below the digit and 171 above it.
    for second, first_member in ((169, 1), (171, 0)):
        assert selection(2, 3, io.BytesIO(bytes([170, second, 0, 0, 0])).read)[0] == first_member
