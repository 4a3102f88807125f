"""Split questionnaires and select-all questions: exact enumeration of the draw, reference numbers, files, bad input."""

from __future__ import annotations

import itertools
import math
import pickle
from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

import warner
from references import reference
from warner.designs import SEVERAL, design_from_dict, device_from_dict
from warner.designs.draws import Compared
from warner.designs.questionnaires import best_number

if TYPE_CHECKING:
    from pathlib import Path

CASES = {case["id"]: case for case in reference("asking")["cases"] if case["item"] in {2, 3}}
COIN = warner.RandomizedResponse(["yes", "no"], odds=(3, 1))
SMALL: list[Any] = [
    warner.SplitQuestionnaire({"a": COIN, "b": warner.RandomizedResponse(3, odds=(2, 1))}, asked=1),
    warner.SplitQuestionnaire({"a": COIN, "b": COIN, "c": warner.RandomizedResponse(2, odds=(1, 4))}, asked=2),
    warner.SplitQuestionnaire({"a": COIN, "b": warner.SubsetSelection(4, odds=(5, 1), size=2)}, asked=2),
    warner.SplitQuestionnaire(
        {"a": COIN, "b": warner.Channel([["1/6", "5/6"], ["1/2", "1/2"]], ["u", "v"], 2)}, asked=1
    ),
    device_from_dict({**warner.SelectAll(["x", "y", "z"], 1).to_dict(), "odds": ["3", "1"]}),
    device_from_dict({**warner.SelectAll(["x", "y", "z"], 1).to_dict(), "odds": ["3", "1"], "asked": 2}),
    device_from_dict({**warner.SelectAll(["w", "x", "y", "z"], 1, 2).to_dict(), "odds": ["3", "1"]}),
    device_from_dict({**warner.SelectAll(["x", "y", "z"], 1, 1).to_dict(), "odds": ["5", "2"]}),
]
EXAMPLES = [design for kind in SEVERAL.values() for design in kind.examples()]
small = pytest.mark.parametrize("device", SMALL, ids=repr)


def in_bytes(number: int, below: int) -> bytes:
    """Return the bytes from which this number below a limit is drawn."""
    if not isinstance(below, Compared):
        return number.to_bytes(8, "little")
    assert below <= 128  # then the first byte is never that of a ratio, and decides
    return bytes([(2 * number + 1) * 128 // below])


def law(device: Any, answers: tuple[int, ...]) -> dict[tuple[Any, ...], Fraction]:
    """Enumerate all draws for the answers of one respondent: the exact probability of every row of reports."""

    def drawn(script: bytes) -> tuple[tuple[Any, ...], bytes]:
        rest = script

        def bytes_of_script(size: int) -> bytes:
            nonlocal rest
            if len(rest) < size:
                raise EOFError
            taken, rest = rest[:size], rest[size:]
            return taken

        columns = device.draw([np.array([answer]) for answer in answers], bytes_of_script)
        return tuple(column[0] for column in columns.values()), rest

    found: dict[tuple[Any, ...], Fraction] = defaultdict(Fraction)

    def explore(script: bytes, limits: tuple[tuple[int, ...], ...], chance: Fraction) -> None:
        """Extend the script by the draws of the next block: the questions, then each report in turn."""
        try:
            row, rest = drawn(script)
        except EOFError:
            for numbers in itertools.product(*map(range, limits[0])):
                more = b"".join(in_bytes(*pair) for pair in zip(numbers, limits[0], strict=True))
                explore(script + more, limits[1:], chance / math.prod(limits[0]))
            return
        if not rest:
            found[row] += chance

    if getattr(device, "at_most", None) is not None:
        explore(b"", (device.draws,), Fraction(1))
        return dict(found)
    # Which reports follow is decided by the questions that are drawn: try every set of `asked` designs in turn.
    d = len(device.parts)
    for subset in itertools.combinations(range(d), device.asked):
        before = dict(found)
        found.clear()
        explore(b"", (device.draws[:d], *(device.parts[j].draws for j in subset)), Fraction(1))
        mine = {row: p for row, p in found.items() if all((row[j] is None) == (j not in subset) for j in range(d))}
        found.clear()
        found |= before | mine
    return dict(found)


def answers_of(device: Any) -> list[tuple[int, ...]]:
    rows = list(itertools.product(*(range(part.k) for part in device.parts)))
    return [row for row in rows if getattr(device, "at_most", None) is None or row.count(0) <= device.at_most]


@small
def test_all_draws_spend_epsilon_exactly(device: Any) -> None:
    laws = [law(device, answers) for answers in answers_of(device)]
    assert all(sum(one.values()) == 1 for one in laws)
    largest = max(one[row] / other[row] for one in laws for other in laws for row in one)
    assert largest == Fraction(*device.ratio[::-1])
    assert device.epsilon == pytest.approx(math.log(largest), rel=1e-15)
    assert device.epsilon >= math.log(largest) * (1 - 1e-15)


@small
def test_drawn_questions_are_independent_of_answers_and_reports_follow_their_designs(device: Any) -> None:
    d = len(device.parts)
    if getattr(device, "at_most", None) is not None:
        pytest.skip("no question is drawn")
    for answers in answers_of(device):
        found = law(device, answers)
        blanks: dict[tuple[bool, ...], Fraction] = defaultdict(Fraction)
        for row, chance in found.items():
            blanks[tuple(report is None for report in row)] += chance
        assert set(blanks.values()) == {Fraction(1, math.comb(d, device.asked))}
        assert len(blanks) == math.comb(d, device.asked)
        for j, (part, answer) in enumerate(zip(device.parts, answers, strict=True)):
            alone = part.as_channel() if hasattr(part, "size") is False else None
            if alone is not None:
                for column, label in enumerate(alone.outputs):
                    share = sum(p for row, p in found.items() if row[j] == label)
                    assert share == Fraction(device.asked, d) * Fraction(
                        int(alone.weights[answer, column]), alone.total
                    )


@pytest.mark.parametrize("device", [device for device in SMALL if getattr(device, "at_most", None)], ids=repr)
def test_one_label_is_reported_as_the_formula_has_it(device: Any) -> None:
    (a, b), k, limit = device.odds, len(device.parts), device.at_most
    for answers in answers_of(device):
        found = {row[0]: chance for row, chance in law(device, answers).items()}
        assert set(found) == set(device.device.domain)
        for option, answer in zip(device.questions, answers, strict=True):
            assert found[option] == Fraction(b if answer else a, limit * a + k * b)
            table = device.designs[option]
            assert found[option] == Fraction(int(table.weights[answer, 0]), table.total)


@pytest.mark.parametrize("epsilon", [0.1, 1, 2.5, 7, 20])
@pytest.mark.parametrize(("options", "limit"), [(3, None), (20, None), (3, 1), (20, 3), (200, 199)])
def test_no_more_than_epsilon_is_spent(epsilon: float, options: int, limit: int | None) -> None:
    device = warner.SelectAll([f"o{i}" for i in range(options)], epsilon, limit)
    assert epsilon * (1 - 1e-9) < device.epsilon <= epsilon
    split = warner.SplitQuestionnaire({f"q{i}": 2 + i % 3 for i in range(min(options, 6))}, epsilon)
    assert epsilon * (1 - 1e-9) < split.epsilon <= epsilon


def test_epsilon_is_the_sum_of_the_largest() -> None:
    by_odds = {f"q{a}": warner.RandomizedResponse(["yes", "no"], odds=(a, 1)) for a in (2, 7, 3, 5)}
    assert warner.SplitQuestionnaire(by_odds, asked=2).ratio == (1, 35)
    assert warner.SplitQuestionnaire(by_odds, asked=4).ratio == (1, 210)
    assert warner.SplitQuestionnaire(by_odds, asked=2).shown_epsilon() == "3.556"  # ln 35 = 3.55534...
    by_odds["direct"] = warner.RandomizedResponse(["yes", "no"], odds=(1, 0))
    assert warner.SplitQuestionnaire(by_odds, asked=1).epsilon == math.inf


# Reference numbers


def variance(device: Any, share: float) -> float:
    """Variance of an unbiased share, times the number of respondents."""
    symmetry = device.parts[0].symmetry
    each = float(symmetry.share_variance(Fraction(share)))
    return each * float(len(device.parts)) / float(device.asked)


def questionnaire(questions: int, epsilon: float, asked: int) -> warner.SplitQuestionnaire:
    return warner.SplitQuestionnaire({f"q{i}": ["yes", "no"] for i in range(questions)}, epsilon, asked)


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("asked")])
def test_variances_of_shares(name: str) -> None:
    given = CASES[name]["input"]
    made = questionnaire(given["questions"], given["epsilon"], given["asked"])
    assert variance(made, given["share"]) == pytest.approx(CASES[name]["value"], rel=CASES[name]["tolerance"])


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("crossover")])
def test_from_this_epsilon_on_asking_all_questions_is_better_than_one(name: str) -> None:
    d, epsilon, tolerance = CASES[name]["input"]["questions"], CASES[name]["value"], CASES[name]["tolerance"]
    for around, order in ((epsilon - tolerance, 1), (epsilon + tolerance, -1)):
        every, one = (variance(questionnaire(d, around, asked), 0.5) for asked in (d, 1))
        assert (every - one) * order > 0


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("best_s")])
def test_the_best_number_of_questions(name: str) -> None:
    given, value = CASES[name]["input"], CASES[name]["value"]
    questions = {f"q{i}": ["yes", "no"] for i in range(given["questions"])}
    assert warner.SplitQuestionnaire(questions, given["epsilon"]).asked == value
    assert warner.SelectAll(list(questions), given["epsilon"]).asked == value
    by_hand = min(range(1, 21), key=lambda s: 1 / math.tanh(given["epsilon"] / 2 / s) ** 2 / s)
    assert best_number([2] * given["questions"], Fraction(given["epsilon"])) == by_hand


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("picked")])
def test_variances_with_at_most_so_many_options(name: str) -> None:
    given, value, tolerance = CASES[name]["input"], CASES[name]["value"], CASES[name]["tolerance"]
    names = [f"o{i}" for i in range(given["options"])]
    picked: Any = warner.SelectAll(names, given["epsilon"], given["at_most"])
    base, more = (picked.parts[0].weights[row, 0] / picked.parts[0].total for row in (1, 0))
    counted = base + (more - base) * given["share"]
    assert counted * (1 - counted) / (more - base) ** 2 == pytest.approx(value["variance"], rel=tolerance)
    assert picked.device.epsilon == pytest.approx(value["inner_epsilon"], rel=tolerance)
    one = questionnaire(given["options"], given["epsilon"], 1)
    assert variance(one, given["share"]) == pytest.approx(value["ask_one"], rel=tolerance)


def test_every_reference_case_is_in_a_test() -> None:
    assert len(CASES) == 14
    assert {name.partition("_")[0] for name in CASES} == {"asked", "crossover", "best", "picked"}


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("k", [2, 3, 5, 8, 13, 19])
def test_designs_are_those_that_comparing_mechanisms_recommends(k: int, epsilon: float) -> None:
    made: Any = warner.SplitQuestionnaire({"a": k, "b": k}, epsilon, 1).designs["a"]
    compared = warner.mechanisms(k, epsilon=epsilon)
    recommended = {one.name: one.total for one in compared.candidates}[compared.recommended]
    assert float(made.symmetry.total_variance(k)) <= 1.05 * min(one.total or 1e9 for one in compared.candidates)
    assert made.mechanism == compared.recommended or recommended == pytest.approx(
        float(made.symmetry.total_variance(k)), rel=0.05
    )


# Intervals given the blanks


@pytest.mark.parametrize("share", [0.0, 0.03, 0.2, 0.5, 1.0])
@pytest.mark.parametrize(("d", "epsilon"), [(2, 1), (3, 2), (3, 5)])
def test_coverage_given_the_blanks_by_enumeration(share: float, d: int, epsilon: float) -> None:
    n, device = 24, questionnaire(d, epsilon, 1)
    coin: Any = device.parts[0]
    p, q = float(coin.symmetry.p), float(coin.symmetry.q)
    marginal = 0.0
    for asked in range(1, n + 1):
        tally = warner.Tally(
            coin, [[c, asked - c] for c in range(asked + 1)], by=("c",), groups=tuple((c,) for c in range(asked + 1))
        )
        table = warner.estimate(tally, method="inv").table()
        low, high = table["low"][::2], table["high"][::2]
        # Population: each respondent who is asked reports yes with the same probability, whatever the draw was.
        chances = binom.pmf(np.arange(asked + 1), asked, q + (p - q) * share)
        covered = chances[(low <= share + 1e-12) & (share - 1e-12 <= high)].sum()
        assert covered >= 0.95 - 1e-12
        marginal += binom.pmf(asked, n, 1 / d) * covered
        # All n respondents, of whom a fixed number says yes: the respondents who are asked are drawn among them.
        holders = round(n * share)
        drawn = np.zeros(asked + 1)
        for h in range(asked + 1):
            reports = np.convolve(binom.pmf(np.arange(h + 1), h, p), binom.pmf(np.arange(asked - h + 1), asked - h, q))
            drawn += hypergeom.pmf(h, n, holders, asked) * reports
        inside = (low <= holders / n + 1e-12) & (holders / n - 1e-12 <= high)
        assert drawn[inside].sum() >= 0.95 - 1e-12
    assert marginal >= (0.95 - 1e-12) * (1 - (1 - 1 / d) ** n)


# Reports, files and words


def test_reports_come_in_columns_with_blanks() -> None:
    device = warner.SplitQuestionnaire({"smokes": ["yes", "no"], "drinks": 3, "age": 40}, 2, 2)
    answers = {"smokes": ["yes", "no"] * 50, "drinks": [0, 1, 2, 0] * 25, "age": list(range(40)) * 2 + [7] * 20}
    reports = device.randomize(answers)
    assert list(reports) == ["smokes", "drinks", "age"]
    asked = np.array([[report is not None for report in column] for column in reports.values()])
    assert (asked.sum(axis=0) == 2).all()
    assert not asked.all(axis=1).any()  # false alarm: a column without a blank has probability (2/3)^100 < 1e-17
    for name, design in device.designs.items():
        assert design.law is not None
        warner.tally([report for report in reports[name] if report is not None], design)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_answers_in_a_data_frame(library: str) -> None:
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"b": [1, 0, 2], "other": [1, 2, 3], "a": ["yes", "no", "no"]})
    direct = {
        "a": warner.RandomizedResponse(["yes", "no"], odds=(1, 0)),
        "b": warner.RandomizedResponse(3, odds=(1, 0)),
    }
    every = warner.SplitQuestionnaire(direct, asked=2)
    assert every.randomize(frame) == {"a": ["yes", "no", "no"], "b": [1, 0, 2]}


def test_chosen_options_as_lists_and_as_columns() -> None:
    device = device_from_dict({**warner.SelectAll(["x", "y", "z"], 1).to_dict(), "odds": ["1", "0"], "asked": 3})
    assert isinstance(device, warner.SelectAll)
    yes, no = "yes", "no"
    columns = {"x": [yes, no, no], "y": [no, no, yes], "z": [yes, no, no]}
    assert device.randomize([["x", "z"], [], {"y"}]) == columns == device.randomize(columns)
    one = warner.SelectAll(["x", "y", "z"], 30, 2)  # false alarm: each report is held with probability 1 - 2e-13
    assert one.randomize([["y"], [], ["x", "z"]])["report"][1] in {"none 1", "none 2"}
    assert one.randomize([["y"]] * 200)["report"].count("y") in range(40, 161)  # 8.5 standard errors: below 1e-16


@pytest.mark.parametrize("device", EXAMPLES, ids=repr)
def test_files_and_words(device: Any, tmp_path: Path) -> None:
    device.save(tmp_path / "design.json")
    read = warner.load_design(tmp_path / "design.json")
    assert read == device == pickle.loads(pickle.dumps(device))
    assert type(read) is type(device)
    assert read.fingerprint() == device.fingerprint()
    assert type(device).load(tmp_path / "design.json") == device
    assert f"epsilon {device.shown_epsilon()}" in device.in_words()
    assert " ".join(device.in_words().split()).count(device.lost()) == 1 or not device.lost()
    with pytest.raises(TypeError, match="has several questions; give the design of one"):
        design_from_dict(device.to_dict())


def test_what_is_lost_is_said() -> None:
    assert questionnaire(3, 2, 1).lost() == "Joint distributions are lost: no respondent reports on two questions."
    assert questionnaire(5, 2, 3).lost().endswith("30.0 % of them report on both of two questions.")  # 3 2 / 5 4
    assert not questionnaire(3, 2, 3).lost()
    assert "reports on two options" in warner.SelectAll(["x", "y", "z"], 1, 2).lost()
    assert "reports on two options" in warner.SelectAll(["x", "y", "z"], 1).lost()


MEMOIZED = warner.designs.REPEATED_DESIGNS["l grr"](3, eps_infinity=2, eps_first=1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: warner.SplitQuestionnaire({"a": 2}, 1), "questions must be two or more, but got 1"),
        (lambda: warner.SplitQuestionnaire(["a", "b"], 1), "questions must be a mapping"),  # type: ignore[arg-type]
        (
            lambda: warner.SplitQuestionnaire({"a": 2, "b": 2}, 1, 3),
            "asked must be a whole number from 1 to 2, but got 3",
        ),
        (
            lambda: warner.SplitQuestionnaire({"a": 2, "b": 2}, 1, 0),
            "asked must be a whole number from 1 to 2, but got 0",
        ),
        (lambda: warner.SplitQuestionnaire({"a": 2, "b": 2}), "questions must have their answers, with epsilon, or"),
        (lambda: warner.SplitQuestionnaire({"a": COIN, "b": COIN}), "or their designs, with asked"),
        (lambda: warner.SplitQuestionnaire({"a": COIN, "b": COIN}, 1, 1), "or their designs, with asked"),
        (lambda: warner.SplitQuestionnaire({"a": COIN, "b": 2}, asked=1), "the design of 'b' must be a design"),
        (
            lambda: warner.SplitQuestionnaire({"a": COIN, "b": MEMOIZED}, asked=1),
            "the design of 'b' must not be memoized",
        ),
        (lambda: warner.SplitQuestionnaire({"a": 2, "": 2}, 1), "questions must have names that are texts"),
        (lambda: warner.SplitQuestionnaire({"a": 2, "b": 2}, 0), "epsilon must be positive"),
        (lambda: warner.SplitQuestionnaire({"a": 2, "b": 1}, 1), "answers to 'b' must have at least 2 answers"),
        (lambda: warner.SelectAll(["x", "x"], 1), "options must hold distinct labels"),
        (lambda: warner.SelectAll([1, 2, 3], 1), "questions must have names that are texts"),  # type: ignore[list-item]
        (lambda: warner.SelectAll(["x", "y"], 1, 2), "at_most must be a whole number from 1 to 1, but got 2"),
        (lambda: warner.SelectAll(["x", "none 1"], 1, 1), "options must hold distinct labels, but 'none 1'"),
    ],
)
def test_bad_designs(call: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call()


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"a": ["yes"]}, "answers must have a column for each question, but 'b' is missing"),
        ({"a": ["yes", None], "b": [1, 0]}, "answers must all be in the domain of 'a', but 1 of 2 is missing"),
        ({"a": ["yes", "maybe"], "b": [1, 0]}, "answers must all be in the domain of 'a'"),
        ({"a": ["yes", "no"], "b": [1]}, "answers must have columns of one length"),
        ({"a": "yes", "b": 1}, "answers to 'a' must be a column, but got str"),
        ([["yes", 1]], "answers must be columns by question"),
    ],
)
def test_bad_answers(answers: Any, message: str) -> None:
    device = warner.SplitQuestionnaire({"a": ["yes", "no"], "b": 3}, 1)
    with pytest.raises((ValueError, TypeError), match=message) as error:
        device.randomize(answers)
    assert "maybe" not in str(error.value)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([["x", "y", "z"], ["x"]], "answers must all be at most 2 options, but 1 of 2 is more, at position 0"),
        ([["x"], ["secret"]], "answers must all be options, but 1 of 2 is not, at position 1"),
        (["x", "y"], "answers must be lists of options"),
    ],
)
def test_bad_choices(answers: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message) as error:
        warner.SelectAll(["x", "y", "z"], 1, 2).randomize(answers)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("device", "changes", "message"),
    [
        (EXAMPLES[0], {"asked": True}, "asked must be a whole number"),
        (EXAMPLES[0], {"asked": 4}, "asked must be a whole number from 1 to 3"),
        (EXAMPLES[0], {"designs": []}, "designs must be a list of 3"),
        (EXAMPLES[3], {"at_most": 4}, "at_most must be a whole number from 1 to 3"),
        (EXAMPLES[3], {"asked": 0}, "asked must be a whole number from 1 to 4"),
        (EXAMPLES[4], {"at_most": 2}, "asked must be a whole number from 1 to 1"),
        (EXAMPLES[3], {"odds": [3, 1]}, "odds must be two whole numbers"),
        (EXAMPLES[5], {"odds": ["1", "3"]}, "a > b"),
        (EXAMPLES[5], {"odds": [str(2**61), "1"]}, "give fewer digits"),
        (EXAMPLES[5], {"options": ["a", "a"]}, "options must hold distinct labels"),
        (EXAMPLES[5], {"spare": 1}, "must not have the field 'spare'"),
    ],
)
def test_damaged_files(device: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        device_from_dict({**device.to_dict(), **changes})


def test_options_of_one_question_are_neither_compared_nor_added_up() -> None:
    drinks = warner.SelectAll(["beer", "wine", "tea"], epsilon=1, at_most=2)
    data = {"drinks": [["beer"], ["tea"], [], ["wine", "tea"]] * 20, "region": ["n", "s"] * 40}
    reports = drinks.randomize(data["drinks"]) | {"region": data["region"]}
    tally = warner.tally(reports, drinks, by="region")
    joined: list[Any] = [
        lambda: warner.estimate(tally).compare("yes", between=(("beer", "n"), ("tea", "n"))),
        lambda: warner.compare_samples(tally, answer="yes", between=(("beer", "n"), ("tea", "n"))),
        lambda: warner.compare_samples(tally, between=(("beer", "n"), ("tea", "n"))),
        lambda: warner.estimate_groups(tally),
        tally.aggregate,
        lambda: tally.aggregate(by="region"),
    ]
    for call in joined:
        with pytest.raises(ValueError, match="must not join or compare the options of one question"):
            call()
    assert tally.aggregate(by="option").by == ("option",)
    beer = tally.filter(option="beer")
    assert warner.estimate_groups(beer) is not None
    assert beer.aggregate(by="region").by == ("region",)
    warner.estimate(tally).compare("yes", between=(("beer", "n"), ("beer", "s")))
