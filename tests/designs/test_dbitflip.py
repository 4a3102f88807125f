"""dBitFlipPM: bits of the same answers for ever; what many reports reveal, and what a device keeps."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from warner import BitFlips, Memo, Memoized, RandomizedResponse

if TYPE_CHECKING:
    from pathlib import Path


def odds_by_enumeration(size: int, k: int, first: tuple[int, int], second: tuple[int, int], reports: int) -> Fraction:
    """Return the largest ratio of the probabilities of reports after two keys, over all possible reports."""
    (s, t), (c, e) = first, second
    patterns = list(itertools.product((0, 1), repeat=size))
    keys = range(size + (size < k))

    def permanent(bits: tuple[int, ...], key: int) -> Fraction:
        return Fraction(math.prod(s if bit == (i == key) else t for i, bit in enumerate(bits)), (s + t) ** size)

    def again(bits: tuple[int, ...], kept: tuple[int, ...]) -> Fraction:
        return Fraction(math.prod(c if one == two else e for one, two in zip(bits, kept, strict=True)), (c + e) ** size)

    largest = Fraction(1)
    for seen in itertools.product(patterns, repeat=reports):
        law = [
            sum(
                (permanent(kept, key) * math.prod(again(bits, kept) for bits in seen) for kept in patterns), Fraction(0)
            )
            for key in keys
        ]
        if max(law):
            largest = max(largest, max(law) / min(law))
    return largest


@pytest.mark.parametrize(("size", "k"), [(1, 2), (1, 3), (2, 2), (2, 3)])
@pytest.mark.parametrize("second", [(1, 0), (3, 1), (5, 4)])
@pytest.mark.parametrize("reports", [1, 2, 3])
def test_what_many_reports_reveal_is_exact(size: int, k: int, second: tuple[int, int], reports: int) -> None:
    design = Memoized(BitFlips(k, odds=(3, 1), size=size), RandomizedResponse(2, odds=second))
    assert Fraction(*design.rounds.odds_after(reports)) == odds_by_enumeration(size, k, (3, 1), second, reports)
    if reports == 1:
        assert Fraction(*reversed(design.ratio)) == Fraction(*design.rounds.odds_after(1))


def test_both_epsilons_are_spent_and_never_exceeded() -> None:
    for size in (1, 2, 10):
        design = Memoized.bit_flips(10, eps_infinity=2, eps_first=1, size=size)
        assert 0.999999 < design.eps_first <= 1
        assert 1.999999 < design.eps_infinity <= 2
        assert design.rounds.keys == {1: 2, 2: 3, 10: 10}[size]
        alone = Memoized.bit_flips(10, eps_infinity=2, size=size)
        assert alone.eps_first == alone.eps_infinity == alone.eps_after(1000)


def test_reports_without_a_second_round_are_the_permanent_bits(tmp_path: Path) -> None:
    design = Memoized.bit_flips(["a", "b", "c", "d", "e"], eps_infinity=1, size=2)
    memo = Memo.create(tmp_path / "memo.json", design)
    first = {answer: design.report(answer, memo) for answer in design.domain}
    again = {answer: design.report(answer, Memo.load(tmp_path / "memo.json", design)) for answer in design.domain}
    assert first == again
    assert len({report[:2] for report in first.values()}) == 1  # the same answers are asked about, for ever
    asked = np.unpackbits(np.frombuffer(bytes.fromhex(first["a"][:2]), dtype=np.uint8), count=5)
    others = [answer for answer, one in zip(design.domain, asked, strict=True) if not one]
    assert len({first[answer] for answer in others}) == 1  # answers that are not asked about are one key
    spent = memo.spent()
    assert spent.keys == 3
    assert spent.epsilon == pytest.approx(3)
    assert "for each of 3 answers asked about, all others being one" in str(spent)


def test_a_memo_with_other_answers_than_there_can_be_is_refused(tmp_path: Path) -> None:
    design = Memoized.bit_flips(["a", "b", "c", "d", "e"], eps_infinity=1, size=2)
    path = tmp_path / "memo.json"
    Memo.create(path, design)
    text = path.read_text()
    kept = text.split('"hash": ')[1].split(",")[0]
    for wrong in ('"e0"', '"07"', "3", "null", '"c000"', '""'):
        path.write_text(text.replace(f'"hash": {kept}', f'"hash": {wrong}'))
        with pytest.raises(ValueError, match="damaged"):
            Memo.load(path, design)


def test_it_says_that_every_change_shows_at_once() -> None:
    alone, hidden = (
        Memoized.bit_flips(4, eps_infinity=2, eps_first=eps, size=2).in_words().replace("\n", " ") for eps in (None, 1)
    )
    assert "shows at once" in alone
    # p = e/(1 + e) for two bits at epsilon 2; to an answer that is not asked about: 2 p q (p^2 + q^2)
    p = math.e / (1 + math.e)
    assert f"but for at most {100 * 2 * p * (1 - p) * (1 - 2 * p * (1 - p)):.2g} % of changes" in alone
    assert "shows at once" not in hidden
    assert "Only the noise of the second round hides a change" in hidden
    for words in (alone, hidden):
        assert "Not protected: this pattern" in words
        assert "link the reports of a respondent" in words


@pytest.mark.parametrize("second", [RandomizedResponse(3, odds=(3, 1)), RandomizedResponse(["0", "1"], odds=(3, 1))])
def test_the_second_round_is_of_single_bits(second: RandomizedResponse) -> None:
    with pytest.raises(ValueError, match="second must take the permanent responses of first"):
        Memoized(BitFlips(4, odds=(3, 1), size=2), second)
