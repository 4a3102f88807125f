"""Numbers as they are written, whole numbers for an epsilon, and everything rounded to the safe side."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import epsilons
from warner.designs.exact import (
    TOTAL_LIMIT,
    double_not_below,
    exact,
    exponential_not_above,
    is_decimal,
    log_ratio,
    lowest_terms,
    odds_as_given,
    odds_from_epsilon,
    odds_from_json,
    probability,
    refuse_wide,
    shown_up,
    whole_number,
)

wholes = st.integers(1, 2**300)


# Numbers as they are written


@pytest.mark.parametrize(
    ("written", "number"),
    [
        (0.9, Fraction(9, 10)),  # as written, not the nearest double
        (np.float32(0.9), Fraction(9, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        ("3/4", Fraction(3, 4)),
        (" 1e-1 ", Fraction(1, 10)),
        (Decimal("0.50"), Fraction(1, 2)),
        (Fraction(1, 3), Fraction(1, 3)),
        (np.int64(7), Fraction(7)),
        (-2, Fraction(-2)),
        ("1e300", Fraction(10) ** 300),
    ],
)
def test_a_number_is_taken_as_it_is_written(written: Any, number: Fraction) -> None:
    assert exact("truth", written) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_is_the_shortest_decimal_that_stands_for_it(number: float) -> None:
    assert exact("truth", number) == Fraction(repr(number))
    assert float(exact("truth", number)) == number


@pytest.mark.parametrize("written", ["strong", "", "1/0", "nan", "inf", float("nan"), float("inf"), "1e999999999"])
def test_what_is_no_finite_number(written: Any) -> None:
    with pytest.raises(ValueError, match="epsilon must be a finite number"):
        exact("epsilon", written)


@pytest.mark.parametrize("written", [True, [1], 1j, None, b"1"])
def test_what_is_no_number_at_all(written: Any) -> None:
    with pytest.raises(TypeError, match="epsilon must be a number"):
        exact("epsilon", written)


def test_a_long_value_is_shortened_in_the_message() -> None:
    with pytest.raises(ValueError, match=r"odds must be a finite number.*got 10+\.\.\.0+$"):
        exact("odds", 10**3000)


def test_probabilities_and_whole_numbers_have_a_range() -> None:
    assert probability("truth", "1/3") == Fraction(1, 3)
    assert whole_number("size", "3.0", 1, 5) == 3
    for value in (1.1, -0.1):
        with pytest.raises(ValueError, match=f"truth must be a probability from 0 to 1, but got {value}"):
            probability("truth", value)
    for value in (0, 6, 2.5):
        with pytest.raises(ValueError, match=f"size must be a whole number from 1 to 5, but got {value}"):
            whole_number("size", value, 1, 5)


# Odds


@given(st.fractions(0, 10**9), st.fractions(0, 10**9))
def test_lowest_terms_keep_the_ratio(first: Fraction, second: Fraction) -> None:
    if first == second == 0:
        return
    a, b = lowest_terms(first, second)
    assert a * second == b * first
    assert math.gcd(a, b) == 1


@pytest.mark.parametrize(
    ("odds", "terms"),
    [((6, 4), (3, 2)), ("3:2", (3, 2)), ((1.5, 0.5), (3, 1)), ((0, 7), (0, 1)), ([np.int64(4), np.int64(2)], (2, 1))],
)
def test_odds_are_taken_as_they_are_written(odds: Any, terms: tuple[int, int]) -> None:
    assert odds_as_given(odds) == terms


@pytest.mark.parametrize("odds", ["3", (1, 2, 3), 5, {1: 2}])
def test_odds_are_a_pair(odds: Any) -> None:
    with pytest.raises(TypeError, match='odds must be "a:b" or a pair'):
        odds_as_given(odds)


@pytest.mark.parametrize("odds", [(0, 0), (-1, 2), (2, -1)])
def test_odds_are_two_numbers_of_at_least_zero(odds: Any) -> None:
    with pytest.raises(ValueError, match="odds must be two numbers of at least 0, not both 0"):
        odds_as_given(odds)


@given(epsilon=epsilons, k=st.one_of(st.integers(2, 50), st.sampled_from([10**3, 10**6, 10**7])), weight=st.booleans())
def test_odds_for_an_epsilon_spend_never_more_and_hardly_less(epsilon: float, k: int, weight: bool) -> None:
    def total(a: int, b: int) -> int:  # of randomized response, or of a mechanism where the truth weighs more
        return k * a if weight else a + (k - 1) * b

    a, b = odds_from_epsilon(epsilon, k, total)
    assert total(a, b) < TOTAL_LIMIT or b == 1  # no ratio is coarser
    assert math.gcd(a, b) == 1
    with mpmath.workdps(60):
        asked = min(mpmath.mpf(str(epsilon)), mpmath.mpf(epsilon))
        spent = mpmath.log(mpmath.mpf(a) / mpmath.mpf(b))
        finest = 2 ** -min(52, max(61 - (total(a, b) // b).bit_length(), 0))
        assert 0 <= asked - spent < mpmath.mpf(b) / a * finest


def test_odds_finer_than_one_draw_can_tell_are_refused() -> None:
    with pytest.raises(ValueError, match=r"epsilon must be at least about .* for K = 1099511627776"):
        odds_from_epsilon(1e-9, 2**40, lambda a, b: a + (2**40 - 1) * b)


@pytest.mark.parametrize("epsilon", [0, -1, 9e-10, "40.0001", 10**300])
def test_an_epsilon_has_a_range(epsilon: Any) -> None:
    with pytest.raises(ValueError, match=r"epsilon must be positive, from 1e-09 to 40.0, but got"):
        odds_from_epsilon(epsilon, 2, lambda a, b: a + b)


def test_totals_beyond_reason_are_refused() -> None:
    refuse_wide(2**320 - 1)
    with pytest.raises(ValueError, match=r"below 2\^320, but it needs about 2\^321; give fewer digits"):
        refuse_wide(2**320)


# Epsilon, rounded up


@given(wholes, wholes)
def test_the_logarithm_of_a_ratio_is_never_too_small_and_good_to_fifty_digits(first: int, second: int) -> None:
    low, high = sorted((first, second))
    with mpmath.workdps(80):
        true, told = mpmath.log(mpmath.mpf(high) / low), mpmath.mpf(str(log_ratio(low, high)))
        assert true <= told <= true + mpmath.mpf(10) ** -50 * max(1, true)
    assert log_ratio(low, low) == 0
    assert log_ratio(0, high) == Decimal("inf")


@given(st.integers(1, 2**60), st.integers(1, 2**60))
def test_the_double_not_below_is_the_smallest_of_them(numerator: int, denominator: int) -> None:
    number = Decimal(numerator) / Decimal(denominator)
    double = double_not_below(number)
    assert Decimal(double) >= number > Decimal(math.nextafter(double, -math.inf))


@given(odds=st.tuples(st.integers(1, 2**30), st.integers(1, 2**30)), digits=st.integers(1, 25))
def test_a_shown_number_is_rounded_up_by_less_than_one_digit(odds: tuple[int, int], digits: int) -> None:
    low, high = sorted(odds)
    with mpmath.workdps(60):
        spent = mpmath.log(mpmath.mpf(high) / low)
        shown = mpmath.mpf(shown_up(log_ratio(low, high), digits))
        assert spent <= shown <= spent * (1 + mpmath.mpf(10) ** (1 - digits))


@pytest.mark.parametrize(
    ("number", "digits", "text"),
    [("1.09861", 4, "1.099"), ("0.1", 4, "0.1"), ("0", 4, "0"), ("inf", 4, "inf"), ("39.9999", 3, "40")],
)
def test_numbers_that_are_shown(number: str, digits: int, text: str) -> None:
    assert shown_up(Decimal(number), digits) == text


# Whole numbers in files


@given(st.tuples(st.integers(0, 10**98), st.integers(0, 10**98)))
def test_odds_survive_a_file(odds: tuple[int, int]) -> None:
    assert odds_from_json([str(part) for part in odds]) == odds


@pytest.mark.parametrize("part", [3, "-1", "½", "1.0", "", " 1", "9" * 100, None])
def test_whole_numbers_in_files_are_decimal_strings(part: Any) -> None:
    assert not is_decimal(part)
    with pytest.raises(ValueError, match="damaged: odds must be two whole numbers as decimal strings"):
        odds_from_json(["3", part])


def test_a_whole_number_may_be_at_either_limit() -> None:
    assert [whole_number("size", number, 2, 5) for number in (2, 3, 5)] == [2, 3, 5]
    for number in (1, 6, 2.5):
        with pytest.raises(ValueError, match="size must be a whole number from 2 to 5"):
            whole_number("size", number, 2, 5)


@pytest.mark.parametrize("exponent", [Fraction(1, 10**9), Fraction(1, 3), Fraction(1), Fraction(7, 5), Fraction(40)])
def test_the_exponential_is_rounded_down_to_56_digits(exponent: Fraction) -> None:
    with mpmath.workdps(90):
        exponential = mpmath.exp(mpmath.mpf(exponent.numerator) / exponent.denominator)
        below = exponential_not_above(exponent)
        missing = 1 - mpmath.mpf(below.numerator) / below.denominator / exponential
    assert 0 <= missing < 1e-56


def test_numbers_of_a_thousand_digits_are_the_largest() -> None:
    assert exact("a", "1e999") == 10**999
    assert exact("a", "1e-999") == Fraction(1, 10**999)
    for beyond in ("1e1000", "1e-1000"):
        with pytest.raises(ValueError, match="a must be a finite number"):
            exact("a", beyond)
