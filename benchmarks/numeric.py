"""The speed and the memory of designs for numbers: their maximum, smoothing, means, and the draw."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from measuring import Line, peak_bytes, slower
from warner import RandomizedResponse, SquareWave, Tally, channel_mle, shrink, simulate, smooth
from warner.inference.intervals import Confidence
from warner.inference.means import mean

if TYPE_CHECKING:
    from collections.abc import Iterator


def numeric() -> Iterator[Line]:
    """Square waves of many answers against products with the channel, copies of the counts, and random bytes."""
    rng = np.random.default_rng(1)
    wave = SquareWave(10**5, epsilon=1)
    x = (np.arange(wave.k) + 0.5) / wave.k
    shares = x**4 * (1 - x) / (x**4 * (1 - x)).sum()
    counts = wave.simulate(shares, 10**6, rng=rng)
    operator = wave.law.likelihood()

    def products() -> None:
        for _ in range(50):  # of two each
            operator.adjoint(counts / operator.forward(shares))

    work = "most likely shares under a square wave, K = 10^5, N = 10^6"
    yield slower(work, "100 products with the channel", 20, products, lambda: channel_mle(counts, wave), rounds=3)
    tally = Tally(wave, counts)
    work = "mean and interval under a square wave, K = 10^5"
    yield slower(work, "a copy of the counts", 20, counts.copy, lambda: mean(tally, None, Confidence()))
    small, many = SquareWave(256, epsilon=1), RandomizedResponse(1_000, epsilon=1)
    reported = small.simulate(np.full(256, 1 / 256), 10**5, rng=rng)
    others = simulate.reports_of_population(simulate.zipf(1_000, 1.3), 10**5, many, rng=rng)
    work = "smooth, K = 256, N = 10^5"
    yield slower(work, "shrink, K = 1,000", 40, lambda: shrink(others, many), lambda: smooth(reported, small))
    peak = peak_bytes(lambda: smooth(reported, small))
    limit = 4 * reported.nbytes + 64 * 2**20
    yield Line(f"{work}: peak memory", "", "4 arrays and 64 MB", peak <= limit, f"{peak / 2**20:.0f} MB", "")
    answers = rng.integers(201, size=10**7)
    income = SquareWave(201, epsilon=1)
    work = "randomize 10^7 numbers by a square wave"
    yield slower(
        work,
        "os.urandom of the same bytes",
        2,
        lambda: os.urandom(8 * 10**7),
        lambda: income.draw(answers, os.urandom),
        rounds=3,
    )
