"""Unary encoding: its law in fractions, its parameters, the law of its sizes, and its draw."""

from __future__ import annotations

import itertools
import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from references import reference
from warner import SubsetSelection, Tally, UnaryEncoding, channel_mle, inv, inv_n, inv_p, load_design, tally
from warner.designs import design_from_dict

if TYPE_CHECKING:
    from pathlib import Path

MECHANISMS = reference("mechanisms")
ESTIMATES = reference("support")["estimates"]

probabilities = st.fractions(0, 1, max_denominator=1000)


def probability_of(report: tuple[int, ...], answer: int, design: UnaryEncoding) -> Fraction:
    """Return the probability of these bits after an answer: a product over the bits."""
    rates = [design.one if place == answer else design.zero for place in range(design.k)]
    return math.prod((rate if bit else 1 - rate for bit, rate in zip(report, rates, strict=True)), start=Fraction(1))


def binomial(n: int, rate: Fraction, m: int) -> Fraction:
    return math.comb(n, m) * rate**m * (1 - rate) ** (n - m) if 0 <= m <= n else Fraction(0)


# The law


def test_the_law_of_three_answers_is_the_reference() -> None:
    # Computed apart from this library: odds 3 : 1, the reports 000, 001, ..., 111, after the first answer.
    wanted = ["9/32", "3/32", "3/32", "1/32", "9/32", "3/32", "3/32", "1/32"]
    design = UnaryEncoding.optimal(3, odds=(3, 1))
    reports = itertools.product((0, 1), repeat=3)
    assert [probability_of(report, 0, design) for report in reports] == [Fraction(part) for part in wanted]


@given(p=probabilities, q=probabilities, k=st.integers(2, 5))
def test_every_p_and_q_give_two_levels_whose_ratio_is_the_odds(p: Fraction, q: Fraction, k: int) -> None:
    if not 0 < q < p:
        with pytest.raises(ValueError, match="0 < q < p <= 1"):
            UnaryEncoding(k, p=p, q=q)
        return
    design = UnaryEncoding(k, p=p, q=q)
    a, b = design.odds
    assert math.gcd(a, b) == 1
    for report in itertools.product((0, 1), repeat=k):
        after = [probability_of(report, answer, design) for answer in range(k)]
        for i, j in itertools.combinations(range(k), 2):
            assert after[i] * (a if report[j] else b) == after[j] * (a if report[i] else b)


def test_a_published_pair_of_probabilities_has_its_odds() -> None:
    assert UnaryEncoding(5, p=0.7, q=0.2).odds == (28, 3)


@pytest.mark.parametrize("m", range(7))
def test_given_its_size_a_report_is_that_of_a_subset_selection(m: int) -> None:
    design = UnaryEncoding(6, p="7/10", q="1/5")
    with_truth, without = (
        rate * binomial(5, design.zero, size) for rate, size in ((design.one, m - 1), (1 - design.one, m))
    )
    assert_allclose(float(with_truth + without), design.law.types.bounds().least[m], rtol=1e-14)  # type: ignore[index]
    if 0 < m < 6:
        sets = SubsetSelection(6, odds=design.odds, size=m).symmetry
        assert with_truth / (with_truth + without) == sets.p


# Parameters


@pytest.mark.parametrize("row", MECHANISMS["parameters"], ids=lambda row: f"K {row['K']}, epsilon {row['epsilon']}")
def test_probabilities_and_variance_are_the_reference(row: dict[str, Any]) -> None:
    for name, make in (
        ("OUE", UnaryEncoding.optimal),
        ("SUE", UnaryEncoding.symmetric),
        ("SS", SubsetSelection),
    ):
        # The reference has the best sizes for rare answers.
        design = make(row["K"], epsilon=row["epsilon"]).best_for_share(0)
        told = {"p": design.p, "q": design.q, "var0": design.q * (1 - design.q) / (design.p - design.q) ** 2}
        assert told == pytest.approx({key: row[name][key] for key in told}, rel=1e-8)


@given(st.integers(1, 50), st.integers(1, 50), st.fractions("1/100", "99/100"))
def test_no_other_unary_encoding_of_these_odds_varies_less(b: int, more: int, p: Fraction) -> None:
    a = b + more
    q = p * b / (p * b + (1 - p) * a)  # the q that has these odds with this p
    design = UnaryEncoding.optimal(4, odds=(a, b))
    assert UnaryEncoding(4, p=p, q=q).odds == design.odds
    best, other = (y * (1 - y) / (x - y) ** 2 for x, y in ((design.one, design.zero), (p, q)))
    assert best == Fraction(4 * a * b, (a - b) ** 2)
    assert best <= other


@given(st.decimals("0.00000001", "40", places=8), st.sampled_from(["optimal", "symmetric"]), st.booleans())
def test_no_more_is_spent_than_was_asked(epsilon: Decimal, kind: str, as_double: bool) -> None:
    asked = float(epsilon) if as_double else epsilon
    design = UnaryEncoding(3, epsilon=asked, kind=kind)
    low, high = design.ratio
    with localcontext(Context(prec=60)):
        most = min(epsilon, Decimal(float(epsilon))) if as_double else epsilon
        spent = (Decimal(high) / Decimal(low)).ln()
        assert spent <= most
        assert spent > most * Decimal("0.999999")  # and hardly less
    assert design.symmetry.whole[2] < 2**62
    assert design.one == (Fraction(1, 2) if kind == "optimal" else 1 - design.zero)
    assert design == getattr(UnaryEncoding, kind)(3, epsilon=asked)
    assert UnaryEncoding(3, p="3/4", q="1/4" if kind == "symmetric" else "1/5").with_epsilon(asked) == design


@given(st.integers(1, 10**30), st.integers(1, 10**30))
def test_symmetric_odds_are_the_squares_of_those_of_a_bit(a: int, b: int) -> None:
    if a <= b:
        return
    exact = UnaryEncoding.symmetric(2, odds=(a * a, b * b))
    assert exact.one / exact.zero == Fraction(a, b)
    try:
        design = UnaryEncoding.symmetric(2, odds=(a, b))
    except ValueError as error:
        assert "further apart" in str(error)
        assert a / b < 1 + 2.0**-50
        return
    s, t = design.odds
    assert Fraction(s, t) <= Fraction(a, b)
    assert s / t > a / b * (1 - 1e-6)


def test_epsilon_alone_means_the_optimal_one() -> None:
    assert UnaryEncoding(9, epsilon=1) == UnaryEncoding.optimal(9, epsilon=1)
    assert next(iter(UnaryEncoding.variants(9, 1).values())) == UnaryEncoding(9, epsilon=1)
    assert UnaryEncoding(9, odds="3:1") == UnaryEncoding(9, p="1/2", q="1/4")


# Sizes


@pytest.mark.parametrize("rate", [Fraction(1, 4), Fraction(1, 1000)])
def test_the_law_of_sizes_is_right_for_a_hundred_thousand_answers(rate: Fraction) -> None:
    k, p = 100_000, Fraction(7, 8)
    law = np.asarray(UnaryEncoding(k, p=p, q=rate).law.types.bounds().least)
    assert law.shape == (k + 1,)
    assert_allclose(law.sum(), 1, rtol=1e-12)
    mean, deviation = float(p + (k - 1) * rate), float((k - 1) * rate * (1 - rate)) ** 0.5
    assert_allclose(law @ np.arange(k + 1), mean, rtol=1e-12)
    for away in (-8, 0, 8):
        m = round(mean + away * deviation)
        if m >= 0:
            with localcontext(Context(prec=40)):  # fractions of so many digits would take long
                q = Decimal(rate.numerator) / rate.denominator
                one_less, all_of_them = (
                    math.comb(k - 1, size) * q**size * (1 - q) ** (k - 1 - size) if size >= 0 else 0
                    for size in (m - 1, m)
                )
                wanted = (7 * one_less + all_of_them) / 8
            assert_allclose(law[m], float(wanted), rtol=1e-11)


def test_sizes_are_counted_with_the_reports() -> None:
    design = UnaryEncoding(10, epsilon=1)
    reports = design.draw(np.arange(1000) % 10, np.random.default_rng(1).bytes)
    sizes = design.supports(reports).sum(axis=1)
    assert_array_equal(design.law.count(reports).histogram, np.bincount(sizes, minlength=11))
    made = tally(reports, design, codes=True)
    assert_array_equal(made.histogram, np.bincount(sizes, minlength=11))
    assert made.histogram @ np.arange(11) == made.counts.sum()


# The draw


def test_bits_are_drawn_at_the_very_edges_of_the_probabilities() -> None:
    design = UnaryEncoding.optimal(3, odds=(3, 1))  # q = 64/256, p = 128/256
    script = iter([bytes([63, 64, 63, 64, 63, 64]), bytes([127, 128])])
    reports = design.draw(np.array([0, 0]), lambda size: next(script))
    assert design.supports(reports).tolist() == [[True, False, True], [False, True, False]]


def test_one_report_follows_from_its_bytes_by_the_rule() -> None:
    # A plain rendering of the rule: all bits by a byte each, then those that are undecided by another, and so on.
    def compared(rates: list[Fraction], source: Any) -> list[bool]:
        bits, undecided, rest = [False] * len(rates), list(range(len(rates))), list(rates)
        while undecided:
            for place, byte in zip(list(undecided), source(len(undecided)), strict=True):
                digit, rest[place] = divmod(256 * rest[place], 1)
                bits[place] = byte < digit
                if byte != digit or rest[place] == 0:
                    undecided.remove(place)
        return bits

    design = UnaryEncoding(200, epsilon=1.7, kind="symmetric")
    for seed in range(30):
        mine, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
        answer = int(mine.integers(200))
        theirs.integers(200)
        wanted = compared([design.zero] * 200, mine.bytes)
        wanted[answer] = compared([design.one], mine.bytes)[0]
        assert design.supports(design.draw(np.array([answer]), theirs.bytes))[0].tolist() == wanted


# Counts, estimates, simulations


def test_estimates_from_counts_and_from_reports_match_the_reference() -> None:
    case = next(case for case in ESTIMATES if case["name"] == "oue_k4")
    design = UnaryEncoding(case["K"], p=case["p"], q=case["q"])
    assert design.odds == tuple(case["odds"])
    sets = [np.isin(np.arange(4), members) for members in case["supports"]]
    reports, times = np.packbits(sets, axis=1), np.array(case["multiplicity"])
    counts, n, sizes = design.law.count(reports, times)
    assert counts.tolist() == case["support_counts"]
    assert sizes is not None
    assert sizes.sum() == n
    for estimator in (inv, inv_p, inv_n):
        wanted = [float(Fraction(share)) for share in case[estimator.__name__]]
        assert_allclose(estimator(counts, design, n=n), wanted, atol=1e-15)
    assert_allclose(
        channel_mle(times, design.law.likelihood(reports)).shares, [float(x) for x in case["mle"]], atol=1e-9
    )


def test_simulated_counts_have_their_exact_joint_law() -> None:
    # Two people, one for each of two answers: the four bits are independent, and so are the two counts.
    design, times = UnaryEncoding(2, p="3/4", q="1/3"), 40_000
    p, q = design.p, design.q
    single = np.array([(1 - p) * (1 - q), p * (1 - q) + q * (1 - p), p * q])
    drawn = design.law.simulate_people(np.array([1, 1]), rng=np.random.default_rng(1), size=times)
    observed = np.bincount(3 * drawn[:, 0] + drawn[:, 1], minlength=9)
    expected = times * np.outer(single, single).ravel()
    # Chi-square with 8 degrees of freedom exceeds 42 with probability 1.4e-6.
    assert ((observed - expected) ** 2 / expected).sum() < 42
    # Of a population, counts of two answers depend on each other: covariance -(p-q)^2 / 4 for each person.
    drawn = design.simulate(np.array([0.5, 0.5]), 10, rng=np.random.default_rng(2), size=times)
    mean = (p + q) / 2
    spread = 10 * mean * (1 - mean)
    # Five standard errors of a covariance of nearly normal counts, sqrt((v^2 + c^2) / times).
    covariance = np.cov(drawn.T)[0, 1]
    assert abs(covariance + 10 * (p - q) ** 2 / 4) < 5 * spread * math.sqrt(1.1 / times)


def test_simulations_of_very_many_people_take_no_longer() -> None:
    design = UnaryEncoding(1000, epsilon=1)
    drawn = design.simulate(np.full(1000, 0.001), 10**12, rng=np.random.default_rng(1), size=(2, 3))
    assert drawn.shape == (2, 3, 1000)
    expected = 10**12 * (design.q + (design.p - design.q) / 1000)
    assert (np.abs(drawn - expected) < 7 * math.sqrt(expected)).all()  # 6,000 of them: 1e-8


# Words, files, errors


def test_a_unary_encoding_says_in_words_what_is_done() -> None:
    words = UnaryEncoding.optimal(["a", "b", "c", "d"], odds=(3, 1)).in_words()
    assert "for each of the 4 answers a bit is drawn and reported" in " ".join(words.split())
    # True with probability p / (p + 3 q) = 2/5 where the bit is 1, (1/2) / (1/2 + 3 * 3/4) = 2/11 where it is 0.
    assert "true one in 40 % of cases if its bit is 1, and in 18.2 % if its bit is 0" in " ".join(words.split())
    assert "no answer whose bit is 0 is the truth (epsilon inf)" in UnaryEncoding(3, p=1, q=0.5).in_words()


def test_the_file_holds_both_probabilities_as_decimal_strings(tmp_path: Path) -> None:
    design = UnaryEncoding(["a", "b"], p="0.70", q=0.2)
    assert design.to_dict() == {
        "format": "warner design",
        "version": 1,
        "mechanism": "unary encoding",
        "domain": ["a", "b"],
        "one": ["7", "10"],
        "zero": ["1", "5"],
    }
    design.save(tmp_path / "bits.json")
    assert load_design(tmp_path / "bits.json") == design


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("one", ["1", "0"], "one must be a fraction"),
        ("one", [1, 2], "one must be a fraction"),
        ("zero", ["1"], "zero must be a fraction"),
        ("zero", "1/4", "zero must be a fraction"),
        ("zero", ["-1", "4"], "zero must be a fraction"),
        ("zero", ["0", "4"], "0 < q < p <= 1"),
        ("zero", ["3", "4"], "0 < q < p <= 1"),
        ("one", ["5", "4"], "0 < q < p <= 1"),
        ("one", [str(2**320), str(2**320 + 1)], "below 2\\^320"),
    ],
)
def test_a_damaged_file_is_refused(field: str, value: object, complaint: str) -> None:
    damaged = UnaryEncoding(2, p="1/2", q="1/4").to_dict() | {field: value}
    with pytest.raises(ValueError, match=complaint):
        design_from_dict(damaged)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({}, "but got none of them"),
        ({"epsilon": 1, "odds": (3, 1)}, "but got epsilon and odds"),
        ({"p": 0.5}, "but got p"),
        ({"epsilon": 1, "q": 0.5}, "but got epsilon and q"),
        ({"p": 0.5, "q": 0.25, "kind": "optimal"}, "kind must be left out"),
    ],
)
def test_parameters_that_do_not_fit_together_are_refused(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(TypeError, match=complaint):
        UnaryEncoding(3, **arguments)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"epsilon": 1, "kind": "best"}, 'kind must be "optimal" or "symmetric", but got \'best\''),
        ({"epsilon": 0}, "epsilon must be positive"),
        ({"odds": (1, 1)}, "a > b > 0, but got 1 : 1"),
        ({"odds": (1, 0)}, "a > b > 0, but got 1 : 0"),
        ({"p": 1.5, "q": 0.5}, "p must be a probability from 0 to 1"),
        ({"p": 0.5, "q": 0.5}, "0 < q < p <= 1"),
        ({"p": 0.5, "q": 0}, "0 < q < p <= 1"),
        ({"p": f"1/{2**319 + 1}", "q": f"1/{2**319 + 3}"}, "below 2\\^320"),
    ],
)
def test_parameters_out_of_range_are_refused(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        UnaryEncoding(3, **arguments)


def test_reports_of_another_length_or_with_spare_bits_are_refused() -> None:
    design = UnaryEncoding(9, epsilon=1)
    assert tally(["ff80", "0000"], design).counts.tolist() == [1] * 9
    for wrong in ("ff", "ff8000", "ff81", "FF80"):
        with pytest.raises(ValueError, match="reports must be 2 bytes in lower-case hexadecimal"):
            tally(["ff80", wrong], design)
    with pytest.raises(ValueError, match="n"):
        Tally(design, [5] * 9, n=4)
