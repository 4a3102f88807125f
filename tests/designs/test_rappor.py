"""RAPPOR: the numbers of its paper, and its own parameters; what it reveals is in test_memoized and test_rounds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from warner.designs import Memoized


def test_basic_rappor_has_the_numbers_of_its_paper() -> None:
    # Erlingsson, Pihur, Korolova 2014, with two hashes: 1.0743 for one report, 4 ln 3 for ever. Here there is one bit.
    design = Memoized.rappor(10, f="1/2", p="1/2", q="3/4")
    chain: Any = design.once
    assert (chain.one, chain.zero) == (Fraction(11, 16), Fraction(9, 16))
    assert design.ratio == (45, 77)
    assert 2 * design.eps_first == pytest.approx(1.0743, abs=5e-5)
    assert 2 * design.eps_infinity == pytest.approx(4 * math.log(3))


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"f": 0, "p": "1/2", "q": "3/4"}, "f must be above 0"),
        ({"f": 1, "p": "1/2", "q": "3/4"}, "f must be above 0"),
        ({"f": 2, "p": "1/2", "q": "3/4"}, "f must be a probability"),
        ({"f": "1/2", "p": "3/4", "q": "1/2"}, "p and q must have 0 < p < q"),
        ({"f": "1/2", "p": 0, "q": "1/2"}, "p and q must have 0 < p < q"),
    ],
)
def test_parameters_of_rappor_are_its_own(parameters: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Memoized.rappor(4, **parameters)
