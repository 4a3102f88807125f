"""Arrays of Python objects."""

from __future__ import annotations

import numpy as np
import pytest

from warner.arrays import objects


@pytest.mark.parametrize(
    "values",
    [
        [1, "a", None],  # NumPy would make texts of a number beside a text
        [(1, 2), (3, 4)],  # and a table of tuples that are equally long
        [[1], [2, 3]],
        [b"ab\x00", b""],  # and drop the zero at the end of bytes
        [2**80, 1.5, True],
        [],
    ],
)
def test_every_object_stays_what_it_is(values: list[object]) -> None:
    array = objects(values)
    assert array.shape == (len(values),)
    assert array.dtype == object
    assert all(kept is given for kept, given in zip(array, values, strict=True))


def test_any_iterable_will_do() -> None:
    np.testing.assert_array_equal(objects(label for label in ("yes", "no")), np.array(["yes", "no"], dtype=object))
