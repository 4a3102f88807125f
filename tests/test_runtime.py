"""Libraries are loaded on first use, requests beyond the memory are rejected, and long computations log their steps."""

from __future__ import annotations

import logging
import math
import subprocess
import sys

import pytest

from cases import DICE
from warner import RandomizedResponse, Tally, estimate, regress, runtime, tally
from warner.runtime import on_first_use, steps


def test_a_library_is_loaded_when_something_of_it_is_asked_for() -> None:
    sys.modules.pop("colorsys", None)
    module = on_first_use("colorsys")
    assert "colorsys" not in sys.modules
    assert module.rgb_to_hls(0, 0, 0) == (0, 0, 0)
    assert "rgb_to_hls" in vars(module)  # and not asked for again
    assert "colorsys" in sys.modules


SPECIAL = """
import sys
from warner.runtime import postpone_parts_of_numpy
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


def test_more_answers_than_fit_are_refused_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    design = RandomizedResponse(10**7, epsilon=5)
    monkeypatch.setattr(runtime, "available", lambda: 100_000_000)
    with pytest.raises(
        ValueError, match="10,000,000 answers need about 240 MB of memory, but 100 MB are available; use a design"
    ):
        tally([1, 2, 3], design)
    small = Tally(RandomizedResponse(3, epsilon=5), [[1, 2, 3]] * 2, by=("g",), groups=((1,), (2,)))
    monkeypatch.setattr(runtime, "available", lambda: 500)
    words = (
        "estimates of 2 groups of 3 answers need about 540 bytes of memory, but 500 bytes are available; estimate some"
    )
    with pytest.raises(ValueError, match=words):
        estimate(small)


def test_available_memory_is_that_of_the_machine() -> None:
    assert 2**20 < runtime.available() <= 2**44


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are those of Linux")
def test_a_limit_of_the_process_is_seen() -> None:
    script = """if True:
        import resource
        from warner import RandomizedResponse, tally
        resource.setrlimit(resource.RLIMIT_AS, (3 * 10**9, 3 * 10**9))
        tally([1, 2, 3], RandomizedResponse(10**9, epsilon=5))
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=100)
    assert "ValueError: 1,000,000,000 answers need about 24 GB of memory, but" in done.stderr


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1 kB"), (24_000_000_000, "24 GB"), (10**20, "1e+05 PB")],
)
def test_amounts_of_memory(number: int, text: str) -> None:
    assert runtime.size_text(number) == text


def test_short_computations_log_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, runtime.LOGGER):
        assert list(steps([3, 1, 2], "sums")) == [3, 1, 2]
    assert not caplog.records


def test_long_computations_log_how_many_steps_are_done(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = iter([0.0, 1.0, 2.5, 3.0, 4.6])
    monkeypatch.setattr(runtime, "monotonic", lambda: next(seconds))
    with caplog.at_level(logging.INFO, runtime.LOGGER):
        list(steps("abcd", "sums"))
    assert caplog.messages == ["sums: 1 of 4", "sums: 3 of 4"]


def test_regressions_log_their_starts_and_intervals(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "SECONDS_BETWEEN", 0.0)
    data = {"answer": ["yes", "no", "no"] * 60, "x": [1.0, 2.0, 3.0, 4.0, 5.5] * 36}
    with caplog.at_level(logging.INFO, runtime.LOGGER):
        fit = regress("answer ~ x", data, DICE)
        fit.table(interval="profile")
        fit.margins(["x"], interval="profile")
        fit.predict({"x": [0.0, 1.0]})
    assert "starts: 0 of 6" in caplog.messages
    assert "confidence intervals: 1 of 2" in caplog.messages
    assert "marginal effects: 0 of 1" in caplog.messages
    assert "predictions: 1 of 2" in caplog.messages
