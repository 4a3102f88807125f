"""Memoized designs: what one, several and all reports reveal, by enumeration of every sequence of reports."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from references import reference
from tables import exact
from warner import RandomizedResponse, SubsetSelection, Tally, check, estimate, plan, simulate, tally
from warner.designs import REPEATED_DESIGNS, Design, Memoized, design_from_dict, design_from_json
from warner.designs.hashing import LocalHashing
from warner.designs.rounds import EXACT_POWER_BITS, power_not_above
from warner.designs.unary import UnaryEncoding

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

REFERENCE = reference("longitudinal")

Law = dict[Any, Fraction]  # the probability of each outcome


def responses(*odds: tuple[int, int], k: int = 3) -> Memoized:
    return Memoized(*(RandomizedResponse(k, odds=pair) for pair in odds))


def unary(*rates: tuple[str, str], k: int = 2) -> Memoized:
    return Memoized(*(UnaryEncoding(k, p=p, q=q) for p, q in rates))


def hashing(k: int, field: int, *odds: tuple[int, int]) -> Memoized:
    return Memoized(LocalHashing(k, odds=odds[0], field=field), RandomizedResponse(field, odds=odds[1]))


def response_laws(first: Any, second: Any) -> tuple[list[Law], Callable[[Any], Law]]:
    """Return the law of the permanent response to each key, and that of a report from a permanent response."""
    again = exact(second)
    return [dict(enumerate(row)) for row in exact(first)], lambda response: dict(enumerate(again[response]))


def bit_laws(first: Any, second: Any) -> tuple[list[Law], Callable[[Any], Law]]:
    """Return the same of rows of bits."""

    def law(rates: list[Fraction]) -> Law:
        return {
            bits: math.prod((p if bit else 1 - p for bit, p in zip(bits, rates, strict=True)), start=Fraction(1))
            for bits in itertools.product((0, 1), repeat=len(rates))
        }

    permanent = [law([first.one if i == key else first.zero for i in range(first.k)]) for key in range(first.k)]
    return permanent, lambda bits: law([second.one if bit else second.zero for bit in bits])


def two_rounds(design: Any) -> tuple[list[Law], Callable[[Any], Law]]:
    if isinstance(design.first, UnaryEncoding):
        return bit_laws(design.first, design.second)
    keys = RandomizedResponse(design.rounds.keys, odds=design.first.odds)  # of hashing, the hash values
    return response_laws(keys, design.second)


def sequences(permanent: list[Law], report: Callable[[Any], Law], keys: tuple[int, ...]) -> Law:
    """Return the distribution of all reports of a respondent with these keys in turn; keys recur with their response.

    By brute force: all permanent responses to the distinct keys, and all reports after each.
    """
    distinct = sorted(set(keys))
    law: Law = {}
    for chosen in itertools.product(*(permanent[key].items() for key in distinct)):
        response = {key: value for key, (value, _) in zip(distinct, chosen, strict=True)}
        weight = math.prod((p for _, p in chosen), start=Fraction(1))
        for reports in itertools.product(*(report(response[key]).items() for key in keys)):
            outcome = tuple(value for value, _ in reports)
            law[outcome] = law.get(outcome, Fraction(0)) + weight * math.prod(
                (p for _, p in reports), start=Fraction(1)
            )
    return law


def largest_ratio(laws: list[Law]) -> Fraction:
    """Return the largest ratio of an outcome's probabilities under two distributions."""
    return max(max(law[outcome] for law in laws) / min(law[outcome] for law in laws) for outcome in laws[0])


SMALL = [
    (responses((3, 1), (3, 1), k=2), 4),
    (responses((5, 1), (3, 1)), 3),
    (responses((9, 2), (7, 3), k=4), 3),
    (responses((3, 2), (5, 1), k=5), 2),
    (unary(("3/4", "1/4"), ("3/4", "1/2")), 3),
    (unary(("1/2", "1/5"), ("2/3", "1/3")), 3),
    (unary(("1/2", "1/5"), ("1", "1/3"), k=3), 2),
    (hashing(9, 3, (5, 1), (3, 1)), 3),
    (hashing(5, 2, (3, 1), (2, 1)), 4),
]


@pytest.mark.parametrize(("design", "most"), SMALL, ids=str)
def test_what_equal_answers_reveal_is_the_largest_ratio_over_all_sequences(design: Memoized, most: int) -> None:
    permanent, report = two_rounds(design)
    for reports in range(1, most + 1):
        laws = [sequences(permanent, report, (key,) * reports) for key in range(design.rounds.keys)]
        assert all(sum(law.values()) == 1 for law in laws)
        high, low = design.rounds.odds_after(reports)
        assert largest_ratio(laws) == Fraction(high, low)
        assert math.log(high / low) * (1 - 1e-15) <= design.eps_after(reports) <= math.log(high / low) * (1 + 1e-15)


def test_a_hash_function_is_had_for_ever_and_tells_nothing_by_itself() -> None:
    # All directions, and both reports after each: what two answers reveal is what two different hash values do.
    design = hashing(5, 3, (5, 1), (3, 1))
    permanent, report = two_rounds(design)
    functions = design.rounds.functions
    assert functions == 4  # points of PG(1, 3)
    by_answer: list[Law] = []
    for answer in range(5):
        law: Law = {}
        for function in range(functions):
            key = int(design.rounds.keyed(np.array([answer]), np.array([function]))[0])
            for reports, p in sequences(permanent, report, (key, key)).items():
                law[tuple(3 * function + value for value in reports)] = p / functions
        by_answer.append(law)
    assert largest_ratio(by_answer) == Fraction(*design.rounds.odds_after(2))
    # One of the two reports alone is the report of the chain.
    for answer, law in enumerate(by_answer):
        for first in range(12):
            supported = design.once.supports(np.array([first]))[0, answer]  # type: ignore[attr-defined]
            a, b = design.once.odds  # type: ignore[attr-defined]
            total = functions * (a + 2 * b)
            alone = sum(p for reports, p in law.items() if reports[0] == first)
            assert alone == Fraction(a if supported else b, total)


def stays_and_changes(keys: tuple[int, ...]) -> tuple[int, ...]:
    """Return when a history has the key of an earlier time: number keys in the order in which they come."""
    return tuple(list(dict.fromkeys(keys)).index(key) for key in keys)


def test_histories_that_stay_and_change_alike_spend_eps_infinity_for_each_key_and_others_may_spend_more() -> None:
    design = responses((2, 1), (9, 1))
    permanent, report = two_rounds(design)
    laws = {keys: sequences(permanent, report, keys) for keys in itertools.product(range(3), repeat=3)}
    forever, each = Fraction(2), Fraction(9)
    exceeded = set()
    for one, other in itertools.combinations(laws, 2):
        ratio = largest_ratio([laws[one], laws[other]])
        keys = max(len(set(one)), len(set(other)))
        if stays_and_changes(one) == stays_and_changes(other):
            assert ratio <= forever**keys
        elif ratio > forever**keys:  # that an answer changed is not protected, but by the second round
            exceeded.add((one, other))
        assert ratio <= each**3
    assert ((0, 0, 0), (0, 0, 1)) in exceeded


def test_reference_values() -> None:
    times = REFERENCE["reports"]
    for design, name in (
        (Memoized.response(4, eps_infinity=2, eps_first=1), "lgrr_eps_tau_2.0_1.0_4"),
        (Memoized.response(2, eps_infinity=1, eps_first=0.5), "lgrr_eps_tau_1.0_0.5_2"),
        (Memoized.rappor(3, f="1/2", p="1/2", q="3/4"), "rappor_eps_tau"),
    ):
        np.testing.assert_allclose([design.eps_after(reports) for reports in times], REFERENCE[name], atol=5.1e-5)


@pytest.mark.parametrize("name", [name for name in REFERENCE if name.startswith("loloha")])
def test_published_calibrations_of_hashing_waste_what_ours_use(name: str) -> None:
    case = REFERENCE[name]
    forever, share = map(float, name.split("_")[1:])
    once = forever * share

    def variance(chain: Any) -> float:  # of an absent answer, if hashes collide with probability 1/g
        q = 1 / chain.k
        return float(q * (1 - q) / (chain.p - q) ** 2)

    # The published second round leaves out the (g-2) term: right for g = 2 only.
    g = case["g_published"]
    odds = (math.exp(forever + once) - 1) / (math.exp(forever) - math.exp(once))
    first = RandomizedResponse(g, epsilon=forever)
    published: Any = first.then(RandomizedResponse(g, odds=(odds, 1)))
    assert published.epsilon == pytest.approx(case["eps1_real"], abs=1e-9)
    assert case["eps1_declared"] == pytest.approx(once)
    assert variance(published) == pytest.approx(case["var_published"], rel=1e-9)
    for values, wanted in ((case["g_best"], case["var_best"]), (2, case["var_g2"])):
        ours = Memoized.response(values, eps_infinity=forever, eps_first=once)
        assert variance(ours.once) == pytest.approx(wanted, rel=1e-9)
        assert ours.eps_first == pytest.approx(once)
    # Linear hashing has a prime number of values, and collides less: it loses 3.1 % of the best at most.
    linear = Memoized.hashing(1000, eps_infinity=forever, eps_first=once)
    symmetry: Any = linear.law.symmetry
    assert symmetry.q * (1 - symmetry.base) / symmetry.gain**2 <= 1.031 * case["var_best"]


@given(st.floats(0.5, 5), st.floats(0.1, 0.9))
def test_the_second_round_of_bits_is_the_published_one(eps_infinity: float, share: float) -> None:
    # Arcolezi et al. 2022, L-OSUE: p2 = (1 - e^(e1 + einf)) / (e^e1 - e^einf - e^(e1 + einf) + 1).
    eps_first = eps_infinity * share
    second: Any = Memoized.unary(10, eps_infinity=eps_infinity, eps_first=eps_first).second
    both, one, forever = math.exp(eps_first + eps_infinity), math.exp(eps_first), math.exp(eps_infinity)
    assert second.p == pytest.approx((1 - both) / (one - forever - both + 1), rel=1e-9)
    assert second.one + second.zero == 1


@given(st.floats(0.5, 5), st.floats(0.1, 0.9))
def test_one_round_of_bits_is_as_good_as_the_unary_encoding_of_that_epsilon(forever: float, share: float) -> None:
    for kind, alone in (("optimal", UnaryEncoding.optimal), ("symmetric", UnaryEncoding.symmetric)):
        chain: Any = Memoized.unary(10, eps_infinity=forever, eps_first=forever * share, kind=kind).once
        wanted = alone(10, epsilon=forever * share)
        assert chain.p == pytest.approx(wanted.p, rel=1e-9)
        assert chain.q == pytest.approx(wanted.q, rel=1e-9)


def test_a_worked_number() -> None:
    # Odds 3:1 and again 3:1 among two answers: 3*3 + 1 : 3 + 3 = 5 : 3, and two equal reports are one at 9 : 1.
    design = responses((3, 1), (3, 1), k=2)
    assert design.once == RandomizedResponse(2, odds=(5, 3))
    assert [design.rounds.odds_after(reports) for reports in (1, 2, 3)] == [(5, 3), (7, 3), (41, 15)]
    assert design.eps_infinity == RandomizedResponse(2, odds=(3, 1)).epsilon


# From the two epsilons

budgets = st.tuples(st.floats(0.01, 8), st.floats(0.01, 0.99)).map(lambda pair: (pair[0], pair[0] * pair[1]))


@given(budgets, st.integers(2, 50), st.sampled_from(["l grr", "l sue", "l osue", "loloha"]))
def test_both_epsilons_are_used_and_never_exceeded(epsilons: tuple[float, float], k: int, name: str) -> None:
    eps_infinity, eps_first = epsilons
    design = REPEATED_DESIGNS[name](k, eps_infinity=eps_infinity, eps_first=eps_first)
    assert eps_infinity * (1 - 1e-9) <= design.eps_infinity <= eps_infinity
    assert eps_first * (1 - 1e-9) <= design.eps_first <= eps_first
    assert design.eps_after(1) == design.eps_first == design.epsilon


@given(
    budgets,
    st.lists(st.integers(1, 10**6), min_size=2, max_size=2, unique=True),
    st.sampled_from(["l grr", "l sue", "l osue", "loloha"]),
)
def test_more_reports_reveal_more_but_never_more_than_eps_infinity(
    epsilons: tuple[float, float], reports: list[int], name: str
) -> None:
    design = REPEATED_DESIGNS[name](3, eps_infinity=epsilons[0], eps_first=epsilons[1])
    few, many = sorted(reports)
    assert design.eps_first <= design.eps_after(few) <= design.eps_after(many) <= design.eps_infinity


def test_powers_are_exact_while_short_and_rounded_down_beyond() -> None:
    ratio = Fraction(2**52 - 5, 2**52)
    for exponent in (1, 7, EXACT_POWER_BITS // 53, EXACT_POWER_BITS // 53 + 1, 2000):
        power = power_not_above(ratio, exponent)
        assert power <= ratio**exponent
        assert power >= ratio**exponent - Fraction(1, 2**490)
        assert (power == ratio**exponent) == (exponent * 53 <= EXACT_POWER_BITS)
    assert power_not_above(Fraction(1, 3), 10**12) == 0


def test_the_table_ends_where_reports_tell_all() -> None:
    design = Memoized.response(4, eps_infinity=2, eps_first=1)
    table = design.table()
    assert table["reports"].tolist() == [1, 2, 5, 10]
    assert table["epsilon"].tolist() == [design.eps_after(reports) for reports in (1, 2, 5, 10)]
    slow = Memoized.response(4, eps_infinity=2, eps_first="0.001")
    assert slow.table()["reports"].tolist()[:7] == [1, 2, 5, 10, 20, 50, 100]
    assert slow.table()["epsilon"][-1] <= 2


# One round of many people is the chain


def test_every_fact_of_the_contract_is_told_by_the_chain_or_by_the_design_itself() -> None:
    own = {
        "draw",
        "draws",
        "examples",
        "sentences",
        "summary",
        "fields",
        "from_fields",
        "repetition",
        "randomize",
    }
    for_all = {
        *("k", "epsilon", "shown_epsilon", "coarsened", "restricted", "in_words", "fingerprint", "save", "load"),
        *("to_dict", "to_json", "from_dict", "from_json", "parameters"),
        *("with_epsilon", "variants", "best_for_share"),  # which it does not follow from
        "simulate",  # by the law of the chain
    }
    for name in vars(Design):
        if not name.startswith("_") and name not in for_all:
            assert name in vars(Memoized), f"{name} is not told"
    for name in set(vars(Design)) & set(vars(Memoized)) - own:
        if not name.startswith("_"):
            assert isinstance(vars(Memoized)[name], property), name


def test_a_round_is_estimated_checked_and_planned_as_a_report_of_the_chain() -> None:
    design = responses((5, 1), (3, 1))
    counts = [420, 330, 250]
    mine, chain = estimate(Tally(design, counts)), estimate(Tally(design.once, counts))
    assert mine.shares.tolist() == chain.shares.tolist()
    assert mine.interval(0).low == chain.interval(0).low
    assert check(Tally(design, counts)).fits
    assert plan(design, people=1000).half_width == plan(design.once, people=1000).half_width
    # A mechanism that is better for one report would spend epsilon again with the second: it is not recommended.
    many = Memoized.response(300, eps_infinity=2, eps_first=1)
    assert "Another mechanism" not in plan(many, people=1000).text()
    assert "Another mechanism" in plan(many.once, people=1000).text()
    rng = np.random.default_rng(1)
    assert simulate.reports_of_population([0.5, 0.3, 0.2], 100, design, rng=rng).sum() == 100
    assert tally(design.randomize([0, 1, 2] * 10), design).n == 30


def test_the_words_tell_the_table_and_what_is_not_protected() -> None:
    words = Memoized.response(["never", "once", "often", "always"], eps_infinity=2, eps_first=1).in_words()
    for line in (
        "          1 report   epsilon 1\n         2 reports   epsilon 1.679\n         5 reports   epsilon 1.997\n",
        "        any number   epsilon 2\n",
        "at most epsilon 2 for each answer that occurs, 8 for all 4, against any",
        "Not protected: this pattern, which shows that the answer changed, when, and that an earlier",
        "on two devices",
    ):
        assert line in words


def test_a_page_does_not_say_that_every_report_spends_epsilon_again(tmp_path: Path) -> None:
    design = Memoized.response(3, eps_infinity=2, eps_first=1)
    for shown, says in ((design, "spend at most epsilon 2 together"), (design.once, "spends it again")):
        estimate(Tally(shown, [420, 330, 250])).save_page(tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert says in page
        assert ("spends it again" in page) == (shown is not design)


# Files, and what is no pair of rounds


def test_a_file_holds_both_rounds() -> None:
    design = responses((5, 1), (3, 1), k=2)
    assert design.to_dict()["first"] == RandomizedResponse(2, odds=(5, 1)).to_dict()
    assert design.to_dict()["second"] == RandomizedResponse(2, odds=(3, 1)).to_dict()
    assert design_from_json(design.to_json()) == design


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"first": 1}, "damaged: first must be a design"),
        ({"second": None}, "damaged: second must be a design"),
        ({"second": []}, "damaged: second must be a design"),
        ({"first": SubsetSelection(3, epsilon=1).to_dict()}, "first must be a design, its mechanism one of"),
        ({"first": responses((5, 1), (3, 1)).to_dict()}, "first must be a design, its mechanism one of"),
        ({"first": RandomizedResponse(3, odds=(5, 1)).to_dict() | {"odds": ["5"]}}, "damaged: odds"),
        ({"first": RandomizedResponse(3, odds=(5, 1)).to_dict() | {"version": 2}}, "version 2"),
        (
            {"second": RandomizedResponse(4, odds=(5, 1)).to_dict()},
            "second must take the permanent responses of first for its answers",
        ),
        ({"second": RandomizedResponse(3, odds=(1, 5)).to_dict()}, "second must be at odds a : b with a > b"),
        ({"second": RandomizedResponse(3, odds=(1, 1)).to_dict()}, "second must be at odds a : b with a > b"),
        ({"first": RandomizedResponse(3, odds=(1, 0)).to_dict()}, "first must have a finite epsilon"),
    ],
)
def test_a_damaged_file_is_one_clear_error(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        design_from_dict(responses((5, 1), (3, 1)).to_dict() | change)


@pytest.mark.parametrize(
    ("epsilons", "complaint"),
    [
        ({"eps_infinity": 1, "eps_first": 1}, "eps_first must be below eps_infinity, .* but got 1"),
        ({"eps_infinity": 1, "eps_first": 2}, "eps_first must be below eps_infinity, .* but got 2"),
        ({"eps_infinity": 1, "eps_first": 0}, "eps_first must be positive"),
        ({"eps_infinity": 0, "eps_first": 1}, "eps_infinity must be positive"),
        ({"eps_infinity": "x", "eps_first": 1}, "eps_infinity must be a finite number"),
        ({"eps_infinity": 1, "eps_first": "x"}, "eps_first must be a finite number"),
        ({"eps_infinity": 2, "eps_first": "1.999999999999"}, "too near to eps_infinity"),
    ],
)
def test_wrong_epsilons_are_named(epsilons: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Memoized.response(10**7, **epsilons)


@pytest.mark.parametrize("make", [Memoized.response, Memoized.unary, Memoized.hashing])
def test_every_kind_names_its_epsilons(make: Callable[..., Memoized]) -> None:
    for eps_infinity, eps_first, complaint in (
        (1, 1, "eps_first must be below eps_infinity"),
        (1, 0, "eps_first must be positive"),
        (50, 1, "eps_infinity must be positive, from"),
    ):
        with pytest.raises(ValueError, match=complaint):
            make(100, eps_infinity=eps_infinity, eps_first=eps_first)


def test_only_rounds_of_a_kind_can_be_paired() -> None:
    response, bits = RandomizedResponse(4, epsilon=1), UnaryEncoding(4, epsilon=1)
    hashed, affine = LocalHashing(4, epsilon=2, field=3), LocalHashing.affine(4, epsilon=2)
    for first, second in (
        (SubsetSelection(4, epsilon=1), response),
        (response, bits),
        (bits, response),
        (hashed, hashed),
    ):
        with pytest.raises(TypeError, match="first and second must be two"):
            Memoized(first, second)
    with pytest.raises(TypeError, match="linear local hashing"):
        Memoized(affine, RandomizedResponse(affine.values, epsilon=1))
    with pytest.raises(ValueError, match="permanent responses of first for its answers, which are 0, 1, 2, but got"):
        Memoized(hashed, response)
    with pytest.raises(ValueError, match="first must have a finite epsilon"):
        Memoized(UnaryEncoding(4, p=1, q="1/2"), bits)
    with pytest.raises(ValueError, match="permanent responses"):
        Memoized(bits, UnaryEncoding(5, epsilon=1))
    for reports in (0, -1, 1.5, "x"):
        with pytest.raises(ValueError, match="reports must be"):
            responses((5, 1), (3, 1)).eps_after(reports)  # type: ignore[arg-type]


def test_a_table_of_hashes_at_long_odds_has_whole_numbers() -> None:
    once: Any = Memoized.hashing(["a", "b", "c"], eps_infinity=30, eps_first=28).once
    a, b = once.odds
    assert a > 2**63
    channel = once.as_channel()
    supported = once.supports(np.arange(len(channel.outputs)))
    for answer, row in enumerate(channel.weights.tolist()):
        shares = [Fraction(weight, channel.total) for weight in row]
        assert sum(shares) == 1
        assert {share / shares[supported[:, answer].argmin()] for share in shares} == {1, Fraction(a, b)}
