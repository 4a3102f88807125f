r"""Exact arithmetic: numbers as they are written, and probabilities in whole numbers.

**The one rule for epsilon:** probabilities come from whole numbers, never from a rounded epsilon. A design asked for
by ``epsilon=`` rounds its odds :math:`a : b` down, so that what is spent is never more than what was asked for; every
epsilon that is shown is that of the whole numbers, rounded up.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

Number: TypeAlias = int | float | str | Fraction | Decimal | np.integer[Any] | np.floating[Any]
Odds: TypeAlias = tuple[Number, Number] | str

# One report is drawn from 64 random bits. Below 2^62 at most a fifth of the draws must be thrown away.
TOTAL_LIMIT = 2**62
# Exact chains of designs may need more; they are drawn from several times 64 bits. Some limit there must be.
WIDEST_TOTAL = 2**320
EPSILON_RANGE = (Fraction(1, 10**9), Fraction(40))
LONGEST_DECIMAL = 100  # digits of a whole number in a file


def exact(name: str, value: Number) -> Fraction:
    """Read a number as it is written: the double 0.9 is 9/10."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction | Decimal | np.number):
        raise TypeError(f'{name} must be a number, a fraction or a string such as "3/4", but got {reprlib.repr(value)}')
    text = str(value).strip()
    try:
        if "/" in text:
            return Fraction(text)
        decimal = Decimal(text)
        if abs(decimal.adjusted()) < 1000:  # 1e999999999 as a fraction would fill the memory
            return Fraction(decimal)
    except (ArithmeticError, ValueError):  # among them infinity, NaN, and what is no number
        pass
    raise ValueError(f'{name} must be a finite number, or a fraction such as "3/4", but got {reprlib.repr(value)}')


def probability(name: str, value: Number) -> Fraction:
    """Read a probability as it is written."""
    number = exact(name, value)
    if not 0 <= number <= 1:
        raise ValueError(f"{name} must be a probability from 0 to 1, but got {reprlib.repr(value)}")
    return number


def whole_number(name: str, value: Number, low: int, high: int) -> int:
    """Read a whole number as it is written, from `low` to `high`."""
    number = exact(name, value)
    if number.denominator != 1 or not low <= number <= high:
        raise ValueError(f"{name} must be a whole number from {low:,} to {high:,}, but got {reprlib.repr(value)}")
    return int(number)


def lowest_terms(first: Fraction | int, second: Fraction | int) -> tuple[int, int]:
    """Return the ratio of two non-negative numbers as whole numbers in lowest terms."""
    a, b = first.numerator * second.denominator, second.numerator * first.denominator
    divisor = math.gcd(a, b)
    return a // divisor, b // divisor


def odds_as_given(odds: Odds) -> tuple[int, int]:
    """Read odds as they are written, ``(a, b)`` or ``"a:b"``, in lowest terms."""
    parts = odds.split(":") if isinstance(odds, str) else odds
    if not isinstance(parts, Sequence) or len(parts) != 2:
        raise TypeError(f'odds must be "a:b" or a pair (a, b), truth against each lie, but got {reprlib.repr(odds)}')
    first, second = (exact("odds", part) for part in parts)
    if first < 0 or second < 0 or first == second == 0:
        raise ValueError(f"odds must be two numbers of at least 0, not both 0, but got {reprlib.repr(odds)}")
    return lowest_terms(first, second)


def odds_from_epsilon(epsilon: Number, k: int, total: Callable[[int, int], int], *, root: int = 1) -> tuple[int, int]:
    """Return e^epsilon rounded down to a ratio a : b, as finely as one draw below total(a, b) < 2^62 allows.

    b is a power of two, at most 2^52. With `root` 2, the square root of e^epsilon instead: a^2 : b^2 spends epsilon.
    """
    a, b = odds_not_above(exponential_not_above(epsilon_asked("epsilon", epsilon) / root), total)
    if a <= b:
        raise ValueError(
            f"epsilon must be at least about {1 / b:.1g} for K = {k} answers, because odds finer than that cannot "
            f"be drawn from 64 bits, but got {reprlib.repr(epsilon)}"
        )
    return lowest_terms(a, b)


def epsilon_asked(name: str, epsilon: Number) -> Fraction:
    """Read an epsilon as it is written or as it is stored, the smaller of the two."""
    asked = exact(name, epsilon)
    if isinstance(epsilon, float | np.floating):
        asked = min(asked, Fraction(float(epsilon)))
    low, high = EPSILON_RANGE
    if not low <= asked <= high:
        remedy = "; for direct answers give odds=(1, 0)" if asked > high else ""
        raise ValueError(
            f"{name} must be positive, from {float(low)} to {float(high)}, but got {reprlib.repr(epsilon)}{remedy}"
        )
    return asked


def exponential_not_above(exponent: Fraction) -> Fraction:
    """Return e^exponent rounded down to 56 digits, for exponents up to 40."""
    with localcontext(Context(prec=60)):
        # Quotient and exponential are each half a unit off at most.
        return Fraction((Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp() * (1 - Decimal("1e-57")))


def odds_not_above(ratio: Fraction, total: Callable[[int, int], int]) -> tuple[int, int]:
    """Round a ratio down to a : b, as finely as one draw below total(a, b) < 2^62 allows; b is a power of two."""
    for bits in range(52, -1, -1):
        b = 2**bits
        a = ratio.numerator * b // ratio.denominator
        if total(a, b) < TOTAL_LIMIT:
            break
    return a, b


def refuse_wide(total: int) -> None:
    """Raise an error if a design needs more than 320 random bits per report."""
    if total >= WIDEST_TOTAL:
        raise ValueError(
            f"the design must be in whole numbers whose sum is below 2^320, but it needs about 2^{total.bit_length()}; "
            "give fewer digits, or chain fewer designs"
        )


# Epsilon, rounded up


def log_ratio(low: int, high: int) -> Decimal:
    """Upper bound of ln(high/low), accurate to 50 digits."""
    if low == 0:
        return Decimal("inf")
    if low == high:
        return Decimal(0)
    with localcontext(Context(prec=60)):
        # Quotient and logarithm are good to 59 digits each; the addend covers what they may lack.
        return (Decimal(high) / Decimal(low)).ln() + Decimal("1e-55")


def double_not_below(number: Decimal) -> float:
    """Return the smallest double that is at least the number."""
    nearest = float(number)
    return nearest if Decimal(nearest) >= number else math.nextafter(nearest, math.inf)


def shown_up(number: Decimal, digits: int) -> str:
    """Format a number with this number of significant digits, rounded up."""
    up = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(number)
    if not up.is_finite():
        return "inf"
    up = up.normalize()
    return f"{up:f}" if up.adjusted() >= -digits else f"{up:e}"


# Whole numbers in files: decimal strings, because readers that hold numbers as doubles would change them


def is_decimal(part: object) -> bool:
    """Return True for a whole number written as a decimal string."""
    return isinstance(part, str) and part.isascii() and part.isdigit() and len(part) < LONGEST_DECIMAL


def odds_from_json(odds: object) -> tuple[int, int]:
    if isinstance(odds, list) and len(odds) == 2 and all(map(is_decimal, odds)):
        return int(odds[0]), int(odds[1])
    raise ValueError("this design is damaged: odds must be two whole numbers as decimal strings")
