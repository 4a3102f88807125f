"""Answers that are numbers: grids of them, what each label stands for, and the nearest to a number.

Numbers are taken as they are written: 0.1 is 1/10. Labels are integers, or texts that are decimal numbers.
"""

from __future__ import annotations

import math
import re
from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.designs.exact import exact
from warner.designs.labels import is_missing, step_of
from warner.searching import first_true

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Integers
    from warner.designs.exact import Number
    from warner.designs.labels import Labels

MOST_POINTS = 10**7  # of a grid whose points are listed
DECIMAL = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
NEARLY = 1e-9  # of a step: how far rounding may move a number, which decides on which side of another one it lies


def grid(lower: Number, upper: Number, step: Number = 1) -> range | list[str]:
    """Give the numbers from `lower` to `upper` by `step`, both ends included, as the domain of a design.

    The bounds must be known before anybody answers. Bounds that come from the data, such as the largest income, tell
    somebody's answer.

    Parameters
    ----------
    lower, upper : number
        The ends, taken as they are written; `upper` is `lower` plus a whole number of steps.
    step : number
        The distance between neighbours, above 0.

    Returns
    -------
    range or list of str
        Integers, or decimal texts where the numbers are not all whole.

    Examples
    --------
    >>> grid(0, 200_000, 50_000)
    range(0, 200001, 50000)
    >>> grid(0, 0.5, 0.1)
    ['0.0', '0.1', '0.2', '0.3', '0.4', '0.5']
    """
    low, high, by = (exact(name, number) for name, number in (("lower", lower), ("upper", upper), ("step", step)))
    if by <= 0:
        raise ValueError(f"step must be above 0, but got {step!r}")
    if high <= low or (high - low) % by:
        raise ValueError(f"upper must be lower plus a whole number of steps, but got {lower!r}, {upper!r} and {step!r}")
    points = int((high - low) / by) + 1
    if points > MOST_POINTS:
        raise ValueError(f"a grid must have at most {MOST_POINTS:,} points, but this has {points:,}; take larger steps")
    if low.denominator == by.denominator == 1:
        return range(int(low), int(high) + 1, int(by))
    texts = decimal_texts([low + i * by for i in range(points)])
    if texts is None:
        raise ValueError(f"lower and step must be decimal numbers, but got {lower!r} and {step!r}")
    return texts


def decimal_texts(numbers: list[Fraction]) -> list[str] | None:
    """Write numbers with as many decimals as they need, all alike; None if no number of decimals suffices.

    >>> decimal_texts([Fraction(0), Fraction(1, 8)]), decimal_texts([Fraction(1, 3)])
    (['0.000', '0.125'], None)
    """
    denominator, places = math.lcm(*(number.denominator for number in numbers)), 0
    for factor in (2, 5):
        times = 0
        while denominator % factor == 0:
            denominator, times = denominator // factor, times + 1
        places = max(places, times)
    if denominator != 1:
        return None
    whole = (int(number * 10**places) for number in numbers)
    return [f"{Decimal(number).scaleb(-places, Context(prec=99)):.{places}f}" for number in whole]


def is_numeric(labels: Labels) -> bool:
    """Tell whether all labels are integers, or texts that are decimal numbers."""
    first: Any = labels[0]
    return isinstance(first, int) or all(DECIMAL.fullmatch(str(label)) for label in labels)


def numbers_of(labels: Labels) -> list[Fraction]:
    """Give the number that each label is, exactly."""
    return [Fraction(label) for label in labels]


def refuse_unordered(labels: Labels) -> None:
    """Refuse numbers that do not rise, where order is needed; labels that are no numbers are in order as they stand."""
    if isinstance(labels, range) or not is_numeric(labels):
        return
    numbers = numbers_of(labels)
    for place in range(1, len(numbers)):
        if numbers[place] <= numbers[place - 1]:
            raise ValueError(
                "domain must hold numbers in ascending order, but "
                f"{labels[place]!r} comes after {labels[place - 1]!r}; sort them"
            )


def nearest(labels: Labels, numbers: Any) -> Any:
    """Give the label nearest to each number, halves upwards and those beyond the ends at the ends, exactly.

    One number gives one label, a list a list, an array or a column an array; what is missing stays missing.
    """
    refuse_texts(labels)
    if hasattr(numbers, "__array__") and not isinstance(numbers, np.generic):  # a column of a data frame, too
        numbers = np.asarray(numbers)
    if isinstance(numbers, np.ndarray) and numbers.dtype.kind in "iuf":
        return _nearest_in_array(labels, numbers)
    if isinstance(numbers, np.ndarray):
        flat = [_nearest(labels, number) for number in numbers.ravel().tolist()]
        return np.array(flat, dtype=object).reshape(numbers.shape)
    if isinstance(numbers, list | tuple):
        return [_nearest(labels, number) for number in numbers]
    return _nearest(labels, numbers)


def refuse_texts(labels: Labels) -> None:
    """Refuse answers that are no numbers, where the nearest is wanted."""
    if not is_numeric(labels):
        raise TypeError("nearest needs answers that are numbers, but the design's are texts")


def _nearest(labels: Labels, number: Any) -> Any:
    if is_missing(number):
        return None
    try:
        return labels[_place(labels, exact("number", number))]
    except (TypeError, ValueError):  # whose message would show somebody's answer
        raise ValueError("an answer must be a finite number to be rounded to the nearest one of the design") from None


def _place(labels: Labels, number: Fraction) -> int:
    """Count the midpoints between neighbours that are not above the number."""

    def above(place: int) -> bool:
        return Fraction(labels[place]) + Fraction(labels[place + 1]) > 2 * number

    return first_true(above, 0, len(labels) - 1)


def _nearest_in_array(labels: Labels, numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    missing = np.isnan(numbers) if numbers.dtype.kind == "f" else np.zeros(numbers.shape, dtype=bool)
    if np.isinf(numbers).any():
        raise ValueError("an answer must be a finite number to be rounded to the nearest one of the design")
    values = np.array([float(Fraction(label)) for label in labels]) if step_of(labels) is None else None
    given = np.where(missing, 0.0, numbers.astype(np.float64))
    if values is None:
        step, last = step_of(labels), len(labels) - 1
        exactly = np.clip((given - float(labels[0])) / float(step or 1) + 0.5, 0, last + 0.5)
        places: Integers = np.floor(exactly).astype(np.int64)
        doubtful = np.abs(exactly - np.rint(exactly)) <= NEARLY
    else:
        middles = (values[:-1] + values[1:]) / 2
        places = middles.searchsorted(given, side="right")
        apart = np.abs(given[..., np.newaxis] - middles[np.clip(places[..., np.newaxis] - [1, 0], 0, middles.size - 1)])
        doubtful = apart.min(axis=-1) <= NEARLY * np.diff(values).min()
    places = np.clip(places, 0, len(labels) - 1)
    for where in zip(*np.nonzero(doubtful & ~missing), strict=True):
        places[where] = _place(labels, exact("number", numbers[where]))
    if isinstance(labels[0], str):
        texts = np.array(labels, dtype=object)[places]
        texts[missing] = None
        return np.asarray(texts)
    whole = np.array(labels, dtype=np.int64)[places]
    return np.where(missing, np.nan, whole) if missing.any() else whole


def continued(labels: Labels, steps: int) -> Sequence[int]:
    """Continue evenly spaced integers by so many steps on either side; of other labels, give their places so."""
    step = step_of(labels)
    if step is None:
        return range(-steps, len(labels) + steps)
    first = int(labels[0])
    return range(first - steps * step, first + (len(labels) + steps) * step, step)
