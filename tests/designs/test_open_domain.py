"""Open domains: the law of a report by enumeration, its draw, its file and its words.

It tests designs/open_domain.py as well.
"""

from __future__ import annotations

import io
import itertools
import math
import pickle
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import warner
from references import reference
from warner.designs.open_domain import OpenDomain, squared_quantiles, tail_probabilities
from warner.designs.open_values import Texts, WholeNumbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

REFERENCE = reference("open_domains")
EXAMPLES = OpenDomain.examples()
SMALL = [
    OpenDomain._make(
        WholeNumbers(tuple(case["bits of the steps"])), tuple(case["odds"]), case["field"], tuple(case["weights"])
    )
    for case in REFERENCE["enumerated"]
]


def scripted(columns: Iterator[np.ndarray[Any, Any]]) -> Callable[[int], bytes]:
    """Return the next column of numbers, a draw for each value, whenever bytes are asked for."""
    return lambda _: next(columns).astype("<u8").tobytes()


def all_blocks(design: OpenDomain) -> np.ndarray[Any, Any]:
    return np.array(list(itertools.product(*map(range, design.values.block_sizes))))


def law(design: OpenDomain) -> tuple[np.ndarray[Any, Any], list[dict[bytes, Fraction]]]:
    """List every draw for each value: the possible reports, and the exact probability of each."""
    numbers = np.array(list(itertools.product(*map(range, design.draws))), dtype=np.uint64)
    tables = []
    for row in all_blocks(design):
        columns = iter(numbers.T)
        reports = design._draw(np.tile(row, (len(numbers), 1)), scripted(columns))
        assert next(columns, None) is None
        times = Counter(report.tobytes() for report in reports)
        tables.append({report: Fraction(number, len(numbers)) for report, number in times.items()})
    everything = sorted(set().union(*tables))
    return np.array([np.frombuffer(report, dtype=np.int64) for report in everything]), tables


def supported(design: OpenDomain, report: np.ndarray[Any, Any], blocks: np.ndarray[Any, Any]) -> bool:
    """Compare one report with one value, digit by digit."""
    g, total = design.field, 0
    for place, places in enumerate(design.digits[: report[0]]):
        d, x = int(report[place + 1]), int(blocks[place])
        for _ in range(places):
            total += (d % g) * (x % g)
            d, x = d // g, x // g
    return bool(total % g == report[-1])


@pytest.mark.parametrize("design", [*SMALL, *EXAMPLES], ids=lambda design: design.summary())
def test_every_draw_is_counted_and_epsilon_p_and_q_are_exact(design: OpenDomain) -> None:
    blocks, (reports, tables) = all_blocks(design), law(design)
    assert all(sum(table.values()) == 1 for table in tables)
    a, b = design.odds
    ratios = [
        max(table[report.tobytes()] for table in tables) / min(table[report.tobytes()] for table in tables)
        for report in reports
    ]
    assert max(ratios) == Fraction(a, b)
    assert design.ratio == (b, a)
    p, q = Fraction(a, a + (design.field - 1) * b), Fraction(1, design.field)
    assert_allclose([design.p, design.q, design.gain], [float(p), float(q), float(p - q)], rtol=1e-15)
    fits = np.array([[supported(design, report, row) for row in blocks] for report in reports])
    for level, weight in enumerate(design.weights, start=1):
        of_level = reports[:, 0] == level
        for held, table in zip(blocks, tables, strict=True):
            chances = [table[report.tobytes()] for report in reports[of_level]]
            assert sum(chances) == Fraction(weight, sum(design.weights))
            for u in range(len(blocks)):
                same = (blocks[u, :level] == held[:level]).all()
                support = sum((x for x, fit in zip(chances, fits[of_level, u], strict=True) if fit), Fraction(0))
                assert support / sum(chances) == (p if same else q)


def test_the_enumeration_is_that_of_the_prototype() -> None:
    for case, design in zip(REFERENCE["enumerated"], SMALL, strict=True):
        p, q = Fraction(design.p).limit_denominator(100), Fraction(design.q).limit_denominator(100)
        assert [[str(p)]] * design.levels == case["own prefix"]
        assert [[str(q)]] * design.levels == case["other prefix"]


def test_a_few_answers_are_drawn_as_many_are() -> None:
    for design in (*SMALL, OpenDomain(epsilon=4, bytes=20)):  # the last needs three draws for its direction
        rng = np.random.default_rng(3)
        blocks = np.column_stack([rng.integers(size, size=20) for size in design.values.block_sizes])
        limits = np.array([[int(rng.integers(2**64 // total * total, dtype=np.uint64)) for total in design.draws]] * 20)
        columns = iter(limits.T.astype("<u8"))
        many = design._draw(blocks, scripted(columns))
        for row, numbers, report in zip(blocks, limits.astype("<u8"), many, strict=True):
            source = io.BytesIO(numbers.tobytes())
            assert_array_equal(design.draw(row[np.newaxis], source.read)[0], report)
            assert source.read() == b""


def test_draws_are_those_of_the_prototype_from_the_same_bytes() -> None:
    given = REFERENCE["draws"]["design"]
    values = Texts(tuple(given["steps"]), given["alphabet"])
    odds, weights = tuple(map(int, given["odds"])), tuple(map(int, given["levels"]))
    design = OpenDomain._make(values, odds, given["field"], weights)  # type: ignore[arg-type]
    assert list(design.digits) == given["digits"]
    assert list(design.draws) == REFERENCE["draws"]["limits"]
    for vector in REFERENCE["draws"]["vectors"]:
        blocks = np.zeros((1, 2), dtype=np.int64) if not vector["answer"] else values.encoded([vector["answer"]]).blocks
        source = io.BytesIO(bytes.fromhex(vector["bytes"]))
        report = design.draw(blocks, source.read)[0]
        assert source.read() == b""
        told = vector["report"]
        number = int("".join(map(str, told["direction"])), 3)
        blocks_of = divmod(number, 27) if told["level"] == 2 else (number, 0)
        assert report.tolist() == [told["level"], *blocks_of, told["value"]]


def test_drawn_reports_follow_the_law() -> None:
    # 60,000 respondents, 5 of 16 answers: own prefixes are supported with p, others with q; five standard errors each.
    design = OpenDomain(epsilon=1, bits=4, step=2)
    rng = np.random.default_rng(5)
    reports = design.draw(np.tile([1, 1], (60_000, 1)), rng.bytes)
    assert design.report_form.known(reports).all()
    levels = np.bincount(reports[:, 0], minlength=3)[1:]
    for number, weight in zip(levels, design.weights, strict=True):
        part = weight / sum(design.weights)
        assert abs(number - 60_000 * part) < 5 * math.sqrt(60_000 * part * (1 - part))
    for value, chance in (((1, 1), design.p), ((1, 2), design.q), ((2, 1), design.q)):
        last = reports[reports[:, 0] == 2][:4000]
        fit = np.mean([supported(design, report, np.array(value)) for report in last])
        assert abs(fit - chance) < 5 * math.sqrt(chance * (1 - chance) / len(last))


def test_the_best_field_is_that_of_the_prototype() -> None:
    made = {"16 bits": {"bits": 16}, "3 letters": {"letters": "a-z", "length": 3}, "2 bytes": {"bytes": 2}}
    made["4 letters"] = {"letters": "a-z", "length": 4}
    for case in REFERENCE["fields"]:
        design = OpenDomain(epsilon=case["epsilon"], **made[case["block"]])  # type: ignore[arg-type]
        assert design.values.block_sizes == (case["size"],)
        assert (design.field, *design.report_form.points) == (case["within 5 %"], case["its points"])


def test_probabilities_are_those_of_the_prototype() -> None:
    for case in REFERENCE["law"]:
        design = OpenDomain(epsilon=case["epsilon"], bits=16, field=case["field"])
        assert [str(part) for part in design.odds] == case["odds"]
        assert_allclose(design.p, case["p"], rtol=1e-15)
        assert_allclose(design.q * (1 - design.q) / design.gain**2, case["variance"], rtol=1e-12)
        assert design.epsilon <= case["epsilon"]


def test_people_are_divided_among_levels_as_in_the_prototype() -> None:
    for case in REFERENCE["plans"]:
        sizes = [2**bits for bits in case["steps"]]
        parts = squared_quantiles(tail_probabilities(sizes))
        assert_allclose(parts, case["terms"], rtol=1e-4)  # the prototype rounds Euler's constant to 0.58
        if case["steps"] == [16] * len(case["steps"]):
            assert list(OpenDomain(epsilon=1, bits=case["bits"]).weights) == case["weights of 64"]


def test_a_report_takes_the_bits_that_the_prototype_says() -> None:
    case = REFERENCE["texts"][0]["epsilon 1"]
    design = OpenDomain(epsilon=1, letters="a-z", length=12)
    assert (design.field, list(design.digits), list(design.weights)) == (case["field"], case["digits"], case["weights"])
    assert_allclose(design.report_bits, case["bits of a report"], rtol=1e-12)
    assert_allclose(math.log2(design.values.number), REFERENCE["texts"][0]["bits"], rtol=1e-12)


@pytest.mark.parametrize(
    "design", [*EXAMPLES, OpenDomain(epsilon=2, letters="a-z ", length=9), OpenDomain(epsilon=1, bytes=5)]
)
def test_a_design_survives_its_file_and_a_pickle(design: OpenDomain, tmp_path: Path) -> None:
    design.save(tmp_path / "words.json")
    for copy in (warner.load_design(tmp_path / "words.json"), OpenDomain.from_json(design.to_json())):
        assert copy == design
        assert hash(copy) == hash(design)
    assert pickle.loads(pickle.dumps(design)) == design
    assert f"epsilon {design.shown_epsilon()}" in design.in_words()
    assert repr(design) == f"<{design.summary()}>"


def test_the_words_say_what_is_done() -> None:
    words = OpenDomain(odds=(3, 1), letters="abc", length=4, step=2, field=3).in_words()
    assert "texts of up to 4 letters of 3 (abc), 121 in all" in words  # 3 + 9 + 27 + 81, and (other)
    assert "reported as (other)" in words
    assert "the true one with probability 0.6, and each other one with probability 0.2" in words.replace("\n", " ")
    assert "about 1 in 3 of all possible answers" in words.replace("\n", " ")


TEXTS_IN_JSON = {"kind": "text", "alphabet": "ab", "normalize": [], "other": True}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"steps": [2, 0]}, "steps must be whole numbers"),
        ({"steps": [23, 1]}, "steps must be whole numbers from 1 to 22"),
        ({"steps": [10**12, 1]}, "steps must be whole numbers from 1 to 22"),  # with too many values to count
        ({"steps": [22, 1], "values": TEXTS_IN_JSON}, "blocks of at most"),
        ({"levels": ["1", "0"]}, "levels must be positive"),
        ({"levels": ["1"]}, "one weight for each step"),
        ({"levels": [1, 2]}, "decimal strings"),
        ({"field": 4}, "prime"),
        ({"field": 2.0}, "prime"),
        ({"odds": ["1", "3"]}, "larger"),
        ({"values": {"kind": "colour"}}, "values must be"),
        ({"values": {"kind": "text", "alphabet": "aa", "normalize": [], "other": True}}, "distinct"),
        ({"values": {"kind": "text", "alphabet": "A-", "normalize": ["lower"], "other": True}}, "'A' becomes 'a'"),
        ({"surplus": 1}, "damaged"),
    ],
)
def test_a_damaged_file_is_refused(changed: dict[str, Any], message: str, tmp_path: Path) -> None:
    fields = EXAMPLES[0].to_dict() | changed
    with pytest.raises(ValueError, match=message):
        OpenDomain.from_dict(fields)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "either epsilon or odds"),
        ({"epsilon": 1}, "either letters"),
        ({"epsilon": 1, "bits": 8, "bytes": 8}, "but got bytes and bits"),
        ({"epsilon": 1, "letters": "a-z"}, "length must be given with letters"),
        ({"epsilon": 1, "bits": 8, "length": 3}, "length must be left out with bits, but got 3"),
        ({"epsilon": 1, "letters": "abca", "length": 3}, "'a' occurs twice"),
        ({"epsilon": 1, "letters": "ae\u0301", "length": 3}, "must not be combining"),
        ({"epsilon": 1, "letters": "A-Z", "length": 3}, "'A' becomes 'a'"),
        ({"epsilon": 1, "letters": "\u1100\u1161", "length": 3}, "must not combine"),
        ({"epsilon": 1, "letters": "z-a", "length": 3}, "upwards"),
        ({"epsilon": 1, "letters": "a", "length": 3}, "at least 2"),
        ({"epsilon": 1, "letters": "a-z", "length": 1}, "length must be a whole number from 2"),
        ({"epsilon": 1, "bits": 48, "step": 23}, "step must be a whole number from 1 to 22"),
        ({"epsilon": 1, "bytes": 8, "step": 3}, "step must be a whole number from 2 to 2"),
        ({"epsilon": 1, "bits": 48, "field": 9}, "prime"),
        ({"epsilon": 1, "bits": 48, "field": 65521}, "points"),
        ({"epsilon": 1, "letters": "a-z", "length": 5, "normalize": ["nfc"]}, "normalize must be some of"),
    ],
)
def test_what_cannot_be_is_one_clear_line(given: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message) as refused:
        OpenDomain(**given)
    assert "\n" not in str(refused.value)


def test_a_design_needs_no_more_epsilon_than_it_is_given() -> None:
    for epsilon in (0.1, 0.5, 1, 2, 4, 8, 12):
        design = OpenDomain(epsilon=epsilon, bits=32)
        assert epsilon * (1 - 1e-12) < design.epsilon <= epsilon
        assert max(design.report_form.points) <= 2**23
        assert design.with_epsilon(1) == OpenDomain(epsilon=1, bits=32)


def test_randomizing_gives_what_it_was_given() -> None:
    words = OpenDomain(epsilon=1, letters="a-z", length=8)
    assert words.report_form.read([words.randomize("Privacy")]).status.tolist() == [0]
    many = words.randomize(["one", "far too long for this", "ö"])
    assert isinstance(many, list)
    assert not words.report_form.read(many).status.any()
    numbers = OpenDomain(epsilon=1, bits=48, step=16)
    drawn = numbers.randomize(np.arange(12).reshape(3, 4))
    assert drawn.shape == (3, 4)
    assert not numbers.report_form.read(drawn).status.any()
    assert isinstance(numbers.randomize(2**48 - 1), str)


@pytest.mark.parametrize(
    ("answers", "where"),
    [(["secret", "  "], "position 1"), (["", "secret"], "position 0"), (["secret", None], "1"), ([7, "secret"], "0")],
)
def test_answers_that_are_none_are_named_by_their_position_alone(answers: list[Any], where: str) -> None:
    with pytest.raises(ValueError, match=where) as refused:
        OpenDomain(epsilon=1, letters="a-z", length=8).randomize(answers)
    assert "secret" not in str(refused.value)
    assert "nothing was randomized" in str(refused.value)


def test_numbers_out_of_range_are_refused() -> None:
    design = OpenDomain(epsilon=1, bits=8)
    for answers in ([256], np.array([3, -1]), np.array([256], dtype=np.uint64), [1.5], [True], [2**70]):
        with pytest.raises(ValueError, match="whole numbers in the range"):
            design.randomize(answers)
    assert isinstance(design.randomize(255.0), str)


@pytest.mark.parametrize(
    "asked",
    [
        lambda design: warner.Tally(design, [1]),
        lambda design: warner.inv([1, 2], design),
        lambda design: warner.mle([1, 2], design),
        lambda design: warner.certificate([1, 2], [0.5, 0.5], design),
        lambda design: warner.simulate.reports_of_population([0.5, 0.5], 10, design, rng=np.random.default_rng(1)),
        lambda design: warner.simulate.reports_of_people([1, 1], design, rng=np.random.default_rng(1)),
        lambda design: warner.Product({"first": design, "second": warner.RandomizedResponse(2, epsilon=1)}),
        lambda design: warner.RandomizedResponse(2, epsilon=1).as_channel().then(design),
        lambda design: warner.regress("y ~ x", {"y": ["1:00:0"], "x": [1]}, design=design),
        lambda design: warner.explain("x ~ y", {"y": ["1:00:0"], "x": [1]}, {"y": design}),
        lambda design: warner.associate({"y": ["1:00:0"], "z": ["1:00:0"]}, {"y": design, "z": design}),
        lambda design: design.k,
        lambda design: design.symmetry,
    ],
)
def test_what_needs_a_list_of_answers_refuses_an_open_domain(asked: Callable[[Any], object]) -> None:
    with pytest.raises((TypeError, AttributeError)) as refused:
        asked(OpenDomain(epsilon=1, bits=8))
    said = "an open domain has no list of answers, which this needs; warner.discover finds its frequent values, or "
    assert str(refused.value) == f"{said}close it with design.closed([...])"


def test_other_attributes_are_missing_as_everywhere() -> None:
    design: Any = OpenDomain(epsilon=1, bits=8)
    assert getattr(design, "source", None) is None
    with pytest.raises(AttributeError, match="'OpenDomain' object has no attribute 'shares'"):
        assert design.shares
