"""Texts and whole numbers as rows of blocks: one to one, and what can follow; `open_domain`.

It tests designs/open_values.py.
"""

from __future__ import annotations

import itertools
import time
import unicodedata
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from references import reference
from warner.designs.labels import MISSING, OUTSIDE, TEXTS_READ_TOGETHER
from warner.designs.open_domain import AnswerForm, OpenDomain
from warner.designs.open_values import OTHER, Texts, WholeNumbers, balanced_steps

REFERENCE = reference("open_domains")
SPACES = {"letters 4+4+4": Texts((4, 4, 4), "abcdefghijklmnopqrstuvwxyz"), "bytes 2 x 6": Texts((2,) * 6, None)}


def test_codes_are_those_of_the_prototype() -> None:
    for case in REFERENCE["codes"]:
        texts = SPACES[case["space"]]
        coded = texts.encoded([case["text"]])
        assert coded.blocks[0].tolist() == case["blocks"]
        if case["text"]:
            assert coded.status[0] == 0
            assert texts.decoded(case["blocks"]) == case["read back"]
        else:
            assert coded.status[0] == OUTSIDE


def test_all_texts_of_a_small_alphabet_have_codes_of_their_own() -> None:
    texts = Texts((2, 1), "ab")
    everything = ["".join(t) for length in (1, 2, 3) for t in itertools.product("ab", repeat=length)]
    codes = [tuple(row) for row in texts.encoded([*everything, "c"]).blocks.tolist()]
    assert len(set(codes)) == texts.number == len(everything) + 1
    assert [texts.decoded(code) for code in codes] == [*everything, OTHER]
    assert tuple(texts.other_blocks().tolist()) == codes[-1]  # type: ignore[union-attr]
    # What can follow is exactly what texts have.
    assert sorted({code[0] for code in codes}) == texts.continuations(0).tolist()
    for first in texts.continuations(0).tolist():
        follow = {code[1] for code in codes if code[0] == first}
        ended = bool(texts.ended(0, np.array([first]))[0])
        assert follow == ({0} if ended else set(texts.continuations(1).tolist()))


@given(st.text(max_size=8))
def test_a_text_is_read_back_as_it_was_normalized_or_is_other(text: str) -> None:
    for texts in SPACES.values():
        coded = texts.encoded([text])
        normal = texts.normalized(text)
        if not normal:
            assert coded.status[0] == OUTSIDE
            continue
        fits = len(normal) <= 12 and set(normal) <= set("abcdefghijklmnopqrstuvwxyz")
        if texts.alphabet is None:
            fits = len(normal.encode("utf-8", "replace")) <= 12 and "\0" not in normal
        assert texts.decoded(coded.blocks[0].tolist()) == (normal if fits else OTHER)


def test_answers_in_columns_are_read_as_texts_or_as_numbers() -> None:
    numbers = AnswerForm(WholeNumbers((4, 4)))
    assert numbers.read(["17", "017", None, "x"], text=True).status.tolist() == [0, OUTSIDE, MISSING, OUTSIDE]
    assert numbers.read([17, "17"]).reports.tolist() == [[1, 1], [0, 0]]
    assert AnswerForm(Texts((2,), "ab")).read(["a", "17"], text=True).reports.tolist() == [[3], [1]]
    assert (numbers.holds, AnswerForm(Texts((2,), "ab")).holds) == ("integers", "strings")


def test_a_missing_number_is_missing_however_many_there_are() -> None:
    # Long columns of texts are read all at once, into an array with a mask.
    numbers = AnswerForm(WholeNumbers((4, 4))).read(["17", None] * TEXTS_READ_TOGETHER, text=True)
    assert numbers.status.tolist() == [0, MISSING] * TEXTS_READ_TOGETHER
    masked = np.ma.array([3, 4], mask=[False, True])
    assert WholeNumbers((4,)).encoded(masked).status.tolist() == [0, MISSING]
    assert Texts((2,), "ab").encoded(np.ma.array(["a", "b"], mask=[True, False])).status.tolist() == [MISSING, 0]
    with pytest.raises(ValueError, match="at position 1"):
        OpenDomain(epsilon=1, bits=8).randomize(masked)


@pytest.mark.parametrize("number", [10**20 - 1, 10**20, 2**127, 2**1024 - 1])
def test_long_numbers_are_read_from_texts(number: int) -> None:
    values = WholeNumbers((16,) * 64)
    for texts in ([str(number)], [str(number)] * (TEXTS_READ_TOGETHER + 1)):
        read = AnswerForm(values).read(texts, text=True)
        assert not read.status.any()
        assert values.decoded(read.reports[-1].tolist()) == number


@pytest.mark.parametrize(("capital", "mark"), [("J", "\u030c"), ("H", "\u0331"), ("T", "\u0308"), ("\u0130", "\u0323")])
def test_a_text_has_one_spelling_in_either_case(capital: str, mark: str) -> None:
    texts = SPACES["bytes 2 x 6"]
    spelled = texts.normalized(capital + mark)
    assert unicodedata.normalize("NFKC", spelled) == spelled.lower() == spelled
    assert texts.encoded([capital + mark]).blocks.tolist() == texts.encoded([spelled]).blocks.tolist()


def test_a_large_alphabet_is_refused_at_once() -> None:
    start = time.process_time()
    with pytest.raises(ValueError, match=r"letters must be at most 2,047 characters; use bytes="):
        OpenDomain(epsilon=1, letters="\u4e00-\u9fa5", length=4)
    fields = OpenDomain(epsilon=1, letters="ab", length=4).to_dict()
    fields["values"]["alphabet"] = "".join(map(chr, range(0x4E00, 0x9FA5)))
    with pytest.raises(ValueError, match="letters must be at most"):
        OpenDomain.from_dict(fields)
    assert time.process_time() - start < 5  # it took 40 seconds


def test_half_a_character_is_other() -> None:
    texts = SPACES["bytes 2 x 6"]
    assert texts.decoded(texts.encoded(["\ud800"]).blocks[0].tolist()) == OTHER


def test_bytes_that_are_no_text_are_no_value() -> None:
    assert Texts((2,), None).decoded([0xFF41]) is None


def test_white_space_is_what_unicode_says() -> None:
    texts = Texts((4,), "ab ")
    for space in "\t\n\x0b\x0c\r \x85\xa0\u1680\u2003\u2028\u2029\u202f\u205f\u3000":
        assert texts.normalized(f"{space}a{space}{space}b") == "a b"
    for other in "\x1c\x1f\ufeff\u200b":
        assert texts.normalized(f"a{other}b") == f"a{other}b"


@given(st.integers(0, 2**48 - 1))
def test_numbers_are_read_back(number: int) -> None:
    for values in (WholeNumbers((16, 16, 16)), WholeNumbers((20, 20, 8)), WholeNumbers((16,) * 8)):
        for given_number in ([number], np.array([number]), np.array([number], dtype=np.uint64)):
            coded = values.encoded(given_number)
            assert not coded.status.any()
            assert values.decoded(coded.blocks[0].tolist()) == number


def test_numbers_of_more_than_64_bits_are_read_back() -> None:
    values = WholeNumbers((16,) * 8)
    assert values.decoded(values.encoded([2**128 - 1]).blocks[0].tolist()) == 2**128 - 1
    assert values.encoded([2**128]).status.tolist() == [OUTSIDE]


def test_what_is_no_value_is_told_apart() -> None:
    assert WholeNumbers((4,)).encoded([3, None, 16, -1, "3", True]).status.tolist() == [0, MISSING, *[OUTSIDE] * 4]
    given_texts: list[Any] = ["a", None, float("nan"), 7, ""]
    assert Texts((2,), "ab").encoded(given_texts).status.tolist() == [0, MISSING, MISSING, OUTSIDE, OUTSIDE]


@pytest.mark.parametrize(
    ("length", "step", "steps"), [(12, 4, (4, 4, 4)), (10, 4, (4, 3, 3)), (3, 9, (3,)), (50, 16, (13, 13, 12, 12))]
)
def test_steps_are_balanced(length: int, step: int, steps: tuple[int, ...]) -> None:
    assert balanced_steps(length, min(step, length)) == steps


def test_letters_name_ranges() -> None:
    design = OpenDomain(epsilon=1, letters="a-c0-2.-", length=6)
    assert isinstance(design.values, Texts)
    assert design.values.alphabet == "abc012.-"
    assert OpenDomain(epsilon=1, letters="a-z ", length=6).values.encoded(["a  b"]).status.tolist() == [0]


@pytest.mark.parametrize("texts", [Texts((2, 1), "ab"), Texts((4, 4), None)], ids=["letters", "bytes"])
def test_samples_of_texts_are_one_letter_all_letters_and_one_too_many(texts: Texts) -> None:
    assert [len(text) for text in texts.samples()] == [1, texts.length, texts.length + 1]
