"""Randomized response: odds, four parametrisations, and the file; what all designs share is in test_contract."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from references import reference
from strategies import epsilons
from tables import exact
from warner import Channel, Memoized, RandomizedResponse
from warner.designs import design_from_json

if TYPE_CHECKING:
    from collections.abc import Callable

REFERENCE = reference("reference_values")["cases"]
sizes = st.one_of(st.integers(2, 50), st.sampled_from([2, 10**3, 10**6, 10**7]))


def exact_epsilon(design: RandomizedResponse) -> Any:
    a, b = design.odds
    return mpmath.log(mpmath.mpf(a) / mpmath.mpf(b))


# Odds and epsilon


@pytest.mark.parametrize("case", [c for c in REFERENCE if c["kind"] == "odds"], ids=lambda c: str(c["id"]))
def test_odds_from_epsilon_match_the_reference(case: dict[str, Any]) -> None:
    expected = case["expected"]
    design = RandomizedResponse(case["input"]["K"], epsilon=case["input"]["epsilon"])
    a, b = design.odds
    assert Fraction(a, b) == Fraction(int(expected["a"]), case["input"]["c"])
    assert design.p == pytest.approx(expected["p"]["float"], rel=1e-15)
    assert design.q == pytest.approx(expected["q"]["float"], rel=1e-15)
    with mpmath.workdps(60):
        assert design.epsilon >= exact_epsilon(design)
        assert design.epsilon - exact_epsilon(design) < 2.3e-16


@pytest.mark.parametrize("case", [c for c in REFERENCE if c["kind"] == "odds_from"], ids=lambda c: str(c["id"]))
def test_other_parametrisations_match_the_reference(case: dict[str, Any]) -> None:
    given = dict(case["input"])
    design = RandomizedResponse(given.pop("K"), **given)
    expected = case["expected"]
    a, b = design.odds
    assert [a, b] == expected["odds"]
    assert Fraction(a, design.total) == Fraction(expected["p"])
    assert Fraction(b, design.total) == Fraction(expected["q"])
    assert Fraction(a - b, design.total) == Fraction(expected["keep"])
    assert 1 - Fraction(a - b, design.total) == Fraction(expected["redraw"])


@given(epsilon=epsilons, k=sizes)
def test_never_more_epsilon_is_spent_than_asked_and_hardly_less(epsilon: float, k: int) -> None:
    design = RandomizedResponse(k, epsilon=epsilon)
    a, b = design.odds
    assert a + (k - 1) * b < 2**62
    with mpmath.workdps(60):
        asked, spent = min(mpmath.mpf(str(epsilon)), mpmath.mpf(epsilon)), exact_epsilon(design)
        assert 0 <= asked - spent < mpmath.mpf(b) / a * 2 ** -min(52, 61 - (a // b + k).bit_length())
        assert spent <= design.epsilon <= epsilon
        assert mpmath.mpf(design.shown_epsilon()) >= spent


@given(odds=st.tuples(st.integers(1, 2**30), st.integers(1, 2**30)), digits=st.integers(1, 25))
def test_shown_epsilon_is_rounded_up_by_less_than_one_digit(odds: tuple[int, int], digits: int) -> None:
    design = RandomizedResponse(2, odds=odds)
    with mpmath.workdps(60):
        spent, shown = abs(exact_epsilon(design)), mpmath.mpf(design.shown_epsilon(digits))
        assert spent <= shown <= spent * (1 + mpmath.mpf(10) ** (1 - digits))
        assert spent <= design.epsilon < spent * (1 + mpmath.mpf(2) ** -51) + mpmath.mpf(2) ** -1000


def test_probabilities_by_hand() -> None:
    design = RandomizedResponse(["never", "once", "often"], odds=(3, 1))
    assert (design.k, design.odds, design.p, design.q) == (3, (3, 1), 0.6, 0.2)
    assert design.epsilon == pytest.approx(np.log(3), rel=1e-15)
    assert_array_equal(design.channel(), [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])


@pytest.mark.parametrize(
    ("parameters", "odds"),
    [
        ({"truth": 0.9}, (18, 1)),  # 9/10 against 1/20 each: as written, not the nearest double
        ({"truth": "3/4"}, (6, 1)),
        ({"truth": Decimal("0.5")}, (2, 1)),
        ({"truth": np.float32(0.9)}, (18, 1)),
        ({"truth": Fraction(1, 3)}, (1, 1)),
        ({"truth": 1}, (1, 0)),
        ({"truth": 0}, (0, 1)),
        ({"truth": " 1e-1 "}, (2, 9)),
        ({"redraw": 0}, (1, 0)),
        ({"redraw": 1}, (1, 1)),
        ({"redraw": "0.3"}, (8, 1)),  # truth 7/10 + 1/10, each lie 1/10
        ({"odds": (6, 4)}, (3, 2)),
        ({"odds": "3:2"}, (3, 2)),
        ({"odds": (1.5, 0.5)}, (3, 1)),
        ({"odds": (0, 7)}, (0, 1)),
        ({"odds": [np.int64(4), np.int64(2)]}, (2, 1)),
    ],
)
def test_numbers_are_taken_as_written(parameters: dict[str, Any], odds: tuple[int, int]) -> None:
    assert RandomizedResponse(3, **parameters).odds == odds


def test_legal_extremes() -> None:
    assert RandomizedResponse(3, truth=1).epsilon == float("inf")
    assert RandomizedResponse(3, truth=0).epsilon == float("inf")
    assert RandomizedResponse(3, odds=(1, 1)).epsilon == 0.0
    assert RandomizedResponse(2, odds=(1, 3)).epsilon == RandomizedResponse(2, odds=(3, 1)).epsilon
    assert RandomizedResponse(3, truth=1).shown_epsilon() == "inf"
    assert RandomizedResponse(3, odds=(1, 1)).shown_epsilon() == "0"


@pytest.mark.parametrize("epsilon", ["1e-9", 1e-9, 40, "0.1", 0.1, 2.5])
@pytest.mark.parametrize("k", [2, 10**7])
def test_the_shown_epsilon_of_a_round_request_is_that_request_or_less(epsilon: Any, k: int) -> None:
    assert float(RandomizedResponse(k, epsilon=epsilon).shown_epsilon()) <= float(epsilon)


@given(epsilon=epsilons)
def test_the_same_answers_with_another_epsilon(epsilon: float) -> None:
    wanted = RandomizedResponse(["never", "once", "often"], epsilon=epsilon)
    assert RandomizedResponse(["never", "once", "often"], odds=(1, 7)).with_epsilon(epsilon) == wanted
    assert RandomizedResponse.variants(["never", "once", "often"], epsilon) == {"randomized response": wanted}


@pytest.mark.parametrize("odds", [(3, 1), (1, 4), (1, 0), (0, 1), (1, 1), (2**61, 1)])
def test_the_same_design_as_a_table(odds: tuple[int, int]) -> None:
    design = RandomizedResponse(["a", "b", "c"], odds=odds)
    table = design.as_channel()
    assert isinstance(table, Channel)
    assert table.domain == table.outputs == design.domain
    assert exact(table) == exact(design)
    assert table.ratio == design.ratio
    assert_array_equal(table.channel(), design.channel())


# Domains


def test_ten_million_answers_cost_no_object_a_label() -> None:
    design = RandomizedResponse(10**7, epsilon=1)
    assert isinstance(design.domain, range)
    assert len(pickle.dumps(design)) < 300
    assert len(design.to_json()) < 300


def test_order_labels_and_odds_tell_designs_apart() -> None:
    designs = [
        RandomizedResponse(["a", "b"], odds=(3, 1)),
        RandomizedResponse(["b", "a"], odds=(3, 1)),
        RandomizedResponse(["0", "1"], odds=(3, 1)),
        RandomizedResponse([0, 1], odds=(3, 1)),
        RandomizedResponse([1, 0], odds=(3, 1)),
        RandomizedResponse([0, 1], odds=(1, 3)),
        RandomizedResponse(range(1, 3), odds=(3, 1)),
        RandomizedResponse(range(0, 4, 2), odds=(3, 1)),
    ]
    assert len(set(designs)) == len(designs)


def test_a_design_is_frozen() -> None:
    with pytest.raises(AttributeError):
        RandomizedResponse(2, epsilon=1).odds = (1, 1)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("design", "text"),
    [
        (
            RandomizedResponse(["yes", "no"], odds=(3, 1)),
            "2 answers ('yes', 'no'): truth 0.75, each lie 0.25, epsilon 1.099>",
        ),
        (RandomizedResponse(4, odds=(5, 1)), "4 answers (0, 1, 2, 3): truth 0.625, each lie 0.125, epsilon 1.61>"),
        (
            RandomizedResponse(100, epsilon=40),
            "100 answers (0, 1, 2, ..., 99): truth 1, each lie 4.248e-18, epsilon 40>",
        ),
    ],
)
def test_repr_says_what_a_respondent_does(design: RandomizedResponse, text: str) -> None:
    assert repr(design) == f"<RandomizedResponse among {text}"


def test_the_channel_is_refused_where_it_would_fill_the_memory() -> None:
    assert_allclose(RandomizedResponse(4096, epsilon=1).channel().sum(axis=1), 1, rtol=1e-12)
    with pytest.raises(ValueError, match=r"K = 4097.*16,785,409 numbers.*the limit is K = 4096"):
        RandomizedResponse(4097, epsilon=1).channel()


@pytest.mark.parametrize("k", [2, 3, 1000])
def test_rates_of_all_digits_of_a_double_are_taken_exactly(k: int) -> None:
    rate = Fraction(24263221679834087, 10**19)
    designs = [
        RandomizedResponse(k, redraw=0.0024263221679834087),
        RandomizedResponse(k, redraw="0.0024263221679834087"),
        RandomizedResponse(k, truth=1 - rate + rate / k),
        RandomizedResponse(k, odds=(1 - rate + rate / k, rate / k)),
    ]
    assert designs[0].total > 2**62
    for design in designs:
        a, b = design.odds
        assert Fraction(b, a + (k - 1) * b) == rate / k
        assert Fraction(a, a + (k - 1) * b) == 1 - rate + rate / k
        assert design_from_json(design.to_json()) == design == designs[0]
    truth = np.zeros(5000, dtype=int)
    # 0.24 % of 5,000 reports are redrawn, 12 of them: more than 60 with probability 1e-22.
    assert (designs[0].randomize(truth, codes=True) != truth).sum() <= 60
    again = Memoized(designs[0], RandomizedResponse(k, redraw=0.012345678901234567))
    assert again.law.symmetry is not None
    assert design_from_json(again.to_json()) == again


# Bad input (numbers and labels on their own: test_exact, test_labels)


@pytest.mark.parametrize(
    ("make", "error", "complaint"),
    [
        (lambda: RandomizedResponse(3), TypeError, "exactly one of epsilon, truth, redraw and odds, but got none"),
        (lambda: RandomizedResponse(3, epsilon=1, truth=0.5), TypeError, "but got epsilon and truth"),
        (lambda: RandomizedResponse(1, epsilon=1), ValueError, "domain must have at least 2 answers .*but got 1"),
        (lambda: RandomizedResponse(["a", "a"], epsilon=1), ValueError, "'a' occurs 2 times"),
        (lambda: RandomizedResponse(["a", 1], epsilon=1), TypeError, "all strings or all integers, but got int, str"),
        (lambda: RandomizedResponse(10**24, odds=(1, 1)), ValueError, "fewer than 2.62"),
        (lambda: RandomizedResponse(2, epsilon=0), ValueError, "epsilon must be positive.*but got 0"),
        (lambda: RandomizedResponse(2, epsilon=9e-10), ValueError, "from 1e-09 to 40.*but got 9e-10"),
        (lambda: RandomizedResponse(2, epsilon="40.0001"), ValueError, "but got '40.0001'"),
        (lambda: RandomizedResponse(2, epsilon=10**400), ValueError, "epsilon must be"),
        (lambda: RandomizedResponse(2, epsilon="strong"), ValueError, "epsilon must be.*got 'strong'"),
        (lambda: RandomizedResponse(2, truth="1/0"), ValueError, "truth must be.*got '1/0'"),
        (lambda: RandomizedResponse(2, epsilon=True), TypeError, "epsilon must be a number"),
        (lambda: RandomizedResponse(2, truth=1.1), ValueError, "truth must be a probability from 0 to 1, but got 1.1"),
        (
            lambda: RandomizedResponse(2, redraw=-0.1),
            ValueError,
            "redraw must be a probability from 0 to 1, but got -0.1",
        ),
        (lambda: RandomizedResponse(2, odds=(0, 0)), ValueError, "odds must be two numbers of at least 0, not both 0"),
        (lambda: RandomizedResponse(2, odds="3"), TypeError, 'odds must be "a:b" or a pair'),
        (lambda: RandomizedResponse(2, odds=(2**320, 1)), ValueError, r"2\^320, .* 2\^321; give fewer digits"),
        (lambda: RandomizedResponse(3, truth="1e-99"), ValueError, r"below 2\^320, .*; give fewer digits"),
        (
            lambda: RandomizedResponse(2**40, epsilon=1e-9),
            ValueError,
            "epsilon must be at least about .* for K = 1099511627776",
        ),
    ],
)
def test_bad_designs(make: Callable[[], object], error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        make()


# The file


def test_the_json_format_is_as_documented() -> None:
    document = json.loads(RandomizedResponse([5, 6, 7], odds="5:2").to_json())
    assert document == {
        "format": "warner design",
        "version": 1,
        "mechanism": "randomized response",
        "domain": {"first": 5, "size": 3},
        "odds": ["5", "2"],
    }


def test_a_design_survives_its_file(tmp_path: Path) -> None:
    design = RandomizedResponse(["ja", "nein", "weiß nicht"], epsilon="0.7")
    design.save(tmp_path / "survey.json")
    assert RandomizedResponse.load(tmp_path / "survey.json") == design
    design.save(str(tmp_path / "survey.json"))  # over the old one
    assert [path.name for path in tmp_path.iterdir()] == ["survey.json"]
    assert "weiß nicht" in (tmp_path / "survey.json").read_text(encoding="utf-8")


def test_a_reader_never_sees_half_a_design(tmp_path: Path) -> None:
    path = tmp_path / "survey.json"
    designs = [RandomizedResponse([f"{i} {'x' * 2000}" for i in range(200)], odds=(n, 1)) for n in (2, 3)]
    designs[0].save(path)
    with ThreadPoolExecutor(3) as threads:  # two writers, and this reader
        writing = [threads.submit(lambda d=d: [d.save(path) for _ in range(60)]) for d in designs]  # type: ignore[misc]
        while not all(job.done() for job in writing):
            assert RandomizedResponse.load(path) in designs
        for job in writing:
            job.result()
    assert [entry.name for entry in tmp_path.iterdir()] == ["survey.json"]


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "survey.json"
    old = RandomizedResponse(2, odds=(3, 1))
    old.save(path)

    def half(self: Path, text: str, encoding: str) -> int:
        with self.open("w", encoding=encoding) as file:
            file.write(text[: len(text) // 2])
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "write_text", half)
    with pytest.raises(OSError, match="no space"):
        RandomizedResponse(2, odds=(5, 1)).save(path)
    assert RandomizedResponse.load(path) == old
    assert [entry.name for entry in tmp_path.iterdir()] == ["survey.json"]


def test_a_design_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "survey.json").mkdir()  # a folder stands where the file should go
    with pytest.raises(OSError, match=r"survey\.json"):
        RandomizedResponse(2, epsilon=1).save(tmp_path / "survey.json")
    assert [path.name for path in tmp_path.iterdir()] == ["survey.json"]
    with pytest.raises(FileNotFoundError):
        RandomizedResponse(2, epsilon=1).save(tmp_path / "nowhere" / "survey.json")


GOOD = json.loads(RandomizedResponse(["a", "b"], odds=(3, 1)).to_json())


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ("", "but this file is empty"),
        ("answer\nyes\n", "a file of another kind"),
        ('{"format": "warner des', "cannot be read"),
        ("[1, 2]", 'must say "format": "warner design"'),
        ("{}", 'must say "format": "warner design"'),
        ({**GOOD, "format": "other"}, 'must say "format": "warner design"'),
        ({**GOOD, "version": 2}, "of version 2, but this warner reads version 1; .* or a newer one"),
        ({**GOOD, "version": "1"}, "of version '1'"),
        ({**GOOD, "version": True}, "of version True"),
        (json.dumps(GOOD)[:-1] + ', "odds": ["9", "1"]}', "a field is repeated"),
        ("[" * 100_000, "cannot be read"),
        ({**GOOD, "domain": {"first": 0, "size": 10**24}}, "fewer than 2.62"),
        ({**GOOD, "mechanism": "unary encoding"}, "'randomized response', but this design says 'unary encoding'"),
        ({key: value for key, value in GOOD.items() if key != "odds"}, "damaged: .*'odds'"),
        ({**GOOD, "epsilon": 1}, "damaged: it must not have the field 'epsilon'"),
        ({**GOOD, "odds": [3, 1]}, "odds must be two whole numbers as decimal strings"),
        ({**GOOD, "odds": ["3", "-1"]}, "odds must be two whole numbers"),
        ({**GOOD, "odds": ["3", "1", "1"]}, "odds must be two whole numbers"),
        ({**GOOD, "odds": ["3", "½"]}, "odds must be two whole numbers"),
        ({**GOOD, "odds": ["9" * 5000, "1"]}, "odds must be two whole numbers"),
        ({**GOOD, "odds": ["0", "0"]}, "not both 0"),
        ({**GOOD, "odds": ["9" * 99, "1"]}, r"below 2\^320"),
        ({**GOOD, "domain": "ab"}, "domain must be a list of labels"),
        ({**GOOD, "domain": {"first": 0}}, "domain must be a list of labels"),
        ({**GOOD, "domain": {"first": 0, "size": "3"}}, "domain must be a list of labels"),
        ({**GOOD, "domain": {"first": 0, "size": True}}, "domain must be a list of labels"),
        ({**GOOD, "domain": {"first": 0, "size": 1}}, "at least 2 answers"),
        ({**GOOD, "domain": ["a", "a"]}, "distinct labels"),
        ({**GOOD, "domain": ["a", 1]}, "all strings or all integers"),
        ({**GOOD, "domain": {"first": 2**63, "size": 3}}, "64 bits"),
    ],
)
def test_foreign_and_damaged_designs(document: Any, complaint: str, tmp_path: Path) -> None:
    text = document if isinstance(document, str) else json.dumps(document)
    with pytest.raises(ValueError, match=complaint):
        RandomizedResponse.from_json(text)
    (tmp_path / "broken.json").write_text(text)
    with pytest.raises(ValueError, match=r"broken\.json: .*" + complaint):
        RandomizedResponse.load(tmp_path / "broken.json")


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "picture.json").write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(ValueError, match=r"picture\.json"):
        RandomizedResponse.load(tmp_path / "picture.json")
