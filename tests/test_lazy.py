"""Libraries are loaded when they are first used."""

from __future__ import annotations

import math
import subprocess
import sys

from warner.lazy import on_first_use


def test_a_library_is_loaded_when_something_of_it_is_asked_for() -> None:
    sys.modules.pop("colorsys", None)
    module = on_first_use("colorsys")
    assert "colorsys" not in sys.modules
    assert module.rgb_to_hls(0, 0, 0) == (0, 0, 0)
    assert "rgb_to_hls" in vars(module)  # and not asked for again
    assert "colorsys" in sys.modules


SPECIAL = """
import sys
from warner.lazy import postpone_parts_of_numpy
postpone_parts_of_numpy()
import numpy, scipy.special
print("numpy.f2py" in sys.modules, "numpy.testing" in sys.modules)
assert numpy.polynomial.Polynomial([1, 2])(3) == 7 and numpy.random.default_rng(1).integers(0, 1) == 0
print(repr(float(scipy.special.betaincinv(3, 4, 0.25))))
import numpy.polynomial, numpy.testing
import scipy.fft, scipy.linalg, scipy.optimize, scipy.stats
print("f2py" in dir(numpy), "testing" in numpy.__all__, repr(float(scipy.stats.beta(3, 4).ppf(0.25))))
"""


def test_parts_of_numpy_that_scipy_copies_are_loaded_when_they_are_used() -> None:
    run = subprocess.run([sys.executable, "-c", SPECIAL], capture_output=True, text=True, check=True)
    loaded, limit, rest = run.stdout.splitlines()
    assert loaded == "False False"
    # The regularized incomplete beta function is a polynomial: I_x(3, 4) = sum over j >= 3 of C(6, j) x^j (1-x)^(6-j).
    x = float(limit)
    chance = sum(math.comb(6, j) * x**j * (1 - x) ** (6 - j) for j in range(3, 7))
    assert math.isclose(chance, 0.25, rel_tol=1e-12)
    assert rest == f"True True {limit}"
