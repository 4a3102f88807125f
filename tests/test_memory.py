"""Requests that exceed the memory are rejected in advance, with numbers."""

from __future__ import annotations

import subprocess
import sys

import pytest

from warner import RandomizedResponse, Tally, estimate, memory, tally


def test_more_answers_than_fit_are_refused_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    design = RandomizedResponse(10**7, epsilon=5)
    monkeypatch.setattr(memory, "available", lambda: 100_000_000)
    with pytest.raises(
        ValueError, match="10,000,000 answers need about 240 MB of memory, but 100 MB are available; take"
    ):
        tally([1, 2, 3], design)
    small = Tally(RandomizedResponse(3, epsilon=5), [[1, 2, 3]] * 2, by=("g",), groups=((1,), (2,)))
    monkeypatch.setattr(memory, "available", lambda: 500)
    words = (
        "estimates of 2 groups of 3 answers need about 540 bytes of memory, but 500 bytes are available; estimate some"
    )
    with pytest.raises(ValueError, match=words):
        estimate(small)


def test_available_memory_is_that_of_the_machine() -> None:
    assert 2**20 < memory.available() <= 2**44


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
    assert memory.amount_of(number) == text
