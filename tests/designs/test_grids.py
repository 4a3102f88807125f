"""Grids of numbers, and the nearest answer."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from warner import CutoffResponse, RandomizedResponse, SquareWave, grid
from warner.designs.labels import canonical, grid_to_json, labels_from_json
from warner.designs.ordered import nearest


def test_grids_are_exact() -> None:
    assert grid(18, 99) == range(18, 100)
    assert grid(-10, 10, 5) == range(-10, 11, 5)
    assert grid(0, 1, 0.1) == ["0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0"]
    assert grid("-1/2", 1, "3/4") == ["-0.50", "0.25", "1.00"]
    assert grid(0, 10**15, 10**14)[3] == 3 * 10**14


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((0, 10, 3), "upper must be a whole number of steps above the lower end, but got 0, 10 and 3"),
        ((10, 0), "upper must be a whole number of steps above"),
        ((5, 5), "upper must be a whole number of steps above"),
        ((0, 10, 0), "step must be above 0, but got 0"),
        ((0, 10, -1), "step must be above 0"),
        ((0, float("inf")), "upper must be a finite number"),
        ((float("nan"), 3), "lower must be a finite number"),
        ((0, 1, "1/3"), "must be decimal numbers, but got 0 and '1/3'"),
        ((0, 10**9), "at most 10,000,000 points, but this has 1,000,000,001; take larger steps"),
    ],
)
def test_grids_that_cannot_be_are_refused(arguments: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        grid(*arguments)


def test_numbers_are_rounded_to_the_nearest_answer_halves_upwards_and_cut_at_the_ends() -> None:
    age = SquareWave(range(18, 100), epsilon=1)
    assert [age.nearest(x) for x in (36.6, 36.5, 36.4999, 5, 1e300, -1e300, "41.5", Fraction(73, 2))] == [
        *(37, 37, 36, 18, 99, 18, 42, 37)
    ]
    assert age.nearest([17, None, 50.2]) == [18, None, 50]
    assert_array_equal(age.nearest(np.array([20.5, np.nan, 200.0])), [21, np.nan, 99])
    assert_array_equal(age.nearest(np.array([[20, 1], [99, 100]])), [[20, 18], [99, 99]])
    uneven = CutoffResponse([0, 1, 5, 20], epsilon=1)
    assert uneven.nearest([0.5, 3, 2.99, 12.5, 12.4]) == [1, 5, 1, 20, 5]
    tenths = SquareWave(grid(0, 1, 0.1), epsilon=1)
    # 0.15 and 0.45 are halves as they are written, and doubles on either side of one.
    assert tenths.nearest(np.array([0.15, 0.45, 0.05, 0.04999])).tolist() == ["0.2", "0.5", "0.1", "0.0"]
    assert tenths.nearest("0.449") == "0.4"
    pandas = pytest.importorskip("pandas")
    assert tenths.nearest(pandas.Series([0.15, None])).tolist() == ["0.2", None]
    assert age.nearest(pandas.Series([17, 50.2], index=[7, 9])).tolist() == [18, 50]


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=6, unique=True), st.lists(st.floats(-60, 60), min_size=1))
def test_arrays_and_single_numbers_are_rounded_alike(answers: list[int], numbers: list[float]) -> None:
    labels: Any = canonical(sorted(answers))
    one_by_one = [nearest(labels, number) for number in numbers]
    assert nearest(labels, np.array(numbers)).tolist() == one_by_one
    for number, label in zip(numbers, one_by_one, strict=True):
        assert abs(label - number) == min(abs(other - number) for other in labels)


@pytest.mark.parametrize("wrong", [float("inf"), "fifty", [1, 2], object(), True])
def test_no_error_of_rounding_shows_an_answer(wrong: Any) -> None:
    age = SquareWave(range(18, 100), epsilon=1)
    with pytest.raises(
        ValueError, match=r"^an answer must be a finite number to be rounded to the nearest one of the design$"
    ):
        age.nearest([20, wrong])
    with pytest.raises(ValueError, match="finite number"):
        age.nearest(np.array([20.0, np.inf]))
    with pytest.raises(TypeError, match="the design's are texts"):
        SquareWave(["low", "middle", "high", "top"], epsilon=1).nearest(3)


def test_even_grids_of_integers_are_written_by_their_step() -> None:
    labels = canonical(grid(0, 200_000, 1_000))
    assert grid_to_json(labels) == {"first": 0, "size": 201, "step": 1000}
    assert canonical(labels_from_json("domain", grid_to_json(labels))) == labels
    assert grid_to_json(range(5)) == {"first": 0, "size": 5}
    assert grid_to_json((0, 1, 5)) == [0, 1, 5]
    # Designs that had files before write a list, as they did, and read both.
    survey = RandomizedResponse([0, 10, 20], odds=(3, 1))
    assert survey.fields()["domain"] == [0, 10, 20]
    fields = survey.to_dict() | {"domain": {"first": 0, "size": 3, "step": 10}}
    assert RandomizedResponse.from_dict(fields) == survey


@pytest.mark.parametrize("mechanism", [SquareWave, CutoffResponse])
def test_numbers_must_rise_where_their_order_matters(mechanism: Any) -> None:
    for wrong in ([3, 2, 1], [0, 5, 4, 9], ["0.5", "0.25", "1"], ["1", "1.0", "2"]):
        with pytest.raises(
            ValueError, match=r"domain must hold numbers in ascending order, but .* comes after .*; sort them"
        ):
            mechanism(wrong, epsilon=1)
    assert mechanism(["never", "sometimes", "often"], epsilon=1).k == 3


def test_numbers_off_the_grid_are_refused_with_the_remedy() -> None:
    for design in (SquareWave(grid(0, 100, 10), epsilon=1), CutoffResponse(grid(0, 100, 10), epsilon=1)):
        for wrong in (37, 2000, [10, -10]):
            with pytest.raises(
                ValueError, match=r"nothing was randomized\. Round numbers with design\.nearest"
            ) as refused:
                design.randomize(wrong)
            assert "37" not in str(refused.value)  # nothing of an answer is told
        assert design.nearest([37, 2000, -10]) == [40, 100, 0]
    with pytest.raises(ValueError, match="Leave them out, or add them to the domain"):
        SquareWave(["low", "middle", "high", "top"], epsilon=1).randomize("none")
